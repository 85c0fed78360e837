import multiprocessing
import os
import subprocess
import sys
import unittest

CONFINED = "bare" not in sys.argv


def square(x):
    return x * x


class Starts(unittest.TestCase):
    def test_run(self):
        self.assertEqual(subprocess.run(["/bin/echo", "good"], capture_output=True).stdout, b"good\n")

    def test_posix_spawn(self):
        pid = os.posix_spawn("/bin/echo", ["/bin/echo", "good"], os.environ)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)

    def test_pipeline(self):
        a = subprocess.Popen(["/usr/bin/seq", "1", "5"], stdout=subprocess.PIPE)
        b = subprocess.run(["/usr/bin/wc", "-l"], stdin=a.stdout, capture_output=True)
        a.wait()
        a.stdout.close()
        self.assertEqual(b.stdout.strip(), b"5")

    def test_module(self):
        r = subprocess.run([sys.executable, "-m", "json.tool"], input=b"{}", capture_output=True)
        self.assertEqual(r.stdout, b"{}\n", r.stderr)

    def test_fork_pool(self):
        with multiprocessing.get_context("fork").Pool(2) as p:
            self.assertEqual(p.map(square, [1, 2, 3]), [1, 4, 9])

    def test_benign_environment(self):
        env = dict(os.environ, TZ="UTC", LC_ALL="C", COLUMNS="80")
        self.assertEqual(subprocess.run(["/bin/echo", "good"], env=env).returncode, 0)

    @unittest.skipUnless(CONFINED, "nothing is refused here")
    def test_refused(self):
        for cmd in (["/bin/echo", "evil"], ["/bin/echo", "good", "more"], ["/usr/bin/env"],
                    [sys.executable, "-c", "print(1)"], [sys.executable, "-m", "http.server"]):
            with self.assertRaises(OSError, msg=cmd):
                subprocess.run(cmd)
        with self.assertRaises(OSError):
            subprocess.run(["/bin/echo", "good"], env={"LD_PRELOAD": "/tmp/x.so"})
        with self.assertRaises(OSError):
            subprocess.run("echo good", shell=True)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
