# kennel policy score: items, a sum, a threshold.
cat >"$tmp/s.kennel" <<'EOT'
server s {
	run /bin/sh -c true
	user nobody
	read /usr/share
	write /var/tmp
	secret TOKEN from env TOKEN
	net allow *.example.com:443 to private
	exec allow /usr/bin/env **
	tool allow *
	limit memory 512M cpu 100%
}
server t {
	run /bin/sh -c true
	limit memory 512M cpu 100%
}
EOT
expect 0 "score" score "$tmp/s.kennel"
# read 1, write 3, secret 3 1 5, net 2 5 5, exec 1 8, tool 4 2
says "server s: 40"
says "8 exec-code       exec allow /usr/bin/env **  # $tmp/s.kennel:8"
says "5 secret-anywhere"
says "server t: 0"
says "0 is not"
expect 0 "score of one server" score "$tmp/s.kennel" t
lacks "server s"
expect 1 "score --threshold: above" score "$tmp/s.kennel" --threshold 39
expect 0 "score --threshold: not above" score "$tmp/s.kennel" --threshold 40
expect 0 "score --json" score "$tmp/s.kennel" --json
is_json
says '"score":40'
says '"rule":"exec-code","points":8'
expect 64 "score: no number" score "$tmp/s.kennel" --threshold many
expect 69 "score: no such server" score "$tmp/s.kennel" nobody
