/*
 * Collects trusted files and grants of a sealed policy: what its servers run,
 * and what they may reach.  Its mounts are canonical; references of secrets are
 * as written.
 */
#include "policy/base/arena.h"
#include "policy/check/trusted.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policy/sealed/load.h"

struct rows {
	const struct policy *p;
	const struct sealed_server *server;
	struct trusted *to;
	unsigned int group;
	int error; /* 0 or -ENOMEM */
};

/* A row comes from a line of the compiled text. */
static struct trusted_line
line_of(const struct rows *w, struct sealed_at at)
{
	const char *file = "?";

	if (at.file < w->p->row_n[SEALED_FILES])
		file = policy_str(w->p, w->p->file[at.file]);
	return (struct trusted_line){.server = policy_str(w->p, w->server->name),
	    .file = file,
	    .line = at.line,
	    .group = w->group};
}

static void
file_put(struct rows *w, enum trusted_use use, struct sealed_at at, const char *path,
    bool resolved)
{
	struct trusted_file f = {.by = line_of(w, at),
	    .use = use,
	    .right = RIGHT_WRITE,
	    .below = use == USE_RUNTIME};

	if (w->error == 0 && path[0] == '/')
		w->error = trusted_add_file(w->to, &f, path, resolved);
}

static void
mount_put(struct rows *w, const struct sealed_mount *m)
{
	static const struct {
		enum sealed_mount_why why;
		enum trusted_use use;
	} uses[] = {
	    {WHY_LOADER, USE_INTERPRETER},
	    {WHY_LIBRARY, USE_LIBRARY},
	    {WHY_SCRIPT, USE_INTERPRETER},
	    {WHY_PRESET, USE_RUNTIME},
	};
	const char *source = policy_str(w->p, m->source);
	struct trusted_line by;

	if (m->kind != MOUNT_FILE && m->kind != MOUNT_TREE)
		return;
	for (size_t i = 0; i < ARRAY_LEN(uses); i++)
		if (uses[i].why == m->why)
			file_put(w, uses[i].use, m->at, source, true);
	if (m->why != WHY_READ && m->why != WHY_WRITE)
		return;
	by = line_of(w, m->at);
	if (w->error == 0)
		w->error = trusted_add_grant(
		    w->to, &by, source, m->right & (RIGHT_READ | RIGHT_WRITE), true);
}

static void
images_put(struct rows *w)
{
	const struct sealed_server *s = w->server;
	uint32_t run = w->p->exec[s->run].asked;
	const struct sealed_image *image;

	for (uint32_t i = s->images.first; i < s->images.first + s->images.n; i++) {
		image = &w->p->image[i];
		file_put(w, i == run ? USE_RUN : USE_EXEC, image->at,
		    policy_str(w->p, image->path), false);
		file_put(w, i == run ? USE_RUN : USE_EXEC, image->at,
		    policy_str(w->p, image->real), true);
	}
}

/* For a command, each argument that names a file; for a plugin, its program. */
static void
secret_put(struct rows *w, const struct sealed_secret *s)
{
	const struct sealed_arg *arg = w->p->arg + s->args.first;
	struct trusted_file f = {.by = line_of(w, s->at),
	    .use = s->source == SOURCE_CMD ? USE_SECRET_CMD : USE_PLUGIN,
	    .right = RIGHT_WRITE};
	uint32_t n = s->args.n;

	if (s->source == SOURCE_FILE)
		file_put(w, USE_SECRET_FILE, s->at, policy_str(w->p, s->ref), false);
	if (s->source == SOURCE_PLUGIN && n > 1)
		n = 1;
	if (s->source != SOURCE_CMD && s->source != SOURCE_PLUGIN)
		return;
	for (uint32_t i = 0; i < n && w->error == 0; i++)
		w->error = trusted_add_word(w->to, &f, policy_str(w->p, arg[i].text));
}

int
trusted_policy(struct trusted *t, const struct policy *p, unsigned int group)
{
	struct rows w = {.p = p, .to = t, .group = group};

	for (uint32_t i = 0; i < p->row_n[SEALED_SERVERS] && w.error == 0; i++) {
		w.server = &p->server[i];
		for (uint32_t k = 0; k < w.server->mounts.n; k++)
			mount_put(&w, &p->mount[w.server->mounts.first + k]);
		images_put(&w);
		for (uint32_t k = 0; k < w.server->secrets.n; k++)
			secret_put(&w, &p->secret[w.server->secrets.first + k]);
	}
	return w.error;
}

/* ---- at a start ------------------------------------------------------------ */

int
trusted_admit(const struct policy *p, char *why, size_t why_cap)
{
	struct arena *arena = arena_new();
	struct trusted *t = arena == NULL ? NULL : trusted_new(arena);
	int r = t == NULL ? -ENOMEM : trusted_policy(t, p, 0);

	if (r == 0)
		r = trusted_first(t, why, why_cap);
	else
		(void)snprintf(why, why_cap, "out of memory");
	arena_free(arena);
	return r;
}
