/*
 * mcp_register (register_tool.h). The arguments are an agent's: they are scanned and
 * never become a tree.
 */
#include "supervisor/registry/register_tool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/registry/reference.h"
#include "supervisor/registry/row_check.h"

#define TOOL      "mcp_register"
#define TEXT_MAX  (64u << 10) /* bytes of one argument */
#define SHOWN_MAX 64          /* bytes of an unknown action or name in a reply */

const char *
register_action_name(enum register_action action)
{
	static const char *const names[REGISTER_N] = {"add", "list", "remove"};

	return (size_t)action < ARRAY_LEN(names) ? names[action] : "unknown";
}

void
register_order_free(struct register_order *order)
{
	free(order->row.own);
	order->row.own = NULL;
}

static int refuse(struct buf *reply, int r, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int
refuse(struct buf *reply, int r, const char *format, ...)
{
	struct reason text;
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(text.text, sizeof(text.text), format, ap); /* may be cut */
	va_end(ap);
	buf_clear(reply);
	(void)buf_puts(reply, text.text); /* the caller returns r in any case */
	return r;
}

/* ---- arguments --------------------------------------------------------------------- */

/* The arguments of one call, as texts. */
struct given {
	char *action, *name, *command, *args, *note;
};

static void
given_free(struct given *g)
{
	free(g->action);
	free(g->name);
	free(g->command);
	free(g->args);
	free(g->note);
}

static int
take_text(struct json value, char **ret)
{
	char *text = malloc(value.len + 1);
	size_t len;
	int r;

	if (text == NULL)
		return -ENOMEM;
	r = value.len > TEXT_MAX ? -EMSGSIZE
				 : json_text(value, text, value.len + 1, &len);
	if (r < 0)
		free(text);
	else
		*ret = text;
	return r;
}

static int
take_args(struct json value, char **ret)
{
	struct buf out;
	int r;

	if (value.type != JSON_IS_ARRAY)
		return -EINVAL;
	buf_init(&out, TEXT_MAX);
	r = json_canon(value, &out);
	if (r == 0)
		r = buf_putc(&out, '\0');
	if (r < 0)
		buf_free(&out);
	else
		*ret = (char *)out.data;
	return r;
}

static int
take(struct json arguments, struct given *g, struct buf *reply)
{
	const struct {
		const char *name, *expected;
		int (*fn)(struct json, char **);
		char **to;
	} row[] = {
	    {"action", "a text", take_text, &g->action},
	    {"name", "a text", take_text, &g->name},
	    {"command", "a text", take_text, &g->command},
	    {"args", "an array of texts", take_args, &g->args},
	    {"note", "a text", take_text, &g->note},
	};
	struct json value;
	int r;

	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		r = json_get(arguments, row[i].name, &value);
		if (r == -ENOENT)
			continue;
		if (r == 0)
			r = row[i].fn(value, row[i].to);
		if (r < 0)
			return refuse(reply, r, TOOL ": invalid `%s`: expected %s",
			    row[i].name, row[i].expected);
	}
	return 0;
}

/* ---- reading ------------------------------------------------------------------------- */

static int
find_action(const char *name, struct register_order *ret, struct buf *reply)
{
	for (int i = 0; i < REGISTER_N; i++)
		if (name == NULL ||
		    strcmp(register_action_name((enum register_action)i), name) == 0) {
			ret->action = (enum register_action)i;
			return 0;
		}
	return refuse(reply, -EINVAL,
	    TOOL ": unknown action \"%.*s\" (add | list | remove)", SHOWN_MAX, name);
}

/* Another source's row may not be changed. */
static int
owned(const char *name, enum row_source owner, struct buf *reply)
{
	static const char *const by[FROM_N] = {[FROM_POLICY] = "its policy",
	    [FROM_FILE] = "the file mcp-servers.json",
	    [FROM_PERSON] = "a person"};

	return refuse(reply, -EPERM,
	    TOOL ": \"%s\" is defined by %s; nothing was changed", name, by[owner]);
}

static int
check(const struct given *g, struct register_order *ret, struct buf *reply)
{
	struct server_row row = {.name = g->name,
	    .scope = "user",
	    .source = FROM_AGENT,
	    .transport = "stdio",
	    .command = g->command,
	    .args_json = g->args,
	    .auth_type = "none",
	    .note = g->note,
	    .policy_server = g->name};
	struct reason why;
	int r = 0;

	if (ret->action == REGISTER_ADD && (g->name == NULL || g->command == NULL))
		return refuse(reply, -EINVAL, TOOL " add requires `name` and `command`");
	if (ret->action == REGISTER_REMOVE && g->name == NULL)
		return refuse(reply, -EINVAL, TOOL " remove requires `name`");
	if (g->name != NULL && !row_name_is_valid(g->name))
		return refuse(reply, -EINVAL,
		    TOOL ": invalid `name`: use up to 64 letters, digits, `_` and `-`");
	if (ret->action == REGISTER_ADD)
		r = row_check(&row, &why);
	if (r < 0)
		(void)refuse(reply, r, TOOL ": %s; nothing was changed", why.text);
	else
		r = server_row_copy(&row, &ret->row);
	return r;
}

int
register_read(struct json arguments, server_defined_fn *defined, void *arg,
    struct register_order *ret, struct buf *reply)
{
	struct register_order order = {.action = REGISTER_ADD};
	struct given g = {NULL};
	enum row_source owner;
	int r = 0;

	if (arguments.type != JSON_IS_NONE && arguments.type != JSON_IS_OBJECT)
		r = refuse(reply, -EINVAL, TOOL ": expected an object as arguments");
	if (r == 0)
		r = take(arguments, &g, reply);
	if (r == 0)
		r = find_action(g.action, &order, reply);
	if (r == 0)
		r = check(&g, &order, reply);
	if (r == 0 && order.action != REGISTER_LIST && defined(arg, g.name, &owner))
		r = owned(g.name, owner, reply);
	/* the record of a refusal has the name; without memory for it, it has none */
	if (r < 0 && order.row.own == NULL && g.name != NULL && row_name_is_valid(g.name))
		(void)server_row_copy(&(struct server_row){.name = g.name}, &order.row);
	given_free(&g);
	*ret = order;
	return r;
}

/* ---- doing ----------------------------------------------------------------------------- */

static int
failed(struct buf *reply, int r)
{
	return refuse(reply, r,
	    TOOL ": unable to change the registry: %s; nothing was "
		 "changed",
	    strerror(-r));
}

static int
do_add(struct registry *g, const struct server_row *row, struct row_change *ret,
    struct buf *reply)
{
	int r = registry_put(g, row, ret);

	if (r == -EPERM)
		return owned(row->name, ret->owner, reply);
	if (r == -ENOSPC)
		return refuse(reply, r,
		    TOOL ": the registry is full: at most %d servers of agents and %d in "
			 "all; nothing was changed, remove one first",
		    REGISTRY_AGENT_ROWS_MAX, REGISTRY_ROWS_MAX);
	if (r < 0)
		return failed(reply, r);
	return buf_printf(reply, "{\"name\":\"%s\",\"created_gen\":%" PRIu64 "}",
	    row->name, ret->created_gen);
}

static int
do_remove(struct registry *g, const struct server_row *row, struct row_change *ret,
    struct buf *reply)
{
	enum row_source owner = FROM_AGENT;
	struct server_rows old = {NULL, 0};
	int r = registry_find(g, row->name, &old);

	if (r == 0 && old.n > 0)
		*ret = (struct row_change){
		    .existed = true, .was_enabled = old.row[0].enabled};
	server_rows_free(&old);
	if (r == 0)
		r = registry_remove(g, row->name, FROM_AGENT, &owner);

	if (r == -EPERM)
		return owned(row->name, owner, reply);
	if (r == -ENOENT)
		return refuse(reply, r, "no registered mcp server \"%s\"", row->name);
	if (r < 0)
		return failed(reply, r);
	return buf_printf(reply, "{\"name\":\"%s\",\"removed\":true}", row->name);
}

static int
put_server(const struct server_row *row, bool first, struct buf *reply)
{
	int r = buf_printf(reply, "%s{\"name\":\"%s\"", first ? "" : ",", row->name);

	if (r == 0 && row->command != NULL) {
		r = buf_puts(reply, ",\"command\":");
		if (r == 0)
			r = json_put_text(reply, row->command);
		if (r == 0)
			r = buf_printf(reply, ",\"args\":%s",
			    row->args_json != NULL ? row->args_json : "[]");
	}
	if (r == 0 && row->note != NULL) {
		r = buf_puts(reply, ",\"note\":");
		if (r == 0)
			r = json_put_text(reply, row->note);
	}
	if (r == 0)
		r = buf_printf(reply, ",\"created_gen\":%" PRIu64 "}", row->created_gen);
	return r;
}

/* The rows of the registry's own: persons' and agents'. */
static int
do_list(struct registry *g, struct buf *reply)
{
	struct server_rows rows = {NULL, 0};
	bool first = true;
	int r = registry_list(g, &rows);

	if (r == 0)
		r = buf_puts(reply, "{\"servers\":[");
	for (size_t i = 0; r == 0 && i < rows.n; i++) {
		if (rows.row[i].source < FROM_PERSON)
			continue;
		r = put_server(&rows.row[i], first, reply);
		first = false;
	}
	if (r == 0)
		r = buf_puts(reply, "]}");
	server_rows_free(&rows);
	return r < 0 ? failed(reply, r) : 0;
}

int
register_do(struct registry *g, const struct register_order *order,
    struct row_change *ret, struct buf *reply)
{
	*ret = (struct row_change){.existed = false};
	if (order->action == REGISTER_LIST)
		return do_list(g, reply);
	return order->action == REGISTER_ADD ? do_add(g, &order->row, ret, reply)
					     : do_remove(g, &order->row, ret, reply);
}
