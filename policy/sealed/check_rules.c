/*
 * The loader's check of relations between the fields of a row.  Every number
 * and every reference is already known to be valid (check_rows.c).
 */
#include <string.h>

#include <linux/seccomp.h>

#include "policy/sealed/arg_slot.h"
#include "policy/sealed/load.h"
#include "shim/base/hex.h"

static load_rule_fn rule_env, rule_secret, rule_mount, rule_exec, rule_gate, rule_limit,
    rule_require, rule_net, rule_cond, rule_step, rule_value, rule_pin, rule_audit,
    rule_except, rule_arg, rule_call;

load_rule_fn *const load_rules[SEALED_KIND_END] = {
    [SEALED_ENVS] = rule_env,
    [SEALED_SECRETS] = rule_secret,
    [SEALED_MOUNTS] = rule_mount,
    [SEALED_EXECS] = rule_exec,
    [SEALED_ARGS] = rule_arg,
    [SEALED_GATES] = rule_gate,
    [SEALED_LIMITS] = rule_limit,
    [SEALED_REQUIRES] = rule_require,
    [SEALED_NETS] = rule_net,
    [SEALED_CONDS] = rule_cond,
    [SEALED_STEPS] = rule_step,
    [SEALED_VALUES] = rule_value,
    [SEALED_PINS] = rule_pin,
    [SEALED_AUDITS] = rule_audit,
    [SEALED_CALLS] = rule_call,
    [SEALED_EXCEPTS] = rule_except,
};

/* ---- relations between fields -------------------------------------------- */

/* Reports the first condition that does not hold, and returns. */
#define MUST(holds, what) \
	do { \
		if (!(holds)) \
			return load_refuse(l, "%s %u: %s", name, i, what); \
	} while (0)
#define RULE(kind, type, table) \
	const char *name = field_kind[kind].name; \
	const struct type *row = &l->p.table[i]

static const char *
text(const struct load *l, struct sealed_ref ref)
{
	return l->p.strings + ref.off;
}

/* All of the range are ARG_LITERAL. */
static bool
all_literal(const struct load *l, struct sealed_range range)
{
	uint32_t i;

	for (i = 0; i < range.n; i++)
		if (l->p.arg[range.first + i].kind != ARG_LITERAL)
			return false;
	return true;
}

/* ARG_REST is only last, and there is at most one ARG_OPTIONS. */
static bool
rest_is_last(const struct load *l, struct sealed_range range)
{
	uint32_t i, options = 0;

	for (i = 0; i < range.n; i++) {
		if (l->p.arg[range.first + i].kind == ARG_REST && i + 1 < range.n)
			return false;
		options += l->p.arg[range.first + i].kind == ARG_OPTIONS;
	}
	return options <= 1;
}

static int
rule_env(struct load *l, uint32_t i)
{
	RULE(SEALED_ENVS, sealed_env, env);

	MUST(!row->passed || (row->value.len == 0 && !row->fixed),
	    "both passed on and set");
	return 0;
}

/* The name of a source: [a-z][a-z0-9-]*. */
static bool
is_source(const char *s, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (!(s[i] >= 'a' && s[i] <= 'z') &&
		    (i == 0 || (!(s[i] >= '0' && s[i] <= '9') && s[i] != '-')))
			return false;
	return len > 0 && len <= SECRET_SOURCE_LEN;
}

/* A program, a digest, a reference; then variables. */
static bool
plugin_fits(const struct load *l, const struct sealed_secret *row)
{
	const struct sealed_arg *a = &l->p.arg[row->args.first];
	uint32_t i;
	size_t name;

	if (row->args.n < SECRET_PLUGIN_ARGS ||
	    row->args.n > SECRET_PLUGIN_ARGS + SECRET_PLUGIN_ENV ||
	    !policy_is_path(text(l, a[0].text), a[0].text.len) ||
	    !hex_is(text(l, a[1].text), a[1].text.len, 64) || a[2].text.len == 0 ||
	    a[2].text.len > SECRET_REFERENCE_LEN)
		return false;
	for (i = SECRET_PLUGIN_ARGS; i < row->args.n; i++) {
		name = strcspn(text(l, a[i].text), "=");
		if (!load_is_name(text(l, a[i].text), name, true))
			return false;
	}
	return true;
}

static int
rule_secret(struct load *l, uint32_t i)
{
	RULE(SEALED_SECRETS, sealed_secret, secret);
	const char *ref = text(l, row->ref);
	bool fits[] = {
	    [SOURCE_ENV] = load_is_name(ref, row->ref.len, true),
	    [SOURCE_FILE] = policy_is_path(ref, row->ref.len),
	    [SOURCE_CMD] = row->ref.len == 0 || is_source(ref, row->ref.len),
	    [SOURCE_VAULT] = row->ref.len > 0,
	    [SOURCE_PLUGIN] = is_source(ref, row->ref.len),
	};
	bool program = row->source == SOURCE_CMD || row->source == SOURCE_PLUGIN;

	MUST(program == (row->args.n > 0), "unexpected or missing command");
	MUST(fits[row->source], "invalid reference for its source");
	MUST(all_literal(l, row->args), "an argument is not literal");
	MUST((row->flags & SECRET_HOSTS_ANY) == 0 || row->hosts.n == 0,
	    "both a list of hosts and any host");
	MUST((row->flags & (uint32_t)SECRET_OF_CMD) == 0 || program,
	    "a flag of a command, without a command");
	MUST(row->source != SOURCE_PLUGIN || plugin_fits(l, row), "invalid plugin");
	MUST(row->path.len == 0 || (row->flags & SECRET_CREDENTIAL) == 0,
	    "a credential with a path");
	MUST(row->factor == FACTOR_NONE || row->approve != APPROVE_NONE,
	    "a factor without an approval");
	MUST((row->flags & SECRET_CREDENTIAL) == 0 ||
		 (row->approve == APPROVE_NONE && (row->flags & SECRET_AS_FILE) == 0),
	    "a credential that the server also holds");
	return 0;
}

/* The fields that a mount of each kind may have. */
static const struct {
	enum { SOURCE_NONE, SOURCE_PATH, SOURCE_TEXT } source;
	uint32_t rights;
	bool sized;
} mount_rule[] = {
    [MOUNT_DIR] = {SOURCE_NONE, RIGHT_NONE | RIGHT_READ, false},
    [MOUNT_SYMLINK] = {SOURCE_TEXT, RIGHT_NONE, false},
    [MOUNT_FILE] = {SOURCE_PATH, RIGHT_READ | RIGHT_START | RIGHT_WRITE, false},
    [MOUNT_TREE] = {SOURCE_PATH, RIGHT_READ | RIGHT_WRITE, false},
    [MOUNT_TMPFS] = {SOURCE_NONE, RIGHT_READ | RIGHT_WRITE, true},
    [MOUNT_PROC] = {SOURCE_NONE, RIGHT_READ, false},
    [MOUNT_DEV] = {SOURCE_NONE, RIGHT_READ | RIGHT_DEVICE, false},
    [MOUNT_SHM] = {SOURCE_NONE, RIGHT_READ | RIGHT_WRITE, true},
    [MOUNT_ETC] = {SOURCE_NONE, RIGHT_READ, false},
    [MOUNT_HIDE] = {SOURCE_NONE, RIGHT_NONE, false},
};

static int
rule_mount(struct load *l, uint32_t i)
{
	RULE(SEALED_MOUNTS, sealed_mount, mount);
	const uint32_t both = RIGHT_WRITE | RIGHT_START;
	bool fits[] = {
	    [SOURCE_NONE] = row->source.len == 0,
	    [SOURCE_PATH] = policy_is_path(text(l, row->source), row->source.len),
	    [SOURCE_TEXT] = row->source.len > 0 && row->source.len <= SEALED_PATH_LEN_MAX,
	};

	MUST(row->target.len > 1, "the root directory cannot be granted");
	MUST((row->right & ~mount_rule[row->kind].rights) == 0,
	    "invalid right for its kind");
	MUST((row->right & both) != both, "both writable and executable");
	MUST((row->size != 0) == mount_rule[row->kind].sized,
	    "unexpected or missing size");
	MUST(fits[mount_rule[row->kind].source], "unexpected or missing source");
	return 0;
}

static int
rule_exec(struct load *l, uint32_t i)
{
	RULE(SEALED_EXECS, sealed_exec, exec);
	const struct sealed_ref *ref = l->p.ref;
	uint32_t k;

	MUST(row->prefix.n > 0 || row->asked == row->mapped,
	    "another image without a prefix");
	MUST(row->factor == FACTOR_NONE || row->verdict == VERDICT_ASK,
	    "a factor without an approval");
	MUST(rest_is_last(l, row->args), "** is not the last argument");
	MUST(all_literal(l, row->prefix), "an argument is not literal");
	for (k = row->from.first; k < row->from.first + row->from.n; k++)
		MUST(policy_is_path(text(l, ref[k]), ref[k].len),
		    "a caller is not a path");
	for (k = row->env.first; k < row->env.first + row->env.n; k++)
		MUST(load_is_name(text(l, ref[k]), ref[k].len, true) ||
			 policy_env_beginning(text(l, ref[k]), ref[k].len),
		    "invalid variable name");
	return 0;
}

static int
rule_except(struct load *l, uint32_t i)
{
	RULE(SEALED_EXCEPTS, sealed_except, except);

	MUST(rest_is_last(l, row->args), "** is not the last argument");
	return 0;
}

static int
rule_arg(struct load *l, uint32_t i)
{
	RULE(SEALED_ARGS, sealed_arg, arg);

	MUST(row->text.len == 0 || (row->kind != ARG_ANY && row->kind != ARG_REST),
	    "unexpected text");
	MUST(row->kind != ARG_SLOT ||
		 slot_check(text(l, row->text), row->text.len) == NULL,
	    "invalid slot");
	MUST(row->kind != ARG_OPTIONS ||
		 slot_check_options(text(l, row->text), row->text.len) == NULL,
	    "invalid options");
	return 0;
}

/* A postfix program: each step has its operands, and one result is left. */
static bool
conds_hold(const struct load *l, struct sealed_range range)
{
	uint32_t i, op, depth = 0;

	for (i = 0; i < range.n; i++) {
		op = l->p.cond[range.first + i].op;
		if (op == COND_AND || op == COND_OR) {
			if (depth < 2)
				return false;
			depth--;
		} else if (op == COND_NOT) {
			if (depth < 1)
				return false;
		} else if (depth++ == SEALED_COND_DEPTH_MAX)
			return false;
	}
	return range.n == 0 || depth == 1;
}

static int
rule_gate(struct load *l, uint32_t i)
{
	RULE(SEALED_GATES, sealed_gate, gate);
	const uint32_t factors = GATE_PASSPHRASE | GATE_KEY;
	bool annotated = (row->flags & GATE_BY_ANNOTATIONS) != 0;
	bool judged = row->kind <= GATE_PROMPT,
	     named = judged || row->kind == GATE_METHOD;

	MUST(named == (row->name.len > 0), "unexpected or missing name");
	MUST(conds_hold(l, row->conds), "invalid condition");
	MUST(
	    judged || (row->conds.n == 0 && row->excepts.n == 0), "unexpected condition");
	MUST(row->kind != GATE_METHOD || row->verdict != VERDICT_ASK,
	    "a method with the verdict ask");
	MUST(row->kind == GATE_TOOL || (row->classes == 0 && !annotated),
	    "unexpected classes");
	MUST(!annotated || (row->verdict == VERDICT_ASK && row->classes == 0),
	    "unexpected classes");
	MUST((row->flags & factors) == 0 ||
		 (judged && row->verdict == VERDICT_ASK && !annotated),
	    "a factor without an approval");
	MUST((row->flags & factors) != factors, "two factors");
	MUST((row->rate == 0) == (row->rate_ms == 0), "a rate without its duration");
	MUST(row->rate == 0 || row->rate_ms >= CALL_RATE_MS_MIN,
	    "a rate of a short duration");
	MUST((row->rate == 0 && row->quota == 0) ||
		 (row->kind == GATE_TOOL && row->verdict != VERDICT_DENY && !annotated),
	    "unexpected limit of calls");
	if (i == l->server->gates.first)
		l->rate_sum = 0;
	l->rate_sum += row->rate;
	MUST(l->rate_sum <= CALL_RATE_SUM_MAX, "the rates of a server are too high");
	return 0;
}

static int
rule_cond(struct load *l, uint32_t i)
{
	RULE(SEALED_CONDS, sealed_cond, cond);
	const struct sealed_value *v = &l->p.value[row->values.first];
	uint32_t values = row->op < COND_EXISTS ? 1 : 0, k;

	MUST(row->op == COND_IN || row->values.n == values ||
		 (row->op == COND_UNDER && row->values.n == 2),
	    "invalid number of values");
	MUST(row->op < COND_AND || row->steps.n == 0, "unexpected path");
	MUST(row->op != COND_MATCHES || v->type == VALUE_STRING,
	    "a value of the wrong type");
	MUST(row->op < COND_LT || row->op > COND_GE || v->type == VALUE_NUMBER,
	    "a value of the wrong type");
	for (k = 0; row->op == COND_UNDER && k < row->values.n; k++, v++) {
		MUST(v->type == VALUE_STRING, "a value of the wrong type");
		MUST(policy_is_path(text(l, v->text), v->text.len),
		    "not an absolute, normalized path");
	}
	return 0;
}

static int
rule_step(struct load *l, uint32_t i)
{
	RULE(SEALED_STEPS, sealed_step, step);

	MUST(row->is_index ? row->key.len == 0 : row->index == 0,
	    "both a key and an index");
	return 0;
}

static int
rule_value(struct load *l, uint32_t i)
{
	RULE(SEALED_VALUES, sealed_value, value);

	MUST(row->type != VALUE_NUMBER ||
		 policy_is_number(text(l, row->text), row->text.len),
	    "not a number");
	MUST(row->type >= VALUE_NUMBER || row->text.len == 0, "unexpected text");
	return 0;
}

static int
rule_limit(struct load *l, uint32_t i)
{
	RULE(SEALED_LIMITS, sealed_limit, limit);

	/* 0 would be read as "no limit" although the policy sets one. */
	MUST(row->value != 0, "zero");
	return 0;
}

static int
rule_require(struct load *l, uint32_t i)
{
	RULE(SEALED_REQUIRES, sealed_require, require);

	MUST(row->kind == REQUIRE_LANDLOCK || row->value == 0, "unexpected value");
	return 0;
}

/* Labels of lower-case letters, digits and inner hyphens, separated by dots. */
static bool
is_host(const char *s, size_t len)
{
	size_t i, from;

	for (i = from = 0; i <= len; i++) {
		if (i < len && s[i] != '.') {
			if (!(s[i] >= 'a' && s[i] <= 'z') &&
			    !(s[i] >= '0' && s[i] <= '9') && s[i] != '_' && s[i] != '-')
				return false;
			continue;
		}
		if (i == from || i - from > 63 || s[from] == '-' || s[i - 1] == '-')
			return false;
		from = i + 1;
	}
	return len > 0 && len <= 253;
}

/* The bits after the prefix are 0. */
static bool
is_cidr(const uint8_t addr[16], uint32_t prefix)
{
	uint32_t i;

	for (i = prefix; i < 128; i++)
		if ((addr[i / 8] & (0x80u >> i % 8)) != 0)
			return false;
	return true;
}

static int
rule_net(struct load *l, uint32_t i)
{
	RULE(SEALED_NETS, sealed_net, net);

	MUST(row->port_first <= row->port_last, "ports out of order");
	MUST(row->factor == FACTOR_NONE || row->verdict == VERDICT_ASK,
	    "a factor without an approval");
	MUST(row->kind == HOST_CIDR || row->prefix == 0, "unexpected prefix");
	MUST(row->scope == NET_CIDR || row->scope_prefix == 0, "unexpected prefix");
	MUST(is_cidr(row->addr, row->prefix) &&
		 is_cidr(row->scope_addr, row->scope_prefix),
	    "an address with host bits set");
	MUST(row->kind == HOST_CIDR || is_host(text(l, row->host), row->host.len),
	    "not a host name");
	return 0;
}

static int
rule_pin(struct load *l, uint32_t i)
{
	RULE(SEALED_PINS, sealed_pin, pin);
	uint8_t digest[32];

	MUST((row->kind < PIN_CAPABILITIES) == (row->name.len > 0),
	    "unexpected or missing name");
	MUST(row->kind == PIN_TOOL || row->classes == 0, "unexpected classes");
	policy_digest(text(l, row->body), row->body.len, digest);
	MUST(memcmp(digest, row->sha256, sizeof(digest)) == 0, "wrong digest");
	return 0;
}

static int
rule_audit(struct load *l, uint32_t i)
{
	RULE(SEALED_AUDITS, sealed_audit, audit);

	MUST(row->flags != 0 && (row->kind != 0 || row->name.len == 0) &&
		 (row->kind == 0 || (row->flags & AUDIT_SYNC_STRICT) == 0),
	    "unexpected flag");
	return 0;
}

/*
 * The filters do what the policy's `syscalls` lines require, if the call exists
 * on the architecture.
 */
static int
rule_call(struct load *l, uint32_t i)
{
	RULE(SEALED_CALLS, sealed_call, call);
	const struct sealed_filter *f = l->p.filter + l->server->filters.first;
	const struct sealed_syscall *s;
	uint32_t k, n;

	for (k = 0; k < l->server->filters.n; k++, f++) {
		MUST(!filter_is_named(f), "the default filter ignores it");
		for (s = l->p.syscall + f->syscalls.first, n = f->syscalls.n; n > 0;
		     n--, s++)
			MUST(s->name.off != row->name.off ||
				 (s->action == SECCOMP_RET_ALLOW) ==
				     (row->verdict == VERDICT_ALLOW),
			    "the filter does not match");
	}
	return 0;
}
