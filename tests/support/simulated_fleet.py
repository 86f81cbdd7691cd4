#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many simulated hosts in one process, each on its own loopback address, with the pages of one real exporter.

Two pages, some seconds apart, say what moves: a counter of theirs grows at its own rate by the clock, a gauge swings around its value.
So the true increase of every counter is known at any time. Commands come as lines of JSON on standard input; see Fleet.set().
"""
import asyncio
import contextlib
import json
import math
import pathlib
import re
import resource
import socket
import subprocess
import sys
import time
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from exporter_under_test import Exporter, fetch  # noqa: E402

SAMPLE = re.compile(r"^(\w+)((?:\{.*\})?) (\S+)$")
HOSTS_PER_RACK = 20
# Each host has its own share of the load, so that no two pages are alike.
SHARES = [0.5 + 0.05 * number for number in range(21)]


def address_of(number):
    return f"127.10.{number // 250}.{number % 250 + 1}"


class Pages:
    """What a host answers at a time."""

    def __init__(self, early, late, seconds):
        counters = set(re.findall(r"^# TYPE (\w+) (?:counter|histogram)$", late, re.M))
        before = {line.rpartition(" ")[0]: line.rpartition(" ")[2] for line in early.splitlines() if not line.startswith("#")}
        self.counters, self.gauges, text = [], [], []
        for line in late.splitlines():
            match = SAMPLE.match(line)
            name = match.group(1) if match else ""
            family = re.sub("_(bucket|sum|count)$", "", name)
            old = before.get(line.rpartition(" ")[0])
            if not match:
                text.append(line.replace("%", "%%"))
                continue
            place, value = len(self.counters) + len(self.gauges), float(match.group(3))
            labels = (name + match.group(2)).replace("%", "%%")
            if (name in counters or family in counters) and old is not None:
                self.counters.append((place, max(0.0, value - float(old)) / seconds))
            elif old is not None and float(old) != value and "time" not in name:
                self.gauges.append((place, value))
            else:
                text.append(line.replace("%", "%%"))  # constants, and what appeared meanwhile
                continue
            text.append(f"{labels} %.9g")
        self.size = len(self.counters) + len(self.gauges)
        self.text = "\n".join(text) + "\n"
        self.names = [re.match(r"\S+", line).group() for line in text if line.endswith(" %.9g")]

    def rate(self, name, share):
        """Of all counters of that name of one host, in units a second."""
        return share * sum(rate for place, rate in self.counters if re.match(rf"{name}(\{{|$)", self.names[place]))

    def page(self, share, age, phase):
        values = [0.0] * self.size
        for place, rate in self.counters:
            values[place] = share * rate * age
        swing = 1 + 0.1 * math.sin(age / 60 + phase)
        for place, value in self.gauges:
            values[place] = value * swing
        return (self.text % tuple(values)).encode()


class Host:
    def __init__(self, number, pages, address):
        self.number, self.pages, self.address, self.server = number, pages, address, None
        self.started, self.delay, self.half, self.writers = time.time() - 1000 - number, 0.0, False, set()

    async def listen(self, port):
        self.server = await asyncio.start_server(self.serve, self.address, port, backlog=64)

    def close(self):
        if self.server:
            self.server.close()
            self.server = None
        for writer in list(self.writers):
            writer.transport.abort()

    async def serve(self, reader, writer):
        self.writers.add(writer)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                await asyncio.sleep(self.delay)
                body = self.pages.page(SHARES[self.number % len(SHARES)], time.time() - self.started, self.number)
                coding = b""
                if b"gzip" in request:
                    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
                    body, coding = packer.compress(body) + packer.flush(), b"Content-Encoding: gzip\r\n"
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n" + coding + b"Content-Length: %d\r\n\r\n" % len(body)
                             + (body[: len(body) // 2] if self.half else body))
                await writer.drain()
                if self.half:
                    break
        self.writers.discard(writer)
        writer.close()


async def listen_all(hosts):
    """On one port that is free on all their addresses."""
    for _ in range(50):
        with socket.socket() as probe:
            probe.bind((hosts[0].address, 0))
            port = probe.getsockname()[1]
        try:
            for host in hosts:
                await host.listen(port)
            return port
        except OSError:
            for host in hosts:
                host.close()
    raise SystemExit("no port is free on all addresses")


async def obey(hosts, port, command):
    for number in command["hosts"]:
        host, state = hosts[number], command["state"]
        host.delay, host.half = command.get("seconds", 0.0) if state == "slow" else 0.0, state == "half"
        if state == "restarted":
            host.started = time.time()
        if state == "down":
            host.close()
        elif not host.server:
            await host.listen(port)


async def run(count, pages):
    hosts = [Host(number, pages, address_of(number)) for number in range(count)]
    port = await listen_all(hosts)
    print(json.dumps({"port": port, "started": [host.started for host in hosts]}), flush=True)
    commands = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    while line := await commands.readline():
        await obey(hosts, port, json.loads(line))
        print(json.dumps({"time": time.time()}), flush=True)


class Fleet:
    """with Fleet(binary, folder, 50) as fleet: fleet.targets(), fleet.set("down", [3])"""

    def __init__(self, binary, folder, count, profile="rack", arguments=()):
        self.count = count
        with Exporter(binary, folder / "exporter.log", f"--simulate={profile}", *arguments) as exporter:
            fetch(exporter.url)
            time.sleep(2)
            began, early = time.monotonic(), fetch(exporter.url)
            time.sleep(8)
            late, seconds = fetch(exporter.url), time.monotonic() - began
        (folder / "early").write_bytes(early)
        (folder / "late").write_bytes(late)
        self.pages = Pages(early.decode(), late.decode(), seconds)
        self.process = subprocess.Popen([sys.executable, "-B", __file__, str(count), str(folder), str(seconds)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        answer = json.loads(self.process.stdout.readline())
        self.port, self.started = answer["port"], answer["started"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()  # which ends it
        self.process.wait(60)

    def name(self, number):
        return f"encoder-{number:04}"

    def rack(self, number):
        return f"r{number // HOSTS_PER_RACK + 1:02}"

    def targets(self, names={}):
        """For a target file. `names`: {number: the instance that it claims to be}."""
        return [{"targets": [f"{address_of(number)}:{self.port}"],
                 "labels": {"instance": names.get(number, self.name(number)), "site": "test", "rack": self.rack(number)}} for number in range(self.count)]

    def set(self, state, hosts, **how):
        """"ok", "down", "slow" (seconds=), "half" (a page that ends in its middle) or "restarted" (all counters begin at 0)."""
        self.process.stdin.write(json.dumps({"state": state, "hosts": list(hosts), **how}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["time"]

    def rate(self, metric, number):
        return self.pages.rate(metric, SHARES[number % len(SHARES)])

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100


if __name__ == "__main__":
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limits[1], limits[1]))
    where = pathlib.Path(sys.argv[2])
    asyncio.run(run(int(sys.argv[1]), Pages((where / "early").read_text(), (where / "late").read_text(), float(sys.argv[3]))))
