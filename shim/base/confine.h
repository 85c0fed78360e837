/*
 * How a kennel process gives up what it does not need: no dumps, no new
 * privileges, its own seccomp allow-list, and Landlock where it may.
 *
 * The allow-lists are not written here.  Beside each call that needs one
 * stands a note
 *
 *	[slash-star] syscalls: read write [star-slash]
 *
 * and the Makefile collects the notes of a program's own sources into
 * build/gen/NAME_syscalls.h (shim/base/collect.sh).
 */
#ifndef KENNEL_BASE_CONFINE_H
#define KENNEL_BASE_CONFINE_H

#include <stddef.h>
#include <stdint.h>

/* Not dumpable, no core by file (RLIMIT_CORE 1: a piped core handler ignores
 * 0), no new privileges.  0 or -errno; a caller that fails here must die. */
int confine_no_dumps(void);
/* Its first half, for who has yet to start a program with powers of its own
 * (newuidmap); confine_syscalls() is the second one too. */
int confine_core(void);

/*
 * Only these system calls, on this architecture; anything else kills the
 * process (built with CONFINE_DEBUG: names the call on stderr first).
 * The filter stays for ever.  0 or -errno.
 */
int confine_syscalls(const uint16_t *nr, size_t nr_n);

/*
 * Forget the pages of the program's own file that the start has read: each is
 * read again, from memory as a rule, when it is needed.  A third of a process
 * that serves was what it never calls again.
 */
void confine_drop_start(void);

/* May: what stays possible below an open directory or file. */
enum confine_may {
	CONFINE_READ = 1,  /* read files, list folders */
	CONFINE_WRITE = 2, /* create, write, remove; implies no execute */
	CONFINE_EXEC = 4,  /* start programs */
};
struct confine_path {
	int fd; /* O_PATH will do; not closed */
	unsigned int may;
};

/*
 * Landlock: nothing in the file system but these; no TCP at all; no signal and
 * no abstract socket to the outside where the kernel knows scopes.  Rights the
 * running kernel does not know are left out.  0; -EOPNOTSUPP without Landlock.
 */
int confine_paths(const struct confine_path *, size_t n);
/* The same, with what stays open: CONFINE_NETWORK is TCP. */
enum { CONFINE_NETWORK = 1 };
int confine_paths_of(const struct confine_path *, size_t n, unsigned int left);

#endif
