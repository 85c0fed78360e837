/*
 * kennel doctor: shows what this kernel and this user can enforce, what they cannot,
 * and the exact fix. Each row tries the feature itself in a child and reports the
 * kernel's answer; nothing is inferred from a version number.
 *
 * If a required row is missing, no server can start (kennel fails closed); the exit
 * status is then 1.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "policy/sealed/policy.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/host/subid.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/base/terminal.h"
#include "supervisor/cli/cli.h"
#include "supervisor/doctor/doctor.h"
#include "supervisor/help/help.h"

#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif
#define CGROUP2_MAGIC  0x63677270 /* linux/magic.h */
#define MEMLOCK_WANTED (4u << 20) /* bytes; the leash's secrets and plan */

enum need { NEEDED, WANTED, TOLD };

struct row {
	const char *name;
	const char *gives;
	enum need need;
	void (*probe)(struct finding *);
};

/* Runs body in a child; its exit status is an errno, 0 is success. */
static int
in_child(int (*body)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (pid < 0)
		return errno;
	if (pid == 0)
		_exit(body());
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

static void
verdict(struct finding *f, int error, const char *fix)
{
	f->holds = error == 0;
	(void)snprintf(
	    f->said, sizeof(f->said), "%s", error == 0 ? "works" : strerror(error));
	if (error != 0)
		(void)snprintf(f->fix, sizeof(f->fix), "%s", fix);
}

static void
probe_kernel(struct finding *f)
{
	unsigned int major = 0, minor = 0;
	struct utsname u;

	/* NOLINTNEXTLINE(cert-err34-c): the kernel's own words about itself */
	if (uname(&u) < 0 || sscanf(u.release, "%u.%u", &major, &minor) != 2)
		major = 0;
	f->holds = major > 6 || (major == 6 && minor >= 1);
	(void)snprintf(f->said, sizeof(f->said), "Linux %u.%u", major, minor);
	(void)snprintf(f->fix, sizeof(f->fix), "run Linux 6.1 or newer");
}

static int
child_userns(void)
{
	return unshare(CLONE_NEWUSER) < 0 ? errno : 0;
}

static int
child_mount(void)
{
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return errno;
	return syscall(SYS_fsopen, "tmpfs", 1) < 0 ? errno : 0;
}

static void
probe_userns(struct finding *f)
{
	int error = in_child(child_userns);

	/* AppArmor lets the process make the namespace but removes its capabilities */
	if (error == 0)
		error = in_child(child_mount);
	verdict(f, error, "");
	if (error != 0)
		doctor_userns_fix(f->fix, sizeof(f->fix));
}

static int
child_netns(void)
{
	return unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC |
		       CLONE_NEWUTS | CLONE_NEWCGROUP) < 0
		   ? errno
		   : 0;
}

static void
probe_namespaces(struct finding *f)
{
	verdict(f, in_child(child_netns),
	    "raise the user.max_*_namespaces limits (sysctl -a | grep namespaces)");
}

static int
proc_in_pidns(void)
{
	int fs = (int)syscall(SYS_fsopen, "proc", 1);

	if (fs < 0)
		return errno;
	if (syscall(SYS_fsconfig, fs, 6 /* create */, NULL, NULL, 0) < 0)
		return errno;
	return syscall(SYS_fsmount, fs, 1, 0xf) < 0 ? errno : 0;
}

static int
child_proc(void)
{
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID) < 0)
		return errno;
	return in_child(proc_in_pidns); /* the first process of the new pid namespace */
}

static void
probe_proc(struct finding *f)
{
	verdict(f, in_child(child_proc),
	    "this /proc is covered in places, as in containers: run kennel outside, or "
	    "write no-proc in the policy");
}

static int
child_notify(void)
{
	struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog program = {1, code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return errno;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		   SECCOMP_FILTER_FLAG_NEW_LISTENER |
		       SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
		   &program) < 0
		   ? errno
		   : 0;
}

static void
probe_notify(struct finding *f)
{
	int error = in_child(child_notify);

	verdict(f, error,
	    error == EBUSY
		? "another filter of this process tree owns the notify listener: start "
		  "kennel outside that sandbox"
		: "a kernel with CONFIG_SECCOMP_FILTER, 5.19 or newer");
}

/* Seizes a child that waits. */
static int
child_ptrace(void)
{
	pid_t pid = fork();
	int error;

	if (pid == 0)
		for (;;)
			pause();
	error = ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL) < 0
		    ? errno
		    : 0;
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, __WALL);
	return error;
}

static void
probe_ptrace(struct finding *f)
{
	long scope = doctor_sysctl("/proc/sys/kernel/yama/ptrace_scope");

	verdict(f, in_child(child_ptrace),
	    scope >= 2 ? "sysctl -w kernel.yama.ptrace_scope=1 (3 needs a reboot)"
		       : "allow ptrace of one's own children");
}

static int
child_getfd(void)
{
	int pid = (int)fork(), fd, error;

	if (pid == 0)
		for (;;)
			pause();
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	error = fd < 0 || syscall(SYS_pidfd_getfd, fd, 2, 0) < 0 ? errno : 0;
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	return error;
}

static void
probe_getfd(struct finding *f)
{
	verdict(f, in_child(child_getfd), "allow pidfd_getfd(2) (Linux 5.6)");
}

static void
probe_landlock(struct finding *f)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);

	f->holds = abi >= 1;
	if (f->holds)
		(void)snprintf(f->said, sizeof(f->said), "ABI %ld%s", abi,
		    abi >= 6 ? "" : "; 6 also confines signals and abstract sockets");
	else
		(void)snprintf(f->said, sizeof(f->said), "%s", strerror(errno));
	(void)snprintf(f->fix, sizeof(f->fix),
	    "add landlock to the kernel's lsm= parameter (CONFIG_SECURITY_LANDLOCK)");
}

/* Finds our own cgroup's directory in the cgroup2 tree, or returns false. */
static bool
own_cgroup(char *out, size_t out_cap)
{
	static const char *const roots[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
	char line[512];
	struct statfs fs;
	FILE *file;

	for (size_t i = 0; i < 2; i++) {
		if (statfs(roots[i], &fs) < 0 || fs.f_type != CGROUP2_MAGIC)
			continue;
		file = fopen("/proc/self/cgroup", "re");
		while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
			if (strncmp(line, "0::", 3) != 0)
				continue;
			line[strcspn(line, "\n")] = '\0';
			(void)snprintf(out, out_cap, "%s%s", roots[i], line + 3);
			(void)fclose(file); /* read-only */
			return true;
		}
		if (file != NULL)
			(void)fclose(file); /* read-only */
	}
	return false;
}

#define CGROUP_LACKS \
	"; limit memory then holds for each process, and limit cpu refuses a start"

/* The most that the sockets of a server with the default limits can hold, in GiB. */
static unsigned long long
sockets_gib(void)
{
	static const struct sealed_server none = {0}; /* without `limit` lines */
	char text[24] = "";
	int fd = open("/proc/sys/net/core/wmem_default", O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	fd_close(&fd);
	return strtoull(text, NULL, 10) * policy_limit(NULL, &none, LIMIT_PROCESSES) *
		   policy_limit(NULL, &none, LIMIT_FILES) >>
	       30;
}

static void
probe_cgroup(struct finding *f)
{
	char dir[600], path[700], text[256] = "", lacks[256];
	int fd = -1;
	ssize_t n = 0;

	(void)snprintf(lacks, sizeof(lacks),
	    "%s; the sockets of one server can hold %llu GiB (limit processes x limit "
	    "files x net.core.wmem_default)",
	    CGROUP_LACKS, sockets_gib());
	(void)snprintf(f->fix, sizeof(f->fix),
	    "start the agent in a delegated cgroup: systemd-run --user --scope -p "
	    "Delegate=yes COMMAND");
	if (!own_cgroup(dir, sizeof(dir))) {
		(void)snprintf(f->said, sizeof(f->said), "no cgroup v2 here%s", lacks);
		return;
	}
	(void)snprintf(path, sizeof(path), "%s/cgroup.controllers", dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		n = read(fd, text, sizeof(text) - 1);
	fd_close(&fd);
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	f->holds = access(dir, W_OK) == 0 && strstr(text, "memory") != NULL &&
		   strstr(text, "pids") != NULL && strstr(text, "cpu") != NULL;
	(void)snprintf(f->said, sizeof(f->said), "%s, controllers: %s%s",
	    access(dir, W_OK) == 0 ? "delegated" : "not delegated",
	    text[0] != '\0' ? text : "none", f->holds ? "" : lacks);
}

static void
probe_memlock(struct finding *f)
{
	struct rlimit limit = {0, 0};

	(void)getrlimit(RLIMIT_MEMLOCK, &limit); /* stays 0 on failure */
	f->holds = limit.rlim_cur >= MEMLOCK_WANTED;
	if (limit.rlim_cur == RLIM_INFINITY)
		(void)snprintf(f->said, sizeof(f->said), "unlimited");
	else
		(void)snprintf(f->said, sizeof(f->said), "%llu kB",
		    (unsigned long long)limit.rlim_cur / 1024);
	(void)snprintf(f->fix, sizeof(f->fix), "ulimit -l %u", MEMLOCK_WANTED / 1024);
}

static int
child_secret(void)
{
	return syscall(SYS_memfd_secret, 0) < 0 ? errno : 0;
}

static void
probe_secret(struct finding *f)
{
	verdict(f, in_child(child_secret),
	    "boot with secretmem.enable=1 (locked pages serve meanwhile)");
}

/* Starts a child in a user namespace of its own, for newuidmap to map. */
static pid_t
mapless(int *ret_end)
{
	int ready[2], end[2];
	char byte = 0;
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC) < 0)
		return -1;
	if (pipe2(end, O_CLOEXEC) < 0 || (pid = fork()) < 0) {
		(void)close(ready[0]); /* nothing was written */
		(void)close(ready[1]);
		return -1;
	}
	if (pid == 0) {
		(void)close(end[1]); /* read-only */
		if (unshare(CLONE_NEWUSER) == 0 && write(ready[1], &byte, 1) == 1 &&
		    read(end[0], &byte, 1) < 0)
			_exit(1);
		_exit(0);
	}
	(void)close(ready[1]); /* owned by the child */
	(void)close(end[0]);
	if (read(ready[0], &byte, 1) != 1)
		byte = 1;
	(void)close(ready[0]); /* read-only */
	*ret_end = end[1];
	return pid;
}

/* What this protects against, and what not: TRUST.md. */
static void
probe_subuid(struct finding *f)
{
	const char *why = "unable to create a process";
	struct subid ids = {0};
	int end = -1, r;
	pid_t child;

	if (getuid() == 0) {
		f->holds = true;
		(void)snprintf(f->said, sizeof(f->said), "%s",
		    "root needs none: name another uid with user in the policy");
		return;
	}
	r = subid_find(getuid(), &ids, &why);
	if (r == 0) {
		child = mapless(&end);
		r = child < 0 ? -EAGAIN : subid_map(child, &ids, &why);
		fd_close(&end);
		while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
	}
	f->holds = r == 0;
	if (r == 0)
		(void)snprintf(f->said, sizeof(f->said),
		    "require subuid runs a server as uid %u: your other processes do not "
		    "read its /proc, but may attach to it and join it",
		    ids.uid);
	else
		(void)snprintf(f->said, sizeof(f->said), "%s", why);
	(void)snprintf(f->fix, sizeof(f->fix),
	    "apt install uidmap; usermod --add-subuids 100000-165535 --add-subgids "
	    "100000-165535 USER");
}

/* A limit of every rootless sandbox, which the report states (TRUST.md). */
static void
probe_same_uid(struct finding *f)
{
	f->holds = getuid() == 0;
	(void)snprintf(f->said, sizeof(f->said), "%s",
	    f->holds ? "servers run under another uid"
		     : "your other processes can read a server's environment, or with "
		       "require subuid attach to it");
	(void)snprintf(f->fix, sizeof(f->fix),
	    "do not give the agent a shell as this user, or run kennel as root with "
	    "user in the policy");
}

static const struct row rows[] = {
    {"kernel", "the minimum version", NEEDED, probe_kernel},
    {"user-namespaces", "a file-system view and capabilities of its own", NEEDED,
	probe_userns},
    {"namespaces", "pid, net, ipc, uts, cgroup of its own", NEEDED, probe_namespaces},
    {"fresh-proc", "a /proc that shows only the cell", NEEDED, probe_proc},
    {"seccomp-notify", "every exec is checked", NEEDED, probe_notify},
    {"ptrace-children", "the checked exec is the one that runs", NEEDED, probe_ptrace},
    {"pidfd-getfd", "the gate's descriptor", NEEDED, probe_getfd},
    {"landlock", "a second layer of confinement", NEEDED, probe_landlock},
    {"locked-memory", "secrets never reach swap", NEEDED, probe_memlock},
    {"audit-log", "every action is logged before it is allowed", NEEDED, doctor_audit},
    {"cgroup", "limit memory and cpu for the whole server", WANTED, probe_cgroup},
    {"memfd-secret", "secrets that the kernel itself cannot read", WANTED, probe_secret},
    {"subordinate-uids", "another uid for servers, rootless", TOLD, probe_subuid},
    {"name-services", "granted names are found as on this host", TOLD,
	doctor_name_services},
    {"vault", "secrets of servers, stored encrypted", TOLD, doctor_vault},
    {"policies", "no server writes what another one runs", WANTED, doctor_policies},
    {"signed-policies", "only what the administrator signed", TOLD, doctor_signed},
    {"settings", "for kennel serve", WANTED, doctor_settings},
    {"agent-configs", "agents start what their user chose", TOLD, doctor_agents},
    {"same-uid-readers", "secrets against the agent's own shell", TOLD, probe_same_uid},
};
#define ROWS_N (ARRAY_LEN(rows))

static const char *
need_name(enum need need)
{
	static const char *const names[] = {
	    [NEEDED] = "needed", [WANTED] = "wanted", [TOLD] = "told"};

	return names[need];
}

static void
print_people(const struct row *row, const struct finding *f, bool colour)
{
	static const struct {
		const char *word, *colour;
	} mark[] = {{"ok", "\x1b[32m"}, {"NO", "\x1b[1;31m"}, {"-", "\x1b[33m"}};
	size_t i = f->holds ? 0 : row->need == NEEDED ? 1 : 2;

	printf("%s%-4s%s %-17s %s: %s\n", colour ? mark[i].colour : "", mark[i].word,
	    colour ? "\x1b[0m" : "", row->name, row->gives, f->said);
	if (!f->holds)
		printf("     %-17s fix: %s\n", "", f->fix);
	for (const char *line = f->lines; line != NULL && *line != '\0';
	     line += strcspn(line, "\n") + 1)
		printf("     %.*s\n", (int)strcspn(line, "\n"), line);
}

/* All texts are our own or from strerror, so only the double quote needs escaping. */
static void
print_json_string(const char *text, size_t len)
{
	putchar('"');
	for (; len > 0; text++, len--) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		putchar((unsigned char)*text >= 0x20 ? *text : ' ');
	}
	putchar('"');
}

static void
print_json_text(const char *key, const char *text)
{
	printf("\"%s\":", key);
	print_json_string(text, strlen(text));
}

static void
print_json_lines(const char *text)
{
	printf(",\"findings\":[");
	for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
		if (line != text)
			putchar(',');
		print_json_string(line, strcspn(line, "\n"));
	}
	putchar(']');
}

static void
print_json(const struct row *row, const struct finding *f, bool last)
{
	printf("  {");
	print_json_text("name", row->name);
	printf(",\"holds\":%s,", f->holds ? "true" : "false");
	print_json_text("need", need_name(row->need));
	printf(",");
	print_json_text("gives", row->gives);
	printf(",");
	print_json_text("said", f->said);
	if (!f->holds) {
		printf(",");
		print_json_text("fix", f->fix);
	}
	if (f->lines != NULL)
		print_json_lines(f->lines);
	printf("}%s\n", last ? "" : ",");
}

int
doctor_main(int argc, char **argv)
{
	bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
	bool colour = terminal_of(STDOUT_FILENO).colour, confined = true;

	if (argc > 1 + json)
		return help_refuse(&kennel_help, argv[0], argv[1 + json]);
	if (json)
		printf("[\n");
	for (size_t i = 0; i < ROWS_N; i++) {
		struct finding f = {0};

		/* otherwise the child would print our buffer a second time */
		(void)fflush(stdout); /* the end reports a failure too */
		rows[i].probe(&f);
		if (rows[i].need == NEEDED && !f.holds)
			confined = false;
		if (json)
			print_json(&rows[i], &f, i + 1 == ROWS_N);
		else
			print_people(&rows[i], &f, colour);
	}
	if (json)
		printf("]\n");
	else
		printf("%s\n", confined ? "a server can be confined here"
					: "no server would be started here");
	doctor_forget();
	doctor_settings_forget();
	return confined ? 0 : 1;
}
