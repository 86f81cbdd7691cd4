# SPDX-License-Identifier: Apache-2.0
"""The static file on a kernel for arm64, and the tests that ask a kernel: sandbox, perf events, processes, BPF. There is no GPU; a
simulated one stands for it. `run` unpacks the tests to where they were built."""

import glob
import json
import os
import re
import subprocess
import sys

import vm
from vm import Exporter, equal, near, present, read, run_tool, verdict

LAYERS = ["capabilities", "core_dumps", "landlock", "no_new_privs", "seccomp"]


def confined(name, pid):
    """Every thread of this process, as the kernel has it."""
    fields = [read(path) for path in glob.glob(f"/proc/{pid}/task/*/status")]
    equal(f"{name}: a filter of system calls, and no new privileges, in every thread",
          {tuple(re.findall(r"^(?:NoNewPrivs|Seccomp):\s+(\d)", text, re.M)) for text in fields}, {("1", "2")})


def layers_on(name, page):
    equal(f"{name}: layers of the sandbox that are on",
          sorted(labels["layer"] for labels, value in page.all("intel_gpu_exporter_sandbox") if value == 1), LAYERS)


def commands():
    code, text = run_tool("--version")
    verdict(code == 0 and "intel-gpu-exporter, version" in text, "--version", (code, text), "the version")
    code, text = run_tool("list")
    equal("list of a machine without a GPU ends well", code, 0)
    code, text = run_tool("stats", "--simulate=rack")
    verdict(code == 0 and "0000:" in text, "stats of a simulated machine", (code, text[-300:]), "its GPUs")
    code, text = run_tool("doctor", "--json")
    said = json.loads(next(line for line in text.splitlines() if line.startswith("{")))
    equal("doctor: layers of the sandbox that are not on", [layer for layer in said["sandbox"] if not layer["on"]], [])
    verdict(code != 0 and not said["gpus"], "doctor: no GPU", (code, said["gpus"]), "not 0, and none")


def serving():
    with Exporter("--simulate=rack", what="simulated") as exporter:
        page = exporter.scrape()
        present("simulated: engines", page, "intel_gpu_engine_busy_ratio")
        layers_on("simulated", page)
        confined("simulated", exporter.pid)
        # The page says it in bytes, the kernel in pages.
        near("simulated: resident memory", page.get("process_resident_memory_bytes"), exporter.status("VmRSS") * 1024, relative=0.1)
        print(f"   resident: {exporter.status('VmRSS')} kB with pages of {os.sysconf('SC_PAGESIZE')} bytes", flush=True)
    with Exporter(what="no GPU") as exporter:
        page = exporter.scrape()
        layers_on("no GPU", page)
        confined("no GPU", exporter.pid)
        for child in exporter.children():
            confined(read(f"/proc/{child}/comm"), child)
        verdict(exporter.children(), "no GPU: another process opens perf events", exporter.children(), "one")
        equal("no GPU: warnings", [line for line in exporter.warnings() if "no Intel GPU" not in line], [])
        # The processor's meters of energy and of memory traffic, which x86 has.
        equal("no meter of x86", [name for name in os.listdir("/sys/bus/event_source/devices") if name.startswith(("power", "uncore"))], [])


def doctest(program, *files):
    """One line for each file of tests; what it could not check here is printed."""
    for file in files:
        done = subprocess.run([program, "--no-intro", f"--source-file=*/{file}_test.cpp"], capture_output=True, timeout=1200, cwd="/tmp")
        text = (done.stdout + done.stderr).decode(errors="replace")
        cases = re.search(r"test cases: +(\d+)", text)
        verdict(done.returncode == 0 and cases and int(cases[1]) > 0, f"{os.path.basename(program)}: {file}", text[-3000:], "passed")
        for line in re.findall(r"not checked: .*", text):
            print(f"   {file}: {line}", flush=True)


def arm64(page_size):
    equal("the machine", (os.uname().machine, os.sysconf("SC_PAGESIZE")), ("aarch64", page_size))
    top = read("/share/arm64.top")
    tests = f"{top}/build/arm64/tests"
    commands()
    serving()
    doctest(f"{tests}/kernel_tests", "kernel/sandbox", "kernel/perf_opener", "kernel/pmu_session", "kernel/device_users",
            "kernel/proc_walk", "kernel/process_tree", "kernel/message_with_fd")
    doctest(f"{tests}/end_to_end_tests", "end_to_end/sandbox", "end_to_end/sandbox_attempts")
    done = subprocess.run([sys.executable, f"{top}/tests/end_to_end/sandbox_calls.py", vm.BINARY, top, "plain", "tls"], capture_output=True, timeout=1200)
    text = (done.stdout + done.stderr).decode(errors="replace")
    verdict(done.returncode == 0, "no system call of its own is refused by its sandbox", text[-3000:], "none")
