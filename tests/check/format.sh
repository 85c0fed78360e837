#!/bin/sh
# Every .c and .h reads as .clang-format says.
command -v clang-format >/dev/null || { echo "clang-format is missing"; exit 77; }
git ls-files '*.c' '*.h' | while read -r f; do
	[ -e "$f" ] && echo "$f"
done | xargs clang-format --dry-run -Werror
