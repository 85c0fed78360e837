/*
 * never, for paths and hosts: prefixes of components and of labels.  An
 * existing path counts by its canonical name.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define DIAG_CODE "never"

#include "policy/base/arena.h"
#include "policy/base/fs_cache.h"
#include "policy/check/never.h"
#include "policy/lang/host.h"
#include "policy/lang/scalar.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"
#include "shim/host/path_open.h"

#define PARTS_MAX 256

/* ---- paths ------------------------------------------------------------------- */

/* Components of a path; a trailing ** is removed and recorded. */
struct parts {
	const char *text[PARTS_MAX];
	size_t len[PARTS_MAX];
	size_t n;
	bool below; /* a trailing ** */
};

static bool
parts_of(const char *path, struct parts *ret)
{
	size_t n;

	ret->n = 0;
	ret->below = false;
	while (*path == '/') {
		path++;
		n = strcspn(path, "/");
		if (n == 0)
			break; /* the root */
		if (n == 2 && memcmp(path, "**", 2) == 0) {
			ret->below = true;
			return path[2] == '\0';
		}
		if (ret->n == PARTS_MAX)
			return false;
		ret->text[ret->n] = path;
		ret->len[ret->n++] = n;
		path += n;
	}
	return *path == '\0';
}

/* Do the components that both have match? */
static bool
parts_meet(const struct parts *pattern, const struct parts *plain)
{
	size_t i;

	for (i = 0; i < pattern->n && i < plain->n; i++)
		if (!policy_glob(
			pattern->text[i], pattern->len[i], plain->text[i], plain->len[i]))
			return false;
	return true;
}

/* An example path of both: the plain one, and the rest of the pattern. */
static void
parts_example(const struct parts *pattern, const struct parts *plain, char out[PATH_MAX])
{
	size_t i, k, n = 0;

	for (i = 0; i < plain->n || i < pattern->n; i++) {
		const char *t = i < plain->n ? plain->text[i] : pattern->text[i];
		size_t len = i < plain->n ? plain->len[i] : pattern->len[i];

		if (n + len + 4 > PATH_MAX)
			break;
		out[n++] = '/';
		for (k = 0; k < len; k++)
			out[n++] = (char)(t[k] == '*' && i >= plain->n ? 'x' : t[k]);
	}
	out[n] = '\0';
	if (pattern->below && plain->n <= pattern->n && n + 3 < PATH_MAX)
		memcpy(out + n, "/x", 3);
	else if (n == 0)
		memcpy(out, "/", 2);
}

/* The canonical name, as far as the path exists; in the arena. */
const char *
never_canonical(struct check *c, const char *path)
{
	struct fs_cache *cache = tree_fs_cache(c->tree);
	const struct way *w = cache == NULL ? NULL : fs_cache_way(cache, path);

	if (w == NULL)
		return path;
	/*
	 * Lowering refuses a grant through such a link; here it counts as the
	 * link's current target.
	 */
	if (w->error == -ELOOP && w->target[0] != '\0')
		return w->target;
	return w->error == 0 ? w->real : path;
}

/* Is the whole matching path hidden? */
static bool
is_hidden(const struct never_request *a, const char *path)
{
	const struct stmt *s;
	size_t i, k;

	for (i = 0; i < a->server->stmt_n; i++) {
		s = &a->server->stmt[i];
		for (k = 0; s->kw == KW_HIDE && k < s->word_n; k++)
			if (path_below(never_canonical(a->c, s->word[k].text), path))
				return true;
	}
	return false;
}

/* Length of a pattern's literal prefix, in whole components; 0: none. */
static size_t
claim_head(const char *pattern, char head[PATH_MAX])
{
	const char *star = strchr(pattern, '*'), *slash;
	size_t n = strlen(pattern);

	if (star != NULL) {
		for (slash = star; *slash != '/'; slash--)
			;
		n = (size_t)(slash - pattern);
	}
	if (n >= PATH_MAX)
		return 0;
	(void)snprintf(head, PATH_MAX, "%.*s", (int)n, pattern); /* it fits */
	return n;
}

void
never_link_check(struct check *c, const struct word *w)
{
	struct fs_cache *cache = tree_fs_cache(c->tree);
	char head[PATH_MAX], why[PATH_WHY_MAX];
	const struct way *way;

	if (cache == NULL || claim_head(w->text, head) == 0 ||
	    (way = fs_cache_way(cache, head)) == NULL)
		return;
	if (way->error == -ELOOP || way->error == -EXDEV)
		diag_error(c->diag, w->at, "%s", way_why(way, why, sizeof(why)));
}

/* A pattern as written, or with the canonical name of its literal prefix. */
static const char *
claim_canonical(struct check *c, const char *pattern)
{
	const char *slash, *real;
	char head[PATH_MAX];
	char *out;
	size_t n = claim_head(pattern, head);

	if (n == 0)
		return pattern;
	slash = pattern + n;
	real = never_canonical(c, head);
	n = strlen(real) + strlen(slash) + 1;
	out = arena_alloc(c->tree->arena, n);
	if (out == NULL)
		return pattern;
	(void)snprintf(out, n, "%s%s", real, slash); /* it fits */
	return out;
}

static bool
path_meets(struct never_request *a, const char *claim, const char *grant, struct at at)
{
	struct parts pattern, plain;
	char found[PATH_MAX];

	if (!parts_of(claim_canonical(a->c, claim), &pattern) ||
	    !parts_of(never_canonical(a->c, grant), &plain) ||
	    !parts_meet(&pattern, &plain))
		return false;
	parts_example(&pattern, &plain, found);
	if (is_hidden(a, found))
		return false;
	never_example(a->ret, at, found);
	return true;
}

bool
path_breached(struct never_request *a)
{
	const struct stmt *s;
	size_t i, k, m;

	for (i = 0; i < a->server->stmt_n; i++) {
		s = &a->server->stmt[i];
		if (s->kw != KW_WRITE && (s->kw != KW_READ || a->what != KW_READ))
			continue;
		for (k = 0; k < s->word_n; k++) {
			if (a->word_n == 0) {
				never_example(a->ret, s->word[k].at, s->word[k].text);
				return true;
			}
			for (m = 0; m < a->word_n; m++)
				if (path_meets(a, a->word[m].text, s->word[k].text,
					s->word[k].at))
					return true;
		}
	}
	return false;
}

/* Does the pattern match the program, or a directory above it? */
bool
never_program_meets(struct never_request *a, const char *path)
{
	struct parts pattern, plain;
	const char *names[2] = {path, never_canonical(a->c, path)};
	const char *claims[2] = {a->word[0].text, claim_canonical(a->c, a->word[0].text)};
	size_t i;

	for (i = 0; i < 4; i++)
		if (parts_of(claims[i / 2], &pattern) && parts_of(names[i % 2], &plain) &&
		    plain.n >= pattern.n + (pattern.below ? 1 : 0) &&
		    parts_meet(&pattern, &plain))
			return true;
	return false;
}

/* ---- hosts --------------------------------------------------------------------- */

/* Addresses to which a name cannot resolve without `to`. */
static const char *const inner[] = {"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10",
    "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16", "224.0.0.0/3",
    "::/128", "::1/128", "fc00::/7", "fe80::/10", "ff00::/8"};

static void
block_of(const char *text, struct host *h)
{
	memset(h, 0, sizeof(*h));
	h->kind = HOST_CIDR;
	(void)host_cidr(text, strlen(text), h->addr, &h->prefix); /* constant: valid */
}

/* May a name with this scope resolve into the block? */
static bool
scope_meets(const struct stmt *s, const struct host *block)
{
	const struct qual *to = stmt_qual(s, KW_TO);
	struct host h = {.kind = HOST_CIDR};
	uint32_t scope = NET_PUBLIC;
	size_t i;

	if (to != NULL && !net_scope_read(&to->word[0], &scope, h.addr, &h.prefix))
		return true;
	if (scope == NET_CIDR)
		return host_meets(&h, block);
	if (scope == NET_LOOPBACK) {
		block_of("127.0.0.0/8", &h);
		if (host_meets(&h, block))
			return true;
		block_of("::1/128", &h);
		return host_meets(&h, block);
	}
	for (i = 0; scope == NET_PUBLIC && i < ARRAY_LEN(inner); i++) {
		block_of(inner[i], &h);
		if (host_covers(&h, block))
			return false;
	}
	return true;
}

static bool
to_meets(const struct never_request *a, const struct stmt *s)
{
	const struct qual *to = stmt_qual(s, KW_TO);
	struct host h = {.kind = HOST_CIDR};
	uint32_t scope, own;
	uint8_t addr[16];
	uint32_t prefix;

	if (a->to == NULL)
		return true;
	if (!net_scope_read(a->to, &scope, h.addr, &h.prefix))
		return true; /* reported */
	if (scope == NET_CIDR)
		return scope_meets(s, &h);
	if (to == NULL)
		return false;
	return !net_scope_read(&to->word[0], &own, addr, &prefix) || own == scope ||
	       own == NET_CIDR;
}

/* Does a deny cover this whole host? */
static bool
net_denied(const struct never_request *a, const struct host *h)
{
	const struct stmt *s;
	struct host deny;
	size_t i, k;

	for (i = 0; i < a->server->stmt_n; i++) {
		s = &a->server->stmt[i];
		for (k = 0;
		     s->kw == KW_NET && s->verdict == VERDICT_DENY && k < s->word_n; k++)
			if (host_read(&s->word[k], true, &deny) == NULL &&
			    host_covers(&deny, h) && deny.port_first <= h->port_first &&
			    h->port_last <= deny.port_last)
				return true;
	}
	return false;
}

static bool
host_breached(struct never_request *a, const struct stmt *s, const struct word *w)
{
	struct host h, claim;
	size_t i;

	if (host_read(w, true, &h) != NULL || net_denied(a, &h))
		return false;
	for (i = 0; i < a->word_n; i++) {
		if (host_pattern_read(&a->word[i], &claim) != NULL)
			continue;
		if (host_meets(&h, &claim))
			break;
		if (h.kind != HOST_CIDR && claim.kind == HOST_CIDR &&
		    scope_meets(s, &claim))
			break;
	}
	if (a->word_n > 0 && i == a->word_n)
		return false;
	never_example(a->ret, w->at, w->text);
	return true;
}

bool
net_breached(struct never_request *a)
{
	const struct stmt *s;
	size_t i, k;

	for (i = 0; i < a->server->stmt_n; i++) {
		s = &a->server->stmt[i];
		if (s->kw != KW_NET || !never_gives(a, s) || !to_meets(a, s))
			continue;
		for (k = 0; k < s->word_n; k++)
			if (host_breached(a, s, &s->word[k]))
				return true;
	}
	return false;
}
