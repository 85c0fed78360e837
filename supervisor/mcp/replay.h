/*
 * A server that ends and is started again without the agent's session ending.
 */
#ifndef KENNEL_SUPERVISOR_MCP_REPLAY_H
#define KENNEL_SUPERVISOR_MCP_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/base/buf.h"

enum server_phase {
	SERVER_RUNS,
	SERVER_DOWN,   /* it has ended; a request of the agent may start it again */
	SERVER_STARTS, /* the agent is not read */
	SERVER_GREETS, /* the same: its answer to the replayed `initialize` is awaited */
};

struct kept;
struct replay {
	enum server_phase phase;
	struct kept *greeting;   /* `initialize` as the server got it; NULL: none */
	struct kept *level;      /* the last logging/setLevel; NULL: none */
	struct kept *subscribed; /* resources/subscribe, the oldest first */
	uint32_t subscribed_n;
	bool answered;      /* `initialize` was; the next one is of this server */
	uint8_t agreed[32]; /* digest of what the agent relies on in the answer */
	struct buf waiting; /* the agent's line that made the server start again */
	bool greeted;       /* the agent may be read: see session.c, pump_server */
};

struct session;
struct json_message;
struct call;
struct method;

void replay_init(struct replay *);
void replay_free(struct replay *);
/* True if the end of the server now is not the end of the session. */
bool replay_may(const struct session *);
/* Keeps a request that is being passed on, if a new process needs it too. */
void replay_note(struct session *, const struct json_message *);
/* The server has answered the agent's `initialize` with this result. */
void replay_agreed(struct session *, const struct json_message *);
/* The server has ended, and its open requests are answered. */
void replay_lost(struct session *, const char *why);
/* The agent makes a request of a server that is down. True: the line is kept, and judged
 * again when the server serves; false: why not, for the agent. */
bool replay_need(struct session *, const struct json_message *, char *text, size_t cap);
/* An answer to a request of kennel's own; one that cannot be read. */
void replay_answered(struct session *, struct call *, const struct json_message *);
void replay_unfit(struct session *, struct call *);

#endif
