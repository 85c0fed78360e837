/*
 * The programs that may be started, as the view has them: opened by the paths
 * that the server will use, and sent to the leash, which knows an exec by them.
 *
 * Process: the cell's first process, inside the finished view.  Trusts the rows;
 * must never send what is not a regular file.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>

#include "leash/cell/private.h"
#include "shim/base/fd.h"

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
	struct stat st;
	size_t n = 0;

	for (uint32_t i = 0; i < range->n; i++) {
		const char *path = policy_str(c->order->policy, image[i].path);

		/* As the server would: links in the view are part of the grant. */
		fd[n] = mount_open_below(AT_FDCWD, path, O_PATH, RESOLVE_NO_MAGICLINKS);
		if (fd[n] < 0)
			return cell_blame(c, fd[n], path, image[i].at);
		n++;
		if (fstat(fd[n - 1], &st) < 0 || !S_ISREG(st.st_mode)) {
			c->hint = "not a regular file";
			return cell_blame(c, -EACCES, path, image[i].at);
		}
		if (n == WIRE_FDS_MAX)
			r = send_images(c, fd, &n);
		if (r != 0)
			return cell_fault(c, r, path);
	}
	if (n > 0)
		r = send_images(c, fd, &n);
	return r != 0 ? cell_fault(c, r, "") : 0;
}
