/*
 * "kennel policy VERB ...": the table of verbs.
 */
#include "policy/cli/policy_main.h"
#include "policy/cli/verb.h"
#include "shim/base/array.h"

#include <string.h>

#define MANY VERB_WORDS_MAX

static const struct verb verbs[] = {
    {"check", verb_check, OPT_JSON, 1, MANY},
    {"compile", verb_compile, OPT_OUT, 1, MANY},
    {"diff", verb_diff, OPT_JSON | OPT_GIT, 1, 2},
    {"doc", verb_doc, OPT_HTML | OPT_OUT, 1, 2},
    {"explain", verb_explain, OPT_JSON | OPT_CALLER, 3, MANY, 3},
    {"fmt", verb_fmt, OPT_CHECK | OPT_WRITE, 1, MANY},
    {"key", verb_key, 0, 2, 2},
    {"query", verb_query, OPT_JSON, 2, MANY, 2},
    {"score", verb_score, OPT_THRESHOLD | OPT_JSON, 1, 2},
    {"show", verb_show, OPT_JSON, 1, 2},
    {"sign", verb_sign, OPT_SIGN, 1, 1},
    {"test", verb_test, OPT_MUTATION | OPT_JSON, 1, MANY},
    {"verify", verb_verify, 0, 1, MANY},
};

static const struct verb *running; /* the verb of this process */

int
verb_usage(const char *why, const char *what)
{
	fprintf(stderr, "kennel policy %s: %s%s\n", running->name, why, what);
	return help_usage(&policy_help, running->name, NULL);
}

int
verb_unknown_option(const char *word)
{
	return help_unknown_option(&policy_help, running->name, word);
}

int
policy_main(int argc, char **argv)
{
	static struct args a;
	size_t i;
	int status;

	if (argc < 1 || argv[0] == NULL) {
		fprintf(stderr, "kennel policy: expected a command\n");
		help_list(&policy_help, stderr);
		return EXIT_USAGE;
	}
	for (i = 0; i < ARRAY_LEN(verbs); i++) {
		if (strcmp(argv[0], verbs[i].name) != 0)
			continue;
		running = &verbs[i];
		status = verb_args(&verbs[i], argc, argv, &a);
		return status != 0 ? status : verbs[i].run(&a);
	}
	return help_unknown_verb(&policy_help, argv[0]);
}
