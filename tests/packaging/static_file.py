# SPDX-License-Identifier: Apache-2.0
"""The static file: in root file systems that have nothing but /proc, /sys and /dev, beside the dynamic build."""

import contextlib
import glob
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request

from checks import BINARY, NAME, PACKAGES, SOURCE, check, debian_root, equal, finish, mirror, output, run

MOST_BYTES = 12_000_000
CAPTURE = f"{SOURCE}/tests/machines/simulated-arc-a770.tar.zst"


class NotReached(Exception):
    """An archive that this machine cannot reach: what needs it stays untried."""


@contextlib.contextmanager
def empty_root(static, fill=lambda root: None):
    """A folder with the file, what fill() puts there, and the kernel's file systems."""
    with tempfile.TemporaryDirectory() as root:
        fill(root)
        shutil.copy2(static, f"{root}/{NAME}")
        mounted = []
        try:
            for folder, kind in (("proc", "proc"), ("sys", "sysfs")):
                os.makedirs(f"{root}/{folder}", exist_ok=True)
                run("mount", "-t", kind, "none", f"{root}/{folder}")
                mounted.append(folder)
            os.makedirs(f"{root}/dev", exist_ok=True)
            run("mount", "--bind", "/dev", f"{root}/dev")
            mounted.append("dev")
            yield root
        finally:
            for folder in reversed(mounted):
                run("umount", "-l", f"{root}/{folder}")


def inside(root, *arguments, **more):
    return run("chroot", root, f"/{NAME}", *arguments, check_status=False, **more)


@contextlib.contextmanager
def serving(command, host="127.0.0.1"):
    """Yields the port; the program must end with 0 on SIGTERM."""
    process = subprocess.Popen([*command, f"--web.listen-address={host}:0"], stderr=subprocess.PIPE, text=True)
    lines, port = [], None
    for line in process.stderr:
        lines.append(line)
        if found := re.search(r"(?:127\.0\.0\.1|\[::1\]):(\d+)", line):
            port = int(found[1])
            break
    check(f"{command[-1]}: it listens", port is not None, "".join(lines))
    try:
        yield port
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=120)
        equal(f"{command[-1]}: ended by SIGTERM", process.returncode, 0)


def page(port):
    with urllib.request.urlopen(f"http://localhost:{port}/metrics", timeout=120) as answer:
        return answer.read().decode()


def names(text):
    """Every series without its value, but those about the process itself."""
    return sorted({line.rsplit(" ", 1)[0] for line in text.splitlines()
                   if line and not re.match(r"#|process_|intel_gpu_exporter_(build_info|web|sandbox)", line)})


def main():
    found = glob.glob(f"{PACKAGES}/{NAME}-*-linux-*")
    if not check("there is one static file", len(found) == 1, found):
        return finish()
    static = found[0]
    version = re.search(r"version (\S+)", output(BINARY, "--version"))[1]
    equal("its name", os.path.basename(static), f"{NAME}-{version}-linux-{output('dpkg', '--print-architecture').strip()}")
    check("its size", os.path.getsize(static) <= MOST_BYTES, os.path.getsize(static))
    dynamic = output("readelf", "-d", static)
    check("it needs no library", "NEEDED" not in dynamic, dynamic)
    check("it needs no loader", "INTERP" not in output("readelf", "-l", static))
    check("ldd", "statically linked" in run("ldd", static, check_status=False)[1])

    with empty_root(static) as root:
        for arguments in (["--version"], ["help"], ["list", "--simulate=rack"], ["stats", "--simulate=rack"], ["query", "--simulate=rack"],
                          ["top", "--once", "--simulate=arc-a770"], ["intel_gpu_top", "-h"]):
            status, text = inside(root, *arguments)
            check(f"{' '.join(arguments)} in an empty root", status == 0 and text, f"{status} {text[-400:]}")
        for command in ("list", "doctor"):
            status, text = inside(root, command)
            check(f"{command} in an empty root", status == 1 and "GPU" in text, f"{status} {text[-400:]}")
        status, text = inside(root, "top", "--once", "localhost:1")
        check("top URL says what to install", status == 1 and "libcurl4" in text, f"{status} {text[-400:]}")
        status, text = inside(root, "serve", "--web.listen-address=no.such.host.invalid:0")
        check("a host that does not exist", status == 1 and "cannot listen on" in text, f"{status} {text[-400:]}")
        status, text = inside(root, "setup", "--dry-run")
        check("setup without a service manager", status == 0 and "neither systemd nor OpenRC" in text, text)
        with serving(["chroot", root, f"/{NAME}", "--simulate=rack"]) as port:
            text = page(port)
            check("it serves", "intel_gpu_engine_busy_ratio" in text)
            layers = re.findall(r'^intel_gpu_exporter_sandbox\{.*?\} (\d)', text, re.M)
            with serving([BINARY, "--simulate=rack"]) as other:
                own = page(other)
                equal("every layer of the sandbox is on as in the dynamic build", layers,
                      re.findall(r'^intel_gpu_exporter_sandbox\{.*?\} (\d)', own, re.M))
                equal("the same series as the dynamic build", names(text), names(own))

    # What a package brings beside the program.
    for shell in ("bash", "zsh", "fish"):
        status, text = run(static, "completion", shell, check_status=False)
        check(f"completion {shell}", status == 0 and NAME in text and "--simulate" in text, text[:200])
    status, text = run(static, "completion", "ksh", check_status=False)
    equal("a shell without a completion", (status, text),
          (2, f"{NAME}: ksh is not a shell with a completion: bash, zsh or fish\n"))
    check("man", output(static, "man").startswith(".TH") or ".TH " in output(static, "man"))
    check("man top", "top" in output(static, "man", "top"))
    equal("man of no command", run(static, "man", "tap", check_status=False), (2, f"{NAME}: no command has this name\n"))
    same_page(static)
    sandboxed(static)
    terminal(static)
    other_systems(static)
    service(static)
    finish()


def same_page(static):
    """Of a recorded machine, from which comes all that the program reads."""
    pages, readings = [], []
    for program in (static, BINARY):
        with serving([program, f"--simulate=capture:{CAPTURE}"]) as port:
            pages.append([line for line in page(port).splitlines() if not line.startswith("process_")])
        readings.append([run(program, "stats", f"--format={format}", f"--simulate=capture:{CAPTURE}", check_status=False)
                         for format in ("table", "prometheus", "nvtop", "waybar")])
    check("the capture has a page", len(pages[0]) > 300, pages[0])
    check("the page is the dynamic build's, byte for byte", pages[0] == pages[1], [pair for pair in zip(*pages) if pair[0] != pair[1]])
    check("so is what stats prints", readings[0] == readings[1], [pair for pair in zip(*readings) if pair[0] != pair[1]])


def sandboxed(static):
    """The test of the sandbox that reads every system call, on the static file, which pushes nothing."""
    status, text = run("/usr/bin/python3", f"{SOURCE}/tests/end_to_end/sandbox_calls.py", static, SOURCE, "plain", "tls", check_status=False)
    check("no call of its own is refused by its sandbox, and nothing is written", status == 0, text[-2000:])


def other_systems(static):
    """Roots of systems that people have: other C libraries, whose modules must not get into the file, and none."""
    uri, _ = mirror()

    def debian(suite):
        def fill(root):
            os.rmdir(root)
            # Only unpacked: nothing of it runs here but the static file.
            run("mmdebstrap", "--variant=extract", "--quiet", "--include=base-files,base-passwd,libc-bin,libnss-systemd,libnss-resolve,libnss-myhostname,openssl",
                suite, root, uri)
            os.chmod(root, 0o755)
            with open(f"{root}/etc/nsswitch.conf", "w") as f:
                f.write("passwd: files systemd\ngroup: files systemd\nhosts: resolve [!UNAVAIL=return] files myhostname dns\n")
            with open(f"{root}/etc/hosts", "w") as f:
                f.write("127.0.0.1 localhost\n")
        return fill

    def ubuntu(suite):
        def fill(root):
            os.rmdir(root)
            # From mmdebstrap's default mirror. Debian has no keys of Ubuntu's; nothing of it runs here but the static file.
            options = [f"--aptopt={line}" for line in ('Acquire::AllowInsecureRepositories "true"', 'APT::Get::AllowUnauthenticated "true"', 'Acquire::Retries "0"')]
            status, text = run("mmdebstrap", "--variant=extract", "--quiet", "--include=base-files,base-passwd,libc-bin", *options, suite, root, check_status=False)
            os.makedirs(root, exist_ok=True)
            if status != 0:
                raise NotReached(text.strip().splitlines()[-1])
            os.chmod(root, 0o755)
            with open(f"{root}/etc/hosts", "w") as f:
                f.write("127.0.0.1 localhost\n")
        return fill

    def busybox(root):
        """As Alpine: musl, BusyBox, and files without a name service switch."""
        for package in ("musl", "busybox-static"):
            run("apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", package, cwd=root)
        for package in glob.glob(f"{root}/*.deb"):
            run("dpkg-deb", "-x", package, root)
            os.unlink(package)
        os.makedirs(f"{root}/etc", exist_ok=True)
        for name, text in {"passwd": "root:x:0:0:root:/root:/bin/sh\n", "group": "root:x:0:\n", "hosts": "127.0.0.1 localhost\n"}.items():
            with open(f"{root}/etc/{name}", "w") as f:
                f.write(text)

    # Debian 10 is no longer on the mirrors: Ubuntu 18.04 has an older C library (2.27) than that.
    for system, fill in {"Debian 11": debian("bullseye"), "Debian 13": debian("trixie"), "Ubuntu 18.04": ubuntu("bionic"), "Ubuntu 24.04": ubuntu("noble"),
                         "musl and BusyBox": busybox}.items():
        with contextlib.ExitStack() as stack:
            try:
                root = stack.enter_context(empty_root(static, fill))
            except NotReached as why:
                print(f"untried: {system}: {why}", flush=True)
                continue
            for arguments in (["--version"], ["stats", "--simulate=rack"], ["top", "--once", "--simulate=rack"]):
                status, text = inside(root, *arguments)
                check(f"{system}: {' '.join(arguments)}", status == 0 and text, f"{status} {text[-400:]}")
            status, text = inside(root, "doctor")
            check(f"{system}: doctor", status in (0, 1) and "GPU" in text, f"{status} {text[-400:]}")
            # By a name, which the C library's modules of that system would look up.
            with serving(["chroot", root, f"/{NAME}", "--simulate=rack"], "localhost") as port:
                check(f"{system}: it serves", "intel_gpu_engine_busy_ratio" in page(port))


def terminal(static):
    """top on a terminal of which this root has no description."""
    with empty_root(static) as root:
        command = f"TERM=xterm-256color LANG=C.UTF-8 timeout 20 chroot {root} /{NAME} top --simulate=arc-a770"
        session = f"igpu-static-{os.getpid()}"
        run("tmux", "-L", session, "new-session", "-d", "-s", "view", "-x", "100", "-y", "40", command)
        try:
            text = ""
            for _ in range(200):
                text = run("tmux", "-L", session, "capture-pane", "-p", "-t", "view", check_status=False)[1]
                if "A770" in text:
                    break
                time.sleep(0.1)
            check("top on a terminal, drawn by its own ncurses", "A770" in text and "rcs0  [|" in text, text)
        finally:
            run("tmux", "-L", session, "kill-server", check_status=False)


def service(static):
    """setup and its removal in a root of systemd's that does not run."""
    root = os.path.join(SOURCE, "build", "packaging", "static-root")
    shutil.rmtree(root, ignore_errors=True)
    debian_root(root)
    shutil.copy2(static, f"{root}/root/{NAME}")

    def inside_root(*command):
        # With /proc, as on a machine; in a mount namespace of its own, so there is nothing to unmount.
        return run("unshare", "--mount", "sh", "-c", 'mount --bind /proc "$0/proc" && exec chroot "$0" "$@"', root, *command,
                   check_status=False)

    def files():
        # Without /run, which a machine empties at its start.
        return {os.path.join(folder, name) for folder, folders, names in os.walk(root) for name in (*folders, *names)
                if not folder.startswith(f"{root}/run")}

    before = files()
    status, text = inside_root(f"/root/{NAME}", "setup", "--dry-run")
    check("setup --dry-run changes nothing", status == 0 and files() == before, text)
    for time_ in ("first", "second"):
        status, text = inside_root(f"/root/{NAME}", "setup")
        check(f"setup, {time_} time", status == 0, text)
    check("the service is enabled",
          os.path.islink(f"{root}/etc/systemd/system/multi-user.target.wants/{NAME}.service"))
    status, text = inside_root("systemd-analyze", "verify", f"/etc/systemd/system/{NAME}.service")
    check("systemd accepts the unit", status == 0, text)
    for time_ in ("first", "second"):
        status, text = inside_root(f"/root/{NAME}", "setup", "--remove")
        check(f"setup --remove, {time_} time", status == 0, text)
    equal("the files of before", files() ^ before, set())
    shutil.rmtree(root)


if __name__ == "__main__":
    main()
