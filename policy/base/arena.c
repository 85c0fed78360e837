/*
 * The memory of one compilation: blocks that only grow and are freed together.
 * A ceiling limits how much memory a hostile policy can make the compiler use.
 */
#include "policy/base/arena.h"

#include <stdlib.h>
#include <string.h>

#define ARENA_MAX   (256u << 20)
#define ARENA_BLOCK (64u << 10)
#define ARENA_ALIGN 16

struct chunk {
	struct chunk *next;
	size_t used, cap;
	_Alignas(ARENA_ALIGN) char data[];
};

struct arena {
	struct chunk *block; /* the block that is filled first */
	size_t total;
};

struct arena *
arena_new(void)
{
	return calloc(1, sizeof(struct arena));
}

void
arena_free(struct arena *a)
{
	struct chunk *b, *next;

	if (a == NULL)
		return;
	for (b = a->block; b != NULL; b = next) {
		next = b->next;
		free(b);
	}
	free(a);
}

static struct chunk *
chunk_new(struct arena *a, size_t len)
{
	size_t cap = len > ARENA_BLOCK ? len : ARENA_BLOCK;
	struct chunk *b;

	if (cap > ARENA_MAX - a->total)
		return NULL;
	b = malloc(sizeof(*b) + cap); /* not calloc: most blocks are not filled */
	if (b == NULL)
		return NULL;
	b->next = NULL;
	b->used = 0;
	b->cap = cap;
	a->total += cap;
	return b;
}

void *
arena_alloc(struct arena *a, size_t len)
{
	struct chunk *b = a->block;
	void *p;

	if (len > ARENA_MAX)
		return NULL;
	len = (len + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
	if (b == NULL || len > b->cap - b->used) {
		b = chunk_new(a, len);
		if (b == NULL)
			return NULL;
		if (len > ARENA_BLOCK && a->block != NULL) {
			/*
			 * a large block is full at once: keep filling the first
			 */
			b->next = a->block->next;
			a->block->next = b;
		} else {
			b->next = a->block;
			a->block = b;
		}
	}
	p = b->data + b->used;
	b->used += len;
	memset(p, 0, len);
	return p;
}

char *
arena_copy(struct arena *a, const char *text, size_t len)
{
	char *p;

	if (len >= ARENA_MAX)
		return NULL;
	p = arena_alloc(a, len + 1);
	if (p != NULL && len > 0)
		memcpy(p, text, len);
	return p;
}

void *
arena_push(struct arena *a, void *array, size_t n, size_t row_size)
{
	void *p;

	/*
	 * full at 0, 1, 2, 4, 8, ... rows: the row count doubles as the
	 * capacity
	 */
	if ((n & (n - 1)) != 0)
		return array;
	if (n > ARENA_MAX / row_size / 2)
		return NULL;
	p = arena_alloc(a, (n == 0 ? 1 : 2 * n) * row_size);
	if (p != NULL && n > 0)
		memcpy(p, array, n * row_size);
	return p;
}
