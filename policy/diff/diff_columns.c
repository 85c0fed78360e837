/*
 * Every column of a sealed file, and which file of this directory compares it.
 *
 * No difference gives a secret away (supervisor/launch/regrant.c), so a column that the
 * table does not have makes every pair of policies differ.  tests/unit/test_diff_columns.c
 * changes each column of each row, and demands a difference.
 */
#include "policy/diff/diff.h"
#include "policy/sealed/fields.h"
#include "shim/base/array.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define BY(file)     COLUMN_COMPARED, file
#define NOTHING(why) COLUMN_NOTHING, why
#define C(member, how) \
	{ \
		KIND, offsetof(struct ROW, member), how \
	}

#define WHOLE(kind, how) \
	{ \
		kind, 0, how \
	}

static const struct {
	uint8_t kind;
	uint16_t at;
	enum column_is is;
	const char *note;
} columns[] = {
    WHOLE(SEALED_FILES, NOTHING("names of policy files, for people")),
    WHOLE(SEALED_REFS, BY("that of the row which refers to it")),
    WHOLE(SEALED_SLOTS, NOTHING("an index of rows: the loader checks it against them")),
#define KIND SEALED_SERVERS
#define ROW  sealed_server
    C(name, NOTHING("the servers of both sides are paired by it")),
    C(about, NOTHING("a text for people and agents")),
    C(cwd, BY("settings_rows.c")),
    C(user, BY("settings_rows.c")),
    C(at, NOTHING("the position of a line, for people")),
    C(flags, BY("settings_rows.c")),
    C(run, BY("settings_rows.c")),
    C(envs, BY("that of its rows")),
    C(secrets, BY("that of its rows")),
    C(mounts, BY("that of its rows")),
    C(images, NOTHING("a part of a table: its rows are compared where they are used")),
    C(execs, BY("that of its rows")),
    C(gates, BY("that of its rows")),
    C(limits, BY("that of its rows")),
    C(requires, BY("that of its rows")),
    C(filters, BY("that of its rows")),
    C(args, NOTHING("a part of a table: its rows are compared where they are used")),
    C(refs, NOTHING("a part of a table: its rows are compared where they are used")),
    C(nets, BY("that of its rows")),
    C(conds, NOTHING("a part of a table: its rows are compared where they are used")),
    C(steps, NOTHING("a part of a table: its rows are compared where they are used")),
    C(values, NOTHING("a part of a table: its rows are compared where they are used")),
    C(pins, BY("that of its rows")),
    C(audits, BY("that of its rows")),
    C(calls, BY("that of its rows")),
    C(excepts, NOTHING("a part of a table: its rows are compared where they are used")),
    C(exceptions,
	NOTHING("a part of a table: its rows are compared where they are used")),
    C(exec_slots, NOTHING("an index of rows: the loader checks it against them")),
    C(gate_slots, NOTHING("an index of rows: the loader checks it against them")),
    C(net_slots, NOTHING("an index of rows: the loader checks it against them")),
    C(exec_depths, NOTHING("an index of rows: the loader checks it against them")),
    C(gate_depths, NOTHING("an index of rows: the loader checks it against them")),
#undef KIND
#undef ROW
#define KIND SEALED_ENVS
#define ROW  sealed_env
    C(name, BY("settings_rows.c")),
    C(value, BY("settings_rows.c")),
    C(at, NOTHING("the position of a line, for people")),
    C(passed, BY("settings_rows.c")),
    C(fixed, BY("settings_rows.c")),
#undef KIND
#undef ROW
#define KIND SEALED_SECRETS
#define ROW  sealed_secret
    C(name, BY("settings_rows.c")),
    C(ref, BY("settings_rows.c")),
    C(args, BY("settings_rows.c")),
    C(hosts, BY("settings_rows.c")),
    C(at, NOTHING("the position of a line, for people")),
    C(source, BY("settings_rows.c")),
    C(approve, BY("settings_rows.c")),
    C(flags, BY("settings_rows.c")),
    C(factor, BY("settings_rows.c")),
    C(path, BY("settings_rows.c")),
#undef KIND
#undef ROW
#define KIND SEALED_MOUNTS
#define ROW  sealed_mount
    C(source, BY("diff_net_paths.c")),
    C(target, BY("diff_net_paths.c")),
    C(at, NOTHING("the position of a line, for people")),
    C(kind, BY("diff_net_paths.c")),
    C(right, BY("diff_net_paths.c")),
    C(why, NOTHING("which line or program a mount is for; the mount itself is compared")),
    C(optional, BY("settings_mounts.c")),
    C(size, BY("settings_mounts.c")),
#undef KIND
#undef ROW
#define KIND SEALED_IMAGES
#define ROW  sealed_image
    C(path, BY("settings_rows.c")),
    C(real, BY("settings_rows.c")),
    C(at, NOTHING("the position of a line, for people")),
    C(sha256, BY("settings_rows.c")),
#undef KIND
#undef ROW
#define KIND SEALED_EXECS
#define ROW  sealed_exec
    C(args, BY("diff_exec.c")),
    C(prefix, BY("settings_rows.c")),
    C(excepts, BY("diff_exec.c")),
    C(from, BY("diff_exec.c")),
    C(env, BY("diff_exec.c")),
    C(in, BY("diff_exec.c")),
    C(because, NOTHING("a text for people and agents")),
    C(instead, NOTHING("a text for people and agents")),
    C(at, NOTHING("the position of a line, for people")),
    C(asked, BY("diff_exec.c")),
    C(mapped, BY("settings_rows.c")),
    C(verdict, BY("diff_exec.c")),
    C(flags, NOTHING("`run` or `exec` in messages; the loader demands it of the line "
		     "that starts the server")),
    C(exception, BY("diff_dates.c")),
    C(factor, BY("diff_exec.c")),
#undef KIND
#undef ROW
#define KIND SEALED_ARGS
#define ROW  sealed_arg
    C(text, BY("diff_exec.c")),
    C(kind, BY("diff_exec.c")),
    C(reserved, NOTHING("always 0")),
#undef KIND
#undef ROW
#define KIND SEALED_GATES
#define ROW  sealed_gate
    C(name, BY("diff_mcp.c")),
    C(because, NOTHING("a text for people and agents")),
    C(instead, NOTHING("a text for people and agents")),
    C(conds, BY("diff_mcp.c")),
    C(excepts, BY("diff_mcp.c")),
    C(at, NOTHING("the position of a line, for people")),
    C(kind, BY("diff_mcp.c")),
    C(verdict, BY("diff_mcp.c")),
    C(classes, BY("diff_mcp.c")),
    C(flags, BY("diff_mcp.c")),
    C(exception, BY("diff_dates.c")),
    C(rate, BY("diff_limits.c")),
    C(rate_ms, BY("diff_limits.c")),
    C(quota, BY("diff_limits.c")),
#undef KIND
#undef ROW
#define KIND SEALED_LIMITS
#define ROW  sealed_limit
    C(at, NOTHING("the position of a line, for people")),
    C(kind, BY("settings_rows.c")),
    C(reserved, NOTHING("always 0")),
    C(value, BY("settings_rows.c")),
#undef KIND
#undef ROW
#define KIND SEALED_REQUIRES
#define ROW  sealed_require
    C(at, NOTHING("the position of a line, for people")),
    C(kind, BY("settings_rows.c")),
    C(value, BY("settings_rows.c")),
#undef KIND
#undef ROW
#define KIND SEALED_FILTERS
#define ROW  sealed_filter
    C(insns, BY("settings_filters.c")),
    C(syscalls, BY("settings_filters.c")),
    C(sha256,
	NOTHING("names the default filter of the build, whose program is compared")),
    C(arch, BY("settings_filters.c")),
    C(reserved, NOTHING("always 0")),
#undef KIND
#undef ROW
#define KIND SEALED_INSNS
#define ROW  sealed_insn
    C(code, BY("settings_filters.c")),
#undef KIND
#undef ROW
#define KIND SEALED_NETS
#define ROW  sealed_net
    C(host, BY("diff_net_paths.c")),
    C(because, NOTHING("a text for people and agents")),
    C(instead, NOTHING("a text for people and agents")),
    C(at, NOTHING("the position of a line, for people")),
    C(addr, BY("diff_net_paths.c")),
    C(scope_addr, BY("diff_net_paths.c")),
    C(prefix, BY("diff_net_paths.c")),
    C(scope_prefix, BY("diff_net_paths.c")),
    C(kind, BY("diff_net_paths.c")),
    C(verdict, BY("diff_net_paths.c")),
    C(port_first, BY("diff_net_paths.c")),
    C(port_last, BY("diff_net_paths.c")),
    C(scope, BY("diff_net_paths.c")),
    C(proto, BY("diff_net_paths.c")),
    C(exception, BY("diff_dates.c")),
    C(factor, BY("diff_net_paths.c")),
#undef KIND
#undef ROW
#define KIND SEALED_CONDS
#define ROW  sealed_cond
    C(steps, BY("diff_arguments.c")),
    C(values, BY("diff_arguments.c")),
    C(at, NOTHING("the position of a line, for people")),
    C(op, BY("diff_arguments.c")),
    C(reserved, NOTHING("always 0")),
#undef KIND
#undef ROW
#define KIND SEALED_STEPS
#define ROW  sealed_step
    C(key, BY("diff_arguments.c")),
    C(index, BY("diff_arguments.c")),
    C(is_index, BY("diff_arguments.c")),
#undef KIND
#undef ROW
#define KIND SEALED_VALUES
#define ROW  sealed_value
    C(text, BY("diff_arguments.c")),
    C(type, BY("diff_arguments.c")),
    C(reserved, NOTHING("always 0")),
#undef KIND
#undef ROW
#define KIND SEALED_PINS
#define ROW  sealed_pin
    C(name, BY("settings_rows.c")),
    C(variant, BY("settings_rows.c")),
    C(body, NOTHING("its digest is compared, which the loader checks")),
    C(sha256, BY("settings_rows.c")),
    C(kind, BY("settings_rows.c")),
    C(classes, BY("settings_rows.c")),
#undef KIND
#undef ROW
#define KIND SEALED_AUDITS
#define ROW  sealed_audit
    C(name, BY("settings_rows.c")),
    C(at, NOTHING("the position of a line, for people")),
    C(kind, BY("settings_rows.c")),
    C(flags, BY("settings_rows.c")),
#undef KIND
#undef ROW
#define KIND SEALED_CALLS
#define ROW  sealed_call
    C(name, BY("settings_filters.c")),
    C(because, NOTHING("a text for people and agents")),
    C(at, NOTHING("the position of a line, for people")),
    C(verdict, BY("settings_filters.c")),
    C(exception, BY("settings_filters.c")),
#undef KIND
#undef ROW
#define KIND SEALED_SYSCALLS
#define ROW  sealed_syscall
    C(name, BY("settings_filters.c")),
    C(compares, BY("settings_filters.c")),
    C(nr, BY("settings_filters.c")),
    C(action, BY("settings_filters.c")),
#undef KIND
#undef ROW
#define KIND SEALED_COMPARES
#define ROW  sealed_compare
    C(arg, BY("settings_filters.c")),
    C(op, BY("settings_filters.c")),
    C(mask, BY("settings_filters.c")),
    C(value, BY("settings_filters.c")),
#undef KIND
#undef ROW
#define KIND SEALED_EXCEPTS
#define ROW  sealed_except
    C(args, BY("diff_exec.c")),
#undef KIND
#undef ROW
#define KIND SEALED_EXCEPTIONS
#define ROW  sealed_exception
    C(owner, NOTHING("who answers for an exception, for people")),
    C(ticket, NOTHING("where an exception was decided, for people")),
    C(at, NOTHING("the position of a line, for people")),
    C(until, BY("diff_dates.c")),
    C(reserved, NOTHING("always 0")),
#undef KIND
#undef ROW
};

struct column
diff_column(const struct sealed_field *f)
{
	struct column c = {.kind = f->kind, .at = f->at};

	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		if (columns[i].kind == f->kind && columns[i].at == f->at) {
			c.is = columns[i].is;
			c.note = columns[i].note;
		}
	return c;
}

int
diff_columns(struct diff *d, const struct sealed_field *f)
{
	struct finding unknown = {.domain = "column", .way = DIFF_WIDER};
	char name[64];
	int r = 0;

	for (; f->kind < SEALED_KIND_END && r == 0; f++) {
		if (diff_column(f).is != COLUMN_UNKNOWN)
			continue;
		(void)snprintf(
		    name, sizeof(name), "%s, byte %u", field_kind[f->kind].name, f->at);
		unknown.set = strdup(name);
		r = unknown.set == NULL ? -ENOMEM : diff_found(d, &unknown);
	}
	return r;
}
