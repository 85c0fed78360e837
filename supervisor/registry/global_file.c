/*
 * mcp-servers.json (global_file.h). The only file of this room that includes jansson:
 * people write this text. Messages name the file, the position and the member, and never
 * show a piece of the text, which may be a secret.
 */
#include "supervisor/registry/global_file.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/hex.h"
#include "shim/base/log.h"
#include "shim/host/path_open.h"
#include "supervisor/json/json.h"
#include "supervisor/registry/reference.h"
#include "supervisor/registry/row_check.h"
#include "policy/tokens/secret_shaped.h"

#define FILE_MAX    (1u << 20)
#define NOTES_MAX   (1u << 20)
#define SERVERS_MAX 1024
#define NAME_SHOWN  64

/* ---- notes ------------------------------------------------------------------------- */

/* A server being read. */
struct entry {
	struct global_file *file;
	const char *name;
	struct server_row row; /* its texts belong to the tree, or are: */
	char *args, *env, *headers;
	bool broken;
};

static void note(struct entry *e, bool error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "FILE: error: mcpServers.NAME: ..." A lost note affects only the output. */
static void
note(struct entry *e, bool error, const char *format, ...)
{
	char text[1024], shown[4 * NAME_SHOWN + 1];
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(text, sizeof(text), format, ap); /* may be cut */
	va_end(ap);
	(void)log_quote(
	    shown, sizeof(shown), e->name, strnlen(e->name, NAME_SHOWN)); /* shown */
	(void)buf_printf(&e->file->notes, "%s: %s: mcpServers.%s: %s\n", e->file->path,
	    error ? "error" : "warning", shown, text);
	if (error && !e->broken) {
		e->broken = true;
		e->file->errors++;
	}
}

/* A name as a part of a secret's path: GITHUB_TOKEN is github-token. */
static void
path_part(const char *name, char out[NAME_SHOWN + 1])
{
	size_t n = 0;

	if (!isalpha((unsigned char)name[0]))
		out[n++] = 'x';
	for (; *name != '\0' && n < NAME_SHOWN; name++) {
		if (isalnum((unsigned char)*name))
			out[n++] = (char)tolower((unsigned char)*name);
		else if (n > 0 && out[n - 1] != '-')
			out[n++] = '-';
	}
	while (n > 1 && out[n - 1] == '-')
		n--;
	out[n] = '\0';
}

/* The value is not kept, and the server does not start until it is replaced. */
static void
drop_secret(struct entry *e, const char *member, const char *name)
{
	char server[NAME_SHOWN + 1], part[NAME_SHOWN + 1], shown[4 * NAME_SHOWN + 1];

	path_part(e->name, server);
	path_part(name, part);
	(void)log_quote(
	    shown, sizeof(shown), name, strnlen(name, NAME_SHOWN)); /* shown */
	note(e, false,
	    "%s%s%s looks like a secret: it was not read, and the server is disabled; "
	    "run `kennel secret set mcp/%s/%s`, name that secret in the server's policy, "
	    "and remove the value from the file",
	    member, member[0] != '\0' ? "." : "", shown, server, part);
	e->row.enabled = false;
	e->row.reason = "literal-secret";
}

/* ---- members of a server -------------------------------------------------------------- */

static void
read_command(struct entry *e, json_t *value)
{
	const char *text = json_string_value(value);

	if (text == NULL || text[0] == '\0')
		note(e, true, "command: expected a program");
	else if (secret_shaped(text))
		drop_secret(e, "", "command");
	else
		e->row.command = text;
}

static void
read_url(struct entry *e, json_t *value)
{
	const char *text = json_string_value(value);

	if (text == NULL ||
	    (strncmp(text, "https://", 8) != 0 && strncmp(text, "http://", 7) != 0))
		note(e, true, "url: expected https:// or http://");
	else if (secret_shaped(text))
		drop_secret(e, "", "url");
	else
		e->row.url = text;
}

static void
read_transport(struct entry *e, json_t *value)
{
	static const struct {
		const char *written, *transport;
	} row[] = {
	    {"stdio", "stdio"},
	    {"http", "http"},
	    {"streamable-http", "http"},
	    {"streamableHttp", "http"},
	};
	const char *text = json_string_value(value);

	for (size_t i = 0; text != NULL && i < ARRAY_LEN(row); i++)
		if (strcmp(row[i].written, text) == 0) {
			e->row.transport = row[i].transport;
			return;
		}
	if (text != NULL && strcmp(text, "sse") == 0) {
		note(e, false, "the HTTP+SSE transport of 2024-11-05 is not supported");
		e->row.transport = "http";
		e->row.enabled = false;
		e->row.reason = "transport-unsupported";
		return;
	}
	note(e, true, "transport: expected stdio or http");
}

static void
read_args(struct entry *e, json_t *value)
{
	const char *before = "";
	json_t *item;
	size_t i = 0;

	if (!json_is_array(value)) {
		note(e, true, "args: expected an array of texts");
		return;
	}
	while (i < json_array_size(value)) {
		const char *pair[2];
		int at;

		item = json_array_get(value, i);
		if (!json_is_string(item)) {
			note(e, true, "args: expected an array of texts");
			return;
		}
		pair[0] = before;
		pair[1] = json_string_value(item);
		at = secret_shaped_args(pair, 2);
		before = pair[1];
		i++;
		if (at != 1)
			continue;
		drop_secret(e, "", "args");
		before = "";
		(void)json_array_remove(value, --i); /* i is inside */
	}
	e->args = json_dumps(value, JSON_COMPACT);
}

/* One variable or header: true if it is kept. */
static bool
read_reference(struct entry *e, const char *member, const char *name, json_t *value)
{
	const char *text = json_string_value(value);
	struct reason why;
	struct json reference;
	char *dumped;
	int r;

	if (text != NULL && secret_shaped_value(name, text)) {
		drop_secret(e, member, name);
		return false;
	}
	if (text != NULL)
		return true;
	dumped = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
	r = dumped == NULL ? -ENOMEM : json_of(dumped, &reference);
	if (r == 0)
		r = reference_check(member, reference, &why);
	if (r < 0)
		note(e, true,
		    "%s: expected a text or a reference such as "
		    "{\"vault\": \"team/github/token\"}",
		    member);
	free(dumped);
	return r == 0;
}

static char *
read_references(struct entry *e, const char *member, json_t *value)
{
	struct json object;
	struct reason why;
	const char *name;
	json_t *item;
	char *text;
	void *next;

	if (!json_is_object(value)) {
		note(e, true, "%s: expected an object", member);
		return NULL;
	}
	json_object_foreach_safe(
	    value, next, name, item) if (!read_reference(e, member, name, item))(void)
	    json_object_del(value, name); /* it exists */
	text = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS);
	if (text == NULL || json_of(text, &object) < 0 ||
	    references_check(member, object, &why) < 0) {
		note(e, true, "%s: a name may have letters, digits, `_` and `-`", member);
		free(text);
		return NULL;
	}
	return text;
}

static void
read_env(struct entry *e, json_t *value)
{
	free(e->env);
	e->env = read_references(e, "env", value);
}

static void
read_headers(struct entry *e, json_t *value)
{
	free(e->headers);
	e->headers = read_references(e, "headers", value);
}

static void
read_enabled(struct entry *e, json_t *value)
{
	if (!json_is_boolean(value))
		note(e, true, "enabled: expected true or false");
	else if (json_is_false(value))
		e->row.enabled = false;
}

static const struct {
	const char *name;
	void (*fn)(struct entry *, json_t *);
} members[] = {
    {"transport", read_transport},
    {"type", read_transport},
    {"command", read_command},
    {"args", read_args},
    {"env", read_env},
    {"url", read_url},
    {"headers", read_headers},
    {"enabled", read_enabled},
};

/* ---- a server -------------------------------------------------------------------------- */

/* What a server has must fit its transport. */
static void
check_transport(struct entry *e, json_t *server)
{
	bool command = json_object_get(server, "command") != NULL;
	bool url = json_object_get(server, "url") != NULL;

	if (command == url)
		note(e, true, "expected one of `command` and `url`");
	else if (e->row.transport == NULL)
		e->row.transport = command ? "stdio" : "http";
	else if ((strcmp(e->row.transport, "stdio") == 0) != command)
		note(e, true, "the transport %s needs `%s`", e->row.transport,
		    command ? "url" : "command");
	if (!e->broken && ((command && json_object_get(server, "headers") != NULL) ||
			      (url && json_object_get(server, "args") != NULL)))
		note(e, true, "`%s` is not allowed for the transport %s",
		    command ? "headers" : "args", e->row.transport);
}

static void
read_member(struct entry *e, const char *name, json_t *value)
{
	char shown[4 * NAME_SHOWN + 1];

	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		if (strcmp(members[i].name, name) == 0) {
			members[i].fn(e, value);
			return;
		}
	(void)log_quote(
	    shown, sizeof(shown), name, strnlen(name, NAME_SHOWN)); /* shown */
	note(e, false, "unknown member `%s` was ignored", shown);
}

static int
read_server(struct global_file *file, const char *name, json_t *server)
{
	struct entry e = {.file = file,
	    .name = name,
	    .row = {.name = name,
		.scope = "global",
		.source = FROM_FILE,
		.auth_type = "none",
		.enabled = true,
		.discovery_status = "pending",
		.policy_server = name,
		.file = file->path}};
	struct server_row copy;
	const char *member;
	json_t *value;
	int r = 0;

	if (!row_name_is_valid(name))
		note(&e, true, "invalid name: use up to 64 letters, digits, `_` and `-`");
	else if (!json_is_object(server))
		note(&e, true, "expected an object");
	if (!e.broken) {
		json_object_foreach(server, member, value) read_member(&e, member, value);
		check_transport(&e, server);
	}
	if (!e.broken) {
		e.row.args_json = e.args;
		e.row.env_json = e.env;
		e.row.headers_json = e.headers;
		r = server_row_copy(&e.row, &copy);
		if (r == 0)
			r = server_rows_add(&file->rows, copy);
	}
	free(e.args);
	free(e.env);
	free(e.headers);
	return r;
}

/* ---- the file ---------------------------------------------------------------------------- */

static const char *
error_text(const json_error_t *error)
{
	static const struct {
		enum json_error_code code;
		const char *text;
	} row[] = {
	    {json_error_invalid_utf8, "invalid UTF-8"},
	    {json_error_premature_end_of_input, "unexpected end of the file"},
	    {json_error_end_of_input_expected, "expected the end of the file"},
	    {json_error_duplicate_key, "duplicate member"},
	    {json_error_stack_overflow, "nested too deeply"},
	    {json_error_null_character, "a NUL character is not allowed"},
	    {json_error_out_of_memory, "out of memory"},
	};

	for (size_t i = 0; i < ARRAY_LEN(row); i++)
		if (row[i].code == json_error_code(error))
			return row[i].text;
	return "invalid JSON (comments and trailing commas are not allowed)";
}

int
global_file_parse(const char *path, const char *text, size_t len, struct global_file *ret,
    struct reason *why)
{
	json_error_t error;
	json_t *root, *servers, *server;
	const char *name;
	int r = 0;

	(void)snprintf(ret->path, sizeof(ret->path), "%s", path); /* same size */
	root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
	if (root == NULL)
		return reason_set(why, -EINVAL, "%s:%d:%d: %s", path,
		    error.line > 0 ? error.line : 1, error.column > 0 ? error.column : 1,
		    error_text(&error));
	servers = json_object_get(root, "mcpServers");
	if (!json_is_object(servers))
		r = reason_set(why, -EINVAL, "%s: expected an object `mcpServers`", path);
	else if (json_object_size(servers) > SERVERS_MAX)
		r = reason_set(
		    why, -EINVAL, "%s: more than %d servers", path, SERVERS_MAX);
	else
		json_object_foreach(servers, name,
		    server) if (r == 0 && (r = read_server(ret, name, server)) < 0)(void)
		    reason_set(why, r, "%s: out of memory", path);
	json_decref(root);
	server_rows_sort(&ret->rows);
	return r;
}

static void
begin(struct global_file *ret)
{
	ret->path[0] = '\0';
	ret->first = false;
	ret->rows = (struct server_rows){NULL, 0};
	ret->errors = 0;
	ret->skipped = (struct skipped_file){.text = NULL};
	buf_init(&ret->notes, NOTES_MAX);
}

void
skipped_file_free(struct skipped_file *f)
{
	free(f->text);
	*f = (struct skipped_file){.text = NULL};
}

void
global_file_prepare(void)
{
	json_object_seed(0); /* early: openat read */
}

void
global_file_free(struct global_file *f)
{
	skipped_file_free(&f->skipped);
	server_rows_free(&f->rows);
	buf_free(&f->notes);
}

void
global_file_log_notes(struct global_file *f)
{
	const char *line = f->notes.len > 0 ? buf_str(&f->notes) : "";

	for (size_t len; *line != '\0'; line += len + (line[len] == '\n')) {
		len = strcspn(line, "\n");
		log_warn("%.*s", (int)len, line);
	}
}

/* 0; -ENOENT; -EINVAL and others with why. */
static int
load(const char *path, char **ret_text, size_t *ret_len, struct reason *why)
{
	char text[PATH_WHY_MAX];
	struct stat st;
	int fd = -1, r = path_open(path, &fd);

	if (r == -ENOENT || r == -ENOTDIR)
		return -ENOENT;
	if (r < 0)
		return reason_set(
		    why, r, "%s: %s", path, path_why(path, r, text, sizeof(text)));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		r = reason_set(why, -EINVAL, "%s: not a regular file", path);
	else if ((st.st_mode & S_IWOTH) != 0)
		r = reason_set(
		    why, -EPERM, "%s: world-writable: run `chmod o-w` on it", path);
	else if ((r = fd_slurp(fd, FILE_MAX, ret_text, ret_len)) < 0)
		(void)reason_set(why, r, "%s: %s", path,
		    r == -EFBIG ? "it has more than 1 MiB" : strerror(-r));
	fd_close(&fd);
	return r;
}

static void
digest_of(const char *text, size_t len, char ret[FILE_DIGEST_LEN + 1])
{
	uint8_t digest[32];

	mcp_digest((const uint8_t *)text, len, digest);
	(void)hex_put(ret, digest, sizeof(digest));
}

/* 1: the file is used; 0: it was skipped, and its text is kept for `kennel serve`, which
 * asks a person. */
static int
approved(struct registry *g, const char *path, char **text, size_t len,
    struct global_file *ret, struct reason *why)
{
	char digest[FILE_DIGEST_LEN + 1];
	int r, before;

	digest_of(*text, len, digest);
	r = g == NULL ? 0 : registry_trusts(g, digest);
	before = g == NULL || r != 0 ? 0 : registry_trusts_path(g, path);
	if (r < 0 || before < 0)
		return reason_set(why, r < 0 ? r : before,
		    "%s: unable to read its approval: %s", path,
		    strerror(r < 0 ? -r : -before));
	if (r > 0)
		return r;
	(void)snprintf(
	    ret->skipped.path, sizeof(ret->skipped.path), "%s", path); /* same size */
	ret->skipped.text = *text;
	ret->skipped.len = len;
	ret->skipped.changed = before > 0;
	*text = NULL;
	return 0;
}

int
global_file_read(const struct global_places *places, struct registry *g,
    struct global_file *ret, struct reason *why)
{
	const struct {
		const char *dir;
		bool first, foreign;
	} row[] = {
	    {places->etc, true, false},
	    {places->project, false, true},
	    {places->config, false, false},
	};
	char path[PATH_MAX], *text = NULL;
	size_t len = 0;
	int r = 0;

	begin(ret);
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		if (row[i].dir == NULL)
			continue;
		(void)snprintf(path, sizeof(path), "%.4000s/" GLOBAL_FILE, row[i].dir);
		r = load(path, &text, &len, why);
		if (r == -ENOENT)
			continue;
		if (r == 0)
			r = !row[i].foreign ? 1 : approved(g, path, &text, len, ret, why);
		if (r == 1) {
			ret->first = row[i].first;
			r = global_file_parse(path, text, len, ret, why);
			free(text);
			return r;
		}
		free(text);
		text = NULL;
		if (r < 0)
			return r;
	}
	return 0;
}

int
global_file_digest(const char *path, char ret_digest[FILE_DIGEST_LEN + 1],
    struct global_file *ret, struct reason *why)
{
	char *text = NULL;
	size_t len = 0;
	int r;

	begin(ret);
	r = load(path, &text, &len, why);
	if (r == -ENOENT)
		return reason_set(why, r, "%s: no such file", path);
	if (r == 0)
		r = global_file_text(path, text, len, ret_digest, ret, why);
	free(text);
	return r;
}

int
global_file_text(const char *path, const char *text, size_t len,
    char ret_digest[FILE_DIGEST_LEN + 1], struct global_file *ret, struct reason *why)
{
	begin(ret);
	digest_of(text, len, ret_digest);
	return global_file_parse(path, text, len, ret, why);
}
