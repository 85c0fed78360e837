/*
 * What to set where user namespaces are restricted.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/host/install_path.h"
#include "supervisor/doctor/doctor.h"

long
doctor_sysctl(const char *path)
{
	char text[32] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = read(fd, text, sizeof(text) - 1);
	fd_close(&fd);
	return n > 0 ? strtol(text, NULL, 10) : -1;
}

/* The settings with which distributions restrict user namespaces. */
static const struct {
	const char *path;
	long bad;
	const char *good;
} userns_settings[] = {
    {"/proc/sys/user/max_user_namespaces", 0, "user.max_user_namespaces=15000"},
    {"/proc/sys/kernel/unprivileged_userns_clone", 0,
	"kernel.unprivileged_userns_clone=1"},
};

void
doctor_userns_fix(char *out, size_t size)
{
	const char *prefix = install_prefix(), *set = "";
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(userns_settings) && n < size; i++)
		if (doctor_sysctl(userns_settings[i].path) == userns_settings[i].bad) {
			n += (size_t)snprintf(out + n, size - n, "%s%s",
			    n == 0 ? "sysctl -w " : " ", userns_settings[i].good);
			set = "; to keep it, write it to /etc/sysctl.d/60-kennel.conf";
		}
	if (n < size)
		n += (size_t)snprintf(out + n, size - n, "%s", set);
	if (n == 0 &&
	    doctor_sysctl("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1)
		(void)snprintf(out, size,
		    "as root: cp %.80s/share/kennel/apparmor/kennel /etc/apparmor.d/ && "
		    "apparmor_parser -r /etc/apparmor.d/kennel (or, for all programs: "
		    "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0)",
		    prefix == NULL ? "/usr" : prefix);
	else if (n == 0)
		(void)snprintf(out, size,
		    "allow user namespaces (a container's seccomp profile, or a chroot, "
		    "may forbid them)");
}
