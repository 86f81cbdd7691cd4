#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The flight recorder in the program: a fault, a signal, a request and a trigger each become one flight; the list, both forms
of a flight, the folder and the command agree; what is wrong is refused, counted and does no harm.

usage: flights.py EXPORTER_BINARY REPOSITORY_ROOT
"""
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

import jsonschema

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from exporter_under_test import Exporter, check, fetch, finish, get, wait_for  # noqa: E402

TOTAL = "intel_gpu_exporter_flights_total"
FAILURES = "intel_gpu_exporter_flight_write_failures_total"


def base(exporter):
    return exporter.url.removesuffix("/metrics")


def flights(exporter):
    return json.loads(get(base(exporter) + "/api/v1/flights"))


def post(exporter, headers={}):
    request = urllib.request.Request(base(exporter) + "/debug/flight", method="POST", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def value(exporter, series):
    for line in get(exporter.url).splitlines():
        if line.startswith(series + " "):
            return float(line.split()[-1])
    return None


def lines_of(exporter, number):
    return [json.loads(line) for line in get(f"{base(exporter)}/api/v1/flights/{number}.jsonl").splitlines()]


# What Perfetto publishes of its format: protos/perfetto/trace/trace.proto, trace_packet.proto and
# track_event/{track_event,track_descriptor,counter_descriptor}.proto.
def fields(data):
    """(number, value) of a message: numbers, and bytes of whatever has a length."""
    at = 0

    def varint():
        nonlocal at
        result = shift = 0
        while True:
            byte = data[at]
            result |= (byte & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if byte < 0x80:
                return result

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        elif tag & 7 == 1:
            yield tag >> 3, struct.unpack_from("<d", data, at)[0]
            at += 8
        else:
            length = varint()
            yield tag >> 3, data[at:at + length]
            at += length


def decoded(trace):
    """Counters by the name of their track: unit, values in order. Names of all other events."""
    tracks, counters, names = {}, {}, []
    for number, packet in fields(trace):
        for kind, message in fields(packet) if number == 1 else ():
            if kind == 60:
                track = dict(fields(message))
                if 8 in track:
                    unit = dict(fields(track[8])).get(6, b"").decode()
                    tracks[track[1]] = track[2].decode()
                    counters.setdefault(track[2].decode(), (unit, []))
            elif kind == 11:
                event = dict(fields(message))
                if event.get(9) == 4:  # TYPE_COUNTER
                    counters[tracks[event[11]]][1].append(event[44])
                elif 23 in event:
                    names.append(event[23].decode())
    return counters, names


def check_forms(exporter, number, what):
    """The lines, the trace as a decoder of Perfetto's format reads it, and the command print the same flight."""
    lines = lines_of(exporter, number)
    check(lines[-1] == {"end": {"lines": len(lines) - 1}}, f"{what}: the lines have an end")
    expected, columns = {}, []
    for line in lines:
        if "gpu" in line:
            columns = [(line["gpu"]["device"] + " " + column["name"], column["unit"]) for column in line["gpu"]["values"]]
            expected.update({name: (unit, []) for name, unit in columns})
        if "sample" in line:
            for (name, _), sample in zip(columns, line["sample"]["values"], strict=True):
                if sample is not None:
                    expected[name][1].append(sample)
    trace = fetch(f"{base(exporter)}/api/v1/flights/{number}.pftrace")
    counters, names = decoded(trace)
    check(counters == expected and expected, f"{what}: the trace has the values of the lines: {sorted(counters)[:3]}")
    events = [line["fault"]["text"] for line in lines if "fault" in line]
    check(all(text in names for text in events), f"{what}: the kernel's lines are in the trace")
    return lines, trace


def is_shown(lines, device, series, low):
    """Whether this series of the GPU has a sample of at least that much."""
    index = None
    for line in lines:
        if "gpu" in line:
            names = [column["name"] for column in line["gpu"]["values"]]
            index = names.index(series) if line["gpu"]["device"] == device and series in names else None
        if "sample" in line and index is not None and (line["sample"]["values"][index] or 0) >= low:
            return True
    return False


def run(binary, *arguments):
    return subprocess.run([binary, *arguments], capture_output=True, timeout=120)


def check_command(binary, exporter, folder, trace):
    place = f"127.0.0.1:{exporter.port}"
    table = run(binary, "flights", place)
    check(table.returncode == 0 and b"request" in table.stdout and b"NUMBER" in table.stdout, f"the command's table: {table}")
    listed = run(binary, "flights", "--json", exporter.url)
    check(json.loads(listed.stdout) == flights(exporter), "the command's JSON is the page's")
    own = run(binary, "flights", f"--web.listen-address=127.0.0.1:{exporter.port}")
    check(own.stdout == table.stdout, "without a place it asks the exporter with the same flags")
    file = folder / "fetched.pftrace"
    done = run(binary, "flights", place, "--number", "1", "--format", "pftrace", "-o", file)
    check(done.returncode == 0 and file.read_bytes() == trace, f"a flight in a file: {done}")
    check(file.stat().st_mode & 0o777 == 0o600, f"which only its owner reads: it names other users' processes: {file.stat().st_mode:o}")
    check(run(binary, "flights", place, "--number", "1", "-o", file).returncode == 1, "a file that exists is not replaced")
    lines = run(binary, "flights", place, "--number", "1").stdout
    check(lines.startswith(b'{"flight":{"number":1'), "a flight as lines")
    report = run(binary, "trace", "report", file)
    check(report.returncode == 0 and b"busy" in report.stdout and b"ratio" in report.stdout, f"trace report: {report}")
    for size in (len(trace) // 3, len(trace) - 1):
        (folder / "cut.pftrace").write_bytes(trace[:size])
        cut = run(binary, "trace", "report", folder / "cut.pftrace")
        check(cut.returncode == 1 and b"busy" in cut.stdout and b"ends inside a packet" in cut.stderr, f"cut at {size}: {cut}")
    missing = run(binary, "flights", place, "--number", "77")
    check(missing.returncode == 1 and missing.stderr.count(b"\n") == 1, f"a flight that is missing: {missing}")
    for arguments in (["-o", "x"], ["--format", "pftrace"], ["--number", "0"], ["http://"], ["a", "b"]):
        wrong = run(binary, "flights", *arguments)
        check(wrong.returncode == 2 and wrong.stderr.count(b"\n") == 1, f"flights {arguments}: {wrong}")


def check_folder(binary, exporter, folder):
    files = wait_for(lambda: sorted(path.name for path in folder.iterdir() if path.name.startswith("flight-")), "a flight is written")
    check(len(files) == 1 and files[0].endswith("-request.pftrace"), f"one file: {files}")
    listed = json.loads(run(binary, "flights", "--json", folder).stdout)
    check(listed == [{"file": files[0], "bytes": (folder / files[0]).stat().st_size, "whole": True}], f"the folder's list: {listed}")
    check(run(binary, "trace", "report", folder / files[0]).returncode == 0, "trace report reads the file")
    (folder / files[0]).write_bytes((folder / files[0]).read_bytes()[:-1])
    check(json.loads(run(binary, "flights", "--json", folder).stdout)[0]["whole"] is False, "a file that is cut is listed as such")
    table = run(binary, "flights", folder).stdout
    check(files[0].encode() in table and b"cut or damaged" in table, f"the folder's table: {table}")
    check(run(binary, "flights", "--number", "1", folder).returncode == 2, "files of a folder have no number")


def check_requests(binary, root, folder):
    directory = folder / "flights"
    directory.mkdir()
    (directory / ".new-flight-old").write_text("half")
    with Exporter(binary, folder / "log", "--simulate=arc-a770", "--sample.interval=50ms", "--flight.length=2s",
                  f"--flight.directory={directory}") as exporter:
        check(flights(exporter) == [], "no flight yet")
        check(not (directory / ".new-flight-old").exists(), "what an earlier process left is removed")
        check(value(exporter, TOTAL + '{cause="request"}') == 0 and value(exporter, TOTAL + '{cause="hang"}') == 0, "the counter has every cause")
        check(value(exporter, FAILURES) == 0, "nothing failed")
        for headers in ({"X-Forwarded-For": "192.0.2.1"}, {"Forwarded": "for=192.0.2.1"}, {"Origin": "http://localhost"}):
            check(post(exporter, headers) == 403, f"a request with {headers}")
        wait_for(lambda: "engine_busy_ratio_max" in get(exporter.url), "engines are sampled")
        check(all(post(exporter) == 202 for _ in range(100)), "requests are accepted")
        exporter.process.send_signal(signal.SIGUSR1)
        listed = wait_for(lambda: flights(exporter), "the requests are a flight")
        check(len(listed) == 1 and listed[0]["cause"] == "request" and listed[0]["more_events"] >= 99, f"one flight: {listed}")
        schema = json.loads((root / "docs/openapi.json").read_text())
        page = schema["paths"]["/api/v1/flights"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        jsonschema.Draft7Validator({**page, "components": schema["components"]}).validate(listed)
        lines, trace = check_forms(exporter, 1, "a request")
        samples = [line["sample"]["time"] for line in lines if "sample" in line]
        check(10 <= samples[-1] - samples[0] <= 13, f"two seconds before it and ten after it: {samples[-1] - samples[0]}")
        check(any("client" in line for line in lines), "clients are in it")
        check(value(exporter, TOTAL + '{cause="request"}') == 1, "it is counted")
        check_command(binary, exporter, folder, trace)
        check_folder(binary, exporter, directory)
        # A folder that goes away: counted, logged once, and serving goes on.
        for file in directory.iterdir():
            file.unlink()
        directory.rmdir()
        exporter.process.send_signal(signal.SIGUSR1)
        wait_for(lambda: value(exporter, FAILURES) == 1, "the failure is counted")
        check(exporter.log().count("a flight could not be written") == 1, "and logged")
        check(len(flights(exporter)) == 2, "the flight is in memory")
        for page in ("/debug/flight", "/debug/other", "/api/v1/flights/"):
            try:
                fetch(base(exporter) + page)
                check(False, page)
            except urllib.error.HTTPError as error:
                check(error.code == (405 if page == "/debug/flight" else 404), f"{page}: {error.code}")


def check_without(binary, folder):
    """Without samples there is no flight recorder, and no signal ends the program."""
    with Exporter(binary, folder / "without.log", "--simulate=arc-a770") as exporter:
        check(post(exporter) == 404, "nothing to ask for")
        check(TOTAL not in get(exporter.url), "nothing to count")
        exporter.process.send_signal(signal.SIGUSR1)
        exporter.wait_until(lambda: "--sample.interval" in exporter.log(), "says what SIGUSR1 needs")
        none = run(binary, "flights", f"127.0.0.1:{exporter.port}")
        check(none.returncode == 1 and b"--sample.interval" in none.stderr, f"the command says so: {none}")


def check_refusals(binary, folder):
    def refused(*arguments):
        ended = subprocess.run([binary, "--simulate=arc-a770", "--web.listen-address=127.0.0.1:0", *arguments], capture_output=True, text=True, timeout=120)
        lines = ended.stderr.splitlines()
        return lines[0] if ended.returncode == 2 and len(lines) == 1 else f"accepted or verbose: {ended}"

    for flag in ("--flight.length=60s", "--flight.trigger=scrape_failed", f"--flight.directory={folder}"):
        check("needs --sample.interval" in refused(flag), f"{flag} alone: {refused(flag)}")
    sampled = "--sample.interval=100ms"
    typo = refused(sampled, "--flight.trigger=engine_bsy>0.9/5s")
    check("did you mean engine_busy?" in typo and "engine_busy, throttled, idle_gap, scrape_failed" in typo, typo)
    for length in ("0s", "1ns", "11m", "much"):
        check("--flight.length" in refused(sampled, f"--flight.length={length}"), length)
    missing = refused(sampled, f"--flight.directory={folder}/missing")
    check("No such file or directory" in missing and "--flight.directory" in missing, missing)
    (folder / "file").write_text("")
    check("Not a directory" in refused(sampled, f"--flight.directory={folder}/file"), "a file is no folder")
    if os.geteuid() != 0:
        closed = folder / "closed"
        closed.mkdir(mode=0o500)
        check("Permission denied" in refused(sampled, f"--flight.directory={closed}"), "a folder that may not be written")
    check("taken by another page" in refused("--web.telemetry-path=/debug/flight"), "the path is taken")


def check_faults(exporter):
    """The rack's card hangs two minutes after the start: one flight, whose last seconds before it show work."""
    def hang():
        get(exporter.url)  # faults are noticed by scrapes
        return [flight for flight in flights(exporter) if flight["cause"] == "hang"]

    found = wait_for(hang, "a hang becomes a flight", 250)
    check(len(found) == 1, f"one flight: {found}")
    flight = found[0]
    lines, _ = check_forms(exporter, flight["number"], "a hang")
    check(any("fault" in line and line["fault"]["device"] == flight["device"] and "[5130]" in line["fault"]["text"] for line in lines),
          f"the kernel's line names the process: {[line for line in lines if 'fault' in line]}")
    check(is_shown(lines, flight["device"], "gt0 vcs0 busy", 0.01), "the engine worked")
    check(value(exporter, TOTAL + '{cause="hang"}') == 1, "it is counted")
    busy = [flight for flight in flights(exporter) if flight["cause"] == "engine_busy"]
    check(busy, "the trigger recorded flights meanwhile")


def main():
    binary, root = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        with Exporter(binary, folder / "rack.log", "--simulate=rack", "--sample.interval=100ms", "--flight.length=5s",
                      "--flight.trigger=engine_busy{class=video}>0.01/1s") as rack:
            rack.port  # it runs meanwhile
            get(rack.url)
            check_refusals(binary, folder)
            check_without(binary, folder)
            check_requests(binary, root, folder)
            check_faults(rack)
    finish()


if __name__ == "__main__":
    main()
