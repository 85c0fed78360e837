/*
 * kennel exec --policy FILE NAME -- PROG ARG...: runs one allowed program under
 * NAME's policy, to try a policy. Its stdio is passed on unparsed but scrubbed.
 * kennel server login NAME: the same with the command of a remote server.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "leash/audit/writer.h"
#include "policy/base/output.h"
#include "policy/print/statement.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/base/loop.h"
#include "supervisor/approve/approve.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/cli/cli.h"
#include "supervisor/cli/mcp_client.h"
#include "supervisor/draft/npm_package.h"
#include "supervisor/help/help.h"
#include "supervisor/launch/launch.h"
#include "supervisor/launch/policy_watch.h"
#include "supervisor/launch/leash_approvals.h"
#include "supervisor/launch/leash_client.h"

#define COPY_MAX (64u << 10)

/* One direction: bytes from in to out, at most one read ahead. */
struct copy {
	struct loop *loop;
	int in, out;
	int in_slot, out_slot;
	size_t len, off;
	bool shut_out; /* when in ends, close out */
	uint8_t bytes[COPY_MAX];
};

struct exec {
	struct loop loop;
	struct opened o;
	int signals, channel_slot;
	bool gone;
	int status;
	struct opened_end end;
	int report_slot;
	bool address; /* a host had only addresses that the grant excludes */
	struct control *control;
	struct copy in, out, err;
};

static void
copy_close(struct copy *c)
{
	loop_remove(c->loop, c->in_slot);
	loop_remove(c->loop, c->out_slot);
	c->in_slot = c->out_slot = -1;
	if (c->shut_out)
		fd_close(&c->out);
	else
		fd_close(&c->in);
	c->len = c->off = 0;
}

static bool
copy_done(const struct copy *c)
{
	return c->in_slot < 0;
}

static void
copy_events(struct copy *c)
{
	if (c->in_slot < 0)
		return;
	loop_events(c->loop, c->in_slot, c->len == 0 ? POLLIN : 0);
	loop_events(c->loop, c->out_slot, c->len > 0 ? POLLOUT : 0);
}

static void
on_copy_in(struct loop *loop, int fd, short revents, void *arg)
{
	struct copy *c = arg;
	ssize_t n = read(fd, c->bytes, sizeof(c->bytes));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		copy_close(c);
		return;
	}
	c->len = (size_t)n;
	c->off = 0;
	copy_events(c);
}

static void
on_copy_out(struct loop *loop, int fd, short revents, void *arg)
{
	struct copy *c = arg;
	ssize_t n = write(fd, c->bytes + c->off, c->len - c->off);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		copy_close(c);
		return;
	}
	c->off += (size_t)n;
	if (c->off == c->len)
		c->len = c->off = 0;
	copy_events(c);
}

static int
copy_start(struct copy *c, struct loop *loop, int in, int out, bool shut_out)
{
	c->loop = loop;
	c->in = in;
	c->out = out;
	c->shut_out = shut_out;
	/* Only our own ends become non-blocking: the parent process shares the
	 * others. */
	if (fd_nonblock(shut_out ? out : in, true) < 0)
		return -EIO;
	c->in_slot = loop_add(loop, in, POLLIN, on_copy_in, c);
	c->out_slot = loop_add(loop, out, 0, on_copy_out, c);
	return c->in_slot < 0 || c->out_slot < 0 ? -ENOSPC : 0;
}

static void
on_signal(struct loop *loop, int fd, short revents, void *arg)
{
	struct signalfd_siginfo info;
	struct exec *x = arg;

	while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		/* ^C is for the program; the other signals are for kennel too */
		if (info.ssi_signo == SIGINT)
			(void)child_signal(&x->o.child, SIGINT);
		else
			(void)child_end(&x->o.child, LEASH_GRACE_MS);
	}
}

/* Prints an untrusted argument, escaped so that it cannot forge a line. */
static void
put_word(const char *word)
{
	(void)fputc(' ', stderr);
	say_word(word, strlen(word), stderr);
}

/* "kennel: allow: /usr/bin/git [ git log ] by /usr/bin/bash below 57 /usr/bin/bash
 * < 40 /usr/bin/node rule github.kennel:12" */
static void
tell(const struct child_judged *j)
{
	if (j->lost > 0)
		(void)fprintf(stderr,
		    "kennel: %u program starts not shown (output too slow)\n", j->lost);
	(void)fprintf(stderr, "kennel: %s:", j->verdict);
	put_word(j->program);
	(void)fputs(" [", stderr);
	for (uint32_t i = 0; i < j->argc; i++) {
		put_word(j->argv[i]);
	}
	(void)fprintf(stderr, "%s ]", j->cut ? " ..." : "");
	if (j->caller[0] != '\0') {
		(void)fputs(" by", stderr);
		put_word(j->caller);
	}
	for (uint32_t i = 0; i < j->chain_n; i++) {
		(void)fputs(i == 0 ? " below " : " < ", stderr);
		out_plain(stderr, j->chain[i], strlen(j->chain[i]));
	}
	if (j->rule[0] != '\0') {
		(void)fputs(" rule", stderr);
		put_word(j->rule);
	}
	if (j->reason[0] != '\0') {
		(void)fputs(": ", stderr);
		out_plain(stderr, j->reason, strlen(j->reason));
	}
	(void)fputc('\n', stderr);
}

static void
on_channel(struct loop *loop, int fd, short revents, void *arg)
{
	char why[AUDIT_WRITE_WHY_MAX];
	struct child_news news;
	struct exec *x = arg;
	int r;

	r = child_answer(&x->o.child, &news);
	if (r == -EAGAIN)
		return;
	if (r == 0 && news.type == LEASH_NEEDS_RECORDER) {
		r = opened_recorder(&x->o);
		if (r < 0)
			log_error("unable to restart the recorder: %s",
			    audit_write_why(x->o.place.log_dir, r, why));
		return;
	}
	if (r == 0 && news.type == LEASH_JUDGED) {
		tell(&news.judged);
		return;
	}
	if (r == 0 && news.type == LEASH_ENDS) {
		log_error("%s; stopped the program", news.text);
		return;
	}
	if (r == 0 && news.type == LEASH_UNREACHED)
		x->address |= news.unreached.address;
	if (r == 0 && news.type != LEASH_EXITED) {
		control_news(x->control, &news);
		return;
	}
	x->gone = true;
	loop_remove(loop, x->channel_slot);
	x->channel_slot = -1;
	if (r < 0) {
		opened_leash_gone(&x->o, &x->end);
		log_error("lost kennel-leash: %s; stopped the program", x->end.why);
		return;
	}
	x->status = exit_status(news.status);
	if (news.lost[0] != '\0')
		log_error("%s; the program ended with it", news.lost);
}

/* Callback of the watch: the signed policy may not be in force any more. */
static void
on_withdrawn(void *arg, const char *why)
{
	struct exec *x = arg;

	(void)snprintf(x->end.why, sizeof(x->end.why), "%s", why); /* may be cut */
	log_error("%s; stopped the program", why);
	(void)child_end(&x->o.child, LEASH_GRACE_MS);
}

static void watch_report(struct exec *);

static void
on_report(struct loop *loop, int fd, short revents, void *arg)
{
	char why[AUDIT_WRITE_WHY_MAX];
	struct exec *x = arg;
	int r;

	if (report_ready(x->o.report) == 0) {
		control_recorded(x->control);
		return;
	}
	loop_remove(loop, x->report_slot);
	x->report_slot = -1;
	/* without the log no approval can be recorded, so none is given */
	r = report_late(x->o.report) ? -ETIMEDOUT : open_report(&x->o);
	if (r == 0)
		watch_report(x);
	else
		log_error("lost the audit recorder: %s; further requests for approval "
			  "are refused",
		    audit_write_why(x->o.place.log_dir, r, why));
}

static void
watch_report(struct exec *x)
{
	x->report_slot = loop_add(&x->loop, report_fd(x->o.report), POLLIN, on_report, x);
}

/* Approvals work here too; without them, what needs approval is refused. */
static int
make_control(struct exec *x)
{
	struct control_order order = {.policy = &x->o.found.policy,
	    .server = x->o.found.server,
	    .report = x->o.report,
	    .child = &x->o.child,
	    .factor = x->o.factor};

	open_person_sockets(&x->o);
	order.questions = x->o.questions;
	watch_report(x);
	return control_new(&order, &x->control);
}

static int
serve(struct exec *x)
{
	struct child *c = &x->o.child;
	int r;

	r = copy_start(&x->in, &x->loop, STDIN_FILENO, c->server_in, true);
	if (r == 0)
		r = copy_start(&x->out, &x->loop, c->server_out, STDOUT_FILENO, false);
	if (r == 0)
		r = copy_start(&x->err, &x->loop, c->server_err, STDERR_FILENO, false);
	c->server_in = c->server_out = c->server_err = -1;
	if (r == 0) {
		x->channel_slot = loop_add(&x->loop, c->channel, POLLIN, on_channel, x);
		if (x->channel_slot < 0 ||
		    loop_add(&x->loop, x->signals, POLLIN, on_signal, x) < 0)
			r = -ENOSPC;
	}
	if (r < 0)
		return r;
	r = make_control(x);
	if (r < 0)
		return r;
	open_confine(&x->o);
	drop_start_soon(&x->loop);
	r = policy_watch_add(&x->o, &x->loop, on_withdrawn, x);
	while (r == 0 && !(x->gone && copy_done(&x->out) && copy_done(&x->err))) {
		if (x->report_slot >= 0)
			loop_events(&x->loop, x->report_slot,
			    report_wants_write(x->o.report) ? POLLIN | POLLOUT : POLLIN);
		r = loop_once(&x->loop, -1);
	}
	copy_close(&x->in);
	return r;
}

/* To a client of ours (mcp_client.c), which reports it, in a message of its protocol. */
static void
put_refusal(const char *program, const char *why)
{
	char *text = NULL, *json = NULL;

	if (asprintf(&text, "unable to run %s: %s", program, why) >= 0)
		json = package_json_text(text);
	if (json != NULL)
		printf("{\"jsonrpc\":\"2.0\",\"method\":\"" CLIENT_REFUSED
		       "\",\"params\":{\"message\":%s}}\n",
		    json);
	(void)fflush(stdout); /* a loss leaves the client without the reason */
	free(json);
	free(text);
}

struct exec_order {
	const char *file, *name,
	    *purpose; /* as in open_order; file NULL: search by name */
	enum leash_mode mode;
	bool for_client, for_fetch;
	int argc;
	char **argv;
};

static int
exec_program(const struct exec_order *o)
{
	static char why[LEASH_TEXT_MAX];
	static struct exec x = {
	    .signals = -1, .channel_slot = -1, .report_slot = -1, .status = EXIT_FAILED};
	int status, r;

	loop_init(&x.loop);
	if (open_signals(&x.signals) < 0)
		die("unable to set up signals");
	status = open_server(&(struct open_order){.file = o->file,
				 .name = o->name,
				 .purpose = o->purpose,
				 .mode = o->mode,
				 .argc = o->argc,
				 .argv = o->argv,
				 .loop = &x.loop,
				 .signals = x.signals},
	    &x.o, why);
	if (status != 0) {
		if (o->for_client)
			put_refusal(o->argv[0], why);
		else
			log_error("unable to run %s: %s", o->argv[0], why);
		return status;
	}
	r = serve(&x);
	if (r < 0)
		log_error("unable to serve %s: %s", o->argv[0], strerror(-r));
	control_free(x.control); /* its last records come before the end */
	/* a leash records how its program ended, unless it was killed */
	if (x.end.leash_lost || x.end.why[0] != '\0') {
		x.end.status = x.status;
		opened_record_end(&x.o, &x.end);
		opened_last_records(&x.o);
	}
	close_person_sockets(&x.o);
	opened_free(&x.o);
	fd_close(&x.signals);
	if (o->for_fetch && x.address)
		return EXIT_ADDRESS;
	return r < 0 ? EXIT_FAILED : x.status;
}

/* ---- kennel server login ---------------------------------------------------------- */

/*
 * The policy's own command, with a person's stdin and stdout in place of MCP: the leash
 * marks that, and kennel-remote asks the person to log in.
 */
static int
login(const char *file, const char *name)
{
	static char why[LEASH_TEXT_MAX];
	static char *words[LEASH_ARGS_MAX + 1];
	static struct policy_found found;
	const struct sealed_exec *run;
	const struct policy *p = &found.policy;
	int status, n = 0;

	status = find_policy(file, name, &found, why, sizeof(why));
	if (status != 0) {
		log_error("unable to log in to %s: %s", name, why);
		return status;
	}
	if ((found.server->flags & SERVER_LOGIN) == 0) {
		log_error("server %s has no login: its policy has no `auth oauth2` with "
			  "`grant code`",
		    name);
		policy_found_free(&found);
		return EXIT_CONFIG;
	}
	run = &p->exec[found.server->run];
	words[n++] = (char *)policy_str(p, p->image[run->asked].path);
	for (uint32_t i = 0; i < run->args.n && n < LEASH_ARGS_MAX; i++)
		words[n++] = (char *)policy_str(p, p->arg[run->args.first + i].text);
	status = exec_program(&(struct exec_order){
	    .file = file, .name = name, .mode = LEASH_LOGIN, .argc = n, .argv = words});
	policy_found_free(&found);
	return status;
}

int
server_login_main(int argc, char **argv)
{
	const char *file = NULL, *name = NULL;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--policy") == 0 && i + 1 < argc)
			file = argv[++i];
		else if (argv[i][0] == '-')
			return help_unknown_option(&server_help, argv[0], argv[i]);
		else if (name == NULL)
			name = argv[i];
		else
			return help_usage(
			    &server_help, argv[0], "expected the name of one server");
	}
	if (name == NULL)
		return help_usage(
		    &server_help, argv[0], "expected the name of one server");
	return login(file, name);
}

/* ---- kennel exec ------------------------------------------------------------------ */

static int
exec_verb(int argc, char **argv, struct exec_order o)
{
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "--policy") == 0 && i + 1 < argc)
			o.file = argv[++i];
		else if (strcmp(argv[i], "--explain") == 0)
			o.mode = LEASH_EXPLAIN;
		else if (strcmp(argv[i], "--for-client") == 0)
			o.for_client = true;
		else if (strcmp(argv[i], "--for") == 0 && i + 1 < argc &&
			 (o.purpose = launcher_purpose(argv[i + 1])) != NULL)
			i++;
		else if (argv[i][0] != '-' && o.name == NULL)
			o.name = argv[i];
		else
			return help_refuse(&kennel_help, argv[0], argv[i]);
	}
	if (o.name == NULL || i + 1 >= argc || argc - i - 1 > LEASH_ARGS_MAX)
		return help_usage(&kennel_help, argv[0],
		    "expected the name of one server, then -- and a program");
	o.argc = argc - i - 1;
	o.argv = argv + i + 1;
	return exec_program(&o);
}

int
exec_main(int argc, char **argv)
{
	return exec_verb(argc, argv, (struct exec_order){.mode = LEASH_EXEC});
}

int
exec_fetch_main(int argc, char **argv)
{
	return exec_verb(argc, argv,
	    (struct exec_order){
		.mode = LEASH_EXEC, .for_fetch = true, .purpose = PURPOSE_FETCH});
}

int
exec_install_main(int argc, char **argv)
{
	return exec_verb(argc, argv,
	    (struct exec_order){.mode = LEASH_EXEC, .purpose = PURPOSE_INSTALL});
}
