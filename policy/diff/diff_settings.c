/*
 * Settings without sets: variables, secrets, limits, requirements, system
 * calls, pins, audit.  Each is a list of (name, value). An entry that is in one
 * list only, or with another value, is a difference.
 */
#include "policy/diff/diff.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "policy/base/output.h"
#include "shim/base/hex.h"

struct pair {
	char *name, *value;
	uint64_t number; /* of a limit, a secret */
};

struct pairs {
	struct pair *v;
	size_t n, cap;
	bool failed;
};

/* How to judge entries that are new, gone, or changed. */
struct flat {
	const char *domain;
	void (*read)(const struct policy *, const struct sealed_server *, struct pairs *);
	enum diff_way added, removed;
	enum diff_way (*changed)(const struct pair *from, const struct pair *to);
	bool alone; /* also reported if only one policy has the server */
	/* What all entries together are, if having any is narrower than having none. */
	const char *whole;
};

/* ---- lists --------------------------------------------------------------- */

static void
pairs_free(struct pairs *l)
{
	size_t i;

	for (i = 0; i < l->n; i++) {
		free(l->v[i].name);
		free(l->v[i].value);
	}
	free(l->v);
	memset(l, 0, sizeof(*l));
}

/* Takes ownership of value. */
static void
add(struct pairs *l, const char *name, size_t len, char *value, uint64_t number)
{
	struct pair *grown;

	if (l->n == l->cap) {
		l->cap = l->cap == 0 ? 64 : 2 * l->cap;
		grown = realloc(l->v, l->cap * sizeof(*grown));
		if (grown == NULL) {
			free(value);
			l->failed = true;
			return;
		}
		l->v = grown;
	}
	l->v[l->n] = (struct pair){strndup(name, len), value, number};
	if (l->v[l->n].name == NULL || value == NULL)
		l->failed = true;
	l->n++;
}

static char *number_text(uint64_t n) __attribute__((malloc));

static char *
number_text(uint64_t n)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%" PRIu64, n);
	return strdup(text);
}

static enum diff_way
always_wider(const struct pair *from, const struct pair *to)
{
	return DIFF_WIDER;
}

static enum diff_way
neutral(const struct pair *from, const struct pair *to)
{
	return DIFF_NEUTRAL;
}

/* 0 means no limit. */
static enum diff_way
more_is_wider(const struct pair *from, const struct pair *to)
{
	if (from->number == 0 || to->number == 0)
		return to->number == 0 ? DIFF_WIDER : DIFF_NARROWER;
	return to->number > from->number ? DIFF_WIDER : DIFF_NARROWER;
}

static enum diff_way
less_is_wider(const struct pair *from, const struct pair *to)
{
	return to->number < from->number ? DIFF_WIDER : DIFF_NARROWER;
}

/* A value that moves to the vault is no longer in a file or an environment, if nothing
 * else changes.  number: the source, and where the options begin in the value. */
static enum diff_way
secret_changed(const struct pair *from, const struct pair *to)
{
	const char *old = from->value + (uint32_t)from->number;
	const char *new = to->value + (uint32_t)to->number;
	uint64_t source = to->number >> 32;

	return source == SOURCE_VAULT && source != from->number >> 32 &&
		       strcmp(old, new) == 0
		   ? DIFF_NARROWER
		   : DIFF_WIDER;
}

/* ---- lists of each kind -------------------------------------------------- */

static void
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
		if (fclose(f) != 0)
			l->failed = true;
		add(l, policy_str(p, e->name), e->name.len, value, 0);
	}
}

/* A plugin's program, which the statement does not show: text, then its arguments with
 * the digest of the program, then options. NULL: no memory. */
static char *
with_program(const struct policy *p, const struct sealed_secret *c, char *text, size_t at)
{
	char *value = NULL;
	size_t len;
	FILE *f = open_memstream(&value, &len);

	if (f != NULL) {
		(void)fprintf(f, "%.*s, program", (int)at, text);
		say_args(p, c->args, f);
		(void)fputs(text + at, f);
		if (fclose(f) != 0) {
			free(value);
			value = NULL;
		}
	}
	free(text);
	return value;
}

static void
read_secrets(const struct policy *p, const struct sealed_server *s, struct pairs *l)
{
	const struct sealed_secret *c;
	char *value, *options;
	uint64_t at;
	uint32_t i;

	for (i = 0; i < s->secrets.n; i++) {
		c = &p->secret[s->secrets.first + i];
		value = say_text(say_secret, p, c);
		options = say_text(say_secret_tail, p, c);
		at = 0;
		if (value != NULL && options != NULL)
			at = strlen(value) - strlen(options);
		l->failed = l->failed || options == NULL;
		if (value != NULL && options != NULL && c->source == SOURCE_PLUGIN) {
			value = with_program(p, c, value, at);
			at = value == NULL ? 0 : strlen(value) - strlen(options);
		}
		free(options);
		add(l, policy_str(p, c->name), c->name.len, value,
		    (uint64_t)c->source << 32 | at);
	}
}

static void
read_limits(const struct policy *p, const struct sealed_server *s, struct pairs *l)
{
	const char *name;
	uint64_t n;
	int kind;

	for (kind = LIMIT_MEMORY; kind <= LIMIT_KIND_LAST; kind++) {
		name = policy_limit_name((enum sealed_limit_kind)kind);
		n = policy_limit(p, s, (enum sealed_limit_kind)kind);
		add(l, name, strlen(name), n == 0 ? strdup("none") : number_text(n), n);
	}
}

/* The size of the private /tmp. */
static void
read_tmp(const struct policy *p, const struct sealed_server *s, struct pairs *l)
{
	const struct sealed_mount *m;
	uint32_t i;

	for (i = 0; i < s->mounts.n; i++) {
		m = &p->mount[s->mounts.first + i];
		if (m->kind == MOUNT_TMPFS || m->kind == MOUNT_SHM)
			add(l, policy_str(p, m->target), m->target.len,
			    number_text(m->size), m->size);
	}
}

static void
read_requires(const struct policy *p, const struct sealed_server *s, struct pairs *l)
{
	const struct sealed_require *q;
	const char *name;
	uint32_t i;

	for (i = 0; i < s->requires.n; i++) {
		q = &p->require[s->requires.first + i];
		name = say_require_name(q->kind);
		add(l, name, strlen(name), number_text(q->value), q->value);
	}
}

static void
read_place(const struct policy *p, const struct sealed_server *s, struct pairs *l)
{
	add(l, "cwd", 3, strdup(policy_str(p, s->cwd)), 0);
}

static void
read_user(const struct policy *p, const struct sealed_server *s, struct pairs *l)
{
	add(l, "user", 4,
	    strdup(s->user.len > 0 ? policy_str(p, s->user) : "65534 or who starts it"),
	    0);
}

static void
read_proc(const struct policy *p, const struct sealed_server *s, struct pairs *l)
{
	if ((s->flags & SERVER_NO_PROC) == 0)
		add(l, "/proc", 5, strdup("its own"), 0);
}

static void
read_oneshot(const struct policy *p, const struct sealed_server *s, struct pairs *l)
{
	if (policy_oneshot(p, s) != ONESHOT_NO)
		add(l, "calls", 5, strdup("a process each"), 0);
}

/*
 * The verdict of each filter for each call: the rows against which the loader
 * simulates the filter.
 */
static void
read_filter(const struct policy *p, const struct sealed_filter *k, struct pairs *l)
{
	const struct sealed_syscall *c;
	const struct sealed_compare *m;
	const char *arch = policy_arch_name(k->arch);
	const struct policy *t = policy_filter_tables(p, &k);
	char name[160], *value;
	size_t len;
	uint32_t i, n;
	FILE *f;

	for (i = 0; i < k->syscalls.n; i++) {
		c = &t->syscall[k->syscalls.first + i];
		value = NULL;
		f = open_memstream(&value, &len);
		if (f == NULL) {
			l->failed = true;
			return;
		}
		(void)fprintf(f, "action %x", c->action);
		for (n = 0; n < c->compares.n; n++) {
			m = &t->compare[c->compares.first + n];
			(void)fprintf(f, " if argument %u & %" PRIx64 " op %u %" PRIx64,
			    m->arg, m->mask, m->op, m->value);
		}
		if (fclose(f) != 0)
			l->failed = true;
		(void)snprintf(name, sizeof(name), "%s %s #%u.%u", arch,
		    policy_str(t, c->name), c->nr, c->compares.n);
		add(l, name, strlen(name), value, c->action);
	}
}

static void
read_calls(const struct policy *p, const struct sealed_server *s, struct pairs *l)
{
	uint32_t i;

	for (i = 0; i < s->filters.n; i++)
		read_filter(p, &p->filter[s->filters.first + i], l);
}

static void
read_pins(const struct policy *p, const struct sealed_server *s, struct pairs *l)
{
	const struct sealed_pin *n;
	char name[600], value[65];
	uint32_t i;

	for (i = 0; i < s->pins.n; i++) {
		n = &p->pin[s->pins.first + i];
		(void)snprintf(name, sizeof(name), "%u %s %s", n->kind,
		    policy_str(p, n->name), policy_str(p, n->variant));
		add(l, name, strlen(name), strdup(hex_put(value, n->sha256, 32)), 0);
	}
}

static void
read_audits(const struct policy *p, const struct sealed_server *s, struct pairs *l)
{
	const struct sealed_audit *a;
	char name[600];
	uint32_t i;

	for (i = 0; i < s->audits.n; i++) {
		a = &p->audit[s->audits.first + i];
		(void)snprintf(
		    name, sizeof(name), "%u %s", a->kind, policy_str(p, a->name));
		add(l, name, strlen(name), number_text(a->flags), a->flags);
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

static void
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
		    policy_str(p, p->image[e->mapped].real));
		say_args(p, e->prefix, f);
		put_digest(m, f);
		if (e->mapped != e->asked)
			put_digest(&p->image[e->mapped], f);
		if (fclose(f) != 0)
			l->failed = true;
		add(l, path, strlen(path), value, 0);
	}
}

/* ---- comparing ----------------------------------------------------------- */

static const struct flat flats[] = {
    {"program", read_images, DIFF_NEUTRAL, DIFF_NEUTRAL, always_wider, false},
    {"env", read_env, DIFF_WIDER, DIFF_NARROWER, always_wider, false},
    {"secret", read_secrets, DIFF_WIDER, DIFF_NARROWER, secret_changed, true, NULL},
    {"limit", read_limits, DIFF_NEUTRAL, DIFF_NEUTRAL, more_is_wider, false},
    {"tmp", read_tmp, DIFF_WIDER, DIFF_NARROWER, more_is_wider, false},
    {"require", read_requires, DIFF_NARROWER, DIFF_WIDER, less_is_wider, false},
    {"cwd", read_place, DIFF_NEUTRAL, DIFF_NEUTRAL, neutral, false},
    {"user", read_user, DIFF_WIDER, DIFF_WIDER, always_wider, false},
    {"proc", read_proc, DIFF_WIDER, DIFF_NARROWER, neutral, false},
    {"oneshot", read_oneshot, DIFF_NARROWER, DIFF_WIDER, neutral, false},
    {"syscall", read_calls, DIFF_WIDER, DIFF_NARROWER, always_wider, false},
    {"pin", read_pins, DIFF_WIDER, DIFF_NARROWER, always_wider, false, "definitions"},
    {"audit", read_audits, DIFF_NEUTRAL, DIFF_WIDER, always_wider, false},
};

static int
pair_order(const void *va, const void *vb)
{
	const struct pair *a = va, *b = vb;
	int c = strcmp(a->name, b->name);

	return c != 0 ? c : strcmp(a->value, b->value);
}

static int
tell(struct diff *d, const struct flat *k, const struct pair *from, const struct pair *to)
{
	struct finding f = {.domain = k->domain};

	f.way = from == NULL ? k->added : to == NULL ? k->removed : k->changed(from, to);
	if (from == NULL && to == NULL)
		return 0;
	f.set = strdup(from != NULL ? from->name : to->name);
	f.from_text = strdup(from != NULL ? from->value : "none");
	f.to_text = strdup(to != NULL ? to->value : "none");
	return diff_found(d, &f);
}

/*
 * Merges both sorted lists: entries of one only, and entries with another
 * value.
 */
static int
merge(struct diff *d, const struct flat *k, struct pairs *a, struct pairs *b)
{
	size_t i = 0, j = 0;
	int c, r = 0;

	if (a->n > 1)
		qsort(a->v, a->n, sizeof(*a->v), pair_order);
	if (b->n > 1)
		qsort(b->v, b->n, sizeof(*b->v), pair_order);
	while (r == 0 && (i < a->n || j < b->n)) {
		c = i == a->n ? 1 : j == b->n ? -1 : strcmp(a->v[i].name, b->v[j].name);
		if (c < 0) {
			r = tell(d, k, &a->v[i++], NULL);
		} else if (c > 0) {
			r = tell(d, k, NULL, &b->v[j++]);
		} else {
			if (strcmp(a->v[i].value, b->v[j].value) != 0)
				r = tell(d, k, &a->v[i], &b->v[j]);
			i++;
			j++;
		}
	}
	return r;
}

/* One list is empty: says so once, instead of each entry of the other. */
static int
tell_whole(
    struct diff *d, const struct flat *k, const struct pairs *a, const struct pairs *b)
{
	struct finding f = {
	    .domain = k->domain, .way = a->n == 0 ? DIFF_NARROWER : DIFF_WIDER};
	char many[32];

	(void)snprintf(many, sizeof(many), "%zu", a->n + b->n);
	f.set = strdup(k->whole);
	f.from_text = strdup(a->n == 0 ? "none" : many);
	f.to_text = strdup(b->n == 0 ? "none" : many);
	return diff_found(d, &f);
}

/* Removes repeated entries with the same name and value. */
static void
unique(struct pairs *l)
{
	size_t i, n = 0;

	if (l->n > 1)
		qsort(l->v, l->n, sizeof(*l->v), pair_order);
	for (i = 0; i < l->n; i++)
		if (n > 0 && pair_order(&l->v[n - 1], &l->v[i]) == 0) {
			free(l->v[i].name);
			free(l->v[i].value);
		} else {
			l->v[n++] = l->v[i];
		}
	l->n = n;
}

int
diff_flat(struct diff *d)
{
	struct pairs list[2];
	bool both = d->s[0] != NULL && d->s[1] != NULL;
	size_t i;
	int side, r = 0;

	for (i = 0; i < ARRAY_LEN(flats) && r == 0; i++) {
		if (!both && !flats[i].alone)
			continue;
		memset(list, 0, sizeof(list));
		for (side = 0; side < 2; side++)
			if (d->s[side] != NULL)
				flats[i].read(d->p[side], d->s[side], &list[side]);
		if (list[0].failed || list[1].failed)
			r = -ENOMEM;
		unique(&list[0]);
		unique(&list[1]);
		if (r == 0)
			r = flats[i].whole != NULL && (list[0].n == 0) != (list[1].n == 0)
				? tell_whole(d, &flats[i], &list[0], &list[1])
				: merge(d, &flats[i], &list[0], &list[1]);
		pairs_free(&list[0]);
		pairs_free(&list[1]);
	}
	return r;
}
