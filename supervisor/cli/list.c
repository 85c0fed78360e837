/*
 * kennel list: the servers that have a policy, and the policy that each starts with.
 *
 * Process: kennel, as the calling user. Starts nothing. A file with errors gets a row of
 * its own, and the others are listed.
 */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policy/base/output.h"
#include "policy/base/source.h"
#include "policy/compile/compile.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"
#include "shim/base/buf.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/host/path_open.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/cli/cli.h"
#include "supervisor/help/help.h"
#include "supervisor/launch/changed_source.h"
#include "supervisor/launch/policy_files.h"

#define TEXT_LEN_MAX (16u << 20)
#define SERVERS_MAX  1024
#define NAME_LEN     128

/* What is known of one policy file. */
struct listed {
	const char *path;
	bool sealed;
	struct policy_counts counts;
	struct policy policy; /* valid if loaded */
	bool loaded, stale;
};

struct listing {
	struct out o;
	bool json;
	/* a policy before this one is used */
	struct {
		char name[NAME_LEN];
		bool sealed;
	} seen[SERVERS_MAX];
	size_t seen_n, rows, broken;
};

/* What a start does with one of several policies of a server. */
enum use {
	USED,
	NOT_USED,
	REFUSED, /* it does not choose between two texts */
};

/* ---- a row ------------------------------------------------------------------- */

/* "2 (env, vault)". */
static const char *
secrets_text(const struct listed *f, const struct sealed_server *s, char out[64])
{
	uint32_t seen = 0;
	size_t n = 0;

	n += (size_t)snprintf(out, 64, "%u", s->secrets.n);
	for (uint32_t i = 0; i < s->secrets.n; i++) {
		uint32_t source = f->policy.secret[s->secrets.first + i].source;

		if (source > 31 || (seen & 1u << source) != 0 || n > 40)
			continue;
		n += (size_t)snprintf(out + n, 64 - n, "%s%s", seen == 0 ? " (" : ", ",
		    policy_source_name(source));
		seen |= 1u << source;
	}
	if (seen != 0)
		(void)snprintf(out + n, 64 - n, ")");
	return out;
}

/* What the user should know: empty, or one line. */
static void
note_of(const struct listed *f, enum use use, char out[PATH_MAX + 128])
{
	const struct policy_counts *n = &f->counts;

	out[0] = '\0';
	if (use == NOT_USED)
		(void)snprintf(out, 128, "not used: the policy above is");
	else if (use == REFUSED)
		(void)snprintf(out, 128,
		    "error: a policy above defines the server too: remove one of them");
	else if (f->stale)
		(void)snprintf(
		    out, PATH_MAX + 128, "stale: `kennel policy check --all` says why");
	else if (n->errors > 0)
		(void)snprintf(out, PATH_MAX + 128,
		    "%zu error%s: `kennel policy check %s`", n->errors,
		    n->errors == 1 ? "" : "s", f->path);
	else if (n->warnings > 0)
		(void)snprintf(out, PATH_MAX + 128,
		    "%zu warning%s: `kennel policy check %s`", n->warnings,
		    n->warnings == 1 ? "" : "s", f->path);
}

static void
put_json(struct listing *l, const struct listed *f, const char *name,
    const struct sealed_server *s, enum use use)
{
	struct out *o = &l->o;

	out_object(o, NULL);
	out_text_or_null(o, "server", name);
	out_text(o, "file", f->path);
	out_text(o, "form", f->sealed ? "sealed" : "text");
	out_yes(o, "used", use == USED);
	if (s != NULL) {
		out_yes(o, "pinned", s->pins.n > 0);
		out_number(o, "secrets", s->secrets.n);
	} else {
		out_null(o, "pinned");
		out_null(o, "secrets");
	}
	out_yes(o, "stale", f->stale);
	out_number(o, "errors", f->counts.errors);
	out_number(o, "warnings", f->counts.warnings);
	out_end(o);
}

static enum use
use_of(struct listing *l, const char *name, bool sealed)
{
	for (size_t i = 0; i < l->seen_n; i++)
		if (strcmp(l->seen[i].name, name) == 0)
			return sealed || l->seen[i].sealed ? NOT_USED : REFUSED;
	if (l->seen_n < SERVERS_MAX) {
		(void)snprintf(l->seen[l->seen_n].name, NAME_LEN, "%s", name);
		l->seen[l->seen_n++].sealed = sealed;
	}
	return USED;
}

static void
put_row(struct listing *l, const struct listed *f, const char *name)
{
	const struct sealed_server *s =
	    f->loaded && name != NULL ? policy_server(&f->policy, name) : NULL;
	enum use use = name == NULL ? USED : use_of(l, name, f->sealed);
	char secrets[64], note[PATH_MAX + 128], shown[PATH_MAX];

	if (!l->json && l->rows == 0)
		printf("%-20s %-7s %-7s %-16s %s\n", "server", "form", "pinned",
		    "secrets", "policy");
	l->rows++;
	l->broken += use == REFUSED;
	if (l->json) {
		put_json(l, f, name, s, use);
		return;
	}
	note_of(f, use, note);
	printf("%-20s %-7s %-7s %-16s %s\n", name != NULL ? name : "?",
	    f->sealed ? "sealed" : "text",
	    s == NULL       ? "?"
	    : s->pins.n > 0 ? "yes"
			    : "no",
	    s == NULL ? "?" : secrets_text(f, s, secrets),
	    log_quote(shown, sizeof(shown), f->path, strlen(f->path)));
	if (note[0] != '\0')
		printf(
		    "%20s %s\n", "", log_quote(shown, sizeof(shown), note, strlen(note)));
}

/* ---- files ---------------------------------------------------------------------- */

struct name_to {
	struct listing *l;
	const struct listed *f;
	size_t n;
};

static void
put_name(void *arg, const char *name)
{
	struct name_to *to = arg;

	to->n++;
	put_row(to->l, to->f, name);
}

static void
list_text(struct listing *l, struct listed *f, const char *text, size_t len)
{
	struct policy_source source = {
	    .path = f->path, .text = text, .len = len, .reader = &policy_files};
	struct name_to to = {.l = l, .f = f};
	char why[256], *said = NULL;
	size_t said_len = 0;
	FILE *quiet = open_memstream(&said, &said_len);
	struct buf bytes;

	buf_init(&bytes, SEALED_LEN_MAX);
	if (quiet == NULL || policy_check(&source, 1, &bytes, quiet, &f->counts) < 0)
		f->counts.errors += f->counts.errors == 0;
	if (quiet != NULL)
		(void)fclose(quiet); /* only the numbers are shown */
	free(said);
	f->loaded = bytes.len > 0 && policy_load_bytes(bytes.data, bytes.len, &f->policy,
					 why, sizeof(why)) == 0;
	if (policy_names(&source, put_name, &to) < 0 || to.n == 0)
		put_row(l, f, NULL);
	l->broken += f->counts.errors > 0;
	if (f->loaded)
		policy_unload(&f->policy);
	buf_free(&bytes);
}

/* NAME.sealed is found by its name. */
static void
list_sealed(struct listing *l, struct listed *f, int fd)
{
	const char *base = strrchr(f->path, '/') + 1;
	struct changed_source changed;
	char name[NAME_LEN], why[256];
	int memfd = -1;

	(void)snprintf(name, sizeof(name), "%.*s",
	    (int)(strlen(base) - strlen(".sealed")), base); /* may be cut */
	f->sealed = true;
	f->loaded = policy_seal_fd(fd, &memfd) == 0 &&
		    policy_load(memfd, &f->policy, why, sizeof(why)) == 0;
	f->counts.errors = !f->loaded || policy_server(&f->policy, name) == NULL;
	f->stale = f->loaded && changed_source_find(&f->policy, f->path, &changed);
	put_row(l, f, name);
	l->broken += f->counts.errors > 0;
	if (f->loaded)
		policy_unload(&f->policy);
	fd_close(&memfd);
}

static void
list_file(void *arg, const char *path)
{
	struct listing *l = arg;
	struct listed f = {.path = path};
	char magic[8] = "", *text = NULL;
	size_t len = 0;
	int fd = -1;

	if (path_open(path, &fd) == 0 &&
	    pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
	    memcmp(magic, SEALED_MAGIC, sizeof(magic)) == 0) {
		list_sealed(l, &f, fd);
	} else if (fd >= 0 && fd_slurp(fd, TEXT_LEN_MAX, &text, &len) == 0) {
		list_text(l, &f, text, len);
		free(text);
	} else {
		f.counts.errors = 1;
		l->broken++;
		put_row(l, &f, NULL);
	}
	fd_close(&fd);
}

/* In the order of a start: a sealed file comes before a text. */
static void
list_all(struct listing *l)
{
	const char *config = paths_config_dir();
	const struct {
		const char *base, *below, *suffix;
	} place[] = {
	    {"/etc/kennel", "sealed", ".sealed"},
	    {config, "sealed", ".sealed"},
	    {config, "policies", ".kennel"},
	};
	char dir[PATH_MAX];
	int r;

	for (size_t i = 0; i < ARRAY_LEN(place); i++) {
		if (place[i].base == NULL)
			continue;
		(void)snprintf(
		    dir, sizeof(dir), "%.4000s/%s", place[i].base, place[i].below);
		r = policies_each(dir, place[i].suffix, list_file, l);
		if (r < 0) {
			log_error("unable to list %s: %s", dir, strerror(-r));
			l->broken++;
		}
	}
}

int
servers_list_main(int argc, char **argv)
{
	static struct listing l; /* large */

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--json") != 0)
			return help_refuse(&kennel_help, argv[0], argv[i]);
		l.json = true;
	}
	out_init(&l.o, stdout);
	if (l.json)
		out_list(&l.o, NULL);
	list_all(&l);
	if (l.json)
		out_end(&l.o);
	if (!l.json && l.rows == 0)
		printf(
		    "no policy found in %s: `kennel init NAME -- COMMAND` drafts one\n",
		    paths_config_dir() != NULL ? paths_config_dir() : "/etc/kennel");
	if (fflush(stdout) != 0)
		return EXIT_FAILED;
	return l.broken > 0 ? EXIT_INPUT : 0;
}
