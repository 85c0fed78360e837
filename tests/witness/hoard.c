/*
 * What the kernel counts by user, over all namespaces (witness.h): a server of
 * that user that takes all of it takes it from the user's other programs.
 *
 *	hoard [MS [N]]	take what can be had, N of each kind at most, say how
 *			much, hold it for MS
 */
#include "tests/witness/witness.h"

#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define QUEUES_MAX   64
#define FLIGHT_BATCH 100

static long take_max = 200000;

static long
take_inotify(void)
{
	long n = 0;

	while (n < take_max && inotify_init1(IN_CLOEXEC) >= 0)
		n++;
	return n;
}

/* Each timer keeps a queued signal of its own. */
static long
take_timers(void)
{
	struct sigevent nothing = {.sigev_notify = SIGEV_NONE};
	long n = 0;
	int timer; /* the kernel's; the C library's is a pointer */

	while (n < take_max &&
	       syscall(SYS_timer_create, CLOCK_MONOTONIC, &nothing, &timer) == 0)
		n++;
	return n;
}

static long
take_queues(void)
{
	struct mq_attr big = {.mq_maxmsg = 10, .mq_msgsize = 8192};
	char name[64];
	long n = 0;

	for (; n < QUEUES_MAX; n++) {
		(void)snprintf(name, sizeof(name), "/kennel-hoard-%d-%ld", getpid(), n);
		mqd_t q = mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, &big);
		if (q == (mqd_t)-1)
			break;
		(void)mq_unlink(name); /* it counts as long as it is open */
	}
	return n;
}

/* Descriptors on their way: sent, not received. */
static long
take_flight(void)
{
	char room[CMSG_SPACE(FLIGHT_BATCH * sizeof(int))] = {0}, byte = 'x';
	struct iovec v = {&byte, 1};
	struct msghdr m = {.msg_iov = &v,
	    .msg_iovlen = 1,
	    .msg_control = room,
	    .msg_controllen = sizeof(room)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	int pair[2], zeros[FLIGHT_BATCH] = {0};
	long n = 0;

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(zeros));
	memcpy(CMSG_DATA(c), zeros, sizeof(zeros));
	while (n < take_max && socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0) {
		while (n < take_max && sendmsg(pair[0], &m, MSG_DONTWAIT) == 1)
			n += FLIGHT_BATCH;
		if (errno != EAGAIN)
			break;
	}
	return n;
}

int
verb_hoard(int argc, char **argv)
{
	if (argc > 1)
		take_max = atol(argv[1]);
	/* The flight first: its sockets need descriptors. */
	printf("flight=%ld\n", take_flight());
	printf("timers=%ld\n", take_timers());
	printf("queues=%ld\n", take_queues());
	printf("inotify=%ld\n", take_inotify());
	(void)fflush(stdout); /* a test waits for it */
	if (argc > 0)
		usleep((unsigned int)atoi(argv[0]) * 1000);
	return 0;
}
