/*
 * shim/base: messages, buffers, descriptors, the loop, quoting, confinement.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "shim/base/array.h"
#include "shim/base/hex.h"
#include "tests/unit/child.h"

#include "shim/base/buf.h"
#include "shim/base/cause.h"
#include "shim/base/confine.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/base/loop.h"
#include "shim/base/sort.h"
#include "shim/base/wire.h"

static void
wire_round_trip(void **state)
{
	uint8_t memory[256];
	struct wire_out out;
	struct wire_in in;
	struct span s;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u8(&out, 0xab);
	wire_put_u32(&out, 0xdeadbeef);
	wire_put_u64(&out, 0x0123456789abcdefull);
	wire_put_str(&out, "name");
	wire_put_bytes(&out, "a\0b", 3);
	assert_int_equal(out.error, 0);
	wire_in_init(&in, memory, out.len);
	assert_int_equal(wire_get_u8(&in), 0xab);
	assert_int_equal(wire_get_u32(&in), 0xdeadbeef);
	assert_true(wire_get_u64(&in) == 0x0123456789abcdefull);
	assert_string_equal(wire_get_str(&in, 4), "name");
	s = wire_get_bytes(&in, 3);
	assert_int_equal(s.len, 3);
	assert_memory_equal(s.data, "a\0b", 3);
	assert_int_equal(wire_end(&in), 0);
	(void)state;
}

static void
wire_refuses(void **state)
{
	uint8_t memory[64];
	struct wire_out out;
	struct wire_in in;

	/* longer than asked for, a NUL inside a string, bytes left over,
	 * bytes missing at every length */
	wire_out_init(&out, memory, sizeof(memory));
	wire_put_str(&out, "abcd");
	wire_in_init(&in, memory, out.len);
	(void)wire_get_str(&in, 3);
	assert_int_equal(wire_end(&in), -EBADMSG);
	wire_in_init(&in, memory, out.len);
	assert_int_equal(wire_end(&in), -EBADMSG);
	for (size_t cut = 0; cut < out.len; cut++) {
		wire_in_init(&in, memory, cut);
		assert_int_equal(strlen(wire_get_str(&in, 64)), 0);
		assert_int_equal(wire_end(&in), -EBADMSG);
	}
	wire_out_init(&out, memory, sizeof(memory));
	wire_put_bytes(&out, "a\0b", 3);
	wire_in_init(&in, memory, out.len);
	(void)wire_get_str(&in, 64);
	assert_int_equal(wire_end(&in), -EBADMSG);
	/* no room: the error sticks */
	wire_out_init(&out, memory, 6);
	wire_put_u32(&out, 1);
	wire_put_u32(&out, 2);
	wire_put_u8(&out, 3);
	assert_int_equal(out.error, -EMSGSIZE);
	assert_int_equal(out.len, 4);
	(void)state;
}

static void
wire_carries_descriptors(void **state)
{
	int pair[2], fds[2], in_fds[2], pipe_fds[2];
	uint8_t memory[64];
	struct wire_out out;
	size_t len = 0, n = 0;

	assert_int_equal(fd_pair(pair), 0);
	assert_int_equal(pipe(pipe_fds), 0);
	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, 7);
	fds[0] = pipe_fds[0];
	fds[1] = pipe_fds[1];
	assert_int_equal(wire_send(pair[0], &out, fds, 2), 0);
	assert_int_equal(
	    wire_recv(pair[1], memory, sizeof(memory), &len, in_fds, 2, &n), 0);
	assert_int_equal(len, 4);
	assert_int_equal(n, 2);
	assert_int_equal(fcntl(in_fds[0], F_GETFD), FD_CLOEXEC);
	close(in_fds[0]);
	close(in_fds[1]);
	/* more than we take: refused, and none stays open */
	assert_int_equal(wire_send(pair[0], &out, fds, 2), 0);
	int before = dup(0);
	close(before);
	assert_int_equal(
	    wire_recv(pair[1], memory, sizeof(memory), &len, in_fds, 1, &n), -EBADMSG);
	int after = dup(0);
	close(after);
	assert_int_equal(before, after);
	/* a packet longer than the memory is refused, not cut */
	assert_int_equal(wire_send(pair[0], &out, NULL, 0), 0);
	assert_int_equal(wire_recv(pair[1], memory, 3, &len, NULL, 0, NULL), -EBADMSG);
	close(pair[0]);
	assert_int_equal(
	    wire_recv(pair[1], memory, sizeof(memory), &len, NULL, 0, NULL), -EPIPE);
	close(pair[1]);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	(void)state;
}

/* A peer that failed early leaves our last message unread; its own last words
 * are what tells why. */
static void
wire_hears_last_words(void **state)
{
	uint8_t memory[64];
	struct wire_out out;
	size_t len = 0;
	int pair[2];

	assert_int_equal(fd_pair(pair), 0);
	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, 7);
	assert_int_equal(wire_send(pair[0], &out, NULL, 0), 0);
	assert_int_equal(wire_send(pair[1], &out, NULL, 0), 0);
	close(pair[1]);
	assert_int_equal(
	    wire_recv(pair[0], memory, sizeof(memory), &len, NULL, 0, NULL), 0);
	assert_int_equal(len, 4);
	assert_int_equal(
	    wire_recv(pair[0], memory, sizeof(memory), &len, NULL, 0, NULL), -EPIPE);
	close(pair[0]);
	(void)state;
}

static void
buf_keeps_its_ceiling(void **state)
{
	struct buf b;

	buf_init(&b, 1000);
	for (int i = 0; i < 100; i++)
		assert_int_equal(buf_puts(&b, "0123456789"), 0);
	assert_int_equal(buf_putc(&b, 'x'), -EMSGSIZE);
	assert_int_equal(b.len, 1000);
	buf_drop(&b, 995);
	assert_int_equal(b.len, 5);
	assert_string_equal(buf_str(&b), "56789");
	assert_int_equal(buf_printf(&b, "%s-%d", "a", 7), 0);
	assert_string_equal(buf_str(&b), "56789a-7");
	buf_free(&b);
	(void)state;
}

static void
sealed_memory_stays(void **state)
{
	char *data = NULL;
	size_t len = 0;
	int fd = -1;

	assert_int_equal(fd_sealed("t", "content", 7, false, &fd), 0);
	assert_true(write(fd, "x", 1) < 0);
	assert_true(ftruncate(fd, 3) < 0);
	assert_true(
	    mmap(NULL, 7, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(fd_slurp(fd, 6, &data, &len), -EFBIG);
	assert_null(data);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(fd_slurp(fd, 7, &data, &len), 0);
	assert_string_equal(data, "content");
	free(data);
	fd_close(&fd);
	assert_int_equal(fd, -1);
	(void)state;
}

struct counted {
	int n;
	int slot;
};

static void
on_readable(struct loop *loop, int fd, short revents, void *arg)
{
	struct counted *c = arg;
	char byte;

	assert_true((revents & POLLIN) != 0);
	assert_int_equal(read(fd, &byte, 1), 1);
	if (++c->n == 3)
		loop_stop(loop);
}

static void
on_timer(struct loop *loop, void *arg)
{
	struct counted *c = arg;

	(void)loop;
	loop_events(loop, c->slot, POLLIN);
}

static void
loop_serves(void **state)
{
	struct counted c = {0};
	struct loop loop;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	loop_init(&loop);
	c.slot = loop_add(&loop, fds[0], 0, on_readable, &c);
	assert_true(c.slot >= 0);
	assert_int_equal(write(fds[1], "abc", 3), 3);
	/* not armed: nothing is heard */
	assert_int_equal(loop_once(&loop, 0), 0);
	assert_int_equal(c.n, 0);
	assert_true(loop_timer_at(&loop, loop_now() + 1000000, on_timer, &c) >= 0);
	assert_int_equal(loop_run(&loop), 0);
	assert_int_equal(c.n, 3);
	loop_remove(&loop, c.slot);
	assert_int_equal(loop.watch_n, 0);
	close(fds[0]);
	close(fds[1]);
	(void)state;
}

struct pair {
	int other; /* slot */
	int heard;
};

static void
on_first(struct loop *loop, int fd, short revents, void *arg)
{
	struct pair *p = arg;

	(void)fd, (void)revents;
	loop_events(loop, p->other, POLLRDHUP);
	p->heard++;
}

static void
on_second(struct loop *loop, int fd, short revents, void *arg)
{
	struct pair *p = arg;

	(void)loop, (void)fd, (void)revents;
	p->heard += 10;
}

/* Both are readable in one round; the first no longer wants the second read. */
static void
loop_hears_what_is_armed(void **state)
{
	struct pair p = {0};
	struct loop loop;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "a", 1), 1);
	loop_init(&loop);
	assert_true(loop_add(&loop, fds[0], POLLIN, on_first, &p) >= 0);
	p.other = loop_add(&loop, fds[0], POLLIN, on_second, &p);
	assert_true(p.other >= 0);
	assert_int_equal(loop_once(&loop, 0), 0);
	assert_int_equal(p.heard, 1);
	/* its end is still heard */
	close(fds[1]);
	assert_int_equal(loop_once(&loop, 0), 0);
	assert_int_equal(p.heard, 12);
	close(fds[0]);
	(void)state;
}

/* A loop in memory that was used before, and slots that it never writes. */
static void
loop_needs_no_clear_memory(void **state)
{
	static uint8_t used[sizeof(struct loop)];
	struct loop *loop = (void *)used;
	struct pair p = {0};
	int fds[2];

	memset(used, 0xa5, sizeof(used));
	assert_int_equal(pipe(fds), 0);
	loop_init(loop);
	for (int i = 0; i < 3; i++)
		assert_int_equal(loop_add(loop, fds[0], POLLIN, on_second, &p), i);
	loop_remove(loop, 1);
	assert_int_equal(write(fds[1], "a", 1), 1);
	assert_int_equal(loop_once(loop, 0), 0);
	assert_int_equal(p.heard, 20);
	assert_int_equal(loop_add(loop, fds[0], 0, on_second, &p), 1);
	for (size_t at = sizeof(used) - 4096; at < sizeof(used); at++)
		assert_int_equal(used[at], 0xa5);
	for (int i = 3; i < LOOP_WATCHES; i++)
		assert_int_equal(loop_add(loop, fds[0], 0, on_second, &p), i);
	assert_int_equal(loop_add(loop, fds[0], 0, on_second, &p), -ENOSPC);
	close(fds[0]);
	close(fds[1]);
	(void)state;
}

static void
quotes_foreign_bytes(void **state)
{
	char out[16];

	assert_string_equal(log_quote(out, sizeof(out), "a\033b\n", 4), "a\\x1bb\\x0a");
	/* never half an escape */
	assert_string_equal(log_quote(out, 6, "ab\033", 3), "ab");
	(void)state;
}

/* In a child: what the confined process does; its exit status. */
static int
in_child(int (*body)(void))
{
	pid_t pid = test_fork();
	int status = 0;

	if (pid == 0)
		_exit(body());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* the last four: what a sanitized build wants at its exit */
static const uint16_t few[] = {SYS_write, SYS_exit_group, SYS_getpid, SYS_mmap,
    SYS_munmap, SYS_sigaltstack, SYS_futex};
#define FEW_N (ARRAY_LEN(few))

static int
calls_allowed(void)
{
	if (confine_no_dumps() != 0 || confine_syscalls(few, FEW_N) != 0)
		return 9;
	return syscall(SYS_getpid) > 0 ? 0 : 8;
}

static int
calls_refused(void)
{
	if (confine_syscalls(few, FEW_N) != 0)
		return 9;
	(void)syscall(SYS_getppid);
	return 0;
}

/* Every third number, and the end: is this one let through as the list says? */
static uint16_t thirds[160];
static size_t thirds_n;
static long probe;

static int
calls_probed(void)
{
	if (confine_syscalls(thirds, thirds_n) != 0)
		return 9;
	(void)syscall(probe);
	syscall(SYS_exit_group, 0);
	return 8;
}

static void
confines_by_number(void **state)
{
	static const long harmless[] = {SYS_getpid, SYS_getppid, SYS_gettid, SYS_getuid,
	    SYS_geteuid, SYS_getgid, SYS_getegid, SYS_sched_yield};

	(void)state;
	for (uint16_t third = 0; third < 3; third++) {
		thirds_n = 0;
		/* twice there, and out of order */
		thirds[thirds_n++] = SYS_exit_group;
		for (uint16_t nr = 450 + third; nr >= 3; nr = (uint16_t)(nr - 3))
			thirds[thirds_n++] = nr;
		for (size_t i = 0; i < ARRAY_LEN(harmless); i++) {
			int status;

			probe = harmless[i];
			status = in_child(calls_probed);
			if (probe % 3 == third)
				assert_int_equal(status, 0);
			else
				assert_true(
				    WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
		}
	}
}

static int
paths_refused(void)
{
	struct confine_path may = {open("/usr", O_PATH | O_CLOEXEC), CONFINE_READ};

	if (open("/etc/passwd", O_RDONLY) < 0)
		return 7; /* the control: before, it can be read */
	if (confine_paths(&may, 1) != 0)
		return 9;
	if (open("/usr", O_RDONLY | O_DIRECTORY) < 0)
		return 8;
	return open("/etc/passwd", O_RDONLY) < 0 && errno == EACCES ? 0 : 6;
}

/* Touches this much stack; returns an address in the middle of it. */
static __attribute__((noinline)) uintptr_t
fill_stack(void)
{
	volatile char deep[64 << 10];

	for (size_t i = 0; i < sizeof(deep); i += 512)
		deep[i] = 1;
	return (uintptr_t)__builtin_frame_address(0) - sizeof(deep) / 2;
}

static bool
in_memory(uintptr_t at)
{
	unsigned char there = 0;

	return mincore((void *)(at & ~(uintptr_t)4095), 4096, &there) == 0 &&
	       (there & 1) != 0;
}

#define BLOCKS 64

/* In a child: what a start has used is given back. */
static int
start_dropped(void)
{
	uintptr_t stack = fill_stack(), heap;
	char *block[BLOCKS];

	for (size_t i = 0; i < BLOCKS; i++) {
		block[i] = malloc(8192);
		memset(block[i], 1, 8192);
	}
	heap = (uintptr_t)block[BLOCKS / 2];
	for (size_t i = 0; i < BLOCKS - 1; i++) /* the last one keeps them in the heap */
		free(block[i]);
	if (!in_memory(stack) || !in_memory(heap))
		return 1;
	confine_drop_start();
	if (in_memory(stack))
		return 2;
#ifndef __SANITIZE_ADDRESS__ /* it has a heap of its own */
	if (in_memory(heap))
		return 3;
#endif
	free(block[BLOCKS - 1]);
	return 0;
}

static void
drops_what_a_start_used(void **state)
{
	assert_int_equal(in_child(start_dropped), 0);
	(void)state;
}

static void
confines(void **state)
{
	int status;

	assert_int_equal(in_child(calls_allowed), 0);
	status = in_child(calls_refused);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
	status = in_child(paths_refused);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 9)
		print_message("no Landlock on this kernel: paths not tried\n");
	else
		assert_int_equal(status, 0);
	(void)state;
}

/* A file or nothing may be replaced; a pipe stands for every device. */
static void
closes_other_descriptors(void **state)
{
	int fd[4], keep[4], status;
	pid_t pid;

	for (size_t i = 0; i < ARRAY_LEN(fd); i++)
		assert_true((fd[i] = open("/dev/null", O_RDONLY | O_CLOEXEC)) > 2);
	keep[0] = fd[3]; /* in no order, one twice, one unset */
	keep[1] = -1;
	keep[2] = fd[1];
	keep[3] = fd[3];
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(fd_close_others(keep, ARRAY_LEN(keep)) == 0 &&
			      fcntl(0, F_GETFD) == fcntl(2, F_GETFD) &&
			      fcntl(fd[0], F_GETFD) < 0 && fcntl(fd[1], F_GETFD) >= 0 &&
			      fcntl(fd[2], F_GETFD) < 0 && fcntl(fd[3], F_GETFD) >= 0 &&
			      fcntl(fd[3] + 1, F_GETFD) < 0
			  ? 0
			  : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	for (size_t i = 0; i < ARRAY_LEN(fd); i++)
		fd_close(&fd[i]);
	(void)state;
}

static void
replaces_files_only(void **state)
{
	char folder[] = "/tmp/kennel-base-XXXXXX", name[64];

	(void)state;
	assert_non_null(mkdtemp(folder));
	(void)snprintf(name, sizeof(name), "%s/pipe", folder);
	assert_int_equal(fd_may_replace(name), 0); /* the control: not there yet */
	assert_int_equal(mkfifo(name, 0600), 0);
	assert_int_equal(fd_may_replace(name), -EINVAL);
	assert_int_equal(fd_may_replace(folder), -EINVAL);
	assert_int_equal(fd_may_replace("/dev/null"), -EINVAL);
	assert_int_equal(fd_may_replace("/etc/passwd"), 0);
	assert_int_equal(unlink(name), 0);
	assert_int_equal(rmdir(folder), 0);
}

/* ---- sorting ----------------------------------------------------------------------- */

#define SORT_MAX 1000

static size_t compared;

static int
by_first_byte(const void *a, const void *b)
{
	const uint8_t *x = a, *y = b;

	compared++;
	return (x[0] > y[0]) - (x[0] < y[0]);
}

static int
by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	compared++;
	return (*x > *y) - (*x < *y);
}

/* Elements of each size keep their bytes together; qsort is what both must agree with. */
static void
sorts(void **state)
{
	static const size_t size[] = {1, 3, 4, 24, 64, 100};
	static uint8_t have[SORT_MAX * 100], want[SORT_MAX * 100];

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(size); k++)
		for (size_t n = 0; n < 200; n++) {
			for (size_t i = 0; i < n; i++)
				/* the rest of an element follows from its first byte */
				memset(have + i * size[k], (int)((i * 73 + n * 31) % 251),
				    size[k]);
			memcpy(want, have, n * size[k]);
			sort_in_place(have, n, size[k], by_first_byte);
			qsort(want, n, size[k], by_first_byte);
			assert_memory_equal(have, want, n * size[k]);
		}
}

/* 2 n log2 n comparisons at most, whatever the order before. */
static void
sorts_in_n_log_n(void **state)
{
	static uint32_t v[SORT_MAX];

	(void)state;
	for (int order = 0; order < 4; order++) {
		for (uint32_t i = 0; i < SORT_MAX; i++)
			v[i] = order == 0   ? i
			       : order == 1 ? SORT_MAX - i
			       : order == 2 ? 7
					    : i * 2654435761u;
		compared = 0;
		sort_in_place(v, SORT_MAX, sizeof(v[0]), by_number);
		assert_true(compared <= (size_t)2 * SORT_MAX * 10); /* 2^10 > 1000 */
		for (uint32_t i = 1; i < SORT_MAX; i++)
			assert_true(v[i - 1] <= v[i]);
	}
}

static void
says_how_a_process_ended(void **state)
{
	char text[CAUSE_MAX], little[8];

	(void)state;
	assert_string_equal(
	    cause_text(text, sizeof(text), "p", 3 << 8), "p exited with status 3");
	assert_string_equal(cause_text(text, sizeof(text), "p", SIGKILL),
	    "p was killed by signal 9 (SIGKILL)");
	assert_string_equal(cause_text(text, sizeof(text), "p", SIGSYS | 0x80),
	    "p was killed by signal 31 (SIGSYS: a system call that is not on its "
	    "allow-list)");
	assert_string_equal(cause_text(text, sizeof(text), "p", 40),
	    "p was killed by signal 40 (unnamed)");
	assert_string_equal(cause_text(little, sizeof(little), "kennel", 0), "kennel ");
}

static void
reads_and_writes_hex(void **state)
{
	static const uint8_t bytes[] = {0x00, 0x9a, 0xff};
	char text[7];
	uint8_t back[3];
	int c;

	(void)state;
	assert_string_equal(hex_put(text, bytes, sizeof(bytes)), "009aff");
	assert_true(hex_get(text, 6, back, sizeof(back)));
	assert_memory_equal(back, bytes, sizeof(bytes));
	assert_false(hex_get("009af", 5, back, sizeof(back)));
	assert_false(hex_get("009aff0", 7, back, sizeof(back)));
	assert_false(hex_get("009AFF", 6, back, sizeof(back)));
	assert_false(hex_get("009ag0", 6, back, sizeof(back)));
	assert_true(hex_is("09af", 4, 4));
	assert_false(hex_is("09af", 4, 6));
	assert_false(hex_is("09aF", 4, 4));
	assert_int_equal(hex_span("09afg"), 4);
	for (c = -128; c < 256; c++) {
		const char *at = c > 0 ? strchr("0123456789abcdefABCDEF", c) : NULL;

		assert_int_equal(hex_any(c) >= 0, at != NULL);
		assert_int_equal(hex_lower(c) >= 0, at != NULL && (c < 'A' || c > 'F'));
	}
	assert_int_equal(hex_any('F'), 15);
	assert_int_equal(hex_any('9'), 9);
	assert_int_equal(hex_lower('a'), 10);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(wire_round_trip),
	    cmocka_unit_test(wire_refuses),
	    cmocka_unit_test(wire_carries_descriptors),
	    cmocka_unit_test(wire_hears_last_words),
	    cmocka_unit_test(buf_keeps_its_ceiling),
	    cmocka_unit_test(sealed_memory_stays),
	    cmocka_unit_test(replaces_files_only),
	    cmocka_unit_test(closes_other_descriptors),
	    cmocka_unit_test(loop_serves),
	    cmocka_unit_test(loop_hears_what_is_armed),
	    cmocka_unit_test(loop_needs_no_clear_memory),
	    cmocka_unit_test(quotes_foreign_bytes),
	    cmocka_unit_test(reads_and_writes_hex),
	    cmocka_unit_test(sorts),
	    cmocka_unit_test(sorts_in_n_log_n),
	    cmocka_unit_test(says_how_a_process_ended),
	    cmocka_unit_test(drops_what_a_start_used),
	    cmocka_unit_test(confines),
	    cmocka_unit_test(confines_by_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
