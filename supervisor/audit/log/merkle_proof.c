/*
 * Merkle proofs (RFC 9162, sections 2.1.3 and 2.1.4), made and checked: that a record
 * is in a tree, and that one tree is a prefix of another. Also the text form of a
 * proof.
 *
 * Checking runs on untrusted text and allocates nothing.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shim/base/wire.h"
#include "supervisor/audit/log/merkle.h"
#include "supervisor/audit/log/merkle_proof.h"
#include "supervisor/audit/log/record.h"
#include "supervisor/audit/log/signed_note.h"

#define HEAD "c2sp.org/tlog-proof@v1\n"

/* ---- making ------------------------------------------------------------------- */

static uint64_t
split(uint64_t n) /* the largest power of two below n, n > 1 */
{
	uint64_t k = 1;

	while (k * 2 < n)
		k *= 2;
	return k;
}

static unsigned int
level_of(uint64_t n) /* of a power of two */
{
	unsigned int level = 0;

	while (n > 1) {
		n /= 2;
		level++;
	}
	return level;
}

int
merkle_path_root(
    const struct hashes *h, uint64_t from, uint64_t to, uint8_t ret[MERKLE_HASH_LEN])
{
	uint8_t part[MERKLE_LEVELS + 1][MERKLE_HASH_LEN], hash[MERKLE_HASH_LEN];
	size_t n = 0;
	int r = 0;

	if (from == to) {
		merkle_digest("", 0, ret);
		return 0;
	}
	/* full subtrees from the left, each as large as possible; from is a multiple
	 * of the first one's size, because RFC 9162 splits at powers of two */
	while (r == 0 && from < to) {
		uint64_t k = 1;

		while (k * 2 <= to - from)
			k *= 2;
		r = h->get(h->arg, level_of(k), from / k, part[n++]);
		from += k;
	}
	if (r < 0)
		return r;
	memcpy(hash, part[--n], MERKLE_HASH_LEN);
	while (n-- > 0)
		merkle_node(part[n], hash, hash);
	memcpy(ret, hash, MERKLE_HASH_LEN);
	return 0;
}

int
merkle_path_inclusion(
    const struct hashes *h, uint64_t index, uint64_t size, struct merkle_path *ret)
{
	uint8_t up[MERKLE_LEVELS][MERKLE_HASH_LEN];
	uint64_t from = 0, to = size;
	size_t n = 0;
	int r = 0;

	if (index >= size)
		return -EINVAL;
	while (r == 0 && to - from > 1) {
		uint64_t k = split(to - from);

		if (index < from + k) {
			r = merkle_path_root(h, from + k, to, up[n++]);
			to = from + k;
		} else {
			r = merkle_path_root(h, from, from + k, up[n++]);
			from += k;
		}
	}
	for (size_t i = 0; i < n; i++)
		memcpy(ret->hash[i], up[n - 1 - i], MERKLE_HASH_LEN);
	ret->n = n;
	return r;
}

int
merkle_path_consistency(
    const struct hashes *h, uint64_t old, uint64_t size, struct merkle_path *ret)
{
	uint8_t up[MERKLE_LEVELS + 1][MERKLE_HASH_LEN];
	uint64_t from = 0, to = size;
	bool whole = true;
	size_t n = 0;
	int r = 0;

	if (old > size)
		return -EINVAL;
	ret->n = 0;
	if (old == 0 || old == size)
		return 0;
	while (r == 0 && old - from != to - from) {
		uint64_t k = split(to - from);

		if (old - from <= k) {
			r = merkle_path_root(h, from + k, to, up[n++]);
			to = from + k;
		} else {
			r = merkle_path_root(h, from, from + k, up[n++]);
			from += k;
			whole = false;
		}
	}
	if (r == 0 && !whole)
		r = merkle_path_root(h, from, to, up[n++]);
	for (size_t i = 0; i < n; i++)
		memcpy(ret->hash[i], up[n - 1 - i], MERKLE_HASH_LEN);
	ret->n = n;
	return r;
}

/* ---- checking -------------------------------------------------------------------- */

static bool
merkle_path_included(const struct merkle_path *path, const uint8_t leaf[MERKLE_HASH_LEN],
    uint64_t index, uint64_t size, const uint8_t root[MERKLE_HASH_LEN])
{
	uint64_t fn = index, sn = size - 1;
	uint8_t hash[MERKLE_HASH_LEN];

	if (index >= size)
		return false;
	memcpy(hash, leaf, MERKLE_HASH_LEN);
	for (size_t i = 0; i < path->n; i++) {
		if (sn == 0)
			return false;
		if ((fn & 1) != 0 || fn == sn) {
			merkle_node(path->hash[i], hash, hash);
			while ((fn & 1) == 0 && fn != 0) {
				fn >>= 1;
				sn >>= 1;
			}
		} else {
			merkle_node(hash, path->hash[i], hash);
		}
		fn >>= 1;
		sn >>= 1;
	}
	return sn == 0 && memcmp(hash, root, MERKLE_HASH_LEN) == 0;
}

bool
merkle_path_consistent(const struct merkle_path *path, uint64_t old,
    const uint8_t old_root[MERKLE_HASH_LEN], uint64_t size,
    const uint8_t root[MERKLE_HASH_LEN])
{
	uint8_t fr[MERKLE_HASH_LEN], sr[MERKLE_HASH_LEN];
	uint64_t fn = old - 1, sn = size - 1;
	size_t i = 0;

	if (old == 0 || old > size)
		return old == 0 && path->n == 0;
	if (old == size)
		return path->n == 0 && memcmp(old_root, root, MERKLE_HASH_LEN) == 0;
	while ((fn & 1) != 0) {
		fn >>= 1;
		sn >>= 1;
	}
	if ((old & (old - 1)) == 0) {
		memcpy(fr, old_root, MERKLE_HASH_LEN);
	} else {
		if (path->n == 0)
			return false;
		memcpy(fr, path->hash[i++], MERKLE_HASH_LEN);
	}
	memcpy(sr, fr, MERKLE_HASH_LEN);
	for (; i < path->n; i++) {
		if (sn == 0)
			return false;
		if ((fn & 1) != 0 || fn == sn) {
			merkle_node(path->hash[i], fr, fr);
			merkle_node(path->hash[i], sr, sr);
			while ((fn & 1) == 0 && fn != 0) {
				fn >>= 1;
				sn >>= 1;
			}
		} else {
			merkle_node(sr, path->hash[i], sr);
		}
		fn >>= 1;
		sn >>= 1;
	}
	return sn == 0 && memcmp(fr, old_root, MERKLE_HASH_LEN) == 0 &&
	       memcmp(sr, root, MERKLE_HASH_LEN) == 0;
}

/* ---- text form --------------------------------------------------------------------- */

size_t
proof_put(const struct proof *proof, const char *note, char *out, size_t cap)
{
	char base64[BASE64_LEN(AUDIT_BODY_MAX)];
	size_t n = (size_t)snprintf(out, cap, HEAD);

	if (proof->has_leaf) {
		base64_put(base64, proof->leaf, proof->leaf_len);
		n += (size_t)snprintf(out + n, cap - n, "extra %s\n", base64);
	}
	n += (size_t)snprintf(
	    out + n, cap - n, "index %llu\n", (unsigned long long)proof->index);
	for (size_t i = 0; i < proof->path.n; i++) {
		base64_put(base64, proof->path.hash[i], MERKLE_HASH_LEN);
		n += (size_t)snprintf(out + n, cap - n, "%s\n", base64);
	}
	n += (size_t)snprintf(out + n, cap - n, "\n%s", note);
	return n;
}

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

/* Stores the rest of the line after a keyword; false if the line has another
 * keyword. */
static bool
worded(struct span one, const char *word, struct span *ret)
{
	size_t n = strlen(word);

	if (one.len < n || memcmp(one.data, word, n) != 0)
		return false;
	*ret = (struct span){one.data + n, one.len - n};
	return true;
}

int
proof_parse(const void *bytes, size_t len, struct proof *ret, struct note *ret_note,
    struct checkpoint *ret_cp)
{
	struct span rest = {bytes, len}, one, value;
	long n;

	ret->path.n = 0;
	ret->has_leaf = false;
	if (len < sizeof(HEAD) || memcmp(bytes, HEAD, sizeof(HEAD) - 1) != 0)
		return -EBADMSG;
	rest.data += sizeof(HEAD) - 1;
	rest.len -= sizeof(HEAD) - 1;
	if (!line(&rest, &one))
		return -EBADMSG;
	if (worded(one, "extra ", &value)) {
		n = base64_get(value, ret->leaf, sizeof(ret->leaf));
		if (n < 0 || !line(&rest, &one))
			return -EBADMSG;
		ret->has_leaf = true;
		ret->leaf_len = (size_t)n;
	}
	if (!worded(one, "index ", &value) || value.len == 0 || value.len > 20 ||
	    (value.data[0] == '0' && value.len > 1) || !scan_number(value, &ret->index))
		return -EBADMSG;
	while (line(&rest, &one) && one.len > 0) {
		if (ret->path.n == PATH_MAX_HASHES ||
		    base64_get(one, ret->path.hash[ret->path.n], MERKLE_HASH_LEN) !=
			MERKLE_HASH_LEN)
			return -EBADMSG;
		ret->path.n++;
	}
	if (one.len > 0 || note_parse(rest.data, rest.len, ret_note) < 0)
		return -EBADMSG;
	return checkpoint_parse(ret_note->text, ret_cp);
}

bool
proof_included(const struct proof *proof, const uint8_t leaf[MERKLE_HASH_LEN],
    const struct checkpoint *cp)
{
	return merkle_path_included(&proof->path, leaf, proof->index, cp->size, cp->root);
}

/* ---- requests to a witness --------------------------------------------------- */

int
witness_parse(const void *bytes, size_t len, uint64_t *ret_old,
    struct merkle_path *ret_path, struct note *ret_note, struct checkpoint *ret_cp)
{
	struct span rest = {bytes, len}, one, number;
	struct merkle_path path = {.n = 0};

	if (!line(&rest, &one) || one.len < 5 || memcmp(one.data, "old ", 4) != 0)
		return -EBADMSG;
	number = (struct span){one.data + 4, one.len - 4};
	if (number.len > 20 || (number.data[0] == '0' && number.len > 1) ||
	    !scan_number(number, ret_old))
		return -EBADMSG;
	while (line(&rest, &one) && one.len > 0) {
		uint8_t hash[MERKLE_HASH_LEN];

		if (path.n == PATH_MAX_HASHES ||
		    base64_get(one, hash, sizeof(hash)) != MERKLE_HASH_LEN)
			return -EBADMSG;
		memcpy(path.hash[path.n++], hash, sizeof(hash));
	}
	if (one.len > 0 || note_parse(rest.data, rest.len, ret_note) < 0)
		return -EBADMSG;
	*ret_path = path;
	return checkpoint_parse(ret_note->text, ret_cp);
}
