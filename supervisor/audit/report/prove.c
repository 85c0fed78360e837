/*
 * "kennel audit prove IDX": writes the proof of one record as a file that anyone can
 * check without the log (C2SP tlog-proof).
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/log.h"
#include "supervisor/audit/audit_help.h"
#include "supervisor/audit/log/merkle_read.h"
#include "supervisor/audit/report/verbs.h"
#include "supervisor/base/paths.h"

#define EXIT_NO_SUCH 65

/* Checks the proof before writing it out; an invalid one is not written. */
int
prove_make(struct logtree *t, uint64_t idx, char *out, size_t cap, size_t *ret_len)
{
	static struct proof proof;
	struct hashes h = logtree_hashes(t);
	uint8_t leaf[MERKLE_HASH_LEN];
	int r;

	proof.index = idx;
	proof.has_leaf = true;
	r = logtree_body(t, idx, proof.leaf, sizeof(proof.leaf), &proof.leaf_len);
	if (r == 0)
		r = merkle_path_inclusion(&h, idx, t->size, &proof.path);
	if (r < 0)
		return r;
	merkle_leaf(proof.leaf, proof.leaf_len, leaf);
	if (!proof_included(&proof, leaf, &t->cp))
		return -EBADMSG;
	*ret_len = proof_put(&proof, t->note, out, cap);
	return *ret_len < cap ? 0 : -E2BIG;
}

static bool
take_number(const char *text, uint64_t *ret)
{
	struct span raw = {(const uint8_t *)text, strlen(text)};

	return scan_number(raw, ret);
}

static int
put(const char *text, size_t len, const char *path)
{
	FILE *out;
	int r;

	if (path == NULL)
		return fwrite(text, 1, len, stdout) == len && fflush(stdout) == 0
			   ? 0
			   : -errno;
	out = fopen(path, "w");
	if (out == NULL)
		return -errno;
	r = fwrite(text, 1, len, out) == len ? 0 : -errno;
	if (fclose(out) != 0 && r == 0)
		r = -errno;
	return r;
}

int
prove_main(int argc, char **argv)
{
	static const struct option option[] = {
	    {"size", required_argument, NULL, 's'},
	    {NULL, 0, NULL, 0},
	};
	static char text[PROOF_MAX];
	const char *dir = paths_audit_dir(), *path = NULL;
	struct logtree *t = NULL;
	uint64_t idx, size = 0;
	size_t len = 0;
	int c, r;

	optind = 0;
	while ((c = getopt_long(argc, argv, ":o:", option, NULL)) != -1) {
		if (c == 'o')
			path = optarg;
		else if (c == '?')
			return help_unknown_option(
			    &audit_help, argv[0], argv[optind - 1]);
		else if (c != 's' || !take_number(optarg, &size))
			return help_usage(&audit_help, argv[0], "expected --size N");
	}
	if (argc - optind != 1 || !take_number(argv[optind], &idx))
		return help_usage(
		    &audit_help, argv[0], "expected the number of a record");
	if (dir == NULL) {
		log_error("no home directory: set HOME or KENNEL_HOME");
		return LOG_EXIT_FAILED;
	}
	r = logtree_open(dir, size, &t);
	if (r == 0 && idx >= t->size)
		r = -ENOENT;
	if (r == 0)
		r = prove_make(t, idx, text, sizeof(text), &len);
	if (r == 0)
		r = put(text, len, path);
	logtree_close(t);
	if (r == 0)
		return 0;
	log_error("unable to prove record %s: %s", argv[optind],
	    r == -ENOENT    ? "no such record, or no checkpoint of that size"
	    : r == -EBADMSG ? "the log is damaged; run \"kennel audit verify\""
			    : strerror(-r));
	return r == -ENOENT ? EXIT_NO_SUCH : LOG_EXIT_FAILED;
}

/* Runs kennel-verify, which needs only the file, so that the user need not trust
 * kennel. */
int
verify_proof_main(int argc, char **argv)
{
	const char *path = paths_libexec("kennel-verify");
	char *give[32];
	int n = 0;

	if (path == NULL || argc > 28) {
		log_error("unable to find kennel-verify");
		return LOG_EXIT_FAILED;
	}
	give[n++] = (char *)"kennel-verify";
	give[n++] = (char *)"proof";
	for (int i = 1; i < argc; i++)
		give[n++] = argv[i];
	give[n] = NULL;
	(void)execv(path, give); /* syscalls: execve */
	log_error("unable to run %s: %s", path, strerror(errno));
	return LOG_EXIT_FAILED;
}
