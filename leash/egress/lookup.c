/*
 * Resolves names with the host's resolver, in worker processes.
 *
 *	kennel-dial		worker
 *	name ----------------->	getaddrinfo
 *	   <------------------ struct lookup_result
 *
 * Process: kennel-dial and its workers, all sandboxed before the first worker
 * starts.  Trusts NSS with nothing: its replies are checked afterwards.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <nss.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "leash/egress/dialer.h"
#include "shim/base/fd.h"
#include "shim/base/loop.h"

#define CACHE_MAX 64
#define GOOD_NS   (10000 * LOOP_MS) /* NSS does not report how long a reply is valid */
#define BAD_NS    (1000 * LOOP_MS)
#define STUCK_NS  (15000 * LOOP_MS)

struct entry {
	char name[DIAL_NAME_MAX + 1]; /* "": free */
	bool known;
	uint64_t at_ns; /* known: valid until then; else: time of the first request */
	struct lookup_result result;
};

static struct {
	struct entry entry[CACHE_MAX];
	struct {
		int fd;
		pid_t pid;
		struct entry *busy; /* with this name; in use until it replies */
		uint64_t since_ns;
	} worker[LOOKUP_WORKERS];
	bool begun;
} cache;

/* ---- NSS ---------------------------------------------------------------------------- */

int
lookup_limit_nss(struct nsswitch_hosts *ret)
{
	int r = nsswitch_hosts(ret);

	if (r == 0 && ret->left_out_n > 0 &&
	    __nss_configure_lookup("hosts", ret->used) < 0)
		r = -EINVAL;
	return r;
}

/* ---- a worker ----------------------------------------------------------------------- */

static void
take_address(struct lookup_result *result, const struct sockaddr *sa)
{
	uint8_t *to = result->addr[result->n];

	if (sa->sa_family == AF_INET) {
		struct sockaddr_in four;

		memcpy(&four, sa, sizeof(four));
		address_of_v4((const uint8_t *)&four.sin_addr, to);
	} else if (sa->sa_family == AF_INET6) {
		struct sockaddr_in6 six;

		memcpy(&six, sa, sizeof(six));
		memcpy(to, &six.sin6_addr, ADDRESS_LEN);
	} else
		return;
	for (uint32_t i = 0; i < result->n; i++)
		if (memcmp(result->addr[i], to, ADDRESS_LEN) == 0)
			return;
	result->n++;
}

static void
resolve(const char *name, struct lookup_result *ret)
{
	const struct addrinfo hints = {
	    .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	struct addrinfo *all = NULL;
	struct lookup_result result = {0};
	int e;

	/*
	 * What the modules named above ask of the kernel:
	 * syscalls: socket connect bind sendto sendmsg sendmmsg recvfrom recvmsg
	 * syscalls: getsockname getpeername setsockopt getsockopt poll ppoll ioctl
	 * syscalls: open openat access faccessat faccessat2 stat newfstatat statx
	 * syscalls: readlink readlinkat getdents64 uname fcntl writev pread64
	 * syscalls: epoll_create1 epoll_ctl epoll_wait epoll_pwait eventfd2 timerfd_create
	 * syscalls: timerfd_settime getcwd sysinfo sched_getaffinity statfs fstatfs
	 */
	e = getaddrinfo(name, NULL, &hints, &all);
	for (const struct addrinfo *a = all; a != NULL && result.n < ANSWERS_MAX;
	     a = a->ai_next)
		take_address(&result, a->ai_addr);
	if (all != NULL)
		freeaddrinfo(all);
	if (e == EAI_NONAME || e == EAI_NODATA || (e == 0 && result.n == 0))
		result.why = DIAL_NO_NAME;
	else if (e != 0)
		result.why = DIAL_RESOLVER;
	*ret = result;
}

static _Noreturn void
worker_run(int sock)
{
	char name[DIAL_NAME_MAX + 1];
	struct lookup_result result;
	ssize_t n;

	for (;;) {
		n = recv(sock, name, sizeof(name) - 1, 0);
		if (n <= 0)
			_exit(0);
		name[n] = '\0';
		resolve(name, &result);
		if (send(sock, &result, sizeof(result), MSG_NOSIGNAL) < 0)
			_exit(1);
	}
}

/* ---- starting and ending workers ----------------------------------------------- */

static void
worker_end(size_t i)
{
	int status;

	fd_close(&cache.worker[i].fd);
	if (cache.worker[i].pid > 0) {
		/* syscalls: kill wait4 */
		(void)kill(cache.worker[i].pid, SIGKILL); /* our child, not reaped */
		(void)waitpid(cache.worker[i].pid, &status, 0);
	}
	cache.worker[i].pid = 0;
}

static int
worker_start(size_t i)
{
	int pair[2], e;
	pid_t pid;

	if (cache.worker[i].fd >= 0)
		return 0;
	/* syscalls: socketpair */
	e = fd_pair(pair);
	if (e < 0)
		return e;
	/* syscalls: clone clone3 fork vfork set_tid_address */
	pid = fork();
	if (pid == 0) {
		/* syscalls: prctl close_range dup2 dup3 */
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || dup2(pair[1], 3) < 0 ||
		    close_range(4, ~0u, 0) < 0)
			_exit(1);
		worker_run(3);
	}
	fd_close(&pair[1]);
	if (pid < 0) {
		fd_close(&pair[0]);
		return -errno;
	}
	cache.worker[i].fd = pair[0];
	cache.worker[i].pid = pid;
	return 0;
}

int
lookup_fd(size_t worker)
{
	return cache.begun ? cache.worker[worker].fd : -1;
}

static void
known(struct entry *e, const struct lookup_result *result, uint64_t now)
{
	e->result = *result;
	e->known = true;
	e->at_ns = now + (result->why == 0 ? GOOD_NS : BAD_NS);
}

static void
failed(size_t i, uint64_t now)
{
	const struct lookup_result none = {.why = DIAL_RESOLVER};

	if (cache.worker[i].busy != NULL)
		known(cache.worker[i].busy, &none, now);
	cache.worker[i].busy = NULL;
	worker_end(i);
}

void
lookup_ready(size_t worker, uint64_t now)
{
	struct lookup_result result;
	ssize_t n = recv(cache.worker[worker].fd, &result, sizeof(result), MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n != (ssize_t)sizeof(result) || result.n > ANSWERS_MAX ||
	    result.why >= DIAL_WHY_END || cache.worker[worker].busy == NULL) {
		failed(worker, now); /* a module made a system call that is not allowed */
		return;
	}
	known(cache.worker[worker].busy, &result, now);
	cache.worker[worker].busy = NULL;
}

bool
lookup_timers(uint64_t now)
{
	bool changed = false;

	for (size_t i = 0; cache.begun && i < LOOKUP_WORKERS; i++)
		if (cache.worker[i].busy != NULL &&
		    now - cache.worker[i].since_ns >= STUCK_NS) {
			failed(i, now);
			changed = true;
		}
	return changed;
}

/* ---- the cache -------------------------------------------------------------------------- */

static bool
in_work(const struct entry *e)
{
	for (size_t i = 0; i < LOOKUP_WORKERS; i++)
		if (cache.worker[i].busy == e)
			return true;
	return false;
}

/* Its own entry, or an unused one. */
static struct entry *
place_of(const char *name, uint64_t now)
{
	struct entry *free_ = NULL;

	for (size_t i = 0; i < CACHE_MAX; i++) {
		struct entry *e = &cache.entry[i];

		if (strcmp(e->name, name) == 0)
			return e;
		if (e->name[0] == '\0' || (!in_work(e) && (!e->known || now >= e->at_ns)))
			free_ = e;
	}
	if (free_ == NULL)
		return NULL;
	*free_ = (struct entry){.at_ns = now};
	memcpy(free_->name, name, strlen(name) + 1);
	return free_;
}

static int
ask_worker(struct entry *e, uint64_t now)
{
	for (size_t i = 0; i < LOOKUP_WORKERS; i++) {
		if (cache.worker[i].busy != NULL)
			continue;
		if (worker_start(i) < 0 || send(cache.worker[i].fd, e->name,
					       strlen(e->name), MSG_NOSIGNAL) < 0) {
			worker_end(i);
			continue;
		}
		cache.worker[i].busy = e;
		cache.worker[i].since_ns = now;
		break;
	}
	return -EAGAIN;
}

int
lookup(const char *name, uint64_t now, struct lookup_result *ret)
{
	struct entry *e;

	if (!cache.begun)
		for (size_t i = 0; i < LOOKUP_WORKERS; i++)
			cache.worker[i].fd = -1;
	cache.begun = true;
	e = place_of(name, now);
	if (e == NULL)
		return -EAGAIN;
	if (e->known && now < e->at_ns) {
		*ret = e->result;
		return 0;
	}
	e->known = false;
	return in_work(e) ? -EAGAIN : ask_worker(e, now);
}
