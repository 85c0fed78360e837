/*
 * Finds servers that more than one file defines (duplicate_server.h).
 */
#include "supervisor/launch/find/duplicate_server.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/base/diag.h"
#include "supervisor/launch/find/changed_source.h"

/* The first file that defines this name. */
struct server_place {
	char *name, *path; /* owned */
	uint32_t line;     /* 0: sealed */
};

static int
add(struct servers_seen *seen, const struct policy_name *n)
{
	struct server_place *more =
	    reallocarray(seen->place, seen->n + 1, sizeof(*more)); /* few */
	struct server_place p = {strdup(n->name), strdup(n->path), n->line};

	if (more != NULL)
		seen->place = more;
	if (more == NULL || p.name == NULL || p.path == NULL) {
		free(p.name);
		free(p.path);
		return -ENOMEM;
	}
	more[seen->n++] = p;
	return 0;
}

static enum duplicate
judge(const struct server_place *first, const struct policy_name *n, bool by_name)
{
	if (strcmp(first->path, n->path) == 0)
		return DUPLICATE_NONE; /* the compiler reports both lines */
	if (first->line > 0)
		return by_name ? DUPLICATE_REFUSED : DUPLICATE_UNUSED;
	return n->line > 0 && changed_source_knows(first->path, n->path)
		   ? DUPLICATE_NONE
		   : DUPLICATE_UNUSED;
}

int
duplicate_server(struct servers_seen *seen, const struct policy_name *n, bool by_name,
    enum duplicate *ret, char text[DUPLICATE_TEXT_MAX])
{
	char shown[2][DIAG_TEXT_CAP], line[16] = "";
	const struct server_place *first = seen->place;

	while (first != NULL && first < seen->place + seen->n &&
	       strcmp(first->name, n->name) != 0)
		first++;
	*ret = DUPLICATE_NONE;
	if (first == NULL || first == seen->place + seen->n)
		return add(seen, n);
	*ret = judge(first, n, by_name);
	if (first->line > 0)
		(void)snprintf(line, sizeof(line), ":%u", first->line); /* fits */
	(void)snprintf(text, DUPLICATE_TEXT_MAX,
	    "duplicate server `%s`; first defined at %s%s, %s: remove one of them",
	    diag_text(shown[0], n->name, strlen(n->name)),
	    diag_text(shown[1], first->path, strlen(first->path)), line,
	    *ret == DUPLICATE_REFUSED ? "and a start uses neither"
				      : "which holds"); /* only shown */
	return 0;
}

void
servers_seen_free(struct servers_seen *seen)
{
	for (size_t i = 0; i < seen->n; i++) {
		free(seen->place[i].name);
		free(seen->place[i].path);
	}
	free(seen->place);
	*seen = (struct servers_seen){NULL, 0};
}
