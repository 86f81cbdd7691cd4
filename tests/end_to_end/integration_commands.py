#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The commands in deploy/integrations for bars, Beszel and Frigate: each is run as its tool runs it, on simulated machines, and its
output is read as the tool reads it.

usage: integration_commands.py EXPORTER_BINARY REPOSITORY_ROOT
"""
import configparser
import fcntl
import html
import json
import os
import pathlib
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from exporter_under_test import check, finish, wait_for  # noqa: E402

BINARY, ROOT = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
FILES = ROOT / "deploy/integrations"
# i915, xe, and a GPU that sleeps.
MACHINES = ("arc-a770", "battlemage", "asleep")
checked = set()


def text(name):
    checked.add(name)
    return (FILES / name).read_text()


def until(enough, command, environment):
    """Standard output and standard error of a command that does not end by itself, up to the line with which there is enough."""
    output = ""
    with tempfile.TemporaryFile("w+") as errors:
        with subprocess.Popen(["sh", "-c", f"exec {command}"], env=environment, stdout=subprocess.PIPE, stderr=errors, text=True) as process:
            while not enough(output) and (line := process.stdout.readline()):
                output += line
            process.terminate()
        errors.seek(0)
        return output, errors.read()


def snapshots(output):
    """JSON documents one after another; the last one may still be written."""
    decoder, found, output = json.JSONDecoder(), [], output.strip()
    try:
        while output:
            one, end = decoder.raw_decode(output)
            found.append(one)
            output = output[end:].lstrip()
    except json.JSONDecodeError:
        pass
    return found


def without_comments(source):
    return re.sub(r"^\s*//.*$", "", source, flags=re.M)


def waybar(environment, machine):
    configuration = json.loads(without_comments(text("waybar/config.jsonc")))
    name, = configuration["modules-right"]
    module = configuration[name]
    check(set(module) == {"exec", "return-type", "format", "restart-interval"} and module["return-type"] == "json", f"waybar: {module}")
    styled = re.findall(rf"#{name.replace('/', '-')}\.(\w+)", text("waybar/style.css"))
    check(len(styled) >= 4, f"waybar: {styled}")
    output, error = until(lambda output: output.count("\n") >= 2, module["exec"].replace("2s", "200ms"), environment)
    check(not error, f"waybar: {error}")
    lines = [json.loads(line) for line in output.splitlines()]
    check(len(lines) >= 2, f"waybar: a line for each update: {output[:300]}")
    for line in lines:
        check({"text", "tooltip", "class"} <= set(line), f"waybar: {line}")
        check(html.escape(html.unescape(line["tooltip"]), quote=False) == line["tooltip"], f"waybar: markup: {line['tooltip']}")
    classes = {line["class"] for line in lines}
    check(classes <= {*styled, "idle", "busy"}, f"waybar: classes {classes}")
    if machine == "asleep":
        check(classes == {"suspended"} and "percentage" not in lines[-1], f"waybar: asleep is not 0 %: {lines[-1]}")
    else:
        check(0 < lines[-1]["percentage"] <= 100, f"waybar: {lines[-1]}")


def i3status_rust(environment, machine):
    block, = tomllib.loads(text("i3status-rust/config.toml"))["block"]
    check(set(block) == {"block", "command", "interval"} and block["block"] == "custom", f"i3status-rust: {block}")
    ran = subprocess.run(["sh", "-c", block["command"]], env=environment, capture_output=True, text=True)
    number = r"-" if machine == "asleep" else r"[\d.]+"
    check(re.fullmatch(rf"(GPU {number}% (-|[\d.]+)W\n)+", ran.stdout), f"i3status-rust: {ran.stdout}{ran.stderr}")  # a line for each GPU


def tmux(environment, folder):
    """A real one, on a terminal: it starts the command itself."""
    text("tmux/intel-gpu.conf")
    server = ["tmux", "-L", f"integration-{os.getpid()}", "-f", FILES / "tmux/intel-gpu.conf"]
    environment = {**environment, "TMUX_TMPDIR": str(folder), "TERM": "xterm"}
    terminal, other_end = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 24, 160, 0, 0))
    client = subprocess.Popen([*server, "new-session", "cat"], env=environment, stdin=other_end, stdout=other_end, stderr=other_end, start_new_session=True)
    os.close(other_end)
    screen = ""

    def shown():
        nonlocal screen
        if select.select([terminal], [], [], 0.2)[0]:
            screen += os.read(terminal, 65536).decode(errors="replace")
        return re.search(r"GPU [\d.]+% [\d.]+W", screen)

    try:
        wait_for(shown, lambda: f"tmux shows the GPU: {screen[-500:]}")
    finally:
        subprocess.run([*server, "kill-server"], env=environment, capture_output=True)
        client.wait(60)
        os.close(terminal)


def beszel(environment, machine):
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read_string(re.sub(r"^Environment=(\w+)=", r"\1=", text("beszel/intel-gpu.conf"), flags=re.M))
    service = unit["Service"]
    check(service["PATH"].startswith("/usr/lib/intel-gpu-exporter/bin:") and "/usr/bin" in service["PATH"].split(":"), f"beszel: {service['PATH']}")
    check(service["GPU_COLLECTOR"] == "intel_gpu_top" and "CAP_PERFMON" in service["AmbientCapabilities"], f"beszel: {dict(service)}")
    # Headers begin with Freq and req, columns of an engine come in threes at the end, the first row is skipped.
    output, error = until(lambda output: output.count("\n") >= 4, "intel_gpu_top -s 300 -l", environment)
    lines = [line.split() for line in output.splitlines()]
    titles, columns, *rows = lines
    check(titles[0] == "Freq" and columns[0] == "req", f"beszel: {output[:300]}{error}")
    engines = [re.sub(r"[\d/]", "", title) for title in titles if re.match(r"(RCS|BCS|VCS|VECS|CCS)", title)]
    rows = [row for row in rows if row[0] not in ("Freq", "req")][1:]
    check(rows and engines and all(len(row) == len(columns) for row in rows), f"beszel: {output[:500]}")
    if machine != "asleep":
        busy = {engine: float(value) for engine, value in zip(engines, rows[-1][-3 * len(engines)::3])}
        check("VCS" in busy and any(busy.values()) and all(0 <= value <= 100 for value in busy.values()), f"beszel: {busy}")

    text("beszel/nvtop")
    output, error = until(lambda output: len(snapshots(output)) >= 2, f"{FILES}/beszel/nvtop -lP -d 30", environment)
    found = snapshots(output)
    check(len(found) >= 2 and not error, f"beszel: nvtop: {len(found)} snapshots; {error}")
    for gpu in found[-1] if found else ():
        units = {"temp": r"\d+C", "power_draw": r"\d+W", "gpu_util": r"\d+%", "mem_total": r"\d+", "mem_used": r"\d+"}
        check(gpu["device_name"] and all(gpu[key] is None or re.fullmatch(unit, gpu[key]) for key, unit in units.items()), f"beszel: nvtop: {gpu}")


def frigate(environment, machine):
    instructions = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", text("frigate/Containerfile"), flags=re.M)).splitlines()
    check([line.split()[0] for line in instructions] == ["ARG", "FROM", "COPY", "RUN", "ENV"], f"frigate: {instructions}")
    check("/usr/lib/intel-gpu-exporter/bin/intel_gpu_top" in instructions[3], f"frigate: {instructions[3]}")
    layout = dict([instructions[4].split()[1].split("=")])
    # It takes whatever is there after half a second (here ten times that), and accepts no other exit status than 124.
    ran = subprocess.run(["timeout", "5s", "intel_gpu_top", "-J", "-o", "-", "-s", "60000"], env={**environment, **layout}, capture_output=True, text=True)
    check(ran.returncode == 124, f"frigate: exit status {ran.returncode}: {ran.stderr}")
    if machine != "asleep":
        record, = json.loads("[" + "".join(ran.stdout.split()) + "]")
        check({"Render/3D/0", "Video/0"} <= set(record["engines"]) and 0 <= record["rc6"]["value"] <= 100, f"frigate: {list(record['engines'])}")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for program in ("intel-gpu-exporter", "intel_gpu_top"):
            (folder / program).symlink_to(BINARY)
        for machine in MACHINES:
            environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "INTEL_GPU_EXPORTER_SIMULATE": machine}
            waybar(environment, machine)
            i3status_rust(environment, machine)
            beszel(environment, machine)
            frigate(environment, machine)
            if machine == "arc-a770":
                tmux(environment, folder)
    finish(f"{len(checked)} files, ")


if __name__ == "__main__":
    main()
