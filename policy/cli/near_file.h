/*
 * The policy that was probably meant by the name of a file that does not exist (near_file.c).
 */
#ifndef KENNEL_POLICY_CLI_NEAR_FILE_H
#define KENNEL_POLICY_CLI_NEAR_FILE_H

/* Prints it on standard error, if there is one. */
void near_file_say(const char *path);

#endif
