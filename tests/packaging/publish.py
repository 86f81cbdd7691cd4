# SPDX-License-Identifier: Apache-2.0
"""deploy/publish, every step of the release workflow, against a local registry: what arrives there can be pulled back, and what
goes wrong is one line that leaves nothing behind. Stand-ins for the programs that need the internet (cosign, gh) write down how
they were called."""

import contextlib
import hashlib
import http.server
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import urllib.request

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

from checks import NAME, SOURCE, WORK, check, equal, finish, output, run

VERSION, TAG = "98.7.6", "v98.7.6"
STAND_IN = """#!/bin/sh
printf '%s %s\\n' "$(basename "$0")" "$*" >>"$STAND_IN_LOG"
case "$*" in
  "$STAND_IN_FAILS"*) [ -z "$STAND_IN_FAILS" ] || { echo "error: no answer" >&2; exit 1; } ;;
esac
case "$*" in
  *--bundle*) echo '{}' >"$4" ;;
  *--notes-file*) cp "${11}" "$STAND_IN_LOG.notes" ;;
esac
"""


@contextlib.contextmanager
def registry(work):
    """Debian's docker-registry on a free port."""
    config = f"{work}/registry.yml"
    with open(config, "w") as f:
        yaml.safe_dump({"version": 0.1, "log": {"level": "info"}, "storage": {"filesystem": {"rootdirectory": f"{work}/registry"}},
                        "http": {"addr": "127.0.0.1:0"}}, f)
    process = subprocess.Popen(["docker-registry", "serve", config], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    port, lines = None, []
    for line in process.stderr:
        lines.append(line)
        if found := re.search(r"listening on 127\.0\.0\.1:(\d+)", line):
            port = int(found[1])
            break
    drain = threading.Thread(target=process.stderr.read)
    drain.start()
    try:
        assert port, "".join(lines)
        yield port
    finally:
        process.terminate()
        process.wait()
        drain.join()


@contextlib.contextmanager
def gate(upstream, refused):
    """Passes everything on to the registry, but answers 403 to what the list of patterns matches."""
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def anything(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.headers.get("Transfer-Encoding") == "chunked":
                while size := int(self.rfile.readline(), 16):
                    body += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
            if any(re.search(pattern, f"{self.command} {self.path}") for pattern in refused):
                answer, headers, text = 403, {"Content-Type": "application/json"}, b'{"errors":[{"code":"DENIED","message":"not permitted"}]}'
            else:
                headers = {k: ", ".join(self.headers.get_all(k)) for k in self.headers if k.lower() not in ("transfer-encoding", "content-length", "accept-encoding")}
                request = urllib.request.Request(f"http://127.0.0.1:{upstream}{self.path}", data=body if body or self.command in ("POST", "PUT", "PATCH") else None,
                                                 headers=headers, method=self.command)
                try:
                    with urllib.request.urlopen(request, timeout=120) as got:
                        answer, headers, text = got.status, dict(got.headers), got.read()
                except urllib.error.HTTPError as error:
                    answer, headers, text = error.code, dict(error.headers), error.read()
            self.send_response(answer)
            for key, value in headers.items():
                if key.lower() not in ("content-length", "transfer-encoding", "connection"):
                    self.send_header(key, value)
            length = headers.get("Content-Length", len(text)) if self.command == "HEAD" else len(text)
            self.send_header("Content-Length", str(length))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(text)

        do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = anything

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


class Publication:
    """The scripts of the working tree with the owner's names filled in, and the programs that need the internet replaced."""

    def __init__(self, work, port):
        self.work, self.registry = work, f"127.0.0.1:{port}/owner"
        self.source, self.log, self.outputs = f"{work}/source", f"{work}/calls", f"{work}/outputs"
        for path in ("deploy", ".github", "tests/prometheus", "docs/launch"):
            shutil.copytree(f"{SOURCE}/{path}", f"{self.source}/{path}", symlinks=True)
        with open(f"{SOURCE}/CHANGELOG.md") as f, open(f"{self.source}/CHANGELOG.md", "w") as to:
            to.write(f.read().replace("# Changelog\n", f"# Changelog\n\n## {VERSION}\n\n* FEATURE: what is new\n", 1))
        self.unnamed = self.read("deploy/project.env")
        self.write("deploy/project.env", "".join(f"PROJECT_{key}={value}\n" for key, value in {
            "HOMEPAGE": "https://code.example.org/owner/gpu", "SOURCE": "https://code.example.org/owner/gpu.git", "MAINTAINER": "A. Owner",
            "EMAIL": "owner@example.org", "REVIEWERS": "@owner/team", "REGISTRY": self.registry, "ARTIFACTHUB": "0a1b2c"}.items()))
        run(f"{self.source}/deploy/release", "--names")
        os.makedirs(f"{work}/bin")
        for program in ("cosign", "gh"):
            with open(f"{work}/bin/{program}", "w") as f:
                f.write(STAND_IN)
            os.chmod(f"{work}/bin/{program}", 0o755)
        os.makedirs(f"{work}/.config/containers")
        with open(f"{work}/.config/containers/registries.conf", "w") as f:
            f.write(f'[[registry]]\nlocation = "127.0.0.1:{port}"\ninsecure = true\n')
        with open(f"{work}/storage.conf", "w") as f:
            f.write(f'[storage]\ndriver = "vfs"\ngraphroot = "{work}/storage"\nrunroot = "{work}/run"\n')
        self.environment = {**os.environ, "PATH": f"{work}/bin:{os.environ['PATH']}", "STAND_IN_LOG": self.log, "STAND_IN_FAILS": "", "TMPDIR": work,
                            "HOME": work, "CONTAINERS_STORAGE_CONF": f"{work}/storage.conf",
                            "BUILDAH_ISOLATION": "chroot", "GITHUB_OUTPUT": self.outputs, "GITHUB_REPOSITORY": "owner/gpu", "SOURCE_DATE_EPOCH": "1767323045"}

    def read(self, path):
        with open(f"{self.source}/{path}") as f:
            return f.read()

    def write(self, path, text):
        with open(f"{self.source}/{path}", "w") as f:
            f.write(text)

    def __call__(self, *arguments, **environment):
        return run(f"{self.source}/deploy/publish", *arguments, check_status=False, env={**self.environment, **environment})

    def calls(self):
        """Of the stand-ins since the last question."""
        if not os.path.exists(self.log):
            return []
        with open(self.log) as f:
            text = f.read().replace(self.work, "WORK")
        os.unlink(self.log)
        return text.splitlines()

    def skopeo(self, *arguments):
        return run("skopeo", *arguments, check_status=False, env=self.environment)

    def tags(self, repository):
        status, text = self.skopeo("list-tags", f"docker://{self.registry}/{repository}")
        return sorted(json.loads(text)["Tags"]) if status == 0 else []


def sums(folder):
    lines = []
    for name in sorted(set(os.listdir(folder)) - {"SHA256SUMS"}):
        with open(f"{folder}/{name}", "rb") as f:
            lines.append(f"{hashlib.sha256(f.read()).hexdigest()}  {name}\n")
    with open(f"{folder}/SHA256SUMS", "w") as f:
        f.writelines(lines)


def parts(publish):
    """What the two jobs of the workflow upload: small files with the names of the real ones. amd64 builds the files for both."""
    made = f"{publish.work}/parts"
    for architecture in ("amd64", "arm64"):
        folder = f"{made}/release-{architecture}"
        os.makedirs(folder)
        static = f"{publish.work}/static-{architecture}"
        with open(static, "w") as f:
            f.write(f"{architecture}\n")
        files = [f"{NAME}-{VERSION}.cdx.json", f"{NAME}-{VERSION}.tar.gz", f"{NAME}-{VERSION}-civetweb.tar.xz"]
        for other, rpm in (("amd64", "x86_64"), ("arm64", "aarch64")):
            files += [f"{NAME}_{VERSION}-1_{other}.deb", f"{NAME}-{VERSION}-1.{rpm}.rpm", f"{NAME}-{VERSION}-linux-{other}"]
        for name in files if architecture == "amd64" else []:
            with open(f"{folder}/{name}", "w") as f:
                f.write(f"{name} built on {architecture}\n")
        chart = f"name: {NAME}\nversion: {VERSION}\nappVersion: \"{VERSION}\"\ndescription: x\nhome: https://code.example.org/owner/gpu\nsources: [https://code.example.org/owner/gpu.git]\n".encode()
        if architecture == "amd64":
            with tarfile.open(f"{folder}/{NAME}-{VERSION}.tgz", "w:gz") as tar:
                member = tarfile.TarInfo(f"{NAME}/Chart.yaml")
                member.size = len(chart)
                tar.addfile(member, io.BytesIO(chart))
        container = output("buildah", "from", "--arch", architecture, "scratch", env=publish.environment).strip()
        run("buildah", "add", "--quiet", container, static, "/", env=publish.environment)
        run("buildah", "config", "--arch", architecture, "--healthcheck", f"CMD /{NAME} healthcheck", container, env=publish.environment)
        image = f"localhost/{NAME}:{VERSION}-{architecture}"
        run("buildah", "commit", "--quiet", "--format", "docker", container, image, env=publish.environment)
        run("buildah", "push", "--quiet", image, f"docker-archive:{folder}/{NAME}-{VERSION}-image-{architecture}.tar:{NAME}:{VERSION}", env=publish.environment)
        sums(folder)
    return made


def refused(name, result, words):
    status, text = result
    check(f"refused in one line: {name}", status != 0 and words in text and text.count("\n") == 1, text)


def gathering(publish, made, release):
    broken = f"{publish.work}/broken"
    shutil.copytree(made, broken)
    with open(f"{broken}/release-arm64/{NAME}-{VERSION}-image-arm64.tar", "a") as f:
        f.write("more")
    refused("a file that is not what its sum says", publish("gather", broken, f"{publish.work}/no"), "release-arm64")
    refused("no build at all", publish("gather", f"{publish.work}/nothing", f"{publish.work}/no"), "is not there")
    equal("nothing is left of them", [n for n in os.listdir(publish.work) if n.startswith("no")], [])
    with full_disk(publish.work) as small:
        refused("a full disk", publish("gather", made, f"{small}/release"), "No space left on device")
        equal("and nothing is on it", os.listdir(small), [])
    status, text = publish("gather", made, release)
    check("both builds become one folder", status == 0, text)
    names = set(os.listdir(release))
    check("with everything of both architectures", {f"{NAME}_{VERSION}-1_{a}.deb" for a in ("amd64", "arm64")} | {f"{NAME}-{VERSION}-linux-{a}" for a in ("amd64", "arm64")} |
          {f"{NAME}-{VERSION}-1.aarch64.rpm", f"{NAME}-{VERSION}.tgz", f"{NAME}-{VERSION}-image-arm64.tar"} <= names, names)
    with open(f"{release}/{NAME}-{VERSION}.tar.gz") as f:
        check("the source is that of amd64", "amd64" in f.read(), "")
    equal("its sums are right", run("sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS", cwd=release, check_status=False), (0, ""))


@contextlib.contextmanager
def full_disk(work):
    small = f"{work}/small"
    os.makedirs(small)
    run("mount", "-t", "tmpfs", "-o", "size=16k", "none", small)
    try:
        yield small
    finally:
        run("umount", small)
        os.rmdir(small)


def bad_pushes(publish, release, refusing):
    refused("no version", publish("push", "main", release), "main is not vX.Y.Z")
    refused("files of another version", publish("push", "v1.0.0", release), "no chart or image of 1.0.0")
    named = publish.read("deploy/project.env")
    publish.write("deploy/project.env", publish.unnamed)
    status, text = publish("push", TAG, release)
    check("refused: placeholders", status != 0 and "placeholder left: deploy/project.env" in text, text)
    publish.write("deploy/project.env", named)
    for what, pattern in {"the image": rf"^(POST|PUT|PATCH) /v2/owner/{NAME}/", "charts": rf"^(POST|PUT|PATCH) /v2/owner/charts/"}.items():
        refusing[:] = [pattern]
        refused(f"a registry that does not take {what}", publish("push", TAG, release), "not permitted")
        check(f"nothing has the version where {what} were refused", VERSION not in publish.tags(NAME) + publish.tags(f"charts/{NAME}"), publish.tags(NAME))
    refusing[:] = []
    with full_disk(publish.work) as small:
        refused("no space for the image", publish("push", TAG, release, TMPDIR=small), "no space left on device")
    check("nothing has the version then", VERSION not in publish.tags(NAME) + publish.tags(f"charts/{NAME}"), publish.tags(NAME))
    equal("nothing was signed", publish.calls(), [])
    refused("no signature", publish("push", TAG, release, STAND_IN_FAILS="sign --yes"), "signing")
    check("the image has no version without one", VERSION not in publish.tags(NAME), publish.tags(NAME))
    refused("no signature of the chart", publish("push", TAG, release, STAND_IN_FAILS=f"sign --yes --recursive {publish.registry}/charts/"), "signing")
    check("nothing has the version without it", VERSION not in publish.tags(NAME) + publish.tags(f"charts/{NAME}"), publish.tags(NAME))
    publish.calls()


def good_push(publish, release):
    status, text = publish("push", TAG, release)
    if not check("image and chart are pushed", status == 0, text):
        return
    equal("under their version, and as candidates", (publish.tags(NAME), publish.tags(f"charts/{NAME}")),
          ([VERSION, f"candidate-{VERSION}"], [VERSION, "artifacthub.io", f"candidate-{VERSION}"]))
    raw = output("skopeo", "inspect", "--raw", f"docker://{publish.registry}/{NAME}:{VERSION}", env=publish.environment)
    equal("the image is for both architectures", sorted(m["platform"]["architecture"] for m in json.loads(raw)["manifests"]), ["amd64", "arm64"])
    digest = "sha256:" + hashlib.sha256(raw.encode()).hexdigest()
    with open(publish.outputs) as f:
        equal("its digest goes to the steps that attest it", f.read(), f"image={publish.registry}/{NAME}\ndigest={digest}\n")
    for architecture in ("amd64", "arm64"):
        to = f"{publish.work}/pulled-{architecture}"
        run("skopeo", "copy", "--override-arch", architecture, f"docker://{publish.registry}/{NAME}:{VERSION}", f"dir:{to}", env=publish.environment)
        with open(f"{to}/manifest.json") as f:
            manifest = json.load(f)
        with open(f"{to}/{manifest['config']['digest'].split(':')[1]}") as f:
            config = json.load(f)
        equal(f"pulled back for {architecture}, with its health check", (config["architecture"], config["config"]["Healthcheck"]["Test"]),
              (architecture, ["CMD", f"/{NAME}", "healthcheck"]))
    pulled = f"{publish.work}/pulled-chart"
    run("skopeo", "copy", f"docker://{publish.registry}/charts/{NAME}:{VERSION}", f"dir:{pulled}", env=publish.environment)
    with open(f"{pulled}/manifest.json") as f:
        manifest = json.load(f)
    equal("the chart is what helm pulls", (manifest["config"]["mediaType"], manifest["layers"][0]["mediaType"]),
          ("application/vnd.cncf.helm.config.v1+json", "application/vnd.cncf.helm.chart.content.v1.tar+gzip"))
    with open(f"{pulled}/{manifest['layers'][0]['digest'].split(':')[1]}", "rb") as f, open(f"{release}/{NAME}-{VERSION}.tgz", "rb") as g:
        equal("its bytes are the release's", f.read() == g.read(), True)
    chart_raw = output("skopeo", "inspect", "--raw", f"docker://{publish.registry}/charts/{NAME}:{VERSION}", env=publish.environment)
    chart_digest = "sha256:" + hashlib.sha256(chart_raw.encode()).hexdigest()
    equal("signed, in this order", publish.calls(), [
        f"cosign sign --yes --recursive {publish.registry}/{NAME}@{digest}",
        f"cosign attest --yes --type cyclonedx --predicate WORK/release/{NAME}-{VERSION}.cdx.json {publish.registry}/{NAME}@{digest}",
        f"cosign sign --yes --recursive {publish.registry}/charts/{NAME}@{chart_digest}",
        "cosign sign-blob --yes --bundle WORK/release/SHA256SUMS.sigstore.json WORK/release/SHA256SUMS"])
    status, text = publish("push", TAG, release)
    check("the same again changes nothing", status == 0 and text.count("is there already") == 2, text)
    publish.calls()
    other = f"{publish.work}/other"
    shutil.copytree(release, other)
    os.unlink(f"{other}/{NAME}-{VERSION}-image-arm64.tar")
    sums(other)
    refused("another image under a published version", publish("push", TAG, other), "published already, with other content")
    equal("which signs nothing", publish.calls(), [])


def page(publish, release):
    refused("a page that cannot be made", publish("page", TAG, release, STAND_IN_FAILS="release create"), "release page: error: no answer")
    check("stays a draft", not any("--draft=false" in call for call in publish.calls()), "")
    status, text = publish("page", TAG, release)
    calls = publish.calls()
    check("the page is made", status == 0 and len(calls) == 3, (text, calls))
    check("as a draft with every file", calls[1].startswith(f"gh release create {TAG} --repo owner/gpu --verify-tag --draft --title {TAG}") and
          all(f"WORK/release/{n}" in calls[1] for n in os.listdir(release)), calls[1])
    with open(f"{publish.log}.notes") as f:
        notes = f.read()
    check("its text has the lines to install that version, and its changes", f"https://code.example.org/owner/gpu/releases/download/{TAG}/{NAME}-{VERSION}-linux-amd64" in notes and
          f"{publish.registry}/{NAME}:{VERSION}\n" in notes and f"oci://{publish.registry}/charts/{NAME} --version {VERSION}\n" in notes and
          "* FEATURE: what is new" in notes and "@" not in notes, notes)
    equal("and published when it is complete", calls[2], f"gh release edit {TAG} --repo owner/gpu --draft=false")


def workflow():
    """The workflow has no shell line of its own, except the one before there is a checkout."""
    with open(f"{SOURCE}/.github/workflows/release.yml") as f:
        jobs = yaml.safe_load(f)["jobs"]
    lines = [line.strip() for job in jobs.values() for step in job["steps"] for line in step.get("run", "").splitlines()]
    equal("the workflow runs deploy/publish, step by step", [line.split()[1] for line in lines if line.startswith("deploy/publish ")], ["build", "gather", "push", "page"])
    equal("and nothing else but apt-get", [line for line in lines if not re.match(r"deploy/publish [a-z]+( \S+){2}$|apt-get ", line)], [])


def main():
    os.makedirs(WORK, exist_ok=True)
    work = tempfile.mkdtemp(dir=WORK, prefix="publish.")
    refusing = []
    try:
        workflow()
        with registry(work) as upstream, gate(upstream, refusing) as port:
            publish = Publication(work, port)
            made, release = parts(publish), f"{work}/release"
            gathering(publish, made, release)
            bad_pushes(publish, release, refusing)
            good_push(publish, release)
            page(publish, release)
    finally:
        run("chmod", "-R", "u+w", work, check_status=False)
        shutil.rmtree(work, ignore_errors=True)
    finish()


main()
