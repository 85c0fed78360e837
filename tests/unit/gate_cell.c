/*
 * A leash of nothing but its exec gate (gate_cell.h), with a recorder that
 * only remembers.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "leash/exec/private.h"
#include "leash/scrub/foreign.h"
#include "leash/vault/vault.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"
#include "shim/base/loop.h"
#include "tests/unit/child.h"
#include "tests/unit/gate_cell.h"

#define MARK_FD  9
#define NOBODY   65534
#define ROWS_MAX 32

/* ---- a policy by hand ---------------------------------------------------- */

static char strings[8192];
static struct sealed_image images[ROWS_MAX];
static struct sealed_exec execs[ROWS_MAX];
static struct sealed_arg args[ROWS_MAX * 4];
static struct sealed_ref files[1];
static struct sealed_ref refs[ROWS_MAX];
static struct sealed_server server;
static struct policy policy = {
    .strings = strings,
    .image = images,
    .exec = execs,
    .arg = args,
    .file = files,
    .ref = refs,
    .server = &server,
};

static struct sealed_ref
str_len(const char *text, size_t len)
{
	struct sealed_ref ref = {.off = (uint32_t)policy.strings_len, (uint32_t)len};

	memcpy(strings + ref.off, text, len);
	policy.strings_len += len + 1;
	return ref;
}

uint32_t
cell_image(const char *path, const char *real)
{
	uint32_t row = server.images.n++;

	images[row] = (struct sealed_image){
	    .path = str_len(path, strlen(path)), .real = str_len(real, strlen(real))};
	policy.row_n[SEALED_IMAGES] = server.images.n;
	return row;
}

static struct sealed_range
words(const char *text)
{
	struct sealed_range range = {.first = policy.row_n[SEALED_ARGS]};

	while (*text) {
		size_t n = strcspn(text, " ");
		struct sealed_arg *a = &args[policy.row_n[SEALED_ARGS]++];

		*a = (struct sealed_arg){.text = str_len(text, n), .kind = ARG_LITERAL};
		if (n == 1 && text[0] == '*')
			a->kind = ARG_ANY;
		if (n == 2 && memcmp(text, "**", 2) == 0)
			a->kind = ARG_REST;
		range.n++;
		text += n + strspn(text + n, " ");
	}
	return range;
}

void
cell_grant(uint32_t asked, uint32_t mapped, enum sealed_verdict verdict, const char *argv,
    const char *prefix)
{
	struct sealed_exec *e = &execs[server.execs.n++];

	*e = (struct sealed_exec){.asked = asked,
	    .mapped = mapped,
	    .verdict = verdict,
	    .exception = SEALED_NONE,
	    .at = {.file = 0, .line = server.execs.n},
	    .args = words(argv),
	    .prefix = words(prefix)};
	policy.row_n[SEALED_EXECS] = server.execs.n;
}

void
cell_where(const char *from, const char *in)
{
	struct sealed_exec *e = &execs[server.execs.n - 1];

	if (from) {
		e->from =
		    (struct sealed_range){.first = policy.row_n[SEALED_REFS], .n = 1};
		refs[policy.row_n[SEALED_REFS]++] = str_len(from, strlen(from));
	}
	if (in)
		e->in = str_len(in, strlen(in));
}

void
cell_pin(uint32_t image, bool right)
{
	int fd = open(policy_str(&policy, images[image].real), O_RDONLY | O_CLOEXEC);

	if (fd < 0 || policy_digest_fd(fd, 64 << 20, images[image].sha256) != 0)
		exit(1);
	images[image].sha256[0] ^= right ? 0 : 1;
	close(fd);
}

/* ---- the folder ----------------------------------------------------------- */

static char dir[64];

const char *
cell_dir(void)
{
	return dir;
}

const char *
cell_path(const char *name)
{
	static char path[8][256];
	static unsigned int turn;
	char *p = path[turn++ % 8];

	snprintf(p, sizeof(path[0]), "%s/%s", dir, name);
	return p;
}

static void
copy(const char *name, const char *to)
{
	char from[512];
	ssize_t n = readlink("/proc/self/exe", from, sizeof(from) - 64);
	int in, out;

	from[n > 0 ? n : 0] = '\0';
	/* build/unit/gate and build/unit-san/gate -> build/attack/NAME */
	for (int i = 0; i < 2; i++)
		*strrchr(from, '/') = '\0';
	snprintf(from + strlen(from), 64, "/attack/%s", name);
	in = open(from, O_RDONLY | O_CLOEXEC);
	out = open(cell_path(to), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	if (in < 0 || out < 0 || sendfile(out, in, NULL, 64 << 20) <= 0) {
		fprintf(stderr, "unable to copy %s: %s\n", from, strerror(errno));
		exit(1);
	}
	close(in);
	close(out);
}

static void
script(const char *name)
{
	FILE *f = fopen(cell_path(name), "we");

	fprintf(f, "#!%s as-script\n", cell_path("mark1"));
	fclose(f);
	chmod(cell_path(name), 0755);
}

void
cell_setup(void)
{
	snprintf(dir, sizeof(dir), "/tmp/kennel-gate-XXXXXX");
	if (!mkdtemp(dir))
		exit(1);
	chmod(dir, 0755);
	copy("exec_mark", "mark1");
	copy("exec_mark", "mark2");
	copy("exec_mark", "mark3");
	copy("exec_mark", "copy");
	copy("exec_try", "try");
	copy("exec_race", "race");
	copy("exec_many", "many");
	copy("exec_mark", "pinned1");
	copy("exec_mark", "pinned2");
	copy("exec_mark", "pinned3");
	/* for uids of the cell to change: not in umask's hands */
	if (chmod(cell_path("pinned1"), 0777) || chmod(cell_path("pinned3"), 0777) ||
	    mkdir(cell_path("play"), 0777) || chmod(cell_path("play"), 0777) ||
	    mkdir(cell_path("in"), 0755) || mkdir(cell_path("in/below"), 0755) ||
	    mkdir(cell_path("inn"), 0755) || mkdir(cell_path("play/in"), 0777) ||
	    chmod(cell_path("play/in"), 0777) || chmod(cell_path("in"), 0777))
		exit(1);
	script("script1");
	script("script2");
	script("in/script1");
	copy("exec_mark", "dud");
	chmod(cell_path("dud"), 0644);
	if (symlink("mark1", cell_path("link1")) || symlink(".", cell_path("here")) ||
	    symlink("script1", cell_path("scriptlink")) ||
	    symlink("mark2", cell_path("link2")) ||
	    symlink("/proc/self/exe", cell_path("selflink")) ||
	    link(cell_path("mark1"), cell_path("hard1")) ||
	    link(cell_path("mark2"), cell_path("hard2")))
		exit(1);
	str_len("test.kennel", 11);
	files[0] = (struct sealed_ref){0, 11};
	policy.row_n[SEALED_FILES] = 1;
}

void
cell_teardown(void)
{
	static const char *const names[] = {"mark1", "mark2", "mark3", "copy", "try",
	    "race", "many", "script1", "script2", "in/script1", "here", "scriptlink",
	    "link1", "link2", "selflink", "hard1", "hard2", "dud", "marks", "pinned1",
	    "pinned2", "pinned3"};
	static const char *const folders[] = {
	    "in/gone", "in/below", "in", "inn", "play/in", "play/in.old", "play"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		unlink(cell_path(names[i]));
	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		rmdir(cell_path(folders[i]));
	rmdir(dir);
}

/* ---- a recorder that remembers -------------------------------------------- */

struct report {
	struct cell_result *result;
	int full, late, gone;
	double until; /* late until then; 0: for ever */
};

static double seconds(void);

static struct cell_record now;

void
event_begin(struct event *e, enum event_kind kind)
{
	e->kind = kind;
	memset(&now, 0, sizeof(now));
}

void
event_put_text(struct event *e, enum event_key key, const char *text)
{
	if (key == KEY_VERDICT)
		snprintf(now.verdict, sizeof(now.verdict), "%s", text);
	if (key == KEY_PROGRAM)
		snprintf(now.program, sizeof(now.program), "%.127s", text);
	if (key == KEY_REASON)
		snprintf(now.reason, sizeof(now.reason), "%s", text);
	if (key == KEY_RULE)
		snprintf(now.rule, sizeof(now.rule), "%s", text);
}

void
event_number(struct event *e, enum event_key key, uint64_t number)
{
}

void
event_digest(struct event *e, enum event_key key, const uint8_t digest[REPORT_DIGEST_LEN])
{
}

void
event_identity(struct event *e, const char *name, const uint8_t id[REPORT_DIGEST_LEN])
{
}

size_t
report_pending(const struct report *report)
{
	return 0;
}

bool
report_late(const struct report *r)
{
	bool late = r->late != 0 && (r->until == 0 || seconds() < r->until);

	r->result->late += late;
	return late;
}

int
report_fd(const struct report *r)
{
	return r->gone ? -1 : 0;
}

int
report_send(
    struct report *r, const struct event *e, enum event_class class, uint64_t *ret)
{
	if (r->result->record_n < CELL_RECORDS)
		r->result->record[r->result->record_n] = now;
	r->result->record_n++;
	return r->full ? -ENOBUFS : 0;
}

/* ---- the program's side --------------------------------------------------- */

static int
send_fd(int sock, int fd)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(int))];
	} u = {.h = {.cmsg_len = CMSG_LEN(sizeof(int)),
		   .cmsg_level = SOL_SOCKET,
		   .cmsg_type = SCM_RIGHTS}};
	char c = 0;
	struct iovec v = {&c, 1};
	struct msghdr m = {.msg_iov = &v,
	    .msg_iovlen = 1,
	    .msg_control = u.room,
	    .msg_controllen = sizeof(u.room)};

	memcpy(CMSG_DATA(&u.h), &fd, sizeof(fd));
	return sendmsg(sock, &m, 0) == 1 ? 0 : -errno;
}

static int
recv_fd(int sock)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(int))];
	} u;
	char c;
	int fd = -1;
	struct iovec v = {&c, 1};
	struct msghdr m = {.msg_iov = &v,
	    .msg_iovlen = 1,
	    .msg_control = u.room,
	    .msg_controllen = sizeof(u.room)};

	if (recvmsg(sock, &m, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&m))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return fd;
}

static void
program(int sock, int marks, const char *const *argv)
{
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 1, 0),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execveat, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {.len = 5, .filter = code};
	static char path[] = "PATH=/usr/bin:/bin";
	char *envp[] = {path, NULL};
	sigset_t none;
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(marks, MARK_FD);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
	    SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
	    &prog);
	if (fd < 0 || send_fd(sock, fd) < 0)
		_exit(90);
	close(fd);
	close(sock);
	execve(argv[0], (char **)argv, envp);
	_exit(91);
}

/* The leash's child: namespaces, then PID 1 inside. */
static pid_t
cell_fork(int sock, int marks, const char *const *argv)
{
	pid_t pid = test_fork(), one;
	int status;

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (unshare(CLONE_NEWUSER | CLONE_NEWPID) < 0)
		_exit(92);
	one = test_fork();
	if (one == 0)
		program(sock, marks, argv);
	close(sock);
	if (waitpid(one, &status, 0) < 0)
		_exit(93);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* ---- the leash's side ----------------------------------------------------- */

struct leash {
	const struct cell_try *how;
	struct cell_result *result;
	struct gate *gate;
	pid_t pid;
	int over;
};

/* ---- a person ------------------------------------------------------------- */

#define SAID_MAX 256

static struct {
	uint32_t number[SAID_MAX];
	enum gate_answer answer[SAID_MAX];
	size_t n;
} said;

static int
person_ask(void *arg, const struct gate_question *q)
{
	struct leash *l = arg;
	const char *words = foreign_list_str(q->words);
	const char *first = q->argc > 1 ? words + strlen(words) + 1 : "";
	struct cell_result *r = l->result;
	size_t n = q->words->bytes.len < sizeof(r->shown) ? q->words->bytes.len
							  : sizeof(r->shown);

	r->asked++;
	r->cut = q->cut;
	memcpy(r->digest[1], r->digest[0], 32);
	memcpy(r->digest[0], q->digest, 32);
	memcpy(r->shown, words, n);
	for (size_t i = 0; i + 1 < n; i++)
		if (r->shown[i] == '\0')
			r->shown[i] = ' ';
	if (l->how->answer == 0 || said.n == SAID_MAX)
		return 0;
	said.number[said.n] = q->number;
	said.answer[said.n++] =
	    strcmp(first, l->how->yes) == 0 &&
		    (l->how->in == NULL || strcmp(foreign_str(q->cwd), l->how->in) == 0)
		? l->how->answer
		: GATE_DENY;
	return 0;
}

static void
person_withdrawn(void *arg, uint32_t number)
{
	struct leash *l = arg;

	l->result->withdrawn++;
}

static void
person_refused(void *arg, const struct gate_refusal *r)
{
	struct leash *l = arg;

	l->result->refused++;
}

static const struct gate_person person = {person_ask, person_withdrawn, person_refused};

static void
person_answers(struct leash *l)
{
	while (said.n > 0) {
		said.n--;
		(void)gate_answer(
		    l->gate, said.number[said.n], said.answer[said.n], "a person");
	}
}

static void
reaped(void *arg, pid_t pid, int status)
{
	struct leash *l = arg;

	if (pid != l->pid)
		return;
	l->over = 1;
	l->result->status =
	    WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* What a gate without the exec stop would do: the control of every race. */
static void
notify_only(struct leash *l)
{
	struct gate *g = l->gate;
	struct seccomp_notif n = {0};
	struct verdict v = {0};

	if (ioctl(gate_fd(g), SECCOMP_IOCTL_NOTIF_RECV, &n) < 0)
		return;
	call_begin(g->call, &n);
	if (l->how->gate == CELL_NOTIFY)
		grant_judge(g, g->call, &v);
	(void)notify_reply(g, n.id, v.error);
	call_wipe(g->call);
}

static double
seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
loop(struct leash *l, int signals)
{
	double from = seconds(), end = from + (l->how->wait_s ? l->how->wait_s : 30);
	struct signalfd_siginfo info;
	int killed = 0;

	while (!l->over && seconds() < end) {
		struct pollfd p[2] = {
		    {.fd = gate_wants(l->gate) ? gate_fd(l->gate) : -1, .events = POLLIN},
		    {.fd = signals, .events = POLLIN}};
		int wait_ms = gate_wait_ms(l->gate);

		if (poll(p, 2, wait_ms < 0 ? 100 : wait_ms) < 0)
			break;
		if (!killed &&
		    ((l->how->kill_ms && seconds() - from > l->how->kill_ms / 1000.0) ||
			(l->how->kill_asked && l->result->asked > 0)))
			killed = kill(l->pid, SIGKILL) == 0;
		if (p[1].revents && read(signals, &info, sizeof(info)) > 0)
			gate_reap(l->gate, reaped, l);
		if (p[0].revents & POLLIN) {
			if (l->how->gate == CELL_GATED)
				gate_notified(l->gate, p[0].revents);
			else
				notify_only(l);
		} else if (p[0].revents) {
			poll(NULL, 0, 1);
		}
		person_answers(l);
		if (gate_wait_ms(l->gate) >= 0)
			gate_tick(l->gate);
	}
	l->result->hung = !l->over;
	l->result->seconds = seconds() - from;
}

static void
leash_main(const struct cell_try *how, struct cell_result *result, int marks)
{
	struct leash l = {.how = how, .result = result};
	struct report report = {.result = result,
	    .full = how->log_full,
	    .late = how->log_late,
	    .gone = how->log_gone,
	    .until = how->log_back_ms ? seconds() + how->log_back_ms / 1000.0 : 0};
	int sv[2], fd[ROWS_MAX], signals;
	struct env *env = NULL;
	sigset_t set;
	double until;

	if (getuid() == 0 && (setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
				 setresuid(NOBODY, NOBODY, NOBODY) < 0))
		_exit(80);
	prctl(PR_SET_DUMPABLE, 1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) < 0)
		_exit(81);
	l.pid = cell_fork(sv[1], marks, how->argv);
	close(sv[1]);
	for (uint32_t i = 0; i < server.images.n; i++)
		fd[i] = open(policy_str(&policy, images[i].real), O_PATH | O_CLOEXEC);
	if (env_new(&env) < 0 || env_plain(env, "PATH", "/usr/bin:/bin") < 0)
		_exit(82);
	struct gate_order order = {.policy = &policy,
	    .server = &server,
	    .image_fd = fd,
	    .image_n = server.images.n,
	    .notify_fd = recv_fd(sv[0]),
	    .env = env,
	    .report = &report,
	    .person = how->yes != NULL ? &person : NULL,
	    .person_arg = &l};
	if (how->scrubbed && scrub_new(&order.scrub) < 0)
		_exit(83);
	if (order.notify_fd < 0 || gate_new(&order, &l.gate) < 0)
		_exit(83);
	if (how->log_wait_ms != 0)
		l.gate->log_wait_ns = how->log_wait_ms * LOOP_MS;
	loop(&l, signals);
	if (!l.over)
		kill(l.pid, SIGKILL);
	for (until = seconds() + 2; gate_busy(l.gate) && seconds() < until;) {
		poll(NULL, 0, 5);
		gate_reap(l.gate, reaped, &l);
		gate_tick(l.gate);
	}
	result->busy = gate_busy(l.gate);
	result->counts = gate_counts(l.gate);
	gate_free(l.gate);
	scrub_free(order.scrub);
	env_free(env);
	_exit(0);
}

const char *
cell_run(const struct cell_try *how, struct cell_result *ret)
{
	static char text[CELL_MARKS];
	struct cell_result *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int marks = open(
	    cell_path("marks"), O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
	int status;
	ssize_t n;
	pid_t pid = test_fork();

	if (pid == 0)
		leash_main(how, shared, marks);
	waitpid(pid, &status, 0);
	*ret = *shared;
	munmap(shared, sizeof(*shared));
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		fprintf(stderr, "the leash ended with %x\n", (unsigned int)status);
		ret->hung = 2;
	}
	n = pread(marks, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	close(marks);
	return text;
}
