/*
 * The policy that was probably meant: a file beside the one that does not exist; and for a
 * name without a directory, one of the caller's policies, as the name of a server.
 *
 * Runs as the calling user. Reads the names of directories, and opens no file.
 */
#include "policy/cli/near_file.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/cli/verb.h"
#include "shim/base/log.h"
#include "shim/help/near_word.h"

#define FILES_MAX 1024
#define SUFFIX    ".kennel"

/* The names of DIR/NAME.kennel. */
static size_t
list_files(const char *dir, char *name[FILES_MAX])
{
	size_t n = 0, len;
	struct dirent *entry;
	DIR *d = opendir(dir);

	while (d != NULL && n < FILES_MAX && (entry = readdir(d)) != NULL) {
		len = strlen(entry->d_name);
		if (len > strlen(SUFFIX) && entry->d_name[0] != '.' &&
		    strcmp(entry->d_name + len - strlen(SUFFIX), SUFFIX) == 0 &&
		    (name[n] = strdup(entry->d_name)) != NULL)
			n++;
	}
	if (d != NULL)
		(void)closedir(d); /* read-only */
	return n;
}

/* dir "": the working directory. True: printed. */
static bool
say_from(const char *dir, const char *wanted)
{
	char *name[FILES_MAX], found[PATH_MAX], shown[512];
	size_t n = list_files(dir[0] != '\0' ? dir : ".", name);
	const char *near = NULL;

	for (size_t i = 0; i < n && near == NULL; i++)
		if (strcmp(name[i], wanted) == 0)
			near = name[i];
	if (near == NULL)
		near = near_word(wanted, (const char *const *)name, n);
	if (near != NULL) {
		(void)snprintf(found, sizeof(found), "%s%s%s", dir,
		    dir[0] != '\0' ? "/" : "", near); /* shown */
		fprintf(stderr, "kennel policy: did you mean `%s`?\n",
		    log_quote(shown, sizeof(shown), found, strlen(found)));
	}
	for (size_t i = 0; i < n; i++)
		free(name[i]);
	return near != NULL;
}

void
near_file_say(const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
	char dir[PATH_MAX], wanted[NAME_MAX + 1];
	size_t len = strlen(base);
	bool has =
	    len > strlen(SUFFIX) && strcmp(base + len - strlen(SUFFIX), SUFFIX) == 0;

	if (slash == path ||
	    (size_t)snprintf(dir, sizeof(dir), "%.*s",
		slash != NULL ? (int)(slash - path) : 0, path) >= sizeof(dir))
		return;
	if ((size_t)snprintf(wanted, sizeof(wanted), "%s%s", base, has ? "" : SUFFIX) >=
	    sizeof(wanted))
		return;
	if (say_from(dir, wanted) || slash != NULL)
		return;
	if (own_folder("policies", dir, sizeof(dir)) == 0)
		(void)say_from(dir, wanted); /* or nothing is near */
}
