# SPDX-License-Identifier: Apache-2.0
"""The groups by name; `run` on the host boots a personality for each."""

import arm64
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

GROUPS = {
    "tgl": lambda: (values.values("tgl"), odd.formats(), parity.parity("tgl"), parity.same_format("tgl"), parity.drop_in("tgl"),
                    captures.captured("tgl"), faults.refused_events()),
    "dg2": lambda: (values.values("dg2", hwmon_level=2), parity.parity("dg2"), parity.same_format("dg2"), parity.drop_in("dg2"),
                    captures.captured("dg2")),
    "mtl": lambda: (values.values("mtl"), parity.same_format("mtl"), captures.captured("mtl")),
    "bmg": lambda: (values.values("bmg", hwmon_level=2), captures.captured("bmg"), parity.drop_in_xe("bmg")),
    "lnl": lambda: (values.values("lnl"), captures.captured("lnl")),
    "multi": lambda: (values.values("multi"), odd.choices(), captures.captured("multi")),
    "dg2+bmg": lambda: (values.values("dg2+bmg", hwmon_level=2), captures.captured("dg2+bmg")),
    "foreign-card": odd.foreign_card,
    "no-gpu": odd.no_gpu,
    "old-i915": odd.old_i915,
    "blind-i915": odd.blind_i915,
    "bare-xe": odd.bare_xe,
    "blind-xe": odd.blind_xe,
    "clients": clients.clients,
    "rights": rights.rights,
    "faults-i915": faults.group("multi", faults.attributes, faults.jumps, faults.parked, faults.garbage,
                                faults.refused_node, faults.hotplug),
    "faults-xe": faults.group("dg2+bmg", faults.attributes, faults.jumps, faults.parked, faults.garbage,
                              faults.refused_node, faults.hotplug),
    "wraps": faults.wraps,
    "sleep-i915": lambda: power_saving.sleeping("multi"),
    "sleep-xe": lambda: power_saving.sleeping("lnl+bmg"),
    "pinned-xe": power_saving.pinned,
    "samples": lambda: sampling.samples("dg2+bmg"),
    "health": health.health,
    "beside": beside.beside,
    "growth": odd.growth,
    "workloads": workloads.workloads,
    "finder": finder.finder,
    "jobs": jobs.jobs,
    "static": jobs.static_file,
    "hangs": hangs.hangs,
    "jobs-i915": jobs.jobs_i915,
    "jobs-6.12": jobs.jobs_newer_kernel,
    "arm64": lambda: arm64.arm64(4096),
    "arm64-16k": lambda: arm64.arm64(16384),
}

if __name__ == "__main__":
    vm.main(GROUPS)
