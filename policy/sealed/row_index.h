/*
 * Private to matcher, sealer and loader: which rows can hold for a question.
 *
 * A table of more than INDEX_ROWS rows of one server has a hash table in SLOTS:
 * open addressing, a power of two and at least twice the rows, each slot 0 or a
 * row number (from the server's first) plus 1 below the upper twelve bits of its
 * key, put in in ascending order.  Each row stands under one key:
 *
 *	gate	its kind, and its name; of a glob what stands before the star
 *	exec	the file, and the literal words that its patterns begin with
 *	net	its kind, and its host, from the end; all CIDR under one
 *
 * gate_depths and exec_depths say which lengths there are, so a question is asked
 * of a few clusters, however many rows there are.
 */
#ifndef KENNEL_POLICY_INDEX_H
#define KENNEL_POLICY_INDEX_H

#include "policy/sealed/policy.h"

#define INDEX_ROWS      8
#define INDEX_DEPTH_MAX 62 /* bytes of a glob, words of an exec; more count as so many */

enum index_of { INDEX_EXEC, INDEX_GATE, INDEX_NET };

/* The key of row i (of the whole table), and its depth. */
uint32_t index_key(const struct policy *, const struct sealed_server *, enum index_of,
    uint32_t i, uint32_t *ret_depth);
#define INDEX_ROW_MASK 0xfffffu /* a file holds fewer rows */

static inline uint32_t
index_slot(uint32_t row, uint32_t key)
{
	return (key & ~INDEX_ROW_MASK) | (row + 1);
}

/* How many slots a table of so many rows has. */
uint32_t index_slots(uint32_t row_n);

/* Calls fn for each row that may hold. */
typedef void index_fn(const struct policy *, uint32_t row, void *arg);
void index_execs(const struct policy *, const struct sealed_server *,
    const struct policy_exec_ask *, index_fn *fn, void *arg);
void index_gates(const struct policy *, const struct sealed_server *,
    const struct policy_gate_ask *, index_fn *fn, void *arg);
void index_nets(const struct policy *, const struct sealed_server *,
    const struct policy_net_ask *, index_fn *fn, void *arg);

/* seal_index.c: for all servers, when rows and texts are where they stay.  0 or
 * -ENOMEM. */
int index_make(struct buf table[SEALED_KIND_END]);

/* Is the server's index what the sealer makes of its rows?  NULL, or what not. */
const char *index_check(const struct policy *, const struct sealed_server *);

#endif
