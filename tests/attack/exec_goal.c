/*
 * What the races are about: a program that says whether it runs as it was
 * granted, by its exit status and, where not, by one byte on descriptor 9.
 *
 *	exec_goal good		0: granted; nothing else is looked at but TZ
 *	exec_goal here		the same, and the working folder must end in /a
 *	exec_goal ANYTHING	42: nobody granted that
 *	exec_won ...		the same source as a forbidden program: always 42
 *
 * Without a C library: its start costs more than all of an exec besides, and
 * a hundred thousand of these are started.
 */
#include <stddef.h>
#include <sys/syscall.h>

#define MARK_FD 9
#define WON     42

void goal_start(const long *stack) __attribute__((noreturn));

#if defined(__x86_64__)

__asm__(".text\n"
	".globl _start\n"
	"_start:\n"
	"	xor %ebp, %ebp\n"
	"	mov %rsp, %rdi\n"
	"	and $-16, %rsp\n"
	"	call goal_start\n"
	"	hlt\n");

static long
call3(long nr, long a, long b, long c)
{
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(nr), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return r;
}

#elif defined(__aarch64__)

__asm__(".text\n"
	".globl _start\n"
	"_start:\n"
	"	mov x29, #0\n"
	"	mov x0, sp\n"
	"	and sp, x0, #-16\n"
	"	b goal_start\n");

static long
call3(long nr, long a, long b, long c)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;

	__asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
	return x0;
}

#else
#error "no door to the kernel on this architecture"
#endif

static int
same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

#ifndef EXEC_WON
static int
in_folder_a(void)
{
	char at[512];
	long n = call3(SYS_getcwd, (long)at, sizeof(at), 0);

	return n >= 3 && at[n - 3] == '/' && at[n - 2] == 'a';
}

static int
granted(long argc, const char *const *argv, const char *const *envp)
{
	if (argc != 2)
		return 0;
	for (; *envp; envp++) {
		if ((*envp)[0] != 'T' || (*envp)[1] != 'Z' || (*envp)[2] != '=')
			return 0;
	}
	return same(argv[1], "good") || (same(argv[1], "here") && in_folder_a());
}
#else
static int
granted(long argc, const char *const *argv, const char *const *envp)
{
	/* one set of words is: what makes its file one that may be started */
	return argc == 2 && same(argv[1], "otherwise") && !envp[0];
}
#endif

void
goal_start(const long *stack)
{
	const char *const *argv = (const char *const *)(stack + 1);
	int status = 0;

	if (!granted(stack[0], argv, argv + stack[0] + 1)) {
		call3(SYS_write, MARK_FD, (long)"!", 1);
		status = WON;
	}
	for (;;)
		call3(SYS_exit_group, status, 0, 0);
}
