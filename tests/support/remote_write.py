# SPDX-License-Identifier: Apache-2.0
"""Prometheus' remote write, as far as a test needs it to store samples of the past."""
import struct
import urllib.error
import urllib.request

STALE = object()  # the value of a series that has ended
STALE_BITS = struct.pack("<Q", 0x7FF0000000000002)


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def packed(series):
    """A request for [(labels, [(time, value)])], in the block format of snappy, which may hold literals only."""
    message = bytearray()
    for labels, samples in series:
        content = b"".join(field(1, field(1, name.encode()) + field(2, value.encode())) for name, value in labels)
        for at, value in samples:
            content += field(2, b"\x09" + (STALE_BITS if value is STALE else struct.pack("<d", value)) + b"\x10" + varint(int(at * 1000)))
        message += field(1, content)
    out = bytearray(varint(len(message)))
    for start in range(0, len(message), 60000):
        part = message[start:start + 60000]
        out += b"\xf4" + struct.pack("<H", len(part) - 1) + part
    return bytes(out)


def post(base, body):
    request = urllib.request.Request(f"{base}/api/v1/write", body, {"Content-Encoding": "snappy", "Content-Type": "application/x-protobuf",
                                                                   "X-Prometheus-Remote-Write-Version": "0.1.0"})
    try:
        urllib.request.urlopen(request, timeout=60).close()
    except urllib.error.HTTPError as error:
        raise SystemExit(f"FAIL write to {base}: {error.read().decode()}") from None
