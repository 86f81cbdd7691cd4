# SPDX-License-Identifier: Apache-2.0
"""Shared by the packaging tests: one line per check, and programs in other roots."""

import contextlib
import fcntl
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WORK = os.path.join(SOURCE, "build", "packaging")
PACKAGES = os.path.join(SOURCE, "build", "release", "packages")
BINARY = os.path.join(SOURCE, "build", "release", "exporter", "intel-gpu-exporter")
NAME = "intel-gpu-exporter"

_failed = []


def check(name, good, detail=""):
    print(f"ok   {name}" if good else f"FAIL {name}: {detail}", flush=True)
    if not good:
        _failed.append(name)
    return good


def equal(name, got, expected):
    return check(name, got == expected, f"got {got!r}, expected {expected!r}")


def finish():
    sys.exit(f"{len(_failed)} failed: {'; '.join(_failed)}" if _failed else 0)


def run(*command, check_status=True, **more):
    """(status, stdout and stderr); a failure ends the test with the program's output."""
    more.setdefault("timeout", 500)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
                          errors="replace", **more)
    if check_status and done.returncode != 0:
        print(done.stdout)
        sys.exit(f"FAIL {' '.join(map(str, command))}: exit status {done.returncode}")
    return done.returncode, done.stdout


def output(*command, **more):
    return run(*command, **more)[1]


def help_flags(binary=BINARY):
    """Every flag in --help, switches in both forms."""
    flags = []
    for no, name in re.findall(r"^  --(\[no-\])?([a-z0-9._-]+)", output(binary, "--help-all"), re.M):
        flags.append("--" + name)
        if no:
            flags.append("--no-" + name)
    return flags


@contextlib.contextmanager
def serving(command, **more):
    """Runs a command line of the exporter that listens on port 0, and yields its base URL."""
    # Its own process group: unshare(1) does not forward signals.
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               start_new_session=True, **more)
    log, url = [], None
    try:
        while url is None:
            line = process.stderr.readline()
            if not line:
                raise RuntimeError(f"{command} ended with {process.wait()}: {''.join(log)}")
            log.append(line)
            found = re.search(r"msg=listening address=\"?(?:127\.0\.0\.1|\[::\]|0\.0\.0\.0):(\d+)", line)
            url = f"http://127.0.0.1:{found.group(1)}" if found else None
        yield url
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        killer = threading.Timer(20, os.killpg, (process.pid, signal.SIGKILL))
        killer.start()
        while process.stderr.readline():  # its other end closes when the last process of the group has exited
            pass
        killer.cancel()
        process.wait()


def fetch(url):
    with urllib.request.urlopen(url, timeout=30) as answer:
        return answer.status, answer.read().decode()


def mirror():
    """(mirror, suite): those that this machine's own apt uses."""
    for line in output("apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME)", "Created-By: Packages").splitlines():
        uri, suite = line.split()
        if suite == "bookworm":
            return uri, suite
    sys.exit("apt knows no mirror of Debian 12")


def debian_root(root):
    """A root file system of Debian 12 with systemd and without any file of this project. Bootstrapped once a day; an archive each
    time."""
    archive, new = f"{WORK}/debian.tar", f"{WORK}/debian.new.tar"
    os.makedirs(root, exist_ok=True)
    with open(f"{WORK}/debian.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(archive) or time.time() - os.path.getmtime(archive) > 86400:
            uri, suite = mirror()
            run("mmdebstrap", "--variant=minbase", "--quiet", "--include=systemd,dbus,pci.ids,ca-certificates", suite, new, uri)
            os.replace(new, archive)
    run("tar", "-C", root, "--numeric-owner", "--xattrs", "-xpf", archive)
