/*
 * The state of a server: its live status, and why it cannot start.
 *
 * This is the one place that computes it. A session that runs the server reports its own
 * status over its control socket; without such a session the server is
 * disconnected, or its policy cannot be used.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/hub/argv_authority.h"
#include "supervisor/registry/reference.h"
#include "supervisor/servers/servers.h"
#include "supervisor/status/status_client.h"

static void because(struct server_state *s, const char *reason, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void
because(struct server_state *s, const char *reason, const char *format, ...)
{
	va_list ap;

	s->reason = reason;
	va_start(ap, format);
	(void)vsnprintf(s->detail, sizeof(s->detail), format, ap); /* may be cut */
	va_end(ap);
}

static void
disabled(const struct server_row *row, struct server_state *ret)
{
	static const struct {
		const char *reason, *detail;
	} why[] = {
	    {"literal-secret", "a value in the file looks like a secret: store it with "
			       "`kennel secret set`, and remove it from the file"},
	    {"transport-unsupported",
		"the HTTP+SSE transport of 2024-11-05 is not supported"},
	};

	for (size_t i = 0; row->reason != NULL && i < ARRAY_LEN(why); i++)
		if (strcmp(why[i].reason, row->reason) == 0) {
			because(ret, why[i].reason, "%s", why[i].detail);
			return;
		}
	because(ret, "disabled", "disabled: `kennel server enable %s`", row->name);
}

/* True if the policy cannot be used. */
static bool
is_broken(const struct known_policy *known, struct server_state *ret)
{
	const struct policy_file *f = known->file;
	size_t n = f->counts.errors > 0 ? f->counts.errors : f->counts.warnings;

	if (known->server != NULL && !f->stale_own && !known->doubled)
		return false;
	ret->status = "error";
	if (known->doubled)
		because(ret, "policy-error",
		    "another policy than %s defines the server too: remove one of them",
		    f->path);
	else if (known->server != NULL)
		because(ret, "policy-error",
		    "the sealed policy is stale: `kennel policy check --all` says why");
	else
		because(ret, "policy-error", "%zu %s%s: `kennel policy check %s`", n,
		    f->counts.errors > 0 ? "error" : "warning", n == 1 ? "" : "s",
		    f->path);
	return true;
}

/* Its own argv must be granted by the policy. */
static void
check_argv(const struct server_row *row, const struct known_policy *known,
    struct server_state *ret)
{
	const char *argv[1 + 1024], *program;
	enum argv_authority is = ARGV_DENIED;
	struct args args;

	if (args_read(row->args_json, &args) == 0 && args.n < ARRAY_LEN(argv)) {
		argv[0] = row->command;
		for (size_t i = 0; i < args.n; i++)
			argv[1 + i] = args.v[i];
		is = argv_authority(
		    &known->file->policy, known->server, argv, 1 + args.n, &program);
		args_free(&args);
	}
	if (is == ARGV_DENIED)
		because(ret, "argv-not-granted", ARGV_DENIED_TEXT, row->command);
}

static void
check_url(const struct server_row *row, const struct known_policy *known,
    struct server_state *ret)
{
	if (!url_authority(&known->file->policy, known->server, row->url))
		because(ret, "argv-not-granted", URL_DENIED_TEXT, row->url);
}

/* ---- running servers ---------------------------------------------------------- */

#define LIVE_MAX 1024

/* What the hubs and sessions of this user say; asked once for a list. */
static struct running {
	bool asked;
	size_t n;
	struct {
		char name[STATUS_SERVER_MAX];
		enum server_live live;
		uint32_t restarts;
	} row[LIVE_MAX];
} running;

/* Callback. Of several processes the one that is further counts. */
static void
note_running(void *arg, long pid, const struct hub_row *row)
{
	size_t i = 0;

	(void)pid;
	while (i < running.n && strcmp(running.row[i].name, row->name) != 0)
		i++;
	if (i == LIVE_MAX)
		return;
	if (i == running.n) {
		running.n++;
		(void)snprintf(running.row[i].name, sizeof(running.row[i].name), "%s",
		    row->name); /* same size */
		running.row[i].live = row->live;
	} else if (row->live > running.row[i].live)
		running.row[i].live = row->live;
	running.row[i].restarts += row->restarts;
}

static void
put_running(const char *name, struct server_state *ret)
{
	if (!running.asked)
		(void)status_of_servers(note_running, NULL); /* some may not answer */
	running.asked = true;
	for (size_t i = 0; i < running.n; i++)
		if (strcmp(running.row[i].name, name) == 0) {
			ret->status = server_live_name(running.row[i].live);
			ret->restarts = running.row[i].restarts;
		}
}

void
server_state(
    const struct server_view *v, const struct server_row *row, struct server_state *ret)
{
	const struct known_policy *known =
	    known_policy_find(&v->policies, row->policy_server);

	*ret = (struct server_state){.status = "disconnected"};
	put_running(row->name, ret);
	if (!row->enabled) {
		disabled(row, ret);
	} else if (known == NULL) {
		because(ret, "no-policy",
		    "no policy for server %s: `kennel init %s -- COMMAND` drafts one",
		    row->policy_server, row->policy_server);
	} else if (!is_broken(known, ret)) {
		if (row->source != FROM_POLICY && row->url != NULL)
			check_url(row, known, ret);
		else if (row->source != FROM_POLICY)
			check_argv(row, known, ret);
	}
}
