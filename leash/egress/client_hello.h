/*
 * The start of a TLS connection as the relay reads it (RFC 8446, 5246, 6066): the
 * whole ClientHello, however it is split into records, and as much of the server's
 * first message as shows whether a second ClientHello follows.
 *
 *	client			relay				server
 *	ClientHello -------->	whole: SNI is the granted name
 *							-------->
 *				ServerHello, or HelloRetryRequest <-----
 *	ClientHello -------->	checked like the first	-------->
 *	everything  <------->	spliced			<------->
 */
#ifndef KENNEL_LEASH_EGRESS_CLIENT_HELLO_H
#define KENNEL_LEASH_EGRESS_CLIENT_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HELLO_BYTES_MAX   (20u << 10) /* including the record headers */
#define HELLO_MESSAGE_MAX (16u << 10)
#define HELLO_NAME_MAX    253
#define HELLO_ALPN_MAX    63

enum hello_why {
	HELLO_OK = 0,
	HELLO_NOT_TLS,       /* the first bytes are not a TLS handshake record */
	HELLO_OTHER_MESSAGE, /* a handshake message other than ClientHello */
	HELLO_TOO_LONG,
	HELLO_MALFORMED, /* inconsistent lengths, or bytes after the last field */
	HELLO_REPEATED,  /* a duplicate extension */
	HELLO_NAMES,     /* more than one name, or one of another kind */
};

struct client_hello {
	bool has_name;
	char name[HELLO_NAME_MAX + 1]; /* lower case; "" also for an invalid name */
	bool ech; /* contains an encrypted hello, whose name is unknown */
	char alpn[HELLO_ALPN_MAX + 1]; /* "h2,http/1.1", printable, may be cut */
	size_t len;                    /* bytes, with the records */
};

/*
 * Reads from the first byte of the stream.  0 and *ret: complete.  -EAGAIN: read
 * until there are at least *ret_need bytes, at most HELLO_BYTES_MAX.  -EBADMSG and
 * *ret_why.
 */
int client_hello_read(const uint8_t *, size_t len, struct client_hello *ret,
    size_t *ret_need, enum hello_why *ret_why);

/*
 * Records that a client may send between the two hellos: a dummy change of the
 * cipher, early data that the server skips.  Returns the length of the complete
 * ones at the front.
 */
size_t hello_skipped(const uint8_t *, size_t len);

/*
 * Reads the server's stream so far.  0: *ret_retry says whether this is a
 * HelloRetryRequest; -EAGAIN: unknown yet, more is needed.  A message other than
 * ServerHello requests no second hello.
 */
int server_hello_read(const uint8_t *, size_t len, bool *ret_retry);

#endif
