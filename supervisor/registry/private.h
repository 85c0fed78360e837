/*
 * Shared by the files of this room only.
 */
#ifndef KENNEL_SUPERVISOR_REGISTRY_PRIVATE_H
#define KENNEL_SUPERVISOR_REGISTRY_PRIVATE_H

#include "supervisor/registry/registry.h"

/* ---- server_rows.c --------------------------------------------------------- */

/* The texts of a row, in the order of the columns. */
#define ROW_TEXTS 14
void row_texts(struct server_row *, const char **ret[ROW_TEXTS]);
/* Copies n texts to one block, which the caller frees; NULL stays NULL. */
int texts_copy(const char **text[], size_t n, char **ret_own);

#endif
