/*
 * kennel-form: a page for one value, or for one security key.
 *
 *	kennel secret form ...
 *	 └─ kennel-form			listens on loopback addresses, confines itself, prints
 *					the page's address, and ends with the page
 *
 * Process: one for each page. A program of its own, because libmicrohttpd has no static
 * form, and kennel-secret is static. Holds: what a browser sent, in locked pages, until
 * the keeper has it. Trusts: a browser that has the address. Must never: print a value,
 * request one from the keeper; open a file or a socket once it listens.
 */
#include "form_syscalls.h"
#include "leash/secret/private.h"
#include "shim/base/array.h"

static const struct verb verbs[] = {
    {"form value", verb_form, NEEDS_PATH | TAKES_SHAPE | TAKES_ROTATE | TAKES_GRANTS,
	form_start},
    {"form key", verb_form, 0, form_start},
    {"form", NULL, TAKES_SHAPE | TAKES_ROTATE}, /* without its second word */
};

const struct program this_program = {.verb = verbs,
    .verb_n = ARRAY_LEN(verbs),
    .syscalls = form_syscalls,
    .syscalls_n = ARRAY_LEN(form_syscalls),
    .no_files = true};
