/*
 * Token formats: the prefix and length of a provider's tokens, and whether they
 * contain a checksum.  Used by code that examines values: when a value is
 * stored, it is compared with the format that its manifest names.
 *
 * Nothing here keeps or prints the values.
 */
#ifndef KENNEL_POLICY_TOKENS_TOKEN_FORMAT_H
#define KENNEL_POLICY_TOKENS_TOKEN_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOKEN_PREFIX_MAX 16

enum token_sum {
	TOKEN_NO_SUM,
	/*
	 * The last six characters are the CRC-32 of those before them (without
	 * the prefix), in base 62 with the alphabet 0-9A-Za-z.
	 */
	TOKEN_CRC32_BASE62,
};

struct token_format {
	const char *name;   /* as in `pattern github-pat` */
	const char *prefix; /* how it begins */
	const char *bytes;  /* of the rest: a-z and similar are ranges */
	uint16_t min, max;  /* length of the rest */
	enum token_sum sum;
};

/* All formats, sorted by name. */
const struct token_format *token_formats(size_t *ret_n);
/* The format with this name, or NULL. */
const struct token_format *token_format_find(const char *name);

/* May a token of this format have this character after its prefix? */
bool token_format_has(const struct token_format *, char);

/*
 * Is this one complete token of the format, with a valid checksum?  NULL, or
 * why not: a static text.
 */
const char *token_format_wrong(const struct token_format *, const char *, size_t len);

#endif
