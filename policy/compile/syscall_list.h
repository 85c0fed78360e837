/*
 * The system calls of a cell, by name and reason: calls.c is the list that
 * people review, filter.c makes BPF of it.
 */
#ifndef KENNEL_POLICY_CALLS_H
#define KENNEL_POLICY_CALLS_H

#include <stdint.h>

struct calls {
	const char *why;
	const char *names; /* separated by spaces */
};

/* Allowed with any arguments; ends with names NULL. */
extern const struct calls calls_allowed[];

/* Younger than libseccomp; the number is one for all architectures. */
struct calls_young {
	const char *name;
	uint32_t number;
};
extern const struct calls_young calls_young[];
extern const uint32_t calls_young_n;

#endif
