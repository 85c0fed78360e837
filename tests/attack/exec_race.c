/*
 * The words of an exec are rewritten while it is judged.
 *
 *	exec_race HOW TRIES GOOD EVIL
 *
 * GOOD with the argument "good" is granted, and nothing else.  GOOD and EVIL
 * are paths of one length.  HOW says what is rewritten and by whom.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct words {
	volatile char path[256];
	volatile char arg[8];
	volatile char env[16];
	volatile int stop;
};

static struct words *w;
static const char *good, *evil;
static char what;

static void
spin(int n)
{
	for (volatile int i = 0; i < n; i++)
		;
}

/* One byte makes the difference, so that no half-written word is seen. */
static void
set(int bad)
{
	size_t n = strlen(good);

	switch (what) {
	case 'p':
		for (size_t i = 0; i < n; i++) {
			if (good[i] != evil[i])
				w->path[i] = bad ? evil[i] : good[i];
		}
		break;
	case 'a':
		w->arg[0] = bad ? 'b' : 'g';
		break;
	case 'e':
		w->env[0] = bad ? 'E' : 'T';
		break;
	}
}

static void *
flip(void *arg)
{
	unsigned int seed = 1;

	while (!w->stop) {
		set(1);
		spin(rand_r(&seed) % 8000);
		set(0);
		spin(rand_r(&seed) % 8000);
	}
	return arg;
}

static void
go(void)
{
	char *argv[] = {(char *)(strrchr(good, '/') + 1), (char *)w->arg, NULL};
	char *envp[] = {(char *)w->env, NULL};

	execve((char *)w->path, argv, envp);
}

static void
reset(void)
{
	strcpy((char *)w->path, good);
	strcpy((char *)w->arg, "good");
	strcpy((char *)w->env, "TZ=1"); /* benign; "EZ=1" is not */
}

/* Sibling thread: the process that execs also rewrites. */
static void
by_thread(void)
{
	pid_t pid = fork();
	pthread_t t;

	if (pid == 0) {
		reset();
		pthread_create(&t, NULL, flip, NULL);
		go();
		_exit(1);
	}
	waitpid(pid, NULL, 0);
}

/* Another process with the same memory (CLONE_VM), or one shared page. */
static void
by_vfork(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		go();
		_exit(1);
	}
	waitpid(pid, NULL, 0);
}

static void
by_fork(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		go();
		_exit(1);
	}
	waitpid(pid, NULL, 0);
}

int
main(int argc, char **argv)
{
	void (*once)(void);
	pid_t peer = 0;
	pthread_t t;
	int tries;

	if (argc != 5)
		return 2;
	tries = atoi(argv[2]);
	good = argv[3];
	evil = argv[4];
	what = argv[1][0]; /* path arg env */
	w = mmap(
	    NULL, sizeof(*w), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	reset();
	if (strstr(argv[1], "thread")) {
		w = mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		once = by_thread;
	} else if (strstr(argv[1], "peer")) {
		pthread_create(&t, NULL, flip, NULL);
		once = by_vfork;
	} else {
		peer = fork();
		if (peer == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			flip(NULL);
			_exit(0);
		}
		once = by_fork;
	}
	for (int i = 0; i < tries; i++)
		once();
	w->stop = 1;
	if (peer)
		waitpid(peer, NULL, 0);
	return 0;
}
