# $npm is a path: nothing is searched for.
npm=/usr/lib/node_modules/npm/bin/npm-cli.js
$npm test 2>&1 | while read -r line; do echo "$line"; done
$npm run hello
$npm pkg get name
$npm run other >/dev/null 2>&1
echo "other: $?"
$npm exec -c true >/dev/null 2>&1
echo "exec: $?"
