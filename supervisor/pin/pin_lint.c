/*
 * Warns about poisoned definitions when they are pinned. Knows the names of the user's
 * other servers from their policies, and the names of their tools from the pins files
 * next to these.
 *
 * Process: kennel, as the calling user. Reads the user's own files; a file that cannot be
 * read costs only the comparison with its names.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/launch/find/policy_files.h"
#include "supervisor/pin/private.h"

#define PINS_LEN_MAX (16u << 20)
#define SHOWN_MAX    200 /* warnings that are printed */

struct known {
	struct lint *lint;
	const char *server;
	int r;
};

/* ---- names of other policies --------------------------------------------------- */

static void
know_server(void *arg, const struct policy_name *n)
{
	struct known *k = arg;

	if (k->r == 0)
		k->r = lint_know(k->lint, n->name, NULL, 0);
}

static int
know_tool(struct known *k, const char *server, struct json name)
{
	char text[MCP_NAME_MAX];
	size_t len;

	if (json_text(name, text, sizeof(text), &len) < 0)
		return 0;
	return lint_know(k->lint, server, text, len);
}

/* One line of a pins file (docs/FORMAT.pins). The first one has the server's name. */
static void
know_line(struct known *k, const char *line, size_t len, char server[MCP_NAME_MAX])
{
	struct json_message m;
	struct json kind, name;
	size_t n;

	if (json_scan((const uint8_t *)line, len, &m) < 0)
		return;
	if (server[0] == '\0') {
		if (json_get(m.root, "server", &name) == 0)
			(void)json_text(name, server, MCP_NAME_MAX, &n); /* stays empty */
		return;
	}
	if (json_get(m.root, "kind", &kind) == 0 && kind.len == sizeof("\"tool\"") - 1 &&
	    memcmp(kind.at, "\"tool\"", kind.len) == 0 &&
	    json_get(m.root, "name", &name) == 0)
		k->r = know_tool(k, server, name);
}

static void
know_pins(void *arg, const char *path, int fd)
{
	struct known *k = arg;
	char server[MCP_NAME_MAX] = "", *text = NULL, *at, *end;
	size_t len = 0;
	int r = fd < 0 ? fd : fd_slurp(fd, PINS_LEN_MAX, &text, &len);

	if (r < 0) {
		log_warn("unable to read %s: %s; definitions are not compared with the "
			 "tools in it",
		    path, strerror(-r));
		return;
	}
	for (at = text; k->r == 0 && at != NULL && at < text + len; at = end + 1) {
		end = memchr(at, '\n', (size_t)(text + len - at));
		if (end == NULL)
			break;
		know_line(k, at, (size_t)(end - at), server);
		if (server[0] == '\0' || strcmp(server, k->server) == 0)
			break;
	}
	free(text);
}

int
pin_lint_new(const char *server, const struct row *row, size_t n, struct lint **ret)
{
	struct known k = {.server = server};
	const char *config = paths_config_dir();
	char dir[PATH_MAX];
	int r = lint_new(server, &k.lint);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n && k.r == 0; i++) {
		const struct json name = {
		    row[i].name.data, row[i].name.len, JSON_IS_STRING};

		if (row[i].kind == PIN_TOOL)
			k.r = know_tool(&k, server, name);
	}
	r = server_names(know_server, &k);
	if (r == 0 && config != NULL) {
		(void)snprintf(dir, sizeof(dir), "%.4000s/policies", config);
		r = policies_each(dir, ".pins", know_pins, &k);
	}
	if (r < 0)
		log_warn("unable to list the policies: %s; definitions are not compared "
			 "with the names in them",
		    strerror(-r));
	if (k.r < 0) {
		lint_free(k.lint);
		return k.r;
	}
	*ret = k.lint;
	return 0;
}

/* ---- warnings ------------------------------------------------------------------- */

static void
print_warning(void *arg, const struct lint_warning *w)
{
	size_t *n = arg;

	if (++*n > SHOWN_MAX)
		return;
	log_warn("%s%s%s%s%s%s: %s (%s): `%s`", pin_kind_word(w->kind),
	    w->name[0] != '\0' ? " `" : "", w->name, w->name[0] != '\0' ? "`" : "",
	    w->member[0] != '\0' ? " " : "", w->member, w->what, w->rule, w->shown);
}

int
pin_lint(const char *server, const struct row *row, size_t n, bool strict)
{
	struct lint *lint = NULL;
	size_t warnings = 0;
	int r = pin_lint_new(server, row, n, &lint);

	for (size_t i = 0; r == 0 && i < n; i++)
		r = lint_definition(lint, row[i].kind,
		    (struct json){row[i].name.data, row[i].name.len, JSON_IS_STRING},
		    pin_value(row[i].body.data, row[i].body.len), print_warning,
		    &warnings);
	lint_free(lint);
	if (r < 0) {
		log_error("unable to check the definitions of %s: %s; nothing is written",
		    server, strerror(-r));
		return EXIT_FAILED;
	}
	if (warnings > SHOWN_MAX)
		log_warn("%zu more warnings are not shown", warnings - SHOWN_MAX);
	if (warnings == 0)
		return 0;
	if (!strict) {
		log_warn("%zu warning%s about the definitions of %s: read them before "
			 "you use them",
		    warnings, warnings == 1 ? "" : "s", server);
		return 0;
	}
	log_error(
	    "%zu warning%s about the definitions of %s: nothing is written, because "
	    "of --strict",
	    warnings, warnings == 1 ? "" : "s", server);
	return EXIT_INPUT;
}
