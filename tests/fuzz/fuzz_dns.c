/*
 * Any bytes as a query to the resolver of a cell.  What is answered repeats the
 * question byte by byte, fits, and is no query itself; a name holds what it says.
 */
#include <stdlib.h>
#include <string.h>

#include "leash/egress/dns.h"
#include "tests/fuzz/fuzz.h"

static void
answered(const struct dns_query *q, const uint8_t *query, enum dns_rcode rcode,
    const uint8_t *addr)
{
	uint8_t *out = malloc(DNS_ANSWER_MAX); /* ASan sees one byte too far */
	struct dns_query again;
	size_t n;

	if (out == NULL)
		return;
	n = dns_answer_write(q, query, rcode, addr, out);
	if (n < 12 || n > DNS_ANSWER_MAX || memcmp(out, query, 2) != 0 ||
	    (out[2] & 0x80) == 0 || (out[3] & 15) != (rcode & 15) ||
	    memcmp(out + 12, query + 12, q->question_len) != 0)
		abort();
	if (dns_query_read(out, n, &again) == 0)
		abort(); /* an answer is none */
	free(out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const uint8_t addr[4] = {29, 31, 196, 2};
	uint8_t *copy = malloc(len + !len);
	struct dns_query q;
	size_t label = 0;

	if (copy == NULL)
		return 0;
	if (len > 0)
		memcpy(copy, data, len);
	if (dns_query_read(copy, len, &q) == 0) {
		if (q.name_len > DNS_NAME_MAX || strlen(q.name) != q.name_len ||
		    12 + q.question_len > len)
			abort();
		for (size_t i = 0; i < q.name_len; i++) {
			label = q.name[i] == '.' ? 0 : label + 1;
			if (label > 63 || (q.name[i] >= 'A' && q.name[i] <= 'Z') ||
			    (q.name[i] == '?' && q.is_host))
				abort();
		}
		answered(&q, copy, q.rcode, addr);
		answered(&q, copy, DNS_NXDOMAIN, NULL);
		answered(&q, copy, DNS_SERVFAIL, NULL);
	}
	free(copy);
	return 0;
}
