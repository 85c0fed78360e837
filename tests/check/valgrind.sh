#!/bin/sh
# What a leash does with bytes from outside, under valgrind: its messages (the
# corpus of fuzz_wire goes through dispatch, report and the cell's plan), its
# policy, its secrets' scrub, its records; and the session of kennel.  A whole
# leash cannot: valgrind 3.19 knows no clone3, of which the cell is made; nor can
# what confines itself, because valgrind's own calls are in no list.
command -v valgrind >/dev/null || { echo "valgrind is missing"; exit 77; }
units="audit_writer server_env load malformed"
corpora="wire scrub copy_args frame"
targets=
for u in $units; do targets="$targets build/unit/$u"; done
for c in $corpora; do targets="$targets build/valgrind/$c"; done
# shellcheck disable=SC2086
make -s $targets || exit 1
say=$(mktemp) || exit 1
trap 'rm -f "$say"' EXIT
failed=0
under() {
	# a child's mistakes count where it is the one that runs
	if ! valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite \
	    --child-silent-after-fork=yes "$@" >"$say" 2>&1; then
		failed=1
		echo "$*:"
		grep -E '^==|not ok|FAILED|ERROR' "$say" | head -40
	fi
}
for u in $units; do under "build/unit/$u"; done
for c in $corpora; do under "build/valgrind/$c" "tests/fuzz/corpus/$c"; done
exit $failed
