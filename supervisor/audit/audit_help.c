/*
 * The help of "kennel audit", by the question that a verb answers.
 */
#include "supervisor/audit/audit_help.h"
#include "shim/base/array.h"

#define HAPPENED "What happened"
#define USED     "What was used, and what was refused"
#define POLICIES "Which policy was in force"
#define ODD      "What to look at"
#define EVIDENCE "Evidence for others"
#define INTACT   "Is the log intact"
#define OLD      "Old records"

static const struct help_option options[] = {
    {"--json", NULL, "print JSON, one object on a line"},
    {"--json", NULL, "print one JSON object", "verify"},
    {"--json", NULL, "print one JSON object", "verify-proof"},
    {"--csv", NULL, "print CSV"},
    {"--no-header", NULL, "omit the header"},
    {"--verified", NULL, "run kennel-verify first, and read every record"},
    {"--from", "TIME", "only records since 2026-11-21T22:00, 22:00, 2h, 3d"},
    {"--since", "TIME", "the same as --from"},
    {"--to", "TIME", "only records before this time"},
    {"--to", "TIME", "remove what is older", "prune-payloads"},
    {"--to", "TIME", "remove what was not used since", "prune-policies"},
    {"--server", "SERVER", "only records of this server"},
    {"--tool", "TOOL", "only records of this tool"},
    {"--verdict", "allow|ask|deny|killed|absent", "only this verdict"},
    {"--rule", "FILE:LINE", "only records that this line of a policy decided"},
    {"--session", "ID", "only records of this session"},
    {"--as-of", "CHECKPOINT", "the log as it was: SIZE, SIZE:ROOT or a checkpoint"},
    {"--log", "DIR", "read the log in this directory"},
    {"--log", "VKEY", "the public key of the log", "witness"},
    {"--kind", "KIND", "only records of this kind, such as exec or call"},
    {"--kind",
	"activity|integrity|access|changes|controls|incident|retention|exceptions|"
	"inventory",
	"the section of the page; incident takes a SESSION", "report"},
    {"--all", NULL, "also the records about the log itself"},
    {"--absent", NULL, "also attempts to start a program that does not exist"},
    {"--installs", NULL, "also sessions that install a package or fetch a catalog"},
    {"-n", "COUNT", "only the last rows"},
    {"-n", "COUNT", "at most that many rows", "denials"},
    {"-n", "COUNT", "the last records; default: 10", "tail"},
    {"-n", "COUNT", "size of the sample; default: 25", "sample"},
    {"-f", NULL, "wait for new records, and print them"},
    {"--once", NULL, "send what is in the log, then end"},
    {"--text", NULL, "print the text of each policy"},
    {"--diff", NULL, "print what each change newly allows and denies"},
    {"--days", "N", "days without a use; default: 90"},
    {"--control", "access|denials|calls|exec|secrets|network|approvals|changes|all",
	"what to sample from"},
    {"--seed", "TEXT", "the same seed draws the same sample"},
    {"--policy", "FILE", "the grants of this policy"},
    {"-o", "OUT", "write to this file, which must not exist"},
    {"--format", "jsonl|csv|ocsf|cef", "form of the records; default: jsonl"},
    {"--for-verify", "DIR", "copy the log, without private keys, to a new directory"},
    {"--stdin", NULL, "read the value from standard input"},
    {"--fd", "N", "read the value from this descriptor"},
    {"--stopped", NULL, "nothing has written to the log since: accept a clean end"},
    {"--expect-running", NULL, "the log is being written (the default)"},
    {"--max-age", "SECONDS", "accept an end that is this old"},
    {"--now", "SECONDS", "the time to compare with, in seconds since 1970"},
    {"--key", "VKEY", "the public key that the log must have"},
    {"--key", "FILE", "the private key of the witness", "witness"},
    {"--witness", "VKEY", "require a cosignature of this witness; may be repeated"},
    {"--anchor", "FILE", "require that the log continues this checkpoint"},
    {"--jobs", "N", "number of threads"},
    {"--name", "NAME", "the name of the witness"},
    {"--state", "FILE", "where the witness records what it signed"},
    {"--old", "N", "the size that the witness signed last"},
    {"--size", "N", "prove against the checkpoint of this size"},
    {"--size", "N", "the size that was signed", "witness"},
    {"--before", "TIME", "remove files whose records are all older"},
};

static const struct help_verb verbs[] = {
    {"sessions", HAPPENED, "[OPTION...]",
	"print every session, its calls, and how it ended", "* -n",
	"kennel audit sessions --since 1d", ""},
    {"session", HAPPENED, "[OPTION...] SESSION",
	"print all that happened in one session, as sentences", "* -n",
	"kennel audit session b7e66f0f0f70be1f", "-"},
    {"log", HAPPENED, "[OPTION...]", "print the records", "* --kind --all -n",
	"kennel audit log --verdict deny --since 1d", ""},
    {"tail", HAPPENED, "[-f] [-n COUNT] [OPTION...]",
	"print the last records, and with -f new ones as they arrive",
	"* -f -n --kind --all", "kennel audit tail -f", ""},
    {"why", HAPPENED, "[OPTION...] IDX",
	"explain one record: rule, reason, what would allow it", "* -n",
	"kennel audit why 4711", "-"},
    {"denials", USED, "[OPTION...]", "count what was refused, the most frequent first",
	"* -n --absent", "kennel audit denials --since 7d -n 20", ""},
    {"tool", USED, "[OPTION...] [NAME]", "print every call of a tool", "* -n",
	"kennel audit tool push_files --csv", "-"},
    {"tools", USED, "[OPTION...] [NAME]",
	"count the calls of each tool, the most frequent first", "* -n",
	"kennel audit tools --since 7d", "-"},
    {"exec", USED, "[OPTION...] [PROGRAM|SHA256]",
	"print the programs that were started or refused", "* -n --absent",
	"kennel audit exec git", "-"},
    {"egress", USED, "[OPTION...] [HOST|CIDR]", "print the connections",
	"* -n --installs", "kennel audit egress 192.0.2.0/24", "-"},
    {"touched", USED, "[OPTION...] PATH", "print the servers that could use a path",
	"* -n", "kennel audit touched /home/joe/notes", "file"},
    {"secret", USED, "[OPTION...] [NAME|PATH]",
	"print the servers that were given a secret", "* -n",
	"kennel audit secret GITHUB_TOKEN", "-"},
    {"find-secret", USED, "[--stdin | --fd N] [OPTION...]",
	"find every use of a value, which is typed without echo", "* -n --stdin --fd",
	"kennel audit find-secret --since 30d", "",
	.more = "The value must be complete and exactly as it was given to a server. The "
		"log has\n"
		"no values, but a keyed hash of each."},
    {"unused", USED, "[--policy FILE] [--days N] [OPTION...] SERVER",
	"print the grants that were never used", "* -n --policy --days",
	"kennel audit unused --days 30 github", "server",
	.more = "They are candidates for removal from the policy."},
    {"policy-at", POLICIES, "[--text] [OPTION...] TIME",
	"print the policy of each server at a time", "* -n --text",
	"kennel audit policy-at 2026-11-21T03:14", "-",
	.more = "Those in force at that time, each once with the session that used it "
		"first."},
    {"policy-text", POLICIES, "[-o OUT] ID|SHA256",
	"print a policy that was in force, if it was stored", "-o --log",
	"kennel audit policy-text a0b68b45cc14ec34", "-"},
    {"changes", POLICIES, "[--diff] [OPTION...]",
	"print when a server's policy changed, and how", "* -n --diff --installs",
	"kennel audit changes --diff --from 2026-11-01", ""},
    {"widened", POLICIES, "[OPTION...]", "print what was allowed for the first time",
	"* -n --installs", "kennel audit widened --from 2026-11-01", ""},
    {"exceptions", POLICIES, "[OPTION...]", "print the exceptions, owners and dates",
	"* -n", "kennel audit exceptions", ""},
    {"who-approved", ODD, "[OPTION...] [PERSON|NAME]",
	"print the approvals and who answered them", "* -n",
	"kennel audit who-approved alice", "-"},
    {"manifest", ODD, "[OPTION...] [SERVER]",
	"print what servers offered, and whether it matched the pins", "* -n",
	"kennel audit manifest github", "server"},
    {"anomalies", ODD, "[OPTION...]", "print what is new, frequent or at odd hours",
	"* -n", "kennel audit anomalies --from 2026-11-20", ""},
    {"sample", ODD, "[--control CONTROL] [--seed TEXT] [-n COUNT] [OPTION...]",
	"draw a reproducible random sample of the records",
	"* --control --seed -n --absent",
	"kennel audit sample --control access --seed 2026-Q4 -n 25", "",
	.more = "The smallest SHA-256 over seed and record are the sample."},
    {"report", EVIDENCE, "[--kind KIND] [-o OUT] [OPTION...] [SESSION]",
	"write a self-contained HTML page", "* --kind -o --absent --installs",
	"kennel audit report --verified -o report.html", "-",
	.more =
	    "The page loads nothing and runs nothing. With --as-of it is reproducible."},
    {"pack", EVIDENCE, "-o OUT SESSION",
	"write one session and its proofs to a tar archive", "-o --log --verified",
	"kennel audit pack -o evidence.tar b7e66f0f0f70be1f", "-",
	.more = "The archive has the records, the proof of each, the policy, and "
		"instructions\n"
		"that need no other data of this machine."},
    {"certify", EVIDENCE, "[-o OUT]", "verify the log, and sign the result with its key",
	"-o --log", "kennel audit certify -o certificate.txt", "",
	.more = "If the log is not intact, no certificate is written."},
    {"export", EVIDENCE, "[--format FORMAT] [-o OUT] [OPTION...]",
	"write the records for other systems",
	"* --format --kind --all --absent -o --for-verify",
	"kennel audit export --format ocsf -o records.json", ""},
    {"ship", EVIDENCE, "[--once] [--format FORMAT] [--log DIR] TO",
	"send the records to a syslog collector, also new ones",
	"* --format --once --absent", "kennel audit ship tcp:192.0.2.1:6514", "-",
	.more = "TO is unix:PATH, unix-stream:PATH or tcp:ADDRESS:PORT. The position is "
		"stored,\n"
		"so nothing is lost if the collector cannot be reached."},
    {"payload", EVIDENCE, "IDX", "print arguments or a result, if they were stored",
	"--log --verified", "kennel audit payload 4711", "-"},
    {"verify", INTACT, "[OPTION...] [[--log] DIR|FILE]",
	"verify the whole log: its records, tree and signatures",
	"--json --stopped --expect-running --max-age --now --key --witness --anchor "
	"--jobs --log",
	"kennel audit verify", "file",
	.more =
	    "Keep the key that it prints elsewhere: with --key, another intact log is\n"
	    "detected. The exit status is 0 if the log is intact, 1 if it was tampered "
	    "with,\n"
	    "2 if it is incomplete or stale, 3 if that is unknown."},
    {"gaps", INTACT, "[OPTION...]",
	"print lost events, clock changes and sessions without an end", "* -n",
	"kennel audit gaps --since 30d", ""},
    {"prove", INTACT, "[--size N] [-o OUT] IDX", "print the proof of one record",
	"--size -o", "kennel audit prove -o 4711.tlog-proof 4711", "-",
	.more = "`kennel audit verify-proof` checks the proof with the log's key and "
		"without the\n"
		"log."},
    {"verify-proof", INTACT, "[--json] --key VKEY [--witness VKEY]... FILE [RECORD]",
	"verify a proof of one record, or a certificate", "--json --key --witness",
	"kennel audit verify-proof --key \"$(cat log.vkey)\" 4711.tlog-proof",
	"file file"},
    {"tiles", INTACT, "DIR", "write the Merkle tree as tlog-tiles files", "",
	"kennel audit tiles /srv/www/log", "file"},
    {"witness", INTACT,
	"key --key FILE --name NAME\n"
	"request [--old N]\n"
	"sign --key FILE --name NAME --state FILE --log VKEY < REQUEST\n"
	"add --size N < COSIGNATURE",
	"let witnesses sign the current checkpoint",
	"--key --name --state --log --old --size",
	"kennel audit witness request > request.txt", "key|request|sign|add",
	.more = "key creates a witness; request prints what it signs; sign, on the "
		"witness's own\n"
		"machine, refuses a log that was rewritten; add stores its signature."},
    {"rotate", OLD, "", "close the live file, to store it elsewhere", "",
	"kennel audit rotate", ""},
    {"prune", OLD, "--before TIME\nIDX", "remove old files of the log", "--before",
	"kennel audit prune --before 2026-01-01", "-",
	.more = "A file is removed only if all of its records are older. The rest can "
		"still be\n"
		"verified."},
    {"prune-payloads", OLD, "--to TIME", "remove stored arguments and results",
	"--to --log", "kennel audit prune-payloads --to 90d", ""},
    {"prune-policies", OLD, "--to TIME", "remove stored policies that no start has used",
	"--to --log", "kennel audit prune-policies --to 365d", ""},
};

const struct help_family audit_help = {
    .program = "kennel audit",
    .what = "Reads, verifies and exports the audit log.",
    .page = "kennel-audit(1)",
    .verb = verbs,
    .verb_n = ARRAY_LEN(verbs),
    .option = options,
    .option_n = ARRAY_LEN(options),
    .common = "--server --session --tool --verdict --rule --from --since --to "
	      "--as-of --verified --log --json --csv --no-header",
};
