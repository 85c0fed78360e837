/*
 * kennel server enable, disable, remove: what a person changes.
 *
 * Process: kennel, as the calling user. Starts nothing. Each change and each refusal has
 * a record in the audit log. An argument may be a misplaced secret: only names of
 * servers and files are shown.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/person_socket.h"
#include "supervisor/cli/cli.h"
#include "supervisor/help/help.h"
#include "supervisor/registry/row_check.h"
#include "supervisor/servers/servers.h"
#include "supervisor/status/session_news.h"
#include "supervisor/status/status_client.h"

/* ---- enable, disable, remove -------------------------------------------------------- */

/* A change of one server. */
struct changing {
	const char *verb, *name;
	const uint64_t
	    *shown; /* the updated_gen of the row that the caller saw; or NULL */
	/* NULL: it may be changed; else why not. */
	const char *(*wrong)(const struct server_row *, char out[STATE_DETAIL_MAX]);
	int (*change)(
	    struct registry *, const struct server_row *, const uint64_t *shown);
	const char *done; /* "enabled" */
	bool later;       /* sessions that run keep the server as it is */
	/* prints what the change leaves as it is, or NULL */
	void (*left)(const struct server_row *, bool later);
};

static int
refuse(const struct changing *c, int status, const char *why)
{
	log_error("server %s: %s", c->verb, why);
	return server_log_refused(
	    c->verb, row_name_is_valid(c->name) ? c->name : NULL, status, why);
}

#define EXIT_STALE 1

/* Callback. */
static void
print_stopped(long pid)
{
	printf("its process under process %ld is ended\n", pid);
}

static int
change_row(const struct changing *c, struct server_view *view)
{
	const struct server_row *row = server_view_find(view, c->name);
	char why[STATE_DETAIL_MAX];
	int r, status;

	if (row == NULL) {
		return refuse(c, EXIT_INPUT, server_view_unknown(view, c->name, why));
	}
	if (c->wrong(row, why) != NULL)
		return refuse(c, EXIT_USAGE, why);
	status = server_log_begin_row(c->verb, row);
	if (status != 0)
		return status;
	r = c->change(view->registry, row, c->shown);
	if (r == -ESTALE) {
		(void)snprintf(why, sizeof(why),
		    "`%s` is not of generation %llu: look at it again (`kennel server "
		    "show %s`)",
		    c->name, (unsigned long long)*c->shown, c->name);
		log_error("server %s: %s", c->verb, why);
		return server_log_end(EXIT_STALE, why);
	}
	if (r < 0) {
		log_error("unable to change the registry: %s", strerror(-r));
		return server_log_end(EXIT_FAILED, strerror(-r));
	}
	printf("%s %s\n", c->done, c->name);
	if (!c->later)
		session_news_row(row->name, 0, print_stopped);
	if (c->left != NULL)
		c->left(row, c->later);
	return server_log_end(0, NULL);
}

static int
change_one(struct changing *c, int argc, char **argv)
{
	static struct server_view view; /* large */
	int status = server_argument(argc, argv, &c->name);

	if (status == 0 && c->name == NULL)
		status =
		    help_usage(&server_help, c->verb, "expected the name of one server");
	if (status != 0)
		return status;
	status = server_view_open(true, &view);
	if (status == 0)
		status = change_row(c, &view);
	server_view_close(&view);
	return status;
}

static const char *
wrong_enable(const struct server_row *row, char out[STATE_DETAIL_MAX])
{
	if (row->source != FROM_FILE || row->reason == NULL)
		return NULL;
	(void)snprintf(out, STATE_DETAIL_MAX, "`%s` has the problem %s: edit %.4000s",
	    row->name, row->reason, row->file);
	return out;
}

static const char *
wrong_disable(const struct server_row *row, char out[STATE_DETAIL_MAX])
{
	return NULL;
}

static const char *
wrong_remove(const struct server_row *row, char out[STATE_DETAIL_MAX])
{
	if (row->source >= FROM_PERSON)
		return NULL;
	(void)snprintf(out, STATE_DETAIL_MAX,
	    "`%s` is defined by %.4000s: edit that file, or run `kennel server disable "
	    "%s`",
	    row->name, row->file, row->name);
	return out;
}

static int
do_enable(struct registry *g, const struct server_row *row, const uint64_t *shown)
{
	return registry_enable(g, row->name, row->source, true, shown);
}

static int
do_disable(struct registry *g, const struct server_row *row, const uint64_t *shown)
{
	return registry_enable(g, row->name, row->source, false, shown);
}

static int
do_remove(struct registry *g, const struct server_row *row, const uint64_t *shown)
{
	enum row_source owner;
	return registry_remove(g, row->name, FROM_PERSON, &owner);
}

/* Callback. */
static void
print_running(void *arg, long pid, const struct hub_row *row)
{
	const struct server_row *changed = arg;

	if (strcmp(row->name, changed->name) == 0 &&
	    (row->live == LIVE_CONNECTING || row->live == LIVE_CONNECTED))
		printf("it still runs in process %ld, until its agent ends it\n", pid);
}

static void
left_running(const struct server_row *row, bool later)
{
	(void)status_of_servers(print_running, (void *)row); /* some may not answer */
	if (later)
		printf("a `kennel serve` that runs still starts it, until it ends or "
		       "`kennel server restart %s`\n",
		    row->name);
	if (row->source == FROM_POLICY)
		printf("%s`kennel serve` leaves it out; `kennel run %s` still starts it "
		       "while %s is there\n",
		    later ? "a new " : "", row->name, row->file);
}

#define GENERATION "--generation"

/* Reads an updated_gen as `kennel server list --json` prints it: 0 or -EINVAL. */
static int
read_generation(const char *text, uint64_t *ret)
{
	size_t len = strlen(text);

	if (len == 0 || len > 18 || strspn(text, "0123456789") != len)
		return -EINVAL;
	*ret = strtoull(text, NULL, 10);
	return 0;
}

int
server_enable_main(int argc, char **argv)
{
	struct changing c = {.verb = "enable",
	    .wrong = wrong_enable,
	    .change = do_enable,
	    .done = "enabled"};
	uint64_t shown;
	int kept = 0;

	for (int i = 0; i < argc; i++) {
		const char *text = NULL;

		if (strncmp(argv[i], GENERATION "=", strlen(GENERATION "=")) == 0)
			text = argv[i] + strlen(GENERATION "=");
		else if (strcmp(argv[i], GENERATION) == 0)
			text = i + 1 < argc ? argv[++i] : "";
		else
			argv[kept++] = argv[i];
		if (text != NULL && read_generation(text, &shown) < 0)
			return help_usage(&server_help, c.verb,
			    "--generation needs a number: `updated_gen` of `kennel "
			    "server list --json`, or 0 for null");
		if (text != NULL)
			c.shown = &shown;
	}
	return change_one(&c, kept, argv);
}

#define LATER "--later"

int
server_disable_main(int argc, char **argv)
{
	struct changing c = {.verb = "disable",
	    .wrong = wrong_disable,
	    .change = do_disable,
	    .done = "disabled",
	    .left = left_running};
	int kept = 0;

	for (int i = 0; i < argc; i++)
		if (strcmp(argv[i], LATER) == 0)
			c.later = true;
		else
			argv[kept++] = argv[i];
	return change_one(&c, kept, argv);
}

int
server_remove_main(int argc, char **argv)
{
	struct changing c = {.verb = "remove",
	    .wrong = wrong_remove,
	    .change = do_remove,
	    .done = "removed",
	    .left = left_running};

	return change_one(&c, argc, argv);
}
