/*
 * One value, a text, and the scrubber between them: for the tests of forms and of
 * credentials.
 */
#ifndef KENNEL_TESTS_UNIT_SCRUB_KIT_H
#define KENNEL_TESTS_UNIT_SCRUB_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "leash/scrub/private.h"
#include "leash/scrub/scrub.h"
#include "leash/vault/vault.h"

#define TEXT_MAX 16384

struct text {
	uint8_t byte[TEXT_MAX];
	size_t n;
};

static inline void
put(struct text *t, int c)
{
	assert_true(t->n < TEXT_MAX);
	t->byte[t->n++] = (uint8_t)c;
}

static inline void
puts_to(struct text *t, const char *s)
{
	while (*s != '\0')
		put(t, *s++);
}

struct kit {
	struct vault *vault;
	struct scrub *scrub;
	uint8_t value[256];
	size_t n, characters;
};

static inline void
kit_open(struct kit *k, const char *value)
{
	struct scrub_stream *st;
	struct secret *s;
	struct reason why;

	assert_int_equal(vault_new(1u << 16, &k->vault), 0);
	assert_int_equal(scrub_new(&k->scrub), 0);
	assert_int_equal(setenv("KENNEL_F", value, 1), 0);
	assert_int_equal(secret_from_env(k->vault, "KENNEL_F", &s, &why), 0);
	assert_int_equal(scrub_learn(k->scrub, s, 0), 0);
	k->n = strlen(value);
	for (size_t i = k->characters = 0; i < k->n; i++)
		k->characters += ((uint8_t)value[i] & 0xc0) != 0x80;
	memcpy(k->value, value, k->n);
	assert_int_equal(scrub_stream_new(k->scrub, &st), 0); /* makes the tables */
	scrub_stream_free(st);
}

static inline void
kit_close(struct kit *k)
{
	scrub_free(k->scrub);
	vault_free(k->vault);
}

static inline void
through(struct kit *k, const struct text *t, size_t cut, size_t second, struct buf *out)
{
	struct scrub_stream *st;

	buf_clear(out);
	assert_int_equal(scrub_stream_new(k->scrub, &st), 0);
	assert_int_equal(scrub_feed(st, t->byte, cut, out), 0);
	assert_int_equal(scrub_feed(st, t->byte + cut, second - cut, out), 0);
	assert_int_equal(scrub_message(st, t->byte + second, t->n - second, out), 0);
	scrub_stream_free(st);
}

/* A text of ordinary letters with one thing in it at every place. */
static inline void
at_every_place(struct kit *k, const char *thing, const char *mask)
{
	static struct text t;
	struct buf out;
	size_t at, n = strlen(thing), len = strlen(mask), i;

	buf_init(&out, 1 << 20);
	for (at = 0; at < 2 * SIEVE_CHUNK + 40; at++) {
		t.n = 0;
		for (i = 0; i < at; i++)
			put(&t, i + 1 == at ? ' ' : (int)('a' + i * 7 % 26));
		puts_to(&t, thing);
		for (i = 0; i < SIEVE_CHUNK; i++)
			put(&t, i == 0 ? ' ' : (int)('a' + i * 5 % 26));
		through(k, &t, 0, 0, &out);
		if (out.len != t.n - n + len || memcmp(out.data + at, mask, len) != 0) {
			print_error(
			    "%s at %zu: %.*s\n", thing, at, (int)out.len, out.data);
			fail();
		}
	}
	buf_free(&out);
}

#endif
