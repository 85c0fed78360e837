/*
 * What the hub adds to the order of a start: the uses of secrets that a person has approved.
 */
#ifndef KENNEL_SUPERVISOR_SERVE_LAUNCHER_START_ORDER_H
#define KENNEL_SUPERVISOR_SERVE_LAUNCHER_START_ORDER_H

#include "shim/base/wire.h"
#include "supervisor/launch/leash_approvals.h"

/* Reads them from LAUNCHER_START. An approval for the session is left out when the vault has
 * changed since, or was locked. */
void approved_uses_read(struct wire_in *, struct approved_uses *ret);

#endif
