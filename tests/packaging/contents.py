# SPDX-License-Identifier: Apache-2.0
"""Contents of the packages: complete, linted, and consistent with --help."""

import glob
import json
import os
import re
import shutil
import tempfile

from checks import BINARY, NAME, PACKAGES, SOURCE, check, equal, finish, help_flags, output, run

FILES = {
    "/usr/lib/intel-gpu-exporter/level-zero/libze_validation_layer.so.1",
    "/usr/lib/intel-gpu-exporter/level-zero/liblevel_zero_preload.so", "/usr/lib/intel-gpu-exporter/level-zero/liblevel_zero_audit.so",
    "/usr/lib/sysusers.d/intel-gpu-exporter.conf", "/usr/lib/tmpfiles.d/intel-gpu-exporter.conf",
    "/usr/bin/intel-gpu-exporter", "/usr/lib/intel-gpu-exporter/bin/intel_gpu_top", "/usr/share/intel-gpu-exporter/60-intel-gpu-exporter.conf", "/etc/default/intel-gpu-exporter",
    "/usr/share/bash-completion/completions/intel-gpu-exporter",
    "/usr/share/fish/vendor_completions.d/intel-gpu-exporter.fish", "/usr/share/doc/intel-gpu-exporter/copyright",
    "/usr/share/doc/intel-gpu-exporter/METRICS.md", "/usr/share/doc/intel-gpu-exporter/README.md"}
# Files shipped unchanged from the repository: (pattern, without, its folder here, its folder there).
COMMANDS = re.findall(r"^  ([a-z_-]+) ", output(BINARY, "--help-all").partition("\nCommands:\n")[2].split("\n\n")[0], re.M)
MAN_PAGES = [NAME] + [f"{NAME}-{command}" for command in COMMANDS if command not in ("help", "version")]
FILES |= {f"/usr/share/man/man1/{page}.1.gz" for page in MAN_PAGES}
COPIES = [("*.yml", "", "deploy/prometheus/rules", "/usr/share/intel-gpu-exporter/prometheus/rules"),
          ("*.json", "", "grafana", "/usr/share/intel-gpu-exporter/grafana"), ("*.md", "", "docs", "/usr/share/doc/intel-gpu-exporter/docs"),
          ("*.json", "", "docs", "/usr/share/doc/intel-gpu-exporter/docs"),
          ("*.pftrace", "", "docs", "/usr/share/doc/intel-gpu-exporter/docs"),
          ("**/*.yml", "rules/", "deploy/prometheus", "/usr/share/doc/intel-gpu-exporter/examples/prometheus")]
COPIED = {f"{there}/{os.path.relpath(path, f'{SOURCE}/{here}')}": path for pattern, without, here, there in COPIES
          for path in glob.glob(f"{SOURCE}/{here}/{pattern}", recursive=True)
          if not (without and os.path.relpath(path, f"{SOURCE}/{here}").startswith(without))}
FILES |= set(COPIED)
DEB_FILES = FILES | {
    "/lib/systemd/system/intel-gpu-exporter.service", "/lib/systemd/system/intel-gpu-exporter.socket",
    "/usr/share/zsh/vendor-completions/_intel-gpu-exporter",
    "/usr/share/doc/intel-gpu-exporter/changelog.gz", "/usr/share/doc/intel-gpu-exporter/changelog.Debian.gz"}
RPM_FILES = FILES | {
    "/usr/lib/systemd/system/intel-gpu-exporter.service", "/usr/lib/systemd/system/intel-gpu-exporter.socket",
    "/usr/share/zsh/site-functions/_intel-gpu-exporter",
    "/usr/share/doc/intel-gpu-exporter/CHANGELOG.md", "/usr/share/licenses/intel-gpu-exporter/LICENSE"}


def project_env():
    with open(f"{SOURCE}/deploy/project.env") as f:
        return dict(re.findall(r"^PROJECT_([A-Z]+)=(.*)$", f.read(), re.M))


def bill_of_materials(root):
    """The SBOM names every library that the program loads, and what is compiled in."""
    with open(f"{PACKAGES}/{NAME}.cdx.json") as f:
        bill = json.load(f)
    equal("the SBOM is CycloneDX", (bill["bomFormat"], bill["specVersion"]), ("CycloneDX", "1.5"))
    components = {c["name"]: c for c in bill["components"]}
    for library in re.findall(r"NEEDED +(\S+)", output("objdump", "-p", f"{root}/usr/bin/{NAME}")):
        package = re.search(r"^(\S+?):", output("dpkg", "-S", f"*/x86_64-linux-gnu/{library}")).group(1)
        version = output("dpkg-query", "-W", "-f", "${Version}", package)
        equal(f"the SBOM has {package}", components.get(package, {}).get("version"), version)
    check("and what is compiled in: CivetWeb, CLI11, libarchive", {"civetweb", "libcli11-dev", "libarchive-dev"} <= set(components), sorted(components))
    check("each with a package URL", all(c["purl"].startswith("pkg:") for c in bill["components"]), bill["components"])
    references = {c["bom-ref"] for c in bill["components"]}
    depends = {d["ref"]: set(d["dependsOn"]) for d in bill["dependencies"]}
    equal("the program depends on all of them", depends[bill["metadata"]["component"]["bom-ref"]], references)


def deb_package(deb, root):
    run("dpkg-deb", "-x", deb, root)
    # Only an upload to Debian itself would have to close a bug.
    status, text = run("lintian", "--allow-root", "--fail-on", "error,warning", "--suppress-tags", "initial-upload-closes-no-bugs",
                       deb, check_status=False)
    equal("lintian finds no error and no warning", (status, [l for l in text.splitlines() if l[:2] in ("E:", "W:")]), (0, []))
    files = {"/" + os.path.relpath(os.path.join(folder, name), root) for folder, _, names in os.walk(root) for name in names}
    equal("the .deb holds exactly what it should", sorted(files), sorted(DEB_FILES))
    kinds = {os.path.splitext(there)[1] for there in COPIED}
    equal("rules, dashboards, examples and documents are among it", kinds, {".yml", ".json", ".md", ".pftrace"})
    for there, here in [(t, h) for t, h in COPIED.items() if t in files]:
        with open(root + there, "rb") as shipped, open(here, "rb") as ours:
            if shipped.read() != ours.read():
                check(f"{there} is the repository's", False, here)
    control = output("dpkg-deb", "-f", deb)
    project = project_env()
    equal("the maintainer and the home page are those of deploy/project.env",
          (output("dpkg-deb", "-f", deb, "Maintainer").strip(), output("dpkg-deb", "-f", deb, "Homepage").strip()),
          (f"{project['MAINTAINER']} <{project['EMAIL']}>", project["HOMEPAGE"]))
    for library in re.findall(r"NEEDED +(\S+)", output("objdump", "-p", f"{root}/usr/bin/{NAME}")):
        package = re.search(r"^(\S+?):", output("dpkg", "-S", f"*/x86_64-linux-gnu/{library}")).group(1)
        check(f"{library}: it depends on {package}", re.search(rf"^Depends:.*\b{re.escape(package)}( \(|,|$)", control, re.M), control)
    check("names of GPUs and what only top loads are recommended",
          "Recommends: pci.ids, libncursesw6, libcurl4 | libcurl4t64" in control, control)
    equal("the settings are a conffile", output("dpkg-deb", "-I", deb, "conffiles").split(), ["/etc/default/intel-gpu-exporter"])
    with open(f"{root}/usr/share/doc/{NAME}/copyright") as f:
        text = f.read()
    check("what is compiled in has its licence beside it",
          "The CivetWeb developers" in text and "Henry Schreiner" in text and "Tim Kientzle" in text and "Lua" not in text, text[:600])
    # The rated unit is the shipped one.
    with open(f"{SOURCE}/deploy/systemd/{NAME}.service") as ours, open(f"{root}/lib/systemd/system/{NAME}.service") as theirs:
        equal("the unit is the repository's", theirs.read(), ours.read())


def drop_in(root):
    """intel_gpu_top is a link in a folder of its own; a package that conflicts with intel-gpu-tools has it in /usr/bin."""
    link = f"{root}/usr/lib/{NAME}/bin/intel_gpu_top"
    equal("the link leads to the program", (os.readlink(link), os.path.realpath(link)),
          (f"../../../bin/{NAME}", os.path.realpath(f"{root}/usr/bin/{NAME}")))
    _, text = run(link, "-l", "-n", "1", env={**os.environ, "INTEL_GPU_EXPORTER_SIMULATE": "battlemage"})
    check("started by that name it is intel_gpu_top", text.startswith(" Freq MHz "), text)
    debs = glob.glob(f"{PACKAGES}/{NAME}-intel-gpu-top_*_all.deb")
    equal("one package has it in /usr/bin", len(debs), 1)
    listed = [line.split(None, 5)[5] for line in output("dpkg-deb", "-c", debs[0]).splitlines() if line[0] != "d"]
    documents = f"./usr/share/doc/{NAME}-intel-gpu-top"
    equal("and nothing else", sorted(listed), sorted([
        f"./usr/bin/intel_gpu_top -> {NAME}", f"./usr/share/man/man1/intel_gpu_top.1.gz -> {NAME}-intel_gpu_top.1.gz",
        f"{documents}/copyright", f"{documents}/changelog.Debian.gz"]))
    check("it needs the program and replaces the original", (output("dpkg-deb", "-f", debs[0], "Conflicts").strip(),
          output("dpkg-deb", "-f", debs[0], "Depends").startswith(f"{NAME} (>= ")) == ("intel-gpu-tools", True), output("dpkg-deb", "-f", debs[0]))
    status, text = run("lintian", "--allow-root", "--fail-on", "error,warning", "--suppress-tags", "initial-upload-closes-no-bugs",
                       debs[0], glob.glob(f"{PACKAGES}/{NAME}_*.deb")[0], check_status=False)
    equal("lintian finds no error and no warning in it", (status, [l for l in text.splitlines() if l[:2] in ("E:", "W:")]), (0, []))


def drop_in_rpm(version):
    rpms = glob.glob(f"{PACKAGES}/{NAME}-intel-gpu-top-*.noarch.rpm")
    equal("one .rpm has intel_gpu_top in /usr/bin", len(rpms), 1)
    listed = output("rpm", "-qp", "--queryformat", "[%{FILENAMES} %{FILELINKTOS}\n]", rpms[0]).splitlines()
    equal("and nothing else", sorted(line.strip() for line in listed), [
        f"/usr/bin/intel_gpu_top {NAME}", f"/usr/share/man/man1/intel_gpu_top.1.gz {NAME}-intel_gpu_top.1.gz"])
    equal("it replaces the original, under both names of its package",
          output("rpm", "-qp", "--conflicts", rpms[0]).split(), ["igt-gpu-tools", "intel-gpu-tools"])
    needed = [line for line in output("rpm", "-qp", "--requires", rpms[0]).splitlines() if not line.startswith("rpmlib(")]
    check("it needs the program and nothing else", [line.split()[:2] for line in needed] == [[NAME, ">="]], needed)
    equal("it has the program's version, and no scripts", (output("rpm", "-qp", "--queryformat", "%{VERSION}-%{RELEASE}", rpms[0]),
          output("rpm", "-qp", "--scripts", rpms[0])), (version, ""))
    check("it says what it is", "intel_gpu_top" in output("rpm", "-qp", "--queryformat", "%{SUMMARY}", rpms[0]), "")


def tracker(root):
    """The packaged program finds the tracker beside it, and a sidecar can hand it on; unpacked elsewhere, as in an image."""
    folder = f"{root}/usr/lib/{NAME}/level-zero"
    with tempfile.TemporaryDirectory() as copy:
        run(f"{root}/usr/bin/{NAME}", "level-zero", "install", f"{copy}/tracker")
        for name in os.listdir(folder):
            with open(f"{folder}/{name}", "rb") as ours, open(f"{copy}/tracker/{name}", "rb") as theirs:
                equal(f"level-zero install copies {name}", theirs.read() == ours.read(), True)
        equal("and nothing else", sorted(os.listdir(f"{copy}/tracker")), sorted(os.listdir(folder)))
        # true makes no Level Zero call: run says so, which it can only after it found the tracker.
        _, text = run(f"{root}/usr/bin/{NAME}", "level-zero", "run", "--", "true")
        check("level-zero run finds the tracker of the package", "left no page" in text, text)


def rpm_package(rpm):
    entries = [line.split(" ", 1) for line in output("rpm", "-qp", "--queryformat", "[%{FILEMODES:perms} %{FILENAMES}\n]", rpm).splitlines()]
    files = {name for mode, name in entries if not mode.startswith("d")}
    listed = {f for f in files if ".build-id" not in f and f != f"/usr/share/doc/{NAME}" and f != f"/usr/share/licenses/{NAME}"}
    equal("the .rpm holds exactly what it should", sorted(listed), sorted(RPM_FILES))
    equal("its settings are kept on upgrade", output("rpm", "-qp", "--configfiles", rpm).split(), ["/etc/default/intel-gpu-exporter"])
    project = project_env()
    equal("its home page", output("rpm", "-qp", "--queryformat", "%{URL}", rpm), project["HOMEPAGE"])
    equal("its licence", output("rpm", "-qp", "--queryformat", "%{LICENSE}", rpm), "Apache-2.0")
    provided = output("rpm", "-qp", "--provides", rpm)
    check("it does not offer the tracker to other packages as the validation layer", "libze" not in provided and NAME in provided, provided)
    check("its libraries are found by soname", "libssl.so.3()(64bit)" in output("rpm", "-qp", "--requires", rpm), "")


def versions(deb, rpm, binary):
    """0.1.0, or 0.1.0~git123.1234abc before the tag; the program says the same."""
    shown = re.search(r"version (\S+) \(revision ([^,]+),", output(binary, "--version"))
    version, revision = shown.groups()
    packaged = output("dpkg-deb", "-f", deb, "Version").strip()
    equal("both packages have one version", output("rpm", "-qp", "--queryformat", "%{VERSION}-%{RELEASE}", rpm), packaged)
    check("it is the program's", packaged == f"{version}-1" or packaged.startswith(f"{version}~git"), f"{packaged}, {version}")
    if revision == f"v{version}":
        equal("a tagged commit is a release", packaged, f"{version}-1")
    elif re.fullmatch(r"[0-9a-f]{7,}(-modified)?", revision):
        check("the revision is in it", f".{revision[:7]}" in packaged, f"{packaged}, {revision}")
    order, _ = run("dpkg", "--compare-versions", packaged, "le", f"{version}-1", check_status=False)
    equal("a snapshot is older than the release it leads to", order, 0)
    with open(f"{SOURCE}/CHANGELOG.md") as f:
        check("the changelog has an entry for it", f"## {version}" in f.read(), version)


def descriptions(root):
    flags = help_flags(f"{root}/usr/bin/{NAME}")
    check("--help names flags", len(flags) > 30, flags)
    page = output("man", "--local-file", "--encoding=UTF-8", f"{root}/usr/share/man/man1/{NAME}.1.gz",
                  env={**os.environ, "MANWIDTH": "1000", "LC_ALL": "C.UTF-8"})
    in_page = set(re.findall(r"--[a-z][a-z0-9._-]*", page.replace("--[no-]", "--").replace("‐", "-")))
    missing = [flag for flag in flags if flag.replace("--no-", "--") not in in_page]
    equal("the man page has every flag", missing, [])
    for name in MAN_PAGES:
        equal(f"man accepts the page {name}",
              output("man", "--warnings", "-E", "UTF-8", "-Tutf8", "-Z", "-l", f"{root}/usr/share/man/man1/{name}.1.gz",
                     env={**os.environ, "LC_ALL": "C.UTF-8"}).count("warning"), 0)
        header = output("man", "-l", f"{root}/usr/share/man/man1/{name}.1.gz", env={**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8"})
        equal(f"80 columns have the whole title of {name}", header.splitlines()[0].count(f"{name.upper()}(1)"), 2)
    page = output("man", "--local-file", "--encoding=UTF-8", f"{root}/usr/share/man/man1/{NAME}-stats.1.gz",
                  env={**os.environ, "MANWIDTH": "1000", "LC_ALL": "C.UTF-8"})
    check("the page of a command has its flags and exit status", "--interval" in page and "EXIT STATUS" in page, page)

    page = output("man", "--local-file", "--encoding=UTF-8", f"{root}/usr/share/man/man1/{NAME}-level-zero.1.gz",
                  env={**os.environ, "MANWIDTH": "1000", "LC_ALL": "C.UTF-8"}).replace("‐", "-")
    trace = output("man", "--local-file", "--encoding=UTF-8", f"{root}/usr/share/man/man1/{NAME}-trace.1.gz",
                   env={**os.environ, "MANWIDTH": "1000", "LC_ALL": "C.UTF-8"}).replace("‐", "-")
    check("the page of trace has its actions", "record [FLAGS]" in trace and "--max-rate" in trace, trace)
    check("the page of level-zero has its actions", "run [FLAGS] -- PROGRAM" in page and "--fail-on-leak" in page, page)

    help_text = output(f"{root}/usr/bin/{NAME}", "--help-all").replace("--[no-]summary", "--summary --no-summary")
    sections = {command: {flag for flag in re.findall(r"--(?:no-)?[a-z.-]+", text) if flag in flags}
                for command, text in re.findall(r"\nFlags of (\S+):\n(.*?)(?=\n\n)", help_text, re.S)}
    check("top has flags of its own", {"--once", "--cacert", "--interval"} <= sections["top"], sorted(sections["top"]))
    check("stats has flags of its own", {"--format", "--count", "--no-summary"} <= sections["stats"], sorted(sections["stats"]))


def main():
    deb, rpm = glob.glob(f"{PACKAGES}/{NAME}_*.deb"), glob.glob(f"{PACKAGES}/{NAME}-[0-9]*.rpm")
    equal("one package of each kind was built", (len(deb), len(rpm)), (1, 1))
    root = tempfile.mkdtemp()
    try:
        deb_package(deb[0], root)
        bill_of_materials(root)
        drop_in(root)
        tracker(root)
        rpm_package(rpm[0])
        drop_in_rpm(output("dpkg-deb", "-f", deb[0], "Version").strip())
        versions(deb[0], rpm[0], f"{root}/usr/bin/{NAME}")
        descriptions(root)
        for path in deb + rpm:
            print(f"size {os.path.basename(path)}: {os.path.getsize(path) / 1000:.0f} kB")
    finally:
        shutil.rmtree(root)
    finish()


main()
