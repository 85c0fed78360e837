/*
 * The packages of the store that a server may read. While they are held, `kennel
 * install --gc` does not remove them, whatever becomes of the policy's file.
 */
#ifndef KENNEL_SUPERVISOR_LAUNCH_FIND_HELD_PACKAGES_H
#define KENNEL_SUPERVISOR_LAUNCH_FIND_HELD_PACKAGES_H

#include <stddef.h>

#include "policy/sealed/policy.h"

#define HELD_MAX 16

/* A shared flock(2) of each entry's directory; the collector takes an exclusive one. */
struct held_packages {
	int fd[HELD_MAX];
	size_t n;
};

/* 0; -EAGAIN: one of them is being removed; -E2BIG: more than HELD_MAX are named; -errno. One that
 * does not exist is left to the start. held_packages_free in every case. */
int held_packages_take(
    const struct policy *, const struct sealed_server *, struct held_packages *ret);
void held_packages_free(struct held_packages *);

#endif
