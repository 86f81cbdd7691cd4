#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pictures of the page at "/" of a simulated rack that was scraped once a second for some time. page.gif shows it for some seconds.

usage: page_pictures.py EXPORTER_BINARY SECONDS FOLDER
"""
import base64
import io
import pathlib
import sys
import tempfile
import time
import urllib.request

import PIL.Image

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "end_to_end"))
from page import Browser, Exporter, is_live, wait_for  # noqa: E402

PICTURES = {  # name: width, height, pixels for one of CSS, dark
    "page-light": (1440, 1000, 1, False),
    "page-phone": (390, 844, 2, True)}
FRAMES, FRAME_SECONDS, COLOURS = 8, 1, 48


def show(browser, width, height, scale, dark):
    browser.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)
    browser.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
    time.sleep(3)  # two readings: lines are drawn for the new width


def shot(browser):
    return base64.b64decode(browser.devtools("Page.captureScreenshot", format="png")["data"])


def record(browser, path):
    """All frames have the colours of the first, so that what stays is stored once."""
    frames = []
    for _ in range(FRAMES):
        frame = PIL.Image.open(io.BytesIO(shot(browser))).convert("RGB")
        frames.append(frame.quantize(COLOURS, dither=PIL.Image.Dither.NONE) if not frames else frame.quantize(palette=frames[0], dither=PIL.Image.Dither.NONE))
        time.sleep(FRAME_SECONDS)
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=FRAME_SECONDS * 1000, loop=0, optimize=True)


def main():
    folder = pathlib.Path(sys.argv[3])
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as work:
        work = pathlib.Path(work)
        (work / "browser").mkdir()
        with Exporter(sys.argv[1], work / "log", "--simulate=rack", "--collector.jobs", "--collector.workloads") as exporter, \
                Browser(work / "browser") as browser:
            for _ in range(int(sys.argv[2])):
                urllib.request.urlopen(exporter.url.removesuffix("metrics") + "api/v1/snapshot?view=page").read()
                time.sleep(1)
            browser.open(exporter.url.removesuffix("metrics"))
            wait_for(lambda: is_live(browser), "the page is live")
            for name, (width, height, scale, dark) in PICTURES.items():
                show(browser, width, height, scale, dark)
                (folder / f"{name}.png").write_bytes(shot(browser))
            show(browser, 1100, 700, 1, True)
            record(browser, folder / "page.gif")


if __name__ == "__main__":
    main()
