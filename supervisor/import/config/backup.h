/*
 * What `kennel import` has replaced, to restore it: one file for each replacement, in
 * import/ of kennel's data directory, with the original bytes. They contain the secrets
 * that were in the configuration, so only their owner may read them.
 */
#ifndef KENNEL_SUPERVISOR_IMPORT_BACKUP_H
#define KENNEL_SUPERVISOR_IMPORT_BACKUP_H

#include <limits.h>
#include <stdint.h>

#include "supervisor/import/config/config_file.h"

/* Writes a backup before the file is replaced by these bytes. ret_path: of the backup. */
int backup_write(const char *dir, const struct config_file *, const void *bytes,
    size_t len, char ret_path[PATH_MAX]);

/*
 * Removes what an interrupted import has left next to a file (config_file_left), if its
 * bytes are in the file, in these bytes that will replace it, or in a backup. 0: nothing
 * is left; 1: removed; -EEXIST: a save of another program may be in it; -errno.
 */
int backup_clear(const char *dir, const struct config_file *, const void *bytes,
    size_t len, char ret_path[PATH_MAX]);

/* Reports one backup: r of backup_restore or of unlink. */
typedef void backup_report(const char *path, const char *backup, int r, void *arg);
/*
 * Restores the replaced files, the newest replacement first, and removes the backups of
 * those that it restored. A file that was changed since is left as it is: -ESTALE to
 * the report. Returns the number of files not restored, or -errno.
 */
int backup_restore(const char *dir, backup_report *report, void *arg);
/* Removes all backups: the number that is left, or -errno. */
int backup_forget(const char *dir, backup_report *report, void *arg);

#endif
