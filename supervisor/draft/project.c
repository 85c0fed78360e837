/*
 * Commands that run a project: its files and its modules belong to the server as much as
 * the script that the command names, and it is started in its directory.
 *
 *	tsx server.ts, npx tsx server.ts, node --import tsx server.ts, deno run server.ts,
 *	python3 -m package
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/log.h"
#include "supervisor/draft/draft.h"
#include "supervisor/draft/package_files.h"
#include "supervisor/draft/script.h"

/* Programs that run a script of a project, with what the project has installed. */
static const char *const runners[] = {
    "tsx", "ts-node", "vite-node", "esno", "jiti", "bun", "deno"};
/* Files at the top of a project. */
static const char *const marks[] = {"package.json", "deno.json", "tsconfig.json",
    "node_modules", "pyproject.toml", "setup.py", ".git"};

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

static bool
exists(const char *dir, const char *name)
{
	char path[2 * PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name); /* fits */
	return access(path, F_OK) == 0;
}

static bool
is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Removes the last name: false at the top. */
static bool
go_up(char *dir)
{
	char *slash = strrchr(dir, '/');

	if (slash == NULL || slash == dir)
		return false;
	*slash = '\0';
	return true;
}

/* ---- its directory ----------------------------------------------------------- */

/* The nearest directory at or above this one that is the top of a project; else this one. */
static void
top_of(const char *from, char ret[PATH_MAX])
{
	char dir[PATH_MAX];

	(void)snprintf(ret, PATH_MAX, "%s", from); /* same size */
	(void)snprintf(dir, sizeof(dir), "%s", from);
	do {
		for (size_t i = 0; i < ARRAY_LEN(marks); i++)
			if (exists(dir, marks[i])) {
				(void)snprintf(ret, PATH_MAX, "%s", dir);
				return;
			}
	} while (go_up(dir) && draft_dir_refused(dir) == NULL);
}

/* The project at a canonical directory; refused: a warning, and no project. */
static void
take(struct draft *d, const char *dir)
{
	const char *why = draft_dir_refused(dir);
	char shown[4 * PATH_MAX];

	if (why == NULL && d->below[0] != '\0' && !draft_below(dir, d->below))
		why = "it is outside the project of its configuration";
	if (why != NULL) {
		log_warn("%s runs in %s, which is not granted: %s", d->name,
		    log_quote(shown, sizeof(shown), dir, strlen(dir)), why);
		return;
	}
	(void)snprintf(d->project, sizeof(d->project), "%s", dir); /* same size */
	if (d->cwd[0] == '\0')
		memcpy(d->cwd, d->project, sizeof(d->cwd));
}

static void
take_of_file(struct draft *d, const char *file)
{
	char dir[PATH_MAX], top[PATH_MAX];

	if (realpath(file, dir) == NULL || !go_up(dir))
		return;
	top_of(dir, top);
	take(d, top);
}

/* ---- Python ------------------------------------------------------------------ */

static bool
is_python(const struct draft *d)
{
	return strncmp(base_name(d->program), "python", 6) == 0 &&
	       script_runtime(d->program);
}

/* The module of -m, before any script, or NULL. */
static const char *
module_of(const struct draft *d)
{
	for (int i = 1; i + 1 < d->argc && d->argv[i][0] == '-'; i++)
		if (strcmp(d->argv[i], "-m") == 0)
			return d->argv[i + 1];
	return NULL;
}

static bool
has_module(const char *dir, const char *module)
{
	char name[NAME_MAX + 8];
	int n = (int)strcspn(module, ".");

	if (n == 0 || n >= NAME_MAX)
		return false;
	(void)snprintf(name, sizeof(name), "%.*s", n, module); /* fits */
	if (exists(dir, name))
		return true;
	(void)snprintf(name, sizeof(name), "%.*s.py", n, module); /* fits */
	return exists(dir, name);
}

/* The directory of PYTHONPATH, if it has one: the index of the variable, or -1. */
static int
path_variable(const struct draft *d, char ret[PATH_MAX])
{
	for (size_t i = 0; i < d->variable_n; i++) {
		const struct draft_variable *v = &d->variable[i];
		char dir[PATH_MAX];
		size_t n;

		if (strcmp(v->name, "PYTHONPATH") != 0 || v->value == NULL)
			continue;
		n = strcspn(v->value, ":");
		if (n == 0 || n >= sizeof(dir) ||
		    v->value[n + (v->value[n] == ':')] != '\0')
			return -1;
		(void)snprintf(dir, sizeof(dir), "%.*s", (int)n, v->value); /* fits */
		return realpath(dir, ret) == NULL ? -1 : (int)i;
	}
	return -1;
}

static void
drop_variable(struct draft *d, int at)
{
	memmove(&d->variable[at], &d->variable[at + 1],
	    (d->variable_n - (size_t)at - 1) * sizeof(d->variable[0]));
	d->variable_n--;
}

/* A policy sets no PYTHONPATH, because it makes an interpreter run other code. Python looks
 * for modules in the current directory with -m, and in that of the script without. */
static void
take_python(struct draft *d)
{
	const char *module = module_of(d);
	char dir[PATH_MAX], shown[4 * PATH_MAX];
	int at = path_variable(d, dir);

	if (module != NULL && at >= 0 && draft_dir_refused(dir) == NULL) {
		log_warn("PYTHONPATH of %s is left out: `cwd %s` replaces it, because "
			 "python3 -m looks for modules there",
		    d->name, log_quote(shown, sizeof(shown), dir, strlen(dir)));
		(void)snprintf(d->cwd, sizeof(d->cwd), "%s", dir); /* same size */
		drop_variable(d, at);
		take(d, dir);
	} else if (module != NULL && at < 0) {
		if (realpath(d->cwd[0] != '\0' ? d->cwd : ".", dir) != NULL &&
		    has_module(dir, module))
			take(d, dir);
	} else if (at >= 0 && d->script[0] != '\0') {
		char own[PATH_MAX];

		(void)snprintf(own, sizeof(own), "%s", d->script); /* same size */
		if (go_up(own) && strcmp(own, dir) == 0) {
			drop_variable(d, at); /* Python looks there first */
			take(d, dir);
		}
	}
}

/* ---- JavaScript -------------------------------------------------------------- */

/* Does an option before the script name a module, as in `node --import tsx`? */
static const char *
loader_of(const struct draft *d)
{
	static const char *const option[] = {
	    "--import", "--require", "-r", "--loader", "--experimental-loader"};

	for (int i = 1; i < d->argc && d->argv[i][0] == '-'; i++) {
		for (size_t k = 0; k < ARRAY_LEN(option); k++) {
			size_t n = strlen(option[k]);

			if (strcmp(d->argv[i], option[k]) == 0 && i + 1 < d->argc)
				return d->argv[i + 1];
			if (n > 2 && strncmp(d->argv[i], option[k], n) == 0 &&
			    d->argv[i][n] == '=')
				return d->argv[i] + n + 1;
		}
	}
	return NULL;
}

/* The script among the arguments of a runner, or NULL. */
static const char *
script_argument(const struct draft *d)
{
	for (int i = d->args_at; i < d->argc; i++)
		if (d->argv[i][0] != '-' && is_file(d->argv[i]))
			return d->argv[i];
	return NULL;
}

void
draft_project(struct draft *d)
{
	const char *script = NULL;

	if (script_one_of(base_name(d->program), runners, ARRAY_LEN(runners)) ||
	    loader_of(d) != NULL)
		script = d->script[0] != '\0' ? d->script : NULL;
	else if (d->package.name[0] != '\0' &&
		 script_one_of(d->package.name, runners, ARRAY_LEN(runners)))
		script = script_argument(d);
	else if (is_python(d))
		take_python(d);
	if (script != NULL)
		take_of_file(d, script);
}

bool
draft_project_program(const char *cwd, int argc, char *const *argv, char ret[PATH_MAX])
{
	char dir[PATH_MAX], script[2 * PATH_MAX], name[PACKAGE_TEXT_MAX],
	    version[PACKAGE_TEXT_MAX];
	int at;

	if (draft_runner(argc, argv, &at) != RUNNER_NPM || at < 0 ||
	    package_split(argv[at], name, version) < 0 || version[0] != '\0' ||
	    !script_one_of(name, runners, ARRAY_LEN(runners)))
		return false;
	while (++at < argc && argv[at][0] == '-')
		;
	if (at >= argc || strlen(argv[at]) >= PATH_MAX || realpath(cwd, dir) == NULL)
		return false;
	(void)snprintf(script, sizeof(script), "%s%s%s", argv[at][0] == '/' ? "" : dir,
	    argv[at][0] == '/' ? "" : "/", argv[at]); /* fits */
	if (!is_file(script))
		return false;
	do { /* as npx does */
		char path[2 * PATH_MAX];

		(void)snprintf(
		    path, sizeof(path), "%s/node_modules/.bin/%s", dir, name); /* fits */
		if (strlen(path) < PATH_MAX && access(path, X_OK) == 0) {
			memcpy(ret, path, strlen(path) + 1);
			return true;
		}
	} while (go_up(dir));
	return false;
}

/* ---- its lines --------------------------------------------------------------- */

/* The module that a path is in: the directory of the innermost package. */
static bool
module_at(const char *path, char ret[PATH_MAX])
{
	static const char modules[] = "/node_modules/";
	const char *at = NULL, *next = path, *end;

	while ((next = strstr(next, modules)) != NULL)
		at = next++;
	if (at == NULL)
		return false;
	at += sizeof(modules) - 1;
	end = strchrnul(at, '/');
	if (at[0] == '@' && *end == '/')
		end = strchrnul(end + 1, '/');
	(void)snprintf(ret, PATH_MAX, "%.*s", (int)(end - path), path); /* fits */
	return true;
}

/* Is the program one of a module that the runner depends on, or of the part of such a module
 * for this machine: @esbuild/linux-x64 of esbuild? */
static bool
is_of_runner(const struct package *runner, const char *program)
{
	char root[PATH_MAX];
	const char *name;
	char whole[PACKAGE_TEXT_MAX];
	int n;

	if (!module_at(program, root))
		return false;
	name = strstr(root, "/node_modules/");
	for (const char *next = name; (next = strstr(next, "/node_modules/")) != NULL;
	     next++)
		name = next;
	name += strlen("/node_modules/");
	if (package_depends(runner, name))
		return true;
	n = (int)(name[0] == '@' ? strcspn(name + 1, "/") : strcspn(name, "-"));
	(void)snprintf(
	    whole, sizeof(whole), "%.*s", n, name + (name[0] == '@')); /* or cut */
	return package_depends(runner, whole);
}

static int
put_programs(
    const struct draft *d, const struct package *runner, const char *indent, FILE *out)
{
	static struct package_files f; /* large */
	char modules[PATH_MAX + 16];
	int r = 0;

	(void)snprintf(
	    modules, sizeof(modules), "%s/node_modules", d->project); /* fits */
	package_files_find(modules, runner->root, &f);
	for (size_t i = 0; r == 0 && i < f.program_n; i++) {
		if (!is_of_runner(runner, f.program[i]))
			continue;
		fprintf(out, "%sexec allow", indent);
		r = draft_word(out, f.program[i]);
		fprintf(out, " **\n");
	}
	return r;
}

int
draft_project_put(const struct draft *d, const char *indent, FILE *out)
{
	const char *loader = loader_of(d);
	struct package runner = {.name = ""};
	char root[2 * PATH_MAX];
	int r = 0;

	if (d->project[0] == '\0')
		return 0;
	fprintf(out, "%s# the project that it runs\n%sread", indent, indent);
	r = draft_word(out, d->project);
	fprintf(out, "\n");
	if (loader != NULL && loader[0] != '/' && loader[0] != '.') {
		(void)snprintf(root, sizeof(root), "%s/node_modules/%.200s", d->project,
		    loader);                       /* fits */
		(void)package_read(root, &runner); /* or it has no programs */
	} else if (script_one_of(d->package.name, runners, ARRAY_LEN(runners))) {
		runner = d->package;
	}
	if (runner.name[0] == '\0' || r < 0)
		return r;
	if (loader == NULL) {
		fprintf(out, "%sexec allow", indent);
		r = draft_word(out, d->program);
		fprintf(out, " ** because \"%s starts it again for the script\"\n",
		    runner.name);
	}
	return r < 0 ? r : put_programs(d, &runner, indent, out);
}
