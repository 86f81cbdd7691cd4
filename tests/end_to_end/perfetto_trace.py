#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""perfetto_trace.py BINARY REPOSITORY: a trace has only fields that Perfetto's format has, each with its type.

The table below lists them by message: protos/perfetto/trace/{trace,trace_packet,clock_snapshot}.proto,
track_event/{track_event,track_descriptor,thread_descriptor,counter_descriptor,debug_annotation}.proto,
interned_data/interned_data.proto, ftrace/{ftrace_event_bundle,ftrace_event,sched}.proto of the Perfetto project."""

import os
import subprocess
import sys

NUMBER, TEXT, REAL = "number", "text", "real"
FORMAT = {
    "Trace": {1: "TracePacket"},
    "TracePacket": {1: "FtraceEventBundle", 6: "ClockSnapshot", 8: NUMBER, 10: NUMBER, 11: "TrackEvent",
                    12: "InternedData", 13: NUMBER, 59: "TracePacketDefaults", 60: "TrackDescriptor"},
    "TracePacketDefaults": {58: NUMBER},
    "ClockSnapshot": {1: "Clock"},
    "Clock": {1: NUMBER, 2: NUMBER},
    "TrackDescriptor": {1: NUMBER, 2: TEXT, 4: "ThreadDescriptor", 5: NUMBER, 8: "CounterDescriptor"},
    "CounterDescriptor": {6: TEXT},
    "ThreadDescriptor": {1: NUMBER, 2: NUMBER, 5: TEXT},
    "TrackEvent": {3: NUMBER, 4: "DebugAnnotation", 9: NUMBER, 11: NUMBER, 23: TEXT, 44: REAL},
    "DebugAnnotation": {1: NUMBER, 3: NUMBER, 4: NUMBER, 6: TEXT},
    "InternedData": {1: "InternedName", 3: "InternedName"},
    "InternedName": {1: NUMBER, 2: TEXT},
    "FtraceEventBundle": {1: NUMBER, 2: "FtraceEvent"},
    "FtraceEvent": {1: NUMBER, 2: NUMBER, 4: "SchedSwitch"},
    "SchedSwitch": {1: TEXT, 2: NUMBER, 3: NUMBER, 4: NUMBER, 5: TEXT, 6: NUMBER, 7: NUMBER},
}
seen = {}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def check(message, data):
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        number, wire = tag >> 3, tag & 7
        kind = FORMAT[message].get(number)
        if kind is None or wire != {NUMBER: 0, REAL: 1}.get(kind, 2):
            sys.exit(f"FAIL {message}: field {number} with wire type {wire} is not Perfetto's")
        seen.setdefault(message, set()).add(number)
        if wire == 0:
            _, at = varint(data, at)
            continue
        if wire == 1:
            at += 8
            continue
        length, at = varint(data, at)
        part, at = data[at:at + length], at + length
        if len(part) != length:
            sys.exit(f"FAIL {message}: field {number} is longer than its message")
        if kind == TEXT:
            part.decode()
        else:
            check(kind, part)


binary, repository = sys.argv[1:]
recorded = os.path.join(repository, "tests/fuzz/corpus/trace_file/recorded")
copy = os.path.join(os.path.dirname(binary), "../tests/trace_copy")
done = subprocess.run([copy, recorded], capture_output=True, check=True)
check("Trace", done.stdout)
missing = {message: sorted(set(fields) - seen.get(message, set())) for message, fields in FORMAT.items()}
# Not written: the parent of a track, and the name of a thread.
expected = {"TrackDescriptor": [5], "ThreadDescriptor": [5]}
if {m: f for m, f in missing.items() if f} != expected:
    sys.exit(f"FAIL fields that were not seen: {missing}")
print(f"ok {len(done.stdout)} bytes, only fields of Perfetto's format")
