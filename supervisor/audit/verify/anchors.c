/*
 * Checks against knowledge from outside the log: checkpoints kept elsewhere, and how
 * old its last record may be.
 *
 * A log truncated to an earlier, genuine end looks like one that ended there. Only a
 * party that saw more, or expects the log to be running, can detect that.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/loop.h"
#include "supervisor/audit/verify/verify.h"

int
anchor_read(const char *path, struct note *note, char text[NOTE_MAX], struct anchor *ret)
{
	struct anchor anchor = {.file = path};
	size_t len = 0;
	ssize_t n;
	int fd, r;

	fd = open(path, O_RDONLY | O_CLOEXEC); /* early: openat */
	if (fd < 0)
		return -errno;
	do {
		n = read(fd, text + len, NOTE_MAX - len); /* early: read */
		len += n > 0 ? (size_t)n : 0;
	} while (n > 0 && len < NOTE_MAX);
	fd_close(&fd);
	if (n != 0)
		return n < 0 ? -EIO : -EFBIG;
	r = note_parse(text, len, note);
	if (r == 0)
		r = checkpoint_parse(note->text, &anchor.cp);
	if (r == 0)
		*ret = anchor;
	return r;
}

int
anchors_kept(
    const char *path, struct anchor *anchor, size_t cap, size_t *n, const char **ret_bad)
{
	static struct kept kept[KEPT_MAX];
	size_t kept_n = 0;
	int r, dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* early: openat */

	*ret_bad = "";
	if (dir < 0)
		return errno == ENOENT ? 0 : -errno;
	r = kept_list(dir, kept, &kept_n);
	fd_close(&dir);
	if (r == -EBADMSG)
		*ret_bad = kept[0].name;
	if (r < 0)
		return r;
	if (*n + kept_n > cap)
		return -E2BIG;
	for (size_t i = 0; i < kept_n; i++)
		anchor[(*n)++] = (struct anchor){
		    .cp = kept[i].cp, .kept = &kept[i], .file = kept[i].name};
	return 0;
}

/* A checkpoint that a recorder kept of the log in this place. */
static int
check_kept(
    const struct order_walk *walk, const struct anchor *a, struct verify_answer *answer)
{
	char text[KEPT_TEXT_MAX];

	if (strcmp(a->cp.origin, walk->origin) != 0)
		return found(answer, INCOMPLETE,
		    "another log was in this place: %s; it was moved away or replaced; "
		    "keep it, and remove that file to accept this log",
		    kept_text(a->kept, text));
	if (a->cp.size > walk->tree.chain.size)
		return found(answer, TAMPERED,
		    "the log was cut or put back from a copy: it is %s",
		    kept_text(a->kept, text));
	return 0;
}

/* Every kept checkpoint was matched, unless its size is larger than the log or
 * smaller than its first remaining record. */
static int
check_anchors(
    const struct order_walk *walk, struct verify_answer *answer, bool *ret_at_end)
{
	uint64_t size = walk->tree.chain.size;

	for (size_t i = 0; i < walk->anchor_n; i++) {
		const struct anchor *a = &walk->anchor[i];

		if (a->kept != NULL && check_kept(walk, a, answer) < 0)
			return -EBADMSG;
		if (strcmp(a->cp.origin, walk->origin) != 0)
			return found(answer, TAMPERED,
			    "a kept checkpoint belongs to another log: %s", a->cp.origin);
		if (a->cp.size > size) {
			(void)bad_record(answer, size,
			    "it is missing, but a kept checkpoint covers it");
			return -EBADMSG;
		}
		if (a->cp.size == size)
			*ret_at_end = true;
		if (!a->seen && a->cp.size >= walk->first_record)
			return found(answer, TAMPERED, "a kept checkpoint was not met");
	}
	return 0;
}

void
freshness_check(const struct freshness *f, const struct order_walk *walk,
    struct verify_answer *answer)
{
	uint64_t max = f->max_age_ns, age, period;
	bool at_end = f->stopped;

	if (check_anchors(walk, answer, &at_end) < 0)
		return;
	if (walk->first_record > walk->pruned) {
		(void)found(answer, INCOMPLETE,
		    "the records before %" PRIu64
		    " are missing, and no record reports their removal",
		    walk->first_record);
		return;
	}
	if (walk->breaks > 0) {
		(void)found(answer, INCOMPLETE,
		    "the chain of keys is broken at record %" PRIu64
		    ": from there on only the origin's key signs",
		    walk->first_break);
		return;
	}
	if (walk->witness_n > 0 && walk->witness_time == 0) {
		(void)found(answer, INCOMPLETE, "no named witness has signed");
		return;
	}
	period = walk->period_s > 0 ? walk->period_s : 60;
	if (max == 0)
		max = 2 * period * NS_PER_S;
	age = f->now_ns > walk->last_ts ? f->now_ns - walk->last_ts : 0;
	if (age <= max || (at_end && walk->ended))
		return;
	(void)found(answer, INCOMPLETE,
	    walk->ended ? "stale: the log ended %" PRIu64
			  " s ago, and truncation cannot be ruled out (use --stopped, or "
			  "a kept checkpoint)"
			: "stale: the last record is %" PRIu64
			  " s old and the log was not closed",
	    (uint64_t)(age / NS_PER_S));
}
