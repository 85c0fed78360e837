/*
 * The hub room: which tools, resources and prompts exist, and who may use them.
 *
 *	argv_authority.c  whether a policy grants the argv of a row of the registry
 *	gate.c		the decision about every name that an agent may use
 *	call_limits.c	rates and quotas of one session's calls
 *	pins.c		reviewed definitions, compared with the server's present ones
 */
#ifndef KENNEL_SUPERVISOR_HUB_HUB_H
#define KENNEL_SUPERVISOR_HUB_HUB_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/sealed/policy.h"
#include "supervisor/json/json.h"

/* ---- pins.c --------------------------------------------------------------- */

#define PIN_CHANGED_MAX 256

enum pin_state {
	PIN_OFF,     /* the policy has no pins for this server */
	PIN_FITS,    /* as reviewed, or not received yet */
	PIN_DIFFERS, /* the server's definition has changed */
	PIN_MISSING, /* the server was reviewed without this */
};

struct pin_seen {
	enum pin_state state;
	bool news;                     /* differs from the last time */
	uint8_t sha256[32];            /* of its canonical form */
	const struct sealed_pin *pin;  /* NULL: no pin with this name */
	char changed[PIN_CHANGED_MAX]; /* "changed: description; new: icons", or "" */
};

struct pins;

/* policy and server must outlive it. Returns 0; -ENOMEM; -E2BIG: more pinned names
 * than the table holds. */
int pins_new(const struct policy *, const struct sealed_server *, struct pins **ret);
void pins_free(struct pins *);
/* The server has sent this definition (bytes that json_scan accepted): stores its
 * state under its name. 0 or -ENOMEM. */
int pins_see(struct pins *, enum sealed_pin_kind, const char *name, size_t len,
    struct json definition, struct pin_seen *ret);
/* The present state of this name. */
enum pin_state pins_state(
    const struct pins *, enum sealed_pin_kind, const char *name, size_t len);
/* The server has listed its tools to the end, or says that the list has changed. */
void pins_listed(struct pins *, bool whole);
/* True if the server's list, received to its end, does not have this tool. */
bool pins_lacks_tool(const struct pins *, const char *name, size_t len);
/* A tool's classes: as reviewed, and at present (enum sealed_class). */
struct pin_words {
	const struct sealed_pin *pin; /* NULL: not reviewed */
	uint32_t said;
};
struct pin_words pins_words(const struct pins *, const char *name, size_t len);

/* ---- gate.c --------------------------------------------------------------- */

#define GATE_AT_MAX   512 /* "file:line" */
#define GATE_TEXT_MAX 1536

/* A use that an agent requests. */
struct gate_ask {
	const struct policy *policy;
	const struct sealed_server *server;
	const struct pins *pins; /* NULL: unknown (tests) */
	enum sealed_gate_kind kind;
	const char *name;
	size_t name_len;
	const char *args; /* JSON as received; NULL: not known yet, as in a list */
	size_t args_len;
	struct call_limits *limits; /* of the session; NULL: none apply, as in a list */
	uint64_t now_ns;            /* for them: a clock that never goes back */
};

/* ---- call_limits.c -------------------------------------------------------- */

enum call_limit { CALL_FITS, CALL_OVER_RATE, CALL_OVER_QUOTA };

struct call_over {
	enum call_limit is;
	const struct sealed_gate *gate; /* whose limit it is */
	uint64_t wait_ns;               /* CALL_OVER_RATE: until a call fits */
};

/* policy and server must outlive it. Returns 0 or -ENOMEM. */
int call_limits_new(
    const struct policy *, const struct sealed_server *, struct call_limits **ret);
void call_limits_free(struct call_limits *);
/* Would this call exceed a limit? For gate.c; ask->limits is not NULL. */
void call_limits_judge(
    const struct gate_ask *, const struct policy_gate_ask *, struct call_over *ret);
void call_limits_count(const struct gate_ask *, const struct policy_gate_ask *);

/* ---- gate.c: answers ------------------------------------------------------ */

struct gate_answer {
	bool allowed;
	bool asks;   /* a user may approve it */
	bool method; /* it concerns a method */
	bool odd;    /* a resource URI that is not in normal form; can only be refused */
	enum sealed_verdict verdict;
	enum sealed_factor factor; /* if it asks */
	bool destructive;          /* a tool whose reviewed definition says so */
	enum pin_state pin;        /* PIN_DIFFERS and PIN_MISSING mean refused */
	struct call_over over;     /* not CALL_FITS: refused, and `at` is its line */
	const char *because;       /* the policy's text, or "" */
	const char *instead;       /* likewise */
	char at[GATE_AT_MAX];      /* the deciding line, or "" */
	/* After gate_explain, if no line decides: a line that grants the name, and its
	 * requirement that this call does not meet; else "" and MISS_NONE. */
	char near[GATE_AT_MAX];
	enum policy_miss miss;
};

/* Decides whether this tool, resource or prompt may be used; in a list: with any
 * arguments. */
void gate_judge(const struct gate_ask *, struct gate_answer *ret);
/* Of a refusal, for its text and its record: sets near and miss. Not part of gate_judge,
 * because a list judges every tool, and this reads every line. */
void gate_explain(const struct gate_ask *, struct gate_answer *);
/* The call is about to reach the server: counts it for its rates and quotas. */
void gate_count(const struct gate_ask *);
/* The outcome of a refusal, for the agent. */
const char *gate_outcome(const struct gate_answer *);
/* The same for the log, where a refusal without a line has a reason. */
const char *gate_reason(const struct gate_answer *);
/* The line for the log: the deciding one, or the near one; or "". */
const char *gate_rule(const struct gate_answer *);

/* Writes one sentence for an agent: what was refused, why, by which line. Returns
 * out. */
const char *gate_text(const struct gate_answer *, enum sealed_gate_kind, const char *name,
    char out[GATE_TEXT_MAX]);

#endif
