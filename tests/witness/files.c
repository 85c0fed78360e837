/* Paths, as the sandbox sees them (witness.h). */
#include "tests/witness/witness.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

static void
try_open(const char *verb, const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);

	printf("%s %s=%s\n", verb, path, fd >= 0 ? "ok" : strerrorname_np(errno));
	if (fd >= 0)
		close(fd);
}

int
verb_read(int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		char c;
		int fd = open(argv[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		int r = fd < 0 ? -errno : result(read(fd, &c, 1));
		if (r == -EISDIR)
			r = 0; /* a folder that opens can be listed */
		printf("read %s=%s\n", argv[i], r == 0 ? "ok" : strerrorname_np(-r));
		if (fd >= 0)
			close(fd);
	}
	return 0;
}

int
verb_write(int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		try_open("write", argv[i], O_WRONLY);
	return 0;
}

int
verb_create(int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		try_open("create", argv[i], O_WRONLY | O_CREAT | O_EXCL);
	return 0;
}

int
verb_stat(int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		struct stat st;
		int r = result(lstat(argv[i], &st));
		if (r == 0)
			printf("stat %s=mode %o uid %u size %lld\n", argv[i], st.st_mode,
			    st.st_uid, (long long)st.st_size);
		else
			printf("stat %s=%s\n", argv[i], strerrorname_np(-r));
	}
	return 0;
}

int
verb_list(int argc, char **argv)
{
	DIR *d = argc > 0 ? opendir(argv[0]) : NULL;
	struct dirent *e;

	if (d == NULL) {
		printf("list=%s\n", strerrorname_np(errno));
		return 1;
	}
	while ((e = readdir(d)) != NULL)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			printf("name=%s\n", e->d_name);
	closedir(d);
	return 0;
}

/* Whoever opens the file to write waits for the one who has this. */
static int
lease(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int r = result(fd < 0 ? fd : fcntl(fd, F_SETLEASE, F_RDLCK));

	if (fd >= 0)
		close(fd); /* and the lease */
	return r;
}

/* What changes a file without opening it for writing: Landlock knows some of
 * these late or never, so the mount must hold. */
int
verb_change(int argc, char **argv)
{
	const char *path = argc > 0 ? argv[0] : "/";
	char aside[4096];

	(void)snprintf(aside, sizeof(aside), "%s.moved", path);
	witness_say("lease", lease(path));
	witness_say("chmod", result(chmod(path, 0777)));
	witness_say("truncate", result(truncate(path, 0)));
	witness_say("utimes", result(utimes(path, NULL)));
	witness_say("link", result(link(path, aside)));
	witness_say("unlink", result(unlink(path)));
	witness_say("rename", result(rename(path, aside)));
	return 0;
}

int
verb_plant(int argc, char **argv)
{
	if (argc < 2)
		return 64;
	witness_say("plant", result(symlink(argv[1], argv[0])));
	return 0;
}
