/*
 * "kennel policy query": which servers can reach a host, run a program, read or
 * write a path, hold a secret, or leak a secret.
 */
#include "policy/cli/verb.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "policy/check/request.h"
#include "policy/diff/diff.h"

struct query {
	const struct policy *p;
	const struct args *a;
	const char *const *word; /* after the kind */
	size_t word_n;
	bool json;
	struct out o;
	size_t found;
};

/* ---- output -------------------------------------------------------------- */

/* One row of the result: the server, the verdict, the policy line. */
struct hit {
	const char *server, *verdict, *what; /* what: extra text, or NULL */
	struct sealed_at at;                 /* line 0: none */
	const char *line;
};

static void
tell(struct query *q, const struct hit *h)
{
	q->found++;
	if (q->json) {
		out_object(&q->o, NULL);
		out_text(&q->o, "server", h->server);
		out_text(&q->o, "verdict", h->verdict);
		if (h->what != NULL)
			out_text(&q->o, "what", h->what);
		if (h->at.line != 0) {
			out_text(&q->o, "file", policy_str(q->p, q->p->file[h->at.file]));
			out_number(&q->o, "line", h->at.line);
		}
		if (h->line != NULL)
			out_text(&q->o, "text", h->line);
		out_end(&q->o);
		return;
	}
	printf("%s: %s", h->server, h->verdict);
	if (h->what != NULL) {
		(void)fputc(' ', stdout);
		out_plain(stdout, h->what, strlen(h->what));
	}
	if (h->line != NULL) {
		(void)fputs(": ", stdout);
		out_plain(stdout, h->line, strlen(h->line));
	}
	if (h->at.line != 0) {
		(void)fputs("  # ", stdout);
		say_at(q->p, h->at, stdout);
	}
	(void)fputc('\n', stdout);
}

static const char *
name_of(const struct query *q, const struct sealed_server *s)
{
	return policy_str(q->p, s->name);
}

/* ---- requests to the matcher --------------------------------------------- */

static char *
decider(const struct query *q, const struct policy_answer *a)
{
	if (a->exec != NULL)
		return say_text(say_exec, q->p, a->exec);
	if (a->net != NULL)
		return say_text(say_net, q->p, a->net);
	return a->mount != NULL ? say_text(say_mount, q->p, a->mount) : NULL;
}

/* A directory created only as a parent of mounts. */
static bool
is_way(const struct policy_answer *a)
{
	return a->mount != NULL && a->mount->kind == MOUNT_DIR;
}

static int
ask_all(struct query *q, const char *kind)
{
	const char *words[VERB_WORDS_MAX] = {kind}, *why;
	const struct sealed_server *s;
	struct policy_answer a;
	struct request ask;
	uint32_t i;
	char *line;

	memcpy(words + 1, q->word, q->word_n * sizeof(*words));
	if (request_read(words, q->word_n + 1, &ask, &why) != 0)
		return verb_usage(why, "");
	for (i = 0; i < q->p->row_n[SEALED_SERVERS]; i++) {
		s = &q->p->server[i];
		a = request_policy(q->p, s, &ask);
		if (a.verdict == VERDICT_DENY || is_way(&a))
			continue;
		line = decider(q, &a);
		tell(q, &(struct hit){name_of(q, s), policy_verdict_name(a.verdict), NULL,
			    request_decides(&a), line});
		free(line);
	}
	return 0;
}

static int
query_reach(struct query *q)
{
	if (strchr(q->word[0], ':') == NULL)
		return verb_usage("reach takes HOST:PORT, as in api.example.com:443", "");
	return ask_all(q, "net");
}

/* ---- grants below a path ------------------------------------------------- */

static void
tell_below(struct query *q, const struct sealed_server *s, enum sealed_mount_right right)
{
	const char *path = q->word[0];
	const struct sealed_mount *m;
	uint32_t i;
	char *line;

	for (i = 0; i < s->mounts.n; i++) {
		m = &q->p->mount[s->mounts.first + i];
		if ((m->right & (uint32_t)right) == 0 || m->kind == MOUNT_DIR ||
		    !policy_under(
			policy_str(q->p, m->target), m->target.len, path, strlen(path)))
			continue;
		line = say_text(say_mount, q->p, m);
		tell(q, &(struct hit){name_of(q, s), "below", NULL, m->at, line});
		free(line);
	}
}

/*
 * The servers that have access to the path itself, and those to something in
 * it.
 */
static int
query_path(struct query *q, const char *kind, enum sealed_mount_right right)
{
	const struct sealed_server *s;
	struct policy_answer a;
	uint32_t i;
	int status;

	status = ask_all(q, kind);
	for (i = 0; status == 0 && i < q->p->row_n[SEALED_SERVERS]; i++) {
		s = &q->p->server[i];
		a = policy_match_path(q->p, s, q->word[0], right);
		if (a.verdict == VERDICT_DENY || is_way(&a))
			tell_below(q, s, right);
	}
	return status;
}

static int
query_read(struct query *q)
{
	return query_path(q, "read", RIGHT_READ);
}

static int
query_write(struct query *q)
{
	return query_path(q, "write", RIGHT_WRITE);
}

/* ---- programs ------------------------------------------------------------ */

/*
 * Everything of this file that may be started: computed as the difference from
 * an empty policy.
 */
static int
run_server(struct query *q, const struct sealed_server *s)
{
	struct diff d = {.p = {q->p, q->p}, .s = {NULL, s}};
	uint32_t image = request_image(q->p, s, q->word[0]);
	size_t i;
	int r;

	if (image == SEALED_NONE)
		return 0;
	d.only = policy_str(q->p, q->p->image[image].real);
	r = diff_exec(&d);
	for (i = 0; i < d.found_n && r == 0; i++)
		tell(q, &(struct hit){name_of(q, s), d.found[i].to_text, NULL,
			    (struct sealed_at){0, 0}, d.found[i].set});
	if (r == 0 && d.beyond)
		tell(q, &(struct hit){name_of(q, s), "allow", NULL, s->at,
			    "perhaps: too many rules to decide"});
	diff_free(&d);
	return r;
}

static int
query_run(struct query *q)
{
	uint32_t i;
	int r = 0;

	if (q->word_n > 1)
		return ask_all(q, "exec");
	for (i = 0; i < q->p->row_n[SEALED_SERVERS] && r == 0; i++)
		r = run_server(q, &q->p->server[i]);
	return r == 0 ? 0 : verb_status(r);
}

/* ---- secrets ------------------------------------------------------------- */

/* Selects a secret by its variable or by its source. */
static bool
is_secret(const struct query *q, const struct sealed_secret *c)
{
	return q->word_n == 0 || strcmp(policy_str(q->p, c->name), q->word[0]) == 0 ||
	       strcmp(policy_str(q->p, c->ref), q->word[0]) == 0;
}

static int
query_hold(struct query *q)
{
	const struct sealed_secret *c;
	const struct sealed_server *s;
	uint32_t i, k;
	char *line;

	for (i = 0; i < q->p->row_n[SEALED_SERVERS]; i++) {
		s = &q->p->server[i];
		for (k = 0; k < s->secrets.n; k++) {
			c = &q->p->secret[s->secrets.first + k];
			if (!is_secret(q, c))
				continue;
			line = say_text(say_secret, q->p, c);
			tell(q, &(struct hit){name_of(q, s), "holds",
				    policy_str(q->p, c->name), c->at, line});
			free(line);
		}
	}
	return 0;
}

/* Does the secret's own list include this host? */
static bool
host_listed(const struct query *q, const struct sealed_secret *c, const char *host)
{
	struct sealed_ref ref;
	const char *want;
	size_t len = strlen(host);
	uint32_t i;

	for (i = 0; i < c->hosts.n; i++) {
		ref = q->p->ref[c->hosts.first + i];
		want = policy_str(q->p, ref);
		if (strcmp(want, host) == 0)
			return true;
		if (want[0] == '*' && want[1] == '.' && len > ref.len - 1 &&
		    strcmp(host + len - (ref.len - 1), want + 1) == 0)
			return true;
	}
	return false;
}

/*
 * One host for each class that the server's lines and the secret's list
 * distinguish.
 */
static int
host_kinds(const struct query *q, const struct sealed_server *s,
    const struct sealed_secret *c, struct points *ret)
{
	struct points mentioned = {.n = 0};
	const struct sealed_net *n;
	struct sealed_ref ref;
	const char *text;
	uint32_t i;
	int r;

	for (i = 0; i < s->nets.n; i++) {
		n = &q->p->net[s->nets.first + i];
		points_add(&mentioned, policy_str(q->p, n->host), n->host.len);
	}
	for (i = 0; i < c->hosts.n; i++) {
		ref = q->p->ref[c->hosts.first + i];
		text = policy_str(q->p, ref);
		if (text[0] == '*' && ref.len > 2)
			points_add(&mentioned, text + 2, ref.len - 2);
		else
			points_add(&mentioned, text, ref.len);
	}
	r = points_hosts(&mentioned, ret);
	points_free(&mentioned);
	return r;
}

/* A host that this server reaches and that is not on the secret's list. */
static int
leak_of(struct query *q, const struct sealed_server *s, const struct sealed_secret *c)
{
	struct points hosts = {.n = 0};
	const struct sealed_net *n;
	struct policy_net_ask ask;
	struct policy_answer a;
	char what[900], *line;
	uint32_t i;
	size_t k;
	int r;

	r = host_kinds(q, s, c, &hosts);
	for (i = 0; i < s->nets.n && r == 0; i++) {
		n = &q->p->net[s->nets.first + i];
		for (k = 0; n->verdict != VERDICT_DENY && k <= hosts.n; k++) {
			const char *host =
			    k < hosts.n ? hosts.v[k] : policy_str(q->p, n->host);

			/* an address, for lines with addresses */
			ask = (struct policy_net_ask){
			    host, strcspn(host, "/"), n->port_first};
			a = policy_match_net(q->p, s, &ask);
			if (a.net != n || a.verdict == VERDICT_DENY ||
			    host_listed(q, c, host))
				continue;
			(void)snprintf(what, sizeof(what), "%s and reaches %.*s:%u",
			    policy_str(q->p, c->name), (int)ask.host_len, host, ask.port);
			line = say_text(say_net, q->p, n);
			tell(q, &(struct hit){name_of(q, s), "holds", what, n->at, line});
			free(line);
			break;
		}
	}
	points_free(&hosts);
	return r;
}

/* ... or the server writes a file that a server with network access can read. */
static void
leak_through(struct query *q, const struct sealed_server *s,
    const struct sealed_secret *c, const struct sealed_server *other)
{
	const struct sealed_mount *m;
	struct policy_answer a;
	const char *path;
	char what[5000], *line;
	uint32_t i;

	if (s == other || other->nets.n == 0)
		return;
	for (i = 0; i < s->mounts.n; i++) {
		m = &q->p->mount[s->mounts.first + i];
		path = policy_str(q->p, m->target);
		a = policy_match_path(q->p, other, path, RIGHT_READ);
		if (m->why != WHY_WRITE || a.verdict == VERDICT_DENY)
			continue;
		(void)snprintf(what, sizeof(what),
		    "%s and writes what %s reads, which reaches hosts",
		    policy_str(q->p, c->name), name_of(q, other));
		line = say_text(say_mount, q->p, m);
		tell(q, &(struct hit){name_of(q, s), "holds", what, m->at, line});
		free(line);
	}
}

static int
query_leak(struct query *q)
{
	const struct sealed_server *s;
	const struct sealed_secret *c;
	uint32_t i, k, o, n = q->p->row_n[SEALED_SERVERS];
	int r = 0;

	for (i = 0; i < n && r == 0; i++) {
		s = &q->p->server[i];
		for (k = 0; k < s->secrets.n && r == 0; k++) {
			c = &q->p->secret[s->secrets.first + k];
			if (!is_secret(q, c))
				continue;
			r = leak_of(q, s, c);
			for (o = 0; o < n && r == 0; o++)
				leak_through(q, s, c, &q->p->server[o]);
		}
	}
	return r == 0 ? 0 : verb_status(r);
}

/* ---- the verb ------------------------------------------------------------ */

static const struct {
	const char *name;
	size_t word_min, word_max;
	int (*run)(struct query *);
} kinds[] = {
    {"reach", 1, 1, query_reach},
    {"run", 1, SIZE_MAX, query_run},
    {"read", 1, 1, query_read},
    {"write", 1, 1, query_write},
    {"hold", 0, 1, query_hold},
    {"leak", 0, 1, query_leak},
};

static int
query(struct query *q)
{
	const char *kind = q->a->word[1];
	size_t i;

	q->word = q->a->word + 2;
	q->word_n = q->a->word_n - 2;
	for (i = 0; i < ARRAY_LEN(kinds); i++)
		if (strcmp(kind, kinds[i].name) == 0)
			break;
	if (i == ARRAY_LEN(kinds) || q->word_n < kinds[i].word_min ||
	    q->word_n > kinds[i].word_max)
		return verb_usage("expected reach HOST:PORT, run PROGRAM [ARG...], read "
				  "PATH, write PATH, hold [SECRET] or leak [SECRET]",
		    "");
	return kinds[i].run(q);
}

static int
query_file(struct query *q, const char *path)
{
	struct compiled c;
	int status = compiled_read(path, &c);

	if (status != 0)
		return status;
	q->p = &c.p;
	status = query(q);
	q->p = NULL;
	compiled_free(&c);
	return status;
}

static int
is_policy(const struct dirent *e)
{
	const char *dot = strrchr(e->d_name, '.');

	return e->d_name[0] != '.' && dot != NULL &&
	       (strcmp(dot, ".kennel") == 0 || strcmp(dot, ".sealed") == 0);
}

/* All policies of a directory, by name. One with errors is named on standard error, and
 * its status is the result's. A wrong question is reported once. */
static int
query_directory(struct query *q, const char *dir)
{
	struct dirent **entry = NULL;
	int n = scandir(dir, &entry, is_policy, alphasort), status = 0, failed = 0;

	if (n < 0)
		return verb_unable("read", dir, -errno);
	for (int i = 0; i < n; i++) {
		char path[PATH_MAX];
		int len = snprintf(path, sizeof(path), "%s/%s", dir, entry[i]->d_name);
		int r = 0;

		free(entry[i]);
		if (status != EXIT_USAGE)
			r = len < (int)sizeof(path) ? query_file(q, path) : EXIT_CONFIG;
		failed += r != 0;
		status = status == 0 || r == EXIT_USAGE ? r : status;
	}
	free(entry);
	if (failed > 0 && status != EXIT_USAGE)
		fprintf(stderr,
		    "kennel policy: unable to use %d of the %d policies of this "
		    "directory; "
		    "the answer is that of the others: mend or remove the policies that "
		    "are named above\n",
		    failed, n);
	if (n == 0) {
		fprintf(stderr,
		    "kennel policy: no policy found in this directory: expected "
		    "files that end in .kennel or .sealed\n");
		status = EXIT_MISSING;
	}
	return status;
}

int
verb_query(const struct args *a)
{
	struct query q = {.a = a, .json = (a->given & OPT_JSON) != 0};
	struct stat st;
	int status;

	out_init(&q.o, stdout);
	if (q.json)
		out_list(&q.o, NULL);
	/* syscalls: newfstatat openat getdents64 */
	if (stat(a->word[0], &st) == 0 && S_ISDIR(st.st_mode))
		status = query_directory(&q, a->word[0]);
	else
		status = query_file(&q, a->word[0]);
	if (q.json)
		out_end(&q.o);
	if (status == 0 && verb_flush() != 0)
		return EXIT_CONFIG;
	return status != 0 ? status : q.found > 0 ? EXIT_OK : EXIT_NO;
}
