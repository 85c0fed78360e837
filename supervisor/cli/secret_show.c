/*
 * kennel secret list, show, validate: show manifests and check them. They handle no
 * value; only validate --live contacts a source, through a leash.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/base/arena.h"
#include "policy/base/output.h"
#include "policy/compile/compile.h"
#include "policy/manifests/catalog.h"
#include "policy/tokens/token_format.h"
#include "policy/sources/sources.h"
#include "shim/help/near_word.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/cli/cli.h"
#include "supervisor/cli/secret.h"
#include "supervisor/help/help.h"
#include "supervisor/secrets/live_secrets.h"

#define EXIT_NO 1
#define COLUMNS 80
#define INDENT  24 /* where the path is in its line */

static const char *const wrong[] = {
    [META_NOT_FOUND] = "this secret is not declared here",
    [META_INVALID_PATH] = "invalid path",
    [META_MERGE_FAILED] = "the manifests have an error: run kennel secret validate",
};

/* Prints an error; with --json its object, in the format of the agent's tools, too.
 * Shows the path only if it is a valid one. */
static int
refused(
    const struct secret_options *o, enum meta_error kind, const char *path, int status)
{
	struct out out;

	if (o->json) {
		out_init(&out, stdout);
		out_object(&out, NULL);
		out_object(&out, "error");
		out_text(&out, "kind", meta_error_name(kind));
		if (path != NULL)
			out_text(&out, "path", path);
		out_end(&out);
		out_end(&out);
	}
	fprintf(stderr, "kennel secret: %s%s%s\n", wrong[kind], path != NULL ? ": " : "",
	    path != NULL ? path : "");
	return status;
}

static int
read_all(const struct secret_options *o, unsigned int how, struct metas *ret)
{
	int r =
	    metas_read(metas_project(o->project), paths_config_dir(), how, stderr, ret);

	if (r == 0)
		return 0;
	if (r == -ENOMEM) {
		fprintf(stderr, "kennel secret: out of memory\n");
		return EXIT_FAILED;
	}
	return refused(o, META_MERGE_FAILED, NULL, EXIT_INPUT);
}

static int
catalog_all(const struct secret_options *o, struct catalog *ret)
{
	return catalog_read(metas_project(o->project), paths_config_dir(),
	    paths_catalogs_dir(), stderr, ret);
}

/* Reports an error if the output could not be written. */
static int
flushed(int status)
{
	if (fflush(stdout) == 0 && ferror(stdout) == 0)
		return status;
	fprintf(stderr, "kennel secret: unable to write: %s\n", strerror(errno));
	return EXIT_CONFIG;
}

/* ---- list ----------------------------------------------------------------- */

struct listing {
	const struct metas *metas;
	const struct secret_options *o;
	struct secret_servers servers;
	uint32_t today;
	struct out out;
	size_t shown;
	bool not_granted, unknown; /* one that was printed is */
	bool locked;               /* the vault: its other paths are not known */
};

static const char *const granted_names[] = {[SECRET_NOT_GRANTED] = "not granted",
    [SECRET_GRANTED] = "granted",
    [SECRET_GRANT_UNKNOWN] = "vault locked"};

static void
text_servers(struct listing *l, const char *path)
{
	size_t at = 0;

	for (size_t i = 0; i < l->servers.n; i++) {
		const struct secret_server *s = &l->servers.row[i];
		size_t len = strlen(s->server) + strlen(granted_names[s->granted]) + 3;

		if (s->server[0] == '\0' || strcmp(s->path, path) != 0)
			continue;
		if (at == 0)
			printf("%*s", INDENT, "");
		else if (at + 2 + len < COLUMNS)
			at += (size_t)printf(", ");
		else {
			printf(",\n%*s", INDENT, "");
			at = 0;
		}
		if (at == 0)
			at = INDENT;
		out_plain(stdout, s->server, strlen(s->server));
		printf(" (%s)", granted_names[s->granted]);
		at += len;
		l->not_granted |= s->granted == SECRET_NOT_GRANTED;
		l->unknown |= s->granted == SECRET_GRANT_UNKNOWN;
	}
	if (at > 0)
		printf("\n");
}

static void
json_servers(struct listing *l, const char *path)
{
	struct out *o = &l->out;

	out_list(o, "servers");
	for (size_t i = 0; i < l->servers.n; i++) {
		const struct secret_server *s = &l->servers.row[i];

		if (s->server[0] == '\0' || strcmp(s->path, path) != 0)
			continue;
		out_object(o, NULL);
		out_text(o, "name", s->server);
		if (s->granted == SECRET_GRANT_UNKNOWN)
			out_null(o, "granted");
		else
			out_yes(o, "granted", s->granted == SECRET_GRANTED);
		out_end(o);
	}
	out_end(o);
}

static void
put_meta(struct listing *l, const struct meta *m)
{
	l->shown++;
	if (!l->o->json) {
		meta_line(m, l->today, stdout);
		text_servers(l, m->path);
		return;
	}
	meta_json_begin(m, false, l->today, &l->out);
	json_servers(l, m->path);
	out_end(&l->out);
}

/* A path that policies name or the vault has, and no manifest, as after an import. */
static void
put_undeclared(struct listing *l, const char *path)
{
	struct out *o = &l->out;

	l->shown++;
	if (!l->o->json) {
		printf("undeclared  -           ");
		out_plain(stdout, path, strlen(path));
		printf("\n");
		text_servers(l, path);
		return;
	}
	out_object(o, NULL);
	out_text(o, "path", path);
	out_text(o, "status", "undeclared");
	out_null(o, "expires_at");
	out_null(o, "source_name");
	out_text(o, "capabilities_hint", "read");
	json_servers(l, path);
	out_end(o);
}

static bool
is_in(const struct metas *m, const char *path)
{
	for (size_t i = 0; i < m->n; i++)
		if (strcmp(m->meta[i].path, path) == 0)
			return true;
	return false;
}

bool
secret_is_undeclared(const struct metas *metas, const struct secret_options *o,
    const struct secret_servers *s, size_t i)
{
	struct meta m = {.path = s->row[i].path, .declared = true};

	return (o->filter.all || metas_project(o->project) == NULL) &&
	       o->filter.status == NULL &&
	       (i == 0 || strcmp(s->row[i - 1].path, m.path) != 0) &&
	       !is_in(metas, m.path) && meta_passes(&m, &o->filter, meta_today());
}

static void
put_notes(const struct listing *l, bool project)
{
	if (l->shown == 0 && !project && !l->o->filter.all)
		fprintf(stderr, "kennel secret: no " META_PROJECT_DIR "/" META_FILE
				" here or above; --all shows the personal index, "
				"`kennel secret versions` what is in the vault\n");
	if (l->not_granted)
		printf("\n    kennel secret grant --server NAME   grants what its policy "
		       "names\n");
	if (l->unknown)
		fprintf(stderr, "kennel secret: the vault is locked: `kennel secret "
				"unlock` shows which servers are granted a secret\n");
	else if (l->locked && l->o->filter.all)
		fprintf(stderr, "kennel secret: the vault is locked: `kennel secret "
				"unlock` shows the other paths in it\n");
}

int
secret_list_put(const struct metas *metas, const struct secret_options *o)
{
	struct listing l = {.metas = metas, .o = o, .today = meta_today()};
	bool project = metas_project(o->project) != NULL;

	if (secret_servers_read(&l.servers, &l.locked) < 0) {
		secret_servers_free(&l.servers);
		fprintf(stderr, "kennel secret: out of memory\n");
		return EXIT_FAILED;
	}
	out_init(&l.out, stdout);
	if (o->json)
		out_list(&l.out, NULL);
	for (size_t i = 0; i < metas->n; i++)
		if (meta_passes(&metas->meta[i], &o->filter, l.today))
			put_meta(&l, &metas->meta[i]);
	for (size_t i = 0; i < l.servers.n; i++)
		if (secret_is_undeclared(metas, o, &l.servers, i))
			put_undeclared(&l, l.servers.row[i].path);
	if (o->json)
		out_end(&l.out);
	else
		put_notes(&l, project);
	secret_servers_free(&l.servers);
	return 0;
}

int
secret_list_main(int argc, char **argv)
{
	struct secret_options o;
	struct metas m;
	int r = secret_options(
	    argc, argv, SECRET_JSON | SECRET_FILTER | SECRET_ALL, 0, 0, &o);

	if (r == 0)
		r = read_all(&o, 0, &m);
	if (r != 0)
		return r;
	r = secret_list_put(&m, &o);
	metas_free(&m);
	return flushed(r);
}

/* ---- show ----------------------------------------------------------------- */

/* Shows the catalog's information about its origin. */
static void
show_catalog(const struct secret_options *o, const struct meta *m)
{
	const struct catalog_row *t;
	struct catalog c;

	if (m->pattern == NULL || catalog_all(o, &c) != 0)
		return; /* reported; the secret itself has been shown */
	t = catalog_of_pattern(&c, m->pattern);
	if (t != NULL) {
		printf("\nthe catalog knows this pattern:\n");
		token_show(t, stdout);
	}
	catalog_free(&c);
}

/* Finds any row of this path, for --all. */
static const struct meta *
find_all(const struct metas *m, const char *path)
{
	for (size_t i = 0; i < m->n; i++)
		if (!m->meta[i].internal && strcmp(m->meta[i].path, path) == 0)
			return &m->meta[i];
	return NULL;
}

/* What to do about a path that has no row here. */
static void
not_found_help(const struct metas *m, const char *path)
{
	const char **name = calloc(m->n + 1, sizeof(*name)), *near = NULL;
	const struct meta *hidden = find_all(m, path);

	for (size_t i = 0; name != NULL && i < m->n; i++)
		if (m->meta[i].declared && !m->meta[i].internal)
			name[i] = m->meta[i].path;
	if (name != NULL)
		near = near_word(path, name, m->n);
	if (hidden != NULL)
		fprintf(stderr,
		    "kennel secret: the project does not declare it; `kennel secret show "
		    "--all %s` shows its entry in the personal index\n",
		    path);
	else if (near != NULL)
		fprintf(stderr, "kennel secret: did you mean `%s`?\n", near);
	else
		fprintf(stderr,
		    "kennel secret: no manifest has it; `kennel secret list --all` lists "
		    "the known ones, `kennel secret versions` what is in the vault\n");
	free(name);
}

int
secret_show_main(int argc, char **argv)
{
	enum meta_error why = META_NOT_FOUND;
	const struct meta *found;
	struct secret_options o;
	struct metas m;
	struct out out;
	int r = secret_options(argc, argv, SECRET_JSON | SECRET_ALL, 1, 1, &o);

	if (r == 0)
		r = read_all(&o, 0, &m);
	if (r != 0)
		return r;
	found = metas_find(&m, o.word[0], &why);
	if (found == NULL && why == META_NOT_FOUND && o.filter.all)
		found = find_all(&m, o.word[0]);
	if (found == NULL && why == META_INVALID_PATH) {
		r = refused(&o, why, NULL, EXIT_INPUT);
		fprintf(stderr, "kennel secret: %s\n",
		    secret_path_wrong(o.word[0], strlen(o.word[0])));
	} else if (found == NULL) {
		r = refused(&o, why, o.word[0], EXIT_NO);
		not_found_help(&m, o.word[0]);
	} else if (o.json) {
		out_init(&out, stdout);
		meta_json(found, true, meta_today(), &out);
	} else {
		meta_show(found, meta_today(), stdout);
		show_catalog(&o, found);
	}
	metas_free(&m);
	return flushed(r);
}

/* ---- validate ------------------------------------------------------------- */

/* A token format that is unknown is probably misspelt. */
static size_t
patterns_check(const struct metas *m, const struct catalog *c)
{
	size_t odd = 0;

	for (size_t i = 0; i < m->n; i++) {
		const char *pattern = m->meta[i].pattern;

		if (pattern == NULL || token_format_find(pattern) != NULL ||
		    catalog_of_pattern(c, pattern) != NULL)
			continue;
		fprintf(stderr,
		    META_FILE ": warning: `pattern` of %s: unknown token format\n",
		    m->meta[i].path);
		odd++;
	}
	return odd;
}

/* Returns EXIT_NO if a source has no value. */
static int
print_live(const struct live_secret *s, size_t n, bool json)
{
	struct out out;
	int status = 0;

	out_init(&out, stdout);
	if (json)
		out_list(&out, NULL);
	for (size_t i = 0; i < n; i++) {
		const struct child_resolved *has = &s[i].has;
		const char *name = live_name(has->state);

		if (has->state != RESOLVED_OK && has->state != RESOLVED_ASKS)
			status = EXIT_NO;
		if (json) {
			out_object(&out, NULL);
			out_text(&out, "path", s[i].meta->path);
			out_text(&out, "live", name);
			if (has->state == RESOLVED_STATUS)
				out_number(&out, "exit_status", (uint64_t)has->status);
			if (has->why[0] != '\0')
				out_text(&out, "reason", has->why);
			out_end(&out);
			continue;
		}
		printf("%s: %s", s[i].meta->path, name);
		if (has->state == RESOLVED_STATUS)
			printf(" %d", has->status);
		if (has->why[0] != '\0')
			printf(": ");
		out_plain(stdout, has->why, strlen(has->why));
		printf("\n");
	}
	if (json)
		out_end(&out);
	return status;
}

/* Asks the sources of all secrets that the project declares. */
static int
validate_live(
    int argc, char **argv, const struct metas *m, const struct secret_options *o)
{
	static char why[LEASH_TEXT_MAX];
	struct live_secret *s = calloc(m->n + 1, sizeof(*s));
	size_t n = 0;
	int status;

	if (s == NULL) {
		fprintf(stderr, "kennel secret: out of memory\n");
		return EXIT_FAILED;
	}
	for (size_t i = 0; i < m->n; i++)
		if (m->meta[i].declared && !m->meta[i].internal)
			s[n++].meta = &m->meta[i];
	status = n == 0 ? 0 : vault_log_begin(argc, argv);
	if (status == 0 && n > 0) {
		status = live_secrets(s, n, o->ask, why);
		vault_log_end(status);
		if (status != 0)
			fprintf(stderr,
			    "kennel secret: unable to check the sources: %s\n", why);
	}
	if (status == 0)
		status = print_live(s, n, o->json);
	free(s);
	return status;
}

int
secret_validate_main(int argc, char **argv)
{
	size_t declared = 0, known = 0, odd;
	struct secret_options o;
	struct catalog c;
	struct metas m;
	bool json;
	FILE *diag;
	int r = secret_options(
	    argc, argv, SECRET_JSON | SECRET_STRICT | SECRET_LIVE, 0, 0, &o);

	if (r == 0 && o.ask && !o.live)
		r = help_usage(&secret_help, argv[0], "--ask needs --live");
	if (r != 0)
		return r;
	json = o.json && !o.live; /* with --live, the document is its results */
	diag = json ? stdout : stderr;
	r = metas_read(metas_project(o.project), paths_config_dir(),
	    META_WARN | (o.strict ? META_STRICT : 0U) | (json ? META_JSON : 0U), diag,
	    &m);
	if (r == 0 && catalog_all(&o, &c) != 0) {
		metas_free(&m);
		r = -EINVAL;
	}
	if (r != 0) {
		fprintf(stderr, "kennel secret: a manifest or a catalog has an error: "
				"correct it and run this again\n");
		return flushed(r == -ENOMEM ? EXIT_FAILED : EXIT_INPUT);
	}
	odd = patterns_check(&m, &c);
	for (size_t i = 0; i < m.n; i++) {
		declared += m.meta[i].declared ? 1 : 0;
		known += m.meta[i].internal ? 0 : 1;
	}
	if (!o.json)
		printf("%zu of %zu secrets are declared here, %zu warnings; %zu kinds of "
		       "tokens are known\n",
		    declared, known, m.warning_n + odd, c.n);
	catalog_free(&c);
	r = o.live ? validate_live(argc, argv, &m, &o) : 0;
	metas_free(&m);
	return flushed(r);
}

/* ---- catalog -------------------------------------------------------------- */

int
secret_catalog_main(int argc, char **argv)
{
	const struct catalog_row *t = NULL;
	struct secret_options o;
	struct catalog c;
	bool show, list, fetch;
	int r = secret_options(argc, argv, SECRET_JSON | SECRET_FIRST, 1, 2, &o);

	if (r != 0)
		return r;
	show = strcmp(o.word[0], "show") == 0;
	list = strcmp(o.word[0], "list") == 0;
	fetch = strcmp(o.word[0], "fetch") == 0;
	if ((!show && !list && !fetch && strcmp(o.word[0], "validate") != 0) ||
	    (o.word_n == 2) != show || (o.first && !fetch) || (o.json && fetch))
		return help_usage(
		    &secret_help, argv[0], "expected list, validate, show or fetch");
	if (fetch)
		return secret_catalog_fetch(o.project, o.first);
	if (catalog_all(&o, &c) != 0)
		return EXIT_INPUT;
	if (show)
		t = catalog_find(&c, o.word[1]);
	if (show && t == NULL) {
		fprintf(stderr, "kennel secret: no such token in the catalog: `kennel "
				"secret catalog list` lists them\n");
		r = EXIT_NO;
	} else if (show) {
		(o.json ? token_json : token_show)(t, stdout);
	} else if (list) {
		(o.json ? catalog_json : catalog_show)(&c, stdout);
	} else {
		printf("%zu kinds of tokens, no error\n", c.n);
	}
	catalog_free(&c);
	return flushed(r);
}
