/*
 * kennel-remote's requests for its refresh token, to a leash that answers late.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "leash/refresh_request.h"
#include "leash/remote/oauth.h"
#include "leash/vault/vault.h"
#include "shim/base/wire.h"

static int waits_ended; /* so many waits end without an answer */

int __real_poll(struct pollfd *, nfds_t, int);
int __wrap_poll(struct pollfd *, nfds_t, int);

int
__wrap_poll(struct pollfd *fds, nfds_t n, int ms)
{
	return waits_ended > 0 ? (waits_ended--, 0) : __real_poll(fds, n, ms);
}

static void
leash_value(int fd, const char *token)
{
	uint8_t memory[256];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, REFRESH_VALUE);
	wire_put_bytes(&out, token, strlen(token));
	assert_int_equal(wire_send(fd, &out, NULL, 0), 0);
}

static void
leash_done(int fd)
{
	uint8_t memory[16];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, REFRESH_DONE);
	assert_int_equal(wire_send(fd, &out, NULL, 0), 0);
}

static uint32_t
leash_asked(int fd)
{
	uint8_t memory[REFRESH_PACKET_MAX];
	struct wire_in in;
	size_t len = 0;

	if (wire_recv(fd, memory, sizeof(memory), &len, NULL, 0, NULL) < 0)
		return 0;
	wire_in_init(&in, memory, len);
	return wire_get_u32(&in);
}

/* An answer that comes after the wait belongs to no later request: neither to one of its
 * own kind, nor to a PUT; and nothing is asked while it is still due. */
static void
late_answers(void **state)
{
	static const char old[] = "old-token-4711-abcdefgh",
			  present[] = "new-token-0815-ijklmnop";
	const struct secret *token;
	struct oauth o = {.refresh_fd = -1};
	const char *why = NULL;
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
	assert_int_equal(tokens_new(&o.tokens), 0);
	o.refresh_fd = pair[0];
	waits_ended = 2;
	assert_int_equal(refresh_get(&o, &why), -ETIMEDOUT);
	assert_non_null(strstr(why, "does not answer"));
	assert_int_equal(leash_asked(pair[1]), REFRESH_GET);
	assert_int_equal(refresh_get(&o, &why), -ETIMEDOUT);
	assert_int_equal(leash_asked(pair[1]), 0); /* one is under way */
	leash_value(pair[1], old);
	leash_value(pair[1], present);
	assert_int_equal(refresh_get(&o, &why), 0);
	token = tokens_present(o.tokens, TOKEN_REFRESH);
	assert_true(secret_equals(token, present, strlen(present)));
	assert_int_equal(leash_asked(pair[1]), REFRESH_GET);
	waits_ended = 1;
	assert_int_equal(refresh_get(&o, &why), -ETIMEDOUT);
	assert_int_equal(leash_asked(pair[1]), REFRESH_GET);
	leash_value(pair[1], old);
	leash_done(pair[1]);
	assert_int_equal(refresh_put(&o, token, &why), 0);
	assert_int_equal(leash_asked(pair[1]), REFRESH_PUT);
	tokens_free(o.tokens);
	(void)close(pair[0]);
	(void)close(pair[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(late_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
