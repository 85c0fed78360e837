/*
 * Finds the policy and returns its bytes as a sealed memfd (kennel(1), POLICIES).
 *
 * Never searches the current directory: a repository must not supply its own policy.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "leash/audit/writer.h"
#include "policy/base/source.h"
#include "policy/check/trusted.h"
#include "policy/compile/compile.h"
#include "policy/sealed/policy.h"
#include "policy/sealed/signature.h"
#include "shim/base/buf.h"
#include "shim/base/cause.h"
#include "shim/base/fd.h"
#include "shim/base/hex.h"
#include "shim/base/log.h"
#include "shim/host/path_open.h"
#include "supervisor/audit/log/kept_policies.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/launch/find/changed_source.h"
#include "supervisor/launch/find/policy_found.h"
#include "supervisor/launch/find/policy_files.h"

#define ETC_DIR      "/etc/kennel"
#define TEXT_LEN_MAX (16u << 20)
#define FILES_MAX    1024
#define MAGIC_LEN    8

struct search {
	const char *name;
	char *why;
	size_t why_cap;
	int status;
	bool by_name;                      /* not from a given file */
	bool unpinned;                     /* without the pins of a text */
	bool text;                         /* the file was not a sealed one */
	bool quiet;                        /* show no diagnostics */
	char path[REPORT_TEXT_MAX];        /* the file */
	uint8_t sha256[REPORT_DIGEST_LEN]; /* of that file */
	char *source;                      /* its text, to be kept; owned */
	size_t source_len;
};

static int failed(struct search *s, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int
failed(struct search *s, int status, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(s->why, s->why_cap, format, ap);
	va_end(ap);
	s->status = status;
	return -1;
}

/* Copies the first "error:" line, for callers that show one line. */
static void
first_error(struct search *s, const char *diag)
{
	const char *said = diag != NULL ? diag : "out of memory", *line = said;

	for (; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (memmem(line, strcspn(line, "\n"), ": error: ", 9) != NULL) {
			said = line;
			break;
		}
	}
	(void)snprintf(s->why, s->why_cap, "%.*s", (int)strcspn(said, "\n"), said);
}

/* Compiles text to sealed bytes; prints all diagnostics on standard error, unless it is
 * to be quiet. */
static int
compile_text(
    struct search *s, const char *path, const char *text, size_t len, struct buf *out)
{
	struct policy_source source = {
	    path, text, len, s->unpinned ? &policy_files_unpinned : &policy_files};
	char *diag = NULL;
	size_t diag_len = 0;
	FILE *stream = open_memstream(&diag, &diag_len);
	int r;

	if (stream == NULL)
		return failed(s, EXIT_FAILED, "out of memory");
	buf_init(out, SEALED_LEN_MAX);
	r = policy_compile(&source, 1, NULL, out, stream);
	(void)fclose(stream); /* a loss affects only the output */
	if (diag_len > 0 && !s->quiet)
		(void)fd_write_all(STDERR_FILENO, diag, diag_len); /* only output */
	if (r == -EINVAL) {
		first_error(s, diag);
		s->status = EXIT_INPUT;
	} else if (r < 0)
		failed(s, EXIT_FAILED, "unable to compile %s: %s", path, strerror(-r));
	free(diag);
	if (r < 0)
		buf_free(out);
	return r < 0 ? -1 : 0;
}

/* Takes the text. */
static int
seal_text(struct search *s, const char *path, char *text, size_t len, int *ret_fd)
{
	struct buf out = {0};
	int r;

	s->text = true;
	policy_digest(text, len, s->sha256);
	/* compile all servers: a missing name is the caller's mistake (78), not the
	 * text's (65) */
	r = compile_text(s, path, text, len, &out);
	if (r < 0) {
		free(text);
		return -1;
	}
	s->source = text;
	s->source_len = len;
	r = fd_sealed("policy", out.data, out.len, false, ret_fd);
	buf_free(&out);
	if (r < 0)
		return failed(
		    s, EXIT_FAILED, "unable to seal the policy: %s", strerror(-r));
	return 0;
}

static int
sealed_or_text(struct search *s, int fd, const char *path, int *ret_fd)
{
	char magic[MAGIC_LEN], *text = NULL;
	size_t len = 0;
	int r;

	if (pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
	    memcmp(magic, SEALED_MAGIC, MAGIC_LEN) == 0) {
		r = policy_seal_fd(fd, ret_fd);
		if (r < 0)
			return failed(s, EXIT_INPUT, "%s: %s", path, strerror(-r));
		return 0;
	}
	r = fd_slurp(fd, TEXT_LEN_MAX, &text, &len);
	if (r < 0)
		return failed(s, EXIT_INPUT, "%s: %s", path, strerror(-r));
	return seal_text(s, path, text, len, ret_fd);
}

/* By the rule for every path in a policy. real: the resolved path, for the record. */
static int
open_file(struct search *s, const char *path, char real[PATH_MAX], int *ret_fd)
{
	char why[PATH_WHY_MAX];
	const char *refused;
	struct stat st;
	int r = path_open_named(path, real, ret_fd); /* early: openat */

	if (r < 0)
		return failed(
		    s, EXIT_CONFIG, "%s: %s", path, path_why(path, r, why, sizeof(why)));
	if (s->by_name)
		refused = policy_file_refused(*ret_fd, path);
	else /* the caller chose it */
		refused = fstat(*ret_fd, &st) == 0 && (st.st_mode & S_IWOTH) == 0
			      ? NULL
			      : "world-writable: run `chmod o-w` on it";
	if (refused == NULL)
		return 0;
	fd_close(ret_fd);
	return failed(s, EXIT_CONFIG, "%s is %s", path, refused);
}

static int
open_policy(struct search *s, const char *path, int *ret_fd)
{
	char real[PATH_MAX];
	int fd = -1, r;

	if (open_file(s, path, real, &fd) < 0)
		return -1;
	(void)snprintf(s->path, sizeof(s->path), "%s", real);
	r = sealed_or_text(s, fd, path, ret_fd);
	fd_close(&fd);
	return r;
}

/* Parses the text, and does not compile it: its errors concern only its own servers. A
 * file that cannot be read counts only if it has the server's name. */
static int
text_defines(struct search *s, const char *path, enum policy_defines *ret)
{
	const char *file = strrchr(path, '/') + 1;
	struct policy_source source = {.path = path, .reader = &policy_files};
	size_t n = strlen(s->name);
	char *text = NULL, real[PATH_MAX];
	int fd = -1, r;

	*ret = strncmp(file, s->name, n) == 0 && strcmp(file + n, ".kennel") == 0
		   ? DEFINES_MAYBE
		   : DEFINES_NO;
	if (open_file(s, path, real, &fd) < 0)
		return 0;
	r = fd_slurp(fd, TEXT_LEN_MAX, &text, &source.len);
	fd_close(&fd);
	if (r < 0)
		return 0;
	source.text = text;
	r = policy_defines(&source, s->name, ret);
	free(text);
	return r < 0 ? failed(s, EXIT_FAILED, "%s: %s", path, strerror(-r)) : 0;
}

static bool
has_suffix(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);

	return name[0] != '.' && n > m && strcmp(name + n - m, suffix) == 0;
}

/* A second file that defines the server, or may define it. */
static int
two_files(struct search *s, const char *const path[2], const enum policy_defines what[2])
{
	int maybe = what[0] == DEFINES_MAYBE ? 0 : 1;

	if (what[maybe] == DEFINES_YES)
		return failed(s, EXIT_CONFIG,
		    "%s and %s both define server %s: remove one of them", path[0],
		    path[1], s->name);
	return failed(s, EXIT_INPUT,
	    "%s has errors, and may define server %s as %s does: correct what `kennel "
	    "policy check %s` shows",
	    path[maybe], s->name, path[1 - maybe], path[maybe]);
}

/* Finds the one policies/NAME.kennel that defines the server; stores it in found[]. */
static int
search_texts(struct search *s, const char *dir, char found[PATH_MAX])
{
	enum policy_defines what[2] = {DEFINES_NO, DEFINES_NO};
	char path[PATH_MAX];
	struct dirent *entry;
	int files = 0, r = 0;
	const char *refused;
	DIR *d = opendir(dir);

	found[0] = '\0';
	if (d == NULL)
		return 0;
	if ((refused = policy_file_refused(dirfd(d), dir)) != NULL)
		r = failed(s, EXIT_CONFIG, "%s is %s", dir, refused);
	while (r == 0 && (entry = readdir(d)) != NULL) {
		if (!has_suffix(entry->d_name, ".kennel"))
			continue;
		if (++files > FILES_MAX) {
			r = failed(s, EXIT_CONFIG, "%s: too many policies", dir);
			break;
		}
		if (snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name) >=
		    (int)sizeof(path))
			continue;
		r = text_defines(s, path, &what[1]);
		if (r < 0 || what[1] == DEFINES_NO)
			continue;
		if (found[0] != '\0')
			r = two_files(s, (const char *const[]){found, path}, what);
		memcpy(found, path, sizeof(path));
		what[0] = what[1];
	}
	closedir(d);
	return r;
}

/* Names become file names: none may leave the directory. */
static bool
name_is_plain(const char *name)
{
	size_t len = strlen(name);

	return len > 0 && len <= 100 && name[0] != '.' && strchr(name, '/') == NULL;
}

/*
 * True if the path exists, even as a dangling link: another policy must not replace
 * it.
 * early: newfstatat
 */
static bool
is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static int
none_found(struct search *s, const char *config)
{
	char near[SERVER_NAME_LEN_MAX + 1];

	if (server_name_near(s->name, near, sizeof(near)))
		return failed(s, EXIT_CONFIG,
		    "no policy for server %s in %s; did you mean `%s`? `kennel list` "
		    "shows "
		    "all",
		    s->name, config, near);
	return failed(s, EXIT_CONFIG,
	    "no policy for server %s in %s: `kennel init %s -- COMMAND` drafts one",
	    s->name, config, s->name);
}

static int
search_default(struct search *s, int *ret_fd)
{
	char path[PATH_MAX], dir[PATH_MAX];
	const char *config = paths_config_dir();

	if (!name_is_plain(s->name))
		return failed(s, EXIT_CONFIG, "invalid server name: %s", s->name);
	(void)snprintf(path, sizeof(path), ETC_DIR "/sealed/%s.sealed", s->name);
	if (is_there(path))
		return open_policy(s, path, ret_fd);
	if (config == NULL)
		return failed(s, EXIT_CONFIG, "%s", paths_why());
	(void)snprintf(path, sizeof(path), "%.3900s/sealed/%s.sealed", config, s->name);
	if (is_there(path))
		return open_policy(s, path, ret_fd);
	(void)snprintf(dir, sizeof(dir), "%.4000s/policies", config);
	if (search_texts(s, dir, path) < 0)
		return -1;
	if (path[0] == '\0')
		return none_found(s, config);
	return open_policy(s, path, ret_fd);
}

/* Copies the signers' keys; their signatures are already verified. */
static void
put_signers(struct policy_found *f)
{
	const struct sign_head *head = NULL;
	const struct sign_row *row = NULL;
	size_t body, at = 0;

	if (sign_layout(f->policy.base, f->policy.map_len, &body, &head, &row) < 0 ||
	    head == NULL)
		return;
	for (uint32_t i = 0; i < head->signer_n && i < SIGNERS_SHOWN; i++) {
		if (i > 0)
			f->signers[at++] = ' ';
		(void)hex_put(f->signers + at, row[i].key, SIGN_KEY_LEN);
		at += (size_t)2 * SIGN_KEY_LEN;
	}
}

/* True: refused, because the user may have edited the text and not compiled it. A
 * sealed file of another user is in force whatever a text contains. */
static bool
is_stale(struct search *s, const struct policy *p)
{
	static char text[CHANGED_TEXT_MAX];
	struct changed_source changed;

	if (!changed_source_find(p, s->path, &changed))
		return false;
	changed_source_text(text, &changed);
	if (!changed.own) {
		log_warn("%s: %s", s->path, text);
		return false;
	}
	failed(s, EXIT_CONFIG, "%s: %s", s->path, text);
	return true;
}

static void
no_such_server(struct search *s, const struct policy *p)
{
	const char *near = policy_near_server(p, s->name);

	failed(s, EXIT_CONFIG,
	    near != NULL
		? "the policy %s defines no server %s: did you mean `%s`?"
		: "the policy %s defines no server %s: `kennel policy show %s` lists "
		  "its servers",
	    s->path, s->name, near != NULL ? near : s->path);
}

static int
take(struct search *s, int fd, struct policy_found *ret)
{
	char why[512] = "";
	struct signed_by by;
	int r;

	/* If the administrator has installed keys, only policies signed by them are
	 * accepted. */
	if (sign_admit(fd, &by, why, sizeof(why)) < 0)
		return failed(s, EXIT_CONFIG, "%s", why);
	r = policy_load(fd, &ret->policy, why, sizeof(why));
	if (r < 0)
		return failed(s, r == -ESTALE ? EXIT_CONFIG : EXIT_INPUT,
		    "invalid sealed policy: %s", why[0] != '\0' ? why : strerror(-r));
	ret->server = policy_server(&ret->policy, s->name);
	if (ret->server == NULL) {
		no_such_server(s, &ret->policy);
		policy_unload(&ret->policy);
		return -1;
	}
	/* Text was checked when it was compiled, more thoroughly than its rows
	 * allow. */
	if (!s->text && trusted_admit(&ret->policy, why, sizeof(why)) < 0) {
		policy_unload(&ret->policy);
		ret->server = NULL;
		return failed(s, EXIT_CONFIG, "%s", why);
	}
	if (!s->text && is_stale(s, &ret->policy)) {
		policy_unload(&ret->policy);
		ret->server = NULL;
		return -1;
	}
	if (by.wanted && rollback_admit(s->name, &by, sign_trust(), ret->policy.id, why,
			     sizeof(why)) < 0) {
		policy_unload(&ret->policy);
		ret->server = NULL;
		return failed(s, EXIT_CONFIG, "%s", why);
	}
	if (policy_found_hold(&ret->policy, ret->server, &ret->held, why, sizeof(why)) <
	    0) {
		policy_unload(&ret->policy);
		ret->server = NULL;
		return failed(s, EXIT_FAILED, "%s", why);
	}
	ret->fd = fd;
	ret->text = s->text;
	ret->counter = by.wanted ? by.counter : 0;
	ret->signers[0] = '\0';
	if (by.wanted)
		put_signers(ret);
	(void)snprintf(ret->file, sizeof(ret->file), "%s", s->path);
	memcpy(ret->sha256, s->sha256, sizeof(ret->sha256));
	ret->source = s->source;
	ret->source_len = s->source_len;
	s->source = NULL;
	return 0;
}

/* The end of a search, which has ended with r: 0, or an exit status. */
static int
finish(struct search *s, int r, int fd, struct policy_found *ret)
{
	if (r == 0)
		r = take(s, fd, ret);
	if (r == 0)
		return 0;
	free(s->source);
	fd_close(&fd);
	return s->status;
}

static int
find(struct search s, const char *file, struct policy_found *ret)
{
	int fd = -1, r;

	s.by_name = file == NULL;
	r = file != NULL ? open_policy(&s, file, &fd) : search_default(&s, &fd);
	return finish(&s, r, fd, ret);
}

int
find_policy(const char *file, const char *name, struct policy_found *ret, char *why,
    size_t why_cap)
{
	return find(
	    (struct search){
		.name = name, .why = why, .why_cap = why_cap, .status = EXIT_FAILED},
	    file, ret);
}

int
find_policy_unpinned(const char *file, const char *name, struct policy_found *ret,
    char *why, size_t why_cap)
{
	return find((struct search){.name = name,
			.why = why,
			.why_cap = why_cap,
			.status = EXIT_FAILED,
			.unpinned = true},
	    file, ret);
}

int
find_policy_text(const char *path, const char *text, const char *name,
    struct policy_found *ret, char *why, size_t why_cap)
{
	struct search s = {.name = name,
	    .why = why,
	    .why_cap = why_cap,
	    .status = EXIT_FAILED,
	    .quiet = true};
	char *copy = strdup(text);
	int fd = -1, r;

	(void)snprintf(s.path, sizeof(s.path), "%s", path); /* for the record */
	r = copy == NULL ? failed(&s, EXIT_FAILED, "out of memory")
			 : seal_text(&s, path, copy, strlen(copy), &fd);
	return finish(&s, r, fd, ret);
}

int
find_policy_quietly(const char *file, const char *name, struct policy_found *ret)
{
	char why[CAUSE_MAX];

	return find((struct search){.name = name,
			.why = why,
			.why_cap = sizeof(why),
			.status = EXIT_FAILED,
			.quiet = true},
	    file, ret);
}
