# SPDX-License-Identifier: Apache-2.0
"""`trace` against jobs of known length (rig/jobs): what ran when, who submitted it, what was lost, who may record."""

import csv
import io
import os
import signal
import subprocess
import time

import vm
from vm import as_user, equal, read, verdict, wait_for, write

TRUTH = "/sys/kernel/debug/gpujobs/truth"
FILE = "/tmp/jobs.pftrace"
# Nine jobs on five queues: two contexts share rcs0, two jobs wait for another queue's.
ROUND = ("rcs0{0}:20ms rcs0.1{0}:15ms vcs0{0}:8ms vcs1.2{0}:12ms@rcs0 sleep:30ms ccs0{0}:3msx3 bcs0{0}:1ms@ccs0 "
         "sleep:20ms vecs0{0}:700us")


def load(style, *parameters):
    subprocess.run(["modprobe", "gpu-sched"], check=True)
    subprocess.run(["insmod", "/rig/gpujobs.ko", f"style={style}", *parameters], check=True)
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
    done = trace("report", file, "--jobs-csv")
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


def at_most(name, errors, median, p95):
    errors = sorted(abs(e) for e in errors)
    if not errors:
        verdict(False, f"{name}: has values", 0, "some")
        return
    middle, high = errors[len(errors) // 2] / 1e3, errors[len(errors) * 95 // 100] / 1e3
    verdict(middle <= median and high <= p95, f"{name}: error of {len(errors)} jobs",
            f"median {middle:.0f} us, p95 {high:.0f} us", f"at most {median} and {p95}")


def all_found(name, jobs, expected, by_key):
    pairs = matched(jobs, expected, by_key)
    equal(f"{name}: all jobs found", (len(jobs), len(pairs)), (len(expected), len(expected)))
    equal(f"{name}: the process that submitted", {j["pid"] == t["tgid"] and j["tid"] == t["tid"] for j, t in pairs},
          {True})
    return pairs


def accurate(name, pairs):
    """Of exact ends only."""
    pairs = [(j, {k: int(t[k]) for k in ("submit_ns", "start_ns", "end_ns")}) for j, t in pairs if j["end"] == "exact"]
    queue = [int(j["start_ns"]) - int(j["submit_ns"]) - (t["start_ns"] - t["submit_ns"]) for j, t in pairs]
    at_most(f"{name}: queue", queue, 50, 500)
    at_most(f"{name}: start", [int(j["start_ns"]) - t["start_ns"] for j, t in pairs], 50, 500)
    at_most(f"{name}: end", [int(j["end_ns"]) - t["end_ns"] for j, t in pairs], 50, 500)


def mostly(name, held, expected):
    verdict(sum(h in expected for h in held) > len(held) // 2, name, held, f"mostly {sorted(expected)}")


def xe():
    load("xe")
    for events, by_key in (("drm_sched_old", False), ("drm_sched", True)):
        name = f"xe, {events}"
        jobs, expected = recorded(name, ROUND.format("") + " drain", "--events", events)
        pairs = all_found(name, jobs, expected, by_key)
        equal(f"{name}: outcomes", {j["outcome"] for j in jobs}, {"completed"})
        accurate(name, pairs)
        waits = [j for j, t in pairs if t["engine"] in ("vcs1", "bcs0")]
        mostly(f"{name}: jobs held by a dependency", [j["held_by"] for j in waits], {"dependency"})
        # On a busy host the scheduler's thread hands some jobs over later than the engine is free: truth tells them.
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
    jobs, expected = recorded("i915, interrupts", ROUND.format("+") + " drain", "--events", "i915")
    pairs = all_found("i915, interrupts", jobs, expected, True)
    # Without low-level events a wait for another job counts as running.
    accurate("i915, interrupts", [(j, t) for j, t in pairs if t["engine"] not in ("vcs1", "bcs0")])
    jobs, expected = recorded("i915, low-level", ROUND.format("") + " drain", "--events", "i915,i915_low_level")
    accurate("i915, low-level", all_found("i915, low-level", jobs, expected, True))
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
    done = trace("record", "-o", "/dev/full", "--duration", "1s")
    equal("a full disk", (done.returncode, "No space left" in done.stderr), (1, True))
    done = trace("record", "-o", "/proc/no/file", "--duration", "1s")
    equal("a file that cannot be written", (done.returncode, "/proc/no/file" in done.stderr), (1, True))
    verdict(unload(), "pinned: the module unloads after the recording")
    subprocess.run(["rmmod", "gpu_sched"], check=True)
    done = trace("record", "-o", FILE, "--duration", "1s")
    equal("no driver", (done.returncode, "no driver here reports jobs" in done.stderr), (1, True))


def jobs():
    xe()
    flood()
    verdict(unload(), "xe: the module unloads after the recordings")
    i915()
    load("xe")
    modules_and_rights()
