# SPDX-License-Identifier: Apache-2.0
"""Faults of a fleet, one after the other, and what must hold meanwhile: tests/bench/fleet --faults."""
import collections
import json
import pathlib
import re
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from exporter_under_test import check, wait_for  # noqa: E402
from fleet_engines import VictoriaMetrics  # noqa: E402
from fleet_shape import Shape  # noqa: E402
from remote_write import packed, post  # noqa: E402
from simulated_fleet import HOSTS_PER_RACK, Fleet  # noqa: E402

SEEN = "intel_gpu_exporter_devices"  # one series for each host
COUNTER = "intel_gpu_energy_joules_total"
SHORT = ("a scraper dies", "a storage dies and comes back", "a rack loses power, and an Alertmanager dies")
RESTARTED, TWIN, NAMED_LIKE, LONELY = 1, 2, 3, 4  # hosts of the first rack


class Run:
    def __init__(self, shape, fleet, short):
        self.shape, self.fleet, self.short, self.speed, self.interval = shape, fleet, short, shape.speed, shape.interval
        self.began = time.time()
        self.windows = {}  # {fault: (begin, end)}
        self.down = {}  # {host: [(begin, end)]}: not to be scraped then
        self.alarms_due = set()  # hosts that must be reported as down

    def rest(self, seconds):
        """Seconds of real operation, which a faster fleet has sooner."""
        time.sleep(max(seconds / self.speed, 4 * self.interval))

    def delivered(self):
        """Nothing waits in a scraper's queue any more."""
        def waiting():
            sums = [scraper.metrics("vmagent_remotewrite_pending_data_bytes") for scraper in self.shape.scrapers]
            return sum(one["vmagent_remotewrite_pending_data_bytes"] for one in sums)
        wait_for(lambda: waiting() < 100_000, "the queues of the scrapers are empty", 600)

    def fault(self, name, act):
        if self.short and name not in SHORT:
            return
        begin = time.time()
        act()
        self.windows[name] = (begin, time.time())
        print(f"{time.time() - self.began:6.0f} s  {name}: {time.time() - begin:.0f} s", flush=True)

    def take_down(self, hosts, seconds):
        begin = self.fleet.set("down", hosts)
        self.rest(seconds)
        end = self.fleet.set("ok", hosts)
        for host in hosts:
            self.down.setdefault(host, []).append((begin, end))
        self.alarms_due |= set(hosts)
        self.rest(120)

    def scraper_dies(self):
        self.shape.scrapers[1].kill()
        self.rest(300)
        self.shape.scrapers[1].start()
        self.rest(60)

    def storage_dies(self):
        self.shape.storages[0].kill()
        self.rest(300)
        self.shape.storages[0].start()
        self.delivered()
        self.rest(60)

    def network_is_cut(self):
        self.shape.links[1].cut()
        self.rest(600)
        self.shape.links[1].mend()
        self.delivered()
        self.rest(60)

    def rack_loses_power(self):
        """Longer than IntelGpuExporterDown waits, and its message."""
        self.shape.alertmanagers[0].kill()
        self.take_down(range(HOSTS_PER_RACK, 2 * HOSTS_PER_RACK), 600)
        self.shape.alertmanagers[0].start()
        self.rest(60)

    def host_restarts(self):
        self.fleet.set("restarted", [RESTARTED])
        self.rest(60)

    def two_hosts_have_one_name(self):
        self.shape.set_targets({TWIN: self.fleet.name(NAMED_LIKE)})
        begin = time.time()
        self.rest(120)
        self.shape.set_targets()
        self.down.setdefault(TWIN, []).append((begin, time.time() + 3))
        self.down.setdefault(NAMED_LIKE, []).append((begin, time.time() + 3))
        self.rest(60)

    def alertmanager_dies(self):
        self.shape.alertmanagers[1].kill()
        self.take_down([LONELY], 600)
        self.shape.alertmanagers[1].start()
        self.rest(60)

    def all_faults(self):
        self.rest(60)
        self.fault("a scraper dies", self.scraper_dies)
        self.fault("a storage dies and comes back", self.storage_dies)
        self.fault("the network between the scrapers and one storage is cut", self.network_is_cut)
        self.fault("a rack loses power, and an Alertmanager dies", self.rack_loses_power)
        self.fault("a host restarts with its counters at 0", self.host_restarts)
        self.fault("two hosts have one name", self.two_hosts_have_one_name)
        self.fault("the other Alertmanager dies, and a host", self.alertmanager_dies)
        self.delivered()
        time.sleep(6)
        self.ended = time.time()

    # --- what must hold

    def gaps(self, storages):
        """{host: (longest time between two samples in which it was there, when)}"""
        times = collections.defaultdict(set)
        for storage in storages:
            for labels, samples in storage.samples(SEEN, self.began, self.ended).items():
                times[json.loads(labels)["instance"]] |= {at for at, value in samples if value is not None}
        longest = {}
        for number in range(self.fleet.count):
            found = sorted(times[self.fleet.name(number)])
            steps = [(after - before, before) for before, after in zip(found, found[1:])
                     if not any(begin < after and before < end + 2 * self.interval for begin, end in self.down.get(number, []))]
            longest[number] = max(steps, default=(self.ended - self.began, self.began))
        return longest

    def during(self, at):
        return next((name for name, (begin, end) in self.windows.items() if begin <= at <= end), "no fault")

    def check_samples(self):
        for what, storages, more in (("both storages together", self.shape.storages, 0), ("storage a", self.shape.storages[:1], 10), ("storage b", self.shape.storages[1:], 10)):
            gaps = self.gaps(storages)
            host, (longest, at) = max(gaps.items(), key=lambda item: item[1][0])
            print(f"longest gap in {what}: {longest:.1f} s ({self.fleet.name(host)}, {self.during(at + longest)}); scrapes are {self.interval} s apart")
            # Two scrapers have two moments in an interval, and of each interval the last sample stays.
            check(longest <= 2.5 * self.interval + more, f"samples were lost: {what} has a gap of {longest:.1f} s for {self.fleet.name(host)}, "
                                                         f"{self.during(at + longest)}; {sum(gap > 2.5 * self.interval + more for gap, _ in gaps.values())} hosts have one")

    def check_counters(self):
        """The increase over the whole run, by the engine's own function. A window ends where there are samples: up to two intervals are not
        counted as an error, nor what a host counted between its last scrape and its restart."""
        worst, window = 0, int(self.ended - self.began)
        for storage in self.shape.storages:
            answers = storage.query(f"sum by (instance) (increase({COUNTER}[{window}s]))", time=self.ended)
            found = {row["metric"]["instance"]: float(row["value"][1]) for row in answers}
            for number in range(self.fleet.count):
                name, rate = self.fleet.name(number), self.fleet.rate(COUNTER, number)
                if "two hosts have one name" in self.windows and number in (TWIN, NAMED_LIKE):
                    continue
                edges = rate * self.interval * (4 if number == RESTARTED else 2)
                off = max(0, abs(found.get(name, 0) - rate * window) - edges) / (rate * window)
                worst = max(worst, off)
                check(off <= 0.01, f"the increase of {name} is {found.get(name, 0):.0f} J and was {rate * window:.0f} J")
        print(f"increase of a counter over {window} s: at most {100 * worst:.2f} % off")

    def check_messages(self):
        reported, sent, messages = collections.defaultdict(set), collections.defaultdict(list), collections.Counter()
        for at, message in self.shape.receiver.messages:
            alerts = frozenset((alert["fingerprint"], alert["status"], alert["startsAt"]) for alert in message["alerts"])
            sent[(message["groupKey"], message["status"], alerts)].append(at)
            labels = message["groupLabels"]
            if labels["alertname"] == "IntelGpuExporterDown" and message["status"] == "firing":
                messages[labels.get("rack")] += 1
                reported[labels.get("rack")] |= {alert["labels"]["instance"] for alert in message["alerts"] if alert["status"] == "firing"}
        twice = {key: times for key, times in sent.items() if len(times) > 1}
        print(f"{len(self.shape.receiver.messages)} messages, {len(twice)} of them twice; hosts down by rack, in messages: {dict(messages)}")
        for (group, status, alerts), times in twice.items():
            when = ", ".join(f"{at - self.began:.0f} s ({self.during(at)})" for at in times)
            check(False, f"the Alertmanagers sent more than once: {status} {group} {sorted(alerts)[:2]} at {when}")
        due = {self.fleet.name(host) for host in self.alarms_due}
        found = set().union(*reported.values()) if reported else set()
        check(not due - found, f"alerts were lost: nobody was told of {sorted(due - found)}")
        check(not found - due, f"a false alarm: {sorted(found - due)} were reported as down")
        for rack, count in messages.items():
            # The two that evaluate rules are not in step, so a rack's last hosts may come in a second message.
            check(count <= 2, f"a storm: rack {rack} was reported in {count} messages")


def clocks_differ(folder):
    """Two scrapers whose clocks differ by five seconds, of which one fails now and then: the storage's deduplication makes one counter
    of their samples."""
    with VictoriaMetrics(folder / "clocks", "-dedup.minScrapeInterval=15s", "-search.latencyOffset=0s") as storage:
        end = int(time.time()) - 60
        labels = (("__name__", COUNTER), ("instance", "skewed"), ("job", "intel-gpu"))
        for offset, ahead in ((2, 0), (9, 5), (9, -5)):
            samples = []
            for number in range(end - 3600, end, 15):
                samples.append((number + 3, 100.0 * (number + 3 - end + 4000)))
                if number // 15 % 7:  # the other one
                    at = number + offset
                    samples.append((at + ahead, 100.0 * (at - end + 4000)))
            post(storage.base, packed([((*labels[:2], ("case", f"{offset}{ahead:+}"), labels[2]), sorted(samples))]))
        storage.query("up")
        time.sleep(3)
        rows = storage.query(f"increase({COUNTER}[3000s])", time=end)
        for row in rows:
            off = float(row["value"][1]) / 300000 - 1
            print(f"clocks differ by 5 s, case {row['metric']['case']}: the increase is {100 * off:+.2f} % off")
            check(abs(off) <= 0.01, f"clocks differ by 5 s: the increase is {100 * off:+.2f} % off")
        check(len(rows) == 3, f"clocks differ: {rows}")


def faults(binary, hosts, short, speed, replication):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with Fleet(binary, folder, hosts) as fleet, Shape(fleet, folder, interval=15 // speed, speed=speed, replication=replication) as shape:
            run = Run(shape, fleet, short)
            wait_for(lambda: any(len(storage.query(SEEN)) >= hosts for storage in shape.storages), "all hosts are scraped", 300)
            run.began = time.time()
            run.all_faults()
            run.check_samples()
            run.check_counters()
            run.check_messages()
        if not short:
            clocks_differ(folder)
