#include "leash/audit/writer.h"
#include "supervisor/import/trial.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/fd.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/other_verb.h"
#include "supervisor/cli/init_tools.h"
#include "supervisor/launch/find/policy_found.h"

#define POLICY_MAX  (1u << 20)
#define WHY_LEN_MAX 4096
#define NOT_STARTED 1

static bool starts; /* of the child */

/* In a child: prints why it did not start. argv: the name, the policy. */
static int
try_once(int argc, char **argv)
{
	static struct tools_found tools;               /* large */
	static struct policy_found found = {.fd = -1}; /* the same */
	int r = find_policy(argv[1], argv[0], &found, NULL, 0);

	policy_found_free(&found);
	if (r != 0 || !starts || argc != 2)
		return r == 0 ? 0 : EXIT_INPUT;
	r = init_tools_list(PURPOSE_IMPORT, argv[1], argv[0], &tools);
	if (r < 0)
		printf("%s\n", tools.why);
	else
		(void)init_tools_fill(argv[1], &tools); /* else: by annotations */
	buf_free(&tools.lines);
	return r < 0 ? NOT_STARTED : 0;
}

/* Has the policy a line that begins with `secret`? */
static bool
has_secrets(const char *policy)
{
	char *text = NULL;
	size_t len;
	bool has = false;
	int fd = open(policy, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd >= 0 && fd_slurp(fd, POLICY_MAX, &text, &len) == 0)
		for (const char *at = text; at != NULL && !has; at = strchr(at, '\n')) {
			at += strspn(at, " \t\n");
			has = strncmp(at, "secret ", 7) == 0;
		}
	free(text);
	fd_close(&fd);
	return has;
}

/* The errors of the compiler without the program's name, which each line has. */
static char *
without_name(char *errors)
{
	static const char name[] = "kennel: ";
	char *from = errors, *to = errors;

	while (from != NULL && *from != '\0') {
		size_t n;

		if (strncmp(from, name, sizeof(name) - 1) == 0)
			from += sizeof(name) - 1;
		n = strcspn(from, "\n");
		n += from[n] == '\n';
		memmove(to, from, n);
		to += n;
		from += n;
	}
	if (errors != NULL)
		*to = '\0';
	return errors;
}

enum trial
trial_run(const char *name, const char *policy, bool start, char **ret_why)
{
	char *word[] = {(char *)name, (char *)policy};
	struct verb_output out;
	int status;

	starts = start;
	status = other_verb_split(NULL, try_once, 2, word, WHY_LEN_MAX, &out);
	*ret_why = NULL;
	if (status == 0) {
		free(out.text);
		free(out.errors);
		return !start                ? TRIAL_NONE
		       : has_secrets(policy) ? TRIAL_PLACEHOLDERS
					     : TRIAL_STARTED;
	}
	if (status == NOT_STARTED) {
		*ret_why = out.text;
		free(out.errors);
		return TRIAL_FAILED;
	}
	*ret_why = without_name(out.errors);
	free(out.text);
	return TRIAL_REFUSED;
}
