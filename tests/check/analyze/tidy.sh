#!/bin/sh
# clang-tidy over every program: the checks of .clang-tidy, as errors.
command -v clang-tidy >/dev/null || { echo "clang-tidy is missing"; exit 77; }
make -s build/gen/stamp || exit 1
git ls-files 'shim/*.c' 'leash/*.c' 'policy/*.c' 'supervisor/*.c' | while read -r f; do
	[ -e "$f" ] && echo "$f"
done | xargs -P2 -n8 sh -c 'exec clang-tidy --quiet --warnings-as-errors="*" "$@" \
	-- -D_GNU_SOURCE -I. -Ibuild/gen -std=gnu11' tidy 2>/dev/null
