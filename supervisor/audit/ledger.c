/*
 * What the log says about itself: its keys, its epochs, its checkpoints, that
 * it is there, that its clock was set, that it ended.
 *
 * Process: kennel-recorder.  Holds the origin's key and the key of the epoch.
 * Must never: sign two trees of one size, keep the key of an epoch that is
 * over, sign what is not about to be on disk.
 *
 * The end of an epoch, in this order; a crash behind each step is mended by
 * recover():
 *
 *	1. the next key into the free slot, on disk
 *	2. one transaction: the records, the leaf with the next public key, the
 *	   checkpoint signed by the key that ends
 *	3. that key's slot overwritten, on disk
 *	4. only then the new key signs, and somebody may see the checkpoint
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
#include "supervisor/audit/inside.h"

#define NS_PER_S     1000000000ull
#define CLOCK_JUMP   NS_PER_S /* of realtime against boottime */
#define OWN_MAX      4096     /* bytes of one own event */
#define RESERVE_NAME "audit.reserve"
#define RESERVE_LEN  (256u << 10) /* a transaction's pages, with room to spare */

struct ledger {
	struct store *store;
	int log_dir, slots;
	struct config config;
	struct key *origin_key, *key; /* key: of this epoch */
	struct vkey origin, signer;
	uint64_t epoch;
	int slot;              /* where the epoch's key lies */
	uint64_t epoch_end_ns; /* 0: the epoch holds nothing */
	uint64_t beat_ns;      /* when to say that we are here */
	uint64_t offset_ns;    /* realtime less boottime, at the last own record */
	uint64_t since_commit; /* records not on disk */
	struct writer self;
	uint64_t self_seq;
	struct record rec; /* one own record at a time */
	char boot_id[40], host[65];
	char note[NOTE_MAX];
};

/* ---- own records ------------------------------------------------------------ */

struct own {
	uint8_t memory[OWN_MAX];
	struct wire_out out;
};

static void
own_begin(struct own *own)
{
	wire_out_init(&own->out, own->memory, sizeof(own->memory));
}

static void
own_text(struct own *own, enum event_key key, const char *text)
{
	wire_put_u8(&own->out, (uint8_t)key);
	wire_put_str(&own->out, text);
}

static void
own_number(struct own *own, enum event_key key, uint64_t number)
{
	wire_put_u8(&own->out, (uint8_t)key);
	wire_put_u64(&own->out, number);
}

static void
own_vkey(struct own *own, const struct vkey *vkey)
{
	char text[NOTE_VKEY_MAX];

	vkey_put(vkey, text);
	own_text(own, KEY_VKEY, text);
}

static uint64_t
realtime_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_REALTIME, &t); /* cannot fail: the clock is known */
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static int
own_append(struct ledger *l, enum event_kind kind, struct own *own)
{
	struct record *rec = &l->rec;
	struct wire_in in;
	int r;

	rec->idx = store_next(l->store);
	rec->ts = realtime_ns();
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
	chain_root(store_chain(l->store), cp.root);
	text_len = len = checkpoint_put(&cp, l->note, sizeof(l->note));
	r = note_sign(
	    l->note, sizeof(l->note), text_len, &len, &l->origin, l->origin_key);
	if (r == 0)
		r = note_sign(
		    l->note, sizeof(l->note), text_len, &len, &l->signer, l->key);
	return r;
}

static int
commit(struct ledger *l)
{
	int r;

	if (!store_pending(l->store))
		return 0;
	r = make_note(l);
	if (r == 0)
		r = store_commit(l->store, l->epoch, l->note);
	if (r == 0)
		l->since_commit = 0;
	return r;
}

/* Somebody set the clock: said before what is stamped with it. */
static int
check_clock(struct ledger *l)
{
	uint64_t now = realtime_ns() - loop_now();
	uint64_t jump = now > l->offset_ns ? now - l->offset_ns : l->offset_ns - now;
	struct own own;

	if (jump < CLOCK_JUMP)
		return 0;
	own_begin(&own);
	own_number(&own, KEY_BEFORE, loop_now() + l->offset_ns);
	own_number(&own, KEY_AFTER, loop_now() + now);
	return own_append(l, EVENT_CLOCK, &own);
}

int
ledger_commit(struct ledger *l)
{
	int r;

	if (!store_pending(l->store))
		return 0;
	r = check_clock(l);
	return r < 0 ? r : commit(l);
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

static int
epoch_vkey(
    const struct ledger *l, uint64_t epoch, const struct key *key, struct vkey *ret)
{
	char name[NOTE_NAME_MAX];

	if ((size_t)snprintf(name, sizeof(name), "%s/epoch/%llu", l->origin.name,
		(unsigned long long)epoch) >= sizeof(name))
		return -EINVAL;
	return vkey_make(name, NOTE_ED25519, key_public(key), ret);
}

static void
use_key(
    struct ledger *l, uint64_t epoch, int slot, struct key *key, const struct vkey *vkey)
{
	key_free(l->key);
	l->key = key;
	l->signer = *vkey;
	l->epoch = epoch;
	l->slot = slot;
	l->epoch_end_ns = 0;
}

/* Ends the epoch by a record of this kind, which own already has something to
 * say about. */
static int
roll(struct ledger *l, enum event_kind kind, struct own *own)
{
	int next_slot = (l->slot + 1) % SLOTS, r;
	struct key *next = NULL;
	struct vkey vkey;

	r = key_new(&next);
	if (r == 0)
		r = epoch_vkey(l, l->epoch + 1, next, &vkey);
	if (r == 0)
		r = slot_write(l->slots, next_slot, l->epoch + 1, next);
	if (r == 0) {
		own_number(own, KEY_EPOCH, l->epoch + 1);
		own_vkey(own, &vkey);
		r = own_append(l, kind, own);
	}
	if (r == 0)
		r = commit(l);
	if (r == 0)
		r = slot_wipe(l->slots, l->slot);
	if (r < 0) {
		key_free(next);
		return r;
	}
	use_key(l, l->epoch + 1, next_slot, next, &vkey);
	return 0;
}

uint64_t
ledger_next_ns(const struct ledger *l)
{
	return l->epoch_end_ns != 0 && l->epoch_end_ns < l->beat_ns ? l->epoch_end_ns
								    : l->beat_ns;
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
ledger_end(struct ledger *l)
{
	struct own own;
	int r;

	r = ledger_commit(l);
	if (r == 0) {
		own_begin(&own);
		own_number(&own, KEY_RECORDS, store_next(l->store));
		r = roll(l, EVENT_END, &own);
	}
	if (r == 0)
		ledger_free(l);
	return r;
}

/* What is said of the machine, by each recorder. */
static void
own_place(struct ledger *l, struct own *own)
{
	own_number(own, KEY_PERIOD, l->config.heartbeat_s);
	own_text(own, KEY_HOST, l->host);
	own_text(own, KEY_BOOT_ID, l->boot_id);
}

/* ---- segments ----------------------------------------------------------------------- */

/* The first record of a file says again who signs: those before may be removed. */
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
	return r < 0 ? r : commit(l);
}

int
ledger_rotate(struct ledger *l)
{
	struct store *old = l->store, *next = NULL;
	uint64_t base = store_base(old), size;
	const char *why;
	struct own own;
	int r;

	if (store_pending(old) || store_records(old) < l->config.segment_records)
		return -EAGAIN;
	r = store_fold(old);
	if (r == 0 && l->epoch_end_ns != 0) {
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

/* Room that is ours already, for what is to be said when there is none. */
static int
make_reserve(struct ledger *l)
{
	static const uint8_t zero[4096];
	struct stat st;
	int fd, r;

	/* syscalls: openat fstat pwrite64 fsync unlinkat */
	fd = openat(
	    l->log_dir, RESERVE_NAME, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	r = fstat(fd, &st) < 0 ? -errno : 0;
	if (r == 0 && st.st_size < (off_t)RESERVE_LEN) {
		for (off_t at = 0; r == 0 && at < (off_t)RESERVE_LEN;
		     at += (off_t)sizeof(zero)) {
			if (pwrite(fd, zero, sizeof(zero), at) != (ssize_t)sizeof(zero))
				r = -ENOSPC;
		}
		if (r == 0 && fsync(fd) < 0)
			r = -errno;
		if (r < 0)
			(void)unlinkat(l->log_dir, RESERVE_NAME, 0); /* half of one */
	}
	fd_close(&fd);
	return r;
}

/* What of this fails, fails: the process ends, and nobody was promised it. */
void
ledger_last_words(struct ledger *l, uint64_t count)
{
	static struct stored_cp cp;
	struct own own;
	int r;

	store_rollback(l->store);
	r = unlinkat(l->log_dir, RESERVE_NAME, 0) < 0 ? -errno : 0;
	if (r == 0)
		r = store_last_cp(l->store, &cp);
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

/* ---- a new log ---------------------------------------------------------------------- */

/* "HOST/kennel/ID": a key's name has no space and no plus. */
static int
draw_origin(const struct ledger *l, const char *id, char ret[NOTE_NAME_MAX])
{
	char host[65];
	size_t i;

	for (i = 0; l->host[i] != '\0'; i++) {
		char c = l->host[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			     (c >= '0' && c <= '9') || c == '.' || c == '-';

		host[i] = (char)(plain ? c : '-');
	}
	host[i] = '\0';
	(void)snprintf(ret, NOTE_NAME_MAX, "%s/kennel/%.12s", i > 0 ? host : "host", id);
	return 0;
}

/* The key that anybody may know: for who will verify. */
static int
publish_origin(struct ledger *l)
{
	char text[NOTE_VKEY_MAX + 1];
	size_t len;
	int fd, r;

	vkey_put(&l->origin, text);
	len = strlen(text);
	text[len] = '\n';
	fd = openat(l->log_dir, "origin.vkey",
	    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	r = fd_write_all(fd, text, len + 1); /* syscalls: write */
	fd_close(&fd);
	return r;
}

static int
genesis(struct ledger *l)
{
	char id[33], name[NOTE_NAME_MAX];
	struct key *key = NULL;
	struct vkey vkey;
	struct own own;
	uint8_t draw[CHAIN_HASH_LEN];
	int r;

	r = slot_origin(l->log_dir, true, &l->origin_key);
	if (r == 0)
		r = key_new(&key);
	if (r < 0)
		return r;
	chain_digest(key_public(key), KEY_LEN, draw);
	for (size_t i = 0; i < 16; i++)
		(void)snprintf(id + 2 * i, 3, "%02x", draw[i]);
	r = draw_origin(l, id, name);
	if (r == 0)
		r = vkey_make(name, NOTE_ED25519, key_public(l->origin_key), &l->origin);
	if (r == 0)
		r = epoch_vkey(l, 0, key, &vkey);
	if (r == 0)
		r = slot_write(l->slots, 0, 0, key);
	if (r == 0)
		r = slot_wipe(l->slots, 1);
	if (r < 0) {
		key_free(key);
		return r;
	}
	use_key(l, 0, 0, key, &vkey);
	r = publish_origin(l);
	if (r == 0)
		r = store_put_meta(l->store, "format", "kennel audit 2");
	if (r == 0)
		r = store_put_meta(l->store, "log", id);
	if (r == 0)
		r = store_put_meta(l->store, "origin", name);
	if (r == 0)
		r = store_put_meta(l->store, "base", "0");
	if (r < 0)
		return r;
	own_begin(&own);
	own_text(&own, KEY_ORIGIN, name);
	own_vkey(&own, &l->origin);
	own_vkey(&own, &vkey);
	own_number(&own, KEY_EPOCH, 0);
	own_place(l, &own);
	own_number(&own, KEY_VERSION, SCHEMA_VERSION);
	r = own_append(l, EVENT_GENESIS, &own);
	return r < 0 ? r : commit(l);
}

/* ---- a log that is there --------------------------------------------------------------- */

/* What the last record says of the epoch. */
struct last {
	bool closes; /* the epoch is over: the next one's key is vkey */
	bool ended;  /* and the recorder said that it ended */
	struct vkey vkey;
};

static int
read_last(struct ledger *l, uint64_t size, struct last *ret)
{
	static char body[AUDIT_BODY_MAX], text[NOTE_VKEY_MAX];
	static struct scan scan;
	const struct scan_field *field;
	struct span value;
	size_t len, at = 0;
	long n;
	int r;

	*ret = (struct last){0};
	r = store_body(l->store, size - 1, body, &len);
	if (r == -ENOENT) /* the first of a segment: the epoch is the one that it opens */
		return 0;
	if (r == 0)
		r = scan_body(body, len, &scan);
	if (r < 0)
		return r;
	ret->ended = scan_is(scan.head[SCAN_KIND], event_kind_name(EVENT_END));
	ret->closes =
	    ret->ended || scan_is(scan.head[SCAN_KIND], event_kind_name(EVENT_EPOCH));
	if (!ret->closes || !scan_is(scan.head[SCAN_ROLE], "recorder"))
		return 0;
	field = scan_find(&scan, event_key_name(KEY_VKEY));
	if (field == NULL || scan_next(field->value, &at, &value) != 1)
		return -EBADMSG;
	n = scan_string(value, text, sizeof(text));
	if (n < 0)
		return -EBADMSG;
	return vkey_parse((struct span){(const uint8_t *)text, (size_t)n}, &ret->vkey);
}

/* Is this the key that signs now? */
static bool
is_current(const struct ledger *l, const struct last *last, const struct stored_cp *cp,
    const struct vkey *vkey)
{
	static struct note note;

	if (last->closes)
		return memcmp(vkey->public, last->vkey.public, KEY_LEN) == 0;
	return note_parse(cp->note, strlen(cp->note), &note) == 0 &&
	       note_signed_by(&note, vkey, NULL);
}

/* The slot with the key of this epoch; every other is wiped. */
static int
take_slot(
    struct ledger *l, const struct last *last, const struct stored_cp *cp, uint64_t epoch)
{
	int r = 0;

	for (int slot = 0; r == 0 && slot < SLOTS; slot++) {
		uint8_t seed[KEY_LEN];
		struct key *key = NULL;
		struct vkey vkey;
		uint64_t of;

		if (slot_read(l->slots, slot, &of, seed) < 0)
			continue;
		r = key_from_seed(seed, &key);
		if (r == 0)
			r = epoch_vkey(l, of, key, &vkey);
		if (r == 0 && l->key == NULL && of == epoch &&
		    is_current(l, last, cp, &vkey)) {
			use_key(l, of, slot, key, &vkey);
			continue;
		}
		key_free(key);
		if (r == 0)
			r = slot_wipe(l->slots, slot);
	}
	return r;
}

/* The key that should sign is not there: a new one, and a record that every
 * verifier shows. */
static int
break_chain(struct ledger *l, uint64_t epoch)
{
	struct key *key = NULL;
	struct vkey vkey;
	struct own own;
	int r;

	r = key_new(&key);
	if (r == 0)
		r = epoch_vkey(l, epoch + 1, key, &vkey);
	if (r == 0)
		r = slot_write(l->slots, 0, epoch + 1, key);
	if (r < 0) {
		key_free(key);
		return r;
	}
	use_key(l, epoch + 1, 0, key, &vkey);
	own_begin(&own);
	own_text(&own, KEY_REASON, "the epoch's key is lost");
	own_number(&own, KEY_EPOCH, epoch + 1);
	own_vkey(&own, &vkey);
	r = own_append(l, EVENT_BREAK, &own);
	return r < 0 ? r : commit(l);
}

static int
recover(struct ledger *l, const struct stored_cp *cp, const char **ret_why)
{
	char name[NOTE_NAME_MAX];
	uint8_t root[CHAIN_HASH_LEN];
	struct checkpoint said;
	struct last last;
	static struct note note;
	struct own own;
	uint64_t epoch;
	int r;

	*ret_why = "the records do not give the last checkpoint's root";
	r = store_edge(l->store, cp->size);
	if (r == 0)
		r = note_parse(cp->note, strlen(cp->note), &note);
	if (r == 0)
		r = checkpoint_parse(note.text, &said);
	if (r < 0)
		return r;
	chain_root(store_chain(l->store), root);
	if (said.size != cp->size || memcmp(root, said.root, sizeof(root)) != 0)
		return -EBADMSG;
	*ret_why = "origin.key is missing or is another log's; put it back, or move the "
		   "log away";
	r = slot_origin(l->log_dir, false, &l->origin_key);
	if (r == 0)
		r = store_get_meta(l->store, "origin", name, sizeof(name));
	if (r == 0)
		r = vkey_make(name, NOTE_ED25519, key_public(l->origin_key), &l->origin);
	if (r == 0 && !note_signed_by(&note, &l->origin, NULL))
		r = -EBADMSG;
	if (r < 0)
		return r;
	*ret_why = "the last record cannot be read";
	r = read_last(l, cp->size, &last);
	if (r < 0)
		return r;
	*ret_why = "the log cannot be written";
	epoch = cp->epoch + last.closes;
	r = take_slot(l, &last, cp, epoch);
	if (r == 0 && l->key == NULL)
		r = break_chain(l, epoch);
	if (r < 0)
		return r;
	own_begin(&own);
	own_text(&own, KEY_OUTCOME, last.ended ? "clean" : "unclean");
	own_number(&own, KEY_EPOCH, l->epoch);
	own_place(l, &own);
	/* durable with the first record that somebody waits for */
	return own_append(l, EVENT_OPEN, &own);
}

/* ---- opening -------------------------------------------------------------------------- */

static void
look_around(struct ledger *l)
{
	struct utsname name;
	ssize_t n = -1;
	/* early: openat read uname */
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		n = read(fd, l->boot_id, sizeof(l->boot_id) - 1);
	fd_close(&fd);
	l->boot_id[n > 0 ? n : 0] = '\0';
	l->boot_id[strcspn(l->boot_id, "\n")] = '\0';
	(void)snprintf(
	    l->host, sizeof(l->host), "%s", uname(&name) == 0 ? name.nodename : "");
}

int
ledger_open(
    int log_dir, const struct writer *self, struct ledger **ret, const char **ret_why)
{
	static struct stored_cp cp;
	struct ledger *l;
	size_t line;
	int r;

	*ret_why = "no memory";
	l = calloc(1, sizeof(*l));
	if (l == NULL)
		return -ENOMEM;
	l->log_dir = log_dir;
	l->slots = -1;
	l->self = *self;
	look_around(l);
	*ret_why = "audit.conf cannot be understood";
	r = config_read(log_dir, &l->config, &line);
	if (r == 0) {
		*ret_why = "a segment was left half made";
		r = segment_recover(log_dir);
	}
	if (r == 0)
		r = store_open(log_dir, &l->store, ret_why);
	if (r == 0) {
		*ret_why = "there is no room for the reserve";
		r = make_reserve(l);
	}
	if (r == 0) {
		*ret_why = "audit.key cannot be opened";
		r = slot_open(log_dir, &l->slots);
	}
	if (r == 0) {
		*ret_why = "the last checkpoint cannot be read";
		r = store_last_cp(l->store, &cp);
	}
	l->offset_ns = realtime_ns() - loop_now();
	l->beat_ns = loop_now() + l->config.heartbeat_s * NS_PER_S;
	if (r == 0 && cp.size == 0) {
		*ret_why = "a new log cannot be begun";
		r = genesis(l);
	} else if (r == 0) {
		r = recover(l, &cp, ret_why);
	}
	if (r < 0) {
		ledger_free(l);
		return r;
	}
	*ret = l;
	return 0;
}

struct store *
ledger_store(struct ledger *l)
{
	return l->store;
}

void
ledger_free(struct ledger *l)
{
	if (l == NULL)
		return;
	store_close(l->store);
	key_free(l->origin_key);
	key_free(l->key);
	fd_close(&l->slots);
	free(l);
}
