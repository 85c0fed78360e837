/*
 * kennel audit: the table of its verbs.  Queries are in supervisor/audit/query.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/log.h"
#include "supervisor/audit/audit_help.h"
#include "supervisor/audit/kept/kept_checkpoint.h"
#include "supervisor/audit/query/query.h"
#include "supervisor/audit/report/verbs.h"
#include "supervisor/audit/ship/ship.h"
#include "supervisor/base/pager.h"
#include "supervisor/base/paths.h"
#include "supervisor/cli/cli.h"

/* Runs a separate program; it gets the verb and all arguments after it. */
static int
run_program(const char *name, int argc, char **argv)
{
	const char *path = paths_libexec(name), *log = paths_audit_dir();
	char *give[64], kept[PATH_MAX];
	int n = 0, status;
	pid_t child;

	if (log == NULL || path == NULL || argc > 58 ||
	    (size_t)snprintf(kept, sizeof(kept), "%s" KEPT_DIR_TAIL, log) >=
		sizeof(kept)) {
		log_error("no home directory: set HOME or KENNEL_HOME");
		return ASK_FAILED;
	}
	give[n++] = (char *)name;
	/* pass the user's own log first; a later --log overrides it, because only the
	 * program itself knows which arguments are values of its options */
	give[n++] = (char *)"--log";
	give[n++] = (char *)log;
	give[n++] = (char *)"--kept";
	give[n++] = kept;
	for (int i = 1; i < argc; i++)
		give[n++] = argv[i];
	give[n] = NULL;
	child = fork(); /* syscalls: clone fork vfork */
	if (child == 0) {
		(void)execv(path, give); /* syscalls: execve */
		log_error("unable to run %s: %s", path, strerror(errno));
		_exit(ASK_FAILED);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0) { /* syscalls: wait4 */
		log_error("unable to run %s: %s", path, strerror(errno));
		return ASK_FAILED;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : ASK_FAILED;
}

static int
verify_main(int argc, char **argv)
{
	return run_program("kennel-verify", argc, argv);
}

/* All but the queries (supervisor/audit/query). */
static const struct {
	const char *name;
	audit_verb_fn *main;
} verbs[] = {
    {"certify", certify_main},
    {"export", export_main},
    {"find-secret", find_secret_main},
    {"pack", pack_main},
    {"payload", payload_main},
    {"policy-text", policy_text_main},
    {"prove", prove_main},
    {"prune", prune_main},
    {"prune-payloads", prune_payloads_main},
    {"prune-policies", prune_policies_main},
    {"report", page_main},
    {"rotate", rotate_main},
    {"ship", ship_main},
    {"tail", tail_main},
    {"tiles", tiles_main},
    {"unused", unused_main},
    {"verify", verify_main},
    {"verify-proof", verify_proof_main},
    {"witness", witness_main},
};

int
audit_main(int argc, char **argv)
{
	if (argc <= 0) {
		fprintf(stderr, "kennel audit: expected a command\n");
		help_list(&audit_help, stderr);
		return ASK_USAGE;
	}
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (strcmp(argv[0], verbs[i].name) == 0)
			return verbs[i].main(argc, argv);
	pager_start();
	return query_main(argc, argv, changes_diff);
}
