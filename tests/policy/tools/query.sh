# kennel policy query: who can.
cat >"$tmp/q.kennel" <<'EOT'
server a {
	run /bin/sh -c true
	user nobody
	read /usr/share
	write /var/tmp/x { optional }
	secret TOKEN from env TOKEN { hosts api.github.com }
	secret OTHER from env OTHER_ONE { hosts any }
	net allow api.github.com:443
	exec allow /usr/bin/env log|diff **
	exec deny /usr/bin/env diff x **
}
server b {
	run /usr/bin/env
	user nobody
	read /var/tmp { optional }
	net allow *.example.com:443
}
server c {
	run /bin/sh
	secret TOKEN from env TOKEN
}
EOT
expect 0 "query reach" query "$tmp/q.kennel" reach api.github.com:443
says "a: allow: net allow api.github.com:443  # $tmp/q.kennel:8"
lacks "b: "
expect 1 "query reach: nobody" query "$tmp/q.kennel" reach example.com:443
expect 0 "query run" query "$tmp/q.kennel" run /usr/bin/env
says "a: allow: exec allow /usr/bin/env log|diff ** [$tmp/q.kennel:9] but not exec deny /usr/bin/env diff x **"
says "b: allow: run /usr/bin/env"
expect 0 "query run with arguments" query "$tmp/q.kennel" run /usr/bin/env log x
lacks "b: "
expect 1 "query run with arguments: nobody" query "$tmp/q.kennel" run /usr/bin/env diff x
expect 0 "query read" query "$tmp/q.kennel" read /usr/share/doc
says "a: allow: read /usr/share  # $tmp/q.kennel:4"
lacks "b: "
expect 0 "query read: below" query "$tmp/q.kennel" read /var
says "b: below: read /var/tmp"
expect 0 "query write" query "$tmp/q.kennel" write /var/tmp/x/y
says "a: allow: write /var/tmp/x"
expect 1 "query write: nobody" query "$tmp/q.kennel" write /usr/share/doc
expect 0 "query hold, by variable" query "$tmp/q.kennel" hold TOKEN
says "a: holds TOKEN"
says "c: holds TOKEN"
expect 0 "query hold, by source" query "$tmp/q.kennel" hold OTHER_ONE
says "a: holds OTHER"
expect 1 "query hold: nobody" query "$tmp/q.kennel" hold NOTHING
expect 0 "query leak" query "$tmp/q.kennel" leak
says "a: holds OTHER and reaches api.github.com:443"
says "a: holds TOKEN and writes what b reads, which reaches hosts: write /var/tmp/x"
lacks "a: holds TOKEN and reaches"
lacks "c: "
expect 1 "query leak: no way out" query "$tmp/q.kennel" leak NOTHING
expect 0 "query --json" query --json "$tmp/q.kennel" leak
is_json
expect 1 "query --json: nobody" query --json "$tmp/q.kennel" hold NOTHING
is_json
expect 64 "query: no such question" query "$tmp/q.kennel" fly
expect 64 "query: no host" query "$tmp/q.kennel" reach nowhere
mkdir -p "$tmp/qdir"
printf 'server one {\n\trun /bin/sh\n\tsecret TOKEN from env TOKEN\n}\n' >"$tmp/qdir/1.kennel"
printf 'server two {\n\trun /bin/sh\n}\n' >"$tmp/qdir/2.kennel"
printf 'server three {\n\trun /bin/sh\n\tsecret TOKEN from env TOKEN\n}\n' >"$tmp/qdir/3.kennel"
echo 'not a policy' >"$tmp/qdir/readme.txt"
expect 0 "query of a directory" query "$tmp/qdir" hold
holds "... names the servers of each file" test "$(cut -d: -f1 "$tmp/out" | tr '\n' ' ')" = "one three "
holds "... and no other file" test ! -s "$tmp/err"
expect 1 "query of a directory: none" query "$tmp/qdir" hold NOTHING
echo 'server four {' >"$tmp/qdir/0.kennel"
expect 65 "query of a directory: a file with errors" query "$tmp/qdir" hold
holds "... is named" grep -q 'qdir/0.kennel:1' "$tmp/err"
holds "... and the others are answered" test "$(cut -d: -f1 "$tmp/out" | tr '\n' ' ')" = "one three "
holds "... after which the number of those left out is named" grep -q 'unable to use 1 of the 4 policies' "$tmp/err"
printf 'damaged' >"$tmp/qdir/9.sealed"
expect 65 "query of a directory: a damaged sealed file" query "$tmp/qdir" leak
holds "... is named, too" grep -q 'unable to use 2 of the 5 policies' "$tmp/err"
rm "$tmp/qdir/0.kennel"
expect 64 "query of a directory: a wrong question" query "$tmp/qdir" leek
holds "... has one answer" test "$(grep -c '^usage' "$tmp/err")" -eq 1
expect 64 "query of a directory: a wrong path" query "$tmp/qdir" read x
holds "... has one answer, too" test "$(grep -c '^usage' "$tmp/err")" -eq 1
rm "$tmp"/qdir/*.kennel "$tmp"/qdir/*.sealed
expect 69 "query of a directory without a policy" query "$tmp/qdir" hold
