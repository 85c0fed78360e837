/*
 * Reads the Merkle tree of a log from its files: the hash of any full subtree, from
 * the tiles of all segments and, right of them, from the records.
 *
 * Runs in kennel on an untrusted log. A caller that makes a proof from these hashes
 * checks the proof against a signed checkpoint before showing it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/audit/log/merkle_read.h"
#include "supervisor/audit/log/segment.h"
#include "supervisor/audit/log/schema.h"

/* ---- segments ------------------------------------------------------------------ */

static int
by_base(const void *a, const void *b)
{
	const struct logtree_segment *x = a, *y = b;

	return (x->base > y->base) - (x->base < y->base);
}

static int
add(struct logtree *t, const char *folder, const char *name)
{
	struct logtree_segment *s = &t->segment[t->segment_n];

	if (t->segment_n == LOGTREE_SEGMENTS_MAX)
		return -E2BIG;
	if ((size_t)snprintf(s->path, sizeof(s->path), "%s/%s", folder, name) >=
	    sizeof(s->path))
		return -ENAMETOOLONG;
	s->base = segment_is_name(name) ? strtoull(name + 6, NULL, 10) : UINT64_MAX;
	t->segment_n++;
	return 0;
}

/* Lists the closed files before the live one, which is already open. A file that was
 * closed since then still counts as the live one. */
static int
list(struct logtree *t, const char *folder)
{
	uint64_t live = t->segment[0].base;
	DIR *dir = opendir(folder);
	struct dirent *e;
	int r = 0;

	if (dir == NULL)
		return -errno;
	while (r == 0 && (e = readdir(dir)) != NULL) {
		if (segment_is_name(e->d_name) &&
		    strtoull(e->d_name + 6, NULL, 10) < live)
			r = add(t, folder, e->d_name);
	}
	(void)closedir(dir); /* read-only */
	qsort(t->segment, t->segment_n, sizeof(t->segment[0]), by_base);
	return r;
}

static int
open_segment(struct logtree *t, struct logtree_segment *s)
{
	int r;

	r = reader_open_log(s->path, &s->reader, t->why);
	if (r < 0)
		return r;
	s->open = true;
	if (sqlite3_prepare_v2(s->reader.db,
		"SELECT h FROM tile WHERE level = ? AND n = ?", -1, &s->tile,
		NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(s->reader.db,
		"SELECT n, root FROM tile WHERE level = ? AND n >= ? AND n < ? "
		"ORDER BY n",
		-1, &s->roots, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(s->reader.db, "SELECT body FROM rec WHERE idx = ?", -1,
		&s->rec, NULL) != SQLITE_OK)
		return reader_failed(&s->reader, t->why);
	return 0;
}

/* Reads from the live file where it begins. */
static int
live_base(struct logtree *t)
{
	struct logtree_segment *s = &t->segment[t->segment_n - 1];
	sqlite3_stmt *q = NULL;
	int r = 0, code;

	code = sqlite3_prepare_v2(s->reader.db,
	    "SELECT CAST(v AS INTEGER) FROM meta WHERE k = 'base'", -1, &q, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_step(q);
	if (code == SQLITE_ROW)
		s->base = (uint64_t)sqlite3_column_int64(q, 0);
	else
		r = code == SQLITE_DONE ? -EBADMSG : reader_failed(&s->reader, t->why);
	(void)sqlite3_finalize(q); /* the result was checked at the step */
	return r;
}

/* Finds and opens the segment that holds this record, or the last record of a tile. */
static int
segment_of(struct logtree *t, uint64_t idx, struct logtree_segment **ret)
{
	size_t i = t->segment_n;
	int r = 0;

	while (i > 0 && t->segment[i - 1].base > idx)
		i--;
	if (i == 0)
		return -ENOENT;
	if (!t->segment[i - 1].open)
		r = open_segment(t, &t->segment[i - 1]);
	if (r < 0)
		return r;
	*ret = &t->segment[i - 1];
	return 0;
}

/* ---- hashes ---------------------------------------------------------------------- */

/* The result of a step for one row: 0; -ENOENT: no row, as of a removed tile; else
 * it could not be read. */
static int
row_result(const struct logtree_segment *at, int code)
{
	if (code == SQLITE_ROW)
		return 0;
	if (reader_changed(&at->reader))
		return -EAGAIN;
	return code == SQLITE_DONE ? -ENOENT : sqlite_errno(code);
}

/* Reads a whole tile. */
static int
get_tile(struct logtree_segment *at, unsigned int level, uint64_t n, uint8_t *ret)
{
	sqlite3_stmt *s = at->tile;
	int r;

	(void)sqlite3_bind_int(s, 1, (int)level);
	(void)sqlite3_bind_int64(s, 2, (sqlite3_int64)n);
	r = row_result(at, sqlite3_step(s));
	if (r == 0 && sqlite3_column_bytes(s, 0) != (int)TILE_LEN)
		r = -EBADMSG;
	if (r == 0)
		memcpy(ret, sqlite3_column_blob(s, 0), TILE_LEN);
	(void)sqlite3_reset(s); /* the result was checked at the step */
	return r;
}

/* Reads the roots of `count` tiles, from number n on. In one query, because SQLite
 * reads whole tiles to find a single root. */
static int
get_roots(struct logtree_segment *at, unsigned int level, uint64_t n, uint64_t count,
    uint8_t *ret)
{
	sqlite3_stmt *s = at->roots;
	uint64_t i = 0, end = n + count;
	int r = 0;

	(void)sqlite3_bind_int(s, 1, (int)level);
	(void)sqlite3_bind_int64(s, 2, (sqlite3_int64)n);
	(void)sqlite3_bind_int64(s, 3, (sqlite3_int64)end);
	while (i < count && (r = row_result(at, sqlite3_step(s))) == 0) {
		if ((uint64_t)sqlite3_column_int64(s, 0) != n + i) {
			r = -ENOENT;
			break;
		}
		if (sqlite3_column_bytes(s, 1) != MERKLE_HASH_LEN) {
			r = -EBADMSG;
			break;
		}
		memcpy(ret + i * MERKLE_HASH_LEN, sqlite3_column_blob(s, 1),
		    MERKLE_HASH_LEN);
		i++;
	}
	(void)sqlite3_reset(s); /* the result was checked at each step */
	return r;
}

int
logtree_body(struct logtree *t, uint64_t idx, void *out, size_t cap, size_t *ret_len)
{
	struct logtree_segment *s = NULL;
	int len, r;

	r = segment_of(t, idx, &s);
	if (r < 0)
		return r;
	(void)sqlite3_bind_int64(s->rec, 1, (sqlite3_int64)idx);
	r = row_result(s, sqlite3_step(s->rec));
	if (r == 0) {
		len = sqlite3_column_bytes(s->rec, 0);
		r = len <= 0 || (size_t)len > cap ? -EBADMSG : 0;
		if (r == 0) {
			memcpy(out, sqlite3_column_blob(s->rec, 0), (size_t)len);
			*ret_len = (size_t)len;
		}
	}
	(void)sqlite3_reset(s->rec);
	return r;
}

static int
get_leaf(struct logtree *t, uint64_t idx, uint8_t ret[MERKLE_HASH_LEN])
{
	static uint8_t body[AUDIT_BODY_MAX];
	size_t len;
	int r;

	r = logtree_body(t, idx, body, sizeof(body), &len);
	if (r == 0)
		merkle_leaf(body, len, ret);
	return r;
}

int
logtree_tile(
    struct logtree *t, unsigned int level, uint64_t n, uint64_t width, uint8_t *ret)
{
	struct logtree_segment *s = &t->segment[t->segment_n - 1];
	int r = 0;

	/* a tile of leaves is in the file where it became full; the others are also
	 * in the live file (docs/FORMAT.audit) */
	if (level == 0 && width == TILE_WIDTH)
		r = segment_of(t, n * TILE_WIDTH + TILE_WIDTH - 1, &s);
	if (r == 0 && width == TILE_WIDTH)
		return get_tile(s, level, n, ret);
	/* a partial tile: roots of the tiles below it, or leaves */
	if (r == 0 && level > 0)
		return get_roots(s, level - 1, n * TILE_WIDTH, width, ret);
	for (uint64_t i = 0; r == 0 && i < width; i++)
		r = get_leaf(t, n * TILE_WIDTH + i, ret + i * MERKLE_HASH_LEN);
	return r;
}

/* Loads this tile as the current one; the rightmost tile has only the tree's
 * entries. */
static int
turn_to(struct logtree *t, unsigned int level, uint64_t n)
{
	uint64_t all = t->size >> (level * TILE_BITS);
	uint64_t width = all - n * TILE_WIDTH;
	int r;

	if (t->cached && t->cache_level == level && t->cache_n == n)
		return 0;
	t->cached = false;
	r = logtree_tile(t, level, n, width < TILE_WIDTH ? width : TILE_WIDTH, t->cache);
	if (r == 0) {
		t->cached = true;
		t->cache_level = level;
		t->cache_n = n;
	}
	return r;
}

static int
get(void *arg, unsigned int level, uint64_t n, uint8_t ret[MERKLE_HASH_LEN])
{
	struct logtree *t = arg;
	unsigned int up = level % TILE_BITS, k = level / TILE_BITS;
	uint64_t first = n << up, count = UINT64_C(1) << up;
	struct merkle chain = {0};
	int r;

	r = turn_to(t, k, first / TILE_WIDTH);
	if (r < 0)
		return r;
	for (uint64_t i = 0; i < count; i++)
		merkle_append(
		    &chain, t->cache + (first % TILE_WIDTH + i) * MERKLE_HASH_LEN);
	memcpy(ret, chain.edge[up], MERKLE_HASH_LEN);
	return 0;
}

struct hashes
logtree_hashes(struct logtree *t)
{
	return (struct hashes){get, t};
}

/* ---- opening ----------------------------------------------------------------------- */

/* Finds the last checkpoint, or the one with this size; checks that the log's own key
 * signed it and that it matches this tree. */
static int
find_checkpoint(struct logtree *t, uint64_t size)
{
	struct logtree_segment *s = NULL;
	uint8_t root[MERKLE_HASH_LEN] = {0};
	struct hashes h = logtree_hashes(t);
	sqlite3_stmt *q = NULL;
	struct note *note = malloc(sizeof(*note));
	int r, code;

	if (note == NULL)
		return -ENOMEM;
	if (size != 0) {
		r = segment_of(t, size - 1, &s);
		if (r < 0)
			goto out;
	} else {
		s = &t->segment[t->segment_n - 1];
	}
	code = sqlite3_prepare_v2(s->reader.db,
	    "SELECT note FROM cp WHERE size = ?1 OR ?1 = 0 ORDER BY size DESC LIMIT 1",
	    -1, &q, NULL);
	if (code == SQLITE_OK) {
		(void)sqlite3_bind_int64(q, 1, (sqlite3_int64)size);
		code = sqlite3_step(q);
	}
	r = row_result(s, code);
	if (r == 0) {
		(void)snprintf(t->note, sizeof(t->note), "%s",
		    (const char *)sqlite3_column_text(q, 0));
		r = note_parse(t->note, strlen(t->note), note);
		if (r == 0)
			r = checkpoint_parse(note->text, &t->cp);
	}
	if (r == 0) {
		t->size = t->cp.size;
		r = merkle_path_root(&h, 0, t->size, root);
	}
	if (r == 0 && memcmp(root, t->cp.root, sizeof(root)) != 0)
		r = -EBADMSG;
out:
	(void)sqlite3_finalize(q);
	free(note);
	return r;
}

int
logtree_open(const char *folder, uint64_t size, struct logtree **ret)
{
	struct logtree *t = calloc(1, sizeof(*t));
	int r;

	if (t == NULL)
		return -ENOMEM;
	r = add(t, folder, AUDIT_DB_NAME);
	if (r == 0)
		r = open_segment(t, &t->segment[0]);
	if (r == 0)
		r = live_base(t);
	if (r == 0)
		r = list(t, folder);
	if (r == 0)
		r = find_checkpoint(t, size);
	if (r < 0) {
		logtree_close(t);
		return r;
	}
	*ret = t;
	return 0;
}

void
logtree_close(struct logtree *t)
{
	if (t == NULL)
		return;
	for (size_t i = 0; i < t->segment_n; i++) {
		struct logtree_segment *s = &t->segment[i];

		(void)sqlite3_finalize(s->tile);
		(void)sqlite3_finalize(s->roots);
		(void)sqlite3_finalize(s->rec);
		if (s->open)
			reader_close(&s->reader);
	}
	free(t);
}
