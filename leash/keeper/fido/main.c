/*
 * kennel-fido: checks one signature of a security key.
 *
 * Process: one for each question, started by the keeper's child (leash/keeper/
 * fido_child.c), with the question on descriptor 3. Holds: public keys and what a
 * browser sent. Trusts: nothing of it. Must never: hold the vault's key; open a file or a
 * socket; run longer than FIDO_WAIT_S.
 */
#include <errno.h>
#include <fido.h>
#include <string.h>

#include <jansson.h>
#include <openssl/crypto.h>

#include "fido_syscalls.h"
#include "leash/keeper/fido/fido.h"
#include "shim/base/array.h"
#include "shim/base/confine.h"
#include "shim/base/log.h"

static void
confine(void)
{
	int r = confine_no_dumps();

	if (r == 0)
		r = confine_paths(NULL, 0);
	/* syscalls: getrandom futex mmap munmap mprotect brk getpid */
	if (r == 0)
		r = confine_syscalls(fido_syscalls, ARRAY_LEN(fido_syscalls));
	if (r < 0)
		die("unable to confine itself: %s", strerror(-r));
}

int
main(void)
{
	static uint8_t packet[FIDO_PACKET_MAX];
	struct fido_question q;
	static struct fido_answer a;
	struct wire_out out;
	struct wire_in in;
	size_t len = 0;
	int r;

	log_open("kennel-fido", LOG_INFO);
	/* both read a file at their first use; no host's configuration is needed */
	json_object_seed(0); /* early: openat */
	if (OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) != 1)
		die("unable to initialize OpenSSL");
	confine();
	r = wire_recv(FIDO_FD, packet, sizeof(packet), &len, NULL, 0, NULL);
	wire_in_init(&in, packet, len);
	if (r < 0 || (r = fido_get_question(&in, &q)) < 0)
		die("no question: %s; kennel-keeper starts this program", strerror(-r));
	fido_init(0);
	a.number = q.number;
	if (q.use == FIDO_REGISTER)
		signature_register(&q, &a);
	else
		signature_confirm(&q, &a);
	wire_out_init(&out, packet, sizeof(packet)); /* the question is used up */
	fido_put_answer(&out, &a, q.use);
	r = wire_send(FIDO_FD, &out, NULL, 0);
	if (r < 0)
		die("unable to answer: %s", strerror(-r));
	return 0;
}
