/*
 * JSON parsed in place: one pass without a tree, and access to what it found.
 *
 *	json_scan.c		the one-pass scanner
 *	json_access.c		members, keys and texts inside a scanned message
 *	json_canonical.c	canonical form of a value, for comparison by bytes
 *	oversize_id.c		the id of a line that is too long to buffer
 */
#ifndef KENNEL_SUPERVISOR_JSON_JSON_H
#define KENNEL_SUPERVISOR_JSON_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/base/buf.h"

#define MCP_MESSAGE_MAX (16u << 20)   /* bytes of a line; the policy may lower it */
#define MCP_CALLS_MAX   4096          /* requests under way, per direction */
#define MCP_BATCH_MAX   MCP_CALLS_MAX /* elements of a batch */
#define MCP_TOKEN_MAX   64            /* bytes of a progress token that is kept */
#define MCP_METHOD_MAX  128           /* bytes of a method name for lookup */
#define MCP_NAME_MAX    8192          /* bytes of a name or URI, decoded */
#define MCP_DEPTH_MAX   128           /* nesting of a message */
#define MCP_ID_MAX      256           /* bytes of an id as written */

/* ---- json_scan.c --------------------------------------------------------- */

#define JSON_KEYS_MAX 2048 /* members of a message, of its params */

enum json_type {
	JSON_IS_NONE,
	JSON_IS_OBJECT,
	JSON_IS_ARRAY,
	JSON_IS_STRING,
	JSON_IS_NUMBER,
	JSON_IS_TRUE,
	JSON_IS_FALSE,
	JSON_IS_NULL,
};

struct json { /* a value in place, with its quotes and brackets */
	const uint8_t *at;
	size_t len;
	enum json_type type; /* JSON_IS_NONE: missing */
};

enum json_top {
	TOP_JSONRPC,
	TOP_ID,
	TOP_METHOD,
	TOP_PARAMS,
	TOP_RESULT,
	TOP_ERROR,
	TOP_N
};
enum json_param {
	PARAM_NAME,
	PARAM_URI,
	PARAM_REF,
	PARAM_REQUEST_ID,
	PARAM_META,
	PARAM_CAPABILITIES,
	PARAM_VERSION,
	PARAM_NOTIFICATIONS,
	PARAM_ARGUMENTS,
	PARAM_INPUTS,
	PARAM_TASK,
	PARAM_N
};
enum json_result {
	RESULT_TOOLS,
	RESULT_RESOURCES,
	RESULT_TEMPLATES,
	RESULT_PROMPTS,
	RESULT_INPUTS,
	RESULT_VERSION,
	RESULT_INSTRUCTIONS,
	RESULT_SERVER_INFO,
	RESULT_CAPABILITIES,
	RESULT_META,
	RESULT_TASK,
	RESULT_N
};
enum json_error { ERROR_CODE, ERROR_N };

enum json_flag { /* a duplicate key, or keys that differ only in case */
	JSON_TOP_TWICE = 1,
	JSON_PARAM_TWICE = 2,
	JSON_RESULT_TWICE = 4,
	JSON_TOO_MANY = 8, /* too many members to check for duplicates */
};

struct json_message {
	struct json root;
	struct json top[TOP_N];
	struct json param[PARAM_N];
	struct json result[RESULT_N];
	struct json error[ERROR_N];
	unsigned int flags;
	size_t stop; /* where the scanner stopped, for messages */
};

/*
 * Scans one JSON value, with white space around it: strict RFC 8259 and valid UTF-8.
 * Returns 0; -EBADMSG for grammar, -EILSEQ for UTF-8, -E2BIG for depth. *ret holds
 * what was found so far.
 */
int json_scan(const uint8_t *, size_t, struct json_message *ret);

/* Length of the UTF-8 sequence at p whose first byte is not ASCII; 0: invalid. */
size_t json_utf8(const uint8_t *p, const uint8_t *end);

/* ---- json_access.c: for bytes that json_scan has accepted ---------------- */

#define JSON_KEY_MAX 256 /* a longer key matches no known name */

/* Four hex digits at p, or -1. */
int32_t json_hex4(const uint8_t *p, const uint8_t *end);
/* True if this text equals the name except for case, as lenient as the most lenient
 * common parser (U+017F is s, U+212A is k). */
bool json_folds(const char *text, size_t len, const char *name);
/* Text of a key: in place, or decoded into out. NULL if it has none. */
const char *json_key_text(
    const struct json *key, char out[JSON_KEY_MAX], size_t *ret_len);

struct json_walk {
	const uint8_t *p, *end;
	bool object;
};
/* Iterates over the members of an object or the items of an array (other values have
 * none), in bytes that json_scan has accepted. ret_key is JSON_IS_NONE in an
 * array. */
void json_walk(struct json_walk *, struct json container);
bool json_next(struct json_walk *, struct json *ret_key, struct json *ret_value);
/* 1: the key is this name; 0: it is not; -EEXIST: it differs only in case. */
int json_key_is(struct json key, const char *name);
/* "an object": for a message; "nothing" for JSON_IS_NONE. */
const char *json_type_name(enum json_type);
/* Finds the member with this name: 0, -ENOENT, -EEXIST if it is duplicated. */
int json_get(struct json object, const char *name, struct json *ret);
/* Copies a string's text and a NUL. Returns 0; -EINVAL: not a string; -EILSEQ: a lone
 * surrogate or a NUL inside; -EMSGSIZE. */
int json_text(struct json, char *out, size_t cap, size_t *ret_len);

/* ---- json_canonical.c: the canonical form (docs/FORMAT.pins) ------------- */

/*
 * Appends this value, which json_scan has accepted, in canonical form. Returns 0;
 * -EEXIST: a duplicate key in one object; -EILSEQ: invalid text (a NUL, half a
 * surrogate pair); -E2BIG; -EMSGSIZE, -ENOMEM of the buffer. On failure out keeps its
 * length.
 */
int json_canon(struct json value, struct buf *out);
/*
 * Appends this value for a person to read, where it has no canonical form: in the order of
 * its members, without white space, and each text as there, but for an escape of a NUL or of
 * half a surrogate pair, which stays. 0, or an error of the buffer.
 */
int json_plain(struct json value, struct buf *out);
/* Appends text, which is UTF-8, as a string in that form: no text grows by being read and
 * written again. 0, or -EMSGSIZE, -ENOMEM of the buffer. */
int json_quote(struct buf *out, const char *text, size_t len);

/* ---- oversize_id.c: the top level of a discarded line -------------------- */

struct skim {
	uint32_t depth;
	bool in_string, escaped, wants_value, done;
	uint8_t token[MCP_ID_MAX];
	size_t token_len; /* above MCP_ID_MAX: truncated */
	uint8_t id[MCP_ID_MAX];
	size_t id_len; /* 0: none found, or not valid as an id */
	bool has_method, has_jsonrpc, has_answer, id_next;
};
void skim_begin(struct skim *);
void skim_feed(struct skim *, const uint8_t *, size_t);

/* ---- digest.c: SHA-256 --------------------------------------------------- */

void mcp_digest(const uint8_t *, size_t, uint8_t ret[32]);

#endif
