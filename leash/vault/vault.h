/*
 * Secrets in memory.  A secret is an opaque type: it cannot be printed, sent,
 * stored or compared with ==.  Code outside this room gets its bytes only from
 * secret_expose(), whose callers are listed in the Makefile (make check counts
 * them).
 *
 * Memory: memfd_secret(2) if the kernel has it, else locked pages; with guard pages
 * on both sides, excluded from core dumps and from children, wiped when freed.
 */
#ifndef KENNEL_LEASH_VAULT_VAULT_H
#define KENNEL_LEASH_VAULT_VAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leash/placeholder/placeholder.h"
#include "shim/base/cause.h"

#define VAULT_VALUE_MAX   (64u << 10) /* bytes of one value */
#define VAULT_VALUE_MIN   4           /* bytes; a shorter one cannot be scrubbed */
#define VAULT_CMD_WAIT_MS 10000       /* timeout of a helper */

struct vault;  /* the pages */
struct secret; /* one value in them; owned by its vault */

/* 0; -ENOMEM; -EPERM: pages cannot be locked. */
int vault_new(size_t bytes_max, struct vault **ret);
/* Wipes and unmaps everything, secrets included.  NULL is fine. */
void vault_free(struct vault *);
/*
 * Called for each canonical path that a value comes from, and for each link on the
 * way: which server may replace it ("server x may write (FILE:7)"), or NULL.
 */
typedef const char *vault_judge_fn(void *arg, const char *path);
void vault_judge(struct vault *, vault_judge_fn *, void *arg);
/* Memory of the vault for a value in transit (the shim's plan); NULL if the vault is
 * full.  Valid until vault_free, unless it is given back. */
void *vault_scratch(struct vault *, size_t);
/* Wipes the written part of the newest scratch memory and gives it back; wiping
 * untouched pages would only allocate them. */
void vault_scratch_end(struct vault *, void *at, size_t written);
void vault_wipe(void *, size_t);

/*
 * Resolve a reference.  *ret belongs to the vault.  On failure why names
 * what is missing, and contains none of its bytes:
 *	env	the variable is removed from this process's environment and
 *		overwritten there, also if its value is refused; a second call
 *		returns the same secret
 *	file	absolute path of a regular file that belongs to us or to root and
 *		that neither group nor others may access, through no links but
 *		root's (path_resolve.h); one trailing newline is dropped
 *	cmd	absolute argv[0], checked and run by descriptor; no shell; the
 *		environment is a fixed PATH and our HOME USER LANG and
 *		XDG_RUNTIME_DIR; no stdin; stdout is read, stderr discarded; ends
 *		after VAULT_CMD_WAIT_MS.  It runs in a sandbox: no new privileges,
 *		no writes to files, no network except what `may` permits
 *		(helper_sandbox.c).  Only how it ended is reported; one trailing
 *		newline is dropped
 * -ENOENT: missing or empty; -EACCES; -ELOOP -EXDEV -EPERM (open_checked.h);
 * -ETIMEDOUT; -EFBIG; -EIO: helper failed; -EINVAL: an invalid reference, or a
 * value with a NUL byte or fewer than VAULT_VALUE_MIN bytes; -ENOMEM: the vault is
 * full.
 *
 * A helper is a fork of this process (without vault pages): resolve references
 * before the process sandboxes itself.
 */
int secret_from_env(
    struct vault *, const char *variable, struct secret **ret, struct reason *why);
int secret_from_file(
    struct vault *, const char *path, struct secret **ret, struct reason *why);
enum { /* bits of may */
	SECRET_CMD_NETWORK = 2,
	SECRET_CMD_WRITE = 4,
	SECRET_CMD_FIRST_LINE = 8, /* only the first of several lines is the value */
};
/* credential: secrets in the command's environment, at most four of 8 KiB each. */
struct plugin_credential;
int secret_from_cmd(struct vault *, const char *const *argv, unsigned int may,
    const struct plugin_credential *, size_t n, struct secret **ret, struct reason *why);

/* The client of the keeper: a server under this policy. */
struct secret_client {
	const char *path; /* of the secret */
	const char *server;
	const uint8_t *id;            /* of the policy: 32 bytes */
	const struct sign_head *head; /* NULL: not signed */
	const struct sign_row *row;   /* [row_n] (policy/sealed/signature.h) */
	size_t row_n;
};
/*
 * keeper_value.c: gets the value from the keeper at this connection.  which: 0 is the
 * current value, 1 the newest of the replaced ones.  -EACCES: refused, *ret_reason is
 * the reason (enum keeper_reason; REASON_NOT_THERE after the oldest); else as above,
 * with *ret_what saying what is wrong with the value; -EPIPE; -ETIMEDOUT.
 */
int secret_from_keeper(struct vault *, int keeper, const struct secret_client *,
    uint32_t which, struct secret **ret, uint32_t *ret_reason, const char **ret_what);
/* Does the keeper have a current value of this path?  The value stays there.  0;
 * -ENOENT; -EACCES: refused, *ret_reason as above; -EBADMSG; -EPIPE; -ETIMEDOUT. */
int secret_in_keeper(int keeper, const char *path, uint32_t *ret_reason);

/*
 * copied_value.c: these bytes, which the caller wipes.  0; -ENOMEM: the vault is full;
 * else as above, with *ret_what saying what is wrong with the value.
 */
int secret_from_bytes(
    struct vault *, const void *, size_t len, struct secret **ret, const char **ret_what);

/*
 * placeholder_value.c: a placeholder as long as this value, or (NULL) one that is made
 * without a value, in this format or (NULL) none.  Errors as of secret_from_bytes().
 */
int secret_placeholder(struct vault *, const struct placeholder *how,
    const struct token_format *, const struct secret *value, struct secret **ret,
    const char **ret_what);

/* Wipes a value of the vault, which must not be used any more. */
void secret_drop(struct vault *, struct secret *);

size_t secret_len(const struct secret *);
/* Takes time that depends on the lengths only. */
bool secret_equals(const struct secret *, const void *, size_t);
/* Have two values the same bytes? */
bool secret_same(const struct secret *, const struct secret *);
/* The only accessor: len bytes, then NUL. */
const char *secret_expose(const struct secret *);

/* ---- server_env.c: the environment that a server starts with ------------- */

/*
 * Names with plain values (copied) or secrets (borrowed).  Used twice: to write the
 * plan, and to check the environment of every later exec.
 */
struct env;

int env_new(struct env **ret);
void env_free(struct env *);
/* 0; -EINVAL: invalid name; -EEXIST: duplicate name; -ENOSPC; -ENOMEM. */
int env_plain(struct env *, const char *name, const char *value);
int env_secret(struct env *, const char *name, const struct secret *);
/*
 * Adds NAME_FILE instead of NAME: the path of a descriptor of the server that holds
 * the value, sealed, at its start.  Errors as above; -ENOSPC also for more than
 * SHIM_FILES_MAX of them.
 */
int env_file(struct env *, const char *name, const struct secret *);
/*
 * Adds a descriptor of the server, with its number in NAME.  It is the env's on success.
 * Errors as of env_file().
 */
int env_descriptor(struct env *, const char *name, int fd);
/* The descriptors, for cell_send_plan(); owned by env until they are closed. */
size_t env_files(const struct env *, const int **ret);
void env_files_close(struct env *);
/* May a later exec contain NAME=value?  True for its value at launch, and for the
 * benign names (LANG LC_* TZ PWD OLDPWD SHLVL _ TERM COLUMNS LINES). */
bool env_permits(const struct env *, const char *entry, size_t len);
/*
 * Writes the plan's environment: u32 count, then one str "NAME=value" each.  This
 * is the only way out for a value.  If there are secrets, the message must be in
 * their vault's memory: -EFAULT sticks to it otherwise, -ENOSPC if it is full.
 */
struct wire_out;
void env_write(const struct env *, struct wire_out *);

#endif
