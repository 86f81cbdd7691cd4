# SPDX-License-Identifier: Apache-2.0
"""The texts of docs/launch, the table "Tested on" of docs/send-a-capture.md, and the way of a received capture into the tests."""

import glob
import json
import os
import re
import shutil
import tempfile

import yaml

from checks import BINARY, SOURCE, WORK, check, equal, finish, output, run


def read(path):
    with open(f"{SOURCE}/{path}") as f:
        return f.read()


def texts():
    listed = set(re.findall(r"^\| \[([\w-]+\.md)\]", read("docs/launch/README.md"), re.M))
    equal("the list names every text", listed, {os.path.basename(p) for p in glob.glob(f"{SOURCE}/docs/launch/*.md")} - {"README.md"})
    port = re.search(r"listen-address.*?default: \S*?:(\d+)", output(BINARY, "--help-all"), re.S)[1]
    check("the port is the program's", f"| [{port}](" in read("docs/launch/exporter-list.md"), port)
    rows = re.findall(r"^\| `(grafana/[\w-]+\.json)` \| (.*?) \| (.*?) \| `(.*?)` \|$", read("docs/launch/grafana-com.md"), re.M)
    equal("every dashboard is to be uploaded", sorted(r[0] for r in rows), sorted(os.path.relpath(p, SOURCE) for p in glob.glob(f"{SOURCE}/grafana/*.json")))
    for file, title, description, picture in rows:
        dashboard = json.loads(read(file))
        equal(f"{file}: title and description are its own", (title, description), (dashboard["title"], dashboard["description"]))
        check(f"{file}: it asks for its data source, and has a picture", dashboard.get("__inputs") and os.path.exists(f"{SOURCE}/{picture}"), picture)
    post, measured = read("docs/launch/idle-power.md"), read("docs/measurements.md")
    for number in ("62 to 93 µs", "0.37 to 0.47", "8.0 to 8.2 MB", "2026-11-22"):
        check(f"the post's {number} was measured", number in post and number in measured, number)
    check("the post has no other number of a measurement", not re.search(r"\d (W|mW|watts?|J)\b", post), post)


def form():
    fields = {e.get("id"): e for e in yaml.safe_load(read(".github/ISSUE_TEMPLATE/capture.yml"))["body"]}
    command = re.search(r"`intel-gpu-exporter (\S+) \S+`", fields["capture"]["attributes"]["description"])[1]
    check("the form asks for what a command of the program writes", re.search(rf"^  {command} ", output(BINARY, "--help-all"), re.M), command)
    check("file, hardware and consent are required", all(fields[k]["validations"]["required"] for k in ("capture", "hardware")) and
          fields["terms"]["attributes"]["options"][0]["required"], fields)
    check("the call for captures leads to it", "template=capture.yml" in read("docs/launch/call-for-captures.md"), "")


def received():
    """A capture that this program writes of a simulated machine, sent back to a copy of the tree."""
    page = "docs/send-a-capture.md"
    section = output(f"{SOURCE}/tests/tools/tested_on", "--print")
    equal(f"{page} ends with what tests/tools/tested_on prints", read(page)[-len(section):], section)
    os.makedirs(WORK, exist_ok=True)
    work = tempfile.mkdtemp(dir=WORK, prefix="launch.")
    try:
        for folder in ("tests/tools", "tests/machines"):
            shutil.copytree(f"{SOURCE}/{folder}", f"{work}/{folder}")
        os.makedirs(f"{work}/docs")
        shutil.copy(f"{SOURCE}/{page}", f"{work}/{page}")
        with open(f"{work}/tests/run", "w") as f:
            f.write("#!/bin/sh\necho \"tests/run $*\"\n")
        os.chmod(f"{work}/tests/run", 0o755)
        run("git", "init", "-q", work)
        capture = f"{work}/sent.tar.zst"
        run(BINARY, "capture", capture, "--simulate", "battlemage")

        def add(*arguments):
            return run(f"{work}/tests/tools/add_capture", *arguments, check_status=False, env={**os.environ, "IGPU_BINARY": BINARY})

        for why, arguments, words in (("no file", (f"{work}/nothing", "b580", "x"), "is no file"), ("a path as its name", (capture, "../x", "x"), "lower-case"),
                                      ("a name that is there", (capture, "simulated-arc-a770", "x"), "is there already"),
                                      ("something else", (f"{work}/tests/tools/tested_on", "b580", "x"), "tested_on: ")):
            status, text = add(*arguments)
            check(f"refused in one line: {why}", status != 0 and words in text and text.count("\n") == 1, text)
        status, text = add(capture, "b580-xe-k6.99", "Arc B580, xe, Linux 6.99")
        check("one command makes it a test", status == 0 and "tests/run --update -- -L golden" in text and "Left out of it" in text, text)
        with open(capture, "rb") as f, open(f"{work}/tests/machines/b580-xe-k6.99.tar.zst", "rb") as g:
            equal("unchanged", f.read() == g.read(), True)
        add(capture, "b580-ours", "Arc B580, xe", "owned")
        with open(f"{work}/{page}") as f:
            table = f.read()
        check("and a row of the table", "| b580-xe-k6.99, by `capture` | Arc B580, xe, Linux 6.99 |  | x |  |" in table, table)
        check("one of ours is in the last column, and is not said to be missing", "| Arc B580, xe |  |  | x |" in table and "Nothing is in" not in table, table)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def main():
    texts()
    form()
    received()
    finish()


main()
