/*
 * kennel-keeper: holds the vault's key while it is unlocked.
 *
 * Process: one per user and run directory, started by kennel-secret when needed;
 * ends when the vault is locked and no client is connected, and on TERM.  Holds:
 * the key, in locked pages excluded from core dumps; the vault's directory.
 * Trusts: a connection of its own user with everything the user may do, as far as
 * that proves anything (docs/TRUST.md); a grant in the vault file to release a
 * value.  Must never: send a value to anything but a leash, or without a grant;
 * start a program (fido_child.c was started before), open a socket, or write outside
 * the vault's directory.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "keeper_syscalls.h"
#include "leash/keeper/private.h"
#include "shim/base/array.h"
#include "shim/base/confine.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/base/loop.h"

#define QUIT_MS     500
#define PAGES_BYTES (VAULT_FILE_ROOM + 2 * KEEPER_PACKET_MAX + (16u << 10))

struct keeper keeper = {
    .lock_timer = -1, .quit_timer = -1, .hello_timer = -1, .listener_slot = -1};

/* ---- unlocked and locked ------------------------------------------------------- */

bool
keeper_is_open(void)
{
	return keeper.file != NULL && vault_file_is_open(keeper.file);
}

static void
on_lock_timer(struct loop *loop, void *arg)
{
	uint64_t now = loop_now();

	keeper.lock_timer = -1;
	if (!keeper_is_open())
		return;
	if (now >= keeper.cap_at)
		keeper_lock("maximum time reached");
	else if (now >= keeper.idle_at)
		keeper_lock("idle");
	else
		keeper_used();
}

static void
arm(void)
{
	uint64_t at = keeper.idle_at < keeper.cap_at ? keeper.idle_at : keeper.cap_at;

	loop_timer_stop(&keeper.loop, keeper.lock_timer);
	keeper.lock_timer = loop_timer_at(&keeper.loop, at, on_lock_timer, NULL);
	if (keeper.lock_timer < 0)
		keeper_lock("unable to set the timer");
}

void
keeper_used(void)
{
	if (!keeper_is_open())
		return;
	keeper.idle_at = loop_now() + keeper.idle_ns;
	arm();
}

void
keeper_opened(uint32_t idle_s, uint32_t cap_s)
{
	if (idle_s == 0)
		idle_s = KEEPER_IDLE_S;
	if (cap_s == 0)
		cap_s = KEEPER_CAP_S;
	if (idle_s > KEEPER_IDLE_MAX_S)
		idle_s = KEEPER_IDLE_MAX_S;
	if (cap_s > KEEPER_CAP_MAX_S)
		cap_s = KEEPER_CAP_MAX_S;
	keeper.idle_ns = idle_s * NS_PER_S;
	keeper.cap_at = loop_now() + cap_s * NS_PER_S;
	keeper_used();
}

void
keeper_lock(const char *why)
{
	bool open = keeper_is_open();

	loop_timer_stop(&keeper.loop, keeper.lock_timer);
	keeper.lock_timer = -1;
	vault_file_free(keeper.file); /* wipes the key and the decrypted data */
	keeper.file = NULL;
	confirm_forget();
	key_forget();
	vault_wipe(keeper.in, KEEPER_PACKET_MAX);
	vault_wipe(keeper.out, KEEPER_PACKET_MAX);
	if (open)
		log_info("locked: %s", why);
	keeper_quit_soon();
}

static void
on_quit(struct loop *loop, void *arg)
{
	keeper.quit_timer = -1;
	if (keeper.peer_n == 0 && !keeper_is_open())
		loop_stop(loop);
}

void
keeper_quit_soon(void)
{
	loop_timer_stop(&keeper.loop, keeper.quit_timer);
	keeper.quit_timer = -1;
	if (keeper.peer_n > 0 || keeper_is_open())
		return;
	keeper.quit_timer =
	    loop_timer_at(&keeper.loop, loop_now() + QUIT_MS * LOOP_MS, on_quit, NULL);
	if (keeper.quit_timer < 0)
		loop_stop(&keeper.loop);
}

/* ---- start and end ----------------------------------------------------------------- */

static void
on_signal(struct loop *loop, int fd, short revents, void *arg)
{
	loop_stop(loop);
}

static void
given_check(void)
{
	socklen_t len = sizeof(int);
	struct stat st;
	int listens = 0;

	/* syscalls: getsockopt */
	if (getsockopt(KEEPER_FD_LISTENER, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) <
		0 ||
	    listens == 0 || fstat(KEEPER_FD_VAULT, &st) < 0 || !S_ISDIR(st.st_mode) ||
	    fstat(KEEPER_FD_RUN, &st) < 0 || !S_ISDIR(st.st_mode))
		die("started by kennel secret, not by hand");
	for (int fd = KEEPER_FD_FIRST; fd < KEEPER_FD_FIRST + KEEPER_FDS; fd++) {
		if (fd_cloexec(fd, true) < 0)
			die("descriptor %d is missing", fd);
	}
}

static void
watch(int fd, loop_fd_fn *fn, int *ret_slot)
{
	int slot = fd < 0 ? -EBADF : loop_add(&keeper.loop, fd, POLLIN, fn, NULL);

	if (slot < 0)
		die("unable to watch a descriptor: %s", strerror(-slot));
	if (ret_slot != NULL)
		*ret_slot = slot;
}

static void
make_ready(void)
{
	sigset_t ends;
	int r = vault_new(PAGES_BYTES, &keeper.pages);

	if (r < 0)
		die("unable to lock memory for secrets: %s", strerror(-r));
	keeper.in = vault_scratch(keeper.pages, KEEPER_PACKET_MAX);
	keeper.out = vault_scratch(keeper.pages, KEEPER_PACKET_MAX);
	if (keeper.in == NULL || keeper.out == NULL)
		bug("no room in the pages");
	for (size_t i = 0; i < PEERS_MAX; i++)
		keeper.peer[i].fd = -1;
	loop_init(&keeper.loop);
	(void)sigemptyset(&ends);
	(void)sigaddset(&ends, SIGTERM);
	(void)sigaddset(&ends, SIGINT);
	(void)sigaddset(&ends, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &ends, NULL); /* valid signals */
	/* early: signalfd4 */
	watch(signalfd(-1, &ends, SFD_CLOEXEC), on_signal, NULL);
	if (fd_nonblock(KEEPER_FD_LISTENER, true) < 0)
		die("no socket to listen on");
	watch(KEEPER_FD_LISTENER, peers_accept, &keeper.listener_slot);
	keeper_quit_soon();
}

static void
confine(void)
{
	const struct confine_path path[] = {
	    {KEEPER_FD_VAULT, CONFINE_READ | CONFINE_WRITE},
	    {KEEPER_FD_RUN, CONFINE_WRITE}, /* to unlink its own socket at the end */
	};
	int r = confine_paths(path, ARRAY_LEN(path));

	if (r < 0)
		die("unable to confine the keeper's files: %s", strerror(-r));
	r = confine_syscalls(keeper_syscalls, ARRAY_LEN(keeper_syscalls));
	if (r < 0)
		die("unable to confine the keeper's system calls: %s", strerror(-r));
}

/* No new connection, no key, no socket file remain.  The locks end with the process. */
static void
finish(void)
{
	keeper_lock("the keeper is exiting");
	/* syscalls: shutdown unlinkat */
	(void)shutdown(KEEPER_FD_LISTENER, SHUT_RDWR); /* our socket: cannot fail */
	(void)unlinkat(KEEPER_FD_RUN, KEEPER_SOCKET, 0);
	for (size_t i = 0; i < PEERS_MAX; i++)
		peers_end(&keeper.peer[i]);
	vault_free(keeper.pages);
}

int
main(void)
{
	int r;

	log_open("kennel-keeper", LOG_INFO);
	given_check();
	if (confine_no_dumps() < 0)
		die("unable to forbid dumps");
	(void)umask(077);
	(void)signal(SIGPIPE, SIG_IGN); /* a valid signal: cannot fail */
	fido_child_start();
	make_ready();
	confine();
	confine_drop_start();
	r = loop_run(&keeper.loop);
	if (r < 0)
		log_error("unable to wait: %s", strerror(-r));
	finish();
	return r < 0 ? LOG_EXIT_FAILED : 0;
}
