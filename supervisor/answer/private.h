/*
 * Shared by the verbs of kennel approve.
 */
#ifndef KENNEL_SUPERVISOR_ANSWER_PRIVATE_H
#define KENNEL_SUPERVISOR_ANSWER_PRIVATE_H

#include "supervisor/answer/answer.h"

/* Answers the approval with this id, and prints what was done or why not: an exit
 * status. */
int approve_answer(const char *id, const struct decision *);
/* Reports why an answer was not taken (-errno of session_answer): an exit status. */
int approve_report(const char *id, int r);
int approve_watch_main(int argc, char **argv);
/* here.c: dialogs of a pinentry, until it is interrupted. */
int approve_here_main(int argc, char **argv);
/* watch_screen.c: on a screen that was opened, until the user quits. */
void approve_screen(void);
#define APPROVE_LOOK_MS 1000 /* between two checks for new sessions */

#endif
