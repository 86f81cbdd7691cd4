# SPDX-License-Identifier: Apache-2.0
"""Builds the image with the Containerfile's own steps, and runs the program from its root file system.

Nothing is pulled; buildah runs the steps without an engine or a daemon. The program is that of build/release.
--release: all steps, so that the program is compiled in a base image built from Debian's packages, as the registry's is; and the
same again from a copy of the sources."""

import http.server
import json
import os
import queue
import re
import shutil
import sys
import tempfile
import threading

from checks import NAME, SOURCE, WORK, check, equal, fetch, finish, mirror, output, run, serving

LABELS = {"VERSION": "9.8.7", "CREATED": "2026-01-02T03:04:05Z", "HOMEPAGE": "https://home.example", "SOURCE": "https://source.example"}
EPOCH = "1767323045"
IMAGE, BASE = "localhost/intel-gpu-exporter", "localhost/debian:bookworm-slim"
RELEASE = "--release" in sys.argv


class Buildah:
    def __init__(self, work):
        self.options = ["--root", f"{work}/storage", "--runroot", f"{work}/run", "--storage-driver", "vfs"]
        self.environment = {**os.environ, "BUILDAH_ISOLATION": "chroot", "TMPDIR": work}

    def __call__(self, command, *arguments, **more):
        return output("buildah", command, *self.options, *arguments, env=self.environment, timeout=3000, **more).strip()


def base_image(buildah, work):
    uri, suite = mirror()
    run("mmdebstrap", "--variant=minbase", "--quiet", suite, f"{work}/base.tar", uri)
    container = buildah("from", "scratch")
    buildah("add", "--quiet", container, f"{work}/base.tar", "/")
    buildah("config", "--cmd", "bash", container)
    buildah("commit", "--quiet", container, BASE)
    buildah("rm", container)
    os.unlink(f"{work}/base.tar")


def gathered(work):
    """The last stage alone, and what the stage before would have left to it."""
    with open(f"{SOURCE}/deploy/container/Containerfile") as file:
        stages = file.read().split("\nFROM ")
    with open(f"{work}/Containerfile", "w") as file:
        file.write("FROM " + stages[-1])
    run(f"{SOURCE}/deploy/container/gather", f"{SOURCE}/build/release", f"{work}/build/image", cwd=SOURCE)
    return ["--file", f"{work}/Containerfile", "--build-context", f"build={work}/build"]


def build(buildah, work, source=SOURCE, image=IMAGE):
    more = ["--file", f"{source}/deploy/container/Containerfile"] if RELEASE else gathered(work)
    if RELEASE and shutil.which("ccache"):
        cache = output("ccache", "--get-config", "cache_dir").strip()
        os.makedirs(cache, exist_ok=True)
        more += ["--build-arg", "EXTRA_PACKAGES=ccache", "--volume", f"{cache}:/root/.cache/ccache"]
    # The time stamp as deploy/release sets it, also of the files in the layers.
    buildah("build", "--quiet", "--timestamp", EPOCH, "--ignorefile", f"{source}/.containerignore",
            "--build-arg", f"BASE={BASE}", "--build-arg", "REVISION=v9.8.7", *[word for label, value in LABELS.items() for word in ("--build-arg", f"{label}={value}")], "--network", "host", "--format", "docker",
            *more, "--tag", image, source)


def layers(buildah, image):
    return json.loads(buildah("inspect", "--type", "image", image))["OCIv1"]["rootfs"]["diff_ids"]


def again(buildah, work):
    """The same sources in another folder, with other time stamps."""
    copy = f"{work}/elsewhere"
    for file in output("git", "-c", "safe.directory=*", "-C", SOURCE, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0"):
        if file and os.path.lexists(f"{SOURCE}/{file}"):
            os.makedirs(os.path.dirname(f"{copy}/{file}"), exist_ok=True)
            shutil.copyfile(f"{SOURCE}/{file}", f"{copy}/{file}", follow_symlinks=False)
            shutil.copymode(f"{SOURCE}/{file}", f"{copy}/{file}", follow_symlinks=False)
    build(buildah, work, copy, f"{IMAGE}:again")
    equal("built again elsewhere, its layers have the same bytes", layers(buildah, f"{IMAGE}:again"), layers(buildah, IMAGE))


def contents(root):
    files = {os.path.relpath(os.path.join(folder, name), root)
             for folder, _, names in os.walk(root) for name in names}
    programs = sorted(f for f in files if not os.path.islink(f"{root}/{f}") and os.access(f"{root}/{f}", os.X_OK)
                      and ".so" not in os.path.basename(f))
    equal("one program is in it, and no shell", programs, [f"usr/bin/{NAME}"])
    equal("intel_gpu_top is in the path", os.readlink(f"{root}/usr/bin/intel_gpu_top"), NAME)
    others = sorted(f for f in files if not re.match(
        r"(usr/)?lib(64)?/|usr/share/doc/[^/]+/(copyright|LICENSE)$|etc/(passwd|group|nsswitch\.conf|ssl/certs/ca-certificates\.crt)$|usr/share/misc/pci\.ids$|usr/bin/", f))
    equal("beside it: libraries, licences, users, certificate authorities, names of GPUs, and the mark of a container", others,
          [f"usr/share/{NAME}/callers-are-trusted"])
    equal("the Level Zero tracker is beside the program", sorted(f for f in files if "/level-zero/" in f),
          [f"usr/lib/{NAME}/level-zero/{name}" for name in
           ("liblevel_zero_audit.so", "liblevel_zero_preload.so", "libze_validation_layer.so.1")])
    libraries = [f for f in files if ".so" in f]
    licences = {f.split("/")[3] for f in files if f.startswith("usr/share/doc/")}
    check("every library has its licence", len(licences) >= 8 and {"libc6", "libssl3", NAME} <= licences,
          f"{sorted(licences)} for {sorted(libraries)}")
    capabilities = output("getcap", f"{root}/usr/bin/{NAME}")
    check("the file may have what the container may have", capabilities.strip().endswith("cap_dac_read_search,cap_sys_ptrace,cap_syslog,cap_perfmon,cap_bpf=p"),
          capabilities)
    set_id = output("find", root, "-perm", "/6000").split()
    equal("nothing is set-user-id", set_id, [])
    size = sum(os.lstat(os.path.join(folder, name)).st_size for folder, _, names in os.walk(root) for name in names)
    print(f"size image: {size / 1e6:.1f} MB, the program {os.path.getsize(f'{root}/usr/bin/{NAME}') / 1e6:.1f} MB")
    check("it is small: a third is libcurl, with what it needs", size < 32e6, size)


def configuration(buildah):
    config = json.loads(buildah("inspect", "--type", "image", IMAGE))["Docker"]["config"]
    equal("its user is not root", config["User"], "65532:65532")
    equal("it starts the exporter", config["Entrypoint"], [f"/usr/bin/{NAME}"])
    equal("it checks its health by itself", config["Healthcheck"]["Test"], ["CMD", f"/usr/bin/{NAME}", "healthcheck"])
    labels = {key.removeprefix("org.opencontainers.image."): value for key, value in config["Labels"].items()}
    equal("its labels", {key: labels.get(key) for key in ("licenses", "revision", "version", "created", "url", "source")},
          {"licenses": "Apache-2.0", "revision": "v9.8.7", "version": LABELS["VERSION"], "created": LABELS["CREATED"], "url": LABELS["HOMEPAGE"],
           "source": LABELS["SOURCE"]})
    check("its port", "10068/tcp" in config["ExposedPorts"], config)
    return config


def runs(root, config):
    """Read-only root, own mount and PID namespace, the image's user: as an engine starts it."""
    script = ('set -e; mount --bind "$1" "$1"; mount -o remount,ro,bind "$1"; mount -t proc proc "$1/proc"; '
              'mount --rbind /sys "$1/sys"; shift; exec "$@"')
    user = config["User"]
    prefix = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c", script, "bash", root,
              "chroot", f"--userspec={user}", root]
    entry = config["Entrypoint"]
    version = output(*prefix, *entry, "--version")
    text = output("unshare", "--mount", "bash", "-c", script, "bash", root, "chroot", f"--userspec={user}", root, "/usr/bin/intel_gpu_top",
                  "-l", "-n1", env={**os.environ, "INTEL_GPU_EXPORTER_SIMULATE": "battlemage"})
    check("its intel_gpu_top prints a record", text.startswith(" Freq MHz "), text)
    if RELEASE:
        check("version and revision come from the tag", "version 9.8.7 (revision v9.8.7," in version, version)
    else:
        equal("its version is that of the build", version, output(f"{SOURCE}/build/release/exporter/{NAME}", "--version"))
    with serving([*prefix, *entry, "--web.listen-address=127.0.0.1:0"]) as url:
        status, page = fetch(url + "/metrics")
        check("it serves from a read-only root", status == 200 and "intel_gpu_exporter_build_info" in page, page[:200])
        port = url.rsplit(":", 1)[1]
        health = [*prefix, *config["Healthcheck"]["Test"][1:], f"--web.listen-address=127.0.0.1:{port}"]
        equal("its health check succeeds", run(*health)[0], 0)
    equal("and fails when it has gone", run(*health, check_status=False)[0], 1)
    pushes([*prefix, *entry, "--web.listen-address=127.0.0.1:0"])


def pushes(command):
    """It has the library for it."""
    arrived = queue.Queue()

    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()
            arrived.put((self.path, self.headers["Content-Type"]))

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as receiver:
        threading.Thread(target=receiver.serve_forever, daemon=True).start()
        without_proxy = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        with serving([*command, "--simulate=battlemage", f"--push.otlp=http://127.0.0.1:{receiver.server_port}", "--push.interval=1s"], env=without_proxy):
            try:
                got = arrived.get(timeout=120)
            except queue.Empty:
                got = None
        equal("it pushes", got, ("/v1/metrics", "application/x-protobuf"))
        receiver.shutdown()


def main():
    os.makedirs(WORK, exist_ok=True)
    work = tempfile.mkdtemp(dir=WORK, prefix="image.")
    buildah = Buildah(work)
    try:
        if RELEASE:
            base_image(buildah, work)
        build(buildah, work)
        config = configuration(buildah)
        container = buildah("from", "--pull-never", IMAGE)
        root = f"{WORK}/rootfs"
        shutil.rmtree(root, ignore_errors=True)
        mounted = buildah("mount", container)
        run("cp", "-a", mounted, root)
        buildah("umount", container)
        contents(root)
        runs(root, config)
        if RELEASE:
            again(buildah, work)
    finally:
        run("chmod", "-R", "u+w", work, check_status=False)
        shutil.rmtree(work, ignore_errors=True)
    finish()


main()
