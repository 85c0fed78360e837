/*
 * The review page of one server (review.c), as text or as a self-contained HTML
 * file without scripts.
 */
#ifndef KENNEL_POLICY_PRINT_REVIEW_H
#define KENNEL_POLICY_PRINT_REVIEW_H

#include <stdbool.h>
#include <stdio.h>

#include "policy/sealed/policy.h"

/* The header and footer of a file with pages. */
void doc_begin(const struct policy *, const char *title, bool html, FILE *);
void doc_end(bool html, FILE *);
/* The page of one server.  0 or -ENOMEM. */
int doc_server(const struct policy *, const struct sealed_server *, bool html, FILE *);

#endif
