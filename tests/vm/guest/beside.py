# SPDX-License-Identifier: Apache-2.0
"""Virtual functions and the machines that hold them, the NPU, and outputs, on a `bmg` with rpm=1, vfs=7, npu=1: what the
kernel's own SR-IOV code and the modelled drivers show, and what the page says."""

import contextlib
import os
import threading
import time

from captures import captured
from clients import python
from model import machine
from power_saving import asleep
from vm import (Exporter, absent, as_user, ctl, doctor_is_content, equal, points, rate, read, run_tool, state, verdict,
                wait_for, write)
from workloads import PODS, cgroup, slice_of

FEATURE = "intel_gpu_exporter_feature_available"
VFS, VF_INFO = "intel_gpu_vfs", "intel_gpu_vf_info"
BUSY, RATIO = "intel_gpu_engine_busy_seconds_total", "intel_gpu_engine_busy_ratio"
VF_BUSY, VF_RATIO = "intel_gpu_vf_engine_busy_seconds_total", "intel_gpu_vf_engine_busy_ratio"
# Percent of an engine: the host's own, then those of each virtual function while it is enabled.
OWN = {"vcs0": 10, "rcs0": 20}
LOADS = {1: {"vcs0": 30}, 2: {"vcs0": 20, "rcs0": 40}, 3: {"vcs1": 15.5}, 4: {"ccs0": 60}, 5: {"vcs0": 5},
         6: {"vecs1": 71}, 7: {"rcs0": 7, "vcs0": 8}}
ENGINES = ("rcs0", "vcs0", "vcs1", "ccs0", "vecs1")
DEADLINE = 120


def reasons(page, feature):
    return {(value, labels["reason"]) for labels, value in page.all(FEATURE, feature=feature)}


def enable(gpu, count):
    """The kernel accepts another number only after 0."""
    if read(f"{gpu.sys}/sriov_numvfs") != "0":
        write(f"{gpu.sys}/sriov_numvfs", 0)
    if count:
        write(f"{gpu.sys}/sriov_numvfs", count)


def address_of(gpu, vf):
    return f"{gpu.address[:-1]}{vf}"


def give_to_vfio(gpu, vf):
    """As a hypervisor does; the number of its group."""
    folder = f"/sys/bus/pci/devices/{address_of(gpu, vf)}"
    write(f"{folder}/driver_override", "vfio-pci")
    write("/sys/bus/pci/drivers_probe", address_of(gpu, vf))
    return os.path.basename(os.readlink(f"{folder}/iommu_group"))


# Stands for QEMU: has the file of a group, of the device itself, or only what the group's file handed out.
MONITOR = """
import fcntl, os, sys
GET_DEVICE_FD = 0x3b6a
how, path, address = sys.argv[1:]
file = os.open(path, os.O_RDWR)
if how == "handed out":
    device = fcntl.ioctl(file, GET_DEVICE_FD, address.encode() + b"\\0")
    os.close(file)
print("ready", flush=True)
sys.stdin.read(1)
"""


@contextlib.contextmanager
def machines(gpu):
    """Three of them, each with a virtual function; workloads and processes by function."""
    names = {
        1: ("group", r"/machine.slice/machine-qemu\x2d1\x2dnews.scope", "news"),
        2: ("device", r"/machine.slice/machine-qemu\x2d2\x2dsport.scope", "sport"),
        3: ("handed out", f"{slice_of('burstable', 'cri-o')}/crio-{'d' * 64}.scope", PODS["cri-o"]),
    }
    monitors = {}
    for vf, (how, place, _) in names.items():
        group = give_to_vfio(gpu, vf)
        path = f"/dev/vfio/{group}"
        if how == "device":
            number = os.listdir(f"/sys/bus/pci/devices/{address_of(gpu, vf)}/vfio-dev")[0]
            path = f"/dev/vfio/devices/{number}"
        process, _ = python(MONITOR, how, path, address_of(gpu, vf))
        write(cgroup(place), process.pid)
        monitors[vf] = process
    try:
        yield {vf: workload for vf, (_, _, workload) in names.items()}, monitors
    finally:
        for process in monitors.values():
            process.kill()
            process.wait()


def holders(page):
    return {int(l["vf"]): (l["vf_address"], l["driver"], l.get("workload", "")) for l, _ in page.all(VF_INFO)}


def load(gpu):
    for engine, percent in OWN.items():
        gpu.ctl(f"engine {engine} busy={percent}")
    for vf, engines in LOADS.items():
        gpu.ctl(f"vf {vf} " + " ".join(f"{engine}={percent}" for engine, percent in engines.items()))


def scripted(engine, functions):
    return OWN.get(engine, 0) + sum(LOADS[vf].get(engine, 0) for vf in range(1, functions + 1))


def shares(gpu, exporter):
    """What the driver lets each function use, as an administrator writes it."""
    admin = f"{gpu.sys}/sriov_admin"
    for vf, quantum in ((1, 16), (2, 8), (3, 32), (4, 0)):
        write(f"{admin}/vf{vf}/profile/exec_quantum_ms", quantum)
        write(f"{admin}/vf{vf}/profile/preempt_timeout_us", quantum * 500)
        write(f"{admin}/vf{vf}/profile/vram_quota", vf << 30)
    page = exporter.scrape()
    for vf, quantum in ((1, 16), (2, 8), (3, 32), (4, 0)):
        found = [page.get(f"intel_gpu_vf_{what}", vf=str(vf)) for what in
                 ("exec_quantum_seconds", "preempt_timeout_seconds", "vram_quota_bytes")]
        equal(f"VF {vf}: quantum, timeout, memory", found, [quantum / 1e3, quantum / 2e3, vf << 30])
    gpu.ctl("fault sysfs:sriov_admin/vf*/profile/exec_quantum_ms EUCLEAN")
    page = exporter.scrape()
    absent("GTs that differ have no quantum", page, "intel_gpu_vf_exec_quantum_seconds")
    equal("and the timeout is there", page.get("intel_gpu_vf_preempt_timeout_seconds", vf="1"), 0.008)
    ctl("fault clear")


def adverse(gpu, exporter):
    gpu.ctl("adverse 2 engine_reset_count=3", "adverse 4 cat_error_count=1 guc_time_us=70")
    page = exporter.scrape()
    found = {(l["vf"], l["kind"]): v for l, v in page.all("intel_gpu_vf_adverse_events_total") if v}
    equal("adverse events", found, {("2", "engine_reset"): 3, ("4", "cat_error"): 1, ("4", "guc_time"): 70})


def engines(gpu, exporter, functions, when):
    """Every function's engine time, and the GPU's as their sum."""
    a, b = exporter.window()
    for vf in range(1, functions + 1):
        for engine, percent in LOADS[vf].items():
            rate(f"{when}: {engine} of VF {vf}", a, b, VF_BUSY, percent / 100, absolute=0.001, vf=str(vf), engine=engine)
            points(f"{when}: its ratio", b.get(VF_RATIO, vf=str(vf), engine=engine), percent / 100)
    for engine in ENGINES:
        percent = scripted(engine, functions)
        rate(f"{when}: {engine} of the GPU", a, b, BUSY, percent / 100, absolute=0.001, engine=engine, source="pmu")
        points(f"{when}: its ratio", b.get(RATIO, engine=engine, source="pmu"), percent / 100)


class Truth:
    """Busy seconds of each function, from before the request to after the answer."""

    def __init__(self, exporter):
        self.before = self.now()
        self.page = exporter.scrape()
        self.after = self.now()

    @staticmethod
    def now():
        return [{engine: ns / 1e9 for engine, ns in function.items()} for function in state()["gpus"][0]["functions"]]

    def device(self, engine):
        return self.page.get(BUSY, engine=engine, source="pmu") or 0


def total(functions, engine):
    return sum(function[engine] for function in functions)


def changes(gpu, exporter):
    """The number of functions changes while all work and while the exporter is scraped. Nothing is counted between the last
    scrape before and the first one after; the rest is within 1 %, and no counter jumps."""
    points_in_time = [Truth(exporter)]
    gaps = dict.fromkeys(ENGINES, 0.0)
    for count in (2, 7, 1, 4, 4):
        time.sleep(4)
        before = Truth(exporter)
        points_in_time.append(before)
        change = threading.Thread(target=enable, args=(gpu, count))
        change.start()
        scrapes = 0
        while change.is_alive():
            exporter.scrape()
            scrapes += 1
        change.join()
        after = Truth(exporter)
        points_in_time.append(after)
        equal(f"to {count}: enabled", after.page.get(VFS, state="enabled"), count)
        equal(f"to {count}: functions", sorted(holders(after.page)), list(range(1, count + 1)))
        jumps = {}
        for engine in ENGINES:
            worked = total(after.after, engine) - total(before.before, engine)
            gaps[engine] += total(after.after, engine) - total(before.before, engine)
            if not -1e-9 <= after.device(engine) - before.device(engine) <= worked * 1.01 + 0.002:
                jumps[engine] = (before.device(engine), after.device(engine), worked)
        equal(f"to {count}: no engine of the GPU jumps", jumps, {})
        verdict(scrapes > 0, f"to {count}: scraped meanwhile", scrapes, "once at least")
    time.sleep(4)
    points_in_time.append(Truth(exporter))
    first, last = points_in_time[0], points_in_time[-1]
    for engine in ENGINES:
        worked = total(last.after, engine) - total(first.before, engine)
        counted = last.device(engine) - first.device(engine)
        verdict((worked - gaps[engine]) * 0.99 - 0.02 <= counted <= worked * 1.01, f"{engine} of the GPU, over all changes",
                counted, f"{worked - gaps[engine]:.3f} to {worked:.3f}")


def unseen_change(gpu, exporter):
    """Off and on again between two scrapes: the number is the same, but every count begins anew under open events."""
    time.sleep(2)
    before = Truth(exporter)
    enable(gpu, 4)
    after = Truth(exporter)
    time.sleep(3)
    later = Truth(exporter)
    for engine in ENGINES:
        worked = total(after.after, engine) - total(before.before, engine)
        gain = after.device(engine) - before.device(engine)
        verdict(-1e-9 <= gain <= worked * 1.01 + 0.002, f"off and on again: {engine} does not jump", gain,
                f"at most {worked}")
        low = total(later.before, engine) - total(after.after, engine)
        high = total(later.after, engine) - total(after.before, engine)
        gain = later.device(engine) - after.device(engine)
        verdict(low * 0.99 - 0.002 <= gain <= high * 1.01 + 0.002, f"off and on again: {engine} afterwards", gain,
                f"{low} to {high}")
    ticks = [p.page.get("intel_gpu_engine_active_ticks_total", engine="vcs0") for p in (before, later)]
    verdict(0 <= ticks[1] - ticks[0] <= 10 * 19.2e6, "off and on again: the ticks do not jump", ticks, "a few seconds more")


def slow_driver(gpu, exporter):
    """Enabling takes long, and the kernel lets whoever reads sriov_numvfs wait. The page does without it."""
    enable(gpu, 0)
    before = exporter.scrape()
    gpu.ctl("fault sriov delay=25000")
    change = threading.Thread(target=enable, args=(gpu, 4))
    change.start()
    time.sleep(1)
    # The collectors `engines` and `sriov` are left behind after five seconds each; from then on they are skipped.
    exporter.scrape()
    page = exporter.scrape()
    verdict(change.is_alive() and page.after - page.before < 4, "a slow driver: a page comes meanwhile",
            f"{page.after - page.before:.1f} s", "less than 4 of 25")
    equal("a slow driver: it has the other values", page.get("intel_npu_info"), 1)
    change.join()
    ctl("fault clear")
    wait_for(lambda: len(holders(exporter.scrape())) == 4, DEADLINE, 1)
    exporter.scrape()
    a, b = exporter.window()
    rate("a slow driver: afterwards the GPU has the time of all", a, b, BUSY, scripted("vcs0", 4) / 100, absolute=0.001,
         engine="vcs0", source="pmu")
    verdict(before.get(BUSY, engine="vcs0", source="pmu") <= a.get(BUSY, engine="vcs0", source="pmu"),
            "a slow driver: no time is lost of what was counted")
    gpu.ctl("fault sriov EIO")
    enable(gpu, 0)
    try:
        enable(gpu, 4)
        verdict(False, "a driver that refuses", "enabled", "an error")
    except OSError:
        equal("a driver that refuses: none is enabled", exporter.scrape().get(VFS, state="enabled"), 0)
    ctl("fault clear")


def disagreement(gpu, exporter):
    """Links that are missing, and links that are no functions'."""
    enable(gpu, 0)
    exporter.scrape()
    enable(gpu, 4)
    gpu.ctl("unlink virtfn1", "link virtfn4000000000", "link virtfnx")
    page = exporter.scrape()
    equal("three links of four: enabled", page.get(VFS, state="enabled"), 4)
    equal("three links of four: functions", sorted(holders(page)), [1, 3, 4])
    a, b = exporter.window()
    rate("three links of four: the GPU has the time of all", a, b, BUSY, scripted("vcs0", 4) / 100, absolute=0.001,
         engine="vcs0", source="pmu")
    gpu.ctl("unlink virtfn4000000000", "unlink virtfnx")


def rights(gpu, workloads):
    """vfio's files are those of root's processes. Directories of descriptors need another right than what they hold."""
    everything = {vf: workloads.get(vf, "") for vf in range(1, 5)}
    with_fdinfo = {**everything, 1: ""}
    for name, prefix, expected, reason in (
            ("root", (), everything, (1, "ok")),
            ("CAP_SYS_PTRACE", as_user(1000, (), ["sys_ptrace"]), with_fdinfo, (0, "permission")),
            ("CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH", as_user(1000, (), ["sys_ptrace", "dac_read_search"]), everything,
             (1, "ok")),
            ("nothing", as_user(1000), dict.fromkeys(everything, ""), (0, "permission"))):
        with Exporter(prefix=prefix, what=f"functions, {name}") as exporter:
            def found():
                return {vf: workload for vf, (_, _, workload) in holders(exporter.scrape()).items()}

            wait_for(lambda: found() == expected and reasons(exporter.scrape(), "vf_workload") == {reason}, 60, 1)
            equal(f"{name}: the machines", found(), expected)
            page = exporter.scrape()
            equal(f"{name}: why not all", reasons(page, "vf_workload"), {reason})
            equal(f"{name}: engine time", reasons(page, "vf_engine_busy"), {(0, "permission") if prefix else (1, "ok")})
            equal(f"{name}: counts need no right", page.get(VFS, state="enabled"), 4)
            equal(f"{name}: shares need no right", page.get("intel_gpu_vf_exec_quantum_seconds", vf="1"), 0.016)
            events = {(1, "ok")} if "DAC" in name or not prefix else {(0, "permission")}
            equal(f"{name}: adverse events", reasons(page, "vf_adverse_events"), events)


def functions(gpu):
    with contextlib.ExitStack() as stack:
        exporter = stack.enter_context(Exporter(what="functions"))
        verdict(wait_for(lambda: asleep(gpu), DEADLINE), "without functions the GPU sleeps", "awake", "suspended")
        page = exporter.scrape()
        equal("none enabled", (page.get(VFS, state="enabled"), page.get(VFS, state="total")), (0, 7))
        absent("none enabled: no function", page, VF_INFO)
        load(gpu)
        enable(gpu, 4)
        equal("with functions it is awake", asleep(gpu), False)
        page = exporter.scrape()
        equal("four enabled", (page.get(VFS, state="enabled"), page.get(VFS, state="total")), (4, 7))
        equal("functions are no GPUs of this machine", page.devices(), [gpu.address])
        equal("nobody has them", holders(page), {vf: (address_of(gpu, vf), "none", "") for vf in range(1, 5)})
        engines(gpu, exporter, 4, "equal turns")
        shares(gpu, exporter)
        adverse(gpu, exporter)
        write(f"{gpu.sys}/sriov_admin/vf4/profile/exec_quantum_ms", 4)
        write(f"{gpu.sys}/sriov_admin/pf/profile/exec_quantum_ms", 4)
        engines(gpu, exporter, 4, "unequal turns")
        with machines(gpu) as (workloads, monitors):
            expected = {vf: (address_of(gpu, vf), "vfio-pci" if vf in workloads else "none", workloads.get(vf, ""))
                        for vf in range(1, 5)}
            wait_for(lambda: holders(exporter.scrape()) == expected, DEADLINE, 1)
            equal("machines by function", holders(exporter.scrape()), expected)
            doctor_is_content("functions")
            stack.close()  # one exporter at a time
            captured("functions, machines and an NPU")
            rights(gpu, workloads)
            with Exporter(what="a machine ends") as exporter:
                wait_for(lambda: holders(exporter.scrape())[3][2] == workloads[3], DEADLINE, 0.5)
                equal("a machine runs", holders(exporter.scrape())[3][1:], ("vfio-pci", workloads[3]))
                monitors[3].kill()
                monitors[3].wait()
                equal("a machine has ended", holders(exporter.scrape())[3][1:], ("vfio-pci", ""))
    with Exporter(what="changes") as exporter:
        exporter.scrape()
        changes(gpu, exporter)
        unseen_change(gpu, exporter)
        slow_driver(gpu, exporter)
        disagreement(gpu, exporter)
        enable(gpu, 0)
        page = exporter.scrape()
        equal("disabled", (page.get(VFS, state="enabled"), holders(page)), (0, {}))
        a, b = exporter.window()
        rate("disabled: the GPU has its own time", a, b, BUSY, OWN["vcs0"] / 100, absolute=0.001, engine="vcs0",
             source="pmu")


NPU, NPU_ADDRESS = "/sys/class/accel/accel0/device", "0000:00:0b.0"
NPU_DRIVER = "/sys/bus/pci/drivers/intel_vpu"


def npu_state():
    return state()["npu"]


def npu_asleep():
    return read(f"{NPU}/power/runtime_status") == "suspended"


def npus(gpu):
    """Values against the model; what is asleep stays asleep; what failed is counted, and not as the GPU's."""
    with Exporter(what="NPU") as exporter:
        page = exporter.scrape()
        equal("NPU: its identity", page.all("intel_npu_info"),
              [({"device": NPU_ADDRESS, "accel": "accel0", "device_id": "0x643e",
                 "name": page.all("intel_npu_info")[0][0]["name"]}, 1)])
        ctl("npu busy=40 mem=64M clock=1400")
        with open("/dev/accel/accel0", "wb", buffering=0) as client:
            client.write(b"mem=32M")
            a, b = exporter.window()
            rate("NPU: busy seconds", a, b, "intel_npu_busy_seconds_total", 0.40, absolute=0.001)
            points("NPU: busy ratio", b.get("intel_npu_busy_ratio"), 0.40)
            equal("NPU: memory", b.get("intel_npu_memory_resident_bytes"), 96 << 20)
            equal("NPU: clock", (b.get("intel_npu_frequency_hertz", bound="current"),
                                 b.get("intel_npu_frequency_hertz", bound="max")), (1400e6, 1950e6))
            equal("NPU: awake", b.get("intel_npu_runtime_suspended"), 0)
            absent("NPU: who uses it is no client of a GPU", b, "intel_gpu_process_clients", pid=str(os.getpid()))
        ctl("npu busy=0")
        verdict(wait_for(npu_asleep, DEADLINE), "NPU: sleeps when it has no job", "awake", "suspended")
        before = npu_state()
        first = exporter.scrape()
        for _ in range(50):
            page = exporter.scrape()
        after = npu_state()
        equal("NPU: 50 scrapes wake it not once, and open no file",
              (after["resumes"], after["opens"], npu_asleep()), (before["resumes"], before["opens"], True))
        verdict(after["reads"] > before["reads"], "NPU: and read its files", after["reads"], f"more than {before['reads']}")
        equal("NPU: asleep on the page", (page.get("intel_npu_runtime_suspended"),
                                          page.get("intel_npu_frequency_hertz", bound="current")), (1, 0))
        equal("NPU: its memory is known meanwhile", page.get("intel_npu_memory_resident_bytes"), 64 << 20)
        equal("NPU: its busy time stands", page.get("intel_npu_busy_seconds_total"),
              first.get("intel_npu_busy_seconds_total"))
        for _ in range(3):
            ctl("npu recover")
        page = exporter.scrape()
        equal("NPU: recoveries", page.get("intel_npu_recoveries_total"), 3)
        equal("NPU: none of the GPU's", (page.sum("intel_gpu_core_dumps_total") or 0, page.sum("intel_gpu_hangs_total") or 0,
                                         page.sum("intel_gpu_resets_total") or 0), (0, 0, 0))
        # The driver is loaded again: its books begin at 0.
        counted = page.get("intel_npu_busy_seconds_total")
        write(f"{NPU_DRIVER}/unbind", NPU_ADDRESS)
        absent("NPU: without its driver", exporter.scrape(), "intel_npu_info")
        write(f"{NPU_DRIVER}/bind", NPU_ADDRESS)
        ctl("npu busy=25")
        a, b = exporter.window()
        rate("NPU: busy seconds after its driver was loaded again", a, b, "intel_npu_busy_seconds_total", 0.25,
             absolute=0.001)
        verdict(counted <= b.get("intel_npu_busy_seconds_total") <= counted + npu_state()["busy_ns"] / 1e9 + 0.001,
                "NPU: nothing is lost or doubled by that", b.get("intel_npu_busy_seconds_total"), f"{counted} and more")
        for text in ("18446744073709551615", "-5", "many", ""):
            ctl(f"fault npu:* text={text}\\n")
            page = exporter.scrape()
            equal(f"NPU: its files say {text!r}: the page is whole", page.get("intel_npu_info"), 1)
        ctl("fault clear", "npu busy=0 mem=0")
        code, text = run_tool("list")
        verdict(code == 0 and NPU_ADDRESS in text, "NPU: in the list", text, NPU_ADDRESS)


CONNECTED, ENABLED, MODE = "intel_gpu_connector_connected", "intel_gpu_connector_enabled", "intel_gpu_connector_info"
HOTPLUGS = "intel_gpu_hotplug_events_total"


def outputs(gpu):
    """What is plugged in, by the DRM core's own files and events; nothing is probed, and no card node is opened."""
    with Exporter(what="outputs, not asked for") as exporter:
        absent("outputs are not asked for", exporter.scrape(), CONNECTED)
    verdict(wait_for(lambda: asleep(gpu), DEADLINE), "outputs: the GPU sleeps", "awake", "suspended")
    before = state()["gpus"][0]
    # The first scrape of an exporter that sees the GPU awake may look at its nodes.
    with Exporter("--collector.connectors", what="outputs") as exporter:
        page = exporter.scrape()
        names = {l["connector"] for l, _ in page.all(CONNECTED)}
        equal("outputs", names, {"DP-1", "HDMI-A-1"})
        equal("nothing is plugged in", ({v for _, v in page.all(CONNECTED)}, {v for _, v in page.all(ENABLED)},
                                        page.all(MODE)), ({0}, {0}, []))
        gpu.ctl("connector DP-1 connected enabled=1 modes=2560x1440,1920x1080 event")
        page = exporter.scrape()
        equal("a monitor", (page.get(CONNECTED, connector="DP-1"), page.get(ENABLED, connector="DP-1"),
                            page.get(CONNECTED, connector="HDMI-A-1")), (1, 1, 0))
        wait_for(lambda: exporter.scrape().all(MODE), DEADLINE, 0.5)
        equal("its preferred mode", [l["mode"] for l, _ in exporter.scrape().all(MODE)], ["2560x1440"])
        for _ in range(5):
            gpu.ctl("connector DP-1 disconnected enabled=0 modes= event", "connector DP-1 connected event")
        gpu.ctl("connector HDMI-A-1 unknown event", "connector DP-1 event=all", "connector DP-1 event=property")
        page = exporter.scrape()
        equal("events", {l["connector"]: v for l, v in page.all(HOTPLUGS)}, {"DP-1": 11, "HDMI-A-1": 1, "unknown": 1})
        gpu.ctl("uevent count=20000 HOTPLUG=1")
        wait_for(lambda: exporter.scrape().get(HOTPLUGS, connector="unknown") > 1, DEADLINE, 0.5)
        flooded = exporter.scrape()
        events, lost = flooded.get(HOTPLUGS, connector="unknown"), flooded.get("intel_gpu_hotplug_events_lost_total")
        verdict(events == 20001 or (1 < events < 20001 and lost > 0), "a flood of events is counted, or said to be lost",
                (events, lost), "20001, or fewer and a loss")
        absent("an output whose state is not known", page, CONNECTED, connector="HDMI-A-1")
        equal("a monitor without modes", page.all(MODE), [])
        # A probe of a bad monitor takes seconds, and the kernel lets whoever reads modes wait.
        gpu.ctl("connector DP-1 modes=1280x720 event")  # also after the loss of others
        probe = threading.Thread(target=gpu.ctl, args=("connector hold=8000",))
        probe.start()
        time.sleep(0.5)
        slowest = 0
        while probe.is_alive():
            page = exporter.scrape()
            slowest = max(slowest, page.after - page.before)
            equal("during a probe: connected", page.get(CONNECTED, connector="DP-1"), 1)
            time.sleep(1)
        verdict(slowest < 4, "during a probe: no scrape waits for its end", f"{slowest:.1f} s", "less than 4 of 8")
        wait_for(lambda: exporter.scrape().all(MODE), DEADLINE, 1)
        equal("after the probe: the mode", [l["mode"] for l, _ in exporter.scrape().all(MODE)], ["1280x720"])
        after = state()["gpus"][0]
        equal("outputs: probes, opened card nodes, resumes of the GPU",
              tuple(after[k] - before[k] for k in ("probes", "card_opens", "rpm_resumes")), (0, 0, 0))


def without_rights(gpu):
    """Everything of the NPU and of outputs is readable by anybody; events, too."""
    with Exporter("--collector.connectors", prefix=as_user(1000), what="nobody") as exporter:
        exporter.scrape()
        ctl("npu busy=40 mem=64M", "npu recover")
        gpu.ctl("connector DP-1 connected modes=800x600 event")
        a, b = exporter.window()
        rate("nobody: NPU", a, b, "intel_npu_busy_seconds_total", 0.40, absolute=0.001)
        equal("nobody: NPU's memory, recoveries", (b.get("intel_npu_memory_resident_bytes"),
                                                   b.get("intel_npu_recoveries_total")), (64 << 20, 1))
        equal("nobody: outputs", (b.get(CONNECTED, connector="DP-1"), b.get(HOTPLUGS, connector="DP-1"),
                                  [l["mode"] for l, _ in b.all(MODE)]), (1, 1, ["800x600"]))
        ctl("npu busy=0 mem=0")


def without_gpu(gpu):
    """A machine with an NPU only."""
    gpu.ctl("unplug")
    with Exporter(what="NPU alone") as exporter:
        page = exporter.scrape()
        equal("NPU alone: no GPU, and the NPU", (page.devices(), page.get("intel_npu_info")), ([], 1))
    gpu.ctl("replug")


def beside():
    gpu, = machine("bmg")
    outputs(gpu)
    npus(gpu)
    without_rights(gpu)
    functions(gpu)
    without_gpu(gpu)
