/*
 * Ids of requests and progress tokens, compared as JSON values (id.c).
 *
 *	1  1.0  1e0	one id
 *	"1"		another one
 *	2^53 + 1	as written only: a server that reads doubles sees another number
 */
#ifndef KENNEL_SUPERVISOR_MCP_LINE_ID_H
#define KENNEL_SUPERVISOR_MCP_LINE_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/json/json.h"

struct id_key {         /* an id in its form for comparison */
	const char *at; /* in memory, or in the id: valid as long as both */
	size_t len;
	bool string;
	char memory[MCP_ID_MAX + 1];
};

/* Of a scanned string or number of 1 to MCP_ID_MAX bytes. */
void id_key(struct id_key *ret, const uint8_t *id, size_t len);
bool id_key_same(const struct id_key *, const struct id_key *);
/* True if both are ids, and one value. */
bool id_same(struct json, struct json);
/* The same bytes. */
bool id_spelled(struct json id, const uint8_t *as, size_t len);
/* True if this is a string that reads as a number in decimal: *ret is that number's key.
 * Some servers answer request 1 with the id "1", and the common SDKs accept that. */
bool id_of_text(struct json id, struct id_key *ret);

#endif
