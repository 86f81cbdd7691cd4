#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks scrape configurations, rules and alerts with promtool; every alert needs a runbook section and both kinds of tests.

usage: check.py REPOSITORY_ROOT
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from exporter_under_test import check, finish  # noqa: E402


def run(*command, cwd=None):
    result = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=600)
    return result.returncode, result.stdout + result.stderr


def check_configurations(folder):
    """In a copy with the files that the operator must add."""
    with tempfile.TemporaryDirectory() as name:
        copy = pathlib.Path(name) / "prometheus"
        shutil.copytree(folder, copy)
        status, output = run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                             "-subj", "/CN=ca", "-keyout", str(copy / "ca.key"), "-out", str(copy / "ca.pem"))
        check(status == 0, f"openssl: {output}")
        (copy / "password").write_text("secret")
        configurations = sorted(copy.glob("*.yml"))
        for file in configurations:
            status, output = run("promtool", "check", "config", file.name, cwd=copy)
            if "field kubernetes_sd_configs not found" in output:
                # Debian builds Prometheus without Kubernetes: check everything except that block.
                text = re.sub(r"    kubernetes_sd_configs:\n(      .*\n)+", "    static_configs: [{targets: [localhost]}]\n", file.read_text())
                file.write_text(text)
                status, output = run("promtool", "check", "config", file.name, cwd=copy)
            check(status == 0 and "FAILED" not in output, f"{file.name}: {output}")
    return len(configurations)


def samples_of(page):
    """Scrape configurations in a page's fences and indented blocks."""
    fences = re.findall(r"^```yaml\n(.*?)^```$", page, flags=re.M | re.S)
    indented = [re.sub(r"^    ", "", block, flags=re.M) for block in re.findall(r"(?:^    .*\n|^\n(?=    ))+", page, flags=re.M)]
    return [block.strip("\n") + "\n" for block in fences + indented if "job_name:" in block]


def check_pages(root):
    """What a reader copies from a page is accepted, and the channels' jobs are those of the file."""
    pages = [root / "README.md", *sorted((root / "docs").rglob("*.md")), *sorted((root / "deploy").rglob("*.md"))]
    samples = {page.name: samples_of(page.read_text()) for page in pages}
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        for page, text in ((page, text) for page, found in samples.items() for text in found):
            file.seek(0)
            file.truncate()
            file.write(text if text.startswith("scrape_configs:") else f"scrape_configs:\n{text}")
            file.flush()
            status, output = run("promtool", "check", "config", "--syntax-only", file.name)
            check(status == 0, f"{page}: {output}\n{text}")
    for page in pages:
        for text in re.findall(r"`(\w+: [\[{][^`\n]*)`", page.read_text()):
            try:
                yaml.safe_load(text)
            except yaml.YAMLError as error:
                check(False, f"{page.name}: `{text}` is no YAML: {error}")
    jobs = re.search(r"^scrape_configs:\n.*", (root / "deploy/prometheus/channels.yml").read_text(), flags=re.M | re.S).group()
    check(jobs in samples["tracing.md"], "docs/tracing.md: the jobs for channels are not those of deploy/prometheus/channels.yml")
    check(sum(map(len, samples.values())) >= 4, "too few scrape configurations on the pages")


def alerts_of(text):
    """{name: lines}"""
    parts = re.split(r"^      - (?=alert:|record:)", text, flags=re.M)[1:]
    return {re.match(r"alert: (\w+)", part).group(1): part for part in parts if part.startswith("alert:")}


def check_alerts(root, tests):
    alerts = alerts_of((root / "deploy/prometheus/rules/intel-gpu-alerts.yml").read_text())
    runbook = (root / "docs/runbook.md").read_text()
    sections = set(re.findall(r"^## (\w+)$", runbook, flags=re.M))
    for name, text in alerts.items():
        check(re.search(r"^ +severity: (critical|warning)$", text, flags=re.M), f"{name}: no severity")
        for annotation in ("summary", "description"):
            check(re.search(rf"""^ +{annotation}: (["']).+\1$""", text, flags=re.M), f"{name}: no {annotation}")
        summary = re.search(r"^ +summary: .*", text, flags=re.M).group()
        check("$labels.instance" in summary or name == "IntelGpuExporterAbsent", f"{name}: the summary names no host")
        check("$labels.device }}" not in text or "intel_gpu_info{" in text, f"{name}: names the GPU by its address only")
        check("runbook_url" not in text, f"{name}: runbook_url, which only the operator knows")
        check(name in sections, f"{name}: no section in docs/runbook.md")
        about = [test for test in re.findall(r"expr:.*?(?=\n      - |\n    alert_rule_test|\n  - |\n  #|\Z)", tests, flags=re.S)
                 if re.search(rf'alertname=~?"{name}"', test) or re.search(r'alertname=~"IntelGpuThrottled', test) and "Throttled" in name]
        check(any(f'alertname="{name}",alertstate="firing",severity' in test for test in about), f"{name}: no test in which it fires")
        # promtool compares the whole result: an alert that is not listed must not fire.
        check(any("exp_samples: []" in test for test in about), f"{name}: no test in which it must not fire")
    for section in sections - set(alerts):
        check(False, f"docs/runbook.md: {section} is no alert")
    return len(alerts)


def check_runbook(root):
    """deploy/kubernetes/rules --runbook adds the operator's page to every alert and its copies, and without it takes it away."""
    with tempfile.TemporaryDirectory() as name:
        copy = pathlib.Path(name)
        for part in ("deploy/kubernetes", "deploy/prometheus", "deploy/helm/intel-gpu-exporter", "tests/prometheus"):
            shutil.copytree(root / part, copy / part, ignore=shutil.ignore_patterns("dashboards"))

        def texts():
            return {path.relative_to(copy): path.read_text() for path in copy.rglob("*") if path.is_file()}

        before = texts()
        status, output = run(copy / "deploy/kubernetes/rules", "--runbook", "https://wiki.example.net/gpu")
        check(status == 0, output)
        for path in ("deploy/prometheus/rules/intel-gpu-alerts.yml", "deploy/kubernetes/overlays/monitoring/rules-alerts.yaml"):
            found = re.findall(r"^ +runbook_url: https://wiki.example.net/gpu#(\w+)$", texts()[pathlib.Path(path)], flags=re.M)
            check(sorted(found) == sorted(alert.lower() for alert in alerts_of(before[pathlib.Path("deploy/prometheus/rules/intel-gpu-alerts.yml")])),
                  f"--runbook: {path}: {found}")
        status, output = run(copy / "deploy/kubernetes/rules")
        check(status == 0 and texts() == before, f"deploy/kubernetes/rules: not what is committed: {output}")


def check_cost(file, text):
    """No rule reads hours of raw scrapes every few seconds: long windows read recorded series, which are few."""
    for group in re.split(r"^  - name: ", text, flags=re.M)[1:]:
        # Few series, and windows of a minute at most.
        often = "2s|" if re.match(r"intel-gpu-(alerts-)?channels\n", group) and not re.search(r"\[(?!\d+s|1m)", group) else ""
        check(re.search(rf"^    interval: ({often}30s|[1-5]m)$", group, flags=re.M), f"{file.name}: group {group.split()[0]} has no interval of its own")
        if "- alert:" in group:
            # With a longer interval ALERTS would flap: Prometheus returns a series for five minutes.
            check(re.search(rf"^    interval: ({often}30s|[1-4]m)$", group, flags=re.M), f"{file.name}: alerts of group {group.split()[0]} are evaluated too rarely")
    # Annotations are queries of one series, and only while their alert is active.
    text = re.sub(r"^ +(summary|description): .*", "", text, flags=re.M)
    for series, window in re.findall(r"([a-zA-Z_:][\w:]*)(?:\{[^}]*\})?\[(\d+[hd])", text):
        check(":" in series, f"{file.name}: {window} of {series} is read, which is not recorded")


# What the kernel writes, and the reason that node-problem-detector gives for it; none for a context that ended in peace.
KERNEL_LINES = {
    "xe 0000:03:00.0: [drm] *ERROR* CRITICAL: Xe has declared device 0000:03:00.0 as wedged.": "XeWedged",
    "xe 0000:03:00.0: [drm] In Survivability Mode": "XeSurvivabilityMode",
    "i915 0000:00:02.0: [drm] *ERROR* GT0: Failed to reset chip": "I915Wedged",
    "i915 0000:00:02.0: [drm] *ERROR* Failed to reset chip": "I915Wedged",
    "i915 0000:00:02.0: [drm] GPU HANG: ecode 12:8:2cffbffd, in ffmpeg [504625]": "IntelGpuHang",
    "xe 0000:03:00.0: [drm] Tile0: GT0: Timedout job: seqno=4294967169, lrc_seqno=4294967169, guc_id=3, flags=0x0 in ffmpeg [19639]": "IntelGpuHang",
    "i915 0000:00:02.0: [drm] GT0: Resetting chip for preemption time out": "IntelGpuReset",
    "xe 0000:03:00.0: [drm] Tile0: GT0: trying reset from guc_exec_queue_timedout_job [xe]": "IntelGpuReset",
    "xe 0000:03:00.0: [drm] Tile0: GT0: Engine reset: engine_class=vcs, logical_mask: 0x1, guc_id=27": None,
    "nouveau 0000:03:00.0: [drm] GPU HANG: ecode 1": None}


def check_kernel_log_rules(root):
    """The file for node-problem-detector."""
    content = json.loads((root / "deploy/kubernetes/node-problem-detector/intel-gpu.json").read_text())
    conditions = {condition["type"] for condition in content["conditions"]}
    for rule in content["rules"]:
        check(rule["type"] == "temporary" or rule["condition"] in conditions, f"{rule['reason']}: no such condition")
        # Written for Go's regexp: nothing that Python has beyond it.
        check("(?" not in rule["pattern"], f"{rule['reason']}: {rule['pattern']}")
    for line, reason in KERNEL_LINES.items():
        found = [rule["reason"] for rule in content["rules"] if re.search(rule["pattern"], line)]
        check(found == ([reason] if reason else []), f"node-problem-detector: {line!r} is {found}")


def check_names_of_dcgm(root, known):
    """What docs/prometheus.md offers in place of DCGM's names exists."""
    rows = re.findall(r"^\| `DCGM_.*$", (root / "docs/prometheus.md").read_text(), flags=re.M)
    names = set(re.findall(r"(?:\w+:)?intel_gpu_\w+(?::\w+)*", " ".join(row.split("|", 2)[2] for row in rows)))
    check(len(rows) >= 15, "too few rows for DCGM's names")
    for name in names - known:
        check(False, f"docs/prometheus.md: DCGM's names: there is no {name}")
    for theirs, ours in (("XID_ERRORS", "intel_gpu_hangs_total"), ("PCIE_REPLAY_COUNTER", "intel_gpu_pcie_errors_total")):
        check(any(theirs in row and ours in row for row in rows), f"docs/prometheus.md: DCGM's {theirs} is {ours}")


# What is said of things that METRICS.md calls otherwise.
OTHER_WORDS = {r"\bAER\b": "intel_gpu_pcie_errors_total", r"\bfirmware\b(?! updates)|versions? of (GuC|HuC)": "intel_gpu_firmware_info",
               r"(crash|core) ?dumps?": "intel_gpu_core_dumps_total", r"\bhangs?\b": "intel_gpu_hangs_total",
               r"^history": "intel_gpu_exporter_flights_total", r"\b(OTLP|MQTT)\b": "intel_gpu_exporter_push_samples_total"}
UNITS = "total|info|bytes|seconds|ratio|watts|joules|hertz|celsius|rpm|volts|amperes|lanes|transfers_per_second"


def denied(page):
    """What the tables of docs/comparison.md say that the exporter has not."""
    header = []
    for line in page.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not cells or not header:
            header = cells
        elif header[-1] == "what it has that is missing here":
            yield cells[-1]
        elif header[1] in ("here", "this exporter") and re.match(r"(\*\*)?(no|not)\b", cells[1]) and not cells[0].startswith("to "):
            yield cells[0]


def check_comparison(root, described):
    """docs/comparison.md denies nothing that METRICS.md has."""
    words = dict(OTHER_WORDS)
    for name in described:
        phrase = re.sub(rf"^intel_[gn]pu_(exporter_)?|_({UNITS})(?=_|$)", "", name).replace("_", " ")
        if " " in phrase:
            words[rf"\b{phrase}\b"] = name
    rows = list(denied((root / "docs/comparison.md").read_text()))
    check(len(rows) >= 15, "docs/comparison.md: too few rows")
    for word, name in words.items():
        check(name in described, f"{word} stands for {name}, which is not in METRICS.md")
        for row in rows:
            check(not re.search(word, row, flags=re.I) and name not in row, f"docs/comparison.md denies {name}: {row}")


def main():
    root = pathlib.Path(sys.argv[1])
    folder = root / "deploy/prometheus"
    here = root / "tests/prometheus"
    reference = (root / "collectors/METRICS.md").read_text()
    described = set(re.findall(r"`(intel_gpu_\w+)`", reference))

    configurations = check_configurations(folder)
    check_pages(root)
    rules = sorted((folder / "rules").glob("*.yml"))
    status, output = run("promtool", "check", "rules", *map(str, rules))
    check(status == 0, output)
    recorded = set()
    for file in rules:
        text = re.sub(r"#.*", "", file.read_text())
        recorded |= set(re.findall(r"record: (\S+)", text))
        check_cost(file, text)
        for metric in set(re.findall(r"(?<![\w:])intel_gpu_\w+(?![\w:])", text)):
            histogram = re.sub("_(bucket|sum|count)$", "", metric)
            check(metric in described or f"| `{histogram}` | histogram |" in reference, f"{file.name}: {metric} is not in METRICS.md")
    check_names_of_dcgm(root, described | recorded)
    check_comparison(root, described)
    check_runbook(root)
    check_kernel_log_rules(root)
    tests = sorted(here.glob("*_test.yml"))
    for file in tests:
        status, output = run("promtool", "test", "rules", file.name, cwd=here)
        check(status == 0, output)
    tested = "".join(file.read_text() for file in tests)
    for name in recorded:
        # igpu has three names per engine; this tests those of one engine, end_to_end/dashboard_queries tests all.
        check(re.search(rf"(?<![\w:]){re.escape(name)}(?![\w:])", tested) or name.startswith("igpu_"), f"{name}: no test")
    alerts = check_alerts(root, tested)
    check(configurations >= 4 and alerts >= 10 and len(recorded) >= 20, "too little was found to check")
    finish(f"{configurations} configurations, {len(recorded)} recorded names, {alerts} alerts, ")


if __name__ == "__main__":
    main()
