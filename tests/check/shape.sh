#!/bin/sh
# A function fits one screen (60 lines), a file is one noun (600 lines; 1000 in a
# test), and nothing is nested more than 4 deep: docs/STYLE.md.
git ls-files '*.c' '*.h' | while read -r f; do
	[ ! -e "$f" ] || echo "$f"
done | xargs awk '
function too_much(file, line, what, n, most) {
	if (n <= most)
		return
	printf "%s:%d: %s %d, at most %d\n", file, line, what, n, most
	bad = 1
}
function lines_max(file) { return file ~ /^tests\// ? 1000 : 600 }
FNR == 1 && NR > 1 { too_much(last, lines, "lines:", lines, lines_max(last)) }
FNR == 1 { begin = 0 }
{ last = FILENAME; lines = FNR }
# KNF: the name of a function in column 0, and its braces
/^[a-z_][A-Za-z0-9_]*\(/ { name = $0; sub(/\(.*/, "", name) }
/^\{/ { begin = FNR; deep = 0; deepest = FNR }
begin && match($0, /^\t+/) && RLENGTH - 1 > deep { deep = RLENGTH - 1; deepest = FNR }
/^\}$/ && begin {
	too_much(FILENAME, begin, "lines of " name ":", FNR - begin + 1, 60)
	if (FILENAME !~ /^tests\//)
		too_much(FILENAME, deepest, "nesting in " name ":", deep, 4)
	begin = 0
}
END {
	too_much(last, lines, "lines:", lines, lines_max(last))
	exit bad
}'
