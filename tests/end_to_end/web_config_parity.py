#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same web configuration for us and for node_exporter, whose exporter-toolkit defines it: the same clients come in.

usage: web_config_parity.py EXPORTER_BINARY REPOSITORY_ROOT
"""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from exporter_under_test import OnFreePort, check, finish  # noqa: E402
from web_config import TLS, WebClient, WebExporter, login, make_certificates, users  # noqa: E402


class NodeExporter(WebClient, OnFreePort):
    """What exporter-toolkit itself makes of the same file."""
    name = "node_exporter"

    def __init__(self, folder, config):
        self.folder = folder
        (folder / "web.yml").write_text(config)
        super().__init__(["prometheus-node-exporter", "--collector.disable-defaults", f"--web.config.file={folder}/web.yml"], folder / "node.log")

    def ready(self):
        return "TLS is" in self.log()  # the last thing that it says


def check_parity(binary, folder):
    """Whom we let in and whom exporter-toolkit lets in, with the same files."""
    ca = "  client_ca_file: ca.pem\n"
    configs = [TLS + f"  client_auth_type: {policy}\n{more}" for policy, more in [
        ("NoClientCert", ""), ("RequestClientCert", ""), ("RequestClientCert", ca), ("RequireAnyClientCert", ca), ("RequireClientCert", ""),
        ("VerifyClientCertIfGiven", ca), ("VerifyClientCertIfGiven", ""), ("RequireAndVerifyClientCert", ca), ("RequireAndVerifyClientCert", "")]]
    configs += [users("alice"), users("alice", "bob") + TLS, TLS + "  min_version: TLS13\n", TLS + "  max_version: TLS12\n",
                # Go refuses HTTP/2 without the suite that HTTP/2 demands.
                TLS + "  max_version: TLS12\n  cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384]\nhttp_server_config: {http2: false}\n",
                TLS + "  cipher_suites: [TLS_AES_128_GCM_SHA256]\nhttp_server_config: {http2: false}\n",
                TLS + "  curve_preferences: [CurveP384]\n",
                "http_server_config:\n  http2: false\n  headers:\n    X-Frame-Options: deny\n    X-XSS-Protection: |\n      1;\n      mode=block\n"]
    clients = {"certificate " + name: ["--cert", folder / f"{name}.pem", "--key", folder / f"{name}.key"] for name in ["client", "nameless", "stranger"]}
    clients |= {"nothing": [], "TLS 1.2": ["--tls-max", "1.2"], "TLS 1.3": ["--tlsv1.3"], "alice": login("alice"), "bob": login("bob"),
                "a wrong password": login("alice", "wrong"), "an empty password": login("alice", ""), "another scheme": ["-H", "Authorization: Bearer x"],
                "a curve": ["--curves", "P-384"], "another curve": ["--curves", "X25519"],
                "a suite": ["--tls-max", "1.2", "--ciphers", "ECDHE-ECDSA-AES256-GCM-SHA384"], "another suite": ["--tls-max", "1.2", "--ciphers", "ECDHE-ECDSA-AES128-GCM-SHA256"]}

    def answers(exporter, config):
        scheme = "https" if "cert_file" in config else "http"
        found = {}
        for name, arguments in clients.items():
            status, answer = exporter.curl("-i", *arguments, scheme=scheme)
            head = answer.replace("\r", "").partition("\n\n")[0].lower().splitlines()
            found[name] = (status, sorted(line for line in head if line.startswith(("x-frame", "x-xss"))), any(line.startswith("www-authenticate: basic") for line in head))
        return found

    for config in configs:
        with NodeExporter(folder, config) as theirs:
            expected = answers(theirs, config)
        with WebExporter(binary, folder, config) as ours:
            found = answers(ours, config)
        for name in clients:
            check(found[name] == expected[name], f"{config}{name}: we say {found[name]}, node_exporter {expected[name]}")
        everybody = {status for status, _, _ in expected.values()}
        check(200 in everybody or "RequireAndVerify" in config and "client_ca" not in config, f"{config}node_exporter lets nobody in")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_certificates(folder)
        check_parity(sys.argv[1], folder)
    finish()


if __name__ == "__main__":
    main()
