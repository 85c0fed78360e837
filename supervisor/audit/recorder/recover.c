/*
 * Creates a log, or resumes one where the last recorder stopped.
 *
 * Process: kennel-recorder, before its loop. Must never: continue from records that
 * do not match the last checkpoint's root, or leave the key of an ended epoch in its
 * slot.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/hex.h"
#include "shim/base/loop.h"
#include "supervisor/audit/log/schema.h"
#include "supervisor/audit/recorder/epochs.h"
#include "supervisor/audit/recorder/rotate.h"
#include "supervisor/audit/recorder/store.h"

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

/* Writes the public key to a file, for verifiers. */
static int
publish_origin(struct ledger *l)
{
	char text[NOTE_VKEY_MAX + 1];
	size_t len;
	int fd, r;

	vkey_put(&l->origin, text);
	len = strlen(text);
	text[len] = '\n';
	fd = openat(l->log_dir, AUDIT_VKEY_NAME,
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
	struct stopped stopped;
	struct vkey vkey;
	struct own own;
	uint8_t draw[MERKLE_HASH_LEN];
	int r;

	r = slot_origin(l->log_dir, true, &l->origin_key);
	if (r == 0)
		r = key_new(&key);
	if (r < 0)
		return r;
	merkle_digest(key_public(key), KEY_LEN, draw);
	r = draw_origin(l, hex_put(id, draw, 16), name);
	if (r == 0)
		r = vkey_make(name, NOTE_ED25519, key_public(l->origin_key), &l->origin);
	if (r == 0)
		r = ledger_vkey(l, 0, key, &vkey);
	if (r == 0)
		r = slot_write(l->slots, 0, 0, key);
	if (r == 0)
		r = slot_wipe(l->slots, 1);
	if (r < 0) {
		key_free(key);
		return r;
	}
	ledger_use(l, 0, 0, key, &vkey);
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
	continues_check(l, 0, &own, &stopped);
	r = own_append(l, EVENT_GENESIS, &own);
	if (r == 0)
		r = ledger_sign(l);
	if (r == 0)
		continues_begin(l, &stopped);
	return r;
}

/* ---- an existing log ------------------------------------------------------------------- */

/* What the last record states about the epoch. */
struct last {
	bool closes; /* the epoch has ended: vkey is the next one's key */
	bool ended;  /* the recorder recorded its end */
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
	if (r == -ENOENT) /* the first record of a segment opens this epoch */
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

/* True if this key signs now. */
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

/* Finds the slot with the key of this epoch; wipes every other slot. */
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
			r = ledger_vkey(l, of, key, &vkey);
		if (r == 0 && l->key == NULL && of == epoch &&
		    is_current(l, last, cp, &vkey)) {
			ledger_use(l, of, slot, key, &vkey);
			continue;
		}
		key_free(key);
		if (r == 0)
			r = slot_wipe(l->slots, slot);
	}
	return r;
}

/* The signing key is missing: makes a new one, and a record that every verifier
 * reports. */
static int
break_chain(struct ledger *l, uint64_t epoch)
{
	struct key *key = NULL;
	struct vkey vkey;
	struct own own;
	int r;

	r = key_new(&key);
	if (r == 0)
		r = ledger_vkey(l, epoch + 1, key, &vkey);
	if (r == 0)
		r = slot_write(l->slots, 0, epoch + 1, key);
	if (r < 0) {
		key_free(key);
		return r;
	}
	ledger_use(l, epoch + 1, 0, key, &vkey);
	own_begin(&own);
	own_text(&own, KEY_REASON, "the epoch's key is lost");
	own_number(&own, KEY_EPOCH, epoch + 1);
	own_vkey(&own, &vkey);
	r = own_append(l, EVENT_BREAK, &own);
	return r < 0 ? r : ledger_sign(l);
}

static int
recover(struct ledger *l, const struct stored_cp *cp, const char **ret_why)
{
	char name[NOTE_NAME_MAX];
	uint8_t root[MERKLE_HASH_LEN];
	struct checkpoint said;
	struct last last;
	static struct note note;
	struct stopped stopped;
	struct own own;
	uint64_t epoch;
	int r;

	said = (struct checkpoint){.size = 0};
	*ret_why = "the records do not match the last checkpoint's root";
	r = store_edge(l->store, cp->size);
	if (r == 0)
		r = note_parse(cp->note, strlen(cp->note), &note);
	if (r == 0)
		r = checkpoint_parse(note.text, &said);
	if (r < 0)
		return r;
	merkle_root(store_merkle(l->store), root);
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
	*ret_why = "unable to read the last record";
	r = read_last(l, cp->size, &last);
	if (r < 0)
		return r;
	*ret_why = "unable to write the log";
	epoch = cp->epoch + last.closes;
	r = take_slot(l, &last, cp, epoch);
	if (r == 0)
		r = l->key == NULL ? break_chain(l, epoch)
				   : store_count_cps(l->store, epoch, &l->cps);
	if (r < 0)
		return r;
	own_begin(&own);
	own_text(&own, KEY_OUTCOME, last.ended ? "clean" : "unclean");
	own_number(&own, KEY_EPOCH, l->epoch);
	own_place(l, &own);
	continues_check(l, cp->size, &own, &stopped);
	/* becomes durable with the first record that a writer waits for */
	r = own_append(l, EVENT_OPEN, &own);
	if (r < 0 || stopped.reason == NULL)
		return r;
	r = ledger_sign(l);
	if (r == 0)
		continues_begin(l, &stopped);
	return r;
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
ledger_open(int log_dir, int kept_dir, const struct writer *self, struct ledger **ret,
    const char **ret_why)
{
	static struct stored_cp cp;
	struct ledger *l;
	size_t line;
	int r;

	*ret_why = "out of memory";
	l = calloc(1, sizeof(*l));
	if (l == NULL)
		return -ENOMEM;
	l->log_dir = log_dir;
	l->kept_dir = kept_dir;
	l->slots = -1;
	l->self = *self;
	look_around(l);
	*ret_why = "invalid audit.conf";
	r = config_read(log_dir, &l->config, &line);
	if (r == 0) {
		*ret_why = "unable to recover an unfinished segment";
		r = segment_recover(log_dir);
	}
	if (r == 0)
		r = store_open(log_dir, &l->store, ret_why);
	if (r == 0) {
		*ret_why = "not enough disk space for the reserve";
		r = ledger_reserve(l);
	}
	if (r == 0) {
		*ret_why = "unable to open audit.key";
		r = slot_open(log_dir, &l->slots);
	}
	if (r == 0) {
		*ret_why = "unable to read the last checkpoint";
		r = store_last_cp(l->store, UINT64_MAX, &cp);
	}
	l->offset_ns = ledger_realtime() - loop_now();
	l->beat_ns = loop_now() + l->config.heartbeat_s * NS_PER_S;
	if (r == 0 && cp.size == 0) {
		*ret_why = "unable to create a new log";
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
	key_free(l->next);
	fd_close(&l->slots);
	free(l);
}
