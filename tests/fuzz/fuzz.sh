#!/bin/sh
# fuzz.sh NAME...: lets each fuzzer run for FUZZ_SECONDS on a working copy of its
# corpus.  What it finds stays in build/fuzz/found; mend it, then keep the input
# in the corpus, which `make test` replays.
cd "$(dirname "$0")/../.." || exit 1
seconds=${FUZZ_SECONDS:-600}
found=build/fuzz/found
bad=0
mkdir -p "$found"
for name; do
	work=build/fuzz/work/$name
	said=build/fuzz/$name.log
	rm -rf "$work"
	mkdir -p "$work" "tests/fuzz/corpus/$name"
	set --
	[ -e "tests/fuzz/$name.dict" ] && set -- -dict="tests/fuzz/$name.dict"
	build/fuzz/"$name" "$@" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 \
	    -max_len=4096 -print_final_stats=1 -artifact_prefix="$found/$name-" \
	    "$work" "tests/fuzz/corpus/$name" >"$said" 2>&1
	status=$?
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$said")
	if [ $status -eq 0 ] && [ -n "$runs" ]; then
		echo "ok $name runs $runs"
		continue
	fi
	bad=1
	input=$(sed -n 's/.*Test unit written to //p' "$said" | tail -n 1)
	echo "not ok $name ${input:-without an input}, see $said"
	grep -m 3 -E 'ERROR|runtime error|SUMMARY' "$said" | sed 's/^/#   /'
done
exit $bad
