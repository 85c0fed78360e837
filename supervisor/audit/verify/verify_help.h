/*
 * The help of kennel-verify.
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_VERIFY_VERIFY_HELP_H
#define KENNEL_SUPERVISOR_AUDIT_VERIFY_VERIFY_HELP_H

#include "shim/help/help.h"

extern const struct help_family verify_help;

/* Prints the help that the arguments (from argv[1]) ask for; false: they ask for none. */
bool verify_help_asked(int argc, char **argv);

#endif
