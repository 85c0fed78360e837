# kennel policy test: expectations, coverage, mutation.
cat >"$tmp/t.kennel" <<'EOT'
server files {
	run /bin/sh -c true
	user nobody
	read /usr/share
	exec allow /usr/bin/env log|diff **
	exec deny /usr/bin/env diff x **
	tool allow create_*
	tool allow create_x
	tool ask merge when args.branch in ["main", "release"]
}
EOT
cat >"$tmp/t.tests" <<'EOT'
expect files {
	exec /usr/bin/env log -> allow
	exec /usr/bin/env diff x -> deny
	read /usr/share/x -> allow
	tool create_a -> allow
	tool merge {"branch": "main"} -> ask
}
EOT
expect 0 "test: each expectation holds" test "$tmp/t.kennel" "$tmp/t.tests"
says "1..5"
lacks "depends on this line"
expect 1 "test: a grant that no test misses" test --mutation "$tmp/t.kennel" "$tmp/t.tests"
says "ok 1 - exec /usr/bin/env log -> allow  [$tmp/t.tests:2]"
says "# server files: 5 of 6 grants decide a test"
says "# decides no test: tool allow create_x  [$tmp/t.kennel:8]"
says "not ok 10 - a test depends on this line: tool allow create_x  [$tmp/t.kennel:8]"
says "not ok"
holds "... and nothing else fails" test "$(grep -c '^not ok' "$tmp/out")" = 1
says "1..11"
sed -i '/create_x/d' "$tmp/t.kennel"
expect 0 "test: all of it" test --mutation "$tmp/t.kennel" "$tmp/t.tests"
lacks "not ok"
sed -i 's/create_a -> allow/create_a -> deny/' "$tmp/t.tests"
expect 1 "test: what is not as expected" test "$tmp/t.kennel" "$tmp/t.tests"
says "not ok 4 - tool create_a -> deny"
says "# got allow, by $tmp/t.kennel:7"
expect 1 "test --json" test --json "$tmp/t.kennel" "$tmp/t.tests"
is_json
says '"failed":1'
expect 1 "test: nothing is expected" test "$tmp/t.kennel"
says "1..0 # SKIP no expect"
expect 65 "test: an error" test "$here/fail/01-nul.kennel"
