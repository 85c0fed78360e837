#!/bin/sh
# fuzz.sh NAME...: run each fuzzer for FUZZ_SECONDS on a working copy of its corpus,
# FUZZ_JOBS of them at a time (default: two).  A target that FUZZ_LONG names runs
# for twice as long.  A finding's input stays in build/fuzz/found; fix the bug, then keep
# the input in the corpus, which `make test` replays.
cd "$(dirname "$0")/../.." || exit 1
seconds=${FUZZ_SECONDS:-600}
found=build/fuzz/found
mkdir -p "$found"

one() { # one NAME: a line for the target; 1 if it found something
	name=$1
	work=build/fuzz/work/$name
	log=build/fuzz/$name.log
	case " ${FUZZ_LONG:-} " in *" $name "*) seconds=$((seconds * 2)) ;; esac
	rm -rf "$work"
	mkdir -p "$work" "tests/fuzz/corpus/$name"
	set --
	[ -e "tests/fuzz/$name.dict" ] && set -- -dict="tests/fuzz/$name.dict"
	build/fuzz/"$name" "$@" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 \
	    -max_len=4096 -print_final_stats=1 -artifact_prefix="$found/$name-" \
	    "$work" "tests/fuzz/corpus/$name" >"$log" 2>&1
	status=$?
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
	if [ $status -eq 0 ] && [ -n "$runs" ]; then
		echo "ok $name runs $runs seconds $seconds"
		return 0
	fi
	input=$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)
	echo "not ok $name ${input:-without an input}, see $log"
	grep -m 3 -E 'ERROR|runtime error|SUMMARY' "$log" | sed 's/^/#   /'
	return 1
}

if [ "${1:-}" = -1 ]; then
	one "$2"
	exit
fi
# xargs exits with 123 if one of them fails
printf '%s\n' "$@" | xargs -n 1 -P "${FUZZ_JOBS:-2}" sh tests/fuzz/fuzz.sh -1
