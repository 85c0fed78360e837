/*
 * Private to this room: a program that prints one secret, and the fence around it.
 */
#ifndef KENNEL_LEASH_VAULT_HELPER_H
#define KENNEL_LEASH_VAULT_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct helper {
	pid_t pid;
	int pidfd;
	int out; /* its stdout, our end, non-blocking */
	bool timed_out;
	int status; /* as waitpid gives it */
};

/*
 * Start it behind its fence: argv[0] is absolute, no shell; may is what the fence
 * leaves open (SECRET_CMD_*).  0 or -errno; helper_end() in any case.
 */
int helper_run(struct helper *, const char *const *argv, unsigned int may);
/* Nothing of the helper's group stays; status is filled. */
void helper_end(struct helper *);
/* How it ended, and no byte of what it said: r, or -EIO where it failed. */
int helper_told(const struct helper *, int r, char *how, size_t how_cap);

/* secret_from_cmd, with another deadline: what a test waits for. */
struct vault;
struct secret;
int secret_from_cmd_within(struct vault *, const char *const *argv, unsigned int may,
    int64_t wait_ms, struct secret **ret, char *why, size_t why_cap);

/* fence.c: can this kernel do it? */
bool fence_possible(void);
/*
 * In the child between fork and exec: no new privileges, no dumps,
 * nothing to write, no network, none of the calls that reach into other
 * processes or into the kernel.  0 or -errno, and then it must not be run.
 */
int fence_raise(unsigned int may);

#endif
