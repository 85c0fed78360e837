/*
 * OAuth 2.1 of one server, as a client (`auth oauth2` in a policy).
 *
 *	oauth.c			which token a request gets, and what a 401 or 403 means
 *	oauth_discovery.c	the server's metadata, and its issuer's
 *	oauth_token.c		requests to the token endpoint
 *	oauth_fetch.c		one HTTP request, and its whole answer
 *	login.c			the authorization code, for a person
 *	refresh_client.c	the refresh token, which the leash has
 */
#ifndef KENNEL_LEASH_REMOTE_OAUTH_H
#define KENNEL_LEASH_REMOTE_OAUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leash/remote/http.h"
#include "leash/remote/oauth_reply.h"
#include "leash/remote/response_head.h"
#include "leash/remote/tokens.h"
#include "shim/base/buf.h"

#define OAUTH_WHY_CAP  512
#define OAUTH_BODY_MAX (64u << 10) /* bytes of metadata, of a form, of an answer */
#define OAUTH_ALL_MS   15000       /* for all requests of one renewal */
#define OAUTH_ONE_MS   5000        /* for one of them */

struct remote;
struct exchange;

struct oauth {
	struct remote *remote;
	/* as the policy has them; secret: NULL if the client has none */
	const char *client, *secret, *scope, *server, *issuer; /* issuer: HOST:PORT */
	bool code;                                             /* a person logs in */
	bool metadata;                    /* resource and found are filled in */
	char resource[OAUTH_URL_MAX + 1]; /* RFC 8707: the resource of a token */
	struct issuer_metadata found; /* token and authorize: of the issuer's origin */
	struct tokens *tokens;
	struct buf line;                       /* the header of each request; wiped */
	uint64_t serial;                       /* of the access token; 0: none yet */
	struct http *own, *at_issuer;          /* during a renewal */
	char at_issuer_url[OAUTH_URL_MAX + 1]; /* its origin */
	uint64_t until_ns;                     /* end of this renewal */
	uint64_t again_ns;                     /* after a failure: no other before this */
	char why[OAUTH_WHY_CAP];               /* of the failure, for the agent */
	int refresh_fd;                        /* to the leash; -1: none */
	bool refresh_late;    /* it has not answered the last request yet */
	const char *unstored; /* why the last refresh token is not in the
					      * vault; NULL: it is, or there was none */
};

/* ---- oauth.c ---- */

/* One option --oauth-... of the command line.  Exits if it is wrong. */
void oauth_option(struct remote *, const char *name, const char *value);
/* After the last option.  Exits if something is missing. */
void oauth_ready(struct remote *);
/* Wipes everything.  NULL is fine. */
void oauth_free(struct oauth *);
/* The line of a request's header, or NULL: no token yet. */
const char *oauth_header(const struct oauth *);
/* The request of x is about to be sent. */
void oauth_sending(struct exchange *x);
/*
 * The answer of x is complete.  True: the server wants another token, or none that kennel
 * has; x was sent again, or it has failed and is over.  NULL oauth: false.
 */
bool oauth_answered(struct exchange *x);
/* A message for kennel, without the tokens.  0 or -errno. */
int oauth_redact(struct oauth *, const char *, size_t, struct buf *out);
/* Begins and ends a renewal.  0, or -1 with why. */
int oauth_begin(struct oauth *);
void oauth_end(struct oauth *);
/* Sets why, and returns -1.  Bytes that are not printable become `?`. */
int oauth_fail(struct oauth *, const char *, ...) __attribute__((format(printf, 2, 3)));

/* ---- oauth_fetch.c ---- */

struct oauth_reply {
	struct response_head head;
	struct buf body; /* of OAUTH_BODY_MAX from the start; wiped by the end */
	bool over, large;
	char why[HTTP_WHY_MAX]; /* "": the request was answered */
};

/* http: oauth->own or ->at_issuer; the URL must be of its origin.  0, or -1 with why. Ends
 * with oauth_reply_end in either case. */
int oauth_fetch(
    struct oauth *, struct http *, const struct http_request *, struct oauth_reply *ret);
void oauth_reply_end(struct oauth_reply *);

/* ---- oauth_discovery.c ---- */

/* Fills in resource and found.  0, or -1 with why. */
int oauth_discover(struct oauth *, const struct challenge *);

/* ---- oauth_token.c ---- */

/*
 * Asks the token endpoint: form has the parameters of the grant, and gets those of the
 * client.  Keeps the tokens of the answer.  0; -1 with why; -EKEYREJECTED with why: the
 * code or refresh token is not valid (any more).
 */
int oauth_token(struct oauth *, struct buf *form);
/* An access token, by the policy's grant.  0, or -1 with why. */
int oauth_obtain(struct oauth *);

/* ---- refresh_client.c ---- */

/* 0: another token than the present one, which it is now; 1: it is the present one;
 * -ENOENT: there was no login; else -errno.  why: what to do. */
int refresh_get(struct oauth *, const char **ret_why);
int refresh_put(struct oauth *, const struct secret *, const char **ret_why);

/* ---- login.c ---- */

/* For `kennel server login`: stdin and stdout are a person's.  The exit status. */
int login(struct remote *);

#endif
