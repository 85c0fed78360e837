/*
 * Stores the highest version of each server's policy that was started here, for each key
 * that signed one, so that an older one, although signed, is not accepted again.  A file
 * of each server has lines "VERSION ID KEY"; a line of earlier versions of kennel has no
 * key, and counts as that of any.
 *
 * The directory is /var/lib/kennel for root, otherwise in the home directory from the
 * user database. No environment variable moves it, but its owner can write it
 * (TRUST.md).
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/hex.h"
#include "supervisor/launch/find/policy_found.h"
#include "supervisor/base/paths.h"

#define ROOT_DIR  "/var/lib/kennel/policy-seen"
#define ID_DIGITS ((size_t)64)
#define LINE_CAP  160
#define SEEN_MAX  (TRUST_KEYS_MAX + 64) /* keys that are trusted, or were */
#define FILE_MAX  ((size_t)SEEN_MAX * LINE_CAP)

static int
folder_name(uid_t uid, char out[PATH_MAX])
{
	const char *home;
	int n;

	if (uid == 0)
		n = snprintf(out, PATH_MAX, "%s", ROOT_DIR);
	else if ((home = paths_home_of(uid)) == NULL)
		return -ENOENT;
	else
		n = snprintf(out, PATH_MAX, "%s/.local/state/kennel/policy-seen", home);
	return n > 0 && n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int
folder_of(uid_t uid, char out[PATH_MAX])
{
	int r = folder_name(uid, out);

	return r == 0 ? fd_make_dirs(out) : r;
}

int
rollback_dir(char out[PATH_MAX])
{
	return folder_name(geteuid(), out);
}

struct seen {
	uint64_t counter;
	char id[65];
	char key[65]; /* "": of any */
};

struct seen_list {
	struct seen v[SEEN_MAX];
	size_t n;
};

/* One line without its newline; false: invalid. */
static bool
line_parse(const char *line, size_t len, struct seen *ret)
{
	size_t n = strspn(line, "0123456789");
	const char *id = line + n + 1, *key = id + ID_DIGITS + 1;

	if (n == 0 || n > 18 || len < n + 1 + ID_DIGITS || line[n] != ' ' ||
	    hex_span(id) != ID_DIGITS)
		return false;
	if (len != n + 1 + ID_DIGITS && (len != n + 2 + 2 * ID_DIGITS || key[-1] != ' ' ||
					    hex_span(key) != ID_DIGITS))
		return false;
	ret->counter = strtoull(line, NULL, 10);
	(void)snprintf(ret->id, sizeof(ret->id), "%.*s", (int)ID_DIGITS, id);
	(void)snprintf(ret->key, sizeof(ret->key), "%.*s",
	    len == n + 1 + ID_DIGITS ? 0 : (int)ID_DIGITS, key);
	return true;
}

/* A missing file has no line. */
static int
seen_read(int dir, const char *name, struct seen_list *ret)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), r;
	char *text = NULL;
	const char *line, *end;
	size_t len = 0;

	ret->n = 0;
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	r = fd_slurp(fd, FILE_MAX, &text, &len);
	fd_close(&fd);
	if (r == 0 && (len == 0 || strlen(text) != len))
		r = -EBADMSG;
	line = text;
	while (r == 0 && *line != '\0') {
		end = strchr(line, '\n');
		if (end == NULL || ret->n == SEEN_MAX ||
		    !line_parse(line, (size_t)(end - line), &ret->v[ret->n++]))
			r = -EBADMSG;
		else
			line = end + 1;
	}
	free(text);
	return r;
}

static int
seen_write(int dir, const char *name, const struct seen_list *l)
{
	char temp[NAME_MAX + 8], line[LINE_CAP];
	int fd, r = 0, n;

	/* no server name begins with a dot, so this is never another server's file */
	(void)snprintf(temp, sizeof(temp), ".%.200s.new", name);
	fd = openat(
	    dir, temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	for (size_t i = 0; i < l->n && r == 0; i++) {
		n = snprintf(line, sizeof(line), "%llu %s%s%s\n",
		    (unsigned long long)l->v[i].counter, l->v[i].id,
		    l->v[i].key[0] != '\0' ? " " : "", l->v[i].key);
		r = fd_write_all(fd, line, (size_t)n);
	}
	if (r == 0 && (fsync(fd) < 0 || renameat(dir, temp, dir, name) < 0))
		r = -errno;
	fd_close(&fd);
	return r == 0 && fsync(dir) < 0 ? -errno : r;
}

/* Does what this key signed count? */
static bool
counts(const struct trust *t, const char *key)
{
	uint8_t bytes[SIGN_KEY_LEN];

	if (key[0] == '\0')
		return true;
	if (!hex_get(key, ID_DIGITS, bytes, sizeof(bytes)))
		return false;
	for (uint32_t i = 0; i < t->revoked_n; i++)
		if (memcmp(t->revoked[i], bytes, sizeof(bytes)) == 0)
			return false;
	for (uint32_t i = 0; i < t->key_n; i++)
		if (memcmp(t->key[i], bytes, sizeof(bytes)) == 0)
			return true;
	return false;
}

/* This version for this key, in the place of what is not higher. True: a change. */
static int
seen_put(struct seen_list *l, uint64_t counter, const char *id, const char *key)
{
	size_t i;

	for (i = 0; i < l->n && strcmp(l->v[i].key, key) != 0; i++)
		;
	if (i < l->n && l->v[i].counter == counter)
		return 0;
	if (i == l->n && l->n++ == SEEN_MAX) {
		l->n = SEEN_MAX;
		return -ENOSPC;
	}
	l->v[i].counter = counter;
	(void)snprintf(l->v[i].id, sizeof(l->v[i].id), "%s", id);
	(void)snprintf(l->v[i].key, sizeof(l->v[i].key), "%s", key);
	return 1;
}

/* Keeps lines whose keys are trusted no more: they may be trusted again. */
static int
seen_put_all(struct seen_list *l, const struct signed_by *by, const char *id)
{
	char key[2 * SIGN_KEY_LEN + 1];
	int r = 0, put;

	for (uint32_t i = 0; i < by->trusted_n; i++) {
		put =
		    seen_put(l, by->counter, id, hex_put(key, by->key[i], SIGN_KEY_LEN));
		if (put < 0)
			return put;
		r |= put;
	}
	return r;
}

int
rollback_admit_in(const char *folder, const char *name, const struct signed_by *by,
    const struct trust *t, const uint8_t id[POLICY_ID_LEN], char *why, size_t why_cap)
{
	char mine[2 * POLICY_ID_LEN + 1];
	uint64_t last = 0;
	struct seen_list seen;
	int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;

	seen.n = 0;
	(void)hex_put(mine, id, POLICY_ID_LEN);
	r = dir < 0 || flock(dir, LOCK_EX) < 0 ? -errno : seen_read(dir, name, &seen);
	for (size_t i = 0; r == 0 && i < seen.n; i++) {
		if (!counts(t, seen.v[i].key) || seen.v[i].counter < by->counter)
			continue;
		last = seen.v[i].counter;
		if (last > by->counter)
			r = -ESTALE;
		else if (strcmp(mine, seen.v[i].id) != 0)
			r = -EEXIST;
	}
	if (r == 0)
		r = seen_put_all(&seen, by, mine);
	if (r == 1)
		r = seen_write(dir, name, &seen);
	if (r == -ESTALE)
		(void)snprintf(why, why_cap,
		    "version %llu of this policy is older than %llu, which was started "
		    "here",
		    (unsigned long long)by->counter, (unsigned long long)last);
	else if (r == -EEXIST)
		(void)snprintf(why, why_cap,
		    "another policy was started here as version %llu",
		    (unsigned long long)last);
	else if (r < 0)
		(void)snprintf(why, why_cap,
		    "%s/%s: unable to keep the policy's version: %s", folder, name,
		    strerror(-r));
	fd_close(&dir); /* also releases the lock */
	return r;
}

int
rollback_admit(const char *name, const struct signed_by *by, const struct trust *t,
    const uint8_t id[POLICY_ID_LEN], char *why, size_t why_cap)
{
	char folder[PATH_MAX];
	int r = folder_of(geteuid(), folder);

	if (r < 0) {
		(void)snprintf(why, why_cap, "no directory for the policy's version: %s",
		    strerror(-r));
		return r;
	}
	return rollback_admit_in(folder, name, by, t, id, why, why_cap);
}
