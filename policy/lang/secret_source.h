/*
 * The sources of a secret's value, by the word after `from`: four of kennel's
 * own, and presets, each of which calls a known password program.
 */
#ifndef KENNEL_POLICY_LANG_SECRET_SOURCE_H
#define KENNEL_POLICY_LANG_SECRET_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/sealed/sealed.h"

/* `from source PATH`: sources.kennel decides (sources.h). */
#define SOURCE_ROUTED 0

#define SOURCE_ARGS_MAX 8 /* of a preset, before the caller's words */

struct source_row {
	const char *word;
	unsigned int source; /* enum sealed_source, or SOURCE_ROUTED */
	/*
	 * Only for a preset, else NULL. In args, %1 is its first word and %*
	 * all words.
	 */
	const char *program;
	const char *args[SOURCE_ARGS_MAX];
	size_t word_min, word_max; /* how many words follow the source */
	uint32_t flags;            /* SECRET_*, or'ed */
	const char *takes;
};

/* The row of this word, or NULL. */
const struct source_row *source_find(const char *word);
/* Does a program supply the value? */
bool source_is_program(const char *word);
/*
 * The path of the preset's program on this machine: the first that exists in
 * /usr/local/bin, /usr/bin and /bin, else the default place.  A static string.
 */
const char *source_program(const struct source_row *);
/* All words that may follow `from`, for messages. */
const char *source_list(void);

#endif
