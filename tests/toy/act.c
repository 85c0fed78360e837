/* Tools of the toy server that do something (toy.h). */
#include "tests/toy/toy.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGS_MAX 64

/* The child: stdout and stderr into the pipe, then the program.  What failed
 * goes back on a pipe that a successful exec closes. */
static void
child(char **argv, int out, int failed)
{
	(void)dup2(out, 1); /* cannot fail: both are open */
	(void)dup2(out, 2);
	execv(argv[0], argv);
	int e = errno;
	(void)!write(failed, &e, sizeof(e));
	_exit(127);
}

static size_t
drain(int fd, char *text, size_t cap)
{
	size_t n = 0;
	ssize_t got;

	while (n < cap && (got = read(fd, text + n, cap - n)) > 0)
		n += (size_t)got;
	return n;
}

/* Runs argv; says "exit N", "signal N" or the errno, then its output; where it is
 * told to "fail", an errno or a signal is an error. */
static void
do_exec(const struct call *c)
{
	static char memory[ARGS_MAX][4096], text[256u << 10];
	char *argv[ARGS_MAX + 1] = {NULL};
	struct json list = json_get(c->args, "argv");
	int out[2], failed[2], status = 0, e = 0;

	for (size_t i = 0; i < ARGS_MAX; i++)
		if (json_text(json_item(list, i), memory[i], sizeof(memory[i])))
			argv[i] = memory[i];
		else
			break;
	if (argv[0] == NULL || pipe2(out, O_CLOEXEC) < 0 ||
	    pipe2(failed, O_CLOEXEC) < 0) {
		toy_resultf(c, "bad call");
		return;
	}
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0)
		child(argv, out[1], failed[1]);
	close(out[1]);
	close(failed[1]);
	size_t n = drain(out[0], text, sizeof(text) - 1);
	text[n] = '\0';
	if (read(failed[0], &e, sizeof(e)) != sizeof(e))
		e = 0;
	close(out[0]);
	close(failed[0]);
	(void)waitpid(pid, &status, 0); /* our own child */
	if ((e != 0 || WIFSIGNALED(status)) && json_get(c->args, "fail").at != NULL) {
		toy_head(c);
		printf("\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"%s\"}],"
		       "\"isError\":true}}\n",
		    e != 0 ? strerrorname_np(e) : "signal");
	} else if (e != 0)
		toy_resultf(c, "%s", strerrorname_np(e));
	else if (WIFSIGNALED(status))
		toy_resultf(c, "signal %d\n%s", WTERMSIG(status), text);
	else
		toy_resultf(c, "exit %d\n%s", WEXITSTATUS(status), text);
}

static void
do_open(const struct call *c)
{
	static char text[64u << 10];
	int fd = open(toy_arg(c, "path", ""), O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		toy_resultf(c, "%s", strerrorname_np(errno));
		return;
	}
	size_t n = drain(fd, text, sizeof(text) - 1);
	close(fd);
	toy_result(c, text, n);
}

static void
do_write(const struct call *c)
{
	int fd =
	    open(toy_arg(c, "path", ""), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	const char *text = toy_arg(c, "text", "");

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		toy_resultf(c, "%s", strerrorname_np(errno));
	else
		toy_resultf(c, "written");
	if (fd >= 0)
		close(fd);
}

static void
do_crash(const struct call *c)
{
	(void)c;
	abort();
}

static void
do_exit(const struct call *c)
{
	exit((int)json_number(json_get(c->args, "n"), 0));
}

static void
do_hang(const struct call *c)
{
	(void)c;
	for (;;)
		pause();
}

static void
do_sleep(const struct call *c)
{
	usleep((useconds_t)json_number(json_get(c->args, "n"), 100) * 1000);
	toy_resultf(c, "slept");
}

/* A child that leaves: a new session, all signals ignored, for ever. */
static void
do_daemon(const struct call *c)
{
	fflush(stdout);
	if (fork() == 0) {
		(void)setsid(); /* cannot fail in a fresh child */
		if (fork() != 0)
			_exit(0);
		for (int i = 1; i < 65; i++)
			(void)signal(i, SIG_IGN); /* KILL and STOP refuse */
		for (;;)
			pause();
	}
	toy_resultf(c, "left");
}

const struct tool act_tools[] = {
    {"exec", do_exec, "runs argv, says how it ended"},
    {"open", do_open, "says what is in path"},
    {"write", do_write, "writes text to path"},
    {"crash", do_crash, "aborts"},
    {"exit", do_exit, "exits with status n"},
    {"hang", do_hang, "never answers"},
    {"sleep", do_sleep, "answers after n milliseconds"},
    {"daemon", do_daemon, "leaves a daemon behind"},
    {NULL, NULL, NULL},
};
