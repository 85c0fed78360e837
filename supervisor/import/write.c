/*
 * What `kennel import --write` changes, for each file: first a policy for each server,
 * then its secrets, then the file. If the file cannot be replaced, its policies and
 * secrets are removed again.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/import/config/backup.h"
#include "supervisor/import/edit.h"
#include "supervisor/import/server.h"
#include "supervisor/import/work.h"

/* ---- files ------------------------------------------------------------------- */

/* Do the new bytes have the same servers, the edited ones under kennel? */
static bool
as_meant(const struct import_found *f, const struct buf *text, size_t edited)
{
	struct entries now = {.n = 0};
	size_t before = 0, after = 0;
	struct config_tree t;
	bool ok = config_parse(
		      f->client->dialect, (const char *)text->data, text->len, &t) == 0 &&
		  entries_find(&t, f->client, &now) == 0 && now.n == f->entries.n;

	for (size_t i = 0; ok && i < now.n; i++) {
		ok = strcmp(now.entry[i].name, f->entries.entry[i].name) == 0;
		before += f->entries.entry[i].kind == ENTRY_KENNEL;
		after += now.entry[i].kind == ENTRY_KENNEL;
	}
	entries_free(&now);
	config_free(&t);
	return ok && after == before + edited;
}

/* Removes what an interrupted import has left of a file, which these bytes will
 * replace. */
static int
clear_left(const struct import_found *f, const void *bytes, size_t len)
{
	char path[PATH_MAX] = "";
	int r = backup_clear(import_backup_dir(), &f->file, bytes, len, path);

	if (r == 1)
		printf("removed %s, which an interrupted import had left\n", path);
	return r < 0 ? r : 0;
}

static void
tell_unchanged(const struct import_found *f, int r)
{
	const char *path = f->file.path;

	if (r == -EEXIST)
		log_error("an interrupted import has left %s.kennel-new, and it may be "
			  "a change of another program: compare it with %s, remove it, "
			  "and run `kennel import --write` again",
		    path, path);
	else if (r == -EUCLEAN)
		log_error("other programs have changed %s, and one of their changes is "
			  "in %s.kennel-new: compare the two",
		    path, path);
	else
		log_error("unable to change %s: %s; it is left as it is", path,
		    r == -ESTALE ? "another program has changed it meanwhile"
				 : strerror(-r));
}

static int
replace(const struct import_found *f, struct edits *edits, size_t edited)
{
	char backup[PATH_MAX], shown[4 * PATH_MAX];
	struct buf text;
	int r;

	buf_init(&text, (size_t)2 * TREE_FILE_MAX);
	r = edits_apply(edits, &f->tree, &text);
	if (r == 0 && !as_meant(f, &text, edited))
		r = -EBADMSG;
	if (r == 0)
		r = clear_left(f, text.data, text.len);
	if (r == 0)
		r = backup_write(
		    import_backup_dir(), &f->file, text.data, text.len, backup);
	if (r == 0) {
		r = config_file_replace(&f->file, text.data, text.len);
		if (r < 0)
			(void)unlink(backup); /* nothing was replaced */
	}
	if (r == 0) {
		printf("\n%s\n",
		    log_quote(shown, sizeof(shown), f->file.path, strlen(f->file.path)));
		edits_diff(edits, &f->tree, stdout);
	} else {
		tell_unchanged(f, r);
	}
	explicit_bzero(text.data, text.len);
	buf_free(&text);
	return r;
}

/* Adds the edits of one entry: 1; 0: none; an exit status, negative. */
static int
write_entry(struct writing *w, const struct import_found *f, const struct entry *e,
    struct edits *edits)
{
	const struct made *made;
	int r;

	if (!import_wanted(w->m, e) || e->kind == ENTRY_KENNEL)
		return 0;
	if (!import_takes(w->m, e)) {
		log_warn("%s: the server `%s` is disabled in its client, and is left as "
			 "it is: name it to import it",
		    f->file.path, e->name);
		return 0;
	}
	if (!entry_is_server(e)) {
		log_warn("%s: the server `%s` is left as it is: %s", f->file.path,
		    e->name, entry_risk(e));
		results_add(&w->results, f, e, TRIAL_FAILED, strdup(entry_risk(e)), NULL);
		/* a part of the client itself has no command, and neither has a URL */
		return e->word_n == 0 ? 0 : -EXIT_INPUT;
	}
	made = server_make(w, f, e);
	if (made == NULL)
		return -EXIT_INPUT;
	r = edits_entry(edits, &f->tree, e, made->name);
	if (r < 0)
		log_error("unable to edit `%s` of %s: %s; the file is left as it is",
		    e->name, f->file.path,
		    r == -ENOTSUP ? "its command is a dotted key without `args`: write "
				    "the server as a table of its own"
				  : strerror(-r));
	return r < 0 ? -EXIT_FAILED : 1;
}

/* Of a file that cannot be changed nothing is tried. */
static void
lost_file(struct writing *w, const struct import_found *f)
{
	for (size_t i = 0; i < f->entries.n; i++) {
		const struct entry *e = &f->entries.entry[i];

		if (e->kind != ENTRY_KENNEL && import_wanted(w->m, e))
			results_add(&w->results, f, e, TRIAL_FAILED,
			    strdup("its file cannot be changed"), NULL);
	}
}

static int
write_file(struct writing *w, const struct import_found *f)
{
	struct edits edits = {.n = 0};
	int status = 0, r = config_file_writable(&f->file);
	size_t edited = 0;
	bool whole = true;

	if (f->broken < 0 || f->entries.n == 0)
		return 0;
	if (r < 0) {
		log_error("%s is left as it is: %s", f->file.path,
		    r == -EACCES ? "it is read-only" : strerror(-r));
		lost_file(w, f);
		return EXIT_INPUT;
	}
	for (size_t i = 0; i < f->entries.n && whole; i++) {
		r = write_entry(w, f, &f->entries.entry[i], &edits);
		edited += r > 0;
		status = r < 0 ? -r : status;
		whole = r != -EXIT_FAILED;
	}
	if (whole && edits.n > 0 && replace(f, &edits, edited) == 0) {
		w->replaced_n++;
	} else if (!whole || edits.n > 0) {
		server_take_back(w, f);
		results_lost(&w->results, f, "its file could not be changed");
		status = EXIT_FAILED;
	}
	r = edits.n == 0 ? clear_left(f, "", 0) : 0;
	if (r < 0) {
		tell_unchanged(f, r);
		status = EXIT_INPUT;
	}
	edits_free(&edits);
	return status;
}

/* A passphrase is asked for before the work that takes time. */
static bool
needs_vault(const struct import *m)
{
	for (size_t i = 0; i < m->found_n; i++) {
		const struct import_found *f = &m->found[i];

		if (f->broken < 0 || config_file_writable(&f->file) < 0)
			continue;
		for (size_t k = 0; k < f->entries.n; k++) {
			const struct entry *e = &f->entries.entry[k];

			if (entry_is_server(e) && e->clear_n > 0 && import_takes(m, e))
				return true;
		}
	}
	return false;
}

static int
open_vault(struct writing *w)
{
	if (server_vault_is_open(w))
		return 0; /* a passphrase needs a terminal */
	printf("\nThe secrets in clear text go to the vault, which is opened first.\n");
	if (server_open_vault(w) == 0)
		return 0;
	log_error(
	    "unable to store the secrets: the vault was not opened; nothing was "
	    "changed: run `kennel import --write` on a terminal, or with --key-file "
	    "FILE, or with --stdin and the passphrase on standard input");
	return EXIT_INPUT;
}

int
import_lock(int *ret)
{
	const char *dir = paths_data_dir();
	int r = dir == NULL ? -ENOENT : fd_make_dirs(dir);

	if (r == 0)
		*ret = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r == 0 && *ret < 0)
		r = -errno;
	/* early: flock */
	if (r == 0 && flock(*ret, LOCK_EX | LOCK_NB) < 0) {
		r = -errno;
		fd_close(ret);
	}
	if (r == -EWOULDBLOCK)
		log_error("another `kennel import` is changing files: wait for its end");
	else if (r < 0)
		log_error("unable to lock %s: %s",
		    dir == NULL ? "the data directory" : dir, strerror(-r));
	return r < 0 ? EXIT_CONFIG : 0;
}

int
import_write(struct import *m)
{
	static struct writing w; /* large */
	int lock, status = import_lock(&lock), one;
	bool ready;

	if (status != 0)
		return status;
	w.m = m;
	if (needs_vault(m))
		status = open_vault(&w);
	ready = status == 0;
	if (ready)
		work_plan(&w);
	/* the failure of one file does not leave out the next ones */
	for (size_t i = 0; i < m->found_n && ready; i++) {
		one = write_file(&w, &m->found[i]);
		status = one != 0 ? one : status;
	}
	results_put(&w.results);
	results_free(&w.results);
	if (w.replaced_n > 0)
		printf(
		    "\nReview the policies in %.3000s/policies, and restart the clients. "
		    "`kennel import --undo`\nrestores the files. The backups in %s "
		    "have the secrets in clear text:\n`kennel import --forget` "
		    "removes them.\n",
		    paths_config_dir(), import_backup_dir());
	fd_close(&lock);
	return status;
}
