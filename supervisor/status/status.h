/*
 * The status room: what running sessions and hubs tell their user about themselves, on
 * the sockets run-PID and serve-PID of the run directory (docs/PROTOCOL.control,
 * docs/PROTOCOL.serve).
 *
 *	status_wire.c	the packets of a session
 *	status_socket.c	the socket of a session
 *	latency.c	how long a server's answers take
 *	hub_wire.c	the packets of a hub; its socket is supervisor/serve/hub_control.c
 *	status_client.c	the side that asks: kennel ps, top, server
 *
 * Holds numbers, names and kennel's own messages: no argument of a call, no secret.
 */
#ifndef KENNEL_SUPERVISOR_STATUS_STATUS_H
#define KENNEL_SUPERVISOR_STATUS_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/base/loop.h"
#include "shim/base/wire.h"

#define STATUS_SOCKET     "run-" /* in the run directory; the process id follows */
#define STATUS_VERSION    2      /* 1: without `via`; the asked side answers in either */
#define STATUS_PACKET_MAX 512
#define STATUS_SERVER_MAX 128
#define STATUS_POLICY_LEN 32

/* Each packet begins with a u32 of these. */
enum status_message {
	STATUS_ASK = 1, /* from a client: u32 version */
	STATUS_IS = 2,  /* to it: status_put */
};

enum status_kind {
	STATUS_RUN = 1, /* "kennel run": an MCP server */
	STATUS_EXEC,    /* "kennel exec": any program */
};
const char *status_kind_name(enum status_kind);
struct status;
/* The state for people, in at most STATUS_STATE_LEN characters: connecting, connected, exec,
 * needs-approval. */
#define STATUS_STATE_LEN 14
const char *status_state_name(const struct status *);

struct status {
	enum status_kind kind;
	bool connected; /* the server has answered; always of STATUS_EXEC */
	char server[STATUS_SERVER_MAX];
	char session[17];                  /* as in the log */
	uint8_t policy[STATUS_POLICY_LEN]; /* its id */
	uint64_t since_ns;                 /* of Unix time: when the session began */
	uint32_t calls;                    /* at the server */
	uint32_t waiting;                  /* for an approval: calls, programs, ... */
	uint64_t
	    calls_made; /* passed on: what opens the session, lists, pings or sets the
			      * log level is no call */
	uint64_t refused;
	uint32_t via; /* the process of "kennel serve" that is its agent; 0: none */
};

void status_put(struct wire_out *, const struct status *, uint32_t version);
/* Reads what status_put writes, in either version; the server's name is not escaped.
 * Returns 0 or -EBADMSG. */
int status_get(struct wire_in *, struct status *ret);

struct status_socket;
typedef void status_fn(void *arg, struct status *ret);

/* Call it before the process confines itself; fn is called for each request. Returns 0
 * or -errno. */
int status_open(struct loop *, const char *run_dir, status_fn *fn, void *arg,
    struct status_socket **ret);
void status_free(struct status_socket *);

#endif
