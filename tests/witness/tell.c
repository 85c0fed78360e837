/* What this process is (witness.h). */
#include "shim/base/array.h"
#include "tests/witness/witness.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

extern char **environ;

static void
tell_status(void)
{
	static const char *const wanted[] = {"Uid", "Gid", "Groups", "CapInh", "CapPrm",
	    "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Seccomp_filters",
	    "NSpid", "TracerPid"};
	char line[4096];
	FILE *f = fopen("/proc/self/status", "re");

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
			size_t n = strlen(wanted[i]);
			if (strncmp(line, wanted[i], n) == 0 && line[n] == ':')
				printf("%s=%s", wanted[i],
				    line + n + 1 + (line[n + 1] == '\t'));
		}
	if (f != NULL)
		fclose(f);
}

int
verb_ids(int argc, char **argv)
{
	static const char *const spaces[] = {
	    "user", "mnt", "pid", "net", "ipc", "uts", "cgroup", "time"};
	char path[64], target[64];

	printf("pid=%d\nppid=%d\nsid=%d\n", getpid(), getppid(), getsid(0));
	printf("uid=%d\neuid=%d\ngid=%d\n", getuid(), geteuid(), getgid());
	printf("dumpable=%d\n", prctl(PR_GET_DUMPABLE));
	printf("nnp=%d\n", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
	tell_status();
	for (size_t i = 0; i < ARRAY_LEN(spaces); i++) {
		(void)snprintf(path, sizeof(path), "/proc/self/ns/%s", spaces[i]);
		ssize_t n = readlink(path, target, sizeof(target) - 1);
		if (n > 0)
			printf("ns_%s=%.*s\n", spaces[i], (int)n, target);
	}
	char cwd[4096];
	printf(
	    "cwd=%s\n", getcwd(cwd, sizeof(cwd)) != NULL ? cwd : strerrorname_np(errno));
	return 0;
}

/* One line of mountinfo: ID PARENT DEV ROOT POINT OPTIONS ... - TYPE ... */
static int
tell_mount(char *line, int *open_n)
{
	char *field[6], *rest = line, *type = strstr(line, " - ");

	for (size_t i = 0; i < ARRAY_LEN(field); i++)
		if ((field[i] = strsep(&rest, " ")) == NULL)
			return -1;
	const char *options = field[5];
	int writable = strncmp(options, "rw", 2) == 0;
	int noexec = strstr(options, "noexec") != NULL;
	printf("mount=%s %s %s", field[4], options, type != NULL ? type + 3 : "\n");
	if (writable && !noexec) {
		printf("writable_and_executable=%s\n", field[4]);
		(*open_n)++;
	}
	if (strstr(options, "nosuid") == NULL || strstr(options, "nodev") == NULL)
		printf("suid_or_dev=%s %s\n", field[4], options);
	return 0;
}

int
verb_mounts(int argc, char **argv)
{
	char line[8192];
	int open_n = 0;
	FILE *f = fopen("/proc/self/mountinfo", "re");

	if (f == NULL) {
		printf("mountinfo=%s\n", strerrorname_np(errno));
		return 1;
	}
	while (fgets(line, sizeof(line), f) != NULL)
		(void)tell_mount(line, &open_n); /* prints what it understood */
	fclose(f);
	printf("writable_and_executable_n=%d\n", open_n);
	return 0;
}

int
verb_fds(int argc, char **argv)
{
	char path[64], target[4096];
	int n = 0;

	for (int fd = 0; fd < 65536; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			continue;
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		ssize_t len = readlink(path, target, sizeof(target) - 1);
		printf(
		    "fd_%d=%.*s\n", fd, len > 0 ? (int)len : 1, len > 0 ? target : "?");
		n++;
	}
	printf("fds_n=%d\n", n);
	return 0;
}

int
verb_limits(int argc, char **argv)
{
	static const struct {
		const char *name;
		int what;
	} limits[] = {{"core", RLIMIT_CORE}, {"nofile", RLIMIT_NOFILE},
	    {"nproc", RLIMIT_NPROC}, {"as", RLIMIT_AS}, {"memlock", RLIMIT_MEMLOCK},
	    {"fsize", RLIMIT_FSIZE}, {"stack", RLIMIT_STACK},
	    {"msgqueue", RLIMIT_MSGQUEUE}};

	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		struct rlimit l;
		if (getrlimit((__rlimit_resource_t)limits[i].what, &l) == 0)
			printf("%s=%lld %lld\n", limits[i].name, (long long)l.rlim_cur,
			    (long long)l.rlim_max);
	}
	return 0;
}

int
verb_env(int argc, char **argv)
{
	for (char **e = environ; *e != NULL; e++)
		printf("%s\n", *e);
	return 0;
}

int
verb_argv(int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		printf("arg_%d=%s\n", i, argv[i]);
	return 0;
}
