#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program and its service manager: readiness, watchdog, stop, sockets that were opened for it; and the warning when
everybody can read.

usage: service.py EXPORTER_BINARY REPOSITORY_ROOT
"""
import os
import pathlib
import signal
import socket
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from exporter_under_test import Program, bcrypt, check, finish, wait_for  # noqa: E402

LOOPBACK = "--web.listen-address=127.0.0.1:0"


class Service(Program):
    """Started with descriptors 3, 4, ... and with LISTEN_PID as a service manager would set it."""

    def __init__(self, binary, log, arguments, environment={}, sockets=()):
        # One short-lived parent of the program: it moves the sockets to their numbers and becomes the program.
        start = ("import os, sys\n"
                 "fds = [int(fd) for fd in sys.argv[1].split(',') if fd]\n"
                 "fds = [os.dup2(fd, 100 + i) for i, fd in enumerate(fds)]\n"
                 "for i, fd in enumerate(fds): os.dup2(fd, 3 + i, inheritable=True); os.close(fd)\n"
                 "if fds: os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(fds)))\n"
                 "os.execv(sys.argv[2], sys.argv[2:])\n")
        numbers = ",".join(str(s.fileno()) for s in sockets)
        super().__init__([sys.executable, "-c", start, numbers, binary, "--simulate=asleep", *arguments], log,
                         env=dict(os.environ, **environment), pass_fds=[s.fileno() for s in sockets])

    def listens(self, addresses=1):
        self.wait_until(lambda: self.log().count("msg=listening") >= addresses, f"listens on {addresses} addresses")
        return self


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


class Manager(socket.socket):
    """The service manager's end of NOTIFY_SOCKET."""

    def __init__(self, name):
        super().__init__(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.bind(str(name).replace("@", "\0", 1))
        self.settimeout(60)

    def next(self):
        return self.recv(4096).decode().split("\n")

    def is_silent(self, seconds):
        self.settimeout(seconds)
        try:
            return not check(False, f"it says {self.next()}")
        except TimeoutError:
            return True
        finally:
            self.settimeout(60)


def notify(binary, work):
    for name in (str(work / "notify"), f"@igpu-service-test-{os.getpid()}"):
        with Manager(name) as manager:
            with Service(binary, work / "log", [LOOPBACK], {"NOTIFY_SOCKET": name}):
                ready = manager.next()
                check(ready[0] == "READY=1" and ready[1].startswith("STATUS=serving on 127.0.0.1:"), f"{name}: {ready}")
                port = int(ready[1].rpartition(":")[2])
                check(b" 200 " in ask(socket.AF_INET, ("127.0.0.1", port), "/-/ready")[:20], "what says that it is ready is ready")
            check(manager.next()[0] == "STOPPING=1", "the end is reported")


def watchdog(binary, work):
    environment = {"NOTIFY_SOCKET": str(work / "watchdog"), "WATCHDOG_USEC": "200000"}
    with Manager(work / "watchdog") as manager, Service(binary, work / "log", [LOOPBACK], environment) as program:
        check(manager.next()[0] == "READY=1", "ready")
        for _ in range(5):
            check(manager.next() == ["WATCHDOG=1"], "it is alive, again and again")
        # Stopped, it says nothing; when it goes on, it speaks again.
        program.process.send_signal(signal.SIGSTOP)
        wait_for(lambda: "T (stopped)" in pathlib.Path(f"/proc/{program.process.pid}/status").read_text(), "the program stops")
        manager.setblocking(False)
        try:
            while True:
                manager.next()  # what was on its way
        except BlockingIOError:
            pass
        check(manager.is_silent(1), "a stopped program says nothing")
        program.process.send_signal(signal.SIGCONT)
        check(manager.next() == ["WATCHDOG=1"], "it is alive again")

    # Unless the manager asks for it, nothing runs between scrapes.
    with Manager(work / "quiet") as manager, Service(binary, work / "log", [LOOPBACK], {"NOTIFY_SOCKET": str(work / "quiet")}):
        check(manager.next()[0] == "READY=1", "ready")
        check(manager.is_silent(1), "unasked it says nothing")


def unreachable_manager(binary, work):
    with Service(binary, work / "log", [LOOPBACK], {"NOTIFY_SOCKET": str(work / "nobody")}).listens() as program:
        warnings = [line for line in program.log().splitlines() if "level=warn" in line and "Type=exec" in line]
        check(len(warnings) == 1, f"a manager that is not there is reported, with the hint: {program.log()}")


def activation(binary, work):
    path = str(work / "activated")
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as local:
        port = tcp.getsockname()[1]
        local.bind(path)
        local.listen(5)
        program = Service(binary, work / "log", [], sockets=[tcp, local])
    with program.listens(2):
        check(b" 200 " in ask(socket.AF_INET, ("127.0.0.1", port))[:20], "it serves the TCP socket")
        check(b" 200 " in ask(socket.AF_UNIX, path)[:20], "it serves the UNIX socket")
        check(program.log().count("msg=listening") == 2, f"and nothing else: {program.log()}")
    check(os.path.exists(path), "a socket of somebody else stays")

    with socket.create_server(("127.0.0.1", 0)) as tcp, Service(binary, work / "log", [LOOPBACK], sockets=[tcp]) as program:
        program.listens(2)  # what a flag names comes on top

    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as idle:
        program = Service(binary, work / "log", [], sockets=[idle])
        check(program.process.wait(60) == 1, "a socket that does not listen ends the start")
        check(program.log().count("\n") == 1 and "Accept=no" in program.log(), f"one line with the hint: {program.log()}")


def by_systemd(binary, work):
    """systemd's own launcher: it waits for the first client and then becomes the program."""
    path = str(work / "systemd")
    with Program(["systemd-socket-activate", "-l", path, "--fdname=web", binary, "--simulate=asleep"], work / "log") as launcher:
        launcher.wait_until(lambda: os.path.exists(path) and "Listening on" in launcher.log(), "listens")
        check(b" 200 " in ask(socket.AF_UNIX, path)[:20], "the first client is answered")
        check(b" 200 " in ask(socket.AF_UNIX, path)[:20], "and the second one")


def warning(binary, work):
    words = "everyone who can reach this machine"
    for arguments, expected in ((["--web.listen-address=:0"], 1), (["--web.listen-address=0.0.0.0:0", "--web.listen-address=127.0.0.1:0"], 1),
                                (["--web.listen-address=127.0.0.1:0", f"--web.listen-address=unix:{work}/s"], 0)):
        with Service(binary, work / "log", arguments).listens(len(arguments)) as program:
            lines = [line for line in program.log().splitlines() if words in line]
            check(len(lines) == expected, f"{arguments}: {lines}")
            check(all("level=warn" in line and "basic_auth_users" in line and "127.0.0.1:" in line for line in lines), f"{lines}")
    config = work / "web.yml"
    config.write_text(f"basic_auth_users:\n  me: {bcrypt('secret', 4)}\n")
    with Service(binary, work / "log", ["--web.listen-address=:0", f"--web.config.file={config}"]).listens() as program:
        check(words not in program.log(), "with passwords nobody is warned")


def main():
    binary = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        for part in (notify, watchdog, unreachable_manager, activation, by_systemd, warning):
            part(binary, work)
    finish()


if __name__ == "__main__":
    main()
