/*
 * settings.kennel: what each statement sets, every error with its place in one run,
 * where the file is found and when it is not trusted.
 */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "shim/base/array.h"
#include "supervisor/base/paths.h"
#include "supervisor/serve/tools/facets.h"
#include "supervisor/serve/tools/settings.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/corpus.h"

#define NAME "s.kennel"

static struct settings s;
static char *said;

static int
reads(const char *text)
{
	size_t len;
	FILE *f;
	int r;

	settings_free(&s);
	free(said);
	said = NULL;
	f = open_memstream(&said, &len);
	assert_non_null(f);
	r = settings_read(NAME, text, strlen(text), f, &s);
	assert_int_equal(fclose(f), 0);
	return r;
}

static void
good(const char *text)
{
	assert_int_equal(reads(text), 0);
	assert_string_equal(said, "");
}

/* The file has exactly these errors, without the lines and carets. */
static void
bad(const char *text, const char *wanted)
{
	char errors[8192] = "", *line, *rest;

	assert_int_equal(reads(text), -EINVAL);
	for (line = strtok_r(said, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest))
		if (strncmp(line, NAME ":", strlen(NAME ":")) == 0) {
			strcat(errors, line + strlen(NAME ":"));
			strcat(errors, "\n");
		}
	assert_string_equal(errors, wanted);
}

/* ---- what is set ---------------------------------------------------------- */

static void
nothing(void **state)
{
	static const char *const texts[] = {"", "\n\n", "# facet deny mcp\n"};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		good(texts[i]);
		assert_int_equal(s.facets_allowed, 0);
		assert_int_equal(s.facets_denied, 0);
		assert_false(s.has_budget);
		assert_int_equal(s.ahead, 0);
		assert_int_equal(
		    s.channels, 1u << CHANNEL_TERMINAL | 1u << CHANNEL_CONSOLE |
				    1u << CHANNEL_PINENTRY | 1u << CHANNEL_NOTIFY);
		assert_false(settings_exposes(&s, "a", "b", 1));
		assert_string_equal(s.file, NAME);
	}
}

static void
everything(void **state)
{
	good("# what is listed\n"
	     "facet allow search query\n"
	     "facet allow mcp   # and this\n"
	     "facet deny  query \\\n"
	     "            secrets\n"
	     "expose github.create_* files.read_file\n"
	     "budget 20\n"
	     "ahead 4\n"
	     "channels terminal elicitation\n"
	     "catalog deny");
	assert_true(s.catalog_denied);
	assert_int_equal(
	    s.facets_allowed, 1u << FACET_SEARCH | 1u << FACET_QUERY | 1u << FACET_MCP);
	assert_int_equal(s.facets_denied, 1u << FACET_QUERY | 1u << FACET_SECRETS);
	assert_int_equal(s.expose_n, 2);
	assert_true(s.has_budget);
	assert_int_equal(s.budget, 20);
	assert_int_equal(s.ahead, 4);
	assert_int_equal(s.channels, 1u << CHANNEL_TERMINAL | 1u << CHANNEL_ELICITATION);
	good("budget 0\nahead 4096\n");
	assert_true(s.has_budget);
	assert_int_equal(s.budget, 0);
	assert_int_equal(s.ahead, 4096);
}

static void
denied(void **state)
{
	struct facet_lists lists = {.option = "mcp,search"};
	struct facets f;
	struct reason why;

	good("facet deny mcp\nfacet allow mcp\n");
	lists.allowed = s.facets_allowed;
	lists.denied = s.facets_denied;
	assert_int_equal(facets_from(&lists, &f, &why), 0);
	assert_int_equal(f.listed, 1u << FACET_SEARCH);
	lists.option = NULL;
	assert_int_equal(facets_from(&lists, &f, &why), 0);
	assert_int_equal(f.listed, 0);
	assert_int_equal(f.denied, 1u << FACET_MCP);
}

static bool
exposes(const char *server, const char *tool)
{
	return settings_exposes(&s, server, tool, strlen(tool));
}

static void
patterns(void **state)
{
	good("expose github.create_* files.read_file\n"
	     "expose *.search my-*.* web.a.b \"q.x y\"\n");
	assert_true(exposes("github", "create_issue"));
	assert_true(exposes("github", "create_"));
	assert_false(exposes("github", "create"));
	assert_false(exposes("GitHub", "create_issue"));
	assert_false(exposes("github2", "create_issue"));
	assert_true(exposes("files", "read_file"));
	assert_false(exposes("files", "read_files"));
	assert_true(exposes("any", "search"));
	assert_true(exposes("my-srv", "whatever"));
	assert_false(exposes("mysrv", "whatever"));
	assert_true(exposes("web", "a.b")); /* the first dot divides */
	assert_false(exposes("web", "a"));
	assert_true(exposes("q", "x y"));
	assert_true(settings_exposes(&s, "github", "create_\0x", 9)); /* all bytes */
	assert_false(settings_exposes(&s, "files", "read_file\0", 10));
}

static void
option(void **state)
{
	struct reason why;

	good("expose a.b\n");
	assert_int_equal(settings_expose(&s, "hub.get_*", &why), 0);
	assert_true(exposes("a", "b"));
	assert_true(exposes("hub", "get_x"));
	assert_false(exposes("hub", "set_x"));
	assert_int_equal(settings_expose(&s, "hub", &why), -EINVAL);
	assert_string_equal(why.text,
	    "invalid pattern `hub` of --expose: expected SERVER.TOOL, as in "
	    "`github.create_*`");
	assert_int_equal(settings_expose(&s, "\x1b.x", &why), -EINVAL);
	assert_string_equal(why.text,
	    "invalid pattern `\\x1b.x` of --expose: the name of a server has letters, "
	    "digits, `_` and `-`");
	assert_int_equal(s.expose_n, 2);
}

/* ---- errors --------------------------------------------------------------- */

#define NO_PATTERN \
	"`*` matches any characters; `**`, `|`, `<` `>` and a literal `*` are not " \
	"supported here\n"
#define NO_TOOL "expected SERVER.TOOL, as in `github.create_*`\n"

/* NULL: the lexer's own error. */
static const char *const rows[][2] = {
    {"facets allow mcp",
	"1:1: error: unknown statement `facets`: did you mean `facet`?\n"},
    {"server x {\n}\nbudget 1",
	"1:10: error: expected words only: a statement of settings.kennel has "
	"no block and no list\n"
	"2:1: error: expected words only: a statement of settings.kennel has "
	"no block and no list\n"},
    {"zzzzzzzz 1", "1:1: error: unknown statement `zzzzzzzz`: expected facet, expose, "
		   "budget, ahead, channels or catalog\n"},
    {"\"budget\" 1", "1:1: error: unknown statement `budget`: did you mean `budget`?\n"},
    {"facet allow serach",
	"1:13: error: unknown facet `serach`: did you mean `search`?\n"},
    {"facet deny board mcp x",
	"1:12: error: unknown facet `board`: expected secrets, search, query, "
	"mcp\n1:22: error: unknown facet `x`: expected secrets, search, query, "
	"mcp\n"},
    {"facet mcp search", "1:7: error: expected allow or deny after `facet`: "
			 "facet allow NAME...\n"},
    {"facet allow", "1:1: error: `facet` takes allow or deny, and names of facets\n"},
    {"budget", "1:1: error: `budget` takes one number\n"},
    {"budget 1 2", "1:1: error: `budget` takes one number\n"},
    {"budget -1", "1:8: error: expected a number from 0 to 4096\n"},
    {"budget 4097", "1:8: error: expected a number from 0 to 4096\n"},
    {"budget 99999999999999999999", "1:8: error: expected a number from 0 to 4096\n"},
    {"budget 1\n\nbudget 2", "3:1: error: duplicate `budget`; first defined on line 1\n"},
    {"ahead x", "1:7: error: expected a number from 0 to 4096\n"},
    {"catalog", "1:1: error: `catalog` takes allow or deny\n"},
    {"catalog none", "1:9: error: expected allow or deny\n"},
    {"catalog deny\ncatalog allow",
	"2:1: error: duplicate `catalog`; first defined on line 1\n"},
    {"channels terminal\nchannels notify",
	"2:1: error: duplicate `channels`; first defined on line 1\n"},
    {"channels terminals",
	"1:10: error: unknown channel `terminals`: did you mean `terminal`?\n"},
    {"channels pager",
	"1:10: error: unknown channel `pager`: expected terminal, console, "
	"pinentry, notify, elicitation\n"},
    {"channels \"notify\\u0000\"", NULL},
    {"expose github", "1:8: error: invalid pattern `github`: " NO_TOOL},
    {"expose *", "1:8: error: invalid pattern `*`: " NO_TOOL},
    {"expose .x", "1:8: error: invalid pattern `.x`: " NO_TOOL},
    {"expose x.", "1:8: error: invalid pattern `x.`: " NO_TOOL},
    {"expose a.b|c", "1:8: error: invalid pattern `a.b|c`: " NO_PATTERN},
    {"expose a.**", "1:8: error: invalid pattern `a.**`: " NO_PATTERN},
    {"expose \"a.*\"", "1:8: error: invalid pattern `a.*`: " NO_PATTERN},
    {"expose a.<int>", "1:8: error: invalid pattern `a.<int>`: " NO_PATTERN},
    {"expose a.@readonly",
	"1:8: error: invalid pattern `a.@readonly`: classes are not supported "
	"here: write the names of the tools\n"},
    {"expose a/b.c",
	"1:8: error: invalid pattern `a/b.c`: the name of a server has letters, "
	"digits, `_` and `-`\n"},
    {"expose a.$b", "1:8: error: invalid pattern `a.$b`: `$NAME` is not supported here: "
		    "write its value\n"},
    {"expose \"a.b\\u0000c\"", NULL},
    {"budget 1 [",
	"1:10: error: expected words only: a statement of settings.kennel has no "
	"block and no list\n"},
    {"budget 1\r\n", NULL},
    {"expose a.\"b", NULL},
    {"\xff", NULL},
};

static void
errors(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i][1] != NULL)
			bad(rows[i][0], rows[i][1]);
		else
			assert_int_equal(reads(rows[i][0]), -EINVAL);
}

static void
all_at_once(void **state)
{
	assert_int_equal(
	    reads("budgett 1\nfacet allow mpc\nahead x\nexpose a\n"), -EINVAL);
	assert_string_equal(said,
	    "s.kennel:1:1: error: unknown statement `budgett`: did you mean `budget`?\n"
	    "    budgett 1\n"
	    "    ^\n"
	    "s.kennel:2:13: error: unknown facet `mpc`: did you mean `mcp`?\n"
	    "    facet allow mpc\n"
	    "                ^\n"
	    "s.kennel:3:7: error: expected a number from 0 to 4096\n"
	    "    ahead x\n"
	    "          ^\n"
	    "s.kennel:4:8: error: invalid pattern `a`: expected SERVER.TOOL, as in "
	    "`github.create_*`\n"
	    "    expose a\n"
	    "           ^\n");
}

static void
limits(void **state)
{
	char *text = malloc(SETTINGS_EXPOSE_MAX * 16), *p = text;

	assert_non_null(text);
	for (int i = 0; i < 64; i++)
		p = stpcpy(p, i == 0 ? "expose" : " a.b");
	good(text);
	assert_int_equal(s.expose_n, 63);
	(void)stpcpy(p, " a.b");
	bad(text, "1:260: error: more than 64 words: continue on another line\n");
	p = text;
	for (int i = 0; i < SETTINGS_EXPOSE_MAX; i++)
		p = stpcpy(p, "expose a.b\n");
	good(text);
	assert_int_equal(s.expose_n, SETTINGS_EXPOSE_MAX);
	(void)stpcpy(p, "expose a.c\n");
	bad(text, "1025:8: error: invalid pattern `a.c`: more than 1024 patterns\n");
	free(text);
}

/* ---- the file ------------------------------------------------------------- */

/* In a process of its own, because the directories are found once. 0: as wanted. */
static int
load(const char *home, int wanted, uint32_t ahead, const char *message)
{
	struct settings own;
	char *out = NULL;
	size_t len;
	int status = -1, r;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		FILE *f = open_memstream(&out, &len);

		if (f == NULL || setenv("KENNEL_HOME", home, 1) < 0)
			_exit(2);
		r = settings_load(f, &own);
		if (fclose(f) != 0)
			_exit(2);
		if (r != wanted || (r == 0 && own.ahead != ahead) ||
		    strstr(out, message) == NULL ||
		    (message[0] == '\0' && out[0] != '\0')) {
			(void)fprintf(stderr, "%d %u %s\n", r, own.ahead, out);
			_exit(1);
		}
		settings_free(&own);
		free(out);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void
put(const char *path, const char *text, mode_t mode)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static void
file(void **state)
{
	char home[PATH_MAX], path[PATH_MAX + 32], other[PATH_MAX + 32];
	const char *tmp = getenv("TMPDIR");

	(void)snprintf(
	    home, sizeof(home), "%s/settings.XXXXXX", tmp != NULL ? tmp : "/tmp");
	assert_non_null(mkdtemp(home));
	(void)snprintf(path, sizeof(path), "%s/" SETTINGS_FILE, home);
	(void)snprintf(other, sizeof(other), "%s/other", home);
	/* there is none */
	assert_int_equal(load(home, 0, 0, ""), 0);
	put(path, "ahead 3\n", 0644);
	assert_int_equal(load(home, 0, 3, ""), 0);
	put(path, "ahead x\n", 0644);
	assert_int_equal(load(home, -EINVAL, 0, SETTINGS_FILE ":1:7: error: "), 0);
	/* others may write it */
	put(path, "ahead 3\n", 0646);
	assert_int_equal(
	    load(home, -EINVAL, 0, "it is world-writable: run `chmod o-w` on it"), 0);
	put(path, "ahead 3\n", 0664);
	assert_int_equal(load(home, 0, 3, ""), 0);
	if (getuid() == 0) {
		assert_int_equal(chown(path, 12345, 0), 0);
		assert_int_equal(load(home, -EINVAL, 0, "it belongs to another user"), 0);
	}
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(load(home, -EINVAL, 0, "it is not a regular file"), 0);
	assert_int_equal(rmdir(path), 0);
	/* a link that leads nowhere is no missing file */
	assert_int_equal(symlink("other", path), 0);
	assert_int_equal(load(home, -EINVAL, 0, "unable to read the file"), 0);
	assert_int_equal(unlink(path), 0);
	/* too large */
	put(path, "ahead 3\n", 0644);
	assert_int_equal(truncate(path, SETTINGS_LEN_MAX + 1), 0);
	assert_int_equal(load(home, -EINVAL, 0, "it is larger than 64 KiB"), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(home), 0);
}

static void
replay(const char *name, const uint8_t *data, size_t len)
{
	(void)LLVMFuzzerTestOneInput(data, len);
}

static void
corpus(void **state)
{
	assert_true(corpus_each("tests/fuzz/corpus/settings", replay) > 20);
}

static void
names(void **state)
{
	char text[64];

	for (size_t c = 0; c < CHANNEL_N; c++) {
		(void)snprintf(
		    text, sizeof(text), "channels %s\n", channel_name((enum channel)c));
		good(text);
		assert_int_equal(s.channels, 1u << c);
	}
}

static int
teardown(void **state)
{
	settings_free(&s);
	free(said);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    {"an empty file sets the defaults", nothing, NULL, NULL, NULL},
	    {"each statement sets what it names", everything, NULL, NULL, NULL},
	    {"S4-10 S4-12 facet deny wins over allow and --facet", denied, NULL, NULL,
		NULL},
	    {"C22 only what a pattern matches is exposed", patterns, NULL, NULL, NULL},
	    {"C22 patterns of --expose", option, NULL, NULL, NULL},
	    {"every error has its place", errors, NULL, NULL, NULL},
	    {"all errors in one run, with line and caret", all_at_once, NULL, NULL, NULL},
	    {"64 words a line, 1024 patterns", limits, NULL, NULL, NULL},
	    {"the file: found, trusted, readable", file, NULL, NULL, NULL},
	    {"each channel has its name", names, NULL, NULL, NULL},
	    {"the corpus of settings", corpus, NULL, NULL, NULL},
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
