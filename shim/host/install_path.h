/*
 * Where the programs of this installation are.
 */
#ifndef KENNEL_SHIM_HOST_INSTALL_PATH_H
#define KENNEL_SHIM_HOST_INSTALL_PATH_H

/*
 * The directory above the one of this binary (.../bin/kennel: ...), asked once; NULL:
 * unknown.
 */
const char *install_prefix(void);

#endif
