/*
 * Records in the audit log what users do to the vault: grants, unlocking, new values.
 *
 * Process: kennel, next to the kennel-secret that does the work. It knows the verb,
 * the path and the outcome, never a value. The keeper itself connects to no recorder:
 * requests that arrive only at its socket, and its automatic lock, are in keeper.log
 * (docs/TRUST.md).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "leash/audit/writer.h"
#include "policy/lang/secret_path.h"
#include "shim/base/array.h"
#include "shim/base/log.h"
#include "supervisor/approve/approve.h"
#include "supervisor/audit/audit.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/cli/cli.h"
#include "supervisor/cli/secret.h"
#include "supervisor/help/help.h"

#define NOT_YET         (-1)
#define EXIT_LOCKED     126 /* of kennel-secret */
#define EXIT_SIGNAL     128 /* and the number of the signal that ended it */
#define EXIT_SIGNAL_MAX 192
#define NAME_CHARS      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

/* gives: the verb grants access, and is recorded on disk before it does; a verb that
 * removes access is done in any case. */
static const struct {
	const char *verb;
	bool gives;
} row[] = {
    {"init", true},
    {"set", true},
    {"rotate", true},
    {"restore", true},  /* versions --restore */
    {"validate", true}, /* with --live: programs run */
    {"unlock", true},
    {"grant", true},
    {"recover", true},
    {"export-recovery", true},
    {"key-add", true},
    {"key-remove", false},
    {"remove", false},
    {"revoke", false},
    {"lock", false},
};

static struct {
	struct report *report;
	const char *verb, *path, *server; /* NULL: missing or invalid */
	const char *session;              /* NULL: a person runs the verb */
	bool gives, is_form;
} change;

/* True of an option whose value follows, and of one that is not known. */
static bool
takes_value(const char *option)
{
	const struct help_verb *v = help_find(&secret_help, change.verb);
	const struct help_option *o =
	    v != NULL ? help_option_find(&secret_help, v, option) : NULL;

	return strncmp(option, "--", 2) == 0 && (o == NULL || o->value != NULL);
}

/* Keeps only valid arguments; a misplaced value is dropped. */
static void
take_words(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *before = argv[i - 1], *word = argv[i];

		if (strcmp(before, "--server") == 0) {
			if (word[strspn(word, NAME_CHARS)] == '\0' && strlen(word) <= 128)
				change.server = word;
		} else if (word[0] != '-' && !takes_value(before) &&
			   secret_path_wrong(word, strlen(word)) == NULL)
			change.path = word;
	}
}

static bool
has(int argc, char **argv, const char *option)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], option) == 0)
			return true;
	return false;
}

/* What the verb does to the vault; a name that is in no row: nothing. */
static const char *
action_of(int argc, char **argv)
{
	const char *second = argc > 1 ? argv[1] : "";

	if (strcmp(argv[0], "versions") == 0)
		return has(argc, argv, "--restore") ? "restore" : "";
	if (strcmp(argv[0], "key") == 0)
		return strcmp(second, "remove") == 0 ? "key-remove" : "";
	if (strcmp(argv[0], "form") != 0)
		return argv[0];
	return strcmp(second, "key") == 0    ? "key-add"
	       : has(argc, argv, "--rotate") ? "rotate"
					     : "set";
}

static bool
by_signal(int status)
{
	return status > EXIT_SIGNAL && status < EXIT_SIGNAL_MAX;
}

/* The reason of an exit status of kennel-secret (kennel-secret(1)). Its messages are not
 * recorded: they can contain an argument, and so a misplaced value. */
static const char *
reason_of(int status)
{
	static const struct {
		int status;
		const char *reason;
	} reasons[] = {
	    {EXIT_USAGE, "wrong usage"},
	    {EXIT_INPUT, "an argument, a passphrase or a value is unsuitable, or the "
			 "vault or the path already exists"},
	    {EXIT_LOCKED, "the vault is locked or could not be unlocked"},
	    {EXIT_NOT_FOUND, "there is no vault, or no such path in it"},
	};
	bool of_sources = strcmp(change.verb, "validate") == 0;

	if (change.is_form && status == EXIT_INPUT)
		return "nothing was saved: the page was closed, cancelled or too old";
	if (by_signal(status))
		return "a signal ended it; the vault shows whether it was done";
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
		if (reasons[i].status == status && !of_sources)
			return reasons[i].reason;
	return of_sources ? "the sources could not be queried" : "kennel-secret failed";
}

/* Only a vault that was not opened is a denial: other failures refuse nothing. */
static void
put_end(struct event *e, int status)
{
	if (status == 0 || status == EXIT_LOCKED)
		event_text(e, KEY_VERDICT, status == 0 ? "allow" : "deny");
	if (status == 0)
		return;
	event_number(e, KEY_STATUS, (uint64_t)status);
	event_text(e, KEY_REASON, reason_of(status));
}

/* status: of kennel-secret; NOT_YET: it was not started. */
static int
record(const char *outcome, int status, uint64_t *ret_number)
{
	static struct event e;

	event_begin(&e, EVENT_VAULT);
	event_text(&e, KEY_ACTION, change.verb);
	event_text(&e, KEY_OUTCOME, outcome);
	if (status != NOT_YET)
		put_end(&e, status);
	if (status <= 0 && change.session != NULL)
		event_text(
		    &e, KEY_REASON, "again, at a start: the policy allows nothing more");
	event_text(&e, KEY_SOURCE, change.session != NULL ? "start" : "person");
	if (change.path != NULL)
		event_text(&e, KEY_NAME, change.path);
	if (change.server != NULL)
		event_text(&e, KEY_SERVER, change.server);
	event_number(&e, KEY_UID, getuid());
	event_number(&e, KEY_PID, (uint64_t)getpid());
	if (change.session == NULL)
		event_text(&e, KEY_CHANNEL, approve_channel_name(approve_channel_here()));
	return report_send(change.report, &e, EVENT_GATE, ret_number);
}

void
vault_log_start(const char *session)
{
	change.session = session;
}

int
vault_log_begin(int argc, char **argv)
{
	char why[AUDIT_WRITE_WHY_MAX];
	uint64_t number = 0;
	const char *action = action_of(argc, argv);
	size_t i, n = ARRAY_LEN(row);
	int r;

	for (i = 0; i < n && strcmp(row[i].verb, action) != 0; i++)
		;
	if (i == n)
		return 0;
	change.verb = row[i].verb;
	change.is_form = strcmp(argv[0], "form") == 0;
	change.gives = row[i].gives;
	change.path = change.server = NULL; /* of the last verb of this process */
	take_words(argc, argv);
	r = user_report_open(
	    change.session != NULL ? change.session : "", &change.report);
	if (r == 0 && change.gives) {
		r = record("asked", NOT_YET, &number);
		if (r == 0)
			r = report_wait(change.report, number, USER_REPORT_WAIT_MS);
	}
	if (r == 0)
		return 0;
	report_free(change.report);
	change.report = NULL;
	if (!change.gives) {
		log_warn("secret %s: unable to record it in the audit log: %s",
		    change.verb, strerror(-r));
		return 0;
	}
	log_error("secret %s: unable to write the audit log: %s; nothing was done",
	    change.verb,
	    paths_audit_dir() != NULL ? audit_write_why(paths_audit_dir(), r, why)
				      : strerror(-r));
	return EXIT_FAILED;
}

void
vault_log_end(int status)
{
	uint64_t number = 0;

	if (change.report == NULL)
		return;
	if (record(status == 0         ? "done"
		   : by_signal(status) ? "unknown"
				       : "failed",
		status, &number) < 0 ||
	    report_wait(change.report, number, USER_REPORT_WAIT_MS) < 0)
		log_warn("secret %s: unable to record the result", change.verb);
	report_free(change.report);
	change.report = NULL;
}
