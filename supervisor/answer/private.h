/*
 * Shared by the verbs of kennel approve.
 */
#ifndef KENNEL_SUPERVISOR_ANSWER_PRIVATE_H
#define KENNEL_SUPERVISOR_ANSWER_PRIVATE_H

#include "supervisor/answer/answer.h"

/* shown.c: what the person was shown, without a newline at its end. */
struct shown {
	char id[QUESTION_ID_MAX], kind[16], sha256[2 * QUESTION_DIGEST_LEN + 1];
	char subject[QUESTION_TEXT_MAX], detail[QUESTION_DETAIL_MAX];
};
/* Reads it to the end of the file: 0 or -EINVAL. */
int shown_read(int fd, struct shown *ret);
/* Is it exactly this one? */
bool shown_is(const struct shown *, const struct approval_found *);

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
