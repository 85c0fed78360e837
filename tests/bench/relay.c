/*
 * The yardstick of the round-trip bench: starts a program with two pipes and
 * copies bytes both ways, and does nothing else.
 *
 *	relay PROG ARG...
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHUNK (64u << 10)

/* Move what is there; false at end of file. */
static bool
copy(int from, int to)
{
	static char chunk[CHUNK];
	ssize_t n = read(from, chunk, sizeof(chunk));

	for (ssize_t done = 0; done < n;) {
		ssize_t w = write(to, chunk + done, (size_t)(n - done));
		if (w < 0)
			return false;
		done += w;
	}
	return n > 0;
}

int
main(int argc, char **argv)
{
	int down[2], up[2], status = 0;

	if (argc < 2 || pipe(down) < 0 || pipe(up) < 0)
		return 64;
	pid_t pid = fork();
	if (pid == 0) {
		(void)dup2(down[0], 0); /* cannot fail: both are open */
		(void)dup2(up[1], 1);
		for (int i = 0; i < 2; i++) {
			close(down[i]);
			close(up[i]);
		}
		execv(argv[1], argv + 1);
		_exit(127);
	}
	close(down[0]);
	close(up[1]);
	struct pollfd p[2] = {{0, POLLIN, 0}, {up[0], POLLIN, 0}};
	while (p[1].fd >= 0 && (poll(p, 2, -1) > 0 || errno == EINTR)) {
		if (p[0].revents != 0 && !copy(0, down[1])) {
			p[0].fd = -1;
			close(down[1]);
		}
		if (p[1].revents != 0 && !copy(up[0], 1))
			p[1].fd = -1;
	}
	(void)waitpid(pid, &status, 0); /* our own child */
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
