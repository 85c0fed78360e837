/*
 * kennel secret sources: shows sources.kennel, which source answers for a path, and
 * whether its plugin matches its sidecar.
 *
 * Process: kennel. Contacts no source, starts no plugin, handles no value.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/base/arena.h"
#include "policy/base/output.h"
#include "policy/compile/compile.h"
#include "policy/lang/secret_path.h"
#include "policy/lang/secret_source.h"
#include "policy/sealed/policy.h"
#include "policy/sources/sources.h"
#include "shim/base/fd.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/cli/secret.h"

#define PROGRAM_LEN_MAX (64u << 20) /* same limit as in the leash */

/* Checks the plugin's program against its sidecar. */
static const char *
program_state(const struct sidecar *car)
{
	uint8_t digest[32];
	const char *state = "missing";
	struct stat st;
	int fd;

	/* early: openat fstat newfstatat read close */
	fd = open(car->program, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return state;
	state = "unsafe";
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    (st.st_mode & (S_IWGRP | S_IWOTH)) == 0) {
		if (policy_digest_fd(fd, PROGRAM_LEN_MAX, digest) < 0)
			state = "missing";
		else
			state = memcmp(digest, car->sha256, sizeof(digest)) == 0
				    ? "ok"
				    : "changed";
	}
	fd_close(&fd);
	return state;
}

static const char *
by_name(const struct route *x)
{
	static const char *const names[] = {[BY_NOTHING] = "",
	    [BY_DEFAULT] = "default",
	    [BY_ROUTE] = "route",
	    [BY_SECRET] = "secret"};

	return x == NULL ? "" : names[x->by];
}

/* ---- text output ---------------------------------------------------------------- */

static void
plain(const char *text)
{
	out_plain(stdout, text, strlen(text));
}

static void
say_source(const struct route_source *s)
{
	size_t i;

	(void)fputs("source ", stdout);
	plain(s->name.text);
	if (s->sidecar != NULL) {
		(void)fputs(": plugin ", stdout);
		plain(s->sidecar->name);
		(void)fputs(" ", stdout);
		plain(s->sidecar->version);
		(void)fputs(", ", stdout);
		plain(s->sidecar->program);
		(void)printf(" (%s)", program_state(s->sidecar));
	} else {
		(void)fputs(": from", stdout);
		for (i = 0; i < s->from_n; i++) {
			(void)fputs(" ", stdout);
			plain(s->from[i].text);
		}
	}
	for (i = 0; i < s->credential_n; i++) {
		(void)fputs("; needs ", stdout);
		plain(s->credential[i].variable.text);
		(void)fputs(" from ", stdout);
		plain(s->credential[i].word[0].text);
	}
	if ((s->may & SECRET_MAY_NETWORK) != 0)
		(void)fputs("; may network", stdout);
	if ((s->may & SECRET_MAY_FILES) != 0)
		(void)fputs("; may files", stdout);
	(void)fputs("\n", stdout);
}

static void
say_route(const struct sources *sources, const struct route *x)
{
	(void)printf("%s%s", by_name(x), x->path[0] != '\0' ? " " : "");
	plain(x->path);
	(void)fputs(" -> ", stdout);
	plain(sources->source[x->source].name.text);
	if (x->reference != NULL) {
		(void)fputs(" as ", stdout);
		plain(x->reference);
	}
	(void)fputs("\n", stdout);
}

static void
say_answer(const char *path, const struct route *x, const struct source_answer *a)
{
	(void)printf("%s: source ", path);
	plain(a->source->name.text);
	if (x == NULL)
		(void)fputs(", by default", stdout);
	else
		(void)printf(", by `%s` on line %u", by_name(x), x->at.line);
	(void)fputs(", as ", stdout);
	plain(a->reference);
	(void)fputs("\n", stdout);
	say_source(a->source);
}

/* ---- JSON output ------------------------------------------------------------------ */

static void
json_source(struct out *o, const char *key, const struct route_source *s)
{
	size_t i;

	out_object(o, key);
	out_text(o, "name", s->name.text);
	out_list(o, "from");
	for (i = 0; i < s->from_n; i++)
		out_text(o, NULL, s->from[i].text);
	out_end(o);
	if (s->sidecar != NULL) {
		out_object(o, "plugin");
		out_text(o, "name", s->sidecar->name);
		out_text(o, "version", s->sidecar->version);
		out_text(o, "program", s->sidecar->program);
		out_text(o, "state", program_state(s->sidecar));
		out_end(o);
	}
	out_list(o, "credentials");
	for (i = 0; i < s->credential_n; i++)
		out_text(o, NULL, s->credential[i].variable.text);
	out_end(o);
	out_yes(o, "may_network", (s->may & SECRET_MAY_NETWORK) != 0);
	out_yes(o, "may_files", (s->may & SECRET_MAY_FILES) != 0);
	out_end(o);
}

static void
json_route(
    struct out *o, const char *key, const struct sources *sources, const struct route *x)
{
	out_object(o, key);
	out_text(o, "by", by_name(x));
	out_text(o, "path", x->path);
	out_text(o, "source", sources->source[x->source].name.text);
	out_text_or_null(o, "reference", x->reference);
	out_number(o, "line", x->at.line);
	out_end(o);
}

static void
json_answer(struct out *o, const struct sources *sources, const char *path,
    const struct route *x, const struct source_answer *a)
{
	out_object(o, NULL);
	out_text(o, "path", path);
	out_text(o, "reference", a->reference);
	if (x != NULL)
		json_route(o, "route", sources, x);
	else
		out_null(o, "route");
	json_source(o, "source", a->source);
	out_end(o);
}

static void
json_all(struct out *o, const struct sources *sources)
{
	size_t i;

	out_object(o, NULL);
	out_text_or_null(o, "file", sources->file);
	out_list(o, "sources");
	for (i = 0; i < sources->source_n; i++)
		json_source(o, NULL, &sources->source[i]);
	out_end(o);
	out_list(o, "routes");
	for (i = 0; i < sources->route_n; i++)
		json_route(o, NULL, sources, &sources->route[i]);
	out_end(o);
	out_end(o);
}

/* ---- the verb ------------------------------------------------------------------------ */

static int
show_all(const struct sources *sources, bool json)
{
	struct out o;
	size_t i;

	out_init(&o, stdout);
	if (json) {
		json_all(&o, sources);
		return 0;
	}
	if (sources->file != NULL) {
		plain(sources->file);
		(void)fputs("\n", stdout);
	}
	for (i = 0; i < sources->source_n; i++)
		say_source(&sources->source[i]);
	for (i = 0; i < sources->route_n; i++)
		say_route(sources, &sources->route[i]);
	return 0;
}

static int
show_answer(const struct sources *sources, const char *path, bool json)
{
	struct word variable = {.text = "SECRET", .len = 6};
	const struct route *x;
	struct reason why;
	struct source_answer a;
	struct out o;
	int r;

	if (secret_path_wrong(path, strlen(path)) != NULL) {
		fprintf(stderr, "kennel secret sources: %s\n",
		    secret_path_wrong(path, strlen(path)));
		return EXIT_INPUT;
	}
	x = sources_find(sources, path);
	r = sources_answer(sources, &variable, path, &a, &why);
	if (r < 0) {
		fprintf(stderr, "kennel secret sources: %s: %s\n", path,
		    r == -EINVAL ? why.text : strerror(-r));
		return r == -EINVAL ? EXIT_CONFIG : EXIT_FAILED;
	}
	out_init(&o, stdout);
	if (json)
		json_answer(&o, sources, path, x, &a);
	else
		say_answer(path, x, &a);
	return 0;
}

int
secret_sources_main(int argc, char **argv)
{
	struct secret_options o;
	struct sources sources;
	struct arena *arena;
	int r = secret_options(argc, argv, SECRET_JSON, 0, 1, &o);

	if (r != 0)
		return r;
	arena = arena_new();
	r = arena == NULL
		? -ENOMEM
		: sources_read(arena, &policy_files, sources_place(), stderr, &sources);
	if (r == -EINVAL)
		r = EXIT_CONFIG;
	else if (r < 0)
		r = EXIT_FAILED;
	else
		r = o.word_n == 0 ? show_all(&sources, o.json)
				  : show_answer(&sources, o.word[0], o.json);
	if (fflush(stdout) != 0 || ferror(stdout) != 0)
		r = EXIT_CONFIG;
	arena_free(arena);
	return r;
}
