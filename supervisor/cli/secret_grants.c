/*
 * kennel secret grants: the keeper's list, and whether each grant is for the policy that
 * its server has now.
 *
 * Process: kennel. Sees paths and ids, no value.
 */
#include <stdio.h>
#include <string.h>

#include "shim/base/hex.h"
#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/cli/cli.h"
#include "supervisor/cli/secret.h"
#include "supervisor/json/json.h"
#include "supervisor/launch/launch.h"
#include "supervisor/launch/regrant.h"

#define LIST_MAX    (1u << 20)
#define TEXT_MAX    512
#define SERVERS_MAX 64

static const char *const states[] = {
    [GRANT_CURRENT] = "current",
    [GRANT_NARROWER] = "stale: the next start grants it again",
    [GRANT_WIDER] = "stale: the policy allows more now",
    [GRANT_UNKNOWN] = "stale: the policy has changed",
};

/* The policies of the servers in the list, each found once. */
struct servers {
	struct {
		char name[TEXT_MAX];
		int status; /* of find_policy */
		struct policy_found found;
	} of[SERVERS_MAX];
	size_t n;
};

static const struct policy_found *
policy_of(struct servers *s, const char *name)
{
	size_t i = 0;
	char why[256];

	while (i < s->n && strcmp(s->of[i].name, name) != 0)
		i++;
	if (i == SERVERS_MAX)
		return NULL;
	if (i == s->n) {
		(void)snprintf(s->of[i].name, sizeof(s->of[i].name), "%s", name);
		s->of[i].status =
		    find_policy(NULL, name, &s->of[i].found, why, sizeof(why));
		s->n++;
	}
	return s->of[i].status == 0 ? &s->of[i].found : NULL;
}

static const char *
text_of(struct json grant, const char *name, char out[TEXT_MAX])
{
	struct json value;
	size_t len;

	if (json_get(grant, name, &value) < 0 ||
	    json_text(value, out, TEXT_MAX, &len) < 0)
		out[0] = '\0';
	return out;
}

static const char *
state_of(struct servers *s, struct json grant)
{
	const char *log_dir = paths_audit_dir();
	const struct policy_found *f;
	uint8_t id[POLICY_ID_LEN];
	char text[TEXT_MAX];

	if (strcmp(text_of(grant, "kind", text), "policy") != 0)
		return "any policy of this signer";
	f = policy_of(s, text_of(grant, "server", text));
	if (f == NULL)
		return "no such server, or its policy has errors";
	(void)text_of(grant, "id", text);
	if (!hex_get(text, strlen(text), id, sizeof(id)) || log_dir == NULL)
		return states[GRANT_UNKNOWN];
	return states[grant_compare(&f->policy, f->server, id, log_dir)];
}

static bool
same(struct json a, struct json b, const char *name)
{
	char text[2][TEXT_MAX];

	return strcmp(text_of(a, name, text[0]), text_of(b, name, text[1])) == 0;
}

/* Whether another grant of the same secret to the same server is current. */
static bool
is_replaced(struct servers *s, struct json all, struct json grant)
{
	struct json key, other;
	struct json_walk w;

	json_walk(&w, all);
	while (json_next(&w, &key, &other))
		if (same(other, grant, "path") && same(other, grant, "server") &&
		    state_of(s, other) == states[GRANT_CURRENT])
			return true;
	return false;
}

static void
print_row(struct servers *s, struct json all, struct json grant)
{
	const char *state = state_of(s, grant);
	char path[TEXT_MAX], server[TEXT_MAX], kind[TEXT_MAX], id[TEXT_MAX],
	    made[TEXT_MAX];
	char shown[TEXT_MAX];

	if (state == states[GRANT_NARROWER] && is_replaced(s, all, grant))
		state = "replaced by the current one";
	(void)text_of(grant, "path", path);
	(void)text_of(grant, "server", server);
	printf("%-40s server %s  %s %.12s  made %s  %s\n", path,
	    log_quote(shown, sizeof(shown), server, strlen(server)),
	    text_of(grant, "kind", kind), text_of(grant, "id", id),
	    text_of(grant, "made", made), state);
}

static void
print_all(const struct buf *list, const char *path)
{
	static struct servers servers; /* large */
	char text[TEXT_MAX];
	struct json_message m;
	struct json key, grant;
	struct json_walk w;

	if (json_scan(list->data, list->len, &m) < 0)
		return; /* no grants at all */
	json_walk(&w, m.root);
	while (json_next(&w, &key, &grant))
		if (path == NULL || strcmp(text_of(grant, "path", text), path) == 0)
			print_row(&servers, m.root, grant);
	for (size_t i = 0; i < servers.n; i++)
		if (servers.of[i].status == 0)
			policy_found_free(&servers.of[i].found);
}

int
secret_grants_main(int argc, char **argv)
{
	static const char *const list[] = {"kennel", "secret", "grants", "--json", NULL};
	const char *path = argc == 2 && argv[1][0] != '-' ? argv[1] : NULL;
	struct buf out;
	int r;

	/* --json, help and mistakes: kennel-secret answers itself */
	if (argc > 2 || (argc == 2 && path == NULL))
		return secret_become(argc, argv);
	buf_init(&out, LIST_MAX);
	r = regrant_run(list, &out);
	if (r == 0)
		print_all(&out, path);
	buf_free(&out);
	return r == 0 ? 0 : secret_become(argc, argv); /* reports why */
}
