/*
 * Lists of what the view has beside the verdicts of paths: sizes, links, mounts that may
 * be missing, files that may be executed.
 */
#include "policy/diff/private.h"
#include "policy/sealed/policy.h"

#include <stdlib.h>
#include <string.h>

/* The size of the private /tmp. */
void
read_tmp(const struct policy *p, const struct sealed_server *s, struct pairs *l)
{
	const struct sealed_mount *m;
	uint32_t i;

	for (i = 0; i < s->mounts.n; i++) {
		m = &p->mount[s->mounts.first + i];
		if (m->kind == MOUNT_TMPFS || m->kind == MOUNT_SHM)
			pairs_add(l, policy_str(p, m->target), m->target.len,
			    pairs_number(m->size), m->size);
	}
}

void
read_proc(const struct policy *p, const struct sealed_server *s, struct pairs *l)
{
	if ((s->flags & SERVER_NO_PROC) == 0)
		pairs_add(l, "/proc", 5, strdup("its own"), 0);
}

void
read_tty(const struct policy *p, const struct sealed_server *s, struct pairs *l)
{
	if ((s->flags & SERVER_TTY) != 0)
		pairs_add(l, "/dev/pts", 8, strdup("its own"), 0);
}

/* The hides without which there is no start. */
void
read_hides(const struct policy *p, const struct sealed_server *s, struct pairs *l)
{
	const struct sealed_mount *m;
	uint32_t i;

	for (i = 0; i < s->mounts.n; i++) {
		m = &p->mount[s->mounts.first + i];
		if (m->kind == MOUNT_HIDE && !m->optional)
			pairs_add(l, policy_str(p, m->target), m->target.len,
			    strdup("must exist"), 0);
	}
}

/* Which other mounts may be missing at a start. */
void
read_optional(const struct policy *p, const struct sealed_server *s, struct pairs *l)
{
	const struct sealed_mount *m;
	char *line;
	uint32_t i;

	for (i = 0; i < s->mounts.n; i++) {
		m = &p->mount[s->mounts.first + i];
		if (m->kind == MOUNT_HIDE)
			continue;
		line = say_text(say_mount, p, m);
		if (line == NULL)
			l->failed = true;
		else
			pairs_add(l, line, strlen(line),
			    strdup(m->optional ? "may be missing" : "must exist"),
			    m->optional);
		free(line);
	}
}

/* Where links lead. */
void
read_links(const struct policy *p, const struct sealed_server *s, struct pairs *l)
{
	const struct sealed_mount *m;
	char *value;
	uint32_t i;
	size_t len;
	FILE *f;

	for (i = 0; i < s->mounts.n; i++) {
		m = &p->mount[s->mounts.first + i];
		if (m->right != RIGHT_NONE || m->kind == MOUNT_HIDE ||
		    m->kind == MOUNT_DIR)
			continue;
		value = NULL;
		f = open_memstream(&value, &len);
		if (f == NULL) {
			l->failed = true;
			return;
		}
		(void)fprintf(f, "%s%s", m->kind == MOUNT_SYMLINK ? "" : "not a link: ",
		    policy_str(p, m->source));
		if (fclose(f) != 0)
			l->failed = true;
		pairs_add(l, policy_str(p, m->target), m->target.len, value, 0);
	}
}

/* Does a line let the server start this file?  Then it is compared as a program. */
static bool
is_program(const struct policy *p, const struct sealed_server *s, const char *path)
{
	const struct sealed_image *m;
	uint32_t i;

	for (i = 0; i < s->images.n; i++) {
		m = &p->image[s->images.first + i];
		if (strcmp(policy_str(p, m->path), path) == 0 ||
		    strcmp(policy_str(p, m->real), path) == 0)
			return true;
	}
	return false;
}

/* Files that Landlock lets the server execute, and devices; not those of programs. */
void
read_rights(const struct policy *p, const struct sealed_server *s, struct pairs *l)
{
	const uint32_t rights = RIGHT_START | RIGHT_DEVICE;
	const struct sealed_mount *m;
	uint32_t i;

	for (i = 0; i < s->mounts.n; i++) {
		m = &p->mount[s->mounts.first + i];
		if ((m->right & rights) != 0 &&
		    !is_program(p, s, policy_str(p, m->target)))
			pairs_add(l, policy_str(p, m->target), m->target.len,
			    strdup(policy_str(p, m->source)), m->right & rights);
	}
}

/* Those of programs: an added or removed program is a difference by itself. */
void
read_programs_rights(
    const struct policy *p, const struct sealed_server *s, struct pairs *l)
{
	const struct sealed_mount *m;
	bool start;
	uint32_t i;

	for (i = 0; i < s->mounts.n; i++) {
		m = &p->mount[s->mounts.first + i];
		start = (m->right & RIGHT_START) != 0;
		if (is_program(p, s, policy_str(p, m->target)))
			pairs_add(l, policy_str(p, m->target), m->target.len,
			    strdup(start ? "executable" : "not executable"), start);
	}
}
