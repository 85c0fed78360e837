/*
 * The help of "kennel secret".
 */
#include "shim/base/array.h"
#include "supervisor/help/help.h"

#define DECLARED "Secrets that are declared"
#define VALUES   "Values in the vault"
#define ACCESS   "Who may use a value"
#define VAULT    "The vault"

static const struct help_option options[] = {
    {"--json", NULL, "print JSON for programs"},
    {"--all", NULL, "also the secrets of the personal index"},
    {"--internal", NULL, "also kennel's own rows"},
    {"--contains", "TEXT", "only paths with this text"},
    {"--scope", "SCOPE", "only paths that begin with this scope"},
    {"--status", "registered|expiring|expired", "only this status"},
    {"--project", "DIR", "the project; default: searched upwards from here"},
    {"--strict", NULL, "a path that is both required and optional is an error"},
    {"--first", NULL, "ask whether to write the digest of a first fetch"},
    {"--live", NULL, "query the source of each declared secret"},
    {"--ask", NULL, "request the approvals that --live needs, else skip"},
    {"--key-file", "FILE", "unlock with this file in place of a passphrase"},
    {"--stdin", NULL, "read from standard input in place of the terminal"},
    {"--fd", "N", "read from this descriptor in place of the terminal"},
    {"--idle", "MINUTES", "lock after that time without use; default: 15"},
    {"--for", "MINUTES", "lock after that time; default: 480"},
    {"--any-shape", NULL, "store a value that does not look like this kind of token"},
    {"--rotate", NULL, "the value replaces one that is in use"},
    {"--restore", "N", "make this old version current again"},
    {"--server", "SERVER", "the server that may use the value"},
    {"--policy", "FILE", "the server's policy; default: found by its name"},
    {"--only-id", "ID", "only for the policy with this id"},
    {"--stale", NULL, "only grants for an earlier policy, which give nothing"},
};

static const struct help_verb verbs[] = {
    {"list", DECLARED,
	"[--json] [--all] [--internal] [--contains TEXT] [--scope SCOPE] [--status "
	"STATUS] [--project DIR]",
	"list the secrets that the project declares",
	"--json --all --internal --contains --scope --status --project",
	"kennel secret list --status expiring", "",
	.more = "They are in the manifest of the project, .kennel/secrets.kennel, and in "
		"the\n"
		"personal index, ~/.config/kennel/secrets.kennel."},
    {"ui", DECLARED,
	"[--all] [--internal] [--contains TEXT] [--scope SCOPE] [--status STATUS]\n"
	"[--project DIR]",
	"show them on the terminal, with their expiry dates",
	"--all --internal --contains --scope --status --project", "kennel secret ui", "",
	.more =
	    "Enter shows all fields of one. Without a terminal: the lines of `list`."},
    {"show", DECLARED, "[--json] [--all] [--project DIR] PATH",
	"print what is known about a secret, never its value", "--json --all --project",
	"kennel secret show team/github/token", "-"},
    {"validate", DECLARED, "[--json] [--strict] [--live [--ask]] [--project DIR]",
	"check the manifests, and with --live the sources",
	"--json --strict --live --ask --project", "kennel secret validate --live", "",
	.more = "With --live, a confined process queries the source of each declared "
		"secret\n"
		"and prints ok, missing, locked, asks, or the status of its program."},
    {"sources", DECLARED, "[--json] [--project DIR] [PATH]",
	"print which source provides a value", "--json --project",
	"kennel secret sources team/github/token", "-"},
    {"catalog", DECLARED,
	"list | validate [--json] [--project DIR]\nshow NAME [--json] [--project "
	"DIR]\nfetch "
	"[--first] [--project DIR]",
	"print the known kinds of tokens, or fetch catalogs", "--json --project --first",
	"kennel secret catalog show github/classic", "list|show|validate|fetch",
	.more =
	    "fetch gets the catalogs that `catalog \"https://HOST/FILE\" sha256 DIGEST` "
	    "in\n"
	    "catalog.kennel names. With --first, a person decides whether the digest of "
	    "a\n"
	    "first fetch is written."},
    {"set", VALUES, "PATH [--any-shape] [--project DIR] [--stdin | --fd N]",
	"store a value, typed without echo", "--any-shape --project --stdin --fd",
	"kennel secret set team/github/token", "-",
	.more = "The value is typed without echo, or read with --stdin or --fd. It is "
		"never an\n"
		"argument. If a manifest names its pattern, a value of another form is "
		"refused."},
    {"rotate", VALUES, "PATH [--any-shape] [--project DIR] [--stdin | --fd N]",
	"replace a value; the old one is kept for 30 days",
	"--any-shape --project --stdin --fd", "kennel secret rotate team/github/token",
	"-",
	.more = "Running servers keep the old value. It is redacted from output for 30 "
		"days."},
    {"form", VALUES, "value PATH [--rotate] [--any-shape] [--project DIR]\nkey",
	"open a page in the browser for a value, or for a security key",
	"--rotate --any-shape --project", "kennel secret form value team/github/token",
	"value|key",
	.more = "It prints the page's address, which is good for one save and for five\n"
		"minutes. What is typed there goes to the vault, and to no other page."},
    {"remove", VALUES, "PATH", "remove all versions of a value, and its grants", "",
	"kennel secret remove team/github/token", "-"},
    {"versions", VALUES, "[--json] [PATH [--restore N]]",
	"list the versions of a value, or restore one", "--json --restore",
	"kennel secret versions team/github/token", "-",
	.more = "A restored version becomes the newest one."},
    {"grant", ACCESS, "[PATH] --server NAME [--policy FILE] [--only-id ID]",
	"let a server use a value, or all that its policy names",
	"--server --policy --only-id",
	"kennel secret grant team/github/token --server github", "-",
	.more = "A server gets a value only if its policy has the line `secret ... from "
		"vault`\n"
		"and this grant exists."},
    {"grants", ACCESS, "[--json] [PATH]", "list the servers that may use each value",
	"--json", "kennel secret grants", "-"},
    {"revoke", ACCESS,
	"PATH [--server NAME [--only-id ID]]\n"
	"--stale [PATH] [--server NAME]",
	"revoke grants of a value", "--server --only-id --stale",
	"kennel secret revoke team/github/token --server github", "-"},
    {"init", VAULT, "[--key-file FILE | --stdin | --fd N]",
	"create your vault, and leave it unlocked", "--key-file --stdin --fd",
	"kennel secret init", "",
	.more = "The values are in one encrypted file. Its key is unlocked by a "
		"passphrase, a\n"
		"key file or a recovery phrase; create that with `kennel secret "
		"export-recovery`."},
    {"unlock", VAULT,
	"[--idle MINUTES] [--for MINUTES] [--key-file FILE | --stdin | --fd N]",
	"unlock the vault for a limited time", "--idle --for --key-file --stdin --fd",
	"kennel secret unlock --for 60", "",
	.more = "A process, kennel-keeper, holds the key in memory until then."},
    {"confirm", VAULT, "DIGEST [--stdin | --fd N]",
	"confirm an approval with the passphrase", "--stdin --fd",
	"kennel secret confirm $(kennel approve list --json | jq -r .sha256)", "-",
	.more =
	    "For a grant `with passphrase`. The digest is the sha256 of `kennel approve "
	    "list\n"
	    "--json`; `kennel approve allow` asks for the passphrase by itself."},
    {"key", VAULT,
	"list [--json] | challenge DIGEST | confirm DIGEST\n"
	"remove ID [--stdin | --fd N]",
	"list, use or remove security keys", "--json --stdin --fd",
	"kennel secret key list", "list|challenge|confirm|remove",
	.more =
	    "A key is the second factor of a grant `with key`; `kennel console --keys` "
	    "opens\n"
	    "the page that adds one. remove asks for the passphrase. challenge and "
	    "confirm\n"
	    "are for the console: what a key is to sign, and what it has signed."},
    {"lock", VAULT, "", "lock the vault", "", "kennel secret lock", ""},
    {"export-recovery", VAULT, "[--key-file FILE | --stdin | --fd N]",
	"create a recovery phrase, and show it once", "--key-file --stdin --fd",
	"kennel secret export-recovery", ""},
    {"recover", VAULT, "[--stdin | --fd N]",
	"set a new passphrase with the recovery phrase", "--stdin --fd",
	"kennel secret recover", ""},
};

const struct help_family secret_help = {
    .program = "kennel secret",
    .what = "Manages secrets by name, and the vault. No command prints a value.",
    .page = "kennel-secret(1)",
    .verb = verbs,
    .verb_n = ARRAY_LEN(verbs),
    .option = options,
    .option_n = ARRAY_LEN(options),
    .common = "",
    .quiet = true,
};
