#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every file of deploy/integrations is read by a parser of its own format, or by the tool itself where Debian has it, and what it
asks for is on a real page of simulated machines.

usage: integrations.py EXPORTER_BINARY REPOSITORY_ROOT
"""
import fnmatch
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
import urllib.parse
import uuid

import jinja2
import yaml
from prometheus_client.parser import text_string_to_metric_families

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from exporter_under_test import Exporter, Prometheus, check, finish, get, wait_for  # noqa: E402

BINARY, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
FILES = ROOT / "deploy/integrations"
DEFAULT_URL = "http://localhost:10068/metrics"
MACHINES = ("rack", "tgl-broadcast", "battlemage")
checked = set()


def text(name):
    checked.add(name)
    return (FILES / name).read_text()


def known_keys(where, given, *known):
    check(set(given) <= set(known), f"{where}: {sorted(set(given) - set(known))} is no option of this tool")


class Page:
    """Of one exporter, from its third scrape on, when every rate has its window."""

    def __init__(self, url):
        for _ in range(2):
            get(url)
        ratio = re.compile(r"^intel_gpu_engine_busy_ratio\{.*class=\"video\"", re.M)
        self.text = wait_for(lambda: page if ratio.search(page := get(url)) else None, "the page has ratios")
        self.series = [sample for family in text_string_to_metric_families(self.text) for sample in family.samples]
        self.names = {sample.name for sample in self.series}

    def select(self, name, pattern=""):
        """Series that fit NAME{PATTERN}, with the four operators of PromQL's label matchers."""
        fits = {"=": str.__eq__, "!=": str.__ne__, "=~": lambda value, regex: re.fullmatch(regex, value),
                "!~": lambda value, regex: not re.fullmatch(regex, value)}
        wanted = re.findall(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"', pattern)
        return [s for s in self.series if s.name == name and all(fits[op](s.labels.get(label, ""), value) for label, op, value in wanted)]


def expressions_have_data(where, expression, page):
    for name, matchers in re.findall(r"\b(intel_gpu_\w+)(\{[^}]*\})?", expression):
        check(page.select(name, matchers), f"{where}: no series fit {name}{matchers}")


def command_of_the_build(folder, machine):
    """PATH with the program under its usual name, on a simulated machine."""
    program = folder / "intel-gpu-exporter"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(BINARY)} "$@" --simulate={machine}\n')
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}


def telegraf(page):
    plugin, = tomllib.loads(text("telegraf/prometheus.conf"))["inputs"].pop("prometheus")
    known_keys("telegraf/prometheus.conf", plugin, "urls", "interval", "metric_version", "namedrop", "namepass")
    check(plugin["urls"] == [DEFAULT_URL], f"telegraf: {plugin['urls']}")
    for pattern in plugin["namedrop"]:
        check(fnmatch.filter(page.names, pattern), f"telegraf: {pattern} drops nothing")


def netdata(page):
    configuration = yaml.safe_load(text("netdata/prometheus.conf"))
    known_keys("netdata", configuration, "jobs")
    job, = configuration["jobs"]
    known_keys("netdata", job, "name", "url", "update_every", "selector")
    check(job["url"] == DEFAULT_URL, f"netdata: {job['url']}")
    for pattern in job["selector"]["allow"] + job["selector"]["deny"]:
        check(fnmatch.filter(page.names, pattern), f"netdata: nothing fits {pattern}")


def scrape_configuration(where, configuration, folder):
    file = folder / "scrape.yml"
    file.write_text(yaml.safe_dump(configuration))
    ran = subprocess.run(["promtool", "check", "config", file], capture_output=True, text=True)
    check(ran.returncode == 0, f"{where}: {ran.stdout}{ran.stderr}")
    job, = configuration["scrape_configs"]
    check("intel-gpu" in job["job_name"], f"{where}: the alerts select another job than {job['job_name']}")
    check(job["static_configs"][0]["targets"] == ["localhost:10068"], f"{where}: {job['static_configs']}")


def opentelemetry(folder):
    configuration = yaml.safe_load(text("opentelemetry/collector.yaml"))
    known_keys("opentelemetry", configuration, "receivers", "processors", "exporters", "service")
    used = {"receivers": set(), "processors": set(), "exporters": set()}
    for name, pipeline in configuration["service"]["pipelines"].items():
        check(name.split("/")[0] == "metrics", f"opentelemetry: pipeline {name}")
        for kind, names in pipeline.items():
            used[kind] |= set(names)
    for kind, names in used.items():
        check(names == set(configuration[kind]), f"opentelemetry: {kind}: {sorted(names)} are used, {sorted(configuration[kind])} described")
    receiver = configuration["receivers"]["prometheus/intel-gpu"]["config"]
    check("$" not in json.dumps(receiver), "opentelemetry: a dollar sign is an environment variable there")
    scrape_configuration("opentelemetry", receiver, folder)


def alloy_blocks(source):
    """[(name, label, body)] of Alloy's language; strings, lists and blocks nest."""
    tokens = re.findall(r'//[^\n]*|"(?:[^"\\\n]|\\.)*"|[A-Za-z_][\w.]*|\d+|[{}\[\]=,]|\S', source)
    tokens = iter([token for token in tokens if not token.startswith("//")])

    def value(token):
        if token == "[":
            items = []
            while (token := next(tokens)) != "]":
                if token != ",":
                    items.append(value(token))
            return items
        if token == "{":
            fields = {}
            while (token := next(tokens)) != "}":
                if token != ",":
                    assert next(tokens) == "=", token
                    fields[json.loads(token) if token.startswith('"') else token] = value(next(tokens))
            return fields
        assert re.match(r'["\w]', token), token
        return json.loads(token) if token.startswith('"') else token

    def body(end):
        inner = []
        while (name := next(tokens, None)) != end:
            assert name and re.fullmatch(r"[A-Za-z_][\w.]*", name), name
            token = next(tokens)
            if token == "=":
                inner.append((name, None, value(next(tokens))))
            else:
                label = json.loads(token) if token != "{" else None
                assert label is None or next(tokens) == "{", name
                inner.append((name, label, body("}")))
        return inner

    return body(None)


def alloy():
    blocks = alloy_blocks(text("alloy/intel-gpu.alloy"))
    exports = {f"{name}.{label}.receiver" for name, label, _ in blocks if name == "prometheus.remote_write"}
    scrape, = [{name: inner for name, _, inner in body} for name, _, body in blocks if name == "prometheus.scrape"]
    known_keys("alloy", scrape, "targets", "job_name", "scrape_interval", "forward_to")
    check(set(scrape["forward_to"]) == exports, f"alloy: {scrape['forward_to']} is not {exports}")
    check(scrape["targets"][0]["__address__"] == "localhost:10068" and "intel-gpu" in scrape["job_name"], f"alloy: {scrape}")
    for broken in ('prometheus.scrape "x" {', 'a "b" { c = [1 }', "a = "):
        try:
            alloy_blocks(broken)
            check(False, f"alloy: {broken} was read")
        except (AssertionError, StopIteration, json.JSONDecodeError):
            pass


def victoriametrics(folder):
    scrape_configuration("victoriametrics", yaml.safe_load(text("victoriametrics/vmagent.yml")), folder)
    ran = subprocess.run(["vmagent", "-dryRun", f"-promscrape.config={FILES}/victoriametrics/vmagent.yml"], capture_output=True, text=True)
    check(ran.returncode == 0 and "all the configs are ok" in ran.stderr, f"vmagent: {ran.stderr}")


class Zabbix:
    """The preprocessing steps that the template uses."""
    ITEM = ("uuid", "name", "type", "key", "delay", "history", "trends", "value_type", "units", "description", "timeout", "url", "preprocessing",
            "master_item", "tags", "triggers", "trigger_prototypes")

    def __init__(self, page):
        self.page = page
        self.uuids = []

    def identify(self, entry):
        identity = uuid.UUID(entry["uuid"])
        check(identity.hex == entry["uuid"] and identity.version == 4, f"zabbix: uuid {entry['uuid']}")
        self.uuids.append(entry["uuid"])

    def pattern(self, where, pattern, result, output):
        """None: no series fits, an error that the template discards."""
        name, matchers = re.fullmatch(r"(\w+)(\{.*\})?", pattern).groups()
        found = self.page.select(name, matchers or "")
        check(all(label in s.labels for s in found for label in re.findall(r"(\w+)=", matchers or "")), f"{where}: no such label")
        if not found:
            return None
        if result == "function":
            return {"avg": lambda v: sum(v) / len(v), "max": max}[output]([s.value for s in found])
        check(len(found) == 1, f"{where}: {len(found)} series fit {pattern}")
        return found[0].labels[output] if result == "label" else found[0].value

    def rows(self, rule):
        step, *more = rule["preprocessing"]
        check(step["type"] == "PROMETHEUS_TO_JSON", f"zabbix: {rule['name']}: {step['type']}")
        name, matchers = re.fullmatch(r"(\w+)(\{.*\})?", step["parameters"][0]).groups()
        rows = [{"name": s.name, "labels": s.labels, "value": str(s.value)} for s in self.page.select(name, matchers or "")]
        for script in more:
            check(script["type"] == "JAVASCRIPT", f"zabbix: {rule['name']}: {script['type']}")
            # Zabbix runs scripts with the same interpreter, as the body of a function of `value`.
            source = f"print((function (value) {{{script['parameters'][0]}}})({json.dumps(json.dumps(rows))}));"
            with tempfile.NamedTemporaryFile("w", suffix=".js") as file:
                file.write(source)
                file.flush()
                rows = json.loads(subprocess.run(["duk", file.name], capture_output=True, text=True, check=True).stdout)
        paths = {path["lld_macro"]: path["path"].removeprefix("$.labels.") for path in rule["lld_macro_paths"]}
        return [{macro: row["labels"][label] for macro, label in paths.items()} for row in rows]

    def item(self, item, macros, key_of_page):
        def filled(value):
            for macro, replacement in macros.items():
                value = value.replace(macro, replacement)
            check("{#" not in value, f"zabbix: {value}: a macro that is not discovered")
            return value

        where = f"zabbix: {filled(item['name'])}"
        known_keys(where, item, *self.ITEM)
        check(item["type"] == "DEPENDENT" and item["delay"] == "0" and item["master_item"]["key"] == key_of_page, f"{where}: depends on the page")
        step, *more = item["preprocessing"]
        check(step["type"] == "PROMETHEUS_PATTERN" and step["error_handler"] == "DISCARD_VALUE", f"{where}: {step}")
        check({m["type"] for m in more} <= {"MULTIPLIER"}, f"{where}: {more}")
        value = self.pattern(where, filled(step["parameters"][0]), *step["parameters"][1:])
        for multiplier in more if value is not None else ():
            value = value * float(multiplier["parameters"][0])
        if item.get("units") == "%" and value is not None:
            check(0 <= value <= 100, f"{where}: {value} %")
        return filled(item["key"]), value


def zabbix(page):
    """Keys of its items, and of those the ones that had a value on this machine."""
    export = yaml.safe_load(text("zabbix/intel-gpu.yaml"))["zabbix_export"]
    known_keys("zabbix", export, "version", "date", "groups", "templates")
    template, = export["templates"]
    known_keys("zabbix", template, "uuid", "template", "name", "description", "groups", "items", "discovery_rules", "macros")
    check(template["groups"] == [{"name": group["name"]} for group in export["groups"]], "zabbix: groups")
    reader = Zabbix(page)
    reader.identify(template)
    master, *items = template["items"]
    reader.identify(master)
    check(master["type"] == "HTTP_AGENT" and master["value_type"] == "TEXT" and master["url"].endswith("/metrics"), f"zabbix: {master}")
    values, expressions, prototypes, filled = {}, [], {master["key"]}, {master["key"]}
    for item in items:
        reader.identify(item)
        key, values[key] = reader.item(item, {}, master["key"])
        prototypes.add(item["key"])
        filled.add(key)
        check(values[key] is not None, f"zabbix: {key}: no value")
        expressions += item.get("triggers", [])
    for rule in template["discovery_rules"]:
        reader.identify(rule)
        known_keys(f"zabbix: {rule['name']}", rule, "uuid", "name", "type", "key", "delay", "lifetime", "master_item", "preprocessing", "lld_macro_paths",
                   "item_prototypes")
        rows = reader.rows(rule)
        check(len(rows) == len({tuple(row.values()) for row in rows}), f"zabbix: {rule['name']}: a row twice: {rows}")
        for item in rule["item_prototypes"]:
            reader.identify(item)
            prototypes.add(item["key"])
            expressions += item.get("trigger_prototypes", [])
            found = [reader.item(item, row, master["key"]) for row in rows]
            if any(value is not None for _, value in found):
                filled.add(item["key"])
            check(not set(dict(found)) & set(values), f"zabbix: {item['key']}: one key twice")
            values.update(found)
    macros = {macro["macro"] for macro in template["macros"]}
    for trigger in expressions:
        reader.identify(trigger)
        name, key = re.search(r"\(/([^/]+)/([^,\[]+(?:\[[^\]]*\])?),", trigger["expression"]).groups()
        check(name == template["template"] and key in prototypes, f"zabbix: {trigger['expression']}: no such item")
    for used in set(re.findall(r"\{\$[\w.]+\}", text("zabbix/intel-gpu.yaml"))):
        check(used in macros, f"zabbix: {used} has no value")
    check(len(reader.uuids) == len(set(reader.uuids)), "zabbix: a uuid twice")
    return prototypes, filled


def checkmk(url, page):
    def services(url):
        ran = subprocess.run([sys.executable, FILES / "checkmk/intel_gpu"], env={**os.environ, "INTEL_GPU_URL": url}, capture_output=True, text=True)
        check(ran.returncode == 0 and not ran.stderr, f"checkmk: {ran.stderr}")
        for line in ran.stdout.splitlines():
            state, service, metrics, summary = re.fullmatch(r'([0123P]) "([^"]+)" (\S+) (.+)', line).groups()
            numbers = dict(re.fullmatch(r"(\w+)=([\d.]+)(?:;[\d.]+;[\d.]+)?", metric).groups() for metric in metrics.split("|")) if metrics != "-" else {}
            yield state, service, {name: float(number) for name, number in numbers.items()}, summary

    check("/metrics" in text("checkmk/intel_gpu"), "checkmk: the page")
    (state, _, _, summary), *gpus = services(url)
    expected = page.select("intel_gpu_info")
    check(state == "0" and summary == f"{len(expected)} GPUs", f"checkmk: {state} {summary}")
    check({service for _, service, _, _ in gpus} == {f"Intel GPU {s.labels['device']}" for s in expected}, f"checkmk: {gpus}")
    for state, service, numbers, summary in gpus:
        device = service.rsplit(" ", 1)[1]
        kinds = {s.labels["class"] for s in page.select("intel_gpu_engine_busy_ratio", f'device="{device}"')}
        check(kinds | {"power", "temperature"} <= set(numbers), f"checkmk: {service}: {numbers}")
        check(all(0 <= numbers[kind] <= 100 for kind in kinds), f"checkmk: {service}: {numbers}")
        package = page.select("intel_gpu_power_watts", f'device="{device}",domain="package",source!="hwmon"')
        check(not package or numbers["power"] < package[0].value, f"checkmk: {service}: power of the processor, not of the GPU")
    (state, _, _, summary), = services("http://127.0.0.1:1/metrics")
    check(state == "3" and "refused" in summary, f"checkmk: without an exporter: {state} {summary}")


def checkmk_asleep(url):
    ran = subprocess.run([sys.executable, FILES / "checkmk/intel_gpu"], env={**os.environ, "INTEL_GPU_URL": url}, capture_output=True, text=True)
    check(re.search(r'^0 "Intel GPU [^"]+" - .* sleeps$', ran.stdout, re.M), f"checkmk: a GPU that sleeps is neither an error nor 0: {ran.stdout}")


def librenms(url, page):
    def answer(url, *arguments):
        ran = subprocess.run([sys.executable, FILES / "librenms/intel-gpu", *arguments], env={**os.environ, "INTEL_GPU_URL": url}, capture_output=True, text=True)
        check(ran.returncode == 0 and not ran.stderr, f"librenms: {ran.stderr}")
        return ran.stdout

    check("extend intel-gpu " in text("librenms/intel-gpu"), "librenms: the line for snmpd.conf")
    whole = json.loads(answer(url))
    check(list(whole) == ["version", "error", "errorString", "data"] and whole["version"] == 1 and whole["error"] == 0, f"librenms: {list(whole)}")
    check(set(whole["data"]) == {s.labels["device"] for s in page.select("intel_gpu_info")}, f"librenms: {list(whole['data'])}")
    for device, values in whole["data"].items():
        check(0 <= values["busy_video"] <= 100 and values["name"] and values["temperature_package"] > 0, f"librenms: {values}")
        check(float(answer(url, device, "temperature_package")) > 0, f"librenms: {device}: one number")
    check(answer(url, "0000:00:02.0", "no_such_key") == "\n", "librenms: a value that is not there is no number")
    failed = json.loads(answer("http://127.0.0.1:1/metrics"))
    check(failed["error"] == 1 and failed["errorString"] and failed["data"] == {}, f"librenms: {failed}")


def home_assistant(page, environment):
    # Filters that Home Assistant adds to Jinja, or defines in another way: numbers are never guessed.
    filters = jinja2.Environment()
    filters.filters["regex_findall"] = lambda value, find: re.findall(find, value)
    filters.filters["float"] = float
    filters.filters["round"] = lambda value, digits=0: round(float(value), digits)

    def sensor_state(sensor, where, **values):
        known_keys(where, sensor, "name", "unique_id", "unit_of_measurement", "state_class", "device_class", "value_template", "command", "command_timeout",
                   "scan_interval", "json_attributes_path", "json_attributes")
        return float(filters.from_string(sensor["value_template"]).render(**values))

    rest, = yaml.safe_load(text("home-assistant/rest.yaml"))["rest"]
    known_keys("home-assistant/rest.yaml", rest, "resource", "scan_interval", "sensor")
    check(rest["resource"] == DEFAULT_URL, f"home-assistant: {rest['resource']}")
    states = {sensor["name"]: sensor_state(sensor, "home-assistant/rest.yaml", value=page.text) for sensor in rest["sensor"]}

    def of_gpu(name):
        series = page.select(name, 'domain=~"gpu|card"') or page.select(name, 'domain="package",source="hwmon"')
        return max(s.value for s in series)

    expected = {"Intel GPU video": round(100 * max(s.value for s in page.select("intel_gpu_engine_busy_ratio", 'class="video"')), 1),
                "Intel GPU power": round(of_gpu("intel_gpu_power_watts"), 1),
                "Intel GPU energy": round(of_gpu("intel_gpu_energy_joules_total") / 3.6e6, 4),
                "Intel GPU temperature": round(max(s.value for s in page.select("intel_gpu_temperature_celsius")))}
    check(states == expected, f"home-assistant: {states}, expected {expected}")
    asleep = "\n".join(line for line in page.text.splitlines() if line.startswith("#"))
    for sensor in rest["sensor"]:
        try:
            sensor_state(sensor, "asleep", value=asleep)
            check(False, f"home-assistant: {sensor['name']} invents a value")
        except jinja2.UndefinedError:
            pass  # the state is then unknown

    entry, = yaml.safe_load(text("home-assistant/command_line.yaml"))["command_line"]
    sensor = entry["sensor"]
    ran = subprocess.run(sensor["command"], shell=True, env=environment, capture_output=True, text=True, timeout=60)
    reading = json.loads(ran.stdout)
    check(0 < sensor_state(sensor, "home-assistant/command_line.yaml", value_json=reading) <= 100, f"home-assistant: {ran.stdout[:200]}")
    check(set(sensor["json_attributes"]) == set(reading["gpus"][0]), f"home-assistant: attributes {sensor['json_attributes']}")


def homepage(prometheus, page):
    group, = yaml.safe_load(text("homepage/services.yaml"))
    service, = group["Hardware"]
    widget = service["Intel GPU"]["widget"]
    known_keys("homepage", widget, "type", "url", "refreshInterval", "metrics")
    check(widget["type"] == "prometheusmetric", f"homepage: {widget['type']}")
    for metric in widget["metrics"]:
        known_keys(f"homepage: {metric['label']}", metric, "label", "query", "format", "refreshInterval")
        check(metric["format"]["type"] in ("number", "percent", "bytes"), f"homepage: {metric['format']}")
        expressions_have_data(f"homepage: {metric['label']}", metric["query"], page)
        result = wait_for(lambda: prometheus.query(metric["query"]), metric["query"])
        check(len(result) == 1 and float(result[0]["value"][1]) > 0, f"homepage: {metric['label']}: one number: {result}")


def glance(prometheus, page):
    widget, = yaml.safe_load(text("glance/intel-gpu.yml"))
    known_keys("glance", widget, "type", "title", "cache", "url", "parameters", "template")
    check(widget["type"] == "custom-api" and widget["url"].endswith("/api/v1/query"), f"glance: {widget['url']}")
    expressions_have_data("glance", widget["parameters"]["query"], page)
    wait_for(lambda: prometheus.query(widget["parameters"]["query"]), "glance: its query has data")
    answer = json.loads(get(f"{prometheus.base}/api/v1/query?{urllib.parse.urlencode(widget['parameters'])}"))

    def at(value, path):
        for step in path.split("."):
            value = value[int(step)] if step.isdigit() else value[step]
        return value

    template = widget["template"]
    check(template.count("{{ range") == template.count("{{ end"), "glance: the template's blocks end")
    rows = at(answer, re.search(r'range \.JSON\.Array "([^"]+)"', template).group(1))
    for kind, path in re.findall(r'(?<!JSON)\.(String|Float) "([^"]+)"', template):
        for row in rows:
            check(kind == "String" and at(row, path) or kind == "Float" and 0 <= float(at(row, path)) <= 100, f"glance: {path} of {row}")


def described():
    """Every file is checked above and stands on the page, and the page names no other."""
    present = {str(file.relative_to(FILES)) for file in FILES.rglob("*") if file.is_file()}
    document = (ROOT / "docs/integrations.md").read_text()
    linked = set(re.findall(r"\]\(\.\./deploy/integrations/([^)]+)\)", document))
    check(present == linked, f"docs/integrations.md does not have {sorted(present - linked)}, and has {sorted(linked - present)}")
    return present


def main():
    zabbix_items, zabbix_filled = set(), set()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with Exporter(BINARY, folder / "asleep.log", "--simulate=asleep") as asleep:
            checkmk_asleep(asleep.url)
        for machine in MACHINES:
            environment = command_of_the_build(folder, machine)
            with Exporter(BINARY, folder / "exporter.log", f"--simulate={machine}") as exporter:
                page = Page(exporter.url)
                for total, here in zip((zabbix_items, zabbix_filled), zabbix(page)):
                    total |= here
                checkmk(exporter.url, page)
                librenms(exporter.url, page)
                home_assistant(page, environment)
                if machine == "rack":
                    telegraf(page)
                    netdata(page)
                    config = {"scrape_configs": [{"job_name": "intel-gpu", "scrape_interval": "1s", "static_configs": [{"targets": [f"127.0.0.1:{exporter.port}"]}]}]}
                    with Prometheus(folder, yaml.safe_dump(config)) as prometheus:
                        homepage(prometheus, page)
                        glance(prometheus, page)
        opentelemetry(folder)
        victoriametrics(folder)
    alloy()
    check(zabbix_items == zabbix_filled, f"zabbix: no machine has a value for {sorted(zabbix_items - zabbix_filled)}")
    elsewhere = (pathlib.Path(__file__).parent / "integration_commands.py").read_text()
    unchecked = {file for file in described() - checked if f'text("{file}")' not in elsewhere}
    check(not unchecked, f"checked nowhere: {sorted(unchecked)}")
    finish(f"{len(checked)} files, ")


if __name__ == "__main__":
    main()
