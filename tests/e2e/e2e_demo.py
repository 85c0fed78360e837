"""make demo: what it shows is so, and fits a terminal of 80 columns."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

be_subreaper()
DEMO = STAGE + "/tests/demo/"


@test("the demo goes as it says, in at most 170 lines of 80 columns", 120)
def demo():
    if not os.path.exists(NODE):
        skip("the npm servers are not installed")
    d = TMP + "/demo"
    os.mkdir(d, 0o700 if AS == "user" else 0o755)
    r = run([sys.executable, DEMO + "demo.py", "--inner"], timeout=110, env={
        "KT_STAGE": STAGE, "KT_TMP": d, "KT_AS": AS, "KT_UID": str(UID), "KENNEL_HOME": d + "/home",
        "TMPDIR": TMP, "PYTHONDONTWRITEBYTECODE": "1"})
    text = r.stdout.decode()
    equal(r.returncode, 0, text + r.stderr.decode())
    for part in ("All as the policies say.", "kennel approve allow", "hide $DEMO/project/private  # ", "redacted",
                 "\nNow try:\n"):
        within(part, text)
    equal([line for line in text.splitlines() if len(line) > 80], [])
    check(len(text.splitlines()) <= 170, len(text.splitlines()))


@test("a build is one line; a warning is shown, and a failure fails", 30)
def progress():
    def build(script):
        r = run([sys.executable, DEMO + "progress.py", "sh", "-c", script])
        return r.returncode, r.stdout.decode()
    status, text = build("echo '  CC      a.c'; echo '  LINK    a'")
    equal((status, text.split(":")[0], text.count("\n")), (0, "kennel is built", 1))
    equal(build("echo \"make[1]: Nothing to be done for 'all'.\""), (0, "kennel is built\n"))
    equal(build("echo '  CC      a.c'; echo 'a.c:1: warning' >&2; exit 2"), (2, "a.c:1: warning\n"))


if __name__ == "__main__":
    main()
