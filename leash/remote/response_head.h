/*
 * What the head of an HTTP response says, as far as kennel-remote uses it.
 */
#ifndef KENNEL_LEASH_REMOTE_RESPONSE_HEAD_H
#define KENNEL_LEASH_REMOTE_RESPONSE_HEAD_H

#include <stdbool.h>
#include <stddef.h>

#include "leash/remote/challenge.h"

#define HEAD_MAX     (64u << 10) /* bytes of all lines of a response, and of those before */
#define SESSION_MAX  1024        /* bytes of an Mcp-Session-Id */
#define LOCATION_MAX 4096

enum head_body { BODY_OTHER = 0, BODY_JSON, BODY_EVENTS, BODY_TEXT };

struct response_head {
	unsigned int status; /* 0: none yet */
	enum head_body body;
	bool ended;                      /* what follows it are trailers */
	size_t len;                      /* of the lines so far, of all its heads */
	char session[SESSION_MAX + 1];   /* "": none */
	char location[LOCATION_MAX + 1]; /* "": none, or it is too long */
	struct challenge challenge;      /* of WWW-Authenticate */
};

/*
 * One line, with or without its CR LF.  A status line begins the head of another response
 * (after 100 Continue), but not after the empty line that ends the head of the last one:
 * lines after that are trailers, and change nothing.  0; -EMSGSIZE; -EBADMSG: a session
 * id that cannot be sent back, two of them, or a transfer encoding that is not "chunked".
 */
int response_head_line(struct response_head *, const char *, size_t);

#endif
