/*
 * Checks the proof of one record (C2SP tlog-proof) without the log:
 *
 *	c2sp.org/tlog-proof@v1
 *	extra BASE64			(optional)
 *	index N
 *	BASE64 of each hash, one a line
 *					(a blank line)
 *	the checkpoint, a signed note
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "supervisor/audit/log/merkle_proof.h"
#include "supervisor/audit/log/record.h"
#include "supervisor/audit/verify/verify.h"
#include "supervisor/audit/verify/verify_help.h"

#define EXIT_USAGE    64
#define WITNESSES_MAX 16

/* Reads a whole file, or returns -EFBIG. */
static int
slurp(const char *path, char *out, size_t cap, size_t *ret_len)
{
	size_t len = 0;
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC); /* early: openat read */

	if (fd < 0)
		return -errno;
	do {
		n = read(fd, out + len, cap - len);
		len += n > 0 ? (size_t)n : 0;
	} while (n > 0 && len < cap);
	fd_close(&fd);
	if (n != 0)
		return n < 0 ? -EIO : -EFBIG;
	*ret_len = len;
	return 0;
}

struct asked {
	bool json, key_given;
	struct vkey key, witness[WITNESSES_MAX];
	size_t witness_n;
};

static int
say(const struct asked *asked, enum verdict verdict, uint64_t index, uint64_t size,
    const char *why)
{
	static const char *const name[] = {"proved", "tampered", "incomplete", "error"};

	if (asked->json)
		printf("{\"status\":\"%s\",\"index\":%" PRIu64 ",\"size\":%" PRIu64
		       ",\"reason\":\"%s\"}\n",
		    name[verdict], index, size, why);
	else
		printf("%s: %s\n", name[verdict], why);
	return (int)verdict;
}

/* Checks a certificate of "kennel audit certify". */
static int
check_certificate(const struct asked *asked, const char *text, size_t len)
{
	static struct note note;
	char why[256];

	if (note_parse(text, len, &note) < 0)
		return say(asked, UNKNOWN, 0, 0, "not a certificate");
	if (!note_signed_by(&note, &asked->key, NULL))
		return say(asked, TAMPERED, 0, 0, "it is not signed by this key");
	(void)snprintf(
	    why, sizeof(why), "the certificate is signed by %.150s", asked->key.name);
	return say(asked, INTACT, 0, 0, why);
}

static bool
is_certificate(const char *text, size_t len)
{
	size_t head = sizeof(NOTE_CERTIFICATE) - 1;

	return len > head && memcmp(text, NOTE_CERTIFICATE "\n", head + 1) == 0;
}

/* Signatures first: nothing in an unsigned checkpoint is trusted. */
static int
check(const struct asked *asked, const char *text, size_t len, const char *body,
    size_t body_len)
{
	static struct proof proof;
	static struct note note;
	struct checkpoint cp;
	uint8_t leaf[MERKLE_HASH_LEN];
	char why[256];

	if (proof_parse(text, len, &proof, &note, &cp) < 0)
		return say(asked, UNKNOWN, 0, 0, "not a proof");
	if (strcmp(cp.origin, asked->key.name) != 0 ||
	    !note_signed_by(&note, &asked->key, NULL))
		return say(asked, TAMPERED, proof.index, cp.size,
		    "its checkpoint is not signed by this key");
	for (size_t i = 0; i < asked->witness_n; i++) {
		if (!note_signed_by(&note, &asked->witness[i], NULL))
			return say(asked, INCOMPLETE, proof.index, cp.size,
			    "its checkpoint is not cosigned by every witness named");
	}
	if (body != NULL)
		merkle_leaf(body, body_len, leaf);
	else if (proof.has_leaf)
		merkle_leaf(proof.leaf, proof.leaf_len, leaf);
	else
		return say(asked, UNKNOWN, proof.index, cp.size,
		    "the proof does not contain the record: name a file with its bytes");
	if (body != NULL && body_len > 0 && body[body_len - 1] == '\n' &&
	    !proof_included(&proof, leaf, &cp))
		merkle_leaf(body, body_len - 1, leaf); /* as printed by "log --json" */
	if (!proof_included(&proof, leaf, &cp))
		return say(asked, TAMPERED, proof.index, cp.size,
		    "the record is not in the tree of this checkpoint");
	(void)snprintf(why, sizeof(why),
	    "record %" PRIu64 " is in the log of %" PRIu64 " records", proof.index,
	    cp.size);
	return say(asked, INTACT, proof.index, cp.size, why);
}

int
refuse_vkey(const char *option, const char *word)
{
	char shown[200];

	log_error(
	    "invalid key `%s` after %s: expected the text of a public key, not the "
	    "name of a file; use %s \"$(cat FILE)\", where FILE contains the key, as "
	    "origin.vkey in the log's directory does",
	    log_quote(shown, sizeof(shown), word, strlen(word)), option, option);
	return HELP_EXIT_USAGE;
}

static bool
take_vkey(const char *text, struct vkey *ret)
{
	return vkey_parse((struct span){(const uint8_t *)text, strlen(text)}, ret) == 0;
}

int
proof_main(int argc, char **argv)
{
	static const struct option option[] = {
	    {"json", no_argument, NULL, 'j'},
	    {"key", required_argument, NULL, 'k'},
	    {"witness", required_argument, NULL, 'w'},
	    {NULL, 0, NULL, 0},
	};
	static char text[PROOF_MAX], body[AUDIT_BODY_MAX + 1];
	static struct asked asked;
	size_t len = 0, body_len = 0;
	int c, r;

	while ((c = getopt_long(argc, argv, ":", option, NULL)) != -1) {
		if (c == '?')
			return help_unknown_option(
			    &verify_help, "proof", argv[optind - 1]);
		if (c == 'j')
			asked.json = true;
		else if (c == 'k' && take_vkey(optarg, &asked.key))
			asked.key_given = true;
		else if (c == 'w' && asked.witness_n < WITNESSES_MAX &&
			 take_vkey(optarg, &asked.witness[asked.witness_n]))
			asked.witness_n++;
		else if (c == 'k' || (c == 'w' && asked.witness_n < WITNESSES_MAX))
			return refuse_vkey(c == 'k' ? "--key" : "--witness", optarg);
		else
			return help_usage(&verify_help, "proof",
			    "missing or invalid value of an option");
	}
	if (!asked.key_given || argc - optind < 1 || argc - optind > 2)
		return help_usage(
		    &verify_help, "proof", "expected --key VKEY and a file");
	r = slurp(argv[optind], text, sizeof(text), &len);
	if (r == 0 && argc - optind == 2)
		r = slurp(argv[optind + 1], body, sizeof(body), &body_len);
	if (r < 0) {
		log_error("unable to read %s: %s", argv[optind], strerror(-r));
		return UNKNOWN;
	}
	if (argc - optind == 1 && asked.witness_n == 0 && is_certificate(text, len))
		return check_certificate(&asked, text, len);
	return check(&asked, text, len, argc - optind == 2 ? body : NULL, body_len);
}
