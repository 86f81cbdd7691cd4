# SPDX-License-Identifier: Apache-2.0
"""What the Python tests share: checks that are counted, waiting for a state, and the programs that they start."""
import functools
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

_failures = []


def check(condition, what):
    """Reports and counts a failure; the test goes on."""
    if not condition:
        _failures.append(what)
        print("FAIL", what, flush=True)
    return condition


def finish(summary=""):
    """Ends the script: exit status 1 if a check failed."""
    print(f"{summary}{len(_failures)} failures")
    sys.exit(1 if _failures else 0)


def wait_for(condition, what, seconds=120):
    """The first true result of condition(). The deadline is for a loaded machine; without that state the test ends."""
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        if time.monotonic() > deadline:
            raise SystemExit(f"FAIL this did not happen within {seconds} s: {what() if callable(what) else what}")
        time.sleep(0.05)
    return result


def fetch(url, accept="text/plain", headers={}, context=None):
    """The body of an answer, as bytes."""
    request = urllib.request.Request(url, headers={"Accept": accept, **headers})
    with urllib.request.urlopen(request, timeout=120, context=context) as answer:
        return answer.read()


def get(url, accept="text/plain"):
    return fetch(url, accept).decode()


def replace_file(path, text):
    """Readers see the old text or the new one."""
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(text)
    os.rename(temporary, path)


def bcrypt(password, cost=10):
    """A hash of the shape that htpasswd -B gives."""
    code = "import crypt, sys; print(crypt.crypt(sys.stdin.read(), '$2b$%s$' % sys.argv[1] + 'u' * 22))"
    return subprocess.run([sys.executable, "-W", "ignore", "-c", code, f"{cost:02}"], input=password, capture_output=True,
                          text=True, check=True).stdout.strip()


class Program:
    """A program that is stopped at the end of a `with` block. `log`: the file, or the descriptor, for its standard error."""
    name = "the program"

    def __init__(self, command, log, **how):
        self.log_file = log
        with open(log, "w") as stderr:
            self.process = subprocess.Popen(command, stderr=stderr, **how)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def log(self):
        return self.log_file.read_text()

    def runs(self):
        return self.process.poll() is None

    def wait_until(self, condition, what):
        """As wait_for(), for what this program does while it runs."""
        try:
            result = wait_for(lambda: condition() or not self.runs(), f"{self.name} {what}")
        except SystemExit as late:
            self.process.kill()
            raise SystemExit(f"{late}\n{self.log()}") from None
        if result is True and not self.runs():
            raise SystemExit(f"FAIL {self.name} ended before it {what}:\n{self.log()}")
        return result

    def signal_end(self):
        """Without waiting: several programs can end at the same time."""
        self.process.send_signal(signal.SIGTERM)

    def stop(self):
        """It must end, and without an error."""
        if self.runs():
            self.signal_end()
        try:
            check(self.process.wait(120) == 0, f"{self.name} ended with {self.process.returncode}:\n{self.log()[-2000:]}")
        except subprocess.TimeoutExpired:
            self.process.kill()
            check(False, f"{self.name} did not end:\n{self.log()[-2000:]}")


class Exporter(Program):
    """Listens on a free port of the loopback address, which it names in its log. `prefix`: what starts it."""
    name = "the exporter"

    def __init__(self, binary, log, *arguments, prefix=(), **how):
        super().__init__([*prefix, binary, "--web.listen-address=127.0.0.1:0", *arguments], log, **how)

    @functools.cached_property
    def port(self):
        """Waits for it: several exporters can start at the same time."""
        listening = re.compile(r"msg=listening .*address=127\.0\.0\.1:(\d+)")
        return int(self.wait_until(lambda: listening.search(self.log()), "listens").group(1))

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/metrics"


class OnFreePort(Program):
    """A program that takes its port as an argument. Another program may take that port first: it is then started with another one."""

    def __init__(self, command, log, **how):
        for _ in range(20):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self.port = probe.getsockname()[1]
            super().__init__([*command, f"--web.listen-address=127.0.0.1:{self.port}"], log, **how)
            if self.wait_until(lambda: "ready" if self.ready() else "" if self.runs() else "ended", "listens") == "ready":
                return
        raise SystemExit(f"FAIL {self.name} did not start:\n{self.log()}")

    def stop(self):
        self.signal_end()
        self.process.wait()


class Prometheus(OnFreePort):
    """A real one in a folder of its own."""
    name = "Prometheus"

    def __init__(self, folder, config, *arguments):
        (folder / "prometheus.yml").write_text(config)
        self.data = f"{folder}/data"
        super().__init__(["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={self.data}",
                          "--log.level=warn", *arguments], folder / "prometheus.log")

    def ready(self):
        self.base = f"http://127.0.0.1:{self.port}"
        try:
            get(self.base + "/-/ready")
            return self.api("status/flags")["storage.tsdb.path"] == self.data  # not another test's on the same port
        except OSError:
            return False

    def api(self, path, **parameters):
        try:
            return json.loads(get(f"{self.base}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"))["data"]
        except urllib.error.HTTPError as error:
            raise SystemExit(f"FAIL {path} {parameters}: {error.read().decode()}") from error

    def query(self, expression, **parameters):
        return self.api("query", query=expression, **parameters)["result"]

    def value(self, expression):
        result = self.query(expression)
        return float(result[0]["value"][1]) if result else None
