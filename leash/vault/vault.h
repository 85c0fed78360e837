/*
 * Secrets in hand.  A secret is an opaque type: it cannot be printed, sent,
 * stored or compared with ==, and nothing outside this room sees its bytes
 * except through secret_expose(), whose callers are listed in the Makefile
 * (make check counts them).
 *
 * Memory: memfd_secret(2) where the kernel has it, else locked pages; guarded
 * on both sides, not in dumps, not in children, wiped by its free.
 */
#ifndef KENNEL_LEASH_VAULT_VAULT_H
#define KENNEL_LEASH_VAULT_VAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VAULT_VALUE_MAX   (64u << 10) /* bytes of one value */
#define VAULT_VALUE_MIN   4           /* a shorter one cannot be scrubbed */
#define VAULT_CMD_WAIT_MS 10000       /* a helper gets ten seconds */

struct vault;  /* the pages */
struct secret; /* one value in them; owned by its vault */

/* 0; -ENOMEM; -EPERM when pages cannot be locked. */
int vault_new(size_t bytes_max, struct vault **ret);
/* Wipes and unmaps everything, secrets included.  NULL is fine. */
void vault_free(struct vault *);
/* Memory of the vault for a value in transit (the shim's plan); NULL when the
 * vault is full.  It stays until vault_free, unless it is given back. */
void *vault_scratch(struct vault *, size_t);
/* Wipes what was written of the newest scratch, and gives it back: pages that
 * nobody wrote need not be touched at the end only to be wiped. */
void vault_scratch_end(struct vault *, void *at, size_t written);
void vault_wipe(void *, size_t);

/*
 * Resolve a reference.  *ret belongs to the vault.  On failure why[why_cap]
 * says what is missing by its name and never any of its bytes:
 *	env	the variable is taken out of this process's environment and
 *		overwritten there, also when its value is refused; asked for
 *		again it is the same secret
 *	file	an absolute path to a regular file of ours or of root that
 *		neither group nor others may touch, no symbolic link at its
 *		end; one trailing newline is dropped
 *	cmd	absolute argv[0], no shell, no environment but a fixed PATH, our
 *		HOME USER LANG and XDG_RUNTIME_DIR, no stdin, stdout kept, stderr
 *		thrown away, VAULT_CMD_WAIT_MS, behind a fence: no new privileges,
 *		no file written, no network but what `may` says (fence.c); only how
 *		it ended is told; one trailing newline is dropped
 * -ENOENT missing or empty, -EACCES, -ETIMEDOUT, -EFBIG, -EIO helper failed,
 * -EINVAL a bad reference, a NUL byte in the value or fewer than
 * VAULT_VALUE_MIN bytes, -ENOMEM the vault is full.
 *
 * A helper is a fork of this process (vault pages are not in it): resolve
 * before the process confines itself.
 */
int secret_from_env(
    struct vault *, const char *variable, struct secret **ret, char *why, size_t why_cap);
int secret_from_file(
    struct vault *, const char *path, struct secret **ret, char *why, size_t why_cap);
enum { /* may, or'ed */
	SECRET_CMD_NETWORK = 2,
	SECRET_CMD_WRITE = 4,
	SECRET_CMD_FIRST_LINE = 8, /* the first of several lines is the value */
};
int secret_from_cmd(struct vault *, const char *const *argv, unsigned int may,
    struct secret **ret, char *why, size_t why_cap);
/* The same with secrets in the command's environment: at most four, of 8 KiB each. */
struct plugin_credential;
int secret_from_cmd_with(struct vault *, const char *const *argv, unsigned int may,
    const struct plugin_credential *, size_t n, struct secret **ret, char *why,
    size_t why_cap);

/*
 * remote.c: from the keeper at this connection, for what the policy is (see
 * container.h).  -EACCES: refused, and *ret_reason is why (enum keeper_reason); else
 * as above, *ret_what says what is wrong with the value; -EPIPE, -ETIMEDOUT.
 */
struct container_asker;
int secret_from_keeper(struct vault *, int keeper, const struct container_asker *,
    struct secret **ret, uint32_t *ret_reason, const char **ret_what);

/* The same of a value that was replaced: 1 is the last that was.  *ret_reason is
 * REASON_NOT_THERE behind the oldest. */
int secret_old_from_keeper(struct vault *, int keeper, const struct container_asker *,
    uint32_t which, struct secret **ret, uint32_t *ret_reason, const char **ret_what);

size_t secret_len(const struct secret *);
/* In time that depends on the lengths only. */
bool secret_equals(const struct secret *, const void *, size_t);
/* The one accessor: len bytes, then NUL. */
const char *secret_expose(const struct secret *);

/* ---- env.c: the environment a server is started with -------------------- */

/*
 * Names with plain values (copied) or secrets (borrowed).  Used twice: to
 * write the plan, and to judge the environment of every later exec.
 */
struct env;

int env_new(struct env **ret);
void env_free(struct env *);
/* 0; -EINVAL no name for a variable, -EEXIST named before, -ENOSPC, -ENOMEM. */
int env_plain(struct env *, const char *name, const char *value);
int env_secret(struct env *, const char *name, const struct secret *);
/*
 * NAME_FILE instead of NAME: the path under which the server finds a descriptor
 * that holds the value, sealed, at its beginning.  As above; -ENOSPC too for more
 * than SHIM_FILES_MAX of them.
 */
int env_file(struct env *, const char *name, const struct secret *);
/* The descriptors, for cell_send_plan(); they stay here until they are closed. */
size_t env_files(const struct env *, const int **ret);
void env_files_close(struct env *);
size_t env_n(const struct env *);
/* May a later exec carry NAME=value?  Its value at launch, or one of the
 * benign names (LANG LC_* TZ PWD OLDPWD SHLVL _ TERM COLUMNS LINES). */
bool env_permits(const struct env *, const char *entry, size_t len);
/*
 * The plan's environment: u32 count, then one str "NAME=value" each.  The only
 * way a value leaves, so with secrets in it the message must lie in memory of
 * their vault: -EFAULT sticks to it otherwise, -ENOSPC when it is full.
 */
struct wire_out;
void env_write(const struct env *, struct wire_out *);

#endif
