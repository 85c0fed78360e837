/*
 * Secrets from plugins: programs of the user that return secrets over a line
 * protocol (docs/PROTOCOL.plugin).
 *
 * A plugin starts when the first of its secrets is needed and serves one launch of
 * one server: its login credentials were released for that server's policy.  It
 * ends with the launch's secrets.
 */
#ifndef KENNEL_LEASH_VAULT_PLUGIN_H
#define KENNEL_LEASH_VAULT_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#include "leash/vault/vault.h"

#define PLUGIN_PROTOCOL      1           /* docs/PROTOCOL.plugin */
#define PLUGIN_WAIT_MS       10000       /* for one reply */
#define PLUGIN_STOP_MS       1000        /* half after end of input, half after TERM */
#define PLUGIN_IDLE_MS       60000       /* stopped after this time without a request */
#define PLUGIN_IMAGE_MAX     (64u << 20) /* bytes of the program */
#define PLUGIN_LINE_MAX      (512u << 10)
#define PLUGIN_N_MAX         8  /* per launch */
#define PLUGIN_ENV_MAX       16 /* variables per plugin */
#define PLUGIN_CREDENTIALS   4  /* per plugin */
#define PLUGIN_NAME_MAX      64 /* bytes of a source's name */
#define PLUGIN_REFERENCE_MAX 1024

/* A plugin that fails is not restarted before a delay. */
#define PLUGIN_CRASHES  3
#define PLUGIN_CRASH_MS 60000  /* PLUGIN_CRASHES failures within this time */
#define PLUGIN_OFF_MS   300000 /* disable it for this time */
#define PLUGIN_BACK_MS  1000   /* delay after the first; doubled after the second */

struct plugin_times { /* milliseconds */
	int64_t wait, stop, idle;
};

struct plugin_credential {
	const char *name;
	const struct secret *value; /* UTF-8; at most HELPER_SECRET_LEN_MAX bytes */
};

struct plugin_ask {
	const char *source;    /* its name: [a-z][a-z0-9-]* */
	const char *program;   /* absolute */
	uint8_t digest[32];    /* required SHA-256 of the program */
	const char *reference; /* the plugin's name for the secret */
	/* Ends with NULL: NAME=VALUE, or NAME to pass on our own HOME, USER, LANG or
	 * XDG_RUNTIME_DIR.  Its environment contains only these and PATH. */
	const char *const *env;
	unsigned int may; /* SECRET_CMD_* */
	const struct plugin_credential *credential;
	size_t credential_n;
};

struct plugins;

/*
 * run_dir: borrowed descriptor of the directory where crashes are counted.  times:
 * NULL, or other times for a test.  0; -ENOMEM; -EPERM: pages cannot be locked.
 */
int plugins_new(int run_dir, const struct plugin_times *, struct plugins **ret);
/* Stops all plugins.  NULL is fine. */
void plugins_free(struct plugins *);
/*
 * Gets the value, in the vault.  0; -EACCES: the program has changed or is not
 * safe; -EAGAIN: it failed too often; -ENOENT: it has no such secret; -EPROTO:
 * protocol error; -EPIPE -ETIMEDOUT -EFBIG; -ELOOP: too many credentials.  why
 * names the source, the program and the request, and contains no byte of a reply.
 */
int plugins_get(struct plugins *, struct vault *, const struct plugin_ask *,
    struct secret **ret, struct reason *why);

/* ---- plugin_failures.c: how often did it fail? --------------------------- */

/* 0; -EAGAIN: disabled for *ret_wait_ms milliseconds; -errno: unknown. */
int plugin_failures_may(
    int run_dir, const char *source, uint64_t now_ms, uint64_t *ret_wait_ms);
int plugin_failures_note(int run_dir, const char *source, uint64_t now_ms);
/* The clock for these; it includes time suspended. */
uint64_t plugin_failures_now(void);

#endif
