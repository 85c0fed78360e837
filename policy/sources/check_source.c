/*
 * Checks what follows `from` in a secret, also in a source of sources.kennel.
 */
#define DIAG_CODE "value"

#include <string.h>

#include "policy/lang/check_word.h"
#include "policy/lang/secret_path.h"
#include "policy/lang/secret_source.h"
#include "policy/sources/sources.h"

/*
 * A preset's words become arguments of a program: unchanged, and never an
 * option.
 */
static void
check_preset(struct check *c, const struct stmt *s)
{
	const struct word *w;
	size_t i;

	for (i = 2; i < s->word_n; i++) {
		w = &s->word[i];
		if (check_literal(c, w) && (w->text[0] == '-' || w->len == 0))
			diag_error(c->diag, w->at,
			    "%s would read this as an option: use `from cmd` to write "
			    "its exact arguments",
			    s->word[1].text);
	}
	if (strcmp(s->word[1].text, "hashicorp-vault") == 0 &&
	    strncmp(s->word[2].text, "https://", 8) != 0)
		diag_error(c->diag, s->word[2].at, "expected an https:// address");
}

/* Checks the reference after the source. */
static void
check_reference(struct check *c, struct stmt *s, const struct source_row *row)
{
	const char *why;
	size_t i;

	if (row->program != NULL) {
		check_preset(c, s);
	} else if (row->source == SOURCE_ROUTED) {
		route_check(c, s);
	} else if (row->source == SOURCE_VAULT) {
		why = secret_path_wrong(s->word[2].text, s->word[2].len);
		if (why != NULL)
			diag_error(c->diag, s->word[2].at, "%s", why);
	} else if (row->source == SOURCE_ENV) {
		(void)check_name(c, &s->word[2]); /* reports errors itself */
	} else {
		if (check_path_word(c, &s->word[2]) && row->source == SOURCE_CMD &&
		    check_is_loader(s->word[2].text))
			diag_error(c->diag, s->word[2].at,
			    "the dynamic loader cannot be the command of a secret");
		for (i = 3; i < s->word_n; i++)
			(void)check_literal(c, &s->word[i]); /* reports errors itself */
	}
}

void
check_secret_source(struct check *c, struct stmt *s)
{
	const struct source_row *row = source_find(s->word[1].text);
	size_t n = s->word_n - 2;

	if (row == NULL)
		return; /* the parser reported it */
	if (n < row->word_min || n > row->word_max)
		diag_error(c->diag,
		    s->word[n > row->word_max ? row->word_max + 2 : n + 1].at,
		    "`from %s` takes %s", row->word, row->takes);
	else
		check_reference(c, s, row);
}
