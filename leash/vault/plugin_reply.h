/*
 * Private to this room: one reply line of a plugin (docs/PROTOCOL.plugin).
 */
#ifndef KENNEL_LEASH_VAULT_PLUGIN_REPLY_H
#define KENNEL_LEASH_VAULT_PLUGIN_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The reason of a refusal: `data.kind` of its error, or REPLY_OTHER. */
enum reply_kind {
	REPLY_RESULT, /* not a refusal */
	REPLY_UNAVAILABLE,
	REPLY_UNSUPPORTED,
	REPLY_BAD_REFERENCE,
	REPLY_NEEDS_CREDENTIAL,
	REPLY_OTHER,
};
const char *reply_kind_name(enum reply_kind);

struct reply {
	enum reply_kind kind;
	uint32_t protocol;     /* 0: absent */
	uint32_t capabilities; /* bits; 0: absent */
	bool available;        /* false: absent, or false */
	char *value;           /* decoded in place; NULL: none */
	size_t value_len;
};

/*
 * Parses the line, without its newline, in place; id is the request's.  -EPROTO: it
 * is not a reply to that request, and *ret_what says why (a static text without any
 * byte of the line).
 */
int reply_read(
    char *line, size_t len, uint32_t id, struct reply *ret, const char **ret_what);

#endif
