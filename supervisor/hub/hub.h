/*
 * The hub room: which tools, resources and prompts there are, and who may use
 * them.
 *
 *	gate.c	one decision point for everything an agent may name
 *	pins.c	definitions as they were reviewed, and as the server says them now
 */
#ifndef KENNEL_SUPERVISOR_HUB_HUB_H
#define KENNEL_SUPERVISOR_HUB_HUB_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/sealed/policy.h"
#include "supervisor/mcp/mcp.h"

/* ---- pins.c --------------------------------------------------------------- */

#define PIN_CHANGED_MAX 256

enum pin_state {
	PIN_OFF,     /* the policy has no pins for this server */
	PIN_FITS,    /* as reviewed, or not said yet */
	PIN_DIFFERS, /* the server says something else now */
	PIN_MISSING, /* the server was reviewed, without this */
};

struct pin_seen {
	enum pin_state state;
	bool news;                     /* not what it was when it was last seen */
	uint8_t sha256[32];            /* of its canonical form */
	const struct sealed_pin *pin;  /* NULL: there is none of this name */
	char changed[PIN_CHANGED_MAX]; /* "changed: description; new: icons", or "" */
};

struct pins;

/* policy and server must outlive it.  0; -ENOMEM; -E2BIG: more names are pinned
 * than are remembered. */
int pins_new(const struct policy *, const struct sealed_server *, struct pins **ret);
void pins_free(struct pins *);
/* The server has just said this definition (bytes that json_scan passed): what
 * it is is remembered under its name.  0 or -ENOMEM. */
int pins_see(struct pins *, enum sealed_pin_kind, const char *name, size_t len,
    struct json definition, struct pin_seen *ret);
/* What is known of this name by now. */
enum pin_state pins_state(
    const struct pins *, enum sealed_pin_kind, const char *name, size_t len);
/* What a tool says of itself: as reviewed, and today (enum sealed_class). */
struct pin_words {
	const struct sealed_pin *pin; /* NULL: it was not reviewed */
	uint32_t said;
};
struct pin_words pins_words(const struct pins *, const char *name, size_t len);

/* ---- gate.c --------------------------------------------------------------- */

#define GATE_AT_MAX   512 /* "file:line" */
#define GATE_TEXT_MAX 1536

/* What an agent wants to use. */
struct gate_ask {
	const struct policy *policy;
	const struct sealed_server *server;
	const struct pins *pins; /* NULL: none are known (tests) */
	enum sealed_gate_kind kind;
	const char *name;
	size_t name_len;
	const char *args; /* JSON as it came; NULL: not said yet, as in a list */
	size_t args_len;
};

struct gate_answer {
	bool allowed;
	bool asks; /* a person may allow it */
	enum sealed_verdict verdict;
	enum pin_state pin;   /* PIN_DIFFERS and PIN_MISSING are refused */
	const char *because;  /* the policy's words, or "" */
	const char *instead;  /* the same */
	char at[GATE_AT_MAX]; /* the line that decided, or "" */
};

/* May this tool, resource or prompt be used; in a list: with some arguments? */
void gate_judge(const struct gate_ask *, struct gate_answer *ret);

/* One sentence for an agent: what was refused, why, by which line.  Returns
 * out. */
const char *gate_text(const struct gate_answer *, enum sealed_gate_kind, const char *name,
    char out[GATE_TEXT_MAX]);

#endif
