/*
 * DNS messages: see dns.h.  A query has exactly one question, without compression,
 * which the reply repeats byte by byte.  The records after it are searched for an
 * OPT record.
 *
 * Process: kennel-egress.  Trusts nothing: the bytes are the server's.
 */
#include "leash/egress/dns.h"

#include <errno.h>
#include <string.h>

#define HEAD_LEN    12
#define LABEL_MAX   63
#define TYPE_OPT    41
#define CLASS_IN    1
#define FLAG_ANSWER 0x8000u
#define OPCODE_MASK 0x7800u
#define FLAGS_KEPT  0x7900u /* opcode and "recursion desired" */
#define FLAGS_SET   0x8080u /* a response, "recursion available" */
#define RECORDS_MAX 4       /* after the question */
#define POINTER     0xc0u

struct reader {
	const uint8_t *at;
	size_t len, off;
	bool cut; /* a read went past the end */
};

static uint32_t
get(struct reader *r, size_t bytes)
{
	uint32_t n = 0;

	if (r->len - r->off < bytes) {
		r->cut = true;
		return 0;
	}
	while (bytes-- > 0)
		n = n << 8 | r->at[r->off++];
	return n;
}

static void
skip(struct reader *r, size_t bytes)
{
	if (r->len - r->off < bytes)
		r->cut = true;
	else
		r->off += bytes;
}

/* Only the characters of host names: a NUL or a dot inside a label would be a
 * different name to a reader of text. */
static char
host_char(uint8_t c, bool *is_host)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c + ('a' - 'A'));
	if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_')
		return (char)c;
	*is_host = false;
	return '?';
}

/* The name in the question; false: too long, or compressed. */
static bool
question_name(struct reader *r, struct dns_query *q)
{
	size_t n = 0, label;

	q->is_host = true;
	while ((label = get(r, 1)) > 0) {
		if (label > LABEL_MAX || r->len - r->off < label ||
		    n + (n > 0) + label > DNS_NAME_MAX)
			return false;
		if (n > 0)
			q->name[n++] = '.';
		for (size_t i = 0; i < label; i++)
			q->name[n++] = host_char(r->at[r->off++], &q->is_host);
	}
	q->name[n] = '\0';
	q->name_len = n;
	return !r->cut;
}

/* Any record: only the name of an OPT is checked; it must be the root. */
static void
record(struct reader *r, struct dns_query *q)
{
	bool root = r->off < r->len && r->at[r->off] == 0;
	uint32_t type, ttl;
	size_t label;

	while ((label = get(r, 1)) > 0) {
		if (label > LABEL_MAX) {
			skip(r, 1); /* a pointer ends the name */
			r->cut = r->cut || label < POINTER;
			break;
		}
		skip(r, label);
	}
	type = get(r, 2);
	skip(r, 2);
	ttl = get(r, 4);
	skip(r, get(r, 2));
	if (r->cut || type != TYPE_OPT)
		return;
	if (q->edns || !root)
		q->rcode = DNS_FORMERR;
	else if ((ttl >> 16 & 0xff) != 0)
		q->rcode = DNS_BADVERS;
	q->edns = true;
}

int
dns_query_read(const uint8_t *bytes, size_t len, struct dns_query *ret)
{
	struct reader r = {.at = bytes, .len = len};
	uint32_t flags, questions, records, more;
	struct dns_query q = {.rcode = DNS_FORMERR};

	if (len < HEAD_LEN || len > DNS_MESSAGE_MAX)
		return -EBADMSG;
	skip(&r, 2);
	flags = get(&r, 2);
	questions = get(&r, 2);
	records = get(&r, 2) + get(&r, 2); /* answers: a query has none */
	more = get(&r, 2);
	if ((flags & FLAG_ANSWER) != 0)
		return -EBADMSG;
	if ((flags & OPCODE_MASK) != 0)
		q.rcode = DNS_NOTIMP;
	else if (questions == 1 && records == 0 && more <= RECORDS_MAX &&
		 question_name(&r, &q)) {
		q.type = (uint16_t)get(&r, 2);
		q.class = (uint16_t)get(&r, 2);
		q.rcode = DNS_NOERROR;
		q.question_len = r.off - HEAD_LEN;
		while (more-- > 0 && !r.cut)
			record(&r, &q);
		if (r.cut || r.off != len) {
			q = (struct dns_query){.rcode = DNS_FORMERR};
		}
	} else
		q = (struct dns_query){.rcode = q.rcode}; /* drops the name */
	*ret = q;
	return 0;
}

static size_t
put(uint8_t *out, size_t at, uint32_t n, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		out[at + i] = (uint8_t)(n >> 8 * (bytes - 1 - i));
	return at + bytes;
}

size_t
dns_answer_write(const struct dns_query *q, const uint8_t *query, enum dns_rcode rcode,
    const uint8_t addr[4], uint8_t out[DNS_ANSWER_MAX])
{
	uint32_t flags = ((uint32_t)query[2] << 8 | query[3]) & FLAGS_KEPT;
	bool has = addr != NULL && rcode == DNS_NOERROR;
	size_t n = 2;

	memcpy(out, query, 2);
	n = put(out, n, flags | FLAGS_SET | (rcode & 15), 2);
	n = put(out, n, q->question_len > 0, 2);
	n = put(out, n, has, 2);
	n = put(out, n, 0, 2);
	n = put(out, n, q->edns, 2);
	memcpy(out + n, query + HEAD_LEN, q->question_len);
	n += q->question_len;
	if (has) {
		n = put(out, n, POINTER << 8 | HEAD_LEN, 2);
		n = put(out, n, DNS_A, 2);
		n = put(out, n, CLASS_IN, 2);
		n = put(out, n, DNS_TTL_S, 4);
		n = put(out, n, 4, 2);
		memcpy(out + n, addr, 4);
		n += 4;
	}
	if (q->edns) {
		n = put(out, n, 0, 1); /* the root */
		n = put(out, n, TYPE_OPT, 2);
		n = put(out, n, DNS_MESSAGE_MAX, 2);
		n = put(out, n, (uint32_t)rcode >> 4 << 24, 4);
		n = put(out, n, 0, 2);
	}
	return n;
}
