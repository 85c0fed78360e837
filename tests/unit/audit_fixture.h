/*
 * A log of a test's own: its folders, writers for it, the recorder that serves
 * it, and the verifier's answer.  The test process adopts the recorders, so
 * that it can see and reap every one.
 */
#ifndef KENNEL_TESTS_UNIT_AUDIT_FIXTURE_H
#define KENNEL_TESTS_UNIT_AUDIT_FIXTURE_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "leash/audit/writer.h"
#include "supervisor/audit/audit.h"

#define WAIT_MS 10000

struct fixture {
	char root[64], log[96], run[96], db[128];
	char recorder[512], verify[512];
	struct audit_place place;
};

static inline void
pause_ms(unsigned int ms)
{
	struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};

	(void)nanosleep(&t, NULL);
}

static inline struct fixture *
fixture_new(void)
{
	struct fixture *f = calloc(1, sizeof(*f));
	char cwd[400];

	assert_non_null(f);
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	(void)snprintf(f->recorder, sizeof(f->recorder),
	    "%s/build/libexec/kennel/kennel-recorder", cwd);
	(void)snprintf(
	    f->verify, sizeof(f->verify), "%s/build/libexec/kennel/kennel-verify", cwd);
	(void)strcpy(f->root, "/tmp/kennel-audit-XXXXXX");
	assert_non_null(mkdtemp(f->root));
	(void)snprintf(f->log, sizeof(f->log), "%s/audit", f->root);
	(void)snprintf(f->run, sizeof(f->run), "%s/run", f->root);
	(void)snprintf(f->db, sizeof(f->db), "%s/audit.db", f->log);
	f->place = (struct audit_place){f->log, f->run, f->recorder};
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	return f;
}

/* Recorders that are children of this process: how many, and the last. */
static inline int
recorders(pid_t *ret_pid)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	int n = 0;

	assert_non_null(proc);
	while ((e = readdir(proc)) != NULL) {
		char path[300], line[256] = "", comm[64], state;
		int pid, parent, fd;

		if (e->d_name[0] < '0' || e->d_name[0] > '9')
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%s/stat", e->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (read(fd, line, sizeof(line) - 1) > 0 &&
		    sscanf(line, "%d (%63[^)]) %c %d", &pid, comm, &state, &parent) ==
			4 &&
		    parent == getpid() && state != 'Z' &&
		    strcmp(comm, "kennel-recorder") == 0) {
			n++;
			*ret_pid = pid;
		}
		close(fd);
	}
	closedir(proc);
	return n;
}

static inline void
reap_all(void)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

/* Until no recorder is left; false after ms. */
static inline bool
recorders_gone(unsigned int ms)
{
	pid_t pid;

	for (unsigned int i = 0; i < ms / 10; i++) {
		reap_all();
		if (recorders(&pid) == 0)
			return true;
		pause_ms(10);
	}
	return false;
}

static inline int
files_in(const char *path, const char *containing)
{
	DIR *dir = opendir(path);
	struct dirent *e;
	int n = 0;

	if (dir == NULL)
		return 0;
	while ((e = readdir(dir)) != NULL)
		n += e->d_name[0] != '.' && strstr(e->d_name, containing) != NULL;
	closedir(dir);
	return n;
}

static inline void
remove_folder(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *e;

	while (dir != NULL && (e = readdir(dir)) != NULL) {
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			(void)unlinkat(dirfd(dir), e->d_name, 0);
	}
	if (dir != NULL)
		closedir(dir);
	(void)rmdir(path);
}

static inline void
fixture_free(struct fixture *f)
{
	pid_t pid;

	while (recorders(&pid) > 0) {
		(void)kill(pid, SIGTERM);
		if (!recorders_gone(2000))
			(void)kill(pid, SIGKILL);
	}
	reap_all();
	remove_folder(f->log);
	remove_folder(f->run);
	(void)snprintf(f->log, sizeof(f->log), "%s/audit.kept", f->root);
	remove_folder(f->log);
	(void)rmdir(f->root);
	free(f);
}

/* As every writer does it: connect, greet, and once more when the recorder was
 * just leaving. */
static inline struct report *
writer_open(const struct fixture *f, const char *session)
{
	struct report *report = NULL;
	int sock, r = -EPIPE;

	for (int i = 0; r == -EPIPE && i < 100; i++) {
		r = audit_connect(&f->place, WAIT_MS, &sock);
		if (r == 0)
			r = report_open(sock, REPORT_LEASH, session, WAIT_MS, &report);
	}
	assert_int_equal(r, 0);
	return report;
}

static inline void
make_event(struct event *e, const char *server, uint64_t number)
{
	event_begin(e, EVENT_EXEC);
	event_text(e, KEY_SERVER, server);
	event_text(e, KEY_POLICY,
	    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08");
	event_text(e, KEY_VERDICT, number % 7 == 0 ? "deny" : "allow");
	event_text(e, KEY_RULE, "policy.kennel:12");
	event_text(e, KEY_PROGRAM, "/usr/bin/git");
	event_text(e, KEY_ARGV, "git");
	event_text(e, KEY_ARGV, "status \"quoted\" \xff\x01");
	event_number(e, KEY_PID, number);
}

static inline int
write_one(struct report *report, const char *server, enum event_class class)
{
	struct event e;
	uint64_t number;
	int r;

	make_event(&e, server, 1);
	r = report_send(report, &e, class, &number);
	return r < 0 || class == EVENT_FLOW ? r : report_wait(report, number, WAIT_MS);
}

/* kennel-verify --json and up to three words more: its status, and what it said. */
static inline int
verify_words(const struct fixture *f, const char *const word[3], const char *path,
    char *said, size_t said_cap)
{
	int out[2], status, n_args = 2;
	const char *args[7] = {"kennel-verify", "--json"};
	size_t len = 0;
	ssize_t n;
	pid_t child;

	for (int i = 0; i < 3 && word[i] != NULL; i++)
		args[n_args++] = word[i];
	args[n_args] = path;
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	child = fork();
	if (child == 0) {
		(void)dup2(out[1], STDOUT_FILENO);
		(void)execv(f->verify, (char *const *)(uintptr_t)args);
		_exit(99);
	}
	close(out[1]);
	while (
	    len < said_cap - 1 && (n = read(out[0], said + len, said_cap - 1 - len)) > 0)
		len += (size_t)n;
	said[len] = '\0';
	close(out[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static inline int
run_verify(const struct fixture *f, const char *path, char *said, size_t said_cap)
{
	return verify_words(f, (const char *const[3]){NULL}, path, said, said_cap);
}

static inline int
verify_with(const struct fixture *f, const char *option, const char *value,
    const char *path, char *said, size_t said_cap)
{
	return verify_words(
	    f, (const char *const[3]){option, value}, path, said, said_cap);
}

/* As if ten years had passed. */
static inline int
run_verify_old(const struct fixture *f, const char *path, char *said, size_t said_cap)
{
	char later[32];

	(void)snprintf(later, sizeof(later), "%lld", (long long)time(NULL) + 315360000);
	return verify_with(f, "--now", later, path, said, said_cap);
}

static inline int
verify_old_stopped(const struct fixture *f, const char *path, char *said, size_t said_cap)
{
	char later[32];

	(void)snprintf(later, sizeof(later), "%lld", (long long)time(NULL) + 315360000);
	return verify_words(
	    f, (const char *const[3]){"--stopped", "--now", later}, path, said, said_cap);
}

static inline void
assert_intact(const struct fixture *f)
{
	char said[1024];
	int status = run_verify(f, f->log, said, sizeof(said));

	if (status != 0)
		fail_msg("verify: %d %s", status, said);
}

/* The first number of a query on the database as it lies there. */
static inline long
ask_number(const char *db_path, const char *sql)
{
	sqlite3_stmt *s = NULL;
	sqlite3 *db = NULL;
	long n;

	assert_int_equal(sqlite3_open_v2(db_path, &db, SQLITE_OPEN_READWRITE, NULL), 0);
	(void)sqlite3_busy_timeout(db, 5000);
	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	n = (long)sqlite3_column_int64(s, 0);
	(void)sqlite3_finalize(s);
	(void)sqlite3_close(db);
	return n;
}

static inline long
sum_files(const struct fixture *f, const char *sql)
{
	DIR *dir = opendir(f->log);
	struct dirent *e;
	char path[512];
	long sum = 0;

	assert_non_null(dir);
	while ((e = readdir(dir)) != NULL) {
		size_t len = strlen(e->d_name);

		if (len < 3 || strcmp(e->d_name + len - 3, ".db") != 0)
			continue;
		(void)snprintf(path, sizeof(path), "%s/%.200s", f->log, e->d_name);
		sum += ask_number(path, sql);
	}
	closedir(dir);
	return sum;
}

/* The same over every file of the log, added up; again where the recorder has closed
 * a file meanwhile, which would be missed. */
static inline long
ask_files(const struct fixture *f, const char *sql)
{
	long sum;
	int closed;

	do {
		closed = files_in(f->log, "audit-");
		sum = sum_files(f, sql);
	} while (files_in(f->log, "audit-") != closed);
	return sum;
}

/* Before the first recorder. */
static inline void
configure(const struct fixture *f, const char *text)
{
	char path[160];
	FILE *out;

	(void)mkdir(f->log, 0700);
	(void)snprintf(path, sizeof(path), "%s/audit.conf", f->log);
	out = fopen(path, "w");
	assert_non_null(out);
	(void)fputs(text, out);
	assert_int_equal(fclose(out), 0);
}

#endif
