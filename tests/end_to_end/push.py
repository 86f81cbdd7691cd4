#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--push.otlp against receivers of every kind: what arrives is what /metrics shows, nothing is lost in an outage, and no
receiver keeps the exporter from serving or from ending.

usage: push.py EXPORTER_BINARY REPOSITORY_ROOT [PART...]
"""
import base64
import contextlib
import email.utils
import gzip
import http.server
import os
import pathlib
import re
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from exporter_under_test import Exporter, check, finish, get, wait_for  # noqa: E402

ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}


# Protobuf, from the published files of opentelemetry-proto.

def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """{field: [values]}: numbers for varints, bytes for everything else."""
    at, found = 0, {}
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        else:
            if kind == 2:
                size, at = varint(data, at)
            else:
                size = {1: 8, 5: 4}[kind]
            value = data[at:at + size]
            assert len(value) == size, "cut off"
            at += size
        found.setdefault(key >> 3, []).append(value)
    return found


def attributes(encoded):
    result = {}
    for one in encoded:
        pair = fields(one)
        name = pair[1][0].decode()
        assert name not in result, f"attribute {name} twice"
        result[name] = fields(pair[2][0])[1][0].decode()
    return result


def number(data, form):
    return struct.unpack(form, data)[0]


class Reading:
    """A decoded ExportMetricsServiceRequest."""

    def __init__(self, body):
        (resource_metrics,) = fields(body)[1]
        parts = fields(resource_metrics)
        self.resource = attributes(fields(parts[1][0])[1])
        (scope,) = parts[2]
        scope = fields(scope)
        self.scope = fields(scope[1][0])[1][0].decode()
        self.points = {}  # (name, sorted attributes): value
        self.starts, self.kinds, self.units, self.times = {}, {}, {}, set()
        for encoded in scope[2]:
            metric = fields(encoded)
            name = metric[1][0].decode()
            assert name not in self.kinds, f"metric {name} twice"
            self.units[name] = metric.get(3, [b""])[0].decode()
            (kind,) = {5, 7, 9} & metric.keys()
            data = fields(metric[kind][0])
            self.kinds[name] = {5: "gauge", 7: "counter" if data.get(3) == [1] else "updowncounter", 9: "histogram"}[kind]
            assert kind == 5 or data[2] == [2], "cumulative"
            for point in data[1]:
                point = fields(point)
                key = (name, tuple(sorted(attributes(point.get(9 if kind == 9 else 7, [])).items())))
                assert key not in self.points, f"{key} twice"
                self.points[key] = number(point[5 if kind == 9 else 4][0], "<d")
                self.times.add(number(point[3][0], "<Q"))
                if 2 in point:
                    self.starts[key] = number(point[2][0], "<Q")

    def counter(self, name):
        return sum(value for (metric, _), value in self.points.items() if metric == name)


def answer_of(rejected=None, message=""):
    partial = b"" if rejected is None else b"\x08" + bytes([rejected]) + b"\x12" + bytes([len(message)]) + message.encode()
    return b"" if rejected is None else b"\x0a" + bytes([len(partial)]) + partial


class Receiver:
    """behave(n): what it does with its n-th request: (status, headers, body), or a function of the handler."""

    def __init__(self, behave=lambda n: (200, {}, b""), context=None, port=0, address="127.0.0.1"):
        self.readings, self.requests, self.times = [], [], []
        self.behave = behave
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.times.append(time.monotonic())
                outer.requests.append((self.path, dict(self.headers.items())))
                behaviour = outer.behave(len(outer.requests))
                if callable(behaviour):
                    behaviour(self)
                    return
                status, headers, answer = behaviour
                if status == 200:
                    outer.readings.append(Reading(gzip.decompress(body)))
                self.send_response(status)
                for name, value in {"Content-Type": "application/x-protobuf", "Content-Length": len(answer), **headers}.items():
                    self.send_header(name, str(value))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            address_family = socket.AF_INET6 if ":" in address else socket.AF_INET

            def handle_error(self, *_):
                if not isinstance(sys.exc_info()[1], (OSError, ssl.SSLError)):
                    super().handle_error(*_)

        self.server = Server((address, port), Handler)
        if context:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.server_address[1]
        self.url = f"{'https' if context else 'http'}://localhost:{self.port}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05})
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class Pushing(Exporter):
    def __init__(self, binary, log, url, *arguments, env=ENVIRONMENT):
        super().__init__(binary, log, "--simulate=rack", f"--push.otlp={url}", "--push.interval=1s", *arguments, env=env)

    def self_metric(self, name):
        found = re.search(rf'^intel_gpu_exporter_push_{name}{{target="otlp"}} (\S+)$', get(self.url), re.MULTILINE)
        return float(found.group(1))


LABELS = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
RENAMED = {"hw.id": "device", "hw.sensor_location": ("sensor", "fan", "domain")}


def page(text):
    """{(name, sorted labels): value} of a page, histograms by their sum."""
    samples = {}
    for line in text.splitlines():
        if line.startswith("#") or not line:
            continue
        name, labels, value = re.match(r"([a-z0-9_]+)(?:\{(.*)\})? (\S+)", line).groups()
        samples[(name, tuple(sorted(LABELS.findall(labels or ""))))] = float(value)
    return samples


def values(binary, work):
    """Each sample of the page is in the reading with its value, under its own or OpenTelemetry's name."""
    with Receiver() as receiver, Pushing(binary, work / "log", receiver.url) as exporter:
        wait_for(lambda: len(receiver.readings) >= 3, "three readings")
        asked = time.time_ns()
        text = get(exporter.url)
        answered = time.time_ns()
        wait_for(lambda: sum(min(reading.times) > answered for reading in list(receiver.readings)) >= 2, "two readings after the page")
        readings = list(receiver.readings)
    last = readings[-1]
    check(receiver.requests[0][0] == "/v1/metrics", f"path {receiver.requests[0][0]}")
    headers = receiver.requests[0][1]
    check(headers["Content-Type"] == "application/x-protobuf" and headers["Content-Encoding"] == "gzip", f"headers {headers}")
    check("Authorization" not in headers and "intel-gpu-exporter/" in headers["User-Agent"], f"headers {headers}")
    check(last.resource["service.name"] == "intel-gpu-exporter" and last.resource["host.name"] == socket.gethostname()
          and {"service.version", "service.instance.id"} <= last.resource.keys(), f"resource {last.resource}")
    check(len(last.times) == 1 and abs(min(last.times) / 1e9 - time.time()) < 600, "one time for a reading, that of this clock")
    own = {key: value for key, value in page(text).items() if not key[0].endswith(("_bucket", "_count", "_sum"))}
    pushed = {(name, labels) for name, labels in last.points}
    unconverted = {key for key in own if key in pushed}
    # Not these: they change between two scrapes or have another name.
    missing = [key for key in own if key not in pushed and not any(
        key[0].startswith(prefix) for prefix in ("intel_gpu_engine_busy_ratio", "intel_gpu_energy", "intel_gpu_power_watts", "intel_gpu_memory_",
                                                 "intel_gpu_temperature_celsius", "intel_gpu_fan_speed", "intel_gpu_voltage", "intel_gpu_pcie_errors",
                                                 "intel_gpu_process", "intel_gpu_exporter_http_requests", "intel_gpu_workload"))]
    check(not missing, f"missing: {missing[:5]}")
    check(len(unconverted) > 200, f"{len(unconverted)} samples under our names")
    still = {key for key, value in own.items() if key in last.points and
             (key[0].endswith("_info") or "limit" in key[0] or "_link_" in key[0] or key[0].startswith("intel_gpu_exporter_f"))}
    check(len(still) > 50 and all(own[key] == last.points[key] for key in still), "values that stand still are the page's")
    # A constant of each kind under OpenTelemetry's name.
    sizes = {labels: value for (name, labels), value in own.items() if name == "intel_gpu_memory_size_bytes"}
    limits = {tuple(sorted((RENAMED.get(k, k), v) for k, v in labels)): value for (name, labels), value in last.points.items() if name == "hw.gpu.memory.limit"}
    check(sizes and sizes == limits, f"hw.gpu.memory.limit is the page's size: {limits} {sizes}")
    check(last.kinds["hw.gpu.memory.limit"] == "updowncounter" and last.units["hw.gpu.memory.limit"] == "By", "its kind and unit")
    check(last.kinds["hw.energy"] == "counter" and last.units["hw.energy"] == "J", "hw.energy")
    check(last.kinds["hw.gpu.utilization"] == "gauge" and last.kinds["hw.temperature"] == "gauge", "gauges")
    # A counter between two readings: the page in between lies in between. Not the nearest readings, which can overlap the page.
    before = [reading for reading in readings if min(reading.times) < asked][-2]
    after = [reading for reading in readings if min(reading.times) > answered][1]
    names = [key for key in own if before.kinds.get(key[0]) == "counter" and key in before.points and key in after.points]
    outside = [key for key in names if not before.points[key] <= own[key] <= after.points[key]]
    check(len(names) > 100 and not outside, f"counters of the page lie between two readings: {outside[:3]}")
    starts = {key for key in after.starts if key in readings[0].starts}
    check(len(starts) > 100 and all(readings[0].starts[key] == after.starts[key] for key in starts), "the start of a series stays")


def outage(binary, work):
    """What was read while nobody listened arrives later, in order; so do readings while the receiver is overloaded."""
    # Bound and not listening: connections are refused, and no other program can take the port.
    with socket.socket() as reserved, contextlib.ExitStack() as stack:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
        exporter = stack.enter_context(Pushing(binary, work / "log", f"http://127.0.0.1:{port}"))
        wait_for(lambda: exporter.self_metric("queue_length") >= 4, "readings wait")
        wait_for(lambda: "is the receiver running" in exporter.log(), "a line with the fix")
        lines = re.findall("a reading was not delivered.*", exporter.log())
        check(all(line != following for line, following in zip(lines, lines[1:])), f"one line for a reason, not one for each attempt: {lines}")
        check(exporter.self_metric("failures_total") > 1 and exporter.self_metric("samples_total") == 0, "failures are counted")
        with Receiver(port=port) as receiver:
            wait_for(lambda: exporter.self_metric("queue_length") == 0, "all are delivered")
            times = [min(reading.times) for reading in receiver.readings]
            check(len(times) >= 4 and times == sorted(times), "in order")
            check(all(b - a < 60e9 for a, b in zip(times, times[1:])), "without a gap")
            check(exporter.self_metric("dropped_total") == 0, "nothing is lost")
            samples = sum(len(reading.points) for reading in list(receiver.readings))
            check(exporter.self_metric("samples_total") >= samples > 0, "samples are counted")
            wait_for(lambda: "delivered again" in exporter.log(), "the end of the outage is logged")
    due, seen = [], []

    def with_date(n):
        seen.append(time.time())
        if n > 1:
            return 200, {}, b""
        due.append(int(seen[0]) + 4)
        return 503, {"Retry-After": email.utils.formatdate(due[0], usegmt=True)}, b""

    for name, behave in {
            "429 with seconds": lambda n: (429, {"Retry-After": "2"}, b"") if n == 1 else (200, {}, b""),
            "503 with a date": with_date,
            "502": lambda n: (502, {}, b"nonsense") if n < 3 else (200, {}, b""),
            "an answer that ends early": lambda n: (lambda h: h.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx"))
            if n == 1 else (200, {}, b""),
            "no answer": lambda n: (lambda h: None) if n == 1 else (200, {}, b"")}.items():
        with Receiver(behave) as receiver, Pushing(binary, work / "log", receiver.url) as exporter:
            wait_for(lambda: len(receiver.readings) >= 2, f"{name}: delivered after all")
            check(exporter.self_metric("dropped_total") == 0 and exporter.self_metric("failures_total") >= 1, f"{name}: kept")
            if "with seconds" in name:
                check(receiver.times[1] - receiver.times[0] >= 2, f"{name}: waited as asked")
    check(seen[1] >= due[0], f"no attempt before the date: {seen[1]} {due[0]}")


def refused(binary, work):
    """What no further attempt would change is dropped and counted, and the next reading is pushed."""
    for status in (400, 401, 404, 500, 301):
        body = b"\x12\x08too many"
        with Receiver(lambda n: (status, {}, body) if n == 1 else (200, {}, b"")) as receiver, Pushing(binary, work / "log", receiver.url) as exporter:
            wait_for(lambda: receiver.readings, f"{status}: the next reading arrives")
            wait_for(lambda: exporter.self_metric("samples_total") > 0, "it is counted")
            check(exporter.self_metric("failures_total") == 1 and exporter.self_metric("dropped_total") > 100, f"{status}: dropped once")
            check(f"HTTP {status}" in exporter.log() and 'detail="too many"' in exporter.log(), f"{status}: the log has the receiver's words")
            if status == 401:
                check("--push.otlp.credentials" in exporter.log(), "the log names the flag")
    with Receiver(lambda n: (200, {}, answer_of(7, "clock"))) as receiver, Pushing(binary, work / "log", receiver.url) as exporter:
        wait_for(lambda: len(receiver.readings) >= 2, "readings of which a part is rejected")
        wait_for(lambda: exporter.self_metric("dropped_total") >= 14, "the rejected points are counted")
        check(exporter.self_metric("failures_total") == 0 and min(receiver.readings[1].times) > min(receiver.readings[0].times), "never pushed again")
    with Receiver(lambda n: (200, {}, b"\xff" * (5 << 20))) as receiver, Pushing(binary, work / "log", receiver.url) as exporter:
        wait_for(lambda: "answer is too large" in exporter.log(), "an endless answer is refused")


def echo(binary, work):
    """A receiver that sends the credentials back in its answer does not get them into the log."""
    secret = work / "secret"
    for text, parts in {"Authorization: Bearer a-t0ken-of-mine\n": ["a-t0ken-of-mine"],
                        "me:a-pass-of-mine\n": ["a-pass-of-mine", base64.b64encode(b"me:a-pass-of-mine").decode()]}.items():
        secret.write_text(text)
        secret.chmod(0o600)
        words = ("you sent " + " and ".join(parts)).encode()
        for behaviour in ((400, {}, b"\x12" + bytes([len(words)]) + words), (503, {}, b"\x12" + bytes([len(words)]) + words),
                          (200, {}, answer_of(1, words.decode()))):
            with Receiver(lambda n: behaviour) as receiver, Pushing(binary, work / "log", receiver.url, f"--push.otlp.credentials={secret}") as exporter:
                wait_for(lambda: "you sent ***" in exporter.log(), f"{behaviour[0]}: the receiver's words are logged")
                check(not any(part in exporter.log() for part in parts), f"{behaviour[0]}: without the secret: {exporter.log()}")


def hang(binary, work):
    """A receiver that accepts and never answers: pages are served, and the exporter ends at once."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        for scheme in ("http", "https"):
            with Pushing(binary, work / "log", f"{scheme}://127.0.0.1:{silent.getsockname()[1]}") as exporter:
                connection, _ = silent.accept()
                check("intel_gpu_info" in get(exporter.url), "a page while a push hangs")
                exporter.stop()
                check("readings were not delivered before the end" in exporter.log(), "what was not delivered is logged")
                connection.close()


def children_of(process):
    return [int(child) for child in pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def is_in_memory(process, text):
    with open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
        for line in pathlib.Path(f"/proc/{process}/maps").read_text().splitlines():
            begin, end = (int(part, 16) for part in line.split()[0].split("-"))
            if " rw" not in line:
                continue
            memory.seek(begin)
            with contextlib.suppress(OSError):  # of devices
                if text in memory.read(end - begin):
                    return True
    return False


def check_only_client_knows(exporter, password):
    # Only root reads the memory of these processes; that of a sanitizer keeps what was freed.
    if os.geteuid() != 0 or "IGPU_INSTRUMENTED" in os.environ:
        return
    (client,) = children_of(exporter.process.pid)
    (resolver,) = children_of(client)
    check(is_in_memory(client, password.encode()), "the client knows the proxy's password")
    check(not is_in_memory(resolver, password.encode()), "the resolver does not")


def gone(binary, work):
    """A process that ends earlier than the exporter: readings wait, pages are served, and the log has the fix."""
    with Receiver() as receiver, Pushing(binary, work / "log", receiver.url) as exporter:
        wait_for(lambda: receiver.readings, "a reading")
        (client,) = children_of(exporter.process.pid)
        (resolver,) = children_of(client)
        os.kill(resolver, signal.SIGKILL)
        known = len(receiver.readings)
        wait_for(lambda: len(receiver.readings) > known, "the address that worked is used without the resolver")
        receiver.server.socket.close()
        wait_for(lambda: "as the process that resolves names has ended: restart the exporter" in exporter.log(), "what became of the resolver is said")
        os.kill(client, signal.SIGKILL)
        wait_for(lambda: "has ended: restart the exporter" in exporter.log(), "a line with the fix")
        wait_for(lambda: exporter.self_metric("queue_length") >= 2, "readings wait")
        check(exporter.self_metric("failures_total") >= 1 and "intel_gpu_info" in get(exporter.url), "failures are counted, pages are served")
    with Pushing(binary, work / "log", "http://localhost:1") as exporter:
        wait_for(lambda: "is the receiver running" in exporter.log(), "it has started")
        (client,) = children_of(exporter.process.pid)
        os.kill(children_of(client)[0], signal.SIGKILL)
        wait_for(lambda: "resolves names has ended: restart the exporter" in exporter.log(), "a resolver that ended is named")


def make_certificate(folder, name, subject):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30", "-subj", "/CN=x",
                    "-addext", f"subjectAltName={subject}", "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / f"{name}.pem", folder / f"{name}.key")
    return context


def tls(binary, work):
    right, wrong = make_certificate(work, "right", "DNS:localhost"), make_certificate(work, "wrong", "DNS:elsewhere.example")
    secret = work / "secret"
    secret.write_text("me:s:cret\n")
    secret.chmod(0o600)
    trust = f"--push.cacert={work}/right.pem"
    with Receiver(context=right) as receiver:
        with Pushing(binary, work / "log", receiver.url, trust, f"--push.otlp.credentials={secret}"):
            wait_for(lambda: receiver.readings, "a reading through TLS")
        check(receiver.requests[0][1].get("Authorization") == "Basic " + base64.b64encode(b"me:s:cret").decode(), "the user is sent")
        secret.write_text("# of the vault\nAuthorization: Bearer abc\nX-Scope-OrgID: 7\n")
        known = len(receiver.requests)
        with Pushing(binary, work / "log", receiver.url, trust, f"--push.otlp.credentials={secret}"):
            wait_for(lambda: len(receiver.requests) > known, "a reading with headers")
        headers = receiver.requests[-1][1]
        check(headers.get("Authorization") == "Bearer abc" and headers.get("X-Scope-OrgID") == "7", f"headers {headers}")
        known = len(receiver.requests)
        with Pushing(binary, work / "log", receiver.url) as exporter:
            wait_for(lambda: "not trusted" in exporter.log() and "--push.cacert" in exporter.log(), "an issuer that is not trusted is named with the flag")
            check(exporter.self_metric("queue_length") > 0, "the reading is kept")
        check(len(receiver.requests) == known, "nothing was sent to it")
    with Receiver(context=wrong) as receiver, Pushing(binary, work / "log", receiver.url, f"--push.cacert={work}/wrong.pem") as exporter:
        wait_for(lambda: "for another name" in exporter.log(), "another's certificate is refused")
        check(not receiver.requests, "nothing was sent to it")
    with Receiver() as receiver, Pushing(binary, work / "log", receiver.url.replace("http", "https")) as exporter:
        wait_for(lambda: "does not speak TLS" in exporter.log(), "a receiver without TLS")


def old_tls(binary, work):
    """TLS 1.1 and older are refused also where the settings of this machine's OpenSSL allow them."""
    context = make_certificate(work, "old", "DNS:localhost")
    (work / "openssl.cnf").write_text("openssl_conf = all\n[all]\nssl_conf = ssl\n[ssl]\nsystem_default = lax\n"
                                      "[lax]\nMinProtocol = TLSv1\nCipherString = ALL:@SECLEVEL=0\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    lax = {**ENVIRONMENT, "OPENSSL_CONF": str(work / "openssl.cnf")}
    with Receiver(context=context) as receiver:
        if subprocess.run(["curl", "-s", "--tlsv1.0", "--insecure", receiver.url], capture_output=True, env=lax, check=False).returncode != 0:
            print("not checked: this machine's OpenSSL has no TLS 1.1")
            return
        with Pushing(binary, work / "log", receiver.url, f"--push.cacert={work}/old.pem", env=lax) as exporter:
            wait_for(lambda: "TLS handshake failed" in exporter.log(), "an old version is refused")
        check(not receiver.requests, "nothing was sent to it")
        shown = subprocess.run([binary, "top", "--once", "--insecure", receiver.url], capture_output=True, text=True, env=lax, timeout=120, check=False)
        check(shown.returncode == 1 and "TLS" in shown.stdout, f"top refuses it, too: {shown}")


class Proxy(threading.Thread):
    """CONNECT and absolute URLs, to wherever it is told, but always to this port of the loopback address."""
    PASSWORD = "open-sesame"

    def __init__(self, port):
        super().__init__(daemon=True)
        self.to, self.lines = port, []
        self.server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://user:{self.PASSWORD}@127.0.0.1:{self.server.getsockname()[1]}"
        self.start()

    def run(self):
        while True:
            client, _ = self.server.accept()
            head = b""
            while b"\r\n\r\n" not in head:
                head += client.recv(65536)
            self.lines.append(head.decode(errors="replace"))
            upstream = socket.create_connection(("127.0.0.1", self.to))
            if head.startswith(b"CONNECT"):
                client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            else:
                upstream.sendall(re.sub(rb"^POST http://[^/]+", b"POST ", head))
            for source, sink in ((client, upstream), (upstream, client)):
                threading.Thread(target=self.copy, args=(source, sink), daemon=True).start()

    def by_name(self, variable):
        """What leads to it by a name, which a resolver looks up. Bound as what ships is linked: a debug build binds functions at
        their first call, which leaves copies of registers on the stack."""
        return {"LD_BIND_NOW": "1", variable: self.url.replace("127.0.0.1", "localhost")}

    @staticmethod
    def copy(source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass


def ipv6(binary, work):
    with Receiver(address="::1") as receiver, Pushing(binary, work / "log", f"http://[::1]:{receiver.port}"):
        wait_for(lambda: receiver.readings, "a reading over IPv6")
        check(receiver.requests[0][1]["Host"] == f"[::1]:{receiver.port}", f"its Host: {receiver.requests[0][1]}")
    # A zone is looked up at the start: the process that connects may not.
    with Receiver(address="::1") as receiver, Pushing(binary, work / "log", f"http://[::1%25lo]:{receiver.port}"):
        wait_for(lambda: receiver.requests, "a reading is pushed to an address with a zone")


def proxy(binary, work):
    context = make_certificate(work, "proxied", "DNS:receiver.example")
    with Receiver() as receiver:
        way = Proxy(receiver.port)
        with Pushing(binary, work / "log", "http://receiver.example:4318", env={**ENVIRONMENT, "http_proxy": way.url}):
            wait_for(lambda: receiver.readings, "a reading through a proxy")
        check(way.lines[0].startswith("POST http://receiver.example:4318/v1/metrics"), "the proxy is asked for the URL")
        check("Proxy-Authorization: Basic " in way.lines[0], "with its user")
        way = Proxy(receiver.port)
        with Pushing(binary, work / "log", "http://receiver.example:4318", env={**ENVIRONMENT, **way.by_name("http_proxy")}) as exporter:
            wait_for(lambda: way.lines, "a reading through a proxy with a name")
            login = way.lines[0].partition("Proxy-Authorization: Basic ")[2].split()
            check(login and base64.b64decode(login[0]).decode() == f"user:{Proxy.PASSWORD}", f"with its user: {way.lines[0]}")
            check_only_client_knows(exporter, Proxy.PASSWORD)
    with Receiver(context=context) as receiver:
        way = Proxy(receiver.port)
        with Pushing(binary, work / "log", "https://receiver.example", f"--push.cacert={work}/proxied.pem",
                     env={**ENVIRONMENT, "https_proxy": way.url}):
            wait_for(lambda: receiver.readings, "a reading through a tunnel")
        check(way.lines[0].startswith("CONNECT receiver.example:443"), "a tunnel")
        used = len(way.lines)
        with Pushing(binary, work / "log", receiver.url, f"--push.cacert={work}/proxied.pem",
                     env={**ENVIRONMENT, "https_proxy": way.url, "no_proxy": "localhost"}) as exporter:
            wait_for(lambda: "for another name" in exporter.log(), "no_proxy leads past the proxy")
        check(len(way.lines) == used, "which is not asked")


def refusals(binary, work):
    """Wrong flags end the program with one line, and no secret is repeated."""
    open_file = work / "open"
    open_file.write_text("me:secret")
    open_file.chmod(0o644)
    empty = work / "empty"
    empty.write_text("")
    empty.chmod(0o600)
    url = "--push.otlp=http://localhost:1"
    for arguments, words in {("--push.otlp=http://me:secret@localhost",): "--push.otlp.credentials", ("--push.otlp=ftp://localhost",): "neither http nor https",
                             ("--push.otlp=localhost:4318",): "scheme", ("--push.otlp=http://",): "names no host", ("--push.otlp=http://x:99999",): "port",
                             ("--push.otlp=http://x/?a=b",): "query", (url, "--push.interval=10ms"): "interval", (url, f"--push.cacert={open_file}"): "no certificate",
                             (url, f"--push.otlp.credentials={open_file}"): "chmod", (url, f"--push.otlp.credentials={empty}"): "is empty",
                             (url, f"--push.otlp.credentials={work}/none"): "none",
                             ("--push.otlp.credentials=x",): "--push.otlp"}.items():
        outcome = subprocess.run([binary, "--simulate=rack", "--web.listen-address=127.0.0.1:0", *arguments], capture_output=True, text=True, timeout=60,
                                 env=ENVIRONMENT, check=False)
        check(outcome.returncode != 0 and words in outcome.stderr and "secret" not in outcome.stderr, f"{arguments}: {outcome.returncode} {outcome.stderr}")
    outcome = subprocess.run([binary, "--simulate=rack", url], capture_output=True, text=True, timeout=120, check=False,
                             env={**ENVIRONMENT, "http_proxy": "socks4://x"})
    check(outcome.returncode != 0 and "no_proxy" in outcome.stderr, f"a proxy of another kind: {outcome.stderr}")


def off(binary, work):
    """Without the flag: no thread, no process, no metric."""
    with Exporter(binary, work / "log", "--simulate=rack", env=ENVIRONMENT) as exporter:
        check("_push_" not in get(exporter.url), "no metric without a target")
        tasks = [(entry / "comm").read_text().strip() for entry in pathlib.Path(f"/proc/{exporter.process.pid}/task").iterdir()]
        check(not any(task.startswith("push") for task in tasks), f"no thread: {tasks}")
        children = pathlib.Path(f"/proc/{exporter.process.pid}/task/{exporter.process.pid}/children").read_text()
        check(not children.strip(), "no process with a simulated machine")


def main():
    binary = sys.argv[1]
    only = sys.argv[3:]  # of the parts below
    with tempfile.TemporaryDirectory() as name:
        for part in (off, refusals, values, outage, refused, echo, hang, gone, tls, old_tls, ipv6, proxy):
            if only and part.__name__ not in only:
                continue
            folder = pathlib.Path(name) / part.__name__
            folder.mkdir()
            began = time.monotonic()
            part(binary, folder)
            print(f"{part.__name__}: {time.monotonic() - began:.1f} s", flush=True)
    finish()


if __name__ == "__main__":
    main()
