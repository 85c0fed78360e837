/*
 * kennel secret catalog fetch: gets the catalogs by URL that catalog.kennel names, and
 * stores those that are what their digest says.
 *
 * Nothing else fetches a catalog.  Each fetch is on disk in the audit log before anything
 * of it is stored.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "leash/audit/writer.h"
#include "policy/cli/verb.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "supervisor/accept/manifest_write.h"
#include "supervisor/base/ask.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/catalog/catalog.h"
#include "supervisor/audit/audit.h"
#include "supervisor/cli/cli.h"
#include "supervisor/serve/tools/settings.h"

struct fetching {
	const char *project, *config, *store; /* project: NULL: none */
	struct catalog_sources list;
	struct report *report;
	bool first;  /* --first */
	bool denied; /* by the settings */
};

static int
sources_read(struct fetching *g)
{
	return catalog_sources_read(g->project, g->config, stderr, &g->list);
}

/* ---- what becomes of a file ----------------------------------------------------- */

static bool
stored_already(const struct fetching *g, const struct catalog_source *s)
{
	struct metas_text text;
	int r = catalog_stored_read(g->store, s, stderr, &text);
	bool is = r == 0 && text.text != NULL;

	if (is)
		free(text.text);
	return is;
}

static int
store(const struct fetching *g, const struct catalog_fetch *f)
{
	char path[PATH_MAX];
	int r;

	(void)snprintf(
	    path, sizeof(path), "%.4000s/%s.kennel", g->store, f->digest); /* fits */
	r = verb_write(path, f->text, f->len, 0600);
	if (r < 0)
		log_error("unable to write %s: %s", path, strerror(-r));
	return r;
}

/* Writes the digest into the file of the source, unless it has changed. */
static int
pin(const struct fetching *g, const struct catalog_fetch *f)
{
	struct manifest_text was, is;
	char dir[PATH_MAX], *after = NULL;
	int r;

	if (f->source->project)
		(void)snprintf(
		    dir, sizeof(dir), "%.4000s/" META_PROJECT_DIR, g->project); /* fits */
	else
		(void)snprintf(dir, sizeof(dir), "%s", g->config); /* fits */
	r = catalog_source_pin(&g->list, f->source, f->digest, &was.text, &after);
	if (r < 0)
		return r;
	was.len = strlen(was.text);
	is = (struct manifest_text){after, strlen(after)};
	r = manifest_write(dir, CATALOG_FILE, &was, &is);
	free(after);
	if (r < 0)
		log_error("unable to write %s/" CATALOG_FILE ": %s; write `sha256 %s` "
			  "after the URL by hand",
		    dir, r == -ESTALE ? "it was changed meanwhile" : strerror(-r),
		    f->digest);
	return r;
}

/* Does a person take what came as what the URL is to have from now on? */
static bool
person_agrees(const struct catalog_fetch *f, size_t tokens)
{
	(void)fflush(stdout); /* before the question */
	fprintf(stderr, "%s\n%zu kinds of tokens, %zu bytes, sha256 %s\n", f->source->url,
	    tokens, f->len, f->digest);
	return ask_yes(f->source->project ? "Write this digest into " META_PROJECT_DIR
					    "/" CATALOG_FILE "?"
					  : "Write this digest into " CATALOG_FILE "?");
}

static void
report(const struct catalog_fetch *f, enum catalog_outcome o, size_t tokens)
{
	printf("%s: %s, %zu kinds of tokens\n", f->source->url, outcome_name(o), tokens);
}

static bool
first_use(struct fetching *g, struct catalog_fetch *f, size_t tokens)
{
	if (!person_agrees(f, tokens)) {
		f->reason = "the person did not agree";
		(void)outcome_record(g->report, f, OUTCOME_FIRST_USE, false);
		log_error("%s: not used, because you did not agree", f->source->url);
		return false;
	}
	if (outcome_record(g->report, f, OUTCOME_FIRST_USE, true) < 0 ||
	    store(g, f) < 0 || pin(g, f) < 0)
		return false;
	report(f, OUTCOME_FIRST_USE, tokens);
	return true;
}

static enum catalog_outcome
judge(struct catalog_fetch *f, size_t *ret_tokens)
{
	const char *wanted = f->source->sha256;

	catalog_digest(f->text, f->len, f->digest);
	if (wanted != NULL && strcmp(wanted, f->digest) != 0)
		return OUTCOME_DIGEST_MISMATCH;
	if (memchr(f->text, '\0', f->len) != NULL ||
	    catalog_fetched_check(f->source->url, f->text, f->len, stderr, ret_tokens) <
		0)
		return OUTCOME_PARSE_ERROR;
	return OUTCOME_FETCHED;
}

/* Records how it ended, and stores it if it is good. */
static bool
use(struct fetching *g, struct catalog_fetch *f, enum catalog_outcome o)
{
	size_t tokens = 0;

	if (o == OUTCOME_FETCHED)
		o = judge(f, &tokens);
	if (!outcome_good(o)) {
		outcome_complain(f, o);
		(void)outcome_record(g->report, f, o, false); /* it reports a failure */
		return false;
	}
	if (f->source->sha256 == NULL)
		return first_use(g, f, tokens);
	if (stored_already(g, f->source))
		o = OUTCOME_UNCHANGED;
	if (outcome_record(g->report, f, o, true) < 0 ||
	    (o == OUTCOME_FETCHED && store(g, f) < 0))
		return false;
	report(f, o, tokens);
	return true;
}

/* ---- all of them ------------------------------------------------------------------ */

static bool
fetch_one(struct fetching *g, size_t i)
{
	struct catalog_fetch f = {.source = &g->list.source[i]};
	bool good;

	if (g->denied)
		return use(g, &f, OUTCOME_DISABLED);
	if (!f.source->https)
		return use(g, &f, OUTCOME_NOT_HTTPS);
	if (f.source->sha256 == NULL && !g->first) {
		log_error("%s: not fetched, because it has no `sha256`: write it, or run "
			  "`kennel secret catalog fetch --first` on a terminal",
		    f.source->url);
		return false;
	}
	good = use(g, &f, cell_fetch(g->store, &f));
	free(f.text);
	return good;
}

static int
fetch_all(struct fetching *g)
{
	int status = 0;

	for (size_t i = 0; i < g->list.n; i++) {
		bool first = g->list.source[i].sha256 == NULL;

		if (!fetch_one(g, i))
			status = EXIT_INPUT;
		if (!first || !g->first)
			continue;
		/* the file was written, and what follows in it has moved */
		catalog_sources_free(&g->list);
		if (sources_read(g) < 0)
			return EXIT_INPUT;
	}
	return status;
}

static int
settings(struct fetching *g)
{
	struct settings s;
	int r = settings_load(stderr, &s);

	g->denied = s.catalog_denied;
	settings_free(&s);
	return r == 0 ? 0 : EXIT_CONFIG;
}

static int
fetch(struct fetching *g)
{
	char why[AUDIT_WRITE_WHY_MAX];
	int r = settings(g);

	if (r != 0)
		return r;
	r = user_report_open("", &g->report);
	if (r < 0) {
		log_error("unable to write the audit log: %s; nothing was fetched",
		    paths_audit_dir() != NULL ? audit_write_why(paths_audit_dir(), r, why)
					      : strerror(-r));
		return EXIT_FAILED;
	}
	r = fetch_all(g);
	report_free(g->report);
	return r;
}

int
secret_catalog_fetch(const char *project, bool first)
{
	static struct fetching g;
	int status;

	if (first && (isatty(STDIN_FILENO) != 1 || isatty(STDERR_FILENO) != 1)) {
		log_error("--first asks a person: run it on a terminal");
		return EXIT_USAGE;
	}
	g.first = first;
	g.project = metas_project(project);
	g.config = paths_config_dir();
	g.store = paths_catalogs_dir();
	if (g.config == NULL || g.store == NULL) {
		log_error("%s", paths_why());
		return EXIT_CONFIG;
	}
	if (sources_read(&g) < 0)
		return EXIT_INPUT;
	status = g.list.n == 0 ? EXIT_INPUT : fetch(&g);
	if (g.list.n == 0)
		log_error(
		    "no catalog by URL found: `catalog \"https://HOST/FILE\" sha256 "
		    "DIGEST` in " CATALOG_FILE " names one");
	catalog_sources_free(&g.list);
	return status;
}
