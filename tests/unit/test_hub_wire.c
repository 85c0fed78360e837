/*
 * The packets of the sockets run-PID and serve-PID: what is written is read, and nothing
 * else is; and the times that a hub reports.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "shim/base/array.h"
#include "supervisor/status/latency.h"
#include "supervisor/status/hub_wire.h"

static const struct hub_status a_hub = {.since_ns = 1795575497000000000u,
    .era = HUB_LEGACY,
    .client = "an agent",
    .calls = 2,
    .calls_made = 70,
    .refused = 3,
    .servers = 5};
static const struct hub_row a_server = {.name = "files",
    .live = LIVE_ERROR,
    .discovery = DISCOVERY_UNREACHABLE,
    .reason = REASON_BACKOFF,
    .detail = "it ended",
    .failed = "it exited with status 1",
    .pinned = true,
    .has_policy = true,
    .policy = {1, 2, 3},
    .protocol = "2025-11-25",
    .tools = 17,
    .restarts = 4,
    .calls = 1,
    .calls_made = 60,
    .refused = 2,
    .p50_us = 480,
    .p99_us = 70000};

static void
page(struct wire_out *out, uint8_t *memory, const struct hub_status *h,
    const struct hub_row *row)
{
	wire_out_init(out, memory, HUB_PACKET_MAX);
	hub_page_begin(out, h, 1);
	if (row != NULL)
		assert_true(hub_page_row(out, row));
	hub_page_end(out);
	assert_int_equal(out->error, 0);
}

/* Reads a page to its end: the rows, or -EBADMSG. */
static int
rows_in(const uint8_t *packet, size_t len)
{
	struct hub_status h;
	struct hub_row s;
	struct wire_in in;
	uint32_t first;
	int r, n = 0;

	wire_in_init(&in, packet, len);
	r = hub_page_get(&in, &h, &first);
	while (r == 0 && (r = hub_row_get(&in, &s)) > 0) {
		n++;
		r = 0;
		if (n > HUB_ROWS_MAX)
			return n;
		continue;
	}
	return r < 0 ? r : n;
}

static void
reads_what_it_writes(void **state)
{
	static uint8_t memory[HUB_PACKET_MAX];
	struct hub_status h;
	struct hub_row s;
	struct wire_out out;
	struct wire_in in;
	uint32_t first;

	(void)state;
	page(&out, memory, &a_hub, &a_server);
	wire_in_init(&in, memory, out.len);
	assert_int_equal(hub_page_get(&in, &h, &first), 0);
	assert_int_equal(first, 1);
	assert_memory_equal(&h, &a_hub, sizeof(h));
	assert_int_equal(hub_row_get(&in, &s), 1);
	assert_memory_equal(&s, &a_server, sizeof(s));
	assert_int_equal(hub_row_get(&in, &s), 0);
}

static void
refuses_what_is_cut_or_longer(void **state)
{
	static uint8_t memory[HUB_PACKET_MAX];
	struct wire_out out;

	(void)state;
	page(&out, memory, &a_hub, &a_server);
	assert_int_equal(rows_in(memory, out.len), 1);
	for (size_t len = 0; len < out.len; len++)
		assert_int_equal(rows_in(memory, len), -EBADMSG);
	memory[out.len] = 0;
	assert_int_equal(rows_in(memory, out.len + 1), -EBADMSG);
}

static void
refuses_what_has_no_name(void **state)
{
	static uint8_t memory[HUB_PACKET_MAX];
	struct hub_status h = a_hub;
	struct hub_row s;
	struct wire_out out;

	(void)state;
	h.era = (enum hub_era)(HUB_MODERN + 1);
	page(&out, memory, &h, NULL);
	assert_int_equal(rows_in(memory, out.len), -EBADMSG);
	h = a_hub;
	h.servers = HUB_ROWS_MAX + 1;
	page(&out, memory, &h, NULL);
	assert_int_equal(rows_in(memory, out.len), -EBADMSG);
	h.servers = 0; /* the page begins with the second */
	page(&out, memory, &h, NULL);
	assert_int_equal(rows_in(memory, out.len), -EBADMSG);
	for (int i = 0; i < 3; i++) {
		s = a_server;
		s.live = i == 0 ? LIVE_N : s.live;
		s.discovery = i == 1 ? DISCOVERY_N : s.discovery;
		s.reason = i == 2 ? REASON_N : s.reason;
		page(&out, memory, &a_hub, &s);
		assert_int_equal(rows_in(memory, out.len), -EBADMSG);
	}
	page(&out, memory, &a_hub, NULL);
	assert_int_equal(rows_in(memory, out.len), 0);
	memory[0] = HUB_RESTARTED;
	assert_int_equal(rows_in(memory, out.len), -EBADMSG);
	memory[0] = HUB_PAGE;
	memory[4] = HUB_VERSION + 1;
	assert_int_equal(rows_in(memory, out.len), -EBADMSG);
}

/* The longest rows: none is cut, and none is beyond the packet. */
static void
fills_pages(void **state)
{
	static uint8_t memory[HUB_PACKET_MAX];
	struct hub_row s = a_server;
	struct wire_out out;
	int n = 0;

	(void)state;
	memset(s.name, 'n', sizeof(s.name) - 1);
	memset(s.detail, 'd', sizeof(s.detail) - 1);
	memset(s.failed, 'f', sizeof(s.failed) - 1);
	memset(s.protocol, 'p', sizeof(s.protocol) - 1);
	wire_out_init(&out, memory, sizeof(memory));
	hub_page_begin(&out, &a_hub, 0);
	while (hub_page_row(&out, &s))
		n++;
	hub_page_end(&out);
	assert_int_equal(out.error, 0);
	assert_in_range(n, 10, 20);
	assert_int_equal(rows_in(memory, out.len), n);
}

static void
reads_both_versions_of_a_session(void **state)
{
	struct status s = {.kind = STATUS_RUN,
	    .connected = true,
	    .server = "files",
	    .session = "0123456789abcdef",
	    .calls_made = 9,
	    .via = 4711};
	uint8_t memory[STATUS_PACKET_MAX];
	struct status got;
	struct wire_out out;
	struct wire_in in;

	(void)state;
	for (uint32_t version = 1; version <= STATUS_VERSION; version++) {
		wire_out_init(&out, memory, sizeof(memory));
		status_put(&out, &s, version);
		wire_in_init(&in, memory, out.len);
		assert_int_equal(status_get(&in, &got), 0);
		assert_int_equal(got.via, version == 1 ? 0 : 4711);
		assert_int_equal(got.calls_made, 9);
	}
	/* an id that a terminal would obey */
	memcpy(s.session, "\033[2J\033[1;1Hfake", 15);
	wire_out_init(&out, memory, sizeof(memory));
	status_put(&out, &s, STATUS_VERSION);
	wire_in_init(&in, memory, out.len);
	assert_int_equal(status_get(&in, &got), -EBADMSG);
}

static void
reports_percentiles_to_an_eighth(void **state)
{
	static const uint64_t times[] = {
	    1, 3, 4, 7, 8, 15, 100, 999, 12345, 1000000, 30000000};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		struct latency l = {.n = 0};
		uint64_t got, wanted = times[i];

		assert_int_equal(latency_percentile(&l, 50), 0);
		for (int k = 0; k < 98; k++)
			latency_add(&l, wanted);
		latency_add(&l, 1000 * wanted);
		latency_add(&l, 1000 * wanted);
		got = latency_percentile(&l, 50);
		assert_in_range(got, wanted - wanted / 8, wanted + wanted / 8);
		assert_int_equal(latency_percentile(&l, 98), got);
		assert_true(latency_percentile(&l, 99) > 100 * wanted ||
			    1000 * wanted > 250000000);
	}
}

static void
takes_any_time(void **state)
{
	struct latency l = {.n = 0};

	(void)state;
	latency_add(&l, 0);
	latency_add(&l, UINT64_MAX);
	assert_int_equal(l.n, 2);
	assert_int_equal(latency_percentile(&l, 50), 0);
	assert_in_range(latency_percentile(&l, 99), 200000000, 300000000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(reads_what_it_writes),
	    cmocka_unit_test(refuses_what_is_cut_or_longer),
	    cmocka_unit_test(refuses_what_has_no_name),
	    cmocka_unit_test(fills_pages),
	    cmocka_unit_test(reads_both_versions_of_a_session),
	    cmocka_unit_test(reports_percentiles_to_an_eighth),
	    cmocka_unit_test(takes_any_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
