/*
 * The contents are untrusted: an install script may have written them. Only short plain
 * texts are taken, for a person to read.
 */
#include "supervisor/draft/npm_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "shim/base/fd.h"

#define FILE_MAX (64u << 20)
#define TEXT_MAX 1024

static bool
is_plain(const char *text)
{
	size_t n = 0;

	for (; text[n] != '\0'; n++)
		if (text[n] <= ' ' || text[n] == 0x7f || n == TEXT_MAX)
			return false;
	return n > 0;
}

/* "" if it is missing, "?" if it is no short plain text. */
static char *
text_of(json_t *value, const char *key)
{
	json_t *found = json_object_get(value, key);
	const char *text = json_string_value(found);

	if (found == NULL || (text != NULL && text[0] == '\0'))
		return strdup("");
	return strdup(text == NULL || !is_plain(text) ? "?" : text);
}

static int
take_package(struct lock *lock, const char *path, json_t *value)
{
	const char *version = json_string_value(json_object_get(value, "version"));
	struct lock_package *p = &lock->package[lock->n];

	if (!json_is_object(value) || !is_plain(path) ||
	    strncmp(path, "node_modules/", 13) != 0)
		return -EBADMSG;
	if (version == NULL || !is_plain(version))
		version = "";
	p->path = strdup(path);
	p->version = strdup(version);
	p->name = text_of(value, "name");
	p->resolved = text_of(value, "resolved");
	p->integrity = text_of(value, "integrity");
	p->link = json_is_true(json_object_get(value, "link"));
	p->bundled = json_is_true(json_object_get(value, "inBundle"));
	p->scripts = json_is_true(json_object_get(value, "hasInstallScript"));
	lock->n++;
	return p->path == NULL || p->version == NULL || p->name == NULL ||
		       p->resolved == NULL || p->integrity == NULL
		   ? -ENOMEM
		   : 0;
}

static int
by_path(const void *a, const void *b)
{
	return strcmp(((const struct lock_package *)a)->path,
	    ((const struct lock_package *)b)->path);
}

static int
take_packages(struct lock *lock, json_t *packages)
{
	size_t n = json_object_size(packages);
	const char *path;
	json_t *value;
	int r = 0;

	if (!json_is_object(packages))
		return -EBADMSG;
	if (n > LOCK_PACKAGES_MAX)
		return -E2BIG;
	lock->package = calloc(n + 1, sizeof(*lock->package));
	if (lock->package == NULL)
		return -ENOMEM;
	json_object_foreach(packages, path, value)
	{
		r = take_package(lock, path, value);
		if (r < 0)
			return r;
	}
	qsort(lock->package, lock->n, sizeof(*lock->package), by_path);
	return 0;
}

int
lock_take(const char *text, size_t len, struct lock *ret)
{
	json_t *json = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	int r;

	*ret = (struct lock){NULL, 0};
	if (json == NULL)
		return -EBADMSG;
	r = take_packages(ret, json_object_get(json, "packages"));
	json_decref(json);
	return r;
}

int
lock_read(const char *dir, struct lock *ret)
{
	char path[PATH_MAX], *text = NULL;
	size_t len;
	int fd, r;

	*ret = (struct lock){NULL, 0};
	(void)snprintf(path, sizeof(path), "%.4000s/node_modules/.package-lock.json",
	    dir); /* fits */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0)
		return -ENOENT;
	r = fd_slurp(fd, FILE_MAX, &text, &len);
	fd_close(&fd);
	if (r == 0)
		r = lock_take(text, len, ret);
	free(text);
	return r;
}

void
lock_free(struct lock *lock)
{
	for (size_t i = 0; i < lock->n; i++) {
		free(lock->package[i].path);
		free(lock->package[i].version);
		free(lock->package[i].name);
		free(lock->package[i].resolved);
		free(lock->package[i].integrity);
	}
	free(lock->package);
	*lock = (struct lock){NULL, 0};
}

const char *
lock_place(const struct lock_package *p)
{
	static const char modules[] = "node_modules/";
	const char *name = p->path, *next;

	while ((next = strstr(name, modules)) != NULL)
		name = next + sizeof(modules) - 1;
	return name;
}

const char *
lock_name(const struct lock_package *p)
{
	return p->name[0] != '\0' ? p->name : lock_place(p);
}

bool
lock_within(const struct lock_package *p)
{
	return p->bundled && !p->link && p->resolved[0] == '\0' &&
	       p->integrity[0] == '\0';
}

const char *
lock_unsigned(const struct lock_package *p, const char *registry)
{
	char own[3 * TEXT_MAX + 16];
	const char *name = lock_name(p), *base = strchr(name, '/');

	if (p->link)
		return "it is a link to a directory";
	if (lock_within(p))
		return NULL;
	if (strncmp(p->integrity, "sha512-", 7) != 0)
		return "it has no SHA-512";
	(void)snprintf(own, sizeof(own), "%s%s/-/%s-%s.tgz", registry, name,
	    base == NULL ? name : base + 1, p->version); /* longer than any text */
	return strcmp(own, p->resolved) == 0
		   ? NULL
		   : "it is not from the registry's own address for this name and "
		     "version";
}

const struct lock_package *
lock_find(const struct lock *lock, const char *path)
{
	struct lock_package key = {.path = (char *)path};

	if (lock->n == 0)
		return NULL;
	return bsearch(&key, lock->package, lock->n, sizeof(*lock->package), by_path);
}
