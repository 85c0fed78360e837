"""The rows of policy/clients/clients.c: the files from which agents start programs.

    clients.py            prints their list for kennel-policy(5)
    clients.py --check    compares the pages with them
"""
import os
import re
import sys

SOURCE = os.path.dirname(os.path.abspath(__file__)) + "/../../policy/clients/clients.c"
SCOPES = {"USER": "user", "PROJECT": "project", "MANAGED": "managed"}


class Row:
    """`path` is below the home or the project, `moved` below the directory of `variable`."""

    def __init__(self, client, scope, key, variable, path):
        self.client, self.scope, self.key, self.variable = client, scope, key, variable
        before, bar, after = path.partition("|")
        self.path = (before + "/" + after).lstrip("/") if bar else path
        self.moved = after

    def file(self):
        """The path; in a directory that is read as a whole, that of one file."""
        return self.path + "some.json" if self.path.endswith("/") else self.path


def rows():
    with open(SOURCE) as f:
        text = f.read()
    table = text[text.index("files[] = {"):text.index("\n};")]
    for name, value in re.findall(r'#define (\w+) +("\S*")', text):
        table = re.sub(r"\b%s\b" % name, value, table)
    table = re.sub(r'"\s*"', "", table)
    found = re.findall(r'\{"([\w-]+)", (?:SCOPE_)?(\w+),(?: DIALECT_\w+,)? (?:NULL|"(\w+)"), (?:NULL|"(\w+)"),\s*"([^"]+)"', table)
    if len(found) != len(re.findall(r'\{"', table)) or len(found) < 60:
        raise ValueError("the table of %s has another form: %d rows read" % (SOURCE, len(found)))
    return [Row(client, SCOPES[scope], key, variable, path) for client, scope, key, variable, path in found]


PAGES = os.path.dirname(os.path.abspath(__file__)) + "/../../docs/man/"
NAME = {"user": "~/%s", "project": "%s", "managed": "%s"}


def page():
    """The list of kennel-policy(5): each client with its files."""
    lines, last = [".Bl -tag -width antigravity -compact"], None
    for row in rows():
        if row.client != last:
            lines.append(".It " + row.client)
        elif lines[-1].startswith(".Pa"):
            lines[-1] += " ,"
        lines.append(".Pa " + NAME[row.scope] % row.path)
        last = row.client
    return "\n".join(lines + [".El"]) + "\n"


def differences():
    with open(PAGES + "kennel-policy.5") as f:
        if page() not in f.read():
            yield "kennel-policy.5 does not have the list of tests/lib/clients.py"
    with open(PAGES + "kennel.1") as f:
        text = f.read()
    named = re.findall(r"[\w-]+", re.search(r"\nThe clients are ([^.]*)", text).group(1))
    imported = [row.client for row in rows() if row.key]
    for client in sorted(set(imported) ^ (set(named) - {"and", "with", "the", "files", "of", "user", "project"})):
        yield "kennel.1 and policy/clients/clients.c differ: %s" % client


if __name__ == "__main__":
    wrong = list(differences()) if sys.argv[1:] == ["--check"] else [page()]
    print("\n".join(wrong), end="")
    sys.exit(sys.argv[1:] == ["--check"] and wrong != [])
