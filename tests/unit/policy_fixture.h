/*
 * A small good policy, made row by row: what the policy tests start from.
 */
#ifndef KENNEL_TESTS_UNIT_POLICY_FIXTURE_H
#define KENNEL_TESTS_UNIT_POLICY_FIXTURE_H

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "policy/compile/write_sealed.h"
#include "shim/base/array.h"
#include "shim/base/buf.h"

static inline struct sealed_ref
fix_str(struct sealer *s, const char *text)
{
	return sealer_str(s, text, strlen(text));
}

static inline uint32_t
fix_arg(struct sealer *s, enum sealed_arg_kind kind, const char *text)
{
	struct sealed_arg a = {.kind = kind, .text = fix_str(s, text)};

	return sealer_row(s, SEALED_ARGS, &a, sizeof(a));
}

static inline uint32_t
fix_mount(struct sealer *s, struct sealed_at at, enum sealed_mount_kind kind,
    const char *source, const char *target, uint32_t right)
{
	struct sealed_mount m = {.kind = kind,
	    .source = fix_str(s, source),
	    .target = fix_str(s, target),
	    .right = right,
	    .why = WHY_BASE,
	    .at = at,
	    .size = kind == MOUNT_TMPFS || kind == MOUNT_SHM ? 4096 : 0};

	return sealer_row(s, SEALED_MOUNTS, &m, sizeof(m));
}

/* Allows read, asks about execs; the wrong architecture and x32 numbers kill. */
static inline struct sealed_range
fix_filter(struct sealer *s)
{
	static const struct sealed_insn insn[] = {
	    {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, arch)},
	    {BPF_JMP | BPF_JEQ | BPF_K, 0, 9, AUDIT_ARCH_X86_64},
	    {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr)},
	    {BPF_JMP | BPF_JGE | BPF_K, 0, 1, 0x40000000},
	    {BPF_JMP | BPF_JEQ | BPF_K, 0, 6, 0xffffffff},
	    {BPF_JMP | BPF_JEQ | BPF_K, 3, 0, 0},
	    {BPF_JMP | BPF_JEQ | BPF_K, 3, 0, 59},
	    {BPF_JMP | BPF_JEQ | BPF_K, 2, 0, 322},
	    {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | 38},
	    {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
	    {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_USER_NOTIF},
	    {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS},
	};
	static const struct {
		const char *name;
		uint32_t nr, action;
	} rows[] = {
	    {"read", 0, SECCOMP_RET_ALLOW},
	    {"execve", 59, SECCOMP_RET_USER_NOTIF},
	    {"execveat", 322, SECCOMP_RET_USER_NOTIF},
	};
	struct sealed_filter f = {.arch = AUDIT_ARCH_X86_64};
	struct sealed_syscall row = {.compares.n = 0};
	struct sealed_range range = {.n = 1};
	size_t i;

	f.insns.first = sealer_rows(s, SEALED_INSNS);
	f.insns.n = ARRAY_LEN(insn);
	for (i = 0; i < f.insns.n; i++)
		(void)sealer_row(s, SEALED_INSNS, &insn[i], sizeof(insn[i]));
	f.syscalls.first = sealer_rows(s, SEALED_SYSCALLS);
	f.syscalls.n = ARRAY_LEN(rows);
	for (i = 0; i < f.syscalls.n; i++) {
		row.name = fix_str(s, rows[i].name);
		row.nr = rows[i].nr;
		row.action = rows[i].action;
		(void)sealer_row(s, SEALED_SYSCALLS, &row, sizeof(row));
	}
	range.first = sealer_row(s, SEALED_FILTERS, &f, sizeof(f));
	return range;
}

/* One exec row; args and prefix must be the last ARGS rows, args first. */
static inline uint32_t
fix_exec(struct sealer *s, struct sealed_at at, uint32_t asked, uint32_t mapped,
    uint32_t args_n, uint32_t prefix_n, enum sealed_verdict v, uint32_t flags)
{
	uint32_t end = sealer_rows(s, SEALED_ARGS);
	struct sealed_exec e = {.args = {end - args_n - prefix_n, args_n},
	    .prefix = {end - prefix_n, prefix_n},
	    .at = at,
	    .asked = asked,
	    .mapped = mapped,
	    .verdict = v,
	    .exception = SEALED_NONE,
	    .flags = flags};

	return sealer_row(s, SEALED_EXECS, &e, sizeof(e));
}

static inline uint32_t
fix_image(struct sealer *s, struct sealed_at at, const char *path, const char *real)
{
	struct sealed_image m = {
	    .path = fix_str(s, path), .real = fix_str(s, real), .at = at};

	return sealer_row(s, SEALED_IMAGES, &m, sizeof(m));
}

static inline void
fix_mounts(struct sealer *s, struct sealed_at at)
{
	(void)fix_mount(s, at, MOUNT_DIR, "", "/usr", RIGHT_NONE);
	(void)fix_mount(s, at, MOUNT_DIR, "", "/usr/bin", RIGHT_NONE);
	(void)fix_mount(s, at, MOUNT_SYMLINK, "usr/bin", "/bin", RIGHT_NONE);
	(void)fix_mount(s, at, MOUNT_TMPFS, "", "/tmp", RIGHT_READ | RIGHT_WRITE);
	(void)fix_mount(s, at, MOUNT_FILE, "/usr/bin/dash", "/usr/bin/dash",
	    RIGHT_READ | RIGHT_START);
	(void)fix_mount(s, at, MOUNT_TREE, "/srv", "/srv", RIGHT_READ | RIGHT_WRITE);
	(void)fix_mount(s, at, MOUNT_HIDE, "", "/srv/x/secret", RIGHT_NONE);
}

/* A server with at least one row of everything it may have. */
static inline void
fix_server(struct sealer *s, const char *name, struct sealed_range filters)
{
	struct sealed_at at = {0, 7};
	struct sealed_server server = {.name = fix_str(s, name),
	    .about = fix_str(s, "for tests"),
	    .cwd = fix_str(s, "/tmp"),
	    .at = at,
	    .filters = filters};
	struct sealed_env env = {.name = fix_str(s, "PATH"),
	    .value = fix_str(s, "/usr/bin"),
	    .at = at,
	    .fixed = 1};
	struct sealed_env env2 = {.name = fix_str(s, "LANG"), .at = at, .passed = 1};
	struct sealed_secret file = {.name = fix_str(s, "TOKEN"),
	    .ref = fix_str(s, "/run/token"),
	    .source = SOURCE_FILE,
	    .at = at};
	struct sealed_secret cmd = {
	    .name = fix_str(s, "PASS"), .source = SOURCE_CMD, .at = at};
	struct sealed_gate gate = {.name = fix_str(s, "read_*"),
	    .at = at,
	    .kind = GATE_TOOL,
	    .verdict = 1,
	    .exception = SEALED_NONE};
	struct sealed_limit limit = {.kind = LIMIT_MEMORY, .value = 1 << 20, .at = at};
	struct sealed_limit call = {.kind = TIMEOUT_CALL, .value = 1000, .at = at};
	struct sealed_require require = {.kind = REQUIRE_LANDLOCK, .value = 1, .at = at};
	uint32_t sh, tool;

	server.mounts.first = sealer_rows(s, SEALED_MOUNTS);
	fix_mounts(s, at);
	server.mounts.n = sealer_rows(s, SEALED_MOUNTS) - server.mounts.first;
	server.envs =
	    (struct sealed_range){sealer_row(s, SEALED_ENVS, &env, sizeof(env)), 2};
	(void)sealer_row(s, SEALED_ENVS, &env2, sizeof(env2));
	server.secrets.first = sealer_row(s, SEALED_SECRETS, &file, sizeof(file));
	server.secrets.n = 2;
	cmd.args = (struct sealed_range){fix_arg(s, ARG_LITERAL, "/usr/bin/pass"), 1};
	(void)sealer_row(s, SEALED_SECRETS, &cmd, sizeof(cmd));
	server.images.first = sh = fix_image(s, at, "/bin/sh", "/usr/bin/dash");
	tool = fix_image(s, at, "/usr/bin/tool", "/usr/bin/tool");
	server.images.n = 2;
	(void)fix_arg(s, ARG_LITERAL, "-c");
	(void)fix_arg(s, ARG_REST, "");
	server.execs.first = server.run =
	    fix_exec(s, at, sh, sh, 2, 0, VERDICT_ALLOW, EXEC_FROM_RUN);
	(void)fix_arg(s, ARG_ANY, "");
	(void)fix_arg(s, ARG_LITERAL, "/bin/sh");
	(void)fix_arg(s, ARG_LITERAL, "/usr/bin/tool");
	(void)fix_exec(s, at, tool, sh, 1, 2, VERDICT_ALLOW, 0);
	server.execs.n = 2;
	server.gates =
	    (struct sealed_range){sealer_row(s, SEALED_GATES, &gate, sizeof(gate)), 1};
	server.limits.first = sealer_row(s, SEALED_LIMITS, &call, sizeof(call));
	(void)sealer_row(s, SEALED_LIMITS, &limit, sizeof(limit));
	server.limits.n = 2;
	server.requires = (struct sealed_range){
	    sealer_row(s, SEALED_REQUIRES, &require, sizeof(require)), 1};
	(void)sealer_row(s, SEALED_SERVERS, &server, sizeof(server));
}

/* Two servers, "b" first: the sealer has to sort. */
static inline int
fix_policy(struct buf *out)
{
	struct sealer *s = sealer_new();
	struct sealed_ref file;
	struct sealed_range filters;
	int r;

	if (s == NULL)
		return -1;
	file = fix_str(s, "test.kennel");
	(void)sealer_row(s, SEALED_FILES, &file, sizeof(file));
	filters = fix_filter(s);
	fix_server(s, "b", filters);
	fix_server(s, "a", filters);
	r = sealer_finish(s, out);
	if (r < 0)
		fprintf(stderr, "fixture: %d: %s\n", r, sealer_why(s));
	sealer_free(s);
	return r;
}

#endif
