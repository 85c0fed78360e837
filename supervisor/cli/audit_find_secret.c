/*
 * kennel audit find-secret: finds uses of a leaked value.
 *
 * Process: kennel, which never has the value. kennel-secret reads the value from the
 * user and prints its fingerprint; the log is searched for that.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "supervisor/audit/audit.h"
#include "supervisor/audit/query/options.h"
#include "supervisor/audit/query/query.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/cli/cli.h"

#define TRACE_DIGITS 32 /* output of kennel-secret, without its newline */
#define ARGS_MAX     64

/* Runs in the child: standard output is the pipe. */
static void
become(const char *path, const char *from, const char *fd, int out)
{
	const char *word[5] = {"kennel-secret", "trace", from, fd, NULL};

	/* early: dup2 execve */
	if (dup2(out, STDOUT_FILENO) == STDOUT_FILENO)
		(void)execv(path, (char *const *)word);
	log_error("unable to run %s: %s", path, strerror(errno));
	_exit(EXIT_FAILED);
}

/* Reads all output: at most cap bytes. */
static size_t
hear(int fd, char *text, size_t cap)
{
	size_t len = 0;
	ssize_t n = 1;

	while (n != 0 && len < cap) {
		n = read(fd, text + len, cap - len);
		if (n < 0 && errno != EINTR)
			break;
		len += n > 0 ? (size_t)n : 0;
	}
	return len;
}

/* from: "--stdin", "--fd" with its number, or NULL. Returns 0, or an exit status
 * after reporting the error. */
static int
trace_of_value(const char *from, const char *fd, char ret[TRACE_DIGITS + 1])
{
	const char *path = paths_libexec("kennel-secret");
	int out[2], status = secret_places();
	char text[TRACE_DIGITS + 2] = "";
	size_t len;
	pid_t child;

	if (status != 0)
		return status;
	/* early: pipe2 clone fork vfork wait4 */
	if (path == NULL || pipe2(out, O_CLOEXEC) < 0)
		return EXIT_FAILED;
	child = fork();
	if (child == 0)
		become(path, from, fd, out[1]);
	fd_close(&out[1]);
	len = child < 0 ? 0 : hear(out[0], text, sizeof(text));
	fd_close(&out[0]);
	if (child < 0 || waitpid(child, &status, 0) < 0 || !WIFEXITED(status))
		return EXIT_FAILED;
	if (WEXITSTATUS(status) != 0)
		return WEXITSTATUS(status); /* it has printed the reason */
	if (len != TRACE_DIGITS + 1 || text[TRACE_DIGITS] != '\n') {
		log_error("audit find-secret: protocol error from kennel-secret");
		return EXIT_FAILED;
	}
	memcpy(ret, text, TRACE_DIGITS);
	ret[TRACE_DIGITS] = '\0';
	return 0;
}

int
find_secret_main(int argc, char **argv)
{
	const char *from = NULL, *fd = NULL;
	char trace[TRACE_DIGITS + 1], *word[ARGS_MAX] = {NULL}, *copy[ARGS_MAX];
	struct query q;
	int n = 0, status;

	for (int i = 0; i < argc; i++) {
		if (i > 0 && strcmp(argv[i], "--stdin") == 0)
			from = argv[i];
		else if (i > 0 && i + 1 < argc && strcmp(argv[i], "--fd") == 0) {
			from = argv[i];
			fd = argv[++i];
		} else if (n + 1 < ARGS_MAX)
			word[n++] = argv[i];
	}
	/* before a person types a value; it keeps its arguments in the array */
	memcpy(copy, word, (size_t)n * sizeof(word[0]));
	if (options_read(n, copy, "N", &q) < 0)
		return ASK_USAGE;
	if (q.argc > 0) {
		log_error("audit find-secret: a value given as an argument is visible in "
			  "the process list and in the history of the shell; pass it on "
			  "standard input: kennel audit find-secret --stdin <FILE");
		return ASK_USAGE;
	}
	status = trace_of_value(from, fd, trace);
	if (status != 0)
		return status;
	word[n++] = trace;
	return query_main(n, word, NULL);
}
