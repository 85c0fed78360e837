#!/usr/bin/python3
"""A pinentry that is told its answers: the files of $HOME, since it is started with an environment of its own.

answers: one line for each CONFIRM or GETPIN: ok, notok, cancel, die, wait, or "pin TEXT"; "pages" is ok for each page of a
text. What it got is in asked."""
import json
import os
import sys
import time
import urllib.parse

HOME = os.environ["HOME"]
ERRORS = {"notok": "ERR 83886194 Not confirmed <Pinentry>", "cancel": "ERR 83886179 Operation cancelled <Pinentry>"}


def note(what):
    with open(HOME + "/asked", "a") as f:
        f.write(json.dumps(what) + "\n")


def say(line):
    os.write(1, line.encode() + b"\n")


def next_answer(more):
    with open(HOME + "/answers") as f:
        lines = f.read().splitlines()
    if more and lines and lines[0] == "pages":
        return "ok"
    with open(HOME + "/answers", "w") as f:
        f.write("".join(line + "\n" for line in lines[1:]))
    return lines[0] if lines else "cancel"


note({"env": dict(os.environ), "argv": sys.argv[1:], "fds": sorted(int(x) for x in os.listdir("/proc/self/fd"))[:-1]})
say("OK Pleased to meet you")
texts, options = {}, []
for line in sys.stdin.buffer:
    word, _, rest = line.decode().rstrip("\n").partition(" ")
    if word == "RESET":
        texts = {}
    elif word in ("CONFIRM", "GETPIN"):
        note({"command": word + (" " + rest if rest else ""), "texts": texts, "options": options})
        how, _, pin = next_answer(texts.get("SETOK") == "Next").partition(" ")
        if how == "die":
            sys.exit(1)
        if how == "wait":
            time.sleep(600)
        if how in ERRORS:
            say(ERRORS[how])
            continue
        if how == "pin":
            say("D " + urllib.parse.quote(pin, safe=" "))
    elif word == "OPTION":
        options.append(rest)
    else:
        texts[word] = urllib.parse.unquote(rest)
    say("OK")
