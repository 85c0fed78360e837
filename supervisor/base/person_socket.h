/*
 * A socket of a running session for its user: SOCK_SEQPACKET, mode 0600, in the user's
 * run directory. Only processes of the same user, or root, may connect (SO_PEERCRED).
 *
 * Trusts no packet and waits for no client: one that does not read, or that sends an
 * invalid packet, is dropped. Not for values of secrets.
 */
#ifndef KENNEL_SUPERVISOR_BASE_PERSON_SOCKET_H
#define KENNEL_SUPERVISOR_BASE_PERSON_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/base/loop.h"
#include "shim/base/wire.h"

#define PERSON_CLIENTS_MAX 8
#define PERSON_PACKET_MAX  512 /* from a client */

struct person_socket;

struct person_client {
	struct person_socket *socket;
	int fd; /* -1: dropped */
	int slot;
	bool watching;    /* for the owner of the socket */
	uint32_t channel; /* likewise */
	bool spoke;
	uint64_t since_ns;
	uint32_t uid, pid; /* of the process that connected, according to the kernel */
};

/* Called with a packet; less than 0 drops the client, which person_send may have done
 * before. */
typedef int person_packet_fn(void *arg, struct person_client *, struct wire_in *);

struct person_socket_order {
	struct loop *loop;
	const char *run_dir; /* exists, 0700 */
	const char *prefix;  /* of its name; the process's id follows */
	int send_bytes;      /* requested size of a client's buffer; 0: the kernel's */
	person_packet_fn *fn;
	void *arg;
};

/* Call it before the process confines itself. Returns 0 or -errno. */
int person_socket_open(const struct person_socket_order *, struct person_socket **ret);
/* Drops all clients and removes the file. Ignores NULL. */
void person_socket_free(struct person_socket *);
/* Sends a packet, or drops the client. Ignores one that is dropped. */
void person_send(struct person_client *, struct wire_out *);
/* The connected client after this one (NULL: the first); NULL after the last. */
struct person_client *person_next(struct person_socket *, struct person_client *after);

/* ---- the other end ----------------------------------------------------------- */

/* Connects to the socket of process pid, without waiting: a descriptor or -errno;
 * -ENOENT also if there is no run directory; -EACCES: another user listens there. */
int person_connect(const char *prefix, long pid);
/* Receives a packet into memory within 5 s: 0 or -errno. */
int person_receive(int fd, void *memory, size_t cap, struct wire_in *ret);
/* Removes the socket that process pid, which has ended, left. */
void person_socket_remove(const char *prefix, long pid);
/* The pids in the names of such sockets, in no order; returns how many. */
size_t person_sockets(const char *prefix, long *pid, size_t max);

#endif
