/*
 * The words of a call, out of a memory that says anything and is not the same
 * when it is read again.  What was copied must lie in our own copy, end where
 * it says, and keep to the limits.
 *
 * The stranger's memory is made here: process_vm_readv() of this file stands
 * before the library's.  Input: one byte of flags; two bytes each which pages
 * are absent, where the path, the arguments and the environment begin, and how
 * many pointers follow; the pointers, two bytes each (0: NULL, else an offset
 * into the memory); then the text behind them.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "leash/exec/private.h"
#include "tests/fuzz/fuzz.h"

#define BASE      0x7f0000000000ull
#define PAGES     16
#define CHANGES   1 /* flags: each read finds another byte changed */
#define NEAR_END  2 /* the memory ends where addresses end */
#define LONG_LIST 4 /* the pointers go on and on */

static struct {
	uint8_t data[PAGES * CALL_PAGE_LEN];
	uint64_t base;
	unsigned int absent, flags, reads;
} memory;

/* One page; false where none is. */
static bool
read_page(uint8_t *to, uint64_t at)
{
	uint64_t page = (at - memory.base) / CALL_PAGE_LEN;

	memory.reads++;
	if (at < memory.base || page >= PAGES || (memory.absent >> page & 1) != 0)
		return false;
	memcpy(to, memory.data + page * CALL_PAGE_LEN, CALL_PAGE_LEN);
	if ((memory.flags & CHANGES) != 0)
		memory.data[page * CALL_PAGE_LEN + memory.reads * 8 % CALL_PAGE_LEN] ^=
		    (uint8_t)memory.reads;
	return true;
}

/* As the kernel does: it stops at the first that is not there. */
ssize_t
process_vm_readv(pid_t pid, const struct iovec *to, unsigned long to_n,
    const struct iovec *from, unsigned long from_n, unsigned long flags)
{
	ssize_t got = 0;

	(void)pid;
	if (to_n != from_n || flags != 0)
		abort();
	for (unsigned long i = 0; i < to_n; i++) {
		uint64_t at = (uint64_t)(uintptr_t)from[i].iov_base;

		if (to[i].iov_len != CALL_PAGE_LEN || from[i].iov_len != CALL_PAGE_LEN ||
		    at % CALL_PAGE_LEN != 0)
			abort();
		if (!read_page(to[i].iov_base, at))
			break;
		got += CALL_PAGE_LEN;
	}
	if (got > 0 || to_n == 0)
		return got;
	errno = EFAULT;
	return -1;
}

static uint16_t
take(const uint8_t **p, const uint8_t *end)
{
	uint16_t v;

	if (end - *p < 2)
		return 0;
	v = (uint16_t)((*p)[0] | (*p)[1] << 8);
	*p += 2;
	return v;
}

/* The pointers, then the text. */
static void
fill(const uint8_t *p, const uint8_t *end, size_t n)
{
	size_t at = 0, len;

	for (size_t i = 0; i < n && at + 8 <= sizeof(memory.data); i++) {
		uint16_t offset = take(&p, end);
		uint64_t word = offset == 0 ? 0 : memory.base + offset;

		memcpy(memory.data + at, &word, sizeof(word));
		at += sizeof(word);
	}
	len = (size_t)(end - p);
	if (len > sizeof(memory.data) - at)
		len = sizeof(memory.data) - at;
	memcpy(memory.data + at, p, len);
	if ((memory.flags & LONG_LIST) == 0 || at == 0)
		return;
	for (size_t i = at; i + 8 <= sizeof(memory.data); i += 8)
		memcpy(memory.data + i, memory.data + i - at, 8);
}

static void
words_hold(const struct call *c, const char *const *v, size_t n, size_t from, size_t to)
{
	size_t at = from;

	if (n > GATE_ARGS_MAX || v[n] != NULL)
		abort();
	for (size_t i = 0; i < n; i++) {
		if (v[i] != c->text + at)
			abort();
		at += strlen(v[i]) + 1;
	}
	if (at != to)
		abort();
}

static void
copied(struct call *c)
{
	int r = call_copy_path(c);

	if (memchr(c->path, '\0', sizeof(c->path)) == NULL ||
	    (r < 0 && c->path[0] != '\0'))
		abort();
	r = call_copy_words(c);
	if (c->argv_len > c->text_len || c->text_len > sizeof(c->text))
		abort();
	if (r == 0) {
		words_hold(c, c->argv, c->argc, 0, c->argv_len);
		words_hold(c, c->envp, c->envc, c->argv_len, c->text_len);
	} else if (r != -EFAULT && r != -E2BIG) {
		abort();
	}
	call_wipe(c);
	if (c->text[0] != '\0' || memcmp(c->text, c->text + 1, sizeof(c->text) - 1) != 0)
		abort(); /* an environment holds secrets */
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const uint8_t *p = data + 1, *end = data + len;
	static struct call *c;
	struct seccomp_notif n = {.pid = 1, .data.nr = 59};
	size_t pointers;

	if (len < 11 || (c == NULL && call_new(&c) < 0))
		return 0;
	memset(&memory, 0, sizeof(memory));
	memory.flags = data[0];
	memory.base = (memory.flags & NEAR_END) != 0
			  ? (uint64_t)0 - PAGES * (uint64_t)CALL_PAGE_LEN
			  : BASE;
	memory.absent = take(&p, end);
	for (int i = 0; i < 3; i++) {
		uint16_t offset = take(&p, end);

		n.data.args[i] = offset == 0 ? 0 : memory.base + offset;
	}
	pointers = take(&p, end) % 8192;
	fill(p, end, pointers);
	call_begin(c, &n);
	copied(c);
	return 0;
}
