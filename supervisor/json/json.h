/*
 * JSON where it stands: one pass without a tree, and what is found in it.
 *
 *	json.c		the one-pass scanner
 *	walk.c		members, keys and texts inside a scanned message
 *	canon.c		one way to write a value, to compare it by its bytes
 *	skim.c		the id of a line that is too long to hold
 */
#ifndef KENNEL_SUPERVISOR_MCP_JSON_H
#define KENNEL_SUPERVISOR_MCP_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/base/buf.h"

#define MCP_DEPTH_MAX 128 /* nesting of a message */
#define MCP_ID_MAX    256 /* bytes of an id as written */

/* ---- json.c ------------------------------------------------------------- */

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

struct json { /* a value where it stands; quotes and brackets included */
	const uint8_t *at;
	size_t len;
	enum json_type type; /* JSON_IS_NONE: there is none */
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
	RESULT_N
};
enum json_error { ERROR_CODE, ERROR_N };

enum json_flag { /* a key twice, or a twin of a known key by case alone */
	JSON_TOP_TWICE = 1,
	JSON_PARAM_TWICE = 2,
	JSON_RESULT_TWICE = 4,
	JSON_TOO_MANY = 8, /* more members than are looked through for twins */
};

struct json_message {
	struct json root;
	struct json top[TOP_N];
	struct json param[PARAM_N];
	struct json result[RESULT_N];
	struct json error[ERROR_N];
	unsigned int flags;
	size_t stop; /* where the scanner stopped: for messages */
};

/*
 * One JSON value with white space around it: RFC 8259 to the letter, valid
 * UTF-8.  0; -EBADMSG for the grammar, -EILSEQ for UTF-8, -E2BIG for depth.
 * *ret is filled as far as it went.
 */
int json_scan(const uint8_t *, size_t, struct json_message *ret);

/* Length of the UTF-8 sequence at p whose first byte is not ASCII; 0: none. */
size_t json_utf8(const uint8_t *p, const uint8_t *end);

/* ---- walk.c: over bytes that json_scan has passed ------------------------ */

#define JSON_KEY_MAX 256 /* a longer key is none that is known here */

/* Four hex digits at p, or -1. */
int32_t json_hex4(const uint8_t *p, const uint8_t *end);
/* Is this text, case aside, the name?  As lenient as the most lenient parser
 * that is about (U+017F is s, U+212A is k). */
bool json_folds(const char *text, size_t len, const char *name);
/* A key's text: in place, or decoded into out.  NULL when it has none. */
const char *json_key_text(
    const struct json *key, char out[JSON_KEY_MAX], size_t *ret_len);

struct json_walk {
	const uint8_t *p, *end;
	bool object;
};
/* Members of an object, items of an array (anything else has none), over
 * bytes that json_scan passed.  ret_key is JSON_IS_NONE in an array. */
void json_walk(struct json_walk *, struct json container);
bool json_next(struct json_walk *, struct json *ret_key, struct json *ret_value);
/* 1: this key is name; 0: it is not; -EEXIST: a twin by case alone. */
int json_key_is(struct json key, const char *name);
/* The member of this name: 0, -ENOENT, -EEXIST when it stands there twice. */
int json_get(struct json object, const char *name, struct json *ret);
/* A string's text with a NUL behind it.  0; -EINVAL no string; -EILSEQ a lone
 * surrogate or a NUL inside; -EMSGSIZE. */
int json_text(struct json, char *out, size_t cap, size_t *ret_len);

/* ---- canon.c: one way to write a value (docs/FORMAT.pins) ----------------- */

/*
 * Append this value, which json_scan passed, in its canonical form.  0; -EEXIST
 * a key twice in one object; -EILSEQ a text that is none (a NUL, half a
 * surrogate pair); -E2BIG; -EMSGSIZE, -ENOMEM of the buffer.  On failure out is
 * as long as before.
 */
int json_canon(struct json value, struct buf *out);

/* ---- skim.c: the top level of a line that is thrown away ----------------- */

struct skim {
	uint32_t depth;
	bool in_string, escaped, wants_value, done;
	uint8_t token[MCP_ID_MAX];
	size_t token_len; /* above MCP_ID_MAX: cut */
	uint8_t id[MCP_ID_MAX];
	size_t id_len; /* 0: none found, or not fit to be one */
	bool has_method, has_jsonrpc, has_answer, id_next;
};
void skim_begin(struct skim *);
void skim_feed(struct skim *, const uint8_t *, size_t);

#endif
