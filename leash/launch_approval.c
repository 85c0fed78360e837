/*
 * Secrets that need approval (`approve`, in the policy or in a manifest; the
 * stricter one applies): the requests of one start, sent all at once, and the
 * answers.
 *
 * Process: the leash, before it has resolved anything and before its loop.  Holds
 * no value.  Trusts the supervisor for the user's answers and for the manifests;
 * reads the policy itself.  Must never: continue a start before all of them are
 * approved.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "leash/launch.h"
#include "policy/sealed/match.h"
#include "policy/sealed/policy.h"
#include "policy/sealed/signature.h"
#include "shim/base/hex.h"
#include "shim/base/log.h"

#define LATE_MS         2000 /* then the supervisor must have failed */
#define POLL_MS         1000 /* between two checks of the clock */
#define STATUS_CONFIG   78
#define STATUS_REFUSED  126
#define SIGNERS_CAP     (SIGN_SIGNERS_MAX * (2 * SIGN_KEY_LEN + 1) + 1)
#define QUESTION_DOMAIN "kennel: use of a secret"

enum { WAITS = 1, ANSWERED };

struct uses {
	struct leash *l;
	uint8_t state[LEASH_SECRETS_MAX]; /* of each row; 0: needs no approval */
	uint32_t waiting;
	char signers[SIGNERS_CAP];
	int *status;
	char *why; /* LEASH_TEXT_MAX */
};

static const struct sealed_secret *
row_of(const struct leash *l, uint32_t i)
{
	return &l->policy.secret[l->server->secrets.first + i];
}

/* The stricter of the policy and the manifests. */
static uint32_t
approve_of(const struct leash *l, uint32_t i)
{
	uint32_t policy = row_of(l, i)->approve;
	uint32_t manifest = i < l->approve_n ? l->approve[i] : APPROVE_NONE;

	if (placeholder_for(l, i))
		return APPROVE_NONE; /* its value is not used */
	return policy > manifest ? policy : manifest;
}

/* Its path, or else its source; of a program only the path, without its arguments. */
static const char *
reference(const struct leash *l, const struct sealed_secret *row)
{
	const struct policy *p = &l->policy;

	if (row->path.len > 0)
		return policy_str(p, row->path);
	if (row->source == SOURCE_CMD && row->args.n > 0)
		return policy_str(p, p->arg[row->args.first].text);
	return policy_str(p, row->ref);
}

static int
refuse(struct uses *u, uint32_t i, int status, int r, const char *what)
{
	const struct policy *p = &u->l->policy;
	const struct sealed_secret *row = row_of(u->l, i);
	char at[300];

	launch_refused_by(u->l, LEASH_CAUSE_UNAPPROVED, row);
	(void)snprintf(u->why, LEASH_TEXT_MAX, "%s: secret %s (%s): %s",
	    policy_at(p, row->at, at, sizeof(at)), policy_str(p, row->name),
	    reference(u->l, row), what);
	*u->status = status;
	return r;
}

/* ---- the requests -------------------------------------------------------------- */

/* Digest of what is approved: this secret, for this server, under this policy, now. */
static void
digest_of(const struct leash *l, uint32_t i, uint8_t ret[LEASH_DIGEST_LEN])
{
	struct {
		char domain[32], session[24];
		uint8_t policy[POLICY_ID_LEN], server[32];
		uint32_t row, approve;
	} all = {.domain = QUESTION_DOMAIN, .row = i, .approve = approve_of(l, i)};
	const char *server = policy_str(&l->policy, l->server->name);

	memcpy(all.session, l->session, sizeof(l->session));
	memcpy(all.policy, l->policy.id, sizeof(all.policy));
	policy_digest(server, strlen(server), all.server);
	policy_digest(&all, sizeof(all), ret);
}

static int
ask_one(struct uses *u, uint32_t i)
{
	struct leash *l = u->l;
	const struct sealed_secret *row = row_of(l, i);
	static uint8_t memory[LEASH_PACKET_MAX];
	uint8_t digest[LEASH_DIGEST_LEN];
	struct wire_out out;
	char at[300];

	digest_of(l, i, digest);
	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, LEASH_USE);
	wire_put_u32(&out, i + 1);
	wire_put_u32(&out, (uint32_t)policy_limit(&l->policy, l->server, TIMEOUT_ASK));
	wire_put_u32(&out, approve_of(l, i));
	wire_put_bytes(&out, digest, sizeof(digest));
	wire_put_str(&out, policy_str(&l->policy, row->name));
	wire_put_str(&out, policy_source_name(row->source));
	wire_put_str(&out, reference(l, row));
	wire_put_str(&out, policy_at(&l->policy, row->at, at, sizeof(at)));
	wire_put_str(&out, u->signers);
	u->state[i] = WAITS;
	u->waiting++;
	return wire_send(l->channel, &out, NULL, 0);
}

/* The keys that signed the policy; all are valid, or it would not have been loaded. */
static void
read_signers(struct uses *u)
{
	struct sign_row row[SIGN_SIGNERS_MAX];
	struct sign_head head;
	size_t n = 0, len = 0;

	if (sign_rows(u->l->policy_fd, &head, row, &n) < 0)
		n = 0; /* shown as unsigned, which calls for more care */
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			u->signers[len++] = ' ';
		(void)hex_put(u->signers + len, row[i].key, SIGN_KEY_LEN);
		len += (size_t)2 * SIGN_KEY_LEN;
	}
	u->signers[len] = '\0';
}

/* A secret approved per use is refused for a server that keeps running. */
static int
ask_all(struct uses *u)
{
	const struct leash *l = u->l;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < l->server->secrets.n; i++) {
		uint32_t approve = approve_of(l, i);

		if (approve == APPROVE_NONE)
			continue;
		if (approve == APPROVE_PER_CALL && l->mode == LEASH_RUN && !l->one_call)
			return refuse(u, i, STATUS_CONFIG, -EPERM,
			    "its use is approved per call, but this server keeps running "
			    "for all calls of a session; use kennel serve, which "
			    "starts a process for each call, or kennel exec for a "
			    "single run");
		if (u->waiting == LEASH_QUESTIONS_MAX)
			return refuse(u, i, STATUS_CONFIG, -E2BIG,
			    "too many secrets need approval at the same time");
		r = ask_one(u, i);
		if (r < 0)
			return refuse(
			    u, i, LOG_EXIT_FAILED, r, "no approval channel is available");
	}
	return 0;
}

/* ---- the answers ----------------------------------------------------------------- */

/* A check of the sources goes on with the others. */
static int
withheld(struct uses *u, uint32_t i, const char *what)
{
	if (!u->l->live)
		return refuse(u, i, STATUS_REFUSED, -EACCES, what);
	u->l->withheld[i] = what;
	return 0;
}

static int
take_answer(struct uses *u, uint32_t number, uint32_t answer)
{
	if (number == 0 || number > u->l->server->secrets.n ||
	    u->state[number - 1] != WAITS)
		return -EBADMSG;
	u->waiting--;
	u->state[number - 1] = ANSWERED;
	if (answer == LEASH_ONCE || answer == LEASH_SESSION)
		return 0;
	if (answer == LEASH_DENY) {
		launch_refused_by(u->l, LEASH_CAUSE_DENIED, row_of(u->l, number - 1));
		return withheld(u, number - 1, "a person denied its use");
	}
	return withheld(u, number - 1,
	    "approval of its use timed out; answer in time with kennel approve");
}

static int
hear_one(struct uses *u, uint64_t until)
{
	struct pollfd wait = {u->l->channel, POLLIN, 0};
	uint64_t now = loop_now();
	uint32_t type, number, answer;
	uint8_t memory[256];
	struct wire_in in;
	size_t len = 0;
	int r;

	if (now >= until)
		return -ETIMEDOUT;
	/* early: poll recvmsg clock_gettime */
	if (poll(&wait, 1, POLL_MS) <= 0)
		return 0;
	r = wire_recv(u->l->channel, memory, sizeof(memory), &len, NULL, 0, NULL);
	if (r < 0)
		return r;
	wire_in_init(&in, memory, len);
	type = wire_get_u32(&in);
	number = wire_get_u32(&in);
	answer = wire_get_u32(&in);
	(void)wire_get_str(&in, GATE_WHO_MAX); /* the supervisor's record contains it */
	if (wire_end(&in) < 0 || type != LEASH_ANSWER)
		return -EBADMSG;
	return take_answer(u, number, answer);
}

int
launch_approval_ask(struct leash *l, int *ret_status, char why[LEASH_TEXT_MAX])
{
	const char *refused = NULL;
	static struct uses u;
	uint64_t until;
	int r = placeholder_check(l, &refused);

	if (r < 0) {
		(void)snprintf(why, LEASH_TEXT_MAX, "%s", refused);
		*ret_status = STATUS_CONFIG;
		return r;
	}

	u = (struct uses){.l = l, .status = ret_status, .why = why};
	why[0] = '\0';
	read_signers(&u);
	/* its messages are expected now; its end is detected below */
	r = leash_die_with_supervisor(l, false);
	if (r == 0)
		r = ask_all(&u);
	until = loop_now() +
		(policy_limit(&l->policy, l->server, TIMEOUT_ASK) + LATE_MS) * LOOP_MS;
	while (r == 0 && u.waiting > 0)
		r = hear_one(&u, until);
	if (r == 0)
		r = leash_die_with_supervisor(l, true);
	if (r < 0 && why[0] == '\0') {
		(void)snprintf(why, LEASH_TEXT_MAX,
		    "unable to request approval for a secret: %s", strerror(-r));
		*ret_status = LOG_EXIT_FAILED;
	}
	return r;
}
