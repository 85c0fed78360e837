/*
 * kennel import: finds the servers in the configurations of MCP clients, and puts them
 * under kennel.
 *
 * Runs as the calling user, with no agent. It reads files that may have secrets in clear
 * text: it passes each to kennel-secret by a pipe, shows none, and wipes its copies.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/help/near_word.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/layout.h"
#include "supervisor/base/paths.h"
#include "supervisor/base/terminal.h"
#include "supervisor/cli/cli.h"
#include "supervisor/draft/draft.h"
#include "supervisor/import/private.h"
#include "supervisor/help/help.h"
#include "supervisor/import/config/backup.h"
#include "supervisor/import/remote.h"
#include "policy/tokens/secret_shaped.h"

#define CELL_MAX       1024
#define COLUMNS_PIPED  160
#define NEAR_NAMES_MAX 256

const char *
import_backup_dir(void)
{
	static char dir[PATH_MAX];
	const char *data = paths_data_dir();

	if (data == NULL)
		return NULL;
	(void)snprintf(dir, sizeof(dir), "%.4000s/import", data); /* fits */
	return dir;
}

bool
import_wanted(const struct import *m, const struct entry *e)
{
	for (size_t i = 0; i < m->name_n; i++)
		if (strcmp(m->name[i], e->name) == 0)
			return true;
	return m->name_n == 0;
}

bool
import_takes(const struct import *m, const struct entry *e)
{
	return import_wanted(m, e) && (!e->disabled || m->name_n > 0);
}

const char *
import_scope(const struct import_found *f, const struct entry *e)
{
	if (e->project != NULL)
		return "local"; /* Claude Code: of one project, in the user's file */
	if (f->client->scope == SCOPE_PROJECT && strcmp(f->client->client, "vscode") == 0)
		return "workspace";
	return client_scope_name(f->client->scope);
}

/* ---- search ------------------------------------------------------------------ */

static bool
is_known(const struct import *m, const struct import_found *f)
{
	for (size_t i = 0; i < m->found_n; i++)
		if (strcmp(m->found[i].file.path, f->file.path) == 0 &&
		    strcmp(m->found[i].client->key, f->client->key) == 0)
			return true;
	return false;
}

static void
found_free(struct import_found *f)
{
	entries_free(&f->entries);
	config_free(&f->tree);
	config_file_free(&f->file);
}

/* Reads one file: 0, also if it does not exist; an exit status after reporting why. */
static int
look(struct import *m, const struct client_file *client, const char *path)
{
	struct import_found *f = &m->found[m->found_n];
	int r;

	if (m->found_n == ARRAY_LEN(m->found)) {
		log_error("unable to read %s: kennel reads at most %zu configurations; "
			  "import those of one client with --client",
		    path, m->found_n);
		return EXIT_INPUT;
	}
	*f = (struct import_found){.client = client};
	r = config_file_read(path, &f->file);
	if (r == -ENOENT || r == -ENOTDIR)
		return 0;
	if (r < 0) {
		log_error("unable to read %s: %s", path, strerror(-r));
		return EXIT_INPUT;
	}
	if (is_known(m, f)) {
		found_free(f);
		return 0;
	}
	m->found_n++;
	r = config_parse(client->dialect, f->file.bytes, f->file.len, &f->tree);
	if (r == 0)
		r = entries_find(&f->tree, client, &f->entries);
	f->broken = r;
	/* the settings of an editor: what is wrong in them is of no interest without servers */
	if (r == 0 && f->entries.n == 0 && strchr(client->key, '.') != NULL)
		return 0;
	if (r == -EBADMSG)
		log_error("%s: line %zu: %s: the file is left as it is", path,
		    f->tree.line, f->tree.why);
	else if (r < 0)
		log_error("unable to read %s: %s", path, strerror(-r));
	else if (f->tree.twice != TREE_NONE)
		log_error(
		    "invalid %s: duplicate key on line %zu: clients may read either "
		    "one; the file is left as it is: remove one of them",
		    path, config_line(&f->tree, f->tree.twice));
	return r < 0 || f->tree.twice != TREE_NONE ? EXIT_INPUT : 0;
}

/* Reads each file of this name, of which a part may be any, below a directory. */
static int /* NOLINTNEXTLINE(misc-no-recursion): one level for each such part */
look_all(
    struct import *m, const struct client_file *client, const char *dir, const char *name)
{
	const char *any = client_any(name);
	size_t len = any == NULL ? 0 : strcspn(any, "/");
	char path[PATH_MAX];
	struct dirent *entry;
	int status = 0, r, n;
	DIR *d;

	n = snprintf(path, sizeof(path), "%s%.*s", dir,
	    any == NULL ? PATH_MAX : (int)(any - name), name);
	if (n >= (int)sizeof(path))
		return 0;
	if (any == NULL)
		return look(m, client, path);
	d = opendir(path);
	if (d == NULL && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (d == NULL) {
		log_error("unable to search %s: %s", path, strerror(errno));
		return EXIT_INPUT;
	}
	while ((entry = readdir(d)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    !client_part_is(any, len, entry->d_name, strlen(entry->d_name)))
			continue;
		r = snprintf(path + n, sizeof(path) - (size_t)n, "%s", entry->d_name);
		if (r >= (int)sizeof(path) - n)
			continue;
		r = look_all(m, client, path, any + len);
		status = r != 0 ? r : status;
	}
	(void)closedir(d); /* only read */
	return status;
}

static int
search(struct import *m)
{
	const char *home = getenv("HOME");
	const struct client_file *client;
	char path[PATH_MAX];
	int status = 0, one;
	size_t n;

	if (home == NULL || home[0] != '/')
		home = paths_home_of(geteuid());
	if (home == NULL) {
		log_error("no home directory found: set HOME");
		return EXIT_CONFIG;
	}
	client = client_files(&n);
	for (size_t i = 0; i < n; i++) {
		if (!client_imported(&client[i]) ||
		    (m->only != NULL && strcmp(m->only, client[i].client) != 0))
			continue;
		if (client_path(&client[i], home, m->project, path) < 0)
			continue;
		one = look_all(m, &client[i], "", path);
		m->unread = m->unread || one != 0;
		status = one != 0 ? one : status;
	}
	claude_settings_take(m, home);
	return status;
}

/* ---- table ------------------------------------------------------------------- */

/* The command, without its secrets. */
static void
put_command(const struct entry *e, char out[CELL_MAX])
{
	char word[CELL_MAX], origin[REMOTE_ORIGIN_CAP];
	size_t n = 0;

	out[0] = '\0';
	if (e->kind == ENTRY_REMOTE) {
		remote_origin(e, origin);
		(void)snprintf(out, CELL_MAX, "remote %s", origin); /* fits */
		return;
	}
	if (e->url != TREE_NONE)
		(void)snprintf(out, CELL_MAX, "(a URL)");
	for (size_t i = 0; i < e->word_n && n + 4 < CELL_MAX; i++) {
		size_t from = i == 0 ? 0 : i - 1;
		bool secret =
		    secret_shaped_args(e->word + from, i - from + 1) == (int)(i - from);

		(void)log_quote(word, sizeof(word), e->word[i], strlen(e->word[i]));
		n += (size_t)snprintf(out + n, CELL_MAX - n, "%s%s", i == 0 ? "" : " ",
		    secret ? "[secret]" : word); /* or cut */
	}
}

static void
put_secrets(const struct entry *e, char out[CELL_MAX])
{
	size_t n = 0;

	out[0] = '\0';
	for (size_t i = 0; i < e->variable_n && n < CELL_MAX; i++)
		if (e->variable[i].clear)
			n += (size_t)snprintf(out + n, CELL_MAX - n, "%s%s",
			    n == 0 ? "" : " ", e->variable[i].name); /* or cut */
	if (n == 0)
		(void)snprintf(out, CELL_MAX, "-");
}

static void
put_row(const struct layout *l, const struct import_found *f, const struct entry *e)
{
	char client[CELL_MAX], name[CELL_MAX], command[CELL_MAX], secrets[CELL_MAX];
	const char *risk = e->kind == ENTRY_KENNEL ? "runs under kennel" : entry_risk(e);
	const char *text[] = {client, name, command, secrets, risk};
	static const char *const plain[ARRAY_LEN(text)];

	(void)snprintf(
	    client, sizeof(client), "%s/%s", f->client->client, import_scope(f, e));
	(void)log_quote(name, sizeof(name), e->name, strlen(e->name));
	put_command(e, command);
	put_secrets(e, secrets);
	layout_row(l, stdout, text, plain);
}

/* What is left to do after a table with these servers. */
static void
put_next(const struct import *m, size_t servers, size_t others)
{
	if (servers == 0)
		printf("\nNothing is left to import%s\n",
		    others > 0 ? ": RISK says why the others do not run under kennel."
			       : ".");
	else if (!m->write)
		printf("\nNothing was changed: `kennel import --write` puts them under "
		       "kennel.\n");
}

static void
put_table(const struct import *m)
{
	static const struct layout_column column[] = {{24, 19, false}, {20, 6, false},
	    {48, 16, false}, {30, 8, false}, {0, 12, false}};
	static const char *const head[] = {
	    "CLIENT", "SERVER", "COMMAND", "SECRETS IN CLEAR TEXT", "RISK"};
	static const char *const plain[ARRAY_LEN(column)];
	struct terminal screen = terminal_of(STDOUT_FILENO);
	struct layout l;
	size_t rows = 0, of[ENTRY_OTHER + 1] = {0};

	layout_fit(
	    &l, column, ARRAY_LEN(column), screen.is ? screen.columns : COLUMNS_PIPED);
	for (size_t i = 0; i < m->found_n; i++)
		for (size_t k = 0; k < m->found[i].entries.n; k++) {
			if (!import_wanted(m, &m->found[i].entries.entry[k]))
				continue;
			if (rows++ == 0)
				layout_row(&l, stdout, head, plain);
			put_row(&l, &m->found[i], &m->found[i].entries.entry[k]);
			of[m->found[i].entries.entry[k].kind]++;
		}
	if (rows == 0 && m->unread)
		printf("no servers found in the files that could be read: see the errors "
		       "for the others\n");
	else if (rows == 0)
		printf("no servers found in the configurations of MCP clients\n");
	else
		put_next(m, of[ENTRY_COMMAND] + of[ENTRY_REMOTE], of[ENTRY_OTHER]);
}

/* ---- names ------------------------------------------------------------------- */

static void
tell_unknown(const struct import *m, const char *name)
{
	const char *list[NEAR_NAMES_MAX], *near;
	char shown[CELL_MAX];
	size_t n = 0;

	for (size_t i = 0; i < m->found_n; i++)
		for (size_t k = 0; k < m->found[i].entries.n && n < NEAR_NAMES_MAX; k++)
			list[n++] = m->found[i].entries.entry[k].name;
	near = near_word(name, list, n);
	if (near == NULL)
		log_error("no server %s found in the configurations of MCP clients: "
			  "`kennel import` lists them",
		    name);
	else
		log_error("no server %s found in the configurations of MCP clients: did "
			  "you mean `%s`?",
		    name, log_quote(shown, sizeof(shown), near, strlen(near)));
}

/* Is each name that was given that of a server? */
static bool
names_known(const struct import *m)
{
	bool all = true;

	for (size_t w = 0; w < m->name_n; w++) {
		bool found = false;

		for (size_t i = 0; i < m->found_n; i++)
			for (size_t k = 0; k < m->found[i].entries.n; k++)
				found |= strcmp(m->found[i].entries.entry[k].name,
					     m->name[w]) == 0;
		if (!found)
			tell_unknown(m, m->name[w]);
		all = all && found;
	}
	return all;
}

/* ---- backups ----------------------------------------------------------------- */

static void
tell_undo(const char *path, const char *backup, int r, void *arg)
{
	char shown[4 * PATH_MAX];

	++*(size_t *)arg;
	if (r == 0)
		printf(
		    "restored %s\n", log_quote(shown, sizeof(shown), path, strlen(path)));
	else if (r == -ESTALE)
		log_error("%s was changed after the import and is left as it is; its "
			  "original is at the end of %s",
		    path, backup);
	else if (r == -EEXIST || r == -EUCLEAN)
		log_error("%s.kennel-new may be a change of another program: compare it "
			  "with %s, remove it, and run `kennel import --undo` again",
		    path, path);
	else
		log_error("unable to restore from %s: %s", backup, strerror(-r));
}

static void
tell_forget(const char *path, const char *backup, int r, void *arg)
{
	++*(size_t *)arg;
	if (r == 0)
		printf("removed %s\n", backup);
	else
		log_error("unable to remove %s: %s; it has secrets in clear text: remove "
			  "it yourself",
		    backup, strerror(-r));
}

/* What to do after all of n backups were used. */
static void
put_after(bool undo, const char *dir, size_t n)
{
	if (n == 0)
		printf(
		    "no backups found in %s: `kennel import --write` makes them\n", dir);
	else if (undo)
		printf("Policies and secrets are kept: kennel server list, kennel secret "
		       "versions\n");
	else
		printf("`kennel import --undo` has nothing to restore from now on. Other "
		       "copies of the\nconfigurations may have the secrets: if one has "
		       "leaked, get a new one from its\nissuer, and store it with "
		       "`kennel secret rotate PATH`.\n");
}

static int
backups(bool undo)
{
	const char *dir = import_backup_dir();
	int lock, r = import_lock(&lock);
	size_t n = 0;

	if (r != 0)
		return r;
	r = undo ? backup_restore(dir, tell_undo, &n)
		 : backup_forget(dir, tell_forget, &n);
	fd_close(&lock);
	if (r < 0)
		log_error("unable to read %s: %s", dir, strerror(-r));
	else if (r == 0 || undo)
		put_after(undo, dir, n);
	return r == 0 ? 0 : EXIT_INPUT;
}

/* ---- the verb ---------------------------------------------------------------- */

static bool
set_project(struct import *m, const char *dir)
{
	if (realpath(dir, m->project) != NULL)
		return true;
	log_error("unable to use %s as a project: %s", dir, strerror(errno));
	return false;
}

/* One option with its value: the number of words; 0: unknown; a negative status. */
static int
take_value(struct import *m, char **argv, int left)
{
	if (left < 2)
		return 0;
	if (strcmp(argv[0], "--project") == 0)
		return set_project(m, argv[1]) ? 2 : -EXIT_INPUT;
	if (strcmp(argv[0], "--key-file") == 0) {
		m->key_file = argv[1];
		return 2;
	}
	if (strcmp(argv[0], "--cwd") == 0) {
		static char cwd[PATH_MAX];

		if (realpath(argv[1], cwd) == NULL) {
			draft_work_refused(argv[1], -errno);
			return -EXIT_INPUT;
		}
		m->cwd = cwd;
		return 2;
	}
	if (strcmp(argv[0], "--to") == 0) {
		m->scope = argv[1];
		return draft_scope_ok(argv[1]) ? 2 : -EXIT_USAGE;
	}
	if (strcmp(argv[0], "--client") != 0)
		return 0;
	m->only = argv[1];
	if (client_known(m->only))
		return 2;
	log_error("unknown client %s: kennel help import lists them", m->only);
	return -EXIT_USAGE;
}

static int
take_option(struct import *m, char **argv, int left)
{
	const struct {
		const char *name;
		bool *flag, to;
	} row[] = {
	    {"--write", &m->write, true},
	    {"--dry-run", &m->write, false},
	    {"--no-start", &m->start, false},
	    {"--undo", &m->undo, true},
	    {"--forget", &m->forget, true},
	    {"--stdin", &m->by_stdin, true},
	};

	for (size_t i = 0; i < ARRAY_LEN(row); i++)
		if (strcmp(argv[0], row[i].name) == 0) {
			*row[i].flag = row[i].to;
			return 1;
		}
	if (argv[0][0] == '-')
		return take_value(m, argv, left);
	if (m->name_n == IMPORT_NAMES_MAX)
		return 0;
	m->name[m->name_n++] = argv[0];
	return 1;
}

int
import_main(int argc, char **argv)
{
	static struct import m = {.start = true}; /* large */
	int status = 0, n;
	bool known;

	if (paths_config_dir() == NULL || import_backup_dir() == NULL) {
		log_error("%s", paths_why());
		return EXIT_CONFIG;
	}
	if (!set_project(&m, "."))
		return EXIT_INPUT;
	for (int i = 1; i < argc; i += n) {
		n = take_option(&m, argv + i, argc - i);
		if (n == 0)
			return help_refuse(&kennel_help, argv[0], argv[i]);
		if (n < 0)
			return -n;
	}
	if ((m.undo || m.forget) && argc != 2)
		return help_usage(&kennel_help, argv[0],
		    "--undo and --forget are for all backups, and used alone");
	if (m.undo || m.forget)
		return backups(m.undo);
	status = search(&m);
	known = names_known(&m);
	if (known)
		put_table(&m);
	n = !known ? EXIT_INPUT : m.write ? import_write(&m) : 0;
	status = n != 0 ? n : status;
	for (size_t i = 0; i < m.found_n; i++)
		found_free(&m.found[i]);
	return status;
}
