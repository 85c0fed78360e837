/*
 * kennel-secret's requests to a keeper that does not answer in time: its late answer is not
 * read as that of the next request.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "leash/secret/private.h"

static uint8_t packet[KEEPER_PACKET_MAX];
static struct order o = {.verb = "test", .packet = packet};

void
vault_wipe(void *at, size_t len)
{
	explicit_bzero(at, len);
}

int
order_fail(const struct order *order, int status, const char *what)
{
	(void)order;
	(void)what;
	return status;
}

static int
ask(uint32_t *ret)
{
	struct wire_out out;

	talk_begin(&o, &out, KEEPER_LOCK);
	return talk_done(&o, &out, ret);
}

static void
answer(int fd, uint32_t number)
{
	uint8_t memory[16];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, KEEPER_DONE);
	wire_put_u32(&out, number);
	(void)wire_send(fd, &out, NULL, 0); /* the client may have closed it */
}

static void
begin(int pair[2])
{
	struct timeval wait = {.tv_usec = 20000};

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	assert_int_equal(
	    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)), 0);
	o.keeper = pair[0];
}

static void
in_time(void **state)
{
	uint32_t number = 0;
	int pair[2];

	(void)state;
	begin(pair);
	answer(pair[1], 7);
	assert_int_equal(ask(&number), STATUS_OK);
	answer(pair[1], 8);
	assert_int_equal(ask(&number), STATUS_OK);
	assert_int_equal(number, 8);
	(void)close(pair[0]);
	(void)close(pair[1]);
}

static void
late(void **state)
{
	uint32_t number = 0;
	int pair[2];

	(void)state;
	begin(pair);
	assert_int_equal(ask(&number), 125);
	answer(pair[1], 7);
	assert_int_equal(ask(&number), 125);
	assert_int_equal(number, 0);
	assert_int_equal(o.keeper, -1);
	(void)close(pair[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(in_time),
	    cmocka_unit_test(late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
