/*
 * kennel: the program that agents launch, and the command line.
 *
 * Process: kennel. Holds: the agent's stdio. Must never: hold a secret value, open a
 * network socket, be linked with leash/vault.
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
#include "supervisor/base/paths.h"
#include "supervisor/cli/cli.h"

#define TABLE_BYTES_MIN (32 << 10)

#ifndef KENNEL_VERSION
#define KENNEL_VERSION "0.1"
#endif

static int help_main(int argc, char **argv);
static int version_main(int argc, char **argv);

static const struct verb {
	const char *name;
	int (*fn)(int argc, char **argv);
	int skip; /* arguments before its argv[0]: 2 for a family of verbs */
	const char *what;
	bool homeless; /* it reports problems with kennel's directories itself */
} verbs[] = {
    {"run", run_main, 1, "NAME [--policy FILE]: one server on stdio, transparent"},
    {"exec", exec_main, 1, "[--policy FILE] NAME -- PROG [ARG...]: try a policy"},
    {"policy", policy_family_main, 2,
	"check|fmt|compile|show|explain|test|diff|query|score|doc FILE...; check --all",
	true},
    {"server", server_main, 2, "log NAME, pin NAME"},
    {"audit", audit_main, 2,
	"VERB: query the log; \"kennel audit help\" lists the verbs"},
    {"approve", approve_main, 2, "list|watch|allow|deny: pending approvals"},
    {"secret", secret_main, 2,
	"list|show|validate|catalog|set|rotate|grant|...: by name, never a value"},
    {"init", init_main, 1, "NAME -- COMMAND...: draft a policy"},
    {"doctor", doctor_main, 1, "[--json]: what this machine can enforce", true},
    {"help", help_main, 1, "this list", true},
    {"version", version_main, 1, "", true},
};

static int
help_main(int argc, char **argv)
{
	printf("kennel runs MCP servers in a sandbox.  See kennel(1).\n\n");
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (verbs[i].what[0] != '\0')
			printf("  kennel %-7s %s\n", verbs[i].name, verbs[i].what);
	return 0;
}

static int
version_main(int argc, char **argv)
{
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
	char shown[128];

	/*
	 * Closes descriptors that the agent left open; neither kennel nor its helpers
	 * may get them. kennel-secret may be asked to read from one, and closes the
	 * others itself.
	 * early: close_range
	 */
	if (strcmp(verb, "secret") != 0)
		(void)syscall(SYS_close_range, 3, ~0u, 0); /* Linux 5.9 */

	/* Map large tables, so that untouched pages are never allocated. */
	(void)mallopt(M_MMAP_THRESHOLD, TABLE_BYTES_MIN); /* else: more memory */
	log_open("kennel", getenv("KENNEL_DEBUG") != NULL ? LOG_DEBUG : LOG_INFO);
	if (strcmp(verb, "--help") == 0)
		verb = "help";
	if (strcmp(verb, "--version") == 0)
		verb = "version";
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (strcmp(verb, verbs[i].name) == 0)
			return verb_run(&verbs[i], argc, argv);
	if (argc > 1)
		fprintf(stderr, "kennel: unknown verb %s\n",
		    log_quote(shown, sizeof(shown), verb, strlen(verb)));
	fprintf(stderr, "usage: kennel VERB ...; \"kennel help\" lists them\n");
	return EXIT_USAGE;
}
