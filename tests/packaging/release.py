# SPDX-License-Identifier: Apache-2.0
"""deploy/release on a throwaway tag, in two folders: rejected where it must be, complete, and the same bytes both times."""

import glob
import hashlib
import json
import os
import re
import shutil
import sys
import tarfile

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

from checks import NAME, SOURCE, WORK, check, equal, finish, output, run
from render import CHART

VERSION = "98.7.6"
TAG = f"v{VERSION}"
ARTEFACTS = {f"{NAME}_{VERSION}-1_amd64.deb", f"{NAME}-{VERSION}-1.x86_64.rpm", f"{NAME}-{VERSION}.cdx.json", f"{NAME}-{VERSION}.tar.gz",
             f"{NAME}-{VERSION}.tgz", f"libigpu98.7_{VERSION}-1_amd64.deb", f"libigpu-dev_{VERSION}-1_amd64.deb",
             f"python3-igpu_{VERSION}-1_all.deb", f"{NAME}-intel-gpu-top_{VERSION}-1_all.deb",
             f"{NAME}-intel-gpu-top-{VERSION}-1.noarch.rpm", f"{NAME}-{VERSION}-linux-amd64", f"{NAME}-{VERSION}-linux-arm64",
             f"{NAME}_{VERSION}-1_arm64.deb", f"{NAME}-{VERSION}-1.aarch64.rpm", f"{NAME}-{VERSION}-recipes.tar.gz",
             f"{NAME}-{VERSION}-civetweb.tar.xz"}
NAMES = {"HOMEPAGE": "https://code.example.org/owner/gpu", "SOURCE": "https://code.example.org/owner/gpu.git", "MAINTAINER": "A. Owner",
         "EMAIL": "owner@example.org", "REVIEWERS": "@owner/team", "REGISTRY": "registry.example.org/owner"}
# A neutral identity and a fixed time: both repositories have the same commit.
IDENTITY = {"GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@example.org", "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@example.org",
            "GIT_AUTHOR_DATE": "2026-02-03T04:05:06+00:00", "GIT_COMMITTER_DATE": "2026-02-03T04:05:06+00:00"}


class Repository:
    """The working tree as its own repository with one commit; or a clone of another, at its tag."""

    def __init__(self, name, original=None):
        self.path, self.result = f"{WORK}/release/{name}", f"{WORK}/release/{name}.result"
        shutil.rmtree(self.path, ignore_errors=True)
        shutil.rmtree(self.result, ignore_errors=True)
        if original:
            run("git", "clone", "-q", "--branch", TAG, original.path, self.path)
            return
        os.makedirs(self.path)
        files = output("git", "-c", "safe.directory=*", "-C", SOURCE, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
        for file in [f for f in files if f and os.path.lexists(f"{SOURCE}/{f}")]:
            os.makedirs(os.path.dirname(f"{self.path}/{file}"), exist_ok=True)
            shutil.copy2(f"{SOURCE}/{file}", f"{self.path}/{file}", follow_symlinks=False)
        self.git("init", "-q")
        self.commit()

    def git(self, *arguments):
        return output("git", "-C", self.path, *arguments, env={**os.environ, **IDENTITY})

    def commit(self):
        self.git("add", "-A")
        self.git("-c", "commit.gpgsign=false", "commit", "-q", "-m", "x")

    def substitute(self, path, pattern, replacement):
        with open(f"{self.path}/{path}") as f:
            text = f.read()
        changed, count = re.subn(pattern, replacement, text, flags=re.M)
        assert count, f"{path}: no {pattern}"
        with open(f"{self.path}/{path}", "w") as f:
            f.write(changed)

    def versioned(self):
        self.substitute("deploy/helm/intel-gpu-exporter/Chart.yaml", r"^version: .*", f"version: {VERSION}")
        self.substitute("deploy/helm/intel-gpu-exporter/Chart.yaml", r"^appVersion: .*", f'appVersion: "{VERSION}"')

    def release(self, **environment):
        return run(f"{self.path}/deploy/release", TAG, self.result, check_status=False, timeout=2200, env={**os.environ, **environment})


def refusals(repository):
    def refused(why, words):
        status, text = repository.release()
        check(f"refused in one line: {why}", status != 0 and words in text and (text.count("\n") == 1 or "placeholder left" in text), text[-500:])
        check(f"{why}: nothing is left", not glob.glob(f"{repository.result}*"), glob.glob(f"{repository.result}*"))

    refused("a tag that is not there", f"HEAD is not {TAG}")
    repository.git("tag", TAG)
    refused("a version that the changelog does not have", "newest entry")
    repository.substitute("CHANGELOG.md", r"\A(# Changelog\n)", rf"\1\n## {VERSION} (unreleased)\n\n* FEATURE: x\n")
    refused("changes", "not committed")
    repository.commit()
    refused("a tag of an older commit", f"HEAD is not {TAG}")
    repository.git("tag", "-f", TAG)
    refused("an unreleased version", "unreleased")
    repository.substitute("CHANGELOG.md", r" \(unreleased\)\n\n\* FEATURE: x\n", "\n\n* FEATURE: x\n")
    repository.commit()
    repository.git("tag", "-f", TAG)
    refused("a chart of another version", "Chart.yaml")
    repository.versioned()
    repository.commit()
    repository.git("tag", "-f", TAG)
    placeholders(repository, refused)


def placeholders(repository, refused):
    """The owner's names are in deploy/project.env, and one command brings them everywhere else."""
    def checked():
        return run(f"{repository.path}/deploy/release", "--check", check_status=False)

    refused("a placeholder in the place of the owner's names", "placeholder left: deploy/project.env:")
    for name, value in NAMES.items():
        repository.substitute("deploy/project.env", rf"^PROJECT_{name}=.*", f"PROJECT_{name}={value}")
    status, text = checked()
    check("--check names the files that repeat them", status == 1 and "project.env:" not in text and
          all(f"placeholder left: {file}" in text for file in (".github/CODEOWNERS:", "deploy/helm/intel-gpu-exporter/Chart.yaml:")) and
          "deploy/release --names" in text, text)
    run(f"{repository.path}/deploy/release", "--names")
    status, text = checked()
    check("after --names nothing is left", status == 0 and text.count("\n") == 1 and "PROJECT_ARTIFACTHUB is empty" in text, text)
    where = output("git", "-C", repository.path, "grep", "-lE", r"intel-gpu-exporter\.example|@intel-gpu-exporter/", check_status=False).split()
    equal("in no other file", [f for f in where if not f.startswith("tests/packaging/")], ["deploy/release"])
    repository.commit()
    repository.git("tag", "-f", TAG)


def contents(folder):
    equal("the release has everything", set(os.listdir(folder)), ARTEFACTS | {"SHA256SUMS"})
    equal("the sums are right", run("sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS", cwd=folder, check_status=False), (0, ""))
    with open(f"{folder}/SHA256SUMS") as f:
        equal("and of every file", {line.split()[1] for line in f}, ARTEFACTS)
    equal("the package is a release", output("dpkg-deb", "-f", f"{folder}/{NAME}_{VERSION}-1_amd64.deb", "Version").strip(), f"{VERSION}-1")
    with open(f"{folder}/{NAME}-{VERSION}.cdx.json") as f:
        component = json.load(f)["metadata"]["component"]
    equal("the SBOM is of that release", (component["version"], component["properties"][0]["value"]), (VERSION, TAG))
    with tarfile.open(f"{folder}/{NAME}-{VERSION}.tgz") as tar:
        names = set(tar.getnames())
        chart = yaml.safe_load(tar.extractfile(f"{NAME}/Chart.yaml"))
        links = [m.name for m in tar if not (m.isfile() or m.isdir())]
    equal("so is the chart", (chart["version"], chart["appVersion"]), (VERSION, VERSION))
    equal("it has no link", links, [])
    notes = {key.removeprefix("artifacthub.io/"): value for key, value in chart["annotations"].items()}
    equal("Artifact Hub shows the changes of that version", yaml.safe_load(notes["changes"]), [{"kind": "added", "description": "x"}])
    image, = yaml.safe_load(notes["images"])
    equal("and its image", (image["image"], image["platforms"]), (f"{NAMES['REGISTRY']}/{NAME}:{VERSION}", ["linux/amd64"]))
    for screenshot in yaml.safe_load(notes["screenshots"]):
        path = screenshot["url"].removeprefix(f"{NAMES['HOMEPAGE']}/raw/{TAG}/")
        check(f"{path} is a picture of the repository", os.path.exists(f"{SOURCE}/{path}"), screenshot)
    dashboards = {f for f in os.listdir(f"{CHART}/dashboards") if f.endswith(".json")}
    equal("the dashboards are in it, and nothing else of their folder", {n.split("/")[-1] for n in names if "/dashboards/" in n}, dashboards)
    check("and rules, templates, presets, schema", {f"{NAME}/{p}" for p in ("rules/alerts.yml", "templates/daemonset.yaml", "values-privileged.yaml",
                                                                         "values.schema.json", "README.md")} <= names, sorted(names))
    static = f"{folder}/{NAME}-{VERSION}-linux-amd64"
    check("the static file is of that release", f"version {VERSION} (revision {TAG}," in output(static, "--version"), output(static, "--version"))
    check("and needs no loader", "INTERP" not in output("readelf", "--program-headers", static), "")
    with tarfile.open(f"{folder}/{NAME}-{VERSION}-recipes.tar.gz") as tar:
        recipes = {m.name: tar.extractfile(m).read().decode() for m in tar if m.isfile()}
    equal("no recipe has anything to be filled in", [n for n, text in recipes.items() if re.search(r"@[A-Z_0-9]{3,}@|\.example\b(?!\.)", text)], [])
    with tarfile.open(f"{folder}/{NAME}-{VERSION}.tar.gz") as tar:
        check("the source builds from its folder", f"{NAME}-{VERSION}/CMakeLists.txt" in tar.getnames(), "")


def digests(folder):
    result = {}
    for name in sorted(os.listdir(folder)):
        with open(f"{folder}/{name}", "rb") as f:
            result[name] = hashlib.sha256(f.read()).hexdigest()
    return result


def full_disk(repository):
    """What has been compiled is still there: only the artefacts do not fit."""
    small = f"{WORK}/release/small"
    os.makedirs(small, exist_ok=True)
    run("mount", "-t", "tmpfs", "-o", "size=2m", "none", small)
    try:
        status, text = run(f"{repository.path}/deploy/release", TAG, f"{small}/result", check_status=False, timeout=2000,
                           env={**os.environ, "RELEASE_CCACHE": "1"})
        said = [line for line in text.splitlines() if "No space left on device" in line or "was not made" in line]
        check("a full disk is said in one line", status != 0 and len(said) == 1 and re.search(rf"^release: .*No space left on device.*; {small}/result was not made$", said[0]),
              text[-500:])
        equal("and nothing of the release is there", os.listdir(small), [])
    finally:
        run("umount", small)


def other_architecture(repository):
    """On a machine for arm64, which the workflow has for the image: what would build it is a stand-in."""
    tools = f"{WORK}/release/tools"
    shutil.rmtree(tools, ignore_errors=True)
    os.makedirs(tools)
    for tool, script in {"dpkg": "echo arm64", "buildah": f"echo $* >>{tools}/calls; [ $1 != push ] || echo image >$(expr $4 : 'docker-archive:\\([^:]*\\)')"}.items():
        with open(f"{tools}/{tool}", "w") as f:
            f.write(f"#!/bin/sh\n{script}\n")
        os.chmod(f"{tools}/{tool}", 0o755)
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
    result = f"{WORK}/release/arm64"
    shutil.rmtree(result, ignore_errors=True)
    status, text = run(f"{repository.path}/deploy/release", TAG, result, check_status=False, env=environment)
    check("refused on arm64: everything", status != 0 and "only the image" in text.splitlines()[-1] and not os.path.exists(result), text[-500:])
    status, text = run(f"{repository.path}/deploy/release", "--image", TAG, result, check_status=False, env=environment)
    image = f"{NAME}-{VERSION}-image-arm64.tar"
    if check("there it makes the image", status == 0, text[-500:]):
        equal("which has that architecture in its name, and a sum", set(os.listdir(result)), {image, "SHA256SUMS"})
        equal("the sum is right", run("sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS", cwd=result, check_status=False), (0, ""))
    with open(f"{tools}/calls") as f:
        calls = f.read().splitlines()
    check("by the Containerfile, of that tag", len(calls) == 2 and f"REVISION={TAG}" in calls[0] and "deploy/container/Containerfile" in calls[0], calls)
    equal("nothing was compiled", os.path.exists(f"{repository.path}/build"), False)


def compiled_anew(repository):
    """Some objects are compiled without the cache; deploy/release finds them up to date. All that only the static file has, and every
    tenth of the others."""
    environment = {**os.environ, "CCACHE_DISABLE": "1"}
    for preset, wanted in {"release": lambda number, entry: number % 10 == 0,
                           "static": lambda _, entry: " -DIGPU_STATIC " in entry["command"] or
                           re.search(r"/static_file/|/cli/(documents|setup)\.cpp$", entry["file"])}.items():
        run("cmake", "--preset", preset, cwd=repository.path, env=environment)
        with open(f"{repository.path}/build/{preset}/compile_commands.json") as f:
            entries = sorted((entry for entry in json.load(f) if "/CMakeFiles/" in entry["command"]), key=lambda entry: entry["file"])
        objects = [re.search(r" -o (\S+)", entry["command"])[1] for number, entry in enumerate(entries) if wanted(number, entry)]
        if check(f"{preset}: objects to compile anew", len(objects) > 8, objects):
            run("cmake", "--build", "--preset", preset, "--target", *objects, cwd=repository.path, env=environment, timeout=1500)


def main():
    os.makedirs(WORK, exist_ok=True)
    first, second = Repository("one"), None
    refusals(first)
    other_architecture(first)
    # Objects from the compiler's cache are from another folder and time; some of the second release are compiled anew. The clocks differ.
    status, text = first.release(TZ="Asia/Tokyo", RELEASE_CCACHE="1")
    if check("a release from a tag", status == 0, text[-2000:]):
        contents(first.result)
        full_disk(first)
        second = Repository("another-folder-with-a-longer-name", first)
        compiled_anew(second)
        status, text = second.release(TZ="America/Lima", RELEASE_CCACHE="1")
        if check("the same again in another folder", status == 0, text[-2000:]):
            equal("bit for bit", digests(second.result), digests(first.result))
    for repository in filter(None, (first, second)):
        shutil.rmtree(repository.path, ignore_errors=True)
    finish()


main()
