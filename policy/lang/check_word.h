/*
 * Checks of one word, for policies and for sources.kennel.
 */
#ifndef KENNEL_POLICY_LANG_CHECK_WORD_H
#define KENNEL_POLICY_LANG_CHECK_WORD_H

#include "policy/base/diag.h"
#include "policy/lang/ast.h"

struct check {
	struct tree *tree;
	struct diag *diag;
	const struct server *server; /* for conflict.c */
};

typedef void check_fn(struct check *, struct stmt *);

struct shown {
	char text[DIAG_TEXT_CAP];
};

/* The source text of a word, safe for a message. */
const char *check_show(struct shown *, const struct word *);
/* Requires a literal word; false: reported. */
bool check_literal(struct check *, const struct word *);
/* Requires a path in normal form; false: reported. */
bool check_path_word(struct check *, const struct word *);
/* Requires the form of a variable's name; false: reported. */
bool check_name(struct check *, const struct word *);
/* Requires the name of a variable that may be set; false: reported. */
bool check_variable(struct check *, const struct word *);
/* True: the name is a prefix ("NAME_*"), valid or reported. */
bool check_beginning(struct check *, const struct word *);
/* Is it ld.so or another loader, which can start any program? */
bool check_is_loader(const char *path);

#endif
