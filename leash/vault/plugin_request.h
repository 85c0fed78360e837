/*
 * Private to this room: running plugins, and one request to one of them.
 */
#ifndef KENNEL_LEASH_VAULT_PLUGIN_REQUEST_H
#define KENNEL_LEASH_VAULT_PLUGIN_REQUEST_H

#include <stdbool.h>

#include "leash/vault/helper.h"
#include "leash/vault/plugin.h"
#include "leash/vault/plugin_reply.h"
#include "shim/base/cause.h"

struct plugin {
	char source[PLUGIN_NAME_MAX + 1];
	struct helper helper; /* pid -1: not running */
	uint32_t id;          /* of the last request */
	int64_t asked;        /* time of the last reply */
};

struct plugins {
	int run_dir;
	struct plugin_times times;
	struct vault *pages;
	char *line; /* PLUGIN_LINE_MAX bytes of the pages */
	struct plugin plugin[PLUGIN_N_MAX];
	size_t n;
};

/* One request in progress, and the report if it fails. */
struct request {
	struct plugins *all;
	struct plugin *p;
	const struct plugin_ask *ask;
	const struct vault *vault; /* its judge is asked about the program */
	const char *method;        /* NULL: none yet */
	size_t len;                /* bytes of the line */
	bool full;
	int64_t until;
	const char *what;
	struct reason wrong; /* the judge's finding about the program's path */
	bool of_value;       /* a finding about the value */
};

/* A monotonic clock in milliseconds. */
int64_t plugin_now(void);

/* Writes the line of a request, up to its params' opening brace. */
void request_begin(struct request *, const char *method);
/* Appends JSON as is; or text as a JSON string. */
void request_word(struct request *, const char *);
void request_text(struct request *, const char *);
void request_string(struct request *, const char *, size_t len);
/*
 * Sends the request and reads the reply.  ret points into the line until
 * request_wipe(). 0; -E2BIG, -EILSEQ: not sent; -ETIMEDOUT -EPIPE -EFBIG -EPROTO
 * -errno; what gives details if there are any.
 */
int request_end(struct request *, struct reply *ret);
void request_wipe(struct request *);

#endif
