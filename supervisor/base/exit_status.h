/*
 * Exit statuses of kennel (kennel(1)): sysexits(3), and those of a shell.
 */
#ifndef KENNEL_SUPERVISOR_BASE_EXIT_STATUS_H
#define KENNEL_SUPERVISOR_BASE_EXIT_STATUS_H

#define EXIT_USAGE     64 /* sysexits(3), as in the man page */
#define EXIT_INPUT     65
#define EXIT_MISSING   69
#define EXIT_CONFIG    78
#define EXIT_FAILED    125
#define EXIT_NOT_FOUND 127

#endif
