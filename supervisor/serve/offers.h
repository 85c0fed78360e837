/*
 * What servers offer: tools, resources, templates and prompts, by name (offers.c), and in
 * the order of what the agent calls them (item_index.c).
 */
#ifndef KENNEL_SUPERVISOR_SERVE_OFFERS_H
#define KENNEL_SUPERVISOR_SERVE_OFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/sealed/sealed.h"
#include "shim/base/buf.h"
#include "supervisor/json/json.h"
#include "supervisor/mcp/line/budget.h"
#include "supervisor/mcp/line/pages.h"

struct hub;
struct server;
struct downstream;
struct schema;

/* A tool, resource, template or prompt. */
struct item {
	struct server *server;
	enum sealed_pin_kind kind;
	char *name; /* a tool's or prompt's name, a URI, as the server has it; owned */
	size_t name_len;
	char *wire;         /* of a tool or prompt: what the agent calls it; owned */
	struct json def;    /* its definition: in the sealed policy, or in `owned` */
	uint8_t *owned;     /* NULL: the definition is a pin */
	uint8_t sha256[32]; /* of its definition, in canonical form */
	enum sealed_verdict verdict; /* with some arguments; DENY: not offered */
	bool pinned;
	bool listed;   /* the running server has it, as reviewed or as first seen */
	bool drifted;  /* it has it otherwise, or (a pinned one) no longer */
	bool reported; /* it had drifted when the lists were last complete */
	bool gone;     /* the server lists it no longer; pinned: not for this agent */
	bool taken;    /* kennel itself has a tool of this name */
	bool twin;     /* another item has this wire name; neither is offered */
	bool schema_made;
	struct schema *schema; /* owned; NULL: none, or one that cannot be compiled */
};

struct items {
	struct item **item;   /* owned; sorted by server, then name */
	struct item **by_key; /* the same items, see item_index.c; then by server */
	size_t n, cap, key_cap;
	size_t bytes; /* of names and definitions that servers have listed */
};

/* ---- lists ------------------------------------------------------------------ */

/* The lists of a server, in the order in which they are read. */
enum list_kind { LIST_TOOLS, LIST_PROMPTS, LIST_RESOURCES, LIST_TEMPLATES, LIST_N };
extern const struct list_row {
	const char *method, *key, *capability,
	    *id; /* id: the member that names an item */
	enum sealed_pin_kind kind;
} list_rows[LIST_N];

/* offers.c */
/* The pins of this server become items. */
int offers_pins(struct server *);
/* The agent has other capabilities than before. */
void offers_vary(struct hub *);
/* A page of its list. */
int offers_page(struct downstream *, const struct list_row *, struct json list);
/* Before the first page, and after the last; again: its lists were read before. */
void offers_begin(struct server *);
void offers_listed(struct server *, bool again);
void offers_forget(struct hub *, struct server *);
void offers_free(struct hub *);
struct item *offers_tool(
    struct hub *, const char *spelling, size_t len, struct buf *ret_twins);
/* By the server's own name of it. */
struct item *offers_find(
    const struct server *, enum sealed_pin_kind, const char *name, size_t len);
struct item *offers_prompt(struct hub *, const char *wire, size_t len);
/* The server whose name this spelling of a tool begins with; NULL: none. */
struct server *offers_server_of(struct hub *, const char *spelling, size_t len);

/* item_index.c */
/* Adds it before it is counted in `n`, and finds its twins: 0 or -ENOMEM. */
int item_index_add(struct items *, struct item *);
/* Leaves this server's out, before `n` is lowered. */
void item_index_forget(struct items *, const struct server *);
/* The first of this wire name, or URI, in the order of servers. */
struct item *item_index_find(
    const struct items *, enum sealed_pin_kind, const char *, size_t len);
/* True: of the items that count, no other one has its wire name, or URI. */
bool item_index_alone(
    const struct items *, const struct item *, bool (*counts)(const struct item *));
/* The server of this URI, and the URI there. NULL: none offers it, or more than one does:
 * then *ret_two are two of them, else NULL. */
struct server *offers_resource(struct hub *, const char *uri, size_t len,
    const char **ret_uri, size_t *ret_len, const struct server *ret_two[2]);

/* ---- the lists of a server (lists.c) ----------------------------------------------- */

struct json_message;

struct relisting {                    /* times of loop_now() */
	uint64_t greeted_at;          /* its lists were then read for the first time */
	uint64_t listed_at, pause_ms; /* the next listing begins after both */
	int first_n;                  /* listings again before it served */
	bool said, early; /* in the log: it announces without an end; ends early */
};

/* Reads all lists; then it serves. */
void downstream_list(struct downstream *);
/* A page of the list that is being read. */
void downstream_page(struct downstream *, const struct json_message *);
/* A list has changed: they are read again, at once or after a pause. */
void downstream_relist(struct downstream *);
/* When a listing that waits is due; UINT64_MAX: none waits. */
uint64_t downstream_relist_at(const struct downstream *);
/* downstream.c: begins a request of kennel's own, with its params open; adds what 2026-07-28
 * wants there; sends it. */
struct buf *downstream_ask(struct downstream *, const char *method);
void downstream_meta(struct downstream *, struct buf *);
void downstream_asked(struct downstream *);
/* downstream.c: the server answered this request of kennel's with an error: it is closed. */
void downstream_refused(
    struct downstream *, const struct json_message *, const char *what);
/* downstream.c: all its lists are read. */
void downstream_serves(struct downstream *);

/* routes.c */
/* Requests that wait for the lists of a greeted process have `timeout call`, too. */
uint64_t routes_late_at(const struct downstream *); /* UINT64_MAX: none waits */
void routes_late(struct downstream *, uint64_t now);

#endif
