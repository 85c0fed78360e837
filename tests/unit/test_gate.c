/*
 * The exec gate, attacked by every way of starting a program that it must
 * refuse, with a control that shows each attempt works without it
 * (ESCAPES 58 to 65, 68, 69, 71, 85 to 88, 90, 92).  S4-19 S4-20 S4-43: judged before any process
 * of that program exists; what is not granted is denied and never runs.
 *
 * Not here: a CLONE_FS peer that moves the working directory after the stop;
 * the cell's filter refuses that flag, and there is no such filter here.
 */
#include <errno.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "shim/base/array.h"
#include "tests/unit/gate_cell.h"

#define WORDS 10

/* One attempt of exec_try; "@x" is the file x of the test's folder. */
struct attempt {
	const char *name;
	const char *word[WORDS];
	const char *gated;   /* what stands on the marks' first line */
	const char *open;    /* the same without a gate; NULL: not run */
	const char *verdict; /* of the last record; NULL: no record at all */
};

#define ERRNO(n)  ERRNO_(n)
#define ERRNO_(n) "errno " #n
#define NO_ENT    2
#define TOO_BIG   7
#define ACCES     13
#define NOT_DIR   20
#define FAULT     14
#define INVAL     22

static const struct attempt attempts[] = {
    /* what is granted works, and nothing else about it */
    {"granted", {"path", "@mark1", "good"}, "ran mark1 good", NULL, "allow"},
    {"granted_rest", {"argv0", "@mark1", "mark1", "any", "a", "", "b"},
	"ran mark1 any a  b", NULL, "allow"},
    {"granted_by_thread", {"thread", "@mark1", "good"}, "ran mark1 good", NULL, "allow"},
    {"granted_after_failing", {"after-failing", "@mark1", "good"}, "ran mark1 good", NULL,
	"allow"},
    {"granted_relative", {"relative", "@", "./mark1", "good"}, "ran mark1 good", NULL,
	"allow"},
    {"granted_below_fd", {"below-fd", "@", "mark1", "good"}, "ran mark1 good", NULL,
	"allow"},
    {"granted_not_dumpable", {"not-dumpable", "@mark1", "good"}, "ran mark1 good", NULL,
	"allow"},
    {"granted_without_environment", {"no-env", "@mark1", "good"}, "ran mark1 good", NULL,
	"allow"},
    {"granted_by_descriptor", {"descriptor", "@mark1", "mark1", "good"}, "ran mark1 good",
	NULL, "allow"},
    {"granted_by_link", {"argv0", "@link1", "mark1", "good"}, "ran mark1 good", NULL,
	"allow"},
    {"granted_by_hard_link", {"argv0", "@hard1", "mark1", "good"}, "ran hard1 good", NULL,
	"allow"},
    {"granted_by_proc_exe", {"proc-exe", "@try", "path", "@mark1", "good"},
	"ran mark1 good", NULL, "allow"},
    {"granted_by_proc_fd", {"proc-fd", "@mark1", "good"}, "ran mark1 good", NULL,
	"allow"},
    {"granted_by_path_descriptor", {"proc-path-fd", "@mark1", "good"}, "ran mark1 good",
	NULL, "allow"},
    {"granted_by_dev_fd", {"dev-fd", "@mark1", "good"}, "ran mark1 good", NULL, "allow"},
    {"attack_63_path_descriptor", {"proc-path-fd", "@mark2", "good"}, ERRNO(ACCES),
	"ran mark2 good", "deny"},
    {"attack_63_dev_fd", {"dev-fd", "@mark2", "good"}, ERRNO(ACCES), "ran mark2 good",
	"deny"},

    /* by whom, and where */
    {"from_its_caller", {"path", "@mark1", "called"}, "ran mark1 called", NULL, "allow"},
    {"from_another", {"path", "@mark1", "others"}, ERRNO(ACCES), "ran mark1 others",
	"deny"},
    {"in_its_folder", {"in", "@in", "@mark1", "placed"}, "ran mark1 placed at in", NULL,
	"allow"},
    {"in_below_it", {"in", "@in/below", "@mark1", "placed"}, "ran mark1 placed at below",
	NULL, "allow"},
    {"in_another", {"in", "@", "@mark1", "placed"}, ERRNO(ACCES), "ran mark1 placed",
	"deny"},
    {"in_one_that_begins_alike", {"in", "@inn", "@mark1", "placed"}, ERRNO(ACCES),
	"ran mark1 placed at inn", "deny"},
    {"attack_in_removed", {"in-removed", "@in", "@mark1", "placed"}, ERRNO(ACCES),
	"ran mark1 placed", "deny"},
    {"in_one_that_can_be_moved", {"in", "@play/in", "@mark1", "play"}, "ran mark1 play",
	NULL, "allow"},
    {"attack_in_swapped", {"in-swapped", "@play/in", "@mark1", "play"}, ERRNO(ACCES),
	NULL, "deny"},

    /* what a pinned file holds */
    {"pinned", {"path", "@pinned1", "good"}, "ran pinned1 good", NULL, "allow"},
    {"pinned_touched", {"touched", "@pinned1", "good"}, "ran pinned1 good", NULL,
	"allow"},
    {"attack_pinned_other_bytes", {"path", "@pinned2", "good"}, ERRNO(ACCES),
	"ran pinned2 good", "deny"},
    {"attack_pinned_rewritten", {"longer", "@pinned3", "good"}, ERRNO(ACCES), NULL,
	"deny"},
    {"folder_is_no_program", {"path", "/usr/bin"}, ERRNO(ACCES), NULL, "deny"},
    {"granted_script", {"path", "@script1", "one"}, "ran mark1 as-script @script1 one",
	NULL, "allow"},
    {"granted_script_relative", {"relative", "@", "./script1", "one"},
	"ran mark1 as-script ./script1 one", NULL, "allow"},
    {"granted_script_bare", {"relative", "@", "script1", "one"},
	"ran mark1 as-script script1 one", NULL, "allow"},
    {"attack_71_script_by_a_link_to_its_folder",
	{"relative", "@", "./here/script1", "one"}, ERRNO(ACCES),
	"ran mark1 as-script ./here/script1 one", "deny"},
    {"attack_71_script_by_a_link", {"relative", "@", "./scriptlink", "one"}, ERRNO(ACCES),
	"ran mark1 as-script ./scriptlink one", "deny"},
    {"attack_71_script_from_below", {"relative", "@in", "../script1", "one"},
	ERRNO(ACCES), "ran mark1 as-script ../script1 one", "deny"},
    {"attack_71_script_below_fd", {"below-fd", "@", "script1", "one"}, ERRNO(ACCES),
	"ran mark1 as-script /dev/fd", "deny"},
    {"attack_71_script_of_its_name", {"relative", "@in", "./script1", "one"},
	ERRNO(ACCES), "ran mark1 as-script ./script1 one", "deny"},
    {"missing_is_missing", {"path", "/nope/nope"}, ERRNO(NO_ENT), NULL, "absent"},
    {"missing_in_a_directory_of_programs", {"path", "/usr/bin/no-such-program"},
	ERRNO(NO_ENT), NULL, "absent"},
    {"missing_below_a_file", {"path", "@mark1/below"}, ERRNO(NOT_DIR), NULL, "absent"},
    {"attack_absent_by_dots", {"path", "/nope/../nope"}, ERRNO(NO_ENT), NULL, "deny"},
    {"attack_absent_by_slashes", {"path", "/nope//nope"}, ERRNO(NO_ENT), NULL, "deny"},

    {"S4_20_not_granted", {"path", "@mark2", "good"}, ERRNO(ACCES), "ran mark2 good",
	"deny"},
    {"S4_43_arguments_not_granted", {"path", "@mark1", "evil"}, ERRNO(ACCES),
	"ran mark1 evil", "deny"},
    {"S4_43_more_arguments", {"path", "@mark1", "good", "more"}, ERRNO(ACCES),
	"ran mark1 good more", "deny"},
    {"S4_43_fewer_arguments", {"path", "@mark1"}, ERRNO(ACCES), "ran mark1", "deny"},
    {"denied_by_a_line", {"path", "@mark1", "any", "never"}, ERRNO(ACCES),
	"ran mark1 any never", "deny"},
    {"asked_is_not_run", {"path", "@mark1", "ask"}, ERRNO(ACCES), "ran mark1 ask",
	"deny"},
    {"attack_60_memfd", {"memfd", "@mark2", "good"}, ERRNO(ACCES), "ran memfd:x", "deny"},
    {"attack_60_memfd_of_a_granted_file", {"memfd", "@mark1", "good"}, ERRNO(ACCES),
	"ran memfd:x", "deny"},
    {"attack_60_descriptor", {"empty-path", "@mark2", "good"}, ERRNO(ACCES),
	"ran mark2 good", "deny"},
    {"attack_61_loader",
	{"path", "/lib64/ld-linux-x86-64.so.2", "/bin/sh", "-c", "echo ran sh >&9"},
	ERRNO(ACCES), "ran sh", "deny"},
    {"attack_62_copy", {"argv0", "@copy", "mark1", "good"}, ERRNO(ACCES), "ran copy good",
	"deny"},
    {"attack_62_hard_link", {"argv0", "@hard2", "mark1", "good"}, ERRNO(ACCES),
	"ran hard2 good", "deny"},
    {"attack_63_symlink", {"argv0", "@link2", "mark1", "good"}, ERRNO(ACCES),
	"ran mark2 good", "deny"},
    {"attack_63_proc_exe", {"proc-exe", "@mark1", "good"}, ERRNO(ACCES), NULL, "deny"},
    {"attack_63_link_to_proc_exe", {"path", "@selflink", "x"}, ERRNO(ACCES), NULL,
	"deny"},
    {"attack_63_proc_root", {"argv0", "/proc/self/root/bin/sh", "mark1", "good"},
	ERRNO(ACCES), NULL, "deny"},
    {"attack_63_proc_fd", {"proc-fd", "@mark2", "good"}, ERRNO(ACCES), "ran mark2 good",
	"deny"},
    {"attack_63_nofollow", {"nofollow", "@link1", "good"}, "errno 40", NULL, "deny"},
    {"attack_64_interpreter", {"path", "/bin/sh", "-c", "echo ran sh >&9"}, ERRNO(ACCES),
	"ran sh", "deny"},
    {"attack_65_loader_variable", {"env", "@mark1", "LD_PRELOAD=/x", "good"},
	ERRNO(ACCES), "ran mark1 good", "deny"},
    {"attack_65_variable_changed", {"env", "@mark1", "PATH=/tmp", "good"}, ERRNO(ACCES),
	"ran mark1 good", "deny"},
    {"variable_benign", {"env", "@mark1", "TZ=UTC", "good"}, "ran mark1 good", NULL,
	"allow"},
    {"attack_68_argv0", {"argv0", "@mark1", "mark2", "good"}, ERRNO(ACCES),
	"ran mark1 good", "deny"},
    {"attack_69_argc_0", {"argc-0", "@mark1"}, ERRNO(ACCES), "ran mark1", "deny"},
    {"attack_69_argv_null", {"argv-null", "@mark1"}, ERRNO(ACCES), "ran mark1", "deny"},
    {"attack_71_script", {"path", "@script2", "one"}, ERRNO(ACCES), "ran mark1 as-script",
	"deny"},
    {"attack_87_path_unreadable", {"bad-path", "@mark1"}, ERRNO(FAULT), NULL, "deny"},
    {"attack_87_argv_unreadable", {"bad-argv", "@mark1"}, ERRNO(FAULT), NULL, "deny"},
    {"attack_87_string_unreadable", {"bad-string", "@mark1"}, ERRNO(FAULT), NULL, "deny"},
    {"attack_88_thread_for_process", {"thread", "@mark2", "good"}, ERRNO(ACCES),
	"ran mark2 good", "deny"},
    {"attack_90_too_many", {"too-many", "@mark1"}, ERRNO(TOO_BIG), NULL, "deny"},
    {"attack_90_too_long", {"too-long", "@mark1"}, ERRNO(TOO_BIG), NULL, "deny"},
    {"unknown_flags", {"flags", "@mark1", "good"}, ERRNO(INVAL), NULL, "deny"},
};

#define ATTEMPTS (ARRAY_LEN(attempts))

static void
expand(const char *in, char *out, size_t cap)
{
	const char *at = strstr(in, "@");

	if (at)
		snprintf(out, cap, "%.*s%s", (int)(at - in), in, cell_path(at + 1));
	else
		snprintf(out, cap, "%s", in);
}

static const char *
run_attempt(const struct attempt *a, enum cell_gate gate, struct cell_result *ret)
{
	static char word[WORDS][300];
	const char *argv[WORDS + 2] = {cell_path("try")};
	struct cell_try how = {.gate = gate, .argv = argv};

	for (size_t i = 0; i < WORDS && a->word[i]; i++) {
		expand(a->word[i], word[i], sizeof(word[i]));
		argv[i + 1] = word[i];
	}
	return cell_run(&how, ret);
}

static void
assert_starts(const char *text, const char *want)
{
	if (strncmp(text, want, strlen(want)) != 0)
		fail_msg("\"%s\" and not \"%s\"", text, want);
}

static void
attempt_test(void **state)
{
	const struct attempt *a = *state;
	struct cell_result r;
	char want[300];
	const char *marks;

	if (a->open) {
		marks = run_attempt(a, CELL_OPEN, &r);
		assert_starts(marks, a->open);
	}
	marks = run_attempt(a, CELL_GATED, &r);
	assert_int_equal(r.hung, 0);
	assert_int_equal(r.busy, 0);
	assert_int_equal(r.counts.killed, 0);
	if (!a->gated)
		return;
	expand(a->gated, want, sizeof(want));
	strcat(want, "\n");
	assert_string_equal(marks, want);
	assert_string_equal(r.record[r.record_n - 1].verdict, a->verdict);
	/* The attempt's own record, and the one of exec_try; nothing of a path
	 * that leads nowhere. */
	if (strcmp(a->verdict, "allow") != 0)
		assert_int_equal(r.record_n, 2);
}

/* ---- races ---------------------------------------------------------------- */

struct race {
	const char *name;
	const char *how;
	const char *tries;
	const char *control_tries;
	const char *evil; /* the mark of a win */
};

/* ESCAPES 92: what the notification says lets nothing run; what stands at the stop
 * does.  A look at the words that decided would lose each of these. */
static const struct race races[] = {
    {"attack_58_path_swapped_by_peer", "path-peer", "800", "400", "ran mark2"},
    {"attack_58_argv_swapped_by_thread", "argv-thread", "700", "350", "ran mark1 bood"},
    {"attack_59_argv_swapped_by_peer", "argv-peer", "700", "350", "ran mark1 bood"},
    {"attack_59_path_on_shared_page", "path-shared", "700", "350", "ran mark2"},
    {"attack_65_env_rewritten", "env-peer", "700", "350", "ran mark1 good EZ="},
};

#define RACES (ARRAY_LEN(races))

static size_t
lines_with(const char *text, const char *start)
{
	size_t n = 0;

	for (; text && *text; text = strchr(text, '\n'), text += text ? 1 : 0)
		n += strncmp(text, start, strlen(start)) == 0;
	return n;
}

static void
race_test(void **state)
{
	const struct race *race = *state;
	/* Half as many for the control: it needs to win once only. */
	const char *argv[] = {cell_path("race"), race->how, race->control_tries,
	    cell_path("mark1"), cell_path("mark2"), NULL};
	struct cell_try how = {.gate = CELL_NOTIFY, .argv = argv};
	struct cell_result control, r;
	size_t control_wins, wins, ran;
	const char *marks;

	control_wins = 0;
	for (int i = 0; i < 5 && control_wins == 0; i++)
		control_wins = lines_with(cell_run(&how, &control), race->evil);
	argv[2] = race->tries;
	how.gate = CELL_GATED;
	marks = cell_run(&how, &r);
	wins = lines_with(marks, race->evil);
	ran = lines_with(marks, "ran mark1 good\n");
	print_message("%s: control won %zu of %s; of %s here won %zu, ran %zu, killed "
		      "%llu, denied %llu\n",
	    race->name, control_wins, race->control_tries, race->tries, wins, ran,
	    (unsigned long long)r.counts.killed, (unsigned long long)r.counts.denied);
	assert_int_equal(r.hung, 0);
	assert_int_equal(r.busy, 0);
	assert_true(control_wins > 0);
	assert_int_equal(wins, 0);
	assert_true(ran > 0);
	assert_int_equal(lines_with(marks, "ran"), ran);
}

/*
 * ESCAPES 58 59, S4-43: the policy would let all of these words run; the person
 * has seen some and agreed to those.  What is rewritten before the yes, between
 * the yes and the stop, or behind it, does not run.
 */
static void
race_of_asked(const char *shape, const char *evil)
{
	const char *argv[] = {cell_path("race"), shape, "350", cell_path("mark3"),
	    cell_path("mark2"), NULL};
	struct cell_try how = {.gate = CELL_NOTIFY, .argv = argv};
	struct cell_result control, r;
	size_t control_wins = 0, ran = 0;
	const char *marks;

	for (int i = 0; i < 5 && control_wins == 0; i++)
		control_wins = lines_with(cell_run(&how, &control), evil);
	argv[2] = "120"; /* as many as may be asked in a row */
	how = (struct cell_try){.argv = argv, .yes = "good", .answer = GATE_ONCE};
	for (int i = 0; i < 5 && ran == 0; i++) {
		marks = cell_run(&how, &r);
		ran = lines_with(marks, "ran mark3 good\n");
		assert_int_equal(lines_with(marks, "ran"), ran);
	}
	print_message(
	    "asked, %s: control won %zu; asked %u, ran %zu, killed %llu, denied "
	    "%llu\n",
	    shape, control_wins, r.asked, ran, (unsigned long long)r.counts.killed,
	    (unsigned long long)r.counts.denied);
	assert_int_equal(r.hung, 0);
	assert_int_equal(r.busy, 0);
	assert_true(control_wins > 0);
	assert_true(ran > 0);
}

static void
attack_asked_words_swapped_by_thread(void **state)
{
	race_of_asked("argv-thread", "ran mark3 bood");
}

static void
attack_asked_words_swapped_by_peer(void **state)
{
	race_of_asked("argv-peer", "ran mark3 bood");
}

static void
attack_asked_path_swapped_by_peer(void **state)
{
	race_of_asked("path-peer", "ran mark2");
}

/* What a person said, and what came of it. */
static void
asked_run(enum gate_answer answer, const char *want, struct cell_result *ret)
{
	const char *argv[] = {
	    cell_path("try"), "path", cell_path("mark3"), "one", "two", NULL};
	struct cell_try how = {.argv = argv, .yes = "one", .answer = answer};

	assert_string_equal(cell_run(&how, ret), want);
	assert_int_equal(ret->hung, 0);
	assert_int_equal(ret->busy, 0);
	assert_int_equal(ret->asked, 1);
	assert_non_null(strstr(ret->shown, " one two"));
}

static void
asked_and_answered(void **state)
{
	struct cell_result r;

	asked_run(GATE_ONCE, "ran mark3 one two\n", &r);
	assert_string_equal(r.record[1].verdict, "ask");
	assert_string_equal(r.record[2].verdict, "allow");
	assert_int_equal(r.refused, 0);
	asked_run(GATE_SESSION, "ran mark3 one two\n", &r);
	asked_run(GATE_DENY, "errno 13\n", &r);
	assert_string_equal(r.record[2].verdict, "deny");
	assert_string_equal(r.record[2].reason, "denied by a person");
	assert_int_equal(r.refused, 1);
	asked_run(GATE_NOBODY, "errno 13\n", &r);
	assert_string_equal(r.record[2].reason, "approval timed out");
}

/*
 * A private key is redacted line by line, and a line of it may be a command: such a
 * question is shown as cut. Text that only mentions a key's first line is shown whole.
 */
#define KEY_LINE "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n"

static void
attack_asked_words_behind_mask(void **state)
{
	static const struct {
		const char *word, *shown;
		int cut;
	} row[] = {
	    /* control: a token has no room for a command, and is masked */
	    {"-H=glpat-abcdefghijklmnopqrst", "-H=[REDACTED:gitlab-token]", 0},
	    {": -----BEGIN A PRIVATE KEY-----; mark3 & more", "; mark3 & more", 0},
	    {": -----BEGIN A PRIVATE KEY-----; mark3 -----END A PRIVATE KEY-----",
		"; mark3 -----END", 0},
	    {"-----BEGIN A PRIVATE KEY-----\n" KEY_LINE "mark3\n", "", 1},
	};

	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		const char *argv[] = {
		    cell_path("try"), "path", cell_path("mark3"), row[i].word, NULL};
		struct cell_try how = {
		    .argv = argv, .yes = "", .answer = GATE_DENY, .scrubbed = 1};
		struct cell_result r;

		assert_string_equal(cell_run(&how, &r), "errno 13\n");
		assert_int_equal(r.asked, 1);
		assert_int_equal(r.cut, row[i].cut);
		assert_null(strstr(r.shown, "REDACTED:private-key"));
		assert_non_null(strstr(r.shown, row[i].shown));
	}
}

/* A yes is used up where the program starts, not where it was said: an exec that
 * fails, fifty times, is asked about once. */
static void
asked_and_failed(void **state)
{
	const char *argv[] = {
	    cell_path("try"), "after-asking", cell_path("mark3"), "asked", NULL};
	struct cell_try how = {.argv = argv, .yes = "asked", .answer = GATE_ONCE};
	struct cell_result r;

	assert_string_equal(cell_run(&how, &r), "ran mark3 asked\n");
	assert_int_equal(r.asked, 2); /* the dud, and what ran in the end */
	assert_int_equal(r.counts.killed, 0);
	assert_int_equal(r.busy, 0);
}

/* Whoever asked is killed while the person looks: nothing waits any more. */
static void
asked_and_killed(void **state)
{
	const char *argv[] = {cell_path("try"), "path", cell_path("mark3"), "one", NULL};
	struct cell_try how = {.argv = argv, .yes = "", .kill_asked = 1};
	struct cell_result r;

	assert_string_equal(cell_run(&how, &r), "");
	assert_int_equal(r.asked, 1);
	assert_int_equal(r.withdrawn, 1);
	assert_int_equal(r.busy, 0);
	assert_string_equal(r.record[r.record_n - 1].reason, "its process has exited");
}

/* A thread of the caller moves its folder after the call was judged. */
static void
moved(const char *from, const char *to, const char *program, const char *good,
    const char *evil)
{
	char word[3][300]; /* cell_path() is used again below */
	const char *argv[] = {
	    NULL, "in-moved", word[0], word[1], word[2], "placed", NULL};
	struct cell_try how = {.gate = CELL_NOTIFY, .argv = argv};
	struct cell_result control, r;
	size_t control_wins = 0, wins, ran;
	const char *marks;

	snprintf(word[0], sizeof(word[0]), "%s", from);
	snprintf(word[1], sizeof(word[1]), "%s", to);
	snprintf(word[2], sizeof(word[2]), "%s", program);
	argv[0] = cell_path("try");
	for (int i = 0; i < 5 && control_wins == 0; i++)
		control_wins = lines_with(cell_run(&how, &control), evil);
	how.gate = CELL_GATED;
	marks = cell_run(&how, &r);
	wins = lines_with(marks, evil);
	ran = lines_with(marks, good);
	print_message("moved: control won %zu; here won %zu, ran %zu, killed %llu, "
		      "denied %llu\n",
	    control_wins, wins, ran, (unsigned long long)r.counts.killed,
	    (unsigned long long)r.counts.denied);
	assert_int_equal(r.hung, 0);
	assert_int_equal(r.busy, 0);
	assert_true(control_wins > 0);
	assert_int_equal(wins, 0);
	assert_true(ran > 0);
}

static void
attack_in_moved(void **state)
{
	moved(cell_path("in"), cell_path("inn"), cell_path("mark1"),
	    "ran mark1 placed at in\n", "ran mark1 placed at inn\n");
}

/* A script by a relative path: the folder becomes one where another has its name. */
static void
attack_71_script_moved(void **state)
{
	char good[100];

	snprintf(good, sizeof(good), "ran mark1 as-script ./script1 placed at %s\n",
	    strrchr(cell_dir(), '/') + 1);
	moved(cell_dir(), cell_path("in"), "./script1", good,
	    "ran mark1 as-script ./script1 placed at in\n");
}

/* The same, where a person agreed to a program in one folder. */
static void
attack_asked_folder_moved(void **state)
{
	char in[300], out[300];
	const char *argv[] = {
	    cell_path("try"), "in-moved", in, out, cell_path("mark3"), "placed", NULL};
	struct cell_try how = {.gate = CELL_NOTIFY, .argv = argv};
	struct cell_result control, r;
	size_t control_wins = 0, ran = 0;
	const char *marks;

	snprintf(in, sizeof(in), "%s", cell_path("in"));
	snprintf(out, sizeof(out), "%s", cell_path("inn"));
	for (int i = 0; i < 5 && control_wins == 0; i++)
		control_wins =
		    lines_with(cell_run(&how, &control), "ran mark3 placed at inn");
	how = (struct cell_try){
	    .argv = argv, .yes = "placed", .in = in, .answer = GATE_ONCE};
	for (int i = 0; i < 5 && ran == 0; i++) {
		marks = cell_run(&how, &r);
		ran = lines_with(marks, "ran mark3 placed at in\n");
		assert_int_equal(lines_with(marks, "ran mark3"), ran);
	}
	print_message("asked, folder: control won %zu; asked %u, ran %zu, killed %llu\n",
	    control_wins, r.asked, ran, (unsigned long long)r.counts.killed);
	assert_int_equal(r.hung, 0);
	assert_int_equal(r.busy, 0);
	assert_true(control_wins > 0);
	assert_true(ran > 0);
}

/* ---- scheduling ------------------------------------------------------------ */

static void
many(const char *processes, unsigned int wait_s)
{
	const char *argv[] = {
	    cell_path("many"), processes, "6", cell_path("mark1"), NULL};
	struct cell_try how = {.argv = argv, .wait_s = wait_s};
	struct cell_result r;
	const char *marks = cell_run(&how, &r);

	print_message("%s processes x 6 threads in %.1f s: ran %llu, failed %llu, denied "
		      "%llu, killed %llu; %s",
	    processes, r.seconds, (unsigned long long)r.counts.allowed,
	    (unsigned long long)r.counts.failed, (unsigned long long)r.counts.denied,
	    (unsigned long long)r.counts.killed, marks);
	assert_int_equal(r.hung, 0);
	assert_int_equal(r.status, 0);
	assert_int_equal(r.busy, 0);
	assert_int_equal(r.counts.killed, 0);
	assert_true(r.counts.allowed > 0);
	assert_non_null(strstr(marks, " hung 0\n"));
}

static void
many_threads_none_hung(void **state)
{
	const char *n = getenv("GATE_MANY"); /* the long run, by hand */

	many(n ? n : "2000", n ? 900 : 60);
}

/* ESCAPES 85: nothing is let go because somebody was slow or died. */
static void
attack_85_killed_while_held(void **state)
{
	const char *argv[] = {NULL, "100000", "6", NULL, NULL};
	struct cell_try how = {.argv = argv};
	struct cell_result r;

	for (how.kill_ms = 20; how.kill_ms < 220; how.kill_ms += 20) {
		argv[0] = cell_path("many");
		argv[3] = cell_path("mark1");
		cell_run(&how, &r);
		assert_int_equal(r.hung, 0);
		assert_int_equal(r.busy, 0);
		assert_int_equal(r.status, 128 + 9);
	}
}

static void
stopped_and_continued(void **state)
{
	const char *argv[] = {
	    cell_path("try"), "stopped", cell_path("mark1"), "good", NULL};
	struct cell_try how = {.argv = argv};
	struct cell_result r;
	const char *marks = cell_run(&how, &r);

	assert_int_equal(r.hung, 0);
	assert_int_equal(r.busy, 0);
	assert_int_equal(lines_with(marks, "ran mark1 good"), 100);
}

/* ESCAPES 86: no record, no act. */
static void
attack_86_log_full(void **state)
{
	const char *argv[] = {cell_path("try"), "path", cell_path("mark1"), "good", NULL};
	struct cell_try how = {.argv = argv, .log_full = 1};
	struct cell_result r;
	const char *marks = cell_run(&how, &r);

	assert_string_equal(marks, "");
	assert_int_equal(r.status, 91); /* even the program itself */
	assert_int_equal(r.counts.allowed, 0);
	for (int gone = 0; gone < 2; gone++) {
		how = (struct cell_try){.argv = argv,
		    .log_late = 1,
		    .log_gone = gone,
		    .log_wait_ms = gone ? 0 : 200};
		assert_string_equal(cell_run(&how, &r), "");
		assert_int_equal(r.counts.allowed, 0);
		assert_string_equal(r.record[0].verdict, "deny");
		assert_string_equal(
		    r.record[0].reason, "the audit log did not take the record");
		assert_true(gone || r.late > 2);
	}
}

/* A recorder that is starved for a while is waited for; whoever waits can be killed,
 * and what a person agreed to waits like the rest. */
static void
log_waited_for(void **state)
{
	const char *argv[] = {
	    cell_path("try"), "after-failing", cell_path("mark1"), "good", NULL};
	const char *asked[] = {cell_path("try"), "path", cell_path("mark3"), "one", NULL};
	struct cell_try how = {.argv = argv, .log_late = 1, .log_back_ms = 300};
	struct cell_result r;

	assert_string_equal(cell_run(&how, &r), "ran mark1 good\n");
	assert_int_equal(r.counts.denied, 0);
	assert_int_equal(r.busy, 0);
	assert_true(r.late > 1);
	how.argv = asked;
	how.yes = "one";
	how.answer = GATE_ONCE;
	assert_string_equal(cell_run(&how, &r), "ran mark3 one\n");
	assert_int_equal(r.counts.denied, 0);
	how = (struct cell_try){.argv = argv, .log_late = 1, .kill_ms = 100};
	assert_string_equal(cell_run(&how, &r), "");
	assert_int_equal(r.hung, 0);
	assert_int_equal(r.busy, 0);
	assert_int_equal(r.status, 128 + 9);
	assert_int_equal(r.record_n, 0);
}

static void
record_names_the_rule(void **state)
{
	const char *argv[] = {cell_path("try"), "path", cell_path("mark1"), "ask", NULL};
	struct cell_try how = {.argv = argv};
	struct cell_result r;

	cell_run(&how, &r);
	assert_int_equal(r.record_n, 2);
	assert_string_equal(r.record[0].program, cell_path("try"));
	assert_string_equal(r.record[1].program, cell_path("mark1"));
	assert_string_equal(r.record[1].rule, "test.kennel:5");
	assert_string_equal(r.record[1].reason, "ask: no approval channel is available");
}

static void
grants(void)
{
	uint32_t mark = cell_image(cell_path("mark1"), cell_path("mark1"));
	uint32_t asked = cell_image(cell_path("mark3"), cell_path("mark3"));
	uint32_t try = cell_image(cell_path("try"), cell_path("try"));
	uint32_t race = cell_image(cell_path("race"), cell_path("race"));
	uint32_t all = cell_image(cell_path("many"), cell_path("many"));
	uint32_t script = cell_image(cell_path("script1"), cell_path("script1"));
	uint32_t dud = cell_image(cell_path("dud"), cell_path("dud"));
	char prefix[300];

	snprintf(prefix, sizeof(prefix), "%s as-script %s", cell_path("mark1"),
	    cell_path("script1"));
	cell_grant(mark, mark, VERDICT_ALLOW, "good", "");
	cell_grant(mark, mark, VERDICT_ALLOW, "quiet", "");
	cell_grant(mark, mark, VERDICT_ALLOW, "any **", "");
	cell_grant(mark, mark, VERDICT_DENY, "any never", "");
	cell_grant(mark, mark, VERDICT_ASK, "ask", "");
	cell_grant(asked, asked, VERDICT_ASK, "**", "");
	cell_grant(try, try, VERDICT_ALLOW, "**", "");
	cell_grant(race, race, VERDICT_ALLOW, "**", "");
	cell_grant(all, all, VERDICT_ALLOW, "**", "");
	cell_grant(dud, dud, VERDICT_ALLOW, "quiet", "");
	cell_grant(dud, dud, VERDICT_ASK, "asked", "");
	cell_grant(script, mark, VERDICT_ALLOW, "one", prefix);
	cell_grant(script, mark, VERDICT_ALLOW, "placed", prefix);
	cell_grant(mark, mark, VERDICT_ALLOW, "called", "");
	cell_where(cell_path("try"), NULL);
	cell_grant(mark, mark, VERDICT_ALLOW, "others", "");
	cell_where(cell_path("race"), NULL);
	cell_grant(mark, mark, VERDICT_ALLOW, "placed", "");
	cell_where(NULL, cell_path("in"));
	cell_grant(mark, mark, VERDICT_ALLOW, "play", "");
	cell_where(NULL, cell_path("play/in"));
	for (int i = 1; i <= 3; i++) {
		char name[16];
		uint32_t image;

		snprintf(name, sizeof(name), "pinned%d", i);
		image = cell_image(cell_path(name), cell_path(name));
		cell_pin(image, i != 2);
		cell_grant(image, image, VERDICT_ALLOW, "good", "");
	}
}

int
main(int argc, char **argv)
{
	static const struct CMUnitTest rest[] = {
	    cmocka_unit_test(attack_in_moved),
	    cmocka_unit_test(attack_71_script_moved),
	    cmocka_unit_test(asked_and_answered),
	    cmocka_unit_test(attack_asked_words_behind_mask),
	    cmocka_unit_test(asked_and_failed),
	    cmocka_unit_test(asked_and_killed),
	    cmocka_unit_test(attack_asked_words_swapped_by_thread),
	    cmocka_unit_test(attack_asked_words_swapped_by_peer),
	    cmocka_unit_test(attack_asked_path_swapped_by_peer),
	    cmocka_unit_test(attack_asked_folder_moved),
	    cmocka_unit_test(record_names_the_rule),
	    cmocka_unit_test(attack_86_log_full),
	    cmocka_unit_test(log_waited_for),
	    cmocka_unit_test(stopped_and_continued),
	    cmocka_unit_test(attack_85_killed_while_held),
	    cmocka_unit_test(many_threads_none_hung),
	};
	struct CMUnitTest test[ATTEMPTS + RACES + ARRAY_LEN(rest)];
	size_t n = 0;
	int failed;

	for (size_t i = 0; i < ATTEMPTS; i++)
		test[n++] = (struct CMUnitTest){.name = attempts[i].name,
		    .test_func = attempt_test,
		    .initial_state = (void *)&attempts[i]};
	for (size_t i = 0; i < RACES; i++)
		test[n++] = (struct CMUnitTest){.name = races[i].name,
		    .test_func = race_test,
		    .initial_state = (void *)&races[i]};
	memcpy(&test[n], rest, sizeof(rest));
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	cell_setup();
	grants();
	failed = cmocka_run_group_tests(test, NULL, NULL);
	cell_teardown();
	return failed;
}
