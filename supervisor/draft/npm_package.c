/*
 * Reads package.json with jansson. Its contents are untrusted: only short plain texts
 * and paths below the package are used.
 */
#include "supervisor/draft/npm_package.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "shim/base/fd.h"

#define FILE_MAX (4u << 20)

/* A valid package name: letters, digits and -._~ in parts. */
static int
name_ok(const char *name)
{
	const char *plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "0123456789-._~";
	const char *rest = name;
	size_t n;

	if (*rest == '@') {
		n = strspn(++rest, plain);
		if (n == 0 || rest[n] != '/' || rest[0] == '.')
			return 0;
		rest += n + 1;
	}
	n = strspn(rest, plain);
	return n > 0 && rest[n] == '\0' && rest[0] != '.' && rest[0] != '-';
}

/* What a version, a tag or a range has: no source such as "git+https://". */
static const char version_plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-._+^~<>=*| ";

static int
version_ok(const char *version)
{
	return version[0] != '-' &&
	       version[strspn(version, "abcdefghijklmnopqrstuvwxyz"
				       "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._+")] ==
		   '\0';
}

/* Three numbers, and what may follow: 1.2.3-beta.1 */
static int
is_exact(const char *version)
{
	for (int i = 0; i < 3; i++) {
		size_t n = strspn(version, "0123456789");

		if (n == 0 || (i < 2 && version[n] != '.'))
			return 0;
		version += n + (i < 2);
	}
	return *version == '\0' ||
	       ((*version == '-' || *version == '+') && version_ok(version + 1));
}

int
package_split(
    const char *spec, char name[PACKAGE_TEXT_MAX], char version[PACKAGE_TEXT_MAX])
{
	/* skip the @ of a scope when looking for the version */
	const char *at = strchr(spec[0] == '@' ? spec + 1 : spec, '@');
	size_t n = at == NULL ? strlen(spec) : (size_t)(at - spec);

	if (n >= PACKAGE_TEXT_MAX || (at != NULL && strlen(at) > PACKAGE_TEXT_MAX))
		return -EINVAL;
	memcpy(name, spec, n);
	name[n] = '\0';
	at = at == NULL ? "" : at + 1;
	if (!name_ok(name) || at[strspn(at, version_plain)] != '\0')
		return -EINVAL; /* or another source of the package */
	/* a tag, or a range of versions, is not one to review */
	(void)snprintf(version, PACKAGE_TEXT_MAX, "%s", is_exact(at) ? at : "");
	return 0;
}

/* Resolves a path from the package, which must be below its root: 0 or -EBADMSG. */
static int
take_program(struct package *p, const char *path)
{
	char joined[2 * PATH_MAX], real[PATH_MAX];
	size_t n = strlen(p->root);

	if (path == NULL || strlen(path) >= PATH_MAX)
		return -EBADMSG;
	(void)snprintf(joined, sizeof(joined), "%s/%s", p->root, path); /* both fit */
	if (realpath(joined, real) == NULL || strncmp(real, p->root, n) != 0 ||
	    real[n] != '/')
		return -EBADMSG;
	(void)snprintf(p->program, sizeof(p->program), "%s", real); /* same size */
	return 0;
}

/* One program, under any number of names, as npx requires. */
static int
is_one_program(json_t *bin)
{
	json_t *first = json_object_iter_value(json_object_iter(bin)), *value;
	const char *key;

	json_object_foreach(bin, key, value) if (!json_equal(value, first)) return 0;
	return first != NULL;
}

static int
take_bin(struct package *p, json_t *bin)
{
	const char *slash = strrchr(p->name, '/');
	const char *own = slash == NULL ? p->name : slash + 1;
	json_t *program;

	if (bin == NULL)
		return 0;
	if (json_is_string(bin))
		return take_program(p, json_string_value(bin));
	program = json_object_get(bin, own);
	if (program == NULL && is_one_program(bin))
		program = json_object_iter_value(json_object_iter(bin));
	return program == NULL ? 0 : take_program(p, json_string_value(program));
}

static int
take(struct package *p, const json_t *root)
{
	const char *name = json_string_value(json_object_get(root, "name"));
	const char *version = json_string_value(json_object_get(root, "version"));

	if (name == NULL || strlen(name) >= PACKAGE_TEXT_MAX || !name_ok(name))
		return -EBADMSG;
	if (version == NULL)
		version = "";
	if (strlen(version) >= PACKAGE_TEXT_MAX || !version_ok(version))
		return -EBADMSG;
	(void)snprintf(p->name, sizeof(p->name), "%s", name);          /* fits */
	(void)snprintf(p->version, sizeof(p->version), "%s", version); /* fits */
	return take_bin(p, json_object_get(root, "bin"));
}

/* Reads the file of a canonical directory: 0; -ENOENT; -EBADMSG. The caller drops it. */
static int
read_json(const char *root, json_t **ret)
{
	char path[PATH_MAX + 32];
	char *text = NULL;
	size_t len;
	int fd, r;

	(void)snprintf(path, sizeof(path), "%s/package.json", root); /* fits */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return -ENOENT;
	r = fd_slurp(fd, FILE_MAX, &text, &len);
	fd_close(&fd);
	if (r < 0)
		return -EBADMSG;
	*ret = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	free(text);
	return *ret == NULL ? -EBADMSG : 0;
}

int
package_read(const char *root, struct package *ret)
{
	struct package p = {.name = ""};
	json_t *json = NULL;
	int r;

	if (realpath(root, p.root) == NULL)
		return -ENOENT;
	r = read_json(p.root, &json);
	if (r < 0)
		return r;
	r = take(&p, json);
	json_decref(json);
	if (r == 0)
		*ret = p;
	return r;
}

bool
package_depends(const struct package *p, const char *name)
{
	json_t *json = NULL;
	bool has;

	if (read_json(p->root, &json) < 0)
		return false;
	has =
	    json_object_get(json_object_get(json, "dependencies"), name) != NULL ||
	    json_object_get(json_object_get(json, "optionalDependencies"), name) != NULL;
	json_decref(json);
	return has;
}

/* Cuts the path after the package that an installer has put there, .../node_modules/NAME:
 * the outermost, as what is below it is the package's own choice. -ENOENT: below no
 * node_modules; -EBADMSG: no valid name. */
static int
cut_installed(char path[PATH_MAX], char name[PACKAGE_TEXT_MAX])
{
	static const char modules[] = "/node_modules/";
	char *at = strstr(path, modules), *end;

	while (at != NULL && at[sizeof(modules) - 1] == '.')
		at = strstr(at + 1, modules); /* node_modules/.pnpm/... is pnpm's */
	if (at == NULL)
		return -ENOENT;
	at += sizeof(modules) - 1;
	end = strchrnul(at, '/');
	if (at[0] == '@' && *end == '/')
		end = strchrnul(end + 1, '/');
	*end = '\0';
	if (strlen(at) >= PACKAGE_TEXT_MAX || !name_ok(at))
		return -EBADMSG;
	(void)snprintf(name, PACKAGE_TEXT_MAX, "%s", at); /* fits */
	return 0;
}

int
package_of(const char *file, struct package *ret)
{
	char dir[PATH_MAX], home[PATH_MAX], name[PACKAGE_TEXT_MAX];
	const char *said = getenv("HOME");
	struct package found;
	char *slash;
	int r;

	if (realpath(file, dir) == NULL)
		return -ENOENT;
	r = cut_installed(dir, name);
	if (r == 0 && package_read(dir, &found) == 0 && strcmp(found.name, name) == 0) {
		*ret = found;
		return 0;
	}
	if (r != -ENOENT)
		return -ENOENT; /* one that calls itself something else */
	if (said == NULL || realpath(said, home) == NULL)
		home[0] = '\0';
	while ((slash = strrchr(dir, '/')) != NULL && slash != dir) {
		*slash = '\0';
		if (strcmp(dir, home) == 0)
			break; /* a home directory is never a package */
		r = package_read(dir, ret);
		if (r != -ENOENT && r != -EBADMSG)
			return r; /* a package.json without a name is only a setting */
	}
	return -ENOENT;
}

char *
package_json_text(const char *text)
{
	json_t *string = json_string(text);
	char *out = string == NULL
			? NULL
			: json_dumps(string, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);

	json_decref(string);
	return out;
}
