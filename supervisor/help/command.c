/*
 * kennel help, and what answers --help after any verb.
 */
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/help/help.h"

static bool
is_help(const char *word)
{
	return strcmp(word, "help") == 0 || strcmp(word, "-h") == 0 ||
	       strcmp(word, "--help") == 0;
}

/* The verb that the words name, of kennel or of a family; an exit status. */
static int
help_of(int argc, char **argv)
{
	const struct help_family *f;
	const struct help_verb *v;

	if (argc == 0 || is_help(argv[0])) {
		help_list(&kennel_help, stdout);
		return 0;
	}
	f = help_family_of(argv[0]);
	if (f != NULL && (argc == 1 || is_help(argv[1]))) {
		help_list(f, stdout);
		return 0;
	}
	if (f == NULL)
		f = &kennel_help;
	else
		argv++;
	v = help_find(f, argv[0]);
	if (v == NULL)
		return f == &kennel_help ? help_unknown_command(argv[0])
					 : help_unknown_verb(f, argv[0]);
	help_print(f, v, stdout);
	return 0;
}

int
help_main(int argc, char **argv)
{
	return help_of(argc - 1, argv + 1);
}

bool
help_answer(int argc, char **argv, int *ret_status)
{
	const struct help_family *f = argc > 0 ? help_family_of(argv[0]) : NULL;
	const struct help_verb *v = NULL;
	int own = f != NULL ? 1 : 0; /* where the verb is */
	char *words[2];

	if (argc <= own)
		return false;
	words[0] = argv[0];
	words[1] = argv[own];
	if (own == 0 && is_help(argv[0])) {
		*ret_status = help_of(argc - 1, argv + 1);
		return true;
	}
	if (is_help(argv[own])) { /* "kennel audit help VERB" */
		words[1] = argc > 2 ? argv[2] : argv[1];
		*ret_status = help_of(2, words);
		return true;
	}
	if (f == NULL)
		f = &kennel_help;
	v = help_find(f, argv[own]);
	if (v == NULL || !help_asked(f, v, argc - own - 1, argv + own + 1))
		return false;
	*ret_status = help_of(own + 1, words);
	return true;
}

int
help_first(void)
{
	static const struct {
		const char *command, *what;
	} row[] = {
	    {"kennel init NAME -- COMMAND...", "draft a policy for a server's command"},
	    {"kennel policy check FILE", "check it"},
	    {"kennel run NAME", "run the server for an agent"},
	    {"kennel approve watch", "answer what the policy asks"},
	    {"kennel audit denials", "print what was refused"},
	};

	(void)fprintf(stderr, "kennel runs MCP servers in a sandbox.\n\n");
	for (size_t i = 0; i < ARRAY_LEN(row); i++)
		(void)fprintf(stderr, "  %-32s %s\n", row[i].command, row[i].what);
	(void)fprintf(stderr, "\n`kennel help` lists all commands, `kennel doctor` tests "
			      "this machine.\n");
	return HELP_EXIT_USAGE;
}
