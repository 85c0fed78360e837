#include "supervisor/install/package.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/draft/draft.h"
#include "supervisor/draft/npm_lock.h"
#include "supervisor/draft/script.h"
#include "supervisor/install/installer.h"

#define CELL_USER 65534 /* of the cell, if root installs */
#define NAMED_MAX 6     /* packages that are named in a message */
#define MEGABYTE  1e6

/* ---- what a command names -------------------------------------------------------- */

static int
source_dir(const char *dir, struct package_source *ret)
{
	struct package package;
	int r = package_read(dir, &package);

	if (r < 0) {
		log_error("unable to install %s: %s", dir,
		    r == -ENOENT ? "expected a directory with a package.json"
				 : "its package.json has no valid name");
		return EXIT_INPUT;
	}
	(void)snprintf(ret->dir, sizeof(ret->dir), "%s", package.root);   /* same size */
	(void)snprintf(ret->spec, sizeof(ret->spec), "%s", package.root); /* the same */
	(void)snprintf(ret->name, sizeof(ret->name), "%s", package.name); /* the same */
	ret->rest = 1;
	return 0;
}

static bool
has_package_option(int argc, char *const *argv, int end)
{
	for (int i = 1; i < argc && i < end; i++)
		if (strcmp(argv[i], "-p") == 0 || strncmp(argv[i], "--package", 9) == 0)
			return true;
	return false;
}

int
package_source(int argc, char *const *argv, struct package_source *ret)
{
	enum runner_kind kind;
	struct stat st;
	int at, status, r;

	*ret = (struct package_source){.rest = 0};
	kind = draft_runner(argc, argv, &at);
	if (kind == RUNNER_NONE && stat(argv[0], &st) == 0 && S_ISDIR(st.st_mode))
		return source_dir(argv[0], ret);
	if (kind != RUNNER_NPM) {
		log_error("unable to install with %s: expected `npx PACKAGE`, `uvx "
			  "PACKAGE` or the directory of a package; `kennel init` drafts "
			  "a policy for other commands",
		    argv[0]);
		return EXIT_INPUT;
	}
	r = draft_node(argv[0], ret->node);
	if (r < 0) {
		log_error("unable to install with %s: %s", argv[0], draft_node_why(r));
		return EXIT_INPUT;
	}
	status = draft_runner_option(argc, argv);
	if (status != 0)
		return status;
	if (at < 0 || has_package_option(argc, argv, at) ||
	    package_split(argv[at], ret->name, ret->version) < 0 ||
	    strlen(argv[at]) >= sizeof(ret->spec)) {
		log_error("no package name found after %s: expected %s PACKAGE@VERSION",
		    argv[0], argv[0]);
		return EXIT_INPUT;
	}
	(void)snprintf(ret->spec, sizeof(ret->spec), "%s", argv[at]); /* fits */
	ret->rest = at + 1;
	return 0;
}

/* ---- what a person should know ----------------------------------------------------- */

/* Names the packages whose scripts were not run. */
static void
tell_scripts(const char *path, bool scripts)
{
	struct lock lock;
	size_t n = 0;

	(void)lock_read(path, &lock); /* else: it names none */
	for (size_t i = 0; i < lock.n; i++) {
		if (!lock.package[i].scripts)
			continue;
		if (n++ == 0)
			printf(scripts ? "Install scripts were run in a cell of their "
					 "own:"
				       : "Install scripts were not run:");
		if (n <= NAMED_MAX)
			printf(" %s", lock.package[i].path + strlen("node_modules/"));
	}
	if (n > NAMED_MAX)
		printf(" and %zu more", n - NAMED_MAX);
	if (n > 0)
		printf(scripts
			   ? "\n"
			   : "\n(--scripts runs them, in a cell without a network)\n");
	lock_free(&lock);
}

static enum signatures
find_signatures(const struct installer *in, char ret_why[256])
{
	if (in->dir == NULL) {
		enum signatures found = installer_audit(in, ret_why);

		return found == SIGNATURES_VERIFIED ? signed_check(in, ret_why) : found;
	}
	(void)snprintf(ret_why, 256, "the package is a directory"); /* fits */
	return SIGNATURES_SKIPPED;
}

/* required: unverified packages are refused. */
static int
check_signatures(const struct installer *in, bool required)
{
	char why[256];
	enum signatures found = find_signatures(in, why);
	bool allowed =
	    found == SIGNATURES_VERIFIED || (found == SIGNATURES_SKIPPED && !required);
	int status = installer_record(
	    in, found, allowed, found == SIGNATURES_VERIFIED ? NULL : why);

	if (status != 0)
		return status;
	if (found == SIGNATURES_VERIFIED)
		printf("The registry's signatures of the packages are verified.\n");
	else if (allowed && in->dir != NULL)
		printf("No signatures are verified: %s.\n", why);
	else if (allowed) /* also where the rest of the output is not shown */
		log_warn("no signatures of %s are verified: %s", in->package, why);
	else if (found == SIGNATURES_SKIPPED) {
		log_error("no signatures of %s are verified: %s; nothing was kept: run "
			  "it again when the registry and " KEYS_NAME
			  " answer, or without --require-signatures",
		    in->package, why);
		return EXIT_MISSING;
	} else {
		log_error("%s; nothing was kept: install another exact version, or run "
			  "it again if the registry did not answer",
		    why);
		return EXIT_INPUT;
	}
	return 0;
}

/* ---- the installation ------------------------------------------------------------- */

static int
keep(const struct package_source *from, struct installer *in, struct installed *ret)
{
	char root[PATH_MAX];
	struct file_tree tree;
	int r = store_keep(&in->staging, &tree, ret->path);

	if (r < 0) {
		log_error(
		    "unable to keep %s: %s; nothing was kept", from->spec, tree.why);
		file_tree_free(&tree);
		return EXIT_INPUT;
	}
	printf("%zu files and directories, %.1f MB, are in %s\n", tree.entry_n,
	    (double)tree.bytes / MEGABYTE, ret->path);
	file_tree_free(&tree);
	(void)snprintf(root, sizeof(root), "%.3800s/node_modules/%.255s", ret->path,
	    from->name); /* fits */
	r = package_read(root, &ret->package);
	if (r < 0 || ret->package.program[0] == '\0') {
		log_error(
		    "unable to use %s: its package.json names no program of its own",
		    from->spec);
		return EXIT_INPUT;
	}
	/* the name decides which preset the draft is made from */
	if (strcmp(from->name, ret->package.name) != 0) {
		log_error("unable to use %s: its package.json names another package, %s; "
			  "report it to the registry",
		    from->spec, ret->package.name);
		return EXIT_INPUT;
	}
	if (from->version[0] != '\0' &&
	    strcmp(from->version, ret->package.version) != 0) {
		log_error("the registry sent %s %s in place of %s", from->name,
		    ret->package.version, from->version);
		return EXIT_INPUT;
	}
	return 0;
}

int
package_install(const struct package_source *from, const struct package_options *options,
    struct installed *ret)
{
	static struct installer in; /* large */
	int r, status = npm_find(&in.npm);

	if (status != 0)
		return status;
	in.package = from->spec;
	in.dir = from->dir[0] != '\0' ? from->dir : NULL;
	in.scope = options->scope;
	in.user = CELL_USER;
	r = staging_new(CELL_USER, CELL_USER, &in.staging);
	if (r < 0) {
		log_error("unable to create a directory in %s: %s",
		    store_staging_dir() == NULL ? paths_why() : store_staging_dir(),
		    strerror(-r));
		status = EXIT_CONFIG;
	} else {
		printf("Installing %s, in a cell that reaches %s only ...\n", from->spec,
		    in.npm.url.target);
		(void)fflush(stdout); /* before it waits */
		status = installer_run(&in);
	}
	if (status == 0)
		status = check_signatures(&in, options->require_signatures);
	if (status == 0 && in.dir == NULL)
		publisher_tell(&in, from->name);
	if (status == 0 && options->scripts)
		status = installer_scripts(&in);
	if (status == 0)
		status = keep(from, &in, ret);
	if (status == 0)
		tell_scripts(ret->path, options->scripts);
	staging_free(&in.staging);
	return status;
}

int
package_argv(
    struct installed *done, struct package_source *from, char *ret[PACKAGE_WORDS_MAX])
{
	static char node[] = "node";
	static struct script_line line; /* ret has its words */
	char *program = done->package.program;
	bool elf = script_is_elf(program), lined = script_line(program, &line) == 0;
	bool own = from->node[0] != '\0' &&
		   (!lined || strcmp(script_base(line.word[0]), "node") == 0);
	int n = 0;

	/* npm makes programs executable; one without a first line is node's */
	if (!elf && (own || !lined || access(program, X_OK) < 0))
		ret[n++] = own ? from->node : lined ? line.word[0] : node;
	for (int i = 1; n > 0 && lined && i < line.n; i++)
		ret[n++] = line.word[i];
	ret[n++] = program;
	return n;
}
