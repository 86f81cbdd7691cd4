# SPDX-License-Identifier: Apache-2.0
"""--push.mqtt with a real Mosquitto: what Home Assistant is told, logins, TLS, outages, and the end.

    push_mqtt.py BINARY SOURCE"""

import contextlib
import datetime
import json
import os
import pathlib
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading

from prometheus_client import parser

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from exporter_under_test import Exporter, Program, check, finish, get, wait_for  # noqa: E402
from push import ENVIRONMENT, Proxy, check_only_client_knows  # noqa: E402

BINARY = sys.argv[1]
HOST = re.sub(r"[^A-Za-z0-9_.-]", "_", socket.gethostname())
BASE = "home/gpus"
AVAILABILITY = f"{BASE}/{HOST}/status"
USER, PASSWORD = "van", "correct horse"
# Units that Home Assistant accepts for the classes that are used.
UNITS = {"power": {"W"}, "energy": {"kWh"}, "temperature": {"°C"}, "frequency": {"MHz"}, "data_size": {"MiB"}, None: {"%", "rpm"}}


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], capture_output=True, check=True)


def issue(folder, name, authority, sans):
    """NAME.pem and NAME.key; without an authority it is one."""
    options = (["-addext", "keyUsage=critical,keyCertSign"] if authority is None else
               ["-CA", folder / f"{authority}.pem", "-CAkey", folder / f"{authority}.key", "-addext", "basicConstraints=critical,CA:FALSE",
                "-addext", f"subjectAltName={sans}"])
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", 3, "-subj", f"/CN={name}", *options,
            "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem")


class Broker(Program):
    """A Mosquitto that keeps nothing on disk, on a free port. Another program may take that port first: then on another one."""
    name = "mosquitto"

    def __init__(self, folder, name, *lines, anonymous=True, address="127.0.0.1"):
        for _ in range(20):
            with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
                probe.bind((address, 0))
                self.port = probe.getsockname()[1]
            config = folder / f"{name}.conf"
            config.write_text("\n".join([f"listener {self.port} {address}", f"allow_anonymous {str(anonymous).lower()}", "persistence false",
                                         "user root", "log_dest stderr", *lines, ""]))
            super().__init__(["mosquitto", "-c", str(config)], folder / f"{name}.log")
            if self.wait_until(lambda: "running" if " running" in self.log() else "" if self.runs() else "ended", "runs") == "running":
                return
        raise SystemExit(f"FAIL mosquitto did not start:\n{self.log()}")

    def retained(self, pattern="#", login=()):
        """Payload by topic."""
        shown = subprocess.run(["mosquitto_sub", "-h", "127.0.0.1", "-p", str(self.port), "-t", pattern, "--retained-only", "-W", "1", "-F", "%t %p", *login],
                               capture_output=True, text=True, timeout=60)
        return dict(line.split(" ", 1) for line in shown.stdout.splitlines())

    def publish(self, topic, payload, *arguments):
        subprocess.run(["mosquitto_pub", "-h", "127.0.0.1", "-p", str(self.port), "-t", topic, "-m", payload, *arguments], check=True, timeout=60)


class Subscriber(Program):
    """Every message of a broker from now on: (topic, payload), in order."""
    name = "mosquitto_sub"

    def __init__(self, broker, folder, name):
        self.messages_file = folder / f"{name}.messages"
        # Its own message shows that the subscription works.
        with open(self.messages_file, "w") as out:
            super().__init__(["mosquitto_sub", "-h", "127.0.0.1", "-p", str(broker.port), "-q", "1", "-t", "#", "-F", "%t %p"], folder / f"{name}.log", stdout=out)
        wait_for(lambda: broker.publish("test/probe", "x") or self.of("test/probe"), "a message reaches the subscriber")

    def messages(self):
        text = self.messages_file.read_text()
        return [tuple(line.split(" ", 1)) for line in text[:text.rfind("\n") + 1].splitlines()]

    def of(self, topic):
        return [payload for name, payload in self.messages() if name == topic]

    def states(self, topic):
        return [json.loads(payload) for payload in self.of(topic)]

    def stop(self):
        self.process.kill()
        self.process.wait()


class Forwarder:
    """A port that leads to a broker, until the line is cut."""

    def __init__(self, broker):
        self.broker, self.lock, self.connections, self.listener = broker, threading.Lock(), [], None
        # Stays bound and never listens: no other program can take the port while the line is cut.
        self.reserved = socket.socket()
        self.reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.reserved.bind(("127.0.0.1", 0))
        self.port = self.reserved.getsockname()[1]
        self.mend()

    def mend(self, broker=None):
        self.broker = broker or self.broker
        self.listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def cut(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        with self.lock:
            for connection in self.connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            self.connections.clear()

    def accept(self, listener):
        while True:
            try:
                near = listener.accept()[0]
                far = socket.create_connection(("127.0.0.1", self.broker.port))
            except OSError:
                return
            with self.lock:
                self.connections += [near, far]
            threading.Thread(target=self.copy, args=(near, far), daemon=True).start()

    @staticmethod
    def copy(near, far):
        with near, far, contextlib.suppress(OSError):
            while True:
                for ready in select.select([near, far], [], [])[0]:
                    data = ready.recv(65536)
                    if not data:
                        return
                    (far if ready is near else near).sendall(data)


class MqttExporter(Exporter):
    """Pushes every second to a port of this machine."""

    def __init__(self, folder, name, port, *arguments, scheme="mqtt", host="127.0.0.1", simulate="arc-a770", proxies={}):
        """port: None for the scheme's own. proxies: variables of the environment."""
        where = host if port is None else f"{host}:{port}"
        super().__init__(BINARY, folder / f"{name}.log", f"--simulate={simulate}", f"--push.mqtt={scheme}://{where}/{BASE}", "--push.interval=1s",
                         *arguments, env={**ENVIRONMENT, **proxies})

    def problem(self, part):
        self.wait_until(lambda: re.search(r'a reading was not delivered.*target=mqtt.*' + part, self.log()), f"logs {part!r}")

    def pushed(self, name):
        found = re.search(rf'^intel_gpu_exporter_push_{name}{{target="mqtt"}} (\S+)$', get(self.url), re.M)
        return float(found.group(1)) if found else None


def is_connected(broker, login=()):
    return broker.retained(AVAILABILITY, login) == {AVAILABILITY: "online"}


def check_descriptions(retained, addresses):
    """As Home Assistant reads them."""
    configs = {topic: json.loads(payload) for topic, payload in retained.items() if topic.startswith("homeassistant/")}
    check(len(configs) == len(addresses), f"one device for each GPU: {list(configs)}")
    unique = set()
    for topic, config in configs.items():
        check(re.fullmatch(r"homeassistant/device/[A-Za-z0-9_-]+/config", topic), f"topic {topic}")
        check(set(config) <= {"device", "origin", "components", "state_topic", "qos", "availability", "availability_mode"}, f"{topic}: members")
        check(config["device"]["identifiers"] and config["device"]["name"] and config["origin"]["name"], f"{topic}: required members")
        check(0 < len(config["components"]) <= 11, f"{topic}: {len(config['components'])} entities")
        check([one["topic"] for one in config["availability"]] == [AVAILABILITY, config["state_topic"].replace("/state", "/status")], f"{topic}: availability")
        for key, entity in config["components"].items():
            unique.add(entity["unique_id"])
            check(entity["platform"] in ("sensor", "binary_sensor"), f"{topic} {key}: platform")
            name = re.search(r"value_json(?:\.(\w+)|\['([\w.]+)'\]) ", entity["value_template"])
            check(name and (name[1] or name[2]).replace(".", "_") == key, f"{topic} {key}: template")
            if entity["platform"] == "sensor":
                check(entity["unit_of_measurement"] in UNITS[entity.get("device_class")], f"{topic} {key}: unit")
                check(entity["state_class"] == ("total_increasing" if key == "power_energy" else "measurement"), f"{topic} {key}: state class")
            else:
                check("unit_of_measurement" not in entity and entity["device_class"] == "problem", f"{topic} {key}: binary sensor")
    check(len(unique) == sum(len(config["components"]) for config in configs.values()), "every entity has an id of its own")
    return configs


def expected_state(page, device):
    """What /metrics says, in the units of the state document."""
    values = {}
    for family in parser.text_string_to_metric_families(page):
        for sample in family.samples:
            labels = dict(sample.labels)
            if labels.pop("device", None) == device:
                values.setdefault(sample.name, []).append((labels, sample.value))

    def first(metric, **labels):
        return next((value for have, value in values.get(metric, []) if labels.items() <= have.items()), None)

    def busy(name):
        rows = [value for have, value in values.get("intel_gpu_engine_busy_ratio", []) if have["class"] == name]
        return 100 * sum(rows) / len(rows) if rows else None

    memory = values.get("intel_gpu_memory_used_bytes", [])
    own = [value for have, value in memory if have["memory_region"] != "system"]
    used = own or [value for _, value in memory]
    hertz = first("intel_gpu_frequency_hertz", gt="0", kind="actual")
    watts = [first("intel_gpu_power_watts", domain=domain) for domain in ("card", "gpu", "package")]
    joules = [first("intel_gpu_energy_joules_total", domain=domain) for domain in ("card", "gpu", "package")]
    return {**{f"engine.{name}.busy": busy(name) for name in ("render", "video", "video_enhance", "compute")},
            "power.energy": next((value / 3.6e6 for value in joules if value is not None), None), "fan.speed": first("intel_gpu_fan_speed_rpm"),
            "power.mean": next((value for value in watts if value is not None), None),
            "temperature.value": first("intel_gpu_temperature_celsius", sensor="package"),
            "frequency.actual": None if hertz is None else hertz / 1e6,
            "memory.used": sum(used) / 2**20 if used else None}


def check_values(exporter, subscriber, devices):
    def differences():
        """A capture stays as it is after its last pass, so page and state hold the same reading in the end."""
        page, wrong = get(exporter.url), []
        for device in devices:
            states = subscriber.states(f"{BASE}/{HOST}/{device}/state")
            if not states:
                return [f"no state of {device}"]
            for key, value in expected_state(page, device).items():
                pushed = states[-1][key]
                if (value is None) != (pushed is None) or (value is not None and abs(value - pushed) > 0.006):
                    wrong.append(f"{device} {key}: pushed {pushed}, on the page {value}")
        return wrong

    last = []

    def equal():
        last[:] = differences()
        return not last

    wait_for(equal, lambda: f"states equal the page: {last}")
    known = [key for device in devices for key, value in expected_state(get(exporter.url), device).items() if value is not None]
    check(len(known) >= 12, f"values to compare: {known}")


def seconds(state):
    return datetime.datetime.fromisoformat(state["time"].replace("Z", "+00:00")).timestamp()


def check_outage(exporter, forwarder, subscriber, broker, topics):
    """Readings of an outage arrive later, in order, and none is missing."""
    began = datetime.datetime.now().timestamp()
    forwarder.cut()
    exporter.problem("(?:cannot connect|refused)")
    wait_for(lambda: exporter.pushed("queue_length") >= 6, "readings wait")
    check(exporter.pushed("failures_total") > 0, "failures are counted")
    ended = datetime.datetime.now().timestamp()
    forwarder.mend()
    wait_for(lambda: exporter.pushed("queue_length") == 0 and is_connected(broker), "the queue is delivered")
    check("readings are delivered again" in exporter.log(), "the end of the outage is logged")
    check(exporter.pushed("dropped_total") == 0, "nothing is dropped")
    for topic in topics:
        times = [seconds(state) for state in subscriber.states(topic)]
        check(times == sorted(times), f"{topic}: in order")
        check(sum(began < time < ended for time in times) >= 4, f"{topic}: readings of the outage")
    entities = {config["state_topic"]: len(config["components"]) for config in check_descriptions(broker.retained("homeassistant/#"), topics).values()}

    def all_counted():
        distinct = sum(entities[topic] * len({state["time"] for state in subscriber.states(topic)}) for topic in topics)
        return distinct >= exporter.pushed("samples_total")

    wait_for(all_counted, "all that counts as delivered has arrived")


def check_home_assistant(folder, capture):
    devices = ["0000:00:02.0", "0000:03:00.0", "0000:04:00.0"]
    with contextlib.ExitStack() as stack:
        broker = stack.enter_context(Broker(folder, "broker"))
        subscriber = stack.enter_context(Subscriber(broker, folder, "all"))
        forwarder = Forwarder(broker)
        exporter = stack.enter_context(MqttExporter(folder, "rack", forwarder.port, simulate=f"capture:{capture}"))
        wait_for(lambda: is_connected(broker), "the exporter is online")
        retained = broker.retained()
        devices = sorted(topic.split("/")[3] for topic in retained if topic.count("/") == 4 and topic.endswith("/status"))
        check(len(devices) == 3, f"three GPUs are online: {retained.keys()}")
        configs = check_descriptions(retained, devices)
        topics = [config["state_topic"] for config in configs.values()]
        check(not [topic for topic in retained if topic.endswith("/state")], "states are not retained")
        check_values(exporter, subscriber, devices)

        topic = next(iter(configs))
        before = len(subscriber.of(topic))
        broker.publish("homeassistant/status", "online")
        wait_for(lambda: len(subscriber.of(topic)) > before, "Home Assistant starts: descriptions again")

        check_outage(exporter, forwarder, subscriber, broker, topics)

        # A broker that was restarted without a memory.
        forwarder.cut()
        empty = stack.enter_context(Broker(folder, "empty"))
        forwarder.mend(empty)
        wait_for(lambda: is_connected(empty), "the exporter is online at the empty broker")
        check(empty.retained("homeassistant/#").keys() == configs.keys(), "it has the descriptions again")

        exporter.stop()
        wait_for(lambda: empty.retained(AVAILABILITY) == {AVAILABILITY: "offline"}, "the end says offline")
        wait_for(lambda: " disconnected." in empty.log(), "it says goodbye")


def check_kill(folder):
    with Broker(folder, "kill") as broker:
        exporter = MqttExporter(folder, "killed", broker.port)
        wait_for(lambda: is_connected(broker), "the exporter is online")
        exporter.process.send_signal(signal.SIGKILL)
        exporter.process.wait()
        wait_for(lambda: broker.retained(AVAILABILITY) == {AVAILABILITY: "offline"}, "the will says offline")


def check_logins(folder):
    passwords = folder / "passwords"
    passwords.touch(0o600)
    subprocess.run(["mosquitto_passwd", "-b", str(passwords), USER, PASSWORD], check=True, capture_output=True)
    for name, text in {"right": f"{USER}:{PASSWORD}", "wrong": f"{USER}:incorrect horse"}.items():
        (folder / name).touch(0o600)
        (folder / name).write_text(text + "\n")
    login = ("-u", USER, "-P", PASSWORD)
    with contextlib.ExitStack() as stack:
        broker = stack.enter_context(Broker(folder, "password", f"password_file {passwords}", anonymous=False))
        nobody = stack.enter_context(MqttExporter(folder, "nobody", broker.port))
        wrong = stack.enter_context(MqttExporter(folder, "wrong_password", broker.port, f"--push.mqtt.credentials={folder / 'wrong'}"))
        nobody.problem("requires a user and a password")
        wrong.problem("rejects the user")
        check("incorrect horse" not in wrong.log(), "a password is in the log")
        wrong.stop()
        nobody.stop()
        right = stack.enter_context(MqttExporter(folder, "right_password", broker.port, f"--push.mqtt.credentials={folder / 'right'}"))
        wait_for(lambda: is_connected(broker, login), "the right password works")
        right.stop()
        check(PASSWORD not in right.log(), "a password is in the log")


def check_tls(folder):
    issue(folder, "ca", None, "")
    issue(folder, "other_ca", None, "")
    issue(folder, "server", "ca", "DNS:localhost,IP:127.0.0.1")
    issue(folder, "elsewhere", "ca", "DNS:elsewhere.example")
    trust = f"--push.cacert={folder / 'ca.pem'}"
    with contextlib.ExitStack() as stack:
        def tls_broker(name, certificate):
            return stack.enter_context(Broker(folder, name, f"certfile {folder / certificate}.pem", f"keyfile {folder / certificate}.key"))

        good, elsewhere, plain = tls_broker("tls", "server"), tls_broker("tls_elsewhere", "elsewhere"), stack.enter_context(Broker(folder, "plain"))

        def exporter(name, broker, *arguments, **options):
            return stack.enter_context(MqttExporter(folder, name, broker.port, *arguments, **{"scheme": "mqtts", **options}))

        right = exporter("tls_right", good, trust)
        untrusted = exporter("tls_untrusted", good, f"--push.cacert={folder / 'other_ca.pem'}")
        other_name = exporter("tls_other_name", elsewhere, trust)
        no_tls_there = exporter("tls_to_plain", plain, trust)
        no_tls_here = exporter("plain_to_tls", good, scheme="mqtt")
        right.wait_until(lambda: (right.pushed("samples_total") or 0) > 0, "delivers over TLS")
        check(right.pushed("failures_total") == 0, f"no failure over TLS: {right.log()}")
        untrusted.problem("certificate")
        other_name.problem("certificate")
        no_tls_there.problem("TLS")
        no_tls_here.problem("mqtt:// or mqtts://")
        for refused in (untrusted, other_name, no_tls_there, no_tls_here):
            check(refused.pushed("samples_total") == 0, "nothing is delivered")


def check_routes(folder):
    """Through a proxy, in the clear and with TLS, whose certificate is the broker's; and over IPv6."""
    with contextlib.ExitStack() as stack:
        plain = stack.enter_context(Broker(folder, "behind"))
        tls = stack.enter_context(Broker(folder, "behind_tls", f"certfile {folder / 'elsewhere'}.pem", f"keyfile {folder / 'elsewhere'}.key"))
        for scheme, broker, port in (("mqtt", plain, 1883), ("mqtts", tls, 8883)):
            way = Proxy(broker.port)
            through = stack.enter_context(MqttExporter(folder, f"{scheme}_through_proxy", None, f"--push.cacert={folder / 'ca.pem'}",
                                                       scheme=scheme, host="elsewhere.example", proxies={f"{scheme}_proxy": way.url}))
            through.wait_until(lambda: (through.pushed("samples_total") or 0) > 0, f"delivers by {scheme} through a proxy")
            check(way.lines[0].startswith(f"CONNECT elsewhere.example:{port}"), f"{scheme}: a tunnel to the broker: {way.lines[0]}")
            check("Proxy-Authorization: Basic " in way.lines[0], f"{scheme}: with the proxy's user")
        way = Proxy(plain.port)
        named = stack.enter_context(MqttExporter(folder, "named_proxy", None, host="elsewhere.example", proxies=way.by_name("mqtt_proxy")))
        named.wait_until(lambda: (named.pushed("samples_total") or 0) > 0, "delivers through a proxy with a name")
        check_only_client_knows(named, Proxy.PASSWORD)
        sixth = stack.enter_context(MqttExporter(folder, "ipv6", stack.enter_context(Broker(folder, "ipv6_broker", address="::1")).port, host="[::1]"))
        sixth.wait_until(lambda: (sixth.pushed("samples_total") or 0) > 0, "delivers over IPv6")


def check_silence(folder):
    """A port that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as silent, MqttExporter(folder, "silent", silent.getsockname()[1]) as exporter:
        check("intel_gpu_info" in get(exporter.url), "pages do not wait for it")
        exporter.problem("did not answer in time, before the login")
        check(exporter.pushed("queue_length") > 0 and exporter.pushed("dropped_total") == 0, "readings wait")


def check_usage():
    for url, part in {"mqtt://van:secret@localhost": "push.mqtt.credentials", "http://localhost": "mqtt", "mqtt://localhost/a/%23": "topic",
                      "mqtt://localhost/a/+/b": "topic", "mqtt://": "host"}.items():
        done = subprocess.run([BINARY, "--web.listen-address=127.0.0.1:0", "--simulate=asleep", f"--push.mqtt={url}"], capture_output=True, text=True, timeout=120)
        check(done.returncode not in (0, None) and part in done.stderr and "secret" not in done.stderr, f"{url}: {done.returncode} {done.stderr}")
    alone = subprocess.run([BINARY, "--push.mqtt.credentials=/dev/null"], capture_output=True, text=True, timeout=120)
    check("needs --push.mqtt URL" in alone.stderr, f"credentials for nothing: {alone.stderr}")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        capture = folder / "rack.tar.zst"
        subprocess.run([BINARY, "capture", str(capture), "--simulate", "rack"], check=True, capture_output=True, timeout=120)
        check_usage()
        check_home_assistant(folder, capture)
        check_kill(folder)
        check_logins(folder)
        check_tls(folder)
        check_routes(folder)
        check_silence(folder)
    finish()


if __name__ == "__main__":
    main()
