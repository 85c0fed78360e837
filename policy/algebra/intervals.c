/*
 * Sets that are unions of prefixes or intervals: paths, host names, addresses,
 * ports.  The longest mentioned prefix decides, or the interval between two
 * bounds: one point of each is enough.
 */
#include "policy/algebra/algebra.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
points_add(struct points *p, const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		if (strlen(p->v[i]) == len && memcmp(p->v[i], text, len) == 0)
			return;
	points_push(p, text, len);
}

void
points_push(struct points *p, const char *text, size_t len)
{
	size_t cap = p->cap == 0 ? 16 : 2 * p->cap;
	char **grown;

	if (p->n == p->cap) {
		/* NOLINTNEXTLINE(bugprone-sizeof-expression): its elements are pointers */
		grown = realloc(p->v, cap * sizeof(*grown));
		if (grown == NULL) {
			p->failed = true;
			return;
		}
		p->v = grown;
		p->cap = cap;
	}
	p->v[p->n] = strndup(text, len);
	if (p->v[p->n] == NULL)
		p->failed = true;
	else
		p->n++;
}

void
points_free(struct points *p)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		free(p->v[i]);
	free(p->v);
	memset(p, 0, sizeof(*p));
}

/* ---- prefixes -------------------------------------------------------------------- */

/* A component that occurs in none of the mentioned texts. */
static void
fresh_part(const struct points *mentioned, char out[32])
{
	size_t i;
	int n;

	for (n = 0;; n++) {
		(void)snprintf(out, 32, n == 0 ? "any" : "any%d", n);
		for (i = 0; i < mentioned->n; i++)
			if (strstr(mentioned->v[i], out) != NULL)
				break;
		if (i == mentioned->n)
			return;
	}
}

static int
points_done(struct points *made, struct points *ret)
{
	if (made->failed) {
		points_free(made);
		return -ENOMEM;
	}
	*ret = *made;
	return 0;
}

static void
add_joined(struct points *p, const char *a, const char *mark, const char *b)
{
	size_t len = strlen(a) + strlen(mark) + strlen(b);
	char *text = malloc(len + 1);

	if (text == NULL) {
		p->failed = true;
		return;
	}
	(void)snprintf(text, len + 1, "%s%s%s", a, mark, b);
	points_add(p, text, len);
	free(text);
}

int
points_paths(const struct points *mentioned, struct points *ret)
{
	struct points made = {.n = 0};
	char part[32];
	size_t i;

	fresh_part(mentioned, part);
	for (i = 0; i < mentioned->n; i++) {
		points_add(&made, mentioned->v[i], strlen(mentioned->v[i]));
		add_joined(&made,
		    strcmp(mentioned->v[i], "/") == 0 ? "" : mentioned->v[i], "/", part);
	}
	add_joined(&made, "", "/", part);
	return points_done(&made, ret);
}

int
points_hosts(const struct points *mentioned, struct points *ret)
{
	struct points made = {.n = 0};
	char part[32];
	size_t i;

	fresh_part(mentioned, part);
	for (i = 0; i < mentioned->n; i++) {
		points_add(&made, mentioned->v[i], strlen(mentioned->v[i]));
		add_joined(&made, part, ".", mentioned->v[i]);
	}
	add_joined(&made, part, ".", "example");
	return points_done(&made, ret);
}

/* ---- intervals ------------------------------------------------------------------- */

/* Increments the address; true on overflow. */
static bool
address_next(uint8_t a[16])
{
	int i;

	for (i = 15; i >= 0; i--)
		if (++a[i] != 0)
			return false;
	return true;
}

static void
add_address(struct points *p, const uint8_t a[16])
{
	static const uint8_t v4[12] = {[10] = 0xff, [11] = 0xff};
	bool mapped = memcmp(a, v4, sizeof(v4)) == 0;
	char text[INET6_ADDRSTRLEN];

	if (inet_ntop(mapped ? AF_INET : AF_INET6, mapped ? a + 12 : a, text,
		sizeof(text)) != NULL)
		points_add(p, text, strlen(text));
}

int
points_addresses(const struct points_range *range, size_t n, struct points *ret)
{
	static const uint8_t v4[16] = {[10] = 0xff, [11] = 0xff};
	static const uint8_t behind_v4[16] = {[9] = 1};
	static const uint8_t zero[16] = {0};
	struct points made = {.n = 0};
	uint8_t next[16];
	size_t i;

	add_address(&made, zero);
	add_address(&made, v4);
	add_address(&made, behind_v4);
	for (i = 0; i < n; i++) {
		add_address(&made, range[i].first);
		memcpy(next, range[i].last, sizeof(next));
		if (!address_next(next))
			add_address(&made, next);
	}
	return points_done(&made, ret);
}

static int
u32_order(const void *va, const void *vb)
{
	const uint32_t *a = va, *b = vb;

	return *a < *b ? -1 : *a > *b;
}

int
points_ports(const uint32_t (*range)[2], size_t n, uint32_t **ret, size_t *ret_n)
{
	uint32_t *v = malloc((2 * n + 1) * sizeof(*v));
	size_t i, k = 0, put = 0;

	if (v == NULL)
		return -ENOMEM;
	v[k++] = 1;
	for (i = 0; i < n; i++) {
		v[k++] = range[i][0];
		if (range[i][1] < 65535)
			v[k++] = range[i][1] + 1;
	}
	qsort(v, k, sizeof(*v), u32_order);
	for (i = 0; i < k; i++)
		if (put == 0 || v[put - 1] != v[i])
			v[put++] = v[i];
	*ret = v;
	*ret_n = put;
	return 0;
}
