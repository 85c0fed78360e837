#!/bin/sh
# In a fresh root: installs the package, uses it, purges it. make test-deb.
set -u
bad=0
ask() { # NAME COMMAND...: it succeeds
	what=$1; shift
	if "$@" >/tmp/said 2>&1; then
		echo "ok - $what"
	else
		sed 's/^/# /' /tmp/said
		echo "not ok - $what"; bad=1
	fi
}
# What packages and their tools own: not what apt, dpkg and caches write.
listing() {
	find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /run -o -path /var/lib/dpkg \
	    -o -path /mnt -o -path /var/lib/apt -o -path /var/cache -o -path /var/log -o -path /etc/ld.so.cache \) -prune \
	    -o -printf '%p %y %m\n' | sort
}
install() {
	DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends /tmp/kennel.deb
}
purge() {
	DEBIAN_FRONTEND=noninteractive apt-get purge -y --autoremove kennel
}
nothing_left() {
	listing >/tmp/after
	diff /tmp/before /tmp/after
}
works() {
	[ "$(kennel version)" = "kennel $(dpkg-query -W -f '${Version}' kennel)" ] || return 1
	mkdir -p /tmp/home && printf 'server a {\n    run /bin/cat\n}\n' >/tmp/a.kennel || return 1
	KENNEL_HOME=/tmp/home kennel policy check /tmp/a.kennel || return 1
	KENNEL_HOME=/tmp/home kennel doctor | grep -q user-namespaces || return 1
	for page in kennel.1 kennel-policy.5 kennel-verify.1; do
		man -w "${page%.*}" || return 1
	done
	python3 -c 'import json; assert len(json.load(open("/usr/share/doc/kennel/kennel.spdx.json"))["files"]) > 10'
}
# A server in its sandbox, as this user: SETPRIV... answers, and sees no file but its own.
serves() {
	cat >/opt/server.py <<-'PYTHON'
	import json, os, sys
	for line in sys.stdin:
	    m = json.loads(line)
	    if "id" in m:
	        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": {"protocolVersion": "2025-11-25", "capabilities": {},
	              "serverInfo": {"name": "sees:" + ",".join(sorted(os.listdir("/opt"))), "version": "1"}}}), flush=True)
	PYTHON
	touch /opt/other
	chmod 644 /opt/*
	printf 'server s {\n    run /usr/bin/python3 /opt/server.py\n    user nobody\n    read /opt/server.py\n}\n' >/tmp/s.kennel
	[ $# = 0 ] || sed -i /user/d /tmp/s.kennel
	rm -rf /tmp/served && mkdir -m 700 /tmp/served && { [ $# = 0 ] || chown 65534:65534 /tmp/served; } || return 1
	{
		printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
		tries=0
		until [ -s /tmp/served/reply ] || [ $tries = 600 ]; do
			sleep 0.1
			tries=$((tries + 1))
		done
	} | env KENNEL_HOME=/tmp/served "$@" kennel run s --policy /tmp/s.kennel >/tmp/served/reply
	grep '"sees:server.py"' /tmp/served/reply
	served=$?
	rm -f /opt/server.py /opt/other
	return $served
}
profile() { # AppArmor that has the rule, as far as files go
	mkdir -p /etc/apparmor.d/abi && : >/etc/apparmor.d/abi/4.0 && install &&
	    cmp /etc/apparmor.d/kennel /usr/share/kennel/apparmor/kennel
}
changed_profile() { # stays while the package is removed, and goes with a purge
	echo '# mine' >>/etc/apparmor.d/kennel
	install && apt-get remove -y kennel && grep mine /etc/apparmor.d/kennel && install &&
	    grep mine /etc/apparmor.d/kennel && purge && [ ! -e /etc/apparmor.d/kennel ]
}
ask "a control: python3 is there before" python3 -c ''
apt-get install -y --no-install-recommends libcurl4 >/dev/null 2>&1 # stays, as it was asked for
listing >/tmp/before
ask "it installs" install
ask "it works" works
ask "root's server runs in its sandbox" serves
ask "a user's server does" serves setpriv --reuid=65534 --regid=65534 --clear-groups --
for shell in bash zsh fish; do
	ask "$shell completes its words" python3 /tmp/complete.py $shell
done
ask "it purges" purge
ask "nothing is left" nothing_left
ask "the AppArmor profile is installed where its rule is known" profile
ask "a changed profile stays until the purge" changed_profile
rm -r /etc/apparmor.d/abi
ask "nothing is left, again" nothing_left
[ $bad = 0 ] && echo "all steps done"
exit $bad
