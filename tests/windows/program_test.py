# SPDX-License-Identifier: Apache-2.0
"""The program for Windows, under Wine: its pages over HTTP and TLS, clients that behave badly, its end, its service.

    program_test.py EXE [CASE...]     WINE: the program that runs it (wine64)
"""
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from exporter_under_test import check, finish, wait_for  # noqa: E402

EXE = pathlib.Path(sys.argv[1]).resolve()
WINE = os.environ.get("WINE") or shutil.which("wine64") or "/usr/lib/wine/wine64"
WORK = pathlib.Path(tempfile.mkdtemp(prefix="igpu-windows-"))
ENVIRONMENT = {**os.environ, "WINEDEBUG": "-all", "WINEPREFIX": os.environ.get("IGPU_WINEPREFIX", str(WORK / "wine")),
               "DISPLAY": "", "WINEDLLOVERRIDES": "mscoree,mshtml="}
HASH = "$2y$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"  # of "U*U", a published vector


def run(*arguments, seconds=300):
    return subprocess.run([WINE, str(EXE), *arguments], env=ENVIRONMENT, capture_output=True, timeout=seconds)


def windows_path(path):
    return "Z:" + str(path).replace("/", "\\")


class Serving:
    """`serve` with these flags."""

    def __init__(self, *flags, address="127.0.0.1:0", machine=("--simulate", "rack")):
        self.log = WORK / f"serve-{time.monotonic_ns()}.log"
        self.process = subprocess.Popen(
            [WINE, str(EXE), "serve", *machine, f"--web.listen-address={address}", *flags],
            env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=open(self.log, "wb"))
        found = wait_for(lambda: re.search(r"msg=listening address=127\.0\.0\.1:(\d+)", self.text()) or
                         self.process.poll() is not None, self.text)
        if found is True:
            raise SystemExit(f"FAIL serve ended: {self.text()}")
        self.port = int(found[1])

    def text(self):
        return self.log.read_text()

    def get(self, path="/metrics", headers={}):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", headers=headers)
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.read().decode()

    def value(self, name):
        return float(re.search(rf"^{name} (\S+)$", self.get(), re.M)[1])

    def descriptors(self):
        """Those that handles of the program have: each socket has one in the program, the rest are in Wine's server."""
        server = subprocess.run(["pgrep", "-u", str(os.getuid()), "-x", "wineserver64|wineserver"], capture_output=True, text=True)

        def is_of_this_prefix(pid):
            try:
                return ENVIRONMENT["WINEPREFIX"].encode() in pathlib.Path(f"/proc/{pid}/environ").read_bytes()
            except OSError:
                return False  # it has ended

        mine = [pid for pid in server.stdout.split() if is_of_this_prefix(pid)]
        return sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in [str(self.process.pid), *mine])

    def woken_threads(self):
        """How often a thread of the program has gone to sleep."""
        tasks = pathlib.Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", (task / "status").read_text(), re.M)[1]) for task in tasks)

    def stop(self):
        """As Ctrl-C does. The exit status."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=120)


def pages():
    exporter = Serving()
    page = exporter.get()
    check("\r" not in page, "the page has no carriage returns")
    check(page.count("\nintel_gpu_info{") == 3, "every GPU of the rack is on the page")
    # Wine does not tell the number of handles, and no private memory.
    for name in ("process_cpu_seconds_total", "process_resident_memory_bytes", "process_start_time_seconds"):
        check(exporter.value(name) > 0, f"{name} is there")
    check(abs(exporter.value("process_start_time_seconds") - time.time()) < 600, "the start time is that of now")
    check("ready" in exporter.get("/-/ready"), "it is ready")
    check("<title>" in exporter.get("/"), "the page at / is there")
    openmetrics = exporter.get(headers={"Accept": "application/openmetrics-text"})
    check(openmetrics.endswith("# EOF\n"), "OpenMetrics")
    layers = dict(re.findall(r'intel_gpu_exporter_sandbox\{layer="(\w+)"\} (\d)', page))
    check(set(layers) == {"core_dumps", "privileges", "child_processes", "mitigations"}, f"layers: {layers}")
    status = exporter.stop()
    check(status == 0, f"Ctrl-C ends it with status 0, not {status}: {exporter.text()}")
    check("msg=stopped" in exporter.text(), "it says that it has stopped")


def commands():
    listing = run("list", "--simulate", "rack")
    check(listing.returncode == 0 and b"\r" not in listing.stdout and b"0000:" in listing.stdout,
          f"list: {listing.stdout[:300]} {listing.stderr[:300]}")
    stats = run("stats", "--simulate", "arc-a770", "--format", "json", "--count", "2", "--interval", "100ms")
    check(stats.returncode == 0 and stats.stdout.count(b"\n") == 2 and b"\r" not in stats.stdout,
          f"stats: {stats.stdout[:300]} {stats.stderr[:300]}")
    file = WORK / "out.csv"
    query = run("query", "--simulate", "rack", "--fields", "index,name", "-f", windows_path(file))
    check(query.returncode == 0 and file.exists() and b"\r" not in file.read_bytes(), f"query: {query.stderr[:300]}")
    doctor = run("doctor", "--simulate", "rack")
    check(b"Sandbox of `serve`" in doctor.stdout and b"child_processes" in doctor.stdout,
          f"doctor: {doctor.stdout[-600:]} {doctor.stderr[:300]}")
    helped = run("--help")
    check(b"service" in helped.stdout and b"  top " not in helped.stdout, "help lists what is there")
    for words, reason in (
            (("top",), b"not available on Windows"),
            (("trace", "record"), b"not available on Windows"),
            (("serve", "--web.listen-address=unix:/run/x"), b"UNIX sockets are not supported on Windows"),
            (("serve", "--push.mqtt=mqtt://broker"), b"pushing is not available on Windows")):
        refused = run(*words)
        check(refused.returncode != 0 and reason in refused.stderr, f"{words}: {refused.stderr[:300]}")


# What no user of Windows can do anything about.
LINUX_WORDS = ("i915", "/dev/", "setcap", "CAP_", "sysctl", "systemd", "modprobe", "lspci", "/sys", "/proc", "dmesg", "sudo")


def without_gpu():
    """Wine's gdi32 has not the functions, so there is no GPU: what is said of that is true on Windows."""
    for words in (("list",), ("stats", "--count", "1"), ("query",), ("doctor",), ("list", "--gpu", "0000:03:00.0")):
        said = run(*words)
        text = (said.stdout + said.stderr).decode()
        check("Intel GPU" in text, f"{words}: {text}")
        found = [word for word in LINUX_WORDS if word in text]
        check(not found, f"{words} names {found}: {text}")
    exporter = Serving(machine=())
    page = re.sub(r"<style>.*?</style>|<script>.*?</script>", "", exporter.get("/"), flags=re.S)
    for name, text in (("the page at /", page), ("the log", exporter.text())):
        found = [word for word in LINUX_WORDS if word in text]
        check(not found, f"{name} names {found}: {text[:2000]}")
    exporter.stop()


def captures():
    file = WORK / "gpu.txt"
    written = run("capture", windows_path(file))
    text = file.read_text() if file.exists() else ""
    check(written.returncode == 0 and text.startswith("intel-gpu-exporter capture, format 1\npasses 3\n"),
          f"capture: {written.stdout} {written.stderr}")
    check(" adapter.list - absent kernel 38\n" in text and "\nwindows build " in text, f"what is in it: {text[:500]}")
    check(b"gives the same page" in written.stdout, f"it proves itself: {written.stdout}")
    check(run("capture", "-").stdout.startswith(b"intel-gpu-exporter capture, "), "capture -")
    served = run("list", "--simulate", "capture:" + windows_path(file))
    check(served.returncode == 1 and b"No Intel GPU" in served.stdout, f"served: {served.stdout} {served.stderr}")
    again = run("capture", windows_path(file))
    check(again.returncode == 1 and b"File exists" in again.stderr, f"a file that is there stays: {again.stderr}")
    of_linux = pathlib.Path(__file__).resolve().parents[1] / "machines" / "simulated-arc-a770.tar.zst"
    for words, reason in ((("list", "--simulate", "capture:" + windows_path(of_linux)), b"a capture of a Linux machine"),
                          (("capture", "--simulate", "rack", windows_path(WORK / "rack.txt")), b"only this machine is captured"),
                          (("doctor", "--bug", windows_path(WORK / "bug.txt")), b"drivers of Linux")):
        refused = run(*words)
        check(refused.returncode != 0 and reason in refused.stderr, f"{words}: {refused.stderr}")


def one_address():
    exporter = Serving()
    second = run("serve", "--simulate", "rack", f"--web.listen-address=127.0.0.1:{exporter.port}")
    check(second.returncode == 1 and b"cannot listen on" in second.stderr, f"a second one: {second.stderr[:300]}")
    health = run("healthcheck", f"--web.listen-address=127.0.0.1:{exporter.port}")
    check(health.returncode == 0, f"healthcheck: {health.stderr[:300]}")
    exporter.stop()
    health = run("healthcheck", f"--web.listen-address=127.0.0.1:{exporter.port}")
    check(health.returncode == 1, "healthcheck without an exporter")


def secured():
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                    "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout",
                    str(WORK / "key.pem"), "-out", str(WORK / "cert.pem")], check=True, capture_output=True)
    config = WORK / "web.yml"
    config.write_text("tls_server_config:\n  cert_file: cert.pem\n  key_file: key.pem\n"
                      f"basic_auth_users:\n  alice: {HASH}\n")
    exporter = Serving(f"--web.config.file={windows_path(config)}")

    def curl(*arguments):
        return subprocess.run(["curl", "-sS", "--max-time", "60", "--cacert", str(WORK / "cert.pem"), *arguments,
                               f"https://localhost:{exporter.port}/metrics"], capture_output=True, text=True)

    page = curl("--tlsv1.3", "-u", "alice:U*U")
    check("intel_gpu_info{" in page.stdout, f"TLS 1.3 with the password: {page.stderr} {exporter.text()}")
    check("intel_gpu_info{" in curl("--tls-max", "1.2", "-u", "alice:U*U").stdout, "TLS 1.2 with the password")
    check(curl("-u", "alice:U*V", "-o", "/dev/null", "-w", "%{http_code}").stdout == "401", "a wrong password")
    check(curl("-o", "/dev/null", "-w", "%{http_code}").stdout == "401", "no password")
    # The file is read again when it changes.
    config.write_text(config.read_text().replace("alice", "bob"))
    wait_for(lambda: "intel_gpu_info{" in curl("-u", "bob:U*U").stdout, "the new user is accepted")
    check(exporter.stop() == 0, "Ctrl-C ends it")


def silent_clients():
    exporter = Serving()
    exporter.get()
    silent = []
    for i in range(300):
        client = socket.create_connection(("127.0.0.1", exporter.port))
        if i % 3 == 1:
            client.sendall(b"GET /metrics HT")
        if i % 3 == 2:  # it closes its half, and is no request
            client.shutdown(socket.SHUT_WR)
        silent.append(client)
    began = time.monotonic()
    for _ in range(5):
        check("intel_gpu_info{" in exporter.get(), "a page beside 300 silent clients")
    took = (time.monotonic() - began) / 5
    print(f"a page beside 300 silent clients: {took * 1000:.0f} ms")
    for client in silent:
        client.close()
    # The request of a client that has closed its sending half is answered.
    half = socket.create_connection(("127.0.0.1", exporter.port))
    half.sendall(b"GET /-/ready HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    half.shutdown(socket.SHUT_WR)
    half.settimeout(60)
    answer = b""
    while piece := half.recv(4096):
        answer += piece
    check(answer.startswith(b"HTTP/1.1 200"), f"a client that has closed its half: {answer[:80]}")
    check(exporter.stop() == 0, "Ctrl-C ends it")


def no_leaks():
    exporter = Serving("--scrape.min-window=1ms")
    for _ in range(20):
        exporter.get()
    before = exporter.descriptors()
    for i in range(1000):
        if i % 10 == 0:  # clients that go away
            socket.create_connection(("127.0.0.1", exporter.port)).close()
        exporter.get()
    after = wait_for(lambda: [exporter.descriptors()] if exporter.descriptors() <= before + 4 else None,
                     lambda: f"the descriptors of before, {before}: now {exporter.descriptors()}", 30)[0]
    print(f"descriptors of the program and of Wine's server before and after 1000 scrapes: {before} {after}")
    # Nothing is busy between scrapes.
    cpu = exporter.value("process_cpu_seconds_total")
    time.sleep(3)
    idle = exporter.value("process_cpu_seconds_total") - cpu
    print(f"CPU seconds of 3 idle seconds and a scrape: {idle:.2f}")
    check(idle < 1.5, f"idle, it does not run in circles: {idle}")
    woken = exporter.woken_threads()
    time.sleep(10)
    woken = exporter.woken_threads() - woken
    print(f"threads that woke up in 10 idle seconds: {woken}")
    check(woken <= 20, f"idle, no thread is awake: {woken}")
    check(exporter.stop() == 0, "Ctrl-C ends it")


def service():
    # Wine ends services with the last program that a user has started.
    user = Serving()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    installed = run("service", "install", "--", "--simulate", "rack", f"--web.listen-address=127.0.0.1:{port}")
    check(installed.returncode == 0, f"service install: {installed.stdout} {installed.stderr}")

    def page():
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
                return answer.read().decode()
        except (urllib.error.URLError, OSError):
            return ""

    wait_for(lambda: "intel_gpu_info{" in page(), "the service serves the page")
    twice = run("service", "install")
    check(twice.returncode == 1 and b"remove it first" in twice.stderr, f"a second install: {twice.stderr}")
    wrong = run("service", "install", "--", "--no-such-flag")
    check(wrong.returncode == 2 and b"--no-such-flag" in wrong.stderr, f"a wrong flag: {wrong.stderr}")
    began = time.monotonic()
    removed = run("service", "remove")
    took = time.monotonic() - began
    check(removed.returncode == 0 and b"is removed.\n" in removed.stdout, f"service remove: {removed}")
    print(f"service remove, with its stop: {took:.1f} s")
    check(page() == "", "nothing serves any more")
    check(b"There is no service" in run("service", "remove").stdout, "a second remove")
    check(b"is not a port number" in run("service", "allow", "70000").stderr, "a wrong port")
    user.stop()


CASES = [pages, commands, without_gpu, captures, one_address, secured, silent_clients, no_leaks, service]

try:
    chosen = sys.argv[2:]
    for case in CASES:
        if not chosen or case.__name__ in chosen:
            print(f"--- {case.__name__}", flush=True)
            case()
finally:
    subprocess.run([shutil.which("wineserver") or "/usr/lib/wine/wineserver64", "-k"], env=ENVIRONMENT, check=False,
                   capture_output=True)
    if not os.environ.get("KEEP"):
        shutil.rmtree(WORK, ignore_errors=True)
finish()
