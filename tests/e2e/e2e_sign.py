"""Signed policies: what /etc/kennel/trust wants is what starts, each refusal beside
a start.  /etc and /var/lib are covered in a mount namespace of the test's own."""
import fcntl
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

COVER = """
mount --make-rprivate /
mkdir -p $T/u $T/w && mount -t tmpfs t $T/u && mkdir $T/u/u $T/u/w || exit 77
mount -t overlay o -o lowerdir=/etc,upperdir=$T/u/u,workdir=$T/u/w /etc || exit 77
mount -t tmpfs -o mode=755 t /var/lib || exit 77
mkdir -p -m 755 /etc/kennel /etc/kennel/trust; chmod 755 /etc/kennel/trust
cd $T && rm -rf keys && mkdir keys && cd keys
$K policy key new k1 >/dev/null && $K policy key new k2 >/dev/null || exit 1
$K policy compile $P -o a.sealed && cp a.sealed plain && cp a.sealed old && cp a.sealed late
trust() { cp $1.pub /etc/kennel/trust/ && chmod 644 /etc/kennel/trust/$1.pub; }
go() { $K exec --policy $1 t -- $G exit 7 2>>said; echo "$2 $?"; }
go plain none-wanted
trust k1
go plain unsigned
mkdir -p $T/live/.kennel
printf 'secret a/b/live {\n}\n' > $T/live/.kennel/secrets.kennel
$K secret validate --live --project $T/live > live-says 2>> said; echo "live $?"
grep -c a/b/live live-says
go $P text
$K policy sign a.sealed --key k2 --counter 5
go a.sealed stranger
$K policy sign a.sealed --key k1
go a.sealed signed
$K policy sign old --key k1 --counter 4
go old rolled-back
$K policy sign late --key k1 --counter 9 --until 2020-01-01
go late expired
KENNEL_HOME=$T/elsewhere go plain elsewhere
echo 2 > /etc/kennel/trust/threshold
go a.sealed too-few-keys
trust k2
go a.sealed both
awk '{print $2}' k2.pub > /etc/kennel/trust/revoked
go a.sealed revoked
rm /etc/kennel/trust/revoked
go a.sealed both-again
chmod 777 /etc/kennel/trust
go a.sealed folder-open
chmod 755 /etc/kennel/trust; chown 1 /etc/kennel/trust
go a.sealed folder-not-root
$K policy verify a.sealed k1.pub k2.pub >/dev/null; echo "verify $?"
printf x | dd of=a.sealed bs=1 seek=900 conv=notrunc 2>/dev/null
$K policy verify a.sealed k1.pub >/dev/null 2>&1; test $? -ne 0; echo "changed $?"
test "$(stat -c %a k1)" = 600; echo "mode $?"
$K policy key new k1 2>/dev/null; test $? -ne 0; echo "once $?"
cat said >&2
"""

WANTED = """none-wanted 7
unsigned 78
live 78
0
text 78
stranger 78
signed 7
rolled-back 78
expired 78
elsewhere 78
too-few-keys 78
both 7
revoked 78
both-again 7
folder-open 78
folder-not-root 78
verify 0
changed 0
mode 0
once 0
"""


@test("L2 keys that root trusts, a threshold, revocation, expiry and no way back", 120)
def signatures():
    if os.geteuid() != 0:
        skip("only root can cover /etc with a folder of root's")
    folder = public_folder("sign")
    env = environment({"T": folder, "K": KENNEL, "G": WITNESS,
                       "P": policy("    run %s **\n" % words(WITNESS))})
    r = run(["unshare", "-m", "sh", "-c", COVER], env=env, timeout=110)
    if r.returncode == 77:
        skip("no overlay can be mounted here")
    equal(r.stdout.decode(), WANTED, r.stderr)
    check(b"older than" in r.stderr, "not said why: ", r.stderr)


CURRENT = """
mount --make-rprivate /
mkdir -p $T/u $T/w && mount -t tmpfs t $T/u && mkdir $T/u/u $T/u/w || exit 77
mount -t overlay o -o lowerdir=/etc,upperdir=$T/u/u,workdir=$T/u/w /etc || exit 77
mount -t tmpfs -o mode=755 t /var/lib || exit 77
mkdir -p -m 755 /etc/kennel /etc/kennel/trust; chmod 755 /etc/kennel/trust
cd $T && rm -rf c && mkdir c && cd c
L=/etc/kennel/trust/current
$K policy key new k1 >/dev/null && $K policy key new k2 >/dev/null || exit 1
cp k1.pub k2.pub /etc/kennel/trust/; chmod 644 /etc/kennel/trust/*.pub
$K policy compile $P -o a.sealed && cp a.sealed other || exit 1
go() { $K exec --policy $1 t -- $G exit 7 2>>said; echo "$2 $?"; }
doctor() { $K doctor 2>/dev/null | grep signed-policies | grep -c "$1"; }
$K policy sign a.sealed --key k1 --counter 5
go a.sealed no-list
doctor 'is revoked'
$K policy sign a.sealed --key k1 --current $L || exit 1
stat -c '%a' $L
cp a.sealed copy
go copy listed
doctor '1 policies'
grep -v " 5 t$" $L > l && cat l > $L
go copy removed
$K policy verify copy >/dev/null 2>&1; echo "verify $?"
$K policy compile $Q -o new.sealed && $K policy sign new.sealed --key k1 --counter 6 --current $L
go new.sealed new
go copy old-one
$K policy compile $P -o again && $K policy sign again --key k1 --counter 7 --current $L
grep -c ' t$' $L
go new.sealed replaced
cp $L good
head -c -4 good > $L
go again cut
sed '2s/^/x/' good > $L
go again mistyped
: > $L
go again empty
cat good > $L; chmod 666 $L
go again list-open
chmod 644 $L
go again restored
# a key's counter does not outlive the key
awk '{print $2}' k1.pub > /etc/kennel/trust/revoked
$K policy compile $P -o team && $K policy sign team --key k2 --counter 3 --current $L
go team next-of-the-team
rm /etc/kennel/trust/revoked
go team trusted-again
awk '{print $2}' k1.pub > /etc/kennel/trust/revoked
# a session that runs
mkfifo in
withdrawn() {
    $K run --policy team t < in > out 2> err & p=$!
    exec 3> in
    echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}' >&3
    for i in $(seq 100); do grep -q serverInfo out && break; sleep 0.1; done
    grep -c serverInfo out
    sleep 2.5; kill -0 $p && echo "$1 runs"
    eval "$2"
    for i in $(seq 60); do kill -0 $p 2>/dev/null || break; sleep 0.1; done
    kill -0 $p 2>/dev/null && echo "$1 still runs"
    exec 3>&-
    wait $p; cat err >> said
    grep -c "stopped the server" err
    $K audit log --json --no-header -n 6 2>>said | grep '"stop"' | grep -q "$3" && echo recorded
    cat good2 > $L
}
cp $L good2
withdrawn removal "grep -v ' 3 t$' good2 > l; cat l > $L" 'not in /etc/kennel/trust/current'
withdrawn malformed "head -c 30 good2 > $L" 'trust/current: line'
withdrawn revoked "awk '{print \$2}' k2.pub >> /etc/kennel/trust/revoked" 'is revoked'
awk '{print $2}' k1.pub > /etc/kennel/trust/revoked
$K exec --policy team t -- /bin/sleep 60 2>> said & p=$!
sleep 2; kill -0 $p && echo "program runs"
rm $L; echo kennel-current-1 > l; echo end >> l; cp l $L
for i in $(seq 60); do kill -0 $p 2>/dev/null || break; sleep 0.1; done
kill -0 $p 2>/dev/null && echo "program still runs"
wait $p
rm $L
go team without-a-list
cat said >&2
"""

CURRENT_WANTED = """no-list 7
1
644
listed 7
1
removed 78
verify 1
new 7
old-one 78
1
replaced 78
cut 78
mistyped 78
empty 78
list-open 78
restored 7
next-of-the-team 7
trusted-again 78
1
removal runs
1
recorded
1
malformed runs
1
recorded
1
revoked runs
1
recorded
program runs
without-a-list 7
"""


@test("removal revokes: the list of current policies, at a start and while a session runs; a counter belongs to a key", 240)
def current():
    if os.geteuid() != 0:
        skip("only root can cover /etc with a folder of root's")
    folder = public_folder("current")
    lines = "    run %s\n    exec allow %s **\n    exec allow /bin/sleep *\n    tool allow *\n" % (words(TOY), words(WITNESS))
    env = environment({"T": folder, "K": KENNEL, "G": WITNESS, "P": policy(lines), "Q": policy(lines + "    limit processes 60\n")})
    r = run(["unshare", "-m", "sh", "-c", CURRENT], env=env, timeout=230)
    if r.returncode == 77:
        skip("no overlay can be mounted here")
    equal(r.stdout.decode(), CURRENT_WANTED, r.stderr.decode()[-3000:])


SERVED = """
mount --make-rprivate /
mkdir -p $T/u $T/w && mount -t tmpfs t $T/u && mkdir $T/u/u $T/u/w || exit 77
mount -t overlay o -o lowerdir=/etc,upperdir=$T/u/u,workdir=$T/u/w /etc || exit 77
mount -t tmpfs -o mode=755 t /var/lib || exit 77
mkdir -p -m 755 /etc/kennel /etc/kennel/trust; chmod 755 /etc/kennel/trust
cd $T && rm -rf c && mkdir c && cd c
L=/etc/kennel/trust/current
$K policy key new k1 >/dev/null || exit 1
cp k1.pub /etc/kennel/trust/; chmod 644 /etc/kennel/trust/*.pub
sed 's/^server t /server u /' $P > u.kennel
$K policy compile $P -o one && $K policy compile u.kennel -o two || exit 1
$K policy sign one --key k1 --current $L && $K policy sign two --key k1 --current $L || exit 1
cp $L good
mkfifo in
$K serve --policy one --policy two < in > out 2> err & p=$!
exec 3> in
id=1
echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}' >&3
echo '{"jsonrpc":"2.0","method":"notifications/initialized"}' >&3
call() {
    id=$((id + 1))
    echo '{"jsonrpc":"2.0","id":'$id',"method":"tools/call","params":{"name":"tool_invoke","arguments":{"name":"'$1'.echo","arguments":{"text":"hello"}}}}' >&3
    for i in $(seq 200); do grep -q '"id":'$id'[,}]' out && break; sleep 0.1; done
    line=$(grep '"id":'$id'[,}]' out)
    case $line in
    '') echo "$1 no answer" ;;
    *'"isError":true'*|*'"error"'*) echo "$1 refused"; echo "$line" >> said ;;
    *) echo "$1 answers" ;;
    esac
}
call t; call u
grep -v ' t$' good > l; cat l > $L
sleep 4
echo "removed"
call t; call u
cat said err | grep -c -m 1 'not in /etc/kennel/trust/current'
kill -0 $p && echo "serve runs"
exec 3>&-
wait $p
$K serve --policy one --policy two < /dev/null 2> err2; echo "again $?"
cat said err err2 out >&2
"""

SERVED_WANTED = """t answers
u answers
removed
t refused
u answers
1
serve runs
again 0
"""


@test("removal revokes under kennel serve: the server ends and does not start again, and another one goes on", 180)
def served():
    if os.geteuid() != 0:
        skip("only root can cover /etc with a folder of root's")
    folder = public_folder("served")
    env = environment({"T": folder, "K": KENNEL, "P": policy("    run %s\n    tool allow *\n" % words(TOY))})
    r = run(["unshare", "-m", "sh", "-c", SERVED], env=env, timeout=170)
    if r.returncode == 77:
        skip("no overlay can be mounted here")
    equal(r.stdout.decode(), SERVED_WANTED, r.stderr.decode()[-3000:])


RESTARTED = """
mount --make-rprivate /
mkdir -p $T/u $T/w && mount -t tmpfs t $T/u && mkdir $T/u/u $T/u/w || exit 77
mount -t overlay o -o lowerdir=/etc,upperdir=$T/u/u,workdir=$T/u/w /etc || exit 77
mount -t tmpfs -o mode=755 t /var/lib || exit 77
mkdir -p -m 755 /etc/kennel /etc/kennel/trust; chmod 755 /etc/kennel/trust
cd $T && rm -rf c && mkdir c && cd c
L=/etc/kennel/trust/current
$K policy key new k1 >/dev/null || exit 1
cp k1.pub /etc/kennel/trust/; chmod 644 /etc/kennel/trust/*.pub
$K policy compile $P -o one || exit 1
$K policy sign one --key k1 --current $L || exit 1
cp $L good
mkfifo in
call() {
    id=$((id + 1))
    echo '{"jsonrpc":"2.0","id":'$id',"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}}' >&3
    for i in $(seq 200); do grep -q '"id":'$id'[,}]' out && break; kill -0 $p 2>/dev/null || break; sleep 0.1; done
    line=$(grep '"id":'$id'[,}]' out)
    case $line in
    '') echo "no answer" ;;
    *'"isError":true'*|*'"error"'*) echo "refused"; echo "$line" >> said ;;
    *) echo "answers" ;;
    esac
}
below() { for c in $(pgrep -P $1); do echo $c; below $c; done; }
# the watcher is stopped, so that only the check at the start is left
session() {
    echo "$1"
    $K run --policy one t < in > out 2> err & p=$!
    exec 3> in
    id=1
    echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}' >&3
    echo '{"jsonrpc":"2.0","method":"notifications/initialized"}' >&3
    call
    watcher=
    for c in $(pgrep -P $p -x kennel); do
        ls -l /proc/$c/fd | grep -q '/log' || watcher="$watcher $c"
    done
    set -- $watcher "$1" "$2"
    test $# = 3 || { echo "watchers: $watcher"; return; }
    kill -STOP $1
    eval "$3"
    kill -9 $(below $p | while read c; do test "$(cat /proc/$c/comm)" = toy && echo $c; done)
    sleep 3
    call
    cat err >> said
    kill -CONT $1 2>/dev/null
    exec 3>&-
    wait $p
    cat good > $L
}
session kept :
session removed 'echo kennel-current-1 > l; echo end >> l; cat l > $L'
grep -c -m 1 'not in /etc/kennel/trust/current' said
cat said out >&2
"""

RESTARTED_WANTED = """kept
answers
answers
removed
answers
refused
1
"""


@test("removal revokes at a restart: the starter checks the list, also while nothing watches it", 120)
def restarted():
    if os.geteuid() != 0:
        skip("only root can cover /etc with a folder of root's")
    folder = public_folder("restarted")
    env = environment({"T": folder, "K": KENNEL, "P": policy("    run %s\n    tool allow *\n" % words(TOY))})
    r = run(["unshare", "-m", "sh", "-c", RESTARTED], env=env, timeout=110)
    if r.returncode == 77:
        skip("no overlay can be mounted here")
    equal(r.stdout.decode(), RESTARTED_WANTED, r.stderr.decode()[-3000:])


@test("policies that are signed at the same time are all in the list of current policies", 120)
def signed_at_once():
    env = environment({"HOME": TMP + "/at-once"})
    os.makedirs(env["HOME"])
    where = env["HOME"]
    equal(run([KENNEL, "policy", "key", "new", where + "/k"], env=env).returncode, 0)
    names = ["s%d" % i for i in range(16)]
    for n in names:
        with open(where + "/" + n, "w") as f:
            f.write("server %s {\n    run %s **\n}\n" % (n, words(WITNESS)))
        os.chmod(where + "/" + n, 0o600)
        r = run([KENNEL, "policy", "compile", where + "/" + n, "-o", where + "/" + n + ".sealed"], env=env)
        equal(r.returncode, 0, r.stderr)

    def sign(n):
        return [KENNEL, "policy", "sign", where + "/" + n + ".sealed", "--key", where + "/k", "--current", where + "/current"]
    for _ in range(3):
        started = [start(sign(n), env=env, stderr=subprocess.PIPE) for n in names]
        for p in started:
            equal(p.wait(60), 0, p.stderr.read())
        text = reads(where + "/current").decode().splitlines()
        equal((text[0], text[-1]), ("kennel-current-1", "end"))
        equal(sorted(line.split()[2] for line in text[1:-1]), sorted(names), "each once")
        os.unlink(where + "/current")
    # a directory that stays locked: an error within a bounded time, and no list
    fd = os.open(where, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    r = run(sign("s0"), env=env, timeout=60)
    equal(r.returncode, 78, r.stderr)
    within(b"unable to lock the directory of", r.stderr)
    check(not os.path.exists(where + "/current"))
    os.close(fd)
    equal(run(sign("s0"), env=env).returncode, 0, "the control: not locked")


if __name__ == "__main__":
    main()
