/*
 * Two policies, separated by a line "%%".  If the comparison reports a narrower policy, the
 * new one permits no request that the old one asks about or denies, and asks about none
 * that the old one denies.  The requests are made from the rows of both policies, but not
 * as the comparison makes its own; both matchers answer them, and both filters are run.
 *
 * A byte-wise mutator hardly ever makes a text that compiles, so one of ours moves, copies
 * and changes lines.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/base/source.h"
#include "policy/compile/compile.h"
#include "policy/diff/diff.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"
#include "shim/base/buf.h"
#include "tests/fuzz/diff_requests.h"
#include "tests/fuzz/fuzz.h"

/* With more, the comparison takes longer than the fuzzer waits. */
#define TEXT_MAX  1200
#define CONDS_MAX 4
#define DAYS_MAX  3

#define SEPARATOR "\n%%\n"
#define FIRST_DAY 20500 /* before the dates of the texts */

/* libFuzzer's; not there where a corpus is only replayed. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t len, size_t max) __attribute__((weak));
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max, unsigned int seed);

/* The old and the new policy. */
struct sides {
	struct buf bytes[2];
	struct policy p[2];
	uint64_t seed;
};

/* ---- the texts --------------------------------------------------------------------- */

static size_t
count(const char *text, size_t len, const char *what)
{
	const char *end = text + len;
	size_t n = 0;

	while ((text = memmem(text, (size_t)(end - text), what, strlen(what))) != NULL) {
		text += strlen(what);
		n++;
	}
	return n;
}

/* 0: compiled into x.  The compiler looks at all files that a `write` grants: only at an
 * empty directory here. */
static int
compile(struct sides *x, int side, const char *text, size_t len)
{
	struct policy_source source = {.path = "fuzz", .text = text, .len = len};
	char why[200];
	int r;

	if (len > TEXT_MAX || count(text, len, "args") > CONDS_MAX ||
	    count(text, len, "until") > DAYS_MAX ||
	    count(text, len, "write") != count(text, len, "write /srv"))
		return -1;
	r = policy_compile(&source, 1, NULL, &x->bytes[side], NULL);
	if (r == 0 && policy_load_bytes(x->bytes[side].data, x->bytes[side].len,
			  &x->p[side], why, sizeof(why)) != 0)
		abort();
	x->p[side].today = FIRST_DAY;
	return r;
}

static void
compare(struct sides *x)
{
	const struct sealed_server *s[2];
	struct diff d;

	for (uint32_t i = 0; i < x->p[1].row_n[SEALED_SERVERS]; i++) {
		s[1] = &x->p[1].server[i];
		s[0] = policy_server(&x->p[0], policy_str(&x->p[1], s[1]->name));
		if (s[0] == NULL)
			continue; /* a new server has no grant */
		d = (struct diff){.p = {&x->p[0], &x->p[1]}, .s = {s[0], s[1]}};
		if (diff_server(&d) == 0 && diff_only_narrower(&d))
			requests_ask(x->p, s, x->seed);
		diff_free(&d);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char between[] = SEPARATOR;
	const char *text = (const char *)data, *second;
	struct sides x = {.seed = len};

	if (len == 0 ||
	    (second = memmem(data, len, between, sizeof(between) - 1)) == NULL)
		return 0;
	for (size_t i = 0; i < len; i++)
		x.seed = x.seed * 31 + data[i];
	buf_init(&x.bytes[0], SEALED_LEN_MAX);
	buf_init(&x.bytes[1], SEALED_LEN_MAX);
	/* the first text keeps its newline */
	if (compile(&x, 0, text, (size_t)(second + 1 - text)) == 0 &&
	    compile(&x, 1, second + sizeof(between) - 1,
		(size_t)(text + len - second) - (sizeof(between) - 1)) == 0)
		compare(&x);
	buf_free(&x.bytes[0]);
	buf_free(&x.bytes[1]);
	return 0;
}

/* ---- the mutator --------------------------------------------------------------------- */

/* The beginning of a line. */
static size_t
line_at(const uint8_t *data, size_t len)
{
	size_t at = (size_t)rand() % len;

	while (at > 0 && data[at - 1] != '\n')
		at--;
	return at;
}

static size_t
line_len(const uint8_t *data, size_t len, size_t at)
{
	const uint8_t *end = memchr(data + at, '\n', len - at);

	return end == NULL ? len - at : (size_t)(end + 1 - (data + at));
}

static size_t
splice(uint8_t *data, size_t len, size_t max, size_t at, size_t old_n, const char *new,
    size_t new_n)
{
	if (len - old_n + new_n > max)
		return len;
	memmove(data + at + new_n, data + at + old_n, len - at - old_n);
	memcpy(data + at, new, new_n);
	return len - old_n + new_n;
}

/* One word of a line becomes another one of a list, or is removed or added. */
static size_t
word_change(uint8_t *data, size_t len, size_t max)
{
	static const char *const words[] = {"allow", "ask", "deny", "a*", "*", "ab", "b",
	    "**", "x", "x|y", "<number>", "except", "a.example.com:443",
	    "*.example.com:443", "10.0.0.0/8:1-9", "to", "private", "loopback",
	    "10.0.0.0/8", "plain", "no-sni", "/usr/share", "/usr/share/doc", "/tmp/a",
	    "/srv/b", "/srv", "read", "write", "hide", "{ optional }", "when",
	    "args.n < 3", "args.s == \"x\"", "args.s", "matches", "under", "relative",
	    "and", "or", "not", "with", "key", "passphrase", "rate", "3/1m", "quota", "5",
	    "env", "CI", "from", "/bin/sh", "in", "/bin/true", "@readonly",
	    "@destructive", "by-annotations", "tool", "resource", "method", "prompt",
	    "sampling", "roots", "mlockall", "io_setup", "mlockall", "<path:/srv>",
	    "owner joe ticket T-1 until 2031-01-02",
	    "owner joe ticket T-1 until 2032-01-02", "1M", "2G", "memory", "call",
	    "oneshot", "syscalls", "net", "exec"};
	const char *word = words[(size_t)rand() % ARRAY_LEN(words)];
	size_t at = (size_t)rand() % len, n = 0;

	while (at > 0 && strchr(" \t\n", data[at - 1]) == NULL)
		at--;
	while (at + n < len && strchr(" \t\n", data[at + n]) == NULL)
		n++;
	switch (rand() % 4) {
	case 0:
		n = n > 0 && at + n < len && data[at + n] == ' ' ? n + 1 : n;
		return splice(data, len, max, at, n, "", 0);
	case 1:
		len = splice(data, len, max, at, 0, " ", 1);
		return splice(data, len, max, at, 0, word, strlen(word));
	default:
		return splice(data, len, max, at, n, word, strlen(word));
	}
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max, unsigned int seed)
{
	char line[256];
	size_t at, n;

	srand(seed);
	if (len == 0 || rand() % 16 == 0)
		return LLVMFuzzerMutate(data, len, max);
	at = line_at(data, len);
	n = line_len(data, len, at);
	switch (rand() % 6) {
	case 0: /* gone */
		return splice(data, len, max, at, n, "", 0);
	case 1: /* copied, perhaps to the other text */
		n = n < sizeof(line) ? n : sizeof(line);
		memcpy(line, data + at, n);
		return splice(data, len, max, line_at(data, len), 0, line, n);
	default:
		return word_change(data, len, max);
	}
}
