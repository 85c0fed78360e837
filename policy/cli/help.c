/*
 * The help of "kennel policy": its verbs and their options.
 */
#include "policy/cli/policy_main.h"
#include "shim/base/array.h"

#define REQUESTS \
	" exec|net|read|write|tool|resource|prompt|method|sampling|elicitation|roots " \
	"-..."

static const struct help_option options[] = {
    {"--json", NULL, "print JSON for programs"},
    {"--all", NULL, "read all policies that a start would find"},
    {"--request", NULL, "read server, kind and words as JSON from standard input"},
    {"--check", NULL, "name each file that is not in this form; write nothing"},
    {"-w", NULL, "replace each file that is not in this form"},
    {"-o", "OUT", "write to this file"},
    {"-o", "OUT", "write one sealed file with all servers", "compile"},
    {"--html", NULL, "write a self-contained HTML page"},
    {"--from", "PROGRAM", "assume that this program makes the request"},
    {"--in", "DIR", "assume that the caller's working directory is this one"},
    {"--env", "NAME", "assume that this variable has changed; may be repeated"},
    {"--threshold", "N", "exit with 1 if a server has more points"},
    {"--git", "REV", "compare with the file at this revision of git"},
    {"--mutation", NULL, "also remove each grant in turn: some test must then fail"},
    {"--key", "KEY", "the key to sign with, from `kennel policy key new`"},
    {"--counter", "N", "version number; default: the time in seconds"},
    {"--current", "LIST", "list of the policies that may start; the policy is added"},
    {"--until", "YYYY-MM-DD", "last day on which the policy may be started"},
};

static const struct help_verb verbs[] = {
    {"check", "Write a policy", "[--json] FILE...\n[--json] --all",
	"report every error and warning of policies", "--json --all",
	"kennel policy check ~/.config/kennel/policies/files.kennel", "file...",
	.more = "The warnings are those of `kennel run`. --all also checks the policies "
		"against\n"
		"each other. The exit status is 65 if there is an error."},
    {"fmt", "Write a policy", "[--check | -w] FILE...",
	"print a policy in its canonical form", "--check -w",
	"kennel policy fmt -w files.kennel", "file..."},
    {"test", "Write a policy", "[--json] [--mutation] FILE...",
	"check every `expect` of the files", "--json --mutation",
	"kennel policy test files.kennel", "file...",
	.more = "Output is TAP. The exit status is 1 if a test fails or no test exists."},
    {"compile", "Write a policy", "FILE... [-o OUT]",
	"write sealed files, which `kennel run` prefers to the text", "-o",
	"kennel policy compile files.kennel -o files.sealed", "file...",
	.more = "All servers go to OUT, or each to sealed/NAME.sealed. After an edit of "
		"the text,\n"
		"compile again."},
    {"show", "Read a policy", "[--json] FILE [SERVER]",
	"print what is granted, by which line, and what enforces it", "--json",
	"kennel policy show files.kennel", "file server"},
    {"explain", "Read a policy",
	"[--json] [--from PROGRAM] [--in DIR] [--env NAME]... FILE SERVER REQUEST...\n"
	"[--json] --request",
	"print the verdict of one request, and what would change it",
	"--json --from --in --env --request",
	"kennel policy explain files.kennel files read /home/joe/notes",
	"file server" REQUESTS, 3,
	.more =
	    "A request is one of:\n"
	    "  exec PROGRAM [ARG...]    net HOST:PORT           read PATH    write PATH\n"
	    "  tool NAME [JSON]         prompt NAME [JSON]      resource URI\n"
	    "  method NAME              sampling | elicitation | roots\n"
	    "The exit status is 0 if the verdict is allow, else 1."},
    {"query", "Read a policy", "[--json] FILE|DIR QUESTION...",
	"list the servers that can reach, run, read, write ...", "--json",
	"kennel policy query files.kennel reach api.github.com:443",
	"file reach|run|read|write|hold|leak -...", 2,
	.more =
	    "A question is one of:\n"
	    "  reach HOST:PORT          run PROGRAM [ARG...]    read PATH    write PATH\n"
	    "  hold [SECRET]            leak [SECRET]\n"
	    "The exit status is 0 if there is such a server, else 1."},
    {"diff", "Read a policy", "[--json] OLD NEW\n[--json] --git REV FILE",
	"print what a new policy newly allows, asks and denies", "--json --git",
	"kennel policy diff --git HEAD files.kennel", "file file",
	.more =
	    "--git compares FILE with itself at a revision of its git repository, with\n"
	    "what each side includes.\n"
	    "The exit status is 1 if the new policy is wider anywhere."},
    {"score", "Read a policy", "[--json] [--threshold N] FILE [SERVER]\n[--json] --all",
	"count what each server is granted, in points with reasons",
	"--json --threshold --all", "kennel policy score --threshold 20 files.kennel",
	"file server",
	.more = "A low score does not mean safe. Compare a server with its own earlier "
		"score."},
    {"doc", "Read a policy", "[--html] [-o OUT] FILE [SERVER]",
	"write a page for review: all that each server may do", "--html -o",
	"kennel policy doc --html -o files.html files.kennel", "file server"},
    {"key", "Sign a policy", "new FILE",
	"create a signing key in FILE, and its public half in FILE.pub", "",
	"kennel policy key new policy.key", "new file",
	.more = "The key has no passphrase: a process that can read FILE can sign."},
    {"sign", "Sign a policy",
	"--key KEY [--counter N] [--until YYYY-MM-DD] [--current LIST] FILE",
	"append a signature to a sealed file", "--key --counter --until --current",
	"kennel policy sign --key policy.key files.sealed", "file"},
    {"verify", "Sign a policy", "FILE [PUBLIC-KEY...]",
	"print who signed a sealed file, and check the signatures", "",
	"kennel policy verify files.sealed policy.key.pub", "file...",
	.more = "Without a PUBLIC-KEY, the keys of /etc/kennel/trust are required."},
};

const struct help_family policy_help = {
    .program = "kennel policy",
    .what = "Checks, compiles, explains, compares and signs policies.",
    .page = "kennel-policy(1)",
    .verb = verbs,
    .verb_n = ARRAY_LEN(verbs),
    .option = options,
    .option_n = ARRAY_LEN(options),
    .common = "",
};
