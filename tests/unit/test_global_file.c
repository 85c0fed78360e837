/*
 * mcp-servers.json: which file counts, what is an error, and that no value of a secret
 * is kept or shown.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "shim/base/array.h"
#include "supervisor/json/json.h"
#include "supervisor/registry/global_file.h"
#include "tests/unit/corpus.h"
#include "tests/unit/registry_fixture.h"

static char etc[128], project[128], config[128];
static const struct global_places places = {etc, project, config};
static struct global_file file;
static struct reason why;

static void
put(const char *dir, const char *text)
{
	char below[64];

	(void)snprintf(below, sizeof(below), "%s/" GLOBAL_FILE, dir);
	file_write(below, text, strlen(text));
}

static void
drop(const char *dir)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s/" GLOBAL_FILE, registry_dir, dir);
	(void)unlink(path);
}

static int
make(void **state)
{
	static const char *const names[] = {"etc", "project", "config"};

	(void)directory_make(state);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char *path = i == 0 ? etc : i == 1 ? project : config;

		(void)snprintf(path, 128, "%s/%s", registry_dir, names[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	return 0;
}

static int
read_all(struct registry *g)
{
	global_file_free(&file);
	return global_file_read(&places, g, &file, &why);
}

static const char *
notes(void)
{
	return file.notes.len == 0 ? "" : buf_str(&file.notes);
}

#define ONE(name) "{\"mcpServers\":{\"" name "\":{\"command\":\"/bin/x\"}}}"

/* S2-06 S2-40 C34: /etc, then the project's if a person approved these bytes, then the
 * user's; the first counts alone. */
static void
search_order(void **state)
{
	struct registry *g = registry_of("r");
	char digest[FILE_DIGEST_LEN + 1], path[160];

	assert_int_equal(read_all(g), 0);
	assert_string_equal(file.path, "");
	assert_int_equal(file.rows.n, 0);

	put("config", ONE("user"));
	put("project", ONE("mine"));
	assert_int_equal(read_all(g), 0);
	assert_string_equal(file.rows.row[0].name, "user");
	assert_false(file.first);
	assert_string_equal(notes(), "");
	assert_non_null(file.skipped.text);
	assert_string_equal(file.skipped.text, ONE("mine"));
	assert_int_equal(file.skipped.len, strlen(ONE("mine")));
	assert_false(file.skipped.changed);
	assert_int_equal(read_all(NULL), 0);
	assert_string_equal(file.rows.row[0].name, "user");

	(void)snprintf(path, sizeof(path), "%s/" GLOBAL_FILE, project);
	global_file_free(&file);
	assert_int_equal(global_file_digest(path, digest, &file, &why), 0);
	assert_int_equal(registry_trust(g, digest, path), 0);
	assert_int_equal(read_all(g), 0);
	assert_int_equal(file.rows.n, 1);
	assert_string_equal(file.rows.row[0].name, "mine");
	assert_string_equal(file.rows.row[0].scope, "global");
	assert_int_equal(file.rows.row[0].source, FROM_FILE);
	assert_null(file.skipped.text);
	/* one byte differs: not what was approved */
	put("project", ONE("mine") " ");
	assert_int_equal(read_all(g), 0);
	assert_string_equal(file.rows.row[0].name, "user");
	assert_true(file.skipped.changed);
	assert_string_equal(file.skipped.path, path);

	put("etc", ONE("admin"));
	assert_int_equal(read_all(g), 0);
	assert_int_equal(file.rows.n, 1);
	assert_string_equal(file.rows.row[0].name, "admin");
	assert_true(file.first);
	/* an invalid one ends the search */
	put("etc", "{");
	assert_int_equal(read_all(g), -EINVAL);
	assert_int_equal(file.rows.n, 0);
	drop("etc");
	drop("project");
	drop("config");
	registry_close(g);
}

/* What a person is shown has each member that decides what would start. */
static void
shown(void **state)
{
	static const char text[] =
	    "{\"mcpServers\":{\"b\":{\"command\":\"/bin/x\",\"args\":[\"-y\",\"q\\\"\"],"
	    "\"env\":{\"N\":{\"vault\":\"a/b/c\"}}},\"a\":{\"url\":\"https://h/m\","
	    "\"headers\":{\"X-Y\":\"z\"},\"enabled\":false}}}";
	static const char servers[] =
	    "\"servers\":[{\"name\":\"a\",\"url\":\"https://h/m\",\"headers\":{\"X-Y\":"
	    "\"z\"},\"enabled\":false},{\"name\":\"b\",\"argv\":[\"/bin/x\",\"-y\","
	    "\"q\\\"\"],\"env\":{\"N\":{\"vault\":\"a/b/c\"}}}]}";
	char digest[FILE_DIGEST_LEN + 1];
	struct json_message m;
	struct buf out;

	(void)state;
	global_file_free(&file);
	assert_int_equal(
	    global_file_text("/p/f", text, strlen(text), digest, &file, &why), 0);
	buf_init(&out, 1u << 20);
	assert_int_equal(global_file_detail(&file, digest, true, &out), 0);
	assert_int_equal(json_scan(out.data, out.len, &m), 0);
	assert_non_null(strstr(buf_str(&out), servers));
	assert_non_null(strstr(buf_str(&out), digest));
	assert_non_null(strstr(buf_str(&out), "\"changed\":true"));
	buf_free(&out);
}

static void
invalid(void **state)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
	    {"", ":1:1: "},
	    {"{\n  \"mcpServers\": {\n    // no\n  }\n}", ":3:5: invalid JSON"},
	    {"{\"mcpServers\": {\"a\": {\"command\": \"x\",}}}", ":1:38: invalid JSON"},
	    {"{\"mcpServers\": {}\n", ":2:1: unexpected end"},
	    {"{\"mcpServers\": {}} x", "expected the end of the file"},
	    {"{\"mcpServers\": {}, \"mcpServers\": {}}", "duplicate member"},
	    {"{\"mcpServers\": {\"a\": \"\xff\"}}", "invalid UTF-8"},
	    {"{\"mcpServers\": {\"a\": hunter2}}", "invalid JSON"},
	    {"[]", "expected an object `mcpServers`"},
	    {"{}", "expected an object `mcpServers`"},
	    {"{\"mcpServers\": []}", "expected an object `mcpServers`"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		put("config", rows[i].text);
		if (read_all(NULL) != -EINVAL)
			fail_msg("taken: %s", rows[i].text);
		if (strstr(why.text, "/config/mcp-servers.json:") == NULL ||
		    strstr(why.text, rows[i].why) == NULL)
			fail_msg("%s: %s", rows[i].text, why.text);
		assert_null(strstr(why.text, "hunter2"));
	}
	put("config", ONE("x")); /* the control */
	assert_int_equal(read_all(NULL), 0);
	drop("config");
}

/* What is wrong with one server does not concern the others. */
static void
servers(void **state)
{
	static const struct {
		const char *server, *note; /* note NULL: it is valid */
	} rows[] = {
	    {"{\"command\":\"x\"}", NULL},
	    {"{\"type\":\"stdio\",\"command\":\"x\",\"args\":[]}", NULL},
	    {"{\"url\":\"https://h/\"}", NULL},
	    {"{\"type\":\"streamable-http\",\"url\":\"https://h/\"}", NULL},
	    {"{\"transport\":\"streamableHttp\",\"url\":\"http://h/\"}", NULL},
	    {"{\"command\":\"x\",\"env\":{\"T\":{\"vault\":\"a/b/c\"}}}", NULL},
	    {"{}", "expected one of `command` and `url`"},
	    {"{\"command\":\"x\",\"url\":\"https://h/\"}", "expected one of"},
	    {"{\"transport\":\"http\",\"command\":\"x\"}",
		"the transport http needs `url`"},
	    {"{\"type\":\"stdio\",\"url\":\"https://h/\"}", "stdio needs `command`"},
	    {"{\"type\":\"ws\",\"url\":\"https://h/\"}", "expected stdio or http"},
	    {"{\"command\":1}", "command: expected a program"},
	    {"{\"command\":\"x\",\"args\":\"a\"}", "args: expected an array"},
	    {"{\"command\":\"x\",\"args\":[1]}", "args: expected an array"},
	    {"{\"command\":\"x\",\"env\":[]}", "env: expected an object"},
	    {"{\"command\":\"x\",\"env\":{\"A\":1}}",
		"env: expected a text or a reference"},
	    {"{\"command\":\"x\",\"env\":{\"A B\":\"1\"}}", "env: a name may have"},
	    {"{\"command\":\"x\",\"headers\":{}}", "`headers` is not allowed"},
	    {"{\"url\":\"https://h/\",\"args\":[]}", "`args` is not allowed"},
	    {"{\"url\":\"ftp://h/\"}", "url: expected"},
	    {"{\"command\":\"x\",\"enabled\":1}", "enabled: expected true or false"},
	    {"7", "expected an object"},
	};
	char text[512];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		(void)snprintf(text, sizeof(text),
		    "{\"mcpServers\":{\"s\":%s,\"z\":{\"command\":\"/z\"}}}",
		    rows[i].server);
		put("config", text);
		assert_int_equal(read_all(NULL), 0);
		assert_string_equal(file.rows.row[file.rows.n - 1].name, "z");
		if (file.rows.n != (rows[i].note == NULL ? 2 : 1) ||
		    file.errors != (rows[i].note != NULL) ||
		    (rows[i].note != NULL && strstr(notes(), rows[i].note) == NULL))
			fail_msg("%s: %s", rows[i].server, notes());
	}
	drop("config");
}

/* S2-41 S2-42 S2-43 S2-44: the entries of other clients' files. */
static void
entries(void **state)
{
	put("config",
	    "{\"mcpServers\": {\"github\": {\"command\": \"npx\", \"args\": [\"-y\", "
	    "\"@modelcontextprotocol/server-github\"], \"env\": {\"GITHUB_TOKEN\": "
	    "\"${GITHUB_TOKEN}\"}}, \"remote\": {\"url\": \"https://h/mcp\", "
	    "\"headers\": "
	    "{\"X-Org\": \"k\"}, \"enabled\": false, \"autoApprove\": []}}}");
	assert_int_equal(read_all(NULL), 0);
	assert_int_equal(file.rows.n, 2);
	assert_string_equal(file.rows.row[0].command, "npx");
	assert_string_equal(file.rows.row[0].args_json,
	    "[\"-y\",\"@modelcontextprotocol/server-github\"]");
	assert_string_equal(
	    file.rows.row[0].env_json, "{\"GITHUB_TOKEN\":\"${GITHUB_TOKEN}\"}");
	assert_true(file.rows.row[0].enabled);
	assert_string_equal(file.rows.row[1].transport, "http");
	assert_string_equal(file.rows.row[1].url, "https://h/mcp");
	assert_string_equal(file.rows.row[1].headers_json, "{\"X-Org\":\"k\"}");
	assert_false(file.rows.row[1].enabled);
	assert_non_null(strstr(notes(), "unknown member `autoApprove` was ignored"));
	drop("config");
}

/* C13: a literal secret is not kept; the row is, disabled, and the message has the next
 * command. */
static void
literal_secrets(void **state)
{
	static const struct {
		const char *server, *note;
	} rows[] = {
	    {"{\"command\":\"x\",\"env\":{\"GITHUB_TOKEN\":\"hunter2\",\"A\":\"b\"}}",
		"kennel secret set mcp/my-srv/github-token"},
	    {"{\"command\":\"x\",\"args\":[\"a\",\"--api-key\",\"hunter2\",\"b\"]}",
		"kennel secret set mcp/my-srv/args"},
	    {"{\"url\":\"https://h/?token=hunter2\"}",
		"kennel secret set mcp/my-srv/url"},
	    {"{\"url\":\"https://h/\",\"headers\":{\"Authorization\":\"Bearer "
	     "hunter2\"}}",
		"kennel secret set mcp/my-srv/authorization"},
	    {"{\"command\":\"https://a:hunter2@h/\"}",
		"kennel secret set mcp/my-srv/command"},
	};
	const struct server_row *row;
	char text[512];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		(void)snprintf(text, sizeof(text), "{\"mcpServers\":{\"My_Srv\":%s}}",
		    rows[i].server);
		put("config", text);
		assert_int_equal(read_all(NULL), 0);
		assert_int_equal(file.rows.n, 1);
		row = &file.rows.row[0];
		assert_false(row->enabled);
		assert_string_equal(row->reason, "literal-secret");
		if (strstr(notes(), rows[i].note) == NULL)
			fail_msg("%s", notes());
		assert_null(strstr(notes(), "hunter2"));
		for (size_t k = 0; k < 5; k++) {
			const char *kept[] = {row->command, row->args_json, row->url,
			    row->headers_json, row->env_json};

			assert_true(
			    kept[k] == NULL || strstr(kept[k], "hunter2") == NULL);
		}
	}
	put("config",
	    "{\"mcpServers\":{\"s\":{\"command\":\"x\",\"env\":{\"A_TOKEN\":"
	    "\"hunter2\",\"A\":\"b\"},\"args\":[\"a\",\"--key\",\"hunter2\",\"b\"]}}}");
	assert_int_equal(read_all(NULL), 0);
	assert_string_equal(file.rows.row[0].env_json, "{\"A\":\"b\"}");
	assert_string_equal(file.rows.row[0].args_json, "[\"a\",\"--key\",\"b\"]");
	drop("config");
}

static void
old_transport(void **state)
{
	put("config",
	    "{\"mcpServers\":{\"s\":{\"type\":\"sse\",\"url\":\"https://h/\"}}}");
	assert_int_equal(read_all(NULL), 0);
	assert_non_null(
	    strstr(notes(), "the HTTP+SSE transport of 2024-11-05 is not supported"));
	assert_string_equal(file.rows.row[0].reason, "transport-unsupported");
	assert_false(file.rows.row[0].enabled);
	drop("config");
}

static void
files(void **state)
{
	char path[160];

	put("config", ONE("x"));
	(void)snprintf(path, sizeof(path), "%s/" GLOBAL_FILE, config);
	assert_int_equal(chmod(path, 0646), 0);
	assert_int_equal(read_all(NULL), -EPERM);
	assert_non_null(strstr(why.text, "world-writable"));
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(read_all(NULL), 0); /* the control */
	drop("config");
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(read_all(NULL), -EINVAL);
	assert_int_equal(rmdir(path), 0);
}

static void
corpus(void **state)
{
	assert_in_range(
	    corpus_each("tests/fuzz/corpus/global_file", corpus_input), 5, 1000);
	global_file_free(&file);
}

int
main(void)
{
	const struct CMUnitTest all[] = {
	    cmocka_unit_test(search_order),
	    cmocka_unit_test(shown),
	    cmocka_unit_test(invalid),
	    cmocka_unit_test(servers),
	    cmocka_unit_test(entries),
	    cmocka_unit_test(literal_secrets),
	    cmocka_unit_test(old_transport),
	    cmocka_unit_test(files),
	    cmocka_unit_test(corpus),
	};

	return cmocka_run_group_tests(all, make, directory_drop);
}
