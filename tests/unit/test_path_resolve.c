/*
 * Which symbolic links are followed.  What depends on root's ownership is tried as
 * root only; each refusal has a control that differs in one owner or mode.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/host/path_open.h"
#include "shim/host/path_resolve.h"

static char top[PATH_MAX]; /* of this run's files; its own path holds no link */

static const char *
at(const char *name)
{
	static char path[4][PATH_MAX * 2];
	static int i;

	i = (i + 1) % 4;
	(void)snprintf(path[i], sizeof(path[i]), "%s/%s", top, name);
	return path[i];
}

static void
make_file(const char *name)
{
	int fd = open(at(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	(void)close(fd);
}

static int
set_up(void **state)
{
	char made[] = "/var/tmp/kennel-path.XXXXXX";

	if (mkdtemp(made) == NULL || realpath(made, top) == NULL)
		return -1;
	if (chmod(top, 0755) != 0 || mkdir(at("dir"), 0755) != 0 ||
	    mkdir(at("dir/sub"), 0755) != 0)
		return -1;
	make_file("dir/file");
	return 0;
}

static int
tear_down(void **state)
{
	static const char *const names[] = {"dir/sub/up", "dir/link", "dir/rel",
	    "dir/loop", "dir/file", "dir/proc", "dir/gone", "dir/sub", "dir", ""};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		(void)remove(at(names[i]));
	return 0;
}

static void
link_to(const char *text, const char *name)
{
	(void)unlink(at(name));
	assert_int_equal(symlink(text, at(name)), 0);
}

static int
resolve(const char *path, unsigned flags, struct path_resolved *ret)
{
	int r = path_resolve(path, flags, NULL, NULL, ret);

	if (r != 0)
		assert_int_equal(ret->fd, -1);
	else
		assert_true(ret->fd >= 0);
	fd_close(&ret->fd);
	return r;
}

static void
plain_paths(void **state)
{
	struct path_resolved p;
	char cwd[PATH_MAX];

	assert_int_equal(resolve("/", 0, &p), 0);
	assert_string_equal(p.real, "/");
	assert_int_equal(resolve("//..//.", 0, &p), 0);
	assert_string_equal(p.real, "/");
	assert_int_equal(resolve(at("dir/./sub/../file"), 0, &p), 0);
	assert_string_equal(p.real, at("dir/file"));
	assert_int_equal(resolve(at("dir/sub//"), 0, &p), 0);
	assert_string_equal(p.real, at("dir/sub"));
	assert_int_equal(resolve(at("dir/file/"), 0, &p), -ENOTDIR);
	assert_int_equal(resolve(at("dir/file/x"), 0, &p), -ENOTDIR);
	assert_int_equal(resolve("", 0, &p), -ENOENT);

	assert_non_null(getcwd(cwd, sizeof(cwd)));
	assert_int_equal(chdir(top), 0);
	assert_int_equal(resolve("dir/sub/..", 0, &p), 0);
	assert_string_equal(p.real, at("dir"));
	assert_int_equal(chdir(cwd), 0);
}

/* A path in plain form is resolved by one call, and to the same as by steps. */
static void
the_same_at_once(void **state)
{
	struct path_resolved once, walked;
	struct stat a, b;

	assert_int_equal(path_resolve(at("dir/file"), 0, NULL, NULL, &once), 0);
	assert_int_equal(path_resolve(at("dir//file"), 0, NULL, NULL, &walked), 0);
	assert_string_equal(once.real, walked.real);
	assert_int_equal(fstat(once.fd, &a), 0);
	assert_int_equal(fstat(walked.fd, &b), 0);
	assert_int_equal(a.st_ino, b.st_ino);
	assert_int_equal(
	    fcntl(once.fd, F_GETFL) & O_PATH, fcntl(walked.fd, F_GETFL) & O_PATH);
	assert_int_equal(fcntl(once.fd, F_GETFD), FD_CLOEXEC);
	fd_close(&once.fd);
	fd_close(&walked.fd);
	/* a last name that is missing */
	assert_int_equal(
	    path_resolve(at("dir/..x"), PATH_MISSING_OK, NULL, NULL, &once), 0);
	assert_int_equal(
	    path_resolve(at("dir//..x"), PATH_MISSING_OK, NULL, NULL, &walked), 0);
	assert_string_equal(once.real, at("dir/..x"));
	assert_string_equal(once.real, walked.real);
	assert_int_equal(once.missing, walked.missing);
	assert_int_equal(fstat(once.fd, &a), 0);
	assert_int_equal(fstat(walked.fd, &b), 0);
	assert_int_equal(a.st_ino, b.st_ino);
	fd_close(&once.fd);
	fd_close(&walked.fd);
}

static void
missing_names(void **state)
{
	struct path_resolved p;

	assert_int_equal(resolve(at("dir/none/x"), 0, &p), -ENOENT);
	assert_int_equal(resolve(at("dir/none//x/."), PATH_MISSING_OK, &p), 0);
	assert_string_equal(p.real, at("dir/none/x"));
	assert_int_equal(p.missing, strlen(at("dir/")));
	assert_int_equal(resolve(at("dir/none/../x"), PATH_MISSING_OK, &p), -ENOENT);
	assert_int_equal(resolve(at("dir/file"), PATH_MISSING_OK, &p), 0);
	assert_int_equal(p.missing, 0);
}

/* In /var/tmp, which others can write: whoever owns the link. */
static void
links_below_a_shared_directory(void **state)
{
	struct path_resolved p;

	link_to("sub", "dir/link");
	assert_int_equal(resolve(at("dir/link/x"), PATH_MISSING_OK, &p), -ELOOP);
	assert_string_equal(p.link, at("dir/link"));
	assert_string_equal(p.target, at("dir/sub/x"));
	/* the link itself, and what has no link on its way */
	assert_int_equal(resolve(at("dir/link"), PATH_LAST_LINK, &p), 0);
	assert_string_equal(p.real, at("dir/link"));
	assert_int_equal(resolve(at("dir/link/"), PATH_LAST_LINK, &p), -ELOOP);
	assert_int_equal(resolve(at("dir/sub"), 0, &p), 0);

	/* the first link is the one named, also when others follow */
	link_to(at("dir/link"), "dir/rel");
	assert_int_equal(resolve(at("dir/rel"), 0, &p), -ELOOP);
	assert_string_equal(p.link, at("dir/rel"));
	assert_string_equal(p.target, at("dir/sub"));

	/* nothing to propose */
	link_to("none", "dir/gone");
	assert_int_equal(resolve(at("dir/gone"), 0, &p), -ELOOP);
	assert_string_equal(p.target, "");
	link_to("loop", "dir/loop");
	assert_int_equal(resolve(at("dir/loop"), 0, &p), -ELOOP);
	assert_string_equal(p.link, at("dir/loop"));
	assert_string_equal(p.target, "");
	link_to("/proc/self/root", "dir/proc");
	assert_int_equal(resolve(at("dir/proc"), 0, &p), -ELOOP);
	assert_string_equal(p.target, "");
}

/* In an open directory a file is opened in one step, and a link by the rules of links. */
static void
in_a_directory(void **state)
{
	int fd = -1, dir = open(at("dir"), O_RDONLY | O_DIRECTORY | O_CLOEXEC), bin;

	assert_true(dir >= 0);
	assert_int_equal(path_open_in(dir, at("dir/file"), &fd), 0);
	assert_int_equal(close(fd), 0);
	assert_int_equal(path_open_in(dir, at("dir/none"), &fd), -ENOENT);
	link_to("file", "dir/link");
	assert_int_equal(path_open_in(dir, at("dir/link"), &fd), -ELOOP);
	assert_int_equal(close(dir), 0);

	/* the control: root's own link is followed */
	bin = open("/usr/bin", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(bin >= 0);
	assert_int_equal(path_open_in(bin, "/usr/bin/sh", &fd), 0);
	assert_int_equal(close(fd), 0);
	assert_int_equal(close(bin), 0);
}

static void
links_of_proc(void **state)
{
	struct path_resolved p;
	static const char *const paths[] = {"/proc/self", "/proc/self/root",
	    "/proc/thread-self/cwd", "/dev/fd/0", "/dev/stdin", "/etc/mtab"};
	char pid[64];

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		if (access(paths[i], F_OK) != 0)
			continue;
		assert_int_equal(resolve(paths[i], 0, &p), -EXDEV);
		assert_memory_equal(p.link, "/proc/", 6);
	}
	(void)snprintf(pid, sizeof(pid), "/proc/%d/root/etc", (int)getpid());
	assert_int_equal(resolve(pid, 0, &p), -EXDEV);
	(void)snprintf(pid, sizeof(pid), "/proc/%d/status", (int)getpid());
	assert_int_equal(resolve(pid, 0, &p), 0);
}

struct seen {
	int n;
	char first[PATH_MAX];
};

static void
see(void *arg, const char *link)
{
	struct seen *s = arg;

	if (s->n++ == 0)
		(void)snprintf(s->first, sizeof(s->first), "%s", link);
}

/* A directory that nobody but root can reach, made below root's own /run. */
static void
links_of_root(void **state)
{
	struct path_resolved p;
	struct seen s = {0};
	char dir[] = "/run/kennel-path.XXXXXX", link[64], real[64];
	int r;

	if (getuid() != 0 || mkdtemp(dir) == NULL)
		skip(); /* needs root */
	(void)snprintf(link, sizeof(link), "%s/l", dir);
	(void)snprintf(real, sizeof(real), "%s/d", dir);
	assert_int_equal(mkdir(real, 0755), 0);
	assert_int_equal(symlink("d", link), 0);

	r = path_resolve(link, 0, see, &s, &p);
	fd_close(&p.fd);
	assert_int_equal(r, 0);
	assert_string_equal(p.real, real);
	assert_int_equal(s.n, 1);
	assert_string_equal(s.first, link);
	/* each of these by itself is enough to refuse it */
	assert_int_equal(lchown(link, 12345, 12345), 0);
	assert_int_equal(resolve(link, 0, &p), -ELOOP);
	assert_string_equal(p.target, real);
	assert_int_equal(lchown(link, 0, 0), 0);
	assert_int_equal(resolve(link, 0, &p), 0);
	assert_int_equal(chmod(dir, 0757), 0);
	assert_int_equal(resolve(link, 0, &p), -ELOOP);
	assert_int_equal(chmod(dir, 01777), 0);
	assert_int_equal(resolve(link, 0, &p), -ELOOP);
	/* group 0: the bits may be the mask of an ACL */
	assert_int_equal(chmod(dir, 0770), 0);
	assert_int_equal(resolve(link, 0, &p), -ELOOP);
	assert_int_equal(chmod(dir, 0750), 0);
	assert_int_equal(resolve(link, 0, &p), 0);
	assert_int_equal(chown(dir, 0, 12345), 0);
	assert_int_equal(chmod(dir, 0770), 0);
	assert_int_equal(resolve(link, 0, &p), -ELOOP);
	assert_int_equal(chown(dir, 12345, 0), 0);
	assert_int_equal(chmod(dir, 0755), 0);
	assert_int_equal(resolve(link, 0, &p), -ELOOP);

	(void)unlink(link);
	(void)rmdir(real);
	(void)rmdir(dir);
}

/* Debian's own: /bin is a link of root's in "/" (usr-merge). */
static void
a_link_of_the_system(void **state)
{
	struct path_resolved p;
	struct stat st;

	if (lstat("/bin", &st) != 0 || !S_ISLNK(st.st_mode) || st.st_uid != 0)
		skip(); /* no such link here */
	assert_int_equal(resolve("/bin/../bin/sh", PATH_LAST_LINK, &p), 0);
	assert_string_equal(p.real, "/usr/bin/sh");
}

static void
long_paths(void **state)
{
	static char path[PATH_MAX + 8];
	struct path_resolved p;

	memset(path, 'a', sizeof(path) - 1);
	path[0] = '/';
	assert_int_equal(resolve(path, PATH_MISSING_OK, &p), -ENAMETOOLONG);
	path[NAME_MAX + 2] = '\0';
	assert_int_equal(resolve(path, PATH_MISSING_OK, &p), -ENAMETOOLONG);
	path[NAME_MAX + 1] = '\0';
	assert_int_equal(resolve(path, PATH_MISSING_OK, &p), 0);
	for (size_t i = 0; i < sizeof(path) - 1; i += 2)
		memcpy(path + i, "/a", 2);
	path[PATH_MAX - 2] = '\0';
	assert_int_equal(resolve(path, PATH_MISSING_OK, &p), 0);
	assert_string_equal(p.real, path);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(plain_paths),
	    cmocka_unit_test(the_same_at_once),
	    cmocka_unit_test(missing_names),
	    cmocka_unit_test(links_below_a_shared_directory),
	    cmocka_unit_test(in_a_directory),
	    cmocka_unit_test(links_of_proc),
	    cmocka_unit_test(links_of_root),
	    cmocka_unit_test(a_link_of_the_system),
	    cmocka_unit_test(long_paths),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
