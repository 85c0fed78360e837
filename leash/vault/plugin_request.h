/*
 * Private to this room: plugins that run, and one request on its way to one.
 */
#ifndef KENNEL_LEASH_VAULT_REQUEST_H
#define KENNEL_LEASH_VAULT_REQUEST_H

#include <stdbool.h>

#include "leash/vault/helper.h"
#include "leash/vault/plugin.h"
#include "leash/vault/plugin_reply.h"

struct plugin {
	char source[PLUGIN_NAME_MAX + 1];
	struct helper helper; /* pid -1: it does not run */
	uint32_t id;          /* of the last request */
	int64_t asked;        /* when it last answered */
};

struct plugins {
	int run_dir;
	struct plugin_times times;
	struct vault *pages;
	char *line; /* PLUGIN_LINE_MAX bytes of them */
	struct plugin plugin[PLUGIN_N_MAX];
	size_t n;
};

/* One request on its way, and what is said when it fails. */
struct request {
	struct plugins *all;
	struct plugin *p;
	const struct plugin_ask *ask;
	const char *method; /* NULL: none yet */
	size_t len;         /* bytes of the line */
	bool full;
	int64_t until;
	const char *what;
	bool of_value; /* what is said of the value */
};

/* Milliseconds of a clock that only goes forward. */
int64_t plugin_now(void);

/* The line of a request, up to its params' opening brace. */
void request_begin(struct request *, const char *method);
/* JSON as it is; text as a JSON string. */
void request_word(struct request *, const char *);
void request_text(struct request *, const char *);
void request_string(struct request *, const char *, size_t len);
/*
 * Asked and answered.  What ret points to lies in the line until request_wipe().
 * 0; -E2BIG -EILSEQ it was not asked; -ETIMEDOUT -EPIPE -EFBIG -EPROTO -errno; what
 * says more where there is more to say.
 */
int request_end(struct request *, struct reply *ret);
void request_wipe(struct request *);

#endif
