/*
 * The pass that prefilter.h describes: its tables, its portable walker, and the
 * handling of texts shorter than a chunk.
 *
 * Process: the leash.  Trusts: nothing; its input is untrusted.
 */
#include <stdlib.h>

#include "leash/scrub/private.h"

#define LONG_MIN  16 /* bytes; patterns from this length on use long runs */
#define LANES_MIN 2  /* 23 bytes of "73:33:..." fill two, at any alignment */

/* TRIAGE_BACKSLASH to TRIAGE_LINE: \ % & = and newline, carriage return. */
static const struct halves signs = {
    .low = {[5] = 2, [6] = 4, [0xa] = 16, [0xc] = 1, [0xd] = 8 | 16},
    .high = {[0] = 16, [2] = 2 | 4, [3] = 8, [5] = 1}};

/* The bytes of hex with separators.  1: space , - . " '  2: : ;  4: x X |  8: \ _ 16:
 * tab and line ends.  32: digits.  64: a to f.  128: n r t (of escaped line ends and
 * tabs). */
static const struct halves paired = {.low = {[0] = 1 | 32,
					 [1] = 32 | 64,
					 [2] = 1 | 32 | 64 | 128,
					 [3] = 32 | 64,
					 [4] = 32 | 64 | 128,
					 [5] = 32 | 64,
					 [6] = 32 | 64,
					 [7] = 1 | 32,
					 [8] = 4 | 32,
					 [9] = 16 | 32,
					 [0xa] = 2 | 16,
					 [0xb] = 2,
					 [0xc] = 1 | 4 | 8,
					 [0xd] = 1 | 16,
					 [0xe] = 1 | 128,
					 [0xf] = 8},
    .high = {[0] = 16,
	[2] = 1,
	[3] = 2 | 32,
	[4] = 64,
	[5] = 4 | 8,
	[6] = 64 | 128,
	[7] = 4 | 128}};

static uint8_t
class_of(const struct halves *h, size_t c)
{
	return h->low[c & 15] & h->high[c >> 4];
}

/* ---- the tables ---------------------------------------------------------------- */

static void
net_best(struct net *net)
{
	int kind = SIEVE_KINDS;

	do
		kind--;
	while (!net_walks(net, kind));
}

void
net_init(struct net *net)
{
	size_t c, pair;

	net->signs = signs;
	net->paired = paired;
	net->q = SIEVE_LONG;
	for (c = 0; c < sizeof(net->class); c++) {
		pair = class_of(&paired, c);
		net->class[c] = class_of(&signs, c);
		net->class[c] |= pair == 0 ? CLASS_OTHER : 0;
	}
	credentials_hooks(net);
	net->lanes_min = LANES_MIN;
	net->runs = RUNS_LONG;
	net_best(net);
}

void
net_plan(struct net *net, size_t len_min, size_t hex_min)
{
	size_t apart;

	net->q = len_min >= LONG_MIN ? SIEVE_LONG : SIEVE_SHORT;
	apart = len_min - net->q + 1;
	if (apart > STEP_USUAL)
		apart = STEP_USUAL;
	/* The fewest runs, then the smallest distance for that number.  The last run
	 * begins at most 17 bytes after the chunk: SIEVE_BEYOND is larger. */
	net->run_n = (SIEVE_CHUNK + apart - 1) / apart;
	net->run_n = (net->run_n + SIEVE_UNROLL - 1) / SIEVE_UNROLL * SIEVE_UNROLL;
	net->step = (SIEVE_CHUNK + net->run_n - 1) / net->run_n;
	net->runs = net->q == SIEVE_SHORT     ? RUNS_SHORT
		    : net->step == STEP_USUAL ? RUNS_USUAL
					      : RUNS_LONG;
	net->lanes_min = LANES_MIN;
	if (hex_min != SIZE_MAX && hex_min / SIEVE_LANE - 1 > LANES_MIN)
		net->lanes_min = (uint32_t)(hex_min / SIEVE_LANE - 1);
	net_best(net);
}

/* ---- scanning ------------------------------------------------------------------ */

static bool
has_hook(const struct net *net, const uint8_t *at)
{
	unsigned int groups = net->hook[0][at[0] & 127];

	groups &= net->hook[1][at[1] & 127];
	groups &= net->hook[2][at[2] & 127];
	return groups != 0 && ((at[0] | at[1] | at[2]) & 128) == 0;
}

static size_t
walk_plain(
    const struct net *net, const uint8_t *text, size_t at, size_t end, struct sieve *s)
{
	for (; at < end; at += SIEVE_CHUNK) {
		uint8_t some = 0;
		uint32_t full = 0;
		bool stop;

		s->run = sieve_runs(
		    net, text + at, net->q == SIEVE_LONG ? RUNS_LONG : RUNS_SHORT);
		stop = s->run;
		memset(s->hook, 0, sizeof(s->hook));
		for (size_t i = 0; i < SIEVE_CHUNK; i++) {
			uint8_t c = text[at + i],
				class = c < 128 ? net->class[c] : CLASS_OTHER;

			some |= class;
			if (i % SIEVE_LANE == SIEVE_LANE - 1) {
				if ((some & CLASS_OTHER) == 0)
					full |= 1u << i / SIEVE_LANE;
				s->flags |= some & TRIAGE_SIGNS;
				some = 0;
			}
			if (!has_hook(net, text + at + i))
				continue;
			s->hook[i / 64] |= 1ull << i % 64;
			stop = true;
		}
		s->lanes = sieve_lanes(net, full, s->lanes, &s->flags);
		if (stop)
			return at;
	}
	return at;
}

bool
net_walks(struct net *net, enum sieve_kind kind)
{
	sieve_walker *walk = walk_plain;

	if (kind != SIEVE_PLAIN)
		walk = sieve_wide(kind, net->runs);
	if (walk != NULL)
		net->walk = walk;
	return walk != NULL;
}

/* The end of a text, padded with zeros, which are in none of the tables. */
static size_t
next_of_rest(
    const struct net *net, const uint8_t *text, size_t n, size_t at, struct sieve *s)
{
	uint8_t rest[3 * SIEVE_CHUNK] = {0};
	size_t whole = (n - at + SIEVE_CHUNK - 1) / SIEVE_CHUNK * SIEVE_CHUNK;

	memcpy(rest, text + at, n - at);
	return at + net->walk(net, rest, 0, whole, s);
}

size_t
sieve_next(
    const struct net *net, const uint8_t *text, size_t n, size_t at, struct sieve *s)
{
	size_t whole = 0;

	if (n > SIEVE_BEYOND)
		whole = (n - SIEVE_BEYOND) / SIEVE_CHUNK * SIEVE_CHUNK;
	if (at < whole)
		at = net->walk(net, text, at, whole, s);
	if (at < whole || at >= n)
		return at;
	return next_of_rest(net, text, n, at, s);
}

size_t
sieve_line(const uint8_t *text, size_t n, size_t at)
{
	at = sieve_wide_line(text, n, at);
	while (at < n && text[at] != '\n' && text[at] != '\r' && text[at] != '\\')
		at++;
	return at;
}
