/*
 * Which sockets a server's `net` lines need.  The cell, which makes them, and
 * kennel-egress, which receives them in the same order, both compute this from the
 * sealed policy alone, so neither has to trust the other.
 *
 *	29.31.196.1		S: the source address of the cell's own packets
 *	29.31.196.2 ...		one for each granted name
 *	...			32 for each granted suffix
 *	127.0.0.1, ::1		`localhost ... to loopback`
 *	the block's own		an address that is granted as such
 *	0.0.0.0, ::		one port of a granted block
 */
#ifndef KENNEL_LEASH_EGRESS_PLAN_H
#define KENNEL_LEASH_EGRESS_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/address/address.h"
#include "policy/sealed/policy.h"

#define PLAN_LISTENERS_MAX 1024
#define PLAN_PORTS_MAX     64 /* of one row that allows or asks */
#define PLAN_POOL          32 /* addresses of one suffix */
#define PLAN_ADDRESSES     ((size_t)3 * 254)
#define PLAN_NAMES_MAX     PLAN_ADDRESSES

struct plan_listener {
	uint8_t addr[ADDRESS_LEN]; /* 0.0.0.0 as ::ffff:0.0.0.0 */
	uint16_t port;
};

/* A granted name or suffix, with the addresses that represent it. */
struct plan_name {
	struct sealed_ref host;
	bool suffix;
	bool loopback;  /* `localhost`: 127.0.0.1 and ::1 */
	uint32_t first; /* the first synthetic address, of PLAN_POOL, 1 or 0 */
};

struct plan {
	struct plan_listener listener[PLAN_LISTENERS_MAX];
	size_t listener_n;
	struct plan_name name[PLAN_NAMES_MAX];
	size_t name_n;
	uint32_t address_n; /* synthetic addresses in use, including S */
};

/* 0; -E2BIG: more ports, names or listeners than the limits, and *ret_at is the row
 * that exceeds them. */
int plan_make(const struct policy *, const struct sealed_server *, struct plan *ret,
    struct sealed_at *ret_at);
/* Does any line grant access to anything? */
bool plan_grants(const struct policy *, const struct sealed_server *);
/* The synthetic address with this number; 0 is S. */
void plan_address(uint32_t number, uint8_t ret[ADDRESS_LEN]);
/* Its number, or -1. */
int plan_number(const uint8_t addr[ADDRESS_LEN]);

/*
 * The sockets of a cell, in the order in which they are sent: listeners, these, and
 * these again for IPv6 if the kernel has it.
 */
enum plan_socket {
	PLAN_DNS_UDP,
	PLAN_DNS_TCP,
	PLAN_SEEN_TCP, /* raw: the first packets of connections without a listener */
	PLAN_SEEN_UDP,
	PLAN_SOCKET_END,
};

#endif
