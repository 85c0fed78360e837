/*
 * kennel approve: lists pending approvals and sends the user's decision.
 *
 * Runs as the calling user.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/hex.h"
#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/person_socket.h"
#include "supervisor/accept/accept.h"
#include "supervisor/answer/private.h"
#include "supervisor/cli/cli.h"
#include "supervisor/help/help.h"
#include "supervisor/servers/servers.h"

/* ---- list ---------------------------------------------------------------------- */

static size_t listed; /* pending approvals listed */

static void
list_text(const struct approval *a)
{
	listed++;
	approval_print(stdout, a);
}

static void
list_json(const struct approval *a)
{
	listed++;
	approval_print_json(stdout, a);
}

static int
list_main(int argc, char **argv)
{
	bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
	long pid[SESSIONS_MAX];
	size_t n, silent = 0;
	int r;

	if (argc > 1 + json)
		return help_refuse(&approve_help, argv[0], argv[1 + json]);
	n = person_sockets(APPROVE_SOCKET, pid, SESSIONS_MAX);
	for (size_t i = 0; i < n; i++) {
		r = session_list(pid[i], json ? list_json : list_text);
		if (r == 0 || session_is_over(r))
			continue;
		silent++;
		log_error("unable to list the session of process %ld: %s; what is "
			  "pending there is not shown",
		    pid[i], session_error(r));
	}
	if (listed == 0 && silent == 0) /* no line of JSON says so */
		fprintf(json ? stderr : stdout, "nothing is pending\n");
	return fflush(stdout) != 0 || silent > 0 ? EXIT_FAILED : 0;
}

/* ---- allow, deny, reopen ---------------------------------------------------------- */

/* The second factor, typed at the terminal: 0, or an exit status. */
static int
give_factor(const struct approval_found *found)
{
	char hex[2 * QUESTION_DIGEST_LEN + 1];
	char verb[] = "confirm", *word[] = {verb, hex, NULL};

	if (found->factor != QUESTION_PASSPHRASE) {
		log_error("its factor is a security key: run `kennel console`, and allow "
			  "it in the page");
		return EXIT_FAILED;
	}
	(void)hex_put(hex, found->digest, sizeof(found->digest));
	return secret_become(2, word);
}

int
approve_report(const char *text, int r)
{
	static const struct {
		int r;
		const char *why;
	} rows[] = {
	    {-EPERM,
		"part of it is not shown; check the rest at its source, then allow it "
		"with --unseen"},
	    {-ENOKEY, "the keeper has no confirmation of it; allow it again"},
	    {-EAGAIN, "the keeper did not answer in time; allow it again"},
	    {-EINVAL, "it is not answered so; run `kennel secret set`, or deny it"},
	};

	if (session_is_over(r)) {
		log_error("no pending approval with id %s", text);
		return 1;
	}
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].r == r) {
			log_error("unable to allow %s: %s", text, rows[i].why);
			return EXIT_FAILED;
		}
	log_error("unable to answer %s: %s", text, session_error(r));
	return EXIT_FAILED;
}

/* The digest of the file that is asked about: the first member of the detail, which is
 * there also if that is cut. "HEX": it is not there. */
static void
file_sha256(const struct approval_found *found, char ret[FILE_DIGEST_LEN + 1])
{
	static const char before[] = "{\"sha256\":\"";
	const char *hex = found->detail + sizeof(before) - 1;

	if (strncmp(found->detail, before, sizeof(before) - 1) == 0 &&
	    strspn(hex, "0123456789abcdef") == FILE_DIGEST_LEN)
		(void)snprintf(ret, FILE_DIGEST_LEN + 1, "%s", hex); /* cut at its end */
	else
		(void)snprintf(ret, FILE_DIGEST_LEN + 1, "HEX"); /* fits */
}

/* A file of a project: what is approved is compared with what was shown. */
static int
accept_file(const struct approval_found *found, char ret_sha256[FILE_DIGEST_LEN + 1],
    bool *ret_changed)
{
	const struct file_review review = {
	    .path = found->subject, .shown = found->detail};
	char path[QUESTION_TEXT_MAX], sha256[FILE_DIGEST_LEN + 1];

	if (found->cut == 0)
		return server_trust_file(&review, ret_sha256, ret_changed);
	file_sha256(found, sha256);
	log_error(
	    "a part of the file is not shown: review it, then run `kennel server trust "
	    "%s --sha256 %s`",
	    log_quote(path, sizeof(path), found->subject, strlen(found->subject)),
	    sha256);
	return EXIT_FAILED;
}

static int
accept_manifest(const struct approval_found *found, const char *name, bool *ret_changed)
{
	static struct accept_request request;

	request.kind = found->kind;
	request.cut = found->cut;
	memcpy(request.subject, found->subject, sizeof(request.subject));
	memcpy(request.detail, found->detail, sizeof(request.detail));
	return accept_proposal(&request, name, ret_changed);
}

/* What is proposed is written here, then the session is informed. */
static int
accept(const char *text, const struct approval_id *id, const struct decision *d,
    const struct approval_found *found)
{
	struct decision done = {.answer = ANSWER_OK, .channel = d->channel};
	bool changed = false, file = found->kind == QUESTION_FILE;
	char sha256[FILE_DIGEST_LEN + 1];
	int status, r;

	status = file ? accept_file(found, sha256, &changed)
		      : accept_manifest(found, d->name, &changed);
	if (status != 0 && !changed)
		return status;
	if (changed)
		done.answer = ANSWER_CHANGED;
	r = session_answer(id, found, &done);
	if (file && !changed) /* others may ask about the same file */
		approve_saved(sha256);
	if (changed)
		log_error(
		    "%s has changed since %s was shown: `kennel approve list` shows "
		    "it again",
		    file ? "the file" : "a manifest", text);
	else if (r < 0 && file)
		log_warn("the file is approved, and its session has ended");
	else if (r < 0)
		log_warn("the manifest is changed, but the agent's request is over");
	return changed ? EXIT_FAILED : 0;
}

/* What the agent asks a person to do is done here. */
static int
do_request(const char *text, const struct approval_id *id, const struct decision *d,
    const struct approval_found *found)
{
	if (d->answer == ANSWER_SESSION) {
		log_error("unable to allow %s for the session: it is done once, or "
			  "declined",
		    text);
		return EXIT_USAGE;
	}
	if (found->kind == QUESTION_PROVISION || found->kind == QUESTION_ROTATION)
		return approve_value(found->subject); /* which informs the session */
	return accept(text, id, d, found);
}

/* 0, or an exit status. */
static int
check_shown(
    const char *text, const struct shown *shown, const struct approval_found *found)
{
	if (!shown_is(shown, found)) {
		log_error(
		    "%s is not what was shown: `kennel approve list` shows it again",
		    text);
		return 1;
	}
	if (found->factor == QUESTION_NO_FACTOR &&
	    (found->kind == QUESTION_METADATA || found->kind == QUESTION_NEW_PATH))
		return 0;
	log_error("--stdin accepts only proposals for a manifest: allow %s by its id, in "
		  "a terminal",
	    text);
	return EXIT_USAGE;
}

/* The pending approval with an agent's id of its request. */
static struct {
	const char *request;
	struct approval_id id;
	uint32_t kind;
	size_t n;
} named;

static void
find_named(const struct approval *a)
{
	if (strcmp(a->request, named.request) != 0)
		return;
	named.n++;
	named.kind = a->kind;
	named.id = approval_id_of(a);
}

/* 0, or an exit status. */
static int
read_request(const char *text, const struct decision *d, struct approval_id *ret)
{
	long pid[SESSIONS_MAX];
	size_t n = person_sockets(APPROVE_SOCKET, pid, SESSIONS_MAX);

	named.request = text;
	named.n = 0;
	for (size_t i = 0; i < n; i++)
		(void)session_list(
		    pid[i], find_named); /* `list` reports one that is silent */
	if (named.n == 0)
		return approve_report(text, -ENOENT);
	/* a proposal is asked again under the same id, when a manifest has changed */
	if (named.n > 1 ||
	    (named.kind >= QUESTION_METADATA && d->answer != ANSWER_DENY)) {
		log_error("%s does not say which text was seen: allow it by the id that "
			  "`kennel approve list` shows",
		    text);
		return EXIT_USAGE;
	}
	*ret = named.id;
	return 0;
}

/* The id of an approval, or the one that an agent was given: 0, or an exit status. */
static int
read_id(const char *text, const struct decision *d, struct approval_id *ret)
{
	if (approval_id_read(text, ret) == 0)
		return 0;
	if (approval_is_request(text))
		return read_request(text, d, ret);
	log_error("invalid id: use one that `kennel approve list` shows, such as "
		  "4711-1:0a1b2c3d");
	return EXIT_USAGE;
}

int
approve_answer(const char *text, const struct decision *d)
{
	static struct approval_found found;
	struct approval_id id;
	int r, status;

	status = read_id(text, d, &id);
	if (status != 0)
		return status;
	r = approval_find(&id, &found);
	if (r == 0 && d->shown != NULL) {
		status = check_shown(text, d->shown, &found);
		if (status != 0)
			return status;
	}
	if (r == 0 && found.kind >= QUESTION_PROVISION && d->answer != ANSWER_DENY)
		return do_request(text, &id, d, &found);
	if (r == 0 && found.factor != QUESTION_NO_FACTOR && d->answer == ANSWER_SESSION) {
		log_error("a grant with a factor is allowed for one use at a time: leave "
			  "out --session");
		return EXIT_USAGE;
	}
	if (r == 0)
		r = session_answer(&id, &found, d);
	if (r == -ENOKEY) { /* unless `kennel secret confirm` gave it before */
		status = give_factor(&found);
		if (status != 0)
			return status;
		r = session_answer(&id, &found, d);
	}
	if (r < 0)
		return approve_report(text, r);
	printf("%s %s%s\n", d->answer == ANSWER_DENY ? "denied" : "allowed", text,
	    d->answer == ANSWER_DENY   ? ""
	    : d->answer == ANSWER_ONCE ? " once"
	    : found.once_only ? " once: it is asked for each use, not for a session"
			      : " for the session");
	return fflush(stdout) != 0 ? EXIT_FAILED : 0;
}

static int
allow_main(int argc, char **argv)
{
	static struct shown shown;
	struct decision d = {.answer = ANSWER_ONCE, .channel = approve_channel_here()};
	const char *id = NULL;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--session") == 0)
			d.answer = ANSWER_SESSION;
		else if (strcmp(argv[i], "--unseen") == 0)
			d.unseen = true;
		else if (strcmp(argv[i], "--as") == 0 && i + 1 < argc)
			d.name = argv[++i];
		else if (strncmp(argv[i], "--as=", 5) == 0)
			d.name = argv[i] + 5;
		else if (strcmp(argv[i], "--stdin") == 0)
			d.shown = &shown;
		else if (argv[i][0] != '-' && id == NULL)
			id = argv[i];
		else
			return help_refuse(&approve_help, argv[0], argv[i]);
	}
	if (d.shown != NULL && id != NULL)
		return help_usage(
		    &approve_help, argv[0], "expected an id, or --stdin without one");
	if (d.shown != NULL) {
		if (shown_read(STDIN_FILENO, &shown) < 0) {
			log_error("expected a line of `kennel approve list --json` on "
				  "standard input");
			return EXIT_USAGE;
		}
		id = shown.id;
	}
	if (id == NULL)
		return help_usage(
		    &approve_help, argv[0], "expected the id of an approval");
	return approve_answer(id, &d);
}

/* The one argument of a verb that takes no option: 0, or an exit status. */
static int
one_argument(int argc, char **argv, const char *expected)
{
	if (argc < 2)
		return help_usage(&approve_help, argv[0], expected);
	if (argc > 2 || argv[1][0] == '-')
		return help_refuse(
		    &approve_help, argv[0], argv[argv[1][0] == '-' ? 1 : 2]);
	return 0;
}

/* The pending approvals of one session that are to be denied. */
static struct {
	const char *server; /* NULL: all */
	char id[QUESTIONS_MAX][QUESTION_ID_MAX];
	size_t n;
} denied;

static void
add_denied(const struct approval *a)
{
	if (denied.n < QUESTIONS_MAX &&
	    (denied.server == NULL || strcmp(a->server, denied.server) == 0))
		(void)approval_id_text(a, denied.id[denied.n++]);
}

/* Those that a refusal ended meanwhile are counted too. 0 or -errno. */
static int
deny_session(long pid, const struct decision *deny, size_t *n)
{
	struct approval_found found;
	struct approval_id id;
	int r;

	denied.n = 0;
	r = session_list(pid, add_denied);
	for (size_t i = 0; r == 0 && i < denied.n; i++) {
		r = approval_id_read(denied.id[i], &id);
		if (r == 0 && (r = approval_find(&id, &found)) == 0)
			r = session_answer(&id, &found, deny);
		if (r == -ENOENT)
			r = 0;
		*n += r == 0;
	}
	return session_is_over(r) ? 0 : r;
}

static int
deny_many(const char *server, const struct decision *deny)
{
	long pid[SESSIONS_MAX];
	size_t n = person_sockets(APPROVE_SOCKET, pid, SESSIONS_MAX), done = 0;
	bool failed = false;
	int r;

	denied.server = server;
	for (size_t i = 0; i < n; i++) {
		r = deny_session(pid[i], deny, &done);
		if (r == 0)
			continue;
		failed = true;
		log_error("unable to deny what is pending in the session of process "
			  "%ld: %s; `kennel approve list` shows the rest",
		    pid[i], session_error(r));
	}
	if (done == 0 && !failed)
		printf("nothing is pending\n");
	else
		printf("denied %zu approval%s\n", done, done == 1 ? "" : "s");
	return fflush(stdout) != 0 || failed ? EXIT_FAILED : 0;
}

static int
deny_main(int argc, char **argv)
{
	const struct decision deny = {
	    .answer = ANSWER_DENY, .channel = approve_channel_here()};
	const char *server = NULL, *id = NULL;
	bool all = false;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--all") == 0)
			all = true;
		else if (strcmp(argv[i], "--server") == 0 && i + 1 < argc)
			server = argv[++i];
		else if (strncmp(argv[i], "--server=", 9) == 0)
			server = argv[i] + 9;
		else if (argv[i][0] != '-' && id == NULL)
			id = argv[i];
		else
			return help_refuse(&approve_help, argv[0], argv[i]);
	}
	if ((id != NULL) + all + (server != NULL) != 1)
		return help_usage(&approve_help, argv[0],
		    "expected the id of an approval, --all, or --server NAME");
	return id != NULL ? approve_answer(id, &deny) : deny_many(server, &deny);
}

static int
reopen_main(int argc, char **argv)
{
	static const char expected[] =
	    "expected the path of a secret, or the name of what was refused";
	long pid[SESSIONS_MAX];
	size_t n, reopened = 0, silent = 0;
	int r, status = one_argument(argc, argv, expected);

	if (status != 0)
		return status;
	if (strlen(argv[1]) >= QUESTION_TEXT_MAX)
		return help_usage(&approve_help, argv[0], expected);
	n = person_sockets(APPROVE_SOCKET, pid, SESSIONS_MAX);
	for (size_t i = 0; i < n; i++) {
		r = session_reopen(pid[i], argv[1], approve_channel_here());
		reopened += r == 0;
		if (r == 0 || session_is_over(r))
			continue;
		silent++;
		log_error("unable to reach the session of process %ld: %s", pid[i],
		    session_error(r));
	}
	if (reopened > 0)
		printf("reopened in %zu session%s\n", reopened, reopened == 1 ? "" : "s");
	if (reopened == 0 && silent == 0)
		log_error(
		    "no session refuses this unasked: expected the path of a secret "
		    "(`kennel secret list`), or the name of a tool, resource, "
		    "prompt, program or host (`kennel audit denials`)");
	return silent > 0 ? EXIT_FAILED : reopened == 0;
}

/* ---- verbs ------------------------------------------------------------------------ */

static const struct verb {
	const char *name;
	int (*fn)(int, char **);
} verbs[] = {
    {"list", list_main},
    {"watch", approve_watch_main},
    {"here", approve_here_main},
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
