# kennel policy diff: exact sets, with a member of each.
cat >"$tmp/old.kennel" <<'EOT'
server files {
	run /bin/sh -c true
	user nobody
	read /usr/share
	write /var/tmp
	hide /var/tmp/secret { optional }
	exec allow /usr/bin/env log|diff **
	exec ask /usr/bin/env push origin *
	net allow api.github.com:443
	tool allow create_* merge
	tool deny delete_*
	tool ask merge when args.branch in ["main", "release"]
	limit memory 512M
}
server gone {
	run /bin/sh
	tool allow *
}
EOT
cat >"$tmp/new.kennel" <<'EOT'
server files {
	run /bin/sh -c true
	user nobody
	read /usr/share
	write /var/tmp
	exec allow /usr/bin/env log|diff|stash **
	exec deny /usr/bin/env diff x **
	exec ask /usr/bin/env push origin *
	net allow *.github.com:443
	tool allow create_* merge
	tool deny delete_* create_user
	tool ask merge when args.branch == "main"
	limit memory 256M
	roots allow
}
EOT
expect 0 "diff: a policy and itself" diff "$tmp/old.kennel" "$tmp/old.kennel"
holds "... says nothing" test ! -s "$tmp/out"
expect 1 "diff: what is wider" diff "$tmp/old.kennel" "$tmp/new.kennel"
says "+ newly allowed: exec: exec allow /usr/bin/env log|diff|stash ** [new $tmp/new.kennel:6] but not exec allow /usr/bin/env log|diff ** [old"
says "such as /usr/bin/env stash"
says "- newly denied: exec: exec allow /usr/bin/env log|diff|stash ** [new $tmp/new.kennel:6] and exec deny /usr/bin/env diff x **"
says "such as /usr/bin/env diff x"
says "+ newly allowed: net: net allow *.github.com:443 [new $tmp/new.kennel:9] but not net allow api.github.com:443"
says "hide /var/tmp/secret [old $tmp/old.kennel:6]"
says "such as /var/tmp/secret"
says "- newly denied: tool: tool deny create_user"
says "+ newly allowed, was asked: tool:"
says 'such as merge {"branch":"release"}'
says "+ newly allowed: roots"
says "- narrower: limit memory: 536870912 -> 268435456"
says "server gone (gone)"
says "- newly denied: tool: tool allow * [old $tmp/old.kennel:17]"
lacks "create_issue"
lacks "(library)"
expect 1 "diff --json" diff --json "$tmp/old.kennel" "$tmp/new.kennel"
is_json
says '"wider":true'
# the other way round is wider too; a subset is not
sed -e '/stash/s/|stash//' -e 's/\*\.github/api.github/' -e '/roots/d' \
    -e '/branch ==/s/== "main"/in ["main", "release", "x"]/' \
    -e 's/^	write.*/&\n	hide \/var\/tmp\/secret { optional }/' \
    "$tmp/new.kennel" >"$tmp/less.kennel"
expect 0 "diff: narrower only" diff "$tmp/old.kennel" "$tmp/less.kennel"
says "- newly asked, was allowed: tool:"
says 'such as merge {"branch":"x"}'
lacks "+ "
expect 0 "diff --json: narrower only" diff --json "$tmp/old.kennel" "$tmp/less.kennel"
is_json
says '"wider":false'
expect 1 "diff: a new server is wider" diff "$tmp/new.kennel" "$tmp/old.kennel"
says "server gone (new)"
expect 0 "compile for diff" compile "$tmp/old.kennel" -o "$tmp/old.sealed"
expect 0 "diff of sealed and text" diff "$tmp/old.sealed" "$tmp/old.kennel"
holds "... says nothing" test ! -s "$tmp/out"
cat >"$tmp/many.kennel" <<'EOT'
server m {
	run /bin/sh
	tool allow x when args.a == 1 and args.b == 2 and args.c == 3 and args.d == 4 and args.e == 5 and args.f == 6
}
EOT
sed 's/6$/7/' "$tmp/many.kennel" >"$tmp/more.kennel"
expect 1 "diff: what cannot be told apart in time is wider" diff "$tmp/many.kennel" "$tmp/more.kennel"
says "treated as wider"
expect 0 "diff: the same conditions need no telling" diff "$tmp/many.kennel" "$tmp/many.kennel"
expect 64 "diff: two files" diff "$tmp/old.kennel"
expect 69 "diff: no such file" diff "$tmp/old.kennel" "$tmp/no.kennel"
expect 65 "diff: a policy with an error" diff "$tmp/old.kennel" "$here/fail/01-nul.kennel"
# names of variables, and their beginnings
for with in "CI GITHEAD_ab" "GITHEAD_*" "GITHEAD_* GITHEAD_X GITHEAD_more_*"; do
	printf 'server a {\n\trun /bin/sh -c true\n\texec allow /usr/bin/env x with env %s\n}\n' "$with" \
	    >"$tmp/env-$(echo "$with" | wc -w).kennel"
done
expect 1 "diff: a beginning for a name" diff "$tmp/env-2.kennel" "$tmp/env-1.kennel"
says "+ newly allowed: exec: exec allow /usr/bin/env x with env GITHEAD_* ["
says "with env GITHEAD_X"
says "- newly denied: exec:"
says "with env CI"
expect 0 "diff: what a beginning has already" diff "$tmp/env-1.kennel" "$tmp/env-3.kennel"
lacks "+ "
expect 0 "diff: the same the other way round" diff "$tmp/env-3.kennel" "$tmp/env-1.kennel"
lacks "+ "
lacks "- "

# methods and resources: what has no line passes, or does not.
cat >"$tmp/m0.kennel" <<'EOT'
server a {
	run /bin/sh -c true
	user nobody
	resource allow file:*
	tool allow pay when args.sum <= 100
}
EOT
sed 's/resource allow.*/resource allow *\n\tmethod deny logging\/setLevel/' "$tmp/m0.kennel" >"$tmp/m1.kennel"
sed 's/resource allow.*/resource allow file:*\n\tresource deny file:\/\/\/a%40b\n\tmethod allow skills\/*/' "$tmp/m0.kennel" >"$tmp/m2.kennel"
expect 0 "diff: no methods" diff "$tmp/m0.kennel" "$tmp/m0.kennel"
expect 1 "diff: a method that is denied" diff "$tmp/m0.kennel" "$tmp/m1.kennel"
says "logging/setLevel"
says "method"
says "resource"
expect 0 "diff: methods that are listed" diff "$tmp/m0.kennel" "$tmp/m2.kennel"
says "method"
says "file:///a"

# pins, and a secret in the vault: they restrict
cat >"$tmp/free.kennel" <<'EOT'
server s {
	run /bin/sh -c true
	user nobody
	secret TOKEN from env TOKEN { hosts example.com }
	tool allow *
}
EOT
sed 's/from env TOKEN/from vault a\/b\/token/' "$tmp/free.kennel" >"$tmp/vault.kennel"
expect 0 "diff: a secret moves to the vault" diff "$tmp/free.kennel" "$tmp/vault.kennel"
says "- narrower: secret TOKEN"
expect 1 "diff: a secret leaves the vault" diff "$tmp/vault.kennel" "$tmp/free.kennel"
says "+ wider: secret TOKEN"
sed 's/example.com/example.org/' "$tmp/vault.kennel" >"$tmp/other.kennel"
expect 1 "diff: to the vault, and to another host" diff "$tmp/free.kennel" "$tmp/other.kennel"
says "+ wider: secret TOKEN"
cat >"$tmp/s.pins" <<'EOT'
{"kennel-pins":1,"server":"s"}
{"body":{"name":"look"},"kind":"tool","name":"look","variant":""}
{"body":{"name":"other"},"kind":"tool","name":"other","variant":""}
EOT
sed 's/^}/\tpins "s.pins"\n}/' "$tmp/vault.kennel" >"$tmp/pinned.kennel"
expect 0 "diff: pins are added" diff "$tmp/vault.kennel" "$tmp/pinned.kennel"
says "- narrower: pin definitions: none -> 2"
holds "in one line" test "$(grep -c pin "$tmp/out")" = 1
expect 1 "diff: pins are dropped" diff "$tmp/pinned.kennel" "$tmp/vault.kennel"
says "+ wider: pin definitions: 2 -> none"

# limits of calls: a limit that no limit of the other side keeps
limited() { # FILE LINES: a policy with these lines
	printf 'server s {\n\trun /bin/sh -c true\n\tuser nobody\n%b\n}\n' "$2" >"$tmp/$1.kennel"
}
while IFS='|' read -r exits lim_old lim_new line; do
	limited lim-old "$lim_old"
	limited lim-new "$lim_new"
	expect "$exits" "diff: limits: $(printf '%s' "$lim_old -> $lim_new" | sed 's/.n.t/; /g')" diff "$tmp/lim-old.kennel" "$tmp/lim-new.kennel"
	if [ -n "$line" ]; then
		says "$line"
	else
		holds "... says nothing" test ! -s "$tmp/out"
	fi
done <<'EOT'
0|tool allow a rate 30/1m|tool allow a rate 30/60s|
0|tool allow a|tool allow a rate 30/1m|- narrower: limit tool allow a: none -> rate 30/1m
1|tool allow a rate 30/1m|tool allow a|+ wider: limit tool allow a: rate 30/1m -> none
0|tool allow a rate 30/1m|tool allow a rate 10/1m|- narrower: limit tool allow a: rate 30/1m -> rate 10/1m
1|tool allow a rate 10/1m|tool allow a rate 30/1m|+ wider: limit tool allow a: rate 10/1m -> rate 30/1m
0|tool allow a rate 30/1m|tool allow a rate 30/1h|- narrower: limit tool allow a: rate 30/1m -> rate 30/1h
1|tool allow a rate 30/1h|tool allow a rate 30/1m|+ wider: limit tool allow a: rate 30/1h -> rate 30/1m
0|tool allow a rate 90/90s|tool allow a rate 45/1m|- narrower: limit tool allow a: rate 90/90s -> rate 45/1m
1|tool allow a rate 89/90s|tool allow a rate 45/1m|+ wider: limit tool allow a: rate 89/90s -> rate 45/1m
0|tool allow a|tool allow a quota 5|- narrower: limit tool allow a: none -> quota 5
1|tool allow a quota 5|tool allow a quota 6|+ wider: limit tool allow a: quota 5 -> quota 6
0|tool allow a quota 6|tool allow a quota 5|- narrower: limit tool allow a: quota 6 -> quota 5
0|tool allow a rate 5/1m|tool allow a quota 5|- narrower: limit tool allow a: none -> quota 5
1|tool allow a quota 5|tool allow a rate 5/1m|+ wider: limit tool allow a: quota 5 -> none
1|tool allow a b quota 5|tool allow a b quota 5\n\ttool allow * quota 5\n\ttool deny c*|limit tool allow *: none -> quota 5
0|tool allow a* quota 5|tool allow a1 a2 a* quota 5|
1|tool allow *\n\ttool allow a* quota 5|tool allow *\n\ttool allow a1* a2* quota 5|+ wider: limit tool allow a*: quota 5 -> none
0|tool allow a quota 5|tool deny a|- newly denied: tool: tool deny a
0|tool ask a quota 5|tool allow b quota 5\n\ttool deny b\n\ttool ask a quota 5|
1|tool allow a when args.n > 3 quota 5\n\ttool allow *|tool allow *\n\ttool allow a when args.n > 4 quota 5|+ wider: limit tool allow a when args.n > 3: quota 5 -> none
0|tool allow *\n\ttool allow a when args.n > 4 quota 5|tool allow *\n\ttool allow a when args.n > 3 quota 5|- narrower: limit tool allow a when args.n > 3: none -> quota 5
0|tool allow a|oneshot\n\ttool allow a|- narrower: oneshot calls: none -> a process each
1|oneshot\n\ttool allow a|tool allow a|+ wider: oneshot calls: a process each -> none
EOT

# a text on standard input has no directory for what it includes
mkdir "$tmp/repo"
printf 'let d = "/srv/aa"\n' >"$tmp/repo/base.kennel"
printf 'include "base.kennel"\nserver x {\n\trun /bin/true\n\tenv D = $d\n}\n' >"$tmp/repo/team.kennel"
printf 'server x {\n\trun /bin/true\n\tenv D = "/srv/aa"\n}\n' >"$tmp/repo/plain.kennel"
piped() { # status name text argument...
	want=$1 name=$2 text=$3
	shift 3
	"$kennel" policy diff "$@" <"$text" >"$tmp/out" 2>"$tmp/err"
	got=$?
	[ "$got" -eq "$want" ] || echo "# exit status $got, not $want"
	[ "$got" -eq "$want" ]
	result $? "$name"
}
cd "$tmp/repo" || exit 1
piped 0 "diff: a text on standard input" plain.kennel - plain.kennel
piped 65 "diff: one that includes another file" team.kennel - team.kennel
holds "... is refused, with the way to go" grep -q "kennel policy diff --git REV FILE" "$tmp/err"
piped 65 "diff: the same on the new side" team.kennel plain.kennel -
if command -v git >/dev/null; then
	(
		unset GIT_DIR GIT_WORK_TREE
		HOME=$tmp git init -q . && git add . &&
		    git -c user.name=a -c user.email=a@b.example -c commit.gpgsign=false commit -qm one
	) >/dev/null 2>&1
	expect 0 "diff --git: no change" diff --git HEAD team.kennel
	sed -i s/aa/bb/ base.kennel
	expect 1 "diff --git: a change in an included file" diff --git HEAD team.kennel
	says 'env D: "/srv/aa" -> "/srv/bb"'
	sed -i s/bb/cc/ base.kennel
	mv base.kennel renamed.kennel
	sed -i s/base/renamed/ team.kennel
	cd / || exit 1
	expect 1 "diff --git: by its full path, of a file with another name" diff --git HEAD "$tmp/repo/team.kennel"
	says 'env D: "/srv/aa" -> "/srv/cc"'
	expect 65 "diff --git: no such revision" diff --git nosuch "$tmp/repo/team.kennel"
	holds "... is named" grep -q "at the revision nosuch" "$tmp/err"
	expect 65 "diff --git: no such file there" diff --git HEAD "$tmp/repo/renamed.kennel"
	cd "$tmp/repo" || exit 1
	printf 'include "/etc/kennel-none.kennel"\n' >>team.kennel
	git add . && git -c user.name=a -c user.email=a@b.example -c commit.gpgsign=false commit -qm two >/dev/null
	expect 65 "diff --git: an include outside of its directory" diff --git HEAD team.kennel
else
	echo "skip - policy diff --git: no git"
fi
expect 64 "diff --git: an option as a revision" diff --git --output=x team.kennel
expect 64 "diff --git: two files" diff --git HEAD team.kennel plain.kennel
expect 64 "diff --git: standard input" diff --git HEAD -
cd "$here" || exit 1
