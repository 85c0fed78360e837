/*
 * Calls that fail, or lie, on order: linked into the programs of build/fault,
 * which are the product's own objects otherwise, and into unit tests.
 *
 * A program reads its orders beside itself before it confines itself:
 *
 *	EXE.fault	lines "KIND FROM COUNT VALUE": calls FROM, FROM+1 ...
 *			(COUNT of them; 0: for ever) of this kind do VALUE
 *	EXE.count	mapped and counted in: one 64-bit number per kind, then
 *			how often the program died of itself
 *
 *	memory		malloc, calloc, realloc and their kin give NULL
 *	write		pwrite fails with errno VALUE; half of what there is
 *			to write is written first when it is ENOSPC
 *	sync		fsync and fdatasync fail with errno VALUE
 *			(below 0, for both: fault.h)
 *	clock		CLOCK_REALTIME is VALUE seconds off
 *	sleep		CLOCK_BOOTTIME and CLOCK_REALTIME are VALUE seconds ahead: the
 *			machine slept, which CLOCK_MONOTONIC does not count
 *
 * All programs of a machine have one clock: for these two FROM and COUNT are
 * milliseconds of CLOCK_MONOTONIC.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "tests/fault/fault.h"

/* Static programs are linked with --wrap; in a dynamic one, its libraries' calls
 * for memory meet these as well. */
#ifdef FAULT_DYNAMIC
#define MEMORY_REAL(f) __libc_##f
#define MEMORY_FAKE(f) f
#else
#define MEMORY_REAL(f) __real_##f
#define MEMORY_FAKE(f) __wrap_##f
#endif

/* The linker's and the library's names. */
/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
void *MEMORY_REAL(malloc)(size_t);
void *MEMORY_REAL(calloc)(size_t, size_t);
void *MEMORY_REAL(realloc)(void *, size_t);
void *MEMORY_FAKE(malloc)(size_t);
void *MEMORY_FAKE(calloc)(size_t, size_t);
void *MEMORY_FAKE(realloc)(void *, size_t);
void *MEMORY_FAKE(reallocarray)(void *, size_t, size_t);
char *__wrap_strdup(const char *);
int __real_seccomp_export_bpf(void *, int);
int __wrap_seccomp_export_bpf(void *, int);
ssize_t __real_pwrite64(int, const void *, size_t, off_t);
ssize_t __wrap_pwrite64(int, const void *, size_t, off_t);
int __real_fsync(int);
int __wrap_fsync(int);
int __real_fdatasync(int);
int __wrap_fdatasync(int);
int __real_clock_gettime(clockid_t, struct timespec *);
int __wrap_clock_gettime(clockid_t, struct timespec *);

static struct {
	uint64_t from, count;
	long value;
} order[FAULT_KINDS];

static bool spared; /* this code is not ours and does not bear it */
static uint64_t own[FAULT_KINDS + 1];
static uint64_t *counted = own;

/* ---- orders ------------------------------------------------------------------ */

void
fault_order(enum fault_kind kind, uint64_t from, uint64_t count, long value)
{
	counted[kind] = 0;
	order[kind].count = count;
	order[kind].value = value;
	order[kind].from = from;
}

uint64_t
fault_counted(enum fault_kind kind)
{
	return counted[kind];
}

static bool
due(enum fault_kind kind)
{
	uint64_t n;

	if (spared)
		return false;
	n = __atomic_add_fetch(&counted[kind], 1, __ATOMIC_RELAXED);
	return order[kind].from != 0 && n >= order[kind].from &&
	       (order[kind].count == 0 || n < order[kind].from + order[kind].count);
}

#ifndef FAULT_UNIT
static const char *const kind_name[FAULT_KINDS] = {
    [FAULT_MEMORY] = "memory",
    [FAULT_WRITE] = "write",
    [FAULT_SYNC] = "sync",
    [FAULT_CLOCK] = "clock",
    [FAULT_SLEEP] = "sleep",
};

/* A program that crashes is counted; how it ends is not changed. */
static void
on_crash(int sig)
{
	counted[FAULT_KINDS]++;
	(void)raise(sig); /* pending until we return, and then its default */
}

static void
take_line(const char *line)
{
	const char *space = strchr(line, ' ');
	unsigned long long from, count;
	char *rest;
	long value;

	if (space == NULL)
		return;
	from = strtoull(space, &rest, 10);
	count = strtoull(rest, &rest, 10);
	value = strtol(rest, NULL, 10);
	for (int i = 0; i < FAULT_KINDS; i++) {
		if (strncmp(line, kind_name[i], (size_t)(space - line)) != 0 ||
		    kind_name[i][space - line] != '\0')
			continue;
		order[i].from = from;
		order[i].count = count;
		order[i].value = value;
	}
}

static int
open_beside(const char *what, int flags)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 16);

	if (n < 0)
		return -1;
	memcpy(path + n, what, strlen(what) + 1);
	return open(path, flags | O_CLOEXEC);
}

static void __attribute__((constructor)) take_orders(void)
{
	static const int crash[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
	struct sigaction once = {.sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND};
	char text[1024] = "", *line, *rest = text;
	int fd;

	fd = open_beside(".count", O_RDWR);
	if (fd >= 0) {
		void *page =
		    mmap(NULL, sizeof(own), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (page != MAP_FAILED)
			counted = page;
		close(fd);
	}
	fd = open_beside(".fault", O_RDONLY);
	if (fd >= 0) {
		if (read(fd, text, sizeof(text) - 1) < 0)
			text[0] = '\0';
		close(fd);
	}
	for (size_t i = 0; i < ARRAY_LEN(crash); i++)
		(void)sigaction(crash[i], &once, NULL);
	while ((line = strsep(&rest, "\n")) != NULL)
		take_line(line);
}
#endif

/* ---- the calls ----------------------------------------------------------------- */

void *
MEMORY_FAKE(malloc)(size_t n)
{
	if (due(FAULT_MEMORY)) {
		errno = ENOMEM;
		return NULL;
	}
	return MEMORY_REAL(malloc)(n);
}

void *
MEMORY_FAKE(calloc)(size_t n, size_t each)
{
	if (due(FAULT_MEMORY)) {
		errno = ENOMEM;
		return NULL;
	}
	return MEMORY_REAL(calloc)(n, each);
}

void *
MEMORY_FAKE(realloc)(void *at, size_t n)
{
	if (due(FAULT_MEMORY)) {
		errno = ENOMEM;
		return NULL;
	}
	return MEMORY_REAL(realloc)(at, n);
}

void *
MEMORY_FAKE(reallocarray)(void *at, size_t n, size_t each)
{
	if (each != 0 && n > SIZE_MAX / each) {
		errno = ENOMEM;
		return NULL;
	}
	return MEMORY_FAKE(realloc)(at, n * each);
}

#ifndef FAULT_DYNAMIC
char *
__wrap_strdup(const char *text)
{
	size_t n = strlen(text) + 1;
	char *copy = MEMORY_FAKE(malloc)(n);

	return copy == NULL ? NULL : memcpy(copy, text, n);
}
#endif

#ifdef FAULT_DYNAMIC
/* libseccomp 2.5 frees twice, or goes round for ever, when it makes a program and
 * one of its thousands of allocations fails. */
int
__wrap_seccomp_export_bpf(void *ctx, int fd)
{
	int r;

	spared = true;
	r = __real_seccomp_export_bpf(ctx, fd);
	spared = false;
	return r;
}
#endif

#ifndef FAULT_UNIT
/* As by kill -9; where the program may not, its filter does it. */
static void __attribute__((noreturn)) die_now(void)
{
	(void)kill(getpid(), SIGKILL);
	for (;;)
		__builtin_trap();
}

ssize_t
__wrap_pwrite64(int fd, const void *bytes, size_t n, off_t at)
{
	int error = (int)order[FAULT_WRITE].value;

	if (!due(FAULT_WRITE))
		return __real_pwrite64(fd, bytes, n, at);
	if ((error == ENOSPC || error == FAULT_KILL_WITHIN) && n > 1)
		(void)!__real_pwrite64(fd, bytes, n / 2, at);
	if (error < 0)
		die_now();
	errno = error;
	return -1;
}

static int
sync_by(int fd, int (*real)(int))
{
	int error = (int)order[FAULT_SYNC].value;

	if (!due(FAULT_SYNC))
		return real(fd);
	if (error == FAULT_KILL_BEHIND)
		(void)real(fd);
	if (error < 0)
		die_now();
	errno = error;
	return -1;
}

int
__wrap_fsync(int fd)
{
	return sync_by(fd, __real_fsync);
}

int
__wrap_fdatasync(int fd)
{
	return sync_by(fd, __real_fdatasync);
}

static bool
now_due(enum fault_kind kind)
{
	struct timespec t;
	uint64_t now;

	if (order[kind].from == 0 || __real_clock_gettime(CLOCK_MONOTONIC, &t) < 0)
		return false;
	now = (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
	if (now < order[kind].from ||
	    (order[kind].count != 0 && now >= order[kind].from + order[kind].count))
		return false;
	counted[kind]++;
	return true;
}

int
__wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	int r = __real_clock_gettime(clock, ret);

	if (r == 0 && clock == CLOCK_REALTIME && now_due(FAULT_CLOCK))
		ret->tv_sec += order[FAULT_CLOCK].value;
	if (r == 0 && (clock == CLOCK_BOOTTIME || clock == CLOCK_REALTIME) &&
	    now_due(FAULT_SLEEP))
		ret->tv_sec += order[FAULT_SLEEP].value;
	return r;
}
#endif
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
