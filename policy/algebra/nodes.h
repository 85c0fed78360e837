/*
 * Private to the algebra: the nodes of an automaton, built by sets.c and
 * slot_sets.c.
 */
#ifndef KENNEL_POLICY_ALGEBRA_NODES_H
#define KENNEL_POLICY_ALGEBRA_NODES_H

#include "policy/algebra/algebra.h"

#define NONE 0xffffffffu

enum node_kind {
	NODE_BYTE,   /* this byte, then next */
	NODE_RANGE,  /* a byte from byte to other, then next; never NUL */
	NODE_STAR,   /* any byte but NUL, and stay; or go to next without input */
	NODE_SPLIT,  /* next and other, without input */
	NODE_ACCEPT, /* pattern number `other` */
};

struct node {
	uint8_t kind;
	uint8_t byte;
	uint32_t next, other;
};

/* The number of a new node, or NONE. */
uint32_t node_new(
    struct sets *, enum node_kind, uint8_t byte, uint32_t next, uint32_t other);
/* Sets the second branch of a SPLIT, to form a loop. */
void node_join(struct sets *, uint32_t split, uint32_t other);

/*
 * Automata are built from the end: each function returns the node before
 * `next`, or NONE.
 */
uint32_t build_bytes(
    struct sets *, const char *text, size_t len, bool glob, uint32_t next);
uint32_t build_choice(struct sets *, const char *text, size_t len, uint32_t next);
/* A literal and one value; next reads the NUL. */
uint32_t build_slot(struct sets *, const char *text, size_t len, uint32_t next);
/* Any of the options, each with its NULs. */
uint32_t build_options(struct sets *, const char *text, size_t len, uint32_t next);

/*
 * Numbers the classes of bytes that are in the same ranges of the n nodes of a
 * list.
 */
void byte_classes(
    const struct node *, const uint32_t *list, uint32_t n, uint16_t class[256]);
/* Chooses for each class a byte that no pattern names; prefers readable ones. */
void byte_others(const uint16_t class[256], const bool wanted[256], bool ret[256]);

#endif
