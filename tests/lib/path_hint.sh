#!/bin/sh
# path_hint.sh PREFIX: what to add to PATH and MANPATH, if the shell does not find what
# make install put below PREFIX.
prefix=$1
case ":$PATH:" in
*":$prefix/bin:"*) ;;
*) echo "kennel is not on your PATH; add to ~/.profile: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
if command -v manpath >/dev/null; then
	pages=$(PATH="$prefix/bin:$PATH" manpath -q 2>/dev/null)
else
	pages=${MANPATH:-/usr/local/share/man:/usr/share/man}
fi
case ":$pages:" in
*":$prefix/share/man:"* | *":$prefix/man:"*) ;;
*) echo "its manual is not on your MANPATH; add: export MANPATH=\"$prefix/share/man:\$MANPATH\"" ;;
esac
