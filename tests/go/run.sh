#!/bin/sh
# What somebody else's code says of a log (run.py).
exec python3 "$(dirname "$0")/run.py"
