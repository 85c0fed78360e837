/*
 * Lowers statements that become rows of one table: the environment, secrets,
 * limits, requirements.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIAG_CODE "lowering"

#include "policy/compile/lower.h"
#include "policy/lang/manifest.h"
#include "policy/lang/scalar.h"
#include "policy/lang/secret_source.h"
#include "policy/sealed/policy.h"
#include "policy/sources/sources.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/hex.h"

#define PLUGIN_LEN_MAX (64u << 20) /* the same as in the leash */

static int lower_routed(struct lower *, const struct stmt *);

static int
env_put(struct lower *l, const char *name, const char *value, struct at at, bool fixed)
{
	struct sealed_env e = {.name = lower_str(l, name),
	    .value = lower_str(l, value != NULL ? value : ""),
	    .at = lower_at(l, at),
	    .passed = value == NULL,
	    .fixed = fixed};

	(void)sealer_row(l->sealer, SEALED_ENVS, &e, sizeof(e));
	l->row.envs.n++;
	return 0;
}

const struct stmt *
lower_env_of(const struct lower *l, const char *name)
{
	size_t i;

	for (i = 0; i < l->server->stmt_n; i++)
		if ((l->server->stmt[i].kw == KW_ENV ||
			l->server->stmt[i].kw == KW_SECRET) &&
		    strcmp(l->server->stmt[i].word[0].text, name) == 0)
			return &l->server->stmt[i];
	return NULL;
}

int
lower_envs(struct lower *l)
{
	static const char *const fixed[][2] = {
	    {"PATH", "/usr/local/bin:/usr/bin:/bin"},
	    {"HOME", "/tmp"},
	    {"USER", "kennel"},
	    {"LANG", DEFAULT_LANG},
	    {"TMPDIR", "/tmp"},
	    {"XDG_RUNTIME_DIR", POLICY_RUNTIME_DIR},
	};
	const struct stmt *s;
	size_t i;

	l->row.envs.first = sealer_rows(l->sealer, SEALED_ENVS);
	for (i = 0; i < ARRAY_LEN(fixed); i++)
		if (lower_env_of(l, fixed[i][0]) == NULL)
			(void)env_put(l, fixed[i][0], fixed[i][1], l->server->at, true);
	for (i = 0; i < l->server->stmt_n; i++) {
		s = &l->server->stmt[i];
		/* of duplicates the first counts; the checker compares them */
		if (s->kw == KW_ENV && lower_env_of(l, s->word[0].text) == s)
			(void)env_put(l, s->word[0].text,
			    s->word_n > 1 ? s->word[1].text : NULL, s->at, false);
	}
	return 0;
}

/* The hosts that may get the secret, and the approval it needs. */
static void
secret_options(struct lower *l, const struct stmt *s, struct sealed_secret *c)
{
	const struct qual *q = stmt_qual(s, KW_APPROVE);
	bool network;
	size_t i;

	if (q != NULL)
		c->approve = APPROVE_PER_CALL;
	if (q != NULL && strcmp(q->word[0].text, "session") == 0)
		c->approve = APPROVE_SESSION;
	c->factor = q == NULL ? FACTOR_NONE
			      : lower_factor_name(manifest_factor(q->word, q->word_n));
	q = stmt_qual(s, KW_MAY);
	for (i = 0; q != NULL && i < q->word_n; i++) {
		network = strcmp(q->word[i].text, "network") == 0;
		c->flags |= network ? SECRET_MAY_NETWORK : SECRET_MAY_FILES;
	}
	if (stmt_qual(s, KW_AS) != NULL)
		c->flags |= SECRET_AS_FILE;
	if (stmt_qual(s, KW_WEAK) != NULL)
		c->flags |= SECRET_WEAK;
	q = stmt_qual(s, KW_HOSTS);
	if (q == NULL)
		return;
	if (q->word_n == 1 && strcmp(q->word[0].text, "any") == 0)
		c->flags |= SECRET_HOSTS_ANY;
	else
		c->hosts = lower_refs(l, q->word, q->word_n);
}

static void
secret_arg(struct lower *l, struct sealed_secret *c, const char *text)
{
	struct sealed_arg a = {.kind = ARG_LITERAL, .text = lower_str(l, text)};

	(void)sealer_row(l->sealer, SEALED_ARGS, &a, sizeof(a));
	c->args.n++;
}

/* The argv of a preset.  The checker verified that its numbered words exist. */
static int
secret_preset(struct lower *l, const struct stmt *s, const struct source_row *row,
    struct sealed_secret *c)
{
	const char *at;
	char *text;
	size_t i, k;

	secret_arg(l, c, source_program(row));
	for (i = 0; i < SOURCE_ARGS_MAX && row->args[i] != NULL; i++) {
		at = strchr(row->args[i], '%');
		for (k = 2; at != NULL && at[1] == '*' && k < s->word_n; k++)
			secret_arg(l, c, s->word[k].text);
		if (at != NULL && at[1] == '*')
			continue;
		if (at == NULL) {
			secret_arg(l, c, row->args[i]);
			continue;
		}
		if (asprintf(&text, "%.*s%s", (int)(at - row->args[i]), row->args[i],
			s->word[1 + (at[1] - '0')].text) < 0)
			return -ENOMEM;
		secret_arg(l, c, text);
		free(text);
	}
	return 0;
}

/* The reference after `from`, in the form of its source. */
static int
secret_words(struct lower *l, const struct stmt *s, struct sealed_secret *c)
{
	const struct source_row *row = source_find(s->word[1].text);
	size_t i;
	int r = 0;

	if (row == NULL || row->source == SOURCE_ROUTED)
		return -EINVAL; /* reported by the parser; sources.kennel has none */
	c->source = row->source;
	c->flags |= row->flags;
	c->args.first = sealer_rows(l->sealer, SEALED_ARGS);
	if (row->program != NULL)
		r = secret_preset(l, s, row, c);
	else if (row->source != SOURCE_CMD)
		c->ref = lower_str(l, s->word[2].text);
	for (i = 2; row->program == NULL && row->source == SOURCE_CMD && i < s->word_n;
	     i++)
		secret_arg(l, c, s->word[i].text);
	return r;
}

static void
secret_row(struct lower *l, const struct sealed_secret *c)
{
	(void)sealer_row(l->sealer, SEALED_SECRETS, c, sizeof(*c));
	l->row.secrets.n++;
}

static int
secret_put(struct lower *l, const struct stmt *s)
{
	struct sealed_secret c = {
	    .name = lower_str(l, s->word[0].text), .at = lower_at(l, s->at)};
	int r;

	if (strcmp(s->word[1].text, "source") == 0)
		return lower_routed(l, s);
	r = secret_words(l, s, &c);
	secret_options(l, s, &c);
	secret_row(l, &c);
	return r;
}

/* ---- `from source`, by sources.kennel ------------------------------------ */

/* Is the plugin's program the one in its sidecar? */
static int
plugin_judge(struct lower *l, const struct stmt *s, const struct sidecar *car)
{
	uint8_t digest[32];
	const char *why = NULL;
	int fd, r;

	/* early: openat */
	fd = open(car->program, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	r = fd < 0 ? -errno : policy_digest_fd(fd, PLUGIN_LEN_MAX, digest);
	fd_close(&fd);
	if (r < 0)
		why = strerror(-r);
	else if (memcmp(digest, car->sha256, sizeof(digest)) != 0)
		why = "its sha256 differs from the one in its sidecar";
	if (why == NULL)
		return 0;
	diag_host(l->diag, s->word[2].at, "the program of plugin %s: %s", car->name, why);
	return -EINVAL;
}

static void
plugin_row(struct lower *l, const struct source_answer *a, struct sealed_secret *c)
{
	const struct route_source *source = a->source;
	char hex[65];
	size_t i;

	c->source = SOURCE_PLUGIN;
	c->ref = lower_str(l, source->name.text);
	c->args.first = sealer_rows(l->sealer, SEALED_ARGS);
	secret_arg(l, c, source->sidecar->program);
	secret_arg(l, c, hex_put(hex, source->sidecar->sha256, 32));
	secret_arg(l, c, a->reference);
	for (i = 0; i < source->env_n; i++)
		secret_arg(l, c, source->env[i]);
}

/* The row for the source's program; name and flags are already set. */
static int
answer_row(struct lower *l, const struct stmt *s, const struct source_answer *a,
    struct sealed_secret *c)
{
	int r = 0;

	if (a->source->sidecar != NULL) {
		r = plugin_judge(l, s, a->source->sidecar);
		plugin_row(l, a, c);
	} else {
		r = secret_words(l, &a->stmt, c);
		if (a->source->credential_n > 0)
			c->ref = lower_str(l, a->source->name.text);
	}
	c->flags |= a->source->may;
	return r;
}

/* SOURCE__VARIABLE, with `_` for each `-`. */
static char *
credential_name(
    struct lower *l, const struct source_answer *a, const struct source_answer *c)
{
	char *name =
	    lower_printf(l, "%s__%s", a->source->name.text, c->stmt.word[0].text);
	size_t i, len = a->source->name.len;

	for (i = 0; name != NULL && i < len; i++)
		if (name[i] == '-')
			name[i] = '_';
	return name;
}

/* Once in a server, however many of its secrets come from that source. */
static int
credential_put(struct lower *l, const struct stmt *s, const struct source_answer *a,
    const struct source_answer *c, uint32_t weak)
{
	const char *name = credential_name(l, a, c), **known;
	struct sealed_secret row = {
	    .at = lower_at(l, s->at), .flags = SECRET_CREDENTIAL | weak};
	size_t i;

	if (name == NULL)
		return -ENOMEM;
	for (i = 0; i < l->credential_n; i++)
		if (strcmp(l->credential[i], name) == 0)
			return 0;
	if (lower_env_of(l, name) != NULL) {
		diag_error(l->diag, s->word[1].at,
		    "%s is reserved for the source of this secret: rename the other "
		    "variable",
		    name);
		return -EINVAL;
	}
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): its elements are pointers */
	known = arena_push(l->arena, l->credential, l->credential_n, sizeof(*known));
	if (known == NULL)
		return -ENOMEM;
	known[l->credential_n++] = name;
	l->credential = known;
	row.name = lower_str(l, name);
	i = answer_row(l, s, c, &row) < 0;
	secret_row(l, &row);
	return i != 0 ? -EINVAL : 0;
}

static int
lower_routed(struct lower *l, const struct stmt *s)
{
	struct tree tree = *l->tree; /* its sources were read by the checker */
	const struct source_answer *a = route_answer(&tree, s, l->diag);
	struct sealed_secret c = {
	    .name = lower_str(l, s->word[0].text), .at = lower_at(l, s->at)};
	size_t i;
	int r;

	if (a == NULL)
		return -EINVAL;
	c.path = lower_str(l, s->word[2].text);
	r = answer_row(l, s, a, &c);
	secret_options(l, s, &c);
	secret_row(l, &c);
	for (i = 0; r == 0 && i < a->source->credential_n; i++)
		r = credential_put(l, s, a, &a->credential[i], c.flags & SECRET_WEAK);
	return r;
}

int
lower_secrets(struct lower *l)
{
	const struct stmt *s;
	size_t i;
	int r;

	l->row.secrets.first = sealer_rows(l->sealer, SEALED_SECRETS);
	for (i = 0; i < l->server->stmt_n; i++) {
		s = &l->server->stmt[i];
		if (s->kw != KW_SECRET)
			continue;
		if (s->word_n < 3)
			return -EINVAL; /* the checker reported it */
		r = secret_put(l, s);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Of duplicates the smaller value applies. */
static void
limit_put(struct lower *l, const struct sealed_limit *m)
{
	struct sealed_limit *old;
	uint32_t i;

	for (i = 0; i < l->row.limits.n; i++) {
		old = sealer_at(l->sealer, SEALED_LIMITS, l->row.limits.first + i);
		if (old == NULL || old->kind != m->kind)
			continue;
		if (m->value < old->value)
			*old = *m;
		return;
	}
	(void)sealer_row(l->sealer, SEALED_LIMITS, m, sizeof(*m));
	l->row.limits.n++;
}

int
lower_limit(struct lower *l, const struct stmt *s)
{
	struct sealed_limit m = {.kind = 0};
	size_t i;

	for (i = 0; i + 1 < s->word_n; i += 2) {
		m.kind = limit_kind(s->kw, s->word[i].text);
		m.at = lower_at(l, s->word[i].at);
		if (m.kind == 0 || limit_value(m.kind, s->word[i + 1].text, &m.value) < 0)
			return -EINVAL;
		limit_put(l, &m);
	}
	return 0;
}

int
lower_require(struct lower *l, const struct stmt *s)
{
	static const char *const names[] = {
	    [REQUIRE_LANDLOCK] = "landlock",
	    [REQUIRE_CGROUP] = "cgroup",
	    [REQUIRE_SUBUID] = "subuid",
	};
	struct sealed_require q = {.at = lower_at(l, s->at)}, *old;
	uint64_t value = 0;
	size_t i;

	for (i = 1; i < ARRAY_LEN(names); i++)
		if (strcmp(s->word[0].text, names[i]) == 0)
			q.kind = (uint32_t)i;
	if (s->word_n > 1 && unit_count(s->word[1].text, &value) < 0)
		return -EINVAL;
	q.value = (uint32_t)value;
	/* of duplicates the greater value applies */
	for (i = 0; i < l->row.requires.n; i++) {
		old = sealer_at(
		    l->sealer, SEALED_REQUIRES, l->row.requires.first + (uint32_t)i);
		if (old == NULL || old->kind != q.kind)
			continue;
		if (q.value > old->value)
			*old = q;
		return 0;
	}
	(void)sealer_row(l->sealer, SEALED_REQUIRES, &q, sizeof(q));
	l->row.requires.n++;
	return 0;
}
