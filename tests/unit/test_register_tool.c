/*
 * mcp_register: the replies, the errors, and what an agent cannot do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "shim/base/array.h"
#include "supervisor/registry/register_tool.h"
#include "tests/unit/registry_fixture.h"

static bool
defined(void *arg, const char *name, enum row_source *ret)
{
	if (strcmp(name, "github") == 0)
		*ret = FROM_POLICY;
	else if (strcmp(name, "filed") == 0)
		*ret = FROM_FILE;
	else
		return false;
	return true;
}

static char said[4096];

/* The whole call: 0, or the refusal. */
static int
call(struct registry *g, const char *arguments)
{
	struct row_change done;
	struct register_order order;
	struct json_message m = {.flags = 0};
	struct buf reply;
	int r = 0;

	buf_init(&reply, 1u << 20);
	if (arguments != NULL)
		assert_int_equal(
		    json_scan((const uint8_t *)arguments, strlen(arguments), &m), 0);
	r = register_read(m.root, defined, NULL, &order, &reply);
	if (r == 0)
		r = register_do(g, &order, &done, &reply);
	register_order_free(&order);
	(void)snprintf(said, sizeof(said), "%s", buf_str(&reply));
	buf_free(&reply);
	return r;
}

/* S4-04 S4-05: add, list and remove; upsert by name. */
static void
replies(void **state)
{
	struct registry *g = registry_of("r");

	assert_int_equal(call(g, "{\"action\":\"list\"}"), 0);
	assert_string_equal(said, "{\"servers\":[]}");
	assert_int_equal(call(g, "{\"name\":\"x\",\"command\":\"gh-mcp\"}"), 0);
	assert_string_equal(said, "{\"name\":\"x\",\"created_gen\":1}");
	(void)row_put(g, "p", FROM_PERSON, "/bin/p");
	assert_int_equal(
	    call(g, "{\"action\":\"add\",\"name\":\"x\",\"command\":\"gh-mcp\","
		    "\"args\":[\"a b\",\"\\u00e9\"],\"note\":\"for \\\"x\\\"\"}"),
	    0);
	assert_string_equal(said, "{\"name\":\"x\",\"created_gen\":1}");
	assert_int_equal(call(g, "{\"action\":\"list\"}"), 0);
	assert_string_equal(said,
	    "{\"servers\":[{\"name\":\"p\",\"command\":\"/bin/p\",\"args\":[\"a\"],"
	    "\"created_gen\":2},{\"name\":\"x\",\"command\":\"gh-mcp\",\"args\":[\"a b\","
	    "\"\xc3\xa9\"],\"note\":\"for \\\"x\\\"\",\"created_gen\":1}]}");
	WITH_ROW(g, "x", row, assert_false(row->enabled);
		 assert_int_equal(row->source, FROM_AGENT));
	assert_int_equal(call(g, "{\"action\":\"remove\",\"name\":\"x\"}"), 0);
	assert_string_equal(said, "{\"name\":\"x\",\"removed\":true}");
	assert_int_equal(call(g, "{\"action\":\"remove\",\"name\":\"x\"}"), -ENOENT);
	assert_string_equal(said, "no registered mcp server \"x\"");
	registry_close(g);
}

static const struct {
	const char *arguments, *text;
} errors_rows[] = {
    {NULL, "mcp_register add requires `name` and `command`"},
    {"{}", "mcp_register add requires `name` and `command`"},
    {"{\"name\":\"x\"}", "mcp_register add requires `name` and `command`"},
    {"{\"command\":\"x\"}", "mcp_register add requires `name` and `command`"},
    {"{\"action\":\"remove\"}", "mcp_register remove requires `name`"},
    {"{\"action\":\"y\"}", "mcp_register: unknown action \"y\" (add | list | remove)"},
    {"{\"action\":1}", "mcp_register: invalid `action`: expected a text"},
    {"{\"name\":\"x\",\"name\":\"y\",\"command\":\"c\"}",
	"mcp_register: invalid `name`: expected a text"},
    {"{\"name\":\"x\",\"command\":\"c\",\"args\":\"a\"}",
	"mcp_register: invalid `args`: expected an array of texts"},
    {"{\"name\":\"x\",\"command\":\"c\",\"args\":[1]}",
	"mcp_register: `args` must be an array of texts; nothing was changed"},
    {"{\"name\":\"a.b\",\"command\":\"c\"}",
	"mcp_register: invalid `name`: use up to 64 letters, digits, `_` and "
	"`-`"},
    {"{\"name\":\"x\",\"command\":\"\"}",
	"mcp_register: `command` is missing or empty; nothing was changed"},
    {"[]", "mcp_register: expected an object as arguments"},
    /* another source's */
    {"{\"name\":\"github\",\"command\":\"c\"}",
	"mcp_register: \"github\" is defined by its policy; nothing was changed"},
    {"{\"action\":\"remove\",\"name\":\"github\"}",
	"mcp_register: \"github\" is defined by its policy; nothing was changed"},
    {"{\"name\":\"filed\",\"command\":\"c\"}",
	"mcp_register: \"filed\" is defined by the file mcp-servers.json; "
	"nothing was "
	"changed"},
    {"{\"name\":\"p\",\"command\":\"c\"}",
	"mcp_register: \"p\" is defined by a person; nothing was changed"},
    {"{\"action\":\"remove\",\"name\":\"p\"}",
	"mcp_register: \"p\" is defined by a person; nothing was changed"},
    /* secrets: the member, never the value */
    {"{\"name\":\"x\",\"command\":\"c\",\"args\":[\"--token\",\"hunter2\"]}",
	"mcp_register: `args[1]` looks like a secret: store it with `kennel "
	"secret "
	"set` and name it in the policy; nothing was changed"},
    {"{\"name\":\"x\",\"command\":\"c\",\"note\":\"pass=hunter2\"}",
	"mcp_register: `note` looks like a secret: store it with `kennel secret "
	"set` and name it in the policy; nothing was changed"},
    {"{\"name\":\"x\",\"command\":\"https://u:hunter2@h/\"}",
	"mcp_register: `command` looks like a secret: store it with `kennel "
	"secret "
	"set` and name it in the policy; nothing was changed"},
};

static void
errors(void **state)
{
	struct registry *g = registry_of("e");
	uint64_t gen;

	(void)row_put(g, "p", FROM_PERSON, "/bin/p");
	gen = generation_of(g);
	for (size_t i = 0; i < ARRAY_LEN(errors_rows); i++) {
		if (call(g, errors_rows[i].arguments) >= 0)
			fail_msg("taken: %s", errors_rows[i].arguments);
		assert_string_equal(said, errors_rows[i].text);
	}
	assert_int_equal(generation_of(g), gen);
	/* the control */
	assert_int_equal(call(g, "{\"name\":\"x\",\"command\":\"c\",\"args\":[\"--port\","
				 "\"1\"]}"),
	    0);
	registry_close(g);
}

/* Shell characters are literal text. */
static void
literal(void **state)
{
	struct registry *g = registry_of("l");

	assert_int_equal(
	    call(g, "{\"name\":\"x\",\"command\":\"c\",\"args\":[\"; rm -rf /\","
		    "\"$(id)\",\"a && b\"]}"),
	    0);
	WITH_ROW(g, "x", row,
	    assert_string_equal(row->args_json, "[\"; rm -rf /\",\"$(id)\",\"a && b\"]"));
	registry_close(g);
}

/* The record of a refusal names the server, if the name is one. */
static void
names(void **state)
{
	static const struct {
		const char *arguments, *name;
	} rows[] = {
	    {"{\"name\":\"github\",\"command\":\"c\"}", "github"},
	    {"{\"name\":\"x\"}", "x"},
	    {"{\"name\":\"a b\",\"command\":\"c\"}", NULL},
	};
	struct register_order order;
	struct json_message m;
	struct buf reply;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		buf_init(&reply, 4096);
		assert_int_equal(json_scan((const uint8_t *)rows[i].arguments,
				     strlen(rows[i].arguments), &m),
		    0);
		assert_true(register_read(m.root, defined, NULL, &order, &reply) < 0);
		assert_string_equal(register_action_name(order.action), "add");
		if (rows[i].name == NULL)
			assert_null(order.row.name);
		else
			assert_string_equal(order.row.name, rows[i].name);
		register_order_free(&order);
		buf_free(&reply);
	}
}

int
main(void)
{
	const struct CMUnitTest all[] = {
	    cmocka_unit_test(replies),
	    cmocka_unit_test(errors),
	    cmocka_unit_test(literal),
	    cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(all, directory_make, directory_drop);
}
