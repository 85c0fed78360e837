/*
 * kennel server VERB. The verbs of the registry are in supervisor/servers, pin is in
 * supervisor/pin. log NAME: shows a server's standard error; its leash scrubbed it and made
 * it printable before storing it. restart NAME: asks each hub of the calling user to
 * (docs/PROTOCOL.serve).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/buf.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/base/wire.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/pager.h"
#include "supervisor/base/paths.h"
#include "supervisor/base/person_socket.h"
#include "supervisor/cli/cli.h"
#include "supervisor/help/help.h"
#include "supervisor/launch/find/policy_files.h"
#include "supervisor/status/status_client.h"

#define LOG_FILE_MAX (2u << 20) /* more than a leash writes into one */

static bool
scan_count(const char *text, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 10);
	return text[0] >= '1' && text[0] <= '9' && *end == '\0' && errno == 0;
}

/* Adds a file to the text, if it is there. */
static int
add_file(struct buf *text, const char *dir, const char *name, const char *suffix)
{
	char path[4400], *bytes = NULL;
	size_t len = 0;
	int fd, r;

	(void)snprintf(path, sizeof(path), "%s/%.200s%s", dir, name, suffix);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	r = fd < 0 ? -errno : fd_slurp(fd, LOG_FILE_MAX, &bytes, &len);
	fd_close(&fd);
	if (r == 0)
		r = buf_put(text, bytes, len);
	free(bytes);
	return r;
}

/* The last n lines; 0: all. */
static struct span
last_lines(const struct buf *text, uint64_t n)
{
	size_t at = text->len;

	if (n == 0)
		return (struct span){text->data, text->len};
	while (at > 0) {
		/* the newline at the end is that of the last line */
		if (text->data[at - 1] == '\n' && at < text->len && --n == 0)
			break;
		at--;
	}
	return (struct span){text->data + at, text->len - at};
}

/* Reports that it does not exist, if its name is near that of a policy's server and no policy
 * has it. */
static bool
near_name(const char *what, const char *name)
{
	char near[SERVER_NAME_LEN_MAX + 1];

	if (!server_name_near(name, near, sizeof(near)) || strcmp(near, name) == 0)
		return false;
	log_error("%s %s: did you mean `%s`?", what, name, near);
	return true;
}

static int
show_log(const char *dir, const char *name, uint64_t n)
{
	struct buf text;
	struct span span;
	int old, now, r = 0;

	buf_init(&text, 2 * (size_t)LOG_FILE_MAX);
	old = add_file(&text, dir, name, ".log.1");
	now = add_file(&text, dir, name, ".log");
	if (now == 0 || old == 0) {
		pager_start();
		span = last_lines(&text, n);
		r = fd_write_all(STDOUT_FILENO, span.data, span.len);
	}
	buf_free(&text);
	if (now == -ENOENT && old == -ENOENT) {
		if (!near_name("no log of server", name))
			log_error("no log of server %s in %s: a start of it writes one, "
				  "and `kennel list` lists the servers",
			    name, dir);
		return EXIT_INPUT;
	}
	if (now < 0 && old < 0) {
		log_error("unable to read %s/%s.log: %s", dir, name, strerror(-now));
		return EXIT_INPUT;
	}
	return r < 0 && r != -EPIPE ? EXIT_FAILED : 0;
}

static int
server_log(int argc, char **argv)
{
	const char *dir = paths_log_dir(), *name = NULL;
	uint64_t n = 0;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "-n") == 0) {
			if (i + 1 == argc || !scan_count(argv[++i], &n))
				return help_usage(&server_help, argv[0],
				    "-n needs the number of lines");
		} else if (argv[i][0] == '-') {
			return help_unknown_option(&server_help, argv[0], argv[i]);
		} else if (name == NULL && argv[i][0] != '.' &&
			   strchr(argv[i], '/') == NULL) {
			name = argv[i];
		} else {
			return help_usage(
			    &server_help, argv[0], "expected the name of one server");
		}
	}
	if (name == NULL)
		return help_usage(
		    &server_help, argv[0], "expected the name of one server");
	if (dir == NULL) {
		log_error("%s", paths_why());
		return EXIT_CONFIG;
	}
	return show_log(dir, name, n);
}

/* ---- restart -------------------------------------------------------------------- */

/* Restarts it in every hub of the user that has it. */
static int
restart_in_all(const char *name)
{
	static long pid[STATUS_SESSIONS_MAX];
	size_t n, found = 0, failed = 0;
	enum restart_outcome outcome;

	n = person_sockets(HUB_SOCKET, pid, ARRAY_LEN(pid));
	for (size_t i = 0; i < n; i++) {
		int r = status_restart(pid[i], name, &outcome);

		if (r < 0 && status_ended(pid[i], r))
			continue;
		if (r < 0) {
			log_error("kennel serve, process %ld, does not answer: %s",
			    pid[i], strerror(-r));
			failed++;
		} else if (outcome != RESTART_UNKNOWN) {
			printf("%s: %s in process %ld; the next call starts it\n", name,
			    outcome == RESTART_OK ? "stopped" : "was not running",
			    pid[i]);
			found++;
		}
	}
	if (found == 0 && failed == 0) {
		if (near_name("no `kennel serve` of this user has a server", name))
			return EXIT_INPUT;
		log_error("no `kennel serve` of this user has a server %s; `kennel ps` "
			  "lists what runs, and a session of `kennel run` restarts with "
			  "its agent",
		    name);
		return EXIT_INPUT;
	}
	return failed > 0 ? EXIT_FAILED : 0;
}

static int
server_restart(int argc, char **argv)
{
	if (argc == 2 && argv[1][0] != '-' && strlen(argv[1]) < STATUS_SERVER_MAX)
		return restart_in_all(argv[1]);
	if (argc > 1 && argv[1][0] == '-')
		return help_unknown_option(&server_help, argv[0], argv[1]);
	return help_usage(&server_help, argv[0], "expected the name of one server");
}

static const struct verb {
	const char *name;
	int (*fn)(int, char **);
} verbs[] = {
    {"list", server_list_main},
    {"show", server_show_main},
    {"add", server_add_main},
    {"enable", server_enable_main},
    {"disable", server_disable_main},
    {"remove", server_remove_main},
    {"trust", server_trust_main},
    {"export", server_export_main},
    {"import", server_import_main},
    {"check", server_check_main},
    {"log", server_log},
    {"login", server_login_main},
    {"pin", pin_main},
    {"restart", server_restart},
};

int
server_main(int argc, char **argv)
{
	for (size_t i = 0; argc > 0 && i < ARRAY_LEN(verbs); i++)
		if (strcmp(argv[0], verbs[i].name) == 0)
			return verbs[i].fn(argc, argv);
	if (argc > 0)
		return help_unknown_verb(&server_help, argv[0]);
	fprintf(stderr, "kennel server: expected a command\n");
	help_list(&server_help, stderr);
	return EXIT_USAGE;
}
