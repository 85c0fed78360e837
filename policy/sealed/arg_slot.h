/*
 * Typed slots in patterns of arguments, by their text as a policy has it:
 *
 *	--depth=<number:1..50>		a literal, then one value (ARG_SLOT)
 *	<-v,-n=<number>,--color=a|b>	any of these options (ARG_OPTIONS)
 *
 * One reading for the checker, the loader, the matcher and the algebra.
 */
#ifndef KENNEL_POLICY_SLOT_H
#define KENNEL_POLICY_SLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SLOT_NUMBER_MAX 999999999999999999ull /* eighteen digits */

enum slot_type {
	SLOT_WORDS = 1, /* a|b: one of these */
	SLOT_NUMBER,    /* digits, no sign, no leading zero */
	SLOT_PATH,      /* absolute, normal, the folder or below */
	SLOT_HOST,      /* a name in lower case; never an address */
	SLOT_TEXT,      /* anything */
};

struct slot_value {
	enum slot_type type;
	const char *text; /* WORDS; the folder; the host, "*." in front, or none */
	size_t len;
	uint64_t lo, hi; /* NUMBER */
};

struct slot_option {
	const char *name; /* with its dashes */
	size_t name_len;
	bool is_short; /* -x: may stand together with others */
	bool takes;    /* a value */
	struct slot_value value;
};

/* NULL, or what is wrong with it. */
const char *slot_check(const char *text, size_t len);
const char *slot_check_options(const char *text, size_t len);

/* Of a text that slot_check() has passed: the value, and the length of the literal
 * in front. */
struct slot_value slot_value(const char *text, size_t len, size_t *ret_prefix);
/* Of one that slot_check_options() has passed: the next option from *at on, which
 * begins at 0.  False: no more. */
bool slot_option(const char *text, size_t len, size_t *at, struct slot_option *ret);

bool slot_match(const struct slot_value *, const char *text, size_t len);
/* Do these arguments begin with one option, or with several short ones in one?
 * SLOT_ONE: it is one argument; SLOT_TWO: two, the second its value; or'ed. */
#define SLOT_ONE 1u
#define SLOT_TWO 2u
unsigned int slot_take(
    const char *options, size_t len, const char *const *argv, size_t argc);

#endif
