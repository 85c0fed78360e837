/*
 * Compares the files that a sealed policy was compiled from with their digests.
 */
#include "supervisor/launch/find/changed_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/base/source.h"
#include "policy/compile/compile.h"
#include "policy/compile/source_list.h"
#include "shim/base/fd.h"
#include "shim/host/path_open.h"

#define TEXT_LEN_MAX (16u << 20) /* of a text or a pins file */

/* NULL: unable to read it. The caller frees it. */
static char *
text_read(const char *path, size_t *ret_len, struct changed_source *ret)
{
	char *text = NULL;
	struct stat st = {.st_size = 0};
	int fd = -1;

	/* syscalls: openat fstat lseek read */
	if (path_open(path, &fd) < 0)
		return NULL;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    fd_slurp(fd, TEXT_LEN_MAX, &text, ret_len) < 0)
		text = NULL;
	fd_close(&fd);
	(void)snprintf(ret->path, sizeof(ret->path), "%s", path); /* it was opened */
	ret->own = st.st_uid == geteuid();                        /* syscalls: geteuid */
	return text;
}

/* A file that was compiled. */
static bool
is_changed(const struct listed_source *listed, struct changed_source *ret)
{
	uint8_t now[32];
	size_t len = 0;
	char *text = listed->path[0] == '/' ? text_read(listed->path, &len, ret) : NULL;

	if (text == NULL)
		return false;
	policy_digest(text, len, now);
	free(text);
	return memcmp(now, listed->sha256, sizeof(now)) != 0;
}

/* DIR/policies/NAME.kennel for DIR/sealed/NAME.sealed. False: another layout. */
static bool
text_beside(const char *sealed, char name[NAME_MAX], char path[PATH_MAX])
{
	static const char dir[] = "/sealed/", suffix[] = ".sealed";
	const char *base = strrchr(sealed, '/');
	size_t len = strlen(sealed), dir_len = sizeof(dir) - 1, base_len;
	int n;

	if (base == NULL || (size_t)(base + 1 - sealed) < dir_len ||
	    memcmp(++base - dir_len, dir, dir_len) != 0 || len < sizeof(suffix) ||
	    strcmp(sealed + len + 1 - sizeof(suffix), suffix) != 0)
		return false;
	base_len = strlen(base) + 1 - sizeof(suffix);
	if (base_len == 0 || base_len >= NAME_MAX)
		return false;
	memcpy(name, base, base_len);
	name[base_len] = '\0';
	n = snprintf(path, PATH_MAX, "%.*s/policies/%s.kennel",
	    (int)(len - strlen(base) - dir_len), sealed, name);
	return n > 0 && n < PATH_MAX;
}

/* A text that a start would use without the sealed file. */
static bool
is_hidden(struct source_list list, const char *sealed, struct changed_source *ret)
{
	enum policy_defines defines = DEFINES_NO;
	struct policy_source source = {.reader = &policy_files};
	char name[NAME_MAX], path[PATH_MAX], *text;
	uint8_t now[32];

	if (!text_beside(sealed, name, path) ||
	    (text = text_read(path, &source.len, ret)) == NULL)
		return false;
	source.path = path;
	source.text = text;
	policy_digest(text, source.len, now);
	if (!source_list_has(list, now) && policy_defines(&source, name, &defines) < 0)
		defines = DEFINES_NO; /* out of memory */
	free(text);
	return defines == DEFINES_YES;
}

bool
changed_source_find(
    const struct policy *p, const char *sealed, struct changed_source *ret)
{
	struct source_list list = source_list_of(p->base, p->map_len);
	struct source_list rest = list;
	struct listed_source listed;
	bool found = false;
	struct stat st;

	if (list.at == list.end)
		return false;
	ret->compile[0] = '\0';
	while (!found && source_list_next(&rest, &listed)) {
		if (ret->compile[0] == '\0') /* the first one is what was compiled */
			memcpy(ret->compile, listed.path, sizeof(ret->compile));
		found = is_changed(&listed, ret);
	}
	if (!found && !is_hidden(list, sealed, ret))
		return false;
	if (ret->compile[0] != '/' || !found)
		memcpy(ret->compile, ret->path, sizeof(ret->compile));
	/* syscalls: newfstatat geteuid */
	ret->own = ret->own && stat(sealed, &st) == 0 && st.st_uid == geteuid();
	return true;
}

bool
changed_source_knows(const char *sealed, const char *text)
{
	char name[NAME_MAX], beside[PATH_MAX], *bytes;
	struct changed_source unused;
	struct listed_source listed;
	struct source_list list;
	bool known;
	size_t len = 0;

	if (text_beside(sealed, name, beside) && strcmp(beside, text) == 0)
		return true;
	bytes = text_read(sealed, &len, &unused);
	list = source_list_of((const uint8_t *)bytes, len);
	known = false;
	while (!known && source_list_next(&list, &listed))
		known = strcmp(listed.path, text) == 0;
	free(bytes);
	return known;
}

const char *
changed_source_text(char out[CHANGED_TEXT_MAX], const struct changed_source *c)
{
	(void)snprintf(out, CHANGED_TEXT_MAX,
	    "not compiled from what %s contains now: run `kennel policy compile %s`, or "
	    "remove the sealed file to use the text",
	    c->path, c->compile);
	return out;
}
