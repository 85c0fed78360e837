/*
 * The two policies of kennel learn: that of the learning cell, and the one that is drafted
 * from what the server wanted in it.
 */
#ifndef KENNEL_SUPERVISOR_LEARN_LEARNED_POLICY_H
#define KENNEL_SUPERVISOR_LEARN_LEARNED_POLICY_H

#include "supervisor/draft/draft.h"
#include "supervisor/learn/policy_text.h"
#include "supervisor/learn/seen.h"

#define LEARN_ROOTS_MAX    40
#define LEARN_PROGRAMS_MAX 64
#define LEARN_HOSTS_MAX    64
#define LEARN_HIDDEN_MAX   512

/* A directory or file that the learning cell grants. */
struct learn_root {
	char path[PATH_MAX];
	bool write;
	bool whole; /* the code of a package: its files vary, and it is granted whole */
};

struct learn {
	const struct draft *d;
	const char *home; /* of the user, or "" */
	struct learn_root root[LEARN_ROOTS_MAX];
	size_t root_n;
	char hidden[LEARN_HIDDEN_MAX][PATH_MAX]; /* credentials below them, that exist */
	size_t hidden_n;
	size_t cell_hidden_n; /* of these, from the start: the learning cell hides them */
	const char *program[LEARN_PROGRAMS_MAX]; /* that the learning cell grants */
	size_t program_n;
	struct seen_host host[LEARN_HOSTS_MAX]; /* the same; with a port */
	bool guess[LEARN_HOSTS_MAX]; /* the port is that of HTTPS, none is known */
	bool named[LEARN_HOSTS_MAX]; /* by a person, not by the server */
	size_t host_n;
	bool asks; /* the server has secrets: a host that it chose needs a yes first */
	struct seen seen;
	/* Does every cell of this server see it, without a grant? */
	bool (*sees)(void *arg, const char *path);
	void *sees_arg;
};

/* The policy of the learning cell: 0 or -errno. */
int learn_cell_put(const struct learn *, FILE *);
/* The drafted policy, up to its tools, and the files that the cell lacked.  The
 * facts have been looked at, and have their roots.  trial: to be tried at once, with
 * placeholders, and without questions. */
int learn_policy_put(const struct learn *, bool trial, FILE *);

#endif
