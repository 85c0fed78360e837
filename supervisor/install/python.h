/*
 * Packages of Python: the user makes a virtual environment, and a draft starts the
 * program in it.
 */
#ifndef KENNEL_SUPERVISOR_INSTALL_PYTHON_H
#define KENNEL_SUPERVISOR_INSTALL_PYTHON_H

#include <stdbool.h>

#include "supervisor/install/install.h"

/* Is this a command that fetches a package of Python and starts it? */
bool python_is(int argc, char *const *argv);
/* Finds the program of the command in the environment of this server. Without one,
 * prints the commands that make it. 0 with its path, which is static, and the index of
 * the server's first argument; or an exit status. */
int python_program(const struct install *, char **ret_program, int *ret_rest);

#endif
