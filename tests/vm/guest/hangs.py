# SPDX-License-Identifier: Apache-2.0
"""Hangs of xe as BPF programs in the kernel see them: xe's tracepoints (rig/jobs), alone and beside the kernel log and core
dumps of the same hangs."""

import collections
import contextlib
import os
import re
import signal
import subprocess
import time

import health
import jobs
from health import BY_PROCESS, DUMPS, HANGS, LOST
from model import machine
from vm import Exporter, as_user, equal, verdict, wait_for, write

FEATURE = "intel_gpu_exporter_feature_available"
# It gives CAP_BPF, CAP_PERFMON and CAP_SYSLOG up after the start.
PROGRAMS_ONLY = as_user(65534, (), ["bpf", "perfmon"])
ALL_CHANNELS = as_user(65534, (), ["bpf", "perfmon", "syslog", "dac_read_search"])
WITH_DUMPS = as_user(65534, (), ["bpf", "perfmon", "dac_read_search"])


def queue_of(row):
    """The guc_id, which the scheduler's name has."""
    return int(re.sub(r"\D", "", row["ring"]))


def submit(script, name="encoder", wait="last"):
    """Runs a client to its end; the queue of its newest job, and its pid."""
    write(jobs.TRUTH, "x")
    subprocess.run(["gpujobs", "--name", name, "--wait", wait, script], check=True, capture_output=True, timeout=60)
    wait_for(lambda: all(row["signal_ns"] != "0" for row in jobs.truth()), 30)
    row = jobs.truth()[-1]
    return queue_of(row), int(row["tgid"])


@contextlib.contextmanager
def stopped_client(script, name):
    """A client that has made its queue with a first job, and stands still until it is told to go on."""
    write(jobs.TRUTH, "x")
    client = subprocess.Popen(["gpujobs", "--name", name, "--wait", "last", script], stdout=subprocess.DEVNULL)
    wait_for(lambda: jobs.truth() and jobs.truth()[0]["signal_ns"] != "0", 30)
    client.send_signal(signal.SIGSTOP)
    try:
        yield client
    finally:
        client.send_signal(signal.SIGCONT)
        client.wait(60)


class Counts:
    """How much the page's counts have grown since the last look."""

    def __init__(self, exporter, gpu):
        self.exporter, self.gpu = exporter, gpu
        self.before = collections.Counter()
        self.new()

    def new(self):
        page, now = self.exporter.scrape(), collections.Counter()
        for metric, keys in ((HANGS, ("kind", "class")), (BY_PROCESS, ("pid", "comm")), (DUMPS, ())):
            for labels, value in page.all(metric, device=self.gpu.address):
                now[(metric, *(labels[key] for key in keys))] += int(value)
        grown = {key: now[key] - self.before[key] for key in now if now[key] != self.before[key]}
        self.before = now
        return grown


def hang(kind, engine_class, pid=None, name=None):
    expected = {(HANGS, kind, engine_class): 1}
    if pid is not None:
        expected[BY_PROCESS, str(pid), name] = 1
    return expected


def timeout_line(queue, name, pid):
    return f"log 5 [drm] Tile0: GT0: Timedout job: seqno=1, lrc_seqno=1, guc_id={queue}, flags=0x0 in {name} [{pid}]"


def dump(queue, name, pid, reason="Timedout job - seqno=1, lrc_seqno=1, "):
    return (rf"coredump **** Xe Device Coredump ****\nReason: {reason}guc_id={queue}, flags=0x0\nkernel: 6.14.0\n"
            rf"module: xe\nSnapshot time: 1.2\nUptime: 1.2\nProcess: {name} [{pid}]\n")


def programs_only(gpu):
    with Exporter("--collector.jobs", prefix=PROGRAMS_ONLY, what="hangs, BPF programs only") as exporter:
        page = exporter.scrape()
        equal("the programs run", [value for _, value in page.all(FEATURE, feature="hang_events", device=gpu.address)], [1])
        equal("without the kernel log", [labels["reason"] for labels, value in page.all(FEATURE, feature="kernel_log")],
              ["permission"])
        equal("the counters stand at zero", page.get(HANGS, device=gpu.address, kind="job_timeout", **{"class": "video"}), 0)
        counts = Counts(exporter, gpu)
        submit("rcs0:1ms vcs0:1ms drain")
        equal("jobs that end count as nothing", counts.new(), {})
        for engine, engine_class in (("rcs0", "render"), ("bcs0", "copy"), ("vcs1", "video"), ("vecs0", "video_enhance"),
                                     ("ccs0", "compute")):
            _, pid = submit(f"{engine}!:1ms drain")
            equal(f"a job on {engine} times out", counts.new(), hang("job_timeout", engine_class, pid, "encoder"))
        _, pid = submit("bcs0?:1ms drain", "python3")
        equal("a memory error and the end of its job are one hang", counts.new(), hang("cat_error", "copy", pid, "python3"))
        submit("vcs0!:1ms", "killed", wait="none")
        equal("a client that goes with a job in flight has not hung", counts.new(), {})
        _, pid = submit("vcs0!:1ms rcs0!:1ms drain", "two")
        equal("two queues are two hangs", counts.new(),
              {(HANGS, "job_timeout", "video"): 1, (HANGS, "job_timeout", "render"): 1, (BY_PROCESS, str(pid), "two"): 2})
        equal("nothing is lost", exporter.scrape().get(LOST, channel="bpf"), 0)
        verdict(not jobs.unload_owner("xe"), "xe cannot be unloaded while the exporter runs")


def older_queue(gpu):
    """Made before the programs: its process is in the core dump."""
    with stopped_client("vcs0:1ms sleep:20000ms vcs0!:1ms drain", "older") as client:
        with Exporter("--collector.jobs", prefix=WITH_DUMPS, what="hangs, a queue that is older") as exporter:
            counts = Counts(exporter, gpu)
            client.send_signal(signal.SIGCONT)
            equal("an older queue: the client ends", client.wait(60), 0)
            equal("an older queue: a hang of nobody", counts.new(), hang("job_timeout", "video"))
            queue = queue_of(jobs.truth()[-1])
            health.make_dump(gpu, dump(queue, "older", client.pid))
            equal("an older queue: its process by the core dump", counts.new(),
                  {(DUMPS,): 1, (BY_PROCESS, str(client.pid), "older"): 1})
            queue, pid = submit("vcs0!:1ms drain")
            equal("a newer queue", counts.new(), hang("job_timeout", "video", pid, "encoder"))
            health.make_dump(gpu, dump(queue, "encoder", pid))
            equal("a newer queue: the core dump names it no second time", counts.new(), {(DUMPS,): 1})
            health.make_dump(gpu, dump(4711, "compute", 4194001, "LR job cleanup, "))
            equal("a dump of a queue without an event", counts.new(), {(DUMPS,): 1, (BY_PROCESS, "4194001", "compute"): 1})


def all_channels(gpu):
    """The same hang in the log, from the programs and as a core dump, whichever comes first, with a scrape in between."""
    with Exporter("--collector.jobs", prefix=ALL_CHANNELS, what="hangs, all channels") as exporter:
        counts = Counts(exporter, gpu)

        def grown(between):
            return counts.new() if between else {}

        for between in (False, True):
            name = "with a scrape in between" if between else "at once"
            queue, pid = submit("vcs0!:1ms drain")
            got = grown(between)
            gpu.ctl(timeout_line(queue, "encoder", pid))
            health.make_dump(gpu, dump(queue, "encoder", pid))
            got |= counts.new()
            equal(f"{name}: programs, log, dump", got,
                  {(DUMPS,): 1, **hang("job_timeout", "video", pid, "encoder")})

            time.sleep(health.APART)
            gpu.ctl(r"log 3 [drm] *ERROR* Tile0: GT0: Memory CAT error reported by GuC!")
            got = grown(between)
            queue, pid = submit("ccs0!:1ms drain", "python3")
            got |= counts.new()
            gpu.ctl(timeout_line(queue, "python3", pid))
            health.make_dump(gpu, dump(queue, "python3", pid))
            got |= counts.new()
            # Of a hang that was counted before its queue was known the class is unknown.
            equal(f"{name}: a line without a queue, programs, log, dump", got,
                  {(DUMPS,): 1, **hang("cat_error", "unknown" if between else "compute", pid, "python3")})


def hangs():
    gpu, = machine("bmg")
    with Exporter("--collector.jobs", "--log.level=debug", prefix=PROGRAMS_ONLY, what="hangs, no xe") as exporter:
        equal("without xe: the reason", [labels["reason"] for labels, _ in exporter.scrape().all(
            FEATURE, feature="hang_events", device=gpu.address)], ["kernel"])
        verdict("the module xe was not loaded" in exporter.log(), "without xe: the log says so", exporter.log()[-600:],
                "the module xe was not loaded")
    jobs.load("xe", module="xe")
    programs_only(gpu)
    older_queue(gpu)
    all_channels(gpu)
    verdict(jobs.unload_owner("xe"), "xe can be unloaded afterwards")
    verdict(not os.path.exists("/dev/gpujobs"), "and is gone")
