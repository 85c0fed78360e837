/*
 * kennel server VERB. log NAME: shows a server's standard error; its leash scrubbed
 * it and made it printable before storing it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/cli/cli.h"
#include "supervisor/help/help.h"

static int
copy_file(const char *path)
{
	char bytes[65536];
	ssize_t n = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return -errno;
	while ((n = read(fd, bytes, sizeof(bytes))) > 0)
		if (fd_write_all(STDOUT_FILENO, bytes, (size_t)n) < 0)
			break;
	fd_close(&fd);
	return n < 0 ? -EIO : 0;
}

static int
server_log(int argc, char **argv)
{
	const char *dir = paths_log_dir();
	char path[4400];
	int old, now;

	if (argc > 1 && argv[1][0] == '-')
		return help_unknown_option(&server_help, argv[0], argv[1]);
	if (argc != 2 || argv[1][0] == '.' || strchr(argv[1], '/') != NULL)
		return help_usage(
		    &server_help, argv[0], "expected the name of one server");
	if (dir == NULL) {
		log_error("%s", paths_why());
		return EXIT_CONFIG;
	}
	(void)snprintf(path, sizeof(path), "%s/%.200s.log.1", dir, argv[1]);
	old = copy_file(path);
	(void)snprintf(path, sizeof(path), "%s/%.200s.log", dir, argv[1]);
	now = copy_file(path);
	if (now < 0 && old < 0) {
		log_error("unable to read %s: %s", path, strerror(-now));
		return EXIT_INPUT;
	}
	return 0;
}

static const struct verb {
	const char *name;
	int (*fn)(int, char **);
} verbs[] = {
    {"log", server_log},
    {"pin", pin_main},
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
