/*
 * The rows of the registry. Every value is bound, and every change is one transaction
 * that raises the generation: generations order changes, clocks do not.
 */
#include "supervisor/registry/registry.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "supervisor/registry/database.h"
#include "supervisor/registry/private.h"

struct registry {
	struct database *db;
};

static enum row_source
source_of(const char *name)
{
	for (size_t i = 0; i < FROM_N; i++)
		if (name != NULL &&
		    strcmp(row_source_name((enum row_source)i), name) == 0)
			return (enum row_source)i;
	return FROM_AGENT; /* the column has no other word */
}

static int
open_dir(const char *dir, bool wait, struct registry **ret, struct reason *moved,
    struct reason *why)
{
	struct registry *g = calloc(1, sizeof(*g));
	int r;

	if (g == NULL)
		return reason_set(why, -ENOMEM, "out of memory");
	r = database_open(dir, wait, &g->db, moved, why);
	if (r < 0)
		free(g);
	else
		*ret = g;
	return r;
}

int
registry_open(const char *dir, bool create, struct registry **ret, struct reason *moved,
    struct reason *why)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%.3900s/registry.db", dir);
	if (!create && access(path, F_OK) < 0 && errno == ENOENT)
		return -ENOENT;
	return open_dir(dir, true, ret, moved, why);
}

int
registry_open_now(
    const char *dir, struct registry **ret, struct reason *moved, struct reason *why)
{
	return open_dir(dir, false, ret, moved, why);
}

void
registry_close(struct registry *g)
{
	if (g == NULL)
		return;
	database_close(g->db);
	free(g);
}

/* ---- statements ---------------------------------------------------------------- */

/* Runs a statement that returns no row, with these texts and then this number. */
static int
change(struct registry *g, const char *sql, const char *const *text, size_t text_n,
    uint64_t number)
{
	struct statement *s = NULL;
	int r = statement_new(g->db, sql, &s);

	if (r < 0)
		return r;
	for (size_t i = 0; i < text_n; i++)
		statement_text(s, text[i]);
	statement_number(s, number);
	r = statement_step(s);
	statement_end(s);
	return r;
}

/* The n numbers of a statement's one row. */
static int
numbers(struct registry *g, const char *sql, uint64_t ret[], size_t n)
{
	struct statement *s = NULL;
	int r = statement_new(g->db, sql, &s);

	if (r == 0)
		r = statement_step(s);
	for (size_t i = 0; r == 1 && i < n; i++)
		ret[i] = column_number(s);
	statement_end(s);
	return r == 1 ? 0 : r < 0 ? r : -EBADMSG;
}

int
registry_generation(struct registry *g, uint64_t *ret)
{
	return numbers(g, "SELECT value FROM generation", ret, 1);
}

/* Begins a change: the next generation, or at least this one. */
static int
begin(struct registry *g, uint64_t least, uint64_t *ret_gen)
{
	uint64_t now = 0;
	int r = database_begin(g->db);

	if (r == 0)
		r = registry_generation(g, &now);
	now = now + 1 > least ? now + 1 : least;
	if (r == 0)
		r = change(g, "UPDATE generation SET value = ?1", NULL, 0, now);
	if (r == 0)
		*ret_gen = now;
	return r;
}

static int
finish(struct registry *g, int r)
{
	if (r == 0)
		r = database_commit(g->db);
	if (r < 0)
		database_undo(g->db);
	return r;
}

/* ---- rows ---------------------------------------------------------------------- */

/* In the order of row_texts(), then the rest. */
#define COLUMNS \
	"name, scope, transport_type, command, args_json, url, headers_json, env_json, " \
	"auth_type, auth_ref, note, discovery_status, protocol, policy_server, " \
	"source, enabled, created_gen, updated_gen, created_at, updated_at, " \
	"(SELECT count(*) FROM tools WHERE tools.server = servers.name)"

static int
take_row(struct statement *s, struct server_rows *rows)
{
	struct server_row row = {.name = NULL}, copy;
	const char **text[ROW_TEXTS];
	int r;

	row_texts(&row, text);
	for (size_t i = 0; i < ROW_TEXTS; i++)
		*text[i] = column_text(s);
	row.source = source_of(column_text(s));
	row.enabled = column_number(s) != 0;
	row.created_gen = column_number(s);
	row.updated_gen = column_number(s);
	row.created_at = column_number(s);
	row.updated_at = column_number(s);
	row.tools_n = column_number(s);
	if (rows->n == REGISTRY_ROWS_MAX)
		return -E2BIG;
	r = server_row_copy(&row, &copy);
	return r < 0 ? r : server_rows_add(rows, copy);
}

static int
select_rows(
    struct registry *g, const char *sql, const char *name, struct server_rows *ret)
{
	struct server_rows rows = {NULL, 0};
	struct statement *s = NULL;
	int r = statement_new(g->db, sql, &s);

	if (r == 0 && name != NULL)
		statement_text(s, name);
	while (r == 0 && (r = statement_step(s)) == 1)
		r = take_row(s, &rows);
	statement_end(s);
	if (r < 0)
		server_rows_free(&rows);
	else
		*ret = rows;
	return r;
}

int
registry_list(struct registry *g, struct server_rows *ret)
{
	return select_rows(g,
	    "SELECT " COLUMNS " FROM servers ORDER BY scope = 'global', name", NULL, ret);
}

int
registry_find(struct registry *g, const char *name, struct server_rows *ret)
{
	return select_rows(
	    g, "SELECT " COLUMNS " FROM servers WHERE name = ?1", name, ret);
}

/* ---- changes --------------------------------------------------------------------- */

static bool
is_same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* Would storing this row start the same, under the same policy? */
static bool
is_same(const struct server_row *a, const struct server_row *b)
{
	return a->source == b->source && is_same_text(a->transport, b->transport) &&
	       is_same_text(a->command, b->command) &&
	       is_same_text(a->args_json, b->args_json) && is_same_text(a->url, b->url) &&
	       is_same_text(a->headers_json, b->headers_json) &&
	       is_same_text(a->env_json, b->env_json) &&
	       is_same_text(a->auth_type, b->auth_type) &&
	       is_same_text(a->auth_ref, b->auth_ref) &&
	       is_same_text(a->policy_server, b->policy_server);
}

static const char *const lists[] = {
    "DELETE FROM tools WHERE server = ?1 AND ?2",
    "DELETE FROM resources WHERE server = ?1 AND ?2",
    "DELETE FROM prompts WHERE server = ?1 AND ?2",
};

static int
forget_lists(struct registry *g, const char *name)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(lists); i++)
		r = change(g, lists[i], &name, 1, 1);
	return r;
}

/* Inserts or replaces; created: the generation of a new row. */
static int
store(struct registry *g, const struct server_row *row, uint64_t created, uint64_t gen)
{
	static const char sql[] =
	    "INSERT INTO servers(name, scope, transport_type, command, args_json, url, "
	    "headers_json, env_json, auth_type, auth_ref, note, discovery_status, "
	    "protocol, policy_server, source, enabled, created_gen, updated_gen, "
	    "created_at, updated_at) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, "
	    "?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?19) ON CONFLICT(name) DO "
	    "UPDATE SET scope = ?2, transport_type = ?3, command = ?4, args_json = ?5, "
	    "url = ?6, headers_json = ?7, env_json = ?8, auth_type = ?9, "
	    "auth_ref = ?10, note = ?11, discovery_status = ?12, protocol = ?13, "
	    "policy_server = ?14, source = ?15, enabled = ?16, updated_gen = ?18, "
	    "updated_at = ?19";
	struct server_row copy = *row;
	const char **text[ROW_TEXTS];
	struct statement *s = NULL;
	int r = statement_new(g->db, sql, &s);

	if (r < 0)
		return r;
	row_texts(&copy, text);
	for (size_t i = 0; i < ROW_TEXTS; i++)
		statement_text(s, *text[i]);
	statement_text(s, row_source_name(row->source));
	statement_number(s, row->enabled);
	statement_number(s, created);
	statement_number(s, gen);
	statement_number(s, (uint64_t)time(NULL));
	r = statement_step(s);
	statement_end(s);
	return r;
}

/* For one row more: 0, or -ENOSPC. */
static int
has_room(struct registry *g, enum row_source source)
{
	uint64_t n[2] = {0, 0};
	int r = numbers(g, "SELECT count(*), total(source = 'agent') FROM servers", n, 2);

	if (r == 0 && (n[0] >= REGISTRY_ROWS_MAX ||
			  (source == FROM_AGENT && n[1] >= REGISTRY_AGENT_ROWS_MAX)))
		r = -ENOSPC;
	return r;
}

/* Stores a row within a transaction. A server that would start otherwise than before
 * is undiscovered. */
static int
put(struct registry *g, const struct server_row *from, uint64_t created, uint64_t gen,
    struct row_change *ret)
{
	struct server_row row = *from;
	struct server_rows old = {NULL, 0};
	int r = registry_find(g, row.name, &old);
	bool same;

	if (r < 0)
		return r;
	*ret = (struct row_change){.created_gen = created};
	same = old.n > 0 && is_same(&old.row[0], &row);
	row.discovery_status = same ? old.row[0].discovery_status : "pending";
	row.protocol = same ? old.row[0].protocol : NULL;
	if (row.source == FROM_AGENT)
		row.enabled = same && old.row[0].enabled;
	if (old.n == 0)
		r = has_room(g, row.source);
	else {
		*ret = (struct row_change){true, old.row[0].source, old.row[0].enabled,
		    same && old.row[0].enabled == row.enabled, old.row[0].created_gen};
		if (row.source == FROM_AGENT && ret->owner != FROM_AGENT)
			r = -EPERM;
	}
	if (r == 0 && old.n > 0 && !same)
		r = forget_lists(g, row.name);
	if (r == 0)
		r = store(g, &row, created, gen);
	server_rows_free(&old);
	return r;
}

int
registry_put(struct registry *g, const struct server_row *row, struct row_change *ret)
{
	uint64_t gen = 0;
	int r = begin(g, 0, &gen);

	if (r == 0)
		r = put(g, row, gen, gen, ret);
	return finish(g, r);
}

int
registry_import(struct registry *g, const struct server_rows *rows, uint64_t generation,
    struct row_change *ret)
{
	uint64_t gen = 0;
	int r;

	if (rows->n == 0)
		return 0;
	r = begin(g, generation, &gen);
	for (size_t i = 0; r == 0 && i < rows->n; i++) {
		uint64_t created = rows->row[i].created_gen;

		r = created > gen ? -EINVAL
				  : put(g, &rows->row[i], created == 0 ? gen : created,
					gen, &ret[i]);
	}
	return finish(g, r);
}

int
registry_remove(
    struct registry *g, const char *name, enum row_source by, enum row_source *ret_owner)
{
	struct server_rows old = {NULL, 0};
	uint64_t gen = 0;
	int r = begin(g, 0, &gen);

	if (r == 0)
		r = registry_find(g, name, &old);
	if (r == 0 && old.n == 0)
		r = -ENOENT;
	if (r == 0) {
		*ret_owner = old.row[0].source;
		if (*ret_owner < FROM_PERSON || *ret_owner < by)
			r = -EPERM;
	}
	if (r == 0) /* the lists go with it: ON DELETE CASCADE */
		r = change(g, "DELETE FROM servers WHERE name = ?1 AND ?2", &name, 1, 1);
	server_rows_free(&old);
	return finish(g, r);
}

/* A row for what is kept of a server that a policy or a file defines. A row of an agent
 * with the same name is replaced: it must not decide about another's server. */
static int
keep(struct registry *g, const char *name, enum row_source source, uint64_t gen)
{
	const struct server_row row = {.name = name,
	    .scope = source == FROM_FILE ? "global" : "user",
	    .source = source,
	    .transport = "stdio",
	    .auth_type = "none",
	    .policy_server = name,
	    .enabled = true};
	struct server_rows old = {NULL, 0};
	struct row_change change_of;
	int r = registry_find(g, name, &old);

	if (r == 0 && (old.n == 0 || old.row[0].source == FROM_AGENT)) {
		if (source < FROM_PERSON)
			r = put(g, &row, gen, gen, &change_of);
		else if (old.n == 0)
			r = -ENOENT;
	}
	server_rows_free(&old);
	return r;
}

/* Has the server, as it is listed, still this updated_gen? 0; -ESTALE: no. An agent's row is
 * not that of a policy or a file. */
static int
check_shown(struct registry *g, const char *name, enum row_source of, uint64_t shown)
{
	struct server_rows now = {NULL, 0};
	uint64_t gen = 0;
	int r = registry_find(g, name, &now);

	if (r == 0 && now.n > 0 && (of == FROM_AGENT || now.row[0].source != FROM_AGENT))
		gen = now.row[0].updated_gen;
	server_rows_free(&now);
	return r == 0 && gen != shown ? -ESTALE : r;
}

int
registry_enable(struct registry *g, const char *name, enum row_source source,
    bool enabled, const uint64_t *shown)
{
	static const char sql[] =
	    "UPDATE servers SET enabled = ?2, updated_gen = (SELECT value FROM "
	    "generation) WHERE name = ?1";
	uint64_t gen = 0;
	int r = begin(g, 0, &gen);

	if (r == 0 && shown != NULL)
		r = check_shown(g, name, source, *shown);
	if (r == 0)
		r = keep(g, name, source, gen);
	if (r == 0)
		r = change(g, sql, &name, 1, enabled);
	return finish(g, r);
}

/* ---- what was discovered ----------------------------------------------------------- */

static int
add_lists(
    struct registry *g, const char *server, const struct discovered *d, uint64_t gen)
{
	int r = forget_lists(g, server);

	for (size_t i = 0; r == 0 && i < d->tool_n; i++) {
		const struct tool_row *t = &d->tool[i];

		r = change(g,
		    "INSERT INTO tools VALUES(?1, ?2, ?1 || '.' || ?2, ?3, ?4, ?5, ?6, "
		    "?7, ?8)",
		    (const char *[]){server, t->name, t->description, t->parameters,
			t->annotations, t->sha256, t->pinned_sha256},
		    7, gen);
	}
	for (size_t i = 0; r == 0 && i < d->resource_n; i++) {
		const struct resource_row *e = &d->resource[i];

		r = change(g, "INSERT INTO resources VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
		    (const char *[]){server, e->uri, e->name, e->description, e->sha256,
			e->pinned_sha256},
		    6, gen);
	}
	for (size_t i = 0; r == 0 && i < d->prompt_n; i++) {
		const struct prompt_row *p = &d->prompt[i];

		r = change(g, "INSERT INTO prompts VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
		    (const char *[]){server, p->name, p->description, p->arguments,
			p->sha256, p->pinned_sha256},
		    6, gen);
	}
	return r;
}

int
registry_discovery(struct registry *g, const char *name, enum row_source source,
    const char *status, const char *protocol, const struct discovered *d)
{
	static const char sql[] = "UPDATE servers SET discovery_status = ?2, protocol = "
				  "coalesce(?3, protocol), "
				  "updated_gen = ?4 WHERE name = ?1";
	uint64_t gen = 0;
	int r = begin(g, 0, &gen);

	if (r == 0)
		r = keep(g, name, source, gen);
	if (r == 0)
		r = change(g, sql, (const char *[]){name, status, protocol}, 3, gen);
	if (r == 0 && d != NULL)
		r = add_lists(g, name, d, gen);
	return finish(g, r);
}

static int
take_tool(struct statement *s, struct tool_rows *rows)
{
	struct tool_row t = {.name = NULL}, *more;
	const char **text[] = {&t.name, &t.tool_key, &t.description, &t.parameters,
	    &t.annotations, &t.sha256, &t.pinned_sha256};
	int r;

	for (size_t i = 0; i < ARRAY_LEN(text); i++)
		*text[i] = column_text(s);
	t.seen_gen = column_number(s);
	r = texts_copy(text, ARRAY_LEN(text), &t.own);
	if (r < 0)
		return r;
	more = reallocarray(rows->row, rows->n + 1, sizeof(*more));
	if (more == NULL) {
		free(t.own);
		return -ENOMEM;
	}
	rows->row = more;
	rows->row[rows->n++] = t;
	return 0;
}

int
registry_tools(struct registry *g, const char *server, struct tool_rows *ret)
{
	struct tool_rows rows = {NULL, 0};
	struct statement *s = NULL;
	int r = statement_new(g->db,
	    "SELECT name, tool_key, description, parameters, annotations, sha256, "
	    "pinned_sha256, seen_gen FROM tools WHERE server = ?1 ORDER BY name",
	    &s);

	if (r == 0)
		statement_text(s, server);
	while (r == 0 && (r = statement_step(s)) == 1)
		r = take_tool(s, &rows);
	statement_end(s);
	if (r < 0)
		tool_rows_free(&rows);
	else
		*ret = rows;
	return r;
}

void
tool_rows_free(struct tool_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++)
		free(rows->row[i].own);
	free(rows->row);
	*rows = (struct tool_rows){NULL, 0};
}

/* ---- approved files ------------------------------------------------------------------ */

int
registry_trust(
    struct registry *g, const char digest[FILE_DIGEST_LEN + 1], const char *path)
{
	uint64_t gen = 0;
	int r = begin(g, 0, &gen);

	if (r == 0)
		r = change(g,
		    "INSERT INTO trusted_files VALUES(?1, ?2, ?3) ON CONFLICT DO UPDATE "
		    "SET "
		    "path = ?2, approved_gen = ?3",
		    (const char *[]){digest, path}, 2, gen);
	return finish(g, r);
}

static int
is_trusted(struct registry *g, const char *sql, const char *value)
{
	struct statement *s = NULL;
	int r = statement_new(g->db, sql, &s);

	if (r == 0) {
		statement_text(s, value);
		r = statement_step(s);
	}
	statement_end(s);
	return r;
}

int
registry_trusts(struct registry *g, const char digest[FILE_DIGEST_LEN + 1])
{
	return is_trusted(g, "SELECT 1 FROM trusted_files WHERE sha256 = ?1", digest);
}

int
registry_trusts_path(struct registry *g, const char *path)
{
	return is_trusted(g, "SELECT 1 FROM trusted_files WHERE path = ?1 LIMIT 1", path);
}
