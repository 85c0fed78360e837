/*
 * kennel approve here: what is pending in all sessions is shown by a pinentry on this display
 * or terminal, and named in a notification.
 *
 *	sessions: ask-PID ---- QUESTION ----> this process ---- text ----> kennel-secret dialogs
 *	                  <--- ANSWER -------              <--- answer --          |
 *	                                                        a value  --> kennel-keeper
 *
 * Process: kennel, as the calling user, who started it. One dialog at a time; one that is
 * answered elsewhere, or has expired, is terminated. Trusts no text of a session: the lines of
 * a dialog are those of detail_lines.c. Holds no value and no passphrase.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/hex.h"
#include "shim/base/log.h"
#include "shim/base/loop.h"
#include "supervisor/answer/detail_lines.h"
#include "supervisor/answer/private.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/cli/cli.h"
#include "supervisor/cli/secret.h"
#include "supervisor/help/help.h"
#include "supervisor/json/json.h"
#include "supervisor/launch/launch.h"
#include "supervisor/serve/tools/settings.h"

#define PINENTRY    "/usr/bin/pinentry"
#define LINE_WIDTH  72
#define FRAME       5 /* columns of pinentry-curses beside a text: 50 show 45 unbroken */
#define LINES_MAX   100 /* of a dialog; what is longer is not allowed in one */
#define TEXT_CAP    (24u << 10)
#define SHOWN_MAX   256 /* dialogs that are not opened again */
#define NOTIFY_NS   (10000 * LOOP_MS)
#define ANSWER_CAP  128
#define MS_PER_S    1000u
#define NAME_CAP    128
#define CANNOT_SHOW 78 /* exit status of kennel-secret: the pinentry does not start */

struct here {
	struct open_list list;
	const char *pinentry; /* NULL: notifications only */
	bool notify;
	uint64_t notified_at; /* loop_now(); 0: not yet */
	pid_t notifier;       /* 0: none */
	/* ---- the dialog that is open ---- */
	pid_t child; /* 0: none */
	int answer;
	bool over; /* it was answered elsewhere, or expired */
	struct approval_id id;
	struct approval_found what;
	char text[QUESTION_ID_MAX];
	bool logged;                /* the value that is typed is in the audit log */
	struct value_grants grants; /* of its value: those that are missing */
	bool agreed;                /* to these */
	/* ---- those that were open ---- */
	struct {
		long pid;
		uint32_t number;
	} shown[SHOWN_MAX];
	size_t shown_n;
	struct termios terminal;
	bool has_terminal, quiet, cannot_show;
};

static volatile sig_atomic_t interrupted;

/* ---- what is shown -------------------------------------------------------------------- */

static bool
is_value(uint32_t kind)
{
	return kind == QUESTION_PROVISION || kind == QUESTION_ROTATION;
}

static bool
was_shown(const struct here *h, const struct approval *a)
{
	for (size_t i = 0; i < h->shown_n && i < SHOWN_MAX; i++)
		if (h->shown[i].pid == a->pid && h->shown[i].number == a->number)
			return true;
	return false;
}

/* A member of a request for a value that says nothing: null, and no text that ends so. */
static bool
is_empty(const struct approval *a, const char *line)
{
	static const char null[] = ": null";
	size_t len = strlen(line), n = sizeof(null) - 1;

	return is_value(a->kind) && len > n && strcmp(line + len - n, null) == 0;
}

/* The id of a policy, which is shown when it is asked about (secret_value_grants.c). */
static bool
is_policy(const struct approval *a, const char *line)
{
	return is_value(a->kind) &&
	       strncmp(line + strspn(line, " "), "policy: \"", 9) == 0;
}

/* A pinentry breaks a line that is wider than the terminal, and its rest would look like a
 * line of kennel's. */
static int
line_width(void)
{
	struct winsize size;
	int columns = LINE_WIDTH + FRAME;

	if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > FRAME)
		columns = size.ws_col < columns ? size.ws_col : columns;
	return columns - FRAME;
}

/* The text of a dialog. False: it has more lines than a dialog shows. */
static bool
make_text(const struct approval *a, char out[TEXT_CAP])
{
	static const char more[] = "It is not shown whole here.\n"
				   "To allow it: kennel approve watch\n";
	struct detail_lines l = {0};
	bool whole, policy = false;
	size_t n = 0, i = 0;

	out[0] = '\0';
	if (detail_lines_make(a, line_width(), &l) < 0)
		return false;
	for (; i < l.n && i < LINES_MAX && n + LINE_WIDTH + 2 + sizeof(more) < TEXT_CAP;
	     i++) {
		char *line = l.line[i].text;

		policy = is_policy(a, line) ||
			 (policy && strncmp(line, DETAIL_CONTINUATION, 4) == 0);
		if (policy || is_empty(a, line))
			continue;
		/* some pinentries drop blanks: what is not ours begins with a mark */
		if (line[0] == ' ')
			line[0] = '|';
		n += (size_t)snprintf(
		    out + n, TEXT_CAP - n, "%.*s\n", LINE_WIDTH, line); /* fits */
	}
	whole = i == l.n && a->cut == 0;
	detail_lines_free(&l);
	if (!whole)
		(void)snprintf(out + n, TEXT_CAP - n, "%s", more); /* fits */
	return whole;
}

/* The project that an agent's request is about, for the format of the value. */
static const char *
project_of(const struct approval *a, char *out, size_t cap)
{
	struct json_message m;
	struct json project;
	size_t len;

	if (json_scan((const uint8_t *)a->detail, strlen(a->detail), &m) < 0 ||
	    json_get(m.root, "project", &project) < 0 ||
	    json_text(project, out, cap, &len) < 0)
		return NULL;
	return out;
}

/* A name in a notification, where some servers read markup: no link, no picture. */
static const char *
plain_name(char out[NAME_CAP], const char *text)
{
	(void)inert_text(out, NAME_CAP, text); /* cut */
	for (char *p = out; *p != '\0'; p++)
		if (*p == '<' || *p == '>' || *p == '&')
			*p = '?';
	return out;
}

static void
notify(struct here *h, const struct approval *a)
{
	char *word[] = {(char *)"notify", NULL};
	char server[NAME_CAP], method[NAME_CAP], subject[NAME_CAP], text[4 * NAME_CAP];
	uint64_t now = loop_now();
	int answer = -1;

	if (!h->notify || h->notifier != 0 ||
	    (h->notified_at != 0 && now - h->notified_at < NOTIFY_NS))
		return;
	(void)plain_name(server, a->server);
	(void)plain_name(subject, a->subject);
	(void)snprintf(text, sizeof(text), "%s: %s%s%s %s", server,
	    question_kind_name((enum question_kind)a->kind),
	    a->method[0] != '\0' ? " " : "", plain_name(method, a->method),
	    subject); /* fits */
	h->notified_at = now;
	if (secret_dialog_start(
		word, &(struct dialog_text){text, NULL}, &h->notifier, &answer) < 0)
		h->notifier = 0; /* the dialog shows it */
	fd_close(&answer);
}

/* ---- a dialog --------------------------------------------------------------------------- */

/* Between the prompts of a pinentry, what is typed ahead is not shown either. */
static void
hide_typing(struct here *h)
{
	struct termios quiet;

	h->quiet = h->has_terminal && tcgetpgrp(STDIN_FILENO) == getpgrp();
	if (!h->quiet || tcgetattr(STDIN_FILENO, &h->terminal) < 0)
		return;
	quiet = h->terminal;
	quiet.c_lflag &= (tcflag_t)~ECHO;
	(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &quiet); /* the pinentry hides its own */
}

static void
restore_terminal(struct here *h)
{
	/* a pinentry of curses that was terminated leaves its screen */
	static const char leave[] = "\033[?1049l\033[?25h\033[0m\r\n";

	if (!h->quiet)
		return;
	h->quiet = false;
	if (h->over)
		(void)fd_write_all(STDOUT_FILENO, leave, sizeof(leave) - 1);
	(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &h->terminal);
}

/* Ends the one that is open, which says nothing any more. */
static void
terminate(struct here *h)
{
	h->over = true;
	(void)kill(h->child, SIGTERM); /* it is a child, and not yet waited for */
}

/* What the dialog says of servers without a grant; NULL: none is missing. */
static char *
find_grants(struct here *h, const char *path)
{
	h->agreed = false;
	value_grants_free(&h->grants);
	if (value_grants_find(path, &h->grants) < 0 || h->grants.n == 0)
		return NULL;
	return value_grants_text(&h->grants, line_width());
}

static void
open_dialog(struct here *h, const struct open_approval *o)
{
	static char text[TEXT_CAP], project[QUESTION_DETAIL_MAX];
	const struct approval *a = &o->a;
	char *grants = NULL;
	char hex[2 * QUESTION_DIGEST_LEN + 1], seconds[16];
	char *word[16] = {(char *)"dialogs", (char *)"--program", (char *)h->pinentry,
	    (char *)"--seconds", seconds};
	char *change[] = {(char *)(a->kind == QUESTION_ROTATION ? "rotate" : "set"),
	    h->what.subject, NULL};
	const char *shape = NULL;
	int n = 5;

	h->shown[h->shown_n % SHOWN_MAX].pid = a->pid;
	h->shown[h->shown_n++ % SHOWN_MAX].number = a->number;
	h->id = approval_id_of(a);
	(void)approval_id_text(a, h->text);
	h->what =
	    (struct approval_found){.kind = a->kind, .cut = a->cut, .factor = a->factor};
	memcpy(h->what.digest, a->digest.data, sizeof(h->what.digest));
	(void)snprintf(
	    h->what.subject, sizeof(h->what.subject), "%s", a->subject); /* fits */
	(void)snprintf(seconds, sizeof(seconds), "%u",
	    (unsigned int)(open_approval_left(o) / MS_PER_S + 1));
	if (!make_text(a, text) || a->factor == QUESTION_KEY)
		word[n++] = (char *)"--only-deny";
	if (a->destructive)
		word[n++] = (char *)"--destructive";
	if (is_value(a->kind)) {
		word[n++] = h->what.subject;
		grants = find_grants(h, a->subject);
		shape = secret_shape(a->subject, project_of(a, project, sizeof(project)));
	} else if (a->kind >= QUESTION_PROVISION)
		word[n++] = (char *)"--accept";
	else if (a->factor == QUESTION_PASSPHRASE) {
		word[n++] = (char *)"--digest";
		word[n++] = hex_put(hex, a->digest.data, a->digest.len);
	} else
		word[n++] = (char *)"--offer-session";
	if (shape != NULL) {
		word[n++] = (char *)"--shape";
		word[n++] = (char *)shape;
	}
	hide_typing(h);
	h->over = false;
	h->logged = is_value(a->kind) && vault_log_begin(2, change) == 0;
	if (is_value(a->kind) && !h->logged)
		goto out; /* it has reported why; a value is not stored without a record */
	if (secret_dialog_start(
		word, &(struct dialog_text){text, grants}, &h->child, &h->answer) < 0) {
		log_error("unable to start kennel-secret: %s is not shown", h->text);
		h->child = 0;
		if (h->logged)
			vault_log_end(EXIT_FAILED);
	}
out:
	free(grants);
	if (h->child == 0)
		restore_terminal(h);
}

/* ---- its end ------------------------------------------------------------------------------ */

static void
answer(struct here *h, enum question_answer what)
{
	const struct decision d = {.answer = what, .channel = VIA_PINENTRY};
	int r = session_answer(&h->id, &h->what, &d);

	if (r < 0)
		(void)approve_report(h->text, r);
	else
		printf("%s  %s\n", h->text, question_answer_name(what));
}

/* The steps that opened the vault, as lines before the answer: they are recorded, too. And
 * whether grants were agreed to. */
static const char *
record_steps(struct here *h, char *lines)
{
	char *last = lines;

	for (char *end; (end = strchr(last, '\n')) != NULL && end[1] != '\0';
	     last = end + 1) {
		char *word[] = {last, NULL};

		*end = '\0';
		if (strcmp(last, "grant") == 0)
			h->agreed = true; /* each grant has a record of its own */
		else if (vault_log_begin(1, word) == 0)
			vault_log_end(0);
	}
	last[strcspn(last, "\n")] = '\0';
	return last;
}

static void
act(struct here *h, const char *word)
{
	static const struct {
		const char *word;
		enum question_answer answer;
	} row[] = {
	    {"once", ANSWER_ONCE},
	    {"session", ANSWER_SESSION},
	    {"deny", ANSWER_DENY},
	};

	for (size_t i = 0; i < ARRAY_LEN(row); i++)
		if (strcmp(word, row[i].word) == 0) {
			answer(h, row[i].answer);
			return;
		}
	if (strcmp(word, "stored") == 0) {
		value_grants_give(&h->grants, h->what.subject, h->agreed);
		approve_saved(h->what.subject); /* settles it in every session */
		printf("%s  stored\n", h->text);
	} else if (strcmp(word, "accept") == 0)
		(void)approve_answer(h->text,
		    &(struct decision){.answer = ANSWER_ONCE, .channel = VIA_PINENTRY});
	else if (h->what.kind < QUESTION_PROVISION)
		printf("%s  left open\n",
		    h->text); /* also if the dialog died: no is no yes */
	else                  /* closed is cancelled; a dialog that died has failed */
		answer(h, strcmp(word, "closed") == 0 ? ANSWER_DENY : ANSWER_FAILED);
}

/* It has ended, or has said all that it says. */
static void
end_dialog(struct here *h)
{
	char lines[ANSWER_CAP] = "";
	const char *word;
	size_t len = 0;
	ssize_t n = 1;
	int status = 0;

	while (n != 0 && len < sizeof(lines) - 1) {
		n = read(h->answer, lines + len, sizeof(lines) - 1 - len);
		if (n < 0 && errno != EINTR)
			break;
		len += n > 0 ? (size_t)n : 0;
	}
	fd_close(&h->answer);
	while (waitpid(h->child, &status, 0) < 0 && errno == EINTR)
		;
	h->child = 0;
	status = exit_status(status);
	restore_terminal(h);
	if (h->logged)
		vault_log_end(strstr(lines, "stored\n") != NULL ? 0 : EXIT_INPUT);
	word = record_steps(h, lines);
	if (status == CANNOT_SHOW)
		h->cannot_show = true; /* the question stays open for other channels */
	else if (!h->over || strcmp(word, "stored") == 0)
		act(h, word);
	(void)fflush(stdout);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void
on_change(void *arg, const struct approval *a, enum question_answer how)
{
	struct here *h = arg;

	if (how == 0)
		notify(h, a);
	else if (h->child != 0 && a->pid == h->id.pid && a->number == h->id.number)
		terminate(h);
}

static void
open_next(struct here *h)
{
	for (size_t i = 0; h->pinentry != NULL && h->child == 0 && i < h->list.n; i++)
		if (!was_shown(h, &h->list.item[i].a) &&
		    open_approval_left(&h->list.item[i]) > 0)
			open_dialog(h, &h->list.item[i]);
}

static int
run(struct here *h)
{
	static struct pollfd wait[1 + SESSIONS_MAX];
	size_t n;

	while (!h->cannot_show && !interrupted) {
		open_list_look(&h->list);
		n = open_list_poll(&h->list, wait + 1);
		wait[0] = (struct pollfd){h->child != 0 ? h->answer : -1, POLLIN, 0};
		if (poll(wait, 1 + n, APPROVE_LOOK_MS) < 0 && errno != EINTR)
			return EXIT_FAILED;
		open_list_receive(&h->list, wait + 1);
		if (h->notifier != 0 && waitpid(h->notifier, NULL, WNOHANG) != 0)
			h->notifier = 0;
		if (wait[0].revents != 0)
			end_dialog(h);
		open_next(h);
	}
	if (h->child != 0) {
		terminate(h);
		end_dialog(h);
	}
	return interrupted ? 0 : EXIT_CONFIG; /* kennel-secret has reported it */
}

static void
on_signal(int signal)
{
	(void)signal;
	interrupted = 1;
}

/* ---- the command line ------------------------------------------------------------------------- */

/* Only root or this user may be able to write the program that is given a passphrase. */
static int
check_pinentry(const char *path)
{
	struct stat st;
	const char *why = NULL;

	if (path[0] != '/')
		why = "it is no absolute path";
	else if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || access(path, X_OK) < 0)
		why = "it is no program";
	else if ((st.st_uid != 0 && st.st_uid != geteuid()) ||
		 (st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		why = "another user may write it";
	if (why == NULL)
		return 0;
	log_error("unable to use the pinentry %s: %s; install pinentry, or name another "
		  "one with --pinentry",
	    path, why);
	return EXIT_CONFIG;
}

static int
read_channels(struct here *h)
{
	struct settings s;
	int r = settings_load(stderr, &s);

	h->notify = r == 0 && (s.channels & 1u << CHANNEL_NOTIFY) != 0;
	if (r == 0 && (s.channels & 1u << CHANNEL_PINENTRY) == 0)
		h->pinentry = NULL;
	settings_free(&s);
	if (r < 0)
		return EXIT_CONFIG;
	if (h->notify || h->pinentry != NULL)
		return 0;
	log_error(
	    "`channels` in settings.kennel has neither pinentry nor notify: add one, "
	    "or use kennel approve watch");
	return EXIT_CONFIG;
}

static bool
has_display(void)
{
	const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");

	return (x != NULL && x[0] != '\0') || (wayland != NULL && wayland[0] != '\0');
}

int
approve_here_main(int argc, char **argv)
{
	static struct here h = {.pinentry = PINENTRY, .answer = -1};
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
	const struct sigaction end = {.sa_handler = on_signal};
	int status;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--pinentry") != 0)
			return help_refuse(&approve_help, argv[0], argv[i]);
		if (++i == argc)
			return help_usage(&approve_help, argv[0], "expected a file");
		h.pinentry = argv[i];
	}
	h.list.fn = on_change;
	h.list.arg = &h;
	h.has_terminal = tcgetattr(STDIN_FILENO, &h.terminal) == 0;
	if (!h.has_terminal && !has_display()) {
		log_error(
		    "no terminal and no display to show dialogs on: start it on one");
		return EXIT_USAGE;
	}
	approve_channel_set(VIA_PINENTRY);
	status = read_channels(&h);
	if (status == 0 && h.pinentry != NULL)
		status = check_pinentry(h.pinentry);
	if (status != 0)
		return status;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		(void)sigaction(ends[i], &end, NULL); /* valid signals */
	printf("approvals are shown here until this command ends\n");
	(void)fflush(stdout);
	status = run(&h);
	open_list_free(&h.list);
	return status;
}
