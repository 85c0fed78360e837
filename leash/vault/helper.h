/*
 * Private to this room: a program that prints a secret, and its sandbox.
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
	int in;  /* our end of its stdin, non-blocking; -1: none */
	int out; /* our end of its stdout, non-blocking */
	bool timed_out;
	int status; /* from waitpid */
};
#define HELPER_NONE ((struct helper){.pid = -1, .pidfd = -1, .in = -1, .out = -1})

#define HELPER_SECRETS_MAX    4
#define HELPER_SECRET_LEN_MAX (8u << 10) /* bytes of one value */
#define HELPER_ENV_MAX        24

struct helper_order {
	const char *const *argv; /* argv[0] is absolute; no shell */
	unsigned int may;        /* what the sandbox permits (SECRET_CMD_*) */
	/* Variables besides PATH: NAME=VALUE, or NAME to pass on our own HOME, USER,
	 * LANG or XDG_RUNTIME_DIR.  NULL: these four. */
	const char *const *env;
	const struct plugin_credential *secret; /* also for its environment */
	size_t secret_n;
	int image;  /* descriptor to run, whatever argv[0] names by now */
	bool asked; /* its stdin is a pipe that we write to */
};

/*
 * Starts it in its sandbox.  0; -E2BIG: environment too large; -errno.  Call
 * helper_end() in any case.
 */
int helper_run(struct helper *, const struct helper_order *);
/* Kills what is left of the helper's process group and fills in status. */
void helper_end(struct helper *);
/* Describes how it ended, without any of its output; returns r, or -EIO if it failed. */
int helper_told(const struct helper *, int r, char *how, size_t how_cap);

/* secret_from_cmd with all options for the program. */
int secret_from_program(struct vault *, const struct helper_order *, int64_t wait_ms,
    struct secret **ret, struct reason *why);

/* helper_sandbox.c: does this kernel support the sandbox? */
bool helper_confine_possible(void);
/*
 * In the child between fork and exec: no new privileges, no core dumps, no writable
 * files, no network, no calls that reach other processes or the kernel.  0 or
 * -errno; on failure the program must not be run.
 */
int helper_confine(unsigned int may);

#endif
