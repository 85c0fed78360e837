/*
 * "kennel policy key new | sign | verify": keys, and signatures of sealed
 * files.
 *
 * Runs in the supervisor's program as the calling user.  Holds a signing key
 * while it makes one signature; never prints it, never reads it from the
 * command line or the environment, and wipes it.  There is no passphrase: only
 * the file's mode (0600) and its place protect the key.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sodium.h>

#include "policy/cli/verb.h"
#include "policy/lang/scalar.h"
#include "policy/print/statement.h"
#include "policy/sealed/match.h"
#include "policy/sealed/policy.h"
#include "policy/sealed/signature.h"
#include "shim/base/fd.h"
#include "shim/base/hex.h"
#include "shim/host/path_open.h"

#define SECRET_WORD "kennel-secret-key-1 "
#define KEY_MAX     4096

/* A signing key; wiped by key_wipe. */
struct signer {
	uint8_t key[SIGN_KEY_LEN];
	uint8_t secret[crypto_sign_SECRETKEYBYTES];
};

static void
key_wipe(struct signer *s)
{
	sodium_memzero(s, sizeof(*s));
}

static int
told(const char *path, const char *what)
{
	fprintf(stderr, "kennel policy: ");
	out_plain(stderr, path, strlen(path));
	fprintf(stderr, ": %s\n", what);
	return EXIT_BAD_INPUT;
}

static void
hex(const uint8_t *bytes, size_t len, char *out)
{
	(void)sodium_bin2hex(out, 2 * len + 1, bytes, len);
}

/* ---- keys ------------------------------------------------------------------------ */

/*
 * Creates a file that must not exist yet, so that a signing key is not
 * overwritten by mistake.
 */
static int
key_file(const char *path, const char *word, const uint8_t bytes[32], mode_t mode)
{
	char line[256], digits[65];
	int fd, r, n;

	hex(bytes, 32, digits);
	n = snprintf(line, sizeof(line), "%s%s\n", word, digits);
	sodium_memzero(digits, sizeof(digits));
	/* syscalls: openat fsync fchmod unlink unlinkat */
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	r = fd < 0 ? -errno : fd_write_all(fd, line, (size_t)n);
	if (r == 0 && (fchmod(fd, mode) < 0 || fsync(fd) < 0))
		r = -errno;
	sodium_memzero(line, sizeof(line));
	if (fd >= 0 && r < 0)
		(void)unlink(path); /* r has the reason */
	fd_close(&fd);
	return r < 0 ? verb_unable("create", path, r) : EXIT_OK;
}

int
verb_key(const struct args *a)
{
	uint8_t seed[crypto_sign_SEEDBYTES];
	char pub[PATH_MAX], digits[2 * SIGN_KEY_LEN + 1];
	struct signer s;
	int status;

	if (strcmp(a->word[0], "new") != 0)
		return verb_usage("expected key new FILE", "");
	if ((size_t)snprintf(pub, sizeof(pub), "%s.pub", a->word[1]) >= sizeof(pub))
		return verb_unable("create", a->word[1], -ENAMETOOLONG);
	if (sodium_init() < 0)
		return EXIT_FAILED;
	randombytes_buf(seed, sizeof(seed));
	(void)crypto_sign_seed_keypair(s.key, s.secret, seed); /* always 0 */
	status = key_file(a->word[1], SECRET_WORD, seed, 0600);
	sodium_memzero(seed, sizeof(seed));
	if (status == EXIT_OK)
		status = key_file(pub, "kennel-key-1 ", s.key, 0644);
	hex(s.key, sizeof(s.key), digits);
	key_wipe(&s);
	if (status == EXIT_OK) {
		printf("%s\n", digits);
		status = verb_flush();
	}
	return status;
}

/* Refuses the file unless only its owner can read it. */
static int
signer_read(const char *path, struct signer *ret)
{
	const size_t word = sizeof(SECRET_WORD) - 1;
	uint8_t seed[crypto_sign_SEEDBYTES];
	char *text = NULL;
	struct stat st = {0};
	size_t len = 0;
	int fd = -1, r = path_open(path, &fd), status = EXIT_OK;

	if (r == 0 && fstat(fd, &st) < 0)
		r = -errno;
	if (r == 0 && (!S_ISREG(st.st_mode) || (st.st_mode & 077) != 0))
		status = told(path, "not a private file: a signing key must be a regular "
				    "file with mode 0600");
	else if (r == 0)
		r = fd_slurp(fd, KEY_MAX, &text, &len);
	fd_close(&fd);
	if (r < 0)
		return verb_unable("read", path, r);
	if (status == EXIT_OK &&
	    (len != word + 65 || memcmp(text, SECRET_WORD, word) != 0 ||
		text[word + 64] != '\n' || !hex_get(text + word, 64, seed, sizeof(seed))))
		status = told(path, "not a signing key");
	if (status == EXIT_OK)
		(void)crypto_sign_seed_keypair(
		    ret->key, ret->secret, seed); /* always 0 */
	if (text != NULL)
		sodium_memzero(text, len);
	free(text);
	sodium_memzero(seed, sizeof(seed));
	return status;
}

static bool
counter_parse(const char *s, uint64_t *ret)
{
	size_t n = strspn(s, "0123456789");

	if (n == 0 || n > 18 || s[n] != 0)
		return false;
	*ret = strtoull(s, NULL, 10);
	return *ret > 0;
}

/* ---- sign ---------------------------------------------------------------- */

/* A valid sealed file, and its signatures so far. */
struct sealed_file {
	struct texts t;
	const uint8_t *bytes;
	size_t body;
	const struct sign_head *head;
	const struct sign_row *row;
};

static int
file_read(const char *path, struct sealed_file *f)
{
	struct policy p;
	char why[256] = "";
	int status;

	if ((status = texts_read(&path, 1, SEALED_LEN_MAX, &f->t)) != 0)
		return status;
	f->bytes = (const uint8_t *)f->t.source[0].text;
	if (!text_is_sealed(&f->t.source[0]))
		return told(path, "not a sealed policy: compile it first");
	if (policy_load_bytes(f->bytes, f->t.source[0].len, &p, why, sizeof(why)) < 0)
		return told(path, why);
	policy_unload(&p);
	if (sign_layout(f->bytes, f->t.source[0].len, &f->body, &f->head, &f->row) < 0)
		return told(path, "invalid signatures: compile it again");
	return EXIT_OK;
}

/* Version and last day: those of the file, or the requested ones, or new ones. */
static int
head_make(const struct args *a, const struct sealed_file *f, struct sign_head *ret)
{
	struct sign_head h = {.version = SIGN_VERSION, .counter = (uint64_t)time(NULL)};

	memcpy(h.magic, SIGN_MAGIC, sizeof(h.magic));
	if (f->head != NULL)
		h = *f->head;
	if (a->counter != NULL && !counter_parse(a->counter, &h.counter))
		return verb_usage("--counter takes a number, 1 or more", "");
	if (a->until != NULL && unit_date(a->until, &h.until) < 0)
		return verb_usage("--until takes a date, YYYY-MM-DD", "");
	if (f->head != NULL &&
	    (h.counter != f->head->counter || h.until != f->head->until))
		return told(a->word[0], "already signed with another version or last "
					"day: use the same values, or compile it again");
	*ret = h;
	return EXIT_OK;
}

/* The existing rows except this signer's old one, and the new row, in order. */
static int
rows_put(const struct sealed_file *f, struct sign_head *h, const struct sign_row *mine,
    struct buf *out)
{
	const uint32_t n = f->head != NULL ? f->head->signer_n : 0;
	struct sign_row row[SIGN_SIGNERS_MAX + 1];
	uint32_t i, k = 0;
	bool put = false;

	for (i = 0; i < n; i++) {
		int c = memcmp(f->row[i].key, mine->key, SIGN_KEY_LEN);

		if (c > 0 && !put) {
			row[k++] = *mine;
			put = true;
		}
		if (c != 0)
			row[k++] = f->row[i];
	}
	if (!put)
		row[k++] = *mine;
	if (k > SIGN_SIGNERS_MAX)
		return -ENOSPC;
	h->signer_n = k;
	if (buf_put(out, f->bytes, f->body) < 0 || buf_put(out, h, sizeof(*h)) < 0 ||
	    buf_put(out, row, k * sizeof(row[0])) < 0)
		return -ENOMEM;
	return 0;
}

/* ---- the list of current policies ------------------------------------------- */

#define LIST_LEN_MAX  (256u << 10)
#define LOCK_PAUSE_NS 20000000
#define LOCK_TRIES    1000 /* 20 s */

struct list_update {
	struct buf *out;
	const char *names; /* of the servers of the signed policy */
	uint32_t n;
};

static int
list_put(struct buf *out, const uint8_t id[POLICY_ID_LEN], const char *rest, size_t len)
{
	char digits[2 * POLICY_ID_LEN + 1];

	hex(id, POLICY_ID_LEN, digits);
	return buf_printf(out, "%s %.*s\n", digits, (int)len, rest);
}

/* Keeps a line of another policy; that of an earlier version of this one goes. */
static int
list_keep(void *arg, const struct current_line *line)
{
	struct list_update *u = arg;
	const char *version = line->names - 1;
	size_t len;

	if (line->names_len == strlen(u->names) &&
	    memcmp(line->names, u->names, line->names_len) == 0)
		return 0;
	if (++u->n >= TRUST_CURRENT_MAX)
		return -ENOSPC;
	while (version[-1] != ' ')
		version--;
	len = (size_t)(line->names - version) + line->names_len;
	return list_put(u->out, line->id, version, len);
}

static int
server_names(const struct sealed_file *f, struct buf *out)
{
	struct policy p;
	char why[256];
	int r = policy_load_bytes(f->bytes, f->t.source[0].len, &p, why, sizeof(why));

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < p.row_n[SEALED_SERVERS] && r == 0; i++)
		r = buf_printf(
		    out, "%s%s", i > 0 ? " " : "", policy_str(&p, p.server[i].name));
	policy_unload(&p);
	return r == 0 ? buf_putc(out, '\0') : r;
}

/* The file as it is, if there is one; its lines, and that of the signed policy. */
static int
list_make(const char *path, const struct sealed_file *f, const struct sign_message *m,
    struct buf *names, struct buf *out)
{
	struct list_update u = {.out = out};
	char why[256] = "", *text = NULL, *version = NULL;
	size_t len = 0;
	int fd = -1, r = server_names(f, names), status = EXIT_OK;

	u.names = (const char *)names->data;
	if (r == 0)
		r = buf_puts(out, "kennel-current-1\n");
	if (r == 0 && (r = path_open(path, &fd)) == 0)
		r = fd_slurp(fd, LIST_LEN_MAX, &text, &len);
	fd_close(&fd);
	if (r == 0 && current_parse(text, len, list_keep, &u, why, sizeof(why)) < 0)
		status = told(path, why);
	free(text);
	if (status != EXIT_OK || (r < 0 && r != -ENOENT))
		return r < 0 ? verb_unable("read", path, r) : status;
	r = asprintf(&version, "%llu %s", (unsigned long long)m->head.counter, u.names);
	if (r >= 0)
		r = list_put(out, m->id, version, strlen(version));
	free(version);
	if (r == 0)
		r = buf_puts(out, "end\n");
	return r < 0 ? verb_unable("write", path, -ENOMEM) : EXIT_OK;
}

/* Locks the directory of the list, which stays when the list is replaced: of two signatures
 * at once, the second reads what the first wrote. Everyone who can read the directory can hold the lock, so the wait
 * is bounded; then nothing is written. */
static int
list_lock(const char *path, int *ret_fd)
{
	const struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];
	int fd, n;

	n = snprintf(dir, sizeof(dir), "%.*s",
	    slash == NULL   ? 1
	    : slash == path ? 1
			    : (int)(slash - path),
	    slash == NULL ? "." : path);
	if (n < 0 || (size_t)n >= sizeof(dir))
		return -ENAMETOOLONG;
	/* syscalls: openat flock */
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (n = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; n++) {
		if (errno != EINTR && (errno != EWOULDBLOCK || n == LOCK_TRIES)) {
			n = -errno;
			fd_close(&fd);
			return n;
		}
		(void)nanosleep(&pause, NULL); /* syscalls: nanosleep clock_nanosleep */
	}
	*ret_fd = fd;
	return 0;
}

static int
list_update(const char *path, const struct sealed_file *f, const struct sign_message *m)
{
	struct buf names, out;
	int status, r, lock = -1;

	r = list_lock(path, &lock);
	if (r < 0)
		return verb_unable("lock the directory of", path, r);
	buf_init(&names, LIST_LEN_MAX);
	buf_init(&out, LIST_LEN_MAX);
	status = list_make(path, f, m, &names, &out);
	if (status == EXIT_OK) {
		r = verb_write(path, out.data, out.len, 0644);
		if (r < 0)
			status = verb_unable("write", path, r);
	}
	fd_close(&lock); /* unlocks */
	buf_free(&names);
	buf_free(&out);
	return status;
}

int
verb_sign(const struct args *a)
{
	static struct sealed_file f;
	struct sign_message m;
	struct sign_row mine;
	struct sign_head head;
	struct signer s;
	struct buf out;
	int status, r;

	if (a->key == NULL)
		return verb_usage("sign takes --key FILE", "");
	if (sodium_init() < 0)
		return EXIT_FAILED;
	buf_init(&out, SEALED_LEN_MAX);
	if ((status = file_read(a->word[0], &f)) != EXIT_OK ||
	    (status = head_make(a, &f, &head)) != EXIT_OK ||
	    (status = signer_read(a->key, &s)) != EXIT_OK)
		goto out;
	sign_message(f.bytes, f.body, &head, &m);
	memcpy(mine.key, s.key, sizeof(mine.key));
	(void)crypto_sign_detached(
	    mine.sig, NULL, (const uint8_t *)&m, sizeof(m), s.secret); /* always 0 */
	key_wipe(&s);
	r = rows_put(&f, &head, &mine, &out);
	if (r == 0)
		r = verb_write(a->word[0], out.data, out.len, 0600);
	status = r < 0 ? verb_unable("write", a->word[0], r) : EXIT_OK;
	if (status == EXIT_OK && a->current != NULL)
		status = list_update(a->current, &f, &m);
out:
	buf_free(&out);
	texts_free(&f.t);
	return status;
}

/* ---- verify -------------------------------------------------------------- */

/* The keys given as arguments: all of them must have signed. */
static int
keys_named(const struct args *a, struct trust *t)
{
	static struct texts keys;
	size_t i;
	int status = texts_read(a->word + 1, a->word_n - 1, KEY_MAX, &keys);

	for (i = 0; status == EXIT_OK && i < keys.n; i++)
		if (t->key_n == TRUST_KEYS_MAX ||
		    !trust_key_parse(
			keys.source[i].text, keys.source[i].len, t->key[t->key_n++]))
			status = told(a->word[i + 1], "not a public key");
	texts_free(&keys);
	t->wanted = true;
	t->threshold = t->key_n;
	return status;
}

static void
signers_print(const struct sealed_file *f)
{
	char digits[65];
	uint8_t id[POLICY_ID_LEN];

	policy_digest(f->bytes, f->body, id);
	hex(id, sizeof(id), digits);
	printf("policy  %s\n", digits);
	if (f->head == NULL) {
		printf("not signed\n");
		return;
	}
	printf("version %llu\n", (unsigned long long)f->head->counter);
	if (f->head->until != 0) {
		printf("until   ");
		say_day(f->head->until, stdout);
		printf("\n");
	}
	for (uint32_t i = 0; i < f->head->signer_n; i++) {
		hex(f->row[i].key, SIGN_KEY_LEN, digits);
		printf("signer  %s\n", digits);
	}
}

int
verb_verify(const struct args *a)
{
	static struct sealed_file f;
	static struct trust t;
	struct signed_by by;
	char why[512] = "";
	int status, r = 0;

	memset(&t, 0, sizeof(t));
	if ((status = file_read(a->word[0], &f)) != EXIT_OK)
		goto out;
	if (a->word_n > 1)
		status = keys_named(a, &t);
	else
		r = trust_read(TRUST_DIR, 0, &t, why, sizeof(why));
	if (status != EXIT_OK)
		goto out;
	signers_print(&f);
	if (r == 0 && !t.wanted && f.head == NULL)
		(void)snprintf(why, sizeof(why), "not signed"), r = -ENOKEY;
	if (r == 0)
		r = sign_verify(f.bytes, f.t.source[0].len, &t, policy_days_now(), &by,
		    why, sizeof(why));
	status = verb_flush();
	if (r == 0 && !t.wanted)
		fprintf(stderr, "kennel policy: every signature is valid, but no key was "
				"checked: name a key, or put one in " TRUST_DIR "\n");
	if (r < 0) {
		(void)told(a->word[0], why);
		status = EXIT_NO;
	}
out:
	texts_free(&f.t);
	return status;
}
