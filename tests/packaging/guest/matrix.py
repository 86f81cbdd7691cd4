# SPDX-License-Identifier: Apache-2.0
"""In the rig's guest: the image's root file system under an OCI runtime, once for each set of privileges, on a real kernel
with modelled GPUs. Prints one JSON object: scenario -> content of its page."""

import glob
import grp
import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request

SHARE, WORK = "/share", "/tmp/containers"
RENDER = grp.getgrnam("render").gr_gid
USER = 65532


def write(path, text):
    with open(path, "w") as f:
        f.write(str(text))


def gpuload(load, name, *options, prefix=()):
    process = subprocess.Popen([*prefix, "gpuload", "--name", name, *options, load], stdout=subprocess.PIPE)
    words = process.stdout.readline().split()
    if not words or words[0] != b"ready":
        sys.exit(f"gpuload: {words}")
    return process


def devices():
    nodes = []
    for path in sorted(glob.glob("/dev/dri/*")):
        status = os.stat(path)
        nodes.append({"path": path, "type": "c", "major": os.major(status.st_rdev), "minor": os.minor(status.st_rdev),
                      "fileMode": 0o660, "uid": 0, "gid": status.st_gid})
    return nodes


def seccomp(runtime, capabilities):
    """The profile of that runtime for these capabilities, as its tables are evaluated; None for none."""
    if runtime == "none":
        return None
    with open(f"{SHARE}/seccomp-{runtime}.json") as f:
        profile = json.load(f)
    if runtime == "containerd":  # already evaluated by its program; one file with the capability, one without
        with open(f"{SHARE}/seccomp-containerd{'-'.join([''] + sorted(capabilities))}.json") as f:
            return json.load(f)
    calls = []
    for group in profile["syscalls"]:
        includes, excludes = group.get("includes") or {}, group.get("excludes") or {}
        if includes.get("arches") and "amd64" not in includes["arches"]:
            continue
        if excludes.get("arches") and "amd64" in excludes["arches"]:
            continue
        if includes.get("caps") and not set(includes["caps"]) <= set(capabilities):
            continue
        if set(excludes.get("caps") or []) & set(capabilities):
            continue
        call = {"names": group["names"], "action": group["action"]}
        if group.get("args"):
            call["args"] = group["args"]
        if group.get("errnoRet") is not None:
            call["errnoRet"] = group["errnoRet"]
        calls.append(call)
    filtered = {"defaultAction": profile["defaultAction"], "syscalls": calls,
                "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"]}
    if profile.get("defaultErrnoRet") is not None:
        filtered["defaultErrnoRet"] = profile["defaultErrnoRet"]
    return filtered


def process_capabilities(engine, capabilities):
    """What each engine configures for a user that is not root."""
    if engine == "docker":
        return {"bounding": capabilities}
    sets = ["bounding", "effective", "permitted"] + (["inheritable", "ambient"] if engine == "podman" else [])
    return {name: capabilities for name in sets}


def runtime(scenario):
    """The OCI runtime that comes with the engine."""
    name = "crun" if scenario.get("engine") == "podman" else "runc"
    return [f"/tmp/runtime/{name}", "--root", f"{WORK}/{name}"] + (["--cgroup-manager=cgroupfs"] if name == "crun" else [])


def bundle(name, scenario, port):
    """An OCI bundle as the engines write it for a container whose user is not root."""
    capabilities = scenario.get("capabilities", [])
    namespaces = [{"type": "mount"}, {"type": "ipc"}, {"type": "uts"}]
    if scenario.get("pid") != "host":
        namespaces.append({"type": "pid", **({"path": scenario["pid"]} if scenario.get("pid") else {})})
    gpu = scenario.get("gpu", False)
    config = {
        "ociVersion": "1.0.2",
        "process": {
            "user": {"uid": scenario.get("user", USER), "gid": scenario.get("user", USER),
                     "additionalGids": [RENDER] if gpu else []},
            "args": ["/usr/bin/intel-gpu-exporter", f"--web.listen-address=127.0.0.1:{port}", *scenario.get("flags", [])],
            "env": ["PATH=/usr/bin"], "cwd": "/", "noNewPrivileges": scenario.get("no_new_privs", False),
            "capabilities": process_capabilities(scenario.get("engine", "containerd"), capabilities),
        },
        "root": {"path": "/tmp/rootfs", "readonly": True},
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc", "options": ["nosuid", "noexec", "nodev"]},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755", "size=65536k"]},
            {"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": ["nosuid", "noexec", "nodev", "ro"]},
        ],
        "linux": {
            "namespaces": namespaces,
            "devices": devices() if gpu else [],
            "resources": {"devices": [{"allow": False, "access": "rwm"}] + [
                {"allow": True, "type": "c", "major": d["major"], "minor": d["minor"], "access": "rw"}
                for d in (devices() if gpu else [])]},
            "maskedPaths": ["/proc/asound", "/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
                            "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware"],
            "readonlyPaths": ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"],
        },
    }
    if scenario.get("pid") == "host":  # a mount of proc in the host's namespace shows the host's processes
        config["mounts"][0] = {"destination": "/proc", "type": "bind", "source": "/proc", "options": ["rbind", "nosuid"]}
    if scenario.get("apparmor"):
        config["process"]["apparmorProfile"] = scenario["apparmor"]
    profile = seccomp(scenario.get("seccomp", scenario.get("engine", "containerd")), capabilities)
    if profile:
        config["linux"]["seccomp"] = profile
    path = f"{WORK}/{name}"
    os.makedirs(path)
    write(f"{path}/config.json", json.dumps(config))
    return path


def page(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20) as answer:
        return answer.read().decode()


def shown(text):
    """Which of the table's rows the page has."""
    def has(pattern):
        return re.search(pattern, text, re.M) is not None
    names = set(re.findall(r'^intel_gpu_process_clients\{.*comm="([a-z-]+)"', text, re.M))
    return {
        "sysfs": has(r"^intel_gpu_frequency_hertz\{") and has(r"^intel_gpu_rc6_residency_ratio\{"),
        "hwmon": has(r'^intel_gpu_power_watts\{.*source="hwmon"'),
        "engines": "pmu" if has(r'^intel_gpu_engine_busy_ratio\{.*source="pmu"') else
                   "clients" if has(r'^intel_gpu_engine_busy_ratio\{.*source="fdinfo"') else "",
        "mean": has(r"^intel_gpu_frequency_average_hertz\{"),
        "rapl": has(r'^intel_gpu_power_watts\{.*source="rapl_pmu"'),
        "imc": has(r"^intel_gpu_memory_bandwidth_bytes_total\{"),
        "size": has(r"^intel_gpu_memory_size_bytes\{"),
        "used": has(r'^intel_gpu_memory_used_bytes\{.*memory_region="local0"'),
        "sandbox_off": sorted(re.findall(r'^intel_gpu_exporter_sandbox\{layer="(\w+)"\} 0', text, re.M)),
        "sandbox_on": sorted(re.findall(r'^intel_gpu_exporter_sandbox\{layer="(\w+)"\} 1', text, re.M)),
        "own_pod": "in-pod" in names,
        "others": "elsewhere" in names,
    }


def run(name, scenario, port):
    path = bundle(name, scenario, port)
    log = open(f"{path}/log", "wb")
    command = runtime(scenario)
    process = subprocess.Popen([*command, "run", "--bundle", path, name],
                               stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 30
        while True:
            try:
                page(port)
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    return {"error": open(f"{path}/log").read()[-600:]}
                time.sleep(0.1)
        time.sleep(1.5)
        text = page(port)
        health = subprocess.run([*command, "exec", name, "/usr/bin/intel-gpu-exporter", "healthcheck",
                                 f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
        result = shown(text)
        result["healthcheck"] = health.returncode
        result["denied"] = sorted(set(re.findall(
            r'^intel_gpu_exporter_feature_available\{.*feature="([a-z0-9_]+)",reason="permission"\} 0', text, re.M)))
        return result
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            subprocess.run([*command, "kill", name, "KILL"], check=False)
            process.wait(20)


def load_apparmor():
    """The kernel's AppArmor, with the engines' profiles."""
    if not os.path.isdir("/sys/kernel/security/apparmor"):
        subprocess.run(["mount", "-t", "securityfs", "securityfs", "/sys/kernel/security"], check=True)
    shutil.copytree(f"{SHARE}/apparmor", "/tmp/apparmor", symlinks=True)
    for profile in ("docker", "containerd"):
        subprocess.run(["/tmp/apparmor/apparmor_parser", "--add", "--skip-cache", "--base", "/tmp/apparmor/apparmor.d",
                        f"/tmp/apparmor/{profile}"], check=True)


class Pod:
    """A process namespace that containers share, with a transcoder of the exporter's user in it, under a profile."""

    def __init__(self, profile=None):
        user = ["setpriv", "--reuid", str(USER), "--regid", str(USER), "--groups", str(RENDER), "--bounding-set", "-all",
                "--inh-caps", "-all"]
        confine = f"echo 'exec {profile}' > /proc/self/attr/exec; " if profile else ""
        self.process = subprocess.Popen(
            ["unshare", "--pid", "--fork", "--mount-proc", *user, "bash", "-c",
             confine + "exec gpuload --name in-pod 'render=10 mem=64M'"], stdout=subprocess.PIPE)
        words = self.process.stdout.readline().split()
        if not words or words[0] != b"ready":
            sys.exit(f"gpuload under {profile}: {words}")
        first = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True, check=True).stdout.split()[0]
        with open(f"/proc/{first}/attr/current") as f:
            is_confined = f.read().strip("\0\n")
        if is_confined.split(" ")[0] != (profile or "unconfined"):
            sys.exit(f"the transcoder is {is_confined}, not under {profile}")
        self.namespace = f"/proc/{first}/ns/pid"


def main():
    os.makedirs(WORK)
    # Not on the share: here file capabilities, set-id rules and device files are the kernel's own.
    subprocess.run(["cp", "-a", f"{SHARE}/rootfs", "/tmp/rootfs"], check=True)
    subprocess.run(["chown", "-R", "0:0", "/tmp/rootfs"], check=True)
    subprocess.run(["setcap", open(f"{SHARE}/capabilities").read().strip(), "/tmp/rootfs/usr/bin/intel-gpu-exporter"], check=True)
    shutil.copytree(f"{SHARE}/runtime", "/tmp/runtime")
    for name in ("crun", "runc"):
        write(f"/tmp/runtime/{name}", f'#!/bin/sh\nLD_LIBRARY_PATH=/tmp/runtime/lib exec /tmp/runtime/lib/{name} "$@"\n')
        os.chmod(f"/tmp/runtime/{name}", 0o755)

    outside = gpuload("video=20", "elsewhere", prefix=["setpriv", "--reuid", "1000", "--regid", "1000", "--groups", str(RENDER)])
    load_apparmor()
    pods = {"pod": Pod(), "pod-docker": Pod("docker"), "pod-containerd": Pod("containerd")}

    with open(f"{SHARE}/scenarios.json") as f:
        scenarios = json.load(f)
    results = {}
    for number, (name, scenario) in enumerate(scenarios.items()):
        if scenario.get("pid") in pods:
            scenario["pid"] = pods[scenario["pid"]].namespace
        write("/proc/sys/kernel/perf_event_paranoid", scenario.get("paranoid", 2))
        results[name] = run(name, scenario, 20000 + number)
        print(name, results[name], file=sys.stderr, flush=True)
    outside.terminate()
    for pod in pods.values():
        pod.process.terminate()
    print(json.dumps(results))


main()
