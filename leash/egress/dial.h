/*
 * The requests of kennel-egress to kennel-dial, and the messages of the leash.  One
 * SOCK_SEQPACKET each; requests even, answers odd.
 *
 *	leash				kennel-dial
 *	DIAL_START ------------------>	policy, server, the relay's socket
 *	DIAL_AGREED ----------------->	the user approved a row with `ask`
 *
 *	kennel-egress			kennel-dial
 *	DIAL_OPEN ------------------->	checks policy, resolves, checks addresses
 *	   <-------------- DIAL_OPENED  with the connected descriptor
 *	   <-------------- DIAL_FAILED
 *	DIAL_CANCEL ----------------->	no longer wanted
 *
 * The relay reads data of the server, so kennel-dial does not trust it: a row that
 * does not grant this name and port is refused, and a row with `ask` is refused
 * until the leash reports that the user approved it.
 */
#ifndef KENNEL_LEASH_EGRESS_DIAL_H
#define KENNEL_LEASH_EGRESS_DIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/address/address.h"
#include "shim/base/wire.h"

#define DIAL_CHANNEL_FD 3
#define DIAL_VERSION    1
#define DIAL_NAME_MAX   253
#define DIAL_PACKET_MAX 512
#define DIAL_AT_A_TIME  1024

enum dial_message {
	/* u32 DIAL_VERSION, str server.  Descriptors: the sealed policy, the relay's
	 * socket. */
	DIAL_START = 2,
	/* u32 id (the relay's), u32 row of the sealed policy, u32 port, str name (or
	 * the text of an address) */
	DIAL_OPEN = 4,
	/* u32 id, bytes address (16).  Descriptor: the connection. */
	DIAL_OPENED = 5,
	DIAL_CANCEL = 6, /* u32 id */
	/* u32 id, u32 enum dial_why, bytes address (16, or none) */
	DIAL_FAILED = 7,
	/* u32 row, u32 port, str name; from the leash alone */
	DIAL_AGREED = 8,
};

enum dial_why {
	DIAL_NO_NAME = 1, /* the resolver does not know the name, or no address of it */
	DIAL_RESOLVER,    /* the resolver does not reply */
	DIAL_PUBLIC,      /* resolves to a public address; the grant is for others */
	DIAL_LOOPBACK,
	DIAL_PRIVATE,
	DIAL_METADATA,
	DIAL_SPECIAL,
	DIAL_OWN,
	DIAL_NEAR,
	DIAL_REFUSED, /* connection refused */
	DIAL_UNREACHABLE,
	DIAL_TIMEOUT,
	DIAL_LIMIT,  /* no descriptor, no memory, too many at a time */
	DIAL_POLICY, /* not granted by the policy: the relay asked for too much */
	DIAL_WHY_END,
};
/* "a private address", as the end of "NAME:PORT refused: ...". */
const char *dial_why_name(enum dial_why);

/* A request of the relay, parsed by kennel-dial. */
struct dial_request {
	enum dial_message type; /* DIAL_OPEN or DIAL_CANCEL */
	uint32_t id, row, port;
	const char *name; /* in the packet */
};
/* 0 or -EBADMSG. */
int dial_request_read(const void *, size_t len, struct dial_request *ret);
int dial_request_write(const struct dial_request *, struct wire_out *);

/* A reply, parsed by the relay. */
struct dial_answer {
	enum dial_message type; /* DIAL_OPENED or DIAL_FAILED */
	uint32_t id;
	enum dial_why why; /* DIAL_FAILED */
	bool has_addr;
	uint8_t addr[ADDRESS_LEN];
};
int dial_answer_read(const void *, size_t len, struct dial_answer *ret);
int dial_answer_write(const struct dial_answer *, struct wire_out *);

#endif
