#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The API answers as docs/openapi.json says, the snapshot is what stats prints, and what protects /metrics protects it.

usage: api.py EXPORTER_BINARY REPOSITORY_ROOT
"""
import base64
import gzip
import json
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import urllib.error

import jsonschema

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from exporter_under_test import Exporter, bcrypt, check, fetch, finish  # noqa: E402

PROFILES = ["rack", "locked", "asleep", "arc-a770"]


def schema_of(openapi, folder, path):
    schema = openapi["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    if schema.get("$ref", "").endswith(".schema.json"):
        return json.loads((folder / schema["$ref"]).read_text())
    # References into the components stay valid below the document's own root.
    return {**schema, "components": openapi["components"]}


def status_of(url, headers={}):
    try:
        fetch(url, headers=headers)
        return 200
    except urllib.error.HTTPError as error:
        return error.code


def names_of(reading):
    """Every metric with the labels of its series, without values: these differ from one reading to the next."""
    found = set()
    for gpu in [*reading["gpus"], {"device": "", "metrics": reading["metrics"]}]:
        for name, series in gpu["metrics"].items():
            for one in series:
                labels = tuple(sorted((label, value) for label, value in one.items() if isinstance(value, str)))
                found.add((gpu["device"], name, labels))
    return found


def raw(port, request):
    """The answer to these bytes, until the server closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=120) as client:
        client.sendall(request)
        answer = b""
        while chunk := client.recv(65536):
            answer += chunk
        return answer


def check_answers(binary, root, folder, openapi):
    for profile in PROFILES:
        with Exporter(binary, folder / "log", f"--simulate={profile}", "--collector.host") as exporter:
            base = exporter.url.removesuffix("/metrics")
            for path in openapi["paths"]:
                answer = json.loads(fetch(base + path))
                try:
                    jsonschema.Draft7Validator(schema_of(openapi, root / "docs", path)).validate(answer)
                except jsonschema.ValidationError as error:
                    check(False, f"{profile}: {path}: {error.message} at {list(error.absolute_path)}")
                zipped = fetch(base + path, headers={"Accept-Encoding": "gzip"})
                check(json.loads(gzip.decompress(zipped)).keys() == answer.keys(), f"{profile}: {path} compressed")
            snapshot = json.loads(fetch(base + "/api/v1/snapshot"))
            stats = json.loads(subprocess.run([binary, "stats", "--format=json", "--count=1", f"--simulate={profile}"],
                                              capture_output=True, check=True).stdout)
            ours, printed = names_of(snapshot), names_of(stats)
            check(ours == printed, f"{profile}: stats and the API differ: {sorted(ours ^ printed)[:5]}")
            check(snapshot["version"] == stats["version"], f"{profile}: version")


def check_protocol(binary, folder):
    with Exporter(binary, folder / "log", "--simulate=rack") as exporter:
        base = exporter.url.removesuffix("/metrics")
        check(status_of(base + "/api/v1/nothing") == 404, "an unknown page of the API")
        for path in ("/api/v1/snapshot", "/api/v1/doctor", "/assets/page.js"):
            head = raw(exporter.port, f"HEAD {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            check(head.startswith(b"HTTP/1.1 200") and head.endswith(b"\r\n\r\n"), f"HEAD {path}: {head[-100:]}")
            for method in ("POST", "OPTIONS", "DELETE"):
                answer = raw(exporter.port, f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
                check(answer.startswith(b"HTTP/1.1 405"), f"{method} {path}: {answer[:40]}")
            origin = raw(exporter.port, f"GET {path} HTTP/1.1\r\nHost: x\r\nOrigin: https://a.example\r\nConnection: close\r\n\r\n".encode())
            check(b"access-control" not in origin.lower(), f"{path}: open to other web sites")
        # Clients that ask and never read, half a request, and a flood of connections: the next client is served.
        lazy = []
        for number in range(300):
            client = socket.create_connection(("127.0.0.1", exporter.port), timeout=120)
            client.sendall(b"GET /api/v1/snapshot HTTP/1.1\r\nHost: x\r\n" + (b"\r\n" * (number % 2)))
            lazy.append(client)
        check(json.loads(fetch(base + "/api/v1/snapshot"))["version"] == 1, "not served beside lazy clients")
        check(json.loads(fetch(base + "/api/v1/doctor"))["gpus"], "no diagnosis beside lazy clients")
        for client in lazy:
            client.close()


def check_origins(binary, folder):
    with Exporter(binary, folder / "log", "--simulate=rack", r"--web.cors.origin=https://(one|two)\.example") as exporter:
        for origin, allowed in (("https://one.example", True), ("https://one.example.org", False), ("null", False), ("https://" + "a" * 5000, False)):
            answer = raw(exporter.port, f"GET /api/v1/snapshot HTTP/1.1\r\nHost: x\r\nOrigin: {origin}\r\nConnection: close\r\n\r\n".encode())
            head = answer.split(b"\r\n\r\n")[0].decode()
            named = re.search(r"Access-Control-Allow-Origin: (.*)\r?", head + "\r")
            check(bool(named) == allowed, f"origin {origin[:40]}: {head}")
            check("Vary: Origin" in head, "caches have to know that answers differ by origin")
        metrics = raw(exporter.port, b"GET /metrics HTTP/1.1\r\nHost: x\r\nOrigin: https://one.example\r\nConnection: close\r\n\r\n")
        check(b"Access-Control" not in metrics, "--web.cors.origin concerns the API only")
    wrong = subprocess.run([binary, "--web.cors.origin=("], capture_output=True, text=True)
    check(wrong.returncode != 0 and wrong.stderr.count("\n") == 1 and "--web.cors.origin" in wrong.stderr, f"a wrong expression: {wrong.stderr}")


def check_protection(binary, folder):
    config = folder / "web.yml"
    config.write_text(f"basic_auth_users: {{alice: {bcrypt('secret', 4)}}}\nrate_limit: {{interval: 1h, burst: 12}}\n")
    with Exporter(binary, folder / "log", "--simulate=rack", f"--web.config.file={config}") as exporter:
        base = exporter.url.removesuffix("/metrics")
        right = {"Authorization": "Basic " + base64.b64encode(b"alice:secret").decode()}
        paths = ["/", "/api/v1/snapshot", "/api/v1/doctor", "/assets/page.js", "/assets/page.css"]
        for path in paths:
            check(status_of(base + path) == 401, f"{path} without a password")
            check(status_of(base + path, right) == 200, f"{path} with the password")
        refused = [status_of(base + "/api/v1/snapshot", right) for _ in range(4)]
        check(429 in refused, f"the rate limit does not hold for the API: {refused}")


def main():
    binary, root = sys.argv[1], pathlib.Path(sys.argv[2])
    openapi = json.loads((root / "docs/openapi.json").read_text())
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        check_answers(binary, root, folder, openapi)
        check_protocol(binary, folder)
        check_origins(binary, folder)
        check_protection(binary, folder)
    finish(f"{len(PROFILES)} machines, ")


if __name__ == "__main__":
    main()
