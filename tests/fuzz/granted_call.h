/*
 * What a server under the fuzzers' policy may be called for: tools whose names begin with
 * "read_", but read_key.
 */
#ifndef KENNEL_TESTS_FUZZ_GRANTED_CALL_H
#define KENNEL_TESTS_FUZZ_GRANTED_CALL_H

#include <stdlib.h>
#include <string.h>

#include "supervisor/json/json.h"

static inline void
call_is_granted(const struct json_message *m)
{
	char method[64], name[128];
	size_t len;

	if (json_text(m->top[TOP_METHOD], method, sizeof(method), &len) < 0 ||
	    strcmp(method, "tools/call") != 0)
		return;
	if (json_text(m->param[PARAM_NAME], name, sizeof(name), &len) < 0 ||
	    strncmp(name, "read_", 5) != 0 || strcmp(name, "read_key") == 0)
		abort();
}

#endif
