/*
 * Shared by kennel-ship and the verb that starts it (`kennel audit ship`).
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_SHIP_SHIP_H
#define KENNEL_SUPERVISOR_AUDIT_SHIP_SHIP_H

#include "supervisor/audit/log/merkle.h"
#include "supervisor/audit/report/export.h"

#define SHIP_AGAIN     75           /* lost the collector or the log: start it again */
#define SHIP_ON        76           /* the collector has it all: start it again at once */
#define SHIP_CLOSE_MS  10000        /* for the collector to close after our end */
#define SHIP_LINE_MAX  (256u << 10) /* bytes of one message */
#define SHIP_PLACE_LEN 160          /* bytes of a position file */
#define SHIP_TWO       77           /* the log is not the one that was shipped */

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
/* Ends the stream and waits, at most SHIP_CLOSE_MS, until the collector has read it to its
 * end and closes. 0, also for datagrams, which are in its queue; -ETIMEDOUT: it does not
 * close; -errno: it has gone, and perhaps read a part. */
int ship_confirm(const struct ship_to *);

/* ---- syslog_line.c: RFC 5424 --------------------------------------------- */

/* Writes the message of a record; its length, 0 if longer than SHIP_LINE_MAX. */
size_t ship_line(const struct log_record *, const struct export_format *,
    const char *host, char out[SHIP_LINE_MAX]);
/* Writes a message from kennel-ship itself. */
size_t ship_notice(
    const char *host, uint64_t now_ns, const char *text, char out[SHIP_LINE_MAX]);

/* ---- progress.c: the position -------------------------------------------- */

/* A position: the next record to send, and the log's checkpoint when it was stored, which
 * counts those before it and perhaps more. */
struct ship_place {
	uint64_t next, size; /* size 0: a new file, or one of version 1 */
	uint8_t root[MERKLE_HASH_LEN];
};
/* The bytes of a position in this log. 0 or -EUCLEAN: in another log, or damaged. */
int ship_place_read(const char *, size_t, const char *log, struct ship_place *ret);
/* Opens or creates the file; a new one has the position 0. 0, -EUCLEAN, -errno. */
int ship_place_open(
    const char *path, const char *log, int *ret_fd, struct ship_place *ret);
int ship_place_put(int fd, const char *log, const struct ship_place *);

/* ---- verb_ship.c: "kennel audit ship" ------------------------------------ */

int ship_main(int argc, char **argv);

#endif
