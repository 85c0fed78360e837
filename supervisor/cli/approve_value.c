/*
 * kennel approve allow, of a value: kennel-secret asks for it at the terminal. The vault
 * is created or unlocked first.
 *
 * Process: kennel, which never has the value.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/base/wire.h"
#include "supervisor/approve/approve.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/base/person_socket.h"
#include "supervisor/cli/cli.h"
#include "supervisor/cli/secret.h"
#include "supervisor/launch/launch.h"

#define SOCKETS_MAX 256
#define LOCKED      126 /* exit statuses of kennel-secret */
#define ANSWER_CAP  8

/* ---- sessions ------------------------------------------------------------------- */

static int
saved_at(long pid, const char *what)
{
	uint8_t memory[APPROVE_PACKET_MAX];
	int fd = person_connect(APPROVE_SOCKET, pid), r;
	struct wire_out out;
	struct wire_in in;

	if (fd < 0)
		return fd;
	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, APPROVE_CHANNEL);
	wire_put_u32(&out, approve_channel_here());
	r = wire_send(fd, &out, NULL, 0);
	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, APPROVE_SAVED);
	wire_put_str(&out, what);
	if (r == 0)
		r = wire_send(fd, &out, NULL, 0);
	/* whether it had asked does not matter here */
	if (r == 0)
		r = person_receive(fd, memory, sizeof(memory), &in);
	fd_close(&fd);
	return r;
}

void
approve_saved(const char *what)
{
	long pid[SOCKETS_MAX];
	size_t n = person_sockets(APPROVE_SOCKET, pid, SOCKETS_MAX);
	int r;

	for (size_t i = 0; i < n; i++) {
		r = saved_at(pid[i], what);
		if (r < 0 && r != -ENOENT && r != -ECONNREFUSED)
			log_warn("unable to inform the session of process %ld: %s; a "
				 "request for it stays open there",
			    pid[i], strerror(-r));
	}
}

/* ---- the vault --------------------------------------------------------------------- */

static int
secret(const char *verb, const char *path)
{
	char *word[] = {(char *)verb, (char *)path, NULL};

	return secret_become(path == NULL ? 1 : 2, word);
}

/* The exit status of `kennel secret versions PATH`, which prints nothing here. */
static int
versions(const char *path)
{
	int status, null;
	pid_t child;

	(void)fflush(NULL); /* unwritten output stays with the parent */
	child = fork();
	if (child == 0) {
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (null < 0 || dup2(null, STDOUT_FILENO) < 0 ||
		    dup2(null, STDERR_FILENO) < 0)
			_exit(EXIT_FAILED);
		_exit(secret("versions", path));
	}
	while (child > 0 && waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			child = -1;
	return child < 0 ? EXIT_FAILED : exit_status(status);
}

static bool
has_vault(void)
{
	const char *dir = paths_vault_dir();
	char path[PATH_MAX];
	int n = dir == NULL ? -1 : snprintf(path, sizeof(path), "%s/secrets.vault", dir);

	return n > 0 && (size_t)n < sizeof(path) && access(path, F_OK) == 0;
}

/* Creates or unlocks the vault; then whether the path has a value. */
static int
open_vault(const char *path, bool *ret_there)
{
	int status = has_vault() ? 0 : secret("init", NULL);

	if (status != 0)
		return status;
	status = versions(path);
	if (status == LOCKED) {
		status = secret("unlock", NULL);
		if (status != 0)
			return status;
		status = versions(path);
	}
	*ret_there = status == 0;
	return 0;
}

/* The person agrees that the value that is there is replaced. */
static bool
overwrites(int tty, const char *path)
{
	char typed[ANSWER_CAP] = "";
	FILE *f = fdopen(tty, "r+");
	bool yes;

	if (f == NULL)
		return false;
	(void)fprintf(f,
	    "%s has a value.\nI understand this overwrites the current secret (yes or "
	    "no): ",
	    path);
	(void)fflush(f);
	yes = fgets(typed, sizeof(typed), f) != NULL && strcmp(typed, "yes\n") == 0;
	(void)fclose(f); /* only read */
	return yes;
}

int
approve_value(const char *path)
{
	bool there = false;
	int status, tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (tty < 0) {
		log_error("a value is typed at a terminal, and this process has none: "
			  "run `kennel "
			  "secret set %s`, or `rotate` if it has a value",
		    path);
		return EXIT_USAGE;
	}
	status = open_vault(path, &there);
	if (status != 0 || !there) {
		fd_close(&tty);
	} else if (!overwrites(tty, path)) {
		log_error("nothing was changed: the request stays open");
		return EXIT_FAILED;
	}
	if (status == 0) {
		char *word[] = {(char *)(there ? "rotate" : "set"), (char *)path, NULL};

		status = secret_put_main(2, word);
	}
	return status;
}
