#include "supervisor/install/ask.h"

#include <stdio.h>

#include "supervisor/base/ask.h"

bool
ask_person(const char *question)
{
	if (ask_possible())
		return ask_yes(question);
	printf("Nothing was changed: run this again with --yes, or on a terminal.\n");
	return false;
}
