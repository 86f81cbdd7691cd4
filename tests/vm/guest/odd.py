# SPDX-License-Identifier: Apache-2.0
"""Other kernels and other machines: without a PMU, without fdinfo, old files, a foreign card, no GPU at all."""

import json
import os
import subprocess
import threading
import time

from model import POWER, apply_machine, machine, script
from vm import (PORT, Exporter, Page, Load, absent, doctor_is_content, equal, near, points, present, rate, read, run_tool, verdict)
import jobs
import values


def denied(page, feature_part, **labels):
    return [l for l, v in page.all("intel_gpu_exporter_feature_available", **labels)
            if v == 0 and feature_part in l["feature"]]


def old_i915():
    """tgl as Linux 5.10 to 6.1 show it: legacy frequency files, engines only in fdinfo, no awake time, powercap
    instead of the power PMU, free-running IMC counters."""
    gpu = machine("tgl")[0]
    s = script(gpu)
    apply_machine()
    s.apply()
    d = {"device": gpu.address}
    with Load("render=10 video=20 mem=5M", "--name", "enc") as load, Exporter(what="old kernel") as exporter:
        exporter.scrape()
        a, b = exporter.window()
        values.identity(gpu, b)
        values.engines(gpu, s, a, b, {"rcs0": 10, "vcs0": 20})
        values.frequency(gpu, s, a, b, legacy=True)
        labels = {**d, "gt": "0"}
        points("old: rc6 ratio", b.get("intel_gpu_rc6_residency_ratio", **labels), s.gts[0]["rc6"] / 100)
        absent("old: no awake time", b, "intel_gpu_awake_seconds_total")
        absent("old: no throttle reasons", b, "intel_gpu_throttled")
        values.integrated_power(gpu, a, b, "powercap")
        values.bandwidth(gpu, a, b)
        values.process(gpu, a, b, load, "enc", classes={"render": 10, "video": 20})
        absent("old: no process memory", b, "intel_gpu_process_memory_bytes")
        equal("old: nothing failed", [l for l, v in b.all("intel_gpu_scrape_collector_success") if v != 1], [])


def blind_i915():
    """multi without GPU PMU, hwmon, RAPL and IMC: only clients and files remain."""
    gpus = machine("multi")
    scripts = [script(g) for g in gpus]
    for g, s in zip(gpus, scripts):
        s.apply()
    with Load("render=30 video=150", "--dev", "/dev/dri/renderD129", "--name", "enc"), \
            Exporter(what="no PMU") as exporter:
        exporter.scrape()
        a, b = exporter.window()
        dg2 = {"device": gpus[1].address}
        absent("no PMU: no engine by name", b, "intel_gpu_engine_busy_ratio", source="pmu")
        for cls, percent in (("render", 30), ("video", 150)):
            found = b.all("intel_gpu_engine_busy_ratio", source="fdinfo", **{**dg2, "class": cls})
            equal(f"no PMU: {cls} is one series", [(l["engine"], l.get("gt", "")) for l, _ in found], [(cls, "")])
            points(f"no PMU: {cls} ratio of the capacity", found[0][1] if found else None,
                   percent / 100 / gpus[1].capacity(cls))
            rate(f"no PMU: {cls} seconds", a, b, "intel_gpu_engine_busy_seconds_total", percent / 100, absolute=0.001,
                 **{**dg2, "class": cls})
        for g, s in zip(gpus, scripts):
            near(f"no PMU: {g.name} frequency", b.get("intel_gpu_frequency_hertz", kind="actual", gt="0",
                                                      device=g.address), s.gts[0]["act"] * 1e6)
            points(f"no PMU: {g.name} rc6 from its file", b.get("intel_gpu_rc6_residency_ratio", gt="0",
                                                                device=g.address), s.gts[0]["rc6"] / 100)
        for metric in ("intel_gpu_power_watts", "intel_gpu_memory_bandwidth_bytes_total", "intel_gpu_temperature_celsius",
                       "intel_gpu_frequency_average_hertz", "intel_gpu_engine_wait_ratio",
                       "intel_gpu_interrupts_total"):
            absent(f"no PMU: no {metric}", b, metric)
        reasons = {l["reason"] for l, v in b.all("intel_gpu_exporter_feature_available") if v == 0}
        verdict(reasons and "permission" not in reasons, "no PMU: the reasons", reasons, "kernel or hardware")
        equal("no PMU: nothing failed", [l for l, v in b.all("intel_gpu_scrape_collector_success") if v != 1], [])


def bare_xe():
    """bmg without fdinfo and C6 events; on Linux before 6.15 there is no PMU either (blind_xe)."""
    gpu = machine("bmg")[0]
    s = script(gpu)
    s.apply()
    with Load("video=20"), Exporter("--collector.engines.xe-source=pmu", what="no fdinfo, no C6 event") as exporter:
        exporter.scrape()
        a, b = exporter.window()
        values.engines(gpu, s, a, b, {"vcs0": 20})
        values.residency(gpu, s, a, b)
        absent("no fdinfo: no processes", b, "intel_gpu_process_clients")
        equal("no fdinfo: nothing failed", [l for l, v in b.all("intel_gpu_scrape_collector_success") if v != 1], [])


def blind_xe():
    """dg2+bmg without any GPU PMU, as before Linux 6.15 for xe."""
    gpus = machine("dg2+bmg")
    bmg = gpus[1]
    s = script(bmg)
    s.apply()
    d = {"device": bmg.address}
    with Load("video=100 render=40", "--dev", "/dev/dri/renderD129", "--name", "enc") as load, \
            Exporter(what="xe without PMU") as exporter:
        exporter.scrape()
        a, b = exporter.window()
        absent("xe without PMU: no engine by name", b, "intel_gpu_engine_busy_ratio", source="pmu")
        points("xe without PMU: video", b.get("intel_gpu_engine_busy_ratio", **{**d, "class": "video"}), 0.5)
        points("xe without PMU: render", b.get("intel_gpu_engine_busy_ratio", **{**d, "class": "render"}), 0.4)
        values.residency(bmg, s, a, b)
        values.process(bmg, a, b, load, "enc", classes={"render": 40, "video": 100})


def foreign_card():
    """tgl with a virtio GPU that was registered first and is card0."""
    gpus = machine("tgl")
    with Exporter(what="beside a foreign card") as exporter:
        exporter.scrape()
        _, page = exporter.window(1.1, 1.1)
        equal("foreign: only ours", page.devices(), [gpus[0].address])
        values.identity(gpus[0], page)
        verdict(page.all("intel_gpu_info")[0][0]["card"] != "card0", "foreign: ours is not card0",
                page.all("intel_gpu_info"), "another")
        present("foreign: memory size of the right node", page, "intel_gpu_memory_size_bytes", device=gpus[0].address)
    code, text = run_tool("list")
    equal("foreign: list", (code, gpus[0].address in text, "virtio" in text.lower()), (0, True, False))
    foreign_jobs()


def foreign_jobs():
    """A real driver and its commands, executed by QEMU: `trace` finds its events by itself."""
    done = jobs.trace("record", "-o", jobs.FILE, "--", "python3", "virtio_commands.py", "20")
    equal("virtio-gpu: record ends well", done.returncode, 0)
    found = sorted(jobs.jobs_of(), key=lambda j: int(j["submit_ns"]))
    equal("virtio-gpu: all commands with a fence found",
          (len(found), {j["source"] for j in found}, {j["ring"] for j in found}),
          (20, {"virtio_gpu"}, {"control"}))
    equal("virtio-gpu: the process that submitted", {(j["pid"], j["comm"]) for j in found},
          {(done.stdout.strip(), "python3")})
    # The driver handles answers in a thread of the kernel: the command ended then or earlier.
    equal("virtio-gpu: ends", {(j["outcome"], j["end"]) for j in found}, {("bound", "by")})
    overlaps = [b["key"] for a, b in zip(found, found[1:]) if int(b["submit_ns"]) < int(a["end_ns"])]
    equal("virtio-gpu: each ends before the next one is submitted", overlaps, [])


def no_gpu():
    """No GPU is a normal state; a GPU that appears later is found."""
    with Exporter(what="no GPU") as exporter:
        page = exporter.scrape()
        equal("no GPU: devices", page.get("intel_gpu_exporter_devices"), 0)
        equal("no GPU: no device series", sorted(n for n in page.samples if page.all(n) and any(
            "device" in l for l, _ in page.all(n))), [])
        exporter.scrape()
        said = [l for l in exporter.warnings() if "no Intel GPU" in l]
        verdict(len(said) == 1, "no GPU: the log says so, once", said, "one line")
        code, text = run_tool("doctor")
        verdict(code != 0 and "gpu" in text.lower(), "no GPU: doctor", (code, text[-200:]), "not 0, and why")
        code, _ = run_tool("list")
        equal("no GPU: list has nothing to show", code, 1)
        status, headers, body = exporter.request("/metrics", [("Accept", "application/openmetrics-text;version=1.0.0")])
        verdict(body.endswith(b"# EOF\n"), "no GPU: OpenMetrics", body[-80:], "# EOF")
        subprocess.run(["rmmod", "fakegpu"], check=True)
        subprocess.run(["insmod", "/rig/fakegpu.ko", "personality=tgl"], check=True)
        page = exporter.scrape()
        equal("a GPU comes: found at the next scrape", page.devices(), ["0000:00:02.0"])
        exporter.scrape()
        _, page = exporter.window(1.1, 1.1)
        present("a GPU comes: engines", page, "intel_gpu_engine_busy_ratio", source="pmu")
    bad, text = run_tool("--no-such-flag")
    verdict(bad != 0 and "no-such-flag" in text, "a bad flag", (bad, text[-200:]), "not 0, and the flag's name")
    with Exporter(what="port holder"):
        bad, text = run_tool("--web.listen-address", f"127.0.0.1:{PORT}")
        verdict(bad != 0 and str(PORT) in text, "a port in use", (bad, text[-200:]), "not 0, and the address")


def choices():
    """Flags that select. On `multi`."""
    tgl, dg2 = machine("multi")
    apply_machine()
    for name in (dg2.address, "card1", "renderD129"):
        with Exporter("--gpu", name, what=f"--gpu {name}") as exporter:
            equal(f"--gpu {name}: only that one", exporter.scrape().devices(), [dg2.address])
    with Exporter("--collector.engines.sampled-events", "off", "--no-collector.hwmon", what="choices") as exporter:
        exporter.scrape()
        _, page = exporter.window(1.1, 1.1)
        present("sampled-events=off: busy stays", page, "intel_gpu_engine_busy_ratio", device=tgl.address)
        absent("sampled-events=off: no wait", page, "intel_gpu_engine_wait_ratio")
        absent("sampled-events=off: no sema", page, "intel_gpu_engine_sema_seconds_total")
        absent("--no-collector.hwmon: no voltage", page, "intel_gpu_voltage_volts")
        equal("--no-collector.hwmon: the reason is reported", {l["reason"] for l, v in page.all(
            "intel_gpu_exporter_feature_available", feature="voltage", device=dg2.address)}, {"disabled"})
    with Exporter("--collector.disable-defaults", "--collector.frequency", what="only frequency") as exporter:
        page = exporter.scrape()
        equal("--collector.disable-defaults: one is left",
              [l["collector"] for l, _ in page.all("intel_gpu_scrape_collector_success") if l["collector"] != "identity"],
              ["frequency"])


def two_scrapers(exporter, s):
    """A scraper that asks five times a second does not disturb the windows of another."""
    stop, others = threading.Event(), []

    def hasty():
        while not stop.wait(0.2):
            others.append(Page(exporter.request("/metrics")[2], 0, 0))

    thread = threading.Thread(target=hasty)
    thread.start()
    _, page = exporter.window()
    stop.set()
    thread.join()
    for what, p in (("ours", page), ("the hasty one's", others[-1])):
        points(f"two scrapers: {what} engine ratio", p.get("intel_gpu_engine_busy_ratio", engine="vcs0"),
               s.busy["vcs0"] / 100)
        near(f"two scrapers: {what} power", p.get("intel_gpu_power_watts", domain="package"), POWER["pkg"])


def formats():
    """On `tgl`: the tools and the formats on a real kernel."""
    gpu = machine("tgl")[0]
    s = script(gpu)
    s.apply()
    apply_machine()
    with Exporter(what="formats") as exporter:
        first = exporter.scrape()
        for metric in ("intel_gpu_engine_busy_ratio", "intel_gpu_rc6_residency_ratio", "intel_gpu_power_watts",
                       "intel_gpu_frequency_average_hertz"):
            present(f"the first scrape has a window: {metric}", first, metric)
        points("the first scrape's window is a full one", first.get("intel_gpu_engine_busy_ratio", engine="vcs0"),
               s.busy["vcs0"] / 100)
        two_scrapers(exporter, s)
        status, headers, body = exporter.request("/metrics", [("Accept", "application/openmetrics-text;version=1.0.0")])
        verdict(headers["content-type"].startswith("application/openmetrics-text; version=1.0.0"),
                "OpenMetrics: content type", headers["content-type"], "application/openmetrics-text; version=1.0.0")
        verdict(body.endswith(b"# EOF\n") and b"intel_gpu_engine_busy_ratio" in body, "OpenMetrics: body", body[-60:],
                "# EOF")
        status, headers, body = exporter.request("/metrics", [("Accept-Encoding", "gzip")])
        equal("gzip: offered and taken", headers.get("content-encoding"), "gzip")
        page = exporter.scrape("?collect[]=frequency")
        present("collect[]: what was asked for", page, "intel_gpu_frequency_hertz")
        absent("collect[]: nothing else", page, "intel_gpu_engine_busy_ratio")
        page = exporter.scrape("?exclude[]=frequency")
        absent("exclude[]: not what was left out", page, "intel_gpu_frequency_hertz")
        present("exclude[]: the rest", page, "intel_gpu_engine_busy_ratio")
        equal("unknown path", exporter.request("/nothing")[0], 404)
        equal("ready", exporter.request("/-/ready")[0], 200)
        equal("page for people", exporter.request("/")[0], 200)
    code, text = run_tool("list")
    verdict(code == 0 and gpu.address in text and "i915" in text, "list", (code, text[:200]), "address and driver")
    done = subprocess.run(["/tmp/intel-gpu-exporter", "stats", "--json", "--count", "2"], capture_output=True,
                          timeout=20)
    lines = done.stdout.decode().splitlines()
    equal("stats --json --count 2: lines", len(lines), 2)
    verdict(all(isinstance(json.loads(l), (dict, list)) for l in lines), "stats --json: JSON", lines[:1], "an object a line")
    doctor_is_content("root")


def growth():
    """300 scrapes while a process opens and closes clients: nothing accumulates, nothing is spawned. On `multi`.

    Memory grows by 0.7 KiB for each client that a living process has closed, up to 4,096 of them (ClientLedger::kMostUnseen):
    the client may be hidden only, and would count again. Here it is three clients every 120 ms, 25 KiB in 40 scrapes. What
    accumulates grows in every span of 40; a thread that first allocates or a huge page of the kernel's does so once.
    """
    with Load("render=30 video=40", "--name", "churn", "--churn", 120, "--opens", 3), \
            Load("render=5 mem=1G", "--name", "steady", "--dev", "/dev/dri/renderD129"), \
            Exporter(what="300 scrapes") as exporter:
        opener = exporter.children()
        children = set(opener)
        for _ in range(60):
            exporter.scrape()
        fds, threads = len(exporter.fds()), exporter.status("Threads")
        resident = [exporter.status("VmRSS")]
        for n in range(240):
            exporter.scrape()
            if n % 40 == 39:
                resident.append(exporter.status("VmRSS"))
                children |= set(exporter.children())
        time.sleep(0.3)
        equal("growth: fds", len(exporter.fds()), fds)
        equal("growth: threads", exporter.status("Threads"), threads)
        steps = sorted(after - before for before, after in zip(resident, resident[1:]))
        verdict(steps[3] <= 80, "growth: memory", f"{resident} KiB",
                "at most 80 KiB more in most spans of 40 scrapes")
        verdict(resident[-1] - resident[0] <= 4096, "growth: memory in all", f"{resident} KiB", "at most 4 MiB more")
        equal("no child process but the one that opens perf events", (len(opener), children), (1, set(opener)))
