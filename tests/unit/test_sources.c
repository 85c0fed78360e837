/*
 * Which source answers for a secret: the lines of sources.kennel, the longest prefix,
 * sidecars, credentials and what may not be one.  S1-124
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "policy/base/arena.h"
#include "policy/sources/sources.h"
#include "shim/base/array.h"
#include "tests/unit/corpus.h"

#define HEX      "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define SENTINEL "s3ntinel"

static const char *file_text, *sidecar_text;
static struct arena *arena;
static struct sources sources;
static char *said;

static int
memory_read(void *arg, const char *path, size_t max, char **ret_text, size_t *ret_len)
{
	const char *text = strcmp(path, "sources.kennel") == 0 ? file_text : sidecar_text;

	(void)arg;
	(void)max;
	if (text == NULL)
		return -ENOENT;
	*ret_text = strdup(text);
	*ret_len = strlen(text);
	return *ret_text == NULL ? -ENOMEM : 0;
}

static int
reads(const char *text)
{
	static const struct policy_reader memory = {.read = memory_read};
	size_t len;
	FILE *f;
	int r;

	arena_free(arena);
	arena = arena_new();
	free(said);
	said = NULL;
	f = open_memstream(&said, &len);
	assert_true(arena != NULL && f != NULL);
	file_text = text;
	r = sources_read(arena, &memory, "sources.kennel", f, &sources);
	assert_int_equal(fclose(f), 0);
	assert_null(strstr(said, SENTINEL)); /* no word of the file is told */
	return r;
}

static void
refused(const char *text, const char *part)
{
	assert_int_equal(reads(text), -EINVAL);
	if (strstr(said, part) == NULL)
		fail_msg("%s: no \"%s\" in %s", text, part, said);
}

static const char *
answers(const char *path)
{
	const struct route *x = sources_find(&sources, path);

	return sources.source[x == NULL ? 0 : x->source].name.text;
}

static int
answer(const char *path, struct source_answer *ret)
{
	struct word variable = {.text = "TOKEN", .len = 5};
	struct reason why;

	return sources_answer(&sources, &variable, path, ret, &why);
}

/* ---- which one ---- */

static void
the_longest_prefix_answers(void **state)
{
	(void)state;
	assert_int_equal(reads("source a {\n\tfrom pass $reference\n}\n"
			       "route team/github b # its source comes later\n"
			       "route team a\nroute team/github/token/old vault\n"
			       "secret team/github/own c as-it-is\n"
			       "source b {\n\tfrom pass b/$reference\n}\n"
			       "source c {\n\tfrom pass $reference\n}\n"),
	    0);
	assert_string_equal(answers("team/x/y"), "a");
	assert_string_equal(answers("team/git/y"), "a");
	assert_string_equal(answers("team/github/y"), "b");
	assert_string_equal(answers("team/github/token"), "b");
	assert_string_equal(answers("team/github/token/old"), "vault");
	assert_string_equal(answers("team/github/token/older"), "b");
	assert_string_equal(answers("team/github/own"), "c");
	assert_string_equal(answers("team/github/own/x"), "b");
	assert_string_equal(answers("teams/x/y"), "vault"); /* no line */
	assert_int_equal(
	    reads("route a/b vault\ndefault s\nsource s {\n\tfrom pass x\n}\n"), 0);
	assert_string_equal(answers("a/b/c"), "vault");
	assert_string_equal(answers("a/c/c"), "s");
	assert_int_equal(reads(NULL), 0); /* no file */
	assert_string_equal(answers("a/b/c"), "vault");
}

static void
a_tie_is_an_error(void **state)
{
	(void)state;
	refused("route team vault\nroute team vault\n",
	    ":2:7: error: duplicate route: first defined on line 1");
	refused("secret a/b/c vault\nsecret a/b/c vault x\n", "duplicate route");
	refused("default vault\ndefault vault\n", "duplicate route");
	refused("source a {\n\tfrom pass x\n}\nsource a {\n\tfrom pass x\n}\n",
	    "duplicate source");
	/* a prefix, and the same as a whole path, are no tie */
	assert_int_equal(reads("route a/b/c vault\nsecret a/b/c vault x\n"), 0);
	assert_int_equal(sources_find(&sources, "a/b/c")->by, BY_SECRET);
}

static void
a_reference_takes_its_place(void **state)
{
	struct source_answer a;

	(void)state;
	assert_int_equal(
	    reads("source kv {\n\tfrom hashicorp-vault https://kv.example:8200 "
		  "\"secret/$reference/$reference\" token\n}\nsource op {\n\tfrom op "
		  "$reference\n}\n"
		  "route team kv\nsecret a/b/c op op://dev/x/y\nroute a/b op\n"),
	    0);
	assert_int_equal(answer("team/x/y", &a), 0);
	assert_int_equal(a.stmt.word_n, 5);
	assert_string_equal(a.stmt.word[0].text, "TOKEN");
	assert_string_equal(a.stmt.word[1].text, "hashicorp-vault");
	assert_string_equal(a.stmt.word[3].text, "secret/team/x/y/team/x/y");
	assert_string_equal(a.stmt.word[4].text, "token");
	assert_int_equal(answer("a/b/c", &a), 0);
	assert_string_equal(a.stmt.word[2].text, "op://dev/x/y");
	assert_string_equal(a.reference, "op://dev/x/y");
	/* nothing of a reference is an option, a pattern or a variable */
	refused("secret a/b/c vault -x\n", "not starting with `-`");
	assert_int_equal(reads("source f {\n\tfrom file $reference\n}\nroute a f\n"
			       "secret a/b/d f /run/*\n"),
	    0);
	assert_int_equal(answer("a/b/c", &a), -EINVAL); /* no path of a file */
	assert_int_equal(answer("a/b/d", &a), 0);
	assert_true(a.stmt.word[2].quoted);
}

/* ---- plugins ---- */

#define SIDECAR \
	"plugin acme {\n\tversion 1.2\n\trun /usr/lib/acme\n\tsha256 " HEX \
	"\n\tenv ACME_ADDR HOME\n}\n"
#define SOURCE(more) \
	"source work {\n\tfrom plugin /etc/acme.plugin\n" more "}\nroute team work\n"

static void
a_plugin_is_what_its_sidecar_says(void **state)
{
	struct source_answer a;

	(void)state;
	sidecar_text = SIDECAR;
	assert_int_equal(reads(SOURCE("\tenv ACME_ADDR https://acme.example\n\tenv "
				      "HOME\n\tmay network files\n")),
	    0);
	assert_int_equal(answer("team/x/y", &a), 0);
	assert_string_equal(a.source->sidecar->program, "/usr/lib/acme");
	assert_string_equal(a.source->sidecar->version, "1.2");
	assert_int_equal(a.source->sidecar->sha256[1], 0x23);
	assert_string_equal(a.source->env[0], "ACME_ADDR=https://acme.example");
	assert_string_equal(a.source->env[1], "HOME");
	assert_int_equal(a.source->may, SECRET_MAY_NETWORK | SECRET_MAY_FILES);
	assert_string_equal(a.stmt.word[1].text, "plugin");
	assert_string_equal(a.stmt.word[2].text, "/usr/lib/acme");
	refused(SOURCE("\tenv OTHER x\n"), "does not name OTHER");
	refused(SOURCE("\tenv ACME_ADDR\n"), "takes a variable and its value");
	refused(SOURCE("\tenv PATH /x\n"), "is set by kennel");
	refused(SOURCE("\tenv LD_PRELOAD /x\n"), "is not allowed");
	refused(
	    "source work {\n\tfrom pass x\n\tenv A b\n}\n", "only allowed for a plugin");
}

static void
a_sidecar_out_of_order_is_refused(void **state)
{
	static const char *const bad[] = {
	    "",
	    "plugin acme\n",
	    "plugin acme {\n",
	    "plugin acme {\n}\n",
	    "plugin Acme {\n\tversion 1\n\trun /x\n\tsha256 " HEX "\n}\n",
	    "plugin acme {\n\tversion 1\n\trun x\n\tsha256 " HEX "\n}\n",
	    "plugin acme {\n\tversion 1\n\trun /x/../y\n\tsha256 " HEX "\n}\n",
	    "plugin acme {\n\tversion 1\n\trun /x\n\tsha256 1234\n}\n",
	    "plugin acme {\n\tversion 1\n\trun /x\n\tsha256 "
	    "0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef\n}\n",
	    "plugin acme {\n\tversion 1\n\trun /x\n\tsha256 " HEX "\n\tpassword " SENTINEL
	    "\n}\n",
	    "plugin acme {\n\tversion 1\n\trun /x\n\trun /y\n\tsha256 " HEX "\n}\n",
	    "plugin acme {\n\tversion 1\n\trun /x\n\tsha256 " HEX
	    "\n\tenv LD_PRELOAD\n}\n",
	    SIDECAR SIDECAR,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		sidecar_text = bad[i];
		refused(SOURCE(""), "invalid sidecar");
	}
	sidecar_text = NULL;
	refused(SOURCE(""), "unable to read this sidecar");
	sidecar_text = SIDECAR; /* the control */
	assert_int_equal(reads(SOURCE("")), 0);
}

/* ---- credentials ---- */

#define BOX(name, more) "source " name " {\n\tfrom cmd /bin/echo $reference\n" more "}\n"
#define NEEDS(path)     "\tcredential T from source " path "\n"

static void
a_credential_comes_from_what_needs_none(void **state)
{
	struct source_answer a;

	(void)state;
	assert_int_equal(
	    reads(BOX("a", NEEDS("in/b/t") "\tcredential U from env AGENT_U\n")
		    BOX("b", "") "route team a\nroute in b\n"),
	    0);
	assert_int_equal(answer("team/x/y", &a), 0);
	assert_int_equal(a.source->credential_n, 2);
	assert_string_equal(a.credential[0].stmt.word[0].text, "T");
	assert_string_equal(a.credential[0].stmt.word[3].text, "in/b/t");
	assert_string_equal(a.credential[1].stmt.word[1].text, "env");
	/* from the vault, where no line says another */
	assert_int_equal(reads(BOX("a", NEEDS("in/b/t")) "route team a\n"), 0);
	assert_int_equal(answer("team/x/y", &a), 0);
	assert_string_equal(a.credential[0].stmt.word[1].text, "vault");
}

static void
a_circle_is_refused_with_its_names(void **state)
{
	(void)state;
	refused(BOX("a", NEEDS("team/a/t")) "route team a\n",
	    "credential cycle: a -> team/a/t -> a");
	refused(BOX("a", NEEDS("in/b/t"))
		    BOX("b", NEEDS("team/a/t")) "route team a\nroute in b\n",
	    "a -> in/b/t -> b -> team/a/t -> a");
	refused(BOX("a", NEEDS("in/b/t")) BOX("b", NEEDS("on/c/t"))
		    BOX("c", NEEDS("in/b/t")) "route in b\nroute on c\n",
	    "b -> on/c/t -> c -> in/b/t -> b");
	refused(BOX("a", NEEDS("x/y/z")) "default a\n", "a -> x/y/z -> a");
	/* by a line of the path's own, it is no circle any more */
	assert_int_equal(
	    reads(BOX("a", NEEDS("team/a/t")) "route team a\nsecret team/a/t vault\n"),
	    0);
	/* the second of two */
	refused(BOX("a", "\tcredential S from env AGENT_S\n" NEEDS(
			     "team/a/t")) "route team a\n",
	    "a -> team/a/t -> a");
}

static void
a_second_step_is_refused(void **state)
{
	(void)state;
	refused(BOX("a", NEEDS("in/b/t")) BOX("b",
		    "\tcredential T from file /run/t\n") "route team a\nroute in b\n",
	    "too deep: source b");
	refused("source v {\n\tfrom vault $reference\n\tcredential T from env T\n}\n",
	    "only allowed for a program");
	refused(BOX("a", "\tcredential T from source nothing\n"),
	    "takes the path of a secret");
	refused(BOX("a", "\tcredential T from source\n"), "`credential` takes NAME from");
	refused(BOX("a", "\tcredential T from plugin /x\n"), "expected a source");
	refused(BOX("a", "\tcredential HOME from env T\n"), "is set by kennel");
	refused(BOX("a", "\tcredential T from env A\n\tcredential T from env B\n"),
	    "duplicate credential");
}

/* ---- what is no file of sources ---- */

static void
errors_name_their_place(void **state)
{
	(void)state;
	refused(SENTINEL "\n",
	    "sources.kennel:1:1: error: expected source, route, secret or default");
	refused("source " SENTINEL "- {\n\t" SENTINEL " x\n}\n",
	    ":2:2: error: unknown field in a source");
	refused("route team " SENTINEL "\n", ":1:12: error: unknown source");
	refused("route Team vault\n", "first parts of a secret's path");
	refused("secret a/b vault\n", "error");
	refused("source a {\n\tfrom vault\n}\n", "error");
	refused("source a {\n\tfrom source a/b/c\n}\n", "expected a source");
	refused("source a {\n", "expected `}`");
	refused("source a {\n}\n", "`from` is missing");
	refused("source a\n", "takes a name, and a block");
	refused("route a vault {\n}\n", "takes");
	refused(
	    "source a {\n\tfrom pass x {\n\t}\n}\n", "`{` is not allowed after a field");
	refused("source vault {\n\tfrom pass x\n}\n", "is reserved");
	refused("source a {\n\tfrom cmd /lib64/ld-linux-x86-64.so.2 x\n}\n", "loader");
	refused("source a {\n\tfrom hashicorp-vault http://x.example $reference y\n}\n",
	    "https://");
	refused("default vault\n\001\n", "control character");
}

static void
corpus_of_sources(void **state)
{
	(void)state;
	assert_true(corpus_each("tests/fuzz/corpus/sources", corpus_input) >= 15);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_longest_prefix_answers),
	    cmocka_unit_test(a_tie_is_an_error),
	    cmocka_unit_test(a_reference_takes_its_place),
	    cmocka_unit_test(a_plugin_is_what_its_sidecar_says),
	    cmocka_unit_test(a_sidecar_out_of_order_is_refused),
	    cmocka_unit_test(a_credential_comes_from_what_needs_none),
	    cmocka_unit_test(a_circle_is_refused_with_its_names),
	    cmocka_unit_test(a_second_step_is_refused),
	    cmocka_unit_test(errors_name_their_place),
	    cmocka_unit_test(corpus_of_sources),
	};
	int r = cmocka_run_group_tests(tests, NULL, NULL);

	arena_free(arena);
	free(said);
	return r;
}
