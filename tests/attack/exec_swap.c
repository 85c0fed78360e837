/*
 * The words, the file or the folder of an exec are changed while it is judged.
 *
 *	exec_swap SHAPE TRIES DIR WRITABLE [evenly]
 *
 * DIR/a/goal with the argument "good" and no variable but TZ is granted.
 * DIR/b/goal (another program) is too, with another argument: nothing but who
 * judges an exec stands before it.  What must not run says so twice, by status
 * 42 and by a byte on descriptor 9 (exec_goal.c); both are counted.
 *
 * One line comes out: tries, ran, won, marks, refused, killed, failed, and what
 * the kernel said to means that are not given to everybody.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/array.h"

#define MARK_FD   9
#define SWAP_FD   8
#define WON       42
#define REFUSED   113
#define FAILED    114
#define SPIN_MAX  8000
#define STALL_LEN (8u << 20)

/* One byte of each makes the difference, so that no half-written word is seen. */
struct words {
	volatile char path[400];
	volatile char arg[8];
	volatile char env[16];
	char *volatile argv[3];
	char *volatile envp[2];
	volatile int stop;
};

static struct words *w;
static char *base, *writable; /* DIR and WRITABLE */
static size_t letter;         /* of the path: where a and b differ */
static char link_path[2][400], evil_arg[] = "evil", good_arg[] = "good";
static int words_fd = -1, folder_fd[2], program_fd[2];
static const char *means = "none";

static void
spin(int n)
{
	for (volatile int i = 0; i < n; i++)
		;
}

static void
reset(void)
{
	letter = (size_t)snprintf((char *)w->path, sizeof(w->path), "%s/a/goal", base) -
		 sizeof("a/goal") + 1;
	strcpy((char *)w->arg, good_arg);
	strcpy((char *)w->env, "TZ=1");
	w->argv[0] = (char *)"goal";
	w->argv[1] = (char *)w->arg;
	w->argv[2] = NULL;
	w->envp[0] = (char *)w->env;
	w->envp[1] = NULL;
}

/* ---- what is changed ------------------------------------------------------- */

static void
set_path(int bad)
{
	w->path[letter] = bad ? 'b' : 'a';
}

static void
set_arg(int bad)
{
	w->arg[0] = bad ? 'b' : 'g';
}

static void
set_env(int bad)
{
	w->env[0] = bad ? 'E' : 'T';
}

static void
set_pointer(int bad)
{
	w->argv[1] = bad ? evil_arg : good_arg;
}

static void
set_memfd(int bad)
{
	if (pwrite(words_fd, bad ? "b" : "a", 1,
		(off_t)(offsetof(struct words, path) + letter)) != 1)
		means = strerrorname_np(errno);
}

static void
set_cwd(int bad)
{
	if (fchdir(folder_fd[bad]) < 0)
		means = strerrorname_np(errno);
}

static void
set_descriptor(int bad)
{
	if (dup2(program_fd[bad], SWAP_FD) < 0)
		means = strerrorname_np(errno);
}

/* Two names change places, in one step; which of them is bad no longer matters. */
static void
set_names(int bad)
{
	(void)bad;
	if (renameat2(AT_FDCWD, link_path[0], AT_FDCWD, link_path[1], RENAME_EXCHANGE) <
	    0)
		means = strerrorname_np(errno);
}

/* A fault on the page waits until its whole file has been emptied, and finds
 * zeros: the argument is there for who looks before. */
static void
set_hole(int bad)
{
	if (!bad) {
		if (fallocate(words_fd, 0, 0, STALL_LEN) < 0)
			means = strerrorname_np(errno);
		strcpy(w->argv[1], good_arg);
		spin(20 * SPIN_MAX);
	} else if (fallocate(words_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
		       STALL_LEN) < 0) {
		means = strerrorname_np(errno);
	}
}

static void
set_nothing(int bad) /* somebody outside does it */
{
	(void)bad;
}

/* ---- how it is started ------------------------------------------------------- */

static void
by_path(void)
{
	execve((char *)w->path, (char **)w->argv, (char **)w->envp);
}

static void
by_relative(void)
{
	execve("./goal", (char **)w->argv, (char **)w->envp);
}

static void
by_link(void)
{
	execve(link_path[0], (char **)w->argv, (char **)w->envp);
}

static void
by_descriptor(void)
{
	syscall(SYS_execveat, SWAP_FD, "", w->argv, w->envp, AT_EMPTY_PATH);
}

/* "self" is whoever walks there: the gate must see it as the caller would. */
static void
by_proc(void)
{
	execve("/proc/self/fd/8", (char **)w->argv, (char **)w->envp);
}

/* ---- what a shape needs ------------------------------------------------------ */

/* Descriptor of a file in memory of that length. */
static int
memory(size_t len)
{
	int fd = memfd_create("words", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, (off_t)len) < 0) {
		perror("memfd_create");
		exit(70);
	}
	return fd;
}

static void
ready_memfd(void)
{
	words_fd = memory(sizeof(*w));
	w = mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE, MAP_SHARED, words_fd, 0);
	reset();
}

/* Faults that a program of one's own answers would stall the kernel for as long
 * as one likes.  Both ways to them are tried, and what came of it is said. */
static void
ready_stall(void)
{
	static char said[120];
	int all = (int)syscall(SYS_userfaultfd, O_CLOEXEC), all_e = errno;
	int own = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	int own_e = errno, fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC), fuse_e = errno;

	words_fd = memory(STALL_LEN);
	w->argv[1] =
	    mmap(NULL, STALL_LEN, PROT_READ | PROT_WRITE, MAP_SHARED, words_fd, 0);
	strcpy(w->argv[1], good_arg);
	snprintf(said, sizeof(said), "userfaultfd:%s,of-user-mode:%s,fuse:%s",
	    all < 0 ? strerrorname_np(all_e) : "ok",
	    own < 0 ? strerrorname_np(own_e) : "ok",
	    fuse < 0 ? strerrorname_np(fuse_e) : "ok");
	means = said;
}

static void
link_names(void)
{
	for (int i = 0; i < 2; i++) {
		snprintf(link_path[i], sizeof(link_path[i]), "%s/swap-%d-%d", writable,
		    getpid(), i);
		(void)unlink(link_path[i]); /* there is none, most of the time */
	}
}

static void
copy(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	char b[65536];
	ssize_t n;

	while ((n = read(in, b, sizeof(b))) > 0) {
		if (write(out, b, (size_t)n) != n)
			break;
	}
	close(in);
	close(out);
}

static void
ready_links(int copied)
{
	char target[2][500];

	link_names();
	for (int i = 0; i < 2; i++) {
		snprintf(target[i], sizeof(target[i]), "%s/%s/goal", base, i ? "b" : "a");
		if (i && copied)
			copy(target[i], link_path[i]);
		else if (symlink(target[i], link_path[i]) < 0)
			means = strerrorname_np(errno);
	}
}

static void
ready_symlink(void)
{
	ready_links(0);
}

/* The granted program by its name, and a copy of the other one. */
static void
ready_copy(void)
{
	ready_links(1);
}

/* What is granted is the file that stands there when the cell is made: only then
 * may the one outside begin. */
static void
ready_outside(void)
{
	char ready[500];

	snprintf((char *)w->path, sizeof(w->path), "%s/s/goal", base);
	snprintf(ready, sizeof(ready), "%s/ready", writable);
	close(open(ready, O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
	while (access(ready, F_OK) == 0)
		usleep(1000);
}

static void
ready_folders(void)
{
	for (int i = 0; i < 2; i++) {
		char path[500];

		snprintf(path, sizeof(path), "%s/%s", base, i ? "b" : "a");
		folder_fd[i] = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		strcat(path, "/goal");
		program_fd[i] = open(path, O_PATH | O_CLOEXEC);
	}
	set_cwd(0);
	set_descriptor(0);
}

static void
ready_here(void)
{
	ready_folders();
	strcpy((char *)w->arg, "here");
}

/* ---- who changes it ---------------------------------------------------------- */

enum peer {
	SIBLING, /* a thread of the process that execs */
	VM,      /* a process with the same memory */
	FS,      /* a process with the same working folder, or a thread */
	OTHER,   /* another process; memory or names are shared */
	WRITER,  /* the parent, into the child's memory */
	NOBODY,  /* somebody outside */
};

static const struct shape {
	const char *name;
	enum peer peer;
	void (*ready)(void);
	void (*set)(int bad);
	void (*go)(void);
} shapes[] = {
    {"thread-path", SIBLING, NULL, set_path, by_path},
    {"thread-argv", SIBLING, NULL, set_arg, by_path},
    {"pointers", SIBLING, NULL, set_pointer, by_path},
    {"vm", VM, NULL, set_path, by_path},
    {"shared", OTHER, NULL, set_arg, by_path},
    {"memfd", OTHER, ready_memfd, set_memfd, by_path},
    {"writev", WRITER, NULL, set_arg, by_path},
    {"stall", OTHER, ready_stall, set_hole, by_path},
    {"symlink", OTHER, ready_symlink, set_names, by_link},
    {"copy", OTHER, ready_copy, set_names, by_link},
    {"file", NOBODY, ready_outside, set_nothing, by_path},
    {"cwd", FS, ready_folders, set_cwd, by_relative},
    {"cwd-in", FS, ready_here, set_cwd, by_path},
    {"descriptor", SIBLING, ready_folders, set_descriptor, by_descriptor},
    {"proc-fd", SIBLING, ready_folders, set_descriptor, by_proc},
    {"env", VM, NULL, set_env, by_path},
};

static const struct shape *shape;

static bool evenly;

/* There and back; who would rather judge than wait for a fresh thread's share of
 * the processor is let by: with the good words in place, or as often with the bad. */
static void
flip_once(unsigned int *seed)
{
	shape->set(1);
	spin(rand_r(seed) % SPIN_MAX);
	if (evenly && rand_r(seed) % 8 == 0)
		sched_yield();
	shape->set(0);
	spin(rand_r(seed) % SPIN_MAX);
	if (rand_r(seed) % 8 == 0)
		sched_yield();
}

static void *
flip(void *arg)
{
	unsigned int seed = (unsigned int)getpid();

	while (!w->stop)
		flip_once(&seed);
	return arg;
}

static int
flip_process(void *arg)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)flip(arg);
	_exit(0);
}

static _Noreturn void
go(void)
{
	shape->go();
	_exit(errno == EACCES ? REFUSED : FAILED);
}

static void
wait_a_moment(void)
{
	static unsigned int seed = 1;

	spin(rand_r(&seed) % (4 * SPIN_MAX));
}

static pid_t
start_sibling(void)
{
	pid_t pid = fork();
	pthread_t t;

	if (pid == 0) {
		(void)pthread_create(&t, NULL, flip, NULL); /* one race less */
		wait_a_moment();
		go();
	}
	wait_a_moment();
	return pid;
}

static pid_t
start_child(void)
{
	pid_t pid = fork();

	if (pid == 0)
		go();
	return pid;
}

static pid_t
start_vfork(void)
{
	pid_t pid;

	wait_a_moment();
	pid = vfork();
	if (pid == 0)
		go();
	return pid;
}

/* With CLONE_FS, where one is let have that: the peer is this process.  Else
 * threads have one working folder. */
static pid_t
start_fs(void)
{
	static unsigned int seed = 1;
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_FS | SIGCHLD, 0, 0, 0, 0);

	if (pid < 0) {
		means = strerrorname_np(errno);
		return start_sibling();
	}
	if (pid == 0)
		go();
	means = "ok";
	for (siginfo_t info = {0}; info.si_pid == 0;) {
		flip_once(&seed);
		if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
			break;
	}
	return pid;
}

static pid_t
start_writer(void)
{
	static unsigned int seed = 1;
	pid_t pid = start_child();
	char byte[2] = {'b', 'g'};
	siginfo_t info = {0};

	while (info.si_pid == 0) {
		for (int i = 0; i < 2; i++) {
			struct iovec from = {&byte[i], 1}, to = {(char *)w->arg, 1};

			if (process_vm_writev(pid, &from, 1, &to, 1, 0) >= 0)
				means = "ok";
			else if (errno != EFAULT && errno != ESRCH) /* it has exec'd */
				means = strerrorname_np(errno);
			spin(rand_r(&seed) % SPIN_MAX);
		}
		sched_yield();
		if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
			break;
	}
	return pid;
}

static pid_t (*const start[])(void) = {
    [SIBLING] = start_sibling,
    [VM] = start_vfork,
    [FS] = start_fs,
    [OTHER] = start_child,
    [WRITER] = start_writer,
    [NOBODY] = start_child,
};

/* The one that goes on through all tries; 0: there is none. */
static pid_t
start_peer(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	pid_t pid = 0;

	if (shape->peer == VM)
		pid =
		    clone(flip_process, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
	else if (shape->peer == OTHER && (pid = fork()) == 0)
		flip_process(NULL);
	if (pid < 0)
		means = strerrorname_np(errno);
	return pid;
}

/* ---- the count ----------------------------------------------------------------- */

static void
tally(int tries)
{
	int ran = 0, won = 0, refused = 0, killed = 0, failed = 0;
	struct stat st = {0};

	for (int i = 0; i < tries; i++) {
		int status = 0, code;
		pid_t pid = start[shape->peer]();

		if (pid < 0 || waitpid(pid, &status, 0) < 0) {
			failed++;
			continue;
		}
		code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
		ran += code == 0;
		won += code == WON;
		refused += code == REFUSED;
		killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
		failed += code == FAILED || (code < 0 && WTERMSIG(status) != SIGKILL);
	}
	(void)fstat(MARK_FD, &st);
	printf("tries=%d\nran=%d\nwon=%d\nmarks=%lld\nrefused=%d\nkilled=%d\nfailed=%d\n"
	       "means=%s\n",
	    tries, ran, won, (long long)st.st_size, refused, killed, failed, means);
}

/* What stands at DIR/s/goal is swapped for as long as standard input is open. */
static int
be_outside(void)
{
	unsigned int seed = 1;
	char ready[500], b;

	snprintf(ready, sizeof(ready), "%s/ready", writable);
	snprintf(link_path[0], sizeof(link_path[0]), "%s/s/goal", base);
	snprintf(link_path[1], sizeof(link_path[1]), "%s/s/other", base);
	(void)fcntl(0, F_SETFL, O_NONBLOCK); /* else it waits: no race */
	while (unlink(ready) < 0 && read(0, &b, 1) != 0)
		usleep(1000);
	while (read(0, &b, 1) != 0) {
		set_names(0);
		spin(rand_r(&seed) % (4 * SPIN_MAX));
	}
	return 0;
}

int
main(int argc, char **argv)
{
	pid_t peer;

	evenly = argc == 6 && strcmp(argv[5], "evenly") == 0;
	if (argc != 5 && !evenly)
		return 64;
	base = argv[3];
	writable = argv[4];
	if (strcmp(argv[1], "outside") == 0)
		return be_outside();
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
		if (strcmp(shapes[i].name, argv[1]) == 0)
			shape = &shapes[i];
	}
	if (!shape || dup2(memory(0), MARK_FD) < 0 ||
	    fcntl(MARK_FD, F_SETFL, O_APPEND) < 0)
		return 64;
	w = mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE,
	    (shape->peer == OTHER ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS, -1, 0);
	reset();
	if (shape->ready)
		shape->ready();
	peer = start_peer();
	tally(atoi(argv[2]));
	w->stop = 1;
	if (peer > 0) {
		(void)kill(peer, SIGKILL); /* our own child, not yet waited for */
		(void)waitpid(peer, NULL, 0);
	}
	for (int i = 0; i < 2 && link_path[i][0]; i++)
		(void)unlink(link_path[i]);
	return 0;
}
