# SPDX-License-Identifier: Apache-2.0
"""The library's packages, installed: programs in C, C++ and Python that know nothing of this tree, shared and static."""

import contextlib
import glob
import lzma
import os
import re
import shutil
import subprocess
import tempfile

from checks import PACKAGES, SOURCE, check, equal, finish, output, run

TRIPLET = output("dpkg-architecture", "-qDEB_HOST_MULTIARCH").strip()
LIBDIR = f"/usr/lib/{TRIPLET}"
EXAMPLES = ["one_shot", "callback", "coroutine", "one_shot_c", "main_loop", "one_shot.py"]


# Headers of all metrics, whose structs grow with each release.
STATIC_ONLY = {"collectable", "collector_set", "feature", "flight", "metric", "monitor", "option", "options", "page", "workload_rules"}


class Machine:
    """This machine's files with a layer above them that takes all changes: packages are really installed, and it stays as it is."""

    def __init__(self, folder):
        self.folder = folder
        # Its own mount namespace, which ends with this process. Commands enter it.
        self.holder = subprocess.Popen(["unshare", "--mount", "sh", "-c", """
            set -e
            mount --make-rprivate /
            mount -t tmpfs tmpfs "$0"
            mkdir "$0/changes" "$0/work" "$0/root"
            mount -t overlay overlay -o "lowerdir=/,upperdir=$0/changes,workdir=$0/work" "$0/root"
            mount --bind /proc "$0/root/proc"
            mount --bind /dev "$0/root/dev"
            mount -t tmpfs tmpfs "$0/root/tmp"
            mkdir -p "$0/root$1"  # gone if the sources are below /tmp
            mount -t tmpfs tmpfs "$0/root$1"
            echo ready
            read -r end""", folder, SOURCE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.holder.stdout.readline() != "ready\n":
            raise RuntimeError("no overlay on this machine's root")
        self.root = f"/proc/{self.holder.pid}/root{folder}/root"

    def run(self, *command, **more):
        more.setdefault("env", {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"})
        return run("nsenter", f"--target={self.holder.pid}", "--mount", "chroot", f"{self.folder}/root", *command, **more)

    def copy(self, path, there):
        target = self.root + there
        shutil.copytree(path, target) if os.path.isdir(path) else shutil.copy(path, target)

    def close(self):
        self.holder.communicate("\n")


@contextlib.contextmanager
def machine():
    with tempfile.TemporaryDirectory() as folder:
        made = Machine(folder)
        try:
            yield made
        finally:
            made.close()


def package(name):
    found = glob.glob(f"{PACKAGES}/{name}_*.deb")
    if len(found) != 1:
        raise SystemExit(f"FAIL one package {name} was built: {found}")
    return found[0]


def contents(runtime, development, python, abi):
    for deb in (runtime, development, python):
        # Only an upload to Debian itself would have to close a bug; cpack calls ldconfig besides the trigger.
        status, text = run("lintian", "--allow-root", "--fail-on", "error,warning", "--suppress-tags",
                           "initial-upload-closes-no-bugs,maintscript-calls-ldconfig", deb, check_status=False)
        name = os.path.basename(deb).split("_")[0]
        equal(f"lintian finds no error and no warning in {name}", (status, [l for l in text.splitlines() if l[:2] in ("E:", "W:")]), (0, []))

    def files(deb):
        return {line.split(None, 5)[5].split(" -> ")[0][1:] for line in output("dpkg-deb", "-c", deb).splitlines() if line[0] in "-l"}

    name = f"libigpu{abi}"
    version = output("dpkg-deb", "-f", runtime, "Version").strip().split("-")[0].split("~")[0]
    equal(f"{name} has the library and its documents", files(runtime),
          {f"{LIBDIR}/libigpu.so.{abi}", f"{LIBDIR}/libigpu.so.{version}", f"/usr/share/doc/{name}/copyright",
           f"/usr/share/doc/{name}/changelog.Debian.gz"})
    private = {"capture", "displays", "duration", "job", "job_recorder", "json_strings", "level_zero", "message_with_fd", "missing", "model", "perf_opener", "token_bucket", "unique_fd", "words"}  # for the program
    headers = {os.path.basename(path) for path in glob.glob(f"{SOURCE}/collectors/include/igpu/*.h")} | {"version.h"}
    headers -= {f"{header}.h" for header in private}
    headers = {f"igpu-static/igpu/{header}" if header[:-2] in STATIC_ONLY else f"igpu/{header}" for header in headers}
    config = {f"{LIBDIR}/cmake/igpu/igpu-{part}.cmake" for part in (
        "config", "config-version", "targets", "targets-relwithdebinfo", "static-targets", "static-targets-relwithdebinfo")}
    equal("libigpu-dev has headers, the static library, and what CMake and pkg-config read", files(development),
          {f"/usr/include/{header}" for header in headers} | config |
          {f"{LIBDIR}/{part}" for part in ("libigpu.a", "libigpu.so", "pkgconfig/igpu.pc", "pkgconfig/igpu-static.pc")} |
          {f"/usr/share/doc/libigpu-dev/examples/{name}" for name in os.listdir(f"{SOURCE}/examples")} |
          {"/usr/share/doc/libigpu-dev/copyright", "/usr/share/doc/libigpu-dev/changelog.Debian.gz"})
    equal("python3-igpu is one file", files(python),
          {"/usr/lib/python3/dist-packages/igpu.py"} | {f"/usr/share/doc/python3-igpu/{name}" for name in ("copyright", "changelog.Debian.gz")})
    equal("libigpu-dev needs exactly this version of the library",
          re.search(rf"{re.escape(name)} \(= ([^)]+)\)", output("dpkg-deb", "-f", development, "Depends")).group(1),
          output("dpkg-deb", "-f", runtime, "Version").strip())
    equal("the Debian packages of programs that link it depend on it", output("dpkg-deb", "-I", runtime, "shlibs"),
          f"libigpu {abi} {name} (>= {version}~)\n")
    for deb in (runtime, development, python):
        print(f"size {os.path.basename(deb)}: {os.path.getsize(deb) / 1000:.0f} kB")


def exports(there, abi):
    library = f"{there.root}{LIBDIR}/libigpu.so.{abi}"
    equal("its name has the version of its ABI", re.search(r"SONAME +(\S+)", output("objdump", "-p", library)).group(1), f"libigpu.so.{abi}")
    symbols = [line.split(None, 2)[2] for line in output("nm", "--dynamic", "--defined-only", "--demangle", library).splitlines()]
    ours = re.compile(rf"(igpu_\w+|(vtable for |typeinfo for |typeinfo name for )?igpu::.*)@@IGPU_{re.escape(abi)}$|IGPU_{re.escape(abi)}(@@.*)?$")
    equal("it exports nothing but its own interface", [symbol for symbol in symbols if not ours.match(symbol)], [])
    with lzma.open(f"{SOURCE}/tests/contract/abi/libigpu.abi.xz", "rt") as f:
        released = set(re.findall(r"<elf-symbol name='([^']+)'", f.read()))
    exported = {line.split()[2].split("@")[0] for line in output("nm", "--dynamic", "--defined-only", library).splitlines()}
    check("the last release's interface is known", {"igpu_open", "_ZN4igpu3Gpu4listEv", "_ZTIN4igpu5NoGpuE"} <= released, sorted(released))
    equal("and it exports all of that", sorted(released - exported), [])


def example(there, command):
    return there.run(*command, check_status=False, timeout=120)


def consumers(there, abi):
    there.run("cp", "-r", "/usr/share/doc/libigpu-dev/examples", "/tmp/examples")
    there.copy(f"{SOURCE}/tests/contract/consume", "/tmp/consume")
    there.run("cmake", "-G", "Ninja", "-S", "/tmp/examples", "-B", "/tmp/examples/build", "-DCMAKE_BUILD_TYPE=Debug")
    there.run("cmake", "--build", "/tmp/examples/build")
    for name in EXAMPLES:
        program = ["/usr/bin/python3", "-B", f"/tmp/examples/{name}"] if name.endswith(".py") else [f"/tmp/examples/build/{name}"]
        status, text = example(there, [*program, "rack"])
        check(f"example {name} reads the simulated machine", status == 0 and re.search(r"\d %", text), (status, text))
        status, text = example(there, [*program, "no-such-machine"])
        check(f"example {name} reports a wrong option in one line", status == 1 and "no-such-machine" in text and text.count("\n") == 1, (status, text))
    loaded = output("objdump", "-p", f"{there.root}/tmp/examples/build/one_shot")
    check("programs load the shared library", f"NEEDED               libigpu.so.{abi}" in loaded, loaded)

    pipeline = "fakesrc num-buffers=40 ! identity sleep-time=50000 ! igpuload interval=200 simulate={} ! fakesink"
    launch = ["env", "GST_PLUGIN_PATH=/tmp/examples/build", "GST_REGISTRY=/tmp/gst-registry", "gst-launch-1.0", "-m"]
    status, text = example(there, [*launch, *pipeline.format("rack").split()])
    loads = [float(value) for value in re.findall(r"igpu-load, render=\(double\)([\d.e-]+)", text)]
    check("the GStreamer element posts the load on the bus", status == 0 and loads and all(0 < load < 1 for load in loads), (status, text[-2000:]))
    status, text = example(there, [*launch, *pipeline.format("no-such-machine").split()])
    check("and an error instead of starting", status != 0 and "no-such-machine" in text and "igpu-load" not in text, (status, text[-2000:]))

    flags = {kind: there.run("pkg-config", "--cflags", "--libs", kind)[1].split() for kind in ("igpu", "igpu-static")}
    for kind, compiler, source in (("igpu", ["c++", "-std=c++20"], "one_shot.cpp"), ("igpu", ["cc"], "one_shot.c"),
                                   ("igpu-static", ["c++", "-std=c++20"], "one_shot.cpp"), ("igpu-static", ["cc"], "one_shot.c")):
        program = f"/tmp/{kind}-{source}.out"
        there.run(*compiler, f"/tmp/examples/{source}", *flags[kind], "-o", program)
        status, text = example(there, [program, "rack"])
        check(f"{source}, compiled with the flags of pkg-config {kind}, runs", status == 0 and re.search(r"\d %", text), (status, text))
        loads = "libigpu" in output("objdump", "-p", there.root + program)
        equal(f"and loads the library only if it is shared ({kind})", loads, kind == "igpu")

    # Whoever links the shared library finds no header whose functions it lacks.
    status, text = there.run("c++", "-std=c++20", "/tmp/consume/main.cpp", *flags["igpu"], "-o", "/tmp/main", check_status=False)
    check("monitor.h is not found by users of the shared library", status != 0 and "igpu/monitor.h: No such file" in text, text)
    status, text = there.run("c++", "-std=c++20", "/tmp/consume/main.cpp", *flags["igpu-static"], "-o", "/tmp/main", check_status=False)
    check("and is found by users of the static one", status == 0, text)
    equal("who read all GPUs", example(there, ["/tmp/main"])[0], 0)
    for kind, folder in (("igpu", "/usr/include/igpu"), ("igpu-static", "/usr/include/igpu-static/igpu")):
        for header in sorted(os.listdir(there.root + folder)):
            status, text = there.run("c++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", *flags[kind], "-include",
                                     f"igpu/{header}", "-x", "c++", "/dev/null", check_status=False)
            check(f"{header} is complete for users of {kind}", status == 0, text)

    # A program of C alone: CMake has no C++ compiler then.
    os.makedirs(f"{there.root}/tmp/only-c")
    with open(f"{there.root}/tmp/only-c/CMakeLists.txt", "w") as f:
        f.write("cmake_minimum_required(VERSION 3.16)\nproject(only_c LANGUAGES C)\nfind_package(igpu 0.1 REQUIRED)\n"
                "add_executable(one_shot /tmp/examples/one_shot.c)\ntarget_link_libraries(one_shot igpu::igpu)\n")
    there.run("cmake", "-G", "Ninja", "-S", "/tmp/only-c", "-B", "/tmp/only-c/build")
    there.run("cmake", "--build", "/tmp/only-c/build")
    equal("a CMake project of C alone builds and runs", example(there, ["/tmp/only-c/build/one_shot", "rack"])[0], 0)

    there.run("cmake", "-G", "Ninja", "-S", "/tmp/consume", "-B", "/tmp/consume/build", "-DSHARED=ON")
    there.run("cmake", "--build", "/tmp/consume/build")
    for name, words in (("consume", "3 GPUs"), ("one_gpu", "card77")):
        status, text = example(there, [f"/tmp/consume/build/{name}"])
        check(f"a program outside this tree, {name}", status == 0 and words in text, (status, text))


def main():
    with open(f"{SOURCE}/CHANGELOG.md") as f:
        abi = re.search(r"^## (\d+\.\d+)\.", f.read(), re.M).group(1)
    packages = runtime, development, python = package(f"libigpu{abi}"), package("libigpu-dev"), package("python3-igpu")
    contents(runtime, development, python, abi)
    with machine() as there:
        check("the source tree is out of reach", not os.listdir(there.root + SOURCE), os.listdir(there.root + SOURCE))
        for deb in packages:
            there.copy(deb, "/tmp/")
        there.run("dpkg", "-i", *[f"/tmp/{os.path.basename(deb)}" for deb in packages])
        exports(there, abi)
        consumers(there, abi)
        there.run("dpkg", "--purge", "python3-igpu", "libigpu-dev", f"libigpu{abi}")
        left = there.run("find", "/usr", "/etc", "/var/lib/dpkg/info", "-name", "*igpu*", "-not", "-path", "*intel-gpu*")[1]
        equal("purging them leaves nothing", left, "")
    finish()


main()
