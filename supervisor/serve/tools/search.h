/*
 * Full-text search over the tools that an agent may use: ranked, paged, in memory.
 *
 * The caller adds no tool that the policy denies. Create the index before the process
 * confines itself: later calls open no file.
 */
#ifndef KENNEL_SUPERVISOR_SERVE_TOOLS_SEARCH_H
#define KENNEL_SUPERVISOR_SERVE_TOOLS_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/json/json.h"

#define SEARCH_QUERY_MAX 256         /* bytes of a query that count */
#define SEARCH_TERMS_MAX 16          /* terms that count */
#define SEARCH_TEXT_MAX  (16u << 10) /* indexed bytes of each column of a tool */

struct search_tool {
	const char *server;
	const char *tool;
	size_t tool_len;
	const char *description; /* valid UTF-8; may be NULL */
	size_t description_len;
	struct json schema; /* inputSchema, which json_scan accepted; may be missing */
	uint32_t id;        /* the caller's; returned with each hit */
};

struct search_query {
	const char *text; /* any bytes; without a letter or digit: every tool */
	size_t len;
	const char *server; /* NULL: of all servers */
	uint32_t limit, offset;
};

/* Receives one hit. 0; a negative errno ends the search, which returns it. */
typedef int search_hit_fn(void *arg, uint32_t id);

struct search;

/* 0, -ENOMEM, -EIO. */
int search_new(struct search **ret);
void search_free(struct search *);
/* Copies what it needs. 0; -EEXIST: the index has this tool, and keeps it. After -ENOMEM
 * or -EIO the index may lack tools: free it and build another. */
int search_add(struct search *, const struct search_tool *);
/* Removes every tool of this server. 0, or -ENOMEM and -EIO as above. */
int search_forget(struct search *, const char *server);
/*
 * Reports at most limit hits after the first offset ones, best first; ties by server,
 * then tool. All terms must match, the last one as a prefix; if no tool has all of
 * them, any term.
 */
int search_run(struct search *, const struct search_query *, search_hit_fn *hit,
    void *arg, bool *ret_more);

#endif
