/*
 * kennel console: becomes kennel-console. kennel itself opens no port.
 *
 * `kennel console record`, which no help lists, is run by kennel-console: it writes one
 * record of the audit log, about an event of a table.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "leash/audit/writer.h"
#include "shim/base/array.h"
#include "shim/base/log.h"
#include "supervisor/audit/audit.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/cli/cli.h"
#include "supervisor/help/help.h"

#define COUNT_MAX 1000000000ul

static const struct console_event {
	const char *action, *verdict; /* NULL: none */
	bool of_page;                 /* the server asks for it, not the launcher */
} events[] = {
    {"start", NULL, false},
    {"end", NULL, false},
    {"login", "allow", true},
    {"link-reused", "deny", true},
    {"refused", "deny", true},
};

static const struct console_event *
find_event(const char *action, bool of_page)
{
	for (size_t i = 0; i < ARRAY_LEN(events); i++)
		if (strcmp(events[i].action, action) == 0 && events[i].of_page == of_page)
			return &events[i];
	return NULL;
}

static int
write_record(const struct console_event *what, unsigned long count)
{
	char why[AUDIT_WRITE_WHY_MAX];
	static struct event e; /* large */

	event_begin(&e, EVENT_CONSOLE);
	event_text(&e, KEY_ACTION, what->action);
	if (what->verdict != NULL)
		event_text(&e, KEY_VERDICT, what->verdict);
	if (count > 1)
		event_number(&e, KEY_COUNT, count);
	event_number(&e, KEY_UID, getuid());
	event_number(&e, KEY_PID, (uint64_t)getppid()); /* the launcher */
	if (user_report_one(&e, why) == 0)
		return 0;
	log_error("unable to record the %s of the console in the audit log: %s; `kennel "
		  "doctor` checks the log",
	    what->action, why);
	return EXIT_FAILED;
}

/* record EVENT, of the launcher; record page EVENT COUNT, of the server. */
static int
record_main(int argc, char **argv)
{
	bool of_page = argc == 4 && strcmp(argv[1], "page") == 0;
	const struct console_event *what = NULL;
	unsigned long count = 1;
	char *end = NULL;

	if (of_page) {
		what = find_event(argv[2], true);
		count = strtoul(argv[3], &end, 10);
	} else if (argc == 2) {
		what = find_event(argv[1], false);
	}
	if (what == NULL || count == 0 || count > COUNT_MAX ||
	    (end != NULL && *end != '\0'))
		return EXIT_USAGE; /* kennel-console runs it, not a person */
	return write_record(what, count);
}

int
console_main(int argc, char **argv)
{
	const char *path = paths_libexec("kennel-console");

	if (argc > 1 && strcmp(argv[1], "record") == 0)
		return record_main(argc - 1, argv + 1);
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--no-open") != 0 && strcmp(argv[i], "--keys") != 0)
			return help_refuse(&kennel_help, argv[0], argv[i]);
	if (path != NULL)
		(void)execv(path, argv); /* early: execve */
	log_error("unable to run kennel-console: %s; install kennel again",
	    path == NULL ? "its path is unknown" : strerror(errno));
	return EXIT_FAILED;
}
