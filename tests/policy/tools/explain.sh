# kennel policy explain: verdict, line, near misses, the change that flips it.
cat >"$tmp/e.kennel" <<'EOT'
server files {
	run /bin/sh -c true
	user nobody
	read /usr/share
	write /var/tmp
	hide /var/tmp/secret { optional }
	exec allow /usr/bin/env log|diff **
	exec ask /usr/bin/env push origin *
	exec deny /usr/bin/env push ** because "by hand"
	tool allow create_* push_files
	tool deny create_user because "no users"
	roots allow
}
EOT
expect 0 "explain: what is allowed" explain "$tmp/e.kennel" files exec /usr/bin/env log -p
says "allow: exec /usr/bin/env log -p"
says "by: exec allow /usr/bin/env log|diff **  # $tmp/e.kennel:7"
says "add: exec deny /usr/bin/env log -p"
expect 1 "explain: deny beats ask" explain "$tmp/e.kennel" files exec /usr/bin/env push origin x
says "deny: exec /usr/bin/env push origin x"
says "by: exec deny /usr/bin/env push ** because \"by hand\"  # $tmp/e.kennel:9"
says "narrow or remove: exec deny /usr/bin/env push ** because \"by hand\"  # $tmp/e.kennel:9"
says "narrow or remove: exec ask /usr/bin/env push origin *  # $tmp/e.kennel:8"
says "add: exec allow /usr/bin/env push origin x"
expect 1 "explain: near misses" explain "$tmp/e.kennel" files exec /usr/bin/env pull
says "by: no rule matches: denied by default"
says "argument 1 is \`pull\`; expected \`log|diff\`"
expect 1 "explain: an argument too few" explain "$tmp/e.kennel" files exec /usr/bin/env
says "argument 1 is missing; expected \`log|diff\`"
expect 0 "explain: a path" explain "$tmp/e.kennel" files read /usr/share/x
says "enforced: in the view"
expect 1 "explain: a path that may not be written" explain "$tmp/e.kennel" files write /usr/share/x
says "enforced: read-only mount, Landlock"
expect 1 "explain: a path that is hidden" explain "$tmp/e.kennel" files read /var/tmp/secret/x
says "narrow or remove: hide /var/tmp/secret  # $tmp/e.kennel:6"
lacks "add: read"
expect 1 "explain: a path that is not in the view" explain "$tmp/e.kennel" files read /srv/x
says "enforced: absent from the view"
says "add: read /srv/x"
expect 0 "explain: a tool" explain "$tmp/e.kennel" files tool create_issue '{"a": 1}'
expect 1 "explain: a tool that is denied" explain "$tmp/e.kennel" files tool create_user
says "# $tmp/e.kennel:11"
cat >"$tmp/r.kennel" <<'EOT'
server files {
	run /bin/sh -c true
	user nobody
	resource allow file:///srv/*
	resource deny file:///srv/private/*
	tool allow pay when args.sum <= 9007199254740992
	tool allow put when args.path under /srv
}
server few {
	run /bin/sh -c true
	user nobody
	method allow skills/*
	method deny logging/setLevel
}
EOT
expect 0 "explain: a resource" explain "$tmp/r.kennel" files resource file:///srv/a
expect 1 "explain: a resource that servers resolve" explain "$tmp/r.kennel" files resource file:///srv/a/../b
says "by: resource deny file:///srv/private/*"
says "only \`deny\` rules match it"
lacks "add:"
expect 0 "explain: a number" explain "$tmp/r.kennel" files tool pay '{"sum": 9007199254740992.0}'
expect 1 "explain: a number of the same double" explain "$tmp/r.kennel" files tool pay '{"sum": 9007199254740991.9999}'
expect 0 "explain: an encoded path" explain "$tmp/r.kennel" files tool put '{"path": "/srv/a%20b"}'
expect 1 "explain: an encoded way out" explain "$tmp/r.kennel" files tool put '{"path": "/srv/%2e%2e/etc"}'
expect 0 "explain: a method that is not known" explain "$tmp/r.kennel" files method vendor/x
expect 1 "explain: a method that is nearly known" explain "$tmp/r.kennel" files method Tools/Call
lacks "add:"
expect 0 "explain: a method that is allowed" explain "$tmp/r.kennel" few method skills/list
says "by: method allow skills/*"
says "enforced: tool gate: requests and notifications, both ways"
expect 1 "explain: a method beside those that are" explain "$tmp/r.kennel" few method vendor/x
says "add: method allow vendor/x"
expect 0 "explain: a method that kennel knows" explain "$tmp/r.kennel" few method tools/list
expect 1 "explain: a method that is denied" explain "$tmp/r.kennel" few method logging/setLevel
says "by: method deny logging/setLevel"
expect 0 "explain: roots" explain "$tmp/e.kennel" files roots
expect 1 "explain: sampling" explain "$tmp/e.kennel" files sampling
expect 1 "explain: a host" explain "$tmp/e.kennel" files net example.com:443
says "add: net allow example.com:443"
expect 1 "explain --json" explain --json "$tmp/e.kennel" files exec /usr/bin/env pull
is_json
says '"verdict":"deny"'
says '"missing":"other arguments"'
expect 1 "explain: foreign text is inert" explain "$tmp/e.kennel" files tool "$(printf 'a\033[31m\n\342\200\256b')"
lacks "$(printf '\033')"
expect 1 "explain --json: foreign text" explain --json "$tmp/e.kennel" files tool "$(printf 'a\377\033"\\b')"
is_json
expect 0 "compile for explain" compile "$tmp/e.kennel" -o "$tmp/e.sealed"
expect 1 "explain a sealed file" explain "$tmp/e.sealed" files exec /usr/bin/env pull
says "argument 1 is \`pull\`"
expect 69 "explain: no such server" explain "$tmp/e.kennel" nobody roots
expect 64 "explain: no question" explain "$tmp/e.kennel" files
expect 64 "explain: no such question" explain "$tmp/e.kennel" files fly /x
expect 64 "explain: a path that is none" explain "$tmp/e.kennel" files read x/../y
expect 64 "explain: a host without a port" explain "$tmp/e.kennel" files net example.com
expect 64 "explain: arguments that are no JSON" explain "$tmp/e.kennel" files tool a '{"a":'
expect 65 "explain: a policy with an error" explain "$here/fail/01-nul.kennel" a roots
expect 1 "explain: a file of the host's /etc" explain "$tmp/e.kennel" files read /etc/shadow
says "enforced: absent from the view"
expect 0 "explain: a file that every cell has" explain "$tmp/e.kennel" files read /etc/passwd
cat >"$tmp/spared.kennel" <<'EOT'
server x {
	run /bin/cat
	exec allow /usr/bin/env ** with env FOO because "all but one"
	exec ask /usr/bin/env push **
}
EOT
expect 1 "explain: a question" explain "$tmp/spared.kennel" x exec /usr/bin/env push a
says "ask: exec /usr/bin/env push a"
expect 1 "explain: a changed variable spares no question" explain --env FOO "$tmp/spared.kennel" x exec /usr/bin/env push a
says "deny: exec /usr/bin/env push a"
says "by: exec ask /usr/bin/env push **  # $tmp/spared.kennel:4"
expect 0 "explain: nor is one asked that nobody wanted" explain --env FOO "$tmp/spared.kennel" x exec /usr/bin/env pull a
says "allow: exec /usr/bin/env pull a"

# a directory that is only created on the way to a grant is nobody's line
cat >"$tmp/way.kennel" <<'EOT'
server w {
	run /bin/sh -c true
	user nobody
	read /usr/share/doc
}
EOT
expect 1 "explain: beside a granted directory" explain "$tmp/way.kennel" w read /usr/share/other
says "by: no rule matches: denied by default"
lacks "by: (base) read /usr/share"
# what every cell has is not the reason of a denial either
expect 1 "explain: writing what every cell has" explain "$tmp/way.kennel" w write /etc/hosts
says "by: no rule matches: denied by default"
says "enforced: read-only mount, Landlock"
lacks "by: (base) read /etc"
expect 0 "explain: reading what every cell has" explain "$tmp/way.kennel" w read /etc/hosts
says "by: (base) read /etc"

# limits: every line that matches, not the deciding one alone
cat >"$tmp/limits.kennel" <<'EOT'
server s {
	run /bin/sh -c true
	user nobody
	tool allow * quota 1000
	tool allow search_* rate 30/60s
	tool ask search_all when args.deep == true rate 1/2h
	tool deny search_none
}
EOT
expect 0 "explain: the lines that limit a call" explain "$tmp/limits.kennel" s tool search_x
says "limited by: tool allow * quota 1000  # $tmp/limits.kennel:4"
says "limited by: tool allow search_* rate 30/1m  # $tmp/limits.kennel:5"
lacks "limited by: tool ask"
expect 1 "explain: a line with a condition limits too" explain "$tmp/limits.kennel" s tool search_all '{"deep": true}'
says "limited by: tool allow * quota 1000"
says "limited by: tool ask search_all when args.deep == true rate 1/2h  # $tmp/limits.kennel:6"
expect 0 "explain: a condition that does not hold limits nothing" explain "$tmp/limits.kennel" s tool search_all '{"deep": false}'
lacks "limited by: tool ask"
expect 1 "explain: a denied call has no limits" explain "$tmp/limits.kennel" s tool search_none
lacks "limited by"
expect 0 "explain --json: limits" explain --json "$tmp/limits.kennel" s tool other
is_json
says '"limits":[{"file":"'"$tmp"'/limits.kennel","line":4,"text":"tool allow * quota 1000"}]'

# by-annotations: the whole table, from the definitions as they were reviewed
cat >"$tmp/a.kennel" <<'EOT'
server s {
	run /bin/sh -c true
	user nobody
	pins "a.pins"
	tool by-annotations
}
EOT
echo '{"kennel-pins":1,"server":"s"}' >"$tmp/a.pins"
while read -r exits name annotations; do
	body='{"annotations":'"$annotations"',"name":"'"$name"'"}'
	[ -n "$annotations" ] || body='{"name":"'"$name"'"}'
	echo '{"body":'"$body"',"kind":"tool","name":"'"$name"'","variant":""}' >>"$tmp/a.pins"
done <<'EOT'
1 t0-none
1 t1-empty {}
1 t2-title {"title":"x"}
1 t3-destroys {"destructiveHint":true}
1 t4-destroys-reading {"destructiveHint":true,"readOnlyHint":true}
0 t5-reads {"readOnlyHint":true}
0 t6-reads-only {"destructiveHint":false,"readOnlyHint":true}
1 t7-writes {"readOnlyHint":false}
1 t8-keeps {"destructiveHint":false}
1 t9-idempotent {"idempotentHint":true,"openWorldHint":false}
EOT
for t in t0-none t1-empty t2-title; do
	expect 1 "explain: S2-32 by-annotations: no annotations ask: $t" explain "$tmp/a.kennel" s tool $t
	says "ask: tool $t"
done
expect 1 "explain: S2-07 by-annotations: destructive asks" explain "$tmp/a.kennel" s tool t3-destroys
says "ask: tool t3-destroys"
expect 1 "explain: S2-33 by-annotations: destructive is looked at before read-only" explain "$tmp/a.kennel" s tool t4-destroys-reading
says "ask: tool t4-destroys-reading"
for t in t5-reads t6-reads-only; do
	expect 0 "explain: S2-07 S2-34 by-annotations: read-only and not destructive is allowed: $t" explain "$tmp/a.kennel" s tool $t
	says "allow: tool $t"
done
for t in t7-writes t8-keeps t9-idempotent unknown; do
	expect 1 "explain: S2-35 by-annotations: anything else asks: $t" explain "$tmp/a.kennel" s tool $t
	says "ask: tool $t"
done

# the three tiers, of programs and of tools
cat >"$tmp/tiers.kennel" <<'EOT'
server s {
	run /bin/sh -c true
	user nobody
	exec deny /usr/bin/env three
	exec ask /usr/bin/env two|three
	exec allow /usr/bin/env one|two|three
	tool deny three
	tool ask two three
	tool allow one two three "env"
}
EOT
for kind in "exec /usr/bin/env" tool; do
	# unquoted: program and argument, or the name alone
	expect 0 "explain: S3-47 S3-48 tier 1, allow: $kind" explain "$tmp/tiers.kennel" s ${kind} one
	says "allow: $kind one"
	expect 1 "explain: S3-47 S3-48 tier 2, ask, beats allow: $kind" explain "$tmp/tiers.kennel" s ${kind} two
	says "ask: $kind two"
	expect 1 "explain: S3-47 S3-48 tier 3, deny, beats both: $kind" explain "$tmp/tiers.kennel" s ${kind} three
	says "deny: $kind three"
done
expect 1 "explain: a program that no line names" explain "$tmp/tiers.kennel" s exec /usr/bin/env
expect 0 "explain: S3-46 a tool is judged by the tool lines alone, whatever program has its name" explain "$tmp/tiers.kennel" s tool env

# a bare name is one file, found when the policy is compiled
cat >"$tmp/bare.kennel" <<'EOT'
server s {
	run /bin/sh -c true
	user nobody
	exec allow true x
}
EOT
found=
for d in /usr/local/bin /usr/bin /bin; do
	[ -n "$found" ] || [ ! -x "$d/true" ] || found=$d/true
done
mkdir -p "$tmp/other"
cp "$found" "$tmp/other/true"
expect 0 "explain: S4-60 a bare name grants the file that was found" explain "$tmp/bare.kennel" s exec "$found" x
says "by: exec allow $found x"
expect 1 "explain: S4-60 a file of that name elsewhere is not granted" explain "$tmp/bare.kennel" s exec "$tmp/other/true" x
expect 0 "check: S4-60 a warning names the file" check "$tmp/bare.kennel"
holds "... $found" grep -qF "\`true\` resolves to $found" "$tmp/err"

# a program without a directory is looked up as the compiler does
printf 'server a {\n\trun /bin/true\n\tuser nobody\n\texec allow head log\n}\n' >"$tmp/bare.kennel"
expect 0 "explain: a program without a directory" explain "$tmp/bare.kennel" a exec head log
says "allow: exec head log"
expect 1 "explain: ... with another argument" explain "$tmp/bare.kennel" a exec head x
says "argument 1 is \`x\`; expected \`log\`"
expect 1 "explain: ... that is not granted" explain "$tmp/bare.kennel" a exec id log
says "by: no rule matches: denied by default"
expect 0 "query run: a program without a directory" query "$tmp/bare.kennel" run head
says "a: allow: exec allow /usr/bin/head log"
expect 0 "query run: ... and its arguments" query "$tmp/bare.kennel" run head log
expect 1 "query run: ... that is not granted" query "$tmp/bare.kennel" run id

# the files of the cell's own /etc
for file in hostname resolv.conf passwd; do
	expect 0 "explain: kennel's own /etc/$file" explain "$tmp/bare.kennel" a read /etc/$file
	says "enforced: kennel writes this file; it is not the host's (read-only mount, Landlock)"
	lacks "leads to another file"
done
expect 1 "explain: it may not be written" explain "$tmp/bare.kennel" a write /etc/hostname
expect 1 "explain: another file of the host's /etc" explain "$tmp/bare.kennel" a read /etc/fstab
says "enforced: absent from the view"
printf 'server a {\n\trun /bin/true\n\tuser nobody\n\tread /etc/group\n}\n' >"$tmp/etc.kennel"
expect 0 "explain: the host's file, if a line grants it" explain "$tmp/etc.kennel" a read /etc/group
lacks "kennel writes"

# a line with a condition is widened: a new line would remove the condition
cat >"$tmp/cond.kennel" <<'EOT'
server s {
	run /bin/sh -c true
	user nobody
	exec allow /usr/bin/env ** except push
	tool allow sum when args.a <= 10
}
EOT
expect 1 "explain: a condition that does not hold" explain "$tmp/cond.kennel" s tool sum '{"a":100}'
says "  widen: tool allow sum when args.a <= 10"
lacks "add:"
expect 1 "explain: what an except names" explain "$tmp/cond.kennel" s exec /usr/bin/env push
says "  widen: exec allow /usr/bin/env ** except push"
expect 1 "explain: a tool that no line names" explain "$tmp/cond.kennel" s tool other
says "  add: tool allow other"

# what it says to add compiles, and gives the answer that it promises
printf 'server t {\n\trun /bin/true\n}\n' >"$tmp/bare.kennel"
printf 'server t {\n\trun /bin/true\n\texec allow /bin/ls **\n\ttool allow *\n\tnet allow *.b.example:443\n\tread /usr/share\n}\n' >"$tmp/all.kennel"
advised() { # verdict that is promised, policy, words of a request
	want=$1 from=$2
	shift 2
	"$kennel" policy explain "$from" t "$@" >"$tmp/out" 2>"$tmp/err"
	line=$(sed -n 's/^ *add: //p' "$tmp/out" | head -1)
	sed '$d' "$from" >"$tmp/advised.kennel"
	printf '\t%s\n}\n' "$line" >>"$tmp/advised.kennel"
	"$kennel" policy check "$tmp/advised.kennel" >/dev/null 2>>"$tmp/err" &&
	    "$kennel" policy explain "$tmp/advised.kennel" t "$@" 2>>"$tmp/err" | grep -qw "^$want"
	result $? "explain: the line for $* ($line)"
}
for words in "net a.example:443" "net a.example:80" "net a.example:5432" "net 10.0.0.1:443" "net 8.8.8.8:53" \
    "net [::1]:443" "net [2001:db8::1]:22" "net 127.0.0.1:5432" "net localhost:443" "net localhost:5432" \
    "net xn--bcher-kva.example:443" "tool x" "tool @readonly" "tool a{b}" "tool a|b" "tool -x" \
    "resource file:///x" "resource file:///x?y=[1]" "prompt p" "exec /bin/ls a b" "exec /bin/ls --x=*.c" \
    "exec /bin/ls" "read /usr/share/doc" "write /srv" sampling elicitation roots; do
	set -f
	# shellcheck disable=SC2086 # words
	advised allow "$tmp/bare.kennel" $words
	set +f
done
for kind in tool prompt resource; do
	expect 1 "explain: a $kind whose name has an asterisk" explain "$tmp/bare.kennel" t $kind 'x:a*b'
	holds "... has no line of its own" test -z "$(grep 'add: ' "$tmp/out")"
done
advised allow "$tmp/bare.kennel" tool "a b"
advised allow "$tmp/bare.kennel" tool 'a"b'
advised allow "$tmp/bare.kennel" tool 'a$b\c'
advised allow "$tmp/bare.kennel" exec /bin/ls "" "two words" '**'
advised deny "$tmp/all.kennel" tool x
advised deny "$tmp/all.kennel" net a.b.example:443
advised deny "$tmp/all.kennel" exec /bin/ls a
advised deny "$tmp/all.kennel" read /usr/share/doc
advised deny "$tmp/all.kennel" method foo/bar
