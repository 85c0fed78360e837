/*
 * Shared by the files of the session.
 */
#ifndef KENNEL_SUPERVISOR_MCP_PRIVATE_H
#define KENNEL_SUPERVISOR_MCP_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leash/audit/writer.h"
#include "shim/base/buf.h"
#include "supervisor/json/json.h"
#include "supervisor/mcp/line/after_input.h"
#include "supervisor/mcp/line/budget.h"
#include "supervisor/mcp/line/frame.h"
#include "supervisor/mcp/mcp.h"
#include "supervisor/mcp/methods.h"
#include "supervisor/mcp/requests.h"
#include "supervisor/mcp/rpc.h"

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
struct own_ids {       /* of requests of kennel's own, in one direction */
	uint64_t name; /* random: the other side cannot know it */
	uint32_t n;    /* per session: ids never repeat */
};

struct pings {
	struct own_ids ids;
	struct call *open;       /* in `asking`; NULL: none */
	bool off;                /* the agent does not support pings */
	uint32_t sent, answered; /* since the approval became pending */
	uint64_t since;
};

#define NAMED_MAX 1024

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

#define DROPS_MAX 20 /* discarded lines of the agent in a second, recorded one by one */

struct drops { /* further ones are recorded as one event */
	uint64_t second, n, more_n, more_bytes;
	struct budget budget; /* of the server's */
};

/* Requests of a server: each that is forwarded has two records, and a person may have to read
 * it. */
#define ASKS_MAX     40        /* at once, */
#define ASKS_EACH_NS 333333333 /* then three in a second */

struct asks {
	struct budget budget;
	uint64_t over_n; /* requests beyond it that are in no record yet */
	bool over;       /* it is recorded that there are some */
};

enum server_phase {
	SERVER_RUNS,
	SERVER_DOWN,   /* it has ended; a request of the agent may start it again */
	SERVER_STARTS, /* the agent is not read */
	SERVER_GREETS, /* the same: its answer to the replayed `initialize` is awaited */
};

struct kept; /* replay.c */
struct replay {
	enum server_phase phase;
	struct kept *greeting;   /* `initialize` as the server got it; NULL: none */
	struct kept *level;      /* the last logging/setLevel; NULL: none */
	struct kept *subscribed; /* resources/subscribe, the oldest first */
	uint32_t subscribed_n;
	size_t subscribed_len; /* of their lines */
	bool answered;         /* `initialize` was; the next one is of this server */
	uint8_t agreed[32];    /* digest of what the agent relies on in the answer */
	struct buf waiting;    /* the agent's line that made the server start again */
	bool in_line;          /* a line of the server's is being handled */
	bool resume; /* after it, the agent may be read: see session.c, pump_server */
};

#define MISSED_SHOWN 48 /* bytes of a dropped id or line */

/* What the server sent and kennel dropped: perhaps the answers that its agent waits for. */
struct missed {
	uint32_t answers_n, lines_n;     /* with an unknown id; that are not JSON */
	char id[4 * MISSED_SHOWN + 4];   /* the last one, printable */
	char line[4 * MISSED_SHOWN + 4]; /* the beginning of the last one, printable */
};

struct session {
	struct session_order o;
	struct pins *pins;          /* NULL: nothing known yet */
	struct call_limits *limits; /* rates and quotas */
	uint32_t definitions;       /* of the server, recorded so far */
	struct frame_in from_agent, from_server;
	struct frame_out to_agent, to_server;
	int slot_agent_in, slot_agent_out, slot_server_in, slot_server_out;
	int agent_flags; /* of agent_out, to be restored */
	int timer;
	uint64_t timer_at;
	struct calls asked;  /* by the agent */
	struct calls asking; /* by the server */
	struct cuts cuts;
	uint64_t made, refused; /* session_count */
	int done_n;
	struct buf text;
	struct batch batch;
	struct drops drops[2]; /* the agent's, the server's */
	struct asks asks;
	enum mcp_version version; /* negotiated, 0: not yet or modern */
	uint64_t call_ns, most_ns, start_ns, idle_ns, ask_ns;
	uint64_t wait_ns, open_ns; /* of a call for its approval; of the approval */
	uint64_t start_at;         /* on the session's clock; 0: not waiting */
	struct after_input after;  /* the end of the agent's input */
	uint64_t active_at;
	/* on the session's clock: the server reads none of a full queue; 0: it does */
	uint64_t unread_since;
	bool started;    /* the first request went out */
	uint32_t person; /* server requests that a user may be answering */
	uint64_t paused_at, paused_ns, budget_ns;
	struct held *held; /* calls that wait for approval */
	struct approval *approvals;
	size_t held_bytes;
	int held_timer, wait_timer; /* for progress; for the end of the wait */
	const char *because;        /* `rule`'s text */
	enum sealed_factor factor;  /* likewise */
	bool destructive;           /* likewise */
	uint32_t programs;          /* the server's execs that wait for approval */
	struct pings pings;
	struct replay replay;
	struct health {
		uint64_t at;        /* of the last traffic, or of the last ping */
		uint64_t active_at; /* of the session, before what is being read */
		uint32_t missed;    /* pings since the server sent anything */
		struct own_ids ids; /* also of what a new process is sent again */
	} health;
	bool asks_programs;  /* the policy has programs that need approval */
	bool judges_methods; /* the policy has `method` lines */
	uint32_t refusal_n;  /* number of all; the last ones are kept */
	struct buf insert;   /* insertions for the current line */
	bool leaving;        /* the agent closed while there was no room */
	const char *cause;   /* of the server's end, if known early; borrowed */
	bool unasked;        /* no person, and no agent, is asked any more */
	bool ended, agent_eof, server_eof;
	bool hung; /* server_eof, because it did not answer */
	int error; /* ours: out of memory */
	/* Large, those that each message uses first: what is never written costs nothing. */
	char rule[512]; /* the line that decides about the current call, or "" */
	char method[MCP_METHOD_MAX];
	struct done done[SESSION_DONE];
	struct event event;
	char name[MCP_NAME_MAX];
	struct named named;
	struct missed missed;
	struct refusal refusal[REFUSALS_KEPT];
};

enum verdict { PASS, DROP, HOLD /* of a gate: needs approval */ };

/* session.c: the deadline clock, and messages from kennel */
/* The agent is not read for want of room in the log. It ends by itself after a second. */
bool session_log_behind(const struct session *);
uint64_t session_clock(const struct session *);
void session_person(struct session *, int change, bool answered);
/* When the next deadline is due, on loop_now()'s clock; UINT64_MAX: never. */
uint64_t session_next_timer(struct session *, uint64_t now);
/* Sets the timer for it. */
void session_set_timer(struct session *);
/* This call's deadline has passed: answers the agent, cancels it at the server. */
void session_expire(struct session *, struct call *);
/* The deadline of a call that is at the server now. Until the server has answered its first
 * request `timeout start` is the only one: a call's own time begins then. */
void session_deadline(struct session *, struct call *);
/* The server has answered its first request. */
void session_begun(struct session *);
/* The server has sent progress for this call: its deadline moves, up to `timeout most`. */
void session_progressed(struct session *, struct call *);
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
const struct method *session_method(struct session *, const struct json_message *);
void session_emit(struct session *, struct frame_out *, const uint8_t *, size_t);

/* Copies this message, without the cuts and with a newline, to out, which has room for
 * len + 1 bytes; returns its length. */
size_t session_cut(const struct session *, struct json root, uint8_t *out);
/* The server has closed its output. */
void session_server_eof(struct session *, const char *why);
/* The server is there, and does not answer: the same. */
void session_hung(struct session *, const char *why);
/* Calls end, once. */
void session_stop(struct session *, const char *why);
/* Closes the server's descriptors; takes those of the next process (as session_back). */
void session_detach(struct session *);
int session_attach(struct session *, int in, int out);
/* Judges the agent's line that waited for the server, and what came after it. */
void session_resume(struct session *);

/* from_agent.c, from_server.c: a line, or an element of a batch */
void agent_line(struct session *, const uint8_t *, size_t);
void agent_oversize(struct session *, uint64_t len);
/* Completes the request for a call, now: its arguments, and len bytes of s->name. */
struct gate_ask;
void agent_ask(const struct session *, const struct json_message *, size_t len,
    struct gate_ask *ret);
void server_line(struct session *, const uint8_t *, size_t);
void server_oversize(struct session *, uint64_t len);

/* deadline.c: after the end of the agent's input */
/* The input ends, or will: withdraws questions; ends the session if its output is not read. */
void last_begin(struct session *);
/* Withdraws questions, and asks none any more. */
void last_unasked(struct session *);
/* The same, and there is no room for the requests that the input still has: they wait. */
void last_leave(struct session *);
/* True if the input has ended, no request is left, and the agent has or does not read what
 * is left for it. room: nothing but the agent keeps kennel from the rest of the input. */
bool last_done(struct session *, bool room);
/* Ends what takes too long. */
void last_check(struct session *, uint64_t now);

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

/* malformed.c: what the server sent instead of answers, for the message that there was none */
#define MISSED_TEXT_MAX 600
void missed_answer(struct session *, struct json id);
void missed_line(struct session *, const uint8_t *, size_t);
/* Notes in a request being forwarded what was dropped before it. */
void missed_begin(const struct session *, struct call *);
/* "; kennel dropped ..." of what was dropped since; "" if nothing was. call: NULL for all. */
const char *missed_text(
    const struct session *, const struct call *, char text[MISSED_TEXT_MAX]);
/* The beginning of a line, printable: at most 4 * MISSED_SHOWN + 4 bytes. */
void missed_quote(char *out, size_t cap, const uint8_t *line, size_t len);

/* malformed.c: never passes; informs a waiting peer */
void unfit_agent_line(
    struct session *, const uint8_t *, size_t, const struct json_message *, int r);
void unfit_server_line(struct session *, const uint8_t *, size_t, int r);
void unfit_server_message(struct session *, const struct json_message *, const char *why);
void unfit_agent_answer(struct session *, const struct json_message *, const char *why);
void unfit_answer_of_server(
    struct session *, struct json id, enum rpc_code, const char *why);
/* session.c: a gate request about s->name; its length is set later */
struct pin_seen;
struct gate_ask session_ask(const struct session *, enum sealed_gate_kind);
/* indirect_requests.c: other ways to ask the agent's user */
struct gate_answer;
/* True if the policy allows the server this message, and a server may send it at all. NULL:
 * an unknown method. */
bool asks_needs(const struct session *, const struct method *);
/* The reason of such a refusal, for the server and the log. */
const char *asks_needs_why(const struct session *, const struct method *);
/* True if a message with this method, whose name is in s->method, may pass. Sets *ret
 * if it may not. */
bool asks_method(struct session *, const struct method *, struct gate_answer *ret);
/* Checks nested requests and errors; returns an error text, or NULL. */
const char *asks_wrong(
    struct session *, const struct method *, const struct json_message *);

/* approved_params.c: what an approval of a call covers */
struct covered {
	int kind; /* enum question_kind */
	const char *method, *server, *name;
	struct json params; /* as the server gets them */
};
/* SHA-256 of the canonical form: 0, -ENOMEM, -EMSGSIZE. */
int covered_digest(const struct covered *, uint8_t ret[32]);
/* Appends what a person reads of them, without this member: the canonical form, which is
 * what is hashed, and not how the agent spelled it. Ambiguous: it is missing, because of a
 * key that is there twice or an invalid text; then all is shown in its order. 0, -ENOMEM,
 * -EMSGSIZE. */
int covered_shown(
    struct json params, const char *without, struct buf *out, bool *ret_ambiguous);
/* True if the request has no members other than those of JSON-RPC. */
bool covered_whole(struct json root);

/* pending_calls.c: calls that wait for approval */
/* Sets wait_ns and open_ns from the policy. */
void held_times(struct session *);
/* 0: pending; 1: approved before; -EINVAL: it has members that the user would not
 * see; -EACCES: a person has refused it before; -ENOBUFS, -ENOMEM. */
int held_add(struct session *, const struct json_message *, struct call *,
    enum sealed_gate_kind, bool modern);
/* The log has caught up: calls whose approval is on disk proceed. */
void held_recorded(struct session *);
/* True: it was pending, and is removed. */
bool held_cancel(struct session *, const struct call *);
void held_drop_all(struct session *);
/* Withdraws all approvals, and answers their calls with this text. */
void held_refuse_all(struct session *, const char *text);
/* Starts sending progress for calls that wait for approval. */
void held_arm(struct session *);

/* spelling.c: 1.0 and "1" for 1 */
/* This id, of a message about to pass, gets the bytes of the request's: 0 or -ENOMEM. */
int spell_id(struct session *, struct json id, const struct call *);
/* Keeps the progress token of a request that is being forwarded. */
void token_keep(struct call *, struct json meta);
/* The open request that this progress is for, or NULL; its token gets the bytes of the
 * request's. */
struct call *token_call(struct session *, struct calls *, struct json params);

/* exec_status.c */
void programs_progress(struct session *);
/* The server has sent progress for this call. */
void programs_progressed(struct call *, struct json params);
bool programs_ping(struct session *, const struct json_message *);
/* Before the answer to this call is passed on: adds explanations for the agent. */
void programs_explain(struct session *, const struct call *, const struct json_message *);
/* Did the tool fail, by its result? */
bool result_is_error(struct json result);
/* Reads the leash's reports so far, for the answers about to be passed on. */
void programs_hear(struct session *);

/* replay.c: a server that ends and is started again */
void replay_init(struct replay *);
void replay_free(struct replay *);
/* True if the end of the server now is not the end of the session. */
bool replay_may(const struct session *);
/* Keeps a request that is being passed on, if a new process needs it too. */
void replay_note(struct session *, const struct json_message *);
/* The server has answered the agent's `initialize` with this result. */
void replay_agreed(struct session *, const struct json_message *);
/* The server has ended, and its open requests are answered. */
void replay_lost(struct session *, const char *why);
/* The agent makes a request of a server that is down. True: the line is kept, and judged
 * again when the server serves; false: why not, for the agent. */
bool replay_need(struct session *, const struct json_message *, char *text, size_t cap);
/* An answer to a request of kennel's own; one that cannot be read. */
void replay_answered(struct session *, struct call *, const struct json_message *);
void replay_unfit(struct session *, struct call *);

/* keepalive.c */
/* A row for a request of kennel's own, with a new id, which neither the server nor the
 * agent can know. False: there is no room for one. */
bool session_own_call(
    struct session *, struct calls *, char id[MCP_ID_MAX], struct call **ret);

/* Bytes have come. */
void health_traffic(struct session *, bool from_server);
/* When a ping is due, on loop_now()'s clock; UINT64_MAX: never. */
uint64_t health_next(const struct session *);
void health_check(struct session *, uint64_t now);
/* The server has answered a ping. */
void health_answered(struct session *, struct call *);
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
/* Replaces this value by them. */
int filter_replace(struct session *, struct json value, size_t len);
/* Cuts what the policy does not allow. 0, -EEXIST a duplicate key, -ENOMEM; -EINVAL:
 * not a list. */
int filter_list(struct session *, const struct call *, const struct json_message *);
int filter_capabilities(struct session *, struct json capabilities);
/* Filters the answer to initialize or server/discover: 0 or -ENOMEM. */
int filter_greeting(struct session *, const struct json_message *);
/* *ret_hidden: the server's name in `_meta` of a result, if it is not the reviewed one. 0,
 * -EEXIST a duplicate key, -ENOMEM. */
int filter_server_info(struct session *, struct json meta, struct json *ret_hidden);
int filter_meta(struct session *, struct json meta);

/* result_meta.c: leaves out of an answer what kennel alone may say, and adds what it says:
 * 0; -EEXIST a duplicate key, -E2BIG more of it than a server needs, -ENOMEM. */
int result_meta(struct session *, const struct call *, const struct json_message *);
/* The same for the outcome in a task's notification. */
int notification_meta(
    struct session *, const struct method *, const struct json_message *);

/* events.c */
/* rule: the line that grants it; NULL or "": none does, or it needs none. */
int record_forward(struct session *, const struct call *, const char *direction,
    struct json params, const char *rule);
void record_answer(struct session *, const struct call *, const char *direction,
    const uint8_t *, size_t, const char *outcome);
void record_refused(struct session *, const char *direction, const char *method,
    const char *name, const struct json *id, const char *rule, const char *reason);
/* An exec that was refused while this call was at the server. */
void record_exec_refused(
    struct session *, const struct call *, const struct session_refusal *);
/* Records how many of kennel's pings the agent has answered. */
void record_pings(struct session *, const struct pings *);
/* The whole name of a call, before it is recorded: what its records have of it, and
 * what the policy wants recorded. */
void record_name(const struct session *, struct call *, const char *name);
/* A user's decision on a call: on disk before the call proceeds. */
struct record_approval {
	const struct call *call;
	const char *rule, *answer;
	const uint8_t *digest;     /* of what was shown */
	const struct answerer *by; /* NULL: no answer */
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
/* False: this request of the server's is beyond its budget. Those are in one record, and their
 * number in another one when the server was quiet or ends. */
bool record_may_ask(struct session *);
/* Records the server's description of itself if it changed; its name is s->name. */
void record_definition(struct session *, enum sealed_pin_kind, const struct pin_seen *);

#endif
