/*
 * Lines that wait for a server: as long as its process starts, however long a person thinks,
 * and no longer; in the order in which they came.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/serve/private.h"
#include "supervisor/serve/secrets_tools.h"
#include "tests/unit/mcp_rig.h"

static char taken[64], refused[256];

void
agent_take(struct hub *h, const uint8_t *line, size_t len, const struct parked *was)
{
	assert_true(was != NULL && was->why >= PARK_SERVER);
	if (was->why == PARK_RECORD)
		assert_int_equal(was->record, 7);
	(void)strncat(taken, (const char *)line, len);
}

void
reply_error(struct hub *h, const struct incoming *in, int code, const char *text)
{
	assert_int_equal(code, RPC_TIMEOUT);
	assert_int_equal(in->m.top[TOP_ID].len, 1);
	(void)snprintf(refused + strlen(refused), sizeof(refused) - strlen(refused),
	    "%c: %s\n", in->m.top[TOP_ID].at[0], text);
}

bool
servers_listed(struct hub *h)
{
	return false;
}

bool
hub_room(struct hub *h)
{
	return true;
}

bool
secrets_have_texts(const struct hub *h, uint64_t until)
{
	return false;
}

static void
wait_for_server(void **state)
{
	static struct hub h;
	static const struct sealed_server sealed;
	static struct downstream first, other;
	static struct server one = {.name = (char *)"one"}, two = {.name = (char *)"two"};
	const struct incoming a = {.line = (const uint8_t *)"a", .len = 1},
			      b = {.line = (const uint8_t *)"b", .len = 1},
			      c = {.line = (const uint8_t *)"c", .len = 1};

	one.sealed = two.sealed = &sealed; /* timeouts are the defaults */
	h.parked_last = &h.parked;
	one.down = &first;
	two.down = &other;
	assert_true(park_for_server(&h, &a, &one));
	assert_true(park_for_server(&h, &b, &two));
	assert_true(park_for_server(&h, &c, &one));
	/* no time of their own ends the wait for the start, */
	assert_true(parked_next(&h) == UINT64_MAX);
	for (int s = DOWN_STARTING; s < DOWN_SERVING; s++) {
		first.state = other.state = (enum down_state)s;
		first.again.greeted_at = other.again.greeted_at = loop_now();
		parked_wake(&h);
		assert_string_equal(taken, "");
	}
	/* and `timeout call` that for the lists */
	assert_true(parked_next(&h) > loop_now() + 29 * NS_PER_S);
	assert_true(parked_next(&h) < loop_now() + 31 * NS_PER_S);
	first.state = DOWN_SERVING;
	parked_wake(&h);
	assert_string_equal(taken, "ac");
	two.down = NULL; /* its start took too long */
	parked_wake(&h);
	assert_string_equal(taken, "acb");
	assert_null(h.parked);
	assert_true(park(&h, &a, PARK_LISTS, NULL, SEARCH_WAIT_MS));
	assert_true(parked_next(&h) != UINT64_MAX); /* control */
	parked_free(&h);
}

/* What waits for the launcher alone is refused at its time, and what waits for a list, which
 * a search does without, is handled then. */
static void
wait_for_launcher(void **state)
{
	static struct hub h;
	static const uint8_t lines[3][64] = {
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}",
	    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\"}", "l"};
	static const enum park why[] = {PARK_NAMES, PARK_POLICIES, PARK_LISTS};

	taken[0] = '\0';
	h.parked_last = &h.parked;
	for (int i = 0; i < 3; i++)
		assert_true(park(&h,
		    &(struct incoming){
			.line = lines[i], .len = strlen((const char *)lines[i])},
		    why[i], NULL, 3600000));
	parked_wake(&h);
	assert_non_null(h.parked); /* control: the time is not over */
	assert_string_equal(refused, "");
	for (struct parked *p = h.parked; p != NULL; p = p->next)
		p->until = 0;
	parked_wake(&h);
	assert_null(h.parked);
	assert_string_equal(taken, "l");
	assert_non_null(
	    strstr(refused, "1: kennel: the launcher of kennel serve has not named"));
	assert_non_null(
	    strstr(refused, "2: kennel: the launcher of kennel serve has not found"));
}

/* What waits for a record is handled when that is on disk, or at its time. */
static void
wait_for_record(void **state)
{
	static struct hub h;
	static char report; /* stands for one; only its address is used */
	const struct incoming a = {.line = (const uint8_t *)"a", .len = 1},
			      b = {.line = (const uint8_t *)"b", .len = 1};

	taken[0] = '\0';
	rig_durable = 0;
	h.report = (struct report *)(void *)&report;
	h.parked_last = &h.parked;
	assert_true(park_for_record(&h, &a, 7, 3600000));
	assert_true(park_for_record(&h, &b, 7, 0));
	parked_wake(&h);
	assert_string_equal(taken, "b");
	rig_durable = 6;
	parked_wake(&h);
	assert_string_equal(taken, "b");
	rig_durable = 7;
	parked_wake(&h);
	assert_string_equal(taken, "ba");
	assert_null(h.parked);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(wait_for_server),
	    cmocka_unit_test(wait_for_record),
	    cmocka_unit_test(wait_for_launcher),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
