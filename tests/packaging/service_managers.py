# SPDX-License-Identifier: Apache-2.0
"""The static file's setup and its removal under service managers that run: systemd and OpenRC, in roots and namespaces of their own."""

import contextlib
import glob
import hashlib
import os
import re
import shutil
import stat
import subprocess
import tempfile
import time

from checks import NAME, PACKAGES, SOURCE, WORK, check, debian_root, equal, finish, mirror, output, run

# $0: the root, $1: a file in the place of kernel.perf_event_paranoid. All other settings of the kernel, which is this machine's, cannot
# be written; neither can its devices be seen.
BOOT = """set -e
mount --make-rprivate /
mount --bind "$0" "$0"
cd "$0"
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount --bind "$1" proc/sys/kernel/perf_event_paranoid
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs tmpfs tmp
mount -t tmpfs -o mode=755 tmpfs dev
for node in null zero full random urandom tty; do touch "dev/$node"; mount --bind "/dev/$node" "dev/$node"; done
ln -s /proc/self/fd dev/fd
shift
exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot . "$@"
"""
LOOPBACK = "import fcntl, socket, struct; fcntl.ioctl(socket.socket(), 0x8914, struct.pack('16sh14s', b'lo', 1, b''))"  # SIOCSIFFLAGS, IFF_UP
# As PID 1: boots, then waits for whatever process has no other parent.
OPENRC = "mkdir -p /run/lock; for level in sysinit boot default; do openrc $level; done >/run/boot 2>&1; while :; do sleep 1; done"
CAPABILITIES = {"CAP_SYS_ADMIN": 21, "CAP_SYS_PTRACE": 19, "CAP_PERFMON": 38, "CAP_BPF": 39}


class Machine:
    """A booted root."""

    def __init__(self, root, init):
        self.root, self.init = root, init

    def __call__(self, *command):
        return run("nsenter", "--target", self.init, "--mount", "--pid", "--net", "--uts", "--ipc", "--cgroup", "--root", "--wdns=/", *command, check_status=False, timeout=120)

    def serves(self):
        """Within a minute: the page."""
        for _ in range(120):
            status, text = run("nsenter", "--target", self.init, "--net", "curl", "-s", "http://127.0.0.1:10068/metrics", check_status=False)
            if status == 0 and "intel_gpu_exporter_build_info" in text:
                return True
            time.sleep(0.5)
        return False

    def status_of(self, pid):
        return dict(line.split(":\t", 1) for line in self("cat", f"/proc/{pid}/status")[1].splitlines() if ":\t" in line)

    def files(self):
        """Of the root without what the service manager itself writes while it runs."""
        found = {}
        for folder, folders, names in os.walk(self.root):
            for name in (*folders, *names):
                path = os.path.join(folder, name)
                if re.match(r"/(var/log/(journal|wtmp|btmp|lastlog)|var/lib/systemd|etc/machine-id)", path.removeprefix(self.root)):
                    continue
                about = os.lstat(path)
                content = os.readlink(path) if stat.S_ISLNK(about.st_mode) else ""
                if stat.S_ISREG(about.st_mode):
                    with open(path, "rb") as f:
                        content = hashlib.sha256(f.read()).hexdigest()
                found[path.removeprefix(self.root)] = (about.st_mode, about.st_uid, about.st_gid, content)
        return found


@contextlib.contextmanager
def booted(root, paranoid, *command):
    cgroups = tempfile.mkdtemp(prefix="cgroups.")
    run("mount", "-t", "cgroup2", "cgroup2", cgroups)
    own = f"{cgroups}/{NAME}-test-{os.getpid()}"
    os.mkdir(own)
    process = None
    try:
        process = subprocess.Popen(["sh", "-c", f'echo $$ >"{own}/cgroup.procs" && exec unshare --mount --pid --fork --kill-child --cgroup --uts --ipc --net sh -c "$0" "$@"',
                                    BOOT, root, paranoid, *command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        init = ""
        for _ in range(100):
            with open(f"/proc/{process.pid}/task/{process.pid}/children") as f:
                init = f.read().strip()
            with contextlib.suppress(OSError):
                if init and os.readlink(f"/proc/{init}/root") == root:
                    break
            time.sleep(0.1)
        run("nsenter", "--target", init, "--net", "/usr/bin/python3", "-c", LOOPBACK)
        yield Machine(root, init)
    finally:
        if process:
            process.kill()  # and so the first process of the namespace, with all others
            process.wait()
        for _ in range(100):
            with contextlib.suppress(OSError):
                for folder, _, _ in os.walk(own, topdown=False):
                    os.rmdir(folder)
                break
            time.sleep(0.1)
        run("umount", cgroups)
        os.rmdir(cgroups)


def made(name, *packages):
    """With these packages, or with systemd."""
    root = f"{WORK}/{name}-root"
    shutil.rmtree(root, ignore_errors=True)
    if packages:
        uri, suite = mirror()
        run("mmdebstrap", "--variant=minbase", "--quiet", f"--include={','.join(packages)}", suite, root, uri)
    else:
        debian_root(root)
    static, = glob.glob(f"{PACKAGES}/{NAME}-*-linux-*")
    shutil.copy2(static, f"{root}/root/{NAME}")
    return root


def without_its_own(files):
    """Without what the service itself, or its manager for it, writes whenever it starts."""
    return {path: about for path, about in files.items() if not re.match(rf"/var/(tmp/systemd-private-|log/{NAME}\.log)", path) and path not in ("/var/tmp", "/var/log")}


def set_up_and_removed(name, machine, setting, main_process):
    def level():
        with open(setting) as f:
            return f.read()

    before = machine.files()
    status, text = machine(f"/root/{NAME}", "setup", "--dry-run")
    equal(f"{name}: setup --dry-run changes nothing", (status, machine.files() == before, level()), (0, True, "3\n"))
    status, text = machine(f"/root/{NAME}", "setup")
    check(f"{name}: setup starts the service", status == 0 and machine.serves(), text)
    equal(f"{name}: and lowers the level that CAP_PERFMON is not enough for", level(), "2\n")
    once = without_its_own(machine.files())
    status, text = machine(f"/root/{NAME}", "setup")
    check(f"{name}: the second time changes no file, and the service runs", status == 0 and without_its_own(machine.files()) == once and machine.serves(), text)
    process = machine.status_of(main_process(machine))
    rights = int(process["CapEff"], 16) | int(process["CapPrm"], 16)
    equal(f"{name}: the service has no right beside those that it needs", rights & ~sum(1 << CAPABILITIES[key] for key in ("CAP_SYS_PTRACE", "CAP_PERFMON", "CAP_BPF")), 0)
    equal(f"{name}: nor can it get any", process["NoNewPrivs"], "1")
    planned = machine(f"/usr/local/bin/{NAME}", "setup", "--remove", "--dry-run")
    equal(f"{name}: setup --remove --dry-run changes nothing", (planned[0], without_its_own(machine.files()) == once), (0, True))
    status, text = machine(f"/usr/local/bin/{NAME}", "setup", "--remove")
    check(f"{name}: setup --remove does what it said", status == 0 and text.endswith(planned[1] + "removed\n"), (text, planned))
    status, text = machine(f"/root/{NAME}", "setup", "--remove")
    equal(f"{name}: the second time there is nothing", (status, text), (0, "setup has installed nothing here\n"))
    after = machine.files()
    equal(f"{name}: every file is as before", sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key)), [])
    equal(f"{name}: so is the level", level(), "3\n")
    check(f"{name}: and nothing listens", run("nsenter", "--target", machine.init, "--net", "curl", "-s", "http://127.0.0.1:10068/", check_status=False)[0] != 0)
    return process


def systemd(setting):
    root = made("systemd")
    with booted(root, setting, "/lib/systemd/systemd") as machine:
        state = ""
        for _ in range(240):
            state = machine("systemctl", "is-system-running")[1].strip()
            if state in ("running", "degraded"):
                break
            time.sleep(0.5)
        if not check("systemd boots", state in ("running", "degraded"), state):
            return
        process = set_up_and_removed("systemd", machine, setting, lambda m: m("systemctl", "show", "--value", "--property=MainPID", NAME)[1].strip())
        check("systemd: as a user of its own", process["Uid"].split()[0] != "0", process)
        equal("systemd: it knows nothing of the service any more", machine("systemctl", "is-active", NAME)[1].strip(), "inactive")
    shutil.rmtree(root)


def openrc(setting):
    root = made("openrc", "openrc")
    # Debian's own scripts would set up this machine's kernel; "localmount" is in other distributions.
    for path in glob.glob(f"{root}/etc/runlevels/*/*"):
        os.unlink(path)
    with open(f"{root}/etc/init.d/localmount", "w") as f:
        f.write("#!/sbin/openrc-run\nstart() {\n\treturn 0\n}\n")
    os.chmod(f"{root}/etc/init.d/localmount", 0o755)
    with booted(root, setting, "/bin/sh", "-c", OPENRC) as machine:
        level = ""
        for _ in range(240):
            level = machine("rc-status", "--runlevel")[1].strip()
            if level == "default":
                break
            time.sleep(0.5)
        if not check("OpenRC boots", level == "default", level):
            return

        def supervised(m):
            return m("sh", "-c", f"grep -lz '^/[a-z/]*/{NAME}' /proc/[0-9]*/cmdline | grep -o '[0-9]*' | while read -r p; do grep -q '^PPid:.1$' /proc/$p/status || echo $p; done")[1].split()[0]

        set_up_and_removed("OpenRC", machine, setting, supervised)
        # The script of the recipe for Alpine, whose program is in another place.
        shutil.copy2(f"{root}/root/{NAME}", f"{root}/usr/bin/{NAME}")
        shutil.copy2(f"{SOURCE}/deploy/package/recipes/alpine/{NAME}.initd", f"{root}/etc/init.d/{NAME}")
        os.chmod(f"{root}/etc/init.d/{NAME}", 0o755)
        status, text = machine("rc-service", NAME, "start")
        check("OpenRC: the recipe's service starts", status == 0 and machine.serves(), text)
        status, text = machine("rc-service", NAME, "stop")
        check("OpenRC: and stops", status == 0, text)
    shutil.rmtree(root)


def main():
    os.makedirs(WORK, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=WORK) as setting:
        setting.write("3\n")
        setting.flush()
        systemd(setting.name)
        openrc(setting.name)
    finish()


main()
