/*
 * Policies, mcp-servers.json and the registry as one list of servers: the one function
 * for `kennel list`, `kennel server list`, `show` and `check`.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/help/near_word.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/help/help.h"
#include "supervisor/servers/servers.h"

#define NEAR_NAMES_MAX 256

int
server_registry_open(bool create, struct registry **ret)
{
	const char *dir = paths_registry_dir();
	struct reason moved, why;
	int r;

	if (dir == NULL) {
		log_error("%s", paths_why());
		return EXIT_CONFIG;
	}
	moved.text[0] = '\0';
	r = registry_open(dir, create, ret, &moved, &why);
	if (moved.text[0] != '\0')
		log_warn("%s", moved.text);
	if (r == -ENOENT && !create) {
		*ret = NULL;
		return 0;
	}
	if (r < 0)
		log_error("%s", why.text);
	return r < 0 ? EXIT_FAILED : 0;
}

static void
read_file(struct server_view *v)
{
	struct global_places places;
	struct reason why;

	global_places_here(paths_config_dir(), v->project, &places);
	if (global_file_read(&places, v->registry, &v->file, &why) < 0) {
		log_error("%s", why.text);
		v->file_broken = true;
	}
	skipped_file_log(&v->file.skipped);
	global_file_log_notes(&v->file);
	v->file_broken |= v->file.errors > 0;
}

static int
merge(struct server_view *v)
{
	const struct server_sources sources = {.stored = &v->stored,
	    .file = &v->file.rows,
	    .file_first = v->file.first,
	    .policy = &v->policies.rows};
	int r = v->registry == NULL ? 0 : registry_list(v->registry, &v->stored);

	if (r == 0)
		r = servers_merge(&sources, &v->rows);
	if (r < 0)
		log_error("unable to read the registry: %s", strerror(-r));
	return r < 0 ? EXIT_FAILED : 0;
}

int
server_view_open(bool create, struct server_view *ret)
{
	int status;

	memset(ret, 0, sizeof(*ret));
	if (known_policies_read(&ret->policies) < 0) {
		log_error("out of memory");
		return EXIT_FAILED;
	}
	status = server_registry_open(create, &ret->registry);
	if (status == 0)
		read_file(ret);
	return status != 0 ? status : merge(ret);
}

void
server_view_close(struct server_view *v)
{
	server_rows_free(&v->rows);
	server_rows_free(&v->stored);
	global_file_free(&v->file);
	registry_close(v->registry);
	known_policies_free(&v->policies);
}

int
server_argument(int argc, char **argv, const char **ret)
{
	const char *found = NULL;

	for (int i = 1; i < argc; i++) {
		if (argv[i][0] == '-' || found != NULL)
			return help_refuse(&server_help, argv[0], argv[i]);
		found = argv[i];
	}
	*ret = found;
	return 0;
}

const struct server_row *
server_view_find(const struct server_view *v, const char *name)
{
	for (size_t i = 0; i < v->rows.n; i++)
		if (strcmp(v->rows.row[i].name, name) == 0)
			return &v->rows.row[i];
	return NULL;
}

const char *
server_view_unknown(
    const struct server_view *v, const char *name, char out[SERVER_UNKNOWN_MAX])
{
	const char *list[NEAR_NAMES_MAX], *near;
	size_t n = 0;

	for (size_t i = 0; i < v->rows.n && n < NEAR_NAMES_MAX; i++)
		list[n++] = v->rows.row[i].name;
	near = near_word(name, list, n);
	if (near != NULL)
		(void)snprintf(out, SERVER_UNKNOWN_MAX,
		    "no server `%.64s`: did you mean `%.64s`?", name, near); /* fits */
	else
		(void)snprintf(out, SERVER_UNKNOWN_MAX,
		    "no server `%.64s`: `kennel server list` lists them",
		    name); /* fits */
	return out;
}
