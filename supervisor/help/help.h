/*
 * The help of kennel: the tables of its verbs, what answers --help, and completions.
 */
#ifndef KENNEL_SUPERVISOR_HELP_HELP_H
#define KENNEL_SUPERVISOR_HELP_HELP_H

#include <stdbool.h>

#include "shim/help/help.h"

/* kennel_help.c, secret_help.c: the tables */
extern const struct help_family kennel_help, server_help, approve_help, secret_help;

/* The family of verbs that this verb of kennel begins; NULL: it is a verb itself. */
const struct help_family *help_family_of(const char *verb);

/* Reports a word that is no verb of kennel: the families that have such a verb, else the
 * verb that was probably meant; an exit status. */
int help_unknown_command(const char *word);

/* ---- command.c ------------------------------------------------------------------------ */

/* Answers "-h", "--help" and "help" after a verb; true if these arguments of kennel (from
 * argv[1]) ask for help; then *ret_status is the exit status. */
bool help_answer(int argc, char **argv, int *ret_status);
/* "kennel help [VERB...]": argv[0] is "help". */
int help_main(int argc, char **argv);
/* "kennel" alone: the first five commands, on standard error; an exit status. */
int help_first(void);

/* ---- complete.c ----------------------------------------------------------------------- */

/* "kennel complete WORD...": prints what may follow the words before the last, and begins
 * with the last, one a line; ":files": names of files. */
int complete_main(int argc, char **argv);

#endif
