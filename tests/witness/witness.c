/* The witness's table of verbs (witness.h). */
#include "shim/base/array.h"
#include "tests/witness/witness.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void
witness_say(const char *name, int r)
{
	const char *e = r == 0 ? "ok" : strerrorname_np(-r);

	printf("%s=%s\n", name, e != NULL ? e : "?");
	fflush(stdout);
}

void
witness_try(const char *name, int (*attempt)(void))
{
	int pipe_fd[2], status = 0, r = 0;

	fflush(stdout);
	if (pipe(pipe_fd) < 0) {
		printf("%s=no pipe\n", name);
		return;
	}
	pid_t pid = fork();
	if (pid == 0) {
		close(pipe_fd[0]);
		r = attempt();
		(void)!write(pipe_fd[1], &r, sizeof(r));
		_exit(0);
	}
	close(pipe_fd[1]);
	ssize_t got = read(pipe_fd[0], &r, sizeof(r));
	close(pipe_fd[0]);
	(void)waitpid(pid, &status, 0); /* our own child */
	if (got == (ssize_t)sizeof(r))
		witness_say(name, r);
	else if (WIFSIGNALED(status))
		printf("%s=killed SIG%s\n", name, sigabbrev_np(WTERMSIG(status)));
	else
		printf("%s=exit %d\n", name, WEXITSTATUS(status));
	fflush(stdout);
}

void
witness_try_all(const struct probe *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		witness_try(p[i].name, p[i].attempt);
}

int
verb_exit(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[0], "signal") == 0)
		(void)raise(atoi(argv[1]));
	return argc > 0 ? atoi(argv[0]) : 0;
}

static const struct {
	const char *name;
	verb_fn *act;
	const char *usage;
	bool risky; /* never unconfined as root */
} verbs[] = {
    {"ids", verb_ids, "who and where this process is"},
    {"mounts", verb_mounts, "every mount; which can be written and executed"},
    {"fds", verb_fds, "open descriptors"},
    {"limits", verb_limits, "resource limits"},
    {"env", verb_env, "the environment"},
    {"argv", verb_argv, "the arguments"},
    {"read", verb_read, "PATH... open for reading"},
    {"list", verb_list, "PATH names in a folder"},
    {"write", verb_write, "PATH... open for writing"},
    {"create", verb_create, "PATH... make a file"},
    {"stat", verb_stat, "PATH..."},
    {"change", verb_change, "PATH chmod, truncate, rename, link, utimes", true},
    {"kernel", verb_kernel, "system calls nobody in here needs", true},
    {"tty", verb_tty, "terminal tricks on descriptor 0"},
    {"space", verb_space, "namespaces, mounts", true},
    {"tasks", verb_tasks, "PID (default 1): its memory, its descriptors", true},
    {"signal", verb_signal, "PID...: may it be signalled"},
    {"core", verb_core, "FOLDER: die there with a core dump"},
    {"set_limits", verb_set_limits, "[PID]: set limits of this process, and of PID (1)"},
    {"sockets", verb_sockets, "by family"},
    {"tcp", verb_tcp, "ADDRESS PORT"},
    {"udp", verb_udp, "ADDRESS PORT"},
    {"unix", verb_unix, "PATH connect and send"},
    {"abstract", verb_abstract, "NAME connect"},
    {"run", verb_run, "PROG ARG... and say how it ended"},
    {"forms", verb_forms, "PROG: every way around an exec grant"},
    {"race", verb_race, "KIND N GOOD EVIL: swap what was judged"},
    {"flood", verb_flood, "SECONDS PROG that is refused: how often"},
    {"hoard", verb_hoard, "[MS]: all that the kernel counts by user", true},
    {"plant", verb_plant, "PATH TARGET: a symlink"},
    {"exit", verb_exit, "STATUS | signal N"},
};

/* Root of the machine itself: uid 0 of the first user namespace, whose number
 * is the same on every kernel (PROC_USER_INIT_INO). */
static bool
unconfined_root(void)
{
	char name[64] = "";

	if (geteuid() != 0)
		return false;
	return readlink("/proc/self/ns/user", name, sizeof(name) - 1) <= 0 ||
	       strcmp(name, "user:[4026531837]") == 0;
}

int
main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < ARRAY_LEN(verbs); i++)
		if (strcmp(argv[1], verbs[i].name) == 0) {
			if (verbs[i].risky && unconfined_root()) {
				printf("refused=unconfined root\n");
				return 70;
			}
			return verbs[i].act(argc - 2, argv + 2);
		}
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		printf("%-10s %s\n", verbs[i].name, verbs[i].usage);
	return 64;
}
