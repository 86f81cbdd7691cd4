#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Outages of two and of eleven minutes at the default interval, of an OTLP receiver and of a Mosquitto at the same time: all that
waited arrives afterwards, in order, and nothing is dropped. A queue that is full drops its oldest readings and counts them.

    push_outages.py BINARY SOURCE"""

import contextlib
import datetime
import json
import pathlib
import re
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from exporter_under_test import Exporter, check, finish, get, wait_for  # noqa: E402
from push import ENVIRONMENT, Receiver  # noqa: E402
from push_mqtt import Broker, Forwarder, Subscriber  # noqa: E402

INTERVAL = 15
QUEUE = 64  # docs/integrations.md


class Pushing(Exporter):
    """One exporter with both targets; each can be cut off, as by a cable that is pulled."""

    def __init__(self, binary, folder, broker, *arguments):
        # mend(): an OTLP receiver on the port that the exporter knows.
        self.otlp, self.mqtt = Forwarder(Receiver()), Forwarder(broker)
        super().__init__(binary, folder / "log", "--simulate=rack", f"--push.otlp=http://127.0.0.1:{self.otlp.port}",
                         f"--push.mqtt=mqtt://127.0.0.1:{self.mqtt.port}/{folder.name}", *arguments, env=ENVIRONMENT)

    def pushed(self, name):
        """By target."""
        found = re.findall(rf'^intel_gpu_exporter_push_{name}{{target="(\w+)"}} (\S+)$', get(self.url), re.MULTILINE)
        return {target: float(value) for target, value in found}

    def stop(self):
        super().stop()
        self.otlp.broker.__exit__()


def times_by_target(exporter, subscriber, folder):
    """When each delivered reading was made, in the order of arrival; seconds since the epoch."""
    states = [json.loads(payload) for topic, payload in subscriber.messages() if topic.startswith(f"{folder.name}/") and topic.endswith("/state")]
    made = [datetime.datetime.fromisoformat(state["time"].replace("Z", "+00:00")).timestamp() for state in states]
    return {"otlp": [min(reading.times) / 1e9 for reading in list(exporter.otlp.broker.readings)],
            "mqtt": list(dict.fromkeys(made))}  # a state for each GPU


def outage(binary, folder, broker, subscriber, seconds):
    folder.mkdir()
    with Pushing(binary, folder, broker) as exporter:
        wait_for(lambda: min(exporter.pushed("samples_total").values()) > 0, "a reading reaches both targets")
        wait_for(lambda: max(exporter.pushed("queue_length").values()) == 0, "nothing waits")
        exporter.otlp.cut()
        exporter.mqtt.cut()
        began = time.time()
        time.sleep(seconds)
        waiting = exporter.pushed("queue_length")
        ended = time.time()
        exporter.otlp.mend()
        exporter.mqtt.mend()
        wait_for(lambda: max(exporter.pushed("queue_length").values()) <= 1, "what waited is delivered", 300)
        check(exporter.pushed("dropped_total") == {"otlp": 0, "mqtt": 0}, f"{seconds} s: nothing is dropped: {exporter.pushed('dropped_total')}")
        for target, due in waiting.items():
            def arrived():
                return [made for made in times_by_target(exporter, subscriber, folder)[target] if began < made < ended]
            check(due >= (seconds - 2 * INTERVAL) / INTERVAL, f"{seconds} s: {target}: {due} readings wait")
            wait_for(lambda: len(arrived()) >= due, lambda: f"{seconds} s: {target}: {due} readings waited, {len(arrived())} arrived")
            made = times_by_target(exporter, subscriber, folder)[target]
            check(made == sorted(made), f"{seconds} s: {target}: in order")
            print(f"{seconds} s, {target}: {due:.0f} readings waited, all arrived", flush=True)


def overflow(binary, folder, broker, subscriber):
    folder.mkdir()
    with Pushing(binary, folder, broker, "--push.interval=1s") as exporter:
        wait_for(lambda: min(exporter.pushed("samples_total").values()) > 0, "a reading reaches both targets")
        exporter.otlp.cut()
        exporter.mqtt.cut()
        began = time.time()
        wait_for(lambda: min(exporter.pushed("dropped_total").values()) > 0, "the oldest readings are dropped", 600)
        check(max(exporter.pushed("queue_length").values()) <= QUEUE, f"the queue is bounded: {exporter.pushed('queue_length')}")
        exporter.otlp.mend()
        exporter.mqtt.mend()
        wait_for(lambda: max(exporter.pushed("queue_length").values()) <= 1, "what waited is delivered", 300)
        for target in ("otlp", "mqtt"):
            made = times_by_target(exporter, subscriber, folder)[target]
            kept = [at for at in made if at > began]  # up to a minute passes until the next attempt: the queue stays full
            check(made == sorted(made) and len(kept) >= QUEUE - 2, f"{target}: {len(kept)} readings are kept, in order")


def main():
    binary = sys.argv[1]
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = pathlib.Path(name)
        broker = stack.enter_context(Broker(folder, "broker"))
        subscriber = stack.enter_context(Subscriber(broker, folder, "subscriber"))
        failed = []

        def run(part, *arguments):
            try:
                part(binary, *arguments)
            except BaseException as error:  # a thread's SystemExit ends only the thread
                failed.append(error)
                print(f"FAIL {part.__name__} {arguments[0].name}: {error!r}", flush=True)

        threads = [threading.Thread(target=run, args=(outage, folder / "two", broker, subscriber, 2 * 60)),
                   threading.Thread(target=run, args=(outage, folder / "eleven", broker, subscriber, 11 * 60)),
                   threading.Thread(target=run, args=(overflow, folder / "overflow", broker, subscriber))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        check(not failed, "every part reached its end")
    finish()


if __name__ == "__main__":
    main()
