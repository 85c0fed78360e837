/*
 * How two entries of the store differ, for a person to read.
 */
#ifndef KENNEL_SUPERVISOR_INSTALL_CHANGES_H
#define KENNEL_SUPERVISOR_INSTALL_CHANGES_H

/* Prints the changed packages, their install scripts, and the files of the package. 0 or
 * -errno. */
int changes_show(const char *old_dir, const char *new_dir, const char *package);
#endif
