/*
 * Agents' configuration files, in a project or a home directory, that name
 * programs to start.  A server that can write one can start any program outside
 * every cell, as soon as the agent reads the file.
 */
#ifndef KENNEL_POLICY_CHECK_AGENT_FILES_H
#define KENNEL_POLICY_CHECK_AGENT_FILES_H

#include <limits.h>
#include <stdbool.h>

#include "policy/base/diag.h"

/* Not 0: stop the search, which returns this value (over 0, or -ENOMEM). */
typedef int agent_file_fn(void *arg, const char *path);

/*
 * Calls fn for each such regular file in this directory and in the directories
 * on two levels below it, except below node_modules.  The directory may be a part
 * of a name, as W/.vscode of .vscode/mcp.json.  Returns 0, the value that
 * fn returned, or a negative errno if a directory cannot be searched, which
 * ret_failed then names: it may contain such files.  -E2BIG: too many directories.
 */
int agent_files_find(
    const char *dir, agent_file_fn *fn, void *arg, char ret_failed[PATH_MAX]);
/* Has this path the name of such a file? */
bool agent_files_is(const char *path);
enum agent_file {
	AGENT_FILE_NONE,
	AGENT_FILE_EXISTS,
	AGENT_FILE_POSSIBLE, /* it does not exist, but an agent would read it */
};

/*
 * Which file to warn about if a `write` grant covers this directory: ret_path is
 * the first that exists, else DIR/.mcp.json in a project, else the file of which
 * DIR is a part.  A negative errno:
 * ret_path cannot be searched.
 */
int agent_files_warn(const char *dir, char ret_path[PATH_MAX]);

#define AGENT_TEXT_MAX (DIAG_PATH_CAP + 256)
/* "unable to search DIR ...: what to do", for an error of this search. */
void agent_files_text(char out[AGENT_TEXT_MAX], const char *failed, int error);

#endif
