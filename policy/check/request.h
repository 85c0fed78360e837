/*
 * A request to a compiled policy, as written on a command line, and the
 * matcher's answer (request.c).
 */
#ifndef KENNEL_POLICY_CHECK_REQUEST_H
#define KENNEL_POLICY_CHECK_REQUEST_H

#include <stdio.h>

#include "policy/base/output.h"
#include "policy/sealed/policy.h"

enum request_kind {
	REQUEST_EXEC = 1,
	REQUEST_NET,
	REQUEST_READ,
	REQUEST_WRITE,
	REQUEST_TOOL,
	REQUEST_RESOURCE,
	REQUEST_PROMPT,
	REQUEST_METHOD,
	REQUEST_SAMPLING,
	REQUEST_ELICITATION,
	REQUEST_ROOTS,
};

/* Points into the words that it was parsed from. */
struct request {
	enum request_kind kind;
	const char *const *word; /* exec: program and arguments; else name... */
	size_t word_n;
	const char *args; /* of a tool; NULL: not given */
	uint32_t port;
	size_t host_len;
	const char *from, *in; /* exec: the caller and its directory; NULL: unknown */
	const char *const *env;
	size_t env_n;
};

/*
 * `exec PROG ARG...`, `net HOST:PORT`, `read PATH`, `write PATH`, `tool NAME
 * [JSON]`, `resource NAME`, `prompt NAME`, `method NAME`, `sampling`,
 * `elicitation`, `roots`.
 * 0, or -EINVAL with the reason in *ret_why.
 */
int request_read(
    const char *const *word, size_t n, struct request *ret, const char **ret_why);
/* The request as one printable line. */
void request_say(const struct request *, FILE *);
const char *request_kind_name(enum request_kind);

/* The matcher's form of the request. */
struct policy_exec_ask request_exec(
    const struct policy *, const struct sealed_server *, const struct request *);
struct policy_gate_ask request_gate(
    const struct policy *, const struct sealed_server *, const struct request *);
struct policy_net_ask request_net(const struct request *);
/*
 * The IMAGES row of a path: as granted, by its canonical name, or by what it
 * resolves to on this machine; or SEALED_NONE. A name without a directory is
 * looked up as the compiler does.
 */
uint32_t request_image(
    const struct policy *, const struct sealed_server *, const char *path);

/* The matcher's answer. */
struct policy_answer request_policy(
    const struct policy *, const struct sealed_server *, const struct request *);
/* The policy line of the deciding row; line 0: no row decided. */
struct sealed_at request_decides(const struct policy_answer *);
/* The mechanism that enforces the answer. */
const char *request_mechanism(const struct request *, const struct policy_answer *);

#endif
