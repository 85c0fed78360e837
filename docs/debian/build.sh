#!/bin/sh
# Builds the package of this tree in a directory, which is made anew:
#	build.sh DIRECTORY
# debian/ is not in the tree: it is put in place in a copy.
set -eu
cd "$(dirname "$0")/../.."
version=$(sed -n '1s/.*(\(.*\)).*/\1/p' docs/debian/changelog)
copy=$1/kennel-$version
rm -rf "$1"
mkdir -p "$copy/tests/lib"
cp -R Makefile README.md docs leash policy shim supervisor "$copy"
cp tests/lib/path_hint.sh "$copy/tests/lib"
cp -R docs/debian "$copy/debian"
cd "$copy"
if ! DEB_BUILD_OPTIONS="parallel=$(nproc) ${DEB_BUILD_OPTIONS:-}" \
    dpkg-buildpackage -b -uc -us >../build.log 2>&1; then
	tail -20 ../build.log >&2
	echo "unable to build the package: see $1/build.log" >&2
	exit 1
fi
