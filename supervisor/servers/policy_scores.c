/*
 * kennel policy score --all: the score of every policy that a start would find.
 *
 * Process: kennel, as the calling user. Starts nothing. A policy with errors has no score,
 * and the others are scored.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policy/base/output.h"
#include "policy/print/score.h"
#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/cli/cli.h"
#include "supervisor/servers/known_policies.h"

static void
put_json(struct out *o, const struct known_policy *known, const struct score *s)
{
	out_object(o, NULL);
	out_text_or_null(o, "server", known->name);
	out_text(o, "policy", known->file->path);
	out_text(o, "form", known->file->sealed ? "sealed" : "text");
	out_yes(o, "used", known->used && !known->refused && !known->doubled);
	out_yes(o, "stale", known->file->stale);
	out_number(o, "errors", known->file->counts.errors);
	out_number(o, "warnings", known->file->counts.warnings);
	if (s != NULL)
		score_put(o, &known->file->policy, s);
	else
		out_null(o, "score");
	out_end(o);
}

static void
put_text(const struct known_policy *known, const struct score *s)
{
	char shown[4096];

	(void)log_quote(
	    shown, sizeof(shown), known->file->path, strlen(known->file->path));
	if (s != NULL)
		printf("%5u%c %-20s %s\n", s->sum, s->unknown_n > 0 ? '?' : ' ',
		    known->name, shown);
	else
		printf(
		    "%5s  %-20s %s: it cannot be used: `kennel policy check` says why\n",
		    "-", known->name != NULL ? known->name : "?", shown);
}

/* One policy: 0 or -ENOMEM. */
static int
put(struct out *o, const struct known_policy *known)
{
	struct score s;
	int r = known->server == NULL
		    ? 0
		    : score_server(&known->file->policy, known->server, &s);
	const struct score *is = known->server == NULL ? NULL : &s;

	if (r < 0)
		return r;
	if (o != NULL)
		put_json(o, known, is);
	else
		put_text(known, is);
	if (is != NULL)
		score_free(&s);
	return 0;
}

static int
put_all(const struct known_policies *all, bool json)
{
	struct out o;
	int r = 0;

	out_init(&o, stdout);
	if (json) {
		out_object(&o, NULL);
		out_list(&o, "servers");
	}
	for (size_t i = 0; r == 0 && i < all->policy_n; i++)
		r = put(json ? &o : NULL, &all->policy[i]);
	if (r < 0)
		return r; /* nothing that is complete */
	if (json) {
		out_end(&o);
		out_text(&o, "note", score_caveat);
		out_end(&o);
	} else {
		(void)fputs(score_caveat, stdout); /* fflush reports it */
	}
	return 0;
}

int
score_all(bool json)
{
	struct known_policies all;
	int r = known_policies_read(&all), status = 0;

	if (r == 0 && all.policy_n == 0 && !json) {
		log_error(
		    "no policy found in %s: `kennel init NAME -- COMMAND` drafts one",
		    paths_config_dir() != NULL ? paths_config_dir() : "/etc/kennel");
		status = EXIT_MISSING;
	} else if (r == 0) {
		r = put_all(&all, json);
		status = all.broken > 0 ? EXIT_INPUT : 0;
	}
	if (r < 0)
		log_error("unable to score the policies: %s", strerror(-r));
	known_policies_free(&all);
	return r < 0 || fflush(stdout) != 0 ? EXIT_FAILED : status;
}
