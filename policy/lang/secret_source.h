/*
 * Where a secret's value comes from, by the word behind `from`: kennel's own four,
 * and presets, which are programs that people have for their secrets and how each
 * is called.
 */
#ifndef KENNEL_POLICY_SOURCE_H
#define KENNEL_POLICY_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/sealed/sealed.h"

/* `from source PATH`: which one is the router's to say (router.h). */
#define SOURCE_ROUTED 0

#define SOURCE_ARGS_MAX 8 /* of a preset, before its own words */

struct source_row {
	const char *word;
	unsigned int source; /* enum sealed_source, or SOURCE_ROUTED */
	/* Of a preset; NULL: none.  In args, %1 is its first word, and %* all. */
	const char *program;
	const char *args[SOURCE_ARGS_MAX];
	size_t word_min, word_max; /* of what stands behind the word */
	uint32_t flags;            /* SECRET_*, or'ed */
	const char *takes;
};

/* The row of this word, or NULL. */
const struct source_row *source_find(const char *word);
/* Does a program give the value? */
bool source_is_program(const char *word);
/* Where the preset's program is on this machine: the first of /usr/local/bin,
 * /usr/bin and /bin that has it, else where it would be.  A static string. */
const char *source_program(const struct source_row *);
/* All words that can stand behind `from`, for messages. */
const char *source_list(void);

#endif
