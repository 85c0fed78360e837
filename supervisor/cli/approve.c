/*
 * kennel approve: lists pending approvals and sends the user's decision.
 *
 * Runs as the calling user. Escapes all untrusted text, so that an agent's request
 * cannot look like something else.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/hex.h"
#include "shim/base/log.h"
#include "shim/base/wire.h"
#include "supervisor/accept/accept.h"
#include "supervisor/approve/approve.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/person_socket.h"
#include "supervisor/cli/cli.h"
#include "supervisor/draft/npm_package.h"
#include "supervisor/help/help.h"

#define SOCKETS_MAX 256
#define LOOK_MS     1000 /* between two checks for new sessions */
#define DETAIL_SHOW (4 * QUESTION_DETAIL_MAX + 1) /* each byte may become four */
#define LINE_MAX_   256

struct shown { /* a pending approval as received */
	uint32_t number, kind, cut;
	uint64_t waits_ms, left_ms;
	const char *server, *subject, *detail, *rule, *because, *request;
	struct span digest;
};

struct said { /* the user's decision */
	enum question_answer answer;
	bool unseen;      /* --unseen: also if part of it was not shown */
	const char *name; /* --as: of a new path; NULL: the suggested one */
};

/* ---- talking to one session -------------------------------------------------- */

static int
say_list(int fd, uint32_t watching)
{
	uint8_t memory[32];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, APPROVE_LIST);
	wire_put_u32(&out, APPROVE_VERSION);
	wire_put_u32(&out, watching);
	return wire_send(fd, &out, NULL, 0);
}

static int
say_answer(int fd, uint32_t number, const struct said *said, struct span digest)
{
	uint8_t memory[64];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, APPROVE_ANSWER);
	wire_put_u32(&out, number);
	wire_put_u32(&out, said->answer);
	wire_put_u32(&out, said->unseen);
	wire_put_bytes(&out, digest.data, digest.len);
	return wire_send(fd, &out, NULL, 0);
}

/* Receives one packet before the deadline: its type and the rest. */
static int
hear(int fd, uint8_t memory[APPROVE_PACKET_MAX], uint32_t *ret_type, struct wire_in *ret)
{
	int r = person_receive(fd, memory, APPROVE_PACKET_MAX, ret);

	if (r < 0)
		return r;
	*ret_type = wire_get_u32(ret);
	return 0;
}

static int
question_read(struct wire_in *in, struct shown *ret)
{
	ret->number = wire_get_u32(in);
	ret->kind = wire_get_u32(in);
	ret->cut = wire_get_u32(in);
	ret->waits_ms = wire_get_u64(in);
	ret->left_ms = wire_get_u64(in);
	ret->server = wire_get_str(in, QUESTION_TEXT_MAX);
	ret->subject = wire_get_str(in, QUESTION_TEXT_MAX);
	ret->detail = wire_get_str(in, QUESTION_DETAIL_MAX);
	ret->rule = wire_get_str(in, QUESTION_TEXT_MAX);
	ret->because = wire_get_str(in, QUESTION_TEXT_MAX);
	ret->request = wire_get_str(in, QUESTION_REQUEST_MAX);
	ret->digest = wire_get_bytes(in, QUESTION_DIGEST_LEN);
	if (wire_end(in) < 0 || ret->digest.len != QUESTION_DIGEST_LEN)
		return -EBADMSG;
	return 0;
}

/* ---- showing ------------------------------------------------------------------- */

static void
show_text(const char *what, const char *text)
{
	static char quoted[DETAIL_SHOW];

	if (text[0] != '\0')
		printf("    %s %s\n", what,
		    log_quote(quoted, sizeof(quoted), text, strlen(text)));
}

static const char *
id_of(long pid, const struct shown *q)
{
	static char id[QUESTION_ID_MAX];

	return question_id(id, pid, q->number, q->digest.data);
}

static void
show(long pid, const struct shown *q)
{
	static char server[512], subject[DETAIL_SHOW];

	printf("%s  %s asks for the %s %s\n", id_of(pid, q),
	    log_quote(server, sizeof(server), q->server, strlen(q->server)),
	    question_kind_name((enum question_kind)q->kind),
	    log_quote(subject, sizeof(subject), q->subject, strlen(q->subject)));
	show_text("with   ", q->detail);
	if (q->cut != 0)
		printf("    (part of it is not shown: allow it with --unseen)\n");
	show_text("rule   ", q->rule);
	show_text("because", q->because);
	printf("    waits %llu s, %llu s left\n", (unsigned long long)q->waits_ms / 1000,
	    (unsigned long long)q->left_ms / 1000);
}

/* Is it the id of an agent's request? A session cannot make it anything else. */
static bool
is_request(const char *id)
{
	static const char prefix[] = "prov-";
	size_t n = sizeof(prefix) - 1;

	return strncmp(id, prefix, n) == 0 && hex_span(id + n) == 12 &&
	       id[n + 12] == '\0';
}

static void
show_json(long pid, const struct shown *q)
{
	const struct {
		const char *key, *text;
	} field[] = {
	    {"server", q->server},
	    {"kind", question_kind_name((enum question_kind)q->kind)},
	    {"subject", q->subject},
	    {"detail", q->detail},
	    {"rule", q->rule},
	    {"because", q->because},
	};

	printf("{\"id\":\"%s\"", id_of(pid, q));
	for (size_t i = 0; i < ARRAY_LEN(field); i++) {
		char *text = package_json_text(field[i].text);

		printf(",\"%s\":%s", field[i].key, text == NULL ? "null" : text);
		free(text);
	}
	printf(",\"whole\":%s,\"waits_ms\":%llu,\"left_ms\":%llu,\"sha256\":\"",
	    q->cut != 0 ? "false" : "true", (unsigned long long)q->waits_ms,
	    (unsigned long long)q->left_ms);
	hex_print(stdout, q->digest.data, q->digest.len);
	if (is_request(q->request))
		printf("\",\"request\":\"%s\"}\n", q->request);
	else
		printf("\",\"request\":null}\n");
}

/* ---- list ---------------------------------------------------------------------- */

typedef void shown_fn(long pid, const struct shown *);

/* Shows all pending approvals of one session: 0, or an errno. */
static int
list_one(long pid, shown_fn *fn)
{
	uint8_t memory[APPROVE_PACKET_MAX];
	int fd = person_connect(APPROVE_SOCKET, pid), r;
	struct wire_in in;
	struct shown q;
	uint32_t type = 0;

	if (fd < 0)
		return fd;
	r = say_list(fd, 0);
	while (r == 0 && (r = hear(fd, memory, &type, &in)) == 0 &&
	       type == APPROVE_QUESTION) {
		r = question_read(&in, &q);
		if (r == 0)
			fn(pid, &q);
	}
	fd_close(&fd);
	return r == 0 && type != APPROVE_END ? -EBADMSG : r;
}

static size_t listed; /* pending approvals listed */

static void
list_text(long pid, const struct shown *q)
{
	listed++;
	show(pid, q);
}

/* A socket without a process is left by a session that was killed. */
static bool
is_over(int r)
{
	return r == -ENOENT || r == -ECONNREFUSED;
}

static const char *
no_answer(int r)
{
	return r == -ETIMEDOUT ? "it did not answer in 5 s"
	       : r == -EAGAIN  ? "it accepts no connections"
			       : strerror(-r);
}

static int
list_main(int argc, char **argv)
{
	bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
	long pid[SOCKETS_MAX];
	size_t n, silent = 0;
	int r;

	if (argc > 1 + json)
		return help_refuse(&approve_help, argv[0], argv[1 + json]);
	n = person_sockets(APPROVE_SOCKET, pid, SOCKETS_MAX);
	for (size_t i = 0; i < n; i++) {
		r = list_one(pid[i], json ? show_json : list_text);
		if (r == 0 || is_over(r))
			continue;
		silent++;
		log_error("unable to list the session of process %ld: %s; what is "
			  "pending there is not shown",
		    pid[i], no_answer(r));
	}
	if (listed == 0 && silent == 0) /* no line of JSON says so */
		fprintf(json ? stderr : stdout, "nothing is pending\n");
	return fflush(stdout) != 0 || silent > 0 ? EXIT_FAILED : 0;
}

/* ---- allow, deny ----------------------------------------------------------------- */

/* "PID-NUMBER:DIGEST": any number of leading digits of the digest. */
struct id {
	long pid;
	uint32_t number;
	char digest[2 * QUESTION_DIGEST_LEN + 1];
};

static int
id_read(const char *text, struct id *ret)
{
	unsigned long number;
	char *end;
	size_t n;

	ret->pid = strtol(text, &end, 10);
	if (ret->pid <= 0 || *end != '-' || end[1] < '1' || end[1] > '9')
		return -EINVAL;
	number = strtoul(end + 1, &end, 10);
	if (number > UINT32_MAX)
		return -EINVAL;
	ret->number = (uint32_t)number;
	ret->digest[0] = '\0';
	if (*end == '\0')
		return 0;
	n = hex_span(end + 1);
	if (*end != ':' || n == 0 || n >= sizeof(ret->digest) || end[1 + n] != '\0')
		return -EINVAL;
	memcpy(ret->digest, end + 1, n + 1);
	return 0;
}

/* True if this is the approval that the user saw. */
static bool
id_names(const struct id *id, const struct shown *q)
{
	char hex[2 * QUESTION_DIGEST_LEN + 1];

	(void)hex_put(hex, q->digest.data, q->digest.len);
	return q->number == id->number &&
	       strncmp(hex, id->digest, strlen(id->digest)) == 0;
}

/* The answer must refer to what was shown, so it contains the session's own digest.
 * Returns 1 with *ret: a person has to do it before. */
static int
answer_at(
    int fd, const struct id *id, const struct said *said, struct accept_request *ret)
{
	uint8_t memory[APPROVE_PACKET_MAX], digest[QUESTION_DIGEST_LEN];
	struct wire_in in;
	struct shown q;
	struct said what = *said;
	uint32_t type = 0, error;
	bool found = false;
	int r = say_list(fd, 0);

	while (r == 0 && (r = hear(fd, memory, &type, &in)) == 0 &&
	       type == APPROVE_QUESTION) {
		r = question_read(&in, &q);
		if (r == 0 && id_names(id, &q)) {
			memcpy(digest, q.digest.data, sizeof(digest));
			found = true;
			if (q.kind >= QUESTION_PROVISION && said->answer == ANSWER_DENY)
				what.answer = ANSWER_CANCELLED;
			ret->kind = q.kind;
			ret->cut = q.cut;
			(void)snprintf(ret->subject, sizeof(ret->subject), "%s",
			    q.subject); /* fits */
			(void)snprintf(
			    ret->detail, sizeof(ret->detail), "%s", q.detail); /* fits */
		}
	}
	if (r == 0 && !found)
		return -ENOENT;
	if (r == 0 && ret->kind >= QUESTION_PROVISION && what.answer < ANSWER_OK)
		return what.answer == ANSWER_ONCE ? 1 : -EINVAL;
	if (r == 0)
		r = say_answer(
		    fd, id->number, &what, (struct span){digest, sizeof(digest)});
	if (r == 0)
		r = hear(fd, memory, &type, &in);
	if (r < 0)
		return r;
	error = wire_get_u32(&in);
	return type != APPROVE_TAKEN || wire_end(&in) < 0 ? -EBADMSG : -(int)error;
}

/* A value or a proposal: it is done here, then reported. */
static int
do_request(const char *text, const struct id *id, const struct said *said,
    const struct accept_request *q)
{
	struct said done = {.answer = ANSWER_OK};
	static struct accept_request again;
	bool changed = false;
	int fd, status, r;

	if (q->kind == QUESTION_PROVISION || q->kind == QUESTION_ROTATION)
		return approve_value(q->subject); /* which has informed the session */
	status = accept_proposal(q, said->name, &changed);
	if (status != 0 && !changed)
		return status;
	if (changed)
		done.answer = ANSWER_CHANGED;
	fd = person_connect(APPROVE_SOCKET, id->pid);
	r = fd < 0 ? fd : answer_at(fd, id, &done, &again);
	fd_close(&fd);
	if (changed)
		log_error("a manifest has changed since %s was shown: `kennel approve "
			  "list` shows it again",
		    text);
	else if (r < 0)
		log_warn("the manifest is changed, but the agent's request is over");
	return changed ? EXIT_FAILED : 0;
}

static int
answer(const char *text, const struct said *said)
{
	static struct accept_request request;
	struct id id;
	int fd, r;

	if (id_read(text, &id) < 0) {
		log_error("invalid id: use one that `kennel approve list` shows, such as "
			  "4711-1:0a1b2c3d");
		return EXIT_USAGE;
	}
	fd = person_connect(APPROVE_SOCKET, id.pid);
	r = fd < 0 ? fd : answer_at(fd, &id, said, &request);
	fd_close(&fd);
	if (r == 1)
		return do_request(text, &id, said, &request);
	if (r == -EINVAL) {
		log_error("unable to allow %s for the session: it is done once, or "
			  "declined",
		    text);
		return EXIT_USAGE;
	}
	if (is_over(r)) {
		log_error("no pending approval with id %s", text);
		return 1;
	}
	if (r == -EPERM) {
		log_error("unable to allow %s: part of it is not shown; check the rest "
			  "at its source, then allow it with --unseen",
		    text);
		return EXIT_FAILED;
	}
	if (r < 0) {
		log_error("unable to answer %s: %s", text, no_answer(r));
		return EXIT_FAILED;
	}
	printf("%s %s%s\n", said->answer == ANSWER_DENY ? "denied" : "allowed", text,
	    said->answer == ANSWER_SESSION ? " for the session"
	    : said->answer == ANSWER_ONCE  ? " once"
					   : "");
	return fflush(stdout) != 0 ? EXIT_FAILED : 0;
}

static int
allow_main(int argc, char **argv)
{
	struct said said = {.answer = ANSWER_ONCE};
	const char *id = NULL;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--session") == 0)
			said.answer = ANSWER_SESSION;
		else if (strcmp(argv[i], "--unseen") == 0)
			said.unseen = true;
		else if (strcmp(argv[i], "--as") == 0 && i + 1 < argc)
			said.name = argv[++i];
		else if (argv[i][0] != '-' && id == NULL)
			id = argv[i];
		else
			return help_refuse(&approve_help, argv[0], argv[i]);
	}
	if (id == NULL)
		return help_usage(
		    &approve_help, argv[0], "expected the id of an approval");
	return answer(id, &said);
}

static int
deny_main(int argc, char **argv)
{
	if (argc < 2)
		return help_usage(
		    &approve_help, argv[0], "expected the id of an approval");
	if (argc > 2 || argv[1][0] == '-')
		return help_refuse(
		    &approve_help, argv[0], argv[argv[1][0] == '-' ? 1 : 2]);
	return answer(argv[1], &(struct said){.answer = ANSWER_DENY});
}

/* ---- reopen ---------------------------------------------------------------------- */

static int
reopen_at(long pid, const char *path)
{
	uint8_t memory[APPROVE_PACKET_MAX];
	int fd = person_connect(APPROVE_SOCKET, pid), r;
	struct wire_out out;
	struct wire_in in;
	uint32_t type = 0, error;

	if (fd < 0)
		return fd;
	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, APPROVE_REOPEN);
	wire_put_str(&out, path);
	r = wire_send(fd, &out, NULL, 0);
	if (r == 0)
		r = hear(fd, memory, &type, &in);
	fd_close(&fd);
	if (r < 0)
		return r;
	error = wire_get_u32(&in);
	return type != APPROVE_TAKEN || wire_end(&in) < 0 ? -EBADMSG : -(int)error;
}

static int
reopen_main(int argc, char **argv)
{
	long pid[SOCKETS_MAX];
	size_t n, reopened = 0, silent = 0;
	int r;

	if (argc < 2 || strlen(argv[1]) > QUESTION_PATH_MAX)
		return help_usage(
		    &approve_help, argv[0], "expected the path of a secret");
	if (argc > 2 || argv[1][0] == '-')
		return help_refuse(
		    &approve_help, argv[0], argv[argv[1][0] == '-' ? 1 : 2]);
	n = person_sockets(APPROVE_SOCKET, pid, SOCKETS_MAX);
	for (size_t i = 0; i < n; i++) {
		r = reopen_at(pid[i], argv[1]);
		reopened += r == 0;
		if (r == 0 || is_over(r))
			continue;
		silent++;
		log_error("unable to reach the session of process %ld: %s", pid[i],
		    no_answer(r));
	}
	if (reopened == 0 && silent == 0)
		log_error("no session has refused the use of this path: `kennel secret "
			  "list` prints the paths");
	return silent > 0 ? EXIT_FAILED : reopened == 0;
}

/* ---- watch ------------------------------------------------------------------------ */

struct watch {
	struct {
		long pid;
		int fd; /* -1: free */
	} at[SOCKETS_MAX];
	size_t n;
};

static void
look(struct watch *w)
{
	long pid[SOCKETS_MAX];
	size_t n = person_sockets(APPROVE_SOCKET, pid, SOCKETS_MAX), k;

	for (size_t i = 0; i < n; i++) {
		for (k = 0; k < w->n && (w->at[k].fd < 0 || w->at[k].pid != pid[i]); k++)
			;
		if (k < w->n)
			continue;
		for (k = 0; k < w->n && w->at[k].fd >= 0; k++)
			;
		if (k == SOCKETS_MAX)
			return;
		w->at[k].pid = pid[i];
		w->at[k].fd = person_connect(APPROVE_SOCKET, pid[i]);
		if (w->at[k].fd >= 0 && say_list(w->at[k].fd, 1) < 0)
			fd_close(&w->at[k].fd);
		if (w->at[k].fd >= 0 && k == w->n)
			w->n++;
	}
}

static void
watch_hear(struct watch *w, size_t i)
{
	uint8_t memory[APPROVE_PACKET_MAX];
	uint32_t type, number, how;
	struct wire_in in;
	struct shown q;

	if (hear(w->at[i].fd, memory, &type, &in) < 0) {
		fd_close(&w->at[i].fd); /* its session has ended */
		return;
	}
	if (type == APPROVE_QUESTION && question_read(&in, &q) == 0)
		show(w->at[i].pid, &q);
	if (type == APPROVE_GONE) {
		number = wire_get_u32(&in);
		how = wire_get_u32(&in);
		printf("%ld-%u  %s\n", w->at[i].pid, number,
		    question_answer_name((enum question_answer)how));
	}
}

/* Reads "allow ID", "session ID" or "deny ID", typed while watching; the first two
 * followed by --unseen if part of it is not shown. false: end of input. */
static bool
watch_typed(void)
{
	static const struct {
		const char *word;
		enum question_answer what;
	} words[] = {
	    {"allow", ANSWER_ONCE}, {"session", ANSWER_SESSION}, {"deny", ANSWER_DENY}};
	char line[LINE_MAX_], word[16], id[64], unseen[16];
	struct said said = {.unseen = false};
	int n;

	if (fgets(line, sizeof(line), stdin) == NULL)
		return false;
	n = sscanf(line, "%15s %63s %15s", word, id, unseen);
	if (n < 2)
		return true;
	said.unseen = n == 3 && strcmp(unseen, "--unseen") == 0;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(word, words[i].word) == 0) {
			said.answer = words[i].what;
			(void)answer(id, &said); /* it has reported the error */
		}
	return true;
}

static int
watch_main(int argc, char **argv)
{
	static struct watch w;
	static struct pollfd wait[SOCKETS_MAX + 1];
	bool typing = isatty(STDIN_FILENO) == 1;

	if (argc > 1)
		return help_refuse(&approve_help, argv[0], argv[1]);
	for (;;) {
		look(&w);
		wait[0] = (struct pollfd){typing ? STDIN_FILENO : -1, POLLIN, 0};
		for (size_t i = 0; i < w.n; i++)
			wait[i + 1] = (struct pollfd){w.at[i].fd, POLLIN, 0};
		if (fflush(stdout) != 0)
			return 0; /* the reader closed the pipe */
		if (poll(wait, w.n + 1, LOOK_MS) < 0 && errno != EINTR)
			return EXIT_FAILED;
		if (wait[0].revents != 0 && !watch_typed())
			return 0;
		for (size_t i = 0; i < w.n; i++)
			if (w.at[i].fd >= 0 && wait[i + 1].revents != 0)
				watch_hear(&w, i);
	}
}

/* ---- verbs ------------------------------------------------------------------------ */

static const struct verb {
	const char *name;
	int (*fn)(int, char **);
} verbs[] = {
    {"list", list_main},
    {"watch", watch_main},
    {"allow", allow_main},
    {"deny", deny_main},
    {"reopen", reopen_main},
};

int
approve_main(int argc, char **argv)
{
	for (size_t i = 0; argc > 0 && i < ARRAY_LEN(verbs); i++)
		if (strcmp(argv[0], verbs[i].name) == 0)
			return verbs[i].fn(argc, argv);
	if (argc > 0)
		return help_unknown_verb(&approve_help, argv[0]);
	fprintf(stderr, "kennel approve: expected a command\n");
	help_list(&approve_help, stderr);
	return EXIT_USAGE;
}
