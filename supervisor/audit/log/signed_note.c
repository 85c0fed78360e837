/*
 * C2SP signed notes, and the texts that the log signs:
 *
 *	NAME of the log				the text: a checkpoint
 *	1234					(tlog-checkpoint)
 *	base64 of the root
 *						a blank line, then signatures
 *	- NAME base64(id || signature)		(the dash is U+2014)
 *
 * A key has a name; its id is the first 4 bytes of SHA-256(name || LF || type ||
 * key). Type 1 signs the text with Ed25519. Type 4 is a witness: it signs
 * "cosignature/v1 LF time T LF" and the text, and puts T (8 bytes, big-endian) before
 * its signature (tlog-cosignature).
 *
 * Runs on untrusted text; allocates nothing.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shim/base/hex.h"
#include "shim/base/wire.h"
#include "supervisor/audit/log/merkle.h"
#include "supervisor/audit/log/record.h"
#include "supervisor/audit/log/sign_key.h"
#include "supervisor/audit/log/signed_note.h"
#include "supervisor/audit/recorder/startup.h"

#define DASH     "\xe2\x80\x94 "
#define DASH_LEN 4
#define ID_LEN   ((size_t)4)
#define TIME_LEN 8

/* ---- keys ----------------------------------------------------------------- */

/* A valid key name: not empty, printable, no space, no plus. */
static bool
is_name(const uint8_t *name, size_t len)
{
	if (len == 0 || len >= NOTE_NAME_MAX)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (name[i] <= ' ' || name[i] == 0x7f || name[i] == '+')
			return false;
	}
	return true;
}

int
vkey_make(const char *name, enum note_type type, const uint8_t public[KEY_LEN],
    struct vkey *ret)
{
	uint8_t input[NOTE_NAME_MAX + 2 + KEY_LEN], digest[MERKLE_HASH_LEN];
	size_t len = strlen(name);

	if (!is_name((const uint8_t *)name, len))
		return -EINVAL;
	memcpy(input, name, len + 1);
	input[len] = '\n';
	input[len + 1] = (uint8_t)type;
	memcpy(input + len + 2, public, KEY_LEN);
	merkle_digest(input, len + 2 + KEY_LEN, digest);
	memcpy(ret->name, name, len + 1);
	ret->type = (uint8_t)type;
	memcpy(ret->id, digest, ID_LEN);
	memcpy(ret->public, public, KEY_LEN);
	return 0;
}

void
vkey_put(const struct vkey *vkey, char ret[NOTE_VKEY_MAX])
{
	uint8_t key[1 + KEY_LEN];
	char hex[2 * ID_LEN + 1];
	int n;

	key[0] = vkey->type;
	memcpy(key + 1, vkey->public, KEY_LEN);
	n = snprintf(
	    ret, NOTE_VKEY_MAX, "%s+%s+", vkey->name, hex_put(hex, vkey->id, ID_LEN));
	base64_put(ret + n, key, sizeof(key));
}

int
vkey_parse(struct span text, struct vkey *ret)
{
	const uint8_t *plus = memchr(text.data, '+', text.len);
	uint8_t key[1 + KEY_LEN];
	char name[NOTE_NAME_MAX], hex[2 * ID_LEN + 1];
	struct span rest;
	struct vkey made;
	size_t len;

	if (plus == NULL)
		return -EBADMSG;
	len = (size_t)(plus - text.data);
	if (len >= sizeof(name) || text.len - len < 2 + 2 * ID_LEN ||
	    plus[1 + 2 * ID_LEN] != '+')
		return -EBADMSG;
	memcpy(name, text.data, len);
	name[len] = '\0';
	rest = (struct span){plus + 2 + 2 * ID_LEN, text.len - len - 2 - 2 * ID_LEN};
	if (base64_get(rest, key, sizeof(key)) != (long)sizeof(key) ||
	    (key[0] != NOTE_ED25519 && key[0] != NOTE_COSIGNATURE) ||
	    strlen(name) != len || vkey_make(name, key[0], key + 1, &made) < 0)
		return -EBADMSG;
	if (memcmp(hex_put(hex, made.id, ID_LEN), plus + 1, 2 * ID_LEN) != 0)
		return -EBADMSG;
	*ret = made;
	return 0;
}

/* ---- checkpoints ------------------------------------------------------------ */

size_t
checkpoint_put(const struct checkpoint *cp, char *out, size_t out_cap)
{
	char root[BASE64_LEN(MERKLE_HASH_LEN)];

	base64_put(root, cp->root, MERKLE_HASH_LEN);
	return (size_t)snprintf(out, out_cap, "%s\n%llu\n%s\n", cp->origin,
	    (unsigned long long)cp->size, root);
}

/* Stores the next line without its newline; false at the end. */
static bool
line(struct span *rest, struct span *ret)
{
	const uint8_t *end = memchr(rest->data, '\n', rest->len);

	if (end == NULL)
		return false;
	*ret = (struct span){rest->data, (size_t)(end - rest->data)};
	*rest = (struct span){end + 1, rest->len - ret->len - 1};
	return true;
}

/* Extension lines after the third are allowed and ignored. */
int
checkpoint_parse(struct span text, struct checkpoint *ret)
{
	struct span rest = text, origin, size, root;
	struct checkpoint cp;

	if (!line(&rest, &origin) || !line(&rest, &size) || !line(&rest, &root))
		return -EBADMSG;
	if (!is_name(origin.data, origin.len) || size.len == 0 || size.len > 20 ||
	    (size.data[0] == '0' && size.len > 1) || !scan_number(size, &cp.size) ||
	    base64_get(root, cp.root, sizeof(cp.root)) != MERKLE_HASH_LEN)
		return -EBADMSG;
	memcpy(cp.origin, origin.data, origin.len);
	cp.origin[origin.len] = '\0';
	*ret = cp;
	return 0;
}

/* ---- notes -------------------------------------------------------------------- */

int
note_sign(char *note, size_t cap, size_t text_len, size_t *len, const struct vkey *vkey,
    const struct key *key)
{
	uint8_t bytes[ID_LEN + KEY_SIGN_LEN];
	char text[BASE64_LEN(sizeof(bytes))];
	size_t at = *len;
	int n;

	memcpy(bytes, vkey->id, ID_LEN);
	key_sign(key, note, text_len, bytes + ID_LEN);
	base64_put(text, bytes, sizeof(bytes));
	n = snprintf(note + at, cap - at, "%s" DASH "%s %s\n", at == text_len ? "\n" : "",
	    vkey->name, text);
	if (n < 0 || (size_t)n >= cap - at)
		return -ENOSPC;
	*len = at + (size_t)n;
	return 0;
}

static int
parse_sig(struct span text, struct note_sig *ret)
{
	uint8_t bytes[ID_LEN + sizeof(ret->bytes)];
	const uint8_t *space;
	struct span base64;
	long n;

	if (text.len < DASH_LEN || memcmp(text.data, DASH, DASH_LEN) != 0)
		return -EBADMSG;
	text.data += DASH_LEN;
	text.len -= DASH_LEN;
	space = memchr(text.data, ' ', text.len);
	if (space == NULL || !is_name(text.data, (size_t)(space - text.data)))
		return -EBADMSG;
	memcpy(ret->name, text.data, (size_t)(space - text.data));
	ret->name[space - text.data] = '\0';
	base64 = (struct span){space + 1, text.len - (size_t)(space - text.data) - 1};
	ret->len = 0;
	n = base64_get(base64, bytes, sizeof(bytes));
	if (n < (long)ID_LEN)
		return 0; /* longer than any signature, or invalid base64 */
	memcpy(ret->id, bytes, ID_LEN);
	ret->len = (size_t)n - ID_LEN;
	memcpy(ret->bytes, bytes + ID_LEN, ret->len);
	return 0;
}

int
note_parse(const void *bytes, size_t len, struct note *ret)
{
	const uint8_t *at = bytes;
	struct span rest, one;
	size_t text_len = 0;

	/* find the last blank line: the text may contain one */
	for (size_t i = 0; i + 1 < len; i++) {
		if (at[i] == '\n' && at[i + 1] == '\n')
			text_len = i + 1;
		if ((at[i] < 0x20 && at[i] != '\n') || at[i] == 0x7f)
			return -EBADMSG;
	}
	if (text_len == 0 || at[len - 1] != '\n')
		return -EBADMSG;
	ret->text = (struct span){at, text_len};
	ret->sig_n = 0;
	rest = (struct span){at + text_len + 1, len - text_len - 1};
	while (rest.len > 0) {
		if (ret->sig_n == NOTE_SIGS_MAX || !line(&rest, &one) ||
		    parse_sig(one, &ret->sig[ret->sig_n]) < 0)
			return -EBADMSG;
		ret->sig_n++;
	}
	return ret->sig_n > 0 ? 0 : -EBADMSG;
}

static bool
cosigned(const struct note *note, const struct note_sig *sig, const struct vkey *vkey,
    uint64_t *ret_time)
{
	char signed_[NOTE_MAX + 64];
	uint64_t time = 0;
	int n;

	if (sig->len != TIME_LEN + KEY_SIGN_LEN || note->text.len > NOTE_MAX)
		return false;
	for (size_t i = 0; i < TIME_LEN; i++)
		time = time << 8 | sig->bytes[i];
	n = snprintf(signed_, sizeof(signed_), "cosignature/v1\ntime %llu\n",
	    (unsigned long long)time);
	memcpy(signed_ + n, note->text.data, note->text.len);
	if (!key_verify(
		vkey->public, signed_, (size_t)n + note->text.len, sig->bytes + TIME_LEN))
		return false;
	if (ret_time != NULL)
		*ret_time = time;
	return true;
}

bool
note_signed_by(const struct note *note, const struct vkey *vkey, uint64_t *ret_time)
{
	for (size_t i = 0; i < note->sig_n; i++) {
		const struct note_sig *sig = &note->sig[i];

		if (strcmp(sig->name, vkey->name) != 0 ||
		    memcmp(sig->id, vkey->id, ID_LEN) != 0)
			continue;
		if (vkey->type == NOTE_COSIGNATURE
			? cosigned(note, sig, vkey, ret_time)
			: sig->len == KEY_SIGN_LEN &&
			      key_verify(vkey->public, note->text.data, note->text.len,
				  sig->bytes))
			return true;
	}
	return false;
}
