# SPDX-License-Identifier: Apache-2.0
"""A rack on loopback: simulated exporters, and a real Prometheus with all our rules that scrapes them."""
import json
import pathlib
import re
import shutil
import socket
import subprocess
import time
import urllib.parse
import urllib.request

# Mostly the large profile; the others for what it lacks: a host without permissions, one whose cards sleep.
PROFILES = ["rack"] * 13 + ["tgl-broadcast"] * 2 + ["arc-a770", "battlemage", "locked", "asleep", "rack"]


def get(url):
    with urllib.request.urlopen(url, timeout=30) as answer:
        return answer.read().decode()


class Rack:
    """with Rack(binary, root, folder) as rack: rack.query(...)"""

    def __init__(self, binary, root, folder, profiles=PROFILES, stagger=0):
        self.binary, self.root, self.folder, self.profiles, self.stagger = binary, root, folder, profiles, stagger
        self.processes = []

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait()

    def start(self):
        logs = []
        for number, profile in enumerate(self.profiles):
            time.sleep(self.stagger)  # their loads follow the time since their start: those of one moment are all alike
            logs.append(self.folder / f"exporter-{number}.log")
            with open(logs[-1], "w") as log:
                self.processes.append(subprocess.Popen([self.binary, "--simulate", profile, "--web.listen-address", "127.0.0.1:0"], stderr=log))
        self.ports = [self.port_of(log) for log in logs]
        # Instances with names: a dashboard of twenty times 127.0.0.1 tells nothing.
        groups = [{"targets": [f"127.0.0.1:{port}"], "labels": {"instance": f"encoder-{number:02}"}} for number, port in enumerate(self.ports, 1)]
        shutil.copytree(self.root / "deploy/prometheus/rules", self.folder / "rules")
        for rules in (self.folder / "rules").glob("*.yml"):  # each group every three seconds, and not by its own interval
            rules.write_text(re.sub(r"^    interval: \w+\n", "", rules.read_text(), flags=re.M))
        (self.folder / "targets.json").write_text(json.dumps(groups))
        (self.folder / "prometheus.yml").write_text(
            "global: {scrape_interval: 1s, evaluation_interval: 3s}\nrule_files: [rules/*.yml]\n"
            "scrape_configs:\n- {job_name: intel-gpu, file_sd_configs: [{files: [targets.json]}]}\n")
        for _ in range(20):
            if self.start_prometheus():
                return
        raise SystemExit("prometheus did not start:\n" + (self.folder / "prometheus.log").read_text())

    @staticmethod
    def port_of(log):
        for _ in range(600):
            found = re.search(r"127\.0\.0\.1:([1-9]\d*)", log.read_text())
            if found:
                return int(found.group(1))
            time.sleep(0.1)
        raise SystemExit("the exporter named no port:\n" + log.read_text())

    def start_prometheus(self):
        with socket.socket() as probe:  # another one may take it before Prometheus does: then again
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        with open(self.folder / "prometheus.log", "a") as log:
            process = subprocess.Popen(
                ["prometheus", f"--config.file={self.folder}/prometheus.yml", f"--storage.tsdb.path={self.folder}/data",
                 f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn"], stderr=log)
        self.processes.append(process)
        self.base = f"http://127.0.0.1:{port}"
        for _ in range(600):
            if process.poll() is not None:
                self.processes.remove(process)
                return False
            try:
                get(self.base + "/-/ready")
                return True
            except OSError:
                time.sleep(0.1)
        return False

    def query(self, expression):
        try:
            return json.loads(get(self.base + "/api/v1/query?query=" + urllib.parse.quote(expression)))["data"]["result"]
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{expression}: {error.read().decode()}") from error

    def query_range(self, expression, start, end, step):
        return json.loads(get(self.base + "/api/v1/query_range?" + urllib.parse.urlencode(
            {"query": expression, "start": start, "end": end, "step": step})))["data"]["result"]

    def wait_for_samples(self, count, seconds=120):
        """Until every exporter has been scraped so often."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            result = self.query("min(count_over_time(up[10m]))")
            if result and float(result[0]["value"][1]) >= count:
                return
            time.sleep(0.5)
        raise SystemExit("Prometheus did not scrape:\n" + (self.folder / "prometheus.log").read_text())

    def stop_last_exporter(self):
        """A host that goes down: an alert is pending from then on."""
        self.processes[len(self.profiles) - 1].terminate()
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not self.query('ALERTS{alertname="IntelGpuExporterDown"}'):
            time.sleep(0.5)


def panels(dashboard):
    for panel in dashboard["panels"]:
        yield panel
        yield from panel.get("panels", [])


def asked(expression):
    """The query itself. Of one that may rightly answer nothing (a hang, a lost block, why a reading is missing) what it asks for:
    there must be such series, if not with the reason or the state that it names."""
    if not re.search(r"unless on \(\)|ALERTS|(==|[<>]=?) *(bool *)?\d", expression):
        return [expression]
    selectors = {re.sub(r'(?<=[{,])(reason|alertstate)="[^"]*",?', "", one) for one in re.findall(r"\b[a-zA-Z_:][\w:]*\{[^}]*\}", expression)}
    return [f"last_over_time({selector}[5m])" for selector in sorted(selectors)] or [expression]


def queries(dashboard):
    """(where, PromQL) of every panel, every annotation and every query variable; what several ask for once."""
    named = [(f"panel '{panel['title']}' {target['refId']}", target["expr"]) for panel in panels(dashboard) for target in panel.get("targets", [])]
    named += [(f"annotation '{one['name']}'", one["expr"]) for one in dashboard["annotations"]["list"]]
    yield from {expression: (where, expression) for where, whole in named for expression in asked(whole)}.values()
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            text = variable["query"]["query"]
            match = re.fullmatch(r"label_values\((.*), *(\w+)\)", text)
            assert match, f"variable {variable['name']}: {text}"
            yield f"variable '{variable['name']}'", f"count by ({match.group(2)}) ({match.group(1)})"


def expand(expression, instance=".*"):
    for name, value in {"$__rate_interval": "10s", "$__interval": "5s", "$__range": "30s", "$price": "0.3", "$instance": instance}.items():
        expression = expression.replace(name, value)
    return re.sub(r"\$\{?[a-z]\w*\}?", ".*", expression)


def dashboards(root):
    for file in sorted((pathlib.Path(root) / "grafana").glob("*.json")):
        yield file.name, json.loads(file.read_text())
