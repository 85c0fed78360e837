#!/usr/bin/env python3
"""What the programs of the package are made of, as SPDX 2.3.

    sbom.py STAGE VERSION ARCH OUT

STAGE is what the package installs. Which libraries a program is linked with is read from
the Makefile; which package of this machine has each library, from dpkg. The same tree and
the same packages give the same bytes: the time is that of SOURCE_DATE_EPOCH.
"""
import functools
import hashlib
import json
import os
import re
import subprocess
import sys
import time
import uuid


def output(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout


def links(makefile):
    """Of each program: static or not, and the modules of pkg-config or options of ld."""
    rule = re.compile(r"^\$\((?:BIN|LIBEXEC)\)/(kennel[a-z-]*):.*\n\t\$\(call link,(.*)\)$", re.M)
    with open(makefile) as f:
        text = f.read()
        of = dict(re.findall(r"^LIBRARIES_([a-z]+) = (.*)$", text, re.M))
        for name, how in rule.findall(re.sub(r"\$\(LIBRARIES_([a-z]+)\)", lambda m: of[m.group(1)], text)):
            modules = " ".join(re.findall(r"\$\(call PKG_(?:STATIC|LIBS),([^)]*)\)", how)).split()
            yield name, "-nostdlib" in how, "LINKSTATIC" in how or "-static-pie" in how, "-Bstatic" in how, modules


def packages_of(files):
    """Of each library: its package, the version, and the source with its version."""
    owner, about = {}, {}
    for line in output("dpkg-query", "-S", *sorted("*/" + os.path.basename(f) for f in files)).splitlines():
        package, path = line.split(": ")
        owner.setdefault(os.path.basename(path), package.split(":")[0])
    form = "${Package} ${Version} ${source:Package} ${source:Version}\n"
    for line in output("dpkg-query", "-W", "-f", form, *sorted(set(owner.values()))).splitlines():
        about.setdefault(line.split()[0], tuple(line.split()))
    return {f: about[owner[os.path.basename(f)]] for f in files}


@functools.lru_cache(None)
def found(library):
    """The file that the compiler takes for it."""
    path = output("gcc", "-print-file-name=" + library).strip()
    return path if "/" in path else None


def archives(modules):
    """The static libraries of these modules, and those of the compiler."""
    flags = output("pkg-config", "--libs", "--static", *modules).split() if modules else []
    names = {f[2:] for f in flags if f.startswith("-l")}
    return {a for a in map(found, ["lib%s.a" % n for n in names]) if a is not None}


def parts(program, bare, static, some_static, modules):
    """What is in it, and what it loads: sets of libraries."""
    if bare:
        return set(), set()
    own = archives(modules) if static or some_static else set()
    own |= {found("libgcc.a")} | ({found("libc.a")} if static else set())
    loaded = set() if static else set(re.findall(r"\(NEEDED\).*\[(lib.*)\]", output("readelf", "-dW", program)))
    return own, loaded


def identifier(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-")


def package_row(package, arch):
    name, version, source, source_version = package
    return {
        "SPDXID": identifier("package-" + name), "name": name, "versionInfo": version,
        "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION",
        "sourceInfo": "built from %s %s" % (source, source_version),
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                          "referenceLocator": "pkg:deb/debian/%s@%s?arch=%s" % (name, version.replace("+", "%2B").replace(":", "%3A"), arch)}],
    }


def main(stage, version, arch, out):
    files, packages, relations = [], {}, []

    def relate(a, kind, b):
        relations.append({"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b})

    relate("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-package-kennel")
    programs = []
    for name, *how in sorted(links("Makefile")):
        path = ("usr/bin/" if name == "kennel" else "usr/libexec/kennel/") + name
        programs.append((name, path) + parts(os.path.join(stage, path), *how))
    package = packages_of(set().union(*[own | loaded for _, _, own, loaded in programs]))
    for program, path, own, loaded in programs:
        with open(os.path.join(stage, path), "rb") as f:
            data = f.read()
        files.append({"SPDXID": identifier("file-" + program), "fileName": "./" + path, "fileTypes": ["BINARY"],
                      "checksums": [{"algorithm": a, "checksumValue": hashlib.new(a.lower(), data).hexdigest()}
                                    for a in ("SHA1", "SHA256")],
                      "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION"})
        relate("SPDXRef-package-kennel", "CONTAINS", files[-1]["SPDXID"])
        for kind, some in (("STATIC_LINK", own), ("DYNAMIC_LINK", loaded)):
            for p in sorted({package[f] for f in some}):
                packages[p[0]] = package_row(p, arch)
                relate(files[-1]["SPDXID"], kind, packages[p[0]]["SPDXID"])
    itself = {"SPDXID": "SPDXRef-package-kennel", "name": "kennel", "versionInfo": version,
              "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "Apache-2.0",
              "licenseDeclared": "Apache-2.0", "copyrightText": "NOASSERTION",
              "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                "referenceLocator": "pkg:generic/kennel@%s" % version}]}
    content = {"packages": [itself] + [packages[n] for n in sorted(packages)], "files": files, "relationships": relations}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    when = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", "0")))
    document = {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
                "name": "kennel_%s_%s" % (version, arch), "documentNamespace": uuid.uuid5(uuid.NAMESPACE_OID, digest).urn,
                "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", when), "creators": ["Tool: kennel-sbom"]}}
    document.update(content)
    with open(out, "w") as f:
        json.dump(document, f, indent=1)
        f.write("\n")
    os.chmod(out, 0o644)


if __name__ == "__main__":
    main(*sys.argv[1:])
