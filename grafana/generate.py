#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the dashboards: grafana/generate.py [FOLDER] (default: its own folder). A test compares them with the committed ones.

Panels and variables have the form in which Grafana 11 and 12 save them; the helpers below keep them uniform.
"""
import json
import pathlib
import re
import sys

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
HOST = 'cluster=~"$cluster",job=~"$job",instance=~"$instance"'
SELECT = HOST + ',device=~"$device"'
# Labels that identify hosts, GPUs and processes. Without the job, every join would fail if two jobs scrape one exporter. A
# process counts once, whatever number of GPUs it uses.
NODE = "cluster, job, instance"
GPU = NODE + ", device"
PROCESS = NODE + ", pid, comm"
WORKLOAD = NODE + ", workload"
OF_A_GPU = SELECT + ',device!=""'  # excludes machine-wide series
VIDEO, RENDER = (f'{SELECT},class="{name}"' for name in ("video", "render"))
BY_HOST = "{{instance}}"
BY_GPU = "{{name}} {{card}} · {{instance}}"
BY_PROCESS = "{{comm}} {{pid}} · {{instance}}"
BY_WORKLOAD = "{{workload}} · {{instance}}"
# Shows "DG2 [Arc A770] card2 · host" as "Arc A770 #2 · host", a GPU without a name as "GPU #2", and a series without a GPU as its host.
SHORT_NAMES = [{"id": "renameByRegex", "options": {"regex": pattern, "renamePattern": text}} for pattern, text in (
    (r"((?:[^:·]*: )?)(?:[^·\[]*\[([^\]]*)\]|([^·\[]*?)) card(\d+)(.*)", "$1$2$3 #$4$5"), (r"((?:[^:·]*: )?) ?(#\d+.*)", "$1GPU $2"), (r"\s*· (.*)", "$1"))]
BUSY = [("green", None), ("orange", 0.8), ("red", 0.95)]
HOT = [("green", None), ("orange", 85), ("red", 95)]
PLAIN = [("green", None)]
BAD = [("green", None), ("red", 1)]
SHOWN = ("render", "video", "video_enhance", "compute")  # for processes: copies go with the others
CLASSES = {"render": "Render", "copy": "Copy", "video": "Video", "video_enhance": "Video enhance", "compute": "Compute"}
# Why a reading is missing. Queries of single values return the number; the panel shows the text.
REASONS = {"suspended": (-1001, "asleep"), "permission": (-1002, "no permission"), "kernel": (-1003, "not in this driver"),
           "disabled": (-1004, "turned off"), "hardware": (-1005, "no such hardware")}
HANGS = ("GPUs that hung or were reset in the last ten minutes, whose driver holds a captured hang, or that are out of service."
         " What is seen depends on the rights: docs/runbook.md#intelgpuhung.")
# Exporters that answer or not, including those with other job names that answered within six hours.
UP = (f'(up{{job=~".*intel-gpu.*",{HOST}}} or up{{{HOST}}} and on ({NODE})'
      f" last_over_time(intel_gpu_exporter_build_info{{{HOST}}}[6h]))")
# By a rule that keeps every twentieth of these samples: the rack's dashboard asks for six hours of a thousand hosts at each step.
UP_RECORDED = UP.replace("intel_gpu_exporter_build_info", "instance:intel_gpu_exporter_build_info:seen")
OURS = f"* on ({NODE}) group_left () group by ({NODE}) (intel_gpu_exporter_build_info{{{HOST}}})"


def named(expression, select=SELECT, few=None):
    """The series of GPUs with the labels that their legends use. `few`: only theirs are looked up, which is quicker among thousands."""
    names = f"intel_gpu_info{{{select}}}" + (f" and on ({GPU}) {few}" if few else "")
    return f"({expression}) * on ({GPU}) group_left (name, card) group by ({GPU}, name, card) ({names})"


def top(expression, keys=GPU, count=8, order="topk"):
    """Limits the number of lines: the highest at the end of the time range."""
    return f"({expression}) and on ({keys}) {order}({count}, avg_over_time(({expression})[5m:15s] @ end()))"


def busy(labels):
    """Busy share of the class's engines. xe counts by PMU or by fdinfo: the sum is the total. Without a PMU, fdinfo's
    ratio is already the share."""
    keys = GPU + ", class"
    return (f"(clamp_max(sum by ({keys}) (rate(intel_gpu_engine_busy_seconds_total{{{labels}}}[$__rate_interval]))"
            f' / count by ({keys}) (intel_gpu_engine_busy_seconds_total{{source=~"pmu|d3dkmt|pdh",{labels}}}), 1)'
            f' or max by ({keys}) (intel_gpu_engine_busy_ratio{{source="fdinfo",{labels}}}))')


def own(metric, labels, around="{}"):
    """The GPU alone: the gpu domain of an integrated GPU; the whole card if the driver reports it, otherwise its package."""
    return "(" + " or ".join(f"max by ({GPU}) ({around.format(f'{metric}{{{domain},{labels}}}')})"
                             for domain in ('domain=~"gpu|card"', 'domain="package",source="hwmon"')) + ")"


def watts(labels):
    return own("intel_gpu_power_watts", labels)


def watt_hours(labels):
    """Grafana scales them: 3.59 Wh, and not 0.00 kWh."""
    return f"{own('intel_gpu_energy_joules_total', labels, 'increase({}[$__range])')} / 3600"


def cost(labels):
    """In 30 days: that of an hour is 0.00 for most GPUs."""
    return f"sum({watt_hours(labels)}) / 1000 * $price * 2592000 / $__range_s"


def seen_faults(labels):
    """0 if faults of a GPU would be seen."""
    return f'0 * group(intel_gpu_exporter_feature_available{{feature=~"fault_times|error_state",{labels}}} == 1)'


def energy_stats(labels, read=None):
    """`read`: what has a value where energy is read, if that is cheaper to ask for."""
    return (stat("Energy", "Energy that the GPUs used in the time range.", f"sum({watt_hours(labels)})", "watth", decimals=1, graph="none", features="power", labels=labels,
                 read=read),
            stat("Cost in 30 days", "At the power of the time range and the price of a kWh that is set at the top, in its currency.",
                 cost(labels), "none", decimals=2, graph="none", features="power", labels=labels, read=read))


def dead(labels):
    """GPUs that run nothing: the driver gave them up, or their firmware failed."""
    return f"group by ({GPU}) (intel_gpu_wedged{{{labels}}} == 1 or intel_gpu_survivability_mode{{{labels}}} == 1)"


def hung(labels, recorded=False):
    """GPUs that lost work in the last ten minutes, whatever reports it, as IntelGpuHung says; and captured hangs until they are deleted.
    `recorded`: by rules, where thousands of counters would take seconds."""
    faults = f'kind!~"wedged|firmware",{labels}'
    hangs = f"instance_device:intel_gpu_hangs:increase10m{{{faults}}}" if recorded else f"increase(intel_gpu_hangs_total{{{faults}}}[10m])"
    return (f"group by ({GPU}) (time() - intel_gpu_last_fault_timestamp_seconds{{{faults}}} < 600 or {hangs} > 0"
            f" or increase(intel_gpu_resets_total{{{labels}}}[10m]) > 0 or intel_gpu_error_state{{{labels}}} == 1)")


def processes_of(labels):
    """Counts each process once: one that uses two GPUs has series for both."""
    return f"count by ({NODE}) (group by ({NODE}, pid) (intel_gpu_process_clients{{{labels}}}))"


def missing(features, labels=SELECT):
    return f'intel_gpu_exporter_feature_available{{feature=~"{features}",reason!="ok",{labels}}} == 0'


def unread(labels):
    """Features that the machine could offer and the exporter cannot read: what doctor calls missing."""
    return f"intel_gpu_exporter_feature_missing{{{labels}}} == 1"


def no(expression):
    """Only if the expression has no value at the end of the time range. An earlier gap is just a gap and needs no reason."""
    return f" unless on () last_over_time(({expression})[5m:15s] @ end())"


def why_number(features, expression, labels=SELECT):
    """Empty if there is a reading, otherwise the number of the reason."""
    return " or ".join(f'{number} * group(intel_gpu_exporter_feature_available{{feature=~"{features}",reason="{reason}",{labels}}} == 0)'
                       + no(expression) for reason, (number, _) in REASONS.items())


def why_series(features, expressions, labels=SELECT):
    """Empty if there is a line, otherwise lines without values whose names give the reason."""
    gone = f"group by ({GPU}, reason) ({missing(features, labels)})"
    names = f"group by ({GPU}, name, card) (intel_gpu_info{{{labels}}})"
    return (f"(NaN * topk(8, {gone} * on ({GPU}) group_left (name, card) {names} or {gone} unless on ({GPU}) {names}))"
            + "".join(map(no, expressions)))


REASON_TEXTS = [{"type": "value", "options": {str(number): {"text": text, "color": "text", "index": index}
                                              for index, (number, text) in enumerate(REASONS.values())}}]
NOTHING = "nothing here: see Health, and Why panels are empty"


def target(expression, legend="__auto", instant=False, ref="A", table=False):
    result = {"datasource": DATASOURCE, "editorMode": "code", "expr": expression, "refId": ref, "legendFormat": legend,
              "range": not instant, "instant": instant}
    if table:
        result["format"] = "table"
    return result


def panel(kind, title, description, targets, unit="short", thresholds=PLAIN, options=None, custom=None, defaults=None,
          overrides=(), transformations=None, width=8, height=8, color="palette-classic", links=(), empty=NOTHING):
    if isinstance(targets, str):
        targets = [target(targets)]
    for index, one in enumerate(targets):
        one["refId"] = "ABCDEFGHIJKLMNOP"[index]
    field = {"unit": unit, "color": {"mode": color}, "mappings": [], "noValue": empty,
             "thresholds": {"mode": "absolute", "steps": [{"color": name, "value": value} for name, value in thresholds]}}
    if custom:
        field["custom"] = custom
    field.update(defaults or {})
    if links:
        field["links"] = list(links)
    result = {"type": kind, "title": title, "description": description, "datasource": DATASOURCE,
              "gridPos": {"h": height, "w": width, "x": 0, "y": 0},
              "fieldConfig": {"defaults": field, "overrides": list(overrides)}, "options": options or {}, "targets": targets}
    if transformations:
        result["transformations"] = transformations
    return result


REDUCE = {"calcs": ["lastNotNull"], "fields": "", "values": False}


def stat(title, description, expression, unit="short", thresholds=PLAIN, decimals=None, width=3, graph="area", features=None, empty="none", labels=SELECT,
         read=None):
    """One number, or why it is missing."""
    instant = graph == "none"
    targets = [target(expression, title, instant)]
    if features:
        targets.append(target(why_number(features, read or expression, labels), title, True))
    return panel("stat", title, description, targets, unit, thresholds,
                 {"reduceOptions": REDUCE, "colorMode": "value", "graphMode": graph, "textMode": "value", "justifyMode": "auto",
                  "orientation": "auto", "wideLayout": True, "showPercentChange": False, "percentChangeColorMode": "standard"},
                 defaults={"mappings": REASON_TEXTS if features else [], **({} if decimals is None else {"decimals": decimals})},
                 width=width, height=4, color="thresholds", empty=empty)


def tiles(title, description, targets, width=24, height=3, thresholds=(("blue", None), ("green", 0), ("orange", 1), ("red", 2)), empty="none"):
    """Text on a coloured background: the legends of the query results."""
    return panel("stat", title, description, [target(expression, legend, True) for expression, legend in targets], "short", thresholds,
                 {"reduceOptions": REDUCE, "colorMode": "background", "graphMode": "none", "textMode": "name", "justifyMode": "center",
                  "orientation": "auto", "wideLayout": True, "showPercentChange": False, "percentChangeColorMode": "standard", "text": {"titleSize": 16}},
                 transformations=SHORT_NAMES, width=width, height=height, color="thresholds", empty=empty)


# Lines that give the reason for missing data have no values.
WITHOUT_VALUES = {"matcher": {"id": "byRegexp", "options": "/: (permission|kernel|hardware|suspended|disabled)$/"}, "properties": [{"id": "noValue", "value": "–"}]}
LIMITS = {"matcher": {"id": "byRegexp", "options": "/ (limit|size)$/"}, "properties": [
    {"id": "custom.lineStyle", "value": {"fill": "dash", "dash": [8, 6]}}, {"id": "custom.fillOpacity", "value": 0},
    {"id": "color", "value": {"mode": "fixed", "fixedColor": "semi-dark-red"}}]}


def series(title, description, targets, unit="short", width=12, height=8, stack=False, fill=0, maximum=None, minimum=0, legend="table", axis="",
           features=None, labels=SELECT, empty=NOTHING, overrides=(), decimals=None):
    """Lines, or why they are missing. The legend is a table on the right, so that no name is cut off. GPU lines link to the processes."""
    links = TO_PROCESSES if any("{{name}}" in one["legendFormat"] for one in targets) else ()
    defaults = {key: value for key, value in (("min", minimum), ("max", maximum), ("decimals", decimals)) if value is not None}
    if features:
        # At the end of the time range only: over a thousand hosts each step costs.
        targets = [*targets, target(why_series(features, [one["expr"] for one in targets], labels), BY_GPU + ": {{reason}}", instant=True)]
    return panel("timeseries", title, description, targets, unit, PLAIN,
                 {"legend": {"displayMode": legend, "placement": "right", "showLegend": True, "calcs": ["lastNotNull"]},
                  "tooltip": {"mode": "multi", "sort": "desc"}},
                 {"drawStyle": "line", "lineInterpolation": "linear", "lineWidth": 1, "fillOpacity": 30 if stack else fill, "showPoints": "never", "spanNulls": False,
                  "axisLabel": axis, "stacking": {"mode": "normal" if stack else "none", "group": "A"}}, defaults, [LIMITS, WITHOUT_VALUES, *overrides], SHORT_NAMES,
                 width, height, links=links, empty=empty)


def table(title, description, targets, overrides=(), transformations=None, width=12, height=8, sort=None, links=(), empty="none"):
    # Unit string: otherwise Grafana parses the text 0x56a0 as a number. Numbers have their column's unit.
    return panel("table", title, description, targets, "string", PLAIN,
                 {"showHeader": True, "cellHeight": "sm",
                  "sortBy": [{"displayName": sort, "desc": True}] if sort else []},
                 {"align": "auto", "cellOptions": {"type": "auto"}, "inspect": False, "filterable": True}, {}, overrides,
                 transformations, width, height, "thresholds", links, empty)


def bars(title, description, expression, legend, unit, thresholds, maximum=None, width=8, height=10, features=None, labels=SELECT, decimals=None):
    """Names stand above their bars: beside them they are cut off where hosts differ, at their end."""
    targets = [target(expression, legend, True)]
    if features:
        targets.append(target(why_number(features, expression, labels), "why", True))
    return panel("bargauge", title, description, targets, unit, thresholds,
                 {"reduceOptions": REDUCE, "displayMode": "gradient", "orientation": "horizontal", "showUnfilled": True,
                  "valueMode": "color", "namePlacement": "top", "sizing": "auto", "minVizHeight": 16, "minVizWidth": 8,
                  "maxVizHeight": 300, "legend": {"showLegend": False, "displayMode": "list", "placement": "bottom", "calcs": []}},
                 defaults={"min": 0, "mappings": REASON_TEXTS if features else [], **({} if maximum is None else {"max": maximum}),
                           **({} if decimals is None else {"decimals": decimals})},
                 transformations=SHORT_NAMES, width=width, height=height, color="thresholds")


def history(title, description, targets, unit, width=24, height=10):
    """A row per series, a cell per point in time; not limited in number."""
    return panel("status-history", title, description, targets, unit, BUSY,
                 {"showValue": "never", "rowHeight": 0.9, "colWidth": 1,
                  "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
                  "tooltip": {"mode": "single", "sort": "none"}},
                 {"lineWidth": 0, "fillOpacity": 90}, {"min": 0, "max": 1, "decimals": 0}, transformations=SHORT_NAMES,
                 width=width, height=height, color="continuous-GrYlRd")


def timeline(title, description, targets, width=12, height=8, empty=NOTHING):
    result = panel("state-timeline", title, description, targets, "short", BAD,
                   {"mergeValues": True, "showValue": "never", "rowHeight": 0.9, "alignValue": "left",
                    "legend": {"displayMode": "list", "placement": "bottom", "showLegend": False, "calcs": []},
                    "tooltip": {"mode": "single", "sort": "none"}},
                   {"lineWidth": 0, "fillOpacity": 90}, transformations=SHORT_NAMES, width=width, height=height, color="thresholds", empty=empty)
    result["fieldConfig"]["defaults"]["mappings"] = [
        {"type": "value", "options": {"0": {"text": "no", "index": 0}, "1": {"text": "yes", "index": 1}}}]
    return result


def density(title, description, expression, unit, width=12, height=8, empty=NOTHING):
    return panel("heatmap", title, description, [target(expression)], unit, PLAIN,
                 {"calculate": True, "calculation": {"xBuckets": {"mode": "size", "value": ""}, "yBuckets": {"mode": "count", "value": "10"}},
                  "color": {"mode": "scheme", "scheme": "Oranges", "steps": 32, "exponent": 0.5, "fill": "dark-orange", "scale": "exponential", "reverse": False},
                  "cellGap": 1, "filterValues": {"le": 1e-9}, "rowsFrame": {"layout": "auto"}, "showValue": "never",
                  "yAxis": {"axisPlacement": "left", "unit": unit, "min": 0, "max": 1, "reverse": False, "decimals": 0},
                  "exemplars": {"color": "rgba(255,0,255,0.7)"}, "legend": {"show": True},
                  "tooltip": {"mode": "single", "yHistogram": False, "showColorScale": True}},
                 {"scaleDistribution": {"type": "linear"}, "hideFrom": {"legend": False, "tooltip": False, "viz": False}}, width=width, height=height, empty=empty)


def column(name, unit=None, thresholds=None, rename=None, width=None, gauge=False, links=None, decimals=None):
    properties = []
    if unit:
        properties += [{"id": "unit", "value": unit}, {"id": "noValue", "value": "–"}]
    if decimals is not None:
        properties.append({"id": "decimals", "value": decimals})
    if rename:
        properties.append({"id": "displayName", "value": rename})
    if width:
        properties.append({"id": "custom.width", "value": width})
    if thresholds:
        properties.append({"id": "thresholds", "value": {"mode": "absolute", "steps": [{"color": c, "value": v} for c, v in thresholds]}})
        properties.append({"id": "custom.cellOptions", "value": {"type": "gauge", "mode": "basic", "valueDisplayMode": "text"} if gauge
                           else {"type": "color-text"}})
        if gauge:
            properties += [{"id": "min", "value": 0}, {"id": "max", "value": 1}]
    if links:
        properties.append({"id": "links", "value": links})
    return {"matcher": {"id": "byName", "options": name}, "properties": properties}


def organize(hidden, order, renamed=None):
    return {"id": "organize", "options": {"excludeByName": {name: True for name in hidden}, "renameByName": renamed or {},
                                          "indexByName": {name: index for index, name in enumerate(order)}}}


def datasource_variable():
    # On import Grafana asks for ${DS_PROMETHEUS}; for a provisioned file it uses the first Prometheus.
    return {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus",
            "current": {"text": "${DS_PROMETHEUS}", "value": "${DS_PROMETHEUS}"}, "options": [],
            "refresh": 1, "hide": 0, "includeAll": False, "multi": False, "regex": "", "skipUrlSync": False}


def variable(name, label, query):
    return {"name": name, "label": label, "type": "query", "datasource": DATASOURCE,
            "query": {"query": query, "refId": "StandardVariableQuery"}, "refresh": 2, "sort": 1, "multi": True,
            "includeAll": True, "allValue": ".*", "current": {"selected": True, "text": ["All"], "value": ["$__all"]}, "options": [],
            "hide": 0, "regex": "", "skipUrlSync": False}


def price_variable():
    return {"name": "price", "label": "Price of a kWh", "type": "textbox", "query": "0.30", "current": {"text": "0.30", "value": "0.30"},
            "options": [{"selected": True, "text": "0.30", "value": "0.30"}], "hide": 0, "skipUrlSync": False}


CLUSTER = ("cluster", "Cluster", "label_values(intel_gpu_exporter_devices, cluster)")
JOB = ("job", "Job", 'label_values(intel_gpu_exporter_devices{cluster=~"$cluster"}, job)')
INSTANCE = ("instance", "Host", 'label_values(intel_gpu_exporter_devices{cluster=~"$cluster",job=~"$job"}, instance)')
DEVICE = ("device", "GPU", f"label_values(intel_gpu_info{{{HOST}}}, device)")
PROGRAM = ("comm", "Program", f"label_values(intel_gpu_process_clients{{{SELECT}}}, comm)")
WORKLOADS = ("workload", "Workload", f"label_values(intel_gpu_workload_engine_busy_seconds_total{{{SELECT}}}, workload)")
HOSTS = [CLUSTER, JOB, INSTANCE]
# Labels of the targets of a fleet (docs/fleet.md); ".*" also takes series without them.
SITE = ("site", "Site", "label_values(intel_gpu_exporter_devices, site)")
RACK = ("rack", "Rack", 'label_values(intel_gpu_exporter_devices{site=~"$site"}, rack)')


def annotation(name, expression, color, title, text):
    return {"name": name, "datasource": DATASOURCE, "enable": True, "hide": False, "iconColor": color, "expr": expression, "step": "",
            "titleFormat": title, "textFormat": text, "tagKeys": "", "useValueForTime": "false"}


def annotations(recorded):
    """`recorded`: without counters, of which a thousand hosts have tens of thousands; IntelGpuHung does without them, too."""
    last = f"intel_gpu_last_fault_timestamp_seconds{{{HOST}}}"
    gained = "".join(f" or increase(intel_gpu_{name}_total{{{HOST}}}[$__rate_interval]) > 0" for name in ("hangs", "resets") if not recorded)
    return [
        # At the first fault of a kind its series begins; at every later one it changes.
        annotation("Hangs", f"group by ({GPU}, kind) (changes({last}[$__rate_interval]) > 0 or {last} unless {last} offset $__rate_interval{gained})"
                   f' or label_replace({dead(HOST)}, "kind", "out of service", "", "")'
                   f' or label_replace(group by ({GPU}) (intel_gpu_error_state{{{HOST}}} == 1), "kind", "captured hang", "", "")',
                   "red", "{{kind}}", "{{instance}} {{device}}"),
        annotation("Alerts", f'group by ({GPU}, alertname, severity) (ALERTS{{alertname=~"IntelGpu.*",alertstate="firing",{HOST}}})', "orange", "{{alertname}}", "{{severity}} {{instance}} {{device}}"),
        annotation("Restarts", f"changes(process_start_time_seconds{{{HOST}}}[$__rate_interval]) > 0 and on ({NODE}) intel_gpu_exporter_build_info", "blue", "Exporter restarted", "{{instance}}")]


# Rows without data on most hosts: they need a collector that is off by default, or other hardware.
CLOSED = {"Waiting", "Virtual functions", "NPU", "Level Zero programs"}


def dashboard(uid, title, description, variables, rows, hours=1, recorded=False):
    """rows: (title, [panel, ...]); panels run from left to right and wrap at 24 columns. Grafana keeps those of a closed row in it.
    `recorded`: panels read what rules keep of many hosts once a minute; without a limit Grafana asks for a point every scrape."""
    panels, every, y = [], [], 0
    for name, members in rows:
        closed = name in CLOSED
        row = {"type": "row", "title": name, "collapsed": closed, "gridPos": {"h": 1, "w": 24, "x": 0, "y": y}, "panels": []}
        panels.append(row)
        y, x, tallest = y + 1, 0, 0
        end = y
        for member in members:
            position = member["gridPos"]
            if x + position["w"] > 24:
                x, y, tallest = 0, y + tallest, 0
            position.update(x=x, y=y)
            if recorded and "$__rate_interval" not in json.dumps(member["targets"]):
                member["maxDataPoints"] = 60 * hours
            x, tallest = x + position["w"], max(tallest, position["h"])
            (row["panels"] if closed else panels).append(member)
        y = end if closed else y + tallest
        every += [row, *members]
    for number, one in enumerate(every, 1):
        one["id"] = number
    kinds = sorted({one["type"] for one in every} - {"row"})
    more = [price_variable()] if "$price" in json.dumps(panels) else []
    return {"__inputs": [{"name": "DS_PROMETHEUS", "label": "Prometheus", "description": "", "type": "datasource", "pluginId": "prometheus", "pluginName": "Prometheus"}],
            "__elements": {},
            "__requires": [{"type": "grafana", "id": "grafana", "name": "Grafana", "version": "11.0.0"},
                           {"type": "datasource", "id": "prometheus", "name": "Prometheus", "version": "1.0.0"},
                           *({"type": "panel", "id": kind, "name": kind, "version": ""} for kind in kinds)],
            "uid": uid, "title": title, "description": description, "tags": ["intel-gpu"], "schemaVersion": 39, "version": 1,
            "editable": True, "graphTooltip": 1, "refresh": "30s", "time": {"from": f"now-{hours}h", "to": "now"}, "timezone": "browser",
            "fiscalYearStartMonth": 0, "weekStart": "", "annotations": {"list": annotations(recorded)}, "timepicker": {}, "liveNow": False,
            "links": [{"type": "dashboards", "title": "Intel GPU", "tags": ["intel-gpu"], "asDropdown": False, "includeVars": True, "keepTime": True,
                       "targetBlank": False, "icon": "external link", "tooltip": "", "url": ""}],
            "templating": {"list": [datasource_variable(), *(variable(*one) for one in variables), *more]}, "panels": panels}


def to(uid, title):
    """A link from a row of a table."""
    return [{"title": title, "targetBlank": False,
             "url": f"/d/{uid}?var-datasource=${{datasource}}&var-instance=${{__data.fields.instance}}&${{__url_time_range}}"}]


# A link from a line, in the tooltip that stays after a click: it names the line's device and host.
TO_PROCESSES = [{"title": "Processes on ${__field.labels.instance}, ${__field.labels.device}", "targetBlank": False,
                 "url": "/d/intel-gpu-processes?var-datasource=${datasource}&var-instance=${__field.labels.instance}&var-device=${__field.labels.device}&${__url_time_range}"}]
REGEX_NAME = [{"type": "regex", "options": {"pattern": r".*\[([^\]]*)\].*", "result": {"text": "$1", "index": 0}}}]
REGEX_CARD = [{"type": "regex", "options": {"pattern": r"card(\d+)", "result": {"text": "#$1", "index": 0}}}]
WHAT_TO_DO = [{"type": "value", "options": {
    "permission": {"text": "permission: run intel-gpu-exporter doctor on that host for the command", "index": 0},
    "kernel": {"text": "kernel: this driver, its version or a module lacks it; run intel-gpu-exporter doctor for the fix", "index": 1},
    "hardware": {"text": "hardware: the device does not have it", "index": 2},
    "suspended": {"text": "asleep: reading it would wake the GPU", "index": 3},
    "disabled": {"text": "disabled: an option of the exporter turns it off", "index": 4}}}]


def mapped(name, mappings, rename=None, width=None):
    result = column(name, rename=rename, width=width)
    result["properties"].append({"id": "mappings", "value": mappings})
    return result


def health_banner(labels=SELECT, recorded=False):
    """The first row: whether something is wrong, and where."""
    up = UP_RECORDED if recorded else UP
    down = f"topk(4, 2 * ({up} == bool 0) > 0)"
    gone, broken = hung(labels, recorded), dead(labels)
    stalled = f"max by ({WORKLOAD}) (max_over_time(channel:video_jobs:stall{{{HOST}}}[1m]))"
    slow = f'max by ({GPU}) (intel_gpu_throttled{{reason="any",{labels}}}) == 1'
    blind = f"group by ({NODE}) ({unread(HOST)})"
    asleep = f"sum(intel_gpu_runtime_suspended{{{labels}}}) > 0"
    alerts = f'count(ALERTS{{alertname=~"IntelGpu.*",alertstate="firing",{HOST}}})'

    return ("Health", [tiles("Health", "Hosts that do not answer, GPUs that are out of service, hung or throttled, channels that drop pictures, hosts that the exporter"
                             " cannot fully read. At most four of each; the tables below list all.", [
        (down, "{{instance}} does not answer"),
        # Also those that have no name, as a card in survivability mode.
        (f"2 * topk(4, {named(broken, labels)} or {broken} unless on ({GPU}) intel_gpu_info)", "out of service: " + BY_GPU),
        (f"2 * topk(4, {named(gone, labels)})", "hang: " + BY_GPU),
        (f"2 * topk(4, {stalled} > bool 0)", "drops pictures: " + BY_WORKLOAD),
        (f'2 * count_values("n", {alerts})', "firing alerts: {{n}}"),
        (f"topk(4, {named(slow, labels)})", "throttled: " + BY_GPU),
        (f"topk(4, {blind})", "{{instance}}: missing permissions or kernel features"),
        (f'-1 * count_values("n", {asleep})', "GPUs asleep: {{n}}"),
        (f"0 * group(intel_gpu_exporter_build_info{{{HOST}}}) unless on () ({up} == 0 or {broken} or {gone} or {stalled} or {slow} or {blind} or {alerts})", "nothing is wrong")],
        empty="no exporter answers: another data source, job or host?")])


def faults_row(labels, recorded=False):
    """What killed work, and when."""
    last = f"max by ({GPU}, kind) (intel_gpu_last_fault_timestamp_seconds{{{labels}}})"
    hangs, few_hangs = f"round(sum by ({GPU}, kind) (increase(intel_gpu_hangs_total{{{labels}}}[10m]))) > 0", None
    errors, few_errors = f"round(sum by ({GPU}, port, severity) (increase(intel_gpu_pcie_errors_total{{{labels}}}[10m]))) > 0", None
    if recorded:
        few_hangs = f"instance_device:intel_gpu_hangs:increase10m{{{labels}}}"
        hangs = f"sum by ({GPU}, kind) ({few_hangs})"
        errors = few_errors = f"instance_device_port:intel_gpu_pcie_errors:increase10m{{{labels}}}"
    return ("Faults", [
        table("Last faults", "The last hang, reset and core dump of each GPU, by kind. What is seen depends on the rights: docs/runbook.md#intelgpuhung.",
              [target(f"{last} * 1000", instant=True, table=True)],
              [column("Last", "dateTimeFromNow", width=150), column("Host", width=150), column("GPU", width=120)],
              [organize(["Time", "cluster", "job"], ["instance", "device", "kind", "Value"],
                        {"instance": "Host", "device": "GPU", "kind": "Kind", "Value": "Last"})], 8, 8, empty="no fault was seen"),
        series("Hangs by kind", "As the kernel's log reports them, within ten minutes; the eight GPUs with the most.",
               [target(named(f"topk(8, {hangs})", labels, few_hangs), BY_GPU + " · {{kind}}")], "short", 8, axis="hangs in 10 minutes", decimals=0, empty="no hang, or the kernel's log is not read"),
        series("PCIe errors", "Errors between card and processor within ten minutes, by the port that counted them; the eight highest.",
               [target(named(f"topk(8, {errors})", labels, few_errors), BY_GPU + " · {{port}} {{errors}}{{severity}}")], "short", 8, axis="errors in 10 minutes", decimals=0,
               empty="no error, or the kernel does not count them")])


def why_row(labels, width=24):
    return ("Why panels are empty", [table(
        "Missing readings", "What is missing on each host and GPU, why, and how to fix it.", [
            target(f"group by ({GPU}, feature, reason) ({missing('.*', labels)})", instant=True, table=True)],
        [mapped("Reason", WHAT_TO_DO), column("Host", width=180), column("GPU", width=150), column("Feature", width=200)],
        [organize(["Time", "Value", "cluster", "job"], ["instance", "device", "feature", "reason"],
                  {"instance": "Host", "device": "GPU", "feature": "Feature", "reason": "Reason"})], width, 8, empty="nothing is missing")])


def npu_row():
    """Of every host: the variable for the GPU does not list NPUs."""
    none = "no NPU with the driver intel_vpu, or Linux before "

    def of(metric, labels=""):
        return f"max by ({GPU}) (intel_npu_{metric}{{{labels}{HOST}}})"

    legend = "NPU · {{instance}}"
    return ("NPU", [
        series("NPU busy", "Time with at least one job submitted, waiting included: an upper bound of what the NPU does. The eight busiest.",
               [target(top(f"max by ({GPU}) (rate(intel_npu_busy_seconds_total{{{HOST}}}[$__rate_interval]))"), legend)], "percentunit", 8, maximum=1, empty=none + "6.11"),
        series("NPU memory", "System memory that its buffers hold; the eight with the most.", [target(top(of("memory_resident_bytes")), legend)], "bytes", 8, empty=none + "6.15"),
        series("NPU frequency and its limit", "0 between jobs, which is normal beside a busy NPU. The highest of the hardware is dashed. The four fastest.",
               [target(top(of("frequency_hertz", 'bound="current",'), count=4), legend), target(top(of("frequency_hertz", 'bound="max",'), count=4), legend + " limit")],
               "hertz", 8, empty=none + "6.16")])


def waiting_row():
    """Of the collector jobs, which is off by default."""
    nobody = "no job counted: the exporter does not run with --collector.jobs (docs/tracing.md)"

    def quantiles(title, description, metric):
        def quantile(share):
            keys = f"{GPU}, class"
            of = f"histogram_quantile({share}, sum by ({keys}, le) (rate({metric}_bucket{{{SELECT}}}[$__rate_interval]))) >= 0"
            return target(named(top(of, keys, 2)), BY_GPU + " · {{class}} p" + str(share)[2:])

        return series(title, description, [quantile(share) for share in ("0.50", "0.95", "0.99")], "s", features="jobs", empty=nobody)

    def by_workload(title, description, metric):
        def quantile(share):
            keys = f"{WORKLOAD}, class"
            of = f"histogram_quantile({share}, sum by ({keys}, le) (rate({metric}_bucket{{{SELECT}}}[$__rate_interval]))) >= 0"
            return target(top(of, keys, 2), BY_WORKLOAD + " · {{class}} p" + str(share)[2:])

        return series(title, description, [quantile(share) for share in ("0.50", "0.95", "0.99")], "s",
                      empty="no job counted by workload: that takes --collector.jobs and --collector.workloads (docs/tracing.md)")

    return ("Waiting", [
        quantiles("Time in the queue", "From the submission of a job to its start: half of the jobs, 95 % and 99 % of them waited at most this long. By class of engines; the two longest of each.",
                  "intel_gpu_job_queue_seconds"),
        quantiles("Time on the engine", "From the start of a job to its end. The two longest of each. i915: only jobs that somebody waits for. xe: with the time that the firmware holds them.", "intel_gpu_job_run_seconds"),
        by_workload("Time in the queue by workload", "Which workload waits: half of its jobs, 95 % and 99 % of them waited at most this long, on all its GPUs. By class of engines; the two longest of each.",
                    "intel_gpu_workload_job_queue_seconds"),
        by_workload("Time on the engine by workload", "Whose jobs are long, and delay those of others. By class of engines; the two longest of each.", "intel_gpu_workload_job_run_seconds"),
        series("Jobs", "Jobs that ended, by class of engines; the eight most frequent.",
               [target(named(top(f"sum by ({GPU}, class) (rate(intel_gpu_jobs_total{{{SELECT}}}[$__rate_interval]))", GPU + ", class")), BY_GPU + " · {{class}}")],
               "cps", features="jobs", empty=nobody),
        series("Jobs that did not complete", "Reset, banned, or without a reported end; the eight most frequent.",
               [target(named(top(f'sum by ({GPU}, class, outcome) (rate(intel_gpu_jobs_total{{outcome=~"error|evicted",{SELECT}}}[$__rate_interval]))', GPU + ", class, outcome")),
                       BY_GPU + " · {{class}} {{outcome}}")],
               "cps", features="jobs", empty=nobody)])


def functions_row():
    """Of the collector sriov: hosts whose cards are shared by virtual machines."""
    nobody = "no virtual function is enabled: docs/workloads.md"
    keys = f"{GPU}, vf, vf_address, driver, workload"
    machines = f"group by ({keys}) (intel_gpu_vf_info{{{SELECT}}})"
    share = f"max by ({GPU}, vf) (intel_gpu_vf_engine_busy_ratio{{{SELECT}}}) * on ({GPU}, vf) group_left (workload) group by ({GPU}, vf, workload) (intel_gpu_vf_info{{{SELECT}}})"
    return ("Virtual functions", [
        series("Busy by virtual function", "Share of the time for which the function's busiest engine worked for it, with the machine that holds it; the eight busiest.",
               [target(named(top(share, GPU + ", vf, workload")), BY_GPU + " · VF {{vf}} {{workload}}")], "percentunit", maximum=1, features="vf_engine_busy", empty=nobody),
        table("Virtual functions", "What is bound to each function that is enabled, and the machine or pod that holds it.", [target(machines, instant=True, table=True)],
              [column("Host", width=180), column("GPU", width=130), column("VF", width=60), column("Address", width=130), column("Driver", width=110)],
              [organize(["Time", "Value", "cluster", "job"], ["instance", "device", "vf", "vf_address", "driver", "workload"],
                        {"instance": "Host", "device": "GPU", "vf": "VF", "vf_address": "Address", "driver": "Driver", "workload": "Machine"})], empty=nobody)])


def overview():
    def engine_class(name):
        title = CLASSES[name]
        return series(title, f"Busy share of a GPU's {title.lower()} engines; the eight busiest GPUs.",
                      [target(named(top(busy(f'{SELECT},class="{name}"'))), BY_GPU)], "percentunit", 12, 8, maximum=1,
                      features="engine_busy", empty="no GPU has such engines, or none is readable")

    def with_limit(expression, limit, keys, suffix="", word="limit"):
        chosen = top(expression, keys, 4)
        return [target(named(chosen), BY_GPU + suffix),
                target(named(f"({limit}) and on ({keys}) ({chosen})"), BY_GPU + suffix + " " + word)]

    peak, mean = (f"max by ({GPU}) (intel_gpu_engine_{name}{{{VIDEO}}})" for name in ("busy_ratio_max", "busy_ratio"))
    engines = f"max by ({GPU}, gt, engine) (intel_gpu_engine_busy_ratio{{{SELECT}}})"
    reasons = f'max by ({GPU}, reason) (intel_gpu_throttled{{reason!="any",{SELECT}}}) > 0 or max by ({GPU}, reason) (intel_gpu_throttled{{reason="any",{SELECT}}}) > 0'
    held = f"max by ({GPU}, reason) (max_over_time(intel_gpu_throttled{{{SELECT}}}[$__range] @ end())) == 1"
    vram = 'memory_region!="system",' + SELECT
    current, widest = (f'max by ({GPU}) (intel_gpu_pcie_link_width_lanes{{bound="{bound}",{SELECT}}})' for bound in ("current", "max"))
    used = f"sum by ({GPU}) (intel_gpu_memory_used_bytes{{{vram}}})"
    size = f"sum by ({GPU}) (intel_gpu_memory_size_bytes{{{vram}}})"
    actual = f'max by ({GPU}, gt) (intel_gpu_frequency_hertz{{kind="actual",{SELECT}}})'
    highest = f'max by ({GPU}, gt) (intel_gpu_frequency_limit_hertz{{limit="max",{SELECT}}})'
    allowed = f'max by ({GPU}) (intel_gpu_power_limit_watts{{limit="max",{SELECT}}}) or max by ({GPU}) (intel_gpu_power_limit_watts{{limit="cap",{SELECT}}})'
    return dashboard("intel-gpu-overview", "Intel GPU overview", "Every Intel GPU: engines, frequency, power, temperature and memory.", [*HOSTS, DEVICE], [
        health_banner(),
        ("Now", [
            stat("GPUs", "Monitored Intel GPUs.", f"sum(intel_gpu_exporter_devices{{{HOST}}})", graph="none"),
            stat("Render now", "The highest busy share of a GPU's render engines.",
                 f"max({busy(RENDER)})", "percentunit", BUSY, 0, features="engine_busy"),
            stat("Video now", "The highest busy share of a GPU's video engines.",
                 f"max({busy(VIDEO)})", "percentunit", BUSY, 0, features="engine_busy"),
            stat("GPU power", "Sum over the GPUs: the gpu domain of an integrated GPU; the whole card if the driver reports it, otherwise its package.",
                 f"sum({watts(SELECT)})", "watt", decimals=0, features="power"),
            stat("Hottest", "The highest temperature; for an integrated GPU, that of the CPU package.",
                 f"max(intel_gpu_temperature_celsius{{{SELECT}}})", "celsius", HOT, 0, features="temperature"),
            stat("Hangs", HANGS, f"count({hung(SELECT)} or {dead(SELECT)}) or {seen_faults(SELECT)}", thresholds=BAD, graph="none", features="fault_times"),
            *energy_stats(SELECT),
            table("Every GPU", "Each GPU and its current state.", [
                target(f"group by ({GPU}, card, render_node, driver, device_id, name, kind) (intel_gpu_info{{{SELECT}}})", instant=True, table=True),
                target(f"max by ({GPU}) {busy(RENDER)}", instant=True, table=True),
                target(f"max by ({GPU}) {busy(VIDEO)}", instant=True, table=True),
                target(f"{used} / {size}", instant=True, table=True),
                target(watts(SELECT), instant=True, table=True),
                target(f"max by ({GPU}) (intel_gpu_temperature_celsius{{{SELECT}}})", instant=True, table=True),
                target(f"max by ({GPU}) (intel_gpu_runtime_suspended{{{SELECT}}})", instant=True, table=True),
                target(f"count by ({GPU}) ({unread(OF_A_GPU)})", instant=True, table=True)],
                [*(column(name, "percentunit", BUSY, gauge=True, width=130) for name in ("Render", "Video", "Card memory")), column("Power", "watt", decimals=0, width=80),
                 column("Temperature", "celsius", HOT, decimals=0, width=110),
                 mapped("State", [{"type": "value", "options": {"0": {"text": "awake", "index": 0}, "1": {"text": "asleep", "color": "blue", "index": 1}}}], width=80),
                 column("Unread", "short", [("text", None), ("orange", 1)], width=80), mapped("Name", REGEX_NAME, width=170), mapped("No.", REGEX_CARD, width=60), column("Device", width=120),
                 column("Driver", width=70), column("Kind", width=100), column("Id", width=80), column("Node", width=110),
                 column("instance", rename="Host", width=150, links=to("intel-gpu-processes", "Processes"))],
                [{"id": "merge", "options": {}},
                 organize(["Time", "cluster", "job", "Value #A"],
                          ["instance", "name", "card", "Value #G", "Value #B", "Value #C", "Value #D", "Value #F", "Value #E", "Value #H", "device", "driver", "kind", "device_id", "render_node"],
                          {"device": "Device", "name": "Name", "card": "No.", "driver": "Driver", "kind": "Kind", "device_id": "Id", "render_node": "Node",
                           "Value #B": "Render", "Value #C": "Video", "Value #D": "Card memory", "Value #E": "Power", "Value #F": "Temperature", "Value #G": "State", "Value #H": "Unread"})], 24, 7)]),
        ("Engines", [
            *(engine_class(name) for name in CLASSES),
            series("Video, between the scrapes", "The largest sample of a GPU's video engines beside the mean of the busiest one; the four highest. Only exporters with"
                   " --sample.interval have samples (docs/between-scrapes.md).",
                   [target(named(top(peak, count=4)), BY_GPU + " peak"), target(named(f"({mean}) and on ({GPU}) ({top(peak, count=4)})"), BY_GPU)],
                   "percentunit", 12, 8, maximum=1, empty="no exporter takes samples: --sample.interval"),
            history("Each engine", "Busy share of each engine, one row each; the sixteen busiest. Without the PMU: by class, from the visible processes.",
                    [target(named(top(engines, GPU + ", gt, engine", 16)), BY_GPU + " · {{engine}}"), target(why_series("engine_busy", [engines]), BY_GPU + ": {{reason}}")],
                    "percentunit", 24, 8)]),
        waiting_row(),
        functions_row(),
        ("Frequency and power saving", [
            series("Frequency and its limit", "Current frequency of each GT and its maximum (dashed); the four fastest. A parked GT shows 0.",
                   with_limit(actual, highest, GPU + ", gt", " · gt{{gt}}"), "hertz", features="frequency"),
            series("RC6", "Share of the time in the power-saving state RC6; the eight GTs with the lowest share.",
                   [target(named(top(f"max by ({GPU}, gt) (intel_gpu_rc6_residency_ratio{{{SELECT}}})", GPU + ", gt", 8, "bottomk")), BY_GPU + " · gt{{gt}}")], "percentunit", maximum=1, features="rc6"),
            timeline("Throttled by reason", "Why each GPU's frequency was limited. Reasons that did not occur in the time range have no row.", [
                target(named(f"({reasons} or max by ({GPU}, reason) (intel_gpu_throttled{{{SELECT}}})) and on ({GPU}, reason) ({held})"), BY_GPU + ": {{reason}}"),
                target(f'0 * group(intel_gpu_throttled{{{SELECT}}}) unless on () ({held})', "no GPU was throttled"),
                target(why_series("throttle_reasons", [f"intel_gpu_throttled{{{SELECT}}}"]), BY_GPU + ": {{reason}}")]),
            series("PCIe link", "Width of the link between slot and card and its maximum (dashed). Below the maximum: the card is in the wrong slot or poorly seated.",
                   with_limit(current, widest, GPU), "short", axis="lanes", features="pcie_link")]),
        ("Power and temperature", [
            series("Power of the GPUs", "Mean power over each window and its limit (dashed), if one is set; the four GPUs with the highest power.",
                   with_limit(watts(SELECT), allowed, GPU), "watt", features="power"),
            series("Package and platform power", "RAPL domains of an integrated GPU's processor: package and psys include the GPU; psys is the whole board.",
                   [target(named(top(f'max by ({GPU}, domain) (intel_gpu_power_watts{{source!="hwmon",domain!="gpu",{SELECT}}})', GPU + ", domain")), "{{domain}} · {{instance}}")],
                   "watt", features="power", empty="no integrated GPU with RAPL; cards: see the panel on the left"),
            series("Temperature", "By sensor; the eight hottest. Integrated GPUs: the CPU package.",
                   [target(named(top(f'max by ({GPU}, sensor) (intel_gpu_temperature_celsius{{sensor!~"vram_ch_.*",{SELECT}}})', GPU + ", sensor")), BY_GPU + " · {{sensor}}")],
                   "celsius", minimum=None, features="temperature"),
            series("Fans", "Fan speed, 0 while the fan is stopped; the eight fastest.",
                   [target(named(top(f"max by ({GPU}, fan) (intel_gpu_fan_speed_rpm{{{SELECT}}})", GPU + ", fan")), BY_GPU + " · fan {{fan}}")], "rotrpm", features="fan")]),
        ("Memory", [
            series("Card memory in use", "Card memory in use and its size (dashed); the four cards with the most in use.", with_limit(used, size, GPU, word="size"), "bytes", features="memory_used"),
            series("Memory bandwidth", "Traffic of the memory controllers of an integrated GPU's processor, by the GPU and everything else.",
                   [target(top(f"sum by ({NODE}, direction) (rate(intel_gpu_memory_bandwidth_bytes_total{{{SELECT}}}[$__rate_interval]))", NODE + ", direction"), "{{direction}} · {{instance}}")],
                   "Bps", features="memory_bandwidth")]),
        npu_row(),
        faults_row(SELECT),
        why_row(SELECT)])


def workload_rows():
    """Of the collector workloads. The time of an ended process stays in its workload's counters."""
    used = 'intel_gpu_workload_engine_busy_seconds_total{' + SELECT + ',workload=~"$workload"'
    everything = f"intel_gpu_workload_engine_busy_seconds_total{{{SELECT}}}"
    nobody = "no workload: they need --collector.workloads"

    def seconds(name):
        return f'sum by ({WORKLOAD}) (increase({used},class="{name}"}}[$__range])) > 0.001'

    def engines(name):
        return f'sum by ({WORKLOAD}) (rate({used},class="{name}"}}[$__rate_interval]))'

    def share(numerator, keys):
        """Of the engine time of each GPU in the time range."""
        return f"sum by ({keys}) (increase({numerator}[$__range])) / on ({GPU}) group_left () (sum by ({GPU}) (increase({everything}[$__range])) > 0)"

    def by_class(name):
        title = CLASSES[name]
        return series(f"{title} engines by workload", "Engines that a workload keeps busy on all its GPUs; the eight largest.",
                      [target(top(f"{engines(name)} > 0.001", WORKLOAD), BY_WORKLOAD)], "short", 12, 8, stack=True, axis="engines", decimals=2, empty=nobody)

    joules = (f"sum by ({WORKLOAD}) ({share(used + '}', GPU + ', workload')} * on ({GPU}) group_left () "
              f"{own('intel_gpu_energy_joules_total', SELECT, 'increase({}[$__range])')})")
    daily = series("Encoder seconds by workload and day", "Video engine time of the 24 hours before each bar, by UTC days of the last week; the eight largest of each day.",
                   [target(f'topk(8, sum by ({WORKLOAD}) (increase({used},class="video"}}[1d])) > 1)', BY_WORKLOAD)], "s", 12, 9, stack=True, axis="engine time", empty=nobody)
    daily.update(timeFrom="7d", interval="1d")
    daily["fieldConfig"]["defaults"]["custom"].update(drawStyle="bars", fillOpacity=80)
    memory = f'max by ({WORKLOAD}) (sum by ({WORKLOAD}, source) (intel_gpu_workload_memory_bytes{{state="resident",{SELECT},workload=~"$workload"}}))'
    return [
        ("Workloads in the time range", [
            table("Who used which engine", "Engine time of each workload in the time range, by class, including processes that ended; and its memory now.", [
                *(target(seconds(name), instant=True, table=True) for name in CLASSES),
                target(f"{memory} > 0", instant=True, table=True)],
                [*(column(name, "s", decimals=1, width=125) for name in CLASSES.values()), column("Memory", "bytes", decimals=1, width=100)],
                [{"id": "merge", "options": {}},
                 organize(["Time", "cluster", "job"], ["workload", "instance", *(f"Value #{letter}" for letter in "ABCDEF")],
                          {"workload": "Workload", "instance": "Host", "Value #F": "Memory",
                           **{f"Value #{letter}": title for letter, title in zip("ABCDE", CLASSES.values())}})], 16, 10, "Video", empty=nobody),
            bars("Energy by workload (estimate)", "GPU energy of the time range, shared by engine time: an estimate. An engine of one class counts as much as one of another; a GPU without work charges nobody. The eight largest.",
                 f"topk(8, {joules} > 0)", BY_WORKLOAD, "joule", PLAIN, None, 8, 10, "power", decimals=0)]),
        ("Workloads over time", [
            daily,
            series("Unattributed engine time", "Share of the engine time of the time range that no visible client explains; the eight largest GPUs.",
                   [target(named(top("sum by (" + GPU + ") (rate(intel_gpu_workload_engine_busy_seconds_total{" + SELECT + ',workload="unattributed"}[$__rate_interval]))'
                                     f" / (sum by ({GPU}) (rate({everything}[$__rate_interval])) > 0)")), BY_GPU)], "percentunit", 12, 9, maximum=1, empty=nobody),
            by_class("render"), by_class("video")])]


def level_zero_row():
    """Of the collector level_zero: handles are counted, by the program itself."""
    nobody = "no program runs with the tracker (docs/level-zero.md)"
    chosen = HOST + ',comm=~"$comm"'

    def lines(title, description, expression, keys, legend, unit="short", **more):
        return series(title, description, [target(top(f"sum by ({PROCESS}{keys}) ({expression})", PROCESS + keys), BY_PROCESS + legend)], unit, empty=nobody, **more)

    def ended(metric, of):
        return target(f"sum by ({PROCESS}{of}) ({metric}{{{chosen}}})", instant=True, table=True)

    return ("Level Zero programs", [
        lines("Live allocations", "Memory that each program has allocated and not freed, by kind; the eight largest. A line that only rises is a leak.",
              f"intel_gpu_level_zero_memory_bytes{{{chosen}}}", ", memory", " · {{memory}}", "bytes"),
        lines("Growth in an hour", "Change of the allocated memory in the last hour, or since the start of a younger program; the eight largest.",
              f"delta(intel_gpu_level_zero_memory_bytes{{{chosen}}}[1h])", "", "", "bytes", minimum=None),
        lines("Live resources", "Contexts, queues, lists, events and the like that each program has created and not destroyed; the eight largest.",
              f'intel_gpu_level_zero_resources{{resource!~"memory_.*",{chosen}}}', ", resource", " · {{resource}}", axis="resources"),
        lines("Failed calls", "Calls a second that returned an error, allocations among them; the eight most frequent.",
              f"rate(intel_gpu_level_zero_errors_total{{{chosen}}}[$__rate_interval])", ", function", " · {{function}}", "cps"),
        table("Programs that ended", "How they ended and what they had not destroyed. What a killed program held was not leaked by its code.", [
            ended("intel_gpu_level_zero_leaked_bytes", ""), ended("intel_gpu_level_zero_leaked_resources", ""), ended("intel_gpu_level_zero_ended", ", how")],
            [column("Bytes", "bytes", [("text", None), ("red", 1e6)], decimals=1, width=110), column("Resources", "short", decimals=0, width=110), column("Ended", width=90)],
            [{"id": "merge", "options": {}},
             organize(["Time", "cluster", "job", "Value #C"], ["instance", "comm", "pid", "how", "Value #A", "Value #B"],
                      {"instance": "Host", "comm": "Program", "pid": "Pid", "how": "Ended", "Value #A": "Bytes", "Value #B": "Resources"})], 24, 7, "Bytes", empty="no program ended")])


def processes():
    chosen = SELECT + ',comm=~"$comm"'
    who = GPU + ", pid, comm"
    in_containers = '{container_id!=""}'
    rate = f"rate(intel_gpu_process_engine_busy_seconds_total{{{chosen}}}[$__rate_interval])"
    resident = f'sum by ({who}) (intel_gpu_process_memory_bytes{{state="resident",{chosen}}})'
    features = "processes|process_engine_time"
    nobody = "no process holds a GPU, or none is visible"

    def info(label, of=""):
        return f"* on ({who}) group_left ({label}) group by ({who}, {label}) (intel_gpu_process_info{of})"

    def share(name):
        return f'sum by ({who}) (intel_gpu_process_engine_busy_ratio{{class="{name}",{chosen}}})'

    def top_of(name):
        title = CLASSES[name]
        # For a process that uses two GPUs, the larger share.
        return series(title, "Share of the class's engines; the eight largest.",
                      [target(top(f"max by ({PROCESS}) ({share(name)} > 0)", PROCESS), BY_PROCESS)], "percentunit", 12, 8, features=features, empty="no process used them")

    def by(title, description, expression, keys, legend, **more):
        return series(title, description, [target(top(expression, keys), legend)], "short", 12, 8, stack=True, axis="engines", decimals=2, features=features, empty=nobody, **more)

    busy_somewhere = f"sum by ({who}) (intel_gpu_process_engine_busy_ratio{{{chosen}}}) > 0 or {resident} > 0"
    return dashboard("intel-gpu-processes", "Intel GPU workloads and processes", "Engine time, energy and GPU memory by workload, process, user, container and program.", [*HOSTS, DEVICE, WORKLOADS, PROGRAM], [
        health_banner(),
        *workload_rows(),
        ("Now", [
            stat("Processes", "Visible processes that hold a client of a GPU. A process that uses two GPUs counts once.", f"sum({processes_of(chosen)})", width=4, features=features),
            stat("Without series", "Processes beyond --collector.fdinfo.max-processes that used the GPU least: counted per GPU, not listed.", f"sum(intel_gpu_processes_dropped{{{SELECT}}})", thresholds=[("green", None), ("orange", 1)], width=4, graph="none", features=features),
            bars("Largest users of video engines", "Processes with the largest share of a GPU's video engines.",
                 f'topk(3, max by ({PROCESS}) (intel_gpu_process_engine_busy_ratio{{class="video",{chosen}}} > 0))', BY_PROCESS, "percentunit", BUSY, 1, 8, 4, features, decimals=0),
            bars("Largest users of memory", "Processes with the most GPU memory.",
                 f"topk(3, sum by ({PROCESS}) ({resident} > 0))", BY_PROCESS, "bytes", PLAIN, None, 8, 4, "processes|process_memory", decimals=1),
            table("Every process", "Engine time as a share of the class; resident memory. Excludes processes with neither.", [
                *(target(named(f"{share(name)} > 0"), instant=True, table=True) for name in SHOWN),
                target(named(f"{resident} > 0"), instant=True, table=True),
                target(named(f"sum by ({who}) (rate(intel_gpu_process_cpu_seconds_total{{{chosen}}}[$__rate_interval])) and ({busy_somewhere})"), instant=True, table=True)],
                [*(column(name, "percentunit", BUSY, gauge=True, width=130) for name in map(CLASSES.get, SHOWN)),
                 column("Memory", "bytes", decimals=1, width=100), column("CPU", "percentunit", decimals=0, width=80),
                 mapped("GPU", REGEX_NAME, width=170), mapped("No.", REGEX_CARD, width=60), column("Device", width=120), column("Pid", width=90)],
                [{"id": "merge", "options": {}},
                 organize(["Time", "cluster", "job"], ["instance", "comm", "pid", "name", "card", "Value #A", "Value #B", "Value #C", "Value #D", "Value #E", "Value #F", "device"],
                          {"instance": "Host", "device": "Device", "comm": "Program", "pid": "Pid", "name": "GPU", "card": "No.", "Value #E": "Memory", "Value #F": "CPU",
                           **{f"Value #{letter}": CLASSES[name] for letter, name in zip("ABCD", SHOWN)}})], 24, 10, "Video", empty=nobody)]),
        ("Engines", [top_of(name) for name in SHOWN]),
        ("Memory", [
            series("Resident GPU memory", "The eight largest. A shared buffer counts in full for each process that holds it.",
                   [target(top(f"sum by ({PROCESS}) ({resident} > 0)", PROCESS), BY_PROCESS)], "bytes", features="processes|process_memory", empty=nobody),
            series("Memory by region", "Resident memory of all processes by region; the eight largest.",
                   [target(named(top(f'sum by ({GPU}, memory_region) (intel_gpu_process_memory_bytes{{state="resident",{chosen}}}) > 0', GPU + ", memory_region")), BY_GPU + " · {{memory_region}}")],
                   "bytes", stack=True, features="processes|process_memory", empty=nobody)]),
        ("By user, container, program", [
            by("Engine time by user", "Busy engines by user; the eight largest.", f"sum by (user) ({rate} {info('user')}) > 0.001", "user", "{{user}}"),
            by("Engine time by container", "Busy engines by container; excludes processes outside containers.",
               f'label_replace(sum by (container_id) ({rate} {info("container_id", in_containers)}) > 0.001, "container", "$1", "container_id", "(.{{12}}).*")', "container_id", "{{container}}"),
            by("Engine time by program", "Busy engines by program name; the eight largest.", f"sum by (comm) ({rate}) > 0.001", "comm", "{{comm}}"),
            table("Process details", "User, unit, container and pod.", [target(
                f'group by ({PROCESS}, user, systemd_unit, container_id, pod_uid) (label_replace(label_replace(intel_gpu_process_info{{{chosen}}}, "container_id", "$1", "container_id", "(.{{12}}).*"), "systemd_unit", "$1…$2", "systemd_unit", "(.*[0-9a-f]{{12}})[0-9a-f]{{52}}(.*)"))',
                instant=True, table=True)],
                  [column("Host", width=180), column("Program", width=160), column("Pid", width=90), column("User", width=120),
                   column("Container", width=150), column("Pod", width=310)], [organize(["Time", "Value", "cluster", "job"], ["instance", "comm", "pid", "user", "systemd_unit", "pod_uid", "container_id"],
                                {"instance": "Host", "comm": "Program", "pid": "Pid", "user": "User", "systemd_unit": "Unit",
                                 "pod_uid": "Pod", "container_id": "Container"})], 24, empty=nobody)]),
        level_zero_row(),
        faults_row(SELECT),
        why_row(SELECT)])


def rack():
    # By recording rules: over a thousand hosts the raw series would take many seconds.
    video = f'instance_device_class:intel_gpu_engine_busy:ratio_rate5m{{class="video",{HOST}}}'
    node_busy = f"avg by ({NODE}) ({video})"
    free = f"sum by ({NODE}) (instance_device:intel_gpu_video_headroom:engines{{{HOST}}})"
    gpu_power = f"instance_device:intel_gpu_power:watts{{{HOST}}}"
    hottest = f"max by ({NODE}) (instance_device:intel_gpu_temperature_celsius:max{{{HOST}}})"
    slow = f'max by ({GPU}) (intel_gpu_throttled{{reason="any",{HOST}}}) == 1'
    lost = f"({hung(HOST, True)} or {dead(HOST)})"
    power = f"sum by ({NODE}) ({gpu_power})"
    held = f"instance:intel_gpu_processes:count{{{HOST}}}"
    pictures = f'sum by ({WORKLOAD}) (rate(intel_gpu_workload_video_jobs_total{{workload!~"unattributed|other",{HOST}}}[$__rate_interval]))'
    whole = dashboard("intel-gpu-rack", "Intel GPU broadcast rack", "Many hosts that encode: load, the worst hosts, headroom. Reads what the recording rules keep.", [SITE, RACK, *HOSTS], [
        health_banner(HOST, True),
        ("Channels", [
            series("Pictures by channel", "Jobs of the video engines by workload: one line a channel, flat when all is well. The eight that were least flat in the time range. A step down is a channel that drops pictures or has stopped. A picture is one job or more (docs/tracing.md).",
                   [target(f"({pictures}) and on ({WORKLOAD}) topk(8, 1 - min_over_time(({pictures})[$__range:15s] @ end()) / max_over_time(({pictures})[$__range:15s] @ end()))", BY_WORKLOAD)],
                   "cps", 24, 10, axis="video jobs a second",
                   empty="no job counted by workload: that takes --collector.jobs and --collector.workloads (docs/tracing.md)")]),
        faults_row(HOST, True),
        ("The rack", [
            tiles("Hosts up", "Exporters that answer, of all that should. Red, with names, if one does not.", [
                (f'2 * count_values("up", sum({UP_RECORDED})) * on () group_left (all) count_values("all", count({UP_RECORDED})) * on () group_left () (count({UP_RECORDED}) > bool sum({UP_RECORDED}))', "{{up}} of {{all}}"),
                (f"topk(3, 2 * ({UP_RECORDED} == bool 0) > 0)", "{{instance}} is down")], 8, 4, (("green", None), ("red", 1)), "no exporter answers"),
            tiles("Throttled", "GPUs that are throttled now, with their hosts.", [
                (f"0 * group(intel_gpu_throttled{{{HOST}}}) unless on () ({slow})", "none"),
                (f'count_values("n", count({slow}))', "GPUs: {{n}}"),
                (f"topk(3, {named(slow, HOST)})", BY_GPU)], 8, 4, (("green", None), ("orange", 1)), "no reading"),
            tiles("Hangs", HANGS, [
                (f"{seen_faults(HOST)} unless on () {lost}", "none"),
                (f"topk(3, {named(lost, HOST)})", BY_GPU)], 8, 4, (("green", None), ("red", 1)), "no reading"),
            stat("GPUs", "Monitored Intel GPUs.", f"sum(intel_gpu_exporter_devices{{{HOST}}})", graph="none"),
            stat("Video busy", "Mean over all GPUs.", f"avg({video})", "percentunit", BUSY, 0, features="engine_busy", labels=HOST),
            stat("Free video", "Free video engines; GPUs that sleep or have no PMU access do not count.", f"sum({free})", "short", [("red", None), ("orange", 2), ("green", 5)], 1, features="engine_busy", labels=HOST),
            stat("Processes", "Processes that hold a GPU; a process that uses two GPUs counts once.", f"sum({held})", "short", features="processes|process_engine_time", labels=HOST),
            stat("GPU power", "Sum over all GPUs.", f"sum({gpu_power})", "watt", decimals=1, features="power", labels=HOST),
            stat("Hottest", "The highest temperature of all GPUs.", f"max({hottest})", "celsius", HOT, 0, features="temperature", labels=HOST),
            *energy_stats(HOST, gpu_power),
            history("Video engines by host", "One row per host: the busy share of its video engines. No colour: asleep, no permission to read it, or down.",
                    [target(f"{node_busy} or NaN * group by ({NODE}) ({UP_RECORDED})", BY_HOST)], "percentunit", 24, 14),
            table("Every host", "All hosts, including those that sleep, cannot be read or do not answer.", [
                target(f"max by ({NODE}) ({UP_RECORDED})", instant=True, table=True),
                target(f"max by ({NODE}) (intel_gpu_exporter_devices{{{HOST}}})", instant=True, table=True),
                target(node_busy, instant=True, table=True), target(free, instant=True, table=True), target(power, instant=True, table=True),
                target(hottest, instant=True, table=True),
                target(f"{held} > 0", instant=True, table=True),
                target(f"count by ({NODE}) ({slow})", instant=True, table=True),
                target(f"sum by ({NODE}) (intel_gpu_runtime_suspended{{{HOST}}}) > 0", instant=True, table=True),
                target(f"count by ({NODE}) ({unread(HOST)})", instant=True, table=True)],
                [column("instance", rename="Host", width=180, links=to("intel-gpu-overview", "Overview")),
                 mapped("Answers", [{"type": "value", "options": {"0": {"text": "no", "color": "red", "index": 0}, "1": {"text": "yes", "color": "green", "index": 1}}}], width=90),
                 column("Video", "percentunit", BUSY, gauge=True, width=180), column("Free engines", "short", decimals=1), column("Power", "watt", decimals=0), column("Temperature", "celsius", HOT, decimals=0),
                 column("Throttled", "short", [("text", None), ("orange", 1)]), column("Unread", "short", [("text", None), ("orange", 1)])],
                [{"id": "merge", "options": {}},
                 organize(["Time", "cluster", "job"], ["instance", *(f"Value #{letter}" for letter in "ACDHFEGBIJ")],
                          {"Value #A": "Answers", "Value #B": "GPUs", "Value #C": "Video", "Value #D": "Free engines", "Value #E": "Power", "Value #F": "Temperature",
                           "Value #G": "Processes", "Value #H": "Throttled", "Value #I": "Asleep", "Value #J": "Unread"})], 24, 22, "Video")]),
        ("Worst and best", [
            bars("Fullest hosts", "The eight hosts with the busiest video engines.", f"topk(8, {node_busy})", BY_HOST, "percentunit", BUSY, 1, features="engine_busy", labels=HOST, decimals=0),
            bars("Most headroom", "The eight hosts with the most free video engines; GPUs that sleep or have no PMU access do not count.", f"topk(8, {free})", BY_HOST, "short", [("red", None), ("orange", 0.5), ("green", 1)], features="engine_busy", labels=HOST, decimals=1),
            bars("Hottest hosts", "The eight hosts with the hottest sensor.", f"topk(8, {hottest})", BY_HOST, "celsius", HOT, 110, features="temperature", labels=HOST),
            table("Alerts", "Pending and firing alerts of this exporter's rules.", [
                target(f'sum by (alertname, severity, alertstate, instance, device, workload, comm) (ALERTS{{alertname=~"IntelGpu.*",{HOST}}})', instant=True, table=True)],
                [column("instance", rename="Host", links=to("intel-gpu-overview", "Overview")), *(column(name, "string") for name in ("GPU", "Channel or workload", "Program"))],
                [organize(["Time", "Value"], ["severity", "alertname", "instance", "device", "workload", "comm", "alertstate"],
                          {"alertname": "Alert", "severity": "Severity", "alertstate": "State", "device": "GPU", "workload": "Channel or workload", "comm": "Program"})], 24, 6, empty="no alert is pending or firing")]),
        ("Over time", [
            density("Distribution of video load", "Number of GPUs by load: darker means more GPUs. Scales to thousands.", video, "percentunit", empty="no GPU is awake and readable"),
            series("Video load", "The mean of all GPUs and the busiest GPU.", [target(f"avg({video})", "mean"), target(f"max({video})", "fullest")], "percentunit", 12, maximum=1, features="engine_busy", labels=HOST),
            series("Power by host", "GPU power: all hosts together and the seven highest.", [target(f"sum({power})", "all hosts"), target(top(power, NODE, 7), BY_HOST)], "watt", 12, features="power", labels=HOST),
            series("Processes on the GPUs", "All hosts together and the seven with the most: encoders and everything else that holds a GPU. A process that uses two GPUs counts once.",
                   [target(f"sum({held})", "all hosts"), target(top(held, NODE, 7), BY_HOST)], "short", 12, axis="processes", features="processes|process_engine_time", labels=HOST)]),
        why_row(HOST + ',reason!="hardware"')], hours=3, recorded=True)
    # Every selector of a host, also those in the rows that all dashboards share.
    selector = json.dumps('cluster=~"$cluster"')[1:-1]
    return json.loads(json.dumps(whole).replace(selector, json.dumps('site=~"$site",rack=~"$rack",')[1:-1] + selector))


def health():
    def by_host(title, description, expression, unit, axis="", **more):
        return series(title, description, [target(top(f"max by ({NODE}) ({expression})", NODE), BY_HOST)], unit, 12, axis=axis, **more)

    def ours(metric):
        return f"{metric}{{{HOST}}} {OURS}"

    failing = f"intel_gpu_scrape_collector_success{{{HOST}}} == bool 0"
    short = f"intel_gpu_exporter_client_walk_complete{{{HOST}}} == bool 0"
    return dashboard("intel-gpu-exporter-health", "Intel GPU exporter health", "Whether the exporter reads everything it should, and what it costs.", HOSTS, [
        health_banner(HOST),
        ("Now", [
            stat("Exporters up", "Exporters that answered the last scrape.", f"sum({UP})", graph="none", width=8),
            stat("Features missing", "Features that the machines could offer but the exporter cannot read, as doctor lists them.",
                 f"sum({unread(HOST)})"
                 f" or 0 * count(intel_gpu_exporter_build_info{{{HOST}}})", thresholds=[("green", None), ("orange", 1)], width=8),
            stat("Slowest scrape", "As Prometheus measured it.", f"max({ours('scrape_duration_seconds')})", "s", [("green", None), ("orange", 1), ("red", 5)], 3, 8),
            stat("Collectors failing", "Collectors that failed in the last scrape.", f"sum({failing})", thresholds=BAD, graph="none", width=8),
            stat("Largest page", "Samples of the largest page.", f"max({ours('scrape_samples_scraped')})", "short", decimals=0, width=8),
            stat("Memory", "Resident memory of the largest exporter.", f"max({ours('process_resident_memory_bytes')})", "bytes", decimals=1, width=8)]),
        faults_row(HOST),
        why_row(HOST),
        ("Versions", [
            table("Versions", "One row per exporter.", [target(f"intel_gpu_exporter_build_info{{{HOST}}}", instant=True, table=True)],
                  [], [organize(["Time", "Value", "__name__", "job", "cluster"], ["instance", "version", "revision", "compiler"],
                                {"instance": "Host", "version": "Version", "revision": "Revision", "compiler": "Compiler"})], 24, 8)]),
        ("Scrapes", [
            by_host("Scrape duration", "As Prometheus measured it; the eight slowest.", ours("scrape_duration_seconds"), "s"),
            series("Time by collector", "The slowest host of each collector; the eight slowest collectors.", [target(top(f"max by (collector) (intel_gpu_scrape_collector_duration_seconds{{{HOST}}})", "collector"), "{{collector}}")], "s"),
            by_host("Scan of /proc", "Time to scan /proc for GPU clients; it grows with the number of processes. The eight slowest.", f"intel_gpu_exporter_client_walk_duration_seconds{{{HOST}}}", "s", empty="no scan: every GPU sleeps, or the collector is off"),
            by_host("Samples by page", "Number of series per host; the eight largest.", ours("scrape_samples_scraped"), "short", "samples"),
            series("HTTP answers by code", "Per second, over all hosts.", [target(f"sum by (code) (rate(intel_gpu_exporter_http_requests_total{{{HOST}}}[$__rate_interval])) > 0", "{{code}}")], "reqps"),
            timeline("Failing collectors", "Collectors that failed in a scrape. If none failed: a single green row.", [
                target(f"max by (collector) ({failing}) and on (collector) max by (collector) (1 - min_over_time(intel_gpu_scrape_collector_success{{{HOST}}}[$__range] @ end())) > 0", "{{collector}}"),
                target(f"max({failing})", "any collector")]),
            timeline("Incomplete scans of /proc", "Hosts where the scan of /proc did not cover every process in time. If none: a single green row.", [
                target(f"max by ({NODE}) ({short}) and on ({NODE}) max by ({NODE}) (1 - min_over_time(intel_gpu_exporter_client_walk_complete{{{HOST}}}[$__range] @ end())) > 0", BY_HOST),
                target(f"max({short})", "any host")], empty="no scan: every GPU sleeps, or the collector is off"),
            by_host("Client blocks skipped", "Malformed fdinfo blocks.", f"intel_gpu_exporter_client_blocks_skipped{{{HOST}}} > 0", "short", "blocks", empty="none was skipped"),
            by_host("Processes without series", "Processes beyond --collector.fdinfo.max-processes.", f"sum by ({NODE}) (intel_gpu_processes_dropped{{{HOST}}}) > 0", "short", "processes", empty="every process has its series")]),
        ("What it costs", [
            by_host("CPU", "Share of one processor; the eight largest.", f"rate(process_cpu_seconds_total{{{HOST}}}[$__rate_interval]) {OURS}", "percentunit"),
            by_host("Resident memory", "Resident memory of each exporter; the eight largest.", ours("process_resident_memory_bytes"), "bytes"),
            by_host("Open files", "Open file descriptors, including perf events; the eight largest.", ours("process_open_fds"), "short", "files")])])


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
    for name, content in {"overview": overview, "processes": processes, "rack": rack, "exporter-health": health}.items():
        # Without indentation, and small objects on a line: as a ConfigMap, a dashboard has to fit into an annotation (256 KiB).
        text = json.dumps(content(), indent=0, separators=(",", ":"), ensure_ascii=False)
        text = re.sub(r"([{\[])\n([^{}\[\]]*)\n([}\]])", lambda match: match[1] + match[2].replace("\n", "") + match[3], text)
        (folder / f"{name}.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
