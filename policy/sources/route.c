/*
 * secret NAME from source PATH: finds the source for the compiler.
 */
#define DIAG_CODE "sources"

#include "policy/base/arena.h"
#include "policy/sources/sources.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/lang/check_word.h"
#include "policy/lang/secret_path.h"

/*
 * Reports the first line of collected diagnostics, without repeating its
 * prefix.
 */
static void
say_first(struct diag *d, struct at at, const char *said)
{
	const char *mark = strstr(said, "error: ");
	int before = mark == NULL ? 0 : (int)(mark - said);
	const char *text = mark == NULL ? said : mark + strlen("error: ");

	diag_error(d, at, "%.*s%.*s", before, said, (int)strcspn(text, "\n"), text);
}

/* Reads sources.kennel once for a compilation.  NULL: reported. */
static const struct sources *
sources_of(struct tree *t, struct at at, struct diag *d)
{
	const struct policy_reader *reader = t->source_n > 0 ? t->source[0].reader : NULL;
	struct sources *sources;
	char *said = NULL;
	size_t len = 0;
	FILE *f;
	int r;

	if (t->sources != NULL)
		return t->sources;
	f = open_memstream(&said, &len);
	sources = arena_alloc(t->arena, sizeof(*sources));
	if (f == NULL || sources == NULL) {
		diag_error(d, at, "out of memory");
		sources = NULL;
		goto out;
	}
	r = sources_read(t->arena, reader, sources_place(), f, sources);
	if (fflush(f) != 0 || r < 0) {
		say_first(d, at, r == -EINVAL && said != NULL ? said : "out of memory");
		sources = NULL;
	}
	t->sources = sources;
out:
	if (f != NULL)
		(void)fclose(f); /* a memory stream */
	free(said);
	return sources;
}

const struct source_answer *
route_answer(struct tree *t, const struct stmt *s, struct diag *d)
{
	const struct sources *sources = sources_of(t, s->word[1].at, d);
	struct source_answer *a = arena_alloc(t->arena, sizeof(*a));
	struct reason why = {0};
	int r;

	if (sources == NULL)
		return NULL;
	r = a == NULL ? -ENOMEM
		      : sources_answer(sources, &s->word[0], s->word[2].text, a, &why);
	if (r == 0)
		return a;
	diag_error(d, s->word[2].at, "unable to use the source of this secret: %s",
	    r == -ENOMEM ? "out of memory" : why.text);
	return NULL;
}

void
route_check(struct check *c, struct stmt *s)
{
	const char *why = secret_path_wrong(s->word[2].text, s->word[2].len);

	if (why != NULL)
		diag_error(c->diag, s->word[2].at, "%s", why);
	else
		(void)route_answer(c->tree, s, c->diag); /* reports errors itself */
}
