/*
 * Listening sockets of the loopback addresses, for a page in a browser on this machine.
 */
#ifndef KENNEL_SHIM_HOST_LOOPBACK_H
#define KENNEL_SHIM_HOST_LOOPBACK_H

#include <stdint.h>

#define LOOPBACK_SOCKETS 2 /* 127.0.0.1 and ::1 */

/* Both addresses with one port, drawn at random; -1: this machine has no ::1. The caller
 * closes them. 0 or -errno. */
int loopback_listen(int ret_fd[LOOPBACK_SOCKETS], uint16_t *ret_port);

#endif
