/*
 * The tools of a drafted server, asked of the server itself.
 */
#ifndef KENNEL_SUPERVISOR_CLI_INIT_TOOLS_H
#define KENNEL_SUPERVISOR_CLI_INIT_TOOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "shim/base/buf.h"
#include "supervisor/cli/mcp_client.h"
#include "supervisor/json/json.h"

#define INIT_TOOL_MAX 128 /* bytes of a name */

struct tools_found {
	size_t allowed, asked, left_out;
	struct first_look *look;  /* while they are listed */
	struct buf lines;         /* of the policy; empty: not known */
	char why[CLIENT_WHY_MAX]; /* why they are not known, in one line */
};

/*
 * Starts the server once, as "kennel run NAME --policy FILE --placeholders" does, and makes a `tool`
 * line for each of its tools: `allow` for one that only reads, else `ask`. 0; -errno
 * with why. The caller frees the lines in either case.
 */
int init_tools_list(
    const char *purpose, const char *file, const char *name, struct tools_found *ret);
/* The name of a tool, and whether both its annotations and its name call it a reading one.
 * False: no plain name. */
bool init_tool(struct json definition, char name[INIT_TOOL_MAX], bool *ret_reads);
/* Writes the lines, or one line for all tools if they are not known. */
void init_tools_put(const struct tools_found *, FILE *);
/* Replaces the line for all tools, in a draft that was made without a start, by these lines;
 * a policy without it is left. 0 or -errno. */
int init_tools_fill(const char *file, const struct tools_found *);

#endif
