#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The answers to every query of every dashboard, from a rack of simulated hosts, for the pictures.

usage: collect.py EXPORTER_BINARY REPOSITORY_ROOT SECONDS OUTPUT.json [HOST]
"""
import json
import pathlib
import re
import sys
import tempfile
import time

ROOT = pathlib.Path(sys.argv[2])
sys.path.insert(0, str(ROOT / "tests/grafana"))
from rack import Rack, dashboards, panels  # noqa: E402

# A mixed rack.
PROFILES = ["rack", "rack", "tgl-broadcast", "arc-a770", "rack", "battlemage", "rack", "tgl-broadcast", "rack", "arc-a770",
            "battlemage", "rack", "rack", "tgl-broadcast", "arc-a770", "rack", "battlemage", "locked", "asleep", "rack"]
# What the reader chose in the dashboard: encoder-18 is locked, the GPUs of encoder-19 sleep.
CHOSEN = dict.fromkeys(("overview.json", "processes.json"), sys.argv[5] if len(sys.argv) > 5 else "encoder-01")


def fill(expression, instance):
    for name, value in {"$__rate_interval": "15s", "$__interval": "5s", "$__range_s": "180", "$__range": "3m", "$price": "0.30", "$instance": instance}.items():
        expression = expression.replace(name, value)
    return re.sub(r"\$\{?[a-z]\w*\}?", ".*", expression)


def main():
    seconds = int(sys.argv[3])
    with tempfile.TemporaryDirectory() as name, Rack(sys.argv[1], ROOT, pathlib.Path(name), PROFILES, 4) as rack:
        rack.wait_for_samples(5)
        time.sleep(seconds - 20)
        rack.stop_last_exporter()
        time.sleep(20)
        end = int(time.time()) - 1
        start = end - seconds + 5
        step = max(1, seconds // 120)
        output = {"start": start, "end": end, "step": step, "dashboards": {}}
        for file, dashboard in dashboards(ROOT):
            for panel in panels(dashboard):
                for target in panel.get("targets", []):
                    expression = fill(target["expr"], CHOSEN.get(file, ".*"))
                    target["result"] = rack.query(expression) if target["instant"] else rack.api(
                        "query_range", query=expression, start=start, end=end, step=step)["result"]
            dashboard["chosen"] = CHOSEN.get(file, "All")
            output["dashboards"][file] = dashboard
        pathlib.Path(sys.argv[4]).write_text(json.dumps(output))


if __name__ == "__main__":
    main()
