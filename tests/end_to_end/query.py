#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`query` as scripts call it: every field, the formats, loops, and xpu-smi's way of asking."""
import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support.exporter_under_test import check, finish  # noqa: E402

binary = sys.argv[1]
PROFILES = ["tgl-broadcast", "arc-a770", "battlemage", "rack", "locked", "asleep"]


def query(*arguments, command="query", **how):
    """Standard output, standard error, exit status."""
    ran = subprocess.run([binary, command, *arguments], capture_output=True, text=True, timeout=120, **how)
    return ran.stdout, ran.stderr, ran.returncode


def cells(text):
    return list(csv.reader(io.StringIO(text), skipinitialspace=True))


def listed():
    """Every field of --list on every machine: a value where it says that it can be read, [N/A] and null elsewhere."""
    for profile in PROFILES:
        out, err, status = query(f"--simulate={profile}", "--list", "--json")
        check(status == 0, f"{profile}: --list: {status} {err}")
        fields = json.loads(out)
        names = [field["field"] for field in fields]
        out, err, status = query(f"--simulate={profile}", "--fields", ",".join(names))
        check(status == 0, f"{profile}: all fields: {status} {err}")
        header, *rows = cells(out)
        check([re.sub(r" \[.*\]$", "", cell) for cell in header] == names, f"{profile}: the header {header}")
        values = json.loads(query(f"--simulate={profile}", "--fields", ",".join(names), "--format=json")[0])
        check(len(rows) == len(values) == len(fields[0]["gpus"]), f"{profile}: a line for each GPU: {len(rows)}")
        for field, column in zip(fields, zip(*rows)):
            for gpu, cell, value in zip(field["gpus"], column, values):
                known = gpu["readable"]
                check((cell != "[N/A]") == known, f"{profile}: {field['field']} is {cell}, readable {known}")
                check((value[field["field"]] is not None) == known, f"{profile}: {field['field']} in JSON")
                check(known or gpu["cause"], f"{profile}: why {field['field']} cannot be read")
        text = query(f"--simulate={profile}", "--list")[0]
        check([line.split()[0] for line in text.splitlines()[1:] if line[0] != " "] == names, f"{profile}: --list as text")


def alone():
    """On a card with all rights, and without any on a machine with two GPUs."""
    for profile, gpus in (("arc-a770", 1), ("locked", 2)):
        for field in [field["field"] for field in json.loads(query(f"--simulate={profile}", "--list", "--json")[0])]:
            out, err, status = query(f"--simulate={profile}", "--scrape.min-window=1ms", "--fields", field, "--format=csv,noheader,nounits")
            check(status == 0 and out.count("\n") == gpus and all(out.splitlines()), f"{profile}: {field} alone: {status} {out} {err}")


def loops():
    out, err, status = query("--simulate=arc-a770", "--fields=power", "--loop=50ms", "--count=3")
    check(status == 0 and len(out.splitlines()) == 4 and err == "", f"one header, three readings: {out} {err}")
    out, _, _ = query("--simulate=rack", "--fields=index,power", "--format=json", "--loop-ms=50", "-c", "2")
    check([len(json.loads(line)) for line in out.splitlines()] == [3, 3], f"a line of JSON for each reading: {out}")
    ran = subprocess.Popen([binary, "query", "--simulate=arc-a770", "--fields=power", "--loop=1h"], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE)
    ran.stdout.readline()
    ran.stdout.close()
    check(ran.wait(60) == 0 and ran.stderr.read() == b"", "a reader that has enough ends the loop")
    ran.stderr.close()


def chosen():
    out, _, _ = query("--simulate=rack", "--fields=index,address", "--format=csv,noheader", "--id=2,0000:00:02.0")
    check(cells(out) == [["1", "0000:00:02.0"], ["2", "0000:03:00.0"]], f"--id: {out}")
    out, _, _ = query("--simulate=rack", "--gpu=card2", "--fields=address", "--format=csv,noheader")
    check(out == "0000:03:00.0\n", f"--gpu: {out}")
    for arguments in (["--id=7"], ["--gpu=card9"]):
        out, err, status = query("--simulate=rack", "--fields=name", *arguments)
        check(status == 1 and out == "" and err.count("\n") == 1, f"{arguments}: {status} {err}")


def without_fields():
    """JSON and CSV have what the table has."""
    columns = ["gpu.index", "gpu.name", "gpu.suspended", "engine.busy", "frequency.actual", "power.mean", "temperature.value",
               "memory.used", "memory.size", "throttling.reasons"]
    for flag in ("--json", "--format=json"):
        out, err, status = query("--simulate=rack", flag)
        check(status == 0 and [list(gpu) for gpu in json.loads(out)] == [columns] * 3, f"{flag}: {status} {out} {err}")
    out, _, status = query("--simulate=rack", "--format=csv,noheader")
    check(status == 0 and [len(row) for row in cells(out)] == [len(columns)] * 3, f"csv: {out}")


def xpu_smi():
    out, err, status = query("--simulate=arc-a770", "--query-gpu=timestamp,name,pci.bus_id,power.draw,fan.speed", "--format=csv")
    header, row = cells(out)
    check(header == ["timestamp", "name", "pci.bus_id", "power.draw (W)", "fan.speed (%)"], f"xpu-smi's header: {header} {err}")
    check(re.fullmatch(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3}", row[0]), f"its time: {row[0]}")
    check(row[1:3] == ["DG2 [Arc A770]", "0000:03:00.0"] and re.fullmatch(r"\d+\.\d\d", row[3]), f"its values: {row}")
    check(row[4] == "N/A", f"no percent of a fan: {row}")
    names, _, status = query("--query-gpu=")
    check(status == 0 and "power.draw (W)\n" in names, f"without fields, their list: {names[:80]}")
    every = ",".join(line.split(" ")[0] for line in names.splitlines())
    header, row = cells(query("--simulate=arc-a770", f"--query-gpu={every}", "--format=csv,nounits")[0])
    check(",".join(header) == every and len(row) == len(header), f"all of them: {header}")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "out.csv")
        target.write_text("x" * 1000)
        out, _, status = query("--simulate=arc-a770", "--query-gpu=name", "--format=csv,noheader", "-f", str(target))
        check(status == 0 and out == "" and target.read_text() == "DG2 [Arc A770]\n", f"-f: {target.read_text()}")


def without_gpu():
    """Every form says what is not there, and fails."""
    with tempfile.TemporaryDirectory() as folder:
        for part in ("class/drm", "bus/pci/devices"):
            Path(folder, part).mkdir(parents=True)
        for arguments in ([], ["--fields=name"], ["--query-gpu=name"], ["--list"], ["--list", "--json"]):
            out, err, status = query(f"--path.sysfs={folder}", *arguments)
            check(status == 1 and "No Intel GPU found" in out + err, f"{arguments} without a GPU: {status} {out[:200]} {err}")
        check(json.loads(out)[0]["field"] == "gpu.index", f"--list has the fields: {out[:200]}")


def refused():
    for arguments, text in ((["--fields=powr.mean"], "did you mean power.mean?"), (["--fields=" + "x" * 10000], "there is no field"),
                            (["--query-gpu=power.drwa"], "did you mean power.draw?"), (["--fields=name", "--format=xml"], "none of"),
                            (["--fields=name", "--loop=0"], "too short"),
                            (["--fields=name", "--loop=1e9"], "not a duration"), (["--fields=name", "--list"], "not two")):
        out, err, status = query("--simulate=arc-a770", *arguments)
        check(status == 2 and out == "" and text in err and err.count("\n") == 1, f"{arguments[0][:40]}: {status} {err[:200]}")
    with open("/dev/full", "w") as full:
        ran = subprocess.run([binary, "query", "--simulate=arc-a770"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    check(ran.returncode == 1 and "No space left" in ran.stderr and ran.stderr.count("\n") == 1, f"a full disk: {ran}")
    read, write = os.pipe()
    os.close(read)
    ran = subprocess.run([binary, "query", "--simulate=arc-a770"], stdout=write, stderr=subprocess.PIPE, timeout=60)
    os.close(write)
    check(ran.returncode == 0 and ran.stderr == b"", f"a pipe that was closed before: {ran}")


for part in (listed, alone, loops, chosen, without_fields, xpu_smi, without_gpu, refused):
    part()
finish("query: ")
