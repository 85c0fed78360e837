#!/bin/sh
# The link line is the trust boundary (docs/ARCHITECTURE.md): what speaks to
# the agent cannot hold a secret, for no code that could is in it.  S1-02 S4-29
#
# Four questions, each also asked of a planted violation:
#	lists	does the hand-written object list stay in the rooms it may?
#	program	does a symbol of a forbidden room stand in the linked program?
#	imports	does the shim ask for more than it may?
#	calls	may a confined leash start a program?
#
# From the Makefile: OBJ GEN BIN LIBEXEC CC LINKHARD LINKSTATIC KENNEL RECORDER
# VERIFY SHIP SHIM CONSOLE EGRESS DIAL FIDO FORM REMOTE BASE_SMALL LEASH KEEPER SECRET and KENNEL_LIBS.
set -eu
work=build/check/links
failed=0
say() {
	echo "$1: $2"
	[ "$1" = ok ] || failed=1
}

# ---- lists -----------------------------------------------------------------
# What each program's objects may be: an extended regular expression.
kennel_may='^(supervisor/main|supervisor/(base|launch|launch/find|cli|catalog|draft|import|import/config|install|learn|doctor|pin|lint|help|mcp|mcp/line|json|hub|schema|answer|approve|registry|secrets|servers|accept|serve|serve/approvals|serve/asked|serve/launcher|serve/tools|screen|status|top)/[a-z0-9_]+|supervisor/console/verb_console|supervisor/audit/(connect|audit_help|write_test|(kept|log|query|report|ship|verify)/[a-z0-9_]+)|leash/audit/(writer|event)|leash/keeper/(confirmed|connect)|policy/[a-z0-9_/]+|shim/(base|help|host)/[a-z0-9_]+)\.o$'
# A page for a browser: nothing of a leash, not even the writer of the log.
console_may='^(supervisor/(base|json)/[a-z0-9_]+|supervisor/answer/(approval_id|open_list|session)|supervisor/approve/(queue|refusals)|supervisor/console/(approvals|browser|command_runs|events|http|keys|launcher|link_socket|logins|main|pages|records|request_check|routes|session_sockets|views)|shim/(base|host)/[a-z0-9_]+)\.o$'
recorder_may='^(supervisor/audit/(kept|log|recorder)/[a-z0-9_]+|leash/audit/(writer|event)|shim/base/[a-z0-9_]+)\.o$'
verify_may='^(supervisor/audit/(kept|log|verify)/[a-z0-9_]+|leash/audit/(writer|event)|shim/(base|help)/[a-z0-9_]+)\.o$'
ship_may='^(supervisor/audit/(audit_help|(kept|log|query|report|ship)/[a-z0-9_]+)|leash/audit/(writer|event)|shim/(base|help)/[a-z0-9_]+)\.o$'
keeper_may='^(leash/keeper/(main|peers|answer|change|confirm|store|key|key_list|fido_child|fido/fido_wire)|leash/vault/(secret_path|vault|locked_pages)|leash/vault_file/(edit|key|recovery_phrase|save|vault_file)|shim/base/[a-z0-9_]+)\.o$'
# What a browser sent is read beside the keeper, not in it.
fido_may='^(leash/keeper/fido/[a-z_]+|shim/base/[a-z0-9_]+)\.o$'
secret_may='^(leash/secret/(main|verbs|list|fields|input|keys|request|secret_program|start_keeper|dialogs|pinentry)|leash/keeper/connect|leash/vault/(secret_path|vault|locked_pages|fingerprint)|policy/(address/address|sealed/[a-z0-9_/]+|tokens/token_format)|shim/base/[a-z0-9_]+)\.o$'
# The page that a value is typed into; kennel-secret itself serves no HTTP.
form_may='^(leash/secret/(main|verbs|list|fields|form|form_answer|form_program|input|keys|request|start_keeper)|leash/keeper/connect|leash/vault/(secret_path|vault|locked_pages|fingerprint)|policy/(address/address|sealed/[a-z0-9_/]+|tokens/token_format)|shim/base/[a-z0-9_]+|shim/host/(http_heads|loopback(_peers)?))\.o$'
# The server's bytes and the host's resolver are in programs of their own.
remote_may='^(leash/(remote|scrub)/[a-z_]+|leash/vault/(copied_value|locked_pages|vault)|policy/tokens/weak_value|shim/base/[a-z0-9_]+)\.o$'
egress_may='^(leash/egress/(address|client_hello|connection|dial_wire|dns|egress_wire|events|greeting|kernel_refusals|listeners|name_addresses|plan|relay|resolver|splice)|policy/(address/address|sealed/[a-z0-9_/]+)|shim/base/[a-z0-9_]+)\.o$'
dial_may='^(leash/egress/(address|attempt|dial_wire|dialer|host_facts|lookup)|policy/(address/address|sealed/[a-z0-9_/]+)|shim/base/[a-z0-9_]+|shim/host/nsswitch)\.o$'
shim_may='^(shim/[a-z0-9_]+|shim/base/(wire|fd))\.o$'

judge_list() { # OBJECTS MAY
	for o in $1; do
		echo "$o" | grep -qE "$2" || echo "$o"
	done
}

# ---- program ---------------------------------------------------------------
defined() { # FILE...: the functions and objects they define, local ones too
	nm --defined-only "$@" 2>/dev/null | awk 'NF == 3 && $2 ~ /[A-Za-z]/ { print $3 }' |
	    sed 's/\.[a-z0-9.]*$//' | sort -u
}
globals() {
	nm -g --defined-only "$@" 2>/dev/null | awk 'NF == 3 { print $3 }' | sort -u
}
rooms() { # the objects of the rooms no other program may have
	for o in $LEASH $KEEPER $SECRET; do
		case $o in
		leash/audit/writer.o | leash/audit/event.o | policy/* | shim/base/* | shim/host/*) ;;
		*) echo "$OBJ/$o" ;;
		esac
	done
}
shown_by() { # OBJECTS: their symbols, as paths under OBJ
	for o in $1; do
		echo "$OBJ/$o"
	done | xargs nm --defined-only 2>/dev/null |
	    awk 'NF == 3 { print $3 }' | sed 's/\.[a-z0-9.]*$//' | sort -u
}

# Symbols of a forbidden room, or that are named like one's.
judge_program() { # PROGRAM OBJECTS
	shown_by "$2" > "$work/own"
	defined "$1" > "$work/has"
	# main and the like: shown by both, and the program's own.
	comm -23 "$work/forbidden" "$work/own" | comm -12 - "$work/has"
	grep -E '^(secret|vault|scrub)_' "$work/has" | comm -23 - "$work/own" || :
}

# The static libraries behind the -l options of a link line, and C's own.  One
# that is a linker script names others.
archives() { # LIBS
	for lib in $1 -lc -lm -lgcc -lgcc_eh; do
		case $lib in
		-l*) a=$($CC -print-file-name="lib${lib#-l}.a") ;;
		*) continue ;;
		esac
		case $(head -c 7 "$a" | tr -d '\n') in
		'!<arch>') echo "$a" ;;
		*) tr -s ' ()' '\n' < "$a" | grep '\.a$' ;;
		esac
	done | sort -u
}

# Every symbol of the kennel program must come from an object of the list, from
# a library of its link line, or from the C start files.
judge_allowed() { # PROGRAM OBJECTS
	{
		shown_by "$2"
		cat "$work/library"
	} | sort -u > "$work/own"
	defined "$1" > "$work/has"
	comm -13 "$work/own" "$work/has" | grep -vE \
	    '^(_.*|crtstuff|completed|data_start|deregister_tm_clones|register_tm_clones|frame_dummy|main|.*@.*)$' || :
}

# ---- imports ---------------------------------------------------------------
# All that PID 1 of a cell may ask of libc: no memory, no text, no files by
# stream.  (shim/base brings more than the shim calls; the linker keeps whole
# objects.)
shim_libc='__errno_location __explicit_bzero_chk explicit_bzero __stack_chk_fail _exit
chdir close dup2 dup3 execve fcntl fork getpid getppid kill memchr memcmp memcpy
memset mlock open pipe2 poll prctl read setpgid setsid sigaction sigaddset
sigemptyset sigfillset sigprocmask signalfd strlen syscall waitpid write'

judge_imports() { # OBJECT...: what is asked of nobody but libc, and is not listed
	nm -u "$@" | awk '$1 == "U" { print $2 }' | sort -u > "$work/asks"
	for o in $SHIM; do
		echo "$OBJ/$o"
	done | xargs nm -g --defined-only | awk 'NF == 3 { print $3 }' | sort -u |
	    comm -13 - "$work/asks" | while read -r name; do
		echo $shim_libc | tr ' ' '\n' | grep -qxF "$name" || echo "$name"
	done
}

# ---- the questions -----------------------------------------------------------
rm -rf "$work"
mkdir -p "$work"
globals $(rooms) > "$work/forbidden"
archives "$KENNEL_LIBS" | xargs nm --defined-only 2>/dev/null |
    awk 'NF == 3 { print $3 }' | sed 's/\.[a-z0-9.]*$//' | sort -u > "$work/library"
[ -s "$work/forbidden" ] || say "not ok" "no forbidden symbols: are the objects built?"

ask() { # WHAT FOUND
	if [ -z "$2" ]; then
		say ok "$1"
	else
		say "not ok" "$1: $(echo $2)"
	fi
}
caught() { # WHAT FOUND
	if [ -n "$2" ]; then
		say ok "$1 is caught"
	else
		say "not ok" "$1 is not caught"
	fi
}

ask "kennel is made of its rooms" "$(judge_list "$KENNEL" "$kennel_may")"
ask "kennel-recorder is made of its rooms" "$(judge_list "$RECORDER" "$recorder_may")"
ask "kennel-verify is made of its rooms" "$(judge_list "$VERIFY" "$verify_may")"
ask "kennel-ship is made of its rooms" "$(judge_list "$SHIP" "$ship_may")"
ask "kennel-console is made of its rooms" "$(judge_list "$CONSOLE" "$console_may")"
for o in leash/audit/writer.o leash/keeper/connect.o leash/vault/vault.o policy/sealed/load.o; do
	caught "kennel-console with $o in its list" "$(judge_list "$CONSOLE $o" "$console_may")"
done
ask "kennel-keeper is made of its rooms" "$(judge_list "$KEEPER" "$keeper_may")"
caught "kennel-keeper that could read JSON" \
    "$(judge_list "$KEEPER leash/keeper/fido/client_data.o" "$keeper_may")"
ask "kennel-fido is made of its rooms" "$(judge_list "$FIDO" "$fido_may")"
caught "kennel-fido that could open a vault" \
    "$(judge_list "$FIDO leash/vault_file/key.o" "$fido_may")"
ask "kennel-remote is made of its rooms" "$(judge_list "$REMOTE" "$remote_may")"
caught "kennel-remote that could resolve secrets" \
    "$(judge_list "$REMOTE leash/vault/read_value.o" "$remote_may")"
ask "kennel-secret is made of its rooms" "$(judge_list "$SECRET" "$secret_may")"
caught "kennel-secret that could open a vault" \
    "$(judge_list "$SECRET leash/vault_file/key.o" "$secret_may")"
caught "kennel-secret that could ask for a value" \
    "$(judge_list "$SECRET leash/vault/keeper_value.o" "$secret_may")"
caught "kennel-secret that could serve HTTP" "$(judge_list "$SECRET leash/secret/form.o" "$secret_may")"
ask "kennel-form is made of its rooms" "$(judge_list "$FORM" "$form_may")"
caught "kennel-form that could open a vault" \
    "$(judge_list "$FORM leash/vault_file/key.o" "$form_may")"
caught "kennel-form that could start a dialog" \
    "$(judge_list "$FORM leash/secret/pinentry.o" "$form_may")"
# policy/sealed is what a leash may know of policies: all of it, and nothing else.  The scopes of
# addresses and the formats of tokens are beside it: tables, without a parser.
sealed_apart() { # LEASH's objects: what lies on one side only
	{
		for o in $1; do
			case $o in policy/*) echo "$o" ;; esac
		done
		find policy/address policy/sealed policy/tokens -name '*.c' | sed 's/c$/o/'
	} | sort | uniq -u
}
ask "kennel-leash links exactly policy/address, policy/sealed and policy/tokens of policy" "$(sealed_apart "$LEASH")"
caught "kennel-leash with the parser" "$(sealed_apart "$LEASH policy/lang/parse.o")"
ask "kennel-egress is made of its rooms" "$(judge_list "$EGRESS" "$egress_may")"
caught "kennel-egress that could ask the host's resolver" \
    "$(judge_list "$EGRESS leash/egress/lookup.o" "$egress_may")"
ask "kennel-dial is made of its rooms" "$(judge_list "$DIAL" "$dial_may")"
caught "kennel-dial that could read what the server sends" \
    "$(judge_list "$DIAL leash/egress/client_hello.o" "$dial_may")"
ask "kennel-shim is made of its rooms" "$(judge_list "$SHIM" "$shim_may")"
caught "kennel that could serve HTTP" "$(judge_list "$KENNEL supervisor/console/http.o" "$kennel_may")"
for o in leash/vault/vault.o leash/scrub/stream.o leash/cell/ns.o leash/exec/notify.o \
    leash/main.o leash/keeper/main.o leash/vault_file/vault_file.o leash/vault/keeper_value.o \
    leash/keeper/answer.o tests/unit/test_base.o; do
	caught "kennel with $o in its list" "$(judge_list "$KENNEL $o" "$kennel_may")"
done

ask "no symbol of the leash's rooms in kennel" "$(judge_program "$BIN/kennel" "$KENNEL")"
ask "no symbol of the leash's rooms in kennel-recorder" \
    "$(judge_program "$LIBEXEC/kennel-recorder" "$RECORDER")"
ask "no symbol of the leash's rooms in kennel-verify" \
    "$(judge_program "$LIBEXEC/kennel-verify" "$VERIFY")"
ask "no symbol of the leash's rooms in kennel-ship" \
    "$(judge_program "$LIBEXEC/kennel-ship" "$SHIP")"
ask "no symbol of the leash's rooms in kennel-console" \
    "$(judge_program "$LIBEXEC/kennel-console" "$CONSOLE")"
ask "no symbol of the leash's rooms in kennel-shim" \
    "$(judge_program "$LIBEXEC/kennel-shim" "$SHIM")"
ask "every symbol of kennel comes from its list" \
    "$(judge_allowed "$BIN/kennel" "$KENNEL")"
# The control: the leash, which does hold them, is seen to.
caught "the vault in kennel-leash" "$(judge_program "$LIBEXEC/kennel-leash" "$KENNEL")"

# Kennel's own objects and one of the vault's, linked for good.
own=""
for o in $KENNEL; do
	own="$own $OBJ/$o"
done
link() { # OUT OBJECT...
	out=$1
	shift
	# shellcheck disable=SC2086
	$CC $LINKSTATIC $LINKHARD -o "$out" $own "$@" $KENNEL_LIBS
}
# -u: wanted by somebody, or the linker would drop what nothing calls.
link "$work/planted" -Wl,-u,vault_new "$OBJ/leash/vault/vault.o" "$OBJ/leash/vault/locked_pages.o"
caught "kennel linked with the vault" "$(judge_program "$work/planted" "$KENNEL")"
# One that hides: a copy of the vault under other names.
printf 'char *peek(void);\nchar *peek(void) { return (char *)0; }\n' > "$work/hidden.c"
$CC -fPIE -c -o "$work/hidden.o" "$work/hidden.c"
link "$work/planted" -Wl,-u,peek "$work/hidden.o"
caught "kennel linked with an object of no list" \
    "$(judge_allowed "$work/planted" "$KENNEL")"

mine=""
for o in $SHIM; do
	case " $BASE_SMALL " in
	*" $o "*) ;;
	*) mine="$mine $OBJ/$o" ;;
	esac
done
# shellcheck disable=SC2086
ask "the shim asks libc for no more than its list" "$(judge_imports $mine)"
printf '#include <stdio.h>\n#include <stdlib.h>\nvoid p(void);\nvoid p(void) { printf("%%p", malloc(1)); }\n' \
    > "$work/asks.c"
$CC -c -o "$work/asks.o" "$work/asks.c"
# shellcheck disable=SC2086
caught "a shim that allocates and prints" "$(judge_imports $mine "$work/asks.o")"

# ---- calls -------------------------------------------------------------------
# A confined leash starts no program and no process: helpers ran before.
starters() { # the allow-list's calls that could
	grep -owE 'SYS_(execve|execveat|fork|vfork|clone|clone3)' "$1" || :
}
ask "a confined leash starts nothing" "$(starters "$GEN/leash_syscalls.h")"
ask "a confined kennel-ship starts nothing" "$(starters "$GEN/ship_syscalls.h")"
ask "a confined kennel-ship opens no socket" \
    "$(grep -owE 'SYS_(socket|connect|bind|socketpair)' "$GEN/ship_syscalls.h" || :)"
ask "a confined kennel-console listens on no other socket, and opens no file" \
    "$(grep -owE 'SYS_(listen|open|openat|openat2|getdents64)' "$GEN/console_syscalls.h" || :)"
for p in console keeper secret fido; do
	ask "a confined kennel-$p starts nothing" "$(starters "$GEN/${p}_syscalls.h")"
	ask "a confined kennel-$p opens no socket" \
	    "$(grep -owE 'SYS_(socket|connect|bind|socketpair)' "$GEN/${p}_syscalls.h" || :)"
done
printf '/* syscalls: read execve */\n' > "$work/starts.c"
sh shim/base/collect.sh leash "$work/starts.c" > "$work/starts.h"
caught "a leash that may execve" "$(starters "$work/starts.h")"
rm -rf "$work"
exit $failed
