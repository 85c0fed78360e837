# What one does with a repository.
cd "$HOME" || exit 1
set -e
git init -q -b main repo
cd repo
git config user.name t
git config user.email t@t
echo one >a.txt
git add a.txt
git commit -q -m "first commit"
echo two >>a.txt
git diff --stat
git commit -q -a -m second
git checkout -q -b side HEAD~1
echo three >b.txt
git add b.txt
git commit -q -m side
git checkout -q main
git cherry-pick side >picked
git merge -q -m merged side
git log --oneline | wc -l
git tag v1
git show --stat v1 | tail -n 1
git status --short
git blame a.txt | wc -l
git grep -n two
git gc --quiet
git log --oneline | wc -l
set +e
# What runs something else, or speaks to somebody.
for more in "-c core.fsmonitor=/bin/sh status" "-c core.pager=/bin/sh log" "config core.hooksPath /tmp" \
	"commit --amend" "push origin main" "fetch" "clone . ../copy" "bisect run /bin/sh" \
	"--exec-path=/tmp status" "difftool -y -x /bin/sh"; do
	git $more >more.out 2>more.err </dev/null
	echo "$more: $?"
done
