/*
 * Every field of every row of a sealed file, and its constraints.  A byte of a
 * row that no line here covers would not be checked by any code: a unit test
 * adds up the sizes.
 */
#include <stdbool.h>

#include "policy/sealed/fields.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"

#include "policy/sealed/load.h"

#define FIELD(kind, row, member, is, lo, hi) \
	{ \
		kind, is, offsetof(struct sealed_##row, member), lo, hi \
	}
#define ANY UINT32_MAX

const struct sealed_field sealed_fields[] = {
    {SEALED_FILES, FIELD_TEXT, 0, 0, 0},

#define F(member, is, lo, hi) FIELD(SEALED_SERVERS, server, member, is, lo, hi)
#define PART(member, kind)    F(member, FIELD_RANGE, kind, ANY)
    F(name, FIELD_NAME, 0, 0),
    F(about, FIELD_TEXT, 0, 0),
    F(cwd, FIELD_PATH, 0, 0),
    F(user, FIELD_MAY_NAME, 0, 0),
    F(at, FIELD_AT, 0, 0),
    F(flags, FIELD_FLAGS, 0,
	SERVER_NO_PROC | SERVER_MCP_SAMPLING | SERVER_MCP_ELICITATION | SERVER_MCP_ROOTS |
	    SERVER_ONESHOT | SERVER_REMOTE | SERVER_LOGIN | SERVER_TTY),
    F(run, FIELD_ROW, SEALED_EXECS, 0),
    PART(envs, SEALED_ENVS),
    PART(secrets, SEALED_SECRETS),
    F(mounts, FIELD_RANGE, SEALED_MOUNTS, SEALED_MOUNTS_MAX),
    PART(images, SEALED_IMAGES),
    PART(execs, SEALED_EXECS),
    PART(gates, SEALED_GATES),
    PART(limits, SEALED_LIMITS),
    PART(requires, SEALED_REQUIRES),
    F(filters, FIELD_SHARED, SEALED_FILTERS, SEALED_FILTERS_MAX),
    PART(args, SEALED_ARGS),
    PART(refs, SEALED_REFS),
    PART(nets, SEALED_NETS),
    PART(conds, SEALED_CONDS),
    PART(steps, SEALED_STEPS),
    PART(values, SEALED_VALUES),
    PART(pins, SEALED_PINS),
    PART(audits, SEALED_AUDITS),
    PART(calls, SEALED_CALLS),
    PART(excepts, SEALED_EXCEPTS),
    PART(exceptions, SEALED_EXCEPTIONS),
    PART(exec_slots, SEALED_SLOTS),
    PART(gate_slots, SEALED_SLOTS),
    PART(net_slots, SEALED_SLOTS),
    F(exec_depths, FIELD_LONG, 0, 0),
    F(gate_depths, FIELD_LONG, 0, 0),
#undef PART
#undef F

#define F(member, is, lo, hi) FIELD(SEALED_ENVS, env, member, is, lo, hi)
    F(name, FIELD_VARIABLE, 0, 0),
    F(value, FIELD_TEXT, 0, 0),
    F(at, FIELD_AT, 0, 0),
    F(passed, FIELD_NUMBER, 0, 1),
    F(fixed, FIELD_NUMBER, 0, 1),
#undef F

#define F(member, is, lo, hi) FIELD(SEALED_SECRETS, secret, member, is, lo, hi)
    F(name, FIELD_VARIABLE, 0, 0),
    F(ref, FIELD_TEXT, 0, 0),
    F(args, FIELD_RANGE, SEALED_ARGS, ANY),
    F(hosts, FIELD_RANGE, SEALED_REFS, ANY),
    F(at, FIELD_AT, 0, 0),
    F(source, FIELD_NUMBER, SOURCE_ENV, SOURCE_PLUGIN),
    F(approve, FIELD_NUMBER, APPROVE_NONE, APPROVE_PER_CALL),
    F(flags, FIELD_FLAGS, 0, SECRET_FLAGS),
    F(factor, FIELD_NUMBER, FACTOR_NONE, FACTOR_KEY),
    F(path, FIELD_TEXT, 0, 0),
#undef F

#define F(member, is, lo, hi) FIELD(SEALED_MOUNTS, mount, member, is, lo, hi)
    F(source, FIELD_TEXT, 0, 0),
    F(target, FIELD_PATH, 0, 0),
    F(at, FIELD_AT, 0, 0),
    F(kind, FIELD_NUMBER, MOUNT_DIR, MOUNT_HIDE),
    F(right, FIELD_FLAGS, 0, RIGHT_READ | RIGHT_START | RIGHT_WRITE | RIGHT_DEVICE),
    F(why, FIELD_NUMBER, WHY_BASE, WHY_AGENT),
    F(optional, FIELD_NUMBER, 0, 1),
    F(size, FIELD_LONG, 0, 0),
#undef F

#define F(member, is, lo, hi) FIELD(SEALED_IMAGES, image, member, is, lo, hi)
    F(path, FIELD_PATH, 0, 0),
    F(real, FIELD_PATH, 0, 0),
    F(at, FIELD_AT, 0, 0),
    F(sha256, FIELD_BYTES, 32, 0),
#undef F

#define F(member, is, lo, hi) FIELD(SEALED_EXECS, exec, member, is, lo, hi)
    F(args, FIELD_RANGE, SEALED_ARGS, ANY),
    F(prefix, FIELD_RANGE, SEALED_ARGS, ANY),
    F(excepts, FIELD_RANGE, SEALED_EXCEPTS, ANY),
    F(from, FIELD_RANGE, SEALED_REFS, ANY),
    F(env, FIELD_RANGE, SEALED_REFS, ANY),
    F(in, FIELD_MAY_PATH, 0, 0),
    F(because, FIELD_TEXT, 0, 0),
    F(instead, FIELD_TEXT, 0, 0),
    F(at, FIELD_AT, 0, 0),
    F(asked, FIELD_ROW, SEALED_IMAGES, 0),
    F(mapped, FIELD_ROW, SEALED_IMAGES, 0),
    F(verdict, FIELD_NUMBER, VERDICT_DENY, VERDICT_ASK),
    F(flags, FIELD_FLAGS, 0, EXEC_FROM_RUN),
    F(exception, FIELD_MAY_ROW, SEALED_EXCEPTIONS, 0),
    F(factor, FIELD_NUMBER, FACTOR_NONE, FACTOR_KEY),
#undef F

#define F(member, is, lo, hi) FIELD(SEALED_ARGS, arg, member, is, lo, hi)
    F(text, FIELD_TEXT, 0, 0),
    F(kind, FIELD_NUMBER, ARG_LITERAL, ARG_OPTIONS),
    F(reserved, FIELD_NUMBER, 0, 0),
#undef F

#define F(member, is, lo, hi) FIELD(SEALED_GATES, gate, member, is, lo, hi)
    F(name, FIELD_TEXT, 0, 0),
    F(because, FIELD_TEXT, 0, 0),
    F(instead, FIELD_TEXT, 0, 0),
    F(conds, FIELD_RANGE, SEALED_CONDS, ANY),
    F(excepts, FIELD_RANGE, SEALED_REFS, ANY),
    F(at, FIELD_AT, 0, 0),
    F(kind, FIELD_NUMBER, GATE_TOOL, GATE_METHOD),
    F(verdict, FIELD_NUMBER, VERDICT_DENY, VERDICT_ASK),
    F(classes, FIELD_FLAGS, 0, SEALED_CLASSES),
    F(flags, FIELD_FLAGS, 0, GATE_BY_ANNOTATIONS | GATE_PASSPHRASE | GATE_KEY),
    F(exception, FIELD_MAY_ROW, SEALED_EXCEPTIONS, 0),
    F(rate, FIELD_NUMBER, 0, CALL_RATE_MAX),
    F(rate_ms, FIELD_NUMBER, 0, CALL_RATE_MS_MAX),
    F(quota, FIELD_NUMBER, 0, CALL_QUOTA_MAX),
#undef F

#define F(member, is, lo, hi) FIELD(SEALED_LIMITS, limit, member, is, lo, hi)
    F(at, FIELD_AT, 0, 0),
    F(kind, FIELD_NUMBER, LIMIT_MEMORY, LIMIT_KIND_LAST),
    F(reserved, FIELD_NUMBER, 0, 0),
    F(value, FIELD_LONG, 0, 0),
#undef F

#define F(member, is, lo, hi) FIELD(SEALED_REQUIRES, require, member, is, lo, hi)
    F(at, FIELD_AT, 0, 0),
    F(kind, FIELD_NUMBER, REQUIRE_LANDLOCK, REQUIRE_SUBUID),
    F(value, FIELD_NUMBER, 0, ANY),
#undef F

#define F(member, is, lo, hi) FIELD(SEALED_FILTERS, filter, member, is, lo, hi)
    F(insns, FIELD_RANGE, SEALED_INSNS, SEALED_INSNS_MAX),
    F(syscalls, FIELD_RANGE, SEALED_SYSCALLS, SEALED_SYSCALLS_MAX),
    F(sha256, FIELD_BYTES, 32, 0),
    F(arch, FIELD_NUMBER, 0, ANY),
    F(reserved, FIELD_NUMBER, 0, 0),
#undef F

#define F(member, is, lo, hi) FIELD(SEALED_INSNS, insn, member, is, lo, hi)
    F(code, FIELD_BYTES, sizeof(struct sealed_insn), 0),
#undef F

    {SEALED_REFS, FIELD_SOME, 0, 0, 0},

#define F(member, is, lo, hi) FIELD(SEALED_NETS, net, member, is, lo, hi)
    F(host, FIELD_SOME, 0, 0),
    F(because, FIELD_TEXT, 0, 0),
    F(instead, FIELD_TEXT, 0, 0),
    F(at, FIELD_AT, 0, 0),
    F(addr, FIELD_BYTES, 16, 0),
    F(scope_addr, FIELD_BYTES, 16, 0),
    F(prefix, FIELD_NUMBER, 0, 128),
    F(scope_prefix, FIELD_NUMBER, 0, 128),
    F(kind, FIELD_NUMBER, HOST_EXACT, HOST_CIDR),
    F(verdict, FIELD_NUMBER, VERDICT_DENY, VERDICT_ASK),
    F(port_first, FIELD_NUMBER, 1, 65535),
    F(port_last, FIELD_NUMBER, 1, 65535),
    F(scope, FIELD_NUMBER, NET_PUBLIC, NET_CIDR),
    F(proto, FIELD_NUMBER, NET_TLS, NET_STARTTLS_MYSQL),
    F(exception, FIELD_MAY_ROW, SEALED_EXCEPTIONS, 0),
    F(factor, FIELD_NUMBER, FACTOR_NONE, FACTOR_KEY),
#undef F

#define F(member, is, lo, hi) FIELD(SEALED_CONDS, cond, member, is, lo, hi)
    F(steps, FIELD_RANGE, SEALED_STEPS, ANY),
    F(values, FIELD_RANGE, SEALED_VALUES, ANY),
    F(at, FIELD_AT, 0, 0),
    F(op, FIELD_NUMBER, COND_EQ, COND_NOT),
    F(reserved, FIELD_NUMBER, 0, 0),
#undef F

#define F(member, is, lo, hi) FIELD(SEALED_STEPS, step, member, is, lo, hi)
    F(key, FIELD_TEXT, 0, 0),
    F(index, FIELD_NUMBER, 0, ANY),
    F(is_index, FIELD_NUMBER, 0, 1),
#undef F

#define F(member, is, lo, hi) FIELD(SEALED_VALUES, value, member, is, lo, hi)
    F(text, FIELD_TEXT, 0, 0),
    F(type, FIELD_NUMBER, VALUE_NULL, VALUE_STRING),
    F(reserved, FIELD_NUMBER, 0, 0),
#undef F

#define F(member, is, lo, hi) FIELD(SEALED_PINS, pin, member, is, lo, hi)
    F(name, FIELD_TEXT, 0, 0),
    F(variant, FIELD_TEXT, 0, 0),
    F(body, FIELD_SOME, 0, 0),
    F(sha256, FIELD_BYTES, 32, 0),
    F(kind, FIELD_NUMBER, PIN_TOOL, PIN_SERVER_INFO),
    F(classes, FIELD_FLAGS, 0, SEALED_CLASSES),
#undef F

#define F(member, is, lo, hi) FIELD(SEALED_AUDITS, audit, member, is, lo, hi)
    F(name, FIELD_TEXT, 0, 0),
    F(at, FIELD_AT, 0, 0),
    F(kind, FIELD_NUMBER, 0, GATE_ROOTS),
    F(flags, FIELD_FLAGS, 0, AUDIT_ARGS_FULL | AUDIT_RESULT_FULL | AUDIT_SYNC_STRICT),
#undef F

#define F(member, is, lo, hi) FIELD(SEALED_CALLS, call, member, is, lo, hi)
    F(name, FIELD_NAME, 0, 0),
    F(because, FIELD_TEXT, 0, 0),
    F(at, FIELD_AT, 0, 0),
    F(verdict, FIELD_NUMBER, VERDICT_DENY, VERDICT_ALLOW),
    F(exception, FIELD_MAY_ROW, SEALED_EXCEPTIONS, 0),
#undef F

#define F(member, is, lo, hi) FIELD(SEALED_SYSCALLS, syscall, member, is, lo, hi)
    F(name, FIELD_NAME, 0, 0),
    F(compares, FIELD_RANGE, SEALED_COMPARES, SEALED_COMPARES_MAX),
    F(nr, FIELD_NUMBER, 0, 0x3fffffff),
    F(action, FIELD_NUMBER, 0, ANY),
#undef F

#define F(member, is, lo, hi) FIELD(SEALED_COMPARES, compare, member, is, lo, hi)
    F(arg, FIELD_NUMBER, 0, 5),
    F(op, FIELD_NUMBER, COMPARE_EQ, COMPARE_GT),
    F(mask, FIELD_LONG, 0, 0),
    F(value, FIELD_LONG, 0, 0),
#undef F

#define F(member, is, lo, hi) FIELD(SEALED_EXCEPTS, except, member, is, lo, hi)
    F(args, FIELD_RANGE, SEALED_ARGS, ANY),
#undef F

#define F(member, is, lo, hi) FIELD(SEALED_EXCEPTIONS, exception, member, is, lo, hi)
    F(owner, FIELD_SOME, 0, 0),
    F(ticket, FIELD_SOME, 0, 0),
    F(at, FIELD_AT, 0, 0),
    F(until, FIELD_NUMBER, 1, ANY),
    F(reserved, FIELD_NUMBER, 0, 0),
#undef F

    {SEALED_SLOTS, FIELD_NUMBER, 0, 0, ANY},
    {.kind = SEALED_KIND_END},
};

#define O(kind, row, member, text) \
	{ \
		kind, text, offsetof(struct sealed_##row, member) \
	}
const struct sealed_order sealed_orders[] = {
    O(SEALED_SERVERS, server, name, true),
    O(SEALED_ENVS, env, name, true),
    O(SEALED_SECRETS, secret, name, true),
    /* the paths of one file are adjacent */
    O(SEALED_IMAGES, image, real, true),
    O(SEALED_IMAGES, image, path, true),
    O(SEALED_LIMITS, limit, kind, false),
    O(SEALED_REQUIRES, require, kind, false),
    O(SEALED_PINS, pin, kind, false),
    O(SEALED_PINS, pin, name, true),
    O(SEALED_PINS, pin, variant, true),
    O(SEALED_CALLS, call, name, true),
    {.kind = SEALED_KIND_END},
};
#undef O

bool
sealed_is_ordered(uint32_t kind)
{
	const struct sealed_order *o;

	for (o = sealed_orders; o->kind < SEALED_KIND_END && o->kind != kind; o++)
		;
	return o->kind == kind;
}

#define KIND(kind, type, name) \
	[kind] = {#name, sizeof(type), offsetof(struct policy, name), false}
#define PARTS(kind, type, name) \
	[kind] = {#name, sizeof(type), offsetof(struct policy, name), true}
const struct field_kind field_kind[SEALED_KIND_END] = {
    KIND(SEALED_STRINGS, char, strings),
    KIND(SEALED_FILES, struct sealed_ref, file),
    KIND(SEALED_SERVERS, struct sealed_server, server),
    KIND(SEALED_ENVS, struct sealed_env, env),
    KIND(SEALED_SECRETS, struct sealed_secret, secret),
    KIND(SEALED_MOUNTS, struct sealed_mount, mount),
    KIND(SEALED_IMAGES, struct sealed_image, image),
    KIND(SEALED_EXECS, struct sealed_exec, exec),
    PARTS(SEALED_ARGS, struct sealed_arg, arg),
    KIND(SEALED_GATES, struct sealed_gate, gate),
    KIND(SEALED_LIMITS, struct sealed_limit, limit),
    KIND(SEALED_REQUIRES, struct sealed_require, require),
    KIND(SEALED_FILTERS, struct sealed_filter, filter),
    KIND(SEALED_INSNS, struct sealed_insn, insn),
    PARTS(SEALED_REFS, struct sealed_ref, ref),
    KIND(SEALED_NETS, struct sealed_net, net),
    PARTS(SEALED_CONDS, struct sealed_cond, cond),
    PARTS(SEALED_STEPS, struct sealed_step, step),
    PARTS(SEALED_VALUES, struct sealed_value, value),
    KIND(SEALED_PINS, struct sealed_pin, pin),
    KIND(SEALED_AUDITS, struct sealed_audit, audit),
    KIND(SEALED_CALLS, struct sealed_call, call),
    KIND(SEALED_SYSCALLS, struct sealed_syscall, syscall),
    KIND(SEALED_COMPARES, struct sealed_compare, compare),
    PARTS(SEALED_EXCEPTS, struct sealed_except, except),
    KIND(SEALED_EXCEPTIONS, struct sealed_exception, exception),
    KIND(SEALED_SLOTS, uint32_t, slot),
};

const struct sealed_field *
fields_of(uint32_t kind)
{
	static uint16_t first[SEALED_KIND_END];
	static bool known;
	size_t i;

	if (!known) {
		for (i = ARRAY_LEN(sealed_fields); i-- > 0;)
			if (sealed_fields[i].kind < SEALED_KIND_END)
				first[sealed_fields[i].kind] = (uint16_t)i;
		known = true;
	}
	return &sealed_fields[first[kind]];
}
