/*
 * MCP in the middle: the transparent session of "kennel run".  Bytes that need
 * no decision pass as they came, both ways; everything else is one scan per
 * message, without a tree.  What kennel changes, it changes by leaving bytes
 * out: a capability, an item of a list, a message.  What it says itself are
 * whole messages of its own.
 *
 *	frame.c		lines out of a byte stream, bounded; writes, bounded
 *	skim.c		the id of a line that is too long to hold
 *	json.c		the one-pass scanner
 *	walk.c		members, keys and texts inside a scanned message
 *	canon.c		one way to write a value, to compare it by its bytes
 *	rpc.c		what a message is: request, answer, notification; errors
 *	versions.c	what each protocol version knows, what is decided on
 *	calls.c		who waits for which answer
 *	held.c		calls that wait for a person
 *	programs.c	programs of the server's that wait for one, or were refused
 *	pings.c		kennel's own pings while one is asked
 *	session.c	the two streams, deadlines, how it ends
 *	agent.c		judging what the agent says
 *	answer.c	judging what the server says
 *	batch.c		arrays of messages
 *	unfit.c		what cannot be judged, and who is told
 *	filter.c	what is cut out of lists and capabilities
 *	record.c	the events of a session
 *	digest.c	SHA-256 of what went through
 *	refuse.c	a session without a server
 */
#ifndef KENNEL_SUPERVISOR_MCP_MCP_H
#define KENNEL_SUPERVISOR_MCP_MCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "leash/audit/writer.h"
#include "policy/sealed/policy.h"
#include "shim/base/buf.h"
#include "shim/base/loop.h"
#include "supervisor/json/json.h"

#define MCP_MESSAGE_MAX (16u << 20)   /* bytes of a line, policy may lower */
#define MCP_CALLS_MAX   4096          /* requests under way, each direction */
#define MCP_BATCH_MAX   MCP_CALLS_MAX /* elements of a batch */
#define MCP_TOKEN_MAX   64            /* bytes of a progress token that is kept */
#define MCP_METHOD_MAX  128           /* bytes of a method that is looked up */
#define MCP_NAME_MAX    8192          /* bytes of a name or URI, decoded */

/* ---- the session: what the rest of the supervisor sees ------------------ */

struct session;
struct queue; /* supervisor/approve */
struct pins;  /* supervisor/hub */

/*
 * The session wants to end: why is for the log ("agent closed its end", ...).
 * Called at most once, from the loop; session_free may only come after it has
 * returned.  The session goes on passing what the server still says.
 */
typedef void session_end_fn(void *arg, const char *why);

struct session_order {
	struct loop *loop;
	const struct policy *policy;
	const struct sealed_server *server;
	int agent_in;            /* read; pipe or socketpair; borrowed */
	int agent_out;           /* write; may be the same socket; borrowed */
	int server_in;           /* write end of the server's stdin; now
					 * the session's */
	int server_out;          /* scrubbed stdout; now the session's */
	struct report *report;   /* borrowed; NULL: no records (tests) */
	struct queue *questions; /* borrowed; NULL: nobody can be asked */
	/* Keeps what the policy wants kept whole; NULL: nothing (tests). */
	int (*keep)(void *arg, const void *, size_t);
	void *keep_arg;
	/* Take what the leash has to say by now (session_exec_refused); NULL. */
	void (*hear)(void *arg);
	void *hear_arg;
	session_end_fn *end;
	void *end_arg;
};

/*
 * 0, -ENOSPC (no slot in the loop), -ENOMEM; on failure server_in and
 * server_out are still the caller's.  The process must ignore SIGPIPE.  The
 * descriptors written to are made non-blocking; session_free puts agent_out
 * back as it was.
 */
int session_new(const struct session_order *, struct session **ret);
void session_free(struct session *);

/* The server is gone: pass on what it still said, answer every open request
 * of the agent with an error, then call end. */
void session_server_gone(struct session *, const char *why);
/* The log has caught up a little: an agent that waited for it is heard again. */
void session_recorded(struct session *);
/* A program that the server wants to start waits for a person (change 1), or
 * does no more (-1); answered: the person has spoken. */
void session_program(struct session *, int change, bool answered);
/* An exec of the server's was refused: empty texts are none. */
struct session_refusal {
	const char *program, *rule, *because, *instead, *reason;
};
void session_exec_refused(struct session *, const struct session_refusal *);
/* Is nothing left to be written to the agent? */
bool session_drained(const struct session *);
/* How many bytes are; 0 too when the agent reads no more. */
size_t session_left(const struct session *);

/*
 * The server could not be started: read the agent's first request (at most
 * wait_ms) and answer it with a JSON-RPC error that carries why.
 */
void session_refuse(int agent_in, int agent_out, const char *why, int wait_ms);

/* ---- frame.c ------------------------------------------------------------ */

enum frame_what { FRAME_NONE, FRAME_LINE, FRAME_OVERSIZE };

struct frame_in {
	int fd;
	uint8_t *data; /* owned */
	size_t cap;
	size_t head;      /* first byte not yet given out */
	size_t seen;      /* searched for a newline up to here */
	size_t len;       /* bytes in data */
	size_t limit;     /* bytes of a line */
	bool skipping;    /* inside a line that is too long */
	uint64_t skipped; /* its bytes so far */
	struct skim skim;
};

int frame_in_init(struct frame_in *, int fd, size_t limit);
void frame_in_free(struct frame_in *);
/* One read: 1 bytes came, 0 end of file, -EAGAIN, other errors.  Lines given
 * out before are no longer valid. */
int frame_fill(struct frame_in *);
/*
 * The next line: *ret_len bytes and a newline behind them, valid until
 * frame_fill.  FRAME_OVERSIZE: one was thrown away; *ret_len is its length and
 * in->skim holds what was seen of its id.
 */
enum frame_what frame_next(struct frame_in *, const uint8_t **ret, uint64_t *ret_len);
/* Bytes of a line that has no end yet. */
uint64_t frame_rest(const struct frame_in *);

#define FRAME_PARTS  64
#define FRAME_SOON   (256u << 10) /* queued: stop reading the other side */
#define FRAME_MAX    ((size_t)3 * MCP_MESSAGE_MAX)
#define FRAME_ANSWER (4u << 20) /* queued: no more answers of our own */

struct frame_out {
	int fd;
	struct iovec part[FRAME_PARTS]; /* borrowed until frame_flush */
	int part_n;
	struct buf queue;
	size_t queue_off;
	bool closed; /* the other side is gone: all is thrown away */
};

void frame_out_init(struct frame_out *, int fd);
void frame_out_free(struct frame_out *);
/* These bytes, valid until the next flush.  0, -ENOMEM, -EMSGSIZE. */
int frame_put(struct frame_out *, const void *, size_t);
/* The same, copied now. */
int frame_say(struct frame_out *, const void *, size_t);
/* Write: 0, -EAGAIN some is kept, -EPIPE (and closed from now on), -ENOMEM. */
int frame_flush(struct frame_out *);
size_t frame_queued(const struct frame_out *);

/* ---- rpc.c -------------------------------------------------------------- */

enum rpc_kind { RPC_INVALID, RPC_REQUEST, RPC_NOTIFICATION, RPC_ANSWER };

/* What the message is; for RPC_INVALID *ret_why says what is wrong. */
enum rpc_kind rpc_kind(const struct json_message *, const char **ret_why);

enum rpc_code {
	RPC_PARSE = -32700,
	RPC_REQUEST_BAD = -32600,
	RPC_NO_METHOD = -32601,
	RPC_PARAMS_BAD = -32602,
	RPC_SERVER_GONE = -32000, /* SDKs: connection closed */
	RPC_TIMEOUT = -32001,     /* SDKs: request timed out */
	RPC_TOO_BIG = -32003,
	RPC_REFUSED = -32004, /* an answer that policy does not let through */
	RPC_NO_RECORD = -32005,
};

struct rpc_why { /* data.kennel of an error; NULL fields are left out */
	const char *outcome;
	const char *rule; /* file:line */
	const char *because;
	const char *instead;
};

/* One line: an error for this id as written (id_len 0: null). */
int rpc_error(struct buf *, const uint8_t *id, size_t id_len, enum rpc_code,
    const char *message, const struct rpc_why *);
/* One line: a result of tools/call that says no. */
int rpc_tool_refusal(struct buf *, const uint8_t *id, size_t id_len, const char *message,
    const struct rpc_why *, bool modern);
/* A JSON string of this text, or what stands in one. */
void rpc_text(struct buf *, const char *text, bool quotes);
/* One line: notifications/cancelled for this id. */
int rpc_cancel(struct buf *, const uint8_t *id, size_t id_len, const char *reason);

/* ---- versions.c --------------------------------------------------------- */

enum mcp_version { /* bits */
	MCP_2024_11_05 = 1,
	MCP_2025_03_26 = 2, /* the only one with batches */
	MCP_2025_06_18 = 4,
	MCP_2025_11_25 = 8,
	MCP_2026_07_28 = 16,
};
/* The version of this text, 0 when it is not known. */
enum mcp_version mcp_version_find(const char *, size_t);

enum method_where { WHERE_NONE, WHERE_NAME, WHERE_URI, WHERE_REF, WHERE_LISTEN };
enum method_flag {
	METHOD_DEADLINE = 1, /* "timeout call" applies */
	METHOD_ASKS = 2,     /* a person may be answering: deadlines stand still */
	METHOD_RESULT = 4,   /* a refusal is a result with isError */
	METHOD_LIST = 8,
	METHOD_FIRST = 16,  /* may not be cancelled, may not stand in a batch */
	METHOD_GREETS = 32, /* the answer says what the server is */
};

struct method {
	const char *name;
	uint8_t from_agent; /* versions in which it comes from there */
	uint8_t from_server;
	uint8_t gate;  /* enum sealed_gate_kind, 0: none */
	uint8_t where; /* enum method_where: what the gate judges */
	uint8_t list;  /* METHOD_LIST: enum json_result */
	uint8_t flags;
	uint32_t needs; /* a server's request: enum sealed_server_flag */
};

/* NULL: a method kennel does not know, which passes. */
const struct method *method_find(const char *, size_t);
const struct method *method_row(size_t i); /* NULL behind the last */

/* The words of client capabilities that a flag of the policy stands for. */
struct capability {
	const char *name;
	uint32_t needs;
};
extern const struct capability mcp_capabilities[3];

/* ---- calls.c: the table of requests under way, one per direction --------- */

enum call_state {
	CALL_FREE,
	CALL_OPEN,
	CALL_HELD,      /* waits for a person: the server knows nothing of it */
	CALL_CANCELLED, /* by the one who asked: an answer may still pass */
	CALL_GONE,      /* answered by kennel: the late answer is swallowed */
	CALL_DONE,      /* answered, event not written yet */
};

struct call {
	uint8_t state;  /* enum call_state */
	bool escaped;   /* the id holds a backslash */
	bool deadlined; /* on the list of deadlines */
	bool own;       /* asked by kennel: the answer is kept from the server */
	uint16_t id_len;
	uint16_t next;          /* in its bucket, or the free list; 0: none */
	uint16_t sooner, later; /* by deadline */
	uint16_t name_len;
	const struct method *known; /* NULL: not in the table */
	uint64_t since_ns;
	uint64_t deadline_ns; /* of the session's clock */
	uint8_t id[MCP_ID_MAX];
	char method[MCP_METHOD_MAX];
	char name[MCP_METHOD_MAX];
	uint8_t token_len; /* 0: it asked for no progress */
	uint8_t token[MCP_TOKEN_MAX];
	double progress; /* told last */
};

struct calls {
	struct call *call; /* MCP_CALLS_MAX + 1; 0 is none */
	uint16_t *bucket;
	uint16_t used, free;
	uint16_t first, last; /* by deadline */
	uint32_t open;        /* OPEN */
	uint16_t hand;        /* where the search for a place to reuse goes on */
};

int calls_init(struct calls *);
void calls_free(struct calls *);
struct call *calls_find(struct calls *, struct json id);
/* -EEXIST: this id is under way; -ENOBUFS. */
int calls_add(struct calls *, struct json id, struct call **ret);
void calls_remove(struct calls *, struct call *);
void calls_state(struct calls *, struct call *, enum call_state);
void calls_deadline(struct calls *, struct call *, uint64_t at_ns); /* in order */
struct call *calls_soonest(struct calls *); /* NULL: none has a deadline */
/* The next used entry of this state behind `at` (NULL: from the start). */
struct call *calls_next(struct calls *, struct call *at, enum call_state);

/* ---- inside the session: session.c, agent.c, answer.c, filter.c, record.c - */

struct cut { /* bytes left out of the line at hand, in order */
	const uint8_t *from, *to;
	size_t said, said_len; /* and what stands there instead, in `insert` */
};

struct cuts {
	struct cut *cut; /* owned */
	size_t n, cap;
};

#define SESSION_DONE 64 /* answers whose events wait for the write */

struct done {
	struct calls *calls;
	struct call *call;
	const uint8_t *at; /* its result or error */
	size_t len;
	const char *outcome;
};

/* While the elements of a batch are judged, what kennel says about them is
 * gathered: an array is answered by an array. */
struct batch {
	bool open;
	struct buf to_agent, to_server;
};

/* Pings of kennel's own; one is open at a time. */
struct pings {
	uint64_t name;           /* drawn: the server cannot know it */
	uint32_t n;              /* of the session: no id comes twice */
	struct call *open;       /* in `asking`; NULL: none */
	bool off;                /* the agent said that it knows none */
	uint32_t sent, answered; /* since a person is being asked */
	uint64_t since;
};

#define REFUSALS_KEPT 8

struct refusal { /* an exec that was refused, in words for the agent */
	uint64_t at;
	char text[1536];
};

#define DROPS_MAX 20 /* thrown away in a second and written down one by one */

struct drops { /* the rest of them is one record */
	uint64_t second, n, more_n, more_bytes;
};

struct session {
	struct session_order o;
	struct pins *pins;    /* NULL: only while nothing is known yet */
	uint32_t definitions; /* of the server that were written down */
	struct frame_in from_agent, from_server;
	struct frame_out to_agent, to_server;
	int slot_agent_in, slot_agent_out, slot_server_in, slot_server_out;
	int agent_flags; /* of agent_out, to be put back */
	int timer;
	uint64_t timer_at;
	struct calls asked;  /* by the agent */
	struct calls asking; /* by the server */
	struct cuts cuts;
	struct done done[SESSION_DONE];
	int done_n;
	struct buf text;
	struct batch batch;
	struct event event;
	struct drops drops[2];    /* the agent's, the server's */
	enum mcp_version version; /* negotiated, 0: not yet or modern */
	uint64_t call_ns, start_ns, idle_ns, ask_ns;
	uint64_t start_at; /* on the session's clock; 0: not waiting */
	uint64_t active_at;
	bool started;    /* the first request went out */
	uint32_t person; /* server requests that a person may be answering */
	uint64_t paused_at, paused_ns, budget_ns;
	struct held *held; /* calls that wait for a person */
	size_t held_bytes;
	int held_timer;
	char rule[512];      /* the line that asks about the call at hand */
	const char *because; /* its words */
	uint32_t programs;   /* execs of the server's that wait for a person */
	struct pings pings;
	bool asks_programs; /* the policy has some that may */
	struct refusal refusal[REFUSALS_KEPT];
	uint32_t refusal_n; /* of them all; the last are kept */
	struct buf insert;  /* what is said within the line at hand */
	bool leaving;       /* the agent closed while there was no room for it */
	bool ended, agent_eof, server_eof;
	int error; /* ours: out of memory */
	char name[MCP_NAME_MAX];
	char method[MCP_METHOD_MAX];
};

enum verdict { PASS, DROP, HOLD /* a gate's: a person is to be asked */ };

/* session.c: the clock of deadlines, and what kennel says itself */
uint64_t session_clock(const struct session *);
void session_person(struct session *, int change, bool answered);
/* When the next deadline is due, on loop_now()'s clock; UINT64_MAX: never. */
uint64_t session_next_timer(struct session *, uint64_t now);
/* This call's time is over: the agent is told, the server is told to stop. */
void session_expire(struct session *, struct call *);
/* Every open request of the agent gets this error. */
void session_answer_all(
    struct session *, enum rpc_code, const char *outcome, const char *text);
void session_answer_agent(struct session *, const uint8_t *id, size_t id_len,
    enum rpc_code, const char *message, const struct rpc_why *);
void session_answer_server(struct session *, const uint8_t *id, size_t id_len,
    enum rpc_code, const char *message, const struct rpc_why *);
void session_say(struct session *, struct frame_out *);
/* Something has changed what is waited for. */
void session_arm(struct session *);
void session_done(struct session *, struct calls *, struct call *, struct json body,
    const char *outcome);
int session_scan(const uint8_t *, size_t, struct json_message *ret);
const struct method *session_method(struct session *, const struct json_message *);
void session_emit(struct session *, struct frame_out *, const uint8_t *, size_t);

/* agent.c, answer.c: a line, or an element of a batch */
void agent_line(struct session *, const uint8_t *, size_t);
void agent_oversize(struct session *, uint64_t len);
void server_line(struct session *, const uint8_t *, size_t);
void server_oversize(struct session *, uint64_t len);

/* batch.c: an array of messages (2025-03-26) */
void batch_init(struct batch *);
void batch_free(struct batch *);
/* One message of kennel's own, in s->text: 0, -ENOMEM, -EMSGSIZE. */
int batch_say(struct session *, const struct frame_out *);
typedef enum verdict batch_judge_fn(struct session *, const struct json_message *);
/* Judge each element; pass the line on, without those that may not. */
void batch_line(struct session *s, struct json array, batch_judge_fn *judge,
    struct frame_out *out, const uint8_t *line, size_t len);
/* More elements than a batch may have? */
bool batch_too_long(struct json array);

/* unfit.c: what cannot be judged never passes; who waits for it is told */
void unfit_agent_line(
    struct session *, const uint8_t *, size_t, const struct json_message *, int r);
void unfit_server_line(struct session *, const uint8_t *, size_t, int r);
void unfit_server_message(struct session *, const struct json_message *, const char *why);
void unfit_agent_answer(struct session *, const struct json_message *, const char *why);
void unfit_answer_of_server(
    struct session *, struct json id, enum rpc_code, const char *why);
/* session.c: a question about s->name, whose length is still to be set */
struct gate_ask;
struct pin_seen;
struct gate_ask session_ask(const struct session *, enum sealed_gate_kind);
/* held.c: calls that wait for a person */
/* 0: it waits; 1: it was agreed to before; -ENOBUFS, -ENOMEM. */
int held_add(struct session *, const struct json_message *, struct call *,
    enum sealed_gate_kind, bool modern);
/* The log has caught up: those whose answer is on disk go on. */
void held_recorded(struct session *);
/* True: it waited, and does no more. */
bool held_cancel(struct session *, const struct call *);
void held_drop_all(struct session *);
/* Somebody waits for a person: who asked for progress hears of it. */
void held_arm(struct session *);

/* programs.c */
void programs_progress(struct session *);
void programs_token(const struct session *, struct call *, struct json meta);
void programs_progressed(struct session *, struct json params);
bool programs_ping(struct session *, const struct json_message *);
/* The answer to this call is at hand: what the agent should hear beside it. */
void programs_explain(struct session *, const struct call *, const struct json_message *);
/* What the leash has said by now counts for answers that are at hand. */
void programs_hear(struct session *);

/* pings.c */
void pings_send(struct session *); /* where the agent can be expected to know them */
void pings_answered(struct session *, struct call *, bool result);
void pings_end(struct session *);

/* filter.c */
struct filter_gap { /* which members go: state of one pass over a container */
	struct cuts *cuts;
	const uint8_t *first_drop, *last_end;
	bool kept;
};
int filter_item(struct filter_gap *, struct json key, struct json value, bool keep);
int filter_close(struct filter_gap *);
/* Something of kennel's, so long and last in s->insert, is said here. */
int filter_insert(struct session *, const uint8_t *at, size_t len);
/* Cut what the policy does not grant.  0, -EEXIST a key twice, -ENOMEM;
 * -EINVAL something that is no list. */
int filter_list(struct session *, const struct method *, const struct json_message *);
int filter_capabilities(struct session *, struct json capabilities);
/* The answer to initialize or server/discover: 0 or -ENOMEM. */
int filter_greeting(struct session *, const struct json_message *);
int filter_meta(struct session *, struct json meta);

/* digest.c: SHA-256, CHAIN_HASH_LEN bytes */
void mcp_digest(const uint8_t *, size_t, uint8_t ret[32]);

/* record.c */
int record_forward(
    struct session *, const struct call *, const char *direction, struct json params);
void record_answer(struct session *, const struct call *, const char *direction,
    const uint8_t *, size_t, const char *outcome);
void record_refused(struct session *, const char *direction, const char *method,
    const char *name, const struct json *id, const char *rule, const char *reason);
/* An exec that was refused while this call was with the server. */
void record_exec_refused(
    struct session *, const struct call *, const struct session_refusal *);
/* How many pings of kennel's own the agent has answered. */
void record_pings(struct session *, const struct pings *);
/* What a person said about a call: durable before anything is done. */
struct record_approval {
	const struct call *call;
	const char *rule, *answer;
	const uint8_t *digest; /* of what was shown */
	uint32_t uid, pid;     /* who answered; pid 0: nobody */
	bool agreed;
	uint64_t ns; /* how long it took */
};
int record_approval(
    struct session *, const struct record_approval *, uint64_t *ret_number);
void record_dropped(
    struct session *, const char *direction, uint64_t bytes, const char *reason);
void record_drops(struct session *); /* those not yet written down */
/* What the server says of itself, when it is news; its name is s->name. */
void record_definition(struct session *, enum sealed_pin_kind, const struct pin_seen *);

#endif
