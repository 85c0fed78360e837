/*
 * kennel secret set, rotate, form value: finds the token format that the manifests give
 * for the value. kennel-secret, which this process runs, or kennel-form compares it; no
 * value is here. What agents have asked for is settled once the keeper has the value.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/manifests/manifests.h"
#include "policy/tokens/token_format.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/approve/approve.h"
#include "supervisor/cli/cli.h"
#include "supervisor/cli/secret.h"

#define WORDS_MAX       32
#define PAGE_GRANTS_MAX (60u << 10) /* bytes; a page takes a little more */

const char *
secret_shape(const char *path, const char *project)
{
	const struct token_format *found = NULL;
	struct metas m;

	if (metas_read(metas_project(project), paths_config_dir(), 0, stderr, &m) < 0) {
		fprintf(stderr,
		    "kennel secret: the value is stored without a check of its format\n");
		return NULL;
	}
	for (size_t i = 0; i < m.n; i++)
		if (!m.meta[i].internal && m.meta[i].pattern != NULL &&
		    strcmp(m.meta[i].path, path) == 0)
			found = token_format_find(m.meta[i].pattern);
	metas_free(&m);
	return found == NULL ? NULL : found->name; /* the table's string */
}

/* The project that argv[i] names, as --project=DIR, or as the value of --project; or NULL. */
static const char *
project_at(char **argv, int i)
{
	static const char option[] = "--project";
	size_t len = sizeof(option) - 1;

	if (strncmp(argv[i], option, len) == 0 && argv[i][len] == '=')
		return argv[i] + len + 1;
	return strcmp(argv[i - 1], option) == 0 ? argv[i] : NULL;
}

static bool
is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* ---- grants ----------------------------------------------------------------------- */

/* What a person is asked together with the value. */
struct asking {
	struct value_grants grants;
	bool form, typed; /* the page asks; the value is typed at the terminal */
	bool agreed;
	int own, page; /* ends of a socket, for a page: what it shows, and then a yes */
};

/* A page shows them, and answers with one byte. */
static void
tell_page(struct asking *a)
{
	size_t len = strlen(a->grants.detail);
	int fd[2];

	if (len > PAGE_GRANTS_MAX ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) < 0)
		return; /* the page asks for no grant */
	a->own = fd[0];
	a->page = fd[1];
	/* the socket takes as much at once: the page reads it when it starts */
	if (fd_write_all(a->own, a->grants.detail, len) < 0 ||
	    shutdown(a->own, SHUT_WR) < 0 || fd_cloexec(a->page, false) < 0) {
		fd_close(&a->own);
		fd_close(&a->page);
	}
}

/* Before the value. */
static void
ask_first(struct asking *a, const char *path)
{
	int tty;

	a->own = a->page = -1;
	if (value_grants_find(path, &a->grants) < 0)
		a->grants.n = 0;
	if (a->grants.n == 0)
		return;
	if (a->form)
		tell_page(a);
	/* a vault that is locked takes no value */
	else if (a->typed && vault_state_now() == VAULT_OPEN) {
		tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
		a->agreed = tty >= 0 && value_grants_ask(&a->grants, tty);
		fd_close(&tty);
	}
}

/* After it: the sessions are informed when the grants are made, so that a call that follows
 * succeeds. */
static void
settle(struct asking *a, const char *path, int status)
{
	char yes = 0;

	fd_close(&a->page);
	/* the page has ended: what it has answered is here */
	if (a->own >= 0 && fd_nonblock(a->own, true) == 0)
		a->agreed = read(a->own, &yes, 1) == 1 && yes == '1';
	if (status == 0) {
		value_grants_give(&a->grants, path, a->agreed);
		approve_saved(path);
	}
	fd_close(&a->own);
	value_grants_free(&a->grants);
}

/* ---- a value ------------------------------------------------------------------------ */

/* Runs it, with what a person is asked besides the value. */
static int
run_asking(int n, char **word, const char *path, bool form, bool typed)
{
	struct asking a = {.form = form, .typed = typed};
	bool no_vault = vault_state_now() == VAULT_NONE;
	char init[] = "init", *made[] = {init, NULL}, number[16];
	int status;

	ask_first(&a, path);
	if (a.page >= 0) {
		(void)snprintf(number, sizeof(number), "%d", a.page);
		word[n++] = (char *)"--grants-fd";
		word[n++] = number;
	}
	status = secret_become(n, word);
	if (status == 0 && form && no_vault && vault_log_begin(1, made) == 0)
		vault_log_end(0); /* the page has made it */
	settle(&a, path, status);
	return status;
}

/* The verb has skip words; the path follows them. The manifest of the project names the
 * format. */
static int
put_main(int argc, char **argv, int skip)
{
	const char *path = NULL, *project = NULL, *shape;
	char *word[WORDS_MAX + 4], shown[512];
	bool typed = true;
	int n = 0;

	if (argc > WORDS_MAX) {
		fprintf(stderr, "kennel secret: more than %d arguments\n", WORDS_MAX);
		return EXIT_USAGE;
	}
	for (int i = 0; i < argc; i++) {
		bool value = i > 0 && strcmp(argv[i - 1], "--fd") == 0;
		const char *at = i >= skip ? project_at(argv, i) : NULL;

		if (at != NULL) {
			project = at;
			value = true;
		}
		if (at != NULL && at != argv[i])
			continue; /* kennel-console writes it so, and kennel alone knows that */
		if (i >= skip && argv[i][0] != '-' && !value)
			path = argv[i];
		typed &= strcmp(argv[i], "--stdin") != 0 && strcmp(argv[i], "--fd") != 0;
		word[n++] = argv[i];
	}
	if (project != NULL && !is_directory(project)) {
		fprintf(stderr, "kennel secret: --project: no such directory: %s\n",
		    log_quote(shown, sizeof(shown), project, strlen(project)));
		return EXIT_INPUT;
	}
	shape = path == NULL ? NULL : secret_shape(path, project);
	if (shape != NULL) {
		word[n++] = (char *)"--shape";
		word[n++] = (char *)shape;
	}
	return path == NULL ? secret_become(n, word)
			    : run_asking(n, word, path, skip > 1, typed);
}

int
secret_put_main(int argc, char **argv)
{
	return put_main(argc, argv, 1);
}

int
secret_form_main(int argc, char **argv)
{
	bool is_value = argc > 1 && strcmp(argv[1], "value") == 0;

	approve_channel_set(VIA_CONSOLE); /* its page is one */
	return is_value ? put_main(argc, argv, 2) : secret_become(argc, argv);
}
