/*
 * Grants that a person is asked for together with a value.
 *
 *	sessions: which server, which policy id ---> the policy, found by its name or kept
 *	                                             by its id ---> what is shown
 *	a yes ---> the value is stored ---> kennel secret grant --only-id
 *
 * Process: kennel of the person who answers. Holds no value. Trusts no session: a session
 * names servers and ids, and what a person reads of them comes from the policy with that
 * id. Must never: grant another policy than the one shown, which --only-id prevents.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "policy/base/output.h"
#include "policy/print/statement.h"
#include "shim/base/buf.h"
#include "shim/base/fd.h"
#include "shim/base/hex.h"
#include "shim/base/log.h"
#include "shim/host/codepoint.h"
#include "supervisor/approve/approve.h"
#include "supervisor/base/paths.h"
#include "supervisor/json/json.h"
#include "supervisor/cli/cli.h"
#include "supervisor/cli/secret.h"
#include "supervisor/launch/regrant.h"

#define ID_TEXT_MAX   (2 * POLICY_ID_LEN + 1)
#define OUTPUT_MAX    (1u << 20)
#define LIST_MAX      (16u << 20) /* of all sessions */
#define LINE_MAX_     4096
#define COLUMNS       80
#define ANSWER_CAP    8
#define SERVER_QUOTED 1024

/* ---- what sessions ask for --------------------------------------------------------- */

static void
add(struct value_grants *g, const char *server, const uint8_t id[POLICY_ID_LEN])
{
	for (size_t i = 0; i < g->n; i++)
		if (strcmp(g->of[i].server, server) == 0 &&
		    memcmp(g->of[i].id, id, POLICY_ID_LEN) == 0)
			return;
	if (g->n == VALUE_GRANTS_MAX)
		return; /* a further one is granted by its own command */
	(void)snprintf(
	    g->of[g->n].server, sizeof(g->of[0].server), "%s", server); /* fits */
	memcpy(g->of[g->n++].id, id, POLICY_ID_LEN);
}

static const char *
text_of(struct json object, const char *name, char *out, size_t cap)
{
	struct json value;
	size_t len;

	if (json_get(object, name, &value) < 0 || json_text(value, out, cap, &len) < 0 ||
	    strlen(out) != len)
		out[0] = '\0';
	return out;
}

/* The servers of a request for a value of this path: of a line of `approve list --json`. */
static void
read_request(struct json request, const char *path, struct value_grants *to)
{
	static char detail[QUESTION_DETAIL_MAX]; /* large */
	char text[QUESTION_PATH_MAX + 1], server[sizeof(to->of[0].server)];
	uint8_t id[POLICY_ID_LEN];
	struct json servers, key, one;
	struct json_message m;
	struct json_walk w;

	(void)text_of(request, "kind", text, sizeof(text));
	if ((strcmp(text, "provision") != 0 && strcmp(text, "rotation") != 0) ||
	    strcmp(text_of(request, "subject", text, sizeof(text)), path) != 0)
		return;
	(void)text_of(request, "detail", detail, sizeof(detail));
	if (json_scan((const uint8_t *)detail, strlen(detail), &m) < 0 ||
	    json_get(m.root, "servers", &servers) < 0)
		return;
	json_walk(&w, servers);
	while (json_next(&w, &key, &one)) {
		if (one.type != JSON_IS_OBJECT)
			continue;
		(void)text_of(one, "server", server, sizeof(server));
		(void)text_of(one, "policy", text, sizeof(text));
		if (server[0] != '\0' && hex_get(text, strlen(text), id, sizeof(id)))
			add(to, server, id);
	}
}

static void
read_sessions(const char *path, struct value_grants *to)
{
	static const char *const list[] = {"kennel", "approve", "list", "--json", NULL};
	struct json_message m;
	struct buf out;
	size_t len;

	buf_init(&out, LIST_MAX);
	(void)regrant_run(list, &out); /* a session that is silent is not among them */
	for (size_t at = 0; at < out.len; at += len + 1) {
		const uint8_t *line = out.data + at,
			      *end = memchr(line, '\n', out.len - at);

		len = end == NULL ? out.len - at : (size_t)(end - line);
		if (json_scan(line, len, &m) == 0)
			read_request(m.root, path, to);
	}
	buf_free(&out);
}

/* ---- its policy -------------------------------------------------------------------- */

static bool
names_path(const struct policy_found *f, const char *path)
{
	const struct sealed_secret *row = f->policy.secret + f->server->secrets.first;

	for (uint32_t i = 0; i < f->server->secrets.n; i++)
		if (row[i].source == SOURCE_VAULT &&
		    strcmp(policy_str(&f->policy, row[i].ref), path) == 0)
			return true;
	return false;
}

/* False: nothing is known about a policy with this id, or it does not name the path. */
static bool
find_one(struct value_grant *g, const char *path, struct policy_found *ret)
{
	bool found = find_policy_quietly(NULL, g->server, ret) == 0;

	if (found && memcmp(ret->policy.id, g->id, POLICY_ID_LEN) != 0) {
		policy_found_free(ret);
		found = false;
	}
	g->kept = !found;
	if (!found && regrant_kept(g->server, g->id, ret) < 0)
		return false;
	found = names_path(ret, path);
	if (!found)
		policy_found_free(ret);
	return found;
}

static bool
is_granted(const struct policy_found *f, const char *path, const char *server,
    struct json grants)
{
	char text[QUESTION_PATH_MAX + 1];
	struct json key, grant;
	struct json_walk w;

	if (grants.type == JSON_IS_NONE)
		return false;
	json_walk(&w, grants);
	while (json_next(&w, &key, &grant))
		if (strcmp(text_of(grant, "path", text, sizeof(text)), path) == 0 &&
		    strcmp(text_of(grant, "server", text, sizeof(text)), server) == 0 &&
		    secret_grant_holds(f, grant))
			return true;
	return false;
}

/* ---- what is shown ------------------------------------------------------------------- */

static int
put_hosts(const struct policy_found *f, struct out *o)
{
	const struct policy *p = &f->policy;
	const char *url = policy_remote_url(p, f->server);
	char *line;

	out_list(o, "network");
	if (url != NULL)
		out_text(o, NULL, url);
	for (uint32_t i = 0; i < f->server->nets.n; i++) {
		line = say_text(say_net, p, p->net + f->server->nets.first + i);
		if (line == NULL)
			return -ENOMEM;
		out_text(o, NULL, line);
		free(line);
	}
	if (url == NULL && f->server->nets.n == 0)
		out_text(o, NULL, "none");
	out_end(o);
	return 0;
}

static int
put_one(const struct value_grant *g, const struct policy_found *f, struct out *o)
{
	char hex[ID_TEXT_MAX], signer[128];
	struct sign_row row[SIGN_SIGNERS_MAX];
	struct sign_head head;
	size_t n = 0;
	int r;

	out_object(o, NULL);
	out_text(o, "server", g->server);
	out_text(o, "policy", hex_put(hex, g->id, POLICY_ID_LEN));
	if (g->kept)
		out_text(o, "file", "not the policy that a start by this name finds");
	else
		out_text(o, "file", f->file);
	r = put_hosts(f, o);
	if (sign_rows(f->fd, &head, row, &n) == 0 && n == 1) {
		(void)snprintf(signer, sizeof(signer), "every policy signed by %s",
		    hex_put(hex, row[0].key, sizeof(row[0].key))); /* fits */
		out_text(o, "grant", signer);
	} else
		out_text(
		    o, "grant", "this policy, and changed ones that allow nothing more");
	out_end(o);
	return r;
}

/* Keeps those that are missing, and writes them. */
static int
put_missing(struct value_grants *g, const char *path, struct json grants, struct out *o)
{
	static struct policy_found found; /* large */
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < g->n; i++) {
		if (!find_one(&g->of[i], path, &found)) {
			g->unknown[g->unknown_n++] = g->of[i];
			continue;
		}
		if (!is_granted(&found, path, g->of[i].server, grants)) {
			g->of[kept] = g->of[i];
			r = put_one(&g->of[kept++], &found, o);
		}
		policy_found_free(&found);
	}
	g->n = kept;
	return r;
}

static int
put_detail(struct value_grants *g, const char *path, struct json grants)
{
	char *text = NULL;
	size_t len = 0;
	struct out o;
	FILE *to = open_memstream(&text, &len);
	int r;

	if (to == NULL)
		return -ENOMEM;
	out_init(&o, to);
	out_object(&o, NULL);
	out_list(&o, "servers");
	r = put_missing(g, path, grants, &o);
	out_end(&o);
	out_end(&o);
	if (fclose(to) != 0)
		r = -ENOMEM;
	if (r < 0) {
		free(text);
		return r;
	}
	text[strcspn(text, "\n")] = '\0';
	g->detail = text;
	return 0;
}

int
value_grants_find(const char *path, struct value_grants *ret)
{
	static const char *const list[] = {"kennel", "secret", "grants", "--json", NULL};
	struct json_message m;
	struct buf grants;
	int r = 0;

	*ret = (struct value_grants){.n = 0};
	buf_init(&grants, OUTPUT_MAX);
	read_sessions(path, ret);
	if (ret->n > 0 &&
	    (vault_state_now() != VAULT_OPEN || regrant_run(list, &grants) != 0 ||
		json_scan(grants.data, grants.len, &m) < 0))
		m.root = (struct json){.type = JSON_IS_NONE}; /* unknown */
	if (ret->n > 0)
		r = put_detail(ret, path, m.root);
	buf_free(&grants);
	return r;
}

void
value_grants_free(struct value_grants *g)
{
	free(g->detail);
	*g = (struct value_grants){.n = 0};
}

/* ---- a person ------------------------------------------------------------------------ */

/* Lines of at most width characters: a label of ours, and a text of a policy, escaped. */
static void
put_lines(FILE *to, int width, const char *label, struct json value)
{
	size_t used = strlen(label) + 4, n, len;
	char text[LINE_MAX_];
	struct buf shown;

	buf_init(&shown, OUTPUT_MAX);
	if (json_text(value, text, sizeof(text), &len) == 0 &&
	    codepoint_show(&shown, text, len, 0) == 0) {
		(void)fprintf(to, "| %s: ", label);
		for (size_t at = 0; at < shown.len; at += n) {
			if (at > 0) {
				(void)fputs("\n  | ", to);
				used = 4;
			}
			n = (size_t)width > used + 1 ? (size_t)width - used : 1;
			n = n < shown.len - at ? n : shown.len - at;
			(void)fwrite(shown.data + at, 1, n, to);
		}
		(void)fputc('\n', to);
	} else
		(void)fprintf(to, "| %s: (too long)\n", label);
	buf_free(&shown);
}

/* Each member of one server; of a list, each element. */
static void
put_server(FILE *to, int width, struct json server)
{
	struct json_walk w, each;
	struct json key, value, none, element;
	char label[32];
	size_t len;

	json_walk(&w, server);
	while (json_next(&w, &key, &value)) {
		if (json_text(key, label, sizeof(label), &len) < 0)
			continue; /* the keys are ours */
		if (value.type != JSON_IS_ARRAY) {
			put_lines(to, width, label, value);
			continue;
		}
		json_walk(&each, value);
		while (json_next(&each, &none, &element))
			put_lines(to, width, label, element);
	}
}

char *
value_grants_text(const struct value_grants *g, int width)
{
	struct json servers, key, server;
	struct json_message m;
	char *text = NULL;
	struct json_walk w;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);

	if (to == NULL)
		return NULL;
	if (json_scan((const uint8_t *)g->detail, strlen(g->detail), &m) == 0 &&
	    json_get(m.root, "servers", &servers) == 0) {
		json_walk(&w, servers);
		while (json_next(&w, &key, &server))
			put_server(to, width, server);
	}
	if (fclose(to) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

bool
value_grants_ask(const struct value_grants *g, int tty)
{
	struct winsize size = {.ws_col = 0};
	char typed[ANSWER_CAP] = "", *text;
	int fd = fcntl(tty, F_DUPFD_CLOEXEC, 3), width;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r+");
	bool yes = false;

	if (f == NULL) {
		fd_close(&fd);
		return false;
	}
	width =
	    ioctl(tty, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : COLUMNS;
	text = value_grants_text(g, width);
	if (text != NULL) {
		(void)fprintf(f,
		    VALUE_GRANTS_TITLE "\n%s" VALUE_GRANTS_QUESTION " (yes or no): ",
		    text);
		(void)fflush(f);
		yes =
		    fgets(typed, sizeof(typed), f) != NULL && strcmp(typed, "yes\n") == 0;
	}
	free(text);
	(void)fclose(f); /* only read */
	return yes;
}

/* ---- the grants ------------------------------------------------------------------------ */

static int
give_one(const struct value_grant *g, const char *path)
{
	char id[ID_TEXT_MAX];
	const char *words[] = {"kennel", "secret", "grant", path, "--server", g->server,
	    "--only-id", hex_put(id, g->id, POLICY_ID_LEN), g->kept ? "--kept" : NULL,
	    NULL};
	struct buf out;
	int r;

	buf_init(&out, OUTPUT_MAX);
	r = regrant_run(words, &out);
	buf_free(&out);
	return r;
}

static const char *
quoted(char out[SERVER_QUOTED], const struct value_grant *g)
{
	return log_quote(out, SERVER_QUOTED, g->server, strlen(g->server));
}

void
value_grants_give(const struct value_grants *g, const char *path, bool agreed)
{
	char server[SERVER_QUOTED];

	for (size_t i = 0; i < g->unknown_n; i++)
		log_warn(
		    "%s: the session has another policy of server %s than a start finds "
		    "now: if it is not granted yet, run `kennel secret grant %s "
		    "--server %s`",
		    path, quoted(server, &g->unknown[i]), path, server);
	/* what is run here has no terminal, and its record says where a person was asked */
	approve_channel_set(approve_channel_here());
	for (size_t i = 0; i < g->n; i++) {
		(void)quoted(server, &g->of[i]);
		if (!agreed)
			fprintf(stderr,
			    "%s is not granted to server %s, which does not start "
			    "without it: "
			    "run `kennel secret grant %s --server %s`\n",
			    path, server, path, server);
		else if (give_one(&g->of[i], path) == 0)
			printf(
			    "%s: granted to server %s, under the policy that was shown\n",
			    path, server);
		else
			log_error("unable to grant %s to server %s: run `kennel secret "
				  "grant %s "
				  "--server %s`",
			    path, server, path, server);
	}
}
