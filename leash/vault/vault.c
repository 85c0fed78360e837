/*
 * The vault: a stack of values in locked pages.  Values are freed only together,
 * when the vault is wiped and unmapped; the newest one may be wiped before.  A vault
 * lives as long as its server.
 *
 * Process: the leash.  Holds every secret of one server.  Must never copy a value
 * out of the pages, except into other memory of the same vault.
 */
#include <errno.h>
#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "leash/vault/private.h"

#define ALIGN 16

struct vault {
	uint8_t *page;
	size_t len;  /* usable bytes */
	size_t used; /* of them, from the front */
	struct secret *newest;
	vault_judge_fn *judge; /* NULL: no path is checked */
	void *judge_arg;
};

int
vault_new(size_t bytes_max, struct vault **ret)
{
	struct vault *v;
	void *page;
	int r;

	v = calloc(1, sizeof(*v));
	if (v == NULL)
		return -ENOMEM;
	r = pages_new(bytes_max, &page, &v->len);
	if (r < 0) {
		free(v);
		return r;
	}
	v->page = page;
	*ret = v;
	return 0;
}

void
vault_free(struct vault *v)
{
	if (v == NULL)
		return;
	pages_free(v->page, v->len, v->used);
	free(v);
}

void
vault_judge(struct vault *v, vault_judge_fn *fn, void *arg)
{
	v->judge = fn;
	v->judge_arg = arg;
}

const char *
vault_judged(const struct vault *v, const char *path)
{
	return v->judge == NULL ? NULL : v->judge(v->judge_arg, path);
}

void
vault_wipe(void *at, size_t len)
{
	sodium_memzero(at, len);
}

void *
vault_scratch(struct vault *v, size_t len)
{
	void *at;

	if (len > v->len - v->used || len + ALIGN - 1 < len)
		return NULL;
	at = v->page + v->used;
	len = (len + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	/* The page count is a multiple of ALIGN, so the rounding fits too. */
	v->used += len;
	return at;
}

void
vault_scratch_end(struct vault *v, void *at, size_t written)
{
	vault_wipe(at, written);
	v->used = (size_t)((uint8_t *)at - v->page);
}

bool
vault_holds(const struct vault *v, const void *p, size_t len)
{
	uintptr_t at = (uintptr_t)p, page = (uintptr_t)v->page;

	return at >= page && at - page <= v->len && len <= v->len - (at - page);
}

char *
vault_name(struct vault *v, const char *name)
{
	size_t len = strlen(name) + 1;
	char *at = vault_scratch(v, len);

	if (at != NULL)
		memcpy(at, name, len);
	return at;
}

/* ---- one value at a time ------------------------------------------------- */

int
value_open(struct vault *v, struct secret **ret, size_t *ret_cap)
{
	struct secret *s = (struct secret *)(v->page + v->used);
	/* Room for the trailing newline, which is dropped, and for one more byte,
	 * which shows that the value is too big. */
	size_t cap = VAULT_VALUE_MAX + 2, rest = v->len - v->used;

	if (rest < sizeof(*s) + VAULT_VALUE_MIN + 1)
		return -ENOMEM;
	rest -= sizeof(*s) + 1;
	*ret_cap = cap < rest ? cap : rest;
	*ret = s;
	return 0;
}

void
value_drop(struct vault *v, struct secret *s, size_t written)
{
	vault_wipe(s, sizeof(*s) + written);
}

int
value_close(struct vault *v, struct secret *s, size_t len, const char **ret_what)
{
	int r = 0;

	if (len == 0) {
		*ret_what = "is empty";
		r = -ENOENT;
	} else if (memchr(s->bytes, '\0', len) != NULL) {
		*ret_what = "contains a NUL byte";
		r = -EINVAL;
	} else if (len < VAULT_VALUE_MIN) {
		*ret_what = "is too short to be redacted from the output";
		r = -EINVAL;
	} else if (len > VAULT_VALUE_MAX) {
		*ret_what = "is bigger than 64 KiB";
		r = -EFBIG;
	}
	if (r < 0) {
		value_drop(v, s, len);
		return r;
	}
	s->vault = v;
	s->variable = NULL;
	s->len = len;
	s->bytes[len] = '\0';
	s->next = v->newest;
	v->newest = s;
	(void)vault_scratch(v, sizeof(*s) + len + 1); /* value_open checked the room */
	return 0;
}

void
secret_drop(struct vault *v, struct secret *s)
{
	size_t len = s->len;

	s->len = 0;
	s->variable = NULL;
	if (v->newest != s) {
		vault_wipe(s->bytes, len);
		return;
	}
	v->newest = s->next;
	v->used = (size_t)((uint8_t *)s - v->page); /* names come before their value */
	value_drop(v, s, len);
}

struct secret *
value_of_variable(struct vault *v, const char *variable)
{
	struct secret *s;

	for (s = v->newest; s != NULL; s = s->next)
		if (s->variable != NULL && strcmp(s->variable, variable) == 0)
			return s;
	return NULL;
}

/* ---- accessors ----------------------------------------------------------- */

size_t
secret_len(const struct secret *s)
{
	return s->len;
}

bool
secret_equals(const struct secret *s, const void *bytes, size_t len)
{
	return len == s->len && sodium_memcmp(s->bytes, bytes, len) == 0;
}

bool
secret_same(const struct secret *a, const struct secret *b)
{
	return secret_equals(a, b->bytes, b->len);
}

const char *
secret_expose(const struct secret *s)
{
	return s->bytes;
}
