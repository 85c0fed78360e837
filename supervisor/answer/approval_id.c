/*
 * The id by which a user names an approval: "PID-NUMBER:DIGEST".
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/hex.h"
#include "supervisor/answer/answer.h"

int
approval_id_read(const char *text, struct approval_id *ret)
{
	unsigned long number;
	char *end;
	size_t n;

	ret->pid = strtol(text, &end, 10);
	if (ret->pid <= 0 || *end != '-' || end[1] < '1' || end[1] > '9')
		return -EINVAL;
	number = strtoul(end + 1, &end, 10);
	if (number > UINT32_MAX)
		return -EINVAL;
	ret->number = (uint32_t)number;
	ret->digest[0] = '\0';
	if (*end == '\0')
		return 0;
	n = hex_span(end + 1);
	if (*end != ':' || n == 0 || n >= sizeof(ret->digest) || end[1 + n] != '\0')
		return -EINVAL;
	memcpy(ret->digest, end + 1, n + 1);
	return 0;
}

struct approval_id
approval_id_of(const struct approval *a)
{
	struct approval_id id = {.pid = a->pid, .number = a->number};

	(void)hex_put(id.digest, a->digest.data, a->digest.len);
	return id;
}

bool
approval_id_names(const struct approval_id *id, const struct approval *a)
{
	struct approval_id other = approval_id_of(a);

	return a->pid == id->pid && a->number == id->number &&
	       strncmp(other.digest, id->digest, strlen(id->digest)) == 0;
}

const char *
approval_id_text(const struct approval *a, char out[QUESTION_ID_MAX])
{
	return question_id(out, a->pid, a->number, a->digest.data);
}
