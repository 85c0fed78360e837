/*
 * kennel secret grant: finds the policy of a grant and compiles it as for a start;
 * then this process becomes kennel-secret, which gets the bytes. Without a path, does so
 * for each secret of the vault that the policy gives the server.
 *
 * Process: kennel, briefly.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "shim/base/hex.h"
#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/cli/cli.h"
#include "supervisor/cli/secret.h"
#include "supervisor/help/help.h"
#include "supervisor/launch/launch.h"
#include "supervisor/launch/regrant.h"

#define WORDS_MAX 16
/* exit statuses of kennel secret */
#define SECRET_LOCKED  126
#define SECRET_NONE    127
#define OUTPUT_MAX     (64u << 10)
#define SESSION_DIGITS 16
#define ID_TEXT_MAX    (2 * POLICY_ID_LEN + 1)

/*
 * kennel secret grant [PATH] --server NAME [--policy FILE] [--only-id ID]
 *     [--for-start SESSION --after ID]: from regrant.c; the first is for the record
 *     alone, the second for kennel-secret
 *     [--kept]: from secret_value_grants.c; the policy with the id, from its copy beside the log
 */
struct grant {
	char *word[WORDS_MAX + 2]; /* for kennel-secret */
	int word_n;
	const char *path, *server, *file;
	const char *only_id; /* grant no other policy than this one */
	const char *start;   /* the session that grants again */
	bool kept;
	struct policy_found found;
	char id[ID_TEXT_MAX];
};

/* Keeps --policy, --only-id and --for-start, with their values, to itself; 0 or an exit
 * status. */
static int
read_words(struct grant *g, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		bool policy = strcmp(argv[i], "--policy") == 0;
		bool server = strcmp(argv[i], "--server") == 0;
		bool only = strcmp(argv[i], "--only-id") == 0;
		bool start = strcmp(argv[i], "--for-start") == 0;
		bool after = strcmp(argv[i], "--after") == 0;

		if (strcmp(argv[i], "--kept") == 0) {
			g->kept = true;
			continue;
		}
		if (argv[i][0] == '-' && !policy && !server && !only && !start && !after)
			return secret_unknown_option(argv[0], i);
		if ((policy || server || only || start || after) && i + 1 == argc)
			return help_usage(
			    &secret_help, argv[0], "missing value of an option");
		if (policy)
			g->file = argv[++i];
		else if (only)
			g->only_id = argv[++i];
		else if (start)
			g->start = argv[++i];
		else {
			if (i > 0 && !server && !after && g->path == NULL)
				g->path = argv[i];
			g->word[g->word_n++] = argv[i];
			if (server || after)
				g->word[g->word_n++] = argv[++i];
			if (server)
				g->server = argv[i];
		}
	}
	return 0;
}

/* status is that of kennel secret grant; a vault that is closed is so for all paths. */
static void
say_not_granted(const struct grant *g, const char *path, int status)
{
	if (status == SECRET_LOCKED)
		log_error("secret grant: the vault is locked: open it with kennel secret "
			  "unlock");
	else if (status == SECRET_NONE)
		log_error("secret grant: no vault found: create one with kennel secret "
			  "init");
	else
		log_error("secret grant: unable to grant %s: run `kennel secret grant %s "
			  "--server %s`",
		    path, path, g->server);
}

/* One process for each path, because each is recorded on its own. */
static int
grant_each(struct grant *g)
{
	const struct policy *p = &g->found.policy;
	const struct sealed_secret *row = p->secret + g->found.server->secrets.first;
	const char *words[12] = {
	    "kennel", "secret", "grant", NULL, "--server", g->server, "--only-id", g->id};
	int n = 0, failed = 0, r;
	struct buf out;

	if (g->file != NULL) {
		words[8] = "--policy";
		words[9] = g->file;
	}
	for (uint32_t i = 0; i < g->found.server->secrets.n; i++) {
		if (row[i].source != SOURCE_VAULT)
			continue;
		words[3] = policy_str(p, row[i].ref);
		buf_init(&out, OUTPUT_MAX);
		n++;
		r = regrant_run(words, &out);
		if (r == 0)
			printf("%.*s", (int)out.len, (const char *)out.data);
		else {
			failed = EXIT_FAILED;
			say_not_granted(g, words[3], r);
		}
		buf_free(&out);
		if (r == SECRET_LOCKED || r == SECRET_NONE)
			return r;
	}
	if (n == 0)
		log_error(
		    "secret grant: the policy of server %s names no secret of the vault: "
		    "add `secret NAME from vault PATH` to it",
		    g->server);
	return n == 0 ? EXIT_INPUT : failed;
}

static int
grant_one(struct grant *g)
{
	char number[16];
	int fd = fcntl(g->found.fd, F_DUPFD, 3); /* not close-on-exec: inherited */

	if (fd < 0)
		return EXIT_FAILED;
	(void)snprintf(number, sizeof(number), "%d", fd);
	g->word[g->word_n++] = (char *)"--policy-fd";
	g->word[g->word_n++] = number;
	return secret_become(g->word_n, g->word);
}

static int
find_kept(struct grant *g, char *why, size_t why_cap)
{
	uint8_t id[POLICY_ID_LEN];

	if (g->only_id != NULL && g->path != NULL &&
	    hex_get(g->only_id, strlen(g->only_id), id, sizeof(id)) &&
	    regrant_kept(g->server, id, &g->found) == 0)
		return 0;
	(void)snprintf(why, why_cap, "no policy with this id is kept beside the log");
	return EXIT_INPUT;
}

int
grant_main(int argc, char **argv)
{
	struct grant g = {.word_n = 0};
	char why[256] = "";
	int status;

	if (argc > WORDS_MAX)
		return help_usage(&secret_help, argv[0], "too many arguments");
	status = read_words(&g, argc, argv);
	if (status != 0)
		return status;
	if (g.start != NULL && !hex_is(g.start, strlen(g.start), SESSION_DIGITS))
		return help_usage(&secret_help, argv[0], "invalid session");
	vault_log_start(g.start);
	if (g.server == NULL)
		return help_usage(&secret_help, argv[0], "expected --server NAME");
	status = g.kept ? find_kept(&g, why, sizeof(why))
			: find_policy(g.file, g.server, &g.found, why, sizeof(why));
	if (status != 0) {
		log_error("secret grant: %s", why);
		return status;
	}
	(void)hex_put(g.id, g.found.policy.id, POLICY_ID_LEN);
	if (g.only_id != NULL && strcmp(g.only_id, g.id) != 0) {
		log_error("secret grant: the policy has changed since it was shown: run "
			  "`kennel secret grant --server %s`",
		    g.server);
		status = EXIT_INPUT;
	} else if (g.path == NULL)
		status = grant_each(&g);
	else {
		/* so that an edited policy can be compared with it */
		if (paths_audit_dir() != NULL)
			(void)policy_found_keep(&g.found, paths_audit_dir());
		status = grant_one(&g);
	}
	policy_found_free(&g.found);
	return status;
}
