/*
 * The log on its way to a collector: what kennel-ship and the verb that starts
 * it say to each other.
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_SHIP_H
#define KENNEL_SUPERVISOR_AUDIT_SHIP_H

#include "supervisor/audit/report/export.h"

#define SHIP_AGAIN     75           /* the collector is gone: start it again */
#define SHIP_LINE_MAX  (256u << 10) /* bytes of one message */
#define SHIP_PLACE_LEN 80           /* bytes of a position's file */

enum ship_way { SHIP_DATAGRAM, SHIP_STREAM };
struct ship_to {
	enum ship_way way;
	int fd;
};

/* ---- ship_send.c: the one socket ---------------------------------------------------- */

/* "unix:PATH" (datagrams), "unix-stream:PATH", "tcp:ADDRESS:PORT"; no names, so
 * that nothing is asked of a resolver.  0; -EINVAL: none of these. */
int ship_connect(const char *to, struct ship_to *ret);
/* One message; by octet counting (RFC 6587, 3.4.1) on a stream.  0 or -errno. */
int ship_send(const struct ship_to *, const void *, size_t);
/* Does the other side have all of it, as far as its kernel says? */
bool ship_all_taken(const struct ship_to *);

/* ---- ship_line.c: RFC 5424 ------------------------------------------------------------ */

/* The message of a record; its length, 0 when it is longer than SHIP_LINE_MAX. */
size_t ship_line(const struct fact *, const struct export_format *, const char *host,
    char out[SHIP_LINE_MAX]);
/* A message of kennel-ship's own. */
size_t ship_notice(
    const char *host, uint64_t now_ns, const char *text, char out[SHIP_LINE_MAX]);

/* ---- ship_place.c: how far it came ----------------------------------------------------- */

/* Opens or makes the file: the number of the next record to send, 0 in a new one.
 * -EUCLEAN: the place is one in another log. */
int ship_place_open(const char *path, const char *log, int *ret_fd, uint64_t *ret_next);
int ship_place_put(int fd, const char *log, uint64_t next);

/* ---- ship_run.c: "kennel audit ship" ---------------------------------------------------- */

int ship_main(int argc, char **argv);

#endif
