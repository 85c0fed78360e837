/*
 * Prints for people what a sealed policy grants and which mechanism enforces
 * it.  Text from the file is made printable.  show_json.c prints the same for
 * programs.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "policy/base/output.h"
#include "policy/print/show.h"
#include "policy/print/statement.h"
#include "policy/sealed/load.h"
#include "policy/sealed/policy.h"
#include "policy/sealed/lib_dirs.h"
#include "shim/base/array.h"
#include "shim/base/hex.h"

#define WHERE_CAP 4096

/* A string of the policy, printed so that it cannot forge a line. */
static void
put_text(FILE *f, const char *s)
{
	out_plain(f, s, strlen(s));
}

static void
put_ref(const struct policy *p, struct sealed_ref ref, FILE *f)
{
	put_text(f, policy_str(p, ref));
}

static void
put_at(const struct policy *p, struct sealed_at at, FILE *f)
{
	char where[WHERE_CAP];

	(void)fputs("  # ", f);
	put_text(f, policy_at(p, at, where, sizeof(where)));
}

/* ---- files ---------------------------------------------------------------------- */

/* A heading, and the rows under it. */
static const struct {
	const char *title;
	uint32_t kinds; /* bits of enum sealed_mount_kind */
	uint32_t has, lacks;
} file_groups[] = {
    {"may start (bound by its own file, read-only mount, Landlock, exec gate)",
	1u << MOUNT_FILE, RIGHT_START, 0},
    {"may write (noexec mount, Landlock)",
	1u << MOUNT_FILE | 1u << MOUNT_TREE | 1u << MOUNT_TMPFS | 1u << MOUNT_SHM,
	RIGHT_WRITE, 0},
    {"may read (read-only mount, Landlock)", 1u << MOUNT_FILE | 1u << MOUNT_TREE,
	RIGHT_READ, RIGHT_WRITE | RIGHT_START},
    {"is private (created for each start)",
	1u << MOUNT_PROC | 1u << MOUNT_DEV | 1u << MOUNT_ETC, 0, RIGHT_WRITE},
    {"is hidden (covered by an empty, unreadable mount)", 1u << MOUNT_HIDE, 0, 0},
};

/*
 * File systems that the host has mounted below a granted directory are also
 * visible.
 */
static void
show_submounts(const char *folder, FILE *f)
{
	char line[8192], point[4096];
	size_t n = strlen(folder);
	FILE *info;

	/* syscalls: openat fstat newfstatat read close */
	if ((info = fopen("/proc/self/mountinfo", "re")) == NULL)
		return;
	while (fgets(line, sizeof(line), info) != NULL)
		if (sscanf(line, "%*s %*s %*s %*s %4095s", point) == 1 &&
		    strncmp(point, folder, n) == 0 && point[n] == '/') {
			(void)fputs("        with the host's mount ", f);
			put_text(f, point);
			(void)fputc('\n', f);
		}
	(void)fclose(info); /* only read */
}

static void
show_mount(const struct policy *p, const struct sealed_mount *m, FILE *f)
{
	(void)fprintf(f, "    %-8s", policy_why_name((enum sealed_mount_why)m->why));
	put_ref(p, m->target, f);
	if (m->size != 0)
		(void)fprintf(f, " (at most %" PRIu64 " bytes)", m->size);
	if (m->optional)
		(void)fputs(" { optional }", f);
	put_at(p, m->at, f);
	(void)fputc('\n', f);
	if (m->kind == MOUNT_TREE)
		show_submounts(policy_str(p, m->target), f);
}

/* Where a file may be that another file names and no line. */
static void
show_system_dirs(FILE *f)
{
	static const char *const dirs[] = {SYSTEM_DIRS};

	(void)fputs(
	    "  what these files name (loader, library, interpreter) is granted by a "
	    "line, or root's in\n   ",
	    f);
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
		(void)fprintf(f, " %s", dirs[i]);
	(void)fputc('\n', f);
}

static void
show_files(const struct policy *p, const struct sealed_server *s, FILE *f)
{
	const struct sealed_mount *m;
	bool titled;
	uint32_t i;
	size_t g;

	for (g = 0; g < ARRAY_LEN(file_groups); g++) {
		titled = false;
		for (i = 0; i < s->mounts.n; i++) {
			m = &p->mount[s->mounts.first + i];
			if ((file_groups[g].kinds & 1u << m->kind) == 0 ||
			    (m->right & file_groups[g].has) != file_groups[g].has ||
			    (m->right & file_groups[g].lacks) != 0)
				continue;
			if (!titled)
				(void)fprintf(f, "  %s\n", file_groups[g].title);
			titled = true;
			show_mount(p, m, f);
		}
	}
	show_system_dirs(f);
	(void)fputs("  everything else is absent from the view\n", f);
}

/* ---- programs --------------------------------------------------------------------- */

static void
show_digest(const struct policy *p, const struct sealed_image *image, FILE *f)
{
	static const uint8_t none[32];

	if (memcmp(image->sha256, none, sizeof(none)) == 0)
		return;
	(void)fputs("    digest ", f);
	put_ref(p, image->path, f);
	(void)fputc(' ', f);
	hex_print(f, image->sha256, sizeof(image->sha256));
	(void)fputc('\n', f);
}

static void
show_execs(const struct policy *p, const struct sealed_server *s, FILE *f)
{
	const struct sealed_exec *e;
	uint32_t i;

	(void)fputs(
	    "  programs (exec gate: image, arguments and environment, at the exec)\n", f);
	for (i = 0; i < s->execs.n; i++) {
		e = &p->exec[s->execs.first + i];
		(void)fprintf(f, "    %-6s",
		    (e->flags & EXEC_FROM_RUN) != 0
			? "run"
			: policy_verdict_name((enum sealed_verdict)e->verdict));
		put_ref(p, p->image[e->asked].path, f);
		say_args(p, e->args, f);
		if (e->mapped != e->asked) {
			(void)fputs("  (a script of ", f);
			put_ref(p, p->image[e->mapped].real, f);
			(void)fputc(')', f);
		}
		say_exec_tail(p, e, f);
		put_at(p, e->at, f);
		(void)fputc('\n', f);
	}
	(void)fputs("    deny  every other program\n", f);
	for (i = 0; i < s->images.n; i++)
		show_digest(p, &p->image[s->images.first + i], f);
}

/* ---- other settings ------------------------------------------------------ */

static void
show_envs(const struct policy *p, const struct sealed_server *s, FILE *f)
{
	const struct sealed_secret *c;
	const struct sealed_env *e;
	uint32_t i;

	(void)fputs("  environment (starts empty)\n", f);
	for (i = 0; i < s->envs.n; i++) {
		e = &p->env[s->envs.first + i];
		(void)fputs("    ", f);
		put_ref(p, e->name, f);
		(void)fputs(e->passed ? " from the agent's environment" : "=", f);
		put_ref(p, e->value, f);
		if (e->fixed)
			(void)fputs(" (always)", f);
		else
			put_at(p, e->at, f);
		(void)fputc('\n', f);
	}
	for (i = 0; i < s->secrets.n; i++) {
		c = &p->secret[s->secrets.first + i];
		(void)fputs("    ", f);
		put_ref(p, c->name, f);
		(void)fprintf(f, " is a secret from %s ", policy_source_name(c->source));
		put_ref(p, c->ref, f);
		say_args(p, c->args, f);
		say_secret_tail(p, c, f);
		put_at(p, c->at, f);
		(void)fputc('\n', f);
	}
}

static void
show_gates(const struct policy *p, const struct sealed_server *s, FILE *f)
{
	const struct sealed_gate *g;
	uint32_t i;

	(void)fputs("  tools, resources, prompts (tool gate)\n", f);
	for (i = 0; i < s->gates.n; i++) {
		g = &p->gate[s->gates.first + i];
		(void)fprintf(f, "    %-6s%s ",
		    policy_verdict_name((enum sealed_verdict)g->verdict),
		    policy_gate_name((enum sealed_gate_kind)g->kind));
		if ((g->flags & GATE_BY_ANNOTATIONS) != 0)
			(void)fputs("by annotations, as pinned", f);
		else if (g->classes != 0)
			say_classes(g->classes, f);
		else
			put_ref(p, g->name, f);
		say_gate_tail(p, g, f);
		put_at(p, g->at, f);
		(void)fputc('\n', f);
	}
	(void)fprintf(f,
	    "    deny  every other tool, resource, prompt; sampling %s, elicitation %s, "
	    "roots %s\n",
	    (s->flags & SERVER_MCP_SAMPLING) != 0 ? "allow" : "deny",
	    (s->flags & SERVER_MCP_ELICITATION) != 0 ? "allow" : "deny",
	    (s->flags & SERVER_MCP_ROOTS) != 0 ? "allow" : "deny");
}

/* Settings not listed above: hosts, system calls, audit, pins. */
static void
show_nets(const struct policy *p, const struct sealed_server *s, FILE *f)
{
	const struct sealed_net *n;
	uint32_t i;

	(void)fputs(s->nets.n == 0
			? "  network: none but its own loopback (network namespace, "
			  "seccomp BPF)\n"
			: "  network: its own loopback, and through kennel-egress and "
			  "kennel-dial (network namespace, seccomp BPF):\n",
	    f);
	for (i = 0; i < s->nets.n; i++) {
		n = &p->net[s->nets.first + i];
		(void)fputs("    ", f);
		say_net(p, n, f);
		put_at(p, n->at, f);
		(void)fputc('\n', f);
	}
}

static void
show_audits(const struct policy *p, const struct sealed_server *s, FILE *f)
{
	const struct sealed_audit *a;
	uint32_t i;

	for (i = 0; i < s->audits.n; i++) {
		a = &p->audit[s->audits.first + i];
		(void)fprintf(f, "  audit%s%s%s ",
		    (a->flags & AUDIT_ARGS_FULL) != 0 ? " args full" : "",
		    (a->flags & AUDIT_RESULT_FULL) != 0 ? " result full" : "",
		    (a->flags & AUDIT_SYNC_STRICT) != 0 ? " sync strict" : "");
		put_ref(p, a->name, f);
		put_at(p, a->at, f);
		(void)fputc('\n', f);
	}
	if (s->pins.n > 0)
		(void)fprintf(f, "  pins: %u definitions as reviewed\n", s->pins.n);
}

static void
show_calls(const struct policy *p, const struct sealed_server *s, FILE *f)
{
	const struct sealed_call *c;
	uint32_t i;

	for (i = 0; i < s->calls.n; i++) {
		c = &p->call[s->calls.first + i];
		(void)fprintf(f, "  system call %s (seccomp BPF): ",
		    policy_verdict_name((enum sealed_verdict)c->verdict));
		put_ref(p, c->name, f);
		say_exception_of(p, c->exception, f);
		put_at(p, c->at, f);
		(void)fputc('\n', f);
	}
}

static void
show_limits(const struct policy *p, const struct sealed_server *s, FILE *f)
{
	static const char *const unit[] = {
	    [LIMIT_MEMORY] = " bytes",
	    [LIMIT_PROCESSES] = "",
	    [LIMIT_FILES] = "",
	    [LIMIT_CPU] = " % of a core",
	    [LIMIT_OUTPUT] = " bytes",
	    [LIMIT_INPUT] = " bytes",
	    [TIMEOUT_CALL] = " ms",
	    [TIMEOUT_ASK] = " ms",
	    [TIMEOUT_START] = " ms",
	    [TIMEOUT_IDLE] = " ms",
	    [TIMEOUT_MOST] = " ms",
	};
	uint64_t value;
	int kind;

	(void)fputs(
	    "  limits (rlimits, a cgroup where one is delegated, deadlines)\n", f);
	for (kind = LIMIT_MEMORY; kind <= LIMIT_KIND_LAST; kind++) {
		value = policy_limit(p, s, (enum sealed_limit_kind)kind);
		if (value == 0)
			continue;
		(void)fprintf(f, "    %s %s %" PRIu64 "%s\n",
		    kind >= TIMEOUT_CALL ? "timeout" : "limit",
		    policy_limit_name((enum sealed_limit_kind)kind), value, unit[kind]);
	}
}

static void
show_requires(const struct policy *p, const struct sealed_server *s, FILE *f)
{
	const struct sealed_require *q;
	const struct sealed_filter *filter;
	uint32_t i;

	for (i = 0; i < s->requires.n; i++) {
		q = &p->require[s->requires.first + i];
		(void)fprintf(f, "  requires %s", say_require_name(q->kind));
		if (q->value != 0)
			(void)fprintf(f, " %u", q->value);
		put_at(p, q->at, f);
		(void)fputc('\n', f);
	}
	for (i = 0; i < s->filters.n; i++) {
		filter = &p->filter[s->filters.first + i];
		(void)policy_filter_tables(p, &filter); /* the row is enough here */
		(void)fprintf(f, "  seccomp BPF for %s: %u instructions\n",
		    policy_arch_name(filter->arch), filter->insns.n);
	}
}

static void
show_oneshot(const struct policy *p, const struct sealed_server *s, FILE *f)
{
	static const char *const by[] = {
	    [ONESHOT_STATED] = "oneshot", [ONESHOT_IMPLIED] = "a secret per call"};
	enum policy_oneshot oneshot = policy_oneshot(p, s);

	if (oneshot != ONESHOT_NO)
		(void)fprintf(f, "  each call gets its own process (%s)\n", by[oneshot]);
}

static void
show_tty(const struct sealed_server *s, FILE *f)
{
	if ((s->flags & SERVER_TTY) != 0)
		(void)fputs(
		    "  pseudo-terminals of its own (devpts on /dev/pts, seccomp BPF "
		    "without TIOCSTI)\n",
		    f);
}

static void
show_remote(const struct policy *p, const struct sealed_server *s, FILE *f)
{
	const char *url = policy_remote_url(p, s);

	if (url != NULL)
		(void)fprintf(f, "  a remote server: %s (through kennel-remote)\n", url);
	if ((s->flags & SERVER_LOGIN) != 0)
		(void)fputs("  a person logs in (kennel server login); the vault keeps "
			    "the refresh token\n",
		    f);
}

static void
show_server(const struct policy *p, const struct sealed_server *s, FILE *f)
{
	(void)fputs("\nserver ", f);
	put_ref(p, s->name, f);
	if (s->about.len != 0) {
		(void)fputs(": ", f);
		put_ref(p, s->about, f);
	}
	put_at(p, s->at, f);
	(void)fputs("\n  starts in ", f);
	put_ref(p, s->cwd, f);
	if (s->user.len != 0) {
		(void)fputs(" as user ", f);
		put_ref(p, s->user, f);
	}
	(void)fputc('\n', f);
	show_remote(p, s, f);
	show_oneshot(p, s, f);
	show_tty(s, f);
	show_nets(p, s, f);
	show_execs(p, s, f);
	show_files(p, s, f);
	show_envs(p, s, f);
	show_gates(p, s, f);
	show_limits(p, s, f);
	show_requires(p, s, f);
	show_calls(p, s, f);
	show_audits(p, s, f);
}

int
policy_show(const struct policy *p, const char *only, FILE *f)
{
	uint32_t i, shown = 0;

	(void)fputs("policy ", f);
	hex_print(f, p->id, POLICY_ID_LEN);
	(void)fputc('\n', f);
	for (i = 0; i < p->row_n[SEALED_SERVERS]; i++) {
		if (only != NULL && strcmp(only, policy_str(p, p->server[i].name)) != 0)
			continue;
		show_server(p, &p->server[i], f);
		shown++;
	}
	if (ferror(f))
		return -EIO;
	return only != NULL && shown == 0 ? -ENOENT : 0;
}
