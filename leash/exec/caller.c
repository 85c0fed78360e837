/*
 * Which image starts a program, and in which directory: for grants with `from` and
 * `in`, and for the record.
 *
 * Process: the leash.  A caller is identified by the image that it runs, read while
 * it waits for our reply.  The image cannot change until its exec is over: another
 * exec of the same process waits, and a process without capabilities cannot change
 * its /proc/PID/exe.  Its own threads can change its working directory until they
 * are gone, so that is read again at the exec stop.
 *
 * A directory in a grant is the one with that name before the server's first
 * instruction, identified by device and inode.  The name alone is not enough: the
 * server could give it to another directory where it may write.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "leash/exec/private.h"
#include "policy/sealed/policy.h"
#include "shim/base/fd.h"

struct place {
	struct sealed_ref in; /* equal texts have the same offset in the pool */
	struct image_key key; /* of that directory */
};

int
caller_load(struct gate *g)
{
	const struct sealed_range *rows = &g->order.server->execs;
	const struct sealed_exec *e = &g->order.policy->exec[rows->first];
	size_t k;

	g->place = calloc((size_t)rows->n + 1, sizeof(*g->place));
	if (!g->place)
		return -ENOMEM;
	for (uint32_t i = 0; i < rows->n; i++) {
		for (k = 0; k < g->place_n && g->place[k].in.off != e[i].in.off; k++)
			;
		if (e[i].in.len > 0 && k == g->place_n)
			g->place[g->place_n++].in = e[i].in;
	}
	return 0;
}

static int
folder_open(int base, const char *path)
{
	struct open_how how = {
	    .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
	    .resolve = RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS,
	};

	/* syscalls: openat2 */
	return (int)syscall(SYS_openat2, base, path, &how, sizeof(how));
}

static bool
key_of(int fd, struct image_key *ret)
{
	struct stat st;

	/* syscalls: fstat newfstatat */
	if (fd < 0 || fstat(fd, &st) < 0)
		return false;
	*ret = (struct image_key){.dev = st.st_dev, .ino = st.st_ino, .known = true};
	return true;
}

void
caller_folders(struct gate *g)
{
	for (size_t i = 0; i < g->place_n; i++) {
		const char *path = policy_str(g->order.policy, g->place[i].in);
		/* canonical; without the first slash it is below the root */
		int fd = folder_open(g->root_fd, path[1] != '\0' ? path + 1 : ".");

		(void)key_of(fd, &g->place[i].key); /* absent: matches nothing */
		fd_close(&fd);
	}
}

uint32_t
caller_image(const struct gate *g, pid_t pid)
{
	struct image_key key;

	if (image_mapped(pid, &key) < 0)
		return SEALED_NONE;
	for (size_t i = 0; i < g->order.image_n; i++)
		if (image_same(&g->image[i], &key))
			return g->order.server->images.first + (uint32_t)i;
	return POLICY_NO_IMAGE;
}

void
caller_of(const struct gate *g, struct call *c)
{
	c->caller = caller_image(g, c->tid);
}

/* Is the directory that many steps above this one the granted one? */
static bool
is_above(int fd, size_t steps, const struct image_key *want)
{
	char up[PATH_MAX] = ".";
	struct image_key key;
	size_t len = 0;
	bool same;
	int top;

	for (; steps > 0 && len + 4 <= sizeof(up); steps--, len += 3) {
		/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): it is */
		memcpy(up + len, "../", 4);
	}
	if (steps > 0)
		return false;
	top = folder_open(fd, up);
	same = key_of(top, &key) && image_same(&key, want);
	fd_close(&top);
	return same;
}

static size_t
steps_below(const char *text, size_t folder_len)
{
	size_t n = 0;

	text += folder_len == 1 ? 0 : folder_len; /* "/" */
	for (; *text; text++)
		n += text[0] == '/' && text[1] != '\0';
	return n;
}

const char *
caller_place(const struct gate *g, pid_t tid, char *text, size_t cap)
{
	const struct policy *p = g->order.policy;
	const char *ret = NULL;
	struct stat st;
	char link[64];
	ssize_t n = -1;
	int fd;

	(void)snprintf(link, sizeof(link), "/proc/%d/cwd", tid);
	/* syscalls: openat readlink readlinkat fstat newfstatat */
	fd = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) {
		(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = readlink(link, text, cap);
	}
	/* the kernel appends to the name of a removed directory */
	if (n <= 0 || (size_t)n >= cap || text[0] != '/' || fstat(fd, &st) < 0 ||
	    st.st_nlink == 0)
		goto out;
	text[n] = '\0';
	for (size_t i = 0; i < g->place_n; i++) {
		struct sealed_ref in = g->place[i].in;

		if (policy_under(text, (size_t)n, policy_str(p, in), in.len) &&
		    !is_above(fd, steps_below(text, in.len), &g->place[i].key))
			goto out;
	}
	ret = text;
out:
	fd_close(&fd);
	return ret;
}
