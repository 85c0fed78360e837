/*
 * kennel: the program that agents launch, and the command line.
 *
 * Process: kennel.  Holds: the agent's stdio.  Must never: hold a secret value,
 * open a socket to the world, be linked with leash/vault.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/base/log.h"
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
	int skip; /* words before its argv[0]: 2 for a family of verbs */
	const char *what;
} verbs[] = {
    {"run", run_main, 1, "NAME [--policy FILE]: one server on stdio, transparent"},
    {"exec", exec_main, 1, "[--policy FILE] NAME -- PROG [ARG...]: try a policy"},
    {"policy", policy_main, 2,
	"check|fmt|compile|show|explain|test|diff|query|score|doc FILE..."},
    {"server", server_main, 2, "log NAME, pin NAME"},
    {"audit", audit_family_main, 2,
	"VERB: the log; \"kennel audit help\" lists what it answers"},
    {"approve", approve_main, 2, "list|watch|allow|deny: what waits for a person"},
    {"secret", secret_main, 2,
	"list|show|validate|catalog|set|rotate|grant|...: by name, never a value"},
    {"init", init_main, 1, "NAME -- COMMAND...: a draft of a policy"},
    {"doctor", doctor_main, 1, "[--json]: what this machine can enforce"},
    {"help", help_main, 1, "this list"},
    {"version", version_main, 1, ""},
};

static int
help_main(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	printf("kennel keeps MCP servers on a leash.  kennel(1) tells more.\n\n");
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (verbs[i].what[0] != '\0')
			printf("  kennel %-7s %s\n", verbs[i].name, verbs[i].what);
	return 0;
}

static int
version_main(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	printf("kennel %s\n", KENNEL_VERSION);
	return 0;
}

int
main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";
	char shown[128];

	/* What an agent left open is neither ours nor a helper's.  kennel-secret
	 * may be told to read from one, and closes the rest itself.
	 * early: close_range */
	if (strcmp(verb, "secret") != 0)
		(void)syscall(SYS_close_range, 3, ~0u, 0); /* Linux 5.9 */

	/* Tables that are made whole are mapped, so that what is never used of
	 * them is never there. */
	(void)mallopt(M_MMAP_THRESHOLD, TABLE_BYTES_MIN); /* else: more memory */
	log_open("kennel", getenv("KENNEL_DEBUG") != NULL ? LOG_DEBUG : LOG_INFO);
	if (strcmp(verb, "--help") == 0)
		verb = "help";
	if (strcmp(verb, "--version") == 0)
		verb = "version";
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(verb, verbs[i].name) == 0)
			return verbs[i].fn(argc - verbs[i].skip, argv + verbs[i].skip);
	if (argc > 1)
		fprintf(stderr, "kennel: unknown verb %s\n",
		    log_quote(shown, sizeof(shown), verb, strlen(verb)));
	fprintf(stderr, "usage: kennel VERB ...; \"kennel help\" lists them\n");
	return EXIT_USAGE;
}
