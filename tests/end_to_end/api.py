#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The API answers as docs/openapi.json says, the snapshot is what stats prints, and what protects /metrics protects it.

usage: api.py EXPORTER_BINARY REPOSITORY_ROOT
"""
import base64
import gzip
import json
import pathlib
import re
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error

import jsonschema

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from exporter_under_test import Exporter, bcrypt, check, fetch, finish, replace_file, wait_for  # noqa: E402

PROFILES = ["rack", "locked", "asleep", "arc-a770"]
STREAM = "/api/v1/stream"
PLACES = 64  # for streams


def schema_of(openapi, folder, path):
    path, _, query = path.partition("?")
    schema = openapi["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    if "anyOf" in schema:
        schema = schema["anyOf"][query == "view=page"]
    if schema.get("$ref", "").endswith(".schema.json"):
        return json.loads((folder / schema["$ref"]).read_text())
    # References into the components stay valid below the document's own root.
    return {**schema, "components": openapi["components"]}


def status_of(url, headers={}):
    try:
        fetch(url, headers=headers)
        return 200
    except urllib.error.HTTPError as error:
        return error.code


def names_of(reading):
    """Every metric with the labels of its series, without values: these differ from one reading to the next."""
    found = set()
    for gpu in [*reading["gpus"], {"device": "", "metrics": reading["metrics"]}]:
        for name, series in gpu["metrics"].items():
            for one in series:
                labels = tuple(sorted((label, value) for label, value in one.items() if isinstance(value, str)))
                found.add((gpu["device"], name, labels))
    return found


def raw(port, request):
    """The answer to these bytes, until the server closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=120) as client:
        client.sendall(request)
        answer = b""
        while chunk := client.recv(65536):
            answer += chunk
        return answer


class Stream:
    """A client of /api/v1/stream. Everything that comes is kept; `head` and `events` are what it says so far."""

    def __init__(self, port, query="", headers="", reads=True, tls=None):
        """port: or the path of a UNIX socket."""
        self.socket = socket.socket(socket.AF_INET if isinstance(port, int) else socket.AF_UNIX)
        self.socket.settimeout(120)
        self.socket.connect(("127.0.0.1", port) if isinstance(port, int) else str(port))
        if tls:
            self.socket = tls.wrap_socket(self.socket)
        self.socket.sendall(f"GET {STREAM}{query} HTTP/1.1\r\nHost: x\r\n{headers}\r\n".encode())
        self.bytes, self.ended = bytearray(), False
        self.found, self.parsed = [], 0
        if reads:
            threading.Thread(target=self.read, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def read(self):
        try:
            while chunk := self.socket.recv(65536):
                self.bytes += chunk
        except OSError:
            pass
        self.ended = True

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that reads
        except OSError:
            pass
        self.socket.close()

    @property
    def head(self):
        return self.bytes.split(b"\r\n\r\n")[0].decode() if b"\r\n\r\n" in self.bytes else ""

    @property
    def events(self):
        """(type, JSON) of those that are complete; each is found once, because fifty streams on a busy machine grow meanwhile."""
        begin = self.parsed or self.bytes.find(b"\r\n\r\n") + 4
        end = self.bytes.rfind(b"\n\n", begin)
        if begin > 3 and end > 0:
            for event in self.bytes[begin:end].decode("utf-8", "replace").split("\n\n"):
                fields = dict(line.split(": ", 1) for line in event.split("\n"))
                self.found.append((fields.get("event", "message"), fields["data"]))
            self.parsed = end + 2
        return self.found

    def wait(self, count):
        return wait_for(lambda: len(self.events) >= count and self.events, f"{count} events of a stream: {self.bytes[:300]}")


def check_answers(binary, root, folder, openapi):
    for profile in PROFILES:
        with Exporter(binary, folder / "log", f"--simulate={profile}", "--collector.host") as exporter:
            base = exporter.url.removesuffix("/metrics")
            for path in ("/api/v1/snapshot", "/api/v1/snapshot?view=page", "/api/v1/doctor"):  # flights.py has the others
                answer = json.loads(fetch(base + path))
                try:
                    jsonschema.Draft7Validator(schema_of(openapi, root / "docs", path)).validate(answer)
                except jsonschema.ValidationError as error:
                    check(False, f"{profile}: {path}: {error.message} at {list(error.absolute_path)}")
                zipped = fetch(base + path, headers={"Accept-Encoding": "gzip"})
                check(json.loads(gzip.decompress(zipped)).keys() == answer.keys(), f"{profile}: {path} compressed")
                check(answer["gpus"], f"{profile}: {path} has no GPU")
            snapshot = json.loads(fetch(base + "/api/v1/snapshot"))
            stats = json.loads(subprocess.run([binary, "stats", "--format=json", "--count=1", f"--simulate={profile}"],
                                              capture_output=True, check=True).stdout)
            ours, printed = names_of(snapshot), names_of(stats)
            check(ours == printed, f"{profile}: stats and the API differ: {sorted(ours ^ printed)[:5]}")
            check(snapshot["version"] == stats["version"], f"{profile}: version")


def check_protocol(binary, folder):
    with Exporter(binary, folder / "log", "--simulate=rack") as exporter:
        base = exporter.url.removesuffix("/metrics")
        check(status_of(base + "/api/v1/nothing") == 404, "an unknown page of the API")
        for path in ("/api/v1/snapshot", "/api/v1/doctor", "/assets/page.js"):
            head = raw(exporter.port, f"HEAD {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            check(head.startswith(b"HTTP/1.1 200") and head.endswith(b"\r\n\r\n"), f"HEAD {path}: {head[-100:]}")
            for method in ("POST", "OPTIONS", "DELETE"):
                answer = raw(exporter.port, f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
                check(answer.startswith(b"HTTP/1.1 405"), f"{method} {path}: {answer[:40]}")
            origin = raw(exporter.port, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nOrigin: https://a.example\r\nConnection: close\r\n\r\n".encode())
            check(b"access-control" not in origin.lower(), f"{path}: open to other web sites")
        # Clients that ask and never read, half a request, and a flood of connections: the next client is served.
        lazy = []
        for number in range(300):
            client = socket.create_connection(("127.0.0.1", exporter.port), timeout=120)
            client.sendall(b"GET /api/v1/snapshot HTTP/1.1\r\nHost: x\r\n" + (b"\r\n" * (number % 2)))
            lazy.append(client)
        check(json.loads(fetch(base + "/api/v1/snapshot"))["version"] == 1, "not served beside lazy clients")
        doctor = json.loads(fetch(base + "/api/v1/doctor"))
        check(doctor["gpus"], "no diagnosis beside lazy clients")
        check({layer["layer"] for layer in doctor["sandbox"]} >= {"seccomp", "landlock"}, f"the doctor's sandbox: {doctor['sandbox']}")
        check(all("advice" in gpu for gpu in doctor["gpus"]), "advice for each GPU")
        for client in lazy:
            client.close()


def times_of(streams):
    return {json.loads(data)["time"] for stream in streams for kind, data in stream.events if kind == "message"}


def check_stream(binary, root, folder):
    schema = jsonschema.Draft7Validator(json.loads((root / "docs/stats.schema.json").read_text()))
    with Exporter(binary, folder / "log", "--simulate=rack") as exporter:
        base = exporter.url.removesuffix("/metrics")
        with Stream(exporter.port) as stream:
            events = stream.wait(4)
            times = []
            for kind, data in events:
                check(kind == "message", f"an event of the type {kind}")
                reading = json.loads(data)
                schema.validate(reading)
                times.append(reading["time"])
            check(times == sorted(set(times)), f"a reading came twice: {times}")
            check("text/event-stream" in stream.head and "Content-Length" not in stream.head and "gzip" not in stream.head, stream.head)
        began = time.time()
        with Stream(exporter.port, "?interval=3s", "Connection: close\r\n") as seldom:
            # Each comes half a second early at most, if that saves a reading.
            events, elapsed = len(seldom.wait(3)), time.time() - began
            check(events <= elapsed / 2.5 + 2, f"{events} events every three seconds in {elapsed:.1f} s")
        for query in ("?interval=0.5s", "?interval=1h", "?interval=often", "?interval=1s&interval=2s"):
            check(status_of(base + STREAM + query) == 400, query)

        # Fifty streams and a client that polls: one reading a second for all of them.
        streams = [Stream(exporter.port) for _ in range(50)]
        try:
            for stream in streams:
                stream.wait(1)
            began, before = time.time(), len(times_of(streams))
            while min(len(stream.events) for stream in streams) < 6:
                fetch(base + "/api/v1/snapshot")
                if not check(time.time() - began < 120, "fifty streams have no six events"):
                    break
            readings, seconds = len(times_of(streams)) - before, time.time() - began
            check(readings <= seconds + 2, f"{readings} readings for fifty streams in {seconds:.1f} s")
            # More than there are places for, from one address.
            more = [Stream(exporter.port) for _ in range(PLACES - 50)]
            for stream in more:
                stream.wait(1)
            refused = raw(exporter.port, f"GET {STREAM} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            check(refused.startswith(b"HTTP/1.1 503") and b"/api/v1/snapshot" in refused and b"Retry-After" in refused, f"beyond: {refused[:300]}")
            check(status_of(base + "/api/v1/snapshot") == 200 and status_of(exporter.url) == 200, "all streams are taken: others are served")
            for stream in more:
                stream.close()
            with Stream(exporter.port) as late:
                late.wait(2)
            exporter.signal_end()
            for stream in streams:
                wait_for(lambda: stream.ended, "the end of the exporter ends a stream")
        finally:
            for stream in streams:
                stream.close()


def check_hostile_streams(binary, folder):
    # The kernel keeps megabytes for a reader on TCP, and little for one on a UNIX socket.
    slow_socket = folder / "slow.socket"
    with Exporter(binary, folder / "log", "--simulate=rack", f"--web.listen-address=unix:{slow_socket}") as exporter:
        base = exporter.url.removesuffix("/metrics")
        threads = lambda: len(list(pathlib.Path(f"/proc/{exporter.process.pid}/task").iterdir()))  # noqa: E731
        # A slow reader, which reads less than comes, is told what it lost; a fast one beside it loses nothing.
        with Stream(exporter.port) as fast, Stream(slow_socket, reads=False) as slow:
            def told():
                if 5 * len(slow.bytes) < 2 * len(fast.bytes):
                    slow.bytes += slow.socket.recv(4096)
                return re.search(rb"\n\nevent: lost\ndata: ([1-9]\d*)\n\n", slow.bytes)
            wait_for(told, "a slow reader is told what it lost", 250)
            check(all(kind == "message" for kind, _ in fast.events), "a fast reader lost events")
        # Those that ask and never read, that send half a request, that leave at once, and that end their half: each in a flood.
        silent = [Stream(slow_socket, reads=False) for _ in range(40)]
        half = [socket.create_connection(("127.0.0.1", exporter.port), timeout=120) for _ in range(200)]
        for client in half:
            client.sendall(f"GET {STREAM} HTTP/1.1\r\nHost: x\r\n".encode())
        for number in range(300):
            with Stream(exporter.port, reads=False) as client:
                if number % 2:
                    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")  # a reset
        for _ in range(10):
            client = Stream(exporter.port)
            client.socket.shutdown(socket.SHUT_WR)
            wait_for(lambda: client.ended, "who ends its half ends its stream")
            client.close()
        check(status_of(base + "/api/v1/snapshot") == 200 and status_of(exporter.url) == 200, "not served beside hostile streams")
        check(threads() < 60, f"{threads()} threads: streams hold them")
        for client in (*half, *silent):
            client.close()
        # All places are free again.
        def all_places():
            streams = [Stream(exporter.port) for _ in range(PLACES)]
            try:
                wait_for(lambda: all(stream.events or stream.ended or " 503 " in stream.head for stream in streams), "an answer each")
                return all(stream.events for stream in streams)
            finally:
                for stream in streams:
                    stream.close()
        wait_for(all_places, "the places of those that left are free")
        # Tricks with the head, and requests behind it: one stream, or a refusal.
        for trick, status in (("Last-Event-ID: 7", 200), ("Accept-Encoding: gzip", 200), ("Transfer-Encoding: chunked", 200), ("Range: bytes=0-1", 200),
                              ("Content-Length: 5", 200), ("Content-Length: 1, 2", 400), ("Host: y", 400), ("X: " + "a" * 20000, 431), (" folded: x", 400)):
            with Stream(exporter.port, headers=trick + "\r\n") as client:
                wait_for(lambda: client.head, f"an answer to {trick[:40]}")
                check(client.head.startswith(f"HTTP/1.1 {status}"), f"{trick[:40]}: {client.head[:60]}")
        with Stream(exporter.port) as client:
            client.socket.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 3)
            client.wait(3)
            check(client.bytes.count(b"HTTP/1.1") == 1, "a request within a stream was answered")
            try:
                while not client.ended:
                    client.socket.sendall(b"x" * 65536)
            except OSError:
                pass
            wait_for(lambda: client.ended, "who sends without end is disconnected")


def check_rebinding(binary, folder):
    """A web page whose own name was pointed at this machine, in the browser of a visitor."""
    browser = "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\r\nAccept-Language: en-GB\r\n"

    def status(port, path, host, headers, method="GET"):
        answer = raw(port, f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n{headers}Connection: close\r\n\r\n".encode())
        return int(answer.split()[1]), answer

    with Exporter(binary, folder / "log", "--simulate=rack", "--sample.interval=100ms", "--web.allowed-host=gpu.example", "--web.allowed-host=gpu.test") as exporter:
        for path in ("/", "/metrics", "/api/v1/snapshot", STREAM, "/api/v1/doctor", "/api/v1/flights", "/assets/page.js", "/-/ready", "/nothing"):
            refused, answer = status(exporter.port, path, f"evil.example:{exporter.port}", browser)
            check(refused == 421 and b"--web.allowed-host" in answer, f"{path} by a strange name: {answer[:200]}")
        check(status(exporter.port, "/debug/flight", "evil.example", browser, "POST")[0] == 421, "a flight by a strange name")
        for host in ("gpu.example", f"GPU.test:{exporter.port}", "127.0.0.1", "[::1]:1", "localhost", socket.gethostname().split(".")[0] + ".lan"):
            check(status(exporter.port, "/api/v1/snapshot", host, browser)[0] == 200, f"a browser opens {host}")
        for client in ("Prometheus/3.5.0", "curl/8.5.0", "Telegraf/1.34.0 Go/1.24.1", "kube-probe/1.33"):
            for path in ("/metrics", "/-/healthy"):
                check(status(exporter.port, path, "exporter:10068", f"User-Agent: {client}\r\n")[0] == 200, f"{client} asks exporter:10068 for {path}")
    config = folder / "web.yml"
    limit = "rate_limit: {interval: 1ms, burst: 1000}\n"
    config.write_text(limit)
    password = "Authorization: Basic " + base64.b64encode(b"alice:secret").decode() + "\r\n"
    with Exporter(binary, folder / "log", "--simulate=rack", f"--web.config.file={config}") as exporter:
        check(status(exporter.port, "/", "evil.example", browser)[0] == 421, "a configuration without passwords")
        replace_file(config, limit + f"basic_auth_users: {{alice: {bcrypt('secret', 4)}}}\n")
        wait_for(lambda: status(exporter.port, "/", "evil.example", browser)[0] == 401, "who knows no password reads nothing")
        check(status(exporter.port, "/", "gpu.other.example", browser + password)[0] == 200, "who knows it uses any name")
    wrong = subprocess.run([binary, "--web.allowed-host=gpu.example", "--web.allowed-host=https://gpu.example"], capture_output=True, text=True)
    check(wrong.returncode != 0 and wrong.stderr.count("\n") == 1 and '"https://gpu.example"' in wrong.stderr, f"no name: {wrong.stderr}")


def check_protection(binary, folder):
    config = folder / "web.yml"
    config.write_text(f"basic_auth_users: {{alice: {bcrypt('secret', 4)}}}\nrate_limit: {{interval: 1h, burst: 13}}\n")
    with Exporter(binary, folder / "log", "--simulate=rack", f"--web.config.file={config}") as exporter:
        base = exporter.url.removesuffix("/metrics")
        right = {"Authorization": "Basic " + base64.b64encode(b"alice:secret").decode()}
        paths = ["/", "/api/v1/snapshot", "/api/v1/doctor", "/assets/page.js", "/assets/page.css"]
        check(status_of(base + STREAM) == 401, "a stream without a password")
        for path in paths:
            check(status_of(base + path) == 401, f"{path} without a password")
            check(status_of(base + path, right) == 200, f"{path} with the password")
        refused = [status_of(base + "/api/v1/snapshot", right) for _ in range(4)]
        check(429 in refused, f"the rate limit does not hold for the API: {refused}")
        check(status_of(base + STREAM, right) == 429, "the rate limit holds for streams")
    # A stream ends when the rules change: its client comes back and is asked for the password.
    config.write_text(f"basic_auth_users: {{alice: {bcrypt('secret', 4)}}}\n")
    with Exporter(binary, folder / "log", "--simulate=rack", f"--web.config.file={config}") as exporter:
        header = "Authorization: " + right["Authorization"] + "\r\n"
        with Stream(exporter.port, headers=header) as stream:
            stream.wait(3)
            check(not stream.ended, "a stream goes on while the rules stay")
            replace_file(config, f"basic_auth_users: {{alice: {bcrypt('other', 4)}}}\n")
            wait_for(lambda: stream.ended, "another password ends the stream")
        check(status_of(exporter.url.removesuffix("/metrics") + STREAM, right) == 401, "the old password")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", certificate,
                    "-days", "2", "-subj", "/CN=x"], check=True, capture_output=True)
    config.write_text(f"tls_server_config: {{cert_file: {certificate}, key_file: {key}}}\n")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    with Exporter(binary, folder / "log", "--simulate=rack", f"--web.config.file={config}") as exporter:
        with Stream(exporter.port, tls=tls) as stream:
            check(all(kind == "message" for kind, _ in stream.wait(3)), "a stream through TLS")
            exporter.signal_end()
            wait_for(lambda: stream.ended, "the end of the exporter ends a stream through TLS")


def main():
    binary, root = sys.argv[1], pathlib.Path(sys.argv[2])
    openapi = json.loads((root / "docs/openapi.json").read_text())
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        check_answers(binary, root, folder, openapi)
        check_protocol(binary, folder)
        check_stream(binary, root, folder)
        check_hostile_streams(binary, folder)
        check_rebinding(binary, folder)
        check_protection(binary, folder)
    finish(f"{len(PROFILES)} machines, ")


if __name__ == "__main__":
    main()
