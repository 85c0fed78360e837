"""Certificates of an authority of the tests' own."""
import os

from kit import *  # noqa: F403


def certificate(name, host="localhost", days=1, signer=None, start=None):
    """key and certificate; self-signed, or by another."""
    key, crt, csr = ("%s/%s.%s" % (TMP, name, x) for x in ("key", "crt", "csr"))
    run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key])
    extra = ["-addext", "subjectAltName=%s:%s" % ("IP" if host[0].isdigit() else "DNS", host)] if signer else []
    subject = ["-subj", "/CN=%s" % name]
    if signer is None:
        r = run(["openssl", "req", "-x509", "-new", "-key", key, "-out", crt, "-days", str(days)] + subject)
    else:
        run(["openssl", "req", "-new", "-key", key, "-out", csr] + subject + extra)
        when = ["-not_before", start[0], "-not_after", start[1]] if start else ["-days", str(days)]
        r = run(["openssl", "x509", "-req", "-in", csr, "-out", crt, "-CA", signer[1], "-CAkey", signer[0],
                 "-CAcreateserial", "-copy_extensions", "copyall"] + when)
    check(r.returncode == 0, r.stderr)
    os.chmod(crt, 0o644)
    return key, crt


def expired(name, signer):
    """openssl 3.0 signs for a span of days only: a negative one ends before it begins."""
    return certificate(name, signer=signer, days=-1)
