#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every query of every dashboard and every recorded metric returns data from a real Prometheus that scraped a rack of
twenty simulated hosts, and no rule has an error there.

usage: dashboard_queries.py EXPORTER_BINARY REPOSITORY_ROOT
"""
import pathlib
import re
import sys
import tempfile
import time

ROOT = pathlib.Path(sys.argv[2])
sys.path[:0] = [str(ROOT / "tests/grafana"), str(ROOT / "tests/support")]
from exporter_under_test import check, finish  # noqa: E402
from rack import Rack, dashboards, expand, queries  # noqa: E402

WAIT = 120  # seconds for all that has no data yet
# From five minutes on, and stalls and faults only when there are some: tests/prometheus and dashboard_banner.py.
LATER = re.compile(r"(last_over_time\()?channel:video_jobs:(steady|nominal|deviation|stall)\b|\w+:\w+:increase10m$")


def has_data(rack, expression, until):
    """Some query points in time of their own, a quarter of a minute apart, of which the first is still to come."""
    while not rack.query(expression):
        if time.monotonic() > until:
            return False
        time.sleep(1)
    return True


def main():
    reference = (ROOT / "collectors/METRICS.md").read_text()
    described = set(re.findall(r"`(intel_[gn]pu_\w+|process_\w+)`", reference))
    described |= {f"{name}_{part}" for name in re.findall(r"`(intel_gpu_\w+)` \| histogram", reference) for part in ("bucket", "sum", "count")}
    count = records = 0
    with tempfile.TemporaryDirectory() as name, Rack(sys.argv[1], ROOT, pathlib.Path(name)) as rack:
        rack.wait_for_samples(12)
        rack.stop_last_exporter()
        until = time.monotonic() + WAIT
        for file, dashboard in dashboards(ROOT):
            for where, expression in queries(dashboard):
                if LATER.match(expression):
                    continue
                count += 1
                check(has_data(rack, expand(expression), until), f"{file}: {where}: no data for: {expression}")
                unknown = set(re.findall(r"\b(?:intel_[gn]pu|process)_\w+", re.sub(r'"[^"]*"|\w+:\w+(:\w+)?', "", expression))) - described
                check(not unknown, f"{file}: {where}: not in METRICS.md: {', '.join(sorted(unknown))}")
        for rules in sorted((ROOT / "deploy/prometheus/rules").glob("*.yml")):
            for record in sorted(set(re.findall(r"record: (\S+)", rules.read_text()))):
                records += 1
                if LATER.match(record):
                    continue
                check(has_data(rack, f'{{__name__="{record}"}}', until), f"{rules.name}: {record}: no data")
        for group in rack.api("rules")["groups"]:
            for rule in group["rules"]:
                check(rule["health"] == "ok", f"{group['name']}: {rule['name']}: {rule['health']}: {rule.get('lastError')}")
    check(count >= 50 and records, "too little was found to check")
    finish(f"{count} queries, {records} recorded metrics, ")


if __name__ == "__main__":
    main()
