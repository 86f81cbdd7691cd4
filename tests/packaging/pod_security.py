# SPDX-License-Identifier: Apache-2.0
"""Every overlay and every preset of the chart stays within the Pod Security level that it names, and states it where it is installed."""

import copy
import os
import re
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

from checks import SOURCE, WORK, check, equal, finish
from pod_security_standards import LEVELS, level_of, violations
from render import PRESETS, Chart, kustomized, pods, values_file

# preset -> the strictest level that must admit its pods
EXPECTED = {"restricted": "restricted", "baseline": "restricted", "privileged": "privileged", "mixed": "restricted", "sidecar": None}
OVERLAYS = ["base", "overlays/perf", "overlays/node", "overlays/i915", "overlays/xe", "overlays/i915-xe", "overlays/any-driver", "overlays/dra", "sidecar", "level-zero"]
ENFORCE = "pod-security.kubernetes.io/enforce"

# One change each to a pod that "restricted" admits, and the strictest level that admits the result.
CHANGES = {
    "the host's PIDs": ("baseline", lambda p: p.update(hostPID=True)),
    "the host's network": ("baseline", lambda p: p.update(hostNetwork=True)),
    "a host path": ("baseline", lambda p: p.update(volumes=[{"name": "x", "hostPath": {"path": "/dev/dri"}}])),
    "CAP_PERFMON": ("baseline", lambda p: p["containers"][0]["securityContext"]["capabilities"].update(add=["PERFMON"])),
    "a privileged init container": ("baseline", lambda p: p.update(
        initContainers=[{"name": "i", "securityContext": {**p["containers"][0]["securityContext"], "privileged": True}}])),
    "seccomp unconfined": ("baseline", lambda p: p["securityContext"].update(seccompProfile={"type": "Unconfined"})),
    "AppArmor unconfined": ("baseline", lambda p: p["containers"][0]["securityContext"].update(appArmorProfile={"type": "Unconfined"})),
    "an SELinux type of its own": ("baseline", lambda p: p["securityContext"].update(seLinuxOptions={"type": "spc_t"})),
    "a host port": ("baseline", lambda p: p["containers"][0]["ports"][0].update(hostPort=10068)),
    "an unsafe sysctl": ("baseline", lambda p: p["securityContext"].update(sysctls=[{"name": "kernel.msgmax", "value": "1"}])),
    "a probe of another host": ("baseline", lambda p: p["containers"][0]["livenessProbe"]["httpGet"].update(host="10.0.0.1")),
    "CHOWN": ("restricted", lambda p: p["containers"][0]["securityContext"]["capabilities"].update(add=["CHOWN"])),
    "capabilities kept": ("restricted", lambda p: p["containers"][0]["securityContext"].pop("capabilities")),
    "privilege escalation": ("restricted", lambda p: p["containers"][0]["securityContext"].pop("allowPrivilegeEscalation")),
    "no seccomp profile": ("restricted", lambda p: p["securityContext"].pop("seccompProfile")),
    "perhaps root": ("restricted", lambda p: p["securityContext"].pop("runAsNonRoot")),
    "root by number": ("restricted", lambda p: p["securityContext"].update(runAsUser=0)),
    "an NFS volume": ("restricted", lambda p: p.update(volumes=[{"name": "x", "nfs": {"server": "s", "path": "/"}}]))}


def the_rules_refuse(admitted):
    """The check can fail: each level rejects everything that it forbids."""
    equal("\"restricted\" admits the plain pod", violations("restricted", admitted), [])
    for name, (refusing, change) in CHANGES.items():
        changed = copy.deepcopy(admitted)
        change(changed["spec"])
        expected = LEVELS[LEVELS.index(refusing) - 1]
        equal(f"\"{refusing}\" refuses {name}, \"{expected}\" does not", level_of(changed), expected)


def presets(chart):
    equal("every preset is checked", PRESETS, sorted(EXPECTED))
    for preset, expected in EXPECTED.items():
        values = values_file(preset)
        templates = list(pods(chart(values)))
        if expected is None:
            equal(f"values-{preset}.yaml starts no pods", templates, [])
            continue
        # The test pod of "helm test" runs in the same namespace.
        for name, template in templates:
            level = level_of(template)
            check(f"values-{preset}.yaml: {expected} admits {name}", LEVELS.index(level) >= LEVELS.index(expected), violations(expected, template))
        strictest = min((level_of(template) for _, template in templates), key=LEVELS.index)
        equal(f"values-{preset}.yaml is what its level is for", strictest, expected)
        notes = chart.notes_of(values)
        stated = re.search(r'namespace that allows "(\w+)"', notes)
        equal(f"NOTES.txt names that level after values-{preset}.yaml", stated and stated.group(1), strictest)
        equal("and how to allow it", f"namespace monitoring {ENFORCE}=privileged" in notes, strictest == "privileged")
    both = {**values_file("privileged"), **values_file("mixed")}
    levels = {level_of(template) for name, template in pods(chart(both)) if name.startswith("DaemonSet")}
    equal("values-privileged.yaml with values-mixed.yaml is privileged", levels, {"privileged"})


def notes_for_single_rights(chart):
    """The level that NOTES.txt derives from the values equals the one that the rules find for the pods."""
    for values in ({"rights": {"perf": True}}, {"rights": {"processes": True}}, {"rights": {"hangs": True}}, {"devices": {"hostPath": True}},
                   {"seccompProfile": {"type": "Unconfined"}}, {"seLinuxOptions": {"type": "spc_t"}}, {"seLinuxOptions": {"type": "container_t"}},
                   {"extraVolumes": [{"name": "x", "hostPath": {"path": "/x"}}]}, {"daemonSets": [{"name": "a", "rights": {"perf": True}}]},
                   {"devices": {"resources": ["gpu.intel.com/xe_monitoring"]}}, {"devices": {"resourceClaim": {"enabled": True}}}):
        found = min((level_of(template) for _, template in pods(chart(values))), key=LEVELS.index)
        stated = re.search(r'namespace that allows "(\w+)"', chart.notes_of(values)).group(1)
        equal(f"NOTES.txt names the level of {values}", stated, found)


def overlays():
    for folder in OVERLAYS:
        documents = kustomized(folder)
        enforced = next(d["metadata"]["labels"][ENFORCE] for d in documents if d["kind"] == "Namespace")
        for name, template in pods(documents):
            equal(f"{folder}: its namespace, \"{enforced}\", admits {name}", violations(enforced, template), [])
            equal(f"{folder}: {name} needs that level", level_of(template), enforced)


def documents_say_so():
    for path in ("docs/kubernetes.md", "deploy/helm/intel-gpu-exporter/README.md"):
        with open(f"{SOURCE}/{path}") as f:
            text = f.read()
        check(f"{path} says what Pod Security level the quick start needs", f"{ENFORCE}=privileged" in text and "Pod Security" in text, "it does not")


def main():
    os.makedirs(WORK, exist_ok=True)
    work = tempfile.mkdtemp(dir=WORK, prefix="pod_security.")
    try:
        chart = Chart(work)
        the_rules_refuse(next(pods(chart({})))[1])
        presets(chart)
        notes_for_single_rights(chart)
        overlays()
        documents_say_so()
    finally:
        shutil.rmtree(work, ignore_errors=True)
    finish()


main()
