#!/bin/sh
# enter.sh ROOT: the steps of in_root.sh, with this directory as the root of a mount
# namespace; the old root stays in /mnt. In a chroot no user namespace can be made, and so
# no sandbox. The ids of one are written in /proc, which mmdebstrap mounts read-only.
set -eu
mount --rbind "$1" "$1"
cd "$1"
mount -t proc proc proc
pivot_root . mnt
cd /
exec sh /tmp/in_root.sh
