/*
 * What a server wanted while it was learned: files, programs, hosts.  Filled from the
 * messages of its leash, whose text is the server's: bounded, and printed only by
 * policy_text.c, which escapes it.
 */
#ifndef KENNEL_SUPERVISOR_LEARN_SEEN_H
#define KENNEL_SUPERVISOR_LEARN_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/launch/leash_client.h"

#define SEEN_FILES_MAX 32768
#define SEEN_EXECS_MAX 1024
#define SEEN_HOSTS_MAX 256
#define SEEN_TEXT_MAX  (16u << 20) /* bytes of all paths, names and arguments */

/* What the host has at a path that the server named. */
enum seen_is { SEEN_NOTHING, SEEN_FILE, SEEN_DIR, SEEN_LINK, SEEN_UNKNOWN };

struct seen_file {
	const char *path;    /* absolute, without "." and ".." */
	const char *program; /* that named it first, or "" */
	uint32_t uses;       /* 1 << enum leash_named */
	enum seen_is is;     /* seen_look */
	uint32_t root; /* the learning cell's grant that it is below, or SEEN_NO_ROOT */
};
#define SEEN_NO_ROOT UINT32_MAX

struct seen_exec {
	const char *program; /* as the server named it */
	const char *caller;  /* or "" */
	const char *reason;  /* of the refusal, or "" */
	bool allowed, cut;   /* cut: not all arguments are there */
	size_t argc;
	const char *const *argv;
};

struct seen_host {
	const char *name;
	uint32_t port; /* 0: only looked up */
};

struct seen {
	struct seen_file *file; /* by path, once each */
	struct seen_exec *exec;
	struct seen_host *host;
	size_t file_n, exec_n, host_n;
	size_t left_out; /* for lack of room */
	/* of seen.c */
	size_t text_len;
	struct seen_text *text;
	uint32_t *slot;
};

/* 0 or -ENOMEM. */
int seen_new(struct seen *);
void seen_free(struct seen *);
/* Adds what a JUDGED, UNREACHED or NAMED message reports. */
void seen_add(struct seen *, const struct child_news *);
/* Forgets the programs and hosts that were refused, before another round. */
void seen_forget_refused(struct seen *);
/* Looks at each path on this machine that may be looked at: sets `is`; of the others it is
 * SEEN_UNKNOWN.  The server chose them, and a look can mount, wait or wake what is there. */
void seen_look(struct seen *, bool (*may)(void *arg, const char *path), void *arg);

#endif
