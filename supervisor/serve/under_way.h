/*
 * Requests under way at a server: whether its session still has one that is late
 * (open_check.c), and what a server needs for one whose client is of another era (bridge.c).
 */
#ifndef KENNEL_SUPERVISOR_SERVE_UNDER_WAY_H
#define KENNEL_SUPERVISOR_SERVE_UNDER_WAY_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/base/buf.h"
#include "supervisor/json/json.h"
#include "supervisor/mcp/line/edit.h"
#include "supervisor/mcp/methods.h"

struct asking;
struct downstream;
struct hub;
struct incoming;
struct route;
struct server;

/* ---- open_check.c ---------------------------------------------------------------- */

struct open_check {
	uint64_t at;     /* the next; UINT64_MAX: no request is open */
	uint64_t route;  /* the id that was asked about; 0: none */
	uint64_t served; /* messages of the session at the last check */
	uint32_t n;      /* of the last question */
	uint32_t missed; /* checks since anything came */
};

/* A request is open at its process. */
void open_check_add(const struct route *);
/*
 * When the time of the oldest request is over, asks the session about it. A session that
 * stays silent is closed, and a request that it does not have is answered.
 */
void open_check_timer(struct downstream *, uint64_t now);
/* The session's answer. */
void open_check_answer(struct downstream *, const struct json_message *);

/* ---- bridge.c ---------------------------------------------------------------------- */

struct bridge;
/* This object, or {} if it is empty. */
void bridge_object(struct buf *out, const struct buf *object);
/* Gives a process of the other era what waits for this one: a call, and maybe its
 * cancellation. Call it before the routes move. */
void bridge_waiting(struct hub *, struct downstream *from, struct downstream *to);
/* The members of _meta that every request of 2026-07-28 carries; the envelope also has the
 * agent's log level. */
void bridge_identity(struct hub *, struct buf *out);
void bridge_envelope(struct hub *, struct buf *out, const char *comma);
/* _meta of a request as a server of an era needs it: with this progress token (NULL: its
 * own), and without an older server's envelope or with a newer one's. room: for its text,
 * empty, kept until the line is written. */
void bridge_meta(struct hub *, struct edits *, const struct json_message *,
    const char *token, bool from_modern, bool to_modern, struct buf *room);
/* line: the request as the server gets it, with its newline. */
void bridge_keep(struct hub *, struct route *, const struct buf *line);
void bridge_free(struct hub *, struct bridge *);
bool bridge_input(struct hub *, struct route *, const struct json_message *);
/* The time of a call with a bridge has come: its server wanted it again. */
void bridge_resume(struct hub *, struct route *);
bool bridge_answer(struct hub *, struct asking *, const struct incoming *);
void bridge_request(
    struct downstream *, const struct json_message *, const struct method *);
bool bridge_continue(struct hub *, struct incoming *, const struct server *);
/* The answers that a held call gets from its agent; none: errors. */
void bridge_pass(struct hub *, struct route *, struct json answers);

#endif
