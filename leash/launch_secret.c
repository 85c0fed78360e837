/*
 * Gets one secret of a policy from the source in its line; or, while the server is learned
 * or its draft is not reviewed, the placeholder in its place.
 *
 *	the format is known, or the value is in the vault	no value is read
 *	its use needs an approval				the same, and no question
 *	anything else						read, replaced, wiped
 *	it has no value						40 letters and digits
 *
 * Process: the leash, before it sandboxes itself.  Must never give a value in place of a
 * placeholder; those that it reads for their length and structure are wiped before the
 * server starts.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "leash/launch.h"
#include "policy/sealed/policy.h"
#include "policy/tokens/secret_shaped.h"
#include "policy/tokens/token_format.h"
#include "shim/base/log.h"

#define ATTEMPTS 32 /* until one is not a weak value, nor the value itself */

void
launch_refused_by(
    struct leash *l, enum leash_cause cause, const struct sealed_secret *row)
{
	const char *name = policy_str(&l->policy, row->name);
	const char *path = policy_str(&l->policy, row->ref);
	struct leash_refused *to = &l->refused;

	if (l->live || to->cause != LEASH_CAUSE_OTHER) /* live: the rows are reported */
		return;
	to->cause = cause;
	if (strlen(name) < sizeof(to->variable))
		(void)snprintf(to->variable, sizeof(to->variable), "%s", name); /* fits */
	if (row->source == SOURCE_VAULT && strlen(path) < sizeof(to->path))
		(void)snprintf(to->path, sizeof(to->path), "%s", path); /* fits */
}

int
secret_resolve_row(struct leash *l, const struct sealed_secret *row, struct secret **ret,
    struct reason *why)
{
	const char *ref = policy_str(&l->policy, row->ref);

	switch (row->source) {
	case SOURCE_ENV:
		return secret_from_env(l->vault, ref, ret, why);
	case SOURCE_FILE:
		return secret_from_file(l->vault, ref, ret, why);
	case SOURCE_CMD:
		return route_command(l, row, ret, why);
	case SOURCE_VAULT:
		return launch_vault_secret(l, row, ret, why);
	case SOURCE_PLUGIN:
		return route_plugin(l, row, ret, why);
	default:
		return reason_set(
		    why, -EOPNOTSUPP, "this version does not support this source");
	}
}

int
secret_resolve(struct leash *l, const struct sealed_secret *row, struct secret **ret,
    struct reason *why)
{
	int r = route_known(l, row, ret) ? 0 : secret_resolve_row(l, row, ret, why);

	if (r < 0)
		launch_refused_by(l, LEASH_CAUSE_NO_VALUE, row);
	return r;
}

/* ---- placeholders ------------------------------------------------------------------- */

/* A server that is learned never gets values by default. */
int
placeholder_order(struct leash *l, struct wire_in *in)
{
	struct leash_placeholders *p = &l->placeholders;
	const char *format;
	struct span seed;

	p->made = wire_get_u32(in) == 1;
	if (!p->made)
		return l->learn ? -EBADMSG : 0;
	seed = wire_get_bytes(in, sizeof(p->seed));
	p->n = wire_get_u32(in);
	if (seed.len != sizeof(p->seed) || p->n > LEASH_SECRETS_MAX)
		return -EBADMSG;
	memcpy(p->seed, seed.data, sizeof(p->seed));
	for (size_t i = 0; i < p->n; i++) {
		p->real[i] = wire_get_u32(in) == 1;
		format = wire_get_str(in, LEASH_FORMAT_MAX);
		p->format[i] = token_format_find(format);
		if (format[0] != '\0' && p->format[i] == NULL)
			return -EBADMSG;
	}
	return 0;
}

static const struct sealed_secret *
row_of(const struct leash *l, uint32_t i)
{
	return &l->policy.secret[l->server->secrets.first + i];
}

bool
placeholder_for(const struct leash *l, uint32_t i)
{
	const struct leash_placeholders *p = &l->placeholders;

	return p->made && (i >= p->n || !p->real[i]);
}

/* A value may be given while the server is learned only if its line names its hosts: the
 * compiler then refuses every other host. */
int
placeholder_check(const struct leash *l, const char **ret_why)
{
	const struct leash_placeholders *p = &l->placeholders;

	if (!p->made)
		return 0;
	if (p->n != l->server->secrets.n) {
		*ret_why = "protocol error from the supervisor: placeholders";
		return -EBADMSG;
	}
	if (policy_remote_url(&l->policy, l->server) != NULL) {
		*ret_why = "placeholders are not for a server at a URL: its credentials "
			   "would be refused there";
		return -EOPNOTSUPP;
	}
	for (uint32_t i = 0; l->learn && i < p->n; i++) {
		if (!p->real[i] || (row_of(l, i)->hosts.n > 0 &&
				       (row_of(l, i)->flags & SECRET_HOSTS_ANY) == 0))
			continue;
		*ret_why = "a server that is learned gets a value only for `hosts` that "
			   "its line names";
		return -EPERM;
	}
	return 0;
}

/* The value, for its length and structure; NULL: it is not read, or it is missing. */
static struct secret *
read_value(struct leash *l, uint32_t i)
{
	struct leash_placeholders *p = &l->placeholders;
	const struct sealed_secret *row = row_of(l, i);
	bool asks = row->approve != APPROVE_NONE ||
		    (i < l->approve_n && l->approve[i] != APPROVE_NONE);
	struct secret *value = NULL;
	struct reason why = {0};

	if (p->format[i] != NULL || row->source == SOURCE_VAULT || asks ||
	    (row->flags & SECRET_CREDENTIAL) != 0)
		return NULL;
	if (secret_resolve_row(l, row, &value, &why) < 0) {
		log_warn("%s has no value here (%s); its placeholder is 40 letters and "
			 "digits",
		    policy_str(&l->policy, row->name), why.text);
		l->refused = (struct leash_refused){0}; /* the launch goes on */
		return NULL;
	}
	p->read[p->read_n++] = value; /* two lines may have one value */
	return value;
}

static int
make(struct leash *l, const char *name, const struct token_format *format,
    const struct secret *value, struct secret **ret, struct reason *why)
{
	struct placeholder how = {.seed = l->placeholders.seed, .name = name};
	const char *what = NULL;
	struct secret *s = NULL;
	int r;

	for (;; how.attempt++) {
		r = secret_placeholder(l->vault, &how, format, value, &s, &what);
		if (r < 0)
			return reason_set(why, r, "its placeholder %s",
			    what != NULL ? what : "does not fit into the vault");
		if (how.attempt + 1 == ATTEMPTS ||
		    (scrub_weakness(s) == NULL &&
			(value == NULL || !secret_same(s, value))))
			break;
		secret_drop(l->vault, s);
	}
	if (value != NULL && secret_same(s, value)) {
		secret_drop(l->vault, s);
		return reason_set(why, -EINVAL, "no placeholder differs from its value");
	}
	*ret = s;
	return 0;
}

int
secret_for_server(struct leash *l, uint32_t i, struct secret **ret, struct reason *why)
{
	const struct sealed_secret *row = row_of(l, i);

	if (!placeholder_for(l, i))
		return secret_resolve(l, row, ret, why);
	return make(l, policy_str(&l->policy, row->name), l->placeholders.format[i],
	    read_value(l, i), ret, why);
}

/* A variable that is passed on, and that a person did not take for a secret. */
const char *
placeholder_passed(const struct leash *l, const char *name, const char *value)
{
	if (!l->placeholders.made || value == NULL || !secret_shaped_value(name, value))
		return value;
	log_warn("%s is not passed on: its value looks like a secret; if the server "
		 "needs it, name it with --secret",
	    name);
	return NULL;
}

void
placeholder_wipe(struct leash *l)
{
	struct leash_placeholders *p = &l->placeholders;

	while (p->read_n > 0) {
		struct secret *value = p->read[--p->read_n];

		if (secret_len(value) > 0) /* not twice */
			secret_drop(l->vault, value);
	}
}
