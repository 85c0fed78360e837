/*
 * kennel secret: the table of its verbs.
 *
 * Process: kennel, before it is anything else.  What shows metadata runs here;
 * what could meet a value is kennel-secret's, which is started with our terminal
 * and descriptors: no value passes through a process that is linked with MCP.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/log.h"
#include "supervisor/cli/cli.h"
#include "supervisor/cli/paths.h"
#include "supervisor/cli/secret.h"

#define ARGS_MAX 64 /* words behind "kennel secret" */

static const struct verb {
	const char *name;
	int (*main)(int argc, char **argv); /* NULL: kennel-secret's */
	const char *takes, *what;
} verbs[] = {
    {"list", secret_list_main,
	"[--json] [--all] [--contains TEXT] [--scope SCOPE] [--status WORD]",
	"what the manifest declares"},
    {"show", secret_show_main, "[--json] PATH",
	"all that is known about a secret, but its value"},
    {"validate", secret_validate_main, "[--json] [--strict]",
	"are the manifests in order?"},
    {"sources", secret_sources_main, "[--json] [PATH]", "where values come from"},
    {"catalog", secret_catalog_main, "list|show NAME|validate", "where tokens come from"},
    {"init", NULL, "", "a vault of one's own"},
    {"set", secret_put_main, "PATH", "a value, typed or from a descriptor"},
    {"rotate", secret_put_main, "PATH", "a new value in the place of an old one"},
    {"remove", NULL, "PATH", "out of the vault"},
    {"versions", NULL, "[PATH [--restore N]]",
	"the values of a path, by number and date"},
    {"grant", grant_main, "PATH --server NAME --policy FILE", "a server may have it"},
    {"grants", NULL, "", "who may have what"},
    {"revoke", NULL, "PATH [--server NAME]", "a grant is taken back"},
    {"unlock", NULL, "", "the vault is opened for a while"},
    {"lock", NULL, "", "and closed"},
    {"recover", NULL, "", "a new passphrase by the recovery phrase"},
    {"export-recovery", NULL, "", "a recovery phrase"},
};

static int
usage(FILE *to)
{
	fprintf(to, "usage: kennel secret VERB ...; none of them shows a value\n\n");
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		fprintf(to, "  kennel secret %s%s%s: %s\n", verbs[i].name,
		    verbs[i].takes[0] != '\0' ? " " : "", verbs[i].takes, verbs[i].what);
	return to == stdout ? 0 : EXIT_USAGE;
}

/* Where the vault and its keeper's socket are: it asks no one else. */
int
secret_places(void)
{
	const char *vault = paths_vault_dir(), *run = paths_run_dir();

	if (vault == NULL || run == NULL || setenv("KENNEL_VAULT_AT", vault, 1) < 0 ||
	    setenv("KENNEL_RUN_AT", run, 1) < 0) {
		fprintf(stderr, "kennel secret: there is no home folder\n");
		return EXIT_CONFIG;
	}
	return 0;
}

/* In the child. */
static void
become(const char *path, char **word)
{
	/* no value is typed for a parent that is gone; early: prctl execve */
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) == 0)
		(void)execv(path, word);
	fprintf(stderr, "kennel secret: unable to run %s: %s\n", path, strerror(errno));
	if (errno == ENOENT)
		fprintf(stderr, "kennel secret: this installation has no vault\n");
	_exit(EXIT_FAILED);
}

static int
start(const char *path, char **word)
{
	int status;
	pid_t child;

	(void)fflush(NULL); /* what is not written yet is ours alone */
	/* early: clone fork vfork wait4 */
	child = fork();
	if (child == 0)
		become(path, word);
	while (child > 0 && waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			child = -1;
	if (child < 0) {
		fprintf(stderr, "kennel secret: unable to run %s: %s\n", path,
		    strerror(errno));
		return EXIT_FAILED;
	}
	return exit_status(status);
}

int
secret_become(int argc, char **argv)
{
	char *word[ARGS_MAX + 2];
	const char *own = paths_libexec("kennel-secret");
	char path[PATH_MAX];
	int status;

	if (argc > ARGS_MAX) {
		fprintf(stderr, "kennel secret: more than %d words\n", ARGS_MAX);
		return EXIT_USAGE;
	}
	if (own == NULL || strlen(own) >= sizeof(path)) {
		fprintf(stderr, "kennel secret: where this program lies is not known\n");
		return EXIT_FAILED;
	}
	memcpy(path, own, strlen(own) + 1); /* the next one's, too */
	status = secret_places();
	if (status == 0)
		status = vault_log_begin(argc, argv);
	if (status != 0)
		return status;
	word[0] = (char *)"kennel-secret";
	for (int i = 0; i < argc; i++)
		word[i + 1] = argv[i];
	word[argc + 1] = NULL;
	status = start(path, word);
	vault_log_end(status);
	return status;
}

int
secret_main(int argc, char **argv)
{
	const char *verb = argc > 0 ? argv[0] : "";

	if (strcmp(verb, "help") == 0 || strcmp(verb, "--help") == 0)
		return usage(stdout);
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(verb, verbs[i].name) != 0)
			continue;
		return verbs[i].main != NULL ? verbs[i].main(argc, argv)
					     : secret_become(argc, argv);
	}
	if (argc > 0) /* not shown: it may be a value in the wrong place */
		fprintf(stderr, "kennel secret: there is no such verb\n");
	return usage(stderr);
}
