#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every block of the documents goes through a checker: shell blocks run, PromQL and Prometheus' files are parsed by promtool, files of
the exporter by the exporter, values of the chart by its schema. What cannot run here says why in the source:
<!-- not run: reason --> before the block. Every YAML file below deploy/ has a checker, here or in another test.

usage: document_blocks.py EXPORTER_BINARY REPOSITORY_ROOT
"""
import configparser
import fnmatch
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import jsonschema
import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from exporter_under_test import Exporter, check, finish  # noqa: E402

BINARY, ROOT = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
BLOCK = re.compile(r"^(?P<mark> *<!-- not run: (?P<reason>.+?) -->\n)?(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$", re.M | re.S)
LANGUAGES = {"sh", "promql", "yaml", "ini", "json", "text", "cpp", "c", "python"}
# Where another test checks the files that are not checked here.
ELSEWHERE = {
    "deploy/kubernetes/*": "tests/packaging/manifests.py", "deploy/helm/*/templates/*": "tests/packaging/manifests.py",
    "deploy/helm/*": "tests/packaging/manifests.py", "deploy/compose/compose*.yaml": "tests/packaging/manifests.py", "deploy/compose/media/*": "tests/packaging/manifests.py",
    "deploy/fleet/kubernetes/*.yaml": "tests/packaging/manifests.py", "deploy/fleet/compose/*": "tests/packaging/manifests.py", "deploy/fleet/*": "tests/prometheus/fleet.py",
    "deploy/package/recipes/*": "tests/packaging/recipes.py", "deploy/integrations/*": "tests/end_to_end/integrations.py"}
# Starts as the documents say. A server is stopped as soon as it listens, a stream after some lines.
WRAPPER = """#!/bin/bash
case " $* " in *" --loop "*) "$BINARY" "$@" | sed -n 3q; exit ;; esac
case "$1" in -*) ;; *) exec "$BINARY" "$@" ;; esac
log=$(mktemp)
"$BINARY" "$@" --web.listen-address=127.0.0.1:0 2>"$log" &
until grep -q msg=listening "$log"; do kill -0 $! 2>/dev/null || { cat "$log" >&2; exit 1; }; sleep 0.05; done
kill $!
wait $!
"""


def blocks():
    """(place, language, text, why it does not run)"""
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "deploy").rglob("*.md"))]:
        text, name = page.read_text(), page.relative_to(ROOT)
        check_no_other_blocks(name, text)
        for found in BLOCK.finditer(text):
            place = f"{name}:{text.count(chr(10), 0, found.start()) + 1}"
            check(found["language"] in LANGUAGES, f"{place}: ```{found['language']} is none of {sorted(LANGUAGES)}")
            body = re.sub(f"^{found['indent']}", "", found["text"], flags=re.M)
            yield place, found["language"], body, found["reason"]


def check_no_other_blocks(name, text):
    """Code is in fences: indented, nothing would say what it is. README.md has one picture of the rooms."""
    in_list, before = False, ""
    for line in BLOCK.sub("", text).splitlines():
        if re.match(r" {0,3}([*-]|\d+\.) ", line):
            in_list = True
        elif line and not line.startswith(" "):
            in_list = False
        check(in_list or before.strip() or not line.startswith("    ") or str(name) == "README.md", f"{name}: code without a fence: {line}")
        check(not line.startswith("~~~") and "```" not in line, f"{name}: a fence that nothing sees: {line}")
        before = line


def run(command, **how):
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=120, **how)
    except subprocess.TimeoutExpired:
        return "none: it does not end", ""
    return ran.returncode, ran.stdout + ran.stderr


def run_shell(place, text, folder, exporter):
    work = folder / re.sub(r"\W", "-", place)
    work.mkdir()
    shutil.copy(ROOT / "docs/sample.pftrace", work)
    environment = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "BINARY": BINARY, "INTEL_GPU_EXPORTER_SIMULATE": "rack"}
    text = text.replace("localhost:10068", f"127.0.0.1:{exporter.port}")
    status, output = run(["bash", "-euo", "pipefail", "-c", text], cwd=work, env=environment, stdin=subprocess.DEVNULL)
    check(status == 0, f"{place}: status {status}\n{text}\n{output[-2000:]}")


def check_promql(queries, folder):
    file = folder / "queries.yml"
    rules = [{"record": f"q:{number}", "expr": text} for number, (_, text) in enumerate(queries)]
    file.write_text(json.dumps({"groups": [{"name": "documents", "rules": rules}]}))
    status, output = run(["promtool", "check", "rules", file])
    check(status == 0, f"PromQL of {[place for place, _ in queries]}: {output}")


def is_targets(content):
    return isinstance(content, list) and all(isinstance(one, dict) and set(one) <= {"targets", "labels"} for one in content)


def check_yaml(place, text, folder):
    """The name of the checker that took it."""
    file = folder / "block.yml"
    file.write_text(text)
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        return check(False, f"{place}: {error}")
    keys = set(content) if isinstance(content, dict) else set()
    if isinstance(content, list) and all("job_name" in one for one in content):
        file.write_text(json.dumps({"scrape_configs": content}))
        keys = {"scrape_configs"}
    if "scrape_configs" in keys:
        status, output = run(["promtool", "check", "config", "--syntax-only", file])
    elif "groups" in keys:
        status, output = run(["promtool", "check", "rules", file])
    elif keys & {"tls_server_config", "basic_auth_users", "http_server_config", "rate_limit"}:
        return "tests/contract/web_config_test.cpp" if place.startswith("docs/web-config.md") else check_web_config(place, content, folder)
    elif "rules" in keys:
        status, output = run([BINARY, "list", "--simulate=rack", f"--workload.rules={file}"])
    elif is_targets(content):
        file.write_text(json.dumps({"scrape_configs": [{"job_name": "a", "static_configs": content}]}))
        status, output = run(["promtool", "check", "config", "--syntax-only", file])
    elif "services" in keys:
        status, output = run(["docker-compose", "--file", file, "config"]) if shutil.which("docker-compose") else (0, "")
    elif keys and keys <= VALUES:
        schema = json.loads((ROOT / "deploy/helm/intel-gpu-exporter/values.schema.json").read_text())
        errors = [error.message for error in jsonschema.Draft7Validator(schema).iter_errors(content)]
        status, output = bool(errors), errors
    elif keys == {"resources", "labels"}:
        status, output = any(not (ROOT / one.split("/", 1)[1] / "kustomization.yaml").exists() for one in content["resources"]), "no such folder"
    elif keys == {"machine"}:  # a patch for Talos
        status, output = set(content["machine"]) != {"sysctls"}, "no sysctls"
    else:
        return check(False, f"{place}: nothing checks this YAML:\n{text}")
    return check(status == 0, f"{place}: {output}\n{text}")


VALUES = set(json.loads((ROOT / "deploy/helm/intel-gpu-exporter/values.schema.json").read_text())["properties"])


def check_web_config(place, content, folder):
    """The exporter starts with it, with certificates of the names that it has."""
    work = pathlib.Path(tempfile.mkdtemp(dir=folder))
    tls = content.get("tls_server_config", {})
    run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=a", "-keyout",
         work / tls.get("key_file", "k"), "-out", work / tls.get("cert_file", "c")])
    if "client_ca_file" in tls:
        shutil.copy(work / tls["cert_file"], work / tls["client_ca_file"])
    (work / "web.yml").write_text(yaml.safe_dump(content))
    with Exporter(BINARY, work / "log", "--simulate=rack", f"--web.config.file={work}/web.yml") as exporter:
        return check(exporter.port, f"{place}: not accepted")


def check_files(folder):
    """Every YAML file below deploy/ has its checker."""
    count = 0
    for file in sorted((ROOT / "deploy").rglob("*.y*ml")):
        name = str(file.relative_to(ROOT))
        elsewhere = next((test for pattern, test in ELSEWHERE.items() if fnmatch.fnmatch(name, pattern)), "")
        count += 1
        if elsewhere:
            check((ROOT / elsewhere).exists(), f"{name}: {elsewhere} does not exist")
        elif name.startswith("deploy/prometheus/"):
            continue  # tests/prometheus/check.py takes all of that folder
        elif name == "deploy/compose/prometheus.yml":
            check_yaml(name, file.read_text(), folder)
        elif name.startswith("deploy/compose/grafana/"):
            content = yaml.safe_load(file.read_text())
            check(content["apiVersion"] == 1 and ("providers" in content or "datasources" in content), f"{name}: no provisioning of Grafana")
        else:
            check(False, f"{name}: nothing checks this file")
    return count


def main():
    ran = skipped = 0
    kinds = {}
    queries = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "bin").mkdir()
        (folder / "bin/intel-gpu-exporter").write_text(WRAPPER)
        (folder / "bin/intel-gpu-exporter").chmod(0o755)
        with Exporter(BINARY, folder / "exporter.log", "--simulate=rack") as exporter:
            for place, language, text, reason in blocks():
                kinds[language] = kinds.get(language, 0) + 1
                check(not reason or language == "sh", f"{place}: not run, but it is no shell block")
                if language == "sh" and reason:
                    skipped += 1
                    status, output = run(["bash", "-n", "-c", text])
                    check(status == 0, f"{place}: {output}")
                elif language == "sh":
                    ran += 1
                    run_shell(place, text, folder, exporter)
                elif language == "promql":
                    queries += [(place, one) for one in re.split(r"\n(?=[a-z0-9(])", text.strip())]  # a query goes on in indented lines
                elif language == "yaml":
                    check_yaml(place, text, folder)
                elif language == "json":
                    json.loads(text)
                elif language == "ini":
                    parser = configparser.RawConfigParser(strict=False, delimiters=("=",))
                    parser.optionxform = str
                    parser.read_string(text)
                    check("Service" in parser, f"{place}: no drop-in of a service")
        check_promql(queries, folder)
        files = check_files(folder)
    check(ran >= 8 and kinds.get("yaml", 0) >= 15 and files > 80, f"too little was found: {ran} ran, {kinds}, {files} files")
    finish(f"{ran} shell blocks ran, {skipped} say why not; {kinds}; {files} files, ")


if __name__ == "__main__":
    main()
