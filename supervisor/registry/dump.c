/*
 * The dump of the registry: one JSON value, each server on a line of its own, so that
 * two dumps can be compared line by line.
 *
 *	{"kennel_registry":1,"generation":9,"mcp_servers":[
 *	{"name":"a",...,"created_gen":3},
 *	{"name":"b",...,"created_gen":9}
 *	]}
 */
#include "supervisor/registry/dump.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "shim/base/log.h"
#include "supervisor/registry/reference.h"
#include "supervisor/registry/row_check.h"
#include "policy/tokens/secret_shaped.h"

#define VERSION    1
#define TEXT_MAX   (64u << 10) /* of one member */
#define NAME_SHOWN 64

enum kind { KIND_TEXT, KIND_JSON, KIND_BOOL, KIND_NUMBER };

#define AT(member) offsetof(struct server_row, member)

/* The members of a server, in the order in which they are written. */
static const struct member {
	const char *name;
	enum kind kind;
	size_t at;
} members[] = {
    {"name", KIND_TEXT, AT(name)},
    {"transport", KIND_TEXT, AT(transport)},
    {"command", KIND_TEXT, AT(command)},
    {"args", KIND_JSON, AT(args_json)},
    {"url", KIND_TEXT, AT(url)},
    {"headers", KIND_JSON, AT(headers_json)},
    {"auth_type", KIND_TEXT, AT(auth_type)},
    {"auth", KIND_JSON, AT(auth_ref)},
    {"env", KIND_JSON, AT(env_json)},
    {"note", KIND_TEXT, AT(note)},
    {"enabled", KIND_BOOL, AT(enabled)},
    {"policy_server", KIND_TEXT, AT(policy_server)},
    {"created_gen", KIND_NUMBER, AT(created_gen)},
};
#define MEMBERS ARRAY_LEN(members)

/* ---- writing ------------------------------------------------------------------- */

static int
put_member(struct buf *out, const struct server_row *row, size_t i)
{
	const void *at = (const char *)row + members[i].at;
	const char *text = members[i].kind <= KIND_JSON ? *(const char *const *)at : "";
	int r;

	if (text == NULL)
		return 0;
	r = buf_printf(out, "%s\"%s\":", i > 0 ? "," : "", members[i].name);
	if (r < 0)
		return r;
	switch (members[i].kind) {
	case KIND_TEXT:
		return json_put_text(out, text);
	case KIND_JSON:
		return buf_puts(out, text);
	case KIND_BOOL:
		return buf_puts(out, *(const bool *)at ? "true" : "false");
	default:
		return buf_printf(out, "%" PRIu64, *(const uint64_t *)at);
	}
}

static int
put_row(struct buf *out, const struct server_row *row, bool first)
{
	int r = buf_puts(out, first ? "\n{" : ",\n{");

	for (size_t i = 0; r == 0 && i < MEMBERS; i++)
		r = put_member(out, row, i);
	return r < 0 ? r : buf_putc(out, '}');
}

static int
by_name(const void *a, const void *b)
{
	const struct server_row *x = a, *y = b;

	return strcmp(x->name, y->name);
}

int
dump_write(struct registry *g, struct buf *out)
{
	struct server_rows rows = {NULL, 0};
	uint64_t gen = 0;
	bool first = true;
	int r = registry_generation(g, &gen);

	if (r == 0)
		r = registry_list(g, &rows);
	if (r == 0 && rows.n > 0)
		qsort(rows.row, rows.n, sizeof(rows.row[0]), by_name);
	if (r == 0)
		r = buf_printf(out,
		    "{\"kennel_registry\":%d,\"generation\":%" PRIu64
		    ",\"mcp_servers\":[",
		    VERSION, gen);
	for (size_t i = 0; r == 0 && i < rows.n; i++) {
		if (rows.row[i].source < FROM_PERSON)
			continue; /* defined elsewhere */
		r = put_row(out, &rows.row[i], first);
		first = false;
	}
	if (r == 0)
		r = buf_puts(out, first ? "]}\n" : "\n]}\n");
	server_rows_free(&rows);
	return r;
}

int
dump_digest(const struct server_row *row, uint8_t ret[32])
{
	struct buf out;
	int r;

	buf_init(&out, DUMP_MAX);
	r = buf_putc(&out, '{');
	for (size_t i = 0; r == 0 && i < MEMBERS && members[i].at != AT(created_gen); i++)
		r = put_member(&out, row, i); /* the last */
	if (r == 0)
		r = buf_putc(&out, '}');
	if (r == 0)
		mcp_digest(out.data, out.len, ret);
	buf_free(&out);
	return r;
}

/* ---- reading ------------------------------------------------------------------- */

struct dump {
	const char *file; /* NULL: an entry */
	const uint8_t *text;
	const uint8_t *at; /* of the value being read */
	struct server_rows rows;
	uint64_t generation;
	struct reason *why;
};

static unsigned int
line_of(const struct dump *d)
{
	unsigned int line = 1;

	for (const uint8_t *p = d->text; p < d->at; p++)
		line += *p == '\n';
	return line;
}

/* "FILE:LINE: " and what is wrong. */
static int bad(struct dump *d, int r, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int
bad(struct dump *d, int r, const char *format, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(text, sizeof(text), format, ap); /* may be cut */
	va_end(ap);
	if (d->file == NULL)
		return reason_set(d->why, r, "%s", text);
	return reason_set(d->why, r, "%s:%u: %s", d->file, line_of(d), text);
}

static int
unknown(struct dump *d, struct json key)
{
	char text[NAME_SHOWN + 1] = "", shown[4 * NAME_SHOWN + 1];
	size_t len;

	(void)json_text(key, text, sizeof(text), &len); /* "" if it is longer */
	if (secret_shaped(text))
		return bad(d, -EPERM, "a member's name looks like a secret");
	(void)log_quote(shown, sizeof(shown), text, strlen(text));
	return bad(d, -EINVAL, "unknown or duplicate member `%s`", shown);
}

static int
read_number(struct json value, uint64_t *ret)
{
	char text[24], *end;

	if (value.type != JSON_IS_NUMBER || value.len >= 19)
		return -EINVAL;
	memcpy(text, value.at, value.len);
	text[value.len] = '\0';
	if (text[strspn(text, "0123456789")] != '\0')
		return -EINVAL;
	*ret = strtoull(text, &end, 10);
	return 0;
}

/* Reads a text, or a value in canonical form. */
static int
read_text(struct json value, bool canonical, char **ret)
{
	struct buf out;
	size_t len;
	int r = 0;

	buf_init(&out, TEXT_MAX);
	if (canonical) {
		r = json_canon(value, &out);
	} else {
		r = buf_reserve(&out, value.len + 1);
		if (r == 0)
			r = json_text(value, (char *)out.data, out.cap, &len);
		if (r == 0)
			out.len = len;
	}
	if (r == 0)
		r = buf_putc(&out, '\0');
	if (r < 0)
		buf_free(&out);
	else
		*ret = (char *)out.data;
	return r;
}

/* A member of a server; texts are allocated and later copied with the row. */
static int
read_member(const struct member *m, struct json value, struct server_row *row)
{
	void *at = (char *)row + m->at;

	if (m->kind == KIND_NUMBER)
		return read_number(value, at);
	if (m->kind == KIND_BOOL) {
		*(bool *)at = value.type == JSON_IS_TRUE;
		return value.type == JSON_IS_TRUE || value.type == JSON_IS_FALSE
			   ? 0
			   : -EINVAL;
	}
	return read_text(value, m->kind == KIND_JSON, at);
}

static void
free_texts(struct server_row *row)
{
	for (size_t i = 0; i < MEMBERS; i++)
		if (members[i].kind <= KIND_JSON)
			free(*(char **)((char *)row + members[i].at));
}

static int
read_members(
    struct dump *d, struct json server, struct server_row *row, bool seen[MEMBERS])
{
	struct json key, value;
	struct json_walk w;
	size_t i;

	json_walk(&w, server);
	while (json_next(&w, &key, &value)) {
		d->at = key.at;
		for (i = 0; i < MEMBERS && json_key_is(key, members[i].name) != 1; i++)
			;
		if (i == MEMBERS || seen[i])
			return unknown(d, key);
		seen[i] = true;
		if (read_member(&members[i], value, row) < 0)
			return bad(d, -EINVAL, "invalid `%s`", members[i].name);
	}
	d->at = server.at;
	return 0;
}

/* Checks the row and keeps a copy. */
static int
keep_row(struct dump *d, const struct server_row *from)
{
	struct server_row row = *from, copy;
	struct reason why;
	int r;

	if (row.policy_server == NULL)
		row.policy_server = row.name;
	if (row.transport == NULL)
		row.transport = row.url != NULL ? "http" : "stdio";
	if (row.auth_type == NULL)
		row.auth_type = "none";
	r = row_check(&row, &why);
	if (r < 0)
		return bad(d, r, "%s", why.text);
	if (row.created_gen > d->generation)
		return bad(d, -EINVAL, "`created_gen` is above the dump's `generation`");
	for (size_t i = 0; i < d->rows.n; i++)
		/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): checked before */
		if (strcmp(d->rows.row[i].name, row.name) == 0)
			return bad(d, -EINVAL, "duplicate server `%s`", row.name);
	r = server_row_copy(&row, &copy);
	if (r == 0)
		r = server_rows_add(&d->rows, copy);
	return r < 0 ? bad(d, r, "%s", strerror(-r)) : 0;
}

static int
read_server(struct dump *d, struct json server)
{
	struct server_row row = {.scope = "user", .source = FROM_PERSON, .enabled = true};
	bool seen[MEMBERS] = {false};
	int r;

	d->at = server.at;
	if (server.type != JSON_IS_OBJECT)
		return bad(d, -EINVAL, "expected an object in `mcp_servers`");
	if (d->rows.n == REGISTRY_ROWS_MAX)
		return bad(d, -EINVAL, "too many servers in `mcp_servers`");
	r = read_members(d, server, &row, seen);
	if (r == 0)
		r = keep_row(d, &row);
	free_texts(&row);
	return r;
}

static int
read_servers(struct dump *d, struct json servers)
{
	struct json key, value;
	struct json_walk w;
	int r = 0;

	d->at = servers.at;
	if (servers.type != JSON_IS_ARRAY)
		return bad(d, -EINVAL, "expected an array in `mcp_servers`");
	json_walk(&w, servers);
	while (r == 0 && json_next(&w, &key, &value))
		r = read_server(d, value);
	return r;
}

/* The members of the dump; servers are read when its generation is known. */
static int
read_dump(struct dump *d, struct json root)
{
	static const char *const names[] = {
	    "kennel_registry", "generation", "mcp_servers"};
	struct json found[3] = {{.at = NULL}}, key, value;
	uint64_t version = 0;
	struct json_walk w;
	size_t i;

	d->at = root.at;
	if (root.type != JSON_IS_OBJECT)
		return bad(d, -EINVAL, "expected a JSON object");
	json_walk(&w, root);
	while (json_next(&w, &key, &value)) {
		d->at = key.at;
		for (i = 0; i < ARRAY_LEN(names) && json_key_is(key, names[i]) != 1; i++)
			;
		if (i == ARRAY_LEN(names) || found[i].at != NULL)
			return unknown(d, key);
		found[i] = value;
	}
	d->at = root.at;
	if (found[0].at == NULL || read_number(found[0], &version) < 0)
		return bad(d, -EINVAL, "no version: expected a number in `%s`", names[0]);
	if (version != VERSION)
		return bad(d, -EINVAL, "unknown version in `%s`: expected 1", names[0]);
	if (found[1].at != NULL && read_number(found[1], &d->generation) < 0)
		return bad(d, -EINVAL, "invalid `%s`", names[1]);
	if (found[1].at == NULL)
		d->generation = INT64_MAX; /* an older dump: any created_gen is taken */
	return found[2].at == NULL ? 0 : read_servers(d, found[2]);
}

/* Rows of a dump without a generation: the highest of theirs. */
static uint64_t
highest(const struct server_rows *rows)
{
	uint64_t gen = 0;

	for (size_t i = 0; i < rows->n; i++)
		if (rows->row[i].created_gen > gen)
			gen = rows->row[i].created_gen;
	return gen;
}

int
dump_read(const char *file, const char *text, size_t len, struct server_rows *ret,
    uint64_t *ret_generation, struct reason *why)
{
	struct dump d = {.file = file, .text = (const uint8_t *)text, .why = why};
	struct json_message m;
	int r = len > DUMP_MAX ? -EFBIG : json_scan(d.text, len, &m);

	if (r < 0) {
		d.at = r == -EFBIG ? d.text : d.text + m.stop;
		return bad(&d, -EINVAL, "%s",
		    r == -EFBIG ? "the dump has more than 16 MiB" : "invalid JSON");
	}
	r = read_dump(&d, m.root);
	if (r < 0) {
		server_rows_free(&d.rows);
		return r;
	}
	*ret_generation = d.generation == INT64_MAX ? highest(&d.rows) : d.generation;
	*ret = d.rows;
	return 0;
}

/* ---- an entry --------------------------------------------------------------------- */

static int
check_entry(struct dump *d, struct server_row *row)
{
	if (row->created_gen != 0 || row->policy_server != NULL)
		return bad(d, -EINVAL, "`%s` is only allowed in an export",
		    row->created_gen != 0 ? "created_gen" : "policy_server");
	if (row->name == NULL)
		return bad(d, -EINVAL, "`name` is missing");
	if (row->transport == NULL)
		return bad(d, -EINVAL, "`transport` is missing: stdio or http");
	if (row->url == NULL && strcmp(row->transport, "http") == 0)
		return bad(d, -EINVAL, "`url` is missing");
	row->policy_server = row->name;
	if (row->auth_type == NULL)
		row->auth_type = "none";
	return row_check(row, d->why);
}

int
dump_read_entry(const char *text, size_t len, struct server_row *ret, bool *ret_enabled,
    struct reason *why)
{
	struct dump d = {.text = (const uint8_t *)text, .why = why};
	struct server_row row = {.scope = "user", .source = FROM_PERSON, .enabled = true};
	struct server_row texts; /* what is allocated: others are set later */
	bool seen[MEMBERS] = {false};
	struct json_message m;
	int r = json_scan(d.text, len, &m);

	if (r < 0 || m.root.type != JSON_IS_OBJECT)
		return bad(&d, -EINVAL, "expected a JSON object");
	r = read_members(&d, m.root, &row, seen);
	texts = row;
	if (r == 0)
		r = check_entry(&d, &row);
	for (size_t i = 0; r == 0 && i < MEMBERS; i++)
		if (members[i].kind == KIND_BOOL)
			*ret_enabled = seen[i];
	if (r == 0 && server_row_copy(&row, ret) < 0)
		r = bad(&d, -ENOMEM, "out of memory");
	free_texts(&texts);
	return r;
}
