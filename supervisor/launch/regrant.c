/*
 * Grants again what an edit of the policy took away; and revokes what would do so.
 *
 * Process: kennel, after a start was refused. Holds the paths of secrets, no value. Trusts the
 * vault file for the ids of earlier policies. A kept copy of one counts only if its
 * digest is that id, so it does not matter who could write it. Must never: grant a
 * policy that is not the one compared, which --only-id prevents; grant from a grant that
 * is revoked by now, which --after prevents.
 */
#include "supervisor/launch/regrant.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "policy/diff/diff.h"
#include "shim/base/fd.h"
#include "shim/base/hex.h"
#include "shim/base/log.h"
#include "supervisor/audit/log/kept_policies.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/json/json.h"

#define GRANTS_LEN_MAX (1u << 20)
#define PATH_TEXT_MAX  512
#define ID_TEXT_MAX    (2 * POLICY_ID_LEN + 1)

/* ---- kennel secret --------------------------------------------------------------- */

static int
spawn(const char *const *words, int out, pid_t *ret)
{
	posix_spawn_file_actions_t act;
	int r = posix_spawn_file_actions_init(&act);

	if (r != 0)
		return -r;
	/* early: clone vfork execve dup2 openat */
	r = posix_spawn_file_actions_addopen(
	    &act, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&act, out, STDOUT_FILENO);
	/* the keeper's refusal is reported by the start */
	if (r == 0)
		r = posix_spawn_file_actions_addopen(
		    &act, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	if (r == 0)
		r = posix_spawn(ret, "/proc/self/exe", &act, NULL,
		    (char *const *)(uintptr_t)words, /* spawn does not modify it */
		    environ);
	(void)posix_spawn_file_actions_destroy(&act); /* frees */
	return -r;
}

static int
read_all(int fd, struct buf *out)
{
	char part[4096];
	ssize_t n;
	int r = 0;

	/* early: read */
	while ((n = read(fd, part, sizeof(part))) != 0) {
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0 && r == 0)
			r = buf_put(out, part, (size_t)n);
	}
	return r;
}

int
regrant_run(const char *const *words, struct buf *out)
{
	int pipe_fd[2] = {-1, -1}, status = 0, r;
	pid_t pid = -1;

	/* early: pipe2 wait4 */
	if (pipe2(pipe_fd, O_CLOEXEC) < 0)
		return -errno;
	r = spawn(words, pipe_fd[1], &pid);
	fd_close(&pipe_fd[1]);
	if (r == 0) {
		r = read_all(pipe_fd[0], out);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	fd_close(&pipe_fd[0]);
	return r < 0 ? r : exit_status(status);
}

/* ---- earlier policies ------------------------------------------------------------- */

enum grant_state
grant_compare(const struct policy *now, const struct sealed_server *server,
    const uint8_t id[POLICY_ID_LEN], const char *log_dir)
{
	enum grant_state state = GRANT_UNKNOWN;
	struct policy old;
	char why[256], *bytes = NULL;
	size_t len = 0;

	if (memcmp(id, now->id, POLICY_ID_LEN) == 0)
		return GRANT_CURRENT;
	if (policies_get(log_dir, POLICIES_SEALED, id, &bytes, &len) < 0)
		return GRANT_UNKNOWN;
	if (policy_load_bytes((const uint8_t *)bytes, len, &old, why, sizeof(why)) == 0) {
		struct diff d = {.p = {&old, now}, .s = {NULL, server}};

		d.s[0] = policy_server(&old, policy_str(now, server->name));
		if (d.s[0] != NULL && diff_server(&d) == 0)
			state = diff_only_narrower(&d) ? GRANT_NARROWER : GRANT_WIDER;
		diff_free(&d);
		policy_unload(&old);
	}
	free(bytes);
	return state;
}

static const char *const grants_words[] = {"kennel", "secret", "grants", "--json", NULL};

/* ---- grants ------------------------------------------------------------------------ */

struct regranting {
	const struct policy_found *found;
	const char *server, *file, *log_dir, *session;
	struct json grants;
};

/* The member's text; "" if it is missing. */
static const char *
text_of(struct json object, const char *name, char *out, size_t cap)
{
	struct json value;
	size_t len;

	if (json_get(object, name, &value) < 0 || json_text(value, out, cap, &len) < 0)
		out[0] = '\0';
	return out;
}

/* What the best grant of this path to this server says, and its policy's id. */
static enum grant_state
best_grant(const struct regranting *g, const char *path, char ret_id[ID_TEXT_MAX])
{
	enum grant_state best = GRANT_UNKNOWN, state;
	char text[PATH_TEXT_MAX];
	uint8_t id[POLICY_ID_LEN];
	struct json key, grant;
	struct json_walk w;

	json_walk(&w, g->grants);
	while (best != GRANT_CURRENT && json_next(&w, &key, &grant)) {
		if (strcmp(text_of(grant, "path", text, sizeof(text)), path) != 0 ||
		    strcmp(text_of(grant, "server", text, sizeof(text)), g->server) !=
			0 ||
		    strcmp(text_of(grant, "kind", text, sizeof(text)), "policy") != 0)
			continue;
		(void)text_of(grant, "id", text, sizeof(text));
		if (!hex_get(text, strlen(text), id, sizeof(id)))
			continue;
		state =
		    grant_compare(&g->found->policy, g->found->server, id, g->log_dir);
		if (state == GRANT_CURRENT ||
		    (state == GRANT_NARROWER && best != GRANT_CURRENT)) {
			best = state;
			(void)hex_put(ret_id, id, sizeof(id));
		}
	}
	return best;
}

static bool
grant_again(const struct regranting *g, const char *path, const char *after)
{
	char id[ID_TEXT_MAX];
	const char *words[16] = {"kennel", "secret", "grant", path, "--server", g->server,
	    "--for-start", g->session, "--only-id",
	    hex_put(id, g->found->policy.id, POLICY_ID_LEN), "--after", after};
	struct buf out;
	bool granted;

	if (g->file != NULL) {
		words[12] = "--policy";
		words[13] = g->file;
	}
	buf_init(&out, GRANTS_LEN_MAX);
	granted = regrant_run(words, &out) == 0;
	if (granted)
		log_info("%s: granted again: the changed policy allows %s nothing more",
		    path, g->server);
	buf_free(&out);
	return granted;
}

bool
regrant_possible(const struct policy_found *f)
{
	const struct sealed_secret *row = f->policy.secret + f->server->secrets.first;

	for (uint32_t i = 0; f->counter == 0 && i < f->server->secrets.n; i++)
		if (row[i].source == SOURCE_VAULT)
			return true;
	return false;
}

bool
regrant(const struct opened *o, const char *file)
{
	const struct policy_found *f = &o->found;
	const struct sealed_secret *row = f->policy.secret + f->server->secrets.first;
	struct regranting g = {.found = f,
	    .server = policy_str(&f->policy, f->server->name),
	    .file = file,
	    .log_dir = o->place.log_dir,
	    .session = o->session};
	struct json_message m;
	char after[ID_TEXT_MAX] = "";
	bool granted = false;
	struct buf out;

	buf_init(&out, GRANTS_LEN_MAX);
	if (regrant_run(grants_words, &out) == 0 &&
	    json_scan(out.data, out.len, &m) == 0) {
		g.grants = m.root;
		for (uint32_t i = 0; i < f->server->secrets.n; i++) {
			const char *path = policy_str(&f->policy, row[i].ref);

			if (row[i].source == SOURCE_VAULT &&
			    best_grant(&g, path, after) == GRANT_NARROWER)
				granted |= grant_again(&g, path, after);
		}
	}
	buf_free(&out);
	return granted;
}

/* ---- revocations ------------------------------------------------------------------ */

/* A grant is revoked, and with it those of other policies from which a start would grant
 * its policy again. */
struct revocation {
	const char *path, *server, *id;
	const struct policy_found *now; /* the policy in force; NULL: it has errors */
	const struct policy *policy;    /* the one with this id; NULL: its copy is gone */
	const struct sealed_server *s;
};

/* NARROWER: a start under the policy would grant it again because of this grant. UNKNOWN: one
 * of the two has no copy now, which may come back. WIDER: no, or it is another's. */
static enum grant_state
leads_back(const struct revocation *v, struct json grant)
{
	const char *log_dir = paths_audit_dir();
	uint8_t id[POLICY_ID_LEN];
	char text[PATH_TEXT_MAX];

	if (strcmp(text_of(grant, "path", text, sizeof(text)), v->path) != 0 ||
	    strcmp(text_of(grant, "server", text, sizeof(text)), v->server) != 0 ||
	    strcmp(text_of(grant, "kind", text, sizeof(text)), "policy") != 0)
		return GRANT_WIDER;
	(void)text_of(grant, "id", text, sizeof(text));
	if (!hex_get(text, strlen(text), id, sizeof(id)) || log_dir == NULL ||
	    strcmp(text, v->id) == 0)
		return GRANT_WIDER;
	/* what a person granted to the policy in force is not what was named */
	if (v->now != NULL && v->policy != &v->now->policy &&
	    memcmp(id, v->now->policy.id, sizeof(id)) == 0)
		return GRANT_WIDER;
	return v->s == NULL ? GRANT_UNKNOWN : grant_compare(v->policy, v->s, id, log_dir);
}

static int
revoke_one(const struct revocation *v, const char *id)
{
	const char *const words[] = {"kennel", "secret", "revoke", v->path, "--server",
	    v->server, "--only-id", id, "--alone", NULL};
	struct buf out;
	int r;

	buf_init(&out, GRANTS_LEN_MAX);
	r = regrant_run(words, &out);
	buf_free(&out);
	return r;
}

/* Is the revoked grant one for a policy? */
static bool
is_of_policy(const struct revocation *v, struct json grants)
{
	char text[PATH_TEXT_MAX];
	struct json key, grant;
	struct json_walk w;

	json_walk(&w, grants);
	while (json_next(&w, &key, &grant))
		if (strcmp(text_of(grant, "id", text, sizeof(text)), v->id) == 0 &&
		    strcmp(text_of(grant, "path", text, sizeof(text)), v->path) == 0 &&
		    strcmp(text_of(grant, "kind", text, sizeof(text)), "policy") == 0)
			return true;
	return false;
}

static int
revoke_leading(const struct revocation *v, const struct buf *all)
{
	struct json key, grant;
	struct json_message m;
	struct json_walk w;
	char id[PATH_TEXT_MAX];
	enum grant_state state;
	int status = 0;

	if (json_scan(all->data, all->len, &m) < 0)
		return EXIT_FAILED; /* the keeper's list is JSON */
	if (v->s == NULL && !is_of_policy(v, m.root))
		return 0; /* a signer's */
	json_walk(&w, m.root);
	while (json_next(&w, &key, &grant)) {
		state = leads_back(v, grant);
		if (state != GRANT_NARROWER && state != GRANT_UNKNOWN)
			continue;
		printf("%s: also for the policy %.12s, from which %s grant it again\n",
		    v->path, text_of(grant, "id", id, sizeof(id)),
		    state == GRANT_NARROWER ? "the next start would"
					    : "(its text is not kept) a start could");
		if (revoke_one(v, id) != 0) {
			log_error("secret revoke: unable to revoke the grant %.12s of "
				  "%s: see `kennel audit secret %s`",
			    id, v->path, v->path);
			status = EXIT_FAILED;
		}
	}
	return status;
}

/* The policy with this id, as it is kept beside the log: 0 or negative. */
static int
kept_policy(const char *text, char **ret_bytes, struct policy *ret)
{
	const char *log_dir = paths_audit_dir();
	uint8_t id[POLICY_ID_LEN];
	char why[256];
	size_t len;
	int r;

	if (log_dir == NULL || !hex_get(text, strlen(text), id, sizeof(id)))
		return -ENOENT;
	r = policies_get(log_dir, POLICIES_SEALED, id, ret_bytes, &len);
	if (r == 0)
		r = policy_load_bytes(
		    (const uint8_t *)*ret_bytes, len, ret, why, sizeof(why));
	return r;
}

int
regrant_kept(
    const char *server, const uint8_t id[POLICY_ID_LEN], struct policy_found *ret)
{
	struct policy_found f = {.fd = -1};
	const char *log_dir = paths_audit_dir();
	char why[256], *bytes = NULL;
	size_t len = 0;
	int r = log_dir == NULL
		    ? -ENOENT
		    : policies_get(log_dir, POLICIES_SEALED, id, &bytes, &len);

	if (r == 0)
		r = fd_sealed("kennel-policy", bytes, len, false, &f.fd);
	free(bytes);
	if (r == 0)
		r = policy_load(f.fd, &f.policy, why, sizeof(why));
	if (r < 0) {
		fd_close(&f.fd);
		return r;
	}
	f.server = policy_server(&f.policy, server);
	if (f.server == NULL) {
		policy_unload(&f.policy);
		fd_close(&f.fd);
		return -ENOENT;
	}
	*ret = f;
	return 0;
}

int
regrant_revoke(const char *path, const char *server, const char *id)
{
	struct revocation v = {.path = path, .server = server, .id = id};
	struct policy_found found;
	char why[256], now_id[2 * POLICY_ID_LEN + 1] = "", *bytes = NULL;
	struct policy kept;
	struct buf all;
	int r, status = 0;

	if (find_policy(NULL, server, &found, why, sizeof(why)) == 0) {
		v.now = &found;
		(void)hex_put(now_id, found.policy.id, POLICY_ID_LEN);
	}
	if (strcmp(now_id, id) == 0)
		v.policy = &found.policy;
	else if (kept_policy(id, &bytes, &kept) == 0)
		v.policy = &kept;
	v.s = v.policy == NULL ? NULL : policy_server(v.policy, server);
	buf_init(&all, GRANTS_LEN_MAX);
	r = regrant_run(grants_words, &all);
	status = r == 0 ? revoke_leading(&v, &all) : r;
	buf_free(&all);
	if (v.policy == &kept)
		policy_unload(&kept);
	free(bytes);
	if (v.now != NULL)
		policy_found_free(&found);
	return status;
}
