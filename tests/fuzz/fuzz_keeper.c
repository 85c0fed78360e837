/*
 * Any bytes as a request to the keeper: the first one says which, the rest are its
 * fields.  No answer but a leash's holds the value, and that one only for the grant.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "leash/keeper/private.h"
#include "tests/fuzz/fuzz.h"

#define VALUE  "fuzz-s3ntinel-value"
#define PATH   "team/github/token"
#define SERVER "t"

struct keeper the;

static int said = -1; /* the fuzzer's own standard error */

static answer_fn *const request[] = {answer_hello, answer_lock, answer_release,
    answer_versions, answer_grants, change_init, change_unlock, change_put, change_remove,
    change_restore, change_reseal, change_phrase, change_grant, change_revoke,
    answer_release_old};

/* What main.c does; without a loop. */
bool
keeper_is_open(void)
{
	return the.container != NULL && container_is_open(the.container);
}

void
keeper_used(void)
{
}

void
keeper_opened(uint32_t idle_s, uint32_t cap_s)
{
}

void
keeper_quit_soon(void)
{
}

void
keeper_lock(const char *why)
{
	container_free(the.container);
	the.container = NULL;
}

/* One value and one grant; the vault's folder is none, so that nothing is kept. */
static void
fresh(void)
{
	struct container_grant g = {PATH, SERVER, GRANT_POLICY, {0}, 1};
	uint32_t version;

	if (the.pages == NULL) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		said = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, KEEPER_FD_RUN);
		if (null < 0 || said < 0 || dup2(null, KEEPER_FD_VAULT) < 0 ||
		    vault_new(CONTAINER_ROOM + 2 * KEEPER_PACKET_MAX + 4096, &the.pages) <
			0)
			abort();
		the.in = vault_scratch(the.pages, KEEPER_PACKET_MAX);
		the.out = vault_scratch(the.pages, KEEPER_PACKET_MAX);
	}
	if (the.container != NULL)
		return;
	if (container_new(the.pages, &the.container) < 0 ||
	    container_put(the.container, PATH, VALUE, strlen(VALUE), false, 1, &version) <
		0 ||
	    container_grant(the.container, &g) < 0)
		abort();
	container_cost(the.container, 1, 8);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct peer peer = {.fd = -1, .who = "fuzz"};
	struct wire_out out;
	struct wire_in in;
	answer_fn *fn;
	int r;

	if (len == 0 || len > KEEPER_PACKET_MAX)
		return 0;
	fresh();
	fn = request[data[0] % ARRAY_LEN(request)];
	memcpy(the.in, data + 1, len - 1);
	wire_in_init(&in, the.in, len - 1);
	wire_out_init(&out, the.out, KEEPER_PACKET_MAX);
	memset(the.out, 0, KEEPER_PACKET_MAX);
	/* what it would write to its log is many lines */
	if (dup2(KEEPER_FD_VAULT, STDERR_FILENO) < 0)
		abort();
	r = fn(&peer, &in, &out);
	if (dup2(said, STDERR_FILENO) < 0)
		abort();
	if (r == 0 && (out.len < 8 || out.error != 0))
		abort(); /* each request has an answer */
	if (memmem(the.out, KEEPER_PACKET_MAX, VALUE, strlen(VALUE)) != NULL &&
	    ((fn != answer_release && fn != answer_release_old) || r != 0 ||
		memmem(data, len, PATH, strlen(PATH)) == NULL))
		abort();
	return 0;
}
