/*
 * "kennel audit witness": a witness on another machine, or with another account,
 * signs the current checkpoint, and never signs two histories.
 *
 *	log's side			witness's side
 *	request --old N ------------>	sign: did the log sign the checkpoint, and is
 *					the last signed one a prefix of it?  Then
 *	   <---- cosignature ---------	store the new one, and sign it
 *	add: into the log
 *
 * The request is C2SP tlog-witness's add-checkpoint: "old N", the hashes of a
 * consistency proof in base64, a blank line, the checkpoint. The answer is one
 * cosignature line. Anything can carry both: a pipe, ssh, a file.
 *
 * The witness keeps its key and the last signed checkpoint in files that its options
 * name. If it loses the latter, it signs nothing until a person has checked.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "leash/audit/writer.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "supervisor/audit/audit_help.h"
#include "supervisor/audit/log/merkle_read.h"
#include "supervisor/audit/report/disclosure.h"
#include "supervisor/audit/report/verbs.h"
#include "supervisor/base/paths.h"

#define EXIT_REFUSED 1
#define REQUEST_MAX  (PROOF_MAX + NOTE_MAX)

struct asked {
	const char *key, *state, *log, *name;
	uint64_t old;
	bool old_given;
};

/* ---- the log's side: request ------------------------------------------------------ */

static int
make_request(struct logtree *t, uint64_t old, FILE *out)
{
	char base64[BASE64_LEN(MERKLE_HASH_LEN)];
	struct hashes h = logtree_hashes(t);
	struct merkle_path path;
	int r;

	r = merkle_path_consistency(&h, old, t->size, &path);
	if (r < 0)
		return r;
	fprintf(out, "old %llu\n", (unsigned long long)old);
	for (size_t i = 0; i < path.n; i++) {
		base64_put(base64, path.hash[i], MERKLE_HASH_LEN);
		fprintf(out, "%s\n", base64);
	}
	fprintf(out, "\n%s", t->note);
	return fflush(out) != 0 ? -errno : 0;
}

static int
request(const struct asked *asked)
{
	const char *dir = paths_audit_dir();
	struct logtree *t = NULL;
	int r;

	if (dir == NULL) {
		log_error("no home directory: set HOME or KENNEL_HOME");
		return LOG_EXIT_FAILED;
	}
	r = logtree_open(dir, 0, &t);
	if (r == 0)
		r = make_request(t, asked->old, stdout);
	logtree_close(t);
	if (r == 0)
		return 0;
	log_error("unable to make a request to a witness: %s",
	    r == -ENOENT    ? "no log found"
	    : r == -EINVAL  ? "the log has fewer records"
	    : r == -EBADMSG ? "the log is damaged; run \"kennel audit verify\""
			    : strerror(-r));
	return LOG_EXIT_FAILED;
}

/* ---- the witness's side: key, sign --------------------------------------------------- */

static int
new_key(const struct asked *asked)
{
	char text[NOTE_VKEY_MAX];
	struct key *key = NULL;
	struct vkey vkey;
	int r;

	r = slot_file(asked->key, true, &key);
	if (r == 0)
		r = vkey_make(asked->name, NOTE_COSIGNATURE, key_public(key), &vkey);
	if (r == 0) {
		vkey_put(&vkey, text);
		printf("%s\n", text);
	} else {
		log_error("unable to make a witness's key in %s: %s", asked->key,
		    r == -EINVAL
			? "its name must not be empty or contain a space or a plus"
			: strerror(-r));
	}
	key_free(key);
	return r == 0 ? 0 : LOG_EXIT_FAILED;
}

struct wanted {
	uint64_t old;
	struct merkle_path path;
	struct note note;
	struct checkpoint cp;
	size_t text_at; /* of the note in the request */
};

/* Reads the last signed checkpoint. -ENOENT: none yet. */
static int
read_state(const char *path, struct checkpoint *ret)
{
	char *text = NULL;
	size_t len = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC), r;

	if (fd < 0)
		return -errno;
	r = fd_slurp(fd, NOTE_MAX, &text, &len);
	fd_close(&fd);
	if (r == 0)
		r = checkpoint_parse((struct span){(uint8_t *)text, len}, ret);
	free(text);
	return r;
}

/* The renaming is on disk, too. */
static int
sync_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	char dir[AUDIT_PATH_MAX];
	int fd, r = 0;

	(void)snprintf(dir, sizeof(dir), "%.*s",
	    slash == NULL || slash == path ? 1 : (int)(slash - path),
	    slash == NULL ? "." : path); /* shorter than path */
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) < 0)
		r = -errno;
	fd_close(&fd);
	return r;
}

/* On disk before the signature is printed. Otherwise the witness could sign another
 * history after a crash. */
static int
write_state(const char *path, const struct checkpoint *cp)
{
	char text[NOTE_MAX], beside[AUDIT_PATH_MAX];
	size_t len = checkpoint_put(cp, text, sizeof(text));
	int fd, r = fd_may_replace(path);

	if (r < 0)
		return r;
	if ((size_t)snprintf(beside, sizeof(beside), "%s.new", path) >= sizeof(beside))
		return -ENAMETOOLONG;
	fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = fd_write_all(fd, text, len);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	fd_close(&fd);
	if (r == 0 && rename(beside, path) < 0)
		r = -errno;
	return r == 0 ? sync_directory(path) : r;
}

/* One signature at a time: two that read the same state could sign two histories. The key's
 * file is locked, because the state is replaced. */
static int
lock_key(const char *path, int *ret_fd)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), r;

	if (fd < 0)
		return -errno;
	while (flock(fd, LOCK_EX) < 0) {
		if (errno == EINTR)
			continue;
		r = -errno;
		fd_close(&fd);
		return r;
	}
	*ret_fd = fd;
	return 0;
}

static const char *
refusal(const struct asked *asked, const struct wanted *w, const struct checkpoint *last,
    bool first)
{
	struct vkey log;

	if (vkey_parse((struct span){(const uint8_t *)asked->log, strlen(asked->log)},
		&log) < 0 ||
	    strcmp(w->cp.origin, log.name) != 0 || !note_signed_by(&w->note, &log, NULL))
		return "it is not signed by that log";
	if (first)
		return w->old == 0 ? NULL : "no checkpoint of this log was signed before";
	if (strcmp(last->origin, w->cp.origin) != 0)
		return "the state belongs to another log";
	if (w->old != last->size)
		return "its old size is not the one signed last";
	if (!merkle_path_consistent(
		&w->path, last->size, last->root, w->cp.size, w->cp.root))
		return "it does not extend the checkpoint signed last: two histories";
	return NULL;
}

static int
put_cosignature(const struct wanted *w, const struct vkey *vkey, const struct key *key)
{
	char text[NOTE_MAX + 64], base64[BASE64_LEN(4 + 8 + KEY_SIGN_LEN)];
	uint64_t now = (uint64_t)time(NULL);
	uint8_t sig[4 + 8 + KEY_SIGN_LEN];
	int n;

	if (w->note.text.len > NOTE_MAX)
		return -E2BIG;
	n = snprintf(
	    text, sizeof(text), "cosignature/v1\ntime %llu\n", (unsigned long long)now);
	memcpy(text + n, w->note.text.data, w->note.text.len);
	memcpy(sig, vkey->id, 4);
	for (size_t i = 0; i < 8; i++)
		sig[4 + i] = (uint8_t)(now >> (56 - 8 * i));
	key_sign(key, text, (size_t)n + w->note.text.len, sig + 12);
	base64_put(base64, sig, sizeof(sig));
	printf("\xe2\x80\x94 %s %s\n", vkey->name, base64);
	return fflush(stdout) != 0 ? -errno : 0;
}

static int
sign(const struct asked *asked)
{
	static struct wanted w;
	struct checkpoint last = {.size = 0};
	const char *why = NULL;
	struct key *key = NULL;
	struct vkey vkey;
	char *text = NULL;
	size_t len = 0;
	bool first = false;
	int r, lock = -1;

	r = fd_slurp(STDIN_FILENO, REQUEST_MAX, &text, &len);
	if (r == 0)
		r = witness_parse(text, len, &w.old, &w.path, &w.note, &w.cp);
	if (r == 0)
		r = slot_file(asked->key, false, &key);
	if (r == 0)
		r = vkey_make(asked->name, NOTE_COSIGNATURE, key_public(key), &vkey);
	if (r == 0)
		r = lock_key(asked->key, &lock);
	if (r == 0) {
		r = read_state(asked->state, &last);
		first = r == -ENOENT;
		r = first ? 0 : r;
	}
	if (r == 0)
		why = refusal(asked, &w, &last, first);
	if (r == 0 && why == NULL)
		r = write_state(asked->state, &w.cp);
	if (r == 0 && why == NULL)
		r = put_cosignature(&w, &vkey, key);
	fd_close(&lock); /* unlocks */
	free(text);
	key_free(key);
	if (why != NULL)
		log_error("refused: %s (signed last: %llu)", why,
		    (unsigned long long)last.size);
	else if (r < 0)
		log_error("unable to sign: %s",
		    r == -EBADMSG ? "unable to read the request or the state"
				  : strerror(-r));
	return why != NULL ? EXIT_REFUSED : r < 0 ? LOG_EXIT_FAILED : 0;
}

/* ---- the log's side: add --------------------------------------------------------------- */

/* The cosignature belongs to the checkpoint of the last request: the last one at that
 * time, which --size gives. */
static int
add(const struct asked *asked)
{
	static struct event event;
	char text[1100];
	size_t len = 0;
	ssize_t n;
	int r;

	do {
		n = read(STDIN_FILENO, text + len, sizeof(text) - 1 - len);
		len += n > 0 ? (size_t)n : 0;
	} while (n > 0 && len < sizeof(text) - 1);
	text[len] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (n < 0 || strncmp(text, "\xe2\x80\x94 ", 4) != 0 || strlen(text) > 1000) {
		log_error("unable to add it: not a cosignature");
		return LOG_EXIT_FAILED;
	}
	event_begin(&event, EVENT_COSIG);
	event_number(&event, KEY_SIZE, asked->old);
	event_text(&event, KEY_NOTE, text);
	r = audit_record(&event);
	if (r < 0)
		log_error("unable to add it: %s", strerror(-r));
	return r < 0 ? LOG_EXIT_FAILED : 0;
}

/* ---- the verbs ----------------------------------------------------------------------------- */

static const struct {
	const char *name;
	int (*run)(const struct asked *);
	const char *needs; /* letters of the required options */
} verb[] = {
    {"key", new_key, "kn"},
    {"request", request, ""},
    {"sign", sign, "knsl"},
    {"add", add, "o"},
};

static int
usage(const char *why)
{
	return help_usage(&audit_help, "witness", why);
}

static bool
has(const struct asked *asked, char letter)
{
	switch (letter) {
	case 'k':
		return asked->key != NULL;
	case 'n':
		return asked->name != NULL;
	case 's':
		return asked->state != NULL;
	case 'l':
		return asked->log != NULL;
	default:
		return asked->old_given;
	}
}

static bool
has_all(const struct asked *asked, const char *letters)
{
	while (*letters != '\0') {
		if (!has(asked, *letters++))
			return false;
	}
	return true;
}

static bool
take(int c, struct asked *asked)
{
	const struct {
		int c;
		const char **text;
	} row[] = {{'k', &asked->key}, {'n', &asked->name}, {'s', &asked->state},
	    {'l', &asked->log}};

	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		if (row[i].c != c)
			continue;
		*row[i].text = optarg;
		return true;
	}
	if (c != 'o' ||
	    !scan_number(
		(struct span){(const uint8_t *)optarg, strlen(optarg)}, &asked->old))
		return false;
	asked->old_given = true;
	return true;
}

int
witness_main(int argc, char **argv)
{
	static const struct option option[] = {
	    {"key", required_argument, NULL, 'k'},
	    {"name", required_argument, NULL, 'n'},
	    {"state", required_argument, NULL, 's'},
	    {"log", required_argument, NULL, 'l'},
	    {"old", required_argument, NULL, 'o'},
	    {"size", required_argument, NULL, 'o'},
	    {NULL, 0, NULL, 0},
	};
	struct asked asked = {.key = NULL};
	int c;

	optind = 0;
	while ((c = getopt_long(argc, argv, ":", option, NULL)) != -1) {
		if (c == '?')
			return help_unknown_option(
			    &audit_help, argv[0], argv[optind - 1]);
		if (!take(c, &asked))
			return usage("expected a value after an option");
	}
	if (argc - optind != 1)
		return usage("expected key, request, sign or add");
	for (size_t i = 0; i < ARRAY_LEN(verb); i++) {
		if (strcmp(argv[optind], verb[i].name) != 0)
			continue;
		if (!has_all(&asked, verb[i].needs))
			break;
		return verb[i].run(&asked);
	}
	return usage("expected key, request, sign or add, with its options");
}
