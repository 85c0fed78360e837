# kennel policy doc: review pages, inert.
cat >"$tmp/d.kennel" <<'EOT'
server one {
	about "<script>alert(1)</script> & \u202e more"
	run /bin/sh -c true
	user nobody
	read /usr/share
	write /var/tmp
	hide /var/tmp/secret { optional }
	exec ask /usr/bin/env log ** because "</code><img src=x>"
	net allow api.github.com:443
	secret TOKEN from env TOKEN { hosts api.github.com }
	tool allow create_* merge
	tool ask merge when args.branch == "main"
	env A = "<b>"
	limit memory 512M
}
server two {
	run /bin/sh
}
EOT
expect 0 "doc: text" doc "$tmp/d.kennel"
says "exec ask /usr/bin/env log **"
says "hide /var/tmp/secret  # $tmp/d.kennel:7"
says "tool ask merge when args.branch == \"main\""
says "Everything else is absent."
says "two"
lacks "$(printf '\342\200\256')"
expect 0 "doc of one server" doc "$tmp/d.kennel" two
lacks "create_"
expect 0 "doc --html" doc --html "$tmp/d.kennel"
lacks "<script"
lacks "<img"
lacks "<b>"
lacks "http:"
says "&lt;script&gt;"
says "id=\"server-one-write\""
says "default-src 'none'"
holds "... is well-formed" python3 - "$tmp/out" <<'EOT'
import html.parser, sys
void = {"meta", "br", "img", "link"}
class P(html.parser.HTMLParser):
    stack = []
    def handle_starttag(self, tag, attrs):
        if tag not in void:
            self.stack.append(tag)
    def handle_endtag(self, tag):
        assert self.stack.pop() == tag, tag
p = P()
p.feed(open(sys.argv[1], encoding="utf-8").read())
assert p.stack == [], p.stack
EOT
cp "$tmp/out" "$tmp/before"
expect 0 "doc --html again" doc --html "$tmp/d.kennel"
holds "... is the same" cmp -s "$tmp/out" "$tmp/before"
mkdir "$tmp/pages"
expect 0 "doc: one page each" doc --html "$tmp/d.kennel" -o "$tmp/pages"
holds "... named after the servers" test "$(cd "$tmp/pages" && echo *)" = "one.html two.html"
expect 0 "doc -o" doc "$tmp/d.kennel" -o "$tmp/page.txt"
expect 78 "doc -o: no such folder" doc "$tmp/d.kennel" -o "$tmp/no/page.txt"
expect 69 "doc: no such server" doc "$tmp/d.kennel" three
