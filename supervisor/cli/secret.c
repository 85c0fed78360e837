/*
 * kennel secret: the table of its verbs.
 *
 * Process: kennel. Verbs that show metadata run here. Verbs that could handle a value
 * run in kennel-secret, which is started with our terminal and descriptors, or in
 * kennel-form, which serves a page: no value passes through a process that is linked with MCP.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/cli/cli.h"
#include "supervisor/cli/secret.h"
#include "supervisor/help/help.h"
#include "supervisor/launch/launch.h"

#define ARGS_MAX        64 /* arguments after "kennel secret" */
#define DIALOG_ARGS_MAX 24

/* Signals that end a verb. kennel passes them on and ends after the program that it started,
 * so that the audit log has the end of what it says was asked. */
static const int ends[] = {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGALRM};
static struct {
	volatile pid_t child; /* 0: none */
	struct sigaction before[ARRAY_LEN(ends)];
	sigset_t mask;
} passing;

static const struct verb {
	const char *name;
	int (*main)(int argc, char **argv); /* NULL: runs in kennel-secret */
} verbs[] = {
    {"list", secret_list_main},
    {"ui", secret_ui_main},
    {"show", secret_show_main},
    {"validate", secret_validate_main},
    {"sources", secret_sources_main},
    {"catalog", secret_catalog_main},
    {"init", NULL},
    {"set", secret_put_main},
    {"rotate", secret_put_main},
    {"remove", NULL},
    {"versions", NULL},
    {"grant", grant_main},
    {"grants", secret_grants_main},
    {"revoke", secret_revoke_main},
    {"unlock", NULL},
    {"lock", NULL},
    {"confirm", NULL},
    {"key", NULL},
    {"form", secret_form_main},
    {"recover", NULL},
    {"export-recovery", NULL},
};

/* Passes the paths of the vault and of the keeper's socket, its only source for
 * them. */
int
secret_places(void)
{
	const char *vault = paths_vault_dir(), *run = paths_run_dir();

	if (vault == NULL || run == NULL || setenv("KENNEL_VAULT_AT", vault, 1) < 0 ||
	    setenv("KENNEL_RUN_AT", run, 1) < 0) {
		fprintf(stderr, "kennel secret: %s\n", paths_why());
		return EXIT_CONFIG;
	}
	return 0;
}

/* ---- the program that handles values -------------------------------------------------- */

static void
pass_on(int number)
{
	if (passing.child > 0) /* not reaped: still ours */
		(void)kill(passing.child, number == SIGALRM ? SIGTERM : number);
}

/* Holds these signals until there is a child. */
static void
passing_begin(void)
{
	const struct sigaction act = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
	sigset_t set;

	/* none of these fails: they are valid */
	(void)sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		(void)sigaddset(&set, ends[i]);
	(void)sigprocmask(SIG_BLOCK, &set, &passing.mask);
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		(void)sigaction(ends[i], NULL, &passing.before[i]);
		if (passing.before[i].sa_handler == SIG_DFL)
			(void)sigaction(ends[i], &act, NULL);
	}
}

/* Also in the child. */
static void
passing_end(void)
{
	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		(void)sigaction(ends[i], &passing.before[i], NULL);
	(void)sigprocmask(SIG_SETMASK, &passing.mask, NULL);
}

/* Runs in the child. */
static void
become(const char *path, char **word)
{
	passing_end();
	/*
	 * without its parent, the child must not prompt for a value;
	 * early: prctl execve
	 */
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) == 0)
		(void)execv(path, word);
	fprintf(stderr, "kennel secret: unable to run %s: %s\n", path, strerror(errno));
	if (errno == ENOENT)
		fprintf(stderr,
		    "kennel secret: this installation does not include the vault\n");
	_exit(EXIT_FAILED);
}

static int
start(const char *path, char **word)
{
	siginfo_t info;
	int status = 0;
	pid_t child;

	(void)fflush(NULL); /* unwritten output stays with the parent */
	/* early: clone fork vfork wait4 waitid */
	child = fork();
	if (child == 0)
		become(path, word);
	passing.child = child;
	(void)sigprocmask(SIG_SETMASK, &passing.mask, NULL);
	while (child > 0 && waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) < 0 &&
	       errno == EINTR)
		;
	passing.child = 0; /* before its number is free */
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
	const char *name =
	    argc > 0 && strcmp(argv[0], "form") == 0 ? "kennel-form" : "kennel-secret";
	const char *own = paths_libexec(name);
	char path[PATH_MAX];
	int status;

	if (argc > ARGS_MAX) {
		fprintf(stderr, "kennel secret: more than %d arguments\n", ARGS_MAX);
		return EXIT_USAGE;
	}
	if (own == NULL || strlen(own) >= sizeof(path)) {
		fprintf(stderr, "kennel secret: unable to find %s\n", name);
		return EXIT_FAILED;
	}
	memcpy(path, own, strlen(own) + 1); /* the next call overwrites it */
	status = secret_places();
	if (status != 0)
		return status;
	word[0] = (char *)(uintptr_t)name;
	for (int i = 0; i < argc; i++)
		word[i + 1] = argv[i];
	word[argc + 1] = NULL;
	passing_begin();
	status = vault_log_begin(argc, argv);
	if (status == 0) {
		status = start(path, word);
		vault_log_end(status);
	}
	passing_end();
	return status;
}

/* ---- a dialog ---------------------------------------------------------------------- */

/* kennel-secret for a dialog of `kennel approve here`: a pinentry that asks, or a
 * notification. What is typed there goes from kennel-secret to the keeper; kennel gets the
 * answer. */

/* Runs in the child. */
static void
dialog_become(const char *path, char **word, int out, const int text[2], pid_t parent)
{
	/* a dialog must not outlive the process that reads its answer */
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && getppid() == parent &&
	    dup2(out, STDOUT_FILENO) >= 0 && fd_cloexec(text[0], false) == 0 &&
	    (text[1] < 0 || fd_cloexec(text[1], false) == 0))
		(void)execv(path, word);
	fprintf(stderr, "kennel approve: unable to run %s: %s\n", path, strerror(errno));
	_exit(EXIT_FAILED);
}

/* The text is public: kennel has received it from a session. */
static int
open_text(const char *text, int *ret_fd)
{
	int r = fd_sealed("kennel-dialog", text, strlen(text), false, ret_fd);

	if (r == 0 && lseek(*ret_fd, 0, SEEK_SET) < 0) {
		r = -errno;
		fd_close(ret_fd);
	}
	return r;
}

int
secret_dialog_start(
    char *const *argv, const struct dialog_text *text, pid_t *ret_child, int *ret_answer)
{
	char *word[DIALOG_ARGS_MAX + 6], path[PATH_MAX], number[2][16];
	const char *own = paths_libexec("kennel-secret");
	int answer[2] = {-1, -1}, fd[2] = {-1, -1}, n = 0, r = 0;
	pid_t parent = getpid(), child = -1;

	if (own == NULL || strlen(own) >= sizeof(path) || secret_places() != 0)
		return -ENOENT;
	memcpy(path, own, strlen(own) + 1); /* the next call overwrites it */
	word[n++] = (char *)"kennel-secret";
	for (; *argv != NULL && n < DIALOG_ARGS_MAX; argv++)
		word[n++] = *argv;
	r = open_text(text->about, &fd[0]);
	if (r == 0 && text->grants != NULL)
		r = open_text(text->grants, &fd[1]);
	if (r == 0 && pipe2(answer, O_CLOEXEC) < 0)
		r = -errno;
	if (r < 0)
		goto out;
	for (int i = 0; i < 2 && fd[i] >= 0; i++) {
		(void)snprintf(number[i], sizeof(number[i]), "%d", fd[i]);
		word[n++] = (char *)(i == 0 ? "--text-fd" : "--grants-fd");
		word[n++] = number[i];
	}
	word[n] = NULL;
	(void)fflush(NULL); /* unwritten output stays with the parent */
	child = fork();
	if (child == 0)
		dialog_become(path, word, answer[1], fd, parent);
	r = child < 0 ? -errno : 0;
out:
	fd_close(&fd[0]);
	fd_close(&fd[1]);
	fd_close(&answer[1]);
	if (r < 0) {
		fd_close(&answer[0]);
		return r;
	}
	*ret_child = child;
	*ret_answer = answer[0];
	return 0;
}

/* ---- the verbs --------------------------------------------------------------------- */

/* Commands that would print a value, if there were one. */
static bool
is_printing(const char *verb)
{
	static const char *const word[] = {
	    "get", "print", "read", "cat", "dump", "export", "reveal"};

	for (size_t i = 0; i < ARRAY_LEN(word); i++)
		if (strcmp(verb, word[i]) == 0)
			return true;
	return false;
}

int
secret_main(int argc, char **argv)
{
	const char *verb = argc > 0 ? argv[0] : "";

	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		if (strcmp(verb, verbs[i].name) != 0)
			continue;
		return verbs[i].main != NULL ? verbs[i].main(argc, argv)
					     : secret_become(argc, argv);
	}
	if (is_printing(verb)) {
		fprintf(stderr,
		    "kennel secret: no command prints a value: `kennel secret show` "
		    "with the path prints its metadata, `kennel secret grant` gives the "
		    "value to a server\n");
		return EXIT_USAGE;
	}
	if (argc > 0)
		return help_unknown_verb(&secret_help, verb);
	fprintf(stderr, "kennel secret: expected a command\n");
	help_list(&secret_help, stderr);
	return EXIT_USAGE;
}

/* ---- the state of the vault ------------------------------------------------------- */

enum vault_state
vault_state_now(void)
{
	const char *dir = paths_vault_dir();
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/secrets.vault", dir != NULL ? dir : "");
	if (dir == NULL || access(path, F_OK) < 0)
		return VAULT_NONE;
	return person_vault_open() ? VAULT_OPEN : VAULT_LOCKED;
}

int
vault_keys_now(void)
{
	return person_keys();
}
