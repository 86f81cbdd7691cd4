#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nobody reads the log, and its pipe is full: new connections and scrapes go on, and the program ends on request.

usage: unread_log.py EXPORTER_BINARY REPOSITORY_ROOT
"""
import fcntl
import os
import pathlib
import re
import select
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from exporter_under_test import check, finish, wait_for  # noqa: E402
from web_config import TLS, WebExporter, make_certificates  # noqa: E402

LAST_RELOAD = "intel_gpu_exporter_web_config_last_reload_successful"


class Piped(WebExporter):
    """An exporter whose log goes into a pipe that this reads, or leaves unread."""
    def __init__(self, binary, folder, config):
        self.end, theirs = os.pipe()
        fcntl.fcntl(self.end, 1031, 4096)  # F_SETPIPE_SZ
        self.text, self.reading = "", threading.Lock()
        super().__init__(binary, folder, config, "--simulate=asleep", log=theirs)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while True:
            select.select([self.end], [], [])
            with self.reading:
                piece = os.read(self.end, 65536)
            if not piece:
                return
            self.text += piece.decode()

    def log(self):
        return self.text

    def fill(self):
        """Nobody reads any more, and there is no room left. Its own opening: what the program holds stays blocking."""
        self.reading.acquire()
        other = os.open(f"/proc/self/fd/{self.end}", os.O_WRONLY | os.O_NONBLOCK)
        try:
            while True:
                os.write(other, b"." * 4095 + b"\n")
        except BlockingIOError:
            os.close(other)

    def metric(self, name):
        return float(re.search(rf"^{name} (\S+)$", self.curl()[1], re.M).group(1))

    def write_and_wait(self, config, success):
        self.write(config)
        wait_for(lambda: self.metric(LAST_RELOAD) == success, f"{LAST_RELOAD} becomes {success}")


def check_log(binary, folder):
    with Piped(binary, folder, TLS) as exporter:
        check(exporter.status() == 200, "before")
        exporter.fill()
        for number in range(4):  # each of them is a line of the log
            exporter.write_and_wait(f"nonsense{number}: 1\n", 0)
            for _ in range(5):
                check(exporter.status() == 200, "a new connection while nobody reads the log")
            exporter.write_and_wait(TLS, 1)
        check(exporter.metric("intel_gpu_exporter_log_lines_dropped_total") == 0, "the lines wait for their reader")
        exporter.reading.release()
        wait_for(lambda: "nonsense3" in exporter.text, "the lines come when somebody reads")
        lines = [line for line in exporter.text.splitlines() if "nonsense" in line]
        check([re.search(r"nonsense\d", line).group() for line in lines] == [f"nonsense{number}" for number in range(4)], f"in their order: {lines}")
        exporter.fill()  # and it ends all the same
        exporter.write_and_wait("nonsense: 1\n", 0)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_certificates(folder)
        check_log(sys.argv[1], folder)
    finish()


if __name__ == "__main__":
    main()
