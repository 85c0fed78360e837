/*
 * Removes privileges that a kennel process does not need: no dumps, no new
 * privileges, its own seccomp allow-list, and Landlock if available.
 *
 * The allow-lists are collected from notes.  Next to each call that needs a
 * system call there is a note
 *
 *	[slash-star] syscalls: read write [star-slash]
 *
 * and the Makefile collects the notes of a program's sources in
 * build/gen/NAME_syscalls.h (shim/base/collect.sh).
 */
#ifndef KENNEL_SHIM_BASE_CONFINE_H
#define KENNEL_SHIM_BASE_CONFINE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Not dumpable, no core file (RLIMIT_CORE 1: a core handler that is a pipe
 * ignores 0), no new privileges.  0 or -errno; a caller must die if this fails.
 */
int confine_no_dumps(void);
/*
 * Its first part, for a process that must still start a program with privileges
 * of its own (newuidmap); confine_syscalls() then does the second part too.
 */
int confine_core(void);

/*
 * Allows only these system calls, on this architecture; any other kills the
 * process (built with CONFINE_DEBUG: prints its name on stderr first). The
 * filter cannot be removed.  0 or -errno.
 */
int confine_syscalls(const uint16_t *nr, size_t nr_n);

/*
 * Drops what was used only at start: pages of the program's own file, each of which
 * is read again when it is needed, usually from the page cache (they were a third of
 * the memory of a serving process), free memory, and the stack below the caller.  Only the first
 * thread may call it.
 */
void confine_drop_start(void);

/* The access that remains below an open directory or file. */
enum confine_may {
	CONFINE_READ = 1,  /* read files, list directories */
	CONFINE_WRITE = 2, /* create, write, remove; implies no execute */
	CONFINE_EXEC = 4,  /* start programs */
};
struct confine_path {
	int fd; /* O_PATH is enough; not closed */
	unsigned int may;
};

/*
 * Landlock: no file-system access except these paths; no TCP; no signals and no
 * abstract sockets to the outside, if the kernel supports scopes.  Rights that
 * the running kernel does not know are left out.  0; -EOPNOTSUPP without
 * Landlock.
 */
int confine_paths(const struct confine_path *, size_t n);
/* The same with exceptions: CONFINE_NETWORK permits TCP. */
enum { CONFINE_NETWORK = 1 };
int confine_paths_of(const struct confine_path *, size_t n, unsigned int left);

#endif
