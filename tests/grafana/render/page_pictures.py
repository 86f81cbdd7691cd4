#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pictures of the page at "/" of a simulated rack, after it was open for some time: its lines begin when it is opened.

usage: page_pictures.py EXPORTER_BINARY SECONDS FOLDER
"""
import base64
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "end_to_end"))
from page import Browser, Exporter, is_live, wait_for  # noqa: E402

PICTURES = {  # name: width, height, pixels for one of CSS, dark
    "page-dark": (1280, 950, 1, True),
    "page-light": (1280, 1900, 1, False),
    "page-phone": (390, 844, 2, True)}


def main():
    folder = pathlib.Path(sys.argv[3])
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as work:
        work = pathlib.Path(work)
        (work / "browser").mkdir()
        # Without the hang that this machine simulates after a while: a year old, by the simulated clock.
        with Exporter(sys.argv[1], work / "log", "--simulate=rack", "--no-collector.health") as exporter, Browser(work / "browser") as browser:
            browser.open(exporter.url.removesuffix("metrics").replace("127.0.0.1", "localhost"))
            wait_for(lambda: is_live(browser), "the page is live")
            time.sleep(int(sys.argv[2]))
            for name, (width, height, scale, dark) in PICTURES.items():
                browser.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)
                browser.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
                time.sleep(3)  # two readings: lines are drawn for the new width
                shot = browser.devtools("Page.captureScreenshot", format="png")
                (folder / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))


if __name__ == "__main__":
    main()
