/*
 * A session between two ends that the test holds: the agent's and the
 * server's.  The policy is made by hand; the report keeps events as lines.
 */
#ifndef KENNEL_TESTS_UNIT_MCP_RIG_H
#define KENNEL_TESTS_UNIT_MCP_RIG_H

#include "policy/sealed/policy.h"
#include "shim/base/buf.h"
#include "shim/base/loop.h"
#include "supervisor/mcp/private.h"

struct rig_gate {
	enum sealed_gate_kind kind;
	const char *name;
	enum sealed_verdict verdict;
	const char *because;
	uint32_t classes; /* enum sealed_class; 0: by its name alone */
};

struct rig {
	struct loop loop;
	struct session *session;
	struct policy policy;
	struct sealed_server server;
	int agent, from_agent;   /* the agent's ends: reads, writes */
	int agent_in, agent_out; /* what the session was given of the agent's */
	int into, out;           /* the server's ends: its stdin, its stdout */
	int ends;
	char why[128];
	struct buf agent_got, server_got;
	bool with_report;
};

/* A policy with everything allowed is flags and gates {kind, "*"}. */
void rig_policy(struct rig *, uint32_t flags, const struct rig_gate *, size_t gate_n,
    const struct sealed_limit *, size_t limit_n);
/* Behind rig_policy: a definition as reviewed, in its canonical form. */
void rig_pin(struct rig *, enum sealed_pin_kind, const char *name, const char *body,
    uint32_t classes);
/* session is NULL when there was no memory for it. */
void rig_open(struct rig *, bool pipes);
void rig_close(struct rig *);

/* Say this (a newline is added), let the session work until it is quiet. */
void rig_agent(struct rig *, const char *line);
void rig_server(struct rig *, const char *line);
void rig_bytes(struct rig *, int fd, const void *, size_t);
void rig_run(struct rig *, int quiet_ms);

/* What arrived since the last time, as text; cleared by the next rig_run. */
const char *rig_agent_got(struct rig *);
const char *rig_server_got(struct rig *);

/* The events so far, a line each; and a report that is full. */
extern char rig_events[1 << 16];
extern bool rig_definitions; /* those of the server's definitions too */
extern int rig_report_error;
extern bool rig_report_late;
extern uint64_t rig_durable; /* records up to this number are on disk */
extern size_t rig_report_pending;

#endif
