/*
 * "kennel audit witness": who signs what a log has come to signs one history of it,
 * and a verifier that knows the witness wants its word.  A log and its fork, whose
 * records after the fork differ: the same keys signed both.  (K-10, MCP-ATTACKS 49)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "shim/base/array.h"
#include "supervisor/audit/log/merkle_read.h"
#include "supervisor/audit/report/verbs.h"
#include "tests/unit/audit_forge.h"
#include "tests/unit/child.h"

#define NAME "witness.example/1"

static struct fixture *log_;
static char vkey[NOTE_VKEY_MAX], mine[NOTE_VKEY_MAX]; /* the log's, the witness's */
static char key[128], state[128];
static char out[REPORT_TEXT_MAX * 8], err[2048];

/* ---- running it ------------------------------------------------------------------ */

static void
slurp(const char *path, char *to, size_t cap)
{
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	to[fread(to, 1, cap - 1, f)] = '\0';
	(void)fclose(f);
}

static void
put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	(void)fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

/* Its exit status; what it printed is in out, and in err. */
static int
witness(const char *in, const char *const *words)
{
	char from[128], to[128], said[128];
	char *argv[16] = {(char *)(uintptr_t) "witness"};
	int argc = 1, status;
	pid_t child;

	(void)snprintf(from, sizeof(from), "%s/in", log_->root);
	(void)snprintf(to, sizeof(to), "%s/out", log_->root);
	(void)snprintf(said, sizeof(said), "%s/err", log_->root);
	put(from, in);
	while (words[argc - 1] != NULL) {
		argv[argc] = (char *)(uintptr_t)words[argc - 1];
		argc++;
	}
	(void)fflush(NULL);
	child = test_fork();
	if (child == 0) {
		if (freopen(from, "r", stdin) == NULL ||
		    freopen(to, "w", stdout) == NULL ||
		    freopen(said, "w", stderr) == NULL)
			_exit(99);
		status = witness_main(argc, argv);
		(void)fflush(NULL);
		_exit(status);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	slurp(to, out, sizeof(out));
	slurp(said, err, sizeof(err));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
#define WITNESS(in, ...) witness(in, (const char *const[]){__VA_ARGS__, NULL})
#define SIGN(in) \
	WITNESS(in, "sign", "--key", key, "--name", NAME, "--state", state, "--log", vkey)

/* Whose log "request" and "add" mean. */
static void
home_is(const struct fixture *f)
{
	assert_int_equal(setenv("KENNEL_HOME", f->root, 1), 0);
}

/* The request of a log from a size on, and its own size. */
static uint64_t
request(const char *old, char text[sizeof(out)])
{
	const char *at;

	assert_int_equal(WITNESS("", "request", "--old", old), 0);
	(void)snprintf(text, sizeof(out), "%s", out);
	at = strstr(text, "\n\n");
	assert_non_null(at);
	at = strchr(at + 2, '\n'); /* behind the origin */
	return strtoull(at + 1, NULL, 10);
}

/* It would leave by itself, a second later. */
static void
end_recorder(void)
{
	pid_t pid;

	if (recorders(&pid) > 0)
		assert_int_equal(kill(pid, SIGTERM), 0);
	assert_true(recorders_gone(5000));
}

static void
write_some(const struct fixture *f, const char *server, int n)
{
	struct report *report = writer_open(f, "s");

	for (int i = 0; i < n; i++)
		assert_int_equal(write_one(report, server, EVENT_FLOW), 0);
	assert_int_equal(write_one(report, server, EVENT_GATE), 0);
	report_free(report);
	end_recorder();
}

static int
make_log(void **state_)
{
	char path[160];

	(void)state_;
	log_ = fixture_new();
	home_is(log_);
	write_some(log_, "github", 300);
	(void)snprintf(path, sizeof(path), "%s/origin.vkey", log_->log);
	slurp(path, vkey, sizeof(vkey));
	vkey[strcspn(vkey, "\n")] = '\0';
	(void)snprintf(key, sizeof(key), "%s/witness.key", log_->root);
	(void)snprintf(state, sizeof(state), "%s/witness.state", log_->root);
	return 0;
}

static int
drop_log(void **state_)
{
	static const char *const name[] = {
	    "audit", "in", "out", "err", "witness.key", "witness.state", "aside"};
	char path[160];

	(void)state_;
	for (size_t i = 0; i < ARRAY_LEN(name); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", log_->root, name[i]);
		(void)unlink(path);
	}
	fixture_free(log_);
	return 0;
}

/* ---- the witness's key --------------------------------------------------------------- */

static void
test_key(void **state_)
{
	static const char *const bad[] = {"", "two words", "a+b", "a\nb"};
	struct stat st;
	struct vkey parsed;
	char other[128];

	(void)state_;
	(void)snprintf(other, sizeof(other), "%s/aside", log_->root);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_not_equal(
		    WITNESS("", "key", "--key", other, "--name", bad[i]), 0);
		assert_string_equal(out, "");
		(void)unlink(other);
	}
	assert_int_equal(WITNESS("", "key", "--key", key, "--name", NAME), 0);
	(void)snprintf(mine, sizeof(mine), "%s", out);
	mine[strcspn(mine, "\n")] = '\0';
	assert_int_equal(
	    vkey_parse((struct span){(const uint8_t *)mine, strlen(mine)}, &parsed), 0);
	assert_string_equal(parsed.name, NAME);
	assert_int_equal(parsed.type, NOTE_COSIGNATURE);
	assert_int_equal(stat(key, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	/* never over one that is there */
	assert_int_not_equal(WITNESS("", "key", "--key", key, "--name", NAME), 0);
	/* what it needs, it needs */
	assert_int_equal(WITNESS("", "key", "--key", other), 64);
	assert_int_equal(WITNESS("", "sign", "--key", key, "--name", NAME), 64);
	assert_int_equal(WITNESS("", "add"), 64);
	assert_int_equal(WITNESS("", "nothing"), 64);
	assert_int_equal(WITNESS("", "request", "--old", "-1"), 64);
}

/* ---- signed once, and on from there ---------------------------------------------------- */

static int
wants_witness(char *said, size_t cap)
{
	return verify_with(log_, "--witness", mine, log_->log, said, cap);
}

static void
test_signed(void **state_)
{
	static char first[sizeof(out)], next[sizeof(out)], line[sizeof(out)];
	char size[24], said[1024];
	uint64_t n, m;

	(void)state_;
	n = request("0", first);
	assert_int_equal(SIGN(first), 0);
	assert_int_equal(strncmp(out, "\xe2\x80\x94 " NAME " ", 4 + sizeof(NAME)), 0);
	(void)snprintf(line, sizeof(line), "%s", out);
	/* the control: nobody has told the log yet */
	assert_int_not_equal(wants_witness(said, sizeof(said)), 0);
	(void)snprintf(size, sizeof(size), "%llu", (unsigned long long)n);
	assert_int_equal(WITNESS(line, "add", "--size", size), 0);
	end_recorder();
	if (wants_witness(said, sizeof(said)) != 0)
		fail_msg("%s", said);
	/* what it signed it does not sign again as if it were new */
	assert_int_equal(SIGN(first), 1);
	assert_non_null(strstr(err, "not the one signed last"));
	assert_string_equal(out, "");
	m = request(size, next);
	assert_true(m > n);
	assert_int_equal(SIGN(next), 0);
	/* a request that skips what was signed */
	assert_int_equal(SIGN(next), 1);
	/* no cosignature at all */
	assert_int_not_equal(WITNESS("hello\n", "add", "--size", size), 0);
	assert_int_not_equal(WITNESS("", "add", "--size", size), 0);
	/* one that is put under another checkpoint than it signed */
	(void)snprintf(size, sizeof(size), "%llu", (unsigned long long)m);
	assert_int_equal(WITNESS(line, "add", "--size", size), 0);
	end_recorder();
	assert_int_not_equal(wants_witness(said, sizeof(said)), 0);
}

/* ---- what it does not sign ---------------------------------------------------------------- */

/* Every line of a request changed by a letter, and left out: nothing of it is
 * signed, and nothing is written down. */
static void
test_changed(void **state_)
{
	static char good[sizeof(out)], bad[sizeof(out)];
	char before[512], after[512], size[24];

	(void)state_;
	slurp(state, before, sizeof(before));
	(void)snprintf(size, sizeof(size), "%s", strchr(before, '\n') + 1);
	size[strcspn(size, "\n")] = '\0';
	write_some(log_, "github", 20);
	(void)request(size, good);
	for (const char *at = good; *at != '\0'; at = strchr(at, '\n') + 1) {
		size_t here = (size_t)(at - good), len = strcspn(at, "\n");

		/* the signature of the epoch's key is not what a witness knows */
		if (strncmp(at, "\xe2\x80\x94 ", 4) == 0 &&
		    strstr(at, "/epoch/") != NULL && strchr(at, '\n')[1] == '\0')
			continue;
		(void)snprintf(bad, sizeof(bad), "%s", good);
		if (len > 0)
			bad[here + len / 2] = bad[here + len / 2] == 'A' ? 'B' : 'A';
		else
			bad[here] = 'x';
		assert_int_not_equal(SIGN(bad), 0);
		assert_string_equal(out, "");
		(void)snprintf(bad, sizeof(bad), "%.*s%s", (int)here, good, at + len + 1);
		assert_int_not_equal(SIGN(bad), 0);
		assert_string_equal(out, "");
	}
	/* the right request, for another log; and no key */
	assert_int_equal(WITNESS(good, "sign", "--key", key, "--name", NAME, "--state",
			     state, "--log", mine),
	    1);
	assert_int_not_equal(WITNESS(good, "sign", "--key", "/nonexistent", "--name",
				 NAME, "--state", state, "--log", vkey),
	    0);
	/* what cannot be written down is not signed */
	assert_int_not_equal(WITNESS(good, "sign", "--key", key, "--name", NAME,
				 "--state", "/nonexistent/state", "--log", vkey),
	    0);
	assert_string_equal(out, "");
	slurp(state, after, sizeof(after));
	assert_string_equal(before, after);
	assert_int_equal(SIGN(good), 0); /* the control */
}

/* What was signed last is lost, or is nonsense: a person has to look. */
static void
test_state(void **state_)
{
	static char text[sizeof(out)];
	char before[512], size[24], aside[128];

	(void)state_;
	(void)snprintf(aside, sizeof(aside), "%s/aside", log_->root);
	slurp(state, before, sizeof(before));
	(void)snprintf(size, sizeof(size), "%s", strchr(before, '\n') + 1);
	size[strcspn(size, "\n")] = '\0';
	write_some(log_, "github", 5);
	(void)request(size, text);
	assert_int_equal(rename(state, aside), 0);
	assert_int_equal(SIGN(text), 1);
	assert_non_null(strstr(err, "no checkpoint of this log was signed before"));
	put(state, "nonsense\n");
	assert_int_not_equal(SIGN(text), 0);
	assert_string_equal(out, "");
	put(state, "");
	assert_int_not_equal(SIGN(text), 0);
	assert_string_equal(out, "");
	assert_int_equal(rename(aside, state), 0);
	assert_int_equal(SIGN(text), 0); /* the control */
}

/* The log and a copy of it go on apart: both are whole, both are signed by its own
 * keys, and the witness signs one. */
static void
test_two_histories(void **state_)
{
	static const char *const file[] = {"audit.db", "audit.key", "origin.key",
	    "origin.vkey", "audit.conf", "audit.reserve"};
	static char text[sizeof(out)];
	struct fixture *other = fixture_new();
	char before[512], size[24], from[160], to[160], said[1024];

	(void)state_;
	slurp(state, before, sizeof(before));
	assert_int_equal(mkdir(other->log, 0700), 0);
	for (size_t i = 0; i < ARRAY_LEN(file); i++) {
		(void)snprintf(from, sizeof(from), "%s/%s", log_->log, file[i]);
		(void)snprintf(to, sizeof(to), "%s/%s", other->log, file[i]);
		if (access(from, F_OK) < 0)
			continue;
		copy_file(from, to);
		assert_int_equal(chmod(to, 0600), 0);
	}
	write_some(log_, "github", 10);
	write_some(other, "evil", 40);
	/* nothing but a witness can tell */
	assert_int_equal(run_verify(log_, log_->log, said, sizeof(said)), 0);
	assert_int_equal(run_verify(other, other->log, said, sizeof(said)), 0);
	(void)snprintf(size, sizeof(size), "%s", strchr(before, '\n') + 1);
	size[strcspn(size, "\n")] = '\0';
	(void)request(size, text);
	assert_int_equal(SIGN(text), 0); /* the log goes on */
	slurp(state, before, sizeof(before));
	(void)snprintf(size, sizeof(size), "%s", strchr(before, '\n') + 1);
	size[strcspn(size, "\n")] = '\0';
	home_is(other);
	(void)request(size, text); /* its fork is longer than what was signed */
	home_is(log_);
	assert_int_equal(SIGN(text), 1);
	assert_non_null(strstr(err, "two histories"));
	assert_string_equal(out, "");
	(void)snprintf(to, sizeof(to), "%s/audit", other->root);
	(void)unlink(to);
	fixture_free(other);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_key),
	    cmocka_unit_test(test_signed),
	    cmocka_unit_test(test_changed),
	    cmocka_unit_test(test_state),
	    cmocka_unit_test(test_two_histories),
	};

	return cmocka_run_group_tests(tests, make_log, drop_log);
}
