/*
 * The witness: a static program that says from inside what the sandbox really
 * allows.  One verb, one question; each answer is a line "name=value", where
 * the value of an attempt is "ok", the name of an errno or "killed SIGNAL".
 *
 *	witness.c	the table of verbs
 *	tell.c		what this process is: ids, mounts, descriptors, limits
 *	files.c		paths
 *	kernel.c	system calls that nobody in a sandbox needs
 *	space.c		namespaces and mounts
 *	tasks.c		other processes
 *	net.c		sockets
 *	run.c		every way to start a program
 *	race.c		swapping what an exec was judged on
 *	hoard.c		what the kernel counts by user
 */
#ifndef KENNEL_TESTS_WITNESS_WITNESS_H
#define KENNEL_TESTS_WITNESS_WITNESS_H

#include <errno.h>
#include <stddef.h>

struct probe {
	const char *name;
	int (*attempt)(void); /* 0 or -errno; runs in a child of its own */
};

/* Make the attempt in a child, so that death is an answer too; print it. */
void witness_try(const char *name, int (*attempt)(void));
void witness_try_all(const struct probe *, size_t n);
void witness_say(const char *name, int r);
/* -errno after a call that gave -1, else 0; closes nothing. */
static inline int
result(long r)
{
	return r == -1 ? -errno : 0;
}

/* A verb: arguments behind its name; an exit status. */
typedef int verb_fn(int argc, char **argv);
verb_fn verb_ids, verb_mounts, verb_fds, verb_limits, verb_env, verb_argv;
verb_fn verb_read, verb_list, verb_write, verb_create, verb_stat, verb_change;
verb_fn verb_kernel, verb_tty, verb_space, verb_tasks, verb_signal, verb_core;
verb_fn verb_set_limits;
verb_fn verb_sockets, verb_tcp, verb_udp, verb_unix, verb_abstract;
verb_fn verb_run, verb_forms, verb_race, verb_flood, verb_exit, verb_plant, verb_hoard;

#endif
