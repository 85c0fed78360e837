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

#define UNGRANTED    "no line grants" /* leash/egress/egress_wire.c, supervisor/hub/gate.c */
#define NO_ARGUMENTS "no grant has these arguments"       /* leash/exec/decide.c */
#define OTHER_NAME   "ClientHello names another server: " /* leash/egress/egress_wire.c */
#define BARE_CHARS   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:"
#define SPLIT_CHARS  "\"\\$*?[]{}"

bool
grant_missing(const struct log_record *record)
{
	const char *reason = log_record_text(record, "reason");

	return log_record_text(record, "rule") == NULL && reason != NULL &&
	       strncmp(reason, UNGRANTED, sizeof(UNGRANTED) - 1) == 0;
}

const char *
grant_other_name(const struct log_record *record)
{
	const char *reason = log_record_text(record, "reason");
	const char *at = reason != NULL && strcmp(record->kind, "egress") == 0
			     ? strstr(reason, OTHER_NAME)
			     : NULL;

	return at != NULL ? at + sizeof(OTHER_NAME) - 1 : NULL;
}

bool
grant_other_arguments(const struct log_record *record)
{
	return strcmp(record->kind, "exec") == 0 &&
	       log_record_is(record, "reason", NO_ARGUMENTS);
}

bool
grant_line_denies(const struct log_record *record)
{
	const char *reason = log_record_text(record, "reason");

	/* with an outcome: a person was asked */
	return log_record_text(record, "rule") != NULL &&
	       strcmp(record->kind, "approve") != 0 &&
	       log_record_find(record, "outcome") == NULL &&
	       log_record_is(record, "verdict", "deny") &&
	       (reason == NULL || strcmp(reason, "deny") == 0 ||
		   strcmp(reason, "denied") == 0);
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
quote_of(const char *name)
{
	return name[strspn(name, BARE_CHARS)] != '\0' ? "\"" : "";
}

static const char *
exec_line(const struct log_record *record, char out[GRANT_HINT_MAX])
{
	const char *program = log_record_text(record, "program");

	if (program == NULL || !fits_quotes(program) ||
	    strlen(program) > GRANT_HINT_MAX / 2 ||
	    log_record_text(record, "rule") != NULL || grant_other_arguments(record) ||
	    !log_record_is(record, "verdict", "deny"))
		return NULL;
	(void)snprintf(out, GRANT_HINT_MAX, "exec allow %s%s%s **", quote_of(program),
	    program, quote_of(program));
	return out;
}

static const char *
net_line(const struct log_record *record, char out[GRANT_HINT_MAX])
{
	const char *name = log_record_text(record, "name");
	uint64_t port = 0;

	if (name == NULL || log_record_text(record, "rule") != NULL ||
	    grant_other_name(record) != NULL)
		return NULL;
	(void)log_record_number(record, "port", &port); /* 0: a name lookup */
	return net_hint(name, (uint32_t)port, out, GRANT_HINT_MAX) > 0 ? out : NULL;
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
	/* "deny" without a line is of an earlier version.  With one, that line refused it:
	 * an explicit deny, or a grant whose condition does not hold. */
	bool by_policy =
	    grant_missing(record) || (log_record_text(record, "rule") == NULL &&
					 log_record_is(record, "reason", "deny"));

	for (size_t i = 0; by_policy && name != NULL && i < ARRAY_LEN(row); i++) {
		if (!log_record_is(record, "method", row[i].method))
			continue;
		if (!fits_quotes(name) || strlen(name) > GRANT_HINT_MAX / 2)
			return NULL;
		(void)snprintf(out, GRANT_HINT_MAX, "%s allow %s%s%s", row[i].word,
		    quote_of(name), name, quote_of(name));
		return out;
	}
	return NULL;
}

const char *
grant_hint(const struct log_record *record, char out[GRANT_HINT_MAX])
{
	if (strcmp(record->kind, "exec") == 0)
		return exec_line(record, out);
	if (strcmp(record->kind, "egress") == 0)
		return net_line(record, out);
	if (strcmp(record->kind, "refused") == 0)
		return gate_line(record, out);
	return NULL;
}
