/*
 * Lines for what was refused, from the log.
 */
#ifndef KENNEL_SUPERVISOR_LEARN_FROM_LOG_H
#define KENNEL_SUPERVISOR_LEARN_FROM_LOG_H

/* "[SERVER] [option ...]": argv[0] is ignored, the options are those of kennel audit.
 * Prints the lines; returns an exit status. */
int learn_from_log(int argc, char **argv);

#endif
