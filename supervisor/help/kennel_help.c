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
    {"--facet", "LIST", "list these groups of kennel's own tools"},
    {"--expose", "SERVER.TOOL", "list this tool too; a pattern; may be repeated"},
    {"--ahead", "N", "start the first N servers at once"},
    {"--project", "DIR", "the directory whose manifest of secrets is used"},
    {"--secrets-tools", NULL, "also offer the tools that ask a person for secrets"},
    {"--explain", NULL, "report each program start on standard error"},
    {"--secret", "VARIABLE", "a secret variable that the server needs; may be repeated"},
    {"--env", "VARIABLE[=VALUE]",
	"a variable that the agent's entry sets; may be repeated"},
    {"--vault", "VARIABLE=PATH", "a secret variable in the vault; may be repeated"},
    {"--work", "DIR", "the directory that the server works in"},
    {"--no-start", NULL, "do not start the server to list its tools"},
    {"--exec", "PROGRAM", "a program that it may start; may be repeated"},
    {"--net", NULL, "let it connect to the public hosts that it asks for"},
    {"--host", "NAME:PORT", "a host that it may connect to; may be repeated"},
    {"--real-secret", "VARIABLE", "a secret that it gets, for the hosts of --host"},
    {"--placeholders", NULL, "give it placeholders in place of its secrets"},
    {"--from-log", NULL, "print lines for what the log shows as refused"},
    {"--stdio", NULL, "the agent on standard input and output calls its tools"},
    {"--scripts", NULL, "run the install scripts of packages, without a network"},
    {"--require-signatures", NULL, "refuse packages whose signatures are not verified"},
    {"--update", NULL, "install another version, and show what it changes"},
    {"--gc", NULL, "remove the packages that no policy starts from"},
    {"--yes", NULL, "do not ask"},
    {"--to", "SCOPE", "where the registry is: private, loopback or a block"},
    {"--cwd", "DIR", "the directory that the server is started in"},
    {"--write", NULL, "change the files; without it, only a table is printed"},
    {"--dry-run", NULL, "change nothing"},
    {"--undo", NULL, "restore the files that --write has changed"},
    {"--forget", NULL, "remove the backups, which have secrets in clear text"},
    {"--client", "NAME", "only the files of this client"},
    {"--key-file", "FILE", "open the vault with this key file"},
    {"--stdin", NULL, "read the passphrase of the vault from standard input"},
    {"-o", "OUT", "write the draft to this file; `-` is standard output"},
    {"--no-open", NULL, "do not open a browser"},
    {"--keys", NULL, "open the page that registers security keys"},
    {"--tools", NULL, "print JSON, with the tools of each server"},
    {"--json", NULL, "print JSON for programs"},
};

static const struct help_verb verbs[] = {
    {"init", "Start",
	"NAME [--work DIR] [--cwd DIR] [--env VARIABLE[=VALUE]]... [--secret "
	"VARIABLE]... "
	"[--vault VARIABLE=PATH]... [--no-start] "
	"[-o OUT] -- COMMAND [ARG...]",
	"draft a policy from the command in an agent's configuration",
	"--work --cwd --env --secret --vault --no-start -o",
	"kennel init files -- node_modules/.bin/mcp-server-filesystem ~/notes", "-",
	.more =
	    "The draft grants the command as it is, its package with the modules, and\n"
	    "the files and directories among its arguments, read-only. An existing file\n"
	    "is never replaced. Then init starts the server once in its sandbox and\n"
	    "writes its tools into the draft, by name.\n"
	    "Edit the draft, then run `kennel policy check`."},
    {"learn", "Start",
	"NAME [--work DIR] [--cwd DIR] [--exec PROGRAM]... [--net] [--host NAME:PORT]... "
	"[--stdio] "
	"[--env VARIABLE[=VALUE]]... [--secret VARIABLE]... [--vault VARIABLE=PATH]... "
	"[--real-secret VARIABLE]... [-o OUT] [-- COMMAND [ARG...]] | --from-log "
	"[SERVER]",
	"run a server without credentials, and draft a policy from what it wants",
	"--work --cwd --exec --net --host --stdio --env --secret --vault --real-secret "
	"--from-log -o",
	"kennel learn files --work ~/notes -- node_modules/.bin/mcp-server-filesystem "
	"~/notes",
	"-",
	.more =
	    "The server runs in a cell that has its package, read-only, and the "
	    "directory\n"
	    "of --work, and no credentials. kennel calls the tools that only read; with\n"
	    "--stdio, an agent calls what it likes. Each file, program and host that "
	    "the\n"
	    "server asks for is seen. The draft grants what it used; what it did not "
	    "get\n"
	    "is in comments. Without --net and --host it reaches no host. It gets\n"
	    "placeholders in place of secrets; --real-secret gives it a value, and then\n"
	    "it reaches the hosts of --host only.\n"
	    "Without COMMAND, it is that of the server's policy, such as `kennel "
	    "install`\n"
	    "drafts; the draft is next to it, in NAME.learned."},
    {"install", "Start",
	"NAME [--scripts] [--require-signatures] [--to SCOPE] [--work DIR] [--cwd DIR] "
	"[--env "
	"VARIABLE[=VALUE]]... "
	"[--secret "
	"VARIABLE]... [--vault VARIABLE=PATH]... [--no-start] [-o OUT] -- COMMAND "
	"[ARG...]",
	"install a server's package in a sandbox, and draft its policy",
	"--scripts --require-signatures --to --work --cwd --env --secret --vault "
	"--no-start -o",
	"kennel install files -- npx -y @modelcontextprotocol/server-filesystem ~/notes",
	"-",
	.more =
	    "COMMAND is `npx PACKAGE@VERSION`, as in an agent's configuration, or the\n"
	    "directory of a package. npm runs in a sandbox that reaches the registry "
	    "only,\n"
	    "has no secret, and runs no script of a package. The files are kept in a "
	    "store\n"
	    "that no server may write, and the policy starts the server from there. For\n"
	    "`uvx PACKAGE`, the commands that make a virtual environment are printed.\n"
	    "--update installs the newest version, or that of COMMAND, shows what "
	    "differs\n"
	    "(packages, install scripts, files, tools), and asks. --gc removes what no\n"
	    "policy starts from."},
    {"try", "Start",
	"[--scripts] [--require-signatures] [--to SCOPE] [--work DIR] [--env "
	"VARIABLE[=VALUE]]... [--secret "
	"VARIABLE]... [--vault VARIABLE=PATH]... -- COMMAND [ARG...]",
	"look at a server: install it in a sandbox, show its policy, call its tools",
	"--scripts --require-signatures --to --work --env --secret --vault",
	"kennel try -- npx -y @modelcontextprotocol/server-filesystem ~/notes", "-",
	.more =
	    "The package is installed as by `kennel install`; the policy is drafted and "
	    "the\n"
	    "tools are pinned, and neither is kept. At the prompt, TOOL {ARGUMENTS} "
	    "calls a\n"
	    "tool; what the policy says `ask` to is allowed there. An empty line ends."},
    {"import", "Start",
	"[--write | --undo | --forget] [--client NAME] [--project DIR] [--cwd DIR] "
	"[--no-start] "
	"[--to SCOPE] [--key-file FILE | --stdin] [SERVER...]",
	"put the servers in the configurations of MCP clients under kennel",
	"--write --dry-run --undo --forget --client --project --cwd --no-start --to "
	"--key-file "
	"--stdin",
	"kennel import --write", "",
	.more =
	    "Without --write, a table is printed and nothing is changed. Clients:\n"
	    "claude-desktop, claude-code, cursor, vscode, copilot, windsurf, zed, "
	    "codex,\n"
	    "gemini, cline, goose, opencode, kilo, kiro, antigravity, junie. With "
	    "--write,\n"
	    "each server gets a policy, as from `kennel init`, its secrets are moved to "
	    "the\n"
	    "vault, and its command or URL becomes `kennel run NAME`. All else in the\n"
	    "files is kept, and so are backups: --undo restores the files. Each server "
	    "is\n"
	    "started once under its policy; one that does not start is left as it was."},
    {"run", "Start",
	"NAME [--policy FILE] [--placeholders] [--secrets-tools [--project DIR]]",
	"run one server for an agent, on standard input and output",
	"--policy --placeholders --secrets-tools --project", "kennel run files", "server",
	.more = "An agent's configuration has this command in place of the server's. The "
		"policy\n"
		"is found by the server's name (kennel(1), POLICIES). What the policy "
		"does not\n"
		"grant is refused and recorded: `kennel audit denials` prints it. With\n"
		"--secrets-tools the agent also has tools with which it asks a person "
		"for\n"
		"secrets; none returns a value."},
    {"serve", "Start",
	"[NAME...] [--policy FILE]... [--facet LIST] [--expose SERVER.TOOL]... [--ahead "
	"N] [--project DIR]",
	"run many servers as one for an agent",
	"--policy --facet --expose --ahead --project", "kennel serve", "server",
	.more =
	    "The agent has one connection. It finds the tools of all servers with\n"
	    "tool_search and calls them with tool_invoke; tools named by --expose are\n"
	    "listed too. Each server starts with the first call that needs it, in a\n"
	    "sandbox of its own. Without names, every server that has a policy is\n"
	    "included."},
    {"exec", "Start", "[--explain] [--policy FILE] NAME -- PROGRAM [ARG...]",
	"run one granted program in a server's sandbox, to try a policy",
	"--explain --policy", "kennel exec --policy files.kennel files -- /usr/bin/id",
	"server",
	.more =
	    "Input and output are those of the program; secrets are redacted. A program "
	    "that\n"
	    "the policy does not grant is not started, and the message names the line."},
    {"policy", "Decide", "COMMAND ...", "check, compile, explain, compare, sign policies",
	"", "kennel policy check files.kennel", ""},
    {"approve", "Decide", "COMMAND ...", "show pending approvals, and answer them", "",
	"kennel approve watch", ""},
    {"secret", "Decide", "COMMAND ...", "manage secrets by name, and the vault", "",
	"kennel secret set team/github/token", ""},
    {"server", "Decide", "COMMAND ...",
	"configure servers, show their standard error, pin their tools", "",
	"kennel server list", ""},
    {"audit", "Look", "COMMAND ...", "ask the audit log, verify it, export it", "",
	"kennel audit denials --since 1d", ""},
    {"list", "Look", "[--json | --tools]", "list the configured servers",
	"--json --tools", "kennel list", "",
	.more =
	    "Each server is listed with the policy that it starts with, its pins and\n"
	    "secrets, and what keeps it from starting. The exit status is 65 if a\n"
	    "policy has errors. The same as `kennel server list`."},
    {"ps", "Look", "[--json]", "list the running sessions", "--json", "kennel ps", "",
	.more = "Lists the sessions of the calling user: open are the requests at the "
		"server now,\n"
		"calls all that were passed on to it, refused what kennel refused.\n"
		"The sessions of `kennel serve` follow its line."},
    {"top", "Look", "", "show the servers that run, live", "", "kennel top", "",
	.more = "Each server of the calling user: its state, requests in flight, calls,\n"
		"refusals, pending approvals, the times of 50 and 99 of 100 answers, and "
		"the\n"
		"memory of its processes. Keys: q quits, s sorts by the next column, the "
		"arrows\n"
		"select, r restarts the selected server of `kennel serve`. Without a "
		"terminal,\n"
		"the table is printed once."},
    {"console", "Look", "[--no-open] [--keys]",
	"serve a page for a browser on this machine", "--no-open --keys",
	"kennel console", "",
	.more =
	    "The page shows servers, secrets and the log, enables and disables servers, "
	    "and\n"
	    "answers pending approvals. No page shows the value of a secret; one is "
	    "typed\n"
	    "into a page of `kennel secret form`, as is a new security key (--keys).\n"
	    "Prints a link that opens once, within 60 s, and opens it in a browser if "
	    "there\n"
	    "is a display. The console listens on loopback addresses only; Ctrl-C ends "
	    "it.\n"
	    "While one runs, a second `kennel console` prints another link. A terminal "
	    "is\n"
	    "needed: the status is 64 without one."},
    {"doctor", "Look", "[--json]", "print what this machine can enforce, and the fixes",
	"--json", "kennel doctor", "",
	.more = "Each missing feature is printed with its fix. The exit status is 1 if "
		"no server\n"
		"would be started."},
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
    {"--add-line", NULL, "add the `pins` line to the policy"},
    {"--diff", NULL, "print the differences from the pins of the policy"},
    {"--show", NULL, "print the pinned definitions for a person to read"},
    {"--strict", NULL, "write nothing if there is a warning about a definition"},
    {"-n", "COUNT", "only the last lines"},
    {"--tools", NULL, "print JSON, with the tools of each server"},
    {"--json", NULL, "print JSON for programs"},
    {"--url", "URL", "the address of a remote server"},
    {"--auth", "none|api_key|bearer|oauth2", "how it authenticates"},
    {"--auth-ref", "REFERENCE", "where the credential is, never the credential"},
    {"--env", "NAME=REFERENCE", "a variable that it needs; may be repeated"},
    {"--note", "TEXT", "what it is for"},
    {"--connect", NULL, "start it once, and list its tools"},
    {"--generation", "N", "the `updated_gen` that it must still have"},
    {"--later", NULL, "sessions that run keep the server as it is"},
};

#define REGISTRY_VERBS "Which servers there are"

static const struct help_verb server_verbs[] = {
    {"list", REGISTRY_VERBS, "[--json | --tools]", "list the configured servers",
	"--json --tools", "kennel server list", "",
	.more = "They come from policies, from mcp-servers.json, and from the registry. "
		"The\n"
		"exit status is 65 if a policy or that file has errors."},
    {"show", REGISTRY_VERBS, "NAME [--json]", "print all that is known of a server",
	"--json", "kennel server show github", "server"},
    {"add", REGISTRY_VERBS,
	"[--connect] NAME [--env NAME=REFERENCE]... [--note TEXT] -- COMMAND [ARG...]\n"
	"[--connect] NAME --url URL [--auth TYPE --auth-ref REFERENCE] "
	"[--env NAME=REFERENCE]... [--note TEXT]\n"
	"[--connect] --json < FILE",
	"add a server to the registry, or replace it",
	"--url --auth --auth-ref --env --note --connect --json",
	"kennel server add github --env TOKEN=vault:team/github/token -- gh-mcp", "-",
	.more =
	    "This grants nothing: the server starts only if its policy grants the "
	    "command.\n"
	    "A REFERENCE is env:NAME, file:/PATH, vault:A/B/C, or JSON such as\n"
	    "{\"cmd\": [\"/usr/bin/pass\", \"x\"]}. A text that looks like a secret is "
	    "refused.\n"
	    "With --connect, the server is started once in its sandbox, if its policy "
	    "grants\n"
	    "it, and its tools are listed. The exit status is 1 if that fails or takes "
	    "20 s.\n"
	    "With --json, standard input has the server, as in an export; JSON is "
	    "printed."},
    {"enable", REGISTRY_VERBS, "[--generation N] NAME", "let a server start again",
	"--generation", "kennel server enable github", "server",
	.more =
	    "With --generation, only if its `updated_gen` (list --json) is still this "
	    "number,\n"
	    "or null with 0; else the exit status is 1."},
    {"disable", REGISTRY_VERBS, "[--later] NAME", "do not start a server", "--later",
	"kennel server disable github", "server",
	.more = "The registry keeps it, also for a server of a policy or a file. Every "
		"`kennel\n"
		"serve` ends its process; with --later, one that runs keeps it."},
    {"remove", REGISTRY_VERBS, "NAME", "remove a server from the registry", "",
	"kennel server remove github", "server",
	.more = "All that was discovered of it is removed too, and every `kennel serve` "
		"ends its\n"
		"process."},
    {"export", REGISTRY_VERBS, "", "print the registry as JSON", "",
	"kennel server export > servers.json", "",
	.more = "The servers that a person or an agent has added; never a credential."},
    {"import", REGISTRY_VERBS, "FILE", "add the servers of an export", "",
	"kennel server import servers.json", "file"},
    {"check", REGISTRY_VERBS, "[NAME]", "print what keeps servers from starting", "",
	"kennel server check", "server",
	.more = "Also the variables that a policy does not set, and tools with equal "
		"names.\n"
		"The exit status is 65 if there is a problem."},
    {"trust", REGISTRY_VERBS, "FILE [--sha256 HEX]",
	"approve a project's mcp-servers.json", "--sha256",
	"kennel server trust ./mcp-servers.json", "file",
	.more =
	    "On a terminal it shows the servers of the file, and asks. With --sha256 "
	    "nothing\n"
	    "is asked: the contents that were reviewed are approved if the file still "
	    "has\n"
	    "them. After a change it is not read until it is approved again.\n"
	    "It grants nothing."},
    {"log", "Servers", "[-n COUNT] NAME",
	"print what a server wrote to its standard error", "-n",
	"kennel server log -n 20 files", "server",
	.more = "The text is scrubbed and printable. The last 1 MiB is stored, and 1 MiB "
		"before."},
    {"login", "Servers", "NAME [--policy FILE]", "log in to a remote server", "--policy",
	"kennel server login tickets", "server",
	.more =
	    "For a server with `auth oauth2` and `grant code`.  It prints a URL: open "
	    "it in a\n"
	    "browser, log in, and paste the address that the browser ends at.  The "
	    "refresh\n"
	    "token goes into the vault, which must be open (kennel secret unlock), and "
	    "is\n"
	    "granted to this server under this policy.  No agent sees the URL."},
    {"pin", "Servers",
	"NAME [--policy FILE] [-o OUT] [--add-line] [--yes] [--strict] [--json]\n"
	"NAME [--policy FILE] --diff | --show",
	"print the definitions of a server's tools, for review",
	"--policy -o --add-line --yes --strict --json --diff --show",
	"kennel server pin files --add-line", "server",
	.more = "Review the definitions.  When the policy names the file with `pins`, a "
		"tool\n"
		"whose definition differs from the reviewed one is neither shown nor "
		"called.\n"
		"Warnings name texts that may be poisoned: that instruct a model instead "
		"of\n"
		"describing a tool.  With --strict, they are errors (exit status 65).\n"
		"With --diff, the exit status is 1 if there are differences.\n"
		"Definitions that differ from the reviewed ones are shown, and written "
		"after a\n"
		"yes on the terminal or with --yes."},
    {"restart", "Servers", "NAME", "stop a server of kennel serve, to start it again", "",
	"kennel server restart files", "server",
	.more = "Every `kennel serve` of the calling user that has the server ends its "
		"process\n"
		"and reads its policy again. The next call starts it; the agent's "
		"connection goes\n"
		"on. Calls that are at the server get an error. A server that waits "
		"after failed\n"
		"starts may start at once."},
};

const struct help_family server_help = {
    .program = "kennel server",
    .what = "Configures servers, shows their output, pins their tools, restarts them.",
    .page = "kennel(1)",
    .verb = server_verbs,
    .verb_n = ARRAY_LEN(server_verbs),
    .option = server_options,
    .option_n = ARRAY_LEN(server_options),
    .common = "",
};

/* ---- kennel approve --------------------------------------------------------------- */

static const struct help_option approve_options[] = {
    {"--all", NULL, "deny all that is pending now"},
    {"--as", "PATH", "the name of a new path, in place of the suggested one"},
    {"--json", NULL, "print JSON for programs"},
    {"--pinentry", "FILE", "the dialog program; default: /usr/bin/pinentry"},
    {"--server", "NAME", "deny what this server asks for"},
    {"--session", NULL, "allow exactly the same for as long as the session lasts"},
    {"--stdin", NULL, "read the line of `list --json` of a proposal"},
    {"--unseen", NULL, "allow although a part of the request is not shown"},
};

static const struct help_verb approve_verbs[] = {
    {"list", "Approvals", "[--json]", "print the pending approvals", "--json",
	"kennel approve list", "",
	.more = "Each has an id, what would be done with which arguments, the line that "
		"asks,\n"
		"and the time until it expires."},
    {"watch", "Approvals", "", "answer pending approvals in a live list", "",
	"kennel approve watch", "",
	.more = "Enter shows all of an approval; there, o allows it once, s for the "
		"session, d\n"
		"denies it. Without a terminal: lines as they arrive."},
    {"here", "Approvals", "[--pinentry FILE]",
	"show them in dialogs on this display or terminal", "--pinentry",
	"kennel approve here", "",
	.more =
	    "Until it is interrupted, each pending approval is shown by pinentry, the "
	    "dialog\n"
	    "program of GnuPG, and named in a notification. Values and passphrases that "
	    "are\n"
	    "typed there go to the vault. Closing a dialog agrees to nothing."},
    {"allow", "Approvals", "ID [--session] [--unseen] [--as PATH]\n--stdin [OPTION...]",
	"allow this once", "--session --unseen --as --stdin",
	"kennel approve allow 4711-1:0a1b2c3d", "-",
	.more =
	    "The id is the one that `kennel approve list` prints. It ends with the "
	    "beginning\n"
	    "of a digest of all that would be done, so that it matches nothing else. A "
	    "value\n"
	    "that an agent asks for is typed at the terminal; a proposal is written to "
	    "the\n"
	    "manifest."},
    {"deny", "Approvals", "ID\n--all\n--server NAME", "deny this", "--all --server",
	"kennel approve deny 4711-1:0a1b2c3d", "-",
	.more = "--all denies what is pending now, in all sessions; --server, what this "
		"server\n"
		"asks for. Without an answer, the use is denied when its time expires."},
    {"reopen", "Approvals", "PATH|NAME", "let an agent ask for what was refused again",
	"", "kennel approve reopen team/github/token", "-",
	.more =
	    "After a refusal, requests of the same session of `kennel serve` for the "
	    "path\n"
	    "of a secret are refused unasked until then; and calls of a tool, programs "
	    "and\n"
	    "hosts of a NAME for 60 seconds, or for 10 minutes after three refusals. "
	    "The\n"
	    "exit status is 1 if nothing was refused."},
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
