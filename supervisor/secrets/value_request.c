/*
 * secrets_request_provision and secrets_request_rotation: an agent asks a person to give
 * a value to the keeper. The value goes from the person's process to the keeper; what is
 * here is the path, and the word that it was done.
 */
#include <string.h>

#include "supervisor/secrets/dialogs.h"

#define MODE_CAP 32

static bool
mode_read(struct json arguments, enum secrets_kind *ret, struct secrets_answer *a)
{
	char text[MODE_CAP];
	const char *mode;

	if (!argument_text(arguments, "mode", text, sizeof(text), &mode, a))
		return false;
	*ret = SECRETS_PROVISION;
	if (mode == NULL || strcmp(mode, "provision") == 0)
		return true;
	*ret = SECRETS_ROTATION;
	if (strcmp(mode, "rotation") == 0)
		return true;
	fail(a, SECRETS_INVALID_ARGUMENTS,
	    "invalid arguments: `mode`: expected provision or rotation, found another "
	    "string");
	return false;
}

static void
ask_value(struct secrets_approvals *all, const struct secrets_context *c,
    struct json arguments, enum secrets_kind kind, struct secrets_answer *a)
{
	char path[SECRET_PATH_MAX + 1];
	struct asked u = {.kind = kind,
	    .path = path,
	    .ttl_s = REQUEST_TTL_S,
	    .manifests = c->manifests};
	struct metas m;

	if (!argument_path(arguments, "path", path, a) || !inventory_read(c, &m, a))
		return;
	u.meta = inventory_find(&m, path, a);
	if (u.meta != NULL) {
		dialogs_holders(all, &u);
		if (u.holder_n == 0 && routes_elsewhere(c->manifests, path))
			u.failed = "values of this path are not kept in kennel's vault";
		dialogs_ask(all, &u, a);
	}
	metas_free(&m);
}

void
secrets_request_provision(struct secrets_approvals *all, const struct secrets_context *c,
    struct json arguments, struct secrets_answer *a)
{
	enum secrets_kind kind;

	if (arguments_object(&arguments, a) && mode_read(arguments, &kind, a))
		ask_value(all, c, arguments, kind, a);
}

void
secrets_request_rotation(struct secrets_approvals *all, const struct secrets_context *c,
    struct json arguments, struct secrets_answer *a)
{
	if (arguments_object(&arguments, a))
		ask_value(all, c, arguments, SECRETS_ROTATION, a);
}
