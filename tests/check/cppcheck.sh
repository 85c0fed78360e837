#!/bin/sh
# cppcheck over every program: its warnings, as errors.
command -v cppcheck >/dev/null || { echo "cppcheck is missing"; exit 77; }
mkdir -p build/check/cppcheck
# missingIncludeSystem: it need not read libc's headers
# unknownMacro: nor the libraries', whose macros it then does not know
# sizeofFunctionCall: event_text() asks for the size of its argument, which may be a call
exec cppcheck -q -j2 --enable=warning,portability,performance --error-exitcode=1 \
	--inline-suppr --cppcheck-build-dir=build/check/cppcheck \
	--std=c11 -D_GNU_SOURCE -D__x86_64__ -I. \
	--suppress=missingIncludeSystem --suppress=unknownMacro --suppress=sizeofFunctionCall \
	shim leash policy supervisor
