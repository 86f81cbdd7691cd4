# SPDX-License-Identifier: Apache-2.0
"""`trace` and the collector `jobs` against jobs of known length (rig/jobs): what ran when, who submitted it, what was
lost, who may record, and the kernel's histograms against a record of the same jobs."""

import contextlib
import csv
import functools
import io
import os
import re
import signal
import subprocess
import time

import vm
from vm import Exporter, as_user, equal, read, verdict, wait_for, write

TRUTH = "/sys/kernel/debug/gpujobs/truth"
FILE = "/tmp/jobs.pftrace"
# Nine jobs on five queues: two contexts share rcs0, two jobs wait for another queue's.
ROUND = ("rcs0{0}:20ms rcs0.1{0}:15ms vcs0{0}:8ms vcs1.2{0}:12ms@rcs0 sleep:30ms ccs0{0}:3msx3 bcs0{0}:1ms@ccs0 "
         "sleep:20ms vecs0{0}:700us")


def load(style, *parameters, module="gpujobs"):
    subprocess.run(["modprobe", "gpu-sched"], check=True)
    subprocess.run(["insmod", f"/rig/{module}.ko", f"style={style}", *parameters], check=True)
    wait_for(lambda: os.path.exists("/dev/gpujobs"), 20)
    os.chmod("/dev/gpujobs", 0o666)


def unload():
    """Whether the module could be unloaded."""
    return subprocess.run(["rmmod", "gpujobs"], capture_output=True).returncode == 0


def trace(*arguments, prefix=(), timeout=200):
    return subprocess.run([*prefix, vm.BINARY, "trace", *arguments], capture_output=True, text=True, timeout=timeout)


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def truth():
    return rows(read(TRUTH))


def jobs_of(file=FILE):
    done = trace("export", file)
    equal("the CSV is printed", (done.returncode, done.stderr), (0, ""))
    return rows(done.stdout)


def recorded(name, script, *flags, wait="last", repeat=8):
    """Records a script; jobs and truth."""
    write(TRUTH, "x")
    done = trace("record", "-o", FILE, *flags, "--", "gpujobs", "--name", "encoder", "--repeat", str(repeat), "--wait",
                 wait, script)
    equal(f"{name}: record ends well", done.returncode, 0)
    if done.returncode != 0:
        print(done.stderr)
        return [], []
    return jobs_of(), truth()


def matched(jobs, expected, by_key):
    """Pairs of a job and its truth. Older events name a ring and no fence: then the order on the ring says which."""
    if by_key:
        known = {(int(t["fence_context"]) & 0xffffffff, int(t["fence_seqno"])): t for t in expected}
        keys = [tuple(map(int, j["key"].split(":"))) for j in jobs]
        return [(j, known[k[0] & 0xffffffff, k[1]]) for j, k in zip(jobs, keys) if (k[0] & 0xffffffff, k[1]) in known]
    pairs, rings = [], {}
    for t in expected:
        rings.setdefault(t["ring"], []).append(t)
    for j in jobs:
        if rings.get(j["ring"]):
            pairs.append((j, rings[j["ring"]].pop(0)))
    return pairs


LIMITS = (50, 500)  # of the median and of 95 %, in microseconds


def typical(errors):
    """Median and 95th percentile in microseconds."""
    errors = sorted(abs(e) for e in errors)
    return errors[len(errors) // 2] / 1e3, errors[len(errors) * 95 // 100] / 1e3


def all_found(name, jobs, expected, by_key):
    pairs = matched(jobs, expected, by_key)
    equal(f"{name}: all jobs found", (len(jobs), len(pairs)), (len(expected), len(expected)))
    equal(f"{name}: the process that submitted", {j["pid"] == t["tgid"] and j["tid"] == t["tid"] for j, t in pairs},
          {True})
    return pairs


def errors_of(pairs):
    """Of exact ends only."""
    pairs = [(j, {k: int(t[k]) for k in ("submit_ns", "start_ns", "end_ns")}) for j, t in pairs if j["end"] == "exact"]
    queue = [int(j["start_ns"]) - int(j["submit_ns"]) - (t["start_ns"] - t["submit_ns"]) for j, t in pairs]
    return {"queue": queue, "start": [int(j["start_ns"]) - t["start_ns"] for j, t in pairs],
            "end": [int(j["end_ns"]) - t["end_ns"] for j, t in pairs]}


def within(values):
    if not values:
        return False
    median, p95 = typical(values)
    return median <= LIMITS[0] and p95 <= LIMITS[1]


def accurate(name, pairs, again):
    """A busy host stops the guest between the two readings of the clock that are compared: some errors are its own, and
    the best of three recordings counts."""
    errors = errors_of(pairs)
    for _ in range(2):
        if all(map(within, errors.values())):
            break
        errors = errors_of(again())
    for what, values in errors.items():
        got = "median {:.0f} us, p95 {:.0f} us".format(*typical(values)) if values else "none"
        verdict(within(values), f"{name}: {what}: error of {len(values)} jobs", got, f"at most {LIMITS[0]} and {LIMITS[1]}")


def mostly(name, held, expected):
    verdict(sum(h in expected for h in held) > len(held) // 2, name, held, f"mostly {sorted(expected)}")


def xe():
    for events, by_key in (("drm_sched_old", False), ("drm_sched", True)):
        name = f"xe, {events}"
        record = functools.partial(recorded, name, ROUND.format("") + " drain", "--events", events)
        jobs, expected = record()
        pairs = all_found(name, jobs, expected, by_key)
        equal(f"{name}: outcomes", {j["outcome"] for j in jobs}, {"completed"})
        done = trace("report", FILE, "--by", "workload")
        verdict(re.search(r"^encoder +72 ", done.stdout, re.M), f"{name}: jobs by workload", done.stdout, "72 of encoder")
        accurate(name, pairs, lambda: matched(*record(), by_key))
        waits = [j for j, t in pairs if t["engine"] in ("vcs1", "bcs0")]
        mostly(f"{name}: jobs held by a dependency", [j["held_by"] for j in waits], {"dependency"})
        # On a busy host the scheduler's thread hands some jobs over later than the engine is free: the record marks them.
        shared = [j["held_by"] for j, t in pairs if t["engine"] == "rcs0" and
                  int(t["start_ns"]) - int(t["run_ns"]) > int(t["run_ns"]) - int(t["submit_ns"]) + 1000000]
        mostly(f"{name}: jobs held by the engine", shared, {"other_context", "same_context"})
        verdict("other_context" in shared, f"{name}: a job is held by the other context", shared, "one at least")

    jobs, _ = recorded("xe, a hang", "rcs0!:1ms vcs0:1ms drain", "--events", "drm_sched", repeat=1)
    equal("xe, a hang: outcomes by ring", sorted((j["class"], j["outcome"]) for j in jobs),
          [("render", "error"), ("video", "completed")])
    jobs, expected = recorded("xe, every fourth job", ROUND.format("") + " drain", "--events", "drm_sched", "--sample",
                              "1/4")
    equal("xe, every fourth job: recorded", (len(jobs), len(expected)), (18, 72))
    jobs, _ = recorded("xe, one class", ROUND.format("") + " drain", "--class", "video", repeat=1)
    equal("xe, one class: recorded", sorted(j["class"] for j in jobs), ["video", "video"])
    done = trace("record", "-o", FILE, "--events", "drm_sched", "--engine", "rcs1", "--duration", "1s")
    equal("xe: an engine by number is refused", (done.returncode, "--class" in done.stderr), (2, True))


def recording(name, *flags):
    """A recorder that records: its first counts are in the file."""
    if os.path.exists(FILE):
        os.unlink(FILE)
    recorder = subprocess.Popen([vm.BINARY, "trace", "record", "-o", FILE, *flags], stderr=subprocess.DEVNULL)
    begun = wait_for(lambda: os.path.exists(FILE) and os.path.getsize(FILE) > 0, 60)
    equal(f"{name}: the recording begins", begun, True)
    return recorder


def flood():
    """A small ring and a reader that sleeps: what was read and what was lost are all events."""
    write(TRUTH, "x")
    recorder = recording("flood", "--events", "drm_sched_old", "--buffer", "8K")
    recorder.send_signal(signal.SIGSTOP)
    subprocess.run(["gpujobs", "--name", "flood", "--repeat", "3000", "--wait", "last", "vcs0:1us vcs1.1:1us drain"],
                   check=True, capture_output=True, timeout=200)
    wait_for(lambda: len(truth()) == 6000 and all(t["signal_ns"] != "0" for t in truth()), 30, 0.5)
    recorder.send_signal(signal.SIGCONT)
    time.sleep(0.3)
    recorder.send_signal(signal.SIGINT)
    equal("flood: ^C ends the recording", recorder.wait(60), 0)
    summary = trace("report", FILE).stdout.split("\n")[0]
    numbers = [int(part.split()[0]) for part in summary.split(", ")]
    verdict(len(numbers) == 4 and numbers[2] > 0 and numbers[0] + numbers[2] == 18000,
            "flood: read and lost are all events", summary, "18000, some of them lost")


def i915():
    load("i915", "lowlevel=1")
    record = functools.partial(recorded, "i915, interrupts", ROUND.format("+") + " drain", "--events", "i915")

    def without_dependencies(pairs):  # without low-level events a wait for another job counts as running
        return [(j, t) for j, t in pairs if t["engine"] not in ("vcs1", "bcs0")]

    pairs = all_found("i915, interrupts", *record(), True)
    accurate("i915, interrupts", without_dependencies(pairs), lambda: without_dependencies(matched(*record(), True)))
    low_level = functools.partial(recorded, "i915, low-level", ROUND.format("") + " drain", "--events",
                                  "i915,i915_low_level")
    accurate("i915, low-level", all_found("i915, low-level", *low_level(), True), lambda: matched(*low_level(), True))
    jobs, expected = recorded("i915, nobody waits", ROUND.format("") + " sleep:1500ms", "--events", "i915", wait="none",
                              repeat=4)
    pairs = matched(jobs, expected, True)
    equal("i915, nobody waits: all jobs found", len(pairs), len(expected))
    wrong = [j["key"] for j, t in pairs if j["end"] == "exact" and t["signal_ns"] == "0"]
    equal("i915, nobody waits: bounds reported as exact", wrong, [])
    early = [j["key"] for j, t in pairs if j["end"] == "by" and int(j["end_ns"]) < int(t["end_ns"])]
    equal("i915, nobody waits: bounds before the end", early, [])
    verdict(any(j["end"] == "by" for j in jobs), "i915, nobody waits: there are bounds", len(jobs), "some")
    verdict(unload(), "i915: the module unloads after the recording")


def interrupted_twice():
    """The first ^C waits for the command, the second one does not."""
    if os.path.exists(FILE):
        os.unlink(FILE)
    recorder = subprocess.Popen(
        [vm.BINARY, "trace", "record", "-o", FILE, "--events", "drm_sched", "--", "sh", "-c",
         "echo $$ > /tmp/command && exec gpujobs --repeat 1000 --wait each vcs0:20ms > /dev/null 2>&1"],
        stderr=subprocess.PIPE, text=True)

    def recorded_now():
        return len(rows(trace("export", FILE).stdout)) if os.path.exists(FILE) else 0

    verdict(wait_for(recorded_now, 60, 0.5), "^C twice: there are jobs in the file", recorded_now(), "some")
    recorder.send_signal(signal.SIGINT)
    # Two signals of one kind may become one: the first one has to be handled.
    wait_for(lambda: re.search(r"^ShdPnd:\s+0+$", read(f"/proc/{recorder.pid}/status"), re.M), 30)
    equal("^C once: the recorder waits for its command", recorder.poll(), None)
    recorder.send_signal(signal.SIGINT)
    _, text = recorder.communicate(timeout=60)
    os.kill(int(read("/tmp/command")), signal.SIGKILL)
    equal("^C twice: exit status and lines", (recorder.returncode, len(text.strip().split("\n"))), (1, 1))
    verdict("interrupted twice" in text, "^C twice: what it says", text, "interrupted twice")
    done = trace("report", FILE)
    equal("^C twice: the file is whole", (done.returncode, done.stderr), (0, ""))
    verdict("did not end by itself" in done.stdout and recorded_now() > 0, "^C twice: what is written is reported",
            done.stdout, "jobs, and a hint that the recording did not end by itself")


def modules_and_rights():
    recorder = recording("pinned", "--events", "drm_sched")
    verdict(not unload(), "pinned: the module cannot be unloaded while a recording runs")
    recorder.send_signal(signal.SIGINT)
    equal("pinned: ^C ends the recording", recorder.wait(60), 0)
    cases = [  # name, level, prefix, status, what the line says
        ("root", 3, (), 0, ""),
        ("CAP_PERFMON", 2, as_user(1000, (), ["perfmon"]), 1, "CAP_DAC_READ_SEARCH"),
        ("CAP_PERFMON and CAP_DAC_READ_SEARCH", 2, as_user(1000, (), ["perfmon", "dac_read_search"]), 0, ""),
        ("CAP_PERFMON and CAP_DAC_READ_SEARCH", 3, as_user(1000, (), ["perfmon", "dac_read_search"]), 1,
         "perf_event_paranoid=2"),
        ("CAP_DAC_READ_SEARCH", 2, as_user(1000, (), ["dac_read_search"]), 1, "CAP_PERFMON is missing"),
        ("nobody", 2, as_user(1000), 1, "CAP_DAC_READ_SEARCH"),
        ("a user namespace", 2, ("unshare", "-Ur"), 1, "user namespace"),
    ]
    for i, (name, level, prefix, status, text) in enumerate(cases):
        write("/proc/sys/kernel/perf_event_paranoid", level)
        done = trace("record", "-o", f"/tmp/rights-{i}", "--duration", "200ms", prefix=prefix)
        equal(f"{name} at {level}: exit status", done.returncode, status)
        verdict(text in done.stderr and len(done.stderr.strip().split("\n")) == 1, f"{name} at {level}: what it says",
                done.stderr, text or "one line")
    write("/proc/sys/kernel/perf_event_paranoid", 3)
    interrupted_twice()
    done = trace("record", "-o", "/dev/full", "--duration", "1s")
    equal("a full disk", (done.returncode, "No space left" in done.stderr), (1, True))
    done = trace("record", "-o", "/proc/no/file", "--duration", "1s")
    equal("a file that cannot be written", (done.returncode, "/proc/no/file" in done.stderr), (1, True))
    verdict(unload(), "pinned: the module unloads after the recording")
    subprocess.run(["rmmod", "gpu_sched"], check=True)
    done = trace("record", "-o", FILE, "--duration", "1s")
    equal("no driver", (done.returncode, "no driver here reports jobs" in done.stderr), (1, True))


BUCKETS = [16e-6 * 2**k for k in range(21)]
CAP_BPF = 39
# The rights with which it starts; it drops CAP_BPF.
STARTER = as_user(65534, (), ["bpf", "perfmon"])
# The kernel and the recorder read the clock one after the other, on a slow machine so far apart.
CLOCKS = 200e-6


def cumulative(page, metric, **labels):
    """Jobs by bucket of a histogram, over all classes."""
    return {le: sum(v for l, v in page.all(f"{metric}_bucket", **labels) if float(l["le"]) == le)
            for le in [*BUCKETS, float("inf")]}


def grown(first, second, metric):
    before, after = cumulative(first, metric), cumulative(second, metric)
    return {le: after[le] - before[le] for le in after}


def outcomes(first, second):
    """Jobs by outcome, of the time between two pages."""
    names = {labels["outcome"] for labels, _ in second.all("intel_gpu_jobs_total")}
    of = [{n: page.sum("intel_gpu_jobs_total", outcome=n) or 0 for n in names} for page in (first, second)]
    return {n: of[1][n] - of[0][n] for n in names if of[1][n] != of[0][n]}


def same_buckets(name, counted, seconds):
    """Whether the histogram is that of these times. A time close to a bound may be on either side of it; and of thirty
    jobs one may be anywhere, because a busy host stops the guest between the two readings of the clock."""
    wrong, strays = {}, len(seconds) // 30
    for le, value in counted.items():
        least, most = (sum(t + move <= le for t in seconds) for move in (CLOCKS, -CLOCKS))
        if not least - strays <= value <= most + strays or (le == float("inf") and value != len(seconds)):
            wrong[le] = f"{value:.0f} jobs, expected {least} to {most}"
    verdict(seconds and not wrong, f"{name}: the buckets of the record's {len(seconds)} jobs", wrong, "the same")


def capabilities(exporter):
    """The union of what its threads have, and could have."""
    found = 0
    for task in os.listdir(f"/proc/{exporter.pid}/task"):
        for bits in re.findall(r"^Cap(?:Eff|Prm|Inh|Amb):\s+(\w+)", read(f"/proc/{exporter.pid}/task/{task}/status"), re.M):
            found |= int(bits, 16)
    return found


@contextlib.contextmanager
def traced_calls(exporter):
    """A function that scrapes and returns (number of the system call, its first argument) of all threads meanwhile. The
    tracepoint is switched on once: each switch patches the running kernel, which may hang an emulated processor."""
    tracing = "/sys/kernel/tracing"

    def of_a_scrape(query=""):
        write(f"{tracing}/trace", "")
        exporter.scrape(query)
        return [(int(number), int(argument, 16)) for number, argument in
                re.findall(r"sys_enter: NR (\d+) \((\w+)", read(f"{tracing}/trace"))]

    write(f"{tracing}/set_event_pid", " ".join(os.listdir(f"/proc/{exporter.pid}/task")))
    write(f"{tracing}/events/raw_syscalls/sys_enter/enable", 1)
    try:
        yield of_a_scrape
    finally:
        write(f"{tracing}/events/raw_syscalls/sys_enter/enable", 0)
        write(f"{tracing}/set_event_pid", "")


def descriptors(exporter, pattern):
    """Those whose file has such a name."""
    folder = f"/proc/{exporter.pid}/fd"
    return {int(fd) for fd in os.listdir(folder) if re.search(pattern, os.readlink(f"{folder}/{fd}"))}


def without_calls(exporter, name):
    """A scrape reads the histograms from memory. Only the number of missed events is read, every ten seconds."""
    files = descriptors(exporter, r"bpf|/fdinfo/")
    touched = []

    def quiet_then_read():
        calls = of_a_scrape()
        verdict(bool(calls) and all(number != 321 for number, _ in calls), f"{name}: a scrape does not call bpf",
                calls[:5], "others")
        touched.append(any(argument in files for _, argument in calls))
        return touched[-1] and not all(touched)

    with traced_calls(exporter) as of_a_scrape:
        wait_for(quiet_then_read, 60, 1)
    verdict(bool(files) and False in touched and True in touched,
            f"{name}: scrapes touch no BPF descriptor but for the misses", touched, "mostly False, now and then True")


def run_times(expected, style):
    """Seconds of the jobs whose end is exact. i915 does not report when a job is handed over: it runs from its submission,
    or from the last end on its engine that is known, so a wait for another job counts."""
    exact = sorted((t for t in expected if t["signal_ns"] != "0"), key=lambda t: int(t["end_ns"]))
    times, free = [], {}
    for t in exact:
        begin = int(t["start_ns"]) if style == "xe" else max(int(t["submit_ns"]), free.get(t["engine"], 0))
        free[t["engine"]] = int(t["end_ns"])
        times.append((int(t["end_ns"]) - begin) / 1e9)
    return times


def feature(page):
    return [(value, labels["reason"]) for labels, value in
            page.all("intel_gpu_exporter_feature_available", feature="jobs")]


def unload_owner(owner):
    return subprocess.run(["rmmod", owner], capture_output=True).returncode == 0


@contextlib.contextmanager
def histograms(style, owner, script, events, wait="last", repeat=8):
    """Exporter and recorder see the same jobs. owner: the module whose tracepoints report them."""
    name = f"histograms, {style}"
    with Exporter("--collector.jobs", prefix=STARTER, what=name) as exporter:
        first = exporter.scrape()
        verdict((1, "ok") in feature(first), f"{name}: the feature", feature(first), "available")
        equal(f"{name}: CAP_BPF is dropped", capabilities(exporter) >> CAP_BPF & 1, 0)
        jobs, expected = recorded(name, script, "--events", events, wait=wait, repeat=repeat)
        second = exporter.scrape()
        equal(f"{name}: all jobs are recorded", len(jobs), len(expected))
        known = {}
        for j in jobs:
            known[j["outcome"]] = known.get(j["outcome"], 0) + 1
        equal(f"{name}: outcomes", outcomes(first, second), known)
        started = [(int(j["start_ns"]) - int(j["submit_ns"])) / 1e9 for j in jobs if j["outcome"] != "bound"]
        ran = [(int(j["end_ns"]) - int(j["start_ns"])) / 1e9 for j in jobs if j["outcome"] == "completed"]
        same_buckets(f"{name}: queue", grown(first, second, "intel_gpu_job_queue_seconds"), started)
        same_buckets(f"{name}: run", grown(first, second, "intel_gpu_job_run_seconds"), ran)
        exact = run_times(expected, style)
        sums = [page.sum("intel_gpu_job_run_seconds_sum") or 0 for page in (first, second)]
        verdict(abs(sums[1] - sums[0] - sum(exact)) <= max(0.02 * sum(exact), 500e-6 * len(exact)),
                f"{name}: run time against the script", sums[1] - sums[0], sum(exact))
        without_calls(exporter, name)
        yield exporter
        unload()
        verdict(not unload_owner(owner), f"{name}: {owner} cannot be unloaded while the exporter runs")
    verdict(unload_owner(owner), f"{name}: {owner} can be unloaded afterwards")


def counted_flood(exporter):
    """All jobs but those whose events the kernel says it missed."""
    write(TRUTH, "x")
    first = exporter.scrape()
    subprocess.run(["gpujobs", "--name", "flood", "--repeat", "3000", "--wait", "last", "vcs0:1us vcs1.1:1us drain"],
                   check=True, capture_output=True, timeout=200)
    page = [first]

    def settled():
        page[0] = exporter.scrape()
        missed = (page[0].sum("intel_gpu_job_events_lost_total", reason="recursion") -
                  first.sum("intel_gpu_job_events_lost_total", reason="recursion"))
        # One that has ended before the scheduler asks for its end is reported by the thread that asks.
        ended = sum(outcomes(first, page[0]).get(outcome, 0) for outcome in ("completed", "bound"))
        return 6000 - missed <= ended <= 6000

    done = wait_for(settled, 60, 1)
    verdict(done, "flood: the histograms hold all jobs but the missed ones",
            (outcomes(first, page[0]), page[0].all("intel_gpu_job_events_lost_total")), "6000")


def counted_hang(exporter):
    first = exporter.scrape()
    subprocess.run(["gpujobs", "--name", "hang", "rcs0!:1ms vcs0:1ms drain"], check=True, capture_output=True,
                   timeout=60)
    expected = {"error": 1, "completed": 1}
    wait_for(lambda: outcomes(first, exporter.scrape()) == expected, 30, 0.5)
    equal("histograms, a hang: outcomes", outcomes(first, exporter.scrape()), expected)


def by_workload():
    """Jobs of a process tree, and of a process that belongs to no workload."""
    name = "histograms by workload"
    with Exporter("--collector.jobs", f"--workload.tree=channel={os.getpid()}", prefix=STARTER, what=name) as exporter:
        exporter.scrape()
        encoder = subprocess.Popen(["gpujobs", "--name", "encoder", "--repeat", "8", "--wait", "last",
                                    "rcs0:20ms vcs0:10ms sleep:500ms drain"], stdout=subprocess.DEVNULL)

        def counted(workload):
            return exporter.scrape().sum("intel_gpu_workload_jobs_total", workload=workload) or 0

        verdict(wait_for(lambda: counted("channel"), 60, 0.5), f"{name}: counted while the process runs", 0, "some")
        equal(f"{name}: the jobs end", encoder.wait(60), 0)
        subprocess.run(["sh", "-c", "gpujobs --name stray --wait last 'vcs0:5msx3 drain' > /dev/null &"], check=True)
        wait_for(lambda: (counted("channel"), counted("unattributed")) == (16, 3), 60, 1)
        page = exporter.scrape()
        equal(f"{name}: jobs of the tree, and of nobody", (counted("channel"), counted("unattributed")), (16, 3))
        for what in ("queue", "run"):
            equal(f"{name}: {what}: all workloads together are the GPU",
                  cumulative(page, f"intel_gpu_workload_job_{what}_seconds"),
                  cumulative(page, f"intel_gpu_job_{what}_seconds"))


# What a channel submits for a picture, its period in microseconds, and how many video jobs that is.
CHANNELS = {
    "25": ("vcs0{0}:1ms", 40000, 1),
    "29.97": ("vcs0{0}:1ms", 33367, 1),
    "50": ("vcs1{0}:1ms", 20000, 1),
    "59.94": ("vcs1{0}:1ms", 16683, 1),
    "fields": ("vcs0{0}:500us vcs0{0}:500us", 40000, 2),
    "one, to three": ("vcs0{0}:1ms vcs1{0}:500us vcs1.1{0}:500us vcs1.2{0}:500us", 40000, 4),
    'a"b\\c\n{}': ("vcs0{0}:1ms", 100000, 1),  # as a program may call itself
    "not video": ("rcs0{0}:1ms vecs0{0}:1ms", 40000, 0),
}
PICTURES, DROPPED = 60, (5, 21, 22, 40)


def channel(name, signal):
    """Some pictures are dropped, then it stalls, goes on, and stands still."""
    picture, period, jobs = CHANNELS[name]
    pause = f"sleep:{period}us"
    words = [pause if i in DROPPED else f"{picture.format(signal)} {pause}" for i in range(PICTURES)]
    words.insert(PICTURES // 2, "sleep:1500ms")
    return " ".join(words) + " sleep:1500ms drain sleep:600000ms", (PICTURES - len(DROPPED)) * jobs


def video_jobs(page, what, label):
    return {labels[label]: value for labels, value in page.all(f"intel_gpu_{what}_video_jobs_total")}


def channels(style, signal=""):
    """Every picture of channels is counted once, by process and by workload, and none that was dropped."""
    name = f"channels, {style}"
    waiting, expected = {}, {}
    for one in CHANNELS:
        script, expected[one] = channel(one, signal)
        node = os.open("/dev/dri/renderD128", os.O_RDWR)
        waiting[one] = subprocess.Popen(["sh", "-c", 'read go; exec gpujobs --name "$0" "$1"', one, script],
                                        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, pass_fds=[node])
        os.close(node)
    trees = [f"--workload.tree=channel {number}={process.pid}" for number, process in enumerate(waiting.values())]
    of_workload = {f"channel {number}": expected[one] for number, one in enumerate(waiting) if expected[one]}
    of_process = {str(waiting[one].pid): jobs for one, jobs in expected.items() if jobs}
    with Exporter("--collector.jobs", *trees, what=name) as exporter:
        exporter.scrape()
        for process in waiting.values():
            process.stdin.write(b"\n")
            process.stdin.close()
        pages = [exporter.scrape()]

        def counted():
            pages.append(exporter.scrape())
            return (video_jobs(pages[-1], "workload", "workload") == of_workload and
                    video_jobs(pages[-1], "process", "pid") == of_process)

        wait_for(counted, 120, 1)
        page = pages[-1]
        equal(f"{name}: pictures by workload", video_jobs(page, "workload", "workload"), of_workload)
        equal(f"{name}: pictures by process", video_jobs(page, "process", "pid"), of_process)
        names = {str(process.pid): one for one, process in waiting.items()}
        equal(f"{name}: the names of the processes",
              {labels["pid"]: labels["comm"] for labels, _ in page.all("intel_gpu_process_video_jobs_total")},
              {pid: names[pid] for pid in of_process})
        lost = {labels["reason"]: value for labels, value in page.all("intel_gpu_job_events_lost_total")}
        equal(f"{name}: no event is lost", sum(lost.values()), 0)
        without_more_calls(exporter, name)
        for process in waiting.values():
            process.kill()
            process.wait()
        wait_for(lambda: not video_jobs(exporter.scrape(), "process", "pid"), 60, 0.5)
        for _ in range(3):  # their places in the kernel's table are freed
            page = exporter.scrape()
        equal(f"{name}: ended processes have no series", video_jobs(page, "process", "pid"), {})
        equal(f"{name}: they stay in their workloads", video_jobs(page, "workload", "workload"), of_workload)
    with Exporter("--collector.jobs", what=f"{name}, no workloads") as exporter:
        exporter.scrape()
        node = os.open("/dev/dri/renderD128", os.O_RDWR)
        process = subprocess.Popen(["gpujobs", "--name", "alone", f"vcs0{signal}:1msx7 rcs0{signal}:1msx3 drain sleep:600000ms"],
                                   stdout=subprocess.DEVNULL, pass_fds=[node])
        os.close(node)
        wait_for(lambda: video_jobs(exporter.scrape(), "process", "pid") == {str(process.pid): 7}, 60, 0.5)
        equal(f"{name}: without workloads, by process", video_jobs(exporter.scrape(), "process", "comm"), {"alone": 7})
        process.kill()
        process.wait()


def without_more_calls(exporter, name):
    """A scrape with video jobs calls the kernel as often as one without, but for the read of the misses. Processes that come
    and go beside it change both: so they take turns, and the middle difference counts. The calls by which threads wake each
    other are left out: if an answer takes longer than a moment, there are more of them."""
    memory = {9, 10, 11, 12, 202, 28}  # mmap, mprotect, munmap, brk, futex, madvise: of a longer page
    wakes = descriptors(exporter, r"\[(eventfd|eventpoll|timerfd)\]")
    with traced_calls(exporter) as of_a_scrape:
        def calls(query):
            return sum(number not in memory and argument not in wakes for number, argument in of_a_scrape(query))

        turns = [(calls("?collect[]=fdinfo"), calls("?collect[]=fdinfo&collect[]=jobs")) for _ in range(7)]
    more = sorted(with_jobs - without for without, with_jobs in turns)[len(turns) // 2]
    verdict(min(map(min, turns)) > 0 >= more, f"{name}: video jobs add no system call", turns, "a median of none")


def always_on():
    with Exporter("--collector.jobs", "--log.level=debug", prefix=STARTER, what="histograms, no driver") as exporter:
        equal("histograms without a driver: the reason", feature(exporter.scrape()), [(0, "kernel")])
        verdict("restart the exporter" in exporter.log(), "histograms without a driver: the log has a hint",
                exporter.log(), "restart the exporter")
    load("xe")
    with histograms("xe", "gpu_sched", ROUND.format("") + " drain", "drm_sched_old") as exporter:
        counted_hang(exporter)
        counted_flood(exporter)
    load("xe")
    by_workload()
    channels("xe")
    with Exporter("--collector.jobs", prefix=as_user(65534, (), ["perfmon"]), what="histograms, denied") as exporter:
        equal("histograms without CAP_BPF: the reason", feature(exporter.scrape()), [(0, "permission")])
        verdict("CAP_BPF" in exporter.log(), "histograms without CAP_BPF: the log has a hint", exporter.log(), "CAP_BPF")


def static_file():
    """The BPF programs and the recorder of the file without libraries."""
    equal("static: it needs no library", b"=>" in subprocess.run(["ldd", vm.BINARY], capture_output=True).stdout, False)
    load("xe")
    with histograms("xe", "gpu_sched", ROUND.format("") + " drain", "drm_sched_old"):
        pass


def jobs_i915():
    """i915.ko is the rig's module under that name."""
    load("i915", module="i915")
    with histograms("i915", "i915", ROUND.format("+") + " drain", "i915"):
        pass
    load("i915", module="i915")
    with histograms("i915, nobody waits", "i915", ROUND.format("") + " sleep:1500ms", "i915", wait="none", repeat=4):
        pass
    load("i915", module="i915")
    channels("i915", "+")


def jobs():
    always_on()
    xe()
    flood()
    verdict(unload(), "xe: the module unloads after the recordings")
    i915()
    load("xe")
    modules_and_rights()


def jobs_newer_kernel():
    """What differs there: the scheduler's structures, its events, BTF. dg2 is 0000:03:00.0."""
    bmg = "devname=0000:06:00.0"
    load("xe", bmg)
    with histograms("xe", "gpu_sched", ROUND.format("") + " drain", "drm_sched_old"):
        pass
    load("xe", bmg)
    xe()
    verdict(unload(), "xe: the module unloads after the recordings")
    i915()
    jobs_i915()
