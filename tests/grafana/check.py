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

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from exporter_under_test import check, finish  # noqa: E402
from rack import panels  # noqa: E402

# What Grafana 11 and 12 have; graph, singlestat, table-old, worldmap and their kind are gone.
PANELS = {"row", "stat", "timeseries", "table", "bargauge", "gauge", "heatmap", "state-timeline", "status-history", "text", "barchart", "piechart"}
NOTHING = "nothing here: see Health, and Why panels are empty"  # what a panel says that has no words of its own
# What the queries name, and what the reader sees.
NAMES = {
    "DG2 [Arc A770] card2 · encoder-01": "Arc A770 #2 · encoder-01",
    "Battlemage G21 [Arc B580] card3 · encoder-01 · gt1 limit": "Arc B580 #3 · encoder-01 · gt1 limit",
    "AlderLake-S GT1 card0 · rack-[7]": "AlderLake-S GT1 #0 · rack-[7]",
    "hang: DG2 [Arc A770] card2 · a:9100": "hang: Arc A770 #2 · a:9100",
    "hang:  card12 · a": "hang: GPU #12 · a",
    " card1 · a": "GPU #1 · a",
    "Arc Pro B60 card1 · a: fan: hardware": "Arc Pro B60 #1 · a: fan: hardware",
    "  · a: processes: permission": "a: processes: permission",
    "ffmpeg 17 · a": "ffmpeg 17 · a",
    "all hosts": "all hosts"}
# (dashboard, panel, its query, what is seen: {series: values, one a minute}, what it answers: {labels: value})
ANSWERS = [
    # One tenth of the i915 GPU's engine is busy. The card is known by fdinfo only: its engines are nobody's free ones.
    *(("rack.json", panel, 0, {
        'intel_gpu_engine_busy_seconds_total{instance="a",device="0000:00:02.0",gt="0",engine="vcs0",class="video",source="pmu"}': "0+6x20",
        'intel_gpu_engine_busy_seconds_total{instance="a",device="0000:03:00.0",engine="video",class="video",source="fdinfo"}': "0+108x20"},
       answer) for panel, answer in (("Free video", {"{}": 0.9}), ("Most headroom", {'{instance="a"}': 0.9}))),
    ("exporter-health.json", "Features missing", 0, {
        'intel_gpu_exporter_build_info{instance="a"}': "1x20",
        'intel_gpu_exporter_feature_available{instance="a",feature="rc6",reason="ok"}': "1x20"}, {"{}": 0}),
    ("exporter-health.json", "Features missing", 0, {
        'intel_gpu_exporter_build_info{instance="a"}': "1x20",
        'intel_gpu_exporter_feature_available{instance="a",feature="rc6",reason="permission"}': "0x20",
        'intel_gpu_exporter_feature_available{instance="a",feature="fan",reason="hardware"}': "0x20",
        'intel_gpu_exporter_feature_missing{instance="a",feature="rc6"}': "1x20"}, {"{}": 1}),
    # The packages withhold what reads the error state of i915: all is well without it.
    *((name, panel, number, {
        'up{job="intel-gpu",instance="a"}': "1x20", 'intel_gpu_exporter_build_info{instance="a"}': "1x20",
        'intel_gpu_exporter_feature_available{instance="a",device="0000:00:02.0",feature="error_state",reason="permission"}': "0x20",
        'intel_gpu_exporter_feature_available{feature="client_finder",instance="a",reason="permission"}': "0x20"}, {"{}": 0})
      for name, panel, number in (("exporter-health.json", "Features missing", 0),
                                  *((name, "Health", 8) for name in ("overview.json", "rack.json", "exporter-health.json")))),
    *(("rack.json", "Health", number, {
        'up{job="intel-gpu",instance="a"}': "1x20", 'intel_gpu_exporter_build_info{instance="a"}': "1x20",
        'intel_gpu_exporter_feature_missing{instance="a",device="0000:00:02.0",feature="engine_busy"}': "1x20"}, answer)
      for number, answer in ((6, {'{instance="a"}': 1}), (8, {}))),
    ("exporter-health.json", "Features missing", 0, {'up{instance="a"}': "0x20"}, {}),
    # Two jobs scrape one exporter: counted twice, but no error.
    ("processes.json", "Engine time by user", 0, {
        f'{name}{{job="{job}",instance="a",device="0000:00:02.0",pid="1",comm="ffmpeg",{labels}}}': values for job in "gh" for name, labels, values in (
            ("intel_gpu_process_info", 'user="live"', "1x20"), ("intel_gpu_process_engine_busy_seconds_total", 'class="video"', "0+30x20"))},
     {'{user="live"}': 1}),
    # Of twenty jobs a minute two waited between 16 and 33 ms, the others up to 4 ms: p95 is in the middle of the longer bucket.
    ("overview.json", "Time in the queue", 1, {
        'intel_gpu_info{instance="a",device="0000:03:00.0",name="Arc A770",card="card1"}': "1x20",
        **{f'intel_gpu_job_queue_seconds_bucket{{instance="a",device="0000:03:00.0",class="video",source="i915",le="{le}"}}': f"0+{gain}x20"
           for le, gain in (("0.004096", 18), ("0.016384", 18), ("0.032768", 20), ("+Inf", 20))}},
     {'{instance="a", device="0000:03:00.0", class="video", name="Arc A770", card="card1"}': 0.024576}),
    # Of two channels on one GPU one waits, and the other does not.
    ("overview.json", "Time in the queue by workload", 1, {
        f'intel_gpu_workload_job_queue_seconds_bucket{{instance="a",device="0000:03:00.0",workload="{workload}",class="video",source="i915",le="{le}"}}': f"0+{gain}x20"
        for workload, gains in (("one", (20, 20, 20)), ("two", (18, 20, 20))) for le, gain in zip(("0.016384", "0.032768", "+Inf"), gains)},
     {'{instance="a", workload="one", class="video"}': 0.0155648, '{instance="a", workload="two", class="video"}': 0.024576}),
    # Two channels of one GPU have 9 and 3 of 15 seconds of a minute, nobody knows who has the rest: of 600 J a minute they get 360 and 120.
    *(("processes.json", panel, number, {
        **{f'intel_gpu_workload_engine_busy_seconds_total{{instance="a",device="0000:03:00.0",workload="{workload}",class="{name}"}}': f"0+{gain}x20"
           for workload, name, gain in (("one", "video", 6), ("one", "render", 3), ("two", "video", 3), ("unattributed", "video", 3))},
        'intel_gpu_energy_joules_total{instance="a",device="0000:03:00.0",domain="card",source="hwmon"}': "0+600x20"}, answer)
      for panel, number, answer in (
          ("Energy by workload (estimate)", 0, {f'{{instance="a",workload="{workload}"}}': value for workload, value in (("one", 5400), ("two", 1800), ("unattributed", 1800))}),
          ("Who used which engine", 2, {f'{{instance="a",workload="{workload}"}}': value for workload, value in (("one", 90), ("two", 45), ("unattributed", 45))}),
          ("Unattributed engine time", 0, {}))),
    ("processes.json", "Unattributed engine time", 0, {
        'intel_gpu_info{instance="a",device="0000:03:00.0",card="card1",name="DG2 [Arc A770]"}': "1x20",
        **{f'intel_gpu_workload_engine_busy_seconds_total{{instance="a",device="0000:03:00.0",workload="{workload}",class="video"}}': f"0+{gain}x20"
           for workload, gain in (("one", 9), ("unattributed", 3))}}, {'{instance="a",device="0000:03:00.0",card="card1",name="DG2 [Arc A770]"}': 0.25}),
    # A channel on two GPUs; its time of a day, whatever the time range; who used nothing is not shown.
    ("processes.json", "Encoder seconds by workload and day", 0, {
        'intel_gpu_workload_engine_busy_seconds_total{instance="a",device="0000:03:00.0",workload="one",class="video"}': "0+6x20",
        'intel_gpu_workload_engine_busy_seconds_total{instance="a",device="0000:07:00.0",workload="one",class="video"}': "0+12x20",
        'intel_gpu_workload_engine_busy_seconds_total{instance="a",device="0000:07:00.0",workload="idle",class="video"}': "100x20"}, {'{instance="a",workload="one"}': 270}),
    # One process on two GPUs is one; the same pid of two hosts are two.
    *((name, "Processes", 0, {f'intel_gpu_process_clients{{job="g",instance="{instance}",device="{device}",pid="{pid}",comm="ffmpeg"}}': "1x20"
                              for instance, device, pid in (("a", "0000:00:02.0", 1), ("a", "0000:03:00.0", 1), ("a", "0000:03:00.0", 2), ("b", "0000:03:00.0", 1))},
       {"{}": 3}) for name in ("processes.json", "rack.json")),
    # Two hosts of three answer; who does not. The third is known by what it was within six hours.
    *(("rack.json", "Hosts up", target, {
        'up{job="intel-gpu",instance="a"}': "1x20", 'up{job="intel-gpu",instance="b"}': "0x20", 'up{job="hosts",instance="c"}': "1x5 0x20",
        'up{job="hosts",instance="z"}': "0x20", 'intel_gpu_exporter_build_info{job="hosts",instance="c"}': "1x5 stale",
        'up{job="intel-gpu",instance="d"}': "1x20"}, answer)
      for target, answer in ((0, {'{up="2",all="4"}': 2}), (1, {'{job="intel-gpu",instance="b"}': 2, '{job="hosts",instance="c"}': 2}))),
    ("rack.json", "Hosts up", 0, {'up{job="intel-gpu",instance="a"}': "1x20"}, {'{up="1",all="1"}': 0}),
    # Why there is no number: one that sleeps, before one that lacks it.
    *(("overview.json", "Hottest", 1, {
        f'intel_gpu_exporter_feature_available{{instance="a",device="0000:03:00.0",feature="temperature",reason="{reason}"}}': "0x20" for reason in reasons} | more, answer)
      for reasons, more, answer in ((["hardware"], {}, {"{}": -1005}), (["hardware", "suspended"], {}, {"{}": -1001}), (["permission"], {}, {"{}": -1002}),
                                    (["permission"], {'intel_gpu_temperature_celsius{instance="b",device="0000:03:00.0",sensor="package"}': "50x20"}, {}))),
    # A thousand watts for a quarter of an hour, of the card and not of its package, too.
    ("overview.json", "Energy", 0, {
        'intel_gpu_energy_joules_total{instance="a",device="0000:03:00.0",domain="card",source="hwmon"}': "0+60000x60",
        'intel_gpu_energy_joules_total{instance="a",device="0000:03:00.0",domain="package",source="hwmon"}': "0+30000x60"}, {"{}": 250}),
    ("overview.json", "Cost in 30 days", 0, {
        'intel_gpu_energy_joules_total{instance="a",device="0000:03:00.0",domain="card",source="hwmon"}': "0+60000x60"}, {"{}": 216}),
    # Whoever is slowed down is named.
    ("rack.json", "Throttled", 2, {
        'intel_gpu_throttled{instance="a",device="0000:03:00.0",gt="0",reason="any"}': "1x20", 'intel_gpu_throttled{instance="a",device="0000:03:00.0",gt="1",reason="any"}': "1x20",
        'intel_gpu_throttled{instance="a",device="0000:00:02.0",gt="0",reason="any"}': "0x20",
        'intel_gpu_info{instance="a",device="0000:03:00.0",card="card1",name="DG2 [Arc A770]"}': "1x20"},
     {'{instance="a",device="0000:03:00.0",card="card1",name="DG2 [Arc A770]"}': 1})]


def check_layout(name, dashboard):
    """Panels of a closed row have the places of an open one, and Grafana moves what is below."""
    ids = [panel["id"] for panel in panels(dashboard)]
    check(len(ids) == len(set(ids)), f"{name}: ids are not unique")
    titles = [panel["title"] for panel in panels(dashboard) if panel["type"] != "row"]
    check(len(titles) == len(set(titles)), f"{name}: titles are not unique")
    for members in (dashboard["panels"], *(row["panels"] for row in dashboard["panels"] if row["type"] == "row")):
        taken = {}
        for panel in members:
            place = panel["gridPos"]
            check(place["x"] + place["w"] <= 24, f"{name}: {panel['title']} is too wide")
            for x in range(place["x"], place["x"] + place["w"]):
                for y in range(place["y"], place["y"] + place["h"]):
                    other = taken.setdefault((x, y), panel["title"])
                    check(other == panel["title"], f"{name}: {panel['title']} covers {other}")


def check_schema(name, dashboard, validator):
    """Against what Grafana itself writes down: schema/dashboard.schema.json. What an exported file has in front, and what the data
    source's own annotations have, is not in those types."""
    dashboard = {key: value for key, value in dashboard.items() if not key.startswith("__")}
    own = {"expr", "step", "titleFormat", "textFormat", "tagKeys", "useValueForTime"}
    dashboard["annotations"] = {"list": [{key: value for key, value in one.items() if key not in own} for one in dashboard["annotations"]["list"]]}
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


def check_portal(name, dashboard):
    """As grafana.com and the import form want it: what has to be chosen, and what it is used for."""
    inputs = {one["name"]: one for one in dashboard["__inputs"]}
    check(inputs.get("DS_PROMETHEUS", {}).get("pluginId") == "prometheus", f"{name}: __inputs without the data source")
    source = next(one for one in dashboard["templating"]["list"] if one["name"] == "datasource")
    check(source["current"]["value"] == "${DS_PROMETHEUS}", f"{name}: the data source that was chosen is not used")
    required = {one["id"] for one in dashboard["__requires"] if one["type"] == "panel"}
    used = {panel["type"] for panel in panels(dashboard)} - {"row"}
    check(required == used, f"{name}: __requires has {required}, used is {used}")
    check({one["name"] for one in dashboard["annotations"]["list"]} >= {"Hangs", "Alerts", "Restarts"}, f"{name}: annotations missing")


def check_names(where, panel):
    """Readable legends, a colour for each line, names that are not cut, units."""
    defaults = panel["fieldConfig"]["defaults"]
    check(defaults.get("noValue"), f"{where}: nothing is said when there is nothing")
    renames = [one for one in panel.get("transformations", []) if one["id"] == "renameByRegex"]
    for target in panel["targets"]:
        legend = target["legendFormat"]
        check("{{device}}" not in legend, f"{where}: a PCI address as a name")
        check("{{name}}" not in legend or renames, f"{where}: names are not shortened")
        links = json.dumps(defaults.get("links", ""))
        check("{{name}}" not in panel["targets"][0]["legendFormat"] or panel["type"] != "timeseries" or "labels.instance" in links and "labels.device" in links,
              f"{where}: the tooltip does not say which device of which host")
    if panel["type"] in ("timeseries", "status-history", "state-timeline", "bargauge"):
        check(all(one["legendFormat"] != "__auto" for one in panel["targets"]), f"{where}: labels as names")
    if panel["type"] == "timeseries":
        legend = panel["options"]["legend"]
        check(legend["showLegend"] and legend["displayMode"] == "table" and legend["placement"] == "right", f"{where}: a legend that may be cut")
        check(defaults["unit"] != "short" or defaults["custom"]["axisLabel"], f"{where}: an axis without unit")
        # At most eight: what is bounded, what is one number, and HTTP codes, of which there are few. Why there is none comes alone.
        bounds = [re.search(r"(?:top|bottom)k\((\d+),", one["expr"]) for one in panel["targets"] if not one["expr"].startswith("(NaN *")]
        check(all(bound or re.match(r"(sum|avg|max)\(|sum by \(code\)", one["expr"]) for bound, one in zip(bounds, panel["targets"])), f"{where}: any number of lines")
        check(sum(int(bound.group(1)) if bound else 1 for bound in bounds) <= 8, f"{where}: more than eight lines")
        check(defaults["color"] == {"mode": "palette-classic"}, f"{where}: one hue for all lines")
    if panel["type"] == "bargauge":
        check(panel["options"]["namePlacement"] == "top", f"{where}: names that may be cut")


def shown_as(panel, name):
    for one in panel["transformations"]:
        if one["id"] == "renameByRegex":
            # Of JavaScript's patterns only what Python has, too.
            name = re.sub(f"^{one['options']['regex']}$", re.sub(r"\$(\d)", r"\\\1", one["options"]["renamePattern"]), name)
    return name


def check_rows(dashboards):
    """What an operator reads first is first, what is empty on most hosts is closed, and engines have one order."""
    rows = {name: [row for row in dashboard["panels"] if row["type"] == "row"] for name, dashboard in dashboards.items()}
    for name, found in rows.items():
        check(found[0]["title"] == "Health", f"{name} begins with {found[0]['title']}")
        for row in found:
            optional = row["title"] in ("Waiting", "Virtual functions", "NPU", "Level Zero programs")
            check(row["collapsed"] == optional == bool(row["panels"]), f"{name}: {row['title']}: closed: {row['collapsed']}")
    first = [row["title"] for row in rows["rack.json"][:3]]
    check(first == ["Health", "Channels", "Faults"], f"rack.json: below Health: {first[1:]}")
    order = ["Render", "Copy", "Video", "Video enhance", "Compute"]
    for name, dashboard in dashboards.items():
        titles = [panel["title"] for panel in panels(dashboard)]
        of_class = [title for title in titles if title in order]
        check(of_class == sorted(of_class, key=order.index), f"{name}: panels of engines: {of_class}")
        for panel in panels(dashboard):
            for one in panel.get("transformations", []):
                places = one["options"].get("indexByName", {})
                shown = {title: places[column] for column, title in one["options"].get("renameByName", {}).items() if title in order}
                check(list(sorted(shown, key=shown.get)) == sorted(shown, key=order.index), f"{name}: {panel['title']}: columns {shown}")


def check_short_names(dashboards):
    panel = next(one for one in dashboards["overview.json"]["panels"] if one["title"] == "Video")
    for name, shown in NAMES.items():
        check(shown_as(panel, name) == shown, f"{name!r} is shown as {shown_as(panel, name)!r}, not {shown!r}")


def promtool(tests):
    """With the recording rules, which the rack's dashboard reads."""
    rules = str((pathlib.Path(sys.argv[1]) / "deploy/prometheus/rules/intel-gpu-recording.yml").resolve())
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        json.dump({"rule_files": [rules], "evaluation_interval": "1m", "tests": tests}, file)
        file.flush()
        result = subprocess.run(["promtool", "test", "rules", file.name], capture_output=True, text=True, timeout=60)
    check(result.returncode == 0, result.stdout + result.stderr)


def expanded(expression):
    for variable, value in {"$__rate_interval": "5m", "$__range_s": "900", "$__range": "15m", "$price": "0.3"}.items():
        expression = expression.replace(variable, value)
    return re.sub(r"\$[a-z]+", ".*", expression)


def check_reasons(dashboards, features):
    """On a host of which nothing can be read, each panel shows something: why, or what it says when there is nothing."""
    tests = []
    for reason in ("suspended", "permission", "kernel", "hardware"):
        labels = 'job="intel-gpu",instance="a"'
        seen = {f"up{{{labels}}}": "1x20", f"scrape_duration_seconds{{{labels}}}": "0.1x20", f"scrape_samples_scraped{{{labels}}}": "90x20",
                f'intel_gpu_exporter_build_info{{{labels},version="1",revision="r",compiler="c"}}': "1x20", f"intel_gpu_exporter_devices{{{labels}}}": "1x20",
                f'intel_gpu_info{{{labels},device="0000:03:00.0",card="card1",name="DG2 [Arc A770]",kind="discrete"}}': "1x20",
                f'intel_gpu_scrape_collector_success{{{labels},collector="hwmon"}}': "1x20", f'intel_gpu_scrape_collector_duration_seconds{{{labels},collector="hwmon"}}': "0x20",
                f'intel_gpu_exporter_http_requests_total{{{labels},code="200"}}': "0+4x20", f"process_resident_memory_bytes{{{labels}}}": "9x20",
                f"process_cpu_seconds_total{{{labels}}}": "0+1x20", f"process_open_fds{{{labels}}}": "9x20",
                **{f'intel_gpu_exporter_feature_available{{{labels},device="0000:03:00.0",feature="{feature}",reason="{reason}"}}': "0x20" for feature in features}}
        shown = [(f"{name}: {panel['title']}", panel) for name, dashboard in dashboards.items() for panel in panels(dashboard)
                 if panel["type"] != "row" and panel["fieldConfig"]["defaults"]["noValue"] == NOTHING]
        check(len(shown) > 20, "hardly any panel is asked why it is empty")
        for where, panel in shown:
            answers = " or ".join(f"({expanded(target['expr'])})" for target in panel["targets"])
            tests.append({"name": f"{where}: {reason}", "interval": "1m", "input_series": [{"series": key, "values": value} for key, value in seen.items()],
                          "promql_expr_test": [{"expr": f"count({answers}) > bool 0", "eval_time": "15m", "exp_samples": [{"labels": "{}", "value": 1}]}]})
    promtool(tests)


def check_dashboard(name, dashboard, uids):
    check(dashboard["schemaVersion"] >= 39, f"{name}: an old schema")
    variables = {variable["name"] for variable in dashboard["templating"]["list"]}
    check({"datasource", "cluster", "job", "instance"} <= variables, f"{name}: variables missing")
    check(any(link["type"] == "dashboards" and link["tags"] == ["intel-gpu"] for link in dashboard["links"]), f"{name}: no links to the others")
    check("intel-gpu" in dashboard["tags"], f"{name}: links of the others do not find it")
    check_layout(name, dashboard)
    for panel in panels(dashboard):
        where = f"{name}: {panel['title']}"
        check(panel["type"] in PANELS, f"{where}: panel type {panel['type']}")
        if panel["type"] == "row":
            continue
        check(len(panel["description"]) >= 10, f"{where}: no description")
        check(panel["fieldConfig"]["defaults"]["unit"], f"{where}: no unit")
        check(panel["datasource"]["uid"] == "${datasource}", f"{where}: another data source")
        check(panel["targets"], f"{where}: asks nothing")
        check_names(where, panel)
        for target in panel["targets"]:
            check(target["datasource"]["uid"] == "${datasource}", f"{where}: another data source")
            check("$instance" in target["expr"] or "ALERTS" in target["expr"], f"{where}: ignores the variables")
        for text in json.dumps(panel).split("/d/")[1:]:
            check(text.split("?")[0] in uids, f"{where}: links to a dashboard that is not there")


def check_answers(dashboards):
    tests = []
    for name, title, number, seen, shown in ANSWERS:
        panel = next(one for one in panels(dashboards[name]) if one["title"] == title and one["type"] != "row")
        tests.append({"name": f"{name}: {title}", "interval": "1m", "input_series": [{"series": key, "values": value} for key, value in seen.items()],
                      "promql_expr_test": [{"expr": expanded(panel["targets"][number]["expr"]), "eval_time": "15m",
                                            "exp_samples": [{"labels": labels, "value": value} for labels, value in shown.items()]}]})
    promtool(tests)


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
        size = len(json.dumps(generated[name]).encode())
        check(size < 250_000, f"{name}: too large for a ConfigMap that kubectl applies: {size}")
        check_schema(name, dashboard, validator)
        check_portal(name, dashboard)
        check_dashboard(name, dashboard, uids)
    check_rows(parsed)
    check_short_names(parsed)
    features = re.findall(r"^\| `(\w+)` \| [^|]+ \|$", (root / "collectors/METRICS.md").read_text(), flags=re.M)
    check("engine_busy" in features and len(features) > 20, f"features in METRICS.md: {features}")
    check_reasons(parsed, features)
    check_answers(parsed)
    finish(f"{len(parsed)} dashboards, {sum(len(list(panels(one))) for one in parsed.values())} panels, ")


if __name__ == "__main__":
    main()
