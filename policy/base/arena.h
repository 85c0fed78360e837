/*
 * The memory of one compilation, freed together.
 */
#ifndef KENNEL_POLICY_BASE_ARENA_H
#define KENNEL_POLICY_BASE_ARENA_H

#include <stddef.h>

struct arena *arena_new(void);
void arena_free(struct arena *);
void *arena_alloc(struct arena *, size_t);              /* zeroed; NULL: no memory */
char *arena_copy(struct arena *, const char *, size_t); /* adds a NUL */
/*
 * Returns the array of n rows with room for one more.  It may be a new array;
 * the old one then stays unused in the arena.  NULL: no memory.
 */
void *arena_push(struct arena *, void *array, size_t n, size_t row_size);

#endif
