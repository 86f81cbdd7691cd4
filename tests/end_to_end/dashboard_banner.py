#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the first row of every dashboard says of a hang, a GPU out of service, a stalled channel, and of a host where nothing is wrong.
A real Prometheus scrapes hosts of simulated machines: one whose GPUs hang by themselves, and one to whose page each other
trouble is written.

usage: dashboard_banner.py EXPORTER_BINARY REPOSITORY_ROOT
"""
import http.server
import pathlib
import re
import sys
import tempfile
import threading

ROOT = pathlib.Path(sys.argv[2])
sys.path[:0] = [str(ROOT / "tests/grafana"), str(ROOT / "tests/support")]
from exporter_under_test import Exporter, Prometheus, check, finish, get, wait_for  # noqa: E402
from rack import dashboards, expand, panels  # noqa: E402

CARD = r'device="0000:03:00.0"'
# host: what is changed on the page of a machine that is well (pattern, text), what is added, and what the banner must say.
WELL = [(r"^(intel_gpu_throttled\{.*\}) 1$", r"\1 0")]
TROUBLES = {
    "well": ([], "", "nothing is wrong"),
    "wedged": ([(rf"^(intel_gpu_wedged\{{{CARD}\}}) 0$", r"\1 1")], "", "out of service: Arc A770 #1 · wedged"),
    "flash": ([], 'intel_gpu_survivability_mode{device="0000:0a:00.0"} 1\n', "out of service:   · flash"),
    "reset": ([], 'intel_gpu_last_fault_timestamp_seconds{device="0000:03:00.0",kind="full"} NOW\n', "hang: Arc A770 #1 · reset"),
    "captured": ([(rf"^(intel_gpu_error_state\{{{CARD}\}}) 0$", r"\1 1")], "", "hang: Arc A770 #1 · captured"),
    # Of long ago, and what is no hang.
    "old": ([], 'intel_gpu_last_fault_timestamp_seconds{device="0000:03:00.0",kind="hang"} 1700000000\n'
                'intel_gpu_last_fault_timestamp_seconds{device="0000:03:00.0",kind="firmware"} NOW\n', "nothing is wrong"),
    # tests/prometheus/channels_test.yml tests the rules that record it.
    "stalled": ([], 'channel:video_jobs:stall{workload="news"} 0.4\n', "drops pictures: news · stalled")}
COUNTED = re.compile(rf'^(intel_gpu_(?:hangs_total\{{{CARD},kind="hang",class="video"|resets_total\{{{CARD},kind="full")\}}) 0$', re.M)


class Hosts(http.server.ThreadingHTTPServer):
    """/HOST: the page of the exporter with that host's trouble. /counted: hangs that begin to count after some scrapes."""
    def __init__(self, page):
        self.page, self.scrapes = page, 0
        super().__init__(("127.0.0.1", 0), Handler)

    def text(self, host):
        page = self.page()
        now = re.search(r"^process_start_time_seconds (\S+)$", page, re.M).group(1)
        changes, more, _ = TROUBLES.get(host, ([], "", ""))
        for pattern, text in WELL + changes:
            page = re.sub(pattern, text, page, flags=re.M)
        if host == "counted":
            self.scrapes += 1
            page = COUNTED.sub(rf"\1 {int(self.scrapes > 3)}", page)
        return page + more.replace("NOW", now)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = self.server.text(self.path.strip("/")).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def said(prometheus, dashboard, host):
    """The words of the tiles, as Grafana writes them."""
    tiles = next(one for one in panels(dashboard) if one["title"] == "Health" and one["type"] == "stat")
    words = []
    for target in tiles["targets"]:
        for series in prometheus.query(expand(target["expr"], host)):
            text = re.sub(r"\{\{(\w+)\}\}", lambda match: series["metric"].get(match[1], ""), target["legendFormat"])
            for rename in (one["options"] for one in tiles["transformations"]):
                text = re.sub(f"^{rename['regex']}$", re.sub(r"\$(\d)", r"\\\1", rename["renamePattern"]), text)
            words.append((text, float(series["value"][1])))
    return words


def main():
    expected = {host: (text, 0 if text == "nothing is wrong" else 2) for host, (_, _, text) in TROUBLES.items()}
    expected["counted"] = ("hang: Arc A770 #1 · counted", 2)
    hosts = [*expected, "hangs"]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with (Exporter(sys.argv[1], folder / "well.log", "--simulate=arc-a770") as well,
              Exporter(sys.argv[1], folder / "hangs.log", "--simulate=rack") as hangs,
              Hosts(lambda: get(well.url)) as pages):
            threading.Thread(target=pages.serve_forever, daemon=True).start()
            jobs = "".join(f"- {{job_name: {host}, metrics_path: /{host}, static_configs: [{{targets: ['127.0.0.1:{pages.server_port}'], labels: "
                           f"{{instance: {host}}}}}]}}\n" for host in expected)
            jobs += f"- {{job_name: hangs, static_configs: [{{targets: ['127.0.0.1:{hangs.port}'], labels: {{instance: hangs}}}}]}}\n"
            with Prometheus(folder, f"global: {{scrape_interval: 1s}}\nscrape_configs:\n{jobs}") as prometheus:
                wait_for(lambda: (prometheus.value("min(count_over_time(intel_gpu_exporter_build_info[10m]))") or 0) >= 6
                         and prometheus.value("count(intel_gpu_exporter_build_info)") == len(hosts), "six scrapes of every host")
                for file, dashboard in dashboards(ROOT):
                    for host, trouble in expected.items():
                        words = said(prometheus, dashboard, host)
                        check(words == [trouble], f"{file}: of {host} the banner says {words}, not {trouble}")
                    words = dict(said(prometheus, dashboard, "hangs"))
                    check(words.get("hang: Arc A770 #2 · hangs") == 2 and "nothing is wrong" not in words,
                          f"{file}: of simulated hangs the banner says {words}")
            pages.shutdown()
    finish(f"{len(hosts)} hosts, ")


if __name__ == "__main__":
    main()
