"""make screens: pictures of the console for docs/, each of a run in Chromium."""
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../e2e")
from kit import *  # noqa: E402,F403
from console_kit import *  # noqa: E402,F403
from console_scene import Scene  # noqa: E402
from palette import with_palette  # noqa: E402

INTO = os.environ.get("KT_SCREENS")
HEIGHT = {"approvals": 1000}


def picture(page, name):
    raw = TMP + "/raw.png"
    page.picture(raw)
    with open(raw, "rb") as f:
        small = with_palette(f.read())
    os.unlink(raw)
    check(len(small) < 65536, name, len(small))
    with open("%s/%s.png" % (INTO, name), "wb") as f:
        f.write(small)


@test("each page of the console, light and dark, wide and narrow; each picture is smaller than 64 KiB", 300)
def pictures():
    if not INTO:
        skip("no directory for the pictures: make screens")
    os.makedirs(INTO, exist_ok=True)
    s = Scene()
    page = s.page()
    page.until("files</h4>")
    for name in page.value("[...document.querySelectorAll('nav a')].map((a) => a.hash.slice(1)).join()").split(","):
        page.go(name)
        check(wait_for(lambda: page.value("location.hash + document.querySelector('nav a[aria-current]').hash") == 2 * ("#" + name), LONG), name)
        time.sleep(2)  # until it is drawn
        if name == "log":
            page.click("Verify the log")
            page.until("verified to record")
        for scheme in ("light", "dark"):
            page.looks(scheme)
            page.size(1440, HEIGHT.get(name, 800))
            picture(page, name if scheme == "light" else name + "-dark")
            if name == "approvals":
                page.size(360, 1200)
                picture(page, "approvals-360" if scheme == "light" else "approvals-360-dark")
    equal(page.wrong, [])
    s.end()


if __name__ == "__main__":
    os.mkdir(TMP, 0o700)
    try:
        main()
    finally:
        shutil.rmtree(TMP, ignore_errors=True)
