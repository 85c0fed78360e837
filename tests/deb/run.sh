#!/bin/sh
# The files of the Debian package, without Debian's tools: make test-deb builds it.
set -u
cd "$(dirname "$0")/../.." || exit 1
command -v dpkg-query >/dev/null || { echo "dpkg-query is missing"; exit 77; }
tmp=$(mktemp -d "${TMPDIR:-/tmp}/kennel-deb.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
n=0; bad=0
ask() { # NAME COMMAND...: it succeeds
	n=$((n + 1))
	what=$1; shift
	if "$@"; then echo "ok $n - $what"; else echo "not ok $n - $what"; bad=1; fi
}
same() { # TEXT TEXT
	[ "$1" = "$2" ] || { printf '# %s\n' "$1" "$2"; return 1; }
}
version=$(sed -n 's/^#define KENNEL_VERSION "\(.*\)"$/\1/p' supervisor/main.c)
ask "the changelog has the version of kennel" \
    same "$version" "$(sed -n '1s/.*(\(.*\)).*/\1/p' docs/debian/changelog)"
ask "the package is built with the libraries that deps.sh installs" \
    same "$(sed -n 's/^\t\tlibrary \(lib[^ ]*-dev\) .*/\1/p' tests/lib/deps.sh | grep -v cmocka | sort)" \
    "$(sed -n 's/^ \(lib[^ ]*-dev\),$/\1/p' docs/debian/control | sort)"
for f in rules build.sh kennel.postinst kennel.prerm kennel.postrm; do
	case $f in rules) ask "rules is a program" test -x docs/debian/rules ;;
	*) ask "$f is a script" sh -n docs/debian/$f ;; esac
done
make -s install DESTDIR="$tmp/root" PREFIX=/usr || exit 1
profile=$tmp/root/usr/share/kennel/apparmor/kennel
ask "the AppArmor profile is for the programs that make user namespaces" \
    same "$(sed -n 's/^profile [^ ]* \([^ ]*\) .*/\1/p' "$profile" | tr '\n' ' ')" \
    "/usr/bin/kennel /usr/libexec/kennel/kennel-leash "

# 1764115200: a time of our own
ask "the SBOM is written" env SOURCE_DATE_EPOCH=1764115200 \
    python3 docs/debian/sbom.py "$tmp/root" "$version" amd64 "$tmp/sbom"
in_sbom() { # EXPRESSION on links: {program: {kind: names}}, files, document
	python3 - "$tmp/sbom" "$1" <<-'PYTHON'
	import json, sys
	document = json.load(open(sys.argv[1]))
	files = {f["SPDXID"]: f["fileName"].split("/")[-1] for f in document["files"]}
	links = {name: {"STATIC_LINK": [], "DYNAMIC_LINK": []} for name in files.values()}
	for r in document["relationships"]:
	    if r["spdxElementId"] in files:
	        links[files[r["spdxElementId"]]][r["relationshipType"]].append(r["relatedSpdxElement"][len("SPDXRef-package-"):])
	ids = [x["SPDXID"] for x in document["packages"] + document["files"]]
	sys.exit(not eval(sys.argv[2]))
	PYTHON
}
programs=$(cd "$tmp/root/usr" && ls bin libexec/kennel | grep '^kennel' | sort | tr '\n' ' ')
ask "it has every program" in_sbom "sorted(links) == '$programs'.split()"
ask "of the shim no library" in_sbom "links['kennel-shim'] == {'STATIC_LINK': [], 'DYNAMIC_LINK': []}"
ask "of the leash what it is linked with" \
    in_sbom "'libsodium-dev' in links['kennel-leash']['STATIC_LINK'] and not links['kennel-leash']['DYNAMIC_LINK']"
ask "and of kennel-remote what it loads" \
    in_sbom "any(n.startswith('libcurl') for n in links['kennel-remote']['DYNAMIC_LINK'])"
ask "every id is there once, and its time is the given one" \
    in_sbom "len(set(ids)) == len(ids) and document['creationInfo']['created'] == '2025-11-26T00:00:00Z'"
exit $bad
