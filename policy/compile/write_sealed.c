/*
 * The sealer: rows in, bytes out; equal rows give equal bytes.
 *
 * The rows of servers come in any order.  sealer_finish sorts the servers by
 * name, gives each its part of every table, and lays out the file as the loader
 * requires.  Finally the loader checks the result.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/compile/write_sealed.h"
#include "policy/sealed/load.h"
#include "policy/sealed/row_index.h"
#include "shim/base/hash.h"

#define ALIGN(n) (((n) + SEALED_ALIGN - 1) / SEALED_ALIGN * SEALED_ALIGN)

struct sealer {
	struct buf table[SEALED_KIND_END];
	uint32_t *slot; /* strings: offset in the pool plus 1; 0: free */
	size_t slot_n;  /* a power of two */
	size_t str_n;
	struct memo {
		char *key;
		struct sealed_range range;
	} * memo; /* entries for sealer_recall */
	size_t memo_n;
	struct buf sources; /* source_list_put */
	bool sorted;
	int error;
	char why[200]; /* the loader's reason */
};

static int sealer_sort(struct sealer *);
static int pool_sort(struct sealer *);
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
	buf_init(&s->sources, SEALED_LEN_MAX);
	s->slot_n = 1024;
	s->slot = calloc(s->slot_n, sizeof(*s->slot));
	/* The empty string is the first, so that a zeroed ref is valid. */
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
	buf_free(&s->sources);
	while (s->memo_n > 0)
		free(s->memo[--s->memo_n].key);
	free(s->memo);
	free(s->slot);
	free(s);
}

bool
sealer_recall(const struct sealer *s, const char *key, struct sealed_range *ret)
{
	for (size_t i = 0; i < s->memo_n; i++)
		if (strcmp(s->memo[i].key, key) == 0) {
			*ret = s->memo[i].range;
			return true;
		}
	return false;
}

int
sealer_remember(struct sealer *s, const char *key, struct sealed_range range)
{
	struct memo *more = reallocarray(s->memo, s->memo_n + 1, sizeof(*more));

	if (more == NULL)
		return -ENOMEM;
	s->memo = more;
	if ((more[s->memo_n].key = strdup(key)) == NULL)
		return -ENOMEM;
	more[s->memo_n++].range = range;
	return 0;
}

/* The slot of this text, or the free slot for it. */
static uint32_t *
slot_find(struct sealer *s, const char *text, size_t len)
{
	const char *pool = (const char *)s->table[SEALED_STRINGS].data;
	size_t i = hash32(text, len) & (s->slot_n - 1);

	/* Pool strings end in NUL, and texts contain none. */
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
	if (size != field_kind[kind].size || kind == SEALED_STRINGS)
		s->error = -EINVAL;
	else
		s->error = buf_put(&s->table[kind], row, size);
	return i;
}

uint32_t
sealer_rows(const struct sealer *s, enum sealed_kind kind)
{
	return (uint32_t)(s->table[kind].len / field_kind[kind].size);
}

void *
sealer_at(struct sealer *s, enum sealed_kind kind, uint32_t i)
{
	if (i >= sealer_rows(s, kind))
		return NULL;
	return s->table[kind].data + (size_t)i * field_kind[kind].size;
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

struct buf *
sealer_sources(struct sealer *s)
{
	return &s->sources;
}

const char *
sealer_why(const struct sealer *s)
{
	return s->why;
}

/* ---- sorting ------------------------------------------------------------- */

/* Sort keys of rows of one kind; qsort has no context, so each has it. */
struct keyed {
	const struct sealer *s;
	const uint8_t *row;
	uint32_t kind;
	uint32_t from; /* keeps the order on ties */
};

static uint32_t
number_at(const uint8_t *row, size_t at)
{
	uint32_t v;

	memcpy(&v, row + at, sizeof(v));
	return v;
}

static int
keyed_compare(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;
	const struct sealed_order *o;
	uint32_t v, w;
	int c;

	for (o = sealed_orders; o->kind < SEALED_KIND_END; o++) {
		if (o->kind != x->kind)
			continue;
		v = number_at(x->row, o->at);
		w = number_at(y->row, o->at);
		c = (v > w) - (v < w);
		if (o->text)
			c = strcmp(sealer_text(x->s, (struct sealed_ref){v, 0}),
			    sealer_text(y->s, (struct sealed_ref){w, 0}));
		if (c != 0)
			return c;
	}
	return (x->from > y->from) - (x->from < y->from);
}

/* The rows of this range in order; the caller frees it. */
static struct keyed *
keys_make(const struct sealer *s, uint32_t kind, struct sealed_range range)
{
	struct keyed *key = calloc((size_t)range.n + 1, sizeof(*key));
	uint32_t i;

	for (i = 0; key != NULL && i < range.n; i++)
		key[i] = (struct keyed){.s = s,
		    .row = s->table[kind].data +
			   (size_t)(range.first + i) * field_kind[kind].size,
		    .kind = kind,
		    .from = range.first + i};
	if (key != NULL)
		qsort(key, range.n, sizeof(*key), keyed_compare);
	return key;
}

/*
 * Moves all rows to their final places: server by server, kind by kind.  The
 * rows that a row has in other tables move after it.
 */
struct move {
	struct sealer *s;
	struct buf out[SEALED_KIND_END];
	uint32_t *to[SEALED_KIND_END];   /* old row to new, for referenced kinds */
	uint32_t start[SEALED_KIND_END]; /* where the server's part begins */
};

static uint32_t
out_rows(const struct move *m, uint32_t kind)
{
	return (uint32_t)(m->out[kind].len / field_kind[kind].size);
}

/* Appends the server's own rows of this kind. */
static int
part_move(struct move *m, uint32_t kind, struct sealed_range range)
{
	size_t size = field_kind[kind].size;
	struct keyed *key;
	uint32_t i;
	int r = 0;

	if (range.n > 0 &&
	    (uint64_t)range.first + range.n > sealer_rows(m->s, (enum sealed_kind)kind))
		return -EINVAL;
	if ((key = keys_make(m->s, kind, range)) == NULL)
		return -ENOMEM;
	for (i = 0; i < range.n && r == 0; i++) {
		m->to[kind][key[i].from] = out_rows(m, kind);
		r = buf_put(&m->out[kind], key[i].row, size);
	}
	free(key);
	return r;
}

/* Moves rows in other tables that the new rows of this kind refer to. */
static int
ranges_follow(struct move *m, uint32_t kind)
{
	const struct sealed_field *f;
	struct sealed_range range;
	size_t size = field_kind[kind].size, sub;
	uint32_t i;
	int r = 0;

	for (i = m->start[kind]; i < out_rows(m, kind) && r == 0; i++)
		for (f = fields_of(kind); f->kind == kind && r == 0; f++) {
			if (f->is != FIELD_RANGE)
				continue;
			memcpy(
			    &range, m->out[kind].data + i * size + f->at, sizeof(range));
			sub = field_kind[f->lo].size;
			if ((uint64_t)range.first + range.n >
			    sealer_rows(m->s, (enum sealed_kind)f->lo))
				return -EINVAL;
			if (range.n > 0)
				r = buf_put(&m->out[f->lo],
				    m->s->table[f->lo].data + range.first * sub,
				    range.n * sub);
			range.first = out_rows(m, f->lo) - range.n;
			memcpy(
			    m->out[kind].data + i * size + f->at, &range, sizeof(range));
		}
	return r;
}

/* Updates a field that contains a row number. */
static int
row_follows(struct move *m, const struct sealed_field *f, uint8_t *row)
{
	uint32_t v = number_at(row, f->at);

	if (f->is != FIELD_ROW && (f->is != FIELD_MAY_ROW || v == SEALED_NONE))
		return 0;
	if (v >= sealer_rows(m->s, (enum sealed_kind)f->lo))
		return -EINVAL;
	memcpy(row + f->at, &m->to[f->lo][v], sizeof(v));
	return 0;
}

static int
rows_follow(struct move *m, uint32_t kind)
{
	const struct sealed_field *f;
	uint32_t i;
	int r = 0;

	for (i = m->start[kind]; i < out_rows(m, kind) && r == 0; i++)
		for (f = fields_of(kind); f->kind == kind && r == 0; f++)
			r = row_follows(
			    m, f, m->out[kind].data + (size_t)i * field_kind[kind].size);
	return r;
}

/* A child's kind is not below its parent's; except ARGS: it has no children. */
static int
server_move(struct move *m, struct sealed_server *server)
{
	const struct sealed_field *f, *first = fields_of(SEALED_SERVERS);
	struct sealed_range range;
	uint32_t kind;
	int r = 0;

	for (kind = 1; kind < SEALED_KIND_END; kind++)
		m->start[kind] = out_rows(m, kind);
	for (kind = SEALED_SERVERS + 1; kind < SEALED_KIND_END && r == 0; kind++)
		for (f = first; f->kind == SEALED_SERVERS && r == 0; f++) {
			if (f->is != FIELD_RANGE || f->lo != kind || kind == SEALED_SLOTS)
				continue;
			memcpy(&range, (char *)server + f->at, sizeof(range));
			if (!field_kind[kind].divided)
				r = part_move(m, kind, range);
			if (r == 0)
				r = ranges_follow(m, kind);
		}
	for (kind = SEALED_SERVERS + 1; kind < SEALED_KIND_END && r == 0; kind++)
		r = rows_follow(m, kind);
	for (f = first; f->kind == SEALED_SERVERS && r == 0; f++) {
		r = row_follows(m, f, (uint8_t *)server);
		if (f->is != FIELD_RANGE)
			continue;
		range = (struct sealed_range){
		    m->start[f->lo], out_rows(m, f->lo) - m->start[f->lo]};
		memcpy((char *)server + f->at, &range, sizeof(range));
	}
	return r;
}

/* Moves servers and their rows, but not files and filters. */
static int
servers_move(struct move *m)
{
	const uint32_t n = sealer_rows(m->s, SEALED_SERVERS);
	struct sealed_server server;
	struct keyed *key = keys_make(m->s, SEALED_SERVERS, (struct sealed_range){0, n});
	uint32_t i;
	int r = 0;

	if (key == NULL)
		return -ENOMEM;
	for (i = 0; i < n && r == 0; i++) {
		memcpy(&server, key[i].row, sizeof(server));
		if ((r = server_move(m, &server)) == 0)
			r = buf_put(&m->out[SEALED_SERVERS], &server, sizeof(server));
	}
	free(key);
	return r;
}

static int
sealer_sort(struct sealer *s)
{
	static const bool common[SEALED_KIND_END] = {[SEALED_STRINGS] = true,
	    [SEALED_FILES] = true,
	    [SEALED_FILTERS] = true,
	    [SEALED_INSNS] = true,
	    [SEALED_SYSCALLS] = true,
	    [SEALED_COMPARES] = true};
	struct move m = {.s = s};
	uint32_t kind;
	int r = 0;

	if (s->sorted)
		return 0;
	for (kind = 1; kind < SEALED_KIND_END; kind++) {
		buf_init(&m.out[kind], SEALED_LEN_MAX);
		m.to[kind] = calloc(
		    (size_t)sealer_rows(s, (enum sealed_kind)kind) + 1, sizeof(uint32_t));
		r = m.to[kind] == NULL ? -ENOMEM : r;
	}
	if (r == 0)
		r = servers_move(&m);
	for (kind = 1; kind < SEALED_KIND_END; kind++) {
		free(m.to[kind]);
		if (r == 0 && !common[kind]) {
			buf_free(&s->table[kind]);
			s->table[kind] = m.out[kind];
		} else
			buf_free(&m.out[kind]);
	}
	s->sorted = r == 0;
	if (r == 0)
		r = pool_sort(s);
	return r == 0 ? index_make(s->table) : r;
}

/* Calls back for every reference of every row. */
static void
refs_walk(struct sealer *s, void (*see)(struct sealed_ref *, uint32_t *), uint32_t *arg)
{
	const struct sealed_field *f;
	struct sealed_ref ref;
	uint32_t kind;
	size_t at;

	for (kind = 1; kind < SEALED_KIND_END; kind++)
		for (f = fields_of(kind); f->kind == kind; f++) {
			if (f->is > FIELD_REFS_END)
				continue;
			for (at = f->at; at < s->table[kind].len;
			     at += field_kind[kind].size) {
				memcpy(&ref, s->table[kind].data + at, sizeof(ref));
				see(&ref, arg);
				memcpy(s->table[kind].data + at, &ref, sizeof(ref));
			}
		}
}

static void
ref_mark(struct sealed_ref *ref, uint32_t *used)
{
	used[ref->off] = 1;
}
static void
ref_follow(struct sealed_ref *ref, uint32_t *to)
{
	ref->off = to[ref->off];
}

static int
text_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Keeps only strings that a row refers to, sorted by bytes. */
static int
pool_sort(struct sealer *s)
{
	struct buf *pool = &s->table[SEALED_STRINGS], out;
	const char **text = calloc(s->str_n + 1, sizeof(*text));
	uint32_t *to = calloc(pool->len, sizeof(*to));
	size_t n = 0, i;
	int r = 0;

	buf_init(&out, SEALED_LEN_MAX);
	if (text == NULL || to == NULL) {
		r = -ENOMEM;
		goto out;
	}
	refs_walk(s, ref_mark, to);
	to[0] = 1; /* the empty string */
	for (i = 0; i < pool->len; i++)
		if (to[i] != 0)
			text[n++] = (const char *)pool->data + i;
	qsort(text, n, sizeof(*text), text_compare);
	for (i = 0; i < n && r == 0; i++) {
		to[text[i] - (const char *)pool->data] = (uint32_t)out.len;
		r = buf_put(&out, text[i], strlen(text[i]) + 1);
	}
	if (r < 0)
		goto out;
	refs_walk(s, ref_follow, to);
	buf_free(pool);
	*pool = out;
	buf_init(&out, 1);
out:
	buf_free(&out);
	free(text);
	free(to);
	return r;
}

/* ---- layout ------------------------------------------------------------------ */

static int
sealer_lay(struct sealer *s, struct buf *out)
{
	struct sealed_header h = {
	    .version = SEALED_VERSION, .section_n = SEALED_KIND_END - 1};
	struct sealed_section section;
	static const uint8_t zero[SEALED_ALIGN];
	uint8_t digest[SEALED_DIGEST];
	uint64_t at = sizeof(h) + (SEALED_KIND_END - 1) * sizeof(section);
	struct buf *t;
	uint32_t kind;
	int r;

	memcpy(h.magic, SEALED_MAGIC, sizeof(h.magic));
	for (kind = 1, h.body_len = at + SEALED_DIGEST; kind < SEALED_KIND_END; kind++)
		h.body_len += ALIGN(s->table[kind].len);
	r = buf_put(out, &h, sizeof(h));
	for (kind = 1; kind < SEALED_KIND_END && r == 0; kind++) {
		t = &s->table[kind];
		section = (struct sealed_section){.kind = kind,
		    .row_n = (uint32_t)(t->len / field_kind[kind].size),
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
	if (r == 0)
		policy_digest(out->data, out->len, digest);
	return r == 0 ? buf_put(out, digest, sizeof(digest)) : r;
}
