/*
 * The environment that a server starts with: built from scratch, written into the
 * shim's plan, and kept to check the environment of later execs.
 *
 * Process: the leash.  The only file that writes a secret's bytes into memory that
 * leaves the process, and only into pages of the vault.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "leash/vault/private.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/wire.h"
#include "shim/shim.h"

struct entry {
	char *name;                  /* owned */
	char *value;                 /* owned; NULL: */
	const struct secret *secret; /* the vault's */
};

struct env {
	struct entry *entry; /* [cap] */
	size_t n;
	size_t cap;
	int file[SHIM_FILES_MAX];
	size_t file_n;
};

/* Any program may set these for itself: none of them changes the effects of a granted
 * program. */
static const char *const benign[] = {
    "COLUMNS", "LANG", "LINES", "OLDPWD", "PWD", "SHLVL", "TERM", "TZ", "_"};

int
env_new(struct env **ret)
{
	struct env *e = calloc(1, sizeof(*e));

	if (e == NULL)
		return -ENOMEM;
	*ret = e;
	return 0;
}

void
env_free(struct env *e)
{
	size_t i;

	if (e == NULL)
		return;
	for (i = 0; i < e->n; i++) {
		free(e->entry[i].name);
		free(e->entry[i].value);
	}
	free(e->entry);
	env_files_close(e);
	free(e);
}

static bool
name_good(const char *name)
{
	const char *c;

	for (c = name; *c != '\0'; c++) {
		bool letter =
		    (*c >= 'A' && *c <= 'Z') || (*c >= 'a' && *c <= 'z') || *c == '_';
		bool digit = *c >= '0' && *c <= '9';

		if (!letter && !(digit && c != name))
			return false;
	}
	return c != name;
}

static const struct entry *
env_find(const struct env *e, const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < e->n; i++)
		if (strlen(e->entry[i].name) == len &&
		    memcmp(e->entry[i].name, name, len) == 0)
			return &e->entry[i];
	return NULL;
}

/* Adds an entry with only a name. */
static int
env_add(struct env *e, const char *name, struct entry **ret)
{
	struct entry *more;
	char *own;

	if (!name_good(name))
		return -EINVAL;
	if (env_find(e, name, strlen(name)) != NULL)
		return -EEXIST;
	if (e->n == SHIM_ENVS_MAX)
		return -ENOSPC;
	if (e->n == e->cap) {
		more = reallocarray(e->entry, e->cap + 32, sizeof(*more));
		if (more == NULL)
			return -ENOMEM;
		e->entry = more;
		e->cap += 32;
	}
	own = strdup(name);
	if (own == NULL)
		return -ENOMEM;
	more = &e->entry[e->n];
	*more = (struct entry){.name = own};
	*ret = more;
	return 0;
}

int
env_plain(struct env *e, const char *name, const char *value)
{
	char *copy = strdup(value);
	struct entry *entry;
	int r;

	if (copy == NULL)
		return -ENOMEM;
	r = env_add(e, name, &entry);
	if (r < 0) {
		free(copy);
		return r;
	}
	entry->value = copy;
	e->n++;
	return 0;
}

int
env_secret(struct env *e, const char *name, const struct secret *secret)
{
	struct entry *entry;
	int r;

	r = env_add(e, name, &entry);
	if (r < 0)
		return r;
	entry->secret = secret;
	e->n++;
	return 0;
}

/* ---- values as files ----------------------------------------------------- */

/*
 * The file is sealed.  The server's uid may differ from ours, so its mode lets
 * everyone read it; but only the server has the descriptor.
 */
static int
value_file(const struct secret *s, int *ret)
{
	int fd, r;

	r = fd_sealed("secret", secret_expose(s), secret_len(s), false, &fd);
	if (r < 0)
		return r;
	/* early: fchmod lseek */
	if (fchmod(fd, 0444) < 0 || lseek(fd, 0, SEEK_SET) < 0) {
		r = -errno;
		fd_close(&fd);
		return r;
	}
	*ret = fd;
	return 0;
}

int
env_file(struct env *e, const char *name, const struct secret *s)
{
	char *own = NULL, path[32];
	int fd = -1, r;

	if (!name_good(name))
		return -EINVAL;
	if (e->file_n == SHIM_FILES_MAX)
		return -ENOSPC;
	(void)snprintf(path, sizeof(path), "/dev/fd/%zu", SHIM_FILE_FD + e->file_n);
	if (asprintf(&own, "%s_FILE", name) < 0)
		return -ENOMEM;
	r = value_file(s, &fd);
	if (r == 0)
		r = env_plain(e, own, path);
	if (r == 0) {
		e->file[e->file_n++] = fd;
		fd = -1;
	}
	fd_close(&fd);
	free(own);
	return r;
}

int
env_descriptor(struct env *e, const char *name, int fd)
{
	char number[16];
	int r;

	if (e->file_n == SHIM_FILES_MAX)
		return -ENOSPC;
	(void)snprintf(number, sizeof(number), "%zu", SHIM_FILE_FD + e->file_n);
	r = env_plain(e, name, number);
	if (r == 0)
		e->file[e->file_n++] = fd;
	return r;
}

size_t
env_files(const struct env *e, const int **ret)
{
	*ret = e->file;
	return e->file_n;
}

void
env_files_close(struct env *e)
{
	for (size_t i = 0; i < e->file_n; i++)
		fd_close(&e->file[i]);
	e->file_n = 0;
}

/* ---- checks -------------------------------------------------------------- */

static bool
name_benign(const char *name, size_t len)
{
	size_t i;

	if (len > 3 && memcmp(name, "LC_", 3) == 0)
		return true;
	for (i = 0; i < ARRAY_LEN(benign); i++)
		if (strlen(benign[i]) == len && memcmp(benign[i], name, len) == 0)
			return true;
	return false;
}

bool
env_permits(const struct env *e, const char *text, size_t len)
{
	const struct entry *entry;
	const char *eq, *value;
	size_t value_len;

	eq = memchr(text, '=', len);
	if (eq == NULL || eq == text || memchr(text, '\0', len) != NULL)
		return false;
	if (name_benign(text, (size_t)(eq - text)))
		return true;
	entry = env_find(e, text, (size_t)(eq - text));
	if (entry == NULL)
		return false;
	value = eq + 1;
	value_len = len - (size_t)(value - text);
	if (entry->secret != NULL)
		return secret_equals(entry->secret, value, value_len);
	return strlen(entry->value) == value_len &&
	       memcmp(entry->value, value, value_len) == 0;
}

/* ---- write --------------------------------------------------------------- */

/* u32 length, bytes, NUL, as wire_put_str writes it, but without a second copy of the
 * value. */
static void
entry_write(const struct entry *entry, struct wire_out *w)
{
	size_t name_len = strlen(entry->name);
	size_t value_len =
	    entry->secret != NULL ? secret_len(entry->secret) : strlen(entry->value);
	size_t len = name_len + 1 + value_len;
	uint8_t *at;

	if (entry->secret != NULL &&
	    !vault_holds(entry->secret->vault, w->data, w->cap)) {
		w->error = w->error < 0 ? w->error : -EFAULT;
		return;
	}
	wire_put_u32(w, (uint32_t)len);
	if (w->error < 0)
		return;
	if (len + 1 > w->cap - w->len) {
		w->error = -ENOSPC;
		return;
	}
	at = w->data + w->len;
	memcpy(at, entry->name, name_len);
	at[name_len] = '=';
	memcpy(at + name_len + 1,
	    entry->secret != NULL ? secret_expose(entry->secret) : entry->value,
	    value_len);
	at[len] = '\0';
	w->len += len + 1;
}

void
env_write(const struct env *e, struct wire_out *w)
{
	size_t i;

	wire_put_u32(w, (uint32_t)e->n);
	for (i = 0; i < e->n && w->error == 0; i++)
		entry_write(&e->entry[i], w);
}
