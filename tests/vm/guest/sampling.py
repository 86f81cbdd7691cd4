# SPDX-License-Identifier: Apache-2.0
"""--sample.interval: a stall and a burst between two scrapes, told once to each scraper; GPUs that sleep stay asleep; a hang
becomes one flight."""

import json
import time

from model import machine
from power_saving import BUSY, asleep, node, resumes
from vm import Exporter, Load, equal, points, present, verdict, wait_for

INTERVAL = 0.1
RATIO = "intel_gpu_engine_utilization_ratio"
GAPS = "intel_gpu_engine_idle_gaps_seconds"
SATURATED = "intel_gpu_engine_saturated_seconds_total"
# Two scrapers: the exporter tells them apart by their names.
SLOW, FAST = {"User-Agent": "every 15 s"}, {"User-Agent": "every 5 s"}


def highest(page, gpu, engine):
    return page.get("intel_gpu_engine_busy_ratio_max", device=gpu.address, engine=engine)


def lowest(page, gpu, engine):
    return page.get("intel_gpu_engine_busy_ratio_min", device=gpu.address, engine=engine)


def value(page, name, gpu, engine, **labels):
    return page.get(name, device=gpu.address, engine=engine, **labels) or 0


def between(name, got, low, high):
    verdict(got is not None and low <= got <= high, name, got, f"{low:g} to {high:g}")


def is_sampled(page, gpus):
    return all(highest(page, g, "vcs0") is not None for g in gpus)


def for_seconds(gpus, command, seconds, afterwards):
    """Scripts this for a time. Returns how long it took at least and at most."""
    begun = time.monotonic()
    for g in gpus:
        g.ctl(command)
    done = time.monotonic()
    time.sleep(seconds)
    ends = time.monotonic()
    for g in gpus:
        g.ctl(afterwards)
    return ends - done, time.monotonic() - begun


def stall_and_burst(exporter, gpus):
    for headers in (SLOW, FAST):
        exporter.scrape(headers=headers)
    began = exporter.scrape()
    time.sleep(2)
    stall = for_seconds(gpus, "engine vcs0 busy=0", 0.2, "engine vcs0 busy=60")
    time.sleep(2.5)
    first = exporter.scrape(headers=FAST)
    time.sleep(2)
    burst = for_seconds(gpus, "engine bcs0 busy=100", 0.3, "engine bcs0 busy=0")
    time.sleep(2.5)
    second = exporter.scrape(headers=FAST)
    time.sleep(5)
    third, slow = exporter.scrape(headers=FAST), exporter.scrape(headers=SLOW)
    time.sleep(1)
    ended, afterwards = exporter.scrape(), exporter.scrape(headers=SLOW)
    for g in gpus:
        for page, stalled, full, when in ((first, True, False, "the scrape after the stall"), (second, False, True, "the one after the burst"),
                                          (third, False, False, "the next one"), (slow, True, True, "the one after 15 s"),
                                          (afterwards, False, False, "the one after that")):
            points(f"{g.name}, {when}: smallest sample of vcs0", lowest(page, g, "vcs0"), 0 if stalled else 0.6)
            points(f"{g.name}, {when}: largest sample of vcs0", highest(page, g, "vcs0"), 0.6)
            points(f"{g.name}, {when}: largest sample of bcs0", highest(page, g, "bcs0"), 1 if full else 0)
        between(f"{g.name}: the mean of 15 s hides the stall", slow.get("intel_gpu_engine_busy_ratio", device=g.address, engine="vcs0", source="pmu"), 0.56, 0.605)

        def grown(name, engine, **labels):
            return value(ended, name, g, engine, **labels) - value(began, name, g, engine, **labels)

        equal(f"{g.name}: one gap", grown(GAPS + "_count", "vcs0"), 1)
        between(f"{g.name}: its length, within a sample at each end", grown(GAPS + "_sum", "vcs0"), stall[0] - 2 * INTERVAL, stall[1] + INTERVAL)
        between(f"{g.name}: bcs0 was saturated, within a sample", grown(SATURATED, "bcs0"), burst[0] - 2 * INTERVAL, burst[1] + INTERVAL)
        equal(f"{g.name}: vcs0 was not", grown(SATURATED, "vcs0"), 0)
        full = grown(RATIO + "_count", "bcs0") - grown(RATIO + "_bucket", "bcs0", le="0.95")
        between(f"{g.name}: samples of bcs0 in the highest bucket", full, burst[0] / INTERVAL - 2, burst[1] / INTERVAL + 1)
        # Samples that were missed are in none of the observations.
        missed = ended.get("intel_gpu_exporter_samples_missed_total") - began.get("intel_gpu_exporter_samples_missed_total")
        observed = grown(RATIO + "_count", "vcs0")
        shortest, longest = ended.before - began.after, ended.after - began.before
        between(f"{g.name}: samples taken and missed", observed + missed, shortest / INTERVAL - 2, longest / INTERVAL + 2)
        between(f"{g.name}: few are missed", missed, 0, observed / 10)
        busy = grown(BUSY, "vcs0", source="pmu")
        between(f"{g.name}: the histogram's sum is the busy time", grown(RATIO + "_sum", "vcs0") * INTERVAL,
                busy - (missed + 2) * INTERVAL - 0.01 * busy, busy + 2 * INTERVAL + 0.01 * busy)


def flights(exporter):
    return json.loads(exporter.request("/api/v1/flights")[2])


def series(lines, gpu, engine):
    """(time, value) of the samples of this engine, whichever GT it is on."""
    index, found = None, []
    for line in lines:
        if "gpu" in line:
            names = [column["name"].partition(" ")[2] for column in line["gpu"]["values"]]
            name = f"{engine} busy"
            index = names.index(name) if line["gpu"]["device"] == gpu.address and name in names else None
        if "sample" in line and index is not None and line["sample"]["values"][index] is not None:
            found.append((line["sample"]["time"], line["sample"]["values"][index]))
    return found


def hang(exporter, gpu, line):
    """vcs0 stops, a second later the driver writes this line: one flight, in which that shows."""
    before = len(flights(exporter))
    gpu.ctl("engine vcs0 busy=0")
    time.sleep(1.5)
    gpu.ctl(f"log 5 [drm] {line}")
    time.sleep(3)
    gpu.ctl("engine vcs0 busy=60")
    exporter.scrape()  # notices it
    verdict(wait_for(lambda: len(flights(exporter)) > before, 60, 1), f"{gpu.name}: a hang becomes a flight")
    listed = flights(exporter)
    equal(f"{gpu.name}: one", len(listed), before + 1)
    equal(f"{gpu.name}: its cause", (listed[-1]["cause"], listed[-1]["device"]), ("hang", gpu.address))
    lines = [json.loads(text) for text in exporter.request(f"/api/v1/flights/{listed[-1]['number']}.jsonl")[2].splitlines()]
    faults = [part["fault"]["text"] for part in lines if "fault" in part and part["fault"]["device"] == gpu.address]
    verdict(any(line in text for text in faults), f"{gpu.name}: the kernel's line is in it", faults, line)
    verdict(any("client" in part for part in lines), f"{gpu.name}: clients are in it")
    at, busy = listed[-1]["time"], series(lines, gpu, "vcs0")
    earlier = [value for when, value in busy if at - 8 < when < at - 3]
    last = [value for when, value in busy if at - 1 < when <= at]
    between(f"{gpu.name}: vcs0 before it", sum(earlier) / max(len(earlier), 1), 0.5, 0.7)
    verdict(last and max(last) == 0, f"{gpu.name}: the last second shows that it stood still", last, 0)
    verdict(busy and busy[-1][0] >= at + 9, f"{gpu.name}: ten seconds after it are in it", busy[-1:], at + 10)


def samples(personality):
    """For GPUs with rpm=1, which sleep while nothing uses them."""
    gpus = machine(personality)
    for g in gpus:
        verdict(wait_for(lambda: asleep(g), 120), f"{g.name}: an idle GPU sleeps", "awake", "suspended")
    before = {g.name: resumes(g) for g in gpus}
    with Exporter("--sample.interval=100ms", "--flight.length=20s", what=f"samples, {personality}") as exporter:
        exporter.scrape()
        time.sleep(5)
        page = exporter.scrape()
        for g in gpus:
            equal(f"{g.name}: no sample wakes it", resumes(g), before[g.name])
            equal(f"{g.name}: and none is shown", highest(page, g, "vcs0"), None)

        loads = [Load("render=10", "--dev", node(g), "--name", "encoder") for g in gpus]
        for g in gpus:
            g.ctl("engine vcs0 busy=60")
        verdict(wait_for(lambda: is_sampled(exporter.scrape(headers=SLOW), gpus), 60, 1), "both GPUs are sampled once they work")
        stall_and_burst(exporter, gpus)
        i915, xe = gpus
        hang(exporter, i915, "GPU HANG: ecode 12:4:85dffffb, in encoder [4194001]")
        hang(exporter, xe, "Tile0: GT0: Timedout job: seqno=1, lrc_seqno=1, guc_id=7, flags=0x0 in encoder [4194001]")
        total = {labels["cause"]: value for labels, value in exporter.scrape().all("intel_gpu_exporter_flights_total")}
        equal("flights are counted by cause", {cause: value for cause, value in total.items() if value}, {"hang": 2})

        for load in loads:
            load.stop()
        for g in gpus:
            g.ctl("engine vcs0 busy=0")
        verdict(wait_for(lambda: exporter.scrape() and all(asleep(g) for g in gpus), 150, 2),
                "both sleep again though they are sampled", [asleep(g) for g in gpus], "suspended")
        woken, last = {g.name: resumes(g) for g in gpus}, exporter.scrape()
        time.sleep(5)
        page = exporter.scrape()
        for g in gpus:
            equal(f"{g.name}: it stays asleep", resumes(g), woken[g.name])
            equal(f"{g.name}: no sample of a sleeping GPU", value(page, RATIO + "_count", g, "vcs0"), value(last, RATIO + "_count", g, "vcs0"))
            present(f"{g.name}: its totals stay", page, RATIO + "_count", device=g.address, engine="vcs0")

        loads = [Load("render=10", "--dev", node(g), "--name", "again") for g in gpus]
        for g in gpus:
            count = value(page, RATIO + "_count", g, "vcs0")
            verdict(wait_for(lambda: value(exporter.scrape(), RATIO + "_count", g, "vcs0") > count + 5, 60, 1),
                    f"{g.name}: sampled again when it works again")
        for load in loads:
            load.stop()
