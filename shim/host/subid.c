/*
 * Subordinate ids: selects them, and runs the two programs that map them.
 *
 * Process: the leash while it creates a cell, and `kennel doctor`. Both still
 * allow new privileges, because the programs need them.  The programs get no
 * environment, no descriptor but /dev/null, and numbers as arguments.  Must
 * never map an id that root has not delegated to the user: the two programs
 * check this.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/host/passwd_line.h"
#include "shim/base/fd.h"
#include "shim/host/subid.h"

#define SUBID_TEXT_MAX (1u << 20)
#define SUBID_NAME_MAX 64
#define SUBID_WAIT_MS  10000 /* they query the host's name services */
#define SUBID_MAP_UID  "/usr/bin/newuidmap"
#define SUBID_MAP_GID  "/usr/bin/newgidmap"

/* ---- text ---------------------------------------------------------------------- */

static bool
range_last(const char *line, const char *end, uint32_t own, uint32_t *ret)
{
	char text[SUBID_NAME_MAX];
	uint32_t first, n;
	uint64_t last;

	if (!colon_field(line, end, 1, text, sizeof(text)) ||
	    !colon_number(text, &first) ||
	    !colon_field(line, end, 2, text, sizeof(text)) || !colon_number(text, &n) ||
	    n == 0)
		return false;
	last = (uint64_t)first + n - 1;
	if (first == 0 || last >= UINT32_MAX || (first <= own && own <= last))
		return false;
	*ret = (uint32_t)last;
	return true;
}

bool
subid_in(const char *text, size_t len, const char *name, uint32_t own, uint32_t *ret)
{
	const char *line, *stop, *end = text + len;
	char who[SUBID_NAME_MAX];
	uint32_t by_number;

	for (line = text; line < end; line = stop + 1) {
		stop = memchr(line, '\n', (size_t)(end - line));
		if (stop == NULL)
			stop = end;
		if (!colon_field(line, stop, 0, who, sizeof(who)))
			continue;
		if (strcmp(who, name) != 0 &&
		    !(colon_number(who, &by_number) && by_number == own))
			continue;
		if (range_last(line, stop, own, ret))
			return true;
	}
	return false;
}

/* ---- selection ----------------------------------------------------------- */

static int
text_of(const char *path, char **ret, size_t *ret_len)
{
	int fd, r;

	/* early: openat */
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = fd_slurp(fd, SUBID_TEXT_MAX, ret, ret_len);
	fd_close(&fd);
	return r;
}

/*
 * The static C library cannot load the host's name services: a user that is not
 * in /etc/passwd is known only by number.
 */
static void
name_of(uid_t user, char out[SUBID_NAME_MAX])
{
	char *text = NULL, *line, *stop, id[SUBID_NAME_MAX];
	uint32_t uid;
	size_t len = 0;

	out[0] = '\0';
	if (text_of("/etc/passwd", &text, &len) < 0)
		return;
	for (line = text; line < text + len; line = stop + 1) {
		stop = memchr(line, '\n', (size_t)(text + len - line));
		if (stop == NULL)
			stop = text + len;
		if (colon_field(line, stop, 2, id, sizeof(id)) &&
		    colon_number(id, &uid) && uid == user &&
		    colon_field(line, stop, 0, out, SUBID_NAME_MAX))
			break;
		out[0] = '\0';
	}
	free(text);
}

static int
lent(const char *path, const char *name, uid_t user, uint32_t *ret)
{
	char *text = NULL;
	size_t len = 0;
	int r = text_of(path, &text, &len);

	if (r == 0 && !subid_in(text, len, name, user, ret))
		r = -ENOENT;
	free(text);
	return r;
}

int
subid_find(uid_t user, struct subid *ret, const char **ret_why)
{
	struct subid found = {0};
	char name[SUBID_NAME_MAX];
	const char *why = NULL;
	int r;

	name_of(user, name);
	r = lent(SUBID_UIDS, name, user, &found.uid);
	if (r < 0)
		why = "no range of this user in " SUBID_UIDS;
	/* early: access faccessat faccessat2 */
	if (r == 0 && (r = lent(SUBID_GIDS, name, user, &found.gid)) < 0)
		why = "no range of this user in " SUBID_GIDS;
	if (r == 0 &&
	    (access(SUBID_MAP_UID, X_OK) < 0 || access(SUBID_MAP_GID, X_OK) < 0)) {
		why = "newuidmap and newgidmap are not installed";
		r = -errno;
	}
	if (r < 0)
		*ret_why = why;
	else
		*ret = found;
	return r;
}

/* ---- the two programs ------------------------------------------------------------- */

static _Noreturn void
become(const char *path, const char *const *argv)
{
	static const char *const envp[] = {NULL};
	sigset_t none;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd < 3; fd++)
		if (null < 0 || dup2(null, fd) < 0)
			_exit(127);
	if (syscall(SYS_close_range, 3, ~0U, 0) < 0)
		_exit(127);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL); /* the old mask will do */
	execve(path, (char *const *)(uintptr_t)argv, (char *const *)(uintptr_t)envp);
	_exit(127);
}

/* Runs a program and returns its wait status; kills it after the timeout. */
static int
run(const char *path, const char *const *argv)
{
	struct pollfd wait = {.fd = -1, .events = POLLIN};
	int status = -1;
	pid_t pid;

	/* early: clone fork pidfd_open poll ppoll kill wait4 dup2 close_range execve */
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		become(path, argv);
	wait.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (wait.fd < 0 || poll(&wait, 1, SUBID_WAIT_MS) != 1)
		(void)kill(pid, SIGKILL); /* it may already have ended */
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	fd_close(&wait.fd);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EPERM;
}

static int
map_one(const char *path, pid_t child, uint32_t id)
{
	char pid[16], text[16];
	const char *argv[] = {path, pid, text, text, "1", NULL};

	(void)snprintf(pid, sizeof(pid), "%d", (int)child);
	(void)snprintf(text, sizeof(text), "%u", id);
	return run(path, argv);
}

int
subid_map(pid_t child, const struct subid *ids, const char **ret_why)
{
	int r = map_one(SUBID_MAP_UID, child, ids->uid);

	if (r < 0)
		*ret_why = "newuidmap did not map it (it needs its own privileges: no "
			   "nosuid, no \"no new privileges\")";
	if (r == 0 && (r = map_one(SUBID_MAP_GID, child, ids->gid)) < 0)
		*ret_why = "newgidmap did not map it";
	return r;
}
