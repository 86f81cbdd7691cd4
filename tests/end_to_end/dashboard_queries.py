#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every query of every dashboard and every recorded metric returns data from a real Prometheus that scraped a rack of
twenty simulated hosts, and no rule has an error there.

usage: dashboard_queries.py EXPORTER_BINARY REPOSITORY_ROOT
"""
import json
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[2])
sys.path.insert(0, str(ROOT / "tests/grafana"))
from rack import Rack, dashboards, expand, get, queries  # noqa: E402


def main():
    described = set(re.findall(r"`(intel_gpu_\w+|process_\w+)`", (ROOT / "collectors/METRICS.md").read_text()))
    failures = count = records = 0
    with tempfile.TemporaryDirectory() as name, Rack(sys.argv[1], ROOT, pathlib.Path(name)) as rack:
        rack.wait_for_samples(12)
        rack.stop_last_exporter()
        for file, dashboard in dashboards(ROOT):
            for where, expression in queries(dashboard):
                count += 1
                if not rack.query(expand(expression)):
                    failures += 1
                    print(f"FAIL {file}: {where}: no data for: {expression}")
                unknown = set(re.findall(r"\b(?:intel_gpu|process)_\w+", re.sub(r'"[^"]*"', "", expression))) - described
                if unknown:
                    failures += 1
                    print(f"FAIL {file}: {where}: not in METRICS.md: {', '.join(sorted(unknown))}")
        for rules in sorted((ROOT / "deploy/prometheus/rules").glob("*.yml")):
            for record in sorted(set(re.findall(r"record: (\S+)", rules.read_text()))):
                records += 1
                if not rack.query(f'{{__name__="{record}"}}'):
                    failures += 1
                    print(f"FAIL {rules.name}: {record}: no data")
        for group in json.loads(get(f"{rack.base}/api/v1/rules"))["data"]["groups"]:
            for rule in group["rules"]:
                if rule["health"] != "ok":
                    failures += 1
                    print(f"FAIL {group['name']}: {rule['name']}: {rule['health']}: {rule.get('lastError')}")
    print(f"{count} queries, {records} recorded metrics, {failures} failures")
    return 1 if failures or count < 50 or not records else 0


if __name__ == "__main__":
    sys.exit(main())
