/*
 * A draft of a policy, made from the command of a server in an agent's configuration.
 *
 *	command.c	the command: runners of packages, program, script, arguments
 *	script.c	the interpreter and the script of a command
 *	node.c		the node of a command, if a manager of versions has it
 *	project.c	the project that a command runs
 *	grantable.c	which paths of it a draft may grant
 *	npm_package.c	the installed package
 *	package_files.c	programs and add-ons in it
 *	preset.c	the preset for it, filled in
 *	draft.c		the text, if there is no preset
 *	needs.c		what its program names: libraries, an interpreter
 *	options.c	the options of the verbs that draft
 */
#ifndef KENNEL_SUPERVISOR_DRAFT_DRAFT_H
#define KENNEL_SUPERVISOR_DRAFT_DRAFT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "supervisor/draft/npm_package.h"

#define DRAFT_ARGS_MAX      256
#define DRAFT_PATHS_MAX     32
#define DRAFT_VARIABLES_MAX 128

struct draft_path {
	char path[PATH_MAX];
	enum { PATH_IS_DIR, PATH_IS_FILE, PATH_IS_MISSING } is;
};

struct draft_variable {
	const char *name, *value; /* NULL: the value in the agent's environment */
	const char *vault;        /* the path of a secret in the vault, or NULL */
	bool secret;
	const char *hosts; /* that may get it, separated by blanks; or NULL */
};

struct draft {
	const char *name;
	const char *argv[DRAFT_ARGS_MAX + 8]; /* absolute program first */
	int argc, args_at;      /* the first argument of the server itself */
	struct package package; /* name "": none found */
	char program[PATH_MAX], script[PATH_MAX];
	char node[PATH_MAX];    /* the one beside the program that fetches it, or "" */
	char venv[PATH_MAX];    /* the virtual environment of the program, or "" */
	char modules[PATH_MAX]; /* the directory that holds all modules, or "" */
	char work[PATH_MAX];    /* the directory to work in, or "" */
	bool without_work;      /* the preset needs none: the arguments name its files */
	char cwd[PATH_MAX];     /* the directory that it is started in, or "" */
	char below[PATH_MAX];   /* directories elsewhere are not granted; "": any */
	char project[PATH_MAX]; /* the project that the command runs, or "" */
	struct draft_path path[DRAFT_PATHS_MAX]; /* among the arguments and values */
	size_t path_n;
	struct draft_variable variable[DRAFT_VARIABLES_MAX];
	size_t variable_n;
};

/* Adds a variable of the agent's entry, "NAME" or "NAME=VALUE"; one whose name or value
 * looks secret becomes a secret, without its value. -EINVAL; -E2BIG. The text is kept
 * and changed. */
int draft_variable(struct draft *, char *text, bool secret);
/* Adds a secret variable whose value is in the vault, "NAME=PATH". -EINVAL; -E2BIG. The
 * text is kept and changed. */
int draft_vault(struct draft *, char *text);

/* options.c: NULL; or why a policy cannot have a server of this name. */
const char *draft_name_refused(const char *);
/* Is it a scope of `net ... to`, of --to? Otherwise reports it. */
bool draft_scope_ok(const char *);
/* Sets the directory to work in: 0 or -errno. */
int draft_work(struct draft *, const char *path);
/* The directory that kennel has for a server to work in, if the user names no other. */
void draft_work_own(const char *name, char ret[PATH_MAX]);
/* Creates it, for the user that the server runs as: 0 or -errno. */
int draft_work_make(const char *path);
/* Asks a person on the terminal for it, until it exists; an empty answer leaves it out, which
 * means the own one. */
void draft_work_ask(struct draft *, const char *own);
/* Reports that it returned this error, and what to do. */
void draft_work_refused(const char *path, int r);
/* Sets the directory that the server is started in: 0 or -errno. */
int draft_cwd(struct draft *, const char *path);
/* Takes --work, --cwd, --below, --env, --secret or --vault and its value. The number of words; 0 if it is
 * none of them; a negative exit status, after the reason was printed. */
int draft_option(struct draft *, char **argv);
/* The file to write: this one, or the one where `kennel run` looks for the policy of this
 * server, whose directory is made. 0, or an exit status; the reason is printed. */
int draft_place(const char *file, const char *name, char path[PATH_MAX]);
/* Programs that fetch a package and start it: npx, uvx, docker, ... */
enum runner_kind { RUNNER_NONE, RUNNER_NPM, RUNNER_PYTHON, RUNNER_CONTAINER };
/* The kind of this command, and the index of the argument that names the package; -1: it
 * has none that is understood. */
enum runner_kind draft_runner(int argc, char *const *argv, int *ret_package);
/* Is an option before the package unknown, so that its value may be taken for the package?
 * 0, or an exit status after naming it. */
int draft_runner_option(int argc, char *const *argv);
/* Finds a program in PATH, as the user's shell would, in a form that a policy accepts.
 * 0; -ENOENT; -ENOTUNIQ: a shim chooses among versions of node; -errno. */
int draft_program(const char *word, char ret[PATH_MAX]);
/* node.c: the node beside a program with an absolute path, such as npx: its canonical path, or
 * that of the version that a shim chooses. 0; 1: no node is beside it; -ENOTUNIQ: a shim chooses
 * among several versions; -errno: the program does not exist. */
int draft_node(const char *program, char ret[PATH_MAX]);
/* The same for a path of node itself. 1: not a shim. */
int draft_shim(const char *node, char ret[PATH_MAX]);
/* The interpreter that a script names: the node of the draft, or one in PATH. As draft_program. */
int draft_interpreter(const struct draft *, const char *word, char ret[PATH_MAX]);
/* What the error of these, or of draft_program, means: a static text. */
const char *draft_node_why(int r);

/* Is the path this directory, or below it? */
bool draft_below(const char *path, const char *dir);
/* Why no draft grants this directory, a canonical path, or the path of a command: a static
 * text; NULL: it may. The root, the home directory and what has it, a hidden directory of
 * it, what has kennel's files. */
const char *draft_dir_refused(const char *path);
const char *draft_path_refused(const struct draft *, const struct draft_path *);

/* The program of a runner of projects, such as tsx, in the node_modules of the project that
 * the script of `npx tsx SCRIPT` is in: false: the command is another one, or it is not
 * installed there. */
bool draft_project_program(
    const char *cwd, int argc, char *const *argv, char ret[PATH_MAX]);
/* After the command is read: finds the project that it runs, and the directory to start it
 * in. A PYTHONPATH that the directory replaces is removed. */
void draft_project(struct draft *);
/* Why the directory that it is started in is not granted; NULL: it may be. */
const char *draft_cwd_refused(const struct draft *);
/* Writes `cwd`, or a comment: -errno. */
int draft_cwd_line(const struct draft *, const char *indent, FILE *);
/* Writes its `read` line, if no other line of the draft is for it: -errno. */
int draft_cwd_put(const struct draft *, const char *indent, FILE *);
/* Writes the lines for it: -errno. */
int draft_project_put(const struct draft *, const char *indent, FILE *);

/* Reads the command. 0, or an exit status; the reason is printed. */
int draft_take(struct draft *, int argc, char *const *argv);
/* The same before the package of npx is installed: only its name and the paths. */
int draft_preview(struct draft *, int argc, char *const *argv);

/* Writes the draft, before and after the lines about its tools: -errno. */
int draft_head(const struct draft *, FILE *);
/* Only the beginning of it: the name, the command and the user. */
int draft_open(const struct draft *, FILE *);
int draft_tail(const struct draft *, FILE *);
/* Lines for what the agent's entry has, each after this indentation. Skips the
 * directory and the variables that a preset has, if those are given. */
int draft_settings(const struct draft *, const char *indent, const bool *skip, FILE *);

/* needs.c: lines for what the program of the command names, such as the libraries beside it,
 * each after this indentation; what does not belong to it is a comment. 0 or -ENOMEM. */
int draft_needs(const struct draft *, const char *indent, FILE *);
/* Can a program of the package be granted by one line, beside those of the draft? */
bool draft_stands_alone(const struct draft *, const char *program);

/* Writes a word of the policy language, after a blank: bare if possible. -EINVAL. */
int draft_word(FILE *, const char *);
/* Writes an argument for a shell, after a blank. */
void draft_shell_word(FILE *, const char *);
/* The options that were given, for a command that is printed. */
void draft_options(const struct draft *, FILE *);

/* The user that a server of root runs as, or NULL for others. */
const char *draft_user(const struct draft *);

#endif
