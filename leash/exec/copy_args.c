/*
 * Copies the arguments of a call, once.
 *
 * Process: the leash.  Reads untrusted memory, page by page, into its own; never
 * reads anything twice for one decision.  Trusts neither the lengths nor the
 * terminators in it.  Must never keep a copy: an environment contains secrets.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "leash/exec/private.h"
#include "shim/base/array.h"

#define CALL_FETCH_MAX 3 /* pages per system call */
#define PAGE_UNREAD    1 /* no page has this address: failures are not cached */

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define NATIVE_ARCH AUDIT_ARCH_RISCV64
#endif

int
call_new(struct call **ret)
{
	/* early: mmap madvise mlock2; syscalls: munmap */
	void *p = mmap(NULL, sizeof(struct call), PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -ENOMEM;
	if (madvise(p, sizeof(struct call), MADV_DONTDUMP) < 0 ||
	    madvise(p, sizeof(struct call), MADV_DONTFORK) < 0) {
		munmap(p, sizeof(struct call));
		return -EPERM;
	}
	/* The contents are wiped within the same call.  That must do if the vault has
	 * used up the limit on locked memory. */
	(void)mlock2(p, sizeof(struct call), MLOCK_ONFAULT);
	*ret = p;
	return 0;
}

void
call_free(struct call *c)
{
	if (c)
		munmap(c, sizeof(*c));
}

void
call_begin(struct call *c, const struct seccomp_notif *n)
{
	const uint64_t *arg = (const uint64_t *)n->data.args;
	bool at = n->data.nr == SYS_execveat;

	c->id = n->id;
	c->tid = (pid_t)n->pid;
	c->dirfd = at ? (int)arg[0] : AT_FDCWD;
	c->flags = at ? (unsigned int)arg[4] : 0;
	c->path_at = arg[at ? 1 : 0];
	c->argv_at = arg[at ? 2 : 1];
	c->envp_at = arg[at ? 3 : 2];
	c->argc = c->envc = c->argv_len = c->text_len = 0;
	c->caller = SEALED_NONE;
	c->chain.n = 0;
	c->path[0] = '\0';
}

static struct call_page *
page_known(struct call *c, uint64_t base)
{
	for (size_t i = 0; i < c->page_n; i++)
		if (c->page[i].at == base)
			return &c->page[i];
	return NULL;
}

/* A free page, else the oldest. */
static struct call_page *
page_take(struct call *c)
{
	struct call_page *page = &c->page[c->page_next++ % CALL_PAGES];

	if (c->page_n < CALL_PAGES)
		c->page_n++;
	page->at = PAGE_UNREAD;
	return page;
}

/* Our copy of the page that contains this address.  Whole pages, because a readable
 * page is then readable in full. */
static const uint8_t *
page_at(struct call *c, uint64_t at)
{
	uint64_t base = at & ~(uint64_t)(CALL_PAGE_LEN - 1);
	struct call_page *page = page_known(c, base);
	struct iovec to = {.iov_len = CALL_PAGE_LEN};
	struct iovec from = {
	    .iov_base = (void *)(uintptr_t)base, .iov_len = CALL_PAGE_LEN};

	if (page == NULL) {
		page = page_take(c);
		to.iov_base = page->data;
		/* syscalls: process_vm_readv */
		if (process_vm_readv(c->tid, &to, 1, &from, 1, 0) != CALL_PAGE_LEN)
			return NULL;
		page->at = base;
	}
	return page->data + (at - base);
}

/*
 * Prefetches pages in one system call.  It stops at the first unreadable page;
 * page_at() fetches the others one by one.
 */
static void
pages_fetch(struct call *c, const uint64_t *at, size_t n)
{
	struct iovec to[CALL_FETCH_MAX], from[CALL_FETCH_MAX];
	struct call_page *page[CALL_FETCH_MAX];
	size_t page_n = 0;
	ssize_t got;

	for (size_t i = 0; i < n && page_n < CALL_FETCH_MAX; i++) {
		uint64_t base = at[i] & ~(uint64_t)(CALL_PAGE_LEN - 1);

		if (base == 0 || page_known(c, base) != NULL)
			continue;
		page[page_n] = page_take(c);
		page[page_n]->at = base;
		to[page_n] = (struct iovec){
		    .iov_base = page[page_n]->data, .iov_len = CALL_PAGE_LEN};
		from[page_n++] = (struct iovec){
		    .iov_base = (void *)(uintptr_t)base, .iov_len = CALL_PAGE_LEN};
	}
	got = process_vm_readv(c->tid, to, page_n, from, page_n, 0);
	for (size_t i = 0; i < page_n; i++, got -= CALL_PAGE_LEN)
		if (got < CALL_PAGE_LEN)
			page[i]->at = PAGE_UNREAD;
}

/* Copies a string with its NUL; -E2BIG if it does not fit.  A failed copy leaves
 * nothing: call_wipe() knows complete strings only. */
static int
copy_string(struct call *c, uint64_t at, char *to, size_t cap, size_t *ret_len)
{
	const uint8_t *end = NULL;
	size_t len = 0;
	int r = 0;

	while (!end) {
		const uint8_t *p = page_at(c, at + len);
		size_t n = CALL_PAGE_LEN - (at + len) % CALL_PAGE_LEN;

		if (!p) {
			r = -EFAULT;
			goto out;
		}
		end = memchr(p, '\0', n);
		if (end)
			n = (size_t)(end - p) + 1;
		if (n > cap - len) {
			r = -E2BIG;
			goto out;
		}
		memcpy(to + len, p, n);
		len += n;
	}
	*ret_len = len;
out:
	if (r < 0)
		explicit_bzero(to, len);
	return r;
}

int
call_copy_u64(struct call *c, uint64_t at, uint64_t *ret)
{
	uint8_t b[sizeof(*ret)];
	size_t n;

	for (size_t i = 0; i < sizeof(b); i += n) {
		const uint8_t *p = page_at(c, at + i);

		if (!p)
			return -EFAULT;
		n = CALL_PAGE_LEN - (at + i) % CALL_PAGE_LEN;
		if (n > sizeof(b) - i)
			n = sizeof(b) - i;
		memcpy(b + i, p, n);
	}
	memcpy(ret, b, sizeof(b));
	return 0;
}

static int
copy_list(struct call *c, uint64_t at, const char **v, size_t *ret_n)
{
	size_t n = 0;
	int r;

	for (; at; n++) {
		uint64_t word = 0;
		size_t len;

		r = call_copy_u64(c, at + n * sizeof(word), &word);
		if (r < 0)
			return r;
		if (!word)
			break;
		if (n == GATE_ARGS_MAX)
			return -E2BIG;
		r = copy_string(
		    c, word, c->text + c->text_len, sizeof(c->text) - c->text_len, &len);
		if (r < 0)
			return r;
		v[n] = c->text + c->text_len;
		c->text_len += len;
	}
	v[n] = NULL;
	*ret_n = n;
	return 0;
}

int
call_copy_path(struct call *c)
{
	const uint64_t wanted[] = {c->path_at, c->argv_at, c->envp_at};
	size_t len;
	int r;

	pages_fetch(c, wanted, ARRAY_LEN(wanted));
	r = copy_string(c, c->path_at, c->path, sizeof(c->path), &len);
	if (r < 0)
		c->path[0] = '\0';
	return r == -E2BIG ? -ENAMETOOLONG : r;
}

int
call_copy_words(struct call *c)
{
	int r = copy_list(c, c->argv_at, c->argv, &c->argc);

	c->argv_len = c->text_len;
	if (r == 0)
		r = copy_list(c, c->envp_at, c->envp, &c->envc);
	return r;
}

/*
 * At the exec stop the new stack is as the kernel made it: argc, argv, NULL, envp,
 * NULL.  The program will see exactly this, and reading it costs a tenth of opening
 * /proc/PID/cmdline and environ.
 */
int
call_read_process(struct call *c, pid_t pid)
{
	struct __ptrace_syscall_info info = {.arch = 0};
	uint64_t argc, sp, wanted[2];
	int r;

	c->tid = pid;
	c->argv_len = c->text_len = 0;
	/* syscalls: ptrace */
	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof(info), &info) < 0)
		return -errno;
	if (info.arch != NATIVE_ARCH)
		return -ENOEXEC; /* unexpected layout */
	sp = info.stack_pointer;
	wanted[0] = sp;
	wanted[1] = sp + CALL_PAGE_LEN; /* a small environment ends within these pages */
	pages_fetch(c, wanted, ARRAY_LEN(wanted));
	r = call_copy_u64(c, sp, &argc);
	if (r == 0)
		r = copy_list(c, sp + sizeof(argc), c->argv, &c->argc);
	c->argv_len = c->text_len;
	if (r == 0 && c->argc != argc)
		r = -EBADMSG;
	if (r == 0)
		r = copy_list(c, sp + (c->argc + 2) * sizeof(argc), c->envp, &c->envc);
	return r;
}

void
call_wipe(struct call *c)
{
	explicit_bzero(c->text, c->text_len);
	c->text_len = c->argv_len = c->argc = c->envc = 0;
	explicit_bzero(c->page, c->page_n * sizeof(c->page[0]));
	c->page_n = c->page_next = 0;
}
