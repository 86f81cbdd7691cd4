#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every system call of the served program, written down by strace while it does all that it ever does: nothing that it
needs is refused by its own sandbox, nothing but flights is opened for writing once it is on, and other users' processes can be read.

usage: sandbox_calls.py EXPORTER_BINARY REPOSITORY_ROOT [PART...]
"""
import base64
import http.server
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from exporter_under_test import Exporter, bcrypt, check, fetch, finish, wait_for  # noqa: E402


def add_gpu(root, number, address, pmu):
    """A GPU that counts with events every kernel has (type 1: software events)."""
    pci = root / f"sys/devices/pci0000:00/{address}"
    card = pci / f"drm/card{number}"
    card.mkdir(parents=True)
    render = pci / f"drm/renderD{128 + number}"
    render.mkdir()
    for name, text in {"vendor": "0x8086", "device": "0x9a49", "class": "0x030000", "revision": "0x01"}.items():
        (pci / name).write_text(text + "\n")
    (card / "device").symlink_to("../..")
    (render / "device").symlink_to("../..")
    driver = root / "sys/bus/pci/drivers/i915"
    driver.mkdir(parents=True, exist_ok=True)
    (pci / "driver").symlink_to("../../../bus/pci/drivers/i915")
    events = root / f"sys/bus/event_source/devices/{pmu}/events"
    events.mkdir(parents=True)
    (events.parent / "type").write_text("1\n")
    (events.parent / "cpumask").write_text("0\n")
    for name, config in {"rcs0-busy": 0, "rc6-residency": 2, "interrupts": 3}.items():
        (events / name).write_text(f"config={config:#x}\n")
    (events / "rcs0-busy.unit").write_text("ns\n")
    (events / "rc6-residency.unit").write_text("ns\n")
    classes = root / "sys/class/drm"
    classes.mkdir(parents=True, exist_ok=True)
    (root / "dev/dri").mkdir(parents=True, exist_ok=True)
    (root / f"dev/dri/renderD{128 + number}").write_text("no device")
    for name, node in ((f"renderD{128 + number}", render), (f"card{number}", card)):
        (classes / name).symlink_to(os.path.relpath(node, classes))


def make_certificate(folder, name):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
                    "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder / "key.new", "-out", folder / "cert.new"],
                   check=True, capture_output=True)
    os.replace(folder / "key.new", folder / "key.pem")
    os.replace(folder / "cert.new", folder / "cert.pem")


def whole_calls(lines):
    """strace splits a call during which another thread makes one: the end has neither path nor arguments."""
    begun, whole = {}, []
    for line in lines:
        thread = line.split(maxsplit=1)[0]
        if line.endswith("<unfinished ...>"):
            begun[thread] = line.removesuffix("<unfinished ...>")
        elif (end := re.match(r"\d+ +<\.\.\. \w+ resumed>", line)) and thread in begun:
            whole.append(begun.pop(thread) + line[end.end():])
        else:
            whole.append(line)
    return whole + list(begun.values())


class Traced(Exporter):
    """Under strace, with a service manager that wants to hear of it."""

    def __init__(self, binary, folder, *arguments):
        self.trace = folder / "trace"
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.manager.bind(str(folder / "notify"))
        self.manager.settimeout(60)
        environment = dict({k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}, NOTIFY_SOCKET=str(folder / "notify"), WATCHDOG_USEC="600000")
        super().__init__(binary, folder / "log", *arguments, env=environment, prefix=["strace", "-f", "-qq", "-s", "200", "-o", self.trace])

    def get(self, target="/metrics", context=None, headers={}):
        return fetch(f"{'https' if context else 'http'}://127.0.0.1:{self.port}{target}", context=context, headers=headers)

    def signal_end(self):
        # strace passes no signal on: the program itself gets it.
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        os.kill(int(children[0]), signal.SIGTERM)

    def lines_within(self):
        """After the filter was put on."""
        lines = whole_calls(self.trace.read_text(errors="replace").splitlines())
        began = [i for i, line in enumerate(lines) if re.search(r"seccomp\(SECCOMP_SET_MODE_FILTER|prctl\(PR_SET_SECCOMP", line)]
        if not began:
            raise SystemExit("no filter was put on:\n" + self.log())
        return lines[began[-1] + 1:]


def process_of(traced, name):
    """Of a process beside the exporter."""
    return next((line.split(maxsplit=1)[0] for line in whole_calls(traced.trace.read_text(errors="replace").splitlines())
                 if f'PR_SET_NAME, "{name}"' in line), None)


def opens_for_writing(line):
    return re.search(r"\bopen(at)?\(", line) and re.search(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND", line)


def judge(traced, what):
    lines = [line for line in traced.lines_within() if line.split(maxsplit=1)[0] != process_of(traced, "flight-writer")]
    check(len(lines) > 500, f"{what}: only {len(lines)} calls")
    refused = [line for line in lines if "= -1 EPERM" in line or "SIGSYS" in line]
    # Outside the kernel's rights it may be the kernel that refuses; of a filter's own, none.
    refused = [line for line in refused if "perf_event_open" not in line]
    check(not refused, f"{what}: refused: {refused[:5]}")
    # Landlock answers EACCES, as missing rights do: root lacks them for processes only that have more than these tests.
    hidden = [line for line in lines if "= -1 EACCES" in line and "fdinfo" not in line and "/elsewhere/" not in line and os.geteuid() == 0]
    check(not hidden, f"{what}: out of reach: {hidden[:5]}")
    unknown = [line for line in lines if "= -1 ENOSYS" in line and "clone3" not in line]
    check(not unknown, f"{what}: unknown: {unknown[:5]}")
    writing = [line for line in lines if opens_for_writing(line)]
    check(not writing, f"{what}: opened for writing: {writing[:5]}")
    return lines


def judge_helper(traced, name):
    """A process beside the exporter, such as the one that opens perf events, puts its filter on before the others do."""
    lines = whole_calls(traced.trace.read_text(errors="replace").splitlines())
    process = process_of(traced, name)
    own = [line for line in lines if line.split(maxsplit=1)[0] == process]
    filtered = next((i for i, line in enumerate(own) if re.search(r"seccomp\(SECCOMP_SET_MODE_FILTER|prctl\(PR_SET_SECCOMP", line)), None)
    if not check(filtered is not None, f"{name} has put a filter on"):
        return
    refused = [line for line in own[filtered + 1:] if "= -1 EPERM" in line and "perf_event_open" not in line]
    check(not refused, f"{name}: refused: {refused[:5]}")


def calls_of_unit(unit):
    """What the unit's SystemCallFilter= allows, as systemd works it out."""
    groups = {}
    name = None
    for line in subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager"], check=True, capture_output=True, text=True).stdout.splitlines():
        line = re.sub(r"\x1b\[[0-9;]*m", "", line)
        if line.startswith("@"):
            name = line.strip()
            groups[name] = []
        elif line.startswith("    ") and name and not line.strip().startswith("#"):
            groups[name].append(line.strip())
        elif line.strip() and not line.startswith(" "):
            name = None  # what is in no group

    def members(word):
        return set().union(*(members(part) for part in groups[word])) if word.startswith("@") else {word}

    allowed = members("@default")  # always there
    for line in unit.read_text().splitlines():
        if line.startswith("SystemCallFilter="):
            words = line.partition("=")[2]
            for word in words.lstrip("~").split():
                allowed = allowed - members(word) if words.startswith("~") else allowed | members(word)
    return allowed


def judge_unit(traced, root):
    """From its first call to its last, filter and all, it runs within what the unit allows."""
    calls = set(re.findall(r"^\d+ +([a-z_0-9]+)\(", traced.trace.read_text(errors="replace"), re.MULTILINE))
    check("seccomp" in calls and "openat" in calls and "capset" in calls, f"calls were written down: {sorted(calls)}")
    of_root = {"setgroups", "setresgid", "setresuid"}  # with which a push client becomes nobody; the unit has a user of its own
    missing = calls - calls_of_unit(root / "deploy/systemd/intel-gpu-exporter.service") - of_root
    check(not missing, f"the unit's SystemCallFilter= lacks {sorted(missing)}")


def plain(binary, work):
    root = work / "machine"
    add_gpu(root, 0, "0000:00:02.0", "i915")
    root_user = os.geteuid() == 0
    sleeper = [*(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if root_user else []), "sleep", "600"]
    others = [subprocess.Popen(sleeper)]
    folder = work / "plain"
    folder.mkdir()
    try:
        # With BPF no process without a GPU is read: tls() runs with it where the kernel allows it.
        with Traced(binary, folder, f"--path.sysfs={root}/sys", f"--path.devfs={root}/dev", "--scrape.min-window=10ms",
                    "--collector.fdinfo.finder=walk") as traced:
            for headers in ({}, {"Accept-Encoding": "gzip"}, {"Accept": "application/openmetrics-text;version=1.0.0"}):
                traced.get(headers=headers)
            others.append(subprocess.Popen(sleeper))  # one that was there at the start is not scanned again at once
            for target in ("/", "/-/healthy", "/-/ready", "/metrics?collect[]=rc6"):
                traced.get(target)
            add_gpu(root, 1, "0000:03:00.0", "i915_0000_03_00.0")
            # A file of it that does not come back: its collector is left behind, and the next scrape needs another thread.
            stuck = root / "sys/class/drm/card1/gt_act_freq_mhz"
            os.mkfifo(stuck)
            traced.get()
            page = traced.get().decode()
            check('collector_success{collector="frequency"} 0' in page, "a collector hangs")
            os.close(os.open(stuck, os.O_WRONLY))
            others.append(subprocess.Popen(sleeper))  # a process that was scanned before is not scanned at once
            traced.get()
            check('device="0000:03:00.0"' in page, "a GPU that comes later shows")
            check('intel_gpu_exporter_sandbox{layer="seccomp"} 1' in page, "the filter is on")
            connections = [socket.create_connection(("127.0.0.1", traced.port)) for _ in range(40)]
            for connection in connections:
                connection.close()
            shutil.rmtree(root / "sys/class/drm")
            (root / "sys/class/drm").mkdir()
            check("intel_gpu_info{" not in traced.get().decode(), "a GPU that went is gone")
            seen = b""
            while seen.count(b"WATCHDOG=1") < 2:
                seen += traced.manager.recv(512)
    finally:
        for other in others:
            other.terminate()
            other.wait()
    lines = judge(traced, "plain")
    judge_helper(traced, "event-opener")
    check(any("perf_event_open" in line for line in lines), "events of the GPU that came later were opened")
    judge_unit(traced, pathlib.Path(sys.argv[2]))
    if not root_user:
        print("strace sees no paths of a program that is not dumpable: only root sees which processes were read")
        return
    # Landlock forbids reading other processes; the thread of the collectors is outside it.
    opened = [line for line in lines for other in others if f'"{other.pid}/fdinfo"' in line and "openat" in line and "EACCES" not in line]
    check(opened, "the other user's process was read")
    check(len({line.split()[0] for line in opened}) > 1, "by the thread that came in the place of the one that hung, too")
    check(all("EACCES" not in line for line in opened), f"other users' processes cannot be read: {opened[:3]}")


def tls(binary, work):
    folder = work / "tls"
    folder.mkdir()
    make_certificate(folder, "first")
    config = folder / "web.yml"
    config.write_text(f"tls_server_config:\n  cert_file: cert.pem\n  key_file: key.pem\nbasic_auth_users:\n  me: {bcrypt('secret', 4)}\n")
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    headers = {"Authorization": "Basic " + base64.b64encode(b"me:secret").decode()}
    with Traced(binary, folder, "--simulate=rack", f"--web.config.file={config}") as traced:
        check(b"intel_gpu_info" in traced.get(context=context, headers=headers), "a page through TLS")
        before = ssl.get_server_certificate(("127.0.0.1", traced.port))
        make_certificate(folder, "second")
        wait_for(lambda: ssl.get_server_certificate(("127.0.0.1", traced.port)) != before, "the new certificate")
        check(b"intel_gpu_info" in traced.get(context=context, headers=headers), "a page with the new certificate")
        if re.search(r"msg=sandbox on=\S*landlock", traced.log()):
            elsewhere = work / "elsewhere"
            elsewhere.mkdir()
            make_certificate(elsewhere, "third")
            config.write_text(config.read_text().replace(" cert.pem", f" {elsewhere}/cert.pem").replace(" key.pem", f" {elsewhere}/key.pem"))
            ask = lambda: traced.get(context=context, headers=headers) and "a folder that was not named at start" in traced.log()
            wait_for(ask, "a reload that names another folder asks for a restart")
        else:
            print("not checked: files elsewhere, as this kernel has no Landlock")
    judge(traced, "TLS")
    judge_unit(traced, pathlib.Path(sys.argv[2]))


def push(binary, work):
    """Through TLS, to a name, with the system's certificates and with one of its own."""
    make_certificate(work, "receiver")
    requests = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            requests.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    for trusted in (True, False):
        folder = work / ("trusted" if trusted else "not-trusted")
        folder.mkdir()
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.handle_error = lambda *_: None  # a handshake that the exporter gives up
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(work / "cert.pem", work / "key.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        # By its address, which the certificate has; by a name, which has to be resolved.
        url = f"https://{'127.0.0.1' if trusted else 'localhost'}:{server.server_address[1]}"
        flags = [f"--push.cacert={work}/cert.pem"] if trusted else []
        with Traced(binary, folder, "--simulate=rack", f"--push.otlp={url}", "--push.interval=1s", *flags) as traced:
            if trusted:
                wait_for(lambda: len(requests) > 1, "readings are pushed")
            else:
                wait_for(lambda: "certificate is not trusted" in traced.log(), "a certificate is refused")
            for _ in range(20):
                traced.get()
        server.shutdown()
        server.server_close()
        judge(traced, "push")
        judge_helper(traced, "push-client")
        if not trusted:
            judge_helper(traced, "push-resolver")
        judge_unit(traced, pathlib.Path(sys.argv[2]))


def flights(binary, work):
    """One process writes, in its folder."""
    folder = work / "flights"
    kept = folder / "kept"
    kept.mkdir(parents=True)
    with Traced(binary, folder, "--simulate=rack", "--sample.interval=100ms", "--flight.length=1s", f"--flight.directory={kept}") as traced:
        traced.get()
        urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{traced.port}/debug/flight", method="POST"), timeout=120).close()
        wait_for(lambda: list(kept.glob("flight-*")), "a flight is written")
    judge(traced, "flights")
    judge_helper(traced, "flight-writer")
    judge_unit(traced, pathlib.Path(sys.argv[2]))
    writer = process_of(traced, "flight-writer")
    written = [line for line in whole_calls(traced.trace.read_text(errors="replace").splitlines())
               if line.split(maxsplit=1)[0] == writer and opens_for_writing(line)]
    check(len(written) == 2 and all('".new-flight-' in line for line in written), f"a trial and a flight: {written}")


def main():
    if os.environ.get("IGPU_INSTRUMENTED"):
        print("The filter stays off in builds with a sanitizer or coverage (docs/sandbox.md); the others are tested.")
        return
    binary = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        for part in (plain, tls, push, flights):
            if part.__name__ in sys.argv[3:] or len(sys.argv) == 3:
                part(binary, pathlib.Path(name))
    finish()


if __name__ == "__main__":
    main()
