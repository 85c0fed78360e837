/*
 * Links and logins of the console, and which requests are its own.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/console/logins.h"
#include "supervisor/console/request_check.h"

#define START (1000 * NS_PER_S)
#define HERE  "localhost:4000"

static struct login_keys
entered(struct logins *l, uint64_t now)
{
	char link[LOGIN_TEXT_MAX];
	struct login_keys k;

	assert_int_equal(login_link_new(l, now, link), 0);
	assert_int_equal(login_enter(l, now, link, &k), 0);
	return k;
}

static void
a_link_is_late_after_60_s(void **state)
{
	char link[LOGIN_TEXT_MAX];
	struct logins l = {0};
	struct login_keys k;

	assert_int_equal(login_link_new(&l, START, link), 0);
	assert_int_equal(login_enter(&l, START + LOGIN_LINK_NS, link, &k), -ENOENT);
	assert_int_equal(login_enter(&l, START, link, &k), -ENOENT); /* it is gone */
	assert_int_equal(login_link_new(&l, START, link), 0);
	assert_int_equal(login_enter(&l, START + LOGIN_LINK_NS - 1, link, &k), 0);
}

static void
a_link_works_once_and_twice_ends_its_login(void **state)
{
	char link[LOGIN_TEXT_MAX];
	struct logins l = {0};
	struct login_keys k, other = entered(&l, START), again;

	assert_int_equal(login_link_new(&l, START, link), 0);
	assert_int_equal(login_enter(&l, START, link, &k), 0);
	assert_non_null(login_find(&l, START, k.cookie, k.page, true));
	assert_int_equal(login_enter(&l, START, link, &again), -EALREADY);
	assert_null(login_find(&l, START, k.cookie, k.page, true));
	assert_int_equal(login_enter(&l, START, link, &again), -ENOENT);
	assert_non_null(login_find(&l, START, other.cookie, other.page, true));
}

static void
a_login_ends_after_15_idle_minutes(void **state)
{
	struct logins l = {0};
	struct login_keys k = entered(&l, START);
	uint64_t now = START + LOGIN_IDLE_NS - 1;

	/* what the page asks by itself does not count */
	assert_non_null(login_find(&l, now, k.cookie, k.page, false));
	assert_null(login_find(&l, now + 1, k.cookie, k.page, false));
	k = entered(&l, START);
	assert_non_null(login_find(&l, now, k.cookie, k.page, true));
	assert_non_null(login_find(&l, now + LOGIN_IDLE_NS - 1, k.cookie, k.page, true));
}

static void
a_login_ends_after_8_hours_of_use(void **state)
{
	struct logins l = {0};
	struct login_keys k = entered(&l, START);
	uint64_t now = START;

	for (; now < START + LOGIN_LIFE_NS; now += LOGIN_IDLE_NS / 2)
		assert_non_null(login_find(&l, now, k.cookie, k.page, true));
	assert_null(login_find(&l, START + LOGIN_LIFE_NS, k.cookie, k.page, true));
}

static void
both_secrets_of_one_login_are_needed(void **state)
{
	struct logins l = {0};
	struct login_keys a = entered(&l, START), b = entered(&l, START);
	static const char zero[] = "00000000000000000000000000000000";

	assert_string_not_equal(a.cookie, b.cookie);
	assert_string_not_equal(a.cookie, a.page);
	assert_non_null(login_find(&l, START, a.cookie, a.page, true));
	assert_null(login_find(&l, START, a.cookie, b.page, true));
	assert_null(login_find(&l, START, a.page, a.cookie, true));
	assert_null(login_find(&l, START, a.cookie, NULL, true));
	assert_null(login_find(&l, START, NULL, a.page, true));
	/* a place that is free belongs to nobody */
	assert_null(login_find(&l, START, zero, zero, true));
	login_end(login_find(&l, START, a.cookie, a.page, true));
	assert_null(login_find(&l, START, zero, zero, true));
	assert_null(login_find(&l, START, a.cookie, a.page, true));
	assert_non_null(login_find(&l, START, b.cookie, b.page, true));
}

static void
places_are_few_and_the_oldest_is_replaced(void **state)
{
	char link[LOGIN_LINKS_MAX + 1][LOGIN_TEXT_MAX];
	struct login_keys k[LOGINS_MAX + 1], none;
	struct logins l = {0};

	for (size_t i = 0; i <= LOGIN_LINKS_MAX; i++)
		assert_int_equal(login_link_new(&l, START + i, link[i]), 0);
	assert_int_equal(login_enter(&l, START + 9, link[0], &none), -ENOENT);
	assert_int_equal(login_enter(&l, START + 9, link[1], &none), 0);
	for (size_t i = 0; i <= LOGINS_MAX; i++)
		k[i] = entered(&l, START + 10 + i);
	assert_null(login_find(&l, START + 99, k[0].cookie, k[0].page, true));
	for (size_t i = 1; i <= LOGINS_MAX; i++)
		assert_non_null(login_find(&l, START + 99, k[i].cookie, k[i].page, true));
}

static void
requests_of_other_pages_are_refused(void **state)
{
	static const struct http_request get = {
	    .method = "GET", .path = "/api/login", .host = HERE};
	static const struct http_request post = {.method = "POST",
	    .path = "/api/login",
	    .host = HERE,
	    .origin = "http://" HERE,
	    .type = "application/json"};
	struct http_request q[] = {
	    get, get, get, get, get, post, post, post, post, post, post, post};
	static const unsigned int status[] = {
	    421, 421, 403, 403, 400, 403, 403, 403, 415, 415, 413, 405};
	const char *why = NULL;

	q[0].host = NULL;
	q[1].host = "127.0.0.1:4000";
	q[2].origin = "http://localhost:40000";
	q[3].fetch_site = "same-site"; /* another port */
	q[4].repeated = true;
	q[5].origin = NULL;
	q[6].origin = "null";
	q[7].fetch_site = "cross-site";
	q[8].type = NULL;
	q[9].type = "text/plain";
	q[10].too_large = true;
	q[11].path = "/";
	assert_int_equal(request_check(&get, HERE, &why), 0);
	assert_int_equal(request_check(&post, HERE, &why), 0);
	for (size_t i = 0; i < ARRAY_LEN(q); i++) {
		assert_int_equal(request_check(&q[i], HERE, &why), status[i]);
		assert_non_null(why);
	}
	/* a page is opened from anywhere: it contains nothing */
	q[3].path = "/";
	assert_int_equal(request_check(&q[3], HERE, &why), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_link_is_late_after_60_s),
	    cmocka_unit_test(a_link_works_once_and_twice_ends_its_login),
	    cmocka_unit_test(a_login_ends_after_15_idle_minutes),
	    cmocka_unit_test(a_login_ends_after_8_hours_of_use),
	    cmocka_unit_test(both_secrets_of_one_login_are_needed),
	    cmocka_unit_test(places_are_few_and_the_oldest_is_replaced),
	    cmocka_unit_test(requests_of_other_pages_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
