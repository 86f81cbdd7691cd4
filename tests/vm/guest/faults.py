# SPDX-License-Identifier: Apache-2.0
"""A fault removes only its own series, invents no values, and is over at the next scrape."""

import os
import subprocess
import time

from model import MIB, POWER, apply_machine, machine, script
from vm import (CTL, Exporter, Load, absent, ctl, equal, near, points, present, rate, read, run_tool, slack_for, state,
                verdict, wait_for)
import values

SUCCESS = "intel_gpu_scrape_collector_success"
DEADLINE = 180  # seconds for what happens at once on a fast machine
HANG = 20  # seconds


def others_whole(name, page, failed, gpu, others=()):
    """Every collector but the failed ones succeeded, and the basic series of the other GPUs are there."""
    wrong = sorted(l["collector"] for l, v in page.all(SUCCESS) if v != 1 and l["collector"] not in failed)
    equal(f"{name}: no other collector failed", wrong, [])
    for g in (gpu, *others):
        present(f"{name}: engines of {g.name}", page, "intel_gpu_engine_busy_seconds_total", device=g.address)
        present(f"{name}: info of {g.name}", page, "intel_gpu_info", device=g.address)
    for g in others:
        present(f"{name}: frequency of {g.name}", page, "intel_gpu_frequency_hertz", kind="actual", device=g.address)


def settle(exporter, seconds=1.2):
    time.sleep(seconds)
    return exporter.scrape()


def attributes(exporter, gpus, scripts):
    """sysfs and hwmon files that fail, hold wrong values or hang: one GPU after the other."""
    for g, s in zip(gpus, scripts):
        d, others = {"device": g.address}, [o for o in gpus if o is not g]
        act = s.gts[0]["act"] * 1e6
        for fault in ("EIO", "ENODATA", r"text=garbage\n", "text=", r"text=-5\n", r"text=99999999999999999999999\n"):
            name = f"{g.name} act_freq {fault}"
            g.ctl(f"fault sysfs:*act_freq* {fault}")
            page = exporter.scrape()
            absent(f"{name}: not a number made up", page, "intel_gpu_frequency_hertz", kind="actual", **d)
            present(f"{name}: its neighbours stay", page, "intel_gpu_frequency_hertz", kind="requested", **d)
            present(f"{name}: limits stay", page, "intel_gpu_frequency_limit_hertz", **d)
            equal(f"{name}: reported as a failure", page.get(SUCCESS, collector="frequency"), 0)
            others_whole(name, page, {"frequency"}, g, others)
            ctl("fault clear")
            page = exporter.scrape()
            near(f"{name}: back at the next scrape",
                 page.get("intel_gpu_frequency_hertz", kind="actual", gt="0", **d), act)
            equal(f"{name}: success again", page.get(SUCCESS, collector="frequency"), 1)
        g.ctl("fault sysfs:* EIO")
        page = exporter.scrape()
        present(f"{g.name} all files EIO: still there", page, "intel_gpu_info", **d)
        absent(f"{g.name} all files EIO: no frequency", page, "intel_gpu_frequency_hertz", **d)
        ctl("fault clear")
        g.ctl("fault sysfs:*act_freq* EIO count=1")
        exporter.scrape()
        page = exporter.scrape()
        near(f"{g.name} EIO once: back", page.get("intel_gpu_frequency_hertz", kind="actual", gt="0", **d), act)
        ctl("fault clear")
        if g.kind == "integrated":
            continue
        for fault in ("EIO", "ENODATA"):
            name = f"{g.name} hwmon {fault}"
            g.ctl(f"fault hwmon:energy* {fault}")
            page = settle(exporter)
            absent(f"{name}: no power", page, "intel_gpu_power_watts", **d)
            present(f"{name}: limits stay", page, "intel_gpu_power_limit_watts", **d)
            present(f"{name}: temperature stays", page, "intel_gpu_temperature_celsius", **d)
            others_whole(name, page, {"hwmon", "power"}, g, others)
            ctl("fault clear")
            settle(exporter)
            page = settle(exporter)
            near(f"{name}: power is right again",
                 page.get("intel_gpu_power_watts", domain="card" if g.xe else "package", **d), s.hwmon["power"])
        # a file that hangs: far longer than a collector may take (5 s)
        g.ctl(f"fault hwmon:temp* delay={HANG * 1000}")
        began = time.monotonic()
        page = exporter.scrape()
        took = time.monotonic() - began
        verdict(took < HANG, f"{g.name} hwmon hangs: the page does not wait for it", f"{took:.1f} s",
                f"less than {HANG} s")
        absent(f"{g.name} hwmon hangs: no temperature", page, "intel_gpu_temperature_celsius", **d)
        others_whole(f"{g.name} hwmon hangs", page, {"hwmon"}, g, others)
        ctl("fault clear")
        back = wait_for(lambda: exporter.scrape().all("intel_gpu_temperature_celsius", **d), DEADLINE, 1)
        verdict(back, f"{g.name} hwmon hung: temperature comes back", f"nothing within {DEADLINE} s", "a temperature")


def jumps(exporter, gpus, scripts):
    """Counters that step: no negative delta, no ratio outside 0..1, and correct again after one window."""
    for g, s in zip(gpus, scripts):
        d = {"device": g.address, "engine": "rcs0"}
        busy = s.busy["rcs0"] / 100
        unit = 1 if not g.xe else 0.0192
        # forward by more than any window is long, so that the ratio of that window is above 1 before it is clamped
        for delta in (-3_000_000_000, 1_000_000_000_000, -1_000_000):
            settle(exporter)
            g.ctl(f"jump rcs0-busy {int(delta * unit)}")
            page = settle(exporter)
            ratio = page.get("intel_gpu_engine_busy_ratio", source="pmu", **d)
            if abs(delta) > 1e9:
                verdict(ratio is None or ratio == 1 or
                        delta < 0 and abs(ratio - busy) < slack_for(ratio, busy, 0, 0.02),
                        f"{g.name} rcs0 jumps by {delta / 1e9:g} s: no false ratio", ratio, "none, or within bounds")
            settle(exporter, 1.3)
            page = settle(exporter, 1.3)
            points(f"{g.name} rcs0 jumped by {delta / 1e9:g} s: right again",
                   page.get("intel_gpu_engine_busy_ratio", source="pmu", **d), busy)
        names = ["rc6-residency" + ("-gt0" if len(g.rp0) > 1 else "")]
        if not g.xe:
            names += ["interrupts", "actual-frequency" + ("-gt0" if len(g.rp0) > 1 else "")]
        if g.kind == "discrete":
            names += ["energy-card"] + (["energy-pkg"] if g.xe else [])
        for name in names:
            g.ctl(f"jump {name} -{10**9 if 'rc6' in name else 10**6 if 'energy' in name else 100}")
        settle(exporter)
        g.ctl("reset")
        settle(exporter)
        settle(exporter, 1.3)
        a, b = exporter.window()
        points(f"{g.name} reset: engines right again",
               b.get("intel_gpu_engine_busy_ratio", source="pmu", **d), busy)
        values.residency(g, s, a, b)
        if g.kind == "discrete":
            values.energy(f"{g.name} reset", a, b, s.hwmon["power"], domain="card" if g.xe else "package",
                          device=g.address)
        if not g.xe:
            rate(f"{g.name} reset: cycles go on", a, b, "intel_gpu_frequency_cycles_total",
                 s.gts[0]["act"] * s.gts[0]["awake"] * 1e4, absolute=1.1e6, kind="actual", gt="0", device=g.address)


def parked(exporter, gpus, scripts):
    for g, s in zip(gpus, scripts):
        d = {"device": g.address, "gt": "0"}
        g.ctl("gt 0 parked=1")
        a, b = exporter.window()
        on_gt0 = [e for e, gt in g.engines.items() if gt == 0]
        for engine in on_gt0:
            points(f"{g.name} parked: {engine} idle", b.get("intel_gpu_engine_busy_ratio", device=g.address,
                                                            engine=engine, source="pmu"), 0)
        points(f"{g.name} parked: rc6", b.get("intel_gpu_rc6_residency_ratio", **d), 1)
        equal(f"{g.name} parked: actual frequency is a true 0", b.get("intel_gpu_frequency_hertz", kind="actual", **d),
              0)
        if not g.xe:
            near(f"{g.name} parked: average frequency",
                 b.get("intel_gpu_frequency_average_hertz", kind="actual", **d), 0, absolute=1e6)
        g.ctl("gt 0 parked=0")


def garbage(exporter, gpus, scripts):
    """fdinfo as a hostile or broken kernel would print it."""
    gpu = gpus[0]
    node = "/dev/dri/" + next(n for n in os.listdir(gpu.sys + "/drm") if n.startswith("render"))
    texts = [
        rf"drm-driver:\t{gpu.driver}\ndrm-pdev:\t{gpu.address}\ndrm-client-id:\t99999999999999999999999999\n",
        rf"drm-driver:\t{gpu.driver}\ndrm-pdev:\t{gpu.address}\ndrm-client-id:\t7\ndrm-engine-render:\t-5 ns\n"
        r"drm-total-system0:\t12 parsecs\n",
        rf"drm-driver:\t{gpu.driver}\ndrm-pdev:\t../../etc\ndrm-client-id:\t7\n",
        r"drm-driver:\tamdgpu\ndrm-pdev:\t0000:0a:00.0\ndrm-client-id:\t1\ndrm-engine-gfx:\t5 ns\n",
        r"\xff\xfe\x01\x02:\n::::\n\n\ndrm-", r"drm-driver", r"drm-client-id:\t\ndrm-pdev:\n",
        rf"drm-driver:\t{gpu.driver}\ndrm-pdev:\t{gpu.address}\ndrm-client-id:\t9\ndrm-engine-render:\t5",
        rf"drm-driver:\t{gpu.driver}\ndrm-pdev:\t{gpu.address}\ndrm-client-id:\t9\ndrm-engine-capacity-render:\t0\n"
        r"drm-engine-render:\t18446744073709551615 ns\n",
        rf"drm-driver:\t{gpu.driver}\ndrm-pdev:\t{gpu.address}\ndrm-client-id:\t9\ndrm-cycles-rcs:\t5\n"
        r"drm-total-cycles-rcs:\t0\n",
    ]
    with Load("render=20", "--dev", node, "--name", "victim") as load:
        settle(exporter)
        for n, text in enumerate(texts):
            ctl(f"fault fdinfo text={text}")
            page = settle(exporter, 0.3)
            others_whole(f"fdinfo garbage {n}", page, {"fdinfo"}, gpu)
            ctl("fault clear")
        ctl("fault fdinfo EIO")  # empty
        page = exporter.scrape()
        absent("fdinfo empty: no client", page, "intel_gpu_process_clients", pid=str(load.pid))
        ctl("fault clear")
        settle(exporter)
        page = settle(exporter, 1.5)
        points("fdinfo garbage: right again", page.get("intel_gpu_process_engine_busy_ratio", **{
            "device": gpu.address, "pid": str(load.pid), "class": "render"}), 0.20 / gpu.capacity("render"))
        ident = next(c["id"] for c in state()["gpus"][gpu.index]["clients"] if c["pid"] == load.pid)
        gpu.ctl(f"jump client:{ident}:{'rcs' if gpu.xe else 'render'} -900000000")
        # at most 0.2 until the client has reached its old count, and 0.2 again from then on
        expected, ratios = 0.2 / gpu.capacity("render"), []

        def right():
            page = settle(exporter)
            ratio = page.get("intel_gpu_process_engine_busy_ratio", **{
                "device": gpu.address, "pid": str(load.pid), "class": "render"})
            if ratio is not None:
                ratios.append(ratio)
            return ratio is not None and abs(ratio - expected) <= slack_for(ratio, expected, 0, 0.01)

        verdict(wait_for(right, DEADLINE), "a client steps back: right again", ratios, expected)
        verdict(all(r <= expected + slack_for(r, expected, 0, 0.01) for r in ratios),
                "a client steps back: no false ratio", ratios, f"none above {expected}")


def refused_node(exporter, gpus, scripts):
    gpu = gpus[0]
    ctl("fault open EIO")
    page = exporter.scrape()
    others_whole("the render node fails", page, {"memory"}, gpu, gpus[1:])
    ctl("fault clear")
    page = exporter.scrape()
    present("the render node works again", page, "intel_gpu_memory_size_bytes", device=gpu.address)


def hotplug(exporter, gpus, scripts):
    """Driver unbound and bound, device removed and found again, each followed within one scrape."""
    for g, s in zip(gpus, scripts):
        d, others = {"device": g.address}, [o for o in gpus if o is not g]
        for away, back in ((f"gpu{g.index} unplug", f"gpu{g.index} replug"), (f"gpu{g.index} remove", "rescan")):
            verb = away.split()[1]
            before = exporter.scrape()
            # a client that still holds the device while it is removed
            holder = Load("render=5 mem=1M", "--name", "holder", "--dev", "/dev/dri/" + next(
                n for n in os.listdir(g.sys + "/drm") if n.startswith("render")))
            exporter.scrape()
            ctl(away)
            page = exporter.scrape()
            still = sorted(n for n in page.samples if page.all(n, **d))
            # Without a driver it is still on the bus.
            equal(f"{g.name} {verb}: the series that are left", still, ["intel_gpu_unbound"] if verb == "unplug" else [])
            equal(f"{g.name} {verb}: devices", page.get("intel_gpu_exporter_devices"), len(others))
            for o in others:
                present(f"{g.name} {verb}: {o.name} stays", page, "intel_gpu_engine_busy_seconds_total",
                        device=o.address)
            gone = [fd for fd in exporter.fds() if g.address in fd or "(deleted)" in fd]
            equal(f"{g.name} {verb}: its files are closed", gone, [])
            holder.stop()
            ctl(back)
            page = exporter.scrape()
            equal(f"{g.name} {back}: devices", page.get("intel_gpu_exporter_devices"), len(gpus))
            present(f"{g.name} {back}: info", page, "intel_gpu_info", **d)
            s.apply()
            with Load("render=1", "--dev", "/dev/dri/" + next(
                    n for n in os.listdir(g.sys + "/drm") if n.startswith("render"))):
                settle(exporter)
                settle(exporter, 1.3)
                page = settle(exporter, 1.3)
            points(f"{g.name} {back}: engines count again", page.get(
                "intel_gpu_engine_busy_ratio", engine="rcs0", source="pmu", **d), (s.busy["rcs0"] + 1) / 100)
            after = page.sum("intel_gpu_rc6_residency_seconds_total", **d)
            verdict((after or 0) >= (before.sum("intel_gpu_rc6_residency_seconds_total", **d) or 0),
                    f"{g.name} {back}: counters go on", after, "no less than before")


def unload(exporter, gpus):
    """The exporter holds no descriptor that pins the driver once its device is gone."""
    for g in gpus:
        g.ctl("unplug")
    page = exporter.scrape()
    equal("all unplugged: devices", page.get("intel_gpu_exporter_devices"), 0)
    equal("all unplugged: no perf event is open", exporter.perf_fds(), 0)
    verdict(wait_for(lambda: read("/sys/module/fakegpu/refcnt") == "0", DEADLINE),
            "all unplugged: the driver is not pinned", read("/sys/module/fakegpu/refcnt"), "0")
    done = subprocess.run(["rmmod", "fakegpu"], capture_output=True, text=True)
    equal("rmmod while the exporter runs", done.stderr.strip(), "")
    page = exporter.scrape()
    equal("driver unloaded: the page stays", page.get("intel_gpu_exporter_devices"), 0)


def group(personality, *steps):
    def run():
        gpus = machine(personality)
        scripts = [script(g) for g in gpus]
        apply_machine()
        for s in scripts:
            s.apply()
        loads = [Load("bcs0=1", "--dev", "/dev/dri/" + next(
            n for n in os.listdir(g.sys + "/drm") if n.startswith("render"))) for g in gpus]
        # 10 s, the default, are less than a slow machine needs while a file hangs
        with Exporter("--web.timeout=60s", what=f"faults on {personality}") as exporter:
            exporter.scrape()
            settle(exporter)
            for step in steps:
                if step is hotplug:
                    for load in loads:
                        load.stop()
                step(exporter, gpus, scripts)
            for load in loads:
                load.stop()
            log = exporter.log().splitlines()
            verdict(len(log) < 400, "faults do not flood the log", f"{len(log)} lines", "fewer than 400")
            equal("alive to the end", exporter.process.poll(), None)
            unload(exporter, gpus) if hotplug in steps else None
    return run


def refused_events():
    """perf_event_open rejects single events, or all, or counts nothing. On `tgl`."""
    gpu = machine("tgl")[0]
    s = script(gpu)
    s.apply()
    d = {"device": gpu.address}
    for errno in ("ENODEV", "ENOENT", "EINVAL"):
        ctl("fault clear", f"fault pmu:vcs0-busy {errno}")
        with Exporter(what=f"vcs0-busy {errno}") as exporter:
            exporter.scrape()
            _, page = exporter.window(1.2, 1.2)
            absent(f"vcs0-busy {errno}: absent", page, "intel_gpu_engine_busy_ratio", engine="vcs0", source="pmu")
            points(f"vcs0-busy {errno}: vcs1 counts", page.get("intel_gpu_engine_busy_ratio", engine="vcs1",
                                                               source="pmu", **d), s.busy["vcs1"] / 100)
            present(f"vcs0-busy {errno}: average frequency", page, "intel_gpu_frequency_average_hertz", **d)
    ctl("fault clear", "fault pmu:* EACCES")
    with Load("video=30", "--name", "seen"), Exporter(what="all events EACCES") as exporter:
        exporter.scrape()
        _, page = exporter.window(1.2, 1.2)
        absent("all events EACCES: nothing from the PMU", page, "intel_gpu_engine_busy_ratio", source="pmu")
        points("all events EACCES: the clients stand in", page.get("intel_gpu_engine_busy_ratio", source="fdinfo", **{
            **d, "class": "video"}), 0.30 / 2)
    ctl("fault clear", "gpu0 fault pmu-add EBUSY")
    with Exporter(what="events that never count") as exporter:
        exporter.scrape()
        _, page = exporter.window(1.2, 1.2)
        made_up = [v for _, v in page.all("intel_gpu_engine_busy_ratio", source="pmu")]
        equal("events that never count: no ratio is made up", made_up, [])
    ctl("fault clear")


def wraps():
    """powercap's counter wraps; `tgl` with power=0, so that the exporter reads powercap."""
    gpu = machine("tgl")[0]
    apply_machine()
    with Exporter(what="powercap wraps") as exporter:
        exporter.scrape()
        a, b = exporter.window()
        values.integrated_power(gpu, a, b, "powercap")
        for _ in range(2):
            ctl("rapl-wrap pkg 600")  # wraps between this scrape and the next
            # setting it jumps forward by nearly the whole range: scrape that first
            settle(exporter, 0.1)
            time.sleep(2.4)
            exporter.scrape()
            settle(exporter, 1.3)
        a, b = exporter.window()
        values.integrated_power(gpu, a, b, "powercap")
        ctl("rapl-jump pkg -5000000000")  # 5 kJ back: not a wrap
        settle(exporter)
        settle(exporter, 1.3)
        a, b = exporter.window()
        values.integrated_power(gpu, a, b, "powercap")
        ctl("fault powercap:package-0 EIO")
        page = settle(exporter)
        absent("powercap EIO: no package power", page, "intel_gpu_power_watts", domain="package")
        present("powercap EIO: GPU power stays", page, "intel_gpu_power_watts", domain="gpu")
        ctl("fault clear")
