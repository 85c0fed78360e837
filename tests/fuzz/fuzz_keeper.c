/*
 * Any bytes as a request to the keeper: the first one says which, the rest are its
 * fields.  No answer but a leash's holds the value, and that one only for the grant.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "leash/keeper/fido/fido.h"
#include "leash/keeper/private.h"
#include "leash/vault_file/private.h"
#include "shim/base/array.h"
#include "tests/fuzz/fuzz.h"

#define VALUE  "fuzz-s3ntinel-value"
#define PATH   "team/github/token"
#define SERVER "t"

struct keeper keeper;

static int said = -1; /* the fuzzer's own standard error */

static answer_fn *const request[] = {answer_hello, answer_lock, answer_release,
    answer_versions, answer_grants, change_init, change_unlock, change_put, change_remove,
    change_restore, change_reseal, change_phrase, change_grant, change_revoke,
    answer_release_old, confirm_digest, confirm_ask, change_revoke_one, key_challenge,
    key_add, key_remove, key_list_answer, store_refresh};

/* What kennel-fido would say: another target asks it. */
void
fido_ask(struct fido_question *q, struct fido_answer *ret)
{
	size_t n = q->client_data.len;

	*ret = (struct fido_answer){.verdict = n % 3 == 0 ? FIDO_RIGHT : FIDO_WRONG,
	    .counter = (uint32_t)n,
	    .id_len = n % FIDO_ID_MAX + 1,
	    .public_len = FIDO_PUBLIC_MAX,
	    .algorithm = FIDO_ES256};
}

/* What main.c does; without a loop. */
bool
keeper_is_open(void)
{
	return keeper.file != NULL && vault_file_is_open(keeper.file);
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
	vault_file_free(keeper.file);
	keeper.file = NULL;
}

/* One value and one grant; the vault's folder is none, so that nothing is kept. */
static void
fresh(void)
{
	struct vault_file_grant g = {PATH, SERVER, GRANT_POLICY, {0}, 1};
	uint32_t version;

	if (keeper.pages == NULL) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		said = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, KEEPER_FD_RUN);
		if (null < 0 || said < 0 || dup2(null, KEEPER_FD_VAULT) < 0 ||
		    vault_new(VAULT_FILE_ROOM + 2 * KEEPER_PACKET_MAX + 4096,
			&keeper.pages) < 0)
			abort();
		keeper.in = vault_scratch(keeper.pages, KEEPER_PACKET_MAX);
		keeper.out = vault_scratch(keeper.pages, KEEPER_PACKET_MAX);
	}
	if (keeper.file != NULL)
		return;
	if (vault_file_new(keeper.pages, &keeper.file) < 0 ||
	    vault_file_put(keeper.file, PATH, VALUE, strlen(VALUE), false, 1, &version) <
		0 ||
	    vault_file_grant(keeper.file, &g) < 0)
		abort();
	keeper.file->passes = 1;
	keeper.file->kib = 8;
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
	memcpy(keeper.in, data + 1, len - 1);
	wire_in_init(&in, keeper.in, len - 1);
	wire_out_init(&out, keeper.out, KEEPER_PACKET_MAX);
	memset(keeper.out, 0, KEEPER_PACKET_MAX);
	/* what it would write to its log is many lines */
	if (dup2(KEEPER_FD_VAULT, STDERR_FILENO) < 0)
		abort();
	r = fn(&peer, &in, &out);
	if (dup2(said, STDERR_FILENO) < 0)
		abort();
	if (r == 0 && (out.len < 8 || out.error != 0))
		abort(); /* each request has an answer */
	if (memmem(keeper.out, KEEPER_PACKET_MAX, VALUE, strlen(VALUE)) != NULL &&
	    ((fn != answer_release && fn != answer_release_old) || r != 0 ||
		memmem(data, len, PATH, strlen(PATH)) == NULL))
		abort();
	return 0;
}
