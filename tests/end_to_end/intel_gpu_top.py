#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program started as `intel_gpu_top`: what its callers do with the output, rewritten from what they document, on
simulated i915 and xe machines; its flags, signals, errors and readers that are slow or leave."""
import array
import contextlib
import csv
import fcntl
import io
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support.exporter_under_test import check, finish, wait_for  # noqa: E402

binary, source = sys.argv[1], Path(sys.argv[2])
PROFILES = ["tgl-broadcast", "arc-a770", "battlemage"]  # integrated and card under i915, card under xe
folder = tempfile.TemporaryDirectory()
link = f"{folder.name}/intel_gpu_top"
os.symlink(binary, link)


def environment(profile, older=False, **more):
    known = {name: value for name, value in os.environ.items() if not name.startswith(("INTEL_GPU_EXPORTER_", "IGT_"))}
    return known | ({"INTEL_GPU_EXPORTER_SIMULATE": profile} if profile else {}) | ({"IGT_LAYOUT": "1.27"} if older else {}) | more


def top(profile, *arguments, older=False, program=(link,), **how):
    """Standard output, standard error, exit status."""
    how.setdefault("env", environment(profile, older))
    ran = subprocess.run([*program, *arguments], capture_output=True, text=True, timeout=240, **how)
    return ran.stdout, ran.stderr, ran.returncode


def started(profile, *arguments, older=False, **how):
    how.setdefault("stdout", subprocess.PIPE)
    return subprocess.Popen([link, *arguments], stderr=subprocess.PIPE, env=environment(profile, older), **how)


def within(seconds, period, profile, *arguments, older=False):
    """`timeout SECONDS intel_gpu_top -s PERIOD ...`, with more of both on a machine that is too busy to start the program in
    that time. Its standard output and status."""
    for factor in (1, 4, 16, 64):
        out, _, status = top(profile, "-s", str(period * factor), *arguments, older=older, program=("timeout", f"{seconds * factor}s", link))
        if out.count("}") > 2:
            break
    return out, status


# --- callers ----------------------------------------------------------------------------------------------------------

def frigate():
    """Up to 0.17: half a second, status 124, all white space removed, brackets around it, or a search for what it needs."""
    for profile in PROFILES:
        out, status = within(0.5, 1000, profile, "-J", "-o", "-", older=True)
        check(status == 124, f"Frigate, {profile}: status {status}")
        blocks = json.loads("[" + "".join(out.encode("ascii").decode().split()) + "]")
        check(len(blocks) == 1, f"Frigate, {profile}: one record: {len(blocks)}")
        for block in blocks:
            check(0 <= 100 - block["rc6"]["value"] <= 100, f"Frigate, {profile}: use of the GPU from {block['rc6']}")
            for engine in ("Render/3D/0", "Video/0"):
                check(0 <= float(block["engines"][engine]["busy"]) <= 100, f"Frigate, {profile}: {engine}")
            for client in block["clients"].values():
                used = sum(float(use["busy"]) for use in client["engine-classes"].values())
                check(int(client["pid"]) > 0 and used >= 0, f"Frigate, {profile}: use by {client}")
        packed = "".join(out.split())
        for pattern in (r'"Render/3D/0":({[^}]*})', r'"Video/\d":({[^}]*})', r'"rc6":({[^}]*})'):
            check(all(json.loads(found)["unit"] == "%" for found in re.findall(pattern, packed)), f"Frigate, {profile}: {pattern}")


def beszel():
    """Lines: columns by the two header lines, engines from the right with three columns each, the first row skipped."""
    for profile in PROFILES:
        with started(profile, "-s", "100", "-l") as process:
            lines = [process.stdout.readline().decode() for _ in range(5)]
            process.terminate()
        titles, columns = lines[0].split(), lines[1].split()
        check(titles[0] == "Freq" and columns[:2] == ["req", "act"], f"Beszel, {profile}: {lines[:2]}")
        engines = [title for title in titles if title.rstrip("0123456789/") in ("RCS", "BCS", "VCS", "VECS", "CCS")]
        check(len(engines) >= 4 and len(engines) == len(set(engines)), f"Beszel, {profile}: engines {engines}")
        for row in lines[3:]:
            values = [float(cell) for cell in row.split()]
            check(len(values) == len(columns), f"Beszel, {profile}: a value in each column: {row!r}")
            busy = dict(zip(reversed(engines), values[-3::-3]))
            check(all(0 <= value <= 100 for value in busy.values()), f"Beszel, {profile}: {busy}")
            if "gpu" in columns:
                at = columns.index("gpu")
                check(columns[at + 1] == "pkg" and 0 <= values[at] <= values[at + 1], f"Beszel, {profile}: watts {values[at:at + 2]}")
        check(("gpu" in columns) == (profile == "tgl-broadcast"), f"Beszel, {profile}: power of integrated GPUs only: {columns}")


def netdata():
    """A record starts at a line that is { and ends at a line that begins with }; one without engines is an error."""
    for profile in PROFILES + ["locked", "asleep"]:
        with started(profile, "-J", "-s", "100") as process:
            record, seen = [], 0
            while seen < 2:
                line = process.stdout.readline().decode()
                if not check(line, f"Netdata, {profile}: it ended after {seen} records"):
                    break
                line = line.rstrip("\n")
                if line == "{" or record:
                    record.append(line)
                if line.startswith("}") and record:
                    check(len(record) < 1000, f"Netdata, {profile}: {len(record)} lines")
                    found = json.loads("\n".join(record).rstrip(","))
                    check(found["engines"] and "actual" in found["frequency"], f"Netdata, {profile}: {list(found)}")
                    record, seen = [], seen + 1
            process.terminate()
        check(process.returncode == -signal.SIGTERM, f"Netdata, {profile}: {process.returncode}")


def bars():
    """Arrays of -n through jq, and a single record before a period that never ends."""
    for profile in PROFILES:
        out, err, status = top(profile, "-J", "-n2", "-s100")
        check((status, err) == (0, ""), f"{profile}: -n2: {status} {err}")
        render = subprocess.run(["jq", '.[1].engines["Render/3D"].busy'], input=out, capture_output=True, text=True)
        check(0 <= float(render.stdout) <= 100, f"{profile}: jq: {render}")
        out, status = within(1, -1, profile, "-J")
        kept = [line for line in out.splitlines() if not line.startswith("[")]
        busy = subprocess.run(["jq", '.engines["Render/3D"].busy'], input="\n".join(kept), capture_output=True, text=True)
        check(status == 124 and 0 <= float(busy.stdout) <= 100, f"{profile}: one record through jq: {busy}")
        # As the original since 1.28, what SIGTERM leaves is no whole document; the older layout is one object.
        whole = subprocess.run(["jq", "-e", ".rc6.value"], input=within(1, 1000000, profile, "-J", older=True)[0], capture_output=True, text=True)
        check(whole.returncode == 0, f"{profile}: timeout 1 intel_gpu_top -J | jq: {whole}")
        check(out.splitlines()[:3] == ["[", "", "{"], f"{profile}: the object begins on line 3")
        check(json.loads(out[1:]) and out.endswith("\n}"), f"{profile}: one object behind [, and nothing behind it")


def unraid():
    """Two records; brackets, line ends and tabs removed; the second one."""
    out, _, status = top("arc-a770", "-J", "-s", "100", "-n", "2", "-d", "pci:slot=0000:03:00.0")
    flat = re.sub(r"[\[\]\n\t]", "", out)
    second = json.loads("[" + flat + "]")[1]
    check(status == 0 and "Render/3D" in second["engines"], f"Unraid: {list(second)}")
    regions = [client["memory"]["system"]["total"] for client in second["clients"].values() if "memory" in client]
    check(regions and all(int(total) >= 0 for total in regions), f"Unraid: memory of clients {regions}")


def pve():
    """A card from the list, then that card; both streams in one, with a [ in front."""
    out, _, _ = top("rack", "-L")
    cards = re.findall(r"^(card\d+)\s+(.+?)\s+(pci:\S+)$", out, re.M)
    check(len(cards) >= 2, f"-L lists the cards of the rack:\n{out}")
    for card, _, pci in cards[:2]:
        for device in (f"drm:/dev/dri/{card}", pci):
            text = subprocess.run([link, "-d", device, "-J", "-n", "1"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  env=environment("rack"), text=True, timeout=240).stdout
            check(text.startswith("[") and len(json.loads(text)) == 1, f"PVE: {device}: {text[:100]}")
    text = subprocess.run([link, "-J", "-n", "1"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment("locked"),
                          text=True, timeout=240).stdout
    check(text.startswith("["), f"a note does not get between the records of a caller that merges the streams: {text[:200]}")


def shells():
    script = f'"{link}" -J -o - -s 50 | head -n 20; echo "${{PIPESTATUS[0]}}"'
    ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment("battlemage"), timeout=240)
    lines = ran.stdout.splitlines()
    check(len(lines) == 21 and lines[-1] == "141" and ran.stderr == "", f"| head -n 20: {lines[-2:]} {ran.stderr}")
    for profile in PROFILES:
        out, err, status = top(profile, "-l", "-n", "1")
        check(status == 0 and err == "" and len(out.splitlines()) == 3, f"-l -n 1: {out}{err}")
        check(top(profile, "-l", "-n", "1", stdin=subprocess.DEVNULL)[0].splitlines()[:2] == top(profile, "-o", "-", "-n", "1")[0].splitlines()[:2],
              f"{profile}: -o - alone is -l")
        out, _, status = top(profile, "-c", "-n", "3", "-s", "50")
        rows = list(csv.DictReader(io.StringIO(out)))
        check(status == 0 and len(rows) == 3 and all(float(cell) >= 0 for row in rows for cell in row.values()), f"{profile}: -c: {out}")
        check({"Freq MHz req", "RC6 %", "RCS %", "VCS se"} <= set(rows[0]) and " ," not in out, f"{profile}: {list(rows[0])}")


# --- the program itself -----------------------------------------------------------------------------------------------

def layouts():
    captures = source / "tests/captures/intel_gpu_top"
    theirs = re.sub(r" {8}", "\t", (captures / "json-2025-dg2-a380-open-array.txt").read_text())
    without_numbers = lambda text: re.sub(r"\d+\.\d{6}", "N", text)  # noqa: E731
    out, _, _ = top("arc-a770", "-J", "-n", "2", "-s", "100")
    check(without_numbers(out).startswith(without_numbers(theirs[theirs.index("[\n"):]).rstrip()), f"the layout of igt 2.x:\n{out[:1500]}")
    older = without_numbers((captures / "json-2022-imc-two-samples.json").read_text())
    names = lambda text: re.findall(r'^\t"([a-z0-9-]+)": {|^\t\t"([^"]+)": {', text, re.M)  # noqa: E731
    process = started("tgl-broadcast", "-J", "-s", "50", older=True)
    text = process.stdout.read(20_000).decode()
    process.terminate()
    process.communicate()
    first = text[:text.index("\n}")]
    check(text.startswith("\n{\n\t\"period\": {\n\t\t\"duration\": ") and "\n},\n{\n" in text, f"the layout of igt 1.27:\n{text[:300]}")
    expected = [name for name in names(older[:older.index("\n}")]) if name != ("imc-bandwidth", "")]
    ours = [name for name in names(first[:first.index('"clients"')]) if name != ("imc-bandwidth", "")]
    check(ours == [*expected, *[name for name in ours if name not in expected]][:len(ours)] and ("", "Video/1") in ours,
          f"names and order of igt 1.27: {ours}, {expected}")
    physical = json.loads(top("arc-a770", "-J", "-p", "-n1")[0])[0]["engines"]
    check({"Render/3D/0", "Video/0", "Video/1"} <= set(physical), f"-p: {list(physical)}")
    table, _, _ = top("arc-a770", "-l", "-p", "-n1")
    check(" VCS/1 " in table.splitlines()[0], f"-l -p: {table}")
    check(top("arc-a770", "-J", "-n1", older=True)[2] == 1, "igt 1.27 has no -n")
    check(top("", "-J", env=environment("arc-a770", IGT_LAYOUT="latest"))[2] == 1, "another layout is an error")
    # By its name, and as a command.
    ours = top("arc-a770", "-l", "-n1", program=(binary, "intel_gpu_top"))
    check(ours[2] == 0 and ours[0].splitlines()[:2] == top("arc-a770", "-l", "-n1")[0].splitlines()[:2], f"as a command: {ours}")


def on_a_terminal():
    """Without -J, -c and -l it opens `top`."""
    master, slave = pty.openpty()
    with subprocess.Popen([link], stdin=slave, stdout=slave, stderr=subprocess.PIPE, env=environment("battlemage", TERM="xterm")) as process:
        os.close(slave)
        shown = b""
        while b"battlemage" not in shown:
            shown += os.read(master, 4096)
        os.write(master, b"q")
        with contextlib.suppress(OSError):  # the terminal has no other side any more
            while os.read(master, 4096):
                pass
        check(process.wait(120) == 0, f"q ends top: {process.returncode} {process.stderr.read()}")
    os.close(master)


def first_record():
    """It has what the later ones have: the use of clients, and a window that is not empty."""
    for profile in PROFILES:
        record = json.loads(top(profile, "-J", "-n", "1", "-s", "4000000")[0])[0]
        check(0 < record["period"]["duration"] < 240_000, f"{profile}: {record['period']}")
        check(all("engine-classes" in client for client in record["clients"].values()) and record["clients"],
              f"{profile}: the first record has the use of clients")
        check(record["frequency"]["unit"] == "MHz" and ("interrupts" in record) == (profile != "battlemage"), f"{profile}: {list(record)}")


def without_rights():
    out, err, status = top("locked", "-J", "-n", "2", "-s", "50")
    records = json.loads(out)
    check(status == 0 and len(records) == 2 and set(records[0]["engines"]) >= {"Render/3D", "Video"}, f"without rights: {out[:300]}")
    check(err.startswith("intel_gpu_top: ") and all(line.startswith("intel_gpu_top: ") for line in err.splitlines()), f"the note: {err}")
    check(len(err.splitlines()) == len(set(err.splitlines())), f"several features lack the same right, which is said once: {err}")


def signals():
    for number, status, end in ((signal.SIGINT, 0, b"\n}]\n"), (signal.SIGTERM, -signal.SIGTERM, b"\n}")):
        process = started("battlemage", "-J", "-s", "3600000")
        text = b""
        while not text.endswith(b"\n}"):
            chunk = os.read(process.stdout.fileno(), 65536)
            if not check(chunk, f"{number.name}: it ended before the signal: {text}"):
                break
            text += chunk
        process.send_signal(number)
        rest, err = process.communicate(timeout=120)
        check((process.returncode, err) == (status, b"") and (text + rest).endswith(end), f"{number.name}: {process.returncode} {rest} {err}")
    # A shell starts what it runs in the background with SIGINT ignored.
    process = started("battlemage", "-J", "-s", "3600000", preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    os.read(process.stdout.fileno(), 1)
    process.send_signal(signal.SIGINT)
    check(len(json.loads(b"[" + process.communicate(timeout=120)[0])) == 1 and process.returncode == 0, "SIGINT, ignored before")


def readers():
    def unread(pipe):
        count = array.array("i", [0])
        fcntl.ioctl(pipe, termios.FIONREAD, count)
        return count[0]

    # Nobody reads: the pipe fills, and both signals still end it.
    for number, status in ((signal.SIGINT, 0), (signal.SIGTERM, -signal.SIGTERM)):
        process = started("arc-a770", "-J", "-s", "0")
        wait_for(lambda: unread(process.stdout.fileno()) > 60_000, "the pipe is full")
        process.send_signal(number)
        check(process.wait(120) == status, f"{number.name} before a reader that does not read: {process.returncode}")
        process.stdout.close()
        process.stderr.close()
    # The reader leaves while the program waits for an hour.
    process = started("arc-a770", "-J", "-s", "3600000")
    process.stdout.read(1)
    process.stdout.close()
    check(process.wait(120) == -signal.SIGPIPE and process.stderr.read() == b"", f"the reader left: {process.returncode}")
    process.stderr.close()
    process = started("arc-a770", "-J", preexec_fn=lambda: os.close(1), stdout=None)
    check(process.wait(120) == 1 and b"standard output" in process.stderr.read(), f"standard output is closed: {process.returncode}")
    process.stderr.close()
    with open("/dev/full", "w") as full:
        process = started("arc-a770", "-l", stdout=full)
        _, err = process.communicate(timeout=120)
    check(process.returncode == 1 and b"No space left" in err and err.count(b"\n") == 1, f"a full disk: {err}")


def files():
    target = Path(folder.name, "out.json")
    out, _, status = top("arc-a770", "-J", "-n", "2", "-s", "50", "-o", str(target))
    check(status == 0 and out == "[\n]\n", f"-o: the brackets are on standard output, as in the original: {out!r}")
    check(len(json.loads("[" + target.read_text() + "]")) == 2, "-o: the records are in the file")
    target.write_text("older and longer\n" * 1000)
    top("arc-a770", "-n", "1", "-o", str(target))
    check(len(target.read_text().splitlines()) == 3, "-o alone: lines of text, in place of what the file had")
    _, err, status = top("arc-a770", "-J", "-o", f"{folder.name}/none/out")
    check((status, err) == (1, "Failed to open output file - 'No such file or directory'!\n"), f"no folder: {err}")


def unplugged():
    """The device goes away in the middle: records say nothing of it, the stream goes on, and it is there again when it returns."""
    sys_root = Path(folder.name, "plugged")
    device = sys_root / "devices/pci0000:00/0000:00:02.0"
    driver = sys_root / "bus/pci/drivers/i915"
    driver.mkdir(parents=True)
    links = sys_root / "class/drm"

    def plug():
        (device / "drm/renderD128").mkdir(parents=True)
        (device / "drm/card0").mkdir()
        for name, text in {"vendor": "0x8086", "device": "0x9a49", "drm/card0/gt_act_freq_mhz": "1100", "drm/card0/gt_cur_freq_mhz": "1200"}.items():
            (device / name).write_text(text + "\n")
        os.symlink(driver, device / "driver")
        links.mkdir(parents=True, exist_ok=True)
        for node in ("card0", "renderD128"):
            os.symlink(f"../../devices/pci0000:00/0000:00:02.0/drm/{node}", links / node)

    def unplug():
        shutil.rmtree(links)
        links.mkdir()
        shutil.rmtree(device)

    plug()
    process = subprocess.Popen([link, "-J", "-s", "50"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                               env=environment("", INTEL_GPU_EXPORTER_PATH_SYSFS=str(sys_root)))

    def record_until(wanted):
        text = ""
        for line in process.stdout:
            text += line if line not in ("[\n", "\n") else ""
            if line.startswith("}"):
                record, text = json.loads(text.rstrip(",\n")), ""
                if wanted(record):
                    return record
        return {}

    check(record_until(lambda record: True)["frequency"]["actual"] == 1100, "the GPU is there")
    unplug()
    gone = record_until(lambda record: "frequency" not in record)
    check(list(gone) == ["period", "engines"] and gone["engines"] == {}, f"the record says nothing of a GPU that went away: {gone}")
    plug()
    check(record_until(lambda record: "frequency" in record).get("frequency", {}).get("requested") == 1200, "it is back")
    process.send_signal(signal.SIGINT)
    check(process.stdout.read().endswith("]\n") and process.wait(120) == 0, f"and the stream ends as ever: {process.returncode}")
    process.stdout.close()


def bad_input():
    missing = "No device filter specified and no discrete/integrated i915 devices found\n"
    empty = environment("", INTEL_GPU_EXPORTER_PATH_SYSFS=f"{folder.name}/sys")
    os.makedirs(f"{folder.name}/sys")
    for arguments, expected in ((["-J"], ("", missing, 1)), (["-L", "-J"], ("No GPU devices found\n", "", 0)),
                                (["-d", "drm:/dev/dri/card0"], ("", "Requested device drm:/dev/dri/card0 not found!\n", 1))):
        check(top("", *arguments, env=empty) == expected, f"without a GPU, {arguments}: {top('', *arguments, env=empty)}")
    for arguments in (["-x"], ["-s"], ["--version"]):
        out, err, status = top("arc-a770", *arguments)
        check(status == 1 and out.startswith("usage: ") and "Invalid option" in err, f"{arguments}: {status} {err}")
    check(top("arc-a770", "-h")[::2] == (top("arc-a770", "-x")[0], 0), "-h prints the usage")
    _, err, status = top("arc-a770", "-J", "-d", "x" * 10_000)
    check(status == 1 and len(err) < 2000, f"a filter of 10 kB: {len(err)} bytes")
    for profile in ("arc-a770", "locked"):
        for period in ("0", "-1", "1e9", "soon", "16"):
            out, err, status = top(profile, "-J", "-n", "1", "-s", period)
            check(status == 0 and len(json.loads(out)) == 1, f"{profile}, -s {period}: {status} {err}")
        _, err, status = top(profile, "-n1", "-o", "/dev/full")
        check(status == 1 and "No space left" in err, f"{profile}, -o /dev/full: {status} {err}")
    check(len(json.loads(top("arc-a770", "-J", "-n", "20", "-s", "0")[0])) == 20, "-s 0: one record behind the other")
    out, _, status = top("rack", "-l", "-n1", env=environment("rack", INTEL_GPU_EXPORTER_GPU="card1"))
    check(status == 0 and out, "the environment's choice of a GPU holds without -d")


for part in (frigate, beszel, netdata, bars, unraid, pve, shells, layouts, on_a_terminal, first_record, without_rights, signals, readers, files, unplugged, bad_input):
    part()
finish("intel_gpu_top: ")
