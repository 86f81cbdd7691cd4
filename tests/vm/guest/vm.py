# SPDX-License-Identifier: Apache-2.0
"""Base of the checks: the exporter as a black box, a strict parser of its page, the scripted machine."""

import atexit
import collections
import contextlib
import glob
import http.client
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time

BINARY = "/tmp/intel-gpu-exporter"
PORT = 10068
CTL = "/dev/fakegpu-ctl"
MIN_WINDOW = 1.0  # seconds: the default of --scrape.min-window
DURATION = "intel_gpu_scrape_collector_duration_seconds"

# --- verdicts -------------------------------------------------------------------------------------------------------

counts = collections.Counter()


def verdict(good, name, got=None, expected=None):
    """Prints one line per check. Returns whether it passed."""
    counts["ok" if good else "FAIL"] += 1
    print(f"ok {name}" if good else f"FAIL {name}: got {got}, expected {expected}", flush=True)
    return good


def equal(name, got, expected):
    return verdict(got == expected, name, repr(got), repr(expected))


def slack_for(got, expected, relative, absolute):
    """The tolerance of a value: as given, or the uncertainty of the window that it was computed over if that is larger."""
    return max(abs(expected) * relative, absolute, abs(expected) * getattr(got, "uncertainty", 0))


def near(name, got, expected, relative=0.01, absolute=0.0):
    """Within 1 % (or the given tolerance), or within `absolute`."""
    slack = slack_for(got, expected, relative, absolute)
    good = got is not None and abs(got - expected) <= slack
    return verdict(good, name, got, f"{expected} +- {slack:g}")


def points(name, got, expected, absolute=0.01):
    """A ratio within one point."""
    return near(name, got, expected, relative=0, absolute=absolute)


def absent(name, page, metric, **labels):
    found = page.all(metric, **labels)
    return verdict(not found, name, f"{len(found)} series, the first {found[:1]}", "none")


def present(name, page, metric, **labels):
    return verdict(bool(page.all(metric, **labels)), name, f"no {metric} {labels or ''}", "at least one series")


# --- the page -------------------------------------------------------------------------------------------------------

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\n"])*)"')
UNESCAPE = {"\\\\": "\\", "\\n": "\n", '\\"': '"'}


class BadPage(Exception):
    pass


class Computed(float):
    """A gauge that the exporter computes over a window. A collector reads the time and the counter one after the other:
    on a slow machine they are so far apart that the value is uncertain."""

    def __new__(cls, value, uncertainty):
        self = super().__new__(cls, value)
        self.uncertainty = uncertainty  # relative
        return self


def computed(name):
    return name.endswith(("_ratio", "_average_hertz")) or name == "intel_gpu_power_watts"


class Page:
    """Prometheus text 0.0.4, parsed strictly."""

    def __init__(self, raw, before, after, earlier=()):
        """earlier: the pages at which the window of a computed gauge may have begun."""
        self.before, self.after = before, after  # monotonic seconds around the request
        self.types, self.helps = {}, {}
        self.samples = collections.defaultdict(dict)  # name -> {labels: value}
        self._parse(raw)
        # A collector reads the time and its counters within this time.
        self.slowest = min(max(self.samples.get(DURATION, {}).values(), default=0), after - before)
        shares = [(self.slowest + page.slowest) / (before - page.after) for page in earlier
                  if before - page.after >= MIN_WINDOW]
        uncertainty = min(max(shares, default=self.slowest / MIN_WINDOW), 0.5)  # no check accepts everything
        for name in filter(computed, list(self.samples)):
            self.samples[name] = {labels: Computed(value, uncertainty) for labels, value in self.samples[name].items()}

    def _parse(self, raw):
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as e:
            raise BadPage(f"not UTF-8: {e}")
        if not text.endswith("\n"):
            raise BadPage("the last line has no end")
        done, current = set(), None
        for line in text[:-1].split("\n"):
            if line.startswith("# HELP ") or line.startswith("# TYPE "):
                _, kind, name, *rest = line.split(" ", 3)
                table = self.helps if kind == "HELP" else self.types
                if name in table or self.samples.get(name):
                    raise BadPage(f"second or late {kind} of {name}")
                table[name] = rest[0] if rest else ""
                if kind == "TYPE" and table[name] not in ("counter", "gauge", "histogram", "untyped"):
                    raise BadPage(f"TYPE {name} {table[name]}")
                continue
            if line.startswith("#") or not line:
                raise BadPage(f"unexpected line {line!r}")
            m = NAME.match(line)
            if not m:
                raise BadPage(f"no metric name in {line!r}")
            name, at, labels = m.group(), m.end(), []
            if line[at:at + 1] == "{":
                at += 1
                while line[at:at + 1] != "}":
                    m = LABEL.match(line, at)
                    if not m:
                        raise BadPage(f"bad labels in {line!r}")
                    labels.append((m.group(1), re.sub(r'\\[\\n"]', lambda e: UNESCAPE[e.group()], m.group(2))))
                    at = m.end()
                    if line[at:at + 1] == ",":
                        at += 1
                at += 1
            if len(dict(labels)) != len(labels):
                raise BadPage(f"a label twice in {line!r}")
            if line[at:at + 1] != " " or " " in line[at + 1:]:
                raise BadPage(f"not one value in {line!r}")
            value = float(line[at + 1:])
            if math.isnan(value) or math.isinf(value):
                raise BadPage(f"{line!r} is no number")
            family = self.family(name)
            if family != current:
                if family in done:
                    raise BadPage(f"{family} comes in two places")
                done.add(family)
                current = family
            if family not in self.types or family not in self.helps:
                raise BadPage(f"{name} has no TYPE or HELP")
            key = tuple(sorted(labels))
            if key in self.samples[name]:
                raise BadPage(f"duplicate {line!r}")
            self.samples[name][key] = value

    def family(self, name):
        """Whose HELP and TYPE are those of this series: _bucket, _sum and _count belong to a histogram."""
        base = re.sub("_(bucket|sum|count)$", "", name)
        return base if self.types.get(base) == "histogram" else name

    def all(self, name, **labels):
        """[(labels, value)] of the series that carry these labels."""
        want = set(labels.items())
        return [(dict(k), v) for k, v in self.samples.get(name, {}).items() if want <= set(k)]

    def get(self, name, **labels):
        """The value of the one series with these labels, or None."""
        found = self.all(name, **labels)
        if len(found) > 1:
            raise BadPage(f"{name}{labels} is {len(found)} series")
        return found[0][1] if found else None

    def sum(self, name, **labels):
        found = self.all(name, **labels)
        return sum(v for _, v in found) if found else None

    def devices(self):
        return sorted(labels["device"] for labels, _ in self.all("intel_gpu_info"))


# --- the exporter ---------------------------------------------------------------------------------------------------

def as_user(uid=1000, groups=(), capabilities=()):
    """A command prefix: this user, these groups, and only these capabilities."""
    command = ["setpriv", "--reuid", str(uid), "--regid", "65534"]
    command += ["--groups", ",".join(map(str, groups))] if groups else ["--clear-groups"]
    caps = ",".join(["-all"] + [f"+{c}" for c in capabilities])
    return command + ["--inh-caps", caps, "--ambient-caps", caps, "--bounding-set", caps]


class Exporter:
    """Runs the program, reads its page, and checks the invariants of every page."""

    def __init__(self, *flags, prefix=(), what="exporter"):
        self.what = what
        self.address = f"127.0.0.1:{PORT}"
        self.stderr_path = f"/tmp/exporter-{time.monotonic_ns()}.log"
        self.last, self.pages, self.problems = {}, 0, []
        self.recent = collections.deque(maxlen=4)
        with open(self.stderr_path, "wb") as err:
            self.process = subprocess.Popen(
                [*prefix, BINARY, "--web.listen-address", self.address, *flags],
                stdin=subprocess.DEVNULL, stdout=err, stderr=err)
        atexit.register(self.process.kill)
        self.started = time.monotonic()
        while True:
            try:
                status, _, _ = self.request("/-/healthy")
                if status == 200:
                    break
            except OSError:
                pass
            if self.process.poll() is not None or time.monotonic() - self.started > 120:
                raise RuntimeError(f"{what} does not come up: exit {self.process.poll()}, waits in {self.waits()}, "
                                   f"log: {self.log()[-600:]}")
            time.sleep(0.05)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.stop(quiet=kind is not None)

    @property
    def pid(self):
        return self.process.pid

    def request(self, path, headers=(), timeout=120):
        connection = http.client.HTTPConnection(self.address, timeout=timeout)
        try:
            connection.request("GET", path, headers=dict(headers))
            answer = connection.getresponse()
            return answer.status, dict((k.lower(), v) for k, v in answer.getheaders()), answer.read()
        finally:
            connection.close()

    def scrape(self, query="", headers=()):
        before = time.monotonic()
        status, headers, body = self.request("/metrics" + query, headers)
        if status != 200:
            raise BadPage(f"status {status}: {body[:200]!r}")
        page = Page(body, before, time.monotonic(), self.recent)
        self.recent.append(page)
        self.pages += 1
        if headers.get("content-type") != "text/plain; version=0.0.4; charset=utf-8":
            self.problems.append(f"content type {headers.get('content-type')}")
        self._always_true(page)
        return page

    def _always_true(self, page):
        for name, series in page.samples.items():
            for labels, value in series.items():
                text = f"{name}{dict(labels)}"
                if name.endswith("_ratio") and not 0 <= value <= 1:
                    self.problems.append(f"{text} = {value} is outside 0..1")
                kind = page.types[page.family(name)]
                if kind in ("counter", "histogram"):
                    if kind == "counter" and not name.endswith("_total"):
                        self.problems.append(f"counter {name} has no _total")
                    old = self.last.get((name, labels), 0)
                    if value < old:
                        self.problems.append(f"{text} went back from {old} to {value}")
                    self.last[name, labels] = value
                elif name.endswith("_total"):
                    self.problems.append(f"{name} is a {kind}")
                if name.startswith("intel_gpu_process") and any(c in text for c in "\x00\x01"):
                    self.problems.append(f"control character in {text!r}")

    def window(self, seconds=2.2, settle=1.3):
        """Two pages under constant conditions, both after the last scripted change."""
        time.sleep(settle)
        first = self.scrape()
        time.sleep(seconds)
        return first, self.scrape()

    def log(self):
        with open(self.stderr_path, errors="replace") as f:
            return f.read()

    def warnings(self):
        """Log lines of warnings and errors, without timestamps."""
        lines = [re.sub(r"\b(time|ts)=\S+ ?", "", l) for l in self.log().splitlines()]
        return [l for l in lines if re.search(r"level=(warn|error)", l)]

    def waits(self):
        """The stacks of its threads, for a report."""
        where = []
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{self.pid}/task"):
                where.append(read(f"/proc/{self.pid}/task/{task}/wchan") + " " +
                             read(f"/proc/{self.pid}/task/{task}/syscall").split()[0])
        return where

    def fds(self):
        open_files = []
        for fd in os.listdir(f"/proc/{self.pid}/fd"):
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                open_files.append(os.readlink(f"/proc/{self.pid}/fd/{fd}"))
        return sorted(open_files)

    def perf_fds(self):
        return sum("[perf_event]" in fd for fd in self.fds())

    def status(self, field):
        with open(f"/proc/{self.pid}/status") as f:
            return int(re.search(rf"^{field}:\s+(\d+)", f.read(), re.M).group(1))

    def children(self):
        found = []
        for task in os.listdir(f"/proc/{self.pid}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{self.pid}/task/{task}/children") as f:
                found += f.read().split()
        return found

    def stop(self, quiet=False):
        alive = self.process.poll() is None
        if alive:
            self.process.send_signal(signal.SIGTERM)
            try:
                code = self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                code = "killed: SIGTERM was not heard"
        else:
            code = f"{self.process.returncode} before SIGTERM; log: {self.log()[-500:]}"
        atexit.unregister(self.process.kill)
        if quiet:
            return
        equal(f"{self.what}: SIGTERM ends it with 0", code, 0)
        unique = list(dict.fromkeys(self.problems))
        verdict(not unique, f"{self.what}: {self.pages} pages valid, counters never back, ratios within 0..1",
                f"{len(unique)} problems: " + "; ".join(unique[:4]), "none")


def run_tool(*arguments, prefix=(), timeout=120):
    """A subcommand of the program: (exit code, stdout and stderr)."""
    done = subprocess.run([*prefix, BINARY, *arguments], capture_output=True, timeout=timeout, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace")


def doctor_is_content(name, prefix=()):
    """No privilege is missing; features that this kernel lacks may be, and then the exit code is set."""
    code, text = run_tool("doctor", "--json", prefix=prefix)
    said = json.loads(next(line for line in text.splitlines() if line.startswith("{")))
    features = [feature for place in [*said["gpus"], said["machine"]] for feature in place["features"]]
    equal(f"{name}: doctor misses no right", [f["feature"] for f in features if f.get("reason") == "permission"], [])
    equal(f"{name}: doctor's exit code", code, 1 if said["missing"] else 0)


def rate(name, first, second, metric, per_second, relative=0.01, absolute=0.0, **labels):
    """A counter grew at this rate, up to the uncertainty of when it was read between request and answer."""
    a, b = first.sum(metric, **labels), second.sum(metric, **labels)
    if a is None or b is None:
        return verdict(False, name, f"no {metric}{labels}", f"{per_second}/s")
    shortest, longest = second.before - first.after, second.after - first.before
    low = per_second * shortest * (1 - relative) - absolute
    high = per_second * longest * (1 + relative) + absolute
    return verdict(low <= b - a <= high, name, f"{b - a:g}", f"{low:g} to {high:g} ({per_second}/s)")


# --- the machine ----------------------------------------------------------------------------------------------------

def ctl(*commands):
    for command in commands:
        with open(CTL, "wb", buffering=0) as f:
            f.write(command.encode())


def state():
    with open(CTL) as f:
        return json.load(f)


def read(path):
    with open(path) as f:
        return f.read().strip()


def write(path, text):
    with open(path, "w") as f:
        f.write(str(text))


class Load:
    """A running gpuload; .pids are its processes."""

    def __init__(self, load, *options, prefix=()):
        self.process = subprocess.Popen([*prefix, "gpuload", *map(str, options), load], stdout=subprocess.PIPE)
        atexit.register(self.process.kill)
        words = self.process.stdout.readline().split()
        if not words or words[0] != b"ready":
            raise RuntimeError(f"gpuload {options} {load!r}: {words}")
        self.pids = [int(w) for w in words[1:]]

    @property
    def pid(self):
        return self.pids[0]

    def stop(self):
        self.process.terminate()
        self.process.wait()
        atexit.unregister(self.process.kill)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def wait_for(condition, seconds, step=0.1):
    """True as soon as the condition holds, False if it never does."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(step)
    return bool(condition())


def load_module(personality, *parameters):
    """Other GPUs without another boot, with the owners and modes that rig-init gives their nodes."""
    subprocess.run(["rmmod", "fakegpu"], check=True)
    subprocess.run(["insmod", "/rig/fakegpu.ko", f"personality={personality}", *parameters], check=True)
    for pattern, group in (("card*", "video"), ("renderD*", "render")):
        for node in glob.glob(f"/dev/dri/{pattern}"):
            shutil.chown(node, group=group)
            os.chmod(node, 0o660)
    os.chmod(CTL, 0o666)


def main(groups):
    """Runs the group named on the command line and ends with its summary."""
    name = sys.argv[1]
    started = time.monotonic()
    try:
        groups[name]()
    except Exception as e:  # a check that cannot continue has failed
        import traceback
        traceback.print_exc()
        verdict(False, f"{name}: ran to its end", f"{type(e).__name__}: {e}", "no exception")
    print(f"== {name}: {counts['ok']} ok, {counts['FAIL']} failed, {time.monotonic() - started:.0f} s", flush=True)
    sys.exit(1 if counts["FAIL"] else 0)
