/*
 * The requests of the fuzz target for the comparison of two policies.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/address/address.h"
#include "policy/algebra/algebra.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"
#include "tests/fuzz/diff_requests.h"
#include "tests/unit/bpf_run.h"

#define STARTS   400
#define SYSCALLS 470
#define ASK_MAX  64ul /* texts of one list */
/* Each row of a range. */
#define PART(range, row) \
	for (uint32_t row = (range).first; row < (range).first + (range).n; row++)

/* The old and the new policy, and what their rows name. */
struct sides {
	struct policy p[2];
	const struct sealed_server *s[2];
	struct points names, args, documents, paths, vars, dirs, hosts, images;
	uint32_t port[ASK_MAX], days[ASK_MAX + 1];
	size_t port_n, day_n;
	uint64_t seed;
};

static const uint32_t rank[] = {
    [VERDICT_ALLOW] = 2, [VERDICT_ASK] = 1, [VERDICT_DENY] = 0};

static void
wider(const struct sides *x, const char *what, const char *name, const char *more)
{
	(void)fprintf(stderr, "not reported as wider: server %s: %s %s %s, on day %u\n",
	    policy_str(&x->p[1], x->s[1]->name), what, name, more, x->p[1].today);
	abort();
}

static void
judge(const struct sides *x, const struct policy_answer a[2], const char *what,
    const char *name, const char *more)
{
	if (rank[a[1].verdict] > rank[a[0].verdict] ||
	    (a[0].verdict == VERDICT_ASK && a[1].verdict == VERDICT_ASK &&
		policy_answer_factor(&a[1]) < policy_answer_factor(&a[0])))
		wider(x, what, name, more);
}

static size_t
roll(struct sides *x, size_t n)
{
	x->seed = x->seed * 6364136223846793005u + 1442695040888963407u;
	return (size_t)(x->seed >> 33) % n;
}

/* ---- what the rows name ---------------------------------------------------------- */

/* Members of a glob: each star, and each slot of an argument, is one of these texts. */
static void
add_glob(struct points *to, const char *glob)
{
	static const char *const fill[] = {"", "x", "a/b", "_1", "3", "77", "/srv/a",
	    "/srv/a/../b", "a.example.com", "b.a.example.com"};
	size_t n, many = strchr(glob, '<') != NULL ? ARRAY_LEN(fill) : 4;
	char text[1200];

	for (size_t i = 0; i < many && to->n < 2u * ASK_MAX; i++) {
		n = 0;
		for (const char *c = glob; *c != '\0' && n + 20 < sizeof(text); c++) {
			if (*c != '*' && *c != '<') {
				text[n++] = *c;
				continue;
			}
			memcpy(text + n, fill[i], strlen(fill[i]));
			n += strlen(fill[i]);
			if (*c == '<')
				c += strcspn(c, ">") - (strchr(c, '>') == NULL);
		}
		points_add(to, text, n);
		if (strpbrk(glob, "*<") == NULL)
			break;
	}
}

/* The words of a choice, of options. */
static void
add_choice(struct points *to, const char *text)
{
	for (size_t n; *text != '\0'; text += n + (text[n] != '\0')) {
		n = strcspn(text, "|,<>=");
		if (to->n < 2u * ASK_MAX)
			points_add(to, text, n);
	}
}

/* An object with this value where the condition reads it. */
static void
add_document(struct sides *x, const struct policy *p, const struct sealed_cond *c,
    const char *value)
{
	char text[1200], with[1200];
	const struct sealed_step *s;
	int n;

	(void)snprintf(text, sizeof(text), "%s", value);
	for (uint32_t i = c->steps.n; i-- > 0;) {
		s = &p->step[c->steps.first + i];
		if (s->is_index && s->index > 3)
			return;
		n = s->is_index ? snprintf(with, sizeof(with), "[%.*s%s]",
				      (int)(2 * s->index), "0,0,0,", text)
				: snprintf(with, sizeof(with), "{\"%s\":%s}",
				      policy_str(p, s->key), text);
		if (n < 0 || (size_t)n >= sizeof(with))
			return;
		memcpy(text, with, (size_t)n + 1);
	}
	if (x->documents.n < ASK_MAX)
		points_add(&x->documents, text, strlen(text));
}

static void
add_values(struct sides *x, const struct policy *p, const struct sealed_cond *c)
{
	static const char *const others[] = {"null", "true", "0", "\"\"", "[]", "{}"};
	static const char *const around[][2] = {
	    {"", ""}, {"", "/x"}, {"", "x"}, {"x", ""}, {"/", ""}};
	char text[600];

	for (size_t k = 0; k < ARRAY_LEN(others); k++)
		add_document(x, p, c, others[k]);
	PART(c->values, i)
	{
		const char *value = policy_str(p, p->value[i].text);

		if (p->value[i].type == VALUE_NUMBER) {
			add_document(x, p, c, value);
			(void)snprintf(
			    text, sizeof(text), "%.30g", strtod(value, NULL) + 1);
			add_document(x, p, c, text);
		}
		for (size_t k = 0;
		     k < ARRAY_LEN(around) && p->value[i].type == VALUE_STRING; k++) {
			(void)snprintf(text, sizeof(text), "\"%s%s%s\"", around[k][0],
			    value, around[k][1]);
			add_document(x, p, c, text);
		}
	}
}

static void
add_port(struct sides *x, uint32_t port)
{
	if (port >= 1 && port <= 65535 && x->port_n < ASK_MAX)
		x->port[x->port_n++] = port;
}

static void
add_net(struct sides *x, const struct policy *p, const struct sealed_net *n)
{
	static const char *const below[] = {"", "x.", "y.x."};
	char text[600];

	add_port(x, n->port_first - 1);
	add_port(x, n->port_first);
	add_port(x, n->port_last);
	add_port(x, n->port_last + 1);
	for (size_t i = 0; i < ARRAY_LEN(below) && x->hosts.n < ASK_MAX; i++) {
		(void)snprintf(
		    text, sizeof(text), "%s%s", below[i], policy_str(p, n->host));
		if (n->kind == HOST_CIDR)
			(void)address_text(n->addr, text);
		points_add(&x->hosts, text, strlen(text));
	}
}

static void
add_path(struct points *to, const char *path)
{
	static const char *const below[] = {"", "/x", "/x/y"};
	char text[600];

	for (size_t i = 0; i < ARRAY_LEN(below) && to->n < 6u * ASK_MAX; i++) {
		(void)snprintf(text, sizeof(text), "%s%s",
		    strcmp(path, "/") == 0 && i > 0 ? "" : path, below[i]);
		points_add(to, text, strlen(text));
	}
}

static void
add_server(struct sides *x, int side)
{
	const struct sealed_server *s = x->s[side];
	const struct policy *p = &x->p[side];

	PART(s->gates, i)
	add_glob(&x->names, policy_str(p, p->gate[i].name));
	PART(s->refs, i)
	{
		const char *text = policy_str(p, p->ref[i]);

		add_glob(text[0] == '/' ? &x->images : &x->names, text);
		add_glob(&x->vars, text);
	}
	PART(s->args, i)
	{
		add_glob(&x->args, policy_str(p, p->arg[i].text));
		add_choice(&x->args, policy_str(p, p->arg[i].text));
	}
	PART(s->images, i)
	points_add(&x->images, policy_str(p, p->image[i].path), p->image[i].path.len);
	PART(s->execs, i)
	add_path(&x->dirs, policy_str(p, p->exec[i].in));
	PART(s->mounts, i)
	add_path(&x->paths, policy_str(p, p->mount[i].target));
	PART(s->nets, i)
	add_net(x, p, &p->net[i]);
	PART(s->conds, i)
	if (p->cond[i].op < COND_AND)
		add_values(x, p, &p->cond[i]);
	PART(s->exceptions, i)
	if (x->day_n < ASK_MAX && p->exception[i].until < UINT32_MAX)
		x->days[x->day_n++] = p->exception[i].until + 1;
}

/* What no row names. */
static void
add_others(struct sides *x)
{
	static const struct {
		size_t to;
		const char *text;
	} others[] = {
#define O(list, text) {offsetof(struct sides, list), text}
	    O(names, "other"),
	    O(names, "file:///other"),
	    O(documents, "{}"),
	    O(args, ""),
	    O(args, "x"),
	    O(args, "-x"),
	    O(args, "/etc/passwd"),
	    O(vars, "CI"),
	    O(vars, "LD_PRELOAD=x"),
	    O(dirs, "/"),
	    O(dirs, "/tmp"),
	    O(paths, "/"),
	    O(paths, "/srv/other"),
	    O(paths, "/tmp/other"),
	    O(hosts, "other.example"),
	    O(hosts, "8.8.8.8"),
	    O(hosts, "::1"),
	    O(images, "/bin/other"),
	    O(hosts, "10.0.0.1"),
#undef O
	};

	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		points_add((void *)((char *)x + others[i].to), others[i].text,
		    strlen(others[i].text));
	add_port(x, 80);
	add_port(x, 443);
	x->days[x->day_n++] = x->p[0].today;
}

static void
lists_free(struct sides *x)
{
	points_free(&x->names);
	points_free(&x->args);
	points_free(&x->documents);
	points_free(&x->paths);
	points_free(&x->vars);
	points_free(&x->dirs);
	points_free(&x->hosts);
	points_free(&x->images);
	x->port_n = x->day_n = 0;
}

/* ---- the requests ------------------------------------------------------------------ */

static void
limit_count(const struct policy *p, uint32_t row, void *arg)
{
	++*(size_t *)arg;
}

static void
ask_gate(const struct sides *x, const struct policy_gate_ask *ask)
{
	struct policy_answer a[2];
	size_t limits[2] = {0, 0};

	for (int side = 0; side < 2; side++) {
		a[side] = policy_match_gate(&x->p[side], x->s[side], ask);
		policy_gate_limits(
		    &x->p[side], x->s[side], ask, limit_count, &limits[side]);
	}
	judge(x, a, policy_gate_name(ask->kind), ask->name,
	    ask->args != NULL ? ask->args : "");
	if (a[0].verdict != VERDICT_DENY && a[1].verdict != VERDICT_DENY &&
	    limits[0] > 0 && limits[1] == 0)
		wider(x, "without a limit:", ask->name, ask->args);
}

static void
ask_gates(const struct sides *x)
{
	struct policy_gate_ask ask;

	for (int kind = GATE_TOOL; kind <= GATE_METHOD; kind++)
		for (size_t i = 0; i < x->names.n; i++) {
			ask =
			    (struct policy_gate_ask){.kind = (enum sealed_gate_kind)kind,
				.name = x->names.v[i],
				.name_len = strlen(x->names.v[i]),
				.args = "{}",
				.args_len = 2};
			for (size_t k = 0; k < x->documents.n; k++) {
				ask.args = x->documents.v[k];
				ask.args_len = strlen(ask.args);
				ask_gate(x, &ask);
				if (kind != GATE_TOOL)
					break;
			}
			ask.args = "{}";
			ask.args_len = 2;
			for (ask.said = 1; kind == GATE_TOOL && ask.said < 16; ask.said++)
				ask_gate(x, &ask);
		}
}

/* The row of the program with this path. */
static uint32_t
image_of(const struct sides *x, int side, const char *path)
{
	PART(x->s[side]->images, i)
	if (strcmp(policy_str(&x->p[side], x->p[side].image[i].path), path) == 0)
		return i;
	return POLICY_NO_IMAGE;
}

static const char *
one_of(struct sides *x, const struct points *l)
{
	return l->v[roll(x, l->n)];
}

static void
ask_starts(struct sides *x)
{
	const char *argv[5], *caller, *env;
	struct policy_exec_ask ask = {.cwd = NULL};
	struct policy_answer a[2];

	for (int n = 0; n < STARTS; n++) {
		argv[0] = one_of(x, &x->images);
		ask.argv = (struct policy_argv){argv, 1 + roll(x, ARRAY_LEN(argv))};
		for (size_t i = 1; i < ask.argv.n; i++)
			argv[i] = one_of(x, &x->args);
		caller = roll(x, 2) == 0 ? NULL : one_of(x, &x->images);
		ask.cwd = roll(x, 2) == 0 ? NULL : one_of(x, &x->dirs);
		env = one_of(x, &x->vars);
		ask.env = &env;
		ask.env_n = roll(x, 2);
		memset(a, 0, sizeof(a));
		for (int side = 0; side < 2; side++) {
			a[side].verdict = VERDICT_DENY;
			ask.asked = image_of(x, side, argv[0]);
			ask.caller =
			    caller == NULL ? SEALED_NONE : image_of(x, side, caller);
			if (ask.asked != POLICY_NO_IMAGE)
				a[side] =
				    policy_match_exec_call(&x->p[side], x->s[side], &ask);
		}
		judge(x, a, "exec", argv[0], ask.argv.n > 1 ? argv[1] : "");
	}
}

/* Of both answers: may a connection be made to this address? */
static void
ask_addresses(const struct sides *x, const struct policy_answer a[2], const char *host)
{
	static const char *const all[] = {"8.8.8.8", "2600::1", "10.0.0.1", "127.0.0.1",
	    "192.168.1.1", "169.254.169.254", "fd00::1", "::1", "198.18.0.1"};
	const struct address_host nothing = {.own = false};
	struct address_scope scope[2];
	uint8_t addr[ADDRESS_LEN];

	for (int side = 0; side < 2; side++)
		scope[side] = (struct address_scope){a[side].net->scope,
		    a[side].net->scope_addr, a[side].net->scope_prefix};
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (address_read(all[i], addr) &&
		    address_refused(addr, &scope[0], &nothing) != NULL &&
		    address_refused(addr, &scope[1], &nothing) == NULL)
			wider(x, "net", host, all[i]);
	if (a[1].net->proto == NET_PLAIN && a[0].net->proto != NET_PLAIN)
		wider(x, "net", host, "in the clear");
}

static void
ask_hosts(const struct sides *x)
{
	struct policy_answer a[2];
	struct policy_net_ask ask;

	for (size_t i = 0; i < x->hosts.n; i++)
		for (size_t k = 0; k < x->port_n; k++) {
			ask = (struct policy_net_ask){
			    x->hosts.v[i], strlen(x->hosts.v[i]), x->port[k]};
			for (int side = 0; side < 2; side++)
				a[side] = policy_match_net(&x->p[side], x->s[side], &ask);
			judge(x, a, "net", ask.host, "");
			if (a[0].net != NULL && a[1].net != NULL &&
			    a[1].verdict != VERDICT_DENY)
				ask_addresses(x, a, ask.host);
		}
}

static void
ask_path(const struct sides *x, const char *path, enum sealed_mount_right right)
{
	struct policy_answer a[2];
	char *source[2];

	for (int side = 0; side < 2; side++) {
		a[side] = policy_match_path(&x->p[side], x->s[side], path, right);
		source[side] = policy_path_source(&x->p[side], x->s[side], path);
		if (source[side] == NULL)
			abort();
	}
	judge(x, a, right == RIGHT_READ ? "read" : "write", path, "");
	if (a[1].verdict == VERDICT_ALLOW && strcmp(source[0], source[1]) != 0)
		wider(x, "another file:", path, source[1]);
	free(source[0]);
	free(source[1]);
}

/* The filter for this architecture; NULL: none. */
static const struct sealed_insn *
program_of(const struct sides *x, int side, uint32_t arch)
{
	const struct sealed_filter *f;
	const struct policy *t;

	PART(x->s[side]->filters, i)
	{
		f = &x->p[side].filter[i];
		if (f->arch != arch)
			continue;
		t = policy_filter_tables(&x->p[side], &f);
		return &t->insn[f->insns.first];
	}
	return NULL;
}

/* 2: passes, 1: is looked at first, 0: fails. */
static int
passes(const struct sealed_insn *program, const struct seccomp_data *d)
{
	uint32_t r = program == NULL ? SECCOMP_RET_KILL_PROCESS : bpf_run(program, d);

	r &= SECCOMP_RET_ACTION_FULL;
	return r == SECCOMP_RET_ALLOW ? 2 : r == SECCOMP_RET_USER_NOTIF ? 1 : 0;
}

static void
ask_syscalls(const struct sides *x, uint32_t arch)
{
	static const uint64_t args[] = {0, 1, 2, 16, 0x10000000, UINT64_MAX};
	const struct sealed_insn *old = program_of(x, 0, arch),
				 *new = program_of(x, 1, arch);
	struct seccomp_data d = {.arch = arch};
	char text[32];

	for (uint32_t nr = 0; nr < 2 * SYSCALLS && new != old; nr++) {
		d.nr = (int)(nr < SYSCALLS ? nr : 0x40000000 + nr - SYSCALLS);
		for (size_t i = 0; i < ARRAY_LEN(args); i++) {
			for (size_t k = 0; k < ARRAY_LEN(d.args); k++)
				d.args[k] = args[i];
			(void)snprintf(text, sizeof(text), "%d", d.nr);
			if (passes(new, &d) > passes(old, &d))
				wider(x, "system call", text, "");
		}
	}
}

static void
ask_settings(const struct sides *x)
{
	const struct policy *p = x->p;
	const struct sealed_server *const *s = x->s;
	bool has;

	for (int k = LIMIT_MEMORY; k <= LIMIT_KIND_LAST; k++) {
		uint64_t old = policy_limit(&p[0], s[0], (enum sealed_limit_kind)k);
		uint64_t new = policy_limit(&p[1], s[1], (enum sealed_limit_kind)k);

		if (old != 0 && (new == 0 || new > old))
			wider(
			    x, "limit", policy_limit_name((enum sealed_limit_kind)k), "");
	}
	if (policy_oneshot(&p[0], s[0]) != ONESHOT_NO &&
	    policy_oneshot(&p[1], s[1]) == ONESHOT_NO)
		wider(x, "a process for several calls", "", "");
	PART(s[1]->secrets, i)
	{
		has = false;
		PART(s[0]->secrets, k)
		has = has || strcmp(policy_str(&p[1], p[1].secret[i].name),
				 policy_str(&p[0], p[0].secret[k].name)) == 0;
		if (!has)
			wider(x, "secret", policy_str(&p[1], p[1].secret[i].name), "");
	}
	PART(s[1]->filters, i)
	ask_syscalls(x, p[1].filter[i].arch);
}

/* What is permitted on this day. */
static void
ask_on(struct sides *x, uint32_t day)
{
	x->p[0].today = x->p[1].today = day;
	ask_gates(x);
	ask_starts(x);
	ask_hosts(x);
	if ((policy_offers(&x->p[1], x->s[1]) & ~policy_offers(&x->p[0], x->s[0])) != 0)
		wider(x, "what the server may ask the agent", "", "");
}

void
requests_ask(
    const struct policy p[2], const struct sealed_server *const s[2], uint64_t seed)
{
	struct sides x = {.p = {p[0], p[1]}, .s = {s[0], s[1]}, .seed = seed};

	add_server(&x, 0);
	add_server(&x, 1);
	add_others(&x);
	for (size_t i = 0; i < x.day_n; i++)
		if (x.days[i] >= p[0].today)
			ask_on(&x, x.days[i]);
	for (size_t i = 0; i < x.paths.n; i++) {
		ask_path(&x, x.paths.v[i], RIGHT_READ);
		ask_path(&x, x.paths.v[i], RIGHT_WRITE);
	}
	ask_settings(&x);
	lists_free(&x);
}
