# SPDX-License-Identifier: Apache-2.0
"""What the exporter reads in a container with which privileges: the table of docs/containers.md.

The image that image.py has built runs under real OCI runtimes (runc, crun) in the rig's guest (tests/vm/rig): a real kernel with
its perf, /proc and device permissions, and modelled GPUs. Seccomp profiles are those of Debian's packages of the
engines, AppArmor profiles those that the engines' packages generate. That kernel boots without SELinux: the page's statements
about it were not tested.
IGPU_UPDATE=1 rewrites the table."""

import glob
import json
import os
import re
import shutil
import tempfile

from checks import NAME, SOURCE, WORK, check, equal, finish, output, run

DOCS = f"{SOURCE}/docs/containers.md"
PERF, PTRACE = "CAP_PERFMON", "CAP_SYS_PTRACE"

# Columns of the first table: privileges, from none to all.
RIGHTS = {
    "plain": {},
    "gpu": {"gpu": True},
    "sidecar": {"gpu": True, "pid": "pod", "no_new_privs": True},
    "perfmon": {"gpu": True, "capabilities": [PERF]},
    "host": {"gpu": True, "capabilities": [PTRACE], "pid": "host"},
    "node": {"gpu": True, "capabilities": [PERF, PTRACE], "pid": "host"},
}
TITLES = {
    "plain": "no privileges", "gpu": "/dev/dri, group render", "sidecar": "the same, process namespace shared with the pod",
    "perfmon": "/dev/dri, CAP_PERFMON", "host": "/dev/dri, host's PIDs, CAP_SYS_PTRACE",
    "node": "/dev/dri, host's PIDs, CAP_PERFMON, CAP_SYS_PTRACE"}
ROWS = {
    "sysfs": "frequency, limits, throttle reasons, RC6", "hwmon": "card: power, temperature, fan (hwmon)",
    "engines": "engines", "mean": "mean frequency, interrupts, wait", "rapl": "integrated GPU: power (RAPL)",
    "imc": "memory bandwidth", "size": "memory size", "used": "card: memory in use",
    "own_pod": "processes of the pod", "others": "processes of the rest of the node"}
# The second: what blocks perf in spite of CAP_PERFMON.
OBSTACLES = {
    "containerd": ("containerd 1.6", {"engine": "containerd"}, "-"),
    "kubernetes": ("the same with `allowPrivilegeEscalation: false`", {"engine": "containerd", "no_new_privs": True}, "-"),
    "docker": ("Docker 20.10", {"engine": "docker"}, "Docker 23 or newer, or `--security-opt seccomp=FILE` as below"),
    "docker-new": ("Docker with a profile that permits perf with CAP_PERFMON", {"engine": "docker", "seccomp": "containerd"}, "-"),
    "docker-nnp": ("the same with `--security-opt no-new-privileges`",
                   {"engine": "docker", "seccomp": "containerd", "no_new_privs": True}, "omit that option"),
    "podman": ("Podman, CRI-O (containers-common 0.50)", {"engine": "podman"},
               "`--security-opt seccomp=FILE` as below; newer profiles need nothing"),
    "podman-fixed": ("the same with that file", {"engine": "podman", "seccomp": "fixed"}, "-"),
    "paranoid3": ("`kernel.perf_event_paranoid` 3 (Debian)", {"paranoid": 3}, "on the host: `sysctl kernel.perf_event_paranoid=2`"),
}


# The third: which processes are visible under the AppArmor profiles that the engines load.
CONFINED = {
    "apparmor-docker-pod": ("Docker 20.10, process namespace shared with the transcoder",
                            {"gpu": True, "pid": "pod-docker", "engine": "docker", "apparmor": "docker"}),
    "apparmor-containerd-pod": ("containerd 1.6, process namespace shared with the transcoder",
                                {"gpu": True, "pid": "pod-containerd", "apparmor": "containerd"}),
    "apparmor-docker-host": ("Docker 20.10, host's PIDs, CAP_SYS_PTRACE",
                             {**RIGHTS["host"], "engine": "docker", "apparmor": "docker"}),
    "apparmor-containerd-host": ("containerd 1.6, host's PIDs, CAP_SYS_PTRACE", {**RIGHTS["host"], "apparmor": "containerd"}),
    "apparmor-unconfined-host": ("the same, unconfined", RIGHTS["host"]),
}
CONFINED_HINTS = {
    "apparmor-docker-pod": "", "apparmor-containerd-pod": "", "apparmor-docker-host": "`--security-opt apparmor=unconfined`",
    "apparmor-containerd-host": "`appArmorProfile: {type: Unconfined}`, before Kubernetes 1.30 an annotation",
    "apparmor-unconfined-host": ""}


def unpacked(folder, *packages):
    """Debian packages, downloaded and unpacked, never installed: their dependencies are hundreds."""
    os.makedirs(folder, exist_ok=True)
    run("apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", *packages, cwd=folder)
    for package in glob.glob(f"{folder}/*.deb"):
        run("dpkg-deb", "-x", package, folder)
        os.unlink(package)
    return folder


def seccomp_profiles(share, work):
    packages = unpacked(f"{work}/packages", "golang-github-containerd-containerd-dev", "golang-github-docker-docker-dev",
                        "golang-github-opencontainers-specs-dev", "golang-golang-x-sys-dev", "golang-github-containers-common")
    shutil.copy(f"{packages}/usr/share/gocode/src/github.com/docker/docker/profiles/seccomp/default.json", f"{share}/seccomp-docker.json")
    shutil.copy(f"{packages}/usr/share/containers/seccomp.json", f"{share}/seccomp-podman.json")
    shutil.copy(f"{packages}/usr/share/containers/seccomp.json", f"{share}/seccomp.json")
    # The command of the documentation, unchanged.
    line = re.search(r"^(jq .*seccomp\.json) > ", open(DOCS).read(), re.M).group(1)
    fixed = output("bash", "-c", line.replace("/usr/share/containers/seccomp.json", f"{share}/seccomp.json"))
    with open(f"{share}/seccomp-fixed.json", "w") as f:
        f.write(fixed)
    # Of containerd's package only the table; the rest of its folder would need hundreds of other packages.
    os.unlink(f"{packages}/usr/share/gocode/src/github.com/containerd/containerd/contrib/seccomp/seccomp.go")
    environment = {**os.environ, "GO111MODULE": "off", "GOPATH": f"{packages}/usr/share/gocode", "GOCACHE": f"{work}/go-cache",
                   "GOFLAGS": ""}
    for capabilities in ([], [PERF], [PTRACE], [PERF, PTRACE]):
        profile = output("go", "run", f"{SOURCE}/tests/packaging/containerd_seccomp.go", *capabilities, env=environment)
        with open(f"{share}/seccomp-containerd{'-'.join([''] + sorted(capabilities))}.json", "w") as f:
            f.write(profile)


def apparmor_profiles(share, work):
    packages = f"{work}/packages"
    parser = unpacked(f"{work}/parser", "apparmor")
    os.makedirs(f"{share}/apparmor")
    shutil.copy(f"{parser}/sbin/apparmor_parser", f"{share}/apparmor/")
    shutil.copytree(f"{parser}/etc/apparmor.d", f"{share}/apparmor/apparmor.d", symlinks=True)
    source = f"{packages}/usr/share/gocode/src/github.com"
    for engine, path in {"docker": "docker/docker/profiles", "containerd": "containerd/containerd/contrib"}.items():
        template = shutil.copy(f"{source}/{path}/apparmor/template.go", f"{work}/{engine}.template")  # "go run" would compile it
        profile = output("go", "run", f"{SOURCE}/tests/packaging/apparmor_profile.go", template, engine,
                         env={**os.environ, "GO111MODULE": "off", "GOCACHE": f"{work}/go-cache", "GOFLAGS": ""})
        with open(f"{share}/apparmor/{engine}", "w") as f:
            f.write(profile)


def prepare(share, work):
    root = f"{WORK}/rootfs"
    if not os.path.exists(f"{root}/usr/bin/{NAME}"):
        raise SystemExit(f"no image at {root}: run tests/packaging/image.py first")
    run("cp", "-a", "--no-preserve=xattr", root, f"{share}/rootfs")
    with open(f"{share}/capabilities", "w") as f:
        f.write(output("getcap", f"{root}/usr/bin/{NAME}").split()[-1])
    os.makedirs(f"{share}/runtime/lib")
    for runtime in ("crun", "runc"):
        path = shutil.which(runtime, path="/usr/bin:/usr/sbin")
        shutil.copy(path, f"{share}/runtime/lib/{runtime}")
        for library in re.findall(r"=> (/\S+)", output("ldd", path)):
            if not os.path.basename(library).startswith(("libc.so", "ld-linux", "libpthread", "libm.so")):
                shutil.copy(library, f"{share}/runtime/lib/")
    seccomp_profiles(share, work)
    apparmor_profiles(share, work)
    scenarios = {**RIGHTS, **{f"perf-{name}": {**RIGHTS["perfmon"], **more} for name, (_, more, _) in OBSTACLES.items()},
                 **{name: scenario for name, (_, scenario) in CONFINED.items()}}
    with open(f"{share}/scenarios.json", "w") as f:
        json.dump(scenarios, f)
    shutil.copy(f"{SOURCE}/tests/packaging/guest/matrix.py", share)


def tables(results):
    lines = ["| | " + " | ".join(TITLES[name] for name in RIGHTS) + " |", "|---" * (len(RIGHTS) + 1) + "|"]
    words = {True: "yes", False: "-", "pmu": "yes", "clients": "by the visible processes", "": "-"}
    for key, title in ROWS.items():
        lines.append(f"| {title} | " + " | ".join(words[results[name][key]] for name in RIGHTS) + " |")
    lines += ["", "| with CAP_PERFMON and | perf | fix | [its own sandbox](sandbox.md) |", "|---|---|---|---|"]
    for name, (title, _, hint) in OBSTACLES.items():
        result = results["perf-" + name]
        off = result["sandbox_off"]
        lines.append(f"| {title} | {'works' if result['engines'] == 'pmu' else 'refused'} | {hint} | "
                     f"{'without ' + ', '.join(off) if off else 'complete'} |")
    lines += ["", "| AppArmor profile of | sees processes under the same profile | sees the rest of the node | fix |", "|---|---|---|---|"]
    for name, (title, _) in CONFINED.items():
        seen = results[name]
        others = "not in the namespace" if "pid" in CONFINED[name][1] and CONFINED[name][1]["pid"] != "host" else words[seen["others"]]
        hint = CONFINED_HINTS[name] if not (seen["own_pod"] and (seen["others"] or others.startswith("not"))) else ""
        lines.append(f"| {title} | {words[seen['own_pod']]} | {others} | {hint or '-'} |")
    return "\n".join(lines) + "\n"


def main():
    work = tempfile.mkdtemp(dir=WORK, prefix="containers.")
    try:
        share = f"{work}/share"
        os.makedirs(share)
        os.chmod(share, 0o755)
        prepare(share, work)
        text = output(f"{SOURCE}/tests/vm/rig/run", "multi", "--share", share, "--time", "1650", "--cmd",
                      "python3 /share/matrix.py", timeout=1650)
        print(text)
        results = json.loads(text.splitlines()[-1])
    finally:
        shutil.rmtree(work, ignore_errors=True)
    for name, result in results.items():
        if check(f"{name}: it runs", "error" not in result, result):
            equal(f"{name}: its health check agrees", result["healthcheck"], 0)
            check(f"{name}: it has its own sandbox, too", len(result["sandbox_on"]) >= 3, result)
    if any("error" in result for result in results.values()):
        finish()
    # Must not change unnoticed, whatever the documentation says.
    for key in ("own_pod", "others"):
        check(f"a plain container sees no process ({key})", not results["gpu"][key], results["gpu"])
    check("a sidecar sees the pod's processes and no others", results["sidecar"]["own_pod"] and not results["sidecar"]["others"],
          results["sidecar"])
    # client_finder: CAP_BPF, which this manifest does not give, only saves time.
    # kernel_log: CAP_SYSLOG and /dev/kmsg, which it withholds, too.
    check("the node's exporter sees all but the error state, which is root's file, and the kernel log",
          all(results["node"][row] for row in ROWS) and
          set(results["node"]["denied"]) - {"client_finder"} == {"error_state", "kernel_log"}, results["node"])

    with open(DOCS) as f:
        document = f.read()
    begin, end = "<!-- table: tests/packaging/containers.py -->\n", "<!-- end of table -->\n"
    head, rest = document.split(begin)
    old, tail = rest.split(end)
    new = tables(results)
    if os.environ.get("IGPU_UPDATE") == "1" and old != new:
        with open(DOCS, "w") as f:
            f.write(head + begin + new + end + tail)
    else:
        check("docs/containers.md shows what was seen", old == new, f"IGPU_UPDATE=1 rewrites it; seen:\n{new}")
    finish()


main()
