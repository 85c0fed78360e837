/* The index of paths finds what a look at every line finds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "policy/check/path_holders.h"
#include "policy/lang/scalar.h"
#include "shim/base/array.h"

#define LINES 400u
#define WORDS 2u

static char text[LINES][WORDS][32];
static struct word words[LINES][WORDS];
static struct stmt lines[LINES];
static struct server server = {.stmt = lines, .stmt_n = LINES};

/* Few names, so that many paths lie below others, and siblings that begin alike. */
static void
path_make(char *out, size_t cap)
{
	static const char *const names[] = {"a", "ab", "a-b", "b", "c"};
	size_t len = 0;
	int depth = rand() % 4;

	(void)snprintf(out, cap, "/");
	for (int i = 0; i < depth; i++)
		len += (size_t)snprintf(out + len, cap - len, "/%s",
		    names[(size_t)rand() % ARRAY_LEN(names)]);
}

static void
lines_make(void)
{
	for (size_t i = 0; i < LINES; i++) {
		for (size_t k = 0; k < WORDS; k++) {
			path_make(text[i][k], sizeof(text[i][k]));
			if (rand() % 20 == 0)
				(void)snprintf(text[i][k], sizeof(text[i][k]), "$name/x");
			words[i][k] =
			    (struct word){.text = text[i][k], .len = strlen(text[i][k])};
		}
		lines[i] = (struct stmt){.kw = rand() % 3 == 0 ? KW_WRITE : KW_READ,
		    .word = words[i],
		    .word_n = WORDS};
	}
}

static const struct word *
every_line(enum keyword kw, const char *path, const struct word * not )
{
	for (size_t i = 0; i < LINES; i++)
		for (size_t k = 0; lines[i].kw == kw && k < WORDS; k++)
			if (&words[i][k] != not &&path_is_normal(text[i][k]) &&
			    path_below(text[i][k], path))
				return &words[i][k];
	return NULL;
}

static void
same_as_every_line(void **state)
{
	size_t found = 0, none = 0;

	(void)state;
	for (int round = 0; round < 20; round++) {
		struct path_holders h;

		lines_make();
		/* later rounds: few lines, of which many paths find none */
		server.stmt_n = LINES;
		for (size_t i = round < 10 ? LINES : 8; i < LINES; i++)
			lines[i].kw = KW_HIDE;
		assert_int_equal(path_holders_make(&server, KW_READ, &h), 0);
		for (size_t i = 0; i < LINES; i++) {
			const struct word *not = rand() % 2 == 0 ? &words[i][0] : NULL;
			const struct word *wanted = every_line(KW_READ, text[i][0], not );

			if (!path_is_normal(text[i][0]))
				continue;
			assert_ptr_equal(path_holders_find(&h, text[i][0], not ), wanted);
			found += wanted != NULL;
			none += wanted == NULL;
		}
		path_holders_free(&h);
	}
	assert_true(found > 100 && none > 100);
}

static void
of_no_line(void **state)
{
	struct server empty = {.stmt = NULL};
	struct path_holders h;

	(void)state;
	assert_int_equal(path_holders_make(&empty, KW_READ, &h), 0);
	assert_null(path_holders_find(&h, "/a", NULL));
	path_holders_free(&h);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(same_as_every_line),
	    cmocka_unit_test(of_no_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
