#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the dashboards beside it: grafana/generate.py [FOLDER]. A test compares them with what is committed.

Panels and variables are written the way Grafana 11 and 12 save them; the helpers below keep them alike.
"""
import json
import pathlib
import sys

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
HOST = 'cluster=~"$cluster",job=~"$job",instance=~"$instance"'
SELECT = HOST + ',device=~"$device"'
# What tells hosts, GPUs and processes apart. Without the job two jobs that scrape one exporter would be an error in every join;
# a process is one process, whatever number of GPUs it uses.
NODE = "cluster, job, instance"
GPU = NODE + ", device"
PROCESS = NODE + ", pid, comm"
OF_A_GPU = SELECT + ',device!=""'  # and not of the whole machine
VIDEO, RENDER = (f'{SELECT},class="{name}"' for name in ("video", "render"))
BY_HOST = "{{instance}}"
BY_GPU = "{{name}} {{card}} · {{instance}}"
BY_PROCESS = "{{comm}} {{pid}} · {{instance}}"
# "DG2 [Arc A770] card2 · host" is shown as "Arc A770 #2 · host". A GPU without a name is "GPU #2", what has no GPU its host.
SHORT_NAMES = [{"id": "renameByRegex", "options": {"regex": pattern, "renamePattern": text}} for pattern, text in (
    (r"((?:[^:·]*: )?)(?:[^·\[]*\[([^\]]*)\]|([^·\[]*?)) card(\d+)(.*)", "$1$2$3 #$4$5"), (r"((?:[^:·]*: )?) ?(#\d+.*)", "$1GPU $2"), (r"\s*· (.*)", "$1"))]
BUSY = [("green", None), ("orange", 0.8), ("red", 0.95)]
HOT = [("green", None), ("orange", 85), ("red", 95)]
PLAIN = [("green", None)]
BAD = [("green", None), ("red", 1)]
# One colour for each class of engines, in every panel; GPUs and processes of one class are its shades.
CLASSES = {"video": ("Video", "purple"), "video_enhance": ("Video enhance", "blue"), "render": ("Render", "orange"),
           "compute": ("Compute", "green"), "copy": ("Copy", "yellow")}
# Why a reading is missing: number in the queries of single values, which show its text instead.
REASONS = {"suspended": (-1001, "asleep"), "permission": (-1002, "no right"), "kernel": (-1003, "not in this driver"),
           "disabled": (-1004, "turned off"), "hardware": (-1005, "no such hardware")}
HANGS = ("GPUs whose kernel driver holds the capture of a hang. Of i915 GPUs only those count whose capture the exporter may"
         " read: CAP_DAC_READ_SEARCH (docs/runbook.md#intelgpuhang).")
# Exporters that answer, that do not, and those of other job names that answered within six hours.
UP = (f'(up{{job=~".*intel-gpu.*",{HOST}}} or up{{{HOST}}} and on ({NODE})'
      f" last_over_time(intel_gpu_exporter_build_info{{{HOST}}}[6h]))")
DOWN = f"({UP} == 0)"
OURS = f"* on ({NODE}) group_left () group by ({NODE}) (intel_gpu_exporter_build_info{{{HOST}}})"


def named(expression, select=SELECT):
    """The series of GPUs with what their legends are made of."""
    return f"({expression}) * on ({GPU}) group_left (name, card) group by ({GPU}, name, card) (intel_gpu_info{{{select}}})"


def top(expression, keys=GPU, count=8, order="topk"):
    """At most so many lines: those that are highest at the end of the time that is shown."""
    return f"({expression}) and on ({keys}) {order}({count}, avg_over_time(({expression})[5m:15s] @ end()))"


def busy(labels):
    """Share of the class's engines that was busy. xe counts by PMU or by fdinfo: the sum is the whole. Without PMU,
    fdinfo's ratio already is the share."""
    keys = GPU + ", class"
    return (f"(clamp_max(sum by ({keys}) (rate(intel_gpu_engine_busy_seconds_total{{{labels}}}[$__rate_interval]))"
            f' / count by ({keys}) (intel_gpu_engine_busy_seconds_total{{source="pmu",{labels}}}), 1)'
            f' or max by ({keys}) (intel_gpu_engine_busy_ratio{{source="fdinfo",{labels}}}))')


def own(metric, labels, around="{}"):
    """Of the GPU alone: the gpu domain of an integrated one, the whole card where the driver tells it, else its package."""
    return "(" + " or ".join(f"max by ({GPU}) ({around.format(f'{metric}{{{domain},{labels}}}')})"
                             for domain in ('domain=~"gpu|card"', 'domain="package",source="hwmon"')) + ")"


def watts(labels):
    return own("intel_gpu_power_watts", labels)


def kwh(labels):
    return f"{own('intel_gpu_energy_joules_total', labels, 'increase({}[$__range])')} / 3.6e6"


def processes_of(labels):
    """Processes, each once: one that uses two GPUs has series of both."""
    return f"count by ({NODE}) (group by ({NODE}, pid) (intel_gpu_process_clients{{{labels}}}))"


def missing(features, labels=SELECT):
    return f'intel_gpu_exporter_feature_available{{feature=~"{features}",{labels}}} == 0'


def unread(labels, compared="=="):
    """What the machine could give and the exporter may not or cannot read. Without what a driver has in no version: that is never
    missing alone."""
    never = "engine_wait_sema|interrupts|frequency_average|awake_time|memory_used"
    return (f'(intel_gpu_exporter_feature_available{{reason="permission",{labels}}}'
            f' or intel_gpu_exporter_feature_available{{reason="kernel",feature!~"{never}",{labels}}}) {compared} 0')


def no(expression):
    """Where that has had nothing at the end of the time that is shown. A gap before is a gap, and no reason."""
    return f" unless on () last_over_time(({expression})[5m:15s] @ end())"


def why_number(features, expression, labels=SELECT):
    """Nothing if there is a reading, else the number of the reason."""
    return " or ".join(f'{number} * group(intel_gpu_exporter_feature_available{{feature=~"{features}",reason="{reason}",{labels}}} == 0)'
                       + no(expression) for reason, (number, _) in REASONS.items())


def why_series(features, expressions, labels=SELECT):
    """Nothing if there is a line, else lines without values whose names say the reason."""
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


def stat(title, description, expression, unit="short", thresholds=PLAIN, decimals=None, width=3, graph="area", features=None, empty="none", labels=SELECT):
    """One number, or why there is none."""
    instant = graph == "none"
    targets = [target(expression, title, instant)]
    if features:
        targets.append(target(why_number(features, expression, labels), title, instant))
    return panel("stat", title, description, targets, unit, thresholds,
                 {"reduceOptions": REDUCE, "colorMode": "value", "graphMode": graph, "textMode": "value", "justifyMode": "auto",
                  "orientation": "auto", "wideLayout": True, "showPercentChange": False, "percentChangeColorMode": "standard"},
                 defaults={"mappings": REASON_TEXTS if features else [], **({} if decimals is None else {"decimals": decimals})},
                 width=width, height=4, color="thresholds", empty=empty)


def tiles(title, description, targets, width=24, height=3, thresholds=(("blue", None), ("green", 0), ("orange", 1), ("red", 2)), empty="none"):
    """Words on coloured ground: the legends of what the queries find."""
    return panel("stat", title, description, [target(expression, legend, True) for expression, legend in targets], "short", thresholds,
                 {"reduceOptions": REDUCE, "colorMode": "background", "graphMode": "none", "textMode": "name", "justifyMode": "center",
                  "orientation": "auto", "wideLayout": True, "showPercentChange": False, "percentChangeColorMode": "standard", "text": {"titleSize": 16}},
                 transformations=SHORT_NAMES, width=width, height=height, color="thresholds", empty=empty)


# The lines that say why there is none have no values.
WITHOUT_VALUES = {"matcher": {"id": "byRegexp", "options": "/: (permission|kernel|hardware|suspended|disabled)$/"}, "properties": [{"id": "noValue", "value": "–"}]}
LIMITS = {"matcher": {"id": "byRegexp", "options": "/ (limit|size)$/"}, "properties": [
    {"id": "custom.lineStyle", "value": {"fill": "dash", "dash": [8, 6]}}, {"id": "custom.fillOpacity", "value": 0},
    {"id": "color", "value": {"mode": "fixed", "fixedColor": "semi-dark-red"}}]}


def series(title, description, targets, unit="short", width=12, height=8, stack=False, fill=0, maximum=None, minimum=0, legend="table", axis="",
           shade=None, features=None, labels=SELECT, empty=NOTHING, overrides=()):
    """Lines; where there is none, why. The legend is a table beside them, so that no name is cut. Those of GPUs lead to the processes."""
    links = TO_PROCESSES if any("{{name}}" in one["legendFormat"] for one in targets) else ()
    defaults = {key: value for key, value in (("min", minimum), ("max", maximum)) if value is not None}
    if shade:
        defaults["color"] = {"mode": "shades", "fixedColor": shade}
    if features:
        targets = [*targets, target(why_series(features, [one["expr"] for one in targets], labels), BY_GPU + ": {{reason}}")]
    return panel("timeseries", title, description, targets, unit, PLAIN,
                 {"legend": {"displayMode": legend, "placement": "right", "showLegend": True, "calcs": ["lastNotNull"]},
                  "tooltip": {"mode": "multi", "sort": "desc"}},
                 {"drawStyle": "line", "lineInterpolation": "linear", "lineWidth": 1, "fillOpacity": 30 if stack else fill, "showPoints": "never", "spanNulls": False,
                  "axisLabel": axis, "stacking": {"mode": "normal" if stack else "none", "group": "A"}}, defaults, [LIMITS, WITHOUT_VALUES, *overrides], SHORT_NAMES,
                 width, height, links=links, empty=empty)


def table(title, description, targets, overrides=(), transformations=None, width=12, height=8, sort=None, links=(), empty="none"):
    # Unit string: Grafana takes the text 0x56a0 for a number otherwise. Numbers have their column's unit.
    return panel("table", title, description, targets, "string", PLAIN,
                 {"showHeader": True, "cellHeight": "sm",
                  "sortBy": [{"displayName": sort, "desc": True}] if sort else []},
                 {"align": "auto", "cellOptions": {"type": "auto"}, "inspect": False, "filterable": True}, {}, overrides,
                 transformations, width, height, "thresholds", links, empty)


def bars(title, description, expression, legend, unit, thresholds, maximum=None, width=8, height=8, features=None, labels=SELECT, decimals=None):
    targets = [target(expression, legend, True)]
    if features:
        targets.append(target(why_number(features, expression, labels), "why", True))
    return panel("bargauge", title, description, targets, unit, thresholds,
                 {"reduceOptions": REDUCE, "displayMode": "gradient", "orientation": "horizontal", "showUnfilled": True,
                  "valueMode": "color", "namePlacement": "auto", "sizing": "auto", "minVizHeight": 16, "minVizWidth": 8,
                  "maxVizHeight": 300, "legend": {"showLegend": False, "displayMode": "list", "placement": "bottom", "calcs": []}},
                 defaults={"min": 0, "mappings": REASON_TEXTS if features else [], **({} if maximum is None else {"max": maximum}),
                           **({} if decimals is None else {"decimals": decimals})},
                 transformations=SHORT_NAMES, width=width, height=height, color="thresholds")


def history(title, description, targets, unit, width=24, height=10):
    """A row for each series, a cell for each moment: for as many as there are."""
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
    # Grafana asks for ${DS_PROMETHEUS} when the file is imported; from a provisioned file it takes the first Prometheus there is.
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
HOSTS = [CLUSTER, JOB, INSTANCE]


def annotation(name, expression, color, title, text):
    return {"name": name, "datasource": DATASOURCE, "enable": True, "hide": False, "iconColor": color, "expr": expression, "step": "",
            "titleFormat": title, "textFormat": text, "tagKeys": "", "useValueForTime": "false"}


ANNOTATIONS = [
    annotation("Hangs", f"group by ({GPU}) (intel_gpu_error_state{{{HOST}}} == 1)", "red", "GPU hang", "{{instance}} {{device}}"),
    annotation("Alerts", f'group by ({GPU}, alertname, severity) (ALERTS{{alertname=~"IntelGpu.*",alertstate="firing",{HOST}}})', "orange", "{{alertname}}", "{{severity}} {{instance}} {{device}}"),
    annotation("Restarts", f"changes(process_start_time_seconds{{{HOST}}}[$__rate_interval]) > 0 and on ({NODE}) intel_gpu_exporter_build_info", "blue", "Exporter restarted", "{{instance}}")]


def dashboard(uid, title, description, variables, rows, hours=1):
    """rows: (title, [panel, ...]); panels go left to right and wrap at 24 columns."""
    panels, y = [], 0
    for name, members in rows:
        panels.append({"type": "row", "title": name, "collapsed": False, "gridPos": {"h": 1, "w": 24, "x": 0, "y": y}, "panels": []})
        y, x, tallest = y + 1, 0, 0
        for member in members:
            position = member["gridPos"]
            if x + position["w"] > 24:
                x, y, tallest = 0, y + tallest, 0
            position.update(x=x, y=y)
            x, tallest = x + position["w"], max(tallest, position["h"])
            panels.append(member)
        y += tallest
    for number, one in enumerate(panels, 1):
        one["id"] = number
    kinds = sorted({one["type"] for one in panels} - {"row"})
    more = [price_variable()] if "$price" in json.dumps(panels) else []
    return {"__inputs": [{"name": "DS_PROMETHEUS", "label": "Prometheus", "description": "", "type": "datasource", "pluginId": "prometheus", "pluginName": "Prometheus"}],
            "__elements": {},
            "__requires": [{"type": "grafana", "id": "grafana", "name": "Grafana", "version": "11.0.0"},
                           {"type": "datasource", "id": "prometheus", "name": "Prometheus", "version": "1.0.0"},
                           *({"type": "panel", "id": kind, "name": kind, "version": ""} for kind in kinds)],
            "uid": uid, "title": title, "description": description, "tags": ["intel-gpu"], "schemaVersion": 39, "version": 1,
            "editable": True, "graphTooltip": 1, "refresh": "30s", "time": {"from": f"now-{hours}h", "to": "now"}, "timezone": "browser",
            "fiscalYearStartMonth": 0, "weekStart": "", "annotations": {"list": ANNOTATIONS}, "timepicker": {}, "liveNow": False,
            "links": [{"type": "dashboards", "title": "Intel GPU", "tags": ["intel-gpu"], "asDropdown": False, "includeVars": True, "keepTime": True,
                       "targetBlank": False, "icon": "external link", "tooltip": "", "url": ""}],
            "templating": {"list": [datasource_variable(), *(variable(*one) for one in variables), *more]}, "panels": panels}


def to(uid, title):
    """From a row of a table."""
    return [{"title": title, "targetBlank": False,
             "url": f"/d/{uid}?var-datasource=${{datasource}}&var-instance=${{__data.fields.instance}}&${{__url_time_range}}"}]


# From a line: in the tooltip that stays when it is clicked, it says which device of which host the line is.
TO_PROCESSES = [{"title": "Processes on ${__field.labels.instance}, ${__field.labels.device}", "targetBlank": False,
                 "url": "/d/intel-gpu-processes?var-datasource=${datasource}&var-instance=${__field.labels.instance}&var-device=${__field.labels.device}&${__url_time_range}"}]
REGEX_NAME = [{"type": "regex", "options": {"pattern": r".*\[([^\]]*)\].*", "result": {"text": "$1", "index": 0}}}]
REGEX_CARD = [{"type": "regex", "options": {"pattern": r"card(\d+)", "result": {"text": "#$1", "index": 0}}}]
WHAT_TO_DO = [{"type": "value", "options": {
    "permission": {"text": "permission: intel-gpu-exporter doctor on that host names the command", "index": 0},
    "kernel": {"text": "kernel: this driver, its version or a module lacks it; intel-gpu-exporter doctor names what brings it", "index": 1},
    "hardware": {"text": "hardware: the device has none", "index": 2},
    "suspended": {"text": "suspended: the GPU sleeps and is not woken to be read", "index": 3},
    "disabled": {"text": "disabled: an option of the exporter turns it off", "index": 4}}}]


def mapped(name, mappings, rename=None, width=None):
    result = column(name, rename=rename, width=width)
    result["properties"].append({"id": "mappings", "value": mappings})
    return result


def health_banner(labels=SELECT):
    """First of all: is something wrong, and where."""
    down = f"topk(4, 2 * ({UP} == bool 0) > 0)"
    hung = f"max by ({GPU}) (intel_gpu_error_state{{{labels}}}) == 1"
    slow = f'max by ({GPU}) (intel_gpu_throttled{{reason="any",{labels}}}) == 1'
    blind = f"group by ({NODE}) ({unread(HOST)})"
    asleep = f"sum(intel_gpu_runtime_suspended{{{labels}}}) > 0"
    alerts = f'count(ALERTS{{alertname=~"IntelGpu.*",alertstate="firing",{HOST}}})'
    return ("Health", [tiles("Health", "Hosts that do not answer, GPUs that hung or are slowed down, hosts that the exporter may not read in full. At most four of a kind: the tables below have all.", [
        (down, "{{instance}} does not answer"),
        (f"2 * topk(4, {named(hung, labels)})", "hang: " + BY_GPU),
        (f'2 * count_values("n", {alerts})', "alerts that fire: {{n}}"),
        (f"topk(4, {named(slow, labels)})", "slowed down: " + BY_GPU),
        (f"topk(4, {blind})", "{{instance}}: not all may be read"),
        (f'-1 * count_values("n", {asleep})', "GPUs asleep: {{n}}"),
        (f"0 * group(intel_gpu_exporter_build_info{{{HOST}}}) unless on () ({DOWN} or {hung} or {slow} or {blind} or {alerts})", "nothing is wrong")],
        empty="no exporter answers: another data source, job or host?")])


def why_row(labels, width=24):
    return ("Why panels are empty", [table(
        "Readings that are not there", "What the machines do not give, and what to do about it.", [
            target(f"group by ({GPU}, feature, reason) ({missing('.*', labels)})", instant=True, table=True)],
        [mapped("Reason", WHAT_TO_DO), column("Host", width=180), column("GPU", width=150), column("Feature", width=200)],
        [organize(["Time", "Value", "cluster", "job"], ["instance", "device", "feature", "reason"],
                  {"instance": "Host", "device": "GPU", "feature": "Feature", "reason": "Reason"})], width, 8, empty="every reading is there")])


def overview():
    def engine_class(name):
        title, color = CLASSES[name]
        return series(title, f"Share of the {title.lower()} engines of a GPU that was busy. The eight GPUs that are busiest now.",
                      [target(named(top(busy(f'{SELECT},class="{name}"'))), BY_GPU)], "percentunit", 12, 8, maximum=1, shade=color,
                      features="engine_busy", empty="no GPU has such engines, or none can be read")

    def with_limit(expression, limit, keys, suffix="", word="limit"):
        chosen = top(expression, keys, 4)
        return [target(named(chosen), BY_GPU + suffix),
                target(named(f"({limit}) and on ({keys}) ({chosen})"), BY_GPU + suffix + " " + word)]

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
    return dashboard("intel-gpu-overview", "Intel GPU overview", "Intel GPUs as seen by intel-gpu-exporter.", [*HOSTS, DEVICE], [
        health_banner(),
        ("Now", [
            stat("GPUs", "Intel GPUs that are watched.", f"sum(intel_gpu_exporter_devices{{{HOST}}})", graph="none"),
            stat("Video now", "The highest share of a GPU's video engines that is busy.",
                 f"max({busy(VIDEO)})", "percentunit", BUSY, 0, features="engine_busy"),
            stat("Render now", "The highest share of a GPU's render engines that is busy.",
                 f"max({busy(RENDER)})", "percentunit", BUSY, 0, features="engine_busy"),
            stat("GPU power", "Sum over the GPUs: the gpu domain of an integrated one, the whole card where the driver tells it, else its package.",
                 f"sum({watts(SELECT)})", "watt", decimals=0, features="power"),
            stat("Hottest", "The highest temperature; for an integrated GPU the CPU package's.",
                 f"max(intel_gpu_temperature_celsius{{{SELECT}}})", "celsius", HOT, 0, features="temperature"),
            stat("Hangs", HANGS, f"sum(intel_gpu_error_state{{{SELECT}}})", thresholds=BAD, graph="none", features="error_state"),
            stat("Energy", "What the GPUs used in the time that is shown.", f"sum({kwh(SELECT)})", "kwatth", decimals=2, graph="none", features="power"),
            stat("Cost", "The same times the price of a kWh, which is set above; in its currency.", f"sum({kwh(SELECT)}) * $price", "none", decimals=2, graph="none", features="power"),
            table("Every GPU", "What each GPU is, and how it is now.", [
                target(f"group by ({GPU}, card, render_node, driver, device_id, name, kind) (intel_gpu_info{{{SELECT}}})", instant=True, table=True),
                target(f"max by ({GPU}) {busy(VIDEO)}", instant=True, table=True),
                target(f"max by ({GPU}) {busy(RENDER)}", instant=True, table=True),
                target(f"{used} / {size}", instant=True, table=True),
                target(watts(SELECT), instant=True, table=True),
                target(f"max by ({GPU}) (intel_gpu_temperature_celsius{{{SELECT}}})", instant=True, table=True),
                target(f"max by ({GPU}) (intel_gpu_runtime_suspended{{{SELECT}}})", instant=True, table=True),
                target(f"count by ({GPU}) ({unread(OF_A_GPU)})", instant=True, table=True)],
                [*(column(name, "percentunit", BUSY, gauge=True, width=110) for name in ("Video", "Render", "VRAM")), column("Power", "watt", decimals=0, width=80),
                 column("Temperature", "celsius", HOT, decimals=0, width=110),
                 mapped("State", [{"type": "value", "options": {"0": {"text": "awake", "index": 0}, "1": {"text": "asleep", "color": "blue", "index": 1}}}], width=80),
                 column("Unread", "short", [("text", None), ("orange", 1)], width=80), mapped("Name", REGEX_NAME, width=170), mapped("No.", REGEX_CARD, width=60), column("Device", width=120),
                 column("Driver", width=70), column("Kind", width=100), column("Id", width=80), column("Node", width=110),
                 column("instance", rename="Host", width=150, links=to("intel-gpu-processes", "Processes"))],
                [{"id": "merge", "options": {}},
                 organize(["Time", "cluster", "job", "Value #A"],
                          ["instance", "name", "card", "Value #B", "Value #C", "Value #D", "Value #E", "Value #F", "Value #G", "Value #H", "device", "driver", "kind", "device_id", "render_node"],
                          {"device": "Device", "name": "Name", "card": "No.", "driver": "Driver", "kind": "Kind", "device_id": "Id", "render_node": "Node",
                           "Value #B": "Video", "Value #C": "Render", "Value #D": "VRAM", "Value #E": "Power", "Value #F": "Temperature", "Value #G": "State", "Value #H": "Unread"})], 24, 7)]),
        ("Engines", [
            *(engine_class(name) for name in CLASSES),
            history("Each engine", "Share of the time each engine was busy; a row for each, of the sixteen busiest. Where the PMU is not read: the visible processes, by class.",
                    [target(named(top(engines, GPU + ", gt, engine", 16)), BY_GPU + " · {{engine}}"), target(why_series("engine_busy", [engines]), BY_GPU + ": {{reason}}")],
                    "percentunit", 12, 8)]),
        ("Frequency and power saving", [
            series("Frequency and its limit", "Frequency of each GT now, and the highest it may take (dashed); the four fastest. A parked GT shows 0.",
                   with_limit(actual, highest, GPU + ", gt", " · gt{{gt}}"), "hertz", features="frequency"),
            series("RC6", "Share of the time in the power-saving state; the eight GTs that sleep least.",
                   [target(named(top(f"max by ({GPU}, gt) (intel_gpu_rc6_residency_ratio{{{SELECT}}})", GPU + ", gt", 8, "bottomk")), BY_GPU + " · gt{{gt}}")], "percentunit", maximum=1, features="rc6"),
            timeline("Throttled by reason", "Why the frequency was held down, and of which GPU. Reasons that did not occur in this time have no row.", [
                target(named(f"({reasons} or max by ({GPU}, reason) (intel_gpu_throttled{{{SELECT}}})) and on ({GPU}, reason) ({held})"), BY_GPU + ": {{reason}}"),
                target(f'0 * group(intel_gpu_throttled{{{SELECT}}}) unless on () ({held})', "nothing held a frequency down"),
                target(why_series("throttle_reasons", [f"intel_gpu_throttled{{{SELECT}}}"]), BY_GPU + ": {{reason}}")]),
            series("PCIe link", "Width of the link between slot and card, and its maximum (dashed): below it the card sits in the wrong slot, or badly.",
                   with_limit(current, widest, GPU), "short", axis="lanes", features="pcie_link")]),
        ("Power and temperature", [
            series("Power of the GPUs", "Mean power over each window, and its limit (dashed), where one is set; the four GPUs that take most.",
                   with_limit(watts(SELECT), allowed, GPU), "watt", features="power"),
            series("Power of the machine around them", "RAPL domains beside an integrated GPU: package and psys contain the GPU; psys is the whole board.",
                   [target(named(top(f'max by ({GPU}, domain) (intel_gpu_power_watts{{source!="hwmon",domain!="gpu",{SELECT}}})', GPU + ", domain")), "{{domain}} · {{instance}}")],
                   "watt", features="power", empty="no integrated GPU with RAPL: a card's watts are beside this"),
            series("Temperature", "By sensor, the eight hottest. Integrated: the CPU package.",
                   [target(named(top(f'max by ({GPU}, sensor) (intel_gpu_temperature_celsius{{sensor!~"vram_ch_.*",{SELECT}}})', GPU + ", sensor")), BY_GPU + " · {{sensor}}")],
                   "celsius", minimum=None, features="temperature"),
            series("Fans", "0 while a fan stands still; the eight fastest.",
                   [target(named(top(f"max by ({GPU}, fan) (intel_gpu_fan_speed_rpm{{{SELECT}}})", GPU + ", fan")), BY_GPU + " · fan {{fan}}")], "rotrpm", features="fan")]),
        ("Memory", [
            series("Device memory in use", "Memory of the cards, and its size (dashed); the four that use most.", with_limit(used, size, GPU, word="size"), "bytes", features="memory_used"),
            series("Memory bandwidth", "What goes over the memory controllers beside an integrated GPU, whoever moves it.",
                   [target(top(f"sum by ({NODE}, direction) (rate(intel_gpu_memory_bandwidth_bytes_total{{{SELECT}}}[$__rate_interval]))", NODE + ", direction"), "{{direction}} · {{instance}}")],
                   "Bps", features="memory_bandwidth")]),
        why_row(SELECT)])


def processes():
    chosen = SELECT + ',comm=~"$comm"'
    who = GPU + ", pid, comm"
    in_containers = '{container_id!=""}'
    rate = f"rate(intel_gpu_process_engine_busy_seconds_total{{{chosen}}}[$__rate_interval])"
    resident = f'sum by ({who}) (intel_gpu_process_memory_bytes{{state="resident",{chosen}}})'
    features = "processes|process_engine_time"
    nobody = "no process holds a GPU, or none may be seen"

    def info(label, of=""):
        return f"* on ({who}) group_left ({label}) group by ({who}, {label}) (intel_gpu_process_info{of})"

    def share(name):
        return f'sum by ({who}) (intel_gpu_process_engine_busy_ratio{{class="{name}",{chosen}}})'

    def top_of(name):
        title, color = CLASSES[name]
        # A process that uses two GPUs: the larger share.
        return series(title, "The eight largest, as shares of the class's engines.",
                      [target(top(f"max by ({PROCESS}) ({share(name)} > 0)", PROCESS), BY_PROCESS)], "percentunit", 12, 8, shade=color, features=features, empty="no process used them")

    def by(title, description, expression, keys, legend, **more):
        return series(title, description, [target(top(expression, keys), legend)], "short", 12, 8, stack=True, axis="engines", features=features, empty=nobody, **more)

    busy_somewhere = f"sum by ({who}) (intel_gpu_process_engine_busy_ratio{{{chosen}}}) > 0 or {resident} > 0"
    return dashboard("intel-gpu-processes", "Intel GPU processes", "Who uses which engine and how much memory.", [*HOSTS, DEVICE, PROGRAM], [
        health_banner(),
        ("Now", [
            stat("Processes", "Processes that hold a client of a GPU and are visible to the exporter. One that uses two GPUs is one.", f"sum({processes_of(chosen)})", width=4, features=features),
            stat("Without series", "The smallest recent users over --collector.fdinfo.max-processes: counted for each GPU, not listed.", f"sum(intel_gpu_processes_dropped{{{SELECT}}})", thresholds=[("green", None), ("orange", 1)], width=4, graph="none", features=features),
            bars("Largest users of video engines", "Processes, by the largest share of a GPU's video engines.",
                 f'topk(3, max by ({PROCESS}) (intel_gpu_process_engine_busy_ratio{{class="video",{chosen}}} > 0))', BY_PROCESS, "percentunit", BUSY, 1, 8, 4, features, decimals=0),
            bars("Largest users of memory", "Processes that have most GPU memory.",
                 f"topk(3, sum by ({PROCESS}) ({resident} > 0))", BY_PROCESS, "bytes", PLAIN, None, 8, 4, "processes|process_memory", decimals=1),
            table("Every process", "Engines as shares of their class; memory that is resident. Those that neither work nor have memory are left out.", [
                *(target(named(f"{share(name)} > 0"), instant=True, table=True) for name in ("video", "video_enhance", "render", "compute")),
                target(named(f"{resident} > 0"), instant=True, table=True),
                target(named(f"sum by ({who}) (rate(intel_gpu_process_cpu_seconds_total{{{chosen}}}[$__rate_interval])) and ({busy_somewhere})"), instant=True, table=True)],
                [*(column(name, "percentunit", BUSY, gauge=True, width=130) for name in ("Video", "Enhance", "Render", "Compute")),
                 column("Memory", "bytes", decimals=1, width=100), column("CPU", "percentunit", decimals=0, width=80),
                 mapped("GPU", REGEX_NAME, width=170), mapped("No.", REGEX_CARD, width=60), column("Device", width=120), column("Pid", width=90)],
                [{"id": "merge", "options": {}},
                 organize(["Time", "cluster", "job"], ["instance", "comm", "pid", "name", "card", "Value #A", "Value #B", "Value #C", "Value #D", "Value #E", "Value #F", "device"],
                          {"instance": "Host", "device": "Device", "comm": "Program", "pid": "Pid", "name": "GPU", "card": "No.", "Value #A": "Video", "Value #B": "Enhance",
                           "Value #C": "Render", "Value #D": "Compute", "Value #E": "Memory", "Value #F": "CPU"})], 24, 10, "Video", empty=nobody)]),
        ("Engines", [top_of(name) for name in ("video", "video_enhance", "render", "compute")]),
        ("Memory", [
            series("Resident GPU memory", "The eight largest. Buffers that are shared count in full for everybody.",
                   [target(top(f"sum by ({PROCESS}) ({resident} > 0)", PROCESS), BY_PROCESS)], "bytes", features="processes|process_memory", empty=nobody),
            series("Memory by region", "Resident memory of all processes by region; the eight largest.",
                   [target(named(top(f'sum by ({GPU}, memory_region) (intel_gpu_process_memory_bytes{{state="resident",{chosen}}}) > 0', GPU + ", memory_region")), BY_GPU + " · {{memory_region}}")],
                   "bytes", stack=True, features="processes|process_memory", empty=nobody)]),
        ("By user, container, program", [
            by("Engine time by user", "Engines that were busy for each user's processes; the eight largest.", f"sum by (user) ({rate} {info('user')}) > 0", "user", "{{user}}"),
            by("Engine time by container", "Engines that were busy for each container; nothing of processes outside of containers.",
               f'label_replace(sum by (container_id) ({rate} {info("container_id", in_containers)}) > 0, "container", "$1", "container_id", "(.{{12}}).*")', "container_id", "{{container}}"),
            by("Engine time by program", "Engines that were busy for all processes of a name; the eight largest.", f"sum by (comm) ({rate}) > 0", "comm", "{{comm}}"),
            table("What kind of process it is", "User, unit, container and pod.", [target(
                f'group by ({PROCESS}, user, systemd_unit, container_id, pod_uid) (label_replace(label_replace(intel_gpu_process_info{{{chosen}}}, "container_id", "$1", "container_id", "(.{{12}}).*"), "systemd_unit", "$1…", "systemd_unit", "(.{{30}}).+"))',
                instant=True, table=True)],
                  [column("Host", width=140), column("Program", width=160), column("Pid", width=90), column("User", width=120),
                   column("Container", width=150)], [organize(["Time", "Value", "cluster", "job"], ["instance", "comm", "pid", "user", "systemd_unit", "pod_uid", "container_id"],
                                {"instance": "Host", "comm": "Program", "pid": "Pid", "user": "User", "systemd_unit": "Unit",
                                 "pod_uid": "Pod", "container_id": "Container"})], 12, empty=nobody)]),
        why_row(SELECT)])


def rack():
    video = HOST + ',class="video"'
    node_busy = f"avg by ({NODE}) {busy(video)}"
    # By GPU: one that is known by fdinfo only must not take from the engines of the others.
    free = (f'(sum by ({NODE}) (count by ({GPU}) (intel_gpu_engine_busy_seconds_total{{source="pmu",{video}}})'
            f" - sum by ({GPU}) (rate(intel_gpu_engine_busy_seconds_total{{{video}}}[$__rate_interval]))))")
    slow = f'max by ({GPU}) (intel_gpu_throttled{{reason="any",{HOST}}}) == 1'
    hung = f"max by ({GPU}) (intel_gpu_error_state{{{HOST}}}) == 1"
    power = f"sum by ({NODE}) {watts(HOST)}"
    held = processes_of(HOST)
    return dashboard("intel-gpu-rack", "Intel GPU broadcast rack", "Many hosts that encode: how full they are, which are worst, what is left.", HOSTS, [
        health_banner(HOST),
        ("The rack", [
            tiles("Hosts up", "Exporters that answer, of those that should. Red, with names, if one does not.", [
                (f'2 * count_values("up", sum({UP})) * on () group_left (all) count_values("all", count({UP})) * on () group_left () (count({UP}) > bool sum({UP}))', "{{up}} of {{all}}"),
                (f"topk(3, 2 * ({UP} == bool 0) > 0)", "{{instance}} is down")], 8, 4, (("green", None), ("red", 1)), "no exporter answers"),
            tiles("Throttled", "GPUs whose frequency is held down now, and of which hosts.", [
                (f"0 * group(intel_gpu_throttled{{{HOST}}}) unless on () ({slow})", "none"),
                (f'count_values("n", count({slow}))', "GPUs: {{n}}"),
                (f"topk(3, {named(slow, HOST)})", BY_GPU)], 8, 4, (("green", None), ("orange", 1)), "no reading"),
            tiles("Hangs", HANGS, [
                (f"0 * group(intel_gpu_error_state{{{HOST}}}) unless on () ({hung})", "none"),
                (f"topk(3, {named(hung, HOST)})", BY_GPU)], 8, 4, (("green", None), ("red", 1)), "no reading"),
            stat("GPUs", "Intel GPUs that are watched.", f"sum(intel_gpu_exporter_devices{{{HOST}}})", graph="none"),
            stat("Video busy", "Mean over all GPUs.", f"avg({busy(video)})", "percentunit", BUSY, 0, features="engine_busy", labels=HOST),
            stat("Free video", "Engines' worth of video work that the GPUs could still take; GPUs that sleep or have no PMU access do not count.", f"sum({free})", "short", [("red", None), ("orange", 2), ("green", 5)], 1, features="engine_busy", labels=HOST),
            stat("Processes", "Processes that hold a GPU; one that uses two GPUs is one.", f"sum({held})", "short", features="processes|process_engine_time", labels=HOST),
            stat("GPU power", "Sum over all GPUs.", f"sum({watts(HOST)})", "watt", decimals=1, features="power", labels=HOST),
            stat("Hottest", "The highest temperature of all.", f"max(intel_gpu_temperature_celsius{{{HOST}}})", "celsius", HOT, 0, features="temperature", labels=HOST),
            stat("Energy", "What the GPUs used in the time that is shown.", f"sum({kwh(HOST)})", "kwatth", decimals=2, graph="none", features="power", labels=HOST),
            stat("Cost", "The same times the price of a kWh, which is set above; in its currency.", f"sum({kwh(HOST)}) * $price", "none", decimals=2, graph="none", features="power", labels=HOST),
            history("Video engines by host", "A row for each host: the share of its video engines that was busy. Without colour: asleep, no right to read it, or down.",
                    [target(f"{node_busy} or NaN * group by ({NODE}) ({UP})", BY_HOST)], "percentunit", 24, 14),
            table("Every host", "All hosts, those that sleep, may not be read or do not answer, too.", [
                target(f"max by ({NODE}) ({UP})", instant=True, table=True),
                target(f"max by ({NODE}) (intel_gpu_exporter_devices{{{HOST}}})", instant=True, table=True),
                target(node_busy, instant=True, table=True), target(free, instant=True, table=True), target(power, instant=True, table=True),
                target(f"max by ({NODE}) (intel_gpu_temperature_celsius{{{HOST}}})", instant=True, table=True),
                target(f"{held} > 0", instant=True, table=True),
                target(f"count by ({NODE}) ({slow})", instant=True, table=True),
                target(f"sum by ({NODE}) (intel_gpu_runtime_suspended{{{HOST}}}) > 0", instant=True, table=True),
                target(f"count by ({NODE}) ({unread(HOST)})", instant=True, table=True)],
                [column("instance", rename="Host", width=180, links=to("intel-gpu-overview", "Overview")),
                 mapped("Answers", [{"type": "value", "options": {"0": {"text": "no", "color": "red", "index": 0}, "1": {"text": "yes", "color": "green", "index": 1}}}], width=90),
                 column("Video", "percentunit", BUSY, gauge=True, width=180), column("Free engines", "short", decimals=1), column("Power", "watt", decimals=0), column("Temperature", "celsius", HOT, decimals=0),
                 column("Throttled", "short", [("text", None), ("orange", 1)]), column("Unread", "short", [("text", None), ("orange", 1)])],
                [{"id": "merge", "options": {}},
                 organize(["Time", "cluster", "job"], ["instance", *(f"Value #{letter}" for letter in "ABCDEFGHIJ")],
                          {"Value #A": "Answers", "Value #B": "GPUs", "Value #C": "Video", "Value #D": "Free engines", "Value #E": "Power", "Value #F": "Temperature",
                           "Value #G": "Processes", "Value #H": "Throttled", "Value #I": "Asleep", "Value #J": "Unread"})], 24, 22, "Video")]),
        ("Worst and best", [
            bars("Fullest hosts", "The eight hosts whose video engines are busiest.", f"topk(8, {node_busy})", BY_HOST, "percentunit", BUSY, 1, features="engine_busy", labels=HOST, decimals=0),
            bars("Most headroom", "The eight hosts that could take most, in video engines; GPUs that sleep or have no PMU access do not count.", f"topk(8, {free})", BY_HOST, "short", [("red", None), ("orange", 0.5), ("green", 1)], features="engine_busy", labels=HOST, decimals=1),
            bars("Hottest hosts", "The eight hosts with the hottest sensor.", f"topk(8, max by ({NODE}) (intel_gpu_temperature_celsius{{{HOST}}}))", BY_HOST, "celsius", HOT, 110, features="temperature", labels=HOST),
            table("Alerts", "Pending and firing alerts of this exporter's rules.", [
                target(f'sum by (alertname, severity, alertstate, instance, device) (ALERTS{{alertname=~"IntelGpu.*",{HOST}}})', instant=True, table=True)],
                [column("instance", rename="Host", links=to("intel-gpu-overview", "Overview"))],
                [organize(["Time", "Value"], ["alertname", "severity", "alertstate", "instance", "device"],
                          {"alertname": "Alert", "severity": "Severity", "alertstate": "State", "device": "Device"})], 24, 6, empty="no alert fires or is pending")]),
        ("Over time", [
            density("Distribution of video load", "How many GPUs are how busy: darker means more of them. Readable for thousands.", busy(video), "percentunit", empty="no GPU is awake and may be read"),
            series("Video load", "Mean, and the fullest GPU.", [target(f"avg({busy(video)})", "mean"), target(f"max({busy(video)})", "fullest")], "percentunit", 12, maximum=1, shade=CLASSES["video"][1], features="engine_busy", labels=HOST),
            series("Power by host", "GPU watts: all hosts, and the seven that take most.", [target(f"sum({power})", "all hosts"), target(top(power, NODE, 7), BY_HOST)], "watt", 12, features="power", labels=HOST),
            series("Processes on the GPUs", "All hosts, and the seven that have most: encoders, and everything else that holds a GPU. One that uses two GPUs is one.",
                   [target(f"sum({held})", "all hosts"), target(top(held, NODE, 7), BY_HOST)], "short", 12, axis="processes", features="processes|process_engine_time", labels=HOST)]),
        why_row(HOST + ',reason!="hardware"')], hours=3)


def health():
    def by_host(title, description, expression, unit, axis="", **more):
        return series(title, description, [target(top(f"max by ({NODE}) ({expression})", NODE), BY_HOST)], unit, 12, axis=axis, **more)

    def ours(metric):
        return f"{metric}{{{HOST}}} {OURS}"

    failing = f"intel_gpu_scrape_collector_success{{{HOST}}} == bool 0"
    short = f"intel_gpu_exporter_client_walk_complete{{{HOST}}} == bool 0"
    return dashboard("intel-gpu-exporter-health", "Intel GPU exporter health", "Does the exporter see what it should, and what does it cost.", HOSTS, [
        health_banner(HOST),
        ("Now", [
            stat("Exporters up", "Those that answered the last scrape.", f"sum({UP})", graph="none", width=8),
            stat("Features missing", "Features that a machine could have and the exporter may not or cannot read: permission or kernel.",
                 f"sum({unread(HOST, '== bool')})"
                 f" or 0 * count(intel_gpu_exporter_build_info{{{HOST}}})", thresholds=[("green", None), ("orange", 1)], width=8),
            stat("Slowest scrape", "As Prometheus measured it.", f"max({ours('scrape_duration_seconds')})", "s", [("green", None), ("orange", 1), ("red", 5)], 3, 8),
            stat("Collectors failing", "Collectors that did not come through the last scrape.", f"sum({failing})", thresholds=BAD, graph="none", width=8),
            stat("Largest page", "Samples of the largest page.", f"max({ours('scrape_samples_scraped')})", "short", decimals=0, width=8),
            stat("Memory", "Resident memory of the largest exporter.", f"max({ours('process_resident_memory_bytes')})", "bytes", decimals=1, width=8)]),
        why_row(HOST),
        ("Versions", [
            table("Versions", "One line for each exporter.", [target(f"intel_gpu_exporter_build_info{{{HOST}}}", instant=True, table=True)],
                  [], [organize(["Time", "Value", "__name__", "job", "cluster"], ["instance", "version", "revision", "compiler"],
                                {"instance": "Host", "version": "Version", "revision": "Revision", "compiler": "Compiler"})], 24, 8)]),
        ("Scrapes", [
            by_host("Scrape duration", "As Prometheus measured it; the eight slowest.", ours("scrape_duration_seconds"), "s"),
            series("Time by collector", "The slowest host of each collector; the eight slowest collectors.", [target(top(f"max by (collector) (intel_gpu_scrape_collector_duration_seconds{{{HOST}}})", "collector"), "{{collector}}")], "s"),
            by_host("Walk over /proc", "Time the search for clients of the GPUs takes; it grows with the number of processes. The eight slowest.", f"intel_gpu_exporter_client_walk_duration_seconds{{{HOST}}}", "s", empty="no walk: every GPU sleeps, or the collector is off"),
            by_host("Samples by page", "Series that each host has; the eight largest.", ours("scrape_samples_scraped"), "short", "samples"),
            series("HTTP answers by code", "Per second, over all hosts.", [target(f"sum by (code) (rate(intel_gpu_exporter_http_requests_total{{{HOST}}}[$__rate_interval])) > 0", "{{code}}")], "reqps"),
            timeline("Collectors that fail", "Those that did not come through a scrape; without one a single green row.", [
                target(f"max by (collector) ({failing}) and on (collector) max by (collector) (1 - min_over_time(intel_gpu_scrape_collector_success{{{HOST}}}[$__range] @ end())) > 0", "{{collector}}"),
                target(f"max({failing})", "any collector")]),
            timeline("Walks that were cut short", "The walk over /proc did not see every process within its time; without one a single green row.", [
                target(f"max by ({NODE}) ({short}) and on ({NODE}) max by ({NODE}) (1 - min_over_time(intel_gpu_exporter_client_walk_complete{{{HOST}}}[$__range] @ end())) > 0", BY_HOST),
                target(f"max({short})", "any host")], empty="no walk: every GPU sleeps, or the collector is off"),
            by_host("Client blocks skipped", "Fdinfo blocks that could not be understood.", f"intel_gpu_exporter_client_blocks_skipped{{{HOST}}} > 0", "short", "blocks", empty="none was skipped"),
            by_host("Processes without series", "Over --collector.fdinfo.max-processes.", f"sum by ({NODE}) (intel_gpu_processes_dropped{{{HOST}}}) > 0", "short", "processes", empty="every process has its series")]),
        ("What it costs", [
            by_host("CPU", "Share of one processor; the eight largest.", f"rate(process_cpu_seconds_total{{{HOST}}}[$__rate_interval]) {OURS}", "percentunit"),
            by_host("Resident memory", "Of each exporter; the eight largest.", ours("process_resident_memory_bytes"), "bytes"),
            by_host("Open files", "File descriptors, perf events among them; the eight largest.", ours("process_open_fds"), "short", "files")])])


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
    for name, content in {"overview": overview, "processes": processes, "rack": rack, "exporter-health": health}.items():
        (folder / f"{name}.json").write_text(json.dumps(content(), indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
