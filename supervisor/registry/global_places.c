/*
 * Where mcp-servers.json is searched (global_file.h).
 */
#include <string.h>
#include <unistd.h>

#include "supervisor/registry/global_file.h"

#define ETC_DIR "/etc/kennel"

void
global_places_here(const char *config, char project[PATH_MAX], struct global_places *ret)
{
	*ret = (struct global_places){.etc = ETC_DIR, .config = config};
	/* syscalls: getcwd */
	if (getcwd(project, PATH_MAX) != NULL && strcmp(project, ETC_DIR) != 0 &&
	    (config == NULL || strcmp(project, config) != 0))
		ret->project = project;
}
