/*
 * A question that a person answers with yes or no.
 */
#ifndef KENNEL_SUPERVISOR_INSTALL_ASK_H
#define KENNEL_SUPERVISOR_INSTALL_ASK_H

#include <stdbool.h>

/* Asks on the terminal. Without one, names --yes, which answers it: false. */
bool ask_person(const char *question);

#endif
