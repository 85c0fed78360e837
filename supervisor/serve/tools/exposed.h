/*
 * How many tools of servers a list has beside kennel's own, and whether `budget` allows
 * them (exposed.c).
 */
#ifndef KENNEL_SUPERVISOR_SERVE_TOOLS_EXPOSED_H
#define KENNEL_SUPERVISOR_SERVE_TOOLS_EXPOSED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pins;
struct policy;
struct sealed_server;
struct settings;

struct exposing {
	const struct settings *settings;
	const char *name; /* as the agent sees it */
	const struct policy *policy;
	const struct sealed_server *server;
	const struct pins *pins; /* of server */
	uint32_t can;            /* the agent's capabilities: enum sealed_server_flag */
};

/* Tools that the agent's list has of this server, at most. False: there is no such number,
 * because it has no pins and a pattern has `*`. */
bool exposed_count(const struct exposing *, size_t *ret);
/* Are n tools more than the settings allow? unknown: a server without a number, or NULL. why
 * may be cut. */
bool exposed_over(
    const struct settings *, size_t n, const char *unknown, char *why, size_t why_cap);

#endif
