/*
 * kennel server pin --show: definitions for a person to read. Every member of a definition
 * is on the page: the known ones by name, the others as they are written.
 *
 * Process: kennel. Trusts nothing in a definition; what it prints is escaped (page.c).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/pager.h"
#include "supervisor/hub/hub.h"
#include "supervisor/pin/page.h"
#include "supervisor/pin/private.h"

#define INDENT     4
#define PARAMS_MAX 2048 /* rows of a table; further ones are shown as they are written */
#define PATH_LEN   256
#define TYPE_LEN   48
#define NAME_MAX_W 28 /* columns of a name, of a type */
#define TYPE_MAX_W 16
#define TEXT_MIN_W 28 /* columns that are left for a text beside them */

struct param {
	char before[PATH_LEN];       /* "outer.", "list[]." */
	char type[2 * TYPE_LEN + 8]; /* "array of object" */
	bool required;
	bool opened, each; /* the rows after it are its own, or those of its items */
	struct json key, schema;
};

struct showing {
	const struct policy_found *found;
	struct pins *pins;
	struct lint *lint;
	struct page page;
	size_t warnings;
	struct param *param; /* PARAMS_MAX */
	size_t param_n;
};

struct json
pin_value(const void *bytes, size_t len)
{
	struct json_message m;

	/* it was scanned before it got its canonical form */
	return json_scan(bytes, len, &m) < 0 ? (struct json){bytes, len, JSON_IS_NULL}
					     : m.root;
}

static struct json
get(struct json object, const char *name)
{
	struct json value;

	if (json_get(object, name, &value) < 0)
		value = (struct json){0};
	return value;
}

static bool
is_in(struct json key, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (json_key_is(key, names[i]) > 0)
			return true;
	return false;
}

static void
put(struct showing *s, int indent, const char *text)
{
	page_puts(&s->page, indent, PAGE_PLAIN, text);
}

/* "label: value", if there is a value. */
static void
put_labelled(struct showing *s, int indent, const char *label, struct json value)
{
	if (value.type == JSON_IS_NONE)
		return;
	page_to(&s->page, indent);
	put(s, indent, label);
	put(s, indent, ": ");
	page_json(&s->page, indent + 2, PAGE_PLAIN, value);
	page_line(&s->page);
}

/* The members that have no place of their own on the page. */
static void
put_others(
    struct showing *s, int indent, struct json object, const char *const *known, size_t n)
{
	struct json key, value;
	struct json_walk w;

	json_walk(&w, object);
	while (json_next(&w, &key, &value)) {
		if (key.type == JSON_IS_STRING && is_in(key, known, n))
			continue;
		page_to(&s->page, indent);
		page_json(&s->page, indent, PAGE_PLAIN, key);
		put(s, indent, ": ");
		page_json(&s->page, indent + 2, PAGE_PLAIN, value);
		page_line(&s->page);
	}
}

/* ---- parameters -------------------------------------------------------------------- */

static bool
has_item(struct json list, struct json name)
{
	struct json key, value;
	struct json_walk w;

	json_walk(&w, list);
	while (json_next(&w, &key, &value))
		if (value.len == name.len && memcmp(value.at, name.at, name.len) == 0)
			return true;
	return false;
}

/* True if the rows of its properties show all that `required` contains. */
static bool
is_required_shown(struct json schema)
{
	struct json required = get(schema, "required"), key, value, name;
	struct json_walk w, keys;

	json_walk(&w, required);
	while (json_next(&w, &key, &value)) {
		bool found = false;

		json_walk(&keys, get(schema, "properties"));
		while (!found && json_next(&keys, &key, &name))
			found = key.len == value.len &&
				memcmp(key.at, value.at, key.len) == 0;
		if (!found)
			return false;
	}
	return required.type == JSON_IS_ARRAY;
}

/* "string", "string or null", "any"; false: it does not fit, and is shown as written. */
static bool
type_of(struct json schema, char out[TYPE_LEN])
{
	struct json type = get(schema, "type"), key, value;
	struct json_walk w;
	size_t n = 0;

	if (type.type == JSON_IS_STRING)
		n += (size_t)snprintf(out, TYPE_LEN, "%.*s", (int)(type.len - 2),
		    (const char *)type.at + 1); /* may be cut */
	json_walk(&w, type.type == JSON_IS_ARRAY ? type : (struct json){0});
	while (n < TYPE_LEN && json_next(&w, &key, &value)) {
		bool text = value.type == JSON_IS_STRING;

		n += (size_t)snprintf(out + n, TYPE_LEN - n, "%s%.*s",
		    n > 0 ? " or " : "", (int)(text ? value.len - 2 : value.len),
		    (const char *)value.at + (text ? 1 : 0));
	}
	if (n == 0)
		(void)snprintf(out, TYPE_LEN, "any");
	return n < TYPE_LEN && (n > 0 || type.type == JSON_IS_NONE);
}

static void collect(struct showing *, struct json schema, const char *before);

static void
/* NOLINTNEXTLINE(misc-no-recursion): as deep as a message, MCP_DEPTH_MAX */
collect_inner(struct showing *s, struct param *p)
{
	struct json items = get(p->schema, "items");
	char inner[PATH_LEN], type[TYPE_LEN];
	int n;

	if (get(p->schema, "properties").type == JSON_IS_OBJECT)
		p->opened = true;
	else if (get(items, "properties").type == JSON_IS_OBJECT)
		p->opened = p->each = true;
	n = snprintf(inner, sizeof(inner), "%s%.*s%s", p->before, (int)(p->key.len - 2),
	    (const char *)p->key.at + 1, p->each ? "[]." : ".");
	if (n < 0 || (size_t)n >= sizeof(inner))
		p->opened = false;
	p->each &= p->opened;
	if (p->each && type_of(items, type))
		(void)snprintf(
		    p->type + strlen(p->type), TYPE_LEN + 8, " of %s", type); /* fits */
	if (p->opened)
		collect(s, p->each ? items : p->schema, inner);
}

static void
/* NOLINTNEXTLINE(misc-no-recursion): as deep as a message, MCP_DEPTH_MAX */
collect(struct showing *s, struct json schema, const char *before)
{
	struct json key, value;
	struct json_walk w;

	json_walk(&w, get(schema, "properties"));
	while (s->param_n < PARAMS_MAX && json_next(&w, &key, &value)) {
		struct param *p = &s->param[s->param_n];

		if (key.type != JSON_IS_STRING)
			continue;
		*p = (struct param){.key = key, .schema = value};
		(void)snprintf(p->before, sizeof(p->before), "%s", before); /* fits */
		(void)type_of(value, p->type); /* put_rest shows what does not fit */
		p->required = has_item(get(schema, "required"), key);
		s->param_n++;
		collect_inner(s, p);
	}
}

/* What the table has no column for: enum, default, pattern and so on. opened: the table
 * has rows for the properties. */
static void
put_rest(struct showing *s, int indent, struct json schema, bool opened)
{
	char type[TYPE_LEN];
	const char *known[4] = {"description"};
	size_t n = 1;

	if (type_of(schema, type))
		known[n++] = "type";
	if (opened)
		known[n++] = "properties";
	if (opened && is_required_shown(schema))
		known[n++] = "required";
	put_others(s, indent, schema, known, n);
}

static void
put_constraints(struct showing *s, int indent, const struct param *p)
{
	static const char *const known[] = {"type", "description", "items"};
	struct json items = get(p->schema, "items");

	if (!p->each) {
		put_rest(s, indent, p->schema, p->opened);
		return;
	}
	put_others(s, indent, p->schema, known, ARRAY_LEN(known));
	put_labelled(s, indent, "each", get(items, "description"));
	put_rest(s, indent, items, true);
}

static int
name_width(struct showing *s, const struct param *p)
{
	return page_width(&s->page, p->before, strlen(p->before)) +
	       page_width(&s->page, (const char *)p->key.at, p->key.len) - 2;
}

static void
put_param(struct showing *s, const struct param *p, int name_w, int type_w)
{
	int type_at = INDENT + 2 + name_w + 2, need_at = type_at + type_w + 2;
	int text_at = need_at + (int)sizeof("required") + 1;
	struct json about = get(p->schema, "description");

	page_to(&s->page, INDENT + 2);
	page_puts(&s->page, INDENT + 4, PAGE_NAME, p->before);
	page_json(&s->page, INDENT + 4, PAGE_NAME, p->key);
	page_to(&s->page, type_at);
	put(s, type_at, p->type);
	if (p->required) {
		page_to(&s->page, need_at);
		put(s, need_at, "required");
	}
	if (s->page.columns - text_at < TEXT_MIN_W) {
		text_at = INDENT + 6;
		page_line(&s->page);
	}
	if (about.type != JSON_IS_NONE) {
		page_to(&s->page, text_at);
		page_json(&s->page, text_at, PAGE_PLAIN, about);
	}
	if (s->page.at > 0)
		page_line(&s->page);
	put_constraints(s, text_at, p);
}

static void
put_table(struct showing *s)
{
	int name_w = 4, type_w = 4;

	for (size_t i = 0; i < s->param_n; i++) {
		int n = name_width(s, &s->param[i]);
		int t = page_width(&s->page, s->param[i].type, strlen(s->param[i].type));

		name_w = n > name_w ? n : name_w;
		type_w = t > type_w ? t : type_w;
	}
	name_w = name_w > NAME_MAX_W ? NAME_MAX_W : name_w;
	type_w = type_w > TYPE_MAX_W ? TYPE_MAX_W : type_w;
	for (size_t i = 0; i < s->param_n; i++)
		put_param(s, &s->param[i], name_w, type_w);
}

static void
put_schema(struct showing *s, const char *label, struct json schema)
{
	if (schema.type == JSON_IS_NONE)
		return;
	s->param_n = 0;
	collect(s, schema, "");
	page_to(&s->page, INDENT);
	put(s, INDENT, label);
	put(s, INDENT, s->param_n == 0 ? ": none" : ":");
	page_line(&s->page);
	put_table(s);
	put_labelled(s, INDENT + 2, "description", get(schema, "description"));
	put_rest(s, INDENT + 2, schema, s->param_n > 0 && s->param_n < PARAMS_MAX);
	if (schema.type != JSON_IS_OBJECT)
		put_labelled(s, INDENT + 2, "schema", schema);
}

/* ---- annotations and verdict --------------------------------------------------------- */

static void
put_annotations(struct showing *s, struct json annotations)
{
	static const struct {
		const char *name, *yes, *no;
	} hints[] = {
	    {"readOnlyHint", "only reads", "may change things"},
	    {"destructiveHint", "may destroy or overwrite",
		"only adds, destroys nothing"},
	    {"idempotentHint", "a second call changes nothing more",
		"a second call has effects again"},
	    {"openWorldHint", "reaches other systems", "stays within its own data"},
	};
	static const char *const known[] = {"readOnlyHint", "destructiveHint",
	    "idempotentHint", "openWorldHint", "title"};
	bool any = false;

	page_to(&s->page, INDENT);
	put(s, INDENT, "by its annotations: ");
	for (size_t i = 0; i < ARRAY_LEN(hints); i++) {
		struct json hint = get(annotations, hints[i].name);

		if (hint.type != JSON_IS_TRUE && hint.type != JSON_IS_FALSE)
			continue;
		put(s, INDENT + 2, any ? "; " : "");
		put(s, INDENT + 2,
		    hint.type == JSON_IS_TRUE ? hints[i].yes : hints[i].no);
		any = true;
	}
	if (!any)
		put(s, INDENT + 2, "nothing is known of its effects");
	page_line(&s->page);
	put_labelled(s, INDENT + 2, "title", get(annotations, "title"));
	put_others(s, INDENT + 2, annotations, known, ARRAY_LEN(known));
}

static void
put_verdict(struct showing *s, enum sealed_gate_kind kind, const char *name, size_t len)
{
	const struct gate_ask ask = {.policy = &s->found->policy,
	    .server = s->found->server,
	    .pins = s->pins,
	    .kind = kind,
	    .name = name,
	    .name_len = len};
	struct gate_answer a;

	gate_judge(&ask, &a);
	page_to(&s->page, INDENT);
	put(s, INDENT, "policy: ");
	put(s, INDENT, policy_verdict_name(a.verdict));
	put(s, INDENT, a.at[0] != '\0' ? " by " : ", because no line allows it");
	put(s, INDENT + 2, a.at);
	page_line(&s->page);
}

/* ---- definitions ------------------------------------------------------------------------ */

static void
mark(void *arg, const struct lint_warning *w)
{
	struct showing *s = arg;

	s->warnings++;
	page_to(&s->page, INDENT);
	page_puts(&s->page, INDENT, PAGE_MARK, "! ");
	page_puts(&s->page, INDENT + 2, PAGE_MARK, w->rule);
	put(s, INDENT + 2, " ");
	put(s, INDENT + 2, w->member);
	put(s, INDENT + 2, w->member[0] != '\0' ? ": " : "");
	put(s, INDENT + 2, w->what);
	put(s, INDENT + 2, ": `");
	put(s, INDENT + 2, w->shown);
	put(s, INDENT + 2, "`");
	page_line(&s->page);
}

static void
show_tool(struct showing *s, struct json body)
{
	static const char *const known[] = {
	    "name", "title", "description", "inputSchema", "outputSchema", "annotations"};

	put_schema(s, "parameters", get(body, "inputSchema"));
	put_schema(s, "result", get(body, "outputSchema"));
	put_annotations(s, get(body, "annotations"));
	put_others(s, INDENT, body, known, ARRAY_LEN(known));
}

static void
show_prompt(struct showing *s, struct json body)
{
	static const char *const known[] = {"name", "title", "description", "arguments"};
	static const char *const said[] = {"name", "description", "required"};
	struct json key, argument;
	struct json_walk w;

	json_walk(&w, get(body, "arguments"));
	while (json_next(&w, &key, &argument)) {
		page_to(&s->page, INDENT);
		put(s, INDENT, "argument ");
		page_json(&s->page, INDENT + 2, PAGE_NAME, get(argument, "name"));
		put(s, INDENT + 2,
		    get(argument, "required").type == JSON_IS_TRUE ? " (required)" : "");
		put(s, INDENT + 2, ": ");
		if (get(argument, "description").type != JSON_IS_NONE)
			page_json(&s->page, INDENT + 2, PAGE_PLAIN,
			    get(argument, "description"));
		page_line(&s->page);
		put_others(s, INDENT + 2, argument, said, ARRAY_LEN(said));
	}
	put_others(s, INDENT, body, known, ARRAY_LEN(known));
}

static void
show_other(struct showing *s, struct json body)
{
	static const char *const known[] = {"title", "description"};

	if (body.type == JSON_IS_OBJECT) {
		put_others(s, INDENT, body, known, ARRAY_LEN(known));
		return;
	}
	page_to(&s->page, INDENT);
	page_json(&s->page, INDENT, PAGE_PLAIN, body);
	page_line(&s->page);
}

static const struct shown {
	enum sealed_pin_kind kind;
	void (*show)(struct showing *, struct json body);
	bool judged; /* by the policy, as this kind */
	enum sealed_gate_kind gate;
} kinds[] = {
    {PIN_TOOL, show_tool, true, GATE_TOOL},
    {PIN_RESOURCE, show_other, true, GATE_RESOURCE},
    {PIN_TEMPLATE, show_other, false, 0},
    {PIN_PROMPT, show_prompt, true, GATE_PROMPT},
    {PIN_CAPABILITIES, show_other, false, 0},
    {PIN_INSTRUCTIONS, show_other, false, 0},
    {PIN_SERVER_INFO, show_other, false, 0},
};

static int
show_row(struct showing *s, const struct row *row)
{
	struct json body = pin_value(row->body.data, row->body.len);
	const struct json name = {row->name.data, row->name.len, JSON_IS_STRING};
	struct page *p = &s->page;
	char text[MCP_NAME_MAX];
	size_t len = 0;

	/* a name without a text could not have been pinned */
	if (json_text(name, text, sizeof(text), &len) < 0)
		len = 0;
	page_line(p);
	page_puts(p, 0, PAGE_NAME, pin_kind_word(row->kind));
	put(s, 0, len > 0 ? " " : "");
	page_put(p, INDENT, PAGE_NAME, text, len);
	if (row->variant[0] != '\0') {
		put(s, INDENT, ", for agents with ");
		put(s, INDENT, row->variant);
	}
	page_line(p);
	put_labelled(s, INDENT, "title", get(body, "title"));
	if (get(body, "description").type != JSON_IS_NONE) {
		page_to(p, INDENT);
		page_json(p, INDENT, PAGE_PLAIN, get(body, "description"));
		page_line(p);
	}
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (kinds[i].kind != row->kind)
			continue;
		kinds[i].show(s, body);
		if (kinds[i].judged)
			put_verdict(s, kinds[i].gate, text, len);
	}
	return lint_definition(s->lint, row->kind, name, body, mark, s);
}

/* ---- the page ------------------------------------------------------------------------- */

/* The gate judges by the annotations that the rows have. */
static int
know_rows(struct showing *s, const struct row *row, size_t n)
{
	int r = pins_new(&s->found->policy, s->found->server, &s->pins);

	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct json name = {
		    row[i].name.data, row[i].name.len, JSON_IS_STRING};
		struct pin_seen seen;
		char text[MCP_NAME_MAX];
		size_t len;

		if (json_text(name, text, sizeof(text), &len) == 0)
			r = pins_see(s->pins, row[i].kind, text, len,
			    pin_value(row[i].body.data, row[i].body.len), &seen);
	}
	return r;
}

int
pin_show(
    const struct policy_found *found, const struct row *row, size_t n, const char *from)
{
	const char *server = policy_str(&found->policy, found->server->name);
	struct showing s = {.found = found};
	char count[64];
	int r = know_rows(&s, row, n);

	if (r == 0)
		r = pin_lint_new(server, row, n, &s.lint);
	s.param = calloc(PARAMS_MAX, sizeof(*s.param));
	if (s.param == NULL)
		r = -ENOMEM;
	pager_start();
	page_begin(&s.page);
	(void)snprintf(
	    count, sizeof(count), "%zu definition%s of ", n, n == 1 ? "" : "s");
	put(&s, 0, count);
	put(&s, 0, server);
	put(&s, 0, ", ");
	put(&s, 0, from);
	page_line(&s.page);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = show_row(&s, &row[i]);
	(void)snprintf(count, sizeof(count), "\n%zu warning%s", s.warnings,
	    s.warnings == 1 ? "" : "s");
	put(&s, 0, count);
	page_line(&s.page);
	page_free(&s.page);
	pins_free(s.pins);
	lint_free(s.lint);
	free(s.param);
	if (r < 0)
		log_error("unable to show all definitions: %s", strerror(-r));
	return r < 0 ? EXIT_FAILED : 0;
}
