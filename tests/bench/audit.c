/*
 * A writer for the log: so many records, of which each so-manieth is waited for.
 *
 *	audit write RECORDER LOG RUN N GATE_EVERY	flow records, then how many a
 *							second until the last is on disk
 *	audit gate RECORDER LOG RUN FILE N		a gate record, then one bare
 *							row of SQLite into FILE, N times
 *	audit sha TOTAL PIECE				SHA-256 of so many bytes in
 *							pieces of so many: seconds of
 *							libsodium, and of kennel
 *	audit prove LOG N				proofs: microseconds for each
 */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "leash/audit/writer.h"
#include "supervisor/audit/audit.h"
#include "supervisor/audit/log/merkle_read.h"

#define WAIT_MS 60000

static double
spent(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double
now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void
fail(const char *what, int r)
{
	fprintf(stderr, "audit: %s: %s\n", what, strerror(-r));
	exit(1);
}

static struct report *
writer(char **argv, const char *session)
{
	struct audit_place place = {argv[3], argv[4], argv[2]};
	struct report *report = NULL;
	int sock, r = -EPIPE;

	for (int i = 0; r == -EPIPE && i < 5; i++) {
		r = audit_connect(&place, WAIT_MS, &sock);
		if (r == 0)
			r = report_open(sock, REPORT_LEASH, session, WAIT_MS, &report);
	}
	if (r < 0)
		fail("unable to reach a recorder", r);
	return report;
}

/* What an answered call looks like: some 450 bytes in the log. */
static void
make(struct event *e, uint64_t i)
{
	static const char *const server[] = {"github", "files", "search", "browser"};
	char tool[32];

	(void)snprintf(tool, sizeof(tool), "tool_%llu", (unsigned long long)(i % 40));
	event_begin(e, EVENT_CALL);
	event_text(e, KEY_SERVER, server[i % 4]);
	event_text(e, KEY_POLICY,
	    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08");
	event_text(e, KEY_VERDICT, i % 20 == 0 ? "deny" : "allow");
	event_text(e, KEY_RULE, "policy.kennel:12");
	event_text(e, KEY_METHOD, "tools/call");
	event_short(e, KEY_NAME, tool);
	event_text(e, KEY_DIRECTION, "agent");
	event_number(e, KEY_DURATION_US, i % 5000);
	event_text(e, KEY_OUTCOME, "ok");
	event_text(e, KEY_ACTION, "mcp_tool_call");
}

static int
write_many(int argc, char **argv)
{
	struct report *report = writer(argv, argc > 7 ? argv[7] : "bench");
	uint64_t n = strtoull(argv[5], NULL, 10), gate = strtoull(argv[6], NULL, 10);
	uint64_t number = 0;
	static struct event e;
	double from = now();

	for (uint64_t i = 1; i <= n; i++) {
		bool waits = gate > 0 && i % gate == 0;
		int r;

		make(&e, i);
		while ((r = report_send(report, &e, waits ? EVENT_GATE : EVENT_FLOW,
			    &number)) == -ENOBUFS) {
			/* the queue is full: until half of it is on disk */
			r = report_wait(report, number - REPORT_QUEUE_MAX / 2, WAIT_MS);
			if (r < 0)
				fail("unable to wait", r);
		}
		if (r < 0)
			fail("unable to send", r);
		if (waits || i == n) {
			r = report_wait(report, number, WAIT_MS);
			if (r < 0)
				fail("unable to wait", r);
		}
	}
	printf("%.0f\n", (double)n / (now() - from) * 1e6);
	report_free(report);
	return 0;
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Side by side: a disk has moods. */
static int
gate(char **argv)
{
	struct report *report = writer(argv, "gate");
	size_t n = strtoull(argv[6], NULL, 10);
	double *ours = calloc(n, sizeof(*ours)), *bare = calloc(n, sizeof(*bare));
	static struct event e;
	static char body[450];
	sqlite3_stmt *s = NULL;
	sqlite3 *db = NULL;
	uint64_t number;
	double from;
	int r;

	if (ours == NULL || bare == NULL || sqlite3_open(argv[5], &db) != SQLITE_OK ||
	    sqlite3_exec(db,
		"PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
		"CREATE TABLE t(i INTEGER PRIMARY KEY, b BLOB)",
		NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db, "INSERT INTO t(b) VALUES(?)", -1, &s, NULL) !=
		SQLITE_OK)
		fail("unable to open a database", -EIO);
	memset(body, 'x', sizeof(body));
	for (size_t i = 0; i < n; i++) {
		make(&e, i);
		from = now();
		r = report_send(report, &e, EVENT_GATE, &number);
		if (r == 0)
			r = report_wait(report, number, WAIT_MS);
		if (r < 0)
			fail("unable to write", r);
		ours[i] = now() - from;
		from = now();
		(void)sqlite3_bind_blob(s, 1, body, sizeof(body), SQLITE_STATIC);
		if (sqlite3_step(s) != SQLITE_DONE)
			fail("unable to commit", -EIO);
		(void)sqlite3_reset(s);
		bare[i] = now() - from;
	}
	qsort(ours, n, sizeof(*ours), by_value);
	qsort(bare, n, sizeof(*bare), by_value);
	printf("%.1f %.1f %.1f %.1f\n", ours[n / 2], ours[n * 99 / 100], bare[n / 2],
	    bare[n * 99 / 100]);
	(void)sqlite3_finalize(s);
	(void)sqlite3_close(db);
	report_free(report);
	free(ours);
	free(bare);
	return 0;
}

/* The bodies of a log, and no more: what a verifier cannot do without. */
/* Many proofs of one open log: microseconds of the processor for each. */
static int
prove(char **argv)
{
	size_t n = strtoull(argv[3], NULL, 10);
	struct logtree *t = NULL;
	static struct merkle_path path;
	uint64_t at = 12345;
	struct hashes h;
	double from;
	int r;

	r = logtree_open(argv[2], 0, &t);
	if (r < 0)
		fail("unable to open the log", r);
	h = logtree_hashes(t);
	from = spent();
	for (size_t i = 0; r == 0 && i < n; i++) {
		at = at * 6364136223846793005u + 1442695040888963407u;
		t->cached = false;
		r = merkle_path_inclusion(&h, (at >> 11) % t->size, t->size, &path);
	}
	if (r < 0)
		fail("unable to prove", r);
	printf("%.1f\n", (spent() - from) / (double)n);
	logtree_close(t);
	return 0;
}

static int
sha(char **argv)
{
	size_t piece = strtoull(argv[3], NULL, 10), total = strtoull(argv[2], NULL, 10);
	uint8_t hash[MERKLE_HASH_LEN], *bytes = malloc(1u << 24);
	size_t at = 0;
	double from, theirs, ours;

	if (bytes == NULL || piece == 0 || piece > 1u << 20)
		fail("no memory", -ENOMEM);
	memset(bytes, 7, 1u << 24);
	for (int round = 0; round < 2; round++) {
		from = spent();
		for (size_t done = 0; done < total; done += piece) {
			at = (at + piece) % ((1u << 24) - (1u << 20));
			if (round == 0)
				(void)crypto_hash_sha256(hash, bytes + at, piece);
			else
				merkle_leaf(bytes + at, piece, hash);
		}
		*(round == 0 ? &theirs : &ours) = (spent() - from) / 1e6;
	}
	printf("%.4f %.4f\n", theirs, ours);
	free(bytes);
	return 0;
}

int
main(int argc, char **argv)
{
	if (argc >= 7 && strcmp(argv[1], "write") == 0)
		return write_many(argc, argv);
	if (argc == 7 && strcmp(argv[1], "gate") == 0)
		return gate(argv);
	if (argc == 4 && strcmp(argv[1], "sha") == 0)
		return sha(argv);
	if (argc == 4 && strcmp(argv[1], "prove") == 0)
		return prove(argv);
	fprintf(stderr, "usage: audit write|gate|sha|prove ...\n");
	return 64;
}
