/*
 * Any bytes as sources.kennel and, behind a NUL, as every sidecar that it names: no
 * crash; every message is printable; what is taken has good names, answers the same
 * for a path whatever the order of its lines, and leads in no circle.
 *
 *	make build/fuzz/sources && build/fuzz/sources tests/fuzz/corpus/sources
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/base/arena.h"
#include "policy/lang/secret_path.h"
#include "policy/sources/sources.h"
#include "tests/fuzz/fuzz.h"

static struct {
	const char *text[2]; /* the file, a sidecar */
	size_t len[2];
} given;

static int
memory_read(void *arg, const char *path, size_t max, char **ret_text, size_t *ret_len)
{
	int which = strcmp(path, "sources.kennel") != 0;

	(void)arg;
	if (given.text[which] == NULL)
		return -ENOENT;
	if (given.len[which] > max)
		return -EFBIG;
	*ret_text = malloc(given.len[which] + 1);
	if (*ret_text == NULL)
		return -ENOMEM;
	memcpy(*ret_text, given.text[which], given.len[which]);
	*ret_len = given.len[which];
	return 0;
}

static const struct policy_reader memory = {.read = memory_read};

/* The best line again, by looking at each from the end. */
static void
found_again(const struct sources *r, const char *path, const struct route *x)
{
	size_t len, best = 0;

	for (size_t i = r->route_n; i > 0; i--) {
		const struct route *y = &r->route[i - 1];

		len = strlen(y->path);
		if (y->by == BY_SECRET && strcmp(y->path, path) == 0 &&
		    (x == NULL || x->by != BY_SECRET))
			abort();
		if (y->by == BY_ROUTE && strncmp(y->path, path, len) == 0 &&
		    (path[len] == '/' || path[len] == '\0') && len > best)
			best = len;
	}
	if (x != NULL && x->by == BY_ROUTE && strlen(x->path) != best)
		abort();
	if (best > 0 && (x == NULL || x->by == BY_DEFAULT))
		abort();
}

static void
judge(const struct sources *r, const char *path)
{
	struct word variable = {.text = "SECRET", .len = 6};
	const struct route *x = sources_find(r, path);
	struct source_answer a;
	struct reason why;

	found_again(r, path, x);
	if (sources_answer(r, &variable, path, &a, &why) != 0)
		return;
	if (a.stmt.word_n < 2 || a.reference[0] == '\0')
		abort();
	for (size_t i = 0; i < a.source->credential_n; i++)
		if (a.credential[i].route != NULL &&
		    a.credential[i].source->credential_n > 0)
			abort();
	for (size_t i = 0; i < a.stmt.word_n; i++)
		if (strlen(a.stmt.word[i].text) != a.stmt.word[i].len)
			abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const uint8_t *nul = len > 0 ? memchr(data, 0, len) : NULL;
	struct arena *arena = arena_new();
	struct sources r;
	char *said = NULL;
	size_t said_len = 0;
	FILE *f = open_memstream(&said, &said_len);

	if (arena == NULL || f == NULL)
		abort();
	given.text[0] = (const char *)data;
	given.len[0] = nul != NULL ? (size_t)(nul - data) : len;
	given.text[1] = nul != NULL ? (const char *)nul + 1 : NULL;
	given.len[1] = nul != NULL ? len - given.len[0] - 1 : 0;
	if (sources_read(arena, &memory, "sources.kennel", f, &r) == 0) {
		judge(&r, "team/github/token");
		for (size_t i = 0; i < r.route_n; i++)
			if (secret_path_wrong(r.route[i].path, strlen(r.route[i].path)) ==
			    NULL)
				judge(&r, r.route[i].path);
	}
	if (fclose(f) != 0)
		abort();
	printable(said, said_len);
	free(said);
	arena_free(arena);
	return 0;
}
