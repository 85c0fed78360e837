# kennel policy show: every grant, and what enforces it.
cat >"$tmp/w.kennel" <<'EOT'
server w {
	run /bin/sh -c true
	user nobody
	read /usr/share
	write /var/tmp
	hide /var/tmp/secret { optional }
	exec allow /usr/bin/env log ** in /var/tmp with env FOO TESTS_* because "it is" instead "ask" owner bob ticket T-1 until 2099-12-31
	exec deny /usr/bin/env log x
	net allow *.example.com:443 to private
	secret TOKEN from env TOKEN { hosts *.example.com }
	tool allow create_* except create_user
	tool ask merge when args.branch in ["main", "release"] and not args.n < 3
	tool allow @readonly
	syscalls allow sched_setaffinity
	audit args full
}
EOT
expect 0 "show" show "$tmp/w.kennel"
says "net allow *.example.com:443 to private  # $tmp/w.kennel:9"
says "network: its own loopback, and through kennel-egress and kennel-dial"
says "in /var/tmp with env FOO TESTS_* because \"it is\" instead \"ask\" owner bob ticket T-1 until 2099-12-31"
says "programs (exec gate: image, arguments and environment, at the exec)"
says "may write (noexec mount, Landlock)"
says "may read (read-only mount, Landlock)"
says "hidden (covered by an empty, unreadable mount)"
says "everything else is absent from the view"
says "{ hosts *.example.com }"
says "allow tool create_* except create_user"
says "ask   tool merge when args.branch in [\"main\", \"release\"] and not args.n < 3"
says "@readonly"
says "system call allow (seccomp BPF): "
says "audit args full"
expect 0 "show --json" show "$tmp/w.kennel" --json
is_json
says '"enforced":"exec gate"'
says '"enforced":"tool gate"'
says '"enforced":"kennel-egress and kennel-dial (network namespace)"'
says '"enforced":"seccomp BPF"'
says '"until":"2099-12-31"'
says '"enforced":"noexec mount, Landlock"'
# limits of calls, and a process for each call
cat >"$tmp/limits.kennel" <<'EOT'
server s {
	run /bin/sh -c true
	user nobody
	oneshot
	tool allow search_* rate 30/60s quota 100
	tool ask create_* rate 5/1500ms
}
EOT
expect 0 "show: limits" show "$tmp/limits.kennel"
says "each call gets its own process (oneshot)"
says "allow tool search_* rate 30/1m quota 100  # $tmp/limits.kennel:5"
says "ask   tool create_* rate 5/1500ms  # $tmp/limits.kennel:6"
expect 0 "show --json: limits" show "$tmp/limits.kennel" --json
is_json
says '"oneshot":true'
says '"rate":30,"rate_ms":60000,"quota":100'
says '"rate":5,"rate_ms":1500'
sed 's/oneshot/secret T from env T { approve per-call }/' "$tmp/limits.kennel" >"$tmp/implied.kennel"
expect 0 "show: a secret per call" show "$tmp/implied.kennel"
says "each call gets its own process (a secret per call)"
sed 's/per-call/session/' "$tmp/implied.kennel" >"$tmp/session.kennel"
expect 0 "show: a secret per session" show "$tmp/session.kennel" --json
says '"oneshot":false'
