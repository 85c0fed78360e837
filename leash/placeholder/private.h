/*
 * Shared by the files of this room: the numbers that are drawn, and the leaves.
 */
#ifndef KENNEL_LEASH_PLACEHOLDER_PRIVATE_H
#define KENNEL_LEASH_PLACEHOLDER_PRIVATE_H

#include <stdbool.h>

#include "leash/placeholder/placeholder.h"

#define DRAW_KEY_LEN   32
#define DRAW_BLOCK_LEN 256

/* A stream of numbers that the seed, the name and the attempt determine. */
struct draw {
	uint8_t key[DRAW_KEY_LEN];
	uint8_t block[DRAW_BLOCK_LEN];
	size_t at;
	uint32_t block_n;
	size_t replaced; /* bytes so far, counted by the leaves */
};

void draw_begin(struct draw *, const struct placeholder *);
/* One of 0 to n - 1; n: 1 to 256. */
uint32_t draw_below(struct draw *, uint32_t n);

/* ---- leaf.c ------------------------------------------------------------------------ */

/* A text without structure of its own, or a token or URL. */
void leaf(struct draw *, uint8_t *text, size_t len);
/* The same for any text: not even separators stay. */
void leaf_whole(struct draw *, uint8_t *text, size_t len);
/* Digits of a number: a digit for each, and no leading zero that was none. */
void leaf_digits(struct draw *, uint8_t *text, size_t len);
/* A line of base64. */
void leaf_base64(struct draw *, uint8_t *text, size_t len);

/* ---- structure.c ------------------------------------------------------------------- */

/* A whole value. */
void structure(struct draw *, uint8_t *text, size_t len);

#endif
