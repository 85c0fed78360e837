/*
 * The copy of a call's arguments: complete, and each page of the caller is read once,
 * wherever the caller has put it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "leash/exec/private.h"

#define PAGES_FAR 64
#define MEM_LEN   ((size_t)(PAGES_FAR + 1) * CALL_PAGE_LEN)
#define ARGS      40

static unsigned int reads;

ssize_t __real_process_vm_readv(pid_t, const struct iovec *, unsigned long,
    const struct iovec *, unsigned long, unsigned long);
ssize_t __wrap_process_vm_readv(pid_t, const struct iovec *, unsigned long,
    const struct iovec *, unsigned long, unsigned long);

ssize_t
__wrap_process_vm_readv(pid_t pid, const struct iovec *to, unsigned long to_n,
    const struct iovec *from, unsigned long from_n, unsigned long flags)
{
	reads++;
	return __real_process_vm_readv(pid, to, to_n, from, from_n, flags);
}

static void
begin(struct call *c, const void *path, const void *argv, const void *envp)
{
	const struct seccomp_notif n = {.pid = (uint32_t)getpid(),
	    .data = {.nr = SYS_execve,
		.args = {(uintptr_t)path, (uintptr_t)argv, (uintptr_t)envp}}};

	reads = 0;
	call_begin(c, &n);
}

static uint8_t *
pages_new(void)
{
	void *p = mmap(
	    NULL, MEM_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

/* The pointers on one page, the texts on another, at each distance. */
static void
each_page_is_read_once(void **state)
{
	uint8_t *mem = pages_new();
	char **argv = (char **)mem;
	struct call *c;

	(void)state;
	assert_int_equal(call_new(&c), 0);
	for (size_t far = 1; far <= PAGES_FAR; far++) {
		char *text = (char *)mem + far * CALL_PAGE_LEN;

		for (size_t i = 0; i < ARGS; i++) {
			argv[i] = text;
			text += sprintf(text, "argument %zu", i) + 1;
		}
		argv[ARGS] = NULL;
		begin(c, argv[0], argv, &argv[ARGS]);
		assert_int_equal(call_copy_path(c), 0);
		assert_int_equal(call_copy_words(c), 0);
		assert_int_equal(c->argc, ARGS);
		assert_int_equal(c->envc, 0);
		for (size_t i = 0; i < ARGS; i++)
			assert_string_equal(c->argv[i], argv[i]);
		assert_int_equal(reads, 1);
		call_wipe(c);
	}
	call_free(c);
	munmap(mem, MEM_LEN);
}

/* More pages than are kept at one time, and a pointer that crosses two of them. */
static void
many_pages(void **state)
{
	uint8_t *mem = pages_new();
	uint8_t *list = mem + CALL_PAGE_LEN - sizeof(char *) / 2;
	struct call *c;
	size_t n = 0;

	(void)state;
	assert_int_equal(call_new(&c), 0);
	for (size_t page = 2; page <= PAGES_FAR; page++, n++) {
		char *text = (char *)mem + page * CALL_PAGE_LEN;

		sprintf(text, "page %zu", page);
		memcpy(list + n * sizeof(text), &text, sizeof(text));
	}
	begin(c, mem + (size_t)2 * CALL_PAGE_LEN, list, NULL);
	assert_int_equal(call_copy_path(c), 0);
	assert_int_equal(call_copy_words(c), 0);
	assert_int_equal(c->argc, n);
	for (size_t i = 0; i < n; i++)
		assert_string_equal(c->argv[i], mem + (i + 2) * CALL_PAGE_LEN);
	assert_in_range(reads, 1, n + 2 * (n / CALL_PAGES + 1));
	call_wipe(c);
	for (size_t i = 0; i < CALL_PAGES * sizeof(c->page[0]); i++)
		assert_int_equal(((uint8_t *)c->page)[i], 0);
	call_free(c);
	munmap(mem, MEM_LEN);
}

static void
an_unreadable_page(void **state)
{
	uint8_t *mem = pages_new();
	char **argv = (char **)mem;
	struct call *c;

	(void)state;
	assert_int_equal(call_new(&c), 0);
	argv[0] = (char *)mem + CALL_PAGE_LEN - 2;
	memcpy(argv[0], "ab", 2); /* its end is on the next page */
	argv[1] = NULL;
	assert_int_equal(mprotect(mem + CALL_PAGE_LEN, CALL_PAGE_LEN, PROT_NONE), 0);
	begin(c, argv[0], argv, NULL);
	assert_int_equal(call_copy_path(c), -EFAULT);
	assert_string_equal(c->path, "");
	assert_int_equal(call_copy_words(c), -EFAULT);
	call_wipe(c);
	begin(c, mem + CALL_PAGE_LEN, NULL, mem + CALL_PAGE_LEN);
	assert_int_equal(call_copy_path(c), -EFAULT);
	assert_int_equal(call_copy_words(c), -EFAULT);
	call_wipe(c);
	call_free(c);
	munmap(mem, MEM_LEN);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_page_is_read_once),
	    cmocka_unit_test(many_pages),
	    cmocka_unit_test(an_unreadable_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
