/*
 * A program that the supervisor names (`kennel exec`, a server of the registry): does the
 * policy grant the command, and what is reported and recorded if it does not.
 *
 * Process: the leash, before its secrets are resolved.
 */
#include "leash/launch_program.h"
#include "policy/sealed/policy.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATUS_REFUSED   126
#define STATUS_NOT_FOUND 127

struct choice {
	struct leash *l;
	int *status;
	char *why; /* LEASH_TEXT_MAX */
};

static int refuse(const struct choice *, int status, int r, const char *, ...)
    __attribute__((format(printf, 4, 5)));

static int
refuse(const struct choice *a, int status, int r, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(a->why, LEASH_TEXT_MAX, format, ap); /* may be cut */
	va_end(ap);
	*a->status = status;
	return r;
}

/* Reports the line that denies it, why, and what to do instead. */
static int
refuse_denied(struct choice *a, const struct sealed_exec *row)
{
	const struct policy *p = &a->l->policy;
	const char *because = policy_str(p, row->because);
	const char *instead = policy_str(p, row->instead);
	char at[300];

	a->l->denied = row;
	return refuse(a, STATUS_REFUSED, -EACCES, "%s: denied by %s%s%s%s%s",
	    a->l->argv[0], policy_at(p, row->at, at, sizeof(at)),
	    because[0] != '\0' ? ": " : "", because,
	    instead[0] != '\0' ? "; instead: " : "", instead);
}

/* No line has these arguments: names the first one with the program. */
static int
refuse_ungranted(struct choice *a, uint32_t image)
{
	const struct policy *p = &a->l->policy;
	struct sealed_range rows = a->l->server->execs;
	char at[300];

	for (uint32_t i = rows.first; i < rows.first + rows.n; i++)
		if (image != POLICY_NO_IMAGE && p->exec[i].asked == image)
			return refuse(a, STATUS_REFUSED, -EACCES,
			    "%s: not granted with these arguments; see %s", a->l->argv[0],
			    policy_at(p, p->exec[i].at, at, sizeof(at)));
	return refuse(a, STATUS_REFUSED, -EACCES,
	    "not granted; to grant it: exec allow %s **", a->l->argv[0]);
}

/* A name without a directory: the file of that name that the policy grants. */
static int
refuse_missing(const struct choice *a)
{
	const struct policy *p = &a->l->policy;
	struct sealed_range images = a->l->server->images;

	for (uint32_t i = images.first; i < images.first + images.n; i++) {
		const char *path = policy_str(p, p->image[i].path);
		const char *name = strrchr(path, '/');

		if (name != NULL && strcmp(name + 1, a->l->argv[0]) == 0)
			return refuse(a, STATUS_NOT_FOUND, -ENOENT,
			    "%s: not found; the policy grants %s", a->l->argv[0], path);
	}
	return refuse(a, STATUS_NOT_FOUND, -ENOENT, "%s: not found", a->l->argv[0]);
}

/* The command must be one that the policy grants. */
int
program_of_exec(struct leash *l, const struct sealed_exec **ret_row, int *ret_status,
    char why[LEASH_TEXT_MAX])
{
	struct choice choice = {l, ret_status, why}, *a = &choice;
	const struct policy *p = &l->policy;
	struct policy_exec_ask ask = {.argv = {l->argv, l->argc},
	    .caller = POLICY_NO_IMAGE,
	    .cwd = policy_str(p, l->server->cwd)};
	struct sealed_range images = l->server->images;
	const struct sealed_exec *denied = NULL;
	uint32_t known = POLICY_NO_IMAGE;

	for (uint32_t i = images.first; i < images.first + images.n; i++) {
		struct policy_answer answer;

		if (strcmp(policy_str(p, p->image[i].path), l->argv[0]) != 0)
			continue;
		known = i;
		ask.asked = i;
		answer = policy_match_exec_call(p, l->server, &ask);
		/* for "ask", approval is requested when it starts */
		if (answer.exec != NULL && answer.verdict != VERDICT_DENY) {
			*ret_row = answer.exec;
			l->path = policy_str(p, p->image[i].path);
			return 0;
		}
		if (answer.exec != NULL)
			denied = answer.exec;
	}
	if (denied != NULL)
		return refuse_denied(a, denied);
	/* early: access faccessat faccessat2 */
	if (known == POLICY_NO_IMAGE && access(l->argv[0], F_OK) < 0 && errno == ENOENT)
		return refuse_missing(a);
	return refuse_ungranted(a, known);
}

/* ---- its record ---------------------------------------------------------------- */

/* Does it contain the value of a secret from the environment?  Before secrets are
 * resolved, only these are present. */
static bool
has_env_secret(const struct leash *l, const char *text)
{
	struct sealed_range rows = l->server->secrets;

	for (uint32_t i = rows.first; i < rows.first + rows.n; i++) {
		const struct sealed_secret *row = &l->policy.secret[i];
		const char *value = row->source == SOURCE_ENV
					? getenv(policy_str(&l->policy, row->ref))
					: NULL;

		if (value != NULL && value[0] != '\0' && strstr(text, value) != NULL)
			return true;
	}
	return false;
}

void
program_put_argv(struct leash *l, struct event *e)
{
	struct scrub *scrub = l->scrub;
	struct buf clean;

	if (!l->given || l->server == NULL || (scrub == NULL && scrub_new(&scrub) < 0))
		return;
	buf_init(&clean, LEASH_PACKET_MAX);
	for (size_t i = 0; i < l->argc; i++)
		if (has_env_secret(l, l->argv[i]) ||
		    scrub_text(scrub, l->argv[i], &clean) < 0)
			event_text(e, KEY_ARGV, SCRUB_MASK);
		else
			event_text(e, KEY_ARGV, (const char *)clean.data);
	event_number(e, KEY_COUNT, l->argc);
	buf_free(&clean);
	if (scrub != l->scrub)
		scrub_free(scrub);
}
