/*
 * Any bytes as what a browser sends to the console: http.c with libmicrohttpd, the checks,
 * the routes and what reads bodies, over a socket. A login is open, whose secrets the corpus
 * has. The commands of kennel are stand-ins that print JSON; no session runs.
 *
 * Each reply has the headers that confine a page, unless libmicrohttpd refused the
 * request itself; no reply without both secrets has what a command printed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "supervisor/console/approvals.h"
#include "supervisor/console/private.h"
#include "supervisor/console/session_sockets.h"
#include "tests/fuzz/fuzz.h"

#define INPUT_MAX  32768
#define REPLY_MAX  (4u << 20)
#define ROUNDS_MAX 20000
#define PRINTED    "{\"size\":1}\n"
#define MARK       "\"size\":1"
#define COOKIE     "11111111111111111111111111111111"
#define KEY        "22222222222222222222222222222222"

static struct console page;
static struct sockaddr_un address;
static socklen_t address_len;
static char *replies;
static size_t replies_len;

/* ---- stand-ins ------------------------------------------------------------------- */

static struct {
	command_fn *fn;
	void *arg;
} waiting[COMMANDS_MAX];

void
command_report(struct command_runs *c, enum command_report what, uint32_t number)
{
}

int
command_run(struct command_runs *c, const struct command_call *call)
{
	if (call->input_len > COMMAND_INPUT_MAX || call->word_n > COMMAND_WORDS_MAX)
		return -EINVAL;
	for (size_t i = 0; i < call->word_n; i++)
		if (strlen(call->word[i]) > COMMAND_WORD_MAX)
			return -EINVAL;
	for (size_t i = 0; i < COMMANDS_MAX; i++)
		if (waiting[i].fn == NULL) {
			waiting[i].fn = call->fn;
			waiting[i].arg = call->arg;
			return 0;
		}
	return -EBUSY;
}

static void
end_commands(void)
{
	for (size_t i = 0; i < COMMANDS_MAX; i++) {
		command_fn *fn = waiting[i].fn;
		struct buf output;

		if (fn == NULL)
			continue;
		buf_init(&output, 1024);
		if (buf_puts(&output, PRINTED) < 0)
			abort();
		waiting[i].fn = NULL;
		fn(waiting[i].arg, 0, &output);
		buf_free(&output);
	}
}

size_t
session_sockets_list(void *arg, long *pid, size_t max)
{
	return 0;
}

int
session_sockets_connect(void *arg, long pid)
{
	return -ENOENT;
}

void
events_open(struct console *c, const struct login *login, struct http_reply *reply)
{
	console_error(reply, HTTP_UNAVAILABLE, "no stream is open");
}

/* ---- a request ------------------------------------------------------------------- */

static void
start(void)
{
	int fd[HTTP_SOCKETS_MAX] = {-1, -1};
	const struct http_order order = {.loop = &page.loop,
	    .cookie = page.cookie,
	    .fn = console_answer,
	    .arg = &page};

	address.sun_family = AF_UNIX; /* the kernel chooses an abstract name */
	address_len = sizeof(address.sun_family);
	fd[0] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd[0] < 0 || bind(fd[0], (struct sockaddr *)&address, address_len) < 0 ||
	    listen(fd[0], 8) < 0)
		abort();
	address_len = sizeof(address);
	if (getsockname(fd[0], (struct sockaddr *)&address, &address_len) < 0)
		abort();
	page.tick = page.minute = -1;
	page.port = 4000;
	(void)snprintf(page.authority, sizeof(page.authority), "localhost:4000");
	(void)snprintf(page.cookie, sizeof(page.cookie), "kennel-4000");
	loop_init(&page.loop);
	replies = malloc(REPLY_MAX + 1);
	if (replies == NULL || http_open(&order, fd, &page.http) < 0)
		abort();
	approvals_open(-1);
}

static void
open_login(void)
{
	uint64_t now = loop_now();
	struct login *login = &page.logins.login[0];

	page.logins = (struct logins){0};
	*login = (struct login){.began = now, .used = now};
	memset(login->cookie, 0x11, sizeof(login->cookie));
	memset(login->page, 0x22, sizeof(login->page));
	page.logins.link[0].until = UINT64_MAX;
	memset(page.logins.link[0].secret, 0x33, LOGIN_SECRET_LEN);
}

/* False: the console has closed the connection. */
static bool
receive(int fd)
{
	ssize_t n = read(fd, replies + replies_len, REPLY_MAX - replies_len);

	if (n > 0)
		replies_len += (size_t)n;
	return n > 0 || (n < 0 && errno == EAGAIN);
}

static void
exchange(int fd, const uint8_t *data, size_t len)
{
	size_t sent = 0;
	ssize_t n;

	replies_len = 0;
	for (int round = 0;; round++) {
		if (round > ROUNDS_MAX)
			abort(); /* it hangs */
		n = sent < len ? write(fd, data + sent, len - sent) : 0;
		if (n > 0)
			sent += (size_t)n;
		if (sent == len || (n < 0 && errno != EAGAIN))
			(void)shutdown(fd, SHUT_WR); /* of a closed one: nothing to do */
		if (loop_once(&page.loop, 0) < 0)
			abort();
		end_commands();
		if (!receive(fd) || replies_len == REPLY_MAX)
			return;
	}
}

static void
judge(const uint8_t *data, size_t len)
{
	static const char csp[] = "Content-Security-Policy: default-src 'none'";
	bool has_login = memmem(data, len, COOKIE, strlen(COOKIE)) != NULL &&
			 memmem(data, len, KEY, strlen(KEY)) != NULL;

	replies[replies_len] = '\0';
	if (replies_len >= 5 && memcmp(replies, "HTTP/", 5) != 0)
		abort();
	if (!has_login && memmem(replies, replies_len, MARK, strlen(MARK)) != NULL)
		abort();
	if (memmem(replies, replies_len, "application/json", 16) != NULL &&
	    memmem(replies, replies_len, csp, strlen(csp)) == NULL)
		abort();
	if (memmem(replies, replies_len, "Set-Cookie: kennel-4000=", 24) != NULL &&
	    !has_login && memmem(data, len, "33333333", 8) == NULL &&
	    memmem(data, len, "\\u003", 5) == NULL)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	int fd;

	if (len > INPUT_MAX)
		return 0;
	if (replies == NULL)
		start();
	open_login();
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, address_len) < 0)
		abort();
	exchange(fd, data, len);
	judge(data, len);
	fd_close(&fd);
	for (int i = 0; i < 4; i++) { /* the console closes its side */
		if (loop_once(&page.loop, 0) < 0)
			abort();
		end_commands();
	}
	return 0;
}
