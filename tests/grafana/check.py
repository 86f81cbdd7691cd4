#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The committed dashboards are what the generator writes, are valid by Grafana's own schema, and built as they should be.
Queries that are easy to get wrong answer what they should, by promtool.

usage: check.py REPOSITORY_ROOT
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import jsonschema

# What Grafana 11 and 12 have; graph, singlestat, table-old, worldmap and their kind are gone.
PANELS = {"row", "stat", "timeseries", "table", "bargauge", "gauge", "heatmap", "state-timeline", "status-history", "text", "barchart", "piechart"}
# (dashboard, panel, what is seen: {series: values, one a minute}, what the panel shows: {labels: value})
ANSWERS = [
    # One tenth of the i915 GPU's engine is busy. The card is known by fdinfo only: its engines are nobody's free ones.
    *(("rack.json", panel, {
        'intel_gpu_engine_busy_seconds_total{instance="a",device="0000:00:02.0",gt="0",engine="vcs0",class="video",source="pmu"}': "0+6x20",
        'intel_gpu_engine_busy_seconds_total{instance="a",device="0000:03:00.0",engine="video",class="video",source="fdinfo"}': "0+108x20"},
       answer) for panel, answer in (("Free video engines", {"{}": 0.9}), ("Most headroom", {'{instance="a"}': 0.9}))),
    ("exporter-health.json", "Features missing", {
        'intel_gpu_exporter_build_info{instance="a"}': "1x20",
        'intel_gpu_exporter_feature_available{instance="a",feature="rc6",reason="ok"}': "1x20"}, {"{}": 0}),
    ("exporter-health.json", "Features missing", {
        'intel_gpu_exporter_build_info{instance="a"}': "1x20",
        'intel_gpu_exporter_feature_available{instance="a",feature="rc6",reason="permission"}': "0x20",
        'intel_gpu_exporter_feature_available{instance="a",feature="fan",reason="hardware"}': "0x20"}, {"{}": 1}),
    ("exporter-health.json", "Features missing", {'up{instance="a"}': "0x20"}, {}),
    # Two jobs scrape one exporter: counted twice, but no error.
    ("processes.json", "Engine time by user", {
        f'{name}{{job="{job}",instance="a",device="0000:00:02.0",pid="1",comm="ffmpeg",{labels}}}': values for job in "gh" for name, labels, values in (
            ("intel_gpu_process_info", 'user="live"', "1x20"), ("intel_gpu_process_engine_busy_seconds_total", 'class="video"', "0+30x20"))},
     {'{user="live"}': 1})]
failures = []


def check(condition, what):
    if not condition:
        failures.append(what)
        print("FAIL", what)


def check_layout(name, dashboard):
    taken = {}
    ids = [panel["id"] for panel in dashboard["panels"]]
    check(len(ids) == len(set(ids)), f"{name}: ids are not unique")
    titles = [panel["title"] for panel in dashboard["panels"] if panel["type"] != "row"]
    check(len(titles) == len(set(titles)), f"{name}: titles are not unique")
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        check(place["x"] + place["w"] <= 24, f"{name}: {panel['title']} is too wide")
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                other = taken.setdefault((x, y), panel["title"])
                check(other == panel["title"], f"{name}: {panel['title']} covers {other}")


def check_schema(name, dashboard, validator):
    """Against what Grafana itself writes down: schema/dashboard.schema.json."""
    for error in validator.iter_errors(dashboard):
        if error.path and error.path[0] == "panels" and error.context:
            # Of the kinds of panels, what is wrong with the one that it says it is.
            kinds = {}
            for detail in error.context:
                kinds.setdefault(detail.schema_path[0], []).append(detail)
            nearest = min(kinds.values(), key=lambda details: (any(list(one.path) == ["type"] for one in details), len(details)))
            error = nearest[0]
            check(False, f"{name}: {error.parent.instance['title']}: {list(error.path)}: {error.message[:200]}")
        else:
            check(False, f"{name}: {list(error.path)}: {error.message[:200]}")


def check_dashboard(name, dashboard, uids):
    check(dashboard["schemaVersion"] >= 39, f"{name}: an old schema")
    variables = {variable["name"] for variable in dashboard["templating"]["list"]}
    check({"datasource", "instance"} <= variables, f"{name}: variables missing")
    check(any(link["type"] == "dashboards" and link["tags"] == ["intel-gpu"] for link in dashboard["links"]), f"{name}: no links to the others")
    check("intel-gpu" in dashboard["tags"], f"{name}: links of the others do not find it")
    check_layout(name, dashboard)
    for panel in dashboard["panels"]:
        where = f"{name}: {panel['title']}"
        check(panel["type"] in PANELS, f"{where}: panel type {panel['type']}")
        if panel["type"] == "row":
            continue
        check(len(panel["description"]) >= 10, f"{where}: no description")
        check(panel["fieldConfig"]["defaults"]["unit"], f"{where}: no unit")
        check(panel["datasource"]["uid"] == "${datasource}", f"{where}: another data source")
        check(panel["targets"], f"{where}: asks nothing")
        for target in panel["targets"]:
            check(target["datasource"]["uid"] == "${datasource}", f"{where}: another data source")
            check("$instance" in target["expr"] or "ALERTS" in target["expr"], f"{where}: does not look at the variables")
        for text in json.dumps(panel).split("/d/")[1:]:
            check(text.split("?")[0] in uids, f"{where}: links to a dashboard that is not there")


def check_answers(dashboards):
    tests = []
    for name, title, seen, shown in ANSWERS:
        panel = next(one for one in dashboards[name]["panels"] if one["title"] == title)
        expression = panel["targets"][0]["expr"].replace("$__rate_interval", "5m")
        tests.append({"name": f"{name}: {title}", "interval": "1m", "input_series": [{"series": key, "values": value} for key, value in seen.items()],
                      "promql_expr_test": [{"expr": re.sub(r"\$[a-z]+", ".*", expression), "eval_time": "15m",
                                            "exp_samples": [{"labels": labels, "value": value} for labels, value in shown.items()]}]})
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        json.dump({"evaluation_interval": "1m", "tests": tests}, file)
        file.flush()
        result = subprocess.run(["promtool", "test", "rules", file.name], capture_output=True, text=True, timeout=60)
    check(result.returncode == 0, result.stdout + result.stderr)


def main():
    root = pathlib.Path(sys.argv[1])
    committed = {file.name: file.read_text() for file in sorted((root / "grafana").glob("*.json"))}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, root / "grafana/generate.py", folder], check=True)
        generated = {file.name: file.read_text() for file in sorted(pathlib.Path(folder).glob("*.json"))}
    check(committed == generated, "grafana/*.json is not what grafana/generate.py writes: run it")
    parsed = {name: json.loads(text) for name, text in generated.items()}
    uids = {dashboard["uid"] for dashboard in parsed.values()}
    check(len(uids) == len(parsed) >= 4, "uids are not unique")
    validator = jsonschema.Draft7Validator(json.loads((root / "tests/grafana/schema/dashboard.schema.json").read_text()))
    for name, dashboard in parsed.items():
        check_schema(name, dashboard, validator)
        check_dashboard(name, dashboard, uids)
    check_answers(parsed)
    print(f"{len(parsed)} dashboards, {sum(len(one['panels']) for one in parsed.values())} panels, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
