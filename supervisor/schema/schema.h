/*
 * The schema room: whether a tool's arguments match its pinned `inputSchema`, which is
 * JSON Schema 2020-12 with the spellings of draft-07 that servers still use, and with
 * `nullable` of OpenAPI 3.0.
 *
 *	schema.c	compiles a schema to nodes and rules
 *	reference.c	where a `$ref` leads
 *	values.c	the keywords `type`, `enum`, `const` and `pattern`
 *	bounds.c	limits of numbers, lengths and counts
 *	members.c	keywords for objects
 *	items.c		keywords for arrays
 *	alternatives.c	keywords that combine schemas, and references
 *	unevaluated.c	what no other keyword has checked
 *	check.c		checks a value
 *	failure.c	the text about a value that does not match
 *	tree.c		a JSON value as an array
 *	equality.c	equality of JSON values
 *	decimal.c	exact arithmetic on JSON numbers
 *	pattern.c	regular expressions: PCRE2
 *	ecma_pattern.c	translates ECMA-262 patterns to those of PCRE2
 *
 * `format` is an annotation and is not checked. A `$ref` that leads out of the document is
 * not followed.
 */
#ifndef KENNEL_SUPERVISOR_SCHEMA_SCHEMA_H
#define KENNEL_SUPERVISOR_SCHEMA_SCHEMA_H

#include "supervisor/json/json.h"

#define SCHEMA_WHY_MAX    1024       /* bytes of a text about a failure */
#define SCHEMA_SIZE_MAX   (1u << 16) /* values of a schema */
#define SCHEMA_VALUES_MAX (1u << 18) /* values of the arguments */
#define SCHEMA_STEPS_MAX  (1u << 22) /* steps of one check */
#define SCHEMA_DEPTH_MAX  512        /* nested schemas of one check */

struct schema;

/* A part of the schema that is not checked: its JSON pointer, and why. Both are
 * printable. */
typedef void schema_warn_fn(void *arg, const char *at, const char *why);

/*
 * Compiles a schema that json_scan has accepted; its bytes must outlive the result.
 * warn may be NULL. Returns 0; -EINVAL: neither an object nor a boolean; -EEXIST:
 * a duplicate key; -EILSEQ: a key with a NUL or an unpaired surrogate; -E2BIG: more
 * than SCHEMA_SIZE_MAX values, or too many patterns; -ENOMEM.
 */
int schema_new(
    struct json schema, struct schema **ret, schema_warn_fn *warn, void *warn_arg);
void schema_free(struct schema *);

/*
 * Checks a value that json_scan has accepted. Returns 0: it matches; -EBADMSG: it does
 * not; -E2BIG: the check needs more than a limit above; -ENOMEM. Unless it returns 0,
 * why is a printable sentence, with names from the value but no other content of it.
 */
int schema_check(const struct schema *, struct json value, char why[SCHEMA_WHY_MAX]);

#endif
