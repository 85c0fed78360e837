/*
 * HOST:PORT, as `net` grants it: a name, all names below a name, an address or
 * an address block.  Also: whether two of these overlap.
 */
#include "policy/lang/host.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#define NAME_MAX_LEN  253
#define LABEL_MAX_LEN 63
#define V4_BITS       96 /* bits before an IPv4 address in ::ffff:0:0/96 */

/* ---- addresses ----------------------------------------------------------- */

static void
mapped(uint8_t addr[16], const uint8_t v4[4])
{
	memset(addr, 0, 10);
	addr[10] = addr[11] = 0xff;
	memcpy(addr + 12, v4, 4);
}

static bool
host_bits_are_zero(const uint8_t addr[16], uint32_t prefix)
{
	uint32_t i;

	for (i = prefix; i < 128; i++)
		if ((addr[i / 8] >> (7 - i % 8) & 1) != 0)
			return false;
	return true;
}

int
host_cidr(const char *text, size_t len, uint8_t addr[16], uint32_t *ret_prefix)
{
	const char *slash = memchr(text, '/', len);
	size_t n = slash == NULL ? len : (size_t)(slash - text), i;
	uint32_t bits = 0, most = 128, base = 0;
	char copy[64];
	uint8_t v4[4];

	if (n == 0 || n >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, text, n);
	copy[n] = '\0';
	if (inet_pton(AF_INET, copy, v4) == 1) {
		mapped(addr, v4);
		most = 32;
		base = V4_BITS;
	} else if (inet_pton(AF_INET6, copy, addr) != 1) {
		return -EINVAL;
	}
	if (slash == NULL) {
		*ret_prefix = 128;
		return 0;
	}
	if (len - n - 1 == 0 || len - n - 1 > 3 || (slash[1] == '0' && len - n - 1 > 1))
		return -EINVAL;
	for (i = n + 1; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -EINVAL;
		bits = bits * 10 + (uint32_t)(text[i] - '0');
	}
	if (bits > most || !host_bits_are_zero(addr, base + bits))
		return -EINVAL;
	*ret_prefix = base + bits;
	return 0;
}

/* ---- ports --------------------------------------------------------------- */

/* Parses the text after the last colon: N, N-M or *. */
static bool
ports(const char *text, size_t len, struct host *h)
{
	uint32_t *at = &h->port_first;
	size_t i;

	if (len == 1 && text[0] == '*') {
		h->port_first = 1;
		h->port_last = 65535;
		return true;
	}
	h->port_first = h->port_last = 0;
	for (i = 0; i < len; i++) {
		if (text[i] == '-' && at == &h->port_first && *at > 0) {
			at = &h->port_last;
			continue;
		}
		if (text[i] < '0' || text[i] > '9' || (*at == 0 && text[i] == '0'))
			return false;
		*at = *at * 10 + (uint32_t)(text[i] - '0');
		if (*at > 65535)
			return false;
	}
	if (at == &h->port_first)
		h->port_last = h->port_first;
	return h->port_first > 0 && h->port_last >= h->port_first;
}

/* ---- names --------------------------------------------------------------- */

static const char *
name_why(const char *text, size_t len)
{
	size_t i, label = 0;
	bool digits = true; /* the last label */

	if (len == 0 || len > NAME_MAX_LEN)
		return "invalid host name: expected 1 to 253 characters";
	for (i = 0; i <= len; i++) {
		char c = (char)(i < len ? text[i] : '.');

		if (c == '.') {
			if (label == 0 || label > LABEL_MAX_LEN || text[i - 1] == '-')
				return "invalid host name: expected labels of 1 to 63 "
				       "characters, separated by `.`";
			label = 0;
			if (i < len)
				digits = true;
			continue;
		}
		if (c >= 'A' && c <= 'Z')
			return "invalid host name: write it in lower case";
		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
			(c == '-' && label > 0)))
			return "invalid host name: use a-z, 0-9, `-` and `.` (other "
			       "characters as xn--...)";
		digits = digits && c >= '0' && c <= '9';
		label++;
	}
	return digits ? "expected a host name, or an address block with its host bits 0"
		      : NULL;
}

/* The part before the colon. */
static const char *
host_part(const char *text, size_t len, bool pattern, struct host *h)
{
	const char *why;

	h->name = text;
	h->len = len;
	if (len > 2 && text[0] == '[' && text[len - 1] == ']') {
		if (memchr(text, ':', len) == NULL ||
		    host_cidr(text + 1, len - 2, h->addr, &h->prefix) != 0)
			return "expected an IPv6 address, or a block with its host bits "
			       "0, in `[ ]`";
		h->kind = HOST_CIDR;
		return NULL;
	}
	if (host_cidr(text, len, h->addr, &h->prefix) == 0) {
		if (memchr(text, ':', len) != NULL)
			return "write an IPv6 address in quotes and [ ]: "
			       "\"[2001:db8::1]:443\"";
		h->kind = HOST_CIDR;
		return NULL;
	}
	h->kind = HOST_EXACT;
	if (pattern && len == 1 && text[0] == '*') {
		h->kind = HOST_SUFFIX;
		h->len = 0;
		return NULL;
	}
	if (len == 1 && text[0] == '*')
		return "`*` alone matches every host: name the hosts";
	if (len > 2 && text[0] == '*' && text[1] == '.') {
		h->kind = HOST_SUFFIX;
		h->name = text + 2;
		h->len = len - 2;
	}
	why = name_why(h->name, h->len);
	if (why == NULL && !pattern && h->kind == HOST_SUFFIX &&
	    memchr(h->name, '.', h->len) == NULL)
		why = "a pattern for a whole top-level domain is not allowed: name the "
		      "domain";
	return why;
}

static const char *
read_host(const struct word *w, bool port, bool pattern, struct host *ret)
{
	struct host h = {.port_first = 0};
	const char *colon = memrchr(w->text, ':', w->len), *why;
	size_t len = w->len;

	if (memmem(w->text, len, "://", 3) != NULL)
		return "expected HOST:PORT without a scheme, as in api.example.com:443";
	/*
	 * a colon inside [ ], or in an address without a port, does not start a
	 * port
	 */
	if (colon != NULL && memchr(colon, ']', (size_t)(w->text + len - colon)) != NULL)
		colon = NULL;
	if (colon == NULL && port)
		return "expected HOST:PORT, as in api.example.com:443";
	if (colon != NULL) {
		len = (size_t)(colon - w->text);
		if (!ports(colon + 1, w->len - len - 1, &h))
			return "invalid port: expected 1 to 65535, FIRST-LAST, or * for "
			       "all";
	}
	why = host_part(w->text, len, pattern, &h);
	if (why == NULL)
		*ret = h;
	return why;
}

const char *
host_read(const struct word *w, bool port, struct host *ret)
{
	return read_host(w, port, false, ret);
}

const char *
host_pattern_read(const struct word *w, struct host *ret)
{
	return read_host(w, false, true, ret);
}

/* ---- comparing two hosts ------------------------------------------------- */

static bool
same_bits(const uint8_t *a, const uint8_t *b, uint32_t n)
{
	if (memcmp(a, b, n / 8) != 0)
		return false;
	return n % 8 == 0 || ((a[n / 8] ^ b[n / 8]) >> (8 - n % 8)) == 0;
}

/* Is name one or more labels below the suffix? */
static bool
is_below(const char *suffix, size_t suffix_len, const char *name, size_t len)
{
	if (suffix_len == 0)
		return true;
	return len > suffix_len + 1 && name[len - suffix_len - 1] == '.' &&
	       memcmp(name + len - suffix_len, suffix, suffix_len) == 0;
}

bool
host_covers(const struct host *out, const struct host *in)
{
	bool same = out->len == in->len && memcmp(out->name, in->name, in->len) == 0;

	if ((out->kind == HOST_CIDR) != (in->kind == HOST_CIDR))
		return false;
	if (out->kind == HOST_CIDR)
		return out->prefix <= in->prefix &&
		       same_bits(out->addr, in->addr, out->prefix);
	if (out->kind == HOST_EXACT)
		return in->kind == HOST_EXACT && same;
	return (in->kind == HOST_SUFFIX && same) ||
	       is_below(out->name, out->len, in->name, in->len);
}

bool
host_meets(const struct host *a, const struct host *b)
{
	if (a->port_first != 0 && b->port_first != 0 &&
	    (a->port_last < b->port_first || b->port_last < a->port_first))
		return false;
	/* in a `never`, `*` covers every name and every address */
	if ((a->kind == HOST_SUFFIX && a->len == 0) ||
	    (b->kind == HOST_SUFFIX && b->len == 0))
		return true;
	return host_covers(a, b) || host_covers(b, a);
}
