/*
 * "kennel audit certify": the result of kennel-verify, signed by the log's key.
 *
 * The result is a C2SP signed note. Its second line is not a number, so it can never
 * be parsed as a checkpoint signed by the same key.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "supervisor/audit/audit_help.h"
#include "supervisor/audit/log/sign_key.h"
#include "supervisor/audit/log/signed_note.h"
#include "supervisor/audit/report/disclosure.h"
#include "supervisor/audit/query/query.h"
#include "supervisor/audit/query/scan.h"
#include "supervisor/audit/query/describe.h"
#include "supervisor/audit/report/verbs.h"

struct found {
	uint64_t records, first_ts, last_ts;
	uint64_t epochs, openings, unclean, gaps, breaks, clocks, prunes, cosigs;
	uint64_t witnessed; /* the largest size that a witness signed */
};

static int
see(void *arg, const struct log_record *record)
{
	struct found *f = arg;
	const struct {
		const char *kind;
		uint64_t *n;
	} row[] = {{"epoch", &f->epochs}, {"end", &f->epochs}, {"open", &f->openings},
	    {"genesis", &f->openings}, {"gap", &f->gaps}, {"break", &f->breaks},
	    {"clock", &f->clocks}, {"prune", &f->prunes}, {"cosig", &f->cosigs}};
	uint64_t size;

	if (f->records++ == 0) {
		f->first_ts = record->ts;
		f->epochs = 1; /* as kennel-verify: the first record is in one */
	}
	f->last_ts = record->ts;
	for (size_t i = 0; i < ARRAY_LEN(row); i++)
		*row[i].n += strcmp(row[i].kind, record->kind) == 0;
	f->unclean += strcmp(record->kind, "open") == 0 &&
		      log_record_is(record, "outcome", "unclean");
	if (strcmp(record->kind, "cosig") == 0 &&
	    log_record_number(record, "size", &size) && size > f->witnessed)
		f->witnessed = size;
	return 0;
}

/* Reads the log's key and its public half, and checks that they match. */
static int
read_keys(const char *folder, struct key **ret_key, struct vkey *ret_vkey)
{
	char text[NOTE_VKEY_MAX];
	struct key *key = NULL;
	struct vkey vkey;
	int r = 0, fd = -1, dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ssize_t n = 0;

	/* syscalls: openat read */
	if (dir < 0)
		return -errno;
	fd = openat(dir, "origin.vkey", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || (n = read(fd, text, sizeof(text))) < 0)
		r = -errno;
	while (n > 0 && text[n - 1] == '\n')
		n--;
	if (r == 0)
		r = vkey_parse((struct span){(const uint8_t *)text, (size_t)n}, &vkey);
	if (r == 0)
		r = slot_origin(dir, false, &key);
	if (r == 0 && memcmp(key_public(key), vkey.public, KEY_LEN) != 0)
		r = -EBADMSG;
	fd_close(&fd);
	fd_close(&dir);
	if (r < 0) {
		key_free(key);
		return r;
	}
	*ret_key = key;
	*ret_vkey = vkey;
	return 0;
}

static size_t
put_text(const struct log_view *view, const struct vkey *vkey, const struct found *f,
    char *out, size_t cap)
{
	char root[BASE64_LEN(MERKLE_HASH_LEN)], first[DESCRIBE_TIME_MAX],
	    last[DESCRIBE_TIME_MAX];
	int n;

	base64_put(root, view->root, MERKLE_HASH_LEN);
	n = snprintf(out, cap,
	    NOTE_CERTIFICATE
	    "\nlog %s\nrecords %" PRIu64 " to %" PRIu64 " of %" PRIu64
	    "\nroot %s\nfrom %s\nto %s\nverified every record, index, checkpoint and "
	    "signature\nend %s\nepochs %" PRIu64 "\nrecorders %" PRIu64 ", %" PRIu64
	    " without an end\ncosignatures %" PRIu64 ", the last of %" PRIu64
	    " records\nlost events %" PRIu64 " times\nlost keys %" PRIu64
	    " times\nclock set %" PRIu64 " times\nremoved %" PRIu64 " times\n",
	    vkey->name, view->first, view->size - 1, view->size, root,
	    describe_time(f->first_ts, 9, first), describe_time(f->last_ts, 9, last),
	    view->complete ? "shown" : "not shown: it may have been cut off",
	    f->epochs + f->breaks, f->openings, f->unclean, f->cosigs, f->witnessed,
	    f->gaps, f->breaks, f->clocks, f->prunes);
	return n > 0 && (size_t)n < cap ? (size_t)n : 0;
}

/* Never overwrites a file. */
static int
give(const char *path, const char *text, size_t len)
{
	int r, fd = STDOUT_FILENO;

	if (path != NULL)
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = fd_write_all(fd, text, len);
	if (path != NULL)
		fd_close(&fd);
	return r;
}

/* Returns an exit status; view->why gives the reason of a failure. */
static int
certify(struct query *q, struct log_view *view)
{
	static char note[NOTE_MAX];
	struct found f = {.records = 0};
	struct key *key = NULL;
	struct vkey vkey;
	size_t text_len, len;
	int r;

	r = log_scan_each(view, q, see, &f);
	if (r == -EUCLEAN)
		return ASK_TAMPERED;
	if (r == 0)
		r = read_keys(view->folder, &key, &vkey);
	if (r == 0) {
		text_len = len = put_text(view, &vkey, &f, note, sizeof(note));
		r = len > 0 ? note_sign(note, sizeof(note), text_len, &len, &vkey, key)
			    : -E2BIG;
	}
	key_free(key);
	if (r == 0)
		r = disclosure_book("certify", "note", q, view);
	if (r == 0)
		r = give(q->out, note, len);
	if (r < 0 && view->why[0] == '\0')
		(void)snprintf(view->why, sizeof(view->why), "%s",
		    r == -ENOENT    ? "the log's key is missing"
		    : r == -EBADMSG ? "the key is not the log's"
				    : strerror(-r));
	return r == 0 ? ASK_OK : ASK_FAILED;
}

int
certify_main(int argc, char **argv)
{
	static struct log_view view;
	struct query q;
	int status;

	if (options_read(argc, argv, "!o", &q) < 0)
		return ASK_USAGE;
	if (q.argc > 0)
		return help_usage(
		    &audit_help, "certify", "a certificate covers the whole log");
	q.verified = true;
	status = log_view_open(&q, &view);
	if (status == ASK_OK)
		status = certify(&q, &view);
	verb_complain(&q, status, view.why);
	log_view_close(&view);
	return status;
}
