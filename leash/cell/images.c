/*
 * The programs that may be started, as the view shows them.  Opens each by the path
 * that the server will use and sends it to the leash, which identifies an exec by
 * it.
 *
 * Process: the cell's first process, inside the finished view.  Trusts the rows.
 * Must never send anything but a regular file.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>

#include "leash/cell/private.h"
#include "shim/base/fd.h"

/* Opens the path as the server would.  Links that belong to root, and those of a
 * virtual environment, are part of the grant.  They must lead to the file that was
 * checked. */
static int
open_judged(struct cell_child *c, const struct sealed_image *image, int *ret)
{
	const char *path = policy_str(c->order->policy, image->path);
	const char *real = policy_str(c->order->policy, image->real);
	struct stat st, judged;
	int fd, at, r = 0;

	at = mount_open_below(AT_FDCWD, real, O_PATH, MOUNT_RESOLVE_REAL);
	if (at < 0)
		return at;
	if (strcmp(path, real) == 0) {
		*ret = at;
		return 0;
	}
	fd = mount_open_below(AT_FDCWD, path, O_PATH, RESOLVE_NO_MAGICLINKS);
	if (fd < 0)
		r = fd;
	else if (fstat(fd, &st) < 0 || fstat(at, &judged) < 0)
		r = -errno;
	else if (st.st_dev != judged.st_dev || st.st_ino != judged.st_ino) {
		c->hint = "it is not the file that it was when the policy was compiled; "
			  "compile the policy again";
		r = -ESTALE;
	}
	fd_close(&at);
	if (r == 0)
		*ret = fd;
	else
		fd_close(&fd);
	return r;
}

static int
open_image(struct cell_child *c, const struct sealed_image *image, int *ret)
{
	int fd = -1, r = open_judged(c, image, &fd);
	struct stat st;

	if (r == 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
		c->hint = "not a regular file";
		r = -EACCES;
	}
	if (r == 0)
		*ret = fd;
	else
		fd_close(&fd);
	return r;
}

/* The shim enters it by name, so it must not contain a link by now. */
static int
cwd_check(struct cell_child *c)
{
	const char *path = policy_str(c->order->policy, c->order->server->cwd);
	int fd = mount_open_below(AT_FDCWD, path, O_PATH, MOUNT_RESOLVE_REAL);

	/* The shim finds and reports any other failure. */
	if (fd == -ELOOP)
		return cell_blame(c, fd, path, c->order->server->at);
	if (fd >= 0)
		fd_close(&fd);
	return 0;
}

static int
send_images(struct cell_child *c, int *fd, size_t *n)
{
	uint8_t memory[8];
	struct wire_out out;
	int r;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, CELL_IMAGES);
	r = wire_send(c->channel, &out, fd, *n);
	while (*n > 0)
		fd_close(&fd[--*n]);
	return r;
}

int
images_open(struct cell_child *c)
{
	const struct sealed_range *range = &c->order->server->images;
	const struct sealed_image *image = c->order->policy->image + range->first;
	int fd[WIRE_FDS_MAX], r = 0;
	size_t n = 0;

	for (uint32_t i = 0; i < range->n; i++) {
		const char *path = policy_str(c->order->policy, image[i].path);

		r = open_image(c, &image[i], &fd[n]);
		if (r < 0)
			return cell_blame(c, r, path, image[i].at);
		n++;
		if (n == WIRE_FDS_MAX)
			r = send_images(c, fd, &n);
		if (r != 0)
			return cell_fault(c, r, path);
	}
	if (n > 0)
		r = send_images(c, fd, &n);
	return r != 0 ? cell_fault(c, r, "") : cwd_check(c);
}
