#!/bin/sh
# The man pages are well-formed.
command -v mandoc >/dev/null || { echo "mandoc is missing"; exit 77; }
set -- docs/man/*.[1-8]
[ -e "$1" ] || { echo "there are no man pages"; exit 1; }
# "kennel exec" is a page of its own and may name kennel(1).
out=$(mandoc -Tlint -Wwarning "$@" | grep -v "cross reference to self: Xr kennel 1")
[ -z "$out" ] || { echo "$out"; exit 1; }
# The files of agents, and the clients of `kennel import`, are those of the table.
python3 tests/lib/clients.py --check || exit 1
# Every page says how long a call and its approval wait: CALL_WAIT_MS, CALL_OPEN_MS.
for f in docs/man/kennel.1 docs/man/kennel-policy.5 docs/MCP.md docs/PROTOCOL.approve; do
	for name in CALL_WAIT_MS CALL_OPEN_MS; do
		ms=$(sed -n "s/^#define $name *\([0-9]*\).*/\1/p" supervisor/approve/approve.h)
		tr '\n' ' ' <"$f" | grep -qE "$((ms / 1000)) +s(econds)?[^a-z]" ||
			{ echo "$f does not have $name: $((ms / 1000)) s"; exit 1; }
	done
done
