/*
 * Export and import of the registry: byte-equal round trips, older dumps, and everything
 * that is refused, with the line and the member.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "shim/base/array.h"
#include "supervisor/registry/dump.h"
#include "tests/unit/corpus.h"
#include "tests/unit/registry_fixture.h"

static void
dump_of(struct registry *g, struct buf *out)
{
	buf_init(out, DUMP_MAX);
	assert_int_equal(dump_write(g, out), 0);
	(void)buf_str(out);
}

static int
import(struct registry *g, const char *text, struct reason *why)
{
	struct server_rows rows = {NULL, 0};
	struct row_change done[16];
	uint64_t generation = 0;
	int r = dump_read("f", text, strlen(text), &rows, &generation, why);

	if (r == 0) {
		assert_true(rows.n <= ARRAY_LEN(done));
		r = registry_import(g, &rows, generation, done);
	}
	server_rows_free(&rows);
	return r;
}

static const char full[] =
    "{\"kennel_registry\":1,\"generation\":6,\"mcp_servers\":[\n"
    "{\"name\":\"a\",\"transport\":\"stdio\",\"command\":\"npx\",\"args\":[\"-y\",\"@x/"
    "y\"],"
    "\"auth_type\":\"none\",\"env\":{\"LOG\":\"debug\",\"T\":{\"vault\":\"a/b/c\"}},"
    "\"note\":\"caf\xc3\xa9 \\\"x\\\"\",\"enabled\":true,\"policy_server\":\"a\","
    "\"created_gen\":1},\n"
    "{\"name\":\"b\",\"transport\":\"http\",\"url\":\"https://h/mcp\","
    "\"headers\":{\"X-Org\":\"kennel\"},\"auth_type\":\"bearer\","
    "\"auth\":{\"env\":\"B\"},\"enabled\":false,\"policy_server\":\"other\","
    "\"created_gen\":2}\n"
    "]}\n";

/* S4-06 S4-07: what is exported, imported into an empty registry and exported again is
 * equal byte for byte; rows of policies are not part of it. */
static void
round_trip(void **state)
{
	struct registry *g = registry_of("one"), *h = registry_of("two");
	struct buf first, second;
	struct reason why;

	(void)row_put(g, "a", FROM_PERSON, "/bin/a");
	(void)row_put(g, "b", FROM_PERSON, "/bin/b");
	assert_int_equal(registry_enable(g, "policy", FROM_POLICY, false, NULL), 0);
	if (import(g, full, &why) < 0)
		fail_msg("%s", why.text);
	dump_of(g, &first);
	assert_string_equal((char *)first.data, full);
	assert_int_equal(import(h, (char *)first.data, &why), 0);
	assert_int_equal(generation_of(h), 6);
	dump_of(h, &second);
	assert_string_equal((char *)second.data, (char *)first.data);
	WITH_ROW(h, "b", row, assert_int_equal(row->created_gen, 2);
		 assert_false(row->enabled));
	buf_free(&first);
	buf_free(&second);
	registry_close(g);
	registry_close(h);
}

static void
empty(void **state)
{
	struct registry *g = registry_of("none");
	struct reason why;
	struct buf out;

	dump_of(g, &out);
	assert_string_equal((char *)out.data,
	    "{\"kennel_registry\":1,\"generation\":0,\"mcp_servers\":[]}\n");
	assert_int_equal(import(g, (char *)out.data, &why), 0);
	assert_int_equal(generation_of(g), 0);
	buf_free(&out);
	registry_close(g);
}

/* Members that an older kennel did not write have their defaults; existing rows keep
 * their created_gen, and the generation never falls. */
static void
older(void **state)
{
	struct registry *g = registry_of("old");
	struct reason why;

	for (int i = 0; i < 5; i++)
		(void)row_put(g, "x", FROM_PERSON, "/bin/x");
	assert_int_equal(import(g,
			     "{\"kennel_registry\":1,\"mcp_servers\":[{\"name\":\"x\","
			     "\"command\":\"new\",\"created_gen\":3},{\"name\":\"u\","
			     "\"url\":\"https://h/\"}]}",
			     &why),
	    0);
	WITH_ROW(g, "x", row, assert_string_equal(row->command, "new");
		 assert_int_equal(row->created_gen, 1); assert_true(row->enabled);
		 assert_string_equal(row->policy_server, "x");
		 assert_string_equal(row->auth_type, "none"));
	WITH_ROW(g, "u", row, assert_string_equal(row->transport, "http");
		 assert_int_equal(row->created_gen, 6));
	assert_int_equal(generation_of(g), 6);
	registry_close(g);
}

#define HEAD "{\"kennel_registry\":1,\"generation\":9,\"mcp_servers\":[\n"
#define ROW  "{\"name\":\"ok\",\"command\":\"x\"},\n"

static const struct {
	const char *text, *why;
} refused_rows[] = {
    {"", "f:1: invalid JSON"},
    {"[]", "f:1: expected a JSON object"},
    {"{\"kennel_registry\":1,\n\"generation\":}", "f:2: invalid JSON"},
    {"{\"mcp_servers\":[]}", "f:1: no version"},
    {"{\"kennel_registry\":2}", "f:1: unknown version"},
    {"{\"kennel_registry\":\"1\"}", "f:1: no version"},
    {"{\"kennel_registry\":1,\"more\":1}", "f:1: unknown or duplicate member `more`"},
    {"{\"kennel_registry\":1,\"kennel_registry\":1}", "member `kennel_registry`"},
    {"{\"kennel_registry\":1,\"generation\":-1}", "f:1: invalid `generation`"},
    {"{\"kennel_registry\":1,\"generation\":1e3}", "f:1: invalid `generation`"},
    {"{\"kennel_registry\":1,\"mcp_servers\":{}}", "f:1: expected an array"},
    {HEAD "1]}", "f:2: expected an object"},
    {HEAD ROW "{\"name\":\"b\",\n\"secret\":1}]}",
	"f:4: unknown or duplicate member `secret`"},
    {HEAD ROW "{\"name\":\"b\",\"Command\":\"x\"}]}", "f:3: unknown"},
    {HEAD ROW "{\"name\":\"b\",\"command\":1}]}", "f:3: invalid `command`"},
    {HEAD ROW "{\"name\":\"b\",\"enabled\":1}]}", "f:3: invalid `enabled`"},
    {HEAD ROW "{\"command\":\"x\"}]}", "f:3: invalid `name`"},
    {HEAD ROW "{\"name\":\"b c\",\"command\":\"x\"}]}", "f:3: invalid `name`"},
    {HEAD ROW "{\"name\":\"b\"}]}", "f:3: `command` is missing"},
    {HEAD ROW "{\"name\":\"ok\",\"command\":\"x\"}]}", "f:3: duplicate server `ok`"},
    {HEAD "{\"name\":\"b\",\"command\":\"x\",\"url\":\"https://h\"}]}",
	"f:2: `command` and `args` are only allowed"},
    {HEAD "{\"name\":\"b\",\"url\":\"ftp://h\"}]}", "f:2: `url` must begin"},
    {HEAD "{\"name\":\"b\",\"transport\":\"sse\",\"command\":\"x\"}]}",
	"f:2: `transport` must be"},
    {HEAD "{\"name\":\"b\",\"command\":\"x\",\"auth_type\":\"bearer\"}]}",
	"f:2: `auth_type` bearer needs"},
    {HEAD "{\"name\":\"b\",\"command\":\"x\",\"args\":[1]}]}",
	"f:2: `args` must be an array"},
    {HEAD "{\"name\":\"b\",\"command\":\"x\",\"env\":{\"A\":{\"vault\":\"x\"}}}]}",
	"f:2: env.A: `vault` needs"},
    {HEAD "{\"name\":\"b\",\"command\":\"x\",\"env\":{\"A\":{\"file\":\"/x\","
	  "\"env\":\"Y\"}}}]}",
	"f:2: env.A: expected a reference"},
    {HEAD "{\"name\":\"b\",\"command\":\"x\",\"created_gen\":10}]}",
	"f:2: `created_gen` is above"},
    /* S4-07 C13: never a credential, and no message shows it */
    {HEAD "{\"name\":\"b\",\"command\":\"x\",\"env\":{\"A_TOKEN\":\"hunter2\"}}]}",
	"f:2: env.A_TOKEN looks like a secret"},
    {HEAD "{\"name\":\"b\",\"command\":\"x\",\"args\":[\"--token\",\"hunter2\"]}]}",
	"f:2: `args[1]` looks like a secret"},
    {HEAD "{\"name\":\"b\",\"command\":\"x\",\"note\":\"token=hunter2\"}]}",
	"f:2: `note` looks like a secret"},
    {HEAD "{\"name\":\"b\",\"url\":\"https://a:hunter2@h/\"}]}",
	"f:2: `url` looks like a secret"},
    {HEAD "{\"name\":\"b\",\"url\":\"https://h/"
	  "\",\"headers\":{\"X-Key\":\"hunter2\"}"
	  "}]}",
	"f:2: headers.X-Key looks like a secret"},
    {HEAD "{\"name\":\"b\",\"command\":\"x\",\"auth_type\":\"bearer\","
	  "\"auth\":\"hunter2\"}]}",
	"f:2: auth: expected a reference"},
};

static void
refused(void **state)
{
	struct registry *g = registry_of("bad");
	struct reason why;

	for (size_t i = 0; i < ARRAY_LEN(refused_rows); i++) {
		if (import(g, refused_rows[i].text, &why) >= 0)
			fail_msg("taken: %s", refused_rows[i].text);
		if (strstr(why.text, refused_rows[i].why) == NULL)
			fail_msg("%s: %s", refused_rows[i].text, why.text);
		assert_null(strstr(why.text, "hunter2"));
	}
	assert_int_equal(generation_of(g), 0);
	/* the control: the same row, without what was wrong */
	assert_int_equal(
	    import(g, HEAD ROW "{\"name\":\"b\",\"command\":\"x\"}]}", &why), 0);
	registry_close(g);
}

static void
corpus(void **state)
{
	assert_in_range(corpus_each("tests/fuzz/corpus/dump", corpus_input), 5, 1000);
}

int
main(void)
{
	const struct CMUnitTest all[] = {
	    cmocka_unit_test(round_trip),
	    cmocka_unit_test(empty),
	    cmocka_unit_test(older),
	    cmocka_unit_test(refused),
	    cmocka_unit_test(corpus),
	};

	return cmocka_run_group_tests(all, directory_make, directory_drop);
}
