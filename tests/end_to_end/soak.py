#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Everything at once for a while: scrapers in the clear, through TLS, through TLS with a password, and with gzip and
OpenMetrics; clients that hang up in the middle; GPUs that go and come back; certificates and passwords that change.
After it nothing has grown, no counter has stepped back, every page was whole, nobody got a 5xx.

usage: soak.py EXPORTER_BINARY REPOSITORY_ROOT [SECONDS] [--instrumented]

An hour: soak.py build/release/exporter/intel-gpu-exporter . 3600
--instrumented: a sanitizer's build, whose memory is not the program's own; it checks for leaks itself at the end.
"""
import base64
import contextlib
import gzip
import http.client
import os
import pathlib
import random
import re
import shutil
import socket
import ssl
import sys
import tempfile
import threading
import time

from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from exporter_under_test import check, finish  # noqa: E402
from sandbox_calls import add_gpu, make_certificate  # noqa: E402
from web_config import WebExporter, login, users  # noqa: E402

ADDRESSES = {0: "0000:00:02.0", 1: "0000:03:00.0"}
PMUS = {0: "i915", 1: "i915_0000_03_00.0"}
WORKERS = 48  # exporter/server/http/listener.h


class Exporter(WebExporter):
    def __init__(self, binary, work, name, tree, config=""):
        self.name, folder = name, work / name
        folder.mkdir()
        if config:
            make_certificate(folder, "soak")
        super().__init__(binary, folder, config, "--scrape.min-window=100ms", f"--path.sysfs={tree}/sys", f"--path.devfs={tree}/dev")

    def footprint(self):
        process = pathlib.Path(f"/proc/{self.process.pid}")
        names = [name for name in map(thread_name, process.glob("task/*/comm")) if name]
        return {"resident KiB": int(re.search(r"VmRSS:\s+(\d+)", (process / "status").read_text()).group(1)),
                "workers": names.count("worker"), "other threads": len(names) - names.count("worker"),
                "descriptors": len(os.listdir(process / "fd"))}


def thread_name(comm):
    with contextlib.suppress(OSError):  # it has ended
        return comm.read_text().strip()


class Scraper(threading.Thread):
    """Scrapes as often as it can with a short pause; holds every page against the one before."""

    def __init__(self, exporter, name, headers, tls, stop):
        super().__init__(name=name, daemon=True)
        self.exporter, self.headers, self.tls, self.stopped = exporter, headers, tls, stop
        self.pages, self.last = 0, {}

    def connect(self):
        if not self.tls:
            return http.client.HTTPConnection("127.0.0.1", self.exporter.port, timeout=120)
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return http.client.HTTPSConnection("127.0.0.1", self.exporter.port, timeout=120, context=context)

    def run(self):
        connection = self.connect()
        while not self.stopped.is_set():
            try:
                connection.request("GET", "/metrics", headers=self.headers)
                answer = connection.getresponse()
                body = answer.read()
            except OSError as error:
                check(False, f"{self.name}: no answer: {error}")
                connection = self.connect()
                continue
            check(answer.status == 200, f"{self.name}: status {answer.status}")
            if answer.status == 200:
                self.judge(answer, body)
            if random.random() < 0.05:
                connection.close()
                connection = self.connect()
            time.sleep(0.05)
        connection.close()

    def judge(self, answer, body):
        if answer.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        parse = parse_openmetrics if "openmetrics" in answer.headers["Content-Type"] else parse_text
        try:
            families = list(parse(body.decode()))
        except ValueError as error:
            return check(False, f"{self.name}: broken page: {error}")
        self.pages += 1
        counters = {}
        for family in families:
            for sample in family.samples if family.type == "counter" else ():
                key = (sample.name, tuple(sorted(sample.labels.items())))
                check(key not in counters, f"{self.name}: twice on a page: {key}")
                counters[key] = sample.value
        for key, value in counters.items():
            if key in self.last and "pid" not in dict(key[1]):
                check(value >= self.last[key], f"{self.name}: {key} stepped back from {self.last[key]} to {value}")
        self.last.update(counters)


def disturb(exporters, stop):
    """Connections that say nothing, half of something or nonsense, and hang up politely or not."""
    while not stop.is_set():
        exporter = random.choice(exporters)
        with socket.socket() as client:
            client.connect(("127.0.0.1", exporter.port))
            client.sendall(random.choice([b"", b"GET /metrics HTTP/1.1\r\nHost", b"\x16\x03\x01\x02\x00", os.urandom(200),
                                          b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"]))
            if random.random() < 0.5:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        time.sleep(0.02)


def replug(tree, stop):
    """A card goes and comes back."""
    while not stop.wait(2):
        remove(tree, 1)
        if stop.wait(1.5):
            break
        add_gpu(tree, 1, ADDRESSES[1], PMUS[1])


def remove(tree, number):
    # File by file, as the kernel removes a device: scrapes meet every half of one.
    for name in (f"card{number}", f"renderD{128 + number}"):
        (tree / "sys/class/drm" / name).unlink(missing_ok=True)
    shutil.rmtree(tree / f"sys/devices/pci0000:00/{ADDRESSES[number]}", ignore_errors=True)
    shutil.rmtree(tree / f"sys/bus/event_source/devices/{PMUS[number]}", ignore_errors=True)


def reload(with_tls, with_users, configs, stop):
    """New certificates; a user more, a user less."""
    round = 0
    while not stop.wait(1.5):
        round += 1
        make_certificate(with_tls.folder, "soak")
        with_users.write(configs[round % len(configs)])


def main():
    binary, seconds = sys.argv[1], float(sys.argv[3]) if len(sys.argv) > 3 else 120
    instrumented = "--instrumented" in sys.argv
    tls = "tls_server_config:\n  cert_file: cert.pem\n  key_file: key.pem\n"
    configs = [tls + users("alice"), tls + users("alice", "bob")]
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as programs:
        work = pathlib.Path(name)
        tree = work / "tree"
        for number, address in ADDRESSES.items():
            add_gpu(tree, number, address, PMUS[number])
        plain, secure, private = (programs.enter_context(Exporter(binary, work, *rest)) for rest in
                                  (("plain", tree), ("tls", tree, tls), ("password", tree, configs[0])))
        exporters = [plain, secure, private]
        stop = threading.Event()
        openmetrics = {"Accept": "application/openmetrics-text;version=1.0.0", "Accept-Encoding": "gzip"}
        scrapers = [Scraper(plain, "plain", {}, False, stop), Scraper(plain, "openmetrics, gzip", openmetrics, False, stop),
                    Scraper(secure, "tls", {}, True, stop),
                    Scraper(private, "tls, password", dict(Authorization=login_header()), True, stop)]
        others = [threading.Thread(target=target, args=arguments, daemon=True) for target, arguments in (
            (disturb, (exporters, stop)), (replug, (tree, stop)), (reload, (secure, private, configs, stop)))]
        for thread in scrapers + others:
            thread.start()
        time.sleep(min(seconds / 3, 60))
        early = [settled(exporter) for exporter in exporters]
        time.sleep(max(seconds - min(seconds / 3, 60), 1))
        late = [settled(exporter) for exporter in exporters]
        stop.set()
        for thread in scrapers + others:
            thread.join()
        for exporter, before, after in zip(exporters, early, late):
            print(exporter.name, before, "->", after)
            check(after["other threads"] <= before["other threads"], f"{exporter.name}: more threads")
            # A worker starts when all others are busy, so that their number is the most requests at one time so far.
            check(after["workers"] <= WORKERS, f"{exporter.name}: more workers than its limit")
            # One sample may include more clients than another; what leaks at each scrape is hundreds.
            check(after["descriptors"] <= before["descriptors"] + 10, f"{exporter.name}: more descriptors")
            if not instrumented:
                check(after["resident KiB"] < before["resident KiB"] * 1.1 + 512, f"{exporter.name}: more memory")
        for scraper in scrapers:
            print(f"{scraper.name}: {scraper.pages} whole pages")
            check(scraper.pages > seconds / 4, f"{scraper.name}: {scraper.pages} pages only")
    finish()


def login_header():
    _, credentials = login("alice")
    return "Basic " + base64.b64encode(credentials.encode()).decode()


def settled(exporter):
    """The largest of some samples, because clients and a card come and go all the time; of other threads the smallest,
    because a new worker has the name of its starter for a moment."""
    samples = []
    for _ in range(60):
        samples.append(exporter.footprint())
        time.sleep(0.1)
    return {key: (min if key == "other threads" else max)(sample[key] for sample in samples) for key in samples[0]}


if __name__ == "__main__":
    main()
