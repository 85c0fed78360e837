/*
 * What the launcher may start (startable.h).
 *
 * Process: kennel serve, its unconfined half. Nothing is started here, and the leash asks
 * the policy again.
 */
#include "supervisor/serve/launcher/startable.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/hub/argv_authority.h"
#include "supervisor/serve/launcher/configured.h"

#define ABOUT_MAX 1024 /* bytes: a packet holds a few */

struct startable *
startable_find(const struct startables *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->all[i]->name, name) == 0)
			return s->all[i];
	return NULL;
}

struct startable *
startable_new(struct startables *s, const char *name, const char *about)
{
	struct startable *k;

	if (strlen(name) >= sizeof(k->name) || s->n == STARTABLES_MAX) {
		log_warn("%.40s: too long a name, or too many servers; left out", name);
		return NULL;
	}
	k = calloc(1, sizeof(*k));
	if (k == NULL || (k->about = strndup(about, ABOUT_MAX)) == NULL)
		die("out of memory");
	(void)snprintf(k->name, sizeof(k->name), "%s", name); /* fits */
	s->all[s->n++] = k;
	return k;
}

/* ---- what people and files say ------------------------------------------------ */

static void
forget_row(struct startable *k)
{
	if (k->row != NULL)
		free(k->row->own);
	free(k->row);
	args_free(&k->args);
	k->row = NULL;
	k->protocol[0] = '\0';
	k->args = (struct args){NULL, 0};
}

static void
take_row(struct startables *s, const struct server_row *row)
{
	struct startable *k = startable_find(s, row->name);
	int r;

	/* an agent's proposal is no server before a person has enabled it */
	if (k == NULL && row->source == FROM_AGENT && !row->enabled)
		return;
	if (k == NULL && (k = startable_new(s, row->name, "")) == NULL)
		return;
	k->disabled = !row->enabled;
	(void)snprintf(k->protocol, sizeof(k->protocol),
	    "%s", /* a longer one is unknown */
	    row->protocol != NULL ? row->protocol : "");
	if (row->source == FROM_POLICY)
		return;
	k->row = calloc(1, sizeof(*k->row));
	r = k->row == NULL ? -ENOMEM : server_row_copy(row, k->row);
	if (r == 0)
		r = args_read(row->args_json, &k->args);
	if (r == -ENOMEM)
		die("out of memory");
	k->disabled |= r < 0; /* no arguments that it could be started with */
}

static int
list_policies(const struct startables *s, struct server_rows *ret)
{
	struct server_row copy;
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->n; i++) {
		const struct server_row row = {.name = s->all[i]->name,
		    .scope = "user",
		    .source = FROM_POLICY,
		    .policy_server = s->all[i]->name,
		    .enabled = true};

		if (s->all[i]->has_policy && (r = server_row_copy(&row, &copy)) == 0)
			r = server_rows_add(ret, copy);
	}
	return r;
}

static bool
is_of_file(const struct startable *k)
{
	return k->row != NULL && k->row->source == FROM_FILE;
}

void
startables_configure(struct startables *s)
{
	struct server_rows policies = {NULL, 0}, rows = {NULL, 0};
	int r = list_policies(s, &policies);

	if (r < 0)
		die("out of memory");
	skipped_file_free(&s->skipped);
	r = configured_read(&policies, &rows, &s->skipped);
	for (size_t i = 0; i < s->n; i++) {
		s->all[i]->of_file = is_of_file(s->all[i]);
		forget_row(s->all[i]);
		s->all[i]->disabled = r < 0;
	}
	for (size_t i = 0; i < rows.n; i++)
		take_row(s, &rows.row[i]);
	for (size_t i = 0; i < s->n; i++)
		s->all[i]->of_file |= is_of_file(s->all[i]);
	server_rows_free(&policies);
	server_rows_free(&rows);
}

/* ---- what policies say ----------------------------------------------------------- */

const char *
startable_policy_name(const struct startable *k)
{
	return k->row == NULL ? k->name : k->row->policy_server;
}

/* A name without a row needs no policy that is known: find_policy says what is wrong. */
static const struct startable *
policy_of(const struct startables *s, const struct startable *k)
{
	const struct startable *p;

	if (k->row == NULL)
		return k;
	p = startable_find(s, k->row->policy_server);
	return p != NULL && p->has_policy ? p : NULL;
}

bool
startable_may(const struct startables *s, const struct startable *k)
{
	return !k->disabled && policy_of(s, k) != NULL;
}

static void
forget_policy(struct startable *k)
{
	if (k->found)
		policy_found_free(&k->policy);
	for (int i = 0; i < k->argc; i++)
		free(k->argv[i]);
	free(k->argv);
	k->found = false;
	k->argv = NULL;
	k->argc = 0;
}

/* Copies: rows are read again while this policy stays. */
static void
keep_argv(struct startable *k, const char *const *argv, size_t n)
{
	k->argv = calloc(n + 1, sizeof(*k->argv));
	for (size_t i = 0; k->argv != NULL && i < n; i++)
		if ((k->argv[i] = strdup(argv[i])) == NULL)
			die("out of memory");
	if (k->argv == NULL)
		die("out of memory");
	k->argc = (int)n;
}

/* True: the policy grants the row's argv, which is then in k->argv unless it is `run`. */
static bool
is_granted(struct startable *k)
{
	size_t n = 1 + k->args.n;
	const char *program = NULL;
	enum argv_authority is;
	const char *argv[LEASH_ARGS_MAX];

	if (k->row->url != NULL)
		return url_authority(&k->policy.policy, k->policy.server, k->row->url);
	if (n > LEASH_ARGS_MAX || k->row->command == NULL)
		return false;
	argv[0] = k->row->command;
	for (size_t i = 0; i < k->args.n; i++)
		argv[1 + i] = k->args.v[i];
	is = argv_authority(&k->policy.policy, k->policy.server, argv, n, &program);
	if (is != ARGV_GRANTED && is != ARGV_ASKS)
		return is == ARGV_RUN;
	argv[0] = program; /* as granted */
	keep_argv(k, argv, n);
	return true;
}

static int
refuse_argv(const struct startable *k, char why[LEASH_TEXT_MAX])
{
	const struct server_row *row = k->row;

	/* both fit */
	if (row != NULL && row->url != NULL)
		(void)snprintf(why, LEASH_TEXT_MAX, URL_DENIED_TEXT, row->url);
	else
		(void)snprintf(why, LEASH_TEXT_MAX, ARGV_DENIED_TEXT,
		    row != NULL && row->command != NULL ? row->command : k->name);
	return EXIT_CONFIG;
}

int
startable_policy(struct startables *s, struct startable *k,
    enum server_reason *ret_reason, char why[LEASH_TEXT_MAX])
{
	const struct startable *p = policy_of(s, k);
	int status;

	forget_policy(k);
	if (p == NULL) {
		*ret_reason = REASON_NO_POLICY;
		return refuse_argv(k, why);
	}
	status = find_policy(p->file, p->name, &k->policy, why, LEASH_TEXT_MAX);
	k->found = status == 0;
	if (!k->found)
		*ret_reason = REASON_POLICY_ERROR;
	else if (k->row != NULL && !is_granted(k)) {
		forget_policy(k);
		*ret_reason = REASON_ARGV_NOT_GRANTED;
		return refuse_argv(k, why);
	} else
		k->file = p->file; /* for the leash's own checks */
	return status;
}

int
startables_keep(struct startables *s, const struct startable *own)
{
	for (size_t i = 0; i < s->n; i++) {
		struct policy_found copy;

		if (s->all[i] == own || !s->all[i]->found)
			continue;
		/* what is written here is no longer shared with the launcher */
		copy = s->all[i]->policy;
		policy_found_free(&copy);
	}
	return fd_close_others(&own->policy.fd, 1);
}
