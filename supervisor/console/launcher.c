/*
 * Runs commands of kennel for the server of the page.
 */
#include "supervisor/console/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/base/loop.h"
#include "shim/base/wire.h"
#include "shim/host/install_path.h"
#include "supervisor/approve/approve.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/console/browser.h"
#include "supervisor/console/commands.h"
#include "supervisor/console/session_sockets.h"

#define WORDS_MAX 8
#define COMMAND_S 30
#define FORM_S    330  /* longer than a form is open */
#define VERIFY_S  300  /* a whole log is read twice */
#define REPORT_MS 1000 /* between two of a kind */
#define END_MS    3000 /* for commands to end by themselves: a form records that it did */

/* What the server asks for; its texts are part of the packet. */
struct call {
	uint32_t id;
	enum command command;
	const char *word[COMMAND_WORDS_MAX];
	size_t word_n;
	int input; /* what it reads; -1: nothing */
};

struct launcher {
	const struct launcher_order *o;
	struct loop loop;
	int signals; /* a signalfd */
	char kennel[PATH_MAX];
	struct {
		pid_t pid; /* 0: free */
		uint32_t id;
	} child[COMMANDS_MAX];
	bool is_ready;                  /* said once */
	uint64_t reported_at[REPORT_N]; /* loop_now() */
	bool ended;                     /* by a signal */
};

/* The options of COMMAND_LOG, in the order of views.c. */
#define LOG_OPTIONS \
	.words = 6, .option = {"--before=", "--after=", "--server=", "--kind=", \
			"--verdict=", "--contains="}

/* The rows of enum command. */
static const struct {
	const char *word[WORDS_MAX];
	size_t words;                          /* of the server, that follow */
	const char *option[COMMAND_WORDS_MAX]; /* "--kind=": before the word, if it is
						* not empty; NULL: an argument */
	bool messages;  /* its messages are part of what it prints */
	bool reads;     /* a pipe of the server's */
	unsigned int s; /* then it is killed; 0: COMMAND_S */
} commands[] = {
    [COMMAND_SERVERS] = {{"server", "list", "--json", "--tools"}, .words = 0},
    [COMMAND_ENABLE] = {{"server", "enable"}, .words = 2, .option = {"--generation="},
	.messages = true},
    [COMMAND_DISABLE] = {{"server", "disable"}, .words = 1, .messages = true},
    [COMMAND_SECRETS] = {{"secret", "list", "--json", "--all"}, .words = 0},
    [COMMAND_VERSIONS] = {{"secret", "versions", "--json"}, .words = 0},
    [COMMAND_LOG] = {{"audit", "log", "--json", "-n", "500"}, LOG_OPTIONS},
    [COMMAND_ALLOW] = {{"approve", "allow", "--stdin"}, .words = 1, .option = {"--as="},
	.messages = true, .reads = true},
    [COMMAND_LOG_VERIFIED] = {{"audit", "log", "--json", "-n", "500", "--verified"},
	LOG_OPTIONS, .s = VERIFY_S},
    /* 20 s to connect, and the end of a server that does not end by itself */
    [COMMAND_ADD] = {{"server", "add", "--json", "--connect"}, .reads = true, .s = 60},
    [COMMAND_REMOVE] = {{"server", "remove"}, .words = 1, .messages = true},
    [COMMAND_SCORES] = {{"policy", "score", "--all", "--json"}, .words = 0},
    [COMMAND_CHECK] = {{"policy", "check", "--all", "--json"}, .words = 0},
    [COMMAND_EXPLAIN] = {{"policy", "explain", "--request", "--json"}, .reads = true},
    [COMMAND_KEYS] = {{"secret", "key", "list", "--json"}, .words = 0},
    [COMMAND_KEY_CHALLENGE] = {{"secret", "key", "challenge"}, .words = 1,
	.messages = true},
    [COMMAND_KEY_CONFIRM] = {{"secret", "key", "confirm"}, .words = 1, .messages = true,
	.reads = true},
    [COMMAND_FORM_SET] = {{"secret", "form", "value"}, .words = 2,
	.option = {"--project="}, .messages = true, .s = FORM_S},
    [COMMAND_FORM_ROTATE] = {{"secret", "form", "value", "--rotate"}, .words = 2,
	.option = {"--project="}, .messages = true, .s = FORM_S},
    [COMMAND_FORM_KEY] = {{"secret", "form", "key"}, .words = 0, .messages = true,
	.s = FORM_S},
    [COMMAND_RECORD] = {{"console", "record", "page"}, .words = 2},
};

/* No option, and nothing that a terminal or a log takes for something else. option: that
 * the word is the value of, and part of its argument; or NULL. */
static bool
word_fits(const char *word, const char *option)
{
	size_t len = strlen(word);

	if (len > COMMAND_WORD_MAX || (option == NULL && (len == 0 || word[0] == '-')))
		return false;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)word[i] < ' ' || word[i] == 0x7f)
			return false;
	return true;
}

bool
command_words_fit(enum command c, const char *const word[], size_t n)
{
	if (c >= COMMAND_N || commands[c].words != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!word_fits(word[i], commands[c].option[i]))
			return false;
	return true;
}

/* ---- a command ---------------------------------------------------------------------- */

/* In the child: adds what the server sent, each word after its option. */
static size_t
put_words(const struct call *call, char *argv[], size_t n)
{
	static char value[COMMAND_WORDS_MAX][COMMAND_WORD_MAX + 32];

	for (size_t i = 0; i < call->word_n; i++) {
		const char *option = commands[call->command].option[i];

		if (call->word[i][0] == '\0')
			continue;
		(void)snprintf(value[i], sizeof(value[i]), "%s%s",
		    option != NULL ? option : "", call->word[i]); /* fits */
		argv[n++] = value[i];
	}
	return n;
}

/* In the child. */
static void
become(const struct launcher *l, const struct call *call, int out)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	char *argv[WORDS_MAX + COMMAND_WORDS_MAX + 2] = {(char *)"kennel"};
	enum command c = call->command;
	size_t n = 1;

	for (size_t i = 0; i < WORDS_MAX && commands[c].word[i] != NULL; i++)
		argv[n++] = (char *)(uintptr_t)commands[c].word[i];
	argv[put_words(call, argv, n)] = NULL;
	launcher_release();
	(void)setenv(APPROVE_CHANNEL_VARIABLE, "console", 1); /* a hint for the log */
	if (null < 0 || dup2(call->input >= 0 ? call->input : null, STDIN_FILENO) < 0 ||
	    dup2(out, STDOUT_FILENO) < 0 ||
	    dup2(commands[c].messages ? out : null, STDERR_FILENO) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGTERM) < 0)
		_exit(EXIT_FAILED);
	/* ends it, also after the exec */
	(void)alarm(commands[c].s != 0 ? commands[c].s : COMMAND_S);
	(void)execv(l->kennel, argv);
	_exit(EXIT_FAILED);
}

static void
to_server(struct launcher *l, const struct wire_out *out, int fd)
{
	/* A server that does not read has ended, or is ended. */
	if (wire_send(l->o->socket, out, &fd, fd >= 0) < 0)
		loop_stop(&l->loop);
}

static void
report_end(struct launcher *l, uint32_t id, int status)
{
	uint8_t memory[COMMAND_PACKET_MAX];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, COMMAND_ENDED);
	wire_put_u32(&out, id);
	wire_put_u32(
	    &out, (uint32_t)(WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED));
	to_server(l, &out, -1);
}

static void
report_start(struct launcher *l, uint32_t id, int fd)
{
	uint8_t memory[COMMAND_PACKET_MAX];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, COMMAND_STARTED);
	wire_put_u32(&out, id);
	to_server(l, &out, fd);
}

/* 0 or -errno. */
static int
start(struct launcher *l, const struct call *call)
{
	size_t at = 0;
	int out[2];
	pid_t pid;

	while (at < COMMANDS_MAX && l->child[at].pid != 0)
		at++;
	if (at == COMMANDS_MAX)
		return -EAGAIN;
	if (pipe2(out, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		become(l, call, out[1]);
	fd_close(&out[1]);
	if (pid > 0) {
		l->child[at].pid = pid;
		l->child[at].id = call->id;
		report_start(l, call->id, out[0]);
	}
	fd_close(&out[0]);
	return pid < 0 ? -EAGAIN : 0;
}

/* ---- the server --------------------------------------------------------------------- */

static void
on_late(struct loop *loop, void *arg)
{
	struct launcher *l = arg;

	l->o->late(l->o->arg);
}

static int
read_call(struct wire_in *in, int input, struct call *ret)
{
	uint32_t n;

	*ret = (struct call){.id = wire_get_u32(in), .input = input};
	ret->command = wire_get_u32(in);
	n = wire_get_u32(in);
	for (uint32_t i = 0; i < n && i < COMMAND_WORDS_MAX; i++)
		ret->word[ret->word_n++] = wire_get_str(in, COMMAND_WORD_MAX);
	if (wire_end(in) < 0 || n > COMMAND_WORDS_MAX ||
	    !command_words_fit(ret->command, ret->word, ret->word_n) ||
	    commands[ret->command].reads != (input >= 0))
		return -EBADMSG;
	return 0;
}

/* A server that is taken over chooses a row and a number, and no text. */
static int
print_report(struct launcher *l, struct wire_in *in)
{
	uint32_t what = wire_get_u32(in), number = wire_get_u32(in);
	uint64_t now = loop_now();

	if (wire_end(in) < 0 || what >= REPORT_N)
		return -EBADMSG;
	if (now - l->reported_at[what] < REPORT_MS * LOOP_MS)
		return 0;
	l->reported_at[what] = now;
	if (what == REPORT_LINK_GIVEN)
		log_info("process %u asked for a link", number);
	else if (what == REPORT_LINK_REUSED)
		log_warn("a link was opened a second time; its login has ended");
	else if (what == REPORT_UNRECORDED)
		log_warn("unable to record in the audit log what the console refused");
	else
		log_error("unable to %s: %s",
		    what == REPORT_UNCONFINED ? "confine kennel-console"
					      : "wait for events",
		    strerror((int)number));
	return 0;
}

static int
take(struct launcher *l, struct wire_in *in, int input)
{
	uint32_t type = wire_get_u32(in);
	struct call call;

	if (type == COMMAND_READY && wire_end(in) == 0 && !l->is_ready) {
		l->is_ready = true;
		l->o->ready(l->o->arg);
		return loop_timer_at(
		    &l->loop, loop_now() + BROWSER_PAGE_MS * LOOP_MS, on_late, l);
	}
	if (type == COMMAND_REPORT)
		return print_report(l, in);
	if (type != COMMAND_RUN || read_call(in, input, &call) < 0)
		return -EBADMSG;
	if (start(l, &call) < 0)
		report_end(l, call.id, -1);
	return 0;
}

static void
on_server(struct loop *loop, int fd, short revents, void *arg)
{
	uint8_t memory[COMMAND_PACKET_MAX];
	struct launcher *l = arg;
	struct wire_in in;
	size_t len, inputs;
	int input = -1;
	int r = wire_recv(fd, memory, sizeof(memory), &len, &input, 1, &inputs);

	if (r == 0) {
		wire_in_init(&in, memory, len);
		r = take(l, &in, input);
		fd_close(&input);
	}
	if (r == -EBADMSG)
		log_error("kennel-console sent an invalid message; ending it");
	if (r < 0)
		loop_stop(loop);
}

static void
on_sessions(struct loop *loop, int fd, short revents, void *arg)
{
	int r = session_sockets_answer(fd);

	if (r == -EBADMSG)
		log_error("kennel-console sent an invalid message; ending it");
	if (r < 0)
		loop_stop(loop);
}

/* ---- signals ------------------------------------------------------------------------ */

static void
signals_of(sigset_t *ret)
{
	static const int waited[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP};

	(void)sigemptyset(ret);
	for (size_t i = 0; i < ARRAY_LEN(waited); i++)
		(void)sigaddset(ret, waited[i]);
}

void
launcher_prepare(void)
{
	sigset_t set;

	signals_of(&set);
	(void)sigprocmask(SIG_BLOCK, &set, NULL); /* cannot fail: valid */
}

void
launcher_release(void)
{
	sigset_t set;

	signals_of(&set);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL); /* the same */
}

static void
reap(struct launcher *l)
{
	int status;

	for (size_t i = 0; i < COMMANDS_MAX; i++)
		if (l->child[i].pid != 0 &&
		    waitpid(l->child[i].pid, &status, WNOHANG) == l->child[i].pid) {
			l->child[i].pid = 0;
			report_end(l, l->child[i].id, status);
		}
}

static void
on_signal(struct loop *loop, int fd, short revents, void *arg)
{
	struct launcher *l = arg;
	struct signalfd_siginfo info;

	while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		if (info.ssi_signo != SIGCHLD) {
			l->ended = true;
			loop_stop(loop);
		}
	reap(l);
}

/* ---- records of its own ---------------------------------------------------------------- */

static const char *
kennel_path(char path[PATH_MAX])
{
	const char *prefix = install_prefix(); /* .../libexec */

	(void)snprintf(path, PATH_MAX, "%s/../bin/kennel", prefix != NULL ? prefix : "");
	return path;
}

int
launcher_record(const char *event)
{
	char path[PATH_MAX];
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		char *argv[] = {(char *)"kennel", (char *)"console", (char *)"record",
		    (char *)(uintptr_t)event, NULL};

		launcher_release();
		(void)alarm(COMMAND_S); /* ends it, also after the exec */
		(void)execv(kennel_path(path), argv);
		_exit(EXIT_FAILED);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
}

/* ---- begin and end ------------------------------------------------------------------ */

static void
open_all(struct launcher *l)
{
	sigset_t set;
	int r;

	(void)kennel_path(l->kennel);
	loop_init(&l->loop);
	signals_of(&set);
	l->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (l->signals < 0)
		die("unable to wait for signals: %s", strerror(errno));
	r = loop_add(&l->loop, l->signals, POLLIN, on_signal, l);
	if (r >= 0)
		r = loop_add(&l->loop, l->o->socket, POLLIN, on_server, l);
	if (r >= 0)
		r = loop_add(&l->loop, l->o->sessions, POLLIN, on_sessions, l);
	if (r < 0)
		die("unable to wait for events: %s", strerror(-r));
}

static bool
is_running(const struct launcher *l)
{
	for (size_t i = 0; i < COMMANDS_MAX; i++)
		if (l->child[i].pid != 0)
			return true;
	return false;
}

static void
signal_commands(const struct launcher *l, int number)
{
	for (size_t i = 0; i < COMMANDS_MAX; i++)
		if (l->child[i].pid != 0)
			(void)kill(l->child[i].pid, number); /* not reaped: still ours */
}

static void
end_commands(struct launcher *l)
{
	uint64_t end = loop_now() + END_MS * LOOP_MS, now;
	struct pollfd ready = {.fd = l->signals, .events = POLLIN};
	struct signalfd_siginfo info;

	signal_commands(l, SIGTERM);
	for (;;) {
		reap(l);
		now = loop_now();
		if (!is_running(l) || now >= end)
			break;
		(void)poll(&ready, 1, (int)((end - now) / LOOP_MS) + 1);
		while (read(l->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
			;
	}
	signal_commands(l, SIGKILL);
}

int
launcher_run(const struct launcher_order *order)
{
	static struct launcher l;

	l.o = order;
	open_all(&l);
	if (loop_run(&l.loop) < 0)
		log_error("unable to wait for events");
	end_commands(&l);
	(void)kill(order->server, SIGKILL); /* not reaped: still ours */
	while (waitpid(order->server, NULL, 0) < 0 && errno == EINTR)
		;
	order->late(order->arg);
	fd_close(&l.signals);
	if (l.ended)
		return 0;
	log_error("the console has ended; `kennel console` starts it again");
	return EXIT_FAILED;
}
