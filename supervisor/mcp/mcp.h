/*
 * The MCP proxy: the transparent session of "kennel run". Bytes that need no decision
 * pass unchanged in both directions; everything else is one scan per message, without
 * a tree. kennel changes messages only by removing bytes: a capability, a list item,
 * a whole message. What it sends itself are whole messages.
 *
 *	frame.c			lines of a byte stream, bounded; writes, bounded
 *	oversize_id.c		the id of a line that is too long to buffer
 *	json_scan.c		the one-pass scanner
 *	json_access.c		members, keys and texts inside a scanned message
 *	json_canonical.c	canonical form of a value, for comparison by bytes
 *	rpc.c			message types: request, answer, notification; errors
 *	methods.c		the methods of each protocol version
 *	requests.c		requests under way, and who waits for the answer
 *	pending_calls.c		calls that wait for approval
 *	approved_params.c	what an approval covers
 *	exec_status.c		the server's programs that are pending or were refused
 *	keepalive.c		kennel's own pings while an approval is pending
 *	session.c		the two streams, deadlines, the end
 *	from_agent.c		judges messages from the agent
 *	from_server.c		judges messages from the server
 *	indirect_requests.c	other ways to ask the agent's user
 *	batch.c			arrays of messages
 *	malformed.c		messages that cannot be judged, and who is informed
 *	filter.c		cuts in lists and capabilities
 *	events.c		the audit events of a session
 *	digest.c		SHA-256 of messages
 *	startup_error.c		a session without a server
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

#define MCP_MESSAGE_MAX (16u << 20)   /* bytes of a line; the policy may lower it */
#define MCP_CALLS_MAX   4096          /* requests under way, per direction */
#define MCP_BATCH_MAX   MCP_CALLS_MAX /* elements of a batch */
#define MCP_TOKEN_MAX   64            /* bytes of a progress token that is kept */
#define MCP_METHOD_MAX  128           /* bytes of a method name for lookup */
#define MCP_NAME_MAX    8192          /* bytes of a name or URI, decoded */

/* ---- the session: interface for the rest of the supervisor -------------- */

struct session;
struct queue; /* supervisor/approve */
struct pins;  /* supervisor/hub */

/*
 * The session wants to end; why is for the log ("agent closed its end", ...). Called
 * at most once, from the loop. Call session_free only after it has returned. Until
 * then the session still passes on the server's output.
 */
typedef void session_end_fn(void *arg, const char *why);

struct session_order {
	struct loop *loop;
	const struct policy *policy;
	const struct sealed_server *server;
	int agent_in;  /* read; pipe or socketpair; borrowed */
	int agent_out; /* write; may be the same socket; borrowed */
	/* write end of the server's stdin; owned by the session */
	int server_in;
	int server_out;          /* scrubbed stdout; owned by the session */
	struct report *report;   /* borrowed; NULL: no records (tests) */
	struct queue *questions; /* borrowed; NULL: no approvals possible */
	/* Stores a payload that the policy wants kept in full; NULL: no storage
	 * (tests). */
	int (*keep)(void *arg, const void *, size_t);
	void *keep_arg;
	/* Reads pending reports of the leash (session_exec_refused); may be NULL. */
	void (*hear)(void *arg);
	void *hear_arg;
	session_end_fn *end;
	void *end_arg;
};

/*
 * Returns 0, -ENOSPC (no slot in the loop), -ENOMEM; on failure the caller still owns
 * server_in and server_out. The process must ignore SIGPIPE. Descriptors for writing
 * are made non-blocking; session_free restores agent_out.
 */
int session_new(const struct session_order *, struct session **ret);
void session_free(struct session *);

/* Reason for the coming end of the server, however its end is first noticed;
 * borrowed. */
void session_cause(struct session *, const char *why);
/* The server is gone: passes on its remaining output, answers every open request of
 * the agent with an error, then calls end. */
void session_server_gone(struct session *, const char *why);
/* The log has caught up: resumes reading an agent that waited for it. */
void session_recorded(struct session *);
/* A program that the server wants to start waits for approval (change 1), or no
 * longer does (-1); answered: a user has decided. */
void session_program(struct session *, int change, bool answered);
/* A refused exec of the server; empty texts are missing ones. */
struct session_refusal {
	const char *program, *rule, *because, *instead, *reason;
};
void session_exec_refused(struct session *, const struct session_refusal *);
/* A refused connection of the server; the agent learns of it when a call fails. */
struct session_unreached {
	const char *target; /* "NAME:PORT", "NAME"; "": the network as a whole */
	const char *rule, *because, *instead, *reason;
};
void session_unreached(struct session *, const struct session_unreached *);
/* True if nothing is left to be written to the agent. */
bool session_drained(const struct session *);
/* The number of bytes left to write; 0 also if the agent no longer reads. */
size_t session_left(const struct session *);

/*
 * The server could not be started: reads the agent's first request (at most wait_ms)
 * and answers it with a JSON-RPC error that contains why.
 */
void session_refuse(int agent_in, int agent_out, const char *why, int wait_ms);

/* ---- frame.c ------------------------------------------------------------ */

enum frame_what { FRAME_NONE, FRAME_LINE, FRAME_OVERSIZE };

struct frame_in {
	int fd;
	uint8_t *data; /* owned */
	size_t cap;
	size_t head;      /* first byte not yet returned */
	size_t seen;      /* searched for a newline up to here */
	size_t len;       /* bytes in data */
	size_t limit;     /* longest line in bytes */
	bool skipping;    /* inside a line that is too long */
	uint64_t skipped; /* its bytes so far */
	struct skim skim;
};

int frame_in_init(struct frame_in *, int fd, size_t limit);
void frame_in_free(struct frame_in *);
/* One read: 1 bytes arrived, 0 end of file, -EAGAIN, other errors. Invalidates lines
 * returned before. */
int frame_fill(struct frame_in *);
/*
 * Returns the next line: *ret_len bytes and then a newline, valid until frame_fill.
 * FRAME_OVERSIZE: a line was discarded; *ret_len is its length and in->skim what was
 * found of its id.
 */
enum frame_what frame_next(struct frame_in *, const uint8_t **ret, uint64_t *ret_len);
/* Bytes of an incomplete line. */
uint64_t frame_rest(const struct frame_in *);

#define FRAME_PARTS  64
#define FRAME_SOON   (256u << 10) /* queued bytes: stop reading the other side */
#define FRAME_MAX    ((size_t)3 * MCP_MESSAGE_MAX)
#define FRAME_ANSWER (4u << 20) /* queued bytes: no more answers from kennel */

struct frame_out {
	int fd;
	struct iovec part[FRAME_PARTS]; /* borrowed until frame_flush */
	int part_n;
	struct buf queue;
	size_t queue_off;
	bool closed; /* the peer is gone: discard everything */
};

void frame_out_init(struct frame_out *, int fd);
void frame_out_free(struct frame_out *);
/* Queues these bytes, which must stay valid until the next flush. 0, -ENOMEM,
 * -EMSGSIZE. */
int frame_put(struct frame_out *, const void *, size_t);
/* The same, but copies the bytes now. */
int frame_say(struct frame_out *, const void *, size_t);
/* Writes: 0, -EAGAIN some is left, -EPIPE (and closed from now on), -ENOMEM. */
int frame_flush(struct frame_out *);
size_t frame_queued(const struct frame_out *);

/* ---- rpc.c -------------------------------------------------------------- */

enum rpc_kind { RPC_INVALID, RPC_REQUEST, RPC_NOTIFICATION, RPC_ANSWER };

/* Classifies the message; for RPC_INVALID *ret_why gives the reason. */
enum rpc_kind rpc_kind(const struct json_message *, const char **ret_why);

enum rpc_code {
	RPC_PARSE = -32700,
	RPC_REQUEST_BAD = -32600,
	RPC_NO_METHOD = -32601,
	RPC_PARAMS_BAD = -32602,
	RPC_SERVER_GONE = -32000, /* SDKs: connection closed */
	RPC_TIMEOUT = -32001,     /* SDKs: request timed out */
	RPC_TOO_BIG = -32003,
	RPC_REFUSED = -32004, /* an answer that the policy forbids */
	RPC_NO_RECORD = -32005,
};

struct rpc_why { /* data.kennel of an error; NULL fields are omitted */
	const char *outcome;
	const char *rule; /* file:line */
	const char *because;
	const char *instead;
};

/* Writes one line: an error for this id as received (id_len 0: null). */
int rpc_error(struct buf *, const uint8_t *id, size_t id_len, enum rpc_code,
    const char *message, const struct rpc_why *);
/* Writes one line: a tools/call result that reports a refusal. */
int rpc_tool_refusal(struct buf *, const uint8_t *id, size_t id_len, const char *message,
    const struct rpc_why *, bool modern);
/* Writes this text as a JSON string; without quotes, only its contents. */
void rpc_text(struct buf *, const char *text, bool quotes);
/* Writes one line: notifications/cancelled for this id. */
int rpc_cancel(struct buf *, const uint8_t *id, size_t id_len, const char *reason);

/* ---- methods.c ----------------------------------------------------------- */

enum mcp_version { /* bits */
	MCP_2024_11_05 = 1,
	MCP_2025_03_26 = 2, /* the only one with batches */
	MCP_2025_06_18 = 4,
	MCP_2025_11_25 = 8,
	MCP_2026_07_28 = 16,
};
/* The version with this name; 0 if unknown. */
enum mcp_version mcp_version_find(const char *, size_t);

enum method_where { WHERE_NONE, WHERE_NAME, WHERE_URI, WHERE_REF, WHERE_LISTEN };
enum method_flag {
	METHOD_DEADLINE = 1, /* "timeout call" applies */
	METHOD_ASKS = 2,     /* a user may be answering: deadlines stop */
	METHOD_RESULT = 4,   /* a refusal is a result with isError */
	METHOD_LIST = 8,
	METHOD_FIRST = 16,  /* may not be cancelled, not allowed in a batch */
	METHOD_GREETS = 32, /* the answer describes the server */
	METHOD_TASK = 64,   /* reports the outcome of a task */
};

struct method {
	const char *name;
	uint8_t from_agent; /* versions in which the agent may send it */
	uint8_t from_server;
	uint8_t gate;   /* enum sealed_gate_kind, 0: none */
	uint8_t where;  /* enum method_where: what the gate judges */
	uint8_t list;   /* METHOD_LIST: enum json_result */
	uint8_t flags;  /* enum method_flag */
	uint32_t needs; /* a server's request: enum sealed_server_flag */
};

/* NULL: a method that kennel does not know; it passes. */
const struct method *method_find(const char *, size_t);
const struct method *method_row(size_t i); /* NULL after the last */

/* Names of the client capabilities that a flag of the policy covers. */
struct capability {
	const char *name;
	uint32_t needs;
};
extern const struct capability mcp_capabilities[3];

/* ---- requests.c: the table of requests under way, one per direction ------ */

enum call_state {
	CALL_FREE,
	CALL_OPEN,
	CALL_HELD,      /* waits for approval: not yet sent to the server */
	CALL_CANCELLED, /* by the requester; an answer may still pass */
	CALL_GONE,      /* answered by kennel: discard the late answer */
	CALL_DONE,      /* answered, event not written yet */
};

struct call {
	uint8_t state;  /* enum call_state */
	bool escaped;   /* the id contains a backslash */
	bool deadlined; /* on the list of deadlines */
	bool own;       /* sent by kennel: keep the answer from the server */
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
	uint8_t token_len; /* 0: no progress requested */
	uint8_t token[MCP_TOKEN_MAX];
	double progress; /* last value sent */
};

struct calls {
	struct call *call; /* MCP_CALLS_MAX + 1 rows; row 0 is unused */
	uint16_t *bucket;
	uint16_t used, free;
	uint16_t first, last; /* by deadline */
	uint32_t open;        /* OPEN */
	uint16_t hand;        /* where the search for a reusable row continues */
};

int calls_init(struct calls *);
void calls_free(struct calls *);
struct call *calls_find(struct calls *, struct json id);
/* -EEXIST: this id is in use; -ENOBUFS. */
int calls_add(struct calls *, struct json id, struct call **ret);
void calls_remove(struct calls *, struct call *);
void calls_state(struct calls *, struct call *, enum call_state);
void calls_deadline(struct calls *, struct call *, uint64_t at_ns); /* in order */
struct call *calls_soonest(struct calls *); /* NULL: no deadlines */
/* The next used row in this state after `at` (NULL: from the start). */
struct call *calls_next(struct calls *, struct call *at, enum call_state);

/* ---- shared by the files of the session ---------------------------------------------- */

struct cut { /* bytes removed from the current line, in order */
	const uint8_t *from, *to;
	size_t said, said_len; /* replacement text, in `insert` */
};

struct cuts {
	struct cut *cut; /* owned */
	size_t n, cap;
};

#define SESSION_DONE 64 /* answers whose events are written after them */

struct done {
	struct calls *calls;
	struct call *call;
	const uint8_t *at; /* its result or error */
	size_t len;
	const char *outcome;
};

/* While the elements of a batch are judged, kennel's answers are collected, because a
 * batch is answered by one array. */
struct batch {
	bool open;
	struct buf to_agent, to_server;
};

/* Pings from kennel; at most one is open. */
struct pings {
	uint64_t name;           /* random: the server cannot know it */
	uint32_t n;              /* per session: ids never repeat */
	struct call *open;       /* in `asking`; NULL: none */
	bool off;                /* the agent does not support pings */
	uint32_t sent, answered; /* since the approval became pending */
	uint64_t since;
};

#define NAMED_MAX        1024
#define META_SERVER_INFO "io.modelcontextprotocol/serverInfo" /* of a result's _meta */

struct named {      /* the server's name in its last result */
	size_t len; /* 0: none */
	bool shown;
	uint8_t text[NAMED_MAX];
};

#define REFUSALS_KEPT 8

struct refusal { /* a refused exec, in text for the agent */
	uint64_t at;
	char text[1536];
};

#define DROPS_MAX 20 /* discarded lines in a second, recorded one by one */

struct drops { /* further ones are recorded as one event */
	uint64_t second, n, more_n, more_bytes;
};

struct session {
	struct session_order o;
	struct pins *pins;    /* NULL: nothing known yet */
	uint32_t definitions; /* of the server, recorded so far */
	struct frame_in from_agent, from_server;
	struct frame_out to_agent, to_server;
	int slot_agent_in, slot_agent_out, slot_server_in, slot_server_out;
	int agent_flags; /* of agent_out, to be restored */
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
	uint32_t person; /* server requests that a user may be answering */
	uint64_t paused_at, paused_ns, budget_ns;
	struct held *held; /* calls that wait for approval */
	size_t held_bytes;
	int held_timer;
	char rule[512];      /* the `ask` line of the current call */
	const char *because; /* its text */
	uint32_t programs;   /* the server's execs that wait for approval */
	struct pings pings;
	bool asks_programs;  /* the policy has programs that need approval */
	bool judges_methods; /* the policy has `method` lines */
	struct refusal refusal[REFUSALS_KEPT];
	uint32_t refusal_n; /* number of all; the last ones are kept */
	struct named named;
	struct buf insert; /* insertions for the current line */
	bool leaving;      /* the agent closed while there was no room */
	const char *cause; /* of the server's end, if known early; borrowed */
	bool ended, agent_eof, server_eof;
	int error; /* ours: out of memory */
	char name[MCP_NAME_MAX];
	char method[MCP_METHOD_MAX];
};

enum verdict { PASS, DROP, HOLD /* of a gate: needs approval */ };

/* session.c: the deadline clock, and messages from kennel */
uint64_t session_clock(const struct session *);
void session_person(struct session *, int change, bool answered);
/* When the next deadline is due, on loop_now()'s clock; UINT64_MAX: never. */
uint64_t session_next_timer(struct session *, uint64_t now);
/* This call's deadline has passed: answers the agent, cancels it at the server. */
void session_expire(struct session *, struct call *);
/* Answers every open request of the agent with this error. */
void session_answer_all(
    struct session *, enum rpc_code, const char *outcome, const char *text);
void session_answer_agent(struct session *, const uint8_t *id, size_t id_len,
    enum rpc_code, const char *message, const struct rpc_why *);
void session_answer_server(struct session *, const uint8_t *id, size_t id_len,
    enum rpc_code, const char *message, const struct rpc_why *);
void session_say(struct session *, struct frame_out *);
/* Call after a change of what the loop should wait for. */
void session_arm(struct session *);
void session_done(struct session *, struct calls *, struct call *, struct json body,
    const char *outcome);
int session_scan(const uint8_t *, size_t, struct json_message *ret);
const struct method *session_method(struct session *, const struct json_message *);
void session_emit(struct session *, struct frame_out *, const uint8_t *, size_t);

/* from_agent.c, from_server.c: a line, or an element of a batch */
void agent_line(struct session *, const uint8_t *, size_t);
void agent_oversize(struct session *, uint64_t len);
void server_line(struct session *, const uint8_t *, size_t);
void server_oversize(struct session *, uint64_t len);

/* batch.c: an array of messages (2025-03-26) */
void batch_init(struct batch *);
void batch_free(struct batch *);
/* Adds the message in s->text: 0, -ENOMEM, -EMSGSIZE. */
int batch_say(struct session *, const struct frame_out *);
typedef enum verdict batch_judge_fn(struct session *, const struct json_message *);
/* Judges each element; passes the line on, without those that may not pass. */
void batch_line(struct session *s, struct json array, batch_judge_fn *judge,
    struct frame_out *out, const uint8_t *line, size_t len);
/* True if it has more elements than a batch may have. */
bool batch_too_long(struct json array);

/* malformed.c: never passes; informs a waiting peer */
void unfit_agent_line(
    struct session *, const uint8_t *, size_t, const struct json_message *, int r);
void unfit_server_line(struct session *, const uint8_t *, size_t, int r);
void unfit_server_message(struct session *, const struct json_message *, const char *why);
void unfit_agent_answer(struct session *, const struct json_message *, const char *why);
void unfit_answer_of_server(
    struct session *, struct json id, enum rpc_code, const char *why);
/* session.c: a gate request about s->name; its length is set later */
struct gate_ask;
struct pin_seen;
struct gate_ask session_ask(const struct session *, enum sealed_gate_kind);
/* indirect_requests.c: other ways to ask the agent's user */
struct gate_answer;
/* True if the policy allows the server this request. NULL: an unknown method. */
bool asks_needs(const struct session *, const struct method *);
/* True if a message with this method, whose name is in s->method, may pass. Sets *ret
 * if it may not. */
bool asks_method(struct session *, const struct method *, struct gate_answer *ret);
/* Checks nested requests and errors; returns an error text, or NULL. */
const char *asks_wrong(
    struct session *, const struct method *, const struct json_message *);

/* approved_params.c: what an approval of a call covers */
struct covered {
	int kind; /* enum question_kind */
	const char *server, *name;
	struct json params; /* as the server gets them */
};
/* SHA-256 of the canonical form: 0, -ENOMEM, -EMSGSIZE. */
int covered_digest(const struct covered *, uint8_t ret[32]);
/* Appends params without exempt members and without this member (NULL: with all
 * others). */
int covered_params(struct json params, const char *without, struct buf *out);
/* True if the request has no members other than those of JSON-RPC. */
bool covered_whole(struct json root);

/* pending_calls.c: calls that wait for approval */
/* 0: pending; 1: approved before; -EINVAL: it has members that the user would not
 * see; -ENOBUFS, -ENOMEM. */
int held_add(struct session *, const struct json_message *, struct call *,
    enum sealed_gate_kind, bool modern);
/* The log has caught up: calls whose approval is on disk proceed. */
void held_recorded(struct session *);
/* True: it was pending, and is removed. */
bool held_cancel(struct session *, const struct call *);
void held_drop_all(struct session *);
/* Starts sending progress for calls that wait for approval. */
void held_arm(struct session *);

/* exec_status.c */
void programs_progress(struct session *);
void programs_token(const struct session *, struct call *, struct json meta);
void programs_progressed(struct session *, struct json params);
bool programs_ping(struct session *, const struct json_message *);
/* Before the answer to this call is passed on: adds explanations for the agent. */
void programs_explain(struct session *, const struct call *, const struct json_message *);
/* Reads the leash's reports so far, for the answers about to be passed on. */
void programs_hear(struct session *);

/* keepalive.c */
void pings_send(struct session *); /* if the agent is expected to support them */
void pings_answered(struct session *, struct call *, bool result);
void pings_end(struct session *);

/* filter.c */
struct filter_gap { /* state of one pass over a container: which members go */
	struct cuts *cuts;
	const uint8_t *first_drop, *last_end;
	bool kept;
};
int filter_item(struct filter_gap *, struct json key, struct json value, bool keep);
int filter_close(struct filter_gap *);
/* Inserts the last len bytes of s->insert here. */
int filter_insert(struct session *, const uint8_t *at, size_t len);
/* Cuts what the policy does not allow. 0, -EEXIST a duplicate key, -ENOMEM; -EINVAL:
 * not a list. */
int filter_list(struct session *, const struct method *, const struct json_message *);
int filter_capabilities(struct session *, struct json capabilities);
/* Filters the answer to initialize or server/discover: 0 or -ENOMEM. */
int filter_greeting(struct session *, const struct json_message *);
/* Filters the server's name in a result: 0, -EEXIST, -ENOMEM. */
int filter_server_info(struct session *, const struct json_message *);
int filter_meta(struct session *, struct json meta);

/* digest.c: SHA-256, MERKLE_HASH_LEN bytes */
void mcp_digest(const uint8_t *, size_t, uint8_t ret[32]);

/* events.c */
int record_forward(
    struct session *, const struct call *, const char *direction, struct json params);
void record_answer(struct session *, const struct call *, const char *direction,
    const uint8_t *, size_t, const char *outcome);
void record_refused(struct session *, const char *direction, const char *method,
    const char *name, const struct json *id, const char *rule, const char *reason);
/* An exec that was refused while this call was at the server. */
void record_exec_refused(
    struct session *, const struct call *, const struct session_refusal *);
/* Records how many of kennel's pings the agent has answered. */
void record_pings(struct session *, const struct pings *);
/* A user's decision on a call: on disk before the call proceeds. */
struct record_approval {
	const struct call *call;
	const char *rule, *answer;
	const uint8_t *digest; /* of what was shown */
	uint32_t uid, pid;     /* who answered; pid 0: no answer */
	bool agreed;
	uint64_t ns; /* how long it took */
};
int record_approval(
    struct session *, const struct record_approval *, uint64_t *ret_number);
void record_dropped(
    struct session *, const char *direction, uint64_t bytes, const char *reason);
/* Records an unknown notification before it passes: 0, or it may not pass. */
int record_unknown(struct session *, const char *direction, struct json params);
void record_drops(struct session *); /* those not recorded yet */
/* Records the server's description of itself if it changed; its name is s->name. */
void record_definition(struct session *, enum sealed_pin_kind, const struct pin_seen *);

#endif
