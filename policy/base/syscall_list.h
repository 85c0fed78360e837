/*
 * The system calls of a cell, by name and reason: people review the list in
 * syscall_list.c, and seccomp.c compiles it to BPF.
 */
#ifndef KENNEL_POLICY_BASE_SYSCALL_LIST_H
#define KENNEL_POLICY_BASE_SYSCALL_LIST_H

#include <stdint.h>

struct calls {
	const char *why;
	const char *names; /* separated by spaces */
};

/* Allowed with any arguments; ends with names NULL. */
extern const struct calls calls_allowed[];

/* Newer than libseccomp; the number is the same on all architectures. */
struct calls_young {
	const char *name;
	uint32_t number;
};
extern const struct calls_young calls_young[];
extern const uint32_t calls_young_n;

#endif
