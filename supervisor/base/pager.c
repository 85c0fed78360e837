/*
 * Starts a pager. It runs as the user and gets what would have been on the terminal.
 */
#include "supervisor/base/pager.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "supervisor/base/terminal.h"

/* Quit if it fits one screen, pass colours, leave the text on the screen; and start no
 * editor and no shell. */
#define LESS_FLAGS "FRX"
#define NOT_FOUND  127 /* sh(1): the pager is not installed */

static bool never;
static pid_t pager = -1;

void
pager_never(void)
{
	never = true;
}

/* NULL: none. */
static const char *
pager_command(void)
{
	const char *own = getenv("KENNEL_PAGER"), *any = getenv("PAGER");
	const char *command = own != NULL ? own : any != NULL ? any : "less";

	return command[0] == '\0' || strcmp(command, "cat") == 0 ? NULL : command;
}

/* At exit: the pager has everything, and the shell waits for it. */
static void
pager_wait(void)
{
	int status;

	(void)fflush(stdout); /* the verb has checked, or the pager was closed */
	(void)close(STDOUT_FILENO);
	(void)waitpid(pager, &status, 0); /* syscalls: wait4 */
}

static void
become_pager(const char *command, int from)
{
	if (dup2(from, STDIN_FILENO) < 0)
		_exit(NOT_FOUND);
	fd_close(&from);
	(void)setenv("LESS", LESS_FLAGS, 0);
	(void)setenv("LESSSECURE", "1", 1);
	/* syscalls: execve */
	(void)execl("/bin/sh", "sh", "-c",
	    "command -v \"${1%% *}\" >/dev/null || exec cat; eval \"$1\"", "sh", command,
	    (char *)NULL);
	_exit(NOT_FOUND);
}

void
pager_start(void)
{
	const char *command = pager_command();
	struct terminal screen = terminal_of(STDOUT_FILENO);
	int end[2];

	if (never || command == NULL || !screen.is || isatty(STDIN_FILENO) != 1 ||
	    pipe2(end, O_CLOEXEC) < 0)
		return;
	pager = fork(); /* syscalls: clone fork */
	if (pager == 0) {
		fd_close(&end[1]);
		become_pager(command, end[0]);
	}
	fd_close(&end[0]);
	if (pager > 0 && atexit(pager_wait) == 0 && dup2(end[1], STDOUT_FILENO) >= 0)
		terminal_keep(STDOUT_FILENO, screen);
	fd_close(&end[1]);
}
