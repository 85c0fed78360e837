/*
 * DNS messages as the relay needs them (RFC 1035, 6891): one question in, one
 * response out.  A cell's resolver forwards nothing and caches nothing.
 */
#ifndef KENNEL_LEASH_EGRESS_DNS_H
#define KENNEL_LEASH_EGRESS_DNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DNS_NAME_MAX    253  /* characters, without the last dot */
#define DNS_MESSAGE_MAX 1232 /* bytes of a query; the size that EDNS offers */
#define DNS_ANSWER_MAX  (DNS_MESSAGE_MAX + 32)
#define DNS_TTL_S       60

enum dns_type { DNS_A = 1, DNS_AAAA = 28 };
enum dns_rcode {
	DNS_NOERROR = 0,
	DNS_FORMERR = 1,
	DNS_SERVFAIL = 2,
	DNS_NXDOMAIN = 3,
	DNS_NOTIMP = 4,
	DNS_BADVERS = 16, /* of EDNS */
};

struct dns_query {
	char name[DNS_NAME_MAX + 1]; /* lower case, labels joined by dots, no last dot */
	size_t name_len;
	bool is_host; /* only a-z 0-9 - _ and dots; else `name` has ? for the others */
	uint16_t type, class;
	bool edns;
	enum dns_rcode rcode; /* NOERROR, or the error in the query */
	size_t question_len;  /* from byte 12 on; 0: no question to repeat */
};

/*
 * Reads one message.  0: send a response (with rcode, if it is not NOERROR);
 * -EBADMSG: send none, because the message is cut, is itself a response, or is not
 * DNS.
 */
int dns_query_read(const uint8_t *, size_t len, struct dns_query *ret);

/*
 * Writes the response to a query that was read from these bytes: the question as
 * spelled there (some clients compare its case), and one A record if addr is not
 * NULL.  Returns the number of bytes, at most DNS_ANSWER_MAX.
 */
size_t dns_answer_write(const struct dns_query *, const uint8_t *query, enum dns_rcode,
    const uint8_t addr[4], uint8_t out[DNS_ANSWER_MAX]);

#endif
