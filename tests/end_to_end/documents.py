#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the documents say of commands, of the page, of dashboards and of permissions is so.

usage: documents.py EXPORTER_BINARY REPOSITORY_ROOT
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from exporter_under_test import Exporter, check, finish, get  # noqa: E402

NUMBERS = "no one two three four five six seven eight nine ten eleven".split()


def run(*command):
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return ran.returncode, ran.stdout + ran.stderr


def check_commands(binary, root, pages):
    """A command that only the static file has is said to be so."""
    source = (root / "exporter/cli/commands.cpp").read_text()
    every = set(re.findall(r'\{\.name = "([\w-]+)"', source)) | {"intel_gpu_top"}
    known = set(re.findall(r"^  ([a-z][\w-]+)(?:  |$)", run(binary, "--help")[1].partition("\nCommands:\n")[2].partition("\n\n")[0], flags=re.M))
    check({"serve", "doctor", "top"} <= known <= every, f"commands in --help: {sorted(known)}")
    for path, page in pages.items():
        for line in page.splitlines():
            for command in re.findall(r"`intel-gpu-exporter ([a-z][\w-]+)", line):
                check(command in known or command not in every or "static" in line,
                      f"{path}: not every build has `intel-gpu-exporter {command}`")
    windows = re.search(r"^\* The commands (.*), `doctor --bug`", pages["docs/windows.md"], flags=re.M)[1]
    for command in re.findall(r"`([\w-]+)`", windows):
        check(command in known, f"docs/windows.md lacks {command}, which is no command")


def check_page(binary, pages, folder):
    """What a browser fetches to show the page."""
    with Exporter(binary, folder / "page.log", "--simulate=arc-a770") as exporter:
        loaded = set(re.findall(r'(?:src|href)="(assets/[^"]+)"', get(exporter.url.replace("/metrics", "/"))))
    said = re.search(r"A page\s+is (\w+) requests and then one a second", pages["docs/integrations.md"])[1]
    check(said == NUMBERS[1 + len(loaded)], f"docs/integrations.md: the page is {said} requests, not itself and {sorted(loaded)}")


def check_once(binary, pages, folder):
    for part in ("class/drm", "bus/pci/devices"):
        (folder / "sys" / part).mkdir(parents=True)
    empty, text = run(binary, "top", "--once", f"--path.sysfs={folder}/sys")
    away, _ = run(binary, "top", "--once", "http://127.0.0.1:1")
    check((empty, away) == (1, 1) and "No Intel GPU found" in text, f"top --once: {empty} without a GPU, {away} without a host\n{text}")
    check("`--once`\nexits with 1 if no host could be read, or none has a GPU or an NPU." in pages["docs/commands.md"], "docs/commands.md: --once")


def check_dashboards(root, pages):
    titles = {json.loads(path.read_text())["title"] for path in (root / "grafana").glob("*.json")}
    for path, page in pages.items():
        for name in re.findall(r"dashboard\s+\*([^*]+)\*", page):
            check(name in titles, f"{path}: there is no dashboard {name}: {sorted(titles)}")


def check_permissions(root, pages):
    """Each capability that doctor asks for has its row."""
    rows = "\n".join(re.findall(r"^\| [^|]*", pages["README.md"].partition("## Permissions")[2].partition("\n## ")[0], flags=re.M))
    advice = (root / "collectors/run/advice.cpp").read_text()
    asked = set(re.findall(r"CAP_[A-Z_]+", advice)) - {"CAP_SYS_ADMIN"}  # instead of which CAP_PERFMON is asked for
    check(len(asked) >= 4, f"too few capabilities: {asked}")
    for capability in asked:
        check(capability in rows, f"README.md: no row for {capability}")


def check_tasks(pages):
    """Each task fits on a screen or two: ten steps, in order."""
    tasks = pages["docs/tasks.md"].split("\n## ")[1:]
    check(len(tasks) == 9, f"docs/tasks.md: {len(tasks)} tasks")
    for task in tasks:
        steps = [int(number) for number in re.findall(r"^(\d+)\. ", task, flags=re.M)]
        check(steps == list(range(1, len(steps) + 1)) and 3 <= len(steps) <= 10, f"docs/tasks.md: {task.splitlines()[0]}: steps {steps}")


def check_words(binary, root, page):
    """docs/words.md: a value has one word, engine classes one order and one colour."""
    avoided = {word for line in re.findall(r"^\| .* \|$", page.partition("## Engine classes")[0], flags=re.M)[1:]
               for word in line.split("|")[3].strip().split(", ") if word} - {"index"}
    check({"clock", "suspended", "VRAM"} <= avoided, f"words to avoid: {sorted(avoided)}")
    help_texts = [run(binary, "help", command)[1] for command in
                  ("serve", "list", "stats", "top", "doctor", "capture", "trace", "flights", "healthcheck", "collectors")]
    help_texts.append(run(binary, "--help-all")[1])
    script = "".join(path.read_text() for path in sorted((root / "exporter/server/pages/assets").glob("*.js")))
    shown = {path.name: path.read_text().replace("<td>suspended</td>", "")  # a reason, which is a name
             for path in (root / "tests/screens").iterdir() if path.suffix in (".txt", ".html")}
    shown |= {"help": "\n".join(help_texts), "page.js": "\n".join(re.findall(r"'([^'\n]* [^'\n]*)'", script))}
    for path in (root / "grafana").glob("*.json"):
        shown[path.name] = "\n".join(re.findall(r'"(?:title|description|text|displayName)": ?"(.*?)"', path.read_text()))
    memory = set(re.search(r"\| card memory \| (.*?) \|", page)[1].split(", "))
    metrics = re.sub(r"`[^`]*`", "", (root / "collectors/METRICS.md").read_text())
    for word in memory:
        check(not re.search(rf"\b({word}|{word[0].upper() + word[1:]})\b", metrics), f"METRICS.md says {word!r}, not card memory")
    for where, text in shown.items():
        for word in avoided:
            found = re.search(rf"(?<![\w-])({word}|{word[0].upper() + word[1:]})(?![\w-])", text)
            line = text[max(0, found.start() - 30):found.end() + 30] if found else ""
            check(not found, f"{where} says {word!r}, which docs/words.md avoids: {line!r}")
    table = re.findall(r"^\| (\w+) \| ([A-Z]+) \| `(#\w+)` \| `(#\w+)` \| (\w+) \|", page, flags=re.M)
    classes = [row[0] for row in table]
    order = re.search(r"kClasses = \[(.*?)\]", script)[1].replace("'", "").split(", ")
    names = re.search(r"kNames\[kEngineClasses\] = \{(.*?)\}", (root / "collectors/include/igpu/device.h").read_text())[1]
    titles = re.search(r"kTitles\{(\"RENDR.*?)\}", (root / "exporter/view/top/table.cpp").read_text())[1].replace('"', "").split(", ")
    check(classes == order == names.replace('"', "").split(", "), f"order of engine classes: {classes}, page {order}, model {names}")
    check([row[1] for row in table] == titles, f"titles of engine classes in top: {titles}")
    css = (root / "exporter/server/pages/assets/page.css").read_text()
    terminal = (root / "exporter/view/top/terminal.cpp").read_text()
    for name, _, light, dark, colour in table:
        check(re.findall(rf"--{name}: (#\w+)", css) == [light, dark], f"page.css: colours of {name}")
        check(re.search(rf"Style::{name}:\s+return \{{COLOR_{colour.upper()},", terminal), f"terminal.cpp: colour of {name}")


def main():
    binary, root = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    pages = {str(path.relative_to(root)): path.read_text() for path in [root / "README.md", *(root / "docs").glob("*.md")]}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_commands(binary, root, pages)
        check_page(binary, pages, folder)
        check_once(binary, pages, folder)
    check_dashboards(root, pages)
    check_permissions(root, pages)
    check_tasks(pages)
    check_words(binary, root, pages["docs/words.md"])
    finish()


if __name__ == "__main__":
    main()
