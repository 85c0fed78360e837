/*
 * The side that asks running sessions and hubs of the calling user. Nothing here trusts
 * an answer: texts in it are not escaped.
 */
#ifndef KENNEL_SUPERVISOR_STATUS_STATUS_CLIENT_H
#define KENNEL_SUPERVISOR_STATUS_STATUS_CLIENT_H

#include "supervisor/status/hub_wire.h"
#include "supervisor/status/status.h"

#define STATUS_SESSIONS_MAX 1024

/* The state of the session of process pid ("kennel run", "kennel exec"). 0, or -errno:
 * -ENOENT, -ECONNREFUSED: it has ended. */
int status_of_session(long pid, struct status *ret);

/* Called for each server that a hub has. */
typedef void server_row_fn(void *arg, long pid, const struct hub_row *);
/* The state of the hub of process pid ("kennel serve"), and its servers; fn: NULL: they
 * are not asked for. 0 or -errno as above. */
int status_of_hub(long pid, struct hub_status *ret, server_row_fn *fn, void *arg);

/*
 * The servers of all hubs of the calling user, and those that "kennel run" serves
 * without a hub (such a row has no tools, protocol or times). A server that several serve
 * comes more than once. Returns how many did not answer.
 */
size_t status_of_servers(server_row_fn *, void *arg);

/* A descriptor that is readable when the hub's state has changed, or -errno; the packets
 * are to be received and dropped. */
int status_watch(long pid);
int status_restart(long pid, const char *server, enum restart_outcome *ret);
/* A person has approved a project's file with this SHA-256, in hex. */
int status_trusted(long pid, const char *sha256);

/* After such an error: true if the process has ended; what a killed one has left in the
 * run directory is removed. */
bool status_ended(long pid, int error);

#endif
