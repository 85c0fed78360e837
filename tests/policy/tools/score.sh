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

# every rule that the policy above does not meet
cat >"$tmp/all.kennel" <<'EOT'
server all {
	run /usr/bin/env **
	user nobody
	read /root
	net allow db.example.com:5432 plain
	sampling allow
	elicitation allow
	roots allow
	env LANG
	syscalls allow sched_setaffinity
	exec allow /bin/true owner bob ticket T-1 until 2099-12-31
}
EOT
expect 0 "score: the other rules" score "$tmp/all.kennel"
for rule in read-home exec-code net-plain sampling elicitation roots env-passed \
    no-memory-limit no-cpu-limit syscall exception; do
	says " $rule "
done
says "owner bob ticket T-1 until 2099-12-31"
sed 's/env \*\*/true **/; s/read/write/' "$tmp/all.kennel" >"$tmp/all2.kennel"
expect 0 "score: a home to write, any arguments" score "$tmp/all2.kennel"
says " write-home "
says " run-any "
