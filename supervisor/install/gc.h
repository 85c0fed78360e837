/*
 * What no policy starts from, in the store.
 */
#ifndef KENNEL_SUPERVISOR_INSTALL_GC_H
#define KENNEL_SUPERVISOR_INSTALL_GC_H

#include <stdbool.h>

/* Lists the entries that no policy of kennel's directories names and no process has in
 * its view, asks unless yes, and removes them, and what ended installations left. An exit
 * status. */
int gc(bool yes);

#endif
