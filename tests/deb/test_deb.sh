#!/bin/bash
# make test-deb: the package is built twice, in places and settings that differ, and is
# the same; lintian finds nothing; it installs and purges cleanly in a fresh root.
#	test_deb.sh [SUITE]
# The root is made from the archive that this machine's own apt uses: by root, or by a user
# with subordinate ids.
set -u
cd "$(dirname "$0")/../.." || exit 1
suite=${1:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
deb=build/deb
n=0; passed=0; failed=0
ask() { # NAME COMMAND...: it succeeds
	n=$((n + 1))
	what=$1; shift
	if "$@" >"$deb/said" 2>&1; then
		echo "ok $n - $what"; passed=$((passed + 1))
	else
		tail -30 "$deb/said" | sed 's/^/# /'
		echo "not ok $n - $what"; failed=$((failed + 1))
	fi
}
other() { # another place, umask, time zone and locale, on one processor
	(umask 027; TZ=Pacific/Kiritimati LANG=C LC_ALL=C DEB_BUILD_OPTIONS=parallel=1 \
	    sh docs/debian/build.sh "$PWD/build/deb-again/in/a/longer/place")
}
alike() {
	for f in "$deb"/*.deb; do
		cmp "$f" "build/deb-again/in/a/longer/place/${f##*/}" || return 1
	done
}
ask "a second build" other
ask "both builds are the same, byte for byte" alike
ask "a control: one byte less is a difference" \
    sh -c "! head -c -1 $deb/kennel_*.deb | cmp -s - $deb/kennel_*.deb"
ask "lintian is content" lintian --fail-on error,warning,info --display-info "$deb"/kennel_*.changes

package=$(ls "$deb"/kennel_*.deb)
cp "$package" "$deb/kennel.deb"
root() { # runs the steps in a fresh root
	mmdebstrap --quiet --variant=apt --format=null \
	    --include=zsh,fish,bash-completion,python3,man-db \
	    --customize-hook="copy-in $deb/kennel.deb tests/deb/in_root.sh tests/deb/complete.py /tmp" \
	    --customize-hook='unshare --mount --propagation private sh tests/deb/enter.sh "$1"' \
	    "$suite" - "${sources[@]}"
}
sources=(/etc/apt/sources.list)
[ -s "${sources[0]}" ] || sources=(/etc/apt/sources.list.d/*.sources)
if root >"$deb/root.log" 2>&1; then r=0; else r=$?; fi
grep -E '^(ok|not ok|#) ' "$deb/root.log"
passed=$((passed + $(grep -c '^ok ' "$deb/root.log")))
failed=$((failed + $(grep -c '^not ok ' "$deb/root.log")))
if ! grep -q '^all steps done$' "$deb/root.log" || [ $r != 0 ]; then
	tail -20 "$deb/root.log" | sed 's/^/# /'
	echo "not ok - the root"; failed=$((failed + 1))
fi
echo
echo "$passed passed, $failed failed"
[ $failed = 0 ]
