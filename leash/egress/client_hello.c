/*
 * The start of a TLS connection: see client_hello.h.
 *
 * Process: kennel-egress.  Trusts nothing: both streams are untrusted.  Must never
 * read a hello differently from a server: ambiguous encodings are refused.
 */
#include "leash/egress/client_hello.h"

#include <errno.h>
#include <string.h>

#define RECORD_HEAD     5
#define RECORD_MAX      16384
#define RECORD_CHANGE   20
#define RECORD_ALERT    21
#define RECORD_MESSAGE  22
#define RECORD_DATA     23
#define MESSAGE_HEAD    4
#define CLIENT_HELLO    1
#define SERVER_HELLO    2
#define VERSION_MAJOR   3
#define RANDOM_LEN      32
#define SESSION_ID_MAX  32
#define EXTENSIONS_MAX  128
#define EXTENSION_SNI   0
#define EXTENSION_ALPN  16
#define EXTENSION_ECH   0xfe0d
#define SERVER_HEAD_LEN (MESSAGE_HEAD + 2 + RANDOM_LEN)

static const uint8_t retry_random[RANDOM_LEN] = {0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61,
    0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a,
    0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c};

/* ---- records ---------------------------------------------------------------- */

static size_t
number(const uint8_t *at, size_t bytes)
{
	size_t n = 0;

	while (bytes-- > 0)
		n = n << 8 | *at++;
	return n;
}

/* The bytes of a field, consumed from the front. */
struct field {
	const uint8_t *at;
	size_t len;
	bool cut;
};

static size_t
take_number(struct field *f, size_t bytes)
{
	size_t n;

	if (f->len < bytes) {
		f->cut = true;
		return 0;
	}
	n = number(f->at, bytes);
	f->at += bytes;
	f->len -= bytes;
	return n;
}

static struct field
take(struct field *f, size_t len)
{
	struct field part = {f->at, len, false};

	if (f->len < len) {
		f->cut = true;
		part.len = 0;
		return part;
	}
	f->at += len;
	f->len -= len;
	return part;
}

static int
refuse(enum hello_why why, enum hello_why *ret_why)
{
	*ret_why = why;
	return -EBADMSG;
}

static int
need(size_t bytes, size_t *ret_need, enum hello_why *ret_why)
{
	if (bytes > HELLO_BYTES_MAX)
		return refuse(HELLO_TOO_LONG, ret_why);
	*ret_need = bytes;
	return -EAGAIN;
}

/* ---- the message ------------------------------------------------------------- */

/* One name of kind host_name, and nothing after it. */
static enum hello_why
read_name(struct field f, struct client_hello *h)
{
	struct field list = take(&f, take_number(&f, 2)), name;
	size_t kind = take_number(&list, 1);

	name = take(&list, take_number(&list, 2));
	if (f.cut || f.len > 0 || list.cut)
		return HELLO_MALFORMED;
	if (kind != 0 || list.len > 0 || name.len == 0)
		return HELLO_NAMES;
	h->has_name = true;
	if (name.len > HELLO_NAME_MAX || memchr(name.at, 0, name.len) != NULL)
		return HELLO_OK; /* as "", which no grant names */
	for (size_t i = 0; i < name.len; i++) {
		char c = (char)name.at[i];

		h->name[i] = (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
	}
	h->name[name.len] = '\0';
	return HELLO_OK;
}

static char
shown(uint8_t c)
{
	return (char)(c > 0x20 && c < 0x7f ? c : '?');
}

/* For the record only: a malformed list is ignored. */
static void
read_alpn(struct field f, struct client_hello *h)
{
	struct field list = take(&f, take_number(&f, 2)), one;
	size_t n = 0;

	while (list.len > 0 && !list.cut) {
		one = take(&list, take_number(&list, 1));
		if (n + (n > 0) + one.len > HELLO_ALPN_MAX)
			break;
		if (n > 0)
			h->alpn[n++] = ',';
		for (size_t i = 0; i < one.len; i++)
			h->alpn[n++] = shown(one.at[i]);
	}
	h->alpn[n] = '\0';
}

static enum hello_why
read_extensions(struct field f, struct client_hello *h)
{
	uint16_t seen[EXTENSIONS_MAX];
	enum hello_why why = HELLO_OK;
	size_t seen_n = 0;

	while (f.len > 0 && why == HELLO_OK) {
		uint16_t type = (uint16_t)take_number(&f, 2);
		struct field value = take(&f, take_number(&f, 2));

		if (f.cut || seen_n == EXTENSIONS_MAX)
			return HELLO_MALFORMED;
		for (size_t i = 0; i < seen_n; i++)
			if (seen[i] == type)
				return HELLO_REPEATED;
		seen[seen_n++] = type;
		if (type == EXTENSION_SNI)
			why = read_name(value, h);
		else if (type == EXTENSION_ALPN)
			read_alpn(value, h);
		else if (type == EXTENSION_ECH)
			h->ech = true;
	}
	return why;
}

static enum hello_why
read_message(struct field f, struct client_hello *h)
{
	struct field extensions;
	size_t n;

	if (take_number(&f, 1) != VERSION_MAJOR)
		return HELLO_MALFORMED;
	(void)take(&f, 1 + RANDOM_LEN);
	n = take_number(&f, 1);
	if (n > SESSION_ID_MAX)
		return HELLO_MALFORMED;
	(void)take(&f, n);
	n = take_number(&f, 2);
	if (n == 0 || n % 2 != 0)
		return HELLO_MALFORMED;
	(void)take(&f, n);
	n = take_number(&f, 1);
	if (n == 0)
		return HELLO_MALFORMED;
	(void)take(&f, n);
	if (f.cut)
		return HELLO_MALFORMED;
	if (f.len == 0)
		return HELLO_OK; /* TLS 1.2 without extensions */
	extensions = take(&f, take_number(&f, 2));
	if (f.cut || f.len > 0)
		return HELLO_MALFORMED;
	return read_extensions(extensions, h);
}

/* The length of the message once its header is complete; 0 before. */
static int
message_len(const uint8_t *message, size_t got, size_t *ret, enum hello_why *ret_why)
{
	*ret = 0;
	if (got > 0 && message[0] != CLIENT_HELLO)
		return refuse(HELLO_OTHER_MESSAGE, ret_why);
	if (got < MESSAGE_HEAD)
		return 0;
	*ret = MESSAGE_HEAD + number(message + 1, 3);
	return *ret > HELLO_MESSAGE_MAX ? refuse(HELLO_TOO_LONG, ret_why) : 0;
}

int
client_hello_read(const uint8_t *bytes, size_t len, struct client_hello *ret,
    size_t *ret_need, enum hello_why *ret_why)
{
	uint8_t message[HELLO_MESSAGE_MAX + RECORD_MAX];
	size_t at = 0, got = 0, whole = 0, n;
	struct client_hello h = {0};
	enum hello_why why;
	int r;

	while (whole == 0 || got < whole) {
		/* as early as possible: a client that waits for the server's reply
		 * sends no more */
		if ((at < len && bytes[at] != RECORD_MESSAGE) ||
		    (at + 1 < len && bytes[at + 1] != VERSION_MAJOR))
			return refuse(at == 0 ? HELLO_NOT_TLS : HELLO_MALFORMED, ret_why);
		if (len < at + RECORD_HEAD)
			return need(at + RECORD_HEAD, ret_need, ret_why);
		n = number(bytes + at + 3, 2);
		if (n == 0 || n > RECORD_MAX)
			return refuse(HELLO_MALFORMED, ret_why);
		if (len < at + RECORD_HEAD + n)
			return need(at + RECORD_HEAD + n, ret_need, ret_why);
		/* below HELLO_MESSAGE_MAX before this record, or the loop had ended */
		memcpy(message + got, bytes + at + RECORD_HEAD, n);
		got += n;
		at += RECORD_HEAD + n;
		r = message_len(message, got, &whole, ret_why);
		if (r < 0)
			return r;
	}
	/* only the server would read a second message in the same record */
	if (got != whole)
		return refuse(HELLO_MALFORMED, ret_why);
	why = read_message(
	    (struct field){message + MESSAGE_HEAD, whole - MESSAGE_HEAD, false}, &h);
	if (why != HELLO_OK)
		return refuse(why, ret_why);
	h.len = at;
	*ret = h;
	return 0;
}

/* ---- the bytes after it -------------------------------------------------------- */

size_t
hello_skipped(const uint8_t *bytes, size_t len)
{
	size_t at = 0, n;

	while (len - at >= RECORD_HEAD) {
		n = RECORD_HEAD + number(bytes + at + 3, 2);
		if ((bytes[at] != RECORD_CHANGE && bytes[at] != RECORD_DATA) ||
		    bytes[at + 1] != VERSION_MAJOR || len - at < n)
			break;
		at += n;
	}
	return at;
}

int
server_hello_read(const uint8_t *bytes, size_t len, bool *ret_retry)
{
	uint8_t message[SERVER_HEAD_LEN];
	size_t at = 0, got = 0, n, want;

	while (got < sizeof(message)) {
		if (len < at + RECORD_HEAD)
			return -EAGAIN;
		n = number(bytes + at + 3, 2);
		/* a warning may precede the ServerHello */
		if (got == 0 && bytes[at] == RECORD_ALERT) {
			at += RECORD_HEAD + n;
			continue;
		}
		if (bytes[at] != RECORD_MESSAGE)
			break;
		want = n < sizeof(message) - got ? n : sizeof(message) - got;
		if (len < at + RECORD_HEAD + want)
			return -EAGAIN;
		memcpy(message + got, bytes + at + RECORD_HEAD, want);
		got += want;
		at += RECORD_HEAD + n;
	}
	*ret_retry = got == sizeof(message) && message[0] == SERVER_HELLO &&
		     memcmp(message + MESSAGE_HEAD + 2, retry_random, RANDOM_LEN) == 0;
	return 0;
}
