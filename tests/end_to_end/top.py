#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`top` in a real terminal (tmux): keys, sizes, signals, and hosts that fail in every way."""
import base64
import os
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support.exporter_under_test import Exporter, check, finish, wait_for  # noqa: E402

binary = str(Path(sys.argv[1]).resolve())
ENVIRONMENT = {**os.environ, "LC_ALL": "C.UTF-8"}
for name in ("NO_COLOR", "COLUMNS", "TMUX", "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
    ENVIRONMENT.pop(name, None)


class Terminal:
    """A shell in a terminal of its own; `run` starts a command there, `screen` is what a person sees."""

    def __init__(self, folder, width=80, height=24):
        self.socket = str(folder / "tmux")
        self.tmux("new-session", "-d", "-x", str(width), "-y", str(height), "sh", start=True)
        self.pid_file = folder / "pid"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True)

    def tmux(self, *arguments, start=False):
        return subprocess.run(["tmux", "-S", self.socket, *(["-f", "/dev/null"] if start else []), *arguments],
                              check=True, capture_output=True, text=True, env=ENVIRONMENT).stdout

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def line(self, text):
        self.tmux("send-keys", "-l", text)
        self.keys("Enter")

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def wait_for(self, *parts):
        wait_for(lambda: all(part in self.screen() for part in parts), lambda: f"{parts} on the screen:\n{self.screen()}")
        return self.screen()

    def flags(self):
        """What a program may have left switched on: the second screen, a hidden cursor, the mouse."""
        return self.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag} #{mouse_any_flag}").strip()

    def settings(self):
        self.line("stty -g > settings.new && mv settings.new settings")
        path = Path(self.socket).parent / "settings"
        wait_for(path.exists, lambda: f"stty has written:\n{self.screen()}", 20)
        text = path.read_text()
        path.unlink()
        return text

    def start(self, *arguments):
        """Its PID. `sh` execs it, so the PID is known; the shell before prints its exit status."""
        self.pid_file.unlink(missing_ok=True)
        self.line(f"clear; sh -c 'echo $$ > pid.new; mv pid.new pid; exec {binary} top {' '.join(arguments)}'; echo ended $?")
        wait_for(self.pid_file.exists, lambda: f"the PID is known:\n{self.screen()}", 20)
        return int(self.pid_file.read_text())


def keys_and_sizes(terminal):
    terminal.start("--simulate rack --collector.workloads")
    terminal.wait_for("simulation rack  3 GPUs, ", "llama-server", "? help")
    check(terminal.flags() == "1 0 1", f"second screen, no cursor, mouse: {terminal.flags()}")
    terminal.keys("?")
    terminal.wait_for("Press any key to return")
    terminal.keys("x", "t")
    terminal.wait_for("└─")
    terminal.keys("t", "/")
    terminal.tmux("send-keys", "-l", "OBS")
    terminal.wait_for("Filter: OBS_")
    terminal.keys("Enter")
    wait_for(lambda: "llama-server" not in terminal.screen(), "the filter applies")
    terminal.wait_for("obs", "filter: OBS")
    terminal.keys("Escape")
    terminal.wait_for("llama-server")
    terminal.keys("w")
    terminal.wait_for("WORKLOAD", "pod")
    terminal.keys("w", "Tab")
    terminal.wait_for("only GPU 1", "AlderLake")
    wait_for(lambda: "A770" not in terminal.screen(), "only one GPU is shown")
    terminal.keys("Escape", "d", "d", "d")
    terminal.wait_for("GPU CARD", "Battlemage")
    terminal.keys("N")
    terminal.wait_for("PID▲", "sort: PID")
    terminal.keys("p")
    terminal.wait_for("PAUSED")
    terminal.keys("p", "-")
    terminal.wait_for("every 0.5 s")
    for width, height in ((120, 40), (20, 5), (200, 60), (1, 1), (80, 24)):  # while it draws
        terminal.tmux("resize-window", "-x", str(width), "-y", str(height))
        if width >= 80:
            wait_for(lambda: max(map(len, terminal.screen().splitlines())) == width, "the title fills the new width")
    # The mouse, as the terminal reports it: a click on the title PID sorts by it the other way round.
    terminal.wait_for("PID▲")
    row = next(i for i, line in enumerate(terminal.screen().splitlines()) if "PID" in line) + 1
    terminal.tmux("send-keys", "-l", f"\033[M {chr(32 + 6)}{chr(32 + row)}")
    terminal.wait_for("PID▼")
    terminal.keys("q")
    terminal.wait_for("ended 0")
    check(terminal.flags() == "0 1 0", f"q restores the terminal: {terminal.flags()}")


def signals(terminal):
    before = terminal.settings()
    for number, status in ((signal.SIGTERM, 0), (signal.SIGINT, 0), (signal.SIGHUP, 0), (signal.SIGSEGV, 139),
                           (signal.SIGABRT, 134)):
        pid = terminal.start("--simulate arc-a770")
        terminal.wait_for("DG2 [Arc A770]", "? help")
        os.kill(pid, number)
        terminal.wait_for(f"ended {status}")
        check(terminal.flags() == "0 1 0", f"{number!r} restores the terminal: {terminal.flags()}")
        check(terminal.settings() == before, f"{number!r} restores the terminal's settings")


def stop_and_continue(folder):
    """In a shell with job control; the program must stop as the shell expects, and take the screen again."""
    with Terminal(folder) as terminal:
        terminal.line("exec bash --norc -i")
        terminal.line(f"clear; {binary} top --simulate arc-a770")
        terminal.wait_for("DG2 [Arc A770]", "? help")
        terminal.keys("C-z")
        terminal.wait_for("Stopped")
        check(terminal.flags() == "0 1 0", f"Ctrl-Z restores the terminal: {terminal.flags()}")
        terminal.line("fg")
        terminal.wait_for("DG2 [Arc A770]", "? help")
        check(terminal.flags() == "1 0 1", f"it takes the screen again: {terminal.flags()}")
        terminal.keys("C-c")
        wait_for(lambda: terminal.flags() == "0 1 0", "Ctrl-C ends it")


class Host:
    """Answers every connection by `behaviour(socket)`."""

    def __init__(self, behaviour, context=None):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.behaviour, self.context = behaviour, context
        self.kept = []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    def answer(self, connection):
        try:
            if self.context:
                connection = self.context.wrap_socket(connection, server_side=True)
            self.behaviour(connection)
        except OSError:
            pass


def stall(connection):
    connection.recv(4096)
    connection.recv(4096)  # returns when the other side closes


def ssh_banner(connection):
    connection.sendall(b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n")
    connection.recv(4096)


BLOCK = b"intel_gpu_exporter_devices 1\n" * 40000


def flood(connection):
    connection.recv(4096)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
    for _ in range(1000):  # 1.16 GB, unless the reader stops it
        connection.sendall(BLOCK)


class CompressedFlood:
    """128 MB in half a megabyte."""

    def __init__(self):
        packer = zlib.compressobj(1, zlib.DEFLATED, 31)
        self.body = b"".join(packer.compress(BLOCK) for _ in range(110)) + packer.flush()

    def __call__(self, connection):
        connection.recv(4096)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + self.body)
        connection.recv(4096)


def page(text):
    def answer(connection):
        connection.recv(4096)
        connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n{text}".encode())
    return answer


def behind_password(connection):
    """To alice with her password."""
    request = connection.recv(8192).decode()
    allowed = f"Authorization: Basic {base64.b64encode(b'alice:a:secret').decode()}\r\n" in request
    text = "intel_gpu_info{device=\"0000:03:00.0\",card=\"card1\",name=\"behind a password\"} 1\nintel_gpu_exporter_devices 1\n"
    head = "HTTP/1.1 200 OK" if allowed else "HTTP/1.1 401 Unauthorized"
    text = text if allowed else ""
    connection.sendall(f"{head}\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n{text}".encode())


def passwords(terminal):
    host = f"127.0.0.1:{Host(behind_password).port}"
    variable = {"INTEL_GPU_EXPORTER_USER": "alice:a:secret"}
    for arguments, environment, succeeds in (
            ([host, "--user=alice:a:secret"], {}, True), ([host], variable, True), ([f"http://alice:a%3Asecret@{host}"], {}, True),
            ([f"http://alice:a%3Asecret@{host}", "--user=bob:x"], {}, True),  # the URL's are for this host
            ([host, "--user=alice:wrong"], {}, False), ([host], {}, False), ([host, "--user=alice"], {}, False)):
        ran = subprocess.run([binary, "top", "--once", *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                             env={**ENVIRONMENT, **environment}, timeout=120)
        expected = "behind a password" if succeeds else "rejects the user name or password, or requires one: --user"
        check(expected in " ".join(ran.stdout.split()) and ran.returncode == (0 if succeeds else 1), f"{arguments}: {ran}")
        check("secret" not in ran.stdout + ran.stderr, f"no password is printed: {ran}")
    terminal.start(f"{host} --user alice")
    terminal.wait_for("Password of alice:")
    terminal.line("a:secret")
    terminal.wait_for("behind a password", "? help")
    check("secret" not in terminal.screen(), "the password is not on the screen")
    terminal.keys("q")
    terminal.wait_for("ended 0")


def hosts(folder, terminal):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                    "-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    stalled, banner, bomb, flooding = Host(stall), Host(ssh_banner), Host(CompressedFlood()), Host(flood)
    strange, website = Host(page("node_load1 1\n")), Host(page("<html>hello</html>\n"))
    own = "intel_gpu_info{device=\"0000:03:00.0\",card=\"card1\",name=\"over TLS\"} 1\nintel_gpu_exporter_devices 1\n"
    tls = Host(page(own), context)
    strict_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    strict_context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    strict_context.load_verify_locations(folder / "cert.pem")
    strict_context.verify_mode = ssl.CERT_REQUIRED
    strict = Host(page(own), strict_context)
    with socket.create_server(("127.0.0.1", 0)) as free:
        closed = free.getsockname()[1]
    with Exporter(binary, folder / "exporter.log", "--simulate=rack") as exporter:
        bad = [(f"127.0.0.1:{stalled.port}", "no complete answer within 10 s"),
               (f"127.0.0.1:{banner.port}", "does not speak HTTP"),
               (f"127.0.0.1:{bomb.port}", "sends more than 64 MiB"),
               (f"127.0.0.1:{strange.port}", "its metrics are not those of an intel-gpu-exporter"),
               (f"127.0.0.1:{website.port}", "its page holds no metrics"),
               (f"https://localhost:{tls.port}", "its certificate is not trusted"),
               (f"127.0.0.1:{closed}", "cannot connect"),
               (f"127.0.0.1:{exporter.port}/nothing", "has no such page (HTTP 404)")]
        names = " ".join(name for name, _ in bad)
        terminal.tmux("resize-window", "-x", "160", "-y", "50")
        terminal.start(f"--max-time 10s 127.0.0.1:{exporter.port} {names}")
        terminal.wait_for("9 hosts", "8 hosts failed", "llama-server", *(problem for _, problem in bad[1:]))
        terminal.wait_for(bad[0][1])
        clock = terminal.screen().splitlines()[0].split()[-1]
        wait_for(lambda: terminal.screen().splitlines()[0].split()[-1] != clock, "the view goes on")
        terminal.keys("q")
        terminal.wait_for("ended 0")
        bad.append((f"127.0.0.1:{flooding.port}", "sends more than 64 MiB"))
        for name, problem in bad:  # one clear line each, and an exit status for scripts
            limit = "1s" if name.endswith(f":{stalled.port}") else "60s"
            ran = subprocess.run([binary, "top", "--once", f"--max-time={limit}", name], capture_output=True, text=True,
                                 env=ENVIRONMENT, timeout=120)
            expected = problem.replace("10 s", "1 s")
            lines = ran.stdout.splitlines()
            check(len(lines) == 1 and expected in lines[0] and ran.returncode == 1, f"{name}: {ran}")
        trusted = ["--cacert", str(folder / "cert.pem")]
        certificate = ["--cert", str(folder / "cert.pem"), "--key", str(folder / "key.pem")]
        for url, arguments, expected in (
                (f"https://localhost:{tls.port}", trusted, "over TLS"),
                (f"https://localhost:{tls.port}", ["--insecure"], "over TLS"),
                (f"https://localhost:{strict.port}", trusted + certificate, "over TLS"),
                (f"https://localhost:{strict.port}", trusted, "it may require a client certificate: --cert FILE"),
                (f"https://127.0.0.1:{tls.port}", trusted, "its certificate is for another name"),
                (f"https://127.0.0.1:{exporter.port}", trusted, "does not speak TLS"),
                (f"http://localhost:{tls.port}", [], "https://")):
            ran = subprocess.run([binary, "top", "--once", url, *arguments], capture_output=True, text=True,
                                 env={**ENVIRONMENT, "COLUMNS": "300"}, timeout=120)
            succeeds = expected == "over TLS"
            check(expected in ran.stdout and ran.returncode == (0 if succeeds else 1), f"{url} {arguments}: {ran}")
        # What it shows of another exporter is what it shows of the same machine here.
        remote = subprocess.run([binary, "top", "--once", exporter.url], capture_output=True, text=True, env=ENVIRONMENT)
        for part in ("3 GPUs, ", "rcs0", "Battlemage G21", "llama-server", "RC6"):
            check(part in remote.stdout, f"{part} of another exporter: {remote}")


def printed(folder):
    plain = subprocess.run([binary, "top", "--once", "--simulate=arc-a770"], capture_output=True, text=True, env=ENVIRONMENT)
    check(plain.returncode == 0 and "\033" not in plain.stdout and "DG2 [Arc A770]" in plain.stdout, f"plain: {plain}")
    check(max(map(len, plain.stdout.splitlines())) <= 80, "80 columns")
    ascii_only = subprocess.run([binary, "top", "--once", "--simulate=arc-a770"], capture_output=True,
                                env={**ENVIRONMENT, "LC_ALL": "C"})
    check(ascii_only.stdout.isascii(), "ASCII in locale C")
    # A stream ends quietly when its reader has enough.
    stream = subprocess.Popen([binary, "top", "--interval=100ms", "--simulate=arc-a770"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=ENVIRONMENT)
    first = stream.stdout.readline() + stream.stdout.readline()
    check(b"1 GPU," in first and b"DG2 [Arc A770]" in first, f"the first frame has a reading: {first}")
    stream.stdout.close()
    error = stream.stderr.read()
    check(stream.wait(60) == 0 and error == b"", f"a closed pipe: {stream.returncode} {error}")
    for arguments in (["ftp://x"], ["--simulate=rack", "host"], [":10068"], ["--max-time=x"], ["host", "--cacert=/no/file"],
                      ["host", "--cert=/no/file"], ["host", "--key=/"]):
        ran = subprocess.run([binary, "top", *arguments], capture_output=True, text=True, env=ENVIRONMENT)
        check(ran.returncode == 2 and len(ran.stderr.splitlines()) == 1, f"{arguments}: {ran}")
    with Terminal(folder) as terminal:
        terminal.line(f"clear; TERM=dumb {binary} top --simulate arc-a770 --interval 200ms > /dev/tty")
        terminal.wait_for("DG2 [Arc A770]")
        check(terminal.flags() == "0 1 0", f"TERM=dumb: no full screen: {terminal.flags()}")


with tempfile.TemporaryDirectory() as scratch:
    root = Path(scratch)
    for name in ("a", "b", "c"):
        (root / name).mkdir()
    os.chdir(root / "a")
    with Terminal(root / "a") as the_terminal:
        keys_and_sizes(the_terminal)
        signals(the_terminal)
        hosts(root / "a", the_terminal)
        passwords(the_terminal)
    stop_and_continue(root / "b")
    printed(root / "c")
finish()
