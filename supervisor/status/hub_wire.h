/*
 * The packets of a hub's control socket, serve-PID (docs/PROTOCOL.serve). Requests are
 * even, answers odd.
 */
#ifndef KENNEL_SUPERVISOR_STATUS_HUB_WIRE_H
#define KENNEL_SUPERVISOR_STATUS_HUB_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/base/wire.h"
#include "supervisor/status/status.h"

#define HUB_SOCKET      "serve-" /* in the run directory; the process id follows */
#define HUB_VERSION     1
#define HUB_PACKET_MAX  16384
#define HUB_ROWS_MAX    1024 /* servers of a hub */
#define HUB_CLIENT_MAX  65
#define HUB_DETAIL_MAX  513
#define HUB_VERSION_MAX 16

/* Each packet begins with a u32 of these and a u32 version. */
enum hub_message {
	HUB_STATUS = 2,    /* u32 first: a page of servers from this one on */
	HUB_PAGE = 3,      /* hub_page_put; also when something changed, to who watches */
	HUB_WATCH = 4,     /* no fields: a first page now and after each change */
	HUB_RESTART = 6,   /* str name: also of a server that the hub does not have */
	HUB_RESTARTED = 7, /* u32 enum restart_outcome */
	HUB_TRUSTED = 8    /* str SHA-256 in hex; answered by RESTARTED */
};

enum hub_era { HUB_NEW, HUB_LEGACY, HUB_MODERN };
const char *hub_era_name(enum hub_era);

/* The words of the three enums below are those of kennel(1), SERVE. */
enum server_live {
	LIVE_DISCONNECTED,
	LIVE_CONNECTING,
	LIVE_CONNECTED,
	LIVE_ERROR,
	LIVE_N
};
const char *server_live_name(enum server_live);

enum discovery_status {
	DISCOVERY_PENDING,
	DISCOVERY_CONNECTED,
	DISCOVERY_UNREACHABLE,
	DISCOVERY_ERROR,
	DISCOVERY_N
};
const char *discovery_status_name(enum discovery_status);

enum server_reason {
	REASON_NONE,
	REASON_DISABLED,
	REASON_POLICY_ERROR,
	REASON_BACKOFF,
	REASON_CRASH_LOOP,
	REASON_QUARANTINED,
	REASON_START_REFUSED,
	REASON_NO_POLICY,
	REASON_ARGV_NOT_GRANTED,
	REASON_TRANSPORT_UNSUPPORTED,
	REASON_N
};
const char *server_reason_name(enum server_reason); /* NULL: none */

enum restart_outcome {
	RESTART_OK,          /* its process is closed */
	RESTART_UNKNOWN,     /* the hub has no such server */
	RESTART_NOT_RUNNING, /* there was none; its policy is found again */
	RESTART_N
};

struct hub_status {
	uint64_t since_ns; /* of Unix time */
	enum hub_era era;
	char client[HUB_CLIENT_MAX];  /* as the agent calls itself; "" */
	uint32_t calls;               /* at servers */
	uint64_t calls_made, refused; /* refused: by the hub itself */
	uint32_t servers;
};

struct hub_row {
	char name[STATUS_SERVER_MAX];
	enum server_live live;
	enum discovery_status discovery;
	enum server_reason reason;
	char detail[HUB_DETAIL_MAX]; /* of the reason: a sentence; "" */
	char failed[HUB_DETAIL_MAX]; /* why the last attempt failed; "" once it answers */
	bool pinned, has_policy;
	uint8_t policy[STATUS_POLICY_LEN]; /* its id, of has_policy */
	char protocol[HUB_VERSION_MAX];    /* "" until it has answered */
	uint32_t tools, restarts, calls;
	uint64_t calls_made, refused;
	uint64_t p50_us, p99_us; /* from request to answer; 0: none yet */
};

/* A page: begin, rows, end. The caller's memory has HUB_PACKET_MAX bytes. */
void hub_page_begin(struct wire_out *, const struct hub_status *, uint32_t first);
/* False: no room; the row is the first of the next page. */
bool hub_page_row(struct wire_out *, const struct hub_row *);
void hub_page_end(struct wire_out *);
/* Reads the begin of a page. 0 or -EBADMSG. Texts are not escaped. */
int hub_page_get(struct wire_in *, struct hub_status *ret, uint32_t *ret_first);
/* 1: a row; 0: the end of the page; -EBADMSG. */
int hub_row_get(struct wire_in *, struct hub_row *ret);

#endif
