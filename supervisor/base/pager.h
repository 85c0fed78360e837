/*
 * Long output on a terminal, a page at a time.
 */
#ifndef KENNEL_SUPERVISOR_BASE_PAGER_H
#define KENNEL_SUPERVISOR_BASE_PAGER_H

/*
 * If standard input and output are terminals: starts $KENNEL_PAGER, else $PAGER, else
 * less, and sends standard output to it until the process exits, which then waits for
 * it. An empty text, "cat", or a pager that is not installed: none. terminal_of() still
 * describes the terminal. Call it before anything is printed, in a process that holds
 * no secret and is not confined.
 */
void pager_start(void);
/* pager_start starts none. */
void pager_never(void);

#endif
