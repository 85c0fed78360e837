/*
 * Why a leash started nothing: the names that programs compare, and the texts that are
 * made from them.
 */
#include "supervisor/launch/refused_start.h"

#include <stddef.h>
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/json/json.h"
#include "supervisor/mcp/rpc.h"

static const struct {
	const char *name, *text;
} row[LEASH_CAUSE_END] = {
    [LEASH_CAUSE_LOCKED] = {"vault-locked",
	"the vault is locked: a person runs kennel secret unlock"},
    [LEASH_CAUSE_NO_VAULT] = {"no-vault", "no vault found"},
    [LEASH_CAUSE_NOT_STORED] = {"not-stored", "it is not in the vault"},
    [LEASH_CAUSE_NOT_GRANTED] = {"not-granted", "not granted to this server"},
    [LEASH_CAUSE_NO_VALUE] = {"no-value", NULL},
    [LEASH_CAUSE_UNFIT] = {"unfit-value", NULL},
    [LEASH_CAUSE_UNAPPROVED] = {"unapproved", NULL},
    [LEASH_CAUSE_DENIED] = {"denied", NULL},
    [LEASH_CAUSE_STALE] = {"policy-changed",
	"the policy changed, and allows more than the one that it was granted to"},
};

const char *
refused_cause_name(enum leash_cause cause)
{
	return row[cause].name;
}

const char *
refused_cause_text(enum leash_cause cause)
{
	return row[cause].text;
}

struct rpc_why
refused_start_why(const char *why, const struct leash_refused *refused)
{
	return (struct rpc_why){.because = why,
	    .cause = refused_cause_name(refused->cause),
	    .variable = refused->variable,
	    .path = refused->path};
}

/* A text of at most cap - 1 bytes; else "". */
static void
read_text(struct json object, const char *member, char *out, size_t cap)
{
	struct json value;
	size_t len;

	if (json_get(object, member, &value) < 0 || json_text(value, out, cap, &len) < 0)
		out[0] = '\0';
}

void
refused_start_read(struct json kennel, struct leash_refused *ret)
{
	char cause[32];

	*ret = (struct leash_refused){0};
	read_text(kennel, "cause", cause, sizeof(cause));
	for (size_t i = 0; i < ARRAY_LEN(row); i++)
		if (row[i].name != NULL && strcmp(row[i].name, cause) == 0)
			ret->cause = (enum leash_cause)i;
	if (ret->cause == LEASH_CAUSE_OTHER)
		return;
	read_text(kennel, "variable", ret->variable, sizeof(ret->variable));
	read_text(kennel, "path", ret->path, sizeof(ret->path));
}
