# SPDX-License-Identifier: Apache-2.0
"""The recipes of other systems (deploy/package/recipes), filled in for a release of the packages that were built: each is built or
parsed as far as Debian has the tools. What nobody has run says so in its own text. --release: those that compile the program, too."""

import functools
import glob
import hashlib
import http.server
import json
import os
import re
import shutil
import sys
import tempfile
import threading
import xml.etree.ElementTree

import yaml

from checks import NAME, PACKAGES, SOURCE, WORK, check, equal, finish, output, run

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

RECIPES = f"{SOURCE}/deploy/package/recipes"
EPOCH = "1767323045"


def release(work):
    """(version, folder): the static file that was built, something in the place of that for arm64, and the working tree as the source
    archive."""
    static, = glob.glob(f"{PACKAGES}/{NAME}-*-linux-amd64")
    version = re.search(rf"{NAME}-(.+)-linux-amd64$", static)[1]
    folder = f"{work}/release"
    os.makedirs(folder)
    shutil.copy2(static, folder)
    with open(f"{folder}/{NAME}-{version}-linux-arm64", "w") as f:
        f.write("for arm64\n")
    files = output("git", "-c", "safe.directory=*", "-C", SOURCE, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    with open(f"{work}/files", "w") as f:
        f.write("\0".join(path for path in files.split("\0") if path and os.path.lexists(f"{SOURCE}/{path}")))
    run("tar", "-C", SOURCE, "--null", "--files-from", f"{work}/files", "--transform", f"s|^|{NAME}-{version}/|S", "-czf", f"{folder}/{NAME}-{version}.tar.gz")
    run(f"{SOURCE}/deploy/package/civetweb", f"{folder}/{NAME}-{version}-civetweb.tar.xz", env={**os.environ, "SOURCE_DATE_EPOCH": EPOCH})
    return version, folder


def sums(folder, name, kind):
    with open(f"{folder}/{name}", "rb") as f:
        return hashlib.new(kind, f.read()).hexdigest()


def read(path):
    with open(path) as f:
        return f.read()


def one_place(version, recipes):
    """No recipe has a version, a sum or a name of its own."""
    for path in sorted(glob.glob(f"{RECIPES}/**/*", recursive=True)):
        if not os.path.isfile(path):
            continue
        text, name = read(path), os.path.relpath(path, RECIPES)
        check(f"{name} has no version, sum or name of its own", version not in text and not re.search(r"[0-9a-f]{64}|intel-gpu-exporter\.example", text), text[:300])
        filled = read(f"{recipes}/{name}")
        equal(f"{name} is filled in", re.findall(r"@[A-Z0-9_]+@", filled), [])
    table = {line.split("`")[1]: line for line in read(f"{RECIPES}/README.md").splitlines() if line.startswith("| `")}
    equal("the table has every recipe", sorted(table), sorted(n for n in os.listdir(RECIPES) if os.path.isdir(f"{RECIPES}/{n}")))
    for name, line in table.items():
        if "untried" in line:
            texts = "".join(read(p) for p in glob.glob(f"{RECIPES}/{name}/*") if os.path.isfile(p))
            check(f"{name} says in its own text that nobody has run it", re.search("[Uu]ntried", texts), line)


def as_nobody(folder, *command, **more):
    run("chown", "-R", "nobody", folder)
    mine = {name: value for name, value in os.environ.items() if name != "CCACHE_DIR"}  # which nobody may not write
    return run("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", *command, cwd=folder, check_status=False,
               env={**mine, "HOME": folder, **more}, timeout=2400)


def arch(version, folder, work):
    for name in ("aur", "aur-bin"):
        place = f"{work}/{name}"
        shutil.copytree(f"{work}/recipes/{name}", place)
        status, text = as_nobody(place, "makepkg", "--printsrcinfo")
        check(f"{name}: makepkg reads it", status == 0 and f"pkgver = {version}" in text, text)
        check(f"{name}: with the sums of the release", sums(folder, f"{NAME}-{version}.tar.gz", "sha256") in text and "= SKIP" not in text, text)
    check("aur-bin: each architecture has its own file and sum", all(
        f"source_{machine} = " in text and f"linux-{architecture}\n" in text and f"sha256sums_{machine} = {sums(folder, f'{NAME}-{version}-linux-{architecture}', 'sha256')}" in text
        for machine, architecture in (("x86_64", "amd64"), ("aarch64", "arm64"))), text)
    for file in os.listdir(folder):
        shutil.copy2(f"{folder}/{file}", place)
    status, text = as_nobody(place, "makepkg", "--nodeps", "--noconfirm", PKGEXT=".pkg.tar.zst")
    if check("aur-bin: makepkg builds the package", status == 0, text[-1500:]):
        package, = glob.glob(f"{place}/*.pkg.tar.zst")
        files = output("tar", "--zstd", "-tf", package).split()
        wanted = {f"usr/bin/{NAME}", f"usr/lib/systemd/system/{NAME}.service", f"usr/lib/sysusers.d/{NAME}.conf", f"usr/share/bash-completion/completions/{NAME}",
                  f"usr/share/zsh/site-functions/_{NAME}", f"usr/share/fish/vendor_completions.d/{NAME}.fish"}
        check("aur-bin: with unit, completions and man page", wanted <= set(files) and any(f.startswith(f"usr/share/man/man1/{NAME}.1") for f in files), files)
        run("tar", "--zstd", "-xf", package, "-C", place, f"usr/bin/{NAME}")
        equal("aur-bin: the program is the release's, byte for byte", read_bytes(f"{place}/usr/bin/{NAME}"), read_bytes(f"{folder}/{NAME}-{version}-linux-amd64"))
        with open(f"{place}/{NAME}-{version}-linux-amd64", "ab") as f:
            f.write(b"x")
        status, text = as_nobody(place, "makepkg", "--nodeps", "--noconfirm", "--force", PKGEXT=".pkg.tar.zst")
        check("aur-bin: a file with another sum is refused", status != 0 and "validity check" in text, text[-500:])


def works(recipe, root, version):
    """What the recipe's test of the installed package runs, and which version it is."""
    program = f"{root}/usr/bin/{NAME}"
    check(f"{recipe}: the program is of that version", f"version {version} (revision v{version}," in output(program, "--version"), output(program, "--version"))
    command = re.search(r"^Test-Command: (.*)$", read(f"{RECIPES}/debian/tests/control"), re.M)[1]
    equal(f"{recipe}: {command}", run("sh", "-c", command, env={**os.environ, "PATH": f"{root}/usr/bin:{os.environ['PATH']}"}, check_status=False)[0], 0)
    check(f"{recipe}: with its unit", any(os.path.exists(f"{root}/{lib}/systemd/system/{NAME}.service") for lib in ("lib", "usr/lib")))


def arch_from_source(version, folder, work):
    """By Debian's compiler, with Debian's libraries: the steps are the recipe's."""
    place = f"{work}/aur"
    for file in os.listdir(folder):
        shutil.copy2(f"{folder}/{file}", place)
    status, text = as_nobody(place, "makepkg", "--nodeps", "--noconfirm", PKGEXT=".pkg.tar.zst")
    if check("aur: makepkg builds the package", status == 0, text[-1500:]):
        package, = glob.glob(f"{place}/*.pkg.tar.zst")
        os.makedirs(f"{place}/root")
        run("tar", "--zstd", "-xf", package, "-C", f"{place}/root")
        works("aur", f"{place}/root", version)


def debian_from_source(version, work):
    tree = f"{work}/debian-source/tree"
    status, text = run("dpkg-buildpackage", "--build=binary", "--no-sign", "--no-check-builddeps", cwd=tree, check_status=False, timeout=2400)
    if not check("debian: dpkg-buildpackage builds the package", status == 0, text[-1500:]):
        return
    package, = glob.glob(f"{work}/debian-source/{NAME}_*.deb")
    _, text = run("lintian", "--allow-root", package, check_status=False)
    # The number of the bug that announces a new package is given by Debian, when a person files it.
    equal("debian: lintian finds nothing in it", [line for line in text.splitlines() if "initial-upload-closes-no-bugs" not in line], [])
    run("dpkg-deb", "--extract", package, f"{work}/debian-root")
    works("debian", f"{work}/debian-root", version)


def read_bytes(path):
    with open(path, "rb") as f:
        return f.read()


def alpine(version, folder, work):
    place = f"{work}/recipes/alpine"
    for machine, architecture in (("x86_64", "amd64"), ("aarch64", "arm64")):
        script = f'set -e; CARCH={machine} srcdir={work}/alpine-src pkgdir={work}/alpine-pkg; mkdir -p "$srcdir" "$pkgdir"; . ./APKBUILD; ' \
                 'for file in $source; do case "$file" in *://*) cp "$0/${file##*/}" "$srcdir/" ;; *) cp "$file" "$srcdir/" ;; esac; done; ' \
                 'printf "%s" "$sha512sums" | (cd "$srcdir" && grep . | sha512sum --check --strict --quiet); test "$(printf "%s" "$sha512sums" | grep -c .)" = 2; package'
        status, text = run("dash", "-c", script, folder, cwd=place, check_status=False)
        check(f"alpine: on {machine} the sums of all sources are right, and package() runs", status == 0, text)
        with open(f"{work}/alpine-pkg/usr/bin/{NAME}", "rb") as f:
            equal(f"alpine: on {machine} its file is installed", f.read(), read_bytes(f"{folder}/{NAME}-{version}-linux-{architecture}"))
    check("alpine: program and service are in it", os.access(f"{work}/alpine-pkg/usr/bin/{NAME}", os.X_OK) and os.access(f"{work}/alpine-pkg/etc/init.d/{NAME}", os.X_OK), "")
    script = re.search(r'R"\((#!/sbin/openrc-run\n.*?)\)"', read(f"{SOURCE}/exporter/setup/setup.cpp"), re.S)[1]
    equal("alpine: the service is the one that setup installs", read(f"{place}/{NAME}.initd"), script.replace("/usr/local/bin/", "/usr/bin/"))


# Of nixpkgs what the flake uses: a builder that runs installPhase, a fetchurl that takes files of the release by their sums, and
# the functions that a module is written with.
NIXPKGS = """{
  outputs = { self }:
    let
      lib = {
        mkEnableOption = description: { inherit description; };
        mkOption = option: option;
        mkIf = condition: content: if condition then content else { };
        escapeShellArgs = builtins.concatStringsSep " ";
        types = { str = "str"; listOf = type: "list of " + type; };
      };
      packages = system: {
        inherit lib;
        stdenv.hostPlatform.system = system;
        fetchurl = { url, sha256 }: builtins.fetchurl { url = "file://RELEASE/${baseNameOf url}"; inherit sha256; };
        stdenvNoCC.mkDerivation = { pname, version, src, dontUnpack, installPhase, meta }: derivation {
          inherit system src;
          name = "${pname}-${version}";
          builder = "/bin/sh";
          args = [ "-ec" "PATH=/usr/bin:/bin; ${installPhase}" ];
        } // { inherit meta; };
      };
    in {
      inherit lib;
      legacyPackages = builtins.mapAttrs (system: _: packages system) { x86_64-linux = null; aarch64-linux = null; };
    };
}
"""
NIX_SERVICE = """
let
  nixpkgs = (import ./nixpkgs/flake.nix).outputs { self = { }; };
  self = (import ./flake/flake.nix).outputs { inherit self nixpkgs; };
  module = enable: self.nixosModules.default {
    config.services.intel-gpu-exporter = { inherit enable; flags = [ "--web.listen-address=:9999" ]; };
    inherit (nixpkgs) lib;
    pkgs = nixpkgs.legacyPackages.x86_64-linux;
  };
in { on = (module true).config; off = (module false).config; }
"""


def nix(version, folder, work):
    place = f"{work}/nix"
    os.makedirs(f"{place}/nixpkgs")
    shutil.copytree(f"{work}/recipes/nix", f"{place}/flake")
    with open(f"{place}/nixpkgs/flake.nix", "w") as f:
        f.write(NIXPKGS.replace("RELEASE", folder))
    with open(f"{place}/service.nix", "w") as f:
        f.write(NIX_SERVICE)
    # Everything of Nix in this folder: no store is made on the machine.
    environment = {**os.environ, "HOME": place, "NIX_CONFIG": "experimental-features = nix-command flakes\nsandbox = false\nbuild-users-group =\nsubstitute = false",
                   **{f"NIX_{key}_DIR": f"{place}/{key.lower()}" for key in ("STORE", "STATE", "LOG")}}
    flake = ("--override-input", "nixpkgs", f"path:{place}/nixpkgs", "--no-write-lock-file", f"path:{place}/flake")

    def ran(*command):
        return run(*command, cwd=place, check_status=False, env=environment)

    status, text = ran("nix", "flake", "check", "--no-build", *flake)
    check("nix: nix flake check finds nothing", status == 0 and "error" not in text, text)
    built = f"{place}/result/bin/{NAME}"
    status, text = ran("nix", "build", "--out-link", f"{place}/result", *flake)
    if check("nix: the package is built", status == 0 and os.access(built, os.X_OK), text):
        equal("nix: the program is the release's, byte for byte", read_bytes(built), read_bytes(f"{folder}/{NAME}-{version}-linux-amd64"))
    status, text = ran("nix-instantiate", "--eval", "--strict", "--json", "service.nix")
    if check("nix: the module is evaluated", status == 0, text):
        module = json.loads(text[text.index("{"):])  # behind warnings
        equal("nix: without enable there is no service", module["off"], {})
        equal("nix: nothing but a service: no setting of the whole machine", [*module["on"], *module["on"]["systemd"]["services"]], ["systemd", NAME])
        service = module["on"]["systemd"]["services"][NAME]
        start = service["serviceConfig"].pop("ExecStart")
        check("nix: it starts the package with the flags", re.fullmatch(rf"{place}/store/\w+-{NAME}-{re.escape(version)}/bin/{NAME} --web\.listen-address=:9999", start), start)
        unit = settings(read(f"{SOURCE}/deploy/systemd/{NAME}.service"))
        equal("nix: its groups are those that NixOS has", service["serviceConfig"].pop("SupplementaryGroups"), ["render", "video"])
        equal("nix: all else is the unit's", {key: value if isinstance(value, list) else [value] for key, value in service["serviceConfig"].items()},
              {key: value for key, value in unit.items() if key not in ("ExecStart", "EnvironmentFile", "SupplementaryGroups")})
    with open(f"{folder}/{NAME}-{version}-linux-amd64", "ab") as f:
        f.write(b"x")
    shutil.rmtree(f"{place}/.cache", ignore_errors=True)
    environment |= {f"NIX_{key}_DIR": f"{place}/again/{key.lower()}" for key in ("STORE", "STATE", "LOG")}
    status, text = ran("nix", "build", "--no-link", *flake)
    check("nix: a file with another sum is refused", status != 0 and "hash mismatch" in text, text)
    with open(f"{folder}/{NAME}-{version}-linux-amd64", "rb+") as f:
        f.seek(-1, os.SEEK_END)
        f.truncate()


def settings(unit):
    """{key: [value...]} of the section [Service]."""
    found = {}
    for line in unit.partition("[Service]\n")[2].partition("\n[Install]")[0].splitlines():
        if line and not line.startswith("#"):
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return found


def debian(version, folder, work):
    to = f"{work}/debian-source"
    status, text = run(f"{SOURCE}/deploy/package/debian-source", version, folder, f"{work}/recipes", to, check_status=False, env={**os.environ, "SOURCE_DATE_EPOCH": EPOCH})
    if not check("debian: the source package is built", status == 0, text):
        return
    dsc, = glob.glob(f"{to}/*.dsc")
    _, text = run("lintian", "--allow-root", dsc, check_status=False)
    equal("debian: lintian finds nothing", text.splitlines(), [])
    run("dpkg-source", "--extract", "--no-check", dsc, f"{to}/tree")
    civetweb = f"{to}/tree/civetweb"
    status, text = run("cc", "-fsyntax-only", "-w", "-DNO_FILES", "-DNO_CGI", "-DNO_CACHING", "-DNO_POPEN", "-DNO_SSL", f"-I{civetweb}/include", f"-I{civetweb}/src",
                       f"{SOURCE}/third_party/civetweb_parser.c", check_status=False)
    check("debian: it has what the build needs without a network", status == 0 and os.path.exists(f"{civetweb}/LICENSE.md"), text)
    packages = output("bash", "-c", ". third_party/packages.sh; printf '%s\\n' \"${build_packages[@]}\"", cwd=SOURCE).split()
    depends = re.search(r"^Build-Depends: ((?:.*\n )*.*)$", read(f"{work}/recipes/debian/control"), re.M)[1]
    named = set(re.findall(r"[a-z][a-z0-9.+-]+", re.sub(r"\([^)]*\)", "", depends)))
    equal("debian: it names what the build installs", set(packages) - named, {"g++", "git"})


def watch(version, folder, work):
    """uscan, which looks for new versions, on a page such as code hosts have."""
    site, package, newer = f"{work}/site", f"{work}/watched/{NAME}-{version}", "98.7.6"
    archives = {f"{NAME}-{newer}.tar.gz": f"{folder}/{NAME}-{version}.tar.gz", f"{NAME}-{newer}-civetweb.tar.xz": f"{folder}/{NAME}-{version}-civetweb.tar.xz"}
    os.makedirs(f"{site}/gpu/releases/download/v{newer}")
    shutil.copytree(f"{work}/recipes/debian", f"{package}/debian")
    for name, path in archives.items():
        os.symlink(path, f"{site}/gpu/releases/download/v{newer}/{name}")
    with open(f"{site}/gpu/tags", "w") as f:
        f.write("".join(f'<a href="/gpu/archive/refs/tags/v{v}.tar.gz">tar.gz</a> <a href="/gpu/archive/refs/tags/v{v}.zip">zip</a>\n' for v in ("0.0.1", newer)))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site)) as server:
        threading.Thread(target=server.serve_forever).start()
        text = read(f"{package}/debian/watch")
        with open(f"{package}/debian/watch", "w") as f:
            f.write(text.replace("https://intel-gpu-exporter.example", f"http://127.0.0.1:{server.server_address[1]}/gpu"))
        status, text = run("uscan", "--no-symlink", cwd=package, check_status=False)
        server.shutdown()
    check("debian: uscan finds a newer release", status == 0 and f"Newest version of {NAME} on remote site is {newer}, local version is {version}" in text, text)
    for name, path in archives.items():
        got = f"{work}/watched/{name}"
        check(f"debian: and downloads {name}", os.path.exists(got) and read_bytes(got) == read_bytes(path), text)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def others(version, recipes, names):
    image = f"{names['REGISTRY']}/{NAME}"
    for file in ("intel-gpu-exporter.xml", "ca_profile.xml"):
        root = xml.etree.ElementTree.parse(f"{recipes}/unraid/{file}").getroot()
        if file.startswith(NAME):
            equal("unraid: image and port", (root.find("Repository").text, root.find("Config").get("Target")), (f"{image}:{version}", "10068"))
            unknown = {e.tag for e in root} - {"Name", "Repository", "Network", "Privileged", "Support", "Project", "Overview", "Category", "WebUI", "TemplateURL", "Icon",
                                               "ExtraParams", "Config"}
            equal("unraid: only elements that are documented", unknown, set())
        else:
            check("unraid: the profile is not empty", root.find("Profile").text, "")
    app = yaml.safe_load(read(f"{recipes}/home-assistant/config.yaml"))
    equal("home-assistant: required keys, and the image's tag", ([k for k in ("name", "slug", "description", "arch") if k not in app], app["version"], app["image"]), ([], version, image))
    check("home-assistant: rights that it knows", set(app["privileged"]) <= {"PERFMON", "SYS_PTRACE", "BPF"} and set(app["arch"]) <= {"amd64", "aarch64"}, app)
    # Home Assistant drops keys that it does not know without a word, and refuses addresses of another form.
    equal("home-assistant: only keys that are documented", set(app) - {"name", "version", "slug", "description", "url", "image", "arch", "startup", "init", "ports", "ports_description",
                                                                     "webui", "video", "privileged", "host_pid", "watchdog"}, set())
    address = r"http://\[HOST\]:\[PORT:10068\]/.*"
    check("home-assistant: its page and its health check", re.fullmatch(address, app["webui"]) and re.fullmatch(address, app["watchdog"]) and app["ports"] == {"10068/tcp": 10068} and
          set(app["ports_description"]) == set(app["ports"]) and app["startup"] == "services" and re.fullmatch(r"[a-z0-9_]+", app["slug"]), app)
    yaml.safe_load(read(f"{recipes}/home-assistant/repository.yaml"))
    templates = yaml.safe_load(read(f"{recipes}/portainer/templates.json"))
    equal("portainer: the image", (templates["version"], templates["templates"][0]["image"]), ("3", f"{image}:{version}"))
    status, text = run("/usr/bin/docker-compose", "--file", f"{recipes}/truenas/compose.yaml", "config", check_status=False)
    check("truenas: docker-compose reads it", status == 0 and f"image: {image}:{version}" in text, text)


def main():
    os.makedirs(WORK, exist_ok=True)
    work = tempfile.mkdtemp(prefix="recipes.")  # not below a folder that only root reads: makepkg does not run as root
    os.chmod(work, 0o755)
    try:
        version, folder = release(work)
        run(f"{SOURCE}/deploy/package/fill", version, folder, f"{work}/recipes", env={**os.environ, "SOURCE_DATE_EPOCH": EPOCH})
        names = dict(re.findall(r"^PROJECT_([A-Z]+)=(.*)$", read(f"{SOURCE}/deploy/project.env"), re.M))
        one_place(version, f"{work}/recipes")
        others(version, f"{work}/recipes", names)
        arch(version, folder, work)
        alpine(version, folder, work)
        nix(version, folder, work)
        debian(version, folder, work)
        watch(version, folder, work)
        if "--release" in sys.argv:
            arch_from_source(version, folder, work)
            debian_from_source(version, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    finish()


main()
