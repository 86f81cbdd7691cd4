# SPDX-License-Identifier: Apache-2.0
"""The package on a fresh Debian 12: install an older version, serve, upgrade, remove, purge; then the .rpm in the same root."""

import glob
import os
import re
import shutil
import socket
import stat
import tempfile
import time

from checks import NAME, PACKAGES, WORK, check, debian_root, equal, fetch, finish, output, run, serving

UNIT = f"{NAME}.service"
SETTING = f"etc/sysctl.d/60-{NAME}.conf"
WANTED = f"etc/systemd/system/multi-user.target.wants/{UNIT}"


def older(deb):
    """The same package with a lower version and its settings at that time."""
    work = tempfile.mkdtemp(dir=WORK)
    run("dpkg-deb", "-R", deb, work)
    for path, old, new in [("DEBIAN/control", r"^Version: .*", "Version: 0.0.1-1"),
                           ("etc/default/" + NAME, r"\A", "# Settings of version 0.0.1.\n")]:
        with open(f"{work}/{path}") as f:
            text = re.sub(old, new, f.read(), count=1, flags=re.M)
        with open(f"{work}/{path}", "w") as f:
            f.write(text)
    settings = f"etc/default/{NAME}"
    sums = [l for l in open(f"{work}/DEBIAN/md5sums") if not l.endswith(settings + "\n")]
    with open(f"{work}/DEBIAN/md5sums", "w") as f:
        f.writelines(sums)
    target = f"{WORK}/{NAME}_0.0.1-1_amd64.deb"
    run("dpkg-deb", "--root-owner-group", "-Zgzip", "-b", work, target)
    shutil.rmtree(work)
    return target


class Root:
    """Debian 12 as debootstrap creates it, without any file of this project."""

    def __init__(self):
        self.path = tempfile.mkdtemp(dir=WORK, prefix="root.")
        started = time.monotonic()
        # As on a freshly installed machine: services are known but not started, as systemd does not run here.
        debian_root(self.path)
        self.chroot("apt-get", "-qq", "update")
        print(f"     root made in {time.monotonic() - started:.0f} s")

    def chroot(self, *command, **more):
        more.setdefault("env", {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"})
        # With /proc, which systemd-tmpfiles needs; in a mount namespace of its own, so there is nothing to unmount.
        return run("unshare", "--mount", "sh", "-c", 'mount --bind /proc "$0/proc" && exec chroot "$0" "$@"', self.path, *command, **more)

    def install(self, package):
        shutil.copy(package, f"{self.path}/tmp/")
        return self.chroot("apt-get", "-qq", "-y", "--no-install-recommends", "install", f"/tmp/{os.path.basename(package)}")[1]

    def answer(self, wanted):
        """To the package's question, as an administrator of many machines gives it."""
        self.chroot("sh", "-c", f"echo '{NAME} {NAME}/perf-events boolean {wanted}' | debconf-set-selections")

    def version(self):
        return output("dpkg-query", f"--admindir={self.path}/var/lib/dpkg", "-W", "-f", "${Version}", NAME)

    def exists(self, path):
        return os.path.lexists(f"{self.path}/{path}")

    def read(self, path):
        with open(f"{self.path}/{path}") as f:
            return f.read()

    def write(self, path, text):
        with open(f"{self.path}/{path}", "w") as f:
            f.write(text)

    def ours(self):
        """All files with the package's name or in its folders."""
        found = output("find", self.path, "-xdev", "-name", f"*{NAME}*", "-not", "-path", f"{self.path}/tmp/*",
                       "-not", "-path", f"{self.path}/var/log/*").split()
        return sorted(os.path.relpath(path, self.path) for path in found)

    def service(self, unit_path):
        """(command line, environment) of the service in this root, as systemd would run it, except for the sandbox."""
        unit = self.read(unit_path)
        command = re.search(r"^ExecStart=(.*)$", unit, re.M).group(1).split()
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        for path in re.findall(r"^EnvironmentFile=-(.*)$", unit, re.M):
            for line in self.read(path.lstrip("/")).splitlines():
                if line and not line.startswith("#"):
                    name, _, value = line.partition("=")
                    environment[name] = value
        # A user without privileges, like that of DynamicUser=.
        return ["chroot", "--userspec=61184:61184", self.path, *command], environment


def serves(root, unit_path, what):
    command, environment = root.service(unit_path)
    with serving(command, env=environment) as url:
        status, page = fetch(url + "/metrics")
        version = re.search(r'intel_gpu_exporter_build_info\{version="([^"]+)"', page)
        check(f"{what}: the service's command line serves", status == 200 and version, page[:300])
        port = url.rsplit(":", 1)[1]
        health = {**environment, "INTEL_GPU_EXPORTER_WEB_LISTEN_ADDRESS": f"127.0.0.1:{port}"}
        equal(f"{what}: its health check agrees", run(*command, "healthcheck", env=health)[0], 0)


def start_time(root, unit_path):
    """Seconds from exec to READY=1, through a NOTIFY_SOCKET as systemd provides it; None if the unit does not wait for it."""
    command, environment = root.service(unit_path)
    if "Type=notify" not in root.read(unit_path):
        return None
    path = f"{root.path}/tmp/notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.bind(path)
        os.chmod(path, 0o777)
        notify.settimeout(30)
        started = time.monotonic()
        with serving(command, env={**environment, "NOTIFY_SOCKET": "/tmp/notify"}):
            message = notify.recv(4096).decode()
            took = time.monotonic() - started
    os.unlink(path)
    check("Type=notify: it says READY=1", "READY=1" in message, message)
    return took


def debian(root, deb):
    unit = f"lib/systemd/system/{UNIT}"
    text = root.install(older(deb))
    equal("an older version installs", root.version(), "0.0.1-1")
    check("without a complaint, though systemd does not run", not re.search(r"(?i)error|fail|cannot", text), text)
    check("the service is enabled", root.exists(WANTED), root.ours())
    check("it finds its settings and its unit", root.exists(unit) and root.exists(f"etc/default/{NAME}"), root.ours())
    check("the machine's perf_event_paranoid is nobody's business unasked", not root.exists(SETTING), root.ours())

    pages = os.stat(f"{root.path}/run/{NAME}/level-zero")
    group = output("chroot", root.path, "getent", "group", "intel-gpu-level-zero").split(":")[2]
    equal("any user's programs may add pages, the group reads them",
          (stat.S_IMODE(pages.st_mode), pages.st_uid, str(pages.st_gid)), (0o3773, 0, group))
    check("the service is in that group", re.search(r"^SupplementaryGroups=.*\bintel-gpu-level-zero\b", root.read(unit), re.M), "")

    # The administrator's changes: port 0 so that tests may run side by side.
    root.write(f"etc/default/{NAME}", root.read(f"etc/default/{NAME}") + "INTEL_GPU_EXPORTER_WEB_LISTEN_ADDRESS=127.0.0.1:0\n")
    serves(root, unit, "installed")
    root.chroot("systemctl", "disable", UNIT)
    check("the administrator disables it", not root.exists(WANTED), "")
    socket_link = f"etc/systemd/system/sockets.target.wants/{NAME}.socket"
    check("the socket is nobody's default", not root.exists(socket_link), "")
    root.chroot("systemctl", "enable", f"{NAME}.socket")

    root.answer("true")
    root.chroot("apt-get", "-qq", "-y", "-o", "Dpkg::Options::=--force-confold", "install",
                "/tmp/" + os.path.basename(shutil.copy(deb, f"{root.path}/tmp/")))
    equal("the upgrade installs the built version", root.version(), output("dpkg-deb", "-f", deb, "Version").strip())
    check("it keeps changed settings", "127.0.0.1:0" in root.read(f"etc/default/{NAME}"), root.read(f"etc/default/{NAME}"))
    check("and puts the new ones beside them", root.exists(f"etc/default/{NAME}.dpkg-dist"), root.ours())
    check("what was disabled stays disabled, and what was enabled, enabled", not root.exists(WANTED) and root.exists(socket_link), "")
    equal("every file is as packed, but for the settings",
          [l for l in root.chroot("dpkg", "--verify", NAME, check_status=False)[1].splitlines() if not l.endswith(f"/etc/default/{NAME}")], [])
    asked = f"usr/share/{NAME}/60-{NAME}.conf"
    check("the administrator answered that the setting is wanted", root.exists(SETTING) and root.read(SETTING) == root.read(asked), root.ours())
    root.write(SETTING, "kernel.perf_event_paranoid = 1\n")
    root.answer("false")
    root.chroot("dpkg-reconfigure", NAME)
    check("what the administrator wrote there stays", root.read(SETTING) == "kernel.perf_event_paranoid = 1\n", root.ours())
    root.write(SETTING, root.read(asked))
    root.chroot("dpkg-reconfigure", NAME)
    check("another answer takes the setting away", not root.exists(SETTING), root.ours())
    root.answer("true")
    root.chroot("dpkg-reconfigure", NAME)
    serves(root, unit, "upgraded")
    took = start_time(root, unit)
    if took is not None:
        print(f"     start to READY=1: {took * 1000:.0f} ms")

    root.chroot("apt-get", "-qq", "-y", "remove", NAME)
    left = root.ours()
    check("removal leaves the settings", f"etc/default/{NAME}" in left, left)
    check("and nothing that runs or that it set", not root.exists(unit) and not root.exists(SETTING) and not root.exists(f"usr/bin/{NAME}"), left)
    root.chroot("apt-get", "-qq", "-y", "purge", NAME)
    equal("purge leaves nothing", root.ours(), [])


def rpm(root, package, drop_in):
    """Debian's rpm works as elsewhere; this root does not know the names of dependencies on RPM distributions."""
    unit = f"usr/lib/systemd/system/{UNIT}"
    common = ("rpm", "--root", root.path, "--nodeps")
    run(*common, "-i", package)
    root.write(f"etc/default/{NAME}", "INTEL_GPU_EXPORTER_WEB_LISTEN_ADDRESS=127.0.0.1:0\n")
    changed = [l for l in run("rpm", "--root", root.path, "-V", "--nodeps", NAME, check_status=False)[1].splitlines()]
    check("the .rpm installs; only the settings, which are marked so, were changed",
          len(changed) == 1 and f" c /etc/default/{NAME}" in changed[0], changed)
    serves(root, unit, ".rpm")
    run("rpm", "--root", root.path, "-i", drop_in)
    shown = root.chroot("env", "INTEL_GPU_EXPORTER_SIMULATE=battlemage", "/usr/bin/intel_gpu_top", "-L")[1]
    check("its second package has intel_gpu_top in /usr/bin", "pci:vendor=8086" in shown, shown)
    run("rpm", "--root", root.path, "-e", os.path.basename(drop_in).partition("-top-")[0] + "-top")
    run("rpm", "--root", root.path, "-e", NAME)
    check("its removal keeps changed settings only", root.ours() == [f"etc/default/{NAME}.rpmsave"], root.ours())


def main():
    os.makedirs(WORK, exist_ok=True)
    root = Root()
    try:
        debian(root, glob.glob(f"{PACKAGES}/{NAME}_*.deb")[0])
        rpm(root, glob.glob(f"{PACKAGES}/{NAME}-[0-9]*.rpm")[0], glob.glob(f"{PACKAGES}/{NAME}-intel-gpu-top-*.rpm")[0])
    finally:
        shutil.rmtree(root.path)
    finish()


main()
