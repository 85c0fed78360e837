/*
 * The program of `kennel exec`.
 */
#ifndef KENNEL_LEASH_LAUNCH_PROGRAM_H
#define KENNEL_LEASH_LAUNCH_PROGRAM_H

#include "leash/private.h"

/* The row that grants l->argv; l->path is then the program.  Below 0: *ret_status is
 * kennel's exit status, why names the line that denies it, and l->denied is its row. */
int program_of_exec(struct leash *, const struct sealed_exec **ret_row, int *ret_status,
    char why[LEASH_TEXT_MAX]);
/* The arguments of `kennel exec`, redacted by token formats and by the values of
 * secrets from the environment. */
void program_put_argv(struct leash *, struct event *);

#endif
