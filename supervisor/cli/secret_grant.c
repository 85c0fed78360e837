/*
 * kennel secret grant: finds the policy of a grant and compiles it as for a start;
 * then this process becomes kennel-secret, which gets the bytes.
 *
 * Process: kennel, briefly.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/cli/cli.h"
#include "supervisor/launch/launch.h"

#define WORDS_MAX 16

static int
usage(void)
{
	fprintf(
	    stderr, "usage: kennel secret grant PATH --server NAME [--policy FILE]\n");
	return EXIT_USAGE;
}

/* Removes --policy FILE from the arguments and finds the server's name. */
static int
read_words(int argc, char **argv, char *word[], int *ret_n, const char **ret_file,
    const char **ret_server)
{
	for (int i = 0; i < argc; i++) {
		bool policy = strcmp(argv[i], "--policy") == 0;
		bool server = strcmp(argv[i], "--server") == 0;

		if ((policy || server) && i + 1 == argc)
			return -1;
		if (policy) {
			*ret_file = argv[++i];
			continue;
		}
		if (server)
			*ret_server = argv[i + 1];
		word[(*ret_n)++] = argv[i];
	}
	return 0;
}

int
grant_main(int argc, char **argv)
{
	const char *file = NULL, *server = NULL;
	char *word[WORDS_MAX + 2], number[16], why[256] = "";
	struct policy_found found;
	int n = 0, status, fd;

	if (argc > WORDS_MAX || read_words(argc, argv, word, &n, &file, &server) < 0 ||
	    server == NULL)
		return usage();
	status = find_policy(file, server, &found, why, sizeof(why));
	if (status != 0) {
		log_error("secret grant: %s", why);
		return status;
	}
	fd = fcntl(found.fd, F_DUPFD, 3); /* not close-on-exec: inherited */
	if (fd < 0) {
		policy_found_free(&found);
		return EXIT_FAILED;
	}
	(void)snprintf(number, sizeof(number), "%d", fd);
	word[n++] = (char *)"--policy-fd";
	word[n++] = number;
	status = secret_become(n, word);
	policy_found_free(&found);
	return status;
}
