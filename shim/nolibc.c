/*
 * The part of a C library that the shim needs, as bare system calls.
 *
 * The C library starts every program by querying the processor's features,
 * which is slow in a virtual machine (0.4 ms), and makes the shim a file of 850
 * KiB that each leash copies for its cell (1 ms). So the shim is linked with
 * this file instead: no start files, no relocation table (the Makefile checks
 * this), only static memory.
 *
 * Process: PID 1 of a cell, under the server's own filter.  Must never do more
 * than the one system call that each function is named after.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KERNEL_SIGSET 8 /* bytes of a signal set in the kernel */

int main(void);
void bare_start(const uintptr_t *stack) __attribute__((noreturn));
/* The compiler generates calls of these, so their names are fixed. */
/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
extern uintptr_t __stack_chk_guard;
void __stack_chk_fail(void) __attribute__((noreturn));
void __explicit_bzero_chk(void *, size_t, size_t);
void *__memcpy_chk(void *restrict, const void *restrict, size_t, size_t);
void *__memset_chk(void *, int, size_t, size_t);
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

uintptr_t __stack_chk_guard;

/* ---- system calls -------------------------------------------------------- */

#if defined(__x86_64__)

__asm__(".text\n"
	".globl _start\n"
	".type _start, @function\n"
	"_start:\n"
	"	xor %ebp, %ebp\n"
	"	mov %rsp, %rdi\n"
	"	and $-16, %rsp\n"
	"	call bare_start\n"
	"	hlt\n");

static long
call6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return r;
}

#elif defined(__aarch64__)

__asm__(".text\n"
	".globl _start\n"
	".type _start, %function\n"
	"_start:\n"
	"	mov x29, #0\n"
	"	mov x30, #0\n"
	"	mov x0, sp\n"
	"	and sp, x0, #-16\n"
	"	b bare_start\n");

static long
call6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}

#else
#error "no system call entry for this architecture"
#endif

int *
__errno_location(void)
{
	static int error; /* one thread */

	return &error;
}

static long
result(long r)
{
	if (r >= 0 || r < -4095)
		return r;
	errno = (int)-r;
	return -1;
}

#define AS_LONG(x)    ((long)(uintptr_t)(x))
#define CALL(nr, ...) CALL_(nr, __VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define CALL_(nr, a, b, c, d, e, f, ...) \
	result(call6((nr), AS_LONG(a), AS_LONG(b), AS_LONG(c), AS_LONG(d), AS_LONG(e), \
	    AS_LONG(f)))

/*
 * Always passes as many arguments as the longest call has: va_arg reads more
 * than the caller gave, and the kernel ignores the excess.
 */
long
syscall(long nr, ...)
{
	long a[6];
	va_list ap;

	va_start(ap, nr);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	return result(call6(nr, a[0], a[1], a[2], a[3], a[4], a[5]));
}

/* ---- start and exit ------------------------------------------------------ */

/*
 * The stack holds: argc, argv, NULL, environment, NULL, auxiliary vector.  This
 * function sets the stack guard, so it has none itself.
 */
__attribute__((no_stack_protector)) void
bare_start(const uintptr_t *stack)
{
	const uintptr_t *at = stack + 1 + stack[0] + 1;

	while (*at++ != 0)
		;
	for (; at[0] != AT_NULL; at += 2)
		if (at[0] == AT_RANDOM)
			__stack_chk_guard = *(const uintptr_t *)at[1];
	/* a string that overflows cannot write a zero into its middle */
	__stack_chk_guard &= ~(uintptr_t)0xff;
	_exit(main());
}

void
_exit(int status)
{
	for (;;)
		(void)CALL(SYS_exit_group, status); /* does not return */
}

void
__stack_chk_fail(void)
{
	_exit(125);
}

/* ---- memory -------------------------------------------------------------- */

void *
memcpy(void *restrict to, const void *restrict from, size_t n)
{
	unsigned char *t = to;
	const unsigned char *f = from;

	while (n-- > 0)
		*t++ = *f++;
	return to;
}

void *
memset(void *to, int c, size_t n)
{
	unsigned char *t = to;

	while (n-- > 0)
		*t++ = (unsigned char)c;
	return to;
}

void *
memchr(const void *in, int c, size_t n)
{
	const unsigned char *at = in;

	for (; n > 0; at++, n--)
		if (*at == (unsigned char)c)
			return (void *)(uintptr_t)at;
	return NULL;
}

size_t
strlen(const char *text)
{
	size_t n = 0;

	while (text[n] != '\0')
		n++;
	return n;
}

void
explicit_bzero(void *at, size_t n)
{
	memset(at, 0, n);
	__asm__ volatile("" : : "r"(at) : "memory"); /* keep the stores */
}

/*
 * Called by a fortified build if the compiler cannot prove that the buffer is
 * large enough.
 */
static void
must_fit(size_t n, size_t room)
{
	if (n > room)
		__stack_chk_fail();
}

void
__explicit_bzero_chk(void *at, size_t n, size_t room)
{
	must_fit(n, room);
	explicit_bzero(at, n);
}

void *
__memcpy_chk(void *restrict to, const void *restrict from, size_t n, size_t room)
{
	must_fit(n, room);
	return memcpy(to, from, n);
}

void *
__memset_chk(void *to, int c, size_t n, size_t room)
{
	must_fit(n, room);
	return memset(to, c, n);
}

int
mlock(const void *at, size_t n)
{
	return (int)CALL(SYS_mlock, at, n);
}

/* ---- descriptors --------------------------------------------------------- */

int
open(const char *path, int flags, ...)
{
	return (int)CALL(SYS_openat, AT_FDCWD, path, flags); /* creates nothing */
}

int
close(int fd)
{
	return (int)CALL(SYS_close, fd);
}

ssize_t
read(int fd, void *to, size_t n)
{
	return CALL(SYS_read, fd, to, n);
}

int
fcntl(int fd, int what, ...)
{
	va_list ap;
	long value;

	va_start(ap, what);
	value = va_arg(ap, long);
	va_end(ap);
	return (int)CALL(SYS_fcntl, fd, what, value);
}

int
pipe2(int fd[2], int flags)
{
	return (int)CALL(SYS_pipe2, fd, flags);
}

int
poll(struct pollfd *fd, nfds_t n, int wait_ms)
{
	struct timespec t = {wait_ms / 1000, wait_ms % 1000 * 1000000L};

	return (int)CALL(SYS_ppoll, fd, n, wait_ms < 0 ? NULL : &t, NULL, KERNEL_SIGSET);
}

ssize_t
sendmsg(int sock, const struct msghdr *msg, int flags)
{
	return CALL(SYS_sendmsg, sock, msg, flags);
}

ssize_t
recvmsg(int sock, struct msghdr *msg, int flags)
{
	return CALL(SYS_recvmsg, sock, msg, flags);
}

/* ---- processes ----------------------------------------------------------- */

pid_t
fork(void)
{
	return (pid_t)CALL(SYS_clone, SIGCHLD);
}

int
execve(const char *path, char *const argv[], char *const envp[])
{
	return (int)CALL(SYS_execve, path, argv, envp);
}

pid_t
waitpid(pid_t pid, int *status, int flags)
{
	return (pid_t)CALL(SYS_wait4, pid, status, flags);
}

int
kill(pid_t pid, int signal)
{
	return (int)CALL(SYS_kill, pid, signal);
}

pid_t
setsid(void)
{
	return (pid_t)CALL(SYS_setsid, 0);
}

int
chdir(const char *path)
{
	return (int)CALL(SYS_chdir, path);
}

int
prctl(int what, ...)
{
	long a[4];
	va_list ap;

	va_start(ap, what);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	return (int)CALL(SYS_prctl, what, a[0], a[1], a[2], a[3]);
}

/* ---- signals ------------------------------------------------------------- */

/* The kernel reads the first eight bytes of a set: a bit for each signal. */
int
sigemptyset(sigset_t *set)
{
	memset(set, 0, sizeof(*set));
	return 0;
}

int
sigfillset(sigset_t *set)
{
	memset(set, 0xff, sizeof(*set));
	return 0;
}

int
sigaddset(sigset_t *set, int signal)
{
	((unsigned char *)set)[(signal - 1) / 8] |=
	    (unsigned char)(1u << (signal - 1) % 8);
	return 0;
}

int
sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict before)
{
	return (int)CALL(SYS_rt_sigprocmask, how, set, before, KERNEL_SIGSET);
}

/* Only sets the default action: a handler would need a return trampoline. */
int
sigaction(
    int signal, const struct sigaction *restrict act, struct sigaction *restrict before)
{
	struct {
		uintptr_t handler;
		unsigned long flags;
		uintptr_t restorer;
		uint64_t mask;
	} plain = {0};

	if (act->sa_handler != SIG_DFL || before != NULL) {
		errno = EINVAL;
		return -1;
	}
	return (int)CALL(SYS_rt_sigaction, signal, &plain, NULL, KERNEL_SIGSET);
}

int
signalfd(int fd, const sigset_t *set, int flags)
{
	return (int)CALL(SYS_signalfd4, fd, set, KERNEL_SIGSET, flags);
}
