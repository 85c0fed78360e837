#include "supervisor/base/other_verb.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"

#define OUTPUT_MAX (1u << 20)
#define SHOWN_MAX  400 /* bytes of a line */

struct verb_child {
	const char *dir;
	int in, out, err; /* -1: as they are */
};

static void
run_in_child(const struct verb_child *c, verb_fn *fn, int argc, char **argv)
{
	int status;

	if (c->dir != NULL && chdir(c->dir) < 0) {
		log_error("unable to use %s: %s", c->dir, strerror(errno));
		_exit(EXIT_INPUT);
	}
	if ((c->in >= 0 && dup2(c->in, STDIN_FILENO) < 0) ||
	    (c->out >= 0 && dup2(c->out, STDOUT_FILENO) < 0) ||
	    (c->err >= 0 && dup2(c->err, STDERR_FILENO) < 0))
		_exit(EXIT_FAILED);
	(void)signal(SIGINT, SIG_DFL); /* cannot fail: valid signal */
	status = fn(argc, argv);
	(void)fflush(NULL);
	_exit(status);
}

/* Its exit status. */
static int
run(const struct verb_child *c, verb_fn *fn, int argc, char **argv)
{
	int status = 0;
	pid_t pid;

	(void)fflush(NULL); /* unwritten output stays with the parent */
	/* early: clone fork wait4 dup2 chdir */
	pid = fork();
	if (pid == 0)
		run_in_child(c, fn, argc, argv);
	while (pid > 0 && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			pid = -1;
	return pid < 0 || !WIFEXITED(status) ? EXIT_FAILED : WEXITSTATUS(status);
}

/* The end of what was written to the file. */
static char *
end_of(int fd, size_t max)
{
	off_t len = lseek(fd, 0, SEEK_END);
	char *text = NULL;
	size_t n;

	if (len <= 0 ||
	    lseek(fd, (size_t)len > max ? len - (off_t)max : 0, SEEK_SET) < 0 ||
	    fd_slurp(fd, max, &text, &n) < 0)
		return NULL;
	return text;
}

/* For a person. */
static void
show_end(int fd, FILE *to)
{
	char *text = fd < 0 ? NULL : end_of(fd, OUTPUT_MAX);

	if (text != NULL)
		(void)fputs(text, to); /* or it is lost, as on a closed terminal */
	(void)fflush(to);              /* before the other stream */
	free(text);
}

/* The last of its own errors, without the program's name: the one that ended it. */
static void
last_error(int fd, char *out, size_t size)
{
	static const char name[] = "kennel"; /* or "kennel init" */
	char *text = fd < 0 || size == 0 ? NULL : end_of(fd, OUTPUT_MAX);
	const char *from = "", *at = text;

	while (at != NULL && *at != '\0') {
		const char *colon = strstr(at, ": ");

		if (strncmp(at, name, sizeof(name) - 1) == 0 && colon != NULL)
			from = colon + 2;
		at += strcspn(at, "\n");
		at += *at == '\n';
	}
	if (size > 0)
		(void)snprintf(out, size, "%.*s", (int)strcspn(from, "\n"),
		    from); /* or cut, for a person */
	free(text);
}

/* What it printed comes before the errors that ended it, which are on another stream. */
static int
run_quietly(struct verb_child *c, const struct other_verb *how, verb_fn *fn, int argc,
    char **argv)
{
	int status = EXIT_FAILED;

	/* early: memfd_create */
	c->in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	c->out = memfd_create("output", MFD_CLOEXEC);
	c->err = memfd_create("errors", MFD_CLOEXEC);
	if (c->in >= 0 && c->out >= 0 && c->err >= 0)
		status = run(c, fn, argc, argv);
	else
		log_error("unable to start `kennel %s`: %s", argv[0], strerror(errno));
	if (status != 0)
		show_end(c->out, stdout);
	show_end(c->err, stderr);
	last_error(c->err, how->why, how->why_size);
	fd_close(&c->in);
	fd_close(&c->out);
	fd_close(&c->err);
	return status;
}

int
other_verb_run(const struct other_verb *how, verb_fn *fn, int argc, char **argv)
{
	struct verb_child c = {.dir = how->dir, .in = -1, .out = -1, .err = -1};

	return how->quiet ? run_quietly(&c, how, fn, argc, argv)
			  : run(&c, fn, argc, argv);
}

/* Both, with no input and without ^C. */
static int
run_captured(struct verb_child *c, verb_fn *fn, int argc, char **argv)
{
	void (*before)(int);
	int status = EXIT_FAILED;

	c->in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	before = signal(SIGINT, SIG_IGN); /* cannot fail: valid signal */
	if (c->in >= 0 && c->out >= 0 && c->err >= 0)
		status = run(c, fn, argc, argv);
	(void)signal(SIGINT, before); /* the same */
	fd_close(&c->in);
	return status;
}

int
other_verb_captured(verb_fn *fn, int argc, char **argv, size_t max, char **ret_output)
{
	struct verb_child c = {.out = memfd_create("output", MFD_CLOEXEC)};
	int status;

	c.err = c.out;
	status = run_captured(&c, fn, argc, argv);
	*ret_output = c.out >= 0 ? end_of(c.out, max) : NULL;
	fd_close(&c.out);
	return status;
}

int
other_verb_split(const char *dir, verb_fn *fn, int argc, char **argv, size_t max,
    struct verb_output *ret)
{
	struct verb_child c = {.dir = dir,
	    .out = memfd_create("output", MFD_CLOEXEC),
	    .err = memfd_create("errors", MFD_CLOEXEC)};
	int status = run_captured(&c, fn, argc, argv);

	*ret = (struct verb_output){.text = NULL};
	if (c.out >= 0 && lseek(c.out, 0, SEEK_SET) == 0)
		(void)fd_slurp(c.out, max, &ret->text, &ret->len); /* NULL: none */
	if (c.err >= 0)
		ret->errors = end_of(c.err, OUTPUT_MAX);
	fd_close(&c.out);
	fd_close(&c.err);
	return status;
}

/* Is the line of n bytes at end one of those from start to it? */
static bool
has_line(const char *start, const char *end, size_t n)
{
	while (start < end) {
		size_t len = strcspn(start, "\n");

		if (len == n && memcmp(start, end, n) == 0)
			return true;
		start += len + 1;
	}
	return false;
}

void
other_verb_show(const char *before, const char *output)
{
	char shown[4 * SHOWN_MAX + 1];
	const char *start = output;

	while (output != NULL && *output != '\0') {
		size_t n = strcspn(output, "\n");

		if (n > 0 && !has_line(start, output, n))
			fprintf(stderr, "%s%s\n", before,
			    log_quote(shown, sizeof(shown), output,
				n > SHOWN_MAX ? SHOWN_MAX : n));
		output += n + (output[n] == '\n');
	}
}
