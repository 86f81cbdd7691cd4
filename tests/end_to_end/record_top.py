#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The recording of `top` for the README, tests/tools/record_top: at every moment one frame shows, whole."""
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from exporter_under_test import check, finish  # noqa: E402

FRAMES = 3
SVG = "{http://www.w3.org/2000/svg}"


def main():
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "top.svg"
        subprocess.run([ROOT / "tests/tools/record_top", sys.argv[1], f"--frames={FRAMES}", "-o", file], check=True)
        picture = xml.parse(file).getroot()
    styles = picture.find(SVG + "style").text
    shown = [[] for _ in range(FRAMES)]
    for group in picture.iter(SVG + "g"):
        texts = [text.text for text in group.iter(SVG + "text")]
        first, last = (int(number) for number in re.fullmatch(r"f(\d+)-(\d+)", group.get("class", f"f0-{FRAMES - 1}")).groups())
        check("class" not in group.attrib or f".{group.get('class')}{{" in styles, f"{group.get('class')} has no rule")
        for frame in shown[first:last + 1]:
            frame += texts
    clocks = [[text for text in frame if re.search(r"\d\d:\d\d:\d\d$", text)] for frame in shown]
    check(all(len(clock) == 1 for clock in clocks) and len({clock[0] for clock in clocks}) == FRAMES, f"one time in each frame: {clocks}")
    for number, frame in enumerate(shown):
        for word in ("card1", "Battlemage G21 [Arc B580]", "VIDEO", "MHz", "COMMAND"):
            check(any(word in text for text in frame), f"frame {number} has no {word}")
    finish()


if __name__ == "__main__":
    main()
