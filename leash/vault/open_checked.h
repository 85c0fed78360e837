/*
 * Private to this room: checks (vault_judge) and opens the source of a value.  On
 * failure why contains the rest of a sentence that begins with the path.
 */
#ifndef KENNEL_LEASH_VAULT_OPEN_CHECKED_H
#define KENNEL_LEASH_VAULT_OPEN_CHECKED_H

#include "leash/vault/vault.h"

/* 0; -EINVAL: not absolute; -ELOOP, -EXDEV: a link that is not followed; -EPERM: a
 * server may replace it; -EACCES: not a regular file; -errno. */
int open_checked_file(
    const struct vault *, const char *path, int *ret_fd, struct reason *why);
/* The same for a program, its loader, the interpreters that a script needs, and the
 * arguments in its first line.  -ENOEXEC: an invalid ELF file; -E2BIG: too many. */
int open_checked_program(
    const struct vault *, const char *path, int *ret_fd, struct reason *why);
/* Checks the paths in each argument after the program (program_word), and the needs of
 * those that are programs.  0; -ELOOP -EXDEV -EPERM, or an error of open_checked_program. */
int open_checked_args(const struct vault *, const char *const *argv, struct reason *why);

#endif
