# SPDX-License-Identifier: Apache-2.0
"""Compared with Debian's intel_gpu_top, which reads the same PMU independently."""

import json
import re
import signal
import subprocess

from model import MHZ, apply_machine, machine, script
from vm import Exporter, near, verdict, wait_for

ENGINES = {"Render/3D": "rcs", "Blitter": "bcs", "Video": "vcs", "VideoEnhance": "vecs",
           "Compute": "ccs", "[unknown]": "ccs", "unknown": "ccs"}


OUTPUT = "/tmp/intel_gpu_top.json"


def output():
    with open(OUTPUT, errors="replace") as f:
        return f.read()


def records(text):
    """The objects of `intel_gpu_top -J`, whether bare, comma-separated or in an array; a truncated last one is skipped."""
    decoder, at, found = json.JSONDecoder(), 0, []
    while (at := text.find("{", at)) >= 0:
        try:
            record, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError:
            break
        found.append(record)
    return found


def parity(personality):
    gpu = machine(personality)[0]
    s = script(gpu)
    apply_machine()
    s.apply()
    with Exporter(what=f"parity on {personality}") as exporter:
        with open(OUTPUT, "wb") as out:
            top = subprocess.Popen(["intel_gpu_top", "-J", "-s", "1000"], stdout=out, stderr=out)
        speaks = wait_for(lambda: len(records(output())) >= 2, 120)
        exporter.scrape()
        _, page = exporter.window(seconds=2.5)
        top.send_signal(signal.SIGINT)
        top.wait()
        text = output()
    found = records(text)
    if not verdict(speaks and len(found) >= 3, f"{personality}: intel_gpu_top speaks", text[:200], "at least three records"):
        return
    found = found[1:]  # the first covers a few milliseconds

    def mean(*path):
        values = []
        for record in found:
            value = record
            for key in path:
                value = value[key]
            values.append(float(value))
        return sum(values) / len(values)

    d = {"device": gpu.address}
    for name in found[0]["engines"]:
        label, instance = re.fullmatch(r"(.*?)(?:/(\d+))?", name).groups("")
        prefix = ENGINES.get(label)
        if not verdict(prefix is not None, f"{personality}: engine {name} of intel_gpu_top is known", name, "a class"):
            continue
        for what in ("busy", "wait", "sema"):
            ours = [v for l, v in page.all(f"intel_gpu_engine_{what}_ratio", **d)
                    if l["engine"] == prefix + instance or (not instance and l["engine"].rstrip("0123456789") == prefix)]
            ours = sum(ours) / len(ours) if ours else None
            near(f"{personality} {name}: {what} beside intel_gpu_top", ours and ours * 100,
                 mean("engines", name, what), relative=0, absolute=2)
    for kind in ("actual", "requested"):
        near(f"{personality}: {kind} MHz beside intel_gpu_top",
             (page.get("intel_gpu_frequency_average_hertz", kind=kind, gt="0", **d) or 0) / MHZ,
             mean("frequency", kind), relative=0, absolute=2)
    near(f"{personality}: RC6 beside intel_gpu_top",
         100 * (page.get("intel_gpu_rc6_residency_ratio", gt="0", **d) or -1), mean("rc6", "value"),
         relative=0, absolute=1)
    if "power" in found[0]:
        for key, domain in (("GPU", "gpu"), ("Package", "package")):
            near(f"{personality}: {domain} watts beside intel_gpu_top",
                 page.get("intel_gpu_power_watts", domain=domain, **d), mean("power", key), relative=0.02)
    else:
        verdict(gpu.kind == "discrete", f"{personality}: intel_gpu_top shows power", "none", "GPU and Package")
