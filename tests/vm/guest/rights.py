# SPDX-License-Identifier: Apache-2.0
"""Who may read what: perf_event_paranoid 3 (Debian), 2 and 0; root and users with one capability or none."""

import collections
import grp
import os
import time

from model import MIB, machine
from vm import Exporter, Load, absent, as_user, doctor_is_content, equal, near, points, present, run_tool, verdict, write

ALICE, OTHER = 1000, 1001


def who_is_who():
    render = grp.getgrnam("render").gr_gid
    return {  # prefix, CAP_PERFMON, CAP_SYS_PTRACE, render node
        "root": ((), True, True, True),
        "perfmon": (as_user(ALICE, [render], ["perfmon"]), True, False, True),
        "ptrace": (as_user(ALICE, [render], ["sys_ptrace"]), False, True, True),
        "nobody": (as_user(ALICE), False, False, False),
    }


def rights():
    """On `multi`: tgl with RAPL, dg2 with hwmon and device memory."""
    gpus = machine("multi")
    tgl, dg2 = gpus
    size = 256 * MIB
    render = grp.getgrnam("render").gr_gid
    tgl.ctl("engine rcs0 busy=40", "gt 0 act=700 req=800 rc6=25")
    loads = {  # owner -> load; the fdinfo fallback must find what it may read
        "root": Load(f"render=10 mem={size}", "--dev", "/dev/dri/renderD129", "--name", "by-root"),
        "alice": Load("render=15", "--dev", "/dev/dri/renderD128", "--name", "by-alice",
                      prefix=as_user(ALICE, [render])),
        "other": Load("render=20", "--dev", "/dev/dri/renderD128", "--name", "by-other",
                      prefix=as_user(OTHER, [render])),
    }
    for paranoid in (3, 2, 0):
        write("/proc/sys/kernel/perf_event_paranoid", paranoid)
        for who, (prefix, perfmon, ptrace, node) in who_is_who().items():
            root = who == "root"
            perf = root or paranoid <= 0 or (perfmon and paranoid <= 2)
            one(f"{who} at {paranoid}", prefix, gpus, loads, size, root, perf, perfmon, ptrace, node, paranoid)
    write("/proc/sys/kernel/perf_event_paranoid", 3)
    for load in loads.values():
        load.stop()


def one(name, prefix, gpus, loads, size, root, perf, perfmon, ptrace, node, paranoid):
    tgl, dg2 = gpus
    t, d = {"device": tgl.address}, {"device": dg2.address}
    with Exporter(prefix=prefix, what=name) as exporter:
        exporter.scrape()
        _, page = exporter.window(seconds=1.1, settle=1.1)
        warnings = collections.Counter(exporter.warnings())
        again = [line for line, n in warnings.items() if n > 1]
        equal(f"{name}: a cause is logged once", again, [])
    denied = {l.get("feature") for l, v in page.all("intel_gpu_exporter_feature_available", reason="permission")
              if v == 0}

    # perf
    if perf:
        # own load and every client, visible or not
        points(f"{name}: engine busy", page.get("intel_gpu_engine_busy_ratio", engine="rcs0", source="pmu", **t), 0.75)
        near(f"{name}: average frequency", page.get("intel_gpu_frequency_average_hertz", kind="actual", **t), 700e6,
             absolute=1.5e6)
        present(f"{name}: interrupts", page, "intel_gpu_interrupts_total", **t)
        present(f"{name}: memory bandwidth", page, "intel_gpu_memory_bandwidth_bytes_total", **t)
        near(f"{name}: GPU power", page.get("intel_gpu_power_watts", domain="gpu", source="rapl_pmu", **t), 1.5)
    else:
        for metric in ("intel_gpu_interrupts_total", "intel_gpu_awake_seconds_total",
                       "intel_gpu_frequency_average_hertz", "intel_gpu_engine_wait_ratio",
                       "intel_gpu_memory_bandwidth_bytes_total"):
            absent(f"{name}: no {metric}", page, metric, **t)
        absent(f"{name}: no engine from the PMU", page, "intel_gpu_engine_busy_ratio", source="pmu")
        absent(f"{name}: no energy of the machine", page, "intel_gpu_power_watts", **t)
        # the visible clients are the fallback
        seen = (0.15 + 0.20) if ptrace else 0.15
        points(f"{name}: render by the visible clients",
               page.get("intel_gpu_engine_busy_ratio", source="fdinfo", **{**t, "class": "render"}), seen)
        equal(f"{name}: labels of the stand-in",
              [(l.get("engine"), l.get("gt", "")) for l, _ in
               page.all("intel_gpu_engine_busy_ratio", source="fdinfo", **{**t, "class": "render"})], [("render", "")])

    # everybody may read sysfs
    near(f"{name}: frequency from sysfs", page.get("intel_gpu_frequency_hertz", kind="requested", gt="0", **t), 800e6)
    points(f"{name}: rc6 from the available source", page.get("intel_gpu_rc6_residency_ratio", gt="0", **t), 0.25)
    present(f"{name}: hwmon power", page, "intel_gpu_power_watts", source="hwmon", **d)
    present(f"{name}: slot link", page, "intel_gpu_pcie_link_width_lanes", **d)

    # render node and its queries
    if node:
        present(f"{name}: memory size", page, "intel_gpu_memory_size_bytes", memory_region="local0", **d)
    else:
        absent(f"{name}: no memory size", page, "intel_gpu_memory_size_bytes")
    if node and perfmon:
        equal(f"{name}: memory used", page.get("intel_gpu_memory_used_bytes", memory_region="local0", **d), size)
    else:
        absent(f"{name}: memory used is unknown", page, "intel_gpu_memory_used_bytes")

    # processes
    for owner, load in loads.items():
        visible = ptrace or owner == ("root" if root else "alice")
        found = page.all("intel_gpu_process_clients", pid=str(load.pid))
        equal(f"{name}: {owner}'s process is {'' if visible else 'not '}seen", len(found), int(visible))

    # what is reported about it
    complete = perf and ptrace and node and perfmon
    verdict(bool(denied) != (root or complete), f"{name}: features denied", sorted(denied),
            "none" if complete else "some")
    code, text = run_tool("doctor", prefix=prefix)
    fixes = []
    if not perf:
        fixes += ["CAP_PERFMON"]
        if paranoid == 3:
            fixes += ["kernel.perf_event_paranoid"]
    if not ptrace:
        fixes += ["CAP_SYS_PTRACE"]
    if not node:
        fixes += ["render"]
    if not perfmon and node:
        fixes += ["CAP_PERFMON"]
    missing = [c for c in fixes if c not in text]
    equal(f"{name}: doctor names the fixes", missing, [])
    if complete:
        doctor_is_content(name, prefix)
        verdict("setcap" not in text, f"{name}: doctor advises nothing needless", text[-400:], "no hint")
    elif not root:
        verdict(code not in (0, None) and code > 0, f"{name}: doctor's exit code", code, "not 0")
