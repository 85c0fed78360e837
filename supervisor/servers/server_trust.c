/*
 * kennel server trust, and kennel approve allow of a file: a person approves a project's
 * mcp-servers.json.
 *
 * Process: kennel, as the calling user. Starts nothing. What is approved is the SHA-256 of the
 * bytes that were read here; a row of them gives no authority.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/log.h"
#include "supervisor/approve/approve.h"
#include "supervisor/base/ask.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/cli/cli.h"
#include "supervisor/help/help.h"
#include "supervisor/servers/servers.h"
#include "supervisor/status/session_news.h"

#define DETAIL_CAP ((size_t)4 << 20)

/* Is this what the person was shown? Below 0: it could not be compared. */
static int
is_shown(struct registry *g, const struct global_file *f,
    const char digest[FILE_DIGEST_LEN + 1], const char *shown)
{
	int changed = registry_trusts_path(g, f->path), r;
	struct buf detail;

	if (changed < 0)
		return changed;
	buf_init(&detail, DETAIL_CAP);
	r = global_file_detail(f, digest, changed == 1, &detail);
	if (r == 0)
		r = strcmp(buf_str(&detail), shown) == 0;
	buf_free(&detail);
	return r;
}

static int
store(struct registry *g, const char *digest, const char *path)
{
	int status = server_log_begin("trust", digest), r;

	if (status != 0)
		return status;
	r = registry_trust(g, digest, path);
	if (r < 0)
		log_error("unable to change the registry: %s", strerror(-r));
	return server_log_end(r < 0 ? EXIT_FAILED : 0, r < 0 ? strerror(-r) : NULL);
}

static void
report(const struct global_file *f, const char *digest)
{
	char shown[4 * PATH_MAX];

	printf("approved %s with SHA-256 %s: %zu server%s\n",
	    log_quote(shown, sizeof(shown), f->path, strlen(f->path)), digest, f->rows.n,
	    f->rows.n == 1 ? "" : "s");
	for (size_t i = 0; i < f->rows.n; i++)
		printf("  %s\n", f->rows.row[i].name);
}

/* Its name, without directories. */
static bool
is_named_so(const char *path)
{
	const char *base = strrchr(path, '/');

	return strcmp(base == NULL ? path : base + 1, GLOBAL_FILE) == 0;
}

/* Each server as a session shows it, on the terminal. 0 or -ENOMEM. */
static int
show_servers(const struct global_file *f)
{
	struct buf text;
	char *shown;
	int r = 0;

	buf_init(&text, DETAIL_CAP);
	for (size_t i = 0; r == 0 && i < f->rows.n; i++) {
		text.len = 0;
		r = global_file_server(&f->rows.row[i], &text);
		shown = r < 0 ? NULL : malloc(4 * text.len + 1);
		if (shown == NULL)
			r = -ENOMEM;
		else
			fprintf(stderr, "  %s\n",
			    log_quote(shown, 4 * text.len + 1, text.data, text.len));
		free(shown);
	}
	buf_free(&text);
	return r;
}

/* Shows the contents that were read, and asks about them: 0 or an exit status. */
static int
ask(const struct global_file *f, const char *digest)
{
	char path[4 * PATH_MAX];

	(void)fflush(stdout);
	fprintf(stderr, "%s, SHA-256 %s:\n",
	    log_quote(path, sizeof(path), f->path, strlen(f->path)), digest);
	if (show_servers(f) < 0) {
		log_error("unable to show its servers: out of memory");
		return EXIT_FAILED;
	}
	if (ask_yes("Approve these contents?"))
		return 0;
	log_error("nothing was approved");
	return EXIT_FAILED;
}

/* They are not those that were reviewed: an exit status. */
static int
refuse_contents(const struct file_review *review, const char *digest)
{
	log_error("%s has the SHA-256 %s: these are not the contents that were reviewed; "
		  "review them, then give that digest",
	    review->path, digest);
	return server_log_refused("trust", digest, EXIT_INPUT,
	    "the file has other contents than those that were reviewed");
}

/* What needs no registry: 0, or an exit status after reporting why it is not approved. */
static int
check_review(
    const struct file_review *review, const struct global_file *f, const char *digest)
{
	if (review->sha256 == NULL)
		return review->shown != NULL ? 0 : ask(f, digest);
	return strcmp(review->sha256, digest) == 0 ? 0 : refuse_contents(review, digest);
}

/* The same of what a session has shown. */
static int
check_shown(const struct file_review *review, struct registry *g,
    const struct global_file *f, const char *digest, bool *ret_changed)
{
	int r = review->shown == NULL ? 1 : is_shown(g, f, digest, review->shown);

	*ret_changed = r == 0;
	if (r < 0)
		log_error("unable to compare %s with what was shown: %s", review->path,
		    strerror(-r));
	return r == 1 ? 0 : EXIT_FAILED;
}

int
server_trust_file(const struct file_review *review, char ret_sha256[FILE_DIGEST_LEN + 1],
    bool *ret_changed)
{
	static struct global_file file; /* large */
	char digest[FILE_DIGEST_LEN + 1];
	struct registry *g = NULL;
	struct reason why;
	int r, status;

	*ret_changed = false;
	if (review->path[0] != '/' || !is_named_so(review->path)) {
		log_error("expected a file named " GLOBAL_FILE " and its whole path");
		return EXIT_INPUT;
	}
	/* the file that a session in its directory would read */
	r = global_file_digest(review->path, digest, &file, &why);
	if (r < 0)
		log_error("%s", why.text);
	status = r < 0 ? EXIT_INPUT : check_review(review, &file, digest);
	if (status == 0)
		status = server_registry_open(true, &g);
	if (status == 0)
		status = check_shown(review, g, &file, digest, ret_changed);
	if (status == 0)
		status = store(g, digest, review->path);
	if (status == 0) {
		report(&file, digest);
		memcpy(ret_sha256, digest, sizeof(digest));
	}
	registry_close(g);
	global_file_free(&file);
	return status;
}

/* ---- the verb --------------------------------------------------------------------- */

/* Parses FILE [--sha256 HEX]: 0 or EXIT_USAGE. */
static int
trust_options(int argc, char **argv, struct file_review *ret)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--sha256") == 0) {
			ret->sha256 = i + 1 < argc ? argv[++i] : "";
			if (strlen(ret->sha256) != FILE_DIGEST_LEN ||
			    strspn(ret->sha256, "0123456789abcdef") != FILE_DIGEST_LEN)
				return help_usage(&server_help, argv[0],
				    "--sha256 needs 64 hex digits, as sha256sum prints "
				    "them");
		} else if (argv[i][0] == '-' || ret->path != NULL) {
			return help_refuse(&server_help, argv[0], argv[i]);
		} else {
			ret->path = argv[i];
		}
	}
	if (ret->path == NULL)
		return help_usage(&server_help, argv[0], "expected one file");
	if (!is_named_so(ret->path))
		return help_usage(&server_help, argv[0],
		    "expected a file named " GLOBAL_FILE ": no other is read");
	if (ret->sha256 == NULL && !ask_possible())
		return help_usage(&server_help, argv[0],
		    "without a terminal it needs --sha256, with the digest of the "
		    "contents "
		    "that were reviewed");
	return 0;
}

int
server_trust_main(int argc, char **argv)
{
	struct file_review review = {NULL, NULL, NULL};
	char path[PATH_MAX], dir[PATH_MAX], sha256[FILE_DIGEST_LEN + 1];
	const char *word;
	bool changed;
	int status = trust_options(argc, argv, &review);

	if (status != 0 || review.path == NULL)
		return status;
	word = review.path;
	while (strncmp(word, "./", 2) == 0)
		word += 2;
	if (word[0] == '/')
		(void)snprintf(path, sizeof(path), "%s", word); /* a cut path fails */
	else if (getcwd(dir, sizeof(dir)) != NULL)
		(void)snprintf(path, sizeof(path), "%.3000s/%.1000s", dir, word);
	else
		(void)snprintf(path, sizeof(path), "%.4000s", word);
	review.path = path;
	status = server_trust_file(&review, sha256, &changed);
	if (status != 0)
		return status;
	approve_saved(sha256); /* a session may ask about it, or have asked */
	session_news_file(sha256);
	return 0;
}
