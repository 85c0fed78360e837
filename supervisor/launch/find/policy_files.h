/*
 * The policy files of this user, and the servers that they define.
 */
#ifndef KENNEL_SUPERVISOR_LAUNCH_FIND_POLICY_FILES_H
#define KENNEL_SUPERVISOR_LAUNCH_FIND_POLICY_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/compile/compile.h"

/* Why a file of policies, or a directory of them, is not used: any user may write it, or it
 * is neither root's nor the caller's. NULL: it is used. path: /etc is not asked whose it
 * is. */
const char *policy_file_refused(int fd, const char *path);
/* Calls fn for each file of the directory that ends in suffix, in the order of their names.
 * fd is open for reading until fn returns, or what path_open() said. 0, also if there is no
 * such directory; -E2BIG: there are more; -EPERM: policy_file_refused(); else as
 * path_open(). */
typedef void policy_file_fn(void *arg, const char *path, int fd);
int policies_each(const char *dir, const char *suffix, policy_file_fn *fn, void *arg);

/*
 * Calls fn for each server that a start by name could find, and its description: what
 * sealed files of its name say, unchecked, and what the texts of the user define (they are
 * parsed, not compiled). A name may come more than once (duplicate_server.h); the first
 * one holds. 0 or -errno.
 */
int server_names(policy_name_fn *fn, void *arg);
/* Which of these names was probably meant by this one; false: none. */
#define SERVER_NAME_LEN_MAX 128
bool server_name_near(const char *name, char *ret, size_t ret_cap);
/* The same for one file, sealed or text: 0, -ENOENT, -errno. */
int server_names_of(const char *path, policy_name_fn *fn, void *arg);

#endif
