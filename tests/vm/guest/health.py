# SPDX-License-Identifier: Apache-2.0
"""Faults of the GPUs on `tgl+bmg` with rpm=1: what the kernel reports and what the page counts, by all channels at once."""

import collections
import grp
import os
import random
import socket
import threading
import time

from model import machine
from power_saving import asleep, node, resumes
from vm import (Exporter, Load, Page, absent, as_user, ctl, equal, present, read, run_tool, verdict, wait_for, write)

EVENTS = 1000
APART = 6  # seconds: lines that follow each other within five belong to one hang
ALICE = 1000
HANGS, BY_PROCESS = "intel_gpu_hangs_total", "intel_gpu_process_hangs_total"
RESETS, DUMPS = "intel_gpu_resets_total", "intel_gpu_core_dumps_total"
WEDGED, LAST, LOST = "intel_gpu_wedged", "intel_gpu_last_fault_timestamp_seconds", "intel_gpu_fault_events_lost_total"
COUNTERS = (HANGS, BY_PROCESS, RESETS, DUMPS)
SUCCESS = "intel_gpu_scrape_collector_success"
FEATURE = "intel_gpu_exporter_feature_available"
DUMP = r"coredump **** Xe Device Coredump ****\nkernel: 6.14.0\nmodule: xe\nProcess: ffmpeg [19639]\n"


class Event:
    """What the kernel does, and by how much the page grows."""

    def __init__(self, steps, alone=False):
        self.steps = steps
        self.alone = alone  # its lines name no queue: whatever comes within five seconds belongs to the same hang
        self.counts = collections.Counter()

    def count(self, metric, **labels):
        self.counts[metric, tuple(sorted(labels.items()))] += 1
        return self

    def hang(self, gpu, kind, engine_class="unknown", who=None):
        self.count(HANGS, **{"device": gpu.address, "kind": kind, "class": engine_class})
        return self.count(BY_PROCESS, device=gpu.address, pid=str(who[1]), comm=who[2]) if who else self


class Kernel:
    """Makes events. Who: the id and the name in the log, then the process that is to be counted."""

    def __init__(self, i915, xe, people):
        self.i915, self.xe, self.people = i915, xe, people
        self.random = random.Random(22)
        self.queue = 0

    def event(self):
        return self.random.choice([
            self.engine_hang, self.context_hang, self.context_hang, self.hang_of_nobody, self.full_reset, self.fence,
            self.i915_firmware, self.failed_engine_reset, self.job_timeout, self.job_timeout, self.job_timeout_of_6_8,
            self.job_after_engine_reset, self.cat_error, self.engine_reset, self.engine_reset, self.page_fault,
            self.gt_reset, self.xe_engine_reset_failed, self.xe_firmware, self.core_dump, self.foreign_dump,
            self.program_line, self.monitor, self.harmless])()

    def who(self):
        name, thread, pid, comm = self.random.choice(self.people)
        return name, thread, (name, pid, comm)

    def lines(self, gpu, *texts):
        return [lambda text=text: gpu.ctl(f"log 5 [drm] {text}") for text in texts]

    def uevent(self, gpu, pair):
        return [lambda: gpu.ctl(f"uevent {pair}")]

    # i915

    def engine_hang(self):
        name, thread, who = self.who()
        return Event(self.lines(self.i915, "Resetting vecs0 for preemption time out",
                                f"{name}[{thread}] context reset due to GPU hang",
                                f"GPU HANG: ecode 12:8:2cffbffd, in {name} [{thread}]")).hang(
                                    self.i915, "hang", "video_enhance", who)

    def context_hang(self):
        name, thread, who = self.who()
        mask, engine_class = self.random.choice([("1", "render"), ("2", "copy"), ("4", "video"), ("10", "compute")])
        return Event(self.lines(self.i915, f"GPU HANG: ecode 12:{mask}:85dffffb, in {name} [{thread}]")).hang(
            self.i915, "hang", engine_class, who)

    def hang_of_nobody(self):
        return Event(self.lines(self.i915, "GPU HANG: ecode 12:0:00000000")).hang(self.i915, "hang")

    def full_reset(self):
        g, (name, thread, who) = self.i915, self.who()
        return Event([*self.uevent(g, "ERROR=1"), *self.lines(g, f"GPU HANG: ecode 9:4:85dffffb, in {name} [{thread}]"),
                      *self.uevent(g, "RESET=1"), *self.lines(g, "GT0: Resetting chip for stopped heartbeat on vcs0"),
                      *self.uevent(g, "ERROR=0")]).hang(g, "hang", "video", who).count(
                          RESETS, device=g.address, kind="full")

    def fence(self):
        name, thread, who = self.who()
        text = f"Fence expiration time out i915-{self.i915.address}:{name}[{thread}]:2!"
        return Event([lambda: ctl(f"log 5 {text}")]).hang(self.i915, "fence_expired", who=who)

    def i915_firmware(self):
        return Event(self.lines(self.i915, "*ERROR* GT0: GUC: TLB invalidation response timed out for seqno 33",
                                "*ERROR* GT0: GUC: TLB invalidation response timed out for seqno 34"), True).hang(
                                    self.i915, "firmware")

    def failed_engine_reset(self):
        name, thread, who = self.who()
        return Event(self.lines(self.i915, "*ERROR* GT0: GUC: Engine reset failed on 0:0 (rcs0) because 0x00000000",
                                f"GPU HANG: ecode 12:1:85dffffb, in {name} [{thread}]"), True).hang(
                                    self.i915, "hang", "render", who)

    # xe

    def new_queue(self):
        self.queue = self.queue % 60000 + 1
        return self.queue

    def timeout(self, queue, name=None, pid=None):
        return (f"Tile0: GT0: Timedout job: seqno=4294967169, lrc_seqno=4294967169, guc_id={queue}, flags=0x0" +
                (f" in {name} [{pid}]" if name else ""))

    def job_timeout(self):
        name, pid, who = self.who()
        return Event(self.lines(self.xe, self.timeout(self.new_queue(), name, pid))).hang(
            self.xe, "job_timeout", who=who)

    def job_timeout_of_6_8(self):
        return Event(self.lines(self.xe, f"Timedout job: seqno=1, guc_id={self.new_queue()}, flags=0x0")).hang(
            self.xe, "job_timeout")

    def job_after_engine_reset(self):
        queue, (name, pid, who) = self.new_queue(), self.who()
        return Event(self.lines(self.xe, f"Tile0: GT0: Engine reset: engine_class=vcs, logical_mask: 0x1, guc_id={queue}",
                                self.timeout(queue, name, pid))).hang(self.xe, "job_timeout", "video", who)

    def cat_error(self):
        queue, (name, pid, who) = self.new_queue(), self.who()
        version = self.random.choice(["", " [18]"])
        return Event(self.lines(self.xe, f"Tile0: GT0: Engine memory CAT error{version}: class=bcs, logical_mask: 0x1, "
                                f"guc_id={queue}",
                                f"Tile0: GT0: Engine reset: engine_class=bcs, logical_mask: 0x1, guc_id={queue}, state=0x3",
                                self.timeout(queue, name, pid))).hang(self.xe, "cat_error", "copy", who)

    def engine_reset(self):
        """It also follows the normal end of a queue."""
        return Event(self.lines(self.xe, "GT0: Engine reset: engine_class=rcs, logical_mask: 0x1, "
                                f"guc_id={self.new_queue()}"))

    def page_fault(self):
        return Event(self.lines(self.xe, r"GT0: \n\tASID: 1\n\tVFID: 0\n\tPDATA: 0x0490",
                                "GT0: Fault response: Unsuccessful -EINVAL"), True).hang(self.xe, "page_fault")

    def gt_reset(self):
        return Event(self.lines(self.xe, "GT0: trying reset from guc_exec_queue_timedout_job", "GT0: reset queued",
                                "GT0: reset started", "GT0: reset done"), True).hang(self.xe, "gt_reset")

    def xe_engine_reset_failed(self):
        return Event(self.lines(self.xe, "*ERROR* GT0: GuC engine reset request failed on 0:0 because 0x00000000",
                                "GT0: reset queued", "GT0: reset started", "GT0: reset done"), True).hang(
                                    self.xe, "engine_reset")

    def xe_firmware(self):
        return Event(self.lines(self.xe, "*ERROR* GT0: Schedule disable failed to respond, guc_id=3"), True).hang(
            self.xe, "firmware")

    def core_dump(self):
        return Event([lambda: make_dump(self.xe)]).count(DUMPS, device=self.xe.address)

    # nothing

    def foreign_dump(self):
        return Event([lambda: ctl("coredump of a network card")])

    def program_line(self):
        return Event([lambda: write("/dev/kmsg", f"<5>xe {self.xe.address}: [drm] " + self.timeout(1, "a", 2))])

    def monitor(self):
        return Event(self.uevent(self.random.choice([self.i915, self.xe]), "HOTPLUG=1"))

    def harmless(self):
        return Event([*self.lines(self.i915, "GPU error state saved to /sys/class/drm/card0/error"),
                      *self.lines(self.xe, "Xe device coredump has been deleted.")])


def dumps_of(gpu):
    """The folders of its core dumps."""
    top = "/sys/class/devcoredump"

    def device_of(name):
        try:
            return os.path.realpath(f"{top}/{name}/failing_device")
        except FileNotFoundError:
            return None  # realpath() looks at the folder, reads the link, and the dump goes in between
    return [f"{top}/{name}" for name in os.listdir(top) if device_of(name) == os.path.realpath(gpu.sys)]


def make_dump(gpu, text=DUMP):
    """A core dump, after somebody has saved the one before it, without which the kernel makes none."""
    for dump in dumps_of(gpu):
        try:
            write(dump + "/data", "done")
        except OSError:
            pass  # its five minutes are over
    if not wait_for(lambda: not dumps_of(gpu), 60, 0.01):
        raise RuntimeError("the old core dump does not go")
    # Its name goes before the device does. The look at it is what udev does: its folder has the time of the first one.
    if not wait_for(lambda: gpu.ctl(text) or dumps_of(gpu), 60, 0.01):
        raise RuntimeError("the kernel makes no core dump")
    os.stat(dumps_of(gpu)[0])


def counts(page):
    """What the page counts, without the zeros."""
    return collections.Counter({(name, tuple(sorted(labels.items()))): int(value) for name in COUNTERS
                                for labels, value in page.all(name) if value})


def difference(got, expected):
    keys = [key for key in {*got, *expected} if got[key] != expected[key]]
    return [f"{name}{dict(labels)} {got[name, labels]} for {expected[name, labels]}" for name, labels in keys[:4]]


class SecondScraper:
    """Another Prometheus, that takes nothing away from the first one."""

    def __init__(self, exporter):
        self.exporter, self.pages, self.problems, self.done = exporter, 0, [], threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        last = collections.Counter()
        while not self.done.wait(20):
            _, _, body = self.exporter.request("/metrics")
            now = counts(Page(body, 0, 0))
            self.problems += [f"{key} back from {value}" for key, value in last.items() if now[key] < value]
            last = now
            self.pages += 1

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()


def mixed(name, exporter, kernel, events):
    """Scrapes at any place, in the middle of an event too."""
    truth, wrong, scrapes, unread_dump, quiet = collections.Counter(), [], 0, False, True
    with SecondScraper(exporter) as second:
        for n in range(events):
            event = kernel.event()
            is_dump = any(metric == DUMPS for metric, _ in event.counts)
            if is_dump and unread_dump:  # a dump that is gone at the next scrape is not seen
                exporter.scrape()
                unread_dump = False
            if event.alone or not quiet:
                time.sleep(APART)
            quiet = not event.alone
            at = kernel.random.randrange(20 * len(event.steps))
            for i, step in enumerate(event.steps):
                step()
                if i == at:
                    exporter.scrape()
            unread_dump = unread_dump or is_dump
            truth += event.counts
            if kernel.random.random() < 0.05 or n == events - 1:
                wrong += [f"after {n + 1}: {one}" for one in difference(counts(exporter.scrape()), truth)]
                unread_dump = False
                scrapes += 1
    equal(f"{name}: counts after {events} events, compared {scrapes} times", wrong[:6], [])
    verdict(second.pages > 10 and not second.problems, f"{name}: the second scraper", f"{second.pages} pages, "
            f"{second.problems[:3]}", "more than 10 pages, no counter back")
    verdict(sum(truth.values()) > events / 2 and len(truth) > 20 or events < EVENTS / 2, f"{name}: the script has all kinds",
            f"{sum(truth.values())} counts, {len(truth)} series", "some of each")


def reason(page, feature, **labels):
    """None: available."""
    found = [l.get("reason", "") for l, v in page.all(FEATURE, feature=feature, **labels) if v == 0]
    return found[0] if found else None


def counted(gpus, kernel):
    """A thousand events on GPUs that sleep, a restart in the middle."""
    i915, xe = gpus
    for g in gpus:
        verdict(wait_for(lambda g=g: asleep(g), 120), f"{g.name}: asleep", "awake", "suspended")
    before = [resumes(g) for g in gpus]
    with Exporter(what="first half") as exporter:
        equal("nothing has happened", counts(exporter.scrape()), collections.Counter())
        mixed("first half", exporter, kernel, EVENTS // 2)
        time.sleep(APART)
        page = exporter.scrape()
        kinds = {g.name: {l["kind"] for l, _ in page.all(LAST, device=g.address)} for g in gpus}
        equal("the time of each kind is known", kinds, {
            "tgl": {"hang", "fence_expired", "firmware", "full"},
            "bmg": {"job_timeout", "cat_error", "page_fault", "gt_reset", "engine_reset", "firmware", "core_dump"}})
        equal("nothing is lost", {l["channel"]: v for l, v in page.all(LOST)}, {"uevent": 0, "kmsg": 0})
    for _ in range(30):  # while nobody listens
        event = kernel.event()
        for step in event.steps:
            step()
    make_dump(xe)
    time.sleep(APART)
    with Exporter(what="second half") as exporter:
        page = exporter.scrape()
        equal("after a restart: counts begin again", counts(page), collections.Counter())
        equal("after a restart: the counters stand at zero", page.sum(HANGS, device=xe.address, kind="job_timeout"), 0)
        equal("after a restart: reading the old log loses nothing", page.get(LOST, channel="kmsg"), 0)
        now = time.time()
        for g, kind in ((i915, "hang"), (xe, "job_timeout"), (xe, "core_dump")):
            at = page.get(LAST, device=g.address, kind=kind)
            verdict(at is not None and now - 600 < at < now - APART + 2, f"after a restart: when the last {kind} was", at,
                    f"some seconds before {now:.0f}")
        mixed("second half", exporter, kernel, EVENTS // 2)
    equal("no event and no scrape woke a GPU", [resumes(g) for g in gpus], before)


def untouched_dumps(gpus):
    xe = gpus[1]
    make_dump(xe)
    dump = dumps_of(xe)[0]
    with Exporter(what="dumps") as exporter:
        for _ in range(10):
            exporter.scrape()
        equal("a dump from before the start is not counted", exporter.scrape().get(DUMPS, device=xe.address), 0)
    equal("the dump is still there", dumps_of(xe), [dump])
    verdict(read(dump + "/data").startswith("**** Xe"), "with its content", read(dump + "/data")[:40], "**** Xe ...")


def rights(gpus):
    """Each channel with what it needs, or absent with its reason; the others go on."""
    i915, xe = gpus
    render = grp.getgrnam("render").gr_gid
    for who, prefix, log, events in (
            ("root", (), True, True),
            ("CAP_SYSLOG", as_user(ALICE, [render], ["syslog"]), True, True),
            ("CAP_DAC_READ_SEARCH", as_user(ALICE, [render], ["dac_read_search"]), False, True),
            ("nothing", as_user(ALICE, [render]), False, True),
            ("user namespace", ("unshare", "--user", "--map-root-user"), False, False)):
        with Load("render=20", "--dev", node(xe)), Exporter(prefix=prefix, what=who) as exporter:
            exporter.scrape()
            i915.ctl("uevent RESET=1", "log 5 [drm] GPU HANG: ecode 12:1:85dffffb, in ffmpeg [77777]", "uevent ERROR=0")
            make_dump(xe)
            time.sleep(21)  # without uevents the list of dumps is read every 20 s
            page = exporter.scrape()
            equal(f"{who}: resets", page.get(RESETS, device=i915.address, kind="full"), 1 if events else None)
            equal(f"{who}: hangs", page.sum(HANGS, device=i915.address, kind="hang"), 1 if log else None)
            equal(f"{who}: core dumps", page.get(DUMPS, device=xe.address), 1)
            equal(f"{who}: the reason", (reason(page, "kernel_log"), reason(page, "fault_events")),
                  (None if log else "permission", None if events else "permission"))
            # The log has no line about it. The root of this namespace owns the file.
            equal(f"{who}: whom the core dump names", page.get(BY_PROCESS, device=xe.address, pid="19639", comm="ffmpeg"),
                  1 if who in ("root", "CAP_DAC_READ_SEARCH", "user namespace") else None)
            status = read(f"/proc/{exporter.pid}/status")
            effective = int(status.split("CapEff:")[1].split()[0], 16)
            if who == "CAP_SYSLOG":
                equal(f"{who}: given up once the log is open", effective >> 34 & 1, 0)
        time.sleep(APART)
    code, text = run_tool("doctor", prefix=as_user(ALICE, [render]))
    verdict("CAP_SYSLOG" in text, "doctor names the capability", text[-300:], "CAP_SYSLOG")


def wedged(gpus):
    """Announced: at once. By the driver's answers: when two agree, only of a GPU that is awake."""
    i915, xe = gpus
    with Load("render=20", "--dev", node(xe)), Load("render=20", "--dev", node(i915)):
        with Exporter(what="wedged") as exporter:
            exporter.scrape()
            page = exporter.scrape()
            for g in gpus:
                equal(f"{g.name}: works", page.get(WEDGED, device=g.address), 0)
            xe.ctl("wedged 1", r"log 3 [drm] *ERROR* CRITICAL: Xe has declared device 0000:03:00.0 as wedged.\n"
                   "IOCTLs and executions are blocked.", "uevent WEDGED=rebind,bus-reset")
            equal("bmg: wedged at the next scrape", exporter.scrape().get(WEDGED, device=xe.address), 1)
            i915.ctl("wedged 1")
            verdict(wait_for(lambda: exporter.scrape().get(WEDGED, device=i915.address) == 1, 120, 7),
                    "tgl: wedged by its answers", "0", "1")
            present("tgl: with its time", page := exporter.scrape(), LAST, device=i915.address, kind="wedged")
            present("bmg: with its time", page, LAST, device=xe.address, kind="wedged")
        with Exporter(what="wedged before the start") as exporter:
            first = exporter.scrape()
            for g in gpus:
                verdict(first.get(WEDGED, device=g.address) != 0, f"{g.name}: not said to work", 0, "1, or not known yet")
            page = exporter.scrape()
            equal("wedged at the second scrape", [page.get(WEDGED, device=g.address) for g in gpus], [1, 1])
            for g in gpus:
                g.ctl("wedged 0")
            verdict(wait_for(lambda: [exporter.scrape().get(WEDGED, device=g.address) for g in gpus] == [0, 0], 200, 7),
                    "both work again", [exporter.scrape().get(WEDGED, device=g.address) for g in gpus], [0, 0])


def files(gpus):
    """PCIe errors by port, survivability mode: read every 20 seconds, and at once after a fault."""
    i915, xe = gpus
    errors = "intel_gpu_pcie_errors_total"
    with Exporter(what="files") as exporter:
        absent("no AER counts", exporter.scrape(), errors)
        xe.ctl("aer 0 correctable RxErr=1", "aer 1 nonfatal CmpltTO=2", "aer 2 correctable BadTLP=300", "aer 3 fatal DLP=1",
               "aer 3 correctable BadTLP=7", "survivability 1", "log 5 [drm] GT0: reset started")
        page = exporter.scrape()
        got = {(l["port"], l["severity"], l["type"]): v for l, v in page.all(errors, device=xe.address) if v}
        equal("PCIe errors by port, at once after a fault", got, {
            ("endpoint", "correctable", "RxErr"): 1, ("switch_downstream", "nonfatal", "CmpltTO"): 2,
            ("switch_upstream", "correctable", "BadTLP"): 300, ("root", "fatal", "DLP"): 1,
            ("root", "correctable", "BadTLP"): 7})
        equal("survivability mode", page.get("intel_gpu_survivability_mode", device=xe.address), 1)
        xe.ctl("aer 2 correctable BadTLP=5", "survivability 0")
        verdict(wait_for(lambda: exporter.scrape().get("intel_gpu_survivability_mode", device=xe.address) == 0, 120, 7),
                "survivability mode is over", 1, 0)
        equal("and the count went on", exporter.scrape().get(errors, device=xe.address, port="switch_upstream",
                                                             severity="correctable", type="BadTLP"), 305)
        absent("an integrated GPU has none", exporter.scrape(), errors, device=i915.address)


def log_ring(text):
    """Records of the kernel log with this text, read as any other reader does."""
    found, fd = 0, os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    while True:
        try:
            found += text in os.read(fd, 8192)
        except BlockingIOError:
            os.close(fd)
            return found
        except BrokenPipeError:
            continue


def floods(gpus):
    """More than the kernel keeps: what is left is counted, and so is that some was lost."""
    i915, xe = gpus
    levels = read("/proc/sys/kernel/printk")
    write("/proc/sys/kernel/printk", "1 4 1 7")  # not to the console
    with Exporter(what="floods") as exporter:
        exporter.scrape()
        xe.ctl("log count=100000 5 [drm] GT0: Timedout job: seqno=1, lrc_seqno=1, guc_id=7, flags=0x0 in flood [4711]")
        left = log_ring(b"in flood [4711]")
        page = exporter.scrape()
        timeouts = {"device": xe.address, "kind": "job_timeout"}
        equal("log flood: what the ring still held is counted", page.sum(HANGS, **timeouts), left)
        verdict(100 < left < 50000, "log flood: more than the ring holds", left, "some hundred of 100000")
        equal("log flood: the loss is counted", page.get(LOST, channel="kmsg"), 1)
        equal("log flood: the collector succeeds", page.get(SUCCESS, collector="health"), 1)
        time.sleep(APART)
        xe.ctl("log 5 [drm] GT0: Timedout job: seqno=1, lrc_seqno=1, guc_id=8, flags=0x0 in after [4712]")
        equal("log flood: the next hang counts", exporter.scrape().sum(HANGS, **timeouts), left + 1)

        # A socket with the same buffer, that is read as late, has received what the exporter's has.
        with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 15) as twin:  # NETLINK_KOBJECT_UEVENT
            twin.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
            twin.bind((0, 1))
            exporter.scrape()
            i915.ctl("uevent count=10000 RESET=1")
            twin.setblocking(False)
            received = lost = 0
            while True:
                try:
                    received += b"RESET=1" in twin.recv(16384)
                except BlockingIOError:
                    break
                except OSError:  # ENOBUFS
                    lost += 1
        page = exporter.scrape()
        equal("uevent flood: what the socket held is counted", page.get(RESETS, device=i915.address, kind="full"), received)
        verdict(10 < received < 10000, "uevent flood: more than the socket holds", received, "some of 10000")
        equal("uevent flood: the loss is counted", page.get(LOST, channel="uevent"), lost)
        i915.ctl("uevent RESET=1")
        equal("uevent flood: the next reset counts", exporter.scrape().get(RESETS, device=i915.address, kind="full"),
              received + 1)
    write("/proc/sys/kernel/printk", levels.replace("\t", " "))


def people(ended):
    """Names and ids as the log has them, and the process that each stands for."""
    name = "av:h264:df0"
    ids = []

    def thread():
        write(f"/proc/self/task/{threading.get_native_id()}/comm", name)
        ids.append(threading.get_native_id())
        ended.wait()

    threading.Thread(target=thread, daemon=True).start()
    wait_for(lambda: ids, 60)
    own = (os.getpid(), read("/proc/self/comm"))
    return [("ffmpeg", 4194001, 4194001, "ffmpeg"), ("llama-server", 4194002, 4194002, "llama-server"),
            ("in a [1]", 4194003, 4194003, "in a [1]"), ("GPU HANG: ecode", 4194004, 4194004, "GPU HANG: ecode"),
            (own[1], own[0], *own), (name, ids[0], *own)]


def health():
    gpus = machine("tgl+bmg")
    ended = threading.Event()
    kernel = Kernel(*gpus, people(ended))
    counted(gpus, kernel)
    untouched_dumps(gpus)
    rights(gpus)
    wedged(gpus)
    files(gpus)
    floods(gpus)
    ended.set()
