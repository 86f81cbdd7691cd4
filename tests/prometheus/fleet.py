#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The programs themselves accept what deploy/fleet has for them: configurations, rules, tokens, and the flags of units, compose files
and manifests, which are the same in all three. Schemas of compose and Kubernetes: tests/packaging/manifests.py.

usage: fleet.py REPOSITORY_ROOT
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from exporter_under_test import check, fetch, finish, wait_for  # noqa: E402
from fleet_engines import PrometheusServer, VictoriaMetrics, VmAgent, VmAuth  # noqa: E402
from fleet_shape import TOKENS, units  # noqa: E402

# Of each program, its flags that decide what the fleet promises: the same wherever it runs.
DECIDE = {"vmagent": ("promscrape.cluster.membersCount", "promscrape.cluster.replicationFactor"),
          "victoria-metrics": ("retentionPeriod", "dedup.minScrapeInterval", "search.latencyOffset", "search.maxUniqueTimeseries"),
          "vmalert": ("datasource.queryStep", "evaluationInterval", "remoteWrite.flushInterval", "disableAlertgroupLabel"),
          "prometheus": ("storage.tsdb.retention.time",)}


def run(*command, cwd=None, env={}):
    result = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120, env={**os.environ, **env})
    return result.returncode, result.stdout + result.stderr


def assembled(root, folder):
    """What an operator copies to /etc/intel-gpu-fleet, and the files that only they have."""
    fleet = root / "deploy/fleet"
    for file in [*fleet.glob("prometheus/*.yml"), *fleet.glob("alertmanager/*.yml"), *fleet.glob("victoriametrics/*.yml")]:
        shutil.copy(file, folder)
    shutil.copytree(fleet / "targets", folder / "targets")
    shutil.copytree(root / "deploy/prometheus/rules", folder / "rules")
    (folder / "tls").mkdir()
    for name in ("ca", "fleet"):
        status, output = run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=fleet",
                             "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", f"{folder}/tls/{name}.key", "-out", f"{folder}/tls/{name}.pem")
        check(status == 0, output)
    for name in ("token", "password"):
        (folder / name).write_text("secret")


def containers(root):
    fleet = root / "deploy/fleet"
    for file in sorted((fleet / "compose").glob("*.yaml")):
        for name, service in yaml.safe_load(file.read_text())["services"].items():
            yield f"{file.name}: {name}", service["image"], service["command"]
    for file in sorted((fleet / "kubernetes").rglob("*.yaml")):
        for document in yaml.safe_load_all(file.read_text()):
            for container in document.get("spec", {}).get("template", {}).get("spec", {}).get("containers", []) if document["kind"] == "StatefulSet" else []:
                yield f"{file.name}: {container['name']}", container["image"], container["args"]


def name_and_value(flag):
    name, _, value = flag.lstrip("-").partition("=")
    return name, value


def check_flags(root):
    started = list(units())
    for where, image, flags in containers(root):
        program = re.search(r"/([\w-]+):", image).group(1)
        started.append((where, {"alertmanager": "prometheus-alertmanager"}.get(program, program), flags))
    known, decided = {}, {}
    for where, program, flags in started:
        if program not in known:
            known[program] = set(re.findall(r"^ +--?([\w.-]+)", run(program, "--help")[1], re.M))
        for name, value in map(name_and_value, flags):
            check(name in known[program], f"{where}: {program} of Debian has no flag {name}")
            if name in DECIDE.get(program, ()):
                decided.setdefault((program, name), {}).setdefault(value, []).append(where)
    for key, values in decided.items():
        check(len(values) == 1 and sum(map(len, values.values())) >= (2 if key[0] == "prometheus" else 3), f"{key}: {values}")
    check(len(decided) == sum(map(len, DECIDE.values())), f"flags that decide: {sorted(decided)}")
    return len(started)


def check_programs(root, folder):
    flags = {program: flags for _, program, flags in units()}
    for name, command in {
            "prometheus.yml": ["promtool", "check", "config", "prometheus.yml"], "web.yml": ["promtool", "check", "web-config", "web.yml"],
            "alertmanager.yml": ["amtool", "check-config", "alertmanager.yml"]}.items():
        status, output = run(*command, cwd=folder)
        check(status == 0 and "FAILED" not in output, f"{name}: {output}")
    here = {"/etc/intel-gpu-fleet": str(folder), "/var/lib/intel-gpu-vmagent": "queue", "${MEMBER}": "0"}
    for program in ("vmagent", "vmalert"):
        # As in its unit. vmagent checks the file for scrapes only when it is told so by another flag.
        words = [re.sub("|".join(map(re.escape, here)), lambda match: here[match.group()], word) for word in flags[program]]
        for dry in ["-dryRun"] + (["-promscrape.config.dryRun"] if program == "vmagent" else []):
            status, output = run(program, *words, dry, cwd=folder)
            check(status == 0, f"{program} {dry}: {output}")
    text = (root / "deploy/fleet/kubernetes/victoriametrics/scrape.yml").read_text()
    (folder / "kubernetes.yml").write_text(text)
    status, output = run("vmagent", "-promscrape.config=kubernetes.yml", "-promscrape.config.dryRun", cwd=folder)
    check(status == 0, f"kubernetes/victoriametrics/scrape.yml: {output}")
    jobs = [yaml.safe_load((folder / name).read_text())["scrape_configs"][0] for name in ("prometheus.yml", "scrape.yml")]
    for key in ("job_name", "scheme", "tls_config", "basic_auth", "file_sd_configs", "sample_limit"):
        check(jobs[0][key] == jobs[1][key], f"{key} differs between prometheus.yml and scrape.yml")
    services = sorted(map(str, (root / "deploy/fleet/systemd").glob("*.service")))
    status, output = run("systemd-analyze", "verify", "--man=no", *services)
    complaints = [line for line in output.splitlines() if "intel-gpu-vm" in line]
    check(not complaints, f"systemd-analyze: {complaints}")


def passes(url, token):
    """Whether vmauth lets it through to the storage, which says what it thinks of an empty request; vmauth has 400 for all that it refuses."""
    try:
        fetch(url, headers={"Authorization": f"Bearer {token}"})
        return True
    except urllib.error.HTTPError as error:
        return not re.search("auth token|missing route", error.read().decode())


def check_tokens(folder):
    """Who writes cannot read, who reads cannot write, and others neither."""
    with VictoriaMetrics(folder / "storage") as storage, \
            VmAuth(folder / "auth", folder / "auth.yml", {"STORE:8428": storage.address}, WRITE_TOKEN="may-write", READ_TOKEN="may-read") as auth:
        found = {(token, path): passes(f"{auth.base}/api/v1/{path}", token) for token in ("may-read", "may-write", "other")
                 for path in ("query?query=1", "label/job/values", "write", "admin/tsdb/delete_series", "import")}
        allowed = {key for key, passed in found.items() if passed}
        check(allowed == {("may-read", "query?query=1"), ("may-read", "label/job/values"), ("may-write", "write")}, f"vmauth lets through {allowed}")


def check_bad_inputs(folder):
    """What the table "The fleet's own parts" of docs/runbook.md says of them."""
    targets, scrape = folder / "few/one.yml", folder / "few.yml"
    targets.parent.mkdir()
    targets.write_text('- targets: ["127.0.0.1:1"]\n')
    text = f"global: {{scrape_interval: 1s}}\nscrape_configs: [{{job_name: intel-gpu, file_sd_configs: [{{files: ['{folder}/few/*.yml'], refresh_interval: 1s}}]}}]\n"
    with VictoriaMetrics(folder / "store") as storage, VmAuth(folder / "door", folder / "auth.yml", {"STORE:8428": storage.address}, **TOKENS) as auth:
        scrape.write_text(text.replace(", refresh_interval: 1s", ""))
        (folder / "writes.yml").write_text(text + f"remote_write: [{{url: '{auth.base}/api/v1/write', authorization: {{credentials: wrong}}}}, "
                                                  "{url: 'http://127.0.0.1:1/write'}]\n")
        flags = [f"-promscrape.config={scrape}", "-promscrape.fileSDCheckInterval=1s", "-remoteWrite.flushInterval=100ms"]
        with VmAgent(folder / "refused", *flags, f"-remoteWrite.url={auth.base}/api/v1/write", "-remoteWrite.bearerToken=wrong") as refused, \
                VmAgent(folder / "cut-off", *flags, "-remoteWrite.url=http://127.0.0.1:1/write", "-remoteWrite.maxDiskUsagePerURL=1MB") as cut_off, \
                PrometheusServer(folder / "prometheus", folder / "writes.yml") as prometheus:
            for program, metric, what in (
                    (refused, "vmagent_remotewrite_packets_dropped_total", "a wrong token"), (auth, "vmauth_http_request_errors_total", "a wrong token"),
                    (cut_off, "vmagent_remotewrite_retries_count_total", "no receiver"),
                    (prometheus, "prometheus_remote_storage_samples_failed_total", "a wrong token"),
                    (prometheus, "prometheus_remote_storage_samples_pending", "no receiver")):
                wait_for(lambda: program.metrics(metric)[metric] > 0, f"{metric} of {program.program} shows {what}")
            targets.write_text('- targets: ["127.0.0.1:1"')
            wait_for(lambda: prometheus.metrics("prometheus_sd_file_read_errors_total")["prometheus_sd_file_read_errors_total"] > 0, "Prometheus notices the file")
            wait_for(lambda: "keeping the previously loaded" in cut_off.log(), "vmagent notices the file")
            for program in (cut_off, prometheus):
                check("127.0.0.1:1" in fetch(f"{program.base}/api/v1/targets").decode(), f"{program.program} forgot the targets of a file that is half written")
            targets.write_text("")
            wait_for(lambda: cut_off.metrics("vm_promscrape_targets")["vm_promscrape_targets"] == 0, "vmagent takes an empty file for no targets")


def main():
    root = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        assembled(root, folder)
        check_programs(root, folder)
        check_tokens(folder)
        check_bad_inputs(folder)
    finish(f"{check_flags(root)} programs with flags, ")


if __name__ == "__main__":
    main()
