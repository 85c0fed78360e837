/*
 * What every field of every row of a sealed file must be: one table, read by
 * the loader, which checks by it, and by the sealer, which moves rows by it.
 */
#ifndef KENNEL_POLICY_FIELDS_H
#define KENNEL_POLICY_FIELDS_H

#include <stddef.h>

#include "policy/sealed/policy.h"

enum field_is {
	/* struct sealed_ref */
	FIELD_TEXT = 1, /* any string */
	FIELD_SOME,     /* any but the empty one */
	FIELD_NAME,     /* [A-Za-z0-9_.-], neither . nor - first */
	FIELD_VARIABLE, /* [A-Za-z0-9_], no digit first */
	FIELD_PATH,     /* absolute, in normal form */
	/* the last three, or empty */
	FIELD_MAY_NAME,
	FIELD_MAY_PATH,
	FIELD_REFS_END = FIELD_MAY_PATH,

	FIELD_AT,
	FIELD_RANGE,   /* the next part of table lo, at most hi rows */
	FIELD_SHARED,  /* a part of table lo, lo to hi rows */
	FIELD_ROW,     /* a row of table lo that is the server's own */
	FIELD_MAY_ROW, /* the same, or SEALED_NONE */
	FIELD_NUMBER,  /* 32 bits, lo to hi */
	FIELD_FLAGS,   /* 32 bits, none outside hi */
	FIELD_LONG,    /* 64 bits, any */
	FIELD_BYTES,   /* lo bytes, any */
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

/* By which fields the rows of a kind strictly ascend, within a server: texts by
 * bytes, numbers by value.  Ends with kind SEALED_KIND_END. */
struct sealed_order {
	uint32_t kind;
	bool text; /* a ref; else a number of 32 bits */
	size_t at;
};
extern const struct sealed_order sealed_orders[];
bool sealed_is_ordered(uint32_t kind);

/* Every kind: what messages call it, the size of its rows, and where struct
 * policy keeps them. */
struct field_kind {
	const char *name;
	uint32_t size;
	uint32_t table;
	bool divided; /* among rows of the server, not by the server itself */
};
extern const struct field_kind field_kind[SEALED_KIND_END];

#endif
