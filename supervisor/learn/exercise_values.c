/*
 * The arguments of a call, made from the schema of its tool.  Trusts no schema: an argument
 * is a value of ours, or a literal of the schema that is not too long.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "shim/base/array.h"
#include "supervisor/learn/exercise.h"

#define DEPTH_MAX   3    /* of a value */
#define LITERAL_MAX 4096 /* bytes of a literal of a schema */

static int
put_text(struct buf *out, const char *text)
{
	return json_quote(out, text, strlen(text));
}

static bool
has_part(const char *name, const char *const *part, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcasestr(name, part[i]) != NULL)
			return true;
	return false;
}

static const char *const dirs[] = {"dir", "folder", "root", "cwd", "repo"};

static const char *
text_for(const char *name, const struct exercise_values *v)
{
	static const char *const paths[] = {"path", "file", "source", "location"};

	if (has_part(name, dirs, ARRAY_LEN(dirs)))
		return v->dir[0] != '\0' ? v->dir : "/tmp";
	if (has_part(name, paths, ARRAY_LEN(paths))) {
		if (v->round % 2 == 1 && v->file[0] != '\0')
			return v->file;
		return v->dir[0] != '\0' ? v->dir : "/tmp";
	}
	return v->round % 2 == 0 ? "a" : "b";
}

/* A literal that the schema gives: the first of `enum`, or `const`, or `default`. */
static bool
literal_of(struct json schema, struct json *ret)
{
	struct json list, key;
	struct json_walk w;

	if (json_get(schema, "const", ret) == 0 || json_get(schema, "default", ret) == 0)
		return ret->len <= LITERAL_MAX;
	if (json_get(schema, "enum", &list) < 0)
		return false;
	json_walk(&w, list);
	return json_next(&w, &key, ret) && ret->len <= LITERAL_MAX;
}

static int put_object(
    struct json schema, const struct exercise_values *, unsigned int depth, struct buf *);

/* The type of a schema, of several the first. */
static void
type_of(struct json schema, char type[16])
{
	struct json value, key;
	struct json_walk w;
	size_t len;

	type[0] = '\0';
	if (json_get(schema, "type", &value) < 0)
		return;
	if (value.type == JSON_IS_ARRAY) {
		json_walk(&w, value);
		if (!json_next(&w, &key, &value))
			return;
	}
	if (json_text(value, type, 16, &len) < 0)
		type[0] = '\0';
}

static int
/* NOLINTNEXTLINE(misc-no-recursion): at most DEPTH_MAX deep */
put_value(struct json schema, const char *name, const struct exercise_values *v,
    unsigned int depth, struct buf *out)
{
	struct json literal, least;
	char type[16];
	int r;

	if (literal_of(schema, &literal))
		return buf_put(out, literal.at, literal.len);
	type_of(schema, type);
	if (strcmp(type, "string") == 0)
		return put_text(out, text_for(name, v));
	if (strcmp(type, "boolean") == 0)
		return buf_puts(out, "false");
	if (strcmp(type, "number") == 0 || strcmp(type, "integer") == 0) {
		if (json_get(schema, "minimum", &least) == 0 &&
		    least.type == JSON_IS_NUMBER && least.len <= LITERAL_MAX)
			return buf_put(out, least.at, least.len);
		return buf_printf(out, "%u", 1 + v->round);
	}
	if (depth >= DEPTH_MAX)
		return -ENOENT;
	if (strcmp(type, "object") == 0)
		return put_object(schema, v, depth + 1, out);
	if (strcmp(type, "array") != 0 || json_get(schema, "items", &literal) < 0)
		return -ENOENT;
	r = buf_putc(out, '[');
	if (r == 0)
		r = put_value(literal, name, v, depth + 1, out);
	return r == 0 ? buf_putc(out, ']') : r;
}

static bool
is_required(struct json schema, const char *name)
{
	struct json required, key, item;
	struct json_walk w;
	char text[JSON_KEY_MAX];
	size_t len;

	if (json_get(schema, "required", &required) < 0)
		return false;
	json_walk(&w, required);
	while (json_next(&w, &key, &item))
		if (json_text(item, text, sizeof(text), &len) == 0 &&
		    strcmp(text, name) == 0)
			return true;
	return false;
}

/* The optional directories of a tool: without one, many tools do not look at the project.
 * n: the members before them. */
static int
put_optional(
    struct json schema, const struct exercise_values *v, size_t n, struct buf *out)
{
	struct json properties, key, member;
	struct json_walk w;
	char name[JSON_KEY_MAX], type[16];
	size_t len;
	int r = 0;

	if (v->dir[0] == '\0' || json_get(schema, "properties", &properties) < 0)
		return 0;
	json_walk(&w, properties);
	while (r == 0 && json_next(&w, &key, &member)) {
		type_of(member, type);
		if (strcmp(type, "string") != 0 ||
		    json_text(key, name, sizeof(name), &len) < 0 ||
		    is_required(schema, name) ||
		    (!has_part(name, dirs, ARRAY_LEN(dirs)) && strcmp(name, "path") != 0))
			continue;
		if (n++ > 0)
			r = buf_putc(out, ',');
		if (r == 0)
			r = put_text(out, name);
		if (r == 0)
			r = buf_putc(out, ':');
		if (r == 0)
			r = put_text(out, v->dir);
	}
	return r;
}

/* What is required, and of the tool itself the directories. */
static int
/* NOLINTNEXTLINE(misc-no-recursion): at most DEPTH_MAX deep */
put_object(struct json schema, const struct exercise_values *v, unsigned int depth,
    struct buf *out)
{
	struct json properties, required, key, item, member;
	struct json_walk w;
	char name[JSON_KEY_MAX];
	size_t len, n = 0;
	int r = buf_putc(out, '{');

	if (json_get(schema, "required", &required) == 0 && r == 0) {
		json_walk(&w, required);
		while (r == 0 && json_next(&w, &key, &item)) {
			if (json_text(item, name, sizeof(name), &len) < 0 ||
			    json_get(schema, "properties", &properties) < 0 ||
			    json_get(properties, name, &member) < 0)
				return -ENOENT;
			if (n++ > 0)
				r = buf_putc(out, ',');
			if (r == 0)
				r = put_text(out, name);
			if (r == 0)
				r = buf_putc(out, ':');
			if (r == 0)
				r = put_value(member, name, v, depth, out);
		}
	}
	if (r == 0 && depth == 0)
		r = put_optional(schema, v, n, out);
	return r == 0 ? buf_putc(out, '}') : r;
}

int
exercise_params(struct json definition, const char *name, const struct exercise_values *v,
    struct buf *out)
{
	struct json schema;
	int r = buf_puts(out, "\"name\":");

	if (r == 0)
		r = put_text(out, name);
	if (r == 0)
		r = buf_puts(out, ",\"arguments\":");
	if (r < 0)
		return r;
	if (json_get(definition, "inputSchema", &schema) < 0)
		return buf_puts(out, "{}");
	return put_object(schema, v, 0, out);
}
