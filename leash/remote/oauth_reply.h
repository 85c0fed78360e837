/*
 * The JSON that an authorization server and a protected resource send: the metadata of
 * both, and tokens.
 */
#ifndef KENNEL_LEASH_REMOTE_OAUTH_REPLY_H
#define KENNEL_LEASH_REMOTE_OAUTH_REPLY_H

#include <stdbool.h>
#include <stddef.h>

#include "leash/remote/tokens.h"

#define OAUTH_URL_MAX   2048 /* bytes */
#define OAUTH_ERROR_MAX 64

/* Is this the issuer to use? */
typedef bool issuer_fits_fn(void *arg, const char *url);

/* RFC 9728, 2. "": absent, or no text of visible ASCII of at most OAUTH_URL_MAX bytes. */
struct resource_metadata {
	char resource[OAUTH_URL_MAX + 1];
	char issuer[OAUTH_URL_MAX + 1]; /* the first that fits; "": none does */
};

/* RFC 8414, 2. */
struct issuer_metadata {
	char issuer[OAUTH_URL_MAX + 1];
	char authorize[OAUTH_URL_MAX + 1]; /* authorization_endpoint */
	char token[OAUTH_URL_MAX + 1];     /* token_endpoint */
	bool s256;                         /* PKCE with S256 is supported */
	bool sends_iss;                    /* RFC 9207: each answer has `iss` */
	bool basic, post;                  /* how a client with a secret proves itself */
};

/* RFC 6749, 5.  Wipe it. */
struct token_reply {
	char access[TOKEN_MAX + 1];      /* visible ASCII; "": absent, or invalid */
	char refresh[TOKEN_MAX + 1];     /* the same */
	bool bearer;                     /* token_type */
	char error[OAUTH_ERROR_MAX + 1]; /* of a to z and `_`; "": none */
};

/* 0, or -EBADMSG: no JSON object.  *ret is filled in either case. */
int resource_metadata_read(const char *text, size_t len, issuer_fits_fn *fits, void *arg,
    struct resource_metadata *ret);
int issuer_metadata_read(const char *text, size_t len, struct issuer_metadata *ret);
int token_reply_read(const char *text, size_t len, struct token_reply *ret);

#endif
