/*
 * A policy that was found: what the log keeps and records of it, and a second one of it.
 */
#include "supervisor/launch/find/policy_found.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/sealed/signature.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "supervisor/audit/log/kept_policies.h"
#include "supervisor/base/exit_status.h"

int
policy_found_hold(const struct policy *p, const struct sealed_server *server,
    struct held_packages *ret, char *why, size_t why_cap)
{
	int r = held_packages_take(p, server, ret);

	if (r == 0)
		return 0;
	held_packages_free(ret);
	(void)snprintf(why, why_cap, "unable to hold the packages of the policy: %s",
	    r == -EAGAIN  ? "`kennel install --gc` is removing one; install it again"
	    : r == -E2BIG ? "it names too many; split the server"
			  : strerror(-r)); /* fits */
	return r;
}

bool
policy_found_keep(struct policy_found *f, const char *log_dir)
{
	const struct sign_head *head = NULL;
	const struct sign_row *row = NULL;
	size_t body;
	int r = sign_layout(f->policy.base, f->policy.map_len, &body, &head, &row);

	if (r == 0)
		r = policies_keep(
		    log_dir, POLICIES_SEALED, f->policy.id, f->policy.base, body);
	if (r == 0 && f->source != NULL)
		r = policies_keep(
		    log_dir, POLICIES_TEXT, f->sha256, f->source, f->source_len);
	free(f->source);
	f->source = NULL;
	if (r < 0)
		log_warn("unable to keep a copy of the policy with the log: %s; only its "
			 "digest is recorded",
		    strerror(-r));
	return r == 0;
}

void
policy_found_record(const struct policy_found *f, struct event *e)
{
	event_text(e, KEY_MODE, f->text ? "text" : "sealed");
	event_text(e, KEY_NAME, f->file);
	if (f->text)
		event_digest(e, KEY_SHA256, f->sha256);
	if (f->counter > 0)
		event_number(e, KEY_VERSION, f->counter);
	if (f->signers[0] != '\0')
		event_short(e, KEY_SIGNER, f->signers);
}

int
policy_found_copy(
    const struct policy_found *f, struct policy_found *ret, char *why, size_t why_cap)
{
	struct policy_found copy = *f;

	copy.source = NULL;
	copy.fd = fcntl(f->fd, F_DUPFD_CLOEXEC, 0);
	if (f->source != NULL && (copy.source = malloc(f->source_len + 1)) != NULL)
		memcpy(copy.source, f->source, f->source_len);
	if (copy.fd < 0 || (f->source != NULL && copy.source == NULL) ||
	    policy_load(copy.fd, &copy.policy, why, why_cap) < 0) {
		if (why[0] == '\0')
			(void)snprintf(
			    why, why_cap, "unable to copy the policy"); /* short */
		fd_close(&copy.fd);
		free(copy.source);
		return EXIT_FAILED;
	}
	copy.server =
	    policy_server(&copy.policy, policy_str(&f->policy, f->server->name));
	copy.held.n = 0;
	if (policy_found_hold(&copy.policy, copy.server, &copy.held, why, why_cap) < 0) {
		policy_found_free(&copy);
		return EXIT_FAILED;
	}
	*ret = copy;
	return 0;
}

void
policy_found_free(struct policy_found *f)
{
	if (f->server == NULL)
		return;
	policy_unload(&f->policy);
	held_packages_free(&f->held);
	fd_close(&f->fd);
	free(f->source);
	f->source = NULL;
	f->server = NULL;
}
