/*
 * The tools of a server that a verb lists for the first time (init and its users, try):
 * a person sees what would be warned about when they are pinned.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/log.h"
#include "supervisor/lint/private.h"

#define BYTES_MAX (16u << 20) /* of all definitions; more are not looked at */

struct first_look {
	char *server;
	struct lint *lint;
	struct buf bytes; /* one definition after another, each with a newline */
	bool failed;      /* out of memory, or too many */
};

void
lint_print(const char *kind, const struct lint_warning *w, size_t *n)
{
	if (++*n > LINT_PRINTED_MAX)
		return;
	log_warn("%s%s%s%s%s%s: %s (%s): `%s`", kind, w->name[0] != '\0' ? " `" : "",
	    w->name, w->name[0] != '\0' ? "`" : "", w->member[0] != '\0' ? " " : "",
	    w->member, w->what, w->rule, w->shown);
}

struct first_look *
first_look_new(const char *server)
{
	struct first_look *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return NULL;
	buf_init(&f->bytes, BYTES_MAX);
	f->server = strdup(server);
	if (f->server == NULL || lint_new(server, &f->lint) < 0) {
		free(f->server);
		free(f);
		return NULL;
	}
	return f;
}

void
first_look_add(struct first_look *f, struct json definition)
{
	char text[MCP_NAME_MAX];
	struct json name;
	size_t len;

	if (f == NULL || f->failed)
		return;
	if (json_get(definition, "name", &name) == 0 &&
	    json_text(name, text, sizeof(text), &len) == 0 &&
	    lint_know(f->lint, f->server, text, len) < 0)
		f->failed = true;
	/* a message is one line, so a definition is in one, too */
	if (buf_put(&f->bytes, definition.at, definition.len) < 0 ||
	    buf_putc(&f->bytes, '\n') < 0)
		f->failed = true;
}

static void
print_tool(void *arg, const struct lint_warning *w)
{
	lint_print("tool", w, arg);
}

/* 0 or -errno. */
static int
look(struct first_look *f, size_t *n)
{
	const char *at = (const char *)f->bytes.data, *end = at + f->bytes.len;
	int r = lint_know_user(f->lint, f->server);

	while (r == 0 && at < end) {
		const char *next = memchr(at, '\n', (size_t)(end - at));
		struct json name = {.type = JSON_IS_NONE};
		struct json_message m;

		r = json_scan((const uint8_t *)at, (size_t)(next - at), &m);
		if (r == 0 && json_get(m.root, "name", &name) < 0)
			name = (struct json){.type = JSON_IS_NONE};
		if (r == 0)
			r = lint_definition(
			    f->lint, PIN_TOOL, name, m.root, print_tool, n);
		at = next + 1;
	}
	return r;
}

size_t
first_look_end(struct first_look *f)
{
	size_t n = 0;

	if (f == NULL) {
		log_warn(
		    "out of memory: the tools are not checked for texts that instruct "
		    "a model");
		return 0;
	}
	if (look(f, &n) < 0 || f->failed)
		log_warn(
		    "not every tool of %s was checked for texts that instruct a model",
		    f->server);
	if (n > LINT_PRINTED_MAX)
		log_warn("%zu more warnings are not shown", n - LINT_PRINTED_MAX);
	if (n > 0)
		log_warn("%zu warning%s about the tools of %s: read them before you use "
			 "it; `kennel server pin %s` records what you have reviewed",
		    n, n == 1 ? "" : "s", f->server, f->server);
	lint_free(f->lint);
	buf_free(&f->bytes);
	free(f->server);
	free(f);
	return n;
}
