# SPDX-License-Identifier: Apache-2.0
"""Every scripted value against the page: within 1 % or one point."""

import os

from model import DOMAIN, IMC, MHZ, MIB, POWER, THROTTLE, apply_machine, machine, script
from vm import Exporter, Load, absent, ctl, equal, near, points, present, rate, state, verdict


def identity(gpu, page):
    found = page.all("intel_gpu_info", device=gpu.address)
    if not equal(f"{gpu.name}: one intel_gpu_info", len(found), 1):
        return
    labels = found[0][0]
    drm = os.listdir(gpu.sys + "/drm")
    for label, expected in {
        "driver": gpu.driver, "device_id": gpu.device_id, "kind": gpu.kind, "name": gpu.title,
        "card": next(n for n in drm if n.startswith("card")),
        "render_node": next(n for n in drm if n.startswith("render")),
    }.items():
        equal(f"{gpu.name}: info {label}", labels.get(label), expected)
    equal(f"{gpu.name}: info revision", int(labels.get("revision", "-1"), 0), gpu.revision)
    equal(f"{gpu.name}: info value", found[0][1], 1)
    equal(f"{gpu.name}: not suspended", page.get("intel_gpu_runtime_suspended", device=gpu.address), 0)


def engines(gpu, s, a, b, client=None, hidden=()):
    """client: engine -> percent that clients add."""
    for engine, gt in gpu.engines.items():
        labels = {"device": gpu.address, "engine": engine, "class": gpu.engine_class(engine)}
        if gpu.xe:
            labels["gt"] = str(gt)
        busy = min(s.busy[engine] + (client or {}).get(engine, 0), 100) / 100
        points(f"{gpu.name} {engine}: busy ratio", b.get("intel_gpu_engine_busy_ratio", source="pmu", **labels), busy)
        rate(f"{gpu.name} {engine}: busy seconds", a, b, "intel_gpu_engine_busy_seconds_total", busy, source="pmu",
             absolute=0.001, **labels)
        if gpu.xe:
            rate(f"{gpu.name} {engine}: ticks", a, b, "intel_gpu_engine_ticks_total", 19.2e6, **labels)
            rate(f"{gpu.name} {engine}: active ticks", a, b, "intel_gpu_engine_active_ticks_total", 19.2e6 * busy,
                 absolute=20000, **labels)
            continue
        for what, table in (("wait", s.wait), ("sema", s.sema)):
            points(f"{gpu.name} {engine}: {what} ratio", b.get(f"intel_gpu_engine_{what}_ratio", **labels),
                   table[engine] / 100)
            rate(f"{gpu.name} {engine}: {what} seconds", a, b, f"intel_gpu_engine_{what}_seconds_total",
                 table[engine] / 100, absolute=0.001, **labels)
    if gpu.xe:
        absent(f"{gpu.name}: wait is i915's", b, "intel_gpu_engine_wait_ratio", device=gpu.address)
        absent(f"{gpu.name}: sema is i915's", b, "intel_gpu_engine_sema_seconds_total", device=gpu.address)
    else:
        absent(f"{gpu.name}: ticks are xe's", b, "intel_gpu_engine_ticks_total", device=gpu.address)
    equal(f"{gpu.name}: no more engines than there are",
          len(b.all("intel_gpu_engine_busy_ratio", device=gpu.address, source="pmu")), len(gpu.engines))


def frequency(gpu, s, a, b, legacy=False):
    f = "intel_gpu_frequency_hertz"
    for gt, values in enumerate(s.gts):
        labels = {"device": gpu.address, "gt": str(gt)}
        near(f"{gpu.name} gt{gt}: actual frequency", b.get(f, kind="actual", **labels), values["act"] * MHZ)
        near(f"{gpu.name} gt{gt}: requested frequency", b.get(f, kind="requested", **labels), values["req"] * MHZ)
        limits = {"min": values["min"], "max": values["max"], "rp0": gpu.rp0[gt], "rpn": gpu.rpn[gt]}
        if gpu.xe:
            limits |= {"rpe": gpu.rp1[gt], "rpa": gpu.rp0[gt]}
        else:
            limits |= {"boost": values["boost"], "rp1": gpu.rp1[gt]}
        for limit, mhz in limits.items():
            near(f"{gpu.name} gt{gt}: limit {limit}", b.get("intel_gpu_frequency_limit_hertz", limit=limit, **labels),
                 mhz * MHZ)
        equal(f"{gpu.name} gt{gt}: no other limits",
              {l["limit"] for l, _ in b.all("intel_gpu_frequency_limit_hertz", **labels)}, set(limits))
        if gpu.xe:
            absent(f"{gpu.name} gt{gt}: no average on xe", b, "intel_gpu_frequency_average_hertz", **labels)
        else:
            for kind, key in (("actual", "act"), ("requested", "req")):
                mean = values[key] * values["awake"] / 100 * MHZ
                near(f"{gpu.name} gt{gt}: average {kind}",
                     b.get("intel_gpu_frequency_average_hertz", kind=kind, **labels), mean, absolute=1.5 * MHZ)
                rate(f"{gpu.name} gt{gt}: cycles {kind}", a, b, "intel_gpu_frequency_cycles_total", mean, kind=kind,
                     absolute=1.1 * MHZ, **labels)
        if legacy:
            continue
        reasons = values["throttle"].split(",")
        for reason in THROTTLE:
            equal(f"{gpu.name} gt{gt}: throttled {reason}", b.get("intel_gpu_throttled", reason=reason, **labels),
                  float(reason in reasons))
        equal(f"{gpu.name} gt{gt}: throttled any", b.get("intel_gpu_throttled", reason="any", **labels), 1)


def residency(gpu, s, a, b):
    for gt, values in enumerate(s.gts):
        labels = {"device": gpu.address, "gt": str(gt)}
        points(f"{gpu.name} gt{gt}: rc6 ratio", b.get("intel_gpu_rc6_residency_ratio", **labels), values["rc6"] / 100)
        rate(f"{gpu.name} gt{gt}: rc6 seconds", a, b, "intel_gpu_rc6_residency_seconds_total", values["rc6"] / 100,
             absolute=0.002, **labels)
    if gpu.xe:
        absent(f"{gpu.name}: awake is i915's", b, "intel_gpu_awake_seconds_total", device=gpu.address)
        absent(f"{gpu.name}: interrupts are i915's", b, "intel_gpu_interrupts_total", device=gpu.address)
    else:
        rate(f"{gpu.name}: awake", a, b, "intel_gpu_awake_seconds_total", s.gts[0]["awake"] / 100,
             device=gpu.address, gt="0")
        rate(f"{gpu.name}: interrupts", a, b, "intel_gpu_interrupts_total", s.irq, absolute=1, device=gpu.address)


def energy(name, a, b, watts, **labels):
    near(f"{name}: power", b.get("intel_gpu_power_watts", **labels), watts)
    rate(f"{name}: energy", a, b, "intel_gpu_energy_joules_total", watts, absolute=0.01, **labels)


def integrated_power(gpu, a, b, source="rapl_pmu"):
    """powercap has no DRAM zone in the rig, and its zones are uncore, core, package and psys."""
    domains = [k for k in POWER if source == "rapl_pmu" or k != "ram"]
    for key in domains:
        energy(f"{gpu.name} {DOMAIN[key]} ({source})", a, b, POWER[key], device=gpu.address, domain=DOMAIN[key],
               source=source)
    equal(f"{gpu.name}: no energy counted twice", len(b.all("intel_gpu_power_watts", device=gpu.address)), len(domains))


def bandwidth(gpu, a, b):
    for key, direction in (("reads", "read"), ("writes", "write")):
        rate(f"{gpu.name}: memory {direction}", a, b, "intel_gpu_memory_bandwidth_bytes_total", IMC[key] * MIB,
             device=gpu.address, direction=direction)


def hwmon(gpu, s, a, b, level):
    """level: the module's hwmon parameter; 2 adds fans and temperatures."""
    d = {"device": gpu.address}
    h = s.hwmon
    if gpu.xe:
        energy(f"{gpu.name} card", a, b, h["power"], domain="card", source="hwmon", **d)
        energy(f"{gpu.name} package", a, b, h["pkg"], domain="package", source="hwmon", **d)
        for domain in ("card", "package"):
            for limit in ("max", "cap"):
                near(f"{gpu.name} {domain}: power limit {limit}",
                     b.get("intel_gpu_power_limit_watts", domain=domain, limit=limit, **d), h["max"])
    else:
        # i915 has one energy counter without a label: the package's, says its ABI.
        energy(f"{gpu.name} package", a, b, h["power"], domain="package", source="hwmon", **d)
        for limit in ("max", "rated_max"):
            near(f"{gpu.name} package: power limit {limit}",
                 b.get("intel_gpu_power_limit_watts", domain="package", limit=limit, **d), h["max"])
    near(f"{gpu.name}: voltage", b.get("intel_gpu_voltage_volts", domain="package", **d), h["in"] / 1000)
    if level < 2:
        absent(f"{gpu.name}: no temperature", b, "intel_gpu_temperature_celsius", **d)
        absent(f"{gpu.name}: no fan", b, "intel_gpu_fan_speed_rpm", **d)
        return
    near(f"{gpu.name}: package temperature", b.get("intel_gpu_temperature_celsius", sensor="package", **d), h["temp"])
    if gpu.xe:
        near(f"{gpu.name}: vram temperature", b.get("intel_gpu_temperature_celsius", sensor="vram", **d),
             h["vram_temp"])
    fans = b.all("intel_gpu_fan_speed_rpm", **d)
    equal(f"{gpu.name}: fans", [v for _, v in fans], [h["fan"]] * (2 if gpu.xe else 1))


def link(gpu, b):
    d = {"device": gpu.address}
    if gpu.kind == "integrated":
        absent(f"{gpu.name}: no PCIe link", b, "intel_gpu_pcie_link_speed_transfers_per_second", **d)
        absent(f"{gpu.name}: no PCIe width", b, "intel_gpu_pcie_link_width_lanes", **d)
        return
    for metric, bound, expected in (("speed_transfers_per_second", "current", gpu.link[0]),
                                    ("speed_transfers_per_second", "max", gpu.link[1]),
                                    ("width_lanes", "current", gpu.link[2]), ("width_lanes", "max", gpu.link[3])):
        near(f"{gpu.name}: slot link {metric} {bound}", b.get(f"intel_gpu_pcie_link_{metric}", bound=bound, **d),
             expected)


def memory(gpu, b, used):
    for region, size in gpu.memory.items():
        near(f"{gpu.name}: memory size {region}",
             b.get("intel_gpu_memory_size_bytes", device=gpu.address, memory_region=region), size)
    if gpu.kind == "discrete":
        equal(f"{gpu.name}: memory used", b.get("intel_gpu_memory_used_bytes", device=gpu.address,
                                                memory_region=gpu.main_region), used)


def exporter_metrics(b, gpus, collectors=None):
    equal("devices", b.get("intel_gpu_exporter_devices"), len(gpus))
    equal("devices by info", b.devices(), sorted(g.address for g in gpus))
    present("build info", b, "intel_gpu_exporter_build_info")
    for name in collectors or ("engines", "frequency", "rc6", "power", "hwmon", "memory", "pcie", "imc", "fdinfo"):
        equal(f"collector {name} succeeds", b.get("intel_gpu_scrape_collector_success", collector=name), 1)
        present(f"collector {name} is timed", b, "intel_gpu_scrape_collector_duration_seconds", collector=name)
    denied = [l for l, v in b.all("intel_gpu_exporter_feature_available", reason="permission") if v == 0]
    equal("root is denied nothing", denied, [])
    present("process_* of its own", b, "process_cpu_seconds_total")
    near("its own fds", b.get("process_open_fds"), b.get("process_open_fds") or 0)


def process(gpu, a, b, load, name, region=None, size=0, classes=None, capacity=True):
    """One client process: classes maps class -> percent of one engine."""
    d = {"device": gpu.address, "pid": str(load.pid), "comm": name}
    equal(f"{gpu.name} {name}: clients", b.get("intel_gpu_process_clients", **d), 1)
    for cls, percent in (classes or {}).items():
        rate(f"{gpu.name} {name}: {cls} seconds", a, b, "intel_gpu_process_engine_busy_seconds_total", percent / 100,
             absolute=0.001, **{**d, "class": cls})
        points(f"{gpu.name} {name}: {cls} ratio", b.get("intel_gpu_process_engine_busy_ratio", **{**d, "class": cls}),
               min(percent / 100 / gpu.capacity(cls), 1))
    if region:
        for kind in ("total", "resident"):
            equal(f"{gpu.name} {name}: {region} {kind}",
                  b.get("intel_gpu_process_memory_bytes", memory_region=region, state=kind, **d), size)
    info = b.all("intel_gpu_process_info", **d)
    if equal(f"{gpu.name} {name}: one info", len(info), 1):
        equal(f"{gpu.name} {name}: user", info[0][0].get("user"), "root")
    for metric in ("cpu_seconds_total", "resident_memory_bytes", "virtual_memory_bytes"):
        present(f"{gpu.name} {name}: {metric}", b, f"intel_gpu_process_{metric}", **d)
    near(f"{gpu.name} {name}: virtual memory", b.get("intel_gpu_process_virtual_memory_bytes", **d),
         _status(load.pid, "VmSize"), relative=0.02)


def _status(pid, field):
    with open(f"/proc/{pid}/status") as f:
        return int(next(l for l in f if l.startswith(field + ":")).split()[1]) * 1024


def values(personality, hwmon_level=1, rapl="rapl_pmu", imc=True, during=None):
    """The whole machine, scripted, with one client on each GPU. during(): more checks on the same exporter."""
    gpus = machine(personality)
    scripts = [script(g) for g in gpus]
    apply_machine()
    for s in scripts:
        s.apply()
    loads = []
    clients = {g.name: {"rcs0": 10, "vcs0": 20} for g in gpus}
    size = 700 * MIB
    for g in gpus:
        node = next(n for n in os.listdir(g.sys + "/drm") if n.startswith("render"))
        loads.append(Load(f"render=10 video=20 mem={size} mem.{g.main_region}.active={MIB} "
                          f"mem.{g.main_region}.shared={12345}", "--dev", f"/dev/dri/{node}", "--name", f"enc {g.name}"))
    with Exporter(what=f"{personality} as root") as exporter:
        exporter.scrape()  # xe opens its perf events at the first sign of work
        a, b = exporter.window()
        exporter_metrics(b, gpus)
        for g, s, l in zip(gpus, scripts, loads):
            identity(g, b)
            engines(g, s, a, b, clients[g.name])
            frequency(g, s, a, b)
            residency(g, s, a, b)
            if g.kind == "integrated":
                if rapl:
                    integrated_power(g, a, b, rapl)
                if imc:
                    bandwidth(g, a, b)
            else:
                hwmon(g, s, a, b, hwmon_level)
                absent(f"{g.name}: IMC is the integrated GPU's", b, "intel_gpu_memory_bandwidth_bytes_total",
                       device=g.address)
            link(g, b)
            memory(g, b, size)
            process(g, a, b, l, f"enc {g.name}", g.main_region, size, {"render": 10, "video": 20})
            d = {"device": g.address, "pid": str(l.pid), "memory_region": g.main_region}
            equal(f"{g.name}: active memory", b.get("intel_gpu_process_memory_bytes", state="active", **d), MIB)
            equal(f"{g.name}: shared memory, an odd size", b.get("intel_gpu_process_memory_bytes", state="shared", **d),
                  12345)
            equal(f"{g.name}: processes", b.get("intel_gpu_processes", device=g.address), 1)
            equal(f"{g.name}: processes dropped", b.get("intel_gpu_processes_dropped", device=g.address), 0)
            equal(f"{g.name}: no error state", b.get("intel_gpu_error_state", device=g.address), 0)
            if not g.xe:
                g.ctl("hang 1")
        hung = exporter.scrape()
        for g in gpus:
            if not g.xe:
                equal(f"{g.name}: error state after a hang", hung.get("intel_gpu_error_state", device=g.address), 1)
                g.ctl("hang 0")
        if during:
            during(exporter, gpus, scripts)
        equal(f"{personality}: no warning in the log", exporter.warnings()[:3], [])
    for l in loads:
        l.stop()
