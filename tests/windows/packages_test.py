# SPDX-License-Identifier: Apache-2.0
"""The zip and the installer for Windows, as deploy/windows/package makes them: what is in them, and what the installer's
tables tell Windows to do. Nothing is installed: Wine has neither a firewall nor the rights of a real service.

    packages_test.py EXE
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from exporter_under_test import check, finish  # noqa: E402

made = subprocess.run([str(ROOT / "deploy/windows/package"), sys.argv[1]], check=True, capture_output=True, text=True)
zip_file, msi = (next(ROOT / line for line in made.stdout.split() if line.endswith(end)) for end in (".zip", ".msi"))
check(made.stderr == "", f"it is made without a warning: {made.stderr}")

names = [pathlib.PurePosixPath(name).name for name in zipfile.ZipFile(zip_file).namelist() if not name.endswith("/")]
check(sorted(names) == ["LICENSE.txt", "NOTICES.txt", "intel-gpu-exporter.exe"], f"the zip holds {names}")
notices = next(name for name in zipfile.ZipFile(zip_file).namelist() if name.endswith("NOTICES.txt"))
text = zipfile.ZipFile(zip_file).read(notices).decode()
for library in ("openssl", "libyaml", "libdeflate", "solar designer", "civetweb", "mingw-w64", "cli11", "prometheus-cpp"):
    check(library in text.lower(), f"the notices name {library}")
print(f"zip {zip_file.stat().st_size}, msi {msi.stat().st_size} bytes")


def table(name):
    """The rows of a table, by their first column."""
    lines = subprocess.run(["msiinfo", "export", str(msi), name], check=True, capture_output=True, text=True).stdout
    return {row[0]: row[1:] for row in (line.split("\t") for line in lines.replace("\r", "").split("\n")[3:] if line)}


service = table("ServiceInstall")["service"]
check(service[0] == "intel-gpu-exporter", f"the service's name: {service}")
check(service[2:5] == ["16", "2", "1"], f"a process of its own, started with the machine: {service}")
check(service[7] == "NT AUTHORITY\\LocalService" and service[9] == "serve [FLAGS]", f"its user and flags: {service}")
control = table("ServiceControl")["service"]
check(control[1] == "163", f"started by an installation, stopped by each, removed at the end: {control}")  # 1 + 2 + 32 + 128
registry = {row[2]: row for row in table("Registry").values()}
check(registry["EventMessageFile"][1].endswith("\\EventLog\\Application\\intel-gpu-exporter"), f"event log: {registry}")
check(registry["EventMessageFile"][3].endswith("EventCreate.exe") and registry["TypesSupported"][3] == "#7",
      f"event log: {registry}")
# 18: runs an installed file; 64: its status does not matter; 1024 + 2048: at its place in the script, as the system.
actions = table("CustomAction")
check(actions["allow"][0] == str(18 + 64 + 1024 + 2048) and actions["allow"][2] == "service allow", f"{actions}")
check(actions["forbid"][2] == "service forbid", f"{actions}")
sequence = table("InstallExecuteSequence")
check(sequence["allow"][0] == 'FIREWALL = "1" AND NOT REMOVE', f"a rule in the firewall only on request: {sequence}")
at = {name: int(row[1]) for name, row in sequence.items()}
check(at["InstallFiles"] < at["allow"], "the rule is added by the installed program")
check(at["StopServices"] < at["forbid"] < at["RemoveFiles"], "the rule goes before the program does")
check(at["InstallInitialize"] < at["RemoveExistingProducts"] < at["ProcessComponents"],
      "an earlier version is removed first")
check(at["InstallServices"] < at["StartServices"], "the service is started")
upgrade = table("Property")["UpgradeCode"][0]
check(upgrade == upgrade.upper(), "Windows compares these codes as text")

extracted = pathlib.Path(tempfile.mkdtemp())
subprocess.run(["msiextract", "-C", str(extracted), str(msi)], check=True, capture_output=True)
files = {path.name: path for path in extracted.rglob("*") if path.is_file()}
check(sorted(files) == sorted(names), f"the installer holds {sorted(files)}")
with zipfile.ZipFile(zip_file) as archive:
    program = next(name for name in archive.namelist() if name.endswith(".exe"))
    check(files["intel-gpu-exporter.exe"].read_bytes() == archive.read(program), "both hold the same program")
shutil.rmtree(extracted)
finish()
