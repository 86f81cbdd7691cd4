# SPDX-License-Identifier: Apache-2.0
"""A capture of this kernel, served again, gives the page that the kernel gave."""

import os

from vm import Load, equal, run_tool, verdict

FILE = "/tmp/capture.tar.zst"


def captured(name):
    with Load("render=10 video=5"):
        code, text = run_tool("capture", FILE)
    said = " ".join(text.split())
    equal(f"{name}: capture succeeds", code, 0)
    verdict("Served again, it gives the same page" in said, f"{name}: the capture gives the same page", said)
    equal(f"{name}: the capture is its owner's", os.stat(FILE).st_mode & 0o777, 0o600)
    equal(f"{name}: the capture has the same GPUs", run_tool("list", "--json", "--simulate", f"capture:{FILE}"),
          run_tool("list", "--json"))
    os.remove(FILE)
