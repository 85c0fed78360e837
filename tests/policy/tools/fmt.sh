# kennel policy fmt: canonical, idempotent, and never another text.
text=$here/../../build/tests/policy_text
bad=
for f in "$here"/*.kennel "$here"/../../policy/presets/*.kennel; do
	"$kennel" policy fmt "$f" >"$tmp/once" 2>>"$tmp/err" &&
	    (cd "$here" && "$kennel" policy fmt - <"$tmp/once" >"$tmp/twice" 2>>"$tmp/err") &&
	    cmp -s "$tmp/once" "$tmp/twice" || bad="$bad $f"
	# the same tree, and every comment
	"$text" "$f" >"$tmp/was" 2>/dev/null
	(cd "$here" && "$text" - x <"$tmp/once" >"$tmp/is" 2>/dev/null) # has includes
	cmp -s "$tmp/was" "$tmp/is" || bad="$bad $f"
	[ "$(grep -c '#' "$f")" -eq "$(grep -c '#' "$tmp/once")" ] || bad="$bad $f"
done
echo "$bad" >"$tmp/out"
holds "fmt: all golden files and presets, twice is once, same tree" test -z "$bad"
bad=
for f in "$here"/fail/*.kennel; do
	"$kennel" policy fmt "$f" >"$tmp/out" 2>"$tmp/err"
	case $? in
	0) ;;
	65) [ ! -s "$tmp/out" ] && grep -q ': error: ' "$tmp/err" || bad="$bad $f" ;;
	*) bad="$bad $f" ;;
	esac
done
echo "$bad" >"$tmp/out"
holds "fmt: what does not parse has no form and is told" test -z "$bad"

cat >"$tmp/a.kennel" <<'EOT'
# first


let   x=/srv
EOT
expect 65 "fmt: a text with an error" fmt "$tmp/a.kennel"
cat >"$tmp/a.kennel" <<'EOT'
# first


let   x   =  /srv
server a { run /bin/sh \
  -c   "a # b"     # why
  read $x { # inside
    optional
  }



  # last
}
EOT
cat >"$tmp/a.want" <<'EOT'
# first

let x = /srv

server a {
	run /bin/sh -c "a # b"  # why
	# inside
	read $x { optional }

	# last
}
EOT
cp "$tmp/a.kennel" "$tmp/a.was"
expect 0 "fmt prints the canonical form" fmt "$tmp/a.kennel"
holds "... every byte of it" cmp -s "$tmp/out" "$tmp/a.want"
expect 1 "fmt --check: differs" fmt --check "$tmp/a.kennel"
says "$tmp/a.kennel"
holds "... and changes nothing" cmp -s "$tmp/a.kennel" "$tmp/a.was"
chmod 640 "$tmp/a.kennel"
ln -s a.kennel "$tmp/link.kennel"
expect 65 "fmt -w of a link that others than root can change" fmt -w "$tmp/link.kennel"
complains "is not followed"
complains "write $(realpath "$tmp")/a.kennel"
holds "... leaves the link" test -L "$tmp/link.kennel"
expect 0 "fmt -w" fmt -w "$tmp/a.kennel"
holds "... in the place of the file" cmp -s "$tmp/a.kennel" "$tmp/a.want"
holds "... with its mode" test "$(stat -c %a "$tmp/a.kennel")" = 640
expect 0 "fmt --check: is" fmt --check "$tmp/a.kennel"
expect 64 "fmt: several files need a place" fmt "$tmp/a.kennel" "$tmp/a.kennel"
expect 64 "fmt: --check writes nothing" fmt --check -w "$tmp/a.kennel"
expect 64 "fmt -w of standard input" fmt -w -
printf '' >"$tmp/empty.kennel"
expect 0 "fmt of nothing" fmt --check "$tmp/empty.kennel"
if [ "$(id -u)" -ne 0 ]; then
	mkdir "$tmp/closed"
	printf 'server  a {\nrun /bin/sh\n}\n' >"$tmp/closed/b.kennel"
	cp "$tmp/closed/b.kennel" "$tmp/b.was"
	chmod 500 "$tmp/closed"
	expect 78 "fmt -w in a folder that is closed" fmt -w "$tmp/closed/b.kennel"
	holds "... leaves the file" cmp -s "$tmp/closed/b.kennel" "$tmp/b.was"
	chmod 700 "$tmp/closed"
else
	echo "skip - policy tools fmt -w in a folder that is closed: root writes anywhere"
fi
