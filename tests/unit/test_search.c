/*
 * The index of tool_search: what is found, in which order, and that no query is an
 * error, whatever its bytes.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "shim/base/array.h"
#include "shim/base/confine.h"
#include "supervisor/serve/tools/search.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/corpus.h"

#define FOUND_MAX 1024

struct row {
	const char *server, *tool, *description, *schema;
};

/* The index has these rows; an id is the place of its row. */
static struct search *
index_of(const struct row *rows, size_t n)
{
	struct search *s;

	assert_int_equal(search_new(&s), 0);
	for (size_t i = 0; i < n; i++) {
		struct search_tool tool = {.server = rows[i].server,
		    .tool = rows[i].tool,
		    .tool_len = strlen(rows[i].tool),
		    .id = (uint32_t)i};
		struct json_message m;

		if (rows[i].description != NULL) {
			tool.description = rows[i].description;
			tool.description_len = strlen(rows[i].description);
		}
		if (rows[i].schema != NULL) {
			assert_int_equal(json_scan((const uint8_t *)rows[i].schema,
					     strlen(rows[i].schema), &m),
			    0);
			tool.schema = m.root;
		}
		assert_int_equal(search_add(s, &tool), 0);
	}
	return s;
}

struct found {
	uint32_t id[FOUND_MAX];
	size_t n;
};

static int
keep(void *arg, uint32_t id)
{
	struct found *found = arg;

	assert_true(found->n < FOUND_MAX);
	found->id[found->n++] = id;
	return 0;
}

static const char *
text_of(const struct found *found)
{
	static char out[16 * FOUND_MAX];
	size_t n = 0;

	out[0] = '\0';
	for (size_t i = 0; i < found->n; i++)
		n += (size_t)snprintf(
		    out + n, sizeof(out) - n, "%s%u", n > 0 ? " " : "", found->id[i]);
	return out;
}

/* The ids of the hits, best first. */
static const char *
page(struct search *s, const struct search_query *query, bool *ret_more)
{
	static struct found found;

	found.n = 0;
	assert_int_equal(search_run(s, query, keep, &found, ret_more), 0);
	return text_of(&found);
}

static void
finds_at(struct search *s, const char *server, const char *text, const char *wanted)
{
	struct search_query query = {text, strlen(text), server, 100, 0};
	bool more = true;

	assert_string_equal(page(s, &query, &more), wanted);
	assert_false(more);
}

static void
finds(struct search *s, const char *text, const char *wanted)
{
	finds_at(s, NULL, text, wanted);
}

/* ---- what is found -------------------------------------------------------- */

static void
names(void **state)
{
	static const struct row rows[] = {
	    {"my-srv", "createIssue", NULL, NULL},
	    {"hub", "create_pull.request", NULL, NULL},
	    {"web", "parseHTTPReply2Json", NULL, NULL},
	    {"fr", "r\xc3\xa9sum\xc3\xa9", NULL, NULL},
	};
	struct search *s = index_of(rows, ARRAY_LEN(rows));

	finds(s, "issue", "0");
	finds(s, "createIssue", "0");
	finds(s, "CREATEISSUE", "0");
	finds(s, "create issue", "0");
	finds(s, "create_issue", "0");
	finds(s, "pull", "1");
	finds(s, "create_pull.request", "1");
	finds(s, "createpullrequest", "1");
	finds(s, "http", "2");
	finds(s, "reply2", "2");
	finds(s, "json", "2");
	finds(s, "resume", "3");
	finds(s, "srv", "0");
	finds(s, "my-srv.createIssue", "0");
	finds(s, "hub.create_pull", "1");
	search_free(s);
}

static void
properties(void **state)
{
	static const struct row rows[] = {
	    {"a", "one", NULL,
		"{\"type\":\"object\",\"properties\":{\"issueNumber\":{\"type\":"
		"\"integer\"},\"filter\":{\"type\":\"object\",\"properties\":{"
		"\"deepName\":{}}},\"list\":{\"type\":\"array\",\"items\":{\"anyOf\":[{"
		"\"properties\":{\"inner\":{\"default\":{\"properties\":{\"nothing\":1}}"
		"}}}]}},\"properties\":{\"title\":\"unseen\"},\"es\\u0063ape\":{}}}"},
	    {"a", "two", NULL,
		"{\"properties\":[\"unnamed\"],\"Properties\":{\"no\":1}}"},
	    {"a", "three", NULL, "[{\"properties\":{\"listed\":{}}}]"},
	    {"a", "four", NULL, "{\"enum\":[{\"properties\":{\"value\":{}}}]}"},
	};
	struct search *s = index_of(rows, ARRAY_LEN(rows));

	finds(s, "issue", "0");
	finds(s, "issueNumber", "0");
	finds(s, "deep", "0");
	finds(s, "inner", "0");
	finds(s, "properties", "0");
	finds(s, "escape", "0");
	finds(s, "listed", "2");
	/* what is no name of a property */
	finds(s, "integer", "");
	finds(s, "unseen", "");
	finds(s, "nothing", "");
	finds(s, "unnamed", "");
	finds(s, "no", "");
	finds(s, "value", "");
	search_free(s);
}

static void
deep_schema(void **state)
{
	char text[4096] = "", *p = text;
	const size_t deep = (MCP_DEPTH_MAX - 2) / 2;
	struct row row = {"a", "one", NULL, text};
	struct search *s;

	for (size_t i = 0; i < deep; i++)
		p = stpcpy(p, "{\"properties\":{\"a\":");
	p = stpcpy(p, "{\"x\":0}");
	for (size_t i = 0; i < deep; i++)
		p = stpcpy(p, "}}");
	s = index_of(&row, 1);
	finds(s, "a", "0");
	search_free(s);
}

static void
terms(void **state)
{
	static const struct row rows[] = {
	    {"hub", "create_issue", "Create an issue in a repository", NULL},
	    {"hub", "list_issues", "List the issues of a repository", NULL},
	    {"hub", "delete_branch", "Delete a branch", NULL},
	};
	struct search *s = index_of(rows, ARRAY_LEN(rows));

	/* all terms, the last one as a prefix */
	finds(s, "create repository", "0");
	finds(s, "repository list", "1");
	finds(s, "repository iss", "0 1");
	finds(s, "iss repository", "0 1"); /* no `iss`: any term */
	/* if no tool has all of them, any term */
	finds(s, "branch issue", "2 0 1");
	finds(s, "xyzzy branch", "2");
	finds(s, "xyzzy", "");
	finds(s, "repo xyzzy", "");
	search_free(s);
}

static void
rank(void **state)
{
	static const struct row rows[] = {
	    {"a", "one", NULL, "{\"properties\":{\"ticket\":{}}}"},
	    {"b", "two", "ticket", NULL},
	    {"ticket", "three", NULL, NULL},
	    {"c", "ticket", NULL, NULL},
	    {"d", "other", "no such word", NULL},
	    {"d", "others", "no such word", NULL},
	    {"d", "otherer", "no such word", NULL},
	    {"d", "otherest", "no such word", NULL},
	};
	struct search *s = index_of(rows, ARRAY_LEN(rows));

	finds(s, "ticket", "3 2 1 0");
	search_free(s);
}

static void
ties(void **state)
{
	static const struct row rows[] = {
	    {"b", "same", NULL, NULL},
	    {"a", "same", NULL, NULL},
	    {"B", "same", NULL, NULL},
	    {"a", "Same", NULL, NULL},
	    {"a", "s\xc3\xa4me", NULL, NULL},
	};
	struct search *s = index_of(rows, ARRAY_LEN(rows));

	finds(s, "same", "2 3 1 4 0");
	finds(s, "", "2 3 1 4 0");
	search_free(s);
}

static void
everything(void **state)
{
	static const struct row rows[] = {
	    {"b", "x", NULL, NULL},
	    {"a", "z", NULL, NULL},
	    {"a", "y", NULL, NULL},
	    {"a-b", "y", NULL, NULL},
	    {"a", "", "without a name", NULL},
	};
	struct search *s = index_of(rows, ARRAY_LEN(rows));

	finds(s, "", "4 2 1 3 0");
	finds(s, " \t\n", "4 2 1 3 0");
	finds(s, "-*\"()", "4 2 1 3 0");
	finds_at(s, "a", "", "4 2 1");
	finds_at(s, "a", "y", "2");
	finds_at(s, "a", "x", "");
	finds_at(s, "A", "", "");
	finds_at(s, "", "", "");
	search_free(s);
}

/* ---- pages ---------------------------------------------------------------- */

static void
pages_are(struct search *s, const char *text, const char *const wanted[3])
{
	for (uint32_t i = 0; i < 3; i++) {
		struct search_query query = {text, strlen(text), NULL, 2, i * 2};
		bool more = i == 2;

		assert_string_equal(page(s, &query, &more), wanted[i]);
		assert_int_equal(more, i < 1);
	}
}

static void
pages(void **state)
{
	static const struct row rows[] = {
	    {"a", "get_a", NULL, NULL},
	    {"a", "get_b", NULL, NULL},
	    {"a", "get_c", NULL, NULL},
	    {"a", "get_d", NULL, NULL},
	};
	struct search *s = index_of(rows, ARRAY_LEN(rows));
	struct search_query none = {"get", 3, NULL, 0, 0};
	bool more = false;

	pages_are(s, "get", (const char *const[]){"0 1", "2 3", ""});
	pages_are(s, "", (const char *const[]){"0 1", "2 3", ""});
	pages_are(s, "xyzzy get", (const char *const[]){"0 1", "2 3", ""});
	/* the page after the last one of all terms has no hits of any term */
	pages_are(s, "a get", (const char *const[]){"0 1", "2 3", ""});
	assert_string_equal(page(s, &none, &more), "");
	assert_true(more);
	search_free(s);
}

static int
refuse(void *arg, uint32_t id)
{
	(*(int *)arg)++;
	return -E2BIG;
}

static void
stops(void **state)
{
	static const struct row rows[] = {
	    {"a", "x", NULL, NULL}, {"a", "xy", NULL, NULL}};
	struct search *s = index_of(rows, ARRAY_LEN(rows));
	struct search_query query = {"x", 1, NULL, 10, 0};
	bool more = false;
	int n = 0;

	assert_int_equal(search_run(s, &query, refuse, &n, &more), -E2BIG);
	assert_int_equal(n, 1);
	finds(s, "x", "0 1"); /* and it can be asked again */
	search_free(s);
}

/* ---- changes -------------------------------------------------------------- */

static void
forget(void **state)
{
	static const struct row rows[] = {
	    {"a", "get", NULL, NULL},
	    {"b", "get", NULL, NULL},
	    {"a", "put", "get", NULL},
	};
	struct search_tool again = {.server = "a", .tool = "get", .tool_len = 3, .id = 7};
	struct search *s = index_of(rows, ARRAY_LEN(rows));

	finds(s, "get", "0 1 2");
	assert_int_equal(search_add(s, &again), -EEXIST);
	finds(s, "get", "0 1 2");
	assert_int_equal(search_forget(s, "a"), 0);
	finds(s, "get", "1");
	finds(s, "put", "");
	finds(s, "", "1");
	assert_int_equal(search_forget(s, "a"), 0);
	assert_int_equal(search_add(s, &again), 0);
	finds(s, "get", "7 1");
	search_free(s);
	search_free(NULL);
}

/* ---- limits --------------------------------------------------------------- */

static void
limits(void **state)
{
	static const struct row rows[] = {
	    {"a", "one",
		"t01 t02 t03 t04 t05 t06 t07 t08 t09 t10 t11 t12 t13 t14 t15 t16", NULL},
	    {"a", "two", "t17", NULL},
	    {"a", "six", "\xe2\x82\xac\xc3\xa4", NULL},
	};
	struct search *s = index_of(rows, ARRAY_LEN(rows));
	char text[SEARCH_QUERY_MAX + 32];

	/* the 17th term does not count, neither as one of all nor as one of any */
	finds(s, "t01 t02 t03 t04 t05 t06 t07 t08 t09 t10 t11 t12 t13 t14 t15 t16 xyzzy",
	    "0");
	finds(s, "t17 t16 t15 t14 t13 t12 t11 t10 t09 t08 t07 t06 t05 t04 t03 t02 t01",
	    "0 1");
	finds(s, "x x x x x x x x x x x x x x x x t17", "");
	/* nor does the 257th byte */
	memset(text, ' ', sizeof(text));
	strcpy(text + SEARCH_QUERY_MAX - 3, "t17z");
	finds(s, text, "1");
	memset(text, ' ', sizeof(text));
	strcpy(text + SEARCH_QUERY_MAX, "t17");
	finds(s, text, "0 2 1"); /* an empty query */
	/* which may be the middle of a letter: the whole letter is left out */
	memset(text, ' ', sizeof(text));
	strcpy(text + SEARCH_QUERY_MAX - 4, "t17\xc3\xa4");
	finds(s, text, "1");
	search_free(s);
}

static void
long_texts(void **state)
{
	size_t len = SEARCH_TEXT_MAX * 2;
	char *text = malloc(len + 1), *schema = malloc(len * 2);
	struct row rows[2] = {{"a", text, text, schema}, {"a", "b", "", "{}"}};
	size_t n = 0;
	struct search *s;

	assert_non_null(text);
	assert_non_null(schema);
	for (size_t i = 0; i < len; i += 8)
		(void)snprintf(text + i, 9, "w%06zu ", i / 8);
	n = (size_t)snprintf(schema, len, "{\"properties\":{\"w\":{}");
	for (size_t i = 0; n < len; i++)
		n += (size_t)snprintf(schema + n, len * 2 - n, ",\"p%06zu\":{}", i);
	(void)snprintf(schema + n, len * 2 - n, "}}");
	s = index_of(rows, ARRAY_LEN(rows));
	finds(s, "w000001", "0");
	finds(s, "p000001", "0");
	finds(s, "w004000", ""); /* beyond the limit */
	finds(s, "b", "1");
	search_free(s);
	free(text);
	free(schema);
}

/* ---- whatever the query is -------------------------------------------------- */

static void
never_an_error(void **state)
{
	static const char *const texts[] = {"\"", "\"\"\"", "create\"", "*", "create*",
	    "cre*ate", "^create", "name:create", "name : create", "{name server}:create",
	    "- name:create", "AND", "OR", "NOT", "NEAR", "create AND", "AND create",
	    "create NOT issue", "NEAR(create issue, 1)", "NEAR(create", "create + issue",
	    "(create", "create)", "((((((((", "create; DROP TABLE tool", "'", "\\", "--",
	    "/*", "\xff", "\xc3", "\xe2\x82", "\xe2\x80\x94", "create \xe2\x80\x94",
	    "\x01"};
	static const struct row rows[] = {
	    {"hub", "create_issue", "Create an issue", NULL}};
	struct search *s = index_of(rows, ARRAY_LEN(rows));
	struct search_query nul = {"create\0issue\0", 13, NULL, 10, 0};
	char deep[SEARCH_QUERY_MAX];
	bool more;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct search_query query = {texts[i], strlen(texts[i]), NULL, 10, 0};

		(void)page(s, &query, &more); /* 0, as it asserts */
	}
	memset(deep, '(', sizeof(deep));
	nul.text = deep;
	nul.len = sizeof(deep);
	assert_string_equal(page(s, &nul, &more), "0");
	nul = (struct search_query){"create\0issue\0", 13, NULL, 10, 0};
	assert_string_equal(page(s, &nul, &more), "0");
	finds(s, "create AND issue", "0");    /* its words, of which `and` is one */
	finds(s, "create \xe2\x80\x94", "0"); /* a term without a letter is left out */
	finds(s, "NOT create", "0");
	search_free(s);
}

static void
replay(const char *name, const uint8_t *data, size_t len)
{
	(void)LLVMFuzzerTestOneInput(data, len);
}

static void
corpus(void **state)
{
	assert_true(corpus_each("tests/fuzz/corpus/search", replay) > 20);
}

/* ---- confined ------------------------------------------------------------- */

/* The calls of its notes, and what the test and the sanitizers need to end. */
static const uint16_t few[] = {
    SYS_brk,
    SYS_mmap,
    SYS_munmap,
    SYS_mremap,
    SYS_exit_group,
#ifdef __SANITIZE_ADDRESS__
    SYS_madvise,
    SYS_futex,
    SYS_sched_yield,
#endif
};

static int
use(struct search *s)
{
	struct search_query query = {"get wor", 7, NULL, 5, 0};
	char name[32], text[512];
	struct found found;
	bool more;

	for (uint32_t i = 0; i < 2000; i++) {
		struct search_tool tool = {.server = i % 2 != 0 ? "a" : "b",
		    .tool = name,
		    .description = text,
		    .id = i};

		tool.tool_len = (size_t)snprintf(name, sizeof(name), "get_%u", i);
		tool.description_len = (size_t)snprintf(text, sizeof(text),
		    "%u words %u of %u which %u are %u not the same", i, i * 3, i * 5,
		    i * 7, i * 11);
		found.n = 0;
		if (search_add(s, &tool) < 0 ||
		    (i % 100 == 0 && search_run(s, &query, keep, &found, &more) < 0))
			return 1;
	}
	query.text = "zz wor";
	query.len = 6;
	if (search_forget(s, "a") < 0 || search_run(s, &query, keep, &found, &more) < 0)
		return 1;
	query.len = 0;
	return search_run(s, &query, keep, &found, &more) < 0;
}

static int
status_of(bool opens)
{
	int status = -1;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct search *s;
		int r;

		if (search_new(&s) < 0 || confine_no_dumps() < 0 ||
		    confine_syscalls(few, ARRAY_LEN(few)) < 0)
			_exit(2);
		r = use(s);
		if (opens)
			(void)open("/dev/null", O_RDONLY | O_CLOEXEC);
		syscall(SYS_exit_group, r);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void
confined(void **state)
{
	int status = status_of(false);

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	/* the control: the same process is killed when it opens a file */
	status = status_of(true);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSYS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    {"S4-12 a tool is found by the words of its name", names, NULL, NULL, NULL},
	    {"S4-12 and by the names of its parameters", properties, NULL, NULL, NULL},
	    {"a schema as deep as a message may be", deep_schema, NULL, NULL, NULL},
	    {"all terms, the last as a prefix, else any term", terms, NULL, NULL, NULL},
	    {"name before server, description, parameters", rank, NULL, NULL, NULL},
	    {"ties by server, then tool, bytewise", ties, NULL, NULL, NULL},
	    {"an empty query lists every tool", everything, NULL, NULL, NULL},
	    {"pages fit together", pages, NULL, NULL, NULL},
	    {"a hit that is refused ends the search", stops, NULL, NULL, NULL},
	    {"a server's tools are forgotten and added again", forget, NULL, NULL, NULL},
	    {"16 terms, 256 bytes, whole letters", limits, NULL, NULL, NULL},
	    {"long names, descriptions and schemas are indexed in part", long_texts, NULL,
		NULL, NULL},
	    {"no query is an error", never_an_error, NULL, NULL, NULL},
	    {"the corpus of queries", corpus, NULL, NULL, NULL},
	    {"it needs memory and no file once it is made", confined, NULL, NULL, NULL},
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
