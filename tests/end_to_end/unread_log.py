#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nobody reads the log, and its pipe is full: new connections and scrapes go on, and the program ends when it is told to.

usage: unread_log.py EXPORTER_BINARY REPOSITORY_ROOT
"""
import fcntl
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True  # the sources may be read-only

import prometheus_scrape
from prometheus_scrape import check
from web_config import TLS, Exporter, make_certificates, wait_for


class Piped(Exporter):
    """An exporter whose log goes into a pipe that this reads, or leaves unread."""
    def __init__(self, binary, folder, config):
        self.folder, self.config = folder, folder / "web.yml"
        self.write(config)
        self.end, theirs = os.pipe()
        fcntl.fcntl(self.end, 1031, 4096)  # F_SETPIPE_SZ
        self.process = subprocess.Popen([binary, "--simulate=asleep", "--web.listen-address=127.0.0.1:0",
                                         f"--web.config.file={self.config}"], stderr=theirs)
        os.close(theirs)
        self.text, self.reading = "", threading.Event()
        self.reading.set()
        threading.Thread(target=self.read, daemon=True).start()
        wait_for(lambda: "listening" in self.text, "the exporter listens")
        self.port = int(re.search(r"address=127\.0\.0\.1:(\d+)", self.text).group(1))

    def read(self):
        while True:
            self.reading.wait()
            piece = os.read(self.end, 65536)
            if not piece:
                return
            self.text += piece.decode()

    def log(self):
        return self.text

    def fill(self):
        """Nobody reads any more, and there is no room left. Its own opening: what the program holds stays blocking."""
        self.reading.clear()
        other = os.open(f"/proc/self/fd/{self.end}", os.O_WRONLY | os.O_NONBLOCK)
        for _ in range(2):  # the reader may have been in the middle of a read
            try:
                while True:
                    os.write(other, b"." * 4095 + b"\n")
            except BlockingIOError:
                time.sleep(0.5)
        os.close(other)

    def metric(self, name):
        return float(re.search(rf"^{name} (\S+)$", self.curl()[1], re.M).group(1))


def check_log(binary, folder):
    with Piped(binary, folder, TLS) as exporter:
        check(exporter.status() == 200, "before")
        exporter.fill()
        for number in range(4):  # each of them is a line of the log
            exporter.write(f"nonsense{number}: 1\n")
            time.sleep(1.1)
            for _ in range(5):
                check(exporter.status() == 200, "a new connection while nobody reads the log")
        check(exporter.metric("intel_gpu_exporter_web_config_last_reload_successful") == 0, "what was written was looked at")
        check(exporter.metric("intel_gpu_exporter_log_lines_dropped_total") == 0, "the lines wait for their reader")
        exporter.reading.set()
        wait_for(lambda: "nonsense3" in exporter.text, "the lines come when somebody reads")
        lines = [line for line in exporter.text.splitlines() if "nonsense" in line]
        check([re.search(r"nonsense\d", line).group() for line in lines] == [f"nonsense{number}" for number in range(4)], f"in their order: {lines}")
        exporter.fill()  # and it ends all the same
        exporter.write("nonsense: 1\n")
        time.sleep(1.1)
        check(exporter.status() == 200, "once more")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_certificates(folder)
        check_log(sys.argv[1], folder)
    print(f"{prometheus_scrape.failures} failures")
    return 1 if prometheus_scrape.failures else 0


if __name__ == "__main__":
    sys.exit(main())
