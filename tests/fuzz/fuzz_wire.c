/*
 * Any bytes as a message between kennel's own processes, by the first byte:
 * read field by field in any order, as the shim's plan, as the launch message
 * that a leash takes, as a request to one that runs, or as what such a one says.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "leash/private.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "supervisor/launch/leash_client.h"
#include "tests/fuzz/fuzz.h"

/* The shim has no header of its own for what it does with its plan. */
int shim_main(void);
#define main shim_main
#include "shim/main.c" /* NOLINT(bugprone-suspicious-include) */
#undef main

/* ---- what leash/main.c has ------------------------------------------------- */

static int ended;

void
leash_end(struct leash *l, const char *why)
{
	(void)l;
	(void)why;
	ended++;
}

int
leash_watch_output(struct leash *l)
{
	(void)l;
	return 0;
}

int
leash_watch_report(struct leash *l)
{
	(void)l;
	return 0;
}

int
leash_die_with_supervisor(struct leash *l, bool yes)
{
	(void)l;
	(void)yes;
	return 0;
}

/* ---- field by field -------------------------------------------------------- */

static void
reads(const uint8_t *data, size_t len)
{
	static const size_t most[] = {0, 1, 16, 4096, SIZE_MAX};
	struct wire_in in;
	struct span s;
	size_t ops = len / 4;

	wire_in_init(&in, data + ops, len - ops);
	for (size_t i = 0; i < ops; i++) {
		size_t max = most[data[i] / 8 % 5], was = in.off;
		const char *text;

		switch (data[i] % 8) {
		case 0:
			(void)wire_get_u8(&in);
			break;
		case 1:
			(void)wire_get_u32(&in);
			break;
		case 2:
			(void)wire_get_u64(&in);
			break;
		case 3:
		case 4:
			s = wire_get_bytes(&in, max);
			if (s.len > max || s.data[s.len] != 0)
				abort();
			break;
		case 5:
		case 6:
			text = wire_get_str(&in, max);
			if (strlen(text) > max)
				abort();
			break;
		default:
			(void)wire_get_u32(&in);
		}
		if (in.off < was || in.off > in.len)
			abort();
	}
	if ((wire_end(&in) == 0) != (in.error == 0 && in.off == in.len))
		abort();
}

/* ---- the plan -------------------------------------------------------------- */

static void
plan(const uint8_t *data, size_t len)
{
	struct shim_plan p = {0};
	size_t n = 0;

	if (len > sizeof(memory))
		return;
	memcpy(memory, data, len);
	memory_n = len;
	if (plan_parse(&p) == 0) {
		if (p.arg[p.arg_n] != NULL || p.env[p.env_n] != NULL)
			abort();
		for (uint32_t i = 0; i < p.arg_n; i++)
			n += strlen(p.arg[i]);
		for (uint32_t i = 0; i < p.env_n; i++)
			n += strlen(p.env[i]);
		for (uint32_t i = 0; i < p.rule_n; i++)
			n += strlen(p.rule[i].path);
		if (n + p.filter.len + strlen(p.cwd) + strlen(p.path) > len)
			abort();
	}
	plan_wipe();
}

/* ---- what a leash is told -------------------------------------------------- */

static void
packet(int sock, const uint8_t *data, size_t len, const int *fds, size_t fds_n)
{
	struct wire_out out;
	uint8_t *copy = malloc(len);

	if (copy == NULL)
		abort();
	memcpy(copy, data, len);
	wire_out_init(&out, copy, len);
	out.len = len;
	(void)wire_send(sock, &out, fds, fds_n);
	free(copy);
}

static void
launched(const uint8_t *data, size_t len)
{
	struct leash l = {.policy_fd = -1, .log_dir = -1};
	int channel[2], recorder[2], fds[3];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, channel) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET, 0, recorder) < 0)
		abort();
	close(recorder[1]); /* gone already: nobody waits for its welcome */
	fds[0] = recorder[0];
	fds[1] = recorder[0];
	fds[2] = recorder[0];
	l.channel = channel[1];
	packet(channel[0], data, len, fds, 3);
	if (dispatch_launch(&l) == 0)
		abort(); /* without a log? */
	/* what was read lies in the message and ends there */
	for (size_t i = 0; i < l.argc; i++)
		if (strlen(l.argv[i]) >= len)
			abort();
	free(l.argv);
	free(l.memory);
	fd_close(&l.policy_fd);
	fd_close(&l.log_dir);
	close(recorder[0]);
	close(channel[0]);
	close(channel[1]);
}

static void
requested(const uint8_t *data, size_t len)
{
	static struct leash l;
	int channel[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, channel) < 0)
		abort();
	memset(&l, 0, sizeof(l));
	l.phase = PHASE_RUNNING;
	l.cell.channel = -1;
	l.channel = channel[1];
	loop_init(&l.loop);
	if (dispatch_add(&l) < 0)
		abort();
	ended = 0;
	for (int i = 0; i < 2 && l.channel_slot >= 0; i++) {
		packet(channel[0], data, len, NULL, 0);
		(void)loop_once(&l.loop, 0);
	}
	/* what is not understood ends it; so does the end of a grace time */
	if (l.channel_slot < 0 && ended == 0)
		abort();
	close(channel[0]);
	fd_close(&l.channel);
}

/* ---- what a leash says ------------------------------------------------------ */

static void
heard(const uint8_t *data, size_t len)
{
	struct child_news n = {0};
	struct child c = {.channel = -1};
	int channel[2];
	size_t words = 0;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, channel) < 0)
		abort();
	c.channel = channel[0];
	packet(channel[1], data, len, NULL, 0);
	if (child_answer(&c, &n) == 0 && n.type == LEASH_ASK) {
		for (uint32_t i = 0; i < n.ask.argc; i++)
			words += strlen(n.ask.argv[i]);
		for (uint32_t i = 0; i < n.ask.envc; i++)
			words += strlen(n.ask.env[i]);
		if (words + strlen(n.ask.cwd) + strlen(n.ask.program) > len)
			abort();
	}
	if (n.type == LEASH_DENIED &&
	    strlen(n.refusal.because) + strlen(n.refusal.instead) > len)
		abort();
	close(channel[0]);
	close(channel[1]);
}

/* The first answer of a leash: why nothing was started. */
static void
refused(const uint8_t *data, size_t len)
{
	static char why[LEASH_TEXT_MAX];
	struct leash_refused refusal = {0};
	struct child_order order = {.mode = LEASH_RUN, .refused = &refusal};
	struct child c = CHILD_NONE;
	int channel[2], status = 0, r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, channel) < 0)
		abort();
	c.channel = channel[0];
	packet(channel[1], data, len, NULL, 0);
	r = child_first(&order, &c, NULL, &status, why);
	if (r == -ECONNREFUSED || r == -ESTALE) {
		if (status < 1 || status > 255 || refusal.cause >= LEASH_CAUSE_END ||
		    strlen(refusal.variable) + strlen(refusal.path) + strlen(why) > len)
			abort();
	} else if (refusal.cause != LEASH_CAUSE_OTHER || refusal.path[0] != '\0')
		abort();
	close(channel[0]);
	close(channel[1]);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static void (*const way[])(const uint8_t *, size_t) = {
	    reads, plan, launched, requested, heard, refused};
	uint8_t *copy;

	if (len < 2 || len > LEASH_PACKET_MAX || (copy = malloc(len - 1)) == NULL)
		return 0;
	log_open("fuzz", LOG_ERROR);
	memcpy(copy, data + 1, len - 1);
	way[data[0] % ARRAY_LEN(way)](copy, len - 1);
	free(copy);
	return 0;
}
