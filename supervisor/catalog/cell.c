/*
 * kennel-remote in a cell of its own, which gets one file.  Its way out is kennel-egress,
 * to the host of the URL.  It reads the certificates, and nothing else: no secret, no
 * file of the user's, no program.
 *
 * Process: kennel, the user's.  What comes from the cell is not trusted.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policy/check/remote.h"
#include "policy/cli/verb.h"
#include "policy/lang/host.h"
#include "policy/lang/remote_url.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/other_verb.h"
#include "supervisor/base/paths.h"
#include "supervisor/catalog/catalog.h"
#include "supervisor/cli/cli.h"
#include "supervisor/draft/draft.h"

#define SERVER     "catalog-fetch"
#define OUTPUT_MAX (CATALOG_FETCHED_MAX + 64)
#define NOBODY     65534 /* the user of the cell, if root fetches */

struct cell {
	char program[PATH_MAX], policy[PATH_MAX];
	const char *ca, *url, *to;
};

/* ---- the policy of the cell ---------------------------------------------------- */

/* TLS to an address names no host. */
static bool
is_address(const char *target)
{
	const struct word w = {.text = target, .len = strlen(target), .quoted = true};
	struct host h;

	return host_read(&w, true, &h) == NULL && h.kind == HOST_CIDR;
}

static int
put_policy(const struct cell *c, FILE *out)
{
	struct remote_url url;
	int r = remote_url_read(c->url, strlen(c->url), &url) == NULL ? 0 : -EINVAL;

	if (r < 0)
		return r;
	fprintf(out, "server " SERVER " {\n    about \"kennel, fetching a catalog\"\n"
		     "    run");
	r = draft_word(out, c->program);
	fprintf(out, " --ca");
	if (r == 0)
		r = draft_word(out, c->ca);
	fprintf(out, " --fetch");
	if (r == 0)
		r = draft_word(out, c->url);
	fprintf(out, "\n    read");
	if (r == 0)
		r = draft_word(out, c->ca);
	fprintf(out, "\n    net allow \"%s\"", url.target);
	if (c->to != NULL)
		fprintf(out, " to %s", c->to);
	fprintf(out, "%s\n", is_address(url.target) ? " no-sni" : "");
	if (geteuid() == 0)
		fprintf(out, "    user \"%d\"\n", NOBODY);
	fprintf(out, "}\n");
	return r;
}

static int
write_policy(const struct cell *c)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int r;

	if (out == NULL)
		return -ENOMEM;
	r = put_policy(c, out);
	if (fclose(out) != 0 && r == 0)
		r = -ENOMEM;
	if (r == 0)
		r = verb_write(c->policy, text, len, 0600);
	free(text);
	return r;
}

/* ---- what comes from it ---------------------------------------------------------- */

/* "OUTCOME STATUS\n", and the file after `fetched`. */
static enum catalog_outcome
read_output(struct verb_output *out, struct catalog_fetch *f)
{
	const char *text = out->text;
	size_t name_len = text == NULL ? 0 : strcspn(text, " \n");
	enum catalog_outcome o = OUTCOME_N;
	char *end = NULL;
	unsigned long status = 0;

	if (name_len > 0)
		o = outcome_find(text, name_len);
	if (o != OUTCOME_N && text[name_len] == ' ')
		status = strtoul(text + name_len + 1, &end, 10);
	if (end == NULL || *end != '\n' || status > 999)
		return OUTCOME_N;
	f->status = (unsigned int)status;
	if (o != OUTCOME_FETCHED)
		return outcome_good(o) ? OUTCOME_N : o;
	end++;
	f->len = out->len - (size_t)(end - text);
	f->text = out->text;
	memmove(f->text, end, f->len + 1); /* with its NUL */
	out->text = NULL;
	return f->len > CATALOG_FETCHED_MAX ? OUTCOME_TOO_LARGE : o;
}

static enum catalog_outcome
run(struct cell *c, struct catalog_fetch *f)
{
	char *words[] = {(char *)"exec", (char *)"--policy", c->policy, (char *)SERVER,
	    (char *)"--", c->program, (char *)"--ca", (char *)c->ca, (char *)"--fetch",
	    (char *)c->url, NULL};
	struct verb_output out;
	enum catalog_outcome o;
	int status = other_verb_split(
	    NULL, exec_fetch_main, ARRAY_LEN(words) - 1, words, OUTPUT_MAX, &out);

	o = status == EXIT_ADDRESS ? OUTCOME_PRIVATE_ADDRESS : read_output(&out, f);
	if (o == OUTCOME_N) {
		o = OUTCOME_UNREACHABLE;
		f->reason = "its cell ended without an answer: see the lines above";
	}
	if (!outcome_good(o))
		other_verb_show("fetch: ", out.errors);
	free(out.text);
	free(out.errors);
	return o;
}

enum catalog_outcome
cell_fetch(const char *store, struct catalog_fetch *f)
{
	struct cell c = {
	    .ca = f->source->ca != NULL ? f->source->ca : remote_certificates(),
	    .url = f->source->url,
	    .to = f->source->to};
	const char *program = paths_libexec("kennel-remote");
	enum catalog_outcome o;
	int r;

	(void)snprintf(c.program, sizeof(c.program), "%s", program); /* fits */
	(void)snprintf(c.policy, sizeof(c.policy), "%.4000s/fetch-%ld.kennel", store,
	    (long)getpid()); /* fits */
	r = fd_make_dirs(store);
	if (r == 0)
		r = write_policy(&c);
	if (r < 0) {
		log_error("unable to write %s: %s", c.policy, strerror(-r));
		f->reason = "the policy of its cell could not be written";
		return OUTCOME_UNREACHABLE;
	}
	o = run(&c, f);
	(void)unlink(c.policy); /* the next fetch of this number replaces it */
	return o;
}
