/*
 * Lists of settings: variables, secrets, limits, requirements, pins, audit, programs.
 */
#include "policy/diff/private.h"
#include "policy/sealed/policy.h"

#include <stdlib.h>
#include <string.h>

#include "policy/base/output.h"
#include "shim/base/hex.h"

void
read_env(const struct policy *p, const struct sealed_server *s, struct pairs *l)
{
	const struct sealed_env *e;
	char *value;
	size_t len;
	FILE *f;
	uint32_t i;

	for (i = 0; i < s->envs.n; i++) {
		e = &p->env[s->envs.first + i];
		value = NULL;
		f = open_memstream(&value, &len);
		if (f == NULL) {
			l->failed = true;
			return;
		}
		if (e->passed)
			(void)fputs("from the agent's environment", f);
		else
			out_string(f, policy_str(p, e->value), e->value.len);
		if (e->fixed)
			(void)fputs(" in every cell", f);
		if (fclose(f) != 0)
			l->failed = true;
		pairs_add(l, policy_str(p, e->name), e->name.len, value, 0);
	}
}

/* What the statement does not show: a plugin's program, as its arguments with their
 * digest; a command's source; the routed path. */
static void
say_unsaid_source(const struct policy *p, const struct sealed_secret *c, FILE *f)
{
	if (c->source == SOURCE_PLUGIN) {
		(void)fputs(", program", f);
		say_args(p, c->args, f);
	}
	if (c->source == SOURCE_CMD && c->ref.len > 0)
		(void)fprintf(f, ", source %s", policy_str(p, c->ref));
	if (c->path.len > 0)
		(void)fprintf(f, ", path %s", policy_str(p, c->path));
}

/* Who gets the value, and for what: these options are compared where a source changes. */
static void
say_use(const struct policy *p, const void *row, FILE *f)
{
	const struct sealed_secret *c = row;

	if ((c->flags & SECRET_CREDENTIAL) != 0)
		(void)fputs(", only for its source", f);
	say_secret_tail(p, c, f);
}

/* The statement with what it does not show before its options, and where those begin.
 * NULL: no memory. */
static char *
whole_secret(const struct policy *p, const struct sealed_secret *c, uint64_t *ret_at)
{
	char *text = say_text(say_secret, p, c), *tail = say_text(say_secret_tail, p, c);
	char *value = NULL;
	size_t len, source;
	FILE *f = open_memstream(&value, &len);

	if (text != NULL && tail != NULL && f != NULL) {
		source = strlen(text) - strlen(tail);
		(void)fwrite(text, 1, source, f);
		say_unsaid_source(p, c, f);
		*ret_at = (uint64_t)ftello(f);
		say_use(p, c, f);
	}
	if (f == NULL || fclose(f) != 0 || text == NULL || tail == NULL) {
		free(value);
		value = NULL;
	}
	free(text);
	free(tail);
	return value;
}

void
read_secrets(const struct policy *p, const struct sealed_server *s, struct pairs *l)
{
	const struct sealed_secret *c;
	uint64_t at = 0;
	char *value;
	uint32_t i;

	for (i = 0; i < s->secrets.n; i++) {
		c = &p->secret[s->secrets.first + i];
		value = whole_secret(p, c, &at);
		pairs_add(l, policy_str(p, c->name), c->name.len, value,
		    (uint64_t)c->source << 32 | at);
	}
}

/* Each entry of the vault, and all that is done with it: the variables that it arrives
 * in, with their options, a `;` after each. */
void
read_vault_uses(const struct policy *p, const struct sealed_server *s, struct pairs *l)
{
	const struct sealed_secret *c, *row = p->secret + s->secrets.first;
	char *value;
	size_t len;
	uint32_t i, k;
	FILE *f;

	for (i = 0; i < s->secrets.n; i++) {
		c = &row[i];
		if (c->source != SOURCE_VAULT)
			continue;
		value = NULL;
		f = open_memstream(&value, &len);
		if (f == NULL) {
			l->failed = true;
			return;
		}
		for (k = 0; k < s->secrets.n; k++) {
			if (row[k].source != SOURCE_VAULT ||
			    strcmp(policy_str(p, row[k].ref), policy_str(p, c->ref)) != 0)
				continue;
			(void)fputs(policy_str(p, row[k].name), f);
			say_use(p, &row[k], f);
			(void)fputc(';', f);
		}
		if (fclose(f) != 0)
			l->failed = true;
		pairs_add(l, policy_str(p, c->ref), c->ref.len, value, 0);
	}
}

void
read_limits(const struct policy *p, const struct sealed_server *s, struct pairs *l)
{
	const char *name;
	uint64_t n;
	int kind;

	for (kind = LIMIT_MEMORY; kind <= LIMIT_KIND_LAST; kind++) {
		name = policy_limit_name((enum sealed_limit_kind)kind);
		n = policy_limit(p, s, (enum sealed_limit_kind)kind);
		pairs_add(
		    l, name, strlen(name), n == 0 ? strdup("none") : pairs_number(n), n);
	}
}

void
read_requires(const struct policy *p, const struct sealed_server *s, struct pairs *l)
{
	const struct sealed_require *q;
	const char *name;
	uint32_t i;

	for (i = 0; i < s->requires.n; i++) {
		q = &p->require[s->requires.first + i];
		name = say_require_name(q->kind);
		pairs_add(l, name, strlen(name), pairs_number(q->value), q->value);
	}
}

void
read_place(const struct policy *p, const struct sealed_server *s, struct pairs *l)
{
	pairs_add(l, "cwd", 3, strdup(policy_str(p, s->cwd)), 0);
}

void
read_user(const struct policy *p, const struct sealed_server *s, struct pairs *l)
{
	pairs_add(l, "user", 4,
	    strdup(s->user.len > 0 ? policy_str(p, s->user) : "65534 or who starts it"),
	    0);
}

/* The line that starts the server. */
void
read_run(const struct policy *p, const struct sealed_server *s, struct pairs *l)
{
	struct sealed_exec e = p->exec[s->run];

	e.because = e.instead = (struct sealed_ref){0, 0};
	pairs_add(l, "line", 4, say_text(say_exec, p, &e), 0);
}

void
read_remote(const struct policy *p, const struct sealed_server *s, struct pairs *l)
{
	if ((s->flags & SERVER_REMOTE) != 0)
		pairs_add(l, "kind", 4, strdup("a server at a URL"), 0);
	if ((s->flags & SERVER_LOGIN) != 0)
		pairs_add(l, "login", 5, strdup("of a person"), 0);
}

void
read_oneshot(const struct policy *p, const struct sealed_server *s, struct pairs *l)
{
	if (policy_oneshot(p, s) != ONESHOT_NO)
		pairs_add(l, "calls", 5, strdup("a process each"), 0);
}

void
read_pins(const struct policy *p, const struct sealed_server *s, struct pairs *l)
{
	const struct sealed_pin *n;
	char name[600], value[96];
	uint32_t i;

	for (i = 0; i < s->pins.n; i++) {
		n = &p->pin[s->pins.first + i];
		(void)snprintf(name, sizeof(name), "%u %s %s", n->kind,
		    policy_str(p, n->name), policy_str(p, n->variant));
		(void)hex_put(value, n->sha256, 32);
		if (n->kind == PIN_TOOL)
			(void)snprintf(
			    value + 64, sizeof(value) - 64, ", classes %x", n->classes);
		pairs_add(l, name, strlen(name), strdup(value), 0);
	}
}

void
read_audits(const struct policy *p, const struct sealed_server *s, struct pairs *l)
{
	const struct sealed_audit *a;
	char name[600];
	uint32_t i;

	for (i = 0; i < s->audits.n; i++) {
		a = &p->audit[s->audits.first + i];
		(void)snprintf(
		    name, sizeof(name), "%u %s", a->kind, policy_str(p, a->name));
		pairs_add(l, name, strlen(name), pairs_number(a->flags), a->flags);
	}
}

/* The required digest of a program, if the policy has one. */
static void
put_digest(const struct sealed_image *m, FILE *f)
{
	static const uint8_t none[32];

	if (memcmp(m->sha256, none, sizeof(none)) == 0)
		return;
	(void)fputs(" sha256 ", f);
	hex_print(f, m->sha256, sizeof(m->sha256));
}

void
read_images(const struct policy *p, const struct sealed_server *s, struct pairs *l)
{
	const struct sealed_exec *e;
	const struct sealed_image *m;
	const char *path;
	char *value;
	uint32_t i;
	size_t len;
	FILE *f;

	for (i = 0; i < s->execs.n; i++) {
		e = &p->exec[s->execs.first + i];
		m = &p->image[e->asked];
		path = policy_str(p, m->path);
		value = NULL;
		f = open_memstream(&value, &len);
		if (e->verdict == VERDICT_DENY || f == NULL) {
			if (f != NULL)
				(void)fclose(f); /* nothing was written */
			free(value);
			continue;
		}
		(void)fprintf(f, "%s run by %s", policy_str(p, m->real),
		    policy_str(p, p->image[e->mapped].path));
		if (e->mapped != e->asked)
			(void)fprintf(f, ", %s", policy_str(p, p->image[e->mapped].real));
		say_args(p, e->prefix, f);
		put_digest(m, f);
		if (e->mapped != e->asked)
			put_digest(&p->image[e->mapped], f);
		if (fclose(f) != 0)
			l->failed = true;
		pairs_add(l, path, strlen(path), value, 0);
	}
}
