/*
 * Placeholders: what a server gets in place of a secret that it must not have.
 *
 *	the value, or its format ─▶ structure.c ─▶ leaf.c ─▶ draw.c: drawn from the seed
 *
 * A placeholder has the length of its value, its structure, and the kinds of characters
 * of each leaf.  Nothing else of the value is in it:
 *
 *	{"a": "x1", "n": 7}	JSON: keys, marks and escapes stay; strings and numbers
 *				are drawn; so is all that JSON does not have
 *	-----BEGIN X KEY-----	PEM: the first and the last line stay
 *	key: value, key=value	lines that are fields: keys, quotes and comment marks stay
 *	other lines		each is a leaf
 *	ghp_...			a token of a known format: its prefix stays, and its
 *				checksum is right
 *	https://user:x@host/y	a URL: the scheme, the host and its port stay
 *	anything else		letters, digits and symbols are drawn at random from the
 *				kinds that the leaf has; separators stay where they are
 *
 * The positions of upper case and digits are not kept: in the base64 of a private key they
 * would be a quarter of its bits, which is enough to compute an RSA key.
 *
 * Pure: no allocation, no file, no process.  Linked by whatever process has the value.
 */
#ifndef KENNEL_LEASH_PLACEHOLDER_PLACEHOLDER_H
#define KENNEL_LEASH_PLACEHOLDER_PLACEHOLDER_H

#include <stddef.h>
#include <stdint.h>

#define PLACEHOLDER_SEED_LEN 32
#define PLACEHOLDER_LEN_MAX  128 /* bytes, of one that is made without a value */

struct token_format;

/* The same of these, and for values the same structure, give the same placeholder. */
struct placeholder {
	const uint8_t
	    *seed;        /* PLACEHOLDER_SEED_LEN bytes: of the learning, the session */
	const char *name; /* of the secret's variable */
	uint32_t attempt; /* another number, another placeholder */
};

/* Replaces a value by its placeholder, which is as long. */
void placeholder_replace(const struct placeholder *, uint8_t *text, size_t len);
/* Makes one without a value: a token of this format, or (NULL) 40 letters and digits.
 * Its length; at most PLACEHOLDER_LEN_MAX. */
size_t placeholder_unread(const struct placeholder *, const struct token_format *,
    uint8_t ret[PLACEHOLDER_LEN_MAX]);

#endif
