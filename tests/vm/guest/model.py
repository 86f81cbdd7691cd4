# SPDX-License-Identifier: Apache-2.0
"""The personalities of the rig (rig/module/main.c), and the load that the value checks script."""

import dataclasses
import re

from vm import ctl

MIB, GIB = 1 << 20, 1 << 30
MHZ = 1e6
CLASSES = ["render", "copy", "video", "video_enhance", "compute"]
THROTTLE = ["pl1", "pl2", "pl4", "thermal", "prochot", "ratl", "vr_thermalert", "vr_tdc"]


NEWER_THAN_PCI_IDS = {"0x7d55": "Meteor Lake-P [Arc Graphics]", "0x64a0": "Lunar Lake [Arc Graphics 130V/140V]",
                      "0xe20b": "Battlemage G21 [Arc B580]"}


@dataclasses.dataclass
class Gpu:
    name: str
    driver: str
    kind: str
    device_id: str
    revision: int
    engines: dict  # name -> GT
    rp0: list
    rp1: list
    rpn: list
    memory: dict  # region of the query ioctl -> size
    fdinfo_regions: list
    main_region: str  # where gpuload's mem= goes
    address: str = ""
    index: int = 0
    link: tuple = ()  # current and max speed, current and max width

    @property
    def xe(self):
        return self.driver == "xe"

    @property
    def title(self):
        """Its name in the system's PCI id list, or the exporter's name for GPUs that are newer than Debian 12's list."""
        with open("/usr/share/misc/pci.ids", encoding="utf-8") as f:
            intel = f.read().split("\n8086  ", 1)[1]
        found = re.search(rf"^\t{self.device_id[2:]}  (.*)$", re.split(r"\n(?=[0-9a-f]{4}  )", intel)[0], re.M)
        return found.group(1) if found else NEWER_THAN_PCI_IDS.get(self.device_id)

    @property
    def pmu(self):
        return "i915" if self.driver == "i915" and self.kind == "integrated" else \
            f"{self.driver}_{self.address.replace(':', '_')}"

    @property
    def sys(self):
        return f"/sys/bus/pci/devices/{self.address}"

    def engine_class(self, engine):
        return {"rcs": "render", "bcs": "copy", "vcs": "video", "vecs": "video_enhance", "ccs": "compute"}[
            engine.rstrip("0123456789")]

    def capacity(self, cls):
        return sum(self.engine_class(e) == cls for e in self.engines)

    def ctl(self, *commands):
        ctl(*(f"gpu{self.index} {c}" for c in commands))


def _gpu(name):
    dg2_engines = ["rcs0", "bcs0", "vcs0", "vcs1", "vecs0", "vecs1", "ccs0", "ccs1", "ccs2", "ccs3"]
    return {
        "tgl": lambda: Gpu(
            "tgl", "i915", "integrated", "0x9a49", 1,
            dict.fromkeys(["rcs0", "bcs0", "vcs0", "vcs1", "vecs0"], 0), [1300], [400], [100],
            {"system": 16 * GIB}, ["system0", "stolen-system0"], "system0"),
        "dg2": lambda: Gpu(
            "dg2", "i915", "discrete", "0x56a0", 8, dict.fromkeys(dg2_engines, 0),
            [2400], [600], [300], {"system": 16 * GIB, "local0": 16288 * MIB},
            ["system0", "local0", "stolen-local0"], "local0"),
        "mtl": lambda: Gpu(
            "mtl", "i915", "integrated", "0x7d55", 8,
            {"rcs0": 0, "bcs0": 0, "vcs0": 1, "vcs1": 1, "vecs0": 1, "ccs0": 0}, [2250, 1300], [800, 600], [100, 100],
            {"system": 32 * GIB}, ["system0", "stolen-local0"], "system0"),
        "bmg": lambda: Gpu(
            "bmg", "xe", "discrete", "0xe20b", 0,
            {"rcs0": 0, "bcs0": 0, "ccs0": 0, "vcs0": 1, "vcs1": 1, "vecs0": 1, "vecs1": 1},
            [2850, 1500], [1200, 800], [400, 400], {"system": 8 * GIB, "vram0": 12216 * MIB},
            ["system", "gtt", "vram0", "stolen"], "vram0"),
        "lnl": lambda: Gpu(
            "lnl", "xe", "integrated", "0x64a0", 4,
            {"rcs0": 0, "bcs0": 0, "ccs0": 0, "vcs0": 1, "vecs0": 1}, [2050, 1500], [1200, 800], [400, 400],
            {"system": 8 * GIB}, ["system", "gtt", "stolen"], "gtt"),
    }[name]()


def machine(personality):
    """The GPUs of `a+b`, with the addresses and links of the rig."""
    gpus, discrete = [], 0
    for index, name in enumerate({"multi": "tgl+dg2", "no-gpu": ""}.get(personality, personality).split("+")):
        if not name:
            continue
        gpu = _gpu(name)
        gpu.index = index
        if gpu.kind == "integrated":
            gpu.address = "0000:00:02.0"
        else:
            gpu.address = ["0000:03:00.0", "0000:06:00.0"][discrete]
            gpu.link = (8e9, 16e9, 8, 16) if discrete == 0 else (8e9, 16e9, 4, 8)
            discrete += 1
        gpus.append(gpu)
    return gpus


@dataclasses.dataclass
class Script:
    """One GPU's scripted state: set by apply(), known by the checks."""

    gpu: Gpu
    busy: dict = dataclasses.field(default_factory=dict)  # engine -> percent, beside any client
    wait: dict = dataclasses.field(default_factory=dict)
    sema: dict = dataclasses.field(default_factory=dict)
    gts: list = dataclasses.field(default_factory=list)
    irq: int = 500
    hwmon: dict = dataclasses.field(default_factory=dict)

    def apply(self):
        for engine in self.gpu.engines:
            self.gpu.ctl(f"engine {engine} busy={self.busy[engine]} wait={self.wait[engine]} sema={self.sema[engine]}")
        for gt, values in enumerate(self.gts):
            self.gpu.ctl(f"gt {gt} " + " ".join(f"{k}={v}" for k, v in values.items()))
        self.gpu.ctl(f"irq {self.irq}")
        if self.hwmon:
            self.gpu.ctl("hwmon " + " ".join(f"{k}={v}" for k, v in self.hwmon.items()))


def script(gpu):
    """A different value in every place, so that a mix-up is detected."""
    s = Script(gpu)
    loads = [12.5, 3.25, 71, 40, 22, 61, 50.5, 8, 95, 33]
    for k, engine in enumerate(gpu.engines):
        s.busy[engine] = loads[(k + gpu.index) % len(loads)]
        s.wait[engine] = 2 + k
        s.sema[engine] = 1 + 2 * k
    for gt in range(len(gpu.rp0)):
        low, high = gpu.rpn[gt], gpu.rp0[gt]
        s.gts.append({"act": low + 150 + 10 * gt, "req": low + 250 + 10 * gt, "min": low + 50, "max": high - 100,
                      "boost": high - 50, "rc6": 33 - 12.5 * gt, "awake": 50 + 25 * gt,
                      "throttle": ["pl1,thermal", "vr_tdc"][gt]})
    if gpu.kind == "discrete":
        s.hwmon = {"power": 150, "pkg": 120, "max": 185, "temp": 81.5, "vram_temp": 90, "fan": 2500, "in": 850}
    return s


# the machine around them
POWER = {"pkg": 15.5, "cores": 4, "gpu": 3.2, "ram": 1, "psys": 20}
DOMAIN = {"pkg": "package", "cores": "cores", "gpu": "gpu", "ram": "dram", "psys": "psys"}
IMC = {"reads": 800, "writes": 100}


def apply_machine():
    ctl("power " + " ".join(f"{k}={v}" for k, v in POWER.items()))
    ctl("imc " + " ".join(f"{k}={v}" for k, v in IMC.items()))
