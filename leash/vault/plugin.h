/*
 * Secrets from plugins: programs of people's own that answer for secrets, line by
 * line (docs/PROTOCOL.plugin).
 *
 * A plugin is started when the first of its secrets is wanted and speaks to one
 * launch of one server: what it was given to log in with was released for that
 * server's policy.  It ends with the launch's secrets.
 */
#ifndef KENNEL_LEASH_VAULT_PLUGIN_H
#define KENNEL_LEASH_VAULT_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#include "leash/vault/vault.h"

#define PLUGIN_PROTOCOL      1           /* docs/PROTOCOL.plugin */
#define PLUGIN_WAIT_MS       10000       /* for one answer */
#define PLUGIN_STOP_MS       1000        /* half for its end of input, half for TERM */
#define PLUGIN_IDLE_MS       60000       /* unasked for so long: stopped */
#define PLUGIN_IMAGE_MAX     (64u << 20) /* bytes of the program */
#define PLUGIN_LINE_MAX      (512u << 10)
#define PLUGIN_N_MAX         8  /* in one launch */
#define PLUGIN_ENV_MAX       16 /* variables of one */
#define PLUGIN_CREDENTIALS   4  /* of one */
#define PLUGIN_NAME_MAX      64 /* bytes of a source's name */
#define PLUGIN_REFERENCE_MAX 1024

/* A plugin that fails: not started again before its time. */
#define PLUGIN_CRASHES  3
#define PLUGIN_CRASH_MS 60000  /* so many within this time: */
#define PLUGIN_OFF_MS   300000 /* off, for this time */
#define PLUGIN_BACK_MS  1000   /* after the first; after the second twice as long */

struct plugin_times { /* milliseconds */
	int64_t wait, stop, idle;
};
extern const struct plugin_times plugin_times; /* the above */

struct plugin_credential {
	const char *name;
	const struct secret *value; /* UTF-8; at most HELPER_SECRET_LEN_MAX bytes */
};

struct plugin_ask {
	const char *source;    /* its name: [a-z][a-z0-9-]* */
	const char *program;   /* absolute */
	uint8_t digest[32];    /* SHA-256 that the program must have */
	const char *reference; /* of the secret, as the plugin calls it */
	/* NULL at its end: NAME=VALUE, or NAME for our own HOME, USER, LANG or
	 * XDG_RUNTIME_DIR.  Nothing else but PATH is in its environment. */
	const char *const *env;
	unsigned int may; /* SECRET_CMD_* */
	const struct plugin_credential *credential;
	size_t credential_n;
};

struct plugins;

/*
 * run_dir: where crashes are counted, a descriptor that is borrowed.  times: NULL,
 * or other ones for a test.  0; -ENOMEM, -EPERM when pages cannot be locked.
 */
int plugins_new(int run_dir, const struct plugin_times *, struct plugins **ret);
/* Every one of them is ended.  NULL is fine. */
void plugins_free(struct plugins *);
/*
 * The value, in the vault.  0; -EACCES the program is not what it was, or not safe;
 * -EAGAIN it failed too often; -ENOENT it has no such secret; -EPROTO it does not
 * keep to the protocol; -EPIPE -ETIMEDOUT -EFBIG; -ELOOP a credential too many.  why
 * names the source, the program and the request, and never a byte of an answer.
 */
int plugins_get(struct plugins *, struct vault *, const struct plugin_ask *,
    struct secret **ret, char *why, size_t why_cap);

/* ---- crashes.c: how often did it fail? -------------------------------------- */

/* 0; or -EAGAIN and how many milliseconds it stays so; -errno: not known. */
int crashes_may(int run_dir, const char *source, uint64_t now_ms, uint64_t *ret_wait_ms);
int crashes_note(int run_dir, const char *source, uint64_t now_ms);
/* The clock of these: it counts while the machine sleeps. */
uint64_t crashes_now(void);

#endif
