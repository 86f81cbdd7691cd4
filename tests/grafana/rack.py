# SPDX-License-Identifier: Apache-2.0
"""A rack on loopback: simulated exporters, and a real Prometheus with all our rules that scrapes them."""
import contextlib
import fcntl
import json
import pathlib
import re
import shutil
import struct
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from exporter_under_test import Exporter, Prometheus, wait_for  # noqa: E402

API_TABLE = pathlib.Path(__file__).resolve().parents[2] / "collectors/level_zero/tracker/api_table.inc"
# Mostly the large profile; the others for what it lacks: virtual functions, an NPU, a host without permissions, one
# whose cards sleep.
PROFILES = ["rack"] * 11 + ["hypervisor", "npu"] + ["tgl-broadcast"] * 2 + ["arc-a770", "battlemage", "locked", "asleep", "rack"]


def level_zero_page(pid, ended):
    """As collectors/level_zero/tracker/page_layout.h has it: a context, and two allocations on the device of which one is live."""
    chunk, kinds, calls, modules = 1024, 64, 8 * 192, 128
    sites = 4096 + kinds * 64 + calls * 16 + modules * 128
    entries = -(-(sites + 2048 * (16 + 8)) // 4096) * 4096
    page = bytearray(entries + chunk * 48)
    known_kinds, known_functions = (len(re.findall(rf"^LEVEL_ZERO_{what}\(", API_TABLE.read_text(), re.M)) for what in ("KIND", "FUNCTION"))
    struct.pack_into("=QIIQQIIIIQQQQQQII16s", page, 0, 0x004f52455a4c5649, 1, 1, entries, chunk, known_kinds, known_functions, pid, 0,
                     1_000_000_000, 1, ended, 0, 0, 0, 1, 0, b"trainer")
    names = re.findall(r"^LEVEL_ZERO_KIND\((\w+)\)", API_TABLE.read_text(), re.M)
    for kind, counters in (("context", (1, 0, 1, 1, 0, 0, 0, 0)), ("memory_device", (2, 1, 1, 2, 1, 1 << 30, 2 << 30, 2 << 30))):
        struct.pack_into("=8Q", page, 4096 + names.index(kind) * 64, *counters)
    struct.pack_into("=2Q", page, 4096 + kinds * 64, 4, 1)
    return bytes(page)


class Rack:
    """with Rack(binary, root, folder) as rack: rack.query(...)"""

    def __init__(self, binary, root, folder, profiles=PROFILES, stagger=0):
        self.binary, self.root, self.folder, self.profiles, self.stagger = binary, root, folder, profiles, stagger
        self.exporters, self.programs = [], contextlib.ExitStack()

    def __enter__(self):
        with self.programs:
            self.start()
            self.programs = self.programs.pop_all()
        return self

    def __exit__(self, *_):
        for exporter in self.exporters:
            exporter.signal_end()  # all at the same time
        self.programs.close()

    def start(self):
        for number, profile in enumerate(self.profiles):
            time.sleep(self.stagger)  # their loads follow the time since their start: those of one moment are all alike
            exporter = Exporter(self.binary, self.folder / f"exporter-{number}.log", f"--simulate={profile}", "--collector.workloads",
                                *(["--collector.jobs", "--sample.interval=100ms"] if number < 3 else []))  # some of them: histograms have many series
            self.exporters.append(self.programs.enter_context(exporter))
        trainer = Exporter(self.binary, self.folder / "trainer.log", f"--path.level-zero={self.level_zero_pages()}")
        self.exporters.insert(0, self.programs.enter_context(trainer))
        # Instances with names: a dashboard of twenty times 127.0.0.1 says nothing.
        groups = [{"targets": [f"127.0.0.1:{exporter.port}"], "labels": {"instance": f"encoder-{number:02}" if number else "trainer-01"}}
                  for number, exporter in enumerate(self.exporters)]
        shutil.copytree(self.root / "deploy/prometheus/rules", self.folder / "rules")
        for rules in (self.folder / "rules").glob("*.yml"):  # each group every three seconds, and not by its own interval
            rules.write_text(re.sub(r"^    interval: \w+\n", "", rules.read_text(), flags=re.M))
        (self.folder / "targets.json").write_text(json.dumps(groups))
        self.prometheus = self.programs.enter_context(Prometheus(
            self.folder, "global: {scrape_interval: 1s, evaluation_interval: 3s}\nrule_files: [rules/*.yml]\n"
            "scrape_configs:\n- {job_name: intel-gpu, file_sd_configs: [{files: [targets.json]}]}\n"))
        self.query, self.api = self.prometheus.query, self.prometheus.api

    def level_zero_pages(self):
        """Simulated machines have no Level Zero programs: a real one that has left a page, and one that keeps the lock on its
        page, as a program does while it runs."""
        folder = self.folder / "level-zero"
        folder.mkdir()
        for number, ended in enumerate((0, time.time_ns())):
            path = folder / f"{number + 100}-{number + 1}.l0"
            path.write_bytes(level_zero_page(number + 100, ended))
            if not ended:
                self.running = self.programs.enter_context(path.open("r+b"))
                fcntl.lockf(self.running, fcntl.LOCK_EX, 1)
        return folder

    def wait_for_samples(self, count):
        """Until every exporter has been scraped so often."""
        wait_for(lambda: (self.prometheus.value("min(count_over_time(up[10m]))") or 0) >= count, f"{count} scrapes of every exporter")

    def stop_last_exporter(self):
        """A host that goes down: an alert is pending from then on."""
        self.exporters[-1].stop()
        wait_for(lambda: self.query('ALERTS{alertname="IntelGpuExporterDown"}'), "an alert for the exporter that stopped")


def panels(dashboard):
    for panel in dashboard["panels"]:
        yield panel
        yield from panel.get("panels", [])


def asked(expression):
    """The query itself. Of one that may rightly answer nothing (a hang, a lost block, why a reading is missing) what it asks for:
    there must be such series, if not with the reason or the state that it names."""
    if not re.search(r"unless on \(\)|ALERTS|(==|[<>]=?) *(bool *)?\d|:increase10m", expression):
        return [expression]
    expression = re.sub(r"\b\w+:(\w+):increase10m", r"\1_total", expression)  # a rule that records only faults
    selectors = {re.sub(r'(?<=[{,])(reason|alertstate)!?="[^"]*",?', "", one) for one in re.findall(r"\b[a-zA-Z_:][\w:]*\{[^}]*\}", expression)}
    return [f"last_over_time({selector}[5m])" for selector in sorted(selectors)] or [expression]


def queries(dashboard):
    """(where, PromQL) of every panel, every annotation and every query variable; what several ask for once."""
    named = [(f"panel '{panel['title']}' {target['refId']}", target["expr"]) for panel in panels(dashboard) for target in panel.get("targets", [])]
    named += [(f"annotation '{one['name']}'", one["expr"]) for one in dashboard["annotations"]["list"]]
    yield from {expression: (where, expression) for where, whole in named for expression in asked(whole)}.values()
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            text = variable["query"]["query"]
            match = re.fullmatch(r"label_values\((.*), *(\w+)\)", text)
            assert match, f"variable {variable['name']}: {text}"
            yield f"variable '{variable['name']}'", f"count by ({match.group(2)}) ({match.group(1)})"


def expand(expression, instance=".*"):
    for name, value in {"$__rate_interval": "10s", "$__interval": "5s", "$__range_s": "30", "$__range": "30s", "$price": "0.3", "$instance": instance}.items():
        expression = expression.replace(name, value)
    return re.sub(r"\$\{?[a-z]\w*\}?", ".*", expression)


def dashboards(root):
    for file in sorted((pathlib.Path(root) / "grafana").glob("*.json")):
        yield file.name, json.loads(file.read_text())
