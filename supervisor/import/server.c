/*
 * Each server gets a policy, as from `kennel init`, and its secrets are stored in the
 * vault. Other verbs run in children: they print, and change directories.
 */
#include "supervisor/import/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policy/lang/secret_path.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/cli/cli.h"
#include "supervisor/base/other_verb.h"
#include "supervisor/cli/secret.h"
#include "supervisor/draft/draft.h"
#include "supervisor/draft/preset.h"
#include "supervisor/import/carried.h"
#include "supervisor/import/remote.h"
#include "supervisor/import/work.h"

#define WORDS_MAX  (ENTRY_WORDS_MAX + 2 * ENTRY_VARIABLES_MAX + 16)
#define POLICY_MAX (1u << 20)

static bool
same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

bool
server_same(const struct entry *a, const struct entry *b)
{
	if (a->kind != b->kind || !same_text(a->key_header, b->key_header) ||
	    a->word_n != b->word_n || a->variable_n != b->variable_n ||
	    !same_text(a->cwd, b->cwd) || !same_text(a->manager, b->manager))
		return false;
	for (size_t i = 0; i < a->word_n; i++)
		if (strcmp(a->word[i], b->word[i]) != 0)
			return false;
	for (size_t i = 0; i < a->variable_n; i++)
		if (strcmp(a->variable[i].name, b->variable[i].name) != 0 ||
		    !same_text(a->variable[i].value, b->variable[i].value))
			return false;
	return true;
}

static struct made *
made_find(struct writing *w, const char *name)
{
	for (size_t i = 0; i < w->made_n; i++)
		if (w->made[i].entry != NULL && strcmp(w->made[i].name, name) == 0)
			return &w->made[i];
	return NULL;
}

/* ---- policies and secrets ---------------------------------------------------- */

static void
policy_path(const struct made *made, char out[PATH_MAX])
{
	(void)snprintf(out, PATH_MAX, "%.3000s/policies/%s.kennel", paths_config_dir(),
	    made->name); /* fits */
}

/* The directory of the policies. An exit status. */
static int
prepare_dir(void)
{
	char dir[PATH_MAX];
	int r;

	(void)snprintf(
	    dir, sizeof(dir), "%.3000s/policies", paths_config_dir()); /* fits */
	r = fd_make_dirs(dir);
	if (r < 0)
		log_error("unable to create %s: %s", dir, strerror(-r));
	return r < 0 ? EXIT_CONFIG : 0;
}

bool
server_has_policy(const struct entry *e)
{
	struct made made = {.entry = NULL};
	char path[PATH_MAX];

	server_policy_name(e->name, made.name);
	policy_path(&made, path);
	return access(path, F_OK) == 0;
}

/* The project that its configuration is for, or NULL. */
static const char *
project_of(const struct writing *w, const struct import_found *f, const struct entry *e)
{
	if (e->project != NULL)
		return e->project;
	return f->client->scope == SCOPE_PROJECT ? w->m->project : NULL;
}

const char *
server_dir(const struct writing *w, const struct import_found *f, const struct entry *e)
{
	if (e->cwd != NULL)
		return e->cwd;
	if (w->m->cwd != NULL)
		return w->m->cwd;
	return project_of(w, f, e);
}

static const char *
option_of(const struct entry_variable *v)
{
	if (v->clear)
		return "--vault";
	return v->secret ? "--secret" : "--env";
}

/* A command that fetches its package is replaced by a package in the store. */
static verb_fn *
drafting(const struct entry *e)
{
	int at;
	enum runner_kind kind = draft_runner((int)e->word_n, (char *const *)e->word, &at);

	return kind == RUNNER_NPM || kind == RUNNER_PYTHON ? install_main : init_main;
}

/* What else its entry has, unless the draft has failed: an exit status. */
static int
carry(const struct made *made, const char *out, int status)
{
	int r = status == 0 ? carried_put(out, made->entry) : 0;

	if (r == -ENOENT)
		log_error("%s was not found in PATH: install it, then run `kennel import "
			  "--write` again",
		    made->entry->manager);
	else if (r < 0)
		log_error("unable to change %s: %s", out, strerror(-r));
	return r < 0 ? EXIT_INPUT : status;
}

/* The policy of a server at a URL: an exit status. */
static int
draft_remote(const struct made *made, const char *out)
{
	const struct entry *e = made->entry;
	char path[SECRET_PATH_MAX + 1] = "";
	int r;

	if (e->clear_n > 0 &&
	    !server_secret_path(made->name, e->variable[0].name, path)) {
		log_error("unable to name the secrets of %s in the vault", made->name);
		return EXIT_INPUT;
	}
	printf("%s: drafting its policy ...\n", made->name);
	r = remote_draft(out, made->name, e, path);
	if (r < 0)
		log_error("unable to write %s: %s", out, strerror(-r));
	return carry(made, out, r < 0 ? EXIT_INPUT : 0);
}

/* Options with a value: the directories, and where the registry is. The number of words. */
static int
put_places(const struct writing *w, const struct made *made, const char *work,
    bool installs, char **word)
{
	const struct entry *e = made->entry;
	const struct {
		const char *name, *value; /* NULL: left out */
	} row[] = {
	    {"--work", work},
	    {"--cwd", e->cwd != NULL ? e->cwd : w->m->cwd},
	    {"--below", project_of(w, made->file, e)},
	    {"--to", installs ? w->m->scope : NULL},
	};
	int n = 0;

	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		if (row[i].value == NULL)
			continue;
		word[n++] = (char *)row[i].name;
		word[n++] = (char *)row[i].value;
	}
	return n;
}

/* kennel init NAME --env ... --vault ... -o OUT -- COMMAND, or kennel install: an exit
 * status. */
static int
draft(struct writing *w, const struct made *made, const char *out)
{
	const struct entry *e = made->entry;
	const struct other_verb how = {.dir = server_dir(w, made->file, e),
	    .quiet = true,
	    .why = w->why,
	    .why_size = sizeof(w->why)};
	char *word[WORDS_MAX], *own[ENTRY_VARIABLES_MAX];
	char path[SECRET_PATH_MAX + 1];
	const char *dir = NULL;
	int n = 0, status = 0;
	size_t own_n = 0;
	verb_fn *verb;

	if (e->kind == ENTRY_REMOTE)
		return draft_remote(made, out);
	if (!made->reused && work_take(w, e, &dir) < 0) {
		(void)snprintf(w->why, sizeof(w->why),
		    "the directory that it works in is not known, or does not exist");
		return EXIT_INPUT;
	}
	verb = drafting(e);
	word[n++] = (char *)(verb == init_main ? "init" : "install");
	word[n++] = (char *)made->name;
	word[n++] = (char *)"-o";
	word[n++] = (char *)out;
	word[n++] = (char *)"--no-start"; /* its trial starts it */
	for (size_t i = 0; i < e->variable_n && status == 0; i++) {
		const struct entry_variable *v = &e->variable[i];
		const char *value = v->clear ? path : v->secret ? NULL : v->value;

		if (v->clear && !server_secret_path(made->name, v->name, path))
			status = EXIT_INPUT;
		else if (asprintf(&own[own_n], "%s%s%s", v->name,
			     value == NULL ? "" : "=", value == NULL ? "" : value) < 0)
			status = EXIT_FAILED;
		if (status != 0)
			break;
		word[n++] = (char *)option_of(v);
		word[n++] = own[own_n++];
	}
	n += put_places(w, made, dir, verb == install_main, word + n);
	word[n++] = (char *)"--";
	for (size_t i = 0; i < e->word_n; i++)
		word[n++] = (char *)e->word[i];
	if (status == 0) {
		printf("%s: %s ...\n", made->name,
		    verb == install_main ? "installing its package"
					 : "drafting its policy");
		status = carry(made, out, other_verb_run(&how, verb, n, word));
	} else
		log_error("unable to name the secrets of %s in the vault", made->name);
	for (size_t i = 0; i < own_n; i++)
		free(own[i]);
	return status;
}

bool
server_vault_is_open(struct writing *w)
{
	w->vault_open = w->vault_open || vault_state_now() == VAULT_OPEN;
	return w->vault_open;
}

int
server_open_vault(struct writing *w)
{
	char path[PATH_MAX], *word[4];
	const char *dir = paths_vault_dir();
	int n = 1, status;

	if (w->vault_open)
		return 0;
	if (dir == NULL) {
		log_error("%s", paths_why());
		return EXIT_CONFIG;
	}
	(void)snprintf(path, sizeof(path), "%.4000s/secrets.vault", dir); /* fits */
	word[0] = (char *)(access(path, F_OK) == 0 ? "unlock" : "init");
	if (w->m->key_file != NULL) {
		word[n++] = (char *)"--key-file";
		word[n++] = (char *)w->m->key_file;
	} else if (w->m->by_stdin) {
		word[n++] = (char *)"--stdin";
	}
	status = secret_become(n, word);
	w->vault_open = status == 0;
	return status;
}

static int
store(const char *verb, const char *path, const char *value)
{
	char number[16], *word[] = {(char *)verb, (char *)"--fd", number, (char *)path};
	int end[2], status, r;

	/* early: pipe2 */
	if (pipe2(end, 0) < 0) /* kennel-secret inherits it */
		return EXIT_FAILED;
	(void)fcntl(end[1], F_SETFL, O_NONBLOCK); /* a longer value than fits: EAGAIN */
	r = fd_write_all(end[1], value, strlen(value));
	fd_close(&end[1]);
	(void)snprintf(number, sizeof(number), "%d", end[0]);
	status = r < 0 ? EXIT_INPUT : secret_put_main(4, word);
	fd_close(&end[0]);
	return status;
}

static int
store_secrets(struct writing *w, struct made *made)
{
	const struct other_verb how = {.quiet = true};
	char *grant[] = {(char *)"grant", (char *)"--server", made->name};
	const struct entry *e = made->entry;
	char path[SECRET_PATH_MAX + 1];
	int status = e->clear_n == 0 ? 0 : server_open_vault(w);

	for (size_t i = 0; i < e->variable_n && status == 0; i++) {
		if (!e->variable[i].clear)
			continue;
		(void)server_secret_path(
		    made->name, e->variable[i].name, path); /* draft did */
		/* never "rotate": a project's file would replace what the user stored */
		status = store("set", path, e->variable[i].value);
		if (status == EXIT_INPUT && made->reused) {
			log_warn("%s keeps the value that is stored; the one in the "
				 "configuration is in its backup only",
			    path);
			status = 0;
			continue;
		}
		made->secret_n += status == 0;
	}
	if (status == 0 && e->clear_n > 0)
		status = other_verb_run(&how, grant_main, 3, grant);
	return status;
}

/* Removes what was made for an entry whose file is not changed. */
static void
take_back(const struct writing *w, struct made *made)
{
	const struct other_verb how = {.quiet = true};
	char path[PATH_MAX], secret[SECRET_PATH_MAX + 1];
	char *word[] = {(char *)"remove", secret};

	policy_path(made, path);
	if (!made->reused && !made->kept) {
		(void)unlink(path); /* or it does not exist */
		work_drop(w, made->entry);
	}
	for (size_t i = 0; !made->reused && made->secret_n > 0; i++) {
		if (!made->entry->variable[i].clear)
			continue;
		(void)server_secret_path(
		    made->name, made->entry->variable[i].name, secret);
		if (other_verb_run(&how, secret_become, 2, word) != 0)
			log_error("unable to remove the secret %s", secret);
		made->secret_n--;
	}
	made->entry = NULL;
}

/* ---- a policy that exists ---------------------------------------------------- */

/* The text of a policy; the caller frees it. NULL. */
static char *
policy_text(const char *path)
{
	char *text = NULL;
	size_t len;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd >= 0 && fd_slurp(fd, POLICY_MAX, &text, &len) < 0)
		text = NULL;
	fd_close(&fd);
	return text;
}

/* The line with the command; its length is in *ret. NULL: no line has it. */
static const char *
run_line(const char *text, size_t *ret)
{
	for (; text != NULL && *text != '\0'; text = strchr(text, '\n')) {
		text += strspn(text, " \t\n");
		*ret = strcspn(text, "\n");
		if (strncmp(text, "run ", 4) == 0)
			return text;
	}
	return NULL;
}

/* Does it start the same command with the same secrets? */
static bool
same_policy(const struct made *made, const char *old, const char *new)
{
	const char *secret, *a, *b;
	size_t a_len = 0, b_len = 0;
	char path[SECRET_PATH_MAX + 1], line[2 * SECRET_PATH_MAX + 64];

	a = run_line(old, &a_len);
	b = run_line(new, &b_len);
	if (made->entry->kind == ENTRY_REMOTE) {
		if (a != NULL || !remote_has_lines(old, new))
			return false;
	} else if (a == NULL || b == NULL || a_len != b_len || memcmp(a, b, a_len) != 0) {
		return false;
	}
	for (size_t i = 0; i < made->entry->variable_n; i++) {
		const struct entry_variable *v = &made->entry->variable[i];

		if (!v->clear || !server_secret_path(made->name, v->name, path))
			continue;
		(void)snprintf(line, sizeof(line), "secret %.200s from vault %s", v->name,
		    path); /* fits */
		secret = strstr(old, line);
		if (secret == NULL || strchr(" \n", secret[strlen(line)]) == NULL)
			return false;
	}
	return true;
}

/* Drafts the policy again beside the one that exists, and compares them. */
static int
reuse(struct writing *w, struct made *made, const char *path)
{
	char again[PATH_MAX + 16];
	char *old, *new;
	int status;
	bool same;

	(void)snprintf(again, sizeof(again), "%s.again", path); /* fits */
	(void)unlink(again);                                    /* of an earlier try */
	made->reused = true;
	status = draft(w, made, again);
	if (status != 0)
		return status;
	old = policy_text(path);
	new = policy_text(again);
	same = old != NULL && new != NULL &&same_policy(made, old, new);
	free(old);
	free(new);
	(void)unlink(again); /* it was for the comparison */
	if (!same)
		(void)snprintf(w->why, sizeof(w->why),
		    "%s exists and is for another server", path); /* or cut */
	if (!same)
		log_error("%s exists and is for another server: rename this one, or move "
			  "the policy away",
		    path);
	return same ? 0 : EXIT_INPUT;
}

/* Names each line with a directory that does not exist. False: a new policy has one, and its
 * server would not start. */
static bool
paths_exist(const struct made *made, const char *path)
{
	char *text = policy_text(path);
	const char *at = text == NULL ? "" : text, *line;
	size_t len = 0, n = 0;

	for (; (line = preset_missing(&at, &len)) != NULL; n++)
		log_error("the path in `%.*s` of the %s for %s does not exist: create "
			  "it, or %s",
		    (int)len, line, made->reused ? "policy" : "preset", made->name,
		    made->reused ? "edit the policy"
				 : "draft the policy with `kennel init` or `kennel "
				   "install`, edit it, and run `kennel import --write` "
				   "again");
	free(text);
	return n == 0 || made->reused;
}

/* ---- an entry ---------------------------------------------------------------- */

/* Finds the name of its policy: 1: such a server was made before; 0; an error. */
static int
take_name(struct writing *w, const struct import_found *f, struct made *made,
    struct made **ret_before)
{
	const struct entry *e = made->entry;
	int number = 0;

	while (server_policy_name_next(e->name, f->client->client, &number, made->name)) {
		*ret_before = made_find(w, made->name);
		if (*ret_before == NULL)
			return 0;
		if (server_same((*ret_before)->entry, e))
			return 1;
	}
	return -EEXIST;
}

/* Starts it once under its policy: 0; or an exit status, and its row in the table. A draft
 * that compiles is kept, for the lines that it lacks. */
static int
try(struct writing *w, struct made *made, const char *path)
{
	bool start =
	    w->m->start && made->entry->kind == ENTRY_COMMAND && !made->entry->disabled;
	char *why;

	if (start) {
		printf("%s: starting it once, without a network ...\n", made->name);
		(void)fflush(stdout); /* before it waits */
	}
	made->how = trial_run(made->name, path, start, &why);
	made->kept = made->how == TRIAL_FAILED;
	if (made->how == TRIAL_NONE)
		why = strdup(w->m->start ? "a server at a URL is reached with its "
					   "credentials only"
					 : "--no-start was given");
	results_add(&w->results, made->file, made->entry, made->how, why,
	    made->how == TRIAL_REFUSED && !made->reused ? NULL : path);
	return made->how == TRIAL_FAILED || made->how == TRIAL_REFUSED ? EXIT_INPUT : 0;
}

struct made *
server_make(struct writing *w, const struct import_found *f, const struct entry *e)
{
	struct made *made = &w->made[w->made_n], *before;
	char path[PATH_MAX];
	int r, status;

	*made = (struct made){.entry = e, .file = f};
	r = w->made_n + 1 == MADE_MAX ? -ENOSPC : take_name(w, f, made, &before);
	if (r == 1) {
		results_add(&w->results, f, e, before->how, NULL, NULL);
		return before;
	}
	if (r < 0) {
		made->entry = NULL;
		results_left(&w->results, f, e, "no policy can be named after it");
		log_error(
		    "unable to name a policy after `%s`: rename the server", e->name);
		return NULL;
	}
	policy_path(made, path);
	w->why[0] = '\0';
	status = prepare_dir();
	if (status == 0)
		status =
		    access(path, F_OK) == 0 ? reuse(w, made, path) : draft(w, made, path);
	if (status == 0 && !paths_exist(made, path)) {
		(void)snprintf(w->why, sizeof(w->why),
		    "a path of its policy does not exist"); /* fits */
		status = EXIT_INPUT;
	}
	if (status == 0)
		status = try(w, made, path);
	if (status == 0 && (status = store_secrets(w, made)) != 0)
		(void)snprintf(
		    w->why, sizeof(w->why), "its secrets could not be stored"); /* fits */
	if (status != 0) {
		take_back(w, made);
		results_left(&w->results, f, e, w->why);
		log_error("the server `%s` of %s is left as it is%s", e->name,
		    f->file.path,
		    status == EXIT_MISSING ? ": install what is missing, then run "
					     "`kennel import --write` again"
					   : "");
		return NULL;
	}
	w->made_n++;
	return made;
}

void
server_take_back(struct writing *w, const struct import_found *f)
{
	for (size_t i = 0; i < w->made_n; i++)
		if (w->made[i].entry != NULL && w->made[i].file == f)
			take_back(w, &w->made[i]);
}
