/*
 * Counts rows by a key of several parts. The parts are untrusted text, so the hash
 * must not allow chosen collisions, and the table has a maximum size.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/audit/log/merkle.h"
#include "supervisor/audit/log/record.h"
#include "supervisor/audit/query/group.h"
#include "supervisor/audit/query/record.h"

#define SLOTS_FIRST 1024

struct groups {
	struct group_row **slot; /* open addressing, a power of two */
	size_t slot_n, row_n;
	struct group_row **order;
};

struct groups *
group_new(void)
{
	struct groups *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->slot_n = SLOTS_FIRST;
	t->slot = calloc(t->slot_n, sizeof(struct group_row *));
	if (t->slot == NULL) {
		free(t);
		return NULL;
	}
	return t;
}

void
group_free(struct groups *t)
{
	if (t == NULL)
		return;
	for (size_t i = 0; i < t->slot_n; i++)
		free(t->slot[i]);
	free(t->slot);
	free(t->order);
	free(t);
}

/* SHA-256 has no known collisions, and reading a record costs one SHA-256 anyway. */
static uint64_t
hash_of(const char *const part[GROUP_PARTS])
{
	static char all[GROUP_PARTS * (AUDIT_BODY_MAX + 1)];
	uint8_t digest[MERKLE_HASH_LEN];
	size_t len = 0;
	uint64_t hash;

	for (size_t i = 0; i < GROUP_PARTS; i++) {
		size_t n = strlen(part[i]) + 1;

		memcpy(all + len, part[i], n);
		len += n;
	}
	merkle_digest(all, len, digest);
	memcpy(&hash, digest, sizeof(hash));
	return hash;
}

static bool
same(const struct group_row *row, const char *const part[GROUP_PARTS])
{
	for (size_t i = 0; i < GROUP_PARTS; i++) {
		if (strcmp(row->part[i], part[i]) != 0)
			return false;
	}
	return true;
}

static struct group_row **
find(struct group_row **slot, size_t slot_n, const char *const part[GROUP_PARTS])
{
	size_t at = hash_of(part) & (slot_n - 1);

	while (slot[at] != NULL && !same(slot[at], part))
		at = (at + 1) & (slot_n - 1);
	return &slot[at];
}

static bool
grow(struct groups *t)
{
	size_t slot_n = 2 * t->slot_n;
	struct group_row **slot = calloc(slot_n, sizeof(struct group_row *));

	if (slot == NULL)
		return false;
	for (size_t i = 0; i < t->slot_n; i++) {
		if (t->slot[i] != NULL)
			*find(slot, slot_n, t->slot[i]->part) = t->slot[i];
	}
	free(t->slot);
	t->slot = slot;
	t->slot_n = slot_n;
	return true;
}

/* Allocates the row and its texts in one piece. */
static struct group_row *
new_row(const char *const part[GROUP_PARTS])
{
	struct group_row *row;
	size_t len = 0;
	char *at;

	for (size_t i = 0; i < GROUP_PARTS; i++)
		len += strlen(part[i]) + 1;
	row = calloc(1, sizeof(*row) + len);
	if (row == NULL)
		return NULL;
	at = (char *)(row + 1);
	for (size_t i = 0; i < GROUP_PARTS; i++) {
		size_t n = strlen(part[i]) + 1;

		memcpy(at, part[i], n);
		row->part[i] = at;
		at += n;
	}
	return row;
}

struct group_row *
group_at(struct groups *t, const char *const *part, size_t part_n)
{
	const char *key[GROUP_PARTS];
	struct group_row **slot;

	for (size_t i = 0; i < GROUP_PARTS; i++) {
		key[i] = i < part_n && part[i] != NULL ? part[i] : "";
		if (strlen(key[i]) > AUDIT_BODY_MAX)
			return NULL;
	}
	slot = find(t->slot, t->slot_n, key);
	if (*slot != NULL)
		return *slot;
	if (t->row_n >= GROUP_MAX)
		return NULL;
	if (2 * (t->row_n + 1) > t->slot_n) {
		if (!grow(t))
			return NULL;
		slot = find(t->slot, t->slot_n, key);
	}
	*slot = new_row(key);
	t->row_n += *slot != NULL;
	return *slot;
}

struct group_row *
group_count(struct groups *t, const struct log_record *record, const char *const *part,
    size_t part_n)
{
	struct group_row *row = group_at(t, part, part_n);

	if (row == NULL)
		return NULL;
	if (row->n++ == 0) {
		row->first_ts = row->last_ts = record->ts;
		row->first_idx = row->last_idx = record->idx;
	}
	if (record->ts < row->first_ts)
		row->first_ts = record->ts;
	if (record->ts > row->last_ts)
		row->last_ts = record->ts;
	if (record->idx < row->first_idx)
		row->first_idx = record->idx;
	if (record->idx > row->last_idx)
		row->last_idx = record->idx;
	return row;
}

size_t
group_rows(const struct groups *t)
{
	return t->row_n;
}

/* ---- order ---------------------------------------------------------------------- */

static int
by_number(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

int
group_by_name(const struct group_row *a, const struct group_row *b)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < GROUP_PARTS; i++)
		r = strcmp(a->part[i], b->part[i]);
	return r;
}

int
group_by_count(const struct group_row *a, const struct group_row *b)
{
	return by_number(b->n, a->n);
}

int
group_by_first(const struct group_row *a, const struct group_row *b)
{
	return by_number(a->first_idx, b->first_idx);
}

static int
compare(const void *a, const void *b, void *arg)
{
	const struct group_row *x = *(struct group_row *const *)a;
	const struct group_row *y = *(struct group_row *const *)b;
	group_order **order = arg;
	int r = (*order)(x, y);

	return r != 0 ? r : group_by_name(x, y);
}

struct group_row *const *
group_sorted(struct groups *t, group_order *order)
{
	size_t n = 0;

	free(t->order);
	t->order = calloc(t->row_n + 1, sizeof(struct group_row *));
	if (t->order == NULL)
		return NULL;
	for (size_t i = 0; i < t->slot_n; i++) {
		if (t->slot[i] != NULL)
			t->order[n++] = t->slot[i];
	}
	qsort_r(t->order, n, sizeof(struct group_row *), compare, (void *)&order);
	return t->order;
}
