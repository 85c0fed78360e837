"""What the exec gate costs: rows of docs/BENCHMARKS.md (bench.py)."""
import os
import shutil
import statistics
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
import kit  # noqa: E402

EXECS = kit.STAGE + "/bin/execs"


def grants(d):
    return "    run %s **\n    exec allow /bin/true\n    exec allow %s good\n    limit processes 400\n" % (
        kit.words(EXECS), kit.words(d + "/goal"))


def once(confined, argv, d):
    cmd = [EXECS] + argv
    r = kit.kexec(grants(d), cmd, timeout=200) if confined else kit.run(cmd, timeout=200)
    kit.check(r.returncode == 0, "execs: %d %s" % (r.returncode, r.stderr[-300:]))
    return [int(x) for x in r.stdout.split()]


def pairs(argv, d, rounds):
    """What it takes without kennel and with it, alternating."""
    got = [[], []]
    for _ in range(rounds):
        for confined in (0, 1):
            got[confined] += once(confined, argv, d)
    return got


def rows(quick=False):
    d = kit.TMP + "/execs"
    os.makedirs(d, mode=0o755, exist_ok=True)
    shutil.copy(kit.STAGE + "/build/attack/exec_goal", d + "/goal")
    os.chmod(d + "/goal", 0o755)
    rounds, n = (2, 100) if quick else (10, 300)
    print("## Execs under the gate\n\n| what | native | kennel | × native |\n| --- | --- | --- | --- |")
    for name, program in (("/bin/true", ["/bin/true"]), ("a program without a library", [d + "/goal", "good"])):
        for kind, text in (("spawn", "posix_spawn"), ("fork", "fork and exec")):
            bare, gated = pairs([kind, str(n)] + program, d, rounds)
            a, b = statistics.median(bare) / 1e3, statistics.median(gated) / 1e3
            print("| %s of %s | %.0f µs | %.0f µs | %.2f |" % (text, name, a, b, b / a), flush=True)
    for name, program in (("/bin/true", ["/bin/true"]), ("a program without a library", [d + "/goal", "good"])):
        each = 10 if quick else 40
        bare, gated = pairs(["loops", str(each)] + program, d, max(2, rounds // 2))
        a, b = (64 * each / (statistics.median(x) / 1e9) for x in (bare, gated))
        print("| 64 loops of %s, together | %.0f a second | %.0f a second | %.2f |" % (name, a, b, b / a), flush=True)
    bare, gated = pairs(["busy", "20000" if quick else "100000"], d, rounds)
    a, b = min(bare) / 1e6, min(gated) / 1e6
    print("| four busy threads that exec nothing (best of %d) | %.0f ms | %.0f ms | %.3f |" % (rounds, a, b, b / a))
    print("\nGoals: an exec ≤ 1.35 × native, 64 loops ≥ 0.6 ×, busy threads ≤ 1.01 ×.\n")


if __name__ == "__main__":
    rows("--quick" in sys.argv)
