/*
 * Processes whose threads exec, fail to, exit, signal and are killed, all at
 * the same moment.
 *
 *	exec_many PROCESSES THREADS PROGRAM
 *
 * Status 0 when each of them came to an end; a process that is still there
 * after HANG_MS was hung by whoever answers its execs.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/array.h"

#define MARK_FD 9
#define HANG_MS 5000

static pthread_barrier_t start;
static char *program;
static unsigned int seed;

static void
nop(int sig)
{
	(void)sig;
}

static void
run(void)
{
	static char quiet[] = "quiet";
	char *argv[] = {strrchr(program, '/') + 1, quiet, NULL}, *envp[] = {NULL};

	execve(program, argv, envp);
}

/* Nothing there; there, but refused; allowed, but fails in the kernel. */
static void
fail(void)
{
	static char word[] = "dud", quiet[] = "quiet";
	char *argv[] = {word, quiet, NULL}, *envp[] = {NULL};
	char dud[300];

	snprintf(dud, sizeof(dud), "%.*s/dud", (int)(strrchr(program, '/') - program),
	    program);
	execve("/nope", argv, envp);
	execve(dud, argv, envp);
	execve("/etc/passwd", argv, envp);
	execve(dud, argv, envp);
	execve(dud, argv, envp);
	run();
}

static void
fork_and_run(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		run();
		_exit(0);
	}
	run();
}

static void
quit(void)
{
	_exit(0);
}

static void
quit_alone(void)
{
	pthread_exit(NULL);
}

static void
signal_self(void)
{
	kill(getpid(), SIGUSR1);
	run();
}

static void
stop_self(void)
{
	pid_t me = getpid(), pid = fork();

	/* Somebody must wake us again: more than once, because on a busy machine
	 * the first may come before we have stopped. */
	if (pid == 0) {
		for (int i = 0; i < HANG_MS && getppid() == me; i++) {
			usleep(1000);
			kill(me, SIGCONT);
		}
		_exit(0);
	}
	kill(me, SIGSTOP);
	run();
}

static void (*const deeds[])(void) = {
    run, run, run, fail, fail, quit, quit_alone, signal_self, fork_and_run, stop_self};

static void *
thread(void *arg)
{
	unsigned int s = seed * 31 + (unsigned int)(size_t)arg;

	pthread_barrier_wait(&start);
	for (volatile int i = rand_r(&s) % 3000; i > 0; i--)
		;
	deeds[rand_r(&s) % (ARRAY_LEN(deeds))]();
	return NULL;
}

static void
child(unsigned int threads)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGUSR1, nop);
	alarm(2); /* all threads may be through without an end of the process */
	pthread_barrier_init(&start, NULL, threads);
	for (size_t i = 1; i < threads; i++) {
		pthread_t t;

		pthread_create(&t, NULL, thread, (void *)i);
	}
	thread(NULL);
	run();
	_exit(0);
}

static long
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int
main(int argc, char **argv)
{
	int n, hung = 0, len;
	char line[80];

	if (argc != 4)
		return 2;
	n = atoi(argv[1]);
	program = argv[3];
	for (int i = 0; i < n; i++) {
		long from = now_ms();
		unsigned int s = (unsigned int)i * 7;
		int when = rand_r(&s) % 8, ticks = 0, status;
		pid_t pid;

		seed = (unsigned int)i + 1;
		pid = fork();
		if (pid == 0)
			child((unsigned int)atoi(argv[2]));
		while (waitpid(pid, &status, WNOHANG) == 0) {
			usleep(100);
			if (i % 5 == 0 && ticks++ == when)
				kill(pid, SIGKILL);
			if (now_ms() - from < HANG_MS)
				continue;
			hung++;
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			break;
		}
		while (waitpid(-1, &status, WNOHANG) > 0)
			; /* PID 1 has orphans */
	}
	len = snprintf(line, sizeof(line), "finished %d hung %d\n", n - hung, hung);
	return write(MARK_FD, line, (size_t)len) == len && hung == 0 ? 0 : 1;
}
