/*
 * A request to a compiled policy, as written on a command line, and the
 * matcher's answer (request.c).
 */
#ifndef KENNEL_POLICY_CHECK_REQUEST_H
#define KENNEL_POLICY_CHECK_REQUEST_H

#include <stdio.h>

#include "policy/base/output.h"
#include "policy/sealed/policy.h"

enum ask_kind {
	ASK_EXEC = 1,
	ASK_NET,
	ASK_READ,
	ASK_WRITE,
	ASK_TOOL,
	ASK_RESOURCE,
	ASK_PROMPT,
	ASK_METHOD,
	ASK_SAMPLING,
	ASK_ELICITATION,
	ASK_ROOTS,
};

/* Points into the words that it was parsed from. */
struct ask {
	enum ask_kind kind;
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
int ask_read(const char *const *word, size_t n, struct ask *ret, const char **ret_why);
/* The request as one printable line. */
void ask_say(const struct ask *, FILE *);
const char *ask_kind_name(enum ask_kind);

/* The matcher's form of the request. */
struct policy_exec_ask ask_exec(
    const struct policy *, const struct sealed_server *, const struct ask *);
struct policy_gate_ask ask_to_gate(
    const struct policy *, const struct sealed_server *, const struct ask *);
struct policy_net_ask ask_to_net(const struct ask *);
/*
 * The IMAGES row of a path: as granted, by its canonical name, or by what it
 * resolves to on this machine; or SEALED_NONE.
 */
uint32_t ask_image(const struct policy *, const struct sealed_server *, const char *path);

/* The matcher's answer. */
struct policy_answer ask_policy(
    const struct policy *, const struct sealed_server *, const struct ask *);
/* The policy line of the deciding row; line 0: no row decided. */
struct sealed_at ask_decides(const struct policy_answer *);
/* The mechanism that enforces the answer. */
const char *ask_mechanism(const struct ask *, const struct policy_answer *);

#endif
