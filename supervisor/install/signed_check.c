/*
 * npm verifies the packages that were asked of the registry by name, by the answer that it
 * gets when it asks again, and reports success also if some were not asked for, such as
 * those by URL, or if that answer is another than the one that was installed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "policy/lang/remote_url.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "supervisor/draft/npm_lock.h"
#include "supervisor/install/installer.h"
#include "supervisor/draft/signed_set.h"

#define MANIFEST_MAX (4u << 20)

/* ---- aliases ----------------------------------------------------------------------- */

/* Is this npm:NAME or npm:NAME@RANGE? */
static bool
is_alias_of(const char *wanted, const char *name)
{
	size_t n = strlen(name);

	return wanted != NULL && strncmp(wanted, "npm:", 4) == 0 &&
	       strncmp(wanted + 4, name, n) == 0 &&
	       (wanted[4 + n] == '\0' || wanted[4 + n] == '@');
}

static bool
asks_for(json_t *manifest, const struct lock_package *p)
{
	static const char *const kind[] = {
	    "dependencies", "optionalDependencies", "peerDependencies"};

	for (size_t i = 0; i < ARRAY_LEN(kind); i++)
		if (is_alias_of(json_string_value(json_object_get(
				    json_object_get(manifest, kind[i]), lock_place(p))),
			lock_name(p)))
			return true;
	return false;
}

/* Does the package in this directory ask for it, by what its own bytes say? */
static bool
package_asks(const char *tree, const char *dir, const struct lock_package *p)
{
	char path[PATH_MAX], *text = NULL;
	json_t *json;
	size_t len;
	bool found;
	int fd;

	if (snprintf(path, sizeof(path), "%s/%s/package.json", tree, dir) >=
	    (int)sizeof(path))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0)
		return false;
	json = fd_slurp(fd, MANIFEST_MAX, &text, &len) < 0
		   ? NULL
		   : json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	fd_close(&fd);
	free(text);
	found = asks_for(json, p);
	json_decref(json);
	return found;
}

/* The registry's list of a package says which others it needs, and under which names, and
 * has no signature. So the place of another package's code counts only if a package.json
 * that is installed asks for it. */
static bool
is_asked_for(const char *tree, const struct lock *lock, const struct lock_package *p)
{
	for (size_t i = 0; i < lock->n; i++)
		if (package_asks(tree, lock->package[i].path, p))
			return true;
	return false;
}

/* ---- the set ------------------------------------------------------------------------ */

struct check {
	char tree[PATH_MAX];
	char registry[REMOTE_URL_MAX + 2];
	struct lock lock;
	struct signed_set set;
};

/* NULL: its digest is signed. */
static const char *
why_unsigned(const struct check *c, const struct lock_package *p)
{
	const char *why = lock_unsigned(p, c->registry);

	if (why != NULL || lock_within(p))
		return why;
	if (!signed_has(&c->set, p))
		return "npm found no signature of its name, version and digest";
	if (strcmp(lock_place(p), lock_name(p)) != 0 &&
	    !is_asked_for(c->tree, &c->lock, p))
		return "it is another package, which no installed package.json names "
		       "there";
	return NULL;
}

static enum signatures
check_all(const struct check *c, char ret_why[256])
{
	for (size_t i = 0; i < c->lock.n; i++) {
		const struct lock_package *p = &c->lock.package[i];
		const char *why = why_unsigned(c, p);

		if (why == NULL)
			continue;
		(void)snprintf(ret_why, 256, "%.120s %.40s has no signature: %s",
		    p->path + strlen("node_modules/"), p->version, why); /* fits */
		return SIGNATURES_SKIPPED;
	}
	return SIGNATURES_VERIFIED;
}

enum signatures
signed_check(const struct installer *in, char ret_why[256])
{
	static struct check c; /* large */
	size_t len = strlen(in->npm.registry);
	enum signatures found = SIGNATURES_SKIPPED;

	(void)snprintf(c.tree, sizeof(c.tree), "%.4000s/tree", in->staging.work);
	(void)snprintf(c.registry, sizeof(c.registry), "%s%s", in->npm.registry,
	    len > 0 && in->npm.registry[len - 1] == '/' ? "" : "/"); /* fits */
	if (lock_read(c.tree, &c.lock) < 0 || c.lock.n == 0)
		(void)snprintf(ret_why, 256, "npm left no readable list of packages");
	else if (signed_read(in->staging.work, &c.set) < 0)
		(void)snprintf(ret_why, 256, "npm left no list of what it verified");
	else
		found = check_all(&c, ret_why);
	lock_free(&c.lock);
	signed_free(&c.set);
	return found;
}
