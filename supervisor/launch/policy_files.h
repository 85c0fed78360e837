/*
 * The policy files of this user, and the servers that they define.
 */
#ifndef KENNEL_SUPERVISOR_LAUNCH_POLICY_FILES_H
#define KENNEL_SUPERVISOR_LAUNCH_POLICY_FILES_H

/* Calls fn for each file of the directory that ends in suffix, in the order of their names.
 * fd is open for reading until fn returns, or what path_open() said. 0, also if there is no
 * such directory; -E2BIG: there are more; else as path_open(). */
typedef void policy_file_fn(void *arg, const char *path, int fd);
int policies_each(const char *dir, const char *suffix, policy_file_fn *fn, void *arg);

/*
 * Calls fn for each server that a start by name could find, and its description: what
 * sealed files of its name say, unchecked, and what the texts of the user define (they are
 * parsed, not compiled). A name may come more than once; the first one holds. 0 or -errno.
 */
typedef void server_name_fn(void *arg, const char *name, const char *about);
int server_names(server_name_fn *fn, void *arg);
/* The same for one file, sealed or text: 0, -ENOENT, -errno. */
int server_names_of(const char *path, server_name_fn *fn, void *arg);

#endif
