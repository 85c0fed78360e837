/*
 * kennel server add: a person adds a server to the registry, or replaces it. With --json,
 * standard input has it, so that no text of it is among the arguments of a process, and
 * what is printed is JSON too: this is what the console runs.
 *
 * Process: kennel, as the calling user. Starts nothing, unless --connect is given. Each
 * addition and each refusal has a record in the audit log. An argument may be a misplaced
 * secret: only names of servers and files are shown.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policy/base/output.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/cli/cli.h"
#include "supervisor/help/help.h"
#include "supervisor/registry/dump.h"
#include "supervisor/registry/reference.h"
#include "supervisor/registry/row_check.h"
#include "supervisor/servers/servers.h"
#include "supervisor/status/session_news.h"

#define JSON_MAX (64u << 10)

/* What `add` was given. */
struct adding {
	struct server_row row;
	struct buf args, env, auth; /* JSON */
	const char *auth_ref;
	size_t env_n;
	bool json;        /* the row comes from standard input */
	bool connect;     /* and is tried at once */
	bool has_enabled; /* it says whether it is enabled */
};

/* The canonical form of a JSON text, in place. */
static int
canonical(struct buf *json)
{
	struct json value;
	struct buf out;
	int r = json_of(buf_str(json), &value);

	buf_init(&out, JSON_MAX);
	if (r == 0)
		r = json_canon(value, &out);
	if (r == 0)
		r = buf_putc(&out, '\0');
	buf_free(json);
	*json = out;
	return r;
}

static int
add_env(struct adding *a, const char *word, struct reason *why)
{
	const char *equals = strchr(word, '=');
	char name[256];
	int r;

	if (equals == NULL || equals == word || (size_t)(equals - word) >= sizeof(name))
		return reason_set(why, -EINVAL, "--env needs NAME=REFERENCE");
	(void)snprintf(name, sizeof(name), "%.*s", (int)(equals - word), word);
	r = buf_putc(&a->env, a->env_n++ == 0 ? '{' : ',');
	if (r == 0)
		r = json_put_text(&a->env, name);
	if (r == 0)
		r = buf_putc(&a->env, ':');
	if (r == 0)
		r = reference_typed(equals + 1, &a->env, why);
	return r;
}

/* The command after "--". */
static int
add_command(struct adding *a, int argc, char **argv, struct reason *why)
{
	int r = buf_putc(&a->args, '[');

	a->row.transport = "stdio";
	a->row.command = argv[0];
	for (int i = 1; r == 0 && i < argc; i++) {
		if (i > 1)
			r = buf_putc(&a->args, ',');
		if (r == 0)
			r = json_put_text(&a->args, argv[i]);
	}
	if (r == 0)
		r = buf_putc(&a->args, ']');
	if (r == 0)
		r = canonical(&a->args);
	if (r < 0)
		return reason_set(why, r, "the arguments are too long or not UTF-8");
	a->row.args_json = (const char *)a->args.data;
	return 0;
}

/* Completes the texts of the row, and checks it. */
static int
complete(struct adding *a, struct reason *why)
{
	static const char env_wrong[] =
	    "a variable was given twice, or a reference is too long or not UTF-8";
	int r = 0;

	if (a->env_n > 0) {
		r = buf_putc(&a->env, '}');
		if (r == 0)
			r = canonical(&a->env);
		if (r < 0)
			return reason_set(why, r, "--env: %s", env_wrong);
		a->row.env_json = (const char *)a->env.data;
	}
	if (a->auth_ref != NULL) {
		r = reference_typed(a->auth_ref, &a->auth, why);
		if (r == 0)
			r = canonical(&a->auth);
		if (r < 0)
			return reason_set(why, r, "--auth-ref: invalid reference");
		a->row.auth_ref = (const char *)a->auth.data;
	}
	return row_check(&a->row, why);
}

/* Parses the options: 0 or EXIT_USAGE; -1: invalid input, with why. */
static int
add_options(struct adding *a, int argc, char **argv, struct reason *why)
{
	const struct {
		const char *name;
		const char **to;
	} option[] = {
	    {"--url", &a->row.url},
	    {"--auth", &a->row.auth_type},
	    {"--auth-ref", &a->auth_ref},
	    {"--note", &a->row.note},
	};
	size_t k;
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		for (k = 0; k < ARRAY_LEN(option); k++)
			if (strcmp(option[k].name, argv[i]) == 0)
				break;
		if (k < ARRAY_LEN(option) && i + 1 < argc) {
			*option[k].to = argv[++i];
		} else if (strcmp(argv[i], "--connect") == 0) {
			a->connect = true;
		} else if (strcmp(argv[i], "--env") == 0 && i + 1 < argc) {
			if (add_env(a, argv[++i], why) < 0)
				return -1;
		} else if (argv[i][0] == '-') {
			return help_refuse(&server_help, "add", argv[i]);
		} else if (a->row.name == NULL) {
			a->row.name = argv[i];
		} else {
			return help_usage(&server_help, "add",
			    "expected one name; a command follows `--`");
		}
	}
	a->row.policy_server = a->row.name;
	if (a->row.name == NULL)
		return help_usage(&server_help, "add", "expected the name of a server");
	if ((i + 1 < argc) == (a->row.url != NULL))
		return help_usage(&server_help, "add",
		    "expected --url URL, or -- and the server's command");
	if (i + 1 < argc)
		return add_command(a, argc - i - 1, argv + i + 1, why) < 0 ? -1 : 0;
	a->row.transport = "http";
	return 0;
}

/* ---- what is printed ------------------------------------------------------------------ */

/* Tries it, unless something is known to keep it from starting. */
static void
try(struct adding *a, struct server_view *view, struct connection *ret)
{
	const struct server_row *row = server_view_find(view, a->row.name);
	struct server_state state;
	int r;

	*ret = (struct connection){.outcome = NULL};
	if (!a->connect || row == NULL || row->source != FROM_PERSON)
		return;
	server_state(view, row, &state);
	if (state.reason != NULL)
		return;
	r = server_connect(view, row, ret);
	if (r < 0)
		log_error("unable to store what %s lists: %s", row->name, strerror(-r));
	server_view_close(view); /* it has other lists now */
	if (server_view_open(false, view) != 0)
		log_error("unable to read the registry again"); /* row: not found */
}

static void
put_text(const struct adding *a, const struct server_row *row, bool replaced,
    const char *detail, const struct connection *is)
{
	printf("%s %s\n", replaced ? "replaced" : "added", a->row.name);
	if (row->source == FROM_FILE)
		printf("%s is also defined by %s, which has precedence\n", row->name,
		    row->file);
	if (detail[0] != '\0')
		printf("it does not start yet: %s\n", detail);
	if (is->outcome != NULL && is->why[0] == '\0')
		printf("connected: %llu tool%s\n", (unsigned long long)row->tools_n,
		    row->tools_n == 1 ? "" : "s");
	else if (is->outcome != NULL)
		printf("%s: %s\n", is->outcome, is->why);
}

/* `detail` is a sentence about why it is not connected, or null. */
static void
put_json(struct server_view *view, const struct server_row *row, bool replaced,
    const char *detail, const struct connection *is)
{
	char text[STATE_DETAIL_MAX];
	struct out o;

	if (is->outcome != NULL)
		(void)snprintf(text, sizeof(text), "%s", is->why); /* fits */
	else if (row->source == FROM_FILE)
		(void)snprintf(text, sizeof(text),
		    "%s is also defined by %.4000s, which has precedence", row->name,
		    row->file); /* fits */
	else
		(void)snprintf(text, sizeof(text), "%s", detail); /* same size */
	out_init(&o, stdout);
	out_object(&o, NULL);
	server_put(view, row, &o, "server");
	out_yes(&o, "replaced", replaced);
	out_text_or_null(&o, "connection", is->outcome);
	out_text_or_null(&o, "detail", text[0] != '\0' ? text : NULL);
	out_end(&o);
}

/* Prints what the new row means. 0; 1: it was tried, and is not connected; or an exit
 * status. */
static int
report(struct adding *a, const struct row_change *done)
{
	bool replaced = done->existed && done->owner >= FROM_PERSON;
	static struct server_view view; /* large */
	struct connection is = {.outcome = NULL};
	const struct server_row *row = NULL;
	struct server_state state;
	int status = server_view_open(false, &view);

	if (status == 0) {
		try(a, &view, &is);
		row = server_view_find(&view, a->row.name);
	}
	if (row != NULL) {
		server_state(&view, row, &state);
		if (a->json)
			put_json(&view, row, replaced, state.detail, &is);
		else
			put_text(a, row, replaced, state.detail, &is);
		status = a->connect && (is.outcome == NULL || is.why[0] != '\0');
	} else if (status == 0) {
		log_error("%s was added, and removed again meanwhile", a->row.name);
		status = EXIT_FAILED;
	}
	server_view_close(&view);
	return fflush(stdout) != 0 ? EXIT_FAILED : status;
}

/* ---- the registry --------------------------------------------------------------------- */

/* What a person has decided stays: to disable the server; and what an entry does not say,
 * because neither the list nor the console shows it. Nothing that an agent wrote does. */
static void
keep_earlier(struct adding *a, const struct server_row *old)
{
	if (!a->has_enabled && old->source != FROM_AGENT)
		a->row.enabled = old->enabled;
	if (!a->json || old->source != FROM_PERSON)
		return;
	a->row.policy_server = old->policy_server;
	if (a->row.note == NULL)
		a->row.note = old->note;
	if (a->row.auth_ref == NULL) {
		a->row.auth_type = old->auth_type;
		a->row.auth_ref = old->auth_ref;
	}
}

static int
add(struct adding *a)
{
	struct registry *g = NULL;
	struct server_rows old = {NULL, 0};
	struct row_change done = {.existed = false};
	int r = 0, status = server_registry_open(true, &g);

	if (status == 0)
		r = registry_find(g, a->row.name, &old);
	if (r == 0 && old.n > 0)
		keep_earlier(a, &old.row[0]);
	if (status == 0)
		status = server_log_begin_row("add", &a->row);
	if (status == 0 && r == 0)
		r = registry_put(g, &a->row, &done);
	server_rows_free(&old);
	registry_close(g);
	if (status != 0)
		return status;
	if (r < 0) {
		log_error("unable to change the registry: %s", strerror(-r));
		return server_log_end(EXIT_FAILED, strerror(-r));
	}
	status = server_log_end(0, NULL);
	if (!done.same)
		session_news_row(a->row.name, 0, NULL);
	r = report(a, &done);
	return status != 0 ? status : r;
}

/* ---- an entry on standard input ---------------------------------------------------------- */

/* Parses `add --json [--connect]`: 0 or EXIT_USAGE. */
static int
json_options(struct adding *a, int argc, char **argv)
{
	a->json = true;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--connect") == 0)
			a->connect = true;
		else if (strcmp(argv[i], "--json") != 0)
			return help_usage(&server_help, "add",
			    "--json reads the server from standard input, and takes no "
			    "other argument than --connect");
	}
	return 0;
}

static int
read_entry(struct adding *a, struct reason *why)
{
	char *text = NULL;
	size_t len = 0;
	int r = fd_slurp(STDIN_FILENO, ENTRY_MAX, &text, &len);

	if (r < 0)
		return reason_set(why, r, "unable to read the server: %s", strerror(-r));
	r = dump_read_entry(text, len, &a->row, &a->has_enabled, why);
	explicit_bzero(text, len); /* it may have a misplaced secret */
	free(text);
	return r;
}

bool
server_put_refusal(const char *field, const char *message)
{
	struct out o;

	out_init(&o, stdout);
	out_object(&o, NULL);
	out_object(&o, "error");
	out_text_or_null(&o, "field", field);
	out_text(&o, "message", message);
	out_end(&o);
	out_end(&o);
	return fflush(stdout) == 0;
}

static bool
has_option(int argc, char **argv, const char *name)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], name) == 0)
			return true;
	return false;
}

/* 0, an exit status after reporting it; or -1, with why. */
static int
read_row(struct adding *a, int argc, char **argv, struct reason *why)
{
	int status;

	if (has_option(argc, argv, "--json")) {
		status = json_options(a, argc, argv);
		return status == 0 && read_entry(a, why) < 0 ? -1 : status;
	}
	status = add_options(a, argc, argv, why);
	return status == 0 && complete(a, why) < 0 ? -1 : status;
}

int
server_add_main(int argc, char **argv)
{
	struct adding a = {.row = {.scope = "user",
			       .source = FROM_PERSON,
			       .auth_type = "none",
			       .enabled = true}};
	struct reason why;
	int status;

	buf_init(&a.args, JSON_MAX);
	buf_init(&a.env, JSON_MAX);
	buf_init(&a.auth, JSON_MAX);
	status = read_row(&a, argc, argv, &why);
	if (status == 0) {
		status = add(&a);
	} else if (status < 0) {
		if (a.json)
			(void)server_put_refusal(
			    row_member(&why), why.text); /* the status says it too */
		log_error("server add: %s", why.text);
		if (a.row.name != NULL && !row_name_is_valid(a.row.name))
			a.row.name = NULL; /* it may be anything */
		status = server_log_refused("add", a.row.name, EXIT_INPUT, why.text);
	}
	buf_free(&a.args);
	buf_free(&a.env);
	buf_free(&a.auth);
	free(a.row.own);
	return status;
}
