/*
 * kennel-egress: declarations shared by its files.  relay.c has the loop; each
 * other file handles one kind of descriptor.
 */
#ifndef KENNEL_LEASH_EGRESS_PRIVATE_H
#define KENNEL_LEASH_EGRESS_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "leash/egress/client_hello.h"
#include "leash/egress/dial.h"
#include "leash/egress/dns.h"
#include "leash/egress/egress.h"
#include "leash/egress/plan.h"
#include "policy/sealed/sealed.h"
#include "shim/base/loop.h"

#define PIPES_MAX     64 /* of the user's 16384 pipe pages, at most 1024 */
#define PIPE_BYTES    (64u << 10)
#define GREETINGS_MAX 128
#define GREETING_CAP  (HELLO_BYTES_MAX + 1024)
#define RESOLVES_MAX  16 /* connections to the resolver */
#define DNS_TCP_MAX   DNS_MESSAGE_MAX
#define TELLS_MAX     256
#define ACCEPT_BURST  1000
#define ACCEPT_A_S    100

/* What an epoll event is about: the upper half of its data. */
enum watch {
	WATCH_LEASH = 1,
	WATCH_DIAL,
	WATCH_LISTENERS, /* an epoll of their own, to pause all of them */
	WATCH_DNS_UDP,
	WATCH_DNS_TCP,
	WATCH_RESOLVE, /* index of the connection to the resolver */
	WATCH_SEEN_TCP,
	WATCH_SEEN_UDP,
	WATCH_CLIENT, /* index of the connection */
	WATCH_SERVER,
};

/*
 *	GREETING --> ASKED --> DIALING --> ANSWER --> OPEN
 *	(plain: from ASKED)	 |	     |	 ^
 *				 v	     v	 |
 *			      STARTTLS --> LATE  SECOND
 */
enum conn_state {
	CONN_FREE,
	CONN_GREETING, /* the client's first bytes, before anything is dialed */
	CONN_ASKED,    /* the leash decides and records it */
	CONN_DIALING,
	CONN_STARTTLS, /* waits for the host's reply about TLS */
	CONN_LATE,     /* the ClientHello of a connection that exists already */
	CONN_ANSWER,   /* the hello was sent: will the server request another? */
	CONN_SECOND,   /* it did */
	CONN_OPEN,
	CONN_STATE_END,
};

enum { CLIENT, SERVER };

struct side {
	int fd;
	bool readable, writable; /* as far as known: edge-triggered */
	bool hung;               /* closed by the peer: only the buffered bytes remain */
};

/* From side 0 or 1 to the other. */
struct flow {
	int pipe;    /* index in the pool, or -1 */
	size_t held; /* bytes in it */
	uint64_t bytes;
	bool ended; /* the end has been forwarded */
};

struct greeting {
	uint8_t data[GREETING_CAP];
	size_t len, cleared, off; /* bytes read; checked; sent */
	size_t need;              /* bytes needed for the next check */
	bool used;
};

struct conn {
	enum conn_state state;
	uint32_t turn; /* number of uses of this slot: detects late replies */
	struct side side[2];
	struct flow flow[2]; /* from CLIENT, from SERVER */
	struct greeting *greeting;
	bool starved; /* waits for a greeting buffer */
	bool busy;    /* has more to do than one turn allows */
	bool asked, postgres, cancel, ech, has_addr;
	uint32_t row;
	uint16_t port;
	int pool; /* the synthetic address it connected to, or -1 */
	uint8_t addr[ADDRESS_LEN];
	uint64_t since_ns, until_ns;
	char name[EGRESS_NAME_MAX + 1];
	char sni[EGRESS_NAME_MAX + 1]; /* sent by the client, if another was granted */
	char alpn[EGRESS_ALPN_MAX + 1];
};

/* A synthetic address and the name that it currently represents. */
struct pooled {
	char name[EGRESS_NAME_MAX + 1];
	uint64_t asked_ns, used_ns;
	uint32_t conns;
};

struct told {
	struct egress_report report; /* count: since the last report */
	bool used;
};

struct resolve {
	int fd;
	uint64_t until_ns;
	size_t len;
	uint8_t data[2 + DNS_TCP_MAX];
};

struct relay {
	int leash, dial, epoll, listeners;
	int policy_fd;
	struct policy policy;
	const struct sealed_server *server;
	char server_name[128];

	struct plan plan;
	int socket[EGRESS_SOCKETS_MAX];
	size_t socket_n, socket_want;
	bool serving, accepting;
	uint32_t tokens;
	uint64_t tokens_ns;

	struct conn conn[EGRESS_CONNS_MAX];
	size_t conn_max, conn_n, conn_top; /* allowed, in use, highest ever used + 1 */
	struct greeting greeting[GREETINGS_MAX];
	size_t starved_n, busy_n, timed_n;
	int pipe[PIPES_MAX][2];
	bool pipe_used[PIPES_MAX];

	struct pooled pooled[PLAN_ADDRESSES];
	struct resolve resolve[RESOLVES_MAX];
	struct told told[TELLS_MAX];
	size_t told_n;
	uint64_t told_ns; /* start of the minute; 0: none */
};

/* relay.c */
int relay_watch(struct relay *, int fd, uint32_t events, enum watch, size_t index);
/* Ends the process: a sibling is gone or compromised. */
_Noreturn void relay_end(const char *why);
int relay_send(int sock, const struct wire_out *);

/* name_addresses.c: maps addresses to names and back */
struct name_found {
	int number; /* of the synthetic address; -1: none for the name */
	uint8_t addr[ADDRESS_LEN];
	enum egress_why why; /* EGRESS_OK, NO_GRANT, DENIED, FULL */
	uint32_t row;        /* the row that denies it, or EGRESS_NO_ROW */
};
void name_resolve(struct relay *, const char *name, size_t len, struct name_found *ret);
/* The name that a connection to this address and port is for; "": the address
 * represents none. */
void name_of_address(struct relay *, const uint8_t addr[ADDRESS_LEN], uint16_t port,
    char ret[EGRESS_NAME_MAX + 1], int *ret_pool);
bool name_listened(const struct relay *, const uint8_t addr[ADDRESS_LEN], uint16_t port);

/* listeners.c */
int listen_start(struct relay *);
void listen_ready(struct relay *);
void listen_pace(struct relay *, uint64_t now);

/* connection.c */
void conn_begin(struct relay *, int fd, const uint8_t addr[ADDRESS_LEN], uint16_t port);
void conn_event(struct relay *, struct conn *, int side, uint32_t events);
void conn_go(struct relay *, uint32_t id, bool yes);
void conn_dialled(struct relay *, const struct dial_answer *, int *fd);
void conn_timers(struct relay *, uint64_t now);
void conn_busy(struct relay *);
uint32_t conn_id(const struct relay *, const struct conn *);
void conn_close(struct relay *, struct conn *, enum egress_why, bool reset);
/* The server is gone: each connection ends, and is reported. */
void conn_close_all(struct relay *);
/* Sets the state; some wait for a timeout. */
void conn_state(struct relay *, struct conn *, enum conn_state);

/* greeting.c: the states up to OPEN, as far as they read */
bool greet_first(struct relay *, struct conn *);
bool greet_late(struct relay *, struct conn *);
bool greet_starttls(struct relay *, struct conn *);
bool greet_answer(struct relay *, struct conn *);
bool greet_second(struct relay *, struct conn *);
bool greet_connected(struct relay *, struct conn *);
void greet_free(struct relay *, struct conn *);

/* splice.c: 0; -EAGAIN: more to do than this turn allows; else the end */
int flow_move(struct relay *, struct conn *, int from);
void flow_free(struct relay *, struct conn *);
/* The pool of pipes; without kennel-dial none, because nothing is ever connected. */
int flow_pipes(struct relay *);

/* resolver.c */
void resolver_datagram(struct relay *, int fd);
void resolver_accept(struct relay *, int fd);
void resolver_event(struct relay *, size_t index);
void resolver_timers(struct relay *, uint64_t now);

/* kernel_refusals.c */
void seen_tcp(struct relay *, int fd);
void seen_udp(struct relay *, int fd);

/* events.c */
void tell_refused(struct relay *, const struct egress_report *);
void tell_conn(struct relay *, const struct conn *, enum egress_message, enum egress_why,
    enum dial_why);
void tell_timers(struct relay *, uint64_t now);
/* The answer to the leash's question of this number. */
void tell_serving(struct relay *, uint32_t number);

#endif
