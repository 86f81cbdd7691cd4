# SPDX-License-Identifier: Apache-2.0
"""The engines of a fleet as Debian has them, each of which a test can kill and start again on its port."""
import collections
import http.server
import json
import os
import select
import socket
import subprocess
import threading
import time
import urllib.parse

from exporter_under_test import get, wait_for


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Engine:
    """with Engine(...) as engine: it runs. kill() and start() in between keep its port and its folder."""
    health = "/health"
    address_flag = "-httpListenAddr"

    def __init__(self, folder, *flags, cwd=None, **environment):
        self.folder, self.flags, self.cwd, self.environment = folder, list(flags), cwd, environment
        folder.mkdir(exist_ok=True)
        self.process = None
        self.cpu_before = 0.0
        self.port = free_port()

    def __enter__(self):
        for _ in range(20):  # another program may take the port meanwhile
            if self.start(wait=True):
                return self
            self.port = free_port()
        raise SystemExit(f"FAIL {self.program} did not start:\n{self.log()}")

    def __exit__(self, *_):
        self.kill()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    @property
    def base(self):
        return f"http://{self.address}"

    def log(self):
        return (self.folder / "log").read_text()

    def command(self):
        return [self.program, f"{self.address_flag}={self.address}", *self.flags]

    def start(self, wait=True):
        with open(self.folder / "log", "a") as log:
            self.process = subprocess.Popen(self.command(), stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self.cwd, env={**os.environ, **self.environment})
        return not wait or wait_for(lambda: "ready" if self.ready() else "" if self.process.poll() is None else "ended", f"{self.program} answers") == "ready"

    def ready(self):
        try:
            get(self.base + self.health)
            return True
        except OSError:
            return False

    def kill(self):
        """As a machine that loses power."""
        if self.process:
            if self.process.poll() is None:
                self.cpu_before += self.cpu_seconds(running=True)
            self.process.kill()
            self.process.wait()
            self.process = None

    def cpu_seconds(self, running=False):
        if not self.process:
            return self.cpu_before
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        now = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return now if running else self.cpu_before + now

    def resident_bytes(self):
        if not self.process:
            return 0
        with open(f"/proc/{self.process.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def disk_bytes(self):
        return sum(os.lstat(os.path.join(where, name)).st_size for where, _, names in os.walk(self.folder) for name in names if name != "log")

    def metrics(self, *names):
        """Sums over labels of its own metrics."""
        sums = collections.Counter()
        for line in get(self.base + "/metrics").splitlines():
            name = line.partition("{")[0].partition(" ")[0]
            if name in names:
                sums[name] += float(line.rpartition(" ")[2])
        return sums


class Database(Engine):
    """With Prometheus' interface for queries."""

    def query(self, expression, **parameters):
        text = get(f"{self.base}/api/v1/query?{urllib.parse.urlencode({'query': expression, **parameters})}")
        return json.loads(text)["data"]["result"]


class PrometheusServer(Database):
    program, health, address_flag = "prometheus", "/-/ready", "--web.listen-address"

    def __init__(self, folder, config, *flags):
        super().__init__(folder, f"--config.file={config}", f"--storage.tsdb.path={folder}/data", "--log.level=warn", *flags)


class VictoriaMetrics(Database):
    program = "victoria-metrics"

    def command(self):
        return [*super().command(), f"-storageDataPath={self.folder}/data", "-loggerLevel=WARN"]

    def samples(self, selector, start, end):
        """{labels as text: [(time, value)]} as stored."""
        parameters = {"match[]": selector, "start": start, "end": end, "reduce_mem_usage": 0}
        found = {}
        for line in get(f"{self.base}/api/v1/export?{urllib.parse.urlencode(parameters)}").splitlines():
            row = json.loads(line)
            found[json.dumps(row["metric"], sort_keys=True)] = [(at / 1000, value) for at, value in zip(row["timestamps"], row["values"])]
        return found


class VmAgent(Engine):
    program = "vmagent"

    def command(self):
        return [*super().command(), f"-remoteWrite.tmpDataPath={self.folder}/queue", "-loggerLevel=WARN"]


class VmAlert(Engine):
    program = "vmalert"

    def command(self):
        return [*super().command(), "-loggerLevel=WARN"]


class VmAuth(Engine):
    program = "vmauth"

    def __init__(self, folder, config, replaced, **environment):
        folder.mkdir(exist_ok=True)
        text = config.read_text()
        for old, new in replaced.items():
            text = text.replace(f"%{{{old.partition(':')[0]}}}:{old.partition(':')[2]}", new)
        (folder / "auth.yml").write_text(text)
        super().__init__(folder, f"-auth.config={folder}/auth.yml", **environment)

    def ready(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 5).close()
            return True
        except OSError:
            return False


class Alertmanager(Engine):
    program = "prometheus-alertmanager"
    health = "/-/ready"
    address_flag = "--web.listen-address"

    def __init__(self, folder, config, *flags, peer=None):
        super().__init__(folder, f"--config.file={config}", f"--storage.path={folder}/data", "--log.level=warn", *flags)
        self.cluster = free_port()
        self.flags += [f"--cluster.listen-address=127.0.0.1:{self.cluster}", "--cluster.advertise-address=127.0.0.1:" + str(self.cluster)]
        if peer:
            self.flags.append(f"--cluster.peer=127.0.0.1:{peer.cluster}")


class Receiver:
    """What Alertmanagers send messages to. messages: [(time, {...})]"""

    def __init__(self):
        self.messages = messages = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                messages.append((time.time(), json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class Link:
    """A network between programs: forwards connections until it is cut. Then nothing passes and nobody is told, as when a switch dies."""

    def __init__(self, port):
        self.target, self.whole = port, threading.Event()
        self.whole.set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.ends = False

    def __enter__(self):
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.ends = True
        self.whole.set()
        self.listener.close()

    def cut(self):
        self.whole.clear()

    def mend(self):
        self.whole.set()

    def accept(self):
        while not self.ends:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.forward, args=(near,), daemon=True).start()

    def forward(self, near):
        try:
            self.whole.wait()
            with near, socket.create_connection(("127.0.0.1", self.target)) as far:
                others = {near: far, far: near}
                while not self.ends:
                    for one in select.select(list(others), [], [], 1)[0]:
                        data = one.recv(1 << 16)
                        self.whole.wait()
                        if not data:
                            return
                        others[one].sendall(data)
        except OSError:
            near.close()
