/*
 * A small MCP client: one server on two pipes, one request at a time. For verbs that
 * need a server's description of itself.
 */
#ifndef KENNEL_SUPERVISOR_CLI_MCP_CLIENT_H
#define KENNEL_SUPERVISOR_CLI_MCP_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "leash/leash.h"
#include "shim/base/buf.h"
#include "supervisor/json/json.h"
#include "supervisor/mcp/line/frame.h"

#define CLIENT_WAIT_MS 30000 /* for one answer, but the first */
/* For the first answer under `kennel run`, which ends a start after `timeout start` itself. */
#define CLIENT_START_OF_RUN 0
#define CLIENT_WHY_MAX      1024
#define CLIENT_PAGE_MAX     (MCP_NAME_MAX + 32) /* params that ask for a page of a list */
/* From "kennel exec --for-client" in place of a server that was not started, with the reason
 * as params.message. */
#define CLIENT_REFUSED "kennel/refused"

struct client {
	int to, from; /* owned */
	struct frame_in in;
	bool modern;           /* 2026-07-28: no initialize, _meta in each request */
	const char *shown;     /* client capabilities, as a JSON object */
	unsigned int id;       /* of the last request */
	uint64_t start_ms;     /* for the first answer; CLIENT_START_OF_RUN */
	uint64_t until;        /* of loop_now: all answers come before it; 0: no limit */
	bool answered;         /* the server has answered a request */
	struct buf text;       /* the current request */
	struct json_message m; /* the current answer; its line is in `in` */
	char why[CLIENT_WHY_MAX]; /* printable lines, the last one without its newline */
};

/*
 * Starts this program with these arguments ("kennel", "run" or "exec", ..., NULL; at most
 * CLIENT_ARGS_MAX), with a pipe to its input and one from its output. purpose: a PURPOSE_,
 * for the record of the session. 0 or -errno.
 */
#define CLIENT_ARGS_MAX (LEASH_ARGS_MAX + 16)
int client_spawn(const char *purpose, const char *const *argv, pid_t *ret_pid,
    int *ret_to, int *ret_from);
/* Its input is closed: waits until it has ended, and sends SIGTERM after 3 seconds.
 * Returns its wait status. */
int client_reap(pid_t);

/*
 * Owns the descriptors from now on. Initializes the server with these client
 * capabilities ("{}"); its response is in m.top[TOP_RESULT]. start_ms: for the first answer,
 * `timeout start` of its policy. Returns 0; -ETIMEDOUT, -EPIPE, -EPROTO, -ENOMEM, with why.
 */
int client_open(
    struct client *, int to, int from, const char *capabilities, uint64_t start_ms);
/* The same, for all that is asked of this client, until a time of loop_now. */
int client_open_until(
    struct client *, int to, int from, const char *capabilities, uint64_t until);
void client_free(struct client *);
/* Logs "what: why", each line of why as a message. */
void client_log(const char *what, const char *why);
/* Prints why after a ':'. If it has several lines, each begins with this text. */
void client_put_why(FILE *, const char *before, const char *why);

/*
 * Sends a request: params is the text inside the { } of params, or "". 0: the result
 * is in m.top[TOP_RESULT], valid until the next request. -EREMOTEIO: the server
 * answered with an error; other errors as above.
 */
int client_ask(struct client *, const char *method, const char *params);
/* Asks for a list and calls fn for the list of each page (JSON_IS_NONE: it is missing); a
 * result other than 0 ends it and is returned, and then why is "". 0; -E2BIG too many pages, or a cursor that is
 * too long, with why; or as client_ask. */
typedef int client_page_fn(void *arg, struct json list);
int client_list(struct client *, const char *method, enum json_result key,
    client_page_fn *fn, void *arg);
/* The same for each definition of the list of tools. */
typedef int client_tool_fn(void *arg, struct json definition);
int client_tools(struct client *, client_tool_fn *fn, void *arg);

#endif
