/*
 * Settings without sets: variables, secrets, limits, requirements, system
 * calls, pins, audit.  Each is a list of (name, value). An entry that is in one
 * list only, or with another value, is a difference.
 */
#include "policy/diff/private.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* How to judge entries that are new, gone, or changed. */
struct flat {
	const char *domain;
	settings_read *read;
	enum diff_way added, removed;
	enum diff_way (*changed)(const struct pair *from, const struct pair *to);
	bool alone; /* also reported if only one policy has the server */
	/* What all entries together are, if having any is narrower than having none. */
	const char *whole;
	/* Reported only if this domain has no difference, which would explain it.  It hides
	 * nothing that is wider: "syscall" compares the verdict for every call, and the
	 * loader refuses a filter whose program does not have these verdicts
	 * (policy/sealed/simulate_bpf.c); `syscalls` lines have no `until`. */
	const char *unless;
};
#define UNTOLD 0 /* instead of a way: another list or domain reports it */

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

void
pairs_add(struct pairs *l, const char *name, size_t len, char *value, uint64_t number)
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

char *
pairs_number(uint64_t n)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%" PRIu64, n);
	return strdup(text);
}

/* ---- directions ----------------------------------------------------------- */

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

/* 0 means no. */
static enum diff_way
yes_is_wider(const struct pair *from, const struct pair *to)
{
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

/* An entry of the vault that gets another use is wider: a grant is for the entry.  The
 * names of the secrets report fewer uses. */
static enum diff_way
uses_changed(const struct pair *from, const struct pair *to)
{
	const char *use = to->value, *end, *at;
	size_t len;

	for (; *use != '\0'; use = end + 1) {
		end = strchr(use, ';'); /* ends each use */
		len = (size_t)(end - use) + 1;
		for (at = from->value; *at != '\0'; at = strchr(at, ';') + 1)
			if (strncmp(at, use, len) == 0)
				break;
		if (*at == '\0')
			return DIFF_WIDER;
	}
	return UNTOLD;
}

/* A call that is refused, whatever its arguments, where it was not. */
static enum diff_way
call_changed(const struct pair *from, const struct pair *to)
{
	return to->number == 1 && from->number != 1 ? DIFF_NARROWER : DIFF_WIDER;
}

/* ---- comparing ----------------------------------------------------------- */

static const struct flat flats[] = {
    {"program", read_images, DIFF_NEUTRAL, DIFF_NEUTRAL, always_wider, false},
    {"env", read_env, DIFF_WIDER, DIFF_NEUTRAL, always_wider, false},
    {"secret", read_secrets, DIFF_WIDER, DIFF_NARROWER, secret_changed, true, NULL},
    {"vault", read_vault_uses, UNTOLD, UNTOLD, uses_changed, false},
    {"limit", read_limits, DIFF_NEUTRAL, DIFF_NEUTRAL, more_is_wider, false},
    {"tmp", read_tmp, DIFF_WIDER, DIFF_NARROWER, more_is_wider, false},
    {"require", read_requires, DIFF_NARROWER, DIFF_WIDER, less_is_wider, false},
    {"cwd", read_place, DIFF_NEUTRAL, DIFF_NEUTRAL, neutral, false},
    {"user", read_user, DIFF_WIDER, DIFF_WIDER, always_wider, false},
    {"proc", read_proc, DIFF_WIDER, DIFF_NARROWER, neutral, false},
    {"tty", read_tty, DIFF_WIDER, DIFF_NARROWER, neutral, false},
    {"oneshot", read_oneshot, DIFF_NARROWER, DIFF_WIDER, neutral, false},
    {"run", read_run, DIFF_NEUTRAL, DIFF_NEUTRAL, neutral, false},
    {"remote", read_remote, DIFF_WIDER, DIFF_WIDER, always_wider, false},
    {"start", read_rights, DIFF_WIDER, DIFF_NARROWER, always_wider, false},
    {"start", read_programs_rights, UNTOLD, UNTOLD, yes_is_wider, false},
    {"link", read_links, DIFF_NEUTRAL, DIFF_NARROWER, always_wider, false},
    {"hide", read_hides, DIFF_NARROWER, DIFF_WIDER, neutral, false},
    {"mount", read_optional, UNTOLD, UNTOLD, yes_is_wider, false},
    {"until", read_denials, UNTOLD, UNTOLD, less_is_wider, false},
    {"syscall", read_calls, DIFF_WIDER, DIFF_NARROWER, call_changed, false},
    {"syscalls", read_call_ends, DIFF_NEUTRAL, DIFF_NEUTRAL, neutral, false, NULL,
	"syscall"},
    {"filter", read_programs, DIFF_WIDER, DIFF_WIDER, neutral, false, NULL, "syscall"},
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
	if (f.way == UNTOLD || (from == NULL && to == NULL)) /* never neither */
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

static bool
has_found(const struct diff *d, const char *domain)
{
	for (size_t i = 0; i < d->found_n; i++)
		if (strcmp(d->found[i].domain, domain) == 0)
			return true;
	return false;
}

int
diff_flat(struct diff *d)
{
	struct pairs list[2];
	bool both = d->s[0] != NULL && d->s[1] != NULL;
	size_t i;
	int side, r = 0;

	for (i = 0; i < ARRAY_LEN(flats) && r == 0; i++) {
		if ((!both && !flats[i].alone) ||
		    (flats[i].unless != NULL && has_found(d, flats[i].unless)))
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
