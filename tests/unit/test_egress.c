/*
 * The parsers and tables of kennel-egress and kennel-dial: DNS, ClientHello, which
 * addresses may be dialled, the dialer's protocol, and which sockets a policy
 * stands for; the corpora of their fuzz targets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "policy/address/address.h"
#include "leash/egress/client_hello.h"
#include "leash/egress/dial.h"
#include "leash/egress/dns.h"
#include "leash/egress/egress.h"
#include "leash/egress/plan.h"
#include "policy/sealed/sealed.h"
#include "shim/base/array.h"

/* ---- DNS -------------------------------------------------------------------------- */

/* A query for a name, in out; how many bytes. */
static size_t
query_of(const char *name, uint16_t type, bool edns, uint8_t *out)
{
	static const uint8_t head[12] = {0x12, 0x34, 0x01, 0, 0, 1};
	static const uint8_t opt[11] = {0, 0, 41, 0x10, 0, 0, 0, 0, 0, 0, 0};
	size_t n = sizeof(head), len;

	memcpy(out, head, sizeof(head));
	for (; *name != '\0'; name += len + (name[len] == '.')) {
		len = strcspn(name, ".");
		out[n++] = (uint8_t)len;
		memcpy(out + n, name, len);
		n += len;
	}
	out[n++] = 0;
	out[n++] = (uint8_t)(type >> 8);
	out[n++] = (uint8_t)type;
	out[n++] = 0;
	out[n++] = 1;
	if (edns) {
		out[11] = 1;
		memcpy(out + n, opt, sizeof(opt));
		n += sizeof(opt);
	}
	return n;
}

static void
dns_question(void **state)
{
	static const uint8_t addr[4] = {29, 31, 196, 7};
	uint8_t q[512], out[DNS_ANSWER_MAX];
	struct dns_query query;
	size_t n, len;

	(void)state;
	n = query_of("API.Example.com", DNS_A, true, q);
	assert_int_equal(dns_query_read(q, n, &query), 0);
	assert_string_equal(query.name, "api.example.com");
	assert_true(query.is_host && query.edns);
	assert_int_equal(query.rcode, DNS_NOERROR);
	assert_int_equal(query.type, DNS_A);
	len = dns_answer_write(&query, q, DNS_NOERROR, addr, out);
	/* the case of the question is kept: some clients compare it */
	assert_memory_equal(out + 12, q + 12, query.question_len);
	assert_memory_equal(out + 12 + query.question_len + 12, addr, 4);
	assert_int_equal(out[7], 1);  /* answers */
	assert_int_equal(out[11], 1); /* an OPT of its own */
	assert_int_equal(len, 12 + query.question_len + 16 + 11);
	len = dns_answer_write(&query, q, DNS_NXDOMAIN, NULL, out);
	assert_int_equal(out[3] & 15, 3);
	assert_int_equal(len, 12 + query.question_len + 11);
}

static void
dns_names_are_strict(void **state)
{
	static const char *const odd[] = {
	    "a b.example", "a\x01z.example", "a*b", "caf\xc3\xa9.example"};
	uint8_t q[512];
	struct dns_query query;
	size_t n;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
		n = query_of(odd[i], DNS_A, false, q);
		assert_int_equal(dns_query_read(q, n, &query), 0);
		assert_false(query.is_host);
	}
	/* a byte 0 inside of a label (ESCAPES 41): C would read another name */
	n = query_of("good.example.com", DNS_A, false, q);
	q[14] = 0;
	assert_int_equal(dns_query_read(q, n, &query), 0);
	assert_false(query.is_host);
	assert_string_equal(query.name, "g?od.example.com");
	q[14] = '.'; /* and a dot, which as text is two labels */
	assert_int_equal(dns_query_read(q, n, &query), 0);
	assert_false(query.is_host);
}

static void
dns_refuses(void **state)
{
	char longest[300];
	uint8_t q[600];
	struct dns_query query;
	size_t n;

	(void)state;
	n = query_of("a.example", DNS_A, true, q);
	for (size_t cut = 0; cut < 12; cut++)
		assert_int_equal(dns_query_read(q, cut, &query), -EBADMSG);
	for (size_t cut = 12; cut < n; cut++) {
		assert_int_equal(dns_query_read(q, cut, &query), 0);
		assert_int_equal(query.rcode, DNS_FORMERR);
		assert_int_equal(query.question_len, 0);
	}
	q[n] = 0; /* behind the end */
	assert_int_equal(dns_query_read(q, n + 1, &query), 0);
	assert_int_equal(query.rcode, DNS_FORMERR);
	q[2] |= 0x80; /* an answer is not answered */
	assert_int_equal(dns_query_read(q, n, &query), -EBADMSG);
	q[2] = 0x29; /* another opcode */
	assert_int_equal(dns_query_read(q, n, &query), 0);
	assert_int_equal(query.rcode, DNS_NOTIMP);
	n = query_of("a.example", DNS_A, false, q);
	q[5] = 2; /* two questions */
	assert_int_equal(dns_query_read(q, n, &query), 0);
	assert_int_equal(query.rcode, DNS_FORMERR);
	q[5] = 1;
	q[12] = 0xc0; /* compressed */
	assert_int_equal(dns_query_read(q, n, &query), 0);
	assert_int_equal(query.rcode, DNS_FORMERR);
	n = query_of("a.example", DNS_A, true, q);
	q[n - 5] = 1; /* a later EDNS */
	assert_int_equal(dns_query_read(q, n, &query), 0);
	assert_int_equal(query.rcode, DNS_BADVERS);
	memset(longest, 'a', sizeof(longest));
	for (size_t i = 49; i < sizeof(longest); i += 50)
		longest[i] = '.';
	longest[253] = '\0';
	n = query_of(longest, DNS_A, false, q);
	assert_int_equal(dns_query_read(q, n, &query), 0);
	assert_int_equal(query.rcode, DNS_NOERROR);
	assert_int_equal(query.name_len, 253);
	longest[253] = 'a';
	longest[254] = '\0';
	n = query_of(longest, DNS_A, false, q);
	assert_int_equal(dns_query_read(q, n, &query), 0);
	assert_int_equal(query.rcode, DNS_FORMERR);
}

/* ---- ClientHello -------------------------------------------------------------------- */

struct made {
	uint8_t bytes[4096];
	size_t len;
};

static void
put(struct made *m, size_t n, size_t bytes)
{
	while (bytes-- > 0)
		m->bytes[m->len++] = (uint8_t)(n >> 8 * bytes);
}

static void
put_extension(struct made *m, size_t type, const void *value, size_t len)
{
	put(m, type, 2);
	put(m, len, 2);
	memcpy(m->bytes + m->len, value, len);
	m->len += len;
}

static void
put_name(struct made *m, const char *name)
{
	struct made v = {.len = 0};

	put(&v, strlen(name) + 3, 2);
	put(&v, 0, 1);
	put(&v, strlen(name), 2);
	memcpy(v.bytes + v.len, name, strlen(name));
	put_extension(m, 0, v.bytes, v.len + strlen(name));
}

/* A ClientHello with these extensions, in one record. */
static struct made
hello_of(const struct made *extensions)
{
	struct made body = {.len = 0}, m = {.len = 0};

	put(&body, 0x0303, 2);
	body.len += 32;
	put(&body, 0, 1);
	put(&body, 2, 2);
	put(&body, 0x1301, 2);
	put(&body, 1, 1);
	put(&body, 0, 1);
	if (extensions != NULL) {
		put(&body, extensions->len, 2);
		memcpy(body.bytes + body.len, extensions->bytes, extensions->len);
		body.len += extensions->len;
	}
	put(&m, 22, 1);
	put(&m, 0x0301, 2);
	put(&m, body.len + 4, 2);
	put(&m, 1, 1);
	put(&m, body.len, 3);
	memcpy(m.bytes + m.len, body.bytes, body.len);
	m.len += body.len;
	return m;
}

static int
read_hello(const struct made *m, struct client_hello *h, enum hello_why *why)
{
	size_t need = 0;

	return client_hello_read(m->bytes, m->len, h, &need, why);
}

static void
hello_name(void **state)
{
	static const uint8_t alpn[] = {
	    0, 12, 2, 'h', '2', 8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
	struct made x = {.len = 0}, m;
	struct client_hello h;
	enum hello_why why;
	size_t need;

	(void)state;
	put_name(&x, "API.Example.com");
	put_extension(&x, 16, alpn, sizeof(alpn));
	put_extension(&x, 0xfe0d, "\0\0", 2);
	m = hello_of(&x);
	assert_int_equal(read_hello(&m, &h, &why), 0);
	assert_string_equal(h.name, "api.example.com");
	assert_string_equal(h.alpn, "h2,http/1.1");
	assert_true(h.ech && h.has_name);
	assert_int_equal(h.len, m.len);
	/* byte by byte: never wrong, never done too early */
	for (size_t n = 0; n < m.len; n++) {
		assert_int_equal(client_hello_read(m.bytes, n, &h, &need, &why), -EAGAIN);
		assert_in_range(need, n + 1, m.len);
	}
	m = hello_of(NULL);
	assert_int_equal(read_hello(&m, &h, &why), 0);
	assert_false(h.has_name);
}

/* The message cut into records of n bytes. */
static struct made
recorded(const struct made *m, size_t n)
{
	struct made out = {.len = 0};

	for (size_t at = 5; at < m->len; at += n) {
		size_t len = m->len - at < n ? m->len - at : n;

		put(&out, 22, 1);
		put(&out, 0x0301, 2);
		put(&out, len, 2);
		memcpy(out.bytes + out.len, m->bytes + at, len);
		out.len += len;
	}
	return out;
}

static void
hello_in_records(void **state)
{
	struct made x = {.len = 0}, m, cut;
	struct client_hello h;
	enum hello_why why;

	(void)state;
	put_name(&x, "api.example.com");
	m = hello_of(&x);
	for (size_t n = 1; n < m.len; n++) {
		cut = recorded(&m, n);
		assert_int_equal(read_hello(&cut, &h, &why), 0);
		assert_string_equal(h.name, "api.example.com");
		assert_int_equal(h.len, cut.len);
	}
}

static void
refused_as(const struct made *m, enum hello_why wanted)
{
	struct client_hello h;
	enum hello_why why = HELLO_OK;

	assert_int_equal(read_hello(m, &h, &why), -EBADMSG);
	assert_int_equal(why, wanted);
}

static void
hello_refuses(void **state)
{
	static const uint8_t two[] = {0, 10, 0, 0, 2, 'a', 'b', 0, 0, 2, 'c', 'd'};
	static const uint8_t kind[] = {0, 5, 1, 0, 2, 'a', 'b'};
	static const uint8_t behind[] = {0, 5, 0, 0, 2, 'a', 'b', 0};
	struct made x = {.len = 0}, m;

	(void)state;
	put_name(&x, "api.example.com");
	put_name(&x, "evil.example.com");
	m = hello_of(&x);
	refused_as(&m, HELLO_REPEATED);
	x.len = 0;
	put_extension(&x, 0, two, sizeof(two));
	m = hello_of(&x);
	refused_as(&m, HELLO_NAMES);
	x.len = 0;
	put_extension(&x, 0, kind, sizeof(kind));
	m = hello_of(&x);
	refused_as(&m, HELLO_NAMES);
	x.len = 0;
	put_extension(&x, 0, behind, sizeof(behind));
	m = hello_of(&x);
	refused_as(&m, HELLO_MALFORMED);
	x.len = 0;
	put_name(&x, "api.example.com");
	m = hello_of(&x);
	m.bytes[m.len++] = 0; /* a second message in the record */
	m.bytes[4]++;
	refused_as(&m, HELLO_MALFORMED);
	m = hello_of(&x);
	m.bytes[5] = 2; /* a ServerHello */
	refused_as(&m, HELLO_OTHER_MESSAGE);
	m = hello_of(&x);
	m.bytes[0] = 0x16 + 1;
	refused_as(&m, HELLO_NOT_TLS);
	m = hello_of(&x);
	m.bytes[6] = 1; /* 64 KiB and more */
	refused_as(&m, HELLO_TOO_LONG);
	memcpy(m.bytes, "GET / HTTP/1.1\r\n", 16);
	m.len = 16;
	refused_as(&m, HELLO_NOT_TLS);
	m.len = 1; /* seen by its first byte */
	refused_as(&m, HELLO_NOT_TLS);
}

/* A name with a byte 0 is none that a policy has. */
static void
hello_name_with_nul(void **state)
{
	struct made x = {.len = 0}, m;
	struct client_hello h;
	enum hello_why why;

	(void)state;
	put_name(&x, "api.example.comXevil");
	m = hello_of(&x);
	for (size_t i = 0; i < m.len; i++)
		if (m.bytes[i] == 'X')
			m.bytes[i] = 0;
	assert_int_equal(read_hello(&m, &h, &why), 0);
	assert_true(h.has_name);
	assert_string_equal(h.name, "");
}

static void
hello_retry(void **state)
{
	static const uint8_t retry[32] = {0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11,
	    0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a,
	    0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c};
	struct made m = {.len = 0}, cut;
	bool again = false;

	(void)state;
	put(&m, 22, 1);
	put(&m, 0x0303, 2);
	put(&m, 60, 2);
	put(&m, 2, 1);
	put(&m, 56, 3);
	put(&m, 0x0303, 2);
	memcpy(m.bytes + m.len, retry, sizeof(retry));
	m.len += 32 + 22;
	assert_int_equal(server_hello_read(m.bytes, m.len, &again), 0);
	assert_true(again);
	for (size_t n = 0; n < 43; n++)
		assert_int_equal(server_hello_read(m.bytes, n, &again), -EAGAIN);
	for (size_t n = 1; n < 40; n++) {
		cut = recorded(&m, n);
		assert_int_equal(server_hello_read(cut.bytes, cut.len, &again), 0);
		assert_true(again);
	}
	/* behind a warning */
	memcpy(cut.bytes, "\x15\x03\x03\x00\x02\x01\x70", 7);
	memcpy(cut.bytes + 7, m.bytes, m.len);
	assert_int_equal(server_hello_read(cut.bytes, 7 + m.len, &again), 0);
	assert_true(again);
	m.bytes[11] ^= 1;
	assert_int_equal(server_hello_read(m.bytes, m.len, &again), 0);
	assert_false(again);
	assert_int_equal(
	    hello_skipped((const uint8_t *)"\x14\x03\x03\x00\x01\x01\x16", 7), 6);
	assert_int_equal(
	    hello_skipped((const uint8_t *)"\x17\x03\x03\x00\x02\x01", 6), 0);
}

/* ---- addresses ------------------------------------------------------------------------ */

static void
bytes_of(const char *text, uint8_t ret[ADDRESS_LEN])
{
	assert_true(address_read(text, ret));
}

static const struct {
	const char *text;
	enum address_class class;
} class_row[] = {
    {"8.8.8.8", ADDRESS_PUBLIC},
    {"1.1.1.1", ADDRESS_PUBLIC},
    {"2606:4700::1111", ADDRESS_PUBLIC},
    {"127.0.0.1", ADDRESS_LOOPBACK},
    {"127.255.255.254", ADDRESS_LOOPBACK},
    {"::1", ADDRESS_LOOPBACK},
    {"10.1.2.3", ADDRESS_PRIVATE},
    {"172.16.0.1", ADDRESS_PRIVATE},
    {"172.31.255.255", ADDRESS_PRIVATE},
    {"172.32.0.1", ADDRESS_PUBLIC},
    {"192.168.1.1", ADDRESS_PRIVATE},
    {"100.64.0.1", ADDRESS_PRIVATE},
    {"100.128.0.1", ADDRESS_PUBLIC},
    {"fd12::1", ADDRESS_PRIVATE},
    {"169.254.169.254", ADDRESS_METADATA},
    {"169.254.170.2", ADDRESS_METADATA},
    {"100.100.100.200", ADDRESS_METADATA},
    {"168.63.129.16", ADDRESS_METADATA},
    {"fd00:ec2::254", ADDRESS_METADATA},
    {"169.254.1.1", ADDRESS_SPECIAL},
    {"0.0.0.0", ADDRESS_SPECIAL},
    {"0.1.2.3", ADDRESS_SPECIAL},
    {"192.0.0.8", ADDRESS_SPECIAL},
    {"192.0.2.1", ADDRESS_SPECIAL},
    {"198.18.0.1", ADDRESS_SPECIAL},
    {"198.19.255.255", ADDRESS_SPECIAL},
    {"198.20.0.1", ADDRESS_PUBLIC},
    {"198.51.100.1", ADDRESS_SPECIAL},
    {"203.0.113.1", ADDRESS_SPECIAL},
    {"192.88.99.1", ADDRESS_SPECIAL},
    {"192.31.196.2", ADDRESS_SPECIAL},
    {"29.31.196.2", ADDRESS_SPECIAL},
    {"29.31.199.255", ADDRESS_SPECIAL},
    {"29.31.200.0", ADDRESS_PUBLIC},
    {"29.31.195.255", ADDRESS_PUBLIC},
    {"224.0.0.1", ADDRESS_SPECIAL},
    {"239.255.255.255", ADDRESS_SPECIAL},
    {"240.0.0.1", ADDRESS_SPECIAL},
    {"255.255.255.255", ADDRESS_SPECIAL},
    {"::", ADDRESS_SPECIAL},
    {"::10.1.2.3", ADDRESS_SPECIAL},
    {"::ffff:10.1.2.3", ADDRESS_PRIVATE},
    {"::ffff:127.0.0.1", ADDRESS_LOOPBACK},
    {"::ffff:8.8.8.8", ADDRESS_PUBLIC},
    {"64:ff9b::7f00:1", ADDRESS_LOOPBACK},
    {"64:ff9b::a9fe:a9fe", ADDRESS_METADATA},
    {"64:ff9b::808:808", ADDRESS_PUBLIC},
    {"64:ff9b:1::808:808", ADDRESS_SPECIAL},
    {"2002:7f00:1::1", ADDRESS_SPECIAL},
    {"2001::1", ADDRESS_SPECIAL},
    {"2001:1ff::1", ADDRESS_SPECIAL},
    {"2001:200::1", ADDRESS_PUBLIC},
    {"2001:db8::1", ADDRESS_SPECIAL},
    {"3fff::1", ADDRESS_SPECIAL},
    {"fe80::1", ADDRESS_SPECIAL},
    {"ff02::1", ADDRESS_SPECIAL},
    {"4000::1", ADDRESS_SPECIAL},
};

static void
address_classes(void **state)
{
	uint8_t addr[ADDRESS_LEN];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(class_row); i++) {
		bytes_of(class_row[i].text, addr);
		if (address_class_of(addr) != class_row[i].class)
			fail_msg("%s is %s", class_row[i].text,
			    address_class_name(address_class_of(addr)));
	}
}

static void
address_scopes(void **state)
{
	static const struct {
		const char *text, *block; /* block: NET_CIDR */
		uint32_t prefix, scope;
		struct address_host host;
		bool may;
	} rows[] = {
	    {"8.8.8.8", NULL, 0, NET_PUBLIC, {0}, true},
	    {"8.8.8.8", NULL, 0, NET_PUBLIC, {.own = true}, false},
	    {"8.8.8.8", NULL, 0, NET_PRIVATE, {0}, false},
	    {"8.8.8.8", NULL, 0, NET_LOOPBACK, {.own = true}, true},
	    {"10.0.0.1", NULL, 0, NET_PUBLIC, {0}, false},
	    {"10.0.0.1", NULL, 0, NET_PRIVATE, {0}, true},
	    {"10.0.0.1", NULL, 0, NET_PRIVATE, {.own = true}, false},
	    {"127.0.0.1", NULL, 0, NET_PRIVATE, {.own = true}, false},
	    {"127.0.0.1", NULL, 0, NET_LOOPBACK, {.own = true}, true},
	    {"2606::1", NULL, 0, NET_PUBLIC, {.on_link = true}, false},
	    {"2606::1", NULL, 0, NET_PRIVATE, {.on_link = true}, true},
	    {"169.254.169.254", NULL, 0, NET_PRIVATE, {0}, false},
	    {"169.254.169.254", NULL, 0, NET_LOOPBACK, {.own = true}, false},
	    {"169.254.169.254", "169.254.169.254", 128, NET_CIDR, {0}, true},
	    {"169.254.169.254", "169.254.0.0", 112, NET_CIDR, {0}, false},
	    {"169.254.1.1", "169.254.0.0", 112, NET_CIDR, {0}, true},
	    {"10.0.0.1", "10.0.0.0", 104, NET_CIDR, {0}, true},
	    {"11.0.0.1", "10.0.0.0", 104, NET_CIDR, {0}, false},
	    {"64:ff9b::a00:1", "10.0.0.0", 104, NET_CIDR, {0}, true},
	    {"224.0.0.1", "0.0.0.0", 96, NET_CIDR, {0}, false},
	    {"0.0.0.0", "0.0.0.0", 96, NET_CIDR, {0}, false},
	    {"ff02::1", "::", 0, NET_CIDR, {0}, false},
	};
	uint8_t addr[ADDRESS_LEN], block[ADDRESS_LEN] = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct address_scope scope = {rows[i].scope, block, rows[i].prefix};

		bytes_of(rows[i].text, addr);
		if (rows[i].block != NULL)
			bytes_of(rows[i].block, block);
		if ((address_refused(addr, &scope, &rows[i].host) == NULL) != rows[i].may)
			fail_msg("row %zu: %s", i, rows[i].text);
	}
}

/* The block that is named to the user permits the address; where none is, none does. */
static void
address_blocks(void **state)
{
	const struct address_host host = {.own = false};
	char text[ADDRESS_BLOCK_MAX], *slash;
	uint8_t addr[ADDRESS_LEN], block[ADDRESS_LEN];
	size_t named = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(class_row); i++) {
		struct address_scope scope = {NET_CIDR, block, 128};

		if (class_row[i].class != ADDRESS_SPECIAL &&
		    class_row[i].class != ADDRESS_METADATA)
			continue;
		bytes_of(class_row[i].text, addr);
		memcpy(block, addr, sizeof(block));
		if (!address_block(addr, text)) {
			assert_non_null(address_refused(addr, &scope, &host));
			continue;
		}
		named++;
		slash = strchr(text, '/');
		assert_non_null(slash);
		*slash = '\0';
		bytes_of(text, block);
		scope.prefix = (uint32_t)strtoul(slash + 1, NULL, 10) +
			       (strchr(text, ':') == NULL ? 96 : 0);
		if (address_refused(addr, &scope, &host) != NULL)
			fail_msg(
			    "%s is not in %s/%s", class_row[i].text, text, slash + 1);
	}
	assert_true(named > 10);
	bytes_of("198.19.0.1", addr);
	assert_true(address_block(addr, text));
	assert_string_equal(text, "198.18.0.0/15");
	bytes_of("fe80::1", addr);
	assert_true(address_block(addr, text));
	assert_string_equal(text, "fe80::1/128");
	bytes_of("255.255.255.255", addr);
	assert_false(address_block(addr, text));
}

/* ---- the dialer's protocol ---------------------------------------------------------------- */

static void
dial_protocol(void **state)
{
	uint8_t memory[DIAL_PACKET_MAX];
	struct dial_request q = {DIAL_OPEN, 7, 3, 443, "api.example.com"}, got;
	struct dial_answer a = {.type = DIAL_FAILED, .id = 7, .why = DIAL_OWN}, heard;
	struct wire_out out;

	(void)state;
	wire_out_init(&out, memory, sizeof(memory));
	assert_int_equal(dial_request_write(&q, &out), 0);
	assert_int_equal(dial_request_read(memory, out.len, &got), 0);
	assert_string_equal(got.name, q.name);
	assert_int_equal(got.port, 443);
	for (size_t n = 0; n < out.len; n++)
		assert_int_equal(dial_request_read(memory, n, &got), -EBADMSG);
	memory[0] = DIAL_AGREED; /* the leash's alone */
	assert_int_equal(dial_request_read(memory, out.len, &got), -EBADMSG);
	memory[0] = DIAL_OPEN;
	memory[12] = memory[13] = 0; /* port 0 */
	assert_int_equal(dial_request_read(memory, out.len, &got), -EBADMSG);
	wire_out_init(&out, memory, sizeof(memory));
	assert_int_equal(dial_answer_write(&a, &out), 0);
	assert_int_equal(dial_answer_read(memory, out.len, &heard), 0);
	assert_int_equal(heard.why, DIAL_OWN);
	assert_false(heard.has_addr);
	memory[8] = DIAL_WHY_END;
	assert_int_equal(dial_answer_read(memory, out.len, &heard), -EBADMSG);
}

static void
report_protocol(void **state)
{
	static struct egress_report e = {.type = EGRESS_CLOSED,
					.row = 1,
					.port = 443,
					.name = "api.example.com",
					.alpn = "h2",
					.out = 5},
				    got;
	uint8_t memory[EGRESS_PACKET_MAX];
	struct wire_out out;

	(void)state;
	wire_out_init(&out, memory, sizeof(memory));
	assert_int_equal(egress_report_write(&e, &out), 0);
	assert_int_equal(egress_report_read(memory, out.len, &got), 0);
	assert_string_equal(got.alpn, "h2");
	memcpy(e.name, "a b", 4); /* what no record may hold */
	wire_out_init(&out, memory, sizeof(memory));
	assert_int_equal(egress_report_write(&e, &out), 0);
	assert_int_equal(egress_report_read(memory, out.len, &got), -EBADMSG);
	memcpy(e.name, "api.example.com", 16);
	memcpy(e.sni, "a\x1b[2J", 6);
	wire_out_init(&out, memory, sizeof(memory));
	assert_int_equal(egress_report_write(&e, &out), 0);
	assert_int_equal(egress_report_read(memory, out.len, &got), -EBADMSG);
}

/* An answer to the leash's question names no row and no host. */
static void
report_pong(void **state)
{
	static struct egress_report e = {.type = EGRESS_PONG,
					.id = 3,
					.row = EGRESS_NO_ROW},
				    got;
	uint8_t memory[EGRESS_PACKET_MAX];
	struct wire_out out;

	(void)state;
	wire_out_init(&out, memory, sizeof(memory));
	assert_int_equal(egress_report_write(&e, &out), 0);
	assert_int_equal(egress_report_read(memory, out.len, &got), 0);
	assert_int_equal(got.id, 3);
	e.row = 1;
	wire_out_init(&out, memory, sizeof(memory));
	assert_int_equal(egress_report_write(&e, &out), 0);
	assert_int_equal(egress_report_read(memory, out.len, &got), -EBADMSG);
	e.row = EGRESS_NO_ROW;
	memcpy(e.name, "a", 2);
	wire_out_init(&out, memory, sizeof(memory));
	assert_int_equal(egress_report_write(&e, &out), 0);
	assert_int_equal(egress_report_read(memory, out.len, &got), -EBADMSG);
	memcpy(e.name, "", 1);
	e.type = EGRESS_PING;
	wire_out_init(&out, memory, sizeof(memory));
	assert_int_equal(egress_report_write(&e, &out), 0);
	assert_int_equal(egress_report_read(memory, out.len, &got), -EBADMSG);
}

/* ---- the plan ---------------------------------------------------------------------------------- */

static void
plan_addresses(void **state)
{
	uint8_t addr[ADDRESS_LEN];
	char text[ADDRESS_TEXT_MAX];

	(void)state;
	plan_address(0, addr);
	assert_string_equal(address_text(addr, text), "29.31.196.1");
	for (uint32_t i = 0; i < PLAN_ADDRESSES; i++) {
		plan_address(i, addr);
		assert_int_equal(plan_number(addr), (int)i);
		assert_int_equal(address_class_of(addr), ADDRESS_SPECIAL);
		assert_int_not_equal(addr[15], 0);
		assert_int_not_equal(addr[15], 255);
	}
	bytes_of("29.31.196.0", addr);
	assert_int_equal(plan_number(addr), -1);
	bytes_of("8.8.8.8", addr);
	assert_int_equal(plan_number(addr), -1);
	bytes_of("2606::1", addr);
	assert_int_equal(plan_number(addr), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(dns_question),
	    cmocka_unit_test(dns_names_are_strict),
	    cmocka_unit_test(dns_refuses),
	    cmocka_unit_test(hello_name),
	    cmocka_unit_test(hello_in_records),
	    cmocka_unit_test(hello_refuses),
	    cmocka_unit_test(hello_name_with_nul),
	    cmocka_unit_test(hello_retry),
	    cmocka_unit_test(address_classes),
	    cmocka_unit_test(address_scopes),
	    cmocka_unit_test(address_blocks),
	    cmocka_unit_test(dial_protocol),
	    cmocka_unit_test(report_protocol),
	    cmocka_unit_test(report_pong),
	    cmocka_unit_test(plan_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
