# SPDX-License-Identifier: Apache-2.0
"""Reads the tracker's pages as collectors/level_zero/tracker/page_layout.h describes them, independently of the exporter."""
import collections
import fcntl
import pathlib
import re
import struct

TRACKER = pathlib.Path(__file__).resolve().parents[2] / 'collectors/level_zero/tracker'
TABLE = (TRACKER / 'api_table.inc').read_text()
KINDS = re.findall(r'^LEVEL_ZERO_KIND\((\w+)\)', TABLE, re.M)
FUNCTIONS = re.findall(r'^LEVEL_ZERO_FUNCTION\((\w+),', TABLE, re.M)

MAX_KINDS, MAX_FUNCTIONS, LANES, MAX_MODULES, MAX_SITES = 64, 192, 8, 128, 2048
HEADER = struct.Struct('=QIIQQIIIIQQQQQQII16s256s')
KIND = struct.Struct('=8Q')
CALL = struct.Struct('=2Q')
MODULE = struct.Struct('=3Q104s')
ENTRY = struct.Struct('=4QIIBBHI')
MAGIC = 0x004f52455a4c5649

Kind = collections.namedtuple('Kind', 'created destroyed live live_peak failed bytes bytes_peak bytes_allocated')
Call = collections.namedtuple('Call', 'calls errors')
Live = collections.namedtuple('Live', 'kind function handle bytes site thread state')


def text(raw):
    return raw.split(b'\0')[0].decode()


class Page:
    def __init__(self, path):
        self.path = path
        with open(path, 'rb') as file:
            self.alive = self._locked(file)
            data = file.read()
        (magic, version, self.frames, offset, self.entries, kinds, functions, self.pid, self.uid, self.started, _,
         self.ended, self.invalid_destroys, self.untracked, self.untracked_destroys, self.threads, modules,
         comm, executable) = HEADER.unpack_from(data)
        assert magic == MAGIC and version == 1, (path, hex(magic), version)
        self.comm, self.executable = text(comm), text(executable)
        at = 4096
        self.kinds = {name: Kind(*KIND.unpack_from(data, at + i * KIND.size)) for i, name in enumerate(KINDS)}
        at += MAX_KINDS * KIND.size
        self.calls = {}
        for i, name in enumerate(FUNCTIONS):
            lanes = [CALL.unpack_from(data, at + (lane * MAX_FUNCTIONS + i) * CALL.size) for lane in range(LANES)]
            self.calls[name] = Call(sum(l[0] for l in lanes), sum(l[1] for l in lanes))
        at += LANES * MAX_FUNCTIONS * CALL.size
        self.modules = [(b, e, load, text(p)) for b, e, load, p in
                        (MODULE.unpack_from(data, at + i * MODULE.size) for i in range(modules))]
        sites = at + MAX_MODULES * MODULE.size
        self.live = []
        assert len(data) >= offset + self.entries * ENTRY.size, (path, len(data), self.entries)
        entries = memoryview(data)[offset:offset + self.entries * ENTRY.size]
        for handle, size, _, _, site, thread, kind, state, function, _ in ENTRY.iter_unpack(entries):
            if state == 0:
                continue
            frames = []
            if site != 0xffffffff:
                place = sites + site * (16 + 8 * self.frames)
                _, depth, ready = struct.unpack_from('=QII', data, place)
                assert ready == 1 and 1 <= depth <= self.frames, (site, depth, ready)
                frames = [self._place(a) for a in struct.unpack_from(f'={depth}Q', data, place + 16)]
            self.live.append(Live(KINDS[kind], FUNCTIONS[function], handle, size, frames, thread, state))

    @staticmethod
    def _locked(file):
        answer = fcntl.fcntl(file, fcntl.F_GETLK, struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, 0, 1, 0))
        return struct.unpack('hhqqi4x', answer)[0] != fcntl.F_UNLCK

    def _place(self, address):
        for begin, end, load, path in self.modules:
            if begin <= address < end:
                return path, address - load
        return '?', address

    def count(self, kind):
        return self.kinds[kind].created, self.kinds[kind].live

    def leaked(self):
        return sorted((l.kind, l.bytes) for l in self.live)


def pages(folder):
    """The pages in folder, oldest first."""
    return [Page(p) for p in sorted(folder.glob('*.l0'), key=lambda p: int(p.stem.split('-')[1]))]
