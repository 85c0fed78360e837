/*
 * What a person was shown, as a program that shows approvals sends it: a line of `kennel
 * approve list --json` on standard input.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/hex.h"
#include "supervisor/answer/private.h"
#include "supervisor/json/json.h"

/* Each byte of a detail may become six in JSON. */
#define LINE_MAX_BYTES (8 * (QUESTION_DETAIL_MAX + QUESTION_TEXT_MAX))

/* Of a struct shown: 0 or -EINVAL. */
static int
take(struct json root, struct shown *ret)
{
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
	struct json value;
	size_t n;

	for (size_t i = 0; i < ARRAY_LEN(field); i++)
		if (json_get(root, field[i].name, &value) < 0 ||
		    json_text(value, field[i].out, field[i].cap, &n) < 0)
			return -EINVAL;
	return 0;
}

int
shown_read(int fd, struct shown *ret)
{
	struct json_message m;
	char *line = NULL;
	size_t len = 0;
	int r = fd_slurp(fd, LINE_MAX_BYTES - 1, &line, &len);

	if (r == 0)
		r = json_scan((const uint8_t *)line, len, &m);
	if (r == 0)
		r = take(m.root, ret);
	free(line);
	return r < 0 ? -EINVAL : 0;
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
