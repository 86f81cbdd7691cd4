#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program and its service manager: readiness, watchdog, stop, sockets that were opened for it; and the warning when
everybody can read.

usage: service.py EXPORTER_BINARY REPOSITORY_ROOT
"""
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

failures = 0


def check(condition, what):
    global failures
    if not condition:
        failures += 1
        print("FAIL", what)


def wait_for(condition, what, seconds=60):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        result = condition()
        if result:
            return result
        time.sleep(0.02)
    raise SystemExit(f"{what} did not happen within {seconds} s")


class Program:
    """Started with descriptors 3, 4, ... and with LISTEN_PID as a service manager would set it."""

    def __init__(self, binary, log, arguments, environment={}, sockets=()):
        self.log = log
        # One short-lived parent of the program: it moves the sockets to their numbers and becomes the program.
        start = ("import os, sys\n"
                 "fds = [int(fd) for fd in sys.argv[1].split(',') if fd]\n"
                 "fds = [os.dup2(fd, 100 + i) for i, fd in enumerate(fds)]\n"
                 "for i, fd in enumerate(fds): os.dup2(fd, 3 + i, inheritable=True); os.close(fd)\n"
                 "if fds: os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(fds)))\n"
                 "os.execv(sys.argv[2], sys.argv[2:])\n")
        numbers = ",".join(str(s.fileno()) for s in sockets)
        with open(log, "w") as stderr:
            self.process = subprocess.Popen([sys.executable, "-c", start, numbers, binary, "--simulate=asleep", *arguments], stderr=stderr,
                                            env=dict(os.environ, **environment), pass_fds=[s.fileno() for s in sockets])

    def text(self):
        return self.log.read_text()

    def listens(self):
        wait_for(lambda: "msg=listening" in self.text() or self.process.poll() is not None, "listening")
        check(self.process.poll() is None, f"it runs: {self.text()}")
        return self

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        check(self.process.wait(60) == 0, f"it ended with {self.process.returncode}: {self.text()}")


def ask(family, address, target="/metrics"):
    with socket.socket(family, socket.SOCK_STREAM) as client:
        client.settimeout(60)
        client.connect(address)
        client.sendall(f"GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        answer = b""
        while True:
            piece = client.recv(65536)
            if not piece:
                return answer
            answer += piece


class Manager:
    def __init__(self, name):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(name.replace("@", "\0", 1))
        self.socket.settimeout(60)

    def next(self):
        return self.socket.recv(4096).decode().split("\n")

    def close(self):
        self.socket.close()


def notify(binary, work):
    for name in (str(work / "notify"), f"@igpu-service-test-{os.getpid()}"):
        manager = Manager(name)
        program = Program(binary, work / "log", ["--web.listen-address=127.0.0.1:0"], {"NOTIFY_SOCKET": name})
        ready = manager.next()
        check(ready[0] == "READY=1" and ready[1].startswith("STATUS=serving on 127.0.0.1:"), f"{name}: {ready}")
        port = int(ready[1].rpartition(":")[2])
        check(b" 200 " in ask(socket.AF_INET, ("127.0.0.1", port), "/-/ready")[:20], "what says that it is ready is ready")
        program.stop()
        check(manager.next()[0] == "STOPPING=1", "the end is told")
        manager.close()


def watchdog(binary, work):
    manager = Manager(str(work / "watchdog"))
    environment = {"NOTIFY_SOCKET": str(work / "watchdog"), "WATCHDOG_USEC": "200000"}
    program = Program(binary, work / "log", ["--web.listen-address=127.0.0.1:0"], environment)
    check(manager.next()[0] == "READY=1", "ready")
    for _ in range(5):
        check(manager.next() == ["WATCHDOG=1"], "it is alive, again and again")
    # Stopped, it says nothing; let go, it speaks again.
    program.process.send_signal(signal.SIGSTOP)
    wait_for(lambda: "T (stopped)" in pathlib.Path(f"/proc/{program.process.pid}/status").read_text(), "the stop")
    manager.socket.settimeout(0)
    try:
        while True:
            manager.next()  # what was on its way
    except BlockingIOError:
        pass
    manager.socket.settimeout(1)
    try:
        check(False, f"a stopped program says {manager.next()}")
    except TimeoutError:
        pass
    manager.socket.settimeout(60)
    program.process.send_signal(signal.SIGCONT)
    check(manager.next() == ["WATCHDOG=1"], "it is alive again")
    program.stop()
    manager.close()

    # Without the manager's wish nothing runs between scrapes.
    manager = Manager(str(work / "quiet"))
    program = Program(binary, work / "log", ["--web.listen-address=127.0.0.1:0"], {"NOTIFY_SOCKET": str(work / "quiet")})
    check(manager.next()[0] == "READY=1", "ready")
    manager.socket.settimeout(1)
    try:
        check(False, f"unasked it says {manager.next()}")
    except TimeoutError:
        pass
    program.stop()
    manager.close()


def unreachable_manager(binary, work):
    program = Program(binary, work / "log", ["--web.listen-address=127.0.0.1:0"], {"NOTIFY_SOCKET": str(work / "nobody")})
    program.listens()
    told = [line for line in program.text().splitlines() if "level=warn" in line and "Type=exec" in line]
    check(len(told) == 1, f"a manager that is not there is told of, with the hint: {program.text()}")
    program.stop()


def activation(binary, work):
    tcp = socket.create_server(("127.0.0.1", 0))
    port = tcp.getsockname()[1]
    path = str(work / "activated")
    local = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    local.bind(path)
    local.listen(5)
    program = Program(binary, work / "log", [], sockets=[tcp, local]).listens()
    tcp.close()
    local.close()
    check(b" 200 " in ask(socket.AF_INET, ("127.0.0.1", port))[:20], "it serves the TCP socket")
    check(b" 200 " in ask(socket.AF_UNIX, path)[:20], "it serves the UNIX socket")
    check(len(re.findall("msg=listening", program.text())) == 2, f"and nothing else: {program.text()}")
    program.stop()
    check(os.path.exists(path), "a socket of somebody else stays")

    tcp = socket.create_server(("127.0.0.1", 0))
    program = Program(binary, work / "log", ["--web.listen-address=127.0.0.1:0"], sockets=[tcp]).listens()
    check(len(re.findall("msg=listening", program.text())) == 2, f"what a flag names comes on top: {program.text()}")
    program.stop()
    tcp.close()

    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as idle:
        program = Program(binary, work / "log", [], sockets=[idle])
        check(program.process.wait(60) == 1, "a socket that does not listen ends the start")
        check(program.text().count("\n") == 1 and "Accept=no" in program.text(), f"one line with the hint: {program.text()}")


def by_systemd(binary, work):
    """systemd's own launcher: it waits for the first client and then becomes the program."""
    path = str(work / "systemd")
    with open(work / "log", "w") as stderr:
        launcher = subprocess.Popen(["systemd-socket-activate", "-l", path, "--fdname=web", binary, "--simulate=asleep"], stderr=stderr)
    wait_for(lambda: os.path.exists(path) and "Listening on" in (work / "log").read_text(), "systemd-socket-activate")
    check(b" 200 " in ask(socket.AF_UNIX, path)[:20], "the first client is answered")
    check(b" 200 " in ask(socket.AF_UNIX, path)[:20], "and the second one")
    launcher.send_signal(signal.SIGTERM)
    check(launcher.wait(60) == 0, (work / "log").read_text())


def warning(binary, work):
    words = "everyone who can reach this machine"
    for arguments, expected in ((["--web.listen-address=:0"], 1), (["--web.listen-address=0.0.0.0:0", "--web.listen-address=127.0.0.1:0"], 1),
                                (["--web.listen-address=127.0.0.1:0", f"--web.listen-address=unix:{work}/s"], 0)):
        program = Program(binary, work / "log", arguments).listens()
        lines = [line for line in program.text().splitlines() if words in line]
        check(len(lines) == expected, f"{arguments}: {lines}")
        check(all("level=warn" in line and "basic_auth_users" in line and "127.0.0.1:" in line for line in lines), f"{lines}")
        program.stop()
    config = work / "web.yml"
    stored = subprocess.run(["/usr/bin/python3", "-c", "import crypt; print(crypt.crypt('secret', '$2b$04$' + 'abcdefghijklmnopqrstuu'))"],
                            check=True, capture_output=True, text=True).stdout.strip()
    config.write_text(f"basic_auth_users:\n  me: {stored}\n")
    program = Program(binary, work / "log", ["--web.listen-address=:0", f"--web.config.file={config}"]).listens()
    check(words not in program.text(), "with passwords nobody is warned")
    program.stop()


def main():
    binary = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        for part in (notify, watchdog, unreachable_manager, activation, by_systemd, warning):
            part(binary, work)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
