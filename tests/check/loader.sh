#!/bin/sh
# A mistake in the loader of sealed files is fatal, so all of it can be read in one
# sitting: at most 1650 lines of code (no blank lines, no comments, no line that is
# one brace) between the bytes and the first use.  fields.c is its table, no code.
set -eu
cd "$(dirname "$0")/../.."
count() {
	sed -e 's://.*::' "$@" | awk '
	{
		line = $0
		while (1) {
			if (inside) {
				if ((i = index(line, "*/")) == 0) { line = ""; break }
				line = substr(line, i + 2); inside = 0
			}
			if ((i = index(line, "/*")) == 0) break
			rest = substr(line, i + 2); head = substr(line, 1, i - 1)
			if ((j = index(rest, "*/")) == 0) { inside = 1; line = head; break }
			line = head substr(rest, j + 2)
		}
		gsub(/[ \t]/, "", line)
		if (line != "" && line != "{" && line != "}" && line != "};") n++
	}
	END { print n }'
}
n=$(count policy/sealed/load.c policy/sealed/check_rows.c policy/sealed/check_rules.c policy/sealed/check_mounts.c policy/sealed/check_bpf.c \
    policy/sealed/simulate_bpf.c policy/sealed/signature_check.c)
if [ "$n" -gt 1650 ]; then
	echo "the loader has $n lines of code, at most 1650"
	exit 1
fi
# the count can fail
if [ "$(printf 'a;\n/* b\n c; */ d;\n{\n\n}\n' | count)" != 2 ]; then
	echo "lines are not counted"
	exit 1
fi
echo "the loader has $n lines of code"
