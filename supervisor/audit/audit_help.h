/*
 * The help of "kennel audit": its verbs and their options.
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_AUDIT_HELP_H
#define KENNEL_SUPERVISOR_AUDIT_AUDIT_HELP_H

#include "shim/help/help.h"

extern const struct help_family audit_help;

#endif
