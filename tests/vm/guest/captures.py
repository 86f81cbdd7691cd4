# SPDX-License-Identifier: Apache-2.0
"""A capture of this kernel, served again, gives the page that the kernel gave."""

import json
import os

from vm import Load, equal, run_tool, verdict

FILE = "/tmp/capture.tar.zst"


def gpus(*arguments):
    """What list prints, but for how clients are found: a capture has what a scan of /proc reads. It leaves out debugfs,
    and processes that use no GPU, such as those that hold virtual functions."""
    code, text = run_tool("list", "--json", *arguments)
    said = json.loads(next(line for line in text.splitlines() if line.startswith("{")))
    features = said["machine"]["features"]
    said["machine"]["features"] = [feature for feature in features if feature["feature"] != "client_finder"]
    for gpu in said["gpus"]:
        gpu["features"] = [feature for feature in gpu["features"] if feature["feature"] != "vf_adverse_events"]
        for function in gpu.get("vfs", {}).get("functions", []):
            function.pop("workload", None)
    return code, said


def captured(name):
    # A guest that is this slow may cut a scan of the processes short: the capture says that its page differs.
    for _ in range(5):
        if os.path.exists(FILE):
            os.remove(FILE)
        with Load("render=10 video=5"):
            code, text = run_tool("capture", FILE)
        same = "Served again, it gives the same page" in " ".join(text.split())
        if same or code != 0:
            break
    equal(f"{name}: capture succeeds", code, 0)
    verdict(same, f"{name}: the capture gives the same page", text)
    equal(f"{name}: the capture is its owner's", os.stat(FILE).st_mode & 0o777, 0o600)
    with Load("render=10 video=5"):  # without a client, features of processes are unknown
        here = gpus()
    equal(f"{name}: the capture has the same GPUs", gpus("--simulate", f"capture:{FILE}"), here)
    os.remove(FILE)
