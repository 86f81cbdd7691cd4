# SPDX-License-Identifier: Apache-2.0
"""Compared with Debian's intel_gpu_top, which reads the same PMU independently: the page, `stats --format intel_gpu_top`,
and the program started by that name."""

import json
import os
import re
import signal
import subprocess

from model import MHZ, apply_machine, machine, script
from vm import BINARY, Exporter, Load, as_user, equal, near, points, verdict, wait_for

ENGINES = {"Render/3D": "rcs", "Blitter": "bcs", "Video": "vcs", "VideoEnhance": "vecs",
           "Compute": "ccs", "[unknown]": "ccs", "unknown": "ccs"}


OUTPUT = "/tmp/intel_gpu_top.json"


def output():
    with open(OUTPUT, errors="replace") as f:
        return f.read()


def records(text):
    """The objects of `intel_gpu_top -J`, whether bare, comma-separated or in an array; a truncated last one is skipped."""
    decoder, at, found = json.JSONDecoder(), 0, []
    while (at := text.find("{", at)) >= 0:
        try:
            record, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError:
            break
        found.append(record)
    return found


def parity(personality):
    gpu = machine(personality)[0]
    s = script(gpu)
    apply_machine()
    s.apply()
    with Exporter(what=f"parity on {personality}") as exporter:
        with open(OUTPUT, "wb") as out:
            top = subprocess.Popen(["intel_gpu_top", "-J", "-s", "1000"], stdout=out, stderr=out)
        speaks = wait_for(lambda: len(records(output())) >= 2, 120)
        exporter.scrape()
        _, page = exporter.window(seconds=2.5)
        top.send_signal(signal.SIGINT)
        top.wait()
        text = output()
    found = records(text)
    if not verdict(speaks and len(found) >= 3, f"{personality}: intel_gpu_top speaks", text[:200], "at least three records"):
        return
    found = found[1:]  # the first covers a few milliseconds

    def mean(*path):
        values = []
        for record in found:
            value = record
            for key in path:
                value = value[key]
            values.append(float(value))
        return sum(values) / len(values)

    d = {"device": gpu.address}
    for name in found[0]["engines"]:
        label, instance = re.fullmatch(r"(.*?)(?:/(\d+))?", name).groups("")
        prefix = ENGINES.get(label)
        if not verdict(prefix is not None, f"{personality}: engine {name} of intel_gpu_top is known", name, "a class"):
            continue
        for what in ("busy", "wait", "sema"):
            ours = [v for l, v in page.all(f"intel_gpu_engine_{what}_ratio", **d)
                    if l["engine"] == prefix + instance or (not instance and l["engine"].rstrip("0123456789") == prefix)]
            ours = sum(ours) / len(ours) if ours else None
            near(f"{personality} {name}: {what} beside intel_gpu_top", ours and ours * 100,
                 mean("engines", name, what), relative=0, absolute=2)
    for kind in ("actual", "requested"):
        near(f"{personality}: {kind} MHz beside intel_gpu_top",
             (page.get("intel_gpu_frequency_average_hertz", kind=kind, gt="0", **d) or 0) / MHZ,
             mean("frequency", kind), relative=0, absolute=2)
    near(f"{personality}: RC6 beside intel_gpu_top",
         100 * (page.get("intel_gpu_rc6_residency_ratio", gt="0", **d) or -1), mean("rc6", "value"),
         relative=0, absolute=1)
    if "power" in found[0]:
        for key, domain in (("GPU", "gpu"), ("Package", "package")):
            near(f"{personality}: {domain} watts beside intel_gpu_top",
                 page.get("intel_gpu_power_watts", domain=domain, **d), mean("power", key), relative=0.02)
    else:
        verdict(gpu.kind == "discrete", f"{personality}: intel_gpu_top shows power", "none", "GPU and Package")


def keys(value):
    """The shape of a record: names, and the unit at each level. Client ids are those of the same processes."""
    if not isinstance(value, dict):
        return value if isinstance(value, str) and not re.match(r"-?[0-9]", value) else type(value).__name__
    return {key: keys(inner) for key, inner in value.items()}


CLASS_NAMES = {"[unknown]": "Compute"}  # igt 1.27 knows no compute engines by name


def as_later_versions(record, pid):
    """A record of igt 1.27 as 1.28 prints it: the mean of each class of engines, and a client's use of the time that passed
    instead of the nominal period. Only the client that both see: each tool lists the other one or does not."""
    client = record["clients"].get(str(2**32 - pid), {})
    if "memory" not in client:
        used = {CLASS_NAMES.get(name, name): use for name, use in client.get("engine-classes", {}).items()}
        for use in used.values():
            use["busy"] = str(float(use["busy"]) * 1000 / record["period"]["duration"])
        client["engine-classes"] = used
    record["clients"] = {"ffmpeg": client}
    classes = {}
    for name, engine in record["engines"].items():
        classes.setdefault(CLASS_NAMES.get(re.sub(r"/[0-9]+$", "", name), re.sub(r"/[0-9]+$", "", name)), []).append(engine)
    record["engines"] = {name: {key: sum(e[key] for e in members) / len(members) if key != "unit" else "%"
                                for key in members[0]} for name, members in classes.items()}
    return record


def leaves(record, path=()):
    for key, value in record.items():
        if isinstance(value, dict):
            yield from leaves(value, (*path, key))
        elif key not in ("unit", "name", "pid"):
            yield (*path, key), float(value)


def means(found):
    values = {}
    for record in found:
        for path, value in leaves(record):
            values.setdefault(path, []).append(value)
    return {path: sum(all_of) / len(all_of) for path, all_of in values.items()}


def beside(commands, environment=None):
    """Runs programs at the same time until each has printed four records, and ends them by SIGINT. What each printed, and its
    status."""
    paths = {who: f"/tmp/{who}.json" for who in commands}
    read = lambda who: open(paths[who], errors="replace").read()  # noqa: E731
    running = {}
    for who, command in commands.items():
        with open(paths[who], "wb") as out:
            running[who] = subprocess.Popen(command, stdout=out, env={**os.environ, **(environment or {})})
    wait_for(lambda: all(len(records(read(who))) >= 4 for who in commands), 60)
    codes = {}
    for who, program in running.items():
        program.send_signal(signal.SIGINT)
        codes[who] = program.wait()
    return {who: read(who) for who in commands}, codes


def without_traffic(gpu, *of):
    """Not in igt 1.27: uncore counters of newer processors, which no version reads. And the original shows them for a card in a
    machine without an integrated GPU as well."""
    if gpu.kind == "discrete" or "imc-bandwidth" not in of[0][0]:
        for record in (record for found in of for record in found):
            record.pop("imc-bandwidth", None)


def compare(name, s, theirs, ours):
    """The means of two programs' records of the same time."""
    theirs, ours = means(theirs), means(ours)
    for path, expected in theirs.items():
        if path[0] == "period":  # each tool's own
            continue
        if path[0] in ("frequency", "rc6") and len(s.gts) > 1:
            # igt 1.27 shows the first GT only; later versions the mean over all of them.
            if path[0] == "rc6":
                expected = sum(gt["rc6"] for gt in s.gts) / len(s.gts)
            else:
                key = {"actual": "act", "requested": "req"}[path[1]]
                expected = sum(gt[key] * gt["awake"] / 100 for gt in s.gts) / len(s.gts)
        # Percentages: one point; the rest: one percent. Both print numbers of six digits.
        slack = 0.01 * expected if path[0] in ("frequency", "interrupts", "power", "imc-bandwidth") else 1
        if path[0] == "clients":  # of which the original divides by a time that a busy machine does not keep
            slack = 3
        near(f"{name}: {' '.join(path)}", ours.get(path), expected, relative=0, absolute=slack)


def same_format(personality):
    """`stats --format intel_gpu_top` beside the original, at the same time, read by the same parser."""
    gpu = machine(personality)[0]
    s = script(gpu)
    apply_machine()
    s.apply()
    name = f"{personality}: stats --format intel_gpu_top"
    with Load("render=30 video=25 mem=512M", "--name", "ffmpeg") as load:
        text, codes = beside({"theirs": ["intel_gpu_top", "-J", "-s", "1000"],
                              "ours": [BINARY, "stats", "--format=intel_gpu_top", "--interval=1s", "--no-summary"]})
    found = {who: records(text[who]) for who in text}
    verdict(all(len(of) >= 4 for of in found.values()), f"{name} and the original print records",
            {who: text[who][:200] for who in text}, "four records each")
    equal(f"{name} ends on SIGINT as the original", codes, {"theirs": 0, "ours": 0})
    equal(f"{name} is one JSON array", len(json.loads(text["ours"])), len(found["ours"]))
    # The first record of the original covers a few milliseconds, and a client's use needs two readings.
    theirs, ours = ([as_later_versions(record, load.pid) for record in found[who][1:]] for who in ("theirs", "ours"))
    without_traffic(gpu, theirs, ours)
    theirs_shape, ours_shape = keys(theirs[0]), keys(ours[0])
    # Not in igt 1.27: memory of clients, which 1.28 has.
    if "memory" not in theirs_shape["clients"]["ffmpeg"]:
        shown = ours_shape["clients"]["ffmpeg"].pop("memory", None)
        verdict(shown is not None, f"{name}: the client has memory", shown, "its regions")
    equal(f"{name}: keys and units", ours_shape, theirs_shape)
    compare(name, s, theirs, ours)


LINK = "/tmp/drop-in/intel_gpu_top"


def lines(command, rows):
    """The first lines of a program that prints for ever, and its status after SIGTERM."""
    program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                               env={**os.environ, "IGT_LAYOUT": "1.27"})
    found = [program.stdout.readline() for _ in range(rows)]
    program.terminate()
    program.stdout.close()
    return found, program.wait()


def linked():
    os.makedirs(os.path.dirname(LINK), exist_ok=True)
    if not os.path.lexists(LINK):
        os.symlink(BINARY, LINK)


CLASSES = {"Render/3D": "render", "Blitter": "copy", "Video": "video", "VideoEnhance": "video_enhance", "Compute": "compute"}


def drop_in_xe(personality):
    """The program started as intel_gpu_top where the original refuses: by the PMU as root, by fdinfo of the user's own processes
    without any right."""
    gpu = machine(personality)[0]
    s = script(gpu)
    s.apply()
    linked()
    os.chmod("/dev/dri/renderD128", 0o666)
    load = {"render": 30, "video": 25}
    refused = subprocess.run(["intel_gpu_top", "-J", "-n", "1"], capture_output=True)
    verdict(refused.returncode != 0, f"{personality}: intel_gpu_top of Debian refuses xe", refused.returncode, "an error")
    for right, prefix, seen in (("as root", (), s.busy), ("without any right", as_user(), {})):
        name = f"{personality}: as intel_gpu_top, {right}"
        with Load(" ".join(f"{cls}={percent}" for cls, percent in load.items()), "--name", "ffmpeg", prefix=prefix):
            done = subprocess.run([*prefix, LINK, "-J", "-n", "4", "-s", "1000"], capture_output=True, text=True)
        found = json.loads(done.stdout or "[]")
        if not verdict(done.returncode == 0 and len(found) == 4, f"{name}: four records", (done.returncode, done.stderr), "4"):
            continue
        equal(f"{name}: the classes", list(found[0]["engines"]), list(CLASSES))
        measured = means(found[1:])
        for shown, cls in CLASSES.items():
            members = [engine for engine in gpu.engines if gpu.engine_class(engine) == cls]
            busy = (sum(seen.get(engine, 0) for engine in members) + load.get(cls, 0)) / len(members)
            points(f"{name}: {shown}", measured.get(("engines", shown, "busy")), busy, absolute=1)
        verdict(("CAP_PERFMON" in done.stderr) == bool(prefix), f"{name}: what is missing is said", done.stderr,
                "CAP_PERFMON" if prefix else "nothing")


def drop_in(personality):
    """The program started as intel_gpu_top, in the layout of Debian's version, beside it."""
    gpu = machine(personality)[0]
    s = script(gpu)
    apply_machine()
    s.apply()
    linked()
    programs = {"theirs": "intel_gpu_top", "ours": LINK}
    name = f"{personality}: as intel_gpu_top"
    with Load("render=30 video=25 mem=512M", "--name", "ffmpeg") as load:
        text, codes = beside({who: [program, "-J", "-s", "1000"] for who, program in programs.items()}, {"IGT_LAYOUT": "1.27"})
        header, status = {}, {}
        for who, program in programs.items():
            found, status[who] = lines([program, "-l", "-s", "100"], 4)
            header[who] = found[:2]
    equal(f"{name} ends on SIGINT as the original", codes, {"theirs": 0, "ours": 0})
    equal(f"{name} ends on SIGTERM as the original", status, {who: -signal.SIGTERM for who in programs})
    found = {who: records(text[who]) for who in text}
    for who in text:
        # The first record of the original divides a client's time by a period that has not passed yet.
        for record in found[who][1:]:
            client = record["clients"].get(str(2**32 - load.pid), {})
            for use in client.get("engine-classes", {}).values():
                use["busy"] = str(float(use["busy"]) * (1000 / record["period"]["duration"] if who == "theirs" else 1))
            record["clients"] = {"ffmpeg": client}
    theirs, ours = found["theirs"][1:], found["ours"][1:]
    without_traffic(gpu, theirs, ours)
    if verdict(theirs and ours, f"{name} prints records", text["ours"][:200], "three or more"):
        equal(f"{name}: keys and units, in their order", json.dumps(keys(ours[0])), json.dumps(keys(theirs[0])))
        compare(name, s, theirs, ours)
    layout = {who: re.split(r"[0-9]", text[who])[0] for who in text}
    equal(f"{name}: the same begin", layout["ours"], layout["theirs"])
    if "IMC" not in header["theirs"][0] or gpu.kind == "discrete":
        header = {who: [re.sub(r"    IMC MiB/s |    rd     wr ", "", line) for line in both] for who, both in header.items()}
    equal(f"{name}: the columns of -l", header["ours"], header["theirs"])
    listed = {who: subprocess.run([program, "-L"], capture_output=True, text=True).stdout for who, program in programs.items()}
    equal(f"{name}: -L", listed["ours"], listed["theirs"])
    refused = subprocess.run([*as_user(), "intel_gpu_top", "-J"], capture_output=True, text=True)
    ours = subprocess.run([*as_user(), LINK, "-J", "-n", "2", "-s", "500"], capture_output=True, text=True)
    verdict(ours.returncode == 0 and len(json.loads(ours.stdout)) == 2 and ours.stderr.startswith("intel_gpu_top: "),
            f"{name} prints records without any right, and says what is missing", (ours.returncode, ours.stdout[:200], ours.stderr),
            f"unlike the original, {refused.returncode}: {refused.stderr}")
