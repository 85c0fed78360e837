/*
 * Private to this room: a program that a secret comes from, and the fence around it.
 */
#ifndef KENNEL_LEASH_VAULT_HELPER_H
#define KENNEL_LEASH_VAULT_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "leash/vault/plugin.h"

struct helper {
	pid_t pid;
	int pidfd;
	int in;  /* its stdin, our end, non-blocking; -1: it has none */
	int out; /* its stdout, our end, non-blocking */
	bool timed_out;
	int status; /* as waitpid gives it */
};
#define HELPER_NONE ((struct helper){.pid = -1, .pidfd = -1, .in = -1, .out = -1})

#define HELPER_SECRETS_MAX    4
#define HELPER_SECRET_LEN_MAX (8u << 10) /* bytes of one value */
#define HELPER_ENV_MAX        24

struct helper_order {
	const char *const *argv; /* argv[0] is absolute; no shell */
	unsigned int may;        /* what the fence leaves open (SECRET_CMD_*) */
	/* Variables besides PATH: NAME=VALUE, or NAME for our own HOME, USER, LANG or
	 * XDG_RUNTIME_DIR.  NULL: these four. */
	const char *const *env;
	const struct plugin_credential *secret; /* for its environment, too */
	size_t secret_n;
	int image;  /* run these bytes and not argv[0]'s; -1 */
	bool asked; /* its stdin is a pipe, and ours to write */
};

/*
 * Start it behind its fence.  0; -E2BIG too much of environment; -errno.
 * helper_end() in any case.
 */
int helper_run(struct helper *, const struct helper_order *);
/* Nothing of the helper's group stays; status is filled. */
void helper_end(struct helper *);
/* How it ended, and no byte of what it said: r, or -EIO where it failed. */
int helper_told(const struct helper *, int r, char *how, size_t how_cap);

/* secret_from_cmd with all that can be said of the program. */
int secret_from_program(struct vault *, const struct helper_order *, int64_t wait_ms,
    struct secret **ret, char *why, size_t why_cap);
/* The same with another deadline: what a test waits for. */
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
