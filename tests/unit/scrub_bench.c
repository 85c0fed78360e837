/*
 * How fast the scrubber is: 64 MiB through 64 values, the best of five turns,
 * beside a copy of the same bytes.  A table for people, not a timed test.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "leash/scrub/scrub.h"
#include "leash/vault/vault.h"
#include "tests/unit/scrub_bench.h"

static double
now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* others may run beside */
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
bench_one(const char *name, struct scrub *s, const char *text, size_t len, size_t piece)
{
	struct scrub_stream *st;
	struct buf out;
	double t, best = 1e9;
	size_t i;
	int turn;

	buf_init(&out, len * 2 + 64);
	(void)buf_reserve(&out, len * 2);
	memset(out.data, 1, len * 2);
	for (turn = 0; turn < 5; turn++) {
		buf_clear(&out);
		if (s != NULL && scrub_stream_new(s, &st) < 0)
			exit(1);
		t = now();
		for (i = 0; i < len; i += piece) {
			size_t n = len - i < piece ? len - i : piece;

			if (s == NULL)
				(void)buf_put(&out, text + i, n);
			else if (scrub_feed(st, text + i, n, &out) < 0)
				exit(1);
		}
		if (s != NULL)
			(void)scrub_flush(st, &out);
		t = now() - t;
		best = t < best ? t : best;
		if (s != NULL)
			scrub_stream_free(st);
	}
	printf("%-34s %7.2f GB/s\n", name, (double)len / best / 1e9);
	buf_free(&out);
}

static struct scrub *
bench_learn(struct vault *v, size_t len, char keep[64])
{
	struct scrub *s;
	struct secret *one;
	char value[128], name[16];
	struct reason why;
	size_t i, c;

	if (scrub_new(&s) < 0)
		exit(1);
	for (i = 0; i < 64; i++) {
		for (c = 0; c < len; c++)
			value[c] = "ABCDEFGHIJKLMNOPabcdefghijklmnop0123456789"
			    [(unsigned int)random() % 42];
		value[len] = '\0';
		(void)snprintf(name, sizeof(name), "KENNEL_B%zu%zu", len, i);
		(void)setenv(name, value, 1);
		if (secret_from_env(v, name, &one, &why) < 0 ||
		    scrub_learn(s, one, (uint32_t)i) < 0)
			exit(1);
		(void)snprintf(keep, 64, "%s", value);
	}
	return s;
}

int
scrub_bench(void)
{
	static const char row[] =
	    "{\"id\":4711,\"name\":\"a folder of some "
	    "kind\",\"size\":123456,\"tags\":[\"one\","
	    "\"two\"],\"text\":\"The quick brown fox jumps over the lazy dog again\"},";
	size_t len = (size_t)64 << 20, i;
	struct vault *v;
	struct scrub *forty, *twelve, *eight;
	char *plain = malloc(len), *lines = malloc(len), *near = malloc(len);
	char keep[64], keep12[64], keep8[64];

	if (plain == NULL || lines == NULL || near == NULL || vault_new(1 << 20, &v) < 0)
		return 1;
	forty = bench_learn(v, 40, keep);
	twelve = bench_learn(v, 12, keep12);
	eight = bench_learn(v, 8, keep8);
	for (i = 0; i < len; i++) {
		plain[i] = row[i % (sizeof(row) - 1)];
		near[i] = keep[i % 39];
		lines[i] = i % 60 == 58 ? '\\' : i % 60 == 59 ? 'n' : plain[i];
	}
	bench_one("memcpy, 64 KiB pieces", NULL, plain, len, 65536);
	bench_one("JSON, 64 x 40 bytes", forty, plain, len, 65536);
	bench_one("JSON, 64 x 40 bytes, 1 MiB pieces", forty, plain, len, 1 << 20);
	bench_one("JSON, 64 x 40 bytes, 4 KiB pieces", forty, plain, len, 4096);
	bench_one("JSON, 64 x 12 bytes", twelve, plain, len, 65536);
	bench_one("JSON, 64 x 8 bytes", eight, plain, len, 65536);
	bench_one("JSON with \\n each 60, 64 x 40", forty, lines, len, 65536);
	bench_one("near misses, 64 x 40 bytes", forty, near, len, 65536);
	scrub_free(forty);
	scrub_free(twelve);
	scrub_free(eight);
	vault_free(v);
	free(plain);
	free(lines);
	free(near);
	return 0;
}
