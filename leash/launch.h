/*
 * The parts of a launch.  Where it gets its secrets: launch_secret.c, and launch_vault.c for `secret
 * NAME from vault PATH`, which queries the keeper; and how the server receives
 * them: launch_inject.c.
 */
#ifndef KENNEL_LEASH_LAUNCH_H
#define KENNEL_LEASH_LAUNCH_H

#include "leash/keeper/keeper.h"
#include "leash/private.h"
#include "leash/vault/fingerprint.h"
#include "shim/base/cause.h"

/* The value of this line.  0 or -errno, and why. */
int secret_resolve(struct leash *, const struct sealed_secret *, struct secret **ret,
    struct reason *why);

/* The same for the line's source, whether it was resolved before or not. */
int secret_resolve_row(struct leash *, const struct sealed_secret *, struct secret **ret,
    struct reason *why);

/* What the server gets for its secret with this number: the value, or a placeholder. */
int secret_for_server(
    struct leash *, uint32_t i, struct secret **ret, struct reason *why);
/* Reads the part of LEASH_LAUNCH about placeholders: 0 or -EBADMSG. */
int placeholder_order(struct leash *, struct wire_in *);
/* May the server be started with them?  Else -errno, and why (static). */
int placeholder_check(const struct leash *, const char **ret_why);
/* Does the server get a placeholder for its secret with this number? */
bool placeholder_for(const struct leash *, uint32_t i);
/* The value of a variable of the agent's for the server, or NULL: it is kept from it. */
const char *placeholder_passed(const struct leash *, const char *name, const char *value);
/* Wipes the values that were read for placeholders. */
void placeholder_wipe(struct leash *);

/*
 * launch_source.c: from a program, which may need credentials, and from a plugin.
 * 0 or -errno, and why; -ELOOP: a credential would need a credential.
 */
int route_command(struct leash *, const struct sealed_secret *, struct secret **ret,
    struct reason *why);
int route_plugin(struct leash *, const struct sealed_secret *, struct secret **ret,
    struct reason *why);
/* Was this credential resolved already, for its source? */
bool route_known(struct leash *, const struct sealed_secret *, struct secret **ret);
/* Ends the plugins; call once all values are resolved. */
void route_end(void);

/*
 * A value from the vault.  The first call connects to the running keeper.  It does
 * not start one, because a keeper that is not running has no unlocked vault.  0 or
 * -errno; why names what is missing and the command that fixes it.
 */
int launch_vault_secret(struct leash *, const struct sealed_secret *, struct secret **ret,
    struct reason *why);
/* Does the vault have a value for this line?  It is not released, so no grant is needed.
 * Fails as above. */
int launch_vault_check(struct leash *, const struct sealed_secret *, struct reason *why);
/* The old values of the path of this row, which must be the last one resolved.  The
 * scrubber learns them under this number; the server does not get them. */
int launch_vault_replaced(
    struct leash *, const struct sealed_secret *, uint32_t number, struct reason *why);
/* Connects to the running keeper; without one (-ENOENT) no vault is unlocked. 0 or -errno. */
int launch_reach_keeper(const struct leash *, int *ret_fd, enum keeper_state *ret_state);
/* r: of a request to the keeper; for people. A keeper that is stopped, or busy for longer than
 * anything takes, is to be ended. */
const char *launch_keeper_failure(int r);
/* Closes the connection; call once all values are resolved. */
void launch_vault_end(void);

/*
 * Adds the value to the environment, or as a file, and to the scrubber under this
 * number. 0; -errno of env_secret(), env_file(), scrub_learn(); -EINVAL and
 * *ret_weak (see scrub_weakness()) for a weak value that the policy does not
 * permit.
 */
int secret_give(struct leash *, const struct sealed_secret *, const struct secret *,
    uint32_t number, const char **ret_weak);

/* launch_fingerprint.c: of every value, once all are resolved: 0 or -errno, and why. */
int launch_fingerprints_make(struct leash *, struct reason *why);
/* Records the names in the plan, with their fingerprints. */
int launch_fingerprints_record(struct leash *, uint64_t *ret_number);

/* launch_helper.c */
#define HELPER_PATH_CAP 4096
/* The path of a program in the directory of this one.  0 or -errno. */
int helper_path(const char *name, char path[HELPER_PATH_CAP]);
/* The shim's image as a sealed memfd: later changes of the file do not reach a running
 * cell.  A descriptor or -errno. */
int helper_shim_image(void);

#endif
