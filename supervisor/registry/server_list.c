/*
 * The servers of policies, of mcp-servers.json and of the registry as one list: what
 * `kennel list`, `kennel server list` and a session show.
 *
 * An agent's row never hides another one: an agent could otherwise disable a server, or
 * put its own command in place of a reviewed one, by choosing its name.
 */
#include <errno.h>
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/registry/registry.h"

static const struct server_row *
find(const struct server_rows *rows, const char *name)
{
	for (size_t i = 0; rows != NULL && i < rows->n; i++)
		if (strcmp(rows->row[i].name, name) == 0)
			return &rows->row[i];
	return NULL;
}

/* The row that defines the server; NULL: what is stored of a server that is gone. */
static const struct server_row *
pick(const struct server_sources *from, const char *name)
{
	const struct server_row *stored = find(from->stored, name);
	const struct server_row *file = find(from->file, name);
	const struct server_row *policy = find(from->policy, name);

	if (file != NULL && from->file_first)
		return file;
	if (stored != NULL && stored->source == FROM_PERSON)
		return stored;
	if (policy != NULL)
		return policy;
	if (file != NULL)
		return file;
	return stored != NULL && stored->source == FROM_AGENT ? stored : NULL;
}

/* Adds what the registry keeps of a server that is defined elsewhere. */
static void
overlay(struct server_row *row, const struct server_row *stored)
{
	if (stored == NULL || stored->source == FROM_AGENT)
		return;
	row->enabled = row->enabled && stored->enabled;
	row->discovery_status = stored->discovery_status;
	row->protocol = stored->protocol;
	row->created_gen = stored->created_gen;
	row->updated_gen = stored->updated_gen;
	row->tools_n = stored->tools_n;
}

static int
add(const struct server_sources *from, const char *name, struct server_rows *to)
{
	const struct server_row *picked = pick(from, name);
	struct server_row row, copy;
	int r;

	if (picked == NULL || find(to, name) != NULL)
		return 0;
	row = *picked;
	if (row.source < FROM_PERSON)
		overlay(&row, find(from->stored, name));
	r = server_row_copy(&row, &copy);
	return r < 0 ? r : server_rows_add(to, copy);
}

int
servers_merge(const struct server_sources *from, struct server_rows *ret)
{
	const struct server_rows *const all[] = {from->stored, from->file, from->policy};
	struct server_rows rows = {NULL, 0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(all); i++)
		for (size_t k = 0; r == 0 && all[i] != NULL && k < all[i]->n; k++)
			r = add(from, all[i]->row[k].name, &rows);
	if (r < 0) {
		server_rows_free(&rows);
		return r;
	}
	server_rows_sort(&rows);
	*ret = rows;
	return 0;
}
