/*
 * "kennel audit pack SESSION": an incident as one self-verifying file.
 *
 *	README			how to check it, without kennel's log
 *	checkpoint		the signed note that all proofs refer to
 *	origin.vkey		the log's public key, to compare with a copy kept elsewhere
 *	records.jsonl		the session's records, byte for byte
 *	proofs/IDX.tlog-proof	the proof of each of them
 *	policies/DIGEST.kennel	the session's policy as text, if it was kept,
 *	policies/ID.sealed	and as compiled
 *	report.html		the records as a page
 *
 * The file is a ustar archive without times, owners or other data of this machine. So
 * the same session and checkpoint always give the same pack.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/buf.h"
#include "shim/base/fd.h"
#include "shim/base/hex.h"
#include "shim/base/log.h"
#include "supervisor/audit/audit_help.h"
#include "supervisor/audit/log/kept_policies.h"
#include "supervisor/audit/log/merkle_read.h"
#include "supervisor/audit/report/disclosure.h"
#include "supervisor/audit/query/escape.h"
#include "supervisor/audit/query/group.h"
#include "supervisor/audit/query/query.h"
#include "supervisor/audit/query/scan.h"
#include "supervisor/audit/report/report.h"
#include "supervisor/audit/report/verbs.h"

#define TAR_BLOCK   512
#define RECORDS_MAX 100000
#define LOADS_MAX   64 /* policies of one session: normally one */
#define VKEY_NAME   "origin.vkey"

struct pack {
	FILE *out;
	struct logtree *tree;
	struct buf records;
	uint64_t *idx;
	size_t idx_n;
	struct {
		enum policies_form form;
		uint8_t digest[MERKLE_HASH_LEN];
	} load[LOADS_MAX];
	size_t load_n;
};

/* ---- tar ------------------------------------------------------------------------- */

static void
octal(char *at, size_t digits, uint64_t n)
{
	at[digits] = '\0';
	while (digits-- > 0) {
		at[digits] = (char)('0' + (n & 7));
		n >>= 3;
	}
}

/* POSIX.1-2017, pax: "ustar Interchange Format". */
static int
put_file(FILE *out, const char *name, const void *bytes, size_t len)
{
	static const char zero[TAR_BLOCK];
	char head[TAR_BLOCK] = {0};
	unsigned int sum = 0;
	size_t rest = (TAR_BLOCK - len % TAR_BLOCK) % TAR_BLOCK;

	if (strlen(name) >= 100)
		return -ENAMETOOLONG;
	(void)snprintf(head, 100, "%s", name);
	octal(head + 100, 7, 0644);
	octal(head + 108, 7, 0);
	octal(head + 116, 7, 0);
	octal(head + 124, 11, len);
	octal(head + 136, 11, 0);
	memset(head + 148, ' ', 8);
	head[156] = '0';
	(void)snprintf(head + 257, 6, "ustar");
	head[263] = head[264] = '0'; /* its version */
	for (size_t i = 0; i < TAR_BLOCK; i++)
		sum += (unsigned char)head[i];
	octal(head + 148, 6, sum);
	if (fwrite(head, 1, TAR_BLOCK, out) != TAR_BLOCK ||
	    fwrite(bytes, 1, len, out) != len || fwrite(zero, 1, rest, out) != rest)
		return -EIO;
	return 0;
}

static int
put_end(FILE *out)
{
	static const char zero[2 * TAR_BLOCK];

	return fwrite(zero, 1, sizeof(zero), out) == sizeof(zero) ? 0 : -EIO;
}

/* ---- contents ----------------------------------------------------------------------- */

/* Adds each policy once, however often it is recorded. */
static void
want_policy(struct pack *p, enum policies_form form, const char *hex)
{
	uint8_t digest[MERKLE_HASH_LEN];
	size_t i = 0;

	if (hex == NULL || !hex_get(hex, strlen(hex), digest, sizeof(digest)))
		return;
	while (
	    i < p->load_n && (p->load[i].form != form ||
				 memcmp(p->load[i].digest, digest, sizeof(digest)) != 0))
		i++;
	if (i < p->load_n || i == LOADS_MAX)
		return;
	p->load[i].form = form;
	memcpy(p->load[i].digest, digest, sizeof(digest));
	p->load_n++;
}

static int
see_record(void *arg, const struct log_record *record)
{
	struct pack *p = arg;
	int r;

	if (p->idx_n == RECORDS_MAX)
		return -E2BIG;
	r = buf_put(&p->records, record->body, record->len);
	if (r == 0)
		r = buf_putc(&p->records, '\n');
	p->idx[p->idx_n++] = record->idx;
	if (strcmp(record->kind, "policy.load") == 0) {
		want_policy(p, POLICIES_TEXT, log_record_text(record, "sha256"));
		want_policy(p, POLICIES_SEALED, log_record_text(record, "policy"));
	}
	return r;
}

/* Files are added under the digest in the records; bytes that do not match are left
 * out. */
static int
put_policies(struct pack *p, const char *folder)
{
	char name[POLICIES_NAME], path[sizeof(name) + 16];
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->load_n; i++) {
		char *bytes = NULL;
		size_t len = 0;

		policies_name(p->load[i].form, p->load[i].digest, name);
		(void)snprintf(path, sizeof(path), "policies/%s", name);
		r = policies_get(
		    folder, p->load[i].form, p->load[i].digest, &bytes, &len);
		if (r == 0)
			r = put_file(p->out, path, bytes, len);
		else if (r == -ENOENT || r == -EBADMSG)
			r = 0; /* not kept, removed, or altered since */
		free(bytes);
	}
	return r;
}

static int
put_proofs(struct pack *p)
{
	static char text[PROOF_MAX];
	char name[64];
	size_t len;
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->idx_n; i++) {
		r = prove_make(p->tree, p->idx[i], text, sizeof(text), &len);
		(void)snprintf(
		    name, sizeof(name), "proofs/%" PRIu64 ".tlog-proof", p->idx[i]);
		if (r == 0)
			r = put_file(p->out, name, text, len);
	}
	return r;
}

static int
put_readme(struct pack *p, const struct query *q)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int r = -ENOMEM;

	if (out == NULL)
		return r;
	fprintf(out, "Session ");
	escape_text(out, q->argv[0]);
	fprintf(out,
	    ": %zu records of an audit log of %" PRIu64 " records.\n\n"
	    "Each line of records.jsonl is a record, byte for byte.  For the record "
	    "with\n"
	    "number IDX the file proofs/IDX.tlog-proof (C2SP tlog-proof) shows that it "
	    "is in\n"
	    "the log whose checkpoint is signed by the key in " VKEY_NAME ":\n\n"
	    "\tkennel-verify proof --key \"$(cat " VKEY_NAME
	    ")\" proofs/IDX.tlog-proof\n\n"
	    "Compare " VKEY_NAME
	    " with the key that was kept elsewhere: a pack with a key\n"
	    "of its own proves nothing.  report.html is for reading only.\n\n"
	    "The record \"policy.load\" names the policy by \"policy\" and its text by\n"
	    "\"sha256\".  The kept ones are in policies/, each file named by the "
	    "SHA-256\n"
	    "of its bytes:\n\n"
	    "\tsha256sum policies/*\n\n"
	    "ID.sealed is what was enforced, without signatures (kennel policy show);\n"
	    "DIGEST.kennel is the text that it was compiled from, without the files\n"
	    "that it included.\n",
	    p->idx_n, p->tree->size);
	if (fclose(out) == 0)
		r = put_file(p->out, "README", text, len);
	free(text);
	return r;
}

/* Adds the public key, if the log directory has it. */
static int
put_vkey(struct pack *p, const char *folder)
{
	char path[AUDIT_PATH_MAX + 32], text[NOTE_VKEY_MAX];
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/" VKEY_NAME, folder);
	fd = open(path, O_RDONLY | O_CLOEXEC); /* syscalls: openat */
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	n = read(fd, text, sizeof(text));
	fd_close(&fd);
	return n < 0 ? -EIO : put_file(p->out, VKEY_NAME, text, (size_t)n);
}

static int
put_report(struct pack *p, const struct query *q)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int r = -ENOMEM;

	if (out == NULL)
		return r;
	r = page_incident(out, q);
	if (fclose(out) != 0 && r == 0)
		r = -EIO;
	if (r == 0)
		r = put_file(p->out, "report.html", text, len);
	free(text);
	return r;
}

static int
put_all(struct pack *p, const struct query *q, const char *folder)
{
	int r = put_readme(p, q);

	if (r == 0)
		r = put_file(p->out, "checkpoint", p->tree->note, strlen(p->tree->note));
	if (r == 0)
		r = put_vkey(p, folder);
	if (r == 0)
		r = put_file(p->out, "records.jsonl", p->records.data, p->records.len);
	if (r == 0)
		r = put_proofs(p);
	if (r == 0)
		r = put_policies(p, folder);
	if (r == 0)
		r = put_report(p, q);
	return r == 0 ? put_end(p->out) : r;
}

/* ---- kennel audit pack ----------------------------------------------------------------- */

/* The view is at a checkpoint; opens the tree at the same one. */
static int
collect(struct pack *p, struct query *q, struct log_view *view)
{
	struct query mine = *q;
	int r;

	mine.session = q->argv[0];
	buf_init(&p->records, (size_t)RECORDS_MAX * AUDIT_BODY_MAX);
	p->idx = calloc(RECORDS_MAX, sizeof(*p->idx));
	if (p->idx == NULL)
		return -ENOMEM;
	r = log_scan_each(view, &mine, see_record, p);
	if (r == 0 && p->idx_n == 0)
		r = -ENOENT;
	if (r == 0)
		r = logtree_open(view->folder, view->size, &p->tree);
	return r;
}

static int
run_pack(struct pack *p, struct query *q)
{
	static struct log_view view;
	static char id[SESSION_ID_LEN + 1];
	int r, status = log_view_open(q, &view);
	const char *why = view.why, *session = q->argv[0];
	char as_of[32];

	if (status == ASK_OK && session_find(&view, &session, id) < 0)
		status = ASK_NO_SUCH;
	q->argv[0] = (char *)session;
	if (status == ASK_OK) {
		/* the page must refer to the same checkpoint */
		(void)snprintf(as_of, sizeof(as_of), "%" PRIu64, view.size);
		r = collect(p, q, &view);
		if (r == 0) {
			struct query what = *q;

			what.session = q->argv[0];
			r = disclosure_book("pack", "tar", &what, &view);
		}
		q->as_of = as_of;
		if (r == 0)
			r = put_all(p, q, view.folder);
		q->as_of = NULL;
		status = r == 0          ? ASK_OK
			 : r == -ENOENT  ? ASK_NO_SUCH
			 : r == -EUCLEAN ? ASK_TAMPERED
					 : ASK_FAILED;
		if (view.why[0] == '\0')
			why = r == -ENOENT ? "no such session" : strerror(-r);
	}
	verb_complain(q, status, why);
	log_view_close(&view);
	return status;
}

int
pack_main(int argc, char **argv)
{
	struct pack p = {.out = NULL};
	struct query q;
	int status;

	if (options_read(argc, argv, "!oV", &q) < 0)
		return ASK_USAGE;
	if (q.argc != 1 || q.out == NULL)
		return help_usage(&audit_help, "pack", "expected -o OUT and a session");
	p.out = output_new(&q);
	if (p.out == NULL)
		return ASK_FAILED;
	status = run_pack(&p, &q);
	if (fclose(p.out) != 0 && status == ASK_OK)
		status = ASK_FAILED;
	if (status != ASK_OK)
		(void)remove(q.out); /* leave no partial pack */
	logtree_close(p.tree);
	buf_free(&p.records);
	free(p.idx);
	return status;
}
