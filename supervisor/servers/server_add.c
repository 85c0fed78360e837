/*
 * kennel server add: a person adds a server to the registry, or replaces it.
 *
 * Process: kennel, as the calling user. Starts nothing. Each addition and each refusal has
 * a record in the audit log. A word of the command line may be a misplaced secret: only
 * names of servers and files are shown.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shim/base/array.h"
#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/cli/cli.h"
#include "supervisor/help/help.h"
#include "supervisor/registry/reference.h"
#include "supervisor/registry/row_check.h"
#include "supervisor/servers/servers.h"

#define JSON_MAX (64u << 10)

/* What `add` was given. */
struct adding {
	struct server_row row;
	struct buf args, env, auth; /* JSON */
	const char *auth_ref;
	size_t env_n;
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

/* Prints what the new row means. */
static void
say_added(const char *name, const struct row_change *done)
{
	static struct server_view view; /* large */
	struct server_state state;
	const struct server_row *row;

	printf("%s %s\n",
	    done->existed && done->owner >= FROM_PERSON ? "replaced" : "added", name);
	if (server_view_open(false, &view) == 0 &&
	    (row = server_view_find(&view, name)) != NULL) {
		server_state(&view, row, &state);
		if (row->source == FROM_FILE)
			printf("%s is also defined by %s, which has precedence\n", name,
			    row->file);
		if (state.reason != NULL)
			printf("it does not start yet: %s\n", state.detail);
	}
	server_view_close(&view);
}

static int
add(struct adding *a)
{
	struct registry *g = NULL;
	struct server_rows old = {NULL, 0};
	struct row_change done = {.existed = false};
	int r, status = server_registry_open(true, &g);

	if (status == 0)
		status = server_log_begin("add", a->row.name);
	if (status != 0) {
		registry_close(g);
		return status;
	}
	r = registry_find(g, a->row.name, &old);
	/* a person's decision to disable the server stays */
	if (r == 0 && old.n > 0 && old.row[0].source != FROM_AGENT)
		a->row.enabled = old.row[0].enabled;
	if (r == 0)
		r = registry_put(g, &a->row, &done);
	server_rows_free(&old);
	registry_close(g);
	if (r < 0) {
		log_error("unable to change the registry: %s", strerror(-r));
		return server_log_end(EXIT_FAILED, strerror(-r));
	}
	status = server_log_end(0, NULL);
	say_added(a->row.name, &done);
	return status;
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
	status = add_options(&a, argc, argv, &why);
	if (status == 0 && complete(&a, &why) < 0)
		status = -1;
	if (status == 0) {
		status = add(&a);
	} else if (status < 0) {
		log_error("server add: %s", why.text);
		if (a.row.name != NULL && !row_name_is_valid(a.row.name))
			a.row.name = NULL; /* it may be anything */
		status = server_log_refused("add", a.row.name, EXIT_INPUT, why.text);
	}
	buf_free(&a.args);
	buf_free(&a.env);
	buf_free(&a.auth);
	return status;
}
