/*
 * The "hosts:" line of /etc/nsswitch.conf (nsswitch.conf(5)): which name services
 * look up a host name, and which of them kennel-dial uses.
 */
#ifndef KENNEL_SHIM_HOST_NSSWITCH_H
#define KENNEL_SHIM_HOST_NSSWITCH_H

#include <stddef.h>

#define NSSWITCH_CONF "/etc/nsswitch.conf"

struct nsswitch_hosts {
	/* the services that are used, in their order, with their actions */
	char used[512];
	/* the services that are not, separated by blanks; cut where it is full */
	char left_out[256];
	size_t left_out_n;
};

/*
 * Reads the line from the text of the file; the last one counts, as in glibc.  Used
 * are files, dns, resolve and myhostname: the services whose system calls
 * kennel-dial allows.  If the line names none of them, used is "files", because glibc
 * crashes on an empty list.  Without a line used is "", which means glibc's own
 * choice (files and dns).  0; -E2BIG: the used part is longer than 511 bytes.
 */
int nsswitch_hosts_in(const char *text, size_t len, struct nsswitch_hosts *ret);

/* The same from /etc/nsswitch.conf; -errno if it exists and cannot be read. */
int nsswitch_hosts(struct nsswitch_hosts *ret);

#endif
