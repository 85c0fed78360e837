/*
 * "kennel audit policy-text DIGEST": shows a policy as it was; and "prune-policies".
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
#include "supervisor/audit/log/kept_policies.h"
#include "supervisor/audit/log/merkle.h"
#include "supervisor/audit/query/escape.h"
#include "supervisor/audit/query/group.h"
#include "supervisor/audit/query/options.h"
#include "supervisor/audit/query/query.h"
#include "supervisor/audit/report/verbs.h"
#include "supervisor/base/paths.h"

/* A terminal gets escaped lines; a file or a pipe the raw bytes. */
static int
show_text(const char *text, size_t len)
{
	const char *end = text + len;

	if (!isatty(STDOUT_FILENO))
		return fwrite(text, 1, len, stdout) == len ? 0 : -EPIPE;
	while (text < end) {
		size_t n = strcspn(text, "\n");
		char *line = strndup(text, n);

		if (line == NULL)
			return -ENOMEM;
		escape_text(stdout, line);
		free(line);
		(void)fputc('\n', stdout);
		text += n;
		text += *text == '\n';
		if (*text == '\0' && text < end) /* the compiler rejects NUL */
			return -EBADMSG;
	}
	return 0;
}

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
		return show_text(bytes, len);
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
	int r, status;

	if (options_read(argc, argv, "o", &q) < 0)
		return ASK_USAGE;
	if (q.argc != 1 ||
	    !hex_get(q.argv[0], strlen(q.argv[0]), digest, sizeof(digest))) {
		fprintf(stderr, "usage: kennel audit policy-text [-o FILE] ID|SHA256\n");
		return ASK_USAGE;
	}
	if (q.log != NULL)
		folder = q.log;
	r = folder != NULL ? give(&q, folder, digest) : -ENOENT;
	if (fflush(stdout) != 0 && r == 0)
		r = -EPIPE;
	status = r == 0          ? ASK_OK
		 : r == -ENOENT  ? ASK_NO_SUCH
		 : r == -EBADMSG ? ASK_TAMPERED
		 : r == -EINVAL  ? ASK_USAGE
				 : ASK_FAILED;
	verb_complain(&q, status, why_not(r));
	return status;
}

int
prune_policies_main(int argc, char **argv)
{
	return verb_prune(argc, argv, "policies", policies_prune);
}
