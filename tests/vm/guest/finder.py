# SPDX-License-Identifier: Apache-2.0
"""Finding processes that use a GPU: the kernel's reports (BPF) and the walk over /proc find the same clients."""

import grp
import subprocess

from clients import PASSED, python
from model import machine
from workloads import inside
from vm import Exporter, Load, as_user, equal, run_tool, verdict, wait_for, write

DEADLINE = 60
CLIENTS = "intel_gpu_process_clients"
FEATURE = "intel_gpu_exporter_feature_available"
NODE = "/dev/dri/renderD128"

# A process that opens the node in a thread, and once more with a table of descriptors that a child shares.
THREAD = """
import os, sys, threading
def work():
    os.write(os.open(sys.argv[1], os.O_RDWR), b'video=5')
thread = threading.Thread(target=work)
thread.start()
thread.join()
open('/proc/self/comm', 'w').write('threaded')
print('ready', flush=True)
sys.stdin.read()
"""
# Opens the node only when it is told to, and closes it again.
LATE = """
import os, sys
open('/proc/self/comm', 'w').write('late')
print('ready', flush=True)
sys.stdin.readline()
fd = os.open(sys.argv[1], os.O_RDWR)
os.write(fd, b'video=5')
print('open', flush=True)
sys.stdin.readline()
os.close(fd)
print('closed', flush=True)
sys.stdin.read()
"""


def found(page):
    """(PID, device) of every client, with their number."""
    return sorted((labels["pid"], labels["device"], value) for labels, value in page.all(CLIENTS))


def how(page):
    """Whether the kernel reports the clients, and the reason if not."""
    return [(value, labels["reason"]) for labels, value in page.all(FEATURE, feature="client_finder")]


def say(process, word):
    process.stdin.write(b"go\n")
    process.stdin.flush()
    return process.stdout.readline().strip() == word


def same_clients():
    """All kinds of clients, by whoever may see them, both ways."""
    render = grp.getgrnam("render").gr_gid
    bpf = ["bpf", "perfmon", "sys_ptrace"]
    users = {  # prefix, what the feature says
        "root": ((), (1, "ok")),
        "CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE": (as_user(1000, [render], bpf), (1, "ok")),
        "CAP_SYS_PTRACE": (as_user(1000, [render], ["sys_ptrace"]), (0, "permission")),
        "nothing": (as_user(1000), (0, "permission")),
    }
    loads = [Load("render=10", "--name", "dups", "--dups", 3, "--heirs", 2), Load("render=5", "--opens", 3),
             Load("video=5", "--procs", 3), Load("copy=5", "--dev", "/dev/dri/renderD129"),
             Load("copy=5", "--dev", "/dev/dri/card0"),
             Load("video=2", "--name", "by-alice", prefix=as_user(1000, [render]))]
    passing, taker = python(PASSED, "/dev/dri/renderD129")
    threaded, _ = python(THREAD, NODE)
    idle = [subprocess.Popen(["sleep", "3600"]) for _ in range(20)]
    everybody = {str(pid) for load in loads for pid in load.pids} | {str(threaded.pid)}
    for who, (prefix, expected) in users.items():
        pages = {}
        for way in ("auto", "walk"):
            with Exporter(f"--collector.fdinfo.finder={way}", prefix=prefix, what=f"{who}, {way}") as exporter:
                exporter.scrape()
                pages[way] = exporter.scrape()
                warnings = [line for line in exporter.warnings() if "client_finder" in line]
                equal(f"{who}, {way}: no warning, as nothing is missing", warnings, [])
        equal(f"{who}: the feature", how(pages["auto"]), [expected])
        equal(f"{who}: the feature with walk", how(pages["walk"]), [(0, "disabled")])
        equal(f"{who}: the same clients both ways", found(pages["auto"]), found(pages["walk"]))
        seen = {pid for pid, _, _ in found(pages["auto"])}
        if who != "nothing":
            # gpuload's heirs have their parent's client
            verdict(everybody <= seen, f"{who}: all clients", sorted(everybody - seen), "none missing")
        else:
            equal(f"{who}: alice's client only", seen, {str(loads[-1].pid)})
    code, text = run_tool("doctor", prefix=users["CAP_SYS_PTRACE"][0])
    verdict("optional: client_finder" in text and "CAP_BPF" in text, "doctor names it as optional, with its hint", text,
            "optional: client_finder")
    code, text = run_tool("serve", "--collector.fdinfo.finder=bpf", prefix=users["CAP_SYS_PTRACE"][0])
    equal("pinned without the capabilities: one line, exit code 1", (code, len(text.splitlines()), "CAP_BPF" in text),
          (1, 1, True))
    for process in (passing, threaded, *idle):
        process.kill()
        process.wait()
    for load in loads:
        load.stop()


def changes(prefix, who):
    """What happens while the exporter runs is on the next page."""
    with Exporter("--collector.fdinfo.finder=bpf", prefix=prefix, what=f"{who}: changes") as exporter:
        late, _ = python(LATE, NODE)
        equal(f"{who}: nobody", found(exporter.scrape()), [])

        def pids():
            return {pid for pid, _, _ in found(exporter.scrape())}

        with Load("render=5", "--name", "new", "--heirs", 1) as load:
            equal(f"{who}: a new process", pids(), {str(load.pid)})
            verdict(say(late, b"open"), f"{who}: opened", "no answer", "open")
            equal(f"{who}: a process that was there opens the node", pids(), {str(load.pid), str(late.pid)})
            verdict(say(late, b"closed"), f"{who}: closed", "no answer", "closed")
            equal(f"{who}: and closes it", pids(), {str(load.pid)})
        equal(f"{who}: the process has ended", pids(), set())

        giver, taker = python(PASSED, NODE)
        giver_pid, taker_pid = str(giver.pid), taker[1].decode()
        equal(f"{who}: passed by SCM_RIGHTS: the lowest PID", pids(), {min(giver_pid, taker_pid, key=int)})
        giver.kill()
        giver.wait()
        wait_for(lambda: pids() == {taker_pid}, DEADLINE)
        equal(f"{who}: the taker holds it alone", pids(), {taker_pid})
        giver.stdin.close()

        with Load("video=1", "--procs", 20) as many:
            wanted = set(map(str, many.pids))  # the taker ends with its input
            # on a slow machine one scan has no time for all
            verdict(wait_for(lambda: pids() == wanted, DEADLINE), f"{who}: many at once", sorted(pids() ^ wanted), "all")
        for _ in range(3):  # a start that each scrape sees
            with Load("video=1") as load:
                verdict(str(load.pid) in pids(), f"{who}: a short one", sorted(pids()), load.pid)
        late.kill()
        late.wait()
        page = exporter.scrape()
        equal(f"{who}: the way", how(page), [(1, "ok")])
        verdict(wait_for(lambda: pids() == set(), DEADLINE), f"{who}: nobody is left", sorted(pids()), "nobody")


def short_jobs():
    """A job that begins and ends between two scrapes is counted if the clients are read in between."""
    seconds = "intel_gpu_workload_engine_busy_seconds_total"
    for way in ("bpf", "walk"):
        for interval, least in (("300ms", 1.5), ("0s", None)):
            name = f"short jobs: {way}, {interval}"
            with Exporter("--collector.workloads", f"--collector.fdinfo.finder={way}",
                          f"--collector.fdinfo.interval={interval}", what=name) as exporter:
                exporter.scrape()
                subprocess.run([*inside("/system.slice/job.service"), "gpuload", "--name", "job", "--seconds", "3",
                                "video=100"], stdout=subprocess.DEVNULL, check=True)
                page = exporter.scrape()
                counted = page.sum(seconds, workload="job.service")
                if least is None:
                    equal(f"{name}: nobody saw it", counted, None)
                    continue
                verdict(counted is not None and least <= counted <= 3.1, f"{name}: its time is counted", counted,
                        f"{least} to 3.1")
                equal(f"{name}: its start is counted",
                      page.get("intel_gpu_workload_started_total", workload="job.service"), 1)


def finder():
    """On `tgl+bmg`."""
    machine("tgl+bmg")
    same_clients()
    short_jobs()
    changes((), "root")
    # The kernel lists who has a node open, but refuses to report changes.
    write("/proc/sys/kernel/ftrace_enabled", 0)
    changes((), "without reports")
    write("/proc/sys/kernel/ftrace_enabled", 1)
    changes(as_user(1000, [grp.getgrnam("render").gr_gid], ["bpf", "perfmon", "sys_ptrace"]), "with capabilities")
