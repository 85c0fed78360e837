/*
 * Reads the command of a server as its agent would start it: finds the program, the
 * script, the package, and the files and directories that it names.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/compile/compile.h"
#include "policy/lang/scalar.h"
#include "policy/lang/secret_path.h"
#include "policy/tokens/secret_shaped.h"
#include "policy/tokens/value_reference.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/host/passwd_line.h"
#include "shim/host/path_resolve.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/draft/draft.h"
#include "supervisor/draft/script.h"

static int
bad(const char *what, const char *why)
{
	log_error("unable to draft a policy for %s: %s", what, why);
	return EXIT_INPUT;
}

/* ---- runners: programs that fetch and start a package ---------------------- */

static const struct runner {
	const char *name;
	enum runner_kind kind;
	const char *verb; /* the verb before the package, or NULL */
} runners[] = {
    {"npx", RUNNER_NPM, NULL},
    {"bunx", RUNNER_NPM, NULL},
    {"npm", RUNNER_NPM, "exec"},
    {"pnpm", RUNNER_NPM, "dlx"},
    {"yarn", RUNNER_NPM, "dlx"},
    {"uvx", RUNNER_PYTHON, NULL},
    {"pipx", RUNNER_PYTHON, "run"},
    {"uv", RUNNER_PYTHON, NULL},
    {"docker", RUNNER_CONTAINER, NULL},
    {"podman", RUNNER_CONTAINER, NULL},
};

static const struct runner *
runner_of(const char *program)
{
	for (size_t i = 0; i < ARRAY_LEN(runners); i++)
		if (strcmp(script_base(program), runners[i].name) == 0)
			return &runners[i];
	return NULL;
}

/* Options before the package: without a value, and with one. After any other option the
 * runner may take the next argument for its value, or for the package. */
static const char *const npm_plain[] = {
    "-y", "--yes", "-q", "--quiet", "--prefer-offline", "--prefer-online", "--offline"};
static const char *const python_plain[] = {"-q", "--quiet", "-v", "--verbose",
    "--offline", "--isolated", "--no-cache", "--refresh", "--no-progress", "--no-config"};
static const char *const package_options[] = {"-p", "--package"};
static const char *const spec_options[] = {"--from", "--spec"};

static bool
is_plain(const struct runner *r, const char *word)
{
	if (r->kind == RUNNER_PYTHON)
		return script_one_of(word, python_plain, ARRAY_LEN(python_plain));
	return script_one_of(word, npm_plain, ARRAY_LEN(npm_plain)) ||
	       (strcmp(r->name, "bunx") == 0 && strcmp(word, "--bun") == 0);
}

/* Index of the first argument after the verb; argc: another verb. */
static int
after_verb(const struct runner *r, char *const *argv, int argc)
{
	int i = 1;

	if (r->kind == RUNNER_NPM && r->verb != NULL)
		return argc > 1 && strcmp(argv[1], r->verb) == 0 ? 2 : argc;
	while (r->kind == RUNNER_PYTHON && i < argc &&
	       (strcmp(argv[i], "tool") == 0 || strcmp(argv[i], "run") == 0))
		i++;
	return i;
}

/* Index of the argument that names the package: after the verb, the options and a
 * "--"; or -1. ret_unknown: the option that is not known, or NULL. */
static int
package_word(
    const struct runner *r, char *const *argv, int argc, const char **ret_unknown)
{
	bool npm = r->kind == RUNNER_NPM;
	int i = after_verb(r, argv, argc);

	*ret_unknown = NULL;
	for (; i < argc && argv[i][0] == '-'; i++) {
		if (strcmp(argv[i], "--") == 0) {
			i++;
			break;
		}
		if (npm &&
		    script_one_of(argv[i], package_options, ARRAY_LEN(package_options)))
			return i + 1 < argc ? i + 1 : -1;
		if (npm && strncmp(argv[i], "--package=", 10) == 0)
			return -1;
		if (!npm && script_one_of(argv[i], spec_options, ARRAY_LEN(spec_options)))
			i++;
		else if (!is_plain(r, argv[i])) {
			*ret_unknown = argv[i];
			return -1;
		}
	}
	return i < argc ? i : -1;
}

enum runner_kind
draft_runner(int argc, char *const *argv, int *ret_package)
{
	const struct runner *r = runner_of(argv[0]);
	const char *unknown;

	*ret_package = r == NULL ? -1 : package_word(r, argv, argc, &unknown);
	return r == NULL ? RUNNER_NONE : r->kind;
}

int
draft_runner_option(int argc, char *const *argv)
{
	const struct runner *r = runner_of(argv[0]);
	const char *unknown = NULL;

	if (r != NULL)
		(void)package_word(r, argv, argc, &unknown); /* only for the option */
	if (unknown == NULL)
		return 0;
	log_error("unable to find the package after %s: the option %s is not known, and "
		  "what follows may be its value; remove it from the command",
	    argv[0], unknown);
	return EXIT_INPUT;
}

/* Where a server's own package is installed; other programs do not look there. */
static void
install_dir(char out[PATH_MAX], const char *name)
{
	const char *base = paths_data_dir();

	(void)snprintf(out, PATH_MAX, "%s/servers/%.200s", base, name); /* or truncated */
}

static int
tell_install(const struct draft *d, int argc, char *const *argv)
{
	printf("%s fetches and runs a package.  Install one version, in a sandbox, and "
	       "draft its policy:\n\n    kennel install %s",
	    script_base(argv[0]), d->name);
	draft_options(d, stdout);
	printf(" --");
	for (int i = 0; i < argc; i++)
		draft_shell_word(stdout, argv[i]);
	printf("\n");
	return EXIT_MISSING;
}

/* ---- the program ----------------------------------------------------------- */

/* A policy names a program by its canonical path, by a link owned by root, or by the
 * link in a virtual environment. Resolves path to a form that a policy accepts. */
static int
nameable(const char *path, char out[PATH_MAX])
{
	struct path_resolved p;
	int r = path_resolve(path, 0, NULL, NULL, &p);

	fd_close(&p.fd);
	if (r == 0 || (r == -ELOOP && venv_has(path))) {
		(void)snprintf(out, PATH_MAX, "%s", path); /* same size */
		return 0;
	}
	if (r != -ELOOP)
		return r;
	return realpath(path, out) == NULL ? -errno : 0;
}

/* Makes the path absolute, in a form that a policy accepts. */
static int
absolute(const char *word, char out[PATH_MAX])
{
	char folder[PATH_MAX], real[PATH_MAX], named[PATH_MAX];
	const char *base = script_base(word);
	int n = snprintf(folder, sizeof(folder), "%.*s.", (int)(base - word), word);

	if (n < 0 || (size_t)n >= sizeof(folder) || realpath(folder, real) == NULL)
		return -ENOENT;
	n = snprintf(named, PATH_MAX, "%s/%s", strcmp(real, "/") == 0 ? "" : real, base);
	if (n < 0 || n >= PATH_MAX)
		return -ENAMETOOLONG;
	if (access(named, X_OK) < 0)
		return -errno;
	n = strcmp(base, "node") == 0 ? draft_shim(named, out) : 1;
	return n == 1 ? nameable(named, out) : n;
}

int
draft_program(const char *word, char out[PATH_MAX])
{
	const char *path = getenv("PATH"), *end;
	char candidate[PATH_MAX];
	int r;

	if (strchr(word, '/') != NULL)
		return absolute(word, out);
	for (path = path == NULL ? "/usr/bin" : path; path != NULL; path = end) {
		size_t n = strcspn(path, ":");

		end = path[n] == '\0' ? NULL : path + n + 1;
		if (n == 0 || n >= PATH_MAX - NAME_MAX || path[0] != '/')
			continue;
		(void)snprintf(candidate, sizeof(candidate), "%.*s/%.255s", (int)n, path,
		    word); /* fits */
		r = absolute(candidate, out);
		if (r == 0 || r == -ENOTUNIQ)
			return r;
	}
	return -ENOENT;
}

/* Replaces the program, if it is a script of a runtime, by the runtime, its arguments
 * and the script. */
static int
take_runtime(struct draft *d)
{
	static struct script_line line; /* argv keeps its words */
	char real[PATH_MAX];
	int r;

	if (realpath(d->program, real) == NULL || script_line(real, &line) < 0)
		return 0;
	if (d->argc + line.n > DRAFT_ARGS_MAX)
		return bad(d->program, "too many arguments");
	memcpy(d->script, real, sizeof(d->script));
	r = draft_interpreter(d, line.word[0], d->program);
	if (r < 0)
		return bad(d->script, r == -ENOTUNIQ
					  ? draft_node_why(r)
					  : "its interpreter was not found in PATH");
	memmove(d->argv + 1 + line.n, d->argv + 1,
	    (size_t)(d->argc - 1) * sizeof(d->argv[0]));
	for (int i = 1; i < line.n; i++)
		d->argv[i] = line.word[i];
	d->argv[line.n] = d->script;
	d->argc += line.n;
	d->args_at = line.n + 1;
	return 0;
}

/* After an interpreter comes its script: the draft needs it and its package. */
static int
take_script(struct draft *d)
{
	bool runtime = script_runtime(d->program);
	int i = runtime ? script_index(d->argc, d->argv) : 1;

	d->args_at = 1;
	if (i == 0 || i >= d->argc || (!runtime && d->argv[i][0] == '-'))
		return 0;
	if (script_find(d->argv[i], d->script) == 0) {
		d->argv[i] = d->script;
		d->args_at = i + 1;
	} else if (runtime)
		return bad(d->argv[i], "no such script: name an existing file");
	return 0;
}

/* ---- its package ----------------------------------------------------------- */

/* The directory that holds all modules of the package: npm install --global puts them
 * below the package, every other install beside it. */
static void
take_modules(struct draft *d)
{
	char marker[PATH_MAX + 32];
	char *at;

	memcpy(d->modules, d->package.root, sizeof(d->modules));
	at = strstr(d->modules, "/node_modules/");
	if (at == NULL)
		return;
	at[strlen("/node_modules")] = '\0';
	(void)snprintf(
	    marker, sizeof(marker), "%s/.package-lock.json", d->modules); /* fits */
	if (at - d->modules >= 4 && memcmp(at - 4, "/lib", 4) == 0 &&
	    access(marker, F_OK) < 0)
		memcpy(d->modules, d->package.root, sizeof(d->modules));
}

/* The virtual environment of the program: the directory above its bin. */
static void
take_venv(struct draft *d)
{
	char *slash;

	if (!venv_has(d->program))
		return;
	memcpy(d->venv, d->program, sizeof(d->venv));
	for (int i = 0; i < 2; i++)
		if ((slash = strrchr(d->venv, '/')) != NULL)
			*slash = '\0';
}

static bool
is_in_venv(const struct draft *d, const char *dir)
{
	char real[PATH_MAX];

	return d->venv[0] != '\0' && realpath(d->venv, real) != NULL &&
	       path_below(real, dir);
}

/* ---- files and directories ------------------------------------------------- */

static bool
is_kind(const char *path, mode_t kind)
{
	struct stat st;

	return stat(path, &st) == 0 && (st.st_mode & S_IFMT) == kind;
}

/* Takes a path among the arguments and values: the index, or -1. */
static int
take_path(struct draft *d, const char *text)
{
	struct draft_path *p = &d->path[d->path_n];
	bool shown =
	    text[0] == '/' || strncmp(text, "./", 2) == 0 || strncmp(text, "../", 3) == 0;

	if (d->path_n == DRAFT_PATHS_MAX || strlen(text) >= PATH_MAX || text[0] == '\0')
		return -1;
	if (is_kind(text, S_IFDIR))
		p->is = PATH_IS_DIR;
	else if (is_kind(text, S_IFREG) && (shown || strpbrk(text, "./") != NULL))
		p->is = PATH_IS_FILE;
	else if (shown && text[1] != '\0')
		p->is = PATH_IS_MISSING;
	else
		return -1;
	if (p->is == PATH_IS_MISSING)
		(void)snprintf(p->path, sizeof(p->path), "%s", text); /* fits */
	else if (realpath(text, p->path) == NULL)
		return -1;
	return (int)d->path_n++;
}

static void
take_paths(struct draft *d)
{
	for (int i = d->args_at; i < d->argc; i++) {
		const char *word = d->argv[i];
		const char *value = word[0] == '-' ? strchr(word, '=') : NULL;
		int k = word[0] != '-'  ? take_path(d, word)
			: value == NULL ? -1
					: take_path(d, value + 1);

		/* a cell does not have the user's current directory */
		if (k >= 0 && value == NULL && d->path[k].is != PATH_IS_MISSING)
			d->argv[i] = d->path[k].path;
	}
	for (size_t i = 0; i < d->variable_n; i++)
		if (d->variable[i].value != NULL && d->variable[i].value[0] == '/')
			(void)take_path(d, d->variable[i].value);
}

static int
take_command(struct draft *d, int argc, char *const *argv)
{
	int r = draft_program(argv[0], d->program);

	if (r < 0)
		return bad(argv[0], draft_node_why(r));
	if (argc > DRAFT_ARGS_MAX)
		return bad(argv[0], "too many arguments");
	d->argv[d->argc++] = d->program;
	for (int i = 1; i < argc; i++)
		d->argv[d->argc++] = argv[i];
	if ((r = take_runtime(d)) != 0 ||
	    (d->script[0] == '\0' && (r = take_script(d)) != 0))
		return r;
	take_venv(d);
	take_paths(d);
	/* a package of Python may put a package.json into its environment */
	if (package_of(d->script[0] != '\0' ? d->script : d->program, &d->package) < 0 ||
	    is_in_venv(d, d->package.root))
		d->package.name[0] = '\0';
	else
		take_modules(d);
	draft_project(d);
	return 0;
}

/* npx PACKAGE ARG...: finds the installed program, to start it directly. */
static int
take_package(struct draft *d, int argc, char *const *argv)
{
	char name[PACKAGE_TEXT_MAX], version[PACKAGE_TEXT_MAX];
	char dir[PATH_MAX], root[2 * PATH_MAX];
	static char node[] = "node", program[PATH_MAX];
	char *direct[DRAFT_ARGS_MAX + 3];
	int at, n = 0, status = draft_runner_option(argc, argv);

	if (status != 0)
		return status;
	(void)draft_runner(argc, argv, &at); /* npm's */
	if (at < 0 || package_split(argv[at], name, version) < 0)
		return bad(argv[0], "no package name found in the arguments");
	if (argc - at + 2 > DRAFT_ARGS_MAX)
		return bad(argv[0], "too many arguments");
	install_dir(dir, d->name);
	(void)snprintf(
	    root, sizeof(root), "%s/lib/node_modules/%s", dir, name); /* fits */
	if (package_read(root, &d->package) < 0 || d->package.program[0] == '\0')
		return tell_install(d, argc, argv);
	if (version[0] != '\0' && strcmp(version, d->package.version) != 0)
		return bad(name, "another version is installed");
	memcpy(program, d->package.program, sizeof(program));
	if (!script_is_elf(program))
		direct[n++] = d->node[0] != '\0' ? d->node : node;
	direct[n++] = program;
	for (int i = at + 1; i < argc; i++)
		direct[n++] = argv[i];
	return take_command(d, n, direct);
}

/* npx tsx SCRIPT, where the project has tsx. */
static int
take_project(struct draft *d, char *program, int argc, char *const *argv)
{
	char *direct[DRAFT_ARGS_MAX + 1] = {program};
	int at, n = 1;

	(void)draft_runner(argc, argv, &at); /* npm's */
	if (argc - at > DRAFT_ARGS_MAX)
		return bad(argv[0], "too many arguments");
	for (int i = at + 1; i < argc; i++)
		direct[n++] = argv[i];
	return take_command(d, n, direct);
}

/* In the directory that the server is started in. */
static int
take_here(struct draft *d, int argc, char *const *argv)
{
	const struct runner *r = runner_of(argv[0]);
	static char program[PATH_MAX]; /* argv keeps it */
	int node;

	if (r == NULL)
		return take_command(d, argc, argv);
	node = r->kind == RUNNER_NPM ? draft_node(argv[0], d->node) : 1;
	if (node < 0)
		return bad(argv[0], draft_node_why(node));
	if (draft_project_program(".", argc, argv, program))
		return take_project(d, program, argc, argv);
	if (r->kind == RUNNER_NPM)
		return take_package(d, argc, argv);
	if (r->kind == RUNNER_CONTAINER)
		return bad(argv[0], "a container needs its own daemon; install the "
				    "server without it and name its program");
	return tell_install(d, argc, argv);
}

int
draft_take(struct draft *d, int argc, char *const *argv)
{
	int here = -1, status;

	if (d->cwd[0] == '\0')
		return take_here(d, argc, argv);
	here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (here < 0 || chdir(d->cwd) < 0) {
		status = bad(d->cwd, strerror(errno));
		fd_close(&here);
		return status;
	}
	status = take_here(d, argc, argv);
	if (fchdir(here) < 0)
		status = bad(d->cwd, strerror(errno));
	fd_close(&here);
	return status;
}

int
draft_preview(struct draft *d, int argc, char *const *argv)
{
	char version[PACKAGE_TEXT_MAX];
	int at;

	if (draft_runner(argc, argv, &at) != RUNNER_NPM)
		return draft_take(d, argc, argv);
	if (at < 0 || argc > DRAFT_ARGS_MAX ||
	    package_split(argv[at], d->package.name, version) < 0)
		return bad(argv[0], "no package name found in the arguments");
	for (int i = at + 1; i < argc; i++)
		d->argv[d->argc++] = argv[i];
	take_paths(d);
	return 0;
}

/* ---- variables ------------------------------------------------------------- */

static bool
is_filled_in(const char *value)
{
	return value_has_reference(value) ||
	       value_reference(value, NULL, NULL) != VALUE_PLAIN;
}

static bool
is_secret(const struct draft_variable *v)
{
	return v->value == NULL ? secret_shaped_name(v->name)
				: secret_shaped_value(v->name, v->value);
}

int
draft_variable(struct draft *d, char *text, bool secret)
{
	char *equals = secret ? NULL : strchr(text, '=');
	struct draft_variable *v = &d->variable[d->variable_n];

	if (d->variable_n == DRAFT_VARIABLES_MAX)
		return -E2BIG;
	if (equals != NULL)
		*equals = '\0';
	if (text[0] == '\0' || (text[0] >= '0' && text[0] <= '9') ||
	    text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
			      "abcdefghijklmnopqrstuvwxyz")] != '\0')
		return -EINVAL;
	v->name = text;
	v->vault = v->hosts = NULL;
	v->value = equals == NULL ? NULL : equals + 1;
	if (v->value != NULL && is_filled_in(v->value))
		v->value = NULL; /* the agent's environment has the text in its place */
	v->secret = secret || is_secret(v);
	if (v->secret)
		v->value = NULL; /* a policy contains no secret */
	d->variable_n++;
	return 0;
}

int
draft_vault(struct draft *d, char *text)
{
	char *path = strchr(text, '=');
	int r;

	if (path == NULL || secret_path_wrong(path + 1, strlen(path + 1)) != NULL)
		return -EINVAL;
	*path = '\0';
	r = draft_variable(d, text, true);
	if (r == 0)
		d->variable[d->variable_n - 1].vault = path + 1;
	return r;
}

/* By number: kennel does not ask the host's name service. */
const char *
draft_user(const struct draft *d)
{
	static char text[16];
	const char *sudo = getenv("SUDO_UID");
	uint32_t uid = 0;
	struct stat st;

	if (geteuid() != 0)
		return NULL;
	if (sudo == NULL || !colon_number(sudo, &uid))
		uid = 0;
	if (uid == 0 && d->work[0] != '\0' && stat(d->work, &st) == 0)
		uid = st.st_uid;
	if (uid == 0)
		return "nobody";
	(void)snprintf(text, sizeof(text), "%u", uid); /* fits */
	return text;
}
