/*
 * The cell and its shim, asked from inside: namespaces, the view, ids,
 * capabilities, limits, how it ends.  Run by root it runs twice: as root, and
 * once more as an ordinary user.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <dirent.h>

#include <cmocka.h>

#include "shim/base/array.h"
#include "tests/unit/child.h"

#include "leash/cell/private.h"
#include "shim/base/fd.h"
#include "shim/base/loop.h"
#include "tests/unit/cell_kit.h"

#define NOBODY 65534
/* The sanitizer's own memory is copied for each process that a start makes. */
#ifdef __SANITIZE_ADDRESS__
#define STARTS 20
#else
#define STARTS 1000
#endif
#define TIMED 100

static struct kit kit;
static char out[KIT_OUT_MAX];
static const char *const no_env[] = {NULL};

static int
setup(void **state)
{
	kit_open(&kit);
	return 0;
}

static int
teardown(void **state)
{
	kit_close(&kit);
	return 0;
}

/* Run the witness; its answers are in out. */
static void
ask(struct run *run, const char *verb, const char *a, const char *b)
{
	const char *argv[] = {"witness", verb, a, b, NULL};
	int r = kit_run(&kit, run, argv, no_env, out, sizeof(out));

	if (r != 0)
		fail_msg("%s (%s)", run->why, strerror(-r));
	if (run->failed)
		fail_msg(
		    "shim: %u %s %s", run->step, strerror((int)run->error), run->why);
	assert_true(run->exited);
}

static bool
said(const char *line)
{
	size_t len = strlen(line);

	for (const char *p = strstr(out, line); p != NULL; p = strstr(p + 1, line))
		if ((p == out || p[-1] == '\n') && p[len] == '\n')
			return true;
	return false;
}

#define assert_said(line) \
	do { \
		if (!said(line)) \
			fail_msg("not said: \"%s\" in:\n%s", line, out); \
	} while (0)

static void
refused(int error, const char *why)
{
	struct run run;
	int r = kit_start(&kit, &run);

	if (r == 0)
		kit_end(&run);
	if (r != error || strstr(run.why, why) == NULL)
		fail_msg("%d \"%s\", wanted %d \"%s\"", r, run.why, error, why);
}

/* Where no ids are lent the policy's line is named; where some are, and nothing gains
 * privileges any more, the helper that would map them. */
static void
refused_subuid(const char *line)
{
	int status = -1;
	pid_t pid = test_fork();

	if (pid == 0) {
		struct run run;
		int r;

		assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
		r = kit_start(&kit, &run);
		if (r == 0)
			kit_end(&run);
		if ((r != -EOPNOTSUPP || strstr(run.why, line) == NULL) &&
		    (r != -EPERM || strstr(run.why, "newuidmap") == NULL))
			fail_msg("%d \"%s\"", r, run.why);
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static const char *
make_host_file(const char *name, const char *text)
{
	static char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", kit.dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
	close(fd);
	return path;
}

static const char *
make_host_folder(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", kit.dir, name);
	assert_int_equal(mkdir(path, 0777), 0);
	assert_int_equal(chmod(path, 0777), 0);
	return path;
}

/* A write grant needs a user where root starts the server. */
static void
name_user(void)
{
	if (geteuid() == 0)
		kit.server.user = kit_str(&kit, "65534");
}

/* ---- what is there ------------------------------------------------------- */

/* K-04, S3-37: namespaces of its own, no privilege of any kind. */
static void
test_confined(void **state)
{
	static const char *const spaces[] = {
	    "user", "mnt", "pid", "net", "ipc", "uts", "cgroup"};
	char path[64], link[64], line[96];
	uid_t uid = geteuid() == 0 ? NOBODY : geteuid();
	gid_t gid = geteuid() == 0 ? NOBODY : getegid();
	struct run run;
	ssize_t n;

	ask(&run, "report", NULL, NULL);
	for (size_t i = 0; i < ARRAY_LEN(spaces); i++) {
		snprintf(path, sizeof(path), "/proc/self/ns/%s", spaces[i]);
		n = readlink(path, link, sizeof(link) - 1);
		assert_true(n > 0);
		link[n] = '\0';
		snprintf(line, sizeof(line), "ns %s", link);
		assert_false(said(line));
		snprintf(line, sizeof(line), "ns %s:[", spaces[i]);
		assert_non_null(strstr(out, line));
	}
	snprintf(line, sizeof(line), "uid %u %u gid %u %u groups %d", uid, uid, gid, gid,
	    geteuid() == 0 ? 0 : getgroups(0, NULL));
	assert_said(line);
	assert_said("status CapInh:\t0000000000000000");
	assert_said("status CapPrm:\t0000000000000000");
	assert_said("status CapEff:\t0000000000000000");
	assert_said("status CapBnd:\t0000000000000000");
	assert_said("status CapAmb:\t0000000000000000");
	assert_said("secbits 239");
	assert_said("status NoNewPrivs:\t1");
	assert_said("status Seccomp:\t2");
	/* 2 was who made the network */
	assert_said("pid 3 ppid 1 sid 3");
	assert_said("core 1 1");
	assert_said("filter 00000000");
	assert_said("host kennel");
	assert_said("cwd /tmp");
	assert_said("lo up");
	assert_said("status SigBlk:\t0000000000000000");
	assert_said("status SigIgn:\t0000000000000000");
	assert_int_equal(run.status, 0);
}

/* The third and fourth fields behind "mount ID PARENT DEV ROOT": target and
 * flags. */
static void
test_mounts(void **state)
{
	static const struct {
		const char *target, *flags;
	} wanted[] = {
	    {"/", "ro,nosuid,nodev,noexec"},
	    {"/bin/witness", "ro,nosuid,nodev"},
	    {"/tmp", "rw,nosuid,nodev,noexec"},
	    {"/dev/null", "ro,nosuid,noexec"},
	    {"/dev/zero", "ro,nosuid,noexec"},
	    {"/dev/full", "ro,nosuid,noexec"},
	    {"/dev/random", "ro,nosuid,noexec"},
	    {"/dev/urandom", "ro,nosuid,noexec"},
	    {"/dev/shm", "rw,nosuid,nodev,noexec"},
	    {"/proc", "ro,nosuid,nodev,noexec"},
	};
	char target[256], flags[256], line[16];
	struct run run;
	size_t n = 0;

	ask(&run, "report", NULL, NULL);
	for (char *p = strstr(out, "\nmount "); p != NULL;
	     p = strstr(p + 1, "\nmount ")) {
		assert_int_equal(
		    sscanf(p, "%15s %*s %*s %*s %*s %255s %255s", line, target, flags),
		    3);
		/* Never writable and executable. */
		assert_true(
		    strncmp(flags, "ro", 2) == 0 || strstr(flags, "noexec") != NULL);
		assert_non_null(strstr(flags, "nosuid"));
		/* No shared: or master: */
		assert_null(memmem(p, strcspn(p + 1, "\n"), "shared:", 7));
		assert_null(memmem(p, strcspn(p + 1, "\n"), "master:", 7));
		assert_true(n < ARRAY_LEN(wanted));
		for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
			if (strcmp(wanted[i].target, target) == 0) {
				assert_int_equal(strncmp(flags, wanted[i].flags,
						     strlen(wanted[i].flags)),
				    0);
				n++;
			}
	}
	assert_int_equal(n, ARRAY_LEN(wanted));
	assert_said("fd 2");
	assert_said("fd 3");        /* the folder being listed, */
	assert_false(said("fd 4")); /* and nothing of ours */
	assert_said("dev shm");
	assert_false(said("dev tty"));
	assert_false(said("dev console"));
}

/* S3-37: the environment is what was planned, and nothing of ours. */
static void
test_environment(void **state)
{
	const char *argv[] = {
	    "witness", "report", "; $(id) && `id`", "", "two words", NULL};
	const char *env[] = {"A=b", "EMPTY=", "TOKEN=x y;z", NULL};
	struct run run;
	int n = 0;

	setenv("KENNEL_TEST_LEAK", "1", 1);
	assert_int_equal(kit_run(&kit, &run, argv, env, out, sizeof(out)), 0);
	for (char *p = strstr(out, "\nenv "); p != NULL; p = strstr(p + 1, "\nenv "))
		n++;
	assert_int_equal(n, 3);
	assert_said("env A=b");
	assert_said("env EMPTY=");
	assert_said("env TOKEN=x y;z");
	/* S4-24: arguments are words, whatever they hold. */
	assert_said("arg ; $(id) && `id`");
	assert_said("arg ");
	assert_said("arg two words");
}

/* What the kernel must refuse, whoever asks. */
static void
test_refuses(void **state)
{
	static const char *const lines[] = {"try write 0", "try exec-tmp 13",
	    "try userns 28", "try mount 1", "try umount 1", "try remount 1",
	    "try mkdir 30", "try unlink 30", "try chmod-node 30", "try mknod 13",
	    "try host 1", "try core 1"};
	struct run run;

	ask(&run, "tries", NULL, NULL);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		assert_said(lines[i]);
	ask(&run, "open", "r", "/proc/1/mem"); /* ESCAPES 11 */
	assert_false(said("open /proc/1/mem 0"));
	ask(&run, "open", "r", "/proc/1/environ");
	assert_false(said("open /proc/1/environ 0"));
	ask(&run, "open", "w", "/proc/self/mem");
	assert_said("open /proc/self/mem 30");
	ask(&run, "open", "w", "/dev/null");
	assert_said("open /dev/null 0");
	ask(&run, "open", "w", "/proc/sys/kernel/hostname");
	assert_false(said("open /proc/sys/kernel/hostname 0"));
}

/* ESCAPES 27: sizes hold, and nothing of the host's /tmp shows. */
static void
test_tmp(void **state)
{
	char line[64];
	struct run run;

	ask(&run, "fill", "/tmp/f", NULL);
	snprintf(line, sizeof(line), "filled %u", KIT_TMP_SIZE);
	assert_said(line);
	ask(&run, "fill", "/dev/shm/f", NULL);
	assert_said(line);
	ask(&run, "open", "r", kit.dir);
	snprintf(line, sizeof(line), "open %s %d", kit.dir, ENOENT);
	assert_said(line);
}

static void
test_trees(void **state)
{
	char path[300], line[330];
	struct run run;

	snprintf(path, sizeof(path), "%s/in", make_host_folder("work"));
	name_user();
	path[strlen(path) - 3] = '\0';
	kit_mount(&kit, MOUNT_TREE, path, "/work", RIGHT_READ | RIGHT_WRITE, 20);
	kit_mount(&kit, MOUNT_TREE, path, "/readonly", RIGHT_READ, 21);
	make_host_file("work/note", "x");
	make_host_file("work/secret", "x");
	kit_mount(&kit, MOUNT_HIDE, "", "/work/secret", RIGHT_NONE, 22);
	ask(&run, "open", "c", "/work/new");
	assert_said("open /work/new 0");
	snprintf(line, sizeof(line), "%s/new", path);
	assert_int_equal(access(line, F_OK), 0); /* it is the host's folder */
	ask(&run, "open", "r", "/readonly/note");
	assert_said("open /readonly/note 0");
	ask(&run, "open", "w", "/readonly/note");
	snprintf(line, sizeof(line), "open /readonly/note %d",
	    geteuid() == 0 ? EACCES : EROFS); /* root's file */
	assert_said(line);
	ask(&run, "open", "r", "/work/secret");
	assert_said("open /work/secret 13");
	ask(&run, "open", "w", "/work/secret");
	assert_false(said("open /work/secret 0"));
}

/* A hidden folder, and rows that cannot be kept. */
static void
test_hide_folder(void **state)
{
	char path[256];
	struct run run;

	strcpy(path, make_host_folder("work"));
	make_host_folder("work/git");
	make_host_file("work/git/config", "x");
	kit_mount(&kit, MOUNT_TREE, path, "/work", RIGHT_READ, 20);
	kit_mount(&kit, MOUNT_HIDE, "", "/work/git", RIGHT_NONE, 22);
	ask(&run, "open", "r", "/work/git/config");
	assert_said("open /work/git/config 13");
	ask(&run, "open", "r", "/work/git");
	assert_said("open /work/git 13");
	kit_mount(&kit, MOUNT_HIDE, "", "/work/none", RIGHT_NONE, 23);
	refused(-ENOENT, "/work/none: No such file or directory (policy.kennel:23)");
}

/* ---- what covers a name of the host's ------------------------------------ */

static bool
fires(int fd, short events)
{
	struct pollfd p = {.fd = fd, .events = events};

	return poll(&p, 1, 0) == 1;
}

/* NULL: all covers are at their places. */
static const struct sealed_mount *
lost(struct run *run)
{
	const struct sealed_mount *row = NULL;
	int r = cell_watch(&run->cell, &kit.policy, &kit.server, &row);

	assert_int_equal(r, row == NULL ? 0 : -ENOENT);
	return row;
}

static void
move(const char *from, const char *to)
{
	char a[400], b[400];

	snprintf(a, sizeof(a), "%s/work/%s", kit.dir, from);
	snprintf(b, sizeof(b), "%s/work/%s", kit.dir, to);
	assert_int_equal(rename(a, b), 0);
}

static struct sealed_mount *
watched_scene(struct run *run, enum sealed_mount_kind kind)
{
	struct sealed_mount *row;
	char path[256], conf[300];

	strcpy(path, make_host_folder("work"));
	make_host_folder("work/a b");
	make_host_file("work/a b/conf", "x");
	make_host_file("work/a b/new", "x");
	name_user();
	kit_mount(&kit, MOUNT_TREE, path, "/work", RIGHT_READ | RIGHT_WRITE, 20);
	snprintf(conf, sizeof(conf), "%s/a b/conf", path);
	row = kit_mount(&kit, kind, kind == MOUNT_HIDE ? "" : conf, "/work/a b/conf",
	    kind == MOUNT_HIDE ? RIGHT_NONE : RIGHT_READ, 22);
	assert_int_equal(kit_start(&kit, run), 0);
	assert_int_equal(run->cell.cover_n, 1);
	assert_null(lost(run));
	return row;
}

/* Replaced: mountinfo fires; renamed: inotify does; and which row it was is known.
 * What other names do is heard of by neither. */
static void
test_watch(void **state)
{
	static const enum sealed_mount_kind kinds[] = {MOUNT_HIDE, MOUNT_FILE};
	static const struct {
		const char *from, *to;
		bool detached;
	} moves[] = {{"a b/new", "a b/conf", true}, {"a b/conf", "a b/old", false},
	    {"a b/conf", "conf", false}, {"a b", "a", false}};
	const struct sealed_mount *row;
	struct run run;

	for (size_t i = 0; i < 8; i++) {
		row = watched_scene(&run, kinds[i / 4]);
		move("a b/new", "a b/newer");
		move("a b/newer", "a b/new");
		assert_false(fires(run.cell.mounts_fd, POLLPRI));
		assert_false(fires(run.cell.moves_fd, POLLIN));
		move(moves[i % 4].from, moves[i % 4].to);
		assert_int_equal(
		    fires(run.cell.mounts_fd, POLLPRI), moves[i % 4].detached);
		/* the last name of an inode takes its watch along */
		assert_true(fires(run.cell.moves_fd, POLLIN));
		assert_ptr_equal(lost(&run), row);
		kit_end(&run);
		teardown(NULL);
		setup(NULL);
	}
}

/* Nothing of the host's is covered: nothing is opened, nothing is watched. */
static void
test_watch_nothing(void **state)
{
	struct run run;

	kit_mount(&kit, MOUNT_TREE, make_host_folder("work"), "/work", RIGHT_READ, 20);
	kit_mount(&kit, MOUNT_HIDE, "", "/tmp", RIGHT_NONE, 22);
	assert_int_equal(kit_start(&kit, &run), 0);
	assert_int_equal(run.cell.cover_n, 0);
	assert_true(run.cell.mounts_fd == -1 && run.cell.moves_fd == -1);
	assert_null(lost(&run));
	kit_end(&run);
}

/* ---- what is refused before it starts ------------------------------------ */

static void
test_missing(void **state)
{
	struct run run;

	kit_mount(&kit, MOUNT_TREE, "/no/such", "/x", RIGHT_READ, 12)->optional = 1;
	ask(&run, "exit", "0", NULL);
	kit_mount(&kit, MOUNT_TREE, "/no/such", "/x", RIGHT_READ, 13);
	refused(-ENOENT, "unable to open /no/such: No such file or directory "
			 "(policy.kennel:13)");
}

/* ESCAPES 13: what was a folder when the policy was compiled is a link now. */
static void
test_swapped(void **state)
{
	char path[256], link[256];

	strcpy(path, make_host_folder("real"));
	snprintf(link, sizeof(link), "%s/link", kit.dir);
	assert_int_equal(symlink(path, link), 0);
	kit_mount(&kit, MOUNT_TREE, link, "/x", RIGHT_READ, 14);
	refused(-ELOOP,
	    "it now contains a symbolic link that was not there when the policy "
	    "was compiled (policy.kennel:14)");
	kit.server.mounts.n--;
	snprintf(link, sizeof(link), "%s/link/in", kit.dir);
	make_host_folder("real/in");
	kit_mount(&kit, MOUNT_TREE, link, "/x", RIGHT_READ, 15);
	refused(-ELOOP, "(policy.kennel:15)");
	kit.server.mounts.n--;
	kit_mount(&kit, MOUNT_FILE, "/dev/null", "/x", RIGHT_READ, 16);
	refused(-EINVAL, "not a regular file (policy.kennel:16)");
	kit.server.mounts.n--;
	/* A link that the server left in its folder is no target either. */
	kit_mount(&kit, MOUNT_TREE, kit.dir, "/w", RIGHT_READ, 17);
	kit_mount(&kit, MOUNT_TREE, path, "/w/link/in", RIGHT_READ, 18);
	refused(-ELOOP, "(policy.kennel:18)");
	kit.server.mounts.n--;
	/* Nothing is made in a folder of the host's. */
	kit_mount(&kit, MOUNT_TREE, path, "/w/real/new", RIGHT_READ, 19);
	refused(-ENOENT, "(policy.kennel:19)");
}

static void
test_users(void **state)
{
	kit.server.user = kit_str(&kit, "root");
	refused(-EPERM, geteuid() == 0 ? "never runs as root" : "only root may choose");
	kit.server.user = kit_str(&kit, "0");
	refused(-EPERM, geteuid() == 0 ? "never runs as root" : "only root may choose");
	kit.server.user = kit_str(&kit, "no-such-user-here");
	refused(-ENOENT, "no such user");
	if (geteuid() == 0) {
		kit.server.user = kit_str(&kit, "");
		kit_mount(&kit, MOUNT_TREE, kit.dir, "/w", RIGHT_READ | RIGHT_WRITE, 9)
		    ->why = WHY_WRITE;
		refused(-EPERM, "(policy.kennel:9)");
	}
}

static void
test_requires(void **state)
{
	struct cell_landlock l;

	cell_landlock_probe(&l);
	kit_require(&kit, REQUIRE_LANDLOCK, 1, 30);
	kit_require(&kit, REQUIRE_LANDLOCK, 99, 31);
	refused(-EOPNOTSUPP, "landlock 99 is required");
	refused(-EOPNOTSUPP, "(policy.kennel:31)");
	kit.server.requires.n = 0;
	kit_require(&kit, REQUIRE_SUBUID, 0, 32);
	refused_subuid("(policy.kennel:32)");
	assert_true(l.handled_fs != 0 && l.abi >= 1);
}

/* A limit is kept by a cgroup, or by an rlimit with a line in the log; a share
 * of the processor by a cgroup or not at all. */
static void
test_limits(void **state)
{
	char where[256];
	struct run run;
	bool cgroup;

	kit_limit(&kit, LIMIT_PROCESSES, 20, 40);
	kit_limit(&kit, LIMIT_FILES, 50, 41);
	ask(&run, "forks", NULL, NULL);
	assert_said("forks 19"); /* the witness is one of the twenty */
	ask(&run, "report", NULL, NULL);
	assert_said("nofile 50 50");
	kit_limit(&kit, LIMIT_MEMORY, 64u << 20, 42);
	assert_int_equal(kit_start(&kit, &run), 0);
	cgroup = run.cell.cgroup[0] != '\0';
	strcpy(where, run.cell.cgroup);
	assert_true(cgroup || run.cell.lack_n > 0);
	kit_end(&run);
	assert_true(!cgroup || access(where, F_OK) != 0);
	kit_limit(&kit, LIMIT_CPU, 50, 43);
	if (kit_start(&kit, &run) == 0) {
		assert_true(run.cell.cgroup[0] != '\0');
		kit_end(&run);
	} else {
		assert_non_null(strstr(run.why, "(policy.kennel:43)"));
		print_message(
		    "no cpu controller is delegated here: refused, as it must\n");
	}
}

static void
test_no_program(void **state)
{
	const char *argv[] = {"nothing", NULL};
	struct run run;

	assert_int_equal(kit_start(&kit, &run), 0);
	assert_int_equal(kit_go(&kit, &run, "/bin/nothing", argv, no_env), 0);
	kit_wait(&run, out, sizeof(out), 5000);
	assert_true(run.failed && run.step == SHIM_STEP_EXEC && run.error == ENOENT);
	assert_true(WIFEXITED(run.status) && WEXITSTATUS(run.status) == 127);
	kit_end(&run);
	kit.server.cwd = kit_str(&kit, "/nowhere");
	assert_int_equal(kit_start(&kit, &run), 0);
	assert_int_equal(kit_go(&kit, &run, "/bin/witness", argv, no_env), 0);
	kit_wait(&run, out, sizeof(out), 5000);
	assert_true(run.failed && run.step == SHIM_STEP_CWD);
	kit_end(&run);
	kit.image[0].path = kit_str(&kit, "/bin/gone");
	refused(-ENOENT, "unable to open the program /bin/gone");
}

/* A program's name leads to the file that the policy was compiled for, or nowhere; and
 * the working directory through no link. */
static void
test_led_elsewhere(void **state)
{
	struct run run;

	kit_mount(&kit, MOUNT_SYMLINK, "witness", "/bin/alias", 0, 20);
	kit.image[0].path = kit_str(&kit, "/bin/alias");
	assert_int_equal(kit_start(&kit, &run), 0); /* the control */
	kit_end(&run);
	kit.image[0].real = kit_str(&kit, "/bin/alias");
	refused(-ELOOP, "/bin/alias: it now contains a symbolic link");
	kit.image[0].real = kit_str(&kit, "/etc/passwd");
	refused(-ESTALE, "/bin/alias: it is not the file that it was when the policy was "
			 "compiled; compile the policy again (policy.kennel:3)");
	kit.image[0].real = kit_str(&kit, "/bin/witness");
	kit_mount(&kit, MOUNT_SYMLINK, "/tmp", "/here", 0, 22);
	kit.server.cwd = kit_str(&kit, "/here");
	refused(-ELOOP, "/here: it now contains a symbolic link");
}

/* ---- how it ends --------------------------------------------------------- */

static void
start_deaf(struct run *run)
{
	const char *argv[] = {"witness", "deaf", NULL};

	assert_int_equal(kit_start(&kit, run), 0);
	assert_int_equal(kit_go(&kit, run, "/bin/witness", argv, no_env), 0);
	kit_wait(run, out, sizeof(out), 300);
	assert_said("ready");
}

static void
test_status(void **state)
{
	struct run run;

	ask(&run, "exit", "42", NULL);
	assert_true(WIFEXITED(run.status) && WEXITSTATUS(run.status) == 42);
	ask(&run, "dump", NULL, NULL);
	assert_true(WIFSIGNALED(run.status) && WTERMSIG(run.status) == SIGABRT);
	/* Who is left behind goes with PID 1; the pipes close with them. */
	ask(&run, "orphan", NULL, NULL);
	assert_true(WEXITSTATUS(run.status) == 7);
}

/* S2-30: a signal arrives; one who ignores it is killed all the same. */
static void
test_signals(void **state)
{
	struct run run;
	uint64_t from;

	start_deaf(&run);
	assert_int_equal(kit_tell(&run, SHIM_KILL, SIGTERM, true), 0);
	assert_int_equal(kit_tell(&run, SHIM_KILL, SIGINT, true), 0);
	kit_wait(&run, out, sizeof(out), 300);
	assert_said("caught 15");
	assert_said("caught 02");
	assert_int_equal(kill(run.cell.pid, SIGHUP), 0);
	kit_wait(&run, out, sizeof(out), 300);
	assert_said("caught 01");
	assert_false(run.exited);
	from = loop_now();
	kit_end(&run);
	assert_true(loop_now() - from < 2000000000ULL);
	start_deaf(&run);
	assert_int_equal(kit_tell(&run, SHIM_KILL, SIGKILL, true), 0);
	kit_wait(&run, out, sizeof(out), 3000);
	assert_true(run.exited && WTERMSIG(run.status) == SIGKILL);
	kit_end(&run);
}

/* Its PID 1 killed from outside, by whoever: cell_free still works. */
static void
test_killed(void **state)
{
	struct run run;
	pid_t pid;

	start_deaf(&run);
	pid = run.cell.pid;
	assert_int_equal(kill(pid, SIGKILL), 0);
	kit_wait(&run, out, sizeof(out), 3000);
	assert_false(run.exited);
	kit_end(&run);
	assert_int_equal(kill(pid, 0), -1);
	cell_kill(&run.cell); /* twice is nothing */
}

/* Is it gone?  Its parent is dead: we have adopted it, and reap it. */
static bool
gone(pid_t pid, int wait_ms)
{
	for (; wait_ms > 0; wait_ms--) {
		if (waitpid(pid, NULL, WNOHANG) == pid ||
		    (kill(pid, 0) < 0 && errno == ESRCH))
			return true;
		usleep(1000);
	}
	return false;
}

/* The leash dies, at any moment: the cell goes with it. */
static void
test_orphaned(void **state)
{
	/* whoever adopts orphans here may be slow to reap them */
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	for (int delay = 0; delay < 20; delay++) {
		struct run run;
		int told[2];
		pid_t leash, pid = 0;

		assert_int_equal(pipe2(told, O_CLOEXEC), 0);
		leash = test_fork();
		assert_true(leash >= 0);
		if (leash == 0) {
			const char *argv[] = {"witness", "deaf", NULL};

			if (kit_start(&kit, &run) != 0 ||
			    fd_write_all(told[1], &run.cell.pid, sizeof(pid)) != 0)
				_exit(1);
			(void)kit_go(&kit, &run, "/bin/witness", argv, no_env);
			kit_wait(&run, out, sizeof(out), 5000);
			_exit(0);
		}
		close(told[1]);
		assert_int_equal(read(told[0], &pid, sizeof(pid)), sizeof(pid));
		close(told[0]);
		usleep((useconds_t)delay * 300);
		kill(leash, SIGKILL);
		waitpid(leash, NULL, 0);
		assert_true(gone(pid, 2000));
	}
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0), 0);
}

static int
count(const char *path)
{
	struct dirent *e;
	DIR *d = opendir(path);
	int n = 0;

	assert_non_null(d);
	while ((e = readdir(d)) != NULL)
		n++;
	closedir(d);
	return n;
}

/* Started a thousand times: no descriptor, process, mount or file stays. */
static void
test_nothing_left(void **state)
{
	int fds = count("/proc/self/fd"), files = count(kit.dir), mounts = 0, again = 0,
	    c;
	FILE *f = fopen("/proc/self/mountinfo", "re");
	struct run run;

	assert_non_null(f);
	while ((c = getc(f)) != EOF)
		mounts += c == '\n';
	fclose(f);
	for (int i = 0; i < STARTS; i++) {
		int r = kit_start(&kit, &run);

		if (r != 0)
			fail_msg("start %d: %s", i, run.why);
		kit_end(&run);
	}
	f = fopen("/proc/self/mountinfo", "re");
	assert_non_null(f);
	while ((c = getc(f)) != EOF)
		again += c == '\n';
	fclose(f);
	assert_int_equal(count("/proc/self/fd"), fds);
	assert_int_equal(count(kit.dir), files);
	assert_int_equal(again, mounts);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static int
by_time(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* No assertion: a number to look at, beside another sandbox's. */
static void
test_time(void **state)
{
	static uint64_t ours[TIMED], theirs[TIMED];
	const char *argv[] = {"witness", "hello", NULL};
	char word[16];
	struct run run;
	bool beside = access("/usr/bin/bwrap", X_OK) == 0;

	for (int i = 0; i < TIMED; i++) {
		uint64_t from = loop_now();

		assert_int_equal(kit_start(&kit, &run), 0);
		assert_int_equal(kit_go(&kit, &run, "/bin/witness", argv, no_env), 0);
		kit_pass(&run);
		assert_true(read(run.out, word, sizeof(word)) > 0);
		ours[i] = loop_now() - from;
		kit_end(&run);
	}
	for (int i = 0; beside && i < TIMED; i++) {
		uint64_t from = loop_now();
		int p[2], status;
		pid_t pid;

		assert_int_equal(pipe2(p, O_CLOEXEC), 0);
		pid = test_fork();
		if (pid == 0) {
			dup2(p[1], 1);
			execl("/usr/bin/bwrap", "bwrap", "--unshare-all",
			    "--die-with-parent", "--ro-bind", kit.witness, "/witness",
			    "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
			    "/witness", "hello", NULL);
			_exit(1);
		}
		close(p[1]);
		if (read(p[0], word, sizeof(word)) <= 0)
			beside = false;
		theirs[i] = loop_now() - from;
		waitpid(pid, &status, 0);
		close(p[0]);
	}
	qsort(ours, TIMED, sizeof(ours[0]), by_time);
	qsort(theirs, TIMED, sizeof(theirs[0]), by_time);
	print_message("first word of the server, p50: %llu us",
	    (unsigned long long)ours[TIMED / 2] / 1000);
	if (beside)
		print_message("; bwrap, all namespaces: %llu us",
		    (unsigned long long)theirs[TIMED / 2] / 1000);
	print_message("\n");
}

/* ---- who gets the maps ---------------------------------------------------- */

/* A process in a user namespace of its own that has no maps yet. */
static pid_t
mapless(int *ret_pidfd)
{
	int told[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe2(told, O_CLOEXEC), 0);
	pid = test_fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWUSER) == 0 && write(told[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	assert_true(pid > 0);
	close(told[1]);
	assert_int_equal(read(told[0], &c, 1), 1);
	close(told[0]);
	*ret_pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	assert_true(*ret_pidfd >= 0);
	return pid;
}

static bool
has_map(pid_t pid)
{
	char path[64], text[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	f = fopen(path, "re");
	assert_non_null(f);
	(void)!fgets(text, sizeof(text), f);
	fclose(f);
	return text[0] != '\0';
}

/* ESCAPES 89: the maps go to the process that was made, not to one that has got
 * its number since. */
static void
test_pid_reused(void **state)
{
	struct cell_ids ids = {getuid(), getgid(), geteuid() == 0};
	struct cell cell = {.pid = -1};
	const char *reason = NULL;
	int dead, alive;
	pid_t gone = mapless(&dead), stranger;

	kill(gone, SIGKILL);
	assert_int_equal(waitpid(gone, NULL, 0), gone);
	stranger = mapless(&alive);
	cell.pid = stranger;
	cell.pidfd = dead;
	assert_int_equal(ns_write_maps(&cell, &ids, &reason), -ESRCH);
	assert_false(has_map(stranger));
	cell.pidfd = alive;
	assert_int_equal(ns_write_maps(&cell, &ids, &reason), 0);
	assert_true(has_map(stranger));
	kill(stranger, SIGKILL);
	waitpid(stranger, NULL, 0);
	close(dead);
	close(alive);
}

#define EACH(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* Once more without root's rights, in a process that never had them. */
static int
again_as_user(const char *self)
{
	pid_t pid = test_fork();
	int status;

	if (pid == 0) {
		if (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
		    setresuid(NOBODY, NOBODY, NOBODY) < 0)
			_exit(1);
		execl("/proc/self/exe", self, NULL);
		_exit(1);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    EACH(test_confined),
	    EACH(test_mounts),
	    EACH(test_environment),
	    EACH(test_refuses),
	    EACH(test_tmp),
	    EACH(test_trees),
	    EACH(test_hide_folder),
	    EACH(test_watch),
	    EACH(test_watch_nothing),
	    EACH(test_missing),
	    EACH(test_swapped),
	    EACH(test_users),
	    EACH(test_requires),
	    EACH(test_limits),
	    EACH(test_no_program),
	    EACH(test_led_elsewhere),
	    EACH(test_status),
	    EACH(test_signals),
	    EACH(test_killed),
	    EACH(test_orphaned),
	    EACH(test_nothing_left),
	    EACH(test_pid_reused),
	    EACH(test_time),
	};
	int r = cmocka_run_group_tests_name(
	    geteuid() == 0 ? "cell as root" : "cell as a user", tests, NULL, NULL);

	if (geteuid() == 0)
		r += again_as_user(argv[0]);
	return r;
}
