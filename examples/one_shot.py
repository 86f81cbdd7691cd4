#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the first GPU once, then its power twice a second.                 one_shot.py [SIMULATED MACHINE]"""

import itertools
import sys

import igpu

simulate = sys.argv[1] if len(sys.argv) > 1 else None
try:
    with igpu.open(simulate=simulate) as gpu:
        now = gpu.read()
        print(now.gpu.address, now.gpu.name)
        for engine in now.values("engine.busy"):
            if engine.value:
                print(f"{engine.labels['engine']}: {100 * engine.value.value:.1f} %")
        for feature in now.features.values():
            if feature.state != "ok":
                print(f"{feature.name}: {feature.cause}; {feature.hint}")
    with igpu.sample(simulate=simulate, interval=0.5) as readings:
        for now in itertools.islice(readings, 3):
            print("power:", now.get("power.mean"))
except igpu.Error as error:
    sys.exit(str(error))
