/*
 * Which paths have their values elsewhere than in kennel's vault (sources.kennel), from
 * one process to another: a line for each route, "BY VAULT PATH".
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/base/arena.h"
#include "policy/compile/compile.h"
#include "policy/sources/sources.h"
#include "supervisor/secrets/private.h"

int
routes_put(struct buf *out)
{
	char *said = NULL;
	size_t len;
	FILE *diag = open_memstream(&said, &len);
	struct arena *arena = arena_new();
	struct sources s = {.route_n = 0};
	int r = diag == NULL || arena == NULL ? -ENOMEM : 0;

	/* an error in the file is reported when a policy is compiled; here no route counts */
	if (r == 0 && sources_read(arena, &policy_files, sources_place(), diag, &s) < 0)
		s.route_n = 0;
	for (size_t i = 0; r == 0 && i < s.route_n; i++)
		r = buf_printf(out, "%d %d %s\n", (int)s.route[i].by,
		    s.route[i].source == 0, s.route[i].path);
	if (diag != NULL)
		(void)fclose(diag); /* what it says is dropped */
	free(said);
	arena_free(arena);
	return r;
}

/* The next line: true, and the text of its path in `path`. */
static bool
line_next(const char **at, const char *end, struct route *ret, char *path)
{
	const char *eol = *at == end ? NULL : memchr(*at, '\n', (size_t)(end - *at));
	size_t n = eol == NULL ? 0 : (size_t)(eol - *at);

	if (n < 4 || n - 4 > SECRET_PATH_MAX)
		return false;
	*ret = (struct route){
	    .by = (enum route_by)((*at)[0] - '0'), .source = (*at)[2] == '0'};
	memcpy(path, *at + 4, n - 4);
	path[n - 4] = '\0';
	ret->path = path;
	*at = eol + 1;
	return true;
}

bool
routes_elsewhere(const struct secrets_manifests *m, const char *path)
{
	const char *at = m->routes, *end;
	char kept[SECRET_PATH_MAX + 1], text[SECRET_PATH_MAX + 1];
	/* the best so far, at first the vault, and the next */
	struct route pair[2] = {{.by = BY_NOTHING, .path = ""}, {.path = ""}}, next;
	const struct sources both = {.route = pair, .route_n = 2};

	if (at == NULL)
		return false;
	end = at + m->routes_len;
	while (line_next(&at, end, &next, text)) {
		pair[1] = next;
		if (sources_find(&both, path) != &pair[1])
			continue;
		memcpy(kept, text, sizeof(kept));
		pair[0] = next;
		pair[0].path = kept;
	}
	return pair[0].source != 0;
}
