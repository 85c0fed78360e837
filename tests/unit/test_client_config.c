/*
 * Configurations of clients: what is found in each dialect, and that an edit changes
 * what it must and nothing else.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <time.h>

#include "shim/base/array.h"
#include "supervisor/import/edit.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/corpus.h"

static struct config_tree tree;
static struct entries found;

/* The file after every command became kennel's; the caller frees it. */
static char *
edit(enum dialect dialect, const char *key, const char *text)
{
	struct client_file file = {.dialect = dialect, .key = key, .projects = true};
	struct edits e = {.n = 0};
	struct buf after;
	char *copy;

	buf_init(&after, 1u << 20);
	assert_int_equal(config_parse(dialect, text, strlen(text), &tree), 0);
	assert_int_equal(entries_find(&tree, &file, &found), 0);
	for (size_t i = 0; i < found.n; i++)
		if (entry_is_server(&found.entry[i]))
			assert_int_equal(edits_entry(&e, &tree, &found.entry[i], "n"), 0);
	assert_int_equal(edits_apply(&e, &tree, &after), 0);
	copy = strdup(buf_str(&after));
	edits_free(&e);
	buf_free(&after);
	entries_free(&found);
	config_free(&tree);
	return copy;
}

static const struct row {
	enum dialect dialect;
	const char *key, *before, *after;
} rows[] = {
    {DIALECT_JSON, "mcpServers", "{\"mcpServers\":{\"a\":{\"command\":\"x\"}}}",
	"{\"mcpServers\":{\"a\":{\"command\":\"kennel\", \"args\": [\"run\", "
	"\"n\"]}}}"},
    {DIALECT_JSON, "mcp",
	"\xef\xbb\xbf{\"mcp\": {\"a\": {\"command\": [\"x\", \"-y\"], // c\r\n"
	"  \"environment\": {\"A\": \"b\"},\r\n},},}\r\n",
	"\xef\xbb\xbf{\"mcp\": {\"a\": {\"command\": [\"kennel\", \"run\", \"n\"], // "
	"c\r\n"
	"  \"environment\": {\"A\": \"b\"},\r\n},},}\r\n"},
    {DIALECT_JSON, "s",
	"{\"s\": {\"a\": {\"command\": {\"path\": \"x\", \"args\": [], "
	"\"env\": {\"T_TOKEN\": \"k12345yz\"}}}}}",
	"{\"s\": {\"a\": {\"command\": {\"path\": \"kennel\", \"args\": [\"run\", "
	"\"n\"], \"env\": {}}}}}"},
    /* the first, the last and the only secret; a trailing comma stays one */
    {DIALECT_JSON, "s",
	"{\"s\": {\"a\": {\"command\": \"x\", \"args\": [], \"env\": {\n"
	"    \"A_KEY\": \"k12345yz\",\n    \"B\": \"c\", /* of b */\n"
	"    \"D_KEY\": \"k67890yz\"\n  }}}}",
	"{\"s\": {\"a\": {\"command\": \"kennel\", \"args\": [\"run\", \"n\"], \"env\": "
	"{\n"
	"    \"B\": \"c\" /* of b */\n  }}}}"},
    {DIALECT_JSON, "s",
	"{\"s\": {\"a\": {\"command\": \"x\", \"args\": [], \"env\": "
	"{\"B\": \"c\", \"D_KEY\": \"k67890yz\",}}}}",
	"{\"s\": {\"a\": {\"command\": \"kennel\", \"args\": [\"run\", \"n\"], \"env\": "
	"{\"B\": \"c\", }}}}"},
    /* a URL: its headers and its type go, and nothing else */
    {DIALECT_JSON, "s", "{\"s\": {\"a\": {\"url\": \"https://x.example/\"}}}",
	"{\"s\": {\"a\": {\"command\": \"kennel\", \"args\": [\"run\", \"n\"]}}}"},
    {DIALECT_JSON, "s",
	"{\"s\": {\"a\": {\"type\": \"http\", \"headers\": {\"Authorization\": \"Bearer "
	"k12345yz\"}, \"url\": \"https://x.example/\", \"b\": 1}}}",
	"{\"s\": {\"a\": {\"command\": \"kennel\", \"args\": [\"run\", \"n\"], \"b\": "
	"1}}}"},
    {DIALECT_JSON, "s",
	"{\"s\": {\"a\": {\n  \"b\": 1, // b\r\n  \"serverUrl\": \"https://x.example/\", "
	"// u\n  \"headers\": {\n    \"X-Key\": \"k12345yz\",\n  },\n  \"type\": "
	"\"http\"\n}}}",
	"{\"s\": {\"a\": {\n  \"b\": 1, // b\r\n  \"command\": \"kennel\",\n  \"args\": "
	"[\"run\", \"n\"] // u\n}}}"},
    {DIALECT_JSON, "mcp",
	"{\"mcp\": {\"a\": {\"type\": \"remote\", \"url\": \"https://x.example/\", "
	"\"headers\": {}, \"enabled\": true}}}",
	"{\"mcp\": {\"a\": {\"type\": \"local\", \"command\": [\"kennel\", \"run\", "
	"\"n\"], \"enabled\": true}}}"},
    {DIALECT_TOML, "m",
	"[m.a]\n# c\nurl = 'https://x.example/' # u\nhttp_headers = { \"X-Key\" = "
	"\"k12345yz\" }\nb = 1\n",
	"[m.a]\n# c\ncommand = \"kennel\"\nargs = [\"run\", \"n\"] # u\nb = 1\n"},
    {DIALECT_TOML, "m",
	"[m.a]\r\n  url = 'https://x.example/'\r\n\r\n  [m.a.http_headers] # h\r\n  "
	"X-Key = \"k12345yz\"\r\n  X-Team = \"t\"\r\n\r\n[m.b]\r\nurl = 'x'\r\n",
	"[m.a]\r\n  command = \"kennel\"\r\n  args = [\"run\", "
	"\"n\"]\r\n\r\n\r\n[m.b]\r\nurl = 'x'\r\n"},
    {DIALECT_TOML, "m",
	"[m.a]\nhttp_headers.X-Key = \"k12345yz\"\nurl = "
	"'https://x.example/'\nhttp_headers.X-Team = \"t\"\n",
	"[m.a]\ncommand = \"kennel\"\nargs = [\"run\", \"n\"]\n"},
    {DIALECT_TOML, "m",
	"m.a = {url = \"https://x.example/\", http_headers = {X-Key = \"k12345yz\"}}",
	"m.a = {command = \"kennel\", args = [\"run\", \"n\"]}"},
    {DIALECT_TOML, "m", "m.a.url = \"https://x.example/\"\n",
	"m.a.url = \"https://x.example/\"\n"},
    {DIALECT_YAML, "extensions",
	"extensions:\n  b:\n    type: streamable_http # t\n    uri: "
	"https://x.example/mcp # u\n    headers:\n      X-Key: \"k12345yz\"\n    "
	"timeout: "
	"3\n",
	"extensions:\n  b:\n    type: stdio # t\n    cmd: \"kennel\"\n    args: "
	"[\"run\", \"n\"] # u\n    timeout: 3\n"},
    {DIALECT_YAML, "extensions",
	"extensions:\n  b: {uri: \"https://x.example/\", headers: {X-Key: abxde123}}\n",
	"extensions:\n  b: {cmd: \"kennel\", args: [\"run\", \"n\"]}\n"},
    /* Goose reads cmd and envs, and no other spelling */
    {DIALECT_YAML, "extensions",
	"extensions:\n  b:\n    command: y\n    cmd: x\n    args: []\n    env: {B: c}\n"
	"    envs: {A_KEY: k12345yz}\n  c:\n    command: x\n",
	"extensions:\n  b:\n    command: y\n    cmd: \"kennel\"\n    args: [\"run\", "
	"\"n\"]\n    env: {B: c}\n    envs: {}\n  c:\n    command: x\n"},
    {DIALECT_JSON, "mcp",
	"{\"mcp\": {\"a\": {\"command\": [\"x\"], \"env\": {\"B\": \"c\"}, "
	"\"environment\": {\"A_KEY\": \"k12345yz\"}}}}",
	"{\"mcp\": {\"a\": {\"command\": [\"x\"], \"env\": {\"B\": \"c\"}, "
	"\"environment\": {\"A_KEY\": \"k12345yz\"}}}}"},
    /* what the client fills in, and kennel itself, are left */
    {DIALECT_JSON, "s",
	"{\"s\": {\"a\": {\"url\": \"https://${X}\"}, \"b\": {\"command\": \"kennel\", "
	"\"args\": [\"run\", \"b\"]}, \"c\": {\"command\": \"${X}\"}}}",
	"{\"s\": {\"a\": {\"url\": \"https://${X}\"}, \"b\": {\"command\": \"kennel\", "
	"\"args\": [\"run\", \"b\"]}, \"c\": {\"command\": \"${X}\"}}}"},
    {DIALECT_JSON, "s",
	"{\"projects\": {\"/p\": {\"s\": {\"a\": {\"command\": \"x\", \"args\": [], "
	"\"env\": {\"A_KEY\": \"${A_KEY}\"}}}}}}",
	"{\"projects\": {\"/p\": {\"s\": {\"a\": {\"command\": \"kennel\", "
	"\"args\": [\"run\", \"n\"], \"env\": {\"A_KEY\": \"${A_KEY}\"}}}}}}"},
    {DIALECT_TOML, "m",
	"# top\r\n[m.\"a b\"]\r\ncommand = 'x' # c\r\n  [m.\"a b\".env]\r\n"
	"  A_KEY = \"k12345yz\" # mine\r\n  B = '''\r\nc'''\r\n[[z]]\r\nq = 1\r\n",
	"# top\r\n[m.\"a b\"]\r\ncommand = \"kennel\"\r\nargs = [\"run\", \"n\"] # c\r\n"
	"  [m.\"a b\".env]\r\n  B = '''\r\nc'''\r\n[[z]]\r\nq = 1\r\n"},
    {DIALECT_TOML, "m",
	"m.a = {command = \"x\", args = [\"y\", # c\n], env = {B = \"c\", A_KEY = "
	"\"k12345yz\"}}",
	"m.a = {command = \"kennel\", args = [\"run\", \"n\"], env = {B = \"c\"}}"},
    {DIALECT_YAML, "extensions",
	"a: [1,\n  2]\nextensions:\n  b:\n    cmd: x\n    args:\n    - -y # c\n"
	"    - 'z'\n    envs:\n      A_KEY: \"k12345yz\"\n      B: c\n    timeout: 3\n",
	"a: [1,\n  2]\nextensions:\n  b:\n    cmd: \"kennel\"\n    args: [\"run\", "
	"\"n\"]\n"
	"    envs:\n      B: c\n    timeout: 3\n"},
    {DIALECT_YAML, "extensions",
	"extensions:\n  b:\n    cmd: x\n    args: []\n    envs:\n      A_KEY: k12345yz\n",
	"extensions:\n  b:\n    cmd: \"kennel\"\n    args: [\"run\", \"n\"]\n    envs: "
	"{}\n"},
    {DIALECT_YAML, "extensions",
	"extensions:\n  b:\n    cmd:\n      x\n    args: [\n    -y,\n    z\n    ]\n    "
	"description: a\n      b\n    envs:\n      A_KEY: \"k12345\n        yz\"\n"
	"      B_KEY: |\n        k12345yz\n\n      C: c\n",
	"extensions:\n  b:\n    cmd:\n      \"kennel\"\n    args: [\"run\", \"n\"]\n    "
	"description: a\n      b\n    envs:\n\n      C: c\n"},
    {DIALECT_YAML, "extensions",
	"extensions:\n  b:\n    cmd: x\n    args:\n    - |-\n      y\n    - z\n      z\n "
	"   "
	"tools:\n    - name: t\n      text: >\n        u\n    -\n      name: v\n    - - "
	"w\n      - x\n",
	"extensions:\n  b:\n    cmd: \"kennel\"\n    args: [\"run\", \"n\"]\n    "
	"tools:\n    - name: t\n      text: >\n        u\n    -\n      name: v\n    - - "
	"w\n      - x\n"},
    {DIALECT_YAML, "extensions",
	"extensions:\n  b: {cmd: x, envs: {A_KEY: abxde123, B: c}}\n",
	"extensions:\n  b: {cmd: \"kennel\", args: [\"run\", \"n\"], envs: {B: c}}\n"},
};

static void
edits(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char *after = edit(rows[i].dialect, rows[i].key, rows[i].before);

		assert_string_equal(after, rows[i].after);
		free(after);
	}
}

/* A second edit finds nothing to do. */
static void
again(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char *after = edit(rows[i].dialect, rows[i].key, rows[i].after);

		assert_string_equal(after, rows[i].after);
		free(after);
	}
}

static void
refused(void **state)
{
	static const struct {
		enum dialect dialect;
		const char *text;
		size_t line;
	} row[] = {
	    {DIALECT_JSON, "{\"a\": 1 \"b\": 2}", 1},
	    {DIALECT_JSON, "{\"a\": \"b\n\"}", 1},
	    {DIALECT_JSON, "{\n/* ", 2},
	    {DIALECT_JSON, "{} x", 1},
	    {DIALECT_JSON, "[]", 1},
	    {DIALECT_JSON, "", 1},
	    {DIALECT_JSON, "{\n\"a\\ud800\": 1}", 2},
	    {DIALECT_YAML, "\"a\\ud800\": 1\n", 1},
	    {DIALECT_TOML, "a = {b.c = 1}\n", 1},
	    {DIALECT_TOML, "a = \"b\n\"\n", 1},
	    {DIALECT_TOML, "[a\n", 1},
	    {DIALECT_TOML, "a = 1 2 [\n", 1},
	    {DIALECT_YAML, "extensions:\n  a: &b\n    cmd: c\n", 2},
	    {DIALECT_YAML, "extensions:\n  a: *b\n", 2},
	    {DIALECT_YAML, "extensions:\n  a: !t b\n", 2},
	    {DIALECT_YAML, "extensions:\n  a: b # d\n    c\n", 3},
	    {DIALECT_YAML, "extensions:\n  a: b\n    # d\n    c\n", 4},
	    {DIALECT_YAML, "extensions:\n  a: b\n    c: d\n", 3},
	    {DIALECT_YAML, "extensions:\n  a: [b,\n    c\n", 3},
	    {DIALECT_YAML, "extensions:\n  a: [b,\n---\n    c]\n", 2},
	    {DIALECT_YAML, "extensions:\n  a: {b,c: d}\n", 2},
	    {DIALECT_YAML, "extensions:\n  a: \"b\n  c\"\n", 2},
	    {DIALECT_YAML, "extensions:\n  \"a\n    c\": b\n", 3},
	    {DIALECT_YAML, "a: \"b\nextensions:\n  c: d\"\n", 1},
	    {DIALECT_YAML, "extensions:\n  a: |2x\n    b\n", 2},
	    {DIALECT_YAML, "extensions:\n  a: |\n      \n    b\n", 4},
	    {DIALECT_YAML, "extensions:\n  a: |4\n     b\n    c\n", 3},
	    {DIALECT_YAML, "extensions:\n  a: - b\n", 2},
	    {DIALECT_YAML, "a: b # \rextensions:\n", 1},
	    {DIALECT_YAML,
		"a: b # \xe2\x80\xa8"
		"extensions:\n",
		1},
	    {DIALECT_YAML, "extensions:\n\ta: b\n", 2},
	    {DIALECT_YAML, "extensions:\n  a: b: c\n", 2},
	    {DIALECT_YAML, "a: b\n---\nc: d\n", 2},
	};

	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		assert_int_equal(
		    config_parse(row[i].dialect, row[i].text, strlen(row[i].text), &tree),
		    -EBADMSG);
		assert_int_equal(tree.line, row[i].line);
		assert_true(tree.why[0] != '\0');
		config_free(&tree);
	}
}

static const char *const unfit[] = {
    "{\"command\": \"x\", \"command\": \"y\"}",
    "{\"command\": \"x\", \"env\": {\"A\": \"b\"}, \"env\": {}}",
    "{\"command\": \"x\", \"env\": {\"A\": \"b\", \"A\": \"c\"}}",
    "{\"command\": \"x\", \"env\": {\"A B\": \"c\"}}",
    "{\"command\": \"x\", \"env\": {\"A\": [1]}}",
    "{\"command\": \"x\", \"env\": {\"A\": \"\\u0000\"}}",
    "{\"command\": \"x\", \"args\": \"y\"}",
    "{\"command\": \"x\", \"args\": [1]}",
    "{\"command\": \"x\", \"args\": [\"--token\", \"hunter2hunter2\"]}",
    "{\"command\": \"x\", \"envFile\": \".env\"}",
    "{\"command\": \"\"}",
    "{}",
    "[]",
    /* a URL that a policy cannot have, or a header that it cannot send */
    "{\"url\": 1}",
    "{\"url\": \"ws://x.example/\"}",
    "{\"url\": \"unix:///s\"}",
    "{\"url\": \"http://x.example/\"}",
    "{\"url\": \"https://u:p@x.example/\"}",
    "{\"url\": \"https://x.example/sse\"}",
    "{\"url\": \"https://x.example/$KEY\"}",
    "{\"url\": \"https://x.example/?api_key=k12345yz\"}",
    "{\"url\": "
    "\"https://x.example/ghp_0123456789abcdefghijABCDEFGHIJ012345/mcp\"}",
    "{\"url\": \"https://x.example/\", \"serverUrl\": \"https://x.example/\"}",
    "{\"url\": \"https://x.example/\", \"url\": \"https://x.example/\"}",
    "{\"url\": \"https://x.example/\", \"command\": \"x\"}",
    "{\"url\": \"https://x.example/\", \"type\": \"sse\"}",
    "{\"url\": \"https://x.example/\", \"type\": \"ws\"}",
    "{\"url\": \"https://x.example/\", \"oauth\": {}}",
    "{\"url\": \"https://x.example/\", \"bearer_token_env_var\": \"A\"}",
    "{\"url\": \"https://x.example/\", \"headersHelper\": \"a\"}",
    "{\"url\": \"https://x.example/\", \"headers\": \"a\"}",
    "{\"url\": \"https://x.example/\", \"headers\": {}, \"headers\": {}}",
    "{\"url\": \"https://x.example/\", \"headers\": {\"A\": 1}}",
    "{\"url\": \"https://x.example/\", \"headers\": {\"A\": \"\"}}",
    "{\"url\": \"https://x.example/\", \"headers\": {\"A\": \"${B}\"}}",
    "{\"url\": \"https://x.example/\", \"headers\": {\"A\": \"{env:B}\"}}",
    "{\"url\": \"https://x.example/\", \"headers\": {\"A\": \"b\", \"a\": "
    "\"c\"}}",
    "{\"url\": \"https://x.example/\", \"headers\": {\"Accept\": \"b\"}}",
    "{\"url\": \"https://x.example/\", \"headers\": {\"Mcp-X\": \"b\"}}",
    "{\"url\": \"https://x.example/\", \"headers\": {\"A B\": \"b\"}}",
    "{\"url\": \"https://x.example/\", \"headers\": {\"Authorization\": \"Basic "
    "k12345yz\"}}",
    "{\"url\": \"https://x.example/\", \"headers\": {\"Authorization\": \"Bearer "
    "\"}}",
    "{\"url\": \"https://x.example/\", \"headers\": {\"X-Key\": \"k12345yz\", "
    "\"Authorization\": \"Bearer k12345yz\"}}",
};

/* An entry that is not understood is not started by kennel, and says why. */
/* A text of YAML over lines is the one that libyaml reads; what is after it is found. */
static void
yaml_texts(void **state)
{
	static const struct {
		const char *value, *text; /* text NULL: none that kennel reads */
	} row[] = {
	    {" Two lines\n      of text", "Two lines of text"},
	    {" a\n\n\n      b \n\t\n      c # d", "a\n\nb\nc"},
	    {"\n      on the next # c", "on the next"},
	    {"\n      'a: b'", "a: b"},
	    {" a\r\n      b", "a b"},
	    {" \"a \n\n      b\\\n        \\  c\\n\n      d\"", "a\nb  c\n d"},
	    {" 'it''s \n      ''b''\n      '", "it's 'b' "},
	    {" \"a\\a\"", NULL},
	    {" |\n      a\n       b\n\n      # c\n\n", "a\n b\n\n# c\n"},
	    {" |-2 # d\n        a\n       b\n", "  a\n b"},
	    {" |+\n      a\n", "a\n\n"},
	    {" >\n      a\n      b\n\n      c\n       d\n      e\n", "a b\nc\n d\ne\n"},
	    {" >-\n\n      a\n\n\n      b\n", "\na\n\nb"},
	    {" >-", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		char file[256];
		size_t at = 0;

		(void)snprintf(file, sizeof(file),
		    "extensions:\n  x:\n    t:%s\n    u: v\n", row[i].value);
		assert_int_equal(
		    config_parse(DIALECT_YAML, file, strlen(file), &tree), 0);
		assert_int_equal(config_get(&tree, 0, "extensions", &at), CONFIG_FOUND);
		assert_int_equal(config_get(&tree, at, "x", &at), CONFIG_FOUND);
		assert_string_equal(config_text(&tree, at, "u"), "v");
		if (row[i].text == NULL)
			assert_null(config_text(&tree, at, "t"));
		else
			assert_string_equal(config_text(&tree, at, "t"), row[i].text);
		config_free(&tree);
	}
}

static void
not_understood(void **state)
{
	static const struct client_file file = {.dialect = DIALECT_JSON, .key = "s"};
	char text[256];

	for (size_t i = 0; i < ARRAY_LEN(unfit); i++) {
		(void)snprintf(text, sizeof(text), "{\"s\": {\"a\": %s}}", unfit[i]);
		assert_int_equal(
		    config_parse(DIALECT_JSON, text, strlen(text), &tree), 0);
		assert_int_equal(entries_find(&tree, &file, &found), 0);
		assert_int_equal(found.n, 1);
		assert_int_equal(found.entry[0].kind, ENTRY_OTHER);
		assert_true(entry_risk(&found.entry[0])[0] != '\0');
		entries_free(&found);
		config_free(&tree);
	}
}

/* The diff of the first entry; the caller frees it. */
static char *
diff(enum dialect dialect, const char *key, const char *text)
{
	struct client_file file = {.dialect = dialect, .key = key};
	struct edits e = {.n = 0};
	struct buf after;
	char *shown = NULL;
	size_t len = 0;
	FILE *out;

	buf_init(&after, 1u << 20);
	assert_int_equal(config_parse(dialect, text, strlen(text), &tree), 0);
	assert_int_equal(entries_find(&tree, &file, &found), 0);
	assert_int_equal(edits_entry(&e, &tree, &found.entry[0], "n"), 0);
	assert_int_equal(edits_apply(&e, &tree, &after), 0);
	out = open_memstream(&shown, &len);
	assert_non_null(out);
	edits_diff(&e, &tree, out);
	assert_int_equal(fclose(out), 0);
	edits_free(&e);
	buf_free(&after);
	entries_free(&found);
	config_free(&tree);
	return shown;
}

/* A diff shows no secret of the lines that it shows: also not one of another entry, of
 * a list, or of a comment. */
static void
redacted(void **state)
{
	static const struct {
		enum dialect dialect;
		const char *key, *text, *shown[2];
	} row[] = {
	    {DIALECT_JSON, "s",
		"{\"s\": {\"a\": {\"command\": \"x\", \"env\": {\"A_KEY\": "
		"\"one12345\"}}, "
		"\"b\": {\"url\": \"x\", \"headers\": {\"Authorization\": "
		"\"two12345\"}}, "
		"\"c\": {\"args\": [\"--token\", \"three12345\"]}, "
		"\"d\": {\"tokens\": [\"k12345yz\", 12345, {\"x\": \"k12345yz\"}], "
		"\"e\": "
		"1}}}",
		{"\"A_KEY\": [secret]", "[[secret], [secret], {\"x\": [secret]}], \"e\": "
					"1"}},
	    {DIALECT_JSON, "s",
		"{\"s\": { /* k12345yz\n k12345yz */ \"a\" /* k12345yz */: /* k12345yz "
		"*/ "
		"{\"command\": \"x\", // \"TOKEN\": \"k12345yz\"\n"
		"\"args\": [\"-u\", // k12345yz\n \"-v\" /* k12345yz */]}}}",
		{"\"command\": \"x\", [comment]", "\"-u\", [comment]"}},
	    {DIALECT_JSON, "s",
		"{\"s\": {\"ghp_0123456789abcdefghijABCDEFGHIJ012345\": {\"command\": "
		"\"x\"}}}",
		{"[secret] {\"command\": \"x\"}", "[secret] {\"command\": \"kennel\""}},
	    {DIALECT_TOML, "m",
		"[m.a]\ncommand = 'x' # k12345yz\nargs = [\"-u\", # k12345yz\n# "
		"\"k12345yz\"\n]\n"
		"env = {B = \"c\", A_KEY = \"k12345yz\"} # A_KEY = \"k12345yz\"\n",
		{"command = 'x' [comment]", "A_KEY = [secret]} [comment]"}},
	    {DIALECT_YAML, "extensions",
		"extensions:\n  b: # k12345yz\n    cmd: x # k12345yz\n    args: # "
		"k12345yz\n"
		"    - -y # k12345yz\n# k12345yz\n    - 'z'\n    envs:\n"
		"      A_KEY: |  # k12345yz\n        k12345yz\n",
		{"cmd: x [comment]", "- -y [comment]"}},
	    {DIALECT_JSON, "s",
		"{\"s\": {\"a\": {\n\"url\": \"https://x.example/\",\n\"headers\": "
		"{\"Authorization\": \"Bearer k12345yz\", \"X-Team\": \"t\"}}}}",
		{"\"url\": \"https://x.example/\"",
		    "{\"Authorization\": [secret], \"X-Team\": \"t\"}"}},
	};

	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		char *shown = diff(row[i].dialect, row[i].key, row[i].text);

		assert_null(strstr(shown, "k12345yz"));
		for (size_t k = 0; k < ARRAY_LEN(row[i].shown); k++)
			assert_non_null(strstr(shown, row[i].shown[k]));
		assert_non_null(strstr(shown, "\"kennel\""));
		free(shown);
	}
}

/* A key that is there twice: its line, how many servers are found, and how many of them
 * are refused for what is in them. */
static const struct {
	enum dialect dialect;
	const char *key, *text;
	size_t line, n, own;
} duplicates[] = {
    {DIALECT_JSON, "s", "{\"s\": {},\n\"s\": {\"x\": {\"command\": \"a\"}}}", 2, 1, 0},
    {DIALECT_JSON, "s", "{\"s\": {\"x\": {\"command\": \"a\"}},\n\"\\u0073\": {}}", 2, 1,
	0},
    {DIALECT_JSON, "s",
	"{\"s\": {\"x\": {\"command\": \"kennel\"},\n\"x\": {\"url\": \"y\"}}}", 2, 2, 0},
    {DIALECT_JSON, "s",
	"{\"s\": {\"x\": {\"command\": \"kennel\",\n\"command\": \"b\"},"
	"\"y\": {\"command\": \"c\"}}}",
	2, 2, 1},
    {DIALECT_JSON, "s",
	"{\"s\": {\"x\": {\"command\": \"a\", \"envFile\": 1,\n\"envFile\": 1}}}", 2, 1,
	1},
    {DIALECT_JSON, "s",
	"{\"s\": {\"x\": {\"command\": \"a\", \"more\": [{\"b\": 1,\n\"b\": "
	"2}]}}}",
	2, 1, 1},
    {DIALECT_JSON, "s",
	"{\"s\": {\"x\": {\"command\": \"a\"}}, \"t\": {\"u\":1,\n\"u\":1}}", 2, 1, 0},
    {DIALECT_JSON, "s",
	"{\"projects\": {\"/p\": {\"s\": {\"x\": {\"command\": "
	"\"a\"}}}},\n\"projects\": "
	"{\"/p\": {\"s\": {\"y\": {\"command\": \"b\"}}}}}",
	2, 2, 0},
    {DIALECT_JSON, "s",
	"{\"projects\": {\"/p\": {\"s\": {\"x\": {\"command\": \"a\"}}},\n"
	"\"/p\": {\"s\": {\"y\": {\"command\": \"b\"}}}}}",
	2, 2, 0},
    {DIALECT_TOML, "m", "[m.x]\ncommand = \"a\"\ncommand = \"b\"\n", 3, 1, 1},
    {DIALECT_TOML, "m", "m = {}\n[m.x]\ncommand = \"a\"\n", 2, 1, 0},
    {DIALECT_TOML, "m", "[m.x]\ncommand = \"a\"\n[m.\"\\u0078\"]\nargs = []\n", 3, 1, 0},
    {DIALECT_TOML, "m", "m.x.command = \"a\"\nm.x = {command = \"b\"}\n", 2, 2, 0},
    {DIALECT_YAML, "extensions", "extensions: {}\nextensions:\n  x:\n    cmd: a\n", 2, 1,
	0},
    {DIALECT_YAML, "extensions",
	"extensions:\n  x:\n    cmd: a\n\"extensi\\u006fns\": {}\n", 4, 1, 0},
    {DIALECT_YAML, "extensions", "extensions:\n  x:\n    cmd: a\n    'cmd': b\n", 4, 1,
	1},
    {DIALECT_YAML, "extensions", "extensions: {x: {cmd: a,\"cmd\": b}}\n", 1, 1, 1},
    {DIALECT_YAML, "extensions", "other: 1\nother: 2\nextensions:\n  x:\n    cmd: a\n", 2,
	1, 0},
};

static void
twice(void **state)
{
	struct client_file file = {.projects = true};

	for (size_t i = 0; i < ARRAY_LEN(duplicates); i++) {
		size_t own = 0;

		file.dialect = duplicates[i].dialect;
		file.key = duplicates[i].key;
		assert_int_equal(config_parse(duplicates[i].dialect, duplicates[i].text,
				     strlen(duplicates[i].text), &tree),
		    0);
		assert_int_not_equal(tree.twice, TREE_NONE);
		assert_int_equal(config_line(&tree, tree.twice), duplicates[i].line);
		assert_int_equal(entries_find(&tree, &file, &found), 0);
		assert_int_equal(found.n, duplicates[i].n);
		for (size_t k = 0; k < found.n; k++) {
			assert_int_equal(found.entry[k].kind, ENTRY_OTHER);
			own += strcmp(found.entry[k].why, "it has a duplicate key") == 0;
		}
		assert_int_equal(own, duplicates[i].own);
		entries_free(&found);
		config_free(&tree);
	}
}

/* The control: the same keys in different objects, or a table that lines reopen. */
static void
once(void **state)
{
	static const struct {
		enum dialect dialect;
		const char *text;
	} row[] = {
	    {DIALECT_JSON,
		"{\"a\": {\"b\": 1}, \"b\": {\"b\": 1, \"B\": 2}, \"c\": [{\"d\": 1}, "
		"{\"d\": 1}]}"},
	    {DIALECT_TOML,
		"a.b = 1\n[c.d]\ne = 1\n[c]\nf.g = 1\nf.h = 1\n[[i]]\nj = 1\n[[i]]\nj = "
		"1\n"},
	    {DIALECT_YAML, "a: 1\nextensions:\n  b:\n    c: 1\n  d:\n    c: 1\n"},
	};

	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		assert_int_equal(
		    config_parse(row[i].dialect, row[i].text, strlen(row[i].text), &tree),
		    0);
		assert_int_equal(tree.twice, TREE_NONE);
		config_free(&tree);
	}
}

/* The key in quotes is the same key. */
static void
quoted_top(void **state)
{
	static const char *const text[] = {"\"extensions\":\n  x:\n    cmd: a\n",
	    "'extensions':\n  x:\n    cmd: a\n", "extensions :\n  x:\n    cmd: a\n",
	    "a: 1\n\"extensi\\u006fns\" : {x: {cmd: a}}\n"};
	static const struct client_file file = {
	    .dialect = DIALECT_YAML, .key = "extensions"};

	for (size_t i = 0; i < ARRAY_LEN(text); i++) {
		assert_int_equal(
		    config_parse(DIALECT_YAML, text[i], strlen(text[i]), &tree), 0);
		assert_int_equal(entries_find(&tree, &file, &found), 0);
		assert_int_equal(found.n, 1);
		assert_int_equal(found.entry[0].kind, ENTRY_COMMAND);
		entries_free(&found);
		config_free(&tree);
	}
}

/* A table of TOML with this many keys takes a fraction of a second of a processor. With
 * a search of all keys for each one, it would take minutes. */
static void
many_keys(void **state)
{
	enum { KEYS = 200000, KEY_LEN = 16 };
	char *text = malloc(KEYS * KEY_LEN + 1);
	size_t len = 0;
	clock_t start = clock();

	assert_non_null(text);
	for (int i = 0; i < KEYS; i++)
		len += (size_t)snprintf(text + len, KEY_LEN, "k%07d = 1\n", i);
	assert_int_equal(config_parse(DIALECT_TOML, text, len, &tree), 0);
	assert_int_equal(tree.n, KEYS + 1);
	config_free(&tree);
	assert_true((clock() - start) / CLOCKS_PER_SEC < 20);
	/* and a key that is there twice is found */
	memcpy(text + len - 13, text, 8);
	assert_int_equal(config_parse(DIALECT_TOML, text, len, &tree), 0);
	assert_int_equal(tree.twice, len - 13);
	config_free(&tree);
	free(text);
}

static void
paths(void **state)
{
	const struct client_file *file;
	char path[PATH_MAX];
	size_t n;

	file = client_files(&n);
	assert_int_equal(setenv("CODEX_HOME", "/elsewhere", 1), 0);
	assert_int_equal(unsetenv("XDG_CONFIG_HOME"), 0);
	for (size_t i = 0; i < n; i++) {
		assert_true(client_known(file[i].client) || !client_imported(&file[i]));
		assert_int_equal(client_path(&file[i], "/h", "/p", path), 0);
		if (file[i].variable != NULL &&
		    strcmp(file[i].variable, "CODEX_HOME") == 0)
			assert_memory_equal(path, "/elsewhere/", 11);
		else if (file[i].scope == SCOPE_USER)
			assert_memory_equal(path, "/h/", 3);
		else
			assert_memory_equal(
			    path, file[i].scope == SCOPE_PROJECT ? "/p/" : "/etc", 3);
		assert_null(strchr(path, '|'));
	}
	assert_false(client_known("nobody"));
}

static void
corpus(void **state)
{
	assert_in_range(
	    corpus_each("tests/fuzz/corpus/client_config", corpus_input), 10, 1000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(edits),
	    cmocka_unit_test(again),
	    cmocka_unit_test(refused),
	    cmocka_unit_test(not_understood),
	    cmocka_unit_test(yaml_texts),
	    cmocka_unit_test(redacted),
	    cmocka_unit_test(twice),
	    cmocka_unit_test(once),
	    cmocka_unit_test(quoted_top),
	    cmocka_unit_test(many_keys),
	    cmocka_unit_test(paths),
	    cmocka_unit_test(corpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
