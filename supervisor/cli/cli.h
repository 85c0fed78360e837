/*
 * The command line: one file per family of verbs, and what they share. Every *_main
 * gets argv[0] as its verb and returns an exit status (kennel(1)).
 */
#ifndef KENNEL_SUPERVISOR_CLI_CLI_H
#define KENNEL_SUPERVISOR_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "supervisor/audit/audit.h"

int run_main(int argc, char **argv);
/* Says, if standard input is a terminal, that an agent is expected there. */
void tell_terminal(void);
int serve_main(int argc, char **argv);
int exec_main(int argc, char **argv);
/* The same for the cell of a fetch, recorded as PURPOSE_FETCH; EXIT_ADDRESS if a
 * connection was refused because the host has only addresses that the policy's grant does
 * not include. */
#define EXIT_ADDRESS 77
int exec_fetch_main(int argc, char **argv);
/* The same for an installer of kennel's own, recorded as PURPOSE_INSTALL. */
int exec_install_main(int argc, char **argv);
int server_login_main(int argc, char **argv);
int server_main(int argc, char **argv);
int doctor_main(int argc, char **argv);
/* audit.c: all of "kennel audit" */
int audit_main(int argc, char **argv);
int unused_main(int argc, char **argv);
/* What changed between two kept policies, for "audit changes --diff". */
const char *changes_diff(const char *log_dir, const uint8_t before[32],
    const uint8_t after[32], char **ret_text);
int init_main(int argc, char **argv);
int import_main(int argc, char **argv);
/* supervisor/learn */
int learn_main(int argc, char **argv);
/* supervisor/install */
int install_main(int argc, char **argv);
int try_main(int argc, char **argv);
/* supervisor/servers: kennel list, and verbs of kennel server */
int servers_list_main(int argc, char **argv);
int server_list_main(int argc, char **argv);
int server_show_main(int argc, char **argv);
int server_add_main(int argc, char **argv);
int server_enable_main(int argc, char **argv);
int server_disable_main(int argc, char **argv);
int server_remove_main(int argc, char **argv);
int server_trust_main(int argc, char **argv);
int server_export_main(int argc, char **argv);
int server_import_main(int argc, char **argv);
int server_check_main(int argc, char **argv);
/* kennel ps [--json]: the running sessions of the calling user. 125 if one does
 * not answer. */
int ps_main(int argc, char **argv);
/* kennel top: the same of all servers, live; once without a terminal. */
int top_main(int argc, char **argv);
/* supervisor/console */
int console_main(int argc, char **argv);
int approve_main(int argc, char **argv);
/* approve_value.c: the person types the value of this path at the terminal; then every
 * session has been informed. Returns an exit status, after reporting an error. */
int approve_value(const char *path);
/* Reports to every session that the keeper has a new version of the value of this path, or
 * the registry the approval of a file with this SHA-256. */
void approve_saved(const char *what);
int pin_main(int argc, char **argv);
int grant_main(int argc, char **argv);
/* secret.c: runs kennel-secret with these arguments and our terminal and descriptors.
 * Returns its exit status, or ours after reporting why it could not start. */
int secret_become(int argc, char **argv);
int secret_main(int argc, char **argv);
/* Sets the environment variables for kennel-secret: 0 or an exit status. */
int secret_places(void);
/* Starts kennel-secret with these arguments (NULL after the last) for a
 * dialog with this text. 0, with the child, which the caller waits
 * for, and a descriptor that has its answer until the end; or -errno. */
struct dialog_text { /* printable ASCII in lines */
	const char *about;
	const char *grants; /* of a value: the servers that have none yet; NULL: none */
};
int secret_dialog_start(
    char *const *argv, const struct dialog_text *, pid_t *ret_child, int *ret_answer);
/* secret_set.c: the token format that the manifests give for the value of this path; NULL:
 * none. project: as --project, or NULL. */
const char *secret_shape(const char *path, const char *project);
/* supervisor/catalog: kennel secret catalog fetch; project: as --project, or NULL; first:
 * --first */
int secret_catalog_fetch(const char *project, bool first);
int find_secret_main(int argc, char **argv);
/* Of the user's vault. */
enum vault_state { VAULT_NONE, VAULT_LOCKED, VAULT_OPEN };
enum vault_state vault_state_now(void);
/* How many security keys are in it; negative: it is not open. */
int vault_keys_now(void);
/* secret_audit.c: the records of this process belong to a start, which was refused and
 * grants again; session: its id. */
void vault_log_start(const char *session);
/* Records a verb that changes the vault; before the change, if the
 * verb grants access. Returns 0, or an exit status after reporting the error.
 * vault_log_end records the outcome. */
int vault_log_begin(int argc, char **argv);
void vault_log_end(int status);

/* user_report.c: connects to the recorder of the user's log: 0, or -errno within
 * USER_REPORT_WAIT_MS, which is also how long its caller waits for each record. */
#define USER_REPORT_WAIT_MS 5000
struct report;
/* session: "" if the records belong to none. */
int user_report_open(const char *session, struct report **ret);
/* Writes one record that belongs to no session: 0 if it is on disk, or -errno and why. */
struct event;
int user_report_one(struct event *, char ret_why[AUDIT_WRITE_WHY_MAX]);

/* ---- check_all.c: every policy that a start would find ---------------------------- */

/* Checks each against the others and against kennel's own files.  Writes the errors, and
 * the grants on directories in which agents look for programs to start, one a line;
 * the caller frees both.  Returns the number of errors, or -errno. */
int policies_report(char **ret_errors, char **ret_agents, size_t *ret_policies);
/* Keeps only the error lines of a compiler's output. Returns it. */
char *error_lines(char *said);
/* supervisor/servers: kennel policy score --all, and explain --request; an exit status */
int score_all(bool json);
int explain_request(bool json);
/* "kennel policy ...": what concerns all policies that a start would find, or a verb of the
 * policy room. */
int policy_family_main(int argc, char **argv);

#endif
