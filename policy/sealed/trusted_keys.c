/*
 * The trust directory: the keys whose signatures are trusted.
 *
 * Process: leash and kennel, early.  The directory decides what may start on
 * this machine.  If a user other than root can write to it or to a parent, the
 * start is refused.  Must never: use a directory that a variable or an option
 * names.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/sealed/signature.h"
#include "shim/base/hex.h"

#define KEY_WORD "kennel-key-1 "
#define TEXT_MAX (256u << 10)

/* Of the list of current policies: docs/FORMAT.current. */
#define HEAD         "kennel-current-1\n"
#define END          "end\n"
#define ID_DIGITS    ((size_t)2 * POLICY_ID_LEN)
#define NUMBER_MAX   18 /* digits of a version */
#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

struct reading {
	struct trust *t;
	const char *folder;
	uid_t owner;
	char *why;
	size_t why_cap;
	char text[TEXT_MAX + 1];
	size_t len;
};

static int
refuse(const struct reading *d, int r, const char *name, const char *what)
{
	(void)snprintf(d->why, d->why_cap, "%s%s%s: %s", d->folder,
	    name[0] != 0 ? "/" : "", name, what); /* may be truncated */
	return r;
}

bool
trust_key_parse(const char *text, size_t len, uint8_t ret[SIGN_KEY_LEN])
{
	const size_t word = sizeof(KEY_WORD) - 1;

	return len >= word + 64 && memcmp(text, KEY_WORD, word) == 0 &&
	       (len == word + 64 || strchr(" \n", text[word + 64]) != NULL) &&
	       hex_get(text + word, 64, ret, SIGN_KEY_LEN);
}

/*
 * Only root and the owner can change it.  In a sticky directory, entries belong
 * to their owners.
 */
static bool
is_firm(const struct reading *d, const struct stat *st)
{
	if (st->st_uid != 0 && st->st_uid != d->owner)
		return false;
	return (st->st_mode & (S_IWGRP | S_IWOTH)) == 0 ||
	       (S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX) != 0);
}

/* Checks each parent directory; a link on the way could be redirected. */
static int
above_check(const struct reading *d)
{
	char path[PATH_MAX];
	struct stat st;
	size_t n = strlen(d->folder);

	if (n >= sizeof(path) || d->folder[0] != '/')
		return refuse(d, -EINVAL, "", "not an absolute path");
	memcpy(path, d->folder, n + 1);
	while (n > 1) {
		while (n > 1 && path[n - 1] != '/')
			n--;
		n = n > 1 ? n - 1 : 1;
		path[n] = 0;
		/* early: newfstatat lstat */
		if (lstat(path, &st) < 0)
			return refuse(
			    d, -errno, "", "unable to check a parent directory");
		if (!S_ISDIR(st.st_mode) || !is_firm(d, &st))
			return refuse(d, -EPERM, "",
			    "a parent directory is a symbolic link, or users other than "
			    "root may write it");
	}
	return 0;
}

/*
 * Reads the whole file, if only root and the owner can change it; name is for
 * the message.
 */
static int
file_read(struct reading *d, int dir, const char *name)
{
	struct stat st;
	ssize_t n = 1;
	int fd, r = 0;

	/* early: openat read close fstat newfstatat */
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT ? -ENOENT
				       : refuse(d, -errno, name, "unable to open it");
	d->len = 0;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !is_firm(d, &st))
		r = refuse(
		    d, -EPERM, name, "not a regular file that only root may write");
	while (r == 0 && n > 0 && d->len < TEXT_MAX) {
		n = read(fd, d->text + d->len, TEXT_MAX - d->len);
		if (n < 0)
			r = refuse(d, -errno, name, "unable to read it");
		else
			d->len += (size_t)n;
	}
	(void)close(fd); /* only read */
	d->text[d->len] = 0;
	if (r == 0 && d->len == TEXT_MAX)
		r = refuse(d, -EFBIG, name, "too long");
	return r;
}

static int
key_read(struct reading *d, int dir, const char *name)
{
	struct trust *t = d->t;
	int r;

	if ((r = file_read(d, dir, name)) < 0)
		return r;
	if (t->key_n == TRUST_KEYS_MAX)
		return refuse(d, -ENOSPC, name, "too many keys");
	if (!trust_key_parse(d->text, d->len, t->key[t->key_n]))
		return refuse(d, -EINVAL, name, "not a public key");
	for (uint32_t i = 0; i < t->key_n; i++)
		if (memcmp(t->key[i], t->key[t->key_n], SIGN_KEY_LEN) == 0)
			return refuse(d, -EEXIST, name, "duplicate key");
	t->key_n++;
	return 0;
}

static int
threshold_read(struct reading *d, int dir)
{
	int r = file_read(d, dir, "threshold");

	d->t->threshold = 1;
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	d->len -= d->len > 0 && d->text[d->len - 1] == '\n';
	if (d->len == 0 || d->len > 2 || strspn(d->text, "0123456789") != d->len)
		return refuse(d, -EINVAL, "threshold", "expected a number from 1 to 16");
	d->t->threshold = (uint32_t)strtoul(d->text, NULL, 10); /* one or two digits */
	if (d->t->threshold == 0 || d->t->threshold > SIGN_SIGNERS_MAX)
		return refuse(d, -EINVAL, "threshold", "expected a number from 1 to 16");
	return 0;
}

/* One hex digest of a key or a policy a line; # begins a comment. */
static int
revoked_read(struct reading *d, int dir)
{
	struct trust *t = d->t;
	const char *line, *end;
	int r = file_read(d, dir, "revoked");

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	for (line = d->text; *line != 0; line = end + (*end == '\n')) {
		end = line + strcspn(line, "\n");
		size_t n = strcspn(line, " \t#\n");

		if (n == 0 && (*line == '#' || line == end))
			continue;
		if (t->revoked_n == TRUST_REVOKED_MAX)
			return refuse(d, -ENOSPC, "revoked", "too many lines");
		if (!hex_get(line, n, t->revoked[t->revoked_n], sizeof(t->revoked[0])))
			return refuse(d, -EINVAL, "revoked",
			    "invalid line: expected a digest in hex");
		t->revoked_n++;
	}
	if (strlen(d->text) != d->len)
		return refuse(d, -EINVAL, "revoked", "a NUL byte");
	return 0;
}

/* Root wrote the list, but a cut or a mistyped one must not count as a shorter one: one bad
 * line refuses all. */

/* "ID VERSION NAME...": without the newline. */
static const char *
line_read(const char *line, size_t len, struct current_line *ret)
{
	const char *at = line + ID_DIGITS, *end = line + len;
	size_t n;

	if (len <= ID_DIGITS || *at != ' ' || !hex_get(line, ID_DIGITS, ret->id, 32))
		return "expected the 64 hexadecimal digits of a policy's id";
	at++;
	n = strspn(at, "0123456789");
	if (n == 0 || n > NUMBER_MAX || at[n] != ' ')
		return "expected the version of the policy after its id";
	at += n + 1;
	ret->names = at;
	ret->names_len = (size_t)(end - at);
	while (at < end) {
		n = strspn(at, NAME_LETTERS);
		if (n == 0 || (at[n] != ' ' && at + n != end) || at + n + 1 == end)
			break;
		at += n + (at + n < end);
	}
	return ret->names_len > 0 && at == end
		   ? NULL
		   : "expected the names of servers at the end";
}

int
current_parse(
    const char *text, size_t len, current_fn *fn, void *arg, char *why, size_t why_cap)
{
	const size_t head = sizeof(HEAD) - 1;
	const char *what = NULL, *line = text, *end;
	struct current_line row;
	unsigned int number = 1;
	int r = 0;

	if (strlen(text) != len)
		what = "a NUL byte";
	else if (len < head || memcmp(text, HEAD, head) != 0)
		what = "expected `kennel-current-1`";
	else
		line += head;
	while (what == NULL && r == 0) {
		number++;
		if (strcmp(line, END) == 0)
			return 0;
		end = strchr(line, '\n');
		if (end == NULL)
			what = "expected `end` on the last line";
		else if (*line != '#')
			what = line_read(line, (size_t)(end - line), &row);
		if (what == NULL && *line != '#')
			r = fn(arg, &row);
		if (end != NULL)
			line = end + 1;
	}
	if (what != NULL) {
		(void)snprintf(why, why_cap, "line %u: %s", number, what);
		return -EINVAL;
	}
	(void)snprintf(why, why_cap, "line %u: too many policies", number);
	return r;
}

static int
current_add(void *arg, const struct current_line *line)
{
	struct trust *t = arg;

	if (t->current_n == TRUST_CURRENT_MAX)
		return -ENOSPC;
	memcpy(t->current[t->current_n++], line->id, sizeof(line->id));
	return 0;
}

static int
current_read(struct reading *d, int dir)
{
	int r = file_read(d, dir, TRUST_CURRENT);
	char what[128];

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	d->t->listed = true;
	r = current_parse(d->text, d->len, current_add, d->t, what, sizeof(what));
	return r < 0 ? refuse(d, r, TRUST_CURRENT, what) : 0;
}

/* Reads every *.pub of the directory. */
static int
keys_read(struct reading *d, DIR *dir)
{
	const char *dot;
	struct dirent *e;
	int r = 0;

	/* early: getdents64 */
	for (errno = 0; r == 0 && (e = readdir(dir)) != NULL; errno = 0) {
		dot = strrchr(e->d_name, '.');
		if (e->d_name[0] != '.' && dot != NULL && strcmp(dot, ".pub") == 0)
			r = key_read(d, dirfd(dir), e->d_name);
	}
	if (r == 0 && errno != 0)
		r = refuse(d, -errno, "", "unable to read it");
	return r == -ENOENT
		   ? refuse(d, -EAGAIN, "", "changed while it was read: try again")
		   : r;
}

int
trust_read(const char *folder, uid_t owner, struct trust *ret, char *why, size_t why_cap)
{
	struct reading *d;
	struct stat st;
	DIR *dir = NULL;
	int r = 0, fd, opened;

	/* Fast path: the arrays are valid up to their counts, and without keys the
	 * buffer is not needed.  Clearing both touched 75 pages: 4 % of kennel's and of
	 * the leash's processor time at a start. */
	ret->wanted = ret->listed = false;
	ret->threshold = ret->key_n = ret->revoked_n = ret->current_n = 0;
	/* early: openat fstat newfstatat close */
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	opened = fd < 0 ? -errno : 0;
	if (opened == -ENOENT)
		return 0;
	if ((d = calloc(1, sizeof(*d))) == NULL) {
		if (fd >= 0)
			(void)close(fd); /* nothing was read */
		return -ENOMEM;
	}
	d->t = ret;
	d->folder = folder;
	d->owner = owner;
	d->why = why;
	d->why_cap = why_cap;
	if (opened < 0) {
		r = refuse(d, opened, "", "unable to open it");
		goto out;
	}
	if (fstat(fd, &st) < 0 || !is_firm(d, &st) || (st.st_mode & S_ISVTX) != 0) {
		r = refuse(d, -EPERM, "", "users other than root may write it");
		goto out;
	}
	if ((r = above_check(d)) < 0)
		goto out;
	if ((dir = fdopendir(fd)) == NULL) {
		r = refuse(d, -errno, "", "unable to read it");
		goto out;
	}
	fd = -1;
	if ((r = keys_read(d, dir)) < 0 || (r = threshold_read(d, dirfd(dir))) < 0 ||
	    (r = revoked_read(d, dirfd(dir))) < 0 ||
	    (r = current_read(d, dirfd(dir))) < 0)
		goto out;
	ret->wanted = ret->key_n > 0;
	if (ret->wanted && ret->threshold > ret->key_n)
		r = refuse(d, -EINVAL, "threshold", "higher than the number of keys");
out:
	if (dir != NULL)
		(void)closedir(dir); /* only read */
	if (fd >= 0)
		(void)close(fd);
	free(d);
	return r;
}
