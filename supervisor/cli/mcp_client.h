/*
 * A small MCP client: one server on two pipes, one question at a time.  For the
 * verbs that want to know what a server says of itself.
 */
#ifndef KENNEL_SUPERVISOR_CLI_CLIENT_H
#define KENNEL_SUPERVISOR_CLI_CLIENT_H

#include <sys/types.h>

#include "supervisor/mcp/mcp.h"

#define CLIENT_WAIT_MS 30000 /* for one answer */
#define CLIENT_WHY_MAX 256

struct client {
	int to, from; /* owned */
	struct frame_in in;
	bool modern;           /* 2026-07-28: no initialize, _meta in each request */
	const char *shown;     /* client capabilities, as a JSON object */
	unsigned int id;       /* of the last question */
	struct buf text;       /* the question at hand */
	struct json_message m; /* the answer at hand; its line lives in `in` */
	char why[CLIENT_WHY_MAX];
};

/*
 * Takes the descriptors.  Greets the server, which is shown these client
 * capabilities ("{}"); what it answered is in m.top[TOP_RESULT].  0; -ETIMEDOUT,
 * -EPIPE, -EPROTO, -ENOMEM, with why.
 */
int client_open(struct client *, int to, int from, const char *capabilities);
void client_free(struct client *);

/*
 * Ask: params is what stands inside { } of params, or "".  0: the result is in
 * m.top[TOP_RESULT], valid until the next question.  -EREMOTEIO: the server
 * answered with an error; the others as above.
 */
int client_ask(struct client *, const char *method, const char *params);

#endif
