/*
 * The log's records about itself: keys, epochs, checkpoints, heartbeats, clock
 * changes, its end.
 *
 * Process: kennel-recorder. Holds the origin's key and the key of the epoch.
 * Must never: sign two trees of one size, keep the key of an ended epoch, sign what
 * is not about to be written to disk.
 *
 * An epoch ends in this order; recover() repairs a crash after each step:
 *
 *	1. the next key into the free slot, on disk
 *	2. one transaction: the records, the leaf with the next public key, the
 *	   checkpoint signed by the key that ends
 *	3. that key's slot overwritten, on disk
 *	4. only then the new key signs, and readers may see the checkpoint, which is
 *	   kept outside of the log's directory (continues.c)
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/loop.h"
#include "supervisor/audit/log/segment.h"
#include "supervisor/audit/recorder/epochs.h"
#include "supervisor/audit/recorder/rotate.h"
#include "supervisor/audit/recorder/store.h"

#define CLOCK_JUMP NS_PER_S /* of realtime against boottime */

/* ---- own records ------------------------------------------------------------ */

void
own_begin(struct own *own)
{
	wire_out_init(&own->out, own->memory, sizeof(own->memory));
}

void
own_text(struct own *own, enum event_key key, const char *text)
{
	wire_put_u8(&own->out, (uint8_t)key);
	wire_put_str(&own->out, text);
}

void
own_number(struct own *own, enum event_key key, uint64_t number)
{
	wire_put_u8(&own->out, (uint8_t)key);
	wire_put_u64(&own->out, number);
}

void
own_vkey(struct own *own, const struct vkey *vkey)
{
	char text[NOTE_VKEY_MAX];

	vkey_put(vkey, text);
	own_text(own, KEY_VKEY, text);
}

uint64_t
ledger_realtime(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_REALTIME, &t); /* cannot fail: the clock exists */
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static int
own_write(struct ledger *l, enum event_kind kind, struct own *own)
{
	struct record *rec = &l->rec;
	struct wire_in in;
	int r;

	rec->idx = store_next(l->store);
	rec->ts = ledger_realtime();
	rec->boot = loop_now();
	rec->wseq = ++l->self_seq;
	rec->kind = kind;
	wire_in_init(&in, own->memory, own->out.len);
	r = own->out.error;
	if (r == 0)
		r = body_make(&l->self, &in, rec);
	if (r == 0)
		r = ledger_append(l, &l->self, rec);
	if (r == 0)
		l->offset_ns = rec->ts - rec->boot;
	return r;
}

/* If the clock was set, records that before any record with the new time. */
static int
check_clock(struct ledger *l)
{
	uint64_t now = ledger_realtime() - loop_now();
	uint64_t jump = now > l->offset_ns ? now - l->offset_ns : l->offset_ns - now;
	struct own own;

	if (jump < CLOCK_JUMP)
		return 0;
	own_begin(&own);
	own_number(&own, KEY_BEFORE, loop_now() + l->offset_ns);
	own_number(&own, KEY_AFTER, loop_now() + now);
	return own_write(l, EVENT_CLOCK, &own);
}

int
own_append(struct ledger *l, enum event_kind kind, struct own *own)
{
	/* these kinds start a recorder, which has no earlier clock to compare with */
	int r = kind == EVENT_GENESIS || kind == EVENT_OPEN ? 0 : check_clock(l);

	return r < 0 ? r : own_write(l, kind, own);
}

int
ledger_gap(struct ledger *l, const char *writer, const char *reason, uint64_t count)
{
	struct own own;

	own_begin(&own);
	own_text(&own, KEY_NAME, writer);
	own_text(&own, KEY_REASON, reason);
	own_number(&own, KEY_COUNT, count);
	return own_append(l, EVENT_GAP, &own);
}

/* ---- checkpoints -------------------------------------------------------------- */

static int
make_note(struct ledger *l)
{
	struct checkpoint cp = {.size = store_next(l->store)};
	size_t text_len, len;
	int r;

	(void)snprintf(cp.origin, sizeof(cp.origin), "%s", l->origin.name);
	merkle_root(store_merkle(l->store), cp.root);
	text_len = len = checkpoint_put(&cp, l->note, sizeof(l->note));
	r = note_sign(
	    l->note, sizeof(l->note), text_len, &len, &l->origin, l->origin_key);
	if (r == 0)
		r = note_sign(
		    l->note, sizeof(l->note), text_len, &len, &l->signer, l->key);
	return r;
}

int
ledger_sign(struct ledger *l)
{
	int r;

	if (!store_pending(l->store))
		return 0;
	r = make_note(l);
	if (r == 0)
		r = store_commit(l->store, l->epoch, l->note);
	if (r == 0) {
		l->since_commit = 0;
		l->cps++;
	}
	return r;
}

int
ledger_commit(struct ledger *l)
{
	int r;

	if (!store_pending(l->store))
		return 0;
	r = check_clock(l);
	return r < 0 ? r : ledger_sign(l);
}

int
ledger_append(struct ledger *l, const struct writer *writer, const struct record *rec)
{
	if (l->epoch_end_ns == 0)
		l->epoch_end_ns = loop_now() + l->config.epoch_s * NS_PER_S;
	l->since_commit++;
	return store_append(l->store, writer, rec);
}

/* ---- epochs --------------------------------------------------------------------- */

int
ledger_vkey(
    const struct ledger *l, uint64_t epoch, const struct key *key, struct vkey *ret)
{
	char name[NOTE_NAME_MAX];

	if ((size_t)snprintf(name, sizeof(name), "%s/epoch/%llu", l->origin.name,
		(unsigned long long)epoch) >= sizeof(name))
		return -EINVAL;
	return vkey_make(name, NOTE_ED25519, key_public(key), ret);
}

void
ledger_use(
    struct ledger *l, uint64_t epoch, int slot, struct key *key, const struct vkey *vkey)
{
	key_free(l->key);
	l->key = key;
	l->signer = *vkey;
	l->epoch = epoch;
	l->slot = slot;
	l->cps = 0;
	l->epoch_end_ns = 0;
}

/* Makes the next epoch's key in its slot. Made only once: a commit that was reported
 * as failed may still be in the file, and it names this key. */
static int
next_key(struct ledger *l)
{
	struct key *next = NULL;
	int r;

	if (l->next != NULL)
		return 0;
	r = key_new(&next);
	if (r == 0)
		r = ledger_vkey(l, l->epoch + 1, next, &l->next_signer);
	if (r == 0)
		r = slot_write(l->slots, (l->slot + 1) % SLOTS, l->epoch + 1, next);
	if (r < 0) {
		key_free(next);
		return r;
	}
	l->next = next;
	return 0;
}

/* Ends the epoch with a record of this kind; own may already have fields. */
static int
roll(struct ledger *l, enum event_kind kind, struct own *own)
{
	struct key *next;
	int over = l->slot, r;

	r = next_key(l);
	if (r == 0) {
		own_number(own, KEY_EPOCH, l->epoch + 1);
		own_number(own, KEY_CHECKPOINTS, l->cps);
		own_vkey(own, &l->next_signer);
		r = own_append(l, kind, own);
	}
	if (r == 0)
		r = ledger_sign(l);
	if (r < 0)
		return r;
	/* the epoch has ended in any case: its key signs nothing more */
	next = l->next;
	l->next = NULL;
	ledger_use(l, l->epoch + 1, (over + 1) % SLOTS, next, &l->next_signer);
	r = slot_wipe(l->slots, over);
	if (r == 0)
		continues_keep(l);
	return r;
}

uint64_t
ledger_next_ns(const struct ledger *l)
{
	if (l->epoch_end_ns != 0 && l->epoch_end_ns < l->beat_ns)
		return l->epoch_end_ns;
	return l->beat_ns;
}

static int
heartbeat(struct ledger *l, size_t writers)
{
	struct own own;

	own_begin(&own);
	own_number(&own, KEY_RECORDS, store_next(l->store));
	own_number(&own, KEY_WRITERS, writers);
	l->beat_ns = loop_now() + l->config.heartbeat_s * NS_PER_S;
	return own_append(l, EVENT_HEARTBEAT, &own);
}

int
ledger_tick(struct ledger *l, size_t writers)
{
	uint64_t now = loop_now();
	struct own own;
	int r = 0;

	if (now >= l->beat_ns)
		r = heartbeat(l, writers);
	if (r == 0)
		r = ledger_commit(l);
	if (r == 0 && l->epoch_end_ns != 0 && now >= l->epoch_end_ns) {
		own_begin(&own);
		r = roll(l, EVENT_EPOCH, &own);
	}
	return r;
}

int
ledger_end(struct ledger *l, const char *reason)
{
	struct own own;
	int r;

	r = ledger_commit(l);
	if (r == 0) {
		own_begin(&own);
		own_number(&own, KEY_RECORDS, store_next(l->store));
		own_text(&own, KEY_REASON, reason);
		r = roll(l, EVENT_END, &own);
	}
	if (r == 0)
		ledger_free(l);
	return r;
}

/* Fields about the machine, recorded by each recorder. */
void
own_place(struct ledger *l, struct own *own)
{
	own_number(own, KEY_PERIOD, l->config.heartbeat_s);
	own_text(own, KEY_HOST, l->host);
	own_text(own, KEY_BOOT_ID, l->boot_id);
}

/* ---- segments ----------------------------------------------------------------------- */

/* The first record of a file repeats the signing keys, because earlier files may be
 * pruned. */
static int
begin_segment(struct ledger *l)
{
	struct own own;
	int r;

	own_begin(&own);
	own_text(&own, KEY_OUTCOME, "rotated");
	own_text(&own, KEY_ORIGIN, l->origin.name);
	own_vkey(&own, &l->origin);
	own_vkey(&own, &l->signer);
	own_number(&own, KEY_EPOCH, l->epoch);
	own_place(l, &own);
	r = own_append(l, EVENT_OPEN, &own);
	return r < 0 ? r : ledger_sign(l);
}

int
ledger_rotate(struct ledger *l, bool asked)
{
	uint64_t full = asked ? SEGMENT_LEAST : l->config.segment_records;
	struct store *old = l->store, *next = NULL;
	uint64_t base = store_base(old), size;
	const char *why;
	struct own own;
	int r;

	if (store_pending(old) || store_records(old) < full)
		return -EAGAIN;
	r = store_fold(old);
	/* an epoch is in one file, because its last record counts its checkpoints
	 * there */
	if (r == 0 && (l->epoch_end_ns != 0 || l->cps > 0)) {
		own_begin(&own);
		r = roll(l, EVENT_EPOCH, &own);
		if (r == 0)
			r = store_fold(old);
	}
	if (r == 0)
		r = segment_begin(old, l->log_dir, &next);
	if (r < 0)
		return r;
	l->store = next;
	r = begin_segment(l);
	size = store_next(next);
	store_close(next);
	l->store = NULL;
	store_close(old);
	if (r == 0)
		r = segment_rename(l->log_dir, base);
	if (r == 0)
		r = store_open(l->log_dir, &l->store, &why);
	return r == 0 ? store_edge(l->store, size) : r;
}

int
ledger_prune(struct ledger *l, uint64_t first)
{
	return segment_prune(l->log_dir, store_base(l->store), first);
}

/* ---- a full disk ------------------------------------------------------------------ */

/* Reserves disk space for the records that report a full disk. */
int
ledger_reserve(struct ledger *l)
{
	static const uint8_t zero[4096];
	struct stat st;
	int fd, r;

	/* syscalls: openat fstat pwrite64 fsync unlinkat */
	fd = openat(l->log_dir, RECORDER_RESERVE_NAME,
	    O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	r = fstat(fd, &st) < 0 ? -errno : 0;
	if (r == 0 && st.st_size < (off_t)RECORDER_RESERVE_LEN) {
		for (off_t at = 0; r == 0 && at < (off_t)RECORDER_RESERVE_LEN;
		     at += (off_t)sizeof(zero)) {
			if (pwrite(fd, zero, sizeof(zero), at) != (ssize_t)sizeof(zero))
				r = -ENOSPC;
		}
		if (r == 0 && fsync(fd) < 0)
			r = -errno;
		if (r < 0)
			(void)unlinkat(
			    l->log_dir, RECORDER_RESERVE_NAME, 0); /* incomplete */
	}
	fd_close(&fd);
	return r;
}

/* Errors are ignored here: the process ends, and these records were never
 * acknowledged. */
void
ledger_last_words(struct ledger *l, uint64_t count)
{
	static struct stored_cp cp;
	struct own own;
	int r;

	store_rollback(l->store);
	r = unlinkat(l->log_dir, RECORDER_RESERVE_NAME, 0) < 0 ? -errno : 0;
	if (r == 0)
		r = store_last_cp(l->store, UINT64_MAX, &cp);
	if (r == 0)
		r = store_edge(l->store, cp.size);
	if (r == 0)
		r = ledger_gap(l, l->self.instance, "the disk is full", count);
	if (r == 0) {
		own_begin(&own);
		own_text(&own, KEY_REASON, "the disk is full");
		(void)roll(l, EVENT_END, &own);
	}
}

uint64_t
ledger_lost(const struct ledger *l)
{
	return l->since_commit;
}
