/*
 * kennel audit: the verbs that need more than the log; all others go to the audit
 * room.
 */
#include <string.h>

#include "supervisor/cli/cli.h"

int
audit_family_main(int argc, char **argv)
{
	static const struct {
		const char *name, *what;
		int (*main)(int argc, char **argv);
	} row[] = {
	    {"unused", "SERVER             grants that were never used", unused_main},
	    {"find-secret",
		"[--stdin]          find every use of a value (prompts without echo)",
		find_secret_main},
	};
	int status;

	for (size_t i = 0; argc > 0 && i < sizeof(row) / sizeof(row[0]); i++) {
		if (strcmp(argv[0], row[i].name) == 0)
			return row[i].main(argc, argv);
	}
	status = audit_main(argc, argv);
	for (size_t i = 0;
	     argc > 0 && strcmp(argv[0], "help") == 0 && i < sizeof(row) / sizeof(row[0]);
	     i++)
		printf("  kennel audit %-12s %s\n", row[i].name, row[i].what);
	return status;
}
