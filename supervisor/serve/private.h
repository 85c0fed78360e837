/*
 * Shared by the files of the hub.
 */
#ifndef KENNEL_SUPERVISOR_SERVE_PRIVATE_H
#define KENNEL_SUPERVISOR_SERVE_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leash/leash.h"
#include "policy/sealed/policy.h"
#include "shim/base/buf.h"
#include "shim/base/loop.h"
#include "supervisor/base/backoff.h"
#include "supervisor/json/json.h"
#include "supervisor/mcp/line/after_input.h"
#include "supervisor/mcp/line/frame.h"
#include "supervisor/mcp/methods.h"
#include "supervisor/mcp/requests.h"
#include "supervisor/mcp/rpc.h"
#include "supervisor/mcp/line/edit.h"
#include "supervisor/registry/registry.h"
#include "supervisor/status/latency.h"
#include "supervisor/serve/offers.h"
#include "supervisor/serve/serve.h"
#include "supervisor/serve/tools/facets.h"
#include "supervisor/serve/tools/pin_variants.h"
#include "supervisor/serve/tools/settings.h"
#include "supervisor/serve/under_way.h"
#include "supervisor/status/hub_wire.h"

#define HUB_TEXT_MAX     2048 /* a sentence for the agent */
#define HUB_SERVERS_MAX  1024
#define HUB_CALLS_MAX    4096 /* requests under way in all */
#define SERVER_CALLS_MAX 256  /* of one server */
#define ASKING_MAX       256  /* requests of servers at the agent */
#define APPROVALS_MAX    64   /* starts that ask a person, in all */
#define SERVER_ASKING    32   /* of one server */
#define LIST_PAGE        100  /* items of a page */
#define LATEST_LEGACY    "2025-11-25"
#define MODERN           "2026-07-28"
/* what kennel speaks, as a JSON array */
#define VERSIONS \
	"[\"" MODERN "\",\"" LATEST_LEGACY \
	"\",\"2025-06-18\",\"2025-03-26\",\"2024-11-05\"]"
#define SEARCH_WAIT_MS    2000 /* for lists of servers without pins */
#define LISTS_STARTS      3 /* all lists of a server: so many times its `timeout start` */
#define PROBE_MS          2000     /* after a deadline: then the server must answer */
#define STARTS_AT_ONCE    4        /* in the background */
#define HANDLE_BYTES      16       /* of a call that is held */
#define RPC_NO_RESOURCE   (-32002) /* until 2026-07-28 */
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_CLIENT       "io.modelcontextprotocol/clientInfo"
#define META_PROTOCOL     "io.modelcontextprotocol/protocolVersion"
#define META_LOG_LEVEL    "io.modelcontextprotocol/logLevel"
#define META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"

/* ---- servers (servers.c) ----------------------------------------------------- */

struct server {
	struct hub *hub;
	char *name;
	char *about; /* owned; NULL: unknown */
	enum row_source source;
	bool ready; /* the policy is loaded */
	bool enabled;
	char *wrong;               /* why it is not; owned */
	enum server_reason reason; /* of `wrong` */
	struct policy policy;
	const struct sealed_server *sealed;
	struct pins *pins;          /* as reviewed: verdicts before the server runs */
	struct call_limits *limits; /* of all its processes together */
	bool once;                  /* each call gets its own process */
	bool per_call; /* so does each other request: a secret is approved per call */
	bool pinned;
	bool varies; /* what was reviewed of it depends on the agent's capabilities */
	bool listed; /* it has listed everything, now or before it was stopped */
	bool modern; /* its next process is greeted as 2026-07-28, as it failed before, */
	bool recalled; /* or the registry says so and no process has confirmed it yet */
	size_t items_n, items_bytes;
	bool items_full;         /* it has listed more than is kept */
	unsigned int changed;    /* 1 << enum list_kind: since its lists are read */
	struct downstream *down; /* the process that serves all calls; NULL: none */
	uint32_t open;           /* requests under way */
	struct backoff backoff;  /* before its next start */
	uint64_t healthy_at;
	uint32_t restarts;
	char failed[HUB_TEXT_MAX];    /* the last failure, one line; "" */
	bool start_refused;           /* of that failure */
	struct leash_refused refusal; /* its cause, if its leash said one */
	uint32_t finding;             /* its policy is being found again */
	bool sought; /* a person's command named it, and nothing of it is known yet */
	enum discovery_status discovery;
	enum { UNSTORED_NOTHING, UNSTORED_STATUS, UNSTORED_LISTS } unstored;
	bool lists_whole;          /* no list is being read, and none was left unread */
	uint64_t store_at;         /* not before */
	enum mcp_version protocol; /* of its last process; 0: none has answered */
	uint64_t made, refused;    /* requests passed on; calls that the hub refused */
	struct budget drops;       /* of records of lines not passed on */
	uint64_t more_drops, more_dropped; /* beyond, not recorded: lines, bytes */
	struct latency latency;
};

/* ---- a server's process (downstream.c) --------------------------------------- */

enum down_state {
	DOWN_STARTING, /* the launcher was asked */
	DOWN_GREETING, /* `initialize` or the first modern request is on its way */
	DOWN_LISTING,  /* its lists are being read */
	DOWN_SERVING,
	DOWN_PROBED, /* after a deadline: it must answer a ping */
	DOWN_ENDING, /* our end is closed; its process is going */
	DOWN_STATE_N
};

enum down_use {
	USE_SHARED, /* every call of this server */
	USE_ONCE,   /* one call: `oneshot`, mcp_query */
};

struct downstream {
	struct downstream *next;
	struct server *server;
	enum down_use use;
	enum down_state state;
	uint32_t ticket; /* for the launcher's answer, and in kennel's own ids */
	int fd, slot;
	struct frame_in in;
	struct frame_out out;
	struct buf waiting; /* requests of the agent, until it serves */
	uint32_t own,
	    own_n;         /* kennel's own request that is open (0: none); their number */
	uint64_t deadline; /* of this state; UINT64_MAX: none */
	uint64_t served;   /* messages from the server */
	bool ordered;      /* of the launcher */
	bool asks;         /* its start may ask a person */
	bool behind;       /* lines are left: the agent's queue was full */
	bool unreached;    /* its session answered in its place, */
	bool start_refused;           /* because it started nothing, */
	struct leash_refused refusal; /* for this cause */
	uint32_t offers;              /* 1 << enum list_kind: the lists that it has */
	int list;                     /* the list that is being read */
	struct pages pages;           /* of it */
	struct relisting again;
	bool modern;              /* greeted by server/discover, not by initialize, */
	bool recalled;            /* because the registry says so */
	bool relist, logs, tasks; /* a list changed meanwhile; capabilities */
	uint32_t own_asked; /* requests of kennel's own whose answers do not matter */
	uint32_t listening; /* the number of the last subscriptions/listen; 0: none */
	struct open_check check;
	char *instructions; /* owned; NULL: none */
};

/* ---- requests under way (routes.c) ------------------------------------------- */

/* Beside the row of `struct calls` with the same number. */
struct route {
	struct downstream *down; /* NULL: kennel answers it itself */
	uint64_t id;             /* at the server; its low bits are the row */
	uint64_t began;          /* loop_now() */
	bool modern;             /* of the agent's request */
	bool invoked;            /* by tool_invoke: kennel's own errors are results */
	bool query;              /* by mcp_query */
	bool logs;               /* it wants log messages (modern) */
	uint32_t can;            /* what its agent can be asked for (modern) */
	char token[MCP_TOKEN_MAX + 1]; /* the agent's progress token as written; "" */
	uint64_t until;                /* mcp_query, held, or sent again then; 0: none */
	uint64_t query_s;              /* mcp_query: its seconds */
	char *query_tool;              /* owned */
	struct bridge *bridge;         /* owned; NULL: none */
	struct refused_call *refused;  /* owned; approvals/refused_calls.h; NULL: none */
	char handle[HANDLE_BYTES * 2 + 1]; /* of a call that is held; "" */
};

/* A request of a server that the agent has, or will have, to answer. */
struct asking {
	struct downstream *down; /* NULL: free */
	uint32_t n;              /* its number toward the agent */
	uint16_t id_len;
	uint8_t id[MCP_ID_MAX]; /* the server's, as written; the key of an input */
	const struct method *method;
	char token[MCP_TOKEN_MAX + 1]; /* the server's progress token as written; "" */
	struct bridge *bridge;         /* an input of this call; NULL: a request */
	uint64_t held;                 /* the route whose call is held for it; 0: none */
	const char *wrong;             /* why the agent does not get it; NULL: it fits */
};

/* ---- lines that wait (parked.c) ----------------------------------------------- */

enum park {
	PARK_NAMES,
	PARK_POLICIES,
	PARK_SERVER,
	PARK_LISTS,
	PARK_MANIFESTS,
	PARK_RECORD
};

struct parked {
	struct parked *next;
	enum park why;
	struct server *server;
	uint64_t since, until, record; /* record: number of what is to be on disk */
	size_t len;
	uint8_t line[];
};

/* A message of the agent that is being handled. */
struct incoming {
	const uint8_t *line;
	size_t len;
	struct json_message m;
	const struct method *method; /* NULL: unknown */
	bool modern;
	bool waited;     /* it was parked, and is not parked again */
	uint64_t record; /* it was parked for this one; 0: for none */
};

/* ---- the hub ------------------------------------------------------------------ */

enum era { ERA_OPEN, ERA_LEGACY, ERA_MODERN };

struct hub {
	const struct serve_order *order;
	struct loop loop;
	struct frame_in from_agent;
	struct frame_out to_agent;
	int slot_in, slot_out, slot_launcher, signals, launcher, timer;
	uint64_t timer_at;
	enum era era;
	enum mcp_version version;                    /* with the agent */
	struct buf client_capabilities, client_info; /* as written; empty: {} */
	uint32_t can; /* what an agent of an older version can be asked for */
	bool greeted, initialized;
	bool behind, parked_behind; /* lines of the agent are left: its queue was full */
	char log_level[16];         /* "": not set */
	bool asked_names, has_names, asked_policies, has_policies, asked_recorder;
	char *broken; /* why nothing is served, for the next request; NULL: it is */
	struct server *server[HUB_SERVERS_MAX]; /* sorted by name once all are known */
	size_t server_n;
	struct items items;
	struct downstream *down;
	uint32_t tickets,
	    ordered;        /* ordered: starts that the launcher has not answered */
	struct buf orders;  /* for the launcher, each after its length */
	bool awake;         /* servers without pins are started */
	struct calls calls; /* of the agent */
	struct route *route;
	struct asking asking[ASKING_MAX];
	uint32_t asking_n;
	struct parked *parked, **parked_last;
	struct search *search;
	bool searchable;
	uint64_t routes_made, refused;
	struct report *report;         /* NULL: not connected yet */
	int slot_report, lost_n;       /* lost_n: connections that ended at once */
	char session[17];              /* in the log */
	struct person_socket *control; /* NULL: none */
	int news_timer;                /* for clients that watch */
	uint64_t news_at, news_sum;    /* the next not before; of the last */
	uint64_t store_at, store_by;   /* discoveries, 0: none; the first at the latest */
	uint64_t since_ns;             /* of Unix time */
	uint32_t finding;              /* policies that are being found again */
	int timed; /* at least this many routes have a time: kept high */
	struct settings settings;
	struct facets facets;
	char cursor_tag[24];         /* begins every cursor of this session */
	unsigned int told;           /* 1 << enum list_kind: the agent has this list */
	unsigned int turns;          /* who begins when there is room again */
	struct hub_secrets *secrets; /* secrets_tools.c */
	struct listen *listens;
	struct subscription *subscriptions;
	struct buf text, body;    /* of the message that is being written */
	struct after_input after; /* the end of the agent's input */
	bool leaving; /* the agent closes its end, and its input has more than is read */
	bool agent_eof, ending;
	int error, status; /* status: exit status */
	const char *why;   /* it ends */
};

/* hub.c */
void hub_end(struct hub *, const char *why);
void hub_arm(struct hub *); /* after a change of what the loop should wait for */
/* agent.c: is there room for what a line leads to? Ask before each. Writes what the agent
 * takes. A line that is left must be marked `behind`: it is handled when there is room. */
bool hub_room(struct hub *);
/* Handles the lines that were left. The agent and the servers begin in turn; each line may
 * close any process. */
void hub_catch_up(struct hub *);
struct downstream *downstream_behind(const struct hub *);

/* hub_control.c: before the process confines itself. Without the socket it serves, too. */
void hub_control_open(struct hub *), hub_control_close(struct hub *);
/* What clients watch may have changed. */
void hub_control_changed(struct hub *);
/* The launcher has answered about a name of a command; one that nothing has is dropped. */
void server_sought(struct server *, bool exists);

/* live_state.c */
/* Stores its discovery in the registry, when no call is under way and the registry is free:
 * the status and, with lists, what it has listed. A failure is logged. */
void server_store_discovery(struct server *, bool lists);
void discoveries_timer(struct hub *, uint64_t now);
void discoveries_store(struct hub *, uint64_t until); /* what is left, at the end */
enum server_live server_live(const struct server *);
void server_report_state(const struct server *, struct hub_row *ret);

/* agent.c: a line of the agent; was: how it was parked, or NULL. */
void agent_take(struct hub *, const uint8_t *, size_t, const struct parked *was);
/* Serves nothing: the agent's next request gets the first reason, then it ends. */
void hub_broken(struct hub *, int status, const char *why);
/* The lines that were read, as long as there is room. */
void agent_pump(struct hub *);
/* After the end of the agent's input: ends what takes too long. */
void agent_last_timer(struct hub *, uint64_t now);
uint64_t agent_last_due(const struct hub *);
/* The same: ends kennel serve once nothing is under way. */
void agent_last_arm(struct hub *);
void agent_ready(struct loop *, int fd, short revents, void *hub);

/* reply.c: what kennel answers. Errors of memory surface at the end of the line. */
void reply_error(struct hub *, const struct incoming *, int code, const char *message);
void reply_error_why(struct hub *, const struct incoming *, int code, const char *message,
    const struct rpc_why *);
void reply_refusal(struct hub *, const struct incoming *, const char *text,
    const char *outcome, const struct rpc_why *);
/* The members of a result, without its braces; the envelope is added. ttl_ms: of a
 * modern result that a client may keep; -1: none. */
void reply_result(
    struct hub *, const struct incoming *, const struct buf *members, int ttl_ms);
/* The same, of initialize or server/discover. */
void reply_greeting(
    struct hub *, const struct incoming *, const struct buf *members, int ttl_ms);
/* The result of one of kennel's own tools: its structured content, also as text. */
void reply_tool(struct hub *, const struct incoming *, const struct buf *structured,
    const char *text, bool is_error);
/* A refusal of a call whose server cannot start now, with what can be done about it. */
void reply_not_ready(struct hub *, const struct incoming *, const struct buf *structured,
    const char *text);
/* A line to the agent: hub->text, with its newline. 0, or -EMSGSIZE: its queue is full, and
 * nothing was sent. */
int reply_send(struct hub *);
/* Writes these bytes as a JSON string. */
void quote(struct buf *, const void *, size_t);
void quote_text(struct buf *, const char *);
void quote_name(struct buf *, const struct item *); /* "server.tool" */
/* The text of a JSON string; NULL if it is none, or has no plain text. */
const char *text_of(struct json, char *out, size_t cap);
/* Is this error, with this text, one of kennel-remote about its token, which the server at
 * its URL cannot send (remote_mark.h), and printable ASCII? */
bool is_of_token(const struct server *, const struct json_message *, const char *text);
void notify(struct hub *, const char *method);

/* records.c */
/* The launcher's answer to LAUNCHER_RECORDER; -1: none. */
void records_open(struct hub *, int fd);
void records_arm(struct hub *);
/* As records name it. */
const char *hub_name(const struct hub *);
/* A line of this server is not passed on. */
void records_dropped(struct server *, size_t bytes, const char *reason);
/* A tool of it is not offered, because kennel has one with this name. */
void records_left_out(struct server *, const char *name);
/* s: NULL if the server is unknown. */
void records_refused(struct hub *, const struct incoming *, struct server *,
    const char *name, const char *rule, const char *reason);
void records_close(struct hub *);

/* parked.c: false: there is no room. */
bool park(struct hub *, const struct incoming *, enum park, struct server *, uint64_t ms);
/* Until this server serves or cannot: its process has its own limits. */
bool park_for_server(struct hub *, const struct incoming *, struct server *);
/* Until the record of this number is on disk, at most ms. */
bool park_for_record(struct hub *, const struct incoming *, uint64_t number, uint64_t ms);
/* What these lines wait for may have come. */
void parked_wake(struct hub *);
uint64_t parked_next(const struct hub *);
/* True: a line with this id waited, and is dropped. */
bool parked_cancel(struct hub *, struct json id);
/* Answers all of them with this error. */
void parked_refuse_all(struct hub *, int code, const char *text);
void parked_free(struct hub *);

/* servers.c */
struct server *server_find(struct hub *, const char *name, size_t len);
struct server *server_named(struct hub *, const char *name); /* or new; NULL: no room */
/* It is a row whose program may not be started: no policy grants it. */
bool server_lacks_grant(const struct server *);
/* Orders the processes that are starting, a few at a time. */
void launcher_start(struct hub *);
/* name NULL: a request without fields. */
void launcher_ask(struct hub *, enum launcher_message, const char *name);
/* Asks the launcher for the names, for the policies, once. True: they are here. */
bool servers_named(struct hub *), servers_known(struct hub *);
void servers_need_recorder(struct hub *); /* a connection to the log, once */
void servers_free(struct hub *);
void launcher_ready(struct loop *, int fd, short revents, void *hub);
void servers_ahead(struct hub *); /* starts the first of them */
bool server_may_list(const struct server *);
/* Starts servers without pins in the background. True: all have listed, or cannot. */
bool servers_listed(struct hub *);
/* A request needs this server: its process, or NULL and why (one line). */
struct downstream *server_need(struct server *, char why[HUB_TEXT_MAX]);
/* The same for one call: a process of its own. */
struct downstream *server_once(struct server *, char why[HUB_TEXT_MAX]);
/* False and why: a start would ask a person about its secrets, and must not. */
bool server_may_ask(const struct server *, char[HUB_TEXT_MAX], struct leash_refused *);
/* Its process ended: why, the cause if it was refused, and whether it had served. */
void server_ended(struct server *, const char *why, const struct leash_refused *, bool);
/* Forgets why it ended: the next call starts it. */
void server_again(struct server *);
/* Closes its process and finds its policy again; until then requests wait. False: none. */
bool server_restart(struct server *);

/* downstream.c */
int downstream_new(struct server *, enum down_use, struct downstream **ret);
/* asks: its start may ask a person. */
void downstream_started(struct hub *, uint32_t ticket, bool asks, int fd);
/* Sends a line, at once or when it serves: 0, -ENOMEM, or -EMSGSIZE if the server has not
 * read what was sent before. */
int downstream_send(struct downstream *, const struct buf *line);
void downstream_close(struct downstream *, const char *why);
/* The agent's input has ended: withdraws starts that may ask a person, and the questions of
 * the sessions. */
void downstreams_unasked(struct hub *);
void downstream_free_all(struct hub *);
uint64_t downstreams_next(const struct hub *);
void downstreams_timer(struct hub *, uint64_t now);
/* The answer to kennel's own request. */
void downstream_own(struct downstream *, const struct json_message *);
void downstream_probe(struct downstream *); /* it did not answer a call in time */
bool downstream_lives(struct hub *, uint32_t ticket);

/* from_server.c */
struct notice { /* a notification of a server */
	struct downstream *down;
	const uint8_t *line;
	size_t len;
	const struct json_message *m;
	struct edits *edits; /* empty */
};
typedef void notice_fn(struct hub *, const struct notice *);
/* Passes it on to the agent, with its edits; ids of tasks get the server's name. */
void notice_pass(struct hub *, const struct notice *);
notice_fn resource_updated, task_changed, task_status; /* subscriptions.c, tasks.c */
void downstream_ready(struct loop *, int fd, short revents, void *downstream);
/* The lines that were read, as long as there is room. False: a line has closed it. */
bool downstream_pump(struct downstream *);

/* lists.c, call.c, greeting.c, discovery_tools.c: handlers of the agent's requests */
typedef void handler(struct hub *, struct incoming *);
handler on_initialize, on_discover, on_ping, on_set_level;
handler on_list, on_tool_call, on_prompt, on_resource, on_complete, on_subscribe;
handler on_task, on_tasks, on_listen, agent_progress;
/* What a server says of its use, for the agent: as reviewed, if it has pins. NULL: nothing,
 * or it differs from its pin. The caller frees it. */
char *server_instructions(const struct server *);
/* What this process has answered. */
void downstream_instructions(struct downstream *, struct json text);
/* What the agent says of itself, for the servers. */
void keep_client(struct hub *, struct json capabilities, struct json info);
/* discovery_tools.c: true: it is one of kennel's own tools, and is answered. */
bool own_tool_call(struct hub *, struct incoming *, const char *, struct json arguments);
/* mcp_register.c: is it the name of a server, or of a tool of one, that is registered and not
 * enabled, and may the agent know that? Then text says so. */
bool registered_only(struct hub *, const char *spelled, char text[HUB_TEXT_MAX]);
void mcp_register(struct hub *, struct incoming *, struct json arguments);
/* query_tool.c; text: why; NULL: the time that the agent gave is over. */
void mcp_query(struct hub *, struct incoming *, struct json arguments);
void query_failed(struct hub *, struct route *, const struct incoming *, const char *);
/* own: the text of kennel's own error; NULL: none. */
void query_answered(
    struct hub *, struct route *, const struct json_message *, const char *own);

/* lists.c: may the agent use it? */
bool item_offered(const struct item *);
/* Does tools/list contain it, beside kennel's own? */
bool item_exposed(const struct hub *, const struct item *);
bool lists_servers(const struct hub *); /* are their tools in tools/list? */
/* Once all policies are known: more tools than `budget` allows are an error. */
void lists_check_budget(struct hub *);

/* call.c: passes a request on. arguments: replaces params.arguments (tool_invoke);
 * JSON_IS_NONE: as they are. */
struct forward {
	struct server *server;
	const char *name; /* replaces the value at `named`; NULL: as it is */
	size_t name_len;
	struct json named, arguments;
	const struct gate_ask *counts; /* a call that uses up a limit; NULL: none */
	bool invoked;
	const struct server *two[2]; /* no server: they both offer it; NULL: none does */
};
void forward(struct hub *, struct incoming *, const struct forward *);
/* True: the policies are known, and with lists also what servers without pins list (or
 * they take too long). False: the line waits, or was refused. */
bool call_ready(struct hub *, const struct incoming *, bool lists);
bool call_named(struct hub *, const struct incoming *); /* the names alone */
/* The tool of this spelling; NULL: answered, or the line waits. */
struct item *call_find_tool(struct hub *, const struct incoming *, const char *name);
/* Answers that the tool is unknown; the record has its server, or NULL, and the reason. */
void call_withheld(struct hub *, const struct incoming *, const char *spelled,
    struct server *, const char *tool, const char *reason);
/* True: answered with an error: what is asked for would outlive the process that serves it.
 * in_shared: a server that is only `oneshot` has another process for it. */
bool call_outlives(struct hub *, const struct incoming *, const struct server *,
    bool in_shared, const char *what);
#define NO_TASKS "no tasks; call without `task`"
/* lists.c: false and why: they do not match the tool's reviewed schema. */
bool arguments_fit(struct item *, struct json arguments, char why[HUB_TEXT_MAX]);
/* What the policy is asked of this tool; arguments may be JSON_IS_NONE. */
struct gate_ask call_ask(
    struct server *, const char *tool, size_t, struct json arguments);
/* Why the tool is not called, as recorded, and a sentence that says so; NULL: it is. */
const char *call_unfit(struct item *, struct json arguments, char why[HUB_TEXT_MAX]);
/* The agent calls the tool that it spells so, with these arguments. */
void call_by_name(struct hub *, struct incoming *, const char *spelled,
    struct json arguments, bool invoked);

/* routes.c */
/* Takes a row for the agent's request: NULL after it was refused. */
struct route *route_new(struct hub *, struct incoming *, struct downstream *);
struct call *route_call(struct hub *, const struct route *);
/* The agent's request, as far as an answer needs it: its id and era. */
struct incoming route_asked(struct hub *, const struct route *);
/* The code of an error; 0: none that fits an int. */
int error_code(const struct json_message *);
struct route *route_find(struct downstream *, struct json id); /* at this process */
void route_free(struct hub *, struct route *);
/* Gives it another id at the server; keeps the progress token of this request. */
void route_renew(struct hub *, struct route *);
void route_token(struct route *, const struct incoming *);
/* Answers every open request at this process. */
void routes_gone(struct downstream *, const char *text);
/* The input has ended: calls whose agent would have to answer something are refused. */
void routes_unasked(struct hub *, const char *text);
/* The time is over: answers every open request. */
void routes_expire_all(struct hub *, const char *text);
void routes_move(struct downstream *from, struct downstream *to);
/* Sends a result or error of a server as the answer. */
void route_reply(struct hub *, struct route *, const uint8_t *line, size_t len,
    const struct json_message *);
void route_error(struct hub *, struct route *, int code, const char *text);
void routes_timer(struct hub *, uint64_t now);
uint64_t routes_next(struct hub *);
/* Cancels a request at its server. */
void route_cancel(struct hub *, struct route *, const char *reason);

/* tasks.c */
struct task_texts; /* asked/asked_text.h */
void texts_of(const struct server *, struct task_texts *ret);
#define TASK_MAX 1024 /* bytes of an id toward the agent */
/* The server that has this task, and runs, and the task's id there, in text. */
bool tasks_find(struct hub *, struct json id, char text[TASK_MAX], struct forward *ret);
void tasks_next_page(struct edits *, struct hub *, const struct server *,
    struct json result, struct task_texts *);
const char *tasks_capability(struct hub *);

/* subscriptions.c */
void subscribe_note(struct hub *, const struct forward *, const char *asked, bool on);
bool subscribe_bridge(struct hub *, struct incoming *, struct server *);
void subscriptions_replay(struct downstream *);
void downstream_level(struct downstream *);
bool listen_cancel(struct hub *, struct json id);
void listens_end(struct hub *);
void list_changed(struct hub *, enum list_kind);
void subscriptions_free(struct hub *);

/* server_requests.c */
#define ASKING_FULL "kennel: too many requests are in progress"
void server_request(
    struct downstream *, const uint8_t *, size_t, const struct json_message *);
void server_refuse(struct downstream *, struct json id, const char *why);
/* NULL: too many are open, of this server or in all. */
struct asking *asking_new(struct downstream *, struct json id, const struct method *);
/* A held call has ended: none of its requests is open any more. */
void asking_release(struct hub *, const struct route *);
/* Writes params as the agent sees them: with the server's name. first replaces the opening
 * brace, unless it is "". 0, or an error of edit_apply, which is recorded. */
int asking_params(struct hub *, struct asking *, struct json params, const char *first,
    struct buf *out);
/* The agent need not answer it any more. */
void asking_cancel(struct hub *, struct asking *, const char *reason);
uint32_t agent_can(struct json capabilities);
void agent_answer(struct hub *, const struct incoming *);
/* The agent does not get it, because of this error of edit_send: id is the server's. */
void asking_refuse(struct asking *, struct json id, int error);
/* The input of the agent has ended: no answer comes, and none is asked for. */
void asking_withdraw(struct hub *);
void asking_gone(struct downstream *), asking_cancelled(struct downstream *, struct json);

#endif
