/*
 * Does this log continue what was kept of the log in its place?
 *
 * Process: kennel-recorder. The checkpoints are in a directory beside the log's
 * (kept_checkpoint.h), so that they remain when the log is moved away or put back from
 * a copy. A difference becomes fields of the first record of this recorder.
 * Must never: prevent a log from being written; the files are no proof, and the log's
 * own signatures do not need them.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/audit/recorder/epochs.h"
#include "supervisor/audit/recorder/own_log.h"
#include "supervisor/audit/recorder/store.h"

/* Why the log does not continue this checkpoint of its own; NULL: it does. */
static const char *
differs(struct ledger *l, uint64_t size, const struct kept *kept)
{
	static struct stored_cp stored;
	struct checkpoint cp;

	if (kept->cp.size > size)
		return "the log was longer";
	if (kept->cp.size < store_base(l->store))
		return NULL; /* it is in a closed file; kennel audit verify compares it */
	if (store_last_cp(l->store, kept->cp.size, &stored) < 0 ||
	    stored.size != kept->cp.size ||
	    kept_parse(stored.note, strlen(stored.note), &cp) < 0 ||
	    memcmp(cp.root, kept->cp.root, sizeof(cp.root)) != 0)
		return "the log had other records";
	return NULL;
}

/* The log's own last checkpoint; NULL: none. */
static const struct kept *
own_of(const struct ledger *l, const struct kept *kept, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(kept[i].cp.origin, l->origin.name) == 0 &&
		    strchr(kept[i].name, '-') == NULL)
			return &kept[i];
	return NULL;
}

/* The newest one of another log that was written after it. */
static const struct kept *
other_of(
    const struct ledger *l, const struct kept *kept, size_t n, const struct kept *own)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(kept[i].cp.origin, l->origin.name) != 0 &&
		    (own == NULL || kept[i].ts > own->ts))
			return &kept[i];
	return NULL;
}

static void
compare(struct ledger *l, uint64_t size, const struct kept *kept, size_t n,
    struct stopped *ret)
{
	const struct kept *own = own_of(l, kept, n), *other = other_of(l, kept, n, own);

	if (own != NULL && (ret->reason = differs(l, size, own)) != NULL) {
		ret->kept = *own;
	} else if (other != NULL) {
		ret->reason = "another log was in this place";
		ret->kept = *other;
	}
}

void
continues_check(struct ledger *l, uint64_t size, struct own *own, struct stopped *ret)
{
	static struct kept kept[KEPT_MAX];
	char root[BASE64_LEN(MERKLE_HASH_LEN)];
	size_t n = 0;
	int r;

	*ret = (struct stopped){0};
	if (l->kept_dir < 0) {
		complain("no directory for kept checkpoints: not compared");
		return;
	}
	r = kept_list(l->kept_dir, kept, &n);
	if (r < 0) {
		complain("unable to read the kept checkpoints%s%s: %s",
		    r == -EBADMSG ? ", " : "", r == -EBADMSG ? kept[0].name : "",
		    strerror(-r));
		ret->reason = "a kept checkpoint is damaged or unreadable";
		if (r == -EBADMSG)
			memcpy(ret->kept.name, kept[0].name, sizeof(ret->kept.name));
		own_text(own, KEY_REASON, ret->reason);
		return;
	}
	compare(l, size, kept, n, ret);
	if (ret->reason == NULL)
		return;
	base64_put(root, ret->kept.cp.root, sizeof(ret->kept.cp.root));
	own_text(own, KEY_NAME, ret->kept.cp.origin);
	own_text(own, KEY_REASON, ret->reason);
	own_number(own, KEY_SIZE, ret->kept.cp.size);
	own_text(own, KEY_ROOT, root);
	own_number(own, KEY_BEFORE, ret->kept.ts);
}

/* Would continues_keep() replace this file? */
static bool
is_own_name(const struct ledger *l, const char *name)
{
	const char *id = strrchr(l->origin.name, '/');
	size_t n = id == NULL ? 0 : strlen(id + 1);

	/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): more follows */
	return n > 0 && strncmp(name, id + 1, n) == 0 && name[n] == '.';
}

void
continues_begin(struct ledger *l, const struct stopped *stopped)
{
	int r = 0;

	/* what this log does not continue, or what is damaged, stays until a person removes it */
	if (stopped->reason != NULL && is_own_name(l, stopped->kept.name))
		r = kept_set_aside(l->kept_dir, &stopped->kept);
	if (r < 0)
		complain("unable to rename a kept checkpoint: %s", strerror(-r));
	else
		continues_keep(l);
}

void
continues_keep(struct ledger *l)
{
	int r = l->kept_dir < 0 ? 0 : kept_put(l->kept_dir, l->origin.name, l->note);

	if (r < 0)
		complain("unable to keep the checkpoint: %s", strerror(-r));
}
