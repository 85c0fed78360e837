/*
 * The keeper's change requests: a function each, and one way to the disk.
 *
 * Process: kennel-keeper.  A change is acknowledged once it is on the disk.  If it
 * cannot be written, the state in memory is discarded and the vault is locked.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "leash/keeper/private.h"
#include "shim/base/log.h"

uint64_t
change_now(void)
{
	time_t t = time(NULL); /* syscalls: time */

	return t > 0 ? (uint64_t)t : 1;
}

int
change_save(void)
{
	uint8_t *bytes = NULL;
	size_t len = 0;
	int r;

	(void)vault_file_prune(
	    keeper.file, change_now()); /* also remove what has expired */
	r = vault_file_write(keeper.file, change_now(), &bytes, &len);
	if (r == 0)
		r = vault_file_save(KEEPER_FD_VAULT, bytes, len, &keeper.seen);
	free(bytes);
	if (r < 0) {
		log_error("unable to write the vault: %s", strerror(-r));
		keeper_lock("unable to save the change");
	}
	return r;
}

/* The end of each change: writes it to the disk, then replies. */
int
change_settle(struct wire_out *out, int r, uint32_t what)
{
	if (r == 0)
		r = change_save();
	if (r < 0)
		return answer_error(out, r);
	keeper_used();
	return answer_done(out, what);
}

/* The same for a change that no person makes: the vault locks when it would have. */
int
change_settle_alone(struct wire_out *out, int r, uint32_t what)
{
	if (r == 0)
		r = change_save();
	return r < 0 ? answer_error(out, r) : answer_done(out, what);
}

/* u32 kind, bytes.  A phrase is sent as text and decoded into words[]. */
static int
read_material(
    struct wire_in *in, struct vault_file_material *ret, uint8_t words[PHRASE_BYTES])
{
	uint32_t kind = wire_get_u32(in);
	struct span bytes = wire_get_bytes(in, KEEPER_MATERIAL_MAX);

	if (in->error != 0 || kind < OPENER_PASSPHRASE || kind > OPENER_RECOVERY)
		return -EBADMSG;
	ret->kind = kind;
	ret->bytes = bytes.data;
	ret->len = bytes.len;
	if (kind == OPENER_RECOVERY) {
		/* an invalid phrase unlocks nothing: length 0 */
		ret->len = 0;
		if (phrase_read((const char *)bytes.data, bytes.len, words) == 0) {
			ret->bytes = words;
			ret->len = PHRASE_BYTES;
		}
	}
	return 0;
}

/* Room for a phrase's bytes, in the pages: after the longest reply. */
static uint8_t *
words_room(void)
{
	return keeper.out + (KEEPER_PACKET_MAX - (size_t)2 * PHRASE_BYTES);
}

static void
words_wipe(void)
{
	vault_wipe(words_room(), 2 * (size_t)PHRASE_BYTES);
}

/* ---- the vault -------------------------------------------------------------------- */

int
change_init(struct peer *peer, struct wire_in *in, struct wire_out *out)
{
	struct vault_file_material m;
	struct reason why;
	int r;

	r = read_material(in, &m, words_room());
	if (r < 0 || wire_end(in) < 0 || m.kind == OPENER_RECOVERY)
		return -EBADMSG;
	r = answer_load(&why);
	if (r != -ENOENT)
		return answer_refuse(out, REASON_THERE,
		    "the vault already exists: open it with kennel secret unlock");
	r = vault_file_new(keeper.pages, &keeper.file);
	if (r == 0)
		r = vault_file_seal(keeper.file, &m);
	if (r == 0)
		r = change_save();
	if (r < 0) {
		keeper_lock("unable to create the vault");
		return answer_error(out, r);
	}
	keeper_opened(0, 0);
	log_info("created by process %d (%s)", peer->pid, peer->who);
	return answer_done(out, 0);
}

static int
opener_missing(const struct vault_file_material *m, int r, struct reason *why)
{
	return r != -ENOENT ? r
			    : reason_set(why, -ENODATA, "the vault has no %s",
				  vault_file_opener_name(m->kind));
}

/* Unlocks it, from the file as it is on disk now.  An open vault stays open if the material
 * is wrong, unless that is so for the third time.  -ENODATA: it does not fit, why. */
static int
open_with(const struct vault_file_material *m, struct reason *why)
{
	int r = keeper_is_open() ? confirm_material(m) : 0;

	why->text[0] = '\0';
	if (r == -EKEYREJECTED)
		return reason_set(why, -ENODATA, "%s",
		    keeper_is_open() ? "wrong passphrase, key file or recovery phrase; "
				       "the vault stays unlocked"
				     : CONFIRM_LOCKED);
	if (r < 0)
		return opener_missing(m, r, why);
	vault_file_free(keeper.file);
	keeper.file = NULL;
	r = answer_load(why);
	if (r == 0)
		r = opener_missing(m, vault_file_unlock(keeper.file, m), why);
	if (r < 0)
		keeper_lock("unlock failed");
	return r;
}

static int
refuse_open(struct wire_out *out, int r, const char *why, const struct peer *peer)
{
	char text[KEEPER_TEXT_MAX];

	log_warn("not opened for process %d (%s)", peer->pid, peer->who);
	if (r == -ENODATA)
		return answer_refuse(out, REASON_WRONG, why);
	if (r == -ENOENT)
		return answer_refuse(out, REASON_NO_VAULT, "no vault found");
	if (why[0] == '\0')
		return answer_error(out, r);
	(void)snprintf(text, sizeof(text), "unable to read the vault file: %.110s%s", why,
	    r == -EBADMSG ? RESTORE_BACKUP : "");
	return answer_refuse(out, REASON_ALTERED, text);
}

int
change_unlock(struct peer *peer, struct wire_in *in, struct wire_out *out)
{
	uint32_t idle_s = wire_get_u32(in), cap_s = wire_get_u32(in);
	struct vault_file_material m;
	struct reason why;
	int r;

	r = read_material(in, &m, words_room());
	if (r < 0 || wire_end(in) < 0)
		return -EBADMSG;
	r = open_with(&m, &why);
	words_wipe();
	if (r < 0)
		return refuse_open(out, r, why.text, peer);
	keeper_opened(idle_s, cap_s);
	log_info("unlocked with a %s by process %d (%s)", vault_file_opener_name(m.kind),
	    peer->pid, peer->who);
	return answer_done(out, 0);
}

/* Material that unlocks it, and new material to add. */
int
change_reseal(struct peer *peer, struct wire_in *in, struct wire_out *out)
{
	bool was_open = keeper_is_open();
	struct vault_file_material old = {0}, new = {0};
	struct reason why;
	int r;

	r = read_material(in, &old, words_room());
	if (r == 0)
		r = read_material(in, &new, words_room() + PHRASE_BYTES);
	if (r < 0 || wire_end(in) < 0 || new.kind == OPENER_RECOVERY)
		return -EBADMSG;
	r = open_with(&old, &why);
	if (r < 0) {
		words_wipe();
		return refuse_open(out, r, why.text, peer);
	}
	r = change_settle(out, vault_file_seal(keeper.file, &new), 0);
	words_wipe();
	log_info("new %s, by process %d (%s)", vault_file_opener_name(new.kind),
	    peer->pid, peer->who);
	if (!was_open) {
		uint8_t answer[KEEPER_TEXT_MAX + 16];
		size_t len = out->len;

		/* the reply contains no secret; locking wipes the packet */
		if (len > sizeof(answer))
			return -EMSGSIZE;
		memcpy(answer, out->data, len);
		keeper_lock("it was locked before");
		memcpy(out->data, answer, len);
	}
	return r;
}

/* Replaces the recovery phrase; it is sent once. */
int
change_phrase(struct peer *peer, struct wire_in *in, struct wire_out *out)
{
	struct vault_file_material old, new = {OPENER_RECOVERY, NULL, PHRASE_BYTES};
	uint8_t *words = words_room();
	struct reason why;
	int r;

	r = read_material(in, &old, words + PHRASE_BYTES);
	if (r < 0 || wire_end(in) < 0 || old.kind == OPENER_RECOVERY)
		return -EBADMSG;
	r = open_with(&old, &why);
	if (r < 0)
		return refuse_open(out, r, why.text, peer);
	keeper_opened(0, 0);
	phrase_draw(words);
	new.bytes = words;
	r = vault_file_seal(keeper.file, &new);
	if (r == 0)
		r = change_save();
	if (r < 0)
		return answer_error(out, r);
	wire_put_u32(out, KEEPER_PHRASE_IS);
	wire_put_u32(out, (uint32_t)PHRASE_LEN - 1);
	phrase_write(words, (char *)out->data + out->len);
	out->len += PHRASE_LEN; /* including its NUL */
	words_wipe();
	log_info("new recovery phrase, by process %d (%s)", peer->pid, peer->who);
	return out->error;
}

/* ---- values ----------------------------------------------------------------------- */

/* The keeper's own entry, which these requests do not reach. */
static bool
is_own(const char *path)
{
	return strcmp(path, KEYS_PATH) == 0;
}

int
change_put(struct peer *peer, struct wire_in *in, struct wire_out *out)
{
	const char *path = wire_get_str(in, KEEPER_PATH_MAX);
	uint8_t next = wire_get_u8(in);
	struct span value = wire_get_bytes(in, VAULT_VALUE_MAX);
	uint32_t version = 0;
	int r;

	if (wire_end(in) < 0 || next > 1)
		return -EBADMSG;
	if (!keeper_is_open())
		return answer_error(out, -ENOKEY);
	r = is_own(path) ? -EINVAL
			 : vault_file_put(keeper.file, path, value.data, value.len,
			       next == 1, change_now(), &version);
	if (r == 0)
		log_info("%s has version %u, by process %d (%s)", path, version,
		    peer->pid, peer->who);
	return change_settle(out, r, version);
}

int
change_remove(struct peer *peer, struct wire_in *in, struct wire_out *out)
{
	const char *path = wire_get_str(in, KEEPER_PATH_MAX);

	if (wire_end(in) < 0)
		return -EBADMSG;
	if (!keeper_is_open())
		return answer_error(out, -ENOKEY);
	return change_settle(
	    out, is_own(path) ? -EINVAL : vault_file_remove(keeper.file, path), 0);
}

bool
change_has_path(const char *path)
{
	for (size_t i = 0; i < vault_file_entry_n(keeper.file); i++)
		if (strcmp(vault_file_entry(keeper.file, i).path, path) == 0)
			return true;
	return false;
}

int
change_restore(struct peer *peer, struct wire_in *in, struct wire_out *out)
{
	const char *path = wire_get_str(in, KEEPER_PATH_MAX);
	uint32_t version = wire_get_u32(in), made = 0;
	int r;

	if (wire_end(in) < 0)
		return -EBADMSG;
	if (!keeper_is_open())
		return answer_error(out, -ENOKEY);
	r = is_own(path)
		? -EINVAL
		: vault_file_restore(keeper.file, path, version, change_now(), &made);
	if (r == -ENOENT && change_has_path(path))
		return answer_refuse(out, REASON_NOT_THERE,
		    "no such version: `kennel secret versions` with the path lists them");
	return change_settle(out, r, made);
}

/* ---- grants ----------------------------------------------------------------------- */

/* Is this policy still granted the path? */
static bool
is_granted(const struct vault_file_grant *g, const uint8_t id[KEEPER_ID_LEN])
{
	const struct vault_file_grant *old;

	for (size_t i = 0; i < vault_file_grant_n(keeper.file); i++) {
		old = vault_file_grant_at(keeper.file, i);
		if (strcmp(old->path, g->path) == 0 &&
		    strcmp(old->server, g->server) == 0 && old->whose == GRANT_POLICY &&
		    memcmp(old->id, id, KEEPER_ID_LEN) == 0)
			return true;
	}
	return false;
}

static int
grant(struct peer *peer, struct wire_in *in, struct wire_out *out, bool after)
{
	struct vault_file_grant g = {.path = wire_get_str(in, KEEPER_PATH_MAX)};
	struct span id, source = {.len = KEEPER_ID_LEN};
	int r;

	g.server = wire_get_str(in, KEEPER_SERVER_MAX);
	g.whose = wire_get_u32(in);
	id = wire_get_bytes(in, KEEPER_ID_LEN);
	if (after)
		source = wire_get_bytes(in, KEEPER_ID_LEN);
	if (wire_end(in) < 0 || id.len != KEEPER_ID_LEN || source.len != KEEPER_ID_LEN)
		return -EBADMSG;
	memcpy(g.id, id.data, id.len);
	g.made = change_now();
	if (!keeper_is_open())
		return answer_error(out, -ENOKEY);
	if (after && !is_granted(&g, source.data))
		return answer_refuse(out, REASON_NOT_THERE,
		    "the grant of the earlier policy was revoked: run `kennel secret "
		    "grant` with the path and --server");
	r = vault_file_grant(keeper.file, &g);
	if (r == -EEXIST) /* it may exist already, which is fine */
		return answer_done(out, 0);
	if (r == 0)
		log_info("%s is granted to a server, by process %d (%s)", g.path,
		    peer->pid, peer->who);
	return change_settle(out, r, 1);
}

int
change_grant(struct peer *peer, struct wire_in *in, struct wire_out *out)
{
	return grant(peer, in, out, false);
}

/* A grant that follows from an earlier one must not outlive a revocation that came in
 * between. */
int
change_grant_after(struct peer *peer, struct wire_in *in, struct wire_out *out)
{
	return grant(peer, in, out, true);
}

static int
settle_revoked(struct wire_out *out, size_t n)
{
	if (n == 0)
		return answer_refuse(out, REASON_NOT_THERE,
		    "no such grant: `kennel secret grants` with the path lists them");
	return change_settle(out, 0, (uint32_t)n);
}

int
change_revoke(struct peer *peer, struct wire_in *in, struct wire_out *out)
{
	const char *path = wire_get_str(in, KEEPER_PATH_MAX);
	const char *server = wire_get_str(in, KEEPER_SERVER_MAX);
	size_t n;

	if (wire_end(in) < 0)
		return -EBADMSG;
	if (!keeper_is_open())
		return answer_error(out, -ENOKEY);
	n = vault_file_revoke(keeper.file, path, server[0] != '\0' ? server : NULL, NULL);
	return settle_revoked(out, n);
}

int
change_revoke_one(struct peer *peer, struct wire_in *in, struct wire_out *out)
{
	const char *path = wire_get_str(in, KEEPER_PATH_MAX);
	const char *server = wire_get_str(in, KEEPER_SERVER_MAX);
	struct span id = wire_get_bytes(in, KEEPER_ID_LEN);
	size_t n;

	if (wire_end(in) < 0 || id.len != KEEPER_ID_LEN)
		return -EBADMSG;
	if (!keeper_is_open())
		return answer_error(out, -ENOKEY);
	n = vault_file_revoke(keeper.file, path, server, id.data);
	return settle_revoked(out, n);
}
