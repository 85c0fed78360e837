/*
 * Which addresses may be dialed: see address.h.
 *
 * kennel-dial trusts no reply of a resolver: the owner of a granted name may point it
 * at any address.  It must never check one address and dial another.
 */
#include "policy/address/address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "policy/sealed/sealed.h"

#define V4(a, b, c, d) \
	{ \
		[10] = 0xff, [11] = 0xff, [12] = (a), [13] = (b), [14] = (c), [15] = (d) \
	}

struct block {
	uint8_t addr[ADDRESS_LEN];
	uint32_t prefix; /* of 128 */
	enum address_class class;
};

/*
 * First match wins.  IANA's registries of special-purpose addresses (RFC 6890 and
 * later), and the addresses of cloud metadata services.
 */
static const struct block blocks[] = {
    {V4(169, 254, 169, 254), 128, ADDRESS_METADATA},
    {V4(169, 254, 170, 2), 128, ADDRESS_METADATA}, /* for containers */
    {V4(100, 100, 100, 200), 128, ADDRESS_METADATA},
    {V4(168, 63, 129, 16), 128, ADDRESS_METADATA},
    {{0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, [15] = 0x54}, 128, ADDRESS_METADATA},
    {{0xfd, 0x00, 0x0e, 0xc2, [15] = 0x23}, 128, ADDRESS_METADATA},
    {V4(127, 0, 0, 0), 104, ADDRESS_LOOPBACK},
    {{[15] = 1}, 128, ADDRESS_LOOPBACK},
    {V4(10, 0, 0, 0), 104, ADDRESS_PRIVATE},
    {V4(172, 16, 0, 0), 108, ADDRESS_PRIVATE},
    {V4(192, 168, 0, 0), 112, ADDRESS_PRIVATE},
    {V4(100, 64, 0, 0), 106, ADDRESS_PRIVATE},
    {{0xfc}, 7, ADDRESS_PRIVATE},
    {V4(0, 0, 0, 0), 104, ADDRESS_SPECIAL},
    {V4(169, 254, 0, 0), 112, ADDRESS_SPECIAL},
    {V4(192, 0, 0, 0), 120, ADDRESS_SPECIAL},
    {V4(192, 0, 2, 0), 120, ADDRESS_SPECIAL},
    {V4(192, 31, 196, 0), 120, ADDRESS_SPECIAL},
    {V4(192, 52, 193, 0), 120, ADDRESS_SPECIAL},
    {V4(192, 175, 48, 0), 120, ADDRESS_SPECIAL},
    {V4(29, 31, 196, 0), 118, ADDRESS_SPECIAL}, /* the cells' own (plan.c) */
    {V4(192, 88, 99, 0), 120, ADDRESS_SPECIAL},
    {V4(198, 18, 0, 0), 111, ADDRESS_SPECIAL},
    {V4(198, 51, 100, 0), 120, ADDRESS_SPECIAL},
    {V4(203, 0, 113, 0), 120, ADDRESS_SPECIAL},
    {V4(224, 0, 0, 0), 99, ADDRESS_SPECIAL}, /* multicast, reserved, broadcast */
    {V4(0, 0, 0, 0), 96, ADDRESS_PUBLIC},    /* the rest of IPv4 */
    {{0x20, 0x01}, 23, ADDRESS_SPECIAL},     /* protocols, Teredo, ORCHID */
    {{0x20, 0x01, 0x0d, 0xb8}, 32, ADDRESS_SPECIAL},
    {{0x20, 0x02}, 16, ADDRESS_SPECIAL}, /* 6to4 */
    {{0x26, 0x20, 0x00, 0x4f, 0x80}, 48, ADDRESS_SPECIAL},
    {{0x3f, 0xff}, 20, ADDRESS_SPECIAL},
    {{0x20}, 3, ADDRESS_PUBLIC},
    {{0}, 0, ADDRESS_SPECIAL},
};

static const uint8_t nat64[ADDRESS_LEN] = {0x00, 0x64, 0xff, 0x9b};

const char *address_class_name(enum address_class class)
{
	static const char *const name[] = {
	    [ADDRESS_PUBLIC] = "a public address",
	    [ADDRESS_LOOPBACK] = "a loopback address",
	    [ADDRESS_PRIVATE] = "a private address",
	    [ADDRESS_METADATA] = "an address of a cloud's metadata service",
	    [ADDRESS_SPECIAL] = "a special-purpose address",
	};

	return name[class];
}

void
address_of_v4(const uint8_t v4[4], uint8_t ret[ADDRESS_LEN])
{
	static const uint8_t front[12] = {[10] = 0xff, [11] = 0xff};

	memcpy(ret, front, sizeof(front));
	memcpy(ret + sizeof(front), v4, 4);
}

bool
address_is_v4(const uint8_t addr[ADDRESS_LEN])
{
	static const uint8_t front[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(addr, front, sizeof(front)) == 0;
}

bool
address_in(
    const uint8_t addr[ADDRESS_LEN], const uint8_t block[ADDRESS_LEN], uint32_t prefix)
{
	uint32_t whole = prefix / 8, bits = prefix % 8;

	if (memcmp(addr, block, whole) != 0)
		return false;
	return bits == 0 || ((addr[whole] ^ block[whole]) >> (8 - bits)) == 0;
}

/* Where a packet to this address ends up: NAT64's IPv4 (RFC 6052), or itself. */
static void
unpack(const uint8_t addr[ADDRESS_LEN], uint8_t ret[ADDRESS_LEN])
{
	if (address_in(addr, nat64, 96))
		address_of_v4(addr + 12, ret);
	else
		memmove(ret, addr, ADDRESS_LEN);
}

static const struct block *
block_of(const uint8_t addr[ADDRESS_LEN])
{
	uint8_t a[ADDRESS_LEN];
	size_t i = 0;

	unpack(addr, a);
	while (!address_in(a, blocks[i].addr, blocks[i].prefix))
		i++; /* the last row matches every address */
	return &blocks[i];
}

enum address_class
address_class_of(const uint8_t addr[ADDRESS_LEN])
{
	return block_of(addr)->class;
}

/* `to` a block: permits its addresses, but metadata only by its exact address, and
 * never addresses without a host (multicast, 0.0.0.0) or that lead to another address. */
static bool
named(const uint8_t addr[ADDRESS_LEN], const struct address_scope *s)
{
	uint8_t a[ADDRESS_LEN];
	enum address_class class = address_class_of(addr);

	unpack(addr, a);
	if (!address_in(a, s->addr, s->prefix))
		return false;
	if (class == ADDRESS_METADATA)
		return s->prefix == 128;
	if (address_is_v4(a))
		return a[12] != 0 && a[12] < 224;
	return class != ADDRESS_SPECIAL || a[0] == 0xfe || (a[0] & 0xe0) == 0x20;
}

const char *
address_refused(const uint8_t addr[ADDRESS_LEN], const struct address_scope *s,
    const struct address_host *host)
{
	enum address_class class = address_class_of(addr);
	bool near = host->on_link && class == ADDRESS_PUBLIC;
	bool yes;

	switch (s->scope) {
	case NET_LOOPBACK: /* services on this machine */
		yes =
		    class == ADDRESS_LOOPBACK || (host->own && class != ADDRESS_METADATA);
		break;
	case NET_PRIVATE:
		yes = !host->own && (class == ADDRESS_PRIVATE || near);
		break;
	case NET_CIDR:
		yes = named(addr, s);
		break;
	default:
		yes = !host->own && !near && class == ADDRESS_PUBLIC;
	}
	if (yes)
		return NULL;
	if (host->own)
		return "an address of this machine";
	return near ? "an address on this machine's own network"
		    : address_class_name(class);
}

/*
 * A block also permits addresses of the host itself, and the other scopes do not, so
 * that no block is within one of them, and only the block of all addresses contains one.
 */
bool
address_scope_within(const struct address_scope *a, const struct address_scope *b)
{
	bool both = a->scope == NET_CIDR && b->scope == NET_CIDR;

	if (both && a->prefix == 128 && b->prefix < 128 &&
	    address_class_of(a->addr) == ADDRESS_METADATA)
		return false;
	if (both)
		return a->prefix >= b->prefix && address_in(a->addr, b->addr, b->prefix);
	if (b->scope == NET_CIDR)
		return b->prefix == 0 &&
		       (a->scope == NET_PUBLIC || a->scope == NET_PRIVATE);
	return a->scope == b->scope;
}

bool
address_block(const uint8_t addr[ADDRESS_LEN], char out[ADDRESS_BLOCK_MAX])
{
	const struct block *b = block_of(addr);
	struct address_scope s = {NET_CIDR, b->addr, b->prefix};
	uint8_t a[ADDRESS_LEN];
	char text[ADDRESS_TEXT_MAX];

	unpack(addr, a);
	if (s.prefix == 0) /* the rest of IPv6 is no block */
		s = (struct address_scope){NET_CIDR, a, 128};
	if (!named(addr, &s))
		return false;
	(void)snprintf(out, ADDRESS_BLOCK_MAX, "%s/%u", address_text(s.addr, text),
	    s.prefix - (address_is_v4(s.addr) ? 96 : 0)); /* fits */
	return true;
}

const char *
address_text(const uint8_t addr[ADDRESS_LEN], char out[ADDRESS_TEXT_MAX])
{
	bool v4 = address_is_v4(addr);

	/* large enough */
	(void)inet_ntop(
	    v4 ? AF_INET : AF_INET6, v4 ? addr + 12 : addr, out, ADDRESS_TEXT_MAX);
	return out;
}

bool
address_read(const char *text, uint8_t ret[ADDRESS_LEN])
{
	uint8_t v4[4];

	if (inet_pton(AF_INET, text, v4) == 1) {
		address_of_v4(v4, ret);
		return true;
	}
	return inet_pton(AF_INET6, text, ret) == 1;
}
