/*
 * kennel server trust, and kennel approve allow of a file: a person approves a project's
 * mcp-servers.json.
 *
 * Process: kennel, as the calling user. Starts nothing. What is approved is the SHA-256 of the
 * bytes that were read here; a row of them gives no authority.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/log.h"
#include "supervisor/approve/approve.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/cli/cli.h"
#include "supervisor/help/help.h"
#include "supervisor/servers/servers.h"

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

int
server_trust_file(const char *path, const char *shown, bool *ret_changed)
{
	static struct global_file file; /* large */
	char digest[FILE_DIGEST_LEN + 1];
	struct registry *g = NULL;
	struct reason why;
	int r, status;

	*ret_changed = false;
	if (path[0] != '/' || !is_named_so(path)) {
		log_error("expected a file named " GLOBAL_FILE " and its whole path");
		return EXIT_INPUT;
	}
	/* the file that a session in its directory would read */
	r = global_file_digest(path, digest, &file, &why);
	if (r < 0)
		log_error("%s", why.text);
	status = r < 0 ? EXIT_INPUT : server_registry_open(true, &g);
	if (status == 0 && shown != NULL) {
		r = is_shown(g, &file, digest, shown);
		*ret_changed = r == 0;
		status = r == 1 ? 0 : EXIT_FAILED;
		if (r < 0)
			log_error("unable to compare %s with what was shown: %s", path,
			    strerror(-r));
	}
	if (status == 0)
		status = store(g, digest, path);
	if (status == 0)
		report(&file, digest);
	registry_close(g);
	global_file_free(&file);
	return status;
}

int
server_trust_main(int argc, char **argv)
{
	char path[PATH_MAX], dir[PATH_MAX];
	const char *word = NULL;
	bool changed;
	int status = server_argument(argc, argv, &word);

	if (status == 0 && word == NULL)
		status = help_usage(&server_help, argv[0], "expected one file");
	if (status != 0 || word == NULL)
		return status;
	if (!is_named_so(word))
		return help_usage(&server_help, argv[0],
		    "expected a file named " GLOBAL_FILE ": no other is read");
	while (strncmp(word, "./", 2) == 0)
		word += 2;
	if (word[0] == '/')
		(void)snprintf(path, sizeof(path), "%s", word); /* a cut path fails */
	else if (getcwd(dir, sizeof(dir)) != NULL)
		(void)snprintf(path, sizeof(path), "%.3000s/%.1000s", dir, word);
	else
		(void)snprintf(path, sizeof(path), "%.4000s", word);
	status = server_trust_file(path, NULL, &changed);
	if (status == 0)
		approve_saved(path, VIA_TERMINAL); /* a session may ask about it */
	return status;
}
