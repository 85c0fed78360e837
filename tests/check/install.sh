#!/bin/sh
# make install and make uninstall: what they put below DESTDIR and remove again, and
# what install reports if the prefix is not on the paths.
set -u
cd "$(dirname "$0")/../.." || exit 1
tmp=$(mktemp -d "${TMPDIR:-/tmp}/install-check.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
n=0; bad=0
ask() { # NAME COMMAND...: it succeeds
	n=$((n + 1))
	what=$1; shift
	if "$@"; then echo "ok $n - $what"; else echo "not ok $n - $what"; bad=1; fi
}
installed() { # DIRECTORY: install into it
	make -s install DESTDIR="$1" PREFIX=/usr >"$tmp/said" 2>&1
}
ask "make install" installed "$tmp/root"
for f in bin/kennel libexec/kennel/kennel-verify share/man/man1/kennel.1 \
    share/man/man1/kennel-verify.1 share/man/man5/kennel-policy.5 \
    share/bash-completion/completions/kennel share/zsh/site-functions/_kennel \
    share/fish/vendor_completions.d/kennel.fish share/kennel/presets; do
	ask "puts $f there" test -e "$tmp/root/usr/$f"
done
ask "and reports nothing for a package" test ! -s "$tmp/said"

# A file of somebody else's package stays, and so does its directory.
mkdir -p "$tmp/root/usr/share/kennel"
echo mine >"$tmp/root/usr/share/kennel/mine"
make -s uninstall DESTDIR="$tmp/root" PREFIX=/usr
ask "make uninstall leaves what install did not put there" \
    test "$(cd "$tmp/root" && find . ! -type d)" = ./usr/share/kennel/mine
rm "$tmp/root/usr/share/kennel/mine"
ask "make install again" installed "$tmp/root"
make -s uninstall DESTDIR="$tmp/root" PREFIX=/usr
ask "make uninstall leaves an empty tree" test -z "$(find "$tmp/root" -mindepth 1)"
ask "and a second one is no error" make -s uninstall DESTDIR="$tmp/root" PREFIX=/usr

# Without DESTDIR, into a prefix of one's own.
make -s install PREFIX="$tmp/own" >"$tmp/said" 2>&1
ask "names what PATH lacks" grep -q "export PATH=\"$tmp/own/bin:" "$tmp/said"
PATH="$tmp/own/bin:$PATH" make -s install PREFIX="$tmp/own" >"$tmp/said" 2>&1
ask "and nothing for PATH if it is there" sh -c "! grep -q 'export PATH' '$tmp/said'"
MANPATH=/usr/share/man sh -c 'sh tests/lib/path_hint.sh "$1"' - "$tmp/none" >"$tmp/said"
ask "names what MANPATH lacks" grep -q "export MANPATH=\"$tmp/none/share/man:" "$tmp/said"
MANPATH="$tmp/own/share/man" PATH="$tmp/own/bin:$PATH" sh tests/lib/path_hint.sh "$tmp/own" >"$tmp/said"
ask "and nothing if both are there" test ! -s "$tmp/said"
make -s uninstall PREFIX="$tmp/own"
ask "uninstall removes its files there too" test -z "$(find "$tmp/own" ! -type d)"
ask "and its own directories" test ! -e "$tmp/own/share/kennel" -a ! -e "$tmp/own/libexec/kennel"
exit $bad
