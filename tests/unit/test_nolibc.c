/*
 * The shim's own few calls (shim/nolibc.c), under names of their own beside the C
 * library's, each against what the library does.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/child.h"

int bare_main(void);
void bare_bare_start(const uintptr_t *stack) __attribute__((noreturn));
void bare__exit(int) __attribute__((noreturn));
int *bare___errno_location(void);
long bare_syscall(long, ...);
void *bare_memcpy(void *, const void *, size_t);
void *bare_memset(void *, int, size_t);
void *bare_memchr(const void *, int, size_t);
size_t bare_strlen(const char *);
void bare_explicit_bzero(void *, size_t);
void bare___explicit_bzero_chk(void *, size_t, size_t);
void *bare___memcpy_chk(void *, const void *, size_t, size_t);
void *bare___memset_chk(void *, int, size_t, size_t);
int bare_mlock(const void *, size_t);
int bare_open(const char *, int, ...);
int bare_close(int);
ssize_t bare_read(int, void *, size_t);
int bare_fcntl(int, int, ...);
int bare_pipe2(int[2], int);
int bare_poll(struct pollfd *, nfds_t, int);
ssize_t bare_sendmsg(int, const struct msghdr *, int);
ssize_t bare_recvmsg(int, struct msghdr *, int);
pid_t bare_fork(void);
int bare_execve(const char *, char *const[], char *const[]);
pid_t bare_waitpid(pid_t, int *, int);
int bare_kill(pid_t, int);
pid_t bare_setsid(void);
int bare_chdir(const char *);
int bare_prctl(int, ...);
int bare_sigemptyset(sigset_t *);
int bare_sigfillset(sigset_t *);
int bare_sigaddset(sigset_t *, int);
int bare_sigprocmask(int, const sigset_t *, sigset_t *);
int bare_sigaction(int, const struct sigaction *, struct sigaction *);
int bare_signalfd(int, const sigset_t *, int);

int
bare_main(void)
{
	return 7;
}

static int
status_of(pid_t pid)
{
	int status;

	assert_int_equal(bare_waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void
begins(void **state)
{
	static const uint64_t random[2] = {0x1122334455667788u, 1};
	const uintptr_t stack[] = {
	    2, 1, 1, 0, 1, 0, AT_PAGESZ, 4096, AT_RANDOM, (uintptr_t)random, AT_NULL, 0};
	pid_t pid = test_fork();

	(void)state;
	if (pid == 0)
		bare_bare_start(stack);
	assert_int_equal(status_of(pid), 7);
}

static void
memory(void **state)
{
	char a[32] = "abcdefghijklmnopqrstuvwxyz", b[32] = "";

	(void)state;
	assert_ptr_equal(bare_memcpy(b, a, 27), b);
	assert_string_equal(a, b);
	assert_ptr_equal(bare___memcpy_chk(b, "xyz", 4, sizeof(b)), b);
	assert_string_equal(b, "xyz");
	assert_int_equal(bare_strlen(a), 26);
	assert_int_equal(bare_strlen(""), 0);
	assert_ptr_equal(bare_memchr(a, 'c', 26), a + 2);
	assert_null(bare_memchr(a, 'c', 2));
	assert_ptr_equal(bare_memset(a, 'z', 3), a);
	assert_ptr_equal(bare___memset_chk(a + 3, 'y', 1, 1), a + 3);
	assert_memory_equal(a, "zzzye", 5);
	bare_explicit_bzero(a, 2);
	bare___explicit_bzero_chk(a + 2, 2, 2);
	assert_memory_equal(a, "\0\0\0\0e", 5);
	assert_int_equal(bare_mlock(a, sizeof(a)), 0);
}

/* What would not fit ends the process. */
static void
overrun(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		char a[8];
		pid_t pid = test_fork();

		if (pid == 0) {
			if (i == 0)
				bare___memcpy_chk(a, "123456789", 9, sizeof(a));
			else if (i == 1)
				bare___memset_chk(a, 0, 9, sizeof(a));
			else
				bare___explicit_bzero_chk(a, 9, sizeof(a));
			bare__exit(0);
		}
		assert_int_equal(status_of(pid), 125);
	}
}

static void
descriptors(void **state)
{
	int fd[2], pair[2];
	char text[8] = "";
	struct iovec iov = {(char *)"word", 4};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	struct pollfd p;

	(void)state;
	assert_int_equal(bare_open("/nowhere/x", O_RDONLY), -1);
	assert_int_equal(*bare___errno_location(), ENOENT);
	fd[0] = bare_open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_true(fd[0] >= 0);
	assert_int_equal(bare_fcntl(fd[0], F_GETFD, 0), FD_CLOEXEC);
	assert_int_equal(bare_read(fd[0], text, sizeof(text)), 0);
	assert_int_equal(bare_close(fd[0]), 0);
	assert_int_equal(bare_close(fd[0]), -1);
	assert_int_equal(*bare___errno_location(), EBADF);
	assert_int_equal(bare_pipe2(fd, O_CLOEXEC), 0);
	p = (struct pollfd){.fd = fd[0], .events = POLLIN};
	assert_int_equal(bare_poll(&p, 1, 5), 0);
	assert_int_equal(write(fd[1], "x", 1), 1);
	assert_int_equal(bare_poll(&p, 1, -1), 1);
	close(fd[0]);
	close(fd[1]);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	assert_int_equal(bare_sendmsg(pair[0], &msg, 0), 4);
	iov = (struct iovec){text, sizeof(text)};
	assert_int_equal(bare_recvmsg(pair[1], &msg, 0), 4);
	assert_memory_equal(text, "word", 4);
	close(pair[0]);
	close(pair[1]);
}

static void
processes(void **state)
{
	char *argv[] = {(char *)"sh", (char *)"-c", (char *)"exit 9", NULL};
	char *envp[] = {NULL};
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(bare_syscall(SYS_getpid), getpid());
	assert_int_equal(bare_prctl(PR_GET_PDEATHSIG, &status, 0, 0, 0), 0);
	pid = bare_fork();
	if (pid == 0) {
		if (bare_setsid() < 0 || bare_chdir("/") < 0)
			bare__exit(1);
		bare_execve("/bin/sh", argv, envp);
		bare__exit(2);
	}
	assert_int_equal(status_of(pid), 9);
	pid = test_fork();
	if (pid == 0)
		for (;;)
			pause();
	assert_int_equal(bare_kill(pid, SIGKILL), 0);
	assert_int_equal(bare_waitpid(pid, &status, 0), pid);
	assert_int_equal(WTERMSIG(status), SIGKILL);
}

static void
signals(void **state)
{
	struct sigaction plain = {.sa_handler = SIG_DFL}, other = {.sa_handler = SIG_IGN},
			 was;
	struct signalfd_siginfo info;
	sigset_t set, full, before;
	int fd;

	(void)state;
	assert_int_equal(bare_sigemptyset(&set), 0);
	assert_int_equal(bare_sigaddset(&set, SIGUSR2), 0);
	assert_int_equal(bare_sigfillset(&full), 0);
	assert_int_equal(sigismember(&set, SIGUSR2), 1);
	assert_int_equal(sigismember(&set, SIGUSR1), 0);
	assert_int_equal(sigismember(&full, SIGRTMAX), 1);
	assert_int_equal(bare_sigprocmask(SIG_BLOCK, &set, &before), 0);
	fd = bare_signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	assert_true(fd >= 0);
	assert_int_equal(kill(getpid(), SIGUSR2), 0);
	assert_int_equal(bare_read(fd, &info, sizeof(info)), sizeof(info));
	assert_int_equal(info.ssi_signo, SIGUSR2);
	assert_int_equal(bare_sigprocmask(SIG_SETMASK, &before, NULL), 0);
	close(fd);
	assert_int_equal(signal(SIGUSR2, SIG_IGN) != SIG_ERR, 1);
	assert_int_equal(bare_sigaction(SIGUSR2, &plain, NULL), 0);
	assert_int_equal(sigaction(SIGUSR2, NULL, &was), 0);
	assert_ptr_equal(was.sa_handler, SIG_DFL);
	assert_int_equal(bare_sigaction(SIGUSR2, &other, NULL), -1);
	assert_int_equal(*bare___errno_location(), EINVAL);
	assert_int_equal(bare_sigaction(SIGUSR2, &plain, &was), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(begins),
	    cmocka_unit_test(memory),
	    cmocka_unit_test(overrun),
	    cmocka_unit_test(descriptors),
	    cmocka_unit_test(processes),
	    cmocka_unit_test(signals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
