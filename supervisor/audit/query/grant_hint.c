/*
 * Suggests the line of a policy that would allow what was refused. Text of an agent or
 * a server becomes part of the line only if it is one argument of it.
 */
#include <stdio.h>
#include <string.h>

#include "policy/sealed/net_hint.h"
#include "shim/base/array.h"
#include "supervisor/audit/query/query.h"
#include "supervisor/audit/query/record.h"

#define UNGRANTED   "no line grants" /* leash/egress/egress_wire.c, supervisor/hub/gate.c */
#define BARE_CHARS  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:"
#define SPLIT_CHARS "\"\\$*?[]{}"

bool
grant_missing(const struct log_record *record)
{
	const char *reason = log_record_text(record, "reason");

	return log_record_text(record, "rule") == NULL && reason != NULL &&
	       strncmp(reason, UNGRANTED, sizeof(UNGRANTED) - 1) == 0;
}

static const char *
net_line(const struct log_record *record, char out[GRANT_HINT_MAX])
{
	const char *name = log_record_text(record, "name");
	uint64_t port = 0;

	if (name == NULL || log_record_text(record, "rule") != NULL)
		return NULL;
	(void)log_record_number(record, "port", &port); /* 0: a name lookup */
	return net_hint(name, (uint32_t)port, out, GRANT_HINT_MAX) > 0 ? out : NULL;
}

/* Is it one argument of a line, bare or in quotes? */
static bool
fits_quotes(const char *name)
{
	for (const char *at = name; *at != '\0'; at++)
		if (*at < ' ' || *at > '~' || strchr(SPLIT_CHARS, *at) != NULL)
			return false;
	return name[0] != '\0';
}

static const char *
gate_line(const struct log_record *record, char out[GRANT_HINT_MAX])
{
	static const struct {
		const char *method, *word;
	} row[] = {
	    {"tools/call", "tool"},
	    {"resources/read", "resource"},
	    {"resources/subscribe", "resource"},
	    {"prompts/get", "prompt"},
	};
	const char *name = log_record_text(record, "name");
	bool by_policy = grant_missing(record) || log_record_is(record, "reason", "deny");

	for (size_t i = 0; by_policy && name != NULL && i < ARRAY_LEN(row); i++) {
		const char *quote = name[strspn(name, BARE_CHARS)] != '\0' ? "\"" : "";

		if (!log_record_is(record, "method", row[i].method))
			continue;
		if (!fits_quotes(name) || strlen(name) > GRANT_HINT_MAX / 2)
			return NULL;
		(void)snprintf(out, GRANT_HINT_MAX, "%s allow %s%s%s", row[i].word, quote,
		    name, quote);
		return out;
	}
	return NULL;
}

const char *
grant_hint(const struct log_record *record, char out[GRANT_HINT_MAX])
{
	if (strcmp(record->kind, "egress") == 0)
		return net_line(record, out);
	if (strcmp(record->kind, "refused") == 0)
		return gate_line(record, out);
	return NULL;
}
