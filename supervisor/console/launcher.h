/*
 * The half of kennel-console that is not confined: it runs commands of kennel for the
 * server of the page (commands.h), and ends what it started.
 *
 * Trusts: the server, for which of these commands runs. Must never: read a byte of a
 * browser or of an MCP server.
 */
#ifndef KENNEL_SUPERVISOR_CONSOLE_LAUNCHER_H
#define KENNEL_SUPERVISOR_CONSOLE_LAUNCHER_H

#include <sys/types.h>

/* Blocks the signals that the launcher waits for; call it before any fork. */
void launcher_prepare(void);
/* In a child: the signals are as before. */
void launcher_release(void);

/* Records an event of the launcher's own (verb_console.c) in the audit log: 0, or the
 * command's exit status, after its message. */
int launcher_record(const char *event);

struct launcher_order {
	pid_t server;
	int socket;   /* to the server, for commands */
	int sessions; /* the same, for session_sockets.h */
	/* Called once, when the server listens, and when its first link is late or at the
	 * end. */
	void (*ready)(void *arg), (*late)(void *arg);
	void *arg;
};
/* Until the server has ended, or a signal ends both. The exit status for the user. */
int launcher_run(const struct launcher_order *);

#endif
