/*
 * Public interface of the audit room: connect to the recorder of a log, and read a
 * log.
 *
 * 	connect.c	find the recorder of a log, or start it
 * 	write_test.c	why a log cannot be written
 * 	kept/		the last checkpoint of each log, beside its directory
 * 	log/		the file format: schema, records, Merkle tree, keys, signatures
 * 	recorder/	kennel-recorder, the only writer of a log
 * 	verify/		kennel-verify, which trusts nothing that it reads
 * 	query/		the verbs of `kennel audit` that read records
 * 	report/		reports, exports, proofs, witnesses
 * 	ship/		kennel-ship, which sends records to a syslog server
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_AUDIT_H
#define KENNEL_SUPERVISOR_AUDIT_AUDIT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* ---- connect.c ---------------------------------------------------------- */

struct audit_place {
	const char *log_dir;  /* holds audit.db and audit.lock; made 0700 */
	const char *run_dir;  /* holds the socket; made 0700 */
	const char *recorder; /* path of kennel-recorder */
};

/*
 * Connects to the recorder of this log. If none is running, starts one (under
 * audit.lock, detached from this process). The caller then sends HELLO with
 * report_open, or passes the connection to a leash that does. Returns 0; -ETIMEDOUT
 * if no recorder answers within wait_ms; -EACCES and similar for the directories.
 */
int audit_connect(const struct audit_place *, int wait_ms, int *ret_fd);

/* ---- write_test.c ------------------------------------------------------- */

#define AUDIT_WRITE_WHY_MAX 2048
/* Writes and removes a file in the log's directory: 0, or -errno and the reason, with
 * the file system and the bytes free on it. */
int audit_write_test(const char *log_dir, char why[AUDIT_WRITE_WHY_MAX]);
/* Why a recorder does not take records, after such an error of audit_connect,
 * report_open or report_wait: that test's reason, else the recorder's own message. Returns
 * the errno of the cause. */
int audit_write_cause(const char *log_dir, int error, char why[AUDIT_WRITE_WHY_MAX]);
/* What a person can do about such a cause. */
const char *audit_write_fix(int error);
/* Both in one text, which is in why. */
const char *audit_write_why(
    const char *log_dir, int error, char why[AUDIT_WRITE_WHY_MAX]);

#endif
