/*
 * Poisoned definitions: texts of a server that act on the model instead of describing a
 * tool. The rules are heuristics for a person who reviews: a definition without warnings
 * is not thereby harmless.
 *
 *	lint.c		every text of a definition, and the rules for them
 *	phrases.c	sentences that instruct the model
 *	blobs.c		encoded commands
 *	marks.c		markup, file names and URLs
 *	names.c		names of other servers and tools, and look-alikes
 *	user_names.c	which other servers and tools the user has
 *	first_look.c	the tools of a server that a verb lists for the first time
 */
#ifndef KENNEL_SUPERVISOR_LINT_LINT_H
#define KENNEL_SUPERVISOR_LINT_LINT_H

#include <stddef.h>

#include "policy/sealed/policy.h"
#include "supervisor/json/json.h"

#define LINT_NAME_MAX   200
#define LINT_MEMBER_MAX 256
#define LINT_SHOWN_MAX  160

struct lint_warning {     /* all texts are printable ASCII */
	const char *rule; /* its name in kennel(1) */
	const char *what; /* it is about, as a phrase; valid in the callback */
	enum sealed_pin_kind kind;
	char name[LINT_NAME_MAX];     /* of the definition */
	char member[LINT_MEMBER_MAX]; /* a JSON pointer; "": the definition itself */
	char shown[LINT_SHOWN_MAX];   /* the fragment */
};
typedef void lint_fn(void *arg, const struct lint_warning *);

struct lint;

/* For the definitions of this server. 0 or -ENOMEM. */
int lint_new(const char *server, struct lint **ret);
void lint_free(struct lint *);
/*
 * A name that is known before the first check: a tool of this server or of another one,
 * or (tool NULL) another server. 0 or -ENOMEM; more names than 65536 are left out.
 */
int lint_know(struct lint *, const char *server, const char *tool, size_t tool_len);
/*
 * Calls fn for each warning about this definition, whose bytes json_scan has accepted: at
 * most one for each rule and text. 0 or -ENOMEM.
 */
int lint_definition(struct lint *, enum sealed_pin_kind, struct json name,
    struct json body, lint_fn *fn, void *arg);

/* ---- user_names.c ------------------------------------------------------------------ */

/* The names of the user's other policies, and of the tools in the pins files next to them.
 * A file that cannot be read is reported, and costs only the comparison. 0 or -ENOMEM. */
int lint_know_user(struct lint *, const char *server);

/* ---- first_look.c ------------------------------------------------------------------- */

/* How many warnings are printed, of one server. */
#define LINT_PRINTED_MAX 200

/* Prints the warning on standard error, unless LINT_PRINTED_MAX were printed; counts it in *n. */
void lint_print(const char *kind, const struct lint_warning *, size_t *n);

struct first_look;
/* For this server, named so in the messages. NULL: out of memory; the others accept it. */
struct first_look *first_look_new(const char *server);
/* A tool's definition, as its list has it. */
void first_look_add(struct first_look *, struct json definition);
/* After the last one: prints the warnings about them on standard error, and what to do.
 * Returns how many there are. Frees it. */
size_t first_look_end(struct first_look *);

#endif
