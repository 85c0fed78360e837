/*
 * The vault file and its form in memory: parses and writes it.
 *
 * Process: the keeper.  Other processes of the same user can write the file:
 * nothing in it is trusted before the commitment has been verified with the key.
 * This file uses no key.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leash/vault_file/private.h"

struct file_reader {
	struct vault_file *c;
	struct wire_in in;
	struct reason *why;
};

const char *
vault_file_opener_name(enum vault_file_opener kind)
{
	static const char *const name[] = {
	    [OPENER_PASSPHRASE] = "passphrase",
	    [OPENER_KEY_FILE] = "key file",
	    [OPENER_RECOVERY] = "recovery phrase",
	};

	return kind >= OPENER_PASSPHRASE && kind <= OPENER_RECOVERY ? name[kind] : "?";
}

/* ---- order ------------------------------------------------------------------- */

static int
entry_order(const struct vault_entry *e, const char *path, uint32_t version)
{
	int order = strcmp(e->said.path, path);

	if (order != 0)
		return order;
	return e->said.version < version ? -1 : e->said.version > version;
}

size_t
entry_place(const struct vault_file *c, const char *path, uint32_t version)
{
	size_t low = 0, high = c->entry_n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (entry_order(&c->entry[mid], path, version) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

struct vault_entry *
entry_current(const struct vault_file *c, const char *path)
{
	size_t after = entry_place(c, path, UINT32_MAX);

	/* the last version of a path is the current one, and no other is */
	if (after == 0 || strcmp(c->entry[after - 1].said.path, path) != 0)
		return NULL;
	return &c->entry[after - 1];
}

bool
vault_file_path_good(const char *path)
{
	return secret_path_good(path) || strcmp(path, SECRET_PATH_KEYS) == 0;
}

int
grant_order(const struct vault_file_grant *a, const struct vault_file_grant *b)
{
	int order = strcmp(a->path, b->path);

	if (order == 0)
		order = strcmp(a->server, b->server);
	if (order == 0)
		order = (int)a->whose - (int)b->whose;
	return order != 0 ? order : memcmp(a->id, b->id, sizeof(a->id));
}

/* ---- parsing ------------------------------------------------------------------- */

static void
get_raw(struct wire_in *in, void *to, size_t len)
{
	if (in->error == 0 && len > in->len - in->off)
		in->error = -EBADMSG;
	if (in->error != 0)
		return;
	memcpy(to, in->data + in->off, len);
	in->off += len;
}

static int
read_header(struct file_reader *r, uint32_t count[3])
{
	struct wire_in *in = &r->in;
	char magic[8];
	uint32_t version;

	if (in->len < HEADER_LEN + COMMIT_LEN)
		return reason_set(r->why, -EBADMSG, "it is too short");
	get_raw(in, magic, sizeof(magic));
	if (memcmp(magic, FILE_MAGIC, sizeof(magic)) != 0)
		return reason_set(r->why, -EBADMSG, "it is not a vault file");
	version = wire_get_u32(in);
	if (version != FILE_VERSION)
		return reason_set(r->why, -EBADMSG, "unknown format version %u", version);
	for (int i = 0; i < 3; i++)
		count[i] = wire_get_u32(in);
	if (count[0] < 1 || count[0] > OPENERS || count[1] > VAULT_FILE_ENTRIES_MAX ||
	    count[2] > VAULT_FILE_GRANTS_MAX)
		return reason_set(r->why, -EBADMSG, "its counts are out of bounds");
	r->c->generation = wire_get_u64(in);
	if (wire_get_u64(in) != in->len)
		return reason_set(
		    r->why, -EBADMSG, "its length does not match its header");
	r->c->written = wire_get_u64(in);
	get_raw(in, r->c->id, sizeof(r->c->id));
	if (r->c->generation == 0 || r->c->written > DATE_MAX)
		return reason_set(r->why, -EBADMSG, "its header is out of bounds");
	return 0;
}

static int
read_envelope(struct file_reader *r, size_t i)
{
	struct envelope *e = &r->c->envelope[i];

	e->kind = wire_get_u32(&r->in);
	e->passes = wire_get_u32(&r->in);
	e->kib = wire_get_u32(&r->in);
	if (wire_get_u32(&r->in) != 0)
		return reason_set(
		    r->why, -EBADMSG, "envelope %zu: a reserved field is not 0", i + 1);
	get_raw(&r->in, e->salt, sizeof(e->salt));
	get_raw(&r->in, e->nonce, sizeof(e->nonce));
	get_raw(&r->in, e->sealed, sizeof(e->sealed));
	if (e->kind < OPENER_PASSPHRASE || e->kind > OPENER_RECOVERY ||
	    (i > 0 && e->kind <= e[-1].kind))
		return reason_set(r->why, -EBADMSG, "envelope %zu: out of order", i + 1);
	/* before anything of this size is allocated */
	if (e->passes < 1 || e->passes > VAULT_FILE_PASSES_MAX ||
	    e->kib < VAULT_FILE_KIB_MIN || e->kib > VAULT_FILE_KIB_MAX ||
	    (uint64_t)e->passes * e->kib > VAULT_FILE_KIB_ALL_MAX)
		return reason_set(r->why, -EBADMSG,
		    "envelope %zu: its key derivation cost exceeds the limit", i + 1);
	r->c->envelope_n = i + 1;
	return 0;
}

/* Does e directly follow the entry before it? */
static bool
entry_follows(const struct vault_entry *e, const struct vault_entry *before)
{
	int order =
	    before == NULL ? -1 : entry_order(before, e->said.path, e->said.version);

	if (order >= 0)
		return false;
	if (before == NULL || strcmp(before->said.path, e->said.path) != 0)
		return before == NULL || before->said.retired == 0;
	return before->said.retired != 0;
}

static int
read_entry(struct file_reader *r, size_t i)
{
	struct vault_entry *e = &r->c->entry[i];
	const char *path = wire_get_str(&r->in, VAULT_PATH_MAX);

	e->said.version = wire_get_u32(&r->in);
	e->said.len = wire_get_u32(&r->in);
	e->said.made = wire_get_u64(&r->in);
	e->said.retired = wire_get_u64(&r->in);
	get_raw(&r->in, e->nonce, sizeof(e->nonce));
	get_raw(&r->in, e->tag, sizeof(e->tag));
	if (r->in.error != 0 || !vault_file_path_good(path) || e->said.version == 0 ||
	    e->said.version == UINT32_MAX || e->said.len == 0 ||
	    e->said.len > VAULT_VALUE_MAX || e->said.made > DATE_MAX ||
	    e->said.retired > DATE_MAX)
		return reason_set(
		    r->why, -EBADMSG, "value %zu: its index row is out of bounds", i + 1);
	e->said.path = strdup(path);
	if (e->said.path == NULL)
		return -ENOMEM;
	r->c->entry_n = i + 1;
	if (!entry_follows(e, i > 0 ? e - 1 : NULL))
		return reason_set(r->why, -EBADMSG, "value %zu: out of order", i + 1);
	return 0;
}

static int
read_grant(struct file_reader *r, size_t i)
{
	struct vault_file_grant *g = &r->c->grant[i];
	const char *path = wire_get_str(&r->in, VAULT_PATH_MAX);
	const char *server = wire_get_str(&r->in, VAULT_FILE_SERVER_MAX);

	g->whose = wire_get_u32(&r->in);
	get_raw(&r->in, g->id, sizeof(g->id));
	g->made = wire_get_u64(&r->in);
	if (r->in.error != 0 || !secret_path_good(path) || server[0] == '\0' ||
	    (g->whose != GRANT_POLICY && g->whose != GRANT_SIGNER) || g->made > DATE_MAX)
		return reason_set(
		    r->why, -EBADMSG, "grant %zu: its row is out of bounds", i + 1);
	g->path = strdup(path);
	g->server = strdup(server);
	r->c->grant_n = i + 1;
	if (g->path == NULL || g->server == NULL)
		return -ENOMEM;
	if (i > 0 && grant_order(g - 1, g) >= 0)
		return reason_set(r->why, -EBADMSG, "grant %zu: out of order", i + 1);
	return 0;
}

#define SHORT "the length of its values does not match its index"

static int
read_values(struct file_reader *r)
{
	get_raw(&r->in, r->c->commitment, COMMIT_LEN);
	for (size_t i = 0; i < r->c->entry_n && r->in.error == 0; i++) {
		struct vault_entry *e = &r->c->entry[i];

		if (e->said.len > r->in.len - r->in.off)
			return reason_set(r->why, -EBADMSG, SHORT);
		e->sealed = malloc(e->said.len);
		if (e->sealed == NULL)
			return -ENOMEM;
		get_raw(&r->in, e->sealed, e->said.len);
	}
	if (wire_end(&r->in) < 0)
		return reason_set(r->why, -EBADMSG, SHORT);
	/* the newest version of the last path must also be current */
	if (r->c->entry_n > 0 && r->c->entry[r->c->entry_n - 1].said.retired != 0)
		return reason_set(r->why, -EBADMSG, "its last path has no value");
	return 0;
}

int
vault_file_make(struct vault *pages, struct vault_file **ret)
{
	struct vault_file *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return -ENOMEM;
	c->pages = pages;
	c->entry = calloc(VAULT_FILE_ENTRIES_MAX, sizeof(*c->entry));
	c->grant = calloc(VAULT_FILE_GRANTS_MAX, sizeof(*c->grant));
	c->keys = vault_scratch(pages, sizeof(*c->keys));
	c->passes = VAULT_FILE_PASSES;
	c->kib = VAULT_FILE_KIB;
	if (c->entry == NULL || c->grant == NULL || c->keys == NULL) {
		vault_file_free(c);
		return -ENOMEM;
	}
	*ret = c;
	return 0;
}

int
vault_file_parse(struct vault *pages, const uint8_t *bytes, size_t len,
    struct vault_file **ret, struct reason *why)
{
	struct file_reader r = {.why = why};
	uint32_t count[3] = {0};
	int e;

	if (len > VAULT_FILE_LEN_MAX)
		return reason_set(
		    why, -EBADMSG, "it exceeds the maximum size of a vault");
	e = vault_file_make(pages, &r.c);
	if (e < 0)
		return e;
	wire_in_init(&r.in, bytes, len);
	e = read_header(&r, count);
	for (size_t i = 0; e == 0 && i < count[0]; i++)
		e = read_envelope(&r, i);
	for (size_t i = 0; e == 0 && i < count[1]; i++)
		e = read_entry(&r, i);
	for (size_t i = 0; e == 0 && i < count[2]; i++)
		e = read_grant(&r, i);
	if (e == 0)
		e = read_values(&r);
	if (e < 0) {
		vault_file_free(r.c);
		return e;
	}
	*ret = r.c;
	return 0;
}

void
vault_file_free(struct vault_file *c)
{
	if (c == NULL)
		return;
	if (c->keys != NULL)
		vault_scratch_end(c->pages, c->keys, sizeof(*c->keys));
	for (size_t i = 0; i < c->entry_n; i++) {
		free((char *)c->entry[i].said.path);
		free(c->entry[i].sealed);
	}
	for (size_t i = 0; i < c->grant_n; i++) {
		free((char *)c->grant[i].path);
		free((char *)c->grant[i].server);
	}
	free(c->entry);
	free(c->grant);
	free(c);
}

/* ---- writing ------------------------------------------------------------------- */

static void
put_raw(struct wire_out *out, const void *bytes, size_t len)
{
	if (out->error == 0 && len > out->cap - out->len)
		out->error = -EMSGSIZE;
	if (out->error != 0)
		return;
	memcpy(out->data + out->len, bytes, len);
	out->len += len;
}

static void
put_envelope(struct wire_out *out, const struct envelope *e)
{
	wire_put_u32(out, e->kind);
	wire_put_u32(out, e->passes);
	wire_put_u32(out, e->kib);
	wire_put_u32(out, 0);
	put_raw(out, e->salt, sizeof(e->salt));
	put_raw(out, e->nonce, sizeof(e->nonce));
	put_raw(out, e->sealed, sizeof(e->sealed));
}

static void
put_entry(struct wire_out *out, const struct vault_entry *e)
{
	wire_put_str(out, e->said.path);
	wire_put_u32(out, e->said.version);
	wire_put_u32(out, e->said.len);
	wire_put_u64(out, e->said.made);
	wire_put_u64(out, e->said.retired);
	put_raw(out, e->nonce, sizeof(e->nonce));
	put_raw(out, e->tag, sizeof(e->tag));
}

static void
put_grant(struct wire_out *out, const struct vault_file_grant *g)
{
	wire_put_str(out, g->path);
	wire_put_str(out, g->server);
	wire_put_u32(out, g->whose);
	put_raw(out, g->id, sizeof(g->id));
	wire_put_u64(out, g->made);
}

/* Upper bound for the size of the front: all paths and names at their limits. */
static size_t
front_room(const struct vault_file *c)
{
	return HEADER_LEN + c->envelope_n * ENVELOPE_LEN +
	       c->entry_n * (VAULT_PATH_MAX + 80) +
	       c->grant_n * (VAULT_PATH_MAX + VAULT_FILE_SERVER_MAX + 80);
}

int
vault_file_front(const struct vault_file *c, uint8_t **ret, size_t *ret_len)
{
	size_t cap = front_room(c), values = 0, end;
	uint8_t *memory = malloc(cap);
	struct wire_out out;

	if (memory == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < c->entry_n; i++)
		values += c->entry[i].said.len;
	wire_out_init(&out, memory, cap);
	put_raw(&out, FILE_MAGIC, 8);
	wire_put_u32(&out, FILE_VERSION);
	wire_put_u32(&out, (uint32_t)c->envelope_n);
	wire_put_u32(&out, (uint32_t)c->entry_n);
	wire_put_u32(&out, (uint32_t)c->grant_n);
	wire_put_u64(&out, c->generation);
	wire_put_u64(&out, 0); /* the length: set below */
	wire_put_u64(&out, c->written);
	put_raw(&out, c->id, sizeof(c->id));
	for (size_t i = 0; i < c->envelope_n; i++)
		put_envelope(&out, &c->envelope[i]);
	for (size_t i = 0; i < c->entry_n; i++)
		put_entry(&out, &c->entry[i]);
	for (size_t i = 0; i < c->grant_n; i++)
		put_grant(&out, &c->grant[i]);
	end = out.len;
	out.len = 32;
	wire_put_u64(&out, end + COMMIT_LEN + values);
	if (out.error != 0) {
		free(memory);
		return out.error;
	}
	*ret = memory;
	*ret_len = end;
	return 0;
}

int
vault_file_again(const struct vault_file *c, uint8_t **ret, size_t *ret_len)
{
	uint8_t *front = NULL, *all;
	size_t len = 0, at;
	int r = vault_file_front(c, &front, &len);

	if (r < 0)
		return r;
	at = len + COMMIT_LEN;
	for (size_t i = 0; i < c->entry_n; i++)
		at += c->entry[i].said.len;
	all = at <= VAULT_FILE_LEN_MAX ? realloc(front, at) : NULL;
	if (all == NULL) {
		free(front);
		return at <= VAULT_FILE_LEN_MAX ? -ENOMEM : -EFBIG;
	}
	memcpy(all + len, c->commitment, COMMIT_LEN);
	*ret_len = at;
	at = len + COMMIT_LEN;
	for (size_t i = 0; i < c->entry_n; i++) {
		memcpy(all + at, c->entry[i].sealed, c->entry[i].said.len);
		at += c->entry[i].said.len;
	}
	*ret = all;
	return 0;
}
