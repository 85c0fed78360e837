/*
 * What the head of an HTTP response says, as far as kennel-remote uses it
 * (response_head.c), and the value of a WWW-Authenticate header in it (challenge.c; RFC
 * 9110, 11.6.1; RFC 6750; RFC 9728, 5.1), as far as a client with a bearer token uses it.
 */
#ifndef KENNEL_LEASH_REMOTE_RESPONSE_HEAD_H
#define KENNEL_LEASH_REMOTE_RESPONSE_HEAD_H

#include <stdbool.h>
#include <stddef.h>

#define CHALLENGE_URL_MAX   2048 /* bytes */
#define CHALLENGE_SCOPE_MAX 512
#define CHALLENGE_ERROR_MAX 64

struct challenge {
	bool bearer;                          /* there was one with this scheme */
	char metadata[CHALLENGE_URL_MAX + 1]; /* resource_metadata; "": none */
	char scope[CHALLENGE_SCOPE_MAX + 1];  /* of the characters of RFC 6749; "" */
	char error[CHALLENGE_ERROR_MAX + 1];  /* of a to z and `_`; "": none */
};

/* The first challenge with the scheme Bearer.  Values that are too long or have other
 * characters count as absent, and so does everything if the value is no list of
 * challenges. */
void challenge_read(const char *, size_t, struct challenge *ret);

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
