"""Signed policies: what /etc/kennel/trust wants is what starts, each refusal beside
a start.  /etc and /var/lib are covered in a mount namespace of the test's own."""
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


if __name__ == "__main__":
    main()
