/*
 * The sealer: the hash tables of rows (row_index.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/sealed/load.h"
#include "policy/sealed/policy.h"
#include "policy/sealed/row_index.h"

/* Appends one hash table for these rows. */
static int
slots_make(struct buf *slots, const struct policy *p, const struct sealed_server *server,
    enum index_of of, struct sealed_range rows, struct sealed_range *ret,
    uint64_t *depths)
{
	uint32_t n = index_slots(rows.n), *slot = calloc((size_t)n + 1, sizeof(*slot));
	uint32_t i, k, key, depth;
	int r = 0;

	if (slot == NULL)
		return -ENOMEM;
	for (i = 0; n > 0 && i < rows.n; i++) {
		key = index_key(p, server, of, rows.first + i, &depth);
		for (k = key & (n - 1); slot[k] != 0; k = (k + 1) & (n - 1))
			;
		slot[k] = index_slot(i, key);
		if (depth <= INDEX_DEPTH_MAX)
			*depths |= (uint64_t)1 << depth;
	}
	*ret = (struct sealed_range){(uint32_t)(slots->len / sizeof(*slot)), n};
	if (n > 0)
		r = buf_put(slots, slot, n * sizeof(*slot));
	free(slot);
	return r;
}

/* Runs after all rows and strings have their final places. */
int
index_make(struct buf table[SEALED_KIND_END])
{
	struct policy p = {.strings_len = table[SEALED_STRINGS].len};
	struct sealed_server *server = (void *)table[SEALED_SERVERS].data;
	struct buf *slots = &table[SEALED_SLOTS];
	size_t n = table[SEALED_SERVERS].len / sizeof(*server);
	uint64_t none = 0;
	uint32_t kind, i;
	int r = 0;

	for (kind = 1; kind < SEALED_KIND_END; kind++)
		memcpy((char *)&p + field_kind[kind].table, &table[kind].data,
		    sizeof(void *));
	for (i = 0; i < n && r == 0; i++, server++) {
		server->exec_depths = server->gate_depths = 0;
		if ((r = slots_make(slots, &p, server, INDEX_EXEC, server->execs,
			 &server->exec_slots, &server->exec_depths)) == 0 &&
		    (r = slots_make(slots, &p, server, INDEX_GATE, server->gates,
			 &server->gate_slots, &server->gate_depths)) == 0)
			r = slots_make(slots, &p, server, INDEX_NET, server->nets,
			    &server->net_slots, &none);
	}
	return r;
}
