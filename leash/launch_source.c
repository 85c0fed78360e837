/*
 * Secrets from sources that sources.kennel defines: those of a plugin, and the
 * credentials that a plugin or a program needs.
 *
 * Process: the leash, before it sandboxes itself.  A credential is a row of its own
 * (SECRET_CREDENTIAL), named SOURCE__VARIABLE.  It is resolved and redacted like
 * any other secret, and given to its source, never to the server.  A credential has
 * no credentials: the compiler and this file both reject that, so a sealed file
 * cannot contain a cycle.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "leash/launch.h"
#include "leash/vault/plugin.h"
#include "policy/sealed/policy.h"
#include "shim/base/fd.h"
#include "shim/base/hex.h"

#define CREDENTIALS_MAX 4

/* Arguments of a plugin: its program, that program's digest, the secret's name there;
 * then variables (check_rules.c has checked them). */
enum { ARG_PROGRAM, ARG_DIGEST, ARG_REFERENCE, ARG_ENV };

static struct {
	struct plugins *plugins;
	int run_dir;
	struct secret *got[LEASH_SECRETS_MAX]; /* credentials, by row of the server */
} sources = {.run_dir = -1};

static const char *
arg(const struct leash *l, const struct sealed_secret *row, uint32_t i)
{
	return policy_str(&l->policy, l->policy.arg[row->args.first + i].text);
}

/* ---- credentials -------------------------------------------------------------------- */

/* The VARIABLE of SOURCE__VARIABLE for this source, else NULL.  A `-` in it becomes
 * `_`. */
static const char *
variable_of(const char *name, const char *source)
{
	for (; *source != '\0'; name++, source++)
		if (*name != (*source == '-' ? '_' : *source))
			return NULL;
	return strncmp(name, "__", 2) == 0 ? name + 2 : NULL;
}

static int
credential(struct leash *l, uint32_t i, struct secret **ret, struct reason *why)
{
	const struct sealed_secret *row = &l->policy.secret[l->server->secrets.first + i];
	struct reason inner = {0};
	int r = 0;

	if (sources.got[i] == NULL)
		r = secret_resolve_row(l, row, &sources.got[i], &inner);
	if (r < 0)
		return reason_set(why, r, "credential %s of its source: %s",
		    policy_str(&l->policy, row->name), inner.text);
	*ret = sources.got[i];
	return 0;
}

/* All credentials that the source of this row needs. */
static int
credentials(struct leash *l, const struct sealed_secret *row,
    struct plugin_credential *ret, size_t *ret_n, struct reason *why)
{
	const char *source = policy_str(&l->policy, row->ref), *variable;
	struct sealed_range rows = l->server->secrets;
	struct secret *value = NULL;
	size_t n = 0;
	int r = 0;

	for (uint32_t i = 0; r == 0 && source[0] != '\0' && i < rows.n; i++) {
		const struct sealed_secret *c = &l->policy.secret[rows.first + i];

		variable = variable_of(policy_str(&l->policy, c->name), source);
		if ((c->flags & SECRET_CREDENTIAL) == 0 || variable == NULL)
			continue;
		if ((row->flags & SECRET_CREDENTIAL) != 0 || n == CREDENTIALS_MAX)
			return reason_set(
			    why, -ELOOP, "a credential cannot need a credential");
		r = credential(l, i, &value, why);
		ret[n++] = (struct plugin_credential){variable, value};
	}
	if (r == 0)
		*ret_n = n;
	return r;
}

/* ---- programs ------------------------------------------------------------------------ */

int
route_command(struct leash *l, const struct sealed_secret *row, struct secret **ret,
    struct reason *why)
{
	struct plugin_credential c[CREDENTIALS_MAX];
	const char **argv = calloc((size_t)row->args.n + 1, sizeof(*argv));
	size_t n = 0;
	int r;

	if (argv == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < row->args.n; i++)
		argv[i] = arg(l, row, i);
	r = credentials(l, row, c, &n, why);
	if (r == 0)
		r = secret_from_cmd(
		    l->vault, argv, row->flags & (uint32_t)SECRET_OF_CMD, c, n, ret, why);
	free(argv);
	return r;
}

static int
plugins_ready(struct reason *why)
{
	const char *at = getenv("KENNEL_RUN_AT");
	int r = 0;

	if (sources.plugins != NULL)
		return 0;
	/* early: openat */
	sources.run_dir =
	    at == NULL ? -1 : open(at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (sources.run_dir < 0)
		return reason_set(why, -ENOENT,
		    "unable to open the runtime directory: %s",
		    strerror(at == NULL ? ENOENT : errno));
	r = plugins_new(sources.run_dir, NULL, &sources.plugins);
	if (r < 0)
		(void)reason_set(
		    why, r, "unable to lock memory for plugin replies: %s", strerror(-r));
	return r;
}

int
route_plugin(struct leash *l, const struct sealed_secret *row, struct secret **ret,
    struct reason *why)
{
	struct plugin_credential c[CREDENTIALS_MAX];
	const char *env[PLUGIN_ENV_MAX + 1] = {NULL};
	struct plugin_ask ask = {.source = policy_str(&l->policy, row->ref),
	    .program = arg(l, row, ARG_PROGRAM),
	    .reference = arg(l, row, ARG_REFERENCE),
	    .env = env,
	    .may = row->flags & (uint32_t)SECRET_OF_CMD,
	    .credential = c};
	int r;

	for (uint32_t i = ARG_ENV; i < row->args.n && i - ARG_ENV < PLUGIN_ENV_MAX; i++)
		env[i - ARG_ENV] = arg(l, row, i);
	(void)hex_get(arg(l, row, ARG_DIGEST), 64, ask.digest, 32); /* checked at load */
	r = credentials(l, row, c, &ask.credential_n, why);
	if (r == 0)
		r = plugins_ready(why);
	return r == 0 ? plugins_get(sources.plugins, l->vault, &ask, ret, why) : r;
}

/* The value of a secret that was resolved for its source before. */
bool
route_known(struct leash *l, const struct sealed_secret *row, struct secret **ret)
{
	size_t i = (size_t)(row - &l->policy.secret[l->server->secrets.first]);

	if ((row->flags & SECRET_CREDENTIAL) == 0 || i >= LEASH_SECRETS_MAX ||
	    sources.got[i] == NULL)
		return false;
	*ret = sources.got[i];
	return true;
}

void
route_end(void)
{
	plugins_free(sources.plugins);
	sources.plugins = NULL;
	fd_close(&sources.run_dir);
}
