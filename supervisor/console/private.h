/*
 * The console room: a page for people in a browser on this machine.
 *
 *	main.c		the program: opens what it needs, forks, prints the link
 *	launcher.c	the launcher: runs commands of kennel for the server
 *	command_runs.c	the server's side of these commands
 *	events.c	the stream of events
 *	approvals.c	pending approvals and their answers
 *	records.c	what the audit log gets of the page
 *	keys.c		security keys, and pages for what is typed
 *	session_sockets.c  connections to the sessions, which the launcher makes
 *	views.c		what they print, as replies of the API
 *	verb_console.c	kennel console: the only file here that is linked with kennel
 *	link_socket.c	a second start asks the running console for a link
 *	logins.c	links, cookies and their ends
 *	http.c		HTTP
 *	request_check.c	which requests may come from the console's page
 *	routes.c	the API
 *	pages.c		the static files, which are part of the program
 */
#ifndef KENNEL_SUPERVISOR_CONSOLE_PRIVATE_H
#define KENNEL_SUPERVISOR_CONSOLE_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/base/loop.h"
#include "supervisor/console/command_runs.h"
#include "supervisor/console/http.h"
#include "supervisor/console/logins.h"
#include "supervisor/json/json.h"

#define CONSOLE_AUTHORITY_MAX 32

/* The process that serves the page. */
struct console {
	struct loop loop;
	struct logins logins;
	struct command_runs commands;
	struct http *http;
	int tick;             /* a timer while there are streams; -1: none */
	unsigned int quiet;   /* ticks without an event */
	int minute;           /* until the next record of refused requests; -1: none */
	unsigned int refused; /* not yet recorded */
	uint16_t port;
	char authority[CONSOLE_AUTHORITY_MAX]; /* localhost:PORT */
	char cookie[CONSOLE_AUTHORITY_MAX];    /* its name: of this port alone */
};

/* link_socket.c (docs/PROTOCOL.console) */
#define CONSOLE_SOCKET  "console-" /* in the run directory; the process id follows */
#define CONSOLE_VERSION 1
/* Answers on the socket of this process. 0 or -errno. */
int link_socket_open(struct console *, const char *run_dir);
/* A link of a console of this user that is running: 0; -ENOENT: no console is
 * running; -errno. */
int link_socket_ask(uint16_t *ret_port, char ret_link[LOGIN_TEXT_MAX]);

/* routes.c: callback of http_open; arg is a struct console. */
http_fn console_answer;

/* Fills the reply with an error, as JSON; any text may be its reason. */
void console_error(struct http_reply *, unsigned int status, const char *why);
/* The same, for -errno of command_run. invalid: the reason of -EINVAL. */
void console_not_run(struct http_reply *, int r, const char *invalid);
#define CONSOLE_INVALID "invalid request: reload the page, and try again"
/* A text member. False: the object has no such text, or one of cap bytes or more. */
bool console_text(struct json object, const char *name, char *out, size_t cap);

/* views.c: what a command of kennel shows or changes. False: it has no such path. */
bool view_answer(struct console *, const struct http_request *, struct http_reply *);

/* Runs the command: {}, or 400 with what it printed. */
void view_change(struct console *, struct command_call *, const struct http_request *,
    struct http_reply *);

/* An error with what a command printed. */
void view_refuse(struct http_reply *, unsigned int status, struct buf *output);

/* keys.c */
/* POST /api/keys/challenge, /api/form. False: another path. */
bool keys_answer(struct console *, const struct http_request *, struct http_reply *);
/* Has a key signed for this digest? Of the request's member `assertion`: fn with the status of
 * the command, 0 if the keeper agrees. 0; -ENOKEY: it has none; -errno of command_run. */
int key_confirm(struct console *, const char *sha256, const struct http_request *,
    command_fn *fn, void *arg);
/* Opens a form, and replies with its address. path: NULL for COMMAND_FORM_KEY. */
void form_open(struct console *, enum command, const char *path, const char *project,
    const struct http_request *, struct http_reply *);

/* records.c */
/* Records a login, before the browser gets it: fn with the status of the command, 0 if
 * the record is on disk. 0, or -errno without a call of fn. */
int record_login(struct console *, command_fn *fn, void *arg);
/* A link was opened a second time. */
void record_link_reused(struct console *);
/* A request was not the console's page's, or had a link that is unknown. The first is
 * recorded at once, more as a sum for each minute. */
void record_refused(struct console *);

/* events.c: GET /api/events */
void events_open(struct console *, const struct login *, struct http_reply *);

/* pages.c */
struct page {
	const char *path, *type;
	const char *begin, *end;
};
/* NULL: unknown. */
const struct page *page_find(const char *path);

#endif
