# SPDX-License-Identifier: Apache-2.0
"""Finding processes that use a GPU: the kernel's reports (BPF) and the walk over /proc find the same clients."""

import grp
import os
import re
import subprocess
import sys
import time

from clients import PASSED, python
from model import machine
from workloads import inside
from vm import Exporter, Load, as_user, equal, read, run_tool, verdict, wait_for, write

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
# Opens the node only on command, and closes it again.
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


def how(page, feature="client_finder"):
    """Whether the kernel reports the clients, or whether short jobs are counted, and the reason if not."""
    return [(value, labels["reason"]) for labels, value in page.all(FEATURE, feature=feature)]


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
    equal("pinned without the capabilities: one line, exit code 2", (code, len(text.splitlines()), "CAP_BPF" in text),
          (2, 1, True))
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


def job(seconds):
    """Runs to its end; its whole engine time is `seconds`."""
    done = subprocess.run([*inside("/system.slice/job.service"), "gpuload", "--name", "job", "--seconds", str(seconds),
                           "video=100"], stdout=subprocess.DEVNULL)
    equal("short jobs: the job ended", done.returncode, 0)


def short_jobs():
    """Jobs that begin and end between two scrapes are counted, if something reads the clients in between."""
    render = grp.getgrnam("render").gr_gid
    seconds = "intel_gpu_workload_engine_busy_seconds_total"
    ptrace = as_user(1000, [render], ["sys_ptrace"])
    bpf = as_user(1000, [render], ["bpf", "perfmon", "sys_ptrace"])
    # Who, flags, what the feature says, the most that may be missing of a job of three seconds: the gap between the last
    # two scans (0.1 s and an eighth of the job's age, or 1 s) and the time of a scan.
    for who, prefix, flags, feature, missed in (
            ("root, by events", (), (), (1, "ok"), 0.55),
            ("capabilities, by events", bpf, (), (1, "ok"), 0.55),
            ("CAP_SYS_PTRACE, every second", ptrace, ("--collector.fdinfo.interval=1s",), (1, "ok"), 1.1),
            ("CAP_SYS_PTRACE", ptrace, (), (0, "permission"), None),
            ("walk", (), ("--collector.fdinfo.finder=walk",), (0, "disabled"), None)):
        name = f"short jobs: {who}"
        with Exporter("--collector.workloads", *flags, prefix=prefix, what=name) as exporter:
            first = exporter.scrape()
            equal(f"{name}: the feature", how(first, "short_jobs"), [feature])
            job(3)
            page = exporter.scrape()
            counted = page.sum(seconds, workload="job.service")
            if missed is None:
                equal(f"{name}: nobody saw it", counted, None)
                continue
            verdict(counted is not None and 3 - missed <= counted <= 3.1, f"{name}: its engine time is counted", counted,
                    f"{3 - missed:.2f} to 3.1")
            equal(f"{name}: its start is counted",
                  page.get("intel_gpu_workload_started_total", workload="job.service"), 1)


def switches(exporter):
    """How often the kernel let a thread of the exporter run. A system call needs one that runs."""
    total = 0
    for task in os.listdir(f"/proc/{exporter.pid}/task"):
        text = read(f"/proc/{exporter.pid}/task/{task}/status")
        total += sum(map(int, re.findall(r"ctxt_switches:\s+(\d+)", text)))
    return total


def processor_seconds(exporter):
    fields = read(f"/proc/{exporter.pid}/stat").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def quiet_while(exporter, seconds, work):
    """Whether no thread of the exporter ran for so long, while other processes did `work` ten times a second."""
    before, end = switches(exporter), time.monotonic() + seconds
    while time.monotonic() < end:
        work()
        time.sleep(0.1)
    return switches(exporter) == before


def others():
    """Processes without a GPU begin, open files and end."""
    subprocess.run(["sh", "-c", "true </dev/null; (true) </etc/passwd"], check=True)


def quiet():
    """Nothing runs between scrapes but what a client wakes us for."""
    with Exporter("--collector.workloads", "--collector.fdinfo.finder=bpf", what="quiet") as exporter:
        exporter.scrape()
        verdict(wait_for(lambda: quiet_while(exporter, 3, others), DEADLINE, 0), "quiet: nothing runs without a client",
                "a thread ran", "none")
        with Load("video=5"):  # and one client does wake it
            verdict(wait_for(lambda: not quiet_while(exporter, 0.5, others), DEADLINE, 0), "quiet: a client wakes it",
                    "no thread ran", "one")


# As many clients as the machine can start; each lives for 0.3 s.
FLOOD = """
import os, signal, sys, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
end = time.monotonic() + 6
while time.monotonic() < end:
    if os.fork() == 0:
        os.write(os.open(sys.argv[1], os.O_RDWR), b'video=1')
        time.sleep(0.3)
        os._exit(0)
    time.sleep(0.005)
"""


def flood():
    """However many clients come and go, scans take a twentieth of a processor and the 2 s saved before, and the page is
    served."""
    with Exporter("--collector.workloads", "--collector.fdinfo.finder=bpf", what="flood") as exporter:
        exporter.scrape()
        used, began = processor_seconds(exporter), time.monotonic()
        flooding = subprocess.Popen([sys.executable, "-c", FLOOD, NODE])
        flooding.wait()
        used, took = processor_seconds(exporter) - used, time.monotonic() - began
        verdict(0 < used <= 2.5 + 0.1 * took, "flood: scans are bounded", f"{used:.2f} s in {took:.1f} s",
                "a tenth of a processor, and 2.5 s")
        page = exporter.scrape()
        started = page.sum("intel_gpu_workload_started_total")
        verdict(started is not None and started > 0, "flood: some were seen", started, "more than 0")


def finder():
    """On `tgl+bmg`."""
    machine("tgl+bmg")
    same_clients()
    short_jobs()
    quiet()
    flood()
    changes((), "root")
    # The kernel lists who has a node open, but refuses to report changes.
    write("/proc/sys/kernel/ftrace_enabled", 0)
    changes((), "without reports")
    with Exporter("--collector.workloads", what="short jobs without reports") as exporter:
        equal("short jobs without reports: the feature", how(exporter.scrape(), "short_jobs"), [(0, "kernel")])
    write("/proc/sys/kernel/ftrace_enabled", 1)
    changes(as_user(1000, [grp.getgrnam("render").gr_gid], ["bpf", "perfmon", "sys_ptrace"]), "with capabilities")
