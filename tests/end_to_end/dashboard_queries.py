#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every query of every dashboard returns data from a real Prometheus that scraped `--simulate rack`.

usage: dashboard_queries.py EXPORTER_BINARY REPOSITORY_ROOT
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request


def get(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read().decode()


def start_exporter(binary, log):
    process = subprocess.Popen([binary, "--simulate", "rack", "--web.listen-address", "127.0.0.1:0"], stderr=log)
    for _ in range(100):
        time.sleep(0.1)
        found = re.search(r"127\.0\.0\.1:(\d+)", pathlib.Path(log.name).read_text())
        if found and found.group(1) != "0":
            return process, int(found.group(1))
    raise SystemExit("the exporter named no port:\n" + pathlib.Path(log.name).read_text())


def start_prometheus(folder, exporter_port, log):
    config = folder / "prometheus.yml"
    config.write_text(
        "global: {scrape_interval: 1s, evaluation_interval: 1s}\n"
        "scrape_configs:\n- job_name: intel-gpu\n  static_configs:\n"
        f"  - targets: ['127.0.0.1:{exporter_port}']\n")
    for port in range(39090, 39190):
        process = subprocess.Popen(
            ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn"], stderr=log)
        for _ in range(100):
            time.sleep(0.1)
            if process.poll() is not None:
                break
            try:
                get(f"http://127.0.0.1:{port}/-/ready")
                return process, f"http://127.0.0.1:{port}"
            except OSError:
                pass
        process.kill()
    raise SystemExit("prometheus did not start")


def queries(dashboard):
    """(where, PromQL) of every panel and every query variable."""
    for panel in dashboard["panels"]:
        for inner in [panel, *panel.get("panels", [])]:
            for target in inner.get("targets", []):
                yield f"panel '{inner['title']}'", target["expr"]
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            text = variable["query"]["query"]
            match = re.fullmatch(r"label_values\((.*), *(\w+)\)", text)
            assert match, f"variable {variable['name']}: {text}"
            yield f"variable '{variable['name']}'", f"count by ({match.group(2)}) ({match.group(1)})"


def expand(expression):
    for name, value in {"$__rate_interval": "10s", "$__interval": "5s", "$__range": "30s"}.items():
        expression = expression.replace(name, value)
    return re.sub(r"\$\{?\w+\}?", ".*", expression)


def main():
    binary, root = sys.argv[1], pathlib.Path(sys.argv[2])
    described = set(re.findall(r"`(intel_gpu_\w+|process_\w+)`", (root / "collectors/METRICS.md").read_text()))
    failures = count = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        processes = []
        with open(folder / "exporter.log", "w") as exporter_log, open(folder / "prometheus.log", "w") as prometheus_log:
            try:
                exporter, port = start_exporter(binary, exporter_log)
                processes.append(exporter)
                prometheus, base = start_prometheus(folder, port, prometheus_log)
                processes.append(prometheus)
                for _ in range(60):  # until a few samples of every series are there
                    time.sleep(0.5)
                    answer = json.loads(get(base + "/api/v1/query?query=" + urllib.parse.quote("count_over_time(up[1m])")))
                    if answer["data"]["result"] and float(answer["data"]["result"][0]["value"][1]) >= 6:
                        break
                for file in sorted((root / "grafana").rglob("*.json")):
                    dashboard = json.loads(file.read_text())
                    if "panels" not in dashboard:
                        continue
                    for where, expression in queries(dashboard):
                        count += 1
                        answer = json.loads(get(base + "/api/v1/query?query=" + urllib.parse.quote(expand(expression))))
                        unknown = set(re.findall(r"\bintel_gpu_\w+", expression)) - described
                        if answer["status"] != "success" or not answer["data"]["result"]:
                            failures += 1
                            print(f"FAIL {file.name}: {where}: no data for: {expression}")
                        if unknown:
                            failures += 1
                            print(f"FAIL {file.name}: {where}: not in METRICS.md: {', '.join(sorted(unknown))}")
            finally:
                for process in processes:
                    process.terminate()
                for process in processes:
                    process.wait()
    print(f"{count} queries, {failures} failures")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
