#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`stats` for pipes: each output format is read by an independent reader and compared with another format."""
import collections
import csv
import io
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import jsonschema

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support.exporter_under_test import check, finish  # noqa: E402

binary, source = sys.argv[1], Path(sys.argv[2])
PROFILES = ["tgl-broadcast", "arc-a770", "battlemage", "rack", "locked", "asleep"]
TITLES = {"render": "Render/3D", "copy": "Blitter", "video": "Video", "video_enhance": "VideoEnhance", "compute": "Compute"}


def stats(*arguments, **how):
    """Standard output, standard error, exit status."""
    ran = subprocess.run([binary, "stats", *arguments], capture_output=True, text=True, timeout=120, **how)
    return ran.stdout, ran.stderr, ran.returncode


def stream(profile, form, count=3):
    out, err, status = stats(f"--simulate={profile}", f"--format={form}", "--interval=200ms", f"--count={count}")
    check(status == 0, f"{profile}: {form} exits with {status}: {err}")
    return out, err


def json_lines():
    schema = json.loads((source / "docs/stats.schema.json").read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    for profile in [*PROFILES, "npu"]:
        out, _ = stream(profile, "json")
        lines = out.splitlines()
        check(len(lines) == 3, f"{profile}: three JSON lines: {len(lines)}")
        for line in lines:
            for error in validator.iter_errors(json.loads(line)):
                check(False, f"{profile}: {error.message[:300]}")
    whole = json.loads(lines[0])
    for wrong in ({**whole, "version": 2}, {k: v for k, v in whole.items() if k != "version"}, {**whole, "more": 1},
                  {**whole, "gpus": [{"device": "card1", "metrics": {}}]},
                  {**whole, "metrics": {"intel_gpu_exporter_devices": [{"value": "1"}]}}):
        check(not validator.is_valid(wrong), f"the schema rejects {str(wrong)[:80]}")
    plain, err, _ = stats("--simulate=rack", "--json", "--interval=100ms", "--count=2")
    check(list(json.loads(plain.splitlines()[0])) == ["version", "time", "gpus", "metrics"], "--json is --format json")
    check(err.startswith("2 readings in "), f"with its summary: {err[:100]}")


def csv_rows():
    for profile in PROFILES:
        rows = list(csv.reader(io.StringIO(stream(profile, "csv")[0])))
        header, rows = rows[0], rows[1:]
        check(header[:2] == ["time", "device"] and len(set(header)) == len(header), f"{profile}: CSV header {header[:3]}")
        check(len(rows) % 3 == 0 and rows, f"{profile}: a row for each GPU and reading: {len(rows)}")
        for row in rows:
            check(len(row) == len(header), f"{profile}: every row has every column")
            check(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", row[0]), f"{profile}: time {row[0]}")
            for name, cell in zip(header[2:], row[2:]):
                if cell and "_ratio" in name:
                    check(0 <= float(cell) <= 1, f"{profile}: {name} is {cell}")
        if profile == "battlemage":  # whose engine time changes its source while the stream runs
            video = header.index("intel_gpu_engine_busy_ratio{class=video}")
            check(all(row[video] for row in rows), f"xe: the video class in every row: {[row[video] for row in rows]}")
        if profile == "tgl-broadcast":
            interrupts = header.index("intel_gpu_interrupts_per_second")
            check(all(float(row[interrupts]) > 0 for row in rows), "interrupts per second")


def intel_gpu_top():
    # What the original printed on an Arc A380 (tests/captures), and its layout: tabs, six decimals, an array.
    captured = (source / "tests/captures/intel_gpu_top/json-2025-dg2-a380-open-array.txt").read_text()
    layout = re.sub(r" {8}", "\t", captured[captured.index("[\n"):])
    without_numbers = lambda text: re.sub(r"\d+\.\d{6}", "N", text)  # noqa: E731
    out, _ = stream("arc-a770", "intel_gpu_top")
    check(without_numbers(out).startswith(without_numbers(layout).rstrip()), f"the layout of igt 2.x:\n{out[:1500]}")
    for profile in PROFILES:
        out, _ = stream(profile, "intel_gpu_top")
        check(out.startswith("[\n\n{\n") and out.endswith("\n}]\n") and out.count("\n},\n{\n") == 2, f"{profile}: framing")
        records = json.loads(out, object_pairs_hook=collections.OrderedDict)
        check(len(records) == 3, f"{profile}: three records")
        known = ["period", "frequency", "interrupts", "rc6", "power", "imc-bandwidth", "engines", "clients"]
        for record in records:
            check([key for key in known if key in record] == list(record), f"{profile}: keys {list(record)}")
            check(record["period"]["unit"] == "ms" and record["period"]["duration"] > 100, f"{profile}: {record['period']}")
            for name, engine in record["engines"].items():
                check(name in TITLES.values() and list(engine) == ["busy", "sema", "wait", "unit"], f"{profile}: {name}")
                check(0 <= engine["busy"] <= 100, f"{profile}: {name} {engine}")
            for key, client in record.get("clients", {}).items():
                check(int(key) == 2**32 - int(client["pid"]), f"{profile}: client {key} of {client['pid']}")
                for region in client.get("memory", {}).values():
                    check(list(region) == ["total", "shared", "resident", "purgeable", "active"], f"{profile}: {region}")
                for used in client.get("engine-classes", {}).values():
                    check(isinstance(used["busy"], str) and used["unit"] == "%", f"{profile}: {used}")
        later = [client for record in records[1:] for client in record.get("clients", {}).values()]
        check(profile in ("asleep", "locked") or all("engine-classes" in client for client in later), f"{profile}: use by client")
    check("power" in json.loads(stream("tgl-broadcast", "intel_gpu_top")[0])[1], "an integrated GPU has power")
    check("interrupts" not in json.loads(stream("battlemage", "intel_gpu_top")[0])[1], "xe has no interrupts")

    # The same machine in both formats: the mean by class and the clients' sum. The load varies, so ranges must overlap.
    out, _ = stream("battlemage", "intel_gpu_top", 10)
    ours = [record["engines"]["Compute"]["busy"] for record in json.loads(out)]
    clients = [sum(float(client["engine-classes"]["Compute"]["busy"]) for client in record["clients"].values())
               for record in json.loads(out)[1:]]
    lines = [json.loads(line) for line in stream("battlemage", "json", 10)[0].splitlines()]
    page = [[100 * series["value"] for series in line["gpus"][0]["metrics"].get("intel_gpu_engine_busy_ratio", [])
             if series["class"] == "compute"] for line in lines]
    page = [values[0] for values in page if len(values) == 1]
    for what, values in (("engines", ours), ("clients", clients)):
        close = min(values) - 5 < sum(page) / len(page) < max(values) + 5
        check(close, f"{what} of intel_gpu_top {min(values)}..{max(values)} beside {sum(page) / len(page)} of /metrics")
    _, err, status = stats("--simulate=rack", "--gpu=card1", "--gpu=card2", "--format=intel_gpu_top")
    check(status == 2 and "one" in err, f"two GPUs are too many for intel_gpu_top: {err}")


def prometheus():
    """Whole pages for node_exporter's textfile collector: never half a file, never two, readable by others."""
    whole, err, status = stats("--simulate=arc-a770", "--format=prometheus")
    check(status == 0 and err == "", f"prometheus exits with {status}: {err}")
    names = re.findall(r"^# TYPE (\S+) (?:counter|gauge|histogram)$", whole, re.M)
    check(len(names) > 20 and len(set(names)) == len(names), f"each metric once: {len(names)}")
    check(whole.endswith("\n") and re.search(r'^intel_gpu_power_watts\{.*\} \d', whole, re.M), "a page")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "gpu.prom")
        target.write_text("old")
        readers = 0
        ran = subprocess.Popen([binary, "stats", "--simulate=arc-a770", "--format=prometheus", "--interval=20ms", "--count=10",
                                "-o", str(target)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        while ran.poll() is None:
            text = target.read_text()
            check(text == "old" or text.endswith("\n") and "intel_gpu_info" in text, f"half a file: {text[-80:]!r}")
            readers += 1
        check(ran.returncode == 0 and ran.stdout.read() == b"" and readers > 0, f"-o: {ran.returncode}")
        ran.stdout.close()
        names = sorted(os.listdir(folder))
        check(names == ["gpu.prom"] and target.stat().st_mode & 0o777 == 0o644, f"only the file, for every reader: {names}")
        Path(folder, "link").symlink_to("gpu.prom")
        for bad, why in ((str(Path(folder, "link")), "symbolic link"), ("/dev/full", "not a regular file"),
                         (str(Path(folder, "no/gpu.prom")), "No such file"), (folder, "not a regular file")):
            _, err, status = stats("--simulate=arc-a770", "--format=prometheus", "-o", bad)
            check(status == 1 and why in err and err.count("\n") == 1, f"-o {bad}: {status} {err}")
        check(sorted(os.listdir(folder)) == ["gpu.prom", "link"], "nothing is left behind")


def bars():
    for profile in PROFILES:
        out, err = stream(profile, "waybar")
        lines = out.splitlines()
        check(len(lines) == 3, f"{profile}: a line for each reading: {len(lines)}")
        for line in map(json.loads, lines):
            check(isinstance(line["text"], str) and isinstance(line["tooltip"], str), f"{profile}: {line}")
            check(line["class"] in ("unknown", "suspended", "throttled", "high", "busy", "idle"), f"{profile}: {line}")
            check("percentage" not in line or 0 <= line["percentage"] <= 100, f"{profile}: {line}")
            check("&" not in re.sub(r"&(amp|lt|gt|quot|#39);", "", line["tooltip"]), f"{profile}: Pango markup {line}")
    out, err, status = stats("--simulate=rack", "--template", "{address} {engine.video.busy}% {power}W")
    check(status == 0 and len(out.splitlines()) == 3, f"a template is a line for each GPU: {status} {err}")
    for line in out.splitlines():
        check(re.fullmatch(r"0000:\d\d:00\.[02] \d+(\.\d)?% (\d+(\.\d+)?|-)W|0000:00:02.0 .*", line), f"template: {line}")


def nvtop():
    """Beszel's way: GPUs by their place, values without the letters of their units."""
    for profile in PROFILES:
        out, _ = stream(profile, "nvtop", 2)
        decoder, arrays = json.JSONDecoder(), []
        while out.strip():
            array, end = decoder.raw_decode(out.lstrip())
            arrays.append(array)
            out = out.lstrip()[end:]
        check(len(arrays) == 2, f"{profile}: one array after another: {len(arrays)}")
        keys = ["device_name", "gpu_clock", "mem_clock", "temp", "fan_speed", "power_draw", "gpu_util", "encode_decode",
                "mem_util", "mem_total", "mem_used", "mem_free", "processes"]
        for gpu in arrays[-1]:
            check(list(gpu) == keys, f"{profile}: keys {list(gpu)}")
            for key, unit in (("temp", "C"), ("power_draw", "W"), ("gpu_util", "%"), ("mem_total", ""), ("mem_used", "")):
                check(gpu[key] is None or float(gpu[key].rstrip(unit or None)) >= 0, f"{profile}: {key} {gpu[key]}")
    check(json.loads(stats("--simulate=arc-a770", "--format=nvtop")[0])[0]["processes"], "processes of an Arc A770")


def streams():
    _, err, _ = stats("--simulate=arc-a770", "--format=csv", "--interval=250ms", "--count=12")
    check(re.search(r"^12 readings in", err, re.M), f"the summary says how many readings there were: {err[:100]}")
    check(re.search(r"min +mean +max +p95  0000:03:00.0\n", err), f"the summary has a table: {err[:200]}")
    for low, mean, high, p95 in re.findall(r"^ *(\S+) +(\S+) +(\S+) +(\S+)  intel_gpu", err, re.M):
        check(float(low) <= float(mean) <= float(high) and float(low) <= float(p95) <= float(high), f"{low} {mean} {high} {p95}")
    _, err, _ = stats("--simulate=arc-a770", "--format=csv", "--interval=100ms", "--count=2", "--no-summary")
    check(err == "", f"--no-summary: {err[:100]}")

    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "out.csv")
        terminal, other = pty.openpty()
        with open(target, "w") as out:
            ran = subprocess.Popen([binary, "stats", "--simulate=arc-a770", "--format=csv", "--interval=100ms", "--count=4",
                                    "--no-summary"], stdout=out, stderr=other)
            check(ran.wait(60) == 0, "a stream into a file")
        shown = ""  # a terminal passes on what was written a little later, and in pieces
        while "\r4 readings of 4 in" not in shown and select.select([terminal], [], [], 60)[0]:
            shown += os.read(terminal, 65536).decode()
        os.close(other)
        check("\r1 reading of 4 in" in shown and "\r4 readings of 4 in" in shown, f"progress on the terminal: {shown!r}")
        os.close(terminal)
        check(len(target.read_text().splitlines()) == 5, "the file has the header and four rows")
        with open(target, "w") as out:
            err = subprocess.run([binary, "stats", "--simulate=arc-a770", "--format=csv", "--interval=100ms", "--count=3",
                                  "--no-summary"], stdout=out, stderr=subprocess.PIPE, text=True, timeout=60).stderr
        check(err.startswith("1 reading of 3 in") and err.count("\n") == 1 and "\r" not in err, f"progress in a log: {err!r}")

    for number in (signal.SIGINT, signal.SIGTERM):
        ran = subprocess.Popen([binary, "stats", "--simulate=arc-a770", "--format=intel_gpu_top", "--interval=1h"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        first = os.read(ran.stdout.fileno(), 4)
        ran.send_signal(number)
        out, _ = ran.communicate(timeout=60)
        check(ran.returncode == 0, f"{number.name} ends a stream: {ran.returncode}")
        check(len(json.loads(first + out)) == 1, f"{number.name} completes the array")


def pipes():
    # The reader leaves between two readings, an hour apart, and right away.
    for form in ("table", "json", "csv", "prometheus", "intel_gpu_top", "nvtop", "waybar"):
        ran = subprocess.Popen([binary, "stats", "--simulate=arc-a770", f"--format={form}", "--interval=1h"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        ran.stdout.read(1)
        ran.stdout.close()
        check(ran.wait(60) == 0 and ran.stderr.read() == b"", f"{form}: the reader closed the pipe: {ran.returncode}")
        ran.stderr.close()
    read, write = os.pipe()
    os.close(read)
    ran = subprocess.run([binary, "stats", "--simulate=arc-a770"], stdout=write, stderr=subprocess.PIPE, timeout=60)
    os.close(write)
    check(ran.returncode == 0 and ran.stderr == b"", f"a pipe that was closed before: {ran}")
    with open("/dev/full", "w") as full:
        ran = subprocess.run([binary, "stats", "--simulate=arc-a770"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    check(ran.returncode == 1 and ran.stderr.count("\n") == 1 and "No space left" in ran.stderr, f"a full disk: {ran}")


def bad_flags():
    for arguments, allowed in ((["--format=xml"], "table, json, csv, prometheus, intel_gpu_top, nvtop, waybar"), (["--count=0"], "from 1 to"),
                               (["--interval=-1s"], "500ms, 1s, 2m"),
                               (["--simulate=nothing"], "arc-a770"), (["--fromat=csv"], "--format"),
                               (["--json", "--format=csv"], "contradicts --json")):
        out, err, status = stats(*arguments)
        check(status == 2 and out == "" and allowed in err and err.count("\n") == 1, f"{arguments}: {status} {err}")


for part in (json_lines, csv_rows, intel_gpu_top, prometheus, bars, nvtop, streams, pipes, bad_flags):
    part()
finish("stats: ")
