#include "supervisor/import/work.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/log.h"
#include "supervisor/base/other_verb.h"
#include "supervisor/draft/draft.h"
#include "supervisor/draft/preset.h"
#include "supervisor/import/private.h"

#define WANTED       "?"  /* printed by look: no directory is known */
#define WANTED_FILES "??" /* the same, and it is for the person's files */

static const struct entry *looked; /* by the child */
static const char *looked_from;    /* where its client starts it, or NULL */

/* ---- is it known? ------------------------------------------------------------ */

static void
take_variables(struct draft *d, const struct entry *e)
{
	char *text;

	for (size_t i = 0; i < e->variable_n; i++) {
		const struct entry_variable *v = &e->variable[i];

		if (v->secret || v->value == NULL ||
		    asprintf(&text, "%s=%s", v->name, v->value) < 0)
			continue;
		(void)draft_variable(d, text, false); /* the draft reports it */
	}
}

/* The first path among the arguments that does not exist, or NULL. */
static const char *
missing_argument(const struct draft *d)
{
	for (size_t i = 0; i < d->path_n; i++)
		for (int k = d->args_at; k < d->argc; k++)
			if (d->path[i].is == PATH_IS_MISSING &&
			    strcmp(d->argv[k], d->path[i].path) == 0)
				return d->path[i].path;
	return NULL;
}

/*
 * In a child, which ends with its memory, in the directory of the entry: prints WANTED; or
 * a directory that the entry names and that does not exist; or nothing. What is wrong with
 * the command is reported by the draft.
 */
static int
look(int argc, char **argv)
{
	static struct draft d; /* large */
	const char *missing;
	char *preset;
	enum preset_wants wants;

	d.name = looked->name;
	take_variables(&d, looked);
	if (draft_preview(&d, argc, argv) != 0)
		return 1;
	preset = preset_for(&d);
	if (preset == NULL)
		return 0;
	if (looked_from != NULL)
		(void)draft_cwd(&d, looked_from); /* the draft reports it */
	missing = missing_argument(&d);
	wants = preset_wants(preset, &d);
	if (wants != PRESET_NONE && missing != NULL)
		printf("%s", missing);
	else if (wants != PRESET_NONE)
		printf("%s", wants == PRESET_OWN ? WANTED : WANTED_FILES);
	else if (d.work[0] != '\0' && access(d.work, F_OK) < 0)
		printf("%s", d.work);
	return 0;
}

/* ---- the plan ---------------------------------------------------------------- */

static struct planned *
find(const struct writing *w, const struct entry *e)
{
	for (size_t i = 0; i < w->planned_n; i++)
		if (strcmp(w->planned[i].entry->name, e->name) == 0 &&
		    server_same(w->planned[i].entry, e))
			return (struct planned *)&w->planned[i];
	return NULL;
}

static bool
is_taken(const struct writing *w, const char *dir)
{
	for (size_t i = 0; i < w->planned_n; i++)
		if (w->planned[i].own && strcmp(w->planned[i].dir, dir) == 0)
			return true;
	return false;
}

/* The answer of a person, or kennel's own directory for the server. */
static int
choose(struct writing *w, const struct import_found *f, struct planned *p, bool files)
{
	static struct draft answer; /* large */
	char name[POLICY_NAME_CAP], own[PATH_MAX], shown[4 * PATH_MAX];
	int number = 0;

	/* the first that is not another server's of the name */
	while (
	    server_policy_name_next(p->entry->name, f->client->client, &number, name)) {
		draft_work_own(name, own);
		if (!is_taken(w, own))
			break;
	}
	answer = (struct draft){.name = name};
	if (isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1)
		draft_work_ask(&answer, own);
	else if (files) {
		log_error("%s needs a directory with your files, and its configuration "
			  "names none: `kennel import --write --cwd DIR %s`",
		    name, p->entry->name);
		p->refused = true;
		return 0;
	} else
		printf("%s works in %s, which is created: its preset needs a directory, "
		       "and its configuration\nnames none.\n",
		    name, log_quote(shown, sizeof(shown), own, strlen(own)));
	p->own = answer.work[0] == '\0';
	p->dir = strdup(p->own ? own : answer.work);
	return p->dir == NULL ? -ENOMEM : 0;
}

static void
plan_entry(struct writing *w, const struct import_found *f, const struct entry *e)
{
	struct planned *p = &w->planned[w->planned_n];
	struct verb_output out;
	int status;

	if (w->planned_n == MADE_MAX || server_has_policy(e) || find(w, e) != NULL)
		return;
	*p = (struct planned){.entry = e};
	looked = e;
	looked_from = server_dir(w, f, e);
	status = other_verb_split(
	    server_dir(w, f, e), look, (int)e->word_n, (char **)e->word, PATH_MAX, &out);
	if (status != 0 || out.text == NULL || out.len == 0) {
		/* there is no such directory */
	} else if (strcmp(out.text, WANTED) == 0 || strcmp(out.text, WANTED_FILES) == 0) {
		if (choose(w, f, p, strcmp(out.text, WANTED_FILES) == 0) < 0)
			p->refused = true;
	} else {
		draft_work_refused(out.text, -ENOENT);
		p->refused = true;
	}
	free(out.text);
	free(out.errors);
	w->planned_n += p->dir != NULL || p->refused;
}

void
work_plan(struct writing *w)
{
	const struct import *m = w->m;

	for (size_t i = 0; i < m->found_n; i++) {
		const struct import_found *f = &m->found[i];

		if (f->broken < 0 || config_file_writable(&f->file) < 0)
			continue;
		for (size_t k = 0; k < f->entries.n; k++)
			if (f->entries.entry[k].kind == ENTRY_COMMAND &&
			    import_takes(m, &f->entries.entry[k]))
				plan_entry(w, f, &f->entries.entry[k]);
	}
}

/* ---- its use ----------------------------------------------------------------- */

int
work_take(const struct writing *w, const struct entry *e, const char **ret)
{
	const struct planned *p = find(w, e);
	int r = p == NULL ? 0 : p->refused ? -ENOENT : 0;

	*ret = p == NULL ? NULL : p->dir;
	if (r < 0 || p == NULL || !p->own)
		return r;
	r = draft_work_make(p->dir);
	if (r < 0)
		log_error("unable to create %s: %s", p->dir, strerror(-r));
	return r;
}

void
work_drop(const struct writing *w, const struct entry *e)
{
	const struct planned *p = find(w, e);

	if (p != NULL && p->own)
		(void)rmdir(p->dir); /* or it has files */
}
