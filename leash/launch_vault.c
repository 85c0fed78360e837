/*
 * Secrets from the vault: requests each from the keeper, on behalf of the sealed
 * policy.
 *
 * Process: the leash, before it sandboxes itself.  If a value is missing, the user
 * gets the path, the reason, and the command that fixes it.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "leash/keeper/keeper.h"
#include "leash/launch.h"
#include "policy/sealed/policy.h"
#include "policy/sealed/signature.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"

#define COMMAND_MAX  400
#define REPLACED_MAX 16 /* old values of one path that are redacted */
/* Less than the supervisor's patience, so that the answer names the keeper. */
#define KEEPER_WAIT_S 10

static struct {
	int keeper;
	bool read; /* head and row are filled in */
	struct sign_head head;
	struct sign_row row[SIGN_SIGNERS_MAX];
	size_t row_n;
	const struct sealed_secret *last; /* the last one that the keeper returned */
} keeper_session = {.keeper = -1};

/* Is it safe in a command without quotes? */
static bool
plain(const char *word)
{
	return word[0] != '\0' && word[0] != '-' &&
	       strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "0123456789/._-") == strlen(word);
}

/* The file that contains the line. */
static const char *
policy_file(const struct policy *p, const struct sealed_secret *row)
{
	const char *file = policy_str(p, p->file[row->at.file]);

	return plain(file) ? file : "FILE";
}

/* ---- what is missing ------------------------------------------------------------ */

struct missing {
	struct leash *l;
	const struct sealed_secret *row;
	struct reason *why;
};

static const char *
path_of(const struct missing *m, char out[COMMAND_MAX])
{
	return policy_str(&m->l->policy, m->row->ref);
}

static const char *
grant_of(const struct missing *m, char out[COMMAND_MAX])
{
	const char *server = policy_str(&m->l->policy, m->l->server->name);

	(void)snprintf(out, COMMAND_MAX, "kennel secret grant %s --server %s --policy %s",
	    path_of(m, out), plain(server) ? server : "NAME",
	    policy_file(&m->l->policy, m->row));
	return out;
}

static const struct {
	uint32_t reason;
	int error;
	enum leash_cause cause;
	const char *what;
	const char *(*rest)(const struct missing *, char out[COMMAND_MAX]);
} reason_row[] = {
    {REASON_LOCKED, -ENOKEY, LEASH_CAUSE_LOCKED,
	"the vault is locked: run kennel secret unlock"},
    {REASON_NO_VAULT, -ENOENT, LEASH_CAUSE_NO_VAULT,
	"no vault found: run kennel secret init"},
    {REASON_NOT_THERE, -ENOENT, LEASH_CAUSE_NOT_STORED,
	"it is not in the vault: run kennel secret set ", path_of},
    {REASON_NO_GRANT, -EACCES, LEASH_CAUSE_NOT_GRANTED,
	"it is not granted to this server: run ", grant_of},
    {REASON_OTHER_POLICY, -ESTALE, LEASH_CAUSE_STALE, /* LEASH_STALE */
	"the policy allows more than the one that it was granted to (kennel audit "
	"changes "
	"--diff shows what): run ",
	grant_of},
    {REASON_ALTERED, -EUCLEAN, LEASH_CAUSE_NO_VALUE,
	"the vault file was changed by another program, not by kennel"},
};

const char *
launch_keeper_failure(int r)
{
	return r == -ETIMEDOUT || r == -EAGAIN
		   ? "kennel-keeper does not answer: end this process, then run kennel "
		     "secret unlock"
		   : strerror(-r);
}

static int
say_missing(const struct missing *m, int r, uint32_t reason, const char *what)
{
	char command[COMMAND_MAX];
	const char *rest = "";
	size_t i = 0;

	if (m->l->live && (reason == REASON_NO_GRANT || reason == REASON_OTHER_POLICY))
		return reason_set(m->why, -EACCES,
		    "the vault releases it to servers only, not to this check: start a "
		    "server that uses it");
	while (i < ARRAY_LEN(reason_row) && reason_row[i].reason != reason)
		i++;
	if (i < ARRAY_LEN(reason_row)) {
		launch_refused_by(m->l, reason_row[i].cause, m->row);
		if (reason_row[i].rest != NULL)
			rest = reason_row[i].rest(m, command);
		return reason_set(
		    m->why, reason_row[i].error, "%s%s", reason_row[i].what, rest);
	}
	launch_refused_by(m->l, LEASH_CAUSE_NO_VALUE, m->row);
	if (what != NULL)
		return reason_set(m->why, r, "the value %s", what);
	return reason_set(
	    m->why, r, "unable to ask the keeper: %s", launch_keeper_failure(r));
}

/* ---- signatures ---------------------------------------------------------------- */

/* The signatures after the sealed policy's body; the keeper checks them itself. */
static int
read_signatures(int fd)
{
	int r = keeper_session.read ? 0
				    : sign_rows(fd, &keeper_session.head,
					  keeper_session.row, &keeper_session.row_n);

	keeper_session.read = r == 0;
	return r;
}

/* No keeper is running: the vault is locked or missing. */
static uint32_t
closed_reason(void)
{
	const char *dir = getenv("KENNEL_TRACE_AT"); /* the vault's directory */
	char path[PATH_MAX];

	if (dir == NULL)
		return REASON_LOCKED;
	(void)snprintf(path, sizeof(path), "%s/secrets.vault", dir);
	if (access(path, F_OK) < 0 && errno == ENOENT)
		return REASON_NO_VAULT;
	return REASON_LOCKED;
}

int
launch_reach_keeper(const struct leash *l, int *ret_fd, enum keeper_state *ret_state)
{
	const char *run_dir = getenv("KENNEL_RUN_AT");
	char who[KEEPER_WHO_MAX];

	(void)snprintf(who, sizeof(who), "kennel-leash %.40s",
	    policy_str(&l->policy, l->server->name));
	return run_dir == NULL ? -ENOENT
			       : keeper_reach_within(
				     run_dir, -1, who, KEEPER_WAIT_S, ret_fd, ret_state);
}

static int
connect_keeper(const struct missing *m)
{
	enum keeper_state state;
	int r;

	if (keeper_session.keeper >= 0)
		return 0;
	r = launch_reach_keeper(m->l, &keeper_session.keeper, &state);
	if (r == -ENOENT)
		return say_missing(m, r, closed_reason(), NULL);
	if (r < 0)
		(void)reason_set(m->why, r, "unable to reach the keeper: %s",
		    launch_keeper_failure(r));
	return r;
}

static struct secret_client
client_of(const struct leash *l, const struct sealed_secret *row)
{
	return (struct secret_client){.path = policy_str(&l->policy, row->ref),
	    .server = policy_str(&l->policy, l->server->name),
	    .id = l->policy.id,
	    .head = keeper_session.row_n > 0 ? &keeper_session.head : NULL,
	    .row = keeper_session.row,
	    .row_n = keeper_session.row_n};
}

int
launch_vault_secret(struct leash *l, const struct sealed_secret *row, struct secret **ret,
    struct reason *why)
{
	struct secret_client client;
	struct missing m = {l, row, why};
	const char *what = NULL;
	uint32_t reason = 0;
	int r = connect_keeper(&m);

	if (r < 0)
		return r;
	r = read_signatures(l->policy_fd);
	if (r == 0) {
		client = client_of(l, row);
		r = secret_from_keeper(
		    l->vault, keeper_session.keeper, &client, 0, ret, &reason, &what);
	}
	if (r == 0)
		keeper_session.last = row;
	else if (reason == 0)
		launch_vault_end(); /* a late answer is not that of the next request */
	return r < 0 ? say_missing(&m, r, reason, what) : 0;
}

int
launch_vault_check(struct leash *l, const struct sealed_secret *row, struct reason *why)
{
	struct missing m = {l, row, why};
	uint32_t reason = 0;
	int r = connect_keeper(&m);

	if (r < 0)
		return r;
	r = secret_in_keeper(
	    keeper_session.keeper, policy_str(&l->policy, row->ref), &reason);
	if (r == -ENOENT)
		reason = REASON_NOT_THERE;
	return r < 0 ? say_missing(&m, r, reason, NULL) : 0;
}

/*
 * A rotated value remains valid for a while: in files and caches, and at its issuer
 * until it is revoked.  The server does not get it, but may still output it.
 */
int
launch_vault_replaced(
    struct leash *l, const struct sealed_secret *row, uint32_t number, struct reason *why)
{
	struct secret_client client = client_of(l, row);
	struct missing m = {l, row, why};
	int r = 0;

	if (keeper_session.last != row)
		return 0; /* it is not from the vault */
	for (uint32_t which = 1; which <= REPLACED_MAX; which++) {
		const char *what = NULL;
		struct secret *old = NULL;
		uint32_t reason = 0;

		r = secret_from_keeper(l->vault, keeper_session.keeper, &client, which,
		    &old, &reason, &what);
		if (r < 0)
			return reason == REASON_NOT_THERE
				   ? 0
				   : say_missing(&m, r, reason, what);
		/* a weak value would redact ordinary text; it was refused, or the
		 * policy permitted it */
		if (scrub_weakness(old) != NULL && (row->flags & SECRET_WEAK) == 0)
			continue;
		r = scrub_learn(l->scrub, old, number);
		if (r < 0)
			return r;
	}
	return 0;
}

void
launch_vault_end(void)
{
	fd_close(&keeper_session.keeper);
}
