/*
 * Private to the pin room: what kennel cannot check about a tool's arguments
 * (schema_warnings.c).
 */
#ifndef KENNEL_SUPERVISOR_PIN_SCHEMA_WARNINGS_H
#define KENNEL_SUPERVISOR_PIN_SCHEMA_WARNINGS_H

#include "shim/base/buf.h"

/* Logs a warning for each part of this tool's inputSchema that is not checked. Both are
 * canonical. */
void schema_warnings(const struct buf *name, const struct buf *definition);

#endif
