/*
 * Text to a checked tree.  Run from the top of the source tree: the corpus of
 * the fuzzer is replayed from tests/fuzz/corpus/parse.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "policy/base/arena.h"
#include "policy/lang/expand.h"
#include "policy/lang/scalar.h"
#include "shim/base/array.h"
#include "shim/help/near_word.h"

#include "tests/fuzz/fuzz_parse.c"

#define LEN(a) (ARRAY_LEN(a))

/* A text, what was said about it, and its tree. */
struct result {
	struct policy_source source;
	struct diag d;
	struct tree t;
	char *said;
	size_t said_len;
};

static void
read_text(struct result *r, const char *text, size_t len)
{
	memset(r, 0, sizeof(*r));
	r->source = (struct policy_source){.path = "t.kennel", .text = text, .len = len};
	r->d = (struct diag){.sorted = true, .source = &r->source, .source_n = 1};
	r->d.out = open_memstream(&r->said, &r->said_len);
	assert_non_null(r->d.out);
	assert_int_equal(tree_parse(&r->source, 1, &r->d, &r->t), 0);
	(void)tree_check(&r->t, &r->d);
	diag_end(&r->d);
	assert_int_equal(fclose(r->d.out), 0);
}

static void
done(struct result *r)
{
	tree_free(&r->t);
	free(r->said);
}

/* ---- words --------------------------------------------------------------- */

static void
keywords_are_one_sorted_table(void **state)
{
	const char *name, *last = "";
	int i;

	(void)state;
	for (i = KW_NONE + 1; i < KW_END; i++) {
		name = keyword_name((enum keyword)i);
		assert_non_null(keyword_row((enum keyword)i)->name);
		assert_true(strcmp(last, name) < 0);
		if (keyword_row((enum keyword)i)->context)
			assert_int_equal(keyword_context(name, strlen(name)), i);
		else
			assert_int_equal(keyword_find(name, strlen(name)), i);
		/* neither more nor less than the word */
		assert_int_equal(
		    keyword_find(name, strlen(name) - 1) == (enum keyword)i, 0);
		last = name;
	}
	assert_int_equal(keyword_find("servers", 7), KW_NONE);
	assert_int_equal(keyword_find("", 0), KW_NONE);
}

static void
units(void **state)
{
	static const struct {
		int (*fn)(const char *, uint64_t *);
		const char *text;
		uint64_t value;
		int r;
	} rows[] = {
	    {unit_bytes, "0", 0, 0},
	    {unit_bytes, "512", 512, 0},
	    {unit_bytes, "1K", 1024, 0},
	    {unit_bytes, "512M", 512ull << 20, 0},
	    {unit_bytes, "3G", 3ull << 30, 0},
	    {unit_bytes, "2T", 2ull << 40, 0},
	    {unit_bytes, "1k", 0, -EINVAL},
	    {unit_bytes, "1KB", 0, -EINVAL},
	    {unit_bytes, "1.5M", 0, -EINVAL},
	    {unit_bytes, "-1", 0, -EINVAL},
	    {unit_bytes, "+1", 0, -EINVAL},
	    {unit_bytes, " 1", 0, -EINVAL},
	    {unit_bytes, "01", 0, -EINVAL},
	    {unit_bytes, "", 0, -EINVAL},
	    {unit_bytes, "M", 0, -EINVAL},
	    {unit_bytes, "16777216T", 0, -EINVAL},
	    {unit_bytes, "16777215T", 16777215ull << 40, 0},
	    {unit_bytes, "18446744073709551615", UINT64_MAX, 0},
	    {unit_bytes, "18446744073709551616", 0, -EINVAL},
	    {unit_ms, "250ms", 250, 0},
	    {unit_ms, "30s", 30000, 0},
	    {unit_ms, "15m", 900000, 0},
	    {unit_ms, "2h", 7200000, 0},
	    {unit_ms, "1d", 86400000, 0},
	    {unit_ms, "30", 0, -EINVAL},
	    {unit_ms, "213503982335d", 0, -EINVAL},
	    {unit_percent, "200%", 200, 0},
	    {unit_percent, "200", 0, -EINVAL},
	    {unit_count, "64", 64, 0},
	    {unit_count, "64x", 0, -EINVAL},
	};
	uint64_t v;
	size_t i;

	(void)state;
	for (i = 0; i < LEN(rows); i++) {
		v = 77;
		assert_int_equal(rows[i].fn(rows[i].text, &v), rows[i].r);
		assert_true(v == (rows[i].r == 0 ? rows[i].value : 77));
	}
}

static void
paths_are_absolute_and_normal(void **state)
{
	static const char *const good[] = {
	    "/", "/a", "/a/b", "/a/..b", "/a/...", "/.a", "/a b"};
	static const char *const bad[] = {"", "a", "./a", "//", "/a/", "/a//b", "/.",
	    "/..", "/a/.", "/a/..", "/a/./b", "/a/../b", "~/a"};
	size_t i;

	(void)state;
	for (i = 0; i < LEN(good); i++)
		assert_true(path_is_normal(good[i]));
	for (i = 0; i < LEN(bad); i++)
		assert_false(path_is_normal(bad[i]));
}

/* C23 */
static void
loader_and_interpreter_variables_are_refused(void **state)
{
	static const char *const bad[] = {"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT",
	    "ld_preload", "DYLD_INSERT_LIBRARIES", "PYTHONPATH", "PYTHONSTARTUP",
	    "RUBYLIB", "RUBYOPT", "NODE_PATH", "NODE_OPTIONS", "PERL5LIB", "PERL5OPT",
	    "GLIBC_TUNABLES", "GCONV_PATH", "BASH_ENV", "ENV", "GIT_SSH_COMMAND",
	    "GIT_EXTERNAL_DIFF", "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0", "GIT_EXEC_PATH",
	    "GIT_ASKPASS", "JAVA_TOOL_OPTIONS", "BASH_FUNC_x", "IFS", "PS4",
	    "MALLOC_TRACE", "LOCPATH", "NLSPATH", "DOTNET_STARTUP_HOOKS", "LUA_INIT",
	    "Node_Options"};
	static const char *const good[] = {"PATH", "HOME", "LANG", "LC_ALL", "TZ", "TERM",
	    "NODE_ENV", "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "NODE_EXTRA_CA_CERTS",
	    "PYTHONUNBUFFERED", "GIT_AUTHOR_NAME", "GITHUB_TOKEN", "ENVIRONMENT",
	    "LDAP_HOST", "GEM_HOST_API_KEY", "BASH", "CARGO_REGISTRY_TOKEN", "R_TOKEN",
	    ""};
	size_t i;

	(void)state;
	for (i = 0; i < LEN(bad); i++)
		assert_true(env_is_refused(bad[i]));
	for (i = 0; i < LEN(good); i++)
		assert_false(env_is_refused(good[i]));
}

static void
patterns(void **state)
{
	static const struct {
		const char *text;
		bool quoted;
		const char *literal; /* one character per byte: 1 is from a let */
		int r;
		enum sealed_arg_kind kind;
		const char *means;
	} rows[] = {
	    {"log", false, NULL, 0, ARG_LITERAL, "log"},
	    {"", true, NULL, 0, ARG_LITERAL, ""},
	    {"*", false, NULL, 0, ARG_ANY, ""},
	    {"**", false, NULL, 0, ARG_REST, ""},
	    {"a*b", false, NULL, 0, ARG_GLOB, "a*b"},
	    {"*.js", false, NULL, 0, ARG_GLOB, "*.js"},
	    {"a|b", false, NULL, 0, ARG_CHOICE, "a|b"},
	    {"*", true, NULL, 0, ARG_LITERAL, "*"},
	    {"**", true, NULL, 0, ARG_LITERAL, "**"},
	    {"a|b", true, NULL, 0, ARG_LITERAL, "a|b"},
	    {"**", false, "11", 0, ARG_LITERAL, "**"},
	    {"a|b", false, "010", 0, ARG_LITERAL, "a|b"},
	    {"*x*", false, "100", -EINVAL, 0, NULL},
	    {"a|b|c", false, "01000", -EINVAL, 0, NULL},
	    {"a|*", false, NULL, -EINVAL, 0, NULL},
	    {"a**", false, NULL, -EINVAL, 0, NULL},
	    {"***", false, NULL, -EINVAL, 0, NULL},
	    {"**", false, "01", -EINVAL, 0, NULL},
	};
	struct arena *a = arena_new();
	enum sealed_arg_kind kind;
	uint8_t literal[8];
	const char *text;
	size_t i, k;

	(void)state;
	assert_non_null(a);
	for (i = 0; i < LEN(rows); i++) {
		struct word w = {.text = rows[i].text,
		    .len = strlen(rows[i].text),
		    .quoted = rows[i].quoted};

		for (k = 0; rows[i].literal != NULL && k < w.len; k++)
			literal[k] = rows[i].literal[k] == '1';
		w.literal = rows[i].literal != NULL ? literal : NULL;
		kind = 0;
		text = NULL;
		assert_int_equal(word_pattern(a, &w, &kind, &text), rows[i].r);
		if (rows[i].r == 0) {
			assert_int_equal(kind, rows[i].kind);
			assert_string_equal(text, rows[i].means);
		} else {
			assert_int_equal(kind, 0);
			assert_null(text);
		}
	}
	arena_free(a);
}

static void
near_words(void **state)
{
	static const char *const list[] = {"read", "write", "memory", "exec", NULL};

	(void)state;
	assert_string_equal(near_word("raed", list, LEN(list)), "read");
	assert_string_equal(near_word("memmory", list, LEN(list)), "memory");
	assert_string_equal(near_word("exe", list, LEN(list)), "exec");
	assert_null(near_word("zebra", list, LEN(list)));
	assert_null(near_word("-n", (const char *const[]){"-o"}, 1));
	assert_null(near_word("x", list, LEN(list)));
	assert_null(near_word("", list, LEN(list)));
	assert_null(
	    near_word("a-word-of-more-than-thirty-two-bytes-in-all", list, LEN(list)));
}

static void
text_in_messages_is_printable_and_cut(void **state)
{
	char out[DIAG_TEXT_CAP], in[200];

	(void)state;
	assert_string_equal(diag_text(out, "a\033[31m\n\xff", 8), "a\\x1b[31m\\x0a\\xff");
	memset(in, 'x', sizeof(in));
	assert_int_equal(strlen(diag_text(out, in, 80)), 80);
	assert_int_equal(strlen(diag_text(out, in, 81)), 80);
	assert_string_equal(diag_text(out, in, 81) + 77, "...");
	memset(in, '\033', sizeof(in));
	assert_true(strlen(diag_text(out, in, sizeof(in))) <= DIAG_TEXT_MAX);
}

static void
arena_holds_and_ends(void **state)
{
	struct arena *a = arena_new();
	size_t i, n = 0;
	uint32_t *rows = NULL;
	char *big;

	(void)state;
	assert_non_null(a);
	for (i = 0; i < 10000; i++) {
		rows = arena_push(a, rows, n, sizeof(*rows));
		assert_non_null(rows);
		assert_int_equal(rows[n], 0);
		rows[n++] = (uint32_t)i;
	}
	for (i = 0; i < n; i++)
		assert_int_equal(rows[i], i);
	big = arena_alloc(a, 1 << 20);
	assert_non_null(big);
	big[(1 << 20) - 1] = 'x';
	assert_string_equal(arena_copy(a, "abc", 2), "ab");
	assert_null(arena_alloc(a, SIZE_MAX));
	assert_null(arena_alloc(a, 300u << 20)); /* above its ceiling */
	arena_free(a);
	arena_free(NULL);
}

/* ---- a tree -------------------------------------------------------------- */

/* S4-24: `$(` is an error, so that nobody takes it for a shell's */
static void
dollar_is_no_shell(void **state)
{
	static const char text[] =
	    "server one {\n"
	    "\texec ask /usr/bin/git \"a;b\" $(id) && because \"why\"\n"
	    "}\n";
	struct result r;

	(void)state;
	read_text(&r, text, sizeof(text) - 1);
	assert_int_equal(r.d.error_n, 1);
	assert_non_null(
	    strstr(r.said, "t.kennel:2:30: error: expected a name after `$`"));
	done(&r);
}

/* S4-24: no shell anywhere: what looks like one is text.  S4-26: a secret is a
 * reference. */
static void
tree_says_what_the_text_says(void **state)
{
	static const char plain[] =
	    "let w = \"/srv/a b\"\n"
	    "server one {\n"
	    "\trun /usr/bin/node $w/x.js **\n"
	    "\texec ask /usr/bin/git \"$(id)\" ; && because \"why\"\n"
	    "\tenv A = \"x y\"\n"
	    "\tenv B\n"
	    "\tsecret T from cmd /usr/bin/pass show t\n"
	    "\tread $w /srv/c { optional }\n"
	    "\ttimeout ask 2m\n"
	    "}\n";
	const struct stmt *s;
	struct result r;

	(void)state;
	read_text(&r, plain, sizeof(plain) - 1);
	assert_int_equal(r.d.error_n, 0);
	assert_int_equal(r.d.warning_n, 0);
	assert_int_equal(r.t.server_n, 1);
	assert_int_equal(r.t.server[0].stmt_n, 7);
	s = r.t.server[0].stmt;
	assert_int_equal(s[0].kw, KW_RUN);
	assert_int_equal(s[0].word_n, 3);
	assert_string_equal(s[0].word[1].text, "/srv/a b/x.js");
	assert_int_equal(s[0].at.line, 3);
	assert_int_equal(s[0].at.col, 2);
	assert_int_equal(s[1].kw, KW_EXEC);
	assert_int_equal(s[1].verdict, VERDICT_ASK);
	assert_int_equal(s[1].word_n, 4);
	assert_string_equal(s[1].word[1].text, "$(id)");
	assert_string_equal(s[1].word[2].text, ";");
	assert_string_equal(s[1].word[3].text, "&&");
	assert_int_equal(s[1].qual_n, 1);
	assert_int_equal(s[1].qual[0].kw, KW_BECAUSE);
	assert_string_equal(s[1].qual[0].word[0].text, "why");
	assert_int_equal(s[2].word_n, 2);
	assert_string_equal(s[2].word[1].text, "x y");
	assert_int_equal(s[3].word_n, 1);
	assert_int_equal(s[4].word_n, 5);
	assert_string_equal(s[4].word[1].text, "cmd");
	assert_string_equal(s[4].word[4].text, "t");
	assert_int_equal(s[5].word_n, 2);
	assert_int_equal(s[5].qual[0].kw, KW_OPTIONAL);
	assert_string_equal(s[6].word[0].text, "ask");
	done(&r);
}

/* S4-25, C21: a bare name becomes a path when the policy is compiled, with a
 * warning that says which. */
static void
bare_program_becomes_a_path(void **state)
{
	static const char text[] = "server a {\n\trun sh\n\texec ask sh -c\n}\n";
	struct result r;

	(void)state;
	if (access("/usr/bin/sh", X_OK) != 0 && access("/bin/sh", X_OK) != 0) {
		print_message("no sh in /usr/bin or /bin\n");
		skip();
	}
	read_text(&r, text, sizeof(text) - 1);
	assert_int_equal(r.d.error_n, 0);
	assert_int_equal(r.d.warning_n, 2);
	assert_int_equal(r.t.server[0].stmt[0].word[0].text[0], '/');
	assert_true(path_is_normal(r.t.server[0].stmt[0].word[0].text));
	assert_non_null(strstr(r.said, "t.kennel:2:6: warning: `sh` resolves to /"));
	done(&r);
}

static void
every_word_of_a_later_version_is_refused(void **state)
{
	char text[256];
	struct result r;
	unsigned int where;
	int i, n, seen = 0;

	(void)state;
	for (i = KW_NONE + 1; i < KW_END; i++) {
		where = keyword_row((enum keyword)i)->where;
		if ((where & WHERE_LATER) == 0)
			continue;
		n = snprintf(text, sizeof(text),
		    (where & WHERE_TOP) != 0     ? "%s x\nserver a {\n\trun /x\n}\n"
		    : (where & WHERE_GRANT) != 0 ? "server a {\n\trun /x\n\t%s x\n}\n"
		    : (where & WHERE_OPTION) != 0
			? "server a {\n\trun /x\n\tread /y { %s x }\n}\n"
			: "server a {\n\trun /x\n\texec allow /y %s x\n}\n",
		    keyword_name((enum keyword)i));
		read_text(&r, text, (size_t)n);
		assert_int_equal(r.d.error_n, 1);
		assert_non_null(strstr(r.said, "is not supported in this version"));
		assert_non_null(strstr(r.said, keyword_name((enum keyword)i)));
		done(&r);
		seen++;
	}
	assert_true(seen >= 1);
}

static void
errors_are_counted_beyond_the_first_hundred(void **state)
{
	char text[8192];
	struct result r;
	size_t n, lines = 0;
	const char *p;
	int i;

	(void)state;
	n = (size_t)snprintf(text, sizeof(text), "server a {\n\trun /x\n");
	for (i = 0; i < 150; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "\tread x\n");
	n += (size_t)snprintf(text + n, sizeof(text) - n, "}\n");
	read_text(&r, text, n);
	assert_int_equal(r.d.error_n, 150);
	for (p = r.said; (p = strstr(p, ": error: ")) != NULL; p++)
		lines++;
	assert_int_equal(lines, DIAG_SHOWN_MAX);
	assert_non_null(strstr(r.said, "50 more errors not shown\n"));
	done(&r);
}

/* A let is known in its own file only; a server's name is unique over all. */
static void
several_files(void **state)
{
	static const char one[] = "let w = /srv\nserver a { run $w/x }\n";
	static const char two[] = "server b { run $w/x }\nserver a { run /x }\n";
	struct policy_source s[2] = {
	    {"one.kennel", one, sizeof(one) - 1}, {"two.kennel", two, sizeof(two) - 1}};
	char *said;
	size_t len;
	struct diag d = {.sorted = true, .source = s, .source_n = 2};
	struct tree t;

	(void)state;
	d.out = open_memstream(&said, &len);
	assert_non_null(d.out);
	assert_int_equal(tree_parse(s, 2, &d, &t), 0);
	(void)tree_check(&t, &d);
	diag_end(&d);
	assert_int_equal(fclose(d.out), 0);
	assert_int_equal(d.error_n, 2);
	assert_non_null(strstr(said, "two.kennel:1:16: error: `$w` is not defined"));
	assert_non_null(
	    strstr(said, "two.kennel:2:8: error: duplicate `a` as a server name: "
			 "first defined at one.kennel:2"));
	tree_free(&t);
	free(said);
}

/* A server that may write policies needs none, and `hide` keeps it from nothing. */
static void
own_folders_are_refused(void **state)
{
	static const char open[] = "server a {\n\trun /x\n\twrite /srv/me\n}\n";
	static const char hide[] = "server a {\n\trun /x\n\twrite /srv/me\n"
				   "\thide /srv/me/.config /srv/me/.local\n}\n";
	static const char vault[] = "server a {\n\trun /x\n"
				    "\tread /srv/me/.local/share/kennel/vault/x\n}\n";
	static const char beside[] = "server a {\n\trun /x\n\twrite /srv/me/work\n"
				     "\tread /srv/me/.config\n}\n";
	const char *home = getenv("HOME");
	char *old = home != NULL ? strdup(home) : NULL;
	struct result r;

	(void)state;
	unsetenv("KENNEL_HOME");
	unsetenv("XDG_CONFIG_HOME");
	unsetenv("XDG_STATE_HOME");
	unsetenv("XDG_DATA_HOME");
	setenv("HOME", "/srv/me", 1);
	read_text(&r, open, sizeof(open) - 1);
	assert_int_equal(r.d.error_n, 3);
	assert_non_null(strstr(r.said, "t.kennel:3:8: error: /srv/me/.config/kennel is"));
	assert_non_null(strstr(r.said, "lets server `a` replace it"));
	done(&r);
	read_text(&r, hide, sizeof(hide) - 1);
	assert_int_equal(r.d.error_n, 3);
	done(&r);
	read_text(&r, vault, sizeof(vault) - 1);
	assert_int_equal(r.d.error_n, 1);
	assert_non_null(strstr(r.said, "is kennel's vault"));
	assert_non_null(strstr(r.said, "lets server `a` read it"));
	done(&r);
	read_text(&r, beside, sizeof(beside) - 1);
	assert_int_equal(r.d.error_n, 0);
	done(&r);
	if (old != NULL)
		setenv("HOME", old, 1);
	free(old);
}

/* ---- large and hostile --------------------------------------------------- */

static double
seconds(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts); /* this clock is always there */
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void
thousand_servers(void **state)
{
	char *text, *p;
	struct result r;
	double start;
	int i, k;

	(void)state;
	text = malloc(8u << 20);
	assert_non_null(text);
	p = text;
	for (i = 0; i < 1000; i++) {
		p += sprintf(p, "let w%d = /srv/s%d\nserver s%d {\n\trun $w%d/x --a\n", i,
		    i, i, i);
		for (k = 0; k < 46; k++)
			p += sprintf(p, "\texec allow /usr/bin/p%d word other **\n", k);
		p += sprintf(p, "}\n");
	}
	start = seconds();
	read_text(&r, text, (size_t)(p - text));
	print_message("50,000 lines: %.0f ms\n", (seconds() - start) * 1e3);
	assert_int_equal(r.d.error_n, 0);
	assert_int_equal(r.t.server_n, 1000);
	/* generous: a quadratic step takes minutes */
	assert_true(seconds() - start < 10);
	done(&r);
	free(text);
}

static void
too_large_is_said(void **state)
{
	size_t len = SOURCE_LEN_MAX + 1;
	char *text = malloc(len);
	struct result r;

	(void)state;
	assert_non_null(text);
	memset(text, '#', len);
	read_text(&r, text, len);
	assert_int_equal(r.d.error_n, 1);
	assert_non_null(strstr(r.said, "t.kennel: error: the file is larger than 8 MiB"));
	done(&r);
	free(text);
}

static void
corpus_is_replayed(void **state)
{
	static const char folder[] = "tests/fuzz/corpus/parse";
	DIR *dir = opendir(folder);
	const struct dirent *e;
	char path[512];
	uint8_t *data;
	size_t n, files = 0;
	FILE *f;

	(void)state;
	assert_non_null(dir);
	data = malloc(1 << 20);
	assert_non_null(data);
	while ((e = readdir(dir)) != NULL) {
		if (e->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		f = fopen(path, "rb");
		assert_non_null(f);
		n = fread(data, 1, 1 << 20, f);
		(void)fclose(f);
		(void)LLVMFuzzerTestOneInput(data, n); /* it aborts */
		/* and every text cut short */
		for (size_t cut = 0; cut < n && n < 1500; cut += 7)
			(void)LLVMFuzzerTestOneInput(data, cut);
		files++;
	}
	(void)closedir(dir);
	free(data);
	assert_true(files >= 90);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(keywords_are_one_sorted_table),
	    cmocka_unit_test(units),
	    cmocka_unit_test(paths_are_absolute_and_normal),
	    cmocka_unit_test(loader_and_interpreter_variables_are_refused),
	    cmocka_unit_test(patterns),
	    cmocka_unit_test(near_words),
	    cmocka_unit_test(text_in_messages_is_printable_and_cut),
	    cmocka_unit_test(arena_holds_and_ends),
	    cmocka_unit_test(dollar_is_no_shell),
	    cmocka_unit_test(tree_says_what_the_text_says),
	    cmocka_unit_test(bare_program_becomes_a_path),
	    cmocka_unit_test(every_word_of_a_later_version_is_refused),
	    cmocka_unit_test(errors_are_counted_beyond_the_first_hundred),
	    cmocka_unit_test(several_files),
	    cmocka_unit_test(own_folders_are_refused),
	    cmocka_unit_test(thousand_servers),
	    cmocka_unit_test(too_large_is_said),
	    cmocka_unit_test(corpus_is_replayed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
