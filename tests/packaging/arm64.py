# SPDX-License-Identifier: Apache-2.0
"""The files for arm64, built on this machine: contents and dependencies, and what the program prints under qemu-user, which is what
the program of this machine prints, byte for byte. Then the tests of the library's and the program's parts."""

import glob
import os
import re
import signal
import subprocess
import tempfile
import urllib.request

from checks import BINARY, NAME, SOURCE, check, equal, finish, output, run

BUILT = f"{SOURCE}/build/arm64/packages"
MOST_BYTES = 13_000_000  # Debian 12's linker for arm64 does not pack relocations
FORMATS = ("table", "json", "nvtop", "waybar")
# When it was printed.
NOW = re.compile(r'"time":[\d.]+|\d{4}-\d\d-\d\dT[\d:.]+Z|\d\d:\d\d:\d\d', re.M)
PROFILES = ("rack", "arc-a770", "tgl-broadcast")

# What cannot be run under qemu-user: file of the unit test, test cases of it, as patterns.
NOT_UNDER_QEMU = {
    # The emulator has a thread of its own, which nothing confines: the sandbox counts it, and is right to.
    "server/sandbox/sandbox": ["a trial does not change this process"],
    # It has no seccomp, with which the tests make a file system that hangs.
    "server/web_config/follower": ["while a file system hangs*", "the program ends while a check hangs*"],
    # The kernel starts a program for arm64 only where binfmt_misc is set up for the whole machine.
    "support/machine_archive": ["the tool packs and unpacks*"],
}


def elf(path):
    text = output("readelf", "--file-header", "--program-headers", "--dynamic", "--wide", path)
    return (re.search(r"Machine: +(\S+)", text)[1], "INTERP" in text, re.findall(r"NEEDED.*\[(.*)\]", text), [int(a, 16) for a in re.findall(r"^ +LOAD .* (0x[0-9a-f]+)$", text, re.M)])


def static_file():
    found = glob.glob(f"{BUILT}/{NAME}-*-linux-arm64")
    if not check("there is one static file", len(found) == 1, found):
        return None
    machine, loader, libraries, alignments = elf(found[0])
    equal("it is for arm64, and needs neither a loader nor a library", (machine, loader, libraries), ("AArch64", False, []))
    check("its parts lie on pages of any size that a kernel has", min(alignments) >= 65536, alignments)
    check("its size", os.path.getsize(found[0]) <= MOST_BYTES, os.path.getsize(found[0]))
    return found[0]


def same_output(static, work):
    """As the program of this machine: every value goes through code that was compiled for another processor."""
    def both(*arguments):
        results = [run(*program, *arguments, check_status=False) for program in ([BINARY], ["qemu-aarch64-static", static])]
        mine, other = [(status, NOW.sub("TIME", text)) for status, text in results]
        difference = [pair for pair in zip(mine[1].splitlines(), other[1].splitlines()) if pair[0] != pair[1]]
        check(f"as on amd64: {' '.join(arguments).replace(work, '...')}", mine == other and mine[0] == 0 and mine[1], (other[0], difference[:5], other[1][-300:]))

    for profile in PROFILES:
        capture = f"{work}/{profile}.tar.zst"
        run(BINARY, "capture", capture, f"--simulate={profile}")
        both("stats", "--format=prometheus", f"--simulate=capture:{capture}")
    capture = f"--simulate=capture:{work}/{PROFILES[0]}.tar.zst"
    for name in FORMATS:
        both("stats", f"--format={name}", capture)
    for arguments in (["query"], ["query", "--list"], ["list"], ["top", "--once"]):
        both(*arguments, capture)
    both("help", "serve")


def serving(static):
    process = subprocess.Popen(["qemu-aarch64-static", static, "--simulate=rack", "--web.listen-address=127.0.0.1:0"], stderr=subprocess.PIPE, text=True)
    lines, port = [], None
    for line in process.stderr:
        lines.append(line)
        if found := re.search(r"127\.0\.0\.1:(\d+)", line):
            port = found[1]
            break
    try:
        if check("it serves", port is not None, "".join(lines)):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=120) as answer:
                check("a page of a simulated machine", "intel_gpu_engine_busy_ratio" in answer.read().decode())
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=120)
    equal("ended by SIGTERM", process.returncode, 0)


def this_machine(static):
    status, text = run("qemu-aarch64-static", static, "doctor", check_status=False)
    check("doctor", status in (0, 1) and "GPU" in text, text[-600:])
    for shell in ("bash", "zsh", "fish"):
        check(f"completion {shell}", "--simulate" in output("qemu-aarch64-static", static, "completion", shell))
    check("man", ".TH " in output("qemu-aarch64-static", static, "man"))


def packages(static):
    """The .deb and the .rpm, beside the .deb of this machine."""
    deb, = glob.glob(f"{BUILT}/{NAME}_*_arm64.deb")
    rpm, = glob.glob(f"{BUILT}/{NAME}-*.aarch64.rpm")
    native, = glob.glob(f"{SOURCE}/build/release/packages/{NAME}_*_amd64.deb")
    fields = {path: {key: output("dpkg-deb", "--field", path, key).strip() for key in ("Architecture", "Version", "Depends", "Recommends")} for path in (deb, native)}
    equal("the package is for arm64, of the same version", (fields[deb]["Architecture"], fields[deb]["Version"]), ("arm64", fields[native]["Version"]))

    def names(path):
        return sorted(re.sub(r" .*", "", name) for name in fields[path]["Depends"].split(", "))

    equal("it depends on the same packages, but for the Level Zero tracker's", set(names(native)) - {"libgcc-s1"}, set(names(deb)))
    equal("and recommends the same", fields[deb]["Recommends"], fields[native]["Recommends"])
    files = {path: set(re.findall(r"^\S+ \S+ +\S+ \S+ \S+ \./(.*)$", output("dpkg-deb", "--contents", path), re.M)) for path in (deb, native)}
    equal("it has the same files but the Level Zero tracker", sorted(f for f in files[deb] ^ files[native] if "level-zero" not in f), [])
    with tempfile.TemporaryDirectory() as root:
        run("dpkg-deb", "--extract", deb, root)
        program = f"{root}/usr/bin/{NAME}"
        equal("its program is for arm64", elf(program)[:2], ("AArch64", True))
        sysroot = output(f"{SOURCE}/third_party/fetch-arm64").strip()
        equal("which runs with Debian's libraries", run("qemu-aarch64-static", "-L", sysroot, program, "--version", check_status=False),
              (0, output("qemu-aarch64-static", static, "--version")))
    equal("the .rpm is for arm64", output("rpm", "--query", "--queryformat", "%{ARCH} %{NAME}", "--package", rpm), f"aarch64 {NAME}")
    requires = output("rpm", "--query", "--requires", "--package", rpm)
    check("and requires libraries of 64 bits", "libssl.so.3()(64bit)" in requires and "libc.so.6(GLIBC" in requires, requires)


def tests():
    run("cmake", "--build", "--preset", "arm64", "--target", "unit_tests", "golden_tests", cwd=SOURCE, timeout=2400)
    folder = f"{SOURCE}/build/arm64/tests"
    excluded = f"/unit/({'|'.join(NOT_UNDER_QEMU)})$"
    status, text = run("ctest", "--test-dir", folder, "--label-regex", "^(unit|golden)$", "--exclude-regex", excluded,
                       "--output-on-failure", "-j", str(os.cpu_count()), timeout=2400, check_status=False)
    passed = re.search(r"100% tests passed, 0 tests failed out of (\d+)", text)
    check("unit and golden tests", status == 0 and passed and int(passed[1]) > 200, text[-6000:])
    sysroot = output(f"{SOURCE}/third_party/fetch-arm64").strip()
    for name, cases in NOT_UNDER_QEMU.items():
        status, text = run("qemu-aarch64-static", "-L", sysroot, f"{folder}/unit_tests", "--no-intro", f"--source-file=*/{name}_test.cpp",
                           f"--test-case-exclude={','.join(cases)}", check_status=False)
        passed = re.search(r"test cases: +(\d+) \| +(\d+) passed \| 0 failed", text)
        check(f"unit test {name}, but for {len(cases)}", status == 0 and passed and int(passed[2]) > 0, text[-3000:])


def main():
    run(f"{SOURCE}/deploy/package/build", "arm64", timeout=2400)
    static = static_file()
    if static:
        with tempfile.TemporaryDirectory() as work:
            same_output(static, work)
        serving(static)
        this_machine(static)
        packages(static)
    tests()
    finish()


main()
