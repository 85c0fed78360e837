/*
 * Accessors of a loaded policy: strings, servers, limits, names.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <linux/audit.h>

#include "policy/sealed/policy.h"
#include "shim/base/array.h"

#define PATH_LEN_MAX 4095 /* the kernel's PATH_MAX without the NUL */

#define NAME_OF(table, i) \
	((size_t)(i) < ARRAY_LEN(table) && (table)[i] != NULL ? (table)[i] : "unknown")

const char *
policy_str(const struct policy *p, struct sealed_ref ref)
{
	/*
	 * The loader checked its refs; a ref from elsewhere must not read past
	 * the pool.
	 */
	if ((uint64_t)ref.off + ref.len >= p->strings_len)
		return "";
	return p->strings + ref.off;
}

const struct sealed_server *
policy_server(const struct policy *p, const char *name)
{
	size_t lo = 0, hi = p->row_n[SEALED_SERVERS], mid;
	int c;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		c = strcmp(name, policy_str(p, p->server[mid].name));
		if (c == 0)
			return &p->server[mid];
		if (c < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return NULL;
}

bool
policy_is_path(const char *s, size_t len)
{
	size_t i, from;

	if (len == 0 || s[0] != '/' || len > PATH_LEN_MAX)
		return false;
	for (i = from = 1; i <= len && len > 1; i++) {
		if (i < len && s[i] != '/')
			continue;
		if (i == from || (i == from + 1 && s[from] == '.') ||
		    (i == from + 2 && s[from] == '.' && s[from + 1] == '.'))
			return false;
		from = i + 1;
	}
	return true;
}

/* The name in the policy language, and the default value. */
static const struct {
	const char *name;
	uint64_t value;
} limits[] = {
    [LIMIT_MEMORY] = {"memory", 0},
    [LIMIT_PROCESSES] = {"processes", 512},
    [LIMIT_FILES] = {"files", 1024},
    [LIMIT_CPU] = {"cpu", 0},
    /* below 10 MiB, at which the common SDK drops the connection */
    [LIMIT_OUTPUT] = {"output", (10u << 20) - (64u << 10)},
    [LIMIT_INPUT] = {"input", 16u << 20},
    [TIMEOUT_CALL] = {"call", 30 * 1000ull},
    [TIMEOUT_ASK] = {"ask", 300 * 1000ull},
    [TIMEOUT_START] = {"start", 20 * 1000ull},
    [TIMEOUT_IDLE] = {"idle", 0},
    [TIMEOUT_MOST] = {"most", 0}, /* that of a call: policy_limit */
};

const struct sealed_require *
policy_require(
    const struct policy *p, const struct sealed_server *s, enum sealed_require_kind kind)
{
	const struct sealed_require *q = p->require + s->requires.first;

	for (uint32_t i = 0; i < s->requires.n; i++)
		if (q[i].kind == (uint32_t)kind)
			return &q[i];
	return NULL;
}

/* The limit that the policy sets, or NULL. p may be NULL for a server without any. */
static const struct sealed_limit *
limit_set(
    const struct policy *p, const struct sealed_server *s, enum sealed_limit_kind kind)
{
	for (uint32_t i = 0; i < s->limits.n; i++)
		if (p->limit[s->limits.first + i].kind == (uint32_t)kind)
			return &p->limit[s->limits.first + i];
	return NULL;
}

uint64_t
policy_limit(
    const struct policy *p, const struct sealed_server *s, enum sealed_limit_kind kind)
{
	const struct sealed_limit *l = limit_set(p, s, kind);

	if (l == NULL && kind == TIMEOUT_MOST) {
		kind = TIMEOUT_CALL;
		l = limit_set(p, s, kind);
	}
	if (l != NULL)
		return l->value;
	return (size_t)kind < ARRAY_LEN(limits) ? limits[kind].value : 0;
}

const char *
policy_limit_name(enum sealed_limit_kind kind)
{
	if ((size_t)kind >= ARRAY_LEN(limits) || limits[kind].name == NULL)
		return "unknown";
	return limits[kind].name;
}

#define PLACE_CUT   "..."
#define LINE_DIGITS 11 /* with the colon */

const char *
policy_at(const struct policy *p, struct sealed_at at, char *out, size_t out_cap)
{
	const char *file = "?";
	size_t n;

	if (at.file < p->row_n[SEALED_FILES])
		file = policy_str(p, p->file[at.file]);
	n = (size_t)snprintf(out, out_cap, "%s:%u", file, at.line);
	if (n < out_cap || out_cap <= sizeof(PLACE_CUT) + LINE_DIGITS)
		return out;
	/* its end says more than its beginning: the name of the file, and the line */
	file += n + 1 - out_cap + strlen(PLACE_CUT);
	while (((unsigned char)*file & 0xc0) == 0x80)
		file++;
	(void)snprintf(out, out_cap, PLACE_CUT "%s:%u", file, at.line); /* fits */
	return out;
}

enum policy_oneshot
policy_oneshot(const struct policy *p, const struct sealed_server *s)
{
	if ((s->flags & SERVER_ONESHOT) != 0)
		return ONESHOT_STATED;
	for (uint32_t i = 0; i < s->secrets.n; i++)
		if (p->secret[s->secrets.first + i].approve == APPROVE_PER_CALL)
			return ONESHOT_IMPLIED;
	return ONESHOT_NO;
}

enum sealed_factor
policy_gate_factor(const struct sealed_gate *g)
{
	if ((g->flags & GATE_KEY) != 0)
		return FACTOR_KEY;
	return (g->flags & GATE_PASSPHRASE) != 0 ? FACTOR_PASSPHRASE : FACTOR_NONE;
}

enum sealed_factor
policy_answer_factor(const struct policy_answer *a)
{
	uint32_t factor = FACTOR_NONE;

	if (a->verdict != VERDICT_ASK)
		return FACTOR_NONE;
	if (a->gate != NULL)
		return policy_gate_factor(a->gate);
	if (a->exec != NULL)
		factor = a->exec->factor;
	if (a->net != NULL)
		factor = a->net->factor;
	return (enum sealed_factor)factor;
}

const char *
policy_factor_name(enum sealed_factor f)
{
	static const char *const name[] = {
	    [FACTOR_NONE] = "none",
	    [FACTOR_PASSPHRASE] = "passphrase",
	    [FACTOR_KEY] = "key",
	};

	return NAME_OF(name, f);
}

const char *
policy_remote_url(const struct policy *p, const struct sealed_server *s)
{
	const struct sealed_exec *run = &p->exec[s->run];
	const struct sealed_arg *last;

	if ((s->flags & SERVER_REMOTE) == 0 || run->args.n == 0)
		return NULL;
	last = &p->arg[run->args.first + run->args.n - 1];
	return last->kind == ARG_LITERAL ? policy_str(p, last->text) : NULL;
}

const char *
policy_verdict_name(enum sealed_verdict v)
{
	static const char *const name[] = {
	    [VERDICT_DENY] = "deny",
	    [VERDICT_ALLOW] = "allow",
	    [VERDICT_ASK] = "ask",
	};

	return NAME_OF(name, v);
}

const char *
policy_duration(uint32_t ms, char out[POLICY_DURATION_CAP])
{
	static const struct {
		uint32_t ms;
		const char *name;
	} units[] = {{86400000, "d"}, {3600000, "h"}, {60000, "m"}, {1000, "s"}};
	size_t i = 0;

	while (i < ARRAY_LEN(units) && ms % units[i].ms != 0)
		i++;
	if (i == ARRAY_LEN(units))
		(void)snprintf(out, POLICY_DURATION_CAP, "%ums", ms);
	else
		(void)snprintf(
		    out, POLICY_DURATION_CAP, "%u%s", ms / units[i].ms, units[i].name);
	return out;
}

const char *
policy_gate_name(enum sealed_gate_kind kind)
{
	static const char *const name[] = {
	    [GATE_TOOL] = "tool",
	    [GATE_RESOURCE] = "resource",
	    [GATE_PROMPT] = "prompt",
	    [GATE_SAMPLING] = "sampling",
	    [GATE_ELICITATION] = "elicitation",
	    [GATE_ROOTS] = "roots",
	    [GATE_METHOD] = "method",
	};

	return NAME_OF(name, kind);
}

const char *
policy_miss_name(enum policy_miss miss)
{
	static const char *const name[] = {
	    [MISS_NONE] = "holds",
	    [MISS_KIND] = "another kind",
	    [MISS_IMAGE] = "another program",
	    [MISS_ARGS] = "other arguments",
	    [MISS_NAME] = "another name",
	    [MISS_EXCEPT] = "excepted",
	    [MISS_EXPIRED] = "the exception has expired",
	    [MISS_FROM] = "another caller",
	    [MISS_IN] = "another directory",
	    [MISS_ENV] = "a changed variable",
	    [MISS_CLASS] = "another class",
	    [MISS_COND] = "the condition does not hold",
	    [MISS_HOST] = "another host",
	    [MISS_PORT] = "another port",
	    [MISS_URI] = "a URI that is not normalized",
	};

	return NAME_OF(name, miss);
}

const char *
policy_why_name(enum sealed_mount_why why)
{
	static const char *const name[] = {
	    [WHY_BASE] = "base",
	    [WHY_READ] = "read",
	    [WHY_WRITE] = "write",
	    [WHY_HIDE] = "hide",
	    [WHY_TMP] = "tmp",
	    [WHY_PROGRAM] = "program",
	    [WHY_LOADER] = "loader",
	    [WHY_LIBRARY] = "library",
	    [WHY_SCRIPT] = "script",
	    [WHY_PRESET] = "preset",
	    [WHY_LINK] = "link",
	    [WHY_AGENT] = "agent",
	};

	return NAME_OF(name, why);
}

bool
policy_etc_has(const char *path)
{
	static const char *const names[] = {"/etc/passwd", "/etc/group", "/etc/hosts",
	    "/etc/hostname", "/etc/resolv.conf", "/etc/nsswitch.conf",
	    "/etc/ld.so.cache"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(path, names[i]) == 0)
			return true;
	return false;
}

const char *
policy_secret_path(const struct policy *p, const struct sealed_secret *row)
{
	if (row->path.len > 0)
		return policy_str(p, row->path);
	return row->source == SOURCE_VAULT ? policy_str(p, row->ref) : NULL;
}

const char *
policy_source_name(uint32_t source)
{
	static const char *const table[] = {
	    [SOURCE_ENV] = "env",
	    [SOURCE_FILE] = "file",
	    [SOURCE_CMD] = "cmd",
	    [SOURCE_VAULT] = "vault",
	    [SOURCE_PLUGIN] = "plugin",
	};

	if (source < ARRAY_LEN(table) && table[source] != NULL)
		return table[source];
	return "source";
}

const char *
policy_arch_name(uint32_t arch)
{
	static const struct {
		uint32_t arch;
		const char *name;
	} table[] = {
	    {AUDIT_ARCH_X86_64, "x86_64"},
	    {AUDIT_ARCH_AARCH64, "aarch64"},
	};
	size_t i;

	for (i = 0; i < ARRAY_LEN(table); i++)
		if (table[i].arch == arch)
			return table[i].name;
	return "unknown";
}
