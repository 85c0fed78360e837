/*
 * "kennel doctor", row of settings.kennel: with an error in it, kennel serve does not start.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/cli/cli.h"
#include "supervisor/doctor/doctor.h"
#include "supervisor/serve/tools/settings.h"

static char *errors; /* of the row */

void
doctor_settings(struct finding *f)
{
	struct settings s = {.arena = NULL};
	size_t len = 0;
	FILE *diag = open_memstream(&errors, &len);
	int r = diag == NULL ? -ENOMEM : settings_load(diag, &s);

	if (diag != NULL && fclose(diag) == 0)
		f->lines = error_lines(errors);
	f->holds = r == 0;
	(void)snprintf(f->said, sizeof(f->said), "%s", /* may be cut */
	    r == -EINVAL     ? "kennel serve does not start"
	    : r < 0          ? strerror(-r)
	    : s.file != NULL ? s.file
			     : "no settings.kennel; the defaults hold");
	(void)snprintf(f->fix, sizeof(f->fix),
	    "correct these lines of settings.kennel (man 5 kennel-settings)");
	settings_free(&s);
}

void
doctor_settings_forget(void)
{
	free(errors);
	errors = NULL;
}
