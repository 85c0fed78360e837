#include "supervisor/draft/signed_set.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/fd.h"

#define SET_MAX (16u << 20)

/* npm verifies the registry's signatures with createVerify, and nothing else in it does. */
const char signed_script[] =
    "'use strict'\n"
    "const crypto = require('crypto')\n"
    "const fs = require('fs')\n"
    "const out = fs.openSync(process.env.HOME + '/" SIGNED_FILE "', 'wx', 0o600)\n"
    "const create = crypto.createVerify\n"
    "crypto.createVerify = function (...how) {\n"
    "  const it = create.apply(this, how)\n"
    "  const update = it.update\n"
    "  const verify = it.verify\n"
    "  const parts = []\n"
    "  it.update = function (data, ...more) { // a stream's write calls it, too\n"
    "    parts.push(Buffer.from(data, ...more))\n"
    "    return update.call(this, data, ...more)\n"
    "  }\n"
    "  it.verify = function (...key) {\n"
    "    const valid = verify.apply(this, key)\n"
    "    const text = Buffer.concat(parts).toString('latin1')\n"
    "    if (valid === true && /^[!-~]+$/.test(text))\n"
    "      fs.writeSync(out, text + '\\n')\n"
    "    return valid\n"
    "  }\n"
    "  return it\n"
    "}\n";

static int
by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int
signed_take(const char *text, size_t len, struct signed_set *ret)
{
	size_t lines = 0, start = 0;

	*ret = (struct signed_set){NULL, NULL, 0};
	for (size_t i = 0; i < len; i++) {
		if (text[i] != '\n' && (text[i] <= ' ' || text[i] > '~'))
			return -EBADMSG;
		lines += text[i] == '\n';
	}
	if (len > 0 && text[len - 1] != '\n')
		return -EBADMSG;
	ret->text = malloc(len + 1);
	ret->line = calloc(lines + 1, sizeof(*ret->line));
	if (ret->text == NULL || ret->line == NULL)
		return -ENOMEM;
	memcpy(ret->text, text, len);
	for (size_t i = 0; i < len; i++) {
		if (text[i] != '\n')
			continue;
		ret->text[i] = '\0';
		ret->line[ret->n++] = ret->text + start;
		start = i + 1;
	}
	qsort(ret->line, ret->n, sizeof(*ret->line), by_text);
	return 0;
}

int
signed_read(const char *dir, struct signed_set *ret)
{
	char path[PATH_MAX], *text = NULL;
	size_t len;
	int fd, r;

	*ret = (struct signed_set){NULL, NULL, 0};
	(void)snprintf(path, sizeof(path), "%.4000s/" SIGNED_FILE, dir); /* fits */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0)
		return -ENOENT;
	r = fd_slurp(fd, SET_MAX, &text, &len);
	fd_close(&fd);
	if (r == 0)
		r = signed_take(text, len, ret);
	free(text);
	return r;
}

void
signed_free(struct signed_set *set)
{
	free(set->text);
	free((void *)set->line);
	*set = (struct signed_set){NULL, NULL, 0};
}

bool
signed_has(const struct signed_set *set, const struct lock_package *p)
{
	char *text = NULL;
	bool found;

	if (set->n == 0 ||
	    asprintf(&text, "%s@%s:%s", lock_name(p), p->version, p->integrity) < 0)
		return false;
	found = bsearch(&text, set->line, set->n, sizeof(*set->line), by_text) != NULL;
	free(text);
	return found;
}
