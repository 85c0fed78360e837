/*
 * The help of "kennel", "kennel server" and "kennel approve".
 */
#include "policy/cli/policy_main.h"
#include "shim/base/array.h"
#include "supervisor/audit/audit_help.h"
#include "supervisor/help/help.h"

#include <string.h>

/* ---- kennel ----------------------------------------------------------------------- */

static const struct help_option options[] = {
    {"--policy", "FILE", "use this policy, text or sealed"},
    {"--explain", NULL, "report each program start on standard error"},
    {"--secret", "VARIABLE", "a secret variable that the server needs; may be repeated"},
    {"--no-start", NULL, "do not start the server to list its tools"},
    {"-o", "OUT", "write the draft to this file; `-` is standard output"},
    {"--json", NULL, "print JSON for programs"},
};

static const struct help_verb verbs[] = {
    {"init", "Start",
	"NAME [--secret VARIABLE]... [--no-start] [-o OUT] -- COMMAND [ARG...]",
	"draft a policy from the command in an agent's configuration",
	"--secret --no-start -o",
	"kennel init files -- npx @modelcontextprotocol/server-filesystem ~/notes", "-"},
    {"run", "Start", "NAME [--policy FILE]",
	"run one server for an agent, on standard input and output", "--policy",
	"kennel run files", "server"},
    {"exec", "Start", "[--explain] [--policy FILE] NAME -- PROGRAM [ARG...]",
	"run one granted program in a server's sandbox, to try a policy",
	"--explain --policy", "kennel exec --policy files.kennel files -- /usr/bin/id",
	"server"},
    {"policy", "Decide", "COMMAND ...", "check, compile, explain, compare, sign policies",
	"", "kennel policy check files.kennel", ""},
    {"approve", "Decide", "COMMAND ...", "show pending approvals, and answer them", "",
	"kennel approve watch", ""},
    {"secret", "Decide", "COMMAND ...", "manage secrets by name, and the vault", "",
	"kennel secret set team/github/token", ""},
    {"server", "Decide", "COMMAND ...",
	"show a server's standard error, and pin its tools", "",
	"kennel server log files", ""},
    {"audit", "Look", "COMMAND ...", "ask the audit log, verify it, export it", "",
	"kennel audit denials --since 1d", ""},
    {"doctor", "Look", "[--json]", "print what this machine can enforce, and the fixes",
	"--json", "kennel doctor", ""},
    {"help", "Look", "[COMMAND [COMMAND]]", "list the commands, or explain one", "",
	"kennel help policy check", "-"},
    {"version", "Look", "", "print the version", "", "kennel version", ""},
};

const struct help_family kennel_help = {
    .program = "kennel",
    .what = "Runs MCP servers in a sandbox.",
    .page = "kennel(1)",
    .verb = verbs,
    .verb_n = ARRAY_LEN(verbs),
    .option = options,
    .option_n = ARRAY_LEN(options),
    .common = "",
};

/* ---- kennel server ---------------------------------------------------------------- */

static const struct help_option server_options[] = {
    {"--policy", "FILE", "use this policy, text or sealed"},
    {"-o", "OUT", "write the definitions to this file"},
    {"--diff", NULL, "print the differences from the pins of the policy"},
};

static const struct help_verb server_verbs[] = {
    {"log", "Servers", "NAME", "print what a server wrote to its standard error", "",
	"kennel server log files", "server"},
    {"pin", "Servers", "NAME [--policy FILE] [-o OUT | --diff]",
	"print the definitions of a server's tools, for review", "--policy -o --diff",
	"kennel server pin files -o files.pins", "server"},
};

const struct help_family server_help = {
    .program = "kennel server",
    .what = "Shows the output of servers, and pins their tools.",
    .page = "kennel(1)",
    .verb = server_verbs,
    .verb_n = ARRAY_LEN(server_verbs),
    .option = server_options,
    .option_n = ARRAY_LEN(server_options),
    .common = "",
};

/* ---- kennel approve --------------------------------------------------------------- */

static const struct help_option approve_options[] = {
    {"--json", NULL, "print JSON for programs"},
    {"--session", NULL, "allow exactly the same for as long as the session lasts"},
    {"--unseen", NULL, "allow although a part of the request is not shown"},
};

static const struct help_verb approve_verbs[] = {
    {"list", "Approvals", "[--json]", "print the pending approvals", "--json",
	"kennel approve list", ""},
    {"watch", "Approvals", "",
	"print approvals as they arrive; on a terminal, type answers", "",
	"kennel approve watch", ""},
    {"allow", "Approvals", "ID [--session] [--unseen]", "allow this once",
	"--session --unseen", "kennel approve allow 4711-1:0a1b2c3d", "-"},
    {"deny", "Approvals", "ID", "deny this", "", "kennel approve deny 4711-1:0a1b2c3d",
	"-"},
};

const struct help_family approve_help = {
    .program = "kennel approve",
    .what = "Shows pending approvals, and answers them.",
    .page = "kennel(1)",
    .verb = approve_verbs,
    .verb_n = ARRAY_LEN(approve_verbs),
    .option = approve_options,
    .option_n = ARRAY_LEN(approve_options),
    .common = "",
};

/* ---- families --------------------------------------------------------------------- */

static const struct {
	const char *verb;
	const struct help_family *family;
} families[] = {
    {"approve", &approve_help},
    {"audit", &audit_help},
    {"policy", &policy_help},
    {"secret", &secret_help},
    {"server", &server_help},
};

const struct help_family *
help_family_of(const char *verb)
{
	for (size_t i = 0; i < ARRAY_LEN(families); i++)
		if (strcmp(families[i].verb, verb) == 0)
			return families[i].family;
	return NULL;
}

int
help_unknown_command(const char *word)
{
	const char *lead = "did you mean";
	bool found = false;

	for (size_t i = 0; i < ARRAY_LEN(families); i++) {
		if (help_find(families[i].family, word) == NULL)
			continue;
		/* word is a name of the table: it needs no quoting */
		if (!found)
			(void)fprintf(stderr, "kennel: unknown command `%s`: ", word);
		(void)fprintf(stderr, "%s `%s %s`", lead, families[i].verb, word);
		lead = " or";
		found = true;
	}
	if (!found)
		return help_unknown_verb(&kennel_help, word);
	(void)fprintf(stderr, "?\n");
	return HELP_EXIT_USAGE;
}
