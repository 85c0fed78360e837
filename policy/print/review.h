/*
 * The review page of one server (doc.c), as text or as one HTML file that loads
 * nothing and runs nothing.
 */
#ifndef KENNEL_POLICY_DOC_H
#define KENNEL_POLICY_DOC_H

#include <stdio.h>

#include "policy/sealed/policy.h"

/* What stands around the pages of one file. */
void doc_begin(const struct policy *, const char *title, bool html, FILE *);
void doc_end(bool html, FILE *);
/* One server.  0 or -ENOMEM. */
int doc_server(const struct policy *, const struct sealed_server *, bool html, FILE *);

#endif
