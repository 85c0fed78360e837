/*
 * The rows of kennel doctor that concern servers with net lines: which name
 * services of this host kennel-dial leaves out.
 */
#include <stdio.h>
#include <string.h>

#include "shim/host/nsswitch.h"
#include "supervisor/doctor/doctor.h"

void
doctor_name_services(struct finding *f)
{
	struct nsswitch_hosts hosts;
	int r = nsswitch_hosts(&hosts);

	f->holds = r == 0 && hosts.left_out_n == 0;
	(void)snprintf(f->fix, sizeof(f->fix),
	    "grant names that DNS or /etc/hosts has, or set \"hosts: files dns\" "
	    "in " NSSWITCH_CONF);
	if (r < 0)
		(void)snprintf(f->said, sizeof(f->said),
		    "unable to read " NSSWITCH_CONF
		    ": %s; no server with net lines starts",
		    strerror(-r));
	else if (f->holds)
		(void)snprintf(f->said, sizeof(f->said), "%.150s",
		    hosts.used[0] != '\0' ? hosts.used : "files dns");
	else
		(void)snprintf(f->said, sizeof(f->said),
		    "a name that only %.60s knows is not found; used: %.80s",
		    hosts.left_out, hosts.used);
}
