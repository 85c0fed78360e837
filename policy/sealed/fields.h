/*
 * The constraints of every field of every row of a sealed file, as one table.
 * The loader checks rows with it, and the sealer moves rows with it.
 */
#ifndef KENNEL_POLICY_SEALED_FIELDS_H
#define KENNEL_POLICY_SEALED_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/sealed/sealed.h"

enum field_is {
	/* struct sealed_ref */
	FIELD_TEXT = 1, /* any string */
	FIELD_SOME,     /* not empty */
	FIELD_NAME,     /* [A-Za-z0-9_.-], not beginning with . or - */
	FIELD_VARIABLE, /* [A-Za-z0-9_], not beginning with a digit */
	FIELD_PATH,     /* absolute, in normal form */
	/* like the last three, or empty */
	FIELD_MAY_NAME,
	FIELD_MAY_PATH,
	FIELD_REFS_END = FIELD_MAY_PATH,

	FIELD_AT,
	FIELD_RANGE,   /* the next part of table lo, at most hi rows */
	FIELD_SHARED,  /* a part of table lo, lo to hi rows */
	FIELD_ROW,     /* a row of table lo that belongs to the server */
	FIELD_MAY_ROW, /* the same, or SEALED_NONE */
	FIELD_NUMBER,  /* 32 bits, lo to hi */
	FIELD_FLAGS,   /* 32 bits, no bit outside hi */
	FIELD_LONG,    /* 64 bits, any value */
	FIELD_BYTES,   /* lo bytes, any value */
};

struct sealed_field {
	uint8_t kind; /* of the row: enum sealed_kind */
	uint8_t is;   /* enum field_is */
	uint16_t at;  /* offset in the row */
	uint32_t lo, hi;
};

/* Sorted by kind, then offset; ends with kind SEALED_KIND_END. */
extern const struct sealed_field sealed_fields[];
/* The first field of each kind. */
const struct sealed_field *fields_of(uint32_t kind);

/*
 * The fields by which the rows of a kind are strictly ascending within a
 * server: texts by bytes, numbers by value.  Ends with kind SEALED_KIND_END.
 */
struct sealed_order {
	uint32_t kind;
	bool text; /* a ref; else a 32-bit number */
	size_t at;
};
extern const struct sealed_order sealed_orders[];
bool sealed_is_ordered(uint32_t kind);

/*
 * Every kind: its name in messages, the size of its rows, and its place in
 * struct policy.
 */
struct field_kind {
	const char *name;
	uint32_t size;
	uint32_t table;
	bool divided; /* partitioned by rows of the server, not by the server itself */
};
extern const struct field_kind field_kind[SEALED_KIND_END];

#endif
