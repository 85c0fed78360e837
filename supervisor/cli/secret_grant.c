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
#include "supervisor/cli/secret.h"
#include "supervisor/help/help.h"
#include "supervisor/launch/launch.h"

#define WORDS_MAX 16

/* Removes --policy FILE from the arguments and finds the server's name; 0 or an exit
 * status. */
static int
read_words(int argc, char **argv, char *word[], int *ret_n, const char **ret_file,
    const char **ret_server)
{
	for (int i = 0; i < argc; i++) {
		bool policy = strcmp(argv[i], "--policy") == 0;
		bool server = strcmp(argv[i], "--server") == 0;

		if (argv[i][0] == '-' && !policy && !server)
			return secret_unknown_option(argv[0], i);
		if ((policy || server) && i + 1 == argc)
			return help_usage(
			    &secret_help, argv[0], "missing value of an option");
		if (policy) {
			*ret_file = argv[++i];
			continue;
		}
		word[(*ret_n)++] = argv[i];
		if (server)
			*ret_server = word[(*ret_n)++] = argv[++i];
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

	if (argc > WORDS_MAX)
		return help_usage(&secret_help, argv[0], "too many arguments");
	status = read_words(argc, argv, word, &n, &file, &server);
	if (status != 0)
		return status;
	if (server == NULL)
		return help_usage(
		    &secret_help, argv[0], "expected a path and --server NAME");
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
