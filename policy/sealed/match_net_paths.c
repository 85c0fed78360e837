/*
 * The matcher for hosts and paths.  The mount view and Landlock enforce paths;
 * this file computes the result of both.
 */
#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "policy/sealed/match.h"
#include "policy/sealed/policy.h"
#include "policy/sealed/row_index.h"
#include "shim/base/array.h"

#define ADDRESS_TEXT_MAX 46
#define LINKS_MAX        40 /* as in the kernel's path walk */
#define PATH_LEN_MAX     4096

uint32_t
policy_days_now(void)
{
	/* syscalls: clock_gettime time */
	return (uint32_t)(time(NULL) / (24L * 60 * 60));
}

/* ---- hosts ------------------------------------------------------------------- */

/* An address as 16 bytes, IPv4 as ::ffff:a.b.c.d. */
static bool
address_of(const char *host, size_t len, uint8_t ret[16])
{
	static const uint8_t v4[12] = {[10] = 0xff, [11] = 0xff};
	char text[ADDRESS_TEXT_MAX];

	if (len >= sizeof(text))
		return false;
	memcpy(text, host, len);
	text[len] = 0;
	if (strlen(text) != len)
		return false;
	memcpy(ret, v4, sizeof(v4));
	return inet_pton(AF_INET, text, ret + 12) == 1 ||
	       inet_pton(AF_INET6, text, ret) == 1;
}

static bool
cidr_holds(const struct sealed_net *n, const char *host, size_t len)
{
	uint8_t addr[16];
	uint32_t whole = n->prefix / 8, bits = n->prefix % 8;

	if (!address_of(host, len, addr) || memcmp(addr, n->addr, whole) != 0)
		return false;
	return bits == 0 || (addr[whole] >> (8 - bits)) == (n->addr[whole] >> (8 - bits));
}

static bool
host_holds(
    const struct policy *p, const struct sealed_net *n, const char *host, size_t len)
{
	const char *want = policy_str(p, n->host);

	if (n->kind == HOST_CIDR)
		return cidr_holds(n, host, len);
	if (n->kind == HOST_EXACT)
		return len == n->host.len && memcmp(host, want, len) == 0;
	/* one or more labels below it */
	return len > n->host.len + 1 && host[len - n->host.len - 1] == '.' &&
	       memcmp(host + len - n->host.len, want, n->host.len) == 0;
}

enum policy_miss
policy_net_miss(
    const struct policy *p, const struct sealed_net *n, const struct policy_net_ask *ask)
{
	if (!host_holds(p, n, ask->host, ask->host_len))
		return MISS_HOST;
	if (ask->port < n->port_first || ask->port > n->port_last)
		return MISS_PORT;
	return match_expired(p, n->exception, n->verdict) ? MISS_EXPIRED : MISS_NONE;
}

struct net_match {
	struct match m;
	const struct policy_net_ask *ask;
};

static void
net_consider(const struct policy *p, uint32_t row, void *arg)
{
	const struct sealed_net *n = &p->net[row];
	struct net_match *m = arg;

	if (policy_net_miss(p, n, m->ask) == MISS_NONE &&
	    match_wins(&m->m, n->verdict, (enum sealed_factor)n->factor, n->at))
		m->m.answer.net = n;
}

struct policy_answer
policy_match_net(const struct policy *p, const struct sealed_server *s,
    const struct policy_net_ask *ask)
{
	struct net_match m = {.m.answer.verdict = VERDICT_DENY, .ask = ask};

	index_nets(p, s, ask, net_consider, &m);
	return m.m.answer;
}

/* ---- paths ------------------------------------------------------------------- */

/*
 * The row nearest to path, going upwards; a hide row wins over the rows it
 * covers.
 */
static const struct sealed_mount *
nearest(
    const struct policy *p, const struct sealed_server *s, const char *path, size_t len)
{
	const struct sealed_mount *m, *best = NULL;
	uint32_t i;

	for (i = 0; i < s->mounts.n; i++) {
		m = &p->mount[s->mounts.first + i];
		if (!policy_under(path, len, policy_str(p, m->target), m->target.len))
			continue;
		if (m->kind == MOUNT_HIDE)
			return m;
		/* a later row with the same target covers the earlier one */
		if (best == NULL || m->target.len >= best->target.len)
			best = m;
	}
	return best;
}

/* Replaces the path of the link by the link's text; false: too long. */
static bool
follow(const struct policy *p, const struct sealed_mount *m, char path[PATH_LEN_MAX])
{
	const char *text = policy_str(p, m->source), *target = policy_str(p, m->target);
	char out[PATH_LEN_MAX], part[PATH_LEN_MAX];
	size_t len = (size_t)(strrchr(target, '/') - target), n, i = 0;
	const char *rest[2] = {text, path + m->target.len};

	if (text[0] == '/')
		len = 0;
	memcpy(out, target, len);
	for (i = 0; i < 2; i++)
		while (*rest[i] != 0) {
			rest[i] += strspn(rest[i], "/");
			n = strcspn(rest[i], "/");
			if (n == 0 || len + n + 2 > PATH_LEN_MAX)
				break;
			memcpy(part, rest[i], n);
			part[n] = 0;
			rest[i] += n;
			if (strcmp(part, "..") == 0) {
				while (len > 0 && out[--len] != '/')
					;
			} else if (strcmp(part, ".") != 0) {
				out[len++] = '/';
				memcpy(out + len, part, n);
				len += n;
			}
		}
	out[len] = 0;
	memcpy(path, out, len + 1);
	return *rest[0] == 0 && *rest[1] == 0 && len > 0;
}

/* The row that decides about this path, and the path after all links; NULL: none. */
static const struct sealed_mount *
path_row(const struct policy *p, const struct sealed_server *s, const char *path,
    char at[PATH_LEN_MAX])
{
	const struct sealed_mount *m;
	size_t len = strlen(path);
	uint32_t links;

	if (len >= PATH_LEN_MAX || path[0] != '/')
		return NULL;
	memcpy(at, path, len + 1);
	for (links = 0; links < LINKS_MAX; links++) {
		m = nearest(p, s, at, strlen(at));
		if (m == NULL || m->kind != MOUNT_SYMLINK)
			return m;
		if (!follow(p, m, at))
			return NULL;
	}
	return NULL;
}

/* Of `tty`. */
static bool
is_terminal(const char *at)
{
	return strcmp(at, "/dev/ptmx") == 0 || strcmp(at, "/dev/pts") == 0 ||
	       strncmp(at, "/dev/pts/", 9) == 0;
}

struct policy_answer
policy_match_path(const struct policy *p, const struct sealed_server *s, const char *path,
    enum sealed_mount_right right)
{
	struct policy_answer answer = {.verdict = VERDICT_DENY};
	const struct sealed_mount *m;
	char at[PATH_LEN_MAX];

	m = path_row(p, s, path, at);
	if (m == NULL)
		return answer;
	if (m->kind == MOUNT_ETC && strcmp(at, "/etc") != 0 && !policy_etc_has(at))
		return answer;
	if (m->kind == MOUNT_DEV && (s->flags & SERVER_TTY) == 0 && is_terminal(at))
		return answer;
	/* A created directory and a file grant only themselves, nothing below. */
	if ((m->right & right) != 0 && ((m->kind != MOUNT_DIR && m->kind != MOUNT_FILE) ||
					   strlen(at) == m->target.len))
		answer.verdict = VERDICT_ALLOW;
	/* no line asked for a directory that is created on the way to another grant */
	if (m->kind != MOUNT_DIR || answer.verdict == VERDICT_ALLOW)
		answer.mount = m;
	return answer;
}

char *
policy_path_source(
    const struct policy *p, const struct sealed_server *s, const char *path)
{
	const struct sealed_mount *m;
	char at[PATH_LEN_MAX] = "", *text;
	size_t cap;

	m = path_row(p, s, path, at);
	cap = sizeof(at) + (m == NULL ? 0 : m->source.len);
	text = malloc(cap);
	if (text != NULL && m != NULL && (m->kind == MOUNT_FILE || m->kind == MOUNT_TREE))
		(void)snprintf(
		    text, cap, "%s%s", policy_str(p, m->source), at + m->target.len);
	else if (text != NULL)
		(void)snprintf(text, cap, "(%u)%s", m == NULL ? 0 : m->kind, at);
	return text;
}
