/*
 * Private to the matcher, the sealer and the loader: finds the rows that can
 * match a request.
 *
 * A table with more than INDEX_ROWS rows of one server has a hash table in
 * SLOTS. It uses open addressing; its size is a power of two and at least twice
 * the number of rows.  A slot is 0, or a row number (from the server's first
 * row) plus 1, below the upper twelve bits of the row's key.  Rows are inserted
 * in ascending order.  Each row has one key:
 *
 *	gate	its kind, and its name; for a glob the part before the star
 *	exec	the file, and the literal words at the start of its patterns
 *	net	its kind, and its host, from the end; all CIDR share one
 *
 * gate_depths and exec_depths list the key lengths in use, so a lookup probes a
 * few clusters, however many rows there are.
 */
#ifndef KENNEL_POLICY_SEALED_ROW_INDEX_H
#define KENNEL_POLICY_SEALED_ROW_INDEX_H

#include "policy/sealed/policy.h"
#include "shim/base/buf.h"

#define INDEX_ROWS      8
#define INDEX_DEPTH_MAX 62 /* length of a key in bytes or words; longer: this */

enum index_of { INDEX_EXEC, INDEX_GATE, INDEX_NET };

/* The key of row i (an index into the whole table), and its depth. */
uint32_t index_key(const struct policy *, const struct sealed_server *, enum index_of,
    uint32_t i, uint32_t *ret_depth);
#define INDEX_ROW_MASK 0xfffffu /* a file has fewer rows than this */

static inline uint32_t
index_slot(uint32_t row, uint32_t key)
{
	return (key & ~INDEX_ROW_MASK) | (row + 1);
}

/* How many slots a table of row_n rows has. */
uint32_t index_slots(uint32_t row_n);

/* Calls fn for each row that may match. */
typedef void index_fn(const struct policy *, uint32_t row, void *arg);
void index_execs(const struct policy *, const struct sealed_server *,
    const struct policy_exec_ask *, index_fn *fn, void *arg);
void index_gates(const struct policy *, const struct sealed_server *,
    const struct policy_gate_ask *, index_fn *fn, void *arg);
void index_nets(const struct policy *, const struct sealed_server *,
    const struct policy_net_ask *, index_fn *fn, void *arg);

/*
 * write_index.c: builds the index of all servers, when rows and strings have
 * their final places.  0 or -ENOMEM.
 */
int index_make(struct buf table[SEALED_KIND_END]);

/*
 * Is the server's index what the sealer builds from its rows?  NULL, or the
 * difference.
 */
const char *index_check(const struct policy *, const struct sealed_server *);

#endif
