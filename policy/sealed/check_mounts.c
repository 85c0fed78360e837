/*
 * The loader's check of a server's mount plan: its steps can be carried out in
 * order.  Parents come first; nothing is created below a link or a file; no
 * target occurs twice; what is hidden is hidden last.
 *
 * Targets already seen are in a hash table that is at most half full, so the
 * time is linear in the length of the plan.
 */
#include <string.h>

#include "policy/sealed/load.h"
#include "shim/base/hash.h"

#define SLOT_N (2 * SEALED_MOUNTS_MAX) /* a power of two, never more than half full */

/* Targets already seen: a slot holds a row's position in the plan, plus 1. */
struct targets {
	const struct load *l;
	const struct sealed_mount *plan;
	uint32_t mask;
	uint16_t slot[SLOT_N];
};

/* Mixes the hash, so that the low bits depend on every byte. */
static uint32_t
hash_end(uint32_t h)
{
	return h ^ (h >> 15);
}

/* The first row with this target, or NULL; *ret_slot is the slot for it. */
static const struct sealed_mount *
target_find(const struct targets *t, const char *path, uint32_t len, uint32_t hash,
    uint32_t *ret_slot)
{
	const struct sealed_mount *m;
	uint32_t i = hash & t->mask;

	for (; t->slot[i] != 0; i = (i + 1) & t->mask) {
		m = &t->plan[t->slot[i] - 1];
		if (m->target.len == len &&
		    memcmp(t->l->p.strings + m->target.off, path, len) == 0)
			return m;
	}
	*ret_slot = i;
	return NULL;
}

/* Can something be mounted below such a row? A tree has its own directories. */
static const struct {
	bool child, below;
} holds[] = {
    [MOUNT_DIR] = {true, false},
    [MOUNT_TREE] = {true, true},
    [MOUNT_TMPFS] = {true, false},
    [MOUNT_DEV] = {true, false},
    [MOUNT_ETC] = {true, false},
    [MOUNT_HIDE] = {false, false},
};

/*
 * Row i of the plan: its parent exists in the plan or is inside a tree of it,
 * and the walk from the root meets no link, file or other leaf on the way.
 */
static int
target_check(struct targets *t, struct load *l, uint32_t i, uint32_t row)
{
	const struct sealed_mount *m = &t->plan[i], *up;
	const char *s = l->p.strings + m->target.off;
	uint32_t k, h = HASH32_START, slot = 0;
	bool parent = true, tree = false;

	for (k = 0; k < m->target.len; k++) {
		if (k == 0 || s[k] != '/') {
			h = hash32_add(h, (uint8_t)s[k]);
			continue;
		}
		up = target_find(t, s, k, hash_end(h), &slot);
		parent = up != NULL && holds[up->kind].child;
		tree = (tree && up == NULL) || (parent && holds[up->kind].below);
		if (!parent && !tree)
			return load_refuse(
			    l, "server %u: mount %u has no parent", row, i);
		h = hash32_add(h, (uint8_t)s[k]);
	}
	up = target_find(t, s, m->target.len, hash_end(h), &slot);
	if (up == NULL)
		t->slot[slot] = (uint16_t)(i + 1);
	else if (m->kind != MOUNT_HIDE &&
		 (up->kind != MOUNT_DIR || m->kind == MOUNT_SYMLINK))
		return load_refuse(l, "server %u: duplicate mount %u", row, i);
	return 0;
}

int
load_plan(struct load *l, const struct sealed_server *s, uint32_t row)
{
	struct targets t;
	bool hiding = false;
	uint32_t i;
	int r;

	if (s->mounts.n > SEALED_MOUNTS_MAX)
		return load_refuse(
		    l, "server %u: more than %d mounts", row, SEALED_MOUNTS_MAX);
	t.l = l;
	t.plan = l->p.mount + s->mounts.first;
	for (t.mask = 1; t.mask < 2 * s->mounts.n; t.mask *= 2)
		;
	memset(t.slot, 0, t.mask * sizeof(t.slot[0]));
	t.mask--;
	for (i = 0; i < s->mounts.n; i++) {
		if (hiding && t.plan[i].kind != MOUNT_HIDE)
			return load_refuse(l, "server %u: mount %u after a hide", row, i);
		hiding = t.plan[i].kind == MOUNT_HIDE;
		if ((r = target_check(&t, l, i, row)) < 0)
			return r;
	}
	return 0;
}
