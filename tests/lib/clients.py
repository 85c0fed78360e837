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

    def __init__(self, client, scope, key, variable, path, editor=None):
        self.client, self.scope, self.key, self.variable = client, scope, key, variable
        self.editor = editor  # the user directory of an editor that has it
        before, bar, after = path.partition("|")
        self.path = (before + "/" + after).lstrip("/") if bar else path
        self.moved = after

    def file(self):
        """The path; in a directory that is read as a whole, and of any name, that of one file."""
        return one_of(self.path)


def one_of(path):
    return (path + "some.json" if path.endswith("/") else path).replace("*", "some")


FORM = r'\{"([\w-]+)", (?:SCOPE_)?(\w+),(?: DIALECT_\w+,)? (?:NULL|"([\w.]+)"), (?:NULL|"(\w+)"),\s*"([^"]+)"'


def expand(text):
    """The rows of each EDITOR(client, variable, dir), with the directory after them."""
    body = re.search(r"#define EDITOR\(client, variable, dir\)(.*?[^\\])\n", text, re.S).group(1).replace("\\\n", "")
    table = text[text.index("files[] = {"):text.index("\n};")]

    def one(m):
        client, variable, path = m.groups()
        rows = body.replace("dir", '"%s"' % path).replace("{client", '{"%s"' % client).replace("variable", variable)
        return rows.replace("}", " /%s/}" % path)
    return re.sub(r'EDITOR\("([^"]+)",\s*(\S+),\s*"([^"]+)"\)', one, table)


def rows():
    with open(SOURCE) as f:
        text = f.read()
    table = expand(text)
    for name, value in re.findall(r'#define (\w+) +("\S*")', text):
        table = re.sub(r"\b%s\b" % name, value, table)
    table = re.sub(r"\s+", " ", re.sub(r'"\s*"', "", table))
    found = re.findall(FORM + r"(?:, true)?(?:, \.folds = true)?(?: /([^}]+)/)? ?\}", table.replace("{ ", "{"))
    if len(found) != len(re.findall(r'\{ ?"', table)) or len(found) < 60:
        raise ValueError("the table of %s has another form: %d rows read" % (SOURCE, len(found)))
    return [Row(client, SCOPES[scope], *rest) for client, scope, *rest in found]


PAGES = os.path.dirname(os.path.abspath(__file__)) + "/../../docs/man/"
NAME = {"user": "~/%s", "project": "%s", "managed": "%s"}


def page():
    """The list of kennel-policy(5): each client with its files."""
    lines, last = [".Bl -tag -width antigravity -compact"], None
    for row in rows():
        if row.editor:
            continue
        if row.client != last:
            lines.append(".It " + row.client)
        elif lines[-1].startswith(".Pa"):
            lines[-1] += " ,"
        lines.append(".Pa " + quoted(NAME[row.scope] % row.path))
        last = row.client
    lines += [".El", ".Pp", "VS Code and the editors that are made of it have a user directory each:"]
    places = [row.editor.replace("|", "/") for row in rows() if row.editor]
    below = [row.path[len(row.editor):] for row in rows() if row.editor]
    for of, head in ((places, "~/%s"), (below, "%s")):
        for path in dict.fromkeys(of):
            lines.append(".Pa %s ," % quoted(head % path))
        lines[-1] = lines[-1][:-1] + "."
        if of is places:
            lines.append("The files in it are")
    return "\n".join(lines) + "\n"


def quoted(path):
    return '"%s"' % path if " " in path else path


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
