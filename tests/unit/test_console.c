/*
 * Links and logins of the console, which requests are its own, and which sockets its
 * confined server can reach.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "console_syscalls.h"
#include "shim/base/array.h"
#include "shim/base/confine.h"
#include "shim/base/fd.h"
#include "shim/base/wire.h"
#include "supervisor/approve/approve.h"
#include "supervisor/base/paths.h"
#include "supervisor/console/logins.h"
#include "supervisor/console/request_check.h"
#include "supervisor/console/session_sockets.h"
#include "tests/unit/child.h"

#define START (1000 * NS_PER_S)
#define HERE  "localhost:4000"

static struct login_keys
entered(struct logins *l, uint64_t now)
{
	char link[LOGIN_TEXT_MAX];
	struct login_keys k;

	assert_int_equal(login_link_new(l, now, link), 0);
	assert_int_equal(login_enter(l, now, link, &k), 0);
	return k;
}

static void
a_link_is_late_after_60_s(void **state)
{
	char link[LOGIN_TEXT_MAX];
	struct logins l = {0};
	struct login_keys k;

	assert_int_equal(login_link_new(&l, START, link), 0);
	assert_int_equal(login_enter(&l, START + LOGIN_LINK_NS, link, &k), -ENOENT);
	assert_int_equal(login_enter(&l, START, link, &k), -ENOENT); /* it is gone */
	assert_int_equal(login_link_new(&l, START, link), 0);
	assert_int_equal(login_enter(&l, START + LOGIN_LINK_NS - 1, link, &k), 0);
}

static void
a_link_works_once_and_twice_ends_its_login(void **state)
{
	char link[LOGIN_TEXT_MAX];
	struct logins l = {0};
	struct login_keys k, other = entered(&l, START), again;

	assert_int_equal(login_link_new(&l, START, link), 0);
	assert_int_equal(login_enter(&l, START, link, &k), 0);
	assert_non_null(login_find(&l, START, k.cookie, k.page, true));
	assert_int_equal(login_enter(&l, START, link, &again), -EALREADY);
	assert_null(login_find(&l, START, k.cookie, k.page, true));
	assert_int_equal(login_enter(&l, START, link, &again), -ENOENT);
	assert_non_null(login_find(&l, START, other.cookie, other.page, true));
}

static void
a_login_ends_after_15_idle_minutes(void **state)
{
	struct logins l = {0};
	struct login_keys k = entered(&l, START);
	uint64_t now = START + LOGIN_IDLE_NS - 1;

	/* what the page asks by itself does not count */
	assert_non_null(login_find(&l, now, k.cookie, k.page, false));
	assert_null(login_find(&l, now + 1, k.cookie, k.page, false));
	k = entered(&l, START);
	assert_non_null(login_find(&l, now, k.cookie, k.page, true));
	assert_non_null(login_find(&l, now + LOGIN_IDLE_NS - 1, k.cookie, k.page, true));
}

static void
a_login_ends_after_8_hours_of_use(void **state)
{
	struct logins l = {0};
	struct login_keys k = entered(&l, START);
	uint64_t now = START;

	for (; now < START + LOGIN_LIFE_NS; now += LOGIN_IDLE_NS / 2)
		assert_non_null(login_find(&l, now, k.cookie, k.page, true));
	assert_null(login_find(&l, START + LOGIN_LIFE_NS, k.cookie, k.page, true));
}

static void
both_secrets_of_one_login_are_needed(void **state)
{
	struct logins l = {0};
	struct login_keys a = entered(&l, START), b = entered(&l, START);
	static const char zero[] = "00000000000000000000000000000000";

	assert_string_not_equal(a.cookie, b.cookie);
	assert_string_not_equal(a.cookie, a.page);
	assert_non_null(login_find(&l, START, a.cookie, a.page, true));
	assert_null(login_find(&l, START, a.cookie, b.page, true));
	assert_null(login_find(&l, START, a.page, a.cookie, true));
	assert_null(login_find(&l, START, a.cookie, NULL, true));
	assert_null(login_find(&l, START, NULL, a.page, true));
	/* a place that is free belongs to nobody */
	assert_null(login_find(&l, START, zero, zero, true));
	login_end(login_find(&l, START, a.cookie, a.page, true));
	assert_null(login_find(&l, START, zero, zero, true));
	assert_null(login_find(&l, START, a.cookie, a.page, true));
	assert_non_null(login_find(&l, START, b.cookie, b.page, true));
}

static void
places_are_few_and_the_oldest_is_replaced(void **state)
{
	char link[LOGIN_LINKS_MAX + 1][LOGIN_TEXT_MAX];
	struct login_keys k[LOGINS_MAX + 1], none;
	struct logins l = {0};

	for (size_t i = 0; i <= LOGIN_LINKS_MAX; i++)
		assert_int_equal(login_link_new(&l, START + i, link[i]), 0);
	assert_int_equal(login_enter(&l, START + 9, link[0], &none), -ENOENT);
	assert_int_equal(login_enter(&l, START + 9, link[1], &none), 0);
	for (size_t i = 0; i <= LOGINS_MAX; i++)
		k[i] = entered(&l, START + 10 + i);
	assert_null(login_find(&l, START + 99, k[0].cookie, k[0].page, true));
	for (size_t i = 1; i <= LOGINS_MAX; i++)
		assert_non_null(login_find(&l, START + 99, k[i].cookie, k[i].page, true));
}

static void
requests_of_other_pages_are_refused(void **state)
{
	static const struct http_request get = {
	    .method = "GET", .path = "/api/login", .host = HERE};
	static const struct http_request post = {.method = "POST",
	    .path = "/api/login",
	    .host = HERE,
	    .origin = "http://" HERE,
	    .type = "application/json"};
	static const struct http_request remove = {.method = "DELETE",
	    .path = "/api/mcp/x",
	    .host = HERE,
	    .origin = "http://" HERE};
	struct http_request q[] = {get, get, get, get, get, post, post, post, post, post,
	    post, post, remove, remove, remove};
	static const unsigned int status[] = {
	    421, 421, 403, 403, 400, 403, 403, 403, 415, 415, 413, 405, 403, 403, 405};
	const char *why = NULL;

	q[0].host = NULL;
	q[1].host = "127.0.0.1:4000";
	q[2].origin = "http://localhost:40000";
	q[3].fetch_site = "same-site"; /* another port */
	q[4].repeated = true;
	q[5].origin = NULL;
	q[6].origin = "null";
	q[7].fetch_site = "cross-site";
	q[8].type = NULL;
	q[9].type = "text/plain";
	q[10].too_large = true;
	q[11].path = "/";
	q[12].origin = NULL;
	q[13].fetch_site = "same-site";
	q[14].path = "/";
	assert_int_equal(request_check(&remove, HERE, &why), 0);
	assert_int_equal(request_check(&get, HERE, &why), 0);
	assert_int_equal(request_check(&post, HERE, &why), 0);
	for (size_t i = 0; i < ARRAY_LEN(q); i++) {
		assert_int_equal(request_check(&q[i], HERE, &why), status[i]);
		assert_non_null(why);
	}
	/* a page is opened from anywhere: it contains nothing */
	q[3].path = "/";
	assert_int_equal(request_check(&q[3], HERE, &why), 0);
}

/* ---- the sockets of the run directory ------------------------------------------------ */

#define SESSION 4711 /* its socket is ask-4711 */

static struct {
	char home[64], run[96];
	int session, keeper; /* listening */
	int pair[2];         /* the launcher, the server */
} at;

static int
listen_at(const char *name)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	(void)snprintf(to.sun_path, sizeof(to.sun_path), "%s/%s", at.run, name);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(listen(fd, 8), 0);
	return fd;
}

static int
run_dir_made(void **state)
{
	(void)snprintf(at.home, sizeof(at.home), "/tmp/test_console.XXXXXX");
	if (mkdtemp(at.home) == NULL || setenv("KENNEL_HOME", at.home, 1) < 0)
		return -1;
	(void)snprintf(at.run, sizeof(at.run), "%s/run", at.home);
	if (mkdir(at.run, 0700) < 0 || fd_pair(at.pair) < 0)
		return -1;
	at.session = listen_at("ask-4711");
	at.keeper = listen_at("keeper.sock");
	(void)close(listen_at("ask-4712")); /* of a session that was killed */
	(void)close(listen_at("ask-47x"));
	(void)close(listen_at("ask-"));
	return paths_run_dir() != NULL && strcmp(paths_run_dir(), at.run) == 0 ? 0 : -1;
}

static int
run_dir_removed(void **state)
{
	static const char *const names[] = {
	    "ask-4711", "keeper.sock", "ask-4712", "ask-47x", "ask-"};
	char path[128];

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", at.run, names[i]);
		(void)unlink(path); /* the next removal reports it */
	}
	(void)close(at.session);
	(void)close(at.keeper);
	(void)close(at.pair[0]);
	(void)close(at.pair[1]);
	return rmdir(at.run) < 0 || rmdir(at.home) < 0;
}

/* What the launcher does, while its server (a child) runs. */
static int
status_of(int (*server)(void))
{
	struct pollfd wait = {at.pair[0], POLLIN, 0};
	pid_t pid = test_fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		syscall(SYS_exit_group, server());
	while (waitpid(pid, &status, WNOHANG) == 0)
		if (poll(&wait, 1, 20) > 0)
			(void)session_sockets_answer(at.pair[0]);
	return status;
}

static int
confine_as_server(void)
{
	return confine_syscalls(console_syscalls, ARRAY_LEN(console_syscalls)) < 0 ? 9
										   : 0;
}

static int
connect_to_keeper(void)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	(void)snprintf(to.sun_path, sizeof(to.sun_path), "%s/keeper.sock", at.run);
	return fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0 ? 0 : 1;
}

static int
confined_connects(void)
{
	return confine_as_server() + connect_to_keeper();
}

/* With a socket that it has, such as the one of its launcher. */
static int
confined_connects_its_own(void)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	(void)snprintf(to.sun_path, sizeof(to.sun_path), "%s/keeper.sock", at.run);
	if (confine_as_server() != 0)
		return 9;
	return connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0 ? 0 : 1;
}

static int
confined_opens(void)
{
	return confine_as_server() != 0 || open("/dev/null", O_RDONLY | O_CLOEXEC) < 0;
}

static int
confined_asks(void)
{
	struct session_sockets s = {.launcher = at.pair[1]};
	uint8_t memory[16];
	struct wire_out out;
	long pid[8];
	size_t n;
	int fd;

	if (confine_as_server() != 0)
		return 9;
	n = session_sockets_list(&s, pid, ARRAY_LEN(pid));
	if (n != 2 || pid[0] + pid[1] != SESSION + SESSION + 1)
		return 1;
	if (session_sockets_connect(&s, SESSION + 1) != -ECONNREFUSED ||
	    session_sockets_connect(&s, SESSION + 2) != -ENOENT ||
	    session_sockets_connect(&s, 0) != -ENOENT)
		return 2;
	fd = session_sockets_connect(&s, SESSION);
	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, SESSION);
	return fd >= 0 && wire_send(fd, &out, NULL, 0) == 0 ? 0 : 3;
}

static bool
was_killed(int status)
{
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
}

static void
a_confined_server_reaches_sessions_and_no_other_socket(void **state)
{
	static const uint32_t channel[] = {APPROVE_CHANNEL, VIA_CONSOLE_FINAL};
	uint32_t got = 0, first[3] = {0};
	int fd;

	assert_int_equal(status_of(connect_to_keeper), 0); /* the control */
	assert_true(was_killed(status_of(confined_connects)));
	assert_true(was_killed(status_of(confined_connects_its_own)));
	assert_true(was_killed(status_of(confined_opens)));
	assert_int_equal(status_of(confined_asks), 0);
	fd = accept(at.session, NULL, NULL);
	assert_true(fd >= 0);
	/* the launcher has restricted the connection before the server got it */
	assert_int_equal(read(fd, first, sizeof(first)), sizeof(channel));
	assert_memory_equal(first, channel, sizeof(channel));
	assert_int_equal(read(fd, &got, sizeof(got)), sizeof(got));
	assert_int_equal(got, SESSION);
	(void)close(fd);
}

/* A server that is taken over sends what it likes. */
static void
the_launcher_answers_valid_requests_only(void **state)
{
	static const uint32_t packet[][4] = {{SESSIONS_LIST}, {SESSIONS_LIST, 1, 1},
	    {SESSIONS_CONNECT, 1}, {SESSIONS_CONNECT, 1, SESSION, 0},
	    {SESSIONS_LISTED, 1}, {6, 1}, {0, 1}};
	static const size_t words[] = {1, 3, 2, 4, 2, 2, 2};

	for (size_t i = 0; i < ARRAY_LEN(packet); i++) {
		assert_true(
		    write(at.pair[1], packet[i], words[i] * sizeof(packet[i][0])) > 0);
		assert_int_equal(session_sockets_answer(at.pair[0]), -EBADMSG);
	}
}

/* Answers that come late are not taken for those of the next request. */
static void
a_late_answer_is_passed_over(void **state)
{
	struct session_sockets s = {.launcher = at.pair[1], .number = 6};
	static const uint32_t late[] = {SESSIONS_CONNECTED, 6, 0},
			      next[] = {SESSIONS_CONNECTED, 7, EACCES};

	assert_int_equal(write(at.pair[0], late, sizeof(late)), sizeof(late));
	assert_int_equal(write(at.pair[0], next, sizeof(next)), sizeof(next));
	assert_int_equal(session_sockets_connect(&s, SESSION), -EACCES);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_link_is_late_after_60_s),
	    cmocka_unit_test(a_link_works_once_and_twice_ends_its_login),
	    cmocka_unit_test(a_login_ends_after_15_idle_minutes),
	    cmocka_unit_test(a_login_ends_after_8_hours_of_use),
	    cmocka_unit_test(both_secrets_of_one_login_are_needed),
	    cmocka_unit_test(places_are_few_and_the_oldest_is_replaced),
	    cmocka_unit_test(requests_of_other_pages_are_refused),
	    cmocka_unit_test(a_confined_server_reaches_sessions_and_no_other_socket),
	    cmocka_unit_test(the_launcher_answers_valid_requests_only),
	    cmocka_unit_test(a_late_answer_is_passed_over),
	};

	return cmocka_run_group_tests(tests, run_dir_made, run_dir_removed);
}
