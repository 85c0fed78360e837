/*
 * Is an address one of this machine, or in its own IPv6 network?
 *
 * Process: kennel-dial.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "leash/egress/dialer.h"
#include "shim/base/loop.h"

#define INTERFACES_MAX 256
#define FRESH_NS       (1000 * LOOP_MS)

struct interface {
	uint8_t addr[ADDRESS_LEN];
	uint32_t prefix; /* of 128 */
};

static struct {
	struct interface at[INTERFACES_MAX];
	size_t n;
	uint64_t read_ns;
	bool known;
} interfaces;

static uint32_t
bits_of(const uint8_t *mask, size_t len)
{
	uint32_t n = 0;

	for (size_t i = 0; i < len; i++)
		for (uint8_t b = mask[i]; (b & 0x80) != 0; b = (uint8_t)(b << 1))
			n++;
	return n;
}

static bool
interface_of(const struct ifaddrs *a, struct interface *ret)
{
	if (a->ifa_addr == NULL || a->ifa_netmask == NULL)
		return false;
	if (a->ifa_addr->sa_family == AF_INET) {
		struct sockaddr_in addr, mask;

		memcpy(&addr, a->ifa_addr, sizeof(addr));
		memcpy(&mask, a->ifa_netmask, sizeof(mask));
		address_of_v4((const uint8_t *)&addr.sin_addr, ret->addr);
		ret->prefix = 96 + bits_of((const uint8_t *)&mask.sin_addr, 4);
		return true;
	}
	if (a->ifa_addr->sa_family == AF_INET6) {
		struct sockaddr_in6 addr, mask;

		memcpy(&addr, a->ifa_addr, sizeof(addr));
		memcpy(&mask, a->ifa_netmask, sizeof(mask));
		memcpy(ret->addr, &addr.sin6_addr, ADDRESS_LEN);
		ret->prefix = bits_of((const uint8_t *)&mask.sin6_addr, ADDRESS_LEN);
		return true;
	}
	return false;
}

/* Addresses may change while a server runs. */
static void
refresh(uint64_t now)
{
	struct ifaddrs *all = NULL;

	if (interfaces.known && now - interfaces.read_ns < FRESH_NS)
		return;
	/* syscalls: socket bind getsockname sendto sendmsg recvmsg close */
	interfaces.known = getifaddrs(&all) == 0;
	interfaces.n = 0;
	interfaces.read_ns = now;
	for (const struct ifaddrs *a = all; a != NULL; a = a->ifa_next)
		if (interfaces.n == INTERFACES_MAX)
			interfaces.known = false;
		else if (interface_of(a, &interfaces.at[interfaces.n]))
			interfaces.n++;
	if (all != NULL)
		freeifaddrs(all);
}

/* Would a packet to it have it as its source?  Sends nothing.  Also detects routes
 * that make whole blocks local, which no interface shows. */
static bool
comes_from_itself(const uint8_t addr[ADDRESS_LEN])
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(9)};
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(9)};
	bool v4 = address_is_v4(addr);
	struct sockaddr *a = v4 ? (struct sockaddr *)&four : (struct sockaddr *)&six;
	socklen_t len = v4 ? sizeof(four) : sizeof(six);
	int fd = socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool own = false;

	memcpy(v4 ? (void *)&four.sin_addr : (void *)&six.sin6_addr,
	    v4 ? addr + 12 : addr, v4 ? 4 : ADDRESS_LEN);
	if (fd < 0)
		return false;
	/* syscalls: connect */
	if (connect(fd, a, len) == 0 && getsockname(fd, a, &len) == 0)
		own = v4 ? memcmp(&four.sin_addr, addr + 12, 4) == 0
			 : memcmp(&six.sin6_addr, addr, ADDRESS_LEN) == 0;
	(void)close(fd);
	return own;
}

void
host_facts(const uint8_t addr[ADDRESS_LEN], uint64_t now, struct address_host *ret)
{
	struct address_host h = {.own = comes_from_itself(addr)};

	refresh(now);
	/* if the interfaces are unknown, treat every IPv6 address as on-link */
	h.on_link = !interfaces.known && !address_is_v4(addr);
	for (size_t i = 0; i < interfaces.n; i++) {
		const struct interface *at = &interfaces.at[i];

		if (memcmp(at->addr, addr, ADDRESS_LEN) == 0)
			h.own = true;
		else if (!address_is_v4(addr) && !address_is_v4(at->addr) &&
			 at->prefix > 0 && address_in(addr, at->addr, at->prefix))
			h.on_link = true;
	}
	*ret = h;
}
