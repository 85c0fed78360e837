/*
 * kennel secret grants: the keeper's list, and whether each grant is for the policy that
 * its server has now. kennel secret revoke --stale: removes those that are not. And, for
 * kennel secret list, which servers name each secret; a vault that is locked stays so.
 *
 * Process: kennel. Sees paths and ids, no value.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/sealed/signature.h"
#include "shim/base/hex.h"
#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/cli/cli.h"
#include "supervisor/cli/secret.h"
#include "supervisor/json/json.h"
#include "supervisor/launch/find/policy_files.h"
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

static void
servers_free(struct servers *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->of[i].status == 0)
			policy_found_free(&s->of[i].found);
	s->n = 0;
}

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

/* Another grant gives what this one gave, or none does: it can go. */
static bool
can_go(struct servers *s, struct json all, struct json grant, const char **ret_state)
{
	const char *state = state_of(s, grant);
	bool stale = state == states[GRANT_NARROWER] || state == states[GRANT_WIDER] ||
		     state == states[GRANT_UNKNOWN];
	bool replaced = stale && is_replaced(s, all, grant);

	*ret_state = replaced ? "replaced by the current one" : state;
	return replaced || state == states[GRANT_WIDER] || state == states[GRANT_UNKNOWN];
}

/* True: the grant gives nothing now, and will not. */
static bool
print_row(struct servers *s, struct json all, struct json grant)
{
	const char *state;
	char path[TEXT_MAX], server[TEXT_MAX], kind[TEXT_MAX], id[TEXT_MAX],
	    made[TEXT_MAX];
	char shown[TEXT_MAX];
	bool useless = can_go(s, all, grant, &state);

	(void)text_of(grant, "path", path);
	(void)text_of(grant, "server", server);
	printf("%-40s server %s  %s %.12s  made %s  %s\n", path,
	    log_quote(shown, sizeof(shown), server, strlen(server)),
	    text_of(grant, "kind", kind), text_of(grant, "id", id),
	    text_of(grant, "made", made), state);
	return useless;
}

static void
print_all(const struct buf *list, const char *path)
{
	static struct servers servers; /* large */
	char text[TEXT_MAX];
	struct json_message m;
	struct json key, grant;
	struct json_walk w;
	size_t n = 0, stale = 0;

	if (json_scan(list->data, list->len, &m) < 0)
		return; /* the keeper's list is JSON */
	json_walk(&w, m.root);
	while (json_next(&w, &key, &grant)) {
		if (path != NULL && strcmp(text_of(grant, "path", text), path) != 0)
			continue;
		n++;
		stale += print_row(&servers, m.root, grant);
	}
	if (n == 0)
		fprintf(stderr,
		    "kennel secret: no grants%s%s: `kennel secret grant --server NAME` "
		    "grants what the policy of a server names\n",
		    path != NULL ? " of " : "", path != NULL ? path : "");
	if (stale > 0)
		printf(
		    "\nA stale or replaced grant gives no value to the policy of now; an "
		    "earlier policy that is started still gets it.\n"
		    "    kennel secret grant --server NAME   grants what the policy "
		    "names, as it is now\n"
		    "    kennel secret revoke --stale        removes these rows\n");
	servers_free(&servers);
}

static const char *const list[] = {"kennel", "secret", "grants", "--json", NULL};

int
secret_grants_main(int argc, char **argv)
{
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

/* ---- revoke --stale ----------------------------------------------------------------- */

/* One process for each grant, because each is recorded on its own: an exit status. */
static int
revoke(struct json grant)
{
	char path[TEXT_MAX], server[TEXT_MAX], id[TEXT_MAX];
	const char *const words[] = {"kennel", "secret", "revoke",
	    text_of(grant, "path", path), "--server", text_of(grant, "server", server),
	    "--only-id", text_of(grant, "id", id), "--alone", NULL};
	struct buf out;
	int r;

	buf_init(&out, LIST_MAX);
	r = regrant_run(words, &out);
	if (r == 0)
		printf("%.*s", (int)out.len, (const char *)out.data);
	else
		log_error("secret revoke: unable to revoke the grant %.12s of %s: see "
			  "`kennel audit secret %s`",
		    id, path, path);
	buf_free(&out);
	return r == 0 ? 0 : EXIT_FAILED;
}

static int
revoke_stale(const struct buf *all, const char *path, const char *server)
{
	static struct servers servers; /* large */
	struct json key, grant;
	struct json_message m;
	struct json_walk w;
	char text[TEXT_MAX];
	const char *state;
	int n = 0, status = 0;

	if (json_scan(all->data, all->len, &m) < 0)
		return EXIT_FAILED; /* the keeper's list is JSON */
	json_walk(&w, m.root);
	while (json_next(&w, &key, &grant)) {
		if ((path != NULL && strcmp(text_of(grant, "path", text), path) != 0) ||
		    (server != NULL &&
			strcmp(text_of(grant, "server", text), server) != 0) ||
		    !can_go(&servers, m.root, grant, &state))
			continue;
		n++;
		if (revoke(grant) != 0)
			status = EXIT_FAILED;
	}
	servers_free(&servers);
	if (n == 0)
		printf("no stale grant\n");
	return status;
}

/* ---- revoke ------------------------------------------------------------------------- */

/* One option's value, of the words; NULL: it is not there. */
static const char *
value_of(int argc, char **argv, const char *option)
{
	for (int i = 1; i + 1 < argc; i++)
		if (strcmp(argv[i], option) == 0)
			return argv[i + 1];
	return NULL;
}

static int
revoke_stale_main(int argc, char **argv)
{
	const char *path = NULL, *server = NULL;
	struct buf all;
	int r;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--stale") == 0)
			continue;
		if (strcmp(argv[i], "--server") == 0 && i + 1 < argc)
			server = argv[++i];
		else if (argv[i][0] != '-' && path == NULL)
			path = argv[i];
		else
			return secret_unknown_option(argv[0], i);
	}
	buf_init(&all, LIST_MAX);
	r = regrant_run(list, &all);
	if (r == 0)
		r = revoke_stale(&all, path, server);
	else
		r = secret_become(
		    2, (char *[]){(char *)"grants", (char *)"--json", NULL});
	buf_free(&all);
	return r;
}

int
secret_revoke_main(int argc, char **argv)
{
	const char *id = value_of(argc, argv, "--only-id");
	const char *server = value_of(argc, argv, "--server"), *path = NULL;
	int r, n = 0;
	bool alone = false;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--stale") == 0)
			return revoke_stale_main(argc, argv);
		alone |= strcmp(argv[i], "--alone") == 0; /* from here and regrant.c */
		if (argv[i][0] != '-' && argv[i] != id && argv[i] != server)
			path = argv[i];
	}
	if (!alone && id != NULL && server != NULL && path != NULL) {
		r = regrant_revoke(path, server, id);
		if (r != 0)
			return r;
	}
	for (int i = 0; i < argc; i++)
		if (strcmp(argv[i], "--alone") != 0)
			argv[n++] = argv[i];
	argv[n] = NULL;
	return secret_become(n, argv);
}

/* ---- the servers that name secrets of the vault ------------------------------------- */

struct reading {
	struct secret_servers *to;
	enum vault_state vault;
	struct json grants; /* of the keeper; valid if the vault is open */
	int r;
};

static bool
text_is(struct json object, const char *name, const char *wanted)
{
	char text[TEXT_MAX];

	return strcmp(text_of(object, name, text), wanted) == 0;
}

bool
secret_grant_holds(const struct policy_found *f, struct json grant)
{
	struct sign_row row[SIGN_SIGNERS_MAX];
	uint8_t id[POLICY_ID_LEN];
	char text[TEXT_MAX];
	struct sign_head head;
	size_t n = 0;
	enum grant_state state;

	(void)text_of(grant, "id", text);
	if (!hex_get(text, strlen(text), id, sizeof(id)))
		return false;
	if (!text_is(grant, "kind", "policy"))
		return sign_rows(f->fd, &head, row, &n) == 0 && n == 1 &&
		       memcmp(row[0].key, id, sizeof(id)) == 0;
	if (paths_audit_dir() == NULL)
		return memcmp(f->policy.id, id, sizeof(id)) == 0;
	state = grant_compare(&f->policy, f->server, id, paths_audit_dir());
	return state == GRANT_CURRENT || state == GRANT_NARROWER;
}

static enum secret_granted
granted(const struct reading *r, const struct policy_found *f, const char *server,
    const char *path)
{
	struct json key, grant;
	struct json_walk w;

	if (r->vault != VAULT_OPEN)
		return r->vault == VAULT_NONE ? SECRET_NOT_GRANTED : SECRET_GRANT_UNKNOWN;
	json_walk(&w, r->grants);
	while (json_next(&w, &key, &grant))
		if (text_is(grant, "path", path) && text_is(grant, "server", server) &&
		    secret_grant_holds(f, grant))
			return SECRET_GRANTED;
	return SECRET_NOT_GRANTED;
}

static int
add(struct secret_servers *to, const char *path, const char *server,
    enum secret_granted is)
{
	struct secret_server *more = reallocarray(to->row, to->n + 1, sizeof(*more));

	if (more == NULL)
		return -ENOMEM;
	to->row = more;
	more += to->n++; /* also if a text is missing: it is freed */
	*more = (struct secret_server){strdup(path), strdup(server), is};
	return more->path == NULL || more->server == NULL ? -ENOMEM : 0;
}

/* A server may get one secret in two variables. */
static bool
is_known(const struct secret_servers *s, const char *path, const char *server)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->row[i].path, path) == 0 &&
		    strcmp(s->row[i].server, server) == 0)
			return true;
	return false;
}

static void
read_server(struct reading *r, const char *name)
{
	static struct policy_found found; /* large */
	const struct sealed_secret *row;
	const char *path;

	if (find_policy_quietly(NULL, name, &found) != 0)
		return; /* `kennel list` shows why */
	row = found.policy.secret + found.server->secrets.first;
	for (uint32_t i = 0; r->r == 0 && i < found.server->secrets.n; i++) {
		if (row[i].source != SOURCE_VAULT)
			continue;
		path = policy_str(&found.policy, row[i].ref);
		if (!is_known(r->to, path, name))
			r->r = add(r->to, path, name, granted(r, &found, name, path));
	}
	policy_found_free(&found);
}

static void
on_name(void *arg, const struct policy_name *name)
{
	struct reading *r = arg;

	if (r->r == 0)
		read_server(r, name->name);
}

static bool
has_path(const struct secret_servers *s, const char *path)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->row[i].path, path) == 0)
			return true;
	return false;
}

/* Adds the paths of the vault that no policy names, each with no server. */
static void
read_vault(struct reading *r)
{
	static const char *const versions[] = {
	    "kennel", "secret", "versions", "--json", NULL};
	struct json_message m;
	struct json key, row;
	struct json_walk w;
	char path[TEXT_MAX];
	struct buf out;

	buf_init(&out, LIST_MAX);
	if (regrant_run(versions, &out) == 0 && json_scan(out.data, out.len, &m) == 0) {
		json_walk(&w, m.root);
		while (r->r == 0 && json_next(&w, &key, &row))
			if (!has_path(r->to, text_of(row, "path", path)))
				r->r = add(r->to, path, "", SECRET_NOT_GRANTED);
	}
	buf_free(&out);
}

static int
by_path(const void *a, const void *b)
{
	const struct secret_server *x = a, *y = b;
	int r = strcmp(x->path, y->path);

	return r != 0 ? r : strcmp(x->server, y->server);
}

int
secret_servers_read(struct secret_servers *ret, bool *ret_locked)
{
	struct reading r = {.to = ret, .vault = vault_state_now()};
	struct json_message m;
	struct buf grants;

	*ret = (struct secret_servers){.n = 0};
	buf_init(&grants, LIST_MAX);
	if (r.vault == VAULT_OPEN && (regrant_run(list, &grants) != 0 ||
					 json_scan(grants.data, grants.len, &m) < 0))
		r.vault = VAULT_LOCKED; /* it was locked just now */
	if (r.vault == VAULT_OPEN)
		r.grants = m.root;
	if (server_names(on_name, &r) == -ENOMEM)
		r.r = -ENOMEM;
	buf_free(&grants);
	if (r.r == 0 && r.vault == VAULT_OPEN)
		read_vault(&r);
	*ret_locked = r.vault == VAULT_LOCKED;
	if (r.r == 0 && ret->n > 0)
		qsort(ret->row, ret->n, sizeof(*ret->row), by_path);
	return r.r;
}

void
secret_servers_free(struct secret_servers *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->row[i].path);
		free(s->row[i].server);
	}
	free(s->row);
	*s = (struct secret_servers){.n = 0};
}
