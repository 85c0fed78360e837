/*
 * From text to sealed bytes (compile.c), and what the check of a text asks of the host
 * (read_file.c, venv.c).
 */
#ifndef KENNEL_POLICY_COMPILE_COMPILE_H
#define KENNEL_POLICY_COMPILE_COMPILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "policy/base/source.h"
#include "shim/base/buf.h"

struct policy;

/*
 * Reads real files (read_file.c): regular files that are not world-writable
 * (-EPERM), by the rules of shim/host/path_resolve.h (-ELOOP, -EXDEV).
 */
extern const struct policy_reader policy_files;
/* The same for "kennel server pin", which makes the pins file. */
extern const struct policy_reader policy_files_unpinned;

/*
 * Compiles every server of these sources (only: this one server, or NULL) into
 * out.  All diagnostics go to diag, as "file:line:col: error: ..." with the
 * line and a caret.  Returns 0; -EINVAL if there was an error, and then out is
 * untouched; -ENOMEM. Reads the file system to find what the granted programs
 * need.
 */
int policy_compile(const struct policy_source *, size_t source_n, const char *only,
    struct buf *out, FILE *diag);
struct policy_counts {
	size_t servers, errors, warnings; /* servers: 0 after an error */
	size_t unchecked;                 /* `expect` lines that were not run */
	bool unread; /* its errors ended the check before every warning was looked for */
};
/*
 * Like policy_compile. out stays empty also if this machine lacks something, or if there
 * is no server. What only this machine lacks (a program, a library) is a warning, because
 * the policy may be for another one: the `expect` lines are run, except for those whose
 * answer depends on what is missing (ret->unchecked). A file may also have no server, for
 * others to include.
 */
int policy_check(const struct policy_source *, size_t source_n, struct buf *out,
    FILE *diag, struct policy_counts *ret);
/*
 * Like policy_check, as one JSON document: code, file, line, column and message
 * of each error and warning.
 */
int policy_check_json(
    const struct policy_source *, size_t source_n, FILE *, struct policy_counts *ret);

enum policy_defines { DEFINES_NO, DEFINES_YES, DEFINES_MAYBE };
/*
 * Does this text, with the files that it includes, define a server of this name?
 * Parses it only. DEFINES_MAYBE: it has an error, and contains the name. 0 or -ENOMEM.
 */
int policy_defines(
    const struct policy_source *, const char *name, enum policy_defines *ret);

/*
 * Calls fn for each server that this text, with its includes, defines. Parses it only; a
 * text with errors has the servers that were recognized. 0 or -ENOMEM.
 */
struct policy_name {
	const char *name, *about; /* about "": none */
	const char *path;         /* of the file; NULL: the caller knows it */
	/* of the server in it, or of the `include` that adds it; 0: it is sealed */
	uint32_t line;
};
typedef void policy_name_fn(void *arg, const struct policy_name *);
int policy_names(const struct policy_source *, policy_name_fn *fn, void *arg);
/*
 * peek.c: the same for the sealed file at fd (descriptions are cut at 1,024 bytes), without
 * checking the rest. 0; -EBADMSG; -errno. The file may be hostile: the texts are any bytes.
 */
int policy_peek(int fd, policy_name_fn *fn, void *arg);

/* compile.c: the server of a policy that was probably meant by this name; NULL: none. */
const char *policy_near_server(const struct policy *, const char *name);

/*
 * venv.c: is this the interpreter of a Python virtual environment, named by its
 * link?  Then a policy may name the link.
 */
bool venv_has(const char *path);

/*
 * The first thing that the contents of a file need and no line grants
 * (content_path.c).  1: in *ret; 0: nothing, the text compiles; -EINVAL: it has
 * other errors; -ENOMEM.
 */
struct policy_need {
	bool start;          /* `exec allow PATH`; else `read PATH` */
	char path[PATH_MAX]; /* canonical */
};
int policy_need(const struct policy_source *, struct policy_need *ret);

/*
 * Receives one compiled server.  A result other than 0 ends the run, and
 * compile_each returns it.
 */
typedef int compile_fn(const char *server, const struct buf *, void *arg);
/*
 * Like policy_compile, but compiles each server separately and passes them to
 * fn in source order.  All are compiled before the first is passed.
 */
int compile_each(
    const struct policy_source *source, size_t n, compile_fn *fn, void *arg, FILE *diag);

#endif
