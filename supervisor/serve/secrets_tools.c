/*
 * The secrets tools of kennel serve: what is asked of supervisor/secrets, and how its
 * answer reaches the agent.
 *
 * The hub opens no file. The launcher reads the manifests again for each call, and passes
 * their texts; they are parsed here, in the confined process, because a repository may
 * have written them.
 */
#include <errno.h>
#include <stdlib.h>

#include "shim/base/array.h"
#include "supervisor/secrets/secrets.h"
#include "supervisor/serve/private.h"
#include "supervisor/serve/secrets_tools.h"

#define MANIFESTS_MS 5000 /* for the launcher to read them */

struct hub_secrets {
	struct secrets_manifests manifests; /* the last that came */
	uint32_t awaited;                   /* requests for them that are open */
};

/* ---- manifests ------------------------------------------------------------------ */

bool
secrets_texts(struct hub *h, struct wire_in *in, int fd)
{
	if (h->secrets->awaited == 0 ||
	    secrets_manifests_get(in, fd, &h->secrets->manifests) < 0)
		return false;
	h->secrets->awaited--;
	parked_wake(h);
	return true;
}

bool
secrets_have_texts(const struct hub *h)
{
	return h->secrets->awaited == 0;
}

/* True: the manifests were read after this call had come. False: the line waits. */
static bool
has_manifests(struct hub *h, const struct incoming *in)
{
	if (in->waited) {
		if (h->secrets->awaited > 0) /* the time is over */
			secrets_manifests_free(&h->secrets->manifests);
		return true;
	}
	h->secrets->awaited++;
	launcher_ask(h, LAUNCHER_MANIFESTS, NULL);
	if (park(h, in, PARK_MANIFESTS, NULL, MANIFESTS_MS))
		return false;
	reply_error(h, in, RPC_NO_RECORD,
	    "kennel: too many requests are in progress; wait for responses");
	return false;
}

/* ---- calls ------------------------------------------------------------------------ */

static const struct {
	enum own_tool_id id;
	secrets_tool *fn;
} tools[] = {
    {OWN_SECRETS_LIST, secrets_list},
    {OWN_SECRETS_DESCRIBE, secrets_describe},
};

static void
run(struct hub *h, const struct incoming *in, enum own_tool_id id, struct json arguments,
    struct secrets_answer *answer)
{
	const struct secrets_context context = {&h->secrets->manifests, meta_today()};
	struct json version = {0};

	if (json_get(in->m.param[PARAM_META], SECRETS_PROTOCOL_KEY, &version) < 0)
		version.type = JSON_IS_NONE;
	if (!secrets_version(version, answer))
		return;
	for (size_t i = 0; i < ARRAY_LEN(tools); i++)
		if (tools[i].id == id)
			tools[i].fn(&context, arguments, answer);
}

void
secrets_call(
    struct hub *h, struct incoming *in, enum own_tool_id id, struct json arguments)
{
	struct secrets_answer answer;

	if (!has_manifests(h, in))
		return;
	secrets_answer_init(&answer);
	run(h, in, id, arguments, &answer);
	if (answer.no_memory)
		reply_error(h, in, -32603, "kennel: the answer is too long");
	else
		reply_tool(h, in, &answer.structured,
		    answer.text.len > 0 ? buf_str(&answer.text) : NULL, answer.failed);
	secrets_answer_free(&answer);
}

const char *
secrets_meta(const struct hub *h)
{
	return facets_offer(&h->facets, &own_tools[OWN_SECRETS_LIST])
		   ? "\"" SECRETS_PROTOCOL_KEY "\":\"" SECRETS_PROTOCOL "\""
		   : NULL;
}

/* ---- begin and end ---------------------------------------------------------------- */

int
secrets_open(struct hub *h)
{
	h->secrets = calloc(1, sizeof(*h->secrets));
	if (h->secrets == NULL)
		return -ENOMEM;
	h->secrets->manifests.error = -EIO;
	(void)meta_today(); /* reads the time zone, while files may be opened */
	return 0;
}

void
secrets_close(struct hub *h)
{
	secrets_manifests_free(&h->secrets->manifests);
	free(h->secrets);
	h->secrets = NULL;
}
