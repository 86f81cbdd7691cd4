# SPDX-License-Identifier: Apache-2.0
"""deploy/release --repository: apt and dnf install from its folders over a web server, and refuse what the key did not sign."""

import functools
import glob
import http.server
import os
import re
import shutil
import tempfile
import threading

from checks import NAME, PACKAGES, SOURCE, WORK, check, equal, finish, output, run


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def key(work, name):
    """An armoured secret key, and its public half in a file."""
    home = f"{work}/{name}"
    os.makedirs(home, mode=0o700)
    environment = {**os.environ, "GNUPGHOME": home}
    run("gpg", "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", f"{name} <{name}@example.org>", "ed25519", "sign", "never", env=environment)
    with open(f"{work}/{name}.asc", "w") as f:
        f.write(output("gpg", "--batch", "--armor", "--export", env=environment))
    secret = output("gpg", "--batch", "--armor", "--pinentry-mode", "loopback", "--passphrase", "", "--export-secret-keys", env=environment)
    run("gpgconf", "--kill", "gpg-agent", env=environment, check_status=False)
    return secret


def make(folder, **environment):
    clean = {k: v for k, v in os.environ.items() if k != "RELEASE_KEY"}
    return run(f"{SOURCE}/deploy/release", "--repository", folder, check_status=False, env={**clean, "SOURCE_DATE_EPOCH": "1767323045", **environment})


def filled(work, name):
    folder = f"{work}/{name}"
    os.makedirs(folder)
    for path in glob.glob(f"{PACKAGES}/*.deb") + glob.glob(f"{PACKAGES}/*.rpm"):
        shutil.copy2(path, folder)
    return folder


def refusals(work, secret):
    def refused(what, folder, words, **environment):
        status, text = make(folder, **environment)
        check(f"refused in one line: {what}", status != 0 and words in text and text.count("\n") == 1, text)

    os.makedirs(f"{work}/empty")
    refused("a folder without packages", f"{work}/empty", "has no .deb", RELEASE_KEY=secret)
    folder = filled(work, "unsigned")
    refused("no key", folder, "RELEASE_KEY has no key")
    refused("something that is no key", folder, "no secret key", RELEASE_KEY="hello")
    with open(f"{work}/owner.asc") as f:
        refused("a public key", folder, "no secret key", RELEASE_KEY=f.read())
    equal("nothing is left of these", [n for n in os.listdir(folder) if not n.endswith((".deb", ".rpm"))], [])


def apt(work, url, key_file):
    """A machine's apt, in a folder of its own: (status, output) of an update, and the versions that it then offers."""
    root = tempfile.mkdtemp(dir=work)
    for folder in ("lists/partial", "cache/archives/partial", "dpkg"):
        os.makedirs(f"{root}/{folder}")
    open(f"{root}/dpkg/status", "w").close()
    with open(f"{root}/sources.list", "w") as f:
        f.write(f"deb [signed-by={key_file}] {url} ./\n")
    options = [word for setting in (f"Dir::Etc::SourceList={root}/sources.list", "Dir::Etc::SourceParts=/dev/null", f"Dir::State={root}", f"Dir::State::Lists={root}/lists",
                                    f"Dir::State::Status={root}/dpkg/status", f"Dir::Cache={root}/cache", "APT::Sandbox::User=root", "APT::Update::Error-Mode=any",
                                    "Debug::NoLocking=1") for word in ("-o", setting)]
    status, text = run("apt-get", *options, "update", check_status=False)
    _, downloaded = run("apt-get", *options, "download", NAME, check_status=False, cwd=root)
    return status, text, downloaded, sorted(os.path.basename(p) for p in glob.glob(f"{root}/*.deb"))


def dnf(work, url, key_file):
    root = tempfile.mkdtemp(dir=work)
    with open(f"{root}/gpu.repo", "w") as f:
        f.write(f"[gpu]\nname=gpu\nbaseurl={url}\nenabled=1\ngpgcheck=1\nrepo_gpgcheck=1\ngpgkey=file://{key_file}\n")
    # Debian has no dnf-plugins-core: a transaction that only downloads, without what the packages depend on, is "repoquery" here.
    return run("dnf", "-y", f"--setopt=reposdir={root}", f"--setopt=cachedir={root}/cache", f"--installroot={root}/root", "--releasever=1",
               "--disableplugin=*", "repoquery", "--location", NAME, check_status=False)


def signature(work, key_file, package):
    """(whether rpm, which dnf asks, finds that this key signed the package; what it says)."""
    with tempfile.TemporaryDirectory(dir=work) as database:
        run("rpmkeys", "--dbpath", database, "--import", key_file)
        status, text = run("rpmkeys", "--dbpath", database, "--define", "_pkgverify_level all", "--checksig", "--verbose", package, check_status=False)
    return status == 0 and "Signature, key ID" in text, text


def same(one, other):
    with open(one, "rb") as f, open(other, "rb") as g:
        return f.read() == g.read()


def main():
    os.makedirs(WORK, exist_ok=True)
    work = tempfile.mkdtemp(prefix="repositories.")  # a short path: GnuPG's sockets
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=work))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        secret = key(work, "owner")
        key(work, "stranger")
        refusals(work, secret)
        folder = filled(work, "made")
        status, text = make(folder, RELEASE_KEY=secret)
        if not check("repositories are made", status == 0, text):
            finish()
        refused = make(folder, RELEASE_KEY=secret)
        check("and not made twice", refused[0] != 0 and "already" in refused[1], refused[1])
        equal("nothing secret is left beside them", sorted(n for n in os.listdir(folder) if not n.endswith((".deb", ".rpm"))), ["apt", "rpm"])
        public = f"{folder}/apt/key.asc"

        deb = next(os.path.basename(p) for p in glob.glob(f"{folder}/{NAME}_*.deb"))
        status, text, downloaded, files = apt(work, f"{url}/made/apt", public)
        check("apt takes it", status == 0 and files, f"{text}{downloaded}")
        equal("and downloads the package", [re.sub(r"%3a|~", "~", f) for f in files], [deb])
        status, text, _, files = apt(work, f"{url}/made/apt", f"{work}/stranger.asc")
        check("apt refuses what another key has to sign", status != 0 and "NO_PUBKEY" in text and not files, text)

        rpm = next(os.path.basename(p) for p in glob.glob(f"{folder}/{NAME}-[0-9]*.x86_64.rpm"))
        status, text = dnf(work, f"{url}/made/rpm", public)
        check("dnf takes it", status == 0 and f"/made/rpm/{rpm}" in text, text)
        status, text = dnf(work, f"{url}/made/rpm", f"{work}/stranger.asc")
        check("dnf refuses what another key has to sign", rpm not in text and re.search("GPG|signature", text), text)

        packages = sorted(glob.glob(f"{folder}/rpm/*.rpm"))
        for path in packages:
            check(f"{os.path.basename(path)} has a signature of its own", *signature(work, public, path))
            status, text = signature(work, f"{work}/stranger.asc", path)
            check("which another key has not made", not status, text)
        broken = shutil.copy(packages[0], f"{work}/broken.rpm")
        with open(broken, "r+b") as f:
            f.seek(-100, os.SEEK_END)
            f.write(b"changed")
        status, text = signature(work, public, broken)
        check("a package that somebody changed is refused", not status, text)
        equal("the packages beside the repositories are as they were built", [p for p in glob.glob(f"{folder}/*.rpm") if not same(p, f"{PACKAGES}/{os.path.basename(p)}")], [])

        # An index that somebody changed after it was signed.
        with open(f"{folder}/apt/InRelease") as f:
            text = f.read()
        with open(f"{folder}/apt/InRelease", "w") as f:
            f.write(text.replace("Label: intel", "Label: other"))
        os.unlink(f"{folder}/apt/Release.gpg")
        status, text, _, files = apt(work, f"{url}/made/apt", public)
        check("apt refuses a changed index", status != 0 and "BADSIG" in text and not files, text)
        with open(f"{folder}/rpm/repodata/repomd.xml", "a") as f:
            f.write("<!-- -->\n")
        status, text = dnf(work, f"{url}/made/rpm", public)
        check("so does dnf", rpm not in text and re.search("GPG|signature", text), text)
    finally:
        server.shutdown()
        shutil.rmtree(work, ignore_errors=True)
    finish()


main()
