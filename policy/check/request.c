/*
 * Translates a request from the command line into one for the matcher.
 */
#include "policy/check/check.h"
#include "policy/check/request.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/lang/scalar.h"
#include "policy/print/statement.h"
#include "shim/base/fd.h"
#include "shim/host/path_resolve.h"

static const struct {
	const char *name;
	size_t word_min, word_max; /* after the name */
	const char *takes;
	enum sealed_gate_kind gate;
} kinds[] = {
    [REQUEST_EXEC] = {"exec", 1, SIZE_MAX, "exec takes a program and its arguments", 0},
    [REQUEST_NET] = {"net", 1, 1, "net takes HOST:PORT", 0},
    [REQUEST_READ] = {"read", 1, 1, "read takes one absolute path", 0},
    [REQUEST_WRITE] = {"write", 1, 1, "write takes one absolute path", 0},
    [REQUEST_TOOL] = {"tool", 1, 2, "tool takes a name and JSON arguments", GATE_TOOL},
    [REQUEST_RESOURCE] = {"resource", 1, 1, "resource takes a URI", GATE_RESOURCE},
    [REQUEST_PROMPT] = {"prompt", 1, 2, "prompt takes a name", GATE_PROMPT},
    [REQUEST_METHOD] = {"method", 1, 1, "method takes a name", GATE_METHOD},
    [REQUEST_SAMPLING] = {"sampling", 0, 0, "sampling takes no arguments", GATE_SAMPLING},
    [REQUEST_ELICITATION] = {"elicitation", 0, 0, "elicitation takes no arguments",
	GATE_ELICITATION},
    [REQUEST_ROOTS] = {"roots", 0, 0, "roots takes no arguments", GATE_ROOTS},
};
#define KIND_N (ARRAY_LEN(kinds))

const char *
request_kind_name(enum request_kind kind)
{
	return kinds[kind].name;
}

/* HOST:PORT, [ADDRESS]:PORT. */
static int
read_host(struct request *a)
{
	const char *text = a->word[0], *colon = strrchr(text, ':');
	unsigned long port;
	char *end;

	if (colon == NULL || colon == text || colon[1] < '0' || colon[1] > '9')
		return -EINVAL;
	port = strtoul(colon + 1, &end, 10);
	if (*end != 0 || port < 1 || port > 65535)
		return -EINVAL;
	a->port = (uint32_t)port;
	a->host_len = (size_t)(colon - text);
	return 0;
}

int
request_read(const char *const *word, size_t n, struct request *ret, const char **ret_why)
{
	struct request a = {.word = word + 1};
	size_t k;

	for (k = 1; n > 0 && k < KIND_N; k++)
		if (strcmp(word[0], kinds[k].name) == 0)
			break;
	if (n == 0 || k == KIND_N) {
		*ret_why = "expected exec, net, read, write, tool, resource, prompt, "
			   "method, sampling, elicitation or roots";
		return -EINVAL;
	}
	a.kind = (enum request_kind)k;
	a.word_n = n - 1;
	*ret_why = kinds[k].takes;
	if (a.word_n < kinds[k].word_min || a.word_n > kinds[k].word_max)
		return -EINVAL;
	if ((a.kind == REQUEST_READ || a.kind == REQUEST_WRITE) &&
	    !path_is_normal(word[1]))
		return -EINVAL;
	if (a.kind == REQUEST_NET && read_host(&a) != 0)
		return -EINVAL;
	if ((a.kind == REQUEST_TOOL || a.kind == REQUEST_PROMPT) && a.word_n == 2) {
		a.args = word[2];
		*ret_why = "expected one JSON value for the arguments of the call";
		if (!policy_is_json(a.args, strlen(a.args)))
			return -EINVAL;
		a.word_n = 1;
	}
	*ret = a;
	return 0;
}

void
request_say(const struct request *a, FILE *f)
{
	size_t i;

	(void)fputs(kinds[a->kind].name, f);
	for (i = 0; i < a->word_n; i++) {
		(void)fputc(' ', f);
		say_word(a->word[i], strlen(a->word[i]), f);
	}
	if (a->args != NULL) {
		(void)fputc(' ', f);
		out_plain(f, a->args, strlen(a->args));
	}
}

/* ---- calls of the matcher ------------------------------------------------ */

static uint32_t
image_at(const struct policy *p, const struct sealed_server *s, const char *path)
{
	struct path_resolved real;
	const char *names[2] = {path, NULL};
	const struct sealed_image *m;
	uint32_t i;
	size_t k;

	if (path[0] == '/' && path_resolve(path, 0, NULL, NULL, &real) == 0) {
		fd_close(&real.fd);
		names[1] = real.real;
	}
	for (k = 0; k < 2 && names[k] != NULL; k++)
		for (i = 0; i < s->images.n; i++) {
			m = &p->image[s->images.first + i];
			if (strcmp(policy_str(p, m->path), names[k]) == 0 ||
			    strcmp(policy_str(p, m->real), names[k]) == 0)
				return s->images.first + i;
		}
	return SEALED_NONE;
}

uint32_t
request_image(const struct policy *p, const struct sealed_server *s, const char *path)
{
	char full[PATH_MAX];
	uint32_t found = SEALED_NONE;

	if (strchr(path, '/') != NULL)
		return image_at(p, s, path);
	/* as in the cell: what is not granted is not there */
	for (size_t i = 0; i < CHECK_BIN_DIRS_N && found == SEALED_NONE; i++)
		if (snprintf(full, sizeof(full), "%s/%s", check_bin_dirs[i], path) <
		    (int)sizeof(full))
			found = image_at(p, s, full);
	return found;
}

struct policy_exec_ask
request_exec(
    const struct policy *p, const struct sealed_server *s, const struct request *a)
{
	struct policy_exec_ask e = {
	    .asked = request_image(p, s, a->word[0]),
	    .argv = {a->word, a->word_n},
	    .caller = a->from == NULL ? SEALED_NONE : request_image(p, s, a->from),
	    .cwd = a->in,
	    .env = a->env,
	    .env_n = a->env_n,
	};

	return e;
}

struct policy_gate_ask
request_gate(
    const struct policy *p, const struct sealed_server *s, const struct request *a)
{
	struct policy_gate_ask g = {.kind = kinds[a->kind].gate, .name = ""};

	if (a->word_n > 0) {
		g.name = a->word[0];
		g.name_len = strlen(g.name);
	}
	if (a->kind == REQUEST_TOOL)
		g.pin = policy_pin(p, s, PIN_TOOL, g.name, g.name_len, NULL);
	/*
	 * no arguments given means a call without any: a condition finds them
	 * missing
	 */
	if (a->kind == REQUEST_TOOL || a->kind == REQUEST_PROMPT) {
		g.args = a->args != NULL ? a->args : "{}";
		g.args_len = strlen(g.args);
	}
	return g;
}

struct policy_net_ask
request_net(const struct request *a)
{
	struct policy_net_ask n = {
	    .host = a->word[0], .host_len = a->host_len, .port = a->port};

	if (n.host_len > 2 && n.host[0] == '[' && n.host[n.host_len - 1] == ']') {
		n.host++;
		n.host_len -= 2;
	}
	return n;
}

struct policy_answer
request_policy(
    const struct policy *p, const struct sealed_server *s, const struct request *a)
{
	struct policy_exec_ask e;
	struct policy_gate_ask g;
	static const uint32_t offers[] = {
	    [REQUEST_SAMPLING] = SERVER_MCP_SAMPLING,
	    [REQUEST_ELICITATION] = SERVER_MCP_ELICITATION,
	    [REQUEST_ROOTS] = SERVER_MCP_ROOTS,
	};
	struct policy_answer answer;
	struct policy_net_ask n;

	if (a->kind == REQUEST_EXEC) {
		e = request_exec(p, s, a);
		return policy_match_exec_call(p, s, &e);
	}
	if (a->kind == REQUEST_NET) {
		n = request_net(a);
		return policy_match_net(p, s, &n);
	}
	if (a->kind == REQUEST_READ || a->kind == REQUEST_WRITE)
		return policy_match_path(
		    p, s, a->word[0], a->kind == REQUEST_READ ? RIGHT_READ : RIGHT_WRITE);
	g = request_gate(p, s, a);
	answer = policy_match_gate(p, s, &g);
	if (offers[a->kind] != 0 && (policy_offers(p, s) & offers[a->kind]) == 0)
		answer.verdict = VERDICT_DENY;
	return answer;
}

struct sealed_at
request_decides(const struct policy_answer *a)
{
	static const struct sealed_at none = {0, 0};

	if (a->exec != NULL)
		return a->exec->at;
	if (a->gate != NULL)
		return a->gate->at;
	if (a->net != NULL)
		return a->net->at;
	return a->mount != NULL ? a->mount->at : none;
}

/* ---- enforcement --------------------------------------------------------- */

static const char *
path_mechanism(const struct request *q, const struct policy_answer *a)
{
	const struct sealed_mount *m = a->mount;

	if (m == NULL)
		return "absent from the view";
	if (m->kind == MOUNT_HIDE)
		return "hidden: covered by an empty, unreadable mount";
	if (q->kind == REQUEST_READ && m->kind == MOUNT_ETC && policy_etc_has(q->word[0]))
		return "kennel writes this file; it is not the host's (read-only mount, "
		       "Landlock)";
	if (a->verdict == VERDICT_ALLOW)
		return q->kind == REQUEST_READ ? "in the view; mount, Landlock"
					       : "in the view, noexec; mount, Landlock";
	if (q->kind == REQUEST_WRITE)
		return "read-only mount, Landlock";
	return "absent from the view";
}

const char *
request_mechanism(const struct request *q, const struct policy_answer *a)
{
	if (q->kind == REQUEST_EXEC)
		return a->exec == NULL
			   ? "exec gate; a file that no rule names is absent from the "
			     "view or cannot be started (Landlock)"
			   : "exec gate: image, arguments and environment, at "
			     "the exec";
	if (q->kind == REQUEST_NET)
		return "kennel-egress and kennel-dial (network namespace)";
	if (q->kind == REQUEST_READ || q->kind == REQUEST_WRITE)
		return path_mechanism(q, a);
	if (q->kind == REQUEST_METHOD)
		return "tool gate: requests and notifications, both ways";
	return q->kind >= REQUEST_SAMPLING ? "tool gate: capabilities and requests"
					   : "tool gate: lists and calls";
}
