#!/bin/sh
# "kennel secret list, show, validate, catalog": verbs, exit status, files.  No
# value that somebody wrote into a manifest is ever said.
#
#	tests/policy/secret.sh [KENNEL]
here=$(cd "$(dirname "$0")" && pwd) || exit 1
kennel=${1:-$here/../../build/bin/kennel}
if [ ! -x "$kennel" ]; then
	echo "skip - policy secret: $kennel is not built"
	exit 0
fi
kennel=$(cd "$(dirname "$kennel")" && pwd)/kennel
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
KENNEL_HOME=$tmp/home
TZ=UTC
export KENNEL_HOME TZ
mkdir -p "$tmp/home" "$tmp/project/.kennel" "$tmp/project/sub/deep" "$tmp/empty"
sentinel=hunter2-sentinel
passed=0 failed=0

result() { # good name
	if [ "$1" -eq 0 ]; then
		passed=$((passed + 1))
		echo "ok - policy secret $2"
	else
		failed=$((failed + 1))
		echo "not ok - policy secret $2"
		sed 's/^/# /' "$tmp/out" "$tmp/err"
	fi
}

# Every answer is looked through for the sentinel.
expect() { # status name argument...
	want=$1 name=$2
	shift 2
	"$kennel" secret "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	got=$?
	good=0
	[ "$got" -eq "$want" ] || { echo "# exit status $got, not $want"; good=1; }
	if grep -q "$sentinel" "$tmp/out" "$tmp/err"; then
		echo "# the sentinel was said"
		good=1
	fi
	result $good "$name"
}

holds() { # name condition...
	name=$1
	shift
	"$@"
	result $? "$name"
}

says() { # text: in what the last verb wrote
	grep -qF -- "$1" "$tmp/out" "$tmp/err"
}

soon=$(date -u -d '+10 days' +%Y-%m-%d)
late=$(date -u -d '-2 days' +%Y-%m-%d)
cat >"$tmp/home/secrets.kennel" <<EOF2
secret team/github/token {
	description "a token for the platform team"
	retrieval-url "https://github.com/settings/tokens"
	expires $soon
	rotation provider-ui
	rotate-every 90d
	last-rotated 2026-01-31
	approve session
	pattern github-pat
}
secret team/jira/token { expires $late }
secret team/hidden/token { description "of another project" }
EOF2
cat >"$tmp/project/.kennel/secrets.kennel" <<'EOF2'
required team/github/token
optional team/jira/token
override team/github/token { approve per-call }
secret own/thing/token { description "the project's own" }
EOF2

# ---- list ----  S1-18 S1-19 S1-20 S1-21 S1-22 S1-32 S1-40 S1-120
cd "$tmp/project/sub/deep" || exit 1
expect 0 "list, from a folder below" list --json
cat >"$tmp/want" <<EOF2
[{"path":"own/thing/token","status":"registered","expires_at":null,"source_name":null,"capabilities_hint":"read","servers":[]},{"path":"team/github/token","status":"expiring","expires_at":"$soon","source_name":null,"capabilities_hint":"read,rotate","approve_on_use":"per-call","servers":[]},{"path":"team/jira/token","status":"expired","expires_at":"$late","source_name":null,"capabilities_hint":"read","servers":[]}]
EOF2
holds "what it lists" diff "$tmp/want" "$tmp/out"
expect 0 "filters" list --json --contains token --scope team --status expired
holds "all of them hold" grep -q '^\[{"path":"team/jira/token",[^}]*"servers":\[\]}\]$' "$tmp/out"
expect 0 "internal rows, when asked for" list --internal
holds "are there" says __sys/supervisor/
expect 0 "the index, for people" list --all
holds "is shown whole" says team/hidden/token
expect 64 "a status that is none" list --status gone
expect 64 "an option that is none" list --value $sentinel
expect 64 "a word too many" list $sentinel
cd "$tmp/empty" || exit 1
expect 0 "no manifest" list --json
holds "is an empty list" grep -qx '\[\]' "$tmp/out"
expect 0 "another project" list --project "$tmp/project"
holds "is read" says own/thing/token
cd "$tmp/project" || exit 1

# ---- show ----  S1-33 S1-34 S1-35 S1-37 S1-38 S1-41
expect 0 "show" show --json team/github/token
holds "every field" grep -q '"description":"a token for the platform team","retrieval_url":"https://github.com/settings/tokens","rotation_method":"provider-ui","last_rotated_at":"2026-01-31","rotate_every_days":90,"pattern_id":"github-pat","approve_on_use":"per-call"}$' "$tmp/out"
expect 0 "show for people" show team/github/token
holds "with what the catalog knows" says github/classic
expect 1 "what the project does not name" show --json team/hidden/token
holds "is not found" says '{"error":{"kind":"not-found","path":"team/hidden/token"}}'
holds "in words, too" says 'kennel secret: this secret is not declared here: team/hidden/token'
holds "and --all is named" says '`kennel secret show --all team/hidden/token` shows its entry'
expect 1 "a typing error" show team/githb/token
holds "has the near path" says 'did you mean `team/github/token`?'
expect 1 "another path" show zoo/tiger/stripe
holds "has the lists" says '`kennel secret list --all` lists the known ones'
expect 0 "but for a person who asks" show --all team/hidden/token
expect 65 "no path" show --json $sentinel
holds "is invalid" says '{"error":{"kind":"invalid-path"}}'
expect 65 "kennel's own" show __sys/supervisor/log-key
expect 64 "no word" show

# ---- validate ----  S1-39 S1-110
expect 0 "validate" validate
holds "counts" says "3 of 4 secrets are declared here"
expect 0 "as JSON" validate --json
holds "with every diagnostic" says '"errors":0'
echo "optional team/github/token" >>.kennel/secrets.kennel
expect 0 "in both lists" validate
holds "is odd" says ".kennel/secrets.kennel:5:10: warning: this path is both"
expect 65 "and wrong, strictly" validate --strict
sed -i '$d' .kennel/secrets.kennel
echo 'secret own/odd/token { pattern githubb-pat }' >>.kennel/secrets.kennel
expect 0 "a shape that nobody knows" validate
holds "is odd" says "\`pattern\` of own/odd/token"
sed -i '$d' .kennel/secrets.kennel

# ---- one broken line ----  a file, a line, a column, and never the line
cp .kennel/secrets.kennel "$tmp/good"
for line in "value \"$sentinel\"" "expires $sentinel" "$sentinel" \
    "description \"$sentinel" "retrieval-url \"$sentinel\"" "password $sentinel"; do
	cp "$tmp/good" .kennel/secrets.kennel
	printf 'secret own/bad/token {\n\t%s\n}\n' "$line" >>.kennel/secrets.kennel
	for verb in list "list --json" "show team/github/token" validate "validate --json"; do
		# shellcheck disable=SC2086
		expect 65 "${line%%[ \"]*} is refused by $verb" $verb
	done
	holds "with its place" grep -q '"line":[0-9]*,"column":[0-9]*' "$tmp/out"
done
cp "$tmp/good" .kennel/secrets.kennel
expect 0 "and without it all is well" list

# ---- whose files ----
chmod o+w .kennel/secrets.kennel
expect 65 "a manifest that everybody may write" list
holds "is told" says ".kennel/secrets.kennel: error: it is world-writable"
chmod o-w .kennel/secrets.kennel
rm .kennel/secrets.kennel && mkfifo .kennel/secrets.kennel
expect 65 "a fifo" list
rm .kennel/secrets.kennel && mkdir .kennel/secrets.kennel
expect 65 "a folder" list
rmdir .kennel/secrets.kennel
head -c 1100000 /dev/zero | tr '\0' '#' >.kennel/secrets.kennel
expect 65 "a manifest of more than a MiB" list
holds "is told, without where it lies" sh -c "! grep -q '$tmp' '$tmp/err'"
cp "$tmp/good" .kennel/secrets.kennel

# ---- the catalog ----  S1-113 S1-122
expect 0 "catalog list" catalog list --json
holds "bundled" says '"name":"github/classic"'
printf 'token own/kind {\n\tdescription "ours"\n\tpattern own-shape\n}\n' >"$tmp/home/catalog.kennel"
expect 0 "one's own" catalog show own/kind
holds "is there" says personal
expect 1 "a kind that is not" catalog show $sentinel
expect 0 "validate" catalog validate
printf 'token own/kind {\n\tvalue "%s"\n}\n' $sentinel >>"$tmp/home/catalog.kennel"
expect 65 "a broken one" catalog validate
holds "with its place" says "catalog.kennel:6:2: error"
rm "$tmp/home/catalog.kennel"
expect 64 "no such verb of it" catalog drop

# ---- what is not here ----  S1-106 S1-107 S1-108 S1-114
for verb in get put export dump reveal; do
	expect 64 "there is no $verb" $verb team/github/token
done
expect 0 "help" help
for verb in list show validate catalog set rotate unlock; do
	holds "lists $verb" says "  $verb  "
done

echo "policy secret: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
