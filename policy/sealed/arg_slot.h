/*
 * Typed slots in argument patterns, parsed from their text in the policy:
 *
 *	--depth=<number:1..50>		a literal, then one value (ARG_SLOT)
 *	<-v,-n=<number>,--color=a|b>	any of these options (ARG_OPTIONS)
 *
 * The checker, the loader, the matcher and the algebra share this one parser.
 */
#ifndef KENNEL_POLICY_SEALED_ARG_SLOT_H
#define KENNEL_POLICY_SEALED_ARG_SLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SLOT_NUMBER_MAX 999999999999999999ull /* eighteen digits */

enum slot_type {
	SLOT_WORDS = 1, /* a|b: one of these */
	SLOT_NUMBER,    /* digits, no sign, no leading zero */
	SLOT_PATH,      /* absolute, in normal form, equal to the directory or below it */
	SLOT_HOST,      /* a name in lower case; never an address */
	SLOT_TEXT,      /* any text */
};

struct slot_value {
	enum slot_type type;
	const char *text; /* WORDS; directory; host, also "*.HOST"; or none */
	size_t len;
	uint64_t lo, hi; /* NUMBER */
};

struct slot_option {
	const char *name; /* including its dashes */
	size_t name_len;
	bool is_short; /* -x: may be combined with others */
	bool takes;    /* takes a value */
	struct slot_value value;
};

/* NULL, or why the slot is invalid. */
const char *slot_check(const char *text, size_t len);
const char *slot_check_options(const char *text, size_t len);

/*
 * For a text that slot_check() accepted: the value, and the length of the
 * literal in front of it.
 */
struct slot_value slot_value(const char *text, size_t len, size_t *ret_prefix);
/*
 * For a text that slot_check_options() accepted: the next option from *at on,
 * which starts at 0. False: no more.
 */
bool slot_option(const char *text, size_t len, size_t *at, struct slot_option *ret);

bool slot_match(const struct slot_value *, const char *text, size_t len);
/*
 * Do these arguments begin with one option, or with several short ones
 * combined?  A set of SLOT_ONE (uses one argument) and SLOT_TWO (uses two, the
 * second is its value).
 */
#define SLOT_ONE 1u
#define SLOT_TWO 2u
unsigned int slot_take(
    const char *options, size_t len, const char *const *argv, size_t argc);

#endif
