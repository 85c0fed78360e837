/*
 * The command line: one file per family of verbs, and what they share.
 * Every *_main gets argv[0] as its verb and returns an exit status (kennel(1)).
 */
#ifndef KENNEL_SUPERVISOR_CLI_CLI_H
#define KENNEL_SUPERVISOR_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leash/audit/writer.h"
#include "policy/sealed/policy.h"
#include "supervisor/audit/audit.h"
#include "supervisor/launch/leash_client.h"

#define EXIT_USAGE     64 /* sysexits(3), as the man page lists them */
#define EXIT_INPUT     65
#define EXIT_MISSING   69
#define EXIT_CONFIG    78
#define EXIT_FAILED    125
#define EXIT_NOT_FOUND 127

int run_main(int argc, char **argv);
int exec_main(int argc, char **argv);
int server_main(int argc, char **argv);
int doctor_main(int argc, char **argv);
/* audit.c: all of "kennel audit" */
int audit_family_main(int argc, char **argv);
int unused_main(int argc, char **argv);
int init_main(int argc, char **argv);
int approve_main(int argc, char **argv);
int pin_main(int argc, char **argv);
int grant_main(int argc, char **argv);
/* secret.c: kennel-secret is started, with these words and our terminal and
 * descriptors.  Its exit status, or ours where it cannot be, and it was said. */
int secret_become(int argc, char **argv);
int secret_main(int argc, char **argv);
/* What kennel-secret is told by its environment: 0 or an exit status. */
int secret_places(void);
int find_secret_main(int argc, char **argv);
/* vault_log.c: a verb that changes the vault is in the audit log, before it is done
 * where it gives power.  0 or an exit status, which was said; then how it ended. */
int vault_log_begin(int argc, char **argv);
void vault_log_end(int status);

/* ---- find.c: which policy, and its bytes ------------------------------------ */

#define SIGNERS_SHOWN 8 /* of a policy, in its record */

struct found {
	struct policy policy;
	const struct sealed_server *server;
	int fd;    /* the sealed memfd that policy maps */
	bool text; /* compiled for this start: the files that it names were read now */
	/* for the record that it was loaded */
	char file[REPORT_TEXT_MAX];           /* where it was found */
	uint8_t sha256[REPORT_DIGEST_LEN];    /* of that file, as it was read */
	uint64_t counter;                     /* the signed version; 0: not signed */
	char signers[SIGNERS_SHOWN * 65 + 1]; /* their keys in hex, by spaces */
	char *source;                         /* that file, if it is a text; owned */
	size_t source_len;
};
/* The policy, and its text, are put beside the log, if they are not there: true when
 * they are.  The log tells what is in force either way. */
bool found_keep(struct found *, const char *log_dir);
/* The fields of that record, but for what every record of a server has. */
void found_tell(const struct found *, struct event *);

/*
 * The policy for server `name`: file (sealed or text), or by the search order
 * of kennel(1), POLICIES, when file is NULL.  Text is compiled into a sealed
 * memfd first.  0, or an exit status after the reason was printed; why, if not
 * NULL, gets it as one line.
 */
int find_policy(
    const char *file, const char *name, struct found *ret, char *why, size_t why_cap);
void found_free(struct found *);

/* ---- seen.c: no way back to an older policy ------------------------------ */

/* The policy of server `name`, signed as version `counter`: -ESTALE where a newer
 * one was started before, -EEXIST where another one was with this number.  It is
 * kept from now on.  One line of why. */
int seen_admit(const char *name, uint64_t counter, const uint8_t id[POLICY_ID_LEN],
    char *why, size_t why_cap);
/* The same in this folder: for tests. */
int seen_admit_in(const char *folder, const char *name, uint64_t counter,
    const uint8_t id[POLICY_ID_LEN], char *why, size_t why_cap);

/* ---- own.c -------------------------------------------------------------------- */

/*
 * -EPERM, and why: a grant of the server reaches the policies (file, where it was
 * given, and what that includes, too), the log or the recorder's socket.
 */
int own_apart(const struct found *, const char *file, const struct audit_place *,
    char *why, size_t why_cap);

/* ---- open.c: what run and exec have in common --------------------------------- */

struct loop;
struct queue;
struct desk;

struct opened {
	struct found found;
	struct audit_place place;
	char session[17];
	int log_dir_fd;
	struct report *report; /* this process's own connection to the log */
	struct child child;
	struct loop *loop;       /* borrowed */
	struct queue *questions; /* for a person; NULL: nobody can be asked */
	struct desk *desk;
};

/* What it is that is opened. */
struct open_order {
	const char *file, *name; /* file NULL: by name */
	enum leash_mode mode;
	int argc;
	char *const *argv;
	struct loop *loop; /* runs only while a person is asked about the start */
	int signals;       /* of open_signals: one ends such a start */
};

/*
 * Find the policy, reach the recorder, start the leash and its server.  0, or an
 * exit status with why filled (and not printed).
 */
int open_server(const struct open_order *, struct opened *ret, char why[LEASH_TEXT_MAX]);
void opened_free(struct opened *);
/* TERM, INT and HUP are heard from a descriptor from here on; PIPE is ignored. */
int open_signals(int *ret_fd);
/* A (new) connection for o->report: 0, or the log is gone. */
int open_report(struct opened *);
/* Answer LEASH_NEEDS_RECORDER. */
int opened_recorder(struct opened *);
/* Where a person answers what the policy asks about, if it is not open already.  On
 * failure both are NULL: nothing is asked, and what would be is refused. */
void open_desk(struct opened *);
void close_desk(struct opened *);
/* ---- asked.c: secrets whose use a person is asked about ------------------------ */

struct asked_approve {
	uint32_t of[LEASH_SECRETS_MAX]; /* enum sealed_approve, as manifests have it */
};
/* What the project's manifest and the personal index say about the server's
 * secrets.  0 (*ret_any: the use of one is asked about, by them or by the policy),
 * or -errno and why: what cannot be read might have asked. */
int asked_approves(
    const struct found *, struct asked_approve *ret, bool *ret_any, char *why);
/*
 * As child_launch, and meanwhile a person is asked: each yes is on disk before the
 * leash has it.  A signal, the agent's end, and the end of all time end it.
 */
int asked_launch(struct opened *, const struct child_order *, const struct open_order *,
    uint64_t wait_ms, int *ret_status, char why[LEASH_TEXT_MAX]);

/* The exit status of kennel for a wait status of the server. */
int exit_status(int wait_status);
/* Shut the doors of this process before it serves (its own seccomp list,
 * Landlock, no dumps).  Dies when it cannot. */
void open_confine(const struct opened *);

#endif
