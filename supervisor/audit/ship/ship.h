/*
 * Shared by kennel-ship and the verb that starts it (`kennel audit ship`).
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_SHIP_SHIP_H
#define KENNEL_SUPERVISOR_AUDIT_SHIP_SHIP_H

#include "supervisor/audit/report/export.h"

#define SHIP_AGAIN     75           /* lost the collector: start it again */
#define SHIP_LINE_MAX  (256u << 10) /* bytes of one message */
#define SHIP_PLACE_LEN 80           /* bytes of a position file */

enum ship_way { SHIP_DATAGRAM, SHIP_STREAM };
struct ship_to {
	enum ship_way way;
	int fd;
};

/* ---- send.c: the one socket ---------------------------------------------- */

/* Parses and connects to "unix:PATH" (datagrams), "unix-stream:PATH" or
 * "tcp:ADDRESS:PORT". No host names, so that no resolver is needed. Returns 0;
 * -EINVAL: none of these. */
int ship_connect(const char *to, struct ship_to *ret);
/* Sends one message; on a stream with octet counting (RFC 6587, 3.4.1). 0 or -errno. */
int ship_send(const struct ship_to *, const void *, size_t);
/* True if the peer's kernel has acknowledged all of it. */
bool ship_all_taken(const struct ship_to *);

/* ---- syslog_line.c: RFC 5424 --------------------------------------------- */

/* Writes the message of a record; its length, 0 if longer than SHIP_LINE_MAX. */
size_t ship_line(const struct log_record *, const struct export_format *,
    const char *host, char out[SHIP_LINE_MAX]);
/* Writes a message from kennel-ship itself. */
size_t ship_notice(
    const char *host, uint64_t now_ns, const char *text, char out[SHIP_LINE_MAX]);

/* ---- progress.c: the position -------------------------------------------- */

/* Opens or creates the file. Returns the number of the next record to send (0 in a
 * new file). -EUCLEAN: the position belongs to another log. */
int ship_place_open(const char *path, const char *log, int *ret_fd, uint64_t *ret_next);
int ship_place_put(int fd, const char *log, uint64_t next);

/* ---- verb_ship.c: "kennel audit ship" ------------------------------------ */

int ship_main(int argc, char **argv);

#endif
