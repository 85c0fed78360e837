/*
 * The hub room: which tools, resources and prompts there are, and who may use
 * them.
 *
 *	gate.c	one decision point for everything an agent may name
 */
#ifndef KENNEL_SUPERVISOR_HUB_HUB_H
#define KENNEL_SUPERVISOR_HUB_HUB_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/policy.h"

#define GATE_AT_MAX   512 /* "file:line" */
#define GATE_TEXT_MAX 1536

struct gate_answer {
	bool allowed;
	enum sealed_verdict verdict; /* ASK is not allowed in this version */
	const char *because;         /* the policy's words, or "" */
	char at[GATE_AT_MAX];        /* the line that decided, or "" */
};

/* May this tool, resource or prompt be seen and used? */
void gate_judge(const struct policy *, const struct sealed_server *,
    enum sealed_gate_kind, const char *name, size_t name_len, struct gate_answer *ret);

/* One sentence for an agent: what was refused, why, by which line.  Returns
 * out. */
const char *gate_text(const struct gate_answer *, enum sealed_gate_kind, const char *name,
    char out[GATE_TEXT_MAX]);

#endif
