/*
 * What Claude Code's settings say about servers of its other files: the variables of the
 * client itself with deadlines, and which servers of a project are switched off.
 *
 * A project's own settings.json can only switch off: who wrote it chooses no deadline.
 */
#include <errno.h>
#include <string.h>

#include "shim/base/log.h"
#include "supervisor/import/entry_parts.h"
#include "supervisor/import/private.h"

static const char client[] = "claude-code";

static bool
ends_with(const char *path, const char *end)
{
	size_t n = strlen(path), k = strlen(end);

	return n >= k && strcmp(path + n - k, end) == 0;
}

/* Is it one of the files with settings? */
static bool
is_settings(const struct client_file *f)
{
	return strcmp(f->client, client) == 0 &&
	       (ends_with(f->path, ".claude|settings.json") ||
		   ends_with(f->path, ".claude|settings.local.json") ||
		   ends_with(f->path, ".claude/settings.json") ||
		   ends_with(f->path, ".claude/settings.local.json"));
}

/* Switches off the servers of the project's file that this object lists. */
static void
switch_off(struct import *m, const struct config_tree *t, size_t object)
{
	for (size_t i = 0; i < m->found_n; i++) {
		struct import_found *f = &m->found[i];

		if (strcmp(f->client->client, client) != 0 ||
		    f->client->scope != SCOPE_PROJECT)
			continue;
		for (size_t k = 0; k < f->entries.n; k++)
			if (entry_is_listed(t, object, "disabledMcpjsonServers",
				f->entries.entry[k].name))
				f->entries.entry[k].disabled = true;
	}
}

static void
take_deadlines(struct import *m, const struct config_tree *t)
{
	size_t env;

	if (config_get(t, 0, "env", &env) != CONFIG_FOUND)
		return;
	for (size_t i = 0; i < m->found_n; i++)
		for (size_t k = 0; k < m->found[i].entries.n; k++)
			if (strcmp(m->found[i].client->client, client) == 0)
				entry_take_client_times(&m->found[i].tree, t, env,
				    &m->found[i].entries.entry[k]);
}

static void
take_file(struct import *m, const struct client_file *f, const char *path)
{
	struct config_file file = {0};
	struct config_tree t = {.n = 0};
	int r = config_file_read(path, &file);

	if (r == -ENOENT || r == -ENOTDIR)
		return;
	if (r == 0)
		r = config_parse(f->dialect, file.bytes, file.len, &t);
	if (r < 0) {
		log_warn("unable to read %s: %s: deadlines and switched-off servers in "
			 "it are not known",
		    path, r == -EBADMSG ? t.why : strerror(-r));
	} else {
		switch_off(m, &t, 0);
		if (!ends_with(path, "/.claude/settings.json") ||
		    f->scope != SCOPE_PROJECT)
			take_deadlines(m, &t);
	}
	config_free(&t);
	config_file_free(&file);
}

/* The object of this project in the user's file. */
static void
take_project(struct import *m, const struct config_tree *t)
{
	size_t projects, i;

	if (config_get(t, 0, "projects", &projects) == CONFIG_FOUND &&
	    config_get(t, projects, m->project, &i) == CONFIG_FOUND)
		switch_off(m, t, i);
}

void
claude_settings_take(struct import *m, const char *home)
{
	const struct client_file *file;
	char path[PATH_MAX];
	size_t n;

	file = client_files(&n);
	for (size_t i = 0; i < n; i++)
		if (is_settings(&file[i]) &&
		    client_path(&file[i], home, m->project, path) == 0)
			take_file(m, &file[i], path);
	for (size_t i = 0; i < m->found_n; i++)
		if (m->found[i].client->projects && m->found[i].tree.n > 0)
			take_project(m, &m->found[i].tree);
}
