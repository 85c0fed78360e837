/*
 * Why a server ended before it answered anything: how it ended, its last lines, and the
 * grants that it may lack.
 *
 * Process: kennel. Holds nothing. Trusts none of the server's text, which the leash has
 * redacted and made printable. A server could name a file that it wants to be granted,
 * so a line about such a file says that the server named it, no line is about a private
 * file (a name with a leading dot), and the server never learns the result.
 */
#include "supervisor/launch/failed_start.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/sealed/lib_dirs.h"
#include "shim/base/log.h"
#include "shim/base/array.h"
#include "shim/base/cause.h"

#define LINES_SHOWN     5
#define LINES_LEN_MAX   1024 /* of the lines together */
#define GRANTS_MAX      3
#define PATH_SHOWN_MAX  256 /* a longer path gets no line */
#define PYTHON_MINOR_LO 8   /* the versions of python3 that are looked for */
#define PYTHON_MINOR_HI 20

struct put {
	const struct failed_start *failed;
	struct buf *out;
	char granted[GRANTS_MAX][PATH_SHOWN_MAX]; /* named in an earlier line */
	size_t n;
	int error;
};

/* ---- the last lines ---------------------------------------------------------- */

/* A line that helps a reader: neither empty, nor a bracket, nor part of a trace. */
static bool
is_telling(const char *line, size_t len)
{
	while (len > 0 && *line == ' ')
		line++, len--;
	return len > 1 && strncmp(line, "at ", 3) != 0;
}

/* Where the last LINES_SHOWN telling lines begin. */
static const char *
last_lines(const char *text)
{
	const char *end = text + strlen(text), *at = end, *from = end;
	int lines = 0;

	while (at > text && lines < LINES_SHOWN && end - at < LINES_LEN_MAX) {
		const char *line = at - 1;

		while (line > text && line[-1] != '\n')
			line--;
		if (end - line > LINES_LEN_MAX)
			break;
		if (is_telling(line, strcspn(line, "\n"))) {
			lines++;
			from = line;
		}
		at = line;
	}
	return from;
}

static void
put_lines(struct put *p)
{
	const char *text = last_lines(p->failed->last);

	while (p->error == 0 && *text != '\0') {
		size_t n = strcspn(text, "\n");

		if (is_telling(text, n))
			p->error = buf_printf(p->out, "\n  %.*s", (int)n, text);
		text += n + (text[n] == '\n');
	}
}

/* ---- what the server may lack -------------------------------------------------- */

static bool
is_path_byte(char c)
{
	return isalnum((unsigned char)c) || (c != '\0' && strchr("/._-+@~", c) != NULL);
}

/* The next absolute path in the text; *at moves past it. */
static bool
next_path(const char **at, char path[PATH_MAX])
{
	for (const char *p = *at; *p != '\0'; p++) {
		size_t n = 0;

		if (*p != '/' || (p > *at && is_path_byte(p[-1])))
			continue;
		while (is_path_byte(p[n]))
			n++;
		*at = p + n;
		while (n > 1 && (p[n - 1] == '.' || p[n - 1] == '/'))
			n--; /* the end of a sentence */
		if (n > 1 && n < PATH_MAX) {
			memcpy(path, p, n);
			path[n] = '\0';
			return true;
		}
		p = *at - 1;
	}
	return false;
}

static bool
is_private(const char *path)
{
	return strstr(path, "/.") != NULL || strncmp(path, "/proc/", 6) == 0 ||
	       strncmp(path, "/sys/", 5) == 0 || strncmp(path, "/dev/", 5) == 0;
}

static bool
is_granted(const struct failed_start *f, const char *path)
{
	return policy_match_path(f->policy, f->server, path, RIGHT_READ).verdict ==
		   VERDICT_ALLOW ||
	       policy_match_path(f->policy, f->server, path, RIGHT_START).verdict ==
		   VERDICT_ALLOW;
}

/* The user can read it, and the server cannot. */
static bool
is_missed(const struct put *p, const char *path)
{
	char real[PATH_MAX];

	/* syscalls: faccessat faccessat2 readlink */
	return !is_granted(p->failed, path) && access(path, R_OK) == 0 &&
	       realpath(path, real) != NULL && !is_granted(p->failed, real);
}

static bool
is_program(const char *path)
{
	struct stat st;

	/* syscalls: newfstatat faccessat faccessat2 */
	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* One line for this path, unless there is one already. */
static void
put_grant(struct put *p, const char *path, bool program)
{
	for (size_t i = 0; i < p->n; i++)
		if (strcmp(p->granted[i], path) == 0)
			return;
	if (p->error != 0 || p->n == GRANTS_MAX || strlen(path) >= PATH_SHOWN_MAX)
		return;
	memcpy(p->granted[p->n++], path, strlen(path) + 1);
	if (strncmp(path, "/dev/pt", 7) == 0) /* /dev/ptmx, /dev/pts: not of the host */
		p->error = buf_printf(p->out,
		    "\nthe server names %s; to grant it pseudo-terminals of its own, add "
		    "`tty`",
		    path);
	else
		p->error = buf_printf(p->out,
		    "\nthe server names %s, which is not granted; to grant it, add `%s "
		    "%s%s`",
		    path, program ? "exec allow" : "read", path, program ? " **" : "");
}

/* Grants the directory if it contains the file. */
static bool
put_if_in(struct put *p, const char *dir, const char *name)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%s", dir, name);

	if (n < 0 || (size_t)n >= sizeof(path) || !is_missed(p, path))
		return false;
	put_grant(p, dir, false);
	return true;
}

/* In the node_modules directories above each file that the text names, as Node.js
 * does. https://nodejs.org/api/modules.html */
static void
node_module(struct put *p, const char *name)
{
	static const char modules[] = "/node_modules";
	const char *at = p->failed->last;
	char dir[PATH_MAX], *end;

	while (next_path(&at, dir))
		while ((end = strrchr(dir, '/')) != NULL) {
			*end = '\0';
			if ((size_t)(end - dir) + sizeof(modules) > sizeof(dir))
				continue;
			memcpy(end, modules, sizeof(modules));
			if (put_if_in(p, dir, name))
				return;
			*end = '\0';
		}
}

/* Where Debian's python3(1) and `pip install --user` put modules. */
static void
python_module(struct put *p, const char *name)
{
	const char *home = getenv("HOME");
	char dir[PATH_MAX];

	if (put_if_in(p, "/usr/lib/python3/dist-packages", name) || home == NULL)
		return;
	for (int minor = PYTHON_MINOR_LO; minor <= PYTHON_MINOR_HI; minor++) {
		int n = snprintf(dir, sizeof(dir),
		    "%s/.local/lib/python3.%d/site-packages", home, minor);

		if (n > 0 && (size_t)n < sizeof(dir) && put_if_in(p, dir, name))
			return;
	}
}

static void
shared_library(struct put *p, const char *name)
{
	static const char *const lib_dir[] = {LIB_DIRS};
	char path[PATH_MAX];

	for (size_t i = 0; i < ARRAY_LEN(lib_dir); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", lib_dir[i], name);
		if (is_missed(p, path)) {
			put_grant(p, path, false);
			return;
		}
	}
}

/* Where the user's shell would find it. */
static void
program(struct put *p, const char *name)
{
	const char *dirs = getenv("PATH"), *end;
	char path[PATH_MAX];

	for (; dirs != NULL && *dirs != '\0'; dirs = end + (*end == ':')) {
		int n;

		end = dirs + strcspn(dirs, ":");
		n = snprintf(
		    path, sizeof(path), "%.*s/%s", (int)(end - dirs), dirs, name);
		if (dirs[0] != '/' || n < 0 || (size_t)n >= sizeof(path) ||
		    !is_program(path))
			continue;
		if (is_missed(p, path))
			put_grant(p, path, true);
		return;
	}
}

/* A file that the server could not load, in the texts of Node.js, Python and glibc; a program
 * that it did not find, in those of shells, of env(1), Python and Node.js: exec gave ENOENT,
 * because it is not in the cell, so nothing was refused. */
static const struct missing {
	const char *before, *after; /* at least one is not empty */
	void (*find)(struct put *, const char *name);
} missing[] = {
    {"Cannot find module '", "", node_module},
    {"Cannot find package '", "", node_module},
    {"No module named '", "", python_module},
    {"", ": cannot open shared object file", shared_library},
    {"", ": not found", program},
    {"", ": command not found", program},
    {"env: \xe2\x80\x98", "", program},
    {"env: '", "", program},
    {"No such file or directory: '", "", program},
    {"spawn ", " ENOENT", program},
};

/* The name at the mark: a relative one of at most NAME_MAX bytes, without "..". */
static bool
name_at(const struct missing *m, const char *text, const char *mark, char name[NAME_MAX])
{
	const char *from = mark + strlen(m->before);
	size_t n = 0;

	if (m->before[0] == '\0')
		while (from > text && is_path_byte(from[-1]))
			from--;
	while (n < NAME_MAX - 1 && is_path_byte(from[n]))
		n++;
	memcpy(name, from, n);
	name[n] = '\0';
	if (m->before[0] != '\0' && strncmp(from + n, m->after, strlen(m->after)) != 0)
		return false;
	return n > 0 && from[0] != '/' && from[0] != '.' && !is_path_byte(from[n]) &&
	       strstr(name, "..") == NULL;
}

/* A file that Node.js could not load is read, also if it is executable; its package
 * needs the others in node_modules. */
static void
put_named(struct put *p, char path[PATH_MAX])
{
	static const char modules[] = "/node_modules";
	char mark[PATH_MAX + 32], *at = strstr(path, "/node_modules/");

	(void)snprintf(mark, sizeof(mark), "Cannot find module '%s'", path);
	if (strstr(p->failed->last, mark) == NULL) {
		put_grant(p, path, is_program(path));
		return;
	}
	if (at != NULL)
		at[sizeof(modules) - 1] = '\0';
	put_grant(p, path, false);
}

/* What opens a pseudo-terminal: the errors of most functions name no file. */
static void
put_terminal(struct put *p)
{
	static const char *const by[] = {
	    "openpty", "forkpty", "posix_openpt", "/dev/ptmx"};

	for (size_t i = 0; i < ARRAY_LEN(by); i++)
		if (strstr(p->failed->last, by[i]) != NULL &&
		    !is_granted(p->failed, "/dev/ptmx")) {
			put_grant(p, "/dev/ptmx", false);
			return;
		}
}

static void
put_missing(struct put *p)
{
	const char *text = p->failed->last;
	char name[NAME_MAX], path[PATH_MAX];

	for (size_t i = 0; i < ARRAY_LEN(missing); i++) {
		const struct missing *m = &missing[i];
		const char *mark =
		    strstr(text, m->before[0] != '\0' ? m->before : m->after);

		if (mark != NULL && name_at(m, text, mark, name))
			m->find(p, name);
	}
	put_terminal(p);
	while (next_path(&text, path))
		if (!is_private(path) && is_missed(p, path))
			put_named(p, path);
}

/* What the leash has refused. Its own hints are for the policy. */
static void
put_refused(struct put *p)
{
	const struct failed_start *f = p->failed;

	/* syscalls: faccessat faccessat2 */
	if (p->error == 0 && f->program[0] != '\0' &&
	    strlen(f->program) < PATH_SHOWN_MAX && access(f->program, X_OK) == 0)
		p->error = buf_printf(p->out,
		    "\nits exec of %s was refused; to grant it, add `exec allow %s **`",
		    f->program, f->program);
	if (p->error == 0 && f->target[0] != '\0')
		p->error = buf_printf(p->out, "\nit did not reach %s%s%s%s", f->target,
		    f->grant[0] != '\0' ? "; to grant it, add `" : "", f->grant,
		    f->grant[0] != '\0' ? "`" : "");
}

int
failed_start_put(const struct failed_start *f, struct buf *ret)
{
	struct put p = {.failed = f, .out = ret};
	char how[CAUSE_MAX];

	p.error = buf_printf(
	    ret, "%s before it answered", cause_text(how, sizeof(how), "it", f->status));
	put_lines(&p);
	put_missing(&p);
	put_refused(&p);
	if (p.error == 0)
		p.error = buf_printf(ret, "\nsee `kennel server log %s`",
		    policy_str(f->policy, f->server->name));
	return p.error;
}

/* A message of the log is one line. */
void
failed_start_log(const char *server, const char *text)
{
	while (*text != '\0') {
		size_t n = strcspn(text, "\n");

		log_error("%s: %.*s", server, (int)n, text);
		text += n + (text[n] == '\n');
	}
}
