/*
 * Reads, replaces and restores a configuration file. A symbolic link is followed: its
 * target is replaced, and the link stays.
 */
#ifndef KENNEL_SUPERVISOR_IMPORT_CONFIG_FILE_H
#define KENNEL_SUPERVISOR_IMPORT_CONFIG_FILE_H

#include <limits.h>
#include <stddef.h>
#include <sys/stat.h>

struct config_file {
	char path[PATH_MAX]; /* canonical */
	struct stat st;
	char *bytes; /* owned; wiped */
	size_t len;
};

/* Reads it. 0; -ENOENT; -EINVAL: not a regular file; -EFBIG; -errno. */
int config_file_read(const char *path, struct config_file *ret);
void config_file_free(struct config_file *);
/* May this user write the file, by its mode too? 0; -EACCES; -EROFS; -errno. */
int config_file_writable(const struct config_file *);
/*
 * Replaces the file as it was read by these bytes, in one step. The owner and the mode
 * are kept. 0, or the file is as it was: -ESTALE: it was changed since, and keeps the
 * change; -EEXIST: an interrupted call has left a file; -EUCLEAN: it was changed, and one
 * of the changes is in the file that config_file_left finds; -errno.
 */
int config_file_replace(const struct config_file *, const void *bytes, size_t len);
/* Reads what an interrupted replacement has left, in FILE.kennel-new: the old file, the
 * new one, or a part of it. 0; -ENOENT: nothing; -errno. config_file_free. */
int config_file_left(const struct config_file *, struct config_file *ret);

#endif
