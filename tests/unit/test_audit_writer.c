/*
 * What a writer promises: nothing is forgotten before it is durable, nothing
 * blocks, and a broken recorder is believed in nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "leash/audit/writer.h"
#include "shim/base/fd.h"

/* ---- a recorder of one thread's own ---------------------------------------- */

static void
answer(int sock, uint32_t type, uint64_t number)
{
	uint8_t memory[16];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, type);
	wire_put_u64(&out, number);
	assert_int_equal(wire_send(sock, &out, NULL, 0), 0);
}

/* The next packet: its type; *number of an event. */
static uint32_t
next_packet(int sock, uint64_t *number, size_t *len)
{
	static uint8_t memory[REPORT_EVENT_MAX];
	struct wire_in in;
	uint32_t type;

	assert_int_equal(wire_recv(sock, memory, sizeof(memory), len, NULL, 0, NULL), 0);
	wire_in_init(&in, memory, *len);
	type = wire_get_u32(&in);
	*number = wire_get_u64(&in);
	return type;
}

static void
assert_event(int sock, uint64_t want)
{
	uint64_t number;
	size_t len;

	assert_int_equal(next_packet(sock, &number, &len), REPORT_EVENT);
	assert_int_equal(number, want);
}

/* One packet, of one event or of several; the first has this number.  How many. */
static uint64_t
take_events(int sock, uint64_t first)
{
	static uint8_t memory[REPORT_EVENT_MAX];
	struct wire_in in, one;
	struct span bytes;
	uint64_t n = 0;
	uint32_t type;
	size_t len;

	assert_int_equal(wire_recv(sock, memory, sizeof(memory), &len, NULL, 0, NULL), 0);
	wire_in_init(&in, memory, len);
	type = wire_get_u32(&in);
	if (type == REPORT_EVENT) {
		assert_int_equal(wire_get_u64(&in), first);
		return 1;
	}
	assert_int_equal(type, REPORT_EVENTS);
	while (in.off < in.len) {
		bytes = wire_get_bytes(&in, REPORT_EVENT_MAX);
		assert_int_equal(in.error, 0);
		wire_in_init(&one, bytes.data, bytes.len);
		assert_int_equal(wire_get_u32(&one), REPORT_EVENT);
		assert_int_equal(wire_get_u64(&one), first + n++);
	}
	return n;
}

static void
assert_quiet(int sock)
{
	struct pollfd p = {.fd = sock, .events = POLLIN};

	assert_int_equal(poll(&p, 1, 0), 0);
}

/* The welcome stands in the socket before the hello: no second thread needed. */
static struct report *
open_report(int *ret_peer)
{
	struct report *report;
	uint64_t number;
	size_t len;
	int pair[2];

	assert_int_equal(fd_pair(pair), 0);
	answer(pair[1], REPORT_WELCOME, 0);
	assert_int_equal(
	    report_open(pair[0], REPORT_LEASH, "0123456789abcdef", 100, &report), 0);
	assert_int_equal(next_packet(pair[1], &number, &len), REPORT_HELLO);
	*ret_peer = pair[1];
	return report;
}

static uint64_t
send_one(struct report *report, enum event_class class)
{
	struct event event;
	uint64_t number;

	event_begin(&event, EVENT_EXEC);
	event_text(&event, KEY_PROGRAM, "/bin/true");
	assert_int_equal(report_send(report, &event, class, &number), 0);
	return number;
}

/* ---- tests ------------------------------------------------------------------ */

static void
test_durable(void **state)
{
	int peer;
	struct report *report = open_report(&peer);

	(void)state;
	for (uint64_t i = 1; i <= 3; i++) {
		assert_int_equal(send_one(report, EVENT_GATE), i);
		assert_event(peer, i);
	}
	assert_false(report_durable(report, 1));
	answer(peer, REPORT_DURABLE, 2);
	assert_int_equal(report_ready(report), 0);
	assert_true(report_durable(report, 2));
	assert_false(report_durable(report, 3));
	assert_int_equal(report_pending(report), 1);
	assert_int_equal(report_wait(report, 3, 20), -ETIMEDOUT);
	answer(peer, REPORT_DURABLE, 3);
	assert_int_equal(report_wait(report, 3, 100), 0);
	report_free(report);
	close(peer);
}

/* The recorder dies: what was not durable goes again, and only that. */
static void
test_replace(void **state)
{
	int peer, pair[2];
	struct report *report = open_report(&peer);
	uint64_t number;
	size_t len;

	(void)state;
	for (int i = 0; i < 5; i++)
		(void)send_one(report, EVENT_FLOW);
	for (uint64_t i = 1; i <= 5; i++)
		assert_event(peer, i);
	answer(peer, REPORT_DURABLE, 2);
	close(peer);
	assert_int_equal(report_ready(report), -EPIPE);
	assert_int_equal(report_fd(report), -1);
	assert_true(report_durable(report, 2));
	assert_int_equal(send_one(report, EVENT_GATE), 6); /* kept */
	assert_int_equal(report_wait(report, 6, 10), -EPIPE);

	assert_int_equal(fd_pair(pair), 0);
	answer(pair[1], REPORT_WELCOME, 2);
	assert_int_equal(report_replace(report, pair[0], 100), 0);
	assert_int_equal(next_packet(pair[1], &number, &len), REPORT_HELLO);
	assert_int_equal(take_events(pair[1], 3), 4);
	assert_quiet(pair[1]);
	answer(pair[1], REPORT_DURABLE, 6);
	assert_int_equal(report_wait(report, 6, 100), 0);
	report_free(report);
	close(pair[1]);
}

/* A recorder that promises what it was never sent is no recorder. */
static void
test_false_promise(void **state)
{
	int peer;
	struct report *report = open_report(&peer);

	(void)state;
	(void)send_one(report, EVENT_GATE);
	answer(peer, REPORT_DURABLE, 7);
	assert_int_equal(report_ready(report), -EPIPE);
	assert_false(report_durable(report, 1));
	report_free(report);
	close(peer);
}

/* Nobody reads: sending never blocks, and a full queue says so. */
static void
test_full(void **state)
{
	int peer;
	struct report *report = open_report(&peer);
	static const char block[1000] = "x";
	struct event event;

	(void)state;
	event_begin(&event, EVENT_CALL);
	for (int i = 0; i < 10; i++)
		event_bytes(&event, KEY_ARGV, block, sizeof(block));
	for (int i = 0; i < REPORT_QUEUE_MAX; i++)
		assert_int_equal(report_send(report, &event, EVENT_FLOW, NULL), 0);
	assert_int_equal(report_send(report, &event, EVENT_FLOW, NULL), -ENOBUFS);
	assert_true(report_wants_write(report));
	assert_int_equal(report_pending(report), REPORT_QUEUE_MAX);
	report_free(report);
	close(peer);
}

/* What waited for room goes several to a packet, in order, and each of them whole; a
 * large one goes alone. */
static void
test_joined(void **state)
{
	int peer, packets = 0;
	struct report *report = open_report(&peer);
	static const char block[1000] = "x";
	uint64_t number = 0, taken = 0;
	struct event event;

	(void)state;
	for (int i = 1; i <= 3000; i++) {
		event_begin(&event, EVENT_CALL);
		for (int k = 0; i % 500 == 0 && k < 11; k++)
			event_bytes(&event, KEY_ARGV, block, sizeof(block));
		assert_int_equal(report_send(report, &event, EVENT_FLOW, &number), 0);
	}
	assert_true(report_wants_write(report));
	while (taken < 3000) {
		struct pollfd p = {.fd = peer, .events = POLLIN};

		/* one at a time, and each time what there is room for then */
		while (poll(&p, 1, 0) == 1) {
			taken += take_events(peer, taken + 1);
			packets++;
		}
		assert_int_equal(report_ready(report), 0);
	}
	assert_false(report_wants_write(report));
	assert_true(packets < 2000);
	report_free(report);
	close(peer);
}

static void
test_no_welcome(void **state)
{
	struct report *report = NULL;
	int pair[2];

	(void)state;
	assert_int_equal(fd_pair(pair), 0);
	assert_int_equal(
	    report_open(pair[0], REPORT_SUPERVISOR, "s", 20, &report), -ETIMEDOUT);
	assert_null(report);
	close(pair[1]);
	assert_int_equal(fd_pair(pair), 0);
	close(pair[1]);
	assert_int_equal(
	    report_open(pair[0], REPORT_SUPERVISOR, "s", 20, &report), -EPIPE);
	assert_int_equal(fd_pair(pair), 0);
	answer(pair[1], REPORT_DURABLE, 1);
	assert_int_equal(
	    report_open(pair[0], REPORT_SUPERVISOR, "s", 20, &report), -EPROTO);
	close(pair[1]);
}

/* Greeted now, welcomed later: as good a report, and as bad a refusal. */
static void
test_welcome_later(void **state)
{
	struct report *report = NULL;
	uint64_t number;
	size_t len;
	int pair[2];

	(void)state;
	assert_int_equal(fd_pair(pair), 0);
	assert_int_equal(
	    report_open(pair[0], REPORT_LEASH, "s", REPORT_LATER, &report), 0);
	assert_int_equal(next_packet(pair[1], &number, &len), REPORT_HELLO);
	answer(pair[1], REPORT_WELCOME, 0);
	assert_int_equal(report_welcome(report, 100), 0);
	assert_event(pair[1], send_one(report, EVENT_GATE));
	report_free(report);
	close(pair[1]);
	assert_int_equal(fd_pair(pair), 0);
	assert_int_equal(
	    report_open(pair[0], REPORT_LEASH, "s", REPORT_LATER, &report), 0);
	assert_int_equal(report_welcome(report, 20), -ETIMEDOUT);
	assert_int_equal(report_fd(report), -1);
	report_free(report);
	close(pair[1]);
}

/* The welcome comes from the loop: until then events are kept, and nothing is sent, on the
 * first connection and on the next. */
static void
test_welcome_in_loop(void **state)
{
	struct report *report = NULL;
	uint64_t number;
	size_t len;
	int pair[2];

	(void)state;
	assert_int_equal(fd_pair(pair), 0);
	assert_int_equal(
	    report_open(pair[0], REPORT_LEASH, "s", REPORT_LATER, &report), 0);
	for (uint64_t i = 1; i <= 2; i++) {
		assert_int_equal(next_packet(pair[1], &number, &len), REPORT_HELLO);
		assert_int_equal(send_one(report, EVENT_GATE), i);
		assert_false(report_greeted(report));
		assert_false(report_wants_write(report));
		assert_int_equal(report_ready(report), 0); /* nothing has come */
		assert_quiet(pair[1]);
		answer(pair[1], REPORT_WELCOME, 0);
		assert_int_equal(report_ready(report), 0);
		assert_true(report_greeted(report));
		assert_int_equal(take_events(pair[1], 1), i);
		close(pair[1]);
		assert_int_equal(report_ready(report), -EPIPE);
		assert_false(report_greeted(report));
		assert_int_equal(fd_pair(pair), 0);
		assert_int_equal(report_replace(report, pair[0], REPORT_LATER), 0);
	}
	answer(pair[1], REPORT_DURABLE, 2); /* no welcome */
	assert_int_equal(report_ready(report), -EPIPE);
	assert_false(report_durable(report, 2));
	report_free(report);
	close(pair[1]);
}

/* An event never fails for being long: it is cut, and says so. */
static void
test_cut(void **state)
{
	int peer;
	struct report *report = open_report(&peer);
	char *text = malloc(5000);
	struct event event;
	uint64_t number;
	size_t len;

	(void)state;
	memset(text, 'x', 5000);
	text[1022] = '\xe2'; /* a character of three bytes over the edge */
	text[1023] = '\x82';
	text[1024] = '\xac';
	event_begin(&event, EVENT_EXEC);
	event_bytes(&event, KEY_PROGRAM, text, 5000);
	assert_int_equal(event.cut_n, 1);
	/* "program 0 DIGEST" of all of it, and its head */
	assert_int_equal(event.out.len, 1 + 4 + 10 + 64 + 1 + 1 + 4 + 1022 + 1);
	for (int i = 0; i < 100; i++)
		event_bytes(&event, KEY_ARGV, text, 1000);
	assert_true(event.cut_n > 80);
	assert_int_equal(event.out.error, 0);
	event_number(&event, KEY_PID, 1); /* small ones still fit */
	assert_int_equal(report_send(report, &event, EVENT_GATE, &number), 0);
	assert_int_equal(next_packet(peer, &number, &len), REPORT_EVENT);
	assert_true(len <= REPORT_EVENT_MAX);
	report_free(report);
	close(peer);
	free(text);
}

/* What waits too long stops acts; an answer that is here already does not. */
static void
test_late(void **state)
{
	int peer;
	struct report *report = open_report(&peer);

	(void)state;
	assert_false(report_late(report));
	(void)send_one(report, EVENT_FLOW);
	assert_false(report_late(report));
	(void)poll(NULL, 0, REPORT_LATE_MS + 50);
	assert_true(report_late(report));
	(void)send_one(report, EVENT_FLOW); /* still taken: a refusal is recorded */
	answer(peer, REPORT_DURABLE, 2);
	assert_false(report_late(report));
	assert_int_equal(report_ready(report), 0);
	assert_false(report_late(report));
	(void)send_one(report, EVENT_FLOW);
	close(peer);
	(void)poll(NULL, 0, REPORT_LATE_MS + 50);
	assert_true(report_late(report));
	report_free(report);
}

static void
test_names(void **state)
{
	(void)state;
	for (int i = 1; i < EVENT_KIND_END; i++)
		assert_string_not_equal(event_kind_name(i), "unknown");
	for (int i = 1; i < KEY_END; i++)
		assert_string_not_equal(event_key_name(i), "unknown");
	assert_string_equal(event_kind_name(EVENT_KIND_END), "unknown");
	assert_string_equal(event_key_name(KEY_END), "unknown");
	assert_string_equal(event_key_name(0), "unknown");
	assert_true(event_key_is_number(KEY_PID));
	assert_true(event_key_repeats(KEY_ARGV));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_durable),
	    cmocka_unit_test(test_replace),
	    cmocka_unit_test(test_false_promise),
	    cmocka_unit_test(test_full),
	    cmocka_unit_test(test_joined),
	    cmocka_unit_test(test_no_welcome),
	    cmocka_unit_test(test_welcome_later),
	    cmocka_unit_test(test_welcome_in_loop),
	    cmocka_unit_test(test_cut),
	    cmocka_unit_test(test_late),
	    cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
