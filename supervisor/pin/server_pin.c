/*
 * kennel server pin: starts a server in its cell, requests its definitions, and
 * writes them to a file for the user to review (docs/FORMAT.pins).
 *
 * Runs as kennel, on the server's output: its answers are data; what is shown of them
 * is escaped. The server runs under `kennel exec`. The gates of the policy are
 * not applied, because denied definitions are worth reviewing too.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "policy/cli/verb.h"
#include "policy/sealed/load.h"
#include "shim/base/array.h"
#include "shim/base/buf.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/cli/cli.h"
#include "supervisor/cli/mcp_client.h"
#include "supervisor/pin/pins_line.h"
#include "supervisor/pin/schema_warnings.h"
#include "supervisor/help/help.h"
#include "supervisor/launch/launch.h"
#include "supervisor/mcp/methods.h"
#include "supervisor/pin/private.h"

#define ROWS_MAX  8192        /* definitions of one server */
#define BYTES_MAX (48u << 20) /* of all definitions: a sealed file holds 64 MiB */

struct pinning {
	const char *file, *server, *out;
	bool diff, show, strict, add_line, yes, json;
	const char *compiled; /* a file of this process; NULL: none */
	struct policy_found found;
	struct policy_found before; /* with the pins replaced; server NULL: none */
	struct row *row;
	size_t row_n, bytes;
	char why[CLIENT_WHY_MAX];
};

static const struct list {
	enum sealed_pin_kind kind;
	const char *word; /* keyword in the file */
	const char *method;
	enum json_result key;
	const char *name;       /* the member that holds its name */
	const char *capability; /* the capability that announces it */
} lists[] = {
    {PIN_TOOL, "tool", "tools/list", RESULT_TOOLS, "name", "tools"},
    {PIN_RESOURCE, "resource", "resources/list", RESULT_RESOURCES, "uri", "resources"},
    {PIN_TEMPLATE, "template", "resources/templates/list", RESULT_TEMPLATES,
	"uriTemplate", "resources"},
    {PIN_PROMPT, "prompt", "prompts/list", RESULT_PROMPTS, "name", "prompts"},
    {PIN_CAPABILITIES, "capabilities", NULL, 0, "capabilities", NULL},
    {PIN_INSTRUCTIONS, "instructions", NULL, 0, "instructions", NULL},
    {PIN_SERVER_INFO, "server-info", NULL, 0, "serverInfo", NULL},
};
#define LISTS (ARRAY_LEN(lists))

const char *
pin_kind_word(enum sealed_pin_kind kind)
{
	for (size_t i = 0; i < LISTS; i++)
		if (lists[i].kind == kind)
			return lists[i].word;
	return "thing";
}

/* ---- rows ------------------------------------------------------------------ */

static void
row_free(struct row *r)
{
	buf_free(&r->name);
	buf_free(&r->body);
}

static int
failed(struct pinning *p, int r, const char *why)
{
	(void)snprintf(p->why, sizeof(p->why), "%s", why);
	return r;
}

static int
by_bytes(const struct buf *a, const struct buf *b)
{
	size_t n = a->len < b->len ? a->len : b->len;
	int d = memcmp(a->data, b->data, n);

	return d != 0 ? d : (a->len > b->len) - (a->len < b->len);
}

/* 1: this row exists, from other client capabilities. Two different definitions with
 * one name in one list are an error, because calls could not distinguish them. */
static int
row_known(const struct pinning *p, const struct row *row)
{
	for (size_t i = 0; i < p->row_n; i++) {
		const struct row *r = &p->row[i];

		if (r->kind != row->kind || by_bytes(&r->name, &row->name) != 0)
			continue;
		if (by_bytes(&r->body, &row->body) == 0)
			return 1;
		if (r->variant == row->variant)
			return -EEXIST;
	}
	return 0;
}

/* A sealed policy could not hold it. */
static int
too_long(struct pinning *p, const char *what, enum sealed_pin_kind kind, size_t len,
    unsigned most)
{
	char why[128];

	(void)snprintf(why, sizeof(why), "%s %s has %zu bytes: expected at most %u", what,
	    pin_kind_word(kind), len, most);
	return failed(p, -EMSGSIZE, why);
}

static int
row_keep(struct pinning *p, struct row *row)
{
	struct row *more;
	int r = row_known(p, row);

	if (r < 0)
		return failed(p, r, "two definitions of the server have the same name");
	if (r > 0) {
		row_free(row);
		return 0;
	}
	if (row->body.len > SEALED_STR_LEN_MAX)
		return too_long(p, "a", row->kind, row->body.len, SEALED_STR_LEN_MAX);
	p->bytes += row->body.len + row->name.len;
	if (p->row_n == ROWS_MAX || p->bytes > BYTES_MAX)
		return failed(p, -E2BIG, "the server defines more than can be pinned");
	more = realloc(p->row, (p->row_n + 1) * sizeof(*more));
	if (more == NULL)
		return failed(p, -ENOMEM, "out of memory");
	p->row = more;
	p->row[p->row_n++] = *row;
	return 0;
}

/* name JSON_IS_NONE: no name. */
static int
row_add(struct pinning *p, enum sealed_pin_kind kind, struct json name, struct json body,
    const char *variant)
{
	struct row row = {.kind = kind, .variant = variant};
	int r;

	buf_init(&row.name, MCP_NAME_MAX);
	buf_init(&row.body, MCP_MESSAGE_MAX);
	r = name.type == JSON_IS_NONE ? buf_puts(&row.name, "\"\"")
				      : json_canon(name, &row.name);
	if (r == 0)
		r = json_canon(body, &row.body);
	r = r < 0 ? failed(p, r, "a definition has no unambiguous reading")
		  : row_keep(p, &row);
	if (r < 0)
		row_free(&row);
	return r;
}

static int
by_row(const void *one, const void *two)
{
	const struct row *a = one, *b = two;
	int d = (a->kind > b->kind) - (a->kind < b->kind);

	if (d == 0)
		d = by_bytes(&a->name, &b->name);
	if (d == 0)
		d = strcmp(a->variant, b->variant);
	return d != 0 ? d : by_bytes(&a->body, &b->body);
}

/* ---- requests --------------------------------------------------------------- */

struct list_reader {
	struct pinning *p;
	const struct list *l;
	const char *variant;
};

/* Callback of client_list. */
static int
add_items(void *arg, struct json items)
{
	const struct list_reader *reader = arg;
	const struct list *l = reader->l;
	struct pinning *p = reader->p;
	struct json key, item, name;
	char text[SEALED_PIN_NAME_MAX + 1];
	struct json_walk w;
	size_t len;
	int r = 0;

	/* some servers answer an unknown request with arbitrary results */
	if (items.type == JSON_IS_NONE && l->kind == PIN_TEMPLATE)
		return 0;
	if (items.type != JSON_IS_ARRAY)
		return failed(p, -EPROTO, "a list of the server is not an array");
	json_walk(&w, items);
	while (r == 0 && json_next(&w, &key, &item)) {
		if (json_get(item, l->name, &name) < 0 || name.type != JSON_IS_STRING)
			return failed(p, -EPROTO, "a definition has no name");
		r = json_text(name, text, sizeof(text), &len);
		if (r == -EMSGSIZE)
			return too_long(
			    p, "the name of a", l->kind, name.len, SEALED_PIN_NAME_MAX);
		if (r < 0)
			return failed(p, r, "a name has a NUL, or half of a character");
		r = row_add(p, l->kind, name, item, reader->variant);
	}
	return r;
}

static int
ask_list(struct pinning *p, struct client *c, const struct list *l, const char *variant)
{
	struct list_reader reader = {p, l, variant};
	int r = client_list(c, l->method, l->key, add_items, &reader);

	return r < 0 && c->why[0] != '\0' ? failed(p, r, c->why) : r;
}

/* Adds the initialize response; sets the lists that it announces, as bits. */
static int
add_greeting(struct pinning *p, struct client *c, const char *variant, uint32_t *ret_has)
{
	const struct json none = {0};
	struct json value, inner;
	uint32_t has = 0;
	int r;

	for (size_t i = 0; i < LISTS; i++) {
		if (lists[i].method != NULL)
			continue;
		r = json_get(c->m.top[TOP_RESULT], lists[i].name, &value);
		/* since 2026-07-28 */
		if (r == -ENOENT && lists[i].kind == PIN_SERVER_INFO)
			r = json_get(c->m.result[RESULT_META], META_SERVER_INFO, &value);
		if (r == -ENOENT)
			continue;
		if (r == 0)
			r = row_add(p, lists[i].kind, none, value, variant);
		if (r < 0)
			return failed(p, r,
			    "the server's response to `initialize` has no unambiguous "
			    "reading");
	}
	if (json_get(c->m.top[TOP_RESULT], "capabilities", &value) == 0)
		for (size_t i = 0; i < LISTS; i++)
			if (lists[i].capability != NULL &&
			    json_get(value, lists[i].capability, &inner) == 0)
				has |= 1u << i;
	*ret_has = has;
	return 0;
}

static int
ask_all(struct pinning *p, struct client *c, const char *variant)
{
	uint32_t has;
	int r = add_greeting(p, c, variant, &has);

	for (size_t i = 0; r == 0 && i < LISTS; i++) {
		if ((has & 1u << i) == 0)
			continue;
		r = ask_list(p, c, &lists[i], variant);
		/* servers with resources but no templates answer with an error */
		if (r == -EREMOTEIO && lists[i].kind == PIN_TEMPLATE)
			r = 0;
	}
	return r;
}

/* ---- the server ------------------------------------------------------------- */

/* Builds the argv that `run` grants, after "kennel exec ... --". */
static int
run_argv(struct pinning *p, const char **argv, size_t cap, size_t *ret_n)
{
	const struct policy *policy = &p->found.policy;
	const struct sealed_exec *run = &policy->exec[p->found.server->run];
	size_t n = *ret_n;

	argv[n++] = policy_str(policy, policy->image[run->asked].path);
	for (uint32_t i = 0; i < run->args.n; i++) {
		const struct sealed_arg *a = &policy->arg[run->args.first + i];

		if (a->kind != ARG_LITERAL || n + 1 >= cap)
			return failed(p, -EINVAL,
			    "`run` has a pattern: only a server with a fixed command "
			    "can be pinned");
		argv[n++] = policy_str(policy, a->text);
	}
	argv[n] = NULL;
	*ret_n = n;
	return 0;
}

static int
spawn(struct pinning *p, pid_t *ret_pid, int *ret_to, int *ret_from)
{
	static const char *argv[LEASH_ARGS_MAX + 8] = {"kennel", "exec", "--for-client"};
	size_t n = 3;
	int r;

	if (p->file != NULL) {
		argv[n++] = "--policy";
		argv[n++] = p->file;
	}
	argv[n++] = p->server;
	argv[n++] = "--";
	r = run_argv(p, argv, ARRAY_LEN(argv), &n);
	if (r < 0)
		return r;
	r = client_spawn(PURPOSE_PIN, argv, ret_pid, ret_to, ret_from);
	return r < 0 ? failed(p, r, "unable to start kennel exec") : 0;
}

static int
pin_variant(struct pinning *p, const char *variant, const char *capabilities)
{
	int to = -1, from = -1, r;
	struct client c;
	pid_t pid = -1;

	r = spawn(p, &pid, &to, &from);
	if (r < 0)
		return r;
	r = client_open(&c, to, from, capabilities,
	    policy_limit(&p->found.policy, p->found.server, TIMEOUT_START));
	if (r < 0)
		(void)failed(p, r, c.why); /* r has the error */
	else
		r = ask_all(p, &c, variant);
	client_free(&c);
	client_reap(pid);
	return r;
}

/* ---- the pins of the policy ------------------------------------------------- */

static const struct list *
list_of(uint32_t kind)
{
	for (size_t i = 0; i < LISTS; i++)
		if ((uint32_t)lists[i].kind == kind)
			return &lists[i];
	return NULL;
}

/* Adds what was reviewed, as if the server listed it. */
static int
add_pins(struct pinning *p)
{
	const struct policy *policy = &p->found.policy;
	const struct sealed_range *range = &p->found.server->pins;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < range->n; i++) {
		const struct sealed_pin *pin = &policy->pin[range->first + i];
		const struct list *l = list_of(pin->kind);
		struct json body =
		    pin_value(policy_str(policy, pin->body), pin->body.len);
		struct json name = {0};

		if (l == NULL ||
		    (l->method != NULL && json_get(body, l->name, &name) < 0))
			return failed(p, -EINVAL, "a pin has no name");
		r = row_add(p, l->kind, name, body, policy_str(policy, pin->variant));
	}
	return r;
}

/* ---- the verb --------------------------------------------------------------- */

/* The client capabilities that the policy lets the server see, in the form of the
 * file and in the form sent to the server. */
static void
capabilities(const struct sealed_server *s, char variant[64], char shown[96])
{
	static const struct {
		uint32_t flag;
		const char *word;
	} known[] = {
	    {SERVER_MCP_ELICITATION, "elicitation"},
	    {SERVER_MCP_ROOTS, "roots"},
	    {SERVER_MCP_SAMPLING, "sampling"},
	};
	size_t v = 0, n = 0;

	variant[0] = '\0';
	n += (size_t)snprintf(shown, 96, "{");
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if ((s->flags & known[i].flag) == 0)
			continue;
		n += (size_t)snprintf(
		    shown + n, 96 - n, "%s\"%s\":{}", v > 0 ? "," : "", known[i].word);
		v += (size_t)snprintf(
		    variant + v, 64 - v, "%s%s", v > 0 ? "," : "", known[i].word);
	}
	(void)snprintf(shown + n, 96 - n, "}"); /* all three fit */
}

/* NAME.pins next to the policy. */
static void
default_out(struct pinning *p)
{
	static char out[PATH_MAX];
	const char *slash = strrchr(p->found.file, '/');

	(void)snprintf(out, sizeof(out), "%.*s%.200s.pins",
	    slash == NULL ? 0 : (int)(slash + 1 - p->found.file), p->found.file,
	    p->server); /* may be truncated */
	p->out = out;
}

/* kennel exec compiles a text again, with its pins; so it gets what was compiled
 * without them, in a file. */
static int
keep_compiled(struct pinning *p)
{
	static char path[PATH_MAX];
	const char *dir = paths_run_dir();
	int r;

	if (dir == NULL || fd_make_dirs(dir) < 0)
		return -ENOENT;
	(void)snprintf(path, sizeof(path), "%.3000s/pin-%ld.sealed", dir, (long)getpid());
	r = verb_write(path, p->found.policy.base, p->found.policy.map_len, 0600);
	if (r == 0)
		p->file = p->compiled = path;
	return r;
}

static int
pin(struct pinning *p)
{
	bool live = !p->show || p->found.server->pins.n == 0;
	bool read = p->out == NULL && !p->strict && isatty(STDOUT_FILENO) == 1;
	char variant[64], shown[96], what[128];
	int r, status;

	capabilities(p->found.server, variant, shown);
	r = live ? pin_variant(p, "", "{}") : add_pins(p);
	if (r == 0 && live && variant[0] != '\0')
		r = pin_variant(p, variant, shown);
	if (r < 0) {
		(void)snprintf(what, sizeof(what), "unable to %s %.100s",
		    p->show ? "show" : "pin", p->server); /* may be cut */
		client_log(what, p->why);
		return EXIT_FAILED;
	}
	if (p->row_n > 0)
		qsort(p->row, p->row_n, sizeof(*p->row), by_row);
	if (p->diff)
		return pin_diff(&p->found, p->row, p->row_n, true) > 0 ? 1 : 0;
	if (read && !p->show)
		log_info("nothing is written: `kennel server pin %s --add-line` pins "
			 "these definitions",
		    p->server);
	if (read || p->show)
		return pin_show(&p->found, p->row, p->row_n,
		    live ? "as the server lists them now" : "as they were reviewed");
	status = pin_lint(p->server, p->row, p->row_n, p->strict);
	if (status != 0)
		return status;
	for (size_t i = 0; i < p->row_n; i++)
		if (p->row[i].kind == PIN_TOOL)
			schema_warnings(&p->row[i].name, &p->row[i].body);
	if (p->out == NULL || strcmp(p->out, "-") == 0)
		return pins_file_print(stdout, p->server, p->row, p->row_n) < 0
			   ? EXIT_FAILED
			   : 0;
	status =
	    pins_file_replace(&p->before, p->out, p->server, p->row, p->row_n, p->yes);
	return status != 0 ? status : pins_line_offer(&p->found, p->out, p->add_line);
}

/* Pins that are missing or invalid are shown as if the policy named none. */
static int
find(struct pinning *p)
{
	int status;

	if (!p->diff && !p->show)
		return find_policy_unpinned(
		    p->file, p->server, &p->found, p->why, sizeof(p->why));
	status = find_policy(p->file, p->server, &p->found, p->why, sizeof(p->why));
	if (p->diff || status != EXIT_INPUT)
		return status;
	status =
	    find_policy_unpinned(p->file, p->server, &p->found, p->why, sizeof(p->why));
	if (status == 0)
		log_warn("the pins of %s cannot be used; showing what the server lists "
			 "now",
		    p->server);
	return status;
}

static int
parse(struct pinning *p, int argc, char **argv)
{
	const struct {
		const char *name;
		bool *flag;
		const char **value;
	} options[] = {
	    {"--policy", NULL, &p->file},
	    {"-o", NULL, &p->out},
	    {"--diff", &p->diff, NULL},
	    {"--show", &p->show, NULL},
	    {"--strict", &p->strict, NULL},
	    {"--add-line", &p->add_line, NULL},
	    {"--yes", &p->yes, NULL},
	    {"--json", &p->json, NULL},
	};
	size_t k;

	for (int i = 1; i < argc; i++) {
		for (k = 0; k < ARRAY_LEN(options); k++)
			if (strcmp(argv[i], options[k].name) == 0)
				break;
		if (k < ARRAY_LEN(options) && options[k].flag != NULL)
			*options[k].flag = true;
		else if (k < ARRAY_LEN(options) && i + 1 < argc)
			*options[k].value = argv[++i];
		else if (argv[i][0] != '-' && p->server == NULL)
			p->server = argv[i];
		else
			return help_refuse(&server_help, argv[0], argv[i]);
	}
	if (p->server == NULL)
		return help_usage(&server_help, argv[0], "expected the name of a server");
	if (p->yes && p->out == NULL && !p->add_line)
		return help_usage(
		    &server_help, argv[0], "--yes is only used with -o and --add-line");
	if (p->json && (p->out != NULL || p->add_line))
		return help_usage(
		    &server_help, argv[0], "--json excludes -o and --add-line");
	if (p->json)
		p->out = "-";
	if ((p->diff || p->show) && (p->out != NULL || p->add_line || p->strict))
		return help_usage(&server_help, argv[0],
		    "--diff and --show exclude -o, --add-line, --strict and --json");
	if (p->diff && p->show)
		return help_usage(&server_help, argv[0], "--diff excludes --show");
	return 0;
}

int
pin_main(int argc, char **argv)
{
	struct pinning p = {0};
	int status = parse(&p, argc, argv);

	if (status != 0)
		return status;
	(void)signal(SIGPIPE, SIG_IGN); /* cannot fail: valid signal */
	status = find(&p);
	if (status != 0) {
		/* the compiler has printed its errors */
		log_error("unable to pin %s: %s", p.server,
		    strstr(p.why, ": error: ") != NULL ? "its policy has errors" : p.why);
		return status;
	}
	if (p.add_line && p.out == NULL)
		default_out(&p);
	if (p.out != NULL && find_policy_quietly(p.file, p.server, &p.before) != 0)
		p.before.server = NULL; /* nothing was reviewed, or it cannot be read */
	if (p.found.text && !p.diff && keep_compiled(&p) < 0) {
		log_error("unable to write to the run directory: see kennel doctor");
		status = EXIT_FAILED;
	} else
		status = pin(&p);
	if (p.compiled != NULL)
		(void)unlink(p.compiled); /* a leftover does no harm */
	for (size_t i = 0; i < p.row_n; i++)
		row_free(&p.row[i]);
	free(p.row);
	policy_found_free(&p.found);
	policy_found_free(&p.before);
	return status;
}
