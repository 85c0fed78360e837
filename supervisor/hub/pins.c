/*
 * Compares the definitions that the user reviewed (the policy's pins) with those that
 * the server sends. A definition that differs is hidden and cannot be called. A
 * server's present description of a tool may make a verdict stricter, never more
 * lenient.
 *
 * Process: kennel. Holds the last state of each name, no content. Trusts the pins,
 * which came with the sealed policy; not the server.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/sealed/policy.h"
#include "shim/base/hash.h"
#include "supervisor/hub/hub.h"

#define NAMES_MAX   8192 /* names stored per session */
#define BUCKETS     256  /* a power of two; servers have few names */
#define NO_ROW      SEALED_NONE
#define ALL_CLASSES 0xffffffffu

struct name {
	struct name *next;
	enum sealed_pin_kind kind;
	enum pin_state state;
	uint32_t pinned, live; /* enum sealed_class: of all its pins; at present */
	uint32_t row;          /* last pin of this name, or NO_ROW */
	uint32_t fits;         /* the pin that it matched, or NO_ROW */
	bool seen;             /* the server has sent it, with this digest */
	uint8_t sha256[32];
	size_t len;
	char text[];
};

struct pins {
	const struct policy *policy;
	const struct sealed_server *server;
	struct name *bucket[BUCKETS];
	uint32_t *next_row; /* with the same name, by place in the server's range */
	bool pinned;        /* the whole server was reviewed */
	size_t name_n;
	bool forgetful; /* more names than the table holds */
	bool listed;    /* the server has listed its tools to the end */
	struct buf canon;
};

/* State of a name without a pin: a review without items of this kind has approved
 * none of this kind. */
static enum pin_state
unknown(const struct pins *p)
{
	return p->pinned ? PIN_MISSING : PIN_OFF;
}

/* ---- names ---------------------------------------------------------------- */

static struct name **
place(struct pins *p, enum sealed_pin_kind kind, const char *text, size_t len)
{
	uint64_t h = hash64(HASH64_START ^ (uint64_t)kind, text, len);
	struct name **at = &p->bucket[(h ^ h >> 32) & (BUCKETS - 1)];

	while (*at != NULL && ((*at)->kind != kind || (*at)->len != len ||
				  memcmp((*at)->text, text, len) != 0))
		at = &(*at)->next;
	return at;
}

static const struct name *
find(const struct pins *p, enum sealed_pin_kind kind, const char *text, size_t len)
{
	/* place() changes nothing */
	return *place((struct pins *)(uintptr_t)p, kind, text, len);
}

/* Finds or adds the entry of this name; NULL in *ret if the table is full. */
static int
note(struct pins *p, enum sealed_pin_kind kind, const char *text, size_t len,
    struct name **ret)
{
	struct name **at = place(p, kind, text, len), *n;

	*ret = *at;
	if (*at != NULL)
		return 0;
	if (p->name_n == NAMES_MAX) {
		p->forgetful = true;
		return 0;
	}
	n = calloc(1, sizeof(*n) + len);
	if (n == NULL)
		return -ENOMEM;
	n->kind = kind;
	n->row = n->fits = NO_ROW;
	n->state = unknown(p);
	n->len = len;
	memcpy(n->text, text, len);
	*at = n;
	p->name_n++;
	*ret = n;
	return 0;
}

/* ---- begin and end -------------------------------------------------------- */

static int
add_row(struct pins *p, uint32_t i)
{
	const struct sealed_pin *pin = &p->policy->pin[p->server->pins.first + i];
	struct name *n;
	int r;

	r = note(p, (enum sealed_pin_kind)pin->kind, policy_str(p->policy, pin->name),
	    pin->name.len, &n);
	if (r < 0 || n == NULL)
		return r < 0 ? r : -E2BIG;
	n->pinned |= pin->classes;
	n->state = PIN_FITS;
	p->next_row[i] = n->row;
	n->row = i;
	return 0;
}

int
pins_new(
    const struct policy *policy, const struct sealed_server *server, struct pins **ret)
{
	struct pins *p = calloc(1, sizeof(*p));
	int r = 0;

	if (p == NULL)
		return -ENOMEM;
	p->policy = policy;
	p->server = server;
	p->pinned = server->pins.n > 0;
	buf_init(&p->canon, MCP_MESSAGE_MAX);
	if (server->pins.n > 0) {
		p->next_row = calloc(server->pins.n, sizeof(*p->next_row));
		if (p->next_row == NULL)
			r = -ENOMEM;
	}
	for (uint32_t i = 0; r == 0 && i < server->pins.n; i++)
		r = add_row(p, i);
	if (r < 0) {
		pins_free(p);
		return r;
	}
	*ret = p;
	return 0;
}

void
pins_free(struct pins *p)
{
	if (p == NULL)
		return;
	for (size_t i = 0; i < BUCKETS; i++)
		while (p->bucket[i] != NULL) {
			struct name *n = p->bucket[i];

			p->bucket[i] = n->next;
			free(n);
		}
	free(p->next_row);
	buf_free(&p->canon);
	free(p);
}

/* ---- a tool's annotations ------------------------------------------------- */

/* 1 true, 0 false or another value, -1 missing; sets *ret_twice if there are two. */
static int
hint(struct json annotations, const char *name, bool *ret_twice)
{
	struct json value;
	int r = json_get(annotations, name, &value);

	if (r == -EEXIST)
		*ret_twice = true;
	return r < 0 ? -1 : value.type == JSON_IS_TRUE;
}

/* Applies the protocol's defaults: a tool that is not marked read-only may be
 * destructive, and one not marked otherwise has external effects. What is marked twice
 * has every class, because clients differ in which one they read. */
static uint32_t
classes_of(struct json definition)
{
	struct json annotations;
	uint32_t classes = 0;
	int r = json_get(definition, "annotations", &annotations);
	int reads, destroys, same, open;
	bool twice = false;

	if (r == -EEXIST)
		return ALL_CLASSES;
	if (r < 0 || annotations.type != JSON_IS_OBJECT)
		return CLASS_UNANNOTATED;
	reads = hint(annotations, "readOnlyHint", &twice);
	destroys = hint(annotations, "destructiveHint", &twice);
	same = hint(annotations, "idempotentHint", &twice);
	open = hint(annotations, "openWorldHint", &twice);
	if (twice)
		return ALL_CLASSES;
	if (reads == 1)
		classes |= CLASS_READONLY;
	if (destroys == 1 || (reads != 1 && destroys != 0))
		classes |= CLASS_DESTRUCTIVE;
	if (same == 1)
		classes |= CLASS_IDEMPOTENT;
	if (open != 0)
		classes |= CLASS_OPENWORLD;
	return classes;
}

/* ---- differences ---------------------------------------------------------- */

struct change { /* "changed: a, b; new: c" */
	char *out;
	size_t len;
	const char *word;
};

static void
change_add(struct change *c, const char *word, struct json key)
{
	int n;

	if (c->len + 1 >= PIN_CHANGED_MAX)
		return;
	n = snprintf(c->out + c->len, PIN_CHANGED_MAX - c->len, "%s%s%.*s",
	    c->len == 0       ? ""
	    : c->word == word ? ", "
			      : "; ",
	    c->word == word ? "" : word, (int)(key.len < 64 ? key.len : 64),
	    (const char *)key.at);
	c->word = word;
	c->len += n < 0 ? 0 : (size_t)n;
	if (c->len >= PIN_CHANGED_MAX)
		c->len = PIN_CHANGED_MAX - 1;
}

/* Both are in canonical form, so their members are in the same order. */
static int
key_order(bool a_left, struct json a, bool b_left, struct json b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int d;

	if (!a_left || !b_left)
		return b_left ? 1 : a_left ? -1 : 0;
	/* without the closing quote: the longer key is greater */
	d = memcmp(a.at, b.at, n - 1);
	return d != 0 ? d : (a.len > b.len) - (a.len < b.len);
}

static void
changes(struct json was, struct json is, char out[PIN_CHANGED_MAX])
{
	struct change c = {.out = out};
	struct json a, a_value, b, b_value;
	struct json_walk old, now;
	bool a_left, b_left;

	out[0] = '\0';
	json_walk(&old, was);
	json_walk(&now, is);
	a_left = json_next(&old, &a, &a_value);
	b_left = json_next(&now, &b, &b_value);
	while (a_left || b_left) {
		int d = key_order(a_left, a, b_left, b);

		if (d < 0)
			change_add(&c, "gone: ", a);
		else if (d > 0)
			change_add(&c, "new: ", b);
		else if (a_value.len != b_value.len ||
			 memcmp(a_value.at, b_value.at, a_value.len) != 0)
			change_add(&c, "changed: ", a);
		if (d <= 0)
			a_left = json_next(&old, &a, &a_value);
		if (d >= 0)
			b_left = json_next(&now, &b, &b_value);
	}
	if (c.len == 0)
		(void)snprintf(out, PIN_CHANGED_MAX, "another text");
}

static void
differs(struct pins *p, uint32_t row, char out[PIN_CHANGED_MAX])
{
	const struct sealed_pin *pin = &p->policy->pin[p->server->pins.first + row];
	const char *body = policy_str(p->policy, pin->body);
	struct json_message was, is;

	(void)snprintf(out, PIN_CHANGED_MAX, "another kind of value");
	if (json_scan((const uint8_t *)body, pin->body.len, &was) == 0 &&
	    json_scan(p->canon.data, p->canon.len, &is) == 0 &&
	    was.root.type == is.root.type)
		changes(was.root, is.root, out);
}

/* ---- receiving definitions ------------------------------------------------ */

/* The pin, from this row on, that matches the definition in p->canon; or NO_ROW. */
static uint32_t
fitting(const struct pins *p, uint32_t row)
{
	const struct sealed_pin *pin;

	for (; row != NO_ROW; row = p->next_row[row]) {
		pin = &p->policy->pin[p->server->pins.first + row];
		if (pin->body.len == p->canon.len &&
		    memcmp(policy_str(p->policy, pin->body), p->canon.data,
			p->canon.len) == 0)
			break;
	}
	return row;
}

/* Judges the current definition, in p->canon. A definition without a canonical form
 * matches no pin. */
static int
judge(struct pins *p, struct name *n, struct json definition, struct pin_seen *seen)
{
	int r;

	buf_clear(&p->canon);
	r = json_canon(definition, &p->canon);
	if (r == -ENOMEM)
		return r;
	if (r == 0)
		mcp_digest(p->canon.data, p->canon.len, seen->sha256);
	else
		mcp_digest(definition.at, definition.len, seen->sha256);
	if (n->row == NO_ROW)
		return 0;
	seen->pin = &p->policy->pin[p->server->pins.first + n->row];
	n->fits = r == 0 ? fitting(p, n->row) : NO_ROW;
	n->state = n->fits != NO_ROW ? PIN_FITS : PIN_DIFFERS;
	if (r < 0)
		(void)snprintf(seen->changed, sizeof(seen->changed),
		    "it has no unambiguous reading"); /* fits */
	else if (n->state == PIN_DIFFERS)
		differs(p, n->row, seen->changed);
	return 0;
}

int
pins_see(struct pins *p, enum sealed_pin_kind kind, const char *text, size_t len,
    struct json definition, struct pin_seen *ret)
{
	struct name *n;
	int r = note(p, kind, text, len, &n);

	*ret = (struct pin_seen){.state = unknown(p)};
	if (r < 0 || n == NULL) /* table full: state unknown, and not reported */
		return r;
	if (kind == PIN_TOOL)
		n->live = classes_of(definition);
	r = judge(p, n, definition, ret);
	if (r < 0)
		return r;
	ret->state = n->state;
	ret->news = !n->seen || memcmp(n->sha256, ret->sha256, 32) != 0;
	n->seen = true;
	memcpy(n->sha256, ret->sha256, 32);
	return 0;
}

enum pin_state
pins_state(const struct pins *p, enum sealed_pin_kind kind, const char *text, size_t len)
{
	const struct name *n = find(p, kind, text, len);

	if (n != NULL)
		return n->state;
	return unknown(p);
}

void
pins_listed(struct pins *p, bool whole)
{
	p->listed = whole;
}

bool
pins_lacks_tool(const struct pins *p, const char *text, size_t len)
{
	const struct name *n = find(p, PIN_TOOL, text, len);

	return p->listed && !p->forgetful && (n == NULL || !n->seen);
}

/* If a tool was reviewed in several variants, its pin is the one that the server
 * sent; the others can only make the verdict stricter. */
struct pin_words
pins_words(const struct pins *p, const char *text, size_t len)
{
	const struct name *n = find(p, PIN_TOOL, text, len);
	struct pin_words w = {.said = p->forgetful ? ALL_CLASSES : 0};
	uint32_t row;

	if (n == NULL)
		return w;
	w.said = n->live | n->pinned;
	row = n->fits != NO_ROW ? n->fits : n->row;
	if (row != NO_ROW)
		w.pin = &p->policy->pin[p->server->pins.first + row];
	return w;
}
