/*
 * Where things are (kennel(1), FILES): XDG folders, KENNEL_HOME over them, and
 * the helpers beside this binary.  Every string is static; NULL when there is
 * no home folder to be found.
 */
#ifndef KENNEL_SUPERVISOR_CLI_PATHS_H
#define KENNEL_SUPERVISOR_CLI_PATHS_H

const char *paths_config_dir(void); /* policies/ sealed/ below it */
const char *paths_data_dir(void);   /* servers/ below it */
const char *paths_audit_dir(void);  /* audit.db */
const char *paths_log_dir(void);    /* standard error of the servers */
const char *paths_run_dir(void);    /* sockets */
const char *paths_vault_dir(void);  /* secrets.vault, keeper.log */

/* "kennel-leash" -> its path beside this binary (../libexec/kennel). */
const char *paths_libexec(const char *name);
/* The policies that come with kennel: where `make install` puts them, or those
 * of the tree that this binary was built in.  NULL: neither is there. */
const char *paths_presets_dir(void);

#endif
