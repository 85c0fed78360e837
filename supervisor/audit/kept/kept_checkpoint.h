/*
 * The last checkpoint of each log of a place, kept outside of the log's directory: in
 * LOG_DIR.kept, so that a log that was moved away, cut or put back from a copy is noticed
 * by the next recorder, kennel doctor and kennel audit verify.
 *
 *	ID.checkpoint		of the log whose origin ends with ID: its last one, as
 *				signed; its time is the file's
 *	ID-SIZE.checkpoint	one that the log there did not continue; SIZE is 0 for a
 *				file that is damaged
 *
 * The same user can remove both the log and these files; only a witness shows that.
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_KEPT_KEPT_CHECKPOINT_H
#define KENNEL_SUPERVISOR_AUDIT_KEPT_KEPT_CHECKPOINT_H

#include "supervisor/audit/log/signed_note.h"

#define KEPT_DIR_TAIL ".kept" /* appended to the path of the log's directory */
#define KEPT_NAME_MAX 64
#define KEPT_MAX      32 /* files that are read */

struct kept {
	char name[KEPT_NAME_MAX]; /* of the file */
	struct checkpoint cp;
	uint64_t ts; /* ns since 1970: when it was written */
};

/* The origin, size and root in the bytes of a file. 0 or -EBADMSG. */
int kept_parse(const char *, size_t, struct checkpoint *ret);
/* True if a file of this name is one of these. */
bool kept_is_name(const char *);
/* Reads all files, at most KEPT_MAX, the newest first. 0; -EBADMSG: ret[0].name is
 * damaged; -E2BIG; -errno. */
int kept_list(int dir, struct kept ret[KEPT_MAX], size_t *ret_n);
/* "ORIGIN, which had N records at TIME (kept checkpoint NAME)". */
#define KEPT_TEXT_MAX 512
const char *kept_text(const struct kept *, char out[KEPT_TEXT_MAX]);
/* Replaces ID.checkpoint by this note, atomically and on disk. 0 or -errno. */
int kept_put(int dir, const char *origin, const char *note);
/* Renames ID.checkpoint, so that kept_put leaves it. 0 or -errno. */
int kept_set_aside(int dir, const struct kept *);

#endif
