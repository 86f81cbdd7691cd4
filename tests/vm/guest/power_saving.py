# SPDX-License-Identifier: Apache-2.0
"""Runtime PM: a sleeping GPU is never woken, an unused GPU is not kept awake."""

import time

from model import machine
from vm import Exporter, Load, equal, points, present, rate, read, state, verdict, wait_for

BUSY = "intel_gpu_engine_busy_seconds_total"


def asleep(gpu):
    return read(gpu.sys + "/power/runtime_status") == "suspended"


def resumes(gpu):
    return state()["gpus"][gpu.index]["rpm_resumes"]


def node(gpu):
    import os
    return "/dev/dri/" + next(n for n in os.listdir(gpu.sys + "/drm") if n.startswith("render"))


def shown_asleep(gpu, page, when):
    d = {"device": gpu.address}
    equal(f"{gpu.name} {when}: said to be suspended", page.get("intel_gpu_runtime_suspended", **d), 1)
    # The rest is what health counts, remembers, or reads from files that wake nothing.
    allowed = {"intel_gpu_info", "intel_gpu_runtime_suspended", "intel_gpu_exporter_feature_available",
               "intel_gpu_runtime_pm_info", "intel_gpu_survivability_mode", "intel_gpu_pcie_errors_total",
               "intel_gpu_resets_total", "intel_gpu_core_dumps_total", "intel_gpu_hangs_total", "intel_gpu_fault_events_total", "intel_gpu_wedged",
               "intel_gpu_firmware_info"}
    more = sorted(n for n in page.samples if n not in allowed and page.all(n, **d))
    equal(f"{gpu.name} {when}: no other series", more, [])
    reasons = {l["reason"] for l, v in page.all("intel_gpu_exporter_feature_available", **d) if v == 0}
    verdict("suspended" in reasons, f"{gpu.name} {when}: the reason is reported", reasons, "suspended among them")


def sleeping(personality):
    """For GPUs with rpm=1: a hundred scrapes wake nothing; a load wakes the GPU, and after its end the GPU sleeps again."""
    gpus = machine(personality)
    xe = [g for g in gpus if g.xe]
    for g in gpus:
        verdict(wait_for(lambda: asleep(g), 120), f"{g.name}: an idle GPU sleeps", "awake", "suspended")
    before = {g.name: resumes(g) for g in gpus}
    with Exporter(what=f"asleep, {personality}") as exporter:
        for n in range(100):
            page = exporter.scrape()
            if n in (0, 99):
                for g in gpus:
                    shown_asleep(g, page, f"at scrape {n + 1}")
        for g in gpus:
            equal(f"{g.name}: resumes over 100 scrapes of a sleeping GPU", resumes(g), before[g.name])
            equal(f"{g.name}: still asleep", asleep(g), True)
        equal("no perf event of a sleeping xe GPU is open", exporter.perf_fds() if len(xe) == len(gpus) else 0, 0)

        # a load wakes it
        before_load = time.monotonic()
        loads = [Load("render=30 video=60", "--dev", node(g), "--name", "waker") for g in gpus]
        begun = time.monotonic()
        for g in gpus:
            equal(f"{g.name}: a load wakes it", asleep(g), False)
        time.sleep(1.2)
        first = exporter.scrape()
        for g in gpus:
            equal(f"{g.name}: awake on the page", first.get("intel_gpu_runtime_suspended", device=g.address), 0)
            present(f"{g.name}: frequency is back", first, "intel_gpu_frequency_hertz", device=g.address)
        time.sleep(1.5)
        second = exporter.scrape()
        time.sleep(2.0)
        third = exporter.scrape()
        for g in gpus:
            labels = {"device": g.address, "class": "video"}
            engine = {**labels, "engine": "vcs0", "source": "pmu"}
            points(f"{g.name}: video engine right at the second scrape",
                   second.get("intel_gpu_engine_busy_ratio", **engine) if not g.xe else
                   max([v for _, v in second.all("intel_gpu_engine_busy_ratio", **labels)
                        ] or [-1]), 0.60 if not g.xe or second.all("intel_gpu_engine_busy_ratio", **engine) else
                   0.60 / g.capacity("video"))
            points(f"{g.name}: video engine by the PMU at the third",
                   third.get("intel_gpu_engine_busy_ratio", **engine), 0.60)
            rate(f"{g.name}: no time lost between the scrapes", second, third, BUSY, 0.60, absolute=0.005, **labels)
            if not g.xe:
                # i915's events are opened when the GPU is first seen awake and stay open from then on
                rate(f"{g.name}: nothing lost since it was seen awake", first, third, BUSY, 0.60, absolute=0.005, **labels)
                continue
            # xe: from the start of the load, before anything was open, through the change of the source, to the third scrape.
            # Nobody measures between the scan of the clients and the opening of the events: microseconds on a real machine,
            # up to a quarter of a second when a dozen events are opened under emulation on a busy host.
            worked = third.sum(BUSY, **labels) or 0
            low, high = 0.60 * (third.before - begun), 0.60 * (third.after - before_load)
            verdict(low * 0.99 - 0.15 <= worked <= high * 1.01 + 0.01,
                    f"{g.name}: nothing lost or doubled since the load began", f"{worked:.3f} s",
                    f"{low:.3f} to {high:.3f} s")
        for load in loads:
            load.stop()
        ended = time.monotonic()

        # after its end it sleeps: at once for i915, a minute later for xe, which open events keep awake
        for g in gpus:
            if not g.xe:
                # scrapes faster than its idle timer (a second here) must not keep it awake forever
                verdict(wait_for(lambda: exporter.scrape() and asleep(g), 120, 0.3),
                        f"{g.name}: sleeps again though it is scraped all the time", "awake", "suspended")
                again(g, exporter)
        if xe:
            verdict(exporter.perf_fds() > 0, "xe: events are open while it works", exporter.perf_fds(), "some")
            last = None
            while time.monotonic() - ended < 100 and not all(asleep(g) for g in xe):
                time.sleep(2)
                last = exporter.scrape()
            waited = time.monotonic() - ended
            for g in xe:
                equal(f"{g.name}: sleeps again though it is scraped", asleep(g), True)
            verdict(30 < waited < 90, "xe: about a minute after the last activity", f"{waited:.0f} s", "30 to 90 s")
            # RAPL and the memory controllers are the machine's and stay open: five and two events
            equal("xe: no event of a GPU is open any more", exporter.perf_fds(),
                  7 if any(g.kind == "integrated" for g in gpus) else 0)
            woken = {g.name: resumes(g) for g in xe}
            for _ in range(10):
                last = exporter.scrape()
            for g in xe:
                equal(f"{g.name}: and stays asleep", resumes(g), woken[g.name])
                shown_asleep(g, last, "afterwards")

            # activity reopens them; the totals continue
            loads = [Load("render=30 video=60", "--dev", node(g), "--name", "again") for g in xe]
            time.sleep(1.2)
            fourth = exporter.scrape()
            time.sleep(2.0)
            fifth = exporter.scrape()
            time.sleep(2.0)
            sixth = exporter.scrape()
            for g in xe:
                labels = {"device": g.address, "class": "video"}
                points(f"{g.name}: right again at the second scrape after",
                       sixth.get("intel_gpu_engine_busy_ratio", source="pmu", engine="vcs0", **labels), 0.60)
                rate(f"{g.name}: nothing lost at the second change-over", fourth, sixth, BUSY, 0.60, absolute=0.005,
                     **labels)
                sources = {l["source"] for l, _ in sixth.all(BUSY, **labels)}
                equal(f"{g.name}: both sources stay visible", sources, {"pmu", "fdinfo"})
            for load in loads:
                load.stop()


def again(gpu, exporter):
    """The i915 GPU works again, undetected at first: its events are still open."""
    labels = {"device": gpu.address, "class": "video"}
    idle = exporter.scrape()
    equal(f"{gpu.name}: asleep once more", idle.all(BUSY, **labels), [])
    total = sum(v for (name, key), v in exporter.last.items() if name == BUSY and set(labels.items()) <= set(key))
    before = time.monotonic()
    with Load("video=60", "--dev", node(gpu)):
        after = time.monotonic()
        time.sleep(2)
        page = exporter.scrape()
        worked = (page.sum(BUSY, **labels) or 0) - total
        low, high = 0.60 * (page.before - after), 0.60 * (page.after - before)
        verdict(low * 0.99 <= worked <= high * 1.01, f"{gpu.name}: counted from the moment it woke", f"{worked:.3f} s",
                f"{low:.3f} to {high:.3f} s")


def pinned():
    """xe-source pinned to one source, on `bmg` with rpm=1."""
    gpu = machine("bmg")[0]
    d = {"device": gpu.address, "class": "video"}
    with Load("video=60", "--dev", node(gpu)):
        with Exporter("--collector.engines.xe-source=fdinfo", what="xe-source=fdinfo") as exporter:
            exporter.scrape()
            a, b = exporter.window()
            equal("fdinfo: no event is open", exporter.perf_fds(), 0)
            equal("fdinfo: sources", {l["source"] for l, _ in b.all(BUSY)}, {"fdinfo"})
            points("fdinfo: ratio of the class", b.get("intel_gpu_engine_busy_ratio", **d), 0.60 / gpu.capacity("video"))
            rate("fdinfo: seconds", a, b, BUSY, 0.60, absolute=0.001, **d)
        with Exporter("--collector.engines.xe-source=pmu", what="xe-source=pmu") as exporter:
            exporter.scrape()
            a, b = exporter.window()
            equal("pmu: sources", {l["source"] for l, _ in b.all(BUSY)}, {"pmu"})
            points("pmu: ratio", b.get("intel_gpu_engine_busy_ratio", engine="vcs0", **d), 0.60)
            rate("pmu: seconds", a, b, BUSY, 0.60, absolute=0.001, **d)
    verdict(wait_for(lambda: asleep(gpu), 120), "after the exporter has gone it sleeps", "awake", "suspended")
    code = None
    try:
        Exporter("--collector.engines.xe-source=nonsense", what="nonsense").stop()
        code = 0
    except RuntimeError as e:
        verdict("xe-source" in str(e), "a wrong choice is refused by name", str(e)[-300:], "xe-source in the message")
    equal("a wrong choice does not start", code, None)
