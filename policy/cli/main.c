/*
 * "kennel policy VERB ...": the table of verbs.
 */
#include "policy/cli/policy_main.h"
#include "policy/cli/verb.h"
#include "shim/base/array.h"

#include <string.h>

#define MANY VERB_WORDS_MAX

static const struct verb verbs[] = {
    {"check", verb_check, "FILE... [--json] | --all", OPT_JSON, 1, MANY},
    {"compile", verb_compile, "FILE... [-o OUT]", OPT_OUT, 1, MANY},
    {"diff", verb_diff, "OLD NEW [--json]", OPT_JSON, 2, 2},
    {"doc", verb_doc, "FILE [SERVER] [--html] [-o OUT]", OPT_HTML | OPT_OUT, 1, 2},
    {"explain", verb_explain,
	"[--json] [--from PATH] [--in PATH] [--env NAME]... FILE SERVER QUESTION...",
	OPT_JSON | OPT_CALLER, 3, MANY, 3},
    {"fmt", verb_fmt, "FILE... [--check | -w]", OPT_CHECK | OPT_WRITE, 1, MANY},
    {"key", verb_key, "new FILE", 0, 2, 2},
    {"query", verb_query, "[--json] FILE QUESTION...", OPT_JSON, 2, MANY, 2},
    {"score", verb_score, "FILE [SERVER] [--threshold N] [--json]",
	OPT_THRESHOLD | OPT_JSON, 1, 2},
    {"show", verb_show, "FILE [SERVER] [--json]", OPT_JSON, 1, 2},
    {"sign", verb_sign, "FILE --key KEY [--counter N] [--until DAY]", OPT_SIGN, 1, 1},
    {"test", verb_test, "FILE... [--mutation] [--json]", OPT_MUTATION | OPT_JSON, 1,
	MANY},
    {"verify", verb_verify, "FILE [PUBLIC-KEY...]", 0, 1, MANY},
};

int
verb_usage(const char *why, const char *what)
{
	const char *lead = "usage:";
	size_t i;

	fprintf(stderr, "kennel policy: %s%s\n", why, what);
	for (i = 0; i < ARRAY_LEN(verbs); i++) {
		if (verbs[i].run == NULL)
			continue;
		fprintf(stderr, "%-6s kennel policy %s %s\n", lead, verbs[i].name,
		    verbs[i].takes);
		lead = "";
	}
	return EXIT_USAGE;
}

int
policy_main(int argc, char **argv)
{
	static struct args a;
	size_t i;
	int status;

	if (argc < 1 || argv[0] == NULL)
		return verb_usage("expected a verb", "");
	for (i = 0; i < ARRAY_LEN(verbs); i++) {
		if (strcmp(argv[0], verbs[i].name) != 0)
			continue;
		if (verbs[i].run == NULL) {
			fprintf(stderr,
			    "kennel policy: %s is not supported in this version\n",
			    verbs[i].name);
			return EXIT_USAGE;
		}
		status = verb_args(&verbs[i], argc, argv, &a);
		return status != 0 ? status : verbs[i].run(&a);
	}
	return verb_usage("unknown verb ", argv[0]);
}
