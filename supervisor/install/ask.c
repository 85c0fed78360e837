#include "supervisor/install/ask.h"

#include <stdio.h>
#include <unistd.h>

bool
ask_person(const char *question)
{
	char answer[8];

	if (isatty(STDIN_FILENO) != 1 || isatty(STDERR_FILENO) != 1) {
		printf("Nothing was changed: run this again with --yes, or on a "
		       "terminal.\n");
		return false;
	}
	(void)fflush(stdout); /* before the question */
	fprintf(stderr, "%s [y/N] ", question);
	return fgets(answer, sizeof(answer), stdin) != NULL &&
	       (answer[0] == 'y' || answer[0] == 'Y');
}
