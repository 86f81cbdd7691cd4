#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The committed dashboards are what the generator writes, are valid by Grafana's own schema, and built as they should be.

usage: check.py REPOSITORY_ROOT
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import jsonschema

# What Grafana 11 and 12 have; graph, singlestat, table-old, worldmap and their kind are gone.
PANELS = {"row", "stat", "timeseries", "table", "bargauge", "gauge", "heatmap", "state-timeline", "status-history", "text", "barchart", "piechart"}
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
    print(f"{len(parsed)} dashboards, {sum(len(one['panels']) for one in parsed.values())} panels, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
