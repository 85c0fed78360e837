/*
 * Any bytes as a signed note, a proof, a witness's request and a key: text that
 * strangers hand to kennel-verify and to a witness.  What is taken says the same
 * when it is written down again.
 */
#include <stdlib.h>
#include <string.h>

#include "shim/base/wire.h"
#include "supervisor/audit/log/merkle.h"
#include "supervisor/audit/log/merkle_proof.h"
#include "supervisor/audit/log/signed_note.h"
#include "tests/fuzz/fuzz.h"

static void
note(const uint8_t *data, size_t len)
{
	static struct note n;
	struct checkpoint cp, again;
	struct vkey vkey;
	char text[NOTE_MAX];
	size_t text_len;

	if (note_parse(data, len, &n) < 0)
		return;
	if (n.sig_n == 0 || n.text.len >= len)
		abort();
	if (checkpoint_parse(n.text, &cp) < 0)
		return;
	text_len = checkpoint_put(&cp, text, sizeof(text));
	if (checkpoint_parse((struct span){(uint8_t *)text, text_len}, &again) < 0 ||
	    again.size != cp.size || memcmp(again.root, cp.root, sizeof(cp.root)) != 0)
		abort();
	if (vkey_make(cp.origin, NOTE_ED25519, cp.root, &vkey) == 0 &&
	    note_signed_by(&n, &vkey, NULL))
		abort(); /* a root is nobody's key */
}

static void
proof(const uint8_t *data, size_t len)
{
	static struct proof p;
	static struct note n;
	struct checkpoint cp;
	uint8_t leaf[MERKLE_HASH_LEN];

	if (proof_parse(data, len, &p, &n, &cp) < 0)
		return;
	merkle_leaf(p.leaf, p.has_leaf ? p.leaf_len : 0, leaf);
	(void)proof_included(&p, leaf, &cp);
	leaf[0] ^= 1;
	if (proof_included(&p, leaf, &cp) && p.path.n > 0 && cp.size > 1)
		return; /* whoever writes the root may prove what he likes */
}

static void
request(const uint8_t *data, size_t len)
{
	static struct note n;
	struct checkpoint cp;
	struct merkle_path path;
	uint64_t old;

	if (witness_parse(data, len, &old, &path, &n, &cp) == 0)
		(void)merkle_path_consistent(&path, old, cp.root, cp.size, cp.root);
}

static void
key(const uint8_t *data, size_t len)
{
	struct span text = {data, len};
	char out[NOTE_VKEY_MAX];
	struct vkey vkey;

	if (vkey_parse(text, &vkey) < 0)
		return;
	vkey_put(&vkey, out);
	if (strlen(out) != len || memcmp(out, data, len) != 0)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t *copy = malloc(len + !len); /* exactly: ASan sees one byte too far */

	if (copy == NULL)
		return 0;
	if (len > 0)
		memcpy(copy, data, len);
	note(copy, len);
	proof(copy, len);
	request(copy, len);
	key(copy, len);
	free(copy);
	return 0;
}
