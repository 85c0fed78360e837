/*
 * Variables and headers of a row, {"NAME":VALUE,...}. A VALUE is a text that is not
 * secret-shaped, or a reference to a value, an object with one member:
 *
 *	{"env":"NAME"}		a variable of the agent's environment
 *	{"file":"/path"}	the contents of a file
 *	{"cmd":["/path",...]}	the output of a program
 *	{"vault":"a/b/c"}	a secret of the vault
 *
 * They describe: the server's environment comes from its policy alone.
 */
#ifndef KENNEL_SUPERVISOR_REGISTRY_REFERENCE_H
#define KENNEL_SUPERVISOR_REGISTRY_REFERENCE_H

#include <stddef.h>

#include "shim/base/buf.h"
#include "shim/base/cause.h"
#include "supervisor/json/json.h"

/* Checks an object of them, in bytes that json_scan accepted. Returns 0; -EINVAL;
 * -EPERM: a secret-shaped text. why names MEMBER.NAME, never a value. */
int references_check(const char *member, struct json object, struct reason *why);
/* One reference; a text is -EINVAL. */
int reference_check(const char *member, struct json reference, struct reason *why);
/*
 * Appends the JSON of what a person types: env:NAME, file:/PATH, vault:A/B/C, the JSON
 * object of a reference, or any other text. 0, -EINVAL with why, -ENOMEM.
 */
int reference_typed(const char *typed, struct buf *out, struct reason *why);

/* Scans a text as one JSON value: 0, or a negative errno of json_scan. */
int json_of(const char *text, struct json *ret);
/* Appends a text as a JSON string. */
int json_put_text(struct buf *, const char *text);

/* The texts of a JSON array of strings. */
struct args {
	char **v; /* v[n] is NULL */
	size_t n;
};
/* json NULL: no arguments. 0, -EINVAL, -ENOMEM. The caller frees. */
int args_read(const char *json, struct args *ret);
void args_free(struct args *);

#endif
