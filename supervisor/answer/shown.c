/*
 * What a person was shown, as a program that shows approvals sends it: a line of `kennel
 * approve list --json` on standard input.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/hex.h"
#include "supervisor/answer/private.h"
#include "supervisor/json/json.h"

/* Each byte of a detail may become six in JSON. */
#define LINE_MAX_BYTES (8 * (QUESTION_DETAIL_MAX + QUESTION_TEXT_MAX))

/* Reads to the end: the length, -EMSGSIZE, or -errno. */
static ssize_t
read_all(int fd, uint8_t *out, size_t cap)
{
	size_t len = 0;
	ssize_t n;

	while ((n = read(fd, out + len, cap - len)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		len += (size_t)n;
		if (len == cap)
			return -EMSGSIZE;
	}
	return (ssize_t)len;
}

int
shown_read(int fd, struct shown *ret)
{
	static uint8_t line[LINE_MAX_BYTES];
	ssize_t len = read_all(fd, line, sizeof(line));
	const struct {
		const char *name;
		char *out;
		size_t cap;
	} field[] = {
	    {"id", ret->id, sizeof(ret->id)},
	    {"kind", ret->kind, sizeof(ret->kind)},
	    {"subject", ret->subject, sizeof(ret->subject)},
	    {"detail", ret->detail, sizeof(ret->detail)},
	    {"sha256", ret->sha256, sizeof(ret->sha256)},
	};
	struct json_message m;
	struct json value;
	size_t n;

	if (len < 0 || json_scan(line, (size_t)len, &m) < 0)
		return -EINVAL;
	for (size_t i = 0; i < ARRAY_LEN(field); i++)
		if (json_get(m.root, field[i].name, &value) < 0 ||
		    json_text(value, field[i].out, field[i].cap, &n) < 0)
			return -EINVAL;
	return 0;
}

bool
shown_is(const struct shown *s, const struct approval_found *found)
{
	const char *kind = question_kind_name((enum question_kind)found->kind);
	char hex[2 * QUESTION_DIGEST_LEN + 1];

	return kind != NULL && strcmp(kind, s->kind) == 0 &&
	       strcmp(found->subject, s->subject) == 0 &&
	       strcmp(found->detail, s->detail) == 0 &&
	       strcmp(hex_put(hex, found->digest, sizeof(found->digest)), s->sha256) == 0;
}
