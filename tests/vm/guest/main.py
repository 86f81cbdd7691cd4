# SPDX-License-Identifier: Apache-2.0
"""The groups by name; `run` on the host boots a personality for each."""

import beside
import captures
import clients
import faults
import finder
import hangs
import health
import jobs
import odd
import parity
import power_saving
import rights
import sampling
import values
import vm
import workloads



def mtl():
    values.values("mtl")
    parity.same_format("mtl")
    captures.captured("mtl")


def processors():
    """With two processors."""
    values.values("multi")
    odd.choices()
    captures.captured("multi")
    vm.load_module("lnl")
    values.values("lnl")
    captures.captured("lnl")


def sleep():
    power_saving.sleeping("multi")
    vm.load_module("lnl+bmg", "rpm=1")
    power_saving.sleeping("lnl+bmg")


def machines():
    """Machines that need a few checks each share a boot."""
    for check, personality, *parameters in (
            (mtl, "mtl"),
            (faults.wraps, "tgl", "power=0"),
            (odd.old_i915, "tgl", "hide=software-gt-awake-time", "fdinfo=1", "gtsysfs=0", "power=0", "imc=2"),
            (odd.blind_i915, "multi", "pmu=0", "hwmon=0", "power=0", "rapl=0", "imc=0"),
            (odd.blind_xe, "dg2+bmg", "pmu=0"),
            (odd.bare_xe, "bmg", "hide=gt-c6-residency", "fdinfo=0", "hwmon=0"),
            (power_saving.pinned, "bmg", "rpm=1"),
            (odd.no_gpu, "no-gpu")):
        vm.load_module(personality, *parameters)
        check()


GROUPS = {
    "tgl": lambda: (values.values("tgl"), odd.formats(), parity.parity("tgl"), parity.same_format("tgl"), parity.drop_in("tgl"),
                    captures.captured("tgl"), faults.refused_events()),
    "dg2": lambda: (values.values("dg2", hwmon_level=2), parity.parity("dg2"), parity.same_format("dg2"), parity.drop_in("dg2"),
                    captures.captured("dg2")),
    "bmg": lambda: (values.values("bmg", hwmon_level=2), captures.captured("bmg"), parity.drop_in_xe("bmg")),
    "processors": processors,
    "dg2+bmg": lambda: (values.values("dg2+bmg", hwmon_level=2), captures.captured("dg2+bmg")),
    "foreign-card": odd.foreign_card,
    "machines": machines,
    "clients": lambda: (clients.clients(), odd.growth()),
    "rights": rights.rights,
    "faults-i915": faults.group("multi", faults.attributes, faults.jumps, faults.parked, faults.garbage,
                                faults.refused_node, faults.hotplug),
    "faults-xe": faults.group("dg2+bmg", faults.attributes, faults.jumps, faults.parked, faults.garbage,
                              faults.refused_node, faults.hotplug),
    "sleep": sleep,
    "samples": lambda: sampling.samples("dg2+bmg"),
    "health": health.health,
    "beside": beside.beside,
    "workloads": workloads.workloads,
    "finder": finder.finder,
    "jobs": lambda: (jobs.jobs(), hangs.hangs()),
    "static": jobs.static_file,
    "jobs-i915": jobs.jobs_i915,
    "jobs-6.12": jobs.jobs_newer_kernel,
}

if __name__ == "__main__":
    vm.main(GROUPS)
