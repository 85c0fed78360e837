/*
 * A newer version of a package that a policy starts from the store.
 */
#ifndef KENNEL_SUPERVISOR_INSTALL_UPDATE_H
#define KENNEL_SUPERVISOR_INSTALL_UPDATE_H

#include "supervisor/install/install.h"

/* Installs the version that the command names, or the newest, shows what differs, asks,
 * and changes the policy. An exit status; 1: it was not wanted. */
int update(const struct install *);

#endif
