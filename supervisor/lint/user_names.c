/*
 * The names of the user's other servers, from their policies, and of their tools, from the
 * pins files next to these.
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
#include "supervisor/base/paths.h"
#include "supervisor/launch/find/policy_files.h"
#include "supervisor/lint/private.h"

#define PINS_LEN_MAX (16u << 20)

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
lint_know_user(struct lint *l, const char *server)
{
	struct known k = {.lint = l, .server = server};
	const char *config = paths_config_dir();
	char dir[PATH_MAX];
	int r = server_names(know_server, &k);

	if (r == 0 && config != NULL) {
		(void)snprintf(dir, sizeof(dir), "%.4000s/policies", config);
		r = policies_each(dir, ".pins", know_pins, &k);
	}
	if (r < 0)
		log_warn("unable to list the policies: %s; definitions are not compared "
			 "with the names in them",
		    strerror(-r));
	return k.r;
}
