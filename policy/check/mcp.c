/*
 * Checks of MCP statements: tools, resources and prompts, classes, sampling and
 * the like, the log, pins, system calls.
 */
#define DIAG_CODE "value"

#include "policy/check/check.h"
#include "policy/lang/parse.h"
#include "policy/lang/scalar.h"
#include "policy/sealed/values/method_name.h"
#include "shim/base/array.h"
#include "shim/help/near_word.h"

#include <string.h>

/* ---- names --------------------------------------------------------------- */

uint32_t
gate_class(const struct word *w)
{
	static const char *const classes[] = {
	    "@readonly", "@destructive", "@idempotent", "@openworld", "@unannotated"};
	size_t i;

	for (i = 0; !w->quoted && i < ARRAY_LEN(classes); i++)
		if (strcmp(w->text, classes[i]) == 0)
			return 1u << i;
	return 0;
}

static void
class_unknown(struct check *c, const struct word *w)
{
	static const char *const classes[] = {
	    "@readonly", "@destructive", "@idempotent", "@openworld", "@unannotated"};
	const char *near = near_word(w->text, classes, 5);
	struct shown s;

	if (near != NULL)
		diag_error(c->diag, w->at, "unknown class `%s`: did you mean `%s`?",
		    check_show(&s, w), near);
	else
		diag_error(c->diag, w->at,
		    "unknown class: expected @readonly, @destructive, @idempotent, "
		    "@openworld or @unannotated; quote it to use it as a name");
}

/* A name, in which `*` matches any run of characters. */
static void
name(struct check *c, const struct word *w)
{
	enum sealed_arg_kind kind;
	const char *text;

	if (w->len == 0)
		diag_error(c->diag, w->at, "a name cannot be empty");
	else if (word_pattern(c->tree->arena, w, &kind, &text) != 0 || kind == ARG_REST ||
		 kind == ARG_CHOICE || kind >= ARG_SLOT ||
		 (kind == ARG_LITERAL && strchr(w->text, '*') != NULL))
		diag_error(c->diag, w->at,
		    "invalid name pattern: `*` matches any characters; `**`, `|` and a "
		    "literal `*` are not supported here");
}

/* The marks of a regular expression, which no name of a tool has. */
static bool
is_regex(const struct word *w)
{
	static const char *const marks[] = {".+", "_.*", "-.*", "[", "(", "\\"};
	const char *text = w->text;
	bool slashes = w->len > 2 && text[0] == '/' && text[w->len - 1] == '/';

	for (size_t i = 0; i < ARRAY_LEN(marks); i++)
		if (strstr(text, marks[i]) != NULL)
			return true;
	return slashes || text[0] == '^' || strncmp(text, ".*", 2) == 0 ||
	       (w->len > 1 && text[w->len - 1] == '$');
}

static void
names(struct check *c, const struct stmt *s, const struct word *w, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (!w[i].quoted && w[i].text[0] == '@' && w[i].literal == NULL) {
			if (gate_class(&w[i]) == 0)
				class_unknown(c, &w[i]);
			else if (s->kw != KW_TOOL)
				diag_error(c->diag, w[i].at,
				    "classes (annotations) are only allowed for tools");
			continue;
		}
		name(c, &w[i]);
		if (s->kw == KW_TOOL && w[i].len > 0 && is_regex(&w[i]))
			diag_warning(c->diag, w[i].at,
			    "this looks like a regular expression, and a pattern is "
			    "none: "
			    "`*` matches any characters, and every other character "
			    "itself, "
			    "as in `get_*`");
	}
}

/* rate and quota: only where a call may pass, and within their bounds. */
static void
call_limits(struct check *c, const struct stmt *s)
{
	const struct qual *rate = stmt_qual(s, KW_RATE), *quota = stmt_qual(s, KW_QUOTA);
	const struct qual *any = rate != NULL ? rate : quota;
	uint32_t calls, ms;

	if (any != NULL && s->verdict == VERDICT_DENY)
		diag_error(c->diag, any->at,
		    "`%s` is not allowed after `tool deny`: a denied tool has no calls; "
		    "it is only allowed after `tool allow` and `tool ask`",
		    keyword_name(any->kw));
	if (rate != NULL && rate_read(rate->word[0].text, &calls, &ms) != 0)
		diag_error(c->diag, rate->word[0].at,
		    "invalid rate: expected 1 to %u calls in 1s to 30d, as in 30/1m",
		    CALL_RATE_MAX);
	if (quota != NULL && quota_read(quota->word[0].text, &calls) != 0)
		diag_error(c->diag, quota->word[0].at,
		    "invalid quota: expected 1 to %u calls, as in 100", CALL_QUOTA_MAX);
}

void
check_gate(struct check *c, struct stmt *s)
{
	const struct qual *except = stmt_qual(s, KW_EXCEPT);
	size_t i;

	names(c, s, s->word, s->word_n);
	for (i = 0; except != NULL && i < except->word_n; i++) {
		if (gate_class(&except->word[i]) != 0)
			diag_error(c->diag, except->word[i].at,
			    "`except` takes names; use `tool deny %s` to exclude a class",
			    except->word[i].text);
		else
			name(c, &except->word[i]);
	}
	call_limits(c, s);
	check_exception(c, s);
}

/* Refuses a method that no session can pass, or that every session needs. */
static void
method_word(struct check *c, const struct stmt *s, const struct word *w)
{
	struct shown sh;

	name(c, w);
	if (s->verdict == VERDICT_ALLOW && method_form(w->text, w->len) == METHOD_TWIN)
		diag_error(c->diag, w->at,
		    "`%s` cannot be allowed: a server may treat it as a method that "
		    "kennel checks",
		    check_show(&sh, w));
	else if (s->verdict == VERDICT_DENY &&
		 method_glob(w->text, w->len, "initialize", strlen("initialize")))
		diag_error(c->diag, w->at,
		    "this denies `initialize`, which starts every session; `method allow "
		    "NAME...` denies every other unknown method");
}

void
check_method(struct check *c, struct stmt *s)
{
	size_t i;

	if (s->verdict == VERDICT_ASK)
		diag_error(c->diag, s->at,
		    "`ask` is not allowed for a method: use allow or deny");
	for (i = 0; i < s->word_n; i++)
		method_word(c, s, &s->word[i]);
	check_exception(c, s);
}

void
check_offer(struct check *c, struct stmt *s)
{
	check_exception(c, s);
}

/* ---- the log ------------------------------------------------------------- */

/* args full [tool...] | result full [tool...] | sync strict */
void
check_audit(struct check *c, struct stmt *s)
{
	static const char *const list[] = {"args", "result", "sync"};
	const struct word *w = s->word;
	const char *near;
	bool sync = strcmp(w[0].text, "sync") == 0;
	size_t i;

	if (!sync && strcmp(w[0].text, "args") != 0 && strcmp(w[0].text, "result") != 0) {
		near = near_word(w[0].text, list, 3);
		if (near != NULL)
			diag_error(c->diag, w[0].at,
			    "unknown setting: did you mean `%s`?", near);
		else
			diag_error(c->diag, w[0].at, "`audit` takes %s",
			    keyword_row(KW_AUDIT)->takes);
		return;
	}
	if (strcmp(w[1].text, sync ? "strict" : "full") != 0) {
		diag_error(c->diag, w[1].at, "`audit %s` takes `%s`", w[0].text,
		    sync ? "strict" : "full");
		return;
	}
	if (sync && s->word_n > 2)
		diag_error(
		    c->diag, w[2].at, "nothing is allowed after `audit sync strict`");
	for (i = 2; !sync && i < s->word_n; i++)
		name(c, &w[i]);
}

/* ---- system calls -------------------------------------------------------- */

/*
 * Never allowed by a policy: each reaches another process, another namespace or
 * the machine, or bypasses the filter or the gate (reasons in syscall_list.c).
 */
static const char *const forbidden[] = {"ptrace", "process_vm_readv", "process_vm_writev",
    "process_madvise", "pidfd_getfd", "kcmp", "mount", "umount", "umount2", "pivot_root",
    "chroot", "fsopen", "fsconfig", "fsmount", "fspick", "open_tree", "open_tree_attr",
    "move_mount", "mount_setattr", "statmount", "listmount", "open_by_handle_at",
    "name_to_handle_at", "bpf", "perf_event_open", "userfaultfd", "keyctl", "add_key",
    "request_key", "io_uring_setup", "io_uring_enter", "io_uring_register", "clone3",
    "clone", "unshare", "setns", "execve", "execveat", "seccomp", "prctl", "ioctl",
    "socket", "socketpair", "memfd_create", "memfd_secret", "mknod", "mknodat",
    "personality", "init_module", "finit_module", "delete_module", "create_module",
    "kexec_load", "kexec_file_load", "reboot", "swapon", "swapoff", "acct", "quotactl",
    "quotactl_fd", "syslog", "vhangup", "settimeofday", "clock_settime",
    "clock_settime64", "adjtimex", "clock_adjtime", "clock_adjtime64", "stime",
    "sethostname", "setdomainname", "iopl", "ioperm", "modify_ldt", "fanotify_init",
    "fanotify_mark", "move_pages", "migrate_pages", "openat2", "fchmodat2",
    "lookup_dcookie", "nfsservctl", "uselib", "sysfs", "ustat", "vm86", "vm86old",
    "_sysctl", "lsm_set_self_attr", "landlock_create_ruleset", "map_shadow_stack"};

/*
 * Never denied: a program needs them, and so do the shim's steps after the
 * filter.
 */
static const char *const needed[] = {"exit", "exit_group", "rt_sigreturn", "execve",
    "read", "write", "close", "mmap", "munmap", "brk", "restart_syscall"};

static bool
is_in(const char *text, const char *const *list, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(text, list[i]) == 0)
			return true;
	return false;
}

void
check_syscalls(struct check *c, struct stmt *s)
{
	const struct word *w;
	struct shown sh;
	size_t i;

	if (s->verdict == VERDICT_ASK)
		diag_error(c->diag, s->at,
		    "`ask` is not allowed for a system call: use allow or deny");
	for (i = 0; i < s->word_n; i++) {
		w = &s->word[i];
		if (!check_literal(c, w))
			continue;
		if (!syscall_is_known(w->text))
			diag_error(c->diag, w->at, "unknown system call `%s`",
			    check_show(&sh, w));
		else if (s->verdict == VERDICT_ALLOW &&
			 is_in(
			     w->text, forbidden, sizeof(forbidden) / sizeof(*forbidden)))
			diag_error(c->diag, w->at,
			    "`%s` cannot be allowed: it could escape the cell or bypass "
			    "its checks",
			    w->text);
		else if (s->verdict == VERDICT_DENY &&
			 is_in(w->text, needed, sizeof(needed) / sizeof(*needed)))
			diag_error(c->diag, w->at,
			    "`%s` cannot be denied: every program needs it", w->text);
	}
}

/* ---- pins ---------------------------------------------------------------- */

void
check_pins(struct check *c, struct stmt *s)
{
	const char *why;

	if (!s->word[0].quoted || s->word[0].len == 0)
		diag_error(c->diag, s->word[0].at, "`pins` takes one quoted path");
	else if (include_path(c->tree, c->tree->source[s->at.file].path, s->word[0].text,
		     &why) == NULL)
		diag_error(c->diag, s->word[0].at, "%s", why);
}
