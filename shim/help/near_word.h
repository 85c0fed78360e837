/*
 * "did you mean": the word of a list that was probably meant.
 */
#ifndef KENNEL_SHIM_HELP_NEAR_WORD_H
#define KENNEL_SHIM_HELP_NEAR_WORD_H

#include <stddef.h>

/* The word of the list that differs by the fewest typing errors from this one; NULL if
 * none is similar.  The list may contain NULL. */
const char *near_word(const char *word, const char *const *list, size_t n);

#endif
