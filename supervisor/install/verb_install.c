/*
 * kennel install: puts the package of a server into the store, and drafts a policy that
 * starts it from there.
 *
 * Process: kennel, the user's, with no agent. Holds no secret. Every program that handles
 * the package runs in a cell: npm (installer.c), and the server, once, for its tools
 * (kennel init). What they leave is read as hostile (file_tree.c).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/cli/cli.h"
#include "supervisor/base/other_verb.h"
#include "supervisor/draft/draft.h"
#include "supervisor/help/help.h"
#include "supervisor/install/gc.h"
#include "supervisor/install/install.h"
#include "supervisor/install/python.h"
#include "supervisor/install/store.h"
#include "supervisor/install/update.h"

/* Options of `kennel init`, which makes the draft. */
static const struct {
	const char *name;
	bool valued;
} drafting[] = {
    {"--work", true},
    {"--cwd", true},
    {"--below", true},
    {"--env", true},
    {"--secret", true},
    {"--vault", true},
    {"--again", true},
    {"--no-start", false},
};

/* ---- the draft --------------------------------------------------------------------- */

/* The command that was run, with DIR for a directory that it lacks: the caller frees; NULL. */
static char *
with_directory(const struct install *in)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (out == NULL)
		return NULL;
	fprintf(out, "kennel install %s --work DIR", in->name);
	if (in->how.scripts)
		fputs(" --scripts", out);
	if (in->how.require_signatures)
		fputs(" --require-signatures", out);
	if (in->how.scope != NULL)
		fprintf(out, " --to %s", in->how.scope);
	for (int i = 0; i < in->option_n; i++)
		draft_shell_word(out, in->option[i]);
	if (in->out != NULL) {
		fputs(" -o", out);
		draft_shell_word(out, in->out);
	}
	fputs(" --", out);
	for (int i = 0; i < in->command_n; i++)
		draft_shell_word(out, in->command[i]);
	return fclose(out) == 0 ? text : NULL;
}

static int
draft(const struct install *in, int start_n, char **start, int rest)
{
	const struct other_verb here = {.dir = NULL};
	char *word[INSTALL_WORDS_MAX + 16];
	char *again = with_directory(in);
	int n = 0, status;

	word[n++] = (char *)"init";
	word[n++] = (char *)in->name;
	if (again != NULL) {
		word[n++] =
		    (char *)"--again"; /* or that of the options, which come after it */
		word[n++] = again;
	}
	for (int i = 0; i < in->option_n; i++)
		word[n++] = in->option[i];
	if (in->out != NULL) {
		word[n++] = (char *)"-o";
		word[n++] = (char *)in->out;
	}
	word[n++] = (char *)"--";
	for (int i = 0; i < start_n; i++)
		word[n++] = start[i];
	for (int i = rest; i < in->command_n; i++)
		word[n++] = in->command[i];
	status = other_verb_run(&here, init_main, n, word);
	free(again);
	return status;
}

/* A draft never replaces a file: says so before anything is fetched. */
static int
check_free(const struct install *in)
{
	char path[PATH_MAX];

	if (in->out != NULL && strcmp(in->out, "-") == 0)
		return 0;
	install_policy_path(in, path);
	if (access(path, F_OK) < 0)
		return 0;
	log_error(
	    "%s exists: remove it to draft it again, or name another file with -o", path);
	return EXIT_CONFIG;
}

static int
install_and_draft(const struct install *in)
{
	static struct installed done; /* large */
	struct package_source from;
	char here[PATH_MAX];
	char *start[PACKAGE_WORDS_MAX];
	int rest, status;

	if (draft_project_program(
		in->cwd == NULL ? "." : in->cwd, in->command_n, in->command, here))
		return draft(in, 0, NULL, 0); /* the project has the package */
	if (python_is(in->command_n, in->command)) {
		if (in->how.require_signatures) {
			log_error("no signatures of Python's packages are verified: "
				  "install it without --require-signatures");
			return EXIT_MISSING;
		}
		status = python_program(in, start, &rest);
		return status != 0 ? status : draft(in, 1, start, rest);
	}
	status = package_source(in->command_n, in->command, &from);
	if (status == 0)
		status = package_install(&from, &in->how, &done);
	return status != 0
		   ? status
		   : draft(in, package_argv(&done, &from, start), start, from.rest);
}

/* Holds the store until the policy names what is new in it. */
static int
install(const struct install *in)
{
	int hold = store_hold(false), status;

	if (hold < 0) {
		log_error("unable to use the store: %s",
		    hold == -EAGAIN ? "`kennel install --gc` uses it; try again later"
				    : strerror(-hold));
		return EXIT_CONFIG;
	}
	status = in->update ? update(in) : check_free(in);
	if (status == 0 && !in->update)
		status = install_and_draft(in);
	fd_close(&hold);
	return status;
}

/* ---- the verb ---------------------------------------------------------------------- */

void
install_policy_path(const struct install *in, char ret[PATH_MAX])
{
	if (in->out != NULL)
		(void)snprintf(ret, PATH_MAX, "%s", in->out); /* access returns ENOENT */
	else
		(void)snprintf(ret, PATH_MAX, "%.3000s/policies/%.200s.kennel",
		    paths_config_dir(), in->name); /* fits */
}

/* One option with its value: the number of words; 0: unknown; a negative status. */
static int
take_option(struct install *in, char **argv, int left)
{
	const struct {
		const char *name;
		bool *flag;
	} flag[] = {
	    {"--scripts", &in->how.scripts},
	    {"--require-signatures", &in->how.require_signatures},
	    {"--update", &in->update},
	    {"--gc", &in->gc},
	    {"--yes", &in->yes},
	};

	for (size_t i = 0; i < ARRAY_LEN(flag); i++)
		if (strcmp(argv[0], flag[i].name) == 0) {
			*flag[i].flag = true;
			return 1;
		}
	if (left >= 2 && strcmp(argv[0], "--to") == 0) {
		in->how.scope = argv[1];
		return draft_scope_ok(argv[1]) ? 2 : -EXIT_USAGE;
	}
	if (left >= 2 && strcmp(argv[0], "-o") == 0) {
		in->out = argv[1];
		return 2;
	}
	for (size_t i = 0; i < ARRAY_LEN(drafting); i++) {
		int n = drafting[i].valued ? 2 : 1;

		if (strcmp(argv[0], drafting[i].name) != 0 || left < n ||
		    in->option_n + 2 > INSTALL_OPTIONS_MAX)
			continue;
		for (int k = 0; k < n; k++)
			in->option[in->option_n++] = argv[k];
		if (strcmp(argv[0], "--cwd") == 0)
			in->cwd = argv[1];
		return n;
	}
	return 0;
}

/* 0, or an exit status after reporting why. */
static int
parse(struct install *in, int argc, char **argv)
{
	const char *refused;
	int i, n;

	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i += n) {
		n = take_option(in, argv + i, argc - i);
		if (n < 0)
			return -n;
		if (n > 0)
			continue;
		if (argv[i][0] == '-')
			return help_refuse(&kennel_help, argv[0], argv[i]);
		if (in->name != NULL)
			return help_usage(&kennel_help, argv[0],
			    "expected -- between the name and the command");
		refused = draft_name_refused(argv[i]);
		if (refused != NULL)
			return help_usage(&kennel_help, argv[0], refused);
		in->name = argv[i];
		n = 1;
	}
	in->command = argv + i + 1;
	in->command_n = i < argc ? argc - i - 1 : 0;
	if (in->command_n > DRAFT_ARGS_MAX)
		return help_usage(&kennel_help, argv[0], "too many arguments");
	return 0;
}

int
install_main(int argc, char **argv)
{
	static struct install in;
	int status = parse(&in, argc, argv);

	if (status != 0)
		return status;
	if (paths_config_dir() == NULL || store_dir() == NULL) {
		log_error("%s", paths_why());
		return EXIT_CONFIG;
	}
	if (in.gc) {
		if (in.name != NULL || in.command_n > 0 || in.update)
			return help_usage(&kennel_help, argv[0],
			    "--gc is for the whole store, and only --yes is used with "
			    "it");
		return gc(in.yes);
	}
	if (in.name == NULL || (in.command_n == 0 && !in.update))
		return help_usage(&kennel_help, argv[0],
		    "expected a name for the server, then -- and its command");
	return install(&in);
}
