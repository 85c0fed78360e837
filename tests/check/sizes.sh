#!/bin/sh
# A function fits one screen (60 lines), a file is one noun (600): docs/STYLE.md.
# What is longer stands in sizes.known with its length, and may only shrink.
git ls-files '*.c' '*.h' | while read -r f; do
	[ -e "$f" ] && echo "$f"
done | xargs awk -v known=tests/check/sizes.known '
BEGIN {
	while ((getline line < known) > 0)
		if (split(line, part, " ") == 3)
			allowed[part[1] " " part[2]] = part[3]
}
function too_long(file, what, n, most) {
	if (n <= most)
		return
	if ((file " " what) in allowed && n <= allowed[file " " what])
		return
	printf "%s: %s is %d lines, at most %d\n", file, what, n, most
	bad = 1
}
FNR == 1 && NR > 1 { too_long(last, "-", lines, 600) }
{ last = FILENAME; lines = FNR }
/^[a-z_][A-Za-z0-9_]*\(/ { name = $0; sub(/\(.*/, "", name) }
/^\{/ { begin = FNR }
/^\}$/ && begin { too_long(FILENAME, name, FNR - begin - 1, 60); begin = 0 }
END { too_long(last, "-", lines, 600); exit bad }
'
