# SPDX-License-Identifier: Apache-2.0
"""Workloads: clients in cgroups with the names that runtimes give them, who is charged for a shared client, and sums
that equal the scripted engine time."""

import contextlib
import grp
import json
import os
import shutil
import signal
import subprocess
import time

from clients import PASSED, python
from model import machine
from vm import Exporter, Load, as_user, equal, near, points, rate, state, verdict, wait_for, write

BUSY = "intel_gpu_workload_engine_busy_seconds_total"
INFO = "intel_gpu_workload_info"
CGROUPS = "/sys/fs/cgroup"
ROOT = "/tmp/rootfs"
DEADLINE = 180  # seconds for what happens at once on a fast machine
NODES = ("/dev/dri/renderD128", "/dev/dri/renderD129")

IDS = {name: f"{n:x}" * 64 for n, name in enumerate(
    ("docker", "docker-fs", "burstable", "best-effort", "guaranteed", "cri-o", "burstable-fs", "guaranteed-fs",
     "podman", "rootless"), 1)}
PODS = {name: f"{n}{n}111111-2222-3333-4444-5555555555{n}{n}" for n, name in enumerate(
    ("burstable", "best-effort", "guaranteed", "cri-o", "burstable-fs", "guaranteed-fs"), 1)}


def slice_of(qos, name):
    """kubelet with the driver systemd: dashes of the uid become underscores."""
    uid = PODS[name].replace("-", "_")
    if not qos:
        return f"/kubepods.slice/kubepods-pod{uid}.slice"
    return f"/kubepods.slice/kubepods-{qos}.slice/kubepods-{qos}-pod{uid}.slice"


# Cgroup, percent of the video engines, the workload's name, and what its info says.
PLACES = {
    "docker": (f"/system.slice/docker-{IDS['docker']}.scope", 10, "encoder", {
        "kind": "container", "container": "encoder", "container_id": IDS["docker"]}),
    "docker-fs": (f"/docker/{IDS['docker-fs']}", 3, IDS["docker-fs"][:12], {
        "kind": "container", "container_id": IDS["docker-fs"]}),
    "burstable": (f"{slice_of('burstable', 'burstable')}/cri-containerd-{IDS['burstable']}.scope", 8,
                  "live/encoder-0", {"kind": "pod", "namespace": "live", "pod": "encoder-0", "pod_uid": PODS["burstable"]}),
    "best-effort": (f"{slice_of('besteffort', 'best-effort')}/cri-containerd-{IDS['best-effort']}.scope", 7,
                    "batch/thumbs-x7k", {"kind": "pod", "namespace": "batch", "pod": "thumbs-x7k"}),
    "guaranteed": (f"{slice_of('', 'guaranteed')}/cri-containerd-{IDS['guaranteed']}.scope", 6, PODS["guaranteed"], {
        "kind": "pod", "pod": "", "pod_uid": PODS["guaranteed"]}),
    "cri-o": (f"{slice_of('burstable', 'cri-o')}/crio-{IDS['cri-o']}.scope", 5, PODS["cri-o"], {
        "kind": "pod", "pod_uid": PODS["cri-o"]}),
    "burstable-fs": (f"/kubepods/burstable/pod{PODS['burstable-fs']}/{IDS['burstable-fs']}", 4,
                     PODS["burstable-fs"], {"kind": "pod", "pod_uid": PODS["burstable-fs"]}),
    "guaranteed-fs": (f"/kubepods/pod{PODS['guaranteed-fs']}/{IDS['guaranteed-fs']}", 2, PODS["guaranteed-fs"], {
        "kind": "pod", "pod_uid": PODS["guaranteed-fs"]}),
    "podman": (f"/machine.slice/libpod-{IDS['podman']}.scope", 9, IDS["podman"][:12], {
        "kind": "container", "container_id": IDS["podman"]}),
    "rootless": (f"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{IDS['rootless']}.scope", 11,
                 "transcoder", {"kind": "container", "container": "transcoder", "container_id": IDS["rootless"]}),
    "lxc": ("/lxc.payload.media", 12, "media", {"kind": "container", "container": "media"}),
    "nspawn": ("/machine.slice/machine-web.scope", 1, "web", {"kind": "container", "container": "web"}),
    "libvirt": (r"/machine.slice/machine-qemu\x2d1\x2dwin11.scope", 2.5, "win11", {
        "kind": "container", "container": "win11"}),
    "unit": ("/system.slice/jellyfin.service", 13, "jellyfin.service", {
        "kind": "systemd_unit", "systemd_unit": "jellyfin.service"}),
}


def make_root():
    """What kubelet, Docker and Podman leave on the host, below --path.rootfs."""
    shutil.rmtree(ROOT, ignore_errors=True)
    os.makedirs(f"{ROOT}/var/log/pods/live_encoder-0_{PODS['burstable']}/ffmpeg")
    os.makedirs(f"{ROOT}/var/log/pods/batch_thumbs-x7k_{PODS['best-effort']}/thumbs")
    docker = f"{ROOT}/var/lib/docker/containers/{IDS['docker']}"
    os.makedirs(docker)
    write(f"{docker}/config.v2.json", json.dumps({"ID": IDS["docker"], "Name": "/encoder",
                                                  "Config": {"Env": ["STREAM_KEY=secret"]}}))
    storage = f"{ROOT}/home/alice/.local/share/containers/storage/overlay-containers"
    os.makedirs(storage)
    write(f"{storage}/containers.json", json.dumps([{"id": IDS["rootless"], "names": ["transcoder"]}]))
    for path in (f"{ROOT}/home/alice", f"{storage}/containers.json"):  # as of the user in whose session it runs
        os.chown(path, 1000, 1000)


def cgroup(path):
    os.makedirs(CGROUPS + path, exist_ok=True)
    return f"{CGROUPS}{path}/cgroup.procs"


def inside(path):
    """A command prefix: in this cgroup."""
    return ["sh", "-c", 'echo $$ > "$0" && exec "$@"', cgroup(path)]


def busy(page, workload, cls="video", **labels):
    return page.sum(BUSY, workload=workload, **{"class": cls}, **labels)


def sums_to(name, a, b, device, cls, percent):
    """All workloads and what is unattributed have together exactly what was scripted, and no part is negative."""
    rate(f"{name}: {cls} of {device}, all workloads and the rest", a, b, BUSY, percent / 100, absolute=0.002,
         device=device, **{"class": cls})
    negative = [s for s in b.all(BUSY) if s[1] < 0]
    equal(f"{name}: nothing is negative", negative, [])


def runtimes(gpus):
    """Every runtime at once, one workload with clients on both GPUs, and time that no client explains."""
    make_root()
    tgl, bmg = gpus
    loads = [Load(f"video={percent}", "--dev", NODES[0], "--name", "ffmpeg", prefix=inside(path))
             for path, percent, _, _ in PLACES.values()]
    # The same unit on the other GPU, and another container of the same pod.
    loads.append(Load("video=20 mem=64M", "--dev", NODES[1], "--name", "ffmpeg", prefix=inside(PLACES["unit"][0])))
    loads.append(Load("video=30", "--dev", NODES[1], "--name", "mux", prefix=inside(
        f"{slice_of('burstable', 'burstable')}/cri-containerd-{'c' * 64}.scope")))
    tgl.ctl("engine vcs1 busy=20", "engine rcs0 busy=15")  # vcs0 has the clients
    with Exporter("--collector.workloads", f"--path.rootfs={ROOT}", what="runtimes") as exporter:
        exporter.scrape()
        a, b = exporter.window()
        for name, (_, percent, workload, labels) in PLACES.items():
            rate(f"{name}: engine seconds of {workload}", a, b, BUSY, percent / 100, absolute=0.001,
                 workload=workload, device=tgl.address, **{"class": "video"})
            points(f"{name}: ratio", b.get("intel_gpu_workload_engine_busy_ratio", workload=workload,
                                           device=tgl.address, **{"class": "video"}), percent / 100 / 2)
            found = b.all(INFO, workload=workload)
            equal(f"{name}: info", [{k: l.get(k, "") for k in labels} for l, _ in found], [labels])
        for workload, percent in (("jellyfin.service", 20), ("live/encoder-0", 30)):
            rate(f"{workload} on the other GPU", a, b, BUSY, percent / 100, absolute=0.001, workload=workload,
                 device=bmg.address, **{"class": "video"})
        equal("memory of a workload", b.get("intel_gpu_workload_memory_bytes", workload="jellyfin.service",
                                            device=bmg.address, memory_region="vram0", state="resident"), 64 << 20)
        equal("processes of a pod", b.get("intel_gpu_workload_processes", workload="live/encoder-0"), 2)
        clients = sum(percent for _, percent, _, _ in PLACES.values())
        # The clients and the PMU are read one after the other: what the clients use meanwhile is uncertain.
        meanwhile = (a.slowest + b.slowest) * clients / 100
        rate("no client explains it", a, b, BUSY, 0.20, absolute=0.01 * (clients + 20) / 100 + meanwhile,
             workload="unattributed", device=tgl.address, **{"class": "video"})
        sums_to("runtimes", a, b, tgl.address, "video", clients + 20)
        sums_to("runtimes", a, b, tgl.address, "render", 15)
        sums_to("runtimes", a, b, bmg.address, "video", 50)
        text = exporter.request("/metrics")[2]
        verdict(b"secret" not in text, "no environment of a container is on the page", "it is", "absent")

        # They end; what they used stays.
        for load in loads:
            load.stop()
        last = exporter.scrape()
        time.sleep(1.2)
        later = exporter.scrape()
        for name, (_, _, workload, _) in PLACES.items():
            verdict((busy(last, workload) or 0) >= (busy(b, workload) or 0) > 0, f"{name}: kept after the end",
                    busy(last, workload), f"at least {busy(b, workload)}")
            equal(f"{name}: and constant", busy(later, workload), busy(last, workload))
            equal(f"{name}: no process is left", later.get("intel_gpu_workload_processes", workload=workload), 0)
        tgl.ctl("engine vcs1 busy=0", "engine rcs0 busy=0")


def sharing(gpus):
    """One client in many hands is charged once; dup, fork, SCM_RIGHTS, exec, a change of cgroup."""
    tgl, _ = gpus
    t = {"device": tgl.address}
    one, two = "/system.slice/one.service", "/system.slice/two.service"
    dups = Load("render=10", "--name", "dups", "--dups", 3, "--heirs", 2, prefix=inside(one))
    giver, taker = python(PASSED, NODES[0])
    taker_pid = int(taker[1])
    write(cgroup("/system.slice/giver.service"), giver.pid)
    write(cgroup("/system.slice/taker.service"), taker_pid)
    mover = Load("video=40", "--name", "mover", prefix=inside("/system.slice/before.service"))
    exec_source = f"""
import os, sys
fd = os.open({NODES[0]!r}, os.O_RDWR)
os.write(fd, b'video-enhance=25')
os.set_inheritable(fd, True)
open('/proc/self/comm', 'w').write('first')
print('ready', flush=True)
sys.stdin.read(1)
os.execvp('tail', ['tail', '-f', '/dev/null'])
"""
    changer, _ = python(exec_source)
    with Exporter("--collector.workloads", what="sharing") as exporter:
        exporter.scrape()
        a, b = exporter.window()
        rate("dup and fork: once", a, b, BUSY, 0.10, absolute=0.001, workload="one.service", **{"class": "render"})
        equal("dup and fork: one client", b.get("intel_gpu_workload_clients", workload="one.service", **t), 1)
        equal("dup and fork: its processes", b.get("intel_gpu_workload_processes", workload="one.service"), 3)
        owner, other = ("giver", "taker") if giver.pid < taker_pid else ("taker", "giver")
        rate("SCM_RIGHTS: the lowest PID's workload", a, b, BUSY, 0.30, absolute=0.001, workload=f"{owner}.service",
             **{"class": "copy"})
        equal("SCM_RIGHTS: not the other's", busy(b, f"{other}.service", "copy") or 0, 0)
        rate("before exec", a, b, BUSY, 0.25, absolute=0.001, workload="first", **{"class": "video_enhance"})
        rate("before the change of cgroup", a, b, BUSY, 0.40, absolute=0.001, workload="before.service",
             **{"class": "video"})

        # The opener ends, as a launcher or a compositor does; exec; another cgroup.
        giver.kill()
        giver.wait()
        changer.stdin.write(b"x")
        changer.stdin.flush()
        wait_for(lambda: comm(changer.pid) == "tail", DEADLINE)
        write(cgroup(two), mover.pid)
        between = exporter.scrape()
        c, d = exporter.window()
        rate("after the giver's end the client is the taker's", c, d, BUSY, 0.30, absolute=0.001,
             workload="taker.service", **{"class": "copy"})
        equal("what the giver used stays", busy(d, "giver.service", "copy"), busy(between, "giver.service", "copy"))
        rate("after exec", c, d, BUSY, 0.25, absolute=0.001, workload="tail", **{"class": "video_enhance"})
        equal("what was counted before exec stays", busy(d, "first", "video_enhance"),
              busy(between, "first", "video_enhance"))
        rate("after the change of cgroup", c, d, BUSY, 0.40, absolute=0.001, workload="two.service",
             **{"class": "video"})
        equal("what was counted in the old cgroup stays", busy(d, "before.service"), busy(between, "before.service"))
        for cls, percent in (("render", 10), ("copy", 30), ("video", 40), ("video_enhance", 25)):
            sums_to("sharing", c, d, tgl.address, cls, percent)
            # over the changes, too: nothing is lost or counted twice
            sums_to("sharing, from the first page on", a, d, tgl.address, cls, percent)
    changer.kill()
    changer.wait()
    giver.stdin.close()  # the taker reads from it, too
    for load in (dups, mover):
        load.stop()


# OPENER NODE LOAD [LOAD NAME CGROUP]...: has a client of its own, opens one for each of its children, which take a name and a
# cgroup, and passes it to them. Closes it, unless the name begins with "kept".
OPENER = """
import os, socket, sys
node, own, *others = sys.argv[1:]
def client(load):
    fd = os.open(node, os.O_RDWR)
    os.write(fd, load.encode())
    return fd
mine, pids, kept = client(own), [], []
for load, name, cgroup in zip(others[::3], others[1::3], others[2::3]):
    here, there = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        os.close(mine)
        for fd in kept:
            os.close(fd)
        here.close()
        if cgroup:
            open(cgroup, 'w').write(str(os.getpid()))
        open('/proc/self/comm', 'w').write(name)
        fds = socket.recv_fds(there, 1, 1)[1]
        there.send(b'y')
        sys.stdin.read()
        os._exit(0)
    there.close()
    fd = client(load)
    socket.send_fds(here, [b'x'], [fd])
    here.recv(1)
    if name.startswith('kept'):
        kept.append(fd)
    else:
        os.close(fd)
    pids.append(pid)
print('ready', *pids, flush=True)
sys.stdin.read()
"""


def opened_for_others(gpus):
    """A compositor opens clients for its applications, a virtual machine for its guest: who holds them is charged."""
    tgl, _ = gpus
    user = "/user.slice/user-1000.slice/user@1000.service"
    compositor, _ = python(OPENER, NODES[0], "render=10",
                           "render=20", "browser", cgroup(f"{user}/app.slice/app-browser-7.scope"),
                           "copy=30", "game", cgroup(f"{user}/app.slice/app-game-8.scope"),
                           "video=25", "kept-player", cgroup(f"{user}/app.slice/app-player-9.scope"),
                           prefix=inside(f"{user}/session.slice/compositor.service"))
    # A guest has two contexts, one of them in a render server, which QEMU forks.
    vm, _ = python(OPENER, NODES[0], "video-enhance=12", "video-enhance=18", "render-server", "",
                   prefix=inside(r"/machine.slice/machine-qemu\x2d2\x2dguest.scope"))
    apps = {"app-browser-7.scope": ("render", 20), "app-game-8.scope": ("copy", 30)}
    with Exporter("--collector.workloads", what="opened for others") as exporter:
        exporter.scrape()
        a, b = exporter.window()
        for workload, (cls, percent) in apps.items():
            rate(f"{workload}: its client, which the compositor opened and closed", a, b, BUSY, percent / 100,
                 absolute=0.001, workload=workload, **{"class": cls})
            equal(f"{workload}: one client", b.get("intel_gpu_workload_clients", workload=workload,
                                                   device=tgl.address), 1)
        rate("compositor: its own client", a, b, BUSY, 0.10, absolute=0.001, workload="compositor.service",
             **{"class": "render"})
        equal("compositor: nothing of what it passed on", busy(b, "compositor.service", "copy") or 0, 0)
        rate("compositor: the client that it passed on and kept, as it has the lowest PID", a, b, BUSY, 0.25,
             absolute=0.001, workload="compositor.service", **{"class": "video"})
        equal("player: nothing, as the compositor holds its client", busy(b, "app-player-9.scope") or 0, 0)
        rate("virtual machine: all clients of its processes", a, b, BUSY, 0.30, absolute=0.001, workload="guest",
             **{"class": "video_enhance"})
        equal("virtual machine: both clients", b.get("intel_gpu_workload_clients", workload="guest",
                                                     device=tgl.address), 2)
        for cls, percent in (("render", 30), ("copy", 30), ("video", 25), ("video_enhance", 30)):
            sums_to("opened for others", a, b, tgl.address, cls, percent)

        compositor.kill()
        compositor.wait()
        between = exporter.scrape()
        c, d = exporter.window()
        rate("player: its client, after the compositor's end", c, d, BUSY, 0.25, absolute=0.001,
             workload="app-player-9.scope", **{"class": "video"})
        equal("compositor: what it used stays", [busy(d, "compositor.service", cls) for cls in ("render", "video")],
              [busy(between, "compositor.service", cls) for cls in ("render", "video")])
        for workload, (cls, percent) in apps.items():
            rate(f"{workload}: after the compositor's end", c, d, BUSY, percent / 100, absolute=0.001,
                 workload=workload, **{"class": cls})
        for cls, percent in (("render", 20), ("copy", 30), ("video", 25), ("video_enhance", 30)):
            sums_to("after the compositor's end", c, d, tgl.address, cls, percent)
    for process in (compositor, vm):
        process.stdin.close()  # their children read from it, too
    vm.wait()


def with_pid(pid, offset, start):
    """start() until its result, a Load, has this PID; somebody else may take it first. None: never.
    offset: from the PID of what starts first to that of the client's holder."""
    for _ in range(50):
        write("/proc/sys/kernel/ns_last_pid", pid - offset - 1)  # as after a round through a small pid_max
        load = start()
        if load.pid == pid:
            return load
        load.stop()
    return None


def lifetimes(gpus):
    """Clients that were there first, that come, go, and whose PID is used again; jobs of three seconds."""
    tgl, _ = gpus
    early = Load("render=50", "--name", "early", prefix=inside("/system.slice/early.service"))
    time.sleep(3)
    started = time.monotonic()
    with Exporter("--collector.workloads", what="lifetimes") as exporter:
        page = exporter.scrape()
        counted, most = busy(page, "early.service", "render"), 0.5 * (page.after - started)
        verdict(counted is not None and counted <= most * 1.01 + 0.01,
                "a client that was there first counts from the start of the exporter", counted, f"at most {most:.3f}")

        # one that comes between two scrapes counts whole
        before = time.monotonic()
        late = Load("copy=40", "--name", "late", prefix=inside("/system.slice/late.service"))
        after = time.monotonic()
        time.sleep(1.5)
        page = exporter.scrape()
        low, high = 0.4 * (page.before - after), 0.4 * (page.after - before)
        counted = busy(page, "late.service", "copy") or 0
        verdict(low * 0.99 - 0.002 <= counted <= high * 1.01 + 0.002,
                "a client first seen with time on it counts whole", f"{counted:.3f}", f"{low:.3f} to {high:.3f}")
        equal("a start is counted", page.get("intel_gpu_workload_started_total", workload="late.service"), 1)
        late.stop()

        # jobs of three seconds, each seen once; the rest of each is in nobody's name, but not lost
        first, scripted = exporter.scrape(), -busy_scripted(tgl)
        jobs = 3
        for _ in range(jobs):
            job = subprocess.Popen([*inside("/system.slice/job.service"), "gpuload", "--dev", NODES[0], "--name", "job",
                                    "--seconds", "3", "video=100"], stdout=subprocess.PIPE)
            job.stdout.readline()
            time.sleep(1.5)
            exporter.scrape()
            job.wait()
        scripted += busy_scripted(tgl)
        last = exporter.scrape()
        whole = sum((busy(last, w) or 0) - (busy(first, w) or 0) for w in ("job.service", "unattributed"))
        near("short jobs: their time and the rest is all of it", whole, scripted)
        seen = busy(last, "job.service") or 0
        verdict(seen >= 1.0 * jobs, "short jobs: what was seen of them stays", f"{seen:.3f}", f"at least {jobs} s")
        equal("short jobs: each start is counted",
              last.get("intel_gpu_workload_started_total", workload="job.service"), jobs)

        # a PID that is used again
        old = Load("video=30", "--name", "old", prefix=inside("/system.slice/old.service"))
        a, b = exporter.window()
        rate("old, before its end", a, b, BUSY, 0.30, absolute=0.001, workload="old.service", **{"class": "video"})
        pid, offset = old.pid, old.pid - old.process.pid
        old.stop()
        new = with_pid(pid, offset, lambda: Load("video=60", "--name", "new",
                                                 prefix=inside("/system.slice/new.service")))
        if verdict(new is not None, "the PID is used again", "never", pid):
            c, d = exporter.window()
            rate("new, with the old PID", c, d, BUSY, 0.60, absolute=0.001, workload="new.service",
                 **{"class": "video"})
            equal("old keeps its time", busy(d, "old.service"), busy(c, "old.service"))
            sums_to("with a PID used again", c, d, tgl.address, "video", 60)
            new.stop()
    early.stop()


def busy_scripted(gpu):
    """Seconds that the model's video engines have been busy."""
    engines = state()["gpus"][gpu.index]["engines"]
    return sum(values["busy_ns"] for name, values in engines.items() if gpu.engine_class(name) == "video") / 1e9


def trees(gpus):
    """A shell script and its children are one workload; a rules file that changes."""
    tgl, _ = gpus
    script = subprocess.Popen(["sh", "-c", "gpuload --name enc 'video=20' >/dev/null &"
                               " gpuload --name enc 'video=15' >/dev/null & sh -c 'while :; do :; done' & wait"])
    try:
        # gpuload forks the process that holds the client
        verdict(wait_for(lambda: len(below(script.pid)) == 5, DEADLINE), "the script has its children",
                below(script.pid), 5)
        wait_for(lambda: len(holders(script.pid)) == 2, DEADLINE)
        with Exporter(f"--workload.tree=channel={script.pid}", what="trees") as exporter:
            exporter.scrape()
            a, b = exporter.window()
            w = {"workload": "channel"}
            equal("tree: its info", [l["kind"] for l, _ in b.all(INFO, **w)], ["tree"])
            equal("tree: processes", b.get("intel_gpu_workload_processes", **w), 6)
            rate("tree: engine time of all members", a, b, BUSY, 0.35, absolute=0.001, **w, **{"class": "video"})
            cpu = "intel_gpu_workload_cpu_seconds_total"
            used = b.sum(cpu, **w) - a.sum(cpu, **w)
            verdict(0.05 < used <= (b.after - a.before) * 2, "tree: the processor time of a member without a GPU", used,
                    "up to two processors")
            sums_to("tree", a, b, tgl.address, "video", 35)
            os.kill(holders(script.pid)[0], signal.SIGKILL)
            verdict(wait_for(lambda: len(holders(script.pid)) == 1 and exporter.scrape().get(
                "intel_gpu_workload_processes", **w) == 1 + len(below(script.pid)), DEADLINE), "tree: a member less",
                len(below(script.pid)), "one less on the page")
            page = exporter.scrape()
            verdict(busy(page, "channel") >= busy(b, "channel"), "tree: a member that ended stays counted",
                    busy(page, "channel"), f"at least {busy(b, 'channel')}")
    finally:
        for pid in below(script.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        script.wait()

    rules = "/tmp/rules.yml"
    write(rules, 'rules:\n  - name: "channel {cgroup:1}"\n    match: {cgroup: "/system.slice/ch-*.service"}\n')
    with Load("video=10", "--name", "enc", prefix=inside("/system.slice/ch-news.service")), \
            Load("video=5", "--name", "other", prefix=inside("/system.slice/other.service")), \
            Exporter("--collector.workloads", f"--workload.rules={rules}", what="rules") as exporter:
        exporter.scrape()
        a, b = exporter.window()
        rate("rules: a name with a part of the cgroup", a, b, BUSY, 0.10, absolute=0.001, workload="channel news",
             **{"class": "video"})
        rate("rules: what none matches keeps its unit", a, b, BUSY, 0.05, absolute=0.001, workload="other.service",
             **{"class": "video"})
        write(rules, 'rules:\n  - name: "all of {user}"\n    match: {user: root}\n')
        verdict(wait_for(lambda: busy(exporter.scrape(), "all of root"), DEADLINE), "rules: a change is followed",
                "no group", "all of root")
        held = busy(exporter.scrape(), "channel news")
        write(rules, "rules: [\n")
        verdict(wait_for(lambda: exporter.scrape() and "/tmp/rules.yml" in "".join(exporter.warnings()), DEADLINE),
                "rules: an error is logged with its file", exporter.warnings()[-1:], rules)
        c, d = exporter.window()
        rate("rules: the last valid ones stay in use", c, d, BUSY, 0.15, absolute=0.001, workload="all of root",
             **{"class": "video"})
        equal("rules: an old group keeps its time", busy(d, "channel news"), held)


def below(pid):
    """PIDs of its descendants."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            children = [int(child) for child in f.read().split()]
    except OSError:
        return []
    return children + [p for child in children for p in below(child)]


def comm(pid):
    try:
        with open(f"/proc/{pid}/comm") as f:
            return f.read().strip()
    except OSError:
        return ""


def holders(pid):
    return [p for p in below(pid) if comm(p) == "enc"]


def allowed(gpus):
    """As root, with CAP_SYS_PTRACE only, with nothing."""
    tgl, _ = gpus
    render = grp.getgrnam("render").gr_gid
    loads = [Load("video=20", "--name", "by-root", prefix=inside("/system.slice/root.service")),
             Load("video=10", "--name", "by-alice",
                  prefix=[*inside("/system.slice/alice.service"), *as_user(1000, [render])])]
    tgl.ctl("engine vcs0 busy=5")
    for who, prefix, everybody, measured in (("root", (), True, True),
                                             ("ptrace", as_user(1000, [render], ["sys_ptrace"]), True, False),
                                             ("nobody", as_user(1000), False, False)):
        with Exporter("--collector.workloads", prefix=prefix, what=f"workloads as {who}") as exporter:
            exporter.scrape()
            a, b = exporter.window()
            rate(f"{who}: alice's workload", a, b, BUSY, 0.10, absolute=0.001, workload="alice.service",
                 **{"class": "video"})
            if everybody:
                rate(f"{who}: root's workload", a, b, BUSY, 0.20, absolute=0.001, workload="root.service",
                     **{"class": "video"})
            else:
                equal(f"{who}: root's workload is not visible", b.all(BUSY, workload="root.service"), [])
            if measured:
                sums_to(who, a, b, tgl.address, "video", 35)
            else:
                equal(f"{who}: nothing is unattributed where nothing is measured",
                      b.all(BUSY, workload="unattributed", device=tgl.address), [])
            failed = [l["collector"] for l, v in b.all("intel_gpu_scrape_collector_success") if v != 1]
            equal(f"{who}: no collector fails", failed, [])
    tgl.ctl("engine vcs0 busy=0")
    for load in loads:
        load.stop()


def workloads():
    """On `tgl+bmg`."""
    gpus = machine("tgl+bmg")
    for step in (runtimes, sharing, opened_for_others, lifetimes, trees, allowed):
        step(gpus)
