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
	    -o -path /var/lib/apt -o -path /var/cache -o -path /var/log -o -path /etc/ld.so.cache \) -prune \
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
