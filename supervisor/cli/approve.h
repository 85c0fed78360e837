/*
 * Shared by the files of kennel approve.
 */
#ifndef KENNEL_SUPERVISOR_CLI_APPROVE_H
#define KENNEL_SUPERVISOR_CLI_APPROVE_H

#include "supervisor/answer/answer.h"

/* Answers the approval with this id, and prints what was done or why not: an exit
 * status. */
int approve_answer(const char *id, const struct decision *);
int approve_watch_main(int argc, char **argv);

#endif
