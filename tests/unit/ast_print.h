/* A parsed policy as text. */
#ifndef KENNEL_TESTS_UNIT_AST_PRINT_H
#define KENNEL_TESTS_UNIT_AST_PRINT_H

#include <stdio.h>

struct tree;

/* Canonical text; whatever parses can be printed and parses to the same.
 * 0, or a negative errno of the stream. */
int tree_print(const struct tree *, FILE *);

#endif
