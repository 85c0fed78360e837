/*
 * The name, the options and the place of a draft, for the verbs that make one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/lang/host.h"
#include "policy/lang/keyword.h"
#include "policy/lang/scalar.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/host/passwd_line.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/draft/draft.h"

#define NOBODY 65534 /* that a server of root runs as */

const char *
draft_name_refused(const char *name)
{
	if (!server_name_is_valid(name, strlen(name)))
		return "invalid name of a server: use " SERVER_NAME_TAKES;
	if (keyword_find(name, strlen(name)) != KW_NONE)
		return "this name is a keyword of the policy language: choose another "
		       "name "
		       "for the server";
	return NULL;
}

bool
draft_scope_ok(const char *scope)
{
	struct word word = {.text = scope, .len = strlen(scope)};
	uint32_t kind, prefix;
	uint8_t addr[16];

	if (net_scope_read(&word, &kind, addr, &prefix))
		return true;
	log_error("invalid --to %s: expected private, loopback, or an address block, as "
		  "in 10.1.0.0/16",
	    scope);
	return false;
}

static int
directory(const char *path, char ret[PATH_MAX])
{
	struct stat st;

	if (realpath(path, ret) == NULL)
		return -errno;
	return stat(ret, &st) < 0 || !S_ISDIR(st.st_mode) ? -ENOTDIR : 0;
}

int
draft_work(struct draft *d, const char *path)
{
	char real[PATH_MAX];
	int r = directory(path, real);

	if (r == 0)
		memcpy(d->work, real, sizeof(d->work));
	return r;
}

int
draft_cwd(struct draft *d, const char *path)
{
	char real[PATH_MAX];
	int r = directory(path, real);

	if (r == 0)
		memcpy(d->cwd, real, sizeof(d->cwd));
	return r;
}

void
draft_work_refused(const char *path, int r)
{
	char *command = NULL;
	size_t len = 0;
	FILE *out = r == -ENOENT ? open_memstream(&command, &len) : NULL;

	if (out != NULL) {
		draft_shell_word(out, path);
		(void)fclose(out); /* in memory: a loss is a shorter message */
	}
	if (command != NULL)
		log_error("unable to use %s as a directory: it does not exist; create it "
			  "with `mkdir -p%s`",
		    path, command);
	else
		log_error("unable to use %s as a directory: %s", path, strerror(-r));
	free(command);
}

void
draft_work_own(const char *name, char ret[PATH_MAX])
{
	(void)snprintf(
	    ret, PATH_MAX, "%.3000s/work/%.200s", paths_data_dir(), name); /* fits */
}

int
draft_work_make(const char *path)
{
	const struct draft none = {.name = NULL};
	int r = fd_make_dirs(path), fd;
	uint32_t uid;

	if (r < 0 || geteuid() != 0)
		return r;
	if (!colon_number(draft_user(&none), &uid))
		uid = NOBODY;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fchown(fd, uid, (gid_t)-1) < 0)
		r = -errno;
	fd_close(&fd);
	return r;
}

/* As typed at a prompt, where no shell replaces ~. False: it is too long. */
static bool
expand(const char *text, char out[PATH_MAX])
{
	const char *home = getenv("HOME");

	if (text[0] != '~' || (text[1] != '/' && text[1] != '\0') || home == NULL)
		return snprintf(out, PATH_MAX, "%s", text) < PATH_MAX;
	return snprintf(out, PATH_MAX, "%s%s", home, text + 1) < PATH_MAX;
}

void
draft_work_ask(struct draft *d, const char *own)
{
	char answer[PATH_MAX], path[PATH_MAX], shown[4 * PATH_MAX];
	int r;

	(void)fflush(stdout); /* before the question */
	for (;;) {
		fprintf(stderr,
		    "The directory that %s works in (empty: %s, which is created): ",
		    d->name, log_quote(shown, sizeof(shown), own, strlen(own)));
		if (fgets(answer, sizeof(answer), stdin) == NULL)
			return;
		answer[strcspn(answer, "\n")] = '\0';
		if (answer[0] == '\0')
			return;
		r = expand(answer, path) ? draft_work(d, path) : -ENAMETOOLONG;
		if (r == 0)
			return;
		draft_work_refused(path, r);
	}
}

/* The server's own directory is created where it does not exist yet. */
static int
take_work(struct draft *d, const char *path)
{
	char own[PATH_MAX];
	int r = draft_work(d, path);

	if (r != -ENOENT || d->name == NULL || paths_data_dir() == NULL)
		return r;
	draft_work_own(d->name, own);
	if (strcmp(path, own) != 0)
		return r;
	r = draft_work_make(own);
	return r == 0 ? draft_work(d, own) : r;
}

int
draft_option(struct draft *d, char **argv)
{
	int r;

	if (strcmp(argv[0], "--work") == 0) {
		r = take_work(d, argv[1]);
		if (r < 0)
			draft_work_refused(argv[1], r);
		return r < 0 ? -EXIT_INPUT : 2;
	}
	if (strcmp(argv[0], "--cwd") == 0) {
		r = draft_cwd(d, argv[1]);
		if (r < 0)
			draft_work_refused(argv[1], r);
		return r < 0 ? -EXIT_INPUT : 2;
	}
	if (strcmp(argv[0], "--below") == 0) {
		if (realpath(argv[1], d->below) != NULL)
			return 2;
		draft_work_refused(argv[1], -errno);
		return -EXIT_INPUT;
	}
	if (strcmp(argv[0], "--vault") == 0) {
		r = draft_vault(d, argv[1]);
		if (r < 0)
			log_error("invalid value of --vault: %s",
			    r == -E2BIG ? "too many variables"
					: "expected VARIABLE=SCOPE/PROVIDER/PURPOSE");
		return r < 0 ? -EXIT_USAGE : 2;
	}
	if (strcmp(argv[0], "--secret") == 0 || strcmp(argv[0], "--env") == 0) {
		r = draft_variable(d, argv[1], argv[0][2] == 's');
		if (r < 0) /* without the word, which may be a secret by mistake */
			log_error("invalid variable after %s: %s", argv[0],
			    r == -E2BIG ? "too many"
					: "expected a name of letters, digits and _");
		return r < 0 ? -EXIT_USAGE : 2;
	}
	return 0;
}

int
draft_place(const char *file, const char *name, char path[PATH_MAX])
{
	int r;

	if (file != NULL) {
		(void)snprintf(path, PATH_MAX, "%s", file); /* open returns ENOENT */
		return 0;
	}
	(void)snprintf(path, PATH_MAX, "%.3000s/policies", paths_config_dir());
	r = fd_make_dirs(path);
	if (r < 0) {
		log_error("unable to create %s: %s", path, strerror(-r));
		return EXIT_CONFIG;
	}
	(void)snprintf(path, PATH_MAX, "%.3000s/policies/%.200s.kennel",
	    paths_config_dir(), name); /* fits */
	return 0;
}
