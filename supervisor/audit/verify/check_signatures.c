/*
 * Checks the signatures of the checkpoints. Each needs the signature of the origin's
 * key, and of the key of its epoch, which the epoch before named.
 */
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "supervisor/audit/verify/verify.h"

static int
check_signatures(const struct order_walk *walk, sqlite3_stmt *s, struct note *note,
    struct verify_answer *answer)
{
	uint64_t size = (uint64_t)sqlite3_column_int64(s, 0);
	uint64_t epoch = (uint64_t)sqlite3_column_int64(s, 1);
	uint64_t idx = size > 0 ? size - 1 : 0;
	char name[NOTE_NAME_MAX];
	struct vkey vkey;

	if (note_parse(
		sqlite3_column_text(s, 2), (size_t)sqlite3_column_bytes(s, 2), note) < 0)
		return bad_record(answer, idx, "its checkpoint is not a signed note");
	/* before the remaining records only the origin's key is known */
	if (epoch < walk->first_epoch)
		return note_signed_by(note, &walk->origin_key, NULL)
			   ? 0
			   : bad_record(answer, idx, "its checkpoint is not signed");
	if (epoch - walk->first_epoch >= walk->key_n)
		return bad_record(answer, idx, "its checkpoint belongs to no epoch");
	(void)snprintf(name, sizeof(name), "%s/epoch/%" PRIu64, walk->origin, epoch);
	if (vkey_make(name, NOTE_ED25519, walk->key[epoch - walk->first_epoch], &vkey) <
	    0)
		return bad_record(answer, idx, "its epoch has no name");
	if (!note_signed_by(note, &vkey, NULL))
		return bad_record(
		    answer, idx, "its checkpoint is not signed by the epoch's key");
	if (!note_signed_by(note, &walk->origin_key, NULL))
		return bad_record(
		    answer, idx, "its checkpoint is not signed by the origin's key");
	return 0;
}

int
walk_signatures(const struct order_walk *walk, sqlite3 *db, uint64_t first, uint64_t last,
    struct verify_answer *answer)
{
	struct note *note = malloc(sizeof(*note));
	sqlite3_stmt *s = NULL;
	int code, r = 0;

	if (note == NULL)
		return found(answer, UNKNOWN, "out of memory");
	if (sqlite3_prepare_v2(db,
		"SELECT size, epoch, note FROM cp WHERE size >= ? AND size <= ? "
		"ORDER BY size",
		-1, &s, NULL) != SQLITE_OK) {
		r = sql_failed(answer, db, first);
		goto out;
	}
	(void)sqlite3_bind_int64(s, 1, (sqlite3_int64)first);
	(void)sqlite3_bind_int64(s, 2, (sqlite3_int64)last);
	while (r == 0 && (code = sqlite3_step(s)) == SQLITE_ROW)
		r = check_signatures(walk, s, note, answer);
	if (r == 0 && code != SQLITE_DONE)
		r = sql_failed(answer, db, first);
out:
	(void)sqlite3_finalize(s);
	free(note);
	return r;
}
