#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What others say about our pages: promtool, the Python client's parsers, and a real Prometheus in both formats.

usage: prometheus_scrape.py EXPORTER_BINARY REPOSITORY_ROOT
"""
import http.server
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

from prometheus_client import parser as text_parser
from prometheus_client.openmetrics import parser as openmetrics_parser

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from exporter_under_test import Exporter, Prometheus, check, finish, get, wait_for  # noqa: E402

OPENMETRICS = "application/openmetrics-text; version=1.0.0"
PROFILES = ["tgl-broadcast", "arc-a770", "battlemage", "rack", "locked", "asleep"]


def names(families):
    return {sample.name for family in families for sample in family.samples}


def check_pages(exporter, profile):
    def settled():
        """Two pages that are more than a window apart have the same names: no reading still waits for its first window."""
        before = names(text_parser.text_string_to_metric_families(get(exporter.url)))
        time.sleep(1.2)
        text = get(exporter.url)
        return before == names(text_parser.text_string_to_metric_families(text)) and text

    text = wait_for(settled, f"{profile}: pages keep their names")
    lint = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
    check(lint.returncode == 0 and not lint.stdout and not lint.stderr, f"{profile}: promtool says: {lint.stdout}{lint.stderr}")
    plain = names(text_parser.text_string_to_metric_families(text))
    families = list(openmetrics_parser.text_string_to_metric_families(get(exporter.url, OPENMETRICS)))
    check(plain == names(families), f"{profile}: other names in OpenMetrics: {sorted(plain ^ names(families))}")
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


def check_scrapes(exporter, folder):
    PlainTextProxy.source = exporter.url
    proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), PlainTextProxy)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    targets = {"openmetrics": exporter.port, "text": proxy.server_port}
    config = "global: {scrape_interval: 1s}\nscrape_configs:\n" + "".join(
        f"- {{job_name: {job}, static_configs: [{{targets: ['127.0.0.1:{port}']}}]}}\n" for job, port in targets.items())
    with Prometheus(folder, config) as prometheus:
        wait_for(lambda: (prometheus.value("min(count_over_time(up[1m]))") or 0) >= 8 and prometheus.value("count(up)") == 2, "eight scrapes of both")
        for active in prometheus.api("targets")["activeTargets"]:
            check(active["health"] == "up" and active["lastError"] == "", f"{active['labels']['job']}: {active['lastError']}")
        jobs = ["openmetrics", "text"]
        found = [{r["metric"]["__name__"] for r in prometheus.query(f'group by (__name__) ({{job="{job}"}})')} for job in jobs]
        check(found[0] == found[1], f"the formats give other names: {sorted(found[0] ^ found[1])}")
        for job in jobs:
            check(prometheus.value(f'count(intel_gpu_info{{job="{job}"}})') == 3, f"{job}: three GPUs")
            check(prometheus.value(f'min(intel_gpu_scrape_collector_success{{job="{job}"}})') == 1, f"{job}: a collector failed")
            # A counter's rate and the gauge beside it agree.
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
    proxy.shutdown()


def check_channels(binary, root, folder):
    """deploy/prometheus/channels.yml: its two jobs share the series and are watched apart."""
    with Exporter(binary, folder / "channels.log", "--simulate=rack", "--collector.jobs", "--collector.workloads") as exporter:
        config = (root / "deploy/prometheus/channels.yml").read_text().replace("localhost:10068", f"127.0.0.1:{exporter.port}")
        config = config.replace("scrape_interval: 15s", "scrape_interval: 2s").replace("rules/", f"{root}/deploy/prometheus/rules/")
        video = '{__name__=~"intel_gpu_.*_video_jobs_total"}'
        with Prometheus(folder, config) as prometheus:
            wait_for(lambda: prometheus.value("count(channel:video_jobs:rate5s)") and prometheus.value("count(intel_gpu_info)"), "a rate for each channel")
            both = {"intel-gpu": 1.0, "intel-gpu-channels": 1.0}
            watched = {r["metric"]["job"]: float(r["value"][1]) for r in prometheus.query("up")}
            check(watched == both, f"channels.yml: each job has its own up: {watched}")
            ours = {r["metric"]["job"] for r in prometheus.query('group by (job) ({__name__=~"intel_gpu_.*"})')}
            check(ours == {"intel-gpu"}, f"channels.yml: one name for all series: {ours}")
            wait_for(lambda: prometheus.value(f"count({video})") == get(exporter.url).count("_video_jobs_total{"), "every channel of the page")
            exporter.stop()
            # The expression of IntelGpuExporterDown, which fires after five minutes of it.
            wait_for(lambda: len(prometheus.query('up{job=~".*intel-gpu.*"} == 0')) == 2, "both jobs are down, each by itself")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for profile in PROFILES:
            with Exporter(sys.argv[1], folder / f"{profile}.log", f"--simulate={profile}") as exporter:
                check_pages(exporter, profile)
                if profile == "rack":
                    check_scrapes(exporter, folder)
        alone = folder / "channels"  # without the samples of the other server
        alone.mkdir()
        check_channels(sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), alone)
    finish()


if __name__ == "__main__":
    main()
