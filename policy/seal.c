/*
 * The sealer: rows in, bytes out; the same rows give the same bytes.
 *
 * Rows come in any order of servers.  sealer_finish sorts the servers by name,
 * gives each its part of every table, and lays the file out as the loader
 * wants it; the loader then has the last word.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/load.h"
#include "policy/tree.h"

#define ALIGN(n) (((n) + SEALED_ALIGN - 1) / SEALED_ALIGN * SEALED_ALIGN)

struct sealer {
	struct buf table[SEALED_KIND_END];
	uint32_t *slot; /* strings: place in the pool plus 1; 0: free */
	size_t slot_n;  /* a power of two */
	size_t str_n;
	bool sorted;
	int error;
	char why[200]; /* what the loader said */
};

static const size_t row_size[SEALED_KIND_END] = {
    [SEALED_STRINGS] = 1,
    [SEALED_FILES] = sizeof(struct sealed_ref),
    [SEALED_SERVERS] = sizeof(struct sealed_server),
    [SEALED_ENVS] = sizeof(struct sealed_env),
    [SEALED_SECRETS] = sizeof(struct sealed_secret),
    [SEALED_MOUNTS] = sizeof(struct sealed_mount),
    [SEALED_IMAGES] = sizeof(struct sealed_image),
    [SEALED_EXECS] = sizeof(struct sealed_exec),
    [SEALED_ARGS] = sizeof(struct sealed_arg),
    [SEALED_GATES] = sizeof(struct sealed_gate),
    [SEALED_LIMITS] = sizeof(struct sealed_limit),
    [SEALED_REQUIRES] = sizeof(struct sealed_require),
    [SEALED_FILTERS] = sizeof(struct sealed_filter),
    [SEALED_INSNS] = sizeof(struct sealed_insn),
};

static int sealer_sort(struct sealer *);
static int sealer_lay(struct sealer *, struct buf *);

struct sealer *
sealer_new(void)
{
	struct sealer *s = calloc(1, sizeof(*s));
	uint32_t kind;

	if (s == NULL)
		return NULL;
	for (kind = 1; kind < SEALED_KIND_END; kind++)
		buf_init(&s->table[kind], SEALED_LEN_MAX);
	s->slot_n = 1024;
	s->slot = calloc(s->slot_n, sizeof(*s->slot));
	/* The empty string is the first, so that a zeroed ref is one. */
	if (s->slot == NULL || buf_putc(&s->table[SEALED_STRINGS], 0) < 0) {
		sealer_free(s);
		return NULL;
	}
	return s;
}

void
sealer_free(struct sealer *s)
{
	uint32_t kind;

	if (s == NULL)
		return;
	for (kind = 1; kind < SEALED_KIND_END; kind++)
		buf_free(&s->table[kind]);
	free(s->slot);
	free(s);
}

static uint32_t
hash(const char *text, size_t len)
{
	uint32_t h = 2166136261u;
	size_t i;

	for (i = 0; i < len; i++)
		h = (h ^ (uint8_t)text[i]) * 16777619u;
	return h ^ (h >> 15);
}

/* The slot of this text: its own, or the free one where it belongs. */
static uint32_t *
slot_find(struct sealer *s, const char *text, size_t len)
{
	const char *pool = (const char *)s->table[SEALED_STRINGS].data;
	size_t i = hash(text, len) & (s->slot_n - 1);

	/* A pool string ends in NUL and text holds none. */
	for (; s->slot[i] != 0; i = (i + 1) & (s->slot_n - 1))
		if (strncmp(pool + s->slot[i] - 1, text, len) == 0 &&
		    pool[s->slot[i] - 1 + len] == 0)
			break;
	return &s->slot[i];
}

static int
slots_grow(struct sealer *s)
{
	const char *pool = (const char *)s->table[SEALED_STRINGS].data;
	uint32_t *old = s->slot;
	size_t i, n = s->slot_n;

	s->slot = calloc(2 * n, sizeof(*s->slot));
	if (s->slot == NULL) {
		s->slot = old;
		return -ENOMEM;
	}
	s->slot_n = 2 * n;
	for (i = 0; i < n; i++)
		if (old[i] != 0)
			*slot_find(s, pool + old[i] - 1, strlen(pool + old[i] - 1)) =
			    old[i];
	free(old);
	return 0;
}

struct sealed_ref
sealer_str(struct sealer *s, const char *text, size_t len)
{
	struct sealed_ref ref = {0, 0};
	struct buf *pool = &s->table[SEALED_STRINGS];
	uint32_t *slot;
	size_t at;

	if (len == 0 || s->error < 0)
		return ref;
	if (memchr(text, 0, len) != NULL || len > SEALED_STR_LEN_MAX) {
		s->error = -EINVAL;
		return ref;
	}
	if (2 * s->str_n >= s->slot_n && (s->error = slots_grow(s)) < 0)
		return ref;
	slot = slot_find(s, text, len);
	ref.len = (uint32_t)len;
	if (*slot != 0) {
		ref.off = *slot - 1;
		return ref;
	}
	at = pool->len;
	if ((s->error = buf_put(pool, text, len)) < 0 ||
	    (s->error = buf_putc(pool, 0)) < 0)
		return (struct sealed_ref){0, 0};
	*slot = (uint32_t)at + 1;
	s->str_n++;
	ref.off = (uint32_t)at;
	return ref;
}

uint32_t
sealer_row(struct sealer *s, enum sealed_kind kind, const void *row, size_t size)
{
	uint32_t i = sealer_rows(s, kind);

	if (s->error < 0)
		return i;
	if (size != row_size[kind] || kind == SEALED_STRINGS)
		s->error = -EINVAL;
	else
		s->error = buf_put(&s->table[kind], row, size);
	return i;
}

uint32_t
sealer_rows(const struct sealer *s, enum sealed_kind kind)
{
	return (uint32_t)(s->table[kind].len / row_size[kind]);
}

void *
sealer_at(struct sealer *s, enum sealed_kind kind, uint32_t i)
{
	if (i >= sealer_rows(s, kind))
		return NULL;
	return s->table[kind].data + i * row_size[kind];
}

const char *
sealer_text(const struct sealer *s, struct sealed_ref ref)
{
	return (const char *)s->table[SEALED_STRINGS].data + ref.off;
}

int
sealer_finish(struct sealer *s, struct buf *out)
{
	struct policy check;
	struct buf bytes;
	int r;

	buf_init(&bytes, SEALED_LEN_MAX);
	if ((r = s->error) < 0 || (r = sealer_sort(s)) < 0 ||
	    (r = sealer_lay(s, &bytes)) < 0)
		goto out;
	r = policy_load_bytes(bytes.data, bytes.len, &check, s->why, sizeof(s->why));
	if (r == 0)
		r = buf_put(out, bytes.data, bytes.len);
out:
	buf_free(&bytes);
	return r;
}

const char *
sealer_why(const struct sealer *s)
{
	return s->why;
}

/* ---- order ----------------------------------------------------------------- */

/* Text order of two refs; qsort has no argument, so the pool is passed here. */
struct keyed {
	const char *text;
	uint32_t num;
	uint32_t from; /* ties keep their order */
};

static int
keyed_compare(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;
	int c = strcmp(x->text, y->text);

	if (c != 0)
		return c;
	if (x->num != y->num)
		return x->num < y->num ? -1 : 1;
	return (x->from > y->from) - (x->from < y->from);
}

/* By which field a table is sorted inside one server; none: as it came. */
static const struct {
	enum sealed_kind kind;
	size_t at;    /* the range in struct sealed_server */
	bool by_text; /* the key is a ref at the start of the row */
	size_t num;   /* or, where not 0, the place of a number */
} owned[] = {
    {SEALED_ENVS, offsetof(struct sealed_server, envs), true, 0},
    {SEALED_SECRETS, offsetof(struct sealed_server, secrets), true, 0},
    {SEALED_MOUNTS, offsetof(struct sealed_server, mounts), false, 0},
    {SEALED_IMAGES, offsetof(struct sealed_server, images), false, 0},
    {SEALED_EXECS, offsetof(struct sealed_server, execs), false, 0},
    {SEALED_GATES, offsetof(struct sealed_server, gates), false, 0},
    {SEALED_LIMITS, offsetof(struct sealed_server, limits), false,
	offsetof(struct sealed_limit, kind)},
    {SEALED_REQUIRES, offsetof(struct sealed_server, requires), false,
	offsetof(struct sealed_require, kind)},
};

static struct keyed *
keys_make(const struct sealer *s, size_t k, struct sealed_range range)
{
	const uint8_t *row;
	struct sealed_ref ref;
	struct keyed *key;
	uint32_t i;

	key = calloc((size_t)range.n + 1, sizeof(*key));
	if (key == NULL)
		return NULL;
	for (i = 0; i < range.n; i++) {
		row = s->table[owned[k].kind].data +
		      (size_t)(range.first + i) * row_size[owned[k].kind];
		key[i] = (struct keyed){.text = "", .from = range.first + i};
		if (owned[k].by_text) {
			memcpy(&ref, row, sizeof(ref));
			key[i].text = sealer_text(s, ref);
		}
		if (owned[k].num != 0)
			memcpy(&key[i].num, row + owned[k].num, sizeof(key[i].num));
	}
	qsort(key, range.n, sizeof(*key), keyed_compare);
	return key;
}

/* Append one server's part of table k to out, and say where it went. */
static int
part_move(struct sealer *s, size_t k, struct sealed_server *server, struct buf *out)
{
	size_t size = row_size[owned[k].kind], i;
	struct sealed_range range;
	struct keyed *key;
	uint32_t first;
	int r = 0;

	memcpy(&range, (char *)server + owned[k].at, sizeof(range));
	first = (uint32_t)(out->len / size);
	if ((uint64_t)range.first + range.n > sealer_rows(s, owned[k].kind))
		return -EINVAL;
	if ((key = keys_make(s, k, range)) == NULL)
		return -ENOMEM;
	for (i = 0; i < range.n && r == 0; i++)
		r = buf_put(out, s->table[owned[k].kind].data + key[i].from * size, size);
	free(key);
	range.first = first;
	memcpy((char *)server + owned[k].at, &range, sizeof(range));
	return r;
}

/* Execs name images by row, a server its run by row: both have moved. */
static int
rows_follow(
    struct sealed_server *server, const struct sealed_server *was, struct buf *execs)
{
	struct sealed_exec *e = (struct sealed_exec *)(void *)execs->data;
	uint32_t i;

	if (server->run - was->execs.first >= was->execs.n)
		return -EINVAL;
	server->run += server->execs.first - was->execs.first;
	for (i = 0; i < server->execs.n; i++) {
		e[server->execs.first + i].asked +=
		    server->images.first - was->images.first;
		e[server->execs.first + i].mapped +=
		    server->images.first - was->images.first;
	}
	return 0;
}

/* Copy a range of ARGS behind what is in out. */
static int
args_move(struct sealer *s, struct sealed_range *range, struct buf *out)
{
	size_t size = sizeof(struct sealed_arg);
	uint32_t first = (uint32_t)(out->len / size);

	if ((uint64_t)range->first + range->n > sealer_rows(s, SEALED_ARGS))
		return -EINVAL;
	if (range->n > 0 && buf_put(out, s->table[SEALED_ARGS].data + range->first * size,
				range->n * size) < 0)
		return -ENOMEM;
	range->first = first;
	return 0;
}

static int
args_sort(struct sealer *s)
{
	struct sealed_secret *c = (void *)s->table[SEALED_SECRETS].data;
	struct sealed_exec *e = (void *)s->table[SEALED_EXECS].data;
	struct buf out;
	uint32_t i;
	int r = 0;

	buf_init(&out, SEALED_LEN_MAX);
	for (i = 0; i < sealer_rows(s, SEALED_SECRETS) && r == 0; i++)
		r = args_move(s, &c[i].args, &out);
	for (i = 0; i < sealer_rows(s, SEALED_EXECS) && r == 0; i++)
		if ((r = args_move(s, &e[i].args, &out)) == 0)
			r = args_move(s, &e[i].prefix, &out);
	if (r < 0) {
		buf_free(&out);
		return r;
	}
	buf_free(&s->table[SEALED_ARGS]);
	s->table[SEALED_ARGS] = out;
	return 0;
}

static int
servers_by_name(struct sealer *s)
{
	struct buf *t = &s->table[SEALED_SERVERS], out;
	struct sealed_server *server = (void *)t->data;
	uint32_t n = sealer_rows(s, SEALED_SERVERS), i;
	struct keyed *key = calloc((size_t)n + 1, sizeof(*key));
	int r = 0;

	if (key == NULL)
		return -ENOMEM;
	buf_init(&out, SEALED_LEN_MAX);
	for (i = 0; i < n; i++)
		key[i] =
		    (struct keyed){.text = sealer_text(s, server[i].name), .from = i};
	qsort(key, n, sizeof(*key), keyed_compare);
	for (i = 0; i < n && r == 0; i++)
		r = buf_put(&out, &server[key[i].from], sizeof(*server));
	free(key);
	if (r < 0) {
		buf_free(&out);
		return r;
	}
	buf_free(t);
	*t = out;
	return 0;
}

static int
sealer_sort(struct sealer *s)
{
	struct buf out[sizeof(owned) / sizeof(owned[0])];
	size_t k, owned_n = sizeof(owned) / sizeof(owned[0]), exec_k = 0;
	struct sealed_server *server, was;
	uint32_t i;
	int r;

	if (s->sorted)
		return 0;
	for (k = 0; k < owned_n; k++) {
		buf_init(&out[k], SEALED_LEN_MAX);
		exec_k = owned[k].kind == SEALED_EXECS ? k : exec_k;
	}
	r = servers_by_name(s);
	for (i = 0; i < sealer_rows(s, SEALED_SERVERS) && r == 0; i++) {
		server = sealer_at(s, SEALED_SERVERS, i);
		was = *server;
		for (k = 0; k < owned_n && r == 0; k++)
			r = part_move(s, k, server, &out[k]);
		if (r == 0)
			r = rows_follow(server, &was, &out[exec_k]);
	}
	for (k = 0; k < owned_n; k++) {
		if (r == 0) {
			buf_free(&s->table[owned[k].kind]);
			s->table[owned[k].kind] = out[k];
		} else
			buf_free(&out[k]);
	}
	s->sorted = r == 0;
	return r < 0 ? r : args_sort(s);
}

/* ---- layout ------------------------------------------------------------------ */

static int
sealer_lay(struct sealer *s, struct buf *out)
{
	struct sealed_header h = {
	    .version = SEALED_VERSION, .section_n = SEALED_KIND_END - 1};
	struct sealed_section section;
	static const uint8_t zero[SEALED_ALIGN];
	uint64_t at = sizeof(h) + (SEALED_KIND_END - 1) * sizeof(section);
	struct buf *t;
	uint32_t kind;
	int r;

	memcpy(h.magic, SEALED_MAGIC, sizeof(h.magic));
	for (kind = 1, h.body_len = at; kind < SEALED_KIND_END; kind++)
		h.body_len += ALIGN(s->table[kind].len);
	r = buf_put(out, &h, sizeof(h));
	for (kind = 1; kind < SEALED_KIND_END && r == 0; kind++) {
		t = &s->table[kind];
		section = (struct sealed_section){.kind = kind,
		    .row_n = (uint32_t)(t->len / row_size[kind]),
		    .off = at,
		    .len = t->len};
		at += ALIGN(t->len);
		r = buf_put(out, &section, sizeof(section));
	}
	for (kind = 1; kind < SEALED_KIND_END && r == 0; kind++) {
		t = &s->table[kind];
		if (t->len > 0)
			r = buf_put(out, t->data, t->len);
		if (r == 0)
			r = buf_put(out, zero, ALIGN(t->len) - t->len);
	}
	return r;
}
