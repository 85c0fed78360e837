/*
 * What a policy is drafted from, and how: folds of files, patterns of arguments, and
 * comments that hold text of a server.
 */
#include <errno.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "leash/cell/private.h"
#include "shim/base/array.h"
#include "supervisor/learn/argv_pattern.h"
#include "supervisor/learn/credentials.h"
#include "supervisor/learn/exercise.h"
#include "supervisor/learn/fold.h"
#include "supervisor/learn/policy_text.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/corpus.h"

/* ---- the filter of a learning cell ------------------------------------------------ */

/* What is refused stays refused; what is allowed goes on to the list of watched calls. */
static void
filter(void **state)
{
	static const uint32_t watched[] = {5, 7};
	static const struct sealed_insn own[] = {
	    {BPF_LD | BPF_W | BPF_ABS, 0, 0, 0},
	    {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 5},
	    {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
	    {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | 1},
	};
	static struct sealed_insn got[WATCHED_INSNS_MAX], many[WATCHED_INSNS_MAX];
	size_t n = watched_filter(own, ARRAY_LEN(own), watched, ARRAY_LEN(watched), got);

	(void)state;
	assert_int_equal(n, ARRAY_LEN(own) + 2 * ARRAY_LEN(watched) + 2);
	assert_memory_equal(&got[0], &own[0], sizeof(own[0]));
	assert_memory_equal(&got[1], &own[1], sizeof(own[1]));
	assert_int_equal(got[2].code, BPF_JMP | BPF_JA);
	assert_int_equal(3 + got[2].k, ARRAY_LEN(own));
	assert_memory_equal(&got[3], &own[3], sizeof(own[3]));
	for (size_t i = 0; i < ARRAY_LEN(watched); i++) {
		assert_int_equal(got[5 + 2 * i].code, BPF_JMP | BPF_JEQ | BPF_K);
		assert_int_equal(got[5 + 2 * i].k, watched[i]);
		assert_int_equal(got[6 + 2 * i].k, SECCOMP_RET_USER_NOTIF);
	}
	assert_int_equal(got[n - 1].k, SECCOMP_RET_ALLOW);
	assert_int_equal(watched_filter(many, WATCHED_INSNS_MAX - 5, watched, 2, got), 0);
	assert_int_not_equal(
	    watched_filter(many, WATCHED_INSNS_MAX - 6, watched, 2, got), 0);
}

/* ---- files ---------------------------------------------------------------------- */

struct fact {
	const char *path;
	uint32_t use;
	enum seen_is is;
};

static void
name(struct seen *s, const char *path, uint32_t use)
{
	struct child_news n = {.type = LEASH_NAMED,
	    .named = {.use = use, .path = path, .program = "/usr/bin/node"}};

	seen_add(s, &n);
}

/* The lines as "r PATH" and "w PATH", one a line. */
static char *
folded(const struct fact *fact, size_t n, bool writes)
{
	static struct folds folds;
	static char text[8192];
	struct seen s;
	size_t len = 0;

	assert_int_equal(seen_new(&s), 0);
	for (size_t i = 0; i < n; i++)
		name(&s, fact[i].path, fact[i].use);
	for (size_t i = 0; i < s.file_n; i++)
		for (size_t k = 0; k < n; k++)
			if (strcmp(s.file[i].path, fact[k].path) == 0) {
				s.file[i].is = fact[k].is;
				s.file[i].root = 0;
			}
	assert_int_equal(fold_files(&s, 0, "/w", writes, &folds), 0);
	text[0] = '\0';
	for (size_t i = 0; i < folds.n; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s %s\n",
		    folds.line[i].write ? "w" : "r", folds.line[i].path);
	folds_free(&folds);
	seen_free(&s);
	return text;
}

static void
files_by_name(void **state)
{
	static const struct fact few[] = {
	    {"/w/b/two.txt", NAMED_READ, SEEN_FILE},
	    {"/w/a.txt", NAMED_READ, SEEN_FILE},
	    {"/w/a.txt", NAMED_LOOK, SEEN_FILE},
	    {"/w/absent.txt", NAMED_READ, SEEN_NOTHING},
	    {"/w", NAMED_LOOK, SEEN_DIR},
	};
	char *text = folded(few, ARRAY_LEN(few), true);

	(void)state;
	assert_non_null(strstr(text, "r /w/a.txt\n"));
	assert_non_null(strstr(text, "r /w/b/two.txt\n"));
	assert_null(strstr(text, "absent"));
	assert_null(strstr(text, "r /w\n"));
	assert_null(strstr(text, "w "));
}

static void
directories_fold(void **state)
{
	static const struct fact listed[] = {
	    {"/w/notes", NAMED_LIST, SEEN_DIR},
	    {"/w/notes/a", NAMED_READ, SEEN_FILE},
	    {"/w/notes/out.txt", NAMED_WRITE, SEEN_FILE},
	    {"/w/other", NAMED_READ, SEEN_FILE},
	};
	static const struct fact many[] = {
	    {"/w/n/1", NAMED_READ, SEEN_FILE},
	    {"/w/n/2", NAMED_READ, SEEN_FILE},
	    {"/w/n/3", NAMED_READ, SEEN_FILE},
	    {"/w/n/4", NAMED_READ, SEEN_FILE},
	    {"/w/n/5", NAMED_READ, SEEN_FILE},
	    {"/w/m", NAMED_READ, SEEN_FILE},
	};

	(void)state;
	assert_string_equal(
	    folded(listed, ARRAY_LEN(listed), false), "r /w/other\nr /w/notes\n");
	assert_string_equal(folded(listed, ARRAY_LEN(listed), true),
	    "r /w/other\nr /w/notes\nw /w/notes/out.txt\n");
	assert_string_equal(folded(many, ARRAY_LEN(many), true), "r /w/m\nr /w/n\n");
	assert_string_equal(
	    folded(many, ARRAY_LEN(many) - 2, true) /* the control: four */,
	    "r /w/n/4\nr /w/n/3\nr /w/n/2\nr /w/n/1\n");
}

/* A file that is created needs its directory; a directory that the server has made needs
 * the one that is there before. */
static void
directories_to_write(void **state)
{
	static const struct fact made[] = {
	    {"/w/cache", NAMED_MAKEDIR, SEEN_DIR},
	    {"/w/cache/x", NAMED_CREATE, SEEN_FILE},
	};
	static const struct fact there[] = {
	    {"/w/cache", NAMED_LIST, SEEN_DIR},
	    {"/w/cache/x", NAMED_CREATE, SEEN_FILE},
	    {"/w/read", NAMED_READ, SEEN_FILE},
	    {"/w", NAMED_LOOK, SEEN_DIR},
	};

	(void)state;
	assert_string_equal(folded(made, ARRAY_LEN(made), true), "w /w\n");
	assert_string_equal(
	    folded(there, ARRAY_LEN(there), true), "r /w/read\nw /w/cache\n");
	/* refused in the learning cell: no line */
	assert_string_equal(folded(made, 1, false), "");
}

static void
only_looked_at(void **state)
{
	static const struct fact look[] = {{"/w", NAMED_LOOK, SEEN_DIR}};
	char deep[1024] = "/w";
	struct fact far = {deep, NAMED_READ, SEEN_FILE};

	(void)state;
	assert_string_equal(folded(look, 1, true), "r /w\n");
	for (int i = 0; i < 200; i++)
		strcat(deep, "/d");
	assert_non_null(strstr(folded(&far, 1, true), "r /w/d/d/d"));
	assert_true(strlen(folded(&far, 1, true)) < 2 * FOLD_DEPTH_MAX + 16);
}

static bool
may_look(void *arg, const char *path)
{
	return fold_below(path, arg);
}

/* A path that the server named is not touched everywhere. */
static void
looks(void **state)
{
	char dir[] = "/proc/self";
	struct seen s;

	(void)state;
	assert_int_equal(seen_new(&s), 0);
	name(&s, "/proc/self/exe", NAMED_READ);
	name(&s, "/proc/self/kennel-is-not-there", NAMED_READ);
	name(&s, "/proc/1", NAMED_READ);
	seen_look(&s, may_look, dir);
	assert_int_equal(s.file[0].is, SEEN_LINK);
	assert_int_equal(s.file[1].is, SEEN_NOTHING);
	assert_int_equal(s.file[2].is, SEEN_UNKNOWN);
	seen_free(&s);
}

/* ---- arguments -------------------------------------------------------------------- */

static const char *
pattern(const struct argv_lines *l)
{
	static char text[4096];
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < l->n; i++)
		for (size_t k = 0; k < l->line[i].n; k++)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s%s",
			    l->line[i].word[k].kind == WORD_LITERAL
				? l->line[i].word[k].text
			    : l->line[i].word[k].kind == WORD_ANY    ? "*"
			    : l->line[i].word[k].kind == WORD_NUMBER ? "<n>"
								     : "<p>",
			    "", k + 1 < l->line[i].n ? " " : "; ");
	return text;
}

static const struct {
	const char *a[6], *b[6], *want;
} argument_row[] = {
    {{"log", "--oneline"}, {"log", "--oneline"}, "log --oneline; "},
    {{"show", "12ab"}, {"show", "99ff"}, "show *; "},
    {{"show", "-5"}, {"show", "-6"}, "show -5; show -6; "},
    {{"push", "a"}, {"show", "a"}, "push a; show a; "},
    {{"-n", "5", "/w/a"}, {"-n", "17", "/w/b/c"}, "-n <n> <p>; "},
    {{"-n", "5", "/w/../a"}, {"-n", "5", "/w/b"}, "-n 5 *; "},
    {{"-c", "git log"}, {"-c", "rm -rf"}, "-c git log; -c rm -rf; "},
    {{"-lc", "x"}, {"-lc", "y"}, "-lc x; -lc y; "},
    {{"-ce", "x"}, {"-ce", "y"}, "-ce x; -ce y; "},
    {{"-pe", "x"}, {"-pe", "y"}, "-pe x; -pe y; "},
    {{"-r", "x"}, {"-r", "y"}, "-r x; -r y; "},
    {{"-m", "x", "1"}, {"-m", "x", "2"}, "-m x 1; -m x 2; "},
    {{".", "-exec", "x"}, {".", "-exec", "y"}, ". -exec x; . -exec y; "},
    {{".", "-ok", "x"}, {".", "-ok", "y"}, ". -ok x; . -ok y; "},
    {{"--require", "/w/a", "b"}, {"--require", "/w/b", "b"},
	"--require /w/a b; --require /w/b b; "},
    {{"a", "--import", "b", "c"}, {"a", "--import", "b", "d"},
	"a --import b c; a --import b d; "},
    {{"a", "--to", "x"}, {"a", "--to", "y"}, "a --to x; a --to y; "},
    {{"-f", "/w/a"}, {"-f", "/w/b"}, "-f /w/a; -f /w/b; "},
    {{"a", "--", "x"}, {"a", "--", "y"}, "a -- *; "},
    {{"x", "--"}, {"x"}, "x --; x; "},
    {{"a", "--long", "b", "x"}, {"a", "--long", "b", "y"}, "a --long b *; "},
};

static void
arguments(void **state)
{
	static struct argv_lines l;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(argument_row); i++) {
		size_t n[2] = {0, 0};

		l.n = l.left_out = 0;
		while (argument_row[i].a[n[0]] != NULL)
			n[0]++;
		while (argument_row[i].b[n[1]] != NULL)
			n[1]++;
		argv_add(&l, n[0], argument_row[i].a, "/w");
		argv_add(&l, n[1], argument_row[i].b, "/w");
		assert_string_equal(pattern(&l), argument_row[i].want);
	}
	assert_int_equal(l.line[0].word[3].kind, WORD_ANY); /* a --long b * */
	assert_true(argv_may_be_option(&l.line[0], 3));
	assert_false(argv_may_be_option(&l.line[0], 2));
	l.line[0].word[1].text = "--";
	assert_false(argv_may_be_option(&l.line[0], 3));
	/* no more lines than there is room for */
	l.n = l.left_out = 0;
	for (size_t i = 0; i < ARGV_LINES_MAX + 3; i++) {
		char *text = calloc(1, 8);
		const char *word = text;

		assert_non_null(text);
		(void)snprintf(text, 8, "-%zu", i);
		argv_add(&l, 1, &word, "");
		if (i >= ARGV_LINES_MAX)
			free(text);
	}
	assert_int_equal(l.n, ARGV_LINES_MAX);
	assert_int_equal(l.left_out, 3);
	for (size_t i = 0; i < l.n; i++)
		free((char *)(uintptr_t)l.line[i].word[0].text);
}

/* ---- text of the server -------------------------------------------------------------- */

static const char *
put(void (*fn)(FILE *, const char *), const char *text)
{
	static char out[4096];
	FILE *f = fmemopen(out, sizeof(out), "w");

	assert_non_null(f);
	fn(f, text);
	(void)fputc('\0', f);
	assert_int_equal(fclose(f), 0);
	return out;
}

static void
word(FILE *f, const char *text)
{
	if (!learn_word(f, text))
		fputs("none", f);
}

/* Nothing that a server names ends a comment or a word, or hides in it. */
static void
inert(void **state)
{
	char longer[400];

	(void)state;
	assert_string_equal(put(learn_inert, "a b#c"), "a b#c");
	assert_string_equal(put(learn_inert, "x\n    read /"), "x\\x0a    read /");
	assert_string_equal(put(learn_inert, "x\\"), "x\\x5c");
	assert_string_equal(put(learn_inert, "\xe2\x80\xae\x1b"), "\\xe2\\x80\\xae\\x1b");
	memset(longer, 'a', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(strlen(put(learn_inert, longer)), LEARN_SHOWN_MAX + 3);

	assert_string_equal(put(word, "/srv/a-b"), " /srv/a-b");
	assert_string_equal(put(word, "from"), " \"from\"");
	assert_string_equal(
	    put(word, "a \"b\" \\ $x * {"), " \"a \\\"b\\\" \\\\ $x * {\"");
	assert_string_equal(put(word, ""), " \"\"");
	assert_string_equal(put(word, "a\nb"), "none");
	assert_string_equal(put(word, "a\xe2\x80\xae"), "none");
	assert_string_equal(put(word, "\xff"), "none");
	assert_string_equal(put(word, "caf\xc3\xa9"), " \"caf\xc3\xa9\"");

	assert_true(learn_host_named("api.github.com"));
	assert_false(learn_host_named("192.0.2.1"));
	assert_false(learn_host_named("localhost"));
	assert_false(learn_host_named("a.example\n"));
	assert_false(learn_host_named("*.example"));
}

/* ---- credentials ---------------------------------------------------------------------- */

static void
credentials(void **state)
{
	(void)state;
	assert_true(credential_is("/home/joe/.ssh/id_rsa", "/home/joe"));
	assert_true(credential_is("/home/joe/.config/gh/hosts.yml", "/home/joe"));
	assert_true(credential_is("/srv/x/.env", "/home/joe"));
	assert_true(credential_is("/etc/shadow", "/home/joe"));
	assert_false(credential_is("/home/joe/notes/a", "/home/joe"));
	assert_false(credential_is("/srv/x/.environment", "/home/joe"));
	assert_false(credential_is("/root/notes", "/root"));
}

struct found {
	char dir[64], text[1024];
};

static int
found_add(void *arg, const char *path)
{
	struct found *f = arg;
	size_t len = strlen(f->text);

	(void)snprintf(f->text + len, sizeof(f->text) - len, "%s;",
	    path + strlen(f->dir)); /* as many as fit */
	return 0;
}

/* Makes it below the directory; a name that ends in "/" is one itself. */
static void
make(const struct found *f, const char *name)
{
	char path[PATH_MAX];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	if (name[strlen(name) - 1] == '/') {
		assert_int_equal(mkdir(path, 0700), 0);
		return;
	}
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fclose(file), 0);
}

/* Those deep in a project, and those below a directory of the home directory. */
static void
credentials_that_are_there(void **state)
{
	static const char *const name[] = {"proj/", "proj/api/", "proj/api/.env",
	    "proj/api/.environment", "proj/.aws/", "proj/.aws/.env", ".config/",
	    ".config/gh/", ".config/other/"};
	struct found f = {.dir = "/tmp/kennel-learn-XXXXXX"};
	char dir[PATH_MAX];
	size_t len;

	(void)state;
	assert_non_null(mkdtemp(f.dir));
	for (size_t i = 0; i < ARRAY_LEN(name); i++)
		make(&f, name[i]);
	(void)snprintf(dir, sizeof(dir), "%s/proj", f.dir);
	assert_int_equal(credentials_below(dir, f.dir, found_add, &f), 0);
	assert_non_null(strstr(f.text, "/proj/api/.env;"));
	assert_non_null(strstr(f.text, "/proj/.aws;"));
	assert_int_equal(strlen(f.text), strlen("/proj/api/.env;/proj/.aws;"));
	f.text[0] = '\0';
	(void)snprintf(dir, sizeof(dir), "%s/.config", f.dir);
	assert_int_equal(credentials_below(dir, f.dir, found_add, &f), 0);
	assert_string_equal(f.text, "/.config/gh;");
	f.text[0] = '\0'; /* the control: the home directory of another */
	assert_int_equal(credentials_below(dir, "/home/joe", found_add, &f), 0);
	assert_string_equal(f.text, "");
	/* deeper than is searched: never silently */
	len = (size_t)snprintf(dir, sizeof(dir), "%s/proj", f.dir);
	for (int i = 0; i <= CREDENTIALS_DEPTH_MAX; i++) {
		len += (size_t)snprintf(dir + len, sizeof(dir) - len, "/d");
		assert_int_equal(mkdir(dir, 0700), 0);
	}
	assert_int_equal(credentials_below(f.dir, f.dir, found_add, &f), -E2BIG);
	for (; len > strlen(f.dir) + strlen("/proj"); len -= 2) {
		dir[len] = '\0';
		assert_int_equal(rmdir(dir), 0);
	}
	for (size_t i = ARRAY_LEN(name); i-- > 0;) {
		(void)snprintf(dir, sizeof(dir), "%s/%s", f.dir, name[i]);
		assert_int_equal(remove(dir), 0);
	}
	assert_int_equal(rmdir(f.dir), 0);
}

/* ---- the client's arguments ------------------------------------------------------------- */

static void
params(void **state)
{
	static const struct {
		const char *schema, *want;
	} row[] = {
	    {"{}", "{}"},
	    {"{\"required\":[\"path\"],\"properties\":{\"path\":{\"type\":\"string\"},"
	     "\"other\":{\"type\":\"string\"}}}",
		"{\"path\":\"/w\"}"},
	    {"{\"required\":[\"n\",\"on\"],\"properties\":{\"n\":{\"type\":\"integer\","
	     "\"minimum\":3},\"on\":{\"type\":\"boolean\"}}}",
		"{\"n\":3,\"on\":false}"},
	    {"{\"required\":[\"e\"],\"properties\":{\"e\":{\"enum\":[\"one\",\"two\"]}}}",
		"{\"e\":\"one\"}"},
	    {"{\"required\":[\"l\"],\"properties\":{\"l\":{\"type\":\"array\",\"items\":"
	     "{\"type\":[\"string\",\"null\"]}}}}",
		"{\"l\":[\"a\"]}"},
	    {"{\"required\":[\"s\"],\"properties\":{\"s\":{\"type\":\"string\"},"
	     "\"path\":{\"type\":\"string\",\"default\":\".\"},\"filePath\":{\"type\":"
	     "\"string\"},\"dirs\":{\"type\":\"array\"}}}",
		"{\"s\":\"a\",\"path\":\"/w\"}"}, /* an optional directory is given */
	    {"{\"properties\":{\"repo\":{\"type\":\"string\"},\"cwd\":{\"type\":"
	     "\"string\"}}}",
		"{\"repo\":\"/w\",\"cwd\":\"/w\"}"},
	    {"{\"required\":[\"gone\"]}", NULL},
	    {"{\"required\":[\"x\"],\"properties\":{\"x\":{\"type\":\"object\","
	     "\"required\":"
	     "[\"x\"],\"properties\":{\"x\":{\"type\":\"object\",\"required\":[\"x\"],"
	     "\"properties\":{\"x\":{\"type\":\"object\",\"required\":[\"x\"],"
	     "\"properties\":"
	     "{\"x\":{\"type\":\"object\",\"required\":[]}}}}}}}}}",
		NULL}, /* deeper than values are made */
	};
	const struct exercise_values v = {.dir = "/w", .file = "/w/f"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		struct json_message m;
		char text[1024], want[512];
		struct buf out;
		int n =
		    snprintf(text, sizeof(text), "{\"inputSchema\":%s}", row[i].schema);

		assert_int_equal(json_scan((uint8_t *)text, (size_t)n, &m), 0);
		buf_init(&out, EXERCISE_PARAMS_MAX);
		if (row[i].want == NULL) {
			assert_int_equal(exercise_params(m.root, "t", &v, &out), -ENOENT);
		} else {
			assert_int_equal(exercise_params(m.root, "t", &v, &out), 0);
			(void)snprintf(want, sizeof(want),
			    "\"name\":\"t\",\"arguments\":%s", row[i].want);
			assert_string_equal(buf_str(&out), want);
		}
		buf_free(&out);
	}
}

static void
corpus(void **state)
{
	(void)state;
	assert_true(corpus_each("tests/fuzz/corpus/learn", corpus_input) >= 6);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(filter),
	    cmocka_unit_test(files_by_name),
	    cmocka_unit_test(directories_fold),
	    cmocka_unit_test(directories_to_write),
	    cmocka_unit_test(only_looked_at),
	    cmocka_unit_test(looks),
	    cmocka_unit_test(arguments),
	    cmocka_unit_test(inert),
	    cmocka_unit_test(credentials),
	    cmocka_unit_test(credentials_that_are_there),
	    cmocka_unit_test(params),
	    cmocka_unit_test(corpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
