/*
 * "kennel doctor", policy rows: the findings of "policy check --all", and the servers
 * that may write what an agent starts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/sealed/signature.h"
#include "supervisor/cli/cli.h"
#include "supervisor/doctor/doctor.h"

/* Policies are read once, for both rows. */
static struct {
	char *errors, *agents;
	size_t policies_n;
	int error_n; /* or -errno */
	bool read;
} report;

static void
report_read(void)
{
	if (!report.read)
		report.error_n =
		    policies_report(&report.errors, &report.agents, &report.policies_n);
	report.read = true;
}

void
doctor_policies(struct finding *f)
{
	report_read();
	f->holds = report.error_n == 0;
	if (report.error_n < 0)
		(void)snprintf(f->said, sizeof(f->said), "%s", strerror(-report.error_n));
	else if (report.error_n == 0 && report.policies_n == 0)
		(void)snprintf(f->said, sizeof(f->said),
		    "none yet; kennel init NAME -- COMMAND drafts one");
	else
		(void)snprintf(f->said, sizeof(f->said), "%zu checked, %d error%s",
		    report.policies_n, report.error_n, report.error_n == 1 ? "" : "s");
	(void)snprintf(
	    f->fix, sizeof(f->fix), "fix what `kennel policy check --all` shows");
	f->lines = report.errors;
}

void
doctor_signed(struct finding *f)
{
	static struct trust t; /* large */
	char why[256] = "";
	int r = trust_read(TRUST_DIR, 0, &t, why, sizeof(why));

	f->holds = r == 0 && t.wanted && t.listed;
	if (r < 0)
		(void)snprintf(f->said, sizeof(f->said), "no server starts: %s", why);
	else if (!t.wanted)
		(void)snprintf(
		    f->said, sizeof(f->said), "not required: no key in " TRUST_DIR);
	else if (!t.listed)
		(void)snprintf(f->said, sizeof(f->said),
		    "%u key%s; a policy that was signed once starts until it or its key "
		    "is revoked",
		    t.key_n, t.key_n == 1 ? "" : "s");
	else
		(void)snprintf(f->said, sizeof(f->said), "%u key%s, %u policies in force",
		    t.key_n, t.key_n == 1 ? "" : "s", t.current_n);
	(void)snprintf(f->fix, sizeof(f->fix), "%s",
	    r < 0 || !t.wanted ? "see kennel-policy(1), /etc/kennel/trust"
			       : "list those in force in " TRUST_DIR "/" TRUST_CURRENT
				 " (`kennel policy sign --current`)");
}

void
doctor_agents(struct finding *f)
{
	report_read();
	f->holds = report.agents == NULL || report.agents[0] == '\0';
	(void)snprintf(f->said, sizeof(f->said), "%s",
	    f->holds ? "no server may write one in a project"
		     : "a server may write what an agent starts, outside of any cell");
	(void)snprintf(f->fix, sizeof(f->fix),
	    "grant directories inside a project instead of the project");
	f->lines = report.agents;
}

void
doctor_forget(void)
{
	free(report.errors);
	free(report.agents);
	report.errors = NULL;
	report.agents = NULL;
}
