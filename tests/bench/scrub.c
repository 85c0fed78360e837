/*
 * How fast the scrubber is, beside a copy of the same bytes, plain Aho-Corasick
 * and, where it was there to be linked, Hyperscan; all in one run, in turns.
 * Times are of the thread's processor: others may run beside.
 *
 *	scrub [MEGABYTES]
 *	scrub --growth	by the number of secrets (bench-growth)
 *
 * Cold: the text is larger than every cache, what comes out goes into 64 KiB
 * that stay warm, as a pipe's buffer does; a copy is given the same.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "leash/scrub/private.h"
#include "leash/scrub/scrub.h"
#include "leash/vault/vault.h"
#include "shim/base/array.h"

#ifdef HAVE_HS
#include <hs/hs.h>
#endif

#define TURNS  9
#define PIECE  ((size_t)64 << 10)
#define SECRET 40 /* bytes of one value */

static double
now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
need(int ok, const char *what)
{
	if (ok)
		return;
	(void)fprintf(stderr, "scrub: %s\n", what);
	exit(1);
}

/* ---- values ------------------------------------------------------------------------ */

struct kit {
	struct vault *vault;
	struct scrub *scrub;
	char last[SECRET + 1];
};

static void
kit_open(struct kit *k, int values)
{
	struct secret *one;
	struct reason why;
	int i, c;

	need(vault_new(1 << 20, &k->vault) == 0, "no locked memory");
	need(scrub_new(&k->scrub) == 0, "no memory");
	for (i = 0; i < values; i++) {
		char name[32];

		for (c = 0; c < SECRET; c++)
			k->last[c] = "ABCDEFGHIJKLMNOPabcdefghijklmnop0123456789"
			    [(unsigned int)random() % 42];
		(void)snprintf(name, sizeof(name), "KENNEL_B%d_%d", values, i);
		(void)setenv(name, k->last, 1);
		need(secret_from_env(k->vault, name, &one, &why) == 0, why.text);
		need(scrub_learn(k->scrub, one, (uint32_t)i) == 0, "not learned");
	}
}

/* ---- Aho-Corasick, as it is in books: one state a byte ------------------------------- */

struct ac {
	int32_t *next; /* [states][256] */
	uint8_t *is_end;
	size_t n, hits;
};

static void
ac_add(struct ac *a, const uint8_t *p, size_t len)
{
	int32_t at = 0;

	for (size_t i = 0; i < len; i++) {
		int32_t *to = &a->next[(size_t)at * 256 + p[i]];

		if (*to == 0)
			*to = (int32_t)a->n++;
		at = *to;
	}
	a->is_end[at] = 1;
}

static void
ac_make(struct ac *a, const struct scrub *s)
{
	int32_t *fail, *queue;
	size_t all = 1, head = 0, tail = 0, i;

	for (i = 0; i < s->pattern_n; i++)
		all += s->pattern[i].len;
	a->next = calloc(all * 256, sizeof(*a->next));
	a->is_end = calloc(all, 1);
	fail = calloc(all, sizeof(*fail));
	queue = calloc(all, sizeof(*queue));
	need(a->next && a->is_end && fail && queue, "no memory");
	a->n = 1;
	for (i = 0; i < s->pattern_n; i++)
		ac_add(a, s->pattern[i].data, s->pattern[i].len);
	queue[tail++] = 0;
	while (head < tail) {
		int32_t at = queue[head++];

		for (int c = 0; c < 256; c++) {
			int32_t *to = &a->next[(size_t)at * 256 + (size_t)c];
			int32_t back =
			    at == 0 ? 0 : a->next[(size_t)fail[at] * 256 + (size_t)c];

			if (*to == 0) {
				*to = back;
				continue;
			}
			fail[*to] = back;
			a->is_end[*to] |= a->is_end[back];
			queue[tail++] = *to;
		}
	}
	free(fail);
	free(queue);
}

static void
ac_find(struct ac *a, const uint8_t *text, size_t n)
{
	size_t at = 0, i;

	for (i = 0; i < n; i++) {
		at = (size_t)a->next[at * 256 + text[i]];
		a->hits += a->is_end[at];
	}
}

/* ---- Hyperscan ------------------------------------------------------------------------- */

#ifdef HAVE_HS
struct hyper {
	hs_database_t *db;
	hs_scratch_t *scratch;
	size_t hits;
};

static int
hs_hit(unsigned int id, unsigned long long from, unsigned long long to,
    unsigned int flags, void *arg)
{
	++*(size_t *)arg;
	return 0;
}

static void
hs_make(struct hyper *h, const struct scrub *s)
{
	size_t n = s->pattern_n, *len = calloc(n, sizeof(*len));
	const char **p = calloc(n, sizeof(*p));
	unsigned int *flags = calloc(n, sizeof(*flags)), *id = calloc(n, sizeof(*id));
	hs_compile_error_t *error = NULL;

	need(len && p && flags && id, "no memory");
	for (size_t i = 0; i < n; i++) {
		p[i] = (const char *)s->pattern[i].data;
		len[i] = s->pattern[i].len;
		flags[i] = s->pattern[i].fold ? HS_FLAG_CASELESS : 0;
		id[i] = (unsigned int)i;
	}
	need(hs_compile_lit_multi(p, flags, id, len, (unsigned int)n, HS_MODE_BLOCK, NULL,
		 &h->db, &error) == HS_SUCCESS,
	    "Hyperscan does not take the patterns");
	need(hs_alloc_scratch(h->db, &h->scratch) == HS_SUCCESS, "no memory");
	free(len);
	free(p);
	free(flags);
	free(id);
}
#endif

/* ---- texts ------------------------------------------------------------------------------ */

static const char row[] =
    "{\"id\":4711,\"name\":\"a folder of some kind\",\"size\":123456,\"tags\":[\"one\","
    "\"two\"],\"text\":\"The quick brown fox jumps over the lazy dog again\"},";

static void
json_text(char *to, size_t len)
{
	for (size_t i = 0; i < len; i++)
		to[i] = row[i % (sizeof(row) - 1)];
}

static void
escaped_text(char *to, size_t len)
{
	json_text(to, len);
	for (size_t i = 60; i + 1 < len; i += 60) {
		to[i] = '\\';
		to[i + 1] = i % 120 == 0 ? 'n' : '"';
	}
}

static void
blob_text(char *to, size_t len)
{
	static const char chars[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint64_t x = 88172645463325252u;

	json_text(to, len);
	for (size_t i = 0; i < len; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		if (i % 4096 >= 200 && i % 4096 != 4095)
			to[i] = chars[x >> 20 & 63];
		else if (i % 4096 == 4095)
			to[i] = '"';
	}
}

static char near[SECRET];

static void
near_text(char *to, size_t len)
{
	for (size_t i = 0; i < len; i++)
		to[i] = near[i % (SECRET - 1)];
}

/* ---- measuring ---------------------------------------------------------------------------- */

enum method { COPY, SCRUB, AHO, HYPER, METHODS };

struct bench {
	struct kit *kit;
	struct ac ac;
#ifdef HAVE_HS
	struct hyper hyper;
#endif
	struct buf out;
};

/* What a copy costs at its best: where a buffer happens to lie halves its speed. */
static void
copy_out(const uint8_t *from, size_t n)
{
	static uint8_t to[PIECE] __attribute__((aligned(4096)));

	need(n <= sizeof(to), "a piece too large");
	memcpy(to, from, n);
	__asm__ volatile("" ::"r"(to)
			 : "memory"); /* it is made, though nobody reads it */
}

static void
turn(struct bench *b, enum method m, const char *text, size_t len, size_t piece)
{
	struct scrub_stream *st = NULL;
	size_t i, n;

	need(m != SCRUB || scrub_stream_new(b->kit->scrub, &st) == 0, "no stream");
	for (i = 0; i < len; i += piece) {
		const uint8_t *at = (const uint8_t *)text + i;

		n = len - i < piece ? len - i : piece;
		buf_clear(&b->out);
		if (m == COPY)
			copy_out(at, n);
		else if (m == SCRUB)
			need(scrub_message(st, at, n, &b->out) == 0, "full");
		else if (m == AHO)
			ac_find(&b->ac, at, n);
#ifdef HAVE_HS
		else
			(void)hs_scan(b->hyper.db, (const char *)at, (unsigned int)n, 0,
			    b->hyper.scratch, hs_hit, &b->hyper.hits);
#endif
	}
	scrub_stream_free(st);
}

static double
timed(struct bench *b, enum method m, const char *text, size_t len, size_t piece)
{
	double t = now();

	turn(b, m, text, len, piece);
	return now() - t;
}

static double
least(double a, double b)
{
	return a < b ? a : b;
}

static double
best(struct bench *b, enum method m, const char *text, size_t len, size_t piece)
{
	double best = 1e9;

	for (int i = 0; i < TURNS; i++)
		best = least(best, timed(b, m, text, len, piece));
	return best;
}

/* Copy and scrubber in turns, so that who runs beside takes from both. */
static void
pair(struct bench *b, const char *text, size_t len, size_t piece, double *ret_copy,
    double *ret_scrub)
{
	*ret_copy = *ret_scrub = 1e9;
	for (int i = 0; i < TURNS; i++) {
		*ret_copy = least(*ret_copy, timed(b, COPY, text, len, piece));
		*ret_scrub = least(*ret_scrub, timed(b, SCRUB, text, len, piece));
	}
}

static void
line(struct bench *b, const char *name, const char *text, size_t len)
{
	double copy, scrub, aho;

	pair(b, text, len, PIECE, &copy, &scrub);
	aho = best(b, AHO, text, len / 16, PIECE) * 16;
	printf("| %s | %.1f | %.1f | %.2f |", name, (double)len / copy / 1e9,
	    (double)len / scrub / 1e9, copy / scrub);
#ifdef HAVE_HS
	printf(" %.1f |", (double)len / best(b, HYPER, text, len, PIECE) / 1e9);
#else
	printf(" not here |");
#endif
	printf(" %.2f |\n", (double)len / aho / 1e9);
}

static void
small(struct bench *b, const char *text)
{
	size_t len = (size_t)4 << 20;
	double copy, scrub;

	pair(b, text, len, 4096, &copy, &scrub);
	printf("\nA message of 4 KB: %.2f µs, of which a copy is %.2f (goal: 1 added).\n",
	    scrub / 1024 * 1e6, copy / 1024 * 1e6);
}

static void
many(struct bench *b, const char *text, size_t len)
{
	static struct kit more;
	struct bench c = {.kit = &more};
	double few = 1e9, lots = 1e9, t;

	buf_init(&c.out, PIECE * 4);
	kit_open(&more, 512);
	t = timed(&c, SCRUB, text, 1, PIECE);
	for (int i = 0; i < TURNS; i++) {
		few = least(few, timed(b, SCRUB, text, len, PIECE));
		lots = least(lots, timed(&c, SCRUB, text, len, PIECE));
	}
	printf("\nWith 512 secrets: %.1f GB/s, %.2f × that with 64 (goal: 0.6); their "
	       "tables take %.1f ms.\n",
	    (double)len / lots / 1e9, few / lots, t * 1e3);
	buf_free(&c.out);
}

/* For bench-growth: "secrets ms ms", of the text and of the tables. */
static void
growth(void)
{
	static const int counts[] = {1, 4, 16, 64, 256, 512};
	static struct kit kits[ARRAY_LEN(counts)];
	size_t len = (size_t)64 << 20;
	char *text = aligned_alloc(4096, len);

	need(text != NULL, "no memory");
	json_text(text, len);
	for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
		struct bench b = {.kit = &kits[i]};
		double tables, best = 1e9;

		buf_init(&b.out, PIECE * 4);
		kit_open(&kits[i], counts[i]);
		tables = timed(&b, SCRUB, text, 1, PIECE);
		for (int k = 0; k < TURNS; k++)
			best = least(best, timed(&b, SCRUB, text, len, PIECE));
		printf("%d %.3f %.3f\n", counts[i], best * 1e3, tables * 1e3);
		buf_free(&b.out);
	}
	free(text);
}

int
main(int argc, char **argv)
{
	static struct kit kit, one;
	struct bench b = {.kit = &kit};
	size_t len = (size_t)(argc > 1 ? atoi(argv[1]) : 256) << 20;
	char *text;
	double t;

	if (argc > 1 && strcmp(argv[1], "--growth") == 0) {
		growth();
		return 0;
	}
	text = aligned_alloc(4096, len);
	need(text != NULL && len > 0, "no memory");
	buf_init(&b.out, PIECE * 4);
	kit_open(&kit, 64);
	memcpy(near, kit.last, SECRET);
	json_text(text, len);
	turn(&b, SCRUB, text, 1, PIECE);
	ac_make(&b.ac, kit.scrub);
	printf("## Scrubbing, 64 secrets of %d bytes in all their forms (%zu patterns), "
	       "cold "
	       "%zu MB, GB/s\n\n| text | memcpy | kennel | × memcpy | Hyperscan | "
	       "Aho-Corasick |\n| --- | --- | --- | --- | --- | --- |\n",
	    SECRET, kit.scrub->pattern_n, len >> 20);
#ifdef HAVE_HS
	hs_make(&b.hyper, kit.scrub);
#endif
	line(&b, "JSON", text, len);
	small(&b, text);
	many(&b, text, len);
	blob_text(text, len);
	printf("\n| text | memcpy | kennel | × memcpy | Hyperscan | Aho-Corasick |\n"
	       "| --- | --- | --- | --- | --- | --- |\n");
	line(&b, "JSON with blobs of base64", text, len);
	escaped_text(text, len);
	line(&b, "JSON in JSON: an escape each 60 bytes", text, len);
	near_text(text, len);
	line(&b, "nearly a secret, over and over", text, len);
	kit_open(&one, 3);
	b.kit = &one;
	t = now();
	turn(&b, SCRUB, text, 1, PIECE);
	t = now() - t;
	printf("\nThe tables of 3 secrets take %.3f ms. Goals: 0.7 × memcpy on JSON, 0.6 "
	       "with "
	       "blobs, 1 GB/s on near misses.\n\n",
	    t * 1e3);
	return 0;
}
