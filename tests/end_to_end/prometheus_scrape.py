#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What others say about our pages: promtool, the Python client's parsers, and a real Prometheus in both formats.

usage: prometheus_scrape.py EXPORTER_BINARY REPOSITORY_ROOT
"""
import http.server
import json
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

from prometheus_client import parser as text_parser
from prometheus_client.openmetrics import parser as openmetrics_parser

OPENMETRICS = "application/openmetrics-text; version=1.0.0"
PROFILES = ["tgl-broadcast", "arc-a770", "battlemage", "rack", "locked", "asleep"]
failures = 0


def check(condition, what):
    global failures
    if not condition:
        failures += 1
        print("FAIL", what)


def get(url, accept="text/plain"):
    with urllib.request.urlopen(urllib.request.Request(url, headers={"Accept": accept}), timeout=120) as answer:
        return answer.read().decode()


class Exporter:
    def __init__(self, binary, folder, profile):
        log = folder / f"{profile}.log"
        with open(log, "w") as stderr:
            self.process = subprocess.Popen([binary, f"--simulate={profile}", "--web.listen-address=127.0.0.1:0"], stderr=stderr)
        for _ in range(1200):
            found = re.search(r"address=127\.0\.0\.1:(\d+)", log.read_text())
            if found:
                self.url = f"http://127.0.0.1:{found.group(1)}/metrics"
                return
            time.sleep(0.1)
        raise SystemExit("the exporter does not listen:\n" + log.read_text())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        check(self.process.wait(120) == 0, "the exporter ended with an error")


def check_pages(exporter, profile):
    get(exporter.url)
    time.sleep(1.2)  # where the source of engine time has just changed, the new one's first window is over, too
    text = get(exporter.url)
    lint = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
    check(lint.returncode == 0 and not lint.stdout and not lint.stderr, f"{profile}: promtool says: {lint.stdout}{lint.stderr}")
    plain = {sample.name for family in text_parser.text_string_to_metric_families(text) for sample in family.samples}
    page = get(exporter.url, OPENMETRICS)
    families = list(openmetrics_parser.text_string_to_metric_families(page))
    open_names = {sample.name for family in families for sample in family.samples}
    check(plain == open_names, f"{profile}: other names in OpenMetrics: {sorted(plain ^ open_names)}")
    check("intel_gpu_info" in plain, f"{profile}: no intel_gpu_info")
    units = {family.name: family.unit for family in families}
    check(units.get("intel_gpu_runtime_suspended") == "" and units.get("process_cpu_seconds") == "seconds", f"{profile}: units")


class PlainTextProxy(http.server.BaseHTTPRequestHandler):
    """Debian's Prometheus always prefers OpenMetrics: what it asks through this gets the older format."""
    source = ""

    def do_GET(self):
        body = get(self.source).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def free_ports(count):
    for _ in range(count):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        yield port


class Prometheus:
    def __init__(self, folder, jobs, scrape_configs=""):
        config = folder / "prometheus.yml"
        config.write_text(f"global: {{scrape_interval: 1s, external_labels: {{folder: '{folder}'}}}}\nscrape_configs:\n" + "".join(
            f"- {{job_name: {name}, static_configs: [{{targets: ['{target}']}}]}}\n" for name, target in jobs.items()) + scrape_configs)
        for port in free_ports(20):  # another program may take it before Prometheus does
            with open(folder / "prometheus.log", "w") as log:
                self.process = subprocess.Popen(
                    ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder}/data",
                     f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn"], stderr=log)
            self.base = f"http://127.0.0.1:{port}"
            for _ in range(1200):
                time.sleep(0.1)
                if self.process.poll() is not None:
                    break
                try:
                    get(self.base + "/-/ready")
                    if str(folder) in self.api("status/config")["yaml"]:  # ours, not another test's
                        return
                except OSError:
                    pass
            self.process.kill()
            self.process.wait()
        raise SystemExit("prometheus did not start")

    def api(self, path):
        return json.loads(get(self.base + "/api/v1/" + path))["data"]

    def query(self, expression):
        return self.api("query?query=" + urllib.parse.quote(expression))["result"]

    def value(self, expression):
        result = self.query(expression)
        return float(result[0]["value"][1]) if result else None

    def stop(self):
        self.process.terminate()
        self.process.wait()


def check_scrapes(exporter, folder):
    PlainTextProxy.source = exporter.url
    proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), PlainTextProxy)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    target = urllib.parse.urlparse(exporter.url).netloc
    prometheus = Prometheus(folder, {"openmetrics": target, "text": f"127.0.0.1:{proxy.server_port}"})
    try:
        for _ in range(360):
            time.sleep(0.5)
            if (prometheus.value("min(count_over_time(up[1m]))") or 0) >= 8 and prometheus.value("count(up)") == 2:
                break
        for active in prometheus.api("targets")["activeTargets"]:
            check(active["health"] == "up" and active["lastError"] == "", f"{active['labels']['job']}: {active['lastError']}")
        jobs = ["openmetrics", "text"]
        names = [{r["metric"]["__name__"] for r in prometheus.query(f'group by (__name__) ({{job="{job}"}})')} for job in jobs]
        check(names[0] == names[1], f"the formats give other names: {sorted(names[0] ^ names[1])}")
        for job in jobs:
            check(prometheus.value(f'count(intel_gpu_info{{job="{job}"}})') == 3, f"{job}: three GPUs")
            check(prometheus.value(f'min(intel_gpu_scrape_collector_success{{job="{job}"}})') == 1, f"{job}: a collector failed")
            # A counter's rate and the gauge beside it tell the same.
            for rate, gauge in [("intel_gpu_energy_joules_total", "intel_gpu_power_watts"),
                                ("intel_gpu_engine_busy_seconds_total", "intel_gpu_engine_busy_ratio")]:
                by_rate = prometheus.value(f'sum(rate({rate}{{job="{job}"}}[8s]))')
                by_gauge = prometheus.value(f'sum(avg_over_time({gauge}{{job="{job}"}}[8s]))')
                check(by_rate and by_gauge and abs(by_rate - by_gauge) < 0.25 * by_gauge, f"{job}: {rate} {by_rate}, {gauge} {by_gauge}")
            joined = prometheus.query(f'sum by (device, name) (intel_gpu_engine_busy_ratio{{job="{job}"}} * on (device, job) '
                                      f'group_left (name) intel_gpu_info{{job="{job}"}})')
            check(len(joined) == 3 and all(r["metric"]["name"] for r in joined), f"{job}: joined with intel_gpu_info")
        kinds = {name: {entry["type"] for entry in entries} for name, entries in prometheus.api("metadata").items()}
        # Counters are called with their suffix by the one format and without by the other.
        check(kinds.get("intel_gpu_energy_joules_total") == {"counter"} and kinds.get("intel_gpu_energy_joules") == {"counter"},
              "energy is a counter in both formats")
    finally:
        prometheus.stop()
        proxy.shutdown()


def main():
    binary = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for profile in PROFILES:
            with Exporter(binary, folder, profile) as exporter:
                check_pages(exporter, profile)
                if profile == "rack":
                    check_scrapes(exporter, folder)
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
