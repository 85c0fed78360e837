/*
 * Servers that more than one file defines: which of them a start uses.
 */
#ifndef KENNEL_SUPERVISOR_LAUNCH_FIND_DUPLICATE_SERVER_H
#define KENNEL_SUPERVISOR_LAUNCH_FIND_DUPLICATE_SERVER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "policy/compile/compile.h"

#define DUPLICATE_TEXT_MAX ((size_t)2 * PATH_MAX)

struct server_place;
struct servers_seen {
	struct server_place *place; /* owned */
	size_t n;
};

enum duplicate {
	DUPLICATE_NONE,    /* the first of its name, or what that was compiled from */
	DUPLICATE_UNUSED,  /* the first one holds */
	DUPLICATE_REFUSED, /* a start by name uses neither (policy_find.c) */
};

/*
 * Call it for each name in the order of server_names(). by_name: the files were found, not
 * given. text: one line that names the place of the first; set unless DUPLICATE_NONE. The
 * place of this one is the caller's to show. -ENOMEM.
 */
int duplicate_server(struct servers_seen *, const struct policy_name *, bool by_name,
    enum duplicate *ret, char text[DUPLICATE_TEXT_MAX]);
void servers_seen_free(struct servers_seen *);

#endif
