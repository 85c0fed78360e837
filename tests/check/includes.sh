#!/bin/sh
# Who may include what (docs/STYLE.md).  Three tables: direction, libraries,
# system headers.  The check then plants each kind of violation in a copy of
# the tree and must find it.
#
#	includes.sh [ROOT]
set -eu
root=${1:-.}
work=build/check/includes

# One line per violation; nothing when all is well.
judge() {
	(cd "$1" && find leash supervisor policy shim -name '*.[ch]' |
	    xargs grep -nE '^[[:space:]]*#[[:space:]]*include' /dev/null) |
	sed -E 's/^([^:]*):([0-9]+):[[:space:]]*#[[:space:]]*include[[:space:]]*/\1 \2 /' |
	awk '
	function say(why) { print file ":" line ": " what ": " why }
	# ---- which way: folder of the file -> what it may reach
	function direction() {
		if (what ~ /^(leash|egress|dial|kennel|console|recorder|verify|ship|keeper|secret|form|fido)_syscalls\.h$/)
			return 1
		if (what == "default_filters.h") return file == "policy/sealed/filters/default_filters.c"
		if (file ~ /^shim\/base\//) return what ~ /^shim\/base\//
		if (file ~ /^shim\/host\//) return what ~ /^shim\/(base|host)\//
		if (file ~ /^shim\//) return what ~ /^shim\// && what !~ /^shim\/host\//
		if (file ~ /^policy\//) return what ~ /^(policy|shim\/(base|help|host))\//
		if (file ~ /^leash\//) return what ~ /^(leash|policy|shim)\//
		# The supervisor speaks with a leash; it is none.
		return what ~ /^(supervisor|policy|shim)\// ||
		    what == "leash/leash.h" || what == "leash/keeper/keeper.h" || what == "leash/audit/writer.h"
	}
	# ---- one file for each library
	function library() {
		if (what ~ /^seccomp\.h$/) return file == "policy/compile/seccomp.c"
		# HTTP of remote servers, in their cells
		if (what == "curl/curl.h") return file == "leash/remote/http.c"
		# signatures of security keys, in kennel-fido alone
		if (what ~ /^(fido|fido\/[a-z0-9]+|openssl\/crypto)\.h$/)
			return file == "leash/keeper/fido/signature.c" || file == "leash/keeper/fido/main.c"
		# pages in a browser, of kennel-console and of kennel-form
		if (what == "microhttpd.h")
			return file == "supervisor/console/http.c" || file == "leash/secret/form.c"
		# dialogs of a person, in kennel-secret alone
		if (what == "assuan.h") return file == "leash/secret/pinentry.c"
		if (what ~ /^cap-ng\.h$/) return file == "leash/cell/caps.c"
		if (what ~ /^netlink\//) return file == "leash/cell/net.c"
		# Name services of the host: kennel-dial alone may ask them.
		if (what ~ /^(netdb|nss)\.h$/) return file == "leash/egress/lookup.c"
		if (what == "ifaddrs.h") return file == "leash/egress/host_facts.c"
		# What people wrote; messages are never parsed into a tree.
		if (what ~ /^jansson\.h$/)
			return file == "supervisor/draft/npm_package.c" || file == "supervisor/draft/npm_lock.c" ||
			    file == "supervisor/install/signed_check.c" || file == "supervisor/registry/global_file.c" ||
			    file == "leash/keeper/fido/client_data.c" || file == "leash/keeper/fido/main.c"
		if (what == "pcre2.h") return file == "supervisor/schema/pattern.c"
		if (what ~ /^n?curses\.h$|^term\.h$/) return file == "supervisor/screen/screen.c"
		if (what ~ /^sqlite3\.h$/)
			return file ~ /^supervisor\/audit\// || file == "supervisor/registry/database.c" ||
			    file == "supervisor/serve/tools/search.c" # an index in memory, never a file
		if (what ~ /^sodium\.h$/)
			return file == "leash/audit/event.c" || file ~ /^leash\/(vault(_file)?|keeper\/fido)\// || file == "leash/keeper/key.c" || file == "leash/placeholder/draw.c" || file == "leash/remote/login.c" || file == "policy/compile/write_sealed.c" ||
			    file == "policy/sealed/load.c" ||
			    file == "policy/cli/verb_sign.c" || file == "policy/sealed/signature_check.c" || file == "supervisor/audit/log/merkle.c" ||
			    file == "supervisor/audit/log/sign_key.c" ||
			    file == "supervisor/audit/log/payload_key.c" # seals what a policy keeps whole
		# What the C library found the processor to be.
		if (what == "sys/platform/x86.h") return file == "leash/scrub/prefilter_simd.c"
		# Nobody loads code; one file says so in the place of the loader.
		if (what ~ /^dlfcn\.h$/) return file == "supervisor/audit/log/sqlite_noload.c"
		return what in system_header || what ~ /^(sys|linux|asm|netinet)\/[a-z0-9_]+\.h$/
	}
	BEGIN {
		n = split("arpa/inet assert ctype dirent elf emmintrin endian errno fcntl fnmatch getopt glob " \
		    "grp immintrin inttypes libgen limits link locale malloc net/if poll pthread pwd sched search " \
		    "signal spawn stdalign stdarg stdatomic stdbool stddef stdint stdio " \
		    "stdlib stdnoreturn string strings syslog termios time unistd wchar", s, " ")
		for (i = 1; i <= n; i++)
			system_header[s[i] ".h"] = 1
	}
	{
		file = $1; line = $2; what = $3
		mark = substr(what, 1, 1)
		gsub(/[<>"]/, "", what)
		if (what ~ /\.\./ || (mark != "<" && mark != "\"")) {
			say("not a plain name from the root")
		} else if (mark == "\"") {
			if (!direction()) say("points the wrong way")
			# A private header stays in its room.
			dir = what; sub(/[^\/]*$/, "", dir)
			from = file; sub(/[^\/]*$/, "", from)
			if (what ~ /\/private\.h$/ && dir != from) say("private to its room")
			if (what ~ /^leash\/(vault|vault_file|keeper|secret|scrub|cell|exec|egress|remote)\// && file !~ /^leash\// &&
			    !(what == "leash/keeper/keeper.h" && file == "supervisor/launch/person_sockets.c")) # asks it
				say("only a leash may")
		} else if (!library()) {
			say("not for this file")
		}
	}'
}

# plant FILE LINE: the tree with that line in that file must be refused.
plant() {
	rm -rf "$work"
	mkdir -p "$work"
	cp -r "$root"/leash "$root"/supervisor "$root"/policy "$root"/shim "$work"/
	mkdir -p "$work/$(dirname "$1")"
	echo "$2" >> "$work/$1"
	if judge "$work" | grep -q "^$1:"; then
		echo "ok: $2 in $1 is caught"
	else
		echo "not ok: $2 in $1 is not caught"
		failed=1
	fi
}

failed=0
found=$(judge "$root")
if [ -n "$found" ]; then
	echo "$found" | sed 's/^/not ok: /'
	failed=1
else
	echo "ok: every include points where it may"
fi
plant supervisor/main.c '#include "leash/vault/vault.h"'
plant supervisor/main.c '#include "leash/keeper/keeper.h"'
plant supervisor/mcp/session.c '#include "leash/scrub/scrub.h"'
plant leash/scrub/stream.c '#include "leash/vault/private.h"'
plant leash/main.c '#include "supervisor/launch/leash_client.h"'
plant policy/sealed/match.c '#include "leash/leash.h"'
plant policy/sealed/match.c '#include "shim/shim.h"'
plant shim/base/fd.c '#include "shim/shim.h"'
plant shim/main.c '#include "shim/host/path_open.h"'
plant shim/main.c '#include "policy/sealed/policy.h"'
plant shim/main.c ' # include "../policy/sealed/policy.h"'
plant leash/main.c '#include <sodium.h>'
plant leash/main.c '#include <jansson.h>'
plant leash/keeper/key.c '#include <jansson.h>'
plant leash/keeper/key.c '#include <fido.h>'
plant policy/sealed/match.c '#include <seccomp.h>'
plant leash/cell/cell.c '#include <netlink/netlink.h>'
plant supervisor/main.c '#include <sqlite3.h>'
plant supervisor/cli/top.c '#include <curses.h>'
plant supervisor/serve/tools/tool_name.c '#include <sqlite3.h>'
plant supervisor/registry/registry.c '#include <sqlite3.h>'
plant supervisor/registry/register_tool.c '#include <jansson.h>'
plant supervisor/main.c '#include <curl/curl.h>'
plant supervisor/cli/serve.c '#include <microhttpd.h>'
plant leash/secret/main.c '#include <microhttpd.h>'
plant supervisor/answer/here.c '#include <assuan.h>'
plant supervisor/schema/values.c '#include <pcre2.h>'
plant supervisor/main.c '#include HEADER_BY_MACRO'
rm -rf "$work"
exit $failed
