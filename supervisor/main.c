/*
 * kennel: the program that agents launch, and the command line.
 *
 * Process: kennel. Holds: the agent's stdio. Must never: hold a secret value, open a
 * network socket, be linked with leash/vault. The exception is `kennel import`, which
 * reads the secrets that a client's configuration has in clear text, has no agent, and
 * wipes them (supervisor/import).
 */
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/pager.h"
#include "supervisor/base/paths.h"
#include "supervisor/cli/cli.h"
#include "supervisor/help/help.h"

#define TABLE_BYTES_MIN (32 << 10)

#ifndef KENNEL_VERSION
#define KENNEL_VERSION "0.1"
#endif

static int version_main(int argc, char **argv);

static const struct verb {
	const char *name; /* its help is in supervisor/help */
	int (*fn)(int argc, char **argv);
	int skip;      /* arguments before its argv[0]: 2 for a family of verbs */
	bool homeless; /* it reports problems with kennel's directories itself */
} verbs[] = {
    {"run", run_main, 1}, {"serve", serve_main, 1}, {"exec", exec_main, 1},
    {"policy", policy_family_main, 2, true}, {"server", server_main, 2},
    {"audit", audit_main, 2}, {"approve", approve_main, 2}, {"secret", secret_main, 2},
    {"init", init_main, 1}, {"install", install_main, 1}, {"try", try_main, 1},
    {"import", import_main, 1}, {"learn", learn_main, 1}, {"list", servers_list_main, 1},
    {"ps", ps_main, 1}, {"top", top_main, 1}, {"console", console_main, 1},
    {"doctor", doctor_main, 1, true}, {"help", help_main, 1, true},
    {"version", version_main, 1, true},
    {"complete", complete_main, 1, true}, /* for shells, and in no list */
};

static int
version_main(int argc, char **argv)
{
	if (argc > 1)
		return help_refuse(&kennel_help, argv[0], argv[1]);
	printf("kennel %s\n", KENNEL_VERSION);
	return 0;
}

static int
verb_run(const struct verb *v, int argc, char **argv)
{
	if (!v->homeless && paths_refused()) {
		log_error("%s", paths_why());
		return EXIT_CONFIG;
	}
	return v->fn(argc - v->skip, argv + v->skip);
}

int
main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";
	int status;

	/*
	 * Closes descriptors that the agent left open; neither kennel nor its helpers
	 * may get them. kennel-secret may be asked to read from one, and closes the
	 * others itself.
	 * early: close_range
	 */
	if (strcmp(verb, "secret") != 0)
		(void)syscall(SYS_close_range, 3, ~0u, 0); /* Linux 5.9 */

	/* Map large tables, so that untouched pages are never allocated.  The heap must
	 * keep no room for one: calloc would use that, and clear it. */
	(void)mallopt(M_MMAP_THRESHOLD, TABLE_BYTES_MIN); /* else: more memory */
	(void)mallopt(M_TOP_PAD, TABLE_BYTES_MIN / 2);    /* the same */
	if (strcmp(verb, "--no-pager") == 0) {
		pager_never();
		argc--;
		argv++;
		verb = argc > 1 ? argv[1] : "";
	}
	log_open("kennel", getenv("KENNEL_DEBUG") != NULL ? LOG_DEBUG : LOG_INFO);
	if (argc == 1)
		return help_first();
	if (help_answer(argc - 1, argv + 1, &status))
		return status;
	if (strcmp(verb, "--version") == 0)
		verb = "version";
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (strcmp(verb, verbs[i].name) == 0)
			return verb_run(&verbs[i], argc, argv);
	return help_unknown_command(verb);
}
