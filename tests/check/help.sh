#!/bin/sh
# Every verb that a program runs has a row in the table of its help, and every row a verb.
# Every option that the code reads is in a help.  (tests/e2e/e2e_help.py asks the verbs.)
set -u
cd "$(dirname "$0")/../.." || exit 1
work=build/check/help
mkdir -p "$work"
n=0; bad=0

# FILE...: the first string of each row of the tables "verbs" in these files.
rows() {
	sed -n '/verbs\[\] = {$/,/^};/p' "$@" | grep -o '{"[a-z-]*",' | tr -d '{",' | sort
}
# FILE...: the names of the queries of kennel audit, but that of "find-secret", which
# another verb runs with a fingerprint.
queries() {
	sed -n 's/^    {\.name = "\([a-z-]*\)".*/\1/p' "$@" | grep -v '^find-secret$'
}
table() { # FILE NAME: the rows of one table of the file
	sed -n "/ $2\[\] = {\$/,/^};/p" "$1" | rows
}
compare() { # WHAT: $work/run and $work/help are the same
	n=$((n + 1))
	if [ -s "$work/run" ] && cmp -s "$work/run" "$work/help"; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1: run or explained, not both:" \
		    $(sort "$work/run" "$work/help" | uniq -u)
		bad=1
	fi
}

rows supervisor/main.c | grep -v '^complete$' >"$work/run"
table supervisor/help/kennel_help.c verbs >"$work/help"
compare kennel
rows supervisor/cli/server.c >"$work/run"
table supervisor/help/kennel_help.c server_verbs >"$work/help"
compare "kennel server"
rows supervisor/answer/verbs.c >"$work/run"
table supervisor/help/kennel_help.c approve_verbs >"$work/help"
compare "kennel approve"
rows supervisor/cli/secret.c >"$work/run"
rows supervisor/help/secret_help.c >"$work/help"
compare "kennel secret"
rows policy/cli/main.c >"$work/run"
rows policy/cli/help.c >"$work/help"
compare "kennel policy"
{ rows supervisor/cli/audit.c; queries supervisor/audit/query/verb_*.c; } | sort >"$work/run"
rows supervisor/audit/audit_help.c >"$work/help"
compare "kennel audit"

# Options, as strings or as rows of getopt_long, but those of every program, those that
# kennel itself gives to kennel-secret, kennel secret and kennel init, and npx's.
options() {
	{ grep -hoE '"--[a-z-]+"' "$@"
	sed -nE 's/^.*\{"([a-z-]+)", (no|required)_argument.*/"--\1"/p' "$@"; } |
	    tr -d '"' | grep -vxE -e '--(help|version|policy-fd|after|alone|for-start|for|for-client|shape|package|accept|destructive|digest|only-deny|seconds|offer-session|program|text-fd|again|below|grants-fd|kept)' | sort -u
}
in_help() { # WHAT HELP FILE...: the options of the files are in this help
	n=$((n + 1))
	what=$1 help=$2; shift 2
	options "$@" >"$work/run"
	grep -hoE '\{"--[a-z-]+"' $help | tr -d '{"' | sort -u >"$work/help"
	lacks=$(comm -23 "$work/run" "$work/help")
	if [ -s "$work/run" ] && [ -z "$lacks" ]; then
		echo "ok $n - the options of $what"
	else
		echo "not ok $n - the help of $what lacks:" $lacks
		bad=1
	fi
}
in_help "kennel policy" policy/cli/help.c policy/cli/verb.c
in_help "kennel audit" supervisor/audit/audit_help.c supervisor/audit/query/options.c \
    supervisor/audit/report/*.c supervisor/cli/audit*.c
in_help "kennel secret" supervisor/help/secret_help.c leash/secret/main.c \
    supervisor/cli/secret_options.c supervisor/cli/secret_grant.c supervisor/cli/secret_grants.c
in_help "kennel, server, install and approve" supervisor/help/kennel_help.c \
    $(ls supervisor/cli/*.c supervisor/doctor/*.c supervisor/servers/*.c supervisor/install/verb_*.c supervisor/console/verb_*.c | grep -v '/\(audit\|secret\|check_all\|policy_\)')
in_help kennel-verify supervisor/audit/verify/verify_help.c \
    supervisor/audit/verify/main.c supervisor/audit/verify/check_proof.c

n=$((n + 1))
rows supervisor/cli/server.c >"$work/help"
{ cat "$work/help"; echo planted; } >"$work/run"
if (compare planted) | grep -q "^not ok .* planted$"; then
	echo "ok $n - a verb without help is caught"
else
	echo "not ok $n - a verb without help is not caught"
	bad=1
fi

n=$((n + 1))
echo '	{"planted", no_argument, NULL, 0},' >"$work/planted.c"
if (in_help planted policy/cli/help.c "$work/planted.c") | grep -q "^not ok .* --planted$"; then
	echo "ok $n - an option without help is caught"
else
	echo "not ok $n - an option without help is not caught"
	bad=1
fi
exit $bad
