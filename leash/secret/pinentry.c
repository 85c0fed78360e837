/*
 * A pinentry, the dialog program of GnuPG: it shows a text with buttons, or asks for a
 * line that is typed without echo (libassuan, the Assuan protocol).
 *
 *	socketpair, fork, exec ----------> the pinentry, with an environment of its own
 *	(kennel-secret confines itself)
 *	RESET, SETTITLE, SETDESC, ...
 *	CONFIRM or GETPIN ----------------> a person
 *	<-------------------- OK, ERR, or D and what was typed
 *
 * Process: kennel-secret, which starts the pinentry before it confines itself, because it
 * may start no program afterwards.  The pinentry is terminated with it.  All memory of
 * libassuan is in the locked pages: what was typed is in its buffers, too.
 */
#include <assuan.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "leash/secret/private.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"

#define LINE_CAP 1000 /* ASSUAN_LINELENGTH, without the end of the line */

static struct {
	struct vault *pages; /* of libassuan's memory: its hooks have no argument */
	assuan_context_t context;
	uint32_t seconds;
} pinentry;

/* ---- memory of libassuan ----------------------------------------------------------- */

static void *
take(size_t n)
{
	size_t *at = vault_scratch(pinentry.pages, n + 2 * sizeof(size_t));

	if (at == NULL)
		return NULL;
	at[0] = n;
	return at + 2;
}

static void
give_back(void *p)
{
	size_t *at = p;

	if (p != NULL)
		vault_wipe(p, at[-2]); /* the pages stay until the program ends */
}

static void *
take_more(void *p, size_t n)
{
	size_t *at = p;
	void *more = take(n);

	if (p != NULL && more != NULL) {
		memcpy(more, p, at[-2] < n ? at[-2] : n);
		give_back(p);
	}
	return more;
}

/* Never logs: a line may be a value. */
static int
log_nothing(
    assuan_context_t context, void *arg, unsigned int category, const char *message)
{
	(void)context;
	(void)arg;
	(void)category;
	(void)message;
	return 0;
}

/* ---- its start ----------------------------------------------------------------------- */

/* What a dialog needs of the environment.  Neither a loader's nor a toolkit's variable, nor a
 * session bus: a prompter that is reached by a bus may be any program of the user. */
static const char *const kept[] = {"DISPLAY", "HOME", "LANG", "LC_ALL", "LC_CTYPE",
    "LC_MESSAGES", "LOGNAME", "TERM", "USER", "WAYLAND_DISPLAY", "XAUTHORITY",
    "XDG_RUNTIME_DIR"};

void
dialog_environment(char *ret[DIALOG_ENV_MAX], const char *more)
{
	static char text[DIALOG_ENV_MAX][512];
	size_t n = 0;

	for (size_t i = 0; i <= ARRAY_LEN(kept); i++) {
		const char *name = i < ARRAY_LEN(kept) ? kept[i] : more;
		const char *value = name == NULL ? NULL : getenv(name);
		int len;

		if (value == NULL)
			continue;
		len = snprintf(text[n], sizeof(text[n]), "%s=%s", name, value);
		if (len < 0 || (size_t)len >= sizeof(text[n]))
			continue; /* half of a value would name something else */
		ret[n] = text[n];
		n++;
	}
	ret[n++] = (char *)"PATH=/usr/bin:/bin";
	ret[n] = NULL;
}

/* In the child: the pinentry.  Ends with its parent, also when that is killed. */
static void
become(const char *program, int end, pid_t parent)
{
	char *argv[] = {(char *)"pinentry", NULL}, *env[DIALOG_ENV_MAX];
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	dialog_environment(env, NULL);
	(void)signal(SIGPIPE, SIG_DFL); /* a valid signal: cannot fail */
	/* early: prctl dup2 execve getppid */
	if (null >= 0 && prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && getppid() == parent &&
	    dup2(end, STDIN_FILENO) >= 0 && dup2(end, STDOUT_FILENO) >= 0 &&
	    dup2(null, STDERR_FILENO) >= 0)
		(void)execve(program, argv, env);
	_exit(LOG_EXIT_FAILED);
}

int
pinentry_start(const char *program, int *ret_fd)
{
	int pair[2];
	pid_t parent = getpid(), child;

	/* early: socketpair clone fork */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	child = fork();
	if (child == 0)
		become(program, pair[1], parent);
	fd_close(&pair[1]);
	if (child < 0) {
		int r = -errno;

		fd_close(&pair[0]);
		return r;
	}
	*ret_fd = pair[0];
	return 0;
}

/* ---- commands ------------------------------------------------------------------------ */

static gpg_error_t
command(const char *line)
{
	/* syscalls: read write */
	return assuan_transact(
	    pinentry.context, line, NULL, NULL, NULL, NULL, NULL, NULL);
}

/* A command with a text: printable ASCII and newlines, which dialogs.c has checked. */
static gpg_error_t
command_text(const char *name, const char *text)
{
	char line[LINE_CAP + 1];
	size_t n = (size_t)snprintf(line, sizeof(line), "%s ", name);

	for (; *text != '\0'; text++) {
		if (n + 3 > LINE_CAP)
			return gpg_error(GPG_ERR_TOO_LARGE);
		if (*text == '\n' || *text == '%')
			n += (size_t)snprintf(line + n, sizeof(line) - n, "%%%02X",
			    (unsigned int)(unsigned char)*text);
		else
			line[n++] = *text;
	}
	line[n] = '\0';
	return command(line);
}

int
pinentry_open(struct order *o, int fd, uint32_t seconds)
{
	struct assuan_malloc_hooks hooks = {take, take_more, give_back};
	char line[LINE_CAP + 1];
	gpg_error_t e;

	pinentry.pages = o->pages;
	pinentry.seconds = seconds;
	e = assuan_new_ext(
	    &pinentry.context, GPG_ERR_SOURCE_USER_1, &hooks, log_nothing, NULL);
	if (e != 0)
		return -ENOMEM;
	assuan_set_flag(pinentry.context, ASSUAN_NO_LOGGING, 1);
	/* it waits for the first line of the pinentry */
	if (assuan_socket_connect_fd(pinentry.context, fd, 0) != 0)
		return -EPIPE;
	if (o->tty < 0)
		return 0;
	/* of this process's own session, and no other's; one without it has a display */
	(void)command("OPTION ttyname=/dev/tty");
	(void)snprintf(line, sizeof(line), "OPTION ttytype=%.64s",
	    getenv("TERM") != NULL ? getenv("TERM") : "dumb");
	(void)command(line);
	return 0;
}

/* Prepares a dialog: the texts that it has. */
static gpg_error_t
prepare(const struct pinentry_text *t)
{
	const struct {
		const char *name, *text;
	} row[] = {
	    {"SETTITLE", "kennel"},
	    {"SETDESC", t->text},
	    {"SETERROR", t->error},
	    {"SETPROMPT", t->prompt},
	    {"SETOK", t->ok},
	    {"SETNOTOK", t->notok},
	    {"SETCANCEL", t->cancel},
	};
	gpg_error_t e = command("RESET");
	char line[64];

	for (size_t i = 0; e == 0 && i < ARRAY_LEN(row); i++)
		if (row[i].text != NULL)
			e = command_text(row[i].name, row[i].text);
	(void)snprintf(line, sizeof(line), "SETTIMEOUT %u", pinentry.seconds);
	return e != 0 ? e : command(line);
}

static enum pinentry_answer
answer_of(gpg_error_t e)
{
	switch (gpg_err_code(e)) {
	case GPG_ERR_NO_ERROR:
		return PINENTRY_OK;
	case GPG_ERR_NOT_CONFIRMED:
		return PINENTRY_NOT_OK;
	case GPG_ERR_CANCELED:
	case GPG_ERR_FULLY_CANCELED:
	case GPG_ERR_TIMEOUT:
		return PINENTRY_CLOSED;
	default:
		return PINENTRY_FAILED;
	}
}

enum pinentry_answer
pinentry_confirm(const struct pinentry_text *t)
{
	gpg_error_t e = prepare(t);

	return e != 0 ? PINENTRY_FAILED : answer_of(command("CONFIRM"));
}

struct taken {
	struct typed *typed;
	size_t cap;
};

/* A piece of what was typed: libassuan's memory, which it wipes. */
static gpg_error_t
on_data(void *arg, const void *bytes, size_t len)
{
	struct taken *t = arg;

	if (len > t->cap - t->typed->len)
		return gpg_error(GPG_ERR_TOO_LARGE);
	memcpy(t->typed->bytes + t->typed->len, bytes, len);
	t->typed->len += len;
	return 0;
}

enum pinentry_answer
pinentry_type(const struct pinentry_text *t, size_t cap, struct typed *io)
{
	struct taken taken = {io, cap};
	gpg_error_t e;

	vault_wipe(io->bytes, io->len);
	io->len = 0;
	e = prepare(t);
	if (e != 0)
		return PINENTRY_FAILED;
	e = assuan_transact(
	    pinentry.context, "GETPIN", on_data, &taken, NULL, NULL, NULL, NULL);
	if (e != 0) {
		vault_wipe(io->bytes, io->len);
		io->len = 0;
	}
	return answer_of(e);
}
