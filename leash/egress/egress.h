/*
 * The messages between a leash and kennel-egress (docs/PROTOCOL.egress).  One
 * SOCK_SEQPACKET, on descriptor EGRESS_CHANNEL_FD; requests even, answers odd.
 *
 *	leash				kennel-egress
 *	EGRESS_START ---------------->	policy, server, the dialer's socket
 *	EGRESS_SOCKETS -------------->	the cell's sockets, in plan.h's order
 *	EGRESS_READY ---------------->	no more of them: serve
 *	   <-------------- EGRESS_OPEN  may this connection be made?
 *	EGRESS_GO ------------------->	yes, it is recorded; or no
 *	   <------------ EGRESS_CLOSED  how a connection ended
 *	   <----------- EGRESS_REFUSED  what was refused, and how often
 *	EGRESS_PING ----------------->	does it still serve?
 *	   <-------------- EGRESS_PONG  yes
 *
 * Reports consist of fixed fields.  The relay has read data of the server, so the
 * leash checks each field and writes the text itself.
 */
#ifndef KENNEL_LEASH_EGRESS_EGRESS_H
#define KENNEL_LEASH_EGRESS_EGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/address/address.h"
#include "shim/base/wire.h"

#define EGRESS_CHANNEL_FD  3
#define EGRESS_VERSION     1
#define EGRESS_PACKET_MAX  1024
#define EGRESS_NAME_MAX    253
#define EGRESS_ALPN_MAX    63
#define EGRESS_CONNS_MAX   1024
#define EGRESS_NO_ROW      UINT32_MAX
#define EGRESS_SOCKETS_MAX (1024 + 8)

enum egress_message {
	/* u32 EGRESS_VERSION, str server, u32 number of sockets to come.  Descriptors:
	 * the sealed policy; if there are `net` grants, the dialer's socket. */
	EGRESS_START = 2,
	/* bytes, one for each socket in turn: 1: its descriptor is included, 0: the
	 * kernel could not make it.  Descriptors. */
	EGRESS_SOCKETS = 4,
	EGRESS_READY = 6, /* empty */
	EGRESS_GO = 8,    /* u32 connection, u32 1: yes */
	EGRESS_PING = 10, /* u32 number, u32 0 */
	/* struct egress_report, see egress_report_write */
	EGRESS_OPEN = 5,
	EGRESS_REFUSED = 7,
	EGRESS_CLOSED = 9,
	EGRESS_PONG = 11, /* its id is the number; no row, no name */
};

enum egress_why {
	EGRESS_OK = 0,
	EGRESS_NO_GRANT, /* a name or an address that no line grants */
	EGRESS_NO_PORT,  /* the name is granted, but not this port */
	EGRESS_DENIED,   /* a line denies it */
	EGRESS_DATAGRAM, /* only TCP is permitted */
	EGRESS_NOT_TLS,
	EGRESS_HELLO,       /* a malformed ClientHello */
	EGRESS_NO_SNI,      /* a ClientHello without a name */
	EGRESS_OTHER_SNI,   /* a ClientHello with another name */
	EGRESS_SECOND_SNI,  /* another name in the second ClientHello */
	EGRESS_NO_STARTTLS, /* the first message does not request TLS */
	EGRESS_SILENT,      /* it ended, or timed out, before the ClientHello */
	EGRESS_NOT_AGREED,  /* refused by the user, or no answer */
	EGRESS_UNRECORDED,  /* could not be recorded in the audit log */
	EGRESS_DIAL,        /* kennel-dial failed: see enum dial_why */
	EGRESS_FULL,        /* the address pool of a suffix is full */
	EGRESS_LIMIT,       /* too many at a time */
	EGRESS_MORE,        /* other names, beyond those reported one by one */
	EGRESS_NO_ANSWER,   /* its client gave up, or may not wait longer */
	EGRESS_TRIAL,       /* the server has placeholders, and is only tried */
	EGRESS_EXPIRED,     /* the line that grants it has expired, and it is closed */
	EGRESS_WHY_END,
};
const char *egress_why_name(enum egress_why);

/* Reports a connection, or one that was refused. */
struct egress_report {
	enum egress_message type;
	uint32_t id;    /* EGRESS_OPEN: repeated in EGRESS_GO */
	uint32_t row;   /* of the policy, or EGRESS_NO_ROW */
	uint32_t port;  /* 0: unknown (a name was looked up) */
	uint32_t why;   /* enum egress_why */
	uint32_t dial;  /* enum dial_why, or 0 */
	uint32_t count; /* EGRESS_REFUSED: how often */
	uint32_t ech;   /* 1: the hello contained another, encrypted one */
	uint64_t out, in, ms;
	bool has_addr;
	uint8_t addr[ADDRESS_LEN];
	/* a host name or the text of an address; EGRESS_OTHER_SNI: the client sent sni */
	char name[EGRESS_NAME_MAX + 1], sni[EGRESS_NAME_MAX + 1];
	char alpn[EGRESS_ALPN_MAX + 1];
};
int egress_report_write(const struct egress_report *, struct wire_out *);
/* 0, or -EBADMSG: the sibling that sent this has been compromised. */
int egress_report_read(const void *, size_t len, struct egress_report *ret);

#endif
