/*
 * Both ends of the network bench, and what lies between them for comparison.
 *
 *	net_load host			serves at a port of 127.0.0.1 that it prints
 *	net_load relay PORT		a relay to 127.0.0.1:PORT by splice(2); prints its own
 *	net_load get HOST PORT MB	reads MB megabytes: nanoseconds from connect to the end
 *	net_load connect HOST PORT N	nanoseconds from connect to a first byte, N times
 *	net_load idle HOST PORT N	opens N, says "open", and holds them until its input ends
 *
 * The host reads a number of bytes (8, in this machine's order) and sends as many.
 */
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CHUNK (256u << 10)

static uint16_t behind; /* the port that a relay leads to */

static uint64_t
now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail */
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static _Noreturn void
fail(const char *what)
{
	perror(what);
	exit(1);
}

static struct sockaddr_in
at(uint16_t port)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
	    .sin_port = htons(port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* ---- the host and the relay ---------------------------------------------------------- */

static void *
serve(void *arg)
{
	static const char zeros[CHUNK];
	int fd = (int)(intptr_t)arg;
	uint64_t left;

	while (recv(fd, &left, sizeof(left), MSG_WAITALL) == sizeof(left))
		while (left > 0) {
			ssize_t n =
			    send(fd, zeros, left < CHUNK ? left : CHUNK, MSG_NOSIGNAL);

			if (n <= 0)
				break;
			left -= (uint64_t)n;
		}
	(void)close(fd); /* all was sent, or nobody listens */
	return NULL;
}

static void
move(int from, int to)
{
	int p[2];
	ssize_t n;

	if (pipe2(p, O_CLOEXEC) < 0)
		fail("pipe2");
	(void)fcntl(p[1], F_SETPIPE_SZ, CHUNK); /* else a smaller one */
	while ((n = splice(from, NULL, p[1], NULL, CHUNK, SPLICE_F_MOVE)) > 0)
		while (n > 0) {
			ssize_t m =
			    splice(p[0], NULL, to, NULL, (size_t)n, SPLICE_F_MOVE);

			if (m <= 0)
				break;
			n -= m;
		}
	(void)shutdown(to, SHUT_WR); /* the other end may have gone */
	(void)close(p[0]);           /* only pipes */
	(void)close(p[1]);
}

struct pair {
	int from, to;
};

static void *
move_back(void *arg)
{
	struct pair *pair = arg;

	move(pair->to, pair->from);
	return NULL;
}

static void *
relay(void *arg)
{
	struct sockaddr_in there = at(behind);
	struct pair pair = {(int)(intptr_t)arg, socket(AF_INET, SOCK_STREAM, 0)};
	pthread_t back;
	int one = 1;

	if (pair.to < 0 || connect(pair.to, (struct sockaddr *)&there, sizeof(there)) < 0)
		fail("connect");
	(void)setsockopt(pair.to, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (pthread_create(&back, NULL, move_back, &pair) != 0)
		fail("pthread_create");
	move(pair.from, pair.to);
	(void)pthread_join(back, NULL); /* our own */
	(void)close(pair.from);         /* both ends were shut down */
	(void)close(pair.to);
	return NULL;
}

static _Noreturn void
listen_for(void *(*with)(void *))
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1, c;
	struct sockaddr_in here = at(0);
	socklen_t len = sizeof(here);
	pthread_attr_t small;
	pthread_t thread;

	if (fd < 0 || bind(fd, (struct sockaddr *)&here, sizeof(here)) < 0 ||
	    listen(fd, 4096) < 0 || getsockname(fd, (struct sockaddr *)&here, &len) < 0)
		fail("listen");
	printf("%d\n", ntohs(here.sin_port));
	(void)fflush(stdout); /* the reader misses it otherwise, and says so */
	(void)pthread_attr_init(&small);
	(void)pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
	(void)pthread_attr_setstacksize(&small, 128u << 10);
	while ((c = accept4(fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		(void)setsockopt(c, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		if (pthread_create(&thread, &small, with, (void *)(intptr_t)c) != 0)
			fail("pthread_create");
	}
	fail("accept4");
}

/* ---- the client ------------------------------------------------------------------------ */

static int
connect_to(const char *host, const char *port)
{
	const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
	static struct addrinfo *a;
	int fd, one = 1;

	if (a == NULL && getaddrinfo(host, port, &hints, &a) != 0)
		fail(host);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, a->ai_addr, a->ai_addrlen) < 0)
		fail("connect");
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

static void
get(int fd, uint64_t n)
{
	static char chunk[CHUNK];

	if (send(fd, &n, sizeof(n), MSG_NOSIGNAL) != sizeof(n))
		fail("send");
	while (n > 0) {
		ssize_t got = recv(fd, chunk, n < CHUNK ? n : CHUNK, 0);

		if (got <= 0)
			fail("recv");
		n -= (uint64_t)got;
	}
}

static void
client(const char *what, const char *host, const char *port, uint64_t n)
{
	uint64_t before;

	if (strcmp(what, "get") == 0) {
		before = now();
		get(connect_to(host, port), n << 20);
		printf("%llu\n", (unsigned long long)(now() - before));
		return;
	}
	(void)close(connect_to(host, port)); /* the name is looked up */
	for (uint64_t i = 0; i < n; i++) {
		int fd;

		before = now();
		fd = connect_to(host, port);
		get(fd, 1);
		if (strcmp(what, "connect") == 0) {
			printf("%llu\n", (unsigned long long)(now() - before));
			(void)close(fd); /* all was read */
		}
	}
	if (strcmp(what, "idle") == 0) {
		printf("open\n");
		(void)fflush(stdout); /* as above */
		while (getchar() != EOF)
			;
	}
}

int
main(int argc, char **argv)
{
	struct rlimit files;

	(void)signal(SIGPIPE, SIG_IGN);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files); /* else fewer at a time */
	}
	if (argc == 2 && strcmp(argv[1], "host") == 0)
		listen_for(serve);
	if (argc == 3 && strcmp(argv[1], "relay") == 0) {
		behind = (uint16_t)strtoul(argv[2], NULL, 10);
		listen_for(relay);
	}
	if (argc != 5)
		return 64;
	client(argv[1], argv[2], argv[3], strtoull(argv[4], NULL, 10));
	return 0;
}
