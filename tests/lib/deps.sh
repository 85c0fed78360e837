#!/bin/sh
# What building, testing and the demo need: looks first, installs what is
# missing as root (or with sudo -n), else prints the one line to run and exits
# 69.  A second run needs no network.
#
#	deps.sh build|test|net|browser|dialogs|bench|deb|deb-test|demo...
set -u
# useradd lies where an ordinary user's PATH does not lead
PATH=$PATH:/usr/sbin:/sbin
cd "$(dirname "$0")/../.." || exit 69

missing=
mkdir -p build || exit 69
log=build/deps.log
need() { # need PACKAGE COMMAND...: the command must be found
	for c in $2; do
		command -v "$c" >/dev/null 2>&1 && return
	done
	missing="$missing $1"
}
library() { # library PACKAGE MODULE
	pkg-config --exists "$2" 2>/dev/null || missing="$missing $1"
}

for what in "$@"; do
	case $what in
	build)
		need gcc "gcc"
		need make "make"
		need pkg-config "pkg-config"
		[ -e /usr/include/stdio.h ] || missing="$missing libc6-dev"
		[ -e /usr/include/linux/seccomp.h ] || missing="$missing linux-libc-dev"
		library libseccomp-dev libseccomp
		library libassuan-dev libassuan
		library libcap-ng-dev libcap-ng
		library libnl-3-dev libnl-3.0
		library libnl-route-3-dev libnl-route-3.0
		library libcurl4-openssl-dev libcurl
		library libfido2-dev libfido2
		library libjansson-dev jansson
		library libmicrohttpd-dev libmicrohttpd
		library libpcre2-dev libpcre2-8
		library libncurses-dev ncursesw
		library libsodium-dev libsodium
		library libsqlite3-dev sqlite3
		need python3 "python3"
		;;
	test)
		library libcmocka-dev cmocka
		need bubblewrap bwrap
		need openssl openssl
		[ -e /etc/ssl/certs/ca-certificates.crt ] || missing="$missing ca-certificates"
		need busybox-static busybox
		need clang clang
		need clang-format clang-format
		need clang-tidy clang-tidy
		need cppcheck cppcheck
		need valgrind valgrind
		need llvm llvm-cov
		need mandoc mandoc
		need util-linux setpriv
		need passwd useradd
		need uidmap newuidmap
		need npm npm
		need golang-go go
		[ -d /usr/share/gocode/src/golang.org/x/mod/sumdb ] ||
			missing="$missing golang-golang-x-mod-dev"
		;;
	net)
		need nginx-light nginx
		need redis-server redis-server
		need redis-tools redis-cli
		need openssh-server sshd
		need openssh-client ssh
		need git git
		need dnsmasq-base dnsmasq
		need curl curl
		need iproute2 ip
		need golang-go go
		[ -n "$(ls /usr/lib/postgresql/*/bin/postgres 2>/dev/null)" ] ||
			missing="$missing postgresql"
		;;
	browser)
		need chromium chromium
		need npm npm
		need iproute2 ip
		;;
	dialogs)
		need pinentry-tty pinentry-tty
		need pinentry-curses pinentry-curses
		need pinentry-gtk2 pinentry-gtk-2
		need libnotify-bin notify-send
		need xvfb Xvfb
		need xdotool xdotool
		;;
	bench)
		need curl curl
		need passt pasta
		need slirp4netns slirp4netns
		need iproute2 ip
		;;
	deb)
		need dpkg-dev dpkg-buildpackage
		need debhelper dh
		[ -e /usr/share/doc/build-essential ] || missing="$missing build-essential"
		;;
	deb-test)
		need lintian lintian
		need mmdebstrap mmdebstrap
		;;
	demo)
		need util-linux setpriv
		need passwd useradd
		need npm npm
		;;
	esac
done

if [ -n "$missing" ]; then
	install="apt-get install -y --no-install-recommends$missing"
	if [ "$(id -u)" = 0 ]; then
		root=
	elif sudo -n true 2>/dev/null; then
		root="sudo -n"
	else
		echo "missing:$missing" >&2
		echo "run this, then try again:  sudo $install" >&2
		exit 69
	fi
	echo "installing:$missing"
	export DEBIAN_FRONTEND=noninteractive
	if ! { $root $install >"$log" 2>&1 ||
	    { $root apt-get update >>"$log" 2>&1 &&
	    $root $install >>"$log" 2>&1; }; }; then
		tail -5 "$log" >&2
		rm -f "$log"
		echo "unable to install:$missing" >&2
		echo "run this, then try again:  sudo $install" >&2
		exit 69
	fi
	rm -f "$log"
fi

# The real clients and servers: exact versions, no install scripts.
packages() { # packages FOLDER INTO
	mkdir -p "$2"
	if cmp -s "$1/package-lock.json" "$2/installed"; then
		return
	fi
	cp "$1/package.json" "$1/package-lock.json" "$1/.npmrc" "$2/"
	if ! (cd "$2" && umask 022 && npm ci --ignore-scripts >npm.log 2>&1); then
		tail -5 "$2/npm.log" >&2
		echo "unable to install the npm packages of $1/package.json" >&2
		exit 69
	fi
	cp "$1/package-lock.json" "$2/installed"
}
case " $* " in
*" test "* | *" demo "*) packages tests/node build/node ;;
esac
case " $* " in
*" net "* | *" browser "*) packages tests/net build/net-node ;;
esac
