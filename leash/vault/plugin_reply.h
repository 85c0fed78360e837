/*
 * Private to this room: one line that a plugin answers (docs/PROTOCOL.plugin).
 */
#ifndef KENNEL_LEASH_VAULT_REPLY_H
#define KENNEL_LEASH_VAULT_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the plugin refused with: `data.kind` of its error, or REPLY_OTHER. */
enum reply_kind {
	REPLY_RESULT, /* it refused nothing */
	REPLY_UNAVAILABLE,
	REPLY_UNSUPPORTED,
	REPLY_BAD_REFERENCE,
	REPLY_NEEDS_CREDENTIAL,
	REPLY_OTHER,
};
const char *reply_kind_name(enum reply_kind);

struct reply {
	enum reply_kind kind;
	uint32_t protocol;     /* 0: not said */
	uint32_t capabilities; /* bits; 0: not said */
	bool available;        /* false: not said, or no */
	char *value;           /* decoded where it stood; NULL: none */
	size_t value_len;
};

/*
 * The line, without its newline, which is decoded in place; id is what was asked
 * under.  -EPROTO: it is no answer to that, and *ret_what is how; a static text
 * that holds no byte of the line.
 */
int reply_read(
    char *line, size_t len, uint32_t id, struct reply *ret, const char **ret_what);

#endif
