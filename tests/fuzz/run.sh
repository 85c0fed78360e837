#!/bin/sh
# Replays under the sanitizers the corpora that no unit test replays.
set -eu
cd "$(dirname "$0")/../.."
for name in frame hub wire copy_args scrub record_read schema query signed_note kept log pins program manifest manifest_change keeper fido console http_head mountinfo diff dns client_hello dial remote_message response_head sse tool_headers; do
	make -s "build/replay/$name"
	"build/replay/$name" "tests/fuzz/corpus/$name"
done
