/*
 * Which addresses may be dialed.  An address is 16 bytes, IPv4 as ::ffff:a.b.c.d.
 * An address that is not on the allow-list is refused.
 */
#ifndef KENNEL_POLICY_ADDRESS_ADDRESS_H
#define KENNEL_POLICY_ADDRESS_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADDRESS_LEN      16
#define ADDRESS_TEXT_MAX 46

enum address_class {
	ADDRESS_PUBLIC,
	ADDRESS_LOOPBACK,
	ADDRESS_PRIVATE,  /* RFC 1918, 6598 (shared), 4193 (unique local) */
	ADDRESS_METADATA, /* cloud services that return credentials */
	ADDRESS_SPECIAL,  /* every other block of IANA's special-purpose registries */
};
const char *address_class_name(enum address_class);

/* What the host knows about an address. */
struct address_host {
	bool own;     /* an address of the host: its services listen there */
	bool on_link; /* IPv6 that is reached without a router */
};

/* The addresses that the policy's row permits (enum sealed_net_scope). */
struct address_scope {
	uint32_t scope;
	const uint8_t *addr; /* NET_CIDR */
	uint32_t prefix;
};

/* Of the address itself, or of the IPv4 address in a NAT64 address. */
enum address_class address_class_of(const uint8_t addr[ADDRESS_LEN]);
bool address_in(
    const uint8_t addr[ADDRESS_LEN], const uint8_t block[ADDRESS_LEN], uint32_t prefix);

/* On every host: does b permit all addresses that a permits? */
bool address_scope_within(const struct address_scope *a, const struct address_scope *b);

/* May it be dialed?  NULL: yes.  Else the reason, as in "a private address". */
const char *address_refused(const uint8_t addr[ADDRESS_LEN], const struct address_scope *,
    const struct address_host *);

/* The block that `to` needs to permit this special-purpose or metadata address, as in
 * "198.18.0.0/15". False: none does. */
#define ADDRESS_BLOCK_MAX (ADDRESS_TEXT_MAX + 4)
bool address_block(const uint8_t addr[ADDRESS_LEN], char out[ADDRESS_BLOCK_MAX]);

void address_of_v4(const uint8_t v4[4], uint8_t ret[ADDRESS_LEN]);
bool address_is_v4(const uint8_t addr[ADDRESS_LEN]);
/* "192.0.2.1", "2001:db8::1"; false: not an address. */
bool address_read(const char *text, uint8_t ret[ADDRESS_LEN]);
const char *address_text(const uint8_t addr[ADDRESS_LEN], char out[ADDRESS_TEXT_MAX]);

#endif
