/*
 * kennel-console: a page for the user in a browser on this machine.
 *
 *	kennel console (a terminal)
 *	 └─ kennel-console	the launcher: prints the link, ends what it started
 *	     └─ kennel-console	the server: HTTP on loopback addresses, confined
 *
 * Process: kennel-console, twice. Holds: the logins; no value of a secret. Trusts: a
 * browser that opened a link, for what the API offers. Must never: be linked with leash/,
 * open a socket or a file after it is confined. The launcher must never read a byte of a
 * browser, but the name of a server to be enabled or disabled, nor one of a session, to
 * which it connects.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "console_syscalls.h"
#include "shim/base/array.h"
#include "shim/base/confine.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/host/loopback.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/base/person_socket.h"
#include "supervisor/base/terminal.h"
#include "supervisor/console/approvals.h"
#include "supervisor/console/browser.h"
#include "supervisor/console/launcher.h"
#include "supervisor/console/private.h"

#define TO_KEYS  "/keys"
#define LINK_MAX (LOGIN_TEXT_MAX + sizeof(TO_KEYS)) /* with the page that it leads to */

/* ---- the server -------------------------------------------------------------------- */

static int
confine(void)
{
	int r = confine_no_dumps();

	if (r == 0)
		r = confine_paths(NULL, 0);
	if (r == 0)
		r = confine_syscalls(console_syscalls, ARRAY_LEN(console_syscalls));
	return r;
}

/* Before the server is confined: one that is taken over shows no prompt and reads no
 * answer. Its reports go to the launcher (command_report). */
static void
leave_terminal(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		die("unable to open /dev/null: %s", strerror(errno));
#ifndef CONFINE_DEBUG /* which names a filtered call there */
	if (dup2(null, STDERR_FILENO) < 0)
		die("unable to replace standard error: %s", strerror(errno));
#endif
	fd_close(&null);
}

static void
serve(struct console *c, const int fd[HTTP_SOCKETS_MAX], int launcher, int sessions)
{
	const struct http_order order = {.loop = &c->loop,
	    .cookie = c->cookie,
	    .port = c->port,
	    .fn = console_answer,
	    .arg = c};
	int r;

	c->tick = c->minute = -1;
	loop_init(&c->loop);
	r = link_socket_open(c, paths_run_dir());
	if (r < 0)
		die("unable to open a socket in %s: %s", paths_run_dir(), strerror(-r));
	r = http_open(&order, fd, &c->http);
	if (r == 0)
		r = command_runs_open(&c->commands, &c->loop, launcher);
	if (r < 0)
		die("unable to serve HTTP: %s", strerror(-r));
	approvals_open(sessions);
	leave_terminal();
	r = confine();
	if (r < 0) {
		command_report(&c->commands, REPORT_UNCONFINED, (uint32_t)-r);
		return;
	}
	if (command_runs_ready(&c->commands) < 0)
		return;         /* the launcher has ended */
	r = loop_run(&c->loop); /* syscalls: poll */
	if (r < 0)
		command_report(&c->commands, REPORT_LOOP, (uint32_t)-r);
}

/* ---- the launcher ------------------------------------------------------------------ */

static void
print_link(uint16_t port, const char *link)
{
	printf("http://localhost:%u/#%s\n", port, link);
	printf(
	    "The link opens once, within 60 s; `kennel console` prints another one.\n");
	(void)fflush(stdout); /* for a person */
}

/* What the launcher prints and removes. */
struct launch {
	const struct console *c;
	const char *link;
	bool open_it;
	struct browser_page page;
};

static void
on_server_ready(void *arg)
{
	struct launch *l = arg;

	print_link(l->c->port, l->link);
	printf("Ctrl-C ends the console.\n");
	(void)fflush(stdout); /* for a person */
	if (l->open_it)
		browser_open(paths_run_dir(), l->c->port, l->link, &l->page);
}

/* The first link is late, or the server has ended. */
static void
on_link_late(void *arg)
{
	struct launch *l = arg;

	browser_page_remove(&l->page);
}

/* Non-blocking at both ends. */
static void
make_pair(int ret[2])
{
	int r = fd_pair(ret);

	if (r == 0)
		r = fd_nonblock(ret[0], true);
	if (r == 0)
		r = fd_nonblock(ret[1], true);
	if (r < 0)
		die("unable to create a socket pair: %s", strerror(-r));
}

/* The server's process; the sockets that lead to it. */
static pid_t
fork_server(
    struct console *c, int fd[HTTP_SOCKETS_MAX], int *ret_socket, int *ret_sessions)
{
	int pair[2], sessions[2];
	pid_t child;

	make_pair(pair);
	make_pair(sessions);
	launcher_prepare();
	child = fork();
	if (child < 0)
		die("unable to start a process: %s", strerror(errno));
	if (child == 0) {
		fd_close(&pair[0]);
		fd_close(&sessions[0]);
		launcher_release();
		(void)signal(SIGPIPE, SIG_IGN); /* cannot fail: valid signal */
		(void)signal(SIGINT, SIG_IGN);  /* ^C is for the launcher */
		serve(c, fd, pair[1], sessions[1]);
		_exit(0);
	}
	fd_close(&pair[1]);
	fd_close(&sessions[1]);
	fd_close(&fd[0]);
	fd_close(&fd[1]);
	*ret_socket = pair[0];
	*ret_sessions = sessions[0];
	return child;
}

static int
launch(struct console *c, int fd[HTTP_SOCKETS_MAX], const char *link, bool open_it)
{
	struct launch l = {.c = c, .link = link, .open_it = open_it};
	struct launcher_order order = {
	    .ready = on_server_ready, .late = on_link_late, .arg = &l};
	int status;

	status = launcher_record("start"); /* on disk before anyone can connect */
	if (status != 0)
		return status;
	order.server = fork_server(c, fd, &order.socket, &order.sessions);
	status = launcher_run(&order);
	person_socket_remove(CONSOLE_SOCKET, order.server);
	(void)launcher_record("end"); /* it has reported the error */
	fd_close(&order.socket);
	fd_close(&order.sessions);
	return status;
}

/* ---- the program ------------------------------------------------------------------- */

/* to: the page that the link leads to. */
static int
start(bool open_it, const char *to)
{
	static struct console c;
	int fd[HTTP_SOCKETS_MAX], r = fd_make_dirs(paths_run_dir()), status;
	char link[LINK_MAX];

	if (r < 0)
		die("unable to create %s: %s", paths_run_dir(), strerror(-r));
	r = loopback_listen(fd, &c.port);
	if (r < 0)
		die("unable to listen on a loopback address: %s", strerror(-r));
	(void)snprintf(c.authority, sizeof(c.authority), "localhost:%u", c.port);
	(void)snprintf(c.cookie, sizeof(c.cookie), "kennel-%u", c.port);
	r = login_link_new(&c.logins, loop_now(), link);
	if (r < 0)
		die("unable to make a link: %s", strerror(-r));
	memcpy(link + strlen(link), to, strlen(to) + 1); /* fits */
	status = launch(&c, fd, link, open_it);
	explicit_bzero(link, sizeof(link));
	return status;
}

static bool
read_options(int argc, char **argv, bool *ret_open, const char **ret_to)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--no-open") == 0)
			*ret_open = false;
		else if (strcmp(argv[i], "--keys") == 0)
			*ret_to = TO_KEYS;
		else
			return false;
	return true;
}

int
main(int argc, char **argv)
{
	bool open_it = true;
	const char *to = "";
	char link[LINK_MAX];
	uint16_t port;
	int r;

	log_open("kennel-console", LOG_INFO);
	if (!read_options(argc, argv, &open_it, &to)) {
		log_error("unexpected argument; run `kennel console --help`");
		return EXIT_USAGE;
	}
	if (!terminal_of(STDIN_FILENO).is || !terminal_of(STDOUT_FILENO).is) {
		log_error("expected a terminal on standard input and output: a person "
			  "runs `kennel console` there and opens the link");
		return EXIT_USAGE;
	}
	if (paths_run_dir() == NULL) {
		log_error("%s", paths_why());
		return EXIT_CONFIG;
	}
	r = link_socket_ask(&port, link);
	if (r == 0) {
		memcpy(link + strlen(link), to, strlen(to) + 1); /* fits */
		print_link(port, link);
		explicit_bzero(link, sizeof(link));
		return 0;
	}
	if (r != -ENOENT) {
		log_error("a console is running and gives no link: %s; end it with "
			  "Ctrl-C, then run `kennel console` again",
		    strerror(-r));
		return EXIT_FAILED;
	}
	return start(open_it, to);
}
