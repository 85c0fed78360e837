/*
 * "did you mean": the word of a list that was probably meant.
 */
#ifndef KENNEL_SHIM_HELP_NEAR_WORD_H
#define KENNEL_SHIM_HELP_NEAR_WORD_H

#include <stddef.h>

/* The word of the list that differs by the fewest typing errors from this one; NULL if
 * none is similar.  The list may contain NULL. */
const char *near_word(const char *word, const char *const *list, size_t n);

/* Typing errors between two words: a character is inserted, left out, replaced, or swapped with
 * its neighbour. SIZE_MAX: one of them is longer than 32 bytes. */
size_t near_edits(const char *a, const char *b);

#endif
