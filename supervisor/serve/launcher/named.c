/*
 * The names of the servers that the launcher may start (startable.h).
 *
 * Process: kennel serve, its unconfined half; before it is forked, if names were given.
 */
#include <stdio.h>
#include <string.h>

#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/launch/find/duplicate_server.h"
#include "supervisor/launch/find/policy_files.h"
#include "supervisor/registry/row_check.h"
#include "supervisor/serve/launcher/startable.h"

struct naming {
	struct startables *servers;
	const struct launcher_order *order;
	const char *file; /* the --policy whose names are read; NULL: found by name */
	struct servers_seen seen;
};

static bool
is_wanted(const struct launcher_order *order, const char *name)
{
	for (size_t i = 0; i < order->name_n; i++)
		if (strcmp(order->name[i], name) == 0)
			return true;
	return order->name_n == 0;
}

/* A start by name says so too, but not which of two given files holds. */
static void
note_duplicate(struct naming *g, const struct policy_name *n)
{
	enum duplicate is = DUPLICATE_NONE;
	char text[DUPLICATE_TEXT_MAX];

	if (duplicate_server(&g->seen, n, g->file == NULL, &is, text) < 0)
		die("out of memory");
	if (is == DUPLICATE_NONE || !is_wanted(g->order, n->name))
		return;
	if (n->line > 0)
		log_warn("%s:%u: %s", n->path, n->line, text);
	else
		log_warn("%s: %s", n->path, text);
}

/* Callback for each name: the first file that defines it holds. */
static void
note_name(void *arg, const struct policy_name *n)
{
	struct naming *g = arg;
	struct startable *k;

	note_duplicate(g, n);
	if (startable_find(g->servers, n->name) != NULL ||
	    (k = startable_new(g->servers, n->name, n->about)) == NULL)
		return;
	k->file = g->file;
	k->has_policy = true;
}

/* A --policy that defines no name is known by the file's. */
static void
note_broken(struct naming *g)
{
	const char *slash = strrchr(g->file, '/');
	char name[LAUNCHER_NAME_MAX + 1];
	struct startable *k;

	(void)snprintf(
	    name, sizeof(name), "%s", slash != NULL ? slash + 1 : g->file); /* cut */
	k = startable_new(g->servers, name, "");
	if (k == NULL)
		die("too many servers");
	k->file = g->file;
	k->has_policy = k->wanted = true;
}

/* A file with errors may define it, and makes only its own server fail; so may a project's
 * file that no person has approved yet. */
static int
name_unknown(struct naming *g, const char *name, char *why)
{
	const char *file = g->order->file_n > 0 ? g->order->file[0] : NULL;
	struct policy_found found;
	struct startable *k;
	int status = EXIT_INPUT;

	if (g->servers->skipped.text == NULL)
		status = find_policy(file, name, &found, why, LEASH_TEXT_MAX);
	if (status == EXIT_CONFIG) {
		log_error("%s", why);
		log_error(
		    "no server is served: correct or remove the argument `%s`", name);
		return status;
	}
	if (status == 0)
		policy_found_free(&found);
	if ((k = startable_new(g->servers, name, "")) != NULL) {
		k->file = file;
		k->named = true;
	}
	return 0;
}

void
startables_look(
    struct startables *s, const struct launcher_order *order, const char *name)
{
	struct startable *k = startable_find(s, name);
	struct policy_found found;
	char why[LEASH_TEXT_MAX];

	if (order->file_n > 0 || (k != NULL && (k->has_policy || k->named)) ||
	    !row_name_is_valid(name) ||
	    find_policy(NULL, name, &found, why, sizeof(why)) != 0)
		return;
	policy_found_free(&found);
	if (k == NULL)
		k = startable_new(s, name, "");
	if (k != NULL)
		k->has_policy = true;
	startables_configure(s); /* which row holds depends on it */
}

void
startables_want(struct startables *s, const struct launcher_order *order)
{
	for (size_t i = 0; i < s->n; i++)
		s->all[i]->wanted |= is_wanted(order, s->all[i]->name);
}

int
startables_name(struct startables *s, const struct launcher_order *order, char *why)
{
	struct naming g = {.servers = s, .order = order};
	int r = 0;

	if (order->file_n == 0)
		r = server_names(note_name, &g);
	for (size_t i = 0; i < order->file_n; i++) {
		g.file = order->file[i];
		if (server_names_of(g.file, note_name, &g) < 0)
			note_broken(&g); /* find_policy says what is wrong */
	}
	servers_seen_free(&g.seen);
	if (r < 0)
		log_error("unable to find every policy: %s", strerror(-r));
	startables_configure(s);
	r = 0;
	for (size_t i = 0; r == 0 && i < order->name_n; i++)
		if (startable_find(s, order->name[i]) == NULL)
			r = name_unknown(&g, order->name[i], why);
	startables_want(s, order);
	return r;
}
