/*
 * What the log keeps beside its records: "kennel audit payload IDX" and "policy-text
 * DIGEST" show it, "prune-payloads" and "prune-policies" remove it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/hex.h"
#include "supervisor/audit/audit_help.h"
#include "supervisor/audit/log/kept_payloads.h"
#include "supervisor/audit/log/kept_policies.h"
#include "supervisor/audit/log/merkle.h"
#include "supervisor/audit/log/record.h"
#include "supervisor/audit/query/escape.h"
#include "supervisor/audit/query/group.h"
#include "supervisor/audit/query/log_view.h"
#include "supervisor/audit/query/options.h"
#include "supervisor/audit/query/query.h"
#include "supervisor/audit/query/record.h"
#include "supervisor/audit/query/scan.h"
#include "supervisor/audit/report/verbs.h"
#include "supervisor/base/paths.h"

/* A terminal gets escaped lines; a file or a pipe the raw bytes. */
static int
show(const char *bytes, size_t len)
{
	const char *end = bytes + len;

	if (!isatty(STDOUT_FILENO))
		return fwrite(bytes, 1, len, stdout) == len ? 0 : -EPIPE;
	if (memchr(bytes, '\0', len) != NULL)
		return -EBADMSG; /* neither a policy nor a message may contain it */
	while (bytes < end) {
		const char *nl = memchr(bytes, '\n', (size_t)(end - bytes));
		size_t n = (size_t)((nl != NULL ? nl : end) - bytes);
		char *line = strndup(bytes, n);

		if (line == NULL)
			return -ENOMEM;
		escape_text(stdout, line);
		free(line);
		(void)fputc('\n', stdout);
		bytes += nl != NULL ? n + 1 : n;
	}
	return 0;
}

static int
status_of(int r)
{
	return r == 0          ? ASK_OK
	       : r == -ENOENT  ? ASK_NO_SUCH
	       : r == -EBADMSG ? ASK_TAMPERED
	       : r == -EINVAL  ? ASK_USAGE
			       : ASK_FAILED;
}

/* ---- policies -------------------------------------------------------------------- */

/* Never overwrites a file. */
static int
write_out(const char *path, const char *bytes, size_t len)
{
	int r, fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	/* syscalls: openat write */
	if (fd < 0)
		return -errno;
	r = fd_write_all(fd, bytes, len);
	fd_close(&fd);
	return r;
}

/* Writes the bytes to the requested place; -EINVAL: refuses a terminal. */
static int
hand_over(const struct query *q, enum policies_form form, const char *bytes, size_t len)
{
	if (q->out != NULL)
		return write_out(q->out, bytes, len);
	if (form == POLICIES_TEXT)
		return show(bytes, len);
	if (isatty(STDOUT_FILENO))
		return -EINVAL;
	return fwrite(bytes, 1, len, stdout) == len ? 0 : -EPIPE;
}

static int
give(const struct query *q, const char *folder, const uint8_t digest[MERKLE_HASH_LEN])
{
	enum policies_form form = POLICIES_TEXT;
	char *bytes = NULL;
	size_t len = 0;
	int r = policies_get(folder, form, digest, &bytes, &len);

	if (r == -ENOENT) {
		form = POLICIES_SEALED;
		r = policies_get(folder, form, digest, &bytes, &len);
	}
	if (r == 0)
		r = hand_over(q, form, bytes, len);
	free(bytes);
	return r;
}

static const char *
why_not(int r)
{
	static const struct {
		int r;
		const char *why;
	} row[] = {
	    {-ENOENT, "no policy of that digest was kept, or it was removed"},
	    {-EBADMSG, "the kept file is not the policy that was in force"},
	    {-EEXIST, "several kept policies begin with these digits: add some"},
	    {-EINVAL, "it is a sealed policy: write it with -o FILE, then run kennel "
		      "policy show FILE"},
	};

	for (size_t i = 0; i < ARRAY_LEN(row); i++)
		if (row[i].r == r)
			return row[i].why;
	return strerror(-r);
}

int
policy_text_main(int argc, char **argv)
{
	const char *folder = paths_audit_dir();
	uint8_t digest[MERKLE_HASH_LEN];
	struct query q;
	int r = -ENOENT, status;

	if (options_read(argc, argv, "!o", &q) < 0)
		return ASK_USAGE;
	if (q.log != NULL)
		folder = q.log;
	if (q.argc == 1 && folder != NULL)
		r = policies_find(folder, q.argv[0], digest);
	if (q.argc != 1 || r == -EINVAL)
		return help_usage(&audit_help, argv[0],
		    "expected an id or a SHA-256, or at least 8 digits of one");
	if (r == 0)
		r = give(&q, folder, digest);
	if (fflush(stdout) != 0 && r == 0)
		r = -EPIPE;
	status = status_of(r);
	verb_complain(&q, status, why_not(r));
	return status;
}

int
prune_policies_main(int argc, char **argv)
{
	return verb_prune(argc, argv, "policies", policies_prune);
}

/* ---- payloads -------------------------------------------------------------------- */

/* The digest in the log's record selects the payload and verifies it. */
static int
show_of(const struct log_record *record, const char *folder)
{
	const char *hex = log_record_text(record, "params_sha256");
	uint8_t digest[MERKLE_HASH_LEN];
	struct payloads *p = NULL;
	void *bytes = NULL;
	size_t len = 0;
	int r;

	if (hex == NULL)
		hex = log_record_text(record, "result_sha256");
	if (hex == NULL || !hex_get(hex, strlen(hex), digest, sizeof(digest)))
		return -ENOENT;
	r = payloads_open(folder, false, &p);
	if (r == 0)
		r = payloads_get(p, digest, &bytes, &len);
	if (r == 0)
		r = show(bytes, len);
	payloads_close(p);
	free(bytes);
	return r;
}

int
payload_main(int argc, char **argv)
{
	static struct log_view view;
	struct query q;
	uint64_t idx;
	int r, status;

	if (options_read(argc, argv, "!V", &q) < 0)
		return ASK_USAGE;
	if (q.argc != 1 ||
	    !scan_number(
		(struct span){(const uint8_t *)q.argv[0], strlen(q.argv[0])}, &idx))
		return help_usage(
		    &audit_help, argv[0], "expected the number of a record");
	status = log_view_open(&q, &view);
	if (status == ASK_OK) {
		r = log_scan_one(&view, idx);
		if (r == 0)
			r = show_of(view.record, view.folder);
		status = status_of(r);
		if (r < 0)
			(void)snprintf(view.why, sizeof(view.why), "%s",
			    r == -ENOENT ? "its arguments were not kept, or were removed"
			    : r == -EBADMSG
				? "the kept payload is not the one in the record"
				: strerror(-r));
	}
	verb_complain(&q, status, view.why);
	log_view_close(&view);
	return fflush(stdout) == 0 ? status : ASK_FAILED;
}

/* First opens for reading, so that nothing is created if there is nothing to remove. */
static int
prune(const char *folder, uint64_t before_ns, uint64_t *ret_n)
{
	struct payloads *p = NULL;
	int r = payloads_open(folder, false, &p);

	payloads_close(p);
	p = NULL;
	if (r == 0)
		r = payloads_open(folder, true, &p);
	if (r == 0)
		r = payloads_prune(p, before_ns, ret_n);
	payloads_close(p);
	return r;
}

int
prune_payloads_main(int argc, char **argv)
{
	return verb_prune(argc, argv, "payloads", prune);
}
