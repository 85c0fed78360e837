#include "supervisor/base/ask.h"

#include <stdio.h>
#include <unistd.h>

bool
ask_possible(void)
{
	return isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1;
}

bool
ask_yes(const char *question)
{
	char answer[8];

	(void)fflush(stdout); /* before the question */
	fprintf(stderr, "%s [y/N] ", question);
	return fgets(answer, sizeof(answer), stdin) != NULL &&
	       (answer[0] == 'y' || answer[0] == 'Y');
}
