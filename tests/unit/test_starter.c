/*
 * The process that starts a server again: an answer that comes after its request was given up
 * is not taken for that to the next one, and it starts only so many in a minute.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/wire.h"
#include "supervisor/launch/launch.h"
#include "supervisor/launch/starter.h"

int
start_again(struct opened *o, const char *file, bool *ret_asks, char why[LEASH_TEXT_MAX])
{
	(void)snprintf(why, LEASH_TEXT_MAX, "started %s", file);
	return -ENOENT;
}

void
child_free(struct child *c)
{
}

/* Answers request n with one end of a pair; the other end. */
static int
answer(int sock, uint32_t n)
{
	uint8_t memory[64];
	struct wire_out out;
	int pair[2];

	assert_int_equal(fd_pair(pair), 0);
	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, STARTER_STARTED);
	wire_put_u32(&out, n);
	wire_put_u32(&out, 0);
	wire_put_str(&out, "");
	assert_int_equal(wire_send(sock, &out, &pair[1], 1), 0);
	fd_close(&pair[1]);
	return pair[0];
}

static void
late_answer(void **state)
{
	char why[LEASH_TEXT_MAX], byte;
	int pair[2], first, second, channel;
	bool asks;

	assert_int_equal(fd_pair(pair), 0);
	first = answer(pair[1], 1);
	second = answer(pair[1], 2);
	/* request 1 took too long; 2 is under way */
	assert_int_equal(starter_take(pair[0], 2, &asks, why), -EAGAIN);
	assert_int_equal(read(first, &byte, 1), 0); /* its leash ends */
	channel = starter_take(pair[0], 2, &asks, why);
	assert_true(channel >= 0);
	assert_int_equal(write(channel, "x", 1), 1);
	assert_int_equal(read(second, &byte, 1), 1); /* control: this one serves */
	fd_close(&channel);
	fd_close(&first);
	fd_close(&second);
	fd_close(&pair[0]);
	fd_close(&pair[1]);
}

static void
starts_in_a_minute(void **state)
{
	struct opened o = {.starter = -1};
	char why[LEASH_TEXT_MAX];
	bool asks;

	o.found.fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	o.log_dir_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(starter_fork(&o, "it"), 0);
	for (uint32_t n = 1; n <= STARTER_STARTS_MAX + 2; n++) {
		assert_int_equal(starter_ask(o.starter, n), 0);
		assert_int_equal(starter_take(o.starter, n, &asks, why), -ECONNREFUSED);
		if (n <= STARTER_STARTS_MAX)
			assert_string_equal(why, "started it");
		else
			assert_non_null(strstr(why, "too often"));
	}
	starter_end(&o);
	fd_close(&o.found.fd);
	fd_close(&o.log_dir_fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(late_answer),
	    cmocka_unit_test(starts_in_a_minute),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
