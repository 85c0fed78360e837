/*
 * secret NAME from source PATH: finds the source for the compiler.
 */
#define DIAG_CODE "sources"

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

/* Reads the router once for a compilation.  NULL: reported. */
static const struct router *
router_of(struct tree *t, struct at at, struct diag *d)
{
	const struct policy_reader *reader = t->source_n > 0 ? t->source[0].reader : NULL;
	struct router *router;
	char *said = NULL;
	size_t len = 0;
	FILE *f;
	int r;

	if (t->router != NULL)
		return t->router;
	f = open_memstream(&said, &len);
	router = arena_alloc(t->arena, sizeof(*router));
	if (f == NULL || router == NULL) {
		diag_error(d, at, "out of memory");
		router = NULL;
		goto out;
	}
	r = router_read(t->arena, reader, router_place(), f, router);
	if (fflush(f) != 0 || r < 0) {
		say_first(d, at, r == -EINVAL && said != NULL ? said : "out of memory");
		router = NULL;
	}
	t->router = router;
out:
	if (f != NULL)
		(void)fclose(f); /* a memory stream */
	free(said);
	return router;
}

const struct answer *
routed_answer(struct tree *t, const struct stmt *s, struct diag *d)
{
	const struct router *router = router_of(t, s->word[1].at, d);
	struct answer *a = arena_alloc(t->arena, sizeof(*a));
	char why[300] = "";
	int r;

	if (router == NULL)
		return NULL;
	r = a == NULL ? -ENOMEM
		      : router_answer(
			    router, &s->word[0], s->word[2].text, a, why, sizeof(why));
	if (r == 0)
		return a;
	diag_error(d, s->word[2].at, "unable to use the source of this secret: %s",
	    r == -ENOMEM ? "out of memory" : why);
	return NULL;
}

void
routed_check(struct check *c, struct stmt *s)
{
	const char *why = secret_path_wrong(s->word[2].text, s->word[2].len);

	if (why != NULL)
		diag_error(c->diag, s->word[2].at, "%s", why);
	else
		(void)routed_answer(c->tree, s, c->diag); /* reports errors itself */
}
