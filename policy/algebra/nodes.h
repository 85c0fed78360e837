/*
 * Private to the algebra: the nodes of an automaton, built by sets.c and slots.c.
 */
#ifndef KENNEL_POLICY_ALGEBRA_NODES_H
#define KENNEL_POLICY_ALGEBRA_NODES_H

#include "policy/algebra/algebra.h"

#define NONE 0xffffffffu

enum node_kind {
	NODE_BYTE,   /* this byte, then next */
	NODE_RANGE,  /* a byte from byte to other, then next; never NUL */
	NODE_STAR,   /* any byte but NUL, and stay; or next, for nothing */
	NODE_SPLIT,  /* next and other, for nothing */
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
/* The other way of a SPLIT, where it leads back. */
void node_join(struct sets *, uint32_t split, uint32_t other);

/* Built from the end: each returns the node that comes before `next`, or NONE. */
uint32_t build_bytes(
    struct sets *, const char *text, size_t len, bool glob, uint32_t next);
uint32_t build_choice(struct sets *, const char *text, size_t len, uint32_t next);
/* A literal and one value; next takes the NUL. */
uint32_t build_slot(struct sets *, const char *text, size_t len, uint32_t next);
/* Any of the options, each with its NULs. */
uint32_t build_options(struct sets *, const char *text, size_t len, uint32_t next);

/* The bytes that are in the same ranges, of the n nodes of a list, have one number. */
void byte_classes(
    const struct node *, const uint32_t *list, uint32_t n, uint16_t class[256]);
/* Of each class a byte that no pattern waits for: first of those that people read
 * well. */
void byte_others(const uint16_t class[256], const bool wanted[256], bool ret[256]);

#endif
