/*
 * The sockets of a session for its user, and the other end of them.
 */
#include "supervisor/base/person_socket.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "supervisor/base/paths.h"

#define BACKLOG    8
#define OF_ONE     4                   /* clients of one process */
#define FIRST_NS   (2000ull * LOOP_MS) /* for the first packet, if all slots are used */
#define RECEIVE_MS 5000

struct person_socket {
	struct person_socket_order o;
	int fd, slot;
	struct sockaddr_un address;
	struct person_client client[PERSON_CLIENTS_MAX];
};

/* ---- clients ------------------------------------------------------------------ */

static void
client_drop(struct person_client *c)
{
	loop_remove(c->socket->o.loop, c->slot);
	c->slot = -1;
	c->watching = false;
	fd_close(&c->fd);
}

void
person_send(struct person_client *c, struct wire_out *out)
{
	/* a client that does not read is dropped */
	if (c->fd >= 0 && wire_send(c->fd, out, NULL, 0) < 0) /* syscalls: sendmsg */
		client_drop(c);
}

struct person_client *
person_next(struct person_socket *d, struct person_client *after)
{
	struct person_client *c = after == NULL ? d->client : after + 1;

	while (c < d->client + PERSON_CLIENTS_MAX && c->fd < 0)
		c++;
	return c < d->client + PERSON_CLIENTS_MAX ? c : NULL;
}

static void
on_client(struct loop *loop, int fd, short revents, void *arg)
{
	struct person_client *c = arg;
	uint8_t memory[PERSON_PACKET_MAX];
	struct wire_in in;
	size_t len, none;
	int r = wire_recv(fd, memory, sizeof(memory), &len, NULL, 0, &none);

	(void)loop, (void)revents;
	/* syscalls: recvmsg */
	if (r == -EAGAIN)
		return;
	if (r == 0) {
		c->spoke = true;
		wire_in_init(&in, memory, len);
		r = c->socket->o.fn(c->socket->o.arg, c, &in);
	}
	if (r < 0 && c->fd >= 0)
		client_drop(c);
}

static size_t
clients_of(struct person_socket *d, uint32_t pid)
{
	struct person_client *c = NULL;
	size_t n = 0;

	while ((c = person_next(d, c)) != NULL)
		n += c->pid == pid;
	return n;
}

/* Finds a free slot, or that of a client that has sent nothing for 2 s: silent
 * connections must not keep a user out. */
static struct person_client *
find_place(struct person_socket *d)
{
	struct person_client *silent = NULL;

	for (size_t i = 0; i < PERSON_CLIENTS_MAX; i++) {
		struct person_client *c = &d->client[i];

		if (c->fd < 0)
			return c;
		if (!c->spoke && loop_now() - c->since_ns > FIRST_NS)
			silent = c;
	}
	if (silent != NULL)
		client_drop(silent);
	return silent;
}

static int
admit(struct person_client *c, int fd)
{
	struct ucred who;
	socklen_t len = sizeof(who);
	int bytes = c->socket->o.send_bytes;

	/* syscalls: getsockopt setsockopt fcntl */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) < 0)
		return -errno;
	if (who.uid != geteuid() && who.uid != 0)
		return -EACCES;
	if (bytes > 0)
		/* the kernel may grant less; a client with a full buffer is dropped */
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	if (clients_of(c->socket, (uint32_t)who.pid) >= OF_ONE)
		return -EMFILE;
	c->uid = who.uid;
	c->pid = (uint32_t)who.pid;
	c->spoke = false;
	c->channel = 0; /* not that of an earlier client */
	c->since_ns = loop_now();
	c->slot = loop_add(c->socket->o.loop, fd, POLLIN, on_client, c);
	if (c->slot < 0)
		return -ENOSPC;
	c->fd = fd;
	return 0;
}

static void
on_connect(struct loop *loop, int listening, short revents, void *arg)
{
	struct person_socket *d = arg;
	struct person_client *free_one;
	/* syscalls: accept4 geteuid */
	int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)loop, (void)revents;
	if (fd < 0)
		return; /* gone again */
	free_one = find_place(d);
	if (free_one == NULL || admit(free_one, fd) < 0)
		fd_close(&fd);
}

/* ---- begin and end ------------------------------------------------------------ */

/* The path of the socket of process pid. Returns 0 or -ENAMETOOLONG. */
static int
make_address(const char *dir, const char *prefix, long pid, struct sockaddr_un *ret)
{
	int n;

	memset(ret, 0, sizeof(*ret));
	ret->sun_family = AF_UNIX;
	n = snprintf(ret->sun_path, sizeof(ret->sun_path), "%s/%s%ld", dir, prefix, pid);
	return n < 0 || (size_t)n >= sizeof(ret->sun_path) ? -ENAMETOOLONG : 0;
}

static int
make_socket(struct person_socket *d)
{
	int r = make_address(d->o.run_dir, d->o.prefix, (long)getpid(), &d->address);

	if (r < 0)
		return r;
	d->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (d->fd < 0)
		return -errno;
	(void)unlink(d->address.sun_path); /* left by an earlier process with our pid */
	if (bind(d->fd, (struct sockaddr *)&d->address, sizeof(d->address)) < 0)
		return -errno;
	/* the directory is 0700 already; this is a second barrier */
	if (chmod(d->address.sun_path, 0600) < 0 || listen(d->fd, BACKLOG) < 0)
		return -errno;
	return 0;
}

int
person_socket_open(const struct person_socket_order *order, struct person_socket **ret)
{
	struct person_socket *d = calloc(1, sizeof(*d));
	int r;

	if (d == NULL)
		return -ENOMEM;
	d->o = *order;
	d->fd = d->slot = -1;
	for (size_t i = 0; i < PERSON_CLIENTS_MAX; i++)
		d->client[i] = (struct person_client){.socket = d, .fd = -1, .slot = -1};
	r = make_socket(d);
	if (r == 0) {
		d->slot = loop_add(d->o.loop, d->fd, POLLIN, on_connect, d);
		r = d->slot < 0 ? -ENOSPC : 0;
	}
	if (r < 0) {
		person_socket_free(d);
		return r;
	}
	*ret = d;
	return 0;
}

void
person_socket_free(struct person_socket *d)
{
	struct person_client *c = NULL;

	if (d == NULL)
		return;
	while ((c = person_next(d, c)) != NULL)
		client_drop(c);
	loop_remove(d->o.loop, d->slot);
	if (d->fd >= 0 && d->address.sun_path[0] != '\0')
		/* syscalls: unlink unlinkat */
		(void)unlink(d->address.sun_path); /* harmless if it stays */
	fd_close(&d->fd);
	free(d);
}

/* ---- the other end ------------------------------------------------------------ */

/* Does this user, or root, listen at the other end? 0 or -errno. */
static int
check_owner(int fd)
{
	struct ucred who;
	socklen_t len = sizeof(who);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) < 0)
		return -errno;
	return who.uid == geteuid() || who.uid == 0 ? 0 : -EACCES;
}

int
person_connect(const char *prefix, long pid)
{
	const char *dir = paths_run_dir();
	struct sockaddr_un to;
	int fd, r = dir == NULL ? -ENOENT : make_address(dir, prefix, pid, &to);

	if (r < 0)
		return r;
	/* do not wait for a session that accepts no connections */
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	r = connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 ? -errno : 0;
	if (r == 0)
		r = check_owner(fd);
	if (r < 0)
		fd_close(&fd);
	return r < 0 ? r : fd;
}

int
person_receive(int fd, void *memory, size_t cap, struct wire_in *ret)
{
	struct pollfd wait = {fd, POLLIN, 0};
	size_t len, none;
	int r;

	if (poll(&wait, 1, RECEIVE_MS) <= 0)
		return -ETIMEDOUT;
	r = wire_recv(fd, memory, cap, &len, NULL, 0, &none);
	if (r == 0)
		wire_in_init(ret, memory, len);
	return r;
}

void
person_socket_remove(const char *prefix, long pid)
{
	const char *dir = paths_run_dir();
	struct sockaddr_un at;

	if (dir != NULL && make_address(dir, prefix, pid, &at) == 0)
		(void)unlink(at.sun_path); /* the next client tries again */
}

size_t
person_sockets(const char *prefix, long *pid, size_t max)
{
	size_t len = strlen(prefix), n = 0;
	const char *path = paths_run_dir();
	DIR *dir = path == NULL ? NULL : opendir(path);
	struct dirent *e;
	char *end;

	while (dir != NULL && n < max && (e = readdir(dir)) != NULL) {
		if (strncmp(e->d_name, prefix, len) != 0)
			continue;
		pid[n] = strtol(e->d_name + len, &end, 10);
		if (*end == '\0' && pid[n] > 0)
			n++;
	}
	if (dir != NULL)
		(void)closedir(dir); /* read-only */
	return n;
}
