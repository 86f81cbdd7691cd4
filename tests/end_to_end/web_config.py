#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--web.config.file as its users meet it: curl, openssl s_client and a real Prometheus against the real program.

usage: web_config.py EXPORTER_BINARY REPOSITORY_ROOT
"""
import base64
import http.client
import os
import pathlib
import re
import ssl
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from exporter_under_test import Exporter, Prometheus, bcrypt, check, finish, replace_file, wait_for  # noqa: E402

PASSWORDS = {"alice": "correct horse", "bob": "battery staple"}
TLS = "tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n"


def openssl(*arguments, **options):
    return subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True, check=True, **options).stdout


def users(*names):
    return "basic_auth_users:\n" + "".join(f"  {name}: {bcrypt(PASSWORDS[name])}\n" for name in names)


class Authority:
    def __init__(self, folder, name):
        self.folder, self.name = folder, name
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", 3, "-subj", f"/CN={name}",
                "-addext", "keyUsage=critical,keyCertSign", "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem")

    def issue(self, name, sans):
        """Makes NAME.pem and NAME.key; both are there at once or not at all, one after the other."""
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", 3, "-subj", f"/CN={name}",
                "-CA", self.folder / f"{self.name}.pem", "-CAkey", self.folder / f"{self.name}.key",
                "-addext", "basicConstraints=critical,CA:FALSE", "-addext", f"subjectAltName={sans}",
                "-keyout", self.folder / "new.key", "-out", self.folder / "new.pem")
        for kind in ("key", "pem"):
            os.rename(self.folder / f"new.{kind}", self.folder / f"{name}.{kind}")


class WebClient:
    """curl and openssl against `port`; their CA is in `folder`."""

    def curl(self, *arguments, path="/metrics", scheme="https"):
        """Status and output; status 0: no answer."""
        command = ["curl", "-sS", "--max-time", "120", "-w", "\n%{http_code}", *map(str, arguments), f"{scheme}://localhost:{self.port}{path}",
                   "--resolve", f"localhost:{self.port}:127.0.0.1"]
        if scheme == "https":
            command += ["--cacert", str(self.folder / "ca.pem")]
        outcome = subprocess.run(command, capture_output=True, text=True)
        body, _, status = outcome.stdout.rpartition("\n")
        return int(status), body

    def status(self, *arguments, **options):
        return self.curl(*arguments, **options)[0]

    def s_client(self, *arguments):
        """What openssl says of a connection; "" if there was none. A request follows: TLS 1.3 refuses after the handshake."""
        outcome = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{self.port}", "-CAfile", str(self.folder / "ca.pem"),
                                  "-ign_eof", *arguments], input="GET /metrics HTTP/1.0\r\n\r\n", capture_output=True, text=True, timeout=120)
        return outcome.stdout if "HTTP/1." in outcome.stdout else ""

    def serial(self):
        return re.search(r"Serial Number:\s+(\S+)", openssl("x509", "-noout", "-text", input=self.s_client("-showcerts"))).group(1)


class WebExporter(WebClient, Exporter):
    """With a web configuration; log and configuration are in `folder`, with the files that the configuration names."""

    def __init__(self, binary, folder, config, *arguments, log=None):
        self.folder, self.config = folder, folder / "web.yml"
        self.write(config)
        super().__init__(binary, folder / "log" if log is None else log, f"--web.config.file={self.config}",
                         *(arguments or ["--simulate=asleep", "--log.level=debug"]))

    def write(self, config):
        replace_file(self.config, config)

    def stop(self):
        super().stop()
        log = self.log()
        for password in PASSWORDS.values():
            check(password not in log and base64.b64encode(password.encode()).decode() not in log, "a password is in the log")
        check("u" * 21 not in log, "a hash is in the log")


def login(name, password=None):
    return ["-u", f"{name}:{PASSWORDS[name] if password is None else password}"]


def check_passwords(binary, folder):
    with WebExporter(binary, folder, users("alice")) as exporter:
        def get(*arguments, **options):
            return exporter.curl(*arguments, scheme="http", **options)

        status, page = get(*login("alice"))
        check(status == 200 and "intel_gpu_info" in page, "the right password gets the page")
        check("intel_gpu_exporter_web_config_last_reload_successful 1" in page, "the gauge is 1")
        check(PASSWORDS["alice"] not in page and "$2b$" not in page, "the page has a secret")
        for name, arguments in {"nothing": [], "a wrong password": login("alice", "wrong"), "no password": login("alice", ""),
                                "an unknown user": login("bob"), "a user in capitals": ["-u", "Alice:" + PASSWORDS["alice"]],
                                "another scheme": ["-H", "Authorization: Bearer x"],
                                "broken base64": ["-H", "Authorization: Basic !"]}.items():
            status, answer = get("-i", *arguments)
            check(status == 401, f"{name}: {status}")
            check('WWW-Authenticate: Basic realm="intel-gpu-exporter", charset="UTF-8"' in answer, f"{name}: {answer}")
            check("intel_gpu" not in answer.partition("\n\n")[2].partition("\r\n\r\n")[2], f"{name}: no page")
        for path in ["/", "/-/healthy", "/-/ready", "/nothing"]:
            check(get(path=path)[0] == 401, f"{path} is behind the password")
            check(get(*login("alice"), path=path)[0] == (404 if path == "/nothing" else 200), f"{path} with the password")
        check(get("-I", *login("alice"))[0] == 200 and get("-I")[0] == 401, "HEAD")

        # Users change: no restart, and a connection that exists goes on.
        connection = http.client.HTTPConnection("127.0.0.1", exporter.port, timeout=120)

        def ask(name):
            connection.request("GET", "/metrics", headers={
                "Authorization": "Basic " + base64.b64encode(f"{name}:{PASSWORDS[name]}".encode()).decode()})
            answer = connection.getresponse()
            answer.read()
            return answer.status

        check(ask("alice") == 200, "a kept connection")
        socket = connection.sock
        exporter.write(users("bob"))
        wait_for(lambda: get(*login("bob"))[0] == 200, "the new user is let in")
        check(get(*login("alice"))[0] == 401, "the old user is let in no more")
        check(ask("alice") == 401 and ask("bob") == 200, "the same on a kept connection")
        check(connection.sock is socket, "the connection was kept")

        # A broken file changes nothing but the gauge, and is logged once.
        exporter.write("basic_auth_users: {bob: " + PASSWORDS["bob"] + "}\n")
        wait_for(lambda: "web_config_last_reload_successful 0" in get(*login("bob"))[1], "the gauge becomes 0")
        time.sleep(2.5)  # two checks of the file, which report nothing
        check(ask("bob") == 200 and connection.sock is socket, "an earlier state stays in use")
        lines = [line for line in exporter.log().splitlines() if "level=error" in line]
        check(len(lines) == 1 and "web.yml:1" in lines[0] and "hint=" in lines[0], f"one log line: {lines}")
        exporter.write(users("alice", "bob"))
        wait_for(lambda: "web_config_last_reload_successful 1" in get(*login("alice"))[1], "the gauge becomes 1 again")
        exporter.write(TLS + users("alice"))
        wait_for(lambda: get(*login("bob"))[0] == 200 and "restart to accept" in exporter.log(), "turning on TLS is refused")
        check(get(*login("bob"))[0] == 200, "and the earlier state stays")
        connection.close()


def check_flood(binary, folder):
    """Wrong passwords, each another one, all the time: who is known passes, and nobody else comes in."""
    with WebExporter(binary, folder, users("alice")) as exporter:
        check(exporter.status(*login("alice"), scheme="http") == 200, "before the flood")
        code = ("import base64, http.client, sys\n"
                "for i in range(6):\n"
                "    c = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]), timeout=120)\n"
                "    a = base64.b64encode(f'mallory:{sys.argv[2]}-{i}'.encode()).decode()\n"
                "    c.request('GET', '/metrics', headers={'Authorization': 'Basic ' + a})\n"
                "    print(c.getresponse().status)\n")
        flood = [subprocess.Popen([sys.executable, "-c", code, str(exporter.port), str(worker)], stdout=subprocess.PIPE, text=True)
                 for worker in range(24)]
        during = 0
        while any(process.poll() is None for process in flood):
            check(exporter.status(*login("alice"), scheme="http") == 200, "a known password passes during the flood")
            during += 1
        statuses = [int(line) for process in flood for line in process.stdout.read().split()]
        check(during >= 1, "the flood was over at once")
        check(len(statuses) == 24 * 6 and set(statuses) <= {401, 503}, f"the flood was answered {sorted(set(statuses))}")
        check(401 in statuses, "some of it was checked")


FLOOD = """
import base64, itertools, socket, sys, threading
port, threads = int(sys.argv[1]), int(sys.argv[2])
numbers = itertools.count()

def flood():
    connection = None
    while True:
        number = next(numbers)
        user = ["alice", "bob", f"mallory{number}"][number % 3]
        login = base64.b64encode(f"{user}:wrong-{number}".encode()).decode()
        try:
            connection = connection or socket.create_connection(("127.0.0.1", port), timeout=120)
            connection.sendall(f"GET /metrics HTTP/1.1\\r\\nHost: x\\r\\nAuthorization: Basic {login}\\r\\n\\r\\n".encode())
            answer = connection.recv(65536)
        except OSError:
            answer = b""
        if not answer or b"Connection: close" in answer:
            connection = connection and connection.close()
        if b" 503 " in answer[:20] and not refused.is_set():
            refused.set()
            print("503", flush=True)

refused = threading.Event()
for _ in range(threads):
    threading.Thread(target=flood, daemon=True).start()
sys.stdin.read()  # until whoever started this has gone
"""


def check_flood_after_start(binary, folder):
    """Nobody is known yet, and a hundred threads try passwords from the good client's address, with its name among others."""
    for _ in range(3):
        with WebExporter(binary, folder, users("alice", "bob")) as exporter:
            flood = subprocess.Popen([sys.executable, "-c", FLOOD, str(exporter.port), "100"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            check(flood.stdout.readline() == "503\n", "the flood is more than can be checked")
            try:
                for number in range(20):
                    tries, deadline = 0, time.monotonic() + 120
                    status = 0
                    while status != 200 and time.monotonic() < deadline:
                        status = exporter.status(*login("alice"), scheme="http")
                        tries += 1
                        if status == 503:
                            time.sleep(1)  # as Retry-After says
                    check(status == 200, f"request {number} of the good client got {status} after {tries} tries")
                    check(number == 0 or tries == 1, f"a password that is known passes at once, not after {tries} tries")
            finally:
                flood.kill()
                flood.communicate()


def check_headers_and_limit(binary, folder):
    config = ("http_server_config:\n  http2: true\n  headers:\n    Strict-Transport-Security: max-age=1\n    X-Frame-Options: deny\n"
              "    X-Content-Type-Options: nosniff\n    Content-Security-Policy: default-src 'none'\nrate_limit: {interval: 1h, burst: 3}\n")
    with WebExporter(binary, folder, config) as exporter:
        for path, expected in [("/metrics", 200), ("/", 200), ("/nothing", 404), ("/metrics", 429)]:
            status, answer = exporter.curl("-i", path=path, scheme="http")
            head = answer.replace("\r", "").partition("\n\n")[0].lower()
            check(status == expected, f"{path}: {status}, not {expected}")
            for line in ["strict-transport-security: max-age=1", "x-frame-options: deny", "x-content-type-options: nosniff",
                         "content-security-policy: default-src 'none'"]:
                check(head.count(line.partition(":")[0] + ":") == 1 and line in head, f"{path}: {line}: {head}")


def check_tls(binary, folder, authority):
    with WebExporter(binary, folder, TLS) as exporter:
        check(exporter.status() == 200, "curl")
        check(exporter.status("--tlsv1.3") == 200 and exporter.status("--tls-max", "1.2") == 200, "both versions")
        check(exporter.curl("--http2", "-i")[1].startswith("HTTP/1.1 200"), "curl agrees on HTTP/1.1")
        check(exporter.s_client("-alpn", "h2") == "", "a client that speaks only HTTP/2 is refused")
        check("Protocol  : TLSv1.2" in exporter.s_client("-tls1_2") or "TLSv1.2" in exporter.s_client("-tls1_2"), "TLS 1.2")
        for old in ["-tls1", "-tls1_1"]:
            check(exporter.s_client(old, "-cipher", "ALL:@SECLEVEL=0") == "", f"{old} is refused")
        status, answer = exporter.curl(scheme="http")
        check(status == 400 and "HTTPS" in answer, f"plain HTTP on the port with TLS: {status} {answer}")

        # The certificate changes: no restart, and a connection that exists goes on.
        context = ssl.create_default_context(cafile=folder / "ca.pem")
        connection = http.client.HTTPSConnection("localhost", exporter.port, timeout=120, context=context)

        def ask():
            connection.request("GET", "/metrics")
            answer = connection.getresponse()
            answer.read()
            return answer.status

        check(ask() == 200, "a kept connection")
        socket, before = connection.sock, exporter.serial()
        authority.issue("server", "DNS:localhost,IP:127.0.0.1")
        wait_for(lambda: exporter.serial() != before, "the new certificate is in use")
        check(ask() == 200 and connection.sock is socket, "the connection goes on")
        os.rename(folder / "server.key", folder / "server.key.away")
        wait_for(lambda: ask() == 200 and "server.key cannot be read" in exporter.log(), "a missing key is logged")
        check(ask() == 200 and connection.sock is socket and exporter.status() == 200, "an earlier state stays in use")
        os.rename(folder / "server.key.away", folder / "server.key")
        wait_for(lambda: "web_config_last_reload_successful 1" in exporter.curl()[1], "all is well again")

        exporter.write(TLS + "  min_version: TLS13\n")
        wait_for(lambda: exporter.status("--tls-max", "1.2") == 0, "TLS 1.2 is refused")
        check(exporter.status() == 200 and ask() == 200 and connection.sock is socket, "TLS 1.3 goes on")
        connection.close()

        # What was refused stays refused until a restart.
        exporter.write(TLS)
        wait_for(lambda: exporter.status() == 200 and "weaker than before: min_version; restart to accept" in exporter.log(), "a lost min_version is logged")
        check(exporter.status("--tls-max", "1.2") == 0 and exporter.status() == 200, "TLS 1.2 is refused, still")

    with WebExporter(binary, folder, TLS + "  max_version: TLS12\n") as exporter:
        exporter.write(TLS + "  max_version: TLS12\n  cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384]\n  curve_preferences: [CurveP384]\n")
        wait_for(lambda: "ECDHE-ECDSA-AES256-GCM-SHA384" in exporter.s_client(), "the one cipher suite")
        check(exporter.s_client("-cipher", "ECDHE-ECDSA-AES128-GCM-SHA256") == "", "another suite is refused")
        check("ECDH, secp384r1" in exporter.s_client(), "the one curve")
    with WebExporter(binary, folder, TLS + "  min_version: TLS10\n") as exporter:
        check("TLSv1.1" in exporter.s_client("-tls1_1", "-cipher", "ALL:@SECLEVEL=0"), "TLS 1.1, if somebody insists")


def check_client_certificates(binary, folder):
    def certificate(name):
        return ["--cert", folder / f"{name}.pem", "--key", folder / f"{name}.key"] if name else []

    names = ["", "client", "nameless", "stranger"]
    ca = "  client_ca_file: ca.pem\n"
    policies = {
        "NoClientCert": ("", names),
        "RequestClientCert": ("", names),
        "RequireAnyClientCert": ("", names[1:]),
        "RequireAndVerifyClientCert": (ca, ["client", "nameless"]),
    }

    def admitted(*versions):
        return [name for name in names if exporter.status(*versions, *certificate(name)) == 200]

    with WebExporter(binary, folder, TLS + "  client_auth_type: VerifyClientCertIfGiven\n" + ca) as exporter:
        check(admitted() == ["", "client", "nameless"], f"VerifyClientCertIfGiven lets in {admitted()}")
        check(admitted("--tls-max", "1.2") == ["", "client", "nameless"], "VerifyClientCertIfGiven with TLS 1.2")
    with WebExporter(binary, folder, TLS) as exporter:
        context = ssl.create_default_context(cafile=folder / "ca.pem")
        earlier = http.client.HTTPSConnection("localhost", exporter.port, timeout=120, context=context)

        def ask_earlier():
            earlier.request("GET", "/metrics")
            answer = earlier.getresponse()
            answer.read()
            return answer.status, answer.getheader("Connection")

        check(ask_earlier() == (200, None), "a connection from before client certificates are asked for")
        for policy, (more, expected) in policies.items():
            exporter.write(f"{TLS}  client_auth_type: {policy}\n{more}")
            wait_for(lambda: admitted() == expected, lambda: f"{policy} lets in {expected}, not {admitted()}")
            check(admitted("--tls-max", "1.2") == expected, f"{policy} with TLS 1.2")
        exporter.write(f"{TLS}  client_auth_type: RequireAndVerifyClientCert\n{ca}  client_allowed_sans: [prometheus.example]\n")
        wait_for(lambda: admitted() == ["client"], "only the named client is let in")
        check(admitted("--tls-max", "1.2") == ["client"], "the same with TLS 1.2")
        check(ask_earlier() == (200, "close"), "that connection ends after its next answer")

        # Half a file: what is missing protects, so it is not missed.
        exporter.write(TLS)
        wait_for(lambda: admitted() == ["client"] and "weaker than before: client_auth_type, client_ca_file, client_allowed_sans; restart to accept" in exporter.log(), "half a file opens nothing")
        check(admitted() == ["client"], "only the named client is let in, still")
        check("Acceptable client certificate CA names" in exporter.s_client(
            "-cert", str(folder / "client.pem"), "-key", str(folder / "client.key")), "the CA is named to clients")


def check_prometheus(binary, folder):
    config = (TLS + "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.pem\n  client_allowed_sans: [prometheus.example]\n"
              "  min_version: TLS13\n" + users("alice"))
    with WebExporter(binary, folder, config) as exporter:
        def job(name, user, certificate):
            keys = f", cert_file: {folder}/{certificate}.pem, key_file: {folder}/{certificate}.key" if certificate else ""
            return (f"- job_name: {name}\n  scheme: https\n  basic_auth: {{username: {user}, password: '{PASSWORDS[user]}'}}\n"
                    f"  tls_config: {{ca_file: {folder}/ca.pem, server_name: localhost{keys}}}\n"
                    f"  static_configs: [{{targets: ['127.0.0.1:{exporter.port}']}}]\n")

        jobs = (job("good", "alice", "client") + job("wrong-user", "bob", "client") +
                job("no-certificate", "alice", "") + job("stranger", "alice", "stranger"))
        with Prometheus(folder, "global: {scrape_interval: 1s}\nscrape_configs:\n" + jobs) as prometheus:
            def healths():
                return {target["labels"]["job"]: target["health"] for target in prometheus.api("targets")["activeTargets"]}

            wait_for(lambda: len(healths()) == 4 and "unknown" not in healths().values(), "Prometheus has tried all targets")
            # On a busy machine a scrape may take longer than the second that it has.
            wait_for(lambda: (prometheus.value('sum_over_time(up{job="good"}[10m])') or 0) >= 3, "three scrapes")
            expected = {"good": "up", "wrong-user": "down", "no-certificate": "down", "stranger": "down"}
            wait_for(lambda: healths() == expected, f"the health of the targets is {expected}")
            check(not prometheus.value('sum_over_time(up{job!="good"}[10m])'), "no scrape of the others succeeded")
            check(prometheus.value('count(intel_gpu_info{job="good"})') == 2, "both GPUs of the profile")
            errors = {target["labels"]["job"]: target["lastError"] for target in prometheus.api("targets")["activeTargets"]}
            check("401" in errors["wrong-user"], f"a wrong user is rejected: {errors['wrong-user']}")


def check_doctor(binary, folder):
    nobody = 65534
    # Root reads everything: who must not is somebody else. The program is given open, it may be out of nobody's reach.
    as_nobody = ["setpriv", f"--reuid={nobody}", f"--regid={nobody}", "--clear-groups"] if os.geteuid() == 0 else []

    def doctor(config, prefix=()):
        (folder / "d.yml").write_text(config)
        with open(binary, "rb") as program:
            return subprocess.run([*prefix, f"/proc/self/fd/{program.fileno()}", "doctor", "--simulate=asleep", f"--web.config.file={folder}/d.yml"],
                                  capture_output=True, text=True, pass_fds=[program.fileno()]).stdout

    check(f"ok       {folder}/d.yml" in doctor(TLS), "doctor finds a good file good")
    answer = doctor("tls_server_config: {cert_file: none.pem, key_file: server.key}\n")
    check(f"FAILED   {folder}/d.yml" in answer and "none.pem cannot be read" in answer and "fix:" in answer, f"doctor: {answer}")
    folder.chmod(0o755)
    (folder / "server.key").chmod(0)
    answer = doctor(TLS, as_nobody)
    user = nobody if as_nobody else os.geteuid()
    check(f"key_file {folder}/server.key cannot be read: Permission denied; the exporter runs as user {user}, which needs read permission" in answer,
          f"a key that may not be read: {answer}")


def make_certificates(folder):
    authority = Authority(folder, "ca")
    authority.issue("server", "DNS:localhost,IP:127.0.0.1")
    authority.issue("client", "DNS:prometheus.example")
    authority.issue("nameless", "DNS:somebody.example")
    Authority(folder, "other").issue("stranger", "DNS:prometheus.example")
    return authority


def main():
    binary = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        authority = make_certificates(folder)
        check_passwords(binary, folder)
        check_flood(binary, folder)
        check_flood_after_start(binary, folder)
        check_headers_and_limit(binary, folder)
        check_tls(binary, folder, authority)
        check_client_certificates(binary, folder)
        check_prometheus(binary, folder)
        check_doctor(binary, folder)
    finish()


if __name__ == "__main__":
    main()
