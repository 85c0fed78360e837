#!/bin/sh
# cppcheck over every program: warnings and portability, as errors.
command -v cppcheck >/dev/null || { echo "cppcheck is missing"; exit 77; }
mkdir -p build/cppcheck
exec cppcheck -q -j2 --enable=warning,portability --error-exitcode=1 --inline-suppr \
	--cppcheck-build-dir=build/cppcheck --std=c11 -D_GNU_SOURCE -D__x86_64__ -I. \
	--suppress=missingIncludeSystem --suppress=unknownMacro \
	shim leash policy supervisor
