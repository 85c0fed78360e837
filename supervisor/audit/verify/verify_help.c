/*
 * The help of kennel-verify, which an auditor runs without kennel.
 */
#include "supervisor/audit/verify/verify_help.h"

#include <string.h>

#include "shim/base/array.h"

static const struct help_option options[] = {
    {"--json", NULL, "print one JSON object"},
    {"--stopped", NULL, "nothing has written to the log since: accept a clean end"},
    {"--expect-running", NULL, "the log is being written (the default)"},
    {"--max-age", "SECONDS", "accept an end that is this old"},
    {"--now", "SECONDS", "the time to compare with, in seconds since 1970"},
    {"--jobs", "N", "number of threads"},
    {"--key", "VKEY", "the public key that the log must have"},
    {"--key", "VKEY", "the public key of the log", "proof"},
    {"--witness", "VKEY", "require a cosignature of this witness; may be repeated"},
    {"--anchor", "FILE", "require that the log continues this checkpoint"},
    {"--log", "DIR", "the log, in place of the argument"},
    {"--kept", "DIR", "checkpoints kept of the --log before this"},
};

static const struct help_verb verbs[] = {
    {"", "Verify", "[OPTION...] [--log] DIR|FILE",
	"verify a log: its records, its tree of hashes and its signatures",
	"--json --stopped --expect-running --max-age --now --key --witness --anchor "
	"--jobs --log --kept",
	"kennel-verify --now $(cat copied) /mnt/evidence/audit", "file"},
    {"proof", "Verify", "[--json] --key VKEY [--witness VKEY]... FILE [RECORD]",
	"verify the proof of one record, or a certificate, without the log",
	"--json --key --witness",
	"kennel-verify proof --key \"$(cat log.vkey)\" 4711.tlog-proof", "file file"},
};

const struct help_family verify_help = {
    .program = "kennel-verify",
    .what = "Verifies audit logs of kennel, and trusts nothing in them.",
    .page = "kennel-verify(1)",
    .verb = verbs,
    .verb_n = ARRAY_LEN(verbs),
    .option = options,
    .option_n = ARRAY_LEN(options),
    .common = "",
};

bool
verify_help_asked(int argc, char **argv)
{
	const struct help_verb *v = argc > 0 ? help_find(&verify_help, argv[0]) : NULL;

	if (argc == 0 || !help_asked(&verify_help, v != NULL ? v : verbs, argc, argv))
		return false;
	help_print(&verify_help, v != NULL ? v : verbs, stdout);
	if (v == NULL)
		(void)printf("\n`kennel-verify proof --help` explains how to verify one "
			     "record.\n");
	return true;
}
