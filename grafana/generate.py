#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the dashboards beside it: grafana/generate.py [FOLDER]. A test compares them with what is committed.

Panels and variables are written the way Grafana 11 and 12 save them; the helpers below keep them alike.
"""
import json
import pathlib
import sys

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
SELECT = 'instance=~"$instance",device=~"$device"'
HOST = 'instance=~"$instance"'
BY_GPU = "{{instance}} {{device}}"
BY_PROCESS = "{{instance}} {{comm}} {{pid}}"
BUSY = [("green", None), ("orange", 0.8), ("red", 0.95)]
HOT = [("green", None), ("orange", 85), ("red", 95)]
PLAIN = [("green", None)]
BAD = [("green", None), ("red", 1)]
HANGS = ("GPUs whose kernel driver holds the capture of a hang. Of i915 GPUs only those count whose capture the exporter may"
         " read: CAP_DAC_READ_SEARCH (docs/runbook.md#intelgpuhang). No data: it can be told of none.")


def busy(labels):
    """Share of the class's engines that was busy. xe counts by PMU or by fdinfo: the sum is the whole. Without PMU,
    fdinfo's ratio already is the share."""
    keys = "instance, device, class"
    return (f"(clamp_max(sum by ({keys}) (rate(intel_gpu_engine_busy_seconds_total{{{labels}}}[$__rate_interval]))"
            f' / count by ({keys}) (intel_gpu_engine_busy_seconds_total{{source="pmu",{labels}}}), 1)'
            f' or max by ({keys}) (intel_gpu_engine_busy_ratio{{source="fdinfo",{labels}}}))')


def watts(labels):
    return (f'(max by (instance, device) (intel_gpu_power_watts{{domain=~"gpu|card",{labels}}})'
            f' or max by (instance, device) (intel_gpu_power_watts{{domain="package",source="hwmon",{labels}}}))')


def target(expression, legend="__auto", instant=False, ref="A", table=False):
    result = {"datasource": DATASOURCE, "editorMode": "code", "expr": expression, "refId": ref, "legendFormat": legend,
              "range": not instant, "instant": instant}
    if table:
        result["format"] = "table"
    return result


def panel(kind, title, description, targets, unit="short", thresholds=PLAIN, options=None, custom=None, defaults=None,
          overrides=(), transformations=None, width=8, height=8, color="palette-classic", links=()):
    if isinstance(targets, str):
        targets = [target(targets)]
    for index, one in enumerate(targets):
        one["refId"] = "ABCDEFGHIJ"[index]
    field = {"unit": unit, "color": {"mode": color}, "mappings": [],
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


def stat(title, description, expression, unit="short", thresholds=PLAIN, decimals=None, legend="__auto", width=4, graph="area", text="auto", instant=False):
    return panel("stat", title, description, [target(expression, legend, instant=instant)], unit, thresholds,
                 {"reduceOptions": REDUCE, "colorMode": "value", "graphMode": graph, "textMode": text, "justifyMode": "auto",
                  "orientation": "auto", "wideLayout": True, "showPercentChange": False, "percentChangeColorMode": "standard"},
                 defaults=None if decimals is None else {"decimals": decimals}, width=width, height=4, color="thresholds")


def series(title, description, targets, unit="short", width=8, height=8, stack=False, fill=0, maximum=None, minimum=0, legend="list", thresholds=PLAIN):
    defaults = {key: value for key, value in (("min", minimum), ("max", maximum)) if value is not None}
    return panel("timeseries", title, description, targets, unit, thresholds,
                 {"legend": {"displayMode": "list" if legend == "hidden" else legend, "placement": "bottom", "showLegend": legend != "hidden", "calcs": ["lastNotNull", "max"] if legend == "table" else []},
                  "tooltip": {"mode": "multi", "sort": "desc"}},
                 {"drawStyle": "line", "lineInterpolation": "linear", "lineWidth": 1, "fillOpacity": 30 if stack else fill, "showPoints": "never", "spanNulls": False,
                  "stacking": {"mode": "normal" if stack else "none", "group": "A"}}, defaults, width=width, height=height)


def table(title, description, targets, overrides=(), transformations=None, width=12, height=8, sort=None, links=()):
    # Unit string: Grafana takes the text 0x56a0 for a number otherwise. Numbers have their column's unit.
    return panel("table", title, description, targets, "string", PLAIN,
                 {"showHeader": True, "cellHeight": "sm",
                  "sortBy": [{"displayName": sort, "desc": True}] if sort else []},
                 {"align": "auto", "cellOptions": {"type": "auto"}, "inspect": False, "filterable": True}, {}, overrides,
                 transformations, width, height, "thresholds", links)


def bars(title, description, expression, legend, unit, thresholds, maximum=None, width=8, height=8):
    return panel("bargauge", title, description, [target(expression, legend, instant=True)], unit, thresholds,
                 {"reduceOptions": REDUCE, "displayMode": "gradient", "orientation": "horizontal", "showUnfilled": True,
                  "valueMode": "color", "namePlacement": "auto", "sizing": "auto", "minVizHeight": 16, "minVizWidth": 8,
                  "maxVizHeight": 300, "legend": {"showLegend": False, "displayMode": "list", "placement": "bottom", "calcs": []}},
                 defaults={"min": 0, **({} if maximum is None else {"max": maximum})}, width=width, height=height, color="thresholds")


def history(title, description, expression, legend, unit, thresholds, width=24, height=10):
    return panel("status-history", title, description, [target(expression, legend)], unit, thresholds,
                 {"showValue": "never", "rowHeight": 0.9, "colWidth": 1,
                  "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
                  "tooltip": {"mode": "single", "sort": "none"}},
                 {"lineWidth": 0, "fillOpacity": 90}, {"min": 0, "max": 1, "decimals": 0}, width=width, height=height, color="continuous-GrYlRd")


def timeline(title, description, expression, legend, width=8, height=8):
    result = panel("state-timeline", title, description, [target(expression, legend)], "short", BAD,
                   {"mergeValues": True, "showValue": "never", "rowHeight": 0.9, "alignValue": "left",
                    "legend": {"displayMode": "list", "placement": "bottom", "showLegend": False, "calcs": []},
                    "tooltip": {"mode": "single", "sort": "none"}},
                   {"lineWidth": 0, "fillOpacity": 90}, width=width, height=height, color="thresholds")
    result["fieldConfig"]["defaults"]["mappings"] = [
        {"type": "value", "options": {"0": {"text": "no", "index": 0}, "1": {"text": "yes", "index": 1}}}]
    return result


def density(title, description, expression, unit, width=12, height=8):
    return panel("heatmap", title, description, [target(expression)], unit, PLAIN,
                 {"calculate": True, "calculation": {"xBuckets": {"mode": "size", "value": ""}, "yBuckets": {"mode": "count", "value": "10"}},
                  "color": {"mode": "scheme", "scheme": "Oranges", "steps": 32, "exponent": 0.5, "fill": "dark-orange", "scale": "exponential", "reverse": False},
                  "cellGap": 1, "filterValues": {"le": 1e-9}, "rowsFrame": {"layout": "auto"}, "showValue": "never",
                  "yAxis": {"axisPlacement": "left", "unit": unit, "min": 0, "max": 1, "reverse": False, "decimals": 0},
                  "exemplars": {"color": "rgba(255,0,255,0.7)"}, "legend": {"show": True},
                  "tooltip": {"mode": "single", "yHistogram": False, "showColorScale": True}},
                 {"scaleDistribution": {"type": "linear"}, "hideFrom": {"legend": False, "tooltip": False, "viz": False}}, width=width, height=height)


def column(name, unit=None, thresholds=None, rename=None, width=None, gauge=False, links=None, decimals=None):
    properties = []
    if unit:
        properties.append({"id": "unit", "value": unit})
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
    return {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "current": {"text": "default", "value": "default"}, "options": [],
            "refresh": 1, "hide": 0, "includeAll": False, "multi": False, "regex": "", "skipUrlSync": False}


def variable(name, label, query):
    return {"name": name, "label": label, "type": "query", "datasource": DATASOURCE,
            "query": {"query": query, "refId": "StandardVariableQuery"}, "refresh": 2, "sort": 1, "multi": True,
            "includeAll": True, "allValue": ".*", "current": {"selected": True, "text": ["All"], "value": ["$__all"]}, "options": [],
            "hide": 0, "regex": "", "skipUrlSync": False}


INSTANCE = ("instance", "Instance", "label_values(intel_gpu_exporter_devices, instance)")
DEVICE = ("device", "Device", 'label_values(intel_gpu_info{instance=~"$instance"}, device)')
PROGRAM = ("comm", "Program", 'label_values(intel_gpu_process_clients{instance=~"$instance",device=~"$device"}, comm)')


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
    return {"uid": uid, "title": title, "description": description, "tags": ["intel-gpu"], "schemaVersion": 39, "version": 1,
            "editable": True, "graphTooltip": 1, "refresh": "30s", "time": {"from": f"now-{hours}h", "to": "now"}, "timezone": "browser",
            "fiscalYearStartMonth": 0, "weekStart": "", "annotations": {"list": []}, "timepicker": {}, "liveNow": False,
            "links": [{"type": "dashboards", "title": "Intel GPU", "tags": ["intel-gpu"], "asDropdown": False, "includeVars": True, "keepTime": True,
                       "targetBlank": False, "icon": "external link", "tooltip": "", "url": ""}],
            "templating": {"list": [datasource_variable(), *(variable(*one) for one in variables)]}, "panels": panels}


def to(uid, title):
    return [{"title": title, "targetBlank": False,
             "url": f"/d/{uid}?var-datasource=${{datasource}}&var-instance=${{__data.fields.instance}}&${{__url_time_range}}"}]


def overview():
    class_busy = busy(SELECT)
    return dashboard("intel-gpu-overview", "Intel GPU overview", "Intel GPUs as seen by intel-gpu-exporter.", [INSTANCE, DEVICE], [
        ("Now", [
            stat("GPUs", "Intel GPUs that are watched.", f"sum(intel_gpu_exporter_devices{{{HOST}}})", graph="none"),
            stat("Video engines", "The highest share of a GPU's video engines that is busy.",
                 "max" + busy(SELECT + ',class="video"'), "percentunit", BUSY, 0),
            stat("Render engines", "The highest share of a GPU's render engines that is busy.",
                 "max" + busy(SELECT + ',class="render"'), "percentunit", BUSY, 0),
            stat("GPU power", "Sum over the GPUs: the gpu domain of an integrated one, the whole card where the driver tells it, else its package.",
                 f"sum{watts(SELECT)}", "watt", decimals=0),
            stat("Hottest sensor", "The highest temperature; for an integrated GPU the CPU package's.",
                 f"max(intel_gpu_temperature_celsius{{{SELECT}}})", "celsius", HOT, 0),
            stat("Hangs captured", HANGS, f"sum(intel_gpu_error_state{{{SELECT}}})", thresholds=BAD, graph="none"),
            table("Every GPU", "What each GPU is, and how it is now.", [
                target(f"intel_gpu_info{{{SELECT}}}", instant=True, table=True),
                target("max by (instance, device) " + busy(SELECT + ',class="video"'), instant=True, table=True),
                target(watts(SELECT), instant=True, table=True),
                target(f"max by (instance, device) (intel_gpu_temperature_celsius{{{SELECT}}})", instant=True, table=True),
                target(f"max by (instance, device) (intel_gpu_runtime_suspended{{{SELECT}}})", instant=True, table=True)],
                [column("Video", "percentunit", BUSY, gauge=True, width=140), column("Power", "watt", decimals=0, width=80),
                 column("Temperature", "celsius", HOT, decimals=0, width=110), column("Asleep", "short", width=80), column("Name", width=260), column("Device", width=130),
                 column("Driver", width=80), column("Kind", width=110), column("Id", width=90), column("Node", width=120),
                 column("instance", rename="Instance", links=to("intel-gpu-processes", "Processes"))],
                [{"id": "merge", "options": {}},
                 organize(["Time", "__name__", "job", "Value #A", "numa_node", "revision", "card"],
                          ["instance", "device", "name", "driver", "kind", "device_id", "render_node", "Value #B", "Value #C", "Value #D", "Value #E"],
                          {"device": "Device", "name": "Name", "driver": "Driver", "kind": "Kind", "device_id": "Id", "render_node": "Node",
                           "Value #B": "Video", "Value #C": "Power", "Value #D": "Temperature", "Value #E": "Asleep"})], 24, 6)]),
        ("Engines", [
            series("Busy by engine class", "Share of each class's engines that was busy.", [target(class_busy, BY_GPU + " {{class}}")], "percentunit", 12, 9, maximum=1),
            series("Busy by engine", "Share of the time each engine was busy. Where the PMU is not read: the visible processes, by class.",
                   [target(f"intel_gpu_engine_busy_ratio{{{SELECT}}}", BY_GPU + " {{gt}} {{engine}}")], "percentunit", 12, 9, maximum=1)]),
        ("Frequency and power saving", [
            series("Frequency and its limit", "Frequency of each GT now, and the highest it may take. A parked GT shows 0.", [
                target(f'intel_gpu_frequency_hertz{{kind="actual",{SELECT}}}', BY_GPU + " gt{{gt}}"),
                target(f'intel_gpu_frequency_limit_hertz{{limit="max",{SELECT}}}', BY_GPU + " gt{{gt}} limit")], "hertz"),
            series("RC6", "Share of the time in the power-saving state.", [target(f"intel_gpu_rc6_residency_ratio{{{SELECT}}}", BY_GPU + " gt{{gt}}")], "percentunit", maximum=1),
            timeline("Throttled by reason", "Why the frequency is held down.",
                     f'max by (instance, device, reason) (intel_gpu_throttled{{reason!="any",{SELECT}}}) > 0 or max by (instance, device, reason) (intel_gpu_throttled{{reason="any",{SELECT}}})',
                     BY_GPU + " {{reason}}")]),
        ("Power, temperature, memory", [
            series("Power", "Mean power over each window. Package and psys contain gpu.", [target(f"intel_gpu_power_watts{{{SELECT}}}", BY_GPU + " {{domain}}")], "watt"),
            series("Temperature", "By sensor. Integrated: the CPU package.", [target(f'intel_gpu_temperature_celsius{{sensor!~"vram_ch_.*",{SELECT}}}', BY_GPU + " {{sensor}}")], "celsius", minimum=None),
            series("Fans", "0 while a fan stands still.", [target(f"intel_gpu_fan_speed_rpm{{{SELECT}}}", BY_GPU + " fan {{fan}}")], "rotrpm"),
            series("Device memory in use", "Memory of the cards by region, and its size.", [
                target(f'intel_gpu_memory_used_bytes{{memory_region!="system",{SELECT}}}', BY_GPU + " {{memory_region}}"),
                target(f'intel_gpu_memory_size_bytes{{memory_region!="system",{SELECT}}}', BY_GPU + " {{memory_region}} size")], "bytes"),
            series("Memory bandwidth", "What goes over the memory controllers beside an integrated GPU, whoever moves it.",
                   [target(f"rate(intel_gpu_memory_bandwidth_bytes_total{{{SELECT}}}[$__rate_interval])", "{{instance}} {{direction}}")], "Bps"),
            series("PCIe link", "Width of the link between slot and card: below its maximum the card sits in the wrong slot, or badly.", [
                target(f'intel_gpu_pcie_link_width_lanes{{bound="current",{SELECT}}}', BY_GPU + " now"),
                target(f'intel_gpu_pcie_link_width_lanes{{bound="max",{SELECT}}}', BY_GPU + " max")], "short")])])


def processes():
    chosen = SELECT + ',comm=~"$comm"'
    who = "instance, device, pid, comm"
    info = "* on (job, instance, device, pid, comm) group_left ({}) intel_gpu_process_info"
    rate = f"rate(intel_gpu_process_engine_busy_seconds_total{{{chosen}}}[$__rate_interval])"

    def share(name):
        return f'sum by ({who}) (intel_gpu_process_engine_busy_ratio{{class="{name}",{chosen}}})'

    def top(name, title):
        return series(title, "The ten largest, as shares of the class's engines.",
                      [target(f'topk(10, intel_gpu_process_engine_busy_ratio{{class="{name}",{chosen}}})', BY_PROCESS)], "percentunit", 12, 8, legend="table")

    return dashboard("intel-gpu-processes", "Intel GPU processes", "Who uses which engine and how much memory.", [INSTANCE, DEVICE, PROGRAM], [
        ("Now", [
            stat("Processes", "Processes that hold a client of a GPU and are visible to the exporter.", f"sum(intel_gpu_processes{{{SELECT}}})", width=6),
            stat("Without series", "The smallest recent users over --collector.fdinfo.max-processes: counted, not listed.", f"sum(intel_gpu_processes_dropped{{{SELECT}}})", thresholds=[("green", None), ("orange", 1)], width=6, graph="none"),
            stat("Largest user of video engines", "The process that uses the largest share of a GPU's video engines.",
                 f'topk(1, max by (instance, comm, pid) (intel_gpu_process_engine_busy_ratio{{class="video",{chosen}}}))', "percentunit", BUSY, 0, BY_PROCESS, 6, "none", "value_and_name", True),
            stat("Largest user of memory", "The process that has most GPU memory.",
                 f'topk(1, sum by (instance, comm, pid) (intel_gpu_process_memory_bytes{{state="resident",{chosen}}}))', "bytes", PLAIN, 1, BY_PROCESS, 6, "none", "value_and_name", True),
            table("Every process", "Engines as shares of their class; memory that is resident.", [
                target(share("video"), instant=True, table=True), target(share("video_enhance"), instant=True, table=True),
                target(share("render"), instant=True, table=True), target(share("compute"), instant=True, table=True),
                target(f'sum by ({who}) (intel_gpu_process_memory_bytes{{state="resident",{chosen}}})', instant=True, table=True),
                target(f"sum by ({who}) (rate(intel_gpu_process_cpu_seconds_total{{{chosen}}}[$__rate_interval]))", instant=True, table=True)],
                [*(column(name, "percentunit", BUSY, gauge=True, width=130) for name in ("Video", "Enhance", "Render", "Compute")),
                 column("Memory", "bytes", decimals=1, width=100), column("CPU", "percentunit", decimals=0, width=80)],
                [{"id": "merge", "options": {}},
                 organize(["Time"], ["instance", "device", "comm", "pid", "Value #A", "Value #B", "Value #C", "Value #D", "Value #E", "Value #F"],
                          {"instance": "Instance", "device": "Device", "comm": "Program", "pid": "Pid", "Value #A": "Video", "Value #B": "Enhance",
                           "Value #C": "Render", "Value #D": "Compute", "Value #E": "Memory", "Value #F": "CPU"})], 24, 10, "Video")]),
        ("Engines", [top("video", "Video"), top("video_enhance", "Video enhance"), top("render", "Render"), top("compute", "Compute")]),
        ("Memory", [
            series("Resident GPU memory", "The ten largest. Buffers that are shared count in full for everybody.",
                   [target(f'topk(10, sum by ({who}) (intel_gpu_process_memory_bytes{{state="resident",{chosen}}}))', BY_PROCESS)], "bytes", 12, 8, legend="table"),
            series("Memory by region", "Resident memory of all processes by region.",
                   [target(f'sum by (instance, device, memory_region) (intel_gpu_process_memory_bytes{{state="resident",{chosen}}})', BY_GPU + " {{memory_region}}")], "bytes", 12, 8, stack=True)]),
        ("By user, container, unit", [
            series("Engine time by user", "Engines that were busy for each user's processes.", [target(f"sum by (user) ({rate} {info.format('user')})", "{{user}}")], "short", stack=True),
            series("Engine time by container", "Engines that were busy for each container; nothing of processes outside of containers.",
                   [target(f'label_replace(sum by (container_id) ({rate} {info.format("container_id")}{{container_id!=""}}), "container", "$1", "container_id", "(.{{12}}).*")', "{{container}}")], "short", stack=True),
            series("Engine time by program", "Engines that were busy for all processes of a name.", [target(f"sum by (comm) ({rate})", "{{comm}}")], "short", stack=True),
            table("What kind of process it is", "User, unit, container and pod.", [target(
                f'label_replace(label_replace(intel_gpu_process_info{{{chosen}}}, "container_id", "$1", "container_id", "(.{{12}}).*"), "systemd_unit", "$1…", "systemd_unit", "(.{{30}}).+")',
                instant=True, table=True)],
                  [column("Instance", width=140), column("Device", width=140), column("Program", width=160), column("Pid", width=90), column("User", width=120),
                   column("Container", width=150)], [organize(["Time", "Value", "__name__", "job", "cgroup"], ["instance", "device", "comm", "pid", "user", "systemd_unit", "pod_uid", "container_id"],
                                {"instance": "Instance", "device": "Device", "comm": "Program", "pid": "Pid", "user": "User", "systemd_unit": "Unit",
                                 "pod_uid": "Pod", "container_id": "Container"})], 24)])])


def rack():
    video = HOST + ',class="video"'
    node_busy = f"avg by (instance) {busy(video)}"
    # By GPU: one that is known by fdinfo only must not take from the engines of the others.
    free = (f'(sum by (instance) (count by (instance, device) (intel_gpu_engine_busy_seconds_total{{source="pmu",{video}}})'
            f" - sum by (instance, device) (rate(intel_gpu_engine_busy_seconds_total{{{video}}}[$__rate_interval]))))")
    return dashboard("intel-gpu-rack", "Intel GPU broadcast rack", "Many hosts that encode: how full they are, which are worst, what is left.", [INSTANCE], [
        ("The rack", [
            stat("Hosts up", "Exporters that answer.", f"sum(up{{{HOST}}} * on (instance, job) group_left () (count by (instance, job) (intel_gpu_exporter_build_info)))", graph="none", width=3),
            stat("GPUs", "Intel GPUs that are watched.", f"sum(intel_gpu_exporter_devices{{{HOST}}})", graph="none", width=3),
            stat("Video engines busy", "Mean over all GPUs.", f"avg{busy(video)}", "percentunit", BUSY, 0, width=4),
            stat("Free video engines", "Engines' worth of video work that the GPUs could still take; GPUs that sleep or have no PMU access do not count.", f"sum{free}", "short", [("red", None), ("orange", 2), ("green", 5)], 1, width=4),
            stat("GPU power", "Sum over all GPUs.", f"sum{watts(HOST)}", "watt", decimals=1, width=3),
            stat("Hottest sensor", "The highest temperature of all.", f"max(intel_gpu_temperature_celsius{{{HOST}}})", "celsius", HOT, 0, width=3),
            stat("Throttled", "GPUs whose frequency is held down now.", f'sum(max by (instance, device) (intel_gpu_throttled{{reason="any",{HOST}}}))', thresholds=[("green", None), ("orange", 1)], graph="none", width=2),
            stat("Hangs", HANGS, f"sum(intel_gpu_error_state{{{HOST}}})", thresholds=BAD, graph="none", width=2),
            history("Video engines by host", "A row for each host: the share of its video engines that was busy.", node_busy, "{{instance}}", "percentunit", BUSY, 24, 14)]),
        ("Worst and best", [
            bars("Fullest hosts", "The ten hosts whose video engines are busiest.", f"topk(10, {node_busy})", "{{instance}}", "percentunit", BUSY, 1),
            bars("Most headroom", "The ten hosts that could take most, in video engines; GPUs that sleep or have no PMU access do not count.", f"topk(10, {free})", "{{instance}}", "short", [("red", None), ("orange", 0.5), ("green", 1)]),
            bars("Hottest hosts", "The ten hosts with the hottest sensor.", f"topk(10, max by (instance) (intel_gpu_temperature_celsius{{{HOST}}}))", "{{instance}}", "celsius", HOT, 110),
            table("Alerts", "Pending and firing alerts of this exporter's rules.", [
                target('sum by (alertname, severity, alertstate, instance, device) (ALERTS{alertname=~"IntelGpu.*"})', instant=True, table=True)],
                [column("instance", rename="Instance", links=to("intel-gpu-overview", "Overview"))],
                [organize(["Time", "Value"], ["alertname", "severity", "alertstate", "instance", "device"],
                          {"alertname": "Alert", "severity": "Severity", "alertstate": "State", "device": "Device"})], 24, 6)]),
        ("Over time", [
            density("Distribution of video load", "How many GPUs are how busy: darker means more of them. Readable for thousands.", busy(video), "percentunit"),
            series("Video load", "Mean, and the fullest GPU.", [target(f"avg{busy(video)}", "mean"), target(f"max{busy(video)}", "fullest")], "percentunit", 12, maximum=1),
            series("Power by host", "GPU watts, stacked.", [target(f"sum by (instance) {watts(HOST)}", "{{instance}}")], "watt", 12, stack=True, legend="hidden"),
            series("Processes on the GPUs", "By host. Encoders, and everything else that holds a GPU: desktops, browsers, players.", [target(f"sum by (instance) (intel_gpu_processes{{{HOST}}})", "{{instance}}")], "short", 12, stack=True, legend="hidden")])], hours=3)


def health():
    ours = "* on (instance, job) group_left () (count by (instance, job) (intel_gpu_exporter_build_info))"
    return dashboard("intel-gpu-exporter-health", "Intel GPU exporter health", "Does the exporter see what it should, and what does it cost.", [INSTANCE], [
        ("Now", [
            stat("Exporters up", "Those that answered the last scrape.", f"sum(up{{{HOST}}} {ours})", graph="none"),
            stat("Features missing", "Features that a machine could have and the exporter may not or cannot read: permission or kernel.",
                 # Without those that a driver has in no version: they are never missing alone.
                 f'sum(intel_gpu_exporter_feature_available{{reason="permission",{HOST}}} == bool 0 or '
                 f'intel_gpu_exporter_feature_available{{reason="kernel",feature!~"engine_wait_sema|interrupts|frequency_average|awake_time|memory_used",{HOST}}} == bool 0)'
                 f" or 0 * count(intel_gpu_exporter_build_info{{{HOST}}})", thresholds=[("green", None), ("orange", 1)]),
            stat("Slowest scrape", "As Prometheus measured it.", f"max(scrape_duration_seconds{{{HOST}}} {ours})", "s", [("green", None), ("orange", 1), ("red", 5)], 3),
            stat("Collectors failing", "Collectors that did not come through the last scrape.", f"sum(intel_gpu_scrape_collector_success{{{HOST}}} == bool 0)", thresholds=BAD, graph="none"),
            stat("Largest page", "Samples of the largest page.", f"max(scrape_samples_scraped{{{HOST}}} {ours})", "short", decimals=0),
            stat("Memory", "Resident memory of the largest exporter.", f"max(process_resident_memory_bytes{{{HOST}}} {ours})", "bytes", decimals=1),
            table("What the machines do not give, and why", "permission: run intel-gpu-exporter doctor on that host, it names the command. kernel: a newer one has it. hardware: there is none.", [
                target(f"intel_gpu_exporter_feature_available{{{HOST}}} == 0", instant=True, table=True)],
                [], [organize(["Time", "Value", "__name__", "job"], ["instance", "device", "feature", "reason"],
                              {"instance": "Instance", "device": "Device", "feature": "Feature", "reason": "Reason"})], 12, 10),
            table("Versions", "One line for each exporter.", [target(f"intel_gpu_exporter_build_info{{{HOST}}}", instant=True, table=True)],
                  [], [organize(["Time", "Value", "__name__", "job"], ["instance", "version", "revision", "compiler"],
                                {"instance": "Instance", "version": "Version", "revision": "Revision", "compiler": "Compiler"})], 12, 10)]),
        ("Scrapes", [
            series("Scrape duration", "As Prometheus measured it.", [target(f"scrape_duration_seconds{{{HOST}}} {ours}", "{{instance}}")], "s", legend="hidden"),
            series("Time by collector", "The slowest host of each collector.", [target(f"max by (collector) (intel_gpu_scrape_collector_duration_seconds{{{HOST}}})", "{{collector}}")], "s"),
            series("Walk over /proc", "Time the search for clients of the GPUs takes; it grows with the number of processes.", [target(f"intel_gpu_exporter_client_walk_duration_seconds{{{HOST}}}", "{{instance}}")], "s", legend="hidden"),
            series("Samples by page", "Series that each host has.", [target(f"scrape_samples_scraped{{{HOST}}} {ours}", "{{instance}}")], "short", legend="hidden"),
            series("HTTP answers by code", "Per second, over all hosts.", [target(f"sum by (code) (rate(intel_gpu_exporter_http_requests_total{{{HOST}}}[$__rate_interval]))", "{{code}}")], "reqps"),
            timeline("Collectors that fail", "Those that did not come through a scrape.", f"max by (collector) (intel_gpu_scrape_collector_success{{{HOST}}} == bool 0)", "{{collector}}"),
            timeline("Walks that were cut short", "The walk over /proc did not see every process within its time.", f"intel_gpu_exporter_client_walk_complete{{{HOST}}} == bool 0", "{{instance}}"),
            series("Client blocks skipped", "Fdinfo blocks that could not be understood.", [target(f"intel_gpu_exporter_client_blocks_skipped{{{HOST}}}", "{{instance}}")], "short", legend="hidden"),
            series("Processes without series", "Over --collector.fdinfo.max-processes.", [target(f"sum by (instance) (intel_gpu_processes_dropped{{{HOST}}})", "{{instance}}")], "short", legend="hidden")]),
        ("What it costs", [
            series("CPU", "Share of one processor.", [target(f"rate(process_cpu_seconds_total{{{HOST}}}[$__rate_interval]) {ours}", "{{instance}}")], "percentunit", legend="hidden"),
            series("Resident memory", "Of each exporter.", [target(f"process_resident_memory_bytes{{{HOST}}} {ours}", "{{instance}}")], "bytes", legend="hidden"),
            series("Open files", "File descriptors, perf events among them.", [target(f"process_open_fds{{{HOST}}} {ours}", "{{instance}}")], "short", legend="hidden")])])


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
    for name, content in {"overview": overview, "processes": processes, "rack": rack, "exporter-health": health}.items():
        (folder / f"{name}.json").write_text(json.dumps(content(), indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
