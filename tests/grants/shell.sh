#!/bin/sh
# Pipes, a substitution, programs that start programs.
mkdir -p deep/er
echo one >a.txt
echo two >b.txt
find . -name '*.txt' -exec /bin/cat {} \; | sed -e s/one/1/ | sort
printf '%s\n' x y | xargs -n 1 /bin/echo item
echo "name $(basename /some/where)"
( cd deep && (basename deep) & wait )
for more in "find . -name *.txt -exec /bin/sh {} ;" "find . -delete" "sed -e 1e a.txt" "xargs /bin/sh" "sort -o a.txt"; do
	set -f
	$more </dev/null >/dev/null 2>&1
	echo "$more: $?"
done
