#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every rule and every query of a dashboard answers the same on Prometheus and on VictoriaMetrics, which hold the same samples: half an
hour of simulated hosts, with one that goes down, one that restarts, and channels that are scraped every second. What differs is named in
docs/fleet.md. Values are compared where counters only grow; within the window of a restart or of the end of a series, Prometheus
extrapolates rates and VictoriaMetrics does not, so there it is compared which series there are.

usage: engines.py EXPORTER_BINARY REPOSITORY_ROOT [--show]
"""
import collections
import contextlib
import itertools
import json
import math
import pathlib
import re
import sys
import tempfile
import time
import urllib.error
import urllib.parse

import yaml

ROOT = pathlib.Path(sys.argv[2])
sys.path[:0] = [str(ROOT / "tests/grafana"), str(ROOT / "tests/support")]
from exporter_under_test import Exporter, Prometheus, check, fetch, finish, get, wait_for  # noqa: E402
from fleet_engines import VictoriaMetrics  # noqa: E402
from rack import dashboards, panels  # noqa: E402
from remote_write import STALE, packed, post  # noqa: E402
from simulated_fleet import Pages  # noqa: E402

# Of host 0: one more every five minutes at the end.
FAULTS = re.compile(r'intel_gpu_hangs_total\{.*kind="hang"|intel_gpu_pcie_errors_total\{.*type="(BadTLP|CmpltTO)"')
PROFILES = ["rack", "rack", "rack", "hypervisor", "npu", "tgl-broadcast", "battlemage", "locked", "asleep"]
RESTARTS, GOES_DOWN, MINUTES, INTERVAL = 1, 2, 40, 15
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class Pair:
    """Both engines. What is written goes to both, and is asked of both."""

    def __init__(self, prometheus, victoria):
        self.bases = {"Prometheus": prometheus.base, "VictoriaMetrics": victoria.base}

    def write(self, series):
        series = iter(series)
        while part := list(itertools.islice(series, 500)):
            body = packed(part)
            for base in self.bases.values():
                post(base, body)

    def ask(self, path, **parameters):
        """{engine: {labels: {time: value}}}"""
        answers = {}
        for engine, base in self.bases.items():
            more = {"nocache": 1} if engine == "VictoriaMetrics" else {}
            if engine == "VictoriaMetrics" and path == "query":
                more["step"] = "5m"  # as vmalert with -datasource.queryStep, and as Prometheus looks back
            try:
                data = json.loads(get(f"{base}/api/v1/{path}?{urllib.parse.urlencode({**parameters, **more})}"))["data"]
            except urllib.error.HTTPError as error:
                raise SystemExit(f"FAIL {engine}: {parameters['query']}: {error.read().decode()}") from None
            rows = [(row["metric"], row.get("values") or [row["value"]]) for row in data["result"]] if data["resultType"] != "scalar" else [({}, [data["result"]])]
            # VictoriaMetrics keeps the name through functions that leave the meaning as it is, and labels without a value.
            answers[engine] = {tuple(sorted((key, text) for key, text in labels.items() if text and key != "__name__")):
                               {float(at): float(value) for at, value in values} for labels, values in rows}
            check(len(answers[engine]) == len(rows), f"{engine}: {parameters['query']}: series that differ in their name only")
        return answers


def hosts(binary, folder):
    """The pages of one exporter for each profile."""
    with contextlib.ExitStack() as programs:
        exporters = [programs.enter_context(Exporter(binary, folder / f"{number}.log", f"--simulate={profile}", "--collector.workloads",
                                                     *(["--collector.jobs"] if number == 0 else []))) for number, profile in enumerate(PROFILES)]
        for exporter in exporters:
            fetch(exporter.url)
        time.sleep(3)
        began = time.monotonic()
        early = [fetch(exporter.url).decode() for exporter in exporters]
        time.sleep(8)
        seconds = time.monotonic() - began
        late = [fetch(exporter.url).decode() for exporter in exporters]
    return [Pages(one, other, seconds) for one, other in zip(early, late)]


def samples_of(pages, number, end):
    """{labels: [(time, value)]} as a scraper stores them, with its own series."""
    series = collections.defaultdict(list)
    base = (("instance", f"encoder-{number:02}"), ("job", "intel-gpu"))
    start, began, restart = end - MINUTES * 60, end - 100000 - number, end - 900
    cache = {}

    def store(at, age, only=None):
        for line in pages.page(0.7 + 0.1 * number, age, number).decode().splitlines():
            name, _, value = line.rpartition(" ")
            if line.startswith("#") or only and not re.match(only, name):
                continue
            if name not in cache:
                metric, _, rest = name.partition("{")
                cache[name] = tuple(sorted((("__name__", metric), *base, *((key, re.sub(r"\\(.)", r"\1", text)) for key, text in LABEL.findall(rest)))))
            faults = max(0, at - end + 1500) // 300 if number == 0 and FAULTS.match(name) else 0
            series[cache[name]].append((at, float(value) + faults))

    down = number == GOES_DOWN
    for at in range(start + number, end, INTERVAL):
        up = not (down and at > end - 600)
        for name, value in (("up", up), ("scrape_duration_seconds", 0.004), ("scrape_samples_scraped", 1000 if up else 0)):
            series[tuple(sorted((("__name__", name), *base)))].append((at, float(value)))
        if up:
            store(at, at - (restart if number == RESTARTS and at >= restart else began))
        elif at - INTERVAL <= end - 600:  # the first scrape that fails
            for labels in cache.values():
                series[labels].append((at, STALE))
    return series


def channels_of(pages, end):
    """Scraped once a second, by a job of its own (deploy/prometheus/channels.yml), with a stall at the end."""
    series, places = {}, [(place, rate) for place, rate in pages.counters if pages.names[place].startswith("intel_gpu_workload_video_jobs_total")]
    for place, _ in places:
        labels = (("__name__", "intel_gpu_workload_video_jobs_total"), ("instance", "channels-00"), ("job", "intel-gpu-channels"), *LABEL.findall(pages.names[place]))
        series[tuple(sorted(labels))] = [(at, 25.0 * min(at - end + 5000, 5000 - 40)) for at in range(end - MINUTES * 60, end)]
    feature = (("__name__", "intel_gpu_exporter_feature_available"), ("feature", "jobs"), ("instance", "channels-00"), ("job", "intel-gpu-channels"), ("reason", "ok"))
    series[feature] = [(at, 1.0) for at in range(end - MINUTES * 60, end)]
    return series


def alike(one, other):
    return math.isnan(one) and math.isnan(other) or math.isclose(one, other, rel_tol=0.01, abs_tol=1e-9)


def difference(answers, whole, ties):
    """None, or the first one, in words. `whole`: values, too. `ties`: one of several equal series may be chosen, so their values are compared."""
    ours, theirs = answers.values()
    if ties:
        ends = [sorted(list(values.values())[-1] for values in side.values()) for side in (ours, theirs)]
        return None if len(ends[0]) == len(ends[1]) and (not whole or all(map(alike, *ends))) else f"{ends[0]} and {ends[1]}"
    for labels in sorted(set(ours) ^ set(theirs)):
        where = "only Prometheus has" if labels in ours else "only VictoriaMetrics has"
        return f"{len(ours)} and {len(theirs)} series; {where} {dict(labels)}: {list((ours.get(labels) or theirs[labels]).items())[:2]}"
    for labels, values in ours.items() if whole else ():
        for at in sorted(set(values) ^ set(theirs[labels])):
            return f"{dict(labels)}: only one engine has a value at {at}"
        for at, value in values.items():
            if not alike(value, theirs[labels][at]):
                return f"{dict(labels)}: {value} and {theirs[labels][at]}"
    return None


def rules():
    """In the order in which they need each other: those of a group after those of the groups before it."""
    for file in sorted((ROOT / "deploy/prometheus/rules").glob("*.yml"), key=lambda file: (file.name.endswith("alerts.yml"), file.name != "intel-gpu-recording.yml")):
        for group in yaml.safe_load(file.read_text())["groups"]:
            for rule in group["rules"]:
                yield file.name, group["interval"], rule


def ended(values, step, end):
    """Samples of a recorded series. Where an evaluation has no value, Prometheus writes that the series has ended."""
    stale = {at + step: STALE for at in values if at + step not in values and at + step < end}
    return sorted({**values, **stale}.items())


def seconds_of(duration):
    return int(duration[:-1]) * {"s": 1, "m": 60}[duration[-1]]


def expanded(expression):
    for name, value in {"$__rate_interval": "1m", "$__interval": "15s", "$__range_s": "900", "$__range": "15m", "$price": "0.3"}.items():
        expression = expression.replace(name, value)
    return re.sub(r"\$\{?[a-z]\w*\}?", ".*", expression)


def main():
    show = "--show" in sys.argv
    named = dict(re.findall(r"^\| ([^|]+?) \| (?:rule|panel) \| (\w+)", (ROOT / "docs/fleet.md").read_text(), re.M))
    found, compared, empty = [], 0, []
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as programs:
        folder = pathlib.Path(name)
        pages = hosts(sys.argv[1], folder)
        prometheus = programs.enter_context(Prometheus(folder, "", "--web.enable-remote-write-receiver"))
        victoria = programs.enter_context(VictoriaMetrics(folder / "victoria", "-dedup.minScrapeInterval=1s", "-search.latencyOffset=0s"))
        pair = Pair(prometheus, victoria)
        end = int(time.time()) // 60 * 60
        everything = {}
        for number, one in enumerate(pages):
            everything.update(samples_of(one, number, end))
        everything.update(channels_of(pages[0], end))
        for part in range(MINUTES // 10):  # the oldest first: Prometheus takes nothing that is older than an hour before its newest
            low, high = end - MINUTES * 60 + part * 600, end - MINUTES * 60 + (part + 1) * 600
            pair.write((labels, chosen) for labels, samples in everything.items() if (chosen := [one for one in samples if low <= one[0] < high]))
        get(f"{victoria.base}/internal/force_flush")
        wait_for(lambda: pair.ask("query", query="count(up)", time=end - 30)["VictoriaMetrics"], "VictoriaMetrics sees what was written")

        def compare(where, path, query, whole, **times):
            nonlocal compared
            compared += 1
            answers = pair.ask(path, query=query, **times)
            if not any(answers.values()):
                empty.append(where)
            elif said := difference(answers, whole, re.search(r"\b(topk|bottomk)\b", query)):
                found.append((where, said))

        for file, interval, rule in rules():
            name, expression = rule.get("record") or rule["alert"], rule["expr"]
            # An alert that does not fire is compared without its thresholds, too.
            for query in [expression] + ([re.sub(r"\s(==|[<>]=?)\s*(bool )?[\d.]+(?= *(\)|$|\n))", "", expression)] if "alert" in rule else []):
                for back in (1507, 1201, 931, 601, 301, 63, 31):
                    compare(f"{file}: {name}", "query", query, back > 900, time=end - back)
            if "record" in rule:  # as Prometheus has it, in both: what needs it is compared by itself
                step = max(seconds_of(interval), 2)
                results = pair.ask("query_range", query=expression, start=end - (MINUTES - 5) * 60 if step >= 15 else end - 25 * 60, end=end - 1, step=step)["Prometheus"]
                pair.write((tuple(sorted({**dict(labels), **rule.get("labels", {}), "__name__": name}.items())), ended(values, step, end))
                           for labels, values in results.items())
                get(f"{victoria.base}/internal/force_flush")
        for file, dashboard in dashboards(ROOT):
            for panel in panels(dashboard):
                for target in panel.get("targets", []):
                    query, where = expanded(target["expr"]), f"{file}: {panel['title']} {target['refId']}"
                    for last, whole in ((end - 931, True), (end - 30, False)):
                        if target.get("instant"):
                            compare(where, "query", query, whole, time=last)
                        else:
                            compare(where, "query_range", query, whole, start=last - 600, end=last, step=15)
    if show:
        print("\n".join(f"{where}: {said}"[:400] for where, said in found))
        print("empty:", *sorted(set(empty)), sep="\n  ")
    differ = {where.partition(": ")[2]: said for where, said in found}
    for where, said in differ.items():
        check(re.sub(" [A-Z]$", "", where) in named, f"{where} differs, and docs/fleet.md does not name it: {said}"[:600])
    for name, how in named.items():
        check(how == "sometimes" or any(re.sub(" [A-Z]$", "", where) == name for where in differ), f"docs/fleet.md: {name} does not differ")
    check(compared > 1000 and len(empty) < compared / 2, f"{len(empty)} of {compared} answers are empty")
    finish(f"{compared} answers compared, {len(empty)} of them empty, {len(differ)} that differ, ")


if __name__ == "__main__":
    main()
