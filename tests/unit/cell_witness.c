/*
 * Says from inside a cell what is really there: static, so that the view needs
 * nothing but it.  "witness VERB ARG..."; answers are lines "key value".
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/array.h"

extern char **environ;

static void
put_lines(const char *key, const char *path)
{
	char line[4096];
	FILE *f = fopen(path, "re");

	if (f == NULL) {
		printf("%s error %d\n", key, errno);
		return;
	}
	while (fgets(line, sizeof(line), f) != NULL)
		printf("%s %s", key, line);
	fclose(f);
}

static void
put_folder(const char *key, const char *path)
{
	struct dirent *e;
	DIR *d = opendir(path);

	if (d == NULL) {
		printf("%s error %d\n", key, errno);
		return;
	}
	while ((e = readdir(d)) != NULL)
		if (e->d_name[0] != '.')
			printf("%s %s\n", key, e->d_name);
	closedir(d);
}

static int
verb_report(int argc, char **argv)
{
	static const char *const spaces[] = {
	    "user", "mnt", "pid", "net", "ipc", "uts", "cgroup"};
	char link[128], path[64], cwd[256] = "?";
	struct ifreq lo = {.ifr_name = "lo"};
	struct rlimit limit;
	struct utsname uts;
	ssize_t n;
	int sock;

	for (size_t i = 0; i < ARRAY_LEN(spaces); i++) {
		snprintf(path, sizeof(path), "/proc/self/ns/%s", spaces[i]);
		n = readlink(path, link, sizeof(link) - 1);
		link[n < 0 ? 0 : n] = '\0';
		printf("ns %s\n", link);
	}
	printf("uid %d %d gid %d %d groups %d\n", getuid(), geteuid(), getgid(),
	    getegid(), getgroups(0, NULL));
	printf("pid %d ppid %d sid %d\n", getpid(), getppid(), getsid(0));
	printf("secbits %d\n", prctl(PR_GET_SECUREBITS, 0, 0, 0, 0));
	getrlimit(RLIMIT_CORE, &limit);
	printf("core %lu %lu\n", limit.rlim_cur, limit.rlim_max);
	getrlimit(RLIMIT_NPROC, &limit);
	printf("nproc %lu %lu\n", limit.rlim_cur, limit.rlim_max);
	getrlimit(RLIMIT_NOFILE, &limit);
	printf("nofile %lu %lu\n", limit.rlim_cur, limit.rlim_max);
	uname(&uts);
	printf("host %s\n", uts.nodename);
	printf("cwd %s\n", getcwd(cwd, sizeof(cwd)));
	sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ioctl(sock, SIOCGIFFLAGS, &lo);
	close(sock);
	printf("lo %s\n", (lo.ifr_flags & IFF_UP) != 0 ? "up" : "down");
	for (int i = 0; i < argc; i++)
		printf("arg %s\n", argv[i]);
	for (char **e = environ; *e != NULL; e++)
		printf("env %s\n", *e);
	put_lines("status", "/proc/self/status");
	put_lines("mount", "/proc/self/mountinfo");
	put_lines("passwd", "/etc/passwd");
	put_lines("filter", "/proc/self/coredump_filter");
	put_folder("dev", "/dev");
	put_folder("fd", "/proc/self/fd");
	put_folder("interface", "/sys/class/net");
	return 0;
}

/* open MODE PATH...: the errno of each, 0 for success. */
static int
verb_open(int argc, char **argv)
{
	int flags = strcmp(argv[0], "r") == 0 ? O_RDONLY : O_RDWR;

	if (strcmp(argv[0], "c") == 0)
		flags |= O_CREAT;
	for (int i = 1; i < argc; i++) {
		int fd = open(argv[i], flags | O_CLOEXEC, 0755);

		printf("open %s %d\n", argv[i], fd < 0 ? errno : 0);
		if (fd >= 0)
			close(fd);
	}
	return 0;
}

/* What the mounts and namespaces must refuse; each prints its errno. */
static int
verb_tries(int argc, char **argv)
{
	int fd = open("/tmp/x", O_RDWR | O_CREAT | O_CLOEXEC, 0755);
	char *const none[] = {NULL};
	pid_t pid;

	printf(
	    "try write %d\n", write(fd, "#!/bin/witness exit\n", 20) == 20 ? 0 : errno);
	close(fd);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		execve("/tmp/x", none, none);
		printf("try exec-tmp %d\n", errno);
		fflush(stdout);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	printf("try userns %d\n", unshare(CLONE_NEWUSER) < 0 ? errno : 0);
	printf("try mount %d\n", mount("x", "/tmp", "tmpfs", 0, NULL) < 0 ? errno : 0);
	printf("try umount %d\n", umount2("/proc", MNT_DETACH) < 0 ? errno : 0);
	printf("try remount %d\n",
	    mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL) < 0 ? errno : 0);
	printf("try mkdir %d\n", mkdir("/new", 0755) < 0 ? errno : 0);
	printf("try unlink %d\n", unlink("/etc/passwd") < 0 ? errno : 0);
	printf("try chmod-node %d\n", chmod("/dev/null", 0777) < 0 ? errno : 0);
	printf("try mknod %d\n", mknod("/tmp/n", S_IFCHR | 0666, 0x103) < 0 ? errno : 0);
	printf("try host %d\n", sethostname("x", 1) < 0 ? errno : 0);
	printf("try kill-init %d\n", kill(1, SIGKILL) < 0 ? errno : 0);
	printf("try core %d\n", prctl(PR_SET_SECUREBITS, 0, 0, 0, 0) < 0 ? errno : 0);
	return 0;
}

/* fill PATH: how many bytes fit. */
static int
verb_fill(int argc, char **argv)
{
	static char block[65536];
	unsigned long total = 0;
	ssize_t n;
	int fd = open(argv[0], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	while ((n = write(fd, block, sizeof(block))) > 0)
		total += (unsigned long)n;
	printf("filled %lu\n", total);
	return 0;
}

/* An orphan that would live on, and a pipe of ours that it holds. */
static int
verb_orphan(int argc, char **argv)
{
	if (fork() == 0) {
		if (fork() == 0) {
			setsid();
			for (;;)
				pause();
		}
		_exit(0);
	}
	wait(NULL);
	printf("orphan\n");
	return 7;
}

static void
caught(int sig)
{
	char text[] = "caught 00\n";

	text[7] = (char)('0' + sig / 10);
	text[8] = (char)('0' + sig % 10);
	if (write(1, text, sizeof(text) - 1) < 0)
		_exit(1);
}

static _Noreturn void
be_deaf(void)
{
	signal(SIGTERM, caught);
	signal(SIGINT, caught);
	signal(SIGHUP, caught);
	signal(SIGUSR1, caught);
	printf("ready\n");
	fflush(stdout);
	for (;;)
		pause();
}

/* deaf: hear of TERM, INT, HUP, USR1, and do not go. */
static int
verb_deaf(int argc, char **argv)
{
	be_deaf();
}

/* forks: how many processes fit. */
static int
verb_forks(int argc, char **argv)
{
	int n = 0;

	while (n < 5000) {
		pid_t pid = fork();

		if (pid < 0)
			break;
		if (pid == 0)
			for (;;)
				pause();
		n++;
	}
	printf("forks %d\n", n);
	return 0;
}

static int
verb_exit(int argc, char **argv)
{
	return argc > 0 ? atoi(argv[0]) : 0;
}

static int
verb_hello(int argc, char **argv)
{
	printf("hello\n");
	return 0;
}

static int
verb_dump(int argc, char **argv)
{
	fflush(stdout);
	abort();
}

static const struct {
	const char *name;
	int (*run)(int, char **);
} verbs[] = {
    {"report", verb_report},
    {"open", verb_open},
    {"tries", verb_tries},
    {"fill", verb_fill},
    {"orphan", verb_orphan},
    {"deaf", verb_deaf},
    {"forks", verb_forks},
    {"exit", verb_exit},
    {"hello", verb_hello},
    {"dump", verb_dump},
};

int
main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < ARRAY_LEN(verbs); i++)
		if (strcmp(argv[1], verbs[i].name) == 0)
			return verbs[i].run(argc - 2, argv + 2);
	fprintf(stderr, "witness: no such verb\n");
	return 64;
}
