#!/bin/sh
# The directories of the product: how large one may be, which may include which.
#
#	rooms.sh [--edges]	--edges prints what rooms.edges should hold
#
# rooms.edges has a line for each directory: its name, then the directories whose
# headers it may include.  A protocol header belongs to the program that answers; the
# one that asks may include it without an edge.
set -eu
cd "$(dirname "$0")/../.."
table=tests/check/rooms.edges
work=build/check/rooms
failed=0
most=30
protocols='^(shim/shim|leash/leash|leash/refresh_request|leash/audit/writer|leash/egress/(egress|dial)|leash/keeper/keeper|supervisor/approve/approve|supervisor/audit/recorder/startup)\.h$'

# ROOT: "directory directory" for each pair of which the first includes the second.
edges() {
	(cd "$1" && find leash policy shim supervisor -name '*.[ch]' |
	    xargs grep -E '^#include "[^"]*/' /dev/null) |
	    sed -E 's/^([^:]*)\/[^\/:]*:#include "([^"]*)".*/\1 \2/' |
	    awk -v protocols="$protocols" '$2 !~ protocols {
		sub(/\/[^\/]*$/, "", $2)
		if ($1 != $2) print $1, $2
	    }' | sort -u
}
# ROOT: edges that the table does not have.
unlisted() {
	edges "$1" >"$work/has"
	awk '{ for (i = 2; i <= NF; i++) print $1, $i }' "$table" | sort -u >"$work/may"
	comm -23 "$work/has" "$work/may"
}
# ROOT: directories that include each other in a circle.
circles() {
	edges "$1" | tsort 2>&1 >"$work/order" | sed -n 's/^tsort: \([^ -].*\)/\1/p'
}
# ROOT: directories with too many sources.
crowded() {
	(cd "$1" && find leash policy shim supervisor -name '*.[ch]') |
	    sed 's/\/[^\/]*$//' | sort | uniq -c | awk -v most=$most '$1 > most { print $2 }'
}
ask() { # WHAT FOUND
	if [ -z "$2" ]; then
		echo "ok: $1"
	else
		echo "not ok: $1: $(echo $2)"
		failed=1
	fi
}
caught() { # WHAT FOUND
	if [ -n "$2" ]; then
		echo "ok: $1 is caught"
	else
		echo "not ok: $1 is not caught"
		failed=1
	fi
}

if [ "${1:-}" = --edges ]; then
	edges . | awk '{ to[$1] = to[$1] " " $2 } END { for (d in to) print d to[d] }' | sort
	exit 0
fi
rm -rf "$work"
mkdir -p "$work/planted"
ask "each directory includes only what rooms.edges allows" "$(unlisted .)"
ask "no directories include each other in a circle" "$(circles .)"
ask "no directory has more than $most sources" "$(crowded .)"

cp -r leash policy shim supervisor "$work/planted"
echo '#include "supervisor/cli/cli.h"' >>"$work/planted/supervisor/json/json.h"
caught "an include that the table does not allow" "$(unlisted "$work/planted")"
echo '#include "supervisor/mcp/mcp.h"' >>"$work/planted/supervisor/hub/hub.h"
caught "a circle of directories" "$(circles "$work/planted")"
i=0
while [ $i -lt $most ]; do
	: >"$work/planted/shim/planted$i.c"
	i=$((i + 1))
done
caught "a crowded directory" "$(crowded "$work/planted")"
rm -rf "$work"
exit $failed
