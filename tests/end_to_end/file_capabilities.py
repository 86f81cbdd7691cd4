#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program whose file has capabilities (setcap) reads the kernel with them, and what its caller names with the rights of the caller:
each attack is made as a user who may read none of root's files.

usage: file_capabilities.py EXPORTER_BINARY REPOSITORY_ROOT
"""
import http.server
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from exporter_under_test import Exporter, check, finish, replace_file, wait_for  # noqa: E402

# The last is of no use to the program. A file may have it all the same.
CAPABILITIES = "cap_perfmon,cap_sys_ptrace,cap_dac_read_search,cap_dac_override"
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
SECRET = "only-root-may-read-this"
RULES = "rules:\n  - name: \"{0}\"\n    match: {{comm: nothing}}\n"


class Attacks:
    def __init__(self, program, work):
        self.program, self.work, self.attempts = program, work, 0

    def run(self, *arguments, prefix=NOBODY, program=None, **variables):
        return subprocess.run([*prefix, program or self.program, *map(str, arguments)], capture_output=True, text=True, errors="replace",
                              timeout=120, cwd=self.work / "own", env={**os.environ, **variables})

    def refused(self, *arguments, because="Permission denied", **variables):
        """It fails, says why, and nothing of root's comes out."""
        self.attempts += 1
        try:
            ended = self.run(*arguments, **variables)
        except subprocess.TimeoutExpired:
            check(False, f"refused: it serves: {' '.join(map(str, arguments))}")
            return
        words = f"{' '.join(map(str, arguments))} {variables}: {ended.returncode} {ended.stdout[:300]!r} {ended.stderr[-600:]!r}"
        check(ended.returncode != 0, "refused: " + words)
        check(because in ended.stderr, f"says {because!r}: {words}")
        check(SECRET not in ended.stdout + ended.stderr, "nothing of root's file is shown: " + words)


def folders_of_the_machine(attacks):
    """Links in a tree of the caller's lead anywhere, such as /proc/PID/maps of root's processes."""
    tree = attacks.work / "own/tree"
    because = "is refused: this program's file has capabilities that its caller lacks"
    for flag in ("sysfs", "procfs", "devfs", "rootfs", "level-zero"):
        for command in (["capture", "-"], ["stats", "--count=1"], ["list"], ["doctor"], ["serve", "--web.listen-address=127.0.0.1:0"],
                        ["top", "--once"]):
            attacks.refused(*command, f"--path.{flag}={tree}", because=f"--path.{flag} {because}")
    attacks.refused("capture", "-", because=f"INTEL_GPU_EXPORTER_PATH_SYSFS {because}", INTEL_GPU_EXPORTER_PATH_SYSFS=str(tree))
    attacks.refused("intel_gpu_top", "-J", "-n", 1, because=f"INTEL_GPU_EXPORTER_PATH_SYSFS {because}", INTEL_GPU_EXPORTER_PATH_SYSFS=str(tree))
    attacks.refused("trace", "record", f"--path.tracefs={tree}", because=f"--path.tracefs {because}")


def files_that_are_read(attacks, received):
    secret = attacks.work / "root/secret"
    serve = ["serve", "--web.listen-address=127.0.0.1:0"]
    for sandbox in ([], ["--no-sandbox"]):
        attacks.refused(*serve, *sandbox, f"--push.otlp={received.url}", f"--push.otlp.credentials={secret}")
        attacks.refused(*serve, *sandbox, f"--web.config.file={secret}")
    attacks.refused(*serve, "--push.mqtt=mqtt://127.0.0.1:1", f"--push.mqtt.credentials={secret}")
    attacks.refused(*serve, f"--push.otlp={received.url}", f"--push.cacert={secret}")
    for command in (serve, ["stats", "--count=1"], ["query", "--fields=name"], ["top", "--once"]):
        attacks.refused(*command, "--collector.workloads", f"--workload.rules={secret}")
    for command in (serve, ["stats", "--count=1"], ["doctor"]):
        attacks.refused(*command, f"--simulate=capture:{secret}")
    web = attacks.work / "own/web.yml"
    web.write_text(f"tls_server_config:\n  cert_file: {secret}\n  key_file: {secret}\n")
    attacks.refused(*serve, f"--web.config.file={web}")
    attacks.refused("trace", "report", secret)
    attacks.refused("level-zero", "report", secret)
    attacks.refused("level-zero", "csv", secret)
    attacks.refused("top", "--once", "https://127.0.0.1:1", f"--cacert={secret}")
    attacks.refused("flights", "https://127.0.0.1:1", f"--cert={secret}", f"--key={secret}")
    attacks.refused("flights", attacks.work / "root/folder", because="")
    check(received.bodies == [], f"nothing reached the receiver: {received.bodies}")


def files_that_are_written(attacks):
    folder = attacks.work / "root/folder"
    simulated = "--simulate=arc-a770"
    attacks.refused("stats", "--count=1", simulated, "-o", folder / "new")
    attacks.refused("query", "--fields=name", simulated, "-f", folder / "new")
    attacks.refused("capture", simulated, folder / "new.tar.zst")
    attacks.refused("doctor", simulated, "--bug", folder / "new.tar.zst")
    attacks.refused("intel_gpu_top", "-J", "-n", 1, "-o", folder / "new", INTEL_GPU_EXPORTER_SIMULATE="arc-a770")
    attacks.refused("trace", "record", "-o", folder / "new")
    attacks.refused("level-zero", "report", "--html", folder / "new", attacks.work / "own/log", because="")
    serve = ["serve", simulated]
    attacks.refused(*serve, f"--web.listen-address=unix:{folder}/new")
    for sandbox in ([], ["--no-sandbox"]):
        attacks.refused(*serve, *sandbox, "--web.listen-address=127.0.0.1:0", "--sample.interval=100ms", f"--flight.directory={folder}")
    check(os.listdir(folder) == [], f"nothing was written there: {os.listdir(folder)}")
    secret = attacks.work / "root/secret"
    attacks.refused("query", "--fields=name", simulated, "-f", secret)
    attacks.refused("intel_gpu_top", "-J", "-n", 1, "-o", secret, INTEL_GPU_EXPORTER_SIMULATE="arc-a770")
    check(SECRET in secret.read_text(), "root's file was not overwritten")


def effective_of_threads(pid):
    """By name of the thread."""
    sets = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        lines = dict(line.split(":\t", 1) for line in (task / "status").read_text().splitlines() if ":\t" in line)
        sets[lines["Name"]] = int(lines["CapEff"], 16)
    return sets


PERFMON, PTRACE = 1 << 38, 1 << 19


def use_as_before(attacks):
    """What the capabilities are for: counters, and processes of other users."""
    for arguments in (["stats", "--interval=1s", "--count=1000"], ["query", "--fields=name", "--loop=1", "--count=1000"]):
        with subprocess.Popen([*NOBODY, attacks.program, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as reader:
            wait_for(lambda: "collect" in str(effective_of_threads(reader.pid)), f"{arguments} has collectors")
            for name, effective in effective_of_threads(reader.pid).items():
                check(effective & PERFMON and effective & PTRACE, f"{arguments}: {name} may read counters and processes: {effective:#x}")
            reader.terminate()
    for arguments in (["list", "--simulate=arc-a770"], ["version"], ["help"], ["stats", "--count=1", "--simulate=arc-a770"]):
        ended = attacks.run(*arguments)
        check(ended.returncode == 0, f"{arguments} works: {ended.returncode} {ended.stderr[-500:]}")
    for arguments in (["list"], ["stats", "--count=1"]):  # they end well where there is a GPU
        ended = attacks.run(*arguments)
        check(ended.returncode in (0, 1) and "refused" not in ended.stderr, f"{arguments} works: {ended.returncode} {ended.stderr[-500:]}")
    ended = attacks.run("stats", "--count=1", "--simulate=arc-a770", "-o", "reading")
    check(ended.returncode == 0 and (attacks.work / "own/reading").stat().st_uid == 65534, f"it writes its caller's files: {ended.stderr}")

    rules = attacks.work / "own/rules.yml"
    replace_file(rules, RULES.format("first"))
    log = attacks.work / "log"
    with Exporter(attacks.program, log, "--collector.workloads", f"--workload.rules={rules}", prefix=NOBODY) as exporter:
        exporter.wait_until(lambda: "msg=listening" in exporter.log(), "listens")
        threads = effective_of_threads(exporter.process.pid)
        check(any(sets & PERFMON and sets & PTRACE for name, sets in threads.items() if name.startswith("collect")), f"collectors: {threads}")
        check(threads[attacks.program.name[:15]] == 0, f"threads that serve clients have none: {threads}")
        replace_file(rules, RULES.format("second"))
        read_again = lambda words: subprocess.run(["curl", "-s", exporter.url], capture_output=True, check=True) and words in exporter.log()
        wait_for(lambda: read_again("the workload rules were reloaded"), "the caller's rules are read again")
        os.unlink(rules)
        os.symlink(attacks.work / "root/rules.yml", rules)
        wait_for(lambda: read_again("cannot be read: Permission denied"), "root's rules are not read")


def who_may_name_them(attacks, binary):
    """Root, and a service whose manager gave it the capabilities, have no caller with fewer rights; nor has the container's image."""
    tree = f"--path.sysfs={attacks.work}/own/tree"
    accepted = lambda ended: ended.returncode == 1 and "No Intel GPU" in ended.stdout and not ended.stderr  # the folder is empty
    ended = attacks.run("list", tree, prefix=[])
    check(accepted(ended), f"root names folders: {ended.stderr}")
    plain = attacks.work / "plain"
    shutil.copy(binary, plain)
    ambient = [*NOBODY, "--inh-caps=+sys_ptrace,+perfmon", "--ambient-caps=+sys_ptrace,+perfmon"]
    ended = attacks.run("list", tree, prefix=ambient, program=plain)
    check(accepted(ended), f"a service names folders: {ended.stderr}")
    ended = attacks.run("list", tree, program=plain)
    check(accepted(ended), f"without capabilities everybody names folders: {ended.stderr}")
    image = ("mount -t tmpfs none /usr/share && mkdir /usr/share/intel-gpu-exporter && : >/usr/share/intel-gpu-exporter/callers-are-trusted "
             "&& exec \"$@\"")
    ended = attacks.run("list", tree, prefix=["unshare", "--mount", "sh", "-ec", image, "sh", *NOBODY])
    check(accepted(ended), f"a container's manifest names folders: {ended.stderr}")

    for bit in (0o4000, 0o2000):
        os.chmod(plain, 0o755 | bit)
        attacks.refused("list", because="set-user-ID or set-group-ID", program=plain)
        check(f"chmod ug-s {plain}" in attacks.run("list", program=plain).stderr, "the line has the command that mends it")


class Receiver:
    """Of pushes."""

    def __init__(self):
        self.bodies = []
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                receiver.bodies.append(str(self.headers))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{server.server_address[1]}"


def main():
    binary = sys.argv[1]
    if os.geteuid() != 0:
        finish("not checked: only root gives a file capabilities; ")
    with tempfile.TemporaryDirectory(prefix="igpu-caps-") as name:
        work = pathlib.Path(name)
        os.chmod(work, 0o755)
        program = work / "with-capabilities"
        shutil.copy(binary, program)
        if subprocess.run(["setcap", f"{CAPABILITIES}+ep", program], check=False).returncode != 0:
            finish("not checked: this file system keeps no capabilities; ")
        for folder in ("own", "root", "root/folder"):
            (work / folder).mkdir(mode=0o755)
        os.chown(work / "own", 65534, 65534)
        for file, text in {"secret": f"Authorization: Bearer {SECRET}\n{SECRET}: 1\n", "rules.yml": RULES.format(SECRET)}.items():
            (work / "root" / file).touch(mode=0o600)
            (work / "root" / file).write_text(text)
        os.chmod(work / "root/folder", 0o700)
        (work / "own/tree/class/drm").mkdir(parents=True)
        (work / "own/log").write_text("no log")
        attacks = Attacks(program, work)
        folders_of_the_machine(attacks)
        files_that_are_read(attacks, Receiver())
        files_that_are_written(attacks)
        use_as_before(attacks)
        who_may_name_them(attacks, binary)
        finish(f"{attacks.attempts} attempts, ")


main()
