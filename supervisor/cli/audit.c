/*
 * kennel audit: the table of its verbs.  Queries are in supervisor/audit/query.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/log.h"
#include "supervisor/audit/query/query.h"
#include "supervisor/audit/report/verbs.h"
#include "supervisor/audit/ship/ship.h"
#include "supervisor/base/paths.h"
#include "supervisor/cli/cli.h"

/* Runs a separate program; it gets the verb and all arguments after it. */
static int
run_program(const char *name, int argc, char **argv)
{
	const char *path = paths_libexec(name), *log = paths_audit_dir();
	char *give[64];
	int n = 0, status;
	pid_t child;

	if (log == NULL || path == NULL || argc > 60) {
		log_error("no home directory: set HOME or KENNEL_HOME");
		return ASK_FAILED;
	}
	give[n++] = (char *)name;
	/* pass the user's own log first; a later --log overrides it, because only the
	 * program itself knows which arguments are values of its options */
	give[n++] = (char *)"--log";
	give[n++] = (char *)log;
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

static audit_verb_fn help_main;

/* All but the queries (supervisor/audit/query), in the order of the help. */
static const struct {
	const char *name, *words, *what;
	audit_verb_fn *main;
} verbs[] = {
    {"verify", "[--json] [LOG]", "verify the whole log", verify_main},
    {"prove", "[-o FILE] IDX", "print the proof of one record", prove_main},
    {"verify-proof", "--key VKEY FILE", "verify one record's proof", verify_proof_main},
    {"tiles", "DIR", "export the Merkle tree as tlog-tiles files", tiles_main},
    {"prune", "--before TIME|IDX", "remove old files of the log", prune_main},
    {"certify", "[-o FILE]", "sign what kennel-verify found with the log's key",
	certify_main},
    {"rotate", "", "close the live file, to store it elsewhere", rotate_main},
    {"witness", "VERB", "let witnesses sign the current checkpoint", witness_main},
    {"export", "--format jsonl|csv|ocsf|cef", "export the records for other systems",
	export_main},
    {"report", "[--kind K] [-o FILE]", "write a self-contained HTML report", page_main},
    {"ship", "[--once] TO", "send the records to a collector, new ones as they come",
	ship_main},
    {"pack", "-o FILE SESSION", "write a session and its proofs to one file", pack_main},
    {"payload", "IDX", "print arguments or a result, if they were kept", payload_main},
    {"prune-payloads", "--to TIME", "remove arguments and results kept before TIME",
	prune_payloads_main},
    {"policy-text", "[-o FILE] ID|SHA256",
	"print a policy that was in force, if it was kept", policy_text_main},
    {"prune-policies", "--to TIME", "remove kept policies that were not used since TIME",
	prune_policies_main},
    {"tail", "[-f] [-n N]", "print the last records, new ones as they come", tail_main},
    {"unused", "SERVER", "grants that were never used", unused_main},
    {"find-secret", "[--stdin]", "find every use of a value (prompts without echo)",
	find_secret_main},
    {"help", "", "this list", help_main},
};

static int
help_main(int argc, char **argv)
{
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		printf("  kennel audit %-12s %-18s %s\n", verbs[i].name, verbs[i].words,
		    verbs[i].what);
	query_help(stdout);
	return 0;
}

int
audit_main(int argc, char **argv)
{
	for (size_t i = 0; argc > 0 && i < ARRAY_LEN(verbs); i++) {
		if (strcmp(argv[0], verbs[i].name) == 0)
			return verbs[i].main(argc, argv);
	}
	return query_main(argc, argv);
}
