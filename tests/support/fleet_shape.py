# SPDX-License-Identifier: Apache-2.0
"""Shape (b) of deploy/fleet on loopback: its files and flags with other addresses, without TLS; and everything faster where a test asks."""
import contextlib
import json
import pathlib
import re
import shlex

import yaml

from exporter_under_test import replace_file
from fleet_engines import Alertmanager, Link, Receiver, VictoriaMetrics, VmAgent, VmAlert, VmAuth

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOKENS = {"WRITE_TOKEN": "may-write", "READ_TOKEN": "may-read"}


def units():
    """(file, program, flags) of every unit and every file of arguments in deploy/fleet/systemd."""
    for file in sorted((ROOT / "deploy/fleet/systemd").iterdir()):
        text = re.sub(r"^#.*\n", "", file.read_text(), flags=re.M).replace("\\\n", " ")
        if file.suffix == ".default":
            yield file.name, file.stem, shlex.split(re.search(r'^ARGS="(.*)"$', text, re.M).group(1))
        else:
            program, *flags = shlex.split(re.search(r"^ExecStart=/usr/bin/(.*)$", text, re.M).group(1))
            yield file.name, program, flags


def flags_of(program, keep):
    return [flag for _, name, flags in units() if name == program for flag in flags if re.match(rf"-({keep})(=|$)", flag)]


def faster(text, speed, keys):
    """Divides the durations after these keys."""
    def shorter(match):
        seconds = int(match.group(2)) * {"s": 1, "m": 60, "h": 3600}[match.group(3)] / speed
        return f"{match.group(1)}{max(1, round(seconds))}s"
    return re.sub(rf"^(\s*(?:- )?(?:{keys}): )(\d+)([smh])\b", shorter, text, flags=re.M)


class Shape:
    """with Shape(fleet, folder) as shape: scrapers, storages, rules, alertmanagers, and the receiver of messages."""

    def __init__(self, fleet, folder, interval=15, speed=1, replication=None, members=3):
        self.fleet, self.folder, self.interval, self.speed = fleet, folder, interval, speed
        self.programs, self.members, self.replication = contextlib.ExitStack(), members, replication

    def __exit__(self, *_):
        self.programs.close()

    def __enter__(self):
        with self.programs:
            self.start()
            self.programs = self.programs.pop_all()
        return self

    def start(self):
        enter, folder = self.programs.enter_context, self.folder
        rules = folder / "rules"
        rules.mkdir()
        for file in (ROOT / "deploy/prometheus/rules").glob("intel-gpu-*.yml"):
            (rules / file.name).write_text(faster(file.read_text(), self.speed, "interval|for"))
        self.receiver = enter(Receiver())
        text = (ROOT / "deploy/fleet/alertmanager/alertmanager.yml").read_text()
        text = re.sub(r"url: \S+", f"url: {self.receiver.url}", faster(text, self.speed, "group_wait|group_interval"))
        (folder / "alertmanager.yml").write_text(text)
        self.alertmanagers = [enter(Alertmanager(folder / "alert-a", folder / "alertmanager.yml", f"--cluster.settle-timeout={max(1, 60 // self.speed)}s"))]
        self.alertmanagers.append(enter(Alertmanager(folder / "alert-b", folder / "alertmanager.yml", f"--cluster.settle-timeout={max(1, 60 // self.speed)}s",
                                                     peer=self.alertmanagers[0])))
        self.alertmanagers[0].flags.append(f"--cluster.peer=127.0.0.1:{self.alertmanagers[1].cluster}")  # when it starts again
        kept = flags_of("victoria-metrics", "retentionPeriod|search.*")
        self.storages = [enter(VictoriaMetrics(folder / f"store-{name}", *kept, f"-dedup.minScrapeInterval={self.interval}s")) for name in "ab"]
        self.auths = [enter(VmAuth(folder / f"auth-{name}", ROOT / "deploy/fleet/victoriametrics/auth.yml", {"STORE:8428": storage.address}, **TOKENS))
                      for name, storage in zip("ab", self.storages)]
        self.links = [enter(Link(auth.port)) for auth in self.auths]
        notifiers = [f"-notifier.url={one.base}" for one in self.alertmanagers]
        self.rules = [enter(VmAlert(folder / f"rules-{name}", f"-rule={rules}/intel-gpu-*.yml", *flags_of("vmalert", "datasource.queryStep|remoteWrite.flushInterval|disableAlertgroupLabel"),
                                    f"-evaluationInterval={max(1, 30 // self.speed)}s", *notifiers,
                                    *(f"-{what}.url={storage.base}" for what in ("datasource", "remoteWrite", "remoteRead"))))
                      for name, storage in zip("ab", self.storages)]
        config = yaml.safe_load((ROOT / "deploy/fleet/victoriametrics/scrape.yml").read_text())
        config["global"] = {"scrape_interval": f"{self.interval}s"}
        job = config["scrape_configs"][0]
        for key in ("scheme", "tls_config", "basic_auth", "relabel_configs"):  # instance comes with the targets
            job.pop(key)
        job["file_sd_configs"] = [{"files": [f"{folder}/targets.json"]}]
        self.change(config)
        (folder / "scrape.yml").write_text(yaml.safe_dump(config))
        self.set_targets()
        kept = flags_of("vmagent", "promscrape.cluster.replicationFactor|remoteWrite.maxDiskUsagePerURL")
        if self.replication:
            kept.append(f"-promscrape.cluster.replicationFactor={self.replication}")
        self.scrapers = [enter(VmAgent(folder / f"scrape-{number}", *kept, f"-promscrape.config={folder}/scrape.yml", "-promscrape.fileSDCheckInterval=2s",
                                       f"-promscrape.cluster.membersCount={self.members}", f"-promscrape.cluster.memberNum={number}",
                                       "-promscrape.suppressScrapeErrors",
                                       f"-remoteWrite.bearerToken={TOKENS['WRITE_TOKEN']}",
                                       *(f"-remoteWrite.url=http://{link.address}/api/v1/write" for link in self.links)))
                         for number in range(self.members)]

    def change(self, config):
        """For a caller that has a use for it."""

    def set_targets(self, names={}):
        replace_file(self.folder / "targets.json", json.dumps(self.fleet.targets(names)))

    def leave_one_storage(self):
        """To measure queries as on a machine of its own."""
        for one in (*self.scrapers, *self.rules, *self.auths, *self.storages[1:]):
            one.kill()

    def parts(self):
        return {"scrapers": self.scrapers, "storages": self.storages, "vmauth": self.auths, "vmalert": self.rules, "Alertmanagers": self.alertmanagers}
