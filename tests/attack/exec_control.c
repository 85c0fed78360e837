/*
 * A gate that believes what a notification shows: the control of the races.
 *
 *	exec_control DIR PROGRAM ARG...
 *
 * It judges as the policy of the races does (exec_swap.c), reads every word
 * once, and says "go on": then the kernel reads them again.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/array.h"

#define WORD 400

static char *base;
static struct stat program, goal;

static int
peek(pid_t pid, uint64_t at, void *to, size_t len)
{
	struct iovec l = {to, len}, r = {(void *)(uintptr_t)at, len};

	return process_vm_readv(pid, &l, 1, &r, 1, 0) == (ssize_t)len ? 0 : -1;
}

static int
peek_word(pid_t pid, uint64_t at, char *to)
{
	for (size_t i = 0; i < WORD; i++) {
		/* to the end of the page at once, where it is not the last byte */
		size_t n = 4096 - (at + i) % 4096;

		n = n > WORD - i ? WORD - i : n;
		if (peek(pid, at + i, to + i, n) < 0)
			return -1;
		if (memchr(to + i, 0, n))
			return 0;
		i += n - 1;
	}
	return -1;
}

static int
same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The file that is asked for: from DIRFD or the caller's folder. */
static int
file_of(const struct seccomp_notif *n, struct stat *ret)
{
	int at = n->data.nr == SYS_execveat;
	char word[WORD], path[2 * WORD];

	if (peek_word((pid_t)n->pid, n->data.args[at], word) < 0)
		return -1;
	if (strncmp(word, "/proc/self/", 11) == 0)
		snprintf(path, sizeof(path), "/proc/%d/%s", n->pid, word + 11);
	else if (word[0] == '/')
		snprintf(path, sizeof(path), "%s", word);
	else if (word[0] == '\0')
		snprintf(
		    path, sizeof(path), "/proc/%d/fd/%d", n->pid, (int)n->data.args[0]);
	else
		snprintf(path, sizeof(path), "/proc/%d/cwd/%s", n->pid, word);
	return stat(path, ret);
}

static int
in_folder_a(pid_t pid)
{
	char link[64], at[WORD];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/cwd", pid);
	n = readlink(link, at, sizeof(at) - 1);
	return n > 2 && memcmp(at + n - 2, "/a", 2) == 0;
}

static int
allowed(const struct seccomp_notif *n)
{
	int at = n->data.nr == SYS_execveat;
	uint64_t argv[3] = {0}, envp[2] = {0};
	char arg[WORD], env[WORD];
	pid_t pid = (pid_t)n->pid;
	struct stat st;

	if (file_of(n, &st) < 0)
		return 0;
	if (same_file(&st, &program))
		return 1;
	if (!same_file(&st, &goal) ||
	    peek(pid, n->data.args[at + 1], argv, sizeof(argv)) < 0 || argv[2] ||
	    peek(pid, n->data.args[at + 2], envp, sizeof(envp)) < 0 || envp[1] ||
	    peek_word(pid, argv[1], arg) < 0 || peek_word(pid, envp[0], env) < 0)
		return 0;
	if (strncmp(env, "TZ=", 3) != 0)
		return 0;
	return strcmp(arg, "good") == 0 || (strcmp(arg, "here") == 0 && in_folder_a(pid));
}

static void
send_fd(int sock, int fd)
{
	char c = 0, room[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec v = {&c, 1};
	struct msghdr m = {.msg_iov = &v,
	    .msg_iovlen = 1,
	    .msg_control = room,
	    .msg_controllen = sizeof(room)};
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);

	h->cmsg_len = CMSG_LEN(sizeof(int));
	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	memcpy(CMSG_DATA(h), &fd, sizeof(fd));
	if (sendmsg(sock, &m, 0) != 1)
		_exit(70);
}

static int
receive_fd(int sock)
{
	char c, room[CMSG_SPACE(sizeof(int))];
	struct iovec v = {&c, 1};
	struct msghdr m = {.msg_iov = &v,
	    .msg_iovlen = 1,
	    .msg_control = room,
	    .msg_controllen = sizeof(room)};
	int fd = -1;

	if (recvmsg(sock, &m, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&m))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return fd;
}

static void
run(int sock, char **argv)
{
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 1, 0),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execveat, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {ARRAY_LEN(code), code};
	char *envp[] = {NULL};
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
	    SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
	    &prog);
	if (fd < 0)
		_exit(70);
	send_fd(sock, fd);
	close(fd);
	close(sock);
	execve(argv[0], argv, envp);
	_exit(127);
}

static void
answer(int fd)
{
	union {
		struct seccomp_notif n;
		char room[1024]; /* of a kernel to come */
	} u = {.room = {0}};
	struct seccomp_notif_resp r = {0};

	if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &u) < 0)
		return;
	r.id = u.n.id;
	if (allowed(&u.n))
		r.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	else
		r.error = -EACCES;
	(void)ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &r); /* it may be gone */
}

int
main(int argc, char **argv)
{
	char path[WORD];
	int pair[2], fd, status;
	pid_t pid;

	if (argc < 3 || getuid() == 0)
		return 64; /* never as root */
	base = argv[1];
	snprintf(path, sizeof(path), "%s/a/goal", base);
	if (stat(path, &goal) < 0 || stat(argv[2], &program) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return 70;
	pid = fork();
	if (pid == 0)
		run(pair[1], argv + 2);
	close(pair[1]);
	fd = receive_fd(pair[0]);
	for (;;) {
		struct pollfd p = {fd, POLLIN, 0};

		if (poll(&p, 1, 100) < 0 || p.revents & POLLHUP)
			break;
		if (p.revents & POLLIN)
			answer(fd);
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 70;
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status)
								    : 70;
}
