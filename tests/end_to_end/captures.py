# SPDX-License-Identifier: Apache-2.0
"""The command capture and --simulate capture:FILE, on the real program.

    captures.py BINARY SOURCE"""

import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import exporter_under_test  # noqa: E402

BINARY = os.path.abspath(sys.argv[1])


def run(*arguments, prefix=(), **options):
    done = subprocess.run([*prefix, BINARY, *arguments], capture_output=True, text=True, timeout=120, **options)
    return done.returncode, done.stdout, done.stderr


def check(what, condition, detail=""):
    exporter_under_test.check(condition, what if condition else f"{what}: {detail}")


def packed(path, content, kind=tarfile.REGTYPE, link=""):
    """A .tar.zst with one member."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        member = tarfile.TarInfo(path)
        member.type, member.linkname, member.size = kind, link, len(content)
        archive.addfile(member, io.BytesIO(content))
    return subprocess.run(["zstd", "-q"], input=plain.getvalue(), capture_output=True, check=True).stdout


def check_bug_report(folder):
    """An archive for a kernel bug names no program that used a GPU."""
    path = f"{folder}/bug.tar.zst"
    code, out, errors = run("doctor", f"--bug={path}", "--simulate", "rack")
    check("doctor --bug succeeds", code == 0, (code, errors))
    page = json.loads(run("stats", "--format=json", "--simulate", "rack")[1])
    programs = {client["comm"] for gpu in page["gpus"] for client in gpu["metrics"].get("intel_gpu_process_clients", [])}
    check("programs use the GPUs", {"ffmpeg", "obs"} <= programs, programs)
    text = subprocess.run(["tar", "--zstd", "-xOf", path], capture_output=True, check=True).stdout.decode(errors="replace")
    check("the report of doctor is in it", "Sandbox of `serve`" in text, text[-500:])
    check("it names none of them", not re.findall(rf"\b({'|'.join(map(re.escape, programs))})\b", text),
          re.findall(rf".*\b(?:{'|'.join(map(re.escape, programs))})\b.*", text)[:3])


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/gpu.tar.zst"
        code, out, errors = run("capture", path, "--simulate", "rack", umask=0)
        check("capture succeeds", code == 0, (code, errors))
        check("it gives the same page", "it gives the same page" in " ".join(out.split()), out)
        check("its lines fit a terminal", max(map(len, out.splitlines())) <= 80, out)
        hint = [line for line in out.splitlines() if line.startswith("  tar ")]
        check("it ends with two commands for this file", len(hint) == 2 and path in hint[0] and path in hint[1], out)
        for line in hint:
            done = subprocess.run(line, shell=True, capture_output=True, text=True)
            check(f"{line.strip()} works", done.returncode == 0 and done.stdout, done)
        odd_name = "Read it's contents; echo no"
        code, out, errors = run("capture", odd_name, "--simulate", "arc-a770", cwd=folder)
        line = out.splitlines()[-1]
        done = subprocess.run(line, shell=True, capture_output=True, text=True, cwd=folder)
        check("they quote a name for the shell", done.returncode == 0 and done.stdout and "no\n" not in done.stdout, (line, done))
        os.remove(f"{folder}/{odd_name}")
        check("only its owner can read it", os.stat(path).st_mode & 0o777 == 0o600, oct(os.stat(path).st_mode))
        check("nothing else is left", os.listdir(folder) == ["gpu.tar.zst"], os.listdir(folder))
        with open(path, "rb") as file:
            bytes_before = file.read()
        code, out, errors = run("capture", path, "--simulate", "rack")
        check("a file that exists is not replaced", code == 1 and errors.count("\n") == 1 and "File exists" in errors, errors)
        with open(path, "rb") as file:
            check("and stays as it was", file.read() == bytes_before)
        names = subprocess.run(["tar", "--zstd", "-tf", path], capture_output=True, text=True, check=True).stdout.split()
        check("tar lists its files", {"capture", "left-out", "1/index", "3/index"} <= set(names), names[:5])

        live = run("list", "--json", "--simulate", "rack")
        check("it has the same GPUs", run("list", "--json", "--simulate", f"capture:{path}") == live)
        code, out, errors = run("stats", "--simulate", f"capture:{path}", "--format", "json")
        check("stats reads it", code == 0 and "intel_gpu_engine_busy_ratio" in out, errors)

        check_bug_report(folder)

        for what, arguments, status in (("no file", (), 2), ("two files", ("a", "b"), 2),
                                        ("a folder that is not there", (f"{folder}/none/a",), 1)):
            code, out, errors = run("capture", *arguments)
            check(f"capture with {what} ends with one line", code == status and errors.count("\n") == 1, (code, errors))
        # Signals and errors at the moment when all of the file is written, but has no name yet.
        # strace traces the program, and LeakSanitizer cannot work then.
        traced = {**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
        for what, fault, status in (("SIGINT", "signal=INT", -signal.SIGINT), ("a full disk", "error=ENOSPC", 1)):
            os.mkdir(f"{folder}/empty")
            code, out, errors = run("capture", f"{folder}/empty/a", "--simulate", "arc-a770", env=traced, prefix=(
                "strace", "-qq", "-f", "-o", "/dev/null", "-e", "trace=fsync", "-e", f"inject=fsync:{fault}"))
            left = os.listdir(f"{folder}/empty")
            check(f"{what} while it writes leaves no part of a file", code == status and left in ([], ["a"]), (code, errors, left))
            for name in left:
                os.remove(f"{folder}/empty/{name}")
            os.rmdir(f"{folder}/empty")
        check("a full disk is one line", "No space left on device" in errors and errors.count("\n") == 1, errors)

        done = subprocess.run([BINARY, "capture", "-", "--simulate", "rack"], capture_output=True, timeout=120)
        check("the file can be standard output", done.returncode == 0 and done.stdout[:4] == bytes_before[:4], done.stderr)
        check("and then the report is on standard error", b"it gives the same page" in b" ".join(done.stderr.split()), done.stderr)
        with open(f"{folder}/output", "wb") as file:
            file.write(done.stdout)
        check("it is a capture", run("list", "--json", "--simulate", f"capture:{folder}/output") == live)
        terminal, other_end = pty.openpty()
        done = subprocess.run([BINARY, "capture", "-", "--simulate", "rack"], stdout=other_end, stderr=subprocess.PIPE, timeout=120)
        check("a terminal is not", done.returncode == 2 and b"terminal" in done.stderr, done.stderr)
        os.close(other_end)
        os.close(terminal)

        hostile = {"a path that leaves it": packed("../../x", b"x"), "an absolute path": packed("/x", b"x"),
                   "a link": packed("x", b"", tarfile.SYMTYPE, "/etc/passwd"), "a device": packed("x", b"", tarfile.CHRTYPE),
                   "a bomb": packed("x", bytes(300 << 20)), "a truncated one": bytes_before[:-100],
                   "something else": b"hello", "nothing": b"", "no capture": packed("x", b"x")}
        for what, content in hostile.items():
            with open(f"{folder}/bad", "wb") as file:
                file.write(content)
            code, out, errors = run("list", "--simulate", f"capture:{folder}/bad")
            check(f"{what} is rejected with one line", code == 1 and errors.count("\n") == 1 and not out, (code, errors))
        code, out, errors = run("list", "--simulate", f"capture:{folder}/none")
        check("a missing capture is one line", code == 1 and "No such file" in errors and errors.count("\n") == 1, errors)
    exporter_under_test.finish()


main()
