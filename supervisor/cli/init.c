/*
 * kennel init: makes a draft policy from the command of a server in an agent's
 * configuration, and prints the line that replaces it there. A draft is narrow:
 * anything else that the server needs is shown as refused in the log, and the user
 * adds it.
 *
 * Runs as the calling user. Uses no network; reads the installed package and the presets
 * that come with this program; starts the server only confined by its draft, to list
 * its tools.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/cli/verb.h"
#include "policy/compile/compile.h"
#include "policy/sealed/sealed.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/host/path_resolve.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/cli/cli.h"
#include "supervisor/cli/init_tools.h"
#include "supervisor/draft/npm_package.h"
#include "supervisor/draft/preset.h"
#include "supervisor/help/help.h"

#define ARGS_MAX 256

static int
bad(const char *what, const char *why)
{
	log_error("unable to draft a policy for %s: %s", what, why);
	return EXIT_INPUT;
}

/* ---- runners: programs that fetch and start a package ---------------------- */

enum runner_kind { RUNNER_NPM, RUNNER_PYTHON, RUNNER_CONTAINER };

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

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

static const struct runner *
runner_of(const char *program)
{
	for (size_t i = 0; i < ARRAY_LEN(runners); i++)
		if (strcmp(base_name(program), runners[i].name) == 0)
			return &runners[i];
	return NULL;
}

/* Index of the argument that names the package: after the verb, the options and a
 * "--". */
static int
package_word(const struct runner *r, char *const *argv, int argc)
{
	int i = 1;

	if (r->verb != NULL && i < argc && strcmp(argv[i], r->verb) == 0)
		i++;
	for (; i < argc && argv[i][0] == '-'; i++) {
		if ((strcmp(argv[i], "-p") == 0 || strcmp(argv[i], "--package") == 0) &&
		    i + 1 < argc)
			return i + 1;
		if (strncmp(argv[i], "--package=", 10) == 0)
			return -1;
	}
	return i < argc ? i : -1;
}

/* Where a server's own package is installed; other programs do not look there. */
static void
install_dir(char out[PATH_MAX], const char *name)
{
	const char *base = paths_data_dir();

	(void)snprintf(out, PATH_MAX, "%s/servers/%.200s", base, name); /* or truncated */
}

static int
tell_install(const char *name, const char *dir, const char *package, const char *version,
    char *const *rest)
{
	printf("npx fetches and runs the newest version.  Install one version and review "
	       "it:\n\n"
	       "    npm install --global --prefix %s --ignore-scripts %s@%s\n\n",
	    dir, package, version[0] != '\0' ? version : "VERSION");
	if (version[0] == '\0')
		printf("(VERSION: the one that you have reviewed.)  ");
	printf("Then:\n\n    kennel init %s -- npx %s%s%s", name, package,
	    version[0] != '\0' ? "@" : "", version);
	for (; *rest != NULL; rest++)
		printf(" %s", *rest);
	printf("\n");
	return EXIT_MISSING;
}

/* ---- the draft ------------------------------------------------------------- */

struct draft {
	const char *name;
	const char *argv[ARGS_MAX + 2]; /* absolute program first */
	int argc;
	struct package package; /* name "": none found */
	char program[PATH_MAX], script[PATH_MAX];
	char dirs[ARGS_MAX / 8][PATH_MAX]; /* directories among the arguments */
	size_t dir_n;
	const char *const *secret;
	size_t secret_n;
	bool preset; /* the draft is a preset */
	bool start;  /* the server, to list its tools */
	struct tools_found tools;
};

/* A policy names a program by its canonical path, by a link owned by root, or by the
 * link in a virtual environment. Resolves path to a form that a policy accepts. */
static int
nameable(const char *path, char out[PATH_MAX])
{
	struct path_resolved p;
	int r = path_resolve(path, 0, NULL, NULL, &p);

	fd_close(&p.fd);
	if (r == 0 || (r == -ELOOP && venv_has(path)))
		(void)snprintf(out, PATH_MAX, "%s", path); /* same size */
	else if (r == -ELOOP && p.target[0] != '\0')
		(void)snprintf(out, PATH_MAX, "%s", p.target); /* same size */
	else
		return r;
	return 0;
}

/* Makes the path absolute, in a form that a policy accepts. */
static int
absolute(const char *word, char out[PATH_MAX])
{
	char folder[PATH_MAX], real[PATH_MAX], named[PATH_MAX];
	const char *base = base_name(word);
	int n = snprintf(folder, sizeof(folder), "%.*s.", (int)(base - word), word);

	if (n < 0 || (size_t)n >= sizeof(folder) || realpath(folder, real) == NULL)
		return -ENOENT;
	n = snprintf(named, PATH_MAX, "%s/%s", strcmp(real, "/") == 0 ? "" : real, base);
	if (n < 0 || n >= PATH_MAX)
		return -ENAMETOOLONG;
	if (access(named, X_OK) < 0)
		return -errno;
	return nameable(named, out);
}

/* Finds the program in PATH, as the user's shell would. */
static int
find_program(const char *word, char out[PATH_MAX])
{
	const char *path = getenv("PATH"), *end;
	char candidate[PATH_MAX];

	if (strchr(word, '/') != NULL)
		return absolute(word, out);
	for (path = path == NULL ? "/usr/bin" : path; path != NULL; path = end) {
		size_t n = strcspn(path, ":");

		end = path[n] == '\0' ? NULL : path + n + 1;
		if (n == 0 || n >= PATH_MAX - NAME_MAX || path[0] != '/')
			continue;
		(void)snprintf(candidate, sizeof(candidate), "%.*s/%.255s", (int)n, path,
		    word); /* fits */
		if (absolute(candidate, out) == 0)
			return 0;
	}
	return -ENOENT;
}

static bool
is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool
is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* After an interpreter comes its script: the draft needs it and its package. */
static int
take_script(struct draft *d)
{
	const char *word = d->argc > 1 ? d->argv[1] : "";

	if (word[0] == '-' || word[0] == '\0' || !is_file(word))
		return 0;
	if (realpath(word, d->script) == NULL)
		return -errno;
	d->argv[1] = d->script;
	return 0;
}

static void
take_dirs(struct draft *d)
{
	for (int i = 1; i < d->argc; i++) {
		char *out = d->dirs[d->dir_n];

		if (d->argv[i][0] == '-' || d->argv[i] == d->script ||
		    !is_dir(d->argv[i]) || d->dir_n == ARRAY_LEN(d->dirs) ||
		    realpath(d->argv[i], out) == NULL)
			continue;
		d->argv[i] = out; /* a cell does not have the user's current directory */
		d->dir_n++;
	}
}

static int
take_command(struct draft *d, int argc, char *const *argv)
{
	int r = find_program(argv[0], d->program);

	if (r < 0)
		return bad(argv[0], r == -ENOENT ? "program not found" : strerror(-r));
	if (argc > ARGS_MAX)
		return bad(argv[0], "too many arguments");
	d->argv[d->argc++] = d->program;
	for (int i = 1; i < argc; i++)
		d->argv[d->argc++] = argv[i];
	if (take_script(d) < 0)
		return bad(argv[1], "script not found");
	take_dirs(d);
	if (package_of(d->script[0] != '\0' ? d->script : d->program, &d->package) < 0)
		d->package.name[0] = '\0';
	return 0;
}

/* npx PACKAGE ARG...: finds the installed program, to start it directly. */
static int
take_package(struct draft *d, const struct runner *r, int argc, char *const *argv)
{
	char name[PACKAGE_TEXT_MAX], version[PACKAGE_TEXT_MAX];
	char dir[PATH_MAX], root[2 * PATH_MAX], node[PATH_MAX];
	char *direct[ARGS_MAX + 3];
	int at = package_word(r, argv, argc), n = 0;

	if (at < 0 || package_split(argv[at], name, version) < 0)
		return bad(argv[0], "no package name found in the arguments");
	if (argc - at + 2 > ARGS_MAX)
		return bad(argv[0], "too many arguments");
	install_dir(dir, d->name);
	(void)snprintf(
	    root, sizeof(root), "%s/lib/node_modules/%s", dir, name); /* fits */
	if (package_read(root, &d->package) < 0 || d->package.program[0] == '\0')
		return tell_install(d->name, dir, name, version, argv + at + 1);
	if (version[0] != '\0' && strcmp(version, d->package.version) != 0)
		return bad(name, "another version is installed");
	(void)snprintf(node, sizeof(node), "node"); /* fits */
	direct[n++] = node;
	direct[n++] = d->package.program;
	for (int i = at + 1; i < argc; i++)
		direct[n++] = argv[i];
	return take_command(d, n, direct);
}

static int
take(struct draft *d, int argc, char *const *argv)
{
	const struct runner *r = runner_of(argv[0]);

	if (r == NULL)
		return take_command(d, argc, argv);
	if (r->kind == RUNNER_NPM)
		return take_package(d, r, argc, argv);
	if (r->kind == RUNNER_CONTAINER)
		return bad(argv[0], "a container needs its own daemon; install the "
				    "server without it and name its program");
	log_error("%s fetches what it runs.  Install one version: python3 -m venv DIR; "
		  "DIR/bin/pip install PACKAGE==VERSION; then: kennel init %s -- "
		  "DIR/bin/python DIR/bin/PROGRAM",
	    argv[0], d->name);
	return EXIT_INPUT;
}

/* ---- output ---------------------------------------------------------------- */

/* Writes an argument of the policy language: bare if possible, else quoted as JSON. */
static int
put_word(FILE *out, const char *text)
{
	const char *plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "0123456789-._/@+:=,%";
	char *quoted;

	if (text[0] != '\0' && text[strspn(text, plain)] == '\0' && text[0] == '/') {
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

static int
put_words(FILE *out, const char *word, const char *const *text, size_t n)
{
	int r = 0;

	fprintf(out, "    %s", word);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = put_word(out, text[i]);
	fprintf(out, "\n");
	return r;
}

/* The directory of the modules that a package may need. */
static const char *
modules_of(const struct package *p)
{
	static char out[PATH_MAX];
	char *at;

	(void)snprintf(out, sizeof(out), "%s", p->root); /* same size */
	at = strstr(out, "/node_modules/");
	/* a package installed system-wide includes its own */
	if (at == NULL || (at - out >= 4 && memcmp(at - 4, "/lib", 4) == 0))
		return p->root;
	at[strlen("/node_modules")] = '\0';
	return out;
}

static int
draft_write(const struct draft *d, FILE *out)
{
	const char *one;
	int r;

	fprintf(out,
	    "# A draft: review every line.  kennel-policy(5) is the language.\n"
	    "server %s {\n",
	    d->name);
	if (d->package.name[0] != '\0')
		fprintf(
		    out, "    about \"%s %s\"\n", d->package.name, d->package.version);
	r = put_words(out, "run", d->argv, (size_t)d->argc);
	if (r == 0 && d->package.name[0] != '\0') {
		one = modules_of(&d->package);
		r = put_words(out, "read", &one, 1);
	} else if (r == 0 && d->script[0] != '\0') {
		one = d->script;
		r = put_words(out, "read", &one, 1);
	}
	for (size_t i = 0; r == 0 && i < d->dir_n; i++) {
		one = d->dirs[i];
		r = put_words(out, "read", &one, 1);
	}
	if (d->dir_n > 0)
		fprintf(
		    out, "    # use `write` instead of `read` where it changes files\n");
	for (size_t i = 0; i < d->secret_n; i++)
		fprintf(out, "    secret %s from env %s\n", d->secret[i], d->secret[i]);
	init_tools_put(&d->tools, out);
	fprintf(out,
	    "    # Review the server's definitions and pin them:\n"
	    "    #     kennel server pin %s -o %s.pins\n"
	    "    # then remove the # from the next line:\n"
	    "    # pins \"%s.pins\"\n"
	    "    limit processes 64\n"
	    "}\n",
	    d->name, d->name, d->name);
	return r < 0 || ferror(out) ? -EINVAL : 0;
}

static int
write_draft(struct draft *d, FILE *out)
{
	struct preset_fill fill = {.server = d->name,
	    .package = d->package.name,
	    .root = d->package.root,
	    .program = d->program,
	    .dir = d->dir_n > 0 ? d->dirs[0] : NULL};
	int r = d->package.name[0] == '\0' ? -ENOENT : preset_write(&fill, out);

	d->preset = r == 0;
	return r == -ENOENT ? draft_write(d, out) : r;
}

static int
write_file(struct draft *d, const char *path)
{
	FILE *out;
	int r,
	    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return -errno;
	out = fdopen(fd, "w");
	if (out == NULL) {
		fd_close(&fd);
		(void)unlink(path);
		return -ENOMEM;
	}
	r = write_draft(d, out);
	if (fclose(out) != 0 && r == 0)
		r = -EIO;
	if (r < 0)
		(void)unlink(path); /* leave no partial draft */
	return r;
}

/* Replaces the draft by one with the server's tools; a preset has them already. */
static void
ask_tools(struct draft *d, const char *path)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out;
	int r;

	printf(
	    "Starting %s once, confined by its draft, to list its tools ...\n", d->name);
	(void)fflush(stdout); /* before the messages of the start */
	if (init_tools_list(path, d->name, &d->tools) < 0) {
		printf("Its tools are not known: %s.  Correct the draft, and name the "
		       "tools\n"
		       "in place of `tool by-annotations`.\n",
		    d->tools.why);
		return;
	}
	out = open_memstream(&text, &len);
	r = out == NULL ? -ENOMEM : write_draft(d, out);
	if (out != NULL && fclose(out) != 0 && r == 0)
		r = -ENOMEM;
	if (r == 0)
		r = verb_write(path, text, len, 0600);
	free(text);
	if (r < 0)
		log_error("unable to write the tools to %s: %s", path, strerror(-r));
	else
		printf("%zu of its tools only read and are allowed; %zu ask a person "
		       "first.\n",
		    d->tools.allowed, d->tools.asked);
}

static void
tell_snippet(const char *name)
{
	printf("\nIn the agent's configuration, in place of the server's command:\n\n"
	       "    \"mcpServers\": {\n"
	       "        \"%s\": {\n"
	       "            \"command\": \"kennel\",\n"
	       "            \"args\": [\"run\", \"%s\"]\n"
	       "        }\n"
	       "    }\n",
	    name, name);
}

static int
finish(struct draft *d, const char *file)
{
	char path[PATH_MAX];
	int r;

	if (file != NULL && strcmp(file, "-") == 0) {
		r = write_draft(d, stdout);
		return r < 0 || fflush(stdout) != 0 ? EXIT_FAILED : 0;
	}
	if (file != NULL) {
		(void)snprintf(path, sizeof(path), "%s", file); /* open returns ENOENT */
	} else {
		(void)snprintf(
		    path, sizeof(path), "%.3000s/policies", paths_config_dir());
		r = fd_make_dirs(path);
		if (r < 0) {
			log_error("unable to create %s: %s", path, strerror(-r));
			return EXIT_CONFIG;
		}
		(void)snprintf(path, sizeof(path), "%.3000s/policies/%.200s.kennel",
		    paths_config_dir(), d->name); /* fits */
	}
	r = write_file(d, path);
	if (r < 0) {
		log_error("unable to write %s: %s", path, strerror(-r));
		return EXIT_CONFIG;
	}
	if (d->start && !d->preset)
		ask_tools(d, path);
	printf("A draft is in %s: review it, then:\n\n"
	       "    kennel policy check %s\n"
	       "    kennel policy show %s\n",
	    path, path, path);
	tell_snippet(d->name);
	return 0;
}

/* ---- the verb -------------------------------------------------------------- */

/* A valid name in the language: a letter or digit, then also - _ and dot. */
static bool
name_ok(const char *name)
{
	const char *first = "abcdefghijklmnopqrstuvwxyz0123456789";
	const char *rest = "abcdefghijklmnopqrstuvwxyz0123456789-_.";

	return name[0] != '\0' && strchr(first, name[0]) != NULL &&
	       name[strspn(name, rest)] == '\0' && strlen(name) <= 64;
}

static bool
variable_ok(const char *name)
{
	return name[0] != '\0' && (name[0] < '0' || name[0] > '9') &&
	       name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
				 "abcdefghijklmnopqrstuvwxyz")] == '\0';
}

int
init_main(int argc, char **argv)
{
	static struct draft d = {.start = true};
	static const char *secret[ARGS_MAX];
	const char *file = NULL;
	int i, status;

	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "-o") == 0 && i + 1 < argc)
			file = argv[++i];
		else if (strcmp(argv[i], "--secret") == 0 && i + 1 < argc &&
			 variable_ok(argv[i + 1]) && d.secret_n < ARGS_MAX)
			secret[d.secret_n++] = argv[++i];
		else if (strcmp(argv[i], "--no-start") == 0)
			d.start = false;
		else if (d.name == NULL && name_ok(argv[i]))
			d.name = argv[i];
		else if (argv[i][0] != '-' && d.name == NULL)
			return help_usage(&kennel_help, argv[0],
			    "expected a name of a-z, 0-9, -, _ and . for the server");
		else
			return help_refuse(&kennel_help, argv[0], argv[i]);
	}
	if (d.name == NULL || i + 1 >= argc)
		return help_usage(&kennel_help, argv[0],
		    "expected a name for the server, then -- and its command");
	if (paths_config_dir() == NULL || paths_data_dir() == NULL) {
		log_error("%s", paths_why());
		return EXIT_CONFIG;
	}
	d.secret = secret;
	status = take(&d, argc - i - 1, argv + i + 1);
	return status != 0 ? status : finish(&d, file);
}
