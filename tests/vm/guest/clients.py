# SPDX-License-Identifier: Apache-2.0
"""Processes: clients that share, inherit, pass and multiply descriptors; several GPUs; hostile names."""

import os
import socket
import subprocess
import sys
import time

from model import MIB, machine
from vm import Exporter, Load, absent, equal, near, points, rate, verdict

TWO_GPUS = """
import os, sys
for node, load in zip(sys.argv[1::2], sys.argv[2::2]):
    fd = os.open(node, os.O_RDWR)
    os.write(fd, load.encode())
open('/proc/self/comm', 'w').write('both')
print('ready', flush=True)
sys.stdin.read()
"""

PASSED = """
import os, socket, sys
a, b = socket.socketpair()
if os.fork() == 0:
    a.close()
    fds = socket.recv_fds(b, 1, 1)[1]
    open('/proc/self/comm', 'w').write('taker')
    print('ready', os.getpid(), flush=True)
    sys.stdin.read()
    os._exit(0)
b.close()
fd = os.open(sys.argv[1], os.O_RDWR)
os.write(fd, b'copy=30')
socket.send_fds(a, [b'x'], [fd])
open('/proc/self/comm', 'w').write('giver')
sys.stdin.read()
"""

# Opens the node on command, with the number of a file that it closes: the walk sees no change of its descriptors.
REPLACES = """
import os, sys
file = os.open('/dev/null', os.O_RDONLY)
print('ready', flush=True)
sys.stdin.readline()
os.close(file)
fd = os.open(sys.argv[1], os.O_RDWR)
os.write(fd, b'copy=10')
print('same' if fd == file else 'other', flush=True)
sys.stdin.read()
"""


def python(source, *arguments, prefix=()):
    process = subprocess.Popen([*prefix, sys.executable, "-c", source, *arguments], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    return process, process.stdout.readline().split()


def of(page, load, **labels):
    return page.all("intel_gpu_process_clients", pid=str(load), **labels)


def replaced():
    """The walk finds at once, by DRM's debugfs, what no other sign shows."""
    with Exporter("--collector.fdinfo.finder=walk", what="clients, replaced") as exporter:
        process, _ = python(REPLACES, "/dev/dri/renderD128")
        for _ in range(3):
            exporter.scrape()
        process.stdin.write(b"go\n")
        process.stdin.flush()
        equal("replaced: the node has the number of the file before", process.stdout.readline(), b"same\n")
        equal("replaced: the client is on the next page", [v for _, v in of(exporter.scrape(), process.pid)], [1])
        process.stdin.close()
        process.wait()


def clients():
    """On `multi`."""
    tgl, dg2 = machine("multi")
    t, d = {"device": tgl.address}, {"device": dg2.address}
    loads = {
        "dups": Load("render=10", "--name", "dups", "--dups", 3),
        "heirs": Load("render=11", "--name", "heirs", "--heirs", 2, "--dups", 1),
        "opens": Load("render=4 video=8", "--name", "opens", "--opens", 3),
        "procs": Load("video=5", "--name", "procs", "--procs", 3),
        "wide": Load("video=175 compute=120 mem=3G", "--name", "wide", "--dev", "/dev/dri/renderD129"),
        "card": Load("copy=12", "--name", "card", "--dev", "/dev/dri/card0"),
        "hostile": Load("vecs0=7", "--name", 'a"b\\c\nd\xff'.encode("utf-8", "surrogateescape").decode("latin-1")),
        "bytes": Load("vecs0=3", "--name", os.fsdecode(b"\xc3\x28\xff\xfe{x}")),
        "cpu": Load("video-enhance=2", "--name", "user", "--uid", 1001),
    }
    both, _ = python(TWO_GPUS, "/dev/dri/renderD128", "copy=20", "/dev/dri/renderD129", "copy=40")
    giver, taker = python(PASSED, "/dev/dri/renderD129")
    taker_pid = int(taker[1])
    with Exporter(what="clients") as exporter:
        exporter.scrape()
        a, b = exporter.window()

        def seconds(name, pid, cls, percent, labels=t):
            rate(f"{name}: {cls} seconds", a, b, "intel_gpu_process_engine_busy_seconds_total", percent / 100,
                 absolute=0.001, **{**labels, "pid": str(pid), "class": cls})

        def count(name, pid, expected, labels=t):
            equal(f"{name}: clients", b.get("intel_gpu_process_clients", pid=str(pid), **labels), expected)

        for name, percent in (("dups", 10), ("heirs", 11)):
            pid = loads[name].pid
            count(name, pid, 1)
            seconds(name, pid, "render", percent)
        heirs = [l for l, _ in b.all("intel_gpu_process_clients", comm="heirs", **t)]
        equal("heirs: counted for the lowest PID only", [l["pid"] for l in heirs], [str(loads["heirs"].pid)])
        count("opens", loads["opens"].pid, 3)
        seconds("opens", loads["opens"].pid, "render", 12)
        seconds("opens", loads["opens"].pid, "video", 24)
        points("opens: video ratio of two engines", b.get("intel_gpu_process_engine_busy_ratio", **{
            **t, "pid": str(loads["opens"].pid), "class": "video"}), 0.12)
        equal("procs: three processes", sorted(l["pid"] for l, _ in b.all("intel_gpu_process_clients", comm="procs")),
              sorted(map(str, loads["procs"].pids)))
        for pid in loads["procs"].pids:
            seconds("procs", pid, "video", 5)
        seconds("wide", loads["wide"].pid, "video", 175, d)
        seconds("wide", loads["wide"].pid, "compute", 120, d)
        points("wide: ratio of two video engines", b.get("intel_gpu_process_engine_busy_ratio", **{
            **d, "pid": str(loads["wide"].pid), "class": "video"}), 0.875)
        points("wide: ratio of four compute engines", b.get("intel_gpu_process_engine_busy_ratio", **{
            **d, "pid": str(loads["wide"].pid), "class": "compute"}), 0.30)
        seconds("opened through the card node", loads["card"].pid, "copy", 12)
        seconds("both GPUs, the first", both.pid, "copy", 20)
        seconds("both GPUs, the second", both.pid, "copy", 40, d)
        count("both GPUs, the first", both.pid, 1)
        count("both GPUs, the second", both.pid, 1, d)
        lowest = min(giver.pid, taker_pid)
        seconds("passed by SCM_RIGHTS, to the lowest PID", lowest, "copy", 30, d)
        equal("passed by SCM_RIGHTS: once", len([1 for pid in (giver.pid, taker_pid) if of(b, pid, **d)]), 1)
        hostile = b.all("intel_gpu_process_clients", pid=str(loads["hostile"].pid))
        verdict(len(hostile) == 1, "a comm with quotes and newlines", hostile, "one series")
        garbled = b.all("intel_gpu_process_clients", pid=str(loads["bytes"].pid))
        verdict(len(garbled) == 1 and "{x}" in garbled[0][0]["comm"], "a comm that is not UTF-8", garbled,
                "one series, repaired")
        equal("user by name", [l.get("user") for l, _ in
                               b.all("intel_gpu_process_info", pid=str(loads["cpu"].pid))], ["gpuuser"])
        equal("processes on the first GPU", b.get("intel_gpu_processes", **t),
              len({l["pid"] for l, _ in b.all("intel_gpu_process_clients", **t)}))
        near("memory of the second GPU", b.get("intel_gpu_memory_used_bytes", memory_region="local0", **d), 3072 * MIB)

        # clients that start and exit
        churn = Load("render=30", "--name", "churn", "--churn", 200)
        for _ in range(6):
            time.sleep(0.35)
            exporter.scrape()
        churn.stop()
        gone = loads.pop("dups")
        gone.stop()
        page = exporter.scrape()
        equal("an ended process is gone", page.all("intel_gpu_process_clients", pid=str(gone.pid)), [])
        equal("an ended churner is gone", page.all("intel_gpu_process_clients", comm="churn"), [])
    both.stdin.close()
    giver.stdin.close()

    # the process limit
    with Exporter("--collector.fdinfo.max-processes", "4", what="clients, capped") as exporter:
        exporter.scrape()
        _, page = exporter.window(1.1, 1.1)
        shown = len({(l["device"], l["pid"]) for l, _ in page.all("intel_gpu_process_clients")})
        dropped = page.sum("intel_gpu_processes_dropped")
        verdict(1 <= shown <= 8, "capped: few are shown", shown, "at most 4 a GPU")
        verdict(dropped and dropped > 0, "capped: the rest is counted", dropped, "more than 0")
    for load in loads.values():
        load.stop()
    replaced()
