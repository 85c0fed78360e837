/*
 * A live session that has lost a request: the request is answered. One that still has it, or
 * that sends anything, is asked again; one that stays silent is closed.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/serve/private.h"

#define CALL_MS 30000
#define LATE_MS (CALL_MS + 10000) /* when a session is asked */

static struct hub hub;
static struct sealed_server sealed;
static struct server one = {.hub = &hub, .name = (char *)"one", .sealed = &sealed};
static struct downstream d;
static struct route routes[3];
static struct call calls[3];
static char sent[256], answered[256], closed[256];
static int freed;

/* ---- stubs ------------------------------------------------------------------------ */

bool
hub_room(struct hub *h)
{
	return true;
}

int
downstream_send(struct downstream *to, const struct buf *line)
{
	(void)snprintf(sent, sizeof(sent), "%.*s", (int)line->len, (char *)line->data);
	return 0;
}

void
downstream_close(struct downstream *to, const char *why)
{
	(void)snprintf(closed, sizeof(closed), "%s", why);
}

struct route *
route_find(struct downstream *at, struct json id)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%.*s", (int)id.len, (const char *)id.at);
	for (int i = 1; i < 3; i++)
		if (calls[i].state == CALL_OPEN &&
		    routes[i].id == strtoull(text, NULL, 10))
			return &routes[i];
	return NULL;
}

void
route_error(struct hub *h, struct route *route, int code, const char *text)
{
	assert_int_equal(code, RPC_TIMEOUT);
	(void)snprintf(
	    answered, sizeof(answered), "%llu: %s", (unsigned long long)route->id, text);
}

void
route_free(struct hub *h, struct route *route)
{
	freed++;
	calls[route - routes].state = CALL_FREE;
}

/* ---- the tests -------------------------------------------------------------------- */

/* Two requests at one session, of which this one is older. Returns when it began. */
static uint64_t
two_requests(void)
{
	uint64_t now = loop_now();

	assert_int_equal(policy_limit(&one.policy, &sealed, TIMEOUT_CALL), CALL_MS);
	memset(&d, 0, sizeof(d));
	d.server = &one;
	d.state = DOWN_SERVING;
	d.check.at = UINT64_MAX;
	hub.route = routes;
	hub.calls.call = calls;
	hub.calls.used = 2;
	buf_init(&hub.body, 4096);
	sent[0] = answered[0] = closed[0] = '\0';
	freed = 0;
	for (int i = 1; i < 3; i++) {
		routes[i] = (struct route){.down = &d, .id = (uint64_t)(40 + i)};
		routes[i].began = now + (uint64_t)(i - 1) * 600000 * LOOP_MS;
		calls[i].state = CALL_OPEN;
		open_check_add(&routes[i]);
	}
	assert_true(d.check.at == now + LATE_MS * LOOP_MS);
	open_check_timer(&d, d.check.at - 1);
	assert_string_equal(sent, ""); /* control: it is not late */
	return now;
}

static void
answer(const char *line)
{
	struct json_message m;

	assert_int_equal(json_scan((const uint8_t *)line, strlen(line), &m), 0);
	open_check_answer(&d, &m);
}

static void
lost_request(void **state)
{
	(void)two_requests();
	open_check_timer(&d, d.check.at);
	assert_non_null(strstr(sent, "\"id\":\"o1\""));
	assert_non_null(strstr(sent, "\"params\":{\"id\":41}"));
	d.served++;
	answer("{\"jsonrpc\":\"2.0\",\"id\":\"o1\",\"result\":{\"open\":false}}");
	assert_string_equal(answered,
	    "41: kennel: one: its session has no such request any more; call again");
	assert_int_equal(freed, 1);
	assert_string_equal(closed, "");
	buf_free(&hub.body);
}

static void
open_request(void **state)
{
	(void)two_requests();
	for (int i = 0; i < 20; i++) {
		sent[0] = '\0';
		for (int n = 0; sent[0] == '\0' && n < 3; n++)
			open_check_timer(&d, d.check.at);
		assert_string_not_equal(sent, ""); /* it is asked each time */
		d.served++;
		answer("{\"jsonrpc\":\"2.0\",\"id\":\"o1\",\"result\":{\"open\":true}}");
	}
	answer("{\"jsonrpc\":\"2.0\",\"id\":\"o1\",\"result\":{}}");
	assert_int_equal(freed, 0);
	assert_string_equal(closed, "");
	buf_free(&hub.body);
}

/* The answer of the server comes between the question and its answer. */
static void
answered_meanwhile(void **state)
{
	(void)two_requests();
	open_check_timer(&d, d.check.at);
	calls[1].state = CALL_FREE;
	answer("{\"jsonrpc\":\"2.0\",\"id\":\"o1\",\"result\":{\"open\":false}}");
	assert_string_equal(answered, "");
	assert_int_equal(freed, 0);
	/* the next is that of the other request, when that one is late */
	open_check_timer(&d, d.check.at);
	assert_true(d.check.at == routes[2].began + LATE_MS * LOOP_MS);
	calls[2].state = CALL_FREE;
	open_check_timer(&d, d.check.at);
	assert_true(d.check.at == UINT64_MAX);
	buf_free(&hub.body);
}

static void
silent_session(void **state)
{
	uint64_t began = two_requests();
	int n = 0;

	while (closed[0] == '\0' && n++ < 20)
		open_check_timer(&d, d.check.at);
	assert_string_equal(closed, "its session (kennel run) does not answer");
	assert_true(d.check.at - began < (LATE_MS + 30000) * LOOP_MS);
	assert_int_equal(freed, 0); /* the close answers all of them */
	buf_free(&hub.body);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(lost_request),
	    cmocka_unit_test(open_request),
	    cmocka_unit_test(answered_meanwhile),
	    cmocka_unit_test(silent_session),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
