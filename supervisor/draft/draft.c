#include "policy/lang/scalar.h"
#include "supervisor/draft/draft.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/fd.h"
#include "supervisor/draft/package_files.h"

#define SCRIPT_MAX (1u << 20)

/* Characters of a word that needs no quotes, in a policy and in a shell. */
static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "0123456789-._/@+:=,%";

int
draft_word(FILE *out, const char *text)
{
	char *quoted;

	if (text[0] == '/' && text[strspn(text, plain)] == '\0') {
		fprintf(out, " %s", text);
		return 0;
	}
	quoted = package_json_text(text);
	if (quoted == NULL)
		return -EINVAL;
	fprintf(out, " %s", quoted);
	free(quoted);
	return 0;
}

void
draft_shell_word(FILE *out, const char *text)
{
	if (text[0] != '\0' && text[strspn(text, plain)] == '\0') {
		fprintf(out, " %s", text);
		return;
	}
	fputs(" '", out);
	for (; *text != '\0'; text++)
		fputs(*text == '\'' ? "'\\''" : (const char[]){*text, '\0'}, out);
	fputs("'", out);
}

void
draft_options(const struct draft *d, FILE *out)
{
	if (d->work[0] != '\0') {
		fputs(" --work", out);
		draft_shell_word(out, d->work);
	}
	for (size_t i = 0; i < d->variable_n; i++) {
		const struct draft_variable *v = &d->variable[i];
		char text[4096];

		const char *value = v->vault != NULL ? v->vault : v->value;

		fputs(v->vault != NULL ? " --vault"
		      : v->secret      ? " --secret"
				       : " --env",
		    out);
		(void)snprintf(text, sizeof(text), "%s%s%s", v->name,
		    value == NULL ? "" : "=",
		    value == NULL ? "" : value); /* or cut, for a person */
		draft_shell_word(out, text);
	}
}

static int
put_words(FILE *out, const char *word, const char *const *text, size_t n)
{
	int r = 0;

	fprintf(out, "    %s", word);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = draft_word(out, text[i]);
	fprintf(out, "\n");
	return r;
}

/* "" is no directory. */
static bool
is_below(const char *path, const char *dir)
{
	return dir[0] != '\0' && path_below(dir, path);
}

/* ---- what the agent's entry has -------------------------------------------- */

static int
put_path(const struct draft *d, const struct draft_path *p, const char *indent, FILE *out)
{
	const char *refused = draft_path_refused(d, p);
	int r;

	if (is_below(p->path, d->modules) || is_below(p->path, d->work) ||
	    is_below(p->path, d->project))
		return 0;
	if (refused != NULL)
		fprintf(out, "%s# not granted, because %s:  read", indent, refused);
	else
		fprintf(out, "%s%s", indent,
		    p->is == PATH_IS_MISSING ? "# it does not exist yet:  read" : "read");
	r = draft_word(out, p->path);
	fprintf(out, "\n");
	return r;
}

static int
put_variable(const struct draft_variable *v, const char *indent, FILE *out)
{
	int r = 0;

	if (v->vault != NULL)
		fprintf(out, "%ssecret %s from vault %s", indent, v->name, v->vault);
	else if (v->secret)
		fprintf(out, "%ssecret %s from env %s%s%s%s", indent, v->name, v->name,
		    v->hosts == NULL ? "" : " { hosts ", v->hosts == NULL ? "" : v->hosts,
		    v->hosts == NULL ? "" : " }");
	else
		fprintf(out, "%senv %s", indent, v->name);
	if (!v->secret && v->value != NULL) {
		fprintf(out, " =");
		r = draft_word(out, v->value);
	}
	fprintf(out, "\n");
	return r;
}

int
draft_settings(const struct draft *d, const char *indent, const bool *skip, FILE *out)
{
	bool reads = false;
	int r = 0;

	for (size_t i = 0; r == 0 && i < d->path_n; i++) {
		reads |= d->path[i].is == PATH_IS_DIR &&
			 !is_below(d->path[i].path, d->work) &&
			 draft_path_refused(d, &d->path[i]) == NULL;
		r = put_path(d, &d->path[i], indent, out);
	}
	if (reads)
		fprintf(out, "%s# use `write` instead of `read` where it changes files\n",
		    indent);
	for (size_t i = 0; r == 0 && i < d->variable_n; i++)
		if (skip == NULL || !skip[i])
			r = put_variable(&d->variable[i], indent, out);
	return r;
}

/* ---- a draft without a preset ----------------------------------------------- */

/* True for a program of the server's own package, or of the part of it that is for this
 * machine: server-linux-x64 of server. */
static bool
is_own_program(const struct draft *d, const char *path)
{
	const char *name = strstr(path, "/node_modules/"), *next;

	if (name == NULL)
		return is_below(path, d->package.root);
	while ((next = strstr(name + 1, "/node_modules/")) != NULL)
		name = next; /* the innermost package */
	name += strlen("/node_modules/");
	return strncmp(name, d->package.name, strlen(d->package.name)) == 0;
}

/* Its code starts programs: scripts of its own package run in the same cell, with no more
 * rights than itself. A path that is not plain cannot be a pattern's. */
static int
put_own_scripts(const struct draft *d, FILE *out)
{
	int r = 0;

	if (d->script[0] == '\0' ||
	    d->package.root[strspn(d->package.root, plain)] != '\0')
		return 0;
	fprintf(out, "    # it starts programs; these are scripts of its own package\n"
		     "    exec allow");
	r = draft_word(out, d->program);
	fprintf(out, " <path:%s> **\n", d->package.root);
	return r;
}

/* Does the script of the command name a variable that begins so? */
static bool
script_names(const struct draft *d, const char *start)
{
	int fd = open(d->script, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	size_t n = strlen(start), len;
	const char *at;
	char *text = NULL;
	bool found = false;

	if (fd < 0)
		return false;
	if (fd_slurp(fd, SCRIPT_MAX, &text, &len) == 0)
		for (at = text; !found && (at = strstr(at, start)) != NULL; at += n)
			found = at[n] >= 'A' && at[n] <= 'Z';
	fd_close(&fd);
	free(text);
	return found;
}

/* A launcher may set variables for the program that it starts: those that begin with the
 * name of the package, such as CODEX_ROOT of @openai/codex. The program shares its cell. */
static void
put_own_variables(const struct draft *d, FILE *out)
{
	const char *slash = strrchr(d->package.name, '/');
	const char *name = slash == NULL ? d->package.name : slash + 1;
	char start[PACKAGE_TEXT_MAX + 1];
	size_t n;

	for (n = 0; name[n] != '\0'; n++)
		if (name[n] >= 'a' && name[n] <= 'z')
			start[n] = (char)(name[n] - 'a' + 'A');
		else
			start[n] =
			    (char)(name[n] >= '0' && name[n] <= '9' ? name[n] : '_');
	start[n++] = '_';
	start[n] = '\0';
	if (n >= 4 && start[0] >= 'A' && start[0] <= 'Z' &&
	    !env_beginning_is_refused(start, n) && script_names(d, start))
		fprintf(out, " with env %s*", start);
}

static int
put_package_files(const struct draft *d, FILE *out)
{
	static struct package_files f;
	int r = 0;

	package_files_find(d->modules, d->package.root, &f);
	if (f.addon_n > 0)
		fprintf(out,
		    "    # native add-ons: %zu files; the libraries of the system that "
		    "they "
		    "need\n    # are granted with them\n",
		    f.addon_n);
	if (f.unbuilt[0] != '\0') {
		fprintf(out,
		    "    # a native add-on that may not be built: if the server "
		    "misses it, review\n    # its scripts and run `npm rebuild` for");
		r = draft_word(out, f.unbuilt);
		fprintf(out, "\n");
	}
	if (f.starts_programs && r == 0)
		r = put_own_scripts(d, out);
	for (size_t i = 0; r == 0 && i < f.program_n; i++) {
		bool own = is_own_program(d, f.program[i]);

		if (strcmp(f.program[i], d->program) == 0)
			continue;
		fputs(!own ? "    # a program of a dependency:  exec allow"
		      : draft_stands_alone(d, f.program[i])
			  ? "    exec allow"
			  : "    # it names a file that is not granted; review it:  exec "
			    "allow",
		    out);
		r = draft_word(out, f.program[i]);
		fprintf(out, " **");
		if (own)
			put_own_variables(d, out);
		fprintf(out, "\n");
	}
	return r;
}

/* The directories of the code. */
static int
put_code(const struct draft *d, FILE *out)
{
	const char *one = d->modules;
	int r = 0;

	if (d->package.name[0] != '\0')
		return put_words(out, "read", &one, 1);
	one = d->venv;
	if (one[0] != '\0')
		r = put_words(out, "read", &one, 1);
	one = d->script;
	if (r == 0 && one[0] != '\0' && !is_below(one, d->venv) &&
	    !is_below(one, d->project)) {
		r = put_words(out, "read", &one, 1);
		fprintf(out, "    # if it loads other files of its own, `read` their "
			     "directory\n");
	}
	return r;
}

int
draft_open(const struct draft *d, FILE *out)
{
	const char *user = draft_user(d);
	int r;

	fprintf(out,
	    "# A draft: review every line.  kennel-policy(5) is the language.\n"
	    "server %s {\n",
	    d->name);
	if (d->package.name[0] != '\0')
		fprintf(
		    out, "    about \"%s %s\"\n", d->package.name, d->package.version);
	r = put_words(out, "run", d->argv, (size_t)d->argc);
	if (r == 0)
		r = draft_cwd_line(d, "    ", out);
	if (user != NULL)
		fprintf(out, "    user %s\n", user);
	return r < 0 || ferror(out) ? -EINVAL : 0;
}

int
draft_head(const struct draft *d, FILE *out)
{
	const char *work = d->work;
	int r = draft_open(d, out);

	if (r == 0)
		r = put_code(d, out);
	if (r == 0)
		r = draft_needs(d, "    ", out);
	if (r == 0 && d->package.name[0] != '\0')
		r = put_package_files(d, out);
	if (r == 0 && work[0] != '\0')
		r = put_words(out, "write", &work, 1);
	if (r == 0)
		r = draft_project_put(d, "    ", out);
	if (r == 0)
		r = draft_cwd_put(d, "    ", out);
	if (r == 0)
		r = draft_settings(d, "    ", NULL, out);
	fprintf(out, "    # the hosts that it connects to:  net allow HOST:443\n");
	return r < 0 || ferror(out) ? -EINVAL : 0;
}

int
draft_tail(const struct draft *d, FILE *out)
{
	fprintf(out,
	    "    # Review the server's definitions, and pin them:\n"
	    "    #     kennel server pin %s --show\n"
	    "    #     kennel server pin %s --add-line\n"
	    "    limit processes 64\n"
	    "}\n",
	    d->name, d->name);
	return ferror(out) ? -EIO : 0;
}
