/*
 * "kennel audit payload IDX": shows a payload, if it was kept; and "prune-payloads".
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/hex.h"
#include "supervisor/audit/log/kept_payloads.h"
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

/* A terminal gets escaped text; a file or a pipe the raw bytes. */
static int
show(void *bytes, size_t len)
{
	if (!isatty(STDOUT_FILENO))
		return fwrite(bytes, 1, len, stdout) == len ? 0 : -EPIPE;
	((char *)bytes)[len] = '\0'; /* payloads_get leaves room */
	escape_text(stdout, bytes);
	(void)fputc('\n', stdout);
	return 0;
}

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

	if (options_read(argc, argv, "", &q) < 0)
		return ASK_USAGE;
	if (q.argc != 1 ||
	    !scan_number(
		(struct span){(const uint8_t *)q.argv[0], strlen(q.argv[0])}, &idx)) {
		fprintf(stderr, "usage: kennel audit payload IDX\n");
		return ASK_USAGE;
	}
	status = log_view_open(&q, &view);
	if (status == ASK_OK) {
		r = log_scan_one(&view, idx);
		if (r == 0)
			r = show_of(view.record, view.folder);
		status = r == 0          ? ASK_OK
			 : r == -ENOENT  ? ASK_NO_SUCH
			 : r == -EBADMSG ? ASK_TAMPERED
					 : ASK_FAILED;
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
