/*
 * Writes a sealed policy: rows in, bytes out.  Equal rows give equal bytes.
 */
#ifndef KENNEL_POLICY_COMPILE_WRITE_SEALED_H
#define KENNEL_POLICY_COMPILE_WRITE_SEALED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/sealed/sealed.h"
#include "shim/base/buf.h"

struct sealer *sealer_new(void);
void sealer_free(struct sealer *);
/*
 * Equal texts give equal refs.  When memory runs out the sealer stays failed,
 * and sealer_finish returns the error.
 */
struct sealed_ref sealer_str(struct sealer *, const char *, size_t len);
/* Appends a row to a table (size is the row's size); returns its index. */
uint32_t sealer_row(struct sealer *, enum sealed_kind, const void *row, size_t size);
/* How many rows a table has now. */
uint32_t sealer_rows(const struct sealer *, enum sealed_kind);
/* A row to modify, or NULL; valid until the next sealer_row. */
void *sealer_at(struct sealer *, enum sealed_kind, uint32_t);
/* A string of the pool; valid until the next sealer_str. */
const char *sealer_text(const struct sealer *, struct sealed_ref);
/*
 * sealer_recall: the range stored under this key, or false.  sealer_keep: store
 * one; 0 or -ENOMEM.
 */
bool sealer_recall(const struct sealer *, const char *key, struct sealed_range *ret);
int sealer_remember(struct sealer *, const char *key, struct sealed_range);
/* The list of source files, which belongs after what sealer_finish writes. */
struct buf *sealer_sources(struct sealer *);
/* The loader's reason, after sealer_finish failed. */
const char *sealer_why(const struct sealer *);
/*
 * Sorts servers by name, lays out the file, and checks the result with
 * policy_load_bytes before it returns 0.
 */
int sealer_finish(struct sealer *, struct buf *out);

#endif
