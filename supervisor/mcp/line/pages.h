/*
 * The pages of one list of a server, for all that reads them (pages.c).
 *
 *	nextCursor			the list
 *	none, null, not a string	ends
 *	a string, also ""		goes on
 *	one that came before		ends: it does not advance
 *	after a page that came before	ends: likewise; the page counts once
 *
 * Older servers write "" as the end. They answer it with their first page again, or with an
 * error, and the list ends there.
 */
#ifndef KENNEL_SUPERVISOR_MCP_LINE_PAGES_H
#define KENNEL_SUPERVISOR_MCP_LINE_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisor/json/json.h"

#define PAGES_MAX 1000 /* of one list */

enum pages_is { PAGES_MORE, PAGES_END, PAGES_STILL, PAGES_MANY, PAGES_IS_N };

struct pages {                                       /* all zero: nothing was read */
	uint32_t n;                                  /* cursors that were followed */
	bool empty;                                  /* the last one was "" */
	uint64_t page[PAGES_MAX], cursor[PAGES_MAX]; /* hashes of both, in order */
};

/* Takes the next page: its result, and the list in it (JSON_IS_NONE: none). PAGES_MORE: ask
 * for the page of *ret_cursor, a string in the result. *ret_again: this page came before,
 * and counts no more. */
enum pages_is pages_take(struct pages *, struct json result, struct json list,
    struct json *ret_cursor, bool *ret_again);
/* True if an error in answer to the last cursor is the end of the list. */
bool pages_end_refused(const struct pages *);
/* Why the list ended: "its cursor does not advance"; "" for PAGES_MORE and PAGES_END. */
const char *pages_why(enum pages_is);
/* A hash of this cursor, which is never 0; 0 if it is not a string. */
uint64_t pages_cursor(struct json);

#endif
