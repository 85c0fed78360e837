/*
 * How the confined server reaches the sessions: its launcher connects to their sockets, and
 * hands the connections over. Both ends are kennel-console; a socket of their own, because
 * the server waits for each reply.
 */
#ifndef KENNEL_SUPERVISOR_CONSOLE_SESSION_SOCKETS_H
#define KENNEL_SUPERVISOR_CONSOLE_SESSION_SOCKETS_H

#include <stddef.h>
#include <stdint.h>

/* Requests are even, answers odd. number: of the request; a late answer has an old one. */
enum session_message {
	SESSIONS_LIST = 2,      /* u32 number */
	SESSIONS_LISTED = 3,    /* u32 number, u32 n, n x u32 pid */
	SESSIONS_CONNECT = 4,   /* u32 number, u32 pid */
	SESSIONS_CONNECTED = 5, /* u32 number, u32 errno; 0: one descriptor */
};

/* ---- the server ------------------------------------------------------------------- */

struct session_sockets {
	int launcher;
	uint32_t number; /* of the last request */
};

/* Functions of a struct session_access; arg is a struct session_sockets. The launcher
 * answers within 5 s, or there is no session: 0; -ETIMEDOUT. */
size_t session_sockets_list(void *arg, long *pid, size_t max);
int session_sockets_connect(void *arg, long pid);

/* ---- the launcher ----------------------------------------------------------------- */

/* Answers one request: 0; -EBADMSG: it was invalid; -errno: the server does not read. The
 * server chooses a pid; the socket is always a session's, of this user or of root. */
int session_sockets_answer(int server);

#endif
