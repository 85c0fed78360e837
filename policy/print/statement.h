/*
 * Prints a row of a compiled policy as a line of the policy language
 * (statement.c).
 */
#ifndef KENNEL_POLICY_PRINT_STATEMENT_H
#define KENNEL_POLICY_PRINT_STATEMENT_H

#include <stdio.h>

#include "policy/sealed/policy.h"

/* The qualifiers of a grant: except, from, when, because ... */
void say_exec_tail(const struct policy *, const struct sealed_exec *, FILE *);
void say_gate_tail(const struct policy *, const struct sealed_gate *, FILE *);
/* " to private plain": to which addresses, by which protocol; nothing for the default. */
void say_net_how(const struct sealed_net *, FILE *);
/* " @readonly ..." for enum sealed_class. */
void say_classes(uint32_t classes, FILE *);
/* The name of an enum sealed_require_kind. */
const char *say_require_name(uint32_t kind);
/*
 * " owner ... ticket ... until ..." for a row of EXCEPTIONS; SEALED_NONE:
 * nothing.
 */
void say_exception_of(const struct policy *, uint32_t row, FILE *);
/* A condition in infix form, without `when`. */
void say_conds(const struct policy *, struct sealed_range, FILE *);
/* Argument patterns, each preceded by a space. */
void say_args(const struct policy *, struct sealed_range, FILE *);
/* One literal word in policy syntax: quoted if necessary. */
void say_word(const char *, size_t len, FILE *);
/* "file:line", printable. */
void say_at(const struct policy *, struct sealed_at, FILE *);
/* YYYY-MM-DD of days since 1970-01-01. */
void say_day(uint32_t days, FILE *);
#define SAY_DAY_CAP 16
char *say_day_text(uint32_t days, char out[SAY_DAY_CAP]);

/* The output of fn as a malloc'd string; NULL: no memory. */
typedef void say_fn(const struct policy *, const void *row, FILE *);
char *say_text(say_fn *fn, const struct policy *, const void *row);
say_fn say_exec, say_gate, say_net, say_mount, say_secret, say_secret_tail;

#endif
