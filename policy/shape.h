/*
 * Shapes of credentials: what a token of a provider begins with, how long it is,
 * and whether it carries a checksum.  A table for all who look at bytes: who
 * stores a value compares it with the shape that its manifest names.
 *
 * Nothing here keeps or prints what it was shown.
 */
#ifndef KENNEL_POLICY_SHAPE_H
#define KENNEL_POLICY_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHAPE_PREFIX_MAX 16

enum shape_sum {
	SHAPE_NO_SUM,
	/* The last six are the CRC-32 of those before (the prefix is not in it),
	 * in base 62 with the alphabet 0-9A-Za-z. */
	SHAPE_CRC32_BASE62,
};

struct shape {
	const char *name;   /* as in `pattern github-pat` */
	const char *prefix; /* what it begins with */
	const char *bytes;  /* of the rest: a-z and the like are ranges */
	uint16_t min, max;  /* bytes of the rest */
	enum shape_sum sum;
};

/* All of them, in the order of their names. */
const struct shape *shapes(size_t *ret_n);
/* The shape of this name, or NULL. */
const struct shape *shape_find(const char *name);

/* Is this one whole credential of the shape, its checksum included?  NULL, or
 * why not: a static text. */
const char *shape_wrong(const struct shape *, const char *, size_t len);

#endif
